/* SPDX-License-Identifier: MIT */
#include "report/query/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "formats/frames.h"

/* The functions of a model by name: of one name in one module they are one to a reader. */
static int compare_names(const struct td_measure *measure, uint32_t fa, uint32_t ma, uint32_t fb,
                         uint32_t mb)
{
    const struct td_model *model = measure->model;
    const char *a = fa == TD_NONE ? "" : td_model_string(model, td_model_function(model, fa)->name);
    const char *b = fb == TD_NONE ? "" : td_model_string(model, td_model_function(model, fb)->name);
    const int order = strcmp(a, b);

    if (order)
        return order;
    return strcmp(td_module_name(model, ma), td_module_name(model, mb));
}

struct builder {
    struct td_calls *calls;
    struct td_map ids; /* (parent, key) to node */
    size_t cap;
};

/* The functions that were asked for: a pattern names several. */
struct root {
    uint32_t function, module;
    uint64_t value;
};

struct roots {
    struct root *at;
    struct td_map by_place;
    size_t len, cap;
};

static void add_root(struct roots *roots, const struct td_frame *frame, uint64_t value)
{
    bool added = false;
    const uint32_t i =
        *td_map_put(&roots->by_place, td_function_key(frame), 0, (uint32_t)roots->len, &added);

    if (added) {
        roots->at = td_grow(roots->at, &roots->cap, roots->len + 1, sizeof(*roots->at));
        roots->at[roots->len++] =
            (struct root){.function = frame->function, .module = frame->module};
    }
    roots->at[i].value += value;
}

/* The tree is named by the one that cost most. */
static void name_root(struct td_calls *calls, const struct roots *roots)
{
    size_t most = 0;

    for (size_t i = 1; i < roots->len; i++)
        most = roots->at[i].value > roots->at[most].value ? i : most;
    if (roots->len == 0)
        return;
    calls->at[0].function = roots->at[most].function;
    calls->at[0].module = roots->at[most].module;
    calls->others = (uint32_t)roots->len - 1;
}

static uint32_t child_of(struct builder *b, uint32_t parent, const struct td_frame *frame)
{
    struct td_calls *c = b->calls;
    bool added = false;
    const uint32_t id =
        *td_map_put(&b->ids, parent, td_function_key(frame), (uint32_t)c->len, &added);

    if (!added) {
        c->at[id].inlined = c->at[id].inlined && frame->inlined;
        return id;
    }
    c->at = td_grow(c->at, &b->cap, c->len + 1, sizeof(*c->at));
    c->at[c->len++] = (struct td_call){.function = frame->function,
                                       .module = frame->module,
                                       .inlined = frame->inlined,
                                       .next = c->at[parent].child};
    c->at[parent].child = id;
    return id;
}

/* The outermost frame that is wanted; frames->len when there is none. */
static size_t find_outermost(const struct td_frames *frames, const struct td_wanted *wanted)
{
    for (size_t i = frames->len; i-- > 0;) {
        const struct td_frame *frame = &frames->at[i];

        if (frame->function != TD_NONE ? wanted->functions[frame->function]
                                       : frame->module != TD_NONE && wanted->modules[frame->module])
            return i;
    }
    return frames->len;
}

static void add_stack(struct builder *b, enum td_calls_kind kind, const struct td_frames *frames,
                      size_t start, uint64_t value, uint64_t time_ns)
{
    const size_t steps = kind == TD_CALLS_CALLERS ? frames->len - 1 - start : start;
    uint32_t node = 0;

    b->calls->at[0].value += value;
    b->calls->at[0].time_ns += time_ns;
    for (size_t i = 1; i <= steps; i++) {
        const size_t at = kind == TD_CALLS_CALLERS ? start + i : start - i;

        node = child_of(b, node, &frames->at[at]);
        b->calls->at[node].value += value;
        b->calls->at[node].time_ns += time_ns;
    }
    b->calls->at[node].self += value;
}

struct sorting {
    const struct td_calls *calls;
};

static int compare_calls(const void *pa, const void *pb, void *ctx)
{
    const struct td_calls *c = ((const struct sorting *)ctx)->calls;
    const struct td_call *a = &c->at[*(const uint32_t *)pa], *b = &c->at[*(const uint32_t *)pb];

    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    return compare_names(c->measure, a->function, a->module, b->function, b->module);
}

/* Puts the children of a node into order. */
static void sort_children(struct td_calls *c, uint32_t node, uint32_t *scratch)
{
    struct sorting sorting = {c};
    size_t count = 0;

    for (uint32_t i = c->at[node].child; i; i = c->at[i].next)
        scratch[count++] = i;
    if (count < 2)
        return;
    qsort_r(scratch, count, sizeof(*scratch), compare_calls, &sorting);
    c->at[node].child = scratch[0];
    for (size_t i = 0; i < count; i++)
        c->at[scratch[i]].next = i + 1 < count ? scratch[i + 1] : 0;
}

static uint64_t time_of(const struct td_measure *measure, size_t row)
{
    return measure->values[TD_METRIC_TIME_NS] ? measure->values[TD_METRIC_TIME_NS][row] : 0;
}

void td_calls_init(struct td_calls *calls, const struct td_measure *measure,
                   enum td_calls_kind kind, const struct td_wanted *wanted, bool no_inline)
{
    td_calls_init_of(calls, measure, td_measure_primary(measure), kind, wanted, no_inline);
}

void td_calls_init_of(struct td_calls *calls, const struct td_measure *measure,
                      enum td_metric metric, enum td_calls_kind kind,
                      const struct td_wanted *wanted, bool no_inline)
{
    struct builder b = {.calls = calls};
    struct td_frames frames = {0};
    struct roots roots = {.at = NULL};

    *calls = (struct td_calls){.measure = measure, .primary = metric};
    calls->at = td_grow(NULL, &b.cap, 1, sizeof(*calls->at));
    calls->at[0] = (struct td_call){.function = TD_NONE, .module = TD_NONE};
    calls->len = 1;
    for (size_t i = 0; i < measure->row_count; i++) {
        const uint64_t value = measure->values[calls->primary][i];

        if (value == 0)
            continue;
        td_frames_fill(&frames, measure->model, measure->rows[i].node, no_inline);
        const size_t start = find_outermost(&frames, wanted);
        if (start == frames.len)
            continue;
        add_root(&roots, &frames.at[start], value);
        add_stack(&b, kind, &frames, start, value, time_of(measure, i));
    }
    name_root(calls, &roots);
    td_map_release(&roots.by_place);
    free(roots.at);
    uint32_t *scratch = td_xcalloc(calls->len, sizeof(*scratch));
    for (uint32_t node = 0; node < calls->len; node++)
        sort_children(calls, node, scratch);
    free(scratch);
    td_frames_release(&frames);
    td_map_release(&b.ids);
}

void td_calls_release(struct td_calls *calls)
{
    free(calls->at);
    *calls = (struct td_calls){0};
}

struct summing {
    struct td_inclusives *rows;
    struct td_map ids;
    size_t cap, seen_cap;
    uint32_t *seen; /* by row: 1 + the last stack that counted for it */
};

/* A stack, and what it took. */
struct counted {
    uint32_t stack;
    uint64_t value, time_ns;
};

static void count_frame(struct summing *s, const struct td_frame *frame,
                        const struct counted *counted, bool self)
{
    struct td_inclusives *rows = s->rows;
    bool added = false;
    const uint32_t id =
        *td_map_put(&s->ids, td_function_key(frame), 0, (uint32_t)rows->len, &added);

    if (added) {
        rows->at = td_grow(rows->at, &s->cap, rows->len + 1, sizeof(*rows->at));
        s->seen = td_grow(s->seen, &s->seen_cap, rows->len + 1, sizeof(*s->seen));
        s->seen[rows->len] = 0;
        rows->at[rows->len++] =
            (struct td_inclusive){.function = frame->function, .module = frame->module};
    }
    if (self)
        rows->at[id].self += counted->value;
    if (s->seen[id] == counted->stack)
        return; /* recursion */
    s->seen[id] = counted->stack;
    rows->at[id].value += counted->value;
    rows->at[id].time_ns += counted->time_ns;
}

static int compare_inclusives(const void *pa, const void *pb, void *ctx)
{
    const struct td_inclusives *rows = ctx;
    const struct td_inclusive *a = pa, *b = pb;

    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    if (a->self != b->self)
        return a->self < b->self ? 1 : -1;
    return compare_names(rows->measure, a->function, a->module, b->function, b->module);
}

void td_inclusives_init(struct td_inclusives *rows, const struct td_measure *measure,
                        bool no_inline)
{
    td_inclusives_init_of(rows, measure, td_measure_primary(measure), no_inline);
}

void td_inclusives_init_of(struct td_inclusives *rows, const struct td_measure *measure,
                           enum td_metric metric, bool no_inline)
{
    struct summing s = {.rows = rows};
    struct td_frames frames = {0};

    *rows = (struct td_inclusives){.measure = measure, .primary = metric};
    for (size_t i = 0; i < measure->row_count; i++) {
        const uint64_t value = measure->values[rows->primary][i];

        if (value == 0)
            continue;
        td_frames_fill(&frames, measure->model, measure->rows[i].node, no_inline);
        const struct counted counted = {
            .stack = (uint32_t)i + 1, .value = value, .time_ns = time_of(measure, i)};
        for (size_t k = 0; k < frames.len; k++)
            count_frame(&s, &frames.at[k], &counted, k == 0);
    }
    if (rows->len > 1)
        qsort_r(rows->at, rows->len, sizeof(*rows->at), compare_inclusives, rows);
    td_frames_release(&frames);
    td_map_release(&s.ids);
    free(s.seen);
}

void td_inclusives_release(struct td_inclusives *rows)
{
    free(rows->at);
    *rows = (struct td_inclusives){0};
}
