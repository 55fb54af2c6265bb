/* SPDX-License-Identifier: MIT */
/*
 * The plan of the `pmu` source: a top-down group for each core PMU, in the order that the kernel
 * asks for, and the precise events that locate what the group counts, as far as counters are left.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/plan/plan.h"
#include "record/plan/groups.h"
#include "record/plan/latency.h"
#include "record/plan/levels.h"
#include "record/plan/pairs.h"
#include "record/plan/stalls.h"
#include "record/machine/pmu_core.h"

/* Locators are tried in this order, one a node, while counters are left: the causes that programs
 * have most often come first. */
static const enum td_tma_node locator_order[] = {
    TD_NODE_BRANCH_MISPREDICTS, TD_NODE_DRAM_BOUND,     TD_NODE_FETCH_LATENCY,
    TD_NODE_L3_BOUND,           TD_NODE_L2_BOUND,       TD_NODE_FRONTEND_BOUND,
    TD_NODE_STORE_BOUND,        TD_NODE_MACHINE_CLEARS, TD_NODE_BACKEND_BOUND,
    TD_NODE_BAD_SPECULATION,
};

/* Bits of maker.done. */
#define GROUPS_MAX 64
/* The deepest level whose groups take turns in a --count where nobody asked for one: each further
 * group takes time from all others. */
#define TURNS_LEVEL 3

struct maker {
    struct td_plan *plan;
    const struct td_caps *caps;
    const struct td_request *request;
    const struct td_pmu *pmu;
    const struct td_pmu_core *core;
    struct td_pmu_counters counters;
    bool hybrid;
    uint64_t done;   /* the core's groups that are in the plan, by bit */
    unsigned pass;   /* whose groups are made now */
    bool skids;      /* precise events are sampled, and the PMU has no precise samples */
    bool tracked;    /* mappings are reported by an event of their own */
    uint64_t wanted; /* --groups: the core's groups that it takes; all when it is not given */
    bool parts;      /* of the tree only parts are counted, for metrics that --groups names */
};

static struct td_plan_event make_event(const struct maker *m, uint32_t index)
{
    const struct td_pmu_event *e = &m->core->events[index];
    struct td_plan_event event = td_plan_event_init(m->plan, m->caps, m->request);

    snprintf(event.name, sizeof(event.name), "%s", e->name);
    event.unit = strcmp(e->name, "cycles") == 0               ? TD_UNIT_CYCLES
                 : strcmp(e->name, "inst_retired") == 0       ? TD_UNIT_INSTRUCTIONS
                 : strcmp(e->name, "slots") == 0 || e->metric ? TD_UNIT_SLOTS
                                                              : TD_UNIT_COUNT;
    event.type = m->core->type >= 0 ? (uint32_t)m->core->type : m->pmu->type;
    event.config[0] = e->config;
    event.config[1] = e->config1;
    /* PERF_TYPE_HARDWARE takes the PMU in its upper half (Linux 5.13). */
    if (m->hybrid && event.type == PERF_TYPE_HARDWARE)
        event.config[0] |= (uint64_t)m->pmu->type << 32;
    event.exclude_idle = false;
    return event;
}

/* Where this PMU is asked to count. Empty: wherever the thread is (-t), or nowhere. */
static struct td_cpulist group_cpus(const struct maker *m)
{
    struct td_cpulist all = {0}, ours = {0};

    td_plan_cpus(&all, m->plan, m->caps, m->request);
    if (m->pmu->cpus.len == 0)
        return all;
    td_cpulist_intersect(&ours, &all, &m->pmu->cpus);
    td_cpulist_release(&all);
    return ours;
}

static void set_group(struct td_plan_group *group, const struct maker *m, const char *name)
{
    snprintf(group->name, sizeof(group->name), "%s", name);
    if (m->hybrid)
        snprintf(group->cpu_type, sizeof(group->cpu_type), "%.31s", m->pmu->name);
    group->cpus = group_cpus(m);
    group->pass = m->pass;
}

/* Makes an event sample; `extra` beside what every sample has. */
static void set_sampling(const struct maker *m, struct td_plan_event *event, uint64_t extra)
{
    event->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                         PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | extra;
    td_plan_add_call_graph(event, m->caps, m->request);
}

/* A second sampler, if this plan can have one and a counter is free for it. */
static void pair_group(struct maker *m, struct td_plan_group *group, uint32_t sampler)
{
    const char *why = td_plan_pairs_refusal(m->plan);
    const bool slots = strncmp(m->core->events[sampler].name, "slots", 5) == 0;

    if (m->request->pairs == TD_PAIRS_OFF || m->pass > 1)
        return;
    if (!why && (group->event_count == TD_PLAN_EVENTS_MAX ||
                 !td_pmu_counters_take(&m->counters, m->core, &sampler, 1)))
        why = "no counter is left for a second sampler";
    if (why)
        td_plan_tell_no_pairs(m->plan, m->request, why);
    else
        td_plan_pair_group(group, td_plan_cycles_hz(m->pmu) * (slots ? m->core->width : 1));
}

/* A top-down group: values are read at each overflow of its sampler. */
static void add_group(struct maker *m, const struct td_pmu_group *described)
{
    struct td_plan_group *group = td_plan_add_group(m->plan);

    const bool slots = described->level > 0 && !m->parts;

    set_group(group, m, described->name);
    group->role = slots ? TD_ROLE_SLOTS : TD_ROLE_METRIC;
    group->attribution = slots ? TD_ATTRIBUTION_INTERVAL : TD_ATTRIBUTION_NONE;
    group->sampler = described->sampler;
    for (uint32_t i = 0; i < described->count; i++) {
        struct td_plan_event *event = &group->events[group->event_count++];

        *event = make_event(m, described->events[i]);
        event->read_format |= PERF_FORMAT_GROUP | PERF_FORMAT_ID;
        event->on_exec = event->on_exec && i == 0;
        event->member = i > 0;
        group->columns[i] =
            (struct td_column){.kind = TD_COLUMN_DELTA, .event = i, .node = TD_NODE_NONE};
        group->column_count++;
    }
    if (slots && m->request->topdown_level)
        td_plan_drop_deeper(group, m->core, m->request->topdown_level);
    if (m->request->count) {
        td_plan_count_only(group);
        return;
    }
    struct td_plan_event *sampler = &group->events[group->sampler];
    sampler->frequency_hz = m->plan->frequency_hz;
    sampler->period = m->request->period;
    set_sampling(m, sampler, PERF_SAMPLE_READ);
    if (slots)
        pair_group(m, group, described->events[described->sampler]);
}

/* The columns of a locator's samples, in their order. */
static void add_columns(struct td_plan_group *group, const enum td_column_kind *kinds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        group->columns[group->column_count++] = (struct td_column){
            .kind = kinds[i],
            .event = kinds[i] == TD_COLUMN_PERIOD ? 0 : TD_NONE,
            .node = TD_NODE_NONE,
        };
}

/* One precise event whose samples are where the node's slots are lost. */
static void add_locator(struct maker *m, const struct td_pmu_locator *locator)
{
    if (m->core->events[locator->event].precise && m->pmu->max_precise == 0)
        m->skids = true;
    struct td_plan_group *group = td_plan_add_group(m->plan);
    struct td_plan_event *event = &group->events[0];
    const bool precise = m->core->events[locator->event].precise && m->pmu->max_precise > 0;
    static const enum td_column_kind flags = TD_COLUMN_FLAGS, period = TD_COLUMN_PERIOD;

    set_group(group, m, td_tma_info(locator->node)->id);
    *event = make_event(m, locator->event);
    group->event_count = 1;
    group->role = TD_ROLE_LOCATOR;
    group->attribution = TD_ATTRIBUTION_LOCATED;
    group->locates = locator->node;
    event->precise_ip = precise ? (m->pmu->max_precise < 2 ? m->pmu->max_precise : 2) : 0;
    event->period = m->core->events[locator->event].period;
    if (event->period == 0)
        event->frequency_hz = m->plan->frequency_hz;
    set_sampling(m, event, 0);
    add_columns(group, &period, 1);
    td_plan_add_latency(group, m->caps, event);
    add_columns(group, &flags, 1);
}

/* AMD's instruction-based sampling: its own PMUs, one event each on a CPU, in no group, and every
 * sample says what happened to one operation or fetch. */
static const struct ibs_source {
    const char *pmu;
    uint64_t config;
    enum td_plan_detail detail;
    size_t columns;
} ibs_sources[] = {
    /* Bit 19, cnt_ctl: a sample every so many operations, not cycles. */
    {"ibs_op", 1 << 19, TD_DETAIL_IBS_OP, 6},
    {"ibs_fetch", 0, TD_DETAIL_IBS_FETCH, 4},
};
static const enum td_column_kind ibs_columns[] = {TD_COLUMN_PERIOD,        TD_COLUMN_FLAGS,
                                                  TD_COLUMN_LATENCY,       TD_COLUMN_TLB_LATENCY,
                                                  TD_COLUMN_INSTR_LATENCY, TD_COLUMN_RETIRE_WAIT};

/* The least that both of its PMUs count to (arch/x86/events/amd/ibs.c). */
#define IBS_PERIOD_MIN 0x90

/* Why the kernel would refuse IBS; NULL when it would not. */
static const char *ibs_refusal(const struct maker *m)
{
    if (m->plan->method == TD_METHOD_TASK && !td_caps_kernel_at_least(m->caps, 6, 2))
        return "Linux before 6.2 samples it on whole CPUs only: sudo tdrec --method cpu";
    if (!td_caps_kernel(m->caps) && !td_caps_kernel_at_least(m->caps, 6, 14))
        return "Linux before 6.14 cannot leave kernel code out of it: sudo sysctl "
               "kernel.perf_event_paranoid=1";
    return NULL;
}

static void add_ibs(struct maker *m, const struct td_pmu *pmu, const struct ibs_source *source)
{
    const char *why = ibs_refusal(m);

    if (why) {
        td_plan_leave_out(m->plan, pmu->name, why);
        return;
    }
    struct td_plan_group *group = td_plan_add_group(m->plan);
    struct td_plan_event *event = &group->events[0];

    snprintf(group->name, sizeof(group->name), "%s", pmu->name);
    group->cpus = group_cpus(m);
    group->pass = m->pass;
    group->role = TD_ROLE_METRIC;
    group->detail = source->detail;
    group->event_count = 1;
    *event = td_plan_event_init(m->plan, m->caps, m->request);
    snprintf(event->name, sizeof(event->name), "%s", pmu->name);
    event->type = pmu->type;
    event->config[0] = source->config;
    /* swfilt (Linux 6.14): the driver drops what is not ours. */
    event->config[2] = event->exclude_kernel ? 1 : 0;
    event->exclude_idle = false;
    /* Its counter has no four lowest bits, so the kernel takes no period but multiples of 16. */
    event->period = m->request->period & ~UINT64_C(15);
    if (m->request->period && event->period < IBS_PERIOD_MIN)
        event->period = IBS_PERIOD_MIN;
    event->frequency_hz = m->plan->frequency_hz;
    set_sampling(m, event, PERF_SAMPLE_RAW);
    add_columns(group, ibs_columns, source->columns);
}

/* Arm's own sampling of operations comes as packets of an AUX buffer, which is not recorded here.
 */
static void tell_spe(struct maker *m)
{
    for (size_t i = 0; i < m->caps->pmu_count; i++) {
        if (strncmp(m->caps->pmus[i].name, "arm_spe", 7) == 0)
            td_plan_leave_out_minor(
                m->plan, m->caps->pmus[i].name,
                "tdrec does not record its packets: perf record -e arm_spe// does, and "
                "tdreport reads that file");
    }
}

static void add_all_ibs(struct maker *m)
{
    for (size_t s = 0; s < TD_ARRAY_SIZE(ibs_sources); s++) {
        for (size_t i = 0; i < m->caps->pmu_count; i++) {
            if (strcmp(m->caps->pmus[i].name, ibs_sources[s].pmu) == 0)
                add_ibs(m, &m->caps->pmus[i], &ibs_sources[s]);
        }
    }
}

/* Without a precise event for them, the branch records that come with each sample say which
 * branches were mispredicted. */
static void add_branch_misses(struct maker *m, size_t first)
{
    struct td_plan_group *group = &m->plan->groups[first];
    struct td_plan_event *sampler = &group->events[group->sampler];

    if (m->pmu->branches == 0 || m->request->call_graph == TD_CALL_GRAPH_LBR)
        return;
    for (size_t g = first + 1; g < m->plan->group_count; g++) {
        const struct td_plan_group *other = &m->plan->groups[g];

        if (other->detail == TD_DETAIL_IBS_OP ||
            (other->locates == TD_NODE_BRANCH_MISPREDICTS && other->events[0].precise_ip > 0))
            return;
    }
    group->branch_misses = true;
    sampler->sample_type |= PERF_SAMPLE_BRANCH_STACK;
    sampler->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY |
                                  (sampler->exclude_kernel ? 0 : PERF_SAMPLE_BRANCH_KERNEL);
}

static void left_out_group(struct maker *m, const struct td_pmu_group *group)
{
    char what[128], why[192], level[32];
    const char *any = td_pmu_group_any(m->core, group);
    const char *pair = td_pmu_group_pair(m->core, group);

    snprintf(level, sizeof(level), " (level %d of the tree)", group->level);
    snprintf(what, sizeof(what), "group %.24s%s%s%.40s", group->name, group->level ? level : "",
             m->hybrid ? " on " : "", m->hybrid ? m->pmu->name : "");
    if (pair && m->caps->hypervisor[0])
        snprintf(why, sizeof(why),
                 "%s takes two counters at once, and beside it the hypervisor (%s) counts other "
                 "events wrongly",
                 pair, m->caps->hypervisor);
    else if (any && !td_caps_system_wide(m->caps))
        snprintf(why, sizeof(why),
                 "%s counts both threads of a core, and perf_event_paranoid %s %lld: %ssudo sysctl "
                 "kernel.perf_event_paranoid=0%s",
                 any, td_caps_is(m->caps), (long long)m->caps->paranoid, td_caps_where(m->caps),
                 td_caps_or_root(m->caps));
    else if (m->caps->nmi_watchdog)
        snprintf(why, sizeof(why),
                 "its %u events do not fit the counters that the NMI watchdog leaves (sudo sysctl "
                 "kernel.nmi_watchdog=0)",
                 group->count);
    else if (m->pmu->idle_counters)
        snprintf(why, sizeof(why),
                 "its %u events do not fit: only %u counters count at the same time "
                 "(hypervisor: %s)",
                 group->count, m->pmu->counters_at_once, m->caps->hypervisor);
    else
        snprintf(why, sizeof(why), "its %u events do not fit the %s%u counters", group->count,
                 m->caps->smt ? "thread's " : "",
                 m->caps->smt ? m->core->counters_smt : m->core->counters);
    if (group->level > 0)
        td_plan_leave_out(m->plan, what, why);
    else
        td_plan_leave_out_minor(m->plan, what, why);
}

static bool allowed(const struct maker *m, const struct td_pmu_group *group)
{
    if (m->caps->hypervisor[0] && td_pmu_group_pair(m->core, group))
        return false;
    return td_caps_system_wide(m->caps) || !td_pmu_group_any(m->core, group);
}

/* --groups: those. --topdown-level: no deeper than that, or than the least that the core can do. */
static bool is_wanted(const struct maker *m, const struct td_pmu_group *group)
{
    int least = 0;

    if (!(m->wanted & UINT64_C(1) << (group - m->core->groups)))
        return false;

    for (size_t i = 0; i < m->core->group_count; i++) {
        const int level = m->core->groups[i].level;

        least = level > 0 && (least == 0 || level < least) ? level : least;
    }
    return m->request->topdown_level == 0 || group->level <= least ||
           group->level <= (int)m->request->topdown_level;
}

static bool take_group(struct maker *m, size_t i)
{
    const struct td_pmu_group *group = &m->core->groups[i];

    if (m->done & UINT64_C(1) << i || !is_wanted(m, group) || !allowed(m, group) ||
        !td_pmu_counters_take(&m->counters, m->core, group->events, group->count))
        return false;
    m->done |= UINT64_C(1) << i;
    return true;
}

/* The first group of pass 1 that fits; else the first of any pass. NULL when none fits. `whole`:
 * one that gives a part of level 1 alone would leave the rest to be guessed. */
static const struct td_pmu_group *choose_first(struct maker *m, bool whole)
{
    for (int first = 1; first >= 0; first--) {
        for (size_t i = 0; i < m->core->group_count && i < GROUPS_MAX; i++) {
            const struct td_pmu_group *group = &m->core->groups[i];

            if (first != (group->pass == 1) ||
                (whole && group->level > 0 && !td_plan_is_whole(m->core, i)))
                continue;
            if (take_group(m, i))
                return group;
            if (first && whole && is_wanted(m, group))
                left_out_group(m, group);
        }
    }
    return NULL;
}

/* Metrics that are named need no tree, and may be counted by parts of it. */
static const struct td_pmu_group *choose_group(struct maker *m)
{
    const struct td_pmu_group *group = choose_first(m, true);

    m->parts = !group && m->request->groups.len;
    return m->parts ? choose_first(m, false) : group;
}

static const struct td_pmu_locator *find_locator(const struct td_pmu_core *core,
                                                 enum td_tma_node node)
{
    for (size_t i = 0; i < core->locator_count; i++) {
        if (core->locators[i].node == node)
            return &core->locators[i];
    }
    return NULL;
}

static bool in_plan(const struct maker *m, const struct td_pmu_event *event)
{
    for (size_t g = 0; g < m->plan->group_count; g++) {
        const struct td_plan_group *group = &m->plan->groups[g];

        if (group->role == TD_ROLE_LOCATOR && strcmp(group->events[0].name, event->name) == 0 &&
            (!m->hybrid ||
             strncmp(group->cpu_type, m->pmu->name, sizeof(group->cpu_type) - 1) == 0))
            return true;
    }
    return false;
}

static bool is_deep(const struct maker *m, enum td_tma_node node)
{
    unsigned level = 0;

    for (; node != TD_NODE_NONE; node = td_tma_info(node)->parent)
        level++;
    return m->request->topdown_level && level > m->request->topdown_level;
}

/* Adds the locators that counters are left for. In the last run, says which are not. */
static void add_locators(struct maker *m)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(locator_order); i++) {
        const struct td_pmu_locator *locator = find_locator(m->core, locator_order[i]);
        const struct td_pmu_event *event = locator ? &m->core->events[locator->event] : NULL;
        const char *why = NULL;
        char what[96];

        if (!event || in_plan(m, event) || is_deep(m, locator->node))
            continue;
        if (event->alone && m->counters.alone && m->counters.value != event->config1)
            why = "it needs a register that another event has";
        else if (!td_pmu_counters_take(&m->counters, m->core, &locator->event, 1))
            why = "no counter is left";
        snprintf(what, sizeof(what), "locator of %s%s%s", td_tma_info(locator->node)->id,
                 m->hybrid ? " on " : "", m->hybrid ? m->pmu->name : "");
        if (why && m->pass == m->plan->passes)
            td_plan_leave_out_minor(m->plan, what, why);
        if (why)
            continue;
        add_locator(m, locator);
    }
}

/* What stays out after the last run: groups beside the tree, and its deeper levels. */
static void tell_missing_groups(struct maker *m)
{
    char what[320] = "";
    size_t used = 0, count = 0;

    for (size_t i = 0; i < m->core->group_count && i < GROUPS_MAX; i++) {
        const struct td_pmu_group *group = &m->core->groups[i];

        if (m->done & UINT64_C(1) << i || group->pass == 1 || !is_wanted(m, group) ||
            used >= sizeof(what))
            continue;
        if (!allowed(m, group)) {
            left_out_group(m, group);
            continue;
        }
        used += (size_t)snprintf(what + used, sizeof(what) - used, "%s%s", used ? ", " : "groups ",
                                 group->name);
        count++;
    }
    if (count && used < sizeof(what) && m->hybrid)
        snprintf(what + used, sizeof(what) - used, " on %s", m->pmu->name);
    if (count)
        td_plan_leave_out_minor(m->plan, what,
                                m->request->count && m->plan->passes == 1
                                    ? "they would take time from the others: --topdown-level 5 or "
                                      "--passes counts them"
                                    : "they do not fit beside the others: --passes records them in "
                                      "further runs");
}

/* Those that a run of their own could count. */
static uint64_t possible_groups(const struct maker *m)
{
    uint64_t possible = 0;

    for (size_t i = 0; i < m->core->group_count && i < GROUPS_MAX; i++) {
        const struct td_pmu_group *group = &m->core->groups[i];
        struct td_pmu_counters free = td_pmu_counters_free(m->core, m->caps, m->pmu);

        if (allowed(m, group) && td_pmu_counters_take(&free, m->core, group->events, group->count))
            possible |= UINT64_C(1) << i;
    }
    return possible;
}

static bool counts_slots(const struct maker *m)
{
    for (size_t i = 0; i < m->core->group_count && i < GROUPS_MAX; i++) {
        if (m->done & UINT64_C(1) << i && m->core->groups[i].level > 0)
            return true;
    }
    return false;
}

static void tell_levels(struct maker *m)
{
    const struct td_plan_level_ctx levels = {.core = m->core,
                                             .done = m->done,
                                             .possible = possible_groups(m),
                                             .cpu_type = m->hybrid ? m->pmu->name : "",
                                             .wanted = m->request->topdown_level};

    td_plan_tell_levels(m->plan, &levels);
    if (m->skids)
        td_plan_leave_out_minor(m->plan, "precise samples",
                                "this PMU takes none (caps/max_precise is 0, as in many virtual "
                                "machines): locators point some instructions late");
    if (m->core->note[0] && counts_slots(m))
        td_plan_leave_out(m->plan, "slots", m->core->note);
}

static bool counts_event(const struct maker *m, const char *name, bool tree)
{
    for (size_t g = 0; g < m->plan->group_count; g++) {
        const struct td_plan_group *group = &m->plan->groups[g];

        if ((tree && group->role != TD_ROLE_SLOTS) ||
            (m->hybrid && strncmp(group->cpu_type, m->pmu->name, sizeof(group->cpu_type) - 1) != 0))
            continue;
        for (size_t e = 0; e < group->event_count; e++) {
            if (strcmp(group->events[e].name, name) == 0)
                return true;
        }
    }
    return false;
}

/* Whether a group would count something that no group in the plan counts; of the tree's, no group
 * of the tree: what is counted beside it does not reach its formulas. */
static bool is_new(const struct maker *m, const struct td_pmu_group *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        if (!counts_event(m, m->core->events[group->events[i]].name, group->level > 0))
            return true;
    }
    return false;
}

/* A further run: the groups that are not in the plan yet, as many as fit, then locators. */
static void add_pass(struct maker *m)
{
    const size_t first = m->plan->group_count;

    m->counters = td_pmu_counters_free(m->core, m->caps, m->pmu);
    for (size_t i = 0; i < m->core->group_count && i < GROUPS_MAX; i++) {
        if (!is_new(m, &m->core->groups[i]))
            m->done |= UINT64_C(1) << i;
        else if (take_group(m, i))
            add_group(m, &m->core->groups[i]);
    }
    if (m->request->count)
        return;
    if (m->plan->topdown)
        add_locators(m);
    if (m->plan->group_count > first)
        m->plan->groups[first].events[0].sideband = !m->tracked;
}

/* --count: the groups of all passes, in turns, each of which fits the counters by itself. */
static void add_turns(struct maker *m)
{
    const bool asked = m->request->groups.len || m->request->topdown_level > TURNS_LEVEL;

    for (size_t i = 0; i < m->core->group_count && i < GROUPS_MAX; i++) {
        const struct td_pmu_group *group = &m->core->groups[i];

        m->counters = td_pmu_counters_free(m->core, m->caps, m->pmu);
        if (group->pass == 1 || (group->level > TURNS_LEVEL && !asked))
            continue;
        if (!is_new(m, group))
            m->done |= UINT64_C(1) << i;
        else if (take_group(m, i))
            add_group(m, group);
    }
}

/* What a recording has beside its first group: where things happen, and further runs. */
static void add_others(struct maker *m, size_t first, bool slots)
{
    if (m->request->count && m->plan->passes == 1)
        add_turns(m);
    if (slots && !m->request->count) {
        add_locators(m);
        add_all_ibs(m);
        tell_spe(m);
        add_branch_misses(m, first);
    }
    while (++m->pass <= m->plan->passes)
        add_pass(m);
}

/* Where group reads are inherited (td_plan_check_inherit), per-task groups are better than whole
 * CPUs: a delta is one thread's. */
static void decide_method(struct td_plan *plan, const struct td_caps *caps,
                          const struct td_request *request)
{
    const bool tasks = plan->scope == TD_SCOPE_COMMAND || plan->scope == TD_SCOPE_PROCESS;

    if (!tasks || request->method != TD_METHOD_AUTO)
        return;
    if (td_caps_kernel_at_least(caps, 6, 12)) {
        plan->method = TD_METHOD_TASK;
        plan->follow = false;
    }
}

/* On hybrid machines one kind of core may count and the other not. */
static void tell_dead(const struct maker *m)
{
    char what[96], why[320];
    char *cpus = td_cpulist_text(&m->pmu->cpus);

    snprintf(what, sizeof(what), "PMU %s", m->pmu->name);
    snprintf(why, sizeof(why), "%s: what runs on CPUs %.64s is not counted", m->pmu->fault, cpus);
    free(cpus);
    td_plan_leave_out(m->plan, what, why);
}

static int fail_group(struct maker *m, const struct td_pmu_group *group, struct td_err *err)
{
    const size_t before = m->plan->left_out_count;

    left_out_group(m, group);
    return td_fail(err, TD_EUNSUPPORTED, "%s: %s", m->plan->left_out[before].what,
                   m->plan->left_out[before].why);
}

static int fail_without_group(struct maker *m, struct td_err *err)
{
    const size_t before = m->plan->left_out_count;

    for (size_t i = 0; i < m->core->group_count && i < GROUPS_MAX; i++) {
        if (is_wanted(m, &m->core->groups[i]) && m->plan->left_out_count == before)
            left_out_group(m, &m->core->groups[i]);
    }
    if (m->plan->left_out_count == before)
        return td_fail(err, TD_EUNSUPPORTED, "PMU %s: there is nothing to count", m->pmu->name);
    return td_fail(err, TD_EUNSUPPORTED, "%s: %s", m->plan->left_out[before].what,
                   m->plan->left_out[before].why);
}

/* In how many runs these groups, a bit each, fit. */
static unsigned runs_of(const struct maker *m, uint64_t groups)
{
    unsigned runs = 0;

    for (; groups; runs++) {
        struct td_pmu_counters free = td_pmu_counters_free(m->core, m->caps, m->pmu);

        for (size_t i = 0; i < m->core->group_count && i < GROUPS_MAX; i++) {
            const struct td_pmu_group *group = &m->core->groups[i];

            if (groups & UINT64_C(1) << i &&
                td_pmu_counters_take(&free, m->core, group->events, group->count))
                groups &= ~(UINT64_C(1) << i);
        }
    }
    return runs;
}

/* What a user names is counted whole, or refused with what would count it. `first` is the group of
 * the first run; others of pass 1 stand for the same. */
static int check_named(struct maker *m, const struct td_pmu_group *first, struct td_err *err)
{
    const uint64_t possible = possible_groups(m);
    const struct td_pmu_group *missing = NULL;
    uint64_t others = 0;

    for (size_t i = 0; i < m->core->group_count && i < GROUPS_MAX; i++) {
        const struct td_pmu_group *group = &m->core->groups[i];
        const uint64_t bit = UINT64_C(1) << i;

        if (group->pass == 1 || group == first || !is_wanted(m, group))
            continue;
        others |= possible & bit;
        if (m->done & bit || !is_new(m, group))
            continue;
        if (!(possible & bit))
            return fail_group(m, group, err);
        missing = missing ? missing : group;
    }
    if (!missing)
        return TD_OK;
    return td_fail(err, TD_EUSAGE,
                   "--groups: %s does not fit the counters beside the others%s: --passes %u counts "
                   "all of them",
                   missing->name, m->plan->passes > 1 ? " in so few runs" : "",
                   1 + runs_of(m, others));
}

static void tell_missing(struct maker *m)
{
    tell_missing_groups(m);
    tell_levels(m);
}

/* --report stalls: its own sets, as many in each run. */
static int add_stall_sets(struct maker *m, struct td_err *err)
{
    struct td_pmu_group sets[TD_PLAN_STALL_SETS_MAX];
    const size_t count = td_plan_stall_sets(sets, m->core, m->caps, m->pmu);

    if (count == 0)
        return td_fail(err, TD_EUNSUPPORTED, "PMU %s: no events that say what stalls %s",
                       m->pmu->name, m->core->title);
    for (size_t i = 0; i < count; i++) {
        const size_t runs = m->plan->passes < count ? m->plan->passes : count;

        m->pass = (unsigned)(i * runs / count) + 1;
        add_group(m, &sets[i]);
    }
    m->plan->topdown = true;
    if (m->plan->passes < count) {
        char what[64], why[96];

        snprintf(what, sizeof(what), "%zu sets of events in %u run%s", count, m->plan->passes,
                 m->plan->passes > 1 ? "s" : "");
        snprintf(why, sizeof(why), "they take turns on the counters: --passes %zu runs each alone",
                 count);
        td_plan_leave_out_minor(m->plan, what, why);
    }
    return TD_OK;
}

/* The groups of the tree and beside it. */
static int add_groups(struct maker *m, const struct td_pmu_choice *choice, struct td_err *err)
{
    const struct td_pmu_group *group = choose_group(m);
    const size_t first = m->plan->group_count;

    if (!group)
        return fail_without_group(m, err);
    const bool slots = group->level > 0 && !m->parts;
    add_group(m, group);
    /* Of each PMU, so that every CPU reports mappings. */
    m->plan->groups[first].events[0].sideband = !m->tracked && !m->request->count;
    m->plan->topdown |= slots || (choice->why[0] == '\0' && !td_pmu_counts_slots(m->core));
    add_others(m, first, slots);
    if (m->request->groups.len)
        return check_named(m, group, err);
    tell_missing(m);
    return TD_OK;
}

static int plan_one(struct maker *m, struct td_err *err)
{
    struct td_pmu_choice choice = {0};
    struct td_cpulist ours = group_cpus(m);
    const bool anywhere =
        m->plan->scope == TD_SCOPE_THREAD ||
        (m->request->count && m->plan->method == TD_METHOD_TASK); /* wherever its task runs */
    const bool elsewhere = !anywhere && ours.len == 0;

    td_cpulist_release(&ours);
    if (elsewhere)
        return TD_OK;
    int rc = td_pmu_choose(&choice, m->caps, m->pmu, err);
    if (rc < 0)
        return rc;
    m->core = choice.core;
    m->pass = 1;
    m->counters = td_pmu_counters_free(choice.core, m->caps, m->pmu);
    m->wanted = UINT64_MAX;
    if (m->request->groups.len)
        rc = td_plan_groups_of(&m->wanted, m->core, &m->request->groups, err);
    if (rc < 0) {
        td_pmu_choice_release(&choice);
        return rc;
    }
    if (choice.why[0]) {
        char what[96];

        snprintf(what, sizeof(what), "%s%s%s",
                 td_pmu_counts_slots(m->core) ? "formulas of this very core" : "top-down slots",
                 m->hybrid ? " on " : "", m->hybrid ? m->pmu->name : "");
        td_plan_leave_out(m->plan, what, choice.why);
    }
    rc = m->request->stalls ? add_stall_sets(m, err) : add_groups(m, &choice, err);
    const size_t used = strlen(m->plan->core);
    snprintf(m->plan->core + used, sizeof(m->plan->core) - used, "%s%s", used ? "," : "",
             choice.core->name);
    td_pmu_choice_release(&choice);
    return rc;
}

/* Runs that nothing is left for are not made. */
static void drop_empty_passes(struct td_plan *plan)
{
    unsigned last = 1;
    char what[32];

    for (size_t i = 0; i < plan->group_count; i++)
        last = plan->groups[i].pass > last ? plan->groups[i].pass : last;
    if (last < plan->passes) {
        snprintf(what, sizeof(what), "--passes %u", plan->passes);
        td_plan_leave_out(plan, what, last == 1 ? "all there is fits one run" : "fewer runs do");
    }
    plan->passes = last;
}

int td_plan_pmu(struct td_plan *plan, const struct td_caps *caps, const struct td_request *request,
                struct td_err *err)
{
    const size_t core_pmus = td_caps_core_pmu_count(caps);

    if (core_pmus == 0)
        return td_fail(err, TD_EUNSUPPORTED,
                       "this machine has no core PMU%s%s%s: use --source sim or clock",
                       caps->hypervisor[0] ? " (hypervisor: " : "", caps->hypervisor,
                       caps->hypervisor[0] ? ")" : "");
    if (!td_caps_core_pmu(caps)) {
        const struct td_pmu *dead = td_caps_dead_pmu(caps);

        return td_fail(err, TD_EUNSUPPORTED, "PMU %s: %s: use --source sim or clock", dead->name,
                       dead->fault);
    }
    if (request->events.len)
        return td_plan_clock(plan, caps, request, err);
    decide_method(plan, caps, request);
    /* Code may be mapped on a CPU where nothing can be counted, too. */
    const bool tracked =
        td_plan_needs_tracker(request) || (td_caps_dead_pmu(caps) && !request->count);
    if (tracked) {
        td_plan_add_tracker(plan, caps, request);
        plan->groups[0].events[0].sample_type |= PERF_SAMPLE_IDENTIFIER;
    }
    if (request->off_cpu)
        td_plan_add_off_cpu(plan, caps, request);
    td_plan_decide_rate(plan, caps, request);
    td_plan_note_privilege(plan, caps, request);
    for (size_t i = 0; i < caps->pmu_count; i++) {
        struct maker m = {.plan = plan,
                          .caps = caps,
                          .request = request,
                          .pmu = &caps->pmus[i],
                          .tracked = tracked,
                          .hybrid = core_pmus > 1};

        if (!m.pmu->core)
            continue;
        if (m.pmu->dead) {
            tell_dead(&m);
            continue;
        }
        const int rc = plan_one(&m, err);
        if (rc < 0)
            return rc;
    }
    drop_empty_passes(plan);
    if (plan->group_count == (size_t)tracked)
        return td_fail(err, TD_EUSAGE, "-C: none of these CPUs is online");
    if (request->count)
        return td_plan_count_software(plan, caps, request, err);
    td_plan_check_inherit(plan, caps);
    return TD_OK;
}
