/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/snapshot.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "record/sim/model/callstack.h"
#include "record/sim/share/snapshot.h"
#include "symbolize/identity.h"
#include "symbolize/maps/jitdump.h"

#define DELETED " (deleted)"

_Static_assert(TD_CALL_NODES_MAX <= TD_SNAPSHOT_PATHS_MAX, "a snapshot has room for all paths");

/* A snapshot while it is written. */
struct writing {
    struct td_snapshot snapshot;
    double squares; /* of the threads' errors */
    struct td_snapshot_writer out;
    const struct td_snapshot_maps *maps;
    const struct td_snapshot_source *source;
    const struct td_region_names *region_names; /* NULL: none were marked */
    uint32_t *modules;          /* of the snapshot, plus 1, by index of maps->paths; 0: none yet */
    struct mapped_data *mapped; /* by address */
    size_t mapped_count, mapped_cap;
    bool *used;                   /* by index of maps->code.places */
    const struct td_range *range; /* of the last address */
    const struct td_sim *sim;
    bool *described; /* by path of this sim */
};

/* The path without what the kernel adds to that of a file which was deleted or replaced. */
static size_t path_length(const struct td_map_line *line)
{
    const size_t mark = strlen(DELETED);

    if (line->path_len > mark && memcmp(line->path + line->path_len - mark, DELETED, mark) == 0)
        return line->path_len - mark;
    return line->path_len;
}

static bool is_file(const struct td_snapshot_maps *maps, size_t i, const struct td_map_line *line)
{
    const struct td_file_inode *inode = &maps->files[i].inode;
    const size_t len = path_length(line);

    return inode->inode == line->inode && inode->major == line->major &&
           inode->minor == line->minor && strncmp(maps->paths[i], line->path, len) == 0 &&
           maps->paths[i][len] == '\0';
}

static uint32_t file_of(struct td_snapshot_maps *maps, const struct td_map_line *line)
{
    size_t i = 0;

    while (i < maps->path_count && !is_file(maps, i, line))
        i++;
    if (i < maps->path_count)
        return (uint32_t)i;
    maps->paths = td_grow(maps->paths, &maps->path_cap, maps->path_count + 1, sizeof(*maps->paths));
    maps->files = td_grow(maps->files, &maps->file_cap, maps->path_count + 1, sizeof(*maps->files));
    maps->paths[i] = td_xstrndup(line->path, path_length(line));
    maps->files[i] = (struct td_snapshot_file){
        .inode = {.major = line->major, .minor = line->minor, .inode = line->inode},
        .start = line->start,
        .end = line->end,
    };
    maps->path_count++;
    return (uint32_t)i;
}

void td_snapshot_maps_update(struct td_snapshot_maps *maps)
{
    char *text = td_procfs_text(NULL, "/proc/self/maps");
    const char *at = text;
    struct td_map_line line;

    maps->stale = maps->more = false;
    /* Where /proc is out of reach, what is known stays. */
    if (text)
        td_mappings_clear(&maps->code);
    maps->updates++;
    while (at && td_map_line_next(&at, &line)) {
        if (line.path_len == 0 || line.path[0] != '/')
            continue;
        const struct td_range range = {.start = line.start,
                                       .end = line.end,
                                       .offset = line.offset,
                                       .value = file_of(maps, &line)};
        td_mappings_add(&maps->code, &range);
    }
    free(text);
}

/* Looked at once, when code of it is about to run: the program may take the file away, or hide it.
 */
static const struct td_build_id *id_of(struct td_snapshot_maps *maps, uint32_t index)
{
    struct td_snapshot_file *file = &maps->files[index];
    char mapped[64];

    if (file->looked)
        return &file->id;
    file->looked = true;
    snprintf(mapped, sizeof(mapped), "/proc/self/map_files/%llx-%llx",
             (unsigned long long)file->start, (unsigned long long)file->end);
    if (td_identity_read(mapped, &file->inode, &file->id, NULL) != TD_OK &&
        td_identity_read(maps->paths[index], &file->inode, &file->id, NULL) != TD_OK)
        file->id = td_file_id_of_inode(&file->inode);
    return &file->id;
}

/* Code that lies where no file is mapped any more. */
struct copied {
    const struct td_snapshot_maps *maps;
    const uint8_t *code;
    size_t size;
};

/* Programs copy their code to memory of their own, of large pages, and put that where the file was:
 * it is the file's code all the same. */
static bool is_in_file(void *ctx, uint32_t file, uint64_t offset)
{
    const struct copied *copied = ctx;
    uint8_t bytes[4096];
    bool same = false;

    if (copied->size > sizeof(bytes))
        return false;
    const int fd = open(copied->maps->paths[file], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    same = pread(fd, bytes, copied->size, (off_t)offset) == (ssize_t)copied->size &&
           memcmp(bytes, copied->code, copied->size) == 0;
    close(fd);
    return same;
}

uint64_t td_snapshot_maps_place(struct td_snapshot_maps *maps, uint64_t pc, const uint8_t *code,
                                size_t size)
{
    struct copied copied = {.maps = maps, .code = code, .size = size};
    uint64_t place = pc;

    if (maps->stale || maps->updates == 0)
        td_snapshot_maps_update(maps);
    const struct td_range *range = td_mappings_find(&maps->code, pc, &place);
    if (!range && maps->more) {
        td_snapshot_maps_update(maps);
        range = td_mappings_find(&maps->code, pc, &place);
    }
    if (!range)
        return td_mappings_place_copy(&maps->code, pc, is_in_file, &copied);
    id_of(maps, range->value);
    return place;
}

/* Only what is used is told. */
static void use_address(struct writing *w, uint64_t address)
{
    if (w->range && address >= w->range->start && address < w->range->end)
        return;
    w->range = td_range_set_find(&w->maps->code.places, address);
    if (w->range)
        w->used[w->range - w->maps->code.places.items] = true;
}

/* A path and those above it, outermost first. */
static void describe_path(struct writing *w, uint32_t id)
{
    uint32_t chain[TD_SIM_DEPTH_MAX + 1];
    size_t depth = 0;

    for (; id != 0 && !w->described[id] && depth < TD_ARRAY_SIZE(chain);
         id = td_sim_path(w->sim, id).parent)
        chain[depth++] = id;
    while (depth > 0) {
        const struct td_sim_path from = td_sim_path(w->sim, chain[--depth]);
        const struct td_snapshot_path path = {
            .id = chain[depth], .parent = from.parent, .call = from.call};

        use_address(w, path.call);
        td_snapshot_put_path(&w->out, &path);
        w->described[path.id] = true;
    }
}

static void write_tally(void *ctx, const struct td_sim_tally *tally)
{
    struct writing *w = ctx;

    describe_path(w, tally->path);
    use_address(w, tally->pc);
    td_snapshot_put_tally(&w->out, tally->region, tally->path, tally->pc, tally->values);
}

static void write_replicates(void *ctx, uint32_t region, uint64_t pc, enum td_sim_column column,
                             const int64_t values[TD_REPLICATES])
{
    struct writing *w = ctx;
    struct td_snapshot_replicates replicates = {.region = region, .pc = pc, .column = column};

    use_address(w, pc);
    memcpy(replicates.values, values, sizeof(replicates.values));
    td_snapshot_put_replicates(&w->out, &replicates);
}

static void write_habit(void *ctx, const struct td_habit *habit)
{
    struct writing *w = ctx;

    use_address(w, habit->offset);
    for (uint32_t i = 0; i < habit->mark_count; i++) {
        if (habit->marks[i].module != TD_NONE)
            use_address(w, (uint64_t)habit->marks[i].key);
    }
    td_snapshot_put_habit(&w->out, habit);
}

static void write_region(void *ctx, const struct td_sim_region *from)
{
    struct writing *w = ctx;
    struct td_snapshot_region region = {.parent = from->parent, .row = from->row};

    region.name = td_region_names_text(w->region_names, from->name);
    region.name_len = strlen(region.name);
    memcpy(region.values, from->values, sizeof(region.values));
    td_snapshot_put_region(&w->out, &region);
}

static void write_code(void *ctx, const struct td_ran_block *block)
{
    struct writing *w = ctx;

    use_address(w, block->offset);
    td_snapshot_put_code(&w->out, block);
}

/* Of a variant, what it took is told, in which region, how sure that is, and nothing else. */
static void write_variant(struct writing *w, const struct td_sim *sim)
{
    w->sim = sim;
    w->described = td_xcalloc(td_sim_path_count(sim), sizeof(*w->described));
    td_sim_each_region(sim, write_region, w);
    td_sim_each_tally(sim, write_tally, w);
    td_sim_each_replicates(sim, write_replicates, w);
    free(w->described);
}

/* `error`: two standard errors of the cycles. */
static void add_totals(struct writing *w, const struct td_snapshot *part, double error)
{
    w->snapshot.cycles += part->cycles;
    w->snapshot.instructions += part->instructions;
    w->snapshot.detailed += part->detailed;
    for (size_t i = 0; i < TD_SIM_EVENT_COUNT; i++)
        w->snapshot.events[i] += part->events[i];
    for (size_t i = 0; i < TD_CPI_COUNTS; i++)
        w->snapshot.cpi[i] += part->cpi[i];
    w->snapshot.warnings |= part->warnings;
    w->snapshot.misuse.strays += part->misuse.strays;
    w->snapshot.misuse.left_open += part->misuse.left_open;
    w->squares += error * error;
}

static void write_running(struct writing *w, const struct td_sim *sim)
{
    struct td_sim_totals totals;

    w->sim = sim;
    w->described = td_xcalloc(td_sim_path_count(sim), sizeof(*w->described));
    td_sim_each_region(sim, write_region, w);
    td_sim_each_tally(sim, write_tally, w);
    td_sim_each_replicates(sim, write_replicates, w);
    td_sim_each_code(sim, write_code, w);
    td_sim_each_habit(sim, write_habit, w);
    free(w->described);
    td_sim_totals(sim, &totals);
    struct td_snapshot part = {
        .cycles = totals.cycles,
        .instructions = totals.instructions,
        .detailed = totals.detailed,
        .misuse = td_sim_region_misuse(sim),
        .warnings = (uint32_t)(totals.unproven_paths > 0) << TD_SNAPSHOT_UNPROVEN |
                    (uint32_t)(totals.folded_calls > 0) << TD_SNAPSHOT_FOLDED |
                    (uint32_t)(totals.truncated_calls > 0) << TD_SNAPSHOT_TRUNCATED,
    };
    td_sim_events(sim, part.events);
    td_sim_counting(sim, part.cpi);
    add_totals(w, &part, totals.cycles_error);
}

static void write_ended(struct writing *w, const struct td_buf *ended, unsigned variant)
{
    enum td_snapshot_item item = TD_SNAPSHOT_END;
    struct td_snapshot_view view;

    if (td_snapshot_open(&view, ended->data, ended->len) != TD_OK)
        return;
    struct td_snapshot_walk walk = td_snapshot_walk(&view);
    while ((item = td_snapshot_next(&walk)) != TD_SNAPSHOT_END) {
        switch (item) {
        case TD_SNAPSHOT_PATH:
            use_address(w, walk.path.call);
            td_snapshot_put_path(&w->out, &walk.path);
            break;
        case TD_SNAPSHOT_TALLY:
            use_address(w, walk.tally.pc);
            td_snapshot_put_tally(&w->out, walk.tally.region, walk.tally.path, walk.tally.pc,
                                  walk.tally.values);
            break;
        case TD_SNAPSHOT_REPLICATES:
            use_address(w, walk.replicates.pc);
            td_snapshot_put_replicates(&w->out, &walk.replicates);
            break;
        case TD_SNAPSHOT_REGION: td_snapshot_put_region(&w->out, &walk.region); break;
        case TD_SNAPSHOT_CODE:
            use_address(w, walk.code.place);
            td_snapshot_copy_code(&w->out, &walk.code);
            break;
        case TD_SNAPSHOT_HABIT: write_habit(w, &walk.habit); break;
        case TD_SNAPSHOT_SHARED:
        case TD_SNAPSHOT_END: break;
        }
    }
    if (variant == 0)
        add_totals(w, &view.snapshot, (double)view.snapshot.cycles_error);
    td_snapshot_close(&view);
}

/* A stretch of memory that belongs to a file: what is mapped of it, and the data that begin as
 * zeros behind that. */
struct mapped_data {
    uint64_t start, end, base; /* base: where the file begins in memory */
    uint32_t file;             /* index of maps->paths */
};

static void add_mapped(struct writing *w, const struct mapped_data *data)
{
    w->mapped = td_grow(w->mapped, &w->mapped_cap, w->mapped_count + 1, sizeof(*w->mapped));
    w->mapped[w->mapped_count++] = *data;
}

static void read_mapped(struct writing *w, struct td_snapshot_maps *maps)
{
    char *text = td_procfs_text(NULL, "/proc/self/maps");
    const char *at = text;
    struct mapped_data last = {0};
    struct td_map_line line;

    while (at && td_map_line_next(&at, &line)) {
        const bool file = line.path_len > 0 && line.path[0] == '/';
        const bool follows = last.end != 0 && line.start == last.end;

        if (file) {
            const uint32_t index = file_of(maps, &line);

            last = (struct mapped_data){
                .start = line.start,
                .end = line.end,
                .base = line.offset != 0 && last.end != 0 && last.file == index ? last.base
                                                                                : line.start,
                .file = index};
        } else if (line.path_len == 0 && follows) {
            last.start = line.start;
            last.end = line.end;
        } else {
            last.end = 0;
            continue;
        }
        add_mapped(w, &last);
    }
    free(text);
}

static const struct mapped_data *find_mapped(const struct writing *w, uint64_t address)
{
    for (size_t i = 0; i < w->mapped_count; i++) {
        if (address >= w->mapped[i].start && address < w->mapped[i].end)
            return &w->mapped[i];
    }
    return NULL;
}

/* The snapshot's module of a file. */
static uint32_t module_of(struct writing *w, struct td_snapshot_maps *maps, uint32_t file)
{
    struct td_snapshot *snapshot = &w->snapshot;

    if (!w->modules[file]) {
        snapshot->modules[snapshot->module_count] =
            (struct td_snapshot_module){.path = maps->paths[file], .build_id = *id_of(maps, file)};
        w->modules[file] = ++snapshot->module_count;
    }
    return w->modules[file] - 1;
}

static void find_area(struct writing *w, struct td_snapshot_shared *shared)
{
    const struct td_snapshot_areas *areas = &w->source->areas;
    const uint64_t address = shared->address;

    if (address == 0) {
        shared->area = TD_SHARED_LINES;
    } else if (address >= areas->heap_start && address < areas->heap_end) {
        shared->area = TD_SHARED_HEAP;
    } else if (address >= areas->stack_start && address < areas->stack_end) {
        shared->area = TD_SHARED_STACK;
    } else {
        const struct mapped_data *mapped = find_mapped(w, address);

        if (!mapped)
            return;
        shared->area = TD_SHARED_MODULE;
        shared->module = module_of(w, w->source->maps, mapped->file);
        shared->offset = address - mapped->base;
    }
}

static struct td_snapshot_side side_of(struct writing *w, const struct td_sharing_side *side)
{
    const bool known = side->thread < w->source->thread_count / w->source->tasks_each;

    if (side->place != 0)
        use_address(w, side->place);
    return (struct td_snapshot_side){.task = known ? side->thread * w->source->tasks_each : TD_NONE,
                                     .store = side->store,
                                     .pc = side->place};
}

static void write_shared(void *ctx, const struct td_sharing_row *row)
{
    struct writing *w = ctx;
    struct td_snapshot_shared shared = {.address = row->line << 6,
                                        .area = TD_SHARED_OTHER,
                                        .mine = side_of(w, &row->mine),
                                        .theirs = side_of(w, &row->theirs),
                                        .is_false = row->is_false,
                                        .transfers = row->transfers,
                                        .invalidations = row->invalidations,
                                        .cycles = row->cycles};

    find_area(w, &shared);
    td_snapshot_put_shared(&w->out, &shared);
}

static void write_thread(struct writing *w, const struct td_snapshot_thread *thread)
{
    w->snapshot.tasks[w->snapshot.task_count++] = (struct td_snapshot_task){
        .tid = thread->tid, .name = thread->name, .variant = thread->variant};
    if (!thread->sim)
        write_ended(w, &thread->ended, thread->variant);
    else if (thread->variant > 0)
        write_variant(w, thread->sim);
    else
        write_running(w, thread->sim);
    if (w->snapshot.task_count == 1 && w->source->sharing)
        td_sharing_each(w->source->sharing, write_shared, w);
    td_snapshot_end_task(&w->out);
}

/* The files and mappings that were used. */
static void add_ranges(struct writing *w, struct td_snapshot_maps *maps)
{
    struct td_snapshot *snapshot = &w->snapshot;

    for (size_t i = 0; i < maps->code.places.len; i++) {
        struct td_range range = maps->code.places.items[i];
        const uint32_t file = range.value;

        /* A jitdump is mapped so that it is found, and never run. */
        if (!w->used[i] && !td_jitdump_is_name(maps->paths[file]))
            continue;
        range.value = module_of(w, maps, file);
        td_range_set_put(&snapshot->ranges, &range);
    }
}

void td_snapshot_write(struct td_buf *ret, const struct td_snapshot_source *image)
{
    struct writing w = {
        .snapshot = {.pid = image->pid, .process = image->process, .start_ns = image->start_ns},
        .maps = image->maps,
        .source = image,
        .region_names = image->region_names,
        .used = td_xcalloc(image->maps->code.places.len + 1, sizeof(*w.used)),
    };

    w.snapshot.tasks = td_xcalloc(image->thread_count + 1, sizeof(*w.snapshot.tasks));
    if (image->sharing)
        read_mapped(&w, image->maps);
    w.modules = td_xcalloc(image->maps->path_count + 1, sizeof(*w.modules));
    w.snapshot.modules = td_xcalloc(image->maps->path_count + 1, sizeof(*w.snapshot.modules));
    for (size_t i = 0; i < image->thread_count; i++)
        write_thread(&w, &image->threads[i]);
    w.snapshot.cycles_error = (uint64_t)sqrt(w.squares);
    add_ranges(&w, image->maps);
    td_snapshot_put(ret, &w.snapshot, &w.out);
    free(w.snapshot.modules);
    free(w.snapshot.tasks);
    free(w.modules);
    free(w.mapped);
    td_range_set_release(&w.snapshot.ranges);
    free(w.used);
}

void td_snapshot_end_thread(struct td_snapshot_thread *thread,
                            const struct td_region_names *region_names)
{
    struct td_snapshot_maps none = {.paths = NULL};
    struct td_snapshot_thread own = *thread;
    const struct td_snapshot_source alone = {
        .maps = &none, .region_names = region_names, .threads = &own, .thread_count = 1};
    struct td_buf ended = {0};

    own.variant = 0; /* alone it stands for itself */
    td_snapshot_write(&ended, &alone);
    thread->sim = NULL;
    thread->ended = ended;
}
