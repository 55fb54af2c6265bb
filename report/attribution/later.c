/* SPDX-License-Identifier: MIT */
#include "report/attribution/later.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "formats/frames.h"
#include "report/attribution/slots.h"
#include "report/attribution/stats.h"

/* Intervals of a function from which its own division is known at all. */
#define OWN_MIN 8
/* The jackknife's groups, and Student's factor for about so many (95 %). */
#define BATCHES   16
#define STUDENT_T 2.2

/* An interval of the later group. */
struct piece {
    uint32_t key; /* of the function where it ended; TD_NONE: the first run was not there */
    bool same;    /* it began there too */
    size_t place; /* in the order of time */
    const uint64_t *values;
};

struct later {
    struct td_slots_part *part;
    size_t part_index;
    struct td_measure *measure;
    bool no_inline;
    struct td_map functions;  /* to keys */
    uint32_t *row_key;        /* by row of the measure; TD_NONE: of another part */
    uint32_t *rows, *rows_of; /* rows in the order of keys; by key, the first of its rows */
    double *first;            /* by key and event of the core: what earlier runs counted there */
    double *whole;            /* by event: in all */
    bool *known;              /* by event: an earlier run counted it */
    /* Of one later group: */
    struct td_counted counted; /* whose core is the part's */
    unsigned run;
    struct piece *pieces;
    size_t len, cap;
    size_t *pieces_of; /* by key, the first of its pieces once they are sorted */
};

struct range {
    size_t from, to;
};

/* How a node's slots divide: its children's shares of it. */
struct division {
    double of_parent[TD_NODE_COUNT]; /* NaN: not known */
    double share[TD_NODE_COUNT];     /* of all slots; NaN */
};

/* Functions. */

static uint64_t function_of(const struct later *l, uint32_t node)
{
    const struct td_model *model = l->measure->model;
    const struct td_frame frame =
        td_frame_leaf(model, td_model_node(model, node)->location, l->no_inline);

    return td_function_key(&frame);
}

static void find_keys(struct later *l)
{
    l->row_key = td_xcalloc(l->measure->row_count + 1, sizeof(*l->row_key));
    for (size_t r = 0; r < l->measure->row_count; r++) {
        l->row_key[r] = TD_NONE;
        if (l->measure->slots->part_of[r] == l->part_index)
            l->row_key[r] = *td_map_put(&l->functions, function_of(l, l->measure->rows[r].node), 0,
                                        (uint32_t)l->functions.len, NULL);
    }
    l->rows = td_xcalloc(l->measure->row_count + 1, sizeof(*l->rows));
    l->rows_of = td_xcalloc(l->functions.len + 2, sizeof(*l->rows_of));
    l->pieces_of = td_xcalloc(l->functions.len + 1, sizeof(*l->pieces_of));
    for (size_t r = 0; r < l->measure->row_count; r++) {
        if (l->row_key[r] != TD_NONE)
            l->rows_of[l->row_key[r] + 2]++;
    }
    for (size_t key = 1; key <= l->functions.len + 1; key++)
        l->rows_of[key] += l->rows_of[key - 1];
    for (size_t r = 0; r < l->measure->row_count; r++) {
        if (l->row_key[r] != TD_NONE)
            l->rows[l->rows_of[l->row_key[r] + 1]++] = (uint32_t)r;
    }
}

static void add_counts(const struct td_counted *counted, const uint64_t *values, double *counts)
{
    const struct td_group *group = td_model_group(counted->model, counted->group);

    for (uint32_t c = 0; c < group->column_count; c++) {
        if (counted->event[c] >= 0)
            counts[counted->event[c]] += (double)values[c];
    }
}

static void mark_known(struct later *l, const struct td_counted *counted)
{
    const struct td_group *group = td_model_group(counted->model, counted->group);

    for (uint32_t c = 0; c < group->column_count; c++) {
        if (counted->event[c] >= 0)
            l->known[counted->event[c]] = true;
    }
}

/* What the first run counted in each function. */
static void sum_first(struct later *l)
{
    const struct td_intervals *in = &l->part->intervals;
    const size_t events = l->part->counted.core->event_count;

    l->first = td_xcalloc(l->functions.len * events + 1, sizeof(*l->first));
    l->whole = td_xcalloc(events + 1, sizeof(*l->whole));
    l->known = td_xcalloc(events + 1, sizeof(*l->known));
    mark_known(l, &l->part->counted);
    for (size_t i = 0; i < in->len; i++) {
        const uint32_t key = l->row_key[in->at[i].row];

        add_counts(&l->part->counted, in->at[i].values, l->first + key * events);
        add_counts(&l->part->counted, in->at[i].values, l->whole);
    }
}

/* The later group's samples. */

static void add_piece(struct later *l, const struct td_sample *sample, struct td_map *before)
{
    const struct td_model *model = l->measure->model;
    const struct td_thread *thread = td_model_thread(model, sample->thread);
    const uint64_t function = function_of(l, sample->node);
    const uint32_t *key = td_map_find(&l->functions, function, 0);
    uint32_t *last = td_map_put(before, (uint64_t)thread->pid << 32 | thread->tid,
                                (uint64_t)thread->origin << 32 | sample->cpu, TD_NONE, NULL);

    l->pieces = td_grow(l->pieces, &l->cap, l->len + 1, sizeof(*l->pieces));
    l->pieces[l->len] = (struct piece){.key = key ? *key : TD_NONE,
                                       .same = key && *last == *key,
                                       .place = l->len,
                                       .values = td_model_sample_values(model, sample)};
    *last = key ? *key : TD_NONE;
    l->len++;
}

static void take_pieces(struct later *l)
{
    const struct td_model *model = l->measure->model;
    struct td_map before = {.slots = NULL};

    l->len = 0;
    for (size_t i = 0; i < td_model_sample_count(model); i++) {
        if (td_model_sample(model, i)->group == l->counted.group)
            add_piece(l, td_model_sample(model, i), &before);
    }
    td_map_release(&before);
}

static int by_key(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static void sort_pieces(struct later *l)
{
    size_t at = 0;

    if (l->len)
        qsort(l->pieces, l->len, sizeof(*l->pieces), by_key);
    for (size_t key = 0; key <= l->functions.len; key++) {
        while (at < l->len && l->pieces[at].key < key)
            at++;
        l->pieces_of[key] = at;
    }
}

/* Dividing. */

/* How many times as long the earlier runs were as the later one, by an event that both counted: the
 * clock leads most groups. NaN: there is none. */
static double length_factor(const struct later *l, const double *earlier, const double *later)
{
    const struct td_group *group = td_model_group(l->counted.model, l->counted.group);

    for (uint32_t c = 0; c < group->column_count; c++) {
        const int e = l->counted.event[c];

        if (e >= 0 && l->known[e] && earlier[e] > 0 && later[e] > 0)
            return earlier[e] / later[e];
    }
    return NAN;
}

/* What the later run did not count comes from the earlier ones, both brought to the same length. */
static void join(const struct later *l, const double *earlier, const double *later, double *counts)
{
    const struct td_counted *main = &l->part->counted;
    const struct td_group *group = td_model_group(main->model, l->counted.group);
    const double factor = length_factor(l, earlier, later);

    for (size_t e = 0; e < main->core->event_count; e++)
        counts[e] = l->known[e] ? earlier[e] : main->zero & td_pmu_event_bit(e) ? 0 : NAN;
    td_pmu_core_give(main->core, &main->given, counts);
    for (uint32_t c = 0; c < group->column_count; c++) {
        if (l->counted.event[c] >= 0)
            counts[l->counted.event[c]] = later[l->counted.event[c]] * factor;
    }
}

static void divide(const struct later *l, const double *first, const double *later,
                   struct division *ret)
{
    const struct td_counted *main = &l->part->counted;
    double *counts = td_xcalloc(main->core->event_count + 1, sizeof(*counts));
    struct td_pmu_tree tree;

    join(l, first, later, counts);
    td_pmu_core_tree(main->core, counts, main->width, &tree);
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const enum td_tma_node parent = td_tma_info((enum td_tma_node)n)->parent;
        const double whole = parent == TD_NODE_NONE ? 1 : tree.share[parent];

        ret->share[n] = tree.share[n];
        ret->of_parent[n] = whole > 0 ? tree.share[n] / whole : NAN;
    }
    free(counts);
}

/* The division, and how far chance can move it: each batch of intervals is left out in turn. */
static size_t divide_pieces(const struct later *l, const double *first, struct range of, bool same,
                            struct division *ret, double unsure[TD_NODE_COUNT])
{
    const size_t events = l->part->counted.core->event_count;
    double *sums = td_xcalloc((BATCHES + 1) * events + 1, sizeof(*sums));
    double *all = sums + BATCHES * events;
    struct division without[BATCHES];
    size_t count = 0;

    for (size_t i = of.from; i < of.to; i++) {
        if (same && !l->pieces[i].same)
            continue;
        add_counts(&l->counted, l->pieces[i].values, sums + count++ % BATCHES * events);
        add_counts(&l->counted, l->pieces[i].values, all);
    }
    divide(l, first, all, ret);
    const size_t batches = count < BATCHES ? count : BATCHES;
    for (size_t b = 0; b < batches; b++) {
        for (size_t e = 0; e < events; e++)
            sums[b * events + e] = all[e] - sums[b * events + e];
        divide(l, first, sums + b * events, &without[b]);
    }
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        double sum = 0, squares = 0;

        for (size_t b = 0; b < batches; b++)
            sum += without[b].of_parent[n];
        for (size_t b = 0; b < batches; b++)
            squares += pow(without[b].of_parent[n] - sum / (double)batches, 2);
        unsure[n] =
            batches > 1 ? STUDENT_T * sqrt(squares * (double)(batches - 1) / (double)batches) : 1;
        unsure[n] = unsure[n] < 1 ? unsure[n] : 1; /* NaN too */
    }
    free(sums);
    return count;
}

/* How a function's slots divide: by intervals that begin and end in it, else by all that end there,
 * else as in the whole program, which says nothing of it. */
static void divide_function(const struct later *l, uint32_t key, const struct division *whole,
                            struct division *ret, double unsure[TD_NODE_COUNT])
{
    const double *first = l->first + key * l->part->counted.core->event_count;
    const struct range of = {l->pieces_of[key], l->pieces_of[key + 1]};
    const size_t same = divide_pieces(l, first, of, true, ret, unsure);

    if (same >= OWN_MIN)
        return;
    const size_t any = divide_pieces(l, first, of, false, ret, unsure);
    for (int n = 0; n < TD_NODE_COUNT && any >= OWN_MIN; n++)
        unsure[n] = fmin(1, unsure[n] + 1 - (double)same / (double)any);
    if (any >= OWN_MIN)
        return;
    *ret = *whole;
    for (int n = 0; n < TD_NODE_COUNT; n++)
        unsure[n] = 1;
}

/* Into the measure. */

/* Slots of the node's children that are not new; at most its own. */
static uint64_t known_children(const struct later *l, enum td_tma_node parent, const bool *new,
                               size_t r)
{
    uint64_t sum = 0;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const uint64_t *values = l->measure->values[TD_METRIC_FIRST_NODE + n];

        if (!new[n] && values && td_tma_info((enum td_tma_node)n)->parent == parent)
            sum += values[r];
    }
    return sum;
}

/* The children of a node that are new; their slots are differences of rounded running sums, so that
 * children that make up the node add up to it. */
static void add_children(struct later *l, enum td_tma_node parent, const bool *new, size_t r,
                         const struct division *d, const double unsure[TD_NODE_COUNT])
{
    const uint64_t slots = parent == TD_NODE_NONE ? l->measure->values[TD_METRIC_SLOTS][r]
                           : l->measure->values[TD_METRIC_FIRST_NODE + (int)parent]
                               ? l->measure->values[TD_METRIC_FIRST_NODE + (int)parent][r]
                               : 0;
    const uint64_t known = known_children(l, parent, new, r);
    const uint64_t rest = slots > known ? slots - known : 0;
    double running = 0;
    uint64_t before = 0;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        uint64_t *values = l->measure->values[TD_METRIC_FIRST_NODE + n];

        if (!new[n] || !values || td_tma_info((enum td_tma_node)n)->parent != parent)
            continue;
        running += isnan(d->of_parent[n]) ? 0 : d->of_parent[n];
        const uint64_t most = td_rounded(fmin(running, 1) * (double)slots);
        const uint64_t now = most < rest ? most : rest;
        values[r] += now - before;
        before = now;
        l->part->later[n].unsure[r] = isnan(d->of_parent[n]) ? 1 : (float)unsure[n];
    }
}

/* What this group says that nothing said before. */
static bool find_new(struct later *l, const struct division *whole,
                     const double unsure[TD_NODE_COUNT], bool new[TD_NODE_COUNT])
{
    bool any = false;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const enum td_tma_node parent = td_tma_info((enum td_tma_node)n)->parent;
        struct td_later *later = &l->part->later[n];

        new[n] = isnan(l->part->intervals.tree.share[n]) && later->run == 0 &&
                 !isnan(whole->of_parent[n]) && parent != TD_NODE_NONE;
        if (!new[n])
            continue;
        any = true;
        *later = (struct td_later){
            .run = l->run,
            .share = whole->share[n],
            .error =
                hypot(unsure[n] * whole->share[parent],
                      l->part->later[parent].run ? l->part->later[parent].error
                                                 : l->part->error[parent] * whole->of_parent[n]),
            .unsure = td_xcalloc(l->measure->row_count + 1, sizeof(*later->unsure)),
        };
        if (!l->measure->values[TD_METRIC_FIRST_NODE + n])
            l->measure->values[TD_METRIC_FIRST_NODE + n] =
                td_xcalloc(l->measure->row_count + 1, sizeof(uint64_t));
    }
    return any;
}

/* What later pieces counted, brought to the length of the earlier runs, where those did not count
 * it. */
static void remember(const struct later *l, struct range of, double *earlier)
{
    const struct td_group *group = td_model_group(l->counted.model, l->counted.group);
    double *sums = td_xcalloc(l->part->counted.core->event_count + 1, sizeof(*sums));

    for (size_t i = of.from; i < of.to; i++)
        add_counts(&l->counted, l->pieces[i].values, sums);
    const double factor = length_factor(l, earlier, sums);
    for (uint32_t c = 0; c < group->column_count; c++) {
        const int e = l->counted.event[c];

        if (e >= 0 && !l->known[e])
            earlier[e] = sums[e] * factor;
    }
    free(sums);
}

static void remember_group(struct later *l)
{
    const size_t events = l->part->counted.core->event_count;

    remember(l, (struct range){0, l->len}, l->whole);
    for (uint32_t key = 0; key < l->functions.len; key++)
        remember(l, (struct range){l->pieces_of[key], l->pieces_of[key + 1]},
                 l->first + key * events);
    mark_known(l, &l->counted);
}

static void add_nodes(struct later *l, const struct division *whole, const bool new[TD_NODE_COUNT])
{
    struct division own;
    double unsure[TD_NODE_COUNT];

    for (uint32_t key = 0; key < l->functions.len; key++) {
        divide_function(l, key, whole, &own, unsure);
        for (uint32_t i = l->rows_of[key]; i < l->rows_of[key + 1]; i++) {
            for (int parent = 0; parent < TD_NODE_COUNT; parent++)
                add_children(l, (enum td_tma_node)parent, new, l->rows[i], &own, unsure);
        }
    }
}

static void add_group(struct later *l)
{
    struct division whole;
    double unsure[TD_NODE_COUNT];
    bool new[TD_NODE_COUNT];

    take_pieces(l);
    const bool any =
        divide_pieces(l, l->whole, (struct range){0, l->len}, false, &whole, unsure) >= OWN_MIN &&
        find_new(l, &whole, unsure, new);
    sort_pieces(l);
    if (any)
        add_nodes(l, &whole, new);
    remember_group(l);
}

void td_later_add(struct td_slots_part *part, size_t part_index, struct td_measure *measure,
                  bool no_inline)
{
    const struct td_model *model = measure->model;
    struct later l = {
        .part = part, .part_index = part_index, .measure = measure, .no_inline = no_inline};

    for (uint32_t g = 0; g < td_model_group_count(model); g++) {
        const struct td_group *group = td_model_group(model, g);

        l.run = group->pass;
        if (l.run < 2 || group->role != TD_ROLE_SLOTS || g == part->counted.group ||
            strcmp(td_model_string(model, group->cpu_type), part->cpu_type) != 0)
            continue;
        if (!l.row_key) {
            find_keys(&l);
            sum_first(&l);
        }
        l.counted = part->counted;
        if (td_counted_columns(&l.counted, g))
            add_group(&l);
    }
    td_map_release(&l.functions);
    free(l.row_key);
    free(l.rows);
    free(l.rows_of);
    free(l.pieces_of);
    free(l.first);
    free(l.whole);
    free(l.known);
    free(l.pieces);
}

unsigned td_later_run(const struct td_measure *measure, enum td_tma_node node)
{
    for (size_t p = 0; measure->slots && p < measure->slots->len; p++) {
        if (measure->slots->parts[p].later[node].run)
            return measure->slots->parts[p].later[node].run;
    }
    return 0;
}

void td_later_release(struct td_later *later)
{
    for (int n = 0; n < TD_NODE_COUNT; n++)
        free(later[n].unsure);
}
