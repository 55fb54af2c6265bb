/* SPDX-License-Identifier: MIT */
/*
 * What becomes of the lines in L1: how many of their bytes are used before they leave, for whom
 * they came, and how many others came since they were there before. Only counted: it changes no
 * time.
 *
 * How far back a line was is known of all lines as long as few others came, and of every 64th line
 * (by hash) up to some 100 MB.
 */
#ifndef TD_RECORD_SIM_MODEL_HABITS_LINES_H
#define TD_RECORD_SIM_MODEL_HABITS_LINES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TD_LINES_NEAR = 4096,
    TD_LINES_FAR = 16384,
    TD_LINES_SAMPLED = 64, /* one of so many */
    TD_LINE_OWNERS = 2048,
};

/* Who a line is for, as the caller numbers them from 1. */
#define TD_LINE_NEW    0U         /* nobody used it yet */
#define TD_LINE_NOBODY UINT16_MAX /* it is not followed */

/* How far back: 0 not known, 1 it was never there, else 2 + log2 of the lines since. */
enum { TD_LINE_BACK_UNKNOWN, TD_LINE_BACK_NEVER, TD_LINE_BACK_KNOWN };

struct td_line_slot {
    uint64_t used; /* a bit a byte */
    uint32_t life; /* of the owner: after it, the line is nobody's */
    uint16_t owner;
    uint8_t back;
    uint8_t weight : 7; /* for how many lines `back` stands */
    /* It had left although fewer lines came than three quarters of L1. Were they spread over the
     * sets by chance, a set would seldom get as many of them as it has ways. */
    uint8_t conflict : 1;
};

struct td_line_seen {
    uint32_t tag, fill; /* tag 0: none */
};

struct td_line_use {
    uint64_t gone, bytes; /* lines that left, bytes used of them */
};

struct td_lines {
    struct td_line_slot *slots; /* by slot of L1 */
    uint32_t slot_count;
    uint32_t fills; /* lines that came so far, modulo 2^32 */
    bool watching;
    struct td_line_use uses[TD_LINE_OWNERS + 1];
    uint32_t lives[TD_LINE_OWNERS + 1]; /* a number that stood for others before */
    struct td_line_seen near[TD_LINES_NEAR], far[TD_LINES_FAR];
};

/* For an L1 of so many lines. */
struct td_lines *td_lines_new(uint32_t slots);
void td_lines_free(struct td_lines *lines); /* NULL is allowed */
/* Begins or ends to tell who uses lines: what comes meanwhile, or stays, is nobody's. */
void td_lines_watch(struct td_lines *lines, bool watching);
/* The owner's number is another's from now on; the lines that it has are nobody's. */
void td_lines_replace_owner(struct td_lines *lines, uint16_t owner);
/* The line comes into the slot; what was there leaves. */
void td_lines_fill(struct td_lines *lines, uint32_t slot, uint64_t line);
/* A line that is not followed comes into the slot. */
void td_lines_skip(struct td_lines *lines, uint32_t slot);

/* Bytes of the line in the slot are used: `size` from `offset` on, no further than its end. */
static inline void td_lines_use(struct td_lines *lines, uint32_t slot, uint32_t offset,
                                uint32_t size)
{
    lines->slots[slot].used |= (size < 64 ? (UINT64_C(1) << size) - 1 : UINT64_MAX) << offset;
}

#endif
