/* SPDX-License-Identifier: MIT */
/*
 * Windows of images: sim_windows PLUGIN. A child of this program is stopped in the middle of its
 * work, its memory is written as an image, and the child is killed. What then runs in the emulator
 * is known: so many cycles of a loop; or what would change a file, send, and kill.
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "record/sim/share/live_image.h"
#include "record/sim/share/mailbox.h"
#include "record/sim/share/snapshot.h"
#include "record/sim/window/worker.h"

#define CHECK(what)                                                   \
    do {                                                              \
        if (!(what)) {                                                \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            exit(1);                                                  \
        }                                                             \
    } while (0)

enum { PAGE = 4096, WARM = 20000, FILL = 12000, CYCLES = 200000, IMAGES = 4, FAR = 100 };

static char path[64] = "/tmp/tdprof-windows-XXXXXX";
static int pair[2];
static volatile uint64_t turns;

/* The children's work; `turns` says how far they are. */
static void compute(void)
{
    uint64_t x = 88172645463325252;

    for (;;) {
        for (int i = 0; i < 1000; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        turns += 1 + (x == 0);
    }
}

/* Natively it never comes to what it does after its loop: it is killed before. */
static void compute_for_a_while(void)
{
    uint64_t x = 1;

    turns = 1;
    for (uint64_t i = 0; i < UINT64_C(1) << 62 && turns < FAR; i++)
        x = x * 5 + 1;
    turns += x == 0;
}

static void do_unlink(void)
{
    compute_for_a_while();
    for (;;)
        unlink(path);
}

static void do_write(void)
{
    const int fd = open(path, O_RDWR);

    compute_for_a_while();
    for (;;) {
        if (write(fd, "evil", 4) < 0)
            syscall(SYS_pwrite64, fd, "evil", 4, 0);
    }
}

static void do_send(void)
{
    compute_for_a_while();
    for (;;)
        send(pair[1], "evil", 4, MSG_NOSIGNAL);
}

static void do_kill(void)
{
    const pid_t parent = getppid();

    compute_for_a_while();
    for (;;)
        kill(parent, SIGUSR1);
}

static void do_fault(void)
{
    compute_for_a_while();
    __builtin_trap();
}

static void do_exit(void)
{
    compute_for_a_while();
    _exit(3);
}

/* Its memory as an image; its process is stopped. */
static void copy_pages(struct td_live_writer *writer, pid_t pid, uint64_t start, uint64_t size)
{
    static uint8_t page[PAGE];

    for (uint64_t at = 0; at < size; at += PAGE) {
        const struct iovec local = {page, PAGE}, remote = {(void *)(uintptr_t)(start + at), PAGE};

        if (process_vm_readv(pid, &local, 1, &remote, 1, 0) == PAGE)
            CHECK(td_live_writer_data(writer, at, page, PAGE, NULL) == TD_OK);
    }
}

/* The next word of a line, as a number where it is one. */
static const char *next_word(char **rest, const char *ends, uint64_t *number)
{
    const char *word = strsep(rest, ends);

    if (number)
        CHECK(word && td_parse_u64_base(word, 16, number));
    return word ? word : "";
}

static void add_mapping(struct td_live_writer *writer, struct td_live_thread *thread, pid_t pid,
                        char *line)
{
    uint64_t start = 0, end = 0, offset = 0;
    char *rest = line;

    next_word(&rest, "-", &start);
    next_word(&rest, " ", &end);
    const char *access = next_word(&rest, " ", NULL);
    next_word(&rest, " ", &offset);
    next_word(&rest, " ", NULL);
    const bool file = strcmp(next_word(&rest, " ", NULL), "0") != 0;
    const char *name = rest + strspn(rest, " ");
    rest[strcspn(rest, "\n")] = '\0';
    if (strncmp(name, "[v", 2) == 0)
        return;
    struct td_live_mapping mapping = {
        .start = start,
        .size = end - start,
        .file_offset = offset,
        .content = access[2] == 'x' && file ? TD_LIVE_FILE : TD_LIVE_DATA,
        .protection =
            (access[0] == 'r' ? 1U : 0) | (access[1] == 'w' ? 2U : 0) | (access[2] == 'x' ? 4U : 0),
        .flags = (strcmp(name, "[heap]") == 0 ? (uint32_t)TD_LIVE_HEAP : 0U) |
                 (strcmp(name, "[stack]") == 0 ? (uint32_t)TD_LIVE_STACK : 0U),
        .name = name};
    if (mapping.protection == 0)
        mapping.content = TD_LIVE_NOTHING;
    if (mapping.flags & TD_LIVE_HEAP) {
        thread->heap_start = start;
        thread->heap_end = end;
    }
    td_live_writer_mapping(writer, &mapping);
    if (mapping.content == TD_LIVE_DATA)
        copy_pages(writer, pid, start, end - start);
}

static int write_image(pid_t pid, uint64_t number, uint64_t stands_ns, uint64_t *heap_start)
{
    static uint8_t vector[16384];
    struct user_regs_struct registers;
    struct iovec general = {&registers, sizeof(registers)}, wide = {vector, sizeof(vector)};
    char name[64], line[512];
    struct td_err err = TD_ERR_INIT;

    CHECK(ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &general) == 0);
    CHECK(ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &wide) == 0);
    const int fd = memfd_create("image", MFD_CLOEXEC);
    struct td_live_writer *writer = td_live_writer_new(fd, UINT64_C(1) << 30);
    struct td_live_thread thread = {.machine = EM_X86_64,
                                    .process = (uint32_t)pid,
                                    .thread = (uint32_t)pid,
                                    .number = number,
                                    .stands_ns = stands_ns,
                                    .address = registers.rip,
                                    .thread_pointer = registers.fs_base,
                                    .registers = &registers,
                                    .registers_size = sizeof(registers),
                                    .vector = vector,
                                    .vector_size = wide.iov_len};
    snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(name, "r");
    CHECK(maps);
    while (fgets(line, sizeof(line), maps))
        add_mapping(writer, &thread, pid, line);
    fclose(maps);
    const struct td_live_file sink = {.descriptor = 1, .kind = TD_LIVE_SINK, .name = "/dev/null"};
    td_live_writer_file(writer, &sink);
    CHECK(td_live_writer_finish(writer, &thread, &err) == TD_OK);
    td_live_writer_free(writer);
    *heap_start = thread.heap_start;
    return fd;
}

static uint64_t read_turns(pid_t pid)
{
    uint64_t seen = 0;
    const struct iovec local = {&seen, sizeof(seen)};
    const struct iovec remote = {(void *)(uintptr_t)&turns, sizeof(seen)};

    process_vm_readv(pid, &local, 1, &remote, 1, 0);
    return seen;
}

static void end_loop(pid_t pid)
{
    uint64_t done = FAR;
    const struct iovec local = {&done, sizeof(done)};
    const struct iovec remote = {(void *)(uintptr_t)&turns, sizeof(done)};

    CHECK(process_vm_writev(pid, &local, 1, &remote, 1, 0) == sizeof(done));
}

static void stop(pid_t pid)
{
    int status = 0;

    CHECK(ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 && ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0);
    CHECK(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status));
}

static pid_t start(void (*work)(void))
{
    const pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(60);
        work();
        _exit(0);
    }
    for (int i = 0; i < 20000 && read_turns(pid) == 0; i++)
        usleep(1000);
    CHECK(read_turns(pid) > 0);
    return pid;
}

/* Images of a child in the middle of `work`; `far`: its loop is over when it goes on. */
static uint64_t take_images(void (*work)(void), int *fds, int count, bool far)
{
    uint64_t heap_start = 0;
    const pid_t pid = start(work);
    int status = 0;

    for (int i = 0; i < count; i++) {
        stop(pid);
        if (far)
            end_loop(pid);
        fds[i] = write_image(pid, (uint64_t)i, (uint64_t)(i + 1) * 20000000, &heap_start);
        if (!far)
            CHECK(ptrace(PTRACE_DETACH, pid, 0, 0) == 0);
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, __WALL) == pid && !WIFSIGNALED(status))
        continue;
    return heap_start;
}

static struct td_mailbox *run_windows(const char *plugin, const int *fds, int count,
                                      uint64_t heap_start, int *status)
{
    const uint64_t until_ns = td_clock_ns() + 60 * TD_NS_PER_S;
    struct td_mailbox *mailbox = NULL;
    struct td_worker *worker = NULL;
    struct td_err err = TD_ERR_INIT;
    struct td_core_desc core;

    CHECK(td_mailbox_create(&mailbox, &err) == TD_OK);
    CHECK(td_core_desc_builtin(&core, "zen4", &err) == TD_OK);
    td_mailbox_set_core(mailbox, &core);
    char *name = td_mailbox_name(mailbox);
    const struct td_worker_setup setup = {.qemu = "/usr/bin/qemu-x86_64",
                                          .plugin = plugin,
                                          .guest = td_guest_by_name("x86_64"),
                                          .mailbox = name,
                                          .process = "a,b=c",
                                          .heap_start = heap_start,
                                          .length = {WARM, FILL, CYCLES}};
    CHECK(td_worker_start(&worker, &setup, &err) == TD_OK);
    for (int i = 0; i < count; i++)
        CHECK(td_worker_give(worker, fds[i]));
    td_worker_close(worker);
    while (td_worker_runs(worker) && td_clock_ns() < until_ns)
        usleep(2000);
    CHECK(!td_worker_runs(worker));
    *status = td_worker_status(worker);
    td_worker_free(worker);
    for (int i = 0; i < count; i++)
        close(fds[i]);
    free(name);
    return mailbox;
}

struct sums {
    uint64_t slots, here; /* all; in this program's file */
};

static struct sums sum_slots(const struct td_snapshot_view *view)
{
    struct td_snapshot_walk walk = td_snapshot_walk(view);
    struct sums sums = {0};
    enum td_snapshot_item item;

    while ((item = td_snapshot_next(&walk))) {
        if (item != TD_SNAPSHOT_TALLY)
            continue;
        const struct td_range *range = td_range_set_find(&view->snapshot.ranges, walk.tally.pc);
        const char *file = range ? view->snapshot.modules[range->value].path : NULL;

        for (int c = 1; c < TD_SIM_COLUMN_COUNT; c++) {
            sums.slots += walk.tally.values[c];
            sums.here += file && strstr(file, "sim_windows") ? walk.tally.values[c] : 0;
        }
    }
    return sums;
}

/* Equal windows one after the other in one emulator. */
static void windows_are_whole(const char *plugin)
{
    struct td_mailbox_window window, first;
    struct td_snapshot_view view;
    struct td_buf bytes = {0};
    int fds[IMAGES], status = 0;

    const uint64_t heap = take_images(compute, fds, IMAGES, false);
    struct td_mailbox *mailbox = run_windows(plugin, fds, IMAGES, heap, &status);
    CHECK(status == 0);
    CHECK(td_mailbox_images(mailbox) == 1);
    for (unsigned i = 0; i < IMAGES; i++) {
        CHECK(td_mailbox_window_at(mailbox, i, &window));
        first = i == 0 ? window : first;
        CHECK(window.number == i && window.end == TD_MAILBOX_WINDOW_WHOLE);
        printf("window %u: %llu instructions in %llu cycles\n", i,
               (unsigned long long)window.instructions, (unsigned long long)window.cycles);
        CHECK(window.cycles > CYCLES * 0.96 && window.cycles < CYCLES * 1.1);
        /* A chain of 6 instructions of one cycle each, 3 moves and a loop around it. */
        CHECK(window.instructions > CYCLES && window.instructions < 3 * CYCLES);
        CHECK(window.instructions > 0.9 * (double)first.instructions &&
              window.instructions < 1.1 * (double)first.instructions);
    }
    CHECK(!td_mailbox_window_at(mailbox, IMAGES, &window));
    CHECK(td_mailbox_get(mailbox, 0, &bytes));
    CHECK(td_snapshot_open(&view, bytes.data, bytes.len) == TD_OK);
    CHECK(strcmp(view.snapshot.process, "a_b_c") == 0);
    const struct sums sums = sum_slots(&view);
    CHECK(sums.slots > 0 && sums.here >= 0.999 * (double)sums.slots);
    /* They stand for 20, 40, 60 and 80 ms. */
    const double stands_s = (double)view.snapshot.cycles / (td_mailbox_core(mailbox)->mhz * 1e6);
    CHECK(stands_s > 0.9 * IMAGES * 0.05 && stands_s < 1.1 * IMAGES * 0.05);
    td_snapshot_close(&view);
    td_buf_release(&bytes);
    td_mailbox_close(mailbox);
}

static void changes_nothing(const char *plugin, void (*work)(void), enum td_mailbox_window_end end,
                            int detail)
{
    struct td_mailbox_window window = {0};
    struct stat before, after;
    char bytes[8];
    int fd = -1, status = 0;

    CHECK(stat(path, &before) == 0);
    const uint64_t heap = take_images(work, &fd, 1, true);
    struct td_mailbox *mailbox = run_windows(plugin, &fd, 1, heap, &status);
    CHECK(td_mailbox_window_at(mailbox, 0, &window));
    printf("it ended by %d, %d\n", (int)window.end, (int)window.detail);
    CHECK(window.end == end && window.detail == detail);
    CHECK(stat(path, &after) == 0 && after.st_size == before.st_size &&
          after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
    CHECK(recv(pair[0], bytes, sizeof(bytes), MSG_DONTWAIT) < 0);
    td_mailbox_close(mailbox);
}

static void make_file(void)
{
    const int fd = mkstemp(path);

    CHECK(fd >= 0 && write(fd, "good", 4) == 4);
    close(fd);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
}

static void refuse_signal(int number)
{
    static const char text[] = "a window's signal came\n";

    (void)number;
    _exit(write(1, text, sizeof(text) - 1) > 0 ? 1 : 2);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    if (access("/usr/bin/qemu-x86_64", X_OK) != 0 || access(argv[1], R_OK) != 0) {
        puts("qemu-x86_64 or the plugin is not installed");
        return 77;
    }
    signal(SIGUSR1, refuse_signal);
    make_file();
    windows_are_whole(argv[1]);
    changes_nothing(argv[1], do_unlink, TD_MAILBOX_WINDOW_EARLY, SYS_unlink);
    changes_nothing(argv[1], do_write, TD_MAILBOX_WINDOW_EARLY, SYS_write);
    changes_nothing(argv[1], do_send, TD_MAILBOX_WINDOW_EARLY, SYS_sendto);
    changes_nothing(argv[1], do_kill, TD_MAILBOX_WINDOW_EARLY, SYS_kill);
    changes_nothing(argv[1], do_exit, TD_MAILBOX_WINDOW_EARLY, SYS_exit_group);
    changes_nothing(argv[1], do_fault, TD_MAILBOX_WINDOW_FAULT, SIGILL);
    unlink(path);
    puts("ok");
    return 0;
}
