/* SPDX-License-Identifier: MIT */
/*
 * What the thread of an image asked of the kernel right after the image was taken, and what it got:
 * its system calls in their order, each with its result and the memory that the kernel wrote.
 * record/live writes it, from the program that runs on; a window of the image is served from it
 * (record/sim/qemu/replay), so that it goes the way that the program went.
 *
 * Addresses are told by the call's arguments, not by themselves: where the window's memory lies
 * elsewhere than the program's, what the kernel wrote goes there.
 */
#ifndef TD_RECORD_SIM_SHARE_LIVE_CALLS_H
#define TD_RECORD_SIM_SHARE_LIVE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum {
    TD_LIVE_ARGUMENTS = 6,
    TD_LIVE_NO_ARGUMENT = 7,
    TD_LIVE_NOT_THROUGH = 0xffff,
};

struct td_live_call {
    uint32_t number;
    uint8_t same;  /* bit i: argument i of the window's call must be the same */
    uint8_t room;  /* the argument that says how large the result may be, or TD_LIVE_NO_ARGUMENT */
    bool optional; /* a window may do without it: it depends on what other threads do */
    int64_t result;
    uint64_t time_ns; /* CLOCK_MONOTONIC at its end */
    uint64_t arguments[TD_LIVE_ARGUMENTS];
    const uint8_t *parts; /* of td_live_part_next; points into what is read */
    size_t parts_size;
};

/* Memory that the kernel wrote. */
struct td_live_part {
    uint8_t argument; /* it is found by this one */
    bool vector; /* at the address there is an array of so many struct iovec: in their places */
    bool weak;   /* it may be memory that is only read, then nothing is to be done */
    uint16_t through; /* the address is what stands so many bytes behind the argument, or
                         TD_LIVE_NOT_THROUGH: the argument itself */
    uint32_t offset;  /* to be added to the address */
    uint32_t count;   /* of a vector */
    const uint8_t *bytes;
    size_t size;
};

/* Copies from memory of the thread; false when it is not there. */
typedef bool td_live_peek_fn(void *ctx, uint64_t from, void *to, size_t size);
/* Called for each piece of a part: `size` bytes at `address` in the thread's memory are the part's
 * from `at` on. False: go no further. */
typedef bool td_live_piece_fn(void *ctx, uint64_t address, size_t at, size_t size);
/* False when an address cannot be found or `each` ended it. */
bool td_live_part_place(const struct td_live_part *part,
                        const uint64_t arguments[TD_LIVE_ARGUMENTS], td_live_peek_fn *peek,
                        td_live_piece_fn *each, void *ctx);

/* Appends a call with its parts. */
void td_live_call_put(struct td_buf *buf, const struct td_live_call *call,
                      const struct td_live_part *parts, size_t part_count);
/* The next call, and the next part of one; false at the end, and where bytes make no sense: then
 * td_rd_ok is false. */
bool td_live_call_next(struct td_rd *rd, struct td_live_call *call);
bool td_live_part_next(struct td_rd *rd, struct td_live_part *part);

#endif
