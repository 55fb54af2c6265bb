/* SPDX-License-Identifier: MIT */
#include "record/sim/model/fetch.h"

#include <stdlib.h>
#include <string.h>

#include "base/likely.h"
#include "base/mem.h"

enum { TICKS = TD_TICKS_PER_CYCLE, RUN_LINES = 3 };

/* A small loop has so many jumps at most: Redwood Cove holds 16 and not 20 (redwood-cove.uarch). It
 * is taken for one after LOOP_SURE of them in a row. */
enum { LOOP_JUMPS = 18, LOOP_SURE = 20 };

void td_fetch_init(struct td_fetch *fetch, const struct td_core_desc *desc)
{
    *fetch = (struct td_fetch){.desc = desc};
    td_cache_init(&fetch->l1i, (uint32_t)desc->l1i_kb * 16, (uint32_t)desc->l1i_ways);
    td_cache_init(&fetch->itlb, (uint32_t)desc->itlb, (uint32_t)desc->itlb_ways);
    if (desc->itlb2)
        td_cache_init(&fetch->itlb2, (uint32_t)desc->itlb2, (uint32_t)desc->itlb2_ways);
    if (desc->uop_cache_lines)
        td_cache_init(&fetch->uop_cache, (uint32_t)desc->uop_cache_lines,
                      (uint32_t)desc->uop_cache_ways);
    fetch->l1i_pending = td_xcalloc(td_cache_slots(&fetch->l1i), sizeof(int64_t));
    td_pool_init(&fetch->misses, desc->misses);
    fetch->epoch = 1;
}

void td_fetch_release(struct td_fetch *fetch)
{
    td_cache_release(&fetch->l1i);
    td_cache_release(&fetch->itlb);
    td_cache_release(&fetch->itlb2);
    td_cache_release(&fetch->uop_cache);
    free(fetch->l1i_pending);
}

/* The uop cache keeps runs: what follows an entry into a line of code, to the line's end. A run has
 * its own lines, wherever else the code was entered. */
static uint64_t uop_key(const struct td_fetch *fetch, uint64_t line, uint32_t i)
{
    return line ^ (uint64_t)(fetch->entry + 1) << 40 ^ i * (UINT64_C(1) << 48);
}

static bool in_uop_cache(struct td_fetch *fetch, const struct td_fetch_part *part)
{
    const uint32_t holds = (uint32_t)fetch->desc->uop_cache_line_uops;
    const uint32_t end = fetch->run_slots + part->slots;
    bool all = true;

    if (!fetch->desc->uop_cache_lines)
        return false;
    for (uint32_t i = fetch->run_slots / holds; i * holds < end && i < RUN_LINES; i++) {
        if (!td_cache_touch(&fetch->uop_cache, uop_key(fetch, part->line, i))) {
            all = false;
            fetch->epoch++;
        }
    }
    return all;
}

/* Whether the part's line of code follows in sequence on the one before. */
static inline bool follows(const struct td_fetch *fetch, const struct td_fetch_part *part)
{
    return part->line == fetch->last_line + 1;
}

/* Where a run begins. A line of the uop cache goes on into the next line of code. */
static inline void enter_line(struct td_fetch *fetch, const struct td_fetch_part *part)
{
    if (part->line == fetch->last_line)
        return;
    if (!follows(fetch, part))
        fetch->line_room = 0;
    fetch->entry = part->offset;
    fetch->run_slots = 0;
    fetch->run_lines = 0;
    fetch->run_found = (uint32_t)fetch->desc->uop_cache_group;
}

static int64_t translate(struct td_fetch *fetch, struct td_memory *memory, uint64_t page, int64_t t)
{
    if (page == fetch->last_page)
        return 0;
    fetch->last_page = page;
    if (fetch->desc->perfect & TD_PERFECT_TLB || td_cache_find(&fetch->itlb, page) != TD_CACHE_MISS)
        return 0;
    fetch->epoch++;
    fetch->itlb_misses++;
    struct td_cache *second = fetch->desc->itlb2 ? &fetch->itlb2 : &memory->stlb;
    /* One walk for code at a time: what is fetched ahead waits for it. */
    const int64_t from = t > fetch->walked ? t : fetch->walked;
    fetch->walked = from + td_memory_translate(memory, &fetch->itlb, second, page, from);
    return fetch->walked - t;
}

/* Ticks at which the line is there; asked for at tick `asked`. */
static int64_t fetch_line(struct td_fetch *fetch, struct td_memory *memory, uint64_t line,
                          int64_t asked)
{
    const int64_t t = asked / TICKS;
    enum td_level level;
    int64_t start;
    const int64_t wait = translate(fetch, memory, line >> (TD_PAGE_BITS - TD_LINE_BITS), t);
    fetch->translating = wait;
    if (fetch->desc->perfect & TD_PERFECT_ICACHE)
        return asked + wait * TICKS;
    uint32_t slot = td_cache_find(&fetch->l1i, line);

    if (slot != TD_CACHE_MISS) {
        const int64_t ready = fetch->l1i_pending[slot] * TICKS;
        return ready > asked + wait * TICKS ? ready : asked + wait * TICKS;
    }
    fetch->epoch++;
    fetch->l1i_misses++;
    const int place = td_pool_find(&fetch->misses, t + wait, &start);
    int64_t ready = td_memory_from_l2(memory, line, start, &level);
    fetch->served[level]++;
    if (ready < fetch->filled + fetch->desc->fill)
        ready = fetch->filled + fetch->desc->fill;
    fetch->filled = ready;
    fetch->misses.until[place] = ready;
    slot = td_cache_fill(&fetch->l1i, line);
    fetch->l1i_pending[slot] = ready;
    return ready * TICKS;
}

/* The queue between decode and rename holds so many uops and no more. */
static int64_t queue_limit(struct td_fetch *fetch, uint64_t uop)
{
    const uint32_t newest = fetch->newest;
    uint32_t limit = fetch->limit;
    const struct td_fetch_dispatch *next = &fetch->dispatched[(limit + 1) & (TD_FETCH_RING - 1)];

    /* It is one mostly: how many is hard to foresee. */
    limit += (limit != newest) & (next->until <= uop);
    while (limit != newest && fetch->dispatched[(limit + 1) & (TD_FETCH_RING - 1)].until <= uop)
        limit++;
    fetch->limit = limit;
    const struct td_fetch_dispatch *last = &fetch->dispatched[limit & (TD_FETCH_RING - 1)];
    return last->until <= uop ? last->ticks : 0;
}

static int64_t predict_part(struct td_fetch *fetch, const struct td_fetch_part *part)
{
    const uint64_t line = part->line;
    const struct td_core_desc *desc = fetch->desc;
    const uint32_t k = (fetch->part_count - (uint32_t)desc->ahead) & (TD_AHEAD_MAX - 1);

    /* What falls through within a line is part of the same prediction. */
    if (line == fetch->last_line)
        return fetch->predicted;
    if (desc->loop > desc->block)
        fetch->predicted += fetch->again ? desc->loop : desc->block;
    else
        fetch->predicted += fetch->loop_count > LOOP_SURE ? desc->loop : desc->block;
    fetch->again = false;
    if (TD_UNLIKELY(part->straddles) && !follows(fetch, part))
        fetch->predicted += desc->block;
    if (fetch->predicted < fetch->started[k])
        fetch->predicted = fetch->started[k];
    return fetch->predicted;
}

/* Asks the uop cache for the run that the part begins: as soon as it is predicted, the run before
 * has been found, and the queue has room. */
static void ask_uop_cache(struct td_fetch *fetch, bool next, int64_t limit)
{
    const struct td_core_desc *desc = fetch->desc;
    int64_t t = fetch->looks > fetch->predicted ? fetch->looks : fetch->predicted;

    t = t > limit ? t : limit;
    fetch->asked = t;
    fetch->looks = t + (next && desc->block_next ? desc->block_next : desc->block);
    if (fetch->delivered < t)
        fetch->delivered = t;
}

/* What the uop cache takes for the part by its lines, full or not. A look finds a group of them; to
 * find more of the same run it must look again, and what follows waits for that. */
static void deliver_lines(struct td_fetch *fetch, uint32_t slots)
{
    const struct td_core_desc *desc = fetch->desc;

    for (; slots > fetch->line_room; fetch->line_room += (uint32_t)desc->uop_cache_line_uops) {
        fetch->delivered += desc->uop_cache_line;
        if (desc->uop_cache_group && fetch->run_lines == fetch->run_found) {
            fetch->run_found += (uint32_t)desc->uop_cache_group;
            const int64_t first = fetch->run_lines == (uint32_t)desc->uop_cache_group
                                      ? fetch->asked / TICKS * TICKS + TICKS
                                      : fetch->looks;
            fetch->looks = first + desc->uop_cache_pause * TICKS;
            if (fetch->delivered < fetch->looks - TICKS + desc->uop_cache_line)
                fetch->delivered = fetch->looks - TICKS + desc->uop_cache_line;
        }
        fetch->run_lines++;
    }
    fetch->line_room -= slots;
}

/* Of a core whose front end is never late: what is left are mispredicts, clears and the queue's
 * limit. */
static int64_t fetch_at_once(struct td_fetch *fetch, int64_t limit)
{
    if (fetch->delivered < limit)
        fetch->delivered = limit;
    fetch->rate = TD_CAUSE_RESTEER;
    return (fetch->delivered + TICKS - 1) / TICKS;
}

int64_t td_fetch_part(struct td_fetch *fetch, struct td_memory *memory,
                      const struct td_fetch_part *part, uint64_t uop, bool known)
{
    const int64_t limit = queue_limit(fetch, uop);
    bool hit = true;

    if (TD_UNLIKELY((fetch->desc->perfect & TD_PERFECT_FRONTEND) != 0))
        return fetch_at_once(fetch, limit);
    const int64_t predicted = predict_part(fetch, part);

    if (fetch->desc->uop_cache_line && part->line != fetch->last_line)
        ask_uop_cache(fetch, follows(fetch, part), limit);
    enter_line(fetch, part);
    if (fetch->delivered < limit)
        fetch->delivered = limit;
    if (fetch->delivered < predicted)
        fetch->delivered = predicted;
    if (!known) {
        if (part->line != fetch->last_line) {
            const int64_t ready = fetch_line(fetch, memory, part->line, predicted);
            if (ready > fetch->delivered) {
                /* Of the two waits, the longer one. */
                const int64_t late = ready - predicted;
                fetch->cause =
                    fetch->translating * TICKS * 2 > late ? TD_CAUSE_ITLB : TD_CAUSE_ICACHE;
                fetch->stalls[fetch->stall_count++ & (TD_FETCH_STALLS - 1)] =
                    (struct td_fetch_stall){.from = (fetch->delivered + TICKS - 1) / TICKS,
                                            .to = (ready + TICKS - 1) / TICKS,
                                            .cause = fetch->cause};
                fetch->delivered = ready;
            }
        }
        hit = in_uop_cache(fetch, part);
    }
    fetch->run_slots += part->slots;
    fetch->last_line = part->line;
    if (!hit && !fetch->decoding) {
        fetch->delivered += fetch->desc->decode_switch * TICKS;
        if (fetch->cause == TD_CAUSE_UOP_CACHE)
            fetch->cause = TD_CAUSE_DECODE;
    }
    fetch->decoding = !hit;
    fetch->started[fetch->part_count++ & (TD_AHEAD_MAX - 1)] = fetch->delivered;
    const int64_t cycle = (fetch->delivered + TICKS - 1) / TICKS;
    fetch->delivered += hit ? part->uop_cost : part->decode_cost;
    if (!hit)
        fetch->line_room = 0;
    else if (fetch->desc->uop_cache_line)
        deliver_lines(fetch, part->slots);
    fetch->rate = (enum td_cause)(hit ? part->cause : part->decoding);
    return cycle;
}

void td_fetch_dispatched(struct td_fetch *fetch, uint64_t uop, int64_t cycle)
{
    fetch->newest++;
    if (fetch->newest - fetch->limit >= TD_FETCH_RING)
        fetch->limit++;
    fetch->dispatched[fetch->newest & (TD_FETCH_RING - 1)] = (struct td_fetch_dispatch){
        .until = uop + (uint64_t)fetch->desc->queue, .ticks = cycle * TICKS};
    fetch->cause = fetch->rate;
}

void td_fetch_taken(struct td_fetch *fetch, uint64_t pc, uint64_t end, bool plain)
{
    /* A jump over the end of a line of code is only over when the next line has been asked for. */
    if (fetch->desc->uop_cache_line && (pc ^ (end - 1)) >> TD_LINE_BITS)
        fetch->looks += fetch->desc->block_next;
    fetch->last_line = 0;
    fetch->again = pc == fetch->taken_pc;
    fetch->taken_pc = pc;
    if (fetch->decoding ? fetch->desc->decode_taken : fetch->desc->uop_cache_taken)
        fetch->delivered = (fetch->delivered + TICKS - 1) / TICKS * TICKS;
    struct td_fetch_jump *last = &fetch->jumps[(pc ^ pc >> 6) & (TD_FETCH_JUMPS - 1)];
    const uint32_t number = ++fetch->jump_count;
    const bool near = plain && last->pc == pc && number - last->number <= LOOP_JUMPS;
    fetch->loop_count = near ? fetch->loop_count + 1 : 0;
    *last = (struct td_fetch_jump){.pc = pc, .number = number};
}

void td_fetch_redirect(struct td_fetch *fetch, int64_t cycle, int refill)
{
    fetch->predicted = fetch->looks = cycle * TICKS;
    if (refill > fetch->desc->lead)
        fetch->predicted += (refill - fetch->desc->lead) * TICKS;
    if (fetch->delivered < (cycle + refill) * TICKS)
        fetch->delivered = (cycle + refill) * TICKS;
    for (int i = 0; i < TD_AHEAD_MAX; i++)
        fetch->started[i] = 0;
    fetch->last_line = 0;
}

void td_fetch_slow(struct td_fetch *fetch, int ticks)
{
    if (!(fetch->desc->perfect & TD_PERFECT_FRONTEND))
        fetch->predicted += ticks;
}

void td_fetch_delay(struct td_fetch *fetch, int cycles, bool delivery)
{
    if (fetch->desc->perfect & TD_PERFECT_FRONTEND)
        return;
    if (delivery) {
        fetch->delivered += cycles * TICKS;
        fetch->predicted = fetch->delivered;
        fetch->cause = TD_CAUSE_RESTEER;
    } else {
        fetch->predicted += cycles * TICKS;
    }
}

void td_fetch_wait(struct td_fetch *fetch, int64_t cycle)
{
    if (fetch->desc->perfect & TD_PERFECT_FRONTEND || fetch->delivered >= cycle * TICKS)
        return;
    fetch->delivered = cycle * TICKS;
    fetch->cause = TD_CAUSE_RESTEER;
}

void td_fetch_warm(struct td_fetch *fetch, struct td_memory *memory,
                   const struct td_fetch_part *part)
{
    const uint64_t page = part->line >> (TD_PAGE_BITS - TD_LINE_BITS);

    if (page != fetch->last_page) {
        fetch->last_page = page;
        if (!td_cache_touch(&fetch->itlb, page)) {
            fetch->epoch++;
            if (!td_cache_touch(fetch->desc->itlb2 ? &fetch->itlb2 : &memory->stlb, page))
                td_memory_warm_walk(memory, page);
        }
    }
    if (td_cache_find(&fetch->l1i, part->line) == TD_CACHE_MISS) {
        fetch->epoch++;
        fetch->l1i_pending[td_cache_fill(&fetch->l1i, part->line)] = 0;
        td_memory_warm_l2(memory, part->line);
    }
}

void td_fetch_warm_uops(struct td_fetch *fetch, const struct td_fetch_part *part)
{
    enter_line(fetch, part);
    in_uop_cache(fetch, part);
    fetch->run_slots += part->slots;
    fetch->last_line = part->line;
}

void td_fetch_go_on_from(struct td_fetch *fetch, const struct td_fetch *from)
{
    td_cache_copy(&fetch->l1i, &from->l1i);
    td_cache_copy(&fetch->itlb, &from->itlb);
    if (fetch->desc->itlb2)
        td_cache_copy(&fetch->itlb2, &from->itlb2);
    fetch->last_page = from->last_page;
    memset(fetch->l1i_pending, 0, td_cache_slots(&fetch->l1i) * sizeof(*fetch->l1i_pending));
    fetch->epoch++;
}
