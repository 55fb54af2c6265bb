/* SPDX-License-Identifier: MIT */
#include "record/run/snapshots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/intern.h"
#include "base/mem.h"
#include "formats/sums.h"
#include "record/sim/model/trace.h"
#include "record/sim/share/snapshot.h"
#include "record/run/regions.h"
#include "record/tasks/jit.h"
#include "record/tasks/modules.h"
#include "record/tasks/toggle.h"
#include "symbolize/maps/jitdump.h"

/* Regions of a recording whose places are kept apart. Each has groups of its own, which take a
 * kilobyte in memory. */
#define APART_MAX 256

/* Kinds of groups: of the model, replicates by column, variants, their replicates. */
enum {
    GROUP_MODEL,
    GROUP_REPLICATES,
    GROUP_VARIANTS = GROUP_REPLICATES + TD_SIM_COLUMN_COUNT,
    GROUP_VARIANT_REPLICATES = GROUP_VARIANTS + TD_VARIANTS_MAX + 1,
};

/* What a tally has of anything is below. */
#define VALUE_MAX (UINT64_C(1) << 57)

/* A call path of a task. */
struct path {
    bool known;
    bool inside; /* a call of it is in the function of --toggle */
    uint32_t parent;
    uint32_t module; /* the profile's */
    uint64_t offset; /* of the call, in it */
    uint32_t node;   /* the profile's, in `epoch` */
    uint32_t epoch;  /* of the writer's table; TD_NONE: no node yet */
};

struct task {
    uint32_t thread;  /* the profile's; TD_NONE: not added yet */
    uint32_t of;      /* index of the task of the same thread on the core itself */
    uint32_t variant; /* td_snapshot_task.variant */
    struct path *paths;
    size_t path_count, path_cap;
    struct td_written_regions regions;
};

/* Where a tally is in the profile. */
struct place {
    uint32_t node, epoch; /* TD_NONE: no node yet */
};

/* Sums over tallies. */
struct amounts {
    uint64_t slots, instructions;
};

/* What was added of an image so far: what its last snapshot says. */
struct td_snapshot_image {
    struct td_buf last;
    struct amounts amounts;
    struct td_snapshot_walk begin; /* of the items in `last`; no tasks: there is none */
    struct place *places;          /* of the tallies in `last`, in their order */
    struct task *tasks;
    size_t task_count, task_cap;
    uint32_t pid;
    bool has_jit;    /* addresses of code that it made were noted */
    char *dump_path; /* of the jitdump that it mapped; NULL: none */
    uint64_t counters[TD_COUNTER_COUNT];
};

/* A snapshot on its way into the profile. */
struct adding {
    struct td_snapshots *snapshots;
    struct td_snapshot_image *image;
    const struct td_snapshot *snapshot;
    uint32_t *modules;            /* the profile's, by the snapshot's; TD_NONE: code in no file */
    uint32_t anonymous;           /* of code in no file; TD_NONE: not described yet */
    const struct td_range *range; /* of the last address; NULL: none */
    struct place *places;         /* of this snapshot's tallies */
    size_t place_count, place_cap;
    bool last; /* the image's last snapshot */
    uint64_t now_ns;
    uint32_t *chain; /* scratch: paths from the innermost out */
    size_t chain_cap;
};

void td_snapshots_write_core(struct td_profile_writer *writer, const struct td_core_desc *desc)
{
    const struct {
        const char *name;
        uint64_t value;
    } parameters[] = {
        {"clock_hz", (uint64_t)desc->mhz * 1000000},
        {"width", (uint64_t)desc->width},
        {"l1d_kb", (uint64_t)desc->l1d_kb},
        {"l1i_kb", (uint64_t)desc->l1i_kb},
        {"l2_kb", (uint64_t)desc->l2_kb},
        {"l3_kb", (uint64_t)desc->l3_kb},
        {"dtlb", (uint64_t)desc->dtlb},
        {"stlb", (uint64_t)desc->stlb},
    };
    char text[64];

    for (size_t i = 0; i < TD_ARRAY_SIZE(parameters); i++) {
        snprintf(text, sizeof(text), "%s=%llu", parameters[i].name,
                 (unsigned long long)parameters[i].value);
        td_profile_env(writer, td_env_key_name(TD_ENV_PARAMETER), text);
    }
    /* What the first access to a page takes in the program is in some cores. */
    td_profile_env(writer, td_env_key_name(TD_ENV_LEFT_OUT),
                   desc->page_fault
                       ? "not modelled (man tdrec): kernel, waits, SMT, NUMA"
                       : "not modelled (man tdrec): kernel, page faults, waits, SMT, NUMA");
}

void td_snapshots_init(struct td_snapshots *snapshots, struct td_profile_writer *writer)
{
    *snapshots =
        (struct td_snapshots){.writer = writer, .group = TD_NONE, .texts = td_intern_new()};
    snapshots->jit = td_jit_new(writer, NULL);
}

void td_snapshots_forget(struct td_snapshots *snapshots, uint32_t image)
{
    struct td_snapshot_image *gone =
        image < snapshots->image_count ? snapshots->images[image] : NULL;

    if (!gone)
        return;
    for (size_t i = 0; i < gone->task_count; i++) {
        free(gone->tasks[i].paths);
        td_written_regions_release(&gone->tasks[i].regions);
    }
    free(gone->tasks);
    td_buf_release(&gone->last);
    free(gone->places);
    free(gone->dump_path);
    free(gone);
    snapshots->images[image] = NULL;
}

void td_snapshots_name_code(struct td_snapshots *snapshots, uint32_t image)
{
    struct td_snapshot_image *named =
        image < snapshots->image_count ? snapshots->images[image] : NULL;

    /* Programs that run as another user than we are not emulated. */
    if (named && named->has_jit)
        td_jit_write_names_of(snapshots->jit, named->pid, geteuid(), named->dump_path);
}

static int by_place(const void *a, const void *b, void *ctx)
{
    const struct td_ran_block *x = td_ran_block(ctx, *(const uint32_t *)a);
    const struct td_ran_block *y = td_ran_block(ctx, *(const uint32_t *)b);

    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

static void write_code(const struct td_snapshots *snapshots)
{
    const size_t count = snapshots->code ? td_ran_count(snapshots->code) : 0;
    uint32_t *order = td_xcalloc(count + 1, sizeof(*order));

    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof(*order), by_place, snapshots->code);
    for (size_t i = 0; i < count; i++)
        td_profile_ran(snapshots->writer, td_ran_block(snapshots->code, order[i]));
    free(order);
}

void td_snapshots_names_end(struct td_snapshots *snapshots)
{
    write_code(snapshots);
    td_jit_finish(snapshots->jit);
    for (size_t i = 0; i < snapshots->habits.len; i++)
        td_profile_habit(snapshots->writer, &snapshots->habits.at[i]);
}

void td_snapshots_release(struct td_snapshots *snapshots)
{
    for (size_t i = 0; i < snapshots->image_count; i++)
        td_snapshots_forget(snapshots, (uint32_t)i);
    free(snapshots->images);
    td_map_release(&snapshots->modules);
    td_map_release(&snapshots->groups);
    td_map_release(&snapshots->apart);
    td_habits_release(&snapshots->habits);
    td_map_release(&snapshots->warnings);
    if (snapshots->texts)
        td_intern_free(snapshots->texts);
    td_jit_free(snapshots->jit);
    td_ran_free(snapshots->code);
    free(snapshots->code_room);
    *snapshots = (struct td_snapshots){.writer = NULL};
}

static struct td_snapshot_image *image_at(struct td_snapshots *snapshots, uint32_t image)
{
    snapshots->images = td_grow(snapshots->images, &snapshots->image_cap, image + 1,
                                sizeof(struct td_snapshot_image *));
    while (snapshots->image_count <= image)
        snapshots->images[snapshots->image_count++] = NULL;
    if (!snapshots->images[image])
        snapshots->images[image] = td_xcalloc(1, sizeof(*snapshots->images[image]));
    return snapshots->images[image];
}

/* All snapshots have the columns of the model. */
static void describe_group(struct td_snapshots *snapshots)
{
    struct td_group group = {
        .role = TD_ROLE_MODEL,
        .attribution = TD_ATTRIBUTION_EXACT,
        .locates = TD_NODE_NONE,
        .sampler = TD_NONE,
        .column_count = TD_SIM_COLUMN_COUNT,
    };

    if (snapshots->group != TD_NONE)
        return;
    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++) {
        const struct td_sim_column_info info = td_sim_column_info((enum td_sim_column)c);
        const struct td_profile_event event = {
            .name = info.name,
            .unit = c == TD_SIM_COLUMN_INSTRUCTIONS ? TD_UNIT_INSTRUCTIONS : TD_UNIT_SLOTS,
            .flags = TD_EVENT_USER,
        };

        group.columns[c] = (struct td_column){.kind = TD_COLUMN_TOTAL,
                                              .event = td_profile_event(snapshots->writer, &event),
                                              .node = info.node};
    }
    snapshots->model = group;
    snapshots->group = td_profile_group(snapshots->writer, &group, "modelled", "");
}

/* The group in this region of the profile; TD_NONE: in none. */
static uint32_t group_in(struct td_snapshots *snapshots, unsigned kind, uint32_t region,
                         const struct td_group *described, const char *name)
{
    uint32_t *group = td_map_put(&snapshots->groups, kind, region, 0, NULL);

    if (*group == 0) {
        struct td_group here = *described;

        here.in_region = region + 1;
        *group = td_profile_group(snapshots->writer, &here, name, "") + 1;
    }
    return *group - 1;
}

/* The replicates of a column, or of all slots of a variant. */
static uint32_t replicates_group(struct td_snapshots *snapshots, uint32_t variant,
                                 enum td_sim_column column, uint32_t region)
{
    const enum td_tma_node node = td_sim_column_info(column).node;
    struct td_group group = {
        .role = TD_ROLE_REPLICATES,
        .attribution = TD_ATTRIBUTION_EXACT,
        .locates = node,
        .sampler = TD_NONE,
        .column_count = TD_REPLICATES,
    };

    for (int r = 0; r < TD_REPLICATES; r++)
        group.columns[r] =
            (struct td_column){.kind = TD_COLUMN_REPLICATE, .event = TD_NONE, .node = node};
    if (variant > 0)
        return group_in(snapshots, GROUP_VARIANT_REPLICATES + variant, region, &group,
                        snapshots->variants[variant - 1]);
    return group_in(snapshots, GROUP_REPLICATES + (unsigned)column, region, &group, "replicates");
}

/* What the same instructions took on a variant of the core. */
static uint32_t variant_group(struct td_snapshots *snapshots, uint32_t variant, uint32_t region)
{
    static const struct td_profile_event events[TD_VARIANT_COLUMNS] = {
        {.name = "slots", .unit = TD_UNIT_SLOTS, .flags = TD_EVENT_USER},
        {.name = "instructions", .unit = TD_UNIT_INSTRUCTIONS, .flags = TD_EVENT_USER},
    };
    struct td_group group = {
        .role = TD_ROLE_VARIANT,
        .attribution = TD_ATTRIBUTION_EXACT,
        .locates = TD_NODE_NONE,
        .sampler = TD_NONE,
        .column_count = TD_VARIANT_COLUMNS,
    };

    for (int c = 0; c < TD_VARIANT_COLUMNS; c++) {
        if (snapshots->variant_events[c] == 0)
            snapshots->variant_events[c] = td_profile_event(snapshots->writer, &events[c]) + 1;
        group.columns[c] = (struct td_column){.kind = TD_COLUMN_TOTAL,
                                              .event = snapshots->variant_events[c] - 1,
                                              .node = TD_NODE_NONE};
    }
    return group_in(snapshots, GROUP_VARIANTS + variant, region, &group,
                    snapshots->variants[variant - 1]);
}

/* What a module is, as bytes. */
static uint32_t module_text(struct td_snapshots *snapshots, const struct td_profile_module *m)
{
    struct td_buf text = {0};

    td_buf_uleb(&text, m->kind);
    td_buf_uleb(&text, m->pid);
    td_buf_uleb(&text, m->base);
    td_buf_string(&text, (const char *)m->build_id.bytes, m->build_id.size);
    td_buf_bytes(&text, m->path, strlen(m->path));
    const uint32_t id = td_intern_put(snapshots->texts, (const char *)text.data, text.len);
    td_buf_release(&text);
    return id;
}

static uint32_t put_module(struct td_snapshots *snapshots, const struct td_profile_module *module)
{
    bool added = false;
    uint32_t *id =
        td_map_put(&snapshots->modules, module_text(snapshots, module), 0, TD_NONE, &added);

    if (added)
        *id = td_profile_module(snapshots->writer, module);
    if (added && snapshots->toggle && module->kind == TD_MODULE_FILE)
        td_toggle_add(snapshots->toggle, *id, module->path);
    return *id;
}

static void warn_once(struct td_snapshots *snapshots, const char *text)
{
    const uint32_t id = td_intern_put(snapshots->texts, text, strlen(text));
    bool added = false;

    td_map_put(&snapshots->warnings, id, 0, 0, &added);
    if (added)
        td_profile_env(snapshots->writer, td_env_key_name(TD_ENV_WARNING), text);
}

static uint32_t put_anonymous(struct adding *a)
{
    const struct td_profile_module module = {
        .kind = TD_MODULE_ANON, .path = "//anon", .pid = a->snapshot->pid};

    if (a->anonymous == TD_NONE)
        a->anonymous = put_module(a->snapshots, &module);
    return a->anonymous;
}

static void add_modules(struct adding *a)
{
    a->modules = td_xcalloc((size_t)a->snapshot->module_count + 1, sizeof(*a->modules));
    for (uint32_t i = 0; i < a->snapshot->module_count; i++) {
        const struct td_snapshot_module *m = &a->snapshot->modules[i];
        const struct td_profile_module module = {
            .kind = TD_MODULE_FILE, .path = m->path, .build_id = m->build_id};
        const bool is_file = m->path && td_mapping_kind(m->path, strlen(m->path)) != TD_MODULE_ANON;

        a->modules[i] = is_file ? put_module(a->snapshots, &module) : TD_NONE;
        if (is_file && td_jitdump_is_name(m->path) && !a->image->dump_path)
            a->image->dump_path = td_xstrdup(m->path);
    }
}

static uint32_t add_thread(struct adding *a, uint32_t tid, const char *name)
{
    return td_profile_thread(a->snapshots->writer, a->snapshot->pid, tid, name,
                             a->snapshot->process, a->snapshot->start_ns);
}

/* A task keeps the name under which it was added, and has none before its thread first ran. */
static void add_tasks(struct adding *a)
{
    struct td_snapshot_image *image = a->image;

    for (size_t i = 0; i < a->snapshot->task_count; i++) {
        const struct td_snapshot_task *task = &a->snapshot->tasks[i];

        if (i >= image->task_count) {
            image->tasks = td_grow(image->tasks, &image->task_cap, i + 1, sizeof(*image->tasks));
            image->tasks[image->task_count++] =
                (struct task){.thread = TD_NONE,
                              .of = task->variant ? image->tasks[i - 1].of : (uint32_t)i,
                              .variant = task->variant};
        }
        if (task->variant == 0 && image->tasks[i].thread == TD_NONE && task->tid)
            image->tasks[i].thread = add_thread(a, task->tid, task->name);
    }
}

/* The profile's thread of a task. One without a number that did something stands for threads that
 * came after those that are told apart. */
static uint32_t thread_of(struct adding *a, struct task *task)
{
    task = &a->image->tasks[task->of];
    if (task->thread == TD_NONE)
        task->thread = add_thread(a, 0, "(other threads)");
    return task->thread;
}

/* A place as module and offset. Those that follow one another are near one another. */
static uint64_t locate(struct adding *a, uint64_t address, uint32_t *module)
{
    if (!a->range || address < a->range->start || address >= a->range->end)
        a->range = td_range_set_find(&a->snapshot->ranges, address);
    if (!a->range || a->modules[a->range->value] == TD_NONE) {
        *module = put_anonymous(a);
        td_jit_note_address(a->snapshots->jit, a->snapshot->pid, TD_PLACE_ADDRESS(address), *module,
                            a->now_ns);
        a->image->has_jit = true;
        return TD_PLACE_ADDRESS(address);
    }
    *module = a->modules[a->range->value];
    return address - a->range->start + a->range->offset;
}

static void add_path(struct adding *a, uint32_t task_index, const struct td_snapshot_path *from)
{
    struct task *task = &a->image->tasks[task_index];
    struct path path = {.known = true, .parent = from->parent, .epoch = TD_NONE};

    path.offset = locate(a, from->call, &path.module);
    if (a->snapshots->toggle)
        path.inside = (from->parent < task->path_count && task->paths[from->parent].inside) ||
                      td_toggle_has(a->snapshots->toggle, path.module, path.offset);
    task->paths = td_grow(task->paths, &task->path_cap, (size_t)from->id + 1, sizeof(*task->paths));
    while (task->path_count <= from->id)
        task->paths[task->path_count++] = (struct path){.epoch = TD_NONE};
    task->paths[from->id] = path;
}

/* The profile's node of a path. Ids are good for one epoch of the writer's table. */
static uint32_t path_node(struct adding *a, struct task *task, uint32_t id)
{
    struct td_profile_writer *writer = a->snapshots->writer;
    uint32_t node = 0;
    size_t depth = 0;

    for (; id != 0 && id < task->path_count && task->paths[id].known; id = task->paths[id].parent) {
        if (task->paths[id].epoch == td_profile_node_epoch(writer)) {
            node = task->paths[id].node;
            break;
        }
        a->chain = td_grow(a->chain, &a->chain_cap, depth + 1, sizeof(*a->chain));
        a->chain[depth++] = id;
    }
    while (depth > 0) {
        struct path *path = &task->paths[a->chain[--depth]];

        node = path->node = td_profile_node(writer, node, path->module, path->offset);
        path->epoch = td_profile_node_epoch(writer);
    }
    return node;
}

/* All slots of a tally, whatever they went to: every column but that of instructions. */
static uint64_t slots_of(const uint64_t *values)
{
    uint64_t slots = 0;

    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++)
        slots += c == TD_SIM_COLUMN_INSTRUCTIONS ? 0 : values[c];
    return slots;
}

/* Whether it ran while the function of --toggle was on the stack; adds it to what did. */
static bool is_inside(struct adding *a, const struct td_snapshot_tally *tally, uint32_t module,
                      uint64_t offset, const uint64_t *more)
{
    struct td_snapshots *snapshots = a->snapshots;
    const struct task *task = &a->image->tasks[tally->task];

    if (!(tally->path < task->path_count && task->paths[tally->path].inside) &&
        !td_toggle_has(snapshots->toggle, module, offset))
        return false;
    if (task->variant > 0)
        return true;
    snapshots->inside_slots += slots_of(more);
    snapshots->inside_instructions += more[TD_SIM_COLUMN_INSTRUCTIONS];
    return true;
}

/* The profile's region of a tally's; TD_NONE: in none, or it is one too many. */
static uint32_t region_of(struct adding *a, const struct task *task, uint32_t region)
{
    struct td_snapshots *snapshots = a->snapshots;

    if (region == 0 || region > task->regions.count)
        return TD_NONE;
    const uint32_t id = task->regions.at[region - 1].id;
    if (td_map_find(&snapshots->apart, id, 0))
        return id;
    if (snapshots->apart.len >= APART_MAX) {
        warn_once(snapshots, "there are more regions than can be kept apart: --region knows the "
                             "places of the first 256");
        return TD_NONE;
    }
    td_map_put(&snapshots->apart, id, 0, 0, NULL);
    return id;
}

/* A tally of a variant: its slots, whatever they went to. */
static void write_variant(struct adding *a, struct task *task, uint32_t region, uint32_t node,
                          const uint64_t *more)
{
    const uint64_t values[TD_VARIANT_COLUMNS] = {slots_of(more), more[TD_SIM_COLUMN_INSTRUCTIONS]};

    if (task->variant > a->snapshots->variant_count)
        return; /* the program wrote into the mailbox */
    td_profile_tally(a->snapshots->writer, thread_of(a, task), node,
                     variant_group(a->snapshots, task->variant, region), 0, values);
}

static void write_tally(struct adding *a, const struct td_snapshot_tally *tally,
                        struct place *place, const uint64_t *more)
{
    struct td_profile_writer *writer = a->snapshots->writer;
    struct task *task = &a->image->tasks[tally->task];

    if (a->snapshots->toggle) {
        uint32_t module = TD_NONE;
        const uint64_t offset = locate(a, tally->pc, &module);

        if (!is_inside(a, tally, module, offset, more))
            return;
    }
    if (place->epoch != td_profile_node_epoch(writer)) {
        uint32_t module = TD_NONE;
        const uint64_t offset = locate(a, tally->pc, &module);
        const uint32_t path = path_node(a, task, tally->path);

        place->node = td_profile_new_node(writer, path, module, offset);
        place->epoch = td_profile_node_epoch(writer);
    }
    const uint32_t region = region_of(a, task, tally->region);
    if (task->variant > 0) {
        write_variant(a, task, region, place->node, more);
        return;
    }
    const uint32_t group = region == TD_NONE ? a->snapshots->group
                                             : group_in(a->snapshots, GROUP_MODEL, region,
                                                        &a->snapshots->model, "modelled");
    td_profile_tally(writer, thread_of(a, task), place->node, group,
                     more[TD_SIM_COLUMN_INSTRUCTIONS], more);
}

/* What a tally tells more than it did before. */
static void add_tally(struct adding *a, const struct td_snapshot_tally *tally,
                      const uint64_t *before, struct place *place)
{
    uint64_t more[TD_SIM_COLUMN_COUNT], any = 0;

    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++)
        any |= more[c] = tally->values[c] - before[c];
    if (any)
        write_tally(a, tally, place, more);
}

/* A tally that the image does not have any more. */
static void take_back(struct adding *a, const struct td_snapshot_tally *tally, struct place *place)
{
    uint64_t more[TD_SIM_COLUMN_COUNT];

    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++)
        more[c] = 0 - tally->values[c];
    write_tally(a, tally, place, more);
}

static bool next_tally(struct td_snapshot_walk *walk)
{
    enum td_snapshot_item item;

    do {
        item = td_snapshot_next(walk);
    } while (item != TD_SNAPSHOT_TALLY && item != TD_SNAPSHOT_END);
    return item == TD_SNAPSHOT_TALLY;
}

static int compare_places(const struct td_snapshot_tally *a, const struct td_snapshot_tally *b)
{
    if (a->task != b->task)
        return a->task < b->task ? -1 : 1;
    if (a->region != b->region)
        return a->region < b->region ? -1 : 1;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    return (a->pc > b->pc) - (a->pc < b->pc);
}

static void add_next(struct adding *a, const struct td_snapshot_tally *tally,
                     const uint64_t *before, const struct place *known)
{
    a->places = td_grow(a->places, &a->place_cap, a->place_count + 1, sizeof(*a->places));
    a->places[a->place_count] = known ? *known : (struct place){.epoch = TD_NONE};
    add_tally(a, tally, before, &a->places[a->place_count++]);
}

/* They say how sure the whole is, so they wait for it. */
static void add_replicates(struct adding *a, const struct td_snapshot_replicates *replicates)
{
    struct td_profile_writer *writer = a->snapshots->writer;
    struct task *task = &a->image->tasks[replicates->task];
    uint64_t values[TD_REPLICATES];
    uint32_t module = TD_NONE;

    /* All slots of a variant, or a node's of the core. */
    if ((task->variant > 0) != (replicates->column == TD_SIM_ALL_SLOTS))
        return;
    const uint32_t group =
        replicates_group(a->snapshots, task->variant, (enum td_sim_column)replicates->column,
                         region_of(a, task, replicates->region));
    const uint64_t offset = locate(a, replicates->pc, &module);
    const uint32_t node = td_profile_node(writer, 0, module, offset);
    for (int r = 0; r < TD_REPLICATES; r++)
        values[r] = (uint64_t)replicates->values[r];
    td_profile_tally(writer, thread_of(a, task), node, group, 0, values);
}

static void add_region(struct adding *a, const struct td_snapshot_walk *walk)
{
    const struct td_snapshot_region *region = &walk->region;
    struct task *task = &a->image->tasks[region->task];
    struct td_region_row row = region->row;

    row.thread = thread_of(a, task);
    row.group = a->snapshots->group;
    row.unit = TD_UNIT_SLOTS;
    const struct td_region_news news = {.number = walk->region_count - 1,
                                        .parent = region->parent,
                                        .name = region->name,
                                        .name_len = region->name_len,
                                        .row = task->variant ? NULL : &row,
                                        .values = region->values};
    td_written_regions_put(&task->regions, a->snapshots->writer, &news);
}

/* Counts of the code are those of the whole run, so they wait for its end. What cannot be read is
 * left out: the rest does not depend on it. */
static void add_code(struct adding *a, const struct td_snapshot_code *code)
{
    struct td_snapshots *snapshots = a->snapshots;
    struct td_rd rd = td_rd_init(code->bytes, code->size, 0);
    struct td_ran_block block;
    uint32_t module = TD_NONE;

    if (!snapshots->code) {
        snapshots->code = td_ran_new();
        snapshots->code_room = td_xcalloc(1, sizeof(*snapshots->code_room));
    }
    td_ran_get(&rd, &block, snapshots->code_room);
    if (!td_rd_ok(&rd))
        return;
    block.offset = locate(a, code->place, &module);
    block.module = module;
    td_ran_add(snapshots->code, &block);
}

static struct td_shared_side add_side(struct adding *a, const struct td_snapshot_side *side)
{
    struct td_shared_side ours = {
        .thread = TD_NONE, .module = TD_NONE, .location = TD_NONE, .store = side->store};

    if (side->task != TD_NONE)
        ours.thread = thread_of(a, &a->image->tasks[side->task]);
    if (side->pc != 0)
        ours.offset = locate(a, side->pc, &ours.module);
    return ours;
}

/* What is known at the end is known of all. */
static void add_shared(struct adding *a, const struct td_snapshot_shared *shared)
{
    struct td_shared_row row = {.process = thread_of(a, &a->image->tasks[0]),
                                .address = shared->address,
                                .area = shared->area,
                                .module = TD_NONE,
                                .mine = add_side(a, &shared->mine),
                                .theirs = add_side(a, &shared->theirs),
                                .is_false = shared->is_false,
                                .transfers = shared->transfers,
                                .invalidations = shared->invalidations,
                                .cycles = shared->cycles};

    if (shared->area == TD_SHARED_MODULE) {
        row.module = a->modules[shared->module];
        row.offset = shared->offset;
    }
    if (shared->area == TD_SHARED_MODULE && row.module == TD_NONE)
        row.area = TD_SHARED_OTHER;
    td_profile_shared(a->snapshots->writer, &row);
}

/* The same instruction in other threads and images adds up: written once, at the end. */
static void add_habit(struct adding *a, const struct td_habit *from)
{
    struct td_habit habit = *from;

    habit.offset = locate(a, from->offset, &habit.module);
    for (uint32_t i = 0; i < habit.mark_count; i++) {
        struct td_habit_mark *mark = &habit.marks[i];

        if (mark->module != TD_NONE)
            mark->key = (int64_t)locate(a, (uint64_t)mark->key, &mark->module);
    }
    td_habits_put(&a->snapshots->habits, &habit);
}

/* Those that are not tallies. */
static void add_item(struct adding *a, const struct td_snapshot_walk *walk,
                     enum td_snapshot_item item)
{
    if (item == TD_SNAPSHOT_PATH)
        add_path(a, walk->tally.task, &walk->path);
    else if (item == TD_SNAPSHOT_REGION)
        add_region(a, walk);
    else if (!a->last)
        return; /* the rest is of the end alone */
    else if (item == TD_SNAPSHOT_REPLICATES)
        add_replicates(a, &walk->replicates);
    else if (a->image->tasks[walk->tally.task].variant > 0)
        return; /* of a variant, only what it took is told, and how sure that is */
    else if (item == TD_SNAPSHOT_SHARED)
        add_shared(a, &walk->shared);
    else if (item == TD_SNAPSHOT_CODE)
        add_code(a, &walk->code);
    else if (item == TD_SNAPSHOT_HABIT)
        add_habit(a, &walk->habit);
}

/* Both snapshots have their tallies in the same order. */
static void add_items(struct adding *a, struct td_snapshot_walk now)
{
    static const uint64_t nothing[TD_SIM_COLUMN_COUNT];
    struct td_snapshot_walk last = a->image->begin;
    struct place *place = a->image->places; /* of last.tally */
    bool more = next_tally(&last);
    enum td_snapshot_item item;

    while ((item = td_snapshot_next(&now)) != TD_SNAPSHOT_END) {
        if (item != TD_SNAPSHOT_TALLY) {
            add_item(a, &now, item);
            continue;
        }
        for (; more && compare_places(&last.tally, &now.tally) < 0; more = next_tally(&last))
            take_back(a, &last.tally, place++);
        const bool known = more && compare_places(&last.tally, &now.tally) == 0;
        add_next(a, &now.tally, known ? last.tally.values : nothing, known ? place : NULL);
        if (known) {
            more = next_tally(&last);
            place++;
        }
    }
    for (; more; more = next_tally(&last))
        take_back(a, &last.tally, place++);
}

static uint64_t count_threads(const struct td_snapshot *snapshot)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < snapshot->task_count; i++)
        count += snapshot->tasks[i].variant == 0;
    return count;
}

static void add_counters(struct adding *a)
{
    const struct td_snapshot *snapshot = a->snapshot;
    const struct {
        uint64_t now;
        enum td_counter counter;
        bool of_tasks; /* a native run counts them itself */
    } summed[] = {
        {snapshot->cycles, TD_COUNTER_CYCLES, false},
        {snapshot->instructions, TD_COUNTER_INSTRUCTIONS, false},
        {snapshot->detailed, TD_COUNTER_DETAILED, false},
        {snapshot->misuse.strays, TD_COUNTER_REGION_STRAYS, false},
        {snapshot->misuse.left_open, TD_COUNTER_REGION_OPEN, false},
#define X(symbol, counter) {snapshot->events[TD_SIM_EVENT_##symbol], TD_COUNTER_##counter, false},
        TD_SIM_EVENTS(X)
#undef X
            {1, TD_COUNTER_PROCESSES, true},
        {count_threads(snapshot), TD_COUNTER_THREADS, true},
    };
    struct td_snapshots *snapshots = a->snapshots;
    const uint64_t cycles = snapshots->width ? snapshots->inside_slots / snapshots->width : 0;

    for (size_t i = 0; i < TD_ARRAY_SIZE(summed); i++) {
        uint64_t *before = &a->image->counters[summed[i].counter];

        snapshots->counters[summed[i].counter] += summed[i].now - *before;
        *before = summed[i].now;
        if (!snapshots->windows && (!snapshots->native || !summed[i].of_tasks))
            td_profile_counter(
                snapshots->writer, summed[i].counter,
                !snapshots->toggle || summed[i].of_tasks ? snapshots->counters[summed[i].counter]
                : summed[i].counter == TD_COUNTER_CYCLES ? cycles
                                                         : snapshots->inside_instructions);
    }
    for (unsigned i = 0; !snapshots->windows && i < TD_CPI_COUNTS; i++) {
        const enum td_counter counter = (enum td_counter)((unsigned)TD_COUNTER_CPI_CYCLES + i);

        snapshots->counters[counter] += snapshot->cpi[i] - a->image->counters[counter];
        a->image->counters[counter] = snapshot->cpi[i];
        if (snapshots->counters[TD_COUNTER_CPI_CYCLES])
            td_profile_counter(snapshots->writer, counter, snapshots->counters[counter]);
    }
    /* Processes err independently. */
    const double error = (double)snapshot->cycles_error;
    const double before = (double)a->image->counters[TD_COUNTER_CYCLES_ERROR];
    snapshots->squares += error * error - before * before;
    a->image->counters[TD_COUNTER_CYCLES_ERROR] = snapshot->cycles_error;
    snapshots->counters[TD_COUNTER_CYCLES_ERROR] =
        snapshots->squares > 0 ? (uint64_t)sqrt(snapshots->squares) : 0;
    if (!snapshots->windows)
        td_profile_counter(snapshots->writer, TD_COUNTER_CYCLES_ERROR,
                           snapshots->counters[TD_COUNTER_CYCLES_ERROR]);
}

static void add_warnings(struct adding *a)
{
    static const char *const texts[] = {
#define X(symbol, text) [TD_SNAPSHOT_##symbol] = (text),
        TD_SNAPSHOT_WARNINGS(X)
#undef X
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(texts); i++) {
        if (a->snapshot->warnings >> i & 1)
            warn_once(a->snapshots, texts[i]);
    }
}

/* The image shares its memory with the program, which may write anything there. False, too, when
 * the sum would be more than a profile may hold. */
static bool add_amounts(struct amounts *sum, const struct td_snapshot_tally *tally)
{
    const uint64_t *values = tally->values;

    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++) {
        if (values[c] >= VALUE_MAX)
            return false;
    }
    sum->slots += slots_of(values);
    sum->instructions += values[TD_SIM_COLUMN_INSTRUCTIONS];
    return sum->slots < TD_SUM_MAX / 2 && sum->instructions < TD_SUM_MAX / 2;
}

/* Whether all of it can be read and can be. Sets the sums of all images with it, and of it alone.
 */
static bool is_right(const struct td_snapshots *snapshots, const struct td_snapshot_image *image,
                     const struct td_snapshot_view *view, struct amounts *all, struct amounts *own)
{
    const struct amounts before = image ? image->amounts : (struct amounts){0};
    struct td_snapshot_walk walk = td_snapshot_walk(view);
    enum td_snapshot_item item;

    *own = (struct amounts){0};
    while ((item = td_snapshot_next(&walk)) != TD_SNAPSHOT_END) {
        if (item == TD_SNAPSHOT_TALLY && !add_amounts(own, &walk.tally))
            return false;
    }
    all->slots = snapshots->slots - before.slots + own->slots;
    all->instructions = snapshots->instructions - before.instructions + own->instructions;
    return td_rd_ok(&walk.rd) && all->slots < TD_SUM_MAX / 2 && all->instructions < TD_SUM_MAX / 2;
}

bool td_snapshots_add(struct td_snapshots *snapshots, uint32_t image, struct td_buf *bytes,
                      bool last)
{
    const struct td_snapshot_image *known =
        image < snapshots->image_count ? snapshots->images[image] : NULL;
    struct amounts all, own;
    struct td_snapshot_view view;

    if (td_snapshot_open(&view, bytes->data, bytes->len) != TD_OK)
        return false;
    const bool right = is_right(snapshots, known, &view, &all, &own);
    if (right) {
        struct adding a = {.snapshots = snapshots,
                           .image = image_at(snapshots, image),
                           .snapshot = &view.snapshot,
                           .anonymous = TD_NONE,
                           .last = last,
                           .now_ns = td_clock_ns()};

        a.image->pid = view.snapshot.pid;
        a.image->amounts = own;
        snapshots->slots = all.slots;
        snapshots->instructions = all.instructions;

        describe_group(snapshots);
        add_modules(&a);
        add_tasks(&a);
        add_items(&a, td_snapshot_walk(&view));
        add_counters(&a);
        add_warnings(&a);
        free(a.modules);
        free(a.chain);
        td_buf_release(&a.image->last);
        free(a.image->places);
        a.image->places = a.places;
        a.image->last = *bytes;
        a.image->begin = td_snapshot_walk(&view);
        *bytes = (struct td_buf){0};
    }
    td_snapshot_close(&view);
    return right;
}
