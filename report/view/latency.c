/* SPDX-License-Identifier: MIT */
#include "report/view/latency.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/view/json.h"

#define NAME_BYTES    1024
#define DIGITS        9
#define HELD_WIDTH    14
#define COLUMN_WIDTH  8
#define FIGURES_WIDTH (5 * COLUMN_WIDTH + 6)
#define NAMES_MIN     20 /* columns that a place gets, however narrow the terminal */

struct printer {
    const struct td_model *model;
    const struct td_style *style;
    bool lines;
    size_t shown;
    double cycles; /* of all that is reported; 0: not known */
};

static const char *function_name(const struct td_model *model, const struct td_frame *frame)
{
    return frame->function == TD_NONE
               ? "[unknown]"
               : td_model_string(model, td_model_function(model, frame->function)->name);
}

/* The two texts of a row's place, not yet fitted: the function and its module, or the line and its
 * function. Each buffer is of NAME_BYTES. */
static void place_texts(const struct printer *p, const struct td_frame *frame, char *first,
                        char *second)
{
    const char *function = function_name(p->model, frame);

    if (p->lines && frame->line) {
        snprintf(first, NAME_BYTES, "%s:%" PRIu32, td_model_string(p->model, frame->file),
                 frame->line);
        snprintf(second, NAME_BYTES, "%s", function);
        return;
    }
    snprintf(first, NAME_BYTES, "%s", function);
    snprintf(second, NAME_BYTES, "%s", td_module_name(p->model, frame->module));
}

/* Of one table: how wide its two last columns are. 0: as wide as their texts. */
struct widths {
    unsigned first, second;
};

/* `used`: the columns before them. The first gets what it needs, and at least half of the room. */
static struct widths widths_of(const struct printer *p, const struct td_latency_event *event,
                               unsigned used)
{
    const unsigned left =
        p->style->width > used + NAMES_MIN ? p->style->width - used - 4 : NAMES_MIN;
    unsigned first = 0, second = 0;
    char texts[2][NAME_BYTES], safe[NAME_BYTES];

    if (p->style->full)
        return (struct widths){.first = 0};
    for (size_t r = 0; r < event->len; r++) {
        place_texts(p, &event->rows[r].frame, texts[0], texts[1]);
        td_text_safe(safe, sizeof(safe), texts[0], strlen(texts[0]));
        first = td_text_width(safe) > first ? (unsigned)td_text_width(safe) : first;
        td_text_safe(safe, sizeof(safe), texts[1], strlen(texts[1]));
        second = td_text_width(safe) > second ? (unsigned)td_text_width(safe) : second;
    }
    if (first + second <= left)
        return (struct widths){.first = first, .second = second};
    const unsigned other = second < left / 2 ? second : left / 2;
    first = first < left - other ? first : left - other;
    return (struct widths){.first = first, .second = left - first};
}

static void print_place(const struct printer *p, const struct td_frame *frame, struct widths widths)
{
    char texts[2][NAME_BYTES], fitted[NAME_BYTES];

    place_texts(p, frame, texts[0], texts[1]);
    if (p->lines && frame->line)
        td_fit_path(p->style, fitted, sizeof(fitted), texts[0], widths.first);
    else
        td_fit_name(p->style, fitted, sizeof(fitted), texts[0], widths.first);
    const int pad = (int)widths.first - (int)td_text_width(fitted);
    fprintf(p->style->out, "  %s%*s  ", fitted, pad > 0 ? pad : 0, "");
    td_fit_name(p->style, fitted, sizeof(fitted), texts[1], widths.second);
    fprintf(p->style->out, "%s\n", fitted);
}

static void print_heading(const struct printer *p, const struct td_latency_event *event,
                          const char *what)
{
    char name[NAME_BYTES], count[32], text[3 * NAME_BYTES];

    td_text_safe(name, sizeof(name), event->name, strlen(event->name));
    snprintf(text, sizeof(text), "%s%s%s%s, %s sample%s: %s", name, event->cpu_type[0] ? " (" : "",
             event->cpu_type, event->cpu_type[0] ? ")" : "",
             td_format_count(count, sizeof(count), event->total.samples),
             event->total.samples == 1 ? "" : "s", what);
    fputc('\n', p->style->out);
    td_style_begin(p->style, TD_TONE_HEADING);
    td_style_wrap(p->style, text, 2, 2);
    td_style_end(p->style, TD_TONE_HEADING);
}

static void print_figures(const struct printer *p, const struct td_latency_figures *f)
{
    char count[32];

    fprintf(p->style->out, "%*s  %*.1f  %*.*f  %*" PRIu64 "  %*" PRIu64, COLUMN_WIDTH,
            td_format_count(count, sizeof(count), f->samples), COLUMN_WIDTH, f->mean, COLUMN_WIDTH,
            f->median > (double)(uint64_t)f->median ? 1 : 0, f->median, COLUMN_WIDTH - 1, f->p95,
            COLUMN_WIDTH - 1, f->max);
}

static void print_places_heading(const struct printer *p)
{
    fputs(p->lines ? "  line, function\n" : "  function, module\n", p->style->out);
}

static void print_more(const struct printer *p, size_t count)
{
    if (count <= p->shown)
        return;
    td_style_begin(p->style, TD_TONE_DIM);
    fprintf(p->style->out, "%s %zu more %s%s (-n 0 shows all)", td_style_ellipsis(p->style),
            count - p->shown, p->lines ? "line" : "function", count - p->shown == 1 ? "" : "s");
    td_style_end(p->style, TD_TONE_DIM);
    fputc('\n', p->style->out);
}

static void print_kind(const struct printer *p, const struct td_latency_event *event, int kind)
{
    FILE *out = p->style->out;
    const struct widths widths = widths_of(p, event, FIGURES_WIDTH);
    char what[128];
    size_t count = 0;

    snprintf(what, sizeof(what), "%s, cycles", td_latency_meaning((enum td_latency_kind)kind));
    print_heading(p, event, what);
    fprintf(out, "%*s  %*s  %*s  %*s  %*s", COLUMN_WIDTH, "samples", COLUMN_WIDTH, "mean",
            COLUMN_WIDTH, "median", COLUMN_WIDTH - 1, "p95", COLUMN_WIDTH - 1, "max");
    print_places_heading(p);
    print_figures(p, &event->total.figures[kind]);
    fputs("  (all)\n", out);
    for (size_t r = 0; r < event->len; r++) {
        const struct td_latency_row *row = &event->rows[r];

        if (row->figures[kind].samples == 0 || ++count > p->shown)
            continue;
        print_figures(p, &row->figures[kind]);
        print_place(p, &row->frame, widths);
    }
    print_more(p, count);
}

/* What a table of sources can show beside the sources themselves. */
static const struct extra {
    const char *id, *heading;
    size_t offset;
} extras[] = {
    {"hitm", "HITM", offsetof(struct td_latency_row, hitm)},
    {"tlb_walk", "walk", offsetof(struct td_latency_row, tlb_walks)},
    {"locked", "locked", offsetof(struct td_latency_row, locked)},
    {"store", "stores", offsetof(struct td_latency_row, stores)},
};

static uint64_t extra_of(const struct td_latency_row *row, const struct extra *extra)
{
    uint64_t value = 0;

    memcpy(&value, (const char *)row + extra->offset, sizeof(value));
    return value;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

/* Columns that are 0 in the total are left out. Returns the width. */
static unsigned print_sources(const struct printer *p, const struct td_latency_row *row,
                              const struct td_latency_row *total)
{
    FILE *out = p->style->out;
    char count[32];
    unsigned used = COLUMN_WIDTH;

    fprintf(out, "%*s", COLUMN_WIDTH, td_format_count(count, sizeof(count), row->accesses));
    for (int s = 0; s < TD_DATA_SOURCE_COUNT; s++) {
        if (total->sources[s] == 0)
            continue;
        const int width = (int)strlen(td_data_source_heading((enum td_data_source)s));
        const int column = width > 5 ? width : 5;
        fprintf(out, "  %*.1f", column, percent(row->sources[s], row->accesses));
        used += (unsigned)column + 2;
    }
    for (size_t e = 0; e < sizeof(extras) / sizeof(extras[0]); e++) {
        if (extra_of(total, &extras[e]) == 0)
            continue;
        const int width = (int)strlen(extras[e].heading);
        const int column = width > 5 ? width : 5;
        fprintf(out, "  %*.1f", column, percent(extra_of(row, &extras[e]), row->accesses));
        used += (unsigned)column + 2;
    }
    return used;
}

static void print_sources_heading(const struct printer *p, const struct td_latency_row *total)
{
    FILE *out = p->style->out;

    fprintf(out, "%*s", COLUMN_WIDTH, "accesses");
    for (int s = 0; s < TD_DATA_SOURCE_COUNT; s++) {
        if (total->sources[s] > 0)
            fprintf(out, "  %5s", td_data_source_heading((enum td_data_source)s));
    }
    for (size_t e = 0; e < sizeof(extras) / sizeof(extras[0]); e++) {
        if (extra_of(total, &extras[e]) > 0)
            fprintf(out, "  %5s", extras[e].heading);
    }
    print_places_heading(p);
}

static void print_source_table(const struct printer *p, const struct td_latency_event *event)
{
    const struct td_latency_row *total = &event->total;
    size_t count = 0;

    if (total->accesses == total->sources[TD_DATA_SOURCE_UNKNOWN])
        return;
    print_heading(p, event, "where accesses found their data, % of them");
    print_sources_heading(p, total);
    const struct widths widths = widths_of(p, event, print_sources(p, total, total));
    fputs("  (all)\n", p->style->out);
    for (size_t r = 0; r < event->len; r++) {
        const struct td_latency_row *row = &event->rows[r];

        if (row->accesses == 0 || ++count > p->shown)
            continue;
        print_sources(p, row, total);
        print_place(p, &row->frame, widths);
    }
    print_more(p, count);
}

/* One row of what retirement was held up for. */
static void print_held(const struct printer *p, const struct td_latency_row *row)
{
    char events[32], cycles[32];

    fprintf(p->style->out, "%*s  %*s", HELD_WIDTH,
            td_format_count(events, sizeof(events), row->events), HELD_WIDTH,
            td_format_count(cycles, sizeof(cycles), (uint64_t)(row->held + 0.5)));
    if (p->cycles > 0)
        fprintf(p->style->out, "  %5.1f", 100 * row->held / p->cycles);
}

static void print_held_table(const struct printer *p, const struct td_latency_event *event)
{
    const unsigned used = 2 * HELD_WIDTH + 2 + (p->cycles > 0 ? 7 : 0);
    const struct widths widths = widths_of(p, event, used);
    char what[160] = "cycles that retirement waited, events x measured latency";

    if (event->held == TD_HELD_STATIC)
        snprintf(what, sizeof(what),
                 "cycles that they took, events x a static latency of %g %s (its vendor's for this "
                 "core, not measured)",
                 event->static_latency, event->static_ns ? "ns" : "cycles");
    print_heading(p, event, what);
    fprintf(p->style->out, "%*s  %*s%s", HELD_WIDTH, "events", HELD_WIDTH, "cycles",
            p->cycles > 0 ? "  % all" : "");
    print_places_heading(p);
    print_held(p, &event->total);
    fputs("  (all)\n", p->style->out);
    for (size_t r = 0; r < event->len && r < p->shown; r++) {
        print_held(p, &event->rows[r]);
        print_place(p, &event->rows[r].frame, widths);
    }
    print_more(p, event->len);
}

void td_latency_print(const struct td_latency *latency, const struct td_model *model, bool lines,
                      size_t shown, const struct td_style *style)
{
    const struct printer p = {
        .model = model, .style = style, .lines = lines, .shown = shown, .cycles = latency->cycles};

    for (size_t e = 0; e < latency->len; e++) {
        for (int k = 0; k < TD_LATENCY_KINDS; k++) {
            if (latency->at[e].total.figures[k].samples > 0)
                print_kind(&p, &latency->at[e], k);
        }
        if (latency->at[e].held != TD_HELD_UNKNOWN)
            print_held_table(&p, &latency->at[e]);
        print_source_table(&p, &latency->at[e]);
    }
}

static void json_held(struct td_json *json, const struct td_latency_event *event)
{
    static const char *const kinds[] = {NULL, "measured", "static"};

    td_json_string(json, "held_by", kinds[event->held]);
    if (event->held == TD_HELD_STATIC)
        td_json_double(json, event->static_ns ? "static_ns" : "static_cycles",
                       event->static_latency, DIGITS);
}

static void json_row(struct td_json *json, const struct td_latency_row *row, bool held)
{
    td_json_u64(json, "samples", row->samples);
    td_json_u64(json, "events", row->events);
    if (held)
        td_json_double(json, "held_cycles", row->held, DIGITS);
    else
        td_json_null(json, "held_cycles");
    td_json_object(json, "cycles");
    for (int k = 0; k < TD_LATENCY_KINDS; k++) {
        const struct td_latency_figures *f = &row->figures[k];

        if (f->samples == 0)
            continue;
        td_json_object(json, td_latency_id((enum td_latency_kind)k));
        td_json_u64(json, "samples", f->samples);
        td_json_double(json, "mean", f->mean, DIGITS);
        td_json_double(json, "median", f->median, DIGITS);
        td_json_u64(json, "p95", f->p95);
        td_json_u64(json, "max", f->max);
        td_json_end(json);
    }
    td_json_end(json);
    td_json_u64(json, "accesses", row->accesses);
    td_json_object(json, "sources");
    for (int s = 0; s < TD_DATA_SOURCE_COUNT; s++)
        td_json_u64(json, td_data_source_id((enum td_data_source)s), row->sources[s]);
    td_json_end(json);
    for (size_t e = 0; e < sizeof(extras) / sizeof(extras[0]); e++)
        td_json_u64(json, extras[e].id, extra_of(row, &extras[e]));
}

void td_latency_json(const struct td_latency *latency, const struct td_model *model, size_t shown,
                     struct td_json *json)
{
    if (latency->cycles > 0)
        td_json_double(json, "cycles", latency->cycles, DIGITS);
    else
        td_json_null(json, "cycles");
    td_json_array(json, "latency");
    for (size_t e = 0; e < latency->len; e++) {
        const struct td_latency_event *event = &latency->at[e];

        td_json_object(json, NULL);
        td_json_string(json, "event", event->name);
        td_json_string(json, "cpu_type", event->cpu_type);
        json_held(json, event);
        json_row(json, &event->total, event->held != TD_HELD_UNKNOWN);
        td_json_array(json, "rows");
        for (size_t r = 0; r < event->len && r < shown; r++) {
            const struct td_frame *frame = &event->rows[r].frame;

            td_json_object(json, NULL);
            td_json_string(json, "function", function_name(model, frame));
            td_json_string(json, "module", td_module_name(model, frame->module));
            td_report_json_place(json, model, frame->file, frame->line);
            json_row(json, &event->rows[r], event->held != TD_HELD_UNKNOWN);
            td_json_end(json);
        }
        td_json_end(json);
        td_json_end(json);
    }
    td_json_end(json);
}
