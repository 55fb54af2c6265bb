/* SPDX-License-Identifier: MIT */
#include "report/query/whatif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "formats/cores/variant.h"
#include "report/query/figures/replicated.h"

/* A recording that was killed may have told a little more of one core than of another. */
#define ALIKE 0.01

static double speedup_of(const uint64_t *base, const uint64_t *variant)
{
    const double cycles = (double)variant[TD_METRIC_CYCLES];
    const double before = (double)base[TD_METRIC_INSTRUCTIONS],
                 now = (double)variant[TD_METRIC_INSTRUCTIONS];

    if (cycles <= 0 || now <= 0 || fabs(now - before) > ALIKE * before)
        return NAN;
    return (double)base[TD_METRIC_CYCLES] * now / (cycles * before);
}

static struct td_whatif compare(const struct td_measure *variant, const uint64_t *base,
                                const uint64_t *values)
{
    return (struct td_whatif){.words = variant->variant,
                              .cycles = values[TD_METRIC_CYCLES],
                              .speedup = speedup_of(base, values)};
}

/* How sure it is, where it was sampled; `few` windows may be of it. */
static void add_error(struct td_whatif *ret, const struct td_measure *measure,
                      const struct td_replicated_slots *base,
                      const struct td_replicated_slots *variant, bool few)
{
    if (!isnan(ret->speedup))
        ret->error =
            ret->speedup * td_replicated_quotient_error(base, variant, measure->model, few);
}

struct td_whatif td_whatif_of(const struct td_measure *measure, size_t i)
{
    const struct td_measure *variant = measure->variants[i];
    struct td_whatif ret = compare(variant, measure->totals, variant->totals);
    double of_base[TD_REPLICATES], of_variant[TD_REPLICATES];

    if (!td_replicated_is(measure))
        return ret;
    td_replicated_all(of_base, measure);
    td_replicated_all(of_variant, variant);
    add_error(&ret, measure,
              &(struct td_replicated_slots){measure->totals[TD_METRIC_SLOTS], of_base},
              &(struct td_replicated_slots){variant->totals[TD_METRIC_SLOTS], of_variant}, false);
    return ret;
}

static int by_speedup(const void *a, const void *b, void *ctx)
{
    const struct td_measure *measure = ctx;
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const uint64_t s = measure->variants[x]->totals[TD_METRIC_CYCLES],
                   t = measure->variants[y]->totals[TD_METRIC_CYCLES];

    if (s != t)
        return s < t ? -1 : 1;
    return x < y ? -1 : x > y;
}

size_t *td_whatif_order(const struct td_measure *measure)
{
    size_t *order = td_xcalloc(measure->variant_count + 1, sizeof(*order));
    union {
        const struct td_measure *measure;
        void *ctx;
    } sorting = {.measure = measure};

    for (size_t i = 0; i < measure->variant_count; i++)
        order[i] = i;
    qsort_r(order, measure->variant_count, sizeof(*order), by_speedup, sorting.ctx);
    return order;
}

static struct td_replicated_slots slots_of(const struct td_rows *rows, const struct td_row *row)
{
    return (struct td_replicated_slots){row->values[TD_METRIC_SLOTS],
                                        rows->replicated[row->evidence].all};
}

static struct td_whatif compare_rows(const struct td_rows *base, size_t r,
                                     const struct td_rows *varied, const struct td_row *row)
{
    struct td_whatif ret = compare(varied->measure, base->at[r].values, row->values);

    if (base->replicated && varied->replicated) {
        const struct td_replicated_slots before = slots_of(base, &base->at[r]),
                                         now = slots_of(varied, row);

        add_error(&ret, base->measure, &before, &now, true);
    }
    return ret;
}

/* Rows of the same function, and of code without a name in the same module. */
static void add_variant(struct td_whatif_rows *ret, size_t v, const struct td_rows *base,
                        const struct td_map *row_of, bool no_inline)
{
    static const uint64_t nothing[TD_METRIC_COUNT];
    const struct td_measure *variant = base->measure->variants[v];
    struct td_rows rows;

    for (size_t r = 0; r < base->len; r++)
        ret->at[r * ret->variants + v] = compare(variant, base->at[r].values, nothing);
    td_rows_init(&rows, variant, TD_ROWS_FUNCTIONS, no_inline);
    for (size_t i = 0; i < rows.len; i++) {
        const struct td_row *row = &rows.at[i];
        const uint32_t *r = td_map_find(row_of, row->function, row->module);

        if (r)
            ret->at[*r * ret->variants + v] = compare_rows(base, *r, &rows, row);
    }
    td_rows_release(&rows);
}

void td_whatif_rows_init(struct td_whatif_rows *ret, const struct td_rows *rows, bool no_inline)
{
    const size_t variants = rows->measure->variant_count;
    struct td_map row_of = {0};

    *ret = (struct td_whatif_rows){.variants = variants,
                                   .at = td_xcalloc(rows->len * variants + 1, sizeof(*ret->at))};
    for (size_t r = 0; r < rows->len; r++)
        td_map_put(&row_of, rows->at[r].function, rows->at[r].module, (uint32_t)r, NULL);
    for (size_t v = 0; v < variants; v++)
        add_variant(ret, v, rows, &row_of, no_inline);
    td_map_release(&row_of);
}

void td_whatif_rows_release(struct td_whatif_rows *rows)
{
    free(rows->at);
    *rows = (struct td_whatif_rows){0};
}

/* What each word takes away, as the tree calls it: the node and all below it that have no row of
 * their own. Of several rows of a node the first whose variant was modelled counts: it takes away
 * the least beside the node. */
static const struct cause {
    enum td_tma_node node;
    enum td_variant variant; /* COUNT: there is none */
} causes[] = {
    {TD_NODE_BAD_SPECULATION, TD_VARIANT_BRANCHES},
    {TD_NODE_MACHINE_CLEARS, TD_VARIANT_COUNT},
    {TD_NODE_FRONTEND_BOUND, TD_VARIANT_FRONTEND},
    {TD_NODE_BRANCH_RESTEERS, TD_VARIANT_BRANCHES},
    {TD_NODE_BRANCH_RESTEERS, TD_VARIANT_FRONTEND},
    {TD_NODE_CLEARS_RESTEERS, TD_VARIANT_COUNT},
    {TD_NODE_ICACHE_MISSES, TD_VARIANT_ICACHE},
    {TD_NODE_ICACHE_MISSES, TD_VARIANT_FRONTEND},
    {TD_NODE_ITLB_MISSES, TD_VARIANT_TLB},
    {TD_NODE_ITLB_MISSES, TD_VARIANT_FRONTEND},
    {TD_NODE_MEMORY_BOUND, TD_VARIANT_L1},
    /* What waits for L1 has its data there already. */
    {TD_NODE_L1_BOUND, TD_VARIANT_COUNT},
    {TD_NODE_DTLB_LOAD, TD_VARIANT_TLB},
    {TD_NODE_L3_BOUND, TD_VARIANT_L3},
    {TD_NODE_L3_BOUND, TD_VARIANT_L2},
    {TD_NODE_L3_BOUND, TD_VARIANT_L1},
    {TD_NODE_DRAM_BOUND, TD_VARIANT_DRAM},
    {TD_NODE_DRAM_BOUND, TD_VARIANT_L2},
    {TD_NODE_DRAM_BOUND, TD_VARIANT_L1},
    {TD_NODE_DTLB_STORE, TD_VARIANT_TLB},
    {TD_NODE_DIVIDER, TD_VARIANT_DIVIDER},
    {TD_NODE_PORTS_UTILIZATION, TD_VARIANT_PORTS},
    /* Chains wait for results, not for ports. */
    {TD_NODE_DEPENDENCY_CHAINS, TD_VARIANT_COUNT},
};

/* The measure's variant that changes this and nothing else; `variant_count` when it has none. */
static size_t find_variant(const struct td_measure *measure, enum td_variant variant)
{
    size_t i = 0;

    while (i < measure->variant_count &&
           strcmp(measure->variants[i]->variant, td_variant_info(variant).word) != 0)
        i++;
    return i;
}

size_t td_whatif_of_node(const struct td_measure *measure, enum td_tma_node node)
{
    bool known = false;

    for (; node != TD_NODE_NONE && !known; node = td_tma_info(node)->parent) {
        for (size_t c = 0; c < TD_ARRAY_SIZE(causes); c++) {
            if (causes[c].node != node)
                continue;
            known = true;
            const size_t i = causes[c].variant == TD_VARIANT_COUNT
                                 ? measure->variant_count
                                 : find_variant(measure, causes[c].variant);
            if (i < measure->variant_count)
                return i;
        }
    }
    return measure->variant_count;
}
