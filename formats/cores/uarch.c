/* SPDX-License-Identifier: MIT */
#include "formats/cores/uarch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"

#define UARCH_WORDS_MAX 64

struct section {
    struct td_uarch_section view;
    struct td_uarch_line *lines;
    size_t cap;
};

struct td_uarch {
    struct td_arena arena;
    struct section *sections;
    size_t count, cap;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Splits [text, text + len) up to a '#' into words. Returns their number, or -1 for too many. */
static int split_words(struct td_uarch *uarch, const char *text, size_t len, const char **words)
{
    size_t at = 0;
    int count = 0;

    while (at < len && text[at] != '#') {
        const size_t start = at;
        while (at < len && !is_blank(text[at]) && text[at] != '#')
            at++;
        if (at > start) {
            if (count == UARCH_WORDS_MAX)
                return -1;
            words[count++] = td_arena_copy(&uarch->arena, text + start, at - start);
        }
        while (at < len && is_blank(text[at]))
            at++;
    }
    return count;
}

static void add_line(struct td_uarch *uarch, struct section *section, uint32_t number,
                     const char **words, int count)
{
    const size_t bytes = sizeof(*words) * (size_t)count;
    const char **copy = td_arena_alloc(&uarch->arena, bytes);

    memcpy(copy, words, bytes);
    section->lines = td_grow(section->lines, &section->cap, section->view.line_count + 1,
                             sizeof(*section->lines));
    section->lines[section->view.line_count++] =
        (struct td_uarch_line){.number = number, .word_count = (uint32_t)count, .words = copy};
    section->view.lines = section->lines;
}

static int add_section(struct td_uarch *uarch, uint32_t number, const char *word,
                       struct td_err *err)
{
    const size_t len = strlen(word);

    if (len < 3 || word[len - 1] != ']')
        return td_fail(err, TD_EFORMAT, "line %u: a heading is [name], not '%s'", number, word);
    const char *name = td_arena_copy(&uarch->arena, word + 1, len - 2);
    if (td_uarch_section(uarch, name))
        return td_fail(err, TD_EFORMAT, "line %u: section [%s] stands twice", number, name);
    uarch->sections =
        td_grow(uarch->sections, &uarch->cap, uarch->count + 1, sizeof(*uarch->sections));
    uarch->sections[uarch->count++] =
        (struct section){.view = {.name = name, .number = number, .lines = NULL}};
    return TD_OK;
}

static int parse_line(struct td_uarch *uarch, uint32_t number, const char *text, size_t len,
                      struct td_err *err)
{
    const char *words[UARCH_WORDS_MAX];

    if (memchr(text, '\0', len))
        return td_fail(err, TD_EFORMAT, "line %u: a zero byte", number);
    const int count = split_words(uarch, text, len, words);
    if (count < 0)
        return td_fail(err, TD_EFORMAT, "line %u: more than %d words", number, UARCH_WORDS_MAX);
    if (count == 0)
        return TD_OK;
    if (words[0][0] == '[') {
        if (count > 1)
            return td_fail(err, TD_EFORMAT, "line %u: words after the heading", number);
        return add_section(uarch, number, words[0], err);
    }
    if (uarch->count == 0)
        return td_fail(err, TD_EFORMAT, "line %u: '%s' before the first [section]", number,
                       words[0]);
    add_line(uarch, &uarch->sections[uarch->count - 1], number, words, count);
    return TD_OK;
}

int td_uarch_parse(struct td_uarch **ret, const char *text, size_t size, struct td_err *err)
{
    struct td_uarch *uarch = td_xcalloc(1, sizeof(*uarch));
    uint32_t number = 0;
    int rc = TD_OK;

    for (size_t at = 0; at < size && rc == TD_OK;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t len = end ? (size_t)(end - text) - at : size - at;
        rc = parse_line(uarch, ++number, text + at, len, err);
        at += len + 1;
    }
    if (rc != TD_OK) {
        td_uarch_free(uarch);
        return rc;
    }
    *ret = uarch;
    return TD_OK;
}

void td_uarch_free(struct td_uarch *uarch)
{
    if (!uarch)
        return;
    for (size_t i = 0; i < uarch->count; i++)
        free(uarch->sections[i].lines);
    free(uarch->sections);
    td_arena_release(&uarch->arena);
    free(uarch);
}

const struct td_uarch_section *td_uarch_section(const struct td_uarch *uarch, const char *name)
{
    for (size_t i = 0; i < uarch->count; i++) {
        if (strcmp(uarch->sections[i].view.name, name) == 0)
            return &uarch->sections[i].view;
    }
    return NULL;
}

const struct td_uarch_line *td_uarch_find(const struct td_uarch_section *section, const char *key)
{
    for (size_t i = 0; i < section->line_count; i++) {
        if (strcmp(section->lines[i].words[0], key) == 0)
            return &section->lines[i];
    }
    return NULL;
}
