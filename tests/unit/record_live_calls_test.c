/* SPDX-License-Identifier: MIT */
/* System calls that are noted: what the kernel wrote is found again, wherever the memory lies. The
 * calls are made here, by the kernel; this process is the thread that stands still. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/live/call_table.h"
#include "record/sim/share/live_calls.h"

#if defined(__x86_64__)

/* Made by the kernel and noted. */
static int64_t make(struct td_buf *log, long number, const uint64_t arguments[6])
{
    struct td_live_call call = {.number = (uint32_t)number, .time_ns = 77};

    memcpy(call.arguments, arguments, sizeof(call.arguments));
    call.result = syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                          arguments[4], arguments[5]);
    assert_int_equal(td_live_call_kind(call.number), TD_LIVE_CALL_NOTED);
    assert_true(td_live_call_note(log, getpid(), &call));
    return call.result;
}

static uint64_t address(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

static bool peek(void *ctx, uint64_t from, void *to, size_t size)
{
    (void)ctx;
    memcpy(to, (const void *)(uintptr_t)from, size); // NOLINT
    return true;
}

static bool put(void *ctx, uint64_t to, size_t at, size_t size)
{
    const struct td_live_part *part = ctx;

    memcpy((void *)(uintptr_t)to, part->bytes + at, size); // NOLINT
    return true;
}

/* The next call, whose memory is written again, to where these arguments lead. */
static struct td_live_call again(struct td_rd *rd, const uint64_t arguments[6])
{
    struct td_live_call call = {.number = 0};
    struct td_live_part part;

    assert_true(td_live_call_next(rd, &call));
    struct td_rd parts = td_rd_init(call.parts, call.parts_size, 0);
    while (td_live_part_next(&parts, &part)) {
        if (!part.weak)
            assert_true(td_live_part_place(&part, arguments, peek, put, &part));
    }
    assert_true(td_rd_ok(&parts));
    assert_int_equal(call.time_ns, 77);
    return call;
}

static void test_read(void **state)
{
    int ends[2];
    char own[16] = "", other[16] = "";
    struct td_buf log = {0};
    const uint64_t to_own[6] = {0, address(own), sizeof(own)};
    uint64_t reads[6];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "five", 5), 5);
    memcpy(reads, to_own, sizeof(reads));
    reads[0] = (uint64_t)ends[0];
    assert_int_equal(make(&log, SYS_read, reads), 5);
    struct td_rd rd = td_rd_init(log.data, log.len, 0);
    reads[1] = address(other); /* the memory lies elsewhere */
    const struct td_live_call call = again(&rd, reads);
    assert_string_equal(other, "five");
    assert_int_equal(call.result, 5);
    assert_int_equal(call.same, 1);
    assert_int_equal(call.room, 2);
    assert_int_equal(td_rd_left(&rd), 0);
    td_buf_release(&log);
    close(ends[0]);
    close(ends[1]);
}

static void test_vectors(void **state)
{
    int pair[2];
    char a[4] = "", b[8] = "", control[64] = "";
    struct iovec parts[2] = {{a, 3}, {b, 8}};
    struct sockaddr_storage name;
    struct msghdr message = {.msg_name = &name,
                             .msg_namelen = sizeof(name),
                             .msg_iov = parts,
                             .msg_iovlen = 2,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    struct td_buf log = {0};

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
    assert_int_equal(send(pair[1], "abcdef", 7, 0), 7);
    assert_int_equal(send(pair[1], "ghijkl", 7, 0), 7);
    const uint64_t receives[6] = {(uint64_t)pair[0], address(&message)};
    const uint64_t reads[6] = {(uint64_t)pair[0], address(parts), 2};
    assert_int_equal(make(&log, SYS_recvmsg, receives), 7);
    memset(a, 0, sizeof(a)), memset(b, 0, sizeof(b));
    assert_int_equal(make(&log, SYS_readv, reads), 7);
    memset(a, 0, sizeof(a)), memset(b, 0, sizeof(b));
    message.msg_namelen = message.msg_controllen = 33;
    struct td_rd rd = td_rd_init(log.data, log.len, 0);
    again(&rd, receives);
    assert_memory_equal(a, "abc", 3);
    assert_string_equal(b, "def");
    assert_int_equal(message.msg_namelen, 0);
    assert_int_equal(message.msg_controllen, 0);
    again(&rd, reads);
    assert_memory_equal(a, "ghi", 3);
    assert_string_equal(b, "jkl");
    td_buf_release(&log);
    close(pair[0]);
    close(pair[1]);
}

static void test_events(void **state)
{
    int ends[2];
    struct epoll_event events[4] = {{0}}, event = {.events = EPOLLIN, .data.u64 = 1234567890123};
    struct pollfd waits[2];
    struct td_buf log = {0};
    const int set = epoll_create1(0);

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    waits[0] = (struct pollfd){.fd = -1, .events = POLLIN};
    waits[1] = (struct pollfd){.fd = ends[0], .events = POLLIN};
    const uint64_t polls[6] = {address(waits), 2, 0};
    const uint64_t epolls[6] = {(uint64_t)set, address(events), 4, 0};
    assert_int_equal(make(&log, SYS_epoll_wait, epolls), 1);
    assert_int_equal(make(&log, SYS_poll, polls), 1);
    memset(events, 0, sizeof(events));
    waits[1].revents = 0;
    struct td_rd rd = td_rd_init(log.data, log.len, 0);
    again(&rd, epolls);
    assert_int_equal(events[0].data.u64, 1234567890123);
    assert_int_equal(events[1].data.u64, 0);
    again(&rd, polls);
    assert_int_equal(waits[1].revents, POLLIN);
    td_buf_release(&log);
    close(set);
    close(ends[0]);
    close(ends[1]);
}

static void test_lengths(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in got = {0};
    socklen_t size = sizeof(got);
    struct td_buf log = {0};
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    const uint64_t names[6] = {(uint64_t)fd, address(&got), address(&size)};

    (void)state;
    if (bind(fd, (void *)&at, sizeof(at)) < 0)
        skip();
    assert_int_equal(make(&log, SYS_getsockname, names), 0);
    const in_port_t port = got.sin_port;
    got = (struct sockaddr_in){0};
    size = 3;
    struct td_rd rd = td_rd_init(log.data, log.len, 0);
    again(&rd, names);
    assert_int_equal(size, sizeof(got));
    assert_true(port != 0 && got.sin_port == port);
    td_buf_release(&log);
    close(fd);
}

/* Of a call that the table does not have, what its arguments lead to is taken. */
static void test_unknown(void **state)
{
    int ends[2];
    union {
        int waiting;
        char room[256];
    } got = {.waiting = 0};
    struct td_buf log = {0};
    struct td_live_call call;
    struct td_live_part part;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "12345", 5), 5);
    const uint64_t asks[6] = {(uint64_t)ends[0], FIONREAD, address(&got)};
    assert_int_equal(make(&log, SYS_ioctl, asks), 0);
    struct td_rd rd = td_rd_init(log.data, log.len, 0);
    assert_true(td_live_call_next(&rd, &call));
    struct td_rd parts = td_rd_init(call.parts, call.parts_size, 0);
    int found = 0;
    while (td_live_part_next(&parts, &part))
        found += part.weak && part.argument == 2 && part.size == 256 && part.bytes[0] == 5;
    assert_int_equal(found, 1);
    td_buf_release(&log);
    close(ends[0]);
    close(ends[1]);
}

static void test_failed(void **state)
{
    char to[4];
    struct td_buf log = {0};
    const uint64_t reads[6] = {1000000, address(to), sizeof(to)};
    struct td_live_call call;

    (void)state;
    assert_int_equal(make(&log, SYS_read, reads), -1); /* libc's; the kernel's is -EBADF */
    struct td_rd rd = td_rd_init(log.data, log.len, 0);
    assert_true(td_live_call_next(&rd, &call));
    assert_int_equal(call.result, -1);
    assert_int_equal(call.parts_size, 0);
    td_buf_release(&log);
}

static void test_kinds(void **state)
{
    (void)state;
    assert_int_equal(td_live_call_kind(SYS_mmap), TD_LIVE_CALL_OWN);
    assert_int_equal(td_live_call_kind(SYS_clock_gettime), TD_LIVE_CALL_OWN);
    assert_int_equal(td_live_call_kind(SYS_execve), TD_LIVE_CALL_LAST);
    assert_int_equal(td_live_call_kind(SYS_io_uring_enter), TD_LIVE_CALL_LAST);
    assert_int_equal(td_live_call_kind(SYS_exit_group), TD_LIVE_CALL_LAST);
}

/* What is cut or makes no sense is no call. */
static void test_damage(void **state)
{
    char to[4];
    struct td_buf log = {0};
    const uint64_t reads[6] = {1000000, address(to), sizeof(to)};
    struct td_live_call call;

    (void)state;
    make(&log, SYS_read, reads);
    for (size_t n = 1; n < log.len; n++) {
        struct td_rd rd = td_rd_init(log.data, n, 0);

        assert_false(td_live_call_next(&rd, &call));
        assert_false(td_rd_ok(&rd));
    }
    log.data[5] = 6; /* an argument that there is not */
    struct td_rd rd = td_rd_init(log.data, log.len, 0);
    assert_false(td_live_call_next(&rd, &call));
    td_buf_release(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),    cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_events),  cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_unknown), cmocka_unit_test(test_failed),
        cmocka_unit_test(test_kinds),   cmocka_unit_test(test_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0; /* nothing is noted on other processors */
}

#endif
