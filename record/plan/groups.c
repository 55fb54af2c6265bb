/* SPDX-License-Identifier: MIT */
#include "record/plan/groups.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define NAME_MAX_BYTES 64

/* The field's names for groups that descriptions divide or call otherwise. */
static const struct alias {
    const char *name;
    const char *groups; /* between blanks */
} aliases[] = {
    {"cache", " cache l1i l1d l2 l3 ll "},
    {"tlb", " tlb dtlb itlb l2tlb "},
    {"instructionmix", " mix "},
    {"operationmix", " mix "},
    {"peutilization", " utilization "},
    {"cycleaccounting", " cycles "},
    {"flops", " fp "},
    {"summary", " utilization branch "},
};

/* Lower case, without '_' and '-', and without what Arm puts behind its groups' names. */
static void plain(char ret[NAME_MAX_BYTES], const char *name)
{
    static const char *const endings[] = {"cacheeffectiveness", "effectiveness"};
    size_t len = 0;

    for (; *name && len + 1 < NAME_MAX_BYTES; name++) {
        if (*name != '_' && *name != '-')
            ret[len++] = (char)tolower((unsigned char)*name);
    }
    ret[len] = '\0';
    for (size_t i = 0; i < TD_ARRAY_SIZE(endings); i++) {
        const size_t ending = strlen(endings[i]);

        if (len > ending && strcmp(ret + len - ending, endings[i]) == 0)
            len -= ending;
        ret[len] = '\0';
    }
}

static bool same(const char *name, const char *wanted)
{
    char text[NAME_MAX_BYTES];

    plain(text, name);
    return strcmp(text, wanted) == 0;
}

static bool in_alias(const char *wanted, const char *group)
{
    char text[NAME_MAX_BYTES + 2];

    snprintf(text, sizeof(text), " %s ", group);
    for (size_t i = 0; i < TD_ARRAY_SIZE(aliases); i++) {
        if (strcmp(aliases[i].name, wanted) == 0 && strstr(aliases[i].groups, text))
            return true;
    }
    return false;
}

static bool is_meant(const struct td_pmu_metric *metric, const char *wanted)
{
    if (same(metric->group, wanted) || same(metric->name, wanted) ||
        in_alias(wanted, metric->group))
        return true;
    if (strcmp(wanted, "mpki") == 0)
        return strcmp(metric->unit, "per_1000_instructions") == 0;
    return strcmp(wanted, "missratio") == 0 && strstr(metric->name, "miss_ratio");
}

static td_pmu_event_set events_of_group(const struct td_pmu_group *group)
{
    td_pmu_event_set events = 0;

    for (uint32_t i = 0; i < group->count; i++)
        events |= td_pmu_event_bit(group->events[i]);
    return events;
}

/* Adds the groups that count these events: one that has all of them, else as many as it takes. */
static void add_counting(uint64_t *groups, const struct td_pmu_core *core, td_pmu_event_set events)
{
    for (size_t g = 0; g < core->group_count && g < 64; g++) {
        if ((events & ~events_of_group(&core->groups[g])) == 0) {
            *groups |= UINT64_C(1) << g;
            return;
        }
    }
    for (size_t g = 0; g < core->group_count && g < 64 && events; g++) {
        if (events & events_of_group(&core->groups[g]))
            *groups |= UINT64_C(1) << g;
        events &= ~events_of_group(&core->groups[g]);
    }
}

static uint64_t groups_of_level(const struct td_pmu_core *core, int level)
{
    uint64_t groups = 0;

    for (size_t g = 0; g < core->group_count && g < 64; g++) {
        if (core->groups[g].level > 0 && core->groups[g].level <= level)
            groups |= UINT64_C(1) << g;
    }
    return groups;
}

static uint64_t groups_of(const struct td_pmu_core *core, const char *name)
{
    char wanted[NAME_MAX_BYTES];
    uint64_t groups = 0;

    plain(wanted, name);
    for (int level = 1; level <= TD_TMA_LEVELS; level++) {
        char levels[NAME_MAX_BYTES];

        snprintf(levels, sizeof(levels), "topdownl%d", level);
        if (strcmp(wanted, levels) == 0)
            return groups_of_level(core, level);
    }
    for (size_t i = 0; i < core->metric_count; i++) {
        if (is_meant(&core->metrics[i], wanted))
            add_counting(&groups, core, td_pmu_core_metric_events(core, &core->metrics[i]));
    }
    for (size_t g = 0; g < core->group_count && g < 64 && !groups; g++) {
        if (same(core->groups[g].name, wanted))
            groups = UINT64_C(1) << g;
    }
    return groups;
}

/* "TopdownL1, branch, cache, ..." */
static void list_names(char *text, size_t size, const struct td_pmu_core *core)
{
    size_t used = 0;

    for (int level = 1; level <= TD_TMA_LEVELS; level++) {
        if (groups_of_level(core, level) != groups_of_level(core, level - 1) && used < size)
            used += (size_t)snprintf(text + used, size - used, "TopdownL%d, ", level);
    }
    for (size_t i = 0; i < core->metric_count; i++) {
        bool seen = false;

        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(core->metrics[k].group, core->metrics[i].group) == 0;
        if (!seen && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s, ", core->metrics[i].group);
    }
    if (used > 1 && used < size)
        text[used - 2] = '\0';
}

static int add_name(uint64_t *groups, const struct td_pmu_core *core, const char *name,
                    struct td_err *err)
{
    const uint64_t found = groups_of(core, name);
    char there[400] = "";

    *groups |= found;
    if (found)
        return TD_OK;
    list_names(there, sizeof(there), core);
    return td_fail(err, TD_EUSAGE,
                   "--groups %s: %s has no such group or metric; there is %s "
                   "(tdrec --list has all)",
                   name, core->title, there);
}

int td_plan_groups_of(uint64_t *ret, const struct td_pmu_core *core,
                      const struct td_opt_list *names, struct td_err *err)
{
    int rc = TD_OK;

    *ret = 0;
    for (size_t i = 0; i < names->len && rc == TD_OK; i++) {
        for (const char *at = names->items[i]; *at && rc == TD_OK;) {
            const size_t len = strcspn(at, ",");
            char name[NAME_MAX_BYTES];

            snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : sizeof(name)),
                     at);
            rc = add_name(ret, core, name, err);
            at += len + (at[len] == ',');
        }
    }
    if (rc == TD_OK && *ret == 0)
        return td_fail(err, TD_EUSAGE, "--groups: a name is missing (tdrec --list)");
    return rc;
}
