/* SPDX-License-Identifier: MIT */
/* Why perf_event_open failed, in one sentence with the fix (man perf_event_open, ERRORS). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "record/events/events.h"

/* When a row applies; the first that does is printed. */
enum when {
    ALWAYS,
    SECCOMP,      /* a filter is in force */
    PARANOID_3,   /* Debian's and Ubuntu's levels above the kernel's own */
    UNPRIVILEGED, /* neither root nor CAP_PERFMON */
    HARDWARE,     /* not a software event */
};

static const struct explanation {
    int sys_errno;
    enum when when;
    const char *text; /* {event}, {paranoid}, {nofile}, {hypervisor}; {is}, {where}, {or_root}:
                         td_caps_is and so on */
} explanations[] = {
    {EPERM, SECCOMP,
     "a seccomp filter (container) blocks perf_event_open: start the container with --cap-add "
     "PERFMON, or with a seccomp profile that allows it"},
    {EACCES, SECCOMP,
     "a seccomp filter (container) blocks perf_event_open: start the container with --cap-add "
     "PERFMON, or with a seccomp profile that allows it"},
    {ENOSYS, SECCOMP,
     "a seccomp filter (container) blocks perf_event_open: start the container with a seccomp "
     "profile that allows it"},
    {EPERM, PARANOID_3,
     "perf_event_paranoid {is} {paranoid} and forbids all events to users: {where}sudo sysctl "
     "kernel.perf_event_paranoid=2{or_root}"},
    {EACCES, PARANOID_3,
     "perf_event_paranoid {is} {paranoid} and forbids all events to users: {where}sudo sysctl "
     "kernel.perf_event_paranoid=2{or_root}"},
    {EACCES, UNPRIVILEGED,
     "no permission for {event}: the process is another user's, runs a privileged program, or "
     "ends just now ({where}sudo tdrec may look at it)"},
    {EPERM, UNPRIVILEGED,
     "no permission for {event}: the process is another user's, runs a privileged program, or a "
     "security module forbids it ({where}sudo tdrec may look at it)"},
    {EPERM, ALWAYS,
     "the kernel refuses {event} even to a privileged user: a security module or lockdown forbids "
     "it (dmesg may say which)"},
    {EACCES, ALWAYS,
     "the kernel refuses {event} even to a privileged user: a security module or lockdown forbids "
     "it (dmesg may say which)"},
    {ENOSYS, ALWAYS,
     "this kernel has no perf_event_open: it was built without CONFIG_PERF_EVENTS, or the sandbox "
     "hides it"},
    {ENOENT, HARDWARE,
     "this machine{hypervisor} has no counter for {event}: use -e cpu-clock, or --source clock"},
    {ENOENT, ALWAYS, "this kernel does not know {event}"},
    {EOPNOTSUPP, ALWAYS,
     "{event} cannot be sampled here: no counter interrupt, or the precise level is not supported"},
    {EBUSY, ALWAYS,
     "the counters are taken by another user, such as the NMI watchdog (sudo sysctl "
     "kernel.nmi_watchdog=0) or another profiler"},
    {EMFILE, ALWAYS,
     "out of file descriptors (the hard limit is {nofile}): raise it with ulimit -Hn, or record "
     "fewer CPUs with -C"},
    {ENFILE, ALWAYS, "the machine is out of file descriptors: raise fs.file-max"},
    {ESRCH, ALWAYS, "the process ended before it could be attached to"},
    {ENOMEM, ALWAYS, "the kernel has no memory for the events"},
    {EINTR, ALWAYS, "opening {event} was interrupted: try again"},
};

static bool applies(enum when when, const struct td_caps *caps, const char *event)
{
    switch (when) {
    case ALWAYS: return true;
    case SECCOMP: return caps->seccomp && caps->refused_errno;
    case PARANOID_3: return caps->paranoid >= 3 && !caps->cap_perfmon;
    case UNPRIVILEGED: return !caps->cap_perfmon;
    case HARDWARE: return strcmp(event, "cpu-clock") != 0 && strcmp(event, "task-clock") != 0;
    }
    return false;
}

/* The replacement for the "{name}" at `text`; NULL when it is none. */
static const char *replacement(const char *text, const struct td_caps *caps, const char *event,
                               char *buf, size_t size)
{
    if (strncmp(text, "{event}", 7) == 0)
        return event;
    if (strncmp(text, "{is}", 4) == 0)
        return td_caps_is(caps);
    if (strncmp(text, "{where}", 7) == 0)
        return td_caps_where(caps);
    if (strncmp(text, "{or_root}", 9) == 0)
        return td_caps_or_root(caps);
    if (strncmp(text, "{paranoid}", 10) == 0)
        snprintf(buf, size, "%" PRId64, caps->paranoid);
    else if (strncmp(text, "{nofile}", 8) == 0)
        snprintf(buf, size, "%" PRIu64, caps->nofile_hard);
    else if (strncmp(text, "{hypervisor}", 12) == 0)
        snprintf(buf, size, "%s%s%s", caps->hypervisor[0] ? " (hypervisor: " : "", caps->hypervisor,
                 caps->hypervisor[0] ? ")" : "");
    else
        return NULL;
    return buf;
}

static void expand(char *out, size_t out_size, const char *text, const struct td_caps *caps,
                   const char *event)
{
    char buf[128];
    size_t len = 0;

    while (*text && len + 1 < out_size) {
        const char *value = replacement(text, caps, event, buf, sizeof(buf));

        if (value) {
            len += (size_t)snprintf(out + len, out_size - len, "%s", value);
            text += strcspn(text, "}") + 1;
        } else {
            out[len++] = *text++;
        }
    }
    out[len < out_size ? len : out_size - 1] = '\0';
}

int td_events_explain(const struct td_caps *caps, const char *event, int sys_errno,
                      struct td_err *err)
{
    char text[400];
    const enum td_code code =
        sys_errno == EPERM || sys_errno == EACCES ? TD_EPERM : TD_EUNSUPPORTED;

    for (size_t i = 0; i < TD_ARRAY_SIZE(explanations); i++) {
        if (explanations[i].sys_errno != sys_errno || !applies(explanations[i].when, caps, event))
            continue;
        expand(text, sizeof(text), explanations[i].text, caps, event);
        td_fail(err, code, "%s", text);
        if (err)
            err->sys_errno = sys_errno;
        return code;
    }
    return td_fail_errno(err, code, sys_errno, "perf_event_open refused %s", event);
}
