/* SPDX-License-Identifier: MIT */
/*
 * pair_windows FILE CORE [--gap N] [--warm N] [--near N] [--detailed N] [--millions N]: how right
 * windows are from their first instruction on. Two models are given what record_words.c wrote of a
 * program that was modelled exactly. One models all of it; the other, after 10 million
 * instructions, windows alone: each comes after `gap` thousand instructions of fast-forward, and
 * `warm` thousand of functional, `near` of near and `detailed` of detailed warming. For each
 * thousand instructions from the detailed warming on: what the first model counts per 1,000
 * instructions, and how much more the second does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/sim/model/sim.h"
#include "record/sim/model/trace.h"
#include "record/sim/qemu/image.h"
#include "record/sim/qemu/queue.h"
#include "tests/bench/words_file.h"

/* X(name, of the totals) */
#define COUNTS(X)                 \
    X("cycles", cycles)           \
    X("mispredicts", mispredicts) \
    X("L1I misses", l1i_misses)   \
    X("ITLB misses", itlb_misses) \
    X("L1D misses", l1d_misses)   \
    X("L2 misses", l2_misses)     \
    X("L3 misses", l3_misses)     \
    X("TLB misses", tlb_misses)   \
    X("clears", machine_clears)

enum {
    CHUNK = 1000, /* instructions that are looked at together */
    WINDOW = 4,   /* chunks */
    STEPS = 64,   /* of a window and what of its warming is looked at, at most */
    FIRST = 10000000,
    COUNT = 0
#define X(name, field) +1
    COUNTS(X)
#undef X
};

struct counts {
    double instructions, values[COUNT];
};

/* One of the models, and what it counted in each step of all windows. */
struct side {
    struct td_sim *sim;
    struct td_llc *llc;
    struct counts steps[STEPS];
};

struct pair {
    struct td_blocks *blocks;
    struct td_warmed *warmed;
    struct side exact, sampled;
    uint64_t gap, warm, near, detailed; /* chunks of each phase */
    uint64_t limit;                     /* instructions */
    uint64_t ran, chunks;               /* instructions; chunks since the sampling began */
    uint64_t recent[TD_IMAGE_RECENT];   /* as of qemu/image.h: what is left out of the stream */
    uint32_t recent_blocks[TD_IMAGE_RECENT_BLOCKS];
    uint64_t words[TD_QUEUE_WORDS + TD_QUEUE_SLACK];
};

static bool is_recent(struct pair *pair, uint64_t word)
{
    const uint64_t line = TD_TRACE_ADDRESS(word) >> 6;
    uint64_t *place = &pair->recent[line & (TD_IMAGE_RECENT - 1)];
    const bool recent = *place == line;

    *place = line;
    return recent;
}

static uint64_t without_insn(uint64_t word)
{
    return td_trace_access(TD_TRACE_NO_INSN, false, 0, TD_TRACE_ADDRESS(word));
}

/* The words of functional warming: accesses to recent lines are left out. Returns how many. */
static size_t filter(struct pair *pair, const uint64_t *words, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (words[i] & TD_TRACE_BLOCK_BIT)
            pair->words[kept++] = words[i];
        else if (!is_recent(pair, words[i]))
            pair->words[kept++] = without_insn(words[i]);
    }
    return kept;
}

/* Of a fast-forward, the words of the block whose word is first. */
static size_t thin_block(struct pair *pair, size_t kept, const uint64_t *words, size_t count)
{
    const uint32_t id = (uint32_t)words[0];
    const struct td_block *block = td_blocks_get(pair->blocks, id);
    uint32_t *place = &pair->recent_blocks[id & (TD_IMAGE_RECENT_BLOCKS - 1)];
    const bool calls = td_block_calls(block) || block->branch == TD_BRANCH_RETURN;

    if (*place != id + 1)
        pair->words[kept++] = td_trace_block(id) | TD_TRACE_CODE;
    *place = id + 1;
    for (size_t i = 1; i < count; i++) {
        if (calls && i + 1 == count) { /* what it puts on the stack, or takes from there */
            pair->words[kept++] = td_trace_block(id);
            pair->words[kept++] = words[i];
        } else if (!is_recent(pair, words[i])) {
            pair->words[kept++] = without_insn(words[i]);
        }
    }
    return kept;
}

static size_t thin(struct pair *pair, const uint64_t *words, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0, end; i < count; i = end) {
        end = i + 1;
        while (end < count && !(words[end] & TD_TRACE_BLOCK_BIT))
            end++;
        if (td_trace_is_mark(words[i]))
            pair->words[kept++] = words[i];
        else if (words[i] & TD_TRACE_BLOCK_BIT)
            kept = thin_block(pair, kept, words + i, end - i);
    }
    return kept;
}

static struct counts count_all(const struct td_sim *sim)
{
    struct td_sim_totals totals;

    td_sim_totals(sim, &totals);
    totals.cycles = td_sim_clock(sim); /* of what was modelled */
    return (struct counts){.instructions = (double)totals.instructions,
                           .values = {
#define X(name, field) (double)totals.field,
                               COUNTS(X)
#undef X
                           }};
}

static void add_since(struct counts *sum, const struct counts *before, const struct td_sim *sim)
{
    const struct counts now = count_all(sim);

    sum->instructions += now.instructions - before->instructions;
    for (int i = 0; i < COUNT; i++)
        sum->values[i] += now.values[i] - before->values[i];
}

/* Of the sampled model's next chunk; `*step` counts from its detailed warming on. */
static enum td_sim_mode next_mode(struct pair *pair, uint64_t *step)
{
    const uint64_t ends[] = {pair->gap, pair->gap + pair->warm, pair->gap + pair->warm + pair->near,
                             pair->gap + pair->warm + pair->near + pair->detailed};

    if (pair->ran < FIRST)
        return TD_SIM_EXACT;
    const uint64_t at = pair->chunks++ % (ends[3] + WINDOW);
    *step = at - ends[2];
    return at < ends[0]   ? TD_SIM_FAST_FORWARD
           : at < ends[1] ? TD_SIM_FUNCTIONAL_WARMING
           : at < ends[2] ? TD_SIM_NEAR_WARMING
           : at < ends[3] ? TD_SIM_DETAILED_WARMING
                          : TD_SIM_EXACT;
}

static void run_sampled(struct pair *pair, const uint64_t *words, size_t count,
                        uint64_t instructions, enum td_sim_mode mode)
{
    struct td_sim *sim = pair->sampled.sim;

    if (mode == TD_SIM_FAST_FORWARD)
        count = thin(pair, words, count);
    else if (mode == TD_SIM_FUNCTIONAL_WARMING)
        count = filter(pair, words, count);
    else
        memcpy(pair->words, words, count * sizeof(*words));
    td_sim_predict(sim, pair->words, count, mode);
    td_sim_warm(sim, pair->words, count, mode, pair->warmed);
    td_sim_run(sim, pair->words, count, mode, pair->warmed);
    if (mode == TD_SIM_FAST_FORWARD)
        td_sim_skipped(sim, instructions);
}

static void run_chunk(struct pair *pair, uint64_t *words, size_t count, uint64_t instructions)
{
    uint64_t step = STEPS;
    const enum td_sim_mode mode = next_mode(pair, &step);
    const struct counts exact = count_all(pair->exact.sim), sampled = count_all(pair->sampled.sim);

    run_sampled(pair, words, count, instructions, mode);
    td_sim_predict(pair->exact.sim, words, count, TD_SIM_EXACT);
    td_sim_run(pair->exact.sim, words, count, TD_SIM_EXACT, NULL);
    pair->ran += instructions;
    if (step >= STEPS)
        return;
    add_since(&pair->exact.steps[step], &exact, pair->exact.sim);
    add_since(&pair->sampled.steps[step], &sampled, pair->sampled.sim);
}

static bool run_batch(void *ctx, const struct words_batch *batch)
{
    struct pair *pair = ctx;
    uint64_t instructions = 0;
    size_t from = 0;

    if (batch->mode != TD_SIM_EXACT)
        words_fail("the program was not modelled exactly (mode=exact of the plugin)");
    for (size_t i = 0; i < batch->count; i++) {
        if (!(batch->words[i] & TD_TRACE_BLOCK_BIT) || td_trace_is_mark(batch->words[i]))
            continue;
        if (instructions >= CHUNK) {
            run_chunk(pair, batch->words + from, i - from, instructions);
            from = i;
            instructions = 0;
        }
        instructions += td_blocks_get(pair->blocks, (uint32_t)batch->words[i])->insn_counted;
    }
    if (from < batch->count)
        run_chunk(pair, batch->words + from, batch->count - from, instructions);
    return pair->ran < pair->limit;
}

static void print_step(const struct pair *pair, uint64_t step)
{
    static const char *const names[] = {
#define X(name, field) name,
        COUNTS(X)
#undef X
    };
    const struct counts *exact = &pair->exact.steps[step], *sampled = &pair->sampled.steps[step];

    if (exact->instructions == 0)
        return;
    printf("%s %lu:", step < pair->detailed ? "detailed warming" : "window", step);
    for (int i = 0; i < COUNT; i++)
        printf("%s %s %.2f %+.2f", i ? "," : "", names[i],
               1000 * exact->values[i] / exact->instructions,
               1000 * (sampled->values[i] - exact->values[i]) / exact->instructions);
    printf("\n");
}

static void parse(struct pair *pair, int argc, char **argv)
{
    const struct {
        const char *name;
        uint64_t *value;
    } options[] = {{"--gap", &pair->gap},
                   {"--warm", &pair->warm},
                   {"--near", &pair->near},
                   {"--detailed", &pair->detailed},
                   {"--millions", &pair->limit}};

    for (int i = 3; i < argc; i += 2) {
        size_t k = 0;
        while (k < TD_ARRAY_SIZE(options) && strcmp(argv[i], options[k].name) != 0)
            k++;
        if (k == TD_ARRAY_SIZE(options) || i + 1 == argc)
            words_fail("usage: pair_windows FILE CORE [--gap N] [--warm N] [--near N] "
                       "[--detailed N] [--millions N]");
        *options[k].value = strtoull(argv[i + 1], NULL, 10);
    }
    pair->limit *= 1000000;
}

static void open_side(struct side *side, const struct td_blocks *blocks,
                      const struct td_core_desc *desc)
{
    side->llc = td_llc_new(desc);
    side->sim = td_sim_new(blocks, side->llc);
}

static void close_side(struct side *side)
{
    td_sim_free(side->sim);
    td_llc_free(side->llc);
}

int main(int argc, char **argv)
{
    struct pair *pair = td_xcalloc(1, sizeof(*pair));
    struct td_err err = TD_ERR_INIT;
    struct td_core_desc desc;

    pair->gap = 100;
    pair->warm = 140;
    pair->near = 20;
    pair->detailed = 2;
    pair->limit = 100000;
    parse(pair, argc, argv);
    if (argc < 3 || td_core_desc_builtin(&desc, argv[2], &err) != TD_OK)
        words_fail(argc < 3 ? "a file and a core are missing" : err.text);
    pair->blocks = td_blocks_new(&desc);
    pair->warmed = td_warmed_new(1);
    open_side(&pair->exact, pair->blocks, &desc);
    open_side(&pair->sampled, pair->blocks, &desc);
    words_each(argv[1], pair->blocks, run_batch, pair);
    for (uint64_t step = 0; step < pair->detailed + WINDOW && step < STEPS; step++)
        print_step(pair, step);
    close_side(&pair->exact);
    close_side(&pair->sampled);
    td_warmed_free(pair->warmed);
    td_blocks_free(pair->blocks);
    free(pair);
    return 0;
}
