/* SPDX-License-Identifier: MIT */
/* The sources `pmu` and `clock`: the plan's events, sampled by the kernel. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "formats/profile/write.h"
#include "record/events/drain.h"
#include "record/tasks/profile_head.h"
#include "record/tasks/scan.h"
#include "record/events/pair_offset.h"
#include "record/run/beside.h"
#include "record/run/loop.h"
#include "record/run/marks.h"
#include "record/run/recorder.h"
#include "record/run/sources.h"

#define NS_PER_MS UINT64_C(1000000)

/* A recorder that is killed loses at most what came since the last flush. */
#define FLUSH_NS (800 * NS_PER_MS)
/* A record's time is taken before it is written: one that is older than this is in its ring. */
#define SLACK_NS (10 * NS_PER_MS)
/* Less counted CPU time than this says nothing about what sampling missed. */
#define GAP_COUNTED_NS (100 * NS_PER_MS)
#define GAP_SHARE      0.10
/* Long enough for a process that got a signal to be gone. */
#define ENDING_MS 50

struct sampling {
    const struct td_request *request;
    const struct td_caps *caps;
    const struct td_plan *plan;
    struct td_recording *recording; /* borrowed */
    struct td_run run;
    struct td_drain drain;
    struct td_recorder *recorder;
    struct td_marks *marks; /* of the first run's command; NULL: none */
    uint64_t lost_before;   /* samples lost in earlier runs */
    size_t *watched;        /* a ring: which opened event stands for it in the run's own_fds */
    uint64_t next_flush_ns;
    bool unended; /* a run left the profile open for the next */
};

/* Start. */

/* Our part is small and must not wait for a CPU while rings run full; refused to ordinary users. */
#define NICENESS (-10)

static uint32_t recorded_pid(const struct sampling *s)
{
    if (s->run.target.pid > 0)
        return (uint32_t)s->run.target.pid;
    return s->request->id_count ? s->request->ids[0] : (uint32_t)getpid();
}

/* Processes that run when recording begins. Events run already, so that nothing that changes in
 * between is missed. */
static void add_running(struct sampling *s)
{
    struct td_tasks *tasks = td_recorder_tasks(s->recorder);
    const uint64_t now = td_clock_ns();

    if (td_run_launches(&s->run)) {
        const uint32_t pid = (uint32_t)s->run.target.pid;

        td_tasks_add_process(tasks, pid, "tdrec", now)->before_exec = true;
    } else if (s->request->id_count == 0) {
        td_tasks_scan_all(tasks, now);
    }
    for (size_t i = 0; i < s->request->id_count; i++)
        td_tasks_scan_process(tasks, td_target_process_of(s->request->ids[i]), now);
}

static void tell_compromises(struct sampling *s)
{
    char text[256];

    if (s->run.events.ring_pages < s->run.events.ring_wanted && s->run.events.ring_pages < 64) {
        snprintf(text, sizeof(text),
                 "ring buffers of only %zu kB per CPU could be locked (raise ulimit -l or "
                 "kernel.perf_event_mlock_kb if samples are lost)",
                 s->run.events.ring_pages * s->caps->page_bytes / 1024);
        td_run_warn(&s->run, text);
    }
    if (s->run.events.skipped_cpus) {
        snprintf(text, sizeof(text), "%zu CPUs went offline and are not sampled",
                 s->run.events.skipped_cpus);
        td_run_warn(&s->run, text);
    }
}

/* The first run makes the file; the others add to it. */
static int open_profile(struct sampling *s, struct td_err *err)
{
    if (s->run.pass > 1) {
        td_recorder_set_rings(s->recorder, s->run.events.rings, s->run.events.ring_count);
        return TD_OK;
    }
    const int rc =
        td_recording_open(s->recording, s->request, s->caps, s->plan, recorded_pid(s), err);
    if (rc < 0)
        return rc;
    s->recorder = td_recorder_new(s->plan, s->recording->writer, s->run.events.rings,
                                  s->run.events.ring_count);
    const struct td_beside *beside = s->recording->beside;
    if (beside && beside->clone)
        td_recorder_set_clones(s->recorder, beside->clone, beside->ctx);
    return TD_OK;
}

static void give_up(struct sampling *s, struct td_err *err)
{
    td_events_disable(&s->run.events);
    td_run_give_up(&s->run, err);
}

/* Regions are of one run: of hybrid's two it is the modelled one that is exact. A program without
 * marks sees nothing of them in its environment. */
static void watch_marks(struct sampling *s)
{
    char **command = s->request->command;

    if (command && s->run.pass == 1 && !s->recording->more && !s->recording->beside &&
        (s->request->regions || td_marks_are_in(command[0])))
        s->marks = td_marks_new(s->plan, s->caps);
    s->run.env = s->marks ? td_marks_env(s->marks) : NULL;
}

static int open_run(void *ctx, struct td_err *err)
{
    struct sampling *s = ctx;

    watch_marks(s);
    int rc = td_run_open(&s->run, TD_EVENTS_ALL, err);

    if (rc == TD_OK)
        rc = open_profile(s, err);
    if (rc < 0)
        return rc;
    const struct td_layouts layouts = td_events_layouts(&s->run.events);
    td_drain_init(&s->drain, s->run.events.rings, s->run.events.ring_count, &layouts);
    tell_compromises(s);
    setpriority(PRIO_PROCESS, 0, NICENESS);
    td_run_begin(&s->run);
    if (s->run.pass == 1)
        td_recorder_set_counter(s->recorder, TD_COUNTER_STARTED_NS, s->run.start_ns);
    s->next_flush_ns = s->run.start_ns + FLUSH_NS;
    add_running(s);
    return td_recorder_flush(s->recorder, err);
}

/* An event of each ring wakes us. */
static void watch_rings(struct sampling *s)
{
    const struct td_events *events = &s->run.events;

    s->watched = td_xcalloc(events->ring_count + 1, sizeof(*s->watched));
    for (size_t ring = 0; ring < events->ring_count; ring++) {
        while (events->opened[s->watched[ring]].ring != ring)
            s->watched[ring]++;
        s->run.own_fds[ring] =
            (struct pollfd){.fd = events->opened[s->watched[ring]].fd, .events = POLLIN};
    }
    s->run.own_fd_count = events->ring_count;
}

/* From now on there is something to keep: what stood in the profile's place before may go. */
static void executed(void *ctx)
{
    struct sampling *s = ctx;
    struct td_err err = TD_ERR_INIT;

    watch_rings(s);
    if (td_recording_place(s->recording, &err) < 0)
        give_up(s, &err);
    if (s->plan->passes > 1)
        td_status_note(&s->run.status, "run %u of %u", s->run.pass, s->plan->passes);
}

/* Recording. */

static struct td_status_figures figures_of(const struct sampling *s)
{
    const struct td_recorder *r = s->recorder;

    return (struct td_status_figures){
        .elapsed_ns = td_recorder_counter(r, TD_COUNTER_ENDED_NS) - s->run.start_ns,
        .samples =
            td_recorder_counter(r, TD_COUNTER_SAMPLES) - td_recorder_counter(r, TD_COUNTER_WAITS),
        .waits = td_recorder_counter(r, TD_COUNTER_WAITS),
        .waited_ns = td_recorder_counter(r, TD_COUNTER_WAITED_NS),
        .lost = td_recorder_counter(r, TD_COUNTER_LOST),
        .throttled = td_recorder_counter(r, TD_COUNTER_THROTTLED),
        .filtered = td_recorder_counter(r, TD_COUNTER_FILTERED),
        .processes = td_recorder_counter(r, TD_COUNTER_PROCESSES),
        .threads = td_recorder_counter(r, TD_COUNTER_THREADS),
        .counted_ns = td_recorder_counter(r, TD_COUNTER_COUNTED_NS),
        .sampled_ns = td_recorder_counter(r, TD_COUNTER_SAMPLED_NS),
        .bytes = td_profile_bytes(s->recording->writer),
        .frequency_hz = s->plan->frequency_hz,
        .period = s->request->period,
        .method = s->plan->method == TD_METHOD_CPU ? "per-CPU" : "per-task",
        .path = s->recording->output.path,
    };
}

static void drain(struct sampling *s, uint64_t horizon_ns)
{
    td_drain_run(&s->drain, horizon_ns, td_recorder_take, s->recorder);
}

static void update_lost(struct sampling *s)
{
    const uint64_t lost = s->lost_before + td_events_read(&s->run.events).lost + s->drain.malformed;

    if (lost > td_recorder_counter(s->recorder, TD_COUNTER_LOST))
        td_recorder_set_counter(s->recorder, TD_COUNTER_LOST, lost);
}

/* Throttling stops one of two samplers for a while, and with that changes their distance. */
static void set_pair_offsets(struct sampling *s)
{
    for (size_t i = 0; i < s->run.events.ring_count; i++) {
        if (td_recorder_pairs_strayed(s->recorder, i))
            td_pair_offset_set(&s->run.events, s->run.events.rings[i].cpu);
    }
}

/* How much of the time was recorded, when that is not all of it. */
static void count_parts(struct sampling *s, uint64_t now)
{
    const uint64_t recorded = td_run_recorded_ns(&s->run, now);

    if (!td_run_is_partial(&s->run))
        return;
    td_recorder_set_counter(s->recorder, TD_COUNTER_RECORDED_NS, recorded ? recorded : 1);
    td_recorder_set_counter(s->recorder, TD_COUNTER_PIECES, s->run.pieces);
}

static void flush(struct sampling *s, uint64_t now)
{
    struct td_err err = TD_ERR_INIT;

    if (td_recorder_counter(s->recorder, TD_COUNTER_LOST_RECORDS))
        update_lost(s);
    set_pair_offsets(s);
    td_recorder_set_counter(s->recorder, TD_COUNTER_ENDED_NS, now);
    count_parts(s, now);
    s->next_flush_ns = now + FLUSH_NS;
    if (td_recorder_flush(s->recorder, &err) < 0) {
        give_up(s, &err);
        return;
    }
    const struct td_status_figures figures = figures_of(s);
    if (!s->recording->beside)
        td_status_line(&s->run.status, &figures);
}

/* Only the samples of a clock stand for time. */
static bool samples_clock(const struct sampling *s)
{
    return s->plan->groups[s->plan->group_count - 1].role == TD_ROLE_TIME;
}

/* What the command took, when all of it was recorded: in the run that the tree's first levels are
 * of. */
static void count_command(struct sampling *s)
{
    uint64_t counted = 0;

    if (s->run.pass > 1)
        return;
    if (!td_run_launches(&s->run) || !s->run.target.ended || td_run_is_partial(&s->run))
        return;
    if (s->plan->privilege[0]) /* only user time was sampled */
        counted = s->run.target.user_ns;
    else if (s->plan->method == TD_METHOD_TASK)
        counted = td_events_read(&s->run.events).count;
    else
        counted = s->run.target.user_ns + s->run.target.system_ns;
    if (!samples_clock(s) && !s->plan->privilege[0])
        counted = s->run.target.user_ns + s->run.target.system_ns;
    const uint64_t clones = td_recorder_clones_ns(s->recorder);
    counted -= clones < counted ? clones : counted;
    if (samples_clock(s) || s->plan->source == TD_SOURCE_PMU)
        td_recorder_set_counter(s->recorder, TD_COUNTER_COUNTED_NS, counted);
}

static void warn_gap(struct sampling *s)
{
    const uint64_t counted = td_recorder_counter(s->recorder, TD_COUNTER_COUNTED_NS);
    const uint64_t sampled = td_recorder_counter(s->recorder, TD_COUNTER_SAMPLED_NS);
    char text[256];

    if (!samples_clock(s) || counted < GAP_COUNTED_NS ||
        (double)sampled > (1 - GAP_SHARE) * (double)counted)
        return;
    const double missed = 100 * (1 - (double)sampled / (double)counted);
    if (td_recorder_counter(s->recorder, TD_COUNTER_LOST))
        snprintf(
            text, sizeof(text),
            "%.0f %% of the CPU time was not sampled: the kernel could not deliver all records, "
            "samples and names of threads alike (lower -F, or larger ring buffers: -m %zu)",
            missed, s->run.events.ring_pages * 4);
    else if (s->plan->method == TD_METHOD_TASK)
        snprintf(text, sizeof(text),
                 "%.0f %% of the CPU time was not sampled: short processes and threads are missed "
                 "by inherited events (%s samples whole CPUs, or raise -F)",
                 missed, td_caps_system_wide(s->caps) ? "--method cpu" : "sudo tdrec");
    else
        snprintf(text, sizeof(text), "%.0f %% of the CPU time was not sampled", missed);
    td_run_warn(&s->run, text);
}

/* Says why stacks are incomplete when more than one in a hundred is. */
static void warn_stacks(struct sampling *s)
{
    const struct td_recorder *r = s->recorder;
    const double samples = (double)td_recorder_counter(r, TD_COUNTER_SAMPLES);
    const double cut = (double)td_recorder_counter(r, TD_COUNTER_TRUNCATED_STACKS);
    const double copy = (double)td_recorder_counter(r, TD_COUNTER_UNWIND_SHORT_COPY);
    const uint32_t bytes = s->request->stack_bytes;
    char text[320], longer[64] = "", other[96] = "";

    if (!td_call_graph_copies(s->request->call_graph) || cut <= samples / 100)
        return;
    if (bytes < TD_STACK_BYTES_MAX)
        snprintf(longer, sizeof(longer), " (--call-graph dwarf,%u copies more)",
                 bytes < TD_STACK_BYTES_MAX / 2 ? 2 * bytes : TD_STACK_BYTES_MAX);
    if (cut - copy >= samples / 1000)
        snprintf(other, sizeof(other),
                 ", %.1f %% go through code without unwind tables or cannot be followed",
                 100 * (cut - copy) / samples);
    snprintf(text, sizeof(text),
             "%.1f %% of the stacks are cut: %.1f %% are longer than the %u bytes copied%s%s",
             100 * cut / samples, 100 * copy / samples, bytes, longer, other);
    td_run_warn(&s->run, text);
}

struct left {
    const struct td_recorder *recorder;
    struct td_still_running running;
};

static void add_running_process(void *ctx, const struct td_process *process)
{
    struct left *left = ctx;

    if (!td_recorder_may_be_clone(left->recorder, process) && td_target_runs(process->pid))
        td_still_running_add(&left->running, process->pid);
}

/* What the command started and did not wait for. */
static void tell_running(struct sampling *s)
{
    struct left left = {.recorder = s->recorder};

    if (!td_run_launches(&s->run) || !s->run.target.ended)
        return;
    td_tasks_each_running(td_recorder_tasks(s->recorder), add_running_process, &left);
    if (left.running.count == 0)
        return;
    /* What ended the command may just be ending them too: a Ctrl-C. */
    poll(NULL, 0, ENDING_MS);
    left.running.count = 0;
    td_tasks_each_running(td_recorder_tasks(s->recorder), add_running_process, &left);
    td_run_tell_left(&s->run, &left.running, "recorded");
}

/* Says that the command goes on, when the recording did not end because it was asked to. */
static void tell_cut(struct sampling *s)
{
    if (!td_run_launches(&s->run) || s->run.target.ended)
        return;
    if (s->run.leave)
        td_run_cut(&s->run, "the recorder was hung up (SIGHUP) before the command ended: what the "
                            "command did after that is not recorded");
    else if (s->run.interrupts > 1)
        td_run_warn(&s->run, "recording stopped by a second interrupt; the command goes on");
}

/* Regions. */

static uint32_t marking_thread(void *ctx, const struct td_marked_thread *thread)
{
    const struct sampling *s = ctx;

    return td_recorder_thread(s->recorder, thread->pid, thread->tid, thread->name);
}

static struct td_marks_told write_marks(struct sampling *s)
{
    const struct td_marks_told told =
        td_marks_write(s->marks, s->recording->writer, marking_thread, s);

    td_recorder_set_counter(s->recorder, TD_COUNTER_REGION_STRAYS, told.strays);
    td_recorder_set_counter(s->recorder, TD_COUNTER_REGION_OPEN, told.left_open);
    return told;
}

/* How regions were counted: a parameter that `tdreport regions` explains. */
static void describe_marks(struct sampling *s, const struct td_marks_told *told)
{
    const char *how = !told->counted || told->uncounted == told->threads ? "time"
                      : told->by_read + told->uncounted == 0             ? "user"
                      : told->by_read + told->uncounted == told->threads ? "read"
                                                                         : "mixed";
    char text[64];

    snprintf(text, sizeof(text), "regions=%s", how);
    td_profile_env(s->recording->writer, td_env_key_name(TD_ENV_PARAMETER), text);
}

static void warn_marks(struct sampling *s, const struct td_marks_told *told)
{
    char text[256];

    if (told->lost) {
        snprintf(text, sizeof(text),
                 "%llu marks of regions found no place: their regions are too many, or were set in "
                 "a signal handler while another was taken",
                 (unsigned long long)told->lost);
        td_run_warn(&s->run, text);
    }
    if (told->bad) {
        snprintf(text, sizeof(text),
                 "%llu records of regions are damaged: something else wrote to the memory that "
                 "programs share with tdrec",
                 (unsigned long long)told->bad);
        td_run_cut(&s->run, text);
    }
    if (told->error) {
        snprintf(text, sizeof(text),
                 "regions: of %llu threads only the time is known, since their counters could not "
                 "be opened: %s",
                 (unsigned long long)told->uncounted, strerror((int)told->error));
        td_run_warn(&s->run, text);
    }
}

static void end_marks(struct sampling *s)
{
    if (!s->marks || s->run.pass != 1)
        return;
    const struct td_marks_told told = write_marks(s);
    if (told.threads == 0)
        return;
    describe_marks(s, &told);
    warn_marks(s, &told);
}

static void end_profile(struct sampling *s)
{
    struct td_err err = TD_ERR_INIT;

    td_recorder_end(s->recorder);
    if (td_recording_finish(s->recording, &err) < 0) {
        give_up(s, &err);
        return;
    }
    const struct td_status_figures figures = figures_of(s);
    if (s->run.began && !s->recording->more)
        td_status_summary(&s->run.status, &figures);
}

/* The last records, the totals, the end of the file. */
static void finish(void *ctx)
{
    struct sampling *s = ctx;
    const uint64_t now = td_clock_ns();

    td_events_disable(&s->run.events);
    drain(s, UINT64_MAX);
    update_lost(s);
    td_recorder_end_waits(s->recorder, now);
    td_events_each_value(&s->run.events, td_recorder_count, s->recorder);
    count_command(s);
    count_parts(s, now);
    end_marks(s);
    if (td_run_launches(&s->run) && s->run.target.ended)
        td_env_write_exit(s->recording->writer, s->run.target.status);
    td_recorder_set_counter(s->recorder, TD_COUNTER_ENDED_NS, now);
    warn_gap(s);
    warn_stacks(s);
    tell_running(s);
    tell_cut(s);
    s->unended = td_run_goes_on(&s->run);
    if (s->unended)
        s->lost_before = td_recorder_counter(s->recorder, TD_COUNTER_LOST);
    else
        end_profile(s);
}

/* The loop. */

/* An event whose task has ended says so for ever: another of its ring takes its place. */
static void replace_ended(struct sampling *s, size_t ring)
{
    struct pollfd *fd = &s->run.own_fds[ring];
    size_t i = s->watched[ring] + 1;

    if (!(fd->revents & (POLLHUP | POLLERR)))
        return;
    while (i < s->run.events.opened_count && s->run.events.opened[i].ring != ring)
        i++;
    s->watched[ring] = i;
    fd->fd = i < s->run.events.opened_count ? s->run.events.opened[i].fd : -1;
}

static uint64_t due_ns(void *ctx, uint64_t now)
{
    const struct sampling *s = ctx;
    const struct td_beside *beside = s->recording->beside;
    const uint64_t other = beside ? beside->due_ns(beside->ctx, now) : UINT64_MAX;

    return other < s->next_flush_ns ? other : s->next_flush_ns;
}

static void do_beside(struct sampling *s, const struct td_beside *beside, uint64_t now)
{
    const struct td_beside_now state = {
        .tasks = td_recorder_tasks(s->recorder),
        .now_ns = now,
        .start_ns = s->run.start_ns,
        .sampled_ns = td_recorder_counter(s->recorder, TD_COUNTER_SAMPLED_NS),
    };

    beside->on_time(beside->ctx, &state);
}

static void on_time(void *ctx, uint64_t now)
{
    struct sampling *s = ctx;

    for (size_t ring = 0; ring < s->run.own_fd_count; ring++)
        replace_ended(s, ring);
    drain(s, now - SLACK_NS);
    if (now >= s->next_flush_ns)
        flush(s, now);
    if (s->recording->beside && s->run.running)
        do_beside(s, s->recording->beside, now);
}

/* The records up to now; those that are written at this moment may come with the next ones. */
static void snapshot(void *ctx)
{
    struct sampling *s = ctx;
    const uint64_t now = td_clock_ns();

    drain(s, now);
    if (s->marks)
        write_marks(s);
    flush(s, now);
}

/* What threads wait for while recording is off is not known. */
static void switched(void *ctx, bool on, uint64_t now)
{
    struct sampling *s = ctx;

    if (on)
        return;
    drain(s, UINT64_MAX);
    update_lost(s);
    td_recorder_end_waits(s->recorder, now);
}

static struct td_run_end end_of(const struct sampling *s)
{
    const struct td_run *run = &s->run;
    const bool recorded = s->recorder != NULL;

    return (struct td_run_end){
        .began = run->began,
        .whole =
            run->began && !run->failed && !run->leave && run->interrupts < 2 && run->target.ended,
        .status = run->target.status,
        .elapsed_ns = recorded ? td_recorder_counter(s->recorder, TD_COUNTER_ENDED_NS) -
                                     td_recorder_counter(s->recorder, TD_COUNTER_STARTED_NS)
                               : 0,
        .samples = recorded ? td_recorder_counter(s->recorder, TD_COUNTER_SAMPLES) : 0,
    };
}

static void close_run(void *ctx)
{
    struct sampling *s = ctx;

    /* The next run does not come after all, or could not be started. */
    if (s->unended && !(s->run.began && td_run_goes_on(&s->run)))
        end_profile(s);
    s->recording->native = end_of(s);
    td_drain_release(&s->drain);
    s->drain = (struct td_drain){0};
    free(s->watched);
    s->watched = NULL;
    td_marks_free(s->marks);
    s->marks = NULL;
}

static int run_sampling(const struct td_request *request, const struct td_caps *caps,
                        const struct td_plan *plan, struct td_recording *recording)
{
    static const struct td_run_job job = {.open = open_run,
                                          .executed = executed,
                                          .due_ns = due_ns,
                                          .on_time = on_time,
                                          .switched = switched,
                                          .snapshot = snapshot,
                                          .finish = finish,
                                          .close = close_run,
                                          .second_ends = true};
    struct sampling s = {.request = request, .caps = caps, .plan = plan, .recording = recording};

    td_run_init(&s.run, request, caps, plan, recording);
    const int status = td_loop_run(&s.run, &job, &s);
    td_recorder_free(s.recorder);
    return status;
}

const struct td_source td_source_pmu = {
    .id = TD_SOURCE_PMU, .needs = TD_NEEDS_EVENTS, .plan = td_plan_pmu, .run = run_sampling};
const struct td_source td_source_clock = {
    .id = TD_SOURCE_CLOCK, .needs = TD_NEEDS_EVENTS, .plan = td_plan_clock, .run = run_sampling};
