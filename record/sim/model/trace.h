/* SPDX-License-Identifier: MIT */
/*
 * The stream from a producer (QEMU's plugin, a test, another emulator) to the model: one array of
 * words a thread. A block word says which block of code begins; the access words after it say what
 * its instructions loaded and stored, in program order. The outcome of a block's last branch is
 * the block that follows. A batch begins with a block or mark word and ends before one.
 */
#ifndef TD_RECORD_SIM_MODEL_TRACE_H
#define TD_RECORD_SIM_MODEL_TRACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A place is an address of code with the number of what was mapped there above it: code that is
 * mapped where other code was is another place. What is mapped first has the number 0.
 */
#define TD_PLACE_SHIFT     48
#define TD_PLACE_NUMBER(p) ((p) >> 63 ? 0 : (uint32_t)((p) >> TD_PLACE_SHIFT))
/* Of places in the upper half, where no program maps anything, the number is none. */
#define TD_PLACE_ADDRESS(p) ((p) >> 63 ? (p) : (p) & ((UINT64_C(1) << TD_PLACE_SHIFT) - 1))
#define TD_PLACE_NUMBERS    0x7fff /* so many, the last for code in no file */

static inline uint64_t td_place(uint64_t address, uint32_t number)
{
    return address >> TD_PLACE_SHIFT ? address : address | (uint64_t)number << TD_PLACE_SHIFT;
}

/*
 * bit 63        1: a block or mark word, 0: an access
 * block         bit 62 clear; bits 0-31 the block's id (td_blocks_define); 32-37 what became of the
 *               branch before it (TD_TRACE_RESOLVED and so on), which td_sim_predict fills in;
 *               TD_TRACE_CODE
 * mark          bit 62 set; bits 0-7 enum td_trace_mark; 8-39 the name of a region; of pages, 8-43
 *               the number of the first, 44-61 how many
 * access        bits 0-47 the address, 48-58 the instruction's index in the block, 59 set for a
 *               store, 60-62 log2 of its bytes (an access of 16 or 32 bytes may also come as
 *               several of 8 in rising order)
 */
#define TD_TRACE_BLOCK_BIT (UINT64_C(1) << 63)
#define TD_TRACE_MARK_BIT  (UINT64_C(1) << 62)
#define TD_TRACE_STORE_BIT (UINT64_C(1) << 59)
#define TD_TRACE_RESOLVED  (UINT64_C(1) << 32) /* there was one, and it was executed */
#define TD_TRACE_TAKEN     (UINT64_C(1) << 33)
#define TD_TRACE_WRONG     (UINT64_C(1) << 34) /* mispredicted */
#define TD_TRACE_LATE      (UINT64_C(1) << 35) /* right, but not the first prediction made */
/* A taken branch's target was in the second buffer only, or in none. */
#define TD_TRACE_TARGET_LATE    (UINT64_C(1) << 36)
#define TD_TRACE_TARGET_UNKNOWN (UINT64_C(1) << 37)
#define TD_TRACE_CODE           (UINT64_C(1) << 38) /* of TD_SIM_FAST_FORWARD: its code was fetched */
#define TD_TRACE_INSNS_MAX      2048
#define TD_TRACE_NO_INSN        (TD_TRACE_INSNS_MAX - 1) /* of an access: not told which */
#define TD_TRACE_ADDRESS(w)     ((w) & ((UINT64_C(1) << 48) - 1))
/* Instruction and direction of an access, to compare with td_trace_key. */
#define TD_TRACE_KEY(w) ((uint32_t)((w) >> 48) & 0xfff)
/* The same of any word: equal to no key for a block or mark word. */
#define TD_TRACE_ACCESS_KEY(w) ((uint32_t)((w) >> 48) & 0x8fff)
#define TD_TRACE_BYTES(w)      (1U << (((w) >> 60) & 7))

enum td_trace_mark {
    TD_TRACE_GAP = 1,    /* what ran between is not in the stream: forget what was in flight */
    TD_TRACE_SIGNAL = 2, /* the next block is a signal handler's, entered from anywhere */
    TD_TRACE_THREAD = 3, /* another thread goes on in this one's place, from its own first call */
    TD_TRACE_SETTLE = 4, /* what the windows so far stand for ends here (windows.h) */
    TD_TRACE_WEIGH = 7,  /* the same, where each window stands for as much as is said of it */
    /* The program marks a region of its run (regions.h). Nothing that runs changes by it. */
    TD_TRACE_REGION_BEGIN = 5,
    TD_TRACE_REGION_END = 6,
    /* These pages hold a file that is only read, or do not any more (memory/pages.h). Nothing that
     * runs changes by it. */
    TD_TRACE_FILE = 8,
    TD_TRACE_NO_FILE = 9,
};

static inline uint64_t td_trace_block(uint32_t id)
{
    return TD_TRACE_BLOCK_BIT | id;
}

static inline bool td_trace_is_mark(uint64_t word)
{
    return (word & (TD_TRACE_BLOCK_BIT | TD_TRACE_MARK_BIT)) ==
           (TD_TRACE_BLOCK_BIT | TD_TRACE_MARK_BIT);
}

static inline uint64_t td_trace_mark(enum td_trace_mark mark)
{
    return TD_TRACE_BLOCK_BIT | TD_TRACE_MARK_BIT | (uint64_t)mark;
}

/* `begins`: else it ends. */
static inline uint64_t td_trace_region(bool begins, uint32_t name)
{
    return td_trace_mark(begins ? TD_TRACE_REGION_BEGIN : TD_TRACE_REGION_END) | (uint64_t)name
                                                                                     << 8;
}

static inline bool td_trace_is_region(uint64_t word)
{
    return td_trace_is_mark(word) &&
           ((word & 0xff) == TD_TRACE_REGION_BEGIN || (word & 0xff) == TD_TRACE_REGION_END);
}

#define TD_TRACE_PAGE_SHIFT  8
#define TD_TRACE_PAGE_BITS   36
#define TD_TRACE_COUNT_SHIFT (TD_TRACE_PAGE_SHIFT + TD_TRACE_PAGE_BITS)
#define TD_TRACE_PAGES_MAX   ((UINT64_C(1) << 18) - 1) /* of one mark */
#define TD_TRACE_PAGE(w)     ((w) >> TD_TRACE_PAGE_SHIFT & ((UINT64_C(1) << TD_TRACE_PAGE_BITS) - 1))
#define TD_TRACE_PAGES(w)    ((w) >> TD_TRACE_COUNT_SHIFT & TD_TRACE_PAGES_MAX)

/* `count` is at most TD_TRACE_PAGES_MAX. */
static inline uint64_t td_trace_pages(bool file, uint64_t page, uint64_t count)
{
    return td_trace_mark(file ? TD_TRACE_FILE : TD_TRACE_NO_FILE) |
           (page & ((UINT64_C(1) << TD_TRACE_PAGE_BITS) - 1)) << TD_TRACE_PAGE_SHIFT |
           count << TD_TRACE_COUNT_SHIFT;
}

static inline bool td_trace_is_pages(uint64_t word)
{
    return td_trace_is_mark(word) &&
           ((word & 0xff) == TD_TRACE_FILE || (word & 0xff) == TD_TRACE_NO_FILE);
}

/* A mark between a branch and what it goes to. */
static inline bool td_trace_is_aside(uint64_t word)
{
    return td_trace_is_region(word) || td_trace_is_pages(word);
}

static inline uint32_t td_trace_key(uint32_t insn, bool store)
{
    return insn | (store ? 1U << 11 : 0);
}

static inline uint64_t td_trace_access(uint32_t insn, bool store, uint32_t log2_bytes,
                                       uint64_t address)
{
    return TD_TRACE_ADDRESS(address) | (uint64_t)td_trace_key(insn, store) << 48 |
           (uint64_t)log2_bytes << 60;
}

#endif
