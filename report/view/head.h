/* SPDX-License-Identifier: MIT */
/* What stands above every report: what was recorded, how, and how far it can be trusted. */
#ifndef TD_REPORT_VIEW_HEAD_H
#define TD_REPORT_VIEW_HEAD_H

#include "report/query/figures/coverage.h"
#include "report/query/waits.h"
#include "report/view/table/style.h"

struct td_head {
    const struct td_measure *measure;
    const struct td_coverage *coverage;
    const char *damage;                 /* one sentence, or NULL */
    const char *filter;                 /* the filters in words, or NULL */
    double kept_share;                  /* of the profile, by the filters */
    const struct td_wait_places *waits; /* NULL: not known */
};

/* The head of the default report: what was run, on what, and what shares are of, a line each; of
 * coverage only what makes the figures doubtful. */
void td_head_print(const struct td_head *head, const struct td_style *style);
/* What that leaves out, a paragraph a subject, and the notes of the recorder. */
void td_head_print_details(const struct td_head *head, const struct td_style *style);
/* The head of a single table: one or two lines. */
void td_head_print_short(const struct td_head *head, const struct td_style *style);
/* "note  …", a paragraph. */
void td_note_print(const char *text, const struct td_style *style);
/* Modules whose names or lines are missing, with the reason and what would help. */
void td_notes_print(const struct td_measure *measure, const struct td_style *style);

#endif
