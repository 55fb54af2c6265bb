/* SPDX-License-Identifier: MIT */
/* How evenly a measure is spread over hosts, ranks or processes: for the whole and each function
 * the least, the mean and the greatest share of a part. */
#ifndef TD_REPORT_QUERY_BY_H
#define TD_REPORT_QUERY_BY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/frames.h"
#include "formats/measure.h"

enum td_by { TD_BY_HOST, TD_BY_RANK, TD_BY_PROCESS, TD_BY_COUNT };

/* "host", "rank", "process". */
const char *td_by_name(enum td_by by);
/* TD_BY_COUNT for another word. */
enum td_by td_by_of_name(const char *name);

struct td_spread {
    uint64_t total, min, max;
    double mean;
    double imbalance; /* max / mean - 1: 0 when all have the same */
};

struct td_by_part {
    char *name; /* "node3", "17", "app 1234@node3" */
    uint64_t value;
};

struct td_by_row {
    struct td_frame frame; /* one of the function's */
    struct td_spread spread;
};

struct td_by_table {
    enum td_metric metric;    /* the measure's primary one */
    struct td_by_part *parts; /* in the order of their names, numbers by size */
    size_t part_count;
    struct td_spread whole;
    struct td_by_row *rows; /* the costliest first */
    size_t row_count;
};

/* A part is what has any value; one where a function does not run counts as 0 for it. */
void td_by_init(struct td_by_table *table, const struct td_measure *measure, enum td_by by,
                bool no_inline);
void td_by_release(struct td_by_table *table);

#endif
