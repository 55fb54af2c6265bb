/* SPDX-License-Identifier: MIT */
#include "record/hints.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* Options that hardly any other program has. */
static const char *const own[] = {"--source",  "--sim-core",      "--sim-sample", "--cpi-methods",
                                  "--sim-pmu", "--topdown-level", "--passes",     "--call-graph",
                                  "--pairs",   "--mmap-pages",    "--per-thread"};

static bool is_own(const char *word)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(own); i++) {
        const size_t len = strlen(own[i]);

        if (strncmp(word, own[i], len) == 0 && (word[len] == '\0' || word[len] == '='))
            return true;
    }
    return false;
}

/* "-o x.td": whose else would that be. */
static bool is_profile(const char *word)
{
    const size_t len = strlen(word);

    return len > 3 && strcmp(word + len - 3, ".td") == 0;
}

static char *misplaced(char **command)
{
    for (size_t i = 1; command[i]; i++) {
        const bool output =
            (strcmp(command[i], "-o") == 0 || strcmp(command[i], "--output") == 0) &&
            command[i + 1] && is_profile(command[i + 1]);

        if (output || is_own(command[i]))
            return td_xasprintf("'%s' stands behind the command and goes to it: options of tdrec "
                                "come before it (tdrec %s ... %s); '--' before the command says "
                                "that this is meant",
                                command[i], command[i], command[0]);
    }
    return NULL;
}

/* Commands of perf and others. Those that are programs, too, are meant when a program follows. */
static const struct {
    const char *word;
    bool program;
    const char *instead; /* before what follows */
} verbs[] = {
    {"record", false, "tdrec"},
    {"profile", false, "tdrec"},
    {"run", false, "tdrec"},
    {"stat", true, "tdrec --count"},
    {"count", false, "tdrec --count"},
    {"top", true, "tdrec -a --duration 5, then tdreport; of one program: tdrec"},
};

static char *verb(char **command)
{
    const char *next = command[1] ? command[1] : "";

    for (size_t i = 0; i < TD_ARRAY_SIZE(verbs); i++) {
        if (strcmp(command[0], verbs[i].word) != 0)
            continue;
        if (*next && access(next, X_OK) == 0)
            return td_xasprintf("'%s' is taken as the program; tdrec takes the command itself: %s "
                                "%s",
                                command[0], verbs[i].instead, next);
        if (!verbs[i].program)
            return td_xasprintf("'%s' is taken as the program; tdrec takes the command itself: %s "
                                "./app",
                                command[0], verbs[i].instead);
    }
    if (strcmp(command[0], "report") == 0 || strcmp(command[0], "annotate") == 0)
        return td_xasprintf("'%s' is taken as the program; profiles are read by tdreport",
                            command[0]);
    return NULL;
}

char *td_hint_of(const struct td_request *request)
{
    if (!request->command || request->command_marked)
        return NULL;
    char *text = verb(request->command);
    return text ? text : misplaced(request->command);
}
