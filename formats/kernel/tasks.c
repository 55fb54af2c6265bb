/* SPDX-License-Identifier: MIT */
#include "formats/kernel/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

/* Places for pointers that are found by id. A map entry stays when its process ends (ids are
 * reused, so their number is bounded) and points to an empty place. */
struct pool {
    struct td_map index;
    void **places;
    size_t len, cap;
};

/* Ended threads that are kept for their last samples. */
#define DYING_MAX 64
/* Nobody tells what was unmapped. With so many ranges in a space more than were last seen, /proc
 * says what is still there. More would make each insertion slow, fewer the looks at /proc frequent.
 */
#define RANGES_MAX 8192

struct td_tasks {
    bool follow;
    struct td_tasks_hooks hooks;
    td_process_end_fn *end;
    void *ctx;
    struct pool processes, threads;
    struct td_task *dying[DYING_MAX]; /* NULL: free place */
    size_t next_dying;
    uint32_t generations;
    uint64_t serials;
    uint64_t process_count, thread_count;
};

static void **place_of(struct pool *pool, uint32_t id)
{
    bool added = false;
    const uint32_t i = *td_map_put(&pool->index, id, 0, (uint32_t)pool->len, &added);

    if (added) {
        pool->places = td_grow(pool->places, &pool->cap, pool->len + 1, sizeof(*pool->places));
        pool->places[pool->len++] = NULL;
    }
    return &pool->places[i];
}

static void *find_in(const struct pool *pool, uint32_t id)
{
    const uint32_t *i = td_map_find(&pool->index, id, 0);

    return i ? pool->places[*i] : NULL;
}

static void set_comm(char comm[TD_COMM_BYTES], const char *name, size_t len)
{
    const size_t most = TD_COMM_BYTES - 1;

    snprintf(comm, TD_COMM_BYTES, "%.*s", (int)(len < most ? len : most), name);
}

/* Address spaces. */

static struct td_space *space_new(struct td_tasks *tasks)
{
    struct td_space *space = td_xcalloc(1, sizeof(*space));

    space->refs = 1;
    space->serial = ++tasks->serials;
    return space;
}

static void space_drop(struct td_space *space)
{
    if (space && --space->refs == 0) {
        td_range_set_release(&space->ranges);
        free(space);
    }
}

/* The process's space, its own to change. */
static struct td_space *space_to_change(struct td_tasks *tasks, struct td_process *process)
{
    struct td_space *space = process->space;

    if (space->refs > 1) {
        struct td_space *own = space_new(tasks);

        td_range_set_copy(&own->ranges, &space->ranges);
        own->renew_at = space->renew_at;
        space_drop(space);
        process->space = own;
        return own;
    }
    space->serial = ++tasks->serials;
    return space;
}

/* Processes and threads. */

struct td_process *td_tasks_find_process(const struct td_tasks *tasks, uint32_t pid)
{
    return find_in(&tasks->processes, pid);
}

struct td_task *td_tasks_find_thread(const struct td_tasks *tasks, uint32_t tid)
{
    return find_in(&tasks->threads, tid);
}

struct td_task *td_tasks_find(struct td_tasks *tasks, uint32_t pid, uint32_t tid)
{
    struct td_task *task = find_in(&tasks->threads, tid);

    if (task && task->process->pid == pid)
        return task;
    /* The record of its start was lost: its process is known all the same. */
    struct td_process *process = td_tasks_find_process(tasks, pid);
    if (process && tid == TD_NONE && process->first) /* it is just ending */
        return process->first;
    return process ? td_tasks_add_thread(tasks, process, tid, "", 0) : NULL;
}

struct td_task *td_tasks_sampled(struct td_tasks *tasks, const struct td_rec *rec)
{
    struct td_task *task = td_tasks_find(tasks, rec->pid, rec->tid);

    if (task || tasks->follow)
        return task;
    struct td_process *process = td_tasks_add_process(tasks, rec->pid, "", rec->time_ns);
    return td_tasks_add_thread(tasks, process, rec->tid, "", rec->time_ns);
}

static void unlink_task(struct td_task *task)
{
    struct td_task **link = &task->process->first;

    while (*link != task)
        link = &(*link)->next;
    *link = task->next;
    task->process->live_count -= !task->ended;
}

static void drop_task(struct td_tasks *tasks, struct td_task *task)
{
    for (size_t i = 0; task->ended && i < DYING_MAX; i++) {
        if (tasks->dying[i] == task)
            tasks->dying[i] = NULL;
    }
    unlink_task(task);
    *place_of(&tasks->threads, task->tid) = NULL;
    free(task);
}

static void end_process(struct td_tasks *tasks, struct td_process *process)
{
    if (tasks->end && !process->ended)
        tasks->end(tasks->ctx, process);
    process->ended = true;
}

static void drop_process(struct td_tasks *tasks, struct td_process *process)
{
    end_process(tasks, process);
    for (struct td_task *task = process->first, *next = NULL; task; task = next) {
        next = task->next;
        drop_task(tasks, task);
    }
    *place_of(&tasks->processes, process->pid) = NULL;
    space_drop(process->space);
    free(process);
}

struct td_task *td_tasks_add_thread(struct td_tasks *tasks, struct td_process *process,
                                    uint32_t tid, const char *comm, uint64_t time_ns)
{
    struct td_task *task = find_in(&tasks->threads, tid);

    if (task && task->process == process && !task->ended)
        return task;
    if (task)
        drop_task(tasks, task);
    task = td_xcalloc(1, sizeof(*task));
    task->tid = tid;
    task->process = process;
    task->start_ns = time_ns;
    task->profile_thread = TD_NONE;
    task->next = process->first;
    set_comm(task->comm, comm, strlen(comm));
    process->first = task;
    process->live_count++;
    tasks->thread_count++;
    *place_of(&tasks->threads, tid) = task;
    return task;
}

struct td_process *td_tasks_add_process(struct td_tasks *tasks, uint32_t pid, const char *comm,
                                        uint64_t time_ns)
{
    struct td_process *process = td_tasks_find_process(tasks, pid);

    if (process)
        return process;
    process = td_xcalloc(1, sizeof(*process));
    process->pid = pid;
    process->generation = ++tasks->generations;
    process->space = space_new(tasks);
    set_comm(process->comm, comm, strlen(comm));
    *place_of(&tasks->processes, pid) = process;
    tasks->process_count++;
    td_tasks_add_thread(tasks, process, pid, comm, time_ns);
    return process;
}

struct td_tasks *td_tasks_new(bool follow, const struct td_tasks_hooks *hooks,
                              td_process_end_fn *end, void *ctx)
{
    struct td_tasks *tasks = td_xcalloc(1, sizeof(*tasks));

    tasks->follow = follow;
    tasks->hooks = *hooks;
    tasks->end = end;
    tasks->ctx = ctx;
    return tasks;
}

void td_tasks_end_all(struct td_tasks *tasks)
{
    for (size_t i = 0; i < tasks->processes.len; i++) {
        if (tasks->processes.places[i])
            drop_process(tasks, tasks->processes.places[i]);
    }
}

void td_tasks_each_running(const struct td_tasks *tasks,
                           void (*visit)(void *ctx, const struct td_process *process), void *ctx)
{
    for (size_t i = 0; i < tasks->processes.len; i++) {
        const struct td_process *process = tasks->processes.places[i];

        if (process && !process->ended)
            visit(ctx, process);
    }
}

static void pool_release(struct pool *pool)
{
    td_map_release(&pool->index);
    free(pool->places);
}

void td_tasks_free(struct td_tasks *tasks)
{
    if (!tasks)
        return;
    tasks->end = NULL;
    td_tasks_end_all(tasks);
    pool_release(&tasks->processes);
    pool_release(&tasks->threads);
    free(tasks);
}

uint64_t td_tasks_process_count(const struct td_tasks *tasks)
{
    return tasks->process_count;
}

uint64_t td_tasks_thread_count(const struct td_tasks *tasks)
{
    return tasks->thread_count;
}

/* Records. */

/* In a pid namespace of our own, all processes outside of it have these numbers: their mappings
 * together would give wrong names. The idle task, 0 too, has none. */
static bool is_outside(uint32_t pid)
{
    return pid == 0 || pid == UINT32_MAX;
}

static void apply_fork(struct td_tasks *tasks, const struct td_rec *rec)
{
    const uint32_t pid = rec->u.task.pid, ppid = rec->u.task.ppid;
    struct td_process *parent = td_tasks_find_process(tasks, ppid);
    const struct td_task *forker = find_in(&tasks->threads, rec->u.task.ptid);
    const bool new_process = pid != ppid && !rec->u.task.made_up;
    struct td_process *old = new_process ? td_tasks_find_process(tasks, pid) : NULL;

    if (is_outside(pid))
        return;
    if (old) /* its end was lost, or it was read from /proc while it started */
        drop_process(tasks, old);
    if (!parent && tasks->follow)
        return;
    const char *comm = forker ? forker->comm : parent ? parent->comm : "";
    if (!new_process) {
        struct td_process *process = td_tasks_add_process(tasks, pid, comm, rec->time_ns);

        td_tasks_add_thread(tasks, process, rec->u.task.tid, comm, rec->time_ns);
        return;
    }
    struct td_process *child = td_tasks_add_process(tasks, pid, comm, rec->time_ns);
    if (parent) {
        space_drop(child->space);
        child->space = parent->space;
        child->space->refs++;
        child->before_exec = parent->before_exec;
    }
}

/* Takes the place of the one that ended longest ago. */
static void keep_for_a_while(struct td_tasks *tasks, struct td_task *task)
{
    struct td_task *old = tasks->dying[tasks->next_dying];

    if (old) {
        struct td_process *process = old->process;

        drop_task(tasks, old);
        if (!process->first)
            drop_process(tasks, process);
    }
    tasks->dying[tasks->next_dying] = task;
    tasks->next_dying = (tasks->next_dying + 1) % DYING_MAX;
}

static void apply_exit(struct td_tasks *tasks, const struct td_rec *rec)
{
    struct td_task *task = find_in(&tasks->threads, rec->u.task.tid);

    if (!task || task->process->pid != rec->u.task.pid || is_outside(rec->u.task.pid))
        return;
    if (task->ended)
        return;
    task->ended = true;
    if (--task->process->live_count == 0)
        end_process(tasks, task->process);
    keep_for_a_while(tasks, task);
}

/* After an exec only the main thread is left, and nothing is mapped. */
static void start_anew(struct td_tasks *tasks, struct td_process *process, uint64_t time_ns)
{
    if (tasks->end)
        tasks->end(tasks->ctx, process);
    td_tasks_add_thread(tasks, process, process->pid, process->comm, time_ns);
    for (struct td_task *task = process->first, *next = NULL; task; task = next) {
        next = task->next;
        if (task->tid != process->pid)
            drop_task(tasks, task);
    }
    space_drop(process->space);
    process->space = space_new(tasks);
    process->before_exec = false;
    process->jit_used = false;
}

static void apply_comm(struct td_tasks *tasks, const struct td_rec *rec)
{
    struct td_process *process = td_tasks_find_process(tasks, rec->pid);

    if ((!process && tasks->follow) || is_outside(rec->pid))
        return;
    if (!process)
        process = td_tasks_add_process(tasks, rec->pid, "", rec->time_ns);
    if (rec->u.comm.exec)
        start_anew(tasks, process, rec->time_ns);
    struct td_task *named = td_tasks_add_thread(tasks, process, rec->tid, "", rec->time_ns);
    set_comm(named->comm, rec->u.comm.name, rec->u.comm.len);
    named->profile_thread = TD_NONE;
    if (rec->tid != rec->pid)
        return;
    set_comm(process->comm, rec->u.comm.name, rec->u.comm.len);
    for (struct td_task *task = process->first; task; task = task->next)
        task->profile_thread = TD_NONE;
}

static bool has_prefix(const char *s, size_t len, const char *prefix)
{
    return len >= strlen(prefix) && memcmp(s, prefix, strlen(prefix)) == 0;
}

enum td_module_kind td_mapping_kind(const char *path, size_t len)
{
    /* Names of mappings that no file on disk stands behind: mm/mmap.c, mm/shmem.c, ipc/shm.c,
     * fs/proc/task_mmu.c. */
    static const char *const prefixes[] = {"//anon", "/anon_hugepage", "/memfd:", "/dev/zero",
                                           "/SYSV",  "[heap]",         "[stack",  "[anon",
                                           "[vvar",  "anon_inode:"};

    if (has_prefix(path, len, "[vdso]"))
        return TD_MODULE_VDSO;
    for (size_t i = 0; i < TD_ARRAY_SIZE(prefixes); i++) {
        if (has_prefix(path, len, prefixes[i]))
            return TD_MODULE_ANON;
    }
    return len == 0 ? TD_MODULE_ANON : TD_MODULE_FILE;
}

/* What a location in this mapping is counted from (TD_MODULE_KINDS). */
static uint64_t first_offset(enum td_module_kind kind, const struct td_rec_mmap *mmap)
{
    if (kind == TD_MODULE_FILE)
        return mmap->offset;
    return kind == TD_MODULE_VDSO ? 0 : mmap->start;
}

/* Text that was copied to huge pages: anonymous code inside what was a file's mapping keeps the
 * file's names. */
static bool is_remapped_text(const struct td_tasks *tasks, const struct td_space *space,
                             enum td_module_kind kind, const struct td_rec_mmap *mmap)
{
    const struct td_range *old = td_range_set_find(&space->ranges, mmap->start);

    return kind == TD_MODULE_ANON && mmap->executable && old &&
           old->end >= mmap->start + mmap->size &&
           tasks->hooks.kind(tasks->hooks.ctx, old->value) == TD_MODULE_FILE;
}

/* Leaves of a space with very many ranges what is mapped now. Of a process that has ended nothing
 * is known: all of it is kept. */
static void renew(struct td_tasks *tasks, struct td_process *process)
{
    struct td_space *old = process->space;

    if (!old->renew_at)
        old->renew_at = RANGES_MAX;
    if (old->ranges.len < old->renew_at || !tasks->hooks.scan)
        return;
    process->space = space_new(tasks);
    process->space->renew_at = SIZE_MAX;
    tasks->hooks.scan(tasks, process);
    if (process->space->ranges.len == 0) {
        space_drop(process->space);
        process->space = old;
    } else {
        space_drop(old);
    }
    process->space->renew_at = process->space->ranges.len + RANGES_MAX;
}

void td_tasks_map(struct td_tasks *tasks, struct td_process *process,
                  const struct td_rec_mmap *mmap)
{
    const uint32_t module = tasks->hooks.module(tasks->hooks.ctx, process->pid, mmap);

    if (module == TD_NONE)
        return;
    const enum td_module_kind kind = tasks->hooks.kind(tasks->hooks.ctx, module);
    const struct td_range range = {
        .start = mmap->start,
        .end = mmap->start + mmap->size,
        .offset = first_offset(kind, mmap),
        .value = module,
    };

    if (!is_remapped_text(tasks, process->space, kind, mmap))
        td_range_set_put(&space_to_change(tasks, process)->ranges, &range);
    renew(tasks, process);
}

static void apply_mmap(struct td_tasks *tasks, const struct td_rec *rec)
{
    const struct td_rec_mmap *mmap = &rec->u.mmap;
    struct td_process *process = td_tasks_find_process(tasks, rec->pid);

    if (mmap->size > UINT64_MAX - mmap->start || is_outside(rec->pid))
        return;
    if (!process && !tasks->follow)
        process = td_tasks_add_process(tasks, rec->pid, "", rec->time_ns);
    if (process)
        td_tasks_map(tasks, process, mmap);
}

void td_tasks_apply(struct td_tasks *tasks, const struct td_rec *rec)
{
    switch (rec->kind) {
    case TD_REC_FORK: apply_fork(tasks, rec); break;
    case TD_REC_EXIT: apply_exit(tasks, rec); break;
    case TD_REC_COMM: apply_comm(tasks, rec); break;
    case TD_REC_MMAP: apply_mmap(tasks, rec); break;
    case TD_REC_OTHER:
    case TD_REC_KSYMBOL:
    case TD_REC_SAMPLE:
    case TD_REC_LOST:
    case TD_REC_LOST_SAMPLES:
    case TD_REC_SWITCH:
    case TD_REC_THROTTLE: break;
    }
}
