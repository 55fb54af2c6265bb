/* SPDX-License-Identifier: MIT */
/*
 * The bulk of a profile, in columns (profile.md 5): nodes, samples, tallies. Writing and reading
 * stand side by side, so that they can be compared.
 */
#ifndef TD_FORMATS_PROFILE_COLUMNS_H
#define TD_FORMATS_PROFILE_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/profile/frame.h"

/* The most nodes, rows or values in one chunk. */
#define TD_CHUNK_ROWS_MAX   UINT32_C(65536)
#define TD_CHUNK_VALUES_MAX (UINT32_C(1) << 20)

/* Sample times are kept in units of 2^shift ns: about a microsecond, far below the distance of two
 * samples of a CPU (10 us at the kernel's limit of 100 kHz) and of the same order as the latency
 * of the interrupt that took the sample. */
#define TD_TIME_SHIFT     10
#define TD_TIME_SHIFT_MAX 32

/* A node as in the file: ids are the file's, valid in its epoch. */
struct td_node_row {
    uint64_t offset;
    uint32_t parent;
    uint32_t module;
};

/* A sample or a tally. */
struct td_value_row {
    uint64_t amount; /* a sample's time, a tally's number of samples */
    uint32_t thread;
    uint32_t node;
};

/* Rows of one group, and of one CPU when they are samples. */
struct td_value_run {
    uint32_t group;
    uint32_t cpu; /* TD_NONE when not known, and for tallies */
    uint32_t columns;
    uint32_t count;
};

/* The rows of one chunk, run after run; values likewise, row after row. */
struct td_value_runs {
    struct td_value_run *runs;
    struct td_value_row *rows;
    uint64_t *values;
    uint32_t run_count;
    size_t row_count, value_count;
    size_t run_cap, row_cap, value_cap;
};

/* Room for what run_count, row_count and value_count say. */
void td_value_runs_reserve(struct td_value_runs *runs);
void td_value_runs_release(struct td_value_runs *runs);

/* A column on its way, reused from column to column. */
struct td_column_scratch {
    uint64_t *numbers, *first;
    size_t numbers_cap, first_cap;
};

void td_column_scratch_release(struct td_column_scratch *scratch);

/* Nodes first .. first + count - 1. */
void td_columns_put_nodes(struct td_chunk_body *body, struct td_column_scratch *scratch,
                          uint32_t first, const struct td_node_row *rows, uint32_t count);
/* Fills rows[0 .. count); fails the cursor on what cannot be. Parents are below their nodes. */
void td_columns_get_nodes(struct td_rd *rd, struct td_column_scratch *scratch, uint32_t first,
                          struct td_node_row *rows, uint32_t count);

void td_columns_put_samples(struct td_chunk_body *body, struct td_column_scratch *scratch,
                            const struct td_value_runs *runs, unsigned time_shift);
void td_columns_put_tallies(struct td_chunk_body *body, struct td_column_scratch *scratch,
                            const struct td_value_runs *runs);

/* What a group's column count is while runs are read; TD_NONE for an unknown group. */
typedef uint32_t td_columns_of_group_fn(const void *ctx, uint32_t group);

struct td_columns_reader {
    struct td_column_scratch scratch;
    struct td_value_runs runs; /* of the last chunk read */
    td_columns_of_group_fn *columns_of;
    const void *ctx;
};

void td_columns_get_samples(struct td_rd *rd, struct td_columns_reader *reader);
void td_columns_get_tallies(struct td_rd *rd, struct td_columns_reader *reader);

#endif
