/* SPDX-License-Identifier: MIT */
/* The threads of a count: a line each, those that had most CPU time first. */
#ifndef TD_RECORD_COUNT_PRINT_THREADS_H
#define TD_RECORD_COUNT_PRINT_THREADS_H

#include <stdbool.h>
#include <stdio.h>

#include "record/count/print.h"

/* All are for view->per_thread. */
void td_count_threads_print(const struct td_count_view *view, FILE *out);
/* A line for each thread that counted anything in the interval. */
void td_count_threads_print_interval(const struct td_count_view *view, bool first, FILE *out);
/* The members "threads" and "thread_misses" of an object. */
void td_count_threads_json(const struct td_count_view *view, bool interval, struct td_json *json);

#endif
