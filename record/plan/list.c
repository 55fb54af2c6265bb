/* SPDX-License-Identifier: MIT */
#include "record/plan/list.h"

#include <inttypes.h>
#include <string.h>

#include "record/machine/pmu_core.h"

static void list_nodes(const struct td_uarch *uarch, FILE *out)
{
    const struct td_uarch_section *section = td_uarch_section(uarch, "pmu.formulas");

    fprintf(out, "\nTop-down tree (-M TopdownL1 to TopdownL%d)\n", TD_TMA_LEVELS);
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const struct td_tma_info *info = td_tma_info((enum td_tma_node)n);

        for (size_t i = 0; section && i < section->line_count; i++) {
            if (strcmp(section->lines[i].words[0], info->id) == 0)
                fprintf(out, "  %-21s level %d  %s\n", info->id, info->level, info->meaning);
        }
    }
}

/* "per_1000_instructions" in words. */
static void print_unit(const char *unit, FILE *out)
{
    for (; *unit; unit++)
        fputc(*unit == '_' ? ' ' : *unit, out);
}

static void list_metrics(const struct td_uarch *uarch, FILE *out)
{
    const struct td_uarch_section *section = td_uarch_section(uarch, "pmu.metrics");

    fputs("\nMetrics (-M GROUP or -M METRIC)\n", out);
    for (size_t i = 0; section && i < section->line_count; i++) {
        const struct td_uarch_line *line = &section->lines[i];

        fprintf(out, "  %-12s %-22s ", line->words[0], line->words[1]);
        print_unit(line->words[2], out);
        for (uint32_t w = 3; w < line->word_count; w++)
            fprintf(out, " %s", line->words[w]);
        fputc('\n', out);
    }
}

static void list_groups(const struct td_pmu_core *core, FILE *out)
{
    fputs("\nGroups of events, counted together (-M GROUP)\n", out);
    for (size_t g = 0; g < core->group_count; g++) {
        const struct td_pmu_group *group = &core->groups[g];

        fprintf(out, "  %-12s", group->name);
        for (uint32_t i = 0; i < group->count; i++)
            fprintf(out, " %s", core->events[group->events[i]].name);
        fputc('\n', out);
    }
}

static void list_events(const struct td_pmu_core *core, FILE *out)
{
    fputs("\nEvents (config and config1 of perf_event_attr)\n", out);
    for (size_t i = 0; i < core->event_count; i++) {
        const struct td_pmu_event *event = &core->events[i];

        if (event->given)
            continue;
        fprintf(out, "  %-24s config 0x%" PRIx64, event->name, event->config);
        if (event->config1)
            fprintf(out, " config1 0x%" PRIx64, event->config1);
        fprintf(out, "%s\n", event->precise ? "  precise" : "");
    }
}

int td_plan_list(const struct td_caps *caps, FILE *out, struct td_err *err)
{
    bool any = false;

    for (size_t i = 0; i < caps->pmu_count; i++) {
        const struct td_pmu *pmu = &caps->pmus[i];
        struct td_pmu_choice choice = {0};

        if (!pmu->core || td_pmu_choose(&choice, caps, pmu, err) < 0)
            continue;
        fprintf(out, "%sPMU %s: %s (%s)\n", any ? "\n" : "", pmu->name, choice.core->title,
                choice.core->name);
        if (choice.why[0])
            fprintf(out, "%s\n", choice.why);
        list_nodes(choice.uarch, out);
        list_metrics(choice.uarch, out);
        list_groups(choice.core, out);
        list_events(choice.core, out);
        td_pmu_choice_release(&choice);
        any = true;
    }
    if (any)
        return TD_OK;
    return td_fail(err, TD_EUNSUPPORTED,
                   "this machine has no core PMU: nothing can be counted by name (software events: "
                   "task-clock, page-faults, context-switches, cpu-migrations)");
}
