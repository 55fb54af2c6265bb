/* SPDX-License-Identifier: MIT */
/* Loops as text and JSON. */
#ifndef TD_REPORT_VIEW_MODEL_LOOPS_H
#define TD_REPORT_VIEW_MODEL_LOOPS_H

#include "formats/export/json.h"
#include "report/view/model/loop_words.h"
#include "report/view/table/style.h"

struct td_loops_view {
    const struct td_loops *loops;
    const bool *shown; /* by loop */
    struct td_loop_words words;
};

void td_loops_print(const struct td_loops_view *view, const struct td_style *style);
/* One loop as an object, or null where there is none; `parent` stands in it as it is (TD_NONE: it
 * has none). */
void td_loop_json(const struct td_loops *loops, const struct td_loop *loop,
                  const struct td_loop_words *words, const char *key, uint32_t parent,
                  struct td_json *json);
/* As member "loops"; "parent" is a place among those that are shown. */
void td_loops_json(const struct td_loops_view *view, struct td_json *json);

#endif
