/* SPDX-License-Identifier: MIT */
#include "record/sim/share/launch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/sim/share/program.h"

enum {
    OWN_WORDS = 16,
    /* Strings are aligned in their block as in a line of the caches. */
    STRINGS_ALIGN = 64,
};

static char *preload_of(const struct td_launch *launch)
{
    return td_xasprintf("LD_PRELOAD=%.*s", (int)strcspn(launch->plugin, ","), launch->plugin);
}

/* What steers the dynamic loader, and would steer the emulator's. The emulator's option that gives
 * it to the program instead splits it at commas. */
static bool is_loaders(const char *entry)
{
    return strncmp(entry, "LD_", 3) == 0 && !strchr(entry, ',');
}

static size_t count_strings(char *const *strings)
{
    size_t n = 0;

    while (strings[n])
        n++;
    return n;
}

char **td_launch_env(const struct td_launch *launch, char *const *envp)
{
    const size_t count = count_strings(envp);
    char **env = td_xcalloc(count + 2, sizeof(*env));
    size_t n = 0;

    /* The emulator reverses the order, and so do we. */
    env[n++] = preload_of(launch);
    for (size_t i = count; i > 0; i--) {
        if (!is_loaders(envp[i - 1]) && strncmp(envp[i - 1], "LD_PRELOAD=", 11) != 0)
            env[n++] = td_xstrdup(envp[i - 1]);
    }
    return env;
}

/* Takes our LD_PRELOAD out of the program's environment, then gives it back its own words. */
static size_t add_environment(char **full, size_t n, char *const *envp)
{
    full[n++] = td_xstrdup("-U");
    full[n++] = td_xstrdup("LD_PRELOAD");
    for (size_t i = 0; envp[i]; i++) {
        if (!is_loaders(envp[i]))
            continue;
        full[n++] = td_xstrdup("-E");
        full[n++] = td_xstrdup(envp[i]);
    }
    return n;
}

static size_t string_bytes(char *const *strings)
{
    size_t bytes = 0;

    for (; *strings; strings++)
        bytes += strlen(*strings) + 1;
    return bytes;
}

/* The kernel puts a program's path, environment and arguments above its stack, one after the other:
 * how long they are decides how each is aligned, and so which way functions on strings go. Slashes
 * in the path make up for that, so that equal runs are equal. Newly allocated. */
static char *pad_path(const char *path, size_t other_bytes)
{
    const char *slash = strrchr(path, '/');
    const size_t bytes = strlen(path) + 1 + (slash ? 0 : 2) + other_bytes;
    const size_t more = (STRINGS_ALIGN - bytes % STRINGS_ALIGN) % STRINGS_ALIGN;
    char slashes[STRINGS_ALIGN + 1] = {0};

    memset(slashes, '/', more);
    if (!slash)
        return td_xasprintf("./%s%s", slashes, path);
    return td_xasprintf("%.*s%s%s", (int)(slash - path), path, slashes, slash);
}

char **td_launch_argv(const struct td_launch *launch, const char *path, char *const *argv,
                      char *const *envp)
{
    struct td_program program;
    const size_t argc = count_strings(argv);
    char **full = NULL;
    size_t n = 0;

    td_program_look(&program, path);
    if (program.kind == TD_PROGRAM_EMULATED && program.guest == launch->guest) {
        const char *const own[] = {
            launch->qemu, "-cpu", launch->guest->cpu, "-plugin", launch->plugin, "-0",
            /* A script's interpreter gets its own name; a program what it was given. */
            program.word_count || argc == 0 ? program.file : argv[0]};

        full = td_xcalloc(argc + program.word_count + 2 * count_strings(envp) + OWN_WORDS,
                          sizeof(*full));
        for (; n < TD_ARRAY_SIZE(own); n++)
            full[n] = td_xstrdup(own[n]);
        if (program.sysroot) {
            full[n++] = td_xstrdup("-L");
            full[n++] = td_xstrdup(program.sysroot);
        }
        n = add_environment(full, n, envp);
        const size_t file = n++;
        for (size_t i = program.word_count; i > 0; i--)
            full[n++] = td_xstrdup(program.words[i - 1]);
        for (size_t i = 1; i < argc; i++)
            full[n++] = td_xstrdup(argv[i]);
        full[file] = pad_path(program.file, string_bytes(envp) + string_bytes(full + file + 1) +
                                                strlen(own[TD_ARRAY_SIZE(own) - 1]) + 1);
    }
    td_program_release(&program);
    return full;
}

void td_launch_free(char **strings)
{
    for (char **s = strings; s && *s; s++)
        free(*s);
    free(strings);
}
