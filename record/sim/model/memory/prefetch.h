/* SPDX-License-Identifier: MIT */
/*
 * What the hardware prefetchers would ask for: a stride by instruction into L1, streams of lines
 * within a page into L2. They only name lines; memory.c fetches them.
 */
#ifndef TD_RECORD_SIM_MODEL_MEMORY_PREFETCH_H
#define TD_RECORD_SIM_MODEL_MEMORY_PREFETCH_H

#include <stdbool.h>
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
    int16_t last, ahead; /* lines, from the page's first: seen last, asked for last */
    int16_t direction;   /* 1, -1 */
    int16_t run;         /* lines that it went on by, pages before included */
    uint8_t sure;
};

/* How streams are followed: so many lines ahead within the page, so many at a time; from a run of
 * `far_after` lines on `far` lines ahead, through the pages' ends (0: never). */
struct td_stream_reach {
    int step; /* lines from one to the next, at most */
    int distance, degree, far, far_after;
};

struct td_prefetch {
    uint64_t missed[TD_STREAMS]; /* by page: the line of it that L1 last lacked */
    struct td_stride strides[TD_STRIDES];
    struct td_stream streams[TD_STREAMS];
};

/* Lines that a stream wants now: `count` of them from `line` on in steps of `step`. */
struct td_prefetch_want {
    uint64_t line;
    int step, count;
    bool first; /* nothing was known of the page */
    bool far;   /* the run is a long one */
    struct td_stream *stream;
};

/* L1 lacks the line, or holds it only by a prefetch. By how much it differs from the one before of
 * its page when they are neighbours, 1 or -1; else 0. */
int td_prefetch_neighbour(struct td_prefetch *prefetch, uint64_t line);

/* Notes the access of instruction `key` and returns the byte it should fetch next, or 0. */
static inline uint64_t td_prefetch_stride(struct td_prefetch *p, uint32_t key, uint64_t address,
                                          int distance)
{
    struct td_stride *s = &p->strides[key & (TD_STRIDES - 1)];
    const int64_t delta = (int64_t)(address - s->last);

    /* Loads without a stride change this in ways that are hard to foresee: no branch goes by them.
     */
    const bool same = delta == s->stride, sure = same & (s->sure == TD_STRIDE_SURE);
    const int32_t learned = delta > -4096 && delta < 4096 ? (int32_t)delta : 0;

    s->last = address;
    s->stride = (same | (s->sure > 0)) ? s->stride : learned;
    s->sure += same ? !sure : -(s->sure > 0);
    if (!(sure & (delta != 0)))
        return 0;
    /* Small strides are followed by lines, as the hardware's tables keep lines. */
    const int64_t step = delta > -64 && delta < 64 ? (delta > 0 ? 64 : -64) : delta;
    const uint64_t next = address + (uint64_t)(step * distance);
    if (next >> 6 == s->asked)
        return 0;
    s->asked = next >> 6;
    return next;
}

/* The last `left` of the lines wanted could not be asked for: the stream wants them again. */
static inline void td_prefetch_leave(const struct td_prefetch_want *want, int left)
{
    want->stream->ahead = (int16_t)(want->stream->ahead - left * want->step);
}

/* Notes a line that L1 asked L2 for. Returns what to fetch into L2, count 0 for nothing. */
struct td_prefetch_want td_prefetch_stream(struct td_prefetch *p, uint64_t line,
                                           const struct td_stream_reach *reach);

#endif
