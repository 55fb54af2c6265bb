/* SPDX-License-Identifier: MIT */
/*
 * Makes a profile from lines on stdin, for tests. Ids count from 0 in order of appearance; the last
 * word of a line takes the rest of it.
 *   env KEY VALUE               module KIND PATH              thread PID TID PROCESS NAME
 *                               (a file that is here is recorded with what identifies it)
 *   symbol MODULE OFFSET SIZE NAME                            counter NUMBER VALUE
 *   clock FREQUENCY             a group of cpu-clock samples  sim NODE...   a modelled group, with
 *                                                             a last column of cycles
 *   vary WORDS                  a group of a core with something changed: slots, instructions
 *   slots CPU_TYPE|-[/NAME] EVENT...   a top-down group, sampled by its second event; one with a
 *                               name by its first
 *   locate NODE CPU_TYPE|- EVENT PERIOD   a precise event
 *   weigh EVENT COLUMN...       samples of the event that tell more, by the names of kinds.h
 *   sample THREAD GROUP CPU NS VALUE[,VALUE...] MODULE:OFFSET...
 *   tally THREAD GROUP SAMPLES VALUE[,VALUE...] MODULE:OFFSET...   outermost frame first
 *   region PARENT|- NAME        in the region of this number
 *   row THREAD REGION GROUP|GROUPns|- BEGUN ENDED TIMED SUM MIN MAX SQUARES WHOLE SEEN [VALUE...]
 *                               lengths in slots of a modelled group, else in ns
 *   block MODULE OFFSET BRANCH TARGET RUNS TAKEN LENGTH[,LENGTH...] [eDELTA,COUNT...] [uUOP...]
 *                               UOP: INSN,SRC,SRC,SRC,ADDRESS,ADDRESS,DST,DST,FLAGS,SLOTS,LATENCY,
 *                               LOAD,BACK,FORWARD,BUSY,UNIT[,PORTS...]
 *   cut                         no end, as after a kill
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "formats/profile/write.h"
#include "symbolize/identity.h"

struct composing {
    struct td_profile_writer *writer;
    uint32_t modules[64], threads[64], groups[16];
    uint32_t regions[64];
    size_t module_count, thread_count, group_count, region_count;
    bool cut;
};

static int write_out(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)ctx;
    return td_fd_write_all(STDOUT_FILENO, data, size, err);
}

/* The next word; the line moves on. */
static char *word(char **line)
{
    *line += strspn(*line, " ");
    char *start = *line;
    *line += strcspn(*line, " ");
    if (**line)
        *(*line)++ = '\0';
    return start;
}

static uint64_t number(char **line)
{
    return strtoull(word(line), NULL, 0);
}

static void add_module(struct composing *c, char *line)
{
    struct td_profile_module m = {.kind = TD_MODULE_FILE};
    const char *kind = word(&line);

    for (unsigned k = 0; k <= TD_MODULE_ANON; k++) {
        if (strcmp(td_module_kind_name(k), kind) == 0)
            m.kind = (enum td_module_kind)k;
    }
    m.path = line;
    if (m.kind == TD_MODULE_FILE)
        (void)td_identity_read(line, NULL, &m.build_id, NULL);
    c->modules[c->module_count++] = td_profile_module(c->writer, &m);
}

static void add_symbol(struct composing *c, char *line)
{
    const uint64_t module = number(&line), offset = number(&line), size = number(&line);

    td_profile_symbol(c->writer, c->modules[module], offset, size, line, NULL, 0);
}

static void add_thread(struct composing *c, char *line)
{
    const uint32_t pid = (uint32_t)number(&line), tid = (uint32_t)number(&line);
    const char *process = word(&line);

    c->threads[c->thread_count++] = td_profile_thread(c->writer, pid, tid, line, process, 0);
}

static void add_clock(struct composing *c, char *line)
{
    const struct td_profile_event e = {
        .name = "cpu-clock", .unit = TD_UNIT_NS, .pmu_type = 1, .frequency_hz = number(&line)};
    struct td_group g = {.role = TD_ROLE_TIME, .locates = TD_NODE_NONE, .column_count = 1};

    g.sampler = td_profile_event(c->writer, &e);
    g.columns[0] = (struct td_column){TD_COLUMN_PERIOD, g.sampler, TD_NODE_NONE};
    c->groups[c->group_count++] = td_profile_group(c->writer, &g, "clock", "");
}

static void add_sim(struct composing *c, char *line)
{
    const struct td_profile_event slots = {.name = "slots", .unit = TD_UNIT_SLOTS};
    const struct td_profile_event cycles = {.name = "cycles", .unit = TD_UNIT_CYCLES};
    struct td_group g = {.role = TD_ROLE_MODEL,
                         .attribution = TD_ATTRIBUTION_EXACT,
                         .locates = TD_NODE_NONE,
                         .sampler = TD_NONE};
    const uint32_t slots_id = td_profile_event(c->writer, &slots);
    const uint32_t cycles_id = td_profile_event(c->writer, &cycles);

    while (*line)
        g.columns[g.column_count++] =
            (struct td_column){TD_COLUMN_TOTAL, slots_id, td_tma_by_id(word(&line))};
    g.columns[g.column_count++] = (struct td_column){TD_COLUMN_TOTAL, cycles_id, TD_NODE_NONE};
    c->groups[c->group_count++] = td_profile_group(c->writer, &g, "sim", "");
}

/* The same run on a core with something changed: tallies of slots, instructions. */
static void add_vary(struct composing *c, char *line)
{
    const struct td_profile_event slots = {.name = "slots", .unit = TD_UNIT_SLOTS};
    const struct td_profile_event instructions = {.name = "instructions",
                                                  .unit = TD_UNIT_INSTRUCTIONS};
    struct td_group g = {.role = TD_ROLE_VARIANT,
                         .attribution = TD_ATTRIBUTION_EXACT,
                         .locates = TD_NODE_NONE,
                         .sampler = TD_NONE,
                         .column_count = TD_VARIANT_COLUMNS};

    g.columns[0] =
        (struct td_column){TD_COLUMN_TOTAL, td_profile_event(c->writer, &slots), TD_NODE_NONE};
    g.columns[1] = (struct td_column){TD_COLUMN_TOTAL, td_profile_event(c->writer, &instructions),
                                      TD_NODE_NONE};
    c->groups[c->group_count++] = td_profile_group(c->writer, &g, line, "");
}

static enum td_unit unit_of(const char *event)
{
    return strcmp(event, "cycles") == 0         ? TD_UNIT_CYCLES
           : strcmp(event, "inst_retired") == 0 ? TD_UNIT_INSTRUCTIONS
                                                : TD_UNIT_COUNT;
}

static const char *cpu_type_of(const char *text)
{
    return strcmp(text, "-") == 0 ? "" : text;
}

static void add_slots(struct composing *c, char *line)
{
    const bool named = strcspn(line, "/") < strcspn(line, " ");
    if (named) /* "- split": of that name */
        line[strcspn(line, "/")] = ' ';
    const char *cpu_type = cpu_type_of(word(&line));
    const char *name_of = named ? word(&line) : "topdown";
    struct td_group g = {
        .role = TD_ROLE_SLOTS, .attribution = TD_ATTRIBUTION_INTERVAL, .locates = TD_NODE_NONE};

    while (*line) {
        const char *name = word(&line);
        const struct td_profile_event event = {.name = name, .unit = unit_of(name), .pmu_type = 4};
        const uint32_t id = td_profile_event(c->writer, &event);

        if (g.column_count == (named ? 0 : 1))
            g.sampler = id;
        g.columns[g.column_count++] = (struct td_column){TD_COLUMN_DELTA, id, TD_NODE_NONE};
    }
    c->groups[c->group_count++] = td_profile_group(c->writer, &g, name_of, cpu_type);
}

static void add_locate(struct composing *c, char *line)
{
    struct td_group g = {.role = TD_ROLE_LOCATOR,
                         .attribution = TD_ATTRIBUTION_LOCATED,
                         .locates = td_tma_by_id(word(&line)),
                         .column_count = 1};
    const char *cpu_type = cpu_type_of(word(&line)), *name = word(&line);
    const struct td_profile_event event = {
        .name = name, .pmu_type = 4, .period = number(&line), .flags = TD_EVENT_PRECISE};

    g.sampler = td_profile_event(c->writer, &event);
    g.columns[0] = (struct td_column){TD_COLUMN_PERIOD, g.sampler, TD_NODE_NONE};
    c->groups[c->group_count++] =
        td_profile_group(c->writer, &g, td_tma_info(g.locates)->id, cpu_type);
}

static void add_weigh(struct composing *c, char *line)
{
    const char *name = word(&line);
    const struct td_profile_event event = {.name = name, .pmu_type = 4, .period = 1000};
    struct td_group g = {.role = TD_ROLE_METRIC, .locates = TD_NODE_NONE, .column_count = 1};

    g.sampler = td_profile_event(c->writer, &event);
    g.columns[0] = (struct td_column){TD_COLUMN_PERIOD, g.sampler, TD_NODE_NONE};
    while (*line) {
        const char *column = word(&line);
        unsigned kind = 0;

        while (kind < TD_COLUMN_UNKNOWN && strcmp(td_column_kind_name(kind), column) != 0)
            kind++;
        g.columns[g.column_count++] =
            (struct td_column){(enum td_column_kind)kind, TD_NONE, TD_NODE_NONE};
    }
    c->groups[c->group_count++] = td_profile_group(c->writer, &g, name, "");
}

/* "VALUE[,VALUE...] MODULE:OFFSET...": the values, and the node of the stack. */
static uint32_t read_place(const struct composing *c, char *line, uint64_t values[TD_COLUMNS_MAX])
{
    uint32_t node = 0;
    size_t count = 0;

    for (const char *v = word(&line); v; v = strchr(v, ',') ? strchr(v, ',') + 1 : NULL)
        values[count++] = strtoull(v, NULL, 0);
    while (*line) {
        char *offset = NULL;
        const uint64_t module = strtoull(word(&line), &offset, 0);

        node = td_profile_node(c->writer, node, c->modules[module], strtoull(offset + 1, NULL, 0));
    }
    return node;
}

static void add_tally(struct composing *c, char *line)
{
    const uint64_t thread = number(&line), group = number(&line), samples = number(&line);
    uint64_t values[TD_COLUMNS_MAX] = {0};
    const uint32_t node = read_place(c, line, values);

    td_profile_tally(c->writer, c->threads[thread], node, c->groups[group], samples, values);
}

static void add_sample(struct composing *c, char *line)
{
    const uint64_t thread = number(&line), group = number(&line), cpu = number(&line);
    struct td_sample sample = {.time_ns = number(&line),
                               .thread = c->threads[thread],
                               .group = c->groups[group],
                               .cpu = (uint32_t)cpu};
    uint64_t values[TD_COLUMNS_MAX] = {0};

    sample.node = read_place(c, line, values);
    td_profile_sample(c->writer, &sample, values);
}

static void add_region(struct composing *c, char *line)
{
    const char *parent = word(&line);

    c->regions[c->region_count++] = td_profile_region(
        c->writer, strcmp(parent, "-") == 0 ? TD_NONE : c->regions[strtoul(parent, NULL, 10)],
        line);
}

static void add_row(struct composing *c, char *line)
{
    uint64_t values[TD_COLUMNS_MAX] = {0};
    struct td_region_row row = {.thread = c->threads[number(&line)],
                                .region = c->regions[number(&line)]};
    const char *group = word(&line);
    const bool counted = strcmp(group, "-") != 0;

    row.group = counted ? c->groups[strtoul(group, NULL, 10)] : TD_NONE;
    row.unit = counted && !strstr(group, "ns") ? TD_UNIT_SLOTS : TD_UNIT_NS;
    row.begun = number(&line);
    row.ended = number(&line);
    row.timed = number(&line);
    row.sum = number(&line);
    row.min = number(&line);
    row.max = number(&line);
    row.squares[0] = number(&line);
    row.whole = number(&line);
    row.seen = number(&line);
    for (size_t i = 0; *line && i < TD_COLUMNS_MAX; i++)
        values[i] = number(&line);
    td_profile_region_row(c->writer, &row, values);
}

static void read_uop(struct td_ran_uop *uop, char *text)
{
    uint8_t *const fields[] = {
        &uop->src[0],       &uop->src[1], &uop->src[2],  &uop->address[0], &uop->address[1],
        &uop->dst[0],       &uop->dst[1], &uop->flags,   &uop->slots,      &uop->latency,
        &uop->load_latency, &uop->back,   &uop->forward, &uop->busy,       &uop->unit};

    *uop = (struct td_ran_uop){.insn = (uint16_t)strtoul(text, &text, 0)};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && *text == ','; i++)
        *fields[i] = (uint8_t)strtoul(text + 1, &text, 0);
    for (size_t p = 0; p < TD_RAN_PORTS && *text == ','; p++)
        uop->ports[p] = (uint16_t)strtoul(text + 1, &text, 0);
}

static void add_block(struct composing *c, char *line)
{
    struct td_ran_block block = {.module = c->modules[number(&line)], .offset = number(&line)};
    struct td_ran_edge edges[16];
    struct td_ran_uop uops[64];
    uint8_t lengths[64];

    block.branch = (uint8_t)number(&line);
    block.target = strtoll(word(&line), NULL, 0);
    block.runs = number(&line);
    block.taken = number(&line);
    for (char *at = word(&line); *at; at += *at == ',')
        block.size += lengths[block.insn_count++] = (uint8_t)strtoul(at, &at, 0);
    while (*line) {
        char *what = word(&line), *end = NULL;

        if (*what == 'u') {
            read_uop(&uops[block.uop_count++], what + 1);
        } else {
            edges[block.edge_count].delta = strtoll(what + 1, &end, 0);
            edges[block.edge_count++].count = strtoull(end + 1, NULL, 0);
        }
    }
    block.edges = edges;
    block.uops = uops;
    block.lengths = lengths;
    td_profile_ran(c->writer, &block);
}

/* shared PROCESS ADDRESS AREA MODULE|- OFFSET, two sides THREAD MODULE OFFSET STORE, FALSE and the
 * three sums */
static struct td_shared_side shared_side(const struct composing *c, char **line)
{
    struct td_shared_side side = {.thread = c->threads[number(line)]};

    side.module = c->modules[number(line)];
    side.offset = number(line);
    side.store = number(line) != 0;
    return side;
}

static void add_shared(struct composing *c, char *line)
{
    struct td_shared_row row = {.process = c->threads[number(&line)]};

    row.address = number(&line);
    row.area = (uint32_t)number(&line);
    const char *module = word(&line);
    row.module = strcmp(module, "-") == 0 ? TD_NONE : c->modules[strtoul(module, NULL, 10)];
    row.offset = number(&line);
    row.mine = shared_side(c, &line);
    row.theirs = shared_side(c, &line);
    row.is_false = number(&line) != 0;
    row.transfers = number(&line);
    row.invalidations = number(&line);
    row.cycles = number(&line);
    td_profile_shared(c->writer, &row);
}

static void add_env(struct composing *c, char *line)
{
    const char *key = word(&line);

    td_profile_env(c->writer, key, line);
}

static void add_counter(struct composing *c, char *line)
{
    const uint64_t counter = number(&line);

    td_profile_counter(c->writer, (enum td_counter)counter, number(&line));
}

static void set_cut(struct composing *c, char *line)
{
    (void)line;
    c->cut = true;
}

static const struct {
    const char *name;
    void (*add)(struct composing *c, char *line);
} verbs[] = {
    {"env", add_env},         {"module", add_module}, {"symbol", add_symbol},
    {"thread", add_thread},   {"clock", add_clock},   {"sim", add_sim},
    {"counter", add_counter}, {"tally", add_tally},   {"cut", set_cut},
    {"slots", add_slots},     {"locate", add_locate}, {"sample", add_sample},
    {"region", add_region},   {"row", add_row},       {"weigh", add_weigh},
    {"block", add_block},     {"vary", add_vary},     {"shared", add_shared},
};

static bool compose_line(struct composing *c, char *line)
{
    const char *verb = word(&line);

    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verb, verbs[i].name) == 0) {
            verbs[i].add(c, line);
            return true;
        }
    }
    fprintf(stderr, "compose_profile: what is '%s'?\n", verb);
    return false;
}

int main(void)
{
    struct composing c = {.cut = false};
    struct td_err err = TD_ERR_INIT;
    char line[4096];
    bool ok = td_profile_writer_new(&c.writer, write_out, NULL, NULL, &err) == TD_OK;

    while (ok && fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] && line[0] != '#')
            ok = compose_line(&c, line);
    }
    if (ok && c.cut)
        ok = td_profile_flush(c.writer, &err) == TD_OK;
    else if (ok)
        ok = td_profile_finish(c.writer, &err) == TD_OK;
    td_profile_writer_free(c.writer);
    return ok ? 0 : 1;
}
