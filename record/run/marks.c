/* SPDX-License-Identifier: MIT */
#include "record/run/marks.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "formats/sums.h"
#include "record/machine/pmu_core.h"
#include "record/run/target.h"
#include "record/sim/share/sealed.h"
#include "symbolize/elf/elf.h"

/* 170,000 threads and regions: address space, of which takes room what is written. */
#define MEMORY_BYTES     (UINT64_C(64) << 20)
#define MEMORY_MIN_BYTES (UINT64_C(1) << 20)

_Static_assert(sizeof(struct tdprof1_head) <= TDPROF_HEAD_BYTES, "the head has a page");
_Static_assert(sizeof(struct tdprof1_cell) % 64 == 0, "cells of threads share no cache line");

/* One of the profile, summed over what programs wrote. */
struct written {
    struct td_region_row row;
    uint64_t values[TDPROF_EVENTS_MAX];
};

struct td_marks {
    int fd;
    struct tdprof1_head *head;
    size_t size;
    char **env;
    char *variable; /* its last word; the others are of our own environment */
    struct td_plan_event events[TDPROF_EVENTS_MAX];
    char cpu_type[32];
    uint32_t event_count; /* of those; what programs share may have been changed */
    uint32_t group;       /* the profile's; TD_NONE: not described yet */
    struct td_intern *names;
    struct td_map regions; /* parent + 1 and name to the profile's region */
};

/* Which programs have marks. */

static bool holds(const char *data, size_t size)
{
    static const char *const words[] = {TDPROF_VARIABLE, "libtdprof-region"};

    for (size_t i = 0; i < TD_ARRAY_SIZE(words); i++) {
        if (memmem(data, size, words[i], strlen(words[i])))
            return true;
    }
    return false;
}

/* By pieces, each with the end of the one before: a word may lie on both sides. */
static bool part_holds(int fd, const struct td_elf_segment *part)
{
    enum { PIECE = 1 << 18, OVERLAP = 32 };
    char *data = td_xcalloc(1, OVERLAP + PIECE);
    size_t kept = 0;
    bool found = false;

    for (uint64_t at = 0; !found && at < part->file_size;) {
        const uint64_t left = part->file_size - at;
        const ssize_t got =
            pread(fd, data + kept, left < PIECE ? left : PIECE, (off_t)(part->offset + at));

        if (got <= 0)
            break;
        const size_t size = kept + (size_t)got;

        found = holds(data, size);
        at += (uint64_t)got;
        kept = size < OVERLAP ? size : OVERLAP;
        memmove(data, data + size - kept, kept);
    }
    free(data);
    return found;
}

/* What is loaded alone: debug information may be far larger, and says the same words of sources. */
static bool program_holds(const char *path, int fd)
{
    struct td_elf *elf = NULL;
    struct td_err err = TD_ERR_INIT;
    bool found = false;

    if (td_elf_open_fd(&elf, path, fd, &err) < 0)
        return false;
    for (size_t i = 0; !found && i < td_elf_segment_count(elf); i++)
        found = part_holds(fd, td_elf_segment_at(elf, i));
    td_elf_free(elf);
    return found;
}

bool td_marks_are_in(const char *command)
{
    char *path = td_target_find_program(command);
    struct stat st;
    const bool file = path && stat(path, &st) == 0 && S_ISREG(st.st_mode);
    const int fd = file ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    const bool found = fd >= 0 && program_holds(path, fd);

    if (fd >= 0)
        close(fd);
    free(path);
    return found;
}

/* What is counted. */

/* Events of a PMU, which count as long as they are read. */
static bool is_counted(const struct td_plan_group *group)
{
    bool counted = group->role == TD_ROLE_METRIC && group->event_count > 0;

    for (size_t i = 0; i < group->event_count; i++)
        counted = counted && (group->events[i].unit == TD_UNIT_CYCLES ||
                              group->events[i].unit == TD_UNIT_INSTRUCTIONS);
    return counted;
}

/* That of the tree, else the first of cycles or instructions. */
static const struct td_plan_group *counted_group(const struct td_plan *plan)
{
    const struct td_plan_group *other = NULL;

    for (size_t g = 0; g < plan->group_count; g++) {
        const struct td_plan_group *group = &plan->groups[g];

        if (group->pass > 1 || group->waits)
            continue;
        if (group->role == TD_ROLE_SLOTS)
            return group;
        if (!other && is_counted(group))
            other = group;
    }
    return other;
}

/* Whether all these events of the core count at the same time. */
static bool fits(const struct td_marks *marks, const struct td_pmu_core *core,
                 struct td_pmu_counters counters)
{
    uint32_t events[TDPROF_EVENTS_MAX];
    const uint32_t count = marks->event_count;

    for (uint32_t e = 0; e < count; e++) {
        const int event = td_pmu_core_event(core, marks->events[e].name);

        if (event < 0)
            return false;
        events[e] = (uint32_t)event;
    }
    return td_pmu_counters_take(&counters, core, events, count);
}

static struct td_plan_event event_of(const struct td_marks *marks, const struct td_pmu *pmu,
                                     const struct td_pmu_core *core, int index)
{
    struct td_plan_event event = marks->events[0];

    snprintf(event.name, sizeof(event.name), "%s", core->events[index].name);
    event.unit = TD_UNIT_INSTRUCTIONS;
    event.type = core->type >= 0 ? (uint32_t)core->type : pmu->type;
    event.config[0] = core->events[index].config;
    event.config[1] = core->events[index].config1;
    event.config[2] = 0;
    return event;
}

/* Adds the event to those that are counted, in the place of one that the tree does without if there
 * is no room else. */
static void add_if_it_fits(struct td_marks *marks, const struct td_plan_event *event,
                           const struct td_pmu_core *core, struct td_pmu_counters counters)
{
    const uint32_t count = marks->event_count;

    if (count == TDPROF_EVENTS_MAX)
        return;
    marks->events[count] = *event;
    marks->event_count++;
    if (fits(marks, core, counters))
        return;
    marks->event_count--;
    if (strcmp(marks->events[count - 1].name, "smt_stalls") != 0)
        return;
    const struct td_plan_event last = marks->events[count - 1];
    marks->events[count - 1] = *event;
    if (!fits(marks, core, counters))
        marks->events[count - 1] = last;
}

/* Some formulas of cores do without instructions. */
static void add_instructions(struct td_marks *marks, const struct td_caps *caps)
{
    for (size_t i = 0; i < caps->pmu_count; i++) {
        const struct td_pmu *pmu = &caps->pmus[i];
        struct td_pmu_choice choice = {0};
        struct td_err err = TD_ERR_INIT;

        if (!pmu->core || (marks->cpu_type[0] && strcmp(marks->cpu_type, pmu->name) != 0) ||
            td_pmu_choose(&choice, caps, pmu, &err) < 0)
            continue;
        const int index = td_pmu_core_event(choice.core, "inst_retired");
        if (index >= 0) {
            const struct td_plan_event event = event_of(marks, pmu, choice.core, index);

            add_if_it_fits(marks, &event, choice.core,
                           td_pmu_counters_free(choice.core, caps, pmu));
        }
        td_pmu_choice_release(&choice);
        return;
    }
}

static uint64_t flags_of(const struct td_plan_event *event)
{
    const struct perf_event_attr attr = {
        .exclude_user = event->exclude_user,
        .exclude_kernel = event->exclude_kernel,
        .exclude_hv = event->exclude_hv,
        .exclude_host = event->exclude_host,
        .exclude_guest = event->exclude_guest,
    };
    uint64_t flags = 0;

    /* The flags are the word behind read_format. */
    memcpy(&flags, (const char *)&attr + offsetof(struct perf_event_attr, read_format) + 8,
           sizeof(flags));
    return flags;
}

/* The number of an event's 8 bits in PERF_METRICS, from 1 on; 0: a counter. The kernel's events of
 * it are 0x8000 to 0x8700, beside the slots' 0x400 that lead (arch/x86/events/perf_event.h). */
static uint32_t metric_of(const struct td_plan_event *events, size_t i)
{
    const uint64_t config = events[i].config[0];

    if (i == 0 || events[0].config[0] != 0x400 || events[i].unit != TD_UNIT_SLOTS ||
        (config & 0xff) || config < 0x8000 || config > 0x8700)
        return 0;
    return (uint32_t)(config >> 8) - 0x80 + 1;
}

static void add_event(struct td_marks *marks, const struct td_plan_event *event)
{
    if (marks->event_count < TDPROF_EVENTS_MAX)
        marks->events[marks->event_count++] = *event;
}

static void choose_events(struct td_marks *marks, const struct td_plan *plan,
                          const struct td_caps *caps)
{
    const struct td_plan_group *group = counted_group(plan);
    struct tdprof1_head *head = marks->head;
    bool counted = false;

    if (!group)
        return;
    snprintf(marks->cpu_type, sizeof(marks->cpu_type), "%s", group->cpu_type);
    for (size_t i = 0; i < group->event_count; i++) {
        counted = counted || group->events[i].unit == TD_UNIT_INSTRUCTIONS;
        if (!td_plan_is_second(group, i))
            add_event(marks, &group->events[i]);
    }
    if (!counted)
        add_instructions(marks, caps);
    head->event_count = marks->event_count;
    for (uint32_t e = 0; e < marks->event_count; e++) {
        const struct td_plan_event *event = &marks->events[e];

        head->events[e] = (struct tdprof1_event){.type = event->type,
                                                 .config = event->config[0],
                                                 .config1 = event->config[1],
                                                 .config2 = event->config[2],
                                                 .metric = metric_of(marks->events, e),
                                                 .flags = flags_of(event)};
    }
}

/* The memory. */

/* Ours, with `variable` in place of what tdrec itself may have been given. */
static char **make_env(char *variable)
{
    size_t count = 0, n = 0;

    while (environ[count])
        count++;
    char **env = td_xcalloc(count + 2, sizeof(*env));
    for (size_t i = 0; i < count; i++) {
        if (strncmp(environ[i], TDPROF_VARIABLE "=", sizeof(TDPROF_VARIABLE)) != 0)
            env[n++] = environ[i];
    }
    env[n] = variable;
    return env;
}

static uint32_t cells_of(const struct td_marks *marks)
{
    return (uint32_t)((marks->size - TDPROF_HEAD_BYTES) / sizeof(struct tdprof1_cell));
}

struct td_marks *td_marks_new(const struct td_plan *plan, const struct td_caps *caps)
{
    struct td_marks *marks = td_xcalloc(1, sizeof(*marks));
    const int self = td_procfs_self();

    marks->group = TD_NONE;
    /* The command may have less: what it maps counts against its limits. */
    marks->size = td_sealed_room(MEMORY_BYTES, 16);
    marks->fd =
        marks->size >= MEMORY_MIN_BYTES ? td_sealed_memory("tdprof regions", marks->size) : -1;
    void *at = MAP_FAILED;
    if (marks->fd >= 0)
        at = mmap(NULL, marks->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, marks->fd,
                  0);
    if (at == MAP_FAILED) {
        td_marks_free(marks);
        return NULL;
    }
    marks->head = at;
    choose_events(marks, plan, caps);
    marks->head->cell_count = cells_of(marks);
    marks->head->confined = prctl(PR_GET_SECCOMP) != 0;
    marks->head->magic = TDPROF_MAGIC;
    marks->variable = td_xasprintf(TDPROF_VARIABLE "=%s/proc/%d/fd/%d",
                                   marks->head->confined ? TDPROF_CONFINED : "",
                                   self ? self : (int)getpid(), marks->fd);
    marks->env = make_env(marks->variable);
    marks->names = td_intern_new();
    return marks;
}

void td_marks_free(struct td_marks *marks)
{
    if (!marks)
        return;
    if (marks->head)
        munmap(marks->head, marks->size);
    if (marks->fd >= 0)
        close(marks->fd);
    free(marks->env);
    free(marks->variable);
    if (marks->names)
        td_intern_free(marks->names);
    td_map_release(&marks->regions);
    free(marks);
}

char **td_marks_env(struct td_marks *marks)
{
    return marks->env;
}

/* Into the profile. */

static void describe_group(struct td_marks *marks, struct td_profile_writer *writer)
{
    struct td_group group = {.role = TD_ROLE_METRIC,
                             .attribution = TD_ATTRIBUTION_NONE,
                             .locates = TD_NODE_NONE,
                             .sampler = TD_NONE};

    for (uint32_t e = 0; e < marks->event_count; e++) {
        const struct td_plan_event *event = &marks->events[e];

        const struct td_profile_event described = {
            .name = event->name,
            .unit = event->unit,
            .pmu_type = event->type,
            .config = {event->config[0], event->config[1], event->config[2]},
            .flags = (event->exclude_user ? 0 : TD_EVENT_USER) |
                     (event->exclude_kernel ? 0 : TD_EVENT_KERNEL)};

        group.columns[group.column_count++] =
            (struct td_column){.kind = TD_COLUMN_DELTA,
                               .event = td_profile_event(writer, &described),
                               .node = TD_NODE_NONE};
    }
    marks->group = td_profile_group(writer, &group, "regions", marks->cpu_type);
}

static uint32_t profile_region(struct td_marks *marks, struct td_profile_writer *writer,
                               uint32_t parent, const char *name)
{
    const uint32_t text = td_intern_put(marks->names, name, strlen(name));
    bool added = false;
    uint32_t *id = td_map_put(&marks->regions, parent, text, TD_NONE, &added);

    if (added)
        *id = td_profile_region(writer, parent, name);
    return *id;
}

static void add_values(struct written *sum, const uint64_t *values)
{
    for (int e = 0; e < TDPROF_EVENTS_MAX; e++) {
        if (sum->values[e] < TD_SUM_MAX - values[e])
            sum->values[e] += values[e];
    }
}

/* One row for each thread and region of the profile: programs that execute others, and those whose
 * libraries have marks of their own, write several. */
struct sums {
    struct written *rows;
    size_t count, cap;
    struct td_map by_place;
};

static void add_region(struct sums *sums, const struct td_marked_region *region, uint32_t thread,
                       uint32_t id, uint32_t group)
{
    bool added = false;
    const uint32_t at = *td_map_put(&sums->by_place, (uint64_t)thread << 32 | id, group,
                                    (uint32_t)sums->count, &added);

    if (added) {
        sums->rows = td_grow(sums->rows, &sums->cap, sums->count + 1, sizeof(*sums->rows));
        sums->rows[sums->count] = (struct written){.row = region->row};
        sums->rows[sums->count].row.thread = thread;
        sums->rows[sums->count].row.region = id;
        sums->rows[sums->count++].row.group = group;
    } else if (!td_region_row_add(&sums->rows[at].row, &region->row)) {
        return;
    }
    add_values(&sums->rows[at], region->values);
}

static void write_rows(struct td_marks *marks, struct td_profile_writer *writer,
                       const struct td_marked *marked, const uint32_t *threads)
{
    struct sums sums = {.rows = NULL};
    uint32_t *ids = td_xcalloc(marked->region_count + 1, sizeof(*ids));

    for (size_t i = 0; i < marked->region_count; i++) {
        const struct td_marked_region *region = &marked->regions[i];
        const uint32_t above = region->parent == TD_REGION_NONE ? TD_NONE : ids[region->parent];
        const bool counted = marked->threads[region->thread].kind != TDPROF_KIND_TIME;

        ids[i] = profile_region(marks, writer, above, region->name);
        add_region(&sums, region, threads[region->thread], ids[i],
                   counted ? marks->group : TD_NONE);
    }
    for (size_t i = 0; i < sums.count; i++)
        td_profile_region_row(writer, &sums.rows[i].row, sums.rows[i].values);
    free(ids);
    free(sums.rows);
    td_map_release(&sums.by_place);
}

static void tell_thread(struct td_marks_told *told, const struct td_marked_thread *thread)
{
    told->threads++;
    told->uncounted += thread->kind == TDPROF_KIND_TIME;
    told->by_read += thread->kind == TDPROF_KIND_READ;
    told->lost += thread->lost;
    told->strays += thread->strays;
    told->left_open += thread->left_open;
    told->user_only = told->user_only || thread->user_only;
    if (!told->error)
        told->error = thread->error;
}

struct td_marks_told td_marks_write(struct td_marks *marks, struct td_profile_writer *writer,
                                    td_marks_thread_fn *thread, void *ctx)
{
    const uint32_t taken =
        atomic_load_explicit((_Atomic uint32_t *)&marks->head->used, memory_order_acquire);
    const uint32_t room = cells_of(marks);
    const size_t size = (size_t)(taken < room ? taken : room) * sizeof(struct tdprof1_cell);
    struct td_marks_told told = {.counted = marks->event_count > 0};
    struct td_marked marked;

    if (size == 0)
        return told;
    uint8_t *copy = td_xcalloc(size, 1);
    memcpy(copy, (const uint8_t *)marks->head + TDPROF_HEAD_BYTES, size);
    td_marked_read(&marked, copy, size);
    free(copy);
    uint32_t *threads = td_xcalloc(marked.thread_count + 1, sizeof(*threads));
    for (size_t i = 0; i < marked.thread_count; i++) {
        threads[i] = thread(ctx, &marked.threads[i]);
        tell_thread(&told, &marked.threads[i]);
    }
    told.bad = marked.bad;
    if (told.counted && marks->group == TD_NONE)
        describe_group(marks, writer);
    write_rows(marks, writer, &marked, threads);
    free(threads);
    td_marked_release(&marked);
    return told;
}
