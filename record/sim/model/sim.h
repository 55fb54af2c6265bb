/* SPDX-License-Identifier: MIT */
/*
 * The modelled core, as its users see it: one td_sim a thread, fed with trace.h's words, and its
 * results. Pure and deterministic: the same words give the same results.
 *
 *   blocks = td_blocks_new(&desc)        once a process; the producer defines blocks in it
 *   llc  = td_llc_new(&desc)         once a process
 *   sim  = td_sim_new(blocks, llc)     once a thread
 *   td_sim_predict(sim, words, count, TD_SIM_EXACT)   for each batch
 *   td_sim_run(sim, words, count, TD_SIM_EXACT, NULL)   then
 *   td_sim_each_tally(sim, fn, ctx)  at the end, or at any time between batches
 */
#ifndef TD_RECORD_SIM_MODEL_SIM_H
#define TD_RECORD_SIM_MODEL_SIM_H

#include <stddef.h>
#include <stdint.h>

#include "formats/cpi_methods.h"
#include "formats/ran.h"
#include "formats/habits.h"
#include "formats/regions.h"
#include "formats/replicates.h"
#include "record/sim/model/causes.h"
#include "record/sim/model/blocks.h"
#include "record/sim/model/memory/llc.h"
#include "record/sim/model/trace.h"

struct td_sim;

enum td_sim_mode {
    TD_SIM_EXACT,            /* every slot */
    TD_SIM_DETAILED_WARMING, /* detailed warming: the same, but nothing is counted; the pipeline
                                fills */
    /* Near warming: the end of functional warming, right before a window. All accesses are in the
     * stream, for L1 and its prefetchers, and the uop cache is warmed, too. */
    TD_SIM_NEAR_WARMING,
    /* Functional warming: caches, TLBs and predictors only; no time passes. Of accesses at least
     * those that leave a cache smaller than L1 are in the stream, of TD_TRACE_NO_INSN, and those of
     * calls and returns; all when td_blocks_link. */
    TD_SIM_FUNCTIONAL_WARMING,
    /* Fast-forward: most is not in the stream. Of accesses at least those that leave a cache
     * smaller than L1, of blocks only those that end with a call or return, each before the access
     * that it makes to the stack; all blocks when td_blocks_link. Else those whose code may have
     * left L1 come with TD_TRACE_CODE, on their own. td_sim_skipped says how much ran. */
    TD_SIM_FAST_FORWARD,
};

/* All blocks are in the stream, and no time passes. */
static inline bool td_sim_is_functional(enum td_sim_mode mode)
{
    return mode == TD_SIM_NEAR_WARMING || mode == TD_SIM_FUNCTIONAL_WARMING;
}

/* The columns of a tally; all but the first have a node. Nodes are leaves of the tree, so parents
 * are sums; but L3_BOUND and STORE_BOUND have slots of their own beside those of shared lines. */
enum td_sim_column {
    TD_SIM_COLUMN_INSTRUCTIONS,
#define X(symbol, node, meaning) TD_SIM_COLUMN_RETIRED_##symbol,
    TD_RETIRED(X)
#undef X
#define X(symbol, node, meaning) TD_SIM_COLUMN_##symbol,
        TD_CAUSES(X)
#undef X
            TD_SIM_COLUMN_COUNT,
    TD_SIM_FIRST_RETIRED_COLUMN = TD_SIM_COLUMN_INSTRUCTIONS + 1,
    TD_SIM_FIRST_CAUSE_COLUMN = TD_SIM_FIRST_RETIRED_COLUMN + TD_RETIRED_COUNT,
};

struct td_sim_column_info {
    const char *name;      /* the node's id; "instructions" */
    enum td_tma_node node; /* TD_NODE_NONE: instructions */
};
struct td_sim_column_info td_sim_column_info(enum td_sim_column column);

/* `blocks` and `llc` are borrowed for the sim's life; the sim belongs to one thread at a time. */
struct td_sim *td_sim_new(const struct td_blocks *blocks, struct td_llc *llc);
void td_sim_free(struct td_sim *sim); /* NULL is allowed */

/* Of this one nobody asks for more than totals, tallies, their regions and replicates of all slots:
 * habits and call paths are not kept (of all tallies it is 0), which takes less time. Before the
 * first batch. */
void td_sim_set_bare(struct td_sim *sim);
/* Counts in four ways as well, from now on (counting.h). */
void td_sim_set_counting(struct td_sim *sim);
/* What they counted up to now; all 0 when none do. */
void td_sim_counting(const struct td_sim *sim, uint64_t ret[TD_CPI_COUNTS]);

struct td_sim_pmu;
/* Lets a PMU (pmu.h) count what is run from now on, exact mode only; the sim frees it. */
void td_sim_set_pmu(struct td_sim *sim, struct td_sim_pmu *pmu);

/* What functional warming made of a batch (warming.h). */
struct td_warmed;
struct td_warmed *td_warmed_new(unsigned takers); /* so many sims run each batch */
void td_warmed_free(struct td_warmed *warmed);    /* NULL is allowed */

/* Before a batch is run, what depends on the order of words alone is made of it. td_sim_predict,
 * td_sim_warm and td_sim_run share nothing but the words: one thread may do the one to the next
 * batches while another does the other to those before.
 *
 * What the predictors make of its branches, put into its block words. */
void td_sim_predict(struct td_sim *sim, uint64_t *words, size_t count, enum td_sim_mode mode);
/* What the caches hold when a window begins, and ask for between windows, put into *warmed. Where
 * all batches are TD_SIM_EXACT nobody asks for it; else it sees all of them. */
void td_sim_warm(struct td_sim *sim, const uint64_t *words, size_t count, enum td_sim_mode mode,
                 struct td_warmed *warmed);
/* Takes a batch that was predicted and warmed (NULL: it was not), by this sim or by one whose core
 * does alike, in the same order and mode: whole blocks, beginning with a block or mark word. */
void td_sim_run(struct td_sim *sim, const uint64_t *words, size_t count, enum td_sim_mode mode,
                const struct td_warmed *warmed);

/* So many instructions ran in the batches of TD_SIM_FAST_FORWARD. */
void td_sim_skipped(struct td_sim *sim, uint64_t instructions);

/*
 * Totals and tallies are of all instructions. When some were not modelled exactly, what was charged
 * after the first of these is scaled up: the exact windows stand for the rest, each for what ran
 * between the marks TD_TRACE_SETTLE before and after it.
 */
struct td_sim_totals {
    uint64_t slots;           /* = cycles * width: retired + lost */
    uint64_t cycles;          /* slots / width */
    uint64_t instructions;    /* all */
    uint64_t detailed;        /* instructions that were modelled exactly */
    uint64_t windows;         /* exact parts but the first */
    double cycles_error;      /* td_windows_error */
    double spread;            /* td_windows_spread */
    double learning;          /* share of the cycles that td_learning_fall stands for */
    uint64_t warmed, skipped; /* instructions */
    uint64_t branches, mispredicts, indirect_mispredicts, unknown_targets;
    uint64_t l1d_misses, l2_misses, l3_misses, tlb_misses, prefetches;
    uint64_t l1i_misses, itlb_misses, machine_clears;
    uint64_t folded_calls, truncated_calls, unproven_paths, unmatched_returns;
};
void td_sim_totals(const struct td_sim *sim, struct td_sim_totals *totals);

/* What a program does to the core beside taking slots, as events of a PMU count it: of what was
 * modelled exactly, nothing is scaled. X(symbol, counter of the profile) */
#define TD_SIM_EVENTS(X)                                                   \
    X(BRANCHES, BRANCHES) /* that were taken or not; calls and returns */  \
    X(MISPREDICTS, MISPREDICTS)                                            \
    X(LOADS, LOADS) /* operations that load, and store */                  \
    X(STORES, STORES)                                                      \
    X(L1D_MISSES, L1D_MISSES) /* data alone, no prefetches, as the next */ \
    X(L2_MISSES, L2_MISSES)                                                \
    X(L3_MISSES, L3_MISSES)                                                \
    X(DTLB_WALKS, DTLB_WALKS)                                              \
    X(L1I_MISSES, L1I_MISSES)                                              \
    X(ITLB_MISSES, ITLB_MISSES)

enum td_sim_event {
#define X(symbol, counter) TD_SIM_EVENT_##symbol,
    TD_SIM_EVENTS(X)
#undef X
        TD_SIM_EVENT_COUNT
};
void td_sim_events(const struct td_sim *sim, uint64_t events[TD_SIM_EVENT_COUNT]);

/* The program's thread waits in the kernel, or goes on. From any thread. */
void td_sim_rest(struct td_sim *sim, bool rests);

/* Cycles of what was modelled so far, exactly or to fill the pipeline. */
uint64_t td_sim_clock(const struct td_sim *sim);

/* One instruction on one call path. The slots of a tally are the sum of its columns with a node;
 * over all tallies they are td_sim_totals.slots, and instructions the totals too. Cycles follow
 * from slots. */
struct td_sim_tally {
    uint32_t region; /* the innermost, as td_sim_each_region numbers them, plus 1; 0: in none */
    uint32_t path;   /* node of td_sim_path; 0: no caller known */
    uint64_t pc;     /* a place (trace.h): equal addresses in two mappings are two */
    uint64_t runs;   /* times executed */
    uint64_t values[TD_SIM_COLUMN_COUNT];
};
typedef void td_sim_tally_fn(void *ctx, const struct td_sim_tally *tally);
/* Calls `fn` for each (region, path, pc) that ran, by region, path and pc; a pc in several blocks
 * comes once. What was lost in a region is the region's, even where the instruction that it is lost
 * to ran before: the tallies of a region are what td_sim_each_region says of it. */
void td_sim_each_tally(const struct td_sim *sim, td_sim_tally_fn *fn, void *ctx);

/* Replicates of an instruction's slots of one column in a region, on all paths together: how far
 * what was sampled may be from the whole. Calls `fn` for each that is not 0; an instruction in
 * several blocks comes several times. Of a bare sim, of all its slots: TD_SIM_ALL_SLOTS. */
#define TD_SIM_ALL_SLOTS TD_SIM_COLUMN_INSTRUCTIONS /* which itself has no slots */
typedef void td_sim_replicates_fn(void *ctx, uint32_t region, uint64_t pc,
                                  enum td_sim_column column,
                                  const int64_t replicates[TD_REPLICATES]);
void td_sim_each_replicates(const struct td_sim *sim, td_sim_replicates_fn *fn, void *ctx);

/* The blocks that ran: how often, where they went on, and of the hot ones their
 * uops. `block` has a place in place of module and offset. Calls `fn` for each, by place. */
typedef void td_sim_code_fn(void *ctx, const struct td_ran_block *block);
void td_sim_each_code(const struct td_sim *sim, td_sim_code_fn *fn, void *ctx);
/* How instructions used memory, and branches went, of what was modelled exactly: of as many as a
 * table of fixed size holds, those that ran often. `offset` is the place (trace.h) of the
 * instruction, `key` of a mark of a partner that of the partner, and `module` is 0 for both. Calls
 * `fn` for each; an instruction in several blocks comes several times. */
typedef void td_sim_habit_fn(void *ctx, const struct td_habit *habit);
void td_sim_each_habit(const struct td_sim *sim, td_sim_habit_fn *fn, void *ctx);

/* What was charged in a region that the program marked (regions.h). The `thread`, `region` and
 * `group` of the row say nothing; lengths are in slots, whatever its
 * `unit` says. Nothing is scaled: of `whole` instructions
 * `seen` were modelled exactly, and the values are theirs. */
#define TD_SIM_REGION_OTHERS 0 /* the name of those that are too many to be told apart */
struct td_sim_region {
    uint32_t parent; /* number of the region that it is in; TD_REGION_NONE */
    uint32_t name;   /* as the producer numbers names */
    struct td_region_row row;
    uint64_t values[TD_SIM_COLUMN_COUNT];
};
typedef void td_sim_region_fn(void *ctx, const struct td_sim_region *region);
/* Calls `fn` for each region, numbered from 0, parents before what is in them. */
void td_sim_each_region(const struct td_sim *sim, td_sim_region_fn *fn, void *ctx);
/* A forked child begins: regions that are open in the parent's model are open in its own. */
void td_sim_inherit_regions(struct td_sim *sim, const struct td_sim *parent);

struct td_sim_region_misuse {
    uint64_t strays;    /* ends without a begin in this thread */
    uint64_t left_open; /* ended by the end of an outer one */
};
struct td_sim_region_misuse td_sim_region_misuse(const struct td_sim *sim);

#define TD_SIM_DEPTH_MAX 256 /* calls on a path */

/* The paths: node 0 is the root; parents have lower numbers than their children. */
struct td_sim_path {
    uint32_t parent;
    uint64_t call; /* the last byte of the call instruction, a place */
};
uint32_t td_sim_path_count(const struct td_sim *sim);
struct td_sim_path td_sim_path(const struct td_sim *sim, uint32_t node);

#endif
