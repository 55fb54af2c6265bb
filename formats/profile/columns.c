/* SPDX-License-Identifier: MIT */
#include "formats/profile/columns.h"

#include <stdlib.h>

#include "base/mem.h"
#include "formats/model.h"
#include "formats/profile/numbers.h"

/* Ids end before TD_NONE. */
#define ID_MOST (UINT32_MAX - 1)

void td_value_runs_reserve(struct td_value_runs *runs)
{
    runs->runs = td_grow(runs->runs, &runs->run_cap, runs->run_count, sizeof(*runs->runs));
    runs->rows = td_grow(runs->rows, &runs->row_cap, runs->row_count, sizeof(*runs->rows));
    runs->values =
        td_grow(runs->values, &runs->value_cap, runs->value_count, sizeof(*runs->values));
}

void td_value_runs_release(struct td_value_runs *runs)
{
    free(runs->runs);
    free(runs->rows);
    free(runs->values);
    *runs = (struct td_value_runs){0};
}

void td_column_scratch_release(struct td_column_scratch *scratch)
{
    free(scratch->numbers);
    free(scratch->first);
    *scratch = (struct td_column_scratch){0};
}

static uint64_t *scratch_numbers(struct td_column_scratch *scratch, size_t count)
{
    scratch->numbers = td_grow(scratch->numbers, &scratch->numbers_cap, count, sizeof(uint64_t));
    return scratch->numbers;
}

/* A column of a struct's member: `expression` is what is stored of row i. */
#define PUT_COLUMN(body, scratch, count, expression)                  \
    do {                                                              \
        uint64_t *const numbers_ = scratch_numbers((scratch), count); \
        for (size_t i = 0; i < (count); i++)                          \
            numbers_[i] = (expression);                               \
        td_numbers_put((body), numbers_, (count), NULL);              \
    } while (0)

void td_columns_put_nodes(struct td_chunk_body *body, struct td_column_scratch *scratch,
                          uint32_t first, const struct td_node_row *rows, uint32_t count)
{
    PUT_COLUMN(body, scratch, count, rows[i].parent == 0 ? 0 : first + i - rows[i].parent);
    PUT_COLUMN(body, scratch, count, rows[i].module);
    PUT_COLUMN(body, scratch, count, rows[i].offset);
}

/* Reads a column of numbers that are at most `most`. */
static const uint64_t *get_column(struct td_rd *rd, struct td_column_scratch *scratch, size_t count,
                                  uint64_t most)
{
    uint64_t *numbers = scratch_numbers(scratch, count);
    const size_t start = rd->pos;
    bool right = true;

    td_numbers_get(rd, numbers, count, NULL);
    for (size_t i = 0; i < count && td_rd_ok(rd); i++)
        right = right && numbers[i] <= most;
    if (!right) {
        rd->pos = start;
        td_rd_fail(rd);
    }
    return numbers;
}

void td_columns_get_nodes(struct td_rd *rd, struct td_column_scratch *scratch, uint32_t first,
                          struct td_node_row *rows, uint32_t count)
{
    const uint64_t *column = get_column(rd, scratch, count, ID_MOST);

    for (uint32_t i = 0; i < count && td_rd_ok(rd); i++) {
        if (column[i] >= (uint64_t)first + i)
            td_rd_fail(rd);
        rows[i].parent = column[i] == 0 ? 0 : first + i - (uint32_t)column[i];
    }
    column = get_column(rd, scratch, count, ID_MOST);
    for (uint32_t i = 0; i < count && td_rd_ok(rd); i++)
        rows[i].module = (uint32_t)column[i];
    column = get_column(rd, scratch, count, UINT64_MAX);
    for (uint32_t i = 0; i < count && td_rd_ok(rd); i++)
        rows[i].offset = column[i];
}

static void put_run_heads(struct td_buf *raw, const struct td_value_runs *runs, bool with_cpu)
{
    td_buf_uleb(raw, runs->run_count);
    for (uint32_t r = 0; r < runs->run_count; r++) {
        const struct td_value_run *run = &runs->runs[r];

        td_buf_uleb(raw, run->group);
        if (with_cpu)
            td_buf_uleb(raw, run->cpu == TD_NONE ? 0 : (uint64_t)run->cpu + 1);
        td_buf_uleb(raw, run->count);
    }
}

static void put_places(struct td_chunk_body *body, struct td_column_scratch *scratch,
                       const struct td_value_runs *runs)
{
    PUT_COLUMN(body, scratch, runs->row_count, runs->rows[i].thread);
    PUT_COLUMN(body, scratch, runs->row_count, runs->rows[i].node);
}

/* Runs of one group that follow one another share their columns of values. */
struct stretch {
    uint32_t next; /* run after the last of it */
    uint32_t columns;
    size_t rows;
};

static struct stretch find_stretch(const struct td_value_runs *runs, uint32_t run)
{
    struct stretch stretch = {.next = run, .columns = runs->runs[run].columns};

    while (stretch.next < runs->run_count &&
           runs->runs[stretch.next].group == runs->runs[run].group)
        stretch.rows += runs->runs[stretch.next++].count;
    return stretch;
}

static void put_values(struct td_chunk_body *body, struct td_column_scratch *scratch,
                       const struct td_value_runs *runs)
{
    const uint64_t *values = runs->values;
    struct stretch stretch;

    for (uint32_t run = 0; run < runs->run_count; run = stretch.next) {
        stretch = find_stretch(runs, run);
        scratch->first =
            td_grow(scratch->first, &scratch->first_cap, stretch.rows, sizeof(uint64_t));
        for (uint32_t c = 0; c < stretch.columns; c++) {
            uint64_t *numbers = c == 0 ? scratch->first : scratch_numbers(scratch, stretch.rows);

            for (size_t i = 0; i < stretch.rows; i++)
                numbers[i] = values[i * stretch.columns + c];
            td_numbers_put(body, numbers, stretch.rows, c == 0 ? NULL : scratch->first);
        }
        values += stretch.rows * stretch.columns;
    }
}

static void get_values(struct td_rd *rd, struct td_columns_reader *reader)
{
    struct td_column_scratch *scratch = &reader->scratch;
    uint64_t *values = reader->runs.values;
    struct stretch stretch;

    for (uint32_t run = 0; run < reader->runs.run_count; run = stretch.next) {
        stretch = find_stretch(&reader->runs, run);
        scratch->first =
            td_grow(scratch->first, &scratch->first_cap, stretch.rows, sizeof(uint64_t));
        for (uint32_t c = 0; c < stretch.columns; c++) {
            uint64_t *numbers = c == 0 ? scratch->first : scratch_numbers(scratch, stretch.rows);

            td_numbers_get(rd, numbers, stretch.rows, c == 0 ? NULL : scratch->first);
            for (size_t i = 0; td_rd_ok(rd) && i < stretch.rows; i++)
                values[i * stretch.columns + c] = numbers[i];
        }
        values += stretch.rows * stretch.columns;
    }
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The usual distance of two samples of a run: the median of the first few. */
static int64_t usual_step(const struct td_value_row *rows, uint32_t count, unsigned shift)
{
    int64_t steps[63] = {0};
    size_t known = 0;

    for (uint32_t i = 1; i < count && known < TD_ARRAY_SIZE(steps); i++)
        steps[known++] = (int64_t)((rows[i].amount >> shift) - (rows[i - 1].amount >> shift));
    qsort(steps, known, sizeof(*steps), by_size);
    return steps[known / 2];
}

static uint64_t zigzag(uint64_t distance)
{
    return (distance << 1) ^ (distance >> 63 ? UINT64_MAX : 0);
}

/* Each time is stored as how far it is from where the run's usual step leads; the first of a run
 * as how far it is from the first of the run before. */
static void put_times(struct td_chunk_body *body, struct td_column_scratch *scratch,
                      const struct td_value_runs *runs, unsigned shift)
{
    uint64_t *numbers = scratch_numbers(scratch, runs->row_count);
    const struct td_value_row *row = runs->rows;
    uint64_t start = 0;

    for (uint32_t r = 0; r < runs->run_count; r++) {
        const uint32_t count = runs->runs[r].count;
        const int64_t step = usual_step(row, count, shift);
        uint64_t expected = start;

        td_buf_zigzag(&body->raw, step);
        start = row->amount >> shift;
        for (uint32_t i = 0; i < count; i++, row++) {
            numbers[row - runs->rows] = zigzag((row->amount >> shift) - expected);
            expected = (row->amount >> shift) + (uint64_t)step;
        }
    }
    td_numbers_put(body, numbers, runs->row_count, NULL);
}

/* The steps of all runs stand before the column: they are read into the rows of their runs' first
 * samples, for want of a better place. */
static void get_times(struct td_rd *rd, struct td_columns_reader *reader, unsigned shift)
{
    struct td_value_row *row = reader->runs.rows;
    uint64_t start = 0;

    for (uint32_t r = 0; r < reader->runs.run_count; row += reader->runs.runs[r++].count)
        row->amount = (uint64_t)td_rd_zigzag(rd);
    const uint64_t *number = get_column(rd, &reader->scratch, reader->runs.row_count, UINT64_MAX);
    row = reader->runs.rows;
    for (uint32_t r = 0; r < reader->runs.run_count && td_rd_ok(rd); r++) {
        const uint64_t step = row->amount;
        uint64_t expected = start;

        for (uint32_t i = 0; i < reader->runs.runs[r].count; i++, row++, number++) {
            const uint64_t time = expected + ((*number >> 1) ^ (*number & 1 ? UINT64_MAX : 0));

            start = i == 0 ? time : start;
            expected = time + step;
            row->amount = time << shift;
        }
    }
}

void td_columns_put_samples(struct td_chunk_body *body, struct td_column_scratch *scratch,
                            const struct td_value_runs *runs, unsigned time_shift)
{
    td_buf_u8(&body->raw, (uint8_t)time_shift);
    put_run_heads(&body->raw, runs, true);
    put_times(body, scratch, runs, time_shift);
    put_places(body, scratch, runs);
    put_values(body, scratch, runs);
}

void td_columns_put_tallies(struct td_chunk_body *body, struct td_column_scratch *scratch,
                            const struct td_value_runs *runs)
{
    put_run_heads(&body->raw, runs, false);
    PUT_COLUMN(body, scratch, runs->row_count, runs->rows[i].amount);
    put_places(body, scratch, runs);
    put_values(body, scratch, runs);
}

/* Run heads, and room for their rows. No run is empty. */
static bool get_run_heads(struct td_rd *rd, struct td_columns_reader *reader, bool with_cpu)
{
    struct td_value_runs *runs = &reader->runs;

    runs->row_count = runs->value_count = 0;
    runs->run_count = (uint32_t)td_rd_uleb_below(rd, td_rd_left(rd) + 1);
    td_value_runs_reserve(runs);
    for (uint32_t r = 0; r < runs->run_count; r++) {
        struct td_value_run *run = &runs->runs[r];

        run->group = (uint32_t)td_rd_uleb_below(rd, UINT32_MAX);
        run->cpu = with_cpu ? (uint32_t)td_rd_uleb_below(rd, UINT32_MAX) - 1 : TD_NONE;
        run->count = (uint32_t)td_rd_uleb_below(rd, TD_CHUNK_ROWS_MAX + 1);
        run->columns = reader->columns_of(reader->ctx, run->group);
        if (run->count == 0 || run->columns > TD_COLUMNS_MAX)
            td_rd_fail(rd);
        if (!td_rd_ok(rd))
            return false;
        runs->row_count += run->count;
        runs->value_count += (size_t)run->count * run->columns;
        if (runs->row_count > TD_CHUNK_ROWS_MAX || runs->value_count > TD_CHUNK_VALUES_MAX) {
            td_rd_fail(rd);
            return false;
        }
    }
    td_value_runs_reserve(runs);
    return td_rd_ok(rd);
}

static void get_places(struct td_rd *rd, struct td_columns_reader *reader)
{
    struct td_value_runs *runs = &reader->runs;
    const uint64_t *column = get_column(rd, &reader->scratch, runs->row_count, ID_MOST);

    for (size_t i = 0; i < runs->row_count && td_rd_ok(rd); i++)
        runs->rows[i].thread = (uint32_t)column[i];
    column = get_column(rd, &reader->scratch, runs->row_count, ID_MOST);
    for (size_t i = 0; i < runs->row_count && td_rd_ok(rd); i++)
        runs->rows[i].node = (uint32_t)column[i];
}

void td_columns_get_samples(struct td_rd *rd, struct td_columns_reader *reader)
{
    const unsigned shift = td_rd_u8(rd);

    if (shift > TD_TIME_SHIFT_MAX)
        td_rd_fail(rd);
    if (!get_run_heads(rd, reader, true))
        return;
    get_times(rd, reader, shift);
    get_places(rd, reader);
    get_values(rd, reader);
}

void td_columns_get_tallies(struct td_rd *rd, struct td_columns_reader *reader)
{
    if (!get_run_heads(rd, reader, false))
        return;
    const uint64_t *column = get_column(rd, &reader->scratch, reader->runs.row_count, UINT64_MAX);
    for (size_t i = 0; i < reader->runs.row_count && td_rd_ok(rd); i++)
        reader->runs.rows[i].amount = column[i];
    get_places(rd, reader);
    get_values(rd, reader);
}
