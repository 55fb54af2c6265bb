/* SPDX-License-Identifier: MIT */
/*
 * Programs whose ways with the kernel are easy to disturb: subjects MODE. Each works for some
 * tenths of a second, checks on itself, and prints the same whatever the time; tests/live/victim.c
 * has more.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define WORK_S 0.4

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "subjects: %s (errno %d)\n", what, errno);
    exit(1);
}

static void check(int true_, const char *what)
{
    if (!true_)
        fail(what);
}

static uint64_t work(uint64_t x, long rounds)
{
    for (long i = 0; i < rounds; i++)
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return x;
}

/* Whether there is work left; does some. */
static int more(void)
{
    struct timespec t;
    static volatile uint64_t state = 1;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    state = work(state, 20000);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9 < WORK_S;
}

static volatile sig_atomic_t signals;

static void on_signal(int signal)
{
    (void)signal;
    signals++;
}

/* ---- signals and time ---- */

static void on_stack(int signal)
{
    volatile uint8_t room[8192];

    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = (uint8_t)(i + (size_t)signal);
    signals += room[77] == (uint8_t)(77 + signal);
}

static void mode_altstack(void)
{
    const stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    const struct sigaction action = {.sa_handler = on_stack, .sa_flags = SA_ONSTACK};
    sig_atomic_t sent = 0;
    stack_t now;

    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    while (more()) {
        raise(SIGUSR1);
        check(signals == ++sent, "a handler on its own stack");
        check(sigaltstack(NULL, &now) == 0 && now.ss_sp == stack.ss_sp && now.ss_flags == 0,
              "the stack of handlers");
    }
}

static void mode_itimers(void)
{
    static const int which[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
    const struct itimerval often = {{0, 2000}, {0, 2000}}, off = {{0, 0}, {0, 0}};
    const struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: EINTR is its own */
    const struct timespec little = {.tv_nsec = 500000};

    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
    sigaction(SIGPROF, &action, NULL);
    for (int i = 0; i < 3; i++)
        setitimer(which[i], &often, NULL);
    for (int i = 0; more(); i++) {
        const sig_atomic_t before = signals;

        if (i % 50 == 0)
            check(nanosleep(&little, NULL) == 0 || (errno == EINTR && signals > before), "EINTR");
    }
    for (int i = 0; i < 3; i++)
        setitimer(which[i], &off, NULL);
    check(signals > 20, "timers");
}

static void mode_alarm(void)
{
    const struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGALRM, &action, NULL);
    alarm(1);
    while (more())
        ;
    check(alarm(50) <= 1, "alarm");
    alarm(0);
}

/* Children end all the time; their parent counts SIGCHLD and what wait says. */
static void mode_sigchld(void)
{
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NOCLDSTOP};
    sigset_t only, before;

    sigaction(SIGCHLD, &action, NULL);
    sigemptyset(&only);
    sigaddset(&only, SIGCHLD);
    sigprocmask(SIG_BLOCK, &only, &before);
    for (int i = 0; more(); i++) {
        const sig_atomic_t seen = signals;
        int status = 0;
        const pid_t child = fork();

        if (child == 0) {
            work(1, 20000);
            _exit(i & 31);
        }
        while (signals == seen)
            sigsuspend(&before);
        check(waitpid(-1, &status, WNOHANG) == child && WEXITSTATUS(status) == (i & 31), "wait");
        check(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD, "a child too many");
        check(signals == seen + 1, "SIGCHLD");
    }
}

static void mode_signalfd(void)
{
    struct signalfd_siginfo info;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN + 1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    const int fd = signalfd(-1, &set, SFD_NONBLOCK);
    for (int i = 0; more(); i++) {
        const union sigval value = {.sival_int = i};

        sigqueue(getpid(), SIGRTMIN + 1, value);
        check(read(fd, &info, sizeof(info)) == sizeof(info) && info.ssi_int == i, "signalfd");
        check(read(fd, &info, sizeof(info)) < 0 && errno == EAGAIN, "a signal too many");
    }
}

static void mode_timerfd(void)
{
    const struct itimerspec often = {{0, 1000000}, {0, 1000000}};
    const int timer = timerfd_create(CLOCK_MONOTONIC, 0), queue = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    uint64_t ticks = 0;
    int rounds = 0;

    timerfd_settime(timer, 0, &often, NULL);
    epoll_ctl(queue, EPOLL_CTL_ADD, timer, &event);
    while (more()) {
        if (++rounds % 20)
            continue;
        check(epoll_wait(queue, &event, 1, 1000) == 1, "epoll_wait");
        check(read(timer, &ticks, sizeof(ticks)) == sizeof(ticks) && ticks > 0, "timerfd");
    }
}

/* ---- files and memory ---- */

static void mode_inotify(void)
{
    char folder[] = "/tmp/subjects-XXXXXX", name[64], buffer[4096];
    const int fd = inotify_init1(IN_NONBLOCK);

    check(mkdtemp(folder) != NULL, "mkdtemp");
    snprintf(name, sizeof(name), "%s/file", folder);
    inotify_add_watch(fd, folder, IN_CREATE | IN_DELETE | IN_OPEN | IN_ACCESS);
    while (more()) {
        close(open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        unlink(name);
        /* made, opened, gone: nobody else has looked */
        const ssize_t n = read(fd, buffer, sizeof(buffer));
        int events = 0;
        for (ssize_t at = 0; at < n; events++)
            at += (ssize_t)(sizeof(struct inotify_event) + 16);
        check(events == 3, "inotify");
    }
    rmdir(folder);
}

static void mode_mlock(void)
{
    const size_t size = 4 << 20;
    uint8_t *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (mlock(memory, size) < 0)
        exit(77);
    for (uint8_t i = 1; more(); i++) {
        memset(memory, i, size);
        check(memory[4095] == i && memory[size - 1] == i, "locked memory");
    }
    check(munlock(memory, size) == 0, "munlock");
}

/* Memory that forks do not get, or get as zeros. */
static void mode_dontfork(void)
{
    const size_t size = 1 << 20;
    uint8_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    madvise(memory, size / 2, MADV_DONTFORK);
    madvise(memory + size / 2, size / 2, MADV_WIPEONFORK);
    for (uint8_t i = 1; more(); i++) {
        memset(memory, i, size);
        check(memory[77] == i && memory[size - 1] == i, "memory that is not inherited");
    }
}

static void mode_shm(void)
{
    const int id = shmget(IPC_PRIVATE, 4096, 0600), semaphore = semget(IPC_PRIVATE, 2, 0600);
    struct sembuf give = {0, 1, 0}, take = {1, -1, 0};
    volatile long *shared = shmat(id, NULL, 0);
    const pid_t child = fork();

    if (child == 0) {
        struct sembuf get = {0, -1, 0}, back = {1, 1, 0};

        while (semop(semaphore, &get, 1) == 0) {
            shared[1] = shared[0] * 3;
            semop(semaphore, &back, 1);
        }
        _exit(errno == EIDRM ? 4 : 5);
    }
    for (long i = 0; more(); i++) {
        shared[0] = i;
        check(semop(semaphore, &give, 1) == 0 && semop(semaphore, &take, 1) == 0, "semop");
        check(shared[1] == i * 3, "shared memory");
    }
    int status = 0;
    semctl(semaphore, 0, IPC_RMID);
    check(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4, "the other process");
    shmctl(id, IPC_RMID, NULL);
}

static void mode_uring(void)
{
    struct io_uring_params params = {0};
    char name[] = "/tmp/subjects-XXXXXX";
    uint64_t data = 0, back = 0;
    const int file = mkstemp(name), ring = (int)syscall(SYS_io_uring_setup, 8, &params);

    unlink(name);
    if (ring < 0)
        exit(77);
    uint8_t *queues =
        mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *requests =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    if (queues == MAP_FAILED || requests == MAP_FAILED)
        exit(77);
    volatile unsigned *tail = (void *)(queues + params.sq_off.tail);
    volatile unsigned *done = (void *)(queues + params.cq_off.head);
    unsigned *array = (void *)(queues + params.sq_off.array);
    const unsigned mask = *(unsigned *)(void *)(queues + params.sq_off.ring_mask);
    for (unsigned i = 0; more(); i++) {
        const unsigned slot = *tail & mask;

        data = i * UINT64_C(77);
        check(pwrite(file, &data, sizeof(data), 0) == sizeof(data), "pwrite");
        requests[slot] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                               .fd = file,
                                               .addr = (uintptr_t)&back,
                                               .len = sizeof(back),
                                               .user_data = i};
        array[slot] = slot;
        __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
        check(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1,
              "io_uring_enter");
        __atomic_store_n(done, *done + 1, __ATOMIC_RELEASE);
        check(back == data, "io_uring");
    }
}

/* ---- limits and rights ---- */

static void mode_file_limit(void)
{
    const struct rlimit size = {4096, 4096}, files = {8, 8};
    const struct sigaction action = {.sa_handler = on_signal};
    char name[] = "/tmp/subjects-XXXXXX";
    const int file = mkstemp(name);

    unlink(name);
    sigaction(SIGXFSZ, &action, NULL);
    setrlimit(RLIMIT_FSIZE, &size);
    setrlimit(RLIMIT_NOFILE, &files);
    for (sig_atomic_t i = 1; more(); i++) {
        check(pwrite(file, "x", 1, 4096) < 0 && errno == EFBIG && signals == i, "RLIMIT_FSIZE");
        const int a = dup(file), b = dup(file), c = dup(file), d = dup(file), e = dup(file);
        check(dup(file) < 0 && errno == EMFILE, "RLIMIT_NOFILE");
        close(a), close(b), close(c), close(d), close(e);
    }
}

static void mode_memory_limit(void)
{
    const struct rlimit room = {256 << 20, 256 << 20};

    setrlimit(RLIMIT_AS, &room);
    while (more())
        check(mmap(NULL, 512 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED,
              "RLIMIT_AS");
}

/* Dies of its limit: the status says so. */
static void mode_cpu_limit(void)
{
    const struct rlimit one = {1, 2};

    setrlimit(RLIMIT_CPU, &one);
    for (;;)
        more();
}

static void mode_setuid(void)
{
    if (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
        exit(77);
    while (more())
        check(geteuid() == getuid() && kill(1, 0) < 0 && errno == EPERM, "rights");
}

static void mode_strict(void)
{
    static volatile uint64_t state = 1;

    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
        exit(77);
    state = work(state, 400000000);
    syscall(SYS_exit, (long)(state & 1) + 20);
}

/* What it does not list kills it. */
static void mode_sandbox(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof(filter) / sizeof(*filter), .filter = filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        exit(77);
    while (more())
        ;
    static const char sound[] = "sound\n";
    (void)!write(1, sound, sizeof(sound) - 1);
    _exit(0);
}

/* ---- processes and threads ---- */

/* The daemon outlives its parents; its file says that it has done its work. */
static void mode_daemon(char **argv)
{
    const char *path = argv[2] ? argv[2] : "/tmp/subjects-daemon";
    char part[4096];
    const pid_t child = fork();
    int status = 0;

    if (child > 0) {
        check(waitpid(child, &status, 0) == child && status == 0, "the first child");
        return;
    }
    setsid();
    if (fork() != 0)
        _exit(0);
    check(chdir("/") == 0, "chdir");
    while (more())
        ;
    snprintf(part, sizeof(part), "%s.part", path);
    const int file = open(part, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    (void)!write(file, "worked\n", 7);
    close(file);
    rename(part, path);
    _exit(0);
}

/* A server that has its workers before it has requests. */
static void mode_prefork(void)
{
    int pairs[4][2];
    pid_t children[4];

    for (int i = 0; i < 4; i++) {
        check(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pairs[i]) == 0, "socketpair");
        children[i] = fork();
        if (children[i] == 0) {
            uint64_t x;

            close(pairs[i][0]);
            for (int k = 0; k < i; k++)
                close(pairs[k][0]); /* else the end of the others is not seen */
            while (recv(pairs[i][1], &x, sizeof(x), 0) == sizeof(x)) {
                x = work(x, 30000);
                send(pairs[i][1], &x, sizeof(x), 0);
            }
            _exit(i);
        }
        close(pairs[i][1]);
    }
    for (uint64_t n = 0; n < 4000; n++) {
        uint64_t x = n;

        check(send(pairs[n & 3][0], &x, sizeof(x), 0) == sizeof(x) &&
                  recv(pairs[n & 3][0], &x, sizeof(x), 0) == sizeof(x) && x == work(n, 30000),
              "a worker's answer");
    }
    for (int i = 0; i < 4; i++) {
        int status = 0;

        close(pairs[i][0]);
        check(waitpid(children[i], &status, 0) == children[i] && WEXITSTATUS(status) == i,
              "worker");
    }
}

static void mode_spawn(void)
{
    char name[] = "sh", option[] = "-c", text[] = "kill -TERM $$";
    char *const argv[] = {name, option, text, NULL}, *const env[] = {NULL};

    while (more()) {
        pid_t child = 0;
        int status = 0;

        check(posix_spawn(&child, "/bin/sh", NULL, NULL, argv, env) == 0, "posix_spawn");
        check(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
                  WTERMSIG(status) == SIGTERM,
              "a command's signal");
    }
}

/* Stacks so small that nobody else may write below the stack pointer. */
static ucontext_t main_context, contexts[8];
static uint64_t results[8];

static void coroutine(int self)
{
    for (;;) {
        results[self] = work(results[self], 5000);
        swapcontext(&contexts[self], &main_context);
    }
}

static void mode_coroutines(void)
{
    static uint64_t stacks[8][1024];
    static uint64_t expected = 1;

    for (int i = 0; i < 8; i++) {
        results[i] = 1;
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
        makecontext(&contexts[i], (void (*)(void))coroutine, 1, i); // NOLINT: how it is declared
    }
    while (more()) {
        expected = work(expected, 5000);
        for (int i = 0; i < 8; i++) {
            swapcontext(&main_context, &contexts[i]);
            check(results[i] == expected, "a coroutine");
        }
    }
}

static pthread_mutex_t robust;

static void *die_with_it(void *arg)
{
    pthread_mutex_lock(&robust);
    return arg;
}

static void mode_robust(void)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    while (more()) {
        pthread_t thread;

        pthread_create(&thread, NULL, die_with_it, NULL);
        pthread_join(thread, NULL);
        check(pthread_mutex_lock(&robust) == EOWNERDEAD, "a mutex whose owner died");
        pthread_mutex_consistent(&robust);
        pthread_mutex_unlock(&robust);
    }
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long produced, consumed;
static int over;

static void *consume(void *arg)
{
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (produced == consumed && !over)
            pthread_cond_wait(&changed, &mutex);
        if (produced == consumed)
            break;
        consumed++;
        pthread_mutex_unlock(&mutex);
        work(1, 5000);
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void mode_queue(void)
{
    pthread_t threads[8];

    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, consume, NULL);
    while (more()) {
        pthread_mutex_lock(&mutex);
        produced += 3;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
    }
    pthread_mutex_lock(&mutex);
    over = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    check(produced == consumed, "the queue");
}

/* The first thread ends, the others go on. */
static void *outlive(void *arg)
{
    while (more())
        ;
    puts("sound");
    exit(3);
    return arg;
}

static void mode_leader(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, outlive, NULL);
    pthread_exit(NULL);
}

static void mode_segv(void)
{
    const struct rlimit none = {0, 0};

    setrlimit(RLIMIT_CORE, &none);
    while (more())
        ;
    uint8_t *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile uint8_t *)memory = 1;
}

static void mode_abort(void)
{
    const struct rlimit none = {0, 0};

    setrlimit(RLIMIT_CORE, &none);
    while (more())
        ;
    abort();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {
        {"altstack", mode_altstack},
        {"itimers", mode_itimers},
        {"alarm", mode_alarm},
        {"sigchld", mode_sigchld},
        {"signalfd", mode_signalfd},
        {"timerfd", mode_timerfd},
        {"inotify", mode_inotify},
        {"mlock", mode_mlock},
        {"dontfork", mode_dontfork},
        {"shm", mode_shm},
        {"uring", mode_uring},
        {"file_limit", mode_file_limit},
        {"memory_limit", mode_memory_limit},
        {"cpu_limit", mode_cpu_limit},
        {"setuid", mode_setuid},
        {"strict", mode_strict},
        {"sandbox", mode_sandbox},
        {"prefork", mode_prefork},
        {"spawn", mode_spawn},
        {"coroutines", mode_coroutines},
        {"robust", mode_robust},
        {"queue", mode_queue},
        {"leader", mode_leader},
        {"segv", mode_segv},
        {"abort", mode_abort},
    };

    if (argc > 1 && strcmp(argv[1], "daemon") == 0) {
        mode_daemon(argv);
        puts("sound");
        return 0;
    }
    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++) {
        if (strcmp(modes[i].name, argv[1]) != 0)
            continue;
        modes[i].run();
        puts("sound");
        return 0;
    }
    fputs("subjects: a mode is missing\n", stderr);
    return 2;
}
