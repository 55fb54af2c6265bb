/* SPDX-License-Identifier: MIT */
/* What this machine, this kernel and this user allow: read from /proc and /sys, decided nothing. */
#ifndef TD_RECORD_MACHINE_CAPS_H
#define TD_RECORD_MACHINE_CAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpulist.h"
#include "base/err.h"

/* A file of a PMU's folder events/ or format/. */
struct td_pmu_word {
    char *name, *text;
};

/* A folder of /sys/bus/event_source/devices. */
struct td_pmu {
    char name[64];
    uint32_t type;
    struct td_cpulist cpus; /* of which CPUs; empty: all */
    uint32_t max_precise;   /* 0 when the kernel does not say */
    uint32_t branches;      /* branch records (LBR) that a sample can have; 0: none */
    bool core;              /* counts a CPU's cycles: "cpu", "cpu_core", "cpu_atom", "armv8_..." */
    bool slots;             /* has the perf metrics' leader event */
    uint32_t slot_width;    /* Arm's caps/slots: slots a cycle; 0 when the core does not say */
    uint64_t max_khz;       /* cpufreq's highest of its first CPU; 0 when the kernel does not say */
    /* What record/probe found out by counting; not tried: as if it counts. */
    bool no_slots, dead; /* its top-down events, or all of its events, count nothing true */
    bool refused;        /* the kernel opens none of them for us */
    char fault[160];     /* then why, for people */
    /* General counters that stay at 0 while all are in use: in a virtual machine whose host keeps
     * one for itself (KVM; its NMI watchdog, say), the guest's kernel does not know of it. */
    uint32_t idle_counters;
    uint32_t counters_at_once; /* then how many count at the same time, fixed ones too; else 0 */
    struct td_pmu_word *events, *formats; /* only after td_caps_read_events */
    size_t event_count, format_count;
};

struct td_caps {
    char *root;                                                /* "" for this machine */
    char *host, *kernel, *machine, *cpu, *cpu_id, *hypervisor; /* never NULL; "" when not known */
    unsigned kernel_version;                                   /* major << 16 | minor */
    uint32_t page_bytes;
    uint32_t code_kb; /* of the first CPU's cache for code alone; 0: not said */
    struct td_cpulist online;
    struct td_pmu *pmus;
    size_t pmu_count;

    int64_t paranoid;    /* perf_event_paranoid, or what the kernel's refusals amount to */
    bool paranoid_tried; /* it cannot be read */
    int64_t mlock_kb;    /* perf_event_mlock_kb, a CPU */
    int64_t max_sample_rate, max_stack, kptr_restrict;
    bool nmi_watchdog;
    bool smt; /* two threads a core are in use */

    /* Effective, where the kernel asks for them; CAP_SYS_ADMIN counts. In a user namespace of its
     * own only cap_ptrace counts, for that namespace's processes. */
    bool cap_perfmon, cap_ipc_lock, cap_ptrace, cap_syslog;
    bool user_ns;      /* the user ids are those of a container */
    bool weak_root;    /* user 0, whom the kernel grants no more than others: in a container */
    bool pid_ns;       /* processes outside of a container have no ids here */
    bool seccomp;      /* a filter is in force */
    int refused_errno; /* with it the kernel refused even a clock of our own user code; else 0 */
    uint64_t memlock_bytes; /* soft limits; UINT64_MAX: none */
    uint64_t nofile_soft, nofile_hard;

    char *host_core; /* the text of the calibrated core's description; NULL: none, or not read */
    bool can_model;  /* the command asked for, or windows of the processes, can run on the modelled
                        core; set by the caller */
    const char *program; /* its processor (sim/guest.h), static; NULL: nobody looked */
    char *cannot_model;  /* why not, a phrase for after a semicolon; NULL: nobody looked */
};

/* Reads everything; what cannot be read gets the kernel's default. `root` NULL: this machine; else
 * root/proc and root/sys stand for /proc and /sys, and the user is the one of root/proc/self, or
 * one without privileges. Fails when the CPUs cannot be found out. */
int td_caps_read(struct td_caps *caps, const char *root, struct td_err *err);
void td_caps_release(struct td_caps *caps);
/* Reads the names of events and the formats of all PMUs too: they are many. */
void td_caps_read_events(struct td_caps *caps);

/* Parts of sentences, static. How sure perf_event_paranoid is: "is" or "seems to be". */
const char *td_caps_is(const struct td_caps *caps);
/* Put before a fix that a container cannot make: "on the host: " or "". */
const char *td_caps_where(const struct td_caps *caps);
/* The other fix: ", or sudo tdrec", or "" where that does not help. */
const char *td_caps_or_root(const struct td_caps *caps);

/* May open any event at all: Debian and Ubuntu have a level 3 that forbids it to users. */
bool td_caps_events(const struct td_caps *caps);
/* May sample kernel code; may open events of whole CPUs. */
bool td_caps_kernel(const struct td_caps *caps);
bool td_caps_system_wide(const struct td_caps *caps);
/* Whether the branch records of this PMU can follow calls and returns (LBR call-stack mode). */
bool td_caps_call_stacks(const struct td_caps *caps, const struct td_pmu *pmu);
/* The first PMU that counts cycles and was not found dead, or NULL. */
const struct td_pmu *td_caps_core_pmu(const struct td_caps *caps);
/* The first that was found dead, or NULL. */
const struct td_pmu *td_caps_dead_pmu(const struct td_caps *caps);
/* Over one on hybrid machines, those found dead included. */
size_t td_caps_core_pmu_count(const struct td_caps *caps);
static inline bool td_caps_kernel_at_least(const struct td_caps *caps, unsigned major,
                                           unsigned minor)
{
    return caps->kernel_version >= (major << 16 | minor);
}

#endif
