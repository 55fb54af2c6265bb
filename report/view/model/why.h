/* SPDX-License-Identifier: MIT */
/* Why code costs what it costs, in a sentence and the figures that it stands on. */
#ifndef TD_REPORT_VIEW_MODEL_WHY_H
#define TD_REPORT_VIEW_MODEL_WHY_H

#include "formats/export/json.h"
#include "report/query/why/why.h"
#include "report/view/model/loop_words.h"
#include "report/view/table/style.h"

/* All borrowed. */
struct td_why_asked {
    const struct td_measure *measure;
    const struct td_loops *loops; /* that why->loop is of */
    struct td_loop_words words;
    const char *place; /* what was asked about */
    const char *next;  /* the command that says more; NULL: there is none */
};

void td_why_print(const struct td_why *why, const struct td_why_asked *asked,
                  const struct td_style *style);
/* One object. */
void td_why_json(const struct td_why *why, const struct td_why_asked *asked, struct td_json *json);

#endif
