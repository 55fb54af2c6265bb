/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/image.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/procfs.h"

/* A process that is killed loses at most this much, or half of a short life, or this many times
 * what a snapshot takes. */
#define SNAPSHOT_EVERY_NS TD_NS_PER_S
#define SNAPSHOT_FIRST_NS (TD_NS_PER_S / 8)
#define SNAPSHOT_SHARE    50
/* Snapshots before waits may bring the cost of all snapshots to this, and one part in WAIT_SHARE.
 */
#define WAIT_FREE_NS   (TD_NS_PER_S / 50)
#define WAIT_SHARE     20
#define COUNT_EVERY_NS (TD_NS_PER_S / 16)
/* Linux maps libraries from the top of 47 bits down, programs not above two thirds of that. */
#define LIBRARIES UINT64_C(0x700000000000)
/* Threads with shared models that are asked whether they have ended, when another one begins. */
#define PROBES 16

/* The first access of a program is to its stack. */
static void learn_stack(struct td_image *process, const struct td_queue_batch *batch)
{
    process->stack_known = true;
    for (uint32_t i = 0; i < batch->used; i++) {
        if (!(batch->words[i] & TD_TRACE_BLOCK_BIT)) {
            td_guest_stack_learn(&process->stack, TD_TRACE_ADDRESS(batch->words[i]));
            return;
        }
    }
}

static void begin_batch(struct td_image_thread *thread)
{
    const size_t full = thread->shared ? TD_IMAGE_SHARED_WORDS : TD_QUEUE_WORDS;

    if (!thread->shared)
        thread->batch = td_queue_batch(thread->queue);
    thread->next = thread->batch->words;
    thread->full = thread->batch->words + full;
    thread->last = thread->batch->words + full + TD_QUEUE_SLACK - 1;
}

/* The batch follows those of other threads; the mark says when it is another's. */
static void put_shared(struct td_image_thread *thread)
{
    struct td_image_shared *shared = thread->shared;
    const struct td_queue_batch *own = thread->batch;
    size_t used = 0;

    pthread_mutex_lock(&shared->lock);
    struct td_queue_batch *batch = td_queue_batch(shared->queue);
    if (shared->last != thread)
        batch->words[used++] = td_trace_mark(TD_TRACE_THREAD);
    shared->last = thread;
    memcpy(batch->words + used, own->words, own->used * sizeof(*own->words));
    batch->used = (uint32_t)used + own->used;
    batch->mode = own->mode;
    batch->skipped = own->skipped;
    td_queue_put(shared->queue);
    pthread_mutex_unlock(&shared->lock);
}

static void set_mode(const struct td_image *process, struct td_image_thread *thread,
                     enum td_sim_mode mode)
{
    thread->mode = mode;
    thread->blocks = mode != TD_SIM_FAST_FORWARD || process->link;
    /* Where calls leave no address in memory, any access may tell where the stack is. */
    thread->filters =
        mode == TD_SIM_FAST_FORWARD || (mode == TD_SIM_FUNCTIONAL_WARMING && !process->link);
}

/* Hands on what the thread has done. */
static void put_batch(struct td_image *process, struct td_image_thread *thread)
{
    struct td_queue_batch *batch = thread->batch;

    const bool kept = !process->window.wanted || process->window.stage != TD_WINDOW_LOADING;

    batch->used = kept ? (uint32_t)(thread->next - batch->words) : 0;
    if (!process->stack_known)
        learn_stack(process, batch);
    td_guest_stack_apply(&process->stack, batch->words, batch->used);
    batch->mode = thread->mode;
    if (thread->mode == TD_SIM_FAST_FORWARD && kept)
        batch->skipped = (uint64_t)(thread->planned - thread->left);
    thread->planned = thread->left;
    if (thread->shared)
        put_shared(thread);
    else
        td_queue_put(thread->queue);
    begin_batch(thread);
}

/* Threads may be renamed, also by others; one that has ended keeps its last name. */
static void update_name(struct td_image *process, struct td_image_thread *thread)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/task/%u/comm", thread->tid);
    char *name = thread->tid ? td_procfs_line(NULL, path) : NULL;
    if (name)
        snprintf(thread->name, sizeof(thread->name), "%s", name);
    /* The emulator's own name is the program's. */
    if (strncmp(thread->name, "qemu-", 5) == 0 && process->name)
        snprintf(thread->name, sizeof(thread->name), "%s", process->name);
    free(name);
}

/* The tasks from `first` on are of the core itself and of each variant. */
static void set_sims(struct td_image *process, uint32_t first, const struct td_queue *queue)
{
    for (unsigned i = 0; i <= process->variant_count; i++)
        process->tasks[first + i].sim = td_queue_locked(queue, i);
}

static struct td_snapshot_thread *update_task(struct td_image *process,
                                              const struct td_image_thread *thread)
{
    struct td_snapshot_thread *task = &process->tasks[thread->task];

    for (unsigned i = 0; i <= process->variant_count; i++) {
        task[i].tid = thread->tid;
        memcpy(task[i].name, thread->name, sizeof(task[i].name));
    }
    return task;
}

/* Keeps the shared models still, too. */
static void lock_shared(struct td_image *process)
{
    for (size_t i = 0; i < TD_IMAGE_SHARED; i++) {
        struct td_image_shared *shared = &process->shared[i];

        if (!shared->queue)
            continue;
        td_queue_lock(shared->queue);
        set_sims(process, shared->task, shared->queue);
    }
}

static void unlock_models(struct td_image *process)
{
    for (unsigned i = 0; i < process->thread_limit; i++) {
        if (process->threads[i] && !process->threads[i]->shared)
            td_queue_unlock(process->threads[i]->queue);
    }
    for (size_t i = 0; i < TD_IMAGE_SHARED; i++) {
        if (process->shared[i].queue)
            td_queue_unlock(process->shared[i].queue);
    }
}

/* Writes what all threads have done up to their last batches. */
static void write_snapshot(struct td_image *process)
{
    struct td_buf bytes = {0};

    pthread_mutex_lock(&process->snapshot_lock);
    pthread_mutex_lock(&process->lock);
    if (process->pmu || process->maps.more)
        td_snapshot_maps_update(&process->maps);
    for (unsigned i = 0; i < process->thread_limit; i++) {
        struct td_image_thread *thread = process->threads[i];

        if (!thread || thread->shared)
            continue;
        update_name(process, thread);
        struct td_snapshot_thread *task = update_task(process, thread);
        td_queue_lock(thread->queue);
        set_sims(process, thread->task, thread->queue);
        if (thread->sampled)
            td_qemu_pmu_write(thread->sampled, process->start_ns, (uint32_t)getpid(), task,
                              &process->maps, NULL);
    }
    lock_shared(process);
    const struct td_snapshot_source image = {
        .pid = (uint32_t)getpid(),
        .process = process->name,
        .start_ns = process->start_ns,
        .maps = &process->maps,
        .region_names = process->region_names,
        .threads = process->tasks,
        .thread_count = process->task_count,
        .sharing = td_image_has_threads(process) ? process->llc->sharing : NULL,
        .tasks_each = 1 + process->variant_count,
        .areas = {.heap_start = process->heap_start,
                  .heap_end = process->heap_end,
                  .stack_start = process->stack.low - process->stack.shift,
                  .stack_end = process->stack.high - process->stack.shift},
    };
    td_snapshot_write(&bytes, &image);
    /* There is nobody to tell: the next one may succeed, and tdrec misses the snapshot. */
    td_mailbox_put(process->mailbox, process->place, bytes.data, bytes.len);
    unlock_models(process);
    pthread_mutex_unlock(&process->lock);
    pthread_mutex_unlock(&process->snapshot_lock);
    td_buf_release(&bytes);
}

void td_image_abandon(struct td_image *process)
{
    process->sample = false;
    process->mode = TD_SIM_FAST_FORWARD;
    for (unsigned i = 0; i < process->thread_limit; i++) {
        if (process->threads[i]) {
            set_mode(process, process->threads[i], TD_SIM_FAST_FORWARD);
            process->threads[i]->left = process->threads[i]->planned = INT64_MAX;
        }
    }
    process->abandoned = true;
}

/* For the line that shows how far the program is. */
static void count_progress(struct td_image *process, struct td_image_thread *thread, uint64_t now)
{
    struct td_sim_totals totals;

    /* Of shared models nobody in particular would count. */
    if (!process->mailbox || thread->shared || now < thread->next_count_ns)
        return;
    td_sim_totals(td_queue_lock(thread->queue), &totals);
    td_queue_unlock(thread->queue);
    td_mailbox_count(process->mailbox, totals.instructions - thread->counted_instructions,
                     totals.cycles - thread->counted_cycles);
    thread->counted_instructions = totals.instructions;
    thread->counted_cycles = totals.cycles;
    thread->next_count_ns = now + COUNT_EVERY_NS;
}

/* Writes a snapshot, and says when the next is due; in the thread `own`. */
static void write_snapshot_now(struct td_image *process, const struct td_image_thread *own)
{
    const uint64_t cpu = td_clock_thread_ns();

    __atomic_store_n(&process->next_snapshot_ns, UINT64_MAX, __ATOMIC_RELAXED);
    if (!td_mailbox_watched(process->mailbox, process->mailbox_name)) {
        td_image_abandon(process);
        return;
    }
    /* All models shall have come as far. */
    if (process->variant_count > 0 && own)
        td_queue_drain(own->queue);
    write_snapshot(process);
    const uint64_t after = td_clock_ns(), cost = td_clock_thread_ns() - cpu;
    const uint64_t pause = cost * SNAPSHOT_SHARE, age = after - process->start_ns;
    const uint64_t usual = age < SNAPSHOT_EVERY_NS ? age : SNAPSHOT_EVERY_NS;
    __atomic_store_n(&process->next_snapshot_ns, after + (pause > usual ? pause : usual),
                     __ATOMIC_RELAXED);
    __atomic_fetch_add(&process->snapshot_cost_ns, cost, __ATOMIC_RELAXED);
}

static void write_snapshot_in_time(struct td_image *process, struct td_image_thread *thread)
{
    const uint64_t now = td_clock_ns();

    count_progress(process, thread, now);
    if (!process->mailbox)
        return;
    const uint64_t next = __atomic_load_n(&process->next_snapshot_ns, __ATOMIC_RELAXED);
    /* UINT64_MAX: another thread is at it. */
    if (now >= next || (next != UINT64_MAX && td_mailbox_asked(process->mailbox, process->place)))
        write_snapshot_now(process, thread);
}

void td_image_learn_thread(struct td_image_thread *thread)
{
    thread->tid = (uint32_t)syscall(SYS_gettid);
    prctl(PR_GET_NAME, thread->name);
}

void td_image_turn(struct td_image *process, struct td_image_thread *thread,
                   const struct td_sampling_phase *phase)
{
    put_batch(process, thread);
    set_mode(process, thread, phase->mode);
    thread->left = thread->planned = (int64_t)phase->instructions;
}

void td_image_stand_for(struct td_image_thread *thread, double whole, uint64_t seen)
{
    thread->batch->mode = TD_SIM_FAST_FORWARD;
    thread->batch->used = 0;
    thread->batch->skipped = whole > (double)seen ? (uint64_t)whole - seen : 0;
    td_queue_put(thread->queue);
    begin_batch(thread);
    td_image_add_word(thread, td_trace_mark(TD_TRACE_WEIGH));
}

/* What the windows of a part say is known when the model has caught up. */
static void end_part(struct td_image_thread *thread)
{
    struct td_sim_totals totals;

    td_queue_drain(thread->queue);
    td_sim_totals(td_queue_lock(thread->queue), &totals);
    td_queue_unlock(thread->queue);
    td_sampling_plan(&thread->sampling, totals.spread, totals.learning);
    td_image_add_word(thread, td_trace_mark(TD_TRACE_SETTLE));
}

static void begin_phase(struct td_image *process, struct td_image_thread *thread)
{
    struct td_sampling_phase phase = {.mode = process->mode, .instructions = INT64_MAX};

    /* Windows are of one thread: shared models are exact. */
    const bool sample = process->sample && !thread->shared;

    if (process->window.wanted)
        phase = td_window_next(process, thread);
    if (sample && td_sampling_part_ends(&thread->sampling))
        end_part(thread);
    if (sample)
        phase = td_sampling_next(&thread->sampling);
    set_mode(process, thread, phase.mode);
    thread->left = thread->planned = (int64_t)phase.instructions;
}

void td_image_flush(struct td_image *process, struct td_image_thread *thread, int64_t count)
{
    /* Callbacks that make a thread run in the thread that made it; its first batch is its own. */
    if (!thread->tid)
        td_image_learn_thread(thread);
    put_batch(process, thread);
    td_others_look(process);
    if (thread->left < count)
        begin_phase(process, thread);
    write_snapshot_in_time(process, thread);
}

static uint32_t new_task(struct td_image *process)
{
    const uint32_t first = (uint32_t)process->task_count;

    process->tasks =
        td_grow(process->tasks, &process->task_cap,
                process->task_count + 1 + process->variant_count, sizeof(*process->tasks));
    for (unsigned i = 0; i <= process->variant_count; i++)
        process->tasks[process->task_count++] = (struct td_snapshot_thread){.variant = i};
    return first;
}

static struct td_queue_model new_model(const struct td_image *process, unsigned index)
{
    if (index == 0) {
        struct td_sim *sim = td_sim_new(process->blocks, process->llc);

        if (process->counting)
            td_sim_set_counting(sim);
        return (struct td_queue_model){.sim = sim};
    }
    const struct td_image_core *core = &process->variants[index - 1];
    struct td_sim *sim = td_sim_new(core->blocks, core->llc);

    td_sim_set_bare(sim); /* a snapshot has its tallies only, by region */
    const bool alike = td_core_desc_predicts_alike(&core->desc, &process->desc) &&
                       td_core_desc_warms_alike(&core->desc, &process->desc);
    return (struct td_queue_model){.sim = sim, .prepares = !alike};
}

static struct td_queue *new_queue(const struct td_image *process, bool sampled)
{
    struct td_queue_model models[1 + TD_VARIANTS_MAX];

    for (unsigned i = 0; i <= process->variant_count; i++)
        models[i] = new_model(process, i);
    return td_queue_new(models, 1 + process->variant_count, sampled);
}

static void note_sharing(const struct td_image *process)
{
    char *text = td_xasprintf("%s had more than %d threads at a time: the later ones share %d "
                              "modelled cores, are shown as (other threads), and their call "
                              "paths may begin in the middle",
                              process->name ? process->name : "the program", TD_IMAGE_MODELS,
                              TD_IMAGE_SHARED);

    if (process->mailbox)
        td_mailbox_note(process->mailbox, text);
    free(text);
}

static void share_model(struct td_image *process, struct td_image_thread *thread)
{
    struct td_image_shared *shared = &process->shared[process->made_count % TD_IMAGE_SHARED];

    if (process->made_count == TD_IMAGE_MODELS)
        note_sharing(process);
    if (!shared->queue) {
        pthread_mutex_init(&shared->lock, NULL);
        shared->task = new_task(process);
        shared->queue = new_queue(process, false);
    }
    thread->shared = shared;
    thread->queue = shared->queue;
    thread->task = shared->task;
    thread->batch =
        td_xcalloc(1, offsetof(struct td_queue_batch, words) +
                          (TD_IMAGE_SHARED_WORDS + TD_QUEUE_SLACK) * sizeof(*thread->batch->words));
}

static void own_model(struct td_image *process, struct td_image_thread *thread)
{
    thread->task = new_task(process);
    thread->queue = new_queue(process, process->sample || process->window.wanted);
    if (process->pmu)
        thread->sampled = td_qemu_pmu_attach(process->pmu, td_queue_locked(thread->queue, 0));
}

/* QEMU gives a new thread the number of one that has ended. It gets a model of its own, so that
 * what comes out does not depend on which numbers were free. */
static void reuse_thread(struct td_image *process, struct td_image_thread *thread)
{
    td_others_run(process, thread, false);
    if (thread->shared || !process->mailbox || process->pmu ||
        process->task_count / (1 + process->variant_count) >= TD_IMAGE_TASKS) {
        td_image_add_word(thread, td_trace_mark(TD_TRACE_THREAD));
        thread->tid = 0;
        return;
    }
    put_batch(process, thread);
    const unsigned vcpu = thread->vcpu;
    struct td_snapshot_thread *tasks = update_task(process, thread);
    for (unsigned i = 0; i <= process->variant_count; i++) {
        struct td_sim *ended = td_queue_exchange(thread->queue, i, new_model(process, i).sim);

        tasks[i].sim = ended;
        td_snapshot_end_thread(&tasks[i], process->region_names);
        td_sim_free(ended);
    }
    *thread =
        (struct td_image_thread){.queue = thread->queue, .task = new_task(process), .vcpu = vcpu};
    begin_batch(thread);
    begin_phase(process, thread);
}

static bool has_ended(const struct td_image_thread *thread)
{
    return thread->tid && syscall(SYS_tgkill, getpid(), thread->tid, 0) < 0 && errno == ESRCH;
}

/* One whose thread has gone without QEMU giving its number to another. All with models of their own
 * are looked at; of the others a few each time, which is enough for their number to stay within a
 * multiple of those that run. NULL: none was found. */
static struct td_image_thread *take_ended(struct td_image *process)
{
    const size_t sharers = process->made_count - TD_IMAGE_MODELS;

    for (size_t i = 0; i < TD_IMAGE_MODELS + (sharers < PROBES ? sharers : PROBES); i++) {
        const size_t at =
            i < TD_IMAGE_MODELS
                ? i
                : TD_IMAGE_MODELS + (process->probed = (process->probed + 1) % sharers);
        struct td_image_thread *thread = process->made[at];

        if (has_ended(thread)) {
            process->threads[thread->vcpu] = NULL;
            return thread;
        }
    }
    return NULL;
}

static struct td_image_thread *new_thread(struct td_image *process, unsigned vcpu)
{
    const bool full = process->made_count >= TD_IMAGE_MODELS;
    struct td_image_thread *thread = full ? take_ended(process) : NULL;

    if (thread) {
        thread->vcpu = vcpu;
        reuse_thread(process, thread);
        return thread;
    }
    thread = td_xcalloc(1, sizeof(*thread));
    thread->vcpu = vcpu;
    if (full)
        share_model(process, thread);
    else
        own_model(process, thread);
    process->made =
        td_grow(process->made, &process->made_cap, process->made_count + 1, sizeof(*process->made));
    process->made[process->made_count++] = thread;
    begin_batch(thread);
    begin_phase(process, thread);
    return thread;
}

/* The first thread known to be the one that calls, or NULL; *count are there of them: of two, one
 * has ended. */
static struct td_image_thread *calling_thread(const struct td_image *process, unsigned *count)
{
    const uint32_t tid = (uint32_t)syscall(SYS_gettid);
    struct td_image_thread *first = NULL;

    *count = 0;
    for (unsigned i = 0; i < process->thread_limit; i++) {
        if (!process->threads[i] || process->threads[i]->tid != tid)
            continue;
        first = first ? first : process->threads[i];
        ++*count;
    }
    return first;
}

/* What the models share must be whole in the child, and the same each time. */
void td_image_before_fork(struct td_image *process)
{
    unsigned count = 0;
    struct td_image_thread *own = calling_thread(process, &count);

    process->forking = count == 1 ? own : NULL;
    /* The child begins in the regions that are open, of which the model has to know. */
    if (process->forking && td_region_names_any(process->region_names))
        put_batch(process, process->forking);
    for (unsigned i = 0; i < process->thread_limit; i++) {
        if (!process->threads[i])
            continue;
        td_queue_drain(process->threads[i]->queue);
        if (!process->threads[i]->shared)
            td_queue_lock(process->threads[i]->queue);
    }
    lock_shared(process);
}

void td_image_forked_parent(struct td_image *process)
{
    unlock_models(process);
}

/* The queue of the parent's thread is still locked, and stays so. */
static struct td_image_thread *forked_thread(struct td_image *process,
                                             const struct td_image_thread *parent)
{
    struct td_image_thread *thread = new_thread(process, parent->vcpu);

    if (!parent->shared && !thread->shared)
        td_sim_inherit_regions(td_queue_locked(thread->queue, 0),
                               td_queue_locked(parent->queue, 0));
    td_files_tell(process, thread);
    return thread;
}

/* A forked child has the threads' memory but only one thread, and none of its parent's work; the
 * parent's models stay where they are. */
void td_image_forked_child(struct td_image *process)
{
    pthread_mutex_init(&process->lock, NULL);
    pthread_mutex_init(&process->snapshot_lock, NULL);
    pthread_mutex_init(&process->meeting_lock, NULL);
    process->task_count = 0;
    process->made_count = 0;
    td_llc_forget_threads(process->llc, &process->desc);
    for (unsigned i = 0; i < process->variant_count; i++)
        td_llc_forget_threads(process->variants[i].llc, &process->variants[i].desc);
    memset(process->shared, 0, sizeof(process->shared));
    for (unsigned i = 0; i < process->thread_limit; i++) {
        if (!process->threads[i])
            continue;
        const struct td_image_thread *parent = process->threads[i];

        process->threads[i] = NULL;
        if (process->forking && parent != process->forking)
            continue;
        process->threads[i] = forked_thread(process, parent);
        process->threads[i]->signals = parent->signals;
    }
    process->place = process->mailbox ? td_mailbox_claim(process->mailbox) : TD_MAILBOX_NONE;
    td_others_forked(process);
    process->start_ns = td_clock_ns();
    process->next_snapshot_ns = process->start_ns + SNAPSHOT_FIRST_NS;
}

/* Of threads with shared models, and with a simulated PMU. */
static void note_missed_regions(struct td_image *process, const struct td_image_thread *thread)
{
    char *text = NULL;

    pthread_mutex_lock(&process->lock);
    if (!process->regions_missed && process->mailbox) {
        text = td_xasprintf("regions that %s marked are not in the profile: %s",
                            process->name ? process->name : "the program",
                            thread->shared ? "those of threads beyond the first 128 are not told "
                                             "apart"
                                           : "a simulated PMU counts without them");
        td_mailbox_note(process->mailbox, text);
    }
    process->regions_missed = true;
    pthread_mutex_unlock(&process->lock);
    free(text);
}

void td_image_region(struct td_image *process, struct td_image_thread *thread, bool begins,
                     uint64_t name)
{
    if (thread->shared || process->pmu || !process->mailbox) {
        if (!process->regions_missed)
            note_missed_regions(process, thread);
        return;
    }
    /* What was skipped so far is told with a batch. */
    if (thread->mode == TD_SIM_FAST_FORWARD)
        td_image_flush(process, thread, 0);
    pthread_mutex_lock(&process->lock);
    const uint32_t id = td_region_names_put(process->region_names, name);
    pthread_mutex_unlock(&process->lock);
    td_image_add_word(thread, td_trace_region(begins, id));
}

void td_image_before_meeting(struct td_image *process, struct td_image_thread *thread)
{
    if (thread->shared)
        return;
    /* Others shall not wait for what is long past. */
    td_queue_drain(thread->queue);
    pthread_mutex_lock(&process->meeting_lock);
    put_batch(process, thread);
    td_queue_drain(thread->queue);
    pthread_mutex_unlock(&process->meeting_lock);
}

void td_image_set_break(struct td_image *process, uint64_t end)
{
    pthread_mutex_lock(&process->lock);
    if (process->heap_start == 0)
        process->heap_start = end;
    if (end > process->heap_end)
        process->heap_end = end;
    pthread_mutex_unlock(&process->lock);
}

void td_image_rest(struct td_image *process, struct td_image_thread *thread, bool rests)
{
    td_others_run(process, thread, !rests);
    /* Of a model of several threads nobody in particular rests. */
    for (unsigned i = 0; i <= process->variant_count && !thread->shared; i++)
        td_sim_rest(td_queue_locked(thread->queue, i), rests);
}

void td_image_add_thread(struct td_image *process, unsigned vcpu)
{
    pthread_mutex_lock(&process->lock);
    if (vcpu >= process->thread_limit)
        process->thread_limit = vcpu + 1;
    if (!process->threads[vcpu])
        process->threads[vcpu] = new_thread(process, vcpu);
    else
        reuse_thread(process, process->threads[vcpu]);
    td_files_tell(process, process->threads[vcpu]);
    td_others_run(process, process->threads[vcpu], true);
    if (process->made_count == 1 && !process->threads[vcpu]->signals.known)
        td_signals_begin(&process->threads[vcpu]->signals);
    pthread_mutex_unlock(&process->lock);
}

struct td_image_thread *td_image_find_thread(const struct td_image *process)
{
    struct td_image_thread *alone = NULL;
    unsigned known = 0, count = 0;
    struct td_image_thread *own = calling_thread(process, &known);

    if (own)
        return own;
    for (unsigned i = 0; i < process->thread_limit; i++) {
        if (!process->threads[i])
            continue;
        alone = process->threads[i];
        count++;
    }
    /* A thread learns who it is with its first batch. */
    return count == 1 ? alone : NULL;
}

void td_image_finish(struct td_image *process, struct td_image_thread *own)
{
    for (unsigned i = 0; i < process->thread_limit; i++) {
        if (!process->threads[i])
            continue;
        if (!own || own == process->threads[i])
            put_batch(process, process->threads[i]);
        td_queue_drain(process->threads[i]->queue);
    }
    if (process->mailbox && !process->abandoned)
        write_snapshot(process);
}

void td_image_before_wait(struct td_image *process, struct td_image_thread *thread)
{
    const uint64_t cost = __atomic_load_n(&process->snapshot_cost_ns, __ATOMIC_RELAXED);

    if (!process->mailbox || cost > WAIT_FREE_NS + td_clock_process_ns() / WAIT_SHARE ||
        __atomic_load_n(&process->next_snapshot_ns, __ATOMIC_RELAXED) == UINT64_MAX)
        return;
    put_batch(process, thread);
    td_queue_drain(thread->queue);
    write_snapshot_now(process, thread);
}

void td_image_read_maps(struct td_image *process)
{
    pthread_mutex_lock(&process->lock);
    td_snapshot_maps_update(&process->maps);
    pthread_mutex_unlock(&process->lock);
}

uint64_t td_image_place(struct td_image *process, uint64_t pc, const uint8_t *code, size_t size)
{
    return process->mailbox ? td_snapshot_maps_place(&process->maps, pc, code, size) : pc;
}

/* Of a copied process everything is where its machine had it. */
void td_image_set_own_end(struct td_image *process, uint64_t end)
{
    if (process->window.wanted)
        end = LIBRARIES;
    td_blocks_set_own_end(process->blocks, end);
    for (unsigned i = 0; i < process->variant_count; i++)
        td_blocks_set_own_end(process->variants[i].blocks, end);
}

const struct td_block *td_image_define(struct td_image *process, uint64_t place,
                                       const uint8_t *bytes, const uint8_t *lengths, uint32_t count)
{
    const uint32_t id = td_blocks_define(process->blocks, place, bytes, lengths, count);

    for (unsigned i = 0; i < process->variant_count; i++) {
        const uint32_t other =
            td_blocks_define(process->variants[i].blocks, place, bytes, lengths, count);

        assert(other == id);
        (void)other;
    }
    return td_blocks_get(process->blocks, id);
}

void td_image_map(struct td_image *process, const struct td_image_change *change)
{
    pthread_mutex_lock(&process->lock);
    for (size_t i = 0; i < TD_ARRAY_SIZE(change->covered); i++)
        process->maps.stale = process->maps.stale ||
                              td_mappings_overlap(&process->maps.code, change->covered[i].start,
                                                  change->covered[i].end);
    process->maps.more = process->maps.more || change->more;
    pthread_mutex_unlock(&process->lock);
}

/* tdrec's stand in the mailbox. */
static void make_variants(struct td_image *process)
{
    const struct td_core_desc *descs = NULL;
    const size_t count = process->mailbox ? td_mailbox_variants(process->mailbox, &descs) : 0;

    process->variants = td_xcalloc(count, sizeof(*process->variants));
    for (size_t i = 0; i < count; i++)
        process->variants[i] = (struct td_image_core){
            .desc = descs[i], .blocks = td_blocks_new(&descs[i]), .llc = td_llc_new(&descs[i])};
    process->variant_count = (unsigned)count;
}

void td_image_begin(struct td_image *process)
{
    pthread_mutex_init(&process->lock, NULL);
    pthread_mutex_init(&process->snapshot_lock, NULL);
    pthread_mutex_init(&process->meeting_lock, NULL);
    if (process->mailbox) {
        process->place = td_mailbox_claim(process->mailbox);
        td_mailbox_end(process->mailbox, process->after);
    }
    if (process->mailbox_name && !process->mailbox)
        td_image_abandon(process);
    if (process->window.wanted) {
        process->desc.first_touch = TD_FIRST_TOUCH_LEFT;
        process->stack_known = true; /* it is of each image, and stays where it was */
    }
    process->blocks = td_blocks_new(&process->desc);
    process->link = td_blocks_link(process->blocks);
    process->llc = td_llc_new(&process->desc);
    make_variants(process);
    td_others_begin(process);
    process->region_names = td_region_names_new();
    process->start_ns = td_clock_ns();
    process->next_snapshot_ns = process->start_ns + SNAPSHOT_FIRST_NS;
}
