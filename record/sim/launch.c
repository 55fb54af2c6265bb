/* SPDX-License-Identifier: MIT */
#include "record/sim/launch.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum {
    /* "#!" lines may name a script in turn: the limit is 5 (fs/exec.c, exec_binprm). */
    SCRIPT_DEPTH_MAX = 5,
    SCRIPT_LINE_BYTES = 256, /* BINPRM_BUF_SIZE */
    OWN_WORDS = 16,
};

/* The first bytes of an executable file without privileges of its own; 0: not such a file. */
static size_t read_head(const char *path, char *head, size_t size)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 0;

    if (fd < 0)
        return 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0 &&
        !(st.st_mode & (S_ISUID | S_ISGID)))
        got = read(fd, head, size);
    close(fd);
    return got > 0 ? (size_t)got : 0;
}

static bool is_our_elf(const char *head, size_t size)
{
    const uint16_t machine =
        size >= 20 ? (uint16_t)((uint8_t)head[18] | (uint16_t)((uint8_t)head[19] << 8)) : 0;

    return size >= 20 && memcmp(head, ELFMAG, SELFMAG) == 0 && head[EI_CLASS] == ELFCLASS64 &&
           machine == EM_X86_64;
}

/* "#!interpreter argument": both newly allocated; *argument may be NULL. */
static bool read_script(const char *head, size_t size, char **interpreter, char **argument)
{
    size_t end = 2, from = 2;

    if (size < 3 || head[0] != '#' || head[1] != '!')
        return false;
    while (end < size && head[end] != '\n')
        end++;
    while (end > from && (head[end - 1] == ' ' || head[end - 1] == '\t'))
        end--;
    while (from < end && (head[from] == ' ' || head[from] == '\t'))
        from++;
    size_t word = from;
    while (word < end && head[word] != ' ' && head[word] != '\t')
        word++;
    if (word == from)
        return false;
    *interpreter = td_xstrndup(head + from, word - from);
    while (word < end && (head[word] == ' ' || head[word] == '\t'))
        word++;
    *argument = word < end ? td_xstrndup(head + word, end - word) : NULL;
    return true;
}

/* The ELF file behind `path`, through scripts; the words that scripts put before the arguments are
 * added to `words` (NULL: not wanted), outermost interpreter first. NULL when there is none that
 * can be emulated. Newly allocated. */
static char *resolve(const char *path, char **words, size_t *word_count)
{
    char *current = td_xstrdup(path);

    for (int depth = 0; depth <= SCRIPT_DEPTH_MAX; depth++) {
        char head[SCRIPT_LINE_BYTES];
        char *interpreter = NULL, *argument = NULL;
        const size_t size = read_head(current, head, sizeof(head));

        if (is_our_elf(head, size))
            return current;
        if (!read_script(head, size, &interpreter, &argument))
            break;
        /* [interpreter, argument, script] replaces the script: push in reverse. */
        if (words) {
            words[(*word_count)++] = current;
            if (argument)
                words[(*word_count)++] = argument;
        } else {
            free(current);
            free(argument);
        }
        current = interpreter;
    }
    free(current);
    return NULL;
}

char *td_launch_resolve(const char *path)
{
    return resolve(path, NULL, NULL);
}

static char *preload_of(const struct td_launch *launch)
{
    return td_xasprintf("LD_PRELOAD=%.*s", (int)strcspn(launch->plugin, ","), launch->plugin);
}

static bool is_preload(const char *entry)
{
    return strncmp(entry, "LD_PRELOAD=", 11) == 0;
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

    env[n++] = preload_of(launch);
    for (size_t i = 0; i < count; i++) {
        if (!is_preload(envp[i]))
            env[n++] = td_xstrdup(envp[i]);
    }
    return env;
}

char **td_launch_argv(const struct td_launch *launch, const char *path, char *const *argv,
                      char *const *envp)
{
    char *words[2 * (SCRIPT_DEPTH_MAX + 1)] = {0};
    const char *theirs = NULL;
    size_t word_count = 0, n = 0;
    char *elf = resolve(path, words, &word_count);
    const size_t argc = count_strings(argv);
    char **full = NULL;

    for (size_t i = 0; envp[i]; i++)
        theirs = is_preload(envp[i]) ? envp[i] : theirs;
    if (elf) {
        const char *const own[] = {
            launch->qemu, "-cpu", launch->cpu, theirs ? "-E" : "-U", theirs ? theirs : "LD_PRELOAD",
            "-plugin", launch->plugin, "-0",
            /* A script's interpreter gets its own name; a program what it was given. */
            word_count || argc == 0 ? elf : argv[0], elf};

        full = td_xcalloc(argc + word_count + OWN_WORDS, sizeof(*full));
        for (; n < TD_ARRAY_SIZE(own); n++)
            full[n] = td_xstrdup(own[n]);
        for (size_t i = word_count; i > 0; i--)
            full[n++] = td_xstrdup(words[i - 1]);
        for (size_t i = 1; i < argc; i++)
            full[n++] = td_xstrdup(argv[i]);
    }
    for (size_t i = 0; i < word_count; i++)
        free(words[i]);
    free(elf);
    return full;
}

void td_launch_free(char **strings)
{
    for (char **s = strings; s && *s; s++)
        free(*s);
    free(strings);
}
