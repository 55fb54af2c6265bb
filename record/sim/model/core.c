/* SPDX-License-Identifier: MIT */
#include "record/sim/model/core.h"

#include <assert.h>
#include <string.h>

void td_core_init(struct td_core *core, const struct td_core_desc *desc,
                  const struct td_ports *ports, struct td_ledger *ledger)
{
    *core = (struct td_core){
        .width = (uint32_t)desc->width,
        .rob = (uint32_t)desc->rob,
        .scheduler = (uint32_t)desc->scheduler,
        .empty = ports->empty,
        .load_mask = {td_ports_mask(ports, desc->load_ports, 0),
                      td_ports_mask(ports, desc->load_vector_ports, 0)},
        .store_mask = td_ports_mask(ports, desc->store_address_ports, desc->store_data_ports),
        .ledger = ledger,
    };
    for (int i = 0; i < TD_PORT_RING; i++)
        core->ports[i] = ports->empty;
}

/* Moves the clock to the beginning of `cycle`. When no uop waits, none is booked to issue later. */
static void advance(struct td_core *core, int64_t cycle)
{
    while (core->cycle < cycle && core->waiting > 0)
        td_core_step(core);
    core->cycle = cycle;
    core->used = 0;
}

void td_core_lose(struct td_core *core, int64_t cycle, uint32_t cell)
{
    if (cycle <= core->cycle)
        return;
    TD_INVARIANT(core->used <= core->width);
    const uint64_t slots = (uint64_t)(cycle - core->cycle) * core->width - core->used;
    td_ledger_charge(core->ledger, cell, slots);
    advance(core, cycle);
}

/* Uops retire in order: where one has retired, those before it have. So many are looked at in one.
 */
enum { LOOK_AHEAD = 16, LOOK_FAR = 64 };

/* The oldest uop that has not retired at the current cycle, or core->uops when all have. */
static uint64_t find_head(struct td_core *core)
{
    if (core->uops - core->head > TD_ROB_RING)
        core->head = core->uops - TD_ROB_RING;
    while (core->head + LOOK_AHEAD <= core->uops &&
           core->retire[(core->head + LOOK_AHEAD - 1) & (TD_ROB_RING - 1)] <= core->cycle)
        core->head += LOOK_AHEAD;
    while (core->head < core->uops && core->retire[core->head & (TD_ROB_RING - 1)] <= core->cycle)
        core->head++;
    return core->head;
}

/* What the uop of this number waits for in this cycle; *until is lowered to when that changes. */
static uint32_t blame_at(const struct td_core *core, uint64_t uop, int64_t *until)
{
    const uint64_t k = uop & (TD_ROB_RING - 1);
    const uint32_t cell = core->blame[k];
    const enum td_cause cause = td_ledger_cause(cell);

    if (cause < TD_CAUSE_PORT_INTEGER)
        return cell;
    if (core->waits[k].uop == (uint32_t)uop) {
        const int64_t complete = core->retire[k] - core->waits[k].cycles; /* had it been free */

        if (complete <= core->cycle)
            return cell;
        if (complete < *until)
            *until = complete;
    }
    return cell - (uint32_t)cause + (cause == TD_CAUSE_PORT_LOAD ? TD_CAUSE_L1 : TD_CAUSE_CHAIN);
}

void td_core_stall(struct td_core *core, int64_t cycle)
{
    while (core->cycle < cycle) {
        const uint64_t head = find_head(core);
        assert(core->uops > 0);
        const bool empty = head == core->uops;
        const uint64_t uop = empty ? head - 1 : head;
        const int64_t retires = core->retire[uop & (TD_ROB_RING - 1)];
        int64_t until = empty || retires > cycle ? cycle : retires;
        const uint32_t cell = blame_at(core, uop, &until);
        if (core->counting)
            td_counting_stall(core->counting, core->cycle + (core->used > 0), until,
                              td_ledger_cause(cell));
        td_core_lose(core, until, cell);
    }
}

void td_core_wait_scheduler(struct td_core *core)
{
    uint32_t waiting = core->waiting;
    int64_t cycle = core->cycle;

    while (waiting >= core->scheduler) {
        cycle++;
        waiting -= (uint32_t)(core->ports[cycle & (TD_PORT_RING - 1)] >> TD_PORT_ISSUED_AT);
    }
    td_core_stall(core, cycle);
}

void td_core_wait_reorder(struct td_core *core)
{
    const uint64_t oldest = core->uops - core->rob;
    const int64_t retired = core->retire[oldest & (TD_ROB_RING - 1)];
    uint32_t ahead = core->rob < LOOK_FAR ? 1 : LOOK_FAR;

    if (retired > core->cycle)
        td_core_stall(core, retired);
    while (ahead > 1 && core->retire[(oldest + ahead - 1) & (TD_ROB_RING - 1)] > core->cycle)
        ahead /= 8;
    core->roomy = core->uops + ahead;
}

/* Puts one span in the place of `gone` others from `i` on, which may be none. */
static void replace_spans(struct td_unit *unit, uint32_t i, uint32_t gone, struct td_unit_span span)
{
    const uint32_t left = unit->count - i - gone;

    memmove(&unit->spans[i + 1], &unit->spans[i + gone], left * sizeof(span));
    unit->spans[i] = span;
    unit->count = i + 1 + left;
    for (uint32_t k = 0; k < unit->count; k++) {
        TD_INVARIANT(unit->spans[k].from < unit->spans[k].to);
        TD_INVARIANT(k == 0 || unit->spans[k - 1].to < unit->spans[k].from);
    }
}

/* Makes room for one more span. Spans that are over are forgotten: nobody asks for what was before.
 * When there are too many all the same, the first two become one. */
static void tidy_spans(struct td_unit *unit, int64_t cycle)
{
    uint32_t over = 0;

    while (over < unit->count && unit->spans[over].to <= cycle)
        over++;
    unit->count -= over;
    memmove(unit->spans, &unit->spans[over], unit->count * sizeof(unit->spans[0]));
    if (unit->count == TD_UNIT_SPANS)
        replace_spans(unit, 0, 2, (struct td_unit_span){unit->spans[0].from, unit->spans[1].to});
}

int64_t td_core_take_unit(struct td_core *core, enum td_unit_kind kind, int64_t t, int busy)
{
    struct td_unit *unit = &core->units[kind];

    t = td_cycle_later(t, unit->floor);
    tidy_spans(unit, core->cycle);
    uint32_t first = 0;
    while (first < unit->count && unit->spans[first].to < t)
        first++;
    /* All that is free up to the last cycle taken becomes one span with what lies between. */
    uint32_t next = first;
    int64_t end = t, done = t, left = busy;
    for (; next < unit->count && unit->spans[next].from - end <= left; next++) {
        if (unit->spans[next].from > end) {
            done = unit->spans[next].from;
            left -= done - end;
        }
        end = unit->spans[next].to;
    }
    if (left > 0)
        done = end += left;
    const int64_t begin = next > first && unit->spans[first].from < t ? unit->spans[first].from : t;
    replace_spans(unit, first, next - first, (struct td_unit_span){begin, end});
    if (kind == TD_UNIT_LOCK)
        unit->floor = done;
    return done - busy;
}

int64_t td_core_depth(struct td_core *core)
{
    const uint64_t held = core->uops - find_head(core);

    if ((uint64_t)core->waiting * core->rob <= held * core->scheduler)
        return core->rob;
    return (int64_t)(held * core->scheduler / core->waiting);
}

int64_t td_core_find_cycle(struct td_core *core, uint64_t full, int64_t t)
{
    struct td_port_hint *hint = &core->hints[(__builtin_ctzll(full) / TD_PORT_SET_BITS) & 15];
    const int64_t from = t, end = core->cycle + TD_PORT_RING;
    const bool same = hint->full == full && t >= hint->from && t <= hint->to;

    if (same)
        t = hint->to;
    while (t < end && (core->ports[t & (TD_PORT_RING - 1)] & full))
        t++;
    if (same)
        hint->to = t;
    else
        *hint = (struct td_port_hint){.full = full, .from = from, .to = t};
    td_core_note_wait(core, t - from + 1);
    return t;
}
