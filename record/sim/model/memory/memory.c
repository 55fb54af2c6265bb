/* SPDX-License-Identifier: MIT */
#include "record/sim/model/memory/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

/* Page table entries live in lines of their own, far from any program's: eight to a line. The host
 * of a virtual machine has a table of its own; frames come in runs, so its entries are as near. */
#define PAGE_TABLE_LINE (UINT64_C(1) << 43)
#define HOST_TABLE_LINE (UINT64_C(1) << 44)
enum { PAGE_TABLE_BITS = 3 };
/* And the kernel's data. */
#define KERNEL_PAGE (UINT64_C(1) << 39)
/* A prefetch is dropped rather than wait this long for a place. */
enum { PREFETCH_PATIENCE = 64 };
/* Memory is at its limit when a line waits for this part of the latency before it is asked for. */
enum { QUEUE_PART = 8 };

static void init_tables(struct td_memory *memory)
{
    const struct td_core_desc *desc = memory->desc;

    td_cache_init(&memory->l1d, (uint32_t)desc->l1d_kb * 16, (uint32_t)desc->l1d_ways);
    if (desc->l1d_lru)
        td_cache_set_lru(&memory->l1d);
    td_cache_init(&memory->l2, (uint32_t)desc->l2_kb * 16, (uint32_t)desc->l2_ways);
    td_cache_init(&memory->dtlb, (uint32_t)desc->dtlb, (uint32_t)desc->dtlb_ways);
    td_cache_init(&memory->stlb, (uint32_t)desc->stlb, (uint32_t)desc->stlb_ways);
    memory->l1d_pending = td_xcalloc(td_cache_slots(&memory->l1d), sizeof(int64_t));
    memory->l2_pending = td_xcalloc(td_cache_slots(&memory->l2), sizeof(int64_t));
    memory->l1d_clean = td_xcalloc(td_cache_slots(&memory->l1d), sizeof(bool));
}

void td_memory_init(struct td_memory *memory, const struct td_core_desc *desc, struct td_llc *llc)
{
    *memory = (struct td_memory){.desc = desc, .llc = llc, .faults = !llc->used};
    if (!llc->used)
        llc->used = true;
    init_tables(memory);
    memory->sharer = td_sharer_new(llc->sharing);
    td_memory_keep_company(memory, 0);
    td_pool_init(&memory->l1d_fills, desc->l1d_misses);
    td_pool_init(&memory->l2_fills, desc->l2_misses);
    td_pool_init(&memory->walks, desc->walkers);
}

void td_memory_init_warmed(struct td_memory *memory, const struct td_core_desc *desc, bool faults)
{
    *memory = (struct td_memory){.desc = desc, .faults = faults};
    init_tables(memory);
}

void td_memory_release(struct td_memory *memory)
{
    td_cache_release(&memory->l1d);
    td_cache_release(&memory->l2);
    td_cache_release(&memory->dtlb);
    td_cache_release(&memory->stlb);
    td_pages_release(&memory->pages);
    td_sharer_free(memory->sharer);
    free(memory->l1d_clean);
    free(memory->l1d_pending);
    free(memory->l2_pending);
}

/* L2 and what is beyond go by physical addresses: pages lie anywhere. A line keeps its place in the
 * page, and the pair it belongs to. */
static uint64_t physical(uint64_t line)
{
    const uint64_t page = line >> (TD_PAGE_BITS - TD_LINE_BITS);
    const uint64_t frame = td_hash_u64(page + 1) & ((UINT64_C(1) << 34) - 1);

    return frame << (TD_PAGE_BITS - TD_LINE_BITS) | (line & (TD_PAGE_LINES - 1));
}

/* The thread's time for the last level: what was only warmed, or skipped, has taken time as well.
 */
static int64_t llc_time(struct td_memory *memory, int64_t t)
{
    if (t > memory->seen)
        memory->seen = t;
    return t + memory->passed;
}

/* The last level holds the line from now on, in no time. */
static void warm_llc(struct td_memory *memory, uint64_t frame, int64_t t)
{
    if (memory->llc)
        td_llc_touch(memory->llc, frame, t);
    else if (memory->beyond)
        td_beyond_add_line(memory->beyond, frame);
}

/* Puts a line into L2. What gives way for it goes to the last level, where that holds what L2 has
 * thrown out: it has not seen the line's uses in L2. */
static uint32_t put_l2(struct td_memory *memory, uint64_t frame, int64_t t)
{
    uint64_t gone;
    const uint32_t slot = td_cache_replace(&memory->l2, frame, &gone);

    if (memory->desc->l3_victim && gone != TD_CACHE_NO_KEY)
        warm_llc(memory, gone, t);
    return slot;
}

/* A line waited so long for a place, or for the lines before. */
static void note_wait(const struct td_memory *memory, int64_t cycles, enum td_level *level)
{
    if (*level == TD_LEVEL_DRAM && cycles > memory->desc->dram_latency / QUEUE_PART)
        *level = TD_LEVEL_DRAM_QUEUE;
}

/* Takes `ticks` of memory's rate, of which others may leave so little that they last for `cost`. */
static int64_t take_dram(struct td_memory *memory, int64_t t, int ticks, int cost)
{
    memory->ticks += (uint64_t)ticks;
    return td_lane_take(&memory->dram_lane, t, cost);
}

/* A line that L2 does not hold, asked for at `t`. */
static int64_t from_l3(struct td_memory *memory, uint64_t line, int64_t t, enum td_level *level)
{
    const struct td_core_desc *desc = memory->desc;

    memory->counts.l2_misses++;
    t = td_lane_take(&memory->l3_lane, t, desc->l3_line);
    if (td_llc_touch(memory->llc, physical(line), llc_time(memory, t)) ||
        desc->perfect & TD_PERFECT_L3) {
        *level = TD_LEVEL_L3;
        return t + desc->l3_latency;
    }
    memory->counts.l3_misses++;
    const int64_t begun = take_dram(memory, t, desc->dram_line, memory->line);
    *level = TD_LEVEL_DRAM;
    note_wait(memory, begun - t, level);
    return begun + desc->dram_latency;
}

static int64_t fill_l2(struct td_memory *memory, uint64_t line, int64_t t, bool prefetched,
                       enum td_level *level)
{
    int64_t start;
    const int place = td_pool_find(&memory->l2_fills, t, &start);
    if (prefetched && start > t + PREFETCH_PATIENCE)
        return 0;
    const int64_t ready = from_l3(memory, line, start, level);
    note_wait(memory, start - t, level);
    const uint32_t slot = put_l2(memory, physical(line), t + memory->passed);

    /* It has its place from the miss in L2 on. */
    memory->l2_fills.until[place] = ready - memory->desc->l2_latency;
    memory->l2_pending[slot] = TD_PENDING(ready, *level, prefetched);
    return ready;
}

int64_t td_memory_from_l2(struct td_memory *memory, uint64_t line, int64_t t, enum td_level *level)
{
    if (memory->desc->perfect & TD_PERFECT_L2) {
        *level = TD_LEVEL_L2;
        return td_lane_take(&memory->l2_lane, t, memory->desc->l2_line) + memory->desc->l2_latency;
    }
    const uint32_t slot = td_cache_find(&memory->l2, physical(line));

    t = td_lane_take(&memory->l2_lane, t, memory->desc->l2_line);
    if (slot == TD_CACHE_MISS)
        return fill_l2(memory, line, t, false, level);
    const int64_t pending = memory->l2_pending[slot], ready = t + memory->desc->l2_latency;
    *level = TD_LEVEL_L2;
    if (pending == 0)
        return ready;
    if (TD_PENDING_READY(pending) > ready) {
        *level = TD_PENDING_LEVEL(pending);
        return TD_PENDING_READY(pending);
    }
    memory->l2_pending[slot] = 0;
    return ready;
}

enum td_level td_memory_probe(const struct td_memory *memory, uint64_t line)
{
    if (td_cache_holds(&memory->l2, physical(line)))
        return TD_LEVEL_L2;
    return td_llc_holds(memory->llc, physical(line)) ? TD_LEVEL_L3 : TD_LEVEL_DRAM;
}

/* Brings a line into L2; false when the queue to L3 is full. */
static bool prefetch_l2(struct td_memory *memory, uint64_t line, int64_t t)
{
    enum td_level level;

    if (memory->desc->perfect & TD_PERFECT_L2 || td_cache_holds(&memory->l2, physical(line)))
        return true;
    memory->counts.prefetches++;
    return fill_l2(memory, line, t, true, &level) != 0;
}

static void follow_stream(struct td_memory *memory, const struct td_prefetch_want *want, int64_t t)
{
    for (int i = 0; i < want->count; i++) {
        if (!prefetch_l2(memory, want->line + (uint64_t)(int64_t)(i * want->step), t)) {
            td_prefetch_leave(want, want->count - i);
            return;
        }
    }
}

static struct td_stream_reach stream_reach(const struct td_core_desc *desc)
{
    return (struct td_stream_reach){.step = desc->l2_step,
                                    .distance = desc->l2_stream,
                                    .degree = desc->l2_degree,
                                    .far = desc->l2_far,
                                    .far_after = desc->l2_far_after};
}

/* What L2's prefetchers make of a line that the program has come to: it was asked for, by it or by
 * a prefetcher of L1. While L1 has all the lines in flight that it can
 * (`busy`), only long streams are still followed, if the core has such. */
static void train_l2(struct td_memory *memory, uint64_t line, int64_t t, bool busy)
{
    const struct td_core_desc *desc = memory->desc;
    const struct td_stream_reach reach = stream_reach(desc);

    busy = busy && desc->l2_far;
    if (desc->l2_stream) {
        const struct td_prefetch_want want = td_prefetch_stream(&memory->prefetch, line, &reach);
        if (want.far || !busy)
            follow_stream(memory, &want, t);
        if (desc->l2_next && want.first && !busy && (line + 1) % TD_PAGE_LINES)
            prefetch_l2(memory, line + 1, t);
    }
    if (desc->l2_pair)
        prefetch_l2(memory, line ^ 1, t);
}

static void watch_all(struct td_memory *memory)
{
    for (uint32_t slot = 0; slot < td_cache_slots(&memory->l1d); slot++)
        memory->l1d_pending[slot] |= TD_PENDING_WATCHED;
}

/* A line comes into L1: the first use of it is told; of a thread that is alone, the first store. */
static int64_t watch_new(struct td_memory *memory, uint32_t slot)
{
    memory->l1d_clean[slot] = memory->sharer && !memory->sharing;
    return memory->sharing ? TD_PENDING_WATCHED : 0;
}

/* A store to the line in the slot. */
static void note_store(struct td_memory *memory, uint32_t slot, uint64_t line)
{
    if (memory->sharing || !memory->l1d_clean[slot])
        return;
    memory->l1d_clean[slot] = false;
    td_sharer_note_store(memory->sharer, line);
}

static int64_t fill_l1(struct td_memory *memory, uint64_t line, int64_t t, bool prefetched,
                       enum td_level *level)
{
    int64_t start;
    const int place = td_pool_find(&memory->l1d_fills, t, &start);
    if (prefetched && start > t + PREFETCH_PATIENCE)
        return 0;
    const int64_t ready = td_memory_from_l2(memory, line, start, level);
    note_wait(memory, start - t, level);
    const uint32_t slot = td_cache_fill(&memory->l1d, line);

    memory->l1d_fills.until[place] = ready;
    memory->l1d_pending[slot] = TD_PENDING(ready, *level, prefetched) | watch_new(memory, slot);
    if (memory->lines)
        td_lines_fill(memory->lines, slot, line);
    if (!prefetched) {
        memory->slot = slot;
        train_l2(memory, line, start, start > t);
    }
    return ready;
}

/* A line that is not in L1 comes there, in no time. */
static void warm_l1(struct td_memory *memory, uint64_t line, bool prefetched)
{
    const uint32_t slot = td_cache_fill(&memory->l1d, line);

    memory->l1d_pending[slot] = TD_PENDING(0, 0, prefetched) | watch_new(memory, slot);
    if (memory->lines)
        td_lines_skip(memory->lines, slot);
    td_memory_warm_l2(memory, line);
}

static void prefetch_l1(struct td_memory *memory, uint64_t line, int64_t t)
{
    enum td_level level;

    if (memory->desc->perfect & TD_PERFECT_L1 || td_cache_holds(&memory->l1d, line))
        return;
    if (memory->llc)
        fill_l1(memory, line, t, true, &level);
    else
        warm_l1(memory, line, true);
}

/* The next lines of a stream, within the page. */
static void stream_l1(struct td_memory *memory, uint64_t line, int64_t t)
{
    if (!memory->desc->l1_stream)
        return;
    const int step = td_prefetch_neighbour(&memory->prefetch, line);
    if (step == 0 || (step < 0 && !memory->desc->l1_falling))
        return;
    for (int i = 1; i <= memory->desc->l1_stream; i++) {
        const uint64_t next = line + (uint64_t)(int64_t)(i * step);
        if (next / TD_PAGE_LINES == line / TD_PAGE_LINES)
            prefetch_l1(memory, next, t);
    }
}

int64_t td_memory_pending(struct td_memory *memory, uint32_t slot, uint64_t line, int64_t t,
                          bool store, enum td_level *level)
{
    const int64_t pending = memory->l1d_pending[slot];
    const int64_t ready = t + memory->desc->l1d_latency;
    const int64_t watch = pending & TD_PENDING_WATCHED;

    memory->watched |= watch || (!pending && memory->sharing);
    if (store)
        note_store(memory, slot, line);
    if (TD_PENDING_PREFETCHED(pending)) {
        memory->l1d_pending[slot] = pending & ~INT64_C(1);
        train_l2(memory, line, t, false);
        stream_l1(memory, line, t);
    }
    if (TD_PENDING_READY(pending) > ready) {
        *level = TD_PENDING_LEVEL(pending);
        return TD_PENDING_READY(pending);
    }
    memory->l1d_pending[slot] = watch;
    return ready;
}

int64_t td_memory_miss(struct td_memory *memory, uint64_t line, int64_t t, int64_t translation,
                       bool store, enum td_level *level)
{
    /* What is not looked at again is not missed again. */
    if (memory->desc->perfect & TD_PERFECT_L1) {
        td_cache_fill(&memory->l1d, line);
        return t + memory->desc->l1d_latency;
    }
    memory->counts.l1d_misses++;
    memory->watched |= memory->sharing;
    const int64_t ready = fill_l1(memory, line, t, false, level);
    if (store)
        note_store(memory, memory->slot, line);
    memory->counts.data_l2_misses += *level >= TD_LEVEL_L3;
    memory->counts.data_l3_misses += *level >= TD_LEVEL_DRAM;
    /* Before the page is known no line is missed: TMA counts walks as bound by L1 (DTLB_Load). */
    if (*level < TD_LEVEL_DRAM && translation > ready - t - memory->desc->l1d_latency) {
        memory->behind_walk = *level;
        *level = TD_LEVEL_DTLB;
    }
    /* The line will be written back one day; that traffic is charged when it is fetched. */
    if (store && *level >= TD_LEVEL_DRAM)
        take_dram(memory, t, memory->desc->dram_write, memory->write);
    stream_l1(memory, line, t);
    return ready;
}

int64_t td_memory_write_past(struct td_memory *memory, uint64_t address, int64_t t)
{
    const struct td_core_desc *desc = memory->desc;
    const uint64_t line = address >> TD_LINE_BITS;

    /* Past the caches is memory, at its rate: it has none where no access comes to it. */
    if (desc->perfect & (TD_PERFECT_L1 | TD_PERFECT_L2 | TD_PERFECT_L3))
        return t + desc->l1d_latency;
    if (line != memory->past_line) {
        memory->past_line = line;
        memory->past_begun =
            take_dram(memory, t, desc->dram_line + desc->dram_write, memory->line + memory->write);
    }
    return memory->past_begun + desc->l1d_latency;
}

/* Whether the program has used the page, as far as the core cares: a prefetch is no reason for a
 * page fault. */
static bool is_mapped(const struct td_memory *memory, uint64_t page)
{
    return !memory->desc->first_touch || td_pages_mapped(&memory->pages, page);
}

void td_memory_map(struct td_memory *memory, uint64_t page, uint64_t count, bool file)
{
    if (memory->desc->first_touch)
        td_pages_map(&memory->pages, page, count, file);
}

int64_t td_memory_ahead(struct td_memory *memory, uint64_t address, int64_t t, int64_t until)
{
    enum td_level level;
    int64_t start;

    if (!td_cache_holds(&memory->l1d, address >> TD_LINE_BITS)) {
        td_pool_find(&memory->l1d_fills, t, &start);
        if (start >= until)
            return until;
    }
    const int64_t ready = td_memory_access(memory, address, t, false, &level);
    memory->watched = false;
    return ready;
}

/* In each page fault the kernel uses the same data of its own. */
static void run_kernel(struct td_memory *memory)
{
    const uint64_t first = KERNEL_PAGE * TD_PAGE_LINES;

    for (int i = 0; i < memory->desc->fault_lines; i++) {
        if (td_cache_find(&memory->l1d, first + (uint64_t)i) == TD_CACHE_MISS)
            warm_l1(memory, first + (uint64_t)i, false);
    }
    for (int i = 0; i < memory->desc->fault_pages; i++)
        td_cache_touch(&memory->dtlb, KERNEL_PAGE + (uint64_t)i);
}

/* The kernel clears or fills a page of data when it maps it: its lines are in L2 when the program
 * goes on. Code, and what else of files is only read, is only mapped. Where the program ran before,
 * its pages are as they were left: nobody knows how long ago, so they are in the last level. */
static void touch_first(struct td_memory *memory, uint64_t page)
{
    const enum td_page_touch touch = td_pages_touch(&memory->pages, page);

    if (memory->beyond && touch != TD_PAGE_AGAIN)
        td_beyond_add_page(memory->beyond, page);
    memory->fresh = (touch == TD_PAGE_CLEARED || touch == TD_PAGE_FILE_FAULT) && memory->faults &&
                    memory->desc->first_touch != TD_FIRST_TOUCH_LEFT;
    for (uint64_t i = 0; touch == TD_PAGE_CLEARED && i < TD_PAGE_LINES; i++) {
        const uint64_t line = page * TD_PAGE_LINES + i;

        if (memory->desc->first_touch == TD_FIRST_TOUCH_LEFT)
            warm_llc(memory, physical(line), memory->seen + memory->passed);
        else
            td_memory_warm_l2(memory, line);
    }
    if (memory->fresh)
        run_kernel(memory);
}

/* When a page's entry is there, which is asked for at `t`. */
static int64_t read_entry(struct td_memory *memory, uint64_t page, int64_t t)
{
    enum td_level level;

    t = td_memory_from_l2(memory, PAGE_TABLE_LINE + (page >> PAGE_TABLE_BITS), t, &level);
    if (memory->desc->nested)
        t = td_memory_from_l2(memory, HOST_TABLE_LINE + (page >> PAGE_TABLE_BITS), t, &level);
    return t;
}

int64_t td_memory_translate(struct td_memory *memory, struct td_cache *first,
                            struct td_cache *second, uint64_t page, int64_t t)
{
    const struct td_core_desc *desc = memory->desc;
    int64_t start;

    if (td_cache_touch(first, page))
        return 0;
    const bool held = td_cache_touch(second, page);
    if (held)
        return desc->perfect & TD_PERFECT_TLB ? 0 : desc->stlb_latency;
    if (desc->first_touch && first == &memory->dtlb)
        touch_first(memory, page);
    if (desc->perfect & TD_PERFECT_TLB)
        return 0;
    memory->counts.tlb_misses++;
    memory->counts.data_walks += first == &memory->dtlb;
    const int place = td_pool_find(&memory->walks, t, &start);
    const int64_t done = read_entry(memory, page, start) + desc->walk - desc->l2_latency;
    memory->walks.until[place] = done;
    return done - t;
}

void td_memory_warm_walk(struct td_memory *memory, uint64_t page)
{
    td_memory_warm_l2(memory, PAGE_TABLE_LINE + (page >> PAGE_TABLE_BITS));
    if (memory->desc->nested)
        td_memory_warm_l2(memory, HOST_TABLE_LINE + (page >> PAGE_TABLE_BITS));
}

/* A page of data that no TLB holds. */
static void warm_page(struct td_memory *memory, uint64_t page)
{
    if (memory->desc->first_touch)
        touch_first(memory, page);
    td_memory_warm_walk(memory, page);
}

/* The same cycles as of td_memory_translate; none where time never passes. */
static int64_t translate_data(struct td_memory *memory, uint64_t page, int64_t t)
{
    if (memory->llc)
        return td_memory_translate(memory, &memory->dtlb, &memory->stlb, page, t);
    if (!td_cache_touch(&memory->dtlb, page) && !td_cache_touch(&memory->stlb, page))
        warm_page(memory, page);
    return 0;
}

void td_memory_prefetch(struct td_memory *memory, uint64_t address, int64_t t)
{
    const uint64_t page = address >> TD_PAGE_BITS;

    if (page != memory->last_page && !td_cache_holds(&memory->dtlb, page) &&
        !td_cache_holds(&memory->stlb, page)) {
        if (!memory->desc->next_page || !is_mapped(memory, page))
            return;
        t += translate_data(memory, page, t);
    }
    prefetch_l1(memory, address >> TD_LINE_BITS, t);
}

/* What L2's prefetchers would have brought by now: streams go on through what is not modelled. */
static void warm_ahead(struct td_memory *memory, uint64_t line)
{
    const struct td_core_desc *desc = memory->desc;
    const struct td_stream_reach reach = stream_reach(desc);

    if (desc->l2_stream) {
        const struct td_prefetch_want want = td_prefetch_stream(&memory->prefetch, line, &reach);
        for (int i = 0; i < want.count; i++)
            td_memory_warm_l2(memory, want.line + (uint64_t)(int64_t)(i * want.step));
        if (desc->l2_next && want.first && (line + 1) % TD_PAGE_LINES)
            td_memory_warm_l2(memory, line + 1);
    }
    if (desc->l2_pair)
        td_memory_warm_l2(memory, line ^ 1);
}

void td_memory_warm(struct td_memory *memory, uint64_t address)
{
    const uint64_t page = address >> TD_PAGE_BITS, line = address >> TD_LINE_BITS;

    if (page != memory->last_page) {
        memory->last_page = page;
        translate_data(memory, page, 0);
    }
    const uint32_t slot = td_cache_find(&memory->l1d, line);
    if (slot == TD_CACHE_MISS)
        warm_l1(memory, line, false);
    else if (memory->l1d_pending[slot] == 0)
        return;
    else
        memory->l1d_pending[slot] = 0; /* it was prefetched, and is used now */
    warm_ahead(memory, line);
    stream_l1(memory, line, 0);
}

void td_memory_warm_l2(struct td_memory *memory, uint64_t line)
{
    if (td_cache_find(&memory->l2, physical(line)) != TD_CACHE_MISS)
        return;
    const int64_t t = memory->seen + memory->passed;
    memory->l2_pending[put_l2(memory, physical(line), t)] = 0;
    warm_llc(memory, physical(line), t);
}

void td_memory_take_beyond(struct td_memory *memory, const struct td_beyond *beyond)
{
    for (size_t i = 0; i < beyond->page_count; i++)
        td_pages_touch(&memory->pages, beyond->pages[i]);
    td_llc_touch_all(memory->llc, beyond->lines, beyond->line_count, memory->seen + memory->passed);
}

/* Of a line that is in L1 only now nothing is known that was not fetched by an instruction. */
static void forget_lines(struct td_memory *memory, const struct td_memory *from)
{
    for (uint32_t slot = 0; slot < td_cache_slots(&memory->l1d); slot++) {
        if (memory->l1d.tags[slot] != from->l1d.tags[slot])
            td_lines_skip(memory->lines, slot);
    }
}

void td_memory_go_on_from(struct td_memory *memory, const struct td_memory *from)
{
    const uint32_t l1d_slots = td_cache_slots(&memory->l1d);

    if (memory->lines)
        forget_lines(memory, from);
    td_cache_copy(&memory->l1d, &from->l1d);
    td_cache_copy(&memory->l2, &from->l2);
    td_cache_copy(&memory->dtlb, &from->dtlb);
    td_cache_copy(&memory->stlb, &from->stlb);
    memory->prefetch = from->prefetch;
    memory->last_page = from->last_page;
    memcpy(memory->l1d_pending, from->l1d_pending, l1d_slots * sizeof(*memory->l1d_pending));
    memset(memory->l1d_clean, memory->sharer && !memory->sharing,
           l1d_slots * sizeof(*memory->l1d_clean));
    memset(memory->l2_pending, 0, td_cache_slots(&memory->l2) * sizeof(*memory->l2_pending));
    /* Who else uses its lines was not told meanwhile. */
    if (memory->sharing)
        watch_all(memory);
}

static void watch(struct td_memory *memory, uint64_t line)
{
    const uint32_t slot =
        td_cache_holds(&memory->l1d, line) ? td_cache_find(&memory->l1d, line) : TD_CACHE_MISS;

    if (slot != TD_CACHE_MISS)
        memory->l1d_pending[slot] |= TD_PENDING_WATCHED;
}

void td_memory_follow_others(struct td_memory *memory, int64_t cycle)
{
    uint64_t line = 0;

    /* What is always in L1 is never with others. */
    if (memory->desc->perfect & TD_PERFECT_L1)
        return;
    if (!memory->sharing && td_sharer_has_others(memory->sharer)) {
        memory->sharing = true;
        watch_all(memory);
    }
    if (!memory->sharing)
        return;
    td_sharer_tell_clock(memory->sharer, cycle);
    while (td_sharer_next_news(memory->sharer, &line)) {
        if (line == UINT64_MAX)
            watch_all(memory);
        else
            watch(memory, line);
    }
}

void td_memory_keep_company(struct td_memory *memory, int64_t cycle)
{
    struct td_company *company = &memory->llc->company;

    td_company_work(company, (uint64_t)(cycle - memory->told), memory->ticks);
    td_llc_let_company_in(memory->llc);
    memory->told = cycle;
    memory->ticks = 0;
    memory->line = atomic_load_explicit(&company->line, memory_order_relaxed);
    memory->write = atomic_load_explicit(&company->write, memory_order_relaxed);
}

struct td_share_answer td_memory_share(struct td_memory *memory,
                                       const struct td_share_access *access, int64_t t)
{
    struct td_share_access counted = *access;

    memory->watched = false;
    if (!memory->sharing)
        return (struct td_share_answer){.ready = t};
    counted.counts = !memory->uncounted;
    const struct td_share_answer answer = td_sharer_access(memory->sharer, &counted, t);
    const uint32_t slot = td_cache_find(&memory->l1d, access->address >> TD_LINE_BITS);
    if (slot == TD_CACHE_MISS)
        return answer;
    int64_t *pending = &memory->l1d_pending[slot];
    if (answer.late)
        *pending = TD_PENDING(answer.ready, TD_LEVEL_SHARED, 0);
    *pending =
        (*pending & ~TD_PENDING_WATCHED) | (answer.watched ? TD_PENDING_WATCHED : INT64_C(0));
    memory->l1d_clean[slot] = !answer.watched && !answer.written;
    return answer;
}
