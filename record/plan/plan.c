/* SPDX-License-Identifier: MIT */
#include "record/plan/plan.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/plan/latency.h"
#include "symbolize/unwind/unwind.h"

/* What a sample has beside the copy of the stack: registers, a kernel's chain, identifiers. */
#define SAMPLE_REST_BYTES 2048
#define NS_PER_S          UINT64_C(1000000000)

/* At more samples a second, copies of stacks are taken of the wanted tasks only. */
#define COPIES_CPU_HZ_MAX 1000
/* From more samples a second on, so are those of a clock. On whole CPUs the timers would interrupt
 * everything that runs beside, and us: under load nothing gets on, we do not either and the rings
 * run full. At 40 us a sample, inherited events miss no short process. */
#define CLOCK_CPU_HZ_MAX 25000

/* Branch records come with hardware events only, and each core's PMU must have the mode. */
static int check_call_graph(struct td_plan *plan, const struct td_caps *caps,
                            const struct td_request *request, struct td_err *err)
{
    const struct td_pmu *pmu = td_caps_core_pmu(caps);

    if (request->call_graph != TD_CALL_GRAPH_LBR)
        return TD_OK;
    if (!pmu)
        return td_fail(err, TD_EUNSUPPORTED,
                       "--call-graph lbr needs a core PMU with branch records, and this machine "
                       "has none: use -g");
    if (plan->source != TD_SOURCE_PMU)
        return td_fail(err, TD_EUNSUPPORTED,
                       "--call-graph lbr needs hardware events, and the source is %s: use -g, or "
                       "--source pmu",
                       td_source_name(plan->source));
    for (size_t i = 0; i < caps->pmu_count; i++) {
        pmu = &caps->pmus[i];
        if (pmu->core && !td_caps_call_stacks(caps, pmu))
            return td_fail(err, TD_EUNSUPPORTED,
                           "--call-graph lbr needs branch records that follow calls (Intel since "
                           "Haswell), and PMU %s has none: use -g",
                           pmu->name);
        if (pmu->core && (plan->branches == 0 || pmu->branches < plan->branches))
            plan->branches = pmu->branches;
    }
    return TD_OK;
}

static int check_command(const struct td_plan *plan, struct td_err *err)
{
    const char *source = td_source_name(plan->source);

    if (plan->scope == TD_SCOPE_COMMAND)
        return TD_OK;
    return td_fail(err, TD_EUSAGE,
                   "--source %s runs a command: tdrec --source %s -- ./app (what runs already is "
                   "recorded with --source clock)",
                   source, source);
}

/* Debian's and Ubuntu's kernels refuse users every event from level 3 on. */
static void forbid(struct td_plan *plan, const struct td_caps *caps,
                   const struct td_request *request)
{
    plan->forbidden = true;
    plan->scope = request->scope;
    plan->method = request->method == TD_METHOD_CPU ? TD_METHOD_CPU : TD_METHOD_TASK;
    snprintf(plan->privilege, sizeof(plan->privilege),
             "no event may be opened: perf_event_paranoid %s %lld and forbids all of them to users "
             "(%ssudo sysctl kernel.perf_event_paranoid=2%s; --source sim needs none)",
             td_caps_is(caps), (long long)caps->paranoid, td_caps_where(caps),
             td_caps_or_root(caps));
    td_plan_leave_out(plan, "everything", plan->privilege);
}

/* A CPU that is asked for is sampled, or the user is told which is not. */
static int check_cpus(const struct td_caps *caps, const struct td_request *request,
                      struct td_err *err)
{
    for (size_t i = 0; i < request->cpus.len; i++) {
        if (td_cpulist_has(&caps->online, request->cpus.cpus[i]))
            continue;
        char *online = td_cpulist_text(&caps->online);
        const int rc =
            td_fail(err, TD_EUSAGE, "-C: CPU %u is not online (%s)", request->cpus.cpus[i], online);
        free(online);
        return rc;
    }
    return TD_OK;
}

size_t td_plan_least_ring_pages(const struct td_plan *plan, const struct td_caps *caps)
{
    size_t bytes = 0, pages = 1;

    for (size_t g = 0; g < plan->group_count; g++) {
        for (size_t e = 0; e < plan->groups[g].event_count; e++) {
            const uint32_t stack = plan->groups[g].events[e].stack_bytes;

            bytes = stack > bytes ? stack : bytes;
        }
    }
    while (bytes && pages * caps->page_bytes < 2 * (bytes + SAMPLE_REST_BYTES))
        pages *= 2;
    return pages;
}

/* A ring that holds less than a sample and the one that is being read would lose all of them. */
static int check_ring(const struct td_plan *plan, const struct td_caps *caps,
                      const struct td_request *request, struct td_err *err)
{
    const size_t least = td_plan_least_ring_pages(plan, caps);

    if (request->ring_pages == 0 || request->ring_pages >= least)
        return TD_OK;
    return td_fail(err, TD_EUSAGE,
                   "-m %llu: a ring buffer of %llu kB does not hold two samples with %u bytes of "
                   "stack: -m %zu or more, or --call-graph fp",
                   (unsigned long long)request->ring_pages,
                   (unsigned long long)(request->ring_pages * caps->page_bytes / 1024),
                   request->stack_bytes, least);
}

/* Mappings and names of threads come in the order of time and, where samples tell whose they are,
 * so do they. The event that writes them may be one that only counts, as the leader of Intel's
 * slots. */
static void complete_sideband(struct td_plan *plan)
{
    uint64_t all = 0;

    for (size_t g = 0; g < plan->group_count; g++)
        for (size_t e = 0; e < plan->groups[g].event_count; e++)
            all |= plan->groups[g].events[e].sample_type;
    for (size_t g = 0; g < plan->group_count; g++) {
        struct td_plan_event *first = &plan->groups[g].events[0];

        if (first->sideband)
            first->sample_type |=
                PERF_SAMPLE_TID | PERF_SAMPLE_TIME | (all & PERF_SAMPLE_IDENTIFIER);
    }
}

int td_plan_make(struct td_plan *plan, const struct td_source *source, const struct td_caps *caps,
                 const struct td_request *request, struct td_err *err)
{
    *plan = (struct td_plan){.source = source->id,
                             .passes = request->passes ? request->passes : 1,
                             .per_thread = request->per_thread};
    if (plan->passes > 1 && request->events.len == 0 && source->id != TD_SOURCE_PMU)
        return td_fail(err, TD_EUSAGE, "--passes is for hardware counters, and the source is %s",
                       td_source_name(source->id));
    if (request->groups.len && source->id != TD_SOURCE_PMU)
        return td_fail(err, TD_EUSAGE, "--groups is for hardware counters, and the source is %s",
                       td_source_name(source->id));
    if (source->needs & TD_NEEDS_EVENTS && !td_caps_events(caps)) {
        forbid(plan, caps, request);
        return TD_OK;
    }
    int rc = td_plan_decide_method(plan, caps, request, err);
    if (rc == TD_OK)
        rc = check_call_graph(plan, caps, request, err);
    if (rc == TD_OK && request->count)
        rc = td_plan_count_check(plan, request, err);
    if (rc == TD_OK)
        rc = check_cpus(caps, request, err);
    if (rc == TD_OK && source->needs & TD_NEEDS_COMMAND)
        rc = check_command(plan, err);
    if (rc == TD_OK)
        rc = source->plan(plan, caps, request, err);
    if (rc == TD_OK && request->weights)
        rc = td_plan_check_latency(plan, request->events.len > 0, caps, err);
    complete_sideband(plan);
    return rc < 0 ? rc : check_ring(plan, caps, request, err);
}

void td_plan_release(struct td_plan *plan)
{
    for (size_t i = 0; i < plan->group_count; i++)
        td_cpulist_release(&plan->groups[i].cpus);
    for (size_t i = 0; i < plan->left_out_count; i++) {
        free(plan->left_out[i].what);
        free(plan->left_out[i].why);
    }
    free(plan->groups);
    free(plan->left_out);
    free(plan->variants);
    *plan = (struct td_plan){0};
}

struct td_plan_group *td_plan_add_group(struct td_plan *plan)
{
    plan->groups =
        td_grow(plan->groups, &plan->group_cap, plan->group_count + 1, sizeof(*plan->groups));
    struct td_plan_group *group = &plan->groups[plan->group_count++];

    *group = (struct td_plan_group){.locates = TD_NODE_NONE, .pass = 1};
    return group;
}

static void leave_out(struct td_plan *plan, const char *what, const char *why, bool minor)
{
    plan->left_out = td_grow(plan->left_out, &plan->left_out_cap, plan->left_out_count + 1,
                             sizeof(*plan->left_out));
    plan->left_out[plan->left_out_count++] =
        (struct td_plan_left_out){.what = td_xstrdup(what), .why = td_xstrdup(why), .minor = minor};
}

void td_plan_leave_out(struct td_plan *plan, const char *what, const char *why)
{
    leave_out(plan, what, why, false);
}

void td_plan_leave_out_minor(struct td_plan *plan, const char *what, const char *why)
{
    leave_out(plan, what, why, true);
}

static bool same_reason(const struct td_plan_left_out *a, const struct td_plan_left_out *b)
{
    return a->minor && b->minor && strcmp(a->why, b->why) == 0;
}

#define LOCATOR "locator of "

/* "locator of x" and "locator of y" are "locators of x, y". */
static size_t join_what(const struct td_plan *plan, size_t first, char *buf, size_t size)
{
    const struct td_plan_left_out *all = plan->left_out;
    const bool locators = strncmp(all[first].what, LOCATOR, strlen(LOCATOR)) == 0;
    size_t used = 0, count = 0;

    for (size_t i = first; i < plan->left_out_count && used < size; i++) {
        const bool locator = strncmp(all[i].what, LOCATOR, strlen(LOCATOR)) == 0;
        const char *what = all[i].what + (locators && locator ? strlen(LOCATOR) : 0);

        if (i != first && !same_reason(&all[i], &all[first]))
            continue;
        used += (size_t)snprintf(buf + used, size - used, "%s%s",
                                 count++    ? ", "
                                 : locators ? "locators of "
                                            : "",
                                 what);
    }
    if (count == 1)
        used = (size_t)snprintf(buf, size, "%s", all[first].what);
    return used < size ? used : size - 1;
}

bool td_plan_left_out_text(const struct td_plan *plan, size_t i, char *buf, size_t size)
{
    for (size_t k = 0; k < i; k++) {
        if (same_reason(&plan->left_out[k], &plan->left_out[i]))
            return false;
    }
    const size_t used = join_what(plan, i, buf, size);
    snprintf(buf + used, size - used, ": %s", plan->left_out[i].why);
    return true;
}

static int refuse_whole_cpus(const struct td_caps *caps, const char *what, struct td_err *err)
{
    return td_fail(err, TD_EPERM,
                   "perf_event_paranoid %s %lld: %s needs it to be 0 or less, or CAP_PERFMON "
                   "(%ssudo sysctl kernel.perf_event_paranoid=0%s)",
                   td_caps_is(caps), (long long)caps->paranoid, what, td_caps_where(caps),
                   td_caps_or_root(caps));
}

static bool is_dense(const struct td_plan *plan, const struct td_caps *caps,
                     const struct td_request *request)
{
    const uint64_t most = (uint64_t)caps->max_sample_rate;
    uint64_t hz = request->frequency_max ? most : request->frequency_hz;

    if (request->period)
        hz = NS_PER_S / request->period;
    return plan->source == TD_SOURCE_CLOCK && (hz < most ? hz : most) > CLOCK_CPU_HZ_MAX;
}

int td_plan_decide_method(struct td_plan *plan, const struct td_caps *caps,
                          const struct td_request *request, struct td_err *err)
{
    const bool allowed = td_caps_system_wide(caps);

    plan->scope = request->scope;
    switch (request->scope) {
    case TD_SCOPE_SYSTEM:
    case TD_SCOPE_CPUS:
    case TD_SCOPE_CGROUP:
        if (!allowed)
            return refuse_whole_cpus(caps, "sampling more than your own programs", err);
        if (request->method == TD_METHOD_TASK)
            return td_fail(err, TD_EUSAGE, "--method task goes with a command, -p or -t");
        plan->method = TD_METHOD_CPU;
        if (caps->pid_ns)
            td_plan_leave_out(plan, "names in processes outside of this container",
                              "in a pid namespace the kernel does not tell one from another: "
                              "record on the host");
        return TD_OK;
    case TD_SCOPE_THREAD:
        if (request->method == TD_METHOD_CPU)
            return td_fail(err, TD_EUSAGE, "--method cpu does not go with -t");
        plan->method = TD_METHOD_TASK;
        return TD_OK;
    case TD_SCOPE_COMMAND:
    case TD_SCOPE_PROCESS: break;
    }
    if (request->method == TD_METHOD_CPU && !allowed)
        return refuse_whole_cpus(caps, "--method cpu", err);
    /* Whole CPUs would copy the stacks of everything that runs beside, and ours, to throw them
     * away: worth it only at rates so low that inherited events miss short processes. */
    const bool copies = td_call_graph_copies(request->call_graph) &&
                        (request->period || request->frequency_hz > COPIES_CPU_HZ_MAX);
    plan->method = request->count ? TD_METHOD_TASK : request->method;
    if (plan->method == TD_METHOD_AUTO)
        plan->method =
            allowed && !copies && !is_dense(plan, caps, request) ? TD_METHOD_CPU : TD_METHOD_TASK;
    plan->follow = plan->method == TD_METHOD_CPU;
    return TD_OK;
}

void td_plan_cpus(struct td_cpulist *ret, const struct td_plan *plan, const struct td_caps *caps,
                  const struct td_request *request)
{
    *ret = (struct td_cpulist){0};
    /* Without a ring, one event follows its task over all CPUs. */
    if (request->count && plan->method == TD_METHOD_TASK)
        return;
    if (plan->scope == TD_SCOPE_CPUS)
        td_cpulist_intersect(ret, &request->cpus, &caps->online);
    else if (plan->scope != TD_SCOPE_THREAD)
        td_cpulist_copy(ret, &caps->online);
}

struct td_plan_event td_plan_event_init(const struct td_plan *plan, const struct td_caps *caps,
                                        const struct td_request *request)
{
    struct td_plan_event event = {
        .inherit = plan->method == TD_METHOD_TASK && plan->scope != TD_SCOPE_THREAD &&
                   !request->per_thread,
        .exclude_kernel = !td_caps_kernel(caps),
        .exclude_hv = !td_caps_kernel(caps),
        /* The idle task burns no CPU that anyone asks about. */
        .exclude_idle = plan->method == TD_METHOD_CPU,
        .on_exec = plan->method == TD_METHOD_TASK && plan->scope == TD_SCOPE_COMMAND &&
                   request->delay_ms == 0 && !request->start_off,
        .build_id = td_caps_kernel_at_least(caps, 5, 12),
        .read_format = td_caps_kernel_at_least(caps, 6, 0) ? PERF_FORMAT_LOST : 0,
    };

    return event;
}

void td_plan_add_call_graph(struct td_plan_event *event, const struct td_caps *caps,
                            const struct td_request *request)
{
    const bool arm = strcmp(caps->machine, "aarch64") == 0;

    if (request->call_graph == TD_CALL_GRAPH_FP)
        event->sample_type |= PERF_SAMPLE_CALLCHAIN;
    if (request->call_graph == TD_CALL_GRAPH_LBR) {
        /* The chain is the kernel's part, and where the user's begins. */
        event->sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK;
        event->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
                                    PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES;
    }
    if (!td_call_graph_copies(request->call_graph))
        return;
    /* The kernel's part of the stack is a chain; the user's is unwound. */
    if (!event->exclude_kernel)
        event->sample_type |= PERF_SAMPLE_CALLCHAIN;
    event->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    event->user_regs = td_unwind_registers(arm ? TD_CFI_AARCH64 : TD_CFI_X86_64);
    event->stack_bytes = request->stack_bytes;
}

static bool reads_groups(const struct td_plan_group *group)
{
    return group->sampler < group->event_count &&
           group->events[group->sampler].sample_type & PERF_SAMPLE_READ;
}

/* Linux before 6.12 refuses inherit with PERF_SAMPLE_READ (commit 7e8b255650fc). */
void td_plan_check_inherit(struct td_plan *plan, const struct td_caps *caps)
{
    bool cut = false;
    char why[192];

    for (size_t g = 0; g < plan->group_count && !td_caps_kernel_at_least(caps, 6, 12); g++) {
        struct td_plan_group *group = &plan->groups[g];

        for (size_t e = 0; e < group->event_count && reads_groups(group); e++) {
            cut = cut || group->events[e].inherit;
            group->events[e].inherit = false;
        }
    }
    if (!cut)
        return;
    snprintf(why, sizeof(why),
             "inherited group reads need Linux 6.12 (this is %s); sudo, or perf_event_paranoid 0, "
             "follows them by whole CPUs",
             caps->kernel);
    td_plan_leave_out(plan, "new threads and child processes", why);
}
