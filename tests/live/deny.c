/* SPDX-License-Identifier: MIT */
/* deny ERRNO COMMAND...: perf_event_open fails with ERRNO in the command, by a seccomp filter.
 * deny trap COMMAND...:  the command is killed by SIGSYS when it calls perf_event_open.
 * deny open:             calls it (for a check of the second). */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const unsigned number = argc > 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    const unsigned action = argc > 2 && strcmp(argv[1], "trap") == 0 ? SECCOMP_RET_KILL_PROCESS
                                                                     : SECCOMP_RET_ERRNO | number;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

    if (argc == 2 && strcmp(argv[1], "open") == 0)
        return syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0) < 0 ? 1 : 0;
    if (argc < 3) {
        fputs("deny ERRNO COMMAND...\n", stderr);
        return 99;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
        perror("deny");
        return 77;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 99;
}
