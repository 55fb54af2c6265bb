/* SPDX-License-Identifier: MIT */
/*
 * The counting part of a core description (uarch.md, sections [match] and [pmu*]): which CPUs it
 * is for, the events, the groups that fit the counters, the formulas of the top-down tree, the
 * events that locate a node, and metrics beside the tree. The plan and the report read the same.
 */
#ifndef TD_FORMATS_CORES_PMU_H
#define TD_FORMATS_CORES_PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/cores/expr.h"
#include "formats/cores/tma.h"
#include "formats/cores/uarch.h"

#define TD_PMU_GROUP_EVENTS_MAX 24
#define TD_PMU_EVENTS_MAX       128

/* A set of a core's events, a bit each. */
__extension__ typedef unsigned __int128 td_pmu_event_set;

static inline td_pmu_event_set td_pmu_event_bit(size_t event)
{
    return (td_pmu_event_set)1 << event;
}

enum td_pmu_vendor { TD_VENDOR_INTEL, TD_VENDOR_AMD, TD_VENDOR_ARM, TD_VENDOR_ANY };

/* One line of [match]. Intel and AMD: family, model, stepping range. Arm: implementer, part, and
 * variant << 4 | revision as the range. */
struct td_pmu_match {
    enum td_pmu_vendor vendor;
    bool any_model;
    uint32_t family, model, model_last;
    uint32_t low, high; /* inclusive */
};

/* The identity of a CPU in the terms of td_pmu_match. */
struct td_pmu_cpu {
    enum td_pmu_vendor vendor;
    uint32_t family, model, stepping;
    bool smt; /* two threads a core are in use */
};

struct td_pmu_event {
    const char *name;
    uint64_t config, config1;
    int fixed;         /* the fixed counter it can use, or -1 */
    uint32_t counters; /* bits of the general counters it can use */
    bool metric;       /* a perf-metrics event: needs slots as leader, never samples */
    bool precise;      /* PEBS gives the exact instruction */
    bool alone;        /* of those marked so, only those of one config1 are counted at a time */
    bool pair;         /* takes two counters at once; in virtual machines it spoils others */
    bool given;        /* no event, but a value that formulas need: td_pmu_core_give() */
    double value;      /* what the vendor says that it is; NaN: nothing */
    uint64_t period;   /* the vendor's default, or 0 */
};

/* Events scheduled together: events[0] leads, events[sampler] overflows. */
struct td_pmu_group {
    const char *name;
    int level;     /* of the tree that it gives: 1 to TD_TMA_LEVELS; 0: none, only time */
    uint32_t pass; /* 1: the usual recording; 2, 3: with --passes */
    uint32_t sampler;
    uint32_t count;
    uint32_t events[TD_PMU_GROUP_EVENTS_MAX];
};

/* A node's slots are where this event samples. */
struct td_pmu_locator {
    enum td_tma_node node;
    uint32_t event;
};

/* A rate beside the tree: "branch", "branch_mpki", "per 1000 instructions". */
struct td_pmu_metric {
    const char *group, *name, *unit;
    struct td_expr *expr;
};

struct td_pmu_core {
    const char *name, *title;
    const char *note;       /* what its slots are not, for people; "" */
    const char *pmu;        /* hybrid: the sysfs PMU it is for ("cpu_atom"); NULL: any core PMU */
    const char *libpfm;     /* its table in libpfm4 ("spr"); NULL: none */
    uint32_t width;         /* slots a cycle */
    bool width_from_caps;   /* Arm: sysfs caps/slots wins when it is not 0 */
    bool needs_slots_event; /* usable only when sysfs has events/slots */
    bool needs_slot_width;  /* usable only when sysfs caps/slots is not 0 */
    bool retire_latency;    /* precise samples are timed: PEBS_TIMING_INFO */
    int smt;                /* for machines with SMT on (1), off (0), or either (-1) */
    int type;               /* perf_event_attr.type; -1: the core PMU's own */
    uint32_t counters;      /* general counters a thread has */
    uint32_t counters_smt;  /* with SMT on */
    int watchdog;           /* what the NMI watchdog takes: a fixed counter, or -1: a general one */
    uint32_t fixed;         /* bits of the fixed counters that exist */
    const struct td_pmu_match *matches;
    size_t match_count;
    const struct td_pmu_event *events;
    size_t event_count;
    const struct td_pmu_group *groups;
    size_t group_count;
    const struct td_pmu_locator *locators;
    size_t locator_count;
    const struct td_pmu_metric *metrics;
    size_t metric_count;
    double thresholds[TD_NODE_COUNT]; /* NaN: none */
    double latencies[TD_NODE_COUNT];  /* of a node's event, as its vendor says; 0: not known */
    bool latencies_ns;                /* they are in ns, not in cycles */
    struct td_pmu_formulas *formulas; /* private */
};

/* Reads the sections; the result is the caller's and borrows from `uarch`, which must live as
 * long. TD_ENODATA when the description has no [pmu] section (a modelled core only), TD_EFORMAT
 * with the line when it is wrong: unknown names, a group that does not fit the counters. */
int td_pmu_core_read(struct td_pmu_core **ret, const struct td_uarch *uarch, struct td_err *err);
void td_pmu_core_free(struct td_pmu_core *core); /* NULL is allowed */

/* The CPU of an id as profiles hold it: "GenuineIntel-6-143-8", perf's "GenuineIntel,6,143,8", or
 * an Arm's MIDR in hex. Its vendor is ANY when the id says nothing; smt is not in it. */
struct td_pmu_cpu td_pmu_cpu_of(const char *id);

/* What is known beside the counts. NaN, 0: not known. */
struct td_pmu_given {
    double ghz;              /* the core's clock while it counted */
    uint32_t model;          /* of the CPU, as CPUID says it */
    const double *latencies; /* by event: of "EVENT.R" the mean retire latency that was measured,
                                NaN: the vendor's; NULL: all are the vendor's. Borrowed */
};

/* Fills the core's given values into `counts`, which is by event. */
void td_pmu_core_give(const struct td_pmu_core *core, const struct td_pmu_given *given,
                      double *counts);
/* The event whose retire latency the given value of this name, "EVENT.R", is; -1: none. */
int td_pmu_core_timed_event(const struct td_pmu_core *core, const char *name);
/* The given values that the node's formula reads: whether the clock is one, and retire latencies.
 */
struct td_pmu_needs {
    bool clock, latencies;
};
struct td_pmu_needs td_pmu_core_needs(const struct td_pmu_core *core, enum td_tma_node node);

/* How well the description fits: 0 not at all; a match by model beats a vendor's, that beats any.
 */
int td_pmu_core_fits(const struct td_pmu_core *core, const struct td_pmu_cpu *cpu,
                     const char *pmu_name);
/* The event of this name, or -1. */
int td_pmu_core_event(const struct td_pmu_core *core, const char *name);

/* The formula of a node (or of "slots" for TD_NODE_NONE) as it stands, nothing clamped; NaN when
 * the core has none or a count is missing. `counts` is by event, NaN for those not counted; `width`
 * overrides the core's when not 0. */
double td_pmu_core_formula(const struct td_pmu_core *core, enum td_tma_node node,
                           const double *counts, uint32_t width);

/* The events, by bit, that the node's formula reads, through all that it is made of; 0: the core
 * has no formula for it. */
td_pmu_event_set td_pmu_core_node_events(const struct td_pmu_core *core, enum td_tma_node node);

/* Shares of all slots a node, from event counts. */
struct td_pmu_tree {
    double share[TD_NODE_COUNT]; /* NaN: this core or these counts do not say */
    double clamped; /* the sum of what had to be cut to [0, parent] down to level 3, as a share */
    double sum;     /* of level 1 before it was scaled; NaN: one is not known */
    double slots;   /* the denominator */
};

/* What the formulas say, cut to [0, parent] and no more: what they leave out or count twice shows
 * in `sum`. */
void td_pmu_core_shares(const struct td_pmu_core *core, const double *counts, uint32_t width,
                        struct td_pmu_tree *tree);
/* Shares of level 1 add up to 1 whenever all four are known, and those of level 2 to their parent
 * whenever all of them are: negatives become 0, the rest is scaled, `clamped` says by how much.
 * Shares of level 3 and below are at most their parent's. */
void td_pmu_core_tree(const struct td_pmu_core *core, const double *counts, uint32_t width,
                      struct td_pmu_tree *tree);
/* The metric's value, or NaN. */
double td_pmu_core_metric(const struct td_pmu_core *core, const struct td_pmu_metric *metric,
                          const double *counts, uint32_t width);

/* The events that the metric's value is made of, by bit. */
td_pmu_event_set td_pmu_core_metric_events(const struct td_pmu_core *core,
                                           const struct td_pmu_metric *metric);

#endif
