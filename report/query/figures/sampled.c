/* SPDX-License-Identifier: MIT */
#include "report/query/figures/sampled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

static const char *name_of(const struct td_model *model, const struct td_group *group)
{
    if (group->sampler == TD_NONE)
        return "";
    return td_model_string(model, td_model_event(model, group->sampler)->name);
}

/* Of the event of one core type ("cpu_core/cycles/P"): what all core types call it ("cycles:P").
 * False for the others. A configuration by number may be another event on another core. */
static bool all_types_name(const char *name, char *buf, size_t size)
{
    const char *const slash = strchr(name, '/');

    if (!slash || (strncmp(name, "cpu_", 4) != 0 && strncmp(name, "armv", 4) != 0) ||
        strchr(slash, '='))
        return false;
    const size_t len = strcspn(slash + 1, "/");
    const char *const end = slash + 1 + len;

    snprintf(buf, size, "%.*s%s%s", (int)len, slash + 1, end[0] && end[1] ? ":" : "",
             end[0] ? end + 1 : "");
    return len > 0;
}

bool td_sampled_has(const struct td_sampled_event *event, const struct td_model *model,
                    const struct td_group *group)
{
    const char *const name = name_of(model, group);
    char all[256];

    if (group->role != event->role)
        return false;
    if (event->is_sum)
        return all_types_name(name, all, sizeof(all)) && strcmp(all, event->name) == 0;
    return strcmp(name, event->name) == 0;
}

static struct td_sampled_event *put_event(struct td_sampled *s, size_t *cap,
                                          const struct td_sampled_event *event)
{
    for (size_t i = 0; i < s->len; i++) {
        if (s->at[i].role == event->role && s->at[i].is_sum == event->is_sum &&
            strcmp(s->at[i].name, event->name) == 0)
            return &s->at[i];
    }
    s->at = td_grow(s->at, cap, s->len + 1, sizeof(*s->at));
    s->at[s->len] = *event;
    s->at[s->len].name = td_xstrdup(event->name);
    s->at[s->len].sum = s->len;
    return &s->at[s->len++];
}

/* Adds the sum of each event that several core types have. */
static void add_sums(struct td_sampled *s, size_t *cap)
{
    const size_t count = s->len;

    for (size_t i = 0; i < count; i++) {
        char all[256], other[256];

        if (s->at[i].sum != i || !all_types_name(s->at[i].name, all, sizeof(all)))
            continue;
        for (size_t k = i + 1; k < count; k++) {
            if (s->at[k].role != s->at[i].role ||
                !all_types_name(s->at[k].name, other, sizeof(other)) || strcmp(all, other) != 0)
                continue;
            const struct td_sampled_event sum = {
                .name = all, .role = s->at[i].role, .is_sum = true, .unit = s->at[i].unit};
            const size_t index = (size_t)(put_event(s, cap, &sum) - s->at);

            if (s->at[i].sum == i)
                s->at[index].samples += s->at[i].samples;
            s->at[index].samples += s->at[k].samples;
            s->at[i].sum = index;
            s->at[k].sum = index;
        }
    }
}

void td_sampled_of(struct td_sampled *ret, const struct td_model *model)
{
    const uint32_t groups = td_model_group_count(model);
    uint64_t *samples = td_xcalloc((size_t)groups + 1, sizeof(*samples));
    size_t cap = 0;

    *ret = (struct td_sampled){0};
    for (size_t i = 0; i < td_model_tally_count(model); i++) {
        const struct td_tally *tally = td_model_tally(model, i);

        samples[tally->group] += tally->samples;
    }
    for (uint32_t g = 0; g < groups; g++) {
        const struct td_group *const group = td_model_group(model, g);

        if (group->role == TD_ROLE_REPLICATES || group->role == TD_ROLE_VARIANT)
            continue;
        char *name = td_xstrdup(name_of(model, group));
        const struct td_sampled_event event = {
            .name = name,
            .role = group->role,
            .unit = group->sampler == TD_NONE ? TD_UNIT_COUNT
                                              : td_model_event(model, group->sampler)->unit};

        put_event(ret, &cap, &event)->samples += samples[g];
        free(name);
    }
    add_sums(ret, &cap);
    free(samples);
}

void td_sampled_release(struct td_sampled *sampled)
{
    for (size_t i = 0; i < sampled->len; i++)
        free(sampled->at[i].name);
    free(sampled->at);
    *sampled = (struct td_sampled){0};
}

/* How well an event tells where the program spends itself. */
static int usefulness(const struct td_sampled_event *event)
{
    if (event->role == TD_ROLE_MODEL)
        return 3;
    /* A program that only waits takes no time to speak of. */
    if (event->samples == 0)
        return -2;
    if (event->role == TD_ROLE_TIME)
        return 2;
    if (strcmp(event->name, TD_OFF_CPU_EVENT) == 0)
        return -1;
    return event->unit == TD_UNIT_CYCLES;
}

/* Of equally many samples the first by name: the order of a file's groups has no meaning. */
static bool is_better(const struct td_sampled_event *a, const struct td_sampled_event *b)
{
    if (usefulness(a) != usefulness(b))
        return usefulness(a) > usefulness(b);
    if (a->samples != b->samples)
        return a->samples > b->samples;
    if (a->is_sum != b->is_sum)
        return a->is_sum;
    return strcmp(a->name, b->name) < 0;
}

uint32_t td_sampled_best(const struct td_sampled *sampled)
{
    uint32_t best = TD_NONE;

    for (uint32_t i = 0; i < sampled->len; i++) {
        if (best == TD_NONE || is_better(&sampled->at[i], &sampled->at[best]))
            best = i;
    }
    return best;
}

uint32_t td_sampled_by_name(const struct td_sampled *sampled, const char *name)
{
    uint32_t found = TD_NONE;
    unsigned count = 0;

    for (uint32_t i = 0; i < sampled->len; i++) {
        if (strcmp(sampled->at[i].name, name) == 0)
            return i;
    }
    for (uint32_t i = 0; i < sampled->len; i++) {
        const char *const own = sampled->at[i].name;
        const size_t len = strcspn(own, ":");

        if (own[len] && strlen(name) == len && strncmp(own, name, len) == 0) {
            found = i;
            count++;
        }
    }
    return count == 1 ? found : TD_NONE;
}

bool td_sampled_is_shown(const struct td_sampled *sampled, size_t i,
                         const struct td_measure *measure)
{
    const struct td_sampled_event *event = &sampled->at[i];

    if (measure->slots)
        return event->role != TD_ROLE_TIME && event->role != TD_ROLE_METRIC;
    if (!measure->event_name || event->role == TD_ROLE_MODEL)
        return false;
    return strcmp(event->name, measure->event_name) == 0 ||
           (measure->all_core_types &&
            strcmp(sampled->at[event->sum].name, measure->event_name) == 0);
}

static void list_name(FILE *out, struct td_map *seen, uint32_t string, const char *name)
{
    bool added = false;

    if (!name[0])
        return;
    td_map_put(seen, string, 0, 0, &added);
    if (added)
        fprintf(out, "%s'%s'", ftell(out) > 0 ? ", " : "", name);
}

int td_sampled_refuse(const struct td_sampled *sampled, const struct td_model *model,
                      const char *name, struct td_err *err)
{
    struct td_map seen = {.slots = NULL};
    char *text = NULL;
    size_t size = 0;
    FILE *out = td_xmemstream(&text, &size);

    for (size_t i = 0; i < sampled->len; i++) {
        if (sampled->at[i].is_sum)
            fprintf(out, "%s'%s'", ftell(out) > 0 ? ", " : "", sampled->at[i].name);
    }
    for (uint32_t g = 0; g < td_model_group_count(model); g++) {
        const struct td_group *const group = td_model_group(model, g);

        if (group->sampler != TD_NONE)
            list_name(out, &seen, td_model_event(model, group->sampler)->name,
                      name_of(model, group));
        for (uint32_t c = 0; c < group->column_count && group->sampler != TD_NONE; c++) {
            const uint32_t event = group->columns[c].event;

            if (group->columns[c].kind == TD_COLUMN_DELTA && event != TD_NONE)
                list_name(out, &seen, td_model_event(model, event)->name,
                          td_model_string(model, td_model_event(model, event)->name));
        }
    }
    fclose(out);
    const bool waits = strcmp(name, TD_OFF_CPU_EVENT) == 0;
    const int rc =
        waits ? td_fail(err, TD_EUSAGE,
                        "--off-cpu: this profile has no waits (tdrec --off-cpu records them)")
        : size > 0
            ? td_fail(err, TD_EUSAGE, "--event %s: there are no samples of it; there are of %s",
                      name, text)
            : td_fail(err, TD_EUSAGE,
                      "--event %s: this profile has no sampled events: all is modelled", name);
    free(text);
    td_map_release(&seen);
    return rc;
}
