/* SPDX-License-Identifier: MIT */
#include "record/plan/latency.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/mem.h"
#include "record/machine/pmu_core.h"

/* Intel's event of loads above a latency; and its precise loads and stores, 0xd0 to 0xd3. */
enum { LOAD_LATENCY = 0xcd, MEMORY_FIRST = 0xd0, MEMORY_LAST = 0xd3 };

static bool is_vendor(const struct td_caps *caps, const char *vendor)
{
    return strncmp(caps->cpu_id, vendor, strlen(vendor)) == 0;
}

static const struct td_pmu *pmu_named(const struct td_caps *caps, const char *name)
{
    for (size_t i = 0; i < caps->pmu_count; i++) {
        if (strcmp(caps->pmus[i].name, name) == 0)
            return &caps->pmus[i];
    }
    return NULL;
}

/* The core PMU that counts the event. */
static const struct td_pmu *core_pmu_of(const struct td_caps *caps,
                                        const struct td_plan_event *event)
{
    for (size_t i = 0; i < caps->pmu_count; i++) {
        if (caps->pmus[i].core && caps->pmus[i].type == event->type)
            return &caps->pmus[i];
    }
    return td_caps_core_pmu(caps);
}

/* The kernel hands AMD's precise events to IBS (arch/x86/events/amd/ibs.c), and fills in what its
 * registers say of a load since Linux 6.2. */
static const char *no_ibs(const struct td_caps *caps, const struct td_plan_event *event)
{
    const struct td_pmu *ibs = pmu_named(caps, "ibs_op");

    if (!ibs)
        return "this machine has no PMU ibs_op, which alone tells latencies on AMD's CPUs (virtual "
               "machines seldom have it)";
    if (event->type != ibs->type && event->precise_ip == 0)
        return "its samples are not precise: EVENT:p";
    if (!td_caps_kernel_at_least(caps, 6, 2))
        return "Linux before 6.2 does not tell the latencies of IBS";
    return NULL;
}

const char *td_plan_no_latency(const struct td_caps *caps, const struct td_plan_event *event)
{
    const struct td_pmu *pmu = core_pmu_of(caps, event);

    if (event->type == PERF_TYPE_SOFTWARE || event->type == PERF_TYPE_TRACEPOINT)
        return "the kernel counts it: only instructions that a CPU samples have a latency";
    if (is_vendor(caps, "AuthenticAMD"))
        return no_ibs(caps, event);
    if (!is_vendor(caps, "GenuineIntel"))
        return "samples of this machine's core events have no latency (Arm's SPE has: perf record "
               "-e arm_spe//, and tdreport reads the file)";
    if (!pmu || pmu->max_precise == 0)
        return "this PMU takes no precise samples (virtual machines seldom have PEBS)";
    if (event->precise_ip == 0)
        return "its samples are not precise: EVENT:p";
    if (!td_caps_kernel_at_least(caps, 5, 12))
        return "Linux before 5.12 does not tell them";
    return NULL;
}

/* On Golden Cove the event of load latencies gives sources only behind an event of its own
 * (mem-loads-aux), which not every group has. */
static bool tells_source(const struct td_caps *caps, const struct td_plan_event *event)
{
    const struct td_pmu *pmu = core_pmu_of(caps, event);
    const uint64_t code = event->config[0] & 0xff;

    if (is_vendor(caps, "AuthenticAMD") || (code >= MEMORY_FIRST && code <= MEMORY_LAST))
        return true;
    for (size_t i = 0; pmu && i < pmu->event_count; i++) {
        if (strcmp(pmu->events[i].name, "mem-loads-aux") == 0)
            return false;
    }
    return code == LOAD_LATENCY && pmu && pmu->event_count > 0;
}

static void add_column(struct td_plan_group *group, enum td_column_kind kind)
{
    if (group->column_count < TD_COLUMNS_MAX)
        group->columns[group->column_count++] =
            (struct td_column){.kind = kind, .event = TD_NONE, .node = TD_NODE_NONE};
}

void td_plan_add_latency(struct td_plan_group *group, const struct td_caps *caps,
                         struct td_plan_event *event)
{
    static const enum td_column_kind weights[] = {TD_COLUMN_LATENCY, TD_COLUMN_INSTR_LATENCY,
                                                  TD_COLUMN_RETIRE_LATENCY};

    if (td_plan_no_latency(caps, event))
        return;
    event->sample_type |= PERF_SAMPLE_WEIGHT_STRUCT;
    for (size_t i = 0; i < TD_ARRAY_SIZE(weights); i++)
        add_column(group, weights[i]);
    if (!tells_source(caps, event))
        return;
    event->sample_type |= PERF_SAMPLE_DATA_SRC;
    add_column(group, TD_COLUMN_DATA_SOURCE);
}

/* Why the core that counts the event has no retire latency; NULL: it has. */
static const char *no_retire_latency(const struct td_caps *caps, const struct td_plan_event *event)
{
    static const char none[] = "this core has none: Meteor Lake, Granite Rapids, Lunar Lake and "
                               "later Intel cores have (-W takes what latencies there are)";
    const struct td_pmu *pmu = core_pmu_of(caps, event);
    struct td_pmu_choice choice = {.core = NULL};
    bool timed = false;

    if (!is_vendor(caps, "GenuineIntel"))
        return none;
    if (td_plan_no_latency(caps, event))
        return td_plan_no_latency(caps, event);
    if (pmu && td_pmu_choose(&choice, caps, pmu, NULL) == TD_OK)
        timed = choice.core->retire_latency;
    td_pmu_choice_release(&choice);
    if (!timed)
        return none;
    return td_caps_kernel_at_least(caps, 6, 3) ? NULL : "Linux before 6.3 does not tell it";
}

int td_plan_check_retire(const struct td_caps *caps, const struct td_plan_event *event,
                         struct td_err *err)
{
    const char *why = no_retire_latency(caps, event);

    return why ? td_fail(err, TD_EUNSUPPORTED, "%s:R asks for the retire latency, and %s",
                         event->name, why)
               : TD_OK;
}

static bool tells(const struct td_plan_group *group)
{
    if (group->detail != TD_DETAIL_NONE)
        return true;
    return group->sampler < group->event_count &&
           group->events[group->sampler].sample_type & PERF_SAMPLE_WEIGHT_STRUCT;
}

int td_plan_check_latency(const struct td_plan *plan, bool named, const struct td_caps *caps,
                          struct td_err *err)
{
    const struct td_plan_event *first = NULL;

    for (size_t i = 0; i < plan->group_count; i++) {
        const struct td_plan_group *group = &plan->groups[i];

        if (tells(group))
            return TD_OK;
        if (!first && group->sampler < group->event_count)
            first = &group->events[group->sampler];
    }
    if (td_source_is_modelled(plan->source) || !named || !first)
        return td_fail(err, TD_EUNSUPPORTED,
                       "-W is for precise samples of hardware events (Intel's PEBS, AMD's IBS), "
                       "and the source is %s (tdrec --doctor says what there is)",
                       td_source_name(plan->source));
    const char *why = td_plan_no_latency(caps, first);
    return td_fail(err, TD_EUNSUPPORTED, "-W: %s tells no latency: %s", first->name,
                   why ? why : "it is read with the samples of another event");
}
