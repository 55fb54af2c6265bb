/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/meeting.h"

#include <sched.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/mem.h"

enum { CLONE = 56, SPLICE = 275 };

/* arch/x86/entry/syscalls/syscall_64.tbl */
static const int16_t always[] = {
    7,   /* poll */
    23,  /* select */
    24,  /* sched_yield */
    34,  /* pause */
    35,  /* nanosleep */
    56,  /* clone */
    60,  /* exit */
    62,  /* kill */
    65,  /* semop */
    69,  /* msgsnd */
    70,  /* msgrcv */
    73,  /* flock */
    128, /* rt_sigtimedwait */
    129, /* rt_sigqueueinfo */
    130, /* rt_sigsuspend */
    200, /* tkill */
    202, /* futex */
    220, /* semtimedop */
    230, /* clock_nanosleep */
    232, /* epoll_wait */
    234, /* tgkill */
    242, /* mq_timedsend */
    243, /* mq_timedreceive */
    270, /* pselect6 */
    271, /* ppoll */
    281, /* epoll_pwait */
};

/* By what their first argument is. */
static const int16_t by_file[] = {
    0,   /* read */
    1,   /* write */
    3,   /* close */
    19,  /* readv */
    20,  /* writev */
    40,  /* sendfile */
    42,  /* connect */
    43,  /* accept */
    44,  /* sendto */
    45,  /* recvfrom */
    46,  /* sendmsg */
    47,  /* recvmsg */
    48,  /* shutdown */
    275, /* splice */
    276, /* tee */
    278, /* vmsplice */
    288, /* accept4 */
    299, /* recvmmsg */
    307, /* sendmmsg */
};

static bool is_among(const int16_t *calls, size_t count, int64_t number)
{
    for (size_t i = 0; i < count; i++) {
        if (calls[i] == number)
            return true;
    }
    return false;
}

/* Pipes, sockets, and what has no type, such as an eventfd. Nobody waits for what stands on a disk
 * or goes to a terminal. */
static bool joins_threads(int file)
{
    struct stat st;

    return fstat(file, &st) == 0 &&
           (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || !(st.st_mode & S_IFMT));
}

bool td_meeting_is(int64_t number, const uint64_t arguments[5])
{
    return is_among(always, TD_ARRAY_SIZE(always), number) ||
           (is_among(by_file, TD_ARRAY_SIZE(by_file), number) &&
            joins_threads((int)arguments[0])) ||
           (number == SPLICE && joins_threads((int)arguments[2]));
}

bool td_meeting_begins_thread(int64_t number, const uint64_t arguments[5])
{
    return number == CLONE && (arguments[0] & CLONE_VM);
}
