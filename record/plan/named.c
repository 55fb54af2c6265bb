/* SPDX-License-Identifier: MIT */
#include "record/plan/named.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/machine/event_names.h"
#include "record/plan/latency.h"
#include "record/plan/fit.h"

/* Modifiers, as perf has them: u k h whose execution, H G the host's or a guest's, I not idle,
 * p to ppp and P how precise, R with the retire latency, D pinned, S the group is read with each
 * sample. */
#define MODIFIERS "ukhHGIpPRDS"

struct modifiers {
    bool user, kernel, hypervisor, host, guest;
};

/* The PMU that says how precise an event can be. */
static const struct td_pmu *pmu_of(const struct td_caps *caps, const struct td_plan_event *event)
{
    for (size_t i = 0; i < caps->pmu_count; i++) {
        if (caps->pmus[i].type == event->type)
            return &caps->pmus[i];
    }
    return td_caps_core_pmu(caps);
}

static int take_modifier(struct td_plan_event *event, struct modifiers *given, char letter,
                         unsigned most, struct td_err *err)
{
    switch (letter) {
    case 'u': given->user = true; break;
    case 'k': given->kernel = true; break;
    case 'h': given->hypervisor = true; break;
    case 'H': given->host = true; break;
    case 'G': given->guest = true; break;
    case 'I': event->exclude_idle = true; break;
    case 'D': event->pinned = true; break;
    case 'S': break; /* groups are always read with their samples */
    case 'p': event->precise_ip++; break;
    case 'P': event->precise_ip = most; break;
    case 'R': event->retire = true; break;
    default:
        return td_fail(err, TD_EUSAGE, "%s: modifier '%c' is not known (%s are)", event->name,
                       letter, MODIFIERS);
    }
    return TD_OK;
}

static int apply_modifiers(struct td_plan_event *event, const struct td_caps *caps,
                           const char *letters, size_t len, struct td_err *err)
{
    struct modifiers given = {.user = false};
    const struct td_pmu *pmu = pmu_of(caps, event);
    const unsigned most = pmu && event->type != PERF_TYPE_SOFTWARE ? pmu->max_precise : 0;

    for (size_t i = 0; i < len; i++) {
        const int rc = take_modifier(event, &given, letters[i], most, err);

        if (rc < 0)
            return rc;
    }
    /* Only precise samples are timed. */
    if (event->retire && event->precise_ip == 0 && most > 0)
        event->precise_ip = 1;
    if (event->precise_ip > most)
        return td_fail(err, TD_EUNSUPPORTED,
                       "%s: this CPU's samples of it can be precise to level %u"
                       " (:P takes the most there is)",
                       event->name, most);
    if (event->retire) {
        const int rc = td_plan_check_retire(caps, event, err);

        if (rc < 0)
            return rc;
    }
    if (given.kernel && !td_caps_kernel(caps))
        return td_fail(err, TD_EPERM,
                       "%s:k: perf_event_paranoid %s %lld and forbids sampling the kernel "
                       "(%ssudo sysctl kernel.perf_event_paranoid=1%s)",
                       event->name, td_caps_is(caps), (long long)caps->paranoid,
                       td_caps_where(caps), td_caps_or_root(caps));
    if (given.user || given.kernel || given.hypervisor) {
        event->exclude_user = !given.user;
        event->exclude_kernel = !given.kernel;
        event->exclude_hv = event->exclude_hv || !given.hypervisor;
    }
    if (given.host != given.guest) {
        event->exclude_guest = given.host;
        event->exclude_host = given.guest;
    }
    return TD_OK;
}

/* Up to the comma or brace that ends it; a PMU's terms between slashes have commas too. */
static size_t spec_length(const char *text)
{
    bool terms = false;
    size_t len = 0;

    for (; text[len] && (terms || !strchr(",}", text[len])); len++)
        terms ^= text[len] == '/';
    return len;
}

/* How much of a spec is the event's name: modifiers follow a slash, or the last colon when what
 * follows it is letters of theirs (or small ones: masks of the tables are in capitals). */
static size_t name_length(const char *spec, size_t len)
{
    const char *slash = memrchr(spec, '/', len), *colon = memrchr(spec, ':', len);

    if (slash)
        return (size_t)(slash - spec) + 1;
    if (!colon || colon + 1 == spec + len)
        return colon ? (size_t)(colon - spec) : len;
    for (const char *p = colon + 1; p < spec + len; p++) {
        if (!strchr(MODIFIERS, *p) && (*p < 'a' || *p > 'z'))
            return len;
    }
    return (size_t)(colon - spec);
}

static void fill_event(struct td_plan_event *event, const struct td_event_code *known)
{
    memcpy(event->name, known->name, sizeof(event->name));
    event->type = known->type;
    memcpy(event->config, known->config, sizeof(event->config));
    event->unit = known->unit;
    event->exclude_user = known->exclude_user;
    event->exclude_kernel = event->exclude_kernel || known->exclude_kernel;
    /* Only clocks run in the idle loop, and Arm's driver refuses the bit. */
    event->exclude_idle = event->exclude_idle && known->unit == TD_UNIT_NS;
}

/* IA32_PERFEVTSEL.ANY: both threads of a core, so others' programs (Intel before Ice Lake). */
static int check_any(const struct td_plan_event *event, const struct td_caps *caps,
                     struct td_err *err)
{
    const bool intel = strncmp(caps->cpu_id, "GenuineIntel", 12) == 0;

    if (!intel || event->type != PERF_TYPE_RAW || !(event->config[0] >> 21 & 1) ||
        td_caps_system_wide(caps))
        return TD_OK;
    return td_fail(err, TD_EPERM,
                   "%s counts both threads of a core, and perf_event_paranoid %s %lld: %ssudo "
                   "sysctl kernel.perf_event_paranoid=0%s",
                   event->name, td_caps_is(caps), (long long)caps->paranoid, td_caps_where(caps),
                   td_caps_or_root(caps));
}

/* One event with its modifiers, `len` bytes at `text`, added to the group. */
static int add_event(struct td_plan *plan, struct td_plan_group *group, const struct td_caps *caps,
                     const struct td_request *request, const char *text, size_t len,
                     struct td_err *err)
{
    const size_t name_len = name_length(text, len);
    struct td_event_code known = {.type = 0};
    int rc = td_event_find(&known, caps, text, name_len, err);

    if (rc < 0)
        return rc;
    if (group->event_count == TD_PLAN_EVENTS_MAX)
        return td_fail(err, TD_EUSAGE, "-e: a group has at most %d events", TD_PLAN_EVENTS_MAX);
    const uint32_t index = (uint32_t)group->event_count++;
    struct td_plan_event *event = &group->events[index];
    *event = td_plan_event_init(plan, caps, request);
    fill_event(event, &known);
    event->on_exec = event->on_exec && index == 0;
    event->member = index > 0;
    if (known.pmu && td_caps_core_pmu_count(caps) > 1)
        snprintf(group->cpu_type, sizeof(group->cpu_type), "%.31s", known.pmu->name);
    if (index == 0)
        group->role = known.unit == TD_UNIT_NS ? TD_ROLE_TIME : TD_ROLE_METRIC;
    rc = check_any(event, caps, err);
    const size_t colon = name_len < len && text[name_len] == ':';
    if (rc == TD_OK && len > name_len + colon)
        rc = apply_modifiers(event, caps, text + name_len + colon, len - name_len - colon, err);
    return rc;
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

bool td_plan_group_needs_pmu(const struct td_plan_group *group)
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
        else if (event->type == PERF_TYPE_HARDWARE || event->type == PERF_TYPE_HW_CACHE)
            event->config[0] |= (uint64_t)pmu->type << 32;
    }
    td_cpulist_intersect(&ours, &group->cpus, &pmu->cpus);
    td_cpulist_release(&group->cpus);
    group->cpus = ours;
}

/* On a hybrid machine the last group, if it counts hardware events, becomes one of each PMU, or
 * belongs to the PMU whose events it names. */
static void spread_last_group(struct td_plan *plan, const struct td_caps *caps)
{
    const size_t last = plan->group_count - 1;
    const struct td_plan_group model = plan->groups[last];
    size_t bound = 0;

    if (td_caps_core_pmu_count(caps) < 2 || !td_plan_group_needs_pmu(&model))
        return;
    for (size_t i = 0; i < caps->pmu_count; i++) {
        if (!caps->pmus[i].core ||
            (model.cpu_type[0] && strcmp(model.cpu_type, caps->pmus[i].name) != 0))
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

static bool is_slots(const struct td_plan_event *event)
{
    return event->unit == TD_UNIT_SLOTS && event->config[0] == TD_CONFIG_SLOTS;
}

static bool is_metric(const struct td_plan_event *event)
{
    return event->unit == TD_UNIT_SLOTS && event->config[0] >= TD_CONFIG_METRICS;
}

static size_t metrics_of(const struct td_plan_group *group)
{
    size_t metrics = 0;

    for (size_t i = 0; i < group->event_count; i++)
        metrics += is_metric(&group->events[i]);
    return metrics;
}

/* The perf metrics count only under slots as leader (arch/x86/events/intel/core.c). */
static int check_leader(const struct td_plan_group *group, struct td_err *err)
{
    if (metrics_of(group) == 0 || is_slots(&group->events[0]))
        return TD_OK;
    return td_fail(err, TD_EUSAGE,
                   "%s counts only in a group that slots leads: -e "
                   "'{slots,cycles,topdown-retiring}:S'",
                   group->name);
}

/* Neither slots as leader of metrics nor they may take the samples: the next event of the group
 * does. */
static int choose_sampler(struct td_plan_group *group, struct td_err *err)
{
    const int rc = check_leader(group, err);

    group->sampler = 0;
    if (rc < 0 || metrics_of(group) == 0)
        return rc;
    for (size_t i = 1; i < group->event_count; i++) {
        if (!is_metric(&group->events[i])) {
            group->sampler = i;
            return TD_OK;
        }
    }
    return td_fail(err, TD_EUSAGE,
                   "{%s}: slots and its metrics cannot take samples: add an event that can, as in "
                   "'{slots,cycles,topdown-retiring}:S'",
                   group->name);
}

/* What depends on which event samples: its rate, the columns, and who may be precise. */
static int finish_group(struct td_plan_group *group, const struct td_plan *plan,
                        const struct td_request *request, struct td_err *err)
{
    /* A counter runs on after its overflow: what was read is exact, the period is not. */
    const bool read = group->event_count > 1 && td_plan_group_needs_pmu(group);

    for (size_t i = 0; i < group->event_count && request->count; i++) {
        if (group->events[i].retire)
            return td_fail(err, TD_EUSAGE,
                           "%s:R asks for the latency of samples, and --count takes none: tdrec "
                           "without --count, then tdreport latency",
                           group->events[i].name);
    }
    if (request->count) {
        td_plan_count_only(group);
        return check_leader(group, err);
    }
    const int rc = choose_sampler(group, err);

    if (rc < 0)
        return rc;
    group->events[group->sampler].frequency_hz = plan->frequency_hz;
    group->events[group->sampler].period = request->period;
    for (size_t i = 0; i < group->event_count; i++) {
        struct td_plan_event *event = &group->events[i];
        const bool period = i == group->sampler && !read;

        group->columns[group->column_count++] =
            (struct td_column){.kind = period ? TD_COLUMN_PERIOD : TD_COLUMN_DELTA,
                               .event = (uint32_t)i,
                               .node = TD_NODE_NONE};
        if (group->event_count > 1)
            event->read_format |= PERF_FORMAT_GROUP | PERF_FORMAT_ID;
        if (event->precise_ip && i != group->sampler)
            return td_fail(err, TD_EUSAGE,
                           "%s: it is read with the samples of %s, and only what samples can be "
                           "precise",
                           event->name, group->events[group->sampler].name);
        if (event->pinned && i > 0)
            return td_fail(err, TD_EUSAGE, "%s: only the leader of a group can be pinned (D)",
                           event->name);
    }
    return TD_OK;
}

/* ":Su" after the closing brace goes to each event of the group. */
static int apply_to_all(struct td_plan_group *group, const struct td_caps *caps, const char *text,
                        size_t len, struct td_err *err)
{
    int rc = TD_OK;

    if (len == 0)
        return TD_OK;
    if (text[0] != ':' || strspn(text + 1, MODIFIERS) != len - 1)
        return td_fail(err, TD_EUSAGE, "-e {%s}: after a group only ':S' and modifiers may stand",
                       group->name);
    for (size_t i = 0; i < group->event_count && rc == TD_OK; i++)
        rc = apply_modifiers(&group->events[i], caps, text + 1, len - 1, err);
    return rc;
}

/* "a,b:u}:S" after the brace: one event samples, the others are read with each sample. Returns the
 * length that was used. */
static int add_braces(struct td_plan *plan, const struct td_caps *caps,
                      const struct td_request *request, const char *text, struct td_err *err)
{
    const size_t inner = strcspn(text, "}");
    const size_t tail = text[inner] ? strcspn(text + inner + 1, ",") : 0;
    struct td_plan_group *group = new_group(plan, caps, request, text, inner);
    int rc = TD_OK;

    if (text[inner] != '}')
        return td_fail(err, TD_EUSAGE, "-e {%s: the closing brace is missing", text);
    for (size_t at = 0; at < inner && rc == TD_OK;) {
        const size_t len = spec_length(text + at);

        if (len)
            rc = add_event(plan, group, caps, request, text + at, len, err);
        at += len + 1;
    }
    if (rc == TD_OK && group->event_count == 0)
        rc = td_fail(err, TD_EUSAGE, "-e {}: the group is empty");
    if (rc == TD_OK)
        rc = apply_to_all(group, caps, text + inner + 1, tail, err);
    if (rc == TD_OK)
        rc = finish_group(group, plan, request, err);
    return rc < 0 ? rc : (int)(inner + 1 + tail);
}

int td_plan_add_named(struct td_plan *plan, const struct td_caps *caps,
                      const struct td_request *request, const char *text, struct td_err *err)
{
    while (*text) {
        size_t len = spec_length(text);
        const size_t first = plan->group_count;
        int rc = TD_OK;

        if (text[0] == '{') {
            rc = add_braces(plan, caps, request, text + 1, err);
            len = rc < 0 ? 0 : (size_t)rc + 1;
        } else if (len) {
            struct td_plan_group *group = new_group(plan, caps, request, text, len);

            rc = add_event(plan, group, caps, request, text, len, err);
            if (rc == TD_OK)
                rc = finish_group(group, plan, request, err);
        }
        if (rc < 0)
            return rc;
        if (len)
            spread_last_group(plan, caps);
        rc = td_plan_check_fit(plan, first, caps, text + 1, err);
        if (rc < 0)
            return rc;
        text += len + (text[len] == ',');
    }
    return TD_OK;
}

static bool takes_counter(const struct td_plan_event *event, const struct td_pmu *pmu)
{
    return event->type == PERF_TYPE_HARDWARE || event->type == PERF_TYPE_HW_CACHE ||
           event->type == pmu->type;
}

static uint32_t events_at_once(const struct td_plan *plan, unsigned pass, const struct td_pmu *pmu)
{
    uint32_t events = 0;

    for (size_t i = 0; i < plan->group_count; i++) {
        for (size_t k = 0; k < plan->groups[i].event_count && plan->groups[i].pass == pass; k++)
            events += takes_counter(&plan->groups[i].events[k], pmu);
    }
    return events;
}

int td_plan_check_at_once(const struct td_plan *plan, const struct td_caps *caps,
                          struct td_err *err)
{
    const struct td_pmu *pmu = td_caps_core_pmu(caps);

    for (unsigned pass = 1; pmu && pmu->counters_at_once && pass <= plan->passes; pass++) {
        const uint32_t events = events_at_once(plan, pass, pmu);

        if (events > pmu->counters_at_once)
            return td_fail(err, TD_EUNSUPPORTED,
                           "-e: %u events, but only %u counters of PMU %s count at the same time "
                           "(hypervisor: %s): ask for fewer events, or for --passes",
                           events, pmu->counters_at_once, pmu->name, caps->hypervisor);
    }
    return TD_OK;
}
