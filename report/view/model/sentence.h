/* SPDX-License-Identifier: MIT */
/* The conclusion of tdreport why: what holds a place up, in a sentence or two. */
#ifndef TD_REPORT_VIEW_MODEL_SENTENCE_H
#define TD_REPORT_VIEW_MODEL_SENTENCE_H

#include "report/query/why/why.h"
#include "report/view/model/loop_words.h"

/* The caller frees it. */
char *td_why_sentence(const struct td_why *why, const struct td_loop_words *words)
    __attribute__((returns_nonnull));

#endif
