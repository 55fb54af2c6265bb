/* SPDX-License-Identifier: MIT */
#include "report/query/figures/ending.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define NUMBER_MAX 255 /* of a signal or an exit status */

static bool read_number(const char *text, const char *word, int *ret)
{
    const size_t len = strlen(word);
    uint64_t number = 0;

    if (strncmp(text, word, len) != 0 || !td_parse_u64(text + len, &number) || number > NUMBER_MAX)
        return false;
    *ret = (int)number;
    return true;
}

struct td_ending td_ending_of(const struct td_model *model)
{
    struct td_ending found = {.known = false};
    const char *text = NULL;

    for (size_t i = 0; (text = td_model_env_at(model, TD_ENV_EXIT, i)); i++) {
        struct td_ending ending = {.known = true};

        ending.killed = read_number(text, "signal ", &ending.number);
        if (!ending.killed && !read_number(text, "exit ", &ending.number))
            continue;
        found = td_ending_worse(found, ending);
    }
    return found;
}

/* The more, the worse. */
static int badness(struct td_ending ending)
{
    return ending.killed ? 3 : ending.number != 0 ? 2 : ending.known;
}

struct td_ending td_ending_worse(struct td_ending a, struct td_ending b)
{
    return badness(b) > badness(a) ? b : a;
}

bool td_endings_differ(struct td_ending a, struct td_ending b)
{
    if (a.killed != b.killed)
        return true;
    return a.known && b.known && a.number != b.number;
}

const char *td_ending_words(char *text, size_t size, struct td_ending ending)
{
    const char *name = ending.killed ? sigabbrev_np(ending.number) : NULL;

    if (!ending.known)
        snprintf(text, size, "ended in a way that is not known");
    else if (!ending.killed)
        snprintf(text, size, "ended with exit status %d", ending.number);
    else
        snprintf(text, size, "was ended by signal %d%s%s%s", ending.number, name ? " (SIG" : "",
                 name ? name : "", name ? ")" : "");
    return text;
}
