/* SPDX-License-Identifier: MIT */
#include "record/run/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/mem.h"

static void set_disposition(int signal, void (*handler)(int))
{
    const struct sigaction action = {.sa_handler = handler};

    sigaction(signal, &action, NULL);
}

static bool is_ignored(int signal)
{
    struct sigaction action = {0};

    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int td_signals_open(bool launched, int *ret, struct td_err *err)
{
    static const int watched[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < TD_ARRAY_SIZE(watched); i++) {
        if (!is_ignored(watched[i]))
            sigaddset(&set, watched[i]);
    }
    sigaddset(&set, SIGCHLD);
    set_disposition(SIGCHLD, SIG_DFL); /* ignored, it would take the command's status with it */
    set_disposition(SIGPIPE, SIG_IGN);
    set_disposition(SIGXFSZ, SIG_IGN); /* a file at its limit is an error of write then */
    if (launched)
        set_disposition(SIGQUIT, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return td_fail_errno(err, TD_EIO, errno, "cannot block signals");
    *ret = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return *ret < 0 ? td_fail_errno(err, TD_EIO, errno, "cannot make a signalfd") : TD_OK;
}

int td_signals_next(int fd)
{
    struct signalfd_siginfo info;

    return read(fd, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}
