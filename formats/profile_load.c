/* SPDX-License-Identifier: MIT */
#include "formats/profile_load.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "formats/profile_read.h"

/* The model's ids by the file's; TD_NONE for what was lost. */
struct id_map {
    uint32_t *ids;
    size_t len, cap;
};

/* Where a stack ends. */
struct leaf {
    uint32_t module; /* TD_NONE: lost */
    uint64_t offset;
};

struct loader {
    struct td_model *model;
    const struct td_load_opts *opts;
    struct td_load_status *status;
    struct id_map tables[TD_TABLE_COUNT];
    struct id_map nodes; /* leaves_only: of those that values stood on, once they did */
    struct leaf *leaves; /* leaves_only: by the file's node */
    size_t leaf_cap;
    struct td_map leaf_ids; /* leaves_only: module and offset to node */
    struct td_map programs; /* by_program: name of a process to the thread that holds its tallies */
    uint32_t epoch;
    uint64_t started_ns;
    uint64_t chunks; /* to tell an empty profile from one of which nothing could be read */
};

static void id_map_set(struct id_map *map, uint32_t id, uint32_t value)
{
    map->ids = td_grow(map->ids, &map->cap, (size_t)id + 1, sizeof(*map->ids));
    while (map->len <= id)
        map->ids[map->len++] = TD_NONE;
    map->ids[id] = value;
}

static uint32_t id_map_get(const struct id_map *map, uint32_t id)
{
    return id < map->len ? map->ids[id] : TD_NONE;
}

/* A lost string reads as "". */
static uint32_t string_of(const struct loader *loader, uint32_t id)
{
    const uint32_t string = id_map_get(&loader->tables[TD_TABLE_STRINGS], id);

    return string == TD_NONE ? 0 : string;
}

static void on_env(void *ctx, const char *const text[2], const size_t len[2])
{
    struct loader *loader = ctx;

    td_model_add_env_len(loader->model, text[0], len[0], text[1], len[1]);
}

static void on_header(void *ctx, const struct td_profile_header *header)
{
    struct loader *loader = ctx;

    td_model_set_profile_id(loader->model, header->id);
}

static void on_string(void *ctx, uint32_t id, const char *s, size_t len)
{
    struct loader *loader = ctx;

    id_map_set(&loader->tables[TD_TABLE_STRINGS], id, td_model_intern(loader->model, s, len));
}

static void on_module(void *ctx, uint32_t id, const struct td_module *module)
{
    struct loader *loader = ctx;
    struct td_module ours = *module;

    ours.path = string_of(loader, module->path);
    id_map_set(&loader->tables[TD_TABLE_MODULES], id, td_model_put_module(loader->model, &ours));
}

static void on_thread(void *ctx, uint32_t id, const struct td_thread *thread)
{
    struct loader *loader = ctx;
    struct td_thread ours = *thread;

    ours.name = string_of(loader, thread->name);
    ours.process = string_of(loader, thread->process);
    id_map_set(&loader->tables[TD_TABLE_THREADS], id, td_model_add_thread(loader->model, &ours));
}

static void on_origin(void *ctx, uint32_t thread, uint32_t string)
{
    struct loader *loader = ctx;

    thread = id_map_get(&loader->tables[TD_TABLE_THREADS], thread);
    if (thread != TD_NONE)
        td_model_set_origin(loader->model, thread, string_of(loader, string));
}

static void on_event(void *ctx, uint32_t id, const struct td_event *event)
{
    struct loader *loader = ctx;
    struct td_event ours = *event;

    ours.name = string_of(loader, event->name);
    id_map_set(&loader->tables[TD_TABLE_EVENTS], id, td_model_add_event(loader->model, &ours));
}

static void on_counts(void *ctx, uint32_t event, const struct td_event_counts *counts)
{
    struct loader *loader = ctx;

    event = id_map_get(&loader->tables[TD_TABLE_EVENTS], event);
    if (event != TD_NONE)
        td_model_add_counts(loader->model, event, counts);
}

static void on_group(void *ctx, uint32_t id, const struct td_group *group)
{
    struct loader *loader = ctx;
    struct td_group ours = *group;

    ours.name = string_of(loader, group->name);
    ours.cpu_type = string_of(loader, group->cpu_type);
    ours.sampler = id_map_get(&loader->tables[TD_TABLE_EVENTS], group->sampler);
    for (uint32_t c = 0; c < ours.column_count; c++)
        ours.columns[c].event =
            id_map_get(&loader->tables[TD_TABLE_EVENTS], group->columns[c].event);
    id_map_set(&loader->tables[TD_TABLE_GROUPS], id, td_model_add_group(loader->model, &ours));
}

static void on_symbol(void *ctx, uint32_t module, const struct td_symbol *symbol)
{
    struct loader *loader = ctx;
    struct td_symbol ours = *symbol;

    ours.name = string_of(loader, symbol->name);
    ours.file = string_of(loader, symbol->file);
    module = id_map_get(&loader->tables[TD_TABLE_MODULES], module);
    if (module != TD_NONE)
        td_model_add_symbol(loader->model, module, &ours);
}

/* Callers are not even looked at: most of a profile's nodes are on the way to a place, not one. */
static void keep_leaves(struct loader *loader, const struct td_profile_nodes *nodes)
{
    const size_t end = (size_t)nodes->first + nodes->count;

    loader->leaves = td_grow(loader->leaves, &loader->leaf_cap, end, sizeof(*loader->leaves));
    while (loader->nodes.len < end)
        id_map_set(&loader->nodes, (uint32_t)loader->nodes.len, TD_NONE);
    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct td_node_row *row = &nodes->rows[i];

        loader->leaves[nodes->first + i] =
            (struct leaf){.module = id_map_get(&loader->tables[TD_TABLE_MODULES], row->module),
                          .offset = row->offset};
    }
}

static void on_nodes(void *ctx, const struct td_profile_nodes *nodes)
{
    struct loader *loader = ctx;

    if (nodes->epoch != loader->epoch || loader->nodes.len == 0) {
        loader->nodes.len = 0;
        loader->epoch = nodes->epoch;
        id_map_set(&loader->nodes, 0, 0);
    }
    if (loader->opts->leaves_only) {
        keep_leaves(loader, nodes);
        return;
    }
    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct td_node_row *row = &nodes->rows[i];
        const uint32_t parent = id_map_get(&loader->nodes, row->parent);
        const uint32_t module = id_map_get(&loader->tables[TD_TABLE_MODULES], row->module);
        uint32_t node = TD_NONE;

        if (parent != TD_NONE && module != TD_NONE)
            node = td_model_put_node(loader->model, parent,
                                     td_model_put_location(loader->model, module, row->offset));
        id_map_set(&loader->nodes, nodes->first + i, node);
    }
}

static uint32_t leaf_of(struct loader *loader, uint32_t id)
{
    uint32_t node = id_map_get(&loader->nodes, id);

    if (node != TD_NONE || id >= loader->nodes.len || loader->leaves[id].module == TD_NONE)
        return node;
    const struct leaf *leaf = &loader->leaves[id];
    bool added = false;
    uint32_t *known = td_map_put(&loader->leaf_ids, leaf->module, leaf->offset, 0, &added);
    if (added)
        *known = td_model_put_node(
            loader->model, 0, td_model_put_location(loader->model, leaf->module, leaf->offset));
    loader->nodes.ids[id] = *known;
    return *known;
}

static uint32_t node_of(struct loader *loader, uint32_t epoch, uint32_t node)
{
    if (node == 0)
        return 0;
    if (epoch != loader->epoch)
        return TD_NONE;
    return loader->opts->leaves_only ? leaf_of(loader, node) : id_map_get(&loader->nodes, node);
}

static bool in_time_range(const struct loader *loader, uint64_t time_ns)
{
    const struct td_load_opts *opts = loader->opts;
    const uint64_t since = time_ns > loader->started_ns ? time_ns - loader->started_ns : 0;

    return since >= opts->from_ns && (opts->to_ns == 0 || since < opts->to_ns);
}

/* One row with the file's ids becomes one with the model's; false when what it names was lost. */
static bool place_of(struct loader *loader, const struct td_value_row *row, uint32_t epoch,
                     struct td_sample *ret)
{
    ret->time_ns = row->amount;
    ret->thread = id_map_get(&loader->tables[TD_TABLE_THREADS], row->thread);
    ret->node = node_of(loader, epoch, row->node);
    if (ret->group != TD_NONE && ret->thread != TD_NONE && ret->node != TD_NONE)
        return true;
    loader->status->dropped++;
    return false;
}

static void on_samples(void *ctx, const struct td_profile_values *values)
{
    struct loader *loader = ctx;
    const struct td_value_row *row = values->runs->rows;
    const uint64_t *value = values->runs->values;

    for (uint32_t r = 0; r < values->runs->run_count; r++) {
        const struct td_value_run *run = &values->runs->runs[r];
        struct td_sample sample = {
            .group = id_map_get(&loader->tables[TD_TABLE_GROUPS], run->group),
            .cpu = run->cpu,
        };

        for (uint32_t i = 0; i < run->count; i++, row++, value += run->columns) {
            if (!place_of(loader, row, values->epoch, &sample) ||
                !in_time_range(loader, sample.time_ns))
                continue;
            td_model_add_values(loader->model, sample.thread, sample.node, sample.group, 1, value);
            if (loader->opts->keep_samples ||
                (loader->opts->keep_slots &&
                 td_model_group(loader->model, sample.group)->role == TD_ROLE_SLOTS))
                td_model_add_sample(loader->model, &sample, value);
        }
    }
}

/* The thread on which the tallies of `thread` stand. */
static uint32_t holder_of(struct loader *loader, uint32_t thread)
{
    const uint32_t process = td_model_thread(loader->model, thread)->process;

    if (process == 0)
        return thread;
    const uint32_t holder = *td_map_put(&loader->programs, process, 0, thread, NULL);
    td_model_set_holder(loader->model, thread, holder);
    return holder;
}

static void on_tallies(void *ctx, const struct td_profile_values *values)
{
    struct loader *loader = ctx;
    const struct td_value_row *row = values->runs->rows;
    const uint64_t *value = values->runs->values;

    for (uint32_t r = 0; r < values->runs->run_count; r++) {
        const struct td_value_run *run = &values->runs->runs[r];
        struct td_sample place = {
            .group = id_map_get(&loader->tables[TD_TABLE_GROUPS], run->group),
        };
        const bool merges = loader->opts->by_program && place.group != TD_NONE &&
                            td_model_group(loader->model, place.group)->role == TD_ROLE_MODEL;

        for (uint32_t i = 0; i < run->count; i++, row++, value += run->columns) {
            if (!place_of(loader, row, values->epoch, &place))
                continue;
            if (merges)
                place.thread = holder_of(loader, place.thread);
            if (loader->opts->from_ns > 0 || loader->opts->to_ns > 0)
                loader->status->timeless |= UINT32_C(1)
                                            << td_model_group(loader->model, place.group)->role;
            td_model_add_values(loader->model, place.thread, place.node, place.group, row->amount,
                                value);
        }
    }
}

static void on_counter(void *ctx, uint64_t counter, uint64_t value)
{
    struct loader *loader = ctx;

    if (counter < TD_COUNTER_COUNT)
        td_model_set_counter(loader->model, (enum td_counter)counter, value);
}

static void on_started(void *ctx, uint64_t counter, uint64_t value)
{
    struct loader *loader = ctx;

    if (counter == TD_COUNTER_STARTED_NS)
        loader->started_ns = value;
}

static void on_damage(void *ctx, const struct td_err *err)
{
    struct loader *loader = ctx;

    if (!loader->status->damaged)
        loader->status->damage = *err;
    loader->status->damaged = true;
}

static void on_chunk(void *ctx, uint64_t offset, const struct td_chunk_head *head)
{
    struct loader *loader = ctx;

    (void)offset;
    (void)head;
    loader->chunks++;
}

/* A time range is relative to the recording's begin, which stands in a chunk of its own. */
static void find_start(struct loader *loader, const void *data, size_t size)
{
    const struct td_profile_visitor visitor = {
        .ctx = loader,
        .kinds = 1u << TD_CHUNK_COUNTERS,
        .counter = on_started,
    };
    struct td_profile_ending ending;
    struct td_err err = TD_ERR_INIT;

    td_profile_read(data, size, &visitor, &ending, &err);
}

static void say_cut(struct loader *loader, const struct td_profile_ending *ending, size_t size)
{
    struct td_load_status *status = loader->status;

    status->cut = ending->cut;
    if (!ending->cut || status->damaged)
        return;
    if (ending->end_offset < size)
        td_fail_at(&status->damage, TD_EFORMAT, ending->end_offset,
                   "the recording was cut off: its last %llu bytes are an unfinished chunk",
                   (unsigned long long)(size - ending->end_offset));
    else
        td_fail_at(&status->damage, TD_EFORMAT, size,
                   "the recording was cut off: it has no end mark");
}

bool td_profile_detect(const void *data, size_t size)
{
    const size_t common = size < TD_PROFILE_MAGIC_SIZE ? size : TD_PROFILE_MAGIC_SIZE;

    return size > 0 && memcmp(data, td_profile_magic, common) == 0;
}

int td_profile_load(struct td_model *model, const void *data, size_t size,
                    const struct td_load_opts *opts, struct td_load_status *status,
                    struct td_err *err)
{
    struct loader loader = {.model = model, .opts = opts, .status = status};
    const struct td_profile_visitor visitor = {
        .ctx = &loader,
        .header = on_header,
        .chunk = on_chunk,
        .env = on_env,
        .string = on_string,
        .module = on_module,
        .thread = on_thread,
        .origin = on_origin,
        .counts = on_counts,
        .event = on_event,
        .group = on_group,
        .symbol = on_symbol,
        .nodes = on_nodes,
        .samples = on_samples,
        .tallies = on_tallies,
        .counter = on_counter,
        .damage = on_damage,
    };
    struct td_profile_ending ending = {0};

    id_map_set(&loader.tables[TD_TABLE_STRINGS], 0, 0);
    if (opts->from_ns > 0 || opts->to_ns > 0)
        find_start(&loader, data, size);
    int rc = td_profile_read(data, size, &visitor, &ending, err);
    if (rc == TD_OK) {
        say_cut(&loader, &ending, size);
        td_model_sort_samples(model);
        td_model_set_complete(model, ending.complete && !status->damaged);
        if (loader.chunks == 0 && status->damaged) {
            rc = TD_EFORMAT;
            if (err)
                *err = status->damage;
        }
    }
    for (int t = 0; t < TD_TABLE_COUNT; t++)
        free(loader.tables[t].ids);
    free(loader.nodes.ids);
    free(loader.leaves);
    td_map_release(&loader.leaf_ids);
    td_map_release(&loader.programs);
    return rc;
}
