/* SPDX-License-Identifier: MIT */
/*
 * Flat rows for other programs: csv, or one JSON object a line. Columns are always the same, blank
 * or null where a profile does not say, so that files can be concatenated.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/export/export.h"
#include "formats/frames.h"
#include "formats/export/json.h"

/* Rows of a measure that are one here: instructions of one line, under one stack of a thread. */
struct merged {
    uint32_t *firsts; /* rows, in the order of the measure: each is the first of its like */
    uint32_t *next;   /* by row: the next of its like; TD_NONE */
    size_t count;
};

/* Who ran what, by which calls, and of which metrics too little is known: twice, so that two
 * hashes by different seeds tell rows apart. */
static void key_of(uint64_t key[2], struct td_frames *frames, const struct td_measure *measure,
                   size_t row, bool no_inline)
{
    const struct td_measure_row *r = &measure->rows[row];
    const uint64_t blank =
        measure->blank ? td_hash_bytes(&measure->blank[row], sizeof(measure->blank[row])) : 0;

    td_frames_fill(frames, measure->model, r->node, no_inline);
    for (int k = 0; k < 2; k++) {
        uint64_t hash = td_hash_mix(td_hash_mix((uint64_t)k, r->thread), blank);

        if (frames->len > 0)
            hash = td_hash_mix(hash, (uint64_t)frames->at[0].file << 32 | frames->at[0].line);
        for (size_t i = 0; i < frames->len; i++) /* code without a name is named by its place */
            hash = td_hash_mix(td_hash_mix(hash, td_function_key(&frames->at[i])),
                               frames->at[i].function == TD_NONE ? frames->at[i].location : 0);
        key[k] = hash;
    }
}

static void merged_init(struct merged *ret, const struct td_measure *measure, bool no_inline)
{
    const size_t rows = measure->row_count - measure->placeless;
    uint32_t *last = td_xcalloc(rows + 1, sizeof(*last)); /* by the first */
    struct td_frames frames = {0};
    struct td_map index = {0};

    *ret = (struct merged){.firsts = td_xcalloc(rows + 1, sizeof(*ret->firsts)),
                           .next = td_xcalloc(rows + 1, sizeof(*ret->next))};
    for (uint32_t row = 0; row < rows; row++) {
        uint64_t key[2];
        bool added = false;

        key_of(key, &frames, measure, row, no_inline);
        const uint32_t first = *td_map_put(&index, key[0], key[1], row, &added);
        if (added)
            ret->firsts[ret->count++] = row;
        else
            ret->next[last[first]] = row;
        last[first] = row;
        ret->next[row] = TD_NONE;
    }
    td_frames_release(&frames);
    td_map_release(&index);
    free(last);
}

static void merged_release(struct merged *merged)
{
    free(merged->firsts);
    free(merged->next);
}

static uint64_t sum_of(const struct merged *merged, const struct td_measure *measure,
                       unsigned metric, uint32_t first)
{
    uint64_t sum = 0;

    for (uint32_t row = first; row != TD_NONE; row = merged->next[row])
        sum += measure->values[metric][row];
    return sum;
}

/* The fields of a row that say where it is. */
struct place {
    const struct td_thread *thread;
    const char *function, *module, *file;
    uint32_t line;  /* 0 when not known */
    char name[512]; /* room for a function's made-up name */
};

/* Fills `frames` with the row's stack too. */
static void place_row(struct place *place, struct td_frames *frames,
                      const struct td_measure *measure, size_t row, bool no_inline)
{
    const struct td_model *const model = measure->model;
    const struct td_measure_row *const r = &measure->rows[row];

    td_frames_fill(frames, model, r->node, no_inline);
    const struct td_frame leaf =
        frames->len > 0 ? frames->at[0] : td_frame_leaf(model, TD_NONE, no_inline);
    place->thread = td_model_thread(model, r->thread);
    place->function = td_frame_name(model, &leaf, place->name, sizeof(place->name));
    place->module = leaf.module == TD_NONE
                        ? ""
                        : td_model_string(model, td_model_module(model, leaf.module)->path);
    place->file = td_model_string(model, leaf.file);
    place->line = leaf.line;
}

/* RFC 4180, after escapes for what no terminal or table should get. A spreadsheet runs a cell that
 * begins as a formula does; behind an apostrophe it is text. */
static void csv_text(FILE *out, const char *s)
{
    const char *const mark = s[0] && strchr("=+-@", s[0]) ? "'" : "";

    const size_t size = 4 * strlen(s) + 1;
    char *const safe = td_xalloc(size);

    td_text_safe(safe, size, s, strlen(s));
    if (strpbrk(safe, ",\"\r\n")) {
        fprintf(out, "\"%s", mark);
        for (const char *c = safe; *c; c++) {
            if (*c == '"')
                putc('"', out);
            putc(*c, out);
        }
        putc('"', out);
    } else {
        fprintf(out, "%s%s", mark, safe);
    }
    putc(',', out);
    free(safe);
}

/* Outermost first, joined by ";", which no frame then holds. */
static char *joined_stack(const struct td_model *model, const struct td_frames *frames)
{
    struct td_buf buf = {0};
    char made_up[512];

    for (size_t i = frames->len; i > 0; i--) {
        const char *const name = td_frame_name(model, &frames->at[i - 1], made_up, sizeof(made_up));

        for (const char *c = name; *c; c++)
            td_buf_u8(&buf, *c == ';' ? ':' : (uint8_t)*c);
        if (i > 1)
            td_buf_u8(&buf, ';');
    }
    td_buf_u8(&buf, '\0');
    return (char *)buf.data;
}

/* What the profile does not say, or too little of for this place, is blank. What has no place for
 * that reason is in the totals. */
static bool is_known(const struct td_measure *measure, unsigned metric, size_t row)
{
    if (!measure->values[metric])
        return false;
    return metric < TD_METRIC_FIRST_NODE || !measure->blank ||
           !(measure->blank[row] >> (metric - TD_METRIC_FIRST_NODE) & 1);
}

static void csv_row(const struct td_measure *measure, const struct merged *merged,
                    struct td_frames *frames, uint32_t row, bool no_inline, FILE *out)
{
    struct place place;

    place_row(&place, frames, measure, row, no_inline);
    char *const stack = joined_stack(measure->model, frames);
    csv_text(out, td_model_string(measure->model, place.thread->process));
    fprintf(out, "%" PRId32 ",", td_task_id(place.thread->pid));
    csv_text(out, td_model_string(measure->model, place.thread->name));
    fprintf(out, "%" PRId32 ",", td_task_id(place.thread->tid));
    csv_text(out, place.function);
    csv_text(out, place.module);
    csv_text(out, place.file);
    if (place.line > 0)
        fprintf(out, "%" PRIu32, place.line);
    putc(',', out);
    csv_text(out, stack);
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        if (is_known(measure, m, row))
            fprintf(out, "%" PRIu64, sum_of(merged, measure, m, row));
        fputs(m + 1 < TD_METRIC_COUNT ? "," : "\r\n", out);
    }
    free(stack);
}

static int write_csv(const struct td_measure *measure, const struct td_export_opts *opts, FILE *out,
                     struct td_err *err)
{
    struct td_frames frames = {0};
    struct merged merged;

    (void)err;
    fputs("process,pid,thread,tid,function,module,file,line,stack,", out);
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++)
        fprintf(out, "%s%s", td_metric_key((enum td_metric)m),
                m + 1 < TD_METRIC_COUNT ? "," : "\r\n");
    merged_init(&merged, measure, opts->no_inline);
    for (size_t i = 0; i < merged.count; i++)
        csv_row(measure, &merged, &frames, merged.firsts[i], opts->no_inline, out);
    merged_release(&merged);
    td_frames_release(&frames);
    return TD_OK;
}

static void json_values(struct td_json *json, const struct td_measure *measure,
                        const struct merged *merged, uint32_t row)
{
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        if (is_known(measure, m, row))
            td_json_u64(json, td_metric_key((enum td_metric)m), sum_of(merged, measure, m, row));
        else
            td_json_null(json, td_metric_key((enum td_metric)m));
    }
}

static void json_row(struct td_json *json, const struct td_measure *measure,
                     const struct merged *merged, struct td_frames *frames, uint32_t row,
                     bool no_inline)
{
    const struct td_model *const model = measure->model;
    struct place place;
    char name[512];

    place_row(&place, frames, measure, row, no_inline);
    td_json_object(json, NULL);
    td_json_string(json, "process", td_model_string(model, place.thread->process));
    td_json_i64(json, "pid", td_task_id(place.thread->pid));
    td_json_string(json, "thread", td_model_string(model, place.thread->name));
    td_json_i64(json, "tid", td_task_id(place.thread->tid));
    td_json_string(json, "function", place.function);
    td_json_string(json, "module", place.module);
    td_json_string(json, "file", place.file[0] ? place.file : NULL);
    if (place.line > 0)
        td_json_u64(json, "line", place.line);
    else
        td_json_null(json, "line");
    td_json_array(json, "stack");
    for (size_t i = frames->len; i > 0; i--)
        td_json_string(json, NULL, td_frame_name(model, &frames->at[i - 1], name, sizeof(name)));
    td_json_end(json);
    json_values(json, measure, merged, row);
    td_json_end(json);
}

static int write_ndjson(const struct td_measure *measure, const struct td_export_opts *opts,
                        FILE *out, struct td_err *err)
{
    struct td_frames frames = {0};
    struct merged merged;

    (void)err;
    merged_init(&merged, measure, opts->no_inline);
    for (size_t i = 0; i < merged.count; i++) {
        struct td_json json = td_json_init(out, 0);

        json_row(&json, measure, &merged, &frames, merged.firsts[i], opts->no_inline);
    }
    merged_release(&merged);
    td_frames_release(&frames);
    return TD_OK;
}

const struct td_exporter td_export_csv = {
    .name = "csv",
    .suffix = "csv",
    .about = "one row a thread, stack and line: spreadsheets, DuckDB, pandas",
    .wants_threads = true,
    .write = write_csv,
};

const struct td_exporter td_export_ndjson = {
    .name = "ndjson",
    .suffix = "ndjson",
    .about = "the rows of csv, each a JSON object on a line of its own",
    .wants_threads = true,
    .write = write_ndjson,
};
