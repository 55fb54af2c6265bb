/* SPDX-License-Identifier: MIT */
#include "record/run/inherited.h"

#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

/* signals.c changes these, or their place in the mask. */
static const int changed[TD_INHERITED_SIGNALS] = {SIGINT,  SIGTERM, SIGHUP, SIGCHLD,
                                                  SIGPIPE, SIGXFSZ, SIGQUIT};

static off_t place_of_stdin(void)
{
    struct stat st;

    if (fstat(STDIN_FILENO, &st) < 0 || !S_ISREG(st.st_mode))
        return -1;
    return lseek(STDIN_FILENO, 0, SEEK_CUR);
}

void td_inherited_save(struct td_inherited *inherited)
{
    *inherited = (struct td_inherited){.niceness = getpriority(PRIO_PROCESS, 0),
                                       .stdin_at = place_of_stdin()};
    sigprocmask(SIG_BLOCK, NULL, &inherited->mask);
    for (size_t i = 0; i < TD_INHERITED_SIGNALS; i++)
        sigaction(changed[i], NULL, &inherited->actions[i]);
    getrlimit(RLIMIT_NOFILE, &inherited->descriptors);
}

void td_inherited_restore(const struct td_inherited *inherited)
{
    if (!inherited)
        return;
    setrlimit(RLIMIT_NOFILE, &inherited->descriptors);
    setpriority(PRIO_PROCESS, 0, inherited->niceness);
    for (size_t i = 0; i < TD_INHERITED_SIGNALS; i++)
        sigaction(changed[i], &inherited->actions[i], NULL);
    sigprocmask(SIG_SETMASK, &inherited->mask, NULL); /* last: what comes finds its disposition */
}

void td_inherited_rewind(const struct td_inherited *inherited)
{
    if (inherited && inherited->stdin_at >= 0)
        lseek(STDIN_FILENO, inherited->stdin_at, SEEK_SET);
}
