/* SPDX-License-Identifier: MIT */
#include "record/run/live_windows.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "record/live/calls.h"
#include "record/run/sim_check.h"
#include "record/run/snapshots.h"
#include "record/sim/share/live_image_layout.h"
#include "record/sim/window/loader_file.h"
#include "record/sim/window/worker.h"

enum {
    GIVEN_MAX = 32, /* images that one emulator has at a time */
    DEATHS_MAX = 5, /* of emulators one after the other that told of no window */
};

/* Found on SQLite, xz, perl, python and a compiler in chains of windows: less warming leaves the
 * predictors of large programs untrained, more changes shares by less than windows differ. */
#define WARM   1000000
#define FILL   12000
#define CYCLES 400000
/* Of system calls: what the first images have, and the least. What windows need lately has so much
 * to spare: a busy machine makes a program call more often for the same. */
#define CALLS_FIRST 1024
#define CALLS_LEAST 64
#define CALLS_SPARE 2.0
/* An emulator that is asked to end, and one that does not get on. */
#define ANSWER_NS (TD_NS_PER_S / 2)

struct waiting {
    int fd;
    uint64_t number, bytes;
    uint32_t process;
    uint64_t heap_start;
    bool given;
    char name[16];
};

struct td_live_windows {
    struct td_mailbox *mailbox;
    char *mailbox_name, *qemu, *plugin;
    const struct td_guest *guest;
    struct td_worker *worker; /* NULL: none runs */
    uint32_t process;         /* that it serves */
    bool closed;              /* it gets no more */
    struct waiting *images;   /* in the order in which they came */
    size_t count, cap;
    uint32_t told;        /* windows of the mailbox that were looked at */
    uint32_t told_before; /* when the emulator was started */
    unsigned deaths;
    char *failure; /* NULL: none */
    double calls;  /* that an image is to have */
    struct td_live_counts counts;
};

int td_live_windows_new(struct td_live_windows **ret, const struct td_core_desc *core,
                        struct td_err *err)
{
    struct td_live_windows *windows = td_xcalloc(1, sizeof(*windows));
    size_t loader_size = 0;

    windows->guest = td_guest_native();
    windows->calls = CALLS_FIRST;
    td_loader_file(&loader_size);
    int rc = windows->guest && loader_size > 0
                 ? td_sim_check_emulator(windows->guest, &windows->qemu, &windows->plugin, err)
                 : td_fail(err, TD_EUNSUPPORTED,
                           "--source live is of x86-64 only: --source clock has the time");
    if (rc == TD_OK && strchr(windows->plugin, ','))
        rc = td_fail(err, TD_EUNSUPPORTED, "'%s': the emulator takes no commas in paths",
                     windows->plugin);
    if (rc == TD_OK)
        rc = td_mailbox_create(&windows->mailbox, err);
    if (rc == TD_OK) {
        td_mailbox_set_core(windows->mailbox, core);
        windows->mailbox_name = td_mailbox_name(windows->mailbox);
        *ret = windows;
    } else {
        td_live_windows_free(windows);
    }
    return rc;
}

void td_live_windows_add(struct td_live_windows *windows, int fd, uint64_t number,
                         const char *process, uint64_t stands_ns)
{
    struct td_live_image_head head;
    struct stat st;

    if (pread(fd, &head, sizeof(head), 0) != sizeof(head) || fstat(fd, &st) < 0 ||
        pwrite(fd, &stands_ns, sizeof(stands_ns), offsetof(struct td_live_image_head, stands_ns)) !=
            sizeof(stands_ns)) {
        close(fd);
        windows->counts.lost++;
        return;
    }
    windows->images =
        td_grow(windows->images, &windows->cap, windows->count + 1, sizeof(*windows->images));
    struct waiting *image = &windows->images[windows->count++];
    *image = (struct waiting){.fd = fd,
                              .number = number,
                              .bytes = (uint64_t)st.st_blocks * 512,
                              .process = head.process,
                              .heap_start = head.heap_start};
    snprintf(image->name, sizeof(image->name), "%s", process);
}

uint64_t td_live_windows_bytes(const struct td_live_windows *windows)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < windows->count; i++)
        bytes += windows->images[i].bytes;
    return bytes;
}

static void drop(struct td_live_windows *windows, size_t i)
{
    close(windows->images[i].fd);
    windows->count--;
    memmove(&windows->images[i], &windows->images[i + 1],
            (windows->count - i) * sizeof(*windows->images));
}

/* More where there were too few, and slowly less where there are more than are needed. */
static void learn_calls(struct td_live_windows *windows, const struct td_mailbox_window *window)
{
    const double needed = (double)window->answered * CALLS_SPARE;

    if (window->asked_more && window->answered > 0)
        windows->calls = windows->calls > 2 * needed ? windows->calls : 2 * needed;
    else if (window->end == TD_MAILBOX_WINDOW_WHOLE)
        windows->calls = needed > windows->calls ? needed : (7 * windows->calls + needed) / 8;
}

uint32_t td_live_windows_calls(const struct td_live_windows *windows)
{
    return windows->calls > TD_LIVE_CALLS_MAX ? TD_LIVE_CALLS_MAX
           : windows->calls < CALLS_LEAST     ? CALLS_LEAST
                                              : (uint32_t)windows->calls;
}

static void count_window(struct td_live_windows *windows, const struct td_mailbox_window *window)
{
    struct td_live_counts *counts = &windows->counts;

    learn_calls(windows, window);
    counts->answered += window->answered;
    switch (window->end) {
    case TD_MAILBOX_WINDOW_WHOLE: counts->whole++; break;
    case TD_MAILBOX_WINDOW_CUT: counts->cut++; break;
    case TD_MAILBOX_WINDOW_EARLY: counts->early++; break;
    case TD_MAILBOX_WINDOW_FAULT: counts->fault++; break;
    case TD_MAILBOX_WINDOW_LOST: counts->lost++; break;
    }
}

static void take_windows(struct td_live_windows *windows)
{
    struct td_mailbox_window window;

    for (; td_mailbox_window_at(windows->mailbox, windows->told, &window); windows->told++) {
        count_window(windows, &window);
        for (size_t i = 0; i < windows->count; i++) {
            if (windows->images[i].number == window.number) {
                drop(windows, i);
                break;
            }
        }
    }
}

/* An emulator that cannot run at all is not started for each image. */
static void count_death(struct td_live_windows *windows, const char *why)
{
    windows->deaths = windows->told > windows->told_before ? 0 : windows->deaths + 1;
    if (windows->deaths < DEATHS_MAX || windows->failure)
        return;
    windows->failure = td_xasprintf("%s (a limit of processes or of memory?)", why);
    while (windows->count > 0) {
        drop(windows, windows->count - 1);
        windows->counts.lost++;
    }
}

static void describe_end(const struct td_worker *worker, char *text, size_t size)
{
    const int status = td_worker_status(worker);

    if (WIFSIGNALED(status))
        snprintf(text, size, "the emulator ends at once, by signal %d", WTERMSIG(status));
    else
        snprintf(text, size, "the emulator ends at once, with status %d", WEXITSTATUS(status));
}

/* The first of those that it had is what it died of. */
static void take_death(struct td_live_windows *windows)
{
    char why[128];

    take_windows(windows);
    describe_end(windows->worker, why, sizeof(why));
    for (size_t i = 0; i < windows->count; i++) {
        if (!windows->images[i].given)
            continue;
        windows->counts.lost++;
        drop(windows, i);
        break;
    }
    for (size_t i = 0; i < windows->count; i++)
        windows->images[i].given = false;
    td_worker_free(windows->worker);
    windows->worker = NULL;
    count_death(windows, why);
}

static void start(struct td_live_windows *windows, const struct waiting *image)
{
    const struct td_worker_setup setup = {
        .qemu = windows->qemu,
        .plugin = windows->plugin,
        .guest = windows->guest,
        .mailbox = windows->mailbox_name,
        .process = image->name,
        .heap_start = image->heap_start,
        .length = {.warm = WARM, .fill = FILL, .cycles = CYCLES},
    };
    struct td_err err = TD_ERR_INIT;

    windows->process = image->process;
    windows->closed = false;
    windows->told_before = windows->told;
    if (td_worker_start(&windows->worker, &setup, &err) < 0) {
        windows->worker = NULL;
        count_death(windows, err.text);
    }
}

static size_t count_given(const struct td_live_windows *windows)
{
    size_t given = 0;

    for (size_t i = 0; i < windows->count; i++)
        given += windows->images[i].given;
    return given;
}

/* What it can have; once there is nothing more for it and others wait, it ends. */
static void feed(struct td_live_windows *windows)
{
    size_t given = count_given(windows);
    bool others = false;

    for (size_t i = 0; i < windows->count && !windows->closed; i++) {
        struct waiting *image = &windows->images[i];
        const bool fits = image->process == windows->process && given < GIVEN_MAX;

        others = others || image->process != windows->process;
        if (!image->given && fits && td_worker_give(windows->worker, image->fd)) {
            image->given = true;
            given++;
        }
    }
    if (others && given == 0 && !windows->closed) {
        td_worker_close(windows->worker);
        windows->closed = true;
    }
}

void td_live_windows_turn(struct td_live_windows *windows)
{
    take_windows(windows);
    if (windows->worker && !td_worker_runs(windows->worker))
        take_death(windows);
    if (!windows->worker && windows->count > 0 && !windows->failure)
        start(windows, &windows->images[0]);
    if (windows->worker)
        feed(windows);
}

const char *td_live_windows_failure(const struct td_live_windows *windows)
{
    return windows->failure;
}

struct td_live_counts td_live_windows_counts(const struct td_live_windows *windows)
{
    struct td_live_counts counts = windows->counts;

    counts.waiting = windows->count;
    return counts;
}

/* The emulator's last words, which it has for who asks. */
static void end_worker(struct td_live_windows *windows)
{
    const uint64_t until_ns = td_clock_ns() + ANSWER_NS;

    if (!windows->worker)
        return;
    td_worker_close(windows->worker);
    td_mailbox_ask(windows->mailbox);
    while (td_worker_runs(windows->worker) && td_clock_ns() < until_ns)
        poll(NULL, 0, 5);
    take_windows(windows);
    td_worker_free(windows->worker);
    windows->worker = NULL;
}

void td_live_windows_write(struct td_live_windows *windows, struct td_profile_writer *writer)
{
    struct td_snapshots snapshots;
    struct td_buf bytes = {0};

    end_worker(windows);
    td_snapshots_write_core(writer, td_mailbox_core(windows->mailbox));
    td_snapshots_init(&snapshots, writer);
    snapshots.native = snapshots.windows = true;
    for (uint32_t i = 0; i < td_mailbox_images(windows->mailbox); i++) {
        if (td_mailbox_get(windows->mailbox, i, &bytes))
            td_snapshots_add(&snapshots, i, &bytes, true);
    }
    td_snapshots_names_end(&snapshots);
    td_snapshots_release(&snapshots);
    td_buf_release(&bytes);
}

void td_live_windows_free(struct td_live_windows *windows)
{
    if (!windows)
        return;
    td_worker_free(windows->worker);
    while (windows->count > 0)
        drop(windows, windows->count - 1);
    if (windows->mailbox)
        td_mailbox_leave(windows->mailbox);
    td_mailbox_close(windows->mailbox);
    free(windows->images);
    free(windows->mailbox_name);
    free(windows->qemu);
    free(windows->plugin);
    free(windows->failure);
    free(windows);
}
