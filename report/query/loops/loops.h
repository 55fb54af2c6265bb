/* SPDX-License-Identifier: MIT */
/*
 * The loops of a modelled program: how often they ran, what an iteration costs, and what bounds it.
 * Which blocks ran and where they went on is the profile's (formats/ran.h); what they cost is the
 * measure's, so that filters hold and sampled runs are scaled.
 */
#ifndef TD_REPORT_QUERY_LOOPS_LOOPS_H
#define TD_REPORT_QUERY_LOOPS_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/measure.h"

/* What may bound a loop, in cycles per iteration. X(symbol, id, what it is) */
#define TD_LOOP_BOUNDS(X)                                                                  \
    X(CHAIN, "chain", "the chain of dependencies from one iteration to the next")          \
    X(PORTS, "ports", "execution ports")                                                   \
    X(WIDTH, "width", "uops over the width of the core")                                   \
    X(DIVIDER, "divider", "a divider, which takes one at a time")                          \
    X(LOCK, "lock", "locked instructions, one at a time")                                  \
    X(UNIT, "unit", "another unit that takes one at a time")                               \
    X(MEMORY, "memory", "slots lost to data beyond L1")                                    \
    X(STORES, "stores", "slots lost to a full store buffer")                               \
    X(LATENCY, "latency", "slots lost to results and L1 within an iteration")              \
    X(PREDICTION, "mispredicts", "slots lost to mispredicted branches and machine clears") \
    X(FETCH, "frontend", "slots lost to fetch and decode")                                 \
    X(SERIAL, "serial", "slots lost to fences and repeated string instructions")           \
    X(INNER, "inner loop", "the loops in it")                                              \
    X(CALLS, "calls", "what it calls")

enum td_loop_bound {
#define X(symbol, id, about) TD_LOOP_##symbol,
    TD_LOOP_BOUNDS(X)
#undef X
        TD_LOOP_BOUND_COUNT
};
const char *td_loop_bound_id(enum td_loop_bound bound);

/* What is so much longer than an iteration takes is not in each of them, or several overlap. */
#define TD_LOOP_LONGER 1.05

enum { TD_LOOP_EACH_PORT = 16, TD_CODE_LINE = 64 };

/* An instruction on the chain. */
struct td_loop_link {
    uint64_t offset;
    uint32_t location; /* of a chain's; TD_NONE: it is not in the model */
    double cycles;     /* per iteration */
    bool loads;
};

struct td_loop {
    uint32_t parent; /* index of a loop before it; TD_NONE */
    uint32_t depth;
    uint32_t module;
    uint64_t header;    /* its offset */
    uint32_t function;  /* TD_NONE: no name is known; may be inlined */
    uint32_t container; /* the function that holds its code */
    uint32_t file;      /* 0: no lines are known */
    uint32_t line_first, line_last;
    double entries, iterations;
    double slots;        /* its own and its inner loops', */
    double called_slots; /* and those of all that it calls */
    double instructions, uops;
    double nodes[TD_NODE_COUNT]; /* own slots by leaf of the tree */
    /* Per iteration: */
    double cycles;
    double bounds[TD_LOOP_BOUND_COUNT]; /* NaN: not known */
    enum td_loop_bound bound;           /* the largest, which explains so much of the cycles: */
    double explained;                   /* 0 to 1 */
    double passed; /* cycles of a chain through memory that iterations do not take, since the core
                      passes on what stores had; 0: there is none */
    double port_uops;             /* on `ports` */
    uint16_t ports;               /* those that are the bound of all ports, by bit; 0: none */
    bool port_loads, port_stores; /* that is what they are for */
    bool calls;                   /* something, on the path on which the chain is */
    bool irregular;               /* it is entered in several places: iterations are those of one */
    double each_port[TD_LOOP_EACH_PORT]; /* cycles for which each is busy at least, when uops are
                                            spread over the ports as evenly as can be */
    struct td_loop_link *links;          /* of the chain, in program order */
    size_t link_count;
    double path_share;            /* of the iterations that take the path on which the chain is */
    struct td_loop_link *divides; /* those that take the divider, and for how long */
    size_t divide_count;
    struct td_loop_link *takers; /* those that can go to none but `ports`, and for how long */
    size_t taker_count;
    uint64_t code_bytes; /* that every other iteration runs at least; 0: not known */
    uint32_t code_lines; /* of TD_CODE_LINE bytes, that they are in */
};

struct td_loops {
    struct td_loop *at; /* a loop before those in it; outermost ones by slots, then inner ones */
    size_t len;
    double slots;          /* of all that the measure holds */
    double width;          /* slots per cycle */
    bool recorded;         /* the profile says which blocks ran */
    uint32_t *of_location; /* by location: index of its innermost loop; TD_NONE */
    size_t location_count;
};

/* Of a measure with modelled slots and all metrics. `stacks` has the slots of the same places by
 * stack, from which it is known what loops call; it may be the measure itself. Release afterwards.
 */
void td_loops_init(struct td_loops *loops, const struct td_measure *measure,
                   const struct td_measure *stacks);
void td_loops_release(struct td_loops *loops);
/* What the bound takes of an average iteration, in cycles; NaN: not known. A chain that is longer
 * than iterations take is not in all of them, but on the path of a part. */
double td_loop_binding(const struct td_loop *loop, enum td_loop_bound bound);
/* What loads take of the chain, in cycles. */
double td_loop_chain_loads(const struct td_loop *loop);
/* Whether the core can have begun the next entry of the loop before it is through with this one. */
bool td_loop_overlaps(const struct td_loop *loop);
/* Whether an iteration takes as long as the lines of code that it lies over, which come one a
 * cycle.
 */
bool td_loop_is_of_code_lines(const struct td_loop *loop);
/* The innermost loop that the location is in; NULL. */
const struct td_loop *td_loops_at(const struct td_loops *loops, uint32_t location);

#endif
