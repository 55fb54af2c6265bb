/* SPDX-License-Identifier: MIT */
/* What the jail of windows lets a process do, and what not, in the kernel's view. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "record/sim/window/jail.h"

static char folder[] = "/tmp/tdprof-jail-XXXXXX";
static char file[64], other[64];

/* Each returns what the call did; < 0 with errno. */
static long make_file(void)
{
    return open(other, O_CREAT | O_WRONLY, 0600);
}
static long open_to_write(void)
{
    return open(file, O_WRONLY);
}
static long open_to_both(void)
{
    return open(file, O_RDWR);
}
static long cut_on_open(void)
{
    return open(file, O_RDONLY | O_TRUNC);
}
static long old_open(void)
{
#ifdef SYS_open
    return syscall(SYS_open, file, O_WRONLY);
#else
    errno = EPERM;
    return -1;
#endif
}
static long unlink_it(void)
{
    return unlink(file);
}
static long rename_it(void)
{
    return rename(file, other);
}
static long link_it(void)
{
    return link(file, other);
}
static long truncate_it(void)
{
    return truncate(file, 0);
}
static long change_mode(void)
{
    return chmod(file, 0777);
}
static long make_folder(void)
{
    return mkdir(other, 0700);
}
static long make_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0);
}
static long signal_parent(void)
{
    return kill(getppid(), SIGUSR1);
}
static long signal_group(void)
{
    return kill(0, SIGUSR1);
}
static long signal_thread(void)
{
    return syscall(SYS_tgkill, getppid(), getppid(), SIGUSR1);
}
static long queue_signal(void)
{
    union sigval value = {.sival_int = 1};

    return sigqueue(getppid(), SIGUSR1, value);
}
static long fork_it(void)
{
    return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}
static long execute(void)
{
    static const char *const argv[] = {"/bin/true", NULL};

    return execve("/bin/true", (char *const *)(uintptr_t)argv, NULL);
}
static long write_to_parent(void)
{
    char byte = 1;
    const struct iovec own = {&byte, 1}, its = {file, 1};

    return process_vm_writev(getppid(), &own, 1, &its, 1, 0);
}
static long shared_memory(void)
{
    return syscall(SYS_memfd_create, "x", 0);
}
static long change_folder(void)
{
    return chdir("/");
}
static long lock_file(void)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

    return fcntl(open(file, O_RDONLY), F_SETLK, &lock);
}
static long control(void)
{
    int n = 0;

    return syscall(SYS_ioctl, 0, 0x541B /* FIONREAD */, &n);
}

static const struct {
    const char *name;
    long (*call)(void);
} refused[] = {
    {"make a file", make_file},
    {"open to write", open_to_write},
    {"open for both", open_to_both},
    {"cut on open", cut_on_open},
    {"open(2)", old_open},
    {"unlink", unlink_it},
    {"rename", rename_it},
    {"link", link_it},
    {"truncate", truncate_it},
    {"chmod", change_mode},
    {"mkdir", make_folder},
    {"socket", make_socket},
    {"kill", signal_parent},
    {"kill the group", signal_group},
    {"tgkill", signal_thread},
    {"sigqueue", queue_signal},
    {"clone", fork_it},
    {"execve", execute},
    {"process_vm_writev", write_to_parent},
    {"memfd_create", shared_memory},
    {"chdir", change_folder},
    {"a lock", lock_file},
    {"ioctl", control},
};

/* In the child: the index of the first that was not refused, plus 1. */
static int try_all(void)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(refused); i++) {
        errno = 0;
        if (refused[i].call() >= 0 || errno != EPERM)
            return (int)i + 1;
    }
    return 0;
}

static int run_jailed(int (*what)(void))
{
    int status = 0;
    const pid_t pid = fork();

    if (pid == 0)
        _exit(td_jail_enter() ? what() : TD_JAIL_REFUSED);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == TD_JAIL_REFUSED)
        skip(); /* a kernel without seccomp */
    return WEXITSTATUS(status);
}

static void effects_are_refused(void **state)
{
    struct stat before, after;
    sigset_t pending, blocked;

    (void)state;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    assert_int_equal(stat(file, &before), 0);
    const int first = run_jailed(try_all);
    if (first)
        fail_msg("not refused: %s", refused[first - 1].name);
    assert_int_equal(stat(file, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
    assert_int_equal(after.st_mode, before.st_mode);
    assert_int_equal(after.st_nlink, 1);
    assert_int_equal(access(other, F_OK), -1);
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGUSR1));
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
}

/* What was open for writing is so no longer, but for /dev/null. */
static int write_to_open(void)
{
    int failed = 0;

    for (int fd = 3; fd < 15; fd++)
        failed |= write(fd, "x", 1) > 0;
    return failed || write(15, "x", 1) != 1;
}

static void nothing_stays_writable(void **state)
{
    int ends[2], sockets[2];
    char byte = 0;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    const int fd = open(file, O_RDWR), null = open("/dev/null", O_WRONLY);
    assert_true(fd >= 0 && null >= 0 && null < 15);
    assert_int_equal(dup2(null, 15), 15);
    close(null);
    assert_int_equal(run_jailed(write_to_open), 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    assert_int_equal(read(ends[0], &byte, 1), -1);
    assert_int_equal(recv(sockets[1], &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(lseek(fd, 0, SEEK_END), 4);
    for (int i = 0; i < 2; i++) {
        close(ends[i]);
        close(sockets[i]);
    }
    close(fd);
    close(15);
}

static int compute(void)
{
    char text[4] = "";
    const int fd = open(file, O_RDONLY);
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return fd < 0 || read(fd, text, 4) != 4 || memcmp(text, "text", 4) != 0 ||
           memory == MAP_FAILED || raise(0) != 0 || getpid() <= 0;
}

static void computing_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(run_jailed(compute), 0);
}

static void *never_ending(void *ctx)
{
    for (;;)
        usleep(1000);
    return ctx;
}

static _Atomic int told;

static void *try_late(void *ctx)
{
    while (!told)
        usleep(100);
    told = unlink(file) < 0 && errno == EPERM ? 2 : 3;
    return ctx;
}

/* Threads that there are before. */
static int try_in_thread(void)
{
    told = 1;
    while (told == 1)
        usleep(100);
    return told != 2;
}

static void threads_are_in_it(void **state)
{
    int status = 0;
    const pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        pthread_t threads[2];

        if (pthread_create(&threads[0], NULL, try_late, NULL) != 0 ||
            pthread_create(&threads[1], NULL, never_ending, NULL) != 0)
            _exit(4);
        _exit(td_jail_enter() ? try_in_thread() : TD_JAIL_REFUSED);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WEXITSTATUS(status) == TD_JAIL_REFUSED)
        skip();
    assert_int_equal(status, 0);
    assert_int_equal(access(file, F_OK), 0);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(file, sizeof(file), "%s/file", folder);
    snprintf(other, sizeof(other), "%s/other", folder);
    const int fd = open(file, O_CREAT | O_WRONLY, 0600);
    const bool written = fd >= 0 && write(fd, "text", 4) == 4;
    close(fd);
    return written ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(effects_are_refused),
        cmocka_unit_test(nothing_stays_writable),
        cmocka_unit_test(computing_is_allowed),
        cmocka_unit_test(threads_are_in_it),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
