/* SPDX-License-Identifier: MIT */
/*
 * Profiles of the same work compared: what took longer or shorter, in which function and line, lost
 * to what, and whether that is more than chance. The first side is what the others are compared
 * with. It prints nothing; views, the gate and exports read it.
 */
#ifndef TD_REPORT_QUERY_DIFF_DIFF_H
#define TD_REPORT_QUERY_DIFF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/measure.h"
#include "report/query/diff/change.h"
#include "report/query/diff/match.h"

/* One side: runs of one program. All is borrowed and must outlive the diff. */
struct td_diff_side {
    const char *name; /* "before.td" */
    const struct td_measure *const *runs;
    size_t run_count; /* at least 1 */
    double work;      /* units of work that each run did; 0: a run is one */
};

/* Source files, to see lines that moved. */
struct td_diff_texts {
    /* The text that was compiled for that side; NULL when it is not at hand, as when the file
     * changed after the recording. Borrowed until the diff is made. */
    const struct td_match_text *(*text)(void *ctx, size_t side, const char *path);
    void *ctx;
};

struct td_diff_opts {
    bool no_inline;
    bool no_lines;                     /* functions only */
    const struct td_diff_texts *texts; /* NULL: lines are matched by their distance from the
                                          function's beginning */
};

/* Two scales. COST is what shares are of: time where every side has it, else slots or an event.
 * SLOTS where every side has them. */
enum td_diff_unit { TD_DIFF_COST, TD_DIFF_SLOTS, TD_DIFF_UNITS };

/* What a cell is of: the whole row, or 1 + a node of the tree. */
#define TD_DIFF_WHOLE      0
#define TD_DIFF_NODE(node) (1 + (unsigned)(node))
#define TD_DIFF_WHATS      (1 + TD_NODE_COUNT)

struct td_diff_cell {
    double value;            /* mean of the runs, for one unit of work */
    double error;            /* ±, 95 % */
    bool thin;               /* a category of which too little is known to print the value */
    struct td_change change; /* since the first column; of that one nothing */
};

/* Where a row is in a column. */
struct td_diff_place {
    bool there;
    const char *function; /* NULL: not known */
    const char *module;   /* last part of its path */
    const char *file;     /* NULL when not known */
    uint32_t line;        /* of a function, where it begins; 0 when not known */
};

enum td_diff_kind { TD_DIFF_TOTAL, TD_DIFF_FUNCTION, TD_DIFF_LINE, TD_DIFF_REST };

struct td_diff_row {
    enum td_diff_kind kind;       /* REST: all that is too small to have a row of its own */
    struct td_diff_place *places; /* by column */
    struct td_diff_cell *cells;   /* td_diff_cell_of */
};

struct td_diff_rows {
    struct td_diff_row *at; /* by rank, then the greatest change first */
    size_t len;
};

struct td_diff_column {
    const char *name;
    const struct td_measure *first; /* one of its runs */
    size_t runs;
    double work;
    double instructions, cycles; /* of a run, for one unit of work; 0: not known */
};

/* How lines were matched between the first column and another. */
enum td_diff_lines {
    TD_DIFF_LINES_NONE,     /* there are none */
    TD_DIFF_LINES_SAME,     /* the same file, not changed since */
    TD_DIFF_LINES_TEXT,     /* by content */
    TD_DIFF_LINES_DISTANCE, /* by distance from the function's beginning */
    TD_DIFF_LINES_NUMBER    /* by number: no function's beginning is known */
};

struct td_diff {
    struct td_diff_column *columns;
    size_t column_count;
    enum td_metric cost; /* what COST is: time in ns, slots, or an event */
    bool has_slots;
    td_tma_set nodes;         /* bits of nodes that every side has */
    td_tma_set leaves;        /* of them, those without a child */
    struct td_diff_row total; /* its nodes are the tree */
    struct td_diff_rows functions, lines;
    unsigned lines_by; /* bits of enum td_diff_lines */
    bool assumed;      /* no side has several runs: their spread is assumed; */
    bool
        takes_turns; /* threads of a modelled run share lines: much is assumed (figures/shared.h) */
    struct td_run_spread of_total, of_rows; /* what was assumed, or found */
    char **notes;                           /* sentences: what to know before believing it */
    size_t note_count, note_cap;
    size_t unlike_count; /* of the notes, the first: commands that did not end alike */
    size_t first_count;  /* of the notes, those to be read before all else: these, and commands that
                            are not the same */
    void *memory;        /* private */
};

/* At least two sides. TD_EMISMATCH with one sentence when they cannot be compared. Release after
 * TD_OK. */
int td_diff_init(struct td_diff *diff, const struct td_diff_side *sides, size_t count,
                 const struct td_diff_opts *opts, struct td_err *err);
void td_diff_release(struct td_diff *diff);
/* Whether sides can be compared at all, as td_diff_init says, and by which metric (COST). */
int td_diff_metric(enum td_metric *ret, const struct td_diff_side *sides, size_t count,
                   struct td_err *err);

/* Whether `what` (TD_DIFF_WHOLE, TD_DIFF_NODE) is known in all columns. */
bool td_diff_has(const struct td_diff *diff, unsigned what);
/* NULL when it is not known. `column` below column_count. */
const struct td_diff_cell *td_diff_cell_of(const struct td_diff *diff,
                                           const struct td_diff_row *row, size_t column,
                                           unsigned what, enum td_diff_unit unit);
/* The place in `column`, or where it is not there, the next best. */
const struct td_diff_place *td_diff_place_of(const struct td_diff *diff,
                                             const struct td_diff_row *row, size_t column);
/* What is worth a look: what changed significantly in a column, what is large, and what is not. */
enum td_diff_rank { TD_DIFF_CHANGED, TD_DIFF_LARGE, TD_DIFF_SMALL };
enum td_diff_rank td_diff_rank_of(const struct td_diff *diff, const struct td_diff_row *row);
/* Of COST: the change as a part of the first column's total. */
double td_diff_part(const struct td_diff *diff, double delta);

/* Leaves of a row whose change is significant and in the direction of the row's, the greatest
 * first; at most `max`. Returns how many. */
size_t td_diff_causes(const struct td_diff *diff, const struct td_diff_row *row, size_t column,
                      enum td_tma_node *ret, size_t max);

#define TD_DIFF_REASONS 4

/* What made the difference: a function, and the leaf that explains half of its change or more. */
struct td_diff_reason {
    const struct td_diff_row *row;
    enum td_tma_node node;          /* TD_NODE_NONE: the function as a whole */
    const struct td_diff_row *line; /* that has most of it; NULL: it is spread, or not known */
    double delta;                   /* of COST */
    double error;
};

struct td_diff_verdict {
    bool significant;
    double delta, error;                 /* of COST */
    double change, change_error;         /* the same as parts of the first column's */
    double speed, speed_low, speed_high; /* how many times as fast; NaN where that has no end */
    struct td_diff_reason reasons[TD_DIFF_REASONS];
    size_t reason_count;
};

struct td_diff_verdict td_diff_verdict_of(const struct td_diff *diff, size_t column);

#endif
