/* SPDX-License-Identifier: MIT */
/*
 * Prints what a file holds in lines that are easy to compare with another tool's: one for each
 * event, (event, module) and sample. For tests of importers and conversions.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/load.h"
#include "symbolize/stack_copies.h"

/* The column that says what a sample of the event stands for: its own growth when the sample read
 * it, as perf shows it, and its period otherwise. */
static uint64_t stands_for(const struct td_group *group, const uint64_t *values, uint32_t event)
{
    uint64_t period = 0;

    for (uint32_t c = 0; c < group->column_count; c++) {
        if (group->columns[c].event != event)
            continue;
        if (group->columns[c].kind == TD_COLUMN_DELTA)
            return values[c];
        if (group->columns[c].kind == TD_COLUMN_PERIOD)
            period = values[c];
    }
    return period;
}

static bool is_member(const struct td_group *group, uint32_t event)
{
    for (uint32_t c = 0; c < group->column_count; c++) {
        if (group->columns[c].event == event)
            return true;
    }
    return false;
}

static void print_place(const struct td_model *model, uint32_t node)
{
    const struct td_location *const location =
        td_model_location(model, td_model_node(model, node)->location);
    const struct td_module *const module = td_model_module(model, location->module);

    printf("%s+0x%" PRIx64, td_model_string(model, module->path), location->offset + module->base);
}

static void print_stack(const struct td_model *model, uint32_t node)
{
    for (; node != 0; node = td_model_node(model, node)->parent) {
        printf(" ");
        print_place(model, node);
    }
}

static void print_samples(const struct td_model *model, bool stacks)
{
    for (size_t i = 0; i < td_model_sample_count(model); i++) {
        const struct td_sample *const sample = td_model_sample(model, i);
        const struct td_group *const group = td_model_group(model, sample->group);
        const struct td_thread *const thread = td_model_thread(model, sample->thread);
        const uint64_t *const values = td_model_sample_values(model, sample);

        for (uint32_t e = 0; e < td_model_event_count(model); e++) {
            const uint64_t period = stands_for(group, values, e);

            if (!is_member(group, e) || period == 0)
                continue;
            printf("sample\t%s\t%" PRId32 "\t%" PRId32 "\t%" PRIu64 "\t%s\t%" PRIu64 "\t",
                   td_model_string(model, thread->name), td_task_id(thread->pid),
                   td_task_id(thread->tid), sample->time_ns,
                   td_model_string(model, td_model_event(model, e)->name), period);
            if (stacks)
                print_stack(model, sample->node);
            else
                print_place(model, sample->node);
            printf("\n");
        }
    }
}

struct sum {
    uint64_t samples, period;
};

static void print_event(const struct td_model *model, uint32_t event, struct sum *modules)
{
    const char *const name = td_model_string(model, td_model_event(model, event)->name);
    struct sum all = {0};

    memset(modules, 0, td_model_module_count(model) * sizeof(*modules));
    for (size_t i = 0; i < td_model_tally_count(model); i++) {
        const struct td_tally *const tally = td_model_tally(model, i);
        const struct td_group *const group = td_model_group(model, tally->group);
        const uint32_t location = td_model_node(model, tally->node)->location;
        struct sum *const module = &modules[td_model_location(model, location)->module];

        if (!is_member(group, event))
            continue;
        const uint64_t period = stands_for(
            group, td_model_tally_values(model, tally, (uint64_t[TD_COLUMNS_MAX]){0}), event);
        all.samples += tally->samples;
        all.period += period;
        module->samples += tally->samples;
        module->period += period;
    }
    printf("event\t%s\t%" PRIu64 "\t%" PRIu64 "\n", name, all.samples, all.period);
    for (uint32_t m = 0; m < td_model_module_count(model); m++) {
        if (modules[m].samples > 0)
            printf("module\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\n", name,
                   td_model_string(model, td_model_module(model, m)->path), modules[m].samples,
                   modules[m].period);
    }
}

static void print_model(const struct td_model *model)
{
    struct sum *const modules = td_xcalloc(td_model_module_count(model) + 1, sizeof(*modules));

    for (size_t i = 0; i < td_model_env_count(model); i++) {
        const char *key = NULL;
        const char *value = NULL;

        td_model_env_entry(model, i, &key, &value);
        printf("env\t%s\t%s\n", key, value);
    }
    for (int c = 0; c < TD_COUNTER_COUNT; c++) {
        const enum td_counter counter = (enum td_counter)c;

        printf("counter\t%s\t%" PRIu64 "\n", td_counter_name(counter),
               td_model_counter(model, counter));
    }
    for (uint32_t e = 0; e < td_model_event_count(model); e++)
        print_event(model, e, modules);
    free(modules);
}

int main(int argc, char **argv)
{
    /* Unwound as tdreport does it; else as far as the file's own chains go. */
    const bool unwound = argc > 2 && strcmp(argv[1], "--unwound") == 0;
    argc -= unwound;
    argv += unwound;
    const bool samples = argc == 3 && strcmp(argv[1], "--samples") == 0;
    const bool stacks = argc == 3 && strcmp(argv[1], "--stacks") == 0;
    struct td_replay *replay = td_replay_new();
    const struct td_load_unwinder unwinder = td_replay_unwinder(replay);
    const struct td_load_opts opts = {.keep_samples = samples || stacks,
                                      .unwinder = unwound ? &unwinder : NULL};
    struct td_load_status status = {0};
    struct td_err err = TD_ERR_INIT;
    struct td_model *model = NULL;

    if (argc < 2 || td_load_file(&model, argv[argc - 1], &opts, &status, &err) != TD_OK) {
        fprintf(stderr, "model_print: %s\n",
                argc < 2 ? "[--unwound] [--samples|--stacks] FILE" : err.text);
        td_replay_free(replay);
        return 3;
    }
    if (samples || stacks)
        print_samples(model, stacks);
    else
        print_model(model);
    if (status.damaged)
        fprintf(stderr, "model_print: damaged: %s\n", status.damage.text);
    td_model_free(model);
    td_replay_free(replay);
    return status.damaged ? 3 : 0;
}
