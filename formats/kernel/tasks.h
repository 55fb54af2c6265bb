/* SPDX-License-Identifier: MIT */
/*
 * The processes and threads as the records tell of them: who forked whom, what is mapped where, how
 * they are called. Pids are reused; a process between its fork and its end has a generation of its
 * own. With `follow`, only the processes that were added as roots, and their descendants, are kept.
 */
#ifndef TD_FORMATS_KERNEL_TASKS_H
#define TD_FORMATS_KERNEL_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/range.h"
#include "formats/kernel/record.h"

#define TD_COMM_BYTES 32

/* Mappings: value = module, offset = what the profile calls the first address. Shared
 * between a process and its children until one of them changes it. */
struct td_space {
    unsigned refs;
    uint64_t serial; /* another one after each change */
    struct td_range_set ranges;
    size_t renew_at; /* with so many ranges, it is looked up what is still mapped; 0: not yet set */
};

struct td_process {
    uint32_t pid;
    uint32_t generation;
    bool before_exec; /* a command that is still our own copy: its samples are not the command's */
    /* The recorder's: whether it is known what this process is, and it is a clone that was made of
     * one of the others to look at it (record/live/clone.h). */
    bool judged, is_clone;
    bool jit_used;  /* the recorder's: a sample fell into anonymous code; then also: */
    uint32_t owner; /* the user whose process it is, who may name its code */
    struct td_space *space;
    char comm[TD_COMM_BYTES]; /* of its main thread */
    struct td_task *first;    /* its threads, those that have just ended too */
    size_t live_count;        /* threads that have not ended */
    bool ended;
};

struct td_task {
    uint32_t tid;
    struct td_process *process;
    struct td_task *next; /* of the same process */
    char comm[TD_COMM_BYTES];
    uint64_t start_ns;
    uint32_t profile_thread; /* TD_NONE: this name is not described in the profile yet */
    bool ended; /* kept for a while: the last samples come after the record of the end */
};

struct td_tasks;

/* What a mapping of this name is: a file, the vdso or memory that no file stands behind. */
enum td_module_kind td_mapping_kind(const char *path, size_t len);

/* What the owner of the tasks knows of modules. */
struct td_tasks_hooks {
    /* The module of a process's mapping, TD_NONE when it is of no interest. */
    uint32_t (*module)(void *ctx, uint32_t pid, const struct td_rec_mmap *mmap);
    enum td_module_kind (*kind)(void *ctx, uint32_t module);
    /* Maps what a process has mapped now, of one that runs. NULL: nobody can tell. */
    void (*scan)(struct td_tasks *tasks, struct td_process *process);
    void *ctx;
};

/* Called when a process ends or executes another program, while its mappings are known. */
typedef void td_process_end_fn(void *ctx, const struct td_process *process);

/* `end` may be NULL; `hooks` is copied. */
struct td_tasks *td_tasks_new(bool follow, const struct td_tasks_hooks *hooks,
                              td_process_end_fn *end, void *ctx);
void td_tasks_free(struct td_tasks *tasks); /* NULL is allowed; ends no process */

/* Adds a process with its main thread, or finds it. */
struct td_process *td_tasks_add_process(struct td_tasks *tasks, uint32_t pid, const char *comm,
                                        uint64_t time_ns);
struct td_task *td_tasks_add_thread(struct td_tasks *tasks, struct td_process *process,
                                    uint32_t tid, const char *comm, uint64_t time_ns);
/* The thread, or NULL when its process is not followed (or, without `follow`, not known). */
struct td_task *td_tasks_find(struct td_tasks *tasks, uint32_t pid, uint32_t tid);
/* The thread of a sample: td_tasks_find's, or without `follow` a new one. */
struct td_task *td_tasks_sampled(struct td_tasks *tasks, const struct td_rec *rec);
/* The thread of this number, whatever its process; NULL when it is not known. */
struct td_task *td_tasks_find_thread(const struct td_tasks *tasks, uint32_t tid);
struct td_process *td_tasks_find_process(const struct td_tasks *tasks, uint32_t pid);

void td_tasks_map(struct td_tasks *tasks, struct td_process *process,
                  const struct td_rec_mmap *mmap);
/* FORK, EXIT, COMM and MMAP records; others are ignored. */
void td_tasks_apply(struct td_tasks *tasks, const struct td_rec *rec);
/* Calls the end function for every process that is left. */
void td_tasks_end_all(struct td_tasks *tasks);

/* Each process that is kept and, as far as is known, has not ended. */
void td_tasks_each_running(const struct td_tasks *tasks,
                           void (*visit)(void *ctx, const struct td_process *process), void *ctx);

uint64_t td_tasks_process_count(const struct td_tasks *tasks); /* seen so far */
uint64_t td_tasks_thread_count(const struct td_tasks *tasks);

#endif
