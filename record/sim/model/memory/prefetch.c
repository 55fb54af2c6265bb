/* SPDX-License-Identifier: MIT */
#include "record/sim/model/memory/prefetch.h"

#include <stddef.h>

enum { STREAM_SURE = 2, RUN_MAX = 1 << 14 };

static size_t index_of(uint64_t page)
{
    return (page ^ page >> 6) & (TD_STREAMS - 1);
}

static struct td_stream *slot_of(struct td_prefetch *p, uint64_t page)
{
    return &p->streams[index_of(page)];
}

int td_prefetch_neighbour(struct td_prefetch *p, uint64_t line)
{
    const size_t i = index_of(line / TD_PAGE_LINES);
    const int64_t step = (int64_t)(line - p->missed[i]);

    p->missed[i] = line;
    return step == 1 || step == -1 ? (int)step : 0;
}

static void go_on(struct td_stream *s, int lines)
{
    s->run = (int16_t)(s->run < RUN_MAX ? s->run + lines : RUN_MAX);
}

static void follow(struct td_stream *s, int at, int reach)
{
    const int delta = at - s->last;
    const int direction = delta > 0 ? 1 : -1;

    if (delta == 0)
        return;
    if (delta > reach || delta < -reach) {
        s->sure = 0;
        s->run = 0;
    } else if (direction == s->direction) {
        if (s->sure < STREAM_SURE)
            s->sure++;
        go_on(s, delta * direction);
    } else {
        s->direction = (int16_t)direction;
        s->sure = 1;
        s->run = 1;
        s->ahead = (int16_t)at;
    }
    s->last = (int16_t)at;
}

/* A page is entered: a stream may come from the page before or after. */
static void enter(struct td_prefetch *p, struct td_stream *s, uint64_t page, int at, int reach)
{
    const int direction = at < TD_PAGE_LINES / 2 ? 1 : -1;
    const uint64_t from = page - (uint64_t)(int64_t)direction;
    const struct td_stream before = *slot_of(p, from);
    const int shift = TD_PAGE_LINES * direction, step = (at + shift - before.last) * direction;

    *s = (struct td_stream){.page = page, .last = (int16_t)at, .ahead = (int16_t)at};
    if (before.page != from || before.direction != direction || before.sure < STREAM_SURE ||
        step > reach)
        return;
    s->direction = (int16_t)direction;
    s->sure = before.sure;
    s->run = before.run;
    go_on(s, step);
    if ((before.ahead - shift - at) * direction > 0)
        s->ahead = (int16_t)(before.ahead - shift);
}

struct td_prefetch_want td_prefetch_stream(struct td_prefetch *p, uint64_t line,
                                           const struct td_stream_reach *reach)
{
    struct td_prefetch_want want = {.count = 0};
    const uint64_t page = line / TD_PAGE_LINES;
    const int at = (int)(line % TD_PAGE_LINES);
    struct td_stream *s = slot_of(p, page);

    if (s->page != page) {
        enter(p, s, page, at, reach->step);
        want.first = s->sure == 0;
    } else {
        follow(s, at, reach->step);
    }
    if (s->sure < STREAM_SURE)
        return want;
    int from = s->ahead;
    if ((from - at) * s->direction < 0)
        from = at;
    want.far = reach->far && s->run >= reach->far_after;
    int limit = at + s->direction * (want.far ? reach->far : reach->distance);
    if (!want.far)
        limit = limit < 0 ? 0 : limit >= TD_PAGE_LINES ? TD_PAGE_LINES - 1 : limit;
    const int room = (limit - from) * s->direction;
    want.count = room < 0 ? 0 : room < reach->degree ? room : reach->degree;
    want.stream = s;
    want.step = s->direction;
    want.line = page * TD_PAGE_LINES + (uint64_t)(int64_t)(from + s->direction);
    s->ahead = (int16_t)(from + s->direction * want.count);
    return want;
}
