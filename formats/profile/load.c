/* SPDX-License-Identifier: MIT */
#include "formats/profile/load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/profile/read.h"
#include "formats/sums.h"

/* What a model may take in memory, and the rows that may be read for it: so much, and so much for
 * each byte of the file. Modelled profiles, the densest that are recorded, take some 350 bytes for
 * each tally. Those of straight code, nearly all the same, are packed to less than a byte. */
#define MEMORY_BASE   (UINT64_C(128) << 20)
#define MEMORY_FACTOR 1024
#define ROWS_BASE     (UINT64_C(1) << 22)
#define ROWS_FACTOR   256

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

/* Rows of samples and tallies, and what they stand for. */
struct counts {
    uint64_t sample_rows, tally_rows;
    uint64_t samples;           /* with those that tallies sum up */
    uint64_t modelled;          /* tallies of a model */
    uint64_t ns, cycles, slots; /* cycles of a model follow from slots, or are said */
};

struct loader {
    struct td_model *model;
    const struct td_load_opts *opts;
    struct td_load_status *status;
    struct id_map tables[TD_TABLE_COUNT];
    bool leaves_only;    /* as in opts, but for profiles with waits */
    struct id_map nodes; /* leaves_only: of those that values stood on, once they did */
    struct leaf *leaves; /* leaves_only: by the file's node */
    size_t leaf_cap;
    struct td_map leaf_ids; /* leaves_only: module and offset to node */
    struct td_map programs; /* by_program: name of a process to the thread that holds its tallies */
    struct td_map lost_events; /* the file's id to the event that stands for it */
    struct td_map passes;      /* of a profile of version 1.0: GROUP@CPU_TYPE to its run */
    uint32_t epoch;
    uint64_t started_ns;
    bool started;    /* which a counter said */
    uint64_t chunks; /* to tell an empty profile from one of which nothing could be read */
    uint64_t chunk;  /* where the present one begins */
    size_t size;     /* of the file */
    uint64_t width;  /* of the modelled core, in slots; 0: not known */
    struct counts read, dropped;
    struct td_sums sums;
    struct counts ended; /* what END says */
    bool summed;         /* tallies of samples stand in the file */
    bool has_end;
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

/* A lost string says so. Its number keeps what has different names apart. */
static uint32_t string_of(const struct loader *loader, uint32_t id)
{
    const uint32_t string = id_map_get(&loader->tables[TD_TABLE_STRINGS], id);
    char text[64];

    if (string != TD_NONE)
        return string;
    snprintf(text, sizeof(text), "[name %u lost: damaged profile]", id);
    return td_model_intern_z(loader->model, text);
}

/* The event of a group. One that was lost stays an event, of no name and unit: groups that count
 * different things must not be added up. */
static uint32_t event_of(struct loader *loader, uint32_t id)
{
    const uint32_t known = id_map_get(&loader->tables[TD_TABLE_EVENTS], id);
    char text[64];
    bool added = false;

    if (id == TD_NONE || known != TD_NONE)
        return known;
    uint32_t *event = td_map_put(&loader->lost_events, id, 0, 0, &added);
    if (added) {
        snprintf(text, sizeof(text), "[event %u lost: damaged profile]", id);
        const struct td_event lost = {.name = td_model_intern_z(loader->model, text)};
        *event = td_model_add_event(loader->model, &lost);
    }
    return *event;
}

/* The widest, of several cores. */
static void note_width(struct loader *loader, const char *text, size_t len)
{
    static const char name[] = "width=";
    const size_t name_len = sizeof(name) - 1;
    char number[24] = "";
    uint64_t width = 0;

    if (len <= name_len || len - name_len >= sizeof(number) || memcmp(text, name, name_len) != 0)
        return;
    memcpy(number, text + name_len, len - name_len);
    if (td_parse_u64(number, &width) && width > loader->width)
        loader->width = width;
}

/* Version 1.0 said in the environment which group a later run sampled: run=N:GROUP@CPU_TYPE. */
static void note_pass(struct loader *loader, const char *text, size_t len)
{
    const char *colon = len > 4 && memcmp(text, "run=", 4) == 0 ? memchr(text, ':', len) : NULL;
    char number[12] = "";
    uint64_t pass = 0;

    if (!colon || (size_t)(colon - text) - 4 >= sizeof(number))
        return;
    memcpy(number, text + 4, (size_t)(colon - text) - 4);
    const uint32_t name =
        td_model_intern(loader->model, colon + 1, len - (size_t)(colon - text) - 1);
    if (td_parse_u64(number, &pass) && pass <= UINT32_MAX)
        td_map_put(&loader->passes, name, 0, (uint32_t)pass, NULL);
}

static void on_env(void *ctx, const char *const text[2], const size_t len[2])
{
    struct loader *loader = ctx;

    td_model_add_env_len(loader->model, text[0], len[0], text[1], len[1]);
    note_width(loader, text[1], len[1]);
    note_pass(loader, text[1], len[1]);
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
    /* A wait is where its callers are: its innermost frame is the kernel's scheduler. */
    if (loader->nodes.len == 0 &&
        strcmp(td_model_string(loader->model, ours.name), TD_OFF_CPU_EVENT) == 0)
        loader->leaves_only = false;
    id_map_set(&loader->tables[TD_TABLE_EVENTS], id, td_model_add_event(loader->model, &ours));
}

static void on_counts(void *ctx, uint32_t event, const struct td_event_counts *counts)
{
    struct loader *loader = ctx;

    event = id_map_get(&loader->tables[TD_TABLE_EVENTS], event);
    if (event != TD_NONE)
        td_model_add_counts(loader->model, event, counts);
}

static void say_wrong(struct loader *loader, const char *what)
{
    if (loader->status->damaged)
        return;
    loader->status->damaged = true;
    td_fail_at(&loader->status->damage, TD_EFORMAT, loader->chunk, "%s", what);
}

static uint32_t pass_of(struct loader *loader, const struct td_group *group)
{
    if (loader->passes.len == 0)
        return 0;
    char *name = td_xasprintf("%s@%s", td_model_string(loader->model, group->name),
                              td_model_string(loader->model, group->cpu_type));
    const uint32_t id = td_model_intern_z(loader->model, name);
    const uint32_t *pass = td_map_find(&loader->passes, id, 0);

    free(name);
    return pass ? *pass : 0;
}

static void on_group(void *ctx, uint32_t id, const struct td_group *group)
{
    struct loader *loader = ctx;
    struct td_group ours = *group;

    ours.name = string_of(loader, group->name);
    ours.cpu_type = string_of(loader, group->cpu_type);
    ours.sampler = event_of(loader, group->sampler);
    for (uint32_t c = 0; c < ours.column_count; c++)
        ours.columns[c].event = event_of(loader, group->columns[c].event);
    ours.pass = pass_of(loader, &ours);
    id_map_set(&loader->tables[TD_TABLE_GROUPS], id, td_model_add_group(loader->model, &ours));
}

static void on_pass(void *ctx, uint32_t group, uint32_t pass)
{
    struct loader *loader = ctx;

    group = id_map_get(&loader->tables[TD_TABLE_GROUPS], group);
    if (group != TD_NONE)
        td_model_set_pass(loader->model, group, pass);
}

static void on_group_region(void *ctx, uint32_t group, uint32_t region)
{
    struct loader *loader = ctx;

    group = id_map_get(&loader->tables[TD_TABLE_GROUPS], group);
    region = id_map_get(&loader->tables[TD_TABLE_REGIONS], region);
    if (group != TD_NONE && region != TD_NONE)
        td_model_set_group_region(loader->model, group, region);
}

static void on_region(void *ctx, uint32_t id, uint32_t parent, uint32_t name)
{
    struct loader *loader = ctx;
    const uint32_t ours = id_map_get(&loader->tables[TD_TABLE_REGIONS], parent);
    uint32_t region = TD_NONE;

    if (parent == TD_NONE || ours != TD_NONE)
        region = td_model_put_region(loader->model, ours, string_of(loader, name));
    if (region == TD_NONE)
        say_wrong(loader, "regions are nested deeper than they can be, or in one that was lost");
    id_map_set(&loader->tables[TD_TABLE_REGIONS], id, region);
}

static void on_region_row(void *ctx, const struct td_region_row *row, const uint64_t *values,
                          uint32_t value_count)
{
    struct loader *loader = ctx;
    struct td_region_row ours = *row;

    (void)value_count; /* the group has as many columns */
    ours.thread = id_map_get(&loader->tables[TD_TABLE_THREADS], row->thread);
    ours.region = id_map_get(&loader->tables[TD_TABLE_REGIONS], row->region);
    ours.group = id_map_get(&loader->tables[TD_TABLE_GROUPS], row->group);
    if (ours.thread == TD_NONE || ours.region == TD_NONE ||
        (ours.group == TD_NONE && row->group != TD_NONE))
        return;
    if (!td_model_set_region_row(loader->model, &ours, values))
        say_wrong(loader, "regions hold counts that cannot be");
}

/* What was lost of a side is not known of it. */
static void translate_side(struct loader *loader, struct td_shared_side *side)
{
    side->thread = id_map_get(&loader->tables[TD_TABLE_THREADS], side->thread);
    side->module = id_map_get(&loader->tables[TD_TABLE_MODULES], side->module);
}

static void on_shared(void *ctx, const struct td_shared_row *row)
{
    struct loader *loader = ctx;
    struct td_shared_row ours = *row;

    ours.process = id_map_get(&loader->tables[TD_TABLE_THREADS], row->process);
    ours.module = id_map_get(&loader->tables[TD_TABLE_MODULES], row->module);
    if (ours.process == TD_NONE || (ours.module == TD_NONE && row->module != TD_NONE))
        return;
    translate_side(loader, &ours.mine);
    translate_side(loader, &ours.theirs);
    if (!td_model_add_shared(loader->model, &ours))
        say_wrong(loader, "threads waited longer for shared lines than can be");
}

static void on_code(void *ctx, const struct td_ran_block *block)
{
    struct loader *loader = ctx;
    struct td_ran_block ours = *block;

    ours.module = id_map_get(&loader->tables[TD_TABLE_MODULES], block->module);
    if (ours.module != TD_NONE && !td_ran_add(td_model_ran(loader->model), &ours))
        say_wrong(loader, "blocks of code are too many, or have an end or counts that cannot be");
}

static void on_habit(void *ctx, const struct td_habit *habit)
{
    struct loader *loader = ctx;
    struct td_habit ours = *habit;

    ours.module = id_map_get(&loader->tables[TD_TABLE_MODULES], habit->module);
    for (uint32_t i = 0; i < ours.mark_count; i++)
        ours.marks[i].module =
            id_map_get(&loader->tables[TD_TABLE_MODULES], habit->marks[i].module);
    if (ours.module != TD_NONE && !td_model_put_habit(loader->model, &ours))
        say_wrong(loader, "habits are of more instructions than can be");
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

/* Callers are not even looked at: most of a profile's nodes are on the way to a place, not one.
 * What stands before `first` and was not described in this epoch is lost. */
static void keep_leaves(struct loader *loader, const struct td_profile_nodes *nodes)
{
    const size_t end = (size_t)nodes->first + nodes->count;

    loader->leaves = td_grow(loader->leaves, &loader->leaf_cap, end, sizeof(*loader->leaves));
    while (loader->nodes.len < end) {
        loader->leaves[loader->nodes.len] = (struct leaf){.module = TD_NONE};
        id_map_set(&loader->nodes, (uint32_t)loader->nodes.len, TD_NONE);
    }
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
    if (loader->leaves_only) {
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
    return loader->leaves_only ? leaf_of(loader, node) : id_map_get(&loader->nodes, node);
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
    return ret->group != TD_NONE && ret->thread != TD_NONE && ret->node != TD_NONE;
}

/* Tallies of the modelled core, of how sure they are, or of a variant of it. */
static bool is_modelled(const struct td_group *group)
{
    return group->role == TD_ROLE_MODEL || group->role == TD_ROLE_REPLICATES ||
           group->role == TD_ROLE_VARIANT;
}

/* A row without a place in the model, or whose values cannot be. */
static void drop(struct counts *dropped, const struct td_group *group, uint64_t samples)
{
    if (group && is_modelled(group))
        dropped->modelled++;
    else
        dropped->samples += samples < TD_SUM_MAX ? samples : 1;
}

static void count_row(struct loader *loader, const struct td_group *group, uint64_t samples,
                      const uint64_t *values)
{
    struct counts *read = &loader->read;

    if (group->role == TD_ROLE_MODEL)
        read->modelled++;
    else
        read->samples += samples;
    for (uint32_t c = 0; c < group->column_count; c++) {
        const uint32_t event = group->columns[c].event;
        const enum td_unit unit =
            event == TD_NONE ? TD_UNIT_COUNT : td_model_event(loader->model, event)->unit;

        if (group->role == TD_ROLE_TIME && unit == TD_UNIT_NS)
            read->ns += c == 0 ? values[c] : 0;
        if (group->role == TD_ROLE_MODEL && unit == TD_UNIT_CYCLES)
            read->cycles += values[c];
        if (group->role == TD_ROLE_MODEL && group->columns[c].node != TD_NODE_NONE)
            read->slots += values[c];
    }
}

/* What a run's rows are of; NULL when that was lost. */
static const struct td_group *group_of(const struct loader *loader, uint32_t group)
{
    return group == TD_NONE ? NULL : td_model_group(loader->model, group);
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

        const struct td_group *group = group_of(loader, sample.group);

        for (uint32_t i = 0; i < run->count; i++, row++, value += run->columns) {
            const bool placed = place_of(loader, row, values->epoch, &sample);

            if (!placed || !td_sums_add(&loader->sums, loader->model, group, 1, value)) {
                drop(&loader->dropped, group, 1);
                if (placed)
                    say_wrong(loader, "samples hold counts that cannot be");
                continue;
            }
            loader->read.sample_rows++;
            count_row(loader, group, 1, value);
            if (!in_time_range(loader, sample.time_ns))
                continue;
            td_model_add_values(loader->model, sample.thread, sample.node, sample.group, 1, value);
            if (loader->opts->keep_samples ||
                (loader->opts->keep_slots && group->role == TD_ROLE_SLOTS))
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

/* Signed numbers, as large as their sums may be. */
static bool are_differences(const struct td_group *group, const uint64_t *values)
{
    for (uint32_t c = 0; c < group->column_count; c++) {
        if (values[c] + TD_SUM_MAX >= 2 * TD_SUM_MAX)
            return false;
    }
    return true;
}

static bool is_right(struct loader *loader, const struct td_group *group, uint64_t samples,
                     const uint64_t *values)
{
    if (!group)
        return false;
    if (group->role == TD_ROLE_MODEL)
        return td_sums_parts_are_right(loader->model, group, values, loader->width);
    if (group->role == TD_ROLE_REPLICATES || group->role == TD_ROLE_VARIANT)
        return are_differences(group, values);
    return td_sums_add(&loader->sums, loader->model, group, samples, values);
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
        const struct td_group *group = group_of(loader, place.group);
        const bool modelled = group && is_modelled(group);

        for (uint32_t i = 0; i < run->count; i++, row++, value += run->columns) {
            const bool placed = place_of(loader, row, values->epoch, &place);

            loader->summed = loader->summed || !modelled;
            if (!placed || !is_right(loader, group, row->amount, value)) {
                drop(&loader->dropped, group, row->amount);
                if (placed)
                    say_wrong(loader, "tallies hold counts that cannot be");
                continue;
            }
            loader->read.tally_rows++;
            count_row(loader, group, row->amount, value);
            if (modelled && loader->opts->by_program)
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

    if (counter != TD_COUNTER_STARTED_NS)
        return;
    loader->started_ns = value;
    loader->started = true;
}

static void on_end(void *ctx, uint64_t kind, uint64_t total)
{
    struct loader *loader = ctx;

    loader->has_end = true;
    if (kind == TD_CHUNK_SAMPLES)
        loader->ended.sample_rows = total;
    if (kind == TD_CHUNK_TALLIES)
        loader->ended.tally_rows = total;
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

    (void)head;
    loader->chunks++;
    loader->chunk = offset;
}

static uint64_t memory_of(const struct loader *loader)
{
    uint64_t slots =
        loader->leaf_ids.cap + loader->programs.cap + loader->lost_events.cap + loader->passes.cap;
    uint64_t ids = loader->nodes.cap;

    for (int t = 0; t < TD_TABLE_COUNT; t++)
        ids += loader->tables[t].cap;
    return td_model_bytes(loader->model) + ids * sizeof(*loader->nodes.ids) +
           loader->leaf_cap * sizeof(*loader->leaves) + slots * sizeof(struct td_map_slot);
}

/* Who asked may have seen enough. A small file that unpacks to far more than any recording does is
 * not read to its end. */
static bool on_enough(void *ctx, uint64_t offset, struct td_err *reason)
{
    const struct loader *loader = ctx;
    const uint64_t rows = loader->read.sample_rows + loader->read.tally_rows;
    const uint64_t most = MEMORY_BASE + MEMORY_FACTOR * (uint64_t)loader->size;
    char bytes[32], size[32];

    if (loader->opts->progress &&
        loader->opts->progress(loader->opts->progress_ctx, offset, loader->size))
        return true;
    if (memory_of(loader) <= most && rows <= ROWS_BASE + ROWS_FACTOR * (uint64_t)loader->size)
        return false;
    td_fail_at(reason, TD_ELIMIT, offset,
               "the rest is not read: no profile of %s unpacks to more than %s",
               td_format_bytes(size, sizeof(size), loader->size),
               td_format_bytes(bytes, sizeof(bytes), most));
    return true;
}

/* A time range is relative to the recording's begin, which stands in a chunk of its own. */
static int find_start(struct loader *loader, const void *data, size_t size, struct td_err *err)
{
    const struct td_profile_visitor visitor = {
        .ctx = loader,
        .kinds = 1u << TD_CHUNK_COUNTERS,
        .counter = on_started,
    };
    struct td_profile_ending ending = {0};
    const int rc = td_profile_read(data, size, &visitor, &ending, err);

    if (rc == TD_OK && ending.damages > 0 && !loader->started)
        return td_fail(err, TD_EFORMAT,
                       "a range of time cannot be had: when the recording began was lost with a "
                       "damaged part");
    return rc;
}

static uint64_t beyond(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What is missing of a whole that the file states; NaN where it states none, or less than was read.
 */
static double missing_share(uint64_t whole, uint64_t read)
{
    return whole >= read && whole > 0 ? (double)(whole - read) / (double)whole : NAN;
}

/* How much was left out: by what END and the counters say there was. */
static void sum_up_losses(struct loader *loader, struct td_losses *losses)
{
    const struct td_model *model = loader->model;
    const struct counts *read = &loader->read, *dropped = &loader->dropped;
    const uint64_t read_cycles =
        read->cycles > 0 || loader->width == 0 ? read->cycles : read->slots / loader->width;
    const uint64_t stored = td_model_counter(model, TD_COUNTER_SAMPLES);
    const uint64_t sampled_ns = td_model_counter(model, TD_COUNTER_SAMPLED_NS);
    const uint64_t cycles = td_model_counter(model, TD_COUNTER_CYCLES);

    losses->exact = loader->has_end;
    losses->read_samples = read->samples;
    losses->dropped_samples =
        larger(dropped->samples, beyond(loader->ended.sample_rows, read->sample_rows));
    losses->dropped_samples = larger(losses->dropped_samples, beyond(stored, read->samples));
    losses->dropped_tallies = larger(
        dropped->modelled, loader->summed ? 0 : beyond(loader->ended.tally_rows, read->tally_rows));
    losses->model_is_partial =
        losses->dropped_tallies > 0 || !losses->exact || read_cycles < cycles;
    losses->share_of = "samples";
    losses->dropped_share = missing_share(read->samples + losses->dropped_samples, read->samples);
    if (sampled_ns > 0) {
        losses->share_of = "CPU time";
        losses->dropped_share = missing_share(sampled_ns, read->ns);
    } else if (cycles > 0 && (read->modelled > 0 || losses->dropped_tallies > 0)) {
        losses->share_of = "modelled cycles";
        losses->dropped_share = missing_share(cycles, read_cycles);
    }
    /* What samples count may be lost although they are all there: their time is not missing. */
    if (losses->dropped_samples + losses->dropped_tallies == 0 && !losses->model_is_partial)
        losses->dropped_share = 0;
    if (!losses->exact)
        losses->dropped_share = NAN;
}

/* Sums of which a part is missing, or that are too large, are no figures. */
static void finish(struct loader *loader, const struct td_profile_ending *ending)
{
    struct td_load_status *status = loader->status;
    struct td_losses losses = {.damaged = status->damaged};
    const uint64_t wrong = td_sums_drop_wrong(&loader->sums, loader->model);

    if (wrong > 0)
        say_wrong(loader, "tallies hold sums that cannot be");
    loader->dropped.modelled += wrong;
    loader->read.tally_rows = beyond(loader->read.tally_rows, wrong);
    losses.damaged = status->damaged;
    if (losses.damaged)
        sum_up_losses(loader, &losses);
    losses.cut = status->cut = ending->cut;
    status->dropped = losses.dropped_samples + losses.dropped_tallies;
    td_model_set_losses(loader->model, &losses);
    td_model_set_complete(loader->model, ending->complete && !status->damaged);
}

static void say_cut(struct loader *loader, const struct td_profile_ending *ending, size_t size)
{
    struct td_load_status *status = loader->status;

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
    struct loader loader = {.model = model,
                            .opts = opts,
                            .status = status,
                            .size = size,
                            .leaves_only = opts->leaves_only};
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
        .pass = on_pass,
        .group_region = on_group_region,
        .region = on_region,
        .region_row = on_region_row,
        .code = on_code,
        .shared = on_shared,
        .habit = on_habit,
        .symbol = on_symbol,
        .nodes = on_nodes,
        .samples = on_samples,
        .tallies = on_tallies,
        .counter = on_counter,
        .end = on_end,
        .damage = on_damage,
        .enough = on_enough,
    };
    struct td_profile_ending ending = {0};
    int rc = TD_OK;

    id_map_set(&loader.tables[TD_TABLE_STRINGS], 0, 0);
    if (opts->from_ns > 0 || opts->to_ns > 0)
        rc = find_start(&loader, data, size, err);
    if (rc == TD_OK)
        rc = td_profile_read(data, size, &visitor, &ending, err);
    if (rc == TD_OK) {
        finish(&loader, &ending);
        say_cut(&loader, &ending, size);
        td_model_sort_samples(model);
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
    td_map_release(&loader.lost_events);
    td_map_release(&loader.passes);
    return rc;
}
