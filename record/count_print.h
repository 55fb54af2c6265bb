/* SPDX-License-Identifier: MIT */
/* Prints what was counted: as text of 80 columns, or as JSON (schema tdrec-count/1). */
#ifndef TD_RECORD_COUNT_PRINT_H
#define TD_RECORD_COUNT_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "record/count_part.h"
#include "record/counts.h"

struct td_count_view {
    const struct td_counts *counts; /* all borrowed */
    const struct td_count_part *parts;
    size_t part_count;
    char *const *command; /* NULL: what ran already */
    unsigned level;       /* nodes down to this level are shown, high or not; 0: the high ones' */
    double from_s, to_s;  /* since counting began */
    double user_s, system_s; /* of the command; negative: not known */
};

/* What was counted from the beginning to the end. */
void td_count_print_text(const struct td_count_view *view, FILE *out);
/* What was counted in one interval: a line each type of CPU where the slots are known, else a line
 * an event. `first`: with headings. */
void td_count_print_interval(const struct td_count_view *view, bool first, FILE *out);
/* One object; `interval` true: on a line of its own, one of many. */
void td_count_print_json(const struct td_count_view *view, bool interval, FILE *out);

#endif
