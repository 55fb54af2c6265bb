/* SPDX-License-Identifier: MIT */
#include "report/query/regions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/attribution/counted.h"
#include "report/query/figures/machine.h"

/* What was counted in one region, by the columns of one group. */
struct counted_sum {
    uint32_t group;
    bool any;
    double values[TD_COLUMNS_MAX];
};

/* The first group wins: a recording has one that counts regions. */
static void add_row(struct td_region_cost *cost, struct counted_sum *sum,
                    const struct td_model *model, const struct td_region_row *row)
{
    const uint64_t *values = td_model_region_values(model, row);

    if (cost->threads > 0 && cost->length.unit != row->unit)
        return;
    cost->length.unit = row->unit;
    if (!td_region_row_add(&cost->length, row))
        return;
    cost->threads++;
    if (row->unit == TD_UNIT_NS)
        cost->cpu_ns = (double)cost->length.whole;
    if (row->group == TD_NONE || (sum->any && sum->group != row->group))
        return;
    sum->any = true;
    sum->group = row->group;
    for (uint32_t c = 0; c < td_model_group(model, row->group)->column_count; c++)
        sum->values[c] += (double)values[c];
}

/* The modelled core's columns are leaves of the tree. */
static void add_leaves(struct td_region_cost *cost, const struct td_group *group,
                       const double *values)
{
    double slots[TD_NODE_COUNT] = {0};

    cost->slots = 0;
    for (uint32_t c = 0; c < group->column_count; c++) {
        enum td_tma_node node = group->columns[c].node;

        cost->slots += node == TD_NODE_NONE ? 0 : values[c];
        for (; node != TD_NODE_NONE; node = td_tma_info(node)->parent)
            slots[node] += values[c];
    }
    for (int n = 0; n < TD_NODE_COUNT; n++)
        cost->share[n] = n == TD_NODE_SMT_CONTENTION ? NAN : slots[n] / cost->slots;
}

/* The group that was explained last: nearly all regions have the same. */
struct explained {
    struct td_counted counted;
    uint32_t group; /* TD_NONE: none yet */
    bool known;
};

static void add_tree(struct td_region_cost *cost, const struct td_model *model, uint32_t group,
                     const double *values, struct explained *explained)
{
    const struct td_counted *counted = &explained->counted;
    struct td_pmu_tree tree;

    if (explained->group != group) {
        td_counted_release(&explained->counted);
        explained->group = group;
        explained->known = td_counted_init(&explained->counted, model, group, NULL) == TD_OK;
    }
    if (!explained->known)
        return;
    td_counted_tree(counted, values, &tree);
    cost->slots = tree.slots;
    memcpy(cost->share, tree.share, sizeof(cost->share));
    cost->cycles = tree.slots / (counted->width ? counted->width : counted->core->width);
}

/* Instructions; and cycles, where no tree says them better. */
static void add_counts(struct td_region_cost *cost, const struct td_model *model,
                       const struct td_group *group, const double *values)
{
    for (uint32_t c = 0; c < group->column_count; c++) {
        const uint32_t event = group->columns[c].event;
        const enum td_unit unit =
            event == TD_NONE ? TD_UNIT_COUNT : td_model_event(model, event)->unit;

        if (unit == TD_UNIT_INSTRUCTIONS)
            cost->instructions = values[c];
        if (unit == TD_UNIT_CYCLES && isnan(cost->cycles))
            cost->cycles = values[c];
    }
}

/* What the counts of a part say of the whole. */
static void finish_cost(struct td_region_cost *cost, const struct td_model *model,
                        const struct counted_sum *sum, unsigned width, struct explained *explained)
{
    const struct td_group *group = sum->any ? td_model_group(model, sum->group) : NULL;

    if (!group || cost->length.seen == 0)
        return;
    const double scale = (double)cost->length.whole / (double)cost->length.seen;
    if (group->role == TD_ROLE_MODEL) {
        add_leaves(cost, group, sum->values);
        cost->cycles = width > 0 ? cost->slots / width : NAN;
    } else {
        add_tree(cost, model, sum->group, sum->values, explained);
    }
    add_counts(cost, model, group, sum->values);
    cost->slots *= scale;
    cost->cycles *= scale;
    cost->instructions *= scale;
}

/* What a region weighs among its siblings. */
static double weight_of(const struct td_region_cost *cost)
{
    return isnan(cost->slots) ? (double)cost->length.sum : cost->slots;
}

struct order {
    const struct td_model *model;
    const struct td_region_cost *costs; /* by region */
    uint32_t *sorted;
    uint32_t *first; /* by parent + 1: index in `sorted` of the first region in it */
};

/* Regions by what they are in (those in none first), the costliest first. */
static int compare_costs(const void *a, const void *b, void *ctx)
{
    const struct order *order = ctx;
    const struct td_region_cost *x = &order->costs[*(const uint32_t *)a];
    const struct td_region_cost *y = &order->costs[*(const uint32_t *)b];
    const struct td_region *p = td_model_region(order->model, x->region);
    const struct td_region *q = td_model_region(order->model, y->region);

    if (p->parent != q->parent)
        return p->parent + 1 < q->parent + 1 ? -1 : 1; /* none is all ones */
    if (weight_of(x) != weight_of(y))
        return weight_of(x) > weight_of(y) ? -1 : 1;
    return strcmp(td_model_string(order->model, p->name), td_model_string(order->model, q->name));
}

/* Appends the regions in `parent`, and behind each those in it: as many levels as regions have. */
static void add_children(struct td_region_table *table, const struct order *order, uint32_t parent,
                         size_t parent_row)
{
    for (uint32_t i = order->first[parent + 1]; i < order->first[parent + 2]; i++) {
        const uint32_t region = order->sorted[i];
        const size_t at = table->len++;

        table->rows[at] = order->costs[region];
        table->rows[at].parent = parent_row;
        add_children(table, order, region, at);
    }
}

/* Sorts the regions, and finds where those in each begin. */
static void sort_regions(struct order *order, uint32_t count)
{
    for (uint32_t r = 0; r < count; r++) {
        order->sorted[r] = r;
        order->first[td_model_region(order->model, r)->parent + 2]++;
    }
    for (uint32_t i = 1; i < count + 2; i++)
        order->first[i] += order->first[i - 1];
    qsort_r(order->sorted, count, sizeof(*order->sorted), compare_costs, order);
}

static void take_from_parents(struct td_region_table *table)
{
    for (size_t i = 0; i < table->len; i++)
        table->rows[i].own_slots = table->rows[i].slots;
    for (size_t i = 0; i < table->len; i++) {
        const struct td_region_cost *row = &table->rows[i];

        if (row->parent != SIZE_MAX && !isnan(row->slots))
            table->rows[row->parent].own_slots -= row->slots;
    }
}

static void sum_regions(struct td_region_table *table, const struct td_model *model,
                        struct td_region_cost *costs)
{
    const uint32_t count = td_model_region_count(model);
    struct counted_sum *sums = td_xcalloc((size_t)count + 1, sizeof(*sums));
    struct explained explained = {.group = TD_NONE};

    for (uint32_t r = 0; r < count; r++) {
        costs[r] = (struct td_region_cost){.region = r,
                                           .slots = NAN,
                                           .own_slots = NAN,
                                           .cycles = NAN,
                                           .instructions = NAN,
                                           .cpu_ns = NAN};
        for (int n = 0; n < TD_NODE_COUNT; n++)
            costs[r].share[n] = NAN;
    }
    for (uint32_t i = 0; i < td_model_region_row_count(model); i++) {
        const struct td_region_row *row = td_model_region_row(model, i);

        table->modelled = table->modelled || row->unit == TD_UNIT_SLOTS;
        table->unfinished += row->begun - row->ended;
        add_row(&costs[row->region], &sums[row->region], model, row);
    }
    for (uint32_t r = 0; r < count; r++)
        finish_cost(&costs[r], model, &sums[r], table->width, &explained);
    td_counted_release(&explained.counted);
    free(sums);
}

/* What tdrec says of a native run (record/run/perf.c). */
static const char *how_counted(const struct td_model *model)
{
    static const char *const ways[][2] = {
        {"user", "counted by the thread's own counters, read without a system call"},
        {"read", "counted by the thread's own counters, read by a system call at each mark: user "
                 "access to counters is off"},
        {"mixed", "counted by the thread's own counters where they could be opened, and read by "
                  "system calls where user access to them is off"},
        {"time", "only time is known: no counters were opened for regions"},
    };
    const char *how = td_machine_parameter_text(model, "regions");

    for (size_t i = 0; how && i < TD_ARRAY_SIZE(ways); i++) {
        if (strcmp(how, ways[i][0]) == 0)
            return ways[i][1];
    }
    return NULL;
}

static double modelled_slots(const struct td_model *model, unsigned width)
{
    return width * (double)td_model_counter(model, TD_COUNTER_CYCLES);
}

void td_region_table_init(struct td_region_table *table, const struct td_model *model)
{
    const uint32_t count = td_model_region_count(model);
    struct td_region_cost *costs = td_xcalloc((size_t)count + 1, sizeof(*costs));
    struct order order = {.model = model,
                          .costs = costs,
                          .sorted = td_xcalloc((size_t)count + 1, sizeof(*order.sorted)),
                          .first = td_xcalloc((size_t)count + 3, sizeof(*order.first))};

    *table = (struct td_region_table){
        .rows = td_xcalloc((size_t)count + 1, sizeof(*table->rows)),
        .width = (unsigned)td_machine_parameter(model, "width"),
        .strays = td_model_counter(model, TD_COUNTER_REGION_STRAYS),
        .left_open = td_model_counter(model, TD_COUNTER_REGION_OPEN),
    };
    sum_regions(table, model, costs);
    if (!table->modelled)
        table->how = how_counted(model);
    if (table->modelled)
        table->whole = modelled_slots(model, table->width);
    sort_regions(&order, count);
    add_children(table, &order, TD_REGION_NONE, SIZE_MAX);
    take_from_parents(table);
    free(costs);
    free(order.sorted);
    free(order.first);
}

void td_region_table_release(struct td_region_table *table)
{
    free(table->rows);
    *table = (struct td_region_table){.rows = NULL};
}

double td_region_counted(const struct td_region_cost *row)
{
    return row->length.whole ? (double)row->length.seen / (double)row->length.whole : 1;
}

double td_region_scaled(const struct td_region_table *table, double length)
{
    return table->modelled ? (table->width ? length / table->width : NAN) : length;
}
