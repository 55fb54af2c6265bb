/* SPDX-License-Identifier: MIT */
#include "report/query/figures/rows.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/opt.h"
#include "formats/frames.h"
#include "report/attribution/slots.h"
#include "report/attribution/stats.h"
#include "report/query/figures/replicated.h"
#include "report/query/figures/weights.h"

#define SURE_PART      0.2                 /* of a figure: what is shown is that much at least */
#define ERROR_MAX      0.25                /* of the row's slots: more is no figure */
#define THIN_INTERVALS 5                   /* a row of fewer says nothing about categories */
#define LISTED_BYTES   400                 /* of names in an error, which has room for so many */
#define KEY_NO_LINE    (UINT64_C(1) << 62) /* a function's places without a line */

struct key {
    uint64_t a, b;
};

/* A thread is recorded anew when its name changes, and back: the same names are the same row. */
static struct key thread_key(const struct td_thread *thread, bool program)
{
    if (program)
        return (struct key){thread->process, 0};
    return (struct key){(uint64_t)thread->pid << 32 | thread->tid,
                        (uint64_t)thread->process << 32 | thread->name};
}

static struct key row_key(const struct td_model *model, enum td_row_kind kind,
                          const struct td_frame *frame, uint32_t thread)
{
    switch (kind) {
    case TD_ROWS_FUNCTIONS: return (struct key){td_function_key(frame), 0};
    case TD_ROWS_LINES:
        if (frame->line != 0)
            return (struct key){frame->file, frame->line};
        return (struct key){KEY_NO_LINE | td_function_key(frame), frame->module};
    case TD_ROWS_MODULES: return (struct key){frame->module, 0};
    case TD_ROWS_THREADS:
    case TD_ROWS_PROGRAMS:
        return thread_key(td_model_thread(model, thread), kind == TD_ROWS_PROGRAMS);
    }
    return (struct key){0, 0};
}

static bool is_by_thread(enum td_row_kind kind)
{
    return kind == TD_ROWS_THREADS || kind == TD_ROWS_PROGRAMS;
}

static struct td_row new_row(const struct td_model *model, enum td_row_kind kind,
                             const struct td_frame *frame, uint32_t thread)
{
    struct td_row row = {.function = TD_NONE, .module = TD_NONE, .thread = TD_NONE};

    switch (kind) {
    case TD_ROWS_FUNCTIONS:
        row.function = frame->function;
        row.module = frame->module;
        if (frame->function != TD_NONE) {
            row.file = td_model_function(model, frame->function)->file;
            row.line = td_model_function(model, frame->function)->line;
        }
        break;
    case TD_ROWS_LINES:
        row.function = frame->function;
        row.module = frame->module;
        row.file = frame->line ? frame->file : 0;
        row.line = frame->line;
        break;
    case TD_ROWS_MODULES: row.module = frame->module; break;
    case TD_ROWS_THREADS:
    case TD_ROWS_PROGRAMS: row.thread = thread; break;
    }
    return row;
}

struct summing {
    struct td_rows *rows;
    size_t cap;
    struct td_map ids;        /* key -> row */
    uint32_t *row_index;      /* by row of the measure; measured slots only */
    uint32_t *row_of;         /* by location (the last: no location), or by thread; TD_NONE: none */
    struct td_map line_parts; /* LINES: (row, function) -> index in parts */
    struct line_part {
        uint32_t row, function, module;
        uint64_t value;
    } * parts;
    size_t part_len, part_cap;
};

static uint32_t find_row(struct summing *s, const struct td_frame *frame, uint32_t thread)
{
    struct td_rows *rows = s->rows;
    const struct key key = row_key(rows->measure->model, rows->kind, frame, thread);
    bool added = false;
    const uint32_t row = *td_map_put(&s->ids, key.a, key.b, (uint32_t)rows->len, &added);

    if (added) {
        rows->at = td_grow(rows->at, &s->cap, rows->len + 1, sizeof(*rows->at));
        rows->at[rows->len++] = new_row(rows->measure->model, rows->kind, frame, thread);
    }
    return row;
}

/* Which function a line's cost belongs to, when several share the line. */
static void add_part(struct summing *s, uint32_t row, const struct td_frame *frame, uint64_t value)
{
    bool added = false;
    const uint32_t part =
        *td_map_put(&s->line_parts, row, frame->function, (uint32_t)s->part_len, &added);

    if (added) {
        s->parts = td_grow(s->parts, &s->part_cap, s->part_len + 1, sizeof(*s->parts));
        s->parts[s->part_len++] =
            (struct line_part){.row = row, .function = frame->function, .module = frame->module};
    }
    s->parts[part].value += value;
}

static const char *function_name(const struct td_model *model, uint32_t function)
{
    return function == TD_NONE ? ""
                               : td_model_string(model, td_model_function(model, function)->name);
}

/* Of functions that cost the same the first by name is shown, whichever the recorder met first. */
static bool is_before(const struct td_model *model, const struct line_part *part,
                      const struct td_row *row)
{
    return strcmp(function_name(model, part->function), function_name(model, row->function)) < 0;
}

static void choose_line_functions(struct summing *s)
{
    uint64_t *best = td_xcalloc(s->rows->len + 1, sizeof(*best));

    for (size_t i = 0; i < s->part_len; i++) {
        const struct line_part *part = &s->parts[i];
        struct td_row *row = &s->rows->at[part->row];

        if (part->function != row->function)
            row->others++;
        if (part->value > best[part->row] ||
            (part->value == best[part->row] && is_before(s->rows->measure->model, part, row))) {
            best[part->row] = part->value;
            row->function = part->function;
            row->module = part->module;
        }
    }
    free(best);
}

/* How many processes share a program's name. */
static void count_processes(struct summing *s)
{
    const struct td_model *model = s->rows->measure->model;
    struct td_map seen = {.slots = NULL};

    for (uint32_t t = 0; t < td_model_thread_count(model); t++) {
        const struct td_thread *thread = td_model_thread(model, t);
        bool added = false;

        if (s->row_of[thread->holder] == TD_NONE)
            continue;
        td_map_put(&seen, thread->process, thread->pid, 0, &added);
        if (added)
            s->rows->at[s->row_of[thread->holder]].others++;
    }
    for (size_t i = 0; i < s->rows->len; i++)
        s->rows->at[i].others--;
    td_map_release(&seen);
}

static void drop_empty_rows(struct td_rows *rows)
{
    size_t kept = 0;

    for (size_t i = 0; i < rows->len; i++) {
        bool any = false;

        for (unsigned m = 0; m < TD_METRIC_COUNT && !any; m++)
            any = rows->at[i].values[m] > 0;
        if (any)
            rows->at[kept++] = rows->at[i];
    }
    rows->len = kept;
}

static void sum_row(struct summing *s, size_t i, bool no_inline)
{
    struct td_rows *rows = s->rows;
    const struct td_measure *measure = rows->measure;
    const struct td_measure_row *from = &measure->rows[i];
    const uint32_t location = td_model_node(measure->model, from->node)->location;
    const uint32_t last = td_model_location_count(measure->model);
    uint32_t *cached = &s->row_of[is_by_thread(rows->kind) ? from->thread
                                  : location == TD_NONE    ? last
                                                           : location];

    if (*cached == TD_NONE || rows->kind == TD_ROWS_LINES) {
        const struct td_frame frame = td_frame_leaf(measure->model, location, no_inline);

        if (*cached == TD_NONE)
            *cached = find_row(s, &frame, from->thread);
        if (rows->kind == TD_ROWS_LINES)
            add_part(s, *cached, &frame, measure->values[rows->primary][i]);
    }
    if (s->row_index)
        s->row_index[i] = *cached;
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        if (measure->values[m])
            rows->at[*cached].values[m] += measure->values[m][i];
    }
}

/* The replicates' rows are those of the same places. */
static void find_replicated(struct summing *s)
{
    struct td_rows *rows = s->rows;
    const struct td_measure *measure = rows->measure;
    const uint32_t last = td_model_location_count(measure->model);
    uint32_t *keys = td_xcalloc(measure->replicate_count + 1, sizeof(*keys));

    for (size_t i = 0; i < measure->replicate_count; i++) {
        const struct td_measure_replicates *r = &measure->replicates[i];
        const uint32_t location = td_model_node(measure->model, r->node)->location;

        keys[i] = s->row_of[is_by_thread(rows->kind) ? r->thread
                            : location == TD_NONE    ? last
                                                     : location];
    }
    rows->replicated = td_xcalloc(rows->len + 1, sizeof(*rows->replicated));
    td_replicated_rows(rows->replicated, rows, keys);
    free(keys);
}

static void find_evidence(struct summing *s)
{
    struct td_rows *rows = s->rows;

    for (size_t i = 0; i < rows->len; i++)
        rows->at[i].evidence = (uint32_t)i;
    if (td_replicated_is(rows->measure))
        find_replicated(s);

    if (!s->row_index)
        return;
    rows->evidence = td_xcalloc(rows->len + 1, sizeof(*rows->evidence));
    if (rows->measure->join)
        td_weights_evidence(rows->evidence, rows->measure, s->row_index, rows->len,
                            rows->kind == TD_ROWS_LINES);
    else
        td_slots_evidence(rows->evidence, rows->measure, s->row_index, rows->len);
}

void td_rows_init(struct td_rows *rows, const struct td_measure *measure, enum td_row_kind kind,
                  bool no_inline)
{
    const struct td_model *model = measure->model;
    const size_t count = 1 + (size_t)(is_by_thread(kind) ? td_model_thread_count(model)
                                                         : td_model_location_count(model));
    struct summing s = {.rows = rows};

    *rows =
        (struct td_rows){.measure = measure, .kind = kind, .primary = td_measure_primary(measure)};
    s.row_of = td_xcalloc(count, sizeof(*s.row_of));
    memset(s.row_of, 0xff, count * sizeof(*s.row_of));
    if (measure->slots || measure->join)
        s.row_index = td_xcalloc(measure->row_count + 1, sizeof(*s.row_index));
    for (size_t i = 0; i < measure->row_count; i++)
        sum_row(&s, i, no_inline);
    for (size_t i = 0; i < rows->len; i++)
        td_measure_sum_time(measure, rows->at[i].values);
    if (kind == TD_ROWS_LINES)
        choose_line_functions(&s);
    if (kind == TD_ROWS_PROGRAMS)
        count_processes(&s);
    find_evidence(&s);
    drop_empty_rows(rows);
    td_rows_sort(rows, (struct td_sort){.by = TD_SORT_VALUE, .metric = rows->primary});
    td_map_release(&s.ids);
    td_map_release(&s.line_parts);
    free(s.parts);
    free(s.row_index);
    free(s.row_of);
}

void td_rows_release(struct td_rows *rows)
{
    free(rows->at);
    free(rows->evidence);
    free(rows->replicated);
    *rows = (struct td_rows){0};
}

const char *td_row_name(const struct td_rows *rows, const struct td_row *row)
{
    const struct td_model *model = rows->measure->model;

    if (rows->kind == TD_ROWS_THREADS)
        return td_model_string(model, td_model_thread(model, row->thread)->name);
    if (rows->kind == TD_ROWS_PROGRAMS)
        return td_model_string(model, td_model_thread(model, row->thread)->process);
    if (rows->kind == TD_ROWS_MODULES)
        return td_module_name(model, row->module);
    if (row->function == TD_NONE)
        return "[unknown]";
    return td_model_string(model, td_model_function(model, row->function)->name);
}

struct sorting {
    const struct td_rows *rows;
    struct td_sort sort;
};

static int by_value(const struct td_row *a, const struct td_row *b, enum td_metric metric)
{
    return (a->values[metric] < b->values[metric]) - (a->values[metric] > b->values[metric]);
}

static int by_number(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int by_name(const struct sorting *s, const struct td_row *a, const struct td_row *b)
{
    return strcmp(td_row_name(s->rows, a), td_row_name(s->rows, b));
}

static int by_module(const struct sorting *s, const struct td_row *a, const struct td_row *b)
{
    const struct td_model *model = s->rows->measure->model;

    return strcmp(td_module_name(model, a->module), td_module_name(model, b->module));
}

static int by_file(const struct sorting *s, const struct td_row *a, const struct td_row *b)
{
    const struct td_model *model = s->rows->measure->model;
    const int order = strcmp(td_model_string(model, a->file), td_model_string(model, b->file));

    return order ? order : by_number(a->line, b->line);
}

/* Of files of one name in two folders. */
static int by_path(const struct sorting *s, const struct td_row *a, const struct td_row *b)
{
    const struct td_model *model = s->rows->measure->model;
    const char *paths[2];

    for (int i = 0; i < 2; i++) {
        const uint32_t module = i == 0 ? a->module : b->module;

        paths[i] =
            module == TD_NONE ? "" : td_model_string(model, td_model_module(model, module)->path);
    }
    return strcmp(paths[0], paths[1]);
}

static int compare_rows(const void *x, const void *y, void *ctx)
{
    const struct sorting *s = ctx;
    const struct td_row *a = x, *b = y;
    int order = 0;

    switch (s->sort.by) {
    case TD_SORT_VALUE: order = by_value(a, b, s->sort.metric); break;
    case TD_SORT_NAME: order = by_name(s, a, b); break;
    case TD_SORT_MODULE: order = by_module(s, a, b); break;
    case TD_SORT_FILE: order = by_file(s, a, b); break;
    }
    order = order ? order : by_value(a, b, s->rows->primary);
    order = order ? order : by_name(s, a, b);
    order = order ? order : by_file(s, a, b);
    order = order ? order : by_path(s, a, b);
    order = order ? order : by_number(a->function, b->function);
    order = order ? order : by_number(a->module, b->module);
    return order ? order : by_number(a->thread, b->thread);
}

void td_rows_sort(struct td_rows *rows, struct td_sort sort)
{
    struct sorting sorting = {.rows = rows, .sort = sort};

    if (rows->len > 1)
        qsort_r(rows->at, rows->len, sizeof(*rows->at), compare_rows, &sorting);
}

/* The name of which a word begins with most of `key`: "misprd" is of branch_mispredicts. */
static const char *nearest_by_word(const char *key, const char *const *names)
{
    const size_t len = strlen(key);
    size_t most = len * 2 / 3 > 2 ? len * 2 / 3 : 2;
    const char *best = NULL;

    for (size_t i = 0; names[i]; i++) {
        for (const char *word = names[i]; word; word = strchr(word, '_')) {
            size_t same = 0;

            word += *word == '_';
            while (word[same] && tolower((unsigned char)key[same]) == word[same])
                same++;
            if (same <= most)
                continue;
            most = same;
            best = names[i];
        }
    }
    return best;
}

/* What to choose from, when nothing is like `key`; of many the first. */
static int refuse_key(const char *const *names, const char *key, bool known, struct td_err *err)
{
    const char *near = known ? NULL : td_nearest(key, names);
    size_t listed = 0;
    char *text = NULL;
    size_t size = 0;
    FILE *out = NULL;

    if (!known && !near)
        near = nearest_by_word(key, names);
    if (near)
        return td_fail(err, TD_EUSAGE, "no such key; did you mean '%s'?", near);
    out = td_xmemstream(&text, &size);
    for (size_t i = 0; names[i] && (listed += strlen(names[i]) + 2) < LISTED_BYTES; i++)
        fprintf(out, "%s%s", i ? ", " : "", names[i]);
    if (listed >= LISTED_BYTES)
        fputs(", ... (tdreport explain lists categories)", out);
    fclose(out);
    const int rc = known
                       ? td_fail(err, TD_EUSAGE, "this profile has no such values; it has %s", text)
                       : td_fail(err, TD_EUSAGE, "no such key; there are %s", text);
    free(text);
    return rc;
}

/* Ids of what the measure has values of, into `names`; returns the new length. */
static size_t list_metrics(const struct td_measure *measure, enum td_metric from,
                           const char **names, size_t len)
{
    for (unsigned m = from; m < TD_METRIC_COUNT; m++) {
        if (measure->values[m])
            names[len++] = td_metric_id((enum td_metric)m);
    }
    names[len] = NULL;
    return len;
}

/* What a word may mean: an id, the event's name, or a part of a category's name. Of several
 * categories those that the measure has. */
struct meant {
    enum td_metric metric; /* COUNT: none, or several */
    enum td_tma_node several[TD_NODE_COUNT];
    size_t count;
};

static struct meant metric_meant(const struct td_measure *measure, const char *key)
{
    struct meant meant = {.metric = td_metric_by_id(key)};
    enum td_tma_node found[TD_NODE_COUNT];

    if (measure->event_name && strcmp(key, measure->event_name) == 0 &&
        measure->values[TD_METRIC_EVENT])
        meant.metric = TD_METRIC_EVENT;
    if (meant.metric < TD_METRIC_COUNT)
        return meant;
    const size_t count = td_tma_matches(key, found);
    for (size_t i = 0; i < count; i++) {
        if (measure->values[td_metric_of_node(found[i])])
            meant.several[meant.count++] = found[i];
    }
    if (meant.count == 1)
        meant.metric = td_metric_of_node(meant.several[0]);
    else if (count == 1) /* known, but not of this profile */
        meant.metric = td_metric_of_node(found[0]);
    return meant;
}

static int refuse_meant(const struct meant *meant, const char *const *names, const char *key,
                        struct td_err *err)
{
    char text[512] = "";
    size_t used = 0;

    if (meant->count < 2)
        return refuse_key(names, key, meant->metric < TD_METRIC_COUNT, err);
    for (size_t i = 0; i < meant->count && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? ", " : "",
                                 td_tma_info(meant->several[i])->id);
    return td_fail(err, TD_EUSAGE, "it may be any of %s", text);
}

int td_metric_parse(enum td_metric *ret, const struct td_measure *measure, const char *key,
                    enum td_metric from, struct td_err *err)
{
    const char *names[TD_METRIC_COUNT + 1];
    const struct meant meant = metric_meant(measure, key);
    const enum td_metric metric = meant.metric;

    if (metric < TD_METRIC_COUNT && metric >= from && measure->values[metric]) {
        *ret = metric;
        return TD_OK;
    }
    list_metrics(measure, from, names, 0);
    return refuse_meant(&meant, names, key, err);
}

int td_sort_parse(struct td_sort *ret, const struct td_measure *measure, enum td_row_kind kind,
                  const char *key, struct td_err *err)
{
    static const struct {
        const char *name;
        enum td_sort_by by;
    } places[] = {{"name", TD_SORT_NAME},
                  {"function", TD_SORT_NAME},
                  {"module", TD_SORT_MODULE},
                  {"file", TD_SORT_FILE}};
    const bool has_code = kind == TD_ROWS_FUNCTIONS || kind == TD_ROWS_LINES;
    const char *names[TD_METRIC_COUNT + TD_ARRAY_SIZE(places) + 1];
    const struct meant meant = metric_meant(measure, key);
    const enum td_metric metric = meant.metric;
    size_t len = 0;

    for (size_t i = 0; i < TD_ARRAY_SIZE(places); i++) {
        if (places[i].by != TD_SORT_NAME && !has_code)
            continue;
        names[len++] = places[i].name;
        if (strcmp(key, places[i].name) == 0) {
            *ret = (struct td_sort){.by = places[i].by, .metric = TD_METRIC_COUNT};
            return TD_OK;
        }
    }
    if (metric < TD_METRIC_COUNT && measure->values[metric]) {
        *ret = (struct td_sort){.by = TD_SORT_VALUE, .metric = metric};
        return TD_OK;
    }
    list_metrics(measure, TD_METRIC_SAMPLES, names, len);
    return refuse_meant(&meant, names, key, err);
}

double td_row_share(const struct td_rows *rows, const struct td_row *row)
{
    return td_row_share_of(rows, row, rows->primary);
}

double td_row_share_of(const struct td_rows *rows, const struct td_row *row, enum td_metric metric)
{
    return td_ratio(row->values[metric], rows->measure->totals[metric]);
}

double td_row_node_share(const struct td_row *row, enum td_tma_node node)
{
    return td_ratio(row->values[TD_METRIC_FIRST_NODE + (int)node], row->values[TD_METRIC_SLOTS]);
}

const struct td_mix *td_row_evidence(const struct td_rows *rows, const struct td_row *row)
{
    return rows->evidence ? &rows->evidence[row->evidence] : NULL;
}

struct td_cell td_row_cell(const struct td_rows *rows, const struct td_row *row,
                           enum td_tma_node node)
{
    const struct td_mix *mix = td_row_evidence(rows, row);
    struct td_cell cell = {.share = td_row_node_share(row, node)};

    if (mix) {
        cell.error = mix->error[node];
        cell.kind = mix->kind;
        cell.thin = mix->intervals < THIN_INTERVALS || cell.error > ERROR_MAX ||
                    !(cell.error < cell.share * (mix->kind == TD_MIX_JOINED ? 1 : 1 - SURE_PART));
    } else if (rows->replicated) {
        cell.error = rows->replicated[row->evidence].of_node[node];
        cell.thin = !(cell.error < cell.share) || cell.error > ERROR_MAX;
    }
    return cell;
}

td_tma_set td_row_thin(const struct td_rows *rows, const struct td_row *row)
{
    td_tma_set thin = 0;

    for (int n = 0; n < TD_NODE_COUNT && (rows->evidence || rows->replicated); n++) {
        if (td_row_cell(rows, row, (enum td_tma_node)n).thin)
            thin |= td_tma_bit(n);
    }
    return thin;
}

double td_row_sampling_error(const struct td_rows *rows, const struct td_row *row)
{
    return td_share_error(td_row_share(rows, row), rows->measure->totals[TD_METRIC_SAMPLES]);
}

double td_row_error(const struct td_rows *rows, const struct td_row *row)
{
    if (rows->evidence)
        return rows->evidence[row->evidence].slots_error;
    if (rows->replicated)
        return rows->replicated[row->evidence].error;
    if (rows->measure->attribution == TD_ATTRIBUTION_EXACT && !rows->measure->weighted)
        return 0;
    return td_row_sampling_error(rows, row);
}
