/* SPDX-License-Identifier: MIT */
#include "report/query/by.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/merge.h"

static const char *const names[TD_BY_COUNT] = {"host", "rank", "process"};

const char *td_by_name(enum td_by by)
{
    return names[by];
}

enum td_by td_by_of_name(const char *name)
{
    for (int by = 0; by < TD_BY_COUNT; by++) {
        if (strcmp(names[by], name) == 0)
            return (enum td_by)by;
    }
    return TD_BY_COUNT;
}

/* What a (function, part) has taken. */
struct cell {
    uint32_t row, part;
    uint64_t value;
};

struct builder {
    const struct td_measure *measure;
    enum td_by by;
    bool no_inline;
    struct td_by_table *table;
    struct td_intern *part_names; /* ids are 1 + the part's number */
    uint32_t *part_of_thread;     /* TD_NONE: not yet known */
    struct td_map rows, cells;
    size_t rows_cap, parts_cap;
    struct cell *cell_list;
    size_t cell_count, cell_cap;
};

/* The field of the thread's origin, or of the recording when it is no merge. */
static void describe(const struct builder *b, uint32_t thread, char *text, size_t size)
{
    const struct td_model *const model = b->measure->model;
    const struct td_thread *const t = td_model_thread(model, thread);
    const char *const origin = td_model_string(model, t->origin);
    const enum td_env_key key = b->by == TD_BY_RANK ? TD_ENV_RANK : TD_ENV_HOST;
    const char *const field = b->by == TD_BY_RANK ? "rank" : "host";
    const char *const otherwise = td_model_env(model, key);
    char value[256] = "";

    if (!td_merge_field(origin, field, value, sizeof(value)) && !origin[0] && otherwise)
        snprintf(value, sizeof(value), "%s", otherwise);
    if (b->by != TD_BY_PROCESS)
        snprintf(text, size, "%s", value[0] ? value : "[unknown]");
    else
        snprintf(text, size, "%s %" PRId32 "%s%s", td_model_string(model, t->process),
                 td_task_id(t->pid), value[0] ? "@" : "", value);
}

static uint32_t part_of(struct builder *b, uint32_t thread)
{
    uint32_t *const part = &b->part_of_thread[thread];
    char text[512];

    if (*part != TD_NONE)
        return *part;
    describe(b, thread, text, sizeof(text));
    *part = td_intern_put(b->part_names, text, strlen(text)) - 1;
    if (*part == b->table->part_count) {
        b->table->parts = td_grow(b->table->parts, &b->parts_cap, b->table->part_count + 1,
                                  sizeof(*b->table->parts));
        b->table->parts[b->table->part_count++] = (struct td_by_part){.name = td_xstrdup(text)};
    }
    return *part;
}

static uint32_t row_of(struct builder *b, uint32_t node)
{
    const uint32_t location = td_model_node(b->measure->model, node)->location;
    const struct td_frame frame = td_frame_leaf(b->measure->model, location, b->no_inline);
    const bool named = frame.function != TD_NONE;
    bool added = false;
    const uint32_t row = *td_map_put(&b->rows, named, named ? frame.function : frame.module,
                                     (uint32_t)b->table->row_count, &added);

    if (added) {
        b->table->rows =
            td_grow(b->table->rows, &b->rows_cap, b->table->row_count + 1, sizeof(*b->table->rows));
        b->table->rows[b->table->row_count++] = (struct td_by_row){.frame = frame};
    }
    return row;
}

static void add_value(struct builder *b, uint32_t row, uint32_t part, uint64_t value)
{
    bool added = false;
    const uint32_t cell = *td_map_put(&b->cells, row, part, (uint32_t)b->cell_count, &added);

    if (added) {
        b->cell_list =
            td_grow(b->cell_list, &b->cell_cap, b->cell_count + 1, sizeof(*b->cell_list));
        b->cell_list[b->cell_count++] = (struct cell){.row = row, .part = part};
    }
    b->cell_list[cell].value += value;
    b->table->parts[part].value += value;
}

/* Counts of parts seen, so that those that never came count as 0. */
static void spread_add(struct td_spread *spread, uint64_t value, bool first)
{
    spread->total += value;
    spread->min = first || value < spread->min ? value : spread->min;
    spread->max = value > spread->max ? value : spread->max;
}

static void spread_finish(struct td_spread *spread, size_t seen, size_t parts)
{
    if (seen < parts)
        spread->min = 0;
    spread->mean = parts > 0 ? (double)spread->total / (double)parts : 0;
    spread->imbalance = spread->mean > 0 ? (double)spread->max / spread->mean - 1 : 0;
}

static void finish_spreads(struct builder *b)
{
    struct td_by_table *const table = b->table;
    size_t *const seen = td_xcalloc(table->row_count + 1, sizeof(*seen));

    for (size_t p = 0; p < table->part_count; p++)
        spread_add(&table->whole, table->parts[p].value, p == 0);
    spread_finish(&table->whole, table->part_count, table->part_count);
    for (size_t i = 0; i < b->cell_count; i++) {
        const struct cell *const cell = &b->cell_list[i];

        spread_add(&table->rows[cell->row].spread, cell->value, seen[cell->row]++ == 0);
    }
    for (size_t r = 0; r < table->row_count; r++)
        spread_finish(&table->rows[r].spread, seen[r], table->part_count);
    free(seen);
}

static int compare_parts(const void *a, const void *b)
{
    const struct td_by_part *const x = a;
    const struct td_by_part *const y = b;
    uint64_t m = 0;
    uint64_t n = 0;

    if (td_parse_u64(x->name, &m) && td_parse_u64(y->name, &n) && m != n)
        return m < n ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int compare_rows(const void *a, const void *b)
{
    const struct td_by_row *const x = a;
    const struct td_by_row *const y = b;

    if (x->spread.total != y->spread.total)
        return x->spread.total > y->spread.total ? -1 : 1;
    if (x->frame.function != y->frame.function)
        return x->frame.function < y->frame.function ? -1 : 1;
    return (x->frame.module > y->frame.module) - (x->frame.module < y->frame.module);
}

void td_by_init(struct td_by_table *table, const struct td_measure *measure, enum td_by by,
                bool no_inline)
{
    struct builder b = {.measure = measure, .by = by, .no_inline = no_inline, .table = table};
    const uint32_t threads = td_model_thread_count(measure->model);

    *table = (struct td_by_table){.metric = td_measure_primary(measure)};
    b.part_names = td_intern_new();
    b.part_of_thread = td_xcalloc((size_t)threads + 1, sizeof(uint32_t));
    memset(b.part_of_thread, 0xff, threads * sizeof(uint32_t));
    for (size_t i = 0; i < measure->row_count; i++) {
        const struct td_measure_row *const row = &measure->rows[i];
        const uint64_t value =
            measure->values[table->metric] ? measure->values[table->metric][i] : 0;

        if (value > 0)
            add_value(&b, row_of(&b, row->node), part_of(&b, row->thread), value);
    }
    finish_spreads(&b);
    if (table->part_count > 0)
        qsort(table->parts, table->part_count, sizeof(*table->parts), compare_parts);
    if (table->row_count > 0)
        qsort(table->rows, table->row_count, sizeof(*table->rows), compare_rows);
    td_intern_free(b.part_names);
    td_map_release(&b.rows);
    td_map_release(&b.cells);
    free(b.part_of_thread);
    free(b.cell_list);
}

void td_by_release(struct td_by_table *table)
{
    for (size_t p = 0; p < table->part_count; p++)
        free(table->parts[p].name);
    free(table->parts);
    free(table->rows);
    *table = (struct td_by_table){0};
}
