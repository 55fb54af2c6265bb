/* SPDX-License-Identifier: MIT */
/* speedscope's own JSON: the frames once, and one profile a metric, to switch between. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "formats/export/export.h"
#include "formats/frames.h"
#include "formats/export/json.h"
#include "formats/notes.h"

/* A stack of frames: the innermost, and the stack of the others. Stack 0 is empty. */
struct stack {
    uint32_t outer, frame;
};

/* The stack of a node under a process; base 0: not known yet. */
struct known {
    uint32_t base, stack;
};

struct writer {
    const struct td_measure *measure;
    const struct td_model *model;
    bool no_inline, with_process;
    struct td_json json;
    struct td_map frames; /* (kind, id) -> index of the frame */
    struct stack *stacks;
    size_t stack_count, stack_cap;
    struct td_map stack_ids; /* (outer, frame) -> index of the stack */
    uint32_t *stack_of;      /* by row of the measure: places that look alike are one stack */
    struct known *known;     /* by node */
    uint32_t *path;          /* scratch: nodes, and frames, from the innermost out */
    size_t path_cap;
    struct td_frames location;
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
static uint32_t frame_index(struct writer *w, const struct td_frame *frame)
{
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

static uint32_t push(struct writer *w, uint32_t outer, uint32_t frame)
{
    bool added = false;
    const uint32_t index =
        *td_map_put(&w->stack_ids, outer, frame, (uint32_t)w->stack_count, &added);

    if (added) {
        w->stacks = td_grow(w->stacks, &w->stack_cap, w->stack_count + 1, sizeof(*w->stacks));
        w->stacks[w->stack_count++] = (struct stack){.outer = outer, .frame = frame};
    }
    return index;
}

static void remember(struct writer *w, size_t at, uint32_t value)
{
    w->path = td_grow(w->path, &w->path_cap, at + 1, sizeof(*w->path));
    w->path[at] = value;
}

/* The stack of `node` on the stack `base`, of a process or empty. */
static uint32_t node_stack(struct writer *w, uint32_t base, uint32_t node)
{
    uint32_t stack = base;
    size_t depth = 0;

    for (; node != 0; node = td_model_node(w->model, node)->parent) {
        if (w->known[node].base == base + 1) {
            stack = w->known[node].stack;
            break;
        }
        remember(w, depth++, node);
    }
    while (depth > 0) {
        const uint32_t at = w->path[--depth];

        w->location.len = 0;
        td_frames_add(&w->location, w->model, td_model_node(w->model, at)->location, w->no_inline);
        for (size_t i = w->location.len; i > 0; i--)
            stack = push(w, stack, frame_index(w, &w->location.at[i - 1]));
        w->known[at] = (struct known){.base = base + 1, .stack = stack};
    }
    return stack;
}

static void define_frames(struct writer *w)
{
    push(w, TD_NONE, TD_NONE); /* the empty stack */
    w->known = td_xcalloc((size_t)td_model_node_count(w->model) + 1, sizeof(*w->known));
    w->stack_of = td_xcalloc(w->measure->row_count + 1, sizeof(*w->stack_of));
    td_json_array(&w->json, "frames");
    for (size_t row = 0; row < w->measure->row_count; row++) {
        const struct td_measure_row *r = &w->measure->rows[row];
        const uint32_t base = w->with_process ? push(w, 0, process_index(w, r->thread)) : 0;

        w->stack_of[row] = node_stack(w, base, r->node);
    }
    td_json_end(&w->json);
}

static void put_stack(struct writer *w, uint32_t stack)
{
    size_t depth = 0;

    td_json_array(&w->json, NULL);
    for (; stack != 0; stack = w->stacks[stack].outer)
        remember(w, depth++, w->stacks[stack].frame);
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
    uint64_t *values = td_xcalloc(w->stack_count + 1, sizeof(*values));

    for (size_t row = 0; row < w->measure->row_count; row++)
        values[w->stack_of[row]] += w->measure->values[metric][row];
    td_json_object(&w->json, NULL);
    td_json_string(&w->json, "type", "sampled");
    td_json_string(&w->json, "name", metric_name(w->measure, metric));
    td_json_string(&w->json, "unit", td_metric_unit(metric) == TD_UNIT_NS ? "nanoseconds" : "none");
    td_json_u64(&w->json, "startValue", 0);
    td_json_u64(&w->json, "endValue", w->measure->totals[metric]);
    td_json_array(&w->json, "samples");
    for (uint32_t stack = 0; stack < w->stack_count; stack++) {
        if (values[stack] > 0)
            put_stack(w, stack);
    }
    td_json_end(&w->json);
    td_json_array(&w->json, "weights");
    for (uint32_t stack = 0; stack < w->stack_count; stack++) {
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

static bool several_processes(const struct td_measure *measure)
{
    for (size_t row = 1; row < measure->row_count; row++) {
        if (td_model_thread(measure->model, measure->rows[row].thread)->process !=
            td_model_thread(measure->model, measure->rows[0].thread)->process)
            return true;
    }
    return false;
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
        .with_process = several_processes(measure),
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
    td_frames_release(&w.location);
    td_map_release(&w.frames);
    td_map_release(&w.stack_ids);
    free(w.stacks);
    free(w.stack_of);
    free(w.known);
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
