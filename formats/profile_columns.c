/* SPDX-License-Identifier: MIT */
#include "formats/profile_columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/model.h"

/* The signed distance between two unsigned numbers, modulo 2^64. */
static int64_t distance(uint64_t to, uint64_t from)
{
    return (int64_t)(to - from);
}

void td_columns_put_nodes(struct td_chunk_body *body, uint32_t first,
                          const struct td_node_row *rows, uint32_t count)
{
    struct td_buf *raw = &body->raw;
    uint64_t last_module = 0, last_offset = 0;

    for (uint32_t i = 0; i < count; i++)
        td_buf_uleb(raw, rows[i].parent == 0 ? 0 : first + i - rows[i].parent);
    td_chunk_body_cut(body);
    for (uint32_t i = 0; i < count; i++) {
        td_buf_zigzag(raw, distance(rows[i].module, last_module));
        last_module = rows[i].module;
    }
    td_chunk_body_cut(body);
    for (uint32_t i = 0; i < count; i++) {
        td_buf_zigzag(raw, distance(rows[i].offset, last_offset));
        last_offset = rows[i].offset;
    }
    td_chunk_body_cut(body);
}

void td_columns_get_nodes(struct td_rd *rd, uint32_t first, struct td_node_row *rows,
                          uint32_t count)
{
    uint64_t module = 0, offset = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint64_t up = td_rd_uleb_below(rd, first + i);

        rows[i].parent = up == 0 ? 0 : first + i - (uint32_t)up;
    }
    for (uint32_t i = 0; i < count; i++) {
        module += (uint64_t)td_rd_zigzag(rd);
        if (module > UINT32_MAX)
            td_rd_fail(rd);
        rows[i].module = (uint32_t)module;
    }
    for (uint32_t i = 0; i < count; i++) {
        offset += (uint64_t)td_rd_zigzag(rd);
        rows[i].offset = offset;
    }
}

/* Columns of values: one of all runs' first values would mix groups, so each run has its own. */
enum column_code {
    COLUMN_CONSTANT = 0, /* one number for all rows */
    COLUMN_PLAIN = 1,    /* a number a row */
    COLUMN_DELTA = 2,    /* the signed distance from the row before, a row */
};

static unsigned leb_size(uint64_t value)
{
    return value < 0x80 ? 1 : (unsigned)(63 - __builtin_clzll(value)) / 7 + 1;
}

static uint64_t zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

static enum column_code choose_code(const struct td_value_run *run, uint32_t column)
{
    const uint64_t *values = run->values + column;
    uint64_t plain = 0, delta = 0, last = 0;
    bool constant = true;

    for (uint32_t i = 0; i < run->count; i++, values += run->columns) {
        constant = constant && *values == run->values[column];
        plain += leb_size(*values);
        delta += leb_size(zigzag(distance(*values, last)));
        last = *values;
    }
    if (constant)
        return COLUMN_CONSTANT;
    return delta < plain ? COLUMN_DELTA : COLUMN_PLAIN;
}

static void put_value_column(struct td_buf *raw, const struct td_value_run *run, uint32_t column)
{
    const enum column_code code = choose_code(run, column);
    const uint64_t *values = run->values + column;
    const uint32_t count = code == COLUMN_CONSTANT ? 1 : run->count;
    uint64_t last = 0;

    td_buf_u8(raw, (uint8_t)code);
    for (uint32_t i = 0; i < count; i++, values += run->columns) {
        if (code == COLUMN_DELTA)
            td_buf_zigzag(raw, distance(*values, last));
        else
            td_buf_uleb(raw, *values);
        last = *values;
    }
}

static void get_value_column(struct td_rd *rd, const struct td_value_run *run, uint64_t *values)
{
    const uint8_t code = td_rd_u8(rd);
    uint64_t last = 0;

    if (code > COLUMN_DELTA)
        td_rd_fail(rd);
    if (code == COLUMN_CONSTANT)
        last = td_rd_uleb(rd);
    for (uint32_t i = 0; i < run->count; i++, values += run->columns) {
        if (code == COLUMN_DELTA)
            last += (uint64_t)td_rd_zigzag(rd);
        else if (code == COLUMN_PLAIN)
            last = td_rd_uleb(rd);
        *values = last;
    }
}

static void put_run_heads(struct td_chunk_body *body, const struct td_value_run *runs,
                          uint32_t run_count, bool with_cpu)
{
    td_buf_uleb(&body->raw, run_count);
    for (uint32_t r = 0; r < run_count; r++) {
        td_buf_uleb(&body->raw, runs[r].group);
        if (with_cpu)
            td_buf_uleb(&body->raw, runs[r].cpu == TD_NONE ? 0 : (uint64_t)runs[r].cpu + 1);
        td_buf_uleb(&body->raw, runs[r].count);
    }
}

static void put_places(struct td_chunk_body *body, const struct td_value_run *runs,
                       uint32_t run_count)
{
    uint32_t thread = 0, node = 0;

    for (uint32_t r = 0; r < run_count; r++) {
        for (uint32_t i = 0; i < runs[r].count; i++) {
            td_buf_zigzag(&body->raw, distance(runs[r].rows[i].thread, thread));
            thread = runs[r].rows[i].thread;
        }
    }
    td_chunk_body_cut(body);
    for (uint32_t r = 0; r < run_count; r++) {
        for (uint32_t i = 0; i < runs[r].count; i++) {
            td_buf_zigzag(&body->raw, distance(runs[r].rows[i].node, node));
            node = runs[r].rows[i].node;
        }
    }
    td_chunk_body_cut(body);
}

static void put_values(struct td_chunk_body *body, const struct td_value_run *runs,
                       uint32_t run_count)
{
    for (uint32_t r = 0; r < run_count; r++) {
        for (uint32_t c = 0; c < runs[r].columns; c++)
            put_value_column(&body->raw, &runs[r], c);
    }
    td_chunk_body_cut(body);
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The usual distance of two samples of a run: the median of the first few. */
static int64_t usual_step(const struct td_value_run *run, unsigned shift)
{
    int64_t steps[63] = {0};
    uint32_t count = 0;

    for (uint32_t i = 1; i < run->count && count < TD_ARRAY_SIZE(steps); i++)
        steps[count++] =
            distance(run->rows[i].amount >> shift, run->rows[i - 1].amount >> shift);
    qsort(steps, count, sizeof(*steps), by_size);
    return steps[count / 2];
}

/* Times: each run's usual step, then how far each is from where that leads. The first of a run is
 * relative to the first of the run before. */
static void put_times(struct td_chunk_body *body, const struct td_value_run *runs,
                      uint32_t run_count, unsigned shift)
{
    uint64_t start = 0;

    for (uint32_t r = 0; r < run_count; r++) {
        const int64_t step = usual_step(&runs[r], shift);
        uint64_t expected = start;

        td_buf_zigzag(&body->raw, step);
        start = runs[r].rows[0].amount >> shift;
        for (uint32_t i = 0; i < runs[r].count; i++) {
            const uint64_t time = runs[r].rows[i].amount >> shift;

            td_buf_zigzag(&body->raw, distance(time, expected));
            expected = time + (uint64_t)step;
        }
    }
    td_chunk_body_cut(body);
}

void td_columns_put_samples(struct td_chunk_body *body, const struct td_value_run *runs,
                            uint32_t run_count, unsigned time_shift)
{
    td_buf_u8(&body->raw, (uint8_t)time_shift);
    put_run_heads(body, runs, run_count, true);
    put_times(body, runs, run_count, time_shift);
    put_places(body, runs, run_count);
    put_values(body, runs, run_count);
}

void td_columns_put_tallies(struct td_chunk_body *body, const struct td_value_run *runs,
                            uint32_t run_count)
{
    put_run_heads(body, runs, run_count, false);
    for (uint32_t r = 0; r < run_count; r++) {
        for (uint32_t i = 0; i < runs[r].count; i++)
            td_buf_uleb(&body->raw, runs[r].rows[i].amount);
    }
    td_chunk_body_cut(body);
    put_places(body, runs, run_count);
    put_values(body, runs, run_count);
}

void td_value_runs_release(struct td_value_runs *runs)
{
    free(runs->runs);
    free(runs->rows);
    free(runs->values);
    *runs = (struct td_value_runs){0};
}

/* Run heads, and room for their rows. */
static void get_run_heads(struct td_rd *rd, struct td_value_runs *runs, bool with_cpu,
                          td_columns_of_group_fn *columns_of, const void *ctx)
{
    size_t rows = 0, values = 0;

    runs->run_count = (uint32_t)td_rd_uleb_below(rd, td_rd_left(rd) + 1);
    runs->runs = td_grow(runs->runs, &runs->run_cap, runs->run_count, sizeof(*runs->runs));
    for (uint32_t r = 0; r < runs->run_count; r++) {
        struct td_value_run *run = &runs->runs[r];

        run->group = (uint32_t)td_rd_uleb_below(rd, UINT32_MAX);
        run->cpu = with_cpu ? (uint32_t)td_rd_uleb_below(rd, UINT32_MAX) - 1 : TD_NONE;
        run->count = (uint32_t)td_rd_uleb_below(rd, td_rd_left(rd) + 1);
        run->columns = columns_of(ctx, run->group);
        rows += run->count;
        if (run->columns > TD_COLUMNS_MAX || rows > TD_CHUNK_ROWS_MAX)
            td_rd_fail(rd);
        values += (size_t)run->count * run->columns;
        if (values > TD_CHUNK_VALUES_MAX)
            td_rd_fail(rd);
        if (!td_rd_ok(rd))
            return;
    }
    runs->rows = td_grow(runs->rows, &runs->row_cap, rows, sizeof(*runs->rows));
    runs->values = td_grow(runs->values, &runs->value_cap, values, sizeof(*runs->values));
    rows = values = 0;
    for (uint32_t r = 0; r < runs->run_count; r++) {
        runs->runs[r].rows = runs->rows + rows;
        runs->runs[r].values = runs->values + values;
        rows += runs->runs[r].count;
        values += (size_t)runs->runs[r].count * runs->runs[r].columns;
    }
}

/* An id coded as the distance from the one before. */
static uint32_t get_id(struct td_rd *rd, uint64_t *last)
{
    *last += (uint64_t)td_rd_zigzag(rd);
    if (*last > UINT32_MAX)
        td_rd_fail(rd);
    return (uint32_t)*last;
}

static void get_places(struct td_rd *rd, struct td_value_runs *runs)
{
    uint64_t thread = 0, node = 0;
    struct td_value_row *row = runs->rows;

    for (uint32_t r = 0; r < runs->run_count; r++) {
        for (uint32_t i = 0; i < runs->runs[r].count; i++, row++)
            row->thread = get_id(rd, &thread);
    }
    row = runs->rows;
    for (uint32_t r = 0; r < runs->run_count; r++) {
        for (uint32_t i = 0; i < runs->runs[r].count; i++, row++)
            row->node = get_id(rd, &node);
    }
}

static void get_values(struct td_rd *rd, struct td_value_runs *runs)
{
    uint64_t *values = runs->values;

    for (uint32_t r = 0; r < runs->run_count; r++) {
        const struct td_value_run *run = &runs->runs[r];

        for (uint32_t c = 0; c < run->columns; c++)
            get_value_column(rd, run, values + c);
        values += (size_t)run->count * run->columns;
    }
}

static void get_times(struct td_rd *rd, struct td_value_runs *runs, unsigned shift)
{
    struct td_value_row *row = runs->rows;
    uint64_t start = 0;

    for (uint32_t r = 0; r < runs->run_count; r++) {
        const uint64_t step = (uint64_t)td_rd_zigzag(rd);
        uint64_t expected = start;

        for (uint32_t i = 0; i < runs->runs[r].count; i++, row++) {
            const uint64_t time = expected + (uint64_t)td_rd_zigzag(rd);

            start = i == 0 ? time : start;
            expected = time + step;
            row->amount = time << shift;
        }
    }
}

void td_columns_get_samples(struct td_rd *rd, struct td_value_runs *runs,
                            td_columns_of_group_fn *columns_of, const void *ctx)
{
    const unsigned shift = td_rd_u8(rd);

    if (shift > 32)
        td_rd_fail(rd);
    get_run_heads(rd, runs, true, columns_of, ctx);
    if (!td_rd_ok(rd))
        return;
    get_times(rd, runs, shift);
    get_places(rd, runs);
    get_values(rd, runs);
}

void td_columns_get_tallies(struct td_rd *rd, struct td_value_runs *runs,
                            td_columns_of_group_fn *columns_of, const void *ctx)
{
    get_run_heads(rd, runs, false, columns_of, ctx);
    if (!td_rd_ok(rd))
        return;
    struct td_value_row *row = runs->rows;
    for (uint32_t r = 0; r < runs->run_count; r++) {
        for (uint32_t i = 0; i < runs->runs[r].count; i++, row++)
            row->amount = td_rd_uleb(rd);
    }
    get_places(rd, runs);
    get_values(rd, runs);
}
