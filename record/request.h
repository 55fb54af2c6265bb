/* SPDX-License-Identifier: MIT */
/* What the user asked for: the command line of tdrec, parsed and checked, nothing decided yet. */
#ifndef TD_RECORD_REQUEST_H
#define TD_RECORD_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cpulist.h"
#include "base/err.h"
#include "base/opt.h"
#include "formats/kinds.h"
#include "record/run/inherited.h"

/* X(symbol, name as in the profile) */
#define TD_SCOPES(X)      \
    X(COMMAND, "command") \
    X(PROCESS, "process") \
    X(THREAD, "thread")   \
    X(SYSTEM, "system")   \
    X(CPUS, "cpus")       \
    X(CGROUP, "cgroup")

enum td_scope {
#define X(symbol, name) TD_SCOPE_##symbol,
    TD_SCOPES(X)
#undef X
};

/* X(symbol, name) */
#define TD_CALL_GRAPHS(X) \
    X(NONE, "none")       \
    X(AUTO, "auto")       \
    X(FP, "fp")           \
    X(DWARF, "dwarf")     \
    X(LBR, "lbr")

enum td_call_graph {
#define X(symbol, name) TD_CALL_GRAPH_##symbol,
    TD_CALL_GRAPHS(X)
#undef X
};

/* Samples of top-down groups in pairs (plan_pairs.h). */
enum td_pairs {
    TD_PAIRS_AUTO, /* where they can be had */
    TD_PAIRS_ON,   /* of named groups too; says why not */
    TD_PAIRS_OFF
};

/* Whether stacks are unwound from copies of their bytes. */
static inline bool td_call_graph_copies(enum td_call_graph call_graph)
{
    return call_graph == TD_CALL_GRAPH_DWARF || call_graph == TD_CALL_GRAPH_AUTO;
}

#define TD_DEFAULT_FREQUENCY_HZ 3989
/* The kernel takes multiples of 8 below 64 KiB (man perf_event_open, sample_stack_user). */
#define TD_STACK_BYTES_MAX 65528u

/* For the name of an option, "--call-graph". */
#define TD_OPTION_BYTES 24

struct td_request {
    /* How a command finds itself; set by who runs it, borrowed. */
    const struct td_inherited *inherited;
    char **command; /* borrowed from argv, ends with NULL; NULL when there is none */
    const char *output;
    enum td_source_id source; /* NONE: the best one there is */
    const char *sim_core;     /* the modelled core; NULL: the default */
    const char *sim_pmu;      /* rates at which its PMU is sampled too (sim_pmu.h); NULL: none */
    enum td_scope scope;
    enum td_method method;
    enum td_pairs pairs;
    enum td_call_graph call_graph;
    uint32_t stack_bytes;  /* DWARF: copied of each stack */
    uint64_t frequency_hz; /* 0: a period was asked for */
    uint64_t period;       /* 0: a frequency was asked for */
    struct td_opt_list events;
    struct td_opt_list what_if; /* what is changed in cores that are modelled beside the core */
    struct td_opt_list groups;  /* -M: what of the core is counted; empty: what fits */
    uint32_t *ids;              /* PROCESS, THREAD: pids or tids */
    size_t id_count;
    struct td_cpulist cpus; /* CPUS */
    const char *cgroup;
    const char *control; /* where commands come from (run/control.h); NULL: nowhere */
    const char *toggle;  /* a function: what runs while it does not is left out; NULL */
    bool regions;        /* also where the command is not seen to have marks of its own */
    bool off_cpu;        /* record where threads wait, and how long */
    bool start_off;      /* record nothing until told to */
    uint64_t delay_ms;
    double duration_s;      /* 0: until the end */
    uint64_t ring_pages;    /* a CPU; 0: the default */
    unsigned passes;        /* how many runs, or slices of time, the groups are spread over; 1 */
    unsigned topdown_level; /* how deep a tree is wanted; 0: what fits */
    const char *root;       /* plan for another machine; NULL: this one */
    uint64_t interval_ms;   /* COUNT: tell the counts each time; 0: at the end only */
    uint64_t windows;       /* live: at most so many images; 0: as many as the overhead allows */
    double overhead;        /* live: what images may cost the program, as a part of its time */
    bool weights;           /* -W: samples are to tell latencies and sources of data */
    bool cpi_methods;       /* sim: count cycles in four more ways (formats/cpi_methods.h) */
    bool sim_sample;        /* model windows of the program and scale them up */
    bool frequency_max;     /* as high as the kernel allows */
    bool per_thread;        /* COUNT: each thread by itself too */
    bool count;             /* count, and take no samples; `output` NULL: to stdout */
    bool stalls;            /* COUNT: the stall report in place of the tree */
    /* Called each time the command, or what is watched, has begun; NULL: nobody asks. */
    void (*started)(void *ctx);
    void *started_ctx;
    bool plan, json, doctor, list, calibrate, help, version, quiet;
    char sampler_option[TD_OPTION_BYTES]; /* td_request_sampling_option; "" for none */
    bool command_marked;                  /* by "--": it is meant as it stands */
};

/* Parses and checks argv; what it hands out points into argv. TD_EUSAGE with a sentence. Release
 * after a failure too. */
int td_request_parse(struct td_request *request, int argc, char **argv, struct td_err *err);
void td_request_release(struct td_request *request);
/* An option given that has a meaning only for sampling; NULL when there is none. */
const char *td_request_sampling_option(const struct td_request *request);
void td_request_help(FILE *out);

const char *td_scope_name(enum td_scope scope);
const char *td_call_graph_name(enum td_call_graph call_graph);

#endif
