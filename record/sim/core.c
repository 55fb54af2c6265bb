/* SPDX-License-Identifier: MIT */
#include "record/sim/core.h"

#include <assert.h>

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

/* Moves the clock to the beginning of `cycle`. */
static void advance(struct td_core *core, int64_t cycle)
{
    while (core->cycle < cycle && core->cycle < core->last_issue)
        td_core_step(core);
    core->cycle = cycle;
    core->used = 0;
}

void td_core_lose(struct td_core *core, int64_t cycle, uint32_t cell)
{
    if (cycle <= core->cycle)
        return;
    const uint64_t slots = (uint64_t)(cycle - core->cycle) * core->width - core->used;
    td_ledger_charge(core->ledger, cell, slots);
    advance(core, cycle);
}

/* The oldest uop that has not retired at the current cycle, or core->uops when all have. */
static uint64_t find_head(struct td_core *core)
{
    if (core->uops - core->head > TD_ROB_RING)
        core->head = core->uops - TD_ROB_RING;
    while (core->head < core->uops && core->retire[core->head & (TD_ROB_RING - 1)] <= core->cycle)
        core->head++;
    return core->head;
}

void td_core_stall(struct td_core *core, int64_t cycle)
{
    while (core->cycle < cycle) {
        const uint64_t head = find_head(core);
        assert(core->uops > 0);
        const bool empty = head == core->uops;
        const uint64_t k = (empty ? head - 1 : head) & (TD_ROB_RING - 1);
        const int64_t until = core->retire[k];
        td_core_lose(core, empty || until > cycle ? cycle : until, core->blame[k]);
    }
}

void td_core_wait_scheduler(struct td_core *core)
{
    uint32_t waiting = core->waiting;
    int64_t cycle = core->cycle;

    while (waiting >= core->scheduler && cycle < core->last_issue) {
        cycle++;
        waiting -= (uint32_t)(core->ports[cycle & (TD_PORT_RING - 1)] >> TD_PORT_ISSUED_AT);
    }
    td_core_stall(core, cycle);
}

/* The end of a run that lies in the way of `busy` cycles from `t`; `t` itself when none does. */
static int64_t after_conflict(const struct td_unit *unit, int64_t t, int busy)
{
    for (int i = 0; i < TD_UNIT_RUNS; i++) {
        if (t < unit->to[i] && t + busy > unit->from[i])
            return unit->to[i];
    }
    return t;
}

int64_t td_core_take_unit(struct td_core *core, enum td_unit_kind kind, int64_t t, int busy)
{
    struct td_unit *unit = &core->units[kind];
    const uint32_t k = unit->next++ % TD_UNIT_RUNS;

    if (t < unit->floor)
        t = unit->floor;
    for (int64_t later = after_conflict(unit, t, busy); later != t;
         later = after_conflict(unit, t, busy))
        t = later;
    /* What is forgotten stays taken, and all before it. */
    if (unit->floor < unit->to[k])
        unit->floor = unit->to[k];
    unit->from[k] = t;
    unit->to[k] = t + busy;
    if (kind == TD_UNIT_LOCK)
        unit->floor = t + busy;
    return t;
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
    return t;
}
