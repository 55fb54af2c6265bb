/* SPDX-License-Identifier: MIT */
#include "record/pieces.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "formats/load.h"

/* What a piece's indices are in the whole profile. */
struct translation {
    uint32_t *modules, *threads;
    uint32_t *nodes; /* TD_NONE: not known in this epoch */
    uint32_t epoch;
    uint32_t *chain; /* scratch: nodes from the innermost out */
    size_t chain_cap;
};

void td_pieces_init(struct td_pieces *pieces, struct td_profile_writer *writer)
{
    *pieces = (struct td_pieces){.writer = writer, .group = TD_NONE};
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

static void add_modules(struct td_pieces *pieces, const struct td_model *model, uint32_t *modules)
{
    for (uint32_t i = 0; i < td_model_module_count(model); i++) {
        const struct td_module *m = td_model_module(model, i);
        const struct td_profile_module module = {.kind = m->kind,
                                                 .path = td_model_string(model, m->path),
                                                 .pid = m->pid,
                                                 .base = m->base,
                                                 .build_id = m->build_id};

        modules[i] = td_profile_module(pieces->writer, &module);
    }
}

static void add_threads(struct td_pieces *pieces, const struct td_model *model, uint32_t *threads)
{
    for (uint32_t i = 0; i < td_model_thread_count(model); i++) {
        const struct td_thread *t = td_model_thread(model, i);

        threads[i] =
            td_profile_thread(pieces->writer, t->pid, t->tid, td_model_string(model, t->name),
                              td_model_string(model, t->process), t->start_ns);
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

static void add_tallies(struct td_pieces *pieces, const struct td_model *model,
                        struct translation *t)
{
    for (size_t i = 0; i < td_model_tally_count(model); i++) {
        const struct td_tally *tally = td_model_tally(model, i);
        const uint32_t node = put_node(pieces, model, t, tally->node);

        td_profile_tally(pieces->writer, t->threads[tally->thread], node, pieces->group,
                         tally->samples, td_model_tally_values(model, tally));
    }
}

static void add_counters(struct td_pieces *pieces, const struct td_model *model)
{
    static const enum td_counter summed[] = {TD_COUNTER_CYCLES, TD_COUNTER_INSTRUCTIONS,
                                             TD_COUNTER_DETAILED, TD_COUNTER_PROCESSES,
                                             TD_COUNTER_THREADS};
    const double error = (double)td_model_counter(model, TD_COUNTER_CYCLES_ERROR);
    uint64_t *whole = &pieces->counters[TD_COUNTER_CYCLES_ERROR];

    for (size_t i = 0; i < TD_ARRAY_SIZE(summed); i++) {
        pieces->counters[summed[i]] += td_model_counter(model, summed[i]);
        td_profile_counter(pieces->writer, summed[i], pieces->counters[summed[i]]);
    }
    /* Processes err independently. */
    *whole = (uint64_t)sqrt((double)*whole * (double)*whole + error * error);
    td_profile_counter(pieces->writer, TD_COUNTER_CYCLES_ERROR, *whole);
}

/* What a piece warns of, once, however many say so. */
static void add_warnings(struct td_pieces *pieces, const struct td_model *model)
{
    const char *text;

    for (size_t i = 0; (text = td_model_env_at(model, TD_ENV_WARNING, i)); i++) {
        const uint32_t known = td_intern_count(pieces->warnings);

        if (td_intern_put(pieces->warnings, text, strlen(text)) == known)
            td_profile_env(pieces->writer, td_env_key_name(TD_ENV_WARNING), text);
    }
}

static void add_piece(struct td_pieces *pieces, const struct td_model *model)
{
    struct translation t = {
        .modules = td_xcalloc(td_model_module_count(model) + 1, sizeof(uint32_t)),
        .threads = td_xcalloc(td_model_thread_count(model) + 1, sizeof(uint32_t)),
        .nodes = td_xcalloc(td_model_node_count(model), sizeof(uint32_t)),
        .epoch = TD_NONE,
    };

    describe_group(pieces, model);
    add_modules(pieces, model, t.modules);
    add_threads(pieces, model, t.threads);
    add_tallies(pieces, model, &t);
    add_counters(pieces, model);
    add_warnings(pieces, model);
    free(t.modules);
    free(t.threads);
    free(t.nodes);
    free(t.chain);
}

int td_pieces_add_all(struct td_pieces *pieces, const char *folder, struct td_err *err)
{
    char **names = td_procfs_names(NULL, folder);

    if (!names)
        return td_fail(err, TD_EIO, "cannot read the folder '%s'", folder);
    pieces->warnings = td_intern_new();
    for (char **name = names; *name; name++) {
        char *path = td_xasprintf("%s/%s", folder, *name);
        struct td_model *model = NULL;
        struct td_load_status status = {.damaged = false};

        if (td_load_file(&model, path, NULL, &status, NULL) == TD_OK)
            add_piece(pieces, model);
        else
            pieces->unread++;
        td_model_free(model);
        unlink(path);
        free(path);
    }
    td_procfs_names_free(names);
    td_intern_free(pieces->warnings);
    return TD_OK;
}
