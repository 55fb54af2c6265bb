/* SPDX-License-Identifier: MIT */
/* The verdict in words, and in JSON. */
#ifndef TD_REPORT_VIEW_VERDICT_H
#define TD_REPORT_VIEW_VERDICT_H

#include "formats/export/json.h"
#include "report/query/verdict.h"
#include "report/view/table/style.h"

/* The command to run next: "tdreport annotate 'ns::f'", of what the verdict points at; of a program
 * without lines, its instructions. The caller frees it. `input` is the profile's file, NULL for the
 * default. */
char *td_next_of_verdict(const struct td_model *model, const char *input,
                         const struct td_verdict *verdict) __attribute__((returns_nonnull));
/* "tdreport COMMAND -i INPUT NAME", input and name only where they can be typed (NULL and "" stand
 * for none). The caller frees it. */
char *td_next_command(const char *command, const char *input, const char *name)
    __attribute__((returns_nonnull));
void td_next_print(const char *command, const struct td_style *style);

/* What is high, what to try, what is ruled out, where to look and the command to run next; without
 * categories, what takes most. `next` is of td_next_of_verdict. Says less where that is more than
 * so many lines; 0: no limit. */
void td_verdict_print(const struct td_verdict *verdict, const struct td_measure *measure,
                      const char *next, size_t lines, const struct td_style *style);
/* A member "verdict"; null without categories. */
void td_verdict_json(struct td_json *json, const struct td_verdict *verdict,
                     const struct td_measure *measure, const char *next);

#endif
