/* SPDX-License-Identifier: MIT */
#include "record/pieces.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/intern.h"
#include "base/mem.h"

/* What was added of an image so far. */
struct td_piece_image {
    struct td_map places; /* (path of frames, thread) to an index of what follows */
    uint64_t *values;     /* samples, then the columns, a place */
    size_t value_cap;
    struct td_map threads; /* (pid, tid) to the profile's thread */
    uint64_t counters[TD_COUNTER_COUNT];
};

/* What a piece's indices are in the whole profile. */
struct translation {
    struct td_piece_image *image;
    uint32_t *modules, *threads;
    uint32_t *nodes;  /* TD_NONE: not known in this epoch */
    uint64_t *hashes; /* of the frames of a node, by content */
    uint32_t epoch;
    uint32_t *chain; /* scratch: nodes from the innermost out */
    size_t chain_cap;
    uint32_t columns;
};

void td_pieces_init(struct td_pieces *pieces, struct td_profile_writer *writer)
{
    *pieces = (struct td_pieces){.writer = writer, .group = TD_NONE, .texts = td_intern_new()};
}

void td_pieces_forget(struct td_pieces *pieces, uint32_t image)
{
    if (image >= pieces->image_count || !pieces->images[image])
        return;
    td_map_release(&pieces->images[image]->places);
    td_map_release(&pieces->images[image]->threads);
    free(pieces->images[image]->values);
    free(pieces->images[image]);
    pieces->images[image] = NULL;
}

void td_pieces_release(struct td_pieces *pieces)
{
    for (size_t i = 0; i < pieces->image_count; i++)
        td_pieces_forget(pieces, (uint32_t)i);
    free(pieces->images);
    td_map_release(&pieces->modules);
    td_map_release(&pieces->warnings);
    if (pieces->texts)
        td_intern_free(pieces->texts);
    *pieces = (struct td_pieces){.writer = NULL};
}

static struct td_piece_image *image_at(struct td_pieces *pieces, uint32_t image)
{
    pieces->images =
        td_grow(pieces->images, &pieces->image_cap, image + 1, sizeof(struct td_piece_image *));
    while (pieces->image_count <= image)
        pieces->images[pieces->image_count++] = NULL;
    if (!pieces->images[image])
        pieces->images[image] = td_xcalloc(1, sizeof(*pieces->images[image]));
    return pieces->images[image];
}

/* All pieces carry the same group: the columns of the model. */
static void describe_group(struct td_pieces *pieces, const struct td_model *model)
{
    if (pieces->group != TD_NONE || td_model_group_count(model) == 0)
        return;
    struct td_group group = *td_model_group(model, 0);
    const char *name = td_model_string(model, group.name);

    for (uint32_t c = 0; c < group.column_count; c++) {
        const struct td_event *e = td_model_event(model, group.columns[c].event);
        const struct td_profile_event event = {
            .name = td_model_string(model, e->name), .unit = e->unit, .flags = e->flags};

        group.columns[c].event = td_profile_event(pieces->writer, &event);
    }
    pieces->group = td_profile_group(pieces->writer, &group, name, "");
}

/* What a module is, as bytes. */
static uint32_t module_text(struct td_pieces *pieces, const struct td_profile_module *m)
{
    struct td_buf text = {0};

    td_buf_uleb(&text, m->kind);
    td_buf_uleb(&text, m->pid);
    td_buf_uleb(&text, m->base);
    td_buf_string(&text, (const char *)m->build_id.bytes, m->build_id.size);
    td_buf_bytes(&text, m->path, strlen(m->path));
    const uint32_t id = td_intern_put(pieces->texts, (const char *)text.data, text.len);
    td_buf_release(&text);
    return id;
}

static void add_modules(struct td_pieces *pieces, const struct td_model *model, uint32_t *modules)
{
    for (uint32_t i = 0; i < td_model_module_count(model); i++) {
        const struct td_module *m = td_model_module(model, i);
        const struct td_profile_module module = {.kind = m->kind,
                                                 .path = td_model_string(model, m->path),
                                                 .pid = m->pid,
                                                 .base = m->base,
                                                 .build_id = m->build_id};
        bool added = false;
        uint32_t *id =
            td_map_put(&pieces->modules, module_text(pieces, &module), 0, TD_NONE, &added);

        if (added)
            *id = td_profile_module(pieces->writer, &module);
        modules[i] = *id;
    }
}

static void add_threads(struct td_pieces *pieces, const struct td_model *model,
                        struct translation *t)
{
    for (uint32_t i = 0; i < td_model_thread_count(model); i++) {
        const struct td_thread *thread = td_model_thread(model, i);
        bool added = false;
        uint32_t *id = td_map_put(&t->image->threads, thread->pid, thread->tid, TD_NONE, &added);

        if (added)
            *id = td_profile_thread(pieces->writer, thread->pid, thread->tid,
                                    td_model_string(model, thread->name),
                                    td_model_string(model, thread->process), thread->start_ns);
        t->threads[i] = *id;
    }
}

/* Mixes as the finalizer of MurmurHash3 does. */
static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 33;
}

/* Of each node, what its frames are; parents come before their children. */
static void hash_nodes(const struct td_model *model, struct translation *t)
{
    for (uint32_t i = 1; i < td_model_node_count(model); i++) {
        const struct td_node *node = td_model_node(model, i);
        const struct td_location *location = td_model_location(model, node->location);

        t->hashes[i] = mix(mix(t->hashes[node->parent] + 1) ^
                           mix(location->offset + ((uint64_t)t->modules[location->module] << 48)));
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

/* What was added so far at a place: samples, then the columns. */
static uint64_t *values_at(const struct translation *t, uint32_t node, uint32_t thread)
{
    struct td_piece_image *image = t->image;
    const uint32_t next = (uint32_t)image->places.len;
    const size_t width = t->columns + 1;
    bool added = false;
    const uint32_t index = *td_map_put(&image->places, t->hashes[node], thread, next, &added);

    if (added) {
        image->values =
            td_grow(image->values, &image->value_cap, (next + 1) * width, sizeof(*image->values));
        memset(image->values + next * width, 0, width * sizeof(*image->values));
    }
    return image->values + index * width;
}

static void add_tallies(struct td_pieces *pieces, const struct td_model *model,
                        struct translation *t)
{
    for (size_t i = 0; i < td_model_tally_count(model); i++) {
        const struct td_tally *tally = td_model_tally(model, i);
        const uint64_t *now = td_model_tally_values(model, tally);
        uint64_t *before = values_at(t, tally->node, t->threads[tally->thread]);
        uint64_t more[TD_COLUMNS_MAX] = {0}, any = tally->samples - before[0];

        for (uint32_t c = 0; c < t->columns; c++) {
            more[c] = now[c] - before[c + 1];
            any |= more[c];
        }
        if (any)
            td_profile_tally(pieces->writer, t->threads[tally->thread],
                             put_node(pieces, model, t, tally->node), pieces->group,
                             tally->samples - before[0], more);
        before[0] = tally->samples;
        memcpy(before + 1, now, t->columns * sizeof(*now));
    }
}

static bool counts_tasks(enum td_counter counter)
{
    return counter == TD_COUNTER_PROCESSES || counter == TD_COUNTER_THREADS;
}

static void add_counters(struct td_pieces *pieces, const struct td_model *model,
                         struct td_piece_image *image)
{
    static const enum td_counter summed[] = {TD_COUNTER_CYCLES, TD_COUNTER_INSTRUCTIONS,
                                             TD_COUNTER_DETAILED, TD_COUNTER_PROCESSES,
                                             TD_COUNTER_THREADS};

    for (size_t i = 0; i < TD_ARRAY_SIZE(summed); i++) {
        const uint64_t now = td_model_counter(model, summed[i]);

        pieces->counters[summed[i]] += now - image->counters[summed[i]];
        image->counters[summed[i]] = now;
        if (!pieces->native || !counts_tasks(summed[i]))
            td_profile_counter(pieces->writer, summed[i], pieces->counters[summed[i]]);
    }
    /* Processes err independently. */
    const double error = (double)td_model_counter(model, TD_COUNTER_CYCLES_ERROR);
    const double before = (double)image->counters[TD_COUNTER_CYCLES_ERROR];
    pieces->squares += error * error - before * before;
    image->counters[TD_COUNTER_CYCLES_ERROR] = (uint64_t)error;
    pieces->counters[TD_COUNTER_CYCLES_ERROR] =
        pieces->squares > 0 ? (uint64_t)sqrt(pieces->squares) : 0;
    td_profile_counter(pieces->writer, TD_COUNTER_CYCLES_ERROR,
                       pieces->counters[TD_COUNTER_CYCLES_ERROR]);
}

/* What a piece warns of, once, however many say so. */
static void add_warnings(struct td_pieces *pieces, const struct td_model *model)
{
    const char *text;

    for (size_t i = 0; (text = td_model_env_at(model, TD_ENV_WARNING, i)); i++) {
        const uint32_t id = td_intern_put(pieces->texts, text, strlen(text));
        bool added = false;

        td_map_put(&pieces->warnings, id, 0, 0, &added);
        if (added)
            td_profile_env(pieces->writer, td_env_key_name(TD_ENV_WARNING), text);
    }
}

static void translation_init(struct translation *t, const struct td_model *model,
                             struct td_piece_image *image)
{
    *t = (struct translation){
        .image = image,
        .modules = td_xcalloc(td_model_module_count(model) + 1, sizeof(uint32_t)),
        .threads = td_xcalloc(td_model_thread_count(model) + 1, sizeof(uint32_t)),
        .nodes = td_xcalloc(td_model_node_count(model), sizeof(uint32_t)),
        .hashes = td_xcalloc(td_model_node_count(model), sizeof(uint64_t)),
        .epoch = TD_NONE,
    };
}

static void translation_release(struct translation *t)
{
    free(t->modules);
    free(t->threads);
    free(t->nodes);
    free(t->hashes);
    free(t->chain);
}

void td_pieces_add(struct td_pieces *pieces, uint32_t image, const struct td_model *model)
{
    struct translation t;

    translation_init(&t, model, image_at(pieces, image));
    describe_group(pieces, model);
    if (td_model_group_count(model) > 0)
        t.columns = td_model_group(model, 0)->column_count;
    add_modules(pieces, model, t.modules);
    add_threads(pieces, model, &t);
    hash_nodes(model, &t);
    add_tallies(pieces, model, &t);
    add_counters(pieces, model, t.image);
    add_warnings(pieces, model);
    translation_release(&t);
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
    const char *end = td_model_env(model, TD_ENV_EXIT);
    struct translation t;

    translation_init(&t, model, NULL);
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
    add_warnings(pieces, model);
    if (end)
        td_profile_env(pieces->writer, td_env_key_name(TD_ENV_EXIT), end);
    pieces->native = true;
    free(groups);
    translation_release(&t);
}
