/* SPDX-License-Identifier: MIT */
/*
 * CPI stacks: the cycles per instruction of a program or of a function, divided among what its
 * slots went to. The components add up to the CPI: each is the CPI times its share of the slots,
 * which is its slots per instruction, over the slots per cycle.
 */
#ifndef TD_REPORT_QUERY_CPI_H
#define TD_REPORT_QUERY_CPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/measure.h"
#include "report/query/loops/loops.h"

/* Base, what no category says, and what others have in common. */
#define TD_CPI_PARTS_MAX (TD_NODE_COUNT + 3)

/* What the stacks of a measure are made from. */
struct td_cpi_basis {
    const struct td_measure *measure; /* borrowed */
    double width;                     /* slots per cycle; 0: not known */
    bool slots;                       /* something says what slots went to, */
    bool joined;                      /* but its slots are weighted by time of another run */
    bool complete;                    /* all that stacks need is there */
};

enum td_cpi_kind {
    TD_CPI_BASE,    /* retiring: what the instructions need themselves */
    TD_CPI_NODE,    /* slots lost to a node, all of them */
    TD_CPI_REST,    /* of a node, what none of its finer nodes says */
    TD_CPI_UNKNOWN, /* slots of no node */
    TD_CPI_OTHER    /* small components together */
};

struct td_cpi_part {
    enum td_cpi_kind kind;
    enum td_tma_node node; /* NONE: UNKNOWN, OTHER */
    size_t count;          /* OTHER: how many components; else 1 */
    uint64_t slots;
    double share; /* of the slots */
    double cpi;   /* NaN: no instructions */
    double error; /* of `cpi`: ±, 95 %; 0 when exact, or not known */
};

struct td_cpi {
    double cpi;                              /* NaN: no instructions */
    double cycles;                           /* NaN: not known */
    uint64_t instructions;                   /* 0: not known, or none */
    uint64_t slots;                          /* the sum of the components' */
    struct td_cpi_part at[TD_CPI_PARTS_MAX]; /* base, then what was lost, the greatest first */
    size_t len;
};

struct td_cpi_basis td_cpi_basis_of(const struct td_measure *measure);

/* Of `values`, by enum td_metric: the measure's totals, or those of a row.
 * Lost slots are divided down to level `levels`; nodes in `thin`, by bit, are not known, and theirs
 * stay with what they are part of. Components of no slots are left out. */
struct td_cpi td_cpi_of(const struct td_cpi_basis *basis, const uint64_t *values, td_tma_set thin,
                        int levels);
/* Of a loop with those in it, and without what it calls. */
struct td_cpi td_cpi_of_loop(const struct td_cpi_basis *basis, const struct td_loop *loop,
                             int levels);
/* Sets the errors: `of_node` are those of each node's share of the slots, `of_cpi` that of the
 * whole CPI as a part of it. What no category says has none. */
void td_cpi_set_errors(struct td_cpi *stack, const double of_node[TD_NODE_COUNT], double of_cpi);
/* Puts those below `percent` of the slots together, as the last one; not a single one, and never
 * the base. */
void td_cpi_cut(struct td_cpi *stack, double percent);

#endif
