/* SPDX-License-Identifier: MIT */
/*
 * Who calls a function, and what it calls, as trees of what the calls cost; and what functions cost
 * with all they call. A stack counts once for a function however often it is on it.
 */
#ifndef TD_REPORT_QUERY_CALLS_H
#define TD_REPORT_QUERY_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/measure.h"

struct td_call {
    uint32_t function; /* TD_NONE: not known; then the module tells */
    uint32_t module;
    bool inlined;     /* all of it was: into its caller */
    uint64_t value;   /* of the metric, with what is inside */
    uint64_t time_ns; /* of the same stacks; 0 where no time is known */
    uint64_t self;    /* ends here: CALLEES, in the function itself; CALLERS, nothing called it */
    uint32_t child, next; /* in `at`, the dearest first; 0: none */
};

enum td_calls_kind { TD_CALLS_CALLERS, TD_CALLS_CALLEES };

struct td_calls {
    const struct td_measure *measure; /* borrowed */
    enum td_metric
        primary;        /* what values are of: of a category, not the measure's primary metric */
    struct td_call *at; /* at[0] is the function asked for */
    size_t len;
    uint32_t others; /* functions that were asked for beside at[0]'s, and have a part in it */
};

/* What a tree is of. */
struct td_wanted {
    const bool *functions; /* by function */
    const bool *modules;   /* by module: its code without names */
};

/* The tree of all that is wanted, taken as one; the first node is the function of most cost. In
 * recursion it begins at the outermost call. A tree without cost has one node. */
void td_calls_init(struct td_calls *calls, const struct td_measure *measure,
                   enum td_calls_kind kind, const struct td_wanted *wanted, bool no_inline);
/* The same of another metric that the measure has: a category. */
void td_calls_init_of(struct td_calls *calls, const struct td_measure *measure,
                      enum td_metric metric, enum td_calls_kind kind,
                      const struct td_wanted *wanted, bool no_inline);
void td_calls_release(struct td_calls *calls);

/* A row of what functions cost with all they call. */
struct td_inclusive {
    uint32_t function, module;
    uint64_t value, self; /* of the metric */
    uint64_t time_ns;     /* as of td_call */
};

struct td_inclusives {
    const struct td_measure *measure; /* borrowed */
    enum td_metric primary;
    struct td_inclusive *at; /* the dearest first; equals by name */
    size_t len;
};

void td_inclusives_init(struct td_inclusives *rows, const struct td_measure *measure,
                        bool no_inline);
void td_inclusives_init_of(struct td_inclusives *rows, const struct td_measure *measure,
                           enum td_metric metric, bool no_inline);
void td_inclusives_release(struct td_inclusives *rows);

#endif
