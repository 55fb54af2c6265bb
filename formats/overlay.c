/* SPDX-License-Identifier: MIT */
#include "formats/overlay.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/notes.h"

/* Ids of things of `from` in `to`; TD_NONE: not needed yet. */
struct overlay {
    struct td_model *to;
    const struct td_model *from;
    uint32_t *modules, *nodes, *threads, *groups;
};

static uint32_t copy_string(const struct overlay *o, uint32_t string)
{
    return string == 0 ? 0 : td_model_intern_z(o->to, td_model_string(o->from, string));
}

static uint32_t *none_ids(size_t count)
{
    uint32_t *ids = td_xalloc((count + 1) * sizeof(*ids));

    memset(ids, 0xff, (count + 1) * sizeof(*ids));
    return ids;
}

static bool same_file(const struct td_module *a, const struct td_module *b)
{
    return a->kind == TD_MODULE_FILE && b->kind == TD_MODULE_FILE && a->build_id.size > 0 &&
           td_build_id_equal(&a->build_id, &b->build_id);
}

static uint32_t module_of(struct overlay *o, uint32_t id)
{
    struct td_module module = *td_model_module(o->from, id);
    size_t count = 0;

    if (o->modules[id] != TD_NONE)
        return o->modules[id];
    for (uint32_t m = 0; m < td_model_module_count(o->to); m++) {
        if (same_file(td_model_module(o->to, m), &module))
            return o->modules[id] = m;
    }
    module.path = copy_string(o, module.path);
    module.note = 0;
    module.debug_file = 0;
    o->modules[id] = td_model_put_module(o->to, &module);
    const struct td_symbol *symbols = td_model_symbols(o->from, id, &count);
    for (size_t i = 0; i < count; i++) {
        struct td_symbol symbol = symbols[i];

        symbol.name = copy_string(o, symbol.name);
        symbol.file = copy_string(o, symbol.file);
        td_model_add_symbol(o->to, o->modules[id], &symbol);
    }
    return o->modules[id];
}

/* Parents come before their children. */
static void add_nodes(struct overlay *o)
{
    o->nodes[0] = 0;
    for (uint32_t n = 1; n < td_model_node_count(o->from); n++) {
        const struct td_node *node = td_model_node(o->from, n);
        const struct td_location *location = td_model_location(o->from, node->location);

        o->nodes[n] = td_model_put_node(
            o->to, o->nodes[node->parent],
            td_model_put_location(o->to, module_of(o, location->module), location->offset));
    }
}

static void add_threads(struct overlay *o)
{
    for (uint32_t t = 0; t < td_model_thread_count(o->from); t++) {
        struct td_thread thread = *td_model_thread(o->from, t);

        thread.name = copy_string(o, thread.name);
        thread.process = copy_string(o, thread.process);
        thread.origin = copy_string(o, thread.origin);
        o->threads[t] = td_model_add_thread(o->to, &thread);
    }
}

static uint32_t add_event(struct overlay *o, uint32_t id)
{
    if (id == TD_NONE)
        return TD_NONE;
    struct td_event event = *td_model_event(o->from, id);
    event.name = copy_string(o, event.name);
    return td_model_add_event(o->to, &event);
}

static void add_groups(struct overlay *o, enum td_group_role role)
{
    for (uint32_t g = 0; g < td_model_group_count(o->from); g++) {
        struct td_group group = *td_model_group(o->from, g);
        const uint32_t sampler = group.sampler;

        if (group.role != role)
            continue;
        group.name = copy_string(o, group.name);
        group.cpu_type = copy_string(o, group.cpu_type);
        group.sampler = add_event(o, sampler);
        group.in_region = 0; /* regions stay with those that were counted in them */
        for (uint32_t c = 0; c < group.column_count; c++) {
            const uint32_t event = group.columns[c].event;

            group.columns[c].event = event == sampler ? group.sampler : add_event(o, event);
        }
        o->groups[g] = td_model_add_group(o->to, &group);
    }
}

static void add_counts(struct overlay *o)
{
    uint64_t room[TD_COLUMNS_MAX];

    for (size_t i = 0; i < td_model_tally_count(o->from); i++) {
        const struct td_tally *t = td_model_tally(o->from, i);

        if (o->groups[t->group] != TD_NONE)
            td_model_add_values(o->to, o->threads[t->thread], o->nodes[t->node],
                                o->groups[t->group], t->samples,
                                td_model_tally_values(o->from, t, room));
    }
    for (size_t i = 0; i < td_model_sample_count(o->from); i++) {
        const struct td_sample *s = td_model_sample(o->from, i);
        struct td_sample sample = *s;

        if (o->groups[s->group] == TD_NONE)
            continue;
        sample.thread = o->threads[s->thread];
        sample.node = o->nodes[s->node];
        sample.group = o->groups[s->group];
        td_model_add_sample(o->to, &sample, td_model_sample_values(o->from, s));
    }
}

/* How the samples were taken and how long the run was; what was modelled stays. */
static void add_about(struct overlay *o)
{
    static const enum td_counter counters[] = {
        TD_COUNTER_SAMPLES,    TD_COUNTER_LOST,       TD_COUNTER_LOST_RECORDS,
        TD_COUNTER_THROTTLED,  TD_COUNTER_FILTERED,   TD_COUNTER_TRUNCATED_STACKS,
        TD_COUNTER_COUNTED_NS, TD_COUNTER_SAMPLED_NS, TD_COUNTER_PROCESSES,
        TD_COUNTER_THREADS,    TD_COUNTER_STARTED_NS, TD_COUNTER_ENDED_NS};
    static const enum td_env_key keys[] = {TD_ENV_FREQUENCY, TD_ENV_PERIOD, TD_ENV_PRIVILEGE,
                                           TD_ENV_WARNING};
    const char *value = NULL;

    for (size_t i = 0; i < TD_ARRAY_SIZE(counters); i++)
        td_model_set_counter(o->to, counters[i], td_model_counter(o->from, counters[i]));
    for (size_t k = 0; k < TD_ARRAY_SIZE(keys); k++) {
        for (size_t i = 0; (value = td_model_env_at(o->from, keys[k], i)); i++)
            td_model_add_env(o->to, td_env_key_name(keys[k]), value);
    }
    if (!td_model_complete(o->from))
        td_model_set_complete(o->to, false);
}

static bool has_role(const struct td_model *model, enum td_group_role role)
{
    for (uint32_t g = 0; g < td_model_group_count(model); g++) {
        if (td_model_group(model, g)->role == role)
            return true;
    }
    return false;
}

static char *command_of(const struct td_model *model)
{
    if (!td_model_env(model, TD_ENV_ARGV) || td_model_source(model) == TD_SOURCE_IMPORT)
        return NULL;
    return td_notes_command(model);
}

/* What stands behind the folder of the program. */
static const char *without_folder(const char *command)
{
    const size_t len = strcspn(command, " ");
    const char *const slash = memrchr(command, '/', len);

    return slash ? slash + 1 : command;
}

void td_overlay_compare(struct td_model *to, const struct td_model *from)
{
    char *const ours = command_of(to), *const theirs = command_of(from);

    if (ours && theirs && strcmp(without_folder(ours), without_folder(theirs)) != 0) {
        char *const text = td_xasprintf("the time is of '%s', the categories are of '%s': they go "
                                        "together only as far as both do the same",
                                        theirs, ours);

        td_model_add_env(to, td_env_key_name(TD_ENV_WARNING), text);
        free(text);
    }
    free(ours);
    free(theirs);
}

int td_overlay_add(struct td_model *to, const struct td_model *from, enum td_group_role role,
                   struct td_err *err)
{
    struct overlay o = {.to = to, .from = from};

    if (!has_role(from, role))
        return td_fail(err, TD_EUSAGE, "it has no %s samples", td_group_role_name(role));
    if (has_role(to, role))
        return td_fail(err, TD_EUSAGE, "the profile has %s samples of its own",
                       td_group_role_name(role));
    o.modules = none_ids(td_model_module_count(from));
    o.nodes = none_ids(td_model_node_count(from));
    o.threads = none_ids(td_model_thread_count(from));
    o.groups = none_ids(td_model_group_count(from));
    add_nodes(&o);
    add_threads(&o);
    add_groups(&o, role);
    add_counts(&o);
    add_about(&o);
    free(o.modules);
    free(o.nodes);
    free(o.threads);
    free(o.groups);
    return TD_OK;
}
