/* SPDX-License-Identifier: MIT */
/*
 * Writes a large profile to stdout, for tests of how fast a first screen is there:
 *   big_profile samples|stacks|sim BYTES
 * samples: single addresses at 4 kHz; stacks: call paths of 4 to 40 frames; sim: modelled tallies
 * of call paths. Names come with the profile (generated code), so that no file is needed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "formats/profile/write.h"

#define FUNCTIONS      20000u
#define FUNCTION_BYTES 256u
#define FRAMES_MAX     40u

struct making {
    struct td_profile_writer *writer;
    uint32_t module, thread, group;
    uint64_t random; /* xorshift64: the same file each time */
};

static int write_out(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)ctx;
    return td_fd_write_all(STDOUT_FILENO, data, size, err);
}

static uint64_t next(struct making *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return m->random;
}

/* Some functions are far hotter than others: function k about as often as 1 / (k + 1). */
static uint64_t address(struct making *m)
{
    const uint64_t bits = next(m);
    const unsigned shift = (unsigned)(bits & 15);
    const uint64_t function = (bits >> 8) % FUNCTIONS >> shift;

    return function * FUNCTION_BYTES + (bits >> 40) % FUNCTION_BYTES;
}

static void describe(struct making *m)
{
    const struct td_profile_module module = {.kind = TD_MODULE_ANON, .path = "//anon", .pid = 100};
    char name[64];

    m->module = td_profile_module(m->writer, &module);
    m->thread = td_profile_thread(m->writer, 100, 100, "main", "big", 0);
    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        snprintf(name, sizeof(name), "big::Part%u::step_%05u(int)", f % 97, f);
        td_profile_symbol(m->writer, m->module, (uint64_t)f * FUNCTION_BYTES, FUNCTION_BYTES, name,
                          NULL, 0);
    }
}

static void add_clock(struct making *m)
{
    const struct td_profile_event e = {
        .name = "cpu-clock", .unit = TD_UNIT_NS, .pmu_type = 1, .frequency_hz = 4000};
    struct td_group g = {.role = TD_ROLE_TIME, .locates = TD_NODE_NONE, .column_count = 1};

    g.sampler = td_profile_event(m->writer, &e);
    g.columns[0] = (struct td_column){TD_COLUMN_PERIOD, g.sampler, TD_NODE_NONE};
    m->group = td_profile_group(m->writer, &g, "clock", "");
}

static void add_sim(struct making *m)
{
    static const enum td_tma_node nodes[] = {TD_NODE_RETIRING, TD_NODE_BRANCH_MISPREDICTS,
                                             TD_NODE_ICACHE_MISSES, TD_NODE_L3_BOUND};
    const struct td_profile_event slots = {.name = "slots", .unit = TD_UNIT_SLOTS};
    const struct td_profile_event cycles = {.name = "cycles", .unit = TD_UNIT_CYCLES};
    const uint32_t slots_id = td_profile_event(m->writer, &slots);
    const uint32_t cycles_id = td_profile_event(m->writer, &cycles);
    struct td_group g = {.role = TD_ROLE_MODEL,
                         .attribution = TD_ATTRIBUTION_EXACT,
                         .locates = TD_NODE_NONE,
                         .sampler = TD_NONE};

    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
        g.columns[g.column_count++] = (struct td_column){TD_COLUMN_TOTAL, slots_id, nodes[i]};
    g.columns[g.column_count++] = (struct td_column){TD_COLUMN_TOTAL, cycles_id, TD_NODE_NONE};
    m->group = td_profile_group(m->writer, &g, "sim", "");
    td_profile_env(m->writer, "source", "sim");
    td_profile_env(m->writer, "sim.core", "golden-cove");
}

/* A call path; each outer frame is one of few, as in programs. */
static uint32_t stack(struct making *m, unsigned frames)
{
    uint32_t node = 0;

    for (unsigned i = 0; i + 1 < frames; i++) {
        const uint64_t choices = i < 6 ? 2 : 8;

        node = td_profile_node(m->writer, node, m->module,
                               (i * 16 + next(m) % choices) * FUNCTION_BYTES + 17);
    }
    return td_profile_node(m->writer, node, m->module, address(m));
}

int main(int argc, char **argv)
{
    struct making m = {.random = UINT64_C(0x9e3779b97f4a7c15)};
    struct td_err err = TD_ERR_INIT;
    const char *kind = argc > 1 ? argv[1] : "";
    const uint64_t bytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    const bool sim = strcmp(kind, "sim") == 0, flat = strcmp(kind, "samples") == 0;

    if (bytes == 0 || (!sim && !flat && strcmp(kind, "stacks") != 0)) {
        fputs("usage: big_profile samples|stacks|sim BYTES\n", stderr);
        return 2;
    }
    if (td_profile_writer_new(&m.writer, write_out, NULL, NULL, &err) < 0)
        return 1;
    describe(&m);
    if (sim)
        add_sim(&m);
    else
        add_clock(&m);
    for (uint64_t i = 0; td_profile_bytes(m.writer) < bytes; i++) {
        const uint32_t node = stack(&m, flat ? 1 : 4 + (unsigned)(next(&m) % (FRAMES_MAX - 3)));
        const uint64_t slots[5] = {600 + i % 97, 120 + i % 13, 80, 400 + i % 7, 200};
        const uint64_t period = 250000;
        const struct td_sample sample = {
            .time_ns = i * period, .thread = m.thread, .node = node, .group = m.group};

        if (sim)
            td_profile_tally(m.writer, m.thread, node, m.group, 100, slots);
        else
            td_profile_sample(m.writer, &sample, &period);
    }
    const int rc = td_profile_finish(m.writer, &err);
    td_profile_writer_free(m.writer);
    return rc < 0 ? 1 : 0;
}
