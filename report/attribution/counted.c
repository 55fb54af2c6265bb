/* SPDX-License-Identifier: MIT */
#include "report/attribution/counted.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/attribution/given.h"

#define STEP 1e-3 /* of a count, for its slope */

static const struct td_group *group_of(const struct td_counted *c)
{
    return td_model_group(c->model, c->group);
}

static void release_core(struct td_counted *c)
{
    td_pmu_core_free(c->core);
    td_uarch_free(c->uarch);
    c->core = NULL;
    c->uarch = NULL;
}

static bool read_core(struct td_counted *c, const char *text, size_t size)
{
    if (td_uarch_parse(&c->uarch, text, size, NULL) != TD_OK)
        return false;
    if (td_pmu_core_read(&c->core, c->uarch, NULL) == TD_OK)
        return true;
    release_core(c);
    return false;
}

/* perf calls them "topdown-retiring", "cpu_core/slots/", "cycles:u"; descriptions, with '_'. */
static bool same_name(const char *recorded, const char *described)
{
    const char *slash = strchr(recorded, '/');
    const char *at = slash && slash[1] ? slash + 1 : recorded;

    for (; *described; at++, described++) {
        if (*at != *described && !(*at == '-' && *described == '_'))
            return false;
    }
    return *at == '\0' || *at == '/' || *at == ':';
}

static int event_of_unit(const struct td_pmu_core *core, enum td_unit unit)
{
    if (unit == TD_UNIT_CYCLES)
        return td_pmu_core_event(core, "cycles");
    return unit == TD_UNIT_INSTRUCTIONS ? td_pmu_core_event(core, "inst_retired") : -1;
}

static int find_event(const struct td_pmu_core *core, const char *name,
                      const struct td_event *event)
{
    for (size_t i = 0; i < core->event_count; i++) {
        if (same_name(name, core->events[i].name))
            return (int)i;
    }
    for (size_t i = 0; i < core->event_count && event->config[0]; i++) {
        if (core->events[i].config == event->config[0] &&
            core->events[i].config1 == event->config[1])
            return (int)i;
    }
    return event_of_unit(core, event->unit);
}

static void counts_of(const struct td_counted *c, const double *columns, double *counts)
{
    for (size_t i = 0; i < c->core->event_count; i++)
        counts[i] = c->zero & td_pmu_event_bit(i) ? 0 : NAN;
    td_pmu_core_give(c->core, &c->given, counts);
    for (uint32_t i = 0; i < group_of(c)->column_count; i++) {
        if (c->event[i] >= 0)
            counts[c->event[i]] = columns[i];
    }
}

void td_counted_tree(const struct td_counted *c, const double *columns, struct td_pmu_tree *tree)
{
    double *counts = td_xcalloc(c->core->event_count + 1, sizeof(*counts));

    counts_of(c, columns, counts);
    td_pmu_core_tree(c->core, counts, c->width, tree);
    free(counts);
}

/* Every column 1000: what can be computed at all. */
static bool gives_tree(const struct td_counted *c)
{
    double ones[TD_COLUMNS_MAX];
    struct td_pmu_tree tree;

    for (size_t i = 0; i < TD_COLUMNS_MAX; i++)
        ones[i] = 1000;
    td_counted_tree(c, ones, &tree);
    return tree.slots > 0 && !isnan(tree.share[TD_NODE_RETIRING]) &&
           !isnan(tree.share[TD_NODE_FRONTEND_BOUND]) && !isnan(tree.share[TD_NODE_BACKEND_BOUND]);
}

static bool is_counted(const struct td_counted *c, size_t event)
{
    for (uint32_t k = 0; k < group_of(c)->column_count; k++) {
        if (c->event[k] == (int)event)
            return true;
    }
    return false;
}

/* Events that correct a formula may not have been counted, as in groups that people write
 * themselves; perf's own formulas do without them too. Those that were needed are named. */
static bool explains_without(struct td_counted *c)
{
    size_t used = 0;

    for (size_t i = 0; i < c->core->event_count; i++) {
        if (!c->core->events[i].metric && !c->core->events[i].given && !is_counted(c, i))
            c->zero |= td_pmu_event_bit(i);
    }
    if (!gives_tree(c))
        return false;
    for (size_t i = 0; i < c->core->event_count; i++) {
        const td_pmu_event_set bit = td_pmu_event_bit(i);

        if (!(c->zero & bit))
            continue;
        c->zero &= ~bit;
        if (gives_tree(c) || used >= sizeof(c->missing))
            continue;
        c->zero |= bit;
        used += (size_t)snprintf(c->missing + used, sizeof(c->missing) - used, "%s%s",
                                 used ? ", " : "", c->core->events[i].name);
    }
    return true;
}

bool td_counted_columns(struct td_counted *c, uint32_t of)
{
    const struct td_group *group = td_model_group(c->model, of);
    bool any = false;

    c->group = of;
    for (uint32_t i = 0; i < group->column_count; i++) {
        c->event[i] = -1;
        if (group->columns[i].event == TD_NONE || group->columns[i].kind != TD_COLUMN_DELTA)
            continue;
        const struct td_event *event = td_model_event(c->model, group->columns[i].event);

        c->event[i] = find_event(c->core, td_model_string(c->model, event->name), event);
        any = any || c->event[i] >= 0;
    }
    return any;
}

static bool explains(struct td_counted *c, bool tree)
{
    c->zero = 0;
    c->missing[0] = '\0';
    return td_counted_columns(c, c->group) && (!tree || gives_tree(c) || explains_without(c));
}

/* The core that the profile names; of "a,b" on hybrid machines the one of this group's PMU. */
static bool by_name(struct td_counted *c, const char *cpu_type, bool tree)
{
    const char *names = td_model_env(c->model, TD_ENV_CORE);

    while (names && *names) {
        char name[64];
        const size_t len = strcspn(names, ",");

        snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : 0), names);
        names += len + (names[len] == ',');
        const struct td_uarch_builtin *builtin = td_uarch_builtin(name);
        if (!builtin || !read_core(c, builtin->text, builtin->size))
            continue;
        const bool ours = !c->core->pmu || !*cpu_type || strcmp(c->core->pmu, cpu_type) == 0;
        if (ours && explains(c, tree))
            return true;
        release_core(c);
    }
    return false;
}

/* The text that the recorder left, for a core that this tdreport does not know. */
static bool by_text(struct td_counted *c, const char *cpu_type, bool tree)
{
    const char *text = NULL;

    for (size_t i = 0; (text = td_model_env_at(c->model, TD_ENV_CORE_TEXT, i)); i++) {
        if (!read_core(c, text, strlen(text)))
            continue;
        if ((!c->core->pmu || !*cpu_type || strcmp(c->core->pmu, cpu_type) == 0) &&
            explains(c, tree))
            return true;
        release_core(c);
    }
    return false;
}

/* The best of those that fit the CPU. */
static bool by_cpu(struct td_counted *c, const char *cpu_type)
{
    const char *id = td_model_env(c->model, TD_ENV_CPU_ID);
    struct td_pmu_cpu cpu = td_pmu_cpu_of(id ? id : "");
    struct td_counted best = {.core = NULL};
    int best_fit = 0;

    for (size_t i = 0; td_uarch_builtin_at(i); i++) {
        const struct td_uarch_builtin *builtin = td_uarch_builtin_at(i);

        if (!read_core(c, builtin->text, builtin->size))
            continue;
        cpu.smt = c->core->smt == 1;
        const int fit = td_pmu_core_fits(c->core, &cpu, *cpu_type ? cpu_type : "cpu");
        if (fit > best_fit && explains(c, true)) {
            release_core(&best);
            best = *c;
            best_fit = fit;
            c->core = NULL;
            c->uarch = NULL;
        }
        release_core(c);
    }
    if (best.core)
        *c = best;
    return best.core != NULL;
}

/* Arm's slots a cycle, which the kernel said when it was recorded. */
static uint32_t recorded_width(const struct td_model *model)
{
    const char *text = NULL;
    uint64_t width = 0;

    for (size_t i = 0; (text = td_model_env_at(model, TD_ENV_PARAMETER, i)); i++) {
        if (strncmp(text, "slot_width=", 11) == 0 && td_parse_u64(text + 11, &width) && width < 100)
            return (uint32_t)width;
    }
    return 0;
}

static void begin(struct td_counted *c, const struct td_model *model, uint32_t group)
{
    const char *id = td_model_env(model, TD_ENV_CPU_ID);

    *c = (struct td_counted){.model = model, .group = group, .width = recorded_width(model)};
    c->given.model = td_pmu_cpu_of(id ? id : "").model;
    c->given.ghz = td_given_clock(model, &c->clock_counted);
}

static int finish(struct td_counted *c)
{
    c->latencies = td_given_latencies(c->core, c->model);
    c->given.latencies = c->latencies;
    return TD_OK;
}

int td_counted_init(struct td_counted *ret, const struct td_model *model, uint32_t group,
                    struct td_err *err)
{
    begin(ret, model, group);
    const char *cpu_type = td_model_string(model, group_of(ret)->cpu_type);

    if (by_name(ret, cpu_type, true) || by_text(ret, cpu_type, true) || by_cpu(ret, cpu_type))
        return finish(ret);
    const char *core = td_model_env(model, TD_ENV_CORE);
    const char *id = td_model_env(model, TD_ENV_CPU_ID);
    return td_fail(err, TD_ENODATA, "no description of the core explains the counts (%s)",
                   core && *core ? core
                   : id && *id   ? id
                                 : "the CPU is not known");
}

int td_counted_init_rates(struct td_counted *ret, const struct td_model *model, uint32_t group)
{
    begin(ret, model, group);
    const char *cpu_type = td_model_string(model, group_of(ret)->cpu_type);

    if (by_name(ret, cpu_type, false) || by_text(ret, cpu_type, false))
        return finish(ret);
    return TD_ENODATA;
}

void td_counted_release(struct td_counted *counted)
{
    release_core(counted);
    free(counted->latencies);
    counted->latencies = NULL;
}

static void slots_of(const struct td_counted *c, const double *columns,
                     double slots[TD_NODE_COUNT + 1])
{
    struct td_pmu_tree tree;

    td_counted_tree(c, columns, &tree);
    for (int n = 0; n < TD_NODE_COUNT; n++)
        slots[n] = tree.share[n] * tree.slots;
    slots[TD_NODE_COUNT] = tree.slots;
}

void td_counted_slopes(const struct td_counted *c, const double *columns,
                       double slopes[TD_NODE_COUNT + 1][TD_COLUMNS_MAX])
{
    const uint32_t count = group_of(c)->column_count;
    double moved[TD_COLUMNS_MAX], up[TD_NODE_COUNT + 1], down[TD_NODE_COUNT + 1];

    memcpy(moved, columns, count * sizeof(*columns));
    for (uint32_t i = 0; i < count; i++) {
        const double step = columns[i] * STEP;

        for (int n = 0; n <= TD_NODE_COUNT; n++)
            slopes[n][i] = 0;
        if (c->event[i] < 0 || step <= 0)
            continue;
        moved[i] = columns[i] + step;
        slots_of(c, moved, up);
        moved[i] = columns[i] - step;
        slots_of(c, moved, down);
        moved[i] = columns[i];
        for (int n = 0; n <= TD_NODE_COUNT; n++)
            slopes[n][i] = (up[n] - down[n]) / (2 * step);
    }
}
