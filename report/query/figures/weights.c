/* SPDX-License-Identifier: MIT */
#include "report/query/figures/weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/query/figures/row_order.h"
#include "report/query/figures/versions.h"
#include "report/attribution/stats.h"
#include "report/query/figures/weights_priv.h"

/* Of a unit's modelled slots: if less is lost, the model does not say to what more is. */
#define LOSS_MIN 0.01
/* A place that takes less is not judged. */
#define CHECK_SHARE 0.005
#define CHECK_RATIO 1.5

struct joining {
    const struct td_measure *native, *modelled;
    const struct td_model *model;
    struct td_measure *joined;
    struct td_join *join;
    long double running[TD_NODE_COUNT + 1]; /* scaled slots so far; the last: of no node */
    uint64_t given[TD_NODE_COUNT + 1];      /* and what of them rows have */
};

const char *td_weights_event(const struct td_model *model)
{
    const char *event = NULL;
    bool modelled = false;

    for (uint32_t g = 0; g < td_model_group_count(model); g++) {
        const struct td_group *group = td_model_group(model, g);

        modelled = modelled || group->role == TD_ROLE_MODEL;
        if (group->role == TD_ROLE_TIME && group->sampler != TD_NONE &&
            td_model_event(model, group->sampler)->unit == TD_UNIT_NS)
            event = td_model_string(model, td_model_event(model, group->sampler)->name);
    }
    return modelled ? event : NULL;
}

/* A unit is a function that the compiler made, inlined ones included; of code without a name, a
 * module; what has no place is one. In this order. */
static void find_units(struct joining *j)
{
    const struct td_model *model = j->model;
    const uint32_t locations = td_model_location_count(model);
    const uint32_t functions = td_model_function_count(model);

    j->join->unit_count = (size_t)functions + td_model_module_count(model) + 1;
    j->join->units = td_xcalloc(j->join->unit_count, sizeof(*j->join->units));
    j->join->nodes = td_xcalloc(j->join->unit_count * TD_NODE_COUNT, sizeof(*j->join->nodes));
    j->join->unit_of = td_xcalloc((size_t)locations + 1, sizeof(*j->join->unit_of));
    for (uint32_t i = 0; i < locations; i++) {
        const struct td_location *l = td_model_location(model, i);

        j->join->unit_of[i] =
            l->line_count ? td_model_line(model, l->line_first + l->line_count - 1)->function
                          : functions + l->module;
    }
    j->join->unit_of[locations] = (uint32_t)j->join->unit_count - 1;
}

static uint32_t unit_of(const struct joining *j, const struct td_measure *measure, size_t row)
{
    const uint32_t location = td_model_node(j->model, measure->rows[row].node)->location;

    return j->join->unit_of[location == TD_NONE ? td_model_location_count(j->model) : location];
}

static double value_of(const struct td_measure *m, unsigned metric, size_t row)
{
    return m->values[metric] ? (double)m->values[metric][row] : 0;
}

static void sum_units(struct joining *j)
{
    const struct td_measure *m = j->modelled, *n = j->native;

    for (size_t i = 0; i < m->row_count; i++) {
        const uint32_t index = unit_of(j, m, i);

        j->join->units[index].modelled += value_of(m, TD_METRIC_SLOTS, i);
        j->join->units[index].useful += value_of(m, USEFUL, i);
        j->join->units[index].modelled_ns += value_of(m, TD_METRIC_TIME_NS, i);
        for (unsigned k = 0; k < TD_NODE_COUNT; k++)
            j->join->nodes[(size_t)index * TD_NODE_COUNT + k] +=
                value_of(m, TD_METRIC_FIRST_NODE + k, i);
    }
    for (size_t i = 0; i < n->row_count; i++) {
        struct td_join_unit *unit = &j->join->units[unit_of(j, n, i)];

        unit->ns += value_of(n, TD_METRIC_TIME_NS, i);
        unit->samples += value_of(n, TD_METRIC_SAMPLES, i);
    }
}

static const char *name_of(const struct joining *j, uint32_t function)
{
    return td_model_string(j->model, td_model_function(j->model, function)->name);
}

/* The unit of `native`, which no window met, is that of `modelled` from now on, or the other way
 * around where that one is another's already. */
static void borrow(struct joining *j, uint32_t *moved, uint32_t native, uint32_t modelled)
{
    struct td_join_unit *units = j->join->units;
    const double slots = units[modelled].modelled;

    if (moved[modelled] == modelled)
        moved[modelled] = moved[native];
    else
        moved[native] = moved[modelled];
    struct td_join_unit *unit = &units[moved[native]];
    if (unit->borrowed == 0)
        unit->borrowed = ++j->join->borrowed_count;
    if (slots > unit->from_slots) {
        unit->from = modelled;
        unit->from_slots = slots;
    }
}

/* For each version that has native samples alone, those of the same function in the same module
 * that have modelled slots. Returns by function its unit, owned by the caller. */
static uint32_t *find_versions(struct joining *j)
{
    const uint32_t functions = td_model_function_count(j->model);
    uint32_t *moved = td_xcalloc((size_t)functions + 1, sizeof(*moved));
    uint32_t *modelled = td_xcalloc((size_t)functions + 1, sizeof(*modelled));
    size_t count = 0;

    for (uint32_t f = 0; f < functions; f++) {
        moved[f] = f;
        if (j->join->units[f].modelled > 0 && td_version_is(name_of(j, f)))
            modelled[count++] = f;
    }
    for (uint32_t f = 0; f < functions; f++) {
        const struct td_join_unit *unit = &j->join->units[f];

        if (unit->samples <= 0 || unit->modelled > 0 || !td_version_is(name_of(j, f)))
            continue;
        for (size_t i = 0; i < count; i++) {
            if (td_model_function(j->model, modelled[i])->module ==
                    td_model_function(j->model, f)->module &&
                td_versions_of_one(name_of(j, f), name_of(j, modelled[i])))
                borrow(j, moved, f, modelled[i]);
        }
    }
    free(modelled);
    return moved;
}

/* The native run and the emulator differ in what the processor can do, and so in which versions of
 * the C library's functions they run: those become one unit, and units are summed again. */
static void join_versions(struct joining *j)
{
    const uint32_t locations = td_model_location_count(j->model);
    const uint32_t functions = td_model_function_count(j->model);
    uint32_t *moved = find_versions(j);

    for (uint32_t i = 0; i < locations; i++) {
        if (j->join->unit_of[i] < functions)
            j->join->unit_of[i] = moved[j->join->unit_of[i]];
    }
    free(moved);
    if (j->join->borrowed_count == 0)
        return;
    for (size_t u = 0; u < j->join->unit_count; u++) {
        const struct td_join_unit *before = &j->join->units[u];

        j->join->units[u] = (struct td_join_unit){
            .borrowed = before->borrowed, .from = before->from, .from_slots = before->from_slots};
    }
    memset(j->join->nodes, 0, j->join->unit_count * TD_NODE_COUNT * sizeof(*j->join->nodes));
    sum_units(j);
}

/* What the unit's measured slots are: what it retires is known exactly, by the model; the others
 * are lost as the model's losses are. Windows say how slots are divided, and no more. */
static void weigh_unit(struct td_join_unit *unit, double slots_per_ns, bool windows)
{
    const double lost = unit->modelled - unit->useful;

    unit->slots = unit->ns * slots_per_ns;
    unit->keep = 1;
    unit->grow = 1;
    if (windows)
        unit->keep = unit->grow = unit->slots / unit->modelled;
    else if (unit->slots < unit->useful) {
        unit->keep = unit->slots / unit->useful;
        unit->grow = 0;
    } else if (unit->slots < unit->modelled || lost > LOSS_MIN * unit->modelled) {
        unit->grow = (unit->slots - unit->useful) / lost;
    } else {
        unit->without = (unit->slots - unit->modelled) / unit->modelled;
    }
}

static bool is_joined(const struct td_join_unit *unit)
{
    return unit->modelled > 0 && unit->samples > 0;
}

/* Measured time is counted in cycles of the modelled core's clock, and slots of its width. */
static void weigh(struct joining *j)
{
    const double slots_per_ns =
        td_ratio(j->modelled->totals[TD_METRIC_SLOTS], j->modelled->totals[TD_METRIC_TIME_NS]);

    for (size_t u = 0; u < j->join->unit_count; u++) {
        if (is_joined(&j->join->units[u]))
            weigh_unit(&j->join->units[u], slots_per_ns, j->join->windows);
    }
}

static void add(struct td_measure *m, enum td_metric metric, size_t row, uint64_t value)
{
    m->values[metric][row] += value;
    m->totals[metric] += value;
}

/* What a node has itself, not in its children. */
static uint64_t own_slots(const struct td_measure *m, size_t row, int node)
{
    uint64_t own = m->values[TD_METRIC_FIRST_NODE + node][row];

    for (int child = 0; child < TD_NODE_COUNT; child++) {
        if ((int)td_tma_info((enum td_tma_node)child)->parent == node &&
            m->values[TD_METRIC_FIRST_NODE + child])
            own -= m->values[TD_METRIC_FIRST_NODE + child][row];
    }
    return own;
}

/* As a difference of a rounded running sum: totals are the same however the places are divided
 * among rows, and rows and tree stay sums of what is in them. */
static uint64_t part_of(struct joining *j, int which, long double slots)
{
    j->running[which] += slots;
    const uint64_t now = td_rounded(j->running[which]), part = now - j->given[which];

    j->given[which] = now;
    return part;
}

/* Rounded where they were charged, and summed up the tree again. */
static void scale_slots(struct joining *j, size_t from, size_t to, const struct td_join_unit *unit)
{
    const uint64_t *slots = j->modelled->values[TD_METRIC_SLOTS];
    struct td_measure *m = j->joined;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (!m->values[TD_METRIC_FIRST_NODE + n])
            continue;
        const uint64_t value = part_of(
            j, n,
            (long double)own_slots(j->modelled, from, n) *
                (long double)(td_tma_retires((enum td_tma_node)n) ? unit->keep : unit->grow));
        add(m, TD_METRIC_SLOTS, to, value);
        for (int up = n; up != TD_NODE_NONE; up = td_tma_info((enum td_tma_node)up)->parent)
            add(m, (enum td_metric)(TD_METRIC_FIRST_NODE + up), to, value);
    }
    add(m, TD_METRIC_SLOTS, to,
        part_of(j, TD_NODE_COUNT, (long double)slots[from] * (long double)unit->without));
}

/* The row's part of the unit's time: as much as of its slots. */
static long double time_of(const struct joining *j, size_t from, const struct td_join_unit *unit)
{
    const struct td_measure *m = j->modelled;
    const double useful = value_of(m, USEFUL, from);
    const double all = value_of(m, TD_METRIC_SLOTS, from);
    const double slots = useful * unit->keep + (all - useful) * unit->grow + all * unit->without;

    return unit->slots > 0 ? (long double)(slots / unit->slots * unit->ns) : 0;
}

static void keep_counts(struct joining *j, size_t from, size_t to)
{
    static const enum td_metric kept[] = {TD_METRIC_CYCLES, TD_METRIC_INSTRUCTIONS};

    if (j->join->windows)
        return;
    for (size_t k = 0; k < TD_ARRAY_SIZE(kept); k++) {
        if (j->modelled->values[kept[k]])
            add(j->joined, kept[k], to, j->modelled->values[kept[k]][from]);
    }
}

/* Each row gets the difference of two rounded running sums, so that rows add up to the time that
 * was sampled. */
static void add_modelled(struct joining *j)
{
    const struct td_measure *from = j->modelled;
    size_t *order = td_row_order(from);
    long double running = 0;
    uint64_t before = 0;

    for (size_t k = 0; k < from->row_count; k++) {
        const size_t i = order[k];
        const uint32_t index = unit_of(j, from, i);
        const struct td_join_unit *unit = &j->join->units[index];
        const uint64_t modelled_ns = from->values[TD_METRIC_TIME_NS][i];
        const bool joined = is_joined(unit);

        if (unit->borrowed) /* native rows have its slots */
            continue;
        const size_t row = j->joined->row_count++;
        j->joined->rows[row] = from->rows[i];
        j->join->rows[row] =
            (struct td_join_row){.modelled = (uint32_t)i, .unit = joined ? index : TD_NONE};
        keep_counts(j, i, row);
        if (!joined) {
            j->joined->modelled_only_ns += modelled_ns;
            continue;
        }
        running += time_of(j, i, unit);
        const uint64_t now = td_rounded(running);
        add(j->joined, TD_METRIC_TIME_NS, row, now - before);
        before = now;
        add(j->joined, TD_METRIC_MODELLED_NS, row, modelled_ns);
        scale_slots(j, i, row, unit);
    }
    free(order);
}

/* Of a borrowed unit: a native row has as much of its slots as of its time. */
static void add_borrowed(struct joining *j, size_t row, uint32_t index, uint64_t ns)
{
    const struct td_join_unit *unit = &j->join->units[index];
    const double *nodes = &j->join->nodes[(size_t)index * TD_NODE_COUNT];
    const double part = (double)ns / unit->ns;
    struct td_measure *m = j->joined;

    j->join->rows[row].unit = index;
    add(m, TD_METRIC_TIME_NS, row, ns);
    add(m, TD_METRIC_MODELLED_NS, row, td_rounded((long double)(unit->modelled_ns * part)));
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        double own = nodes[n];

        if (!m->values[TD_METRIC_FIRST_NODE + n])
            continue;
        for (int child = 0; child < TD_NODE_COUNT; child++) {
            if ((int)td_tma_info((enum td_tma_node)child)->parent == n)
                own -= nodes[child];
        }
        const uint64_t value = part_of(j, n, (long double)(own * part * unit->keep));
        add(m, TD_METRIC_SLOTS, row, value);
        for (int up = n; up != TD_NODE_NONE; up = td_tma_info((enum td_tma_node)up)->parent)
            add(m, (enum td_metric)(TD_METRIC_FIRST_NODE + up), row, value);
    }
}

static void add_native(struct joining *j)
{
    const struct td_measure *from = j->native;

    for (size_t i = 0; i < from->row_count; i++) {
        const size_t row = j->joined->row_count++;
        const uint32_t index = unit_of(j, from, i);
        const struct td_join_unit *unit = &j->join->units[index];
        const uint64_t ns = from->values[TD_METRIC_TIME_NS][i];

        j->joined->rows[row] = from->rows[i];
        j->join->rows[row] = (struct td_join_row){.modelled = TD_NONE, .unit = TD_NONE};
        add(j->joined, TD_METRIC_SAMPLES, row, from->values[TD_METRIC_SAMPLES][i]);
        add(j->joined, is_joined(unit) ? TD_METRIC_SAMPLED_NS : TD_METRIC_TIME_NS, row, ns);
        if (unit->borrowed)
            add_borrowed(j, row, index, ns);
    }
}

static struct td_measure *new_measure(struct joining *j)
{
    static const enum td_metric own[] = {TD_METRIC_TIME_NS, TD_METRIC_SAMPLES, TD_METRIC_SAMPLED_NS,
                                         TD_METRIC_MODELLED_NS};
    const size_t rows = j->native->row_count + j->modelled->row_count;
    struct td_measure *m = td_xcalloc(1, sizeof(*m));

    m->model = j->model;
    m->attribution = j->modelled->attribution;
    m->event = j->native->event;
    m->event_name = j->native->event_name ? td_xstrdup(j->native->event_name) : NULL;
    m->weighted = true;
    m->join = j->join;
    m->free_join = td_join_free;
    m->rows = td_xcalloc(rows + 1, sizeof(*m->rows));
    j->join->rows = td_xcalloc(rows + 1, sizeof(*j->join->rows));
    for (unsigned k = 0; k < TD_METRIC_COUNT; k++) {
        /* Nobody counted how much the program ran. */
        const bool counted = k == TD_METRIC_CYCLES || k == TD_METRIC_INSTRUCTIONS;

        if (j->modelled->values[k] && !(counted && j->join->windows))
            m->values[k] = td_xcalloc(rows + 1, sizeof(uint64_t));
    }
    for (size_t k = 0; k < TD_ARRAY_SIZE(own); k++) {
        if (!m->values[own[k]])
            m->values[own[k]] = td_xcalloc(rows + 1, sizeof(uint64_t));
    }
    return m;
}

struct td_measure *td_weights_join(const struct td_measure *native,
                                   struct td_measure *take_modelled)
{
    struct joining j = {.native = native,
                        .modelled = take_modelled,
                        .model = native->model,
                        .join = td_xcalloc(1, sizeof(*j.join))};

    j.join->modelled = take_modelled;
    j.join->windows = td_model_source(native->model) == TD_SOURCE_LIVE;
    j.joined = new_measure(&j);
    find_units(&j);
    sum_units(&j);
    if (j.join->windows)
        join_versions(&j);
    weigh(&j);
    add_modelled(&j);
    add_native(&j);
    return j.joined;
}

void td_join_free(struct td_join *join)
{
    if (!join)
        return;
    td_measure_free(join->modelled);
    free(join->units);
    free(join->nodes);
    free(join->unit_of);
    free(join->rows);
    free(join);
}

void td_weights_filter(struct td_measure *m, const bool *keep)
{
    size_t kept = 0;

    memset(m->totals, 0, sizeof(m->totals));
    for (size_t i = 0; i < m->row_count; i++) {
        if (!keep[i])
            continue;
        m->rows[kept] = m->rows[i];
        m->join->rows[kept] = m->join->rows[i];
        for (unsigned k = 0; k < TD_METRIC_COUNT; k++) {
            if (!m->values[k])
                continue;
            m->values[k][kept] = m->values[k][i];
            m->totals[k] += m->values[k][i];
        }
        kept++;
    }
    m->row_count = kept;
}

struct td_weights_check td_weights_check_of(const struct td_measure *measure,
                                            const uint64_t *values)
{
    struct td_weights_check c = {0};

    if (!measure->weighted)
        return c;
    const uint64_t samples = measure->totals[TD_METRIC_SAMPLES];
    c.sampled_share = td_ratio(values[TD_METRIC_SAMPLED_NS], measure->totals[TD_METRIC_SAMPLED_NS]);
    c.modelled_share =
        td_ratio(values[TD_METRIC_MODELLED_NS], measure->totals[TD_METRIC_MODELLED_NS]);
    c.error = td_share_error(c.sampled_share, samples);
    const double high = c.sampled_share > c.modelled_share ? c.sampled_share : c.modelled_share;
    const double low = c.sampled_share + c.modelled_share - high;
    c.disagrees = !measure->join->windows && values[TD_METRIC_MODELLED_NS] > 0 &&
                  high >= CHECK_SHARE && high > CHECK_RATIO * low && high - low > c.error;
    return c;
}

static double unexplained_share(const struct td_measure *measure)
{
    const uint64_t slots = measure->totals[TD_METRIC_SLOTS];
    uint64_t known = 0;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->level == 1)
            known += measure->totals[TD_METRIC_FIRST_NODE + n];
    }
    return td_ratio(slots > known ? slots - known : 0, slots);
}

static uint64_t too_fast_ns(const struct td_measure *measure)
{
    uint64_t ns = 0;

    for (size_t i = 0; i < measure->row_count; i++) {
        const uint32_t unit = measure->join->rows[i].unit;

        if (unit != TD_NONE && measure->join->units[unit].keep < 1 && !measure->join->windows)
            ns += measure->values[TD_METRIC_TIME_NS][i];
    }
    return ns;
}

struct td_weights_coverage td_weights_coverage_of(const struct td_measure *measure)
{
    if (!measure->join)
        return (struct td_weights_coverage){.uncategorized = 0};
    const uint64_t time = measure->totals[TD_METRIC_TIME_NS];
    const uint64_t joined = td_measure_categorized_ns(measure);

    return (struct td_weights_coverage){
        .uncategorized = td_ratio(time > joined ? time - joined : 0, time),
        .modelled_only =
            td_ratio(measure->modelled_only_ns,
                     measure->modelled_only_ns + measure->totals[TD_METRIC_MODELLED_NS]),
        .unexplained = unexplained_share(measure),
        .too_fast = td_ratio(too_fast_ns(measure), time)};
}

bool td_weights_is_borrowed(const struct td_measure *measure, size_t row)
{
    return measure->join && measure->join->rows[row].modelled == TD_NONE &&
           measure->join->rows[row].unit != TD_NONE;
}

static int longest_first(const void *x, const void *y)
{
    const struct td_weights_version *a = x, *b = y;

    if (a->ns != b->ns)
        return a->ns < b->ns ? 1 : -1;
    return (a->function > b->function) - (a->function < b->function);
}

struct td_weights_version *td_weights_versions(const struct td_measure *measure, size_t *count)
{
    const struct td_model *model = measure->model;
    const uint32_t functions = td_model_function_count(model);
    struct td_weights_version *all = td_xcalloc((size_t)functions + 1, sizeof(*all));

    *count = 0;
    for (size_t i = 0; measure->join && i < measure->row_count; i++) {
        const struct td_join_row *row = &measure->join->rows[i];

        if (!td_weights_is_borrowed(measure, i))
            continue;
        const struct td_location *l =
            td_model_location(model, td_model_node(model, measure->rows[i].node)->location);
        const uint32_t function = td_model_line(model, l->line_first + l->line_count - 1)->function;
        all[function].function = function;
        all[function].from = measure->join->units[row->unit].from;
        all[function].ns += measure->values[TD_METRIC_TIME_NS][i];
    }
    for (uint32_t f = 0; f < functions; f++) {
        if (all[f].ns > 0 && all[f].from != f)
            all[(*count)++] = all[f];
    }
    if (*count > 1)
        qsort(all, *count, sizeof(*all), longest_first);
    return all;
}

double td_weights_clock_hz(const struct td_measure *measure)
{
    const struct td_measure *m = measure->join ? measure->join->modelled : NULL;

    return m ? 1e9 * td_ratio(m->totals[TD_METRIC_CYCLES], m->totals[TD_METRIC_TIME_NS]) : 0;
}

uint64_t td_measure_categorized_ns(const struct td_measure *measure)
{
    return measure->totals[measure->weighted ? TD_METRIC_SAMPLED_NS : TD_METRIC_TIME_NS];
}
