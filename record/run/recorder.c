/* SPDX-License-Identifier: MIT */
#include "record/run/recorder.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/map.h"
#include "base/mem.h"
#include "formats/kernel/deltas.h"
#include "formats/kernel/waits.h"
#include "record/tasks/frames.h"
#include "record/events/ibs.h"
#include "record/tasks/jit.h"
#include "record/tasks/kernel.h"
#include "record/tasks/modules.h"
#include "record/tasks/scan.h"
#include "record/tasks/stacks.h"
#include "symbolize/maps/vdso.h"

#define NS_PER_S UINT64_C(1000000000)
/* perf_branch_entry's flags (include/uapi/linux/perf_event.h). */
#define BRANCH_MISPREDICTED 1
/* One pair may be torn by a throttled or late interrupt. */
#define STRAYED_MIN 8

/* A group of the plan as the profile knows it. */
struct group {
    uint32_t profile_group; /* TD_NONE: takes no samples */
    uint64_t period;        /* what a sample stands for when it does not say */
    bool time;              /* its unit is ns */
    uint32_t *located;      /* where each sample locates a node: profile groups, by node */
    uint32_t misses;        /* the profile group of mispredicted branches; TD_NONE: none */
    uint32_t events[TD_PLAN_EVENTS_MAX]; /* the profile's */
    struct td_event_counts counts[TD_PLAN_EVENTS_MAX];
};

struct td_recorder {
    const struct td_plan *plan;
    struct td_profile_writer *writer;
    struct td_modules *modules;
    struct td_kernel *kernel;
    struct td_tasks *tasks;
    struct td_stacks *stacks;
    struct td_frames *frames;
    struct td_deltas *deltas;
    struct td_jit *jit;
    struct td_waits *waits; /* NULL: not asked for */
    uint32_t wait_group;    /* the profile's */
    struct group *groups;
    bool own_counts; /* some counts are each thread's own */
    uint32_t *ring_cpus;
    uint32_t *strayed; /* by ring: second samples in succession that are far from the first */
    uint64_t counters[TD_COUNTER_COUNT];
    td_recorder_clone_fn *clone; /* NULL: there are none */
    void *clone_ctx;
    uint64_t clones, clones_ns; /* processes that are no part of the profile, and their time */
    struct td_stack stack;      /* the present sample's */
    struct td_map threads;      /* pid and tid to the profile's thread: the last of them */
};

static uint32_t event_flags(const struct td_plan_event *event)
{
    return (event->exclude_user ? 0 : TD_EVENT_USER) |
           (event->exclude_kernel ? 0 : TD_EVENT_KERNEL) |
           (event->precise_ip ? TD_EVENT_PRECISE : 0);
}

static uint32_t describe_event(struct td_recorder *recorder, const struct td_plan_event *event)
{
    const struct td_profile_event described = {
        .name = event->name,
        .unit = event->unit,
        .pmu_type = event->type,
        .config = {event->config[0], event->config[1], event->config[2]},
        .period = event->period,
        .frequency_hz = event->frequency_hz,
        .flags = event_flags(event),
    };

    return td_profile_event(recorder->writer, &described);
}

/* A profile group for each node that a sample may locate. */
static uint32_t *describe_located(struct td_recorder *recorder, const struct td_plan_group *group,
                                  struct td_group described)
{
    const enum td_tma_node *node =
        group->detail == TD_DETAIL_IBS_OP ? td_ibs_op_nodes() : td_ibs_fetch_nodes();
    uint32_t *located = td_xcalloc(TD_NODE_COUNT, sizeof(*located));
    char name[128];

    for (; *node != TD_NODE_NONE; node++) {
        described.role = TD_ROLE_LOCATOR;
        described.attribution = TD_ATTRIBUTION_LOCATED;
        described.locates = *node;
        snprintf(name, sizeof(name), "%s %s", group->name, td_tma_info(*node)->id);
        located[*node] = td_profile_group(recorder->writer, &described, name, group->cpu_type);
    }
    return located;
}

/* One sample a mispredicted branch, at the branch. */
static uint32_t describe_misses(struct td_recorder *recorder, const struct td_plan_group *group,
                                struct td_group described)
{
    described.role = TD_ROLE_LOCATOR;
    described.attribution = TD_ATTRIBUTION_LOCATED;
    described.locates = TD_NODE_BRANCH_MISPREDICTS;
    described.column_count = 1;
    described.columns[0] =
        (struct td_column){.kind = TD_COLUMN_FLAGS, .event = TD_NONE, .node = TD_NODE_NONE};
    return td_profile_group(recorder->writer, &described, "branch records", group->cpu_type);
}

/* A sample a wait, where it began, of as many nanoseconds. */
static uint32_t describe_waits(struct td_recorder *recorder, const struct td_plan_group *group)
{
    const struct td_profile_event event = {
        .name = TD_OFF_CPU_EVENT, .unit = TD_UNIT_NS, .flags = event_flags(&group->events[0])};
    const uint32_t id = td_profile_event(recorder->writer, &event);
    const struct td_group described = {
        .role = TD_ROLE_METRIC,
        .locates = TD_NODE_NONE,
        .sampler = id,
        .column_count = 1,
        .columns = {{.kind = TD_COLUMN_PERIOD, .event = id, .node = TD_NODE_NONE}},
    };

    return td_profile_group(recorder->writer, &described, group->name, group->cpu_type);
}

/* Events first, then the group whose columns name them. */
static struct group describe_group(struct td_recorder *recorder, const struct td_plan_group *group)
{
    struct group ret = {.profile_group = TD_NONE, .misses = TD_NONE};
    uint32_t *const ids = ret.events;
    struct td_group described = {
        .role = group->role,
        .attribution = group->attribution,
        .locates = group->locates,
        .pass = group->pass,
        .column_count = (uint32_t)group->column_count,
    };

    if (group->waits)
        recorder->wait_group = describe_waits(recorder, group);
    if (group->waits || group->sampler >= group->event_count)
        return ret;
    for (size_t i = 0; i < group->event_count; i++)
        ids[i] = describe_event(recorder, &group->events[i]);
    for (size_t i = 0; i < group->column_count; i++) {
        described.columns[i] = group->columns[i];
        if (group->columns[i].event != TD_NONE)
            described.columns[i].event = ids[group->columns[i].event];
    }
    described.sampler = ids[group->sampler];
    ret.profile_group =
        td_profile_group(recorder->writer, &described, group->name, group->cpu_type);
    if (group->detail != TD_DETAIL_NONE)
        ret.located = describe_located(recorder, group, described);
    if (group->branch_misses)
        ret.misses = describe_misses(recorder, group, described);
    const struct td_plan_event *sampler = &group->events[group->sampler];
    ret.time = sampler->unit == TD_UNIT_NS;
    ret.period = sampler->period;
    /* The kernel turns a clock's frequency into a fixed period (perf_swevent_init_hrtimer). */
    if (sampler->frequency_hz)
        ret.period = ret.time ? NS_PER_S / sampler->frequency_hz : 0;
    return ret;
}

static void end_process(void *ctx, const struct td_process *process)
{
    struct td_recorder *recorder = ctx;

    if (process->jit_used)
        td_jit_write_names(recorder->jit, process);
}

static td_wait_fn take_wait;

struct td_recorder *td_recorder_new(const struct td_plan *plan, struct td_profile_writer *writer,
                                    const struct td_ring *rings, size_t ring_count)
{
    struct td_recorder *recorder = td_xcalloc(1, sizeof(*recorder));

    recorder->plan = plan;
    recorder->writer = writer;
    recorder->modules = td_modules_new(writer);
    const struct td_tasks_hooks hooks = td_scan_hooks(recorder->modules);
    recorder->kernel = td_kernel_new(recorder->modules, writer);
    recorder->stacks = td_stacks_new(writer, recorder->modules, recorder->kernel);
    recorder->frames = td_frames_new(recorder->modules);
    recorder->deltas = td_deltas_new();
    recorder->jit = td_jit_new(writer, recorder->modules);
    recorder->tasks = td_tasks_new(plan->follow, &hooks, end_process, recorder);
    recorder->groups = td_xcalloc(plan->group_count, sizeof(*recorder->groups));
    for (size_t i = 0; i < plan->group_count; i++)
        recorder->groups[i] = describe_group(recorder, &plan->groups[i]);
    for (size_t i = 0; i < plan->group_count; i++)
        recorder->own_counts = recorder->own_counts || plan->groups[i].events[0].inherit;
    for (size_t i = 0; i < plan->group_count && !recorder->waits; i++)
        recorder->waits = plan->groups[i].waits ? td_waits_new(take_wait, recorder) : NULL;
    td_recorder_set_rings(recorder, rings, ring_count);
    return recorder;
}

void td_recorder_set_rings(struct td_recorder *recorder, const struct td_ring *rings,
                           size_t ring_count)
{
    free(recorder->ring_cpus);
    free(recorder->strayed);
    recorder->ring_cpus = td_xcalloc(ring_count, sizeof(*recorder->ring_cpus));
    recorder->strayed = td_xcalloc(ring_count, sizeof(*recorder->strayed));
    for (size_t i = 0; i < ring_count; i++)
        recorder->ring_cpus[i] = rings[i].cpu;
}

void td_recorder_free(struct td_recorder *recorder)
{
    if (!recorder)
        return;
    td_tasks_free(recorder->tasks);
    td_stacks_free(recorder->stacks);
    td_waits_free(recorder->waits);
    td_stack_release(&recorder->stack);
    td_frames_free(recorder->frames);
    td_deltas_free(recorder->deltas);
    td_jit_free(recorder->jit);
    td_kernel_free(recorder->kernel);
    td_modules_free(recorder->modules);
    for (size_t i = 0; i < recorder->plan->group_count; i++)
        free(recorder->groups[i].located);
    free(recorder->groups);
    free(recorder->ring_cpus);
    free(recorder->strayed);
    td_map_release(&recorder->threads);
    free(recorder);
}

struct td_tasks *td_recorder_tasks(struct td_recorder *recorder)
{
    return recorder->tasks;
}

static uint32_t profile_thread(struct td_recorder *recorder, struct td_task *task)
{
    char buf[TD_TASK_NAME_BYTES];

    if (task->profile_thread != TD_NONE)
        return task->profile_thread;
    const char *name = task->comm[0] ? task->comm : td_rec_task_name(buf, task->tid);
    const char *process = task->process->comm[0] ? task->process->comm : name;
    task->profile_thread = td_profile_thread(recorder->writer, task->process->pid, task->tid, name,
                                             process, task->start_ns);
    *td_map_put(&recorder->threads, task->process->pid, task->tid, 0, NULL) = task->profile_thread;
    return task->profile_thread;
}

static bool is_clone(struct td_recorder *recorder, struct td_process *process)
{
    if (recorder->clone && !process->judged) {
        const enum td_clone is = recorder->clone(recorder->clone_ctx, process->pid);

        process->judged = is != TD_CLONE_UNKNOWN;
        process->is_clone = is == TD_CLONE_IS;
        recorder->clones += process->is_clone;
    }
    return process->is_clone;
}

bool td_recorder_may_be_clone(const struct td_recorder *recorder, const struct td_process *process)
{
    if (process->judged || !recorder->clone)
        return process->is_clone;
    return recorder->clone(recorder->clone_ctx, process->pid) != TD_CLONE_NOT;
}

uint32_t td_recorder_thread(struct td_recorder *recorder, uint32_t pid, uint32_t tid,
                            const char *name)
{
    bool added = false;
    uint32_t *thread = td_map_put(&recorder->threads, pid, tid, 0, &added);

    if (added)
        *thread = td_profile_thread(recorder->writer, pid, tid, name, name, 0);
    return *thread;
}

/* The thread of a sample, or NULL when it is not wanted. */
static struct td_task *sampled_task(struct td_recorder *recorder, const struct td_rec *rec)
{
    struct td_task *task = td_tasks_sampled(recorder->tasks, rec);

    return task && !task->process->before_exec && !is_clone(recorder, task->process) ? task : NULL;
}

/* Of a sample that is not wanted. */
static void count_clone(struct td_recorder *recorder, const struct group *group,
                        const struct td_rec *rec)
{
    const struct td_process *process = td_tasks_find_process(recorder->tasks, rec->pid);

    if (process && process->is_clone && group->time)
        recorder->clones_ns += rec->u.sample.period ? rec->u.sample.period : group->period;
}

/* One that ends is known by now. */
static void judge_ended(struct td_recorder *recorder, const struct td_rec *rec)
{
    struct td_process *process = td_tasks_find_process(recorder->tasks, rec->u.task.pid);

    if (process)
        is_clone(recorder, process);
}

void td_recorder_set_clones(struct td_recorder *recorder, td_recorder_clone_fn *fn, void *ctx)
{
    recorder->clone = fn;
    recorder->clone_ctx = ctx;
}

uint64_t td_recorder_clones_ns(const struct td_recorder *recorder)
{
    return recorder->clones_ns;
}

static void count_stack(struct td_recorder *recorder, const struct td_stack_node *node)
{
    recorder->counters[TD_COUNTER_UNMAPPED] += node->unmapped;
    recorder->counters[TD_COUNTER_TRUNCATED_STACKS] += node->truncated;
    recorder->counters[TD_COUNTER_UNWIND_BAD_ADDRESS] += node->bad_caller;
}

/* Unwinds the stack where its bytes were sampled; else the kernel has. */
static void make_stack(struct td_recorder *recorder, const struct td_task *task,
                       const struct td_rec *rec)
{
    static const enum td_counter causes[TD_UNWIND_STOPS] = {
        [TD_UNWIND_NO_TABLE] = TD_COUNTER_UNWIND_NO_TABLE,
        [TD_UNWIND_BAD_ADDRESS] = TD_COUNTER_UNWIND_BAD_ADDRESS,
        [TD_UNWIND_SHORT_COPY] = TD_COUNTER_UNWIND_SHORT_COPY,
        [TD_UNWIND_BAD_RULE] = TD_COUNTER_UNWIND_BAD_RULE,
    };

    if (!(rec->layout->sample_type & PERF_SAMPLE_REGS_USER)) {
        td_stack_take(&recorder->stack, rec, false);
        return;
    }
    const enum td_unwind_stop stop =
        td_frames_unwind(recorder->frames, task, rec, &recorder->stack);
    if (stop != TD_UNWIND_COMPLETE && stop != TD_UNWIND_DEEP)
        recorder->counters[causes[stop]]++;
}

/* What the group's counters did since their previous sample. The samples of tasks that are not
 * wanted are read too: on a whole CPU's counters theirs is the time before ours. */
static bool read_group(struct td_recorder *recorder, const struct td_rec *rec,
                       uint64_t deltas[TD_PLAN_EVENTS_MAX])
{
    const struct td_plan_group *group = &recorder->plan->groups[rec->layout->group];
    const bool own = group->events[0].inherit;

    if (!(rec->layout->sample_type & PERF_SAMPLE_READ))
        return true;
    return td_deltas_take(recorder->deltas, own ? rec->tid : 0, rec, false, deltas,
                          group->event_count);
}

/* The second sample of a pair comes a small part of the period after the first. */
static void watch_pairs(struct td_recorder *recorder, size_t ring, const struct td_rec *rec,
                        const struct td_plan_group *planned, const uint64_t *deltas)
{
    uint32_t *const strayed = &recorder->strayed[ring];

    if (!td_plan_is_second(planned, rec->layout->event))
        return;
    const uint64_t distance = deltas[planned->second];
    const bool near = distance > 0 && distance < planned->events[planned->second].period / 4;
    *strayed = near ? 0 : *strayed + 1;
}

bool td_recorder_pairs_strayed(struct td_recorder *recorder, size_t ring)
{
    const bool strayed = recorder->strayed[ring] >= STRAYED_MIN;

    recorder->strayed[ring] = 0;
    return strayed;
}

/* What one sample tells beside its counts. */
struct detail {
    uint64_t latency, instr_latency, retire_latency, tlb_latency, retire_wait;
    uint32_t flags;
    enum td_tma_node node; /* what it locates; TD_NODE_NONE: what its group does */
};

static void read_ibs(struct detail *detail, enum td_plan_detail kind,
                     const struct td_rec_sample *sample)
{
    struct td_ibs ibs = {.flags = 0};
    const bool good = kind == TD_DETAIL_IBS_OP
                          ? td_ibs_read_op(&ibs, sample->raw, sample->raw_size)
                          : td_ibs_read_fetch(&ibs, sample->raw, sample->raw_size);

    if (!good)
        return;
    detail->flags |= ibs.flags;
    detail->latency = ibs.latency;
    detail->instr_latency = ibs.instr_latency;
    detail->tlb_latency = ibs.tlb_latency;
    detail->retire_wait = ibs.retire_wait;
    detail->node = td_ibs_node(&ibs);
}

static struct detail read_detail(const struct td_plan_group *group,
                                 const struct td_rec_sample *sample)
{
    struct detail detail = {
        .flags = sample->exact_ip ? TD_FLAG_EXACT_IP : 0,
        /* perf_sample_weight (include/uapi/linux/perf_event.h): 32, 16 and 16 bits. */
        .latency = sample->weight & UINT32_MAX,
        .instr_latency = sample->weight >> 32 & UINT16_MAX,
        .retire_latency = sample->weight >> 48,
        .node = TD_NODE_NONE,
    };

    if (group->detail != TD_DETAIL_NONE)
        read_ibs(&detail, group->detail, sample);
    return detail;
}

static uint64_t column_value(const struct td_column *column, const struct group *described,
                             const struct td_rec_sample *sample, const struct detail *detail,
                             const uint64_t deltas[TD_PLAN_EVENTS_MAX])
{
    switch (column->kind) {
    case TD_COLUMN_PERIOD: return sample->period ? sample->period : described->period;
    case TD_COLUMN_DELTA: return deltas[column->event];
    case TD_COLUMN_FLAGS: return detail->flags;
    case TD_COLUMN_DATA_SOURCE: return sample->data_source;
    case TD_COLUMN_DATA_ADDRESS: return sample->address;
    case TD_COLUMN_LATENCY: return detail->latency;
    case TD_COLUMN_INSTR_LATENCY: return detail->instr_latency;
    case TD_COLUMN_RETIRE_LATENCY: return detail->retire_latency;
    case TD_COLUMN_TLB_LATENCY: return detail->tlb_latency;
    case TD_COLUMN_RETIRE_WAIT: return detail->retire_wait;
    case TD_COLUMN_TOTAL:
    case TD_COLUMN_REPLICATE:
    case TD_COLUMN_TIME_ENABLED:
    case TD_COLUMN_TIME_RUNNING:
    case TD_COLUMN_UNKNOWN: break;
    }
    return 0;
}

/* Keeps account of what was counted up to a sample. */
static void account(struct group *group, const struct td_plan_group *planned,
                    const struct td_rec *rec, const uint64_t deltas[TD_PLAN_EVENTS_MAX],
                    bool stored)
{
    const struct td_rec_sample *sample = &rec->u.sample;
    const bool read = rec->layout->sample_type & PERF_SAMPLE_READ;

    for (size_t i = 0; i < planned->event_count; i++) {
        struct td_event_counts *counts = &group->counts[i];
        uint64_t delta = 0;

        if (read)
            delta = deltas[i];
        else if (i == planned->sampler)
            delta = sample->period ? sample->period : group->period;
        *(stored ? &counts->sampled : &counts->elsewhere) += delta;
    }
}

/* The values of a sample, in the order of the plan's columns. */
static void fill_values(const struct td_plan_group *group, const struct group *described,
                        const struct td_rec_sample *sample, const struct detail *detail,
                        const uint64_t deltas[TD_PLAN_EVENTS_MAX], uint64_t values[TD_COLUMNS_MAX])
{
    values[0] = 0;
    for (size_t i = 0; i < group->column_count; i++)
        values[i] = column_value(&group->columns[i], described, sample, detail, deltas);
}

/* A mispredicted branch of the records is a place of its own, without its callers. */
static void take_branch_misses(struct td_recorder *recorder, const struct td_task *task,
                               const struct td_rec_sample *sample, struct td_sample stored)
{
    struct td_rd rd =
        td_rd_init(sample->branches, (size_t)sample->branch_count * TD_BRANCH_BYTES, 0);

    for (uint64_t i = 0; i < sample->branch_count; i++) {
        const uint64_t from = td_rd_u64(&rd);
        uint64_t values[1] = {TD_FLAG_MISPREDICTED | TD_FLAG_BRANCH | TD_FLAG_EXACT_IP};

        td_rd_u64(&rd); /* where it went */
        if (!(td_rd_u64(&rd) & BRANCH_MISPREDICTED))
            continue;
        td_stack_set(&recorder->stack, from);
        stored.node = td_stacks_intern(recorder->stacks, task, &recorder->stack).node;
        td_profile_sample(recorder->writer, &stored, values);
        recorder->counters[TD_COUNTER_SAMPLES]++;
    }
}

/* The thread is about to leave its CPU. */
static void take_leave(struct td_recorder *recorder, const struct td_rec *rec)
{
    const struct td_task *task = rec->tid ? sampled_task(recorder, rec) : NULL;

    if (!task)
        return;
    make_stack(recorder, task, rec);
    td_waits_leave(recorder->waits, rec->tid, &recorder->stack);
}

static void take_switch(struct td_recorder *recorder, const struct td_rec *rec)
{
    const struct td_task *task = rec->tid ? sampled_task(recorder, rec) : NULL;

    /* One that has ended leaves its CPU for ever. */
    if (recorder->waits && task && !(task->ended && rec->u.leaves.out))
        td_waits_switch(recorder->waits, rec);
}

/* A td_wait_fn: the stack is of code that was mapped when the thread left, and mostly still is. */
static void take_wait(void *ctx, const struct td_wait *wait)
{
    struct td_recorder *recorder = ctx;
    const struct td_rec rec = {.pid = wait->pid, .tid = wait->tid, .time_ns = wait->since_ns};
    struct td_task *task = sampled_task(recorder, &rec);

    if (!task)
        return;
    const struct td_sample stored = {
        .time_ns = wait->since_ns,
        .thread = profile_thread(recorder, task),
        .node = wait->stack->len ? td_stacks_intern(recorder->stacks, task, wait->stack).node : 0,
        .group = recorder->wait_group,
        .cpu = TD_NONE,
    };
    td_profile_sample(recorder->writer, &stored, &wait->ns);
    recorder->counters[TD_COUNTER_SAMPLES]++;
    recorder->counters[TD_COUNTER_WAITS]++;
    recorder->counters[TD_COUNTER_WAITED_NS] += wait->ns;
}

static void take_sample(struct td_recorder *recorder, size_t ring, const struct td_rec *rec)
{
    const struct td_rec_sample *sample = &rec->u.sample;
    struct group *group = &recorder->groups[rec->layout->group];
    const struct td_plan_group *planned = &recorder->plan->groups[rec->layout->group];
    struct td_task *task = sampled_task(recorder, rec);
    uint64_t values[TD_COLUMNS_MAX];
    uint64_t deltas[TD_PLAN_EVENTS_MAX];

    if (!read_group(recorder, rec, deltas)) {
        recorder->counters[TD_COUNTER_INVALID_GROUPS]++;
        return;
    }
    const bool wanted = task && group->profile_group != TD_NONE;
    watch_pairs(recorder, ring, rec, planned, deltas);
    account(group, planned, rec, deltas, wanted);
    if (!wanted) {
        recorder->counters[TD_COUNTER_FILTERED]++;
        count_clone(recorder, group, rec);
        return;
    }
    make_stack(recorder, task, rec);
    const struct td_stack_node node = td_stacks_intern(recorder->stacks, task, &recorder->stack);
    const struct detail detail = read_detail(planned, sample);
    struct td_sample stored = {
        .time_ns = rec->time_ns,
        .thread = profile_thread(recorder, task),
        .node = node.node,
        .group = group->profile_group,
        .cpu = recorder->ring_cpus[ring],
    };
    if (group->located && detail.node != TD_NODE_NONE)
        stored.group = group->located[detail.node];
    fill_values(planned, group, sample, &detail, deltas, values);
    td_profile_sample(recorder->writer, &stored, values);
    recorder->counters[TD_COUNTER_SAMPLES]++;
    if (group->time)
        recorder->counters[TD_COUNTER_SAMPLED_NS] += values[0]; /* NOLINT: it was filled */
    count_stack(recorder, &node);
    if (node.jit)
        td_jit_note(recorder->jit, task->process, &recorder->stack, rec->time_ns);
    if (group->misses != TD_NONE) {
        stored.group = group->misses;
        take_branch_misses(recorder, task, sample, stored);
    }
}

void td_recorder_take(void *ctx, size_t ring, const struct td_rec *rec)
{
    struct td_recorder *recorder = ctx;

    switch (rec->kind) {
    case TD_REC_SAMPLE:
        if (recorder->plan->groups[rec->layout->group].waits)
            take_leave(recorder, rec);
        else
            take_sample(recorder, ring, rec);
        break;
    case TD_REC_SWITCH: take_switch(recorder, rec); break;
    case TD_REC_LOST:
        recorder->counters[TD_COUNTER_LOST_RECORDS] += rec->u.lost;
        if (recorder->waits)
            td_waits_lost(recorder->waits, rec->time_ns);
        break;
    case TD_REC_LOST_SAMPLES: recorder->counters[TD_COUNTER_LOST] += rec->u.lost; break;
    case TD_REC_THROTTLE: recorder->counters[TD_COUNTER_THROTTLED]++; break;
    case TD_REC_FORK:
        if (recorder->own_counts)
            td_deltas_begin(recorder->deltas, rec->u.task.tid);
        __attribute__((fallthrough));
    case TD_REC_MMAP:
    case TD_REC_COMM:
    case TD_REC_EXIT:
        if (recorder->waits && rec->kind == TD_REC_EXIT)
            td_waits_exit(recorder->waits, rec->u.task.tid);
        if (rec->kind == TD_REC_EXIT)
            judge_ended(recorder, rec);
        td_tasks_apply(recorder->tasks, rec);
        break;
    case TD_REC_KSYMBOL:
    case TD_REC_OTHER: break;
    }
}

void td_recorder_count(void *ctx, const struct td_counter_value *value)
{
    struct td_recorder *recorder = ctx;
    struct td_event_counts *counts = &recorder->groups[value->group].counts[value->event];

    counts->counted += value->value;
    counts->enabled_ns += value->enabled_ns;
    counts->running_ns += value->running_ns;
    if (value->id)
        counts->rest += value->value - td_deltas_seen(recorder->deltas, value->id);
}

/* Of an event that is not read with its samples, their periods are what is known. */
static void find_rest(struct td_event_counts *counts)
{
    const uint64_t used = counts->sampled + counts->elsewhere;

    if (counts->rest == 0 && counts->counted > used)
        counts->rest = counts->counted - used;
}

static void write_counts(struct td_recorder *recorder)
{
    for (size_t g = 0; g < recorder->plan->group_count; g++) {
        struct group *group = &recorder->groups[g];

        for (size_t e = 0; e < recorder->plan->groups[g].event_count; e++) {
            if (group->profile_group == TD_NONE || group->counts[e].counted == 0)
                continue;
            if (!(recorder->plan->groups[g].events[0].read_format & PERF_FORMAT_GROUP))
                find_rest(&group->counts[e]);
            td_profile_counts(recorder->writer, group->events[e], &group->counts[e]);
        }
    }
}

void td_recorder_set_counter(struct td_recorder *recorder, enum td_counter counter, uint64_t value)
{
    recorder->counters[counter] = value;
}

uint64_t td_recorder_counter(const struct td_recorder *recorder, enum td_counter counter)
{
    return recorder->counters[counter];
}

struct vdso_target {
    struct td_profile_writer *writer;
    uint32_t module;
};

static void write_vdso_symbol(void *ctx, uint64_t offset, uint64_t size, const char *name)
{
    const struct vdso_target *target = ctx;

    td_profile_symbol(target->writer, target->module, offset, size, name, NULL, 0);
}

void td_recorder_end_waits(struct td_recorder *recorder, uint64_t now_ns)
{
    if (!recorder->waits)
        return;
    /* The kernel tells a loss with the next record that finds room; of the last it only counts. */
    if (recorder->counters[TD_COUNTER_LOST] > recorder->counters[TD_COUNTER_LOST_RECORDS])
        td_waits_lost(recorder->waits, now_ns);
    td_waits_end(recorder->waits, now_ns);
}

static void write_counters(struct td_recorder *recorder)
{
    if (recorder->waits)
        recorder->counters[TD_COUNTER_PREEMPTED_NS] = td_waits_preempted_ns(recorder->waits);
    recorder->counters[TD_COUNTER_PROCESSES] =
        td_tasks_process_count(recorder->tasks) - recorder->clones;
    recorder->counters[TD_COUNTER_THREADS] =
        td_tasks_thread_count(recorder->tasks) - recorder->clones;
    for (int i = 0; i < TD_COUNTER_COUNT; i++) {
        if (recorder->counters[i])
            td_profile_counter(recorder->writer, (enum td_counter)i, recorder->counters[i]);
    }
}

static void write_names(struct td_recorder *recorder)
{
    struct vdso_target vdso = {.writer = recorder->writer};

    td_kernel_write_names(recorder->kernel);
    if (td_stacks_take_vdso(recorder->stacks, &vdso.module))
        td_vdso_symbols(write_vdso_symbol, &vdso, NULL);
}

int td_recorder_flush(struct td_recorder *recorder, struct td_err *err)
{
    write_names(recorder);
    write_counters(recorder);
    return td_profile_flush(recorder->writer, err);
}

void td_recorder_end(struct td_recorder *recorder)
{
    td_tasks_end_all(recorder->tasks);
    td_jit_finish(recorder->jit);
    write_names(recorder);
    write_counters(recorder);
    write_counts(recorder);
}
