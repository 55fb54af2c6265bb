/* SPDX-License-Identifier: MIT */
/*
 * From an address and the cycle of its access to the cycle its data are there, and what served it:
 * TLBs, L1, L2, the last-level cache and memory, with misses in flight, bandwidth and prefetchers.
 */
#ifndef TD_RECORD_SIM_MODEL_MEMORY_MEMORY_H
#define TD_RECORD_SIM_MODEL_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/likely.h"
#include "formats/cores/core.h"
#include "record/sim/model/memory/beyond.h"
#include "record/sim/model/memory/caches.h"
#include "record/sim/model/memory/llc.h"
#include "record/sim/model/memory/pages.h"
#include "record/sim/model/memory/prefetch.h"
#include "record/sim/model/memory/queues.h"
#include "record/sim/model/habits/lines.h"

/* What served an access, and what took its time there; the later the value, the further away. */
enum td_level {
    TD_LEVEL_L1,
    TD_LEVEL_DTLB, /* L1, but the page had to be found first */
    TD_LEVEL_L2,
    TD_LEVEL_L3,
    TD_LEVEL_SHARED, /* another core, that has changed the line */
    TD_LEVEL_DRAM,
    TD_LEVEL_DRAM_QUEUE, /* memory, after the lines that were asked for before */
    TD_LEVEL_COUNT
};

enum { TD_LINE_BITS = 6, TD_PAGE_BITS = 12 };

/* A line that is on its way, was prefetched and not used since, or is watched: the directory is to
 * be told of each access; 0: plainly there. */
#define TD_PENDING(ready, level, prefetched) \
    ((ready) << 5 | (int64_t)(level) << 1 | (int64_t)(prefetched))
#define TD_PENDING_WATCHED       INT64_C(16)
#define TD_PENDING_READY(p)      ((p) >> 5)
#define TD_PENDING_LEVEL(p)      ((enum td_level)((p) >> 1 & 7))
#define TD_PENDING_PREFETCHED(p) (((p)&1) != 0)

struct td_memory_counts {
    uint64_t l1d_misses, l2_misses, l3_misses, tlb_misses, prefetches;
    /* Of the program's own accesses to data alone: no prefetches, code or page tables. */
    uint64_t data_l2_misses, data_l3_misses, data_walks;
};

struct td_memory {
    const struct td_core_desc *desc;
    struct td_llc *llc;       /* borrowed; NULL: time never passes here (td_memory_init_warmed) */
    struct td_beyond *beyond; /* then: where what L2 asks for is noted; borrowed, NULL: nowhere */
    uint64_t last_page;
    uint64_t past_line; /* the line last written past the caches, and when it was begun */
    int64_t past_begun;
    int line, write;      /* of memory's rate: what one line, one written back takes now, ticks */
    uint64_t ticks;       /* of it that were taken since the company was told */
    int64_t told;         /* the cycle in which that was */
    int64_t seen, passed; /* the latest cycle that a line was asked for; cycles not modelled */
    struct td_cache l1d, l2, dtlb, stlb;
    int64_t *l1d_pending, *l2_pending; /* by slot */
    /* By slot of L1: the directory is to be told of the next store, also while there is one thread.
     */
    bool *l1d_clean;
    struct td_sharer *sharer;
    bool sharing; /* there are other threads */
    /* The last access was to a line that others may use: td_memory_share says what that costs. */
    bool watched;
    /* The process's first thread: of the pages of others nobody knows whether they are mapped. */
    bool faults;
    enum td_level behind_walk; /* of an access of TD_LEVEL_DTLB: what served its line */
    bool fresh;                /* a page was mapped; who charges its fault takes it back */
    bool uncounted;            /* what sharing costs now is of no row */
    struct td_pool l1d_fills, l2_fills, walks;
    struct td_lane l2_lane, l3_lane, dram_lane;
    struct td_prefetch prefetch;
    struct td_pages pages; /* when the core cares (first_touch) */
    struct td_memory_counts counts;
    struct td_lines *lines; /* what becomes of L1's lines; borrowed, NULL: nobody asks */
    uint32_t slot;          /* of L1, that the last td_memory_access used */
};

/* `desc` and `llc` are borrowed for the memory's life. */
void td_memory_init(struct td_memory *memory, const struct td_core_desc *desc, struct td_llc *llc);
/* One that is only ever warmed: it has no last level, and `beyond` is set to say where what it asks
 * of that is noted. `faults` as of the memory that goes on from it. */
void td_memory_init_warmed(struct td_memory *memory, const struct td_core_desc *desc, bool faults);
void td_memory_release(struct td_memory *memory);

/* Cycles that translation adds at cycle `t` for a page other than the last one. */
int64_t td_memory_translate(struct td_memory *memory, struct td_cache *first,
                            struct td_cache *second, uint64_t page, int64_t t);
/* Other threads may have begun to use lines of this one, which is in `cycle`. */
void td_memory_follow_others(struct td_memory *memory, int64_t cycle);
/* Tells the company (company.h) what was done up to `cycle`, and hears what it leaves. */
void td_memory_keep_company(struct td_memory *memory, int64_t cycle);
/* The access, at `t`, was `watched`: when the thread has the line. */
struct td_share_answer td_memory_share(struct td_memory *memory,
                                       const struct td_share_access *access, int64_t t);

/* The slow ways of td_memory_access. What `pending` is told of the level stays when L1 serves. */
int64_t td_memory_pending(struct td_memory *memory, uint32_t slot, uint64_t line, int64_t t,
                          bool store, enum td_level *level);
int64_t td_memory_miss(struct td_memory *memory, uint64_t line, int64_t t, int64_t translation,
                       bool store, enum td_level *level);
/* A line of code or of another agent, from L2 on. */
int64_t td_memory_from_l2(struct td_memory *memory, uint64_t line, int64_t t, enum td_level *level);
/* What would serve a line that L1 does not hold; changes nothing. */
enum td_level td_memory_probe(const struct td_memory *memory, uint64_t line);
/* A store past the caches at cycle `t`: the cycle in which there is a buffer for its line, as if L1
 * had been asked. */
int64_t td_memory_write_past(struct td_memory *memory, uint64_t address, int64_t t);
/* `count` pages from `page` on hold a file that is only read, or do not any more (pages.h). */
void td_memory_map(struct td_memory *memory, uint64_t page, uint64_t count, bool file);
/* Asks for the line at `address` to be brought into L1. */
void td_memory_prefetch(struct td_memory *memory, uint64_t address, int64_t t);

/* A load at cycle `t` that is thrown away in cycle `until`: the cycle of its data. Nothing is asked
 * for when there is no room for a miss before. */
int64_t td_memory_ahead(struct td_memory *memory, uint64_t address, int64_t t, int64_t until);

/* The cycle in which the data of an access at cycle `t` are there, and the level that serves. */
static inline int64_t td_memory_access(struct td_memory *memory, uint64_t address, int64_t t,
                                       bool store, enum td_level *level)
{
    const uint64_t page = address >> TD_PAGE_BITS, line = address >> TD_LINE_BITS;

    int64_t translation = 0;
    *level = TD_LEVEL_L1;
    if (page != memory->last_page) {
        memory->last_page = page;
        if (TD_UNLIKELY(td_cache_find(&memory->dtlb, page) == TD_CACHE_MISS)) {
            translation = td_memory_translate(memory, &memory->dtlb, &memory->stlb, page, t);
            t += translation;
            if (translation) {
                *level = TD_LEVEL_DTLB;
                memory->behind_walk = TD_LEVEL_L1;
            }
        }
    }
    const uint32_t slot = memory->slot = td_cache_find(&memory->l1d, line);
    if (TD_UNLIKELY(slot == TD_CACHE_MISS))
        return td_memory_miss(memory, line, t, translation, store, level);
    if (TD_UNLIKELY(memory->l1d_pending[slot] != 0 || (store && memory->l1d_clean[slot])))
        return td_memory_pending(memory, slot, line, t, store, level);
    return t + memory->desc->l1d_latency;
}

/* Lets the stride prefetcher see a load of instruction `key`. */
static inline void td_memory_train(struct td_memory *memory, uint32_t key, uint64_t address,
                                   int64_t t)
{
    const uint64_t next = td_prefetch_stride(&memory->prefetch, key, address, memory->desc->stride);

    if (TD_UNLIKELY(next != 0))
        td_memory_prefetch(memory, next, t);
}

/* Of a memory that is only ever warmed: the access warms TLBs and caches, what the prefetchers want
 * of it comes at once. */
void td_memory_warm(struct td_memory *memory, uint64_t address);
/* The same of a load of instruction `key`, which the stride prefetcher sees. */
static inline void td_memory_warm_load(struct td_memory *memory, uint32_t key, uint64_t address)
{
    td_memory_warm(memory, address);
    td_memory_train(memory, key, address, 0);
}

/* L2 holds the line from now on, in no time. */
void td_memory_warm_l2(struct td_memory *memory, uint64_t line);
/* L2 holds what a walk for the page reads. */
void td_memory_warm_walk(struct td_memory *memory, uint64_t page);
/* What a warmed memory asked for reaches this one's last level and pages. */
void td_memory_take_beyond(struct td_memory *memory, const struct td_beyond *beyond);
/* Caches, TLBs and what the prefetchers follow are from now on what they are in `from`, whose core
 * has the same ones (td_core_desc_warms_alike); nothing is on its way. */
void td_memory_go_on_from(struct td_memory *memory, const struct td_memory *from);

#endif
