/* SPDX-License-Identifier: MIT */
#include "record/run/origin.h"

#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

/* signals.c changes these, or their place in the mask. */
static const int changed[TD_ORIGIN_SIGNALS] = {SIGINT,  SIGTERM, SIGHUP, SIGCHLD,
                                               SIGPIPE, SIGXFSZ, SIGQUIT};

static off_t place_of_stdin(void)
{
    struct stat st;

    if (fstat(STDIN_FILENO, &st) < 0 || !S_ISREG(st.st_mode))
        return -1;
    return lseek(STDIN_FILENO, 0, SEEK_CUR);
}

void td_origin_save(struct td_origin *origin)
{
    *origin =
        (struct td_origin){.niceness = getpriority(PRIO_PROCESS, 0), .stdin_at = place_of_stdin()};
    sigprocmask(SIG_BLOCK, NULL, &origin->mask);
    for (size_t i = 0; i < TD_ORIGIN_SIGNALS; i++)
        sigaction(changed[i], NULL, &origin->actions[i]);
    getrlimit(RLIMIT_NOFILE, &origin->descriptors);
}

void td_origin_restore(const struct td_origin *origin)
{
    if (!origin)
        return;
    setrlimit(RLIMIT_NOFILE, &origin->descriptors);
    setpriority(PRIO_PROCESS, 0, origin->niceness);
    for (size_t i = 0; i < TD_ORIGIN_SIGNALS; i++)
        sigaction(changed[i], &origin->actions[i], NULL);
    sigprocmask(SIG_SETMASK, &origin->mask, NULL); /* last: what comes finds its disposition */
}

void td_origin_rewind(const struct td_origin *origin)
{
    if (origin && origin->stdin_at >= 0)
        lseek(STDIN_FILENO, origin->stdin_at, SEEK_SET);
}
