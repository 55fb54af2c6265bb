/* SPDX-License-Identifier: MIT */
/* Prints what was counted: as text of 80 columns, or as JSON (schema tdrec-count/1). */
#ifndef TD_RECORD_COUNT_PRINT_H
#define TD_RECORD_COUNT_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "formats/export/json.h"
#include "record/count/cpu_type.h"
#include "record/count/stalls.h"
#include "record/count/threads.h"
#include "record/count/counts.h"

struct td_count_view {
    const struct td_counts *counts; /* all borrowed */
    const struct td_count_cpu_type *parts;
    size_t part_count;
    char *const *command; /* NULL: what ran already */
    unsigned level;       /* nodes down to this level are shown, high or not; 0: the high ones' */
    /* For the stall report in place of the tree and the rates; NULL: not asked for. */
    const struct td_count_machine *machine;
    bool per_thread; /* threads are told by themselves, too */
    struct td_count_thread *const *threads;
    size_t thread_count;
    struct td_count_misses misses;
    double from_s, to_s;     /* since counting began */
    double user_s, system_s; /* of the command; negative: not known */
    double whole_s;          /* of the run, when only parts of it were counted; else 0 */
    unsigned pieces;         /* how many those were */
};

/* What was counted from the beginning to the end. */
void td_count_print_text(const struct td_count_view *view, FILE *out);
/* What was counted in one interval: a line each type of CPU where the slots are known, with the
 * levels that were asked for below it, else a line an event. `first`: with headings. */
void td_count_print_interval(const struct td_count_view *view, bool first, FILE *out);
/* The tree and the rates of each type of CPU, "of a thread" after their headings. */
void td_count_print_parts(const struct td_count_view *view, const char *of, FILE *out);
/* A space and the value in `width` columns; NaN is blank. */
void td_count_print_cell(double value, int width, int digits, FILE *out);
/* The members "events" and "cpu_types" of an object. */
void td_count_json_values(const struct td_count_view *view, struct td_json *json);
/* The event's name for people; whether an earlier group of the plan has it too, or nobody asked
 * for it. */
const char *td_count_event_name(const struct td_plan *plan, size_t group, size_t event);
bool td_count_is_repeated(const struct td_plan *plan, size_t group, size_t event);
/* Instructions a cycle, NaN when not known; the nodes that fit a line beside them. */
double td_count_ipc(const struct td_count_cpu_type *part, const struct td_counts *counts);
#define TD_COUNT_COLUMNS 4
extern const enum td_tma_node td_count_columns[TD_COUNT_COLUMNS];
/* One object; `interval` true: on a line of its own, one of many. */
void td_count_print_json(const struct td_count_view *view, bool interval, FILE *out);

#endif
