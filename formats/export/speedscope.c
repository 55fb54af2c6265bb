/* SPDX-License-Identifier: MIT */
/* speedscope's own JSON: the frames once, and one profile a metric, to switch between. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "formats/call_tree.h"
#include "formats/export/export.h"
#include "formats/frames.h"
#include "formats/export/json.h"
#include "formats/notes.h"

struct writer {
    const struct td_measure *measure;
    const struct td_model *model;
    bool no_inline, with_process;
    struct td_json json;
    struct td_map frames;       /* (kind, id) -> index of the frame */
    struct td_call_tree stacks; /* 0 is empty */
    uint32_t *stack_of;         /* by row of the measure: places that look alike are one stack */
    uint32_t *path;             /* scratch: frames from the innermost out */
    size_t path_cap;
};

/* What a frame is identified by: a function, a place without a name, or a process's name. */
enum frame_kind { FRAME_FUNCTION, FRAME_LOCATION, FRAME_PROCESS };

static void put_frame(struct writer *w, const char *name, uint32_t file, uint32_t line)
{
    td_json_object(&w->json, NULL);
    td_json_string(&w->json, "name", name);
    if (file != 0)
        td_json_string(&w->json, "file", td_model_string(w->model, file));
    if (line != 0)
        td_json_u64(&w->json, "line", line);
    td_json_end(&w->json);
}

/* The frame's index; writes it when it is new. */
static uint32_t frame_index(void *ctx, const struct td_frame *frame)
{
    struct writer *w = ctx;
    const bool named = frame->function != TD_NONE;
    const uint32_t id = named ? frame->function : frame->location;
    bool added = false;
    char name[512];
    const uint32_t index = *td_map_put(&w->frames, named ? FRAME_FUNCTION : FRAME_LOCATION, id,
                                       (uint32_t)w->frames.len, &added);

    if (added) {
        const struct td_function *const f = named ? td_model_function(w->model, id) : NULL;

        put_frame(w, td_frame_name(w->model, frame, name, sizeof(name)), f ? f->file : 0,
                  f ? f->line : 0);
    }
    return index;
}

static uint32_t process_index(struct writer *w, uint32_t thread)
{
    const uint32_t process = td_model_thread(w->model, thread)->process;
    bool added = false;
    const uint32_t index =
        *td_map_put(&w->frames, FRAME_PROCESS, process, (uint32_t)w->frames.len, &added);

    if (added)
        put_frame(w, process ? td_model_string(w->model, process) : "[unknown]", 0, 0);
    return index;
}

static void define_frames(struct writer *w)
{
    struct td_call_paths paths;

    td_call_tree_put(&w->stacks, TD_NONE, TD_NONE); /* the empty stack */
    td_call_paths_init(&paths, &w->stacks, w->model, w->no_inline, frame_index, w);
    w->stack_of = td_xcalloc(w->measure->row_count + 1, sizeof(*w->stack_of));
    td_json_array(&w->json, "frames");
    for (size_t row = 0; row < w->measure->row_count; row++) {
        const struct td_measure_row *r = &w->measure->rows[row];
        const uint32_t base =
            w->with_process ? td_call_tree_put(&w->stacks, 0, process_index(w, r->thread)) : 0;

        w->stack_of[row] = td_call_paths_of(&paths, base, r->node);
    }
    td_call_paths_release(&paths);
    td_json_end(&w->json);
}

static void put_stack(struct writer *w, uint32_t stack)
{
    size_t depth = 0;

    td_json_array(&w->json, NULL);
    for (; stack != 0; stack = w->stacks.at[stack].outer) {
        w->path = td_grow(w->path, &w->path_cap, depth + 1, sizeof(*w->path));
        w->path[depth++] = w->stacks.at[stack].frame;
    }
    while (depth > 0)
        td_json_u64(&w->json, NULL, w->path[--depth]);
    td_json_end(&w->json);
}

static const char *metric_name(const struct td_measure *measure, enum td_metric metric)
{
    if (metric != TD_METRIC_EVENT || measure->event == TD_NONE)
        return td_metric_id(metric);
    return td_measure_event_name(measure);
}

static void put_profile(struct writer *w, enum td_metric metric)
{
    uint64_t *values = td_xcalloc(w->stacks.len + 1, sizeof(*values));

    for (size_t row = 0; row < w->measure->row_count; row++)
        values[w->stack_of[row]] += w->measure->values[metric][row];
    td_json_object(&w->json, NULL);
    td_json_string(&w->json, "type", "sampled");
    td_json_string(&w->json, "name", metric_name(w->measure, metric));
    td_json_string(&w->json, "unit", td_metric_unit(metric) == TD_UNIT_NS ? "nanoseconds" : "none");
    td_json_u64(&w->json, "startValue", 0);
    td_json_u64(&w->json, "endValue", w->measure->totals[metric]);
    td_json_array(&w->json, "samples");
    for (uint32_t stack = 0; stack < w->stacks.len; stack++) {
        if (values[stack] > 0)
            put_stack(w, stack);
    }
    td_json_end(&w->json);
    td_json_array(&w->json, "weights");
    for (uint32_t stack = 0; stack < w->stacks.len; stack++) {
        if (values[stack] > 0)
            td_json_u64(&w->json, NULL, values[stack]);
    }
    td_json_end(&w->json);
    td_json_end(&w->json);
    free(values);
}

/* The primary metric first: it is what opens. */
static void put_profiles(struct writer *w)
{
    const enum td_metric primary = td_measure_primary(w->measure);

    td_json_array(&w->json, "profiles");
    put_profile(w, primary);
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        if (m != primary && w->measure->values[m] && w->measure->totals[m] > 0)
            put_profile(w, (enum td_metric)m);
    }
    td_json_end(&w->json);
}

static void put_note(void *ctx, const char *line)
{
    td_json_string(ctx, NULL, line);
}

static int write_speedscope(const struct td_measure *measure, const struct td_export_opts *opts,
                            FILE *out, struct td_err *err)
{
    char *const command = td_notes_command(measure->model);
    struct writer w = {
        .measure = measure,
        .model = measure->model,
        .no_inline = opts->no_inline,
        .with_process = td_measure_has_processes(measure),
        .json = td_json_init(out, 1),
    };

    (void)err;
    td_json_object(&w.json, NULL);
    td_json_string(&w.json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    td_json_string(&w.json, "exporter", opts->tool);
    td_json_string(&w.json, "name", command[0] ? command : "profile");
    td_json_u64(&w.json, "activeProfileIndex", 0);
    td_json_array(&w.json,
                  "notes"); /* no field of speedscope's; it ignores what it does not know */
    td_notes(measure, opts->tool, put_note, &w.json);
    td_json_end(&w.json);
    td_json_object(&w.json, "shared");
    define_frames(&w);
    td_json_end(&w.json);
    put_profiles(&w);
    td_json_end(&w.json);
    td_map_release(&w.frames);
    td_call_tree_release(&w.stacks);
    free(w.stack_of);
    free(w.path);
    free(command);
    return TD_OK;
}

const struct td_exporter td_export_speedscope = {
    .name = "speedscope",
    .suffix = "speedscope.json",
    .about = "speedscope: one profile a metric",
    .write = write_speedscope,
};
