/* SPDX-License-Identifier: MIT */
/*
 * A measure summed by function, line, module, thread or program: the rows of every table. A row's
 * cost is its own (self) cost: an inlined body counts to the inlined function, or with no_inline
 * to the function that contains it.
 */
#ifndef TD_REPORT_QUERY_FIGURES_ROWS_H
#define TD_REPORT_QUERY_FIGURES_ROWS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/measure.h"
#include "report/attribution/mix.h"
#include "report/query/figures/replicated.h"

enum td_row_kind {
    TD_ROWS_FUNCTIONS,
    TD_ROWS_LINES,
    TD_ROWS_MODULES,
    TD_ROWS_THREADS,
    TD_ROWS_PROGRAMS /* processes of the same name together */
};

/* What does not apply to the kind of row is TD_NONE, or 0 for file and line. */
struct td_row {
    uint32_t function; /* TD_NONE: not known; of a line, the one that took most of it */
    uint32_t others;   /* LINES: how many further functions have this line (templates, inlines);
                          PROGRAMS: how many further processes have the name */
    uint32_t module;
    uint32_t file; /* string */
    uint32_t line;
    uint32_t thread;   /* PROGRAMS: one of them */
    uint32_t evidence; /* index in the rows' evidence, where there is any */
    uint64_t values[TD_METRIC_COUNT];
};

enum td_sort_by { TD_SORT_VALUE, TD_SORT_NAME, TD_SORT_MODULE, TD_SORT_FILE };

struct td_sort {
    enum td_sort_by by;
    enum td_metric metric; /* VALUE: highest first */
};

struct td_rows {
    const struct td_measure *measure; /* borrowed */
    enum td_row_kind kind;
    enum td_metric primary; /* shares are of its total */
    struct td_row *at;
    size_t len;
    struct td_mix *evidence;              /* measured slots: how sure each row is; NULL else */
    struct td_replicated_row *replicated; /* the same, of a model that was sampled */
};

/* A category of a row. */
struct td_cell {
    double share;          /* of the row's slots */
    double error;          /* ±, 95 %; 0 when exact */
    bool thin;             /* too little is known to print it */
    enum td_mix_kind kind; /* measured slots: how it was found */
};

/* Rows in the order of the primary metric; those without any value are left out. */
void td_rows_init(struct td_rows *rows, const struct td_measure *measure, enum td_row_kind kind,
                  bool no_inline);
void td_rows_release(struct td_rows *rows);

/* What the rows are sorted by: "name"; of functions and lines "module" and "file"; or as
 * td_metric_parse. */
int td_sort_parse(struct td_sort *ret, const struct td_measure *measure, enum td_row_kind kind,
                  const char *key, struct td_err *err);
/* A metric's id, or the reported event's name, of `from` and those behind it. TD_EUSAGE, with what
 * was probably meant or what there is, when there is none such or the profile has no such values;
 * the text wants the option's name in front. */
int td_metric_parse(enum td_metric *ret, const struct td_measure *measure, const char *key,
                    enum td_metric from, struct td_err *err);
/* Ties are broken by the primary metric, then by name and place, so that the order is the same on
 * every run. */
void td_rows_sort(struct td_rows *rows, struct td_sort sort);

/* Of `metric`'s total, and of the row's own slots for a node. */
double td_row_share(const struct td_rows *rows, const struct td_row *row);
double td_row_share_of(const struct td_rows *rows, const struct td_row *row, enum td_metric metric);
double td_row_node_share(const struct td_row *row, enum td_tma_node node);
struct td_cell td_row_cell(const struct td_rows *rows, const struct td_row *row,
                           enum td_tma_node node);
/* The evidence of the row; NULL where values are exact, or no slots. */
const struct td_mix *td_row_evidence(const struct td_rows *rows, const struct td_row *row);
/* The nodes of which that is so, by bit. */
td_tma_set td_row_thin(const struct td_rows *rows, const struct td_row *row);
/* Of td_row_share: ±, 95 %; 0 when the attribution is exact. Of a join, of its share of slots and
 * of time, with what measured and modelled differ by. */
double td_row_error(const struct td_rows *rows, const struct td_row *row);
/* The part of it that follows from the number of samples. */
double td_row_sampling_error(const struct td_rows *rows, const struct td_row *row);

/* "name", "module+0x…" does not apply here: the function's name, or "[unknown]". */
const char *td_row_name(const struct td_rows *rows, const struct td_row *row);

#endif
