/* SPDX-License-Identifier: MIT */
#include "formats/cores/stalls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/banned.h"

#define ALTERNATIVES_MAX 4

/* By the names that descriptions give to events: the first formula is used whose events the core
 * has. Intel's stall events count cycles in which nothing was executed, Arm's those in which
 * nothing was sent on, AMD's those in which nothing retired. */
static const struct {
    enum td_stall_count which;
    const char *formulas[ALTERNATIVES_MAX];
} table[] = {
    {TD_STALL_CYCLES, {"cycles", "core_clocks"}},
    {TD_STALL_INSTRUCTIONS, {"inst_retired"}},
    {TD_STALL_NOPS, {"nops_retired", "nop_spec"}},
    {TD_STALL_STALLED, {"stalls_total", "stall_frontend + stall_backend", "not_complete"}},
    {TD_STALL_DATA, {"bound_on_loads", "stalls_mem_any", "stall_backend_mem", "load_not_complete"}},
    {TD_STALL_DATA_L1,
     {"max(0, bound_on_loads - stalls_l1d_miss)", "max(0, stalls_mem_any - stalls_l1d_miss)"}},
    {TD_STALL_DATA_L2, {"max(0, stalls_l1d_miss - stalls_l2_miss)"}},
    {TD_STALL_DATA_L3, {"max(0, stalls_l2_miss - stalls_l3_miss)"}},
    {TD_STALL_DATA_MEMORY, {"stalls_l3_miss"}},
    {TD_STALL_STORES, {"bound_on_stores"}},
    {TD_STALL_BRANCHES, {"resteer_cycles"}},
    {TD_STALL_CODE, {"code_stalls + itlb_stalls", "stall_frontend", "frontend_empty"}},
    {TD_STALL_DIVIDER, {"divider_active"}},
    {TD_STALL_FROM_L2,
     {"mem_load_l2_hit", "max(0, l1d_cache_refill - l2d_cache_refill)", "fills_l2"}},
    {TD_STALL_FROM_L3,
     {"mem_load_l3_hit", "max(0, l2d_cache_refill - ll_cache_miss_rd)", "fills_l3"}},
    {TD_STALL_FROM_MEMORY, {"mem_load_l3_miss", "ll_cache_miss_rd", "fills_memory"}},
    {TD_STALL_WALKS, {"mem_stlb_miss_loads + mem_stlb_miss_stores", "dtlb_walk", "dtlb_walks"}},
    {TD_STALL_L2_MISSES, {"mem_load_l2_miss", "l2d_cache_refill", "l2_misses"}},
    {TD_STALL_L2_REFERENCES, {"mem_load_l1_miss", "l2d_cache", "l2_misses + l2_hits"}},
    {TD_STALL_L3_MISSES, {"mem_load_l3_miss", "ll_cache_miss_rd", "fills_memory"}},
    {TD_STALL_L3_REFERENCES, {"mem_load_l2_miss", "ll_cache_rd", "fills_l3 + fills_memory"}},
    {TD_STALL_FP_OPERATIONS,
     {"fp_scalar_double + fp_scalar_single + 2 * fp_128_double + 4 * (fp_128_single + "
      "fp_256_double) + 8 * (fp_256_single + fp_512_double) + 16 * fp_512_single",
      "fp_operations", "fp_scale_ops_spec + fp_fixed_ops_spec"}},
    {TD_STALL_FP_INSTRUCTIONS, {"vfp_spec + ase_spec"}},
};

struct td_stall_formulas {
    struct td_expr *at[TD_STALL_COUNT]; /* NULL: the core has no events for it */
};

static int resolve(const void *ctx, const char *name)
{
    return td_pmu_core_event(ctx, name);
}

struct td_stall_formulas *td_stall_formulas_new(const struct td_pmu_core *core)
{
    struct td_stall_formulas *formulas = td_xcalloc(1, sizeof(*formulas));

    for (size_t i = 0; i < TD_ARRAY_SIZE(table); i++) {
        struct td_expr **expr = &formulas->at[table[i].which];

        for (size_t k = 0; k < ALTERNATIVES_MAX && table[i].formulas[k] && !*expr; k++) {
            if (td_expr_compile(expr, table[i].formulas[k], resolve, core, NULL) < 0)
                *expr = NULL;
        }
    }
    return formulas;
}

void td_stall_formulas_free(struct td_stall_formulas *formulas)
{
    if (!formulas)
        return;
    for (size_t i = 0; i < TD_STALL_COUNT; i++)
        td_expr_free(formulas->at[i]);
    free(formulas);
}

td_pmu_event_set td_stall_events(const struct td_stall_formulas *formulas,
                                 enum td_stall_count which)
{
    const struct td_expr *expr = formulas->at[which];
    td_pmu_event_set events = 0;

    for (size_t i = 0; expr && td_expr_input(expr, i) >= 0; i++)
        events |= td_pmu_event_bit((size_t)td_expr_input(expr, i));
    return events;
}

double td_stall_value(const struct td_stall_formulas *formulas, enum td_stall_count which,
                      const double *counts)
{
    return formulas->at[which] ? td_expr_eval(formulas->at[which], counts) : NAN;
}

const char *td_stall_name(enum td_stall_count which)
{
    static const char *const names[] = {
#define X(symbol, name, meaning) [TD_STALL_##symbol] = (name),
        TD_STALL_COUNTS(X)
#undef X
    };

    return names[which];
}

const char *td_stall_meaning(enum td_stall_count which)
{
    static const char *const meanings[] = {
#define X(symbol, name, meaning) [TD_STALL_##symbol] = (meaning),
        TD_STALL_COUNTS(X)
#undef X
    };

    return meanings[which];
}
