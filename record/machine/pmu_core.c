/* SPDX-License-Identifier: MIT */
#include "record/machine/pmu_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define METRICS_MAX 8

static struct td_pmu_cpu identify(const struct td_caps *caps)
{
    struct td_pmu_cpu cpu = td_pmu_cpu_of(caps->cpu_id);

    cpu.smt = caps->smt;
    return cpu;
}

bool td_pmu_counts_slots(const struct td_pmu_core *core)
{
    for (size_t i = 0; i < core->group_count; i++) {
        if (core->groups[i].level > 0)
            return true;
    }
    return false;
}

static bool countable(const struct td_pmu_core *core, const struct td_pmu *pmu)
{
    if (core->needs_slots_event && !pmu->slots)
        return false;
    if (pmu->no_slots && td_pmu_counts_slots(core))
        return false;
    return !core->needs_slot_width || pmu->slot_width > 0;
}

/* Whether a line of the text begins with this vendor, or with any: reading the others, which cannot
 * fit, is most of the work. */
static bool may_match(const struct td_uarch_builtin *builtin, enum td_pmu_vendor vendor)
{
    static const char *const lines[] = {
        [TD_VENDOR_INTEL] = "\nintel ",
        [TD_VENDOR_AMD] = "\namd ",
        [TD_VENDOR_ARM] = "\narm ",
        [TD_VENDOR_ANY] = "\nany ",
    };

    return memmem(builtin->text, builtin->size, lines[vendor], strlen(lines[vendor])) ||
           memmem(builtin->text, builtin->size, lines[TD_VENDOR_ANY], strlen(lines[TD_VENDOR_ANY]));
}

/* Reads the i-th description; false when it is for others or has nothing to count with. */
static bool read_builtin(struct td_pmu_choice *ret, size_t i, enum td_pmu_vendor vendor)
{
    const struct td_uarch_builtin *builtin = td_uarch_builtin_at(i);

    *ret = (struct td_pmu_choice){0};
    if (!may_match(builtin, vendor))
        return false;
    if (td_uarch_parse(&ret->uarch, builtin->text, builtin->size, NULL) != TD_OK)
        return false;
    if (td_pmu_core_read(&ret->core, ret->uarch, NULL) == TD_OK)
        return true;
    td_pmu_choice_release(ret);
    return false;
}

#define BY_MODEL (3 * 2) /* a fit of a description that names this CPU */

/* Of two that fit equally, the one that counts slots of a width that the kernel tells says more. */
static int fit_of(const struct td_pmu_core *core, const struct td_pmu_cpu *cpu, const char *pmu)
{
    const int fit = td_pmu_core_fits(core, cpu, pmu);

    return fit > 0 ? 2 * fit + (core->needs_slot_width ? 1 : 0) : 0;
}

int td_pmu_choose(struct td_pmu_choice *ret, const struct td_caps *caps, const struct td_pmu *pmu,
                  struct td_err *err)
{
    const struct td_pmu_cpu cpu = identify(caps);
    struct td_pmu_choice best = {0};
    char refused[64] = "";
    int best_fit = 0, refused_fit = 0;

    for (size_t i = 0; td_uarch_builtin_at(i); i++) {
        struct td_pmu_choice one;

        if (!read_builtin(&one, i, cpu.vendor))
            continue;
        const int fit = fit_of(one.core, &cpu, pmu->name);
        if (fit > refused_fit && !countable(one.core, pmu)) {
            refused_fit = fit;
            snprintf(refused, sizeof(refused), "%s", one.core->name);
        }
        if (fit > best_fit && countable(one.core, pmu)) {
            td_pmu_choice_release(&best);
            best = one;
            best_fit = fit;
        } else {
            td_pmu_choice_release(&one);
        }
    }
    if (!best.core)
        return td_fail(err, TD_ENODATA, "no core description is for CPU %s (PMU %s)", caps->cpu_id,
                       pmu->name);
    if (refused_fit / 2 > best_fit / 2 && pmu->no_slots)
        snprintf(best.why, sizeof(best.why), "PMU %s: %s", pmu->name, pmu->fault);
    else if (refused_fit / 2 > best_fit / 2)
        snprintf(best.why, sizeof(best.why),
                 "%s needs the kernel's slots event, and PMU %s has none (a virtual machine "
                 "without perf metrics?)",
                 refused, pmu->name);
    else if (best_fit < BY_MODEL)
        snprintf(best.why, sizeof(best.why), "there is no description of CPU %s", caps->cpu_id);
    *ret = best;
    return TD_OK;
}

void td_pmu_choice_release(struct td_pmu_choice *choice)
{
    td_pmu_core_free(choice->core);
    td_uarch_free(choice->uarch);
    choice->core = NULL;
    choice->uarch = NULL;
}

static void take_last_general(struct td_pmu_counters *counters)
{
    if (counters->general)
        counters->general &= ~(1u << (31 - __builtin_clz(counters->general)));
}

struct td_pmu_counters td_pmu_counters_free(const struct td_pmu_core *core,
                                            const struct td_caps *caps, const struct td_pmu *pmu)
{
    const uint32_t count = caps->smt ? core->counters_smt : core->counters;
    struct td_pmu_counters counters = {
        .fixed = core->fixed,
        .general = count >= 32 ? UINT32_MAX : (1u << count) - 1,
        .metrics = METRICS_MAX,
    };

    if (caps->nmi_watchdog && core->watchdog >= 0)
        counters.fixed &= ~(1u << core->watchdog);
    /* Which general counter it holds is the kernel's choice: the last leaves the constrained ones,
     * which are low, free. */
    if (caps->nmi_watchdog && core->watchdog < 0)
        take_last_general(&counters);
    for (uint32_t i = 0; i < pmu->idle_counters; i++)
        take_last_general(&counters);
    return counters;
}

/* Events are few: the next one tries each counter that it may use. */
static bool place(struct td_pmu_counters *counters, const struct td_pmu_core *core,
                  const uint32_t *events, size_t count)
{
    if (count == 0)
        return true;
    const struct td_pmu_event *e = &core->events[events[0]];
    const struct td_pmu_counters before = *counters;
    if (e->metric) {
        if (counters->metrics == 0)
            return false;
        counters->metrics--;
        if (place(counters, core, events + 1, count - 1))
            return true;
        *counters = before;
        return false;
    }
    if (e->fixed >= 0 && counters->fixed & 1u << e->fixed) {
        counters->fixed &= ~(1u << e->fixed);
        if (place(counters, core, events + 1, count - 1))
            return true;
        *counters = before;
    }
    /* slots counts on its fixed counter only. */
    if (strcmp(e->name, "slots") == 0)
        return false;
    /* From the highest: the low ones are those that constrained events need. */
    for (uint32_t usable = counters->general & e->counters; usable;) {
        const uint32_t highest = 1u << (31 - __builtin_clz(usable));

        usable &= ~highest;
        counters->general &= ~highest;
        if (place(counters, core, events + 1, count - 1))
            return true;
        *counters = before;
    }
    return false;
}

/* IA32_PERFEVTSEL.ANY, bit 21: counts both threads of a core (Intel before Ice Lake). */
#define CONFIG_ANY (UINT64_C(1) << 21)

const char *td_pmu_group_any(const struct td_pmu_core *core, const struct td_pmu_group *group)
{
    for (uint32_t i = 0; i < group->count && core->matches[0].vendor == TD_VENDOR_INTEL; i++) {
        const struct td_pmu_event *event = &core->events[group->events[i]];

        if (event->config & CONFIG_ANY)
            return event->name;
    }
    return NULL;
}

const char *td_pmu_group_pair(const struct td_pmu_core *core, const struct td_pmu_group *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        if (core->events[group->events[i]].pair)
            return core->events[group->events[i]].name;
    }
    return NULL;
}

/* The most constrained first, so that place() seldom has to go back. */
static int by_freedom(const void *a, const void *b, void *ctx)
{
    const struct td_pmu_core *core = ctx;
    const struct td_pmu_event *x = &core->events[*(const uint32_t *)a];
    const struct td_pmu_event *y = &core->events[*(const uint32_t *)b];

    return (int)(x->fixed < 0) * 64 + __builtin_popcount(x->counters) -
           ((int)(y->fixed < 0) * 64 + __builtin_popcount(y->counters));
}

/* Events that are `alone` share one register: beside each other only with the same value in it. */
static bool take_register(struct td_pmu_counters *left, const struct td_pmu_event *event)
{
    if (!event->alone)
        return true;
    if (left->alone)
        return left->value == event->config1;
    left->alone = true;
    left->value = event->config1;
    return true;
}

bool td_pmu_counters_take(struct td_pmu_counters *counters, const struct td_pmu_core *core,
                          const uint32_t *events, size_t count)
{
    uint32_t sorted[2 * TD_PMU_GROUP_EVENTS_MAX];
    struct td_pmu_counters left = *counters;
    const size_t given = count;

    if (count > TD_PMU_GROUP_EVENTS_MAX)
        return false;
    memcpy(sorted, events, count * sizeof(*sorted));
    for (size_t i = 0; i < given; i++) {
        if (!take_register(&left, &core->events[events[i]]))
            return false;
        if (core->events[events[i]].pair)
            sorted[count++] = events[i];
    }
    qsort_r(sorted, count, sizeof(*sorted), by_freedom, (void *)(uintptr_t)core);
    if (!place(&left, core, sorted, count))
        return false;
    *counters = left;
    return true;
}
