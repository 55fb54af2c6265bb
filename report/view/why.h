/* SPDX-License-Identifier: MIT */
/* Why code costs what it costs, in a sentence and the figures that it stands on. */
#ifndef TD_REPORT_VIEW_WHY_H
#define TD_REPORT_VIEW_WHY_H

#include "formats/export/json.h"
#include "report/query/why.h"
#include "report/view/table/style.h"

/* The sentence; the caller frees it. */
char *td_why_sentence(const struct td_why *why, const struct td_model *model);
/* `place` is what was asked about, `next` the command that says more (NULL: there is none). */
void td_why_print(const struct td_why *why, const struct td_measure *measure, const char *place,
                  const char *next, const struct td_style *style);
/* One object. */
void td_why_json(const struct td_why *why, const struct td_measure *measure, const char *place,
                 const char *next, struct td_json *json);

#endif
