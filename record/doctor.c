/* SPDX-License-Identifier: MIT */
#include "record/doctor.h"

#include <stdarg.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "record/events.h"
#include "record/kernel.h"
#include "record/sim/guest.h"
#include "record/pfm.h"
#include "record/pmu_core.h"
#include "record/target.h"

#define NAME_COLUMN 22

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
    fprintf(out, "%s  %-*s %s\n", ok ? "ok" : "no", NAME_COLUMN, name, safe);
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
        td_plan_make(&plan, caps, &request, err) == TD_OK && plan.forbidden)
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
        line(out, true, "ring buffers", "%zu kB a CPU", ring_kb);
    else if (ok)
        line(out, false, "ring buffers",
             "%zu of %zu kB a CPU: raise ulimit -l or kernel.perf_event_mlock_kb", ring_kb,
             events.ring_wanted * caps->page_bytes / 1024);
    if (ok)
        line(out, !events.no_build_id && td_caps_kernel_at_least(caps, 5, 12),
             "build-ids by kernel", "%s",
             events.no_build_id || !td_caps_kernel_at_least(caps, 5, 12)
                 ? "before Linux 5.12: read from the files instead"
                 : "a file changed later is noticed");
    td_events_close(&events);
    return ok;
}

static void tell_privileges(const struct td_caps *caps, FILE *out)
{
    const long long paranoid = caps->paranoid;

    if (td_caps_kernel(caps))
        line(out, true, "kernel time", "sampled");
    else
        line(out, false, "kernel time",
             "perf_event_paranoid is %lld: sudo sysctl kernel.perf_event_paranoid=1", paranoid);
    if (td_caps_system_wide(caps))
        line(out, true, "whole CPUs",
             "-a, -C, -G; short processes of a command are sampled evenly");
    else
        line(out, false, "whole CPUs",
             "perf_event_paranoid is %lld: sudo tdrec, or sudo setcap "
             "cap_perfmon,cap_sys_ptrace,cap_syslog,cap_ipc_lock+ep on tdrec",
             paranoid);
    if (caps->cap_ptrace)
        line(out, true, "others' processes", "-p, -t");
    else
        line(out, false, "others' processes", "only your own: sudo tdrec");
}

static void tell_kernel_names(const struct td_caps *caps, FILE *out)
{
    struct td_modules *modules = td_modules_new(NULL);
    struct td_kernel *kernel = td_kernel_new(modules, NULL);

    if (td_kernel_readable(kernel))
        line(out, true, "kernel names", "from /proc/kallsyms");
    else
        line(out, false, "kernel names",
             "kernel.kptr_restrict is %lld and hides them: sudo sysctl kernel.kptr_restrict=%s",
             (long long)caps->kptr_restrict, caps->kptr_restrict > 1 ? "1, and sudo tdrec" : "0");
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

static void tell_hardware(const struct td_caps *caps, FILE *out)
{
    char *words[] = {(char[]){"tdrec"}, (char[]){"--source"}, (char[]){"pmu"}, (char[]){"true"}};
    struct td_request request;
    struct td_plan plan = {0};
    struct td_err err = TD_ERR_INIT;

    if (td_request_parse(&request, 4, words, &err) >= 0 &&
        td_plan_make(&plan, caps, &request, &err) < 0)
        line(out, false, "hardware top-down", "%s", err.text);
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
    char name[64];

    snprintf(name, sizeof(name), "qemu-%.40s", caps->machine);
    char *path = td_target_find_program(name);
    if (path)
        line(out, true, "modelled top-down", "%s", path);
    else
        line(out, false, "modelled top-down", "%s is not installed: sudo apt install qemu-user",
             name);
    free(path);
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
        if (!path)
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
        line(out, false, "descriptors", "%" PRIu64 " allowed, about %" PRIu64 " needed: ulimit -Hn",
             caps->nofile_hard, need);
    if (caps->seccomp)
        line(out, true, "seccomp", "a filter is in force; see the first line for what it does");
}

static void tell_events_allowed(const struct td_caps *caps, FILE *out)
{
    if (td_caps_events(caps))
        line(out, true, "your own programs", "time by cpu-clock, up to %" PRId64 " Hz",
             caps->max_sample_rate);
    else
        line(out, false, "your own programs",
             "perf_event_paranoid is %" PRId64 " and forbids all events to users: sudo sysctl "
             "kernel.perf_event_paranoid=2, or CAP_PERFMON",
             caps->paranoid);
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
