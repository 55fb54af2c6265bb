/* SPDX-License-Identifier: MIT */
#include "record/sim/model/core.h"

#include <assert.h>
#include <string.h>

/* Uops that fill a scheduler's place in `waiting`; more than ever wait. */
enum { PLACE_FULL = 0x8000, NEVER_FULL = 0x4000 };

static struct td_port_kind kind_of(const struct td_ports *ports, enum td_cause cause, uint16_t set)
{
    struct td_port_kind kind = {.cause = cause};

    if (set == 0)
        return kind;
    const struct td_port_mask mask = td_ports_mask(ports, set, 0);
    const struct td_port_bank *bank = &ports->banks[mask.choice >> TD_BANK_PORTS];
    if (!mask.choice && mask.full)
        kind.full[kind.places++] = mask.full;
    for (uint32_t place = 0; place < TD_BANK_PORTS; place++) {
        if (mask.choice >> place & 1)
            kind.full[kind.places++] = bank->bound[place].full;
    }
    return kind;
}

static void init_kinds(struct td_core *core, const struct td_core_desc *desc)
{
    const struct td_op_cost *ops = desc->ops;
    const struct {
        enum td_cause cause;
        uint16_t set;
    } kinds[TD_PORT_KINDS] = {
        {TD_CAUSE_PORT_MULTIPLY, ops[TD_OP_MUL].ports},
        {TD_CAUSE_PORT_SHUFFLE, ops[TD_OP_VSHUF].ports},
        {TD_CAUSE_PORT_FLOAT, ops[TD_OP_FADD].ports},
        {TD_CAUSE_PORT_FLOAT, ops[TD_OP_FMUL].ports},
        {TD_CAUSE_PORT_VECTOR, ops[TD_OP_VMUL].ports},
        {TD_CAUSE_PORT_VECTOR, ops[TD_OP_VINT].ports},
        {TD_CAUSE_PORT_BRANCH, ops[TD_OP_BRANCH].ports},
        {TD_CAUSE_PORT_STORE, desc->store_data_ports},
        {TD_CAUSE_PORT_LOAD, desc->load_ports},
        {TD_CAUSE_PORT_INTEGER, ops[TD_OP_SHIFT].ports},
        {TD_CAUSE_PORT_INTEGER, ops[TD_OP_ALU].ports},
    };

    for (int i = 0; i < TD_PORT_KINDS; i++) {
        core->kinds[i] = kind_of(core->rules, kinds[i].cause, kinds[i].set);
        for (uint32_t p = 0; p < core->kinds[i].places; p++)
            core->kinds_full |= core->kinds[i].full[p];
    }
}

void td_core_init(struct td_core *core, const struct td_core_desc *desc,
                  const struct td_ports *ports, struct td_ledger *ledger)
{
    const int vector = desc->scheduler_vector + desc->vector_queue;
    const int general = desc->scheduler + (ports->vector ? 0 : vector) +
                        (ports->memory ? 0 : desc->scheduler_memory);
    const uint64_t memory = ports->memory ? (uint64_t)desc->scheduler_memory : NEVER_FULL;

    *core = (struct td_core){
        .width = (uint32_t)desc->width,
        .rob = (uint32_t)desc->rob,
        .roomy = (uint64_t)desc->rob,
        .whole = desc->whole_slots ? (uint32_t)desc->width : 0,
        .whole_groups = desc->whole_groups,
        .scheduler = (uint32_t)general,
        .scheduler_vector = ports->vector ? (uint32_t)vector : NEVER_FULL,
        .vector_crowded = ports->vector ? (uint32_t)desc->scheduler_vector : UINT32_MAX,
        .issued_general = ports->vector ? (1U << TD_PORT_ISSUED_VECTOR_AT) - 1 : UINT8_MAX,
        .issued_memory = ports->memory ? (1U << TD_PORT_SET_BITS) - 1 : 0,
        .vector_stores_wait = ports->vector && (ports->memory || desc->vector_store_waits),
        .queue_delay = desc->vector_queue_delay,
        .reuse_delay = desc->reuse_delay,
        .wakes_early = desc->wakes_early,
        .empty = ports->empty,
        .rules = ports,
        .group = ports->group,
        .no_group = ports->group,
        .load_mask = {td_ports_mask(ports, desc->load_ports, 0),
                      td_ports_mask(ports, desc->load_vector_ports, 0)},
        .store_mask = {td_ports_mask(ports, desc->store_address_ports, desc->store_data_ports),
                       desc->rmw_address ? td_ports_mask(ports, desc->store_data_ports, 0)
                                         : td_ports_mask(ports, desc->store_address_ports,
                                                         desc->store_data_ports)},
        .vector_store_mask = {td_ports_mask(ports, desc->store_address_ports, 0),
                              td_ports_mask(ports, desc->store_data_ports, 0)},
        /* Eight a cycle at most, or the count of what issues would run over. */
        .pass_mask = {.add = TD_PORT_ISSUED_VECTOR,
                      .full = 8 * TD_PORT_ISSUED_VECTOR,
                      .waits = TD_WAITING_VECTOR},
        .store_group = td_ports_mask(ports, desc->store_data_ports, 0).group,
        .ledger = ledger,
    };
    core->vector_store_mask[1].add += TD_PORT_ISSUED_VECTOR - TD_PORT_ISSUED;
    core->vector_store_mask[1].waits = TD_WAITING_VECTOR;
    core->scheduler_room = (PLACE_FULL - memory) << TD_WAITING_MEMORY_AT |
                           (uint64_t)(PLACE_FULL - core->scheduler_vector) << TD_WAITING_VECTOR_AT |
                           (PLACE_FULL - core->scheduler);
    const int registers[TD_RESULT_COUNT] = {
        [TD_RESULT_GENERAL] = desc->registers, [TD_RESULT_VECTOR] = desc->registers_vector};
    for (int i = 0; i < TD_RESULT_COUNT; i++) {
        core->results[i].most = (uint32_t)registers[i];
        core->results[i].roomy = registers[i] ? (uint64_t)registers[i] : UINT64_MAX;
    }
    init_kinds(core, desc);
    for (int i = 0; i < TD_PORT_RING; i++)
        core->ports[i] = ports->empty;
    for (int b = 0; b < TD_DISPATCH_BANKS; b++)
        core->crowd[b] = TD_LANES_EMPTY;
}

/* Moves the clock to the beginning of `cycle`. When no uop waits, none is booked to issue later. */
static void advance(struct td_core *core, int64_t cycle)
{
    while (core->cycle < cycle && core->waiting > 0)
        td_core_step(core);
    for (uint32_t b = 0; core->waiting == 0 && b < core->rules->bank_count; b++)
        TD_INVARIANT(core->rules->banks[b].rule == TD_BANK_SPREAD ||
                     core->crowd[b] == TD_LANES_EMPTY);
    core->cycle = cycle;
    core->used = 0;
    core->group = core->no_group;
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

/* The uop that dispatch waits for: the oldest that has not retired, or the last when all have. */
static uint64_t find_awaited(struct td_core *core)
{
    const uint64_t head = find_head(core);

    assert(core->uops > 0);
    return head < core->uops ? head : head - 1;
}

/* What is taken in each of so many cycles to come has more work than it can do. */
enum { BACKLOG_CYCLES = 8 };

/* Of the words of the cycles that come, the bits that are set in all of them: of ports that are
 * taken all the time. */
static uint64_t taken_ports(const struct td_core *core)
{
    uint64_t taken = UINT64_MAX >> (64 - TD_PORT_ISSUED_AT);

    for (int64_t i = 1; i <= BACKLOG_CYCLES && taken & core->kinds_full; i++)
        taken &= core->ports[(core->cycle + i) & (TD_PORT_RING - 1)];
    return taken & core->kinds_full;
}

static bool is_backlogged(const struct td_port_kind *kind, uint64_t taken)
{
    for (uint32_t p = 0; p < kind->places; p++) {
        if (!(taken & kind->full[p]))
            return false;
    }
    return kind->places > 0;
}

static bool is_taken(const struct td_core *core, enum td_unit_kind kind)
{
    const struct td_unit *unit = &core->units[kind];

    for (uint32_t i = 0; i < unit->count; i++) {
        if (unit->spans[i].from <= core->cycle + 1 &&
            unit->spans[i].to > core->cycle + BACKLOG_CYCLES)
            return true;
    }
    return false;
}

/* Of the uop and the next ones, how many wait for what, when all they read is there. */
static void count_kinds(const struct td_core *core, uint64_t uop, uint8_t counts[TD_CAUSE_COUNT])
{
    enum { UOPS = 64 };
    const uint64_t end = uop + UOPS < core->uops ? uop + UOPS : core->uops;

    for (; uop < end; uop++)
        counts[td_ledger_cause(core->blame[uop & (TD_ROB_RING - 1)])]++;
}

/* What a uop waits for that waits for the result of another: ports or a divider, when there is more
 * work for them than they can do, since then that waits for them; else `cause`. Ports that kinds of
 * uops have in common are waited for by the kind of which there are most. */
static enum td_cause behind_result(const struct td_core *core, uint64_t uop, enum td_cause cause)
{
    const uint64_t taken = taken_ports(core);
    const bool divides = is_taken(core, TD_UNIT_DIVIDE) || is_taken(core, TD_UNIT_FLOAT_DIVIDE);
    uint8_t counts[TD_CAUSE_COUNT] = {0};
    uint32_t most = 0;

    if (!taken && !divides)
        return cause;
    count_kinds(core, uop, counts);
    if (divides && counts[TD_CAUSE_DIVIDER])
        return TD_CAUSE_DIVIDER;
    for (int i = 0; i < TD_PORT_KINDS; i++) {
        const struct td_port_kind *kind = &core->kinds[i];

        if (counts[kind->cause] > most && is_backlogged(kind, taken)) {
            most = counts[kind->cause];
            cause = kind->cause;
        }
    }
    return cause;
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
    return cell - (uint32_t)cause +
           (uint32_t)behind_result(core, uop,
                                   cause == TD_CAUSE_PORT_LOAD ? TD_CAUSE_L1 : TD_CAUSE_CHAIN);
}

void td_core_stall(struct td_core *core, int64_t cycle)
{
    while (core->cycle < cycle) {
        const uint64_t uop = find_awaited(core);
        const int64_t retires = core->retire[uop & (TD_ROB_RING - 1)];
        int64_t until = retires <= core->cycle || retires > cycle ? cycle : retires;
        const uint32_t cell = blame_at(core, uop, &until);
        if (core->counting)
            td_counting_stall(core->counting, core->cycle + (core->used > 0), until,
                              td_ledger_cause(cell));
        td_core_lose(core, until, cell);
    }
}

void td_core_wait_scheduler(struct td_core *core)
{
    uint64_t waiting = core->waiting;
    int64_t cycle = core->cycle;

    while (td_core_full(core, waiting)) {
        cycle++;
        waiting -= td_core_issued(core, core->ports[cycle & (TD_PORT_RING - 1)]);
    }
    td_core_stall(core, cycle);
}

/* What retires in order: by number, modulo the ring, the cycle in which it has. */
enum { RETIRE_RING = TD_ROB_RING };
_Static_assert(TD_RESULT_RING == RETIRE_RING, "uops and results are in rings of one size");

/* Stalls until the oldest of the `most` that there is room for has retired. Returns how many more
 * find room at once, that one's place included. */
static uint32_t wait_oldest(struct td_core *core, const int64_t retire[RETIRE_RING],
                            uint64_t oldest, uint32_t most)
{
    uint32_t ahead = most < LOOK_FAR ? 1 : LOOK_FAR;
    const int64_t free = retire[oldest & (RETIRE_RING - 1)] + core->reuse_delay;

    if (free > core->cycle)
        td_core_stall(core, free);
    while (ahead > 1 &&
           retire[(oldest + ahead - 1) & (RETIRE_RING - 1)] + core->reuse_delay > core->cycle)
        ahead /= 8;
    return ahead;
}

void td_core_wait_reorder(struct td_core *core)
{
    core->roomy = core->uops + wait_oldest(core, core->retire, core->uops - core->rob, core->rob);
}

void td_core_wait_register(struct td_core *core, enum td_result kind)
{
    struct td_results *results = &core->results[kind];

    results->roomy = results->count + wait_oldest(core, results->retire,
                                                  results->count - results->most, results->most);
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

/* The same for one scheduler. */
static uint64_t depth(const struct td_core *core, uint64_t held, uint64_t waiting, uint64_t places)
{
    return waiting * core->rob <= held * places ? core->rob : held * places / waiting;
}

int64_t td_core_depth(struct td_core *core)
{
    const uint64_t held = core->uops - find_head(core);
    const uint64_t general = depth(core, held, core->waiting & (PLACE_FULL - 1), core->scheduler);
    const uint64_t vector = depth(core, held, td_core_waiting_vector(core), core->scheduler_vector);

    return (int64_t)(general < vector ? general : vector);
}

/* Stalls in the middle of a cycle's group. Where groups are whole, what is dispatched in `cycle` is
 * the rest of it: as many of its slots are gone as were before, and as much of its limits. */
static void stall_group(struct td_core *core, int64_t cycle)
{
    const uint64_t group = core->group;
    const uint32_t used = core->used;

    td_core_stall(core, cycle);
    if (!core->whole_groups)
        return;
    int64_t until = INT64_MAX;
    td_ledger_charge(core->ledger, blame_at(core, find_awaited(core), &until), used);
    core->group = group & UINT64_MAX << TD_GROUP_COUNTS_AT;
    core->used = used;
}

int64_t td_core_wait_queue(struct td_core *core, uint32_t b, uint32_t place, int64_t t)
{
    const struct td_port_bank *bank = &core->rules->banks[b];
    uint64_t crowd = core->crowd[b];
    int64_t cycle = core->cycle;

    /* What waits there is booked for a cycle of the ring. */
    while (td_lane(crowd, place) >= bank->full && cycle - core->cycle < TD_PORT_RING - 1) {
        const uint64_t word = core->ports[++cycle & (TD_PORT_RING - 1)];
        crowd -= td_lanes_issued(word - core->empty, bank->counters_at);
    }
    stall_group(core, cycle);
    return td_cycle_later(t, cycle + 1);
}

void td_core_waste(struct td_core *core, struct td_port_mask mask, int64_t woken, int64_t t)
{
    const int64_t end = t < core->cycle + TD_PORT_RING - 1 ? t : core->cycle + TD_PORT_RING - 1;

    for (int left = core->wakes_early; woken < end && left > 0; woken++) {
        uint64_t *word = &core->ports[woken & (TD_PORT_RING - 1)];

        if (*word & mask.full)
            continue;
        *word += mask.add - TD_PORT_ISSUED; /* it waits on */
        left--;
    }
}

int64_t td_core_issue_slow(struct td_core *core, struct td_port_mask mask, int64_t t)
{
    const uint32_t b = mask.choice >> TD_BANK_PORTS, at = b * TD_BANK_PORTS;
    const struct td_port_bank *bank = &core->rules->banks[b];
    const uint32_t place = td_core_place(core, b, mask.choice & TD_BANK_ALL);
    const uint32_t others = mask.second & ~(1U << place);
    struct td_port_mask ports = bank->bound[place];
    uint32_t second = place;

    if (!mask.second && TD_UNLIKELY(td_lane(core->crowd[b], place) >= bank->full))
        t = td_core_wait_queue(core, b, place, t);
    if (mask.late) {
        ports.add -= core->rules->result;
        ports.full &= ~(8 * core->rules->result);
    }
    if (others) {
        /* Both are one uop in the scheduler. */
        second = td_core_place(core, b, others);
        const struct td_port_mask more = bank->bound[second];
        ports.add += more.add & ((UINT64_C(1) << TD_PORT_ISSUED_AT) - 1);
        ports.full |= more.full;
    }
    core->group |= (UINT64_C(1) << place | UINT64_C(1) << second) << at;
    t = td_core_issue(core, ports, t);
    td_core_crowd(core, b, place, t);
    if (others)
        td_core_crowd(core, b, second, t);
    if (mask.late && t + mask.late - core->cycle < TD_PORT_RING - 1)
        core->ports[(t + mask.late) & (TD_PORT_RING - 1)] += core->rules->result;
    return t;
}

int64_t td_core_issue_vector_store(struct td_core *core, int64_t *known, int64_t data)
{
    if (!core->vector_stores_wait) {
        *known = td_core_issue(core, core->store_mask[0], *known);
        return data;
    }
    *known = td_core_issue(core, core->vector_store_mask[0], *known);
    return td_core_issue(core, core->vector_store_mask[1], data);
}

void td_core_pass_queue(struct td_core *core)
{
    if (core->issued_memory)
        (void)td_core_issue(core, core->pass_mask, core->cycle + 1);
}

int64_t td_core_enter(struct td_core *core, struct td_port_mask mask, int64_t t)
{
    const uint32_t places = core->vector_crowded;

    if (mask.waits != TD_WAITING_VECTOR)
        return t;
    if (core->entered < core->cycle) {
        core->entered = core->cycle;
        core->unissued = td_core_waiting_vector(core);
    }
    while (core->unissued >= places && core->entered - core->cycle < TD_PORT_RING - 1) {
        const uint64_t word = core->ports[++core->entered & (TD_PORT_RING - 1)];
        core->unissued -= (uint16_t)(td_core_issued(core, word) >> TD_WAITING_VECTOR_AT);
    }
    if (core->entered > core->cycle)
        t = td_cycle_later(t, core->entered + 1 + core->queue_delay);
    /* What is farther away is not booked. */
    core->unissued += t - core->cycle < TD_PORT_RING - 1;
    return t;
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
