/* SPDX-License-Identifier: MIT */
/* The same numbers as tdreport/1 JSON. */
#ifndef TD_REPORT_VIEW_JSON_H
#define TD_REPORT_VIEW_JSON_H

#include "formats/export/json.h"
#include "report/query/figures/coverage.h"
#include "report/query/lines_of.h"
#include "report/query/figures/rows.h"
#include "report/query/figures/tree.h"
#include "report/view/line_notes.h"

/* Begins the object and writes "schema", "profile" and "coverage"; the caller adds its tables and
 * ends it with td_json_end. */
void td_report_json_begin(struct td_json *json, const struct td_measure *measure,
                          const struct td_coverage *coverage);
void td_report_json_tree(struct td_json *json, const struct td_tree *tree);
/* One array, named after the kind of row: "functions", "lines", "modules", "threads". */
void td_report_json_rows(struct td_json *json, const struct td_rows *rows, size_t shown);
/* "annotate": sections of lines. `notes`, one for each, may be NULL: "why" of a line is from there.
 */
void td_report_json_sections(struct td_json *json, const struct td_measure *measure,
                             const struct td_sections *sections, const struct td_line_notes *notes);
/* "file" and "line" of an object; null where they are not known. */
void td_report_json_place(struct td_json *json, const struct td_model *model, uint32_t file,
                          uint32_t line);
/* What a row costs, and "categories" as shares of its slots. */
void td_report_json_costs(struct td_json *json, const struct td_measure *measure,
                          const uint64_t *values);

#endif
