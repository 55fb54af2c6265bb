/* SPDX-License-Identifier: MIT */
#include "record/sim/share/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/cores/variant.h"
#include "formats/sums.h"

_Static_assert(TD_SIM_COLUMN_COUNT < 60, "a tally's columns are told by a mask");

/* An item begins with one of these, or with a tally's mask of columns and this behind them. */
enum { END_OF_TASK, DESCRIBED_PATH, NEXT_PATH, ITEM_COUNT };
#define FIRST_MASK ((uint64_t)ITEM_COUNT)
#define REPLICATES (FIRST_MASK + (UINT64_C(1) << TD_SIM_COLUMN_COUNT)) /* more than any mask */

#define REGION (REPLICATES + 1)
#define CODE   (REPLICATES + 2)
#define SHARED (REPLICATES + 4)
#define HABIT  (REPLICATES + 3)
#define INSIDE (REPLICATES + 5) /* the tallies that follow are of a region */

/* No image runs for so many slots; what is less adds up to what a profile may hold. */
#define REPLICATE_MAX (INT64_C(1) << 56)
#define SHARED_MAX    (UINT64_C(1) << 56)

static uint8_t *put_uleb(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

void td_snapshot_put_path(struct td_snapshot_writer *writer, const struct td_snapshot_path *path)
{
    td_buf_uleb(&writer->body, DESCRIBED_PATH);
    td_buf_uleb(&writer->body, path->id);
    td_buf_uleb(&writer->body, path->parent);
    td_buf_zigzag(&writer->body, (int64_t)(path->call - writer->call));
    writer->call = path->call;
}

void td_snapshot_put_tally(struct td_snapshot_writer *writer, uint32_t region, uint32_t path,
                           uint64_t pc, const uint64_t values[TD_SIM_COLUMN_COUNT])
{
    if (region != writer->region) {
        td_buf_uleb(&writer->body, INSIDE);
        td_buf_uleb(&writer->body, region - writer->region);
        writer->region = region;
        writer->path = 0;
    }
    uint8_t *at = td_buf_reserve(&writer->body, (size_t)TD_LEB_MAX * (4 + TD_SIM_COLUMN_COUNT));
    uint8_t *const begin = at;
    const uint64_t step = pc - writer->pc;
    uint64_t mask = 0;

    if (path != writer->path) {
        at = put_uleb(at, NEXT_PATH);
        at = put_uleb(at, path - writer->path);
        writer->path = path;
    }
    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++)
        mask |= (uint64_t)(values[c] != 0) << c;
    at = put_uleb(at, mask + FIRST_MASK);
    at = put_uleb(at, step << 1 ^ (step >> 63 ? UINT64_MAX : 0));
    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++) {
        if (values[c])
            at = put_uleb(at, values[c]);
    }
    writer->pc = pc;
    writer->body.len += (size_t)(at - begin);
}

void td_snapshot_put_replicates(struct td_snapshot_writer *writer,
                                const struct td_snapshot_replicates *replicates)
{
    td_buf_uleb(&writer->body, REPLICATES);
    td_buf_uleb(&writer->body, replicates->region);
    td_buf_uleb(&writer->body, replicates->column);
    td_buf_zigzag(&writer->body, (int64_t)(replicates->pc - writer->replicates_pc));
    for (int r = 0; r < TD_REPLICATES; r++)
        td_buf_zigzag(&writer->body, replicates->values[r]);
    writer->replicates_pc = replicates->pc;
}

void td_snapshot_put_region(struct td_snapshot_writer *writer,
                            const struct td_snapshot_region *region)
{
    const struct td_region_row *row = &region->row;
    const uint64_t numbers[] = {row->begun, row->ended, row->timed,      row->sum,
                                row->min,   row->max,   row->squares[0], row->squares[1],
                                row->whole, row->seen};

    td_buf_uleb(&writer->body, REGION);
    td_buf_uleb(&writer->body, region->parent + 1); /* TD_NONE is all ones */
    td_buf_string(&writer->body, region->name, region->name_len);
    for (size_t i = 0; i < TD_ARRAY_SIZE(numbers); i++)
        td_buf_uleb(&writer->body, numbers[i]);
    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++)
        td_buf_uleb(&writer->body, region->values[c]);
}

void td_snapshot_copy_code(struct td_snapshot_writer *writer, const struct td_snapshot_code *code)
{
    td_buf_uleb(&writer->body, CODE);
    td_buf_zigzag(&writer->body, (int64_t)(code->place - writer->code_place));
    td_buf_string(&writer->body, (const char *)code->bytes, code->size);
    writer->code_place = code->place;
}

void td_snapshot_put_code(struct td_snapshot_writer *writer, const struct td_ran_block *block)
{
    struct td_buf bytes = {0};

    td_ran_put(&bytes, block);
    const struct td_snapshot_code code = {
        .place = block->offset, .bytes = bytes.data, .size = bytes.len};
    td_snapshot_copy_code(writer, &code);
    td_buf_release(&bytes);
}

static void put_side(struct td_buf *buf, const struct td_snapshot_side *side)
{
    td_buf_uleb(buf, side->task + 1); /* TD_NONE is all ones */
    td_buf_uleb(buf, side->store);
    td_buf_uleb(buf, side->pc);
}

void td_snapshot_put_shared(struct td_snapshot_writer *writer,
                            const struct td_snapshot_shared *shared)
{
    td_buf_uleb(&writer->body, SHARED);
    td_buf_uleb(&writer->body, shared->address);
    td_buf_uleb(&writer->body, shared->area);
    td_buf_uleb(&writer->body, shared->area == TD_SHARED_MODULE ? shared->module : 0);
    td_buf_uleb(&writer->body, shared->offset);
    put_side(&writer->body, &shared->mine);
    put_side(&writer->body, &shared->theirs);
    td_buf_uleb(&writer->body, shared->is_false);
    td_buf_uleb(&writer->body, shared->transfers);
    td_buf_uleb(&writer->body, shared->invalidations);
    td_buf_uleb(&writer->body, shared->cycles);
}

void td_snapshot_put_habit(struct td_snapshot_writer *writer, const struct td_habit *habit)
{
    td_buf_uleb(&writer->body, HABIT);
    td_buf_uleb(&writer->body, habit->offset);
    for (int i = 0; i < TD_HABIT_FIGURE_COUNT; i++)
        td_buf_uleb(&writer->body, habit->figures[i]);
    td_buf_uleb(&writer->body, habit->mark_count);
    for (uint32_t i = 0; i < habit->mark_count; i++) {
        const struct td_habit_mark *mark = &habit->marks[i];

        td_buf_uleb(&writer->body, mark->kind);
        td_buf_uleb(&writer->body, mark->module + 1U); /* TD_NONE is all ones */
        td_buf_zigzag(&writer->body, mark->key);
        td_buf_uleb(&writer->body, mark->count);
    }
}

void td_snapshot_end_task(struct td_snapshot_writer *writer)
{
    td_buf_uleb(&writer->body, END_OF_TASK);
    writer->region = writer->path = 0;
    writer->pc = writer->call = writer->replicates_pc = writer->code_place = 0;
}

static void put_text(struct td_buf *buf, const char *text)
{
    td_buf_string(buf, text ? text : "", text ? strlen(text) : 0);
}

void td_snapshot_put(struct td_buf *ret, const struct td_snapshot *snapshot,
                     struct td_snapshot_writer *writer)
{
    td_buf_uleb(ret, snapshot->pid);
    td_buf_uleb(ret, snapshot->warnings);
    td_buf_uleb(ret, snapshot->start_ns);
    put_text(ret, snapshot->process);
    td_buf_uleb(ret, snapshot->cycles);
    td_buf_uleb(ret, snapshot->instructions);
    td_buf_uleb(ret, snapshot->detailed);
    td_buf_uleb(ret, snapshot->cycles_error);
    for (size_t i = 0; i < TD_SIM_EVENT_COUNT; i++)
        td_buf_uleb(ret, snapshot->events[i]);
    for (size_t i = 0; i < TD_CPI_COUNTS; i++)
        td_buf_uleb(ret, snapshot->cpi[i]);
    td_buf_uleb(ret, snapshot->misuse.strays);
    td_buf_uleb(ret, snapshot->misuse.left_open);
    td_buf_uleb(ret, snapshot->module_count);
    for (uint32_t i = 0; i < snapshot->module_count; i++) {
        const struct td_snapshot_module *module = &snapshot->modules[i];

        put_text(ret, module->path);
        td_buf_string(ret, (const char *)module->build_id.bytes, module->build_id.size);
    }
    td_buf_uleb(ret, snapshot->task_count);
    for (uint32_t i = 0; i < snapshot->task_count; i++) {
        td_buf_uleb(ret, snapshot->tasks[i].tid);
        put_text(ret, snapshot->tasks[i].name);
        td_buf_uleb(ret, snapshot->tasks[i].variant);
    }
    td_buf_uleb(ret, snapshot->ranges.len);
    for (size_t i = 0; i < snapshot->ranges.len; i++) {
        const struct td_range *range = &snapshot->ranges.items[i];

        td_buf_uleb(ret, range->start);
        td_buf_uleb(ret, range->end - range->start);
        td_buf_uleb(ret, range->offset);
        td_buf_uleb(ret, range->value);
    }
    td_buf_bytes(ret, writer->body.data, writer->body.len);
    td_buf_release(&writer->body);
    *writer = (struct td_snapshot_writer){.path = 0};
}

static const char *get_text(struct td_snapshot_view *view)
{
    size_t len = 0;
    const char *text = td_rd_string(&view->items, &len);

    return td_arena_copy(&view->texts, text ? text : "", text ? len : 0);
}

/* A number of things of which each takes at least `least` bytes. */
static uint32_t get_count(struct td_snapshot_view *view, size_t least)
{
    return (uint32_t)td_rd_uleb_below(&view->items, td_rd_left(&view->items) / least + 1);
}

static void get_modules(struct td_snapshot_view *view)
{
    struct td_snapshot *snapshot = &view->snapshot;

    snapshot->module_count = get_count(view, 2);
    snapshot->modules = td_xcalloc((size_t)snapshot->module_count + 1, sizeof(*snapshot->modules));
    for (uint32_t i = 0; i < snapshot->module_count; i++) {
        struct td_snapshot_module *module = &snapshot->modules[i];
        size_t size = 0;
        const char *path = get_text(view), *id = td_rd_string(&view->items, &size);

        module->path = *path ? path : NULL;
        if (size > sizeof(module->build_id.bytes))
            td_rd_fail(&view->items);
        if (!td_rd_ok(&view->items))
            return;
        module->build_id.size = (uint8_t)size;
        memcpy(module->build_id.bytes, id, size);
    }
}

static void get_tasks(struct td_snapshot_view *view)
{
    struct td_snapshot *snapshot = &view->snapshot;

    snapshot->task_count = get_count(view, 3);
    snapshot->tasks = td_xcalloc((size_t)snapshot->task_count + 1, sizeof(*snapshot->tasks));
    for (uint32_t i = 0; i < snapshot->task_count; i++) {
        snapshot->tasks[i].tid = (uint32_t)td_rd_uleb_below(&view->items, UINT32_MAX);
        snapshot->tasks[i].name = get_text(view);
        snapshot->tasks[i].variant =
            (uint32_t)td_rd_uleb_below(&view->items, i > 0 ? TD_VARIANTS_MAX + 1 : 1);
    }
}

static void get_ranges(struct td_snapshot_view *view)
{
    const uint32_t count = get_count(view, 4);

    for (uint32_t i = 0; i < count && td_rd_ok(&view->items); i++) {
        struct td_range range = {.start = td_rd_uleb(&view->items)};
        const uint64_t size = td_rd_uleb(&view->items);

        range.offset = td_rd_uleb(&view->items);
        range.value = (uint32_t)td_rd_uleb_below(&view->items, view->snapshot.module_count);
        if (size > UINT64_MAX - range.start)
            td_rd_fail(&view->items);
        range.end = range.start + size;
        if (td_rd_ok(&view->items))
            td_range_set_put(&view->snapshot.ranges, &range);
    }
}

int td_snapshot_open(struct td_snapshot_view *view, const void *data, size_t size)
{
    struct td_snapshot *snapshot = &view->snapshot;

    *view = (struct td_snapshot_view){.items = td_rd_init(data, size, 0)};
    snapshot->pid = (uint32_t)td_rd_uleb_below(&view->items, UINT32_MAX);
    snapshot->warnings =
        (uint32_t)td_rd_uleb_below(&view->items, UINT64_C(1) << TD_SNAPSHOT_WARNING_COUNT);
    snapshot->start_ns = td_rd_uleb(&view->items);
    snapshot->process = get_text(view);
    snapshot->cycles = td_rd_uleb(&view->items);
    snapshot->instructions = td_rd_uleb(&view->items);
    snapshot->detailed = td_rd_uleb(&view->items);
    snapshot->cycles_error = td_rd_uleb(&view->items);
    for (size_t i = 0; i < TD_SIM_EVENT_COUNT; i++)
        snapshot->events[i] = td_rd_uleb(&view->items);
    for (size_t i = 0; i < TD_CPI_COUNTS; i++)
        snapshot->cpi[i] = td_rd_uleb(&view->items);
    snapshot->misuse.strays = td_rd_uleb(&view->items);
    snapshot->misuse.left_open = td_rd_uleb(&view->items);
    get_modules(view);
    get_tasks(view);
    get_ranges(view);
    if (td_rd_ok(&view->items))
        return TD_OK;
    td_snapshot_close(view);
    return TD_EFORMAT;
}

void td_snapshot_close(struct td_snapshot_view *view)
{
    free(view->snapshot.modules);
    free(view->snapshot.tasks);
    td_range_set_release(&view->snapshot.ranges);
    td_arena_release(&view->texts);
    *view = (struct td_snapshot_view){.items = {0}};
}

struct td_snapshot_walk td_snapshot_walk(const struct td_snapshot_view *view)
{
    return (struct td_snapshot_walk){.rd = view->items,
                                     .task_count = view->snapshot.task_count,
                                     .module_count = view->snapshot.module_count};
}

/* As td_rd_uleb, inlined: a walk is little else. */
static inline uint64_t get_uleb(struct td_rd *rd)
{
    const uint8_t *at = rd->data + rd->pos;
    uint64_t value = 0;

    if (rd->bad || rd->size - rd->pos < TD_LEB_MAX)
        return td_rd_uleb(rd);
    value = *at & 0x7f;
    for (unsigned shift = 7; *at++ & 0x80 && shift < 64; shift += 7)
        value |= (uint64_t)(*at & 0x7f) << shift;
    rd->pos = (size_t)(at - rd->data);
    return value;
}

static enum td_snapshot_item get_path(struct td_snapshot_walk *walk)
{
    struct td_snapshot_path *path = &walk->path;

    path->id = (uint32_t)td_rd_uleb_below(&walk->rd, TD_SNAPSHOT_PATHS_MAX);
    path->parent = (uint32_t)td_rd_uleb_below(&walk->rd, path->id);
    walk->call += (uint64_t)td_rd_zigzag(&walk->rd);
    path->call = walk->call;
    return td_rd_ok(&walk->rd) ? TD_SNAPSHOT_PATH : TD_SNAPSHOT_END;
}

static void go_to_path(struct td_snapshot_walk *walk)
{
    const uint64_t step = td_rd_uleb_below(&walk->rd, TD_SNAPSHOT_PATHS_MAX - walk->tally.path);

    if (step == 0)
        td_rd_fail(&walk->rd);
    walk->tally.path += (uint32_t)step;
    walk->on_path = false;
}

static void go_to_region(struct td_snapshot_walk *walk)
{
    const uint64_t step =
        td_rd_uleb_below(&walk->rd, (uint64_t)walk->region_count + 1 - walk->tally.region);

    if (step == 0)
        td_rd_fail(&walk->rd);
    walk->tally.region += (uint32_t)step;
    walk->tally.path = 0;
    walk->on_path = false;
}

static enum td_snapshot_item get_tally(struct td_snapshot_walk *walk, uint64_t mask)
{
    const uint64_t step = get_uleb(&walk->rd);
    const uint64_t pc = walk->tally.pc + ((step >> 1) ^ (step & 1 ? UINT64_MAX : 0));
    uint64_t *values = walk->tally.values;

    if (mask >> TD_SIM_COLUMN_COUNT || (walk->on_path && pc <= walk->tally.pc))
        td_rd_fail(&walk->rd);
    if (!td_rd_ok(&walk->rd))
        return TD_SNAPSHOT_END;
    for (uint64_t gone = walk->mask & ~mask; gone; gone &= gone - 1)
        values[__builtin_ctzll(gone)] = 0;
    for (uint64_t left = mask; left; left &= left - 1)
        values[__builtin_ctzll(left)] = get_uleb(&walk->rd);
    walk->mask = mask;
    walk->tally.pc = pc;
    walk->on_path = true;
    return td_rd_ok(&walk->rd) ? TD_SNAPSHOT_TALLY : TD_SNAPSHOT_END;
}

static enum td_snapshot_item get_replicates(struct td_snapshot_walk *walk)
{
    struct td_snapshot_replicates *replicates = &walk->replicates;

    replicates->task = walk->tally.task;
    replicates->region = (uint32_t)td_rd_uleb_below(&walk->rd, (uint64_t)walk->region_count + 1);
    replicates->column = (uint32_t)td_rd_uleb_below(&walk->rd, TD_SIM_COLUMN_COUNT);
    replicates->pc += (uint64_t)td_rd_zigzag(&walk->rd);
    for (int r = 0; r < TD_REPLICATES; r++) {
        replicates->values[r] = td_rd_zigzag(&walk->rd);
        if (replicates->values[r] <= -REPLICATE_MAX || replicates->values[r] >= REPLICATE_MAX)
            td_rd_fail(&walk->rd);
    }
    return td_rd_ok(&walk->rd) ? TD_SNAPSHOT_REPLICATES : TD_SNAPSHOT_END;
}

static enum td_snapshot_item get_region(struct td_snapshot_walk *walk)
{
    struct td_snapshot_region *region = &walk->region;
    struct td_region_row *row = &region->row;

    region->task = walk->tally.task;
    region->parent = (uint32_t)td_rd_uleb_below(&walk->rd, (uint64_t)walk->region_count + 1) - 1;
    region->name = td_rd_string(&walk->rd, &region->name_len);
    row->begun = td_rd_uleb(&walk->rd);
    row->ended = td_rd_uleb(&walk->rd);
    row->timed = td_rd_uleb(&walk->rd);
    row->sum = td_rd_uleb(&walk->rd);
    row->min = td_rd_uleb(&walk->rd);
    row->max = td_rd_uleb(&walk->rd);
    row->squares[0] = td_rd_uleb(&walk->rd);
    row->squares[1] = td_rd_uleb(&walk->rd);
    row->whole = td_rd_uleb(&walk->rd);
    row->seen = td_rd_uleb(&walk->rd);
    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++) {
        region->values[c] = td_rd_uleb(&walk->rd);
        if (region->values[c] >= TD_SUM_MAX)
            td_rd_fail(&walk->rd);
    }
    if (walk->region_count >= TD_SNAPSHOT_REGIONS_MAX || !td_region_row_is_right(row))
        td_rd_fail(&walk->rd);
    const uint32_t depth = region->parent == TD_REGION_NONE || !td_rd_ok(&walk->rd)
                               ? 0
                               : walk->region_depths[region->parent] + 1U;
    if (depth > TD_REGION_DEPTH_MAX)
        td_rd_fail(&walk->rd);
    if (!td_rd_ok(&walk->rd))
        return TD_SNAPSHOT_END;
    walk->region_depths[walk->region_count++] = (uint8_t)depth;
    return TD_SNAPSHOT_REGION;
}

static enum td_snapshot_item get_code(struct td_snapshot_walk *walk)
{
    struct td_snapshot_code *code = &walk->code;

    code->place += (uint64_t)td_rd_zigzag(&walk->rd);
    code->bytes = (const uint8_t *)td_rd_string(&walk->rd, &code->size);
    return td_rd_ok(&walk->rd) ? TD_SNAPSHOT_CODE : TD_SNAPSHOT_END;
}

static void get_side(struct td_snapshot_walk *walk, struct td_snapshot_side *side)
{
    side->task = (uint32_t)td_rd_uleb_below(&walk->rd, (uint64_t)walk->task_count + 1) - 1;
    side->store = td_rd_uleb_below(&walk->rd, 2);
    side->pc = td_rd_uleb(&walk->rd);
}

static enum td_snapshot_item get_shared(struct td_snapshot_walk *walk)
{
    struct td_snapshot_shared *shared = &walk->shared;

    shared->address = td_rd_uleb(&walk->rd);
    shared->area = (uint32_t)td_rd_uleb_below(&walk->rd, TD_SHARED_AREA_COUNT);
    shared->module = (uint32_t)td_rd_uleb_below(&walk->rd, UINT32_MAX);
    shared->offset = td_rd_uleb(&walk->rd);
    get_side(walk, &shared->mine);
    get_side(walk, &shared->theirs);
    shared->is_false = td_rd_uleb_below(&walk->rd, 2);
    shared->transfers = td_rd_uleb_below(&walk->rd, SHARED_MAX);
    shared->invalidations = td_rd_uleb_below(&walk->rd, SHARED_MAX);
    shared->cycles = td_rd_uleb_below(&walk->rd, SHARED_MAX);
    if (shared->address % 64 != 0 ||
        (shared->area == TD_SHARED_MODULE && shared->module >= walk->module_count))
        td_rd_fail(&walk->rd);
    return td_rd_ok(&walk->rd) ? TD_SNAPSHOT_SHARED : TD_SNAPSHOT_END;
}

static enum td_snapshot_item get_habit(struct td_snapshot_walk *walk)
{
    struct td_habit *habit = &walk->habit;

    *habit = (struct td_habit){.offset = td_rd_uleb(&walk->rd)};
    for (int i = 0; i < TD_HABIT_FIGURE_COUNT; i++)
        habit->figures[i] = td_rd_uleb(&walk->rd);
    const uint32_t marks = (uint32_t)td_rd_uleb_below(&walk->rd, TD_HABIT_MARKS_MAX + 1);
    for (uint32_t i = 0; i < marks && td_rd_ok(&walk->rd); i++) {
        struct td_habit_mark mark;

        mark.kind = (uint32_t)td_rd_uleb_below(&walk->rd, TD_HABIT_MARK_COUNT);
        mark.module = (uint32_t)td_rd_uleb_below(&walk->rd, 2) - 1;
        mark.key = td_rd_zigzag(&walk->rd);
        mark.count = td_rd_uleb(&walk->rd);
        td_habit_mark(habit, &mark);
    }
    if (!td_habit_is_right(habit))
        td_rd_fail(&walk->rd);
    return td_rd_ok(&walk->rd) ? TD_SNAPSHOT_HABIT : TD_SNAPSHOT_END;
}

static void end_task(struct td_snapshot_walk *walk)
{
    walk->replicates.pc = walk->code.place = 0;
    walk->tally.task++;
    walk->tally.region = walk->tally.path = 0;
    walk->tally.pc = walk->call = 0;
    walk->on_path = false;
    walk->region_count = 0;
}

enum td_snapshot_item td_snapshot_next(struct td_snapshot_walk *walk)
{
    while (walk->tally.task < walk->task_count) {
        const uint64_t item = get_uleb(&walk->rd);

        if (!td_rd_ok(&walk->rd))
            return TD_SNAPSHOT_END;
        if (item == DESCRIBED_PATH)
            return get_path(walk);
        if (item == REPLICATES)
            return get_replicates(walk);
        if (item == REGION)
            return get_region(walk);
        if (item == CODE)
            return get_code(walk);
        if (item == SHARED)
            return get_shared(walk);
        if (item == HABIT)
            return get_habit(walk);
        if (item >= FIRST_MASK && item != INSIDE)
            return get_tally(walk, item - FIRST_MASK);
        if (item == INSIDE)
            go_to_region(walk);
        else if (item == NEXT_PATH)
            go_to_path(walk);
        else
            end_task(walk);
    }
    return TD_SNAPSHOT_END;
}
