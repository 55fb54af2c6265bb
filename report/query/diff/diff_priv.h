/* SPDX-License-Identifier: MIT */
/* How a diff is made: diff_figures.c knows the sources, diff_lines.c which lines are the same,
 * diff.c adds up. */
#ifndef TD_REPORT_QUERY_DIFF_DIFF_PRIV_H
#define TD_REPORT_QUERY_DIFF_DIFF_PRIV_H

#include "report/query/diff/diff.h"
#include "report/query/figures/rows.h"

/* One run, with what it needs to be told in figures. */
struct td_diff_source {
    const struct td_measure *measure;
    size_t side;
    double scale;          /* 1 / work */
    double cost;           /* all of it, before `scale` */
    double per_slot;       /* cost of a slot; 0: no slots */
    enum td_metric metric; /* the cost */
    struct td_rows functions, lines;
    uint32_t *function_ids; /* by row of `functions` */
};

/* What a figure is of: unit and what. */
static inline size_t td_diff_at(enum td_diff_unit unit, unsigned what)
{
    return (size_t)unit * TD_DIFF_WHATS + what;
}
#define TD_DIFF_FIGURES (TD_DIFF_UNITS * TD_DIFF_WHATS)

/* The sides' runs as sources: what they have in common goes to `diff` (cost, nodes, notes). */
int td_diff_check(struct td_diff *diff, const struct td_diff_side *sides, size_t count,
                  struct td_err *err);
/* Everything of the source but side and rows. */
struct td_diff_source td_diff_source_of(const struct td_diff *diff,
                                        const struct td_measure *measure, double work);
/* Of a row, by td_diff_at; zeros where it is not known. */
void td_diff_figures_of(struct td_run_figure ret[TD_DIFF_FIGURES],
                        const struct td_diff_source *source, const struct td_rows *rows,
                        const struct td_row *row);
/* Of something that the run did not see, a row as those of `rows`. */
void td_diff_figures_none(struct td_run_figure ret[TD_DIFF_FIGURES],
                          const struct td_diff_source *source, const struct td_rows *rows);
void td_diff_figures_total(struct td_run_figure ret[TD_DIFF_FIGURES],
                           const struct td_diff_source *source);
/* What is taken for the spread of runs when there is one a side. */
void td_diff_assume(struct td_diff *diff, const struct td_diff_source *sources, size_t count);

/* An id for each row of lines of each source, into ids[source]; returns how many there are.
 * ids[i][row] of lines that are too small is 0. */
uint32_t td_diff_line_ids(struct td_diff *diff, struct td_diff_source *sources, size_t count,
                          const struct td_diff_rows *functions, const struct td_diff_opts *opts,
                          uint32_t **ids);

/* Adds a sentence. */
void td_diff_note(struct td_diff *diff, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
