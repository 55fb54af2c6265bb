/* SPDX-License-Identifier: MIT */
#include "record/sim/share/guest.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/mem.h"

static const struct td_guest guests[] = {
    {
        .name = "x86_64",
        .title = "x86-64",
        .machine = EM_X86_64,
        .emulator = "qemu-x86_64",
        /* glibc would choose `rep movsb`, which the emulator runs a byte at a time. */
        .cpu = "max,-erms,-fsrm",
        .core = "golden-cove",
        .sysroot = "/usr/x86_64-linux-gnu",
        .package = "libc6-amd64-cross",
    },
    {
        .name = "aarch64",
        .title = "aarch64",
        .machine = EM_AARCH64,
        .emulator = "qemu-aarch64",
        /* The emulator tells no plugin of what most SVE and SME instructions access: libraries
         * that ask get Advanced SIMD. Its own pointer signatures are quicker than the
         * architecture's. */
        .cpu = "max,sve=off,sme=off,pauth-impdef=on",
        .core = "neoverse-n2",
        .zero_bytes = 512,
        .sysroot = "/usr/aarch64-linux-gnu",
        .package = "libc6-arm64-cross",
    },
};

/* include/uapi/asm-generic/unistd.h, arch/x86/entry/syscalls/syscall_64.tbl */
static const struct {
    int16_t generic, x86;
} calls[] = {
    {22, 281},  /* epoll_pwait */
    {41, 155},  /* pivot_root */
    {32, 73},   /* flock */
    {51, 161},  /* chroot */
    {57, 3},    /* close */
    {63, 0},    /* read */
    {64, 1},    /* write */
    {65, 19},   /* readv */
    {66, 20},   /* writev */
    {71, 40},   /* sendfile */
    {72, 270},  /* pselect6 */
    {73, 271},  /* ppoll */
    {75, 278},  /* vmsplice */
    {76, 275},  /* splice */
    {77, 276},  /* tee */
    {93, 60},   /* exit */
    {94, 231},  /* exit_group */
    {95, 247},  /* waitid */
    {98, 202},  /* futex */
    {101, 35},  /* nanosleep */
    {115, 230}, /* clock_nanosleep */
    {117, 101}, /* ptrace */
    {124, 24},  /* sched_yield */
    {129, 62},  /* kill */
    {130, 200}, /* tkill */
    {131, 234}, /* tgkill */
    {133, 130}, /* rt_sigsuspend */
    {137, 128}, /* rt_sigtimedwait */
    {138, 129}, /* rt_sigqueueinfo */
    {164, 160}, /* setrlimit */
    {167, 157}, /* prctl */
    {182, 242}, /* mq_timedsend */
    {183, 243}, /* mq_timedreceive */
    {188, 70},  /* msgrcv */
    {189, 69},  /* msgsnd */
    {192, 220}, /* semtimedop */
    {193, 65},  /* semop */
    {202, 43},  /* accept */
    {203, 42},  /* connect */
    {206, 44},  /* sendto */
    {207, 45},  /* recvfrom */
    {210, 48},  /* shutdown */
    {211, 46},  /* sendmsg */
    {212, 47},  /* recvmsg */
    {215, 11},  /* munmap */
    {216, 25},  /* mremap */
    {220, 56},  /* clone */
    {221, 59},  /* execve */
    {222, 9},   /* mmap */
    {241, 298}, /* perf_event_open */
    {242, 288}, /* accept4 */
    {243, 299}, /* recvmmsg */
    {260, 61},  /* wait4 */
    {261, 302}, /* prlimit64 */
    {269, 307}, /* sendmmsg */
    {277, 317}, /* seccomp */
    {280, 321}, /* bpf */
    {281, 322}, /* execveat */
    {282, 323}, /* userfaultfd */
    {425, 425}, /* io_uring_setup */
};

const struct td_guest *td_guest_at(unsigned i)
{
    return i < TD_ARRAY_SIZE(guests) ? &guests[i] : NULL;
}

const struct td_guest *td_guest_by_name(const char *name)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(guests); i++) {
        if (strcmp(guests[i].name, name) == 0)
            return &guests[i];
    }
    return NULL;
}

const struct td_guest *td_guest_by_machine(uint16_t machine)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(guests); i++) {
        if (guests[i].machine == machine)
            return &guests[i];
    }
    return NULL;
}

const struct td_guest *td_guest_native(void)
{
    struct utsname uts;

    return uname(&uts) == 0 ? td_guest_by_name(uts.machine) : NULL;
}

int64_t td_guest_call(const struct td_guest *guest, int64_t number)
{
    if (guest->machine == EM_X86_64)
        return number;
    for (size_t i = 0; i < TD_ARRAY_SIZE(calls); i++) {
        if (calls[i].generic == number)
            return calls[i].x86;
    }
    return -1;
}
