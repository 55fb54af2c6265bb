/* SPDX-License-Identifier: MIT */
#include "report/query/mostly.h"

#include <stdbool.h>

#include "report/attribution/stats.h"

#define SHARE_MIN  0.1
#define KNOWN_PART 0.5

struct finding {
    const struct td_measure *measure;
    const uint64_t *values;
    td_tma_set thin;
    struct td_mostly mostly;
};

static uint64_t value_of(const struct finding *f, enum td_tma_node node)
{
    const enum td_metric metric = td_metric_of_node(node);
    const bool known = f->measure->values[metric] && !(f->thin & td_tma_bit(node));

    return known ? f->values[metric] : 0;
}

/* In order: the greatest first; what has no room falls off the end. */
static void put(struct finding *f, enum td_tma_node node)
{
    const double share = td_ratio(value_of(f, node), f->values[TD_METRIC_SLOTS]);
    size_t at = f->mostly.len;

    while (at > 0 && f->mostly.at[at - 1].share < share)
        at--;
    if (share <= 0 || at == TD_MOSTLY_MAX)
        return;
    if (f->mostly.len < TD_MOSTLY_MAX)
        f->mostly.len++;
    for (size_t i = f->mostly.len - 1; i > at; i--)
        f->mostly.at[i] = f->mostly.at[i - 1];
    f->mostly.at[at].node = node;
    f->mostly.at[at].share = share;
}

static void visit(struct finding *f, enum td_tma_node node)
{
    uint64_t known = 0;

    for (int n = 0; n < TD_NODE_COUNT && node != TD_NODE_RETIRING; n++) {
        if (td_tma_info((enum td_tma_node)n)->parent == node)
            known += value_of(f, (enum td_tma_node)n);
    }
    if (known == 0 || (double)known < KNOWN_PART * (double)value_of(f, node)) {
        put(f, node);
        return;
    }
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->parent == node)
            visit(f, (enum td_tma_node)n);
    }
}

/* Of it nothing can be won. */
static void put_useful_last(struct td_mostly *mostly)
{
    for (size_t i = 0; i + 1 < mostly->len; i++) {
        if (mostly->at[i].node != TD_NODE_RETIRING)
            continue;
        const double share = mostly->at[i].share;

        mostly->at[i] = mostly->at[i + 1];
        mostly->at[i + 1].node = TD_NODE_RETIRING;
        mostly->at[i + 1].share = share;
    }
}

struct td_mostly td_mostly_of(const struct td_measure *measure, const uint64_t *values,
                              td_tma_set thin)
{
    struct finding f = {.measure = measure, .values = values, .thin = thin};

    if (!values || !measure->values[TD_METRIC_SLOTS])
        return f.mostly;
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->level == 1)
            visit(&f, (enum td_tma_node)n);
    }
    while (f.mostly.len > 1 && f.mostly.at[f.mostly.len - 1].share < SHARE_MIN)
        f.mostly.len--;
    put_useful_last(&f.mostly);
    return f.mostly;
}
