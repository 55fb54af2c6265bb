/* SPDX-License-Identifier: MIT */
/*
 * The process image that the emulator runs: its threads with their models, and the snapshots
 * (qemu_snapshot.h) that it leaves in the mailbox. One a process; QEMU's callbacks (qemu_plugin.c)
 * and system calls (qemu_syscall.h) drive it.
 */
#ifndef TD_RECORD_SIM_QEMU_IMAGE_H
#define TD_RECORD_SIM_QEMU_IMAGE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/cores/core.h"
#include "formats/cores/variant.h"
#include "record/sim/share/launch.h"
#include "record/sim/qemu/files.h"
#include "record/sim/qemu/others.h"
#include "record/sim/qemu/queue.h"
#include "record/sim/qemu/quirks.h"
#include "record/sim/qemu/regions.h"
#include "record/sim/qemu/signals.h"
#include "record/sim/qemu/snapshot.h"
#include "record/sim/qemu/pmu.h"
#include "record/sim/qemu/stack.h"
#include "record/sim/model/sampling/sampling.h"
#include "record/sim/model/sim.h"
#include "record/sim/qemu/window.h"
#include "record/sim/share/mailbox.h"

enum {
    /* QEMU numbers threads from 0, and goes on above the highest that runs: more than the kernel
     * has numbers for (PID_MAX_LIMIT). Only what is used of the table takes memory. */
    TD_IMAGE_THREADS = 1 << 22,
    /* Threads with a model of their own, of 2 to 4 MB each; the later ones share models. */
    TD_IMAGE_MODELS = 128,
    TD_IMAGE_SHARED = 16,
    TD_IMAGE_SHARED_WORDS = 512, /* a batch of theirs is full */
    /* Of more, those that get the number of one that has ended share its row. */
    TD_IMAGE_TASKS = 4096,
    /* Lines used last, while instructions are skipped: fewer than L1 holds, so that no line that
     * leaves L1 goes unseen. */
    TD_IMAGE_RECENT = 512,
    TD_IMAGE_RECENT_BLOCKS = 1024, /* the same of code */
    TD_IMAGE_KINDS = 64,
};

struct td_missing;

/* What a system call does to what is mapped. */
struct td_image_change {
    struct {
        uint64_t start, end; /* addresses; empty: none */
    } covered[2];            /* nothing that was mapped there still is */
    bool more;               /* a file is mapped, anywhere */
    bool file;               /* and its pages stay as they are in it (files.h) */
};

/* A model that several threads share: their batches follow one another. */
struct td_image_shared {
    pthread_mutex_t lock;   /* of what follows */
    struct td_queue *queue; /* NULL: nobody has it yet */
    uint32_t task;
    const struct td_image_thread *last; /* whose batch came last */
};

struct td_image_thread {
    /* What each callback looks at comes first: one line of the cache. */
    uint64_t *next, *full, *last; /* in the batch: the next word's place; hand it on; for nothing */
    int64_t left, planned; /* its instructions: still to come; when `left` was last reported */
    enum td_sim_mode mode; /* of the phase that is under way */
    bool blocks;           /* all blocks are in the stream; else calls, returns and new code */
    bool filters;          /* accesses to lines in `recent` are not, but for calls' and returns' */
    struct td_queue *queue;
    struct td_queue_batch *batch;   /* the one being filled */
    struct td_image_shared *shared; /* whose model it has; NULL: one of its own */
    unsigned vcpu;                  /* its index in the table */
    uint32_t task;                  /* index of td_image.tasks; its variants' follow */
    uint32_t tid;                   /* 0: not known yet */
    char name[16];
    bool runs; /* counts among the process's running threads (others.h) */
    struct td_sampling sampling;
    uint64_t counted_instructions, counted_cycles, next_count_ns; /* told to the mailbox */
    uint64_t zeroed; /* address after the last block zeroed */
    struct td_quirks_action action;
    struct td_signals signals;
    struct td_image_change change;  /* by the system call under way */
    const struct td_missing *asked; /* by the system call under way; NULL: nothing that may lack */
    uint64_t recent[TD_IMAGE_RECENT];
    uint32_t recent_blocks[TD_IMAGE_RECENT_BLOCKS]; /* their ids, plus 1 */
    struct td_qemu_pmu_thread *sampled;             /* NULL unless the PMU is simulated */
};

/* A core that is modelled, with what its threads share. Blocks have the same ids in all. */
struct td_image_core {
    struct td_core_desc desc;
    struct td_blocks *blocks;
    struct td_llc *llc;
};

struct td_image {
    pthread_mutex_t lock; /* held for definitions, for making threads and for the maps */
    struct td_core_desc desc;
    struct td_blocks *blocks;
    struct td_llc *llc;
    struct td_image_core *variants; /* of the core, modelled as well */
    unsigned variant_count;
    bool link; /* td_blocks_link */
    bool sample;
    bool counting;           /* in four ways as well (model/counting.h) */
    enum td_sim_mode mode;   /* of all, when it is not sampled */
    struct td_qemu_pmu *pmu; /* NULL: none is simulated */
    unsigned thread_limit;   /* vcpu indices are below */
    struct td_window window; /* wanted: the program is the loader of images */
    /* Every thread of the table, and those that left it. The first TD_IMAGE_MODELS have models
     * of their own. */
    struct td_image_thread **made;
    size_t made_count, made_cap;
    size_t probed; /* of the others: the one that was last asked whether it has ended */
    struct td_image_shared shared[TD_IMAGE_SHARED];
    /* Kinds of accesses (trace.h) with QEMU's number for them, plus 1, in the lower half. */
    _Atomic uint64_t kinds[TD_IMAGE_KINDS];
    struct td_image_thread *forking; /* under QEMU's lock of forks; NULL: not known which */
    char *name;                      /* the program's */
    char *program;                   /* its file; NULL: not known */
    struct td_launch exec;           /* how the emulator was started */
    struct td_quirks quirks;
    struct td_guest_stack stack; /* of the main thread; set by its first batch */
    bool stack_known;
    uint64_t heap_start, heap_end; /* what brk gave; under `lock` */
    struct td_files files;         /* under `lock` */

    /* Snapshots; mailbox NULL: none are wanted. */
    struct td_mailbox *mailbox;
    char *mailbox_name;
    bool regions_missed;    /* a note says that some regions are not in the profile */
    bool misread;           /* a note says that the emulator computed something wrongly */
    uint32_t missed;        /* notes say that it lacks these: 1 << index (qemu_syscall.c) */
    _Atomic bool abandoned; /* nobody reads the mailbox any more: only run on */
    pthread_mutex_t snapshot_lock;
    pthread_mutex_t meeting_lock; /* threads that meet are modelled one after the other */
    uint32_t place;               /* of this process image */
    uint32_t after;               /* of the image that executed this one, or TD_MAILBOX_NONE */
    uint64_t start_ns, next_snapshot_ns;
    uint64_t snapshot_cost_ns; /* CPU time of all snapshots so far */
    struct td_snapshot_maps maps;
    struct td_region_names *region_names; /* under `lock`, as `maps` */
    struct td_snapshot_thread *tasks;     /* all threads so far, by their begin */
    size_t task_count, task_cap;

    struct td_others others; /* processes beside this one */

    char *text_path; /* of qemu_text.h; NULL: none is wanted */

    struct td_image_thread *threads[TD_IMAGE_THREADS]; /* by vcpu index */
};

/* Begins the life of the image: core, mailbox and modes are set. */
void td_image_begin(struct td_image *process);
/* The thread with QEMU's number `vcpu` begins; numbers of threads that have ended come again. */
void td_image_add_thread(struct td_image *process, unsigned vcpu);
/* The thread that calls; NULL when that is not known. */
struct td_image_thread *td_image_find_thread(const struct td_image *process);
/* Who the thread is; called in it. */
void td_image_learn_thread(struct td_image_thread *thread);

/* The batch is full, or a block of `count` instructions goes beyond the phase. */
void td_image_flush(struct td_image *process, struct td_image_thread *thread, int64_t count)
    __attribute__((noinline));
/* The phase is over: what the thread did is handed on, and this one begins. */
void td_image_turn(struct td_image *process, struct td_image_thread *thread,
                   const struct td_sampling_phase *phase);
/* The window that was last stands for so many instructions. It, and what ran to prepare it, are
 * `seen` of them. */
void td_image_stand_for(struct td_image_thread *thread, double whole, uint64_t seen);
/* Without a reader there is nothing to model for: the program runs on as fast as it can. */
void td_image_abandon(struct td_image *process);
/* Who kills this process while it waits finds in the profile what it did before, unless it waits so
 * often that snapshots would cost more than their share. */
void td_image_before_wait(struct td_image *process, struct td_image_thread *thread);
/* Where /proc is out of reach afterwards, what is known of the mappings stays. */
void td_image_read_maps(struct td_image *process);
/* Where the code of the program's own file ends, for blocks that are announced from now on;
 * process->lock is held. */
void td_image_set_own_end(struct td_image *process, uint64_t end);
/* Announces a block at `place` to all cores (td_blocks_define); process->lock is held. */
const struct td_block *td_image_define(struct td_image *process, uint64_t place,
                                       const uint8_t *bytes, const uint8_t *lengths,
                                       uint32_t count);
/* The place (trace.h) of code that is about to run; process->lock is held. */
uint64_t td_image_place(struct td_image *process, uint64_t pc, const uint8_t *code, size_t size);
/* Before and after the system call: another thread may run between it and what is told of it. */
void td_image_map(struct td_image *process, const struct td_image_change *change);
/* What ended without a snapshot would not be in the profile. `own`: other threads may still run,
 * and their last batches are theirs; NULL at the end. */
void td_image_finish(struct td_image *process, struct td_image_thread *own);

/* The program marks the begin or end of the region whose name stands at guest address `name`. */
void td_image_region(struct td_image *process, struct td_image_thread *thread, bool begins,
                     uint64_t name);

/* Whether there have been several. */
static inline bool td_image_has_threads(const struct td_image *process)
{
    return process->task_count > 1 + process->variant_count;
}
/* The thread wakes others or waits for them (meeting.h): what it did before is modelled before what
 * they do then. */
void td_image_before_meeting(struct td_image *process, struct td_image_thread *thread);
/* The program's break is at `end` now. */
void td_image_set_break(struct td_image *process, uint64_t end);
/* The thread is in a system call, and wants none of the lines that it shares, nor of memory; or
 * goes on. */
void td_image_rest(struct td_image *process, struct td_image_thread *thread, bool rests);

/* Around a fork. */
void td_image_before_fork(struct td_image *process);
void td_image_forked_parent(struct td_image *process);
void td_image_forked_child(struct td_image *process);

/* `counts` 0: the word is none after all. What comes after a batch's last word but one is lost.
 * Without branches: which word counts is as good as random. */
static inline void td_image_add_if(struct td_image_thread *thread, uint64_t word, bool counts)
{
    uint64_t *place = thread->next;

    *place = word;
    thread->next = place + (counts & (place < thread->last));
}

static inline void td_image_add_word(struct td_image_thread *thread, uint64_t word)
{
    td_image_add_if(thread, word, true);
}

#endif
