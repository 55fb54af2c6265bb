/* SPDX-License-Identifier: MIT */
/* Loops as text and JSON. */
#ifndef TD_REPORT_VIEW_LOOPS_H
#define TD_REPORT_VIEW_LOOPS_H

#include "formats/export/json.h"
#include "report/query/loops/loops.h"
#include "report/view/table/style.h"

/* The text of the instruction, for the chain: "imul rax, rdx"; false: not known. `ctx` is the
 * caller's. */
typedef bool td_loop_text_fn(void *ctx, uint32_t module, uint64_t offset, char *text, size_t size);

struct td_loops_view {
    const struct td_loops *loops;
    const struct td_model *model;
    const bool *shown; /* by loop */
    td_loop_text_fn *text;
    void *ctx;
};

void td_loops_print(const struct td_loops_view *view, const struct td_style *style);
/* As member "loops"; "parent" is a place among those that are shown. */
void td_loops_json(const struct td_loops_view *view, struct td_json *json);

#endif
