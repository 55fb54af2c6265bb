/* SPDX-License-Identifier: MIT */
#include "record/sim/window/worker.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "record/sim/window/loader/loader.h"
#include "record/sim/window/loader_file.h"

enum {
    NICENESS = 10,      /* a tenth of what a program at the same CPU gets */
    OWN_PROGRAM = 1002, /* the loader's file, in the emulator */
    FAILED_STATUS = 127,
    FIRST_COPY = 1100, /* descriptors are moved out of the way before they get their numbers */
};

struct td_worker {
    pid_t pid; /* 0: it has ended */
    int status;
    int names; /* the pipe's end; -1: closed */
};

/* The loader's file, moved so that it ends where the heap begins; where that is not known, or too
 * low, it stays. */
static void move_loader(struct td_buf *file, uint64_t heap_start)
{
    Elf64_Ehdr *head = (void *)file->data;
    Elf64_Phdr *parts = (void *)(file->data + head->e_phoff);
    uint64_t end = 0;

    for (unsigned i = 0; i < head->e_phnum; i++) {
        if (parts[i].p_type == PT_LOAD && parts[i].p_vaddr + parts[i].p_memsz > end)
            end = parts[i].p_vaddr + parts[i].p_memsz;
    }
    end = (end + 4095) & ~UINT64_C(4095);
    if (heap_start < end)
        return;
    for (unsigned i = 0; i < head->e_phnum; i++) {
        parts[i].p_vaddr += heap_start - end;
        parts[i].p_paddr += heap_start - end;
    }
    head->e_entry += heap_start - end;
}

/* The loader for this heap as a file without a name; its descriptor. */
static int make_loader(uint64_t heap_start, int *ret, struct td_err *err)
{
    struct td_buf file = {0};
    size_t size = 0;
    const uint8_t *bytes = td_loader_file(&size);
    int rc = TD_OK;

    if (size == 0)
        return td_fail(err, TD_EUNSUPPORTED, "images are loaded on x86-64 only");
    td_buf_bytes(&file, bytes, size);
    move_loader(&file, heap_start);
    *ret = memfd_create("tdprof-loader", MFD_CLOEXEC);
    if (*ret < 0 || write(*ret, file.data, file.len) != (ssize_t)file.len)
        rc = td_fail_errno(err, TD_EIO, errno, "cannot make the loader");
    td_buf_release(&file);
    return rc;
}

/* In the child: nothing of ours but what the loader needs. */
static bool arrange_descriptors(int names, int loader)
{
    const struct rlimit limit = {.rlim_cur = FIRST_COPY + 100, .rlim_max = FIRST_COPY + 100};
    struct rlimit now;

    if (getrlimit(RLIMIT_NOFILE, &now) < 0)
        return false;
    if (now.rlim_cur < limit.rlim_cur) {
        now.rlim_cur = limit.rlim_cur < now.rlim_max ? limit.rlim_cur : now.rlim_max;
        setrlimit(RLIMIT_NOFILE, &now);
    }
    const int null = open("/dev/null", O_RDWR);
    const int nowhere = open("/dev/null", O_WRONLY);
    const int moved = fcntl(names, F_DUPFD, FIRST_COPY),
              program = fcntl(loader, F_DUPFD, FIRST_COPY);
    return null >= 0 && nowhere >= 0 && moved >= 0 && program >= 0 &&
           dup2(nowhere, TD_LOADER_NULL) >= 0 && dup2(moved, TD_LOADER_NAMES) >= 0 &&
           dup2(program, OWN_PROGRAM) >= 0 && dup2(null, 0) >= 0 && dup2(null, 1) >= 0 &&
           dup2(null, 2) >= 0 && close_range(3, TD_LOADER_FIRST - 1, 0) == 0 &&
           close_range(TD_LOADER_LAST, ~0U, 0) == 0;
}

static void run_emulator(const struct td_worker_setup *setup, const char *option, int names,
                         int loader, pid_t parent) __attribute__((noreturn));

static void run_emulator(const struct td_worker_setup *setup, const char *option, int names,
                         int loader, pid_t parent)
{
    char *preload = td_xasprintf("LD_PRELOAD=%s", setup->plugin);
    char *program = td_xasprintf("/proc/self/fd/%d", OWN_PROGRAM);
    const char *const argv[] = {setup->qemu, "-cpu",       setup->guest->cpu, "-plugin", option,
                                "-U",        "LD_PRELOAD", program,           NULL};
    const char *const env[] = {preload, NULL};
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int i = 1; i < _NSIG; i++)
        signal(i, SIG_DFL);
    setpgid(0, 0); /* a Ctrl-C is for tdrec, which ends us */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpriority(PRIO_PROCESS, 0, NICENESS);
    if (getppid() == parent && arrange_descriptors(names, loader))
        execve(setup->qemu, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)env);
    _exit(FAILED_STATUS);
}

/* The emulator splits its options at commas. */
static char *plain_name(const char *name)
{
    char *plain = td_xstrdup(name);

    for (char *c = plain; *c; c++)
        *c = *c == ',' || *c == '=' ? '_' : *c;
    return plain;
}

static int start_emulator(struct td_worker *worker, const struct td_worker_setup *setup, int loader,
                          struct td_err *err)
{
    char *name = plain_name(setup->process);
    char *option =
        td_xasprintf("%s,mailbox=%s,windows=%llu:%llu:%llu,name=%s", setup->plugin, setup->mailbox,
                     (unsigned long long)setup->length.warm, (unsigned long long)setup->length.fill,
                     (unsigned long long)setup->length.cycles, name);
    int ends[2] = {-1, -1};
    int rc = TD_OK;

    if (pipe2(ends, O_CLOEXEC) < 0) {
        rc = td_fail_errno(err, TD_EIO, errno, "cannot make a pipe");
    } else {
        const pid_t parent = getpid();

        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        worker->names = ends[1];
        worker->pid = fork();
        if (worker->pid == 0)
            run_emulator(setup, option, ends[0], loader, parent);
        close(ends[0]);
        if (worker->pid < 0) {
            worker->pid = 0;
            rc = td_fail_errno(err, TD_EIO, errno, "cannot start the emulator");
        }
    }
    free(option);
    free(name);
    return rc;
}

int td_worker_start(struct td_worker **ret, const struct td_worker_setup *setup, struct td_err *err)
{
    struct td_worker *worker = td_xcalloc(1, sizeof(*worker));
    int loader = -1;

    worker->names = -1;
    int rc = make_loader(setup->heap_start, &loader, err);
    if (rc == TD_OK)
        rc = start_emulator(worker, setup, loader, err);
    if (loader >= 0)
        close(loader);
    if (rc == TD_OK)
        *ret = worker;
    else
        td_worker_free(worker);
    return rc;
}

bool td_worker_give(struct td_worker *worker, int fd)
{
    char name[TD_LOADER_NAME_BYTES] = {0};

    _Static_assert(TD_LOADER_NAME_BYTES <= 512, "records are not torn: PIPE_BUF is larger");
    snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)getpid(), fd);
    return worker->names >= 0 && write(worker->names, name, sizeof(name)) == sizeof(name);
}

void td_worker_close(struct td_worker *worker)
{
    if (worker->names >= 0)
        close(worker->names);
    worker->names = -1;
}

bool td_worker_runs(struct td_worker *worker)
{
    if (worker->pid > 0 && waitpid(worker->pid, &worker->status, WNOHANG) != 0)
        worker->pid = 0;
    return worker->pid > 0;
}

int td_worker_status(const struct td_worker *worker)
{
    return worker->status;
}

void td_worker_free(struct td_worker *worker)
{
    if (!worker)
        return;
    td_worker_close(worker);
    if (td_worker_runs(worker)) {
        kill(worker->pid, SIGKILL);
        waitpid(worker->pid, &worker->status, 0);
    }
    free(worker);
}
