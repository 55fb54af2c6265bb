/* SPDX-License-Identifier: MIT */
#include "record/machine/caps.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#if defined(__x86_64__)
#    include <cpuid.h>
#endif

#include "base/mem.h"
#include "base/procfs.h"
#include "base/text.h"
#include "record/machine/grants.h"
#include "record/machine/system.h"

#define PMU_FOLDER "/sys/bus/event_source/devices"

static char *or_empty(char *text)
{
    return text ? text : td_xstrdup("");
}

static int64_t number_or(const char *root, const char *path, int64_t otherwise)
{
    int64_t value = otherwise;

    td_procfs_number(root, path, &value);
    return value;
}

static void read_kernel(struct td_caps *caps)
{
    struct utsname uts = {0};
    const char *p = NULL;
    unsigned major = 0, minor = 0;

    uname(&uts);
    caps->kernel = td_procfs_line(caps->root, "/proc/sys/kernel/osrelease");
    char *version = td_procfs_line(caps->root, "/proc/version");
    if (!caps->kernel && version) {
        const char *start = strstr(version, "version ");

        start = start ? start + strlen("version ") : version;
        caps->kernel = td_xstrndup(start, strcspn(start, " "));
    }
    free(version);
    if (!caps->kernel && !caps->root[0])
        caps->kernel = td_xstrdup(uts.release);
    caps->kernel = or_empty(caps->kernel);
    for (p = caps->kernel; *p >= '0' && *p <= '9'; p++)
        major = major * 10 + (unsigned)(*p - '0');
    for (p += *p == '.'; *p >= '0' && *p <= '9'; p++)
        minor = minor * 10 + (unsigned)(*p - '0');
    caps->kernel_version = major << 16 | (minor & 0xffff);
    caps->host = td_procfs_line(caps->root, "/proc/sys/kernel/hostname");
    if (!caps->host && !caps->root[0])
        caps->host = td_xstrdup(uts.nodename);
    caps->host = or_empty(caps->host);
    /* A recorded tree has no uname; the CPU's description tells enough (see read_cpu). */
    caps->machine = td_xstrdup(caps->root[0] ? "" : uts.machine);
}

static void take(char **place, const char *text, const char *key)
{
    if (!*place)
        *place = td_procfs_field(text, key);
}

/* Leaf 0x40000000 names the hypervisor; the kernel shows it nowhere. Only of this machine. */
static char *hypervisor_name(void)
{
#if defined(__x86_64__)
    unsigned eax = 0, words[3] = {0};
    char name[sizeof(words) + 1] = "";

    __cpuid(0x40000000, eax, words[0], words[1], words[2]);
    memcpy(name, words, sizeof(words));
    if (strcmp(name, "KVMKVMKVM") == 0)
        return td_xstrdup("KVM");
    if (strcmp(name, "Microsoft Hv") == 0)
        return td_xstrdup("Hyper-V");
    if (strcmp(name, "VMwareVMware") == 0)
        return td_xstrdup("VMware");
    if (strcmp(name, "XenVMMXenVMM") == 0)
        return td_xstrdup("Xen");
#endif
    return NULL;
}

static char *find_hypervisor(const char *root, const char *flags)
{
    char *name = td_procfs_line(root, "/sys/hypervisor/type");

    if (name || !strstr(flags, " hypervisor"))
        return name;
    if (root[0] == '\0')
        name = hypervisor_name();
    if (!name)
        name = td_procfs_line(root, "/sys/class/dmi/id/sys_vendor");
    if (name && name[0])
        return name;
    free(name);
    return td_xstrdup("virtual machine");
}

static void read_cpu(struct td_caps *caps)
{
    char *cpuinfo = or_empty(td_procfs_text(caps->root, "/proc/cpuinfo"));

    caps->cpu_id = td_procfs_cpu_id(caps->root, cpuinfo);
    if (caps->cpu_id && caps->machine[0] == '\0') {
        free(caps->machine);
        caps->machine = td_xstrdup(strchr(caps->cpu_id, '-') ? "x86_64" : "aarch64");
    }
    take(&caps->cpu, cpuinfo, "model name");
    take(&caps->cpu, cpuinfo, "Hardware");
    take(&caps->cpu, cpuinfo, "CPU part");
    caps->cpu = or_empty(caps->cpu);
    caps->cpu_id = or_empty(caps->cpu_id);
    caps->code_kb = td_system_code_kb(caps->root);
    char *flags = or_empty(td_procfs_field(cpuinfo, "flags"));
    caps->hypervisor = or_empty(find_hypervisor(caps->root, flags));
    free(flags);
    free(cpuinfo);
}

static void read_pmu(struct td_pmu *pmu, const char *root, const char *name)
{
    char path[256];
    char *text = NULL;
    uint64_t width = 0;

    snprintf(pmu->name, sizeof(pmu->name), "%s", name);
    snprintf(path, sizeof(path), PMU_FOLDER "/%s/type", name);
    pmu->type = (uint32_t)number_or(root, path, 0);
    snprintf(path, sizeof(path), PMU_FOLDER "/%s/caps/max_precise", name);
    pmu->max_precise = (uint32_t)number_or(root, path, 0);
    snprintf(path, sizeof(path), PMU_FOLDER "/%s/caps/branches", name);
    pmu->branches = (uint32_t)number_or(root, path, 0);
    snprintf(path, sizeof(path), PMU_FOLDER "/%s/events/slots", name);
    text = td_procfs_text(root, path);
    pmu->slots = text != NULL;
    free(text);
    snprintf(path, sizeof(path), PMU_FOLDER "/%s/caps/slots", name);
    text = td_procfs_line(root, path);
    if (text && strncmp(text, "0x", 2) == 0 && td_parse_u64_base(text, 16, &width) && width < 64)
        pmu->slot_width = (uint32_t)width;
    free(text);
    snprintf(path, sizeof(path), PMU_FOLDER "/%s/cpus", name);
    text = td_procfs_line(root, path);
    if (text)
        td_cpulist_parse(&pmu->cpus, text, NULL);
    free(text);
    pmu->core =
        strcmp(name, "cpu") == 0 || strncmp(name, "cpu_", 4) == 0 || strncmp(name, "armv", 4) == 0;
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpufreq/cpuinfo_max_freq",
             pmu->cpus.len ? pmu->cpus.cpus[0] : 0);
    pmu->max_khz = pmu->core ? (uint64_t)number_or(root, path, 0) : 0;
}

static void read_pmus(struct td_caps *caps)
{
    char **names = td_procfs_names(caps->root, PMU_FOLDER);
    size_t cap = 0;

    for (char **name = names; name && *name; name++) {
        caps->pmus = td_grow(caps->pmus, &cap, caps->pmu_count + 1, sizeof(*caps->pmus));
        caps->pmus[caps->pmu_count] = (struct td_pmu){0};
        read_pmu(&caps->pmus[caps->pmu_count++], caps->root, *name);
    }
    td_procfs_names_free(names);
}

static void read_sysctls(struct td_caps *caps)
{
    const char *root = caps->root;

    caps->paranoid_tried =
        !td_procfs_number(root, "/proc/sys/kernel/perf_event_paranoid", &caps->paranoid);
    if (caps->paranoid_tried)
        caps->paranoid = 2;
    caps->mlock_kb = number_or(root, "/proc/sys/kernel/perf_event_mlock_kb", 516);
    caps->max_sample_rate = number_or(root, "/proc/sys/kernel/perf_event_max_sample_rate", 100000);
    caps->max_stack = number_or(root, "/proc/sys/kernel/perf_event_max_stack", 127);
    caps->kptr_restrict = number_or(root, "/proc/sys/kernel/kptr_restrict", 1);
    caps->nmi_watchdog = number_or(root, "/proc/sys/kernel/nmi_watchdog", 0) == 1;
    caps->smt = number_or(root, "/sys/devices/system/cpu/smt/active", 0) == 1;
}

/* The CPUs that this process may use, where there is no /sys to say which there are. */
static void guess_online(struct td_cpulist *online)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        return;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &set))
            td_cpulist_add(online, cpu);
    }
}

static int read_online(struct td_caps *caps, struct td_err *err)
{
    char *text = td_procfs_line(caps->root, "/sys/devices/system/cpu/online");
    int rc = TD_OK;

    if (text)
        rc = td_cpulist_parse(&caps->online, text, err);
    else if (!caps->root[0])
        guess_online(&caps->online);
    else
        rc = td_fail(err, TD_ENOENT,
                     "%s/sys/devices/system/cpu/online cannot be read: is /sys "
                     "mounted?",
                     caps->root);
    if (rc == TD_OK && caps->online.len == 0)
        rc = td_fail(err, TD_EFORMAT, "no CPU is online");
    free(text);
    return rc;
}

int td_caps_read(struct td_caps *caps, const char *root, struct td_err *err)
{
    *caps = (struct td_caps){.root = td_xstrdup(root ? root : "")};
    read_kernel(caps);
    read_cpu(caps);
    read_pmus(caps);
    read_sysctls(caps);
    caps->page_bytes = root ? 4096 : (uint32_t)sysconf(_SC_PAGESIZE);
    const int rc = read_online(caps, err);
    td_grants_read(caps);
    return rc;
}

/* The files of a folder; those with a dot (.scale, .unit) belong to another. */
static struct td_pmu_word *read_words(const char *root, const char *pmu, const char *folder,
                                      size_t *count)
{
    char path[320];
    struct td_pmu_word *words = NULL;
    size_t cap = 0;

    *count = 0;
    snprintf(path, sizeof(path), PMU_FOLDER "/%s/%s", pmu, folder);
    char **names = td_procfs_names(root, path);
    for (char **name = names; name && *name; name++) {
        if (strchr(*name, '.'))
            continue;
        snprintf(path, sizeof(path), PMU_FOLDER "/%s/%s/%s", pmu, folder, *name);
        char *text = td_procfs_line(root, path);
        if (!text)
            continue;
        words = td_grow(words, &cap, *count + 1, sizeof(*words));
        words[(*count)++] = (struct td_pmu_word){.name = td_xstrdup(*name), .text = text};
    }
    td_procfs_names_free(names);
    return words;
}

void td_caps_read_events(struct td_caps *caps)
{
    for (size_t i = 0; i < caps->pmu_count; i++) {
        struct td_pmu *pmu = &caps->pmus[i];

        pmu->events = read_words(caps->root, pmu->name, "events", &pmu->event_count);
        pmu->formats = read_words(caps->root, pmu->name, "format", &pmu->format_count);
    }
}

static void release_words(struct td_pmu_word *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(words[i].name);
        free(words[i].text);
    }
    free(words);
}

void td_caps_release(struct td_caps *caps)
{
    for (size_t i = 0; i < caps->pmu_count; i++) {
        struct td_pmu *pmu = &caps->pmus[i];

        td_cpulist_release(&pmu->cpus);
        release_words(pmu->events, pmu->event_count);
        release_words(pmu->formats, pmu->format_count);
    }
    free(caps->pmus);
    td_cpulist_release(&caps->online);
    free(caps->root);
    free(caps->host);
    free(caps->kernel);
    free(caps->machine);
    free(caps->cpu);
    free(caps->cpu_id);
    free(caps->hypervisor);
    free(caps->cannot_model);
    free(caps->host_core);
    *caps = (struct td_caps){0};
}

const char *td_caps_is(const struct td_caps *caps)
{
    return caps->paranoid_tried ? "seems to be" : "is";
}

const char *td_caps_where(const struct td_caps *caps)
{
    /* Without /proc, sysctl does nothing here. */
    return caps->user_ns || caps->weak_root || caps->paranoid_tried ? "on the host: " : "";
}

const char *td_caps_or_root(const struct td_caps *caps)
{
    if (caps->user_ns)
        return "";
    return caps->weak_root ? ", or start the container with --cap-add PERFMON" : ", or sudo tdrec";
}

bool td_caps_events(const struct td_caps *caps)
{
    return caps->cap_perfmon || caps->paranoid < 3;
}

bool td_caps_kernel(const struct td_caps *caps)
{
    return caps->cap_perfmon || caps->paranoid <= 1;
}

bool td_caps_system_wide(const struct td_caps *caps)
{
    return caps->cap_perfmon || caps->paranoid <= 0;
}

/* AMD and Arm have branch records without that mode. Of Intel's, those before Haswell are refused
 * by the kernel when they are opened (arch/x86/events/intel/lbr.c). */
bool td_caps_call_stacks(const struct td_caps *caps, const struct td_pmu *pmu)
{
    return pmu->core && pmu->branches > 0 && strncmp(caps->cpu_id, "GenuineIntel", 12) == 0;
}

const struct td_pmu *td_caps_core_pmu(const struct td_caps *caps)
{
    for (size_t i = 0; i < caps->pmu_count; i++) {
        if (caps->pmus[i].core && !caps->pmus[i].dead)
            return &caps->pmus[i];
    }
    return NULL;
}

const struct td_pmu *td_caps_dead_pmu(const struct td_caps *caps)
{
    for (size_t i = 0; i < caps->pmu_count; i++) {
        if (caps->pmus[i].core && caps->pmus[i].dead)
            return &caps->pmus[i];
    }
    return NULL;
}

size_t td_caps_core_pmu_count(const struct td_caps *caps)
{
    size_t count = 0;

    for (size_t i = 0; i < caps->pmu_count; i++)
        count += caps->pmus[i].core;
    return count;
}
