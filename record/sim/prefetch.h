/* SPDX-License-Identifier: MIT */
/*
 * What the hardware prefetchers would ask for: a stride by instruction into L1, streams of lines
 * within a page into L2. They only name lines; memory.c fetches them.
 */
#ifndef TD_RECORD_SIM_PREFETCH_H
#define TD_RECORD_SIM_PREFETCH_H

#include <stdint.h>

#define TD_STRIDES     256 /* instructions followed; a power of two */
#define TD_STREAMS     64  /* pages followed; a power of two */
#define TD_PAGE_LINES  64
#define TD_STRIDE_SURE 2 /* repeats before a stride is trusted */

struct td_stride {
    uint64_t last;
    uint64_t asked; /* line asked for last */
    int32_t stride;
    int32_t sure;
};

struct td_stream {
    uint64_t page;
    int16_t last, ahead; /* lines in the page: seen last, asked for last */
    int16_t direction;   /* 1, -1 */
    uint8_t sure;
};

struct td_prefetch {
    struct td_stride strides[TD_STRIDES];
    struct td_stream streams[TD_STREAMS];
};

/* Lines that a stream wants now: `count` of them from `line` on in steps of `step`. */
struct td_prefetch_want {
    uint64_t line;
    int step, count;
};

/* Notes the access of instruction `key` and returns the byte it should fetch next, or 0. */
static inline uint64_t td_prefetch_stride(struct td_prefetch *p, uint32_t key, uint64_t address,
                                          int distance)
{
    struct td_stride *s = &p->strides[key & (TD_STRIDES - 1)];
    const int64_t delta = (int64_t)(address - s->last);

    s->last = address;
    if (delta == s->stride) {
        if (s->sure < TD_STRIDE_SURE) {
            s->sure++;
            return 0;
        }
        if (delta == 0)
            return 0;
        /* Small strides are followed by lines, as the hardware's tables keep lines. */
        const int64_t step = delta > -64 && delta < 64 ? (delta > 0 ? 64 : -64) : delta;
        const uint64_t next = address + (uint64_t)(step * distance);
        if (next >> 6 == s->asked)
            return 0;
        s->asked = next >> 6;
        return next;
    }
    if (s->sure > 0)
        s->sure--;
    else
        s->stride = delta > -4096 && delta < 4096 ? (int32_t)delta : 0;
    return 0;
}

/* Notes a line that L1 asked L2 for. Returns what to fetch into L2, count 0 for nothing. */
struct td_prefetch_want td_prefetch_stream(struct td_prefetch *p, uint64_t line, int distance,
                                           int degree);

#endif
