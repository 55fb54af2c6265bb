/* SPDX-License-Identifier: MIT */
#include "record/run/region_cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "formats/sums.h"

__extension__ typedef unsigned __int128 wide;

/* The kernel's own shift is below 32 (clocks_calc_mult_shift). */
#define SHIFT_MAX 63

struct reading {
    struct td_marked *marked;
    uint32_t *index; /* by cell: of its thread or region; TD_REGION_NONE */
    uint32_t *kinds; /* by cell */
};

void td_marked_release(struct td_marked *marked)
{
    free(marked->threads);
    free(marked->regions);
    *marked = (struct td_marked){.threads = NULL};
}

static void read_text(struct td_rd *rd, char *text, size_t size)
{
    const uint8_t *bytes = td_rd_bytes(rd, size);

    if (bytes)
        memcpy(text, bytes, size);
    text[size] = '\0';
}

static void read_thread(struct reading *r, uint32_t cell, struct td_rd *rd)
{
    struct td_marked *m = r->marked;
    struct td_marked_thread thread = {.kind = td_rd_u32(rd), .error = td_rd_u32(rd)};

    thread.pid = td_rd_u32(rd);
    thread.tid = td_rd_u32(rd);
    thread.time_mult = td_rd_u32(rd);
    thread.time_shift = td_rd_u32(rd);
    thread.strays = td_rd_u64(rd) % TD_SUM_MAX;
    thread.left_open = td_rd_u64(rd) % TD_SUM_MAX;
    thread.lost = td_rd_u64(rd) % TD_SUM_MAX;
    thread.user_only = td_rd_u32(rd) != 0;
    td_rd_u32(rd); /* ended */
    read_text(rd, thread.name, sizeof(thread.name) - 1);
    if (thread.time_shift > SHIFT_MAX || thread.kind < TDPROF_KIND_TIME ||
        thread.kind > TDPROF_KIND_USER) {
        m->bad++;
        return;
    }
    m->threads = td_grow(m->threads, &m->thread_cap, m->thread_count + 1, sizeof(*m->threads));
    r->index[cell] = (uint32_t)m->thread_count;
    m->threads[m->thread_count++] = thread;
}

static uint64_t ns_of(const struct td_marked_thread *thread, uint64_t ticks)
{
    const wide ns = (wide)ticks * thread->time_mult >> thread->time_shift;

    return ns < TD_SUM_MAX ? (uint64_t)ns : 0;
}

/* What is added up over many calls is read while the program may write it: the parts may be of
 * different moments. What cannot be is not known, then. */
static void make_right(struct td_region_row *row)
{
    if (row->begun >= TD_SUM_MAX)
        row->begun = 0;
    if (row->ended > row->begun)
        row->ended = row->begun;
    if (row->timed > row->ended)
        row->timed = row->ended;
    if (row->seen > row->whole)
        row->seen = row->whole;
    if (!td_region_row_is_right(row))
        row->timed = row->sum = row->min = row->max = row->squares[0] = row->squares[1] = 0;
}

/* Squares of ticks in squares of ns. */
static void set_squares(struct td_region_row *row, const struct td_marked_thread *thread,
                        const uint64_t squares[2])
{
    const double factor = (double)thread->time_mult / (double)(UINT64_C(1) << thread->time_shift);
    const double ns2 = ((double)squares[1] * 0x1p64 + (double)squares[0]) * factor * factor;
    const wide whole = ns2 < 0x1p126 ? (wide)ns2 : 0;

    row->squares[0] = (uint64_t)whole;
    row->squares[1] = (uint64_t)(whole >> 64);
    if (thread->time_mult == 1 && thread->time_shift == 0)
        memcpy(row->squares, squares, sizeof(row->squares));
}

static void read_row(struct td_region_row *row, const struct td_marked_thread *thread,
                     struct td_rd *rd)
{
    uint64_t squares[2];

    row->unit = TD_UNIT_NS;
    row->begun = td_rd_u64(rd);
    row->ended = td_rd_u64(rd);
    row->timed = td_rd_u64(rd);
    row->sum = ns_of(thread, td_rd_u64(rd));
    row->min = ns_of(thread, td_rd_u64(rd));
    row->max = ns_of(thread, td_rd_u64(rd));
    for (int i = 0; i < 2; i++)
        squares[i] = td_rd_u64(rd);
    set_squares(row, thread, squares);
    const uint64_t on = ns_of(thread, td_rd_u64(rd));
    row->whole = td_rd_u64(rd) % TD_SUM_MAX + on;
    row->seen = td_rd_u64(rd) % TD_SUM_MAX + on;
    if (row->whole >= TD_SUM_MAX || row->seen >= TD_SUM_MAX)
        row->whole = row->seen = 0;
    make_right(row);
}

/* The cell that the number names, which stands before this one and is of the kind. */
static uint32_t refer(const struct reading *r, uint32_t cell, uint32_t to, uint32_t kind)
{
    return to < cell && r->kinds[to] == kind ? r->index[to] : TD_REGION_NONE;
}

static void read_region(struct reading *r, uint32_t cell, struct td_rd *rd)
{
    struct td_marked *m = r->marked;
    struct td_marked_region region = {.thread = refer(r, cell, td_rd_u32(rd), TDPROF_CELL_THREAD)};
    const uint32_t parent = td_rd_u32(rd);

    region.parent = refer(r, cell, parent, TDPROF_CELL_REGION);
    const struct td_marked_region *above =
        region.parent == TD_REGION_NONE ? NULL : &m->regions[region.parent];
    region.depth = above ? above->depth + 1 : 0;
    if (region.thread == TD_REGION_NONE || (!above && parent != TDPROF_NONE) ||
        (above && above->thread != region.thread) || region.depth > TD_REGION_DEPTH_MAX) {
        m->bad++;
        return;
    }
    read_row(&region.row, &m->threads[region.thread], rd);
    for (int e = 0; e < TDPROF_EVENTS_MAX; e++) {
        const uint64_t value = td_rd_u64(rd);

        /* Differences of PERF_METRICS may be a little below 0. */
        region.values[e] = value < TD_SUM_MAX ? value : 0;
    }
    read_text(rd, region.name, TDPROF_NAME_MAX);
    m->regions = td_grow(m->regions, &m->region_cap, m->region_count + 1, sizeof(*m->regions));
    r->index[cell] = (uint32_t)m->region_count;
    m->regions[m->region_count++] = region;
}

/* A region has what is in it, and stands before it. */
static void add_to_parents(struct td_marked *m)
{
    for (size_t i = m->region_count; i-- > 0;) {
        const struct td_marked_region *region = &m->regions[i];

        if (region->parent == TD_REGION_NONE)
            continue;
        struct td_marked_region *parent = &m->regions[region->parent];
        parent->row.whole += region->row.whole;
        parent->row.seen += region->row.seen;
        for (int e = 0; e < TDPROF_EVENTS_MAX; e++) {
            parent->values[e] += region->values[e];
            if (parent->values[e] >= TD_SUM_MAX)
                parent->values[e] = 0;
        }
        if (parent->row.whole >= TD_SUM_MAX)
            parent->row.whole = parent->row.seen = 0;
    }
}

void td_marked_read(struct td_marked *ret, const void *cells, size_t size)
{
    const uint32_t count = (uint32_t)(size / sizeof(struct tdprof1_cell));
    struct reading r = {.marked = ret,
                        .index = td_xcalloc((size_t)count + 1, sizeof(*r.index)),
                        .kinds = td_xcalloc((size_t)count + 1, sizeof(*r.kinds))};

    *ret = (struct td_marked){.threads = NULL};
    for (uint32_t cell = 0; cell < count; cell++) {
        const size_t at = (size_t)cell * sizeof(struct tdprof1_cell);
        struct td_rd rd = td_rd_init((const uint8_t *)cells + at, sizeof(struct tdprof1_cell), at);

        r.index[cell] = TD_REGION_NONE;
        r.kinds[cell] = td_rd_u32(&rd);
        td_rd_u32(&rd);
        if (r.kinds[cell] == TDPROF_CELL_THREAD)
            read_thread(&r, cell, &rd);
        else if (r.kinds[cell] == TDPROF_CELL_REGION)
            read_region(&r, cell, &rd);
        else if (r.kinds[cell] != TDPROF_CELL_FREE)
            ret->bad++;
    }
    add_to_parents(ret);
    free(r.index);
    free(r.kinds);
}
