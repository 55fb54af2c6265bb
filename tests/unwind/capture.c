/* SPDX-License-Identifier: MIT */
/*
 * unwind_capture OUT HZ STACK_BYTES MAX_SAMPLES COMMAND...: runs a command and stores registers,
 * stack bytes and mappings of its samples (tests/unwind/triples.h). Exit 77 where the kernel
 * forbids it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "tests/unwind/triples.h"

#define RING_BYTES (UINT64_C(16) << 20)
#define CPUS_MAX   256

/* perf's numbers of AX BX CX DX SI DI BP SP IP and R8 to R15 (asm/perf_regs.h), and DWARF's. */
#define REGS_MASK UINT64_C(0xff01ff)
static const uint8_t dwarf_regs[17] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};

/* A record that waits to be sorted by time. */
struct pending {
    uint64_t time;
    size_t order, offset, size;
};

struct capture {
    int fds[CPUS_MAX];
    uint8_t *rings[CPUS_MAX];
    unsigned cpus;
    struct td_buf out; /* encoded records, in any order */
    struct pending *pending;
    size_t count, cap;
    uint64_t samples, max_samples, lost;
};

static int open_event(int pid, int cpu, uint64_t hz, uint32_t stack_bytes)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_freq = hz,
        .freq = 1,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER |
                       PERF_SAMPLE_STACK_USER,
        .sample_regs_user = REGS_MASK,
        .sample_stack_user = stack_bytes,
        .disabled = 1,
        .enable_on_exec = 1,
        .inherit = 1,
        .exclude_kernel = 1,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .sample_id_all = 1,
        .watermark = 1,
        .wakeup_watermark = RING_BYTES / 4,
    };

    return (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void add_pending(struct capture *c, uint64_t time, size_t offset)
{
    c->pending = td_grow(c->pending, &c->cap, c->count + 1, sizeof(*c->pending));
    c->pending[c->count] = (struct pending){time, c->count, offset, c->out.len - offset};
    c->count++;
}

/* sample_id: pid tid, time (the sample_type of open_event). */
static uint64_t trailing_time(const uint8_t *record, size_t size)
{
    struct td_rd rd = td_rd_init(record, size, 0);

    rd.pos = size - 8;
    return td_rd_u64(&rd);
}

static void take_sample(struct capture *c, struct td_rd *rd)
{
    const size_t offset = c->out.len;
    uint64_t regs[17] = {0};

    td_rd_u64(rd);
    const uint32_t pid = td_rd_u32(rd);
    td_rd_u32(rd);
    const uint64_t time = td_rd_u64(rd);
    if (td_rd_u64(rd) != PERF_SAMPLE_REGS_ABI_64)
        return;
    for (unsigned i = 0; i < 17; i++)
        regs[dwarf_regs[i]] = td_rd_u64(rd);
    const uint64_t size = td_rd_u64(rd);
    const uint8_t *stack = td_rd_bytes(rd, (size_t)size);
    const uint64_t used = size ? td_rd_u64(rd) : 0;
    if (!td_rd_ok(rd) || used > size || c->samples >= c->max_samples)
        return;
    td_buf_u8(&c->out, TRIPLE_SAMPLE);
    td_buf_uleb(&c->out, pid);
    for (unsigned i = 0; i < 17; i++)
        td_buf_u64(&c->out, regs[i]);
    td_buf_string(&c->out, (const char *)stack, (size_t)used);
    add_pending(c, time, offset);
    c->samples++;
}

static void take_mmap2(struct capture *c, struct td_rd *rd, uint64_t time)
{
    const size_t offset = c->out.len;
    const uint32_t pid = td_rd_u32(rd);

    td_rd_u32(rd);
    const uint64_t start = td_rd_u64(rd), length = td_rd_u64(rd), pgoff = td_rd_u64(rd);
    td_rd_bytes(rd, 24 + 8); /* device, inode, generation; prot, flags */
    const char *path = (const char *)rd->data + rd->pos;
    if (!td_rd_ok(rd))
        return;
    td_buf_u8(&c->out, TRIPLE_MAP);
    td_buf_uleb(&c->out, pid);
    td_buf_uleb(&c->out, start);
    td_buf_uleb(&c->out, length);
    td_buf_uleb(&c->out, pgoff);
    td_buf_string(&c->out, path, strnlen(path, td_rd_left(rd)));
    add_pending(c, time, offset);
}

static void take_task(struct capture *c, enum triple_kind kind, struct td_rd *rd, uint64_t time)
{
    const size_t offset = c->out.len;
    const uint32_t pid = td_rd_u32(rd), parent = td_rd_u32(rd);

    td_buf_u8(&c->out, (uint8_t)kind);
    td_buf_uleb(&c->out, pid);
    if (kind == TRIPLE_FORK)
        td_buf_uleb(&c->out, parent);
    add_pending(c, time, offset);
}

static void take_record(struct capture *c, const uint8_t *record, size_t size)
{
    struct td_rd rd = td_rd_init(record, size, 0);
    const uint32_t type = td_rd_u32(&rd);
    const uint16_t misc = td_rd_u16(&rd);

    td_rd_u16(&rd);
    if (type == PERF_RECORD_SAMPLE)
        take_sample(c, &rd);
    else if (type == PERF_RECORD_MMAP2)
        take_mmap2(c, &rd, trailing_time(record, size));
    else if (type == PERF_RECORD_FORK)
        take_task(c, TRIPLE_FORK, &rd, trailing_time(record, size));
    else if (type == PERF_RECORD_COMM && (misc & PERF_RECORD_MISC_COMM_EXEC))
        take_task(c, TRIPLE_EXEC, &rd, trailing_time(record, size));
    else if (type == PERF_RECORD_LOST)
        c->lost++;
}

static void drain(struct capture *c, uint8_t *ring)
{
    struct perf_event_mmap_page *page = (struct perf_event_mmap_page *)(void *)ring;
    const uint8_t *data = ring + page->data_offset;
    const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = page->data_tail;
    static uint8_t record[1 << 17];

    while (tail < head) {
        struct perf_event_header header;
        memcpy(&header, data + tail % RING_BYTES, sizeof(header));
        for (size_t done = 0; done < header.size;) {
            const uint64_t at = (tail + done) % RING_BYTES;
            size_t n = header.size - done;
            if (n > RING_BYTES - at)
                n = RING_BYTES - at;
            memcpy(record + done, data + at, n);
            done += n;
        }
        take_record(c, record, header.size);
        tail += header.size;
    }
    __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

static int start(struct capture *c, int pid, uint64_t hz, uint32_t stack_bytes)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    for (int cpu = 0; cpu < cpus && cpu < CPUS_MAX; cpu++) {
        const int fd = open_event(pid, cpu, hz, stack_bytes);
        if (fd < 0)
            return -errno;
        void *ring = mmap(NULL, RING_BYTES + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (ring == MAP_FAILED)
            return -errno;
        c->fds[c->cpus] = fd;
        c->rings[c->cpus++] = ring;
    }
    return 0;
}

/* A child that waits for a byte before it runs the command. */
static int spawn(char **argv, int *go)
{
    int pipe_fds[2];
    char byte;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return -1;
    const int pid = fork();
    if (pid == 0) {
        const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        close(pipe_fds[1]); /* else nobody would tell that the parent gave up */
        if (read(pipe_fds[0], &byte, 1) != 1)
            _exit(126);
        dup2(null, STDOUT_FILENO);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(pipe_fds[0]);
    *go = pipe_fds[1];
    return pid;
}

static int compare_pending(const void *pa, const void *pb)
{
    const struct pending *a = pa, *b = pb;

    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static int write_out(struct capture *c, const char *path)
{
    struct td_buf file = {0};
    struct td_err err = TD_ERR_INIT;

    qsort(c->pending, c->count, sizeof(*c->pending), compare_pending);
    td_buf_u64(&file, TRIPLES_MAGIC);
    for (size_t i = 0; i < c->count; i++)
        td_buf_bytes(&file, c->out.data + c->pending[i].offset, c->pending[i].size);
    if (td_file_replace(path, file.data, file.len, &err) < 0)
        fprintf(stderr, "unwind_capture: %s\n", err.text);
    fprintf(stderr, "unwind_capture: %s: %llu samples, %zu bytes, %llu lost records\n", path,
            (unsigned long long)c->samples, file.len, (unsigned long long)c->lost);
    td_buf_release(&file);
    return err.code == TD_OK ? 0 : 1;
}

/* The kernel lowers what it allows when samples take long. */
static uint64_t most_hz(void)
{
    struct td_buf buf = {0};
    uint64_t hz = UINT64_MAX;

    if (td_file_read("/proc/sys/kernel/perf_event_max_sample_rate", 64, &buf, NULL) == TD_OK) {
        td_buf_u8(&buf, 0);
        hz = strtoull((const char *)buf.data, NULL, 10);
    }
    td_buf_release(&buf);
    return hz;
}

int main(int argc, char **argv)
{
    static struct capture c;
    uint64_t hz, stack_bytes;
    int go = -1, status;

    if (argc < 6 || !td_parse_u64(argv[2], &hz) || !td_parse_u64(argv[3], &stack_bytes) ||
        !td_parse_u64(argv[4], &c.max_samples)) {
        fprintf(stderr, "usage: unwind_capture OUT HZ STACK_BYTES MAX_SAMPLES COMMAND...\n");
        return 2;
    }
    hz = hz < most_hz() ? hz : most_hz();
    const int pid = spawn(argv + 5, &go);
    const int rc = pid < 0 ? -errno : start(&c, pid, hz, (uint32_t)stack_bytes);
    if (rc < 0) {
        fprintf(stderr, "unwind_capture: cannot sample: %s\n", strerror(-rc));
        return 77;
    }
    if (write(go, "", 1) != 1)
        return 1;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        struct pollfd poll_fd = {.fd = c.fds[0], .events = POLLIN};
        poll(&poll_fd, 1, 5);
        for (unsigned i = 0; i < c.cpus; i++)
            drain(&c, c.rings[i]);
    }
    for (unsigned i = 0; i < c.cpus; i++)
        drain(&c, c.rings[i]);
    return write_out(&c, argv[1]);
}
