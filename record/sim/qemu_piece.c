/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu_piece.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "formats/profile_write.h"
#include "symbolize/buildid.h"

struct writing {
    struct td_profile_writer *writer;
    const struct td_piece *piece;
    uint32_t *modules; /* by path index; TD_NONE: not described yet */
    uint32_t unknown;  /* the module of code in no file; TD_NONE: not described yet */
    uint32_t group, thread;
    const struct td_sim *sim;
    struct td_map nodes; /* path nodes of this sim to nodes of the profile, in one epoch */
    uint32_t epoch;
};

void td_piece_maps_update(struct td_piece_maps *maps)
{
    char *text = td_procfs_text(NULL, "/proc/self/maps");
    const char *at = text;
    struct td_map_line line;

    while (at && td_map_line_next(&at, &line)) {
        size_t i = 0;

        if (line.path_len == 0 || line.path[0] != '/')
            continue;
        while (i < maps->path_count && (strncmp(maps->paths[i], line.path, line.path_len) != 0 ||
                                        maps->paths[i][line.path_len] != '\0'))
            i++;
        if (i == maps->path_count) {
            maps->paths =
                td_grow(maps->paths, &maps->path_cap, maps->path_count + 1, sizeof(*maps->paths));
            maps->paths[maps->path_count++] = td_xstrndup(line.path, line.path_len);
        }
        const struct td_range range = {
            .start = line.start, .end = line.end, .offset = line.offset, .value = (uint32_t)i};
        td_range_set_put(&maps->ranges, &range);
    }
    free(text);
}

static uint32_t describe_file(struct writing *w, uint32_t index)
{
    struct td_profile_module module = {.kind = TD_MODULE_FILE,
                                       .path = w->piece->maps->paths[index]};

    if (w->modules[index] == TD_NONE) {
        td_build_id_from_file(module.path, &module.build_id, NULL);
        w->modules[index] = td_profile_module(w->writer, &module);
    }
    return w->modules[index];
}

/* Code in no file was made by the program itself. */
static uint32_t describe_anonymous(struct writing *w)
{
    const struct td_profile_module module = {
        .kind = TD_MODULE_ANON, .path = "//anon", .pid = w->piece->pid};

    if (w->unknown == TD_NONE)
        w->unknown = td_profile_module(w->writer, &module);
    return w->unknown;
}

static uint32_t node_at(struct writing *w, uint32_t parent, uint64_t address)
{
    const struct td_range *range = td_range_set_find(&w->piece->maps->ranges, address);

    if (!range)
        return td_profile_node(w->writer, parent, describe_anonymous(w), address);
    return td_profile_node(w->writer, parent, describe_file(w, range->value),
                           address - range->start + range->offset);
}

/* The profile's node of a call path. */
static uint32_t path_node(struct writing *w, uint32_t path)
{
    uint32_t chain[TD_SIM_DEPTH_MAX + 1] = {0};
    size_t depth = 0;
    uint32_t node = 0;

    if (w->epoch != td_profile_node_epoch(w->writer)) {
        td_map_clear(&w->nodes);
        w->epoch = td_profile_node_epoch(w->writer);
    }
    while (path != 0 && depth < TD_ARRAY_SIZE(chain)) {
        const uint32_t *known = td_map_find(&w->nodes, path, 0);

        if (known) {
            node = *known;
            break;
        }
        chain[depth++] = path;
        path = td_sim_path(w->sim, path).parent;
    }
    while (depth > 0) {
        const uint32_t next = chain[--depth];

        node = node_at(w, node, td_sim_path(w->sim, next).call);
        td_map_put(&w->nodes, next, 0, node, NULL);
    }
    return node;
}

static void write_tally(void *ctx, const struct td_sim_tally *tally)
{
    struct writing *w = ctx;
    const uint32_t node = node_at(w, path_node(w, tally->path), tally->pc);

    td_profile_tally(w->writer, w->thread, node, w->group, tally->runs, tally->values);
}

static uint32_t describe_group(struct td_profile_writer *writer)
{
    struct td_group group = {
        .role = TD_ROLE_MODEL,
        .attribution = TD_ATTRIBUTION_EXACT,
        .locates = TD_NODE_NONE,
        .sampler = TD_NONE,
        .column_count = TD_SIM_COLUMN_COUNT,
    };

    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++) {
        const struct td_sim_column_info *info = td_sim_column_info((enum td_sim_column)c);
        const struct td_profile_event event = {
            .name = info->name,
            .unit = c == TD_SIM_COLUMN_CYCLES         ? TD_UNIT_CYCLES
                    : c == TD_SIM_COLUMN_INSTRUCTIONS ? TD_UNIT_INSTRUCTIONS
                                                      : TD_UNIT_SLOTS,
            .flags = TD_EVENT_USER,
        };

        group.columns[c] = (struct td_column){
            .kind = TD_COLUMN_TOTAL, .event = td_profile_event(writer, &event), .node = info->node};
    }
    return td_profile_group(writer, &group, "modelled", "");
}

static void write_threads(struct writing *w)
{
    for (size_t i = 0; i < w->piece->thread_count; i++) {
        const struct td_piece_thread *thread = &w->piece->threads[i];

        w->sim = thread->sim;
        w->thread = td_profile_thread(w->writer, w->piece->pid, thread->tid, thread->name,
                                      w->piece->process, w->piece->start_ns);
        td_map_clear(&w->nodes);
        td_sim_each_tally(thread->sim, write_tally, w);
    }
}

static void count_totals(const struct td_piece *piece, struct td_profile_writer *writer)
{
    uint64_t cycles = 0, instructions = 0, detailed = 0, truncated = 0, folded = 0, unproven = 0;
    double squares = 0; /* of the threads' errors */

    for (size_t i = 0; i < piece->thread_count; i++) {
        struct td_sim_totals totals;

        td_sim_totals(piece->threads[i].sim, &totals);
        cycles += totals.cycles;
        instructions += totals.instructions;
        detailed += totals.detailed;
        squares += totals.cycles_error * totals.cycles_error;
        truncated += totals.truncated_calls;
        folded += totals.folded_calls;
        unproven += totals.unproven_paths;
    }
    td_profile_counter(writer, TD_COUNTER_CYCLES, cycles);
    td_profile_counter(writer, TD_COUNTER_INSTRUCTIONS, instructions);
    td_profile_counter(writer, TD_COUNTER_DETAILED, detailed);
    td_profile_counter(writer, TD_COUNTER_CYCLES_ERROR, (uint64_t)sqrt(squares));
    if (unproven > 0)
        td_profile_env(writer, td_env_key_name(TD_ENV_WARNING),
                       "of very many call paths, those of which little ran count on their callers' "
                       "paths; functions, lines and totals are exact");
    if (folded > 0)
        td_profile_env(writer, td_env_key_name(TD_ENV_WARNING),
                       "deep recursion is shown folded: past its first few thousand paths, a call "
                       "that is on its path already counts there");
    if (truncated > 0)
        td_profile_env(writer, td_env_key_name(TD_ENV_WARNING),
                       "there were more call paths than are kept: the rest counts on its callers");
    td_profile_counter(writer, TD_COUNTER_PROCESSES, 1);
    td_profile_counter(writer, TD_COUNTER_THREADS, piece->thread_count);
}

static int append(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

int td_piece_write(struct td_buf *ret, const struct td_piece *piece, struct td_err *err)
{
    struct writing w = {.piece = piece, .unknown = TD_NONE};
    int rc = td_profile_writer_new(&w.writer, append, ret, NULL, err);

    if (rc < 0)
        return rc;
    w.modules = td_xcalloc(piece->maps->path_count + 1, sizeof(*w.modules));
    for (size_t i = 0; i < piece->maps->path_count; i++)
        w.modules[i] = TD_NONE;
    w.group = describe_group(w.writer);
    write_threads(&w);
    count_totals(piece, w.writer);
    rc = td_profile_finish(w.writer, err);
    td_profile_writer_free(w.writer);
    td_map_release(&w.nodes);
    free(w.modules);
    return rc;
}
