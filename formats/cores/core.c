/* SPDX-License-Identifier: MIT */
#include "formats/cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"
#include "formats/cores/variant.h"

enum field_unit { COUNT, CYCLES, TICKS };

struct field {
    const char *section, *key;
    enum field_unit unit;
    int min, max;
    size_t place;
};

static const struct field fields[] = {
#define X(field_section, field_key, field_unit, field_min, field_max, meaning) \
    {.section = #field_section,                                                \
     .key = #field_key,                                                        \
     .unit = (field_unit),                                                     \
     .min = (field_min),                                                       \
     .max = (field_max),                                                       \
     .place = offsetof(struct td_core_desc, field_key)},
    TD_CORE_FIELDS(X)
#undef X
};

/* NULL: of every instruction set. */
static const char *const ANY = NULL, *const X86 = "x86_64", *const A64 = "aarch64";

struct op {
    const char *name;
    const char *const *isa;
};

static const struct op ops[TD_OP_COUNT] = {
#define X(symbol, op_name, op_isa, meaning) [TD_OP_##symbol] = {.name = #op_name, .isa = &(op_isa)},
    TD_OP_CLASSES(X)
#undef X
};

static bool belongs(const struct op *op, const char *isa)
{
    return !*op->isa || strcmp(*op->isa, isa) == 0;
}

enum { SCALE = 10000, DECIMALS = 4 };

/* Reads digits with at most four decimals, times SCALE. False for anything else. */
static bool parse_scaled(const char *word, int64_t *scaled)
{
    int64_t value = 0;
    int decimals = -1;

    if (*word == '\0' || strlen(word) > 10)
        return false;
    for (; *word; word++) {
        if (*word == '.' && decimals < 0) {
            decimals = 0;
            continue;
        }
        if (*word < '0' || *word > '9' || decimals == DECIMALS)
            return false;
        value = value * 10 + (*word - '0');
        decimals += decimals >= 0;
    }
    for (int i = decimals < 0 ? 0 : decimals; i < DECIMALS; i++)
        value *= 10;
    *scaled = value;
    return true;
}

static int parse_number(const char *word, int min, int max, int64_t *ret, struct td_err *err)
{
    int64_t scaled;

    if (!parse_scaled(word, &scaled) || scaled % SCALE)
        return td_fail(err, TD_EFORMAT, "'%s' is not a whole number", word);
    if (scaled / SCALE < min || scaled / SCALE > max)
        return td_fail(err, TD_EFORMAT, "%s is outside %d to %d", word, min, max);
    *ret = scaled / SCALE;
    return TD_OK;
}

static int parse_ticks(const char *word, int min, int max, int64_t *ret, struct td_err *err)
{
    int64_t value;

    if (!parse_scaled(word, &value))
        return td_fail(err, TD_EFORMAT, "'%s' is not a number", word);
    value = (value * TD_TICKS_PER_CYCLE + SCALE / 2) / SCALE;
    if (value < min || value > max)
        return td_fail(err, TD_EFORMAT, "%s is outside %.4g to %.4g", word,
                       (double)min / TD_TICKS_PER_CYCLE, (double)max / TD_TICKS_PER_CYCLE);
    *ret = value;
    return TD_OK;
}

static int read_value(struct td_core_desc *desc, const struct field *field, const char *word,
                      struct td_err *err)
{
    int64_t value = 0;
    const int rc = field->unit == TICKS ? parse_ticks(word, field->min, field->max, &value, err)
                                        : parse_number(word, field->min, field->max, &value, err);

    if (rc != TD_OK)
        return rc;
    const int number = (int)value;
    memcpy((char *)desc + field->place, &number, sizeof(number));
    return TD_OK;
}

static int read_field(struct td_core_desc *desc, const struct field *field,
                      const struct td_uarch_line *line, struct td_err *err)
{
    if (line->word_count != 2)
        return td_fail(err, TD_EFORMAT, "line %u: '%s' takes one value", line->number, field->key);
    const int rc = read_value(desc, field, line->words[1], err);
    if (rc != TD_OK)
        td_err_prefix(err, "line %u", line->number);
    return rc;
}

static const struct field *find_field(const char *section, const char *key)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(fields); i++) {
        if (strcmp(fields[i].section, section) == 0 && strcmp(fields[i].key, key) == 0)
            return &fields[i];
    }
    return NULL;
}

/* Numbers that a description need not say: they are 0 then. */
static bool may_lack(const struct field *field)
{
    static const char *const keys[] = {
        "dram_shared",        "scheduler_memory", "scheduler_vector", "vector_queue",
        "registers",          "registers_vector", "uop_cache_line",   "uop_cache_group",
        "uop_cache_pause",    "block_next",       "lock_hold",        "page_fault_load",
        "fault_lines",        "fault_pages",      "l1_falling",       "vector_store_waits",
        "vector_queue_delay", "rename_trust",     "store_crowded",    "rmw_address",
        "joined_slots",       "access_moves",     "whole_slots",      "reuse_delay",
        "whole_groups",       "port_result",      "sbb_by_carry",     "call_waits",
        "wakes_early",        "byte_moves",       "forward_waits",    "forward_meets",
        "call_ends_group",    "lock_after_store", "fold_shift"};

    for (size_t i = 0; i < TD_ARRAY_SIZE(keys); i++) {
        if (strcmp(field->key, keys[i]) == 0)
            return true;
    }
    return false;
}

/* Every line of a section of numbers must be a field, and every field but some a line. */
static int read_numbers(struct td_core_desc *desc, const struct td_uarch *uarch, struct td_err *err)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(fields); i++) {
        const struct field *field = &fields[i];
        const struct td_uarch_section *section = td_uarch_section(uarch, field->section);
        const struct td_uarch_line *line = section ? td_uarch_find(section, field->key) : NULL;
        if (!line && section && may_lack(field))
            continue;
        if (!line)
            return td_fail(err, TD_EFORMAT, "'%s' is missing in section [%s]", field->key,
                           field->section);
        const int rc = read_field(desc, field, line, err);
        if (rc != TD_OK)
            return rc;
    }
    static const char *const names[] = {"pipeline", "fetch", "predict",
                                        "memory",   "tlb",   "prefetch"};
    for (size_t s = 0; s < TD_ARRAY_SIZE(names); s++) {
        const struct td_uarch_section *section = td_uarch_section(uarch, names[s]);
        for (size_t i = 0; i < section->line_count; i++) {
            const struct td_uarch_line *line = &section->lines[i];
            if (!find_field(names[s], line->words[0]))
                return td_fail(err, TD_EFORMAT, "line %u: [%s] has no field '%s'", line->number,
                               names[s], line->words[0]);
            if (td_uarch_find(section, line->words[0]) != line)
                return td_fail(err, TD_EFORMAT, "line %u: '%s' stands twice", line->number,
                               line->words[0]);
        }
    }
    return TD_OK;
}

static int read_text(char *ret, size_t size, const struct td_uarch_section *core, const char *key,
                     struct td_err *err)
{
    const struct td_uarch_line *line = td_uarch_find(core, key);
    size_t len = 0;

    if (!line || line->word_count < 2)
        return td_fail(err, TD_EFORMAT, "'%s' is missing in section [core]", key);
    for (uint32_t i = 1; i < line->word_count; i++) {
        const int n = snprintf(ret + len, size - len, "%s%s", i > 1 ? " " : "", line->words[i]);
        if (n < 0 || (size_t)n >= size - len)
            return td_fail(err, TD_EFORMAT, "line %u: '%s' is too long", line->number, key);
        len += (size_t)n;
    }
    return TD_OK;
}

/* A set of ports: digits and capital letters A to F name sixteen; "-" is none. */
static int parse_ports(const struct td_uarch_line *line, const char *word, uint16_t *ret,
                       struct td_err *err)
{
    static const char letters[] = "0123456789ABCDEF";
    uint16_t ports = 0;

    for (const char *c = word; *c && strcmp(word, "-") != 0; c++) {
        const char *place = strchr(letters, *c);
        if (!place)
            return td_fail(err, TD_EFORMAT, "line %u: '%s' names no ports", line->number, word);
        ports |= (uint16_t)(1U << (place - letters));
    }
    *ret = ports;
    return TD_OK;
}

static int read_ports(struct td_core_desc *desc, const struct td_uarch *uarch, struct td_err *err)
{
    const struct {
        const char *key;
        uint16_t *place;
    } sets[] = {{"load", &desc->load_ports},
                {"store_address", &desc->store_address_ports},
                {"store_data", &desc->store_data_ports},
                {"load_vector", &desc->load_vector_ports},
                {"vector", &desc->vector_ports}};
    const struct td_uarch_section *section = td_uarch_section(uarch, "ports");

    if (!section)
        return td_fail(err, TD_EFORMAT, "section [ports] is missing");
    for (size_t i = 0; i < TD_ARRAY_SIZE(sets); i++) {
        const struct td_uarch_line *line = td_uarch_find(section, sets[i].key);
        if (!line && sets[i].place == &desc->vector_ports && !desc->scheduler_vector)
            continue;
        if (!line || line->word_count != 2)
            return td_fail(err, TD_EFORMAT, "'%s PORTS' is missing in [ports]", sets[i].key);
        const int rc = parse_ports(line, line->words[1], sets[i].place, err);
        if (rc != TD_OK)
            return rc;
        if (*sets[i].place == 0)
            return td_fail(err, TD_EFORMAT, "line %u: '%s' needs a port", line->number,
                           sets[i].key);
    }
    return TD_OK;
}

/* PORTS COUNT */
static int read_limit(struct td_dispatch *dispatch, const struct td_uarch_line *line,
                      struct td_err *err)
{
    int64_t most = 0;
    int rc;

    if (dispatch->limit_count == TD_DISPATCH_LIMITS)
        return td_fail(err, TD_EFORMAT, "line %u: [dispatch] has at most %d limits", line->number,
                       TD_DISPATCH_LIMITS);
    struct td_dispatch_limit *limit = &dispatch->limits[dispatch->limit_count];
    if ((rc = parse_ports(line, line->words[0], &limit->ports, err)) != TD_OK)
        return rc;
    if ((rc = parse_number(line->words[1], 1, TD_DISPATCH_MOST, &most, err)) != TD_OK) {
        td_err_prefix(err, "line %u", line->number);
        return rc;
    }
    limit->most = (uint16_t)most;
    dispatch->limit_count++;
    return TD_OK;
}

static const struct {
    const char *word;
    size_t least, most; /* ports */
    bool places;
} bank_rules[] = {
#define X(symbol, word, least, most, places) {word, least, most, places},
    TD_BANK_RULES(X)
#undef X
};

/* TD_BANK_RULE_COUNT: the line is of none. */
static enum td_bank_rule bank_rule(const struct td_uarch_line *line)
{
    int rule = 0;

    while (rule < TD_BANK_RULE_COUNT && strcmp(line->words[0], bank_rules[rule].word) != 0)
        rule++;
    return (enum td_bank_rule)rule;
}

/* bind PORTS [PLACES], pair PORTS, spread PORTS */
static int read_bank(struct td_dispatch *dispatch, const struct td_uarch_line *line,
                     enum td_bank_rule rule, struct td_err *err)
{
    const char *word = line->words[1];
    const size_t count = strlen(word);
    struct td_dispatch_bank *bank = &dispatch->banks[dispatch->bank_count];
    uint16_t all = 0;
    int64_t places = 0;

    for (uint32_t i = 0; i < dispatch->bank_count; i++) {
        for (int k = 0; k < dispatch->banks[i].count; k++)
            all |= (uint16_t)(1U << dispatch->banks[i].ports[k]);
    }
    if (dispatch->bank_count == TD_DISPATCH_BANKS)
        return td_fail(err, TD_EFORMAT,
                       "line %u: [dispatch] has at most %d lines of bind, pair or spread",
                       line->number, TD_DISPATCH_BANKS);
    if (count < bank_rules[rule].least || count > bank_rules[rule].most)
        return td_fail(err, TD_EFORMAT,
                       "line %u: bind and pair take %d ports, spread takes 2 to %d", line->number,
                       TD_BIND_PORTS, TD_BANK_PORTS);
    for (size_t k = 0; k < count; k++) {
        const char letter[] = {word[k], '\0'};
        uint16_t port = 0;
        const int rc = parse_ports(line, letter, &port, err);
        if (rc != TD_OK)
            return rc;
        if (port == 0 || all & port)
            return td_fail(err, TD_EFORMAT, "line %u: each port is bound once", line->number);
        all |= port;
        bank->ports[k] = (uint8_t)__builtin_ctz(port);
    }
    if (line->word_count == 3) {
        const int rc = parse_number(line->words[2], 1, UINT8_MAX, &places, err);
        if (rc != TD_OK) {
            td_err_prefix(err, "line %u", line->number);
            return rc;
        }
    }
    bank->count = (uint8_t)count;
    bank->places = (uint8_t)places;
    bank->rule = rule;
    dispatch->bank_count++;
    return TD_OK;
}

static int read_dispatch(struct td_core_desc *desc, const struct td_uarch *uarch,
                         struct td_err *err)
{
    const struct td_uarch_section *section = td_uarch_section(uarch, "dispatch");

    for (size_t i = 0; section && i < section->line_count; i++) {
        const struct td_uarch_line *line = &section->lines[i];
        const enum td_bank_rule rule = bank_rule(line);
        const bool bank = rule != TD_BANK_RULE_COUNT;
        if (line->word_count != 2 && !(bank && bank_rules[rule].places && line->word_count == 3))
            return td_fail(
                err, TD_EFORMAT,
                "line %u: [dispatch] has 'PORTS COUNT', 'bind PORTS [PLACES]', 'pair PORTS', "
                "'spread PORTS'",
                line->number);
        const int rc = bank ? read_bank(&desc->dispatch, line, rule, err)
                            : read_limit(&desc->dispatch, line, err);
        if (rc != TD_OK)
            return rc;
    }
    return TD_OK;
}

/* KEY VALUE, from word `i` on. */
static int read_op_option(struct td_op_cost *cost, const struct td_uarch_line *line, uint32_t i,
                          struct td_err *err)
{
    const char *key = line->words[i], *word = line->words[i + 1];
    int64_t value = 0;
    int rc;

    if (strcmp(key, "extra") == 0)
        return parse_ports(line, word, &cost->extra, err);
    if (strcmp(key, "busy") == 0) {
        rc = parse_number(word, 1, 250, &value, err);
        cost->busy = (uint8_t)value;
    } else if (strcmp(key, "forward") == 0) {
        rc = parse_number(word, 1, cost->latency < TD_FORWARD_MAX ? cost->latency : TD_FORWARD_MAX,
                          &value, err);
        cost->forward = (uint8_t)value;
    } else {
        rc = td_fail(err, TD_EFORMAT, "'%s' is none of busy, extra, forward", key);
    }
    if (rc != TD_OK)
        td_err_prefix(err, "line %u", line->number);
    return rc;
}

/* CLASS SLOTS LATENCY PORTS [busy CYCLES] [extra PORTS] */
static int read_op(struct td_op_cost *cost, const struct td_uarch_line *line, struct td_err *err)
{
    int64_t slots = 0, latency = 0;
    int rc;

    if (line->word_count < 4 || line->word_count % 2)
        return td_fail(err, TD_EFORMAT, "line %u: an op is CLASS SLOTS LATENCY PORTS [KEY VALUE]",
                       line->number);
    if ((rc = parse_number(line->words[1], 1, 200, &slots, err)) != TD_OK ||
        (rc = parse_number(line->words[2], 0, 250, &latency, err)) != TD_OK) {
        td_err_prefix(err, "line %u", line->number);
        return rc;
    }
    if ((rc = parse_ports(line, line->words[3], &cost->ports, err)) != TD_OK)
        return rc;
    cost->slots = (uint8_t)slots;
    cost->latency = (uint8_t)latency;
    for (uint32_t i = 4; i < line->word_count && rc == TD_OK; i += 2)
        rc = read_op_option(cost, line, i, err);
    return rc;
}

static int read_ops(struct td_core_desc *desc, const struct td_uarch *uarch, struct td_err *err)
{
    const struct td_uarch_section *section = td_uarch_section(uarch, "ops");

    if (!section)
        return td_fail(err, TD_EFORMAT, "section [ops] is missing");
    for (size_t i = 0; i < section->line_count; i++) {
        const struct td_uarch_line *line = &section->lines[i];
        size_t op = 0;
        while (op < TD_OP_COUNT && strcmp(ops[op].name, line->words[0]) != 0)
            op++;
        if (op == TD_OP_COUNT || !belongs(&ops[op], desc->isa))
            return td_fail(err, TD_EFORMAT, "line %u: %s has no class '%s'", line->number,
                           desc->isa, line->words[0]);
        if (desc->ops[op].slots)
            return td_fail(err, TD_EFORMAT, "line %u: '%s' stands twice", line->number,
                           line->words[0]);
        const int rc = read_op(&desc->ops[op], line, err);
        if (rc != TD_OK)
            return rc;
    }
    for (size_t op = 0; op < TD_OP_COUNT; op++) {
        if (!desc->ops[op].slots && belongs(&ops[op], desc->isa))
            return td_fail(err, TD_EFORMAT, "class '%s' is missing in [ops]", ops[op].name);
    }
    return TD_OK;
}

/* Ways must divide lines into a power of two of sets: that is how the model indexes. */
static int check_sets(const char *what, int64_t lines, int ways, struct td_err *err)
{
    const int64_t sets = ways > 0 ? lines / ways : 0;

    if (sets < 1 || lines % ways || (sets & (sets - 1)))
        return td_fail(err, TD_EFORMAT, "%s: %lld lines of %d ways make no power of two of sets",
                       what, (long long)lines, ways);
    return TD_OK;
}

/* With a scheduler of their own, loads and stores are counted by one set of ports, which the model
 * does of seven at most, and which dispatch does not choose between. */
static int check_memory_ports(const struct td_core_desc *desc, struct td_err *err)
{
    enum { COUNTED_MAX = 7 };
    const uint16_t ports = desc->load_ports | desc->store_address_ports;

    if (!desc->scheduler_memory)
        return TD_OK;
    if (!(desc->load_ports & desc->store_address_ports) || __builtin_popcount(ports) > COUNTED_MAX)
        return td_fail(err, TD_EFORMAT,
                       "scheduler_memory: loads and stores must share a port, and have at most %d",
                       COUNTED_MAX);
    for (uint32_t i = 0; i < desc->dispatch.bank_count; i++) {
        for (int k = 0; k < desc->dispatch.banks[i].count; k++) {
            if (ports >> desc->dispatch.banks[i].ports[k] & 1)
                return td_fail(err, TD_EFORMAT,
                               "scheduler_memory: ports of loads and stores are not bound");
        }
    }
    return TD_OK;
}

static int check_core(const struct td_core_desc *desc, struct td_err *err)
{
    int rc;

    const struct {
        const char *what;
        int64_t lines;
        int ways;
    } sets[] = {
        {"l1i", (int64_t)desc->l1i_kb * 16, desc->l1i_ways},
        {"l1d", (int64_t)desc->l1d_kb * 16, desc->l1d_ways},
        {"l2", (int64_t)desc->l2_kb * 16, desc->l2_ways},
        {"l3", (int64_t)desc->l3_kb * 16, desc->l3_ways},
        {"dtlb", desc->dtlb, desc->dtlb_ways},
        {"itlb", desc->itlb, desc->itlb_ways},
        {"stlb", desc->stlb, desc->stlb_ways},
        {"btb", desc->btb_lines, desc->btb_ways},
        {"btb2", desc->btb2_lines, desc->btb2_ways},
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(sets); i++) {
        rc = check_sets(sets[i].what, sets[i].lines, sets[i].ways, err);
        if (rc != TD_OK)
            return rc;
    }
    if (desc->itlb2) {
        rc = check_sets("itlb2", desc->itlb2, desc->itlb2_ways, err);
        if (rc != TD_OK)
            return rc;
    }
    if (desc->uop_cache_lines) {
        rc = check_sets("uop cache", desc->uop_cache_lines, desc->uop_cache_ways, err);
        if (rc != TD_OK)
            return rc;
    }
    if ((rc = check_memory_ports(desc, err)) != TD_OK)
        return rc;
    if (desc->store_block & (desc->store_block - 1))
        return td_fail(err, TD_EFORMAT, "store_block: %d bytes are no power of two",
                       desc->store_block);
    if (desc->l1d_lru && desc->l1d_ways > TD_LRU_WAYS_MAX)
        return td_fail(err, TD_EFORMAT, "l1d_lru: at most %d ways are kept in order",
                       TD_LRU_WAYS_MAX);
    return TD_OK;
}

static const struct field *find_key(const char *key)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(fields); i++) {
        if (strcmp(fields[i].key, key) == 0 && strcmp(fields[i].section, "core") != 0)
            return &fields[i];
    }
    return NULL;
}

int td_core_desc_set(struct td_core_desc *desc, const char *key, const char *value,
                     struct td_err *err)
{
    const struct field *field = find_key(key);
    const char *names[TD_ARRAY_SIZE(fields) + 1] = {NULL};
    struct td_core_desc changed = *desc;
    struct td_err why = TD_ERR_INIT;
    size_t count = 0;

    if (!field) {
        for (size_t i = 0; i < TD_ARRAY_SIZE(fields); i++) {
            if (strcmp(fields[i].section, "core") != 0)
                names[count++] = fields[i].key;
        }
        const char *near = td_nearest(key, names);
        return td_fail(err, TD_EUSAGE, "a core has no number '%s'%s%s%s", key,
                       near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    }
    if (read_value(&changed, field, value, &why) != TD_OK || check_core(&changed, &why) != TD_OK)
        return td_fail(err, TD_EUSAGE, "%s=%s: %s", key, value, why.text);
    *desc = changed;
    return TD_OK;
}

static bool is_equal(const struct td_core_desc *a, const struct td_core_desc *b,
                     const struct field *field)
{
    return memcmp((const char *)a + field->place, (const char *)b + field->place, sizeof(int)) == 0;
}

bool td_core_desc_predicts_alike(const struct td_core_desc *a, const struct td_core_desc *b)
{
    bool alike = true;

    for (size_t i = 0; i < TD_ARRAY_SIZE(fields); i++) {
        if (strcmp(fields[i].section, "predict") == 0)
            alike = alike && is_equal(a, b, &fields[i]);
    }
    return alike;
}

bool td_core_desc_warms_alike(const struct td_core_desc *a, const struct td_core_desc *b)
{
    static const char *const sections[] = {"fetch", "memory", "tlb", "prefetch"};
    bool alike = true;

    for (size_t i = 0; i < TD_ARRAY_SIZE(fields); i++) {
        for (size_t k = 0; k < TD_ARRAY_SIZE(sections); k++) {
            if (fields[i].unit == COUNT && strcmp(fields[i].section, sections[k]) == 0)
                alike = alike && is_equal(a, b, &fields[i]);
        }
    }
    return alike;
}

int td_core_desc_read(struct td_core_desc *ret, const struct td_uarch *uarch, struct td_err *err)
{
    const struct td_uarch_section *core = td_uarch_section(uarch, "core");
    struct td_core_desc desc = {0};
    int rc;

    if (!core)
        return td_fail(err, TD_EFORMAT, "section [core] is missing");
    if ((rc = read_text(desc.name, sizeof(desc.name), core, "name", err)) != TD_OK ||
        (rc = read_text(desc.title, sizeof(desc.title), core, "title", err)) != TD_OK ||
        (rc = read_text(desc.isa, sizeof(desc.isa), core, "isa", err)) != TD_OK ||
        (rc = read_numbers(&desc, uarch, err)) != TD_OK ||
        (rc = read_ports(&desc, uarch, err)) != TD_OK ||
        (rc = read_dispatch(&desc, uarch, err)) != TD_OK ||
        (rc = read_ops(&desc, uarch, err)) != TD_OK || (rc = check_core(&desc, err)) != TD_OK)
        return rc;
    *ret = desc;
    return TD_OK;
}

int td_core_desc_text(struct td_core_desc *ret, const char *text, struct td_err *err)
{
    struct td_uarch *uarch = NULL;
    int rc = td_uarch_parse(&uarch, text, strlen(text), err);

    if (rc == TD_OK)
        rc = td_core_desc_read(ret, uarch, err);
    td_uarch_free(uarch);
    return rc;
}

/* Some descriptions only say how a core counts. */
static bool is_modelled(const struct td_uarch_builtin *builtin)
{
    struct td_uarch *uarch = NULL;
    bool modelled = false;

    if (td_uarch_parse(&uarch, builtin->text, builtin->size, NULL) == TD_OK)
        modelled = td_uarch_section(uarch, "pipeline") != NULL;
    td_uarch_free(uarch);
    return modelled;
}

static int fail_unknown(const char *name, struct td_err *err)
{
    char names[256] = "";
    size_t len = 0;

    for (size_t i = 0; td_uarch_builtin_at(i) && len < sizeof(names); i++) {
        const struct td_uarch_builtin *builtin = td_uarch_builtin_at(i);
        int n = 0;

        if (is_modelled(builtin))
            n = snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "", builtin->name);
        len += n > 0 ? (size_t)n : 0;
    }
    return td_fail(err, TD_ENOENT, "no core is named '%s'; there are %s", name, names);
}

int td_core_desc_builtin(struct td_core_desc *ret, const char *name, struct td_err *err)
{
    const struct td_uarch_builtin *builtin = td_uarch_builtin(name);
    const char *words = strchr(name, '+');
    struct td_uarch *uarch = NULL;
    struct td_core_desc desc;

    if (!builtin || !is_modelled(builtin))
        return fail_unknown(name, err);
    int rc = td_uarch_parse(&uarch, builtin->text, builtin->size, err);
    if (rc == TD_OK)
        rc = td_core_desc_read(&desc, uarch, err);
    td_uarch_free(uarch);
    if (rc != TD_OK)
        td_err_prefix(err, "%s.uarch", builtin->name);
    else if (words)
        rc = td_variant_apply(&desc, words + 1, err);
    if (rc == TD_OK)
        *ret = desc;
    return rc;
}
