/* SPDX-License-Identifier: MIT */
/* What the modelled core's PMU can count. */
#ifndef TD_RECORD_SIM_MODEL_PMU_SIGNAL_H
#define TD_RECORD_SIM_MODEL_PMU_SIGNAL_H

#include <stdbool.h>
#include <stddef.h>

/* By the names of formats/cores/uarch/sapphire-rapids.uarch: X(symbol, name) */
#define TD_SIGNALS(X)                              \
    X(SLOTS, "slots")                              \
    X(SLOTS_P, "slots_p")                          \
    X(CYCLES, "cycles")                            \
    X(INSTRUCTIONS, "inst_retired")                \
    X(RETIRING, "topdown_retiring")                \
    X(BAD_SPEC, "topdown_bad_spec")                \
    X(FE_BOUND, "topdown_fe_bound")                \
    X(BE_BOUND, "topdown_be_bound")                \
    X(HEAVY_OPS, "topdown_heavy_ops")              \
    X(BR_MISPREDICT, "topdown_br_mispredict")      \
    X(FETCH_LAT, "topdown_fetch_lat")              \
    X(MEM_BOUND, "topdown_mem_bound")              \
    X(UOP_DROPPING, "uop_dropping") /* always 0 */ \
    X(MISPREDICTS, "br_misp_retired")              \
    X(CLEARS, "clears")                            \
    X(LOAD_L2, "mem_load_l2_hit")                  \
    X(LOAD_L3, "mem_load_l3_hit")                  \
    X(LOAD_DRAM, "mem_load_l3_miss")               \
    X(STORES, "mem_all_stores")

enum td_signal {
#define X(symbol, name) TD_SIGNAL_##symbol,
    TD_SIGNALS(X)
#undef X
        TD_SIGNAL_COUNT
};

/* TD_SIGNAL_COUNT for a name that is none. */
enum td_signal td_signal_by_name(const char *name, size_t len);
/* A part of the slots that the hardware gives as eight bits of the slots since the last read
 * (PERF_METRICS). */
bool td_signal_is_metric(enum td_signal signal);

#endif
