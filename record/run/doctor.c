/* SPDX-License-Identifier: MIT */
#include "record/run/doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/procfs.h"
#include "base/text.h"
#include "record/events/events.h"
#include "record/tasks/kernel.h"
#include "record/sim/share/guest.h"
#include "record/machine/pfm.h"
#include "record/machine/pmu_core.h"
#include "record/run/sim_check.h"
#include "record/run/sources.h"
#include "record/run/target.h"

/* What a file tdrec needs to sample everything for users; it fits one line. */
#define FILE_CAPS "cap_perfmon,cap_sys_ptrace,cap_syslog,cap_ipc_lock+ep"

#define NAME_COLUMN 22
/* "ok  ", the name, a blank: where the text begins and its further lines go on. */
#define TEXT_COLUMN (4 + NAME_COLUMN + 1)
#define LINE_COLUMN 80

/* What stays on one line: a word, or a command to copy, which ends at a comma. */
static size_t unbroken(const char *text)
{
    const char *end = strstr(text, ", ");
    const size_t command = end ? (size_t)(end + 1 - text) : strlen(text);

    if (strncmp(text, "sudo ", 5) == 0 && command <= LINE_COLUMN - TEXT_COLUMN)
        return command;
    return strcspn(text, " ");
}

/* The text from TEXT_COLUMN on, broken between words. A word that is longer than a line, such as a
 * path, stays whole. */
static void wrap(FILE *out, const char *text)
{
    size_t column = TEXT_COLUMN;

    while (*text) {
        const size_t word = unbroken(text);

        if (column > TEXT_COLUMN && column + 1 + word > LINE_COLUMN) {
            fprintf(out, "\n%*s", TEXT_COLUMN, "");
            column = TEXT_COLUMN;
        } else if (column > TEXT_COLUMN) {
            column += (size_t)fprintf(out, " ");
        }
        column += (size_t)fprintf(out, "%.*s", (int)word, text);
        text += word;
        text += strspn(text, " ");
    }
    fprintf(out, "\n");
}

/* "ok  name  text" or "no  name  text". */
static void line(FILE *out, bool ok, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void line(FILE *out, bool ok, const char *name, const char *format, ...)
{
    char text[600], safe[1200];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    td_text_safe(safe, sizeof(safe), text, strlen(text));
    fprintf(out, "%s  %-*s ", ok ? "ok" : "no", NAME_COLUMN, name);
    wrap(out, safe);
}

/* Opens what a recording of our own process would open. */
static bool try_events(const struct td_caps *caps, char *const words[], struct td_events *events,
                       struct td_err *err)
{
    struct td_request request;
    struct td_plan plan = {0};
    const uint32_t self = (uint32_t)getpid();
    const struct td_events_target target = {.tids = &self, .tid_count = 1, .cgroup_fd = -1};
    char *argv[8] = {NULL};
    int argc = 0;
    bool ok = false;

    for (; words[argc]; argc++)
        argv[argc] = words[argc];
    if (td_request_parse(&request, argc, argv, err) == TD_OK &&
        td_source_plan(&plan, caps, &request, err) == TD_OK && plan.forbidden)
        td_fail(err, TD_EPERM, "%s", plan.privilege);
    else if (plan.group_count)
        ok = td_events_open(events, &plan, caps, &target, err) == TD_OK;
    td_plan_release(&plan);
    td_request_release(&request);
    return ok;
}

static bool try_command(const struct td_caps *caps, FILE *out)
{
    char *const words[] = {(char[]){"tdrec"}, (char[]){"--source"}, (char[]){"clock"},
                           (char[]){"true"}, NULL};
    struct td_err err = TD_ERR_INIT;
    struct td_events events = {0};
    const bool ok = try_events(caps, words, &events, &err);
    const size_t ring_kb = events.ring_pages * caps->page_bytes / 1024;

    if (ok)
        line(out, true, "your own programs", "time by cpu-clock, up to %" PRId64 " Hz",
             caps->max_sample_rate);
    else
        line(out, false, "your own programs", "%s", err.text);
    if (ok && events.ring_pages == events.ring_wanted)
        line(out, true, "ring buffers", "%zu kB per CPU", ring_kb);
    else if (ok)
        line(out, false, "ring buffers",
             "%zu of %zu kB per CPU: %ssudo sysctl kernel.perf_event_mlock_kb=%zu%s", ring_kb,
             events.ring_wanted * caps->page_bytes / 1024, td_caps_where(caps),
             (events.ring_wanted + 1) * caps->page_bytes / 1024, td_caps_or_root(caps));
    if (ok)
        line(out, !events.no_build_id && td_caps_kernel_at_least(caps, 5, 12),
             "build-ids by kernel", "%s",
             events.no_build_id || !td_caps_kernel_at_least(caps, 5, 12)
                 ? "before Linux 5.12: read from the files instead"
                 : "a file changed later is noticed");
    td_events_close(&events);
    return ok;
}

static void tell_whole_cpus(const struct td_caps *caps, FILE *out)
{
    const bool contained = td_caps_where(caps)[0] != '\0';

    if (td_caps_system_wide(caps))
        line(out, true, "whole CPUs",
             "-a, -C, -G; short processes of a command are sampled evenly");
    else
        line(out, false, "whole CPUs",
             "perf_event_paranoid %s %" PRId64 ": %ssudo sysctl kernel.perf_event_paranoid=0%s%s",
             td_caps_is(caps), caps->paranoid, td_caps_where(caps), td_caps_or_root(caps),
             contained ? "" : ", or sudo setcap " FILE_CAPS " $(which tdrec)");
}

static void tell_other_processes(const struct td_caps *caps, FILE *out)
{
    if (caps->cap_ptrace)
        line(out, true, "others' processes", "-p, -t%s",
             caps->user_ns ? ": those of this container" : "");
    else if (caps->user_ns)
        line(out, false, "others' processes", "only your own: on the host: sudo tdrec");
    else if (caps->weak_root)
        line(out, false, "others' processes",
             "only your own: start the container with --cap-add SYS_PTRACE");
    else
        line(out, false, "others' processes", "only your own: sudo tdrec");
}

static void tell_privileges(const struct td_caps *caps, FILE *out)
{
    /* A filter, or a kernel without events: nothing that users may or may not do comes to it. */
    if (caps->refused_errno && caps->refused_errno != EACCES) {
        line(out, false, "kernel time", "no event can be opened, see the first line");
        line(out, false, "whole CPUs", "no event can be opened, see the first line");
        line(out, false, "others' processes", "no event can be opened, see the first line");
        return;
    }
    if (td_caps_kernel(caps))
        line(out, true, "kernel time", "sampled");
    else
        line(out, false, "kernel time",
             "perf_event_paranoid %s %" PRId64 ": %ssudo sysctl kernel.perf_event_paranoid=1%s",
             td_caps_is(caps), caps->paranoid, td_caps_where(caps), td_caps_or_root(caps));
    tell_whole_cpus(caps, out);
    tell_other_processes(caps, out);
}

/* kallsyms_show_value in kernel/ksyms_common.c: the addresses are shown with CAP_SYSLOG unless
 * kptr_restrict is 2, and to all where it is 0 and perf_event_paranoid at most 1. */
static void tell_hidden_names(const struct td_caps *caps, FILE *out)
{
    const char *where = td_caps_where(caps), *root = td_caps_or_root(caps);
    const char *paranoid = caps->paranoid > 1 ? " kernel.perf_event_paranoid=1" : "";
    const long long kptr = (long long)caps->kptr_restrict;

    if (access("/proc/kallsyms", F_OK) < 0)
        line(out, false, "kernel names",
             "there is no /proc/kallsyms: mount -t proc proc /proc, or a kernel with "
             "CONFIG_KALLSYMS");
    else if (kptr > 1 && caps->cap_syslog)
        line(out, false, "kernel names",
             "kernel.kptr_restrict is %lld and hides them: sudo sysctl kernel.kptr_restrict=1",
             kptr);
    else if (kptr > 0)
        line(
            out, false, "kernel names",
            "kernel.kptr_restrict is %lld and hides them: %ssudo sysctl kernel.kptr_restrict=0%s%s",
            kptr, where, paranoid, kptr == 1 ? root : "");
    else
        line(out, false, "kernel names",
             "perf_event_paranoid %s %" PRId64 " and hides them: %ssudo sysctl "
             "kernel.perf_event_paranoid=1%s",
             td_caps_is(caps), caps->paranoid, where, root);
}

static void tell_kernel_names(const struct td_caps *caps, FILE *out)
{
    struct td_modules *modules = td_modules_new(NULL);
    struct td_kernel *kernel = td_kernel_new(modules, NULL);

    if (td_kernel_readable(kernel))
        line(out, true, "kernel names", "from /proc/kallsyms");
    else
        tell_hidden_names(caps, out);
    td_kernel_free(kernel);
    td_modules_free(modules);
}

/* The groups and locators of a recording that asks for nothing special, and all that it lacks. */
static void tell_hardware_plan(const struct td_caps *caps, const struct td_plan *plan, FILE *out)
{
    char locators[400] = "", text[560];
    size_t used = 0;
    const char *events = "";

    for (size_t i = 0; i < plan->group_count; i++) {
        const struct td_plan_group *group = &plan->groups[i];

        if (group->role == TD_ROLE_SLOTS && !events[0])
            events = group->name;
        if ((group->role == TD_ROLE_LOCATOR || group->detail != TD_DETAIL_NONE) &&
            used < sizeof(locators))
            used += (size_t)snprintf(locators + used, sizeof(locators) - used, "%s%s%s%s",
                                     used ? ", " : "", group->name, group->cpu_type[0] ? "@" : "",
                                     group->cpu_type);
    }
    if (events[0])
        line(out, plan->topdown, "hardware top-down", "%s", plan->levels);
    else
        line(out, plan->topdown, "hardware top-down", "%s: %s", plan->core,
             plan->topdown ? "no slots, but its stall counters" : "time in cycles only");
    if (used)
        line(out, true, "locators", "%s", locators);
    for (size_t i = 0; i < plan->left_out_count; i++) {
        if (td_plan_left_out_text(plan, i, text, sizeof(text)))
            line(out, false, "left out", "%s", text);
    }
    if (caps->nmi_watchdog)
        line(out, false, "all counters",
             "the NMI watchdog takes one: sudo sysctl kernel.nmi_watchdog=0");
}

/* The events of the core's description against libpfm4's table, a second opinion. */
static void cross_check(const struct td_caps *caps, const struct td_pmu *pmu, FILE *out)
{
    struct td_pmu_choice choice = {0};
    struct td_pfm_difference differences[8];
    size_t compared = 0;

    if (td_pmu_choose(&choice, caps, pmu, NULL) < 0)
        return;
    const size_t count =
        td_pfm_compare(choice.core, differences, TD_ARRAY_SIZE(differences), &compared);
    for (size_t i = 0; i < count && i < TD_ARRAY_SIZE(differences); i++)
        line(out, false, "event codes",
             "%s: %s is 0x%" PRIx64 " here and 0x%" PRIx64 " in libpfm4 (%s)", choice.core->name,
             differences[i].event, differences[i].ours[0], differences[i].theirs[0],
             differences[i].pfm_name);
    if (compared)
        line(out, count == 0, "event codes", "%s: %zu of %zu agree with libpfm4", choice.core->name,
             compared - count, compared);
    else
        line(out, true, "event codes", "%s: libpfm4 has no table to compare with",
             choice.core->name);
    td_pmu_choice_release(&choice);
}

/* A PMU of which the kernel opened no event, or NULL. */
static const struct td_pmu *refused_by_kernel(const struct td_caps *caps)
{
    for (size_t i = 0; i < caps->pmu_count; i++) {
        if (caps->pmus[i].refused)
            return &caps->pmus[i];
    }
    return NULL;
}

static void tell_hardware(const struct td_caps *caps, FILE *out)
{
    char *words[] = {(char[]){"tdrec"}, (char[]){"--source"}, (char[]){"pmu"}, (char[]){"true"}};
    struct td_request request;
    struct td_plan plan = {0};
    struct td_err err = TD_ERR_INIT;

    if (td_request_parse(&request, 4, words, &err) >= 0 &&
        td_source_plan(&plan, caps, &request, &err) < 0)
        line(out, false, "hardware top-down", "%s", err.text);
    else if (refused_by_kernel(caps))
        line(out, false, "hardware top-down", "%s", refused_by_kernel(caps)->fault);
    else if (plan.forbidden)
        line(out, false, "hardware top-down", "%s", plan.privilege);
    else
        tell_hardware_plan(caps, &plan, out);
    td_plan_release(&plan);
    td_request_release(&request);
    for (size_t i = 0; i < caps->pmu_count; i++) {
        if (caps->pmus[i].core)
            cross_check(caps, &caps->pmus[i], out);
    }
}

static void tell_model(const struct td_caps *caps, FILE *out)
{
    const struct td_guest *guest = td_guest_by_name(caps->machine);
    char name[64], *qemu = NULL, *plugin = NULL;
    struct td_err err = TD_ERR_INIT;

    snprintf(name, sizeof(name), "qemu-%.40s", caps->machine);
    char *path = td_target_find_program(name);
    if (td_procfs_self() == 0)
        line(out, false, "modelled top-down", "it needs /proc: mount -t proc proc /proc");
    else if (path && guest && td_sim_check_emulator(guest, &qemu, &plugin, &err) < 0)
        line(out, false, "modelled top-down", "%s", err.text);
    else if (path)
        line(out, true, "modelled top-down", "%s%s", path,
             guest == td_guest_by_name("x86_64")
                 ? "; --source live models windows of a native run, "
                   "also of what runs already (-p)"
                 : "");
    else
        line(out, false, "modelled top-down", "%s is not installed: sudo apt install qemu-user",
             name);
    free(path);
    free(qemu);
    free(plugin);
}

/* Programs for other processors, on the modelled core only. */
static void tell_guests(const struct td_caps *caps, FILE *out)
{
    const struct td_guest *guest;

    for (unsigned i = 0; (guest = td_guest_at(i)); i++) {
        char name[NAME_COLUMN + 1];

        if (strcmp(guest->name, caps->machine) == 0)
            continue;
        snprintf(name, sizeof(name), "%s programs", guest->title);
        char *path = td_target_find_program(guest->emulator);
        const bool libraries = access(guest->sysroot, X_OK) == 0;
        if (td_procfs_self() == 0)
            line(out, false, name, "modelled, which needs /proc: mount -t proc proc /proc");
        else if (!path)
            line(out, false, name, "%s is not installed: sudo apt install qemu-user",
                 guest->emulator);
        else if (!libraries)
            line(out, false, name,
                 "modelled when static; the others' libraries: sudo apt install %s",
                 guest->package);
        else
            line(out, true, name, "modelled, %s", path);
        free(path);
    }
}

static void tell_limits(const struct td_caps *caps, FILE *out)
{
    const uint64_t need = caps->online.len + 32;

    if (caps->nofile_hard >= need)
        line(out, true, "descriptors", "%" PRIu64 " allowed, %zu CPUs", caps->nofile_hard,
             caps->online.len);
    else
        line(out, false, "descriptors",
             "%" PRIu64 " allowed, about %" PRIu64
             " needed: sudo prlimit --pid $$ --nofile=%" PRIu64,
             caps->nofile_hard, need, need);
    if (caps->seccomp)
        line(out, true, "seccomp", "a filter is in force%s",
             caps->refused_errno ? "; see the first line for what it does" : "; it allows events");
}

static void tell_events_allowed(const struct td_caps *caps, FILE *out)
{
    if (td_caps_events(caps))
        line(out, true, "your own programs", "time by cpu-clock, up to %" PRId64 " Hz",
             caps->max_sample_rate);
    else
        line(out, false, "your own programs",
             "perf_event_paranoid %s %" PRId64 " and forbids all events to users: %ssudo sysctl "
             "kernel.perf_event_paranoid=2%s",
             td_caps_is(caps), caps->paranoid, td_caps_where(caps), td_caps_or_root(caps));
}

bool td_doctor(const struct td_caps *caps, FILE *out)
{
    char *online = td_cpulist_text(&caps->online);
    /* Of a recorded machine, what its files say; nothing is tried. */
    const bool here = caps->root[0] == '\0';
    const bool ok = here ? try_command(caps, out) : td_caps_events(caps);

    if (!here)
        tell_events_allowed(caps, out);
    tell_privileges(caps, out);
    if (here)
        tell_kernel_names(caps, out);
    tell_hardware(caps, out);
    if (here) {
        tell_model(caps, out);
        tell_guests(caps, out);
    }
    tell_limits(caps, out);
    line(out, true, "machine", "Linux %s, %s, CPUs %s%s%s", caps->kernel, caps->cpu, online,
         caps->hypervisor[0] ? ", hypervisor " : "", caps->hypervisor);
    free(online);
    return ok;
}
