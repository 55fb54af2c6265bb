/* SPDX-License-Identifier: MIT */
/* The plan of the `clock` source: the kernel's software events, each a group of its own. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/plan.h"

/* include/uapi/linux/perf_event.h, enum perf_sw_ids; names as perf list prints them. */
static const struct software_event {
    const char *name, *alias;
    uint64_t config;
    enum td_unit unit;
} software_events[] = {
    {"cpu-clock", NULL, PERF_COUNT_SW_CPU_CLOCK, TD_UNIT_NS},
    {"task-clock", NULL, PERF_COUNT_SW_TASK_CLOCK, TD_UNIT_NS},
    {"page-faults", "faults", PERF_COUNT_SW_PAGE_FAULTS, TD_UNIT_COUNT},
    {"minor-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MIN, TD_UNIT_COUNT},
    {"major-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MAJ, TD_UNIT_COUNT},
    {"context-switches", "cs", PERF_COUNT_SW_CONTEXT_SWITCHES, TD_UNIT_COUNT},
    {"cpu-migrations", "migrations", PERF_COUNT_SW_CPU_MIGRATIONS, TD_UNIT_COUNT},
    {"alignment-faults", NULL, PERF_COUNT_SW_ALIGNMENT_FAULTS, TD_UNIT_COUNT},
    {"emulation-faults", NULL, PERF_COUNT_SW_EMULATION_FAULTS, TD_UNIT_COUNT},
};

static const struct software_event *find_event(const char *name, size_t len)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(software_events); i++) {
        const struct software_event *e = &software_events[i];

        if (strlen(e->name) == len && strncmp(e->name, name, len) == 0)
            return e;
        if (e->alias && strlen(e->alias) == len && strncmp(e->alias, name, len) == 0)
            return e;
    }
    return NULL;
}

static int unknown_event(const struct td_caps *caps, const char *name, size_t len,
                         struct td_err *err)
{
    const char *names[TD_ARRAY_SIZE(software_events) + 1] = {NULL};
    char *word = td_xstrndup(name, len);

    for (size_t i = 0; i < TD_ARRAY_SIZE(software_events); i++)
        names[i] = software_events[i].name;
    const char *near = td_nearest(word, names);
    const int rc =
        near ? td_fail(err, TD_EUSAGE, "there is no event '%s': did you mean %s?", word, near)
        : td_caps_core_pmu(caps)
            ? td_fail(err, TD_EUNSUPPORTED,
                      "event '%s' is none of the kernel's software events, and hardware events "
                      "are not in this build",
                      word)
            : td_fail(err, TD_EUNSUPPORTED,
                      "event '%s' cannot be opened: this machine has no core PMU%s%s%s; software "
                      "events such as cpu-clock and page-faults can",
                      word, caps->hypervisor[0] ? " (hypervisor: " : "", caps->hypervisor,
                      caps->hypervisor[0] ? ")" : "");
    free(word);
    return rc;
}

/* ":u", ":k", ":uk": whose execution counts. */
static int apply_modifiers(struct td_plan_event *event, const struct td_caps *caps,
                           const char *modifiers, size_t len, struct td_err *err)
{
    bool user = false, kernel = false;

    for (size_t i = 0; i < len; i++) {
        if (modifiers[i] == 'u')
            user = true;
        else if (modifiers[i] == 'k')
            kernel = true;
        else
            return td_fail(err, TD_EUSAGE, "%s: modifier '%c' is not known (u and k are)",
                           event->name, modifiers[i]);
    }
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
    const struct software_event *known = find_event(text, name_len);

    if (!known)
        return unknown_event(caps, text, name_len, err);
    if (group->event_count == TD_PLAN_EVENTS_MAX)
        return td_fail(err, TD_EUSAGE, "-e: a group has at most %d events", TD_PLAN_EVENTS_MAX);
    const uint32_t index = (uint32_t)group->event_count++;
    struct td_plan_event *event = &group->events[index];
    *event = td_plan_event_init(plan, caps, request);
    snprintf(event->name, sizeof(event->name), "%s", known->name);
    event->type = PERF_TYPE_SOFTWARE;
    event->config[0] = known->config;
    event->unit = known->unit;
    event->on_exec = event->on_exec && index == 0;
    if (index == 0) {
        set_rate(event, plan, request);
        group->role = known->unit == TD_UNIT_NS ? TD_ROLE_TIME : TD_ROLE_METRIC;
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
        text += len + (text[len] == ',');
    }
    return TD_OK;
}

/* Mappings and forks must be seen before sampling starts (-D), and on every CPU (-C): an event
 * that counts nothing carries them. */
static void add_tracker(struct td_plan *plan, const struct td_caps *caps,
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
    const bool tracker = request->delay_ms > 0 || request->scope == TD_SCOPE_CPUS;
    int rc = TD_OK;

    td_plan_decide_rate(plan, caps, request);
    td_plan_note_privilege(plan, caps);
    if (tracker)
        add_tracker(plan, caps, request);
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
    finish_groups(plan, caps, request, tracker);
    return TD_OK;
}
