/* SPDX-License-Identifier: MIT */
#include "record/sim/prefetch.h"

/* A jump of more lines than this begins a new direction. */
enum { STREAM_REACH = 8, STREAM_SURE = 2 };

static void follow(struct td_stream *s, int at)
{
    const int delta = at - s->last;
    const int direction = delta > 0 ? 1 : -1;

    if (delta == 0)
        return;
    if (delta > STREAM_REACH || delta < -STREAM_REACH) {
        s->sure = 0;
    } else if (direction == s->direction) {
        if (s->sure < STREAM_SURE)
            s->sure++;
    } else {
        s->direction = (int16_t)direction;
        s->sure = 1;
        s->ahead = (int16_t)at;
    }
    s->last = (int16_t)at;
}

struct td_prefetch_want td_prefetch_stream(struct td_prefetch *p, uint64_t line, int distance,
                                           int degree)
{
    struct td_prefetch_want want = {.count = 0};
    const uint64_t page = line / TD_PAGE_LINES;
    const int at = (int)(line % TD_PAGE_LINES);
    struct td_stream *s = &p->streams[(page ^ page >> 6) & (TD_STREAMS - 1)];

    if (s->page != page)
        *s = (struct td_stream){.page = page, .last = (int16_t)at, .ahead = (int16_t)at};
    else
        follow(s, at);
    if (s->sure < STREAM_SURE)
        return want;
    int from = s->ahead;
    if ((from - at) * s->direction < 0)
        from = at;
    int limit = at + s->direction * distance;
    limit = limit < 0 ? 0 : limit >= TD_PAGE_LINES ? TD_PAGE_LINES - 1 : limit;
    const int room = (limit - from) * s->direction;
    want.count = room < 0 ? 0 : room < degree ? room : degree;
    want.step = s->direction;
    want.line = page * TD_PAGE_LINES + (uint64_t)(from + s->direction);
    s->ahead = (int16_t)(from + s->direction * want.count);
    return want;
}
