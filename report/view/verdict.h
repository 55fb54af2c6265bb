/* SPDX-License-Identifier: MIT */
/* The verdict in words, and in JSON. */
#ifndef TD_REPORT_VIEW_VERDICT_H
#define TD_REPORT_VIEW_VERDICT_H

#include "formats/export/json.h"
#include "report/query/verdict.h"
#include "report/view/style.h"

/* The command to run next: "tdreport annotate 'ns::f'"; the caller frees it. `input` is the
 * profile's file, NULL for the default; `function` may be TD_NONE. */
char *td_next_command(const struct td_model *model, const char *input, uint32_t function)
    __attribute__((returns_nonnull));
/* The same for what a verdict points at; of a stripped program, its instructions. */
char *td_next_of_verdict(const struct td_model *model, const char *input,
                         const struct td_verdict *verdict) __attribute__((returns_nonnull));
void td_next_print(const char *command, const struct td_style *style);

/* `next` is a td_next_command. Nothing is printed of a verdict without categories. */
void td_verdict_print(const struct td_verdict *verdict, const struct td_measure *measure,
                      const char *next, const struct td_style *style);
/* A member "verdict"; null without categories. */
void td_verdict_json(struct td_json *json, const struct td_verdict *verdict,
                     const struct td_measure *measure, const char *next);

#endif
