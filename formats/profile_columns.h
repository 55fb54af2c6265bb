/* SPDX-License-Identifier: MIT */
/*
 * The bulk of a profile, in columns (profile.md 5): nodes, samples, tallies. Writing and reading
 * stand side by side, so that they can be compared.
 */
#ifndef TD_FORMATS_PROFILE_COLUMNS_H
#define TD_FORMATS_PROFILE_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/profile_frame.h"

/* A node as in the file: ids are the file's, valid in its epoch. */
struct td_node_row {
    uint64_t offset;
    uint32_t parent;
    uint32_t module;
};

/* Nodes first .. first + count - 1. */
void td_columns_put_nodes(struct td_chunk_body *body, uint32_t first,
                          const struct td_node_row *rows, uint32_t count);
/* Fills rows[0 .. count); fails the cursor on what cannot be. Parents are below their nodes. */
void td_columns_get_nodes(struct td_rd *rd, uint32_t first, struct td_node_row *rows,
                          uint32_t count);

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
    const struct td_value_row *rows;
    const uint64_t *values; /* count rows of `columns` values */
};

/* The most rows and values in one chunk of samples or tallies. */
#define TD_CHUNK_ROWS_MAX   UINT32_C(65536)
#define TD_CHUNK_VALUES_MAX (UINT32_C(1) << 20)

/* Sample times are kept in units of 2^shift ns: about a microsecond, far below the distance of two
 * samples of a CPU (10 us at the kernel's limit of 100 kHz) and of the same order as the latency
 * of the interrupt that took the sample. */
#define TD_TIME_SHIFT 10

void td_columns_put_samples(struct td_chunk_body *body, const struct td_value_run *runs,
                            uint32_t run_count, unsigned time_shift);
void td_columns_put_tallies(struct td_chunk_body *body, const struct td_value_run *runs,
                            uint32_t run_count);

/* What a group's column count is while runs are read; TD_NONE for an unknown group. */
typedef uint32_t td_columns_of_group_fn(const void *ctx, uint32_t group);

/* The decoded runs of one chunk; reused from chunk to chunk. */
struct td_value_runs {
    struct td_value_run *runs;
    uint32_t run_count;
    struct td_value_row *rows;
    uint64_t *values;
    size_t run_cap, row_cap, value_cap;
};

void td_value_runs_release(struct td_value_runs *runs);
void td_columns_get_samples(struct td_rd *rd, struct td_value_runs *runs,
                            td_columns_of_group_fn *columns_of, const void *ctx);
void td_columns_get_tallies(struct td_rd *rd, struct td_value_runs *runs,
                            td_columns_of_group_fn *columns_of, const void *ctx);

#endif
