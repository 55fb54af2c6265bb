/* SPDX-License-Identifier: MIT */
/* The plan of the `clock` source, and of events asked for by name: each a group of its own. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/event_names.h"
#include "record/plan.h"

/* ":u", ":k", ":uk": whose execution counts; ":p" to ":ppp", ":P": how precise the place is. */
static int apply_modifiers(struct td_plan_event *event, const struct td_caps *caps,
                           const char *modifiers, size_t len, struct td_err *err)
{
    bool user = false, kernel = false;
    const struct td_pmu *pmu = td_caps_core_pmu(caps);
    const unsigned most = pmu && event->type != PERF_TYPE_SOFTWARE ? pmu->max_precise : 0;

    for (size_t i = 0; i < len; i++) {
        switch (modifiers[i]) {
        case 'u': user = true; break;
        case 'k': kernel = true; break;
        case 'p': event->precise_ip++; break;
        case 'P': event->precise_ip = most; break;
        default:
            return td_fail(err, TD_EUSAGE, "%s: modifier '%c' is not known (u, k, p and P are)",
                           event->name, modifiers[i]);
        }
    }
    if (event->precise_ip > most)
        return td_fail(err, TD_EUNSUPPORTED,
                       "%s: this CPU's samples of it can be precise to level %u"
                       " (:P takes the most there is)",
                       event->name, most);
    if (kernel && !td_caps_kernel(caps))
        return td_fail(err, TD_EPERM,
                       "%s:k: perf_event_paranoid is %lld and forbids sampling the kernel "
                       "(sudo sysctl kernel.perf_event_paranoid=1)",
                       event->name, (long long)caps->paranoid);
    if (user != kernel) {
        event->exclude_kernel = !kernel;
        event->exclude_user = !user;
    }
    return TD_OK;
}

static void set_rate(struct td_plan_event *event, const struct td_plan *plan,
                     const struct td_request *request)
{
    event->frequency_hz = plan->frequency_hz;
    event->period = request->period;
}

static uint64_t sample_type(const struct td_plan_event *event, size_t samplers)
{
    uint64_t type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;

    /* A clock's period is fixed when it is opened; of other events it varies. */
    if (event->unit != TD_UNIT_NS && event->frequency_hz)
        type |= PERF_SAMPLE_PERIOD;
    if (samplers > 1)
        type |= PERF_SAMPLE_IDENTIFIER;
    return type;
}

/* One event with its modifiers, `len` bytes at `text`, added to the group. */
static int add_event(struct td_plan *plan, struct td_plan_group *group, const struct td_caps *caps,
                     const struct td_request *request, const char *text, size_t len,
                     struct td_err *err)
{
    const size_t name_len = strcspn(text, ":") < len ? strcspn(text, ":") : len;
    struct td_event_code known = {.type = 0};
    const int rc = td_event_find(&known, caps, text, name_len, err);

    if (rc < 0)
        return rc;
    if (group->event_count == TD_PLAN_EVENTS_MAX)
        return td_fail(err, TD_EUSAGE, "-e: a group has at most %d events", TD_PLAN_EVENTS_MAX);
    const uint32_t index = (uint32_t)group->event_count++;
    struct td_plan_event *event = &group->events[index];
    *event = td_plan_event_init(plan, caps, request);
    memcpy(event->name, known.name, sizeof(event->name));
    event->type = known.type;
    event->config[0] = known.config;
    event->unit = known.unit;
    /* Only clocks run in the idle loop, and Arm's driver refuses the bit. */
    event->exclude_idle = event->exclude_idle && known.unit == TD_UNIT_NS;
    event->on_exec = event->on_exec && index == 0;
    event->member = index > 0;
    if (index == 0) {
        set_rate(event, plan, request);
        group->role = known.unit == TD_UNIT_NS ? TD_ROLE_TIME : TD_ROLE_METRIC;
    }
    group->columns[group->column_count++] =
        (struct td_column){.kind = index == 0 ? TD_COLUMN_PERIOD : TD_COLUMN_DELTA,
                           .event = index,
                           .node = TD_NODE_NONE};
    if (len > name_len)
        return apply_modifiers(event, caps, text + name_len + 1, len - name_len - 1, err);
    return TD_OK;
}

static struct td_plan_group *new_group(struct td_plan *plan, const struct td_caps *caps,
                                       const struct td_request *request, const char *text,
                                       size_t len)
{
    struct td_plan_group *group = td_plan_add_group(plan);

    snprintf(group->name, sizeof(group->name), "%.*s", (int)len, text);
    td_plan_cpus(&group->cpus, plan, caps, request);
    return group;
}

static bool needs_pmu(const struct td_plan_group *group)
{
    for (size_t i = 0; i < group->event_count; i++) {
        if (group->events[i].type != PERF_TYPE_SOFTWARE)
            return true;
    }
    return false;
}

/* The kernel takes the PMU in the upper half of a generic event's code (Linux 5.13). */
static void bind_group(struct td_plan_group *group, const struct td_pmu *pmu)
{
    struct td_cpulist ours = {0};

    snprintf(group->cpu_type, sizeof(group->cpu_type), "%.31s", pmu->name);
    for (size_t i = 0; i < group->event_count; i++) {
        struct td_plan_event *event = &group->events[i];

        if (event->type == PERF_TYPE_RAW)
            event->type = pmu->type;
        else if (event->type != PERF_TYPE_SOFTWARE)
            event->config[0] |= (uint64_t)pmu->type << 32;
    }
    td_cpulist_intersect(&ours, &group->cpus, &pmu->cpus);
    td_cpulist_release(&group->cpus);
    group->cpus = ours;
}

/* On a hybrid machine the last group, if it counts hardware events, becomes one of each PMU. */
static void spread_last_group(struct td_plan *plan, const struct td_caps *caps)
{
    const size_t last = plan->group_count - 1;
    const struct td_plan_group model = plan->groups[last];
    size_t bound = 0;

    if (td_caps_core_pmu_count(caps) < 2 || !needs_pmu(&model))
        return;
    for (size_t i = 0; i < caps->pmu_count; i++) {
        if (!caps->pmus[i].core)
            continue;
        struct td_plan_group *group = bound++ ? td_plan_add_group(plan) : &plan->groups[last];
        *group = model;
        group->cpus = (struct td_cpulist){0};
        td_cpulist_copy(&group->cpus, &model.cpus);
        bind_group(group, &caps->pmus[i]);
    }
    struct td_cpulist old = model.cpus;
    td_cpulist_release(&old);
}

/* "a,b:u}:S" after the brace: the first event samples, the others are read with each sample.
 * Returns the length that was used. */
static int add_braces(struct td_plan *plan, const struct td_caps *caps,
                      const struct td_request *request, const char *text, struct td_err *err)
{
    const size_t inner = strcspn(text, "}");
    const size_t tail = text[inner] ? strcspn(text + inner + 1, ",") : 0;
    struct td_plan_group *group = new_group(plan, caps, request, text, inner);
    int rc = TD_OK;

    if (text[inner] != '}')
        return td_fail(err, TD_EUSAGE, "-e {%s: the closing brace is missing", text);
    if (tail != 0 && strncmp(text + inner + 1, ":S", tail) != 0)
        return td_fail(err, TD_EUSAGE, "-e {%.*s}: after a group only ':S' may stand", (int)inner,
                       text);
    for (size_t at = 0; at < inner && rc == TD_OK;) {
        size_t len = strcspn(text + at, ",}");

        if (len)
            rc = add_event(plan, group, caps, request, text + at, len, err);
        at += len + 1;
    }
    if (rc == TD_OK && group->event_count == 0)
        rc = td_fail(err, TD_EUSAGE, "-e {}: the group is empty");
    for (size_t i = 0; i < group->event_count && group->event_count > 1; i++)
        group->events[i].read_format |= PERF_FORMAT_GROUP | PERF_FORMAT_ID;
    /* A counter runs on after its overflow: what was read is exact, the period is not. */
    if (group->event_count > 1 && needs_pmu(group))
        group->columns[0].kind = TD_COLUMN_DELTA;
    return rc < 0 ? rc : (int)(inner + 1 + tail);
}

/* "a,b:u,{c,d}:S" */
static int add_events(struct td_plan *plan, const struct td_caps *caps,
                      const struct td_request *request, const char *text, struct td_err *err)
{
    while (*text) {
        size_t len = strcspn(text, ",");
        int rc = TD_OK;

        if (text[0] == '{') {
            rc = add_braces(plan, caps, request, text + 1, err);
            len = rc < 0 ? 0 : (size_t)rc + 1;
        } else if (len) {
            struct td_plan_group *group = new_group(plan, caps, request, text, len);

            rc = add_event(plan, group, caps, request, text, len, err);
        }
        if (rc < 0)
            return rc;
        if (len)
            spread_last_group(plan, caps);
        text += len + (text[len] == ',');
    }
    return TD_OK;
}

/* Mappings and forks must be seen before sampling starts (-D), and on every CPU (-C). */
bool td_plan_needs_tracker(const struct td_request *request)
{
    return request->delay_ms > 0 || request->scope == TD_SCOPE_CPUS;
}

void td_plan_add_tracker(struct td_plan *plan, const struct td_caps *caps,
                         const struct td_request *request)
{
    struct td_plan_group *group = td_plan_add_group(plan);
    struct td_plan_event *event = &group->events[0];

    *event = td_plan_event_init(plan, caps, request);
    snprintf(event->name, sizeof(event->name), "dummy");
    snprintf(group->name, sizeof(group->name), "tracker");
    event->type = PERF_TYPE_SOFTWARE;
    event->config[0] = PERF_COUNT_SW_DUMMY;
    event->sideband = true;
    event->on_exec = false;
    event->at_once = true;
    event->exclude_idle = false;
    event->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    group->event_count = 1;
    group->sampler = 1;
    group->role = TD_ROLE_METRIC;
    if (plan->scope != TD_SCOPE_THREAD)
        td_cpulist_copy(&group->cpus, &caps->online);
}

void td_plan_decide_rate(struct td_plan *plan, const struct td_caps *caps,
                         const struct td_request *request)
{
    const uint64_t most = (uint64_t)caps->max_sample_rate;
    char what[64], why[128];

    if (request->period)
        return;
    plan->frequency_hz = request->frequency_max ? most : request->frequency_hz;
    if (plan->frequency_hz <= most)
        return;
    plan->frequency_hz = most;
    snprintf(what, sizeof(what), "-F %llu", (unsigned long long)request->frequency_hz);
    snprintf(why, sizeof(why), "kernel.perf_event_max_sample_rate is %llu: sampling at that rate",
             (unsigned long long)most);
    td_plan_leave_out(plan, what, why);
}

void td_plan_note_privilege(struct td_plan *plan, const struct td_caps *caps)
{
    if (!td_caps_kernel(caps))
        snprintf(plan->privilege, sizeof(plan->privilege),
                 "kernel time is not sampled: perf_event_paranoid is %lld (sudo sysctl "
                 "kernel.perf_event_paranoid=1 allows it)",
                 (long long)caps->paranoid);
}

/* The first group reports the mappings unless a tracker does; several samplers share a ring and
 * must say which of them a sample is from. */
static void finish_groups(struct td_plan *plan, const struct td_caps *caps,
                          const struct td_request *request, bool tracker)
{
    const size_t samplers = plan->group_count - tracker;

    for (size_t i = 0; i < plan->group_count; i++) {
        struct td_plan_event *event = &plan->groups[i].events[0];

        if (plan->groups[i].sampler == 0) {
            event->sample_type = sample_type(event, samplers + tracker);
            td_plan_add_call_graph(event, caps, request);
        } else if (samplers + tracker > 1) {
            event->sample_type |= PERF_SAMPLE_IDENTIFIER;
        }
        if (plan->groups[i].event_count > 1)
            event->sample_type |= PERF_SAMPLE_READ;
    }
    td_plan_check_inherit(plan, caps);
    plan->groups[0].events[0].sideband = true;
}

int td_plan_clock(struct td_plan *plan, const struct td_caps *caps,
                  const struct td_request *request, struct td_err *err)
{
    const bool tracker = td_plan_needs_tracker(request);
    int rc = TD_OK;

    td_plan_decide_rate(plan, caps, request);
    td_plan_note_privilege(plan, caps);
    if (tracker)
        td_plan_add_tracker(plan, caps, request);
    if (request->events.len == 0)
        rc = add_events(plan, caps, request, "cpu-clock", err);
    for (size_t i = 0; i < request->events.len && rc == TD_OK; i++)
        rc = add_events(plan, caps, request, request->events.items[i], err);
    if (rc < 0)
        return rc;
    if (plan->group_count == tracker)
        return td_fail(err, TD_EUSAGE, "-e names no event");
    if (plan->scope == TD_SCOPE_CPUS && plan->groups[plan->group_count - 1].cpus.len == 0)
        return td_fail(err, TD_EUSAGE, "-C: none of these CPUs is online");
    for (size_t i = 0; i < plan->group_count; i++) {
        /* What was asked for by name comes from where it is counted. */
        if (needs_pmu(&plan->groups[i]))
            plan->source = "pmu";
    }
    finish_groups(plan, caps, request, tracker);
    return TD_OK;
}
