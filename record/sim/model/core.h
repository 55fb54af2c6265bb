/* SPDX-License-Identifier: MIT */
/*
 * The clock of one modelled core: `width` slots a cycle are dispatched in order, uops issue when
 * their operands and a port are there, and retire in order. Every slot of every cycle is either
 * used by a uop or charged to one cell of the ledger; nothing else moves the clock.
 */
#ifndef TD_RECORD_SIM_MODEL_CORE_H
#define TD_RECORD_SIM_MODEL_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/invariant.h"
#include "base/likely.h"
#include "record/sim/model/charge.h"
#include "record/sim/model/blocks.h"
#include "record/sim/model/counting.h"

#define TD_ROB_RING    512
#define TD_PORT_RING   512 /* cycles ahead for which ports are booked */
#define TD_RESULT_RING 512

/* The results of one kind (td_uop.result), each of which has a register until it has retired. */
struct td_results {
    uint64_t count;                 /* so far */
    uint64_t roomy;                 /* those of lower numbers find a register at once */
    uint32_t most;                  /* registers; 0: any number */
    int64_t retire[TD_RESULT_RING]; /* by result: the cycle in which it has retired */
};

/* A run of cycles in which uops of one kind cannot issue: where to begin to look. */
struct td_port_hint {
    uint64_t full;
    int64_t from, to;
};

/* When a unit that is not pipelined is taken: spans of cycles in the order of time, none of which
 * touches another. */
enum { TD_UNIT_SPANS = 32 };
struct td_unit {
    struct td_unit_span {
        int64_t from, to; /* `to` is the cycle after it */
    } spans[TD_UNIT_SPANS];
    uint32_t count;
    int64_t floor; /* nothing begins before this cycle */
};

/* Cycles that a uop waits for a port. */
struct td_port_wait {
    uint32_t uop; /* its number, modulo 2^32 */
    uint32_t cycles;
};

/* Ports that uops of one kind share: of a cycle's word, for each place that they may go to, the
 * bits of which one says that it is taken. */
struct td_port_kind {
    enum td_cause cause;
    uint32_t places;
    uint64_t full[TD_BANK_PORTS];
};
enum { TD_PORT_KINDS = 11 };

struct td_core {
    int64_t cycle; /* dispatch is in this cycle */
    uint32_t used; /* slots of it that are gone */
    uint32_t width, rob;
    uint32_t whole;    /* so many slots, and fewer, of an instruction are of one cycle */
    bool whole_groups; /* what is dispatched in a cycle is known before it finds its queues full */
    /* Uops dispatched and not issued, 16 bits a scheduler: the general one, the vector scheduler
     * with its queue, that of loads and stores. */
    uint64_t waiting;
    uint32_t scheduler, scheduler_vector; /* places; the queue's are some of the latter */
    uint64_t scheduler_room; /* added to `waiting`, the top bit of each says that it is full */
    uint32_t issued_general; /* bits of a word's top byte that count for the scheduler */
    uint32_t issued_memory;  /* of the counter of loads and stores: all, or no bits */
    bool vector_stores_wait; /* data of a vector's store, in the vector scheduler */
    int queue_delay; /* cycles from a free place there to the issue of who takes it, but one */
    int reuse_delay; /* cycles from retirement to who takes the place or the register */
    uint32_t vector_crowded; /* waiting for the vector scheduler when the next goes to its queue */
    uint32_t unissued;       /* vector uops dispatched that issue after `entered` */
    int64_t entered; /* cycle in which the last one came from the queue into its scheduler */
    uint64_t uops;   /* dispatched so far */
    uint64_t head;   /* the oldest not known to have retired */
    uint64_t roomy;  /* uops of lower numbers find a place in the reorder buffer at once */
    int64_t last_retire;
    uint64_t locked_uop; /* the last one that was locked, and when it retired */
    int64_t locked_retire;
    uint32_t locked_store;             /* the last store then */
    uint64_t empty;                    /* word of a cycle's ports when nothing has issued */
    const struct td_ports *rules;      /* borrowed: how ports are chosen and dispatch is limited */
    uint64_t group;                    /* word of what this cycle dispatched */
    uint64_t no_group;                 /* the same when it has dispatched nothing */
    uint64_t crowd[TD_DISPATCH_BANKS]; /* uops that wait at each port of a bank, in lanes */
    uint64_t chance;                   /* of a linear congruence, for banks that spread */
    uint32_t turn;                     /* the pair that had the last uop of equals */
    struct td_port_mask load_mask[2];  /* of general, of vector registers */
    struct td_port_mask store_mask[2]; /* and where the load before it had the same address */
    struct td_port_mask vector_store_mask[2]; /* of a vector's: its address, its data */
    struct td_port_mask pass_mask;            /* of what only goes through the vector queue */
    struct td_group_mask store_group; /* what limits the dispatch of stores: their data's ports */
    struct td_ledger *ledger;
    struct td_counting *counting; /* borrowed; NULL: nobody asks */
    struct td_unit units[TD_UNIT_KIND_COUNT];
    int64_t ready[TD_REG_COUNT];
    int64_t forwarded[TD_REG_COUNT]; /* the same of results that their like has earlier */
    /* Of registers whose uop had no port when it asked for one: when what waits for them is woken,
     * and, as long as that is said of what they hold, when they are ready. */
    int64_t woken[TD_REG_COUNT], woken_for[TD_REG_COUNT];
    int wakes_early; /* ports that a uop takes at most that is woken before it is ready */
    struct td_port_hint hints[16];
    struct td_port_kind kinds[TD_PORT_KINDS]; /* the scarcer ones first */
    uint64_t kinds_full;                      /* the bits of all of them */
    struct td_results results[TD_RESULT_COUNT];
    uint64_t ports[TD_PORT_RING];           /* by cycle */
    int64_t retire[TD_ROB_RING];            /* by uop: the cycle in which it has retired */
    uint32_t blame[TD_ROB_RING];            /* by uop: cell of what it waits for */
    struct td_port_wait waits[TD_ROB_RING]; /* by uop, when it is the one noted here */
};

void td_core_init(struct td_core *core, const struct td_core_desc *desc,
                  const struct td_ports *ports, struct td_ledger *ledger);
/* Moves dispatch to the beginning of `cycle`; the slots between are charged to what the oldest
 * uops wait for. */
void td_core_stall(struct td_core *core, int64_t cycle);
/* The same, charged to one cell. */
void td_core_lose(struct td_core *core, int64_t cycle, uint32_t cell);
/* Stalls until the scheduler has room, the reorder buffer has. */
void td_core_wait_scheduler(struct td_core *core);
void td_core_wait_reorder(struct td_core *core);
/* Stalls until one more result of the kind has a register. */
void td_core_wait_register(struct td_core *core, enum td_result kind);
/* The uops that can be in the reorder buffer when the scheduler is full, if what comes waits as
 * much as what is there. */
int64_t td_core_depth(struct td_core *core);
/*
 * Takes `busy` cycles of the unit from cycle `t` on, the first that are free, and returns the cycle
 * in which a uop would begin that ends with the last of them. The unit is never idle while a uop is
 * ready, and the oldest that is ready has it: what an older one takes later is not in the way of a
 * younger one that is ready before. A core does not interrupt a uop, so that there the older would
 * wait for the rest of the younger; both take as many cycles together. Locks go in order.
 */
int64_t td_core_take_unit(struct td_core *core, enum td_unit_kind kind, int64_t t, int busy);
/* Looks for a cycle from `t` on that has room, and notes the wait from the one before `t`; the slow
 * way of td_core_issue. Who finds room in `t` or before has no wait worth a note. */
int64_t td_core_find_cycle(struct td_core *core, uint64_t full, int64_t t);

/* The first cycle from `t` on in which a uop of `mask` can issue that must wait in the vector queue
 * while those before it fill the vector scheduler. Others do not wait. */
int64_t td_core_enter(struct td_core *core, struct td_port_mask mask, int64_t t);

/* td_core_issue_bound for an instruction of two uops that issue together, and for one whose result
 * may be in the way of another's; its slow way. */
int64_t td_core_issue_slow(struct td_core *core, struct td_port_mask mask, int64_t t);

/* Stalls until the queue of the bank's place has room. Returns the first cycle from `t` on in which
 * a uop can issue then. */
int64_t td_core_wait_queue(struct td_core *core, uint32_t b, uint32_t place, int64_t t);

/* Takes the uop's port from cycle `woken` on for nothing, in the first cycles before `t` in which
 * it is free, so often as the core does. The bank of its port spreads. */
void td_core_waste(struct td_core *core, struct td_port_mask mask, int64_t woken, int64_t t);

/* td_core_issue for a store of a vector register: its data waits in the vector scheduler, where
 * loads and stores have one of their own. `known` is when its address is known, and becomes when it
 * has issued, `data` when it has its data; returns when that has gone to the store. */
int64_t td_core_issue_vector_store(struct td_core *core, int64_t *known, int64_t data);

/* A load of a vector register, which goes through the vector queue in order, on a core that has a
 * scheduler of loads and stores. It needs no port there. */
void td_core_pass_queue(struct td_core *core);

static inline int64_t td_cycle_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Notes that the uop that is next to enter the reorder buffer waits for a port. */
static inline void td_core_note_wait(struct td_core *core, int64_t cycles)
{
    core->waits[core->uops & (TD_ROB_RING - 1)] =
        (struct td_port_wait){.uop = (uint32_t)core->uops, .cycles = (uint32_t)cycles};
}

/* Slots of all cycles so far, used and lost. */
static inline uint64_t td_core_slots(const struct td_core *core)
{
    return (uint64_t)core->cycle * core->width + core->used;
}

/* The uops that a word of ports counts as issued, as in `waiting`. */
static inline uint64_t td_core_issued(const struct td_core *core, uint64_t word)
{
    const uint32_t byte = (uint32_t)(word >> TD_PORT_ISSUED_AT);
    const uint32_t general = byte & core->issued_general;
    const uint64_t memory =
        (uint32_t)((word - core->empty) >> core->rules->memory_at) & core->issued_memory;

    return general | (byte - general) << (TD_WAITING_VECTOR_AT - TD_PORT_ISSUED_VECTOR_AT) |
           memory << TD_WAITING_MEMORY_AT;
}

/* Whether so many waiting uops fill a scheduler. */
static inline bool td_core_full(const struct td_core *core, uint64_t waiting)
{
    return ((waiting + core->scheduler_room) & UINT64_C(0x800080008000)) != 0;
}

/* Of those that wait, the vector scheduler's and its queue's. */
static inline uint32_t td_core_waiting_vector(const struct td_core *core)
{
    return (uint16_t)(core->waiting >> TD_WAITING_VECTOR_AT);
}

/* Goes on to the next cycle: what was booked in it has issued, and waits no more. */
static inline void td_core_step(struct td_core *core)
{
    uint64_t *word = &core->ports[++core->cycle & (TD_PORT_RING - 1)];

    TD_INVARIANT(core->waiting >= td_core_issued(core, *word));
    core->waiting -= td_core_issued(core, *word);
    for (uint32_t b = 0; b < core->rules->bank_count; b++) {
        if (core->rules->banks[b].rule != TD_BANK_SPREAD)
            core->crowd[b] -=
                td_lanes_issued(*word - core->empty, core->rules->banks[b].counters_at);
    }
    *word = core->empty;
    core->group = core->no_group;
}

/* Takes the slots of one uop; they may run over into the next cycles. */
static inline void td_core_dispatch(struct td_core *core, uint32_t slots)
{
    core->used += slots;
    while (core->used > core->width) {
        core->used -= core->width;
        td_core_step(core);
    }
}

/* Before a uop is dispatched: it waits for the next cycle when this one has as many of its kind as
 * the core dispatches. The slots lost are charged to `cell`. */
static inline void td_core_limit(struct td_core *core, struct td_group_mask limit, uint32_t cell)
{
    if (TD_UNLIKELY(((core->group + limit.more) & limit.full) != 0))
        td_core_lose(core, core->cycle + 1, cell);
    core->group += limit.add;
}

/* Before a uop of `slots` is dispatched: it waits for the next cycle when it must not run over into
 * that. The slots lost are charged to `cell`. */
static inline void td_core_keep_whole(struct td_core *core, uint32_t slots, uint32_t cell)
{
    if (core->used + slots > core->width && slots <= core->whole)
        td_core_lose(core, core->cycle + 1, cell);
}

/* The first cycle from `t` (after the current one) in which the uop can issue; books it. */
static inline int64_t td_core_issue(struct td_core *core, struct td_port_mask mask, int64_t t)
{
    if (TD_UNLIKELY(td_core_waiting_vector(core) >= core->vector_crowded))
        t = td_core_enter(core, mask, t);
    if (TD_UNLIKELY(t - core->cycle >= TD_PORT_RING - 1))
        return t;
    /* Whether a port is free is hard to foresee; the cycle after is tried without a branch. */
    t += (core->ports[t & (TD_PORT_RING - 1)] & mask.full) != 0;
    if (TD_UNLIKELY((core->ports[t & (TD_PORT_RING - 1)] & mask.full) != 0))
        t = td_core_find_cycle(core, mask.full, t);
    /* td_core_crowd asks the same. */
    if (TD_UNLIKELY(t - core->cycle >= TD_PORT_RING - 1))
        return t;
    core->ports[t & (TD_PORT_RING - 1)] += mask.add;
    core->waiting += mask.waits;
    return t;
}

/* The same of a bank of two schedulers. */
static inline uint32_t td_core_place_in_pair(struct td_core *core, uint32_t b, uint32_t places)
{
    static const uint32_t of_pair[] = {3, 12};
    const uint64_t lanes = core->crowd[b];
    uint32_t pair = (places & of_pair[0]) == 0;

    if (places & of_pair[0] && places & of_pair[1]) {
        const uint32_t first = td_lanes_pair(lanes, 0), second = td_lanes_pair(lanes, 1);
        pair = first == second ? (core->turn ^= 1) : second < first;
    }
    return td_lanes_least(lanes, core->rules->never[places & of_pair[pair]]);
}

/* The place of a bank that dispatch gives a uop, of those to which it may go (not none). */
static inline uint32_t td_core_place(struct td_core *core, uint32_t b, uint32_t places)
{
    const struct td_ports *rules = core->rules;

    if (rules->banks[b].rule == TD_BANK_PAIR)
        return td_core_place_in_pair(core, b, places);
    if (rules->banks[b].rule == TD_BANK_FEWEST)
        return td_lanes_least(core->crowd[b], rules->never[places]);
    /* Knuth's congruence for 64 bits (MMIX), of which the upper bits are the better ones. */
    core->chance = core->chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return rules->places[places][(core->chance >> 40) * rules->place_count[places] >> 24];
}

/* Notes that a uop waits at the place, to issue in cycle `t`. */
static inline void td_core_crowd(struct td_core *core, uint32_t b, uint32_t place, int64_t t)
{
    /* What is farther away is not booked. */
    if (core->rules->banks[b].rule != TD_BANK_SPREAD && t - core->cycle < TD_PORT_RING - 1)
        core->crowd[b] += td_lanes_one(place);
}

/* td_core_issue_bound for a uop that is woken in cycle `woken`, and may turn out not to be ready
 * before `t`. */
static inline int64_t td_core_issue_woken(struct td_core *core, struct td_port_mask mask,
                                          int64_t woken, int64_t t)
{
    if (!mask.choice)
        return td_core_issue(core, mask, t);
    if (TD_UNLIKELY(mask.second | mask.late))
        return td_core_issue_slow(core, mask, t);
    const uint32_t places = mask.choice & TD_BANK_ALL;
    const uint32_t b = mask.choice >> TD_BANK_PORTS, at = b * TD_BANK_PORTS;
    const uint32_t taken =
        core->rules->banks[b].rule == TD_BANK_PAIR ? 0 : (uint32_t)(core->group >> at);
    const uint32_t left = places & ~taken;
    const uint32_t place = td_core_place(core, b, left ? left : places);
    if (TD_UNLIKELY(td_lane(core->crowd[b], place) >= core->rules->banks[b].full))
        t = td_core_wait_queue(core, b, place, t);
    core->group |= UINT64_C(1) << place << at;
    if (woken < t && core->rules->banks[b].rule == TD_BANK_SPREAD)
        td_core_waste(core, core->rules->banks[b].bound[place], woken, t);
    t = td_core_issue(core, core->rules->banks[b].bound[place], t);
    td_core_crowd(core, b, place, t);
    return t;
}

/* td_core_issue for a uop whose port dispatch chooses. */
static inline int64_t td_core_issue_bound(struct td_core *core, struct td_port_mask mask, int64_t t)
{
    return td_core_issue_woken(core, mask, t, t);
}

/* When a uop is woken that waits for the register. */
static inline int64_t td_core_woken(const struct td_core *core, uint8_t reg)
{
    return core->woken_for[reg] == core->ready[reg] ? core->woken[reg] : core->ready[reg];
}

/* Gives the result of the uop that is next to enter the reorder buffer a register. */
static inline void td_core_take_register(struct td_core *core, enum td_result kind)
{
    if (TD_UNLIKELY(core->results[kind].count >= core->results[kind].roomy))
        td_core_wait_register(core, kind);
}

/* When the register is there for a uop that has its like's results `cycles` earlier. */
static inline int64_t td_core_ready_early(const struct td_core *core, uint8_t reg, int cycles)
{
    return core->ready[reg] - (core->forwarded[reg] == core->ready[reg] ? cycles : 0);
}

/* Enters a uop into the reorder buffer, complete in `done`; `cell` is what it waits for. When that
 * is a port, the last cycles are the port's, as many as were noted, and the rest a chain's or L1's;
 * but while some ports have more work than they can do, theirs. */
static inline void td_core_retire(struct td_core *core, int64_t done, uint32_t cell,
                                  enum td_result kind)
{
    const uint64_t k = core->uops++ & (TD_ROB_RING - 1);
    struct td_results *results = &core->results[kind];
    const int64_t retired = td_cycle_later(done, core->last_retire);

    core->last_retire = core->retire[k] = retired;
    core->blame[k] = cell;
    results->retire[results->count++ & (TD_RESULT_RING - 1)] = retired;
}

/* Makes room for one more uop: a slot, a place in the reorder buffer and in the scheduler. */
static inline void td_core_make_room(struct td_core *core)
{
    if (core->used >= core->width) {
        core->used = 0;
        td_core_step(core);
    }
    if (TD_UNLIKELY(core->uops >= core->roomy))
        td_core_wait_reorder(core);
    if (TD_UNLIKELY(td_core_full(core, core->waiting)))
        td_core_wait_scheduler(core);
}

#endif
