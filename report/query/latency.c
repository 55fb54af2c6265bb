/* SPDX-License-Identifier: MIT */
#include "report/query/latency.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "report/attribution/slots.h"
#include "report/query/figures/machine.h"
#include "report/query/figures/sampled.h"

/* One number of one sample; the row is the event's, TD_NONE its total. */
struct value {
    uint32_t row, cycles;
};

struct collected {
    struct td_latency_event event;
    struct td_map rows; /* by function or line */
    size_t rows_cap;
    struct value *values[TD_LATENCY_KINDS];
    size_t len[TD_LATENCY_KINDS], cap[TD_LATENCY_KINDS];
};

struct builder {
    const struct td_model *model;
    const struct td_filter *filter;
    bool lines;
    struct td_kept kept;
    uint32_t *event_of; /* by group: index of what is collected, TD_NONE: none */
    struct collected *at;
    size_t count, cap;
};

static const struct {
    enum td_column_kind column;
    bool zero_counts;
    const char *id, *meaning;
} kinds[] = {
#define X(symbol, column_, id_, meaning_, zero) \
    {.column = TD_COLUMN_##column_, .zero_counts = (zero), .id = (id_), .meaning = (meaning_)},
    TD_LATENCIES(X)
#undef X
};

const char *td_latency_id(enum td_latency_kind kind)
{
    return kinds[kind].id;
}

const char *td_latency_meaning(enum td_latency_kind kind)
{
    return kinds[kind].meaning;
}

double td_latency_cost(const struct td_latency_row *row)
{
    for (int k = 0; k < TD_LATENCY_KINDS; k++) {
        if (row->figures[k].samples > 0)
            return row->figures[k].mean * (double)row->figures[k].samples;
    }
    return 0;
}

static bool tells(const struct td_group *group)
{
    if (group->role == TD_ROLE_LOCATOR && group->locates != TD_NODE_NONE)
        return true; /* what its event costs may be known */
    for (uint32_t c = 0; c < group->column_count; c++) {
        const enum td_column_kind kind = group->columns[c].kind;

        if (kind == TD_COLUMN_DATA_SOURCE || kind == TD_COLUMN_FLAGS)
            return true;
        for (int k = 0; k < TD_LATENCY_KINDS; k++) {
            if (kind == kinds[k].column)
                return true;
        }
    }
    return false;
}

/* Whether the group is of the event that was asked for; a name without its modifiers will do. */
static bool is_asked_for(const struct builder *b, const struct td_group *group)
{
    struct td_sampled sampled;
    bool found = false;

    if (!b->filter->event)
        return true;
    td_sampled_of(&sampled, b->model);
    const uint32_t index = td_sampled_by_name(&sampled, b->filter->event);
    if (index != TD_NONE) {
        struct td_sampled_event event = sampled.at[index];

        event.role = group->role; /* one event of IBS has groups of several roles */
        found = td_sampled_has(&event, b->model, group);
    }
    td_sampled_release(&sampled);
    return found;
}

/* Groups of one event (IBS has one a node) are one. */
static uint32_t put_event(struct builder *b, const struct td_group *group)
{
    const char *name = td_model_string(b->model, td_model_event(b->model, group->sampler)->name);
    const char *type = td_model_string(b->model, group->cpu_type);

    for (size_t i = 0; i < b->count; i++) {
        if (strcmp(b->at[i].event.name, name) != 0 || strcmp(b->at[i].event.cpu_type, type) != 0)
            continue;
        if (b->at[i].event.locates != group->locates)
            b->at[i].event.locates = TD_NODE_NONE;
        return (uint32_t)i;
    }
    b->at = td_grow(b->at, &b->cap, b->count + 1, sizeof(*b->at));
    b->at[b->count] =
        (struct collected){.event = {.name = name, .cpu_type = type, .locates = group->locates}};
    return (uint32_t)b->count++;
}

static void choose_groups(struct builder *b)
{
    const uint32_t count = td_model_group_count(b->model);

    b->event_of = td_xcalloc((size_t)count + 1, sizeof(*b->event_of));
    for (uint32_t g = 0; g < count; g++) {
        const struct td_group *group = td_model_group(b->model, g);

        b->event_of[g] = TD_NONE;
        if (group->sampler != TD_NONE && tells(group) && is_asked_for(b, group))
            b->event_of[g] = put_event(b, group);
    }
}

static uint32_t put_row(const struct builder *b, struct collected *c, uint32_t node)
{
    const struct td_frame frame =
        td_frame_leaf(b->model, td_model_node(b->model, node)->location, b->filter->no_inline);
    const uint64_t line = (uint64_t)frame.file << 32 | frame.line;
    /* A line is one row, whatever functions are inlined there; without one it is a function's. */
    const bool by_line = b->lines && line != 0;
    const uint64_t first = by_line ? UINT64_C(1) << 62 : td_function_key(&frame);
    bool added = false;
    const uint32_t row =
        *td_map_put(&c->rows, first, by_line ? line : 0, (uint32_t)c->event.len, &added);

    if (added) {
        c->event.rows =
            td_grow(c->event.rows, &c->rows_cap, c->event.len + 1, sizeof(*c->event.rows));
        c->event.rows[c->event.len] = (struct td_latency_row){.frame = frame};
        if (!b->lines) {
            c->event.rows[c->event.len].frame.file = 0;
            c->event.rows[c->event.len].frame.line = 0;
        }
        c->event.len++;
    }
    return row;
}

static void put_value(struct collected *c, int kind, uint32_t row, uint64_t cycles)
{
    const uint32_t kept = cycles > UINT32_MAX ? UINT32_MAX : (uint32_t)cycles;

    c->values[kind] =
        td_grow(c->values[kind], &c->cap[kind], c->len[kind] + 1, sizeof(*c->values[kind]));
    c->values[kind][c->len[kind]++] = (struct value){.row = row, .cycles = kept};
}

static void add_access(struct td_latency_row *row, const struct td_data_access *access)
{
    if (!access->is_access)
        return;
    row->accesses++;
    row->sources[access->source]++;
    row->hitm += access->hitm;
    row->tlb_walks += access->tlb_walk;
    row->locked += access->locked;
    row->stores += access->store;
}

static void count_sample(struct td_latency_row *row, uint64_t events, uint64_t retire)
{
    row->samples++;
    row->events += events;
    row->held += (double)events * (double)retire;
}

static void add_sample(struct builder *b, const struct td_sample *sample)
{
    const struct td_group *group = td_model_group(b->model, sample->group);
    struct collected *c = &b->at[b->event_of[sample->group]];
    const uint64_t *values = td_model_sample_values(b->model, sample);
    const uint32_t row = put_row(b, c, sample->node);
    struct td_data_access access = {.is_access = false};
    uint64_t events = 0, retire = 0;

    for (uint32_t i = 0; i < group->column_count; i++) {
        const enum td_column_kind column = group->columns[i].kind;

        if (column == TD_COLUMN_PERIOD)
            events = values[i];
        if (column == TD_COLUMN_RETIRE_LATENCY)
            retire = values[i];
        if (column == TD_COLUMN_FLAGS && !access.is_access)
            access = td_data_access_of_flags(values[i]);
        if (column == TD_COLUMN_DATA_SOURCE && values[i] > 0)
            access = td_data_access_of_perf(values[i]);
        for (int k = 0; k < TD_LATENCY_KINDS; k++) {
            if (column == kinds[k].column && (values[i] > 0 || kinds[k].zero_counts))
                put_value(c, k, row, values[i]);
        }
    }
    count_sample(&c->event.rows[row], events, retire);
    count_sample(&c->event.total, events, retire);
    add_access(&c->event.rows[row], &access);
    add_access(&c->event.total, &access);
}

static int by_cycles(const void *a, const void *b)
{
    const struct value *x = a, *y = b;

    return x->cycles < y->cycles ? -1 : x->cycles > y->cycles;
}

static int by_row(const void *a, const void *b)
{
    const struct value *x = a, *y = b;

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return by_cycles(a, b);
}

/* Of numbers that rise. */
static struct td_latency_figures figures_of(const struct value *values, size_t count)
{
    struct td_latency_figures ret = {.samples = count};
    double sum = 0;

    if (count == 0)
        return ret;
    for (size_t i = 0; i < count; i++)
        sum += values[i].cycles;
    ret.mean = sum / (double)count;
    const size_t lower = (count - 1) / 2, upper = count / 2; /* the same of an odd count */
    ret.median = ((double)values[lower].cycles + (double)values[upper].cycles) / 2;
    ret.p95 = values[(count * 95 + 99) / 100 - 1].cycles;
    ret.max = values[count - 1].cycles;
    return ret;
}

static void finish_kind(struct collected *c, int kind)
{
    struct value *const values = c->values[kind];
    const size_t count = c->len[kind];

    if (count == 0)
        return;
    qsort(values, count, sizeof(*values), by_cycles);
    if (values[count - 1].cycles == 0)
        return; /* the hardware does not tell it */
    c->event.total.figures[kind] = figures_of(values, count);
    qsort(values, count, sizeof(*values), by_row);
    for (size_t i = 0, end = 0; i < count; i = end) {
        for (end = i; end < count && values[end].row == values[i].row;)
            end++;
        c->event.rows[values[i].row].figures[kind] = figures_of(values + i, end - i);
    }
}

/* Ties by names and places, so that the order is the same on every run. */
static int by_cost(const void *a, const void *b, void *ctx)
{
    const struct td_model *const model = *(const struct td_model *const *)ctx;
    const struct td_latency_row *x = a, *y = b;
    const double p = td_latency_cost(x), q = td_latency_cost(y);
    char first[256], second[256];

    if (p != q)
        return p > q ? -1 : 1;
    if (x->samples != y->samples)
        return x->samples > y->samples ? -1 : 1;
    int order = strcmp(td_frame_name(model, &x->frame, first, sizeof(first)),
                       td_frame_name(model, &y->frame, second, sizeof(second)));
    if (!order)
        order =
            strcmp(td_module_name(model, x->frame.module), td_module_name(model, y->frame.module));
    if (!order)
        order =
            strcmp(td_model_string(model, x->frame.file), td_model_string(model, y->frame.file));
    return order ? order : (x->frame.line > y->frame.line) - (x->frame.line < y->frame.line);
}

static int by_samples(const void *a, const void *b)
{
    const struct td_latency_event *x = a, *y = b;

    if (x->total.samples != y->total.samples)
        return x->total.samples > y->total.samples ? -1 : 1;
    const int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->cpu_type, y->cpu_type);
}

static bool says_anything(const struct td_latency_event *event)
{
    bool any = event->total.accesses > event->total.sources[TD_DATA_SOURCE_UNKNOWN];

    for (int k = 0; k < TD_LATENCY_KINDS; k++)
        any = any || event->total.figures[k].samples > 0;
    return any || event->held != TD_HELD_UNKNOWN;
}

static void finish(struct td_latency *ret, struct builder *b)
{
    ret->at = td_xcalloc(b->count + 1, sizeof(*ret->at));
    for (size_t i = 0; i < b->count; i++) {
        struct collected *c = &b->at[i];

        for (int k = 0; k < TD_LATENCY_KINDS; k++) {
            finish_kind(c, k);
            free(c->values[k]);
        }
        td_map_release(&c->rows);
        if (c->event.total.figures[TD_LATENCY_RETIRE].samples > 0)
            c->event.held = TD_HELD_MEASURED;
        if (c->event.len > 1)
            qsort_r(c->event.rows, c->event.len, sizeof(*c->event.rows), by_cost, &b->model);
        ret->at[ret->len++] = c->event;
    }
    if (ret->len > 1)
        qsort(ret->at, ret->len, sizeof(*ret->at), by_samples);
}

void td_latency_of(struct td_latency *ret, const struct td_model *model,
                   const struct td_filter *filter, bool lines)
{
    struct builder b = {.model = model, .filter = filter, .lines = lines};

    *ret = (struct td_latency){.at = NULL};
    td_kept_of(&b.kept, model, filter);
    choose_groups(&b);
    for (size_t i = 0; i < td_model_sample_count(model); i++) {
        const struct td_sample *sample = td_model_sample(model, i);

        if (b.event_of[sample->group] != TD_NONE &&
            td_kept_has(&b.kept, model, sample->thread, sample->node))
            add_sample(&b, sample);
    }
    finish(ret, &b);
    td_kept_release(&b.kept);
    free(b.event_of);
    free(b.at);
}

/* The core that counted the event, where top-down groups of it say which. */
static const struct td_pmu_core *core_of(const struct td_measure *measure, const char *cpu_type)
{
    for (size_t i = 0; measure->slots && i < measure->slots->len; i++) {
        if (strcmp(measure->slots->parts[i].cpu_type, cpu_type) == 0)
            return measure->slots->parts[i].counted.core;
    }
    return NULL;
}

static void weigh_event(struct td_latency_event *event, const struct td_pmu_core *core,
                        double clock_hz)
{
    if (event->held != TD_HELD_UNKNOWN || !core || event->locates == TD_NODE_NONE ||
        core->latencies[event->locates] <= 0 || (core->latencies_ns && clock_hz <= 0))
        return;
    event->held = TD_HELD_STATIC;
    event->static_latency = core->latencies[event->locates];
    event->static_ns = core->latencies_ns;
    const double cycles = event->static_latency * (core->latencies_ns ? clock_hz * 1e-9 : 1);
    event->total.held = (double)event->total.events * cycles;
    for (size_t r = 0; r < event->len; r++)
        event->rows[r].held = (double)event->rows[r].events * cycles;
}

/* Flags alone may only say that the place is exact. */
static void drop_silent(struct td_latency *latency)
{
    size_t kept = 0;

    for (size_t i = 0; i < latency->len; i++) {
        if (says_anything(&latency->at[i]))
            latency->at[kept++] = latency->at[i];
        else
            free(latency->at[i].rows);
    }
    latency->len = kept;
}

void td_latency_weigh(struct td_latency *latency, const struct td_measure *measure)
{
    const struct td_machine machine = td_machine_of(measure);

    if (machine.width > 0 && measure->slots)
        latency->cycles = (double)measure->totals[TD_METRIC_SLOTS] / machine.width;
    for (size_t i = 0; i < latency->len; i++)
        weigh_event(&latency->at[i], core_of(measure, latency->at[i].cpu_type), machine.clock_hz);
    drop_silent(latency);
}

void td_latency_release(struct td_latency *latency)
{
    for (size_t i = 0; i < latency->len; i++)
        free(latency->at[i].rows);
    free(latency->at);
    *latency = (struct td_latency){.at = NULL};
}
