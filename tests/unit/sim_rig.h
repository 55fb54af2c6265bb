/* SPDX-License-Identifier: MIT */
/* The modelled core driven by hand: blocks and words are made up by the test. */
#ifndef TD_TESTS_SIM_RIG_H
#define TD_TESTS_SIM_RIG_H

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/sim/model/sim.h"

#define RIG_RANDOM UINT64_C(88172645463325252) /* to begin with */

/* The next random number (Marsaglia, Xorshift RNGs, 2003); the same ones every time. */
static inline uint64_t rig_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

/* A producer in the hand: blocks are laid out by the test, words are collected. */
struct rig {
    struct td_core_desc desc;
    struct td_blocks *blocks;
    struct td_llc *llc;
    struct td_sim *sim;
    struct td_warmed *warmed;
    uint64_t *words;
    size_t count, cap;
};

/* Of rig->desc. */
static inline void rig_make(struct rig *rig)
{
    rig->blocks = td_blocks_new(&rig->desc);
    rig->llc = td_llc_new(&rig->desc);
    rig->sim = td_sim_new(rig->blocks, rig->llc);
    rig->warmed = td_warmed_new(1);
}

/* `maps`: the kernel maps a page when it is first touched. */
static inline void rig_open_mapping(struct rig *rig, const char *core, int first_touch)
{
    struct td_err err = TD_ERR_INIT;

    *rig = (struct rig){.words = NULL};
    assert_int_equal(td_core_desc_builtin(&rig->desc, core, &err), TD_OK);
    rig->desc.first_touch = first_touch;
    rig_make(rig);
}

/* Addresses are made up: nothing maps them first. */
static inline void rig_open(struct rig *rig, const char *core)
{
    rig_open_mapping(rig, core, 0);
}

static inline void rig_close(struct rig *rig)
{
    td_warmed_free(rig->warmed);
    td_sim_free(rig->sim);
    td_llc_free(rig->llc);
    td_blocks_free(rig->blocks);
    free(rig->words);
}

static inline void rig_word(struct rig *rig, uint64_t word)
{
    rig->words = td_grow(rig->words, &rig->cap, rig->count + 1, sizeof(*rig->words));
    rig->words[rig->count++] = word;
}

static inline void rig_feed(struct rig *rig, uint64_t *words, size_t count, enum td_sim_mode mode)
{
    td_sim_predict(rig->sim, words, count, mode);
    td_sim_warm(rig->sim, words, count, mode, rig->warmed);
    td_sim_run(rig->sim, words, count, mode, rig->warmed);
}

static inline void rig_run(struct rig *rig)
{
    rig_feed(rig, rig->words, rig->count, TD_SIM_EXACT);
    rig->count = 0;
}

/* Defines a block from instructions given as "length bytes..." in one array ended by length 0. */
static inline uint32_t rig_block(struct rig *rig, uint64_t pc, const uint8_t *code)
{
    uint8_t bytes[1024], lengths[256];
    uint32_t count = 0;
    size_t at = 0;

    for (; *code; code += *code + 1) {
        memcpy(bytes + at, code + 1, *code);
        lengths[count++] = *code;
        at += *code;
    }
    return td_blocks_define(rig->blocks, pc, bytes, lengths, count);
}

struct sums {
    uint64_t values[TD_SIM_COLUMN_COUNT];
    uint64_t cycles;       /* of the whole: slots by the width */
    uint64_t slots, worst; /* `worst`: the most slots of one instruction, and where */
    uint64_t worst_pc;
    uint32_t paths; /* the highest path seen */
};

static inline void add_tally(void *ctx, const struct td_sim_tally *tally)
{
    struct sums *sums = ctx;
    uint64_t slots = 0;

    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++) {
        sums->values[c] += tally->values[c];
        if (td_sim_column_info((enum td_sim_column)c).node != TD_NODE_NONE)
            slots += tally->values[c];
    }
    sums->slots += slots;
    if (slots > sums->worst) {
        sums->worst = slots;
        sums->worst_pc = tally->pc;
    }
    if (tally->path > sums->paths)
        sums->paths = tally->path;
}

static inline void print_sums(const struct sums *sums)
{
    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++)
        print_message("%s %llu ", td_sim_column_info((enum td_sim_column)c).name,
                      (unsigned long long)sums->values[c]);
    print_message("worst %llx\n", (unsigned long long)sums->worst_pc);
}

/* Sums up, and checks what must always hold: retired + lost = slots, and the totals. */
static inline struct sums rig_sums(struct rig *rig)
{
    struct sums sums = {.slots = 0};
    struct td_sim_totals totals;

    rig_run(rig);
    td_sim_each_tally(rig->sim, add_tally, &sums);
    td_sim_totals(rig->sim, &totals);
    print_sums(&sums); /* shown by ctest when a check fails */
    assert_int_equal(sums.slots, totals.slots);
    sums.cycles = totals.cycles;
    assert_int_equal(sums.values[TD_SIM_COLUMN_INSTRUCTIONS], totals.instructions);
    return sums;
}

/* The slots of a node: of the columns that are it or parts of it. */
static inline uint64_t of_node(const struct sums *sums, enum td_tma_node node)
{
    uint64_t sum = 0;

    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++) {
        enum td_tma_node n = td_sim_column_info((enum td_sim_column)c).node;

        while (n != TD_NODE_NONE && n != node)
            n = td_tma_info(n)->parent;
        sum += n == node ? sums->values[c] : 0;
    }
    return sum;
}

static inline double share(const struct sums *sums, enum td_tma_node node)
{
    return (double)of_node(sums, node) / (double)sums->slots;
}

static inline void repeat(struct rig *rig, uint32_t block, int times)
{
    for (int i = 0; i < times; i++)
        rig_word(rig, td_trace_block(block));
}

#endif
