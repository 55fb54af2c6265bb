/* SPDX-License-Identifier: MIT */
#include "record/live/capture.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "base/text.h"
#include "record/live/calls.h"
#include "record/live/clone.h"
#include "record/live/files.h"
#include "record/live/memory.h"
#include "record/live/own.h"
#include "record/live/repair.h"

/* The most that an image may take of memory. */
#define IMAGE_LIMIT (UINT64_C(4) << 30)
/* What is copied while a program is held: 2 to 10 ms. */
#define COPY_LIMIT (UINT64_C(8) << 20)

/* What is copied of memory that clones do not get, while the program is held. */
#define OWN_LIMIT (UINT64_C(24) << 20)
/* Processes that have such memory: so many are remembered. */
#define APART_MAX 32

/* At the end, so long it is tried to let programs reap their clones. */
#define LAST_TRIES   50
#define LAST_WAIT_NS 1000000

/* A clone that has ended, whose entry in the table of processes its parent still has. */
struct remains {
    pid_t process, inner;
};

/* A process with memory that clones do not get. */
struct apart {
    pid_t process;
    bool too_large; /* to be copied while it is held */
};

struct td_capture {
    const struct td_live_waiting *waiting;
    struct remains *remains;
    size_t count, cap;
    size_t next; /* of `remains`: whose turn it is */
    struct apart apart[APART_MAX];
    size_t apart_count; /* in all; the last are kept */
    uint8_t *room;      /* for copies of what they have, OWN_LIMIT; NULL: there is none */
};

/* One image that is being taken. */
struct taking {
    struct td_capture *capture;
    struct td_live_stop stop;
    struct td_live_clone clone;
    struct td_live_files files;
    struct td_live_own own;
    struct apart *apart;          /* NULL: the process is not known to have such memory */
    bool settled;                 /* the clone stands still */
    struct td_live_detour detour; /* not open: no clone may be made */
    uint64_t cpu_ns, process_cpu_ns;
    uint64_t queued_ns; /* that the thread ever waited for a CPU, before it was stopped */
    int fd;
    uint32_t call_limit;
    struct td_live_calls calls;
    struct td_live_writer *writer; /* NULL: nothing is written yet */
    struct td_live_thread thread;  /* that is written */
    struct td_live_result *result;
    struct td_err err;
};

struct td_capture *td_capture_new(const struct td_live_waiting *waiting)
{
    struct td_capture *capture = td_xcalloc(1, sizeof(*capture));

    capture->waiting = waiting;
    return capture;
}

/* ---- what is left of clones ---- */

static void keep_remains(struct td_capture *capture, pid_t process, pid_t inner)
{
    capture->remains =
        td_grow(capture->remains, &capture->cap, capture->count + 1, sizeof(*capture->remains));
    capture->remains[capture->count++] = (struct remains){.process = process, .inner = inner};
}

/* By a thread that is stopped. False: it has been let go. What may not be reaped, because a filter
 * confines the program now, or it is another program, is forgotten. */
static bool reap(struct td_capture *capture, struct td_live_stop *stop,
                 struct td_live_detour *detour)
{
    size_t kept = 0;
    enum td_live_outcome outcome = TD_LIVE_TAKEN;

    for (size_t i = 0; i < capture->count; i++) {
        const struct remains *remains = &capture->remains[i];
        const bool of_it = remains->process == stop->process;

        if (of_it && outcome == TD_LIVE_TAKEN)
            outcome = td_live_clone_reap(remains->inner, stop, detour);
        if (!of_it || outcome == TD_LIVE_SIGNAL)
            capture->remains[kept++] = *remains;
    }
    capture->count = kept;
    return outcome == TD_LIVE_TAKEN;
}

static void try_reap(struct td_capture *capture, pid_t process, pid_t thread)
{
    struct td_live_detour detour;
    struct td_live_stop *stop = td_xcalloc(1, sizeof(*stop));

    if (td_live_detour_open(&detour, process) == TD_LIVE_TAKEN &&
        td_live_stop_take(stop, process, thread, capture->waiting, NULL) == TD_LIVE_TAKEN) {
        const bool calling = stop->state == TD_ISA_RESTARTS || stop->state == TD_ISA_BROKEN;

        if (calling || reap(capture, stop, &detour))
            td_live_stop_release(stop);
    }
    td_live_detour_close(&detour);
    free(stop);
}

/* A thread of the process that runs; 0: none. */
static pid_t running_thread(pid_t process)
{
    char folder[64];
    pid_t found = 0;

    snprintf(folder, sizeof(folder), "/proc/%d/task", process);
    char **names = td_procfs_names(NULL, folder);
    for (char **name = names; name && *name && found == 0; name++) {
        uint64_t thread = 0;

        if (td_parse_u64(*name, &thread) && td_live_thread_runs(process, (pid_t)thread))
            found = (pid_t)thread;
    }
    td_procfs_names_free(names);
    return found;
}

bool td_capture_untidy(const struct td_capture *capture)
{
    return capture->count > 0;
}

void td_capture_tidy(struct td_capture *capture)
{
    if (capture->count == 0)
        return;
    const size_t i = capture->next++ % capture->count;
    const pid_t process = capture->remains[i].process;
    /* One that sleeps would be disturbed. */
    const pid_t thread = running_thread(process);
    if (td_live_thread_state(process, process) == '\0')
        capture->remains[i] = capture->remains[--capture->count]; /* its parent's parent has it */
    else if (thread != 0)
        try_reap(capture, process, thread);
}

void td_capture_free(struct td_capture *capture)
{
    if (!capture)
        return;
    for (int tries = 0; tries < LAST_TRIES && capture->count > 0; tries++) {
        td_capture_tidy(capture);
        if (capture->count > 0)
            nanosleep(&(struct timespec){.tv_nsec = LAST_WAIT_NS}, NULL);
    }
    free(capture->remains);
    if (capture->room)
        munmap(capture->room, OWN_LIMIT);
    free(capture);
}

/* ---- memory that clones do not get ---- */

static struct apart *find_apart(struct td_capture *capture, pid_t process)
{
    for (size_t i = 0; i < capture->apart_count && i < APART_MAX; i++) {
        if (capture->apart[i].process == process)
            return &capture->apart[i];
    }
    return NULL;
}

/* The room is there at once, so that no program waits for its pages. */
static void note_apart(struct td_capture *capture, pid_t process)
{
    if (!capture->room)
        capture->room = mmap(NULL, OWN_LIMIT, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (capture->room == MAP_FAILED)
        capture->room = NULL;
    capture->apart[capture->apart_count++ % APART_MAX] =
        (struct apart){.process = process, .too_large = !capture->room};
}

/* ---- one image ---- */

static enum td_live_outcome refuse(struct taking *taking, enum td_live_outcome outcome)
{
    td_fail(&taking->err, TD_EUNSUPPORTED, "%s", td_live_outcome_text(outcome));
    return outcome;
}

static bool has_threads(pid_t process)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/status", process);
    char *text = td_procfs_text(NULL, path);
    char *threads = text ? td_procfs_field(text, "Threads") : NULL;
    const bool several = !threads || strcmp(threads, "1") != 0;
    free(threads);
    free(text);
    return several;
}

/* Of one that runs beside others the others would go on writing meanwhile. */
static bool may_copy(const struct taking *taking)
{
    return taking->result->resident_bytes <= COPY_LIMIT && !has_threads(taking->result->process);
}

/* What can be learned while the program runs. */
static enum td_live_outcome prepare(struct taking *taking)
{
    struct td_live_result *result = taking->result;
    enum td_live_outcome outcome;

    result->resident_bytes = td_live_memory_resident(result->process);
    if (result->resident_bytes > IMAGE_LIMIT)
        return refuse(taking, TD_LIVE_TOO_LARGE);
    taking->apart = find_apart(taking->capture, result->process);
    if (taking->apart && taking->apart->too_large)
        return refuse(taking, TD_LIVE_APART);
    outcome = td_live_clone_allowed(result->process, result->resident_bytes, &taking->err);
    if (outcome == TD_LIVE_TAKEN)
        outcome = td_live_detour_open(&taking->detour, result->process);
    else if (outcome != TD_LIVE_CONFINED)
        return outcome;
    if (!taking->detour.open && (outcome != TD_LIVE_CONFINED || !may_copy(taking)))
        return refuse(taking, outcome);
    td_live_files_list(&taking->files, result->process);
    return TD_LIVE_TAKEN;
}

/* For how long the thread has waited for a CPU: the second number; 0: not known. */
static uint64_t read_queued(pid_t process, pid_t thread)
{
    char path[64];
    uint64_t queued_ns = 0;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", process, thread);
    char *text = td_procfs_text(NULL, path), *rest = text;
    const char *first = text ? strsep(&rest, " ") : NULL;
    const char *second = first ? strsep(&rest, " ") : NULL;
    if (!second || !td_parse_u64(second, &queued_ns))
        queued_ns = 0;
    free(text);
    return queued_ns;
}

/* The thread goes on, and is watched for a moment or not. */
static void release(struct taking *taking, bool watch)
{
    struct td_live_stop *stop = &taking->stop;
    struct td_live_result *result = taking->result;
    const uint64_t queued_ns = read_queued(stop->process, stop->thread);

    result->pause_ns = watch ? td_live_stop_watch(stop) : td_live_stop_release(stop);
    td_live_detour_close(&taking->detour); /* what is left of clones is reaped by one of its own */
    if (queued_ns > taking->queued_ns)
        result->queue_ns = queued_ns - taking->queued_ns;
    if (result->queue_ns > result->pause_ns)
        result->queue_ns = result->pause_ns;
}

static void read_times(struct taking *taking)
{
    clockid_t clock;
    struct timespec time = {0};

    taking->cpu_ns = td_live_thread_cpu_ns(taking->stop.process, taking->stop.thread);
    if (clock_getcpuclockid(taking->stop.process, &clock) == 0 && clock_gettime(clock, &time) == 0)
        taking->process_cpu_ns = (uint64_t)time.tv_sec * TD_NS_PER_S + (uint64_t)time.tv_nsec;
}

/* While a program is held, nothing else that wants the CPU comes first, where that is allowed. */
static void hurry(bool much)
{
    const struct sched_param first = {.sched_priority = 1}, normal = {.sched_priority = 0};

    if (much)
        sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
    else
        sched_setscheduler(0, SCHED_OTHER, &normal);
}

/* Stops the thread; TD_LIVE_TAKEN: it is held, in a state in which it may be cloned. */
static enum td_live_outcome hold(struct taking *taking)
{
    struct td_live_stop *stop = &taking->stop;
    const struct td_live_waiting *waiting = taking->capture->waiting;

    taking->queued_ns = read_queued(taking->result->process, taking->result->thread);
    enum td_live_outcome outcome = td_live_stop_take(stop, taking->result->process,
                                                     taking->result->thread, waiting, &taking->err);

    if (outcome != TD_LIVE_TAKEN)
        return outcome;
    taking->result->stop_ns = stop->stopped_ns - stop->asked_ns;
    if (stop->state == TD_ISA_RESTARTS || stop->state == TD_ISA_BROKEN)
        outcome = refuse(taking, TD_LIVE_IN_CALL);
    else
        outcome = td_live_stop_read(stop, &taking->err);
    if (outcome != TD_LIVE_TAKEN) {
        release(taking, false);
        return outcome;
    }
    taking->result->address = td_isa_pc(&stop->registers);
    td_live_files_place(&taking->files, stop->process);
    read_times(taking);
    return TD_LIVE_TAKEN;
}

/* What was written of an image that did not become one is given back; without a head it is none
 * anyway. */
static enum td_live_outcome outcome_of(struct taking *taking, int code)
{
    if (code == TD_OK)
        return TD_LIVE_TAKEN;
    if (ftruncate(taking->fd, 0) < 0)
        taking->result->image_bytes = 0;
    return code == TD_ELIMIT ? TD_LIVE_TOO_LARGE : code == TD_EIO ? TD_LIVE_NO_ROOM : TD_LIVE_GONE;
}

/* All but the end of the image, of a process that stands still. */
static enum td_live_outcome write_memory(struct taking *taking, pid_t still)
{
    const struct td_live_stop *stop = &taking->stop;
    struct td_live_thread *thread = &taking->thread;

    *thread = (struct td_live_thread){
        .machine = td_isa_machine(),
        .process = (uint32_t)stop->process,
        .thread = (uint32_t)stop->thread,
        .number = taking->result->number,
        .cpu_ns = taking->cpu_ns,
        .process_cpu_ns = taking->process_cpu_ns,
        .time_ns = stop->stopped_ns,
        .address = taking->result->address,
        .thread_pointer = stop->thread_pointer,
        .signal_mask = stop->signal_mask,
        .registers = &stop->registers.set,
        .registers_size = sizeof(stop->registers.set),
        .vector = stop->vector,
        .vector_size = stop->vector_size,
    };
    taking->writer = td_live_writer_new(taking->fd, IMAGE_LIMIT);
    for (size_t i = 0; i < taking->files.count; i++)
        td_live_writer_file(taking->writer, &taking->files.items[i]);
    return outcome_of(taking,
                      td_live_memory_write(taking->writer, still, stop->process, &taking->own,
                                           &thread->heap_start, &thread->heap_end, &taking->err));
}

/* The memory is in it; the calls are known. */
static enum td_live_outcome finish_image(struct taking *taking)
{
    const struct td_buf *log = &taking->calls.log;
    int code = TD_OK;

    taking->result->image_bytes = td_live_writer_bytes(taking->writer);
    if (log->len > 0)
        code = td_live_writer_calls(taking->writer, log->data, log->len, &taking->err);
    if (code == TD_OK)
        code = td_live_writer_finish(taking->writer, &taking->thread, &taking->err);
    return outcome_of(taking, code);
}

/* Until the clone stands still. */
static enum td_live_outcome settle(struct taking *taking)
{
    const struct td_live_waiting *waiting = taking->capture->waiting;

    taking->settled = true;
    return td_live_clone_settle(&taking->clone, &taking->stop, waiting, &taking->err);
}

/* The thread is held still: copies what the clone lacks. */
static enum td_live_outcome copy_own(struct taking *taking)
{
    const pid_t process = taking->stop.process;
    const enum td_live_outcome outcome = settle(taking);

    if (outcome != TD_LIVE_TAKEN)
        return outcome;
    td_live_own_find(&taking->own, process, taking->clone.id);
    if (td_live_own_read(&taking->own, process, taking->capture->room, OWN_LIMIT))
        return TD_LIVE_TAKEN;
    taking->apart->too_large = true;
    return refuse(taking, TD_LIVE_APART);
}

/* Whether the clone lacks something that nobody knew of; the next image has it. */
static bool is_incomplete(struct taking *taking)
{
    const pid_t process = taking->stop.process;

    if (taking->apart || !td_live_own_differs(process, taking->clone.id))
        return false;
    td_live_own_find(&taking->own, process, taking->clone.id);
    if (taking->own.count > 0)
        note_apart(taking->capture, process);
    return taking->own.count > 0;
}

static enum td_live_outcome repair_and_write(struct taking *taking)
{
    const struct td_live_repair repair = td_live_repair(taking->clone.id, &taking->stop.registers);

    taking->result->redirected = (uint32_t)repair.places;
    if (repair.moved && !td_live_stop_follow(&taking->stop, taking->clone.id))
        return refuse(taking, TD_LIVE_GONE);
    const enum td_live_outcome outcome = write_memory(taking, taking->clone.id);
    return outcome == TD_LIVE_TAKEN ? finish_image(taking) : outcome;
}

/* The clone is there and the program runs on. */
static enum td_live_outcome use_clone(struct taking *taking, enum td_live_outcome outcome)
{
    const struct td_live_waiting *waiting = taking->capture->waiting;

    if (!taking->settled)
        outcome = settle(taking);
    keep_remains(taking->capture, taking->stop.process, taking->clone.inner);
    if (taking->clone.id == 0)
        return outcome;
    taking->result->clone = taking->clone.id;
    taking->result->cloned = true;
    if (waiting && waiting->cloned)
        waiting->cloned(waiting->ctx, taking->clone.id);
    if (outcome == TD_LIVE_TAKEN)
        outcome = is_incomplete(taking) ? refuse(taking, TD_LIVE_APART) : repair_and_write(taking);
    td_live_clone_kill(&taking->clone);
    td_capture_tidy(taking->capture);
    return outcome;
}

/* The thread is held. */
static enum td_live_outcome take_held(struct taking *taking)
{
    struct td_live_stop *stop = &taking->stop;
    enum td_live_outcome outcome = TD_LIVE_LIMIT;

    if (taking->detour.open) {
        if (!reap(taking->capture, stop, &taking->detour))
            return refuse(taking, TD_LIVE_SIGNAL); /* tried again */
        outcome = td_live_clone_make(&taking->clone, stop, &taking->detour, &taking->err);
    }
    if (outcome == TD_LIVE_TAKEN && taking->apart)
        outcome = copy_own(taking);
    if (outcome == TD_LIVE_LIMIT && may_copy(taking))
        outcome = write_memory(taking, stop->process);
    const bool watch = outcome == TD_LIVE_TAKEN && taking->call_limit > 0;
    release(taking, watch);
    if (watch)
        td_live_calls_watch(&taking->calls, stop, taking->call_limit, taking->capture->waiting);
    hurry(false);
    taking->result->watch_ns = taking->calls.held_ns;
    taking->result->calls = taking->calls.count;
    if (taking->clone.inner != 0)
        return use_clone(taking, outcome);
    return outcome == TD_LIVE_TAKEN ? finish_image(taking) : outcome;
}

static void take(struct td_capture *capture, const struct td_capture_order *order, int fd,
                 struct td_live_result *result)
{
    struct taking *taking = td_xcalloc(1, sizeof(*taking));
    const uint64_t start_ns = td_clock_ns();

    *result = (struct td_live_result){
        .process = order->process, .thread = order->thread, .number = order->number};
    *taking = (struct taking){.capture = capture,
                              .fd = fd,
                              .call_limit = order->calls,
                              .result = result,
                              .err = TD_ERR_INIT};
    result->outcome = prepare(taking);
    if (result->outcome == TD_LIVE_TAKEN) {
        hurry(true);
        result->outcome = hold(taking);
        if (result->outcome == TD_LIVE_TAKEN)
            result->outcome = take_held(taking);
        hurry(false);
    }
    result->write_ns = td_clock_ns() - start_ns - result->pause_ns;
    if (result->outcome != TD_LIVE_TAKEN)
        snprintf(result->text, sizeof(result->text), "%.*s", (int)sizeof(result->text) - 1,
                 taking->err.text);
    td_live_files_release(&taking->files);
    td_live_own_release(&taking->own);
    td_live_detour_close(&taking->detour);
    td_live_writer_free(taking->writer);
    td_buf_release(&taking->calls.log);
    free(taking);
}

void td_capture_take(struct td_capture *capture, const struct td_capture_order *order, int fd,
                     struct td_live_result *result)
{
    const bool known = find_apart(capture, order->process);

    take(capture, order, fd, result);
    if (result->outcome == TD_LIVE_APART && !known) /* it is by now */
        take(capture, order, fd, result);
}
