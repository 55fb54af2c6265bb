/* SPDX-License-Identifier: MIT */
/*
 * What will be opened: groups of events, by CPU, as values. Pure: made from what the machine allows
 * (caps) and what the user asked for (request), with no system call, so that it can be printed,
 * tested for any machine, and opened later by record/events.
 */
#ifndef TD_RECORD_PLAN_PLAN_H
#define TD_RECORD_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/model.h"
#include "formats/cores/core.h"
#include "record/machine/caps.h"
#include "record/plan/source.h"
#include "record/request.h"

#define TD_PLAN_EVENTS_MAX 16

/* One perf_event_attr, in the plan's own words; record/attr makes the kernel's of it. */
struct td_plan_event {
    char name[64];
    enum td_unit unit;
    uint32_t type;
    uint64_t config[3];
    uint64_t period; /* one of these two, or neither for an event that only counts */
    uint64_t frequency_hz;
    unsigned precise_ip;
    bool inherit, exclude_user, exclude_kernel, exclude_hv, exclude_idle;
    bool exclude_host, exclude_guest;
    bool pinned;   /* of a leader: its group never takes turns */
    bool switches; /* tells when tasks leave their CPU and come back */
    bool sideband; /* reports mappings, forks, exits and names too */
    bool build_id; /* mappings come with build-ids (Linux 5.12) */
    bool on_exec;  /* starts counting when the command is executed; else when told to */
    bool at_once;  /* starts counting when opened, whatever the delay */
    bool retire;   /* its samples are to tell the retire latency (:R) */
    bool member;   /* of a group that another event leads: starts and stops with it */
    uint64_t sample_type, read_format, branch_sample_type;
    uint32_t stack_bytes; /* PERF_SAMPLE_STACK_USER */
    uint64_t user_regs;   /* PERF_SAMPLE_REGS_USER */
};

/* What else a group's samples tell, so that each locates a node of its own. */
enum td_plan_detail {
    TD_DETAIL_NONE,
    TD_DETAIL_IBS_OP,   /* AMD's registers of one operation, raw */
    TD_DETAIL_IBS_FETCH /* of one fetch */
};

/* Events that count together; the first leads. */
struct td_plan_group {
    char name[64];
    char cpu_type[32]; /* the PMU's name on hybrid machines, "" else */
    enum td_group_role role;
    enum td_attribution attribution;
    enum td_tma_node locates;
    enum td_plan_detail detail;
    bool waits;         /* tells how long tasks are off the CPU; its samples, if any, from where */
    bool branch_misses; /* the samples' branch records say which branches were mispredicted */
    unsigned pass;      /* in which run it is opened, from 1; 0: in all */
    struct td_cpulist cpus; /* one instance each; empty: one for all CPUs */
    struct td_plan_event events[TD_PLAN_EVENTS_MAX];
    size_t event_count;
    size_t sampler; /* the event whose overflow takes the sample; event_count: none does */
    /* PAIRED: another, the last, which takes one as long after each of the sampler's as it begins
     * later than that. */
    size_t second;
    uint64_t pair_ns;
    /* The values of a sample; `event` is an index in this group. */
    struct td_column columns[TD_COLUMNS_MAX];
    size_t column_count;
};

/* Something that was asked for and is not done, with the reason; texts are owned. */
struct td_plan_left_out {
    char *what, *why;
    bool minor; /* one of several ways to say the same: listed, not announced */
};

struct td_plan {
    enum td_source_id source;
    char source_reason[512];       /* why not pmu; "" when the source was asked for */
    char privilege[256];           /* what is missing for lack of privilege; "" when nothing */
    char core[TD_CORE_NAME_MAX];   /* the core description used; "" for none */
    struct td_core_desc core_desc; /* of the modelled core; zeroed when none is modelled */
    struct td_core_desc *variants; /* of it, modelled as well; their names begin with its */
    size_t variant_count;
    char levels[128]; /* of the tree that are counted, "levels 1, 2 on zen5"; "": none */
    unsigned passes;  /* runs, or slices of time; 1 */
    bool topdown;     /* the slots are counted, or all that this very core can say */
    bool forbidden;   /* this user may open nothing: no groups, `privilege` says why */
    enum td_scope scope;
    enum td_method method; /* CPU or TASK */
    bool per_thread;       /* each thread has events of its own, none is inherited */
    bool follow;           /* CPU: keep only the samples of the wanted processes */
    uint64_t frequency_hz; /* after clamping; 0 when a period was asked for */
    uint32_t branches;     /* LBR: how many calls of a stack are recorded at most */
    struct td_plan_group *groups;
    size_t group_count, group_cap;
    struct td_plan_left_out *left_out;
    size_t left_out_count, left_out_cap;
};

/* The groups for the source, which the plan may change: named events make `clock` a `pmu`.
 * TD_EUSAGE or TD_EUNSUPPORTED or TD_EPERM with a sentence that names what cannot be done and what
 * would help. Release *plan after a failure too. */
int td_plan_make(struct td_plan *plan, const struct td_source *source, const struct td_caps *caps,
                 const struct td_request *request, struct td_err *err);
/* The smallest ring that a recording of this plan works with, in pages: a power of two. */
size_t td_plan_least_ring_pages(const struct td_plan *plan, const struct td_caps *caps);
void td_plan_release(struct td_plan *plan);

/* Whether the event takes the second sample of each pair. */
static inline bool td_plan_is_second(const struct td_plan_group *group, size_t event)
{
    return group->attribution == TD_ATTRIBUTION_PAIRED && event == group->second;
}

/* What the plan leaves out, the i-th: small things of one reason are one text, of the first of
 * them, and false is returned for the others. */
bool td_plan_left_out_text(const struct td_plan *plan, size_t i, char *buf, size_t size);

/* For the makers of groups, one a source (plan_clock.c). */
struct td_plan_group *td_plan_add_group(struct td_plan *plan) __attribute__((returns_nonnull));
void td_plan_leave_out(struct td_plan *plan, const char *what, const char *why);
void td_plan_leave_out_minor(struct td_plan *plan, const char *what, const char *why);
/* An event that counts nothing and reports mappings and forks everywhere, from the start on. */
void td_plan_add_tracker(struct td_plan *plan, const struct td_caps *caps,
                         const struct td_request *request);
bool td_plan_needs_tracker(const struct td_request *request);
/* The group that tells of waits; the plan has a tracker. */
void td_plan_add_off_cpu(struct td_plan *plan, const struct td_caps *caps,
                         const struct td_request *request);
bool td_plan_is_tracker(const struct td_plan_group *group);
/* Sets scope, method and follow; TD_EPERM when the user may not. */
int td_plan_decide_method(struct td_plan *plan, const struct td_caps *caps,
                          const struct td_request *request, struct td_err *err);
/* The CPUs that a group of this plan is opened on, empty for "any CPU". The caller owns *ret. */
void td_plan_cpus(struct td_cpulist *ret, const struct td_plan *plan, const struct td_caps *caps,
                  const struct td_request *request);
/* What every event of this plan has in common: inherit, exclusions, start. */
struct td_plan_event td_plan_event_init(const struct td_plan *plan, const struct td_caps *caps,
                                        const struct td_request *request);
/* Adds what the call graph needs to an event that samples. */
void td_plan_add_call_graph(struct td_plan_event *event, const struct td_caps *caps,
                            const struct td_request *request);
/* The sampling rate, clamped to what the kernel allows; and what a missing privilege costs. */
void td_plan_decide_rate(struct td_plan *plan, const struct td_caps *caps,
                         const struct td_request *request);
void td_plan_note_privilege(struct td_plan *plan, const struct td_caps *caps,
                            const struct td_request *request);
/* Takes inherit away from groups that the kernel would refuse, and says what that leaves out. */
void td_plan_check_inherit(struct td_plan *plan, const struct td_caps *caps);
/* Makes a group one that takes no samples, whose counters are read at the end (plan_count.c). */
void td_plan_count_only(struct td_plan_group *group);
/* Adds the software events that are counted beside all others, or when there are no others. */
int td_plan_count_software(struct td_plan *plan, const struct td_caps *caps,
                           const struct td_request *request, struct td_err *err);
/* Checks what --count cannot do with this source and these targets. */
int td_plan_count_check(const struct td_plan *plan, const struct td_request *request,
                        struct td_err *err);
int td_plan_clock(struct td_plan *plan, const struct td_caps *caps,
                  const struct td_request *request, struct td_err *err);
int td_plan_pmu(struct td_plan *plan, const struct td_caps *caps, const struct td_request *request,
                struct td_err *err);

/* The clock's groups and the core of `sim`. */
int td_plan_live(struct td_plan *plan, const struct td_caps *caps, const struct td_request *request,
                 struct td_err *err);
int td_plan_hybrid(struct td_plan *plan, const struct td_caps *caps,
                   const struct td_request *request, struct td_err *err);
int td_plan_sim(struct td_plan *plan, const struct td_caps *caps, const struct td_request *request,
                struct td_err *err);

#endif
