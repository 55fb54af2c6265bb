/* SPDX-License-Identifier: MIT */
#include "record/count/print_threads.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define ROWS_MAX 20 /* lines of a table */
/* So few threads have their trees and rates in the text too. */
#define WHOLE_MAX 4

#define NS_PER_MS 1e6

/* A thread with what it counted in all, or in an interval. */
struct row {
    const struct td_count_thread *thread;
    const struct td_counts *counts;
    struct td_counts part; /* of an interval: what `counts` is */
    double weight;         /* CPU time, or else the first event */
};

struct rows {
    struct row *at;
    size_t count;
};

/* The event that threads are sorted by; group_count: the plan counts nothing. */
static size_t first_group(const struct td_plan *plan)
{
    for (size_t g = 0; g < plan->group_count; g++) {
        if (plan->groups[g].events[0].unit == TD_UNIT_NS && !td_plan_is_tracker(&plan->groups[g]))
            return g;
    }
    for (size_t g = 0; g < plan->group_count; g++) {
        if (!td_plan_is_tracker(&plan->groups[g]))
            return g;
    }
    return plan->group_count;
}

static bool counted_any(const struct td_counts *counts)
{
    for (size_t g = 0; g < counts->plan->group_count; g++) {
        for (size_t e = 0; e < counts->plan->groups[g].event_count; e++) {
            if (td_counts_get(counts, g, e)->value > 0)
                return true;
        }
    }
    return false;
}

static int by_weight(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return (x->thread->tid > y->thread->tid) - (x->thread->tid < y->thread->tid);
}

static struct rows make_rows(const struct td_count_view *view, bool interval)
{
    const struct td_plan *plan = view->counts->plan;
    const size_t first = first_group(plan);
    struct rows rows = {.at = td_xcalloc(view->thread_count + 1, sizeof(*rows.at))};

    for (size_t i = 0; i < view->thread_count && first < plan->group_count; i++) {
        const struct td_count_thread *thread = view->threads[i];
        struct row *row = &rows.at[rows.count];

        *row = (struct row){.thread = thread, .counts = &thread->now};
        if (interval) {
            td_counts_init(&row->part, plan);
            td_counts_difference(&row->part, &thread->now, &thread->last);
            row->counts = &row->part;
        }
        if (interval && !counted_any(row->counts)) {
            td_counts_release(&row->part);
            continue;
        }
        row->weight = td_count_estimate(td_counts_get(row->counts, first, 0));
        row->weight = isnan(row->weight) ? 0 : row->weight;
        rows.count++;
    }
    /* Pointers into the rows are set once they stand where they stay. */
    qsort(rows.at, rows.count, sizeof(*rows.at), by_weight);
    for (size_t i = 0; i < rows.count && interval; i++)
        rows.at[i].counts = &rows.at[i].part;
    return rows;
}

static void release_rows(struct rows *rows, bool interval)
{
    for (size_t i = 0; i < rows->count && interval; i++)
        td_counts_release(&rows->at[i].part);
    free(rows->at);
}

static struct td_count_view view_of(const struct td_count_view *view, const struct row *row)
{
    struct td_count_view own = *view;

    own.counts = row->counts;
    own.per_thread = false;
    return own;
}

/* Columns: level 1 where slots are counted, else events. */

#define LINE_WIDTH  80
#define COUNT_WIDTH 11 /* of a number below ten thousand millions */
#define BEGIN_WIDTH 34 /* of what row_begin prints, */
#define TIME_WIDTH  7  /* and so much more in an interval */

struct column {
    size_t group, event;
    int width;
};

/* As many as fit a line. */
static size_t event_columns(const struct td_plan *plan, bool interval,
                            struct column columns[TD_COUNT_COLUMNS])
{
    size_t count = 0, used = BEGIN_WIDTH + (interval ? TIME_WIDTH : 0);

    for (size_t g = 0; g < plan->group_count; g++) {
        for (size_t e = 0; e < plan->groups[g].event_count && count < TD_COUNT_COLUMNS; e++) {
            struct column column = {.group = g, .event = e};
            const size_t len = strlen(td_count_event_name(plan, g, e));

            if (td_count_is_repeated(plan, g, e) || plan->groups[g].events[e].unit == TD_UNIT_NS)
                continue;
            column.width = (int)(len < COUNT_WIDTH ? COUNT_WIDTH : len);
            used += (size_t)column.width + 1;
            if (used > LINE_WIDTH)
                return count;
            columns[count++] = column;
        }
    }
    return count;
}

static bool has_slots(const struct td_count_view *view)
{
    struct td_pmu_tree tree;

    for (size_t i = 0; i < view->part_count; i++) {
        if (td_count_cpu_type_tree(&view->parts[i], view->counts, &tree))
            return true;
    }
    return false;
}

/* CPU time is what rows are sorted by; the line of an interval has no room beside the slots. */
static bool shows_time(const struct td_count_view *view, bool interval)
{
    const struct td_plan *plan = view->counts->plan;

    return plan->groups[first_group(plan)].events[0].unit == TD_UNIT_NS &&
           !(interval && has_slots(view));
}

static void heading(const struct td_count_view *view, bool interval, FILE *out)
{
    const struct td_plan *plan = view->counts->plan;
    struct column columns[TD_COUNT_COLUMNS];

    fprintf(out, "%s %7s %-15s", interval ? "       s" : " ", "tid", "thread");
    if (shows_time(view, interval))
        fprintf(out, " %8s", "CPU ms");
    if (has_slots(view)) {
        fprintf(out, " %5s", "IPC");
        for (size_t i = 0; i < TD_COUNT_COLUMNS; i++)
            fprintf(out, " %8s", td_tma_info(td_count_columns[i])->name);
    } else {
        const size_t count = event_columns(plan, interval, columns);

        for (size_t i = 0; i < count; i++)
            fprintf(out, " %*s", columns[i].width,
                    td_count_event_name(plan, columns[i].group, columns[i].event));
    }
    fputc('\n', out);
}

static void row_begin(const struct td_count_view *view, const struct row *row, bool interval,
                      FILE *out)
{
    char name[64], tid[16] = "";

    td_text_safe(name, sizeof(name), row->thread->name, strlen(row->thread->name));
    if (row->thread->tid)
        snprintf(tid, sizeof(tid), "%u", row->thread->tid);
    if (interval)
        fprintf(out, "%8.3f", view->to_s);
    else
        fputc(' ', out);
    fprintf(out, " %7s %-15s", tid, name);
    if (shows_time(view, interval))
        td_count_print_cell(row->weight / NS_PER_MS, 8, 1, out);
}

/* One line for each type of CPU that the thread was counted on. */
static void slots_row(const struct td_count_view *view, const struct row *row, bool interval,
                      FILE *out)
{
    bool any = false;

    for (size_t i = 0; i < view->part_count; i++) {
        const struct td_count_cpu_type *part = &view->parts[i];
        struct td_pmu_tree tree;

        if (!td_count_cpu_type_tree(part, row->counts, &tree))
            continue;
        row_begin(view, row, interval, out);
        td_count_print_cell(td_count_ipc(part, row->counts), 5, 2, out);
        for (size_t c = 0; c < TD_COUNT_COLUMNS; c++)
            td_count_print_cell(100 * tree.share[td_count_columns[c]], 8, 1, out);
        fprintf(out, "%s%s\n", part->cpu_type[0] ? " " : "",
                strncmp(part->cpu_type, "cpu_", 4) == 0 ? part->cpu_type + 4 : part->cpu_type);
        any = true;
    }
    if (any)
        return;
    row_begin(view, row, interval, out);
    fputc('\n', out);
}

static void events_row(const struct td_count_view *view, const struct row *row, bool interval,
                       FILE *out)
{
    struct column columns[TD_COUNT_COLUMNS];
    const size_t count = event_columns(view->counts->plan, interval, columns);
    char text[32];

    row_begin(view, row, interval, out);
    for (size_t i = 0; i < count; i++) {
        const double value =
            td_count_estimate(td_counts_get(row->counts, columns[i].group, columns[i].event));

        fprintf(out, " %*s", columns[i].width,
                isnan(value) ? "not counted"
                             : td_format_count(text, sizeof(text), (uint64_t)(value + 0.5)));
    }
    fputc('\n', out);
}

static void print_row(const struct td_count_view *view, const struct row *row, bool interval,
                      FILE *out)
{
    if (has_slots(view))
        slots_row(view, row, interval, out);
    else
        events_row(view, row, interval, out);
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void misses_text(const struct td_count_view *view, FILE *out)
{
    const struct td_count_misses misses = view->misses;
    const struct td_plan *plan = view->counts->plan;
    const size_t first = first_group(plan);
    const double command_s = view->user_s + view->system_s;

    if (view->user_s >= 0 && command_s > 0 && plan->groups[first].events[0].unit == TD_UNIT_NS)
        fprintf(
            out, "  (%.1f %% of the command's CPU time)\n",
            fmin(100, td_count_estimate(td_counts_get(view->counts, first, 0)) / 1e7 / command_s));
    if (misses.late)
        fprintf(out,
                "  (counting began %.0f us after the start of %zu thread%s, at most %.0f us)\n",
                (double)misses.late_ns / (double)misses.late / 1e3, misses.late,
                plural(misses.late), (double)misses.worst_ns / 1e3);
    if (misses.missed)
        fprintf(out, "  (%zu thread%s not counted: %s)\n", misses.missed, plural(misses.missed),
                misses.why.code == TD_OK ? "ended before the counters were open" : misses.why.text);
}

void td_count_threads_print(const struct td_count_view *view, FILE *out)
{
    struct rows rows = make_rows(view, false);
    char of[64];

    fprintf(out, "\nThreads: %zu\n", rows.count);
    if (rows.count)
        heading(view, false, out);
    for (size_t i = 0; i < rows.count && i < ROWS_MAX; i++)
        print_row(view, &rows.at[i], false, out);
    if (rows.count > ROWS_MAX)
        fprintf(out, "  (%zu more: --json has them all)\n", rows.count - ROWS_MAX);
    misses_text(view, out);
    for (size_t i = 0; i < rows.count && rows.count <= WHOLE_MAX; i++) {
        const struct td_count_view own = view_of(view, &rows.at[i]);

        snprintf(of, sizeof(of), " of thread %u", rows.at[i].thread->tid);
        td_count_print_parts(&own, of, out);
    }
    release_rows(&rows, false);
}

void td_count_threads_print_interval(const struct td_count_view *view, bool first, FILE *out)
{
    struct rows rows = make_rows(view, true);

    if (first)
        heading(view, true, out);
    for (size_t i = 0; i < rows.count; i++)
        print_row(view, &rows.at[i], true, out);
    release_rows(&rows, true);
}

static void misses_json(const struct td_count_view *view, struct td_json *json)
{
    const struct td_count_misses misses = view->misses;

    td_json_object(json, "thread_misses");
    td_json_u64(json, "late", misses.late);
    td_json_u64(json, "late_ns", misses.late_ns);
    td_json_u64(json, "worst_ns", misses.worst_ns);
    td_json_u64(json, "missed", misses.missed);
    td_json_string(json, "why", misses.why.code == TD_OK ? NULL : misses.why.text);
    td_json_end(json);
}

void td_count_threads_json(const struct td_count_view *view, bool interval, struct td_json *json)
{
    struct rows rows = make_rows(view, interval);

    td_json_array(json, "threads");
    for (size_t i = 0; i < rows.count; i++) {
        const struct td_count_view own = view_of(view, &rows.at[i]);

        td_json_object(json, NULL);
        td_json_u64(json, "pid", rows.at[i].thread->pid);
        td_json_u64(json, "tid", rows.at[i].thread->tid);
        td_json_string(json, "name", rows.at[i].thread->name);
        td_count_json_values(&own, json);
        td_json_end(json);
    }
    td_json_end(json);
    if (!interval)
        misses_json(view, json);
    release_rows(&rows, interval);
}
