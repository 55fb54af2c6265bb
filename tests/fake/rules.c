/* SPDX-License-Identifier: MIT */
#include "tests/fake/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool read_code(const char **text, uint64_t *ret)
{
    char *end = NULL;

    *ret = strtoull(*text, &end, 0);
    if (end == *text)
        return false;
    *text = end;
    return true;
}

bool fake_event_read(struct fake_event *event, const char **text)
{
    const char *slash = strchr(*text, '/');

    *event = (struct fake_event){.software = strncmp(*text, "sw:", 3) == 0};
    if (event->software) {
        *text += 3;
        return read_code(text, &event->config);
    }
    if (slash) {
        snprintf(event->pmu, sizeof(event->pmu), "%.*s", (int)(slash - *text), *text);
        *text = slash + 1;
    }
    if (!read_code(text, &event->config))
        return false;
    return **text != ':' || (++*text, read_code(text, &event->config1));
}

bool fake_event_same(const struct fake_event *a, const struct fake_event *b)
{
    return a->software == b->software && a->config == b->config && a->config1 == b->config1 &&
           strcmp(a->pmu, b->pmu) == 0;
}

static bool read_event(struct fake_rule *rule, const char *text)
{
    if (*text == '*') {
        rule->any = true;
        return text[1] == '\0';
    }
    if (!fake_event_read(&rule->event, &text))
        return false;
    if (*text == '@') {
        text++;
        rule->with_member = true;
        if (!read_code(&text, &rule->member))
            return false;
    }
    return *text == '\0';
}

static bool read_word(struct fake_rule *rule, const char *word)
{
    const char *value = strchr(word, '=');
    const struct {
        const char *key;
        double *at;
    } numbers[] = {
        {"count=", &rule->count},
        {"step=", &rule->step},
        {"rate=", &rule->rate},
        {"share=", &rule->share},
    };
    char *end = NULL;

    if (!value)
        return false;
    if (strncmp(word, "errno=", 6) == 0) {
        rule->error = (int)strtol(word + 6, &end, 10);
        return end != word + 6 && *end == '\0';
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strncmp(word, numbers[i].key, strlen(numbers[i].key)) != 0)
            continue;
        *numbers[i].at = strtod(value + 1, &end);
        return end != value + 1 && *end == '\0';
    }
    return false;
}

unsigned fake_rules_read(struct fake_rules *rules, FILE *in)
{
    char line[512];

    rules->len = 0;
    for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
        char *save = NULL;

        line[strcspn(line, "#\n")] = '\0';
        const char *word = strtok_r(line, " \t", &save);
        if (!word)
            continue;
        if (rules->len == FAKE_RULES_MAX)
            return number;
        struct fake_rule *rule = &rules->at[rules->len++];
        *rule = (struct fake_rule){.share = NAN};
        if (!read_event(rule, word))
            return number;
        while ((word = strtok_r(NULL, " \t", &save))) {
            if (!read_word(rule, word))
                return number;
        }
    }
    return 0;
}

static bool holds(const struct fake_event *members, size_t count, uint64_t config)
{
    for (size_t i = 0; i < count; i++) {
        if (!members[i].software && members[i].config == config)
            return true;
    }
    return false;
}

const struct fake_rule *fake_rules_find(const struct fake_rules *rules,
                                        const struct fake_event *event,
                                        const struct fake_event *members, size_t member_count)
{
    static const struct fake_rule none = {.share = NAN};
    const struct fake_rule *found = &none;
    int best = 0;

    for (size_t i = 0; i < rules->len; i++) {
        const struct fake_rule *rule = &rules->at[i];
        const bool its = rule->any ? !event->software : fake_event_same(&rule->event, event);
        const int rank = rule->any ? 1 : rule->with_member ? 3 : 2;

        if (!its || rank < best ||
            (rule->with_member && !holds(members, member_count, rule->member)))
            continue;
        found = rule;
        best = rank;
    }
    return found;
}
