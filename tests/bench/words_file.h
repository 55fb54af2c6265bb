/* SPDX-License-Identifier: MIT */
/*
 * A file of what one thread of a program gave to its model: record_words.c writes it,
 * replay_words.c reads it. Records follow one another, in the words of the machine that wrote them:
 * a head, and behind it the place, the instructions' lengths and bytes of a block, or the words of
 * a batch.
 */
#ifndef TD_TESTS_BENCH_WORDS_FILE_H
#define TD_TESTS_BENCH_WORDS_FILE_H

#include <stdint.h>

enum words_kind { WORDS_BLOCK = 1, WORDS_BATCH = 2 };

struct words_head {
    uint32_t kind;  /* enum words_kind */
    uint32_t count; /* instructions of the block; words of the batch */
    uint32_t mode;  /* enum td_sim_mode of the batch; bytes of the block */
    uint32_t id;    /* of the block */
    uint64_t value; /* the block's place; instructions that were skipped with the batch */
    uint64_t own;   /* 1: the block is of the program's own file (td_blocks_set_own_end) */
};

#endif
