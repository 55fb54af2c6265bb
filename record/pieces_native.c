/* SPDX-License-Identifier: MIT */
/* What a native run recorded, put before the pieces of the modelled one. */
#include "record/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* What the native profile's indices are in the whole one. */
struct translation {
    uint32_t *modules, *threads;
    uint32_t *nodes; /* TD_NONE: not known in this epoch */
    uint32_t epoch;
    uint32_t *chain; /* scratch: nodes from the innermost out */
    size_t chain_cap;
};

static void add_modules(struct td_pieces *pieces, const struct td_model *model, uint32_t *modules)
{
    for (uint32_t i = 0; i < td_model_module_count(model); i++) {
        const struct td_module *m = td_model_module(model, i);
        const struct td_profile_module module = {.kind = m->kind,
                                                 .path = td_model_string(model, m->path),
                                                 .pid = m->pid,
                                                 .base = m->base,
                                                 .build_id = m->build_id};

        modules[i] = td_pieces_put_module(pieces, &module);
    }
}

/* The profile's node of a model's node. Ids are good for one epoch of the writer's table: what is
 * remembered is forgotten with it. */
static uint32_t put_node(struct td_pieces *pieces, const struct td_model *model,
                         struct translation *t, uint32_t node)
{
    uint32_t id = 0;
    size_t depth = 0;

    if (t->epoch != td_profile_node_epoch(pieces->writer)) {
        memset(t->nodes, 0xff, td_model_node_count(model) * sizeof(*t->nodes));
        t->epoch = td_profile_node_epoch(pieces->writer);
    }
    for (; node != 0 && t->nodes[node] == TD_NONE; node = td_model_node(model, node)->parent) {
        t->chain = td_grow(t->chain, &t->chain_cap, depth + 1, sizeof(*t->chain));
        t->chain[depth++] = node;
    }
    id = node ? t->nodes[node] : 0;
    while (depth > 0) {
        const uint32_t next = t->chain[--depth];
        const struct td_location *location =
            td_model_location(model, td_model_node(model, next)->location);

        id = td_profile_node(pieces->writer, id, t->modules[location->module], location->offset);
        t->nodes[next] = id;
    }
    return id;
}

/* The groups of a native run, as they are; newly allocated: the profile's group of each. */
static uint32_t *add_groups(struct td_pieces *pieces, const struct td_model *model)
{
    uint32_t *events = td_xcalloc(td_model_event_count(model) + 1, sizeof(*events));
    uint32_t *groups = td_xcalloc(td_model_group_count(model) + 1, sizeof(*groups));

    for (uint32_t i = 0; i < td_model_event_count(model); i++) {
        const struct td_event *e = td_model_event(model, i);
        const struct td_profile_event event = {.name = td_model_string(model, e->name),
                                               .unit = e->unit,
                                               .pmu_type = e->pmu_type,
                                               .config = {e->config[0], e->config[1], e->config[2]},
                                               .period = e->period,
                                               .frequency_hz = e->frequency_hz,
                                               .flags = e->flags};

        events[i] = td_profile_event(pieces->writer, &event);
    }
    for (uint32_t i = 0; i < td_model_group_count(model); i++) {
        struct td_group group = *td_model_group(model, i);

        for (uint32_t c = 0; c < group.column_count; c++) {
            if (group.columns[c].event != TD_NONE)
                group.columns[c].event = events[group.columns[c].event];
        }
        if (group.sampler != TD_NONE)
            group.sampler = events[group.sampler];
        groups[i] = td_profile_group(pieces->writer, &group, td_model_string(model, group.name),
                                     td_model_string(model, group.cpu_type));
    }
    free(events);
    return groups;
}

/* Every thread of it, under each of its names. */
static void add_native_threads(struct td_pieces *pieces, const struct td_model *model,
                               uint32_t *threads)
{
    for (uint32_t i = 0; i < td_model_thread_count(model); i++) {
        const struct td_thread *t = td_model_thread(model, i);

        threads[i] =
            td_profile_thread(pieces->writer, t->pid, t->tid, td_model_string(model, t->name),
                              td_model_string(model, t->process), t->start_ns);
    }
}

static void add_symbols(struct td_pieces *pieces, const struct td_model *model,
                        const uint32_t *modules)
{
    for (uint32_t i = 0; i < td_model_module_count(model); i++) {
        size_t count = 0;
        const struct td_symbol *symbols = td_model_symbols(model, i, &count);

        for (size_t k = 0; k < count; k++)
            td_profile_symbol(pieces->writer, modules[i], symbols[k].offset, symbols[k].size,
                              td_model_string(model, symbols[k].name),
                              symbols[k].file ? td_model_string(model, symbols[k].file) : NULL,
                              symbols[k].line);
    }
}

static void add_samples(struct td_pieces *pieces, const struct td_model *model,
                        struct translation *t, const uint32_t *groups)
{
    for (size_t i = 0; i < td_model_sample_count(model); i++) {
        struct td_sample sample = *td_model_sample(model, i);
        const uint64_t *values = td_model_sample_values(model, &sample);

        sample.node = put_node(pieces, model, t, sample.node);
        sample.thread = t->threads[sample.thread];
        sample.group = groups[sample.group];
        td_profile_sample(pieces->writer, &sample, values);
    }
}

void td_pieces_add_native(struct td_pieces *pieces, const struct td_model *model)
{
    const char *end = td_model_env(model, TD_ENV_EXIT), *warning;
    struct translation t = {
        .modules = td_xcalloc((size_t)td_model_module_count(model) + 1, sizeof(uint32_t)),
        .threads = td_xcalloc((size_t)td_model_thread_count(model) + 1, sizeof(uint32_t)),
        .nodes = td_xcalloc(td_model_node_count(model), sizeof(uint32_t)),
        .epoch = TD_NONE,
    };

    uint32_t *groups = add_groups(pieces, model);
    add_modules(pieces, model, t.modules);
    add_native_threads(pieces, model, t.threads);
    add_symbols(pieces, model, t.modules);
    add_samples(pieces, model, &t, groups);
    for (unsigned c = 0; c < TD_COUNTER_COUNT; c++) {
        const uint64_t value = td_model_counter(model, (enum td_counter)c);

        if (value)
            td_profile_counter(pieces->writer, (enum td_counter)c, value);
    }
    for (size_t i = 0; (warning = td_model_env_at(model, TD_ENV_WARNING, i)); i++)
        td_pieces_warn(pieces, warning);
    if (end)
        td_profile_env(pieces->writer, td_env_key_name(TD_ENV_EXIT), end);
    pieces->native = true;
    free(groups);
    free(t.modules);
    free(t.threads);
    free(t.nodes);
    free(t.chain);
}
