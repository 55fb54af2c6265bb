/* SPDX-License-Identifier: MIT */
/*
 * A program that checks on itself while images of it are taken: victim MODE. It works for some
 * CPU time, prints what it found and exits with 0, or says what was not as it should be
 * and exits with 1. Its output does not depend on how often it was stopped.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORK_S    0.15
#define THREADS_S 0.6
#define LONG_S    1.5

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "victim: %s (errno %d)\n", what, errno);
    exit(1);
}

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t state = UINT64_C(88172645463325252);

static void work(long rounds)
{
    uint64_t x = state;

    for (long i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    state = x;
}

/* Whether there is work left; does some. Its result is checked at the end. */
static long chunks;
static double work_s = WORK_S;
static int more(void)
{
    if (seconds(CLOCK_PROCESS_CPUTIME_ID) > work_s)
        return 0;
    work(20000);
    chunks++;
    return 1;
}

/* All that was computed, computed anew. */
static void check_work(void)
{
    const uint64_t got = state;

    state = UINT64_C(88172645463325252);
    work(chunks * 20000);
    if (state != got)
        fail("a result is wrong");
}

static volatile sig_atomic_t signals;

static void on_signal(int signal)
{
    (void)signal;
    signals++;
}

static void handle(int signal, void (*handler)(int))
{
    const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

    sigaction(signal, &action, NULL);
}

/* Every signal that is sent arrives once; the mask and what is done for SIGTRAP stay. */
static void mode_signals(void)
{
    sig_atomic_t sent = 0;
    struct sigaction trap;
    sigset_t blocked, now;

    handle(SIGUSR1, on_signal);
    signal(SIGTRAP, SIG_IGN);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigaddset(&blocked, SIGTRAP);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    while (more()) {
        kill(getpid(), SIGUSR1);
        if (signals != ++sent)
            fail("a signal was lost, or came twice");
    }
    sigprocmask(SIG_BLOCK, NULL, &now);
    sigaction(SIGTRAP, NULL, &trap);
    if (!sigismember(&now, SIGTRAP) || !sigismember(&now, SIGUSR2) || sigismember(&now, SIGUSR1))
        fail("the signal mask has changed");
    if (trap.sa_handler != SIG_IGN)
        fail("what is done for SIGTRAP has changed");
}

/* A timer's signals interrupt the work all the time. */
static void mode_timer(void)
{
    const struct itimerval often = {{0, 700}, {0, 700}}, off = {{0, 0}, {0, 0}};

    handle(SIGALRM, on_signal);
    setitimer(ITIMER_REAL, &often, NULL);
    while (more())
        ;
    setitimer(ITIMER_REAL, &off, NULL);
    if (signals < 10)
        fail("the timer's signals are missing");
}

/* Calls that stop signals would interrupt (signal(7)) give what they give without: no EINTR. */
static void mode_calls(void)
{
    const int queue = epoll_create1(0);
    struct epoll_event event;
    int ends[2];
    char byte = 0;
    sigset_t set;
    const struct timespec little = {.tv_nsec = 300000};

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (queue < 0 || pipe(ends) < 0)
        fail("epoll or pipe");
    while (more()) {
        for (int i = 0; i < 20; i++)
            more();
        if (epoll_wait(queue, &event, 1, 1) != 0)
            fail("epoll_wait");
        if (sigtimedwait(&set, NULL, &little) >= 0 || errno != EAGAIN)
            fail("sigtimedwait");
        if (nanosleep(&little, NULL) != 0)
            fail("nanosleep");
        if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
            fail("a pipe");
    }
}

/* wait() sees the program's own children and no others. */
static void mode_wait(void)
{
    for (int i = 0; more(); i++) {
        int status = 0;
        const pid_t child = fork();

        if (child == 0) {
            work(50000);
            _exit(i & 63);
        }
        if (wait(&status) != child || !WIFEXITED(status) || WEXITSTATUS(status) != (i & 63))
            fail("wait gave another child");
        if (wait(&status) != -1 || errno != ECHILD)
            fail("there is a child that nobody made");
    }
}

static void mode_vfork(void)
{
    while (more()) {
        int status = 0;
        const pid_t child = vfork(); // NOLINT: what is tried

        if (child == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(9);
        }
        if (waitpid(child, &status, 0) != child || status != 0)
            fail("a command after vfork");
    }
}

/* What is closed is closed: a lock goes with its last descriptor. */
static void mode_locks(void)
{
    char name[] = "/tmp/victim-XXXXXX";

    close(mkstemp(name));
    while (more()) {
        const int file = open(name, O_RDWR);

        if (flock(file, LOCK_EX | LOCK_NB) < 0)
            fail("a lock outlived its descriptor");
        close(file);
    }
    unlink(name);
}

/* A file is read through, its offset moves as the program moves it. */
static void mode_offsets(void)
{
    char name[] = "/tmp/victim-XXXXXX";
    const int file = mkstemp(name);
    uint32_t block[256], next = 0;

    for (int i = 0; i < 1000; i++) {
        for (int k = 0; k < 256; k++)
            block[k] = next++;
        if (write(file, block, sizeof(block)) != sizeof(block))
            fail("write");
    }
    unlink(name);
    while (more()) {
        lseek(file, 0, SEEK_SET);
        for (uint32_t i = 0; i < 1000; i++) {
            if (read(file, block, sizeof(block)) != sizeof(block) || block[0] != i * 256)
                fail("the file's offset has moved");
        }
    }
}

/* Long enough that whoever asks meets a thread before it ends, on a slow machine too. */
static void *thread_work(void *arg)
{
    uint64_t x = (uint64_t)(uintptr_t)arg;

    for (long i = 0; i < 20000000; i++)
        x = x * UINT64_C(6364136223846793005) + 1;
    return (void *)(uintptr_t)(x | 1);
}

static void mode_threads(void)
{
    pthread_t threads[4];
    void *first = NULL, *result = NULL;

    work_s = THREADS_S;
    for (int round = 0; more(); round++) {
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, thread_work, (void *)7);
        for (int i = 0; i < 4; i++) {
            pthread_join(threads[i], &result);
            if (round == 0 && i == 0)
                first = result;
            if (result != first)
                fail("a thread's result is wrong");
        }
    }
}

/* Faults that the program handles itself, as collectors of garbage do. */
static volatile uint8_t *guarded;

static void on_fault(int signal)
{
    (void)signal;
    signals++;
    mprotect((void *)(uintptr_t)guarded, 4096, PROT_READ | PROT_WRITE);
}

static void mode_faults(void)
{
    sig_atomic_t wanted = 0;

    guarded = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handle(SIGSEGV, on_fault);
    while (more()) {
        mprotect((void *)(uintptr_t)guarded, 4096, PROT_READ);
        guarded[17]++;
        if (signals != ++wanted)
            fail("a fault was lost, or came twice");
    }
}

/* Memory that two processes share: no clone writes there. */
static void mode_shared(void)
{
    atomic_long *shared =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t child = fork();
    long mine = 0;

    while (more()) {
        for (int i = 0; i < 1000; i++, mine++)
            atomic_fetch_add(&shared[child == 0], 1);
        if (atomic_load(&shared[child == 0]) != mine)
            fail("somebody else writes to the shared memory");
    }
    if (child == 0)
        _exit(0);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
        fail("the other process");
}

/* Memory that no fork gets. */
static void mode_apart(void)
{
    const size_t size = 4 << 20;
    uint8_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    madvise(memory, size, MADV_DONTFORK);
    for (uint8_t i = 1; more(); i++) {
        memset(memory, i, size);
        for (int k = 0; k < 20; k++)
            more();
        if (memory[0] != i || memory[size - 1] != i)
            fail("memory that is not inherited has changed");
    }
}

/* Is stopped and continued all the time by another process. */
static void mode_stopped(void)
{
    const pid_t parent = getpid(), child = fork();

    if (child == 0) {
        for (;;) {
            kill(parent, SIGSTOP);
            usleep(2000);
            kill(parent, SIGCONT);
            usleep(3000);
            if (getppid() != parent)
                _exit(0);
        }
    }
    while (more())
        ;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    kill(parent, SIGCONT);
}

/* A filter that kills the process for making another. */
static void mode_confined(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_wait4, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof(filter) / sizeof(*filter), .filter = filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        exit(77);
    while (more())
        ;
}

/* No process more may be made. */
static void mode_limited(void)
{
    const struct rlimit one = {1, 1};

    if (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
        exit(77);
    prctl(PR_SET_DUMPABLE, 1);
    setrlimit(RLIMIT_NPROC, &one);
    while (more())
        ;
    if (fork() >= 0)
        exit(77);
}

/* By the parent: not before whoever takes an image of this process has let go of it. */
static void be_traced(void)
{
    for (int tries = 0; ptrace(PTRACE_TRACEME, 0, 0, 0) < 0; tries++) {
        if (tries == 50000)
            fail("nobody may trace");
        usleep(100);
    }
}

/* Traced already. */
static void mode_traced(void)
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        be_traced();
        raise(SIGSTOP);
        while (more())
            ;
        _exit(5);
    }
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
        ptrace(PTRACE_CONT, child, 0,
               (void *)(uintptr_t)(WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status)));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 5)
        fail("the traced process");
}

/* How many children there are, of any kind. */
static int children(void)
{
    char path[64], text[4096];
    int count = 0;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    const int file = open(path, O_RDONLY);
    const ssize_t n = file >= 0 ? read(file, text, sizeof(text)) : -1;
    if (n < 0)
        exit(77);
    for (ssize_t i = 0; i < n; i++)
        count += text[i] == ' ';
    close(file);
    return count;
}

/* Traces another, so that it waits for all that end. */
static void mode_tracer(void)
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        be_traced();
        for (;;)
            raise(SIGSTOP);
    }
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        fail("the traced process");
    while (children() > 1) /* from before it traced */
        waitpid(-1, &status, __WALL | WNOHANG);
    while (more()) {
        for (int i = 0; i < 20; i++)
            more();
        ptrace(PTRACE_CONT, child, 0, 0);
        if (waitpid(-1, &status, __WALL) != child || !WIFSTOPPED(status))
            fail("a tracer sees a child that nobody made");
    }
    kill(child, SIGKILL);
    if (waitpid(-1, &status, __WALL) != child || !WIFSIGNALED(status))
        fail("a tracer sees a child that nobody made");
}

/* Becomes another program again and again. */
static void mode_exec(char **argv)
{
    const int left = argv[2] ? (int)strtol(argv[2], NULL, 10) : 20;
    char text[16];
    char name[] = "exec";
    char *const next[] = {argv[0], name, text, NULL};

    work(2000000);
    if (left == 0)
        return;
    snprintf(text, sizeof(text), "%d", left - 1);
    execv("/proc/self/exe", next);
    fail("exec");
}

static void mode_long(void)
{
    work_s = LONG_S;
    while (more())
        ;
}

static void mode_work(void)
{
    while (more())
        ;
}

int main(int argc, char **argv)
{
    alarm(100); /* no test leaves it behind */
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {
        {"work", mode_work},       {"long", mode_long},         {"signals", mode_signals},
        {"timer", mode_timer},     {"calls", mode_calls},       {"wait", mode_wait},
        {"vfork", mode_vfork},     {"locks", mode_locks},       {"offsets", mode_offsets},
        {"threads", mode_threads}, {"faults", mode_faults},     {"shared", mode_shared},
        {"stopped", mode_stopped}, {"confined", mode_confined}, {"limited", mode_limited},
        {"traced", mode_traced},   {"tracer", mode_tracer},     {"apart", mode_apart},
    };

    if (argc > 1 && strcmp(argv[1], "exec") == 0) {
        mode_exec(argv);
        puts("sound");
        return 0;
    }
    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++) {
        if (strcmp(modes[i].name, argv[1]) != 0)
            continue;
        modes[i].run();
        check_work();
        puts("sound");
        return 0;
    }
    return 2;
}
