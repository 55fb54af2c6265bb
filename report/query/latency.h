/* SPDX-License-Identifier: MIT */
/*
 * What precise samples say of latencies and of where data came from, by event and by function or
 * line: PEBS weights, AMD's IBS, Arm's SPE, and what imports bring along.
 */
#ifndef TD_REPORT_QUERY_LATENCY_H
#define TD_REPORT_QUERY_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/data_source.h"
#include "formats/frames.h"
#include "report/query/figures/measure.h"

/* In the order of what a reader wants first: X(symbol, column kind, id, what it is, zero counts).
 * A retirement can follow the one before in the same cycle; of the others 0 is "not told". */
#define TD_LATENCIES(X)                                                                     \
    X(RETIRE, RETIRE_LATENCY, "retire", "retire latency: from the retirement before", true) \
    X(DATA, LATENCY, "latency", "latency of the access", false)                             \
    X(INSTRUCTION, INSTR_LATENCY, "instruction", "latency of the whole instruction", false) \
    X(TLB, TLB_LATENCY, "tlb", "latency of the TLB refill", false)                          \
    X(WAIT, RETIRE_WAIT, "retire_wait", "wait from completion to retirement", true)

enum td_latency_kind {
#define X(symbol, column, id, meaning, zero) TD_LATENCY_##symbol,
    TD_LATENCIES(X)
#undef X
        TD_LATENCY_KINDS
};

const char *td_latency_id(enum td_latency_kind kind);
const char *td_latency_meaning(enum td_latency_kind kind);

/* Of single samples, each counted once, in cycles. */
struct td_latency_figures {
    uint64_t samples; /* that tell it; 0: all else is 0 */
    double mean, median;
    uint64_t p95; /* the least value that 95 % of the samples do not exceed */
    uint64_t max;
};

struct td_latency_row {
    struct td_frame frame; /* of the function, or of the line; unused in a total */
    uint64_t samples;
    uint64_t events; /* what they stand for */
    double held;     /* cycles for which these held up retirement: events x latency; 0: not known */
    struct td_latency_figures figures[TD_LATENCY_KINDS];
    uint64_t accesses; /* samples that are loads or stores */
    uint64_t sources[TD_DATA_SOURCE_COUNT];
    uint64_t hitm, tlb_walks, locked, stores; /* of the accesses */
};

/* Where the latency of `held` is from. */
enum td_latency_held {
    TD_HELD_UNKNOWN,
    TD_HELD_MEASURED, /* each sample's retire latency */
    TD_HELD_STATIC    /* the vendor's figure for the core */
};

struct td_latency_event {
    const char *name;         /* borrowed from the model */
    const char *cpu_type;     /* of hybrid machines; "" else */
    enum td_tma_node locates; /* TD_NODE_NONE: none, or several */
    enum td_latency_held held;
    double static_latency; /* of STATIC, in ns or cycles; */
    bool static_ns;
    struct td_latency_row total;
    struct td_latency_row *rows; /* those with the most cycles of the first kind first */
    size_t len;
};

struct td_latency {
    struct td_latency_event *at; /* those with the most samples first */
    size_t len;
    double cycles; /* of all that is reported; 0: not known */
};

/* Of the samples that pass the filter; no event is no failure. `lines`: rows are lines, else
 * functions. td_latency_weigh is to follow. Release it. */
void td_latency_of(struct td_latency *ret, const struct td_model *model,
                   const struct td_filter *filter, bool lines);
/* Adds what needs the rest of the profile: all cycles, and static latencies for events that locate
 * a node and whose samples are not timed, where the core's description has them. Events that then
 * say nothing are taken out. */
void td_latency_weigh(struct td_latency *latency, const struct td_measure *measure);
void td_latency_release(struct td_latency *latency);

/* How long the row's samples took together: what rows are sorted by. */
double td_latency_cost(const struct td_latency_row *row);

#endif
