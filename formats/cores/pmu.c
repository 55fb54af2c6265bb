/* SPDX-License-Identifier: MIT */
/* Reads [match] and the [pmu*] sections of a core description; formulas are uarch_tree.c's. */
#include "formats/cores/pmu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/cores/tree.h"
#include "base/banned.h"

#define CLOCK "ghz" /* the given value that is the core's clock */

/* What is being read: the arrays grow here and move to the core at the end. */
struct reader {
    const struct td_uarch *uarch;
    struct td_pmu_core *core;
    struct td_pmu_match *matches;
    struct td_pmu_event *events;
    struct td_pmu_group *groups;
    struct td_pmu_locator *locators;
    size_t match_cap, event_cap, group_cap, locator_cap;
    struct td_err *err;
};

typedef int read_line_fn(struct reader *reader, const struct td_uarch_line *line);

static int bad_line(struct reader *r, const struct td_uarch_line *line, const char *what)
{
    return td_fail(r->err, TD_EFORMAT, "line %u: %s", line->number, what);
}

static int read_section(struct reader *r, const char *name, read_line_fn *read_line)
{
    const struct td_uarch_section *section = td_uarch_section(r->uarch, name);
    int rc = TD_OK;

    for (size_t i = 0; section && i < section->line_count && rc == TD_OK; i++)
        rc = read_line(r, &section->lines[i]);
    return rc;
}

static bool parse_number(const char *word, uint64_t *ret)
{
    return td_parse_u64_base(word, strncmp(word, "0x", 2) == 0 ? 16 : 10, ret);
}

static bool parse_u32(const char *word, uint32_t *ret)
{
    uint64_t value = 0;

    if (!parse_number(word, &value) || value > UINT32_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

/* "0-3,7" to bits; below 32 each. */
static bool parse_bits(const char *list, uint32_t *bits)
{
    *bits = 0;
    while (*list) {
        const size_t len = strspn(list, "0123456789");
        unsigned low = 0, high = 0;

        if (len == 0 || len > 2)
            return false;
        for (size_t i = 0; i < len; i++)
            low = low * 10 + (unsigned)(list[i] - '0');
        list += len;
        high = low;
        if (*list == '-') {
            const size_t more = strspn(++list, "0123456789");

            if (more == 0 || more > 2)
                return false;
            high = 0;
            for (size_t i = 0; i < more; i++)
                high = high * 10 + (unsigned)(list[i] - '0');
            list += more;
        }
        if (high > 31 || low > high)
            return false;
        for (unsigned i = low; i <= high; i++)
            *bits |= 1u << i;
        if (*list && *list++ != ',')
            return false;
    }
    return *bits != 0;
}

/* "7" or "0-15". */
static bool parse_models(struct td_pmu_match *match, const char *word)
{
    char first[16];
    const size_t len = strcspn(word, "-");

    if (len >= sizeof(first))
        return false;
    memcpy(first, word, len);
    first[len] = '\0';
    return parse_u32(first, &match->model) &&
           parse_u32(word[len] ? word + len + 1 : first, &match->model_last) &&
           match->model <= match->model_last;
}

static int read_match(struct reader *r, const struct td_uarch_line *line)
{
    static const char *const vendors[] = {"intel", "amd", "arm", "any"};
    struct td_pmu_match match = {.low = 0, .high = UINT32_MAX};
    size_t vendor = 0;

    while (vendor < TD_ARRAY_SIZE(vendors) && strcmp(vendors[vendor], line->words[0]) != 0)
        vendor++;
    if (vendor == TD_ARRAY_SIZE(vendors))
        return bad_line(r, line, "the vendor is intel, amd, arm, or any");
    match.vendor = (enum td_pmu_vendor)vendor;
    match.any_model = line->word_count == 2 && strcmp(line->words[1], "any") == 0;
    if (!match.any_model && line->word_count != 3 && line->word_count != 5)
        return bad_line(r, line, "expected: vendor family model [low high], or vendor any");
    if (!match.any_model &&
        (!parse_u32(line->words[1], &match.family) || !parse_models(&match, line->words[2])))
        return bad_line(r, line, "family and model are numbers; models may be a range, 0-15");
    if (line->word_count == 5 &&
        (!parse_u32(line->words[3], &match.low) || !parse_u32(line->words[4], &match.high)))
        return bad_line(r, line, "the range is two numbers");
    r->matches = td_grow(r->matches, &r->match_cap, r->core->match_count + 1, sizeof(*r->matches));
    r->matches[r->core->match_count++] = match;
    r->core->matches = r->matches;
    return TD_OK;
}

static int read_setting(struct reader *r, const struct td_uarch_line *line)
{
    struct td_pmu_core *core = r->core;
    const char *key = line->words[0];
    const char *value = line->word_count > 1 ? line->words[1] : "";
    bool good = true;
    uint32_t n = 0;

    if (strcmp(key, "pmu") == 0) {
        core->pmu = value;
    } else if (strcmp(key, "libpfm") == 0) {
        core->libpfm = value;
    } else if (strcmp(key, "note") == 0) {
        good = core->note[0] != '\0';
    } else if (strcmp(key, "width") == 0) {
        good = parse_u32(value, &core->width) && core->width > 0;
    } else if (strcmp(key, "width_from") == 0) {
        core->width_from_caps = true;
        good = strcmp(value, "caps/slots") == 0;
    } else if (strcmp(key, "needs") == 0) {
        core->needs_slots_event = strcmp(value, "slots") == 0;
        core->needs_slot_width = strcmp(value, "caps/slots") == 0;
        good = core->needs_slots_event || core->needs_slot_width;
    } else if (strcmp(key, "samples") == 0) {
        core->retire_latency = good = strcmp(value, "retire_latency") == 0;
    } else if (strcmp(key, "smt") == 0) {
        core->smt = strcmp(value, "on") == 0;
        good = core->smt || strcmp(value, "off") == 0;
    } else if (strcmp(key, "type") == 0) {
        good = parse_u32(value, &n) && n <= INT32_MAX;
        core->type = (int)n;
    } else if (strcmp(key, "counters") == 0) {
        good = parse_u32(value, &core->counters) && core->counters > 0;
        core->counters_smt = core->counters;
        if (good && line->word_count > 2)
            good = parse_u32(line->words[2], &core->counters_smt);
    } else if (strcmp(key, "fixed") == 0) {
        good = parse_bits(value, &core->fixed);
    } else if (strcmp(key, "watchdog") == 0) {
        core->watchdog = -1;
        if (strncmp(value, "fixed=", 6) == 0 && parse_u32(value + 6, &n))
            core->watchdog = (int)n;
        else
            good = strcmp(value, "general") == 0;
    } else {
        return td_fail(r->err, TD_EFORMAT, "line %u: unknown setting '%s'", line->number, key);
    }
    return good ? TD_OK : bad_line(r, line, "the value does not fit the setting");
}

/* One "key=value" or flag after an event's config. */
static bool read_event_word(struct td_pmu_event *event, const char *word)
{
    uint32_t n = 0;

    if (strcmp(word, "metric") == 0)
        event->metric = true;
    else if (strcmp(word, "precise") == 0)
        event->precise = true;
    else if (strcmp(word, "alone") == 0)
        event->alone = true;
    else if (strcmp(word, "pair") == 0)
        event->pair = true;
    else if (strcmp(word, "given") == 0)
        event->given = true;
    else if (strncmp(word, "given=", 6) == 0)
        return (event->given = td_parse_double(word + 6, &event->value));
    else if (strncmp(word, "c1=", 3) == 0)
        return parse_number(word + 3, &event->config1);
    else if (strncmp(word, "period=", 7) == 0)
        return parse_number(word + 7, &event->period);
    else if (strncmp(word, "counters=", 9) == 0)
        return parse_bits(word + 9, &event->counters);
    else if (strncmp(word, "fixed=", 6) == 0 && parse_u32(word + 6, &n) && n < 32)
        event->fixed = (int)n;
    else
        return false;
    return true;
}

static int read_event(struct reader *r, const struct td_uarch_line *line)
{
    struct td_pmu_event event = {.name = line->words[0], .fixed = -1, .value = NAN};

    event.counters = r->core->counters >= 32 ? UINT32_MAX : (1u << r->core->counters) - 1;
    if (line->word_count < 2 || !parse_number(line->words[1], &event.config))
        return bad_line(r, line, "expected: name config [key=value...]");
    if (td_pmu_core_event(r->core, event.name) >= 0)
        return bad_line(r, line, "an event of this name stands above");
    if (r->core->event_count == TD_PMU_EVENTS_MAX)
        return td_fail(r->err, TD_EFORMAT, "line %u: more than %d events", line->number,
                       TD_PMU_EVENTS_MAX);
    for (uint32_t i = 2; i < line->word_count; i++) {
        if (!read_event_word(&event, line->words[i]))
            return td_fail(r->err, TD_EFORMAT, "line %u: '%s' says nothing about an event",
                           line->number, line->words[i]);
    }
    r->events = td_grow(r->events, &r->event_cap, r->core->event_count + 1, sizeof(*r->events));
    r->events[r->core->event_count++] = event;
    r->core->events = r->events;
    return TD_OK;
}

/* "name level=N [pass=N] event event* ...": the star marks the sampler. */
static int read_group(struct reader *r, const struct td_uarch_line *line)
{
    struct td_pmu_group group = {.name = line->words[0], .pass = 1, .sampler = UINT32_MAX};
    uint32_t level = 0;

    for (uint32_t i = 1; i < line->word_count; i++) {
        const char *word = line->words[i];
        const size_t len = strlen(word);
        char name[96];
        bool good = true;

        if (strncmp(word, "level=", 6) == 0) {
            good = parse_u32(word + 6, &level) && level <= TD_TMA_LEVELS;
        } else if (strncmp(word, "pass=", 5) == 0) {
            good = parse_u32(word + 5, &group.pass) && group.pass > 0;
        } else if (group.count == TD_PMU_GROUP_EVENTS_MAX || len >= sizeof(name)) {
            good = false;
        } else {
            memcpy(name, word, len + 1);
            if (name[len - 1] == '*') {
                name[len - 1] = '\0';
                group.sampler = group.count;
            }
            const int event = td_pmu_core_event(r->core, name);

            good = event >= 0 && !r->core->events[event].given;
            group.events[group.count++] = good ? (uint32_t)event : 0;
        }
        if (!good)
            return td_fail(r->err, TD_EFORMAT, "line %u: '%s' does not fit into a group",
                           line->number, word);
    }
    group.level = (int)level;
    if (group.sampler == UINT32_MAX || r->core->events[group.events[group.sampler]].metric)
        return bad_line(r, line, "a group needs one sampler, EVENT*, that may sample");
    r->groups = td_grow(r->groups, &r->group_cap, r->core->group_count + 1, sizeof(*r->groups));
    r->groups[r->core->group_count++] = group;
    r->core->groups = r->groups;
    return TD_OK;
}

static int read_locator(struct reader *r, const struct td_uarch_line *line)
{
    const enum td_tma_node node = td_tma_by_id(line->words[0]);
    const int event = line->word_count == 2 ? td_pmu_core_event(r->core, line->words[1]) : -1;

    if (node == TD_NODE_NONE || event < 0)
        return bad_line(r, line, "expected: node event");
    r->locators =
        td_grow(r->locators, &r->locator_cap, r->core->locator_count + 1, sizeof(*r->locators));
    r->locators[r->core->locator_count++] =
        (struct td_pmu_locator){.node = node, .event = (uint32_t)event};
    r->core->locators = r->locators;
    return TD_OK;
}

static int read_threshold(struct reader *r, const struct td_uarch_line *line)
{
    const enum td_tma_node node = td_tma_by_id(line->words[0]);
    double value = 0;

    if (node == TD_NODE_NONE || line->word_count != 2 || !td_parse_double(line->words[1], &value))
        return bad_line(r, line, "expected: node share");
    r->core->thresholds[node] = value;
    return TD_OK;
}

/* All of a core's are of one unit, so that they can be compared without a clock. */
static int read_latency(struct reader *r, const struct td_uarch_line *line)
{
    const enum td_tma_node node = td_tma_by_id(line->words[0]);
    const bool ns = line->word_count == 3 && strcmp(line->words[2], "ns") == 0;
    double value = 0;

    if (node == TD_NODE_NONE || line->word_count != 3 ||
        (!ns && strcmp(line->words[2], "cycles") != 0) ||
        !td_parse_double(line->words[1], &value) || value <= 0)
        return bad_line(r, line, "expected: node number ns, or node number cycles");
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (r->core->latencies[n] > 0 && r->core->latencies_ns != ns)
            return bad_line(r, line, "the unit is another than above");
    }
    r->core->latencies[node] = value;
    r->core->latencies_ns = ns;
    return TD_OK;
}

static int read_all(struct reader *r)
{
    int rc = read_section(r, "match", read_match);

    if (rc == TD_OK)
        rc = read_section(r, "pmu", read_setting);
    if (rc == TD_OK && (r->core->width == 0 || r->core->counters == 0))
        rc = td_fail(r->err, TD_EFORMAT, "[pmu] must give width and counters");
    if (rc == TD_OK)
        rc = read_section(r, "pmu.events", read_event);
    if (rc == TD_OK)
        rc = read_section(r, "pmu.groups", read_group);
    if (rc == TD_OK)
        rc = read_section(r, "pmu.locators", read_locator);
    if (rc == TD_OK)
        rc = read_section(r, "pmu.thresholds", read_threshold);
    if (rc == TD_OK)
        rc = read_section(r, "pmu.latencies", read_latency);
    if (rc == TD_OK)
        rc = td_pmu_formulas_read(&r->core->formulas, r->core, r->uarch, r->err);
    return rc;
}

/* The rest of the line of this key; "" when there is none. */
static char *rest_of(const struct td_uarch *uarch, const char *name, const char *key)
{
    const struct td_uarch_section *section = td_uarch_section(uarch, name);
    const struct td_uarch_line *line = section ? td_uarch_find(section, key) : NULL;
    char text[320] = "";
    size_t used = 0;

    for (uint32_t i = 1; line && i < line->word_count && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i > 1 ? " " : "",
                                 line->words[i]);
    return td_xstrdup(text);
}

static const char *core_word(const struct td_uarch *uarch, const char *key)
{
    const struct td_uarch_section *core = td_uarch_section(uarch, "core");
    const struct td_uarch_line *line = core ? td_uarch_find(core, key) : NULL;

    return line && line->word_count > 1 ? line->words[1] : "";
}

int td_pmu_core_read(struct td_pmu_core **ret, const struct td_uarch *uarch, struct td_err *err)
{
    struct reader r = {.uarch = uarch, .err = err};

    if (!td_uarch_section(uarch, "pmu"))
        return td_fail(err, TD_ENODATA, "the description has no [pmu] section");
    r.core = td_xcalloc(1, sizeof(*r.core));
    r.core->watchdog = -1;
    r.core->smt = -1;
    r.core->type = -1;
    r.core->name = core_word(uarch, "name");
    r.core->title = rest_of(uarch, "core", "title");
    r.core->note = rest_of(uarch, "pmu", "note");
    for (int i = 0; i < TD_NODE_COUNT; i++)
        r.core->thresholds[i] = NAN;
    const int rc = read_all(&r);
    if (rc != TD_OK) {
        td_pmu_core_free(r.core);
        return rc;
    }
    *ret = r.core;
    return TD_OK;
}

void td_pmu_core_free(struct td_pmu_core *core)
{
    if (!core)
        return;
    td_pmu_formulas_free(core->formulas);
    for (size_t i = 0; i < core->metric_count; i++)
        td_expr_free(core->metrics[i].expr);
    free((void *)(uintptr_t)core->matches);
    free((void *)(uintptr_t)core->events);
    free((void *)(uintptr_t)core->groups);
    free((void *)(uintptr_t)core->locators);
    free((void *)(uintptr_t)core->metrics);
    free((void *)(uintptr_t)core->title);
    free((void *)(uintptr_t)core->note);
    free(core);
}

int td_pmu_core_event(const struct td_pmu_core *core, const char *name)
{
    for (size_t i = 0; i < core->event_count; i++) {
        if (strcmp(core->events[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

void td_pmu_core_give(const struct td_pmu_core *core, const struct td_pmu_given *given,
                      double *counts)
{
    for (size_t i = 0; i < core->event_count; i++) {
        const struct td_pmu_event *event = &core->events[i];

        if (!event->given)
            continue;
        const bool measured = given->latencies && !isnan(given->latencies[i]);
        counts[i] = measured ? given->latencies[i] : event->value;
        if (strcmp(event->name, CLOCK) == 0)
            counts[i] = given->ghz;
        else if (strcmp(event->name, "cpu_model") == 0)
            counts[i] = given->model ? given->model : (double)NAN;
    }
}

int td_pmu_core_timed_event(const struct td_pmu_core *core, const char *name)
{
    const size_t len = strlen(name);
    char event[96];

    if (len < 3 || len >= sizeof(event) || strcmp(name + len - 2, ".R") != 0)
        return -1;
    memcpy(event, name, len - 2);
    event[len - 2] = '\0';
    return td_pmu_core_event(core, event);
}

struct td_pmu_needs td_pmu_core_needs(const struct td_pmu_core *core, enum td_tma_node node)
{
    const td_pmu_event_set events = td_pmu_core_node_events(core, node);
    struct td_pmu_needs needs = {.clock = false};

    for (size_t i = 0; i < core->event_count; i++) {
        if (!core->events[i].given || !(events & td_pmu_event_bit(i)))
            continue;
        needs.clock = needs.clock || strcmp(core->events[i].name, CLOCK) == 0;
        needs.latencies =
            needs.latencies || td_pmu_core_timed_event(core, core->events[i].name) >= 0;
    }
    return needs;
}

/* "VENDOR-6-143-8", with any of "-," between. */
static bool identify_x86(struct td_pmu_cpu *cpu, const char *id)
{
    const bool intel = strncmp(id, "GenuineIntel", 12) == 0;
    uint32_t *const numbers[] = {&cpu->family, &cpu->model, &cpu->stepping};
    const char *p = id + 12;

    if (!intel && strncmp(id, "AuthenticAMD", 12) != 0)
        return false;
    for (size_t i = 0; i < TD_ARRAY_SIZE(numbers) && *p; i++) {
        char word[16];
        const size_t len = strcspn(p + 1, "-,");

        if (len >= sizeof(word))
            return false;
        memcpy(word, p + 1, len);
        word[len] = '\0';
        if (!parse_u32(word, numbers[i]))
            return false;
        p += 1 + len;
    }
    cpu->vendor = intel ? TD_VENDOR_INTEL : TD_VENDOR_AMD;
    return true;
}

/* MIDR_EL1 (Arm ARM D19.2.102): implementer 31:24, variant 23:20, part 15:4, revision 3:0. */
static void identify_arm(struct td_pmu_cpu *cpu, const char *id)
{
    uint64_t midr = 0;

    if (strncmp(id, "0x", 2) != 0 || !td_parse_u64_base(id, 16, &midr))
        return;
    cpu->vendor = TD_VENDOR_ARM;
    cpu->family = (uint32_t)(midr >> 24 & 0xff);
    cpu->model = (uint32_t)(midr >> 4 & 0xfff);
    cpu->stepping = (uint32_t)((midr >> 20 & 0xf) << 4 | (midr & 0xf));
}

struct td_pmu_cpu td_pmu_cpu_of(const char *id)
{
    struct td_pmu_cpu cpu = {.vendor = TD_VENDOR_ANY};

    if (!identify_x86(&cpu, id))
        identify_arm(&cpu, id);
    return cpu;
}

int td_pmu_core_fits(const struct td_pmu_core *core, const struct td_pmu_cpu *cpu,
                     const char *pmu_name)
{
    int best = 0;

    if (core->pmu && strcmp(core->pmu, pmu_name) != 0)
        return 0;
    if (core->smt >= 0 && (core->smt == 1) != cpu->smt)
        return 0;
    for (size_t i = 0; i < core->match_count; i++) {
        const struct td_pmu_match *m = &core->matches[i];
        const bool exact = !m->any_model && m->vendor == cpu->vendor && m->family == cpu->family &&
                           cpu->model >= m->model && cpu->model <= m->model_last &&
                           cpu->stepping >= m->low && cpu->stepping <= m->high;
        int fit = exact ? 3 : 0;

        if (m->any_model)
            fit = m->vendor == cpu->vendor ? 2 : (m->vendor == TD_VENDOR_ANY ? 1 : 0);
        best = fit > best ? fit : best;
    }
    return best;
}
