/* SPDX-License-Identifier: MIT */
#include "tests/fake/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define USUAL_NS  1000000
#define KERNEL_IP (UINT64_C(1) << 63)

static bool read_number(const char *text, uint64_t *ret)
{
    char *end = NULL;

    if (!text)
        return false;
    *ret = strtoull(text, &end, 0);
    return end != text && *end == '\0';
}

static bool read_list(struct fake_list *list, const char *text)
{
    for (list->len = 0; list->len < FAKE_LIST_MAX; text++) {
        char *end = NULL;

        list->at[list->len++] = strtoull(text, &end, 0);
        if (end == text)
            return false;
        text = end;
        if (*text != ',')
            break;
    }
    return *text == '\0';
}

/* perf_sample_weight: 32, 16 and 16 bits. */
static bool read_weights(struct fake_list *list, const char *text)
{
    static const unsigned shifts[] = {0, 32, 48};

    for (list->len = 0; list->len < FAKE_LIST_MAX; text++) {
        uint64_t *weight = &list->at[list->len++];

        *weight = 0;
        for (size_t i = 0; i < TD_ARRAY_SIZE(shifts); i++, text += i < TD_ARRAY_SIZE(shifts)) {
            char *end = NULL;

            *weight |= strtoull(text, &end, 0) << shifts[i];
            if (end == text || (i + 1 < TD_ARRAY_SIZE(shifts) && *end != ':'))
                return false;
            text = end;
        }
        if (*text != ',')
            break;
    }
    return *text == '\0';
}

static bool read_branches(struct fake_line *line, const char *text)
{
    for (line->branch_len = 0; line->branch_len < FAKE_LIST_MAX; text++) {
        struct fake_branch *branch = &line->branches[line->branch_len++];
        char *end = NULL;

        branch->from = strtoull(text, &end, 0);
        if (end == text || *end != '>')
            return false;
        text = end + 1;
        branch->to = strtoull(text, &end, 0);
        branch->missed = *end == '!';
        text = end + branch->missed;
        if (*text != ',')
            break;
    }
    return *text == '\0';
}

static bool read_task(int *ret, const char *text)
{
    uint64_t task = 0;

    *ret = FAKE_OTHER;
    if (strcmp(text, "other") == 0)
        return true;
    *ret = read_number(text, &task) && task < FAKE_TASKS_MAX ? (int)task : FAKE_OTHER;
    return *ret != FAKE_OTHER;
}

static bool read_count(struct fake_line *line, const char *word)
{
    struct fake_count *count = &line->counts[line->count_len];

    return line->count_len < FAKE_LIST_MAX && fake_event_read(&count->event, &word) &&
           *word++ == '=' && read_number(word, &count->count) && ++line->count_len;
}

static bool read_detail(struct fake_line *line, const char *word)
{
    const char *value = strchr(word, '=');
    const size_t key = value ? (size_t)(value - word) : 0;

#define IS(name) (key == strlen(name) && strncmp(word, name, key) == 0)
    if (!value++)
        return false;
    if (IS("ns"))
        return read_number(value, &line->ns);
    if (IS("address"))
        return read_number(value, &line->address);
    if (IS("task"))
        return read_task(&line->task, value);
    if (IS("weight"))
        return read_weights(&line->weights, value);
    if (IS("sources"))
        return read_list(&line->sources, value);
    if (IS("chain"))
        return read_list(&line->chain, value);
    if (IS("raw"))
        return read_list(&line->raw, value);
    if (IS("branches"))
        return read_branches(line, value);
    return read_count(line, word);
#undef IS
}

static char *next_word(char **save)
{
    return strtok_r(NULL, " \t", save);
}

static bool read_map(struct fake_run *run, char **save)
{
    struct fake_mapping *map = &run->maps[run->map_len];

    if (run->map_len == FAKE_TASKS_MAX || !read_number(next_word(save), &map->start) ||
        !read_number(next_word(save), &map->size) || !read_number(next_word(save), &map->offset))
        return false;
    const char *path = next_word(save);
    run->map_len++;
    return path && snprintf(map->path, sizeof(map->path), "%s", path) < (int)sizeof(map->path);
}

static bool read_name(struct fake_run *run, size_t task, const char *name)
{
    if (task >= FAKE_TASKS_MAX || !name)
        return false;
    snprintf(run->names[task], sizeof(run->names[task]), "%s", name);
    return true;
}

static bool read_setting(struct fake_run *run, bool period, char **save)
{
    struct fake_setting *setting = &run->settings[run->setting_len];
    const char *event = next_word(save);

    if (run->setting_len++ == FAKE_LIST_MAX - 1 || !event ||
        !fake_event_read(&setting->event, &event) || *event)
        return false;
    if (period)
        return read_number(next_word(save), &setting->period) && setting->period > 0;
    return read_number(next_word(save), &setting->turn) &&
           read_number(next_word(save), &setting->turns) && setting->turn < setting->turns;
}

static struct fake_line *add_line(struct fake_run *run, enum fake_line_kind kind)
{
    run->lines = td_grow(run->lines, &run->cap, run->len + 1, sizeof(*run->lines));
    struct fake_line *line = &run->lines[run->len++];

    memset(line, 0, sizeof(*line));
    line->kind = kind;
    line->ns = USUAL_NS;
    return line;
}

static bool read_throttle(struct fake_run *run, char **save)
{
    struct fake_line *line = add_line(run, FAKE_THROTTLE);
    uint64_t cpu = 0;
    const bool good = read_number(next_word(save), &cpu);
    const char *event = next_word(save);

    line->cpu = (unsigned)cpu;
    line->count_len = 1;
    return good && event && fake_event_read(&line->counts[0].event, &event) && *event == '\0';
}

static bool read_details(struct fake_line *line, char **save)
{
    for (const char *word = next_word(save); word; word = next_word(save)) {
        if (!read_detail(line, word))
            return false;
    }
    return line->ns > 0;
}

static bool read_run(struct fake_run *run, char **save)
{
    struct fake_line *line = add_line(run, FAKE_RUN);
    uint64_t cpu = 0;

    if (!read_number(next_word(save), &cpu) || !read_number(next_word(save), &line->ip))
        return false;
    line->cpu = (unsigned)cpu;
    return read_details(line, save);
}

static bool read_line(struct fake_run *run, const char *word, char **save)
{
    uint64_t number = 0;

    if (strcmp(word, "run") == 0)
        return read_run(run, save);
    if (strcmp(word, "spin") == 0)
        return read_details(&run->spin, save);
    if (strcmp(word, "map") == 0)
        return read_map(run, save);
    if (strcmp(word, "name") == 0)
        return read_name(run, 0, next_word(save));
    if (strcmp(word, "thread") == 0)
        return read_number(next_word(save), &number) && read_name(run, number, next_word(save));
    if (strcmp(word, "period") == 0 || strcmp(word, "turn") == 0)
        return read_setting(run, *word == 'p', save);
    if (strcmp(word, "throttle") == 0)
        return read_throttle(run, save);
    return strcmp(word, "wait") == 0 && add_line(run, FAKE_WAIT);
}

unsigned fake_run_read(struct fake_run *run, FILE *in)
{
    char text[2048];

    memset(run, 0, sizeof(*run));
    run->spin = (struct fake_line){.kind = FAKE_SPIN, .ns = 1, .task = FAKE_OTHER};
    snprintf(run->names[0], sizeof(run->names[0]), "app");
    for (unsigned number = 1; fgets(text, sizeof(text), in); number++) {
        char *save = NULL;

        text[strcspn(text, "#\n")] = '\0';
        const char *word = strtok_r(text, " \t", &save);
        if (word && !read_line(run, word, &save))
            return number;
    }
    return 0;
}

void fake_run_release(struct fake_run *run)
{
    free(run->lines);
    run->lines = NULL;
    run->len = run->cap = 0;
}

bool fake_line_is_kernel(const struct fake_line *line)
{
    return line->ip & KERNEL_IP;
}

uint64_t fake_run_cpu_ns(const struct fake_run *run, bool kernel)
{
    uint64_t ns = 0;

    for (size_t i = 0; i < run->len; i++) {
        const struct fake_line *line = &run->lines[i];

        if (line->kind == FAKE_RUN && line->task != FAKE_OTHER &&
            fake_line_is_kernel(line) == kernel)
            ns += line->ns;
    }
    return ns;
}

uint64_t fake_run_count(const struct fake_line *line, const struct fake_event *event)
{
    for (size_t i = 0; i < line->count_len; i++) {
        if (fake_event_same(&line->counts[i].event, event))
            return line->counts[i].count;
    }
    return 0;
}

uint64_t fake_run_period(const struct fake_run *run, const struct fake_event *event)
{
    for (size_t i = 0; i < run->setting_len; i++) {
        if (run->settings[i].period && fake_event_same(&run->settings[i].event, event))
            return run->settings[i].period;
    }
    return 0;
}

struct fake_setting fake_run_turn(const struct fake_run *run, const struct fake_event *leader)
{
    for (size_t i = 0; i < run->setting_len; i++) {
        if (run->settings[i].turns && fake_event_same(&run->settings[i].event, leader))
            return run->settings[i];
    }
    return (struct fake_setting){.turns = 1};
}
