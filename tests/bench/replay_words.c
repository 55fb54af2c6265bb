/* SPDX-License-Identifier: MIT */
/*
 * replay_words FILE CORE [--bare] [--counting] [--millions N]: gives what
 * record_words.c wrote to a model, and prints the CPU time of prediction, of warming and of the
 * model, and a hash of each part of what comes out. Two builds are as exact as each other when all
 * hashes are equal. --bare: as the model of a variant.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "record/sim/model/sim.h"
#include "tests/bench/words_file.h"

enum { MODES = TD_SIM_FAST_FORWARD + 1 };

struct replay {
    struct td_sim *sim;
    struct td_warmed *warmed;
    struct td_blocks *blocks;
    bool bare, counting;
    uint64_t limit;                                            /* instructions */
    uint64_t predict_ns[MODES], warm_ns[MODES], run_ns[MODES]; /* by mode */
    uint64_t words;
};

static bool run_batch(void *ctx, const struct words_batch *batch)
{
    struct replay *replay = ctx;
    const enum td_sim_mode mode = batch->mode;
    uint64_t *words = batch->words;
    const size_t count = batch->count;
    struct td_sim_totals totals;
    const uint64_t begin = td_clock_thread_ns();

    td_sim_predict(replay->sim, words, count, mode);
    const uint64_t predicted = td_clock_thread_ns();
    td_sim_warm(replay->sim, words, count, mode, replay->warmed);
    const uint64_t warmed = td_clock_thread_ns();
    td_sim_run(replay->sim, words, count, mode, replay->warmed);
    replay->predict_ns[mode] += predicted - begin;
    replay->warm_ns[mode] += warmed - predicted;
    replay->run_ns[mode] += td_clock_thread_ns() - warmed;
    replay->words += count;
    td_sim_skipped(replay->sim, batch->skipped);
    td_sim_totals(replay->sim, &totals);
    return totals.instructions < replay->limit;
}

static void add_hash(void *ctx, const void *data, size_t size)
{
    uint64_t *hash = ctx;

    *hash = td_hash_u64(*hash ^ td_hash_bytes(data, size)) + 1;
}

static void hash_tally(void *ctx, const struct td_sim_tally *tally)
{
    add_hash(ctx, &tally->pc, sizeof(tally->pc));
    add_hash(ctx, (uint32_t[]){tally->region, tally->path}, 8);
    add_hash(ctx, &tally->runs, sizeof(tally->runs));
    add_hash(ctx, tally->values, sizeof(tally->values));
}

/* The same of all paths together. */
struct places {
    struct td_sim_tally *at;
    size_t count, cap;
};

static void add_place(void *ctx, const struct td_sim_tally *tally)
{
    struct places *places = ctx;

    places->at = td_grow(places->at, &places->cap, places->count + 1, sizeof(*places->at));
    places->at[places->count] = *tally;
    places->at[places->count++].path = 0;
}

static int by_place(const void *a, const void *b)
{
    const struct td_sim_tally *x = a, *y = b;

    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

static uint64_t hash_places(const struct td_sim *sim)
{
    struct places places = {.at = NULL};
    uint64_t hash = 0;

    td_sim_each_tally(sim, add_place, &places);
    if (places.count > 0)
        qsort(places.at, places.count, sizeof(*places.at), by_place);
    for (size_t i = 0; i < places.count; i++) {
        struct td_sim_tally sum = places.at[i];

        for (; i + 1 < places.count && by_place(&sum, &places.at[i + 1]) == 0; i++) {
            sum.runs += places.at[i + 1].runs;
            for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++)
                sum.values[c] += places.at[i + 1].values[c];
        }
        hash_tally(&hash, &sum);
    }
    free(places.at);
    return hash;
}

static void hash_code(void *ctx, const struct td_ran_block *block)
{
    add_hash(ctx, (uint64_t[]){block->offset, block->runs, block->taken, block->uop_count}, 32);
    for (uint32_t i = 0; i < block->edge_count; i++)
        add_hash(ctx, &block->edges[i], sizeof(block->edges[i]));
    for (uint32_t i = 0; i < block->uop_count; i++)
        add_hash(ctx, (uint8_t[]){block->uops[i].back, block->uops[i].forward}, 2);
}

static void hash_habit(void *ctx, const struct td_habit *habit)
{
    add_hash(ctx, (uint64_t[]){habit->offset, habit->mark_count}, 16);
    add_hash(ctx, habit->figures, sizeof(habit->figures));
    for (uint32_t i = 0; i < habit->mark_count; i++)
        add_hash(ctx,
                 (uint64_t[]){habit->marks[i].kind, habit->marks[i].key, habit->marks[i].count},
                 24);
}

static void hash_replicates(void *ctx, uint32_t region, uint64_t pc, enum td_sim_column column,
                            const int64_t replicates[TD_REPLICATES])
{
    add_hash(ctx, (uint64_t[]){region, pc, (uint64_t)column}, 24);
    add_hash(ctx, replicates, TD_REPLICATES * sizeof(*replicates));
}

static void hash_region(void *ctx, const struct td_sim_region *region)
{
    add_hash(ctx, (uint32_t[]){region->parent, region->name}, 8);
    add_hash(ctx, region->values, sizeof(region->values));
}

static void print_hashes(const struct replay *replay)
{
    const struct td_sim *sim = replay->sim;
    uint64_t tallies = 0, code = 0, habits = 0, replicates = 0, regions = 0, paths = 0, other = 0;
    uint64_t events[TD_SIM_EVENT_COUNT], counts[TD_CPI_COUNTS];

    td_sim_each_tally(sim, hash_tally, &tallies);
    td_sim_each_code(sim, hash_code, &code);
    td_sim_each_habit(sim, hash_habit, &habits);
    td_sim_each_replicates(sim, hash_replicates, &replicates);
    td_sim_each_region(sim, hash_region, &regions);
    for (uint32_t i = 0; i < td_sim_path_count(sim); i++) {
        const struct td_sim_path path = td_sim_path(sim, i);
        add_hash(&paths, (uint64_t[]){path.parent, path.call}, 16);
    }
    td_sim_events(sim, events);
    td_sim_counting(sim, counts);
    add_hash(&other, events, sizeof(events));
    add_hash(&other, counts, sizeof(counts));
    printf("tallies %016lx places %016lx code %016lx habits %016lx replicates %016lx regions "
           "%016lx paths %016lx "
           "events %016lx\n",
           tallies, hash_places(sim), code, habits, replicates, regions, paths, other);
}

static void print_totals(const struct replay *replay)
{
    static const char *const names[MODES] = {[TD_SIM_EXACT] = "exact",
                                             [TD_SIM_DETAILED_WARMING] = "detailed warming",
                                             [TD_SIM_NEAR_WARMING] = "near warming",
                                             [TD_SIM_FUNCTIONAL_WARMING] = "functional warming",
                                             [TD_SIM_FAST_FORWARD] = "fast-forward"};
    struct td_sim_totals totals;
    uint64_t hash = 0;

    td_sim_totals(replay->sim, &totals);
    add_hash(&hash, &totals, sizeof(totals));
    printf("instructions %lu modelled %lu cycles %lu totals %016lx\n", totals.instructions,
           totals.detailed, totals.cycles, hash);
    const double all = totals.instructions > 0 ? (double)totals.instructions : 1;
    uint64_t predict_ns = 0, warm_ns = 0, run_ns = 0;
    for (int mode = 0; mode < MODES; mode++) {
        fprintf(stderr, "%s: predict %.0f ms, warm %.0f ms, run %.0f ms\n", names[mode],
                (double)replay->predict_ns[mode] / 1e6, (double)replay->warm_ns[mode] / 1e6,
                (double)replay->run_ns[mode] / 1e6);
        predict_ns += replay->predict_ns[mode];
        warm_ns += replay->warm_ns[mode];
        run_ns += replay->run_ns[mode];
    }
    fprintf(stderr, "predict %.2f ns, warm %.2f ns, run %.2f ns per instruction, words %.2f\n",
            (double)predict_ns / all, (double)warm_ns / all, (double)run_ns / all,
            (double)replay->words / all);
}

static void parse(struct replay *replay, int argc, char **argv)
{
    replay->limit = UINT64_MAX;
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--bare") == 0)
            replay->bare = true;
        else if (strcmp(argv[i], "--counting") == 0)
            replay->counting = true;
        else if (strcmp(argv[i], "--millions") == 0 && i + 1 < argc)
            replay->limit = strtoull(argv[++i], NULL, 10) * 1000000;
        else
            words_fail("usage: replay_words FILE CORE [--bare] [--counting] [--millions N]");
    }
}

int main(int argc, char **argv)
{
    struct replay *replay = td_xcalloc(1, sizeof(*replay));
    struct td_err err = TD_ERR_INIT;
    struct td_core_desc desc;

    parse(replay, argc, argv);
    if (argc < 3 || td_core_desc_builtin(&desc, argv[2], &err) != TD_OK)
        words_fail(argc < 3 ? "a file and a core are missing" : err.text);
    replay->blocks = td_blocks_new(&desc);
    struct td_llc *llc = td_llc_new(&desc);
    replay->sim = td_sim_new(replay->blocks, llc);
    replay->warmed = td_warmed_new(1);
    if (replay->bare)
        td_sim_set_bare(replay->sim);
    if (replay->counting)
        td_sim_set_counting(replay->sim);
    words_each(argv[1], replay->blocks, run_batch, replay);
    print_totals(replay);
    print_hashes(replay);
    td_warmed_free(replay->warmed);
    td_sim_free(replay->sim);
    td_llc_free(llc);
    td_blocks_free(replay->blocks);
    free(replay);
    return 0;
}
