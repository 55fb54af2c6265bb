/* SPDX-License-Identifier: MIT */
#include "symbolize/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define TIMEOUT_DEFAULT_S 60
#define PROGRESS_MS       100
/* What a child may have beside the files it maps: decompressed sections and its tables. */
#define MEMORY_BYTES (UINT64_C(3) << 30)
/* Of a module's file, what counts for its child's memory: no larger one is known that needs more.
 */
#define FILE_BYTES_MAX   (UINT64_C(4) << 30)
#define RESULT_BYTES_MAX (UINT64_C(2) << 30)
/* The status of a child whose answers could not be written. */
#define NOT_WRITTEN 1

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define SANITIZED 1 /* their shadow memory is terabytes of address space */
#else
#    define SANITIZED 0
#endif

/* A child and the job it has. */
struct child {
    pid_t pid;
    size_t job;
    int alive_fd;  /* reads end of file when the child is gone */
    int result_fd; /* a memfd that it fills */
    uint64_t deadline_ms;
    bool symbols_only; /* the last try: without DWARF */
    char failure[128]; /* of the tries before */
    uint64_t bad_units[TD_BAD_UNITS_MAX];
    size_t bad_unit_count;
    struct td_module_progress *progress; /* shared with the process */
};

struct pool {
    const struct td_workers *workers;
    const struct td_job *jobs;
    size_t job_count, next;
    struct child *children;
    size_t at_once, running;
    struct td_module_progress *progress; /* one a child, shared with it */
    uint64_t done;                       /* offsets of the jobs that ended */
};

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static unsigned timeout_s(const struct pool *pool)
{
    return pool->workers->timeout_s ? pool->workers->timeout_s : TIMEOUT_DEFAULT_S;
}

static void limit(int what, rlim_t value)
{
    const struct rlimit r = {.rlim_cur = value, .rlim_max = value};

    (void)setrlimit(what, &r);
}

static uint64_t own_memory_bytes(void)
{
    struct td_buf buf = {0};
    unsigned long long pages = 0;

    if (td_file_read("/proc/self/statm", 4096, &buf, NULL) == TD_OK) {
        td_buf_u8(&buf, 0);
        pages = strtoull((const char *)buf.data, NULL, 10);
    }
    td_buf_release(&buf);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* What a child may have beside what the files take on the disk that it reads. */
static rlim_t memory_for(uint64_t file_bytes)
{
    return 4 * (file_bytes < FILE_BYTES_MAX ? file_bytes : FILE_BYTES_MAX);
}

/* Not of address space: a file that is mapped takes of it what its holes do. */
static void limit_memory(uint64_t file_bytes)
{
    const rlim_t base = own_memory_bytes() + MEMORY_BYTES;
    const struct rlimit r = {.rlim_cur = base + memory_for(file_bytes),
                             .rlim_max = base + memory_for(file_bytes) + memory_for(UINT64_MAX)};

    (void)setrlimit(RLIMIT_DATA, &r);
}

/* A debug file beside the module's own is often the larger one. */
static void allow_file(uint64_t file_bytes)
{
    struct rlimit r;

    if (SANITIZED || getrlimit(RLIMIT_DATA, &r) != 0)
        return;
    const rlim_t more = memory_for(file_bytes);
    r.rlim_cur = r.rlim_max - r.rlim_cur > more ? r.rlim_cur + more : r.rlim_max;
    (void)setrlimit(RLIMIT_DATA, &r);
}

static void confine(const struct pool *pool, const struct td_job *job)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    signal(SIGPIPE, SIG_DFL);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, timeout_s(pool) + 1);
    limit(RLIMIT_FSIZE, RESULT_BYTES_MAX);
    if (!SANITIZED)
        limit_memory(job->file_bytes);
}

/* The child's whole life. */
static void work(const struct pool *pool, const struct child *child)
{
    struct td_module_request request = pool->jobs[child->job].request;
    struct td_answers answers;
    struct td_buf buf = {0};

    confine(pool, &pool->jobs[child->job]);
    request.progress = child->progress;
    request.search.allow = allow_file;
    request.symbols_only = child->symbols_only;
    memcpy(request.bad_units, child->bad_units, sizeof(request.bad_units));
    request.bad_unit_count = child->bad_unit_count;
    td_answers_init(&answers);
    td_module_resolve(&request, &answers);
    td_answers_encode(&answers, &buf);
    _exit(td_fd_write_all(child->result_fd, buf.data, buf.len, NULL) == TD_OK ? 0 : NOT_WRITTEN);
}

/* Starts a child on child->job. */
static int start(struct pool *pool, struct child *child, struct td_err *err)
{
    int pipe_fds[2] = {-1, -1};
    int rc = TD_OK;

    atomic_store(&child->progress->done, 0);
    atomic_store(&child->progress->unit_offset, 0);
    child->result_fd = memfd_create("tdprof-answers", MFD_CLOEXEC);
    if (child->result_fd < 0 || pipe2(pipe_fds, O_CLOEXEC) < 0) {
        rc = td_fail_errno(err, TD_EIO, errno, "cannot prepare a process to read symbols");
    } else {
        child->pid = fork();
        if (child->pid == 0) {
            close(pipe_fds[0]);
            work(pool, child);
        }
        if (child->pid < 0)
            rc = td_fail_errno(err, TD_EIO, errno, "cannot start a process to read symbols");
    }
    if (pipe_fds[1] >= 0)
        close(pipe_fds[1]);
    child->alive_fd = pipe_fds[0];
    child->deadline_ms = now_ms() + (uint64_t)timeout_s(pool) * 1000;
    if (rc == TD_OK)
        return rc;
    if (child->result_fd >= 0)
        close(child->result_fd);
    if (child->alive_fd >= 0)
        close(child->alive_fd);
    return rc;
}

static void describe(char *text, size_t size, int status, bool late, unsigned seconds)
{
    if (late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
        snprintf(text, size, "its debug information was given up after %u s", seconds);
    else if ((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) ||
             (WIFEXITED(status) && WEXITSTATUS(status) > NOT_WRITTEN)) /* td_out_of_memory */
        snprintf(text, size,
                 "its debug information needs more memory than is allowed, or libdw gave up on it");
    else if (WIFSIGNALED(status))
        snprintf(text, size, "its debug information is damaged: reading it ended with signal %d",
                 WTERMSIG(status));
    else
        snprintf(text, size, "its debug information could not be read");
}

/* Hands the child's result over. False when there is none that can be read. */
static bool deliver(const struct pool *pool, const struct child *child)
{
    struct td_answers_view view;
    struct stat st;
    bool good = false;

    if (fstat(child->result_fd, &st) < 0 || st.st_size <= 0)
        return false;
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, child->result_fd, 0);
    if (data == MAP_FAILED)
        return false;
    const struct td_bytes bytes = {.data = data, .size = (size_t)st.st_size};
    if (td_answers_open(&view, bytes, NULL) == TD_OK) {
        pool->workers->done(pool->workers->done_ctx, &pool->jobs[child->job], &view,
                            child->symbols_only ? child->failure : NULL);
        good = true;
    }
    munmap(data, bytes.size);
    return good;
}

/* A crash costs the unit that was being read. False when there was none, or too many were lost. */
static bool leave_out_unit(struct child *child)
{
    const uint64_t unit = atomic_load(&child->progress->unit_offset);

    if (unit == 0 || child->bad_unit_count == TD_BAD_UNITS_MAX)
        return false;
    child->bad_units[child->bad_unit_count++] = unit;
    return true;
}

/* The child is gone, or is to go: takes what it left, or lets the job be tried again. */
static int finish(struct pool *pool, struct child *child, bool late, struct td_err *err)
{
    char failure[128];
    int status = 0;

    if (late)
        kill(child->pid, SIGKILL);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    const bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0 && deliver(pool, child);
    close(child->alive_fd);
    close(child->result_fd);
    if (good) {
        pool->done += atomic_load(&child->progress->done);
        child->pid = 0;
        return TD_OK;
    }
    describe(failure, sizeof(failure), status, late, timeout_s(pool));
    if (child->symbols_only) {
        pool->workers->done(pool->workers->done_ctx, &pool->jobs[child->job], NULL, child->failure);
        child->pid = 0;
        return TD_OK;
    }
    if (late || !leave_out_unit(child)) {
        child->symbols_only = true;
        memcpy(child->failure, failure, sizeof(failure));
    }
    return start(pool, child, err);
}

static void report_progress(const struct pool *pool)
{
    const struct td_workers *w = pool->workers;
    const char *path = NULL;
    uint64_t done = pool->done;

    for (size_t i = 0; i < pool->at_once; i++) {
        const struct child *child = &pool->children[i];

        if (child->pid <= 0)
            continue;
        done += atomic_load(&child->progress->done);
        path = path ? path : pool->jobs[child->job].request.path;
    }
    if (w->progress)
        w->progress(w->progress_ctx, (size_t)done, w->total, path);
}

/* Fills free places with jobs. */
static int feed(struct pool *pool, struct td_err *err)
{
    for (size_t i = 0; i < pool->at_once && pool->next < pool->job_count; i++) {
        struct child *child = &pool->children[i];

        if (child->pid > 0)
            continue;
        *child = (struct child){.job = pool->next, .progress = &pool->progress[i]};
        const int rc = start(pool, child, err);
        if (rc != TD_OK) {
            child->pid = 0;
            return rc;
        }
        pool->next++;
    }
    return TD_OK;
}

/* Waits for children to end or their time to be over, and finishes those. */
static int reap(struct pool *pool, struct pollfd *fds, struct td_err *err)
{
    const int timeout = pool->workers->progress ? PROGRESS_MS : 1000;

    for (size_t i = 0; i < pool->at_once; i++) {
        const struct child *child = &pool->children[i];

        fds[i] = (struct pollfd){.fd = child->pid > 0 ? child->alive_fd : -1, .events = POLLIN};
    }
    if (poll(fds, pool->at_once, timeout) < 0 && errno != EINTR)
        return td_fail_errno(err, TD_EIO, errno, "cannot wait for the symbol readers");
    for (size_t i = 0; i < pool->at_once; i++) {
        struct child *child = &pool->children[i];

        if (child->pid <= 0)
            continue;
        const bool late = now_ms() > child->deadline_ms;
        if (!late && !fds[i].revents)
            continue;
        const int rc = finish(pool, child, late && !fds[i].revents, err);
        if (rc != TD_OK) {
            child->pid = 0;
            return rc;
        }
    }
    return TD_OK;
}

static bool busy(const struct pool *pool)
{
    for (size_t i = 0; i < pool->at_once; i++) {
        if (pool->children[i].pid > 0)
            return true;
    }
    return pool->next < pool->job_count;
}

static void stop_all(struct pool *pool)
{
    for (size_t i = 0; i < pool->at_once; i++) {
        const struct child *child = &pool->children[i];

        if (child->pid <= 0)
            continue;
        kill(child->pid, SIGKILL);
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        close(child->alive_fd);
        close(child->result_fd);
    }
}

int td_workers_run(const struct td_workers *workers, const struct td_job *jobs, size_t count,
                   struct td_err *err)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct pool pool = {.workers = workers, .jobs = jobs, .job_count = count};
    int rc = TD_OK;

    if (count == 0)
        return TD_OK;
    pool.at_once = workers->at_once ? workers->at_once : (size_t)(cpus > 0 ? cpus : 1);
    pool.children = td_xcalloc(pool.at_once, sizeof(*pool.children));
    struct pollfd *fds = td_xcalloc(pool.at_once, sizeof(*fds));
    const size_t shared_bytes = pool.at_once * sizeof(*pool.progress);
    void *shared =
        mmap(NULL, shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        rc = td_fail_errno(err, TD_EIO, errno, "cannot map memory");
    else
        pool.progress = shared;
    while (rc == TD_OK && busy(&pool)) {
        rc = feed(&pool, err);
        if (rc == TD_OK)
            rc = reap(&pool, fds, err);
        if (rc == TD_OK)
            report_progress(&pool);
    }
    stop_all(&pool);
    if (shared != MAP_FAILED)
        munmap(shared, shared_bytes);
    free(fds);
    free(pool.children);
    return rc;
}
