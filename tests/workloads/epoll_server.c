/* SPDX-License-Identifier: MIT */
/*
 * A server of small requests, and who asks it:
 *
 *   epoll_server serve            prints its port, serves until a client says so, prints its count
 *   epoll_server ask PORT SECONDS asks over 8 connections at a time, checks each reply, ends the
 *                                 server, prints its count
 *
 * A request is a number, the reply a number that takes about 6,000 instructions: one epoll_wait for
 * those that are there, and one read and one write for each.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 8, EVENTS = 16, ROUNDS = 1150, LAST = 0 };

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(1);
}

__attribute__((noinline)) static uint64_t reply_to(uint64_t number)
{
    for (int i = 0; i < ROUNDS; i++) {
        number ^= number << 13;
        number ^= number >> 7;
    }
    return number;
}

static int tcp(void)
{
    const int one = 1;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
        fail("socket");
    return fd;
}

static void watch(int poll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) < 0)
        fail("epoll_ctl");
}

/* False: the client asked for the end. */
static int answer(int poll, int fd, unsigned long *count)
{
    char text[64];
    const ssize_t n = read(fd, text, sizeof(text) - 1);

    if (n <= 0) {
        epoll_ctl(poll, EPOLL_CTL_DEL, fd, NULL);
        close(fd);
        return 1;
    }
    text[n] = '\0';
    const uint64_t number = strtoull(text, NULL, 10);
    if (number == LAST)
        return 0;
    const int len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)reply_to(number));
    if (write(fd, text, (size_t)len) != len)
        fail("write");
    ++*count;
    return 1;
}

static void serve(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event events[EVENTS];
    socklen_t size = sizeof(at);
    unsigned long count = 0;
    const int door = tcp(), poll = epoll_create1(0);

    if (bind(door, (void *)&at, size) < 0 || listen(door, CONNECTIONS) < 0 ||
        getsockname(door, (void *)&at, &size) < 0)
        fail("listen");
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    watch(poll, door);
    for (int more = 1; more;) {
        const int n = epoll_wait(poll, events, EVENTS, -1);

        if (n < 0)
            fail("epoll_wait"); /* EINTR too: nobody sends it signals */
        for (int i = 0; i < n && more; i++) {
            if (events[i].data.fd == door)
                watch(poll, accept(door, NULL, NULL));
            else
                more = answer(poll, events[i].data.fd, &count);
        }
    }
    printf("served %lu\n", count);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void send_to(int fd, uint64_t number)
{
    char text[32];
    const int len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)number);

    if (write(fd, text, (size_t)len) != len)
        fail("write");
}

static void take_from(int fd, uint64_t wanted)
{
    char text[64];
    const ssize_t n = read(fd, text, sizeof(text) - 1);

    text[n > 0 ? n : 0] = '\0';
    if (n <= 0 || text[n - 1] != '\n' || strtoull(text, NULL, 10) != wanted) {
        fprintf(stderr, "a reply is wrong: %s\n", text);
        exit(1);
    }
}

static void ask(int port, double how_long)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fds[CONNECTIONS];
    unsigned long count = 0;

    for (int i = 0; i < CONNECTIONS; i++) {
        fds[i] = tcp();
        if (connect(fds[i], (const void *)&at, sizeof(at)) < 0)
            fail("connect");
    }
    for (const double end = seconds() + how_long; seconds() < end; count += CONNECTIONS) {
        for (int i = 0; i < CONNECTIONS; i++)
            send_to(fds[i], count + (unsigned)i + 1);
        for (int i = 0; i < CONNECTIONS; i++)
            take_from(fds[i], reply_to(count + (unsigned)i + 1));
    }
    send_to(fds[0], LAST);
    printf("asked %lu\n", count);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        serve();
    else if (argc == 4 && strcmp(argv[1], "ask") == 0)
        ask((int)strtol(argv[2], NULL, 10), strtod(argv[3], NULL));
    else
        return 2;
    return 0;
}
