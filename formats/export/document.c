/* SPDX-License-Identifier: MIT */
/*
 * One JSON document: what is said of the recording, totals, and rows. A row names its thread and
 * its stack by index, a stack its caller's stack and its innermost frame: of a modelled program,
 * with its ten thousand stacks of thirty frames, everything else is a hundredth.
 */
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "formats/call_tree.h"
#include "formats/export/export.h"
#include "formats/export/json.h"
#include "formats/frames.h"
#include "formats/notes.h"

/* All rows of the measure whose stacks read the same. */
struct row {
    uint32_t thread, stack;
    td_tma_set blank; /* nodes that are not known */
    uint64_t values[TD_METRIC_COUNT];
};

struct document {
    const struct td_measure *measure;
    struct td_json json;
    struct td_frame *frames;
    size_t frame_count, frame_cap;
    struct td_map places;       /* (function or location, inlined) to a number of its own */
    struct td_map frame_ids;    /* (that number, file and line) to the frame */
    struct td_call_tree stacks; /* outer: TD_NONE where none called it */
    struct td_map row_ids;      /* (thread and stack, number of what is blank) to the row */
    struct td_map blanks;       /* sets of nodes to their numbers */
    struct row *rows;
    size_t row_count, row_cap;
};

static uint32_t frame_id(void *ctx, const struct td_frame *frame)
{
    struct document *d = ctx;
    const bool named = frame->function != TD_NONE;
    const uint64_t what = named ? frame->function : UINT64_C(1) << 63 | frame->location;
    bool added = false;
    const uint32_t place =
        *td_map_put(&d->places, what, frame->inlined, (uint32_t)d->places.len, NULL);
    const uint32_t id = *td_map_put(&d->frame_ids, place, (uint64_t)frame->file << 32 | frame->line,
                                    (uint32_t)d->frame_count, &added);

    if (added) {
        d->frames = td_grow(d->frames, &d->frame_cap, d->frame_count + 1, sizeof(*d->frames));
        d->frames[d->frame_count++] = *frame;
    }
    return id;
}

static void add_row(struct document *d, size_t row, uint32_t stack)
{
    const struct td_measure *measure = d->measure;
    const uint32_t thread = measure->rows[row].thread;
    const td_tma_set blank = measure->blank ? measure->blank[row] : 0;
    const uint32_t set = *td_map_put(&d->blanks, (uint64_t)blank, (uint64_t)(blank >> 64),
                                     (uint32_t)d->blanks.len, NULL);
    bool added = false;
    const uint32_t id = *td_map_put(&d->row_ids, (uint64_t)thread << 32 | stack, set,
                                    (uint32_t)d->row_count, &added);

    if (added) {
        d->rows = td_grow(d->rows, &d->row_cap, d->row_count + 1, sizeof(*d->rows));
        d->rows[d->row_count++] = (struct row){.thread = thread, .stack = stack, .blank = blank};
    }
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++)
        d->rows[id].values[m] += measure->values[m] ? measure->values[m][row] : 0;
}

static void collect(struct document *d, bool no_inline)
{
    struct td_call_paths paths;

    td_call_paths_init(&paths, &d->stacks, d->measure->model, no_inline, frame_id, d);
    for (size_t row = 0; row < d->measure->row_count - d->measure->placeless; row++)
        add_row(d, row, td_call_paths_of(&paths, TD_NONE, d->measure->rows[row].node));
    td_call_paths_release(&paths);
}

static void note(void *ctx, const char *line)
{
    td_json_string(ctx, NULL, line);
}

static void put_head(struct document *d, const char *tool)
{
    struct td_json *json = &d->json;
    const struct td_measure *measure = d->measure;
    const struct td_model *model = measure->model;

    td_json_string(json, "schema", "tdreport-export/2");
    td_json_string(json, "tool", tool);
    td_json_string(json, "attribution", td_attribution_name(measure->attribution));
    if (measure->event != TD_NONE && measure->values[TD_METRIC_EVENT])
        td_json_string(json, "event", td_measure_event_name(measure));
    td_json_array(json, "notes");
    td_notes(measure, tool, note, json);
    td_json_end(json);
    td_json_array(json, "environment");
    for (size_t i = 0; i < td_model_env_count(model); i++) {
        const char *key = NULL, *value = NULL;

        td_model_env_entry(model, i, &key, &value);
        td_json_object(json, NULL);
        td_json_string(json, key, value);
        td_json_end(json);
    }
    td_json_end(json);
    td_json_object(json, "totals");
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        if (measure->values[m])
            td_json_u64(json, td_metric_key((enum td_metric)m), measure->totals[m]);
    }
    td_json_end(json);
}

static void put_threads(struct document *d)
{
    const struct td_model *model = d->measure->model;

    td_json_array(&d->json, "threads");
    for (uint32_t i = 0; i < td_model_thread_count(model); i++) {
        const struct td_thread *thread = td_model_thread(model, i);

        td_json_object(&d->json, NULL);
        td_json_string(&d->json, "process", td_model_string(model, thread->process));
        td_json_i64(&d->json, "pid", td_task_id(thread->pid));
        td_json_string(&d->json, "thread", td_model_string(model, thread->name));
        td_json_i64(&d->json, "tid", td_task_id(thread->tid));
        td_json_end(&d->json);
    }
    td_json_end(&d->json);
}

static void put_frames(struct document *d)
{
    const struct td_model *model = d->measure->model;
    char name[512];

    td_json_array(&d->json, "frames");
    for (size_t i = 0; i < d->frame_count; i++) {
        const struct td_frame *frame = &d->frames[i];

        td_json_object(&d->json, NULL);
        td_json_string(&d->json, "function", td_frame_name(model, frame, name, sizeof(name)));
        if (frame->module != TD_NONE)
            td_json_string(&d->json, "module",
                           td_model_string(model, td_model_module(model, frame->module)->path));
        if (frame->file)
            td_json_string(&d->json, "file", td_model_string(model, frame->file));
        if (frame->line)
            td_json_u64(&d->json, "line", frame->line);
        if (frame->inlined)
            td_json_bool(&d->json, "inlined", true);
        td_json_end(&d->json);
    }
    td_json_end(&d->json);
    td_json_array(&d->json, "stacks");
    for (size_t i = 0; i < d->stacks.len; i++) {
        td_json_array(&d->json, NULL);
        if (d->stacks.at[i].outer == TD_NONE)
            td_json_null(&d->json, NULL);
        else
            td_json_u64(&d->json, NULL, d->stacks.at[i].outer);
        td_json_u64(&d->json, NULL, d->stacks.at[i].frame);
        td_json_end(&d->json);
    }
    td_json_end(&d->json);
}

/* A value that is not there is 0; null is not known. */
static void put_row(struct document *d, const struct row *row)
{
    const struct td_measure *measure = d->measure;
    char name[512];

    td_json_object(&d->json, NULL);
    td_json_u64(&d->json, "thread", row->thread);
    if (row->stack == TD_NONE) {
        td_json_null(&d->json, "stack");
        td_json_string(&d->json, "function", "[unknown]");
    } else {
        td_json_u64(&d->json, "stack", row->stack);
        td_json_string(&d->json, "function",
                       td_frame_name(measure->model, &d->frames[d->stacks.at[row->stack].frame],
                                     name, sizeof(name)));
    }
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        const char *key = td_metric_key((enum td_metric)m);

        if (m >= TD_METRIC_FIRST_NODE && row->blank >> (m - TD_METRIC_FIRST_NODE) & 1 &&
            measure->values[m])
            td_json_null(&d->json, key);
        else if (row->values[m] > 0)
            td_json_u64(&d->json, key, row->values[m]);
    }
    td_json_end(&d->json);
}

static int write_document(const struct td_measure *measure, const struct td_export_opts *opts,
                          FILE *out, struct td_err *err)
{
    struct document d = {.measure = measure, .json = td_json_init(out, 2)};

    (void)err;
    collect(&d, opts->no_inline);
    td_json_object(&d.json, NULL);
    put_head(&d, opts->tool);
    put_threads(&d);
    put_frames(&d);
    td_json_array(&d.json, "rows");
    for (size_t row = 0; row < d.row_count; row++)
        put_row(&d, &d.rows[row]);
    td_json_end(&d.json);
    td_json_end(&d.json);
    td_map_release(&d.places);
    td_map_release(&d.frame_ids);
    td_call_tree_release(&d.stacks);
    td_map_release(&d.row_ids);
    td_map_release(&d.blanks);
    free(d.frames);
    free(d.rows);
    return TD_OK;
}

const struct td_exporter td_export_json = {
    .name = "json",
    .suffix = "json",
    .about = "one JSON document: environment, totals, stacks by index, rows",
    .wants_threads = true,
    .write = write_document,
};
