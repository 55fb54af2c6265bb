/* SPDX-License-Identifier: MIT */
/* Trees of calls and inclusive costs, as text and as JSON. */
#ifndef TD_REPORT_VIEW_CALLS_H
#define TD_REPORT_VIEW_CALLS_H

#include "formats/export/json.h"
#include "report/query/calls.h"
#include "report/view/table/style.h"

/* Nodes below `percent` of the whole profile, or deeper than `depth`, are left out. */
struct td_calls_limits {
    double percent;
    unsigned depth;
};

void td_calls_print(const struct td_calls *calls, struct td_calls_limits limits,
                    const struct td_style *style);
/* An array under `key` ("callers", "callees"): the tree in its order, each node with its depth. */
void td_calls_json(struct td_json *json, const char *key, const struct td_calls *calls,
                   struct td_calls_limits limits);

/* At most `max` rows of at least `percent`. */
void td_inclusives_print(const struct td_inclusives *rows, double percent, size_t max,
                         const struct td_style *style);
void td_inclusives_json(struct td_json *json, const struct td_inclusives *rows, double percent,
                        size_t max);

#endif
