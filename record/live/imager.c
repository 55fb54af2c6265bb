/* SPDX-License-Identifier: MIT */
#include "record/live/imager.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "base/text.h"

/* How often a wait for a thread looks whether anybody still wants the image. */
#define LOOK_US 20000
/* The same while a thread is watched. */
#define LOOK_SOON_US 1000
/* How long to look for a thread that runs, and after which time again. */
#define SEARCH_NS UINT64_C(4000000)
#define AGAIN_NS  300000
/* Threads that were in a call, in a restartable sequence or met by a signal: how often another is
 * tried. */
#define TRIES 4

/* How often it is tried to let a program reap a clone. */
#define TIDY_MS 2

struct request {
    uint64_t number;
    uint32_t count, calls;
    pid_t processes[TD_IMAGER_PROCESSES];
};

/* What the helper says: of a clone, before it does anything with it; at last the result. */
struct answer {
    pid_t clone; /* 0: it is the result */
    struct td_live_result result;
};

/* Clones that are remembered: their samples come a moment later. */
#define CLONES 64

struct td_imager {
    pid_t id;
    int socket;
    bool asked, answered;
    struct td_live_result result; /* when it is answered */
    pid_t clones[CLONES];
    size_t clone_count; /* in all; the last are kept */
};

/* ---- the helper ---- */

/* Whether tdrec is gone. */
static bool is_left(void *ctx)
{
    char byte;
    const ssize_t n = recv(*(const int *)ctx, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

static void tell_clone(void *ctx, pid_t clone)
{
    const struct answer answer = {.clone = clone};

    /* When nobody hears it, that is found at the end. */
    (void)!send(*(const int *)ctx, &answer, sizeof(answer), MSG_NOSIGNAL);
}

static void on_alarm(int signal)
{
    (void)signal; /* interrupts waitpid */
}

static void look_every(long us)
{
    const struct itimerval timer = {.it_interval.tv_usec = us, .it_value.tv_usec = us};

    setitimer(ITIMER_REAL, &timer, NULL);
}

static void hasten(void *ctx, bool much)
{
    (void)ctx;
    look_every(much ? LOOK_SOON_US : LOOK_US);
}

/* Nothing that ends tdrec ends the helper, before it has seen to the programs. */
static void settle_in(int socket)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2};
    const struct sigaction alarm = {.sa_handler = on_alarm}; /* no SA_RESTART */
    sigset_t none;

    sigemptyset(&none);
    for (size_t i = 0; i < TD_ARRAY_SIZE(ignored); i++)
        signal(ignored[i], SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigaction(SIGALRM, &alarm, NULL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    prctl(PR_SET_NAME, "td-imager");
    prctl(PR_SET_TIMERSLACK, 1);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3 && null >= 0; i++)
        dup2(null, i);
    if (socket > 3)
        close_range(3, (unsigned)socket - 1, 0);
    close_range((unsigned)socket + 1, ~0u, 0);
    look_every(LOOK_US);
}

struct choice {
    pid_t process, thread;
    uint64_t seen, random;
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15)); /* splitmix64 */

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Each thread that runs is as likely as any other: so, in the long run, a thread is taken as often
 * as it uses CPU time. */
static void choose_of(struct choice *choice, pid_t process)
{
    char folder[64];

    snprintf(folder, sizeof(folder), "/proc/%d/task", process);
    char **names = td_procfs_names(NULL, folder);
    for (char **name = names; name && *name; name++) {
        uint64_t thread = 0;

        if (!td_parse_u64(*name, &thread) || !td_live_thread_runs(process, (pid_t)thread))
            continue;
        choice->seen++;
        if (next_random(&choice->random) % choice->seen == 0) {
            choice->process = process;
            choice->thread = (pid_t)thread;
        }
    }
    td_procfs_names_free(names);
}

static bool choose(struct choice *choice, const struct request *request)
{
    const uint64_t begin_ns = td_clock_ns();

    choice->random = begin_ns ^ request->number;
    do {
        choice->seen = 0;
        for (uint32_t i = 0; i < request->count; i++)
            choose_of(choice, request->processes[i]);
        if (choice->seen > 0)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = AGAIN_NS}, NULL);
    } while (td_clock_ns() - begin_ns < SEARCH_NS);
    return false;
}

static bool may_try_again(enum td_live_outcome outcome)
{
    return outcome == TD_LIVE_IN_CALL || outcome == TD_LIVE_SEQUENCE || outcome == TD_LIVE_SIGNAL ||
           outcome == TD_LIVE_GONE;
}

static void serve(struct td_capture *capture, const struct request *request, int fd,
                  struct td_live_result *result)
{
    struct choice choice = {0};

    *result = (struct td_live_result){.outcome = TD_LIVE_IDLE, .number = request->number};
    snprintf(result->text, sizeof(result->text), "%s", td_live_outcome_text(TD_LIVE_IDLE));
    for (int i = 0; i < TRIES && choose(&choice, request); i++) {
        td_capture_take(capture,
                        &(struct td_capture_order){.process = choice.process,
                                                   .thread = choice.thread,
                                                   .number = request->number,
                                                   .calls = request->calls},
                        fd, result);
        if (!may_try_again(result->outcome))
            return;
        nanosleep(&(struct timespec){.tv_nsec = (long)(next_random(&choice.random) % AGAIN_NS)},
                  NULL);
    }
}

/* A message with a descriptor; -1: there is none. 0: tdrec is gone. */
static ssize_t receive(int socket, struct request *request, int *fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = request, .iov_len = sizeof(*request)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t n;

    *fd = -1;
    do
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    const struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head && head->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(head), sizeof(*fd));
    return n;
}

/* Until tdrec asks; meanwhile programs are let reap their clones. */
static void wait_for_work(struct td_capture *capture, int socket)
{
    struct pollfd wait = {.fd = socket, .events = POLLIN};

    while (td_capture_untidy(capture) && poll(&wait, 1, TIDY_MS) == 0)
        td_capture_tidy(capture);
}

static _Noreturn void help(int socket)
{
    const struct td_live_waiting waiting = {
        .quit = is_left, .cloned = tell_clone, .hasten = hasten, .ctx = &socket};
    struct td_capture *capture = td_capture_new(&waiting);
    struct request *request = td_xcalloc(1, sizeof(*request));
    struct answer answer = {.clone = 0};
    int fd;

    while (wait_for_work(capture, socket), receive(socket, request, &fd) > 0) {
        serve(capture, request, fd, &answer.result);
        if (fd >= 0)
            close(fd);
        if (send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
            break;
    }
    td_capture_free(capture);
    _exit(0);
}

/* ---- tdrec's side ---- */

int td_imager_new(struct td_imager **ret, struct td_err *err)
{
    int sockets[2];

    if (!td_procfs_is_ours())
        return td_fail(err, TD_EUNSUPPORTED,
                       "/proc shows other processes than this program sees: mount it anew");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return td_fail_errno(err, TD_EIO, errno, "cannot make a socket for the imager");
    const pid_t id = fork();
    if (id == 0) {
        settle_in(sockets[1]);
        help(sockets[1]);
    }
    close(sockets[1]);
    if (id < 0) {
        const int error = errno;

        close(sockets[0]);
        return td_fail_errno(err, TD_EIO, error, "cannot start the imager");
    }
    struct td_imager *imager = td_xcalloc(1, sizeof(*imager));
    *imager = (struct td_imager){.id = id, .socket = sockets[0]};
    *ret = imager;
    return TD_OK;
}

pid_t td_imager_id(const struct td_imager *imager)
{
    return imager->id;
}

int td_imager_fd(const struct td_imager *imager)
{
    return imager->socket;
}

int td_imager_ask(struct td_imager *imager, const struct td_imager_order *order, int fd,
                  struct td_err *err)
{
    struct request request = {.number = order->number, .calls = order->calls};
    const size_t count = order->count;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = &request, .iov_len = sizeof(request)};
    const struct msghdr message = {.msg_iov = &part,
                                   .msg_iovlen = 1,
                                   .msg_control = &control,
                                   .msg_controllen = sizeof(control)};

    if (imager->asked)
        return td_fail(err, TD_EUSAGE, "an image is being taken already");
    request.count = (uint32_t)(count < TD_IMAGER_PROCESSES ? count : TD_IMAGER_PROCESSES);
    memcpy(request.processes, order->processes, request.count * sizeof(*order->processes));
    control.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    if (sendmsg(imager->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return td_fail_errno(err, TD_EIO, errno, "the imager does not answer");
    imager->asked = true;
    return TD_OK;
}

/* Takes what the helper has said. */
static void hear(struct td_imager *imager)
{
    struct answer answer;

    while (imager->asked && !imager->answered) {
        const ssize_t n = recv(imager->socket, &answer, sizeof(answer), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return;
        if (n == (ssize_t)sizeof(answer) && answer.clone != 0) {
            imager->clones[imager->clone_count++ % CLONES] = answer.clone;
            continue;
        }
        imager->answered = true;
        imager->result = answer.result;
        if (n == (ssize_t)sizeof(answer))
            continue;
        imager->result = (struct td_live_result){.outcome = TD_LIVE_FAILED};
        snprintf(imager->result.text, sizeof(imager->result.text),
                 "the imager has ended by itself");
    }
}

bool td_imager_answer(struct td_imager *imager, struct td_live_result *result)
{
    hear(imager);
    if (!imager->answered)
        return false;
    imager->asked = imager->answered = false;
    *result = imager->result;
    return true;
}

bool td_imager_cloned(struct td_imager *imager, pid_t process)
{
    hear(imager);
    for (size_t i = 0; i < imager->clone_count && i < CLONES; i++) {
        if (imager->clones[i] == process)
            return true;
    }
    return false;
}

bool td_imager_asked(const struct td_imager *imager)
{
    return imager->asked && !imager->answered;
}

void td_imager_free(struct td_imager *imager)
{
    if (!imager)
        return;
    shutdown(imager->socket,
             SHUT_RDWR); /* a child that has not executed anything yet holds it too */
    close(imager->socket);
    while (waitpid(imager->id, NULL, 0) < 0 && errno == EINTR)
        ;
    free(imager);
}
