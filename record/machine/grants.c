/* SPDX-License-Identifier: MIT */
#include "record/machine/grants.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/procfs.h"
#include "base/text.h"

/* linux/capability.h; CAP_SYS_ADMIN stands in for CAP_PERFMON (man capabilities). */
enum {
    BIT_IPC_LOCK = 14,
    BIT_SYS_PTRACE = 19,
    BIT_SYS_ADMIN = 21,
    BIT_SYSLOG = 34,
    BIT_PERFMON = 38,
};

/* A field such as "Max open files  1024  4096  files". */
static void read_limit(const char *limits, const char *name, uint64_t *soft, uint64_t *hard)
{
    const char *p = limits ? strstr(limits, name) : NULL;
    char *end = NULL;

    if (!p)
        return;
    p += strlen(name);
    p += strspn(p, " ");
    *soft = strncmp(p, "unlimited", 9) == 0 ? UINT64_MAX : strtoull(p, &end, 10);
    p = end ? end : p + 9;
    p += strspn(p, " ");
    *hard = strncmp(p, "unlimited", 9) == 0 ? UINT64_MAX : strtoull(p, NULL, 10);
}

/* Of a recorded tree. Returns the effective capabilities. */
static uint64_t read_files(struct td_caps *caps)
{
    char *status = td_procfs_text(caps->root, "/proc/self/status");
    char *limits = td_procfs_text(caps->root, "/proc/self/limits");
    char *text = status ? td_procfs_field(status, "CapEff") : NULL;
    char *seccomp = status ? td_procfs_field(status, "Seccomp") : NULL;
    uint64_t bits = 0, hard = 0;

    if (text)
        td_parse_u64_base(text, 16, &bits);
    caps->seccomp = seccomp && strcmp(seccomp, "2") == 0;
    read_limit(limits, "Max locked memory", &caps->memlock_bytes, &hard);
    read_limit(limits, "Max open files", &caps->nofile_soft, &caps->nofile_hard);
    free(status);
    free(limits);
    free(text);
    free(seccomp);
    return bits;
}

static uint64_t limit_of(rlim_t value)
{
    return value == RLIM_INFINITY ? UINT64_MAX : value;
}

/* Of this process, by system calls: there may be no /proc. Returns the effective capabilities. */
static uint64_t ask_kernel(struct td_caps *caps)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
    struct rlimit limit;

    caps->seccomp = prctl(PR_GET_SECCOMP) == 2;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
        caps->memlock_bytes = limit_of(limit.rlim_cur);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        caps->nofile_soft = limit_of(limit.rlim_cur);
        caps->nofile_hard = limit_of(limit.rlim_max);
    }
    if (syscall(SYS_capget, &header, data) < 0)
        return 0;
    return data[0].effective | (uint64_t)data[1].effective << 32;
}

/* Whether user ids are mapped at all (man user_namespaces: the first namespace maps each to
 * itself).
 */
static bool in_user_namespace(const char *root)
{
    char *map = td_procfs_line(root, "/proc/self/uid_map");
    unsigned long long inside = 0, outside = 0, count = 0;
    char *p = map;

    if (map) {
        inside = strtoull(p, &p, 10);
        outside = strtoull(p, &p, 10);
        count = strtoull(p, &p, 10);
    }
    const bool own = map && (inside || outside || count != UINT32_MAX);
    free(map);
    return own;
}

/* Whether the process ids are a container's. The first namespace has a fixed inode,
 * PROC_PID_INIT_INO of include/linux/proc_ns.h. */
static bool in_pid_namespace(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != 0xeffffffc;
}

/* Opens a clock that stays off. 0, or the errno. */
static int try_clock(pid_t pid, int cpu, bool kernel)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = PERF_ATTR_SIZE_VER0,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = 1000000,
        .disabled = 1,
        .exclude_kernel = !kernel,
        .exclude_hv = !kernel,
    };
    const int fd =
        (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);

    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

/* What the kernel asks of the first user namespace does not count in another. */
static void apply_namespace(struct td_caps *caps)
{
    if (caps->user_ns)
        caps->cap_perfmon = caps->cap_syslog = caps->cap_ipc_lock = false;
    caps->weak_root = caps->root[0] == '\0' && geteuid() == 0 && !caps->cap_perfmon;
}

void td_grants_read(struct td_caps *caps)
{
    const bool here = caps->root[0] == '\0';

    caps->memlock_bytes = 64 << 10;
    caps->nofile_soft = caps->nofile_hard = 1024;
    const uint64_t bits = here ? ask_kernel(caps) : read_files(caps);
    const bool admin = bits >> BIT_SYS_ADMIN & 1;
    caps->user_ns = in_user_namespace(caps->root);
    caps->cap_ptrace = bits >> BIT_SYS_PTRACE & 1;
    caps->cap_perfmon = admin || bits >> BIT_PERFMON & 1;
    caps->cap_syslog = admin || bits >> BIT_SYSLOG & 1;
    caps->cap_ipc_lock = bits >> BIT_IPC_LOCK & 1;
    caps->pid_ns = here && in_pid_namespace();
    apply_namespace(caps);
}

/* Capabilities of a user namespace, and files that a container hides or shows of another machine,
 * say what the kernel may do; the trial says what it does. */
void td_grants_try(struct td_caps *caps)
{
    const int cpu = caps->online.len ? (int)caps->online.cpus[0] : 0;

    caps->refused_errno = try_clock(0, -1, false);
    /* Not for want of privilege: a filter, a kernel without events. The files' word stands. */
    if (caps->refused_errno && caps->refused_errno != EACCES)
        return;
    const int kernel = caps->refused_errno ? EACCES : try_clock(0, -1, true);
    const int whole = kernel ? EACCES : try_clock(-1, cpu, true);

    if (kernel == EACCES || whole == EACCES) {
        caps->user_ns = caps->user_ns || caps->cap_perfmon;
        caps->cap_perfmon = false;
    }
    if (caps->paranoid_tried)
        caps->paranoid = caps->refused_errno ? 3 : kernel ? 2 : whole ? 1 : 0;
    apply_namespace(caps);
}
