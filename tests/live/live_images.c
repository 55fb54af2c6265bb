/* SPDX-License-Identifier: MIT */
/*
 * Takes images of a command, or of a process, while it runs:
 *
 *   live_images [-n COUNT] [-i MS] [-c CALLS] [-o FILE] (-p PID | -- COMMAND...)
 *
 * COUNT images (20 when not said), MS apart (10), of the process and those below it, each with up
 * to CALLS (500) of the system calls that follow. The report goes to FILE, or to stderr; its last
 * lines say how many of each outcome there were. Each image is read again. The exit status is the
 * command's.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "base/text.h"
#include "record/live/imager.h"
#include "record/sim/share/live_image.h"

struct run {
    FILE *report;
    unsigned count, calls, counts[TD_LIVE_OUTCOME_COUNT];
    long every_ms;
    pid_t process;
    bool ours, ended;
    int status;
    uint64_t longest_ns, pause_ns;
    const char *keep; /* folder where images are left */
};

static bool has_ended(struct run *run)
{
    if (!run->ended && run->ours)
        run->ended = waitpid(run->process, &run->status, WNOHANG) == run->process;
    else if (!run->ended)
        run->ended = kill(run->process, 0) < 0 && errno == ESRCH;
    return run->ended;
}

/* The process and all below it. */
static size_t family(pid_t *list, size_t limit, pid_t root)
{
    size_t count = 1;

    list[0] = root;
    for (size_t i = 0; i < count; i++) {
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", list[i], list[i]);
        char *text = td_procfs_text(NULL, path), *rest = text;
        for (char *word; text && (word = strsep(&rest, " ")) && count < limit;) {
            uint64_t id = 0;

            if (td_parse_u64(word, &id) && id > 0)
                list[count++] = (pid_t)id;
        }
        free(text);
    }
    return count;
}

/* What was written is an image, of where the thread was. */
static bool check_image(int fd, const struct td_live_result *result, struct td_err *err)
{
    struct stat st;
    struct td_live_image image;
    bool sound = false;

    if (fstat(fd, &st) < 0 || st.st_size == 0)
        return false;
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (data == MAP_FAILED)
        return false;
    if (td_live_image_read(&image, data, (size_t)st.st_size, err) == TD_OK) {
        for (size_t i = 0; i < image.mapping_count; i++) {
            const struct td_live_mapping *m = &image.mappings[i];

            sound |= image.thread.address - m->start < m->size && (m->protection & 4);
        }
        sound &= image.thread.number == result->number && image.thread.vector_size >= 512;
        td_live_image_release(&image);
    }
    munmap(data, (size_t)st.st_size);
    return sound;
}

static void show(struct run *run, const struct td_live_result *result, int fd)
{
    struct td_err err = TD_ERR_INIT;

    run->counts[result->outcome]++;
    run->pause_ns += result->pause_ns;
    run->longest_ns = result->pause_ns > run->longest_ns ? result->pause_ns : run->longest_ns;
    fprintf(run->report,
            "%llu: %s%s process %d thread %d clone %d stop %llu us pause %llu us write %llu us "
            "resident %llu "
            "KB image %llu KB redirected %u calls %u in %llu us %s\n",
            (unsigned long long)result->number, td_live_outcome_text(result->outcome),
            result->outcome == TD_LIVE_TAKEN && !result->cloned ? " by copying" : "",
            result->process, result->thread, result->clone,
            (unsigned long long)result->stop_ns / 1000, (unsigned long long)result->pause_ns / 1000,
            (unsigned long long)result->write_ns / 1000,
            (unsigned long long)result->resident_bytes / 1024,
            (unsigned long long)result->image_bytes / 1024, result->redirected, result->calls,
            (unsigned long long)result->watch_ns / 1000, result->text);
    if (result->outcome == TD_LIVE_TAKEN && !check_image(fd, result, &err))
        fprintf(run->report, "DAMAGED: image %llu: %s\n", (unsigned long long)result->number,
                err.text);
}

static int image_file(const struct run *run, unsigned number)
{
    char path[4096];

    if (!run->keep)
        return memfd_create("image", MFD_CLOEXEC);
    snprintf(path, sizeof(path), "%s/%03u", run->keep, number);
    return open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static int take_images(struct run *run, struct td_imager *imager)
{
    pid_t list[TD_IMAGER_PROCESSES];
    struct td_live_result result;
    struct td_err err = TD_ERR_INIT;

    for (unsigned i = 0; i < run->count && !has_ended(run); i++) {
        const int fd = image_file(run, i);
        struct pollfd wait = {.fd = td_imager_fd(imager), .events = POLLIN};

        const struct td_imager_order order = {.processes = list,
                                              .count =
                                                  family(list, TD_IMAGER_PROCESSES, run->process),
                                              .number = i,
                                              .calls = run->calls};
        if (td_imager_ask(imager, &order, fd, &err) != TD_OK) {
            fprintf(stderr, "live_images: %s\n", err.text);
            return -1;
        }
        while (!td_imager_answer(imager, &result)) {
            poll(&wait, 1, 100);
            has_ended(run);
        }
        show(run, &result, fd);
        close(fd);
        const struct timespec pause = {.tv_sec = run->every_ms / 1000,
                                       .tv_nsec = run->every_ms % 1000 * 1000000};
        nanosleep(&pause, NULL);
    }
    return 0;
}

static pid_t launch(char **command)
{
    const pid_t id = fork();

    if (id == 0) {
        execvp(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    return id;
}

static int finish(struct run *run)
{
    while (run->ours && !run->ended)
        run->ended = waitpid(run->process, &run->status, 0) == run->process;
    for (int i = 0; i < TD_LIVE_OUTCOME_COUNT; i++) {
        if (run->counts[i])
            fprintf(run->report, "TOTAL %u %s\n", run->counts[i],
                    td_live_outcome_text((enum td_live_outcome)i));
    }
    fprintf(run->report, "LONGEST %llu us\n", (unsigned long long)run->longest_ns / 1000);
    if (!run->ours)
        return 0;
    return WIFSIGNALED(run->status) ? 128 + WTERMSIG(run->status) : WEXITSTATUS(run->status);
}

static long number_of(const char *text)
{
    uint64_t value = 0;

    if (!td_parse_u64(text, &value) || value > INT32_MAX) {
        fprintf(stderr, "live_images: '%s' is no number\n", text);
        exit(2);
    }
    return (long)value;
}

int main(int argc, char **argv)
{
    struct run run = {.report = stderr, .count = 20, .every_ms = 10, .calls = 500};
    struct td_imager *imager = NULL;
    struct td_err err = TD_ERR_INIT;
    const char *report = NULL;

    for (int option; (option = getopt(argc, argv, "+n:i:p:o:k:c:")) != -1;) {
        if (option == 'n')
            run.count = (unsigned)number_of(optarg);
        else if (option == 'i')
            run.every_ms = number_of(optarg);
        else if (option == 'p')
            run.process = (pid_t)number_of(optarg);
        else if (option == 'o')
            report = optarg;
        else if (option == 'c')
            run.calls = (unsigned)number_of(optarg);
        else if (option == 'k')
            run.keep = optarg;
        else
            return 2;
    }
    if (report && !(run.report = fopen(report, "we")))
        return 2;
    if (td_imager_new(&imager, &err) != TD_OK) {
        fprintf(stderr, "live_images: %s\n", err.text);
        return 77;
    }
    run.ours = run.process == 0;
    if (run.ours)
        run.process = launch(argv + optind);
    const int failed = take_images(&run, imager);
    td_imager_free(imager);
    const int status = finish(&run);
    if (run.report != stderr)
        fclose(run.report);
    return failed ? 3 : status;
}
