/* SPDX-License-Identifier: MIT */
/*
 * Regions that the program marks (region/tdprof/region.h), in one modelled thread: what was charged
 * between two marks. The clock is that of dispatch, so that every slot is in the regions that were
 * open when it passed, and in no other.
 */
#ifndef TD_RECORD_SIM_MODEL_REGIONS_H
#define TD_RECORD_SIM_MODEL_REGIONS_H

#include <stdint.h>

#include "formats/regions.h"
#include "record/sim/model/blocks.h"
#include "record/sim/model/causes.h"
#include "record/sim/model/sim.h"

enum {
    /* Regions of a thread that are told apart; the rest is TD_REGION_OTHERS. */
    TD_SIM_REGIONS_MAX = 1024,
    /* Open at a time. What is begun beyond is counted and no more. */
    TD_SIM_REGIONS_OPEN_MAX = 4096,
};

/* Everything so far, of which a call's is a difference. */
struct td_region_clock {
    uint64_t instructions; /* all */
    uint64_t values[TD_SIM_COLUMN_COUNT];
};

struct td_sim_regions;

struct td_sim_regions *td_sim_regions_new(void);
void td_sim_regions_free(struct td_sim_regions *regions); /* NULL is allowed */

/* What the ledger lost so far, by cause: td_ledger.lost. */
uint64_t *td_sim_regions_lost(struct td_sim_regions *regions);
/* One more execution of a block that counts. */
void td_sim_regions_block(struct td_sim_regions *regions, const struct td_block *block);

/* `all` and `exact`: instructions so far, and those of them that were modelled exactly. */
void td_sim_regions_begin(struct td_sim_regions *regions, uint32_t name, uint64_t all,
                          uint64_t exact);
/* The innermost open region of the name ends, and those in it. */
void td_sim_regions_end(struct td_sim_regions *regions, uint32_t name, uint64_t all,
                        uint64_t exact);
/* The innermost region that is open, plus 1; 0: none is. */
uint32_t td_sim_regions_now(const struct td_sim_regions *regions);
/* Another thread goes on here: what is open stays open. */
void td_sim_regions_leave(struct td_sim_regions *regions);
/* A forked child: what is open in its parent is open in it. `regions` is new. */
void td_sim_regions_inherit(struct td_sim_regions *regions, const struct td_sim_regions *parent);

/* By number, outer ones first; open ones up to now. */
void td_sim_regions_each(const struct td_sim_regions *regions, uint64_t all, uint64_t exact,
                         td_sim_region_fn *fn, void *ctx);
struct td_sim_region_misuse td_sim_regions_misuse(const struct td_sim_regions *regions);

#endif
