/* SPDX-License-Identifier: MIT */
#include "base/pager.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool td_terminal_is_plain(void)
{
    const char *term = getenv("TERM");

    return !term || !*term || strcmp(term, "dumb") == 0;
}

static const char *pager_command(void)
{
    static const char *const names[] = {"TDPROF_PAGER", "PAGER"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);

        if (value)
            return value;
    }
    return "less";
}

/* Whether the first word of `command` is a program that can be found; anything that only a shell
 * understands is taken on trust. */
static bool can_be_run(const char *command)
{
    const size_t len = strcspn(command, " ");
    const char *path = getenv("PATH");

    if (strcspn(command, "/'\"$&;|<>()=`\\") < len)
        return true;
    for (const char *dir = path ? path : "/usr/bin:/bin"; *dir;) {
        const size_t dir_len = strcspn(dir, ":");
        char file[4096];

        snprintf(file, sizeof(file), "%.*s/%.*s", (int)dir_len, dir, (int)len, command);
        if (access(file, X_OK) == 0)
            return true;
        dir += dir_len + (dir[dir_len] == ':');
    }
    return false;
}

/* In the child: the pager's input is the pipe. F: leave if it fits the screen; R: colours; X: keep
 * the text on the screen. */
static void run_pager(const char *command, int input)
{
    dup2(input, STDIN_FILENO);
    close(input);
    setenv("LESS", "FRX", 0);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

bool td_pager_start(pid_t *ret)
{
    const char *command = pager_command();
    int ends[2];

    if (command[0] == '\0' || strcmp(command, "cat") == 0 || !can_be_run(command) ||
        pipe(ends) != 0)
        return false;
    fflush(stdout);
    const pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    if (pid == 0) {
        close(ends[1]);
        run_pager(command, ends[0]);
    }
    close(ends[0]);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    signal(SIGPIPE, SIG_IGN); /* a user who has seen enough is no failure */
    *ret = pid;
    return true;
}

void td_pager_finish(pid_t pager)
{
    fflush(stdout);
    close(STDOUT_FILENO);
    while (waitpid(pager, NULL, 0) < 0)
        continue;
}
