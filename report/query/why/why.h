/* SPDX-License-Identifier: MIT */
/*
 * Why code costs what it costs on the modelled core: the loss that is the largest, the instruction
 * that has most of it, how that uses memory or branches (formats/habits.h), and one cause.
 */
#ifndef TD_REPORT_QUERY_WHY_WHY_H
#define TD_REPORT_QUERY_WHY_WHY_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/habits.h"
#include "formats/measure.h"
#include "report/query/code_of.h"
#include "report/query/loops/loops.h"
#include "report/query/why/callers.h"
#include "report/query/why/copies.h"

/* X(symbol, id, in short) */
#define TD_WHY_CAUSES(X)                                                                   \
    X(NOTHING, "none", "nothing holds it up")                                              \
    X(STRIDE, "stride", "long strides")                                                    \
    X(RANDOM, "random_access", "random access")                                            \
    X(CHASE, "pointer_chase", "pointer chase")                                             \
    X(FOOTPRINT, "footprint", "footprint larger than the cache")                           \
    X(STREAM, "streaming", "streaming from memory")                                        \
    X(CONFLICT, "conflict", "conflict: too many lines for the same sets of the cache")     \
    X(TLB, "tlb_reach", "TLB reach: more pages than the TLB holds")                        \
    X(ALIGNMENT, "alignment", "alignment: accesses over the end of a cache line")          \
    X(BLOCKED, "store_forwarding", "store forwarding blocked")                             \
    X(ALIAS, "4k_alias", "4K alias")                                                       \
    X(ORDER, "memory_order", "a load ran before the store that it needs")                  \
    X(FORWARDED, "through_memory", "dependency chain through memory")                      \
    X(LOCK, "atomic", "atomic operation")                                                  \
    X(FIRST, "first_use", "data that are used for the first time")                         \
    X(MISSES, "cache_misses", "cache misses")                                              \
    X(SHARED, "sharing", "a line that other threads write")                                \
    X(STORES, "store_buffer", "stores wait for the cache")                                 \
    X(CHAIN, "dependency_chain", "dependency chain")                                       \
    X(PORT, "port", "port bound")                                                          \
    X(DIVIDER, "divider", "divider")                                                       \
    X(SERIAL, "serializing", "serializing operation")                                      \
    X(FAULTS, "page_faults", "page faults: pages that are used for the first time")        \
    X(BRANCH_RANDOM, "branch_random", "branch pattern: random")                            \
    X(BRANCH_PERIODIC, "branch_periodic", "branch pattern: a long period")                 \
    X(BRANCH_CORRELATED, "branch_correlated", "branch pattern: as an earlier branch went") \
    X(BRANCH_BIASED, "branch_biased", "branch pattern: one way mostly, without a rule")    \
    X(BRANCH_INDIRECT, "branch_indirect", "branch pattern: targets that change")           \
    X(BRANCH, "branch_mispredicts", "mispredicted branch")                                 \
    X(FRONTEND, "frontend", "front end: instructions arrive late")

enum td_why_cause {
#define X(symbol, id, text) TD_WHY_##symbol,
    TD_WHY_CAUSES(X)
#undef X
        TD_WHY_CAUSE_COUNT
};

const char *td_why_id(enum td_why_cause cause);
const char *td_why_text(enum td_why_cause cause);

/* What the core has, in bytes and pages; 0: not known. */
struct td_why_core {
    uint64_t l1, l2, l3;
    uint64_t tlb_pages, stlb_pages;
};

/* What an instruction waited for because other threads used its lines. */
struct td_why_shared {
    double falsely;    /* share of those cycles in which they used other bytes; NAN: not known */
    uint32_t location; /* what they waited for most; TD_NONE: not known */
    bool store;        /* it stores */
};

struct td_why {
    enum td_why_cause cause;
    bool beside;            /* the cause is plain to see, but no loss stands out */
    enum td_why_cause also; /* another that is plain to see, of memory: `also_habit` has
                               it; TD_WHY_NOTHING: there is none */
    const struct td_habit *also_habit;
    struct td_why_copies also_copies;
    enum td_tma_node node;            /* the largest loss; TD_NODE_NONE where none takes a tenth */
    double retiring;                  /* shares of the slots of the code: useful work, */
    double lost;                      /* and the losses that the cause explains */
    uint64_t values[TD_METRIC_COUNT]; /* of all the code that was asked about */
    /* The instruction that has most of it. */
    uint32_t module, location;
    uint64_t offset;
    double part;                  /* of those losses */
    const struct td_habit *habit; /* borrowed from the model or the basis; NULL: not known */
    struct td_why_copies copies; /* of the instruction; `habit` is that of all, where it is known */
    const struct td_habit_mark *partner; /* the store in the way or that had the data, or the
                                            branch that tells how this one goes; NULL: none */
    const struct td_habit *partner_habit;
    uint32_t partner_location;   /* TD_NONE: nothing was charged to it */
    const struct td_loop *loop;  /* the innermost that the instruction is in, borrowed from the
                                    basis; NULL: none, or the cause has nothing to do with it */
    struct td_why_shared shared; /* of TD_WHY_SHARED */
    struct td_why_caller callers[TD_WHY_CALLERS]; /* of a mispredicted branch */
    size_t caller_count;
    struct td_why_core core;
};

/* What can be said of one habit. */
enum { TD_WHY_STEPS = 4 };
struct td_why_memory {
    double stride_share; /* of the most frequent stride */
    int64_t stride;
    int64_t steps[TD_WHY_STEPS]; /* strides of a tenth of the accesses each at least, */
    unsigned step_count;
    int64_t mean_step; /* and their mean, where nearly all accesses go on by them, one way; 0 */
    double bytes;      /* per access */
    double new_line;   /* share of accesses to another line than the one before */
    double new_page;
    double used;      /* bytes of each line that are used before it leaves L1; 0: not known */
    double conflicts; /* share of the lines */
    double serial;    /* share of the accesses */
    double from[4];   /* shares that L1, L2, L3 and memory served */
    double walks, split, split_pages, unaligned, forwarded, blocked, aliased;
    double faults;             /* share of the accesses that are the first to their page */
    bool stays;                /* its lines are in L1 nearly always */
    bool conflicting;          /* they push one another out of L1 */
    double first;              /* share of the lines that came for the first time; NAN: not known */
    double again_bytes;        /* others that came until a line came again, typically: from
                                  so many up to twice as many; NAN */
    uint64_t footprint, pages; /* bytes; pages */
    unsigned sets;             /* of 64 */
};
struct td_why_memory td_why_memory_of(const struct td_habit *habit);

struct td_why_branch {
    double taken, wrong, turns; /* shares of the executions */
    bool searched;              /* for a period */
    uint32_t period;            /* 0: none was found */
    bool follows;               /* an earlier branch tells how it goes */
};
struct td_why_branch td_why_branch_of(const struct td_habit *habit);

/* What is asked of rows by stack. */
#define TD_WHY_STACK_METRICS                                      \
    (TD_METRICS_OF_COST | TD_METRIC_BIT(TD_METRIC_INSTRUCTIONS) | \
     TD_METRIC_BIT(TD_METRIC_FIRST_NODE + TD_NODE_BRANCH_MISPREDICTS))

/* What the causes of a measure's places are found from. Its loops are looked for when the first
 * cause needs them. */
struct td_why_basis {
    const struct td_measure *measure; /* borrowed; with slots and all metrics */
    const struct td_measure *stacks;  /* borrowed; the same by stack, or the measure itself */
    struct td_loops loops;
    bool looped;
    struct td_habit **joined; /* of copies of one access */
    size_t joined_len, joined_cap;
};

struct td_why_basis td_why_basis_init(const struct td_measure *measure,
                                      const struct td_measure *stacks);
void td_why_basis_release(struct td_why_basis *basis);

/* `parts`: not empty. */
void td_why_of(struct td_why *why, struct td_why_basis *basis, const struct td_code_parts *parts);

#endif
