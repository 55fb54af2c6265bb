/* SPDX-License-Identifier: MIT */
#include "report/query/weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/query/stats.h"

/* K: so many samples of a function weigh as much as the model's word on its inside. */
#define PRIOR_SAMPLES 10.0
/* Further apart than the longest instruction: other code lies between. */
#define GAP_BYTES 15
/* A place that takes less is not judged. */
#define CHECK_SHARE 0.005
#define CHECK_RATIO 1.5

/* Modelled code at one place, over all threads and call paths. */
struct site {
    uint32_t location;
    uint64_t offset;
    uint32_t owner;
    uint64_t runs, slots;
};

struct block {
    uint64_t first, last; /* offsets of instructions */
    uint64_t slots;
    uint64_t sampled_ns;
    double scale; /* native ns a modelled slot */
};

/* A function that the compiler made; of code without a name, a module. */
struct owner {
    uint32_t first_block, block_count;
    uint64_t slots, sampled_ns, samples;
    bool joined;
};

struct joining {
    const struct td_measure *native, *modelled;
    const struct td_model *model;
    struct td_measure *joined;
    uint32_t *owner_of; /* by location; the last: no location */
    struct owner *owners;
    uint32_t owner_count;
    struct site *sites; /* by owner, module, offset */
    size_t site_count;
    struct block *blocks;
    size_t block_count;
    uint32_t *block_of;                 /* by location; TD_NONE: not modelled */
    long double running[TD_NODE_COUNT]; /* scaled slots so far, */
    uint64_t given[TD_NODE_COUNT];      /* and what of them rows have */
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

/* Functions first, then modules for what has no name, then what has no place. */
static void find_owners(struct joining *j)
{
    const struct td_model *model = j->model;
    const uint32_t locations = td_model_location_count(model);
    const uint32_t functions = td_model_function_count(model);

    j->owner_count = functions + td_model_module_count(model) + 1;
    j->owners = td_xcalloc(j->owner_count, sizeof(*j->owners));
    j->owner_of = td_xcalloc((size_t)locations + 1, sizeof(*j->owner_of));
    j->block_of = td_xcalloc((size_t)locations + 1, sizeof(*j->block_of));
    memset(j->block_of, 0xff, ((size_t)locations + 1) * sizeof(*j->block_of));
    for (uint32_t i = 0; i < locations; i++) {
        const struct td_location *l = td_model_location(model, i);

        j->owner_of[i] = l->line_count
                             ? td_model_line(model, l->line_first + l->line_count - 1)->function
                             : functions + l->module;
    }
    j->owner_of[locations] = j->owner_count - 1;
}

/* The place of a row; the count of locations for none. */
static uint32_t location_of(const struct joining *j, const struct td_measure *measure, size_t row)
{
    const uint32_t location = td_model_node(j->model, measure->rows[row].node)->location;

    return location == TD_NONE ? td_model_location_count(j->model) : location;
}

static int compare_sites(const void *a, const void *b)
{
    const struct site *x = a, *y = b;

    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void find_sites(struct joining *j)
{
    const struct td_measure *m = j->modelled;
    const uint32_t locations = td_model_location_count(j->model);
    struct site *at = td_xcalloc((size_t)locations + 1, sizeof(*at));

    for (size_t i = 0; i < m->row_count; i++) {
        struct site *site = &at[location_of(j, m, i)];

        site->slots += m->values[TD_METRIC_SLOTS][i];
        site->runs += m->values[TD_METRIC_INSTRUCTIONS] ? m->values[TD_METRIC_INSTRUCTIONS][i] : 0;
    }
    for (uint32_t i = 0; i < locations; i++) {
        const struct site site = {.location = i,
                                  .offset = td_model_location(j->model, i)->offset,
                                  .owner = j->owner_of[i],
                                  .runs = at[i].runs,
                                  .slots = at[i].slots};

        if (site.runs > 0 || site.slots > 0)
            at[j->site_count++] = site;
    }
    j->sites = at;
    if (j->site_count > 1)
        qsort(at, j->site_count, sizeof(*at), compare_sites);
}

static bool begins_block(const struct site *sites, size_t i)
{
    return i == 0 || sites[i].owner != sites[i - 1].owner || sites[i].runs != sites[i - 1].runs ||
           sites[i].offset - sites[i - 1].offset > GAP_BYTES;
}

static void find_blocks(struct joining *j)
{
    j->blocks = td_xcalloc(j->site_count + 1, sizeof(*j->blocks));
    for (size_t i = 0; i < j->site_count; i++) {
        const struct site *site = &j->sites[i];
        struct owner *owner = &j->owners[site->owner];

        if (begins_block(j->sites, i)) {
            if (owner->block_count++ == 0)
                owner->first_block = (uint32_t)j->block_count;
            j->blocks[j->block_count++] = (struct block){.first = site->offset};
        }
        struct block *block = &j->blocks[j->block_count - 1];
        block->last = site->offset;
        block->slots += site->slots;
        owner->slots += site->slots;
        j->block_of[site->location] = (uint32_t)j->block_count - 1;
    }
}

/* The block that holds the offset: a sample may stand on an instruction that the model fused with
 * the one before it. NULL in code that did not run in the model. */
static struct block *block_at(struct joining *j, const struct owner *owner, uint64_t offset)
{
    size_t low = owner->first_block, high = low + owner->block_count;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (j->blocks[mid].first <= offset)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == owner->first_block)
        return NULL;
    struct block *block = &j->blocks[low - 1];
    return offset - block->first <= block->last - block->first + GAP_BYTES ? block : NULL;
}

static void place_samples(struct joining *j)
{
    const struct td_measure *n = j->native;

    for (size_t i = 0; i < n->row_count; i++) {
        const uint32_t location = location_of(j, n, i);
        struct owner *owner = &j->owners[j->owner_of[location]];
        const uint64_t ns = n->values[TD_METRIC_TIME_NS][i];

        owner->sampled_ns += ns;
        owner->samples += n->values[TD_METRIC_SAMPLES][i];
        if (owner->slots == 0)
            continue;
        owner->joined = true;
        struct block *block = block_at(j, owner, td_model_location(j->model, location)->offset);
        if (block)
            block->sampled_ns += ns;
    }
}

/* Divides an owner's time among its blocks. A block without slots cannot hold any. */
static void weigh_blocks(struct joining *j, const struct owner *owner)
{
    struct block *blocks = &j->blocks[owner->first_block];
    const double samples = (double)owner->samples;
    double sum = 0;

    for (uint32_t b = 0; b < owner->block_count; b++) {
        const double sampled = samples * td_ratio(blocks[b].sampled_ns, owner->sampled_ns);
        const double part = td_ratio(blocks[b].slots, owner->slots);

        blocks[b].scale = blocks[b].slots ? sampled + PRIOR_SAMPLES * part : 0;
        sum += blocks[b].scale;
    }
    for (uint32_t b = 0; b < owner->block_count && sum > 0; b++) {
        if (blocks[b].slots > 0)
            blocks[b].scale *= (double)owner->sampled_ns / sum / (double)blocks[b].slots;
    }
}

static void weigh(struct joining *j)
{
    for (uint32_t i = 0; i < j->owner_count; i++) {
        if (j->owners[i].joined)
            weigh_blocks(j, &j->owners[i]);
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

/* Rounded where they were charged, and summed up the tree again: rows and tree stay sums of what is
 * in them. Of each node as differences of a rounded running sum: the totals are the same however
 * the places are divided among rows. */
static void scale_slots(struct joining *j, size_t from, size_t to, long double scale)
{
    struct td_measure *m = j->joined;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (!m->values[TD_METRIC_FIRST_NODE + n])
            continue;
        const uint64_t own = own_slots(j->modelled, from, n);

        j->running[n] += (long double)own * scale;
        const uint64_t now = (uint64_t)(j->running[n] + 0.5L), value = now - j->given[n];
        j->given[n] = now;
        if (value == 0)
            continue;
        add(m, TD_METRIC_SLOTS, to, value);
        for (int up = n; up != TD_NODE_NONE; up = td_tma_info((enum td_tma_node)up)->parent)
            add(m, (enum td_metric)(TD_METRIC_FIRST_NODE + up), to, value);
    }
}

/* Slots that a nanosecond of modelled time has: with it, slots stay slots of the core. */
static double slots_per_ns(const struct joining *j)
{
    return td_ratio(j->modelled->totals[TD_METRIC_SLOTS], j->modelled->totals[TD_METRIC_TIME_NS]);
}

/* Each row gets the difference of two rounded running sums, so that rows add up to the time that
 * was sampled. */
static void add_modelled(struct joining *j)
{
    static const enum td_metric kept[] = {TD_METRIC_CYCLES, TD_METRIC_INSTRUCTIONS};
    const struct td_measure *from = j->modelled;
    const double rate = slots_per_ns(j);
    long double running = 0;
    uint64_t before = 0;

    for (size_t i = 0; i < from->row_count; i++) {
        const uint32_t location = location_of(j, from, i);
        const uint32_t index = j->block_of[location];
        const size_t row = j->joined->row_count++;

        j->joined->rows[row] = from->rows[i];
        for (size_t k = 0; k < TD_ARRAY_SIZE(kept); k++) {
            if (from->values[kept[k]])
                add(j->joined, kept[k], row, from->values[kept[k]][i]);
        }
        const uint64_t modelled_ns = from->values[TD_METRIC_TIME_NS][i];
        if (index == TD_NONE || !j->owners[j->owner_of[location]].joined) {
            j->joined->modelled_only_ns += modelled_ns;
            continue;
        }
        const double scale = j->blocks[index].scale;
        running += (long double)from->values[TD_METRIC_SLOTS][i] * (long double)scale;
        const uint64_t now = (uint64_t)(running + 0.5L);
        add(j->joined, TD_METRIC_TIME_NS, row, now - before);
        before = now;
        add(j->joined, TD_METRIC_MODELLED_NS, row, modelled_ns);
        scale_slots(j, i, row, (long double)scale * (long double)rate);
    }
}

static void add_native(struct joining *j)
{
    const struct td_measure *from = j->native;

    for (size_t i = 0; i < from->row_count; i++) {
        const size_t row = j->joined->row_count++;
        const uint64_t ns = from->values[TD_METRIC_TIME_NS][i];
        const bool joined = j->owners[j->owner_of[location_of(j, from, i)]].joined;

        j->joined->rows[row] = from->rows[i];
        add(j->joined, TD_METRIC_SAMPLES, row, from->values[TD_METRIC_SAMPLES][i]);
        add(j->joined, joined ? TD_METRIC_SAMPLED_NS : TD_METRIC_TIME_NS, row, ns);
    }
}

static struct td_measure *new_measure(const struct joining *j)
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
    m->rows = td_xcalloc(rows + 1, sizeof(*m->rows));
    for (unsigned k = 0; k < TD_METRIC_COUNT; k++) {
        if (j->modelled->values[k])
            m->values[k] = td_xcalloc(rows + 1, sizeof(uint64_t));
    }
    for (size_t k = 0; k < TD_ARRAY_SIZE(own); k++) {
        if (!m->values[own[k]])
            m->values[own[k]] = td_xcalloc(rows + 1, sizeof(uint64_t));
    }
    return m;
}

struct td_measure *td_weights_join(const struct td_measure *native,
                                   const struct td_measure *modelled)
{
    struct joining j = {.native = native, .modelled = modelled, .model = native->model};

    j.joined = new_measure(&j);
    find_owners(&j);
    find_sites(&j);
    find_blocks(&j);
    place_samples(&j);
    weigh(&j);
    add_modelled(&j);
    add_native(&j);
    free(j.owner_of);
    free(j.owners);
    free(j.sites);
    free(j.blocks);
    free(j.block_of);
    return j.joined;
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
    c.disagrees = values[TD_METRIC_MODELLED_NS] > 0 && high >= CHECK_SHARE &&
                  high > CHECK_RATIO * low && high - low > c.error;
    return c;
}

struct td_weights_coverage td_weights_coverage_of(const struct td_measure *measure)
{
    const uint64_t time = measure->totals[TD_METRIC_TIME_NS];
    const uint64_t joined = td_measure_categorized_ns(measure);

    return (struct td_weights_coverage){
        .uncategorized = td_ratio(time > joined ? time - joined : 0, time),
        .modelled_only =
            td_ratio(measure->modelled_only_ns,
                     measure->modelled_only_ns + measure->totals[TD_METRIC_MODELLED_NS])};
}

uint64_t td_measure_categorized_ns(const struct td_measure *measure)
{
    return measure->totals[measure->weighted ? TD_METRIC_SAMPLED_NS : TD_METRIC_TIME_NS];
}
