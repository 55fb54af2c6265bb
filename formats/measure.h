/* SPDX-License-Identifier: MIT */
/*
 * A profile after attribution: for each (thread, stack) what it took, in time and in slots a node.
 * report/query makes it from a model; tables, annotate and every exporter read it. Integers, so
 * that every view and every export adds up to the same totals, to the unit.
 */
#ifndef TD_FORMATS_MEASURE_H
#define TD_FORMATS_MEASURE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/model.h"

/* The columns of a measure: symbol, id, name with the unit, unit. Time is measured (clock, pmu), or
 * modelled: cycles over the core's nominal clock. EVENT is what the sampling event counted, when
 * that is not time. Of a join: native time where it was sampled, and modelled time, both of code
 * that ran in both. */
#define TD_METRICS(X)                                                     \
    X(SAMPLES, "samples", "samples", TD_UNIT_COUNT)                       \
    X(TIME_NS, "time", "time_ns", TD_UNIT_NS)                             \
    X(EVENT, "event", "event", TD_UNIT_COUNT)                             \
    X(CYCLES, "cycles", "cycles", TD_UNIT_CYCLES)                         \
    X(INSTRUCTIONS, "instructions", "instructions", TD_UNIT_INSTRUCTIONS) \
    X(SLOTS, "slots", "slots", TD_UNIT_SLOTS)                             \
    X(SAMPLED_NS, "sampled_time", "sampled_time_ns", TD_UNIT_NS)          \
    X(MODELLED_NS, "modelled_time", "modelled_time_ns", TD_UNIT_NS)

/* Behind them one a node of the tree, of slots. */
enum td_metric {
#define X(symbol, id, key, unit) TD_METRIC_##symbol,
    TD_METRICS(X)
#undef X
        TD_METRIC_FIRST_NODE,
    TD_METRIC_COUNT = TD_METRIC_FIRST_NODE + TD_NODE_COUNT
};

/* A set of metrics, a bit each. */
__extension__ typedef unsigned __int128 td_metric_set;
static_assert(TD_METRIC_COUNT <= 128, "sets of metrics are bits");
#define TD_METRIC_BIT(metric) ((td_metric_set)1 << (metric))

/* The metric's id as in JSON and exports: "samples", "time", "slots", …, or the node's id. */
const char *td_metric_id(enum td_metric metric);
/* The same with its unit, as data formats name columns: "time_ns". */
const char *td_metric_key(enum td_metric metric);
enum td_unit td_metric_unit(enum td_metric metric);
/* The metric of a node; and of what a counter counts, TD_METRIC_COUNT: none of its own. */
enum td_metric td_metric_of_node(enum td_tma_node node);
enum td_metric td_metric_of_unit(enum td_unit unit);
/* In any case of letters. TD_METRIC_COUNT when there is none of this id. */
enum td_metric td_metric_by_id(const char *id);

struct td_measure_row {
    uint32_t thread;
    uint32_t node;
    uint64_t time_ns; /* of the sample when rows are samples (by_sample), else 0 */
};

/* How far the slots of a leaf at a place may be from the whole, because the run was sampled. */
struct td_measure_replicates {
    uint32_t thread;
    uint32_t node; /* of the model: of one frame */
    enum td_tma_node leaf;
    const uint64_t *values; /* TD_REPLICATES signed numbers, borrowed from the model */
};

struct td_slots; /* report/attribution/slots.h */
struct td_join;  /* report/query/figures/weights.h */

struct td_measure {
    const struct td_model *model; /* borrowed */
    struct td_slots *slots;       /* measured slots: how they were attributed; NULL else */
    void (*free_slots)(struct td_slots *slots);
    char *no_slots; /* why the profile's top-down groups say nothing; NULL when they do, or there
                       are none */
    enum td_attribution attribution;
    struct td_join *join; /* of a join: how it was made; NULL else */
    void (*free_join)(struct td_join *join);
    bool weighted; /* a join of measured time with modelled categories
                      (report/query/figures/weights.h) */
    /* Modelled time: so many of this metric are a second. 0: time was measured. */
    uint64_t time_rate;
    enum td_metric time_of;
    uint64_t modelled_only_ns; /* of a join: modelled time of code that took no native sample */
    bool by_sample;            /* rows are samples in the order of time, not sums */
    bool by_leaf;   /* rows are a thread's places; a row's node is one of several that are there */
    uint32_t event; /* of TD_METRIC_EVENT and TD_METRIC_SAMPLES; TD_NONE when modelled */
    char *event_name;       /* its name; NULL with TD_NONE */
    bool all_core_types;    /* hybrid CPUs: the event is added up over all types of cores */
    uint64_t event_samples; /* of several sampled events: this one's before any filter; else 0 */
    /* To be exported: by row, the set of nodes of which too little is known to say that they are of
     * this place, and those that are of the function and of none of its lines; NULL: all is known.
     * The last rows hold what has no place for that reason. */
    td_tma_set *blank, *no_line;
    size_t placeless;
    size_t row_count;
    struct td_measure_row *rows;
    uint64_t *values[TD_METRIC_COUNT]; /* each row_count long; NULL: this profile does not say */
    uint64_t totals[TD_METRIC_COUNT];  /* sums of the columns; 0 for NULL */
    /* The same run on cores with something changed, of the same threads and places: their cycles,
     * time, instructions and slots. */
    struct td_measure **variants;
    size_t variant_count;
    const char *variant; /* what is changed (formats/cores/variant.h); NULL: nothing */
    struct td_measure_replicates
        *replicates; /* of a sampled model: of the same threads and places */
    size_t replicate_count;
};

/* What rows are sorted by and shares are of: of a join time; else slots, else time, else the event,
 * else samples. */
enum td_metric td_measure_primary(const struct td_measure *measure);
/* Sets the modelled time of a sum of rows from what the sum is of, so that it is rounded once and
 * does not depend on the order of the rows. `values` are by enum td_metric; does nothing when time
 * was measured. */
void td_measure_sum_time(const struct td_measure *measure, uint64_t *values);
/* Of TD_METRIC_EVENT: its name, as "cycles:u"; "event" where it has none. */
const char *td_measure_event_name(const struct td_measure *measure);
/* Whether its rows are of more than one process name. */
bool td_measure_has_processes(const struct td_measure *measure);
/* Of how many threads it has any of the primary metric, which is their sum. */
size_t td_measure_thread_count(const struct td_measure *measure);
void td_measure_free(struct td_measure *measure); /* NULL is allowed */

#endif
