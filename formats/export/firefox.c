/* SPDX-License-Identifier: MIT */
/*
 * The Firefox Profiler's processed format. Top-down categories are its categories: a row becomes
 * one sample a category, with the same stack but for the category of the innermost frame, and the
 * category's slots as its weight. The call tree joins them again; the category bars show the split.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/call_tree.h"
#include "formats/export/export.h"
#include "formats/file_id.h"
#include "formats/frames.h"
#include "formats/export/json.h"
#include "formats/notes.h"

/* The last one whose stacks name their prefix (from 66 on they say how far before it stands), which
 * is what Perfetto reads; the Firefox Profiler upgrades older ones. */
#define PROCESSED_VERSION 65
#define GECKO_VERSION     24

struct category {
    const char *name, *color;
    enum td_tma_node node;   /* TD_NODE_NONE: what no node claims */
    enum td_tma_node sub[2]; /* subcategories 1 and 2; 0 is "Other" */
};

static const struct category top_down[] = {
    {"Other", "grey", TD_NODE_NONE, {TD_NODE_NONE, TD_NODE_NONE}},
    {"Retiring", "green", TD_NODE_RETIRING, {TD_NODE_LIGHT_OPERATIONS, TD_NODE_HEAVY_OPERATIONS}},
    {"Bad speculation",
     "red",
     TD_NODE_BAD_SPECULATION,
     {TD_NODE_BRANCH_MISPREDICTS, TD_NODE_MACHINE_CLEARS}},
    {"Frontend bound",
     "orange",
     TD_NODE_FRONTEND_BOUND,
     {TD_NODE_FETCH_LATENCY, TD_NODE_FETCH_BANDWIDTH}},
    {"Backend bound", "blue", TD_NODE_BACKEND_BOUND, {TD_NODE_MEMORY_BOUND, TD_NODE_CORE_BOUND}},
};

static const struct category plain[] = {
    {"Other", "grey", TD_NODE_NONE, {TD_NODE_NONE, TD_NODE_NONE}},
    {"User", "yellow", TD_NODE_NONE, {TD_NODE_NONE, TD_NODE_NONE}},
    {"Kernel", "orange", TD_NODE_NONE, {TD_NODE_NONE, TD_NODE_NONE}},
};

#define NO_TIME_NS 1000 /* how long a row is shown where it is not known */

enum plain_category { PLAIN_OTHER, PLAIN_USER, PLAIN_KERNEL };

/* A share of a row: category, subcategory, weight. */
struct share {
    uint32_t category, sub;
    uint64_t weight;
};

#define SHARES_MAX (3 * TD_ARRAY_SIZE(top_down))

/* A frame as the table has it; what is the same is one entry. */
struct frame {
    struct td_frame at;
    uint32_t func;
    uint32_t category, sub; /* TD_NONE: inherited */
    uint32_t inline_depth;
};

struct sample {
    uint32_t stack; /* TD_NONE: no stack */
    uint64_t time_ns, weight;
    uint64_t cpu_ns; /* since the sample before */
};

struct thread {
    uint32_t thread; /* one of the model's with this (pid, tid, name) */
    struct sample *samples;
    size_t len, cap;
    uint64_t end_ns; /* of what was laid one behind the other */
};

struct func {
    uint32_t name; /* string of the table */
    uint32_t module;
    uint32_t file, line; /* of the model */
};

struct writer {
    const struct td_measure *measure;
    const struct td_model *model;
    const struct td_export_opts *opts;
    struct td_json json;
    enum td_metric metric;
    bool split; /* by top-down category */
    struct td_intern *strings;
    struct td_map thread_ids, func_ids, frame_ids, source_ids;
    struct thread *threads;
    size_t thread_count, thread_cap;
    struct func *funcs;
    size_t func_count, func_cap;
    struct frame *frames;
    size_t frame_count, frame_cap;
    struct td_call_tree stacks; /* outer: TD_NONE for a root */
    uint32_t *sources;          /* strings of the model */
    size_t source_count, source_cap;
    struct td_frames path;
    uint64_t start_ns;
};

static uint32_t text(struct writer *w, const char *s)
{
    return td_intern_put(w->strings, s, strlen(s));
}

static uint32_t source_of(struct writer *w, uint32_t file)
{
    bool added = false;
    const uint32_t id = *td_map_put(&w->source_ids, file, 0, (uint32_t)w->source_count, &added);

    if (added) {
        w->sources = td_grow(w->sources, &w->source_cap, w->source_count + 1, sizeof(*w->sources));
        w->sources[w->source_count++] = file;
        text(w, td_model_string(w->model, file));
    }
    return id;
}

enum func_key { KEY_FUNCTION, KEY_LOCATION };

static uint32_t func_of(struct writer *w, const struct td_frame *frame)
{
    const bool named = frame->function != TD_NONE;
    bool added = false;
    char made_up[512];
    const uint32_t id =
        *td_map_put(&w->func_ids, named ? KEY_FUNCTION : KEY_LOCATION,
                    named ? frame->function : frame->location, (uint32_t)w->func_count, &added);

    if (added) {
        const struct td_function *const f =
            named ? td_model_function(w->model, frame->function) : NULL;

        w->funcs = td_grow(w->funcs, &w->func_cap, w->func_count + 1, sizeof(*w->funcs));
        w->funcs[w->func_count++] = (struct func){
            .name = text(w, td_frame_name(w->model, frame, made_up, sizeof(made_up))),
            .module = frame->module,
            .file = f ? f->file : 0,
            .line = f ? f->line : 0,
        };
        if (f && f->file)
            source_of(w, f->file);
    }
    return id;
}

static uint32_t frame_of(struct writer *w, const struct td_frame *at, uint32_t inline_depth,
                         const struct share *share)
{
    const uint32_t func = func_of(w, at);
    const uint64_t kind = share ? (uint64_t)share->category * 4 + share->sub + 1 : 0;
    bool added = false;
    const uint32_t id =
        *td_map_put(&w->frame_ids, (uint64_t)func << 32 | at->location,
                    kind << 32 | (uint64_t)inline_depth, (uint32_t)w->frame_count, &added);

    if (added) {
        w->frames = td_grow(w->frames, &w->frame_cap, w->frame_count + 1, sizeof(*w->frames));
        w->frames[w->frame_count++] = (struct frame){
            .at = *at,
            .func = func,
            .category = share ? share->category : TD_NONE,
            .sub = share ? share->sub : TD_NONE,
            .inline_depth = inline_depth,
        };
    }
    return id;
}

static uint32_t plain_category(const struct writer *w, uint32_t module)
{
    if (module == TD_NONE)
        return PLAIN_OTHER;
    switch (td_model_module(w->model, module)->kind) {
    case TD_MODULE_KERNEL:
    case TD_MODULE_KERNEL_MODULE: return PLAIN_KERNEL;
    case TD_MODULE_FILE:
    case TD_MODULE_VDSO:
    case TD_MODULE_ANON: return PLAIN_USER;
    case TD_MODULE_UNKNOWN: break;
    }
    return PLAIN_OTHER;
}

/* How deep the frame is inlined: 0 for a function whose code it is. */
static uint32_t inline_depth(const struct td_frames *path, size_t i)
{
    uint32_t depth = 0;

    while (i < path->len && path->at[i].inlined) {
        depth++;
        i++;
    }
    return depth;
}

/* The stack of the path, whose innermost frame has the share's category. */
static uint32_t put_stack(struct writer *w, const struct share *share)
{
    uint32_t stack = TD_NONE; /* when there is no frame */

    for (size_t i = w->path.len; i > 0; i--) {
        const struct td_frame *const at = &w->path.at[i - 1];
        const struct share own = {.category = plain_category(w, at->module)};
        const struct share *const category = !w->split ? &own : i == 1 ? share : NULL;

        stack = td_call_tree_put(&w->stacks, stack,
                                 frame_of(w, at, inline_depth(&w->path, i - 1), category));
    }
    return stack;
}

static uint64_t node_value(const struct writer *w, enum td_tma_node node, size_t row)
{
    const uint64_t *const values =
        node == TD_NODE_NONE ? NULL : w->measure->values[TD_METRIC_FIRST_NODE + (int)node];

    return values ? values[row] : 0;
}

static size_t add_share(struct share *shares, size_t count, uint32_t category, uint32_t sub,
                        uint64_t weight)
{
    if (weight > 0)
        shares[count++] = (struct share){.category = category, .sub = sub, .weight = weight};
    return count;
}

/* The row's slots by category and subcategory; what none of them claims is "Other". */
static size_t split_row(const struct writer *w, size_t row, struct share shares[SHARES_MAX])
{
    uint64_t left = w->measure->values[TD_METRIC_SLOTS][row];
    size_t count = 0;

    for (uint32_t c = 1; c < TD_ARRAY_SIZE(top_down); c++) {
        const uint64_t all = node_value(w, top_down[c].node, row);
        uint64_t rest = all < left ? all : left;

        left -= rest;
        for (uint32_t s = 0; s < 2; s++) {
            const uint64_t part = node_value(w, top_down[c].sub[s], row);
            const uint64_t taken = part < rest ? part : rest;

            count = add_share(shares, count, c, s + 1, taken);
            rest -= taken;
        }
        count = add_share(shares, count, c, 0, rest);
    }
    return add_share(shares, count, 0, 0, left);
}

/* part / all of `ns`, without overflow. */
static uint64_t share_of(uint64_t ns, uint64_t part, uint64_t all)
{
    return part >= all ? ns : (uint64_t)((long double)ns * (long double)part / (long double)all);
}

/* The same of what is exported where that is not slots: measured time, of a join. A row without
 * slots has no category. */
static size_t split_weight(const struct writer *w, size_t row, uint64_t weight,
                           struct share shares[SHARES_MAX])
{
    const uint64_t slots = w->measure->values[TD_METRIC_SLOTS][row];
    const size_t count = split_row(w, row, shares);
    uint64_t done = 0;

    if (w->metric == TD_METRIC_SLOTS)
        return count;
    if (count == 0)
        return add_share(shares, 0, 0, 0, weight);
    for (size_t i = 0; i < count; i++) {
        const uint64_t before = share_of(weight, done, slots);

        done += shares[i].weight;
        shares[i].weight = share_of(weight, done, slots) - before;
    }
    return count;
}

static struct thread *thread_of(struct writer *w, uint32_t model_thread)
{
    const struct td_thread *const t = td_model_thread(w->model, model_thread);
    bool added = false;
    const uint32_t id = *td_map_put(&w->thread_ids, (uint64_t)t->pid << 32 | t->tid, t->name,
                                    (uint32_t)w->thread_count, &added);

    if (added) {
        w->threads = td_grow(w->threads, &w->thread_cap, w->thread_count + 1, sizeof(*w->threads));
        w->threads[w->thread_count++] = (struct thread){.thread = model_thread};
    }
    return &w->threads[id];
}

static void add_sample(struct thread *thread, const struct sample *sample)
{
    thread->samples =
        td_grow(thread->samples, &thread->cap, thread->len + 1, sizeof(*thread->samples));
    thread->samples[thread->len++] = *sample;
}

/* A sample's time is the end of what it stands for, and what the first one of a thread took is not
 * counted by the front end: one without a stack says where it began. */
static void add_begin(const struct writer *w, struct thread *thread, uint64_t first_ns,
                      uint64_t cpu_ns)
{
    const struct sample begin = {.stack = TD_NONE,
                                 .time_ns = first_ns > cpu_ns ? first_ns - cpu_ns : 0};

    if (thread->len == 0 && w->measure->values[TD_METRIC_TIME_NS])
        add_sample(thread, &begin);
}

static void add_row(struct writer *w, size_t row)
{
    const struct td_measure_row *const r = &w->measure->rows[row];
    struct thread *const thread = thread_of(w, r->thread);
    struct share shares[SHARES_MAX] = {{0}};
    const uint64_t weight = w->measure->values[w->metric][row];
    const uint64_t *const times = w->measure->values[TD_METRIC_TIME_NS];
    const uint64_t row_ns = times ? times[row] : NO_TIME_NS;
    uint64_t done = 0;
    size_t count = 1;

    if (weight == 0)
        return;
    if (w->split)
        count = split_weight(w, row, weight, shares);
    else
        shares[0].weight = weight;
    td_frames_fill(&w->path, w->model, r->node, w->opts->no_inline);
    for (size_t i = 0; i < count; i++) {
        /* Sums have no place in time: they are laid one behind the other, as long as they took. */
        const uint64_t before = share_of(row_ns, done, weight);
        const uint64_t cpu_ns = share_of(row_ns, done + shares[i].weight, weight) - before;
        const struct sample sample = {
            .stack = put_stack(w, &shares[i]),
            .time_ns = w->measure->by_sample
                           ? r->time_ns - (r->time_ns > w->start_ns ? w->start_ns : r->time_ns)
                           : thread->end_ns + cpu_ns,
            .weight = shares[i].weight,
            .cpu_ns = cpu_ns,
        };

        add_begin(w, thread, sample.time_ns, cpu_ns);
        add_sample(thread, &sample);
        thread->end_ns += cpu_ns;
        done += shares[i].weight;
    }
}

static void put_category(struct writer *w, const struct category *category)
{
    td_json_object(&w->json, NULL);
    td_json_string(&w->json, "name", category->name);
    td_json_string(&w->json, "color", category->color);
    td_json_array(&w->json, "subcategories");
    td_json_string(&w->json, NULL, "Other");
    for (int s = 0; s < 2 && category->sub[s] != TD_NODE_NONE; s++)
        td_json_string(&w->json, NULL, td_tma_info(category->sub[s])->id);
    td_json_end(&w->json);
    td_json_end(&w->json);
}

static void put_extra(void *ctx, const char *line)
{
    struct td_json *const json = ctx;

    td_json_object(json, NULL);
    td_json_string(json, "label", "note");
    td_json_string(json, "format", "string");
    td_json_string(json, "value", line);
    td_json_end(json);
}

static double start_ms(const struct writer *w)
{
    const char *const realtime = td_model_env(w->model, TD_ENV_REALTIME_NS);
    uint64_t ns = 0;

    return realtime && td_parse_u64(realtime, &ns) ? (double)ns / 1e6 : 0.0;
}

/* How far samples are apart: as was asked for, else on average. */
static double interval_ms(const struct writer *w)
{
    const struct td_measure *const m = w->measure;
    const struct td_event *const event =
        m->event == TD_NONE ? NULL : td_model_event(w->model, m->event);
    const uint64_t end_ns = td_model_counter(w->model, TD_COUNTER_ENDED_NS);
    const uint64_t ns = m->totals[TD_METRIC_TIME_NS] ? m->totals[TD_METRIC_TIME_NS]
                        : end_ns > w->start_ns       ? end_ns - w->start_ns
                                                     : 0;
    size_t count = 0;

    if (event && event->frequency_hz > 0)
        return 1e3 / (double)event->frequency_hz;
    if (event && event->unit == TD_UNIT_NS && event->period > 0)
        return (double)event->period / 1e6;
    for (size_t i = 0; i < w->thread_count; i++)
        count += w->threads[i].len;
    return ns > 0 && count > 0 ? (double)ns / 1e6 / (double)count : 1;
}

static void put_cpu(struct writer *w)
{
    const char *const machine = td_model_env(w->model, TD_ENV_MACHINE);
    const char *const cpu = td_model_env(w->model, TD_ENV_CPU);
    char *const text = td_xasprintf("Linux%s%s", machine ? " " : "", machine ? machine : "");

    td_json_string(&w->json, "oscpu", text);
    free(text);
    if (cpu)
        td_json_string(&w->json, "CPUName", cpu);
    td_json_object(&w->json, "sampleUnits");
    td_json_string(&w->json, "time", "ms");
    td_json_string(&w->json, "eventDelay", "ms");
    td_json_string(&w->json, "threadCPUDelta", "ns");
    td_json_end(&w->json);
}

static void put_meta(struct writer *w)
{
    char *const command = td_notes_command(w->model);
    const struct category *const list = w->split ? top_down : plain;
    const size_t count = w->split ? TD_ARRAY_SIZE(top_down) : TD_ARRAY_SIZE(plain);

    td_json_object(&w->json, "meta");
    td_json_double(&w->json, "interval", interval_ms(w), 6);
    td_json_double(&w->json, "startTime", start_ms(w), 17);
    td_json_u64(&w->json, "processType", 0);
    td_json_string(&w->json, "product", command[0] ? command : "profile");
    td_json_u64(&w->json, "stackwalk", 1);
    td_json_u64(&w->json, "version", GECKO_VERSION);
    td_json_u64(&w->json, "preprocessedProfileVersion", PROCESSED_VERSION);
    td_json_string(&w->json, "platform", "Linux");
    put_cpu(w);
    td_json_bool(&w->json, "symbolicated", true);
    td_json_array(&w->json, "markerSchema");
    td_json_end(&w->json);
    td_json_string(&w->json, "importedFrom", w->opts->tool);
    td_json_bool(&w->json, "usesOnlyOneStackType", true);
    td_json_bool(&w->json, "sourceCodeIsNotOnSearchfox", true);
    td_json_array(&w->json, "categories");
    for (size_t i = 0; i < count; i++)
        put_category(w, &list[i]);
    td_json_end(&w->json);
    td_json_array(&w->json, "extra");
    td_json_object(&w->json, NULL);
    td_json_string(&w->json, "label", "Recording");
    td_json_array(&w->json, "entries");
    td_notes(w->measure, w->opts->tool, put_extra, &w->json);
    td_json_end(&w->json);
    td_json_end(&w->json);
    td_json_end(&w->json);
    td_json_end(&w->json);
    free(command);
}

static void put_libs(struct writer *w)
{
    td_json_array(&w->json, "libs");
    for (uint32_t m = 0; m < td_model_module_count(w->model); m++) {
        const struct td_module *const module = td_model_module(w->model, m);
        const char *const path = td_model_string(w->model, module->path);
        char build_id[2 * TD_BUILD_ID_MAX + 1] = "";

        td_file_id_build_text(&module->build_id, build_id, sizeof(build_id));
        td_json_object(&w->json, NULL);
        td_json_string(&w->json, "name", td_module_name(w->model, m));
        td_json_string(&w->json, "path", path);
        td_json_string(&w->json, "debugName", td_module_name(w->model, m));
        td_json_string(&w->json, "debugPath", path);
        td_json_string(&w->json, "breakpadId", "");
        td_json_string(&w->json, "codeId", build_id[0] ? build_id : NULL);
        td_json_string(&w->json, "arch", td_model_env(w->model, TD_ENV_MACHINE));
        td_json_end(&w->json);
    }
    td_json_end(&w->json);
}

/* One column of a table: `count` values that `put` writes. */
static void put_column(struct writer *w, const char *key, size_t count,
                       void (*put)(struct writer *w, size_t i))
{
    td_json_array(&w->json, key);
    for (size_t i = 0; i < count; i++)
        put(w, i);
    td_json_end(&w->json);
}

static void put_number_or_null(struct writer *w, uint64_t value, bool known)
{
    if (known)
        td_json_u64(&w->json, NULL, value);
    else
        td_json_null(&w->json, NULL);
}

static void put_null(struct writer *w, size_t i)
{
    (void)i;
    td_json_null(&w->json, NULL);
}

static void put_false(struct writer *w, size_t i)
{
    (void)i;
    td_json_bool(&w->json, NULL, false);
}

static void put_zero(struct writer *w, size_t i)
{
    (void)i;
    td_json_u64(&w->json, NULL, 0);
}

static void put_one(struct writer *w, size_t i)
{
    (void)i;
    td_json_u64(&w->json, NULL, 1);
}

static void put_stack_frame(struct writer *w, size_t i)
{
    td_json_u64(&w->json, NULL, w->stacks.at[i].frame);
}

static void put_stack_prefix(struct writer *w, size_t i)
{
    put_number_or_null(w, w->stacks.at[i].outer, w->stacks.at[i].outer != TD_NONE);
}

static void put_frame_address(struct writer *w, size_t i)
{
    const uint32_t location = w->frames[i].at.location;

    if (location == TD_NONE)
        td_json_i64(&w->json, NULL, -1);
    else /* JSON numbers are doubles; an address of the kernel would lose its last digits */
        td_json_u64(&w->json, NULL,
                    td_model_location(w->model, location)->offset & ((UINT64_C(1) << 53) - 1));
}

static void put_frame_inline_depth(struct writer *w, size_t i)
{
    td_json_u64(&w->json, NULL, w->frames[i].inline_depth);
}

static void put_frame_category(struct writer *w, size_t i)
{
    put_number_or_null(w, w->frames[i].category, w->frames[i].category != TD_NONE);
}

static void put_frame_subcategory(struct writer *w, size_t i)
{
    put_number_or_null(w, w->frames[i].sub, w->frames[i].category != TD_NONE);
}

static void put_frame_func(struct writer *w, size_t i)
{
    td_json_u64(&w->json, NULL, w->frames[i].func);
}

static void put_frame_line(struct writer *w, size_t i)
{
    put_number_or_null(w, w->frames[i].at.line, w->frames[i].at.line != 0);
}

static void put_func_name(struct writer *w, size_t i)
{
    td_json_u64(&w->json, NULL, w->funcs[i].name);
}

static void put_func_resource(struct writer *w, size_t i)
{
    if (w->funcs[i].module == TD_NONE)
        td_json_i64(&w->json, NULL, -1);
    else
        td_json_u64(&w->json, NULL, w->funcs[i].module);
}

static void put_func_source(struct writer *w, size_t i)
{
    put_number_or_null(w, w->funcs[i].file ? source_of(w, w->funcs[i].file) : 0,
                       w->funcs[i].file != 0);
}

static void put_func_line(struct writer *w, size_t i)
{
    put_number_or_null(w, w->funcs[i].line, w->funcs[i].line != 0);
}

static void put_resource_lib(struct writer *w, size_t i)
{
    td_json_u64(&w->json, NULL, i);
}

static void put_resource_name(struct writer *w, size_t i)
{
    td_json_u64(&w->json, NULL, text(w, td_module_name(w->model, (uint32_t)i)));
}

static void put_source_name(struct writer *w, size_t i)
{
    td_json_u64(&w->json, NULL, text(w, td_model_string(w->model, w->sources[i])));
}

static void put_string(struct writer *w, size_t i)
{
    td_json_bytes(&w->json, NULL, td_intern_get(w->strings, (uint32_t)i),
                  td_intern_len(w->strings, (uint32_t)i));
}

struct column {
    const char *key;
    void (*put)(struct writer *w, size_t i);
};

static void put_table(struct writer *w, const char *name, size_t count,
                      const struct column *columns)
{
    td_json_object(&w->json, name);
    for (; columns->key; columns++)
        put_column(w, columns->key, count, columns->put);
    td_json_u64(&w->json, "length", count);
    td_json_end(&w->json);
}

static void put_shared(struct writer *w)
{
    static const struct column stacks[] = {
        {"frame", put_stack_frame}, {"prefix", put_stack_prefix}, {NULL, NULL}};
    static const struct column frames[] = {
        {"address", put_frame_address},
        {"inlineDepth", put_frame_inline_depth},
        {"category", put_frame_category},
        {"subcategory", put_frame_subcategory},
        {"func", put_frame_func},
        {"nativeSymbol", put_null},
        {"innerWindowID", put_zero},
        {"line", put_frame_line},
        {"column", put_null},
        {"originalLocation", put_null},
        {NULL, NULL},
    };
    static const struct column funcs[] = {
        {"name", put_func_name},
        {"isJS", put_false},
        {"relevantForJS", put_false},
        {"resource", put_func_resource},
        {"source", put_func_source},
        {"lineNumber", put_func_line},
        {"columnNumber", put_null},
        {"originalLocation", put_null},
        {NULL, NULL},
    };
    static const struct column resources[] = {{"lib", put_resource_lib},
                                              {"name", put_resource_name},
                                              {"host", put_null},
                                              {"type", put_one},
                                              {NULL, NULL}};
    static const struct column sources[] = {{"id", put_null},
                                            {"filename", put_source_name},
                                            {"startLine", put_one},
                                            {"startColumn", put_one},
                                            {"sourceMapURL", put_null},
                                            {"content", put_null},
                                            {NULL, NULL}};
    static const struct column symbols[] = {{"libIndex", put_null},
                                            {"address", put_null},
                                            {"name", put_null},
                                            {"functionSize", put_null},
                                            {NULL, NULL}};
    static const struct column places[] = {
        {"source", put_null}, {"line", put_null}, {"column", put_null}, {NULL, NULL}};

    td_json_object(&w->json, "shared");
    put_table(w, "stackTable", w->stacks.len, stacks);
    put_table(w, "frameTable", w->frame_count, frames);
    put_table(w, "funcTable", w->func_count, funcs);
    put_table(w, "resourceTable", td_model_module_count(w->model), resources);
    put_table(w, "nativeSymbols", 0, symbols);
    put_table(w, "sources", w->source_count, sources);
    put_table(w, "sourceLocationTable", 0, places);
    put_column(w, "stringArray", td_intern_count(w->strings), put_string); /* the last: complete */
    td_json_end(&w->json);
}

static void put_samples(struct writer *w, const struct thread *thread)
{
    const bool is_time = w->metric == TD_METRIC_TIME_NS;

    td_json_object(&w->json, "samples");
    td_json_array(&w->json, "stack");
    for (size_t i = 0; i < thread->len; i++)
        put_number_or_null(w, thread->samples[i].stack, thread->samples[i].stack != TD_NONE);
    td_json_end(&w->json);
    td_json_array(&w->json, "time");
    for (size_t i = 0; i < thread->len; i++)
        td_json_double(&w->json, NULL, (double)thread->samples[i].time_ns / 1e6, 17);
    td_json_end(&w->json);
    td_json_array(&w->json, "weight");
    for (size_t i = 0; i < thread->len; i++) {
        if (is_time)
            td_json_double(&w->json, NULL, (double)thread->samples[i].weight / 1e6, 17);
        else
            td_json_u64(&w->json, NULL, thread->samples[i].weight);
    }
    td_json_end(&w->json);
    if (w->measure->values[TD_METRIC_TIME_NS]) {
        td_json_array(&w->json, "threadCPUDelta");
        for (size_t i = 0; i < thread->len; i++)
            td_json_u64(&w->json, NULL, thread->samples[i].cpu_ns);
        td_json_end(&w->json);
    }
    td_json_string(&w->json, "weightType", is_time ? "tracing-ms" : "samples");
    td_json_u64(&w->json, "length", thread->len);
    td_json_end(&w->json);
}

static void put_markers(struct writer *w)
{
    static const char *const columns[] = {"data",    "name",  "startTime",
                                          "endTime", "phase", "category"};

    td_json_object(&w->json, "markers");
    for (size_t i = 0; i < TD_ARRAY_SIZE(columns); i++) {
        td_json_array(&w->json, columns[i]);
        td_json_end(&w->json);
    }
    td_json_u64(&w->json, "length", 0);
    td_json_end(&w->json);
}

static void put_thread(struct writer *w, const struct thread *thread)
{
    const struct td_thread *const t = td_model_thread(w->model, thread->thread);
    const char *const process = td_model_string(w->model, t->process);
    char pid[16];

    snprintf(pid, sizeof(pid), "%" PRId32, td_task_id(t->pid));
    td_json_object(&w->json, NULL);
    td_json_string(&w->json, "processType", "default");
    td_json_u64(&w->json, "processStartupTime", 0);
    td_json_null(&w->json, "processShutdownTime");
    td_json_u64(&w->json, "registerTime", 0);
    td_json_null(&w->json, "unregisterTime");
    td_json_array(&w->json, "pausedRanges");
    td_json_end(&w->json);
    td_json_string(&w->json, "name", td_model_string(w->model, t->name));
    td_json_bool(&w->json, "isMainThread", t->pid == t->tid);
    td_json_string(&w->json, "pid", pid);
    td_json_i64(&w->json, "tid", td_task_id(t->tid));
    td_json_string(&w->json, "processName", process);
    put_samples(w, thread);
    put_markers(w);
    td_json_end(&w->json);
}

static void release(struct writer *w)
{
    for (size_t i = 0; i < w->thread_count; i++)
        free(w->threads[i].samples);
    free(w->threads);
    free(w->funcs);
    free(w->frames);
    td_call_tree_release(&w->stacks);
    free(w->sources);
    td_intern_free(w->strings);
    td_frames_release(&w->path);
    td_map_release(&w->thread_ids);
    td_map_release(&w->func_ids);
    td_map_release(&w->frame_ids);
    td_map_release(&w->source_ids);
}

static int write_firefox(const struct td_measure *measure, const struct td_export_opts *opts,
                         FILE *out, struct td_err *err)
{
    struct writer w = {
        .measure = measure,
        .model = measure->model,
        .opts = opts,
        .json = td_json_init(out, 1),
        .metric = td_measure_primary(measure),
        .split = measure->values[TD_METRIC_SLOTS] != NULL,
        .start_ns = td_model_counter(measure->model, TD_COUNTER_STARTED_NS),
    };

    if (!measure->values[w.metric])
        return td_fail(err, TD_ENODATA, "the profile has no values to show");
    w.strings = td_intern_new();
    for (size_t row = 0; row < measure->row_count; row++)
        add_row(&w, row);
    td_json_object(&w.json, NULL);
    put_meta(&w);
    put_libs(&w);
    td_json_array(&w.json, "threads");
    for (size_t i = 0; i < w.thread_count; i++)
        put_thread(&w, &w.threads[i]);
    td_json_end(&w.json);
    put_shared(&w);
    td_json_end(&w.json);
    release(&w);
    return TD_OK;
}

const struct td_exporter td_export_firefox = {
    .name = "firefox",
    .suffix = "firefox.json",
    .about = "profiler.firefox.com, with the categories as its categories; Perfetto",
    .wants_samples = true,
    .wants_threads = true,
    .write = write_firefox,
};
