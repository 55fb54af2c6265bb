/* SPDX-License-Identifier: MIT */
/*
 * A file of what one thread of a program gave to its model: record_words.c writes it,
 * replay_words.c and pair_windows.c read it. Records follow one another, in the words of the
 * machine that wrote them: a head, and behind it the place, the instructions' lengths and bytes of
 * a block, or the words of a batch.
 */
#ifndef TD_TESTS_BENCH_WORDS_FILE_H
#define TD_TESTS_BENCH_WORDS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/sim/model/blocks.h"
#include "record/sim/model/sim.h"

enum words_kind { WORDS_BLOCK = 1, WORDS_BATCH = 2 };

struct words_head {
    uint32_t kind;  /* enum words_kind */
    uint32_t count; /* instructions of the block; words of the batch */
    uint32_t mode;  /* enum td_sim_mode of the batch; bytes of the block */
    uint32_t id;    /* of the block */
    uint64_t value; /* the block's place; instructions that were skipped with the batch */
    uint64_t own;   /* 1: the block is of the program's own file (td_blocks_set_own_end) */
};

struct words_batch {
    enum td_sim_mode mode;
    uint64_t skipped; /* instructions, with the batch */
    uint64_t *words;  /* the reader's: they may be changed, and are gone after the call */
    size_t count;     /* at most TD_QUEUE_WORDS + TD_QUEUE_SLACK */
};

/* False: the rest is not wanted. */
typedef bool words_fn(void *ctx, const struct words_batch *batch);

/* Gives `fn` the batches of the file in order, each after its blocks are defined. A file that
 * cannot be read, or is damaged, ends the program with a sentence. */
void words_each(const char *path, struct td_blocks *blocks, words_fn *fn, void *ctx);
/* Ends the program. */
_Noreturn void words_fail(const char *text);

#endif
