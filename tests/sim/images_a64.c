/* SPDX-License-Identifier: MIT */
/* `images exec`: a child that executes the program again, for which it waits; `images sve`: an
 * instruction that the emulated processor does not have; `images asks`: what the emulator itself
 * does not have. */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static int executed(void)
{
    volatile int sum = 0;

    for (int i = 0; i < 20000; i++)
        sum += i;
    return sum > 0 ? 7 : 1;
}

int main(int argc, char **argv)
{
    int status = 0;

    if (argc < 2)
        return executed();
    if (strcmp(argv[1], "sve") == 0)
        __asm__ volatile(".inst 0x2518e3e0"); /* ptrue p0.b */
    if (strcmp(argv[1], "asks") == 0)
        return prctl(PR_SET_SECCOMP, 1) == 0 || syscall(SYS_io_uring_setup, 1, NULL) >= 0;
    if (fork() == 0) {
        execl(argv[0], argv[0], (char *)NULL);
        _exit(9);
    }
    wait(&status);
    printf("child %d\n", WEXITSTATUS(status));
    return 3;
}
