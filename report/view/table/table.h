/* SPDX-License-Identifier: MIT */
/* Tables of rows: columns are const descriptors, laid out to the width at hand. */
#ifndef TD_REPORT_VIEW_TABLE_TABLE_H
#define TD_REPORT_VIEW_TABLE_TABLE_H

#include <stddef.h>

#include "report/query/figures/rows.h"
#include "report/view/table/style.h"

#define TD_TABLE_FIELDS_MAX 40

struct td_field;

/* A column of one table: a field, and for those that show any metric, which. */
struct td_table_column {
    const struct td_field *field;
    enum td_metric metric;
};

struct td_table {
    unsigned mostly_width; /* of the column "mostly" */
    const struct td_rows *rows;
    size_t shown; /* the first so many rows */
    unsigned indent;
    struct td_table_column columns[TD_TABLE_FIELDS_MAX];
    size_t column_count;
};

struct td_field {
    const char *id;
    bool right;
    unsigned stretch; /* 0: as wide as its widest cell; else its part of the room that is left */
    /* NULL: the metric's name */
    const char *(*heading)(const struct td_style *style, const struct td_table *table,
                           const struct td_table_column *column);
    /* Writes the cell, not yet escaped or fitted, and returns its tone. */
    enum td_tone (*cell)(const struct td_table *table, const struct td_table_column *column,
                         const struct td_row *row, char *dst, size_t size);
    /* How it is made to fit; NULL: as td_fit_text. */
    void (*fit)(const struct td_style *style, char *dst, size_t size, const char *text,
                unsigned width);
};

extern const struct td_field td_field_share;     /* of the column's metric, in percent */
extern const struct td_field td_field_error;     /* of the primary share, ± in percent */
extern const struct td_field td_field_value;     /* the metric: seconds, or a count */
extern const struct td_field td_field_node;      /* a category's share of the row's slots */
extern const struct td_field td_field_mostly;    /* what the row's slots went to */
extern const struct td_field td_field_name;      /* function, module or thread */
extern const struct td_field td_field_others;    /* "+2": functions that share the line */
extern const struct td_field td_field_module;    /* where the function is */
extern const struct td_field td_field_place;     /* file:line */
extern const struct td_field td_field_process;   /* of a thread */
extern const struct td_field td_field_processes; /* how many, of a program */
extern const struct td_field td_field_tid;
extern const struct td_field td_field_path; /* of a module */

struct td_table td_table_of(const struct td_rows *rows, size_t shown, unsigned indent);
void td_table_add(struct td_table *table, const struct td_field *field, enum td_metric metric);
/* The share, its error unless exact, and the value of the primary metric. */
void td_table_add_cost(struct td_table *table);
/* What slots went to, where there are any: in words, or with `level` in columns for the categories
 * down to it that reach their threshold in a row. */
void td_table_add_nodes(struct td_table *table, int level);
void td_table_print(const struct td_table *table, const struct td_style *style);

/* A category in at most six columns. */
const char *td_node_heading(enum td_tma_node node);
/* "time", "slots", "cycles": what the measure's shares are of. */
const char *td_metric_heading(const struct td_measure *measure, enum td_metric metric);

#endif
