/* SPDX-License-Identifier: MIT */
/*
 * A column of numbers (profile.md 5.1): the one form in which every column of nodes, samples and
 * tallies is stored. The writer picks among a few codes what will compress best.
 */
#ifndef TD_FORMATS_PROFILE_NUMBERS_H
#define TD_FORMATS_PROFILE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/profile/frame.h"

/* The code byte. */
enum td_numbers_code {
    TD_NUMBERS_PLANES = 3,        /* mask: how many low bytes of each number stand apart */
    TD_NUMBERS_DELTA = 1 << 2,    /* zigzag distances from the number before */
    TD_NUMBERS_CONSTANT = 1 << 3, /* one number, which all are */
    TD_NUMBERS_SHARE = 1 << 4,    /* 255ths of another column, then what is left over */
};

/* Appends numbers[0 .. count). `share_of` (may be NULL) is another column of as many numbers, of
 * which these may be shares. */
void td_numbers_put(struct td_chunk_body *body, const uint64_t *numbers, size_t count,
                    const uint64_t *share_of);
/* Reads `count` numbers; on what cannot be, the cursor is bad and the numbers are not to be used.
 * `share_of` as it was given to the writer, or NULL where it gave none. */
void td_numbers_get(struct td_rd *rd, uint64_t *numbers, size_t count, const uint64_t *share_of);

#endif
