/* SPDX-License-Identifier: MIT */
/* A diff of profiles as text, as a table of GitHub's Markdown, and as JSON (tdreport-diff/1). */
#ifndef TD_REPORT_VIEW_DIFF_DIFF_H
#define TD_REPORT_VIEW_DIFF_DIFF_H

#include <stdio.h>

#include "formats/export/json.h"
#include "report/query/diff/diff.h"
#include "report/query/diff/gate.h"
#include "report/view/table/style.h"

struct td_diff_view {
    enum td_diff_unit unit; /* of the tables */
    size_t rows;            /* of each table at most; 0: all */
};

void td_diff_print(const struct td_diff *diff, const struct td_diff_view *view,
                   const struct td_style *style);
void td_diff_markdown(const struct td_diff *diff, const struct td_diff_view *view, FILE *out);
void td_diff_json(const struct td_diff *diff, FILE *out);

/* A sentence of a gate, without a line's end: "gate 'total > +2 %' failed: total changed by …".
 * NULL with a gate that neither failed nor was beyond its limit. Owned by the caller. */
char *td_diff_gate_words(const struct td_diff *diff, const char *text, const struct td_gate *gate,
                         const struct td_gate_result *result, const char *plus_minus);

#endif
