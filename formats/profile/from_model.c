/* SPDX-License-Identifier: MIT */
#include "formats/profile/from_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "formats/notes.h"
#include "formats/profile/nodes.h"

/* The model's things of one kind in their canonical order. */
struct ranking {
    uint32_t *order; /* model ids, sorted; equal things stand together */
    uint32_t *rank;  /* by model id: the id in the file */
    uint32_t count;
};

struct writer {
    const struct td_model *model;
    struct td_profile_writer *out;
    struct ranking events, groups, threads, modules, nodes, regions;
    uint32_t *columns; /* of each group, by rank */
};

typedef int compare_fn(const struct writer *w, uint32_t a, uint32_t b);

struct sort_ctx {
    const struct writer *w;
    compare_fn *compare;
};

static int compare_ids(const void *a, const void *b, void *ctx)
{
    const struct sort_ctx *sort = ctx;

    return sort->compare(sort->w, *(const uint32_t *)a, *(const uint32_t *)b);
}

static void ranking_release(struct ranking *ranking)
{
    free(ranking->order);
    free(ranking->rank);
}

/* Sorts 0 .. count - 1; equal ones get the same rank. */
static void rank_all(const struct writer *w, struct ranking *ranking, uint32_t count,
                     compare_fn *compare)
{
    struct sort_ctx ctx = {.w = w, .compare = compare};
    uint32_t rank = 0;

    ranking->count = count;
    ranking->order = td_xcalloc(count, sizeof(*ranking->order));
    ranking->rank = td_xcalloc(count, sizeof(*ranking->rank));
    for (uint32_t i = 0; i < count; i++)
        ranking->order[i] = i;
    qsort_r(ranking->order, count, sizeof(*ranking->order), compare_ids, &ctx);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && compare(w, ranking->order[i - 1], ranking->order[i]) != 0)
            rank++;
        ranking->rank[ranking->order[i]] = rank;
    }
}

/* The i-th in the order is another one than the one before it. */
static bool is_first(const struct ranking *ranking, uint32_t i)
{
    return i == 0 || ranking->rank[ranking->order[i]] != ranking->rank[ranking->order[i - 1]];
}

static uint32_t rank_of(const struct ranking *ranking, uint32_t id)
{
    return id == TD_NONE ? TD_NONE : ranking->rank[id];
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_strings(const struct writer *w, uint32_t a, uint32_t b)
{
    return a == b ? 0 : strcmp(td_model_string(w->model, a), td_model_string(w->model, b));
}

/* Returns from the comparing function with the first difference. */
#define RETURN_IF_DIFFERENT(comparison)      \
    do {                                     \
        const int difference = (comparison); \
        if (difference != 0)                 \
            return difference;               \
    } while (0)

static int compare_events(const struct writer *w, uint32_t a, uint32_t b)
{
    const struct td_event *x = td_model_event(w->model, a);
    const struct td_event *y = td_model_event(w->model, b);

    RETURN_IF_DIFFERENT(compare_strings(w, x->name, y->name));
    RETURN_IF_DIFFERENT(compare_u64(x->unit, y->unit));
    RETURN_IF_DIFFERENT(compare_u64(x->pmu_type, y->pmu_type));
    for (int c = 0; c < 3; c++)
        RETURN_IF_DIFFERENT(compare_u64(x->config[c], y->config[c]));
    RETURN_IF_DIFFERENT(compare_u64(x->period, y->period));
    RETURN_IF_DIFFERENT(compare_u64(x->frequency_hz, y->frequency_hz));
    return compare_u64(x->flags, y->flags);
}

static int compare_groups(const struct writer *w, uint32_t a, uint32_t b)
{
    const struct td_group *x = td_model_group(w->model, a);
    const struct td_group *y = td_model_group(w->model, b);

    RETURN_IF_DIFFERENT(compare_u64(x->role, y->role));
    RETURN_IF_DIFFERENT(compare_strings(w, x->name, y->name));
    RETURN_IF_DIFFERENT(compare_strings(w, x->cpu_type, y->cpu_type));
    RETURN_IF_DIFFERENT(compare_u64(x->pass, y->pass));
    RETURN_IF_DIFFERENT(compare_u64(rank_of(&w->regions, x->in_region - 1) + 1,
                                    rank_of(&w->regions, y->in_region - 1) + 1));
    RETURN_IF_DIFFERENT(compare_u64(x->attribution, y->attribution));
    RETURN_IF_DIFFERENT(compare_u64((uint32_t)x->locates, (uint32_t)y->locates));
    RETURN_IF_DIFFERENT(
        compare_u64(rank_of(&w->events, x->sampler), rank_of(&w->events, y->sampler)));
    RETURN_IF_DIFFERENT(compare_u64(x->column_count, y->column_count));
    for (uint32_t c = 0; c < x->column_count; c++) {
        const struct td_column *p = &x->columns[c], *q = &y->columns[c];

        RETURN_IF_DIFFERENT(compare_u64(p->kind, q->kind));
        RETURN_IF_DIFFERENT(
            compare_u64(rank_of(&w->events, p->event), rank_of(&w->events, q->event)));
        RETURN_IF_DIFFERENT(compare_u64((uint32_t)p->node, (uint32_t)q->node));
    }
    return 0;
}

static int compare_threads(const struct writer *w, uint32_t a, uint32_t b)
{
    const struct td_thread *x = td_model_thread(w->model, a);
    const struct td_thread *y = td_model_thread(w->model, b);

    RETURN_IF_DIFFERENT(compare_u64(x->pid, y->pid));
    RETURN_IF_DIFFERENT(compare_u64(x->tid, y->tid));
    RETURN_IF_DIFFERENT(compare_u64(x->start_ns, y->start_ns));
    RETURN_IF_DIFFERENT(compare_strings(w, x->origin, y->origin));
    RETURN_IF_DIFFERENT(compare_strings(w, x->process, y->process));
    return compare_strings(w, x->name, y->name);
}

static int compare_modules(const struct writer *w, uint32_t a, uint32_t b)
{
    const struct td_module *x = td_model_module(w->model, a);
    const struct td_module *y = td_model_module(w->model, b);

    RETURN_IF_DIFFERENT(compare_u64(x->kind, y->kind));
    RETURN_IF_DIFFERENT(compare_strings(w, x->path, y->path));
    RETURN_IF_DIFFERENT(compare_u64(x->build_id.size, y->build_id.size));
    RETURN_IF_DIFFERENT(memcmp(x->build_id.bytes, y->build_id.bytes, x->build_id.size));
    RETURN_IF_DIFFERENT(compare_u64(x->pid, y->pid));
    return compare_u64(x->base, y->base);
}

/* Children of one parent stand together, in the order of what they are. */
static int compare_siblings(const struct writer *w, uint32_t a, uint32_t b)
{
    const struct td_node *x = td_model_node(w->model, a);
    const struct td_node *y = td_model_node(w->model, b);

    RETURN_IF_DIFFERENT(compare_u64(x->parent, y->parent));
    if (a == 0 || b == 0)
        return compare_u64(a, b);
    const struct td_location *p = td_model_location(w->model, x->location);
    const struct td_location *q = td_model_location(w->model, y->location);

    RETURN_IF_DIFFERENT(compare_u64(w->modules.rank[p->module], w->modules.rank[q->module]));
    return compare_u64(p->offset, q->offset);
}

static void write_events(const struct writer *w)
{
    for (uint32_t i = 0; i < w->events.count; i++) {
        const struct td_event *e = td_model_event(w->model, w->events.order[i]);
        const struct td_profile_event event = {
            .name = td_model_string(w->model, e->name),
            .unit = e->unit,
            .pmu_type = e->pmu_type,
            .config = {e->config[0], e->config[1], e->config[2]},
            .period = e->period,
            .frequency_hz = e->frequency_hz,
            .flags = e->flags,
        };

        if (is_first(&w->events, i))
            td_profile_event(w->out, &event);
    }
}

/* Events that are alike are written as one. */
static void write_counts(const struct writer *w)
{
    const uint32_t count = td_model_event_count(w->model);
    struct td_event_counts sum = {0};

    for (uint32_t i = 0; i < count; i++) {
        td_event_counts_add(&sum, &td_model_event(w->model, w->events.order[i])->counts);
        if (i + 1 < count && !is_first(&w->events, i + 1))
            continue;
        if (sum.counted)
            td_profile_counts(w->out, w->events.rank[w->events.order[i]], &sum);
        sum = (struct td_event_counts){0};
    }
}

static void write_groups(const struct writer *w)
{
    for (uint32_t i = 0; i < w->groups.count; i++) {
        struct td_group group = *td_model_group(w->model, w->groups.order[i]);

        if (!is_first(&w->groups, i))
            continue;
        group.sampler = rank_of(&w->events, group.sampler);
        group.in_region = rank_of(&w->regions, group.in_region - 1) + 1;
        for (uint32_t c = 0; c < group.column_count; c++)
            group.columns[c].event = rank_of(&w->events, group.columns[c].event);
        td_profile_group(w->out, &group, td_model_string(w->model, group.name),
                         td_model_string(w->model, group.cpu_type));
    }
}

static void write_threads(const struct writer *w)
{
    for (uint32_t i = 0; i < w->threads.count; i++) {
        const struct td_thread *t = td_model_thread(w->model, w->threads.order[i]);

        if (!is_first(&w->threads, i))
            continue;
        const uint32_t id =
            td_profile_thread(w->out, t->pid, t->tid, td_model_string(w->model, t->name),
                              td_model_string(w->model, t->process), t->start_ns);
        if (t->origin != 0)
            td_profile_origin(w->out, id, td_model_string(w->model, t->origin));
    }
}

static int compare_symbols(const void *a, const void *b, void *ctx)
{
    const struct sort_ctx *sort = ctx;
    const struct td_symbol *x = a, *y = b;

    RETURN_IF_DIFFERENT(compare_u64(x->offset, y->offset));
    RETURN_IF_DIFFERENT(compare_u64(x->size, y->size));
    RETURN_IF_DIFFERENT(compare_strings(sort->w, x->name, y->name));
    RETURN_IF_DIFFERENT(compare_strings(sort->w, x->file, y->file));
    return compare_u64(x->line, y->line);
}

static void write_symbols(const struct writer *w, uint32_t module)
{
    struct sort_ctx ctx = {.w = w};
    size_t count = 0;
    const struct td_symbol *symbols = td_model_symbols(w->model, module, &count);

    if (count == 0)
        return;
    struct td_symbol *sorted = td_xcalloc(count, sizeof(*sorted));
    memcpy(sorted, symbols, count * sizeof(*sorted));
    qsort_r(sorted, count, sizeof(*sorted), compare_symbols, &ctx);
    for (size_t i = 0; i < count; i++) {
        const struct td_symbol *s = &sorted[i];

        if (i == 0 || compare_symbols(s - 1, s, &ctx) != 0)
            td_profile_symbol(w->out, w->modules.rank[module], s->offset, s->size,
                              td_model_string(w->model, s->name),
                              s->file ? td_model_string(w->model, s->file) : NULL, s->line);
    }
    free(sorted);
}

static void write_modules(const struct writer *w)
{
    for (uint32_t i = 0; i < w->modules.count; i++) {
        const struct td_module *m = td_model_module(w->model, w->modules.order[i]);
        const struct td_profile_module module = {
            .kind = m->kind,
            .path = td_model_string(w->model, m->path),
            .pid = m->pid,
            .base = m->base,
            .build_id = m->build_id,
        };

        if (is_first(&w->modules, i))
            td_profile_module(w->out, &module);
    }
    for (uint32_t i = 0; i < w->modules.count; i++)
        write_symbols(w, w->modules.order[i]);
}

/* Gives the nodes their file ids, parents first, depth first: a stack's frames follow one another,
 * which packs well. nodes.order is sorted by parent, so that children are a range of it. */
static void write_nodes(struct writer *w)
{
    const uint32_t count = w->nodes.count;
    uint32_t *first = td_xcalloc((size_t)count + 1, sizeof(*first)); /* child, by parent */
    uint32_t *stack = td_xcalloc(count, sizeof(*stack));
    uint32_t depth = 0;

    for (uint32_t i = 1; i < count; i++)
        first[td_model_node(w->model, w->nodes.order[i])->parent + 1]++;
    first[0] = 1; /* order[0] is the empty stack, which is nobody's child */
    for (uint32_t i = 1; i <= count; i++)
        first[i] += first[i - 1];
    stack[depth++] = 0;
    while (depth > 0) {
        const uint32_t node = stack[--depth];
        const struct td_node *n = td_model_node(w->model, node);

        if (node != 0) {
            const struct td_location *l = td_model_location(w->model, n->location);

            w->nodes.rank[node] = td_profile_node(w->out, w->nodes.rank[n->parent],
                                                  w->modules.rank[l->module], l->offset);
        }
        for (uint32_t i = first[node + 1]; i > first[node]; i--)
            stack[depth++] = w->nodes.order[i - 1];
    }
    free(first);
    free(stack);
}

/* A tally with the file's ids. */
struct row {
    uint32_t group, thread, node;
    uint64_t samples;
    uint64_t *values; /* the tally's, less what its samples account for */
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    RETURN_IF_DIFFERENT(compare_u64(x->group, y->group));
    RETURN_IF_DIFFERENT(compare_u64(x->thread, y->thread));
    return compare_u64(x->node, y->node);
}

/* The tallies, one after another, and their values in one array of their own. */
static struct row *collect_rows(const struct writer *w, uint64_t **values)
{
    const size_t count = td_model_tally_count(w->model);
    struct row *rows = td_xcalloc(count, sizeof(*rows));
    uint64_t room[TD_COLUMNS_MAX];
    size_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += td_model_group(w->model, td_model_tally(w->model, i)->group)->column_count;
    uint64_t *at = *values = td_xcalloc(total, sizeof(**values));
    for (size_t i = 0; i < count; i++) {
        const struct td_tally *t = td_model_tally(w->model, i);
        const uint32_t columns = td_model_group(w->model, t->group)->column_count;

        rows[i] = (struct row){
            .group = w->groups.rank[t->group],
            .thread = w->threads.rank[t->thread],
            .node = w->nodes.rank[t->node],
            .samples = t->samples,
            .values = at,
        };
        memcpy(at, td_model_tally_values(w->model, t, room), columns * sizeof(*at));
        at += columns;
    }
    return rows;
}

static void add_values(uint64_t *to, const uint64_t *from, uint32_t columns)
{
    for (uint32_t c = 0; c < columns; c++)
        to[c] += from[c];
}

/* Rows of one key become one, the first. Returns how many are left. */
static size_t sum_equal(const struct writer *w, struct row *rows, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct row *last = kept > 0 ? &rows[kept - 1] : NULL;

        if (last && compare_rows(last, &rows[i]) == 0) {
            last->samples += rows[i].samples;
            add_values(last->values, rows[i].values, w->columns[last->group]);
        } else {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

/* What stands in the file as samples is taken out of the sums. */
static void subtract_samples(const struct writer *w, struct row *rows, size_t count)
{
    for (size_t i = 0; i < td_model_sample_count(w->model); i++) {
        const struct td_sample *s = td_model_sample(w->model, i);
        const uint64_t *values = td_model_sample_values(w->model, s);
        const struct row key = {
            .group = w->groups.rank[s->group],
            .thread = w->threads.rank[s->thread],
            .node = w->nodes.rank[s->node],
        };
        struct row *row = bsearch(&key, rows, count, sizeof(*rows), compare_rows);

        if (!row)
            continue;
        row->samples--;
        for (uint32_t c = 0; c < w->columns[row->group]; c++)
            row->values[c] -= values[c];
    }
}

static bool is_zero(const struct row *row, uint32_t columns)
{
    uint64_t any = row->samples;

    for (uint32_t c = 0; c < columns; c++)
        any |= row->values[c];
    return any == 0;
}

static void write_tallies(const struct writer *w)
{
    uint64_t *values = NULL;
    struct row *rows = collect_rows(w, &values);
    size_t count = td_model_tally_count(w->model);

    qsort(rows, count, sizeof(*rows), compare_rows);
    count = sum_equal(w, rows, count);
    subtract_samples(w, rows, count);
    for (size_t i = 0; i < count; i++) {
        if (!is_zero(&rows[i], w->columns[rows[i].group]))
            td_profile_tally(w->out, rows[i].thread, rows[i].node, rows[i].group, rows[i].samples,
                             rows[i].values);
    }
    free(rows);
    free(values);
}

static int compare_samples(const struct writer *w, uint32_t a, uint32_t b)
{
    const struct td_sample *x = td_model_sample(w->model, a);
    const struct td_sample *y = td_model_sample(w->model, b);

    RETURN_IF_DIFFERENT(compare_u64(x->time_ns, y->time_ns));
    RETURN_IF_DIFFERENT(compare_u64(x->cpu, y->cpu));
    RETURN_IF_DIFFERENT(compare_u64(w->groups.rank[x->group], w->groups.rank[y->group]));
    RETURN_IF_DIFFERENT(compare_u64(w->threads.rank[x->thread], w->threads.rank[y->thread]));
    RETURN_IF_DIFFERENT(compare_u64(w->nodes.rank[x->node], w->nodes.rank[y->node]));
    const uint64_t *p = td_model_sample_values(w->model, x);
    const uint64_t *q = td_model_sample_values(w->model, y);

    for (uint32_t c = 0; c < w->columns[w->groups.rank[x->group]]; c++)
        RETURN_IF_DIFFERENT(compare_u64(p[c], q[c]));
    return 0;
}

static void write_samples(const struct writer *w)
{
    struct ranking order = {0};

    rank_all(w, &order, (uint32_t)td_model_sample_count(w->model), compare_samples);
    for (uint32_t i = 0; i < order.count; i++) {
        struct td_sample sample = *td_model_sample(w->model, order.order[i]);
        const uint64_t *values = td_model_sample_values(w->model, &sample);

        sample.group = w->groups.rank[sample.group];
        sample.thread = w->threads.rank[sample.thread];
        sample.node = w->nodes.rank[sample.node];
        td_profile_sample(w->out, &sample, values);
    }
    ranking_release(&order);
}

/* Outer ones first, then by their parents and names. */
static int compare_regions(const struct writer *w, uint32_t a, uint32_t b)
{
    const struct td_region *x = td_model_region(w->model, a);
    const struct td_region *y = td_model_region(w->model, b);

    RETURN_IF_DIFFERENT(compare_u64(x->depth, y->depth));
    if (x->parent != y->parent)
        return compare_regions(w, x->parent, y->parent);
    return compare_strings(w, x->name, y->name);
}

static int compare_region_rows(const struct writer *w, uint32_t a, uint32_t b)
{
    const struct td_region_row *x = td_model_region_row(w->model, a);
    const struct td_region_row *y = td_model_region_row(w->model, b);

    RETURN_IF_DIFFERENT(compare_u64(w->threads.rank[x->thread], w->threads.rank[y->thread]));
    RETURN_IF_DIFFERENT(compare_u64(w->regions.rank[x->region], w->regions.rank[y->region]));
    RETURN_IF_DIFFERENT(compare_u64(rank_of(&w->groups, x->group), rank_of(&w->groups, y->group)));
    return compare_u64(x->unit, y->unit);
}

/* Rows of one place become one; where their sums cannot be, the first stands. */
static void write_region_rows(const struct writer *w)
{
    struct ranking order = {0};
    uint64_t values[TD_COLUMNS_MAX];

    rank_all(w, &order, td_model_region_row_count(w->model), compare_region_rows);
    for (uint32_t i = 0; i < order.count;) {
        struct td_region_row sum = *td_model_region_row(w->model, order.order[i]);
        const uint32_t group = rank_of(&w->groups, sum.group);
        const uint32_t columns = group == TD_NONE ? 0 : w->columns[group];

        memset(values, 0, sizeof(values));
        add_values(values, td_model_region_values(w->model, &sum), columns);
        for (i++; i < order.count && !is_first(&order, i); i++) {
            const struct td_region_row *row = td_model_region_row(w->model, order.order[i]);

            if (td_region_row_add(&sum, row))
                add_values(values, td_model_region_values(w->model, row), columns);
        }
        sum.thread = w->threads.rank[sum.thread];
        sum.region = w->regions.rank[sum.region];
        sum.group = group;
        td_profile_region_row(w->out, &sum, values);
    }
    ranking_release(&order);
}

static void write_regions(const struct writer *w)
{
    for (uint32_t i = 0; i < w->regions.count; i++) {
        const struct td_region *region = td_model_region(w->model, w->regions.order[i]);

        td_profile_region(w->out, rank_of(&w->regions, region->parent),
                          td_model_string(w->model, region->name));
    }
    write_region_rows(w);
}

static int compare_code(const struct writer *w, uint32_t a, uint32_t b)
{
    const struct td_ran_block *x = td_ran_block(td_model_ran_of(w->model), a);
    const struct td_ran_block *y = td_ran_block(td_model_ran_of(w->model), b);

    RETURN_IF_DIFFERENT(compare_u64(w->modules.rank[x->module], w->modules.rank[y->module]));
    RETURN_IF_DIFFERENT(compare_u64(x->offset, y->offset));
    return compare_u64(x->size, y->size);
}

static int compare_edges(const void *a, const void *b)
{
    const struct td_ran_edge *x = a, *y = b;

    return (x->delta > y->delta) - (x->delta < y->delta);
}

/* What several modules that are the same have of a block is added up by who reads it. */
static void write_code(const struct writer *w)
{
    const struct td_ran *code = td_model_ran_of(w->model);
    struct ranking order = {0};
    struct td_ran_edge edges[TD_RAN_EDGES_MAX];

    rank_all(w, &order, (uint32_t)td_ran_count(code), compare_code);
    for (uint32_t i = 0; i < order.count; i++) {
        struct td_ran_block block = *td_ran_block(code, order.order[i]);

        if (block.edge_count > 0)
            memcpy(edges, block.edges, block.edge_count * sizeof(*edges));
        qsort(edges, block.edge_count, sizeof(*edges), compare_edges);
        block.edges = edges;
        block.module = w->modules.rank[block.module];
        td_profile_ran(w->out, &block);
    }
    ranking_release(&order);
}

static int compare_habits(const struct writer *w, uint32_t a, uint32_t b)
{
    const struct td_habit *x = &td_model_habits(w->model)->at[a];
    const struct td_habit *y = &td_model_habits(w->model)->at[b];

    RETURN_IF_DIFFERENT(compare_u64(w->modules.rank[x->module], w->modules.rank[y->module]));
    return compare_u64(x->offset, y->offset);
}

static int compare_marks(const void *a, const void *b)
{
    const struct td_habit_mark *x = a, *y = b;

    RETURN_IF_DIFFERENT(compare_u64(x->kind, y->kind));
    RETURN_IF_DIFFERENT(compare_u64(x->module, y->module));
    return (x->key > y->key) - (x->key < y->key);
}

static struct td_habit written_habit(const struct writer *w, uint32_t i)
{
    struct td_habit habit = td_model_habits(w->model)->at[i];

    habit.module = w->modules.rank[habit.module];
    for (uint32_t m = 0; m < habit.mark_count; m++)
        habit.marks[m].module = rank_of(&w->modules, habit.marks[m].module);
    return habit;
}

static void write_habits(const struct writer *w)
{
    struct ranking order = {0};

    rank_all(w, &order, (uint32_t)td_model_habits(w->model)->len, compare_habits);
    for (uint32_t i = 0; i < order.count;) {
        struct td_habit sum = written_habit(w, order.order[i]);

        for (i++; i < order.count && !is_first(&order, i); i++) {
            const struct td_habit more = written_habit(w, order.order[i]);

            td_habit_add(&sum, &more);
        }
        qsort(sum.marks, sum.mark_count, sizeof(*sum.marks), compare_marks);
        td_profile_habit(w->out, &sum);
    }
    ranking_release(&order);
}

static void write_env_and_counters(const struct writer *w)
{
    char *const damage = td_notes_damage(w->model);

    for (size_t i = 0; i < td_model_env_count(w->model); i++) {
        const char *key = NULL, *value = NULL;

        td_model_env_entry(w->model, i, &key, &value);
        td_profile_env(w->out, key, value);
    }
    if (damage)
        td_profile_env(w->out, td_env_key_name(TD_ENV_WARNING), damage);
    free(damage);
    for (unsigned c = 0; c < TD_COUNTER_COUNT; c++)
        td_profile_counter(w->out, (enum td_counter)c,
                           td_model_counter(w->model, (enum td_counter)c));
}

static int compare_sides(const struct writer *w, const struct td_shared_side *x,
                         const struct td_shared_side *y)
{
    RETURN_IF_DIFFERENT(
        compare_u64(rank_of(&w->threads, x->thread), rank_of(&w->threads, y->thread)));
    RETURN_IF_DIFFERENT(
        compare_u64(rank_of(&w->modules, x->module), rank_of(&w->modules, y->module)));
    RETURN_IF_DIFFERENT(compare_u64(x->offset, y->offset));
    return compare_u64(x->store, y->store);
}

static int compare_shared(const struct writer *w, uint32_t a, uint32_t b)
{
    const struct td_shared_row *x = td_model_shared(w->model, a);
    const struct td_shared_row *y = td_model_shared(w->model, b);

    RETURN_IF_DIFFERENT(compare_u64(w->threads.rank[x->process], w->threads.rank[y->process]));
    RETURN_IF_DIFFERENT(compare_u64(x->address, y->address));
    RETURN_IF_DIFFERENT(compare_u64(x->area, y->area));
    RETURN_IF_DIFFERENT(
        compare_u64(rank_of(&w->modules, x->module), rank_of(&w->modules, y->module)));
    RETURN_IF_DIFFERENT(compare_u64(x->offset, y->offset));
    RETURN_IF_DIFFERENT(compare_sides(w, &x->mine, &y->mine));
    RETURN_IF_DIFFERENT(compare_sides(w, &x->theirs, &y->theirs));
    return compare_u64(x->is_false, y->is_false);
}

/* Rows of equal sides become one; the model bounds their sum. */
static void write_sharing(const struct writer *w)
{
    struct ranking order = {0};

    rank_all(w, &order, td_model_shared_count(w->model), compare_shared);
    for (uint32_t i = 0; i < order.count;) {
        struct td_shared_row sum = *td_model_shared(w->model, order.order[i]);

        for (i++; i < order.count && !is_first(&order, i); i++) {
            const struct td_shared_row *row = td_model_shared(w->model, order.order[i]);

            sum.transfers += row->transfers;
            sum.invalidations += row->invalidations;
            sum.cycles += row->cycles;
        }
        sum.process = w->threads.rank[sum.process];
        sum.module = rank_of(&w->modules, sum.module);
        sum.mine.thread = rank_of(&w->threads, sum.mine.thread);
        sum.mine.module = rank_of(&w->modules, sum.mine.module);
        sum.theirs.thread = rank_of(&w->threads, sum.theirs.thread);
        sum.theirs.module = rank_of(&w->modules, sum.theirs.module);
        td_profile_shared(w->out, &sum);
    }
    ranking_release(&order);
}

/* Later ranks need earlier ones: groups name events and regions, nodes name modules. */
static void rank_everything(struct writer *w)
{
    rank_all(w, &w->events, td_model_event_count(w->model), compare_events);
    rank_all(w, &w->regions, td_model_region_count(w->model), compare_regions);
    rank_all(w, &w->groups, td_model_group_count(w->model), compare_groups);
    rank_all(w, &w->threads, td_model_thread_count(w->model), compare_threads);
    rank_all(w, &w->modules, td_model_module_count(w->model), compare_modules);
    rank_all(w, &w->nodes, td_model_node_count(w->model), compare_siblings);
    w->columns = td_xcalloc(w->groups.count, sizeof(*w->columns));
    for (uint32_t g = 0; g < w->groups.count; g++)
        w->columns[w->groups.rank[g]] = td_model_group(w->model, g)->column_count;
}

/* Collects the rows of one thread and group. */
struct collector {
    const struct writer *w;
    uint32_t group, thread; /* of the file */
    struct row *rows;
    size_t len, cap;
    struct td_arena values;
};

static void collect(void *ctx, uint32_t node, uint32_t group, uint64_t samples,
                    const uint64_t *values)
{
    struct collector *c = ctx;

    if (c->w->groups.rank[group] != c->group)
        return;
    const size_t bytes = c->w->columns[c->group] * sizeof(*values);
    uint64_t *copy = td_arena_alloc(&c->values, bytes);

    memcpy(copy, values, bytes);
    c->rows = td_grow(c->rows, &c->cap, c->len + 1, sizeof(*c->rows));
    c->rows[c->len++] = (struct row){.group = c->group,
                                     .thread = c->thread,
                                     .node = c->w->nodes.rank[node],
                                     .samples = samples,
                                     .values = copy};
}

static void write_collected(struct collector *c)
{
    if (c->len == 0)
        return;
    qsort(c->rows, c->len, sizeof(*c->rows), compare_rows);
    const size_t count = sum_equal(c->w, c->rows, c->len);
    for (size_t i = 0; i < count; i++) {
        if (!is_zero(&c->rows[i], c->w->columns[c->group]))
            td_profile_tally(c->w->out, c->thread, c->rows[i].node, c->group, c->rows[i].samples,
                             c->rows[i].values);
    }
    c->len = 0;
    td_arena_release(&c->values);
}

/* A thread at a time, so that no more than its rows are in memory unpacked. */
static void write_rows(const struct writer *w, const struct td_profile_rows *rows)
{
    struct collector c = {.w = w};

    for (uint32_t g = 0; g < w->groups.count; g++) {
        if (!is_first(&w->groups, g))
            continue;
        c.group = w->groups.rank[w->groups.order[g]];
        for (uint32_t t = 0; t < w->threads.count; t++) {
            if (is_first(&w->threads, t) && c.len > 0)
                write_collected(&c);
            c.thread = w->threads.rank[w->threads.order[t]];
            rows->each(rows->ctx, w->threads.order[t], collect, &c);
        }
        write_collected(&c);
    }
    free(c.rows);
}

static void write_everything(struct writer *w, const struct td_profile_rows *rows)
{
    rank_everything(w);
    write_env_and_counters(w);
    write_events(w);
    write_counts(w);
    write_groups(w);
    write_threads(w);
    write_modules(w);
    write_regions(w);
    write_code(w);
    write_sharing(w);
    write_habits(w);
    write_nodes(w);
    if (rows)
        write_rows(w, rows);
    else
        write_tallies(w);
    if (!rows || rows->samples_too)
        write_samples(w);
}

int td_profile_write_rows(const struct td_model *model, const struct td_profile_rows *rows,
                          const struct td_profile_writer_opts *opts, td_profile_write_fn *write,
                          void *ctx, struct td_err *err)
{
    static const uint8_t no_id[TD_PROFILE_ID_SIZE];
    struct td_profile_writer_opts ours = opts ? *opts : (struct td_profile_writer_opts){0};
    struct writer w = {.model = model};

    if (td_model_node_count(model) > TD_NODE_TABLE_MAX)
        return td_fail(err, TD_ELIMIT, "%u different stacks are more than a profile can hold (%u)",
                       td_model_node_count(model), TD_NODE_TABLE_MAX);
    ours.max_nodes = td_model_node_count(model);
    ours.id = ours.id ? ours.id : no_id;
    int rc = td_profile_writer_new(&w.out, write, ctx, &ours, err);
    if (rc < 0)
        return rc;
    write_everything(&w, rows);
    rc = td_model_complete(model) ? td_profile_finish(w.out, err) : td_profile_flush(w.out, err);
    td_profile_writer_free(w.out);
    ranking_release(&w.events);
    ranking_release(&w.groups);
    ranking_release(&w.threads);
    ranking_release(&w.modules);
    ranking_release(&w.nodes);
    ranking_release(&w.regions);
    free(w.columns);
    return rc;
}

int td_profile_write_model(const struct td_model *model, const struct td_profile_writer_opts *opts,
                           td_profile_write_fn *write, void *ctx, struct td_err *err)
{
    return td_profile_write_rows(model, NULL, opts, write, ctx, err);
}
