/* SPDX-License-Identifier: MIT */
#include "record/sim/window/jail.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

#if defined(__x86_64__)
#    define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#else
#    define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

enum condition {
    ALWAYS,
    OWN_FIRST,   /* the first argument is this process */
    READS_THIRD, /* flags of open in the third: for reading, nothing is made or cut */
    COPIES,      /* fcntl that tells or copies descriptors */
    NAMES,       /* prctl that is about a thread's name */
};

/* What the emulator, the model beside it and a window's harmless code call. What is not here fails
 * with EPERM. Calls that write are here because nothing is open that can be written to. */
static const struct {
    int number;
    enum condition condition;
} allowed[] = {
    {SYS_read, ALWAYS},
    {SYS_readv, ALWAYS},
    {SYS_pread64, ALWAYS},
    {SYS_write, ALWAYS},
    {SYS_writev, ALWAYS},
    {SYS_lseek, ALWAYS},
    {SYS_close, ALWAYS},
    {SYS_dup3, ALWAYS},
    {SYS_fcntl, COPIES},
    {SYS_fstat, ALWAYS},
    {SYS_newfstatat, ALWAYS},
    {SYS_statx, ALWAYS},
    {SYS_statfs, ALWAYS},
    {SYS_fstatfs, ALWAYS},
    {SYS_faccessat, ALWAYS},
    {SYS_faccessat2, ALWAYS},
    {SYS_readlinkat, ALWAYS},
    {SYS_getcwd, ALWAYS},
    {SYS_getdents64, ALWAYS},
    {SYS_openat, READS_THIRD},
    {SYS_mmap, ALWAYS},
    {SYS_munmap, ALWAYS},
    {SYS_mprotect, ALWAYS},
    {SYS_mremap, ALWAYS},
    {SYS_madvise, ALWAYS},
    {SYS_brk, ALWAYS},
    {SYS_futex, ALWAYS},
    {SYS_sched_yield, ALWAYS},
    {SYS_sched_getaffinity, ALWAYS},
    {SYS_getcpu, ALWAYS},
    {SYS_clock_gettime, ALWAYS},
    {SYS_clock_getres, ALWAYS},
    {SYS_clock_nanosleep, ALWAYS},
    {SYS_nanosleep, ALWAYS},
    {SYS_gettimeofday, ALWAYS},
    {SYS_times, ALWAYS},
    {SYS_getrusage, ALWAYS},
    {SYS_getrandom, ALWAYS},
    {SYS_sysinfo, ALWAYS},
    {SYS_uname, ALWAYS},
    {SYS_getpid, ALWAYS},
    {SYS_getppid, ALWAYS},
    {SYS_gettid, ALWAYS},
    {SYS_getuid, ALWAYS},
    {SYS_geteuid, ALWAYS},
    {SYS_getgid, ALWAYS},
    {SYS_getegid, ALWAYS},
    {SYS_rt_sigaction, ALWAYS},
    {SYS_rt_sigprocmask, ALWAYS},
    {SYS_rt_sigpending, ALWAYS},
    {SYS_rt_sigreturn, ALWAYS},
    {SYS_sigaltstack, ALWAYS},
    {SYS_restart_syscall, ALWAYS},
    {SYS_set_robust_list, ALWAYS},
    {SYS_rseq, ALWAYS},
    {SYS_exit, ALWAYS},
    {SYS_exit_group, ALWAYS},
    {SYS_kill, OWN_FIRST},
    {SYS_tgkill, OWN_FIRST},
    {SYS_process_vm_readv, OWN_FIRST},
    {SYS_process_vm_writev, OWN_FIRST},
    {SYS_prctl, NAMES},
#if defined(__x86_64__)
    {SYS_stat, ALWAYS},
    {SYS_lstat, ALWAYS},
    {SYS_access, ALWAYS},
    {SYS_readlink, ALWAYS},
    {SYS_dup2, ALWAYS},
    {SYS_time, ALWAYS},
#endif
};

struct program {
    struct sock_filter code[4096];
    unsigned short len;
};

static void add(struct program *program, uint16_t code, uint8_t yes, uint8_t no, uint32_t value)
{
    program->code[program->len++] =
        (struct sock_filter){.code = code, .jt = yes, .jf = no, .k = value};
}

static void add_load(struct program *program, size_t offset)
{
    add(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void add_return(struct program *program, uint32_t what)
{
    add(program, BPF_RET | BPF_K, 0, 0, what);
}

/* The lower half of an argument. Both of our processors are little-endian. */
static size_t argument(unsigned i)
{
    return offsetof(struct seccomp_data, args) + i * sizeof(uint64_t);
}

/* Allows the call when the value that is loaded is one of these; behind it, it is refused. */
static void add_choice(struct program *program, const uint32_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, values[i]);
        add_return(program, SECCOMP_RET_ALLOW);
    }
}

static void add_condition(struct program *program, enum condition condition)
{
    static const uint32_t copies[] = {F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC};
    static const uint32_t names[] = {PR_SET_NAME, PR_GET_NAME};
    const uint32_t own = (uint32_t)getpid(), reads = 0;

    switch (condition) {
    case ALWAYS: add_return(program, SECCOMP_RET_ALLOW); break;
    case OWN_FIRST:
        add_load(program, argument(0));
        add_choice(program, &own, 1);
        break;
    case READS_THIRD:
        add_load(program, argument(2));
        add(program, BPF_ALU | BPF_AND | BPF_K, 0, 0,
            O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY));
        add_choice(program, &reads, 1);
        break;
    case COPIES:
        add_load(program, argument(1));
        add_choice(program, copies, TD_ARRAY_SIZE(copies));
        break;
    case NAMES:
        add_load(program, argument(0));
        add_choice(program, names, TD_ARRAY_SIZE(names));
        break;
    }
    add_return(program, SECCOMP_RET_ERRNO | EPERM);
}

/* Instructions of a condition's part: jumps over it are of one byte. */
static void add_call(struct program *program, int number, enum condition condition)
{
    struct program part = {.len = 0};

    add_condition(&part, condition);
    add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)part.len, (uint32_t)number);
    for (unsigned short i = 0; i < part.len; i++)
        program->code[program->len++] = part.code[i];
}

static void make_filter(struct program *program)
{
    program->len = 0;
    add_load(program, offsetof(struct seccomp_data, arch));
    add(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, OWN_ARCHITECTURE);
    add_return(program, SECCOMP_RET_KILL_PROCESS);
    add_load(program, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < TD_ARRAY_SIZE(allowed); i++)
        add_call(program, allowed[i].number, allowed[i].condition);
    add_return(program, SECCOMP_RET_ERRNO | EPERM);
}

static bool is_null(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

static void close_if_writable(int fd)
{
    const int flags = fcntl(fd, F_GETFL);

    if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH) && !is_null(fd))
        close(fd);
}

/* False when it cannot be said what is open. */
static bool close_writable(void)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    uint64_t fd = 0;

    if (!folder)
        return false;
    while ((entry = readdir(folder))) {
        if (td_parse_u64(entry->d_name, &fd))
            close_if_writable((int)fd);
    }
    closedir(folder);
    return true;
}

bool td_jail_enter(void)
{
    struct program *program = td_xcalloc(1, sizeof(*program));

    make_filter(program);
    const struct sock_fprog filter = {.len = program->len, .filter = program->code};
    const bool locked =
        close_writable() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
    free(program);
    return locked;
}
