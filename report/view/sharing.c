/* SPDX-License-Identifier: MIT */
#include "report/view/sharing.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/frames.h"
#include "report/attribution/stats.h"

#define SIDE_AT       21 /* column of what is said of a side */
#define PAIRS_SHOWN   3
#define THREADS_SHOWN 6
#define PAIR_LEAST    0.02  /* of its line's cycles */
#define LINE_LEAST    0.001 /* of all lines' */
#define LITTLE        0.5   /* percent of all threads' cycles */
#define CALLERS_SHOWN 5
#define CALLER_LEAST  0.01  /* of all callers' slots */
#define LOCKS_LEAST   0.005 /* of all slots: what is below is not shown */

/* "counters+64 of fs", "heap at 0x5555a2c0". Newly allocated. */
static char *data_text(const struct td_shared_line *line, const struct td_model *model)
{
    if (line->area == TD_SHARED_LINES)
        return td_xstrdup("(other lines)");
    if (line->data)
        return td_xasprintf("%s of %s", line->data, td_module_name(model, line->module));
    if (line->area == TD_SHARED_MODULE)
        return td_xasprintf("%s+0x%" PRIx64, td_module_name(model, line->module), line->offset);
    return td_xasprintf("%s at 0x%" PRIx64, td_shared_area_name(line->area), line->address);
}

static const char *kind_text(const struct td_shared_line *line)
{
    const double part =
        line->sums.cycles > 0 ? (double)line->falses.cycles / (double)line->sums.cycles : 0;

    return part >= 0.95 ? "false" : part <= 0.05 ? "true" : "both";
}

/* "file.c:12 function", or what is known of it. Newly allocated. */
static char *place_text(const struct td_frame *frame, const struct td_model *model)
{
    char name[512];

    if (frame->location == TD_NONE)
        return td_xstrdup("other places");
    const char *function = td_frame_name(model, frame, name, sizeof(name));
    if (!frame->file || !frame->line)
        return td_xstrdup(function);
    return td_xasprintf("%s:%u %s", td_text_last_part(td_model_string(model, frame->file)),
                        frame->line, function);
}

/* "101, 102 and 3 more". Newly allocated. */
static char *threads_text(const struct td_shared_threads *threads, const struct td_model *model)
{
    struct td_buf text = {0};
    char tid[32];

    for (size_t i = 0; i < threads->len && i < THREADS_SHOWN; i++) {
        snprintf(tid, sizeof(tid), "%s%" PRIu32, i ? ", " : "",
                 td_model_thread(model, threads->at[i])->tid);
        td_buf_bytes(&text, tid, strlen(tid));
    }
    if (threads->len > THREADS_SHOWN) {
        snprintf(tid, sizeof(tid), " and %zu more", threads->len - THREADS_SHOWN);
        td_buf_bytes(&text, tid, strlen(tid));
    }
    if (threads->more && threads->len > 0)
        td_buf_bytes(&text, " and others", strlen(" and others"));
    td_buf_u8(&text, 0);
    return (char *)text.data;
}

/* "main.c:3 f, stores, threads 5, 6"; newly allocated. */
static char *side_text(const struct td_shared_place *place, const struct td_model *model)
{
    const char *what = place->store ? "stores" : "loads";
    const bool one = place->threads.len == 1 && !place->threads.more;
    char *code = place_text(&place->frame, model), *threads = threads_text(&place->threads, model);
    char *text = place->frame.location == TD_NONE ? td_xstrdup(code)
                 : place->threads.len == 0
                     ? td_xasprintf("%s, %s", code, what)
                     : td_xasprintf("%s, %s, thread%s %s", code, what, one ? "" : "s", threads);

    free(code);
    free(threads);
    return text;
}

static void print_side(const char *label, const struct td_shared_place *place, const char *more,
                       const struct td_model *model, const struct td_style *style)
{
    char *side = side_text(place, model), *text = td_xasprintf("%s%s", side, more);

    fputs(label, style->out);
    td_style_wrap(style, text, SIDE_AT, SIDE_AT);
    free(side);
    free(text);
}

static void print_pair(const struct td_shared_line *line, const struct td_shared_pair *pair,
                       const struct td_model *model, const struct td_style *style)
{
    char label[64];

    snprintf(label, sizeof(label), "    %5.1f %%  waited: ",
             line->sums.cycles ? 100 * (double)pair->sums.cycles / (double)line->sums.cycles : 0);
    print_side(label, &pair->mine, "", model, style);
    /* The line says it where all of its pairs are alike. */
    print_side("             after:  ", &pair->theirs,
               strcmp(kind_text(line), "both") != 0 ? ""
               : pair->is_false                     ? " (false)"
                                                    : " (true)",
               model, style);
}

static void print_line(const struct td_shared_table *table, const struct td_shared_line *line,
                       const struct td_model *model, const struct td_style *style)
{
    const uint64_t events = line->sums.transfers + line->sums.invalidations;
    char *data = data_text(line, model);
    char cycles[32], transfers[32], ended[32], fitted[1024];
    size_t shown = 0;

    td_fit_text(style, fitted, sizeof(fitted), data,
                style->full         ? 0
                : style->width > 70 ? style->width - 53
                                    : 17);
    fprintf(style->out, "%5.1f  %14s  %11s  %8s  %-5s  %s\n",
            table->sums.cycles ? 100 * (double)line->sums.cycles / (double)table->sums.cycles : 0,
            td_format_count(cycles, sizeof(cycles), line->sums.cycles),
            td_format_count(transfers, sizeof(transfers), line->sums.transfers),
            td_format_count(ended, sizeof(ended), line->sums.invalidations), kind_text(line),
            fitted);
    free(data);
    for (; shown < line->pair_count && shown < PAIRS_SHOWN; shown++) {
        const struct td_shared_pair *pair = &line->pairs[shown];

        if (shown && (double)pair->sums.cycles < PAIR_LEAST * (double)line->sums.cycles)
            break;
        print_pair(line, pair, model, style);
    }
    if (shown < line->pair_count && events > 0) {
        td_style_begin(style, TD_TONE_DIM);
        fprintf(style->out, "    %s %zu more pair%s of places (--json)\n", td_style_ellipsis(style),
                line->pair_count - shown, line->pair_count - shown == 1 ? "" : "s");
        td_style_end(style, TD_TONE_DIM);
    }
}

static const char *scope_text(enum td_shared_scope scope)
{
    switch (scope) {
    case TD_SHARED_ALL: break;
    case TD_SHARED_WINDOWS: return " in the parts of the run that were modelled exactly";
    case TD_SHARED_BEYOND: return " in the whole run, not only in the function of --toggle";
    }
    return "";
}

static void print_head(const struct td_shared_table *table, const struct td_style *style)
{
    char cycles[32], transfers[32], of_all[64] = "";
    const double percent = 100 * (double)table->sums.cycles / table->cycles;
    char *text = NULL;

    if (percent > 100)
        snprintf(of_all, sizeof(of_all), " (more than the cycles of all threads)");
    else if (!isnan(percent))
        snprintf(of_all, sizeof(of_all), " (%.*f %% of the cycles of all threads%s)",
                 percent < 1 ? 3 : 1, percent, percent < LITTLE ? ": next to nothing" : "");
    td_format_count(cycles, sizeof(cycles), table->sums.cycles);
    td_format_count(transfers, sizeof(transfers),
                    table->sums.transfers + table->sums.invalidations);
    text = td_xasprintf(
        "%s cycles until a shared line came%s%s, %s times; %.0f %% of them by false sharing, where "
        "threads use different bytes of one line; waits at the same time count each, and other "
        "work may hide them",
        cycles, scope_text(table->scope), of_all, transfers,
        table->sums.cycles ? 100 * (double)table->falses.cycles / (double)table->sums.cycles : 0);
    td_style_paragraph(style, "sharing", TD_TONE_PLAIN, text);
    free(text);
}

void td_sharing_print(const struct td_shared_table *table, const struct td_model *model,
                      size_t shown, const struct td_style *style)
{
    size_t i = 0;

    print_head(table, style);
    fputc('\n', style->out);
    td_style_begin(style, TD_TONE_HEADING);
    fputs("Lines that threads share, by the cycles until they came", style->out);
    td_style_end(style, TD_TONE_HEADING);
    fprintf(style->out, "\n%5s  %14s  %11s  %8s  %-5s  %s\n", "%", "cycles", "transfers", "copies",
            "kind", "data");
    for (; i < table->len && i < shown &&
           (i == 0 || shown == SIZE_MAX ||
            (double)table->lines[i].sums.cycles >= LINE_LEAST * (double)table->sums.cycles);
         i++)
        print_line(table, &table->lines[i], model, style);
    td_style_begin(style, TD_TONE_DIM);
    if (i < table->len)
        fprintf(style->out, "  %s %zu more line%s (-n 0 shows all)\n", td_style_ellipsis(style),
                table->len - i, table->len - i == 1 ? "" : "s");
    td_style_wrap(style,
                  "(transfers: another thread had changed the line; copies: a store ended the "
                  "copies of others; false: they use different bytes, apart they would not wait)",
                  0, 2);
    td_style_end(style, TD_TONE_DIM);
}

static void sums_json(const struct td_shared_sums *sums, struct td_json *json)
{
    td_json_u64(json, "cycles", sums->cycles);
    td_json_u64(json, "transfers", sums->transfers);
    td_json_u64(json, "invalidations", sums->invalidations);
}

static void threads_json(const struct td_shared_threads *threads, const struct td_model *model,
                         struct td_json *json)
{
    td_json_array(json, "threads");
    for (size_t i = 0; i < threads->len; i++)
        td_json_u64(json, NULL, td_model_thread(model, threads->at[i])->tid);
    td_json_end(json);
}

static void place_json(const char *key, const struct td_shared_place *place,
                       const struct td_model *model, struct td_json *json)
{
    const struct td_frame *frame = &place->frame;
    const bool known = frame->location != TD_NONE;
    char name[512];

    td_json_object(json, key);
    td_json_string(json, "function",
                   known ? td_frame_name(model, frame, name, sizeof(name)) : NULL);
    td_json_string(json, "module", known ? td_module_name(model, frame->module) : NULL);
    td_json_string(json, "file", known && frame->file ? td_model_string(model, frame->file) : NULL);
    td_json_u64(json, "line", known ? frame->line : 0);
    td_json_string(json, "access", !known ? NULL : place->store ? "store" : "load");
    threads_json(&place->threads, model, json);
    td_json_bool(json, "other_threads", place->threads.more);
    td_json_end(json);
}

static void line_json(const struct td_shared_line *line, const struct td_model *model,
                      struct td_json *json)
{
    const struct td_thread *process = td_model_thread(model, line->process);

    td_json_object(json, NULL);
    td_json_u64(json, "pid", process->pid);
    td_json_u64(json, "address", line->address);
    td_json_string(json, "area", td_shared_area_name(line->area));
    td_json_string(json, "data", line->data);
    td_json_string(json, "module",
                   line->module == TD_NONE ? NULL : td_module_name(model, line->module));
    td_json_u64(json, "offset", line->offset);
    td_json_string(json, "kind", kind_text(line));
    sums_json(&line->sums, json);
    td_json_u64(json, "false_cycles", line->falses.cycles);
    threads_json(&line->threads, model, json);
    td_json_array(json, "pairs");
    for (size_t p = 0; p < line->pair_count; p++) {
        const struct td_shared_pair *pair = &line->pairs[p];

        td_json_object(json, NULL);
        td_json_string(json, "kind", pair->is_false ? "false" : "true");
        sums_json(&pair->sums, json);
        place_json("waited", &pair->mine, model, json);
        place_json("after", &pair->theirs, model, json);
        td_json_end(json);
    }
    td_json_end(json);
    td_json_end(json);
}

void td_sharing_json(const struct td_shared_table *table, const struct td_model *model,
                     size_t shown, struct td_json *json)
{
    td_json_object(json, "sharing");
    sums_json(&table->sums, json);
    td_json_u64(json, "false_cycles", table->falses.cycles);
    if (isnan(table->cycles))
        td_json_null(json, "modelled_cycles");
    else
        td_json_u64(json, "modelled_cycles", (uint64_t)table->cycles);
    td_json_array(json, "lines");
    for (size_t i = 0; i < table->len && i < shown; i++)
        line_json(&table->lines[i], model, json);
    td_json_end(json);
    td_json_end(json);
}

void td_lock_callers_print(const struct td_lock_callers *callers, const struct td_measure *measure,
                           const struct td_style *style)
{
    const struct td_model *model = measure->model;
    const double part = td_ratio(callers->slots, measure->totals[TD_METRIC_SLOTS]);

    if (part < LOCKS_LEAST)
        return;
    fputc('\n', style->out);
    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "Who takes locks: %.1f %% of all slots are lost there to shared lines",
            100 * part);
    td_style_end(style, TD_TONE_HEADING);
    fputc('\n', style->out);
    for (size_t i = 0; i < callers->len && i < CALLERS_SHOWN; i++) {
        const struct td_lock_caller *caller = &callers->at[i];
        const double share = (double)caller->slots / (double)callers->slots;
        char *text = place_text(&caller->frame, model);
        char fitted[1024];

        if (i > 0 && share < CALLER_LEAST) {
            free(text);
            break;
        }
        td_fit_text(style, fitted, sizeof(fitted), text,
                    style->full         ? 0
                    : style->width > 20 ? style->width - 9
                                        : 11);
        fprintf(style->out, "%5.1f %%  %s\n", 100 * share, fitted);
        free(text);
    }
}

void td_lock_callers_json(const struct td_lock_callers *callers, const struct td_model *model,
                          struct td_json *json)
{
    char name[512];

    td_json_array(json, "lock_callers");
    for (size_t i = 0; i < callers->len; i++) {
        const struct td_frame *frame = &callers->at[i].frame;
        const bool known = frame->location != TD_NONE;

        td_json_object(json, NULL);
        td_json_string(json, "function",
                       known ? td_frame_name(model, frame, name, sizeof(name)) : NULL);
        td_json_string(json, "module", known ? td_module_name(model, frame->module) : NULL);
        td_json_string(json, "file",
                       known && frame->file ? td_model_string(model, frame->file) : NULL);
        td_json_u64(json, "line", known ? frame->line : 0);
        td_json_u64(json, "slots", callers->at[i].slots);
        td_json_double(json, "share", (double)callers->at[i].slots / (double)callers->slots, 6);
        td_json_end(json);
    }
    td_json_end(json);
}
