/* SPDX-License-Identifier: MIT */
#include "formats/notes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/text.h"

struct sink {
    td_note_fn *note;
    void *ctx;
};

static void say(const struct sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct sink *sink, const char *format, ...)
{
    char raw[1024];
    char safe[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    td_text_safe(safe, sizeof(safe), raw, strlen(raw));
    sink->note(sink->ctx, safe);
}

char *td_notes_command(const struct td_model *model)
{
    struct td_buf buf = {0};
    const char *word = NULL;

    for (size_t i = 0; (word = td_model_env_at(model, TD_ENV_ARGV, i)); i++) {
        if (i > 0)
            td_buf_u8(&buf, ' ');
        td_buf_bytes(&buf, word, strlen(word));
    }
    td_buf_u8(&buf, '\0');
    return (char *)buf.data;
}

static void say_source(const struct sink *sink, const struct td_model *model)
{
    const char *const source = td_model_env(model, TD_ENV_SOURCE);
    const char *const reason = td_model_env(model, TD_ENV_SOURCE_REASON);
    const char *const core = td_model_env(model, TD_ENV_CORE);
    const bool modelled = td_source_is_modelled(td_model_source(model));

    say(sink, "source: %s%s%s%s", source ? source : "unknown",
        modelled ? " (categories are modelled, not measured)" : "", reason ? ", because " : "",
        reason ? reason : "");
    if (core)
        say(sink, "core: %s", core);
}

char *td_notes_damage(const struct td_model *model)
{
    const struct td_losses *const losses = td_model_losses(model);

    if (!losses->damaged)
        return NULL;
    return td_xasprintf("the profile is damaged: %s%" PRIu64 " samples and %" PRIu64
                        " modelled tallies could not be read",
                        losses->exact ? "" : "at least ", losses->dropped_samples,
                        losses->dropped_tallies);
}

static void say_losses(const struct sink *sink, const struct td_model *model)
{
    const struct td_losses *const losses = td_model_losses(model);
    char *const damage = td_notes_damage(model);

    if (losses->cut || (!td_model_complete(model) && !losses->damaged))
        say(sink, "warning: the recording was cut off");
    if (damage)
        say(sink, "warning: %s", damage);
    free(damage);
}

static void say_coverage(const struct sink *sink, const struct td_model *model)
{
    static const enum td_counter counters[] = {TD_COUNTER_SAMPLES, TD_COUNTER_LOST,
                                               TD_COUNTER_LOST_RECORDS, TD_COUNTER_THROTTLED,
                                               TD_COUNTER_TRUNCATED_STACKS};

    for (size_t i = 0; i < TD_ARRAY_SIZE(counters); i++) {
        const uint64_t value = td_model_counter(model, counters[i]);

        if (value > 0)
            say(sink, "%s: %" PRIu64, td_counter_name(counters[i]), value);
    }
    say_losses(sink, model);
}

void td_notes(const struct td_measure *measure, const char *tool, td_note_fn *note, void *ctx)
{
    static const enum td_env_key keys[] = {TD_ENV_RECORDER, TD_ENV_HOST, TD_ENV_CPU, TD_ENV_KERNEL};
    const struct sink sink = {.note = note, .ctx = ctx};
    const struct td_model *const model = measure->model;
    char *const command = td_notes_command(model);
    const char *warning = NULL;

    if (tool)
        say(&sink, "written by %s", tool);
    if (command[0])
        say(&sink, "command: %s", command);
    say_source(&sink, model);
    for (size_t i = 0; i < TD_ARRAY_SIZE(keys); i++) {
        const char *const value = td_model_env(model, keys[i]);

        if (value)
            say(&sink, "%s: %s", td_env_key_name(keys[i]), value);
    }
    say_coverage(&sink, model);
    for (size_t i = 0; (warning = td_model_env_at(model, TD_ENV_WARNING, i)); i++)
        say(&sink, "warning: %s", warning);
    free(command);
}
