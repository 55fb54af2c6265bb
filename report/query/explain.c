/* SPDX-License-Identifier: MIT */
#include "report/query/explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/procfs.h"
#include "report/query/figures/tree.h"

#define PMU_FOLDER "/sys/bus/event_source/devices"

static void release(struct td_explained_core *core)
{
    td_pmu_core_free(core->core);
    td_uarch_free(core->uarch);
    *core = (struct td_explained_core){.core = NULL};
}

void td_explained_release(struct td_explained_cores *cores)
{
    for (size_t i = 0; i < cores->len; i++)
        release(&cores->at[i]);
    cores->len = 0;
}

/* False when the description has nothing to count with. */
static bool read_core(struct td_explained_core *ret, const struct td_uarch_builtin *builtin)
{
    *ret = (struct td_explained_core){.core = NULL};
    if (td_uarch_parse(&ret->uarch, builtin->text, builtin->size, NULL) == TD_OK &&
        td_pmu_core_read(&ret->core, ret->uarch, NULL) == TD_OK)
        return true;
    release(ret);
    return false;
}

static int refuse(const char *name, struct td_err *err)
{
    const struct td_uarch_builtin *builtin = NULL;
    char names[640];
    size_t used = 0;

    names[0] = '\0';
    for (size_t i = 0; (builtin = td_uarch_builtin_at(i)) && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                                 builtin->name);
    return td_fail(err, TD_EUSAGE, "no core '%s'; there are %s", name, names);
}

/* The name of the core whose counters stand for a modelled one; NULL: there is none. */
static const struct td_uarch_builtin *counted_as(const struct td_uarch_builtin *builtin, char *name,
                                                 size_t size)
{
    struct td_uarch *uarch = NULL;
    const struct td_uarch_line *line = NULL;

    name[0] = '\0';
    if (td_uarch_parse(&uarch, builtin->text, builtin->size, NULL) != TD_OK)
        return NULL;
    const struct td_uarch_section *section = td_uarch_section(uarch, "core");
    line = section ? td_uarch_find(section, "counted_as") : NULL;
    if (line && line->word_count > 1)
        snprintf(name, size, "%s", line->words[1]);
    td_uarch_free(uarch);
    return name[0] ? td_uarch_builtin(name) : NULL;
}

int td_explained_named(struct td_explained_cores *ret, const char *name, struct td_err *err)
{
    const struct td_uarch_builtin *builtin = td_uarch_builtin(name);
    char as[64];

    *ret = (struct td_explained_cores){.len = 0};
    if (!builtin)
        return refuse(name, err);
    if (read_core(&ret->at[0], builtin)) {
        ret->len = 1;
        return TD_OK;
    }
    const struct td_uarch_builtin *counted = counted_as(builtin, as, sizeof(as));
    if (!counted || !read_core(&ret->at[0], counted))
        return td_fail(err, TD_ENODATA, "the core '%s' is modelled only: it has no counters", name);
    ret->at[0].modelled = builtin->name;
    ret->len = 1;
    return TD_OK;
}

/* The description that fits the PMU best. */
static void add_here(struct td_explained_cores *ret, struct td_pmu_cpu cpu, const char *pmu)
{
    struct td_explained_core best = {.core = NULL}, one;
    int best_fit = 0;

    for (size_t i = 0; td_uarch_builtin_at(i); i++) {
        if (!read_core(&one, td_uarch_builtin_at(i)))
            continue;
        cpu.smt = one.core->smt == 1;
        const int fit = td_pmu_core_fits(one.core, &cpu, pmu);
        if (fit > best_fit) {
            release(&best);
            best = one;
            best_fit = fit;
        } else {
            release(&one);
        }
    }
    if (best.core)
        ret->at[ret->len++] = best;
}

void td_explained_here(struct td_explained_cores *ret, const char *root)
{
    char *cpuinfo = td_procfs_text(root, "/proc/cpuinfo");
    char *id = td_procfs_cpu_id(root, cpuinfo ? cpuinfo : "");
    char **pmus = td_procfs_names(root, PMU_FOLDER);
    const struct td_pmu_cpu cpu = td_pmu_cpu_of(id ? id : "");

    *ret = (struct td_explained_cores){.len = 0};
    for (size_t i = 0; id && pmus && pmus[i] && ret->len < TD_EXPLAINED_CORES_MAX; i++) {
        if (strncmp(pmus[i], "cpu_", 4) == 0)
            add_here(ret, cpu, pmus[i]);
    }
    if (id && ret->len == 0)
        add_here(ret, cpu, "cpu");
    td_procfs_names_free(pmus);
    free(id);
    free(cpuinfo);
}

/* The formula as the description has it. */
static char *formula_text(const struct td_uarch *uarch, const char *name)
{
    const struct td_uarch_section *section = td_uarch_section(uarch, "pmu.formulas");
    const struct td_uarch_line *line = section ? td_uarch_find(section, name) : NULL;
    char *text = line ? td_xstrdup(line->words[0]) : NULL;

    for (uint32_t i = 1; line && i < line->word_count; i++) {
        char *more = td_xasprintf("%s %s", text, line->words[i]);

        free(text);
        text = more;
    }
    return text;
}

/* The first run that counts the event; 0: none does. */
static uint32_t run_of_event(const struct td_pmu_core *core, size_t event)
{
    uint32_t run = 0;

    for (size_t g = 0; g < core->group_count; g++) {
        const struct td_pmu_group *group = &core->groups[g];

        for (uint32_t i = 0; i < group->count; i++) {
            if (group->events[i] == event && (run == 0 || group->pass < run))
                run = group->pass;
        }
    }
    return run;
}

/* The run after which all of the events were counted. */
static uint32_t run_of(const struct td_pmu_core *core, td_pmu_event_set needed)
{
    uint32_t last = 0;

    for (size_t e = 0; e < core->event_count; e++) {
        const bool is_needed = needed >> e & 1;
        const uint32_t run = is_needed ? run_of_event(core, e) : 0;

        if (is_needed && run == 0)
            return 0;
        last = run > last ? run : last;
    }
    return last;
}

void td_node_counted_of(struct td_node_counted *ret, const struct td_explained_core *core,
                        enum td_tma_node node)
{
    const struct td_pmu_core *c = core->core;
    const td_pmu_event_set needed = td_pmu_core_node_events(c, node);

    *ret = (struct td_node_counted){
        .threshold = isnan(c->thresholds[node]) ? td_tree_threshold(node) : c->thresholds[node]};
    ret->events = td_xcalloc(c->event_count + 1, sizeof(*ret->events));
    if (needed)
        ret->formula = formula_text(core->uarch, td_tma_info(node)->id);
    for (size_t e = 0; ret->formula && e < c->event_count; e++) {
        if (needed >> e & 1)
            ret->events[ret->event_count++] = c->events[e].name;
    }
    if (ret->event_count > 0)
        ret->run = run_of(c, needed);
    for (size_t i = 0; i < c->locator_count && !ret->locator; i++) {
        if (c->locators[i].node == node)
            ret->locator = c->events[c->locators[i].event].name;
    }
}

void td_node_counted_release(struct td_node_counted *counted)
{
    free(counted->formula);
    free(counted->events);
}
