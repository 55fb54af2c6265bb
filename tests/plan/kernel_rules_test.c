/* SPDX-License-Identifier: MIT */
/*
 * Every plan of every recorded machine is taken by a kernel that enforces its rules and counts all
 * of it at once; plans that were spoiled in one place are refused with the kernel's errno.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "record/plan/attr.h"
#include "record/plan/plan.h"
#include "record/machine/probe.h"
#include "record/run/sources.h"
#include "tests/plan/double.h"

#define MAX_WORDS    16
#define OPENINGS_MAX 2048

static char scratch[] = "/tmp/td-rules-XXXXXX";

/* The machine of tests/plan/machines/NAME.tree; released by the caller. */
static void read_machine(struct td_caps *caps, const char *name)
{
    char *root = td_xasprintf("%s/%s", scratch, name);
    char *command = td_xasprintf("%s/plan/unpack %s/plan/machines/%s.tree %s", TD_TESTS_DIR,
                                 TD_TESTS_DIR, name, root);

    if (access(root, F_OK) != 0)
        assert_int_equal(system(command), 0); /* NOLINT: our own script */
    assert_int_equal(td_caps_read(caps, root, NULL), TD_OK);
    free(command);
    free(root);
}

static int make_plan(struct td_plan *plan, struct td_request *request, const struct td_caps *caps,
                     const char *line, char *storage[2], struct td_err *err)
{
    char *rest = storage[0] = td_xstrdup(line);
    char **argv = td_xcalloc(MAX_WORDS + 1, sizeof(*argv));
    int argc = 0;

    storage[1] = (char *)argv;
    while (argc < MAX_WORDS && (argv[argc] = strsep(&rest, " ")))
        argc++;
    const int rc = td_request_parse(request, argc, argv, err);
    return rc == TD_OK ? td_source_plan(plan, caps, request, err) : rc;
}

/* One call of perf_event_open, as record/events makes them. */
struct opening {
    union {
        struct perf_event_attr attr;
        unsigned char room[512]; /* of a later kernel's attr */
    } u;
    char name[64];
    char group[64];
    pid_t pid;
    int cpu;
    int leader; /* index of the opening that leads, or -1 */
    int first;  /* of the second sampler of a pair: index of the first; else -1 */
    unsigned long flags;
};

struct openings {
    struct opening items[OPENINGS_MAX];
    size_t count;
};

static void add_group(struct openings *all, const struct td_plan *plan,
                      const struct td_plan_group *group, int cpu)
{
    int leader = -1;

    for (size_t e = 0; e < group->event_count; e++) {
        struct opening *one = &all->items[all->count];

        assert_true(all->count < OPENINGS_MAX);
        *one = (struct opening){.cpu = cpu, .leader = leader, .first = -1};
        if (td_plan_is_second(group, e))
            one->first = (int)(all->count - e + group->sampler);
        one->u.attr = td_attr_make(&group->events[e], 1 << 20);
        snprintf(one->name, sizeof(one->name), "%s", group->events[e].name);
        snprintf(one->group, sizeof(one->group), "%s", group->name);
        one->pid = plan->method == TD_METHOD_CPU ? -1 : DOUBLE_TASK;
        if (plan->scope == TD_SCOPE_CGROUP) {
            one->pid = DOUBLE_CGROUP;
            one->flags = PERF_FLAG_PID_CGROUP;
        }
        if (leader < 0)
            leader = (int)all->count;
        all->count++;
    }
}

static void list_openings(struct openings *all, const struct td_plan *plan, unsigned pass)
{
    all->count = 0;
    for (size_t g = 0; g < plan->group_count; g++) {
        const struct td_cpulist *cpus = &plan->groups[g].cpus;

        if (plan->groups[g].pass && plan->groups[g].pass != pass)
            continue;
        for (size_t i = 0; i < (cpus->len ? cpus->len : 1); i++)
            add_group(all, plan, &plan->groups[g], cpus->len ? (int)cpus->cpus[i] : -1);
    }
}

/* Sets the samplers of pairs apart, as record/phase does. */
static int pair_all(const struct perf_double *d, const struct openings *all, const int *fds,
                    size_t *where)
{
    for (size_t i = 0; i < all->count; i++) {
        const int first = all->items[i].first;

        *where = i;
        const int rc =
            first < 0 ? 0
                      : double_pair(d, fds[first], fds[i], all->items[first].u.attr.sample_period);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Opens one after the other; the first refusal, and whose it was. */
static int open_all(struct perf_double *d, const struct openings *all, size_t *where)
{
    int fds[OPENINGS_MAX] = {0};

    for (size_t i = 0; i < all->count; i++) {
        const struct opening *one = &all->items[i];

        *where = i;
        fds[i] = double_open(d, &one->u.attr, one->pid, one->cpu,
                             one->leader < 0 ? -1 : fds[one->leader], one->flags);
        if (fds[i] < 0)
            return fds[i];
    }
    return pair_all(d, all, fds, where);
}

/* Of the machine that was read last; large ones are not on the stack. */
static struct td_caps the_caps;
static struct perf_double the_double;
static struct openings the_openings;

/* How much is wrong with one run of the plan. */
static size_t open_pass(const struct td_caps *caps, const struct td_plan *plan, unsigned pass,
                        const char *machine, const char *line)
{
    /* Counted in one run, groups take turns: that is said with each figure. */
    const bool turns = strstr(line, "--count") && plan->passes == 1;
    size_t where = 0;

    list_openings(&the_openings, plan, pass);
    double_init(&the_double, caps);
    const int rc = open_all(&the_double, &the_openings, &where);
    const size_t starved = double_starved(&the_double);

    if (rc < 0)
        print_error("%s: %s: the kernel refuses %s of group %s: %s\n", machine, line,
                    the_openings.items[where].name, the_openings.items[where].group, strerror(-rc));
    if (starved && !turns)
        print_error("%s: %s: run %u: %zu CPUs cannot count all of it at once\n", machine, line,
                    pass, starved);
    return rc < 0 || (starved && !turns);
}

/* Records are told apart by the identifier: the first event that a run opens says whether there is
 * one, and every record that is not a sample has its time and its task. */
static size_t check_records(const struct td_plan *plan, unsigned pass, const char *machine,
                            const char *line)
{
    const struct td_plan_event *first = NULL;
    uint64_t all = 0;
    size_t faults = 0;

    for (size_t g = 0; g < plan->group_count; g++) {
        const struct td_plan_group *group = &plan->groups[g];

        if (group->pass && group->pass != pass)
            continue;
        first = first ? first : &group->events[0];
        for (size_t e = 0; e < group->event_count; e++)
            all |= group->events[e].sample_type;
        faults += group->events[0].sideband &&
                  (~group->events[0].sample_type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME)) != 0;
    }
    faults += first && (all & ~first->sample_type & PERF_SAMPLE_IDENTIFIER) != 0;
    if (faults)
        print_error("%s: %s: run %u: records without identifier, time or task\n", machine, line,
                    pass);
    return faults;
}

/* A plan for this command line, opened; fails the test when the kernel refuses any of it. With
 * `must`, the plan itself may not be refused. */
static size_t expect_accepted(const struct td_caps *caps, const char *machine, const char *line,
                              bool must)
{
    size_t faults = 0;
    struct td_request request;
    struct td_plan plan = {0};
    struct td_err err = TD_ERR_INIT;
    char *storage[2] = {NULL};

    const int made = make_plan(&plan, &request, caps, line, storage, &err);
    if (made < 0 && must) {
        print_error("%s: %s: %s\n", machine, line, err.text);
        faults++;
    } else if (made == TD_OK) {
        for (unsigned pass = 1; pass <= plan.passes; pass++)
            faults += open_pass(caps, &plan, pass, machine, line) +
                      check_records(&plan, pass, machine, line);
    } else {
        /* A refusal says what would help. */
        assert_true(strlen(err.text) > 20);
    }
    td_plan_release(&plan);
    td_request_release(&request);
    free(storage[0]);
    free(storage[1]);
    return faults;
}

static const char *const lines[] = {
    "tdrec --source auto -- app",
    "tdrec --source pmu -g -- app",
    "tdrec --source pmu --call-graph fp -- app",
    "tdrec --source pmu --call-graph lbr -- app",
    "tdrec --source pmu --method task -- app",
    "tdrec --source pmu --method cpu -- app",
    "tdrec --source pmu -p 100",
    "tdrec --source pmu -t 100",
    "tdrec --source pmu -a",
    "tdrec --source pmu -C 0-1",
    "tdrec --source pmu -a --pairs on -c 2000003",
    "tdrec --source pmu -a --pairs on -e {cycles:u,instructions:u}:S",
    "tdrec --source pmu --pairs on -- app",
    "tdrec --source pmu -G some/group",
    "tdrec --source pmu -F max -- app",
    "tdrec --source pmu -c 1000003 -- app",
    "tdrec --source pmu -e {slots,cycles,topdown-retiring}:S -- app",
    "tdrec --source pmu -e {slots,instructions:pp,topdown-retiring,topdown-be-bound}:S -a",
    "tdrec --source pmu -e MEM_LOAD_RETIRED:L3_MISS:upp,cycles -- app",
    "tdrec --source pmu -W -e MEM_LOAD_RETIRED:L3_MISS:upp,BR_MISP_RETIRED:p -- app",
    "tdrec --source pmu -e br_misp_retired:R,mem_load_l3_miss:ppR,cycles:p -- app",
    "tdrec --source pmu -e {cycles:D,instructions}:S -- app",
    "tdrec --source pmu -D 100 -- app",
    "tdrec --source pmu --topdown-level 1 -- app",
    "tdrec --source clock -- app",
    "tdrec --source clock -D 100 -e {cpu-clock,faults}:S -- app",
    "tdrec --source pmu --count -D 100 -- app",
    "tdrec --source pmu --count -p 100",
    "tdrec --source pmu --count -C 0-1",
    "tdrec --source pmu --count --passes 16 -- app",
    "tdrec --source pmu --count --report stalls -- app",
    "tdrec --source pmu --count --report stalls --passes 16 -- app",
    "tdrec --count -e {slots,topdown-retiring},cycles:u,instructions -- app",
    "tdrec --count --source clock -- app",
    "tdrec --source pmu --count --per-thread -p 100",
    "tdrec --source pmu --count --per-thread -t 100",
    "tdrec --count --source clock --per-thread -D 100 -- app",
};

/* Machines that differ in what the command line may change; the others have one plan each. */
static const char *const all_lines_on[] = {"spr-lbr", "adl", "zen4", "gnr"};

static bool takes_all_lines(const char *machine)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(all_lines_on); i++) {
        if (strcmp(all_lines_on[i], machine) == 0)
            return true;
    }
    return false;
}

static void test_accepts_golden_plans(void **state)
{
    char *folder = td_xasprintf("%s/plan/machines", TD_TESTS_DIR);
    DIR *dir = opendir(folder);
    size_t machines = 0, faults = 0;

    (void)state;
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        const size_t len = strlen(entry->d_name);
        struct td_caps caps;

        if (len < 6 || strcmp(entry->d_name + len - 5, ".tree") != 0)
            continue;
        char *name = td_xstrndup(entry->d_name, len - 5);
        read_machine(&caps, name);
        td_probe(&caps, td_probe_recorded, &caps);
        const bool has_pmu = td_caps_core_pmu(&caps) != NULL;
        faults += expect_accepted(&caps, name,
                                  has_pmu ? "tdrec --source pmu -- app" : "tdrec -- app", true);
        if (has_pmu) {
            faults += expect_accepted(&caps, name, "tdrec --source pmu --passes 32 -- app", true);
            faults += expect_accepted(&caps, name,
                                      "tdrec --source pmu --count --topdown-level 5 -- app", true);
            faults += expect_accepted(&caps, name, "tdrec --source pmu --count -- app", true);
            faults += expect_accepted(&caps, name, "tdrec --source pmu --count --per-thread -- app",
                                      true);
        }
        for (size_t i = 0; i < TD_ARRAY_SIZE(lines) && takes_all_lines(name); i++)
            faults += expect_accepted(&caps, name, lines[i], false);
        td_caps_release(&caps);
        free(name);
        machines++;
    }
    closedir(dir);
    free(folder);
    print_message("%zu machines\n", machines);
    assert_true(machines >= 70);
    assert_int_equal(faults, 0);
}

/* Spoiling. */

static struct opening *named(const char *name)
{
    for (size_t i = 0; i < the_openings.count; i++) {
        if (strcmp(the_openings.items[i].name, name) == 0)
            return &the_openings.items[i];
    }
    fail_msg("no event %s in the plan", name);
    return the_openings.items; /* not reached */
}

static struct opening *append(const char *leader, uint32_t type, uint64_t config)
{
    const struct opening *first = named(leader);
    struct opening *one = &the_openings.items[the_openings.count++];

    *one = *first;
    snprintf(one->name, sizeof(one->name), "added");
    one->first = -1;
    one->leader = (int)(first - the_openings.items);
    one->u.attr.type = type;
    one->u.attr.config = config;
    one->u.attr.config1 = 0;
    one->u.attr.sample_period = 0;
    one->u.attr.freq = 0;
    one->u.attr.sample_type = 0;
    one->u.attr.precise_ip = 0;
    return one;
}

/* The first of the plan's second samplers. */
static struct opening *second(void)
{
    for (size_t i = 0; i < the_openings.count; i++) {
        if (the_openings.items[i].first >= 0)
            return &the_openings.items[i];
    }
    fail_msg("no pair in the plan");
    return the_openings.items; /* not reached */
}

/* Without a leader, sampling by period. */
static struct opening *append_alone(const char *like, uint32_t type, uint64_t config,
                                    uint64_t period)
{
    struct opening *one = append(like, type, config);

    one->leader = -1;
    one->u.attr.sample_period = period;
    one->u.attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
    one->u.attr.read_format = 0;
    return one;
}

/* Each takes the caps as they may be changed, and the openings of the sound plan. */
static void slots_samples(void)
{
    named("slots")->u.attr.sample_period = 1000003;
}

static void metric_samples(void)
{
    named("topdown_retiring")->u.attr.sample_period = 1000003;
}

static void metric_leads(void)
{
    append_alone("slots", 4, 0x8000, 0);
}

static void metric_under_cycles(void)
{
    struct opening *leader = append_alone("slots", 4, 0x3c, 0);

    snprintf(leader->name, sizeof(leader->name), "other");
    append("other", 4, 0x8000);
}

static void slots_with_edge(void)
{
    named("slots")->u.attr.config |= 1 << 18;
}

static void metric_with_cmask(void)
{
    named("topdown_bad_spec")->u.attr.config |= 1 << 24;
}

static void slots_with_config1(void)
{
    named("slots")->u.attr.config1 = 1;
}

static void metric_with_config2(void)
{
    named("topdown_fe_bound")->u.attr.config2 = 1;
}

static void member_precise(void)
{
    named("inst_retired")->u.attr.precise_ip = 1;
}

static void member_does_not_inherit(void)
{
    named("cycles")->u.attr.inherit = 0;
}

static void all_inherit(void)
{
    for (size_t i = 0; i < the_openings.count; i++)
        the_openings.items[i].u.attr.inherit = 1;
}

static void sampler_without_tid(void)
{
    named("slots_p")->u.attr.sample_type &= ~(uint64_t)PERF_SAMPLE_TID;
}

static void member_on_other_cpu(void)
{
    named("cycles")->cpu = 1;
}

static void member_of_other_clock(void)
{
    named("cycles")->u.attr.clockid = CLOCK_MONOTONIC_RAW;
}

static void clock_not_for_nmis(void)
{
    named("slots")->u.attr.clockid = CLOCK_REALTIME;
}

static void member_pinned(void)
{
    named("cycles")->u.attr.pinned = 1;
}

static void member_exclusive(void)
{
    named("cycles")->u.attr.exclusive = 1;
}

static void leader_is_member(void)
{
    named("topdown_retiring")->leader = (int)(named("slots_p") - the_openings.items);
}

static void nine_general_counters(void)
{
    for (int i = 0; i < 9; i++)
        append("slots", 4, 0xc2);
}

static void both_on_counter_0(void)
{
    append("slots", 4, 0x4a4);
    append("slots", 4, 0x8a4);
}

static void two_front_end_thresholds(void)
{
    append("slots", 4, 0x1c6)->u.attr.config1 = 0x600406;
    append("slots", 4, 0x1c6)->u.attr.config1 = 0x601006;
}

static void front_end_bad_bits(void)
{
    append_alone("slots", 4, 0x1c6, 100007)->u.attr.config1 = 0x20;
}

static void front_end_ms_flows(void)
{
    append_alone("core_clocks", 4, 0x1c6, 100007)->u.attr.config1 = 8;
}

static void load_latency_precise_3(void)
{
    append_alone("slots", 4, 0x1cd, 1009)->u.attr.precise_ip = 3;
}

static void short_period_precise_3(void)
{
    append_alone("slots", 4, 0x1d1, 101)->u.attr.precise_ip = 3;
}

static void load_latency_without_aux(void)
{
    struct opening *one = append_alone("slots", 4, 0x1cd, 1009);

    one->u.attr.precise_ip = 2;
    one->u.attr.config1 = 3;
    one->u.attr.sample_type |= PERF_SAMPLE_DATA_SRC;
}

static void precise_1(void)
{
    named("cycles")->u.attr.precise_ip = 1;
}

static void counts_kernel(void)
{
    for (size_t i = 0; i < the_openings.count; i++)
        the_openings.items[i].u.attr.exclude_kernel = 0;
}

static void whole_cpus(void)
{
    for (size_t i = 0; i < the_openings.count; i++)
        the_openings.items[i].pid = -1;
}

static void others_task(void)
{
    named("slots")->pid = DOUBLE_FOREIGN;
}

static void ended_task(void)
{
    named("slots")->pid = 4711;
}

static void any_thread(void)
{
    struct opening *one = append_alone("cycles", 4, 0x20003c, 0);

    one->u.attr.exclude_kernel = 1;
}

static void nothing_changed(void)
{
}

static void cpu_clock(void)
{
    struct opening *one = &the_openings.items[the_openings.count++];

    *one = (struct opening){.cpu = -1, .leader = -1, .first = -1, .pid = DOUBLE_TASK};
    one->u.attr = (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE, .size = sizeof(one->u.attr), .exclude_kernel = 1};
}

static void both_weights(void)
{
    named("br_misp_retired")->u.attr.sample_type |= PERF_SAMPLE_WEIGHT;
}

static void unknown_read_format(void)
{
    named("slots")->u.attr.read_format |= 1 << 6;
}

static void unknown_sample_type(void)
{
    named("slots_p")->u.attr.sample_type |= UINT64_C(1) << 25;
}

static void reserved_bits(void)
{
    named("slots")->u.attr.__reserved_1 = 1;
}

static void later_fields(void)
{
    struct opening *one = named("slots");

    one->u.attr.size = 160;
    one->u.room[150] = 1;
}

static void size_too_small(void)
{
    named("slots")->u.attr.size = 32;
}

static void branches_of_no_type(void)
{
    struct opening *one = named("br_misp_retired");

    one->u.attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    one->u.attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER;
}

static void call_stack_and_filter(void)
{
    struct opening *one = named("br_misp_retired");

    one->u.attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    one->u.attr.branch_sample_type =
        PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_ANY_CALL;
}

static void cycles_call_stack(void)
{
    struct opening *one = named("cycles");

    one->u.attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    one->u.attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK;
}

static void rate_too_high(void)
{
    named("slots_p")->u.attr.sample_freq = 200000;
}

static void stack_too_deep(void)
{
    struct opening *one = named("slots_p");

    one->u.attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
    one->u.attr.sample_max_stack = 1000;
}

static void stack_copy_odd(void)
{
    struct opening *one = named("slots_p");

    one->u.attr.sample_type |= PERF_SAMPLE_STACK_USER;
    one->u.attr.sample_stack_user = 1001;
}

static void no_registers(void)
{
    named("slots_p")->u.attr.sample_type |= PERF_SAMPLE_REGS_USER;
    named("slots_p")->u.attr.sample_regs_user = 0;
}

static void segment_registers(void)
{
    named("slots_p")->u.attr.sample_type |= PERF_SAMPLE_REGS_USER;
    named("slots_p")->u.attr.sample_regs_user = 1 << 12;
}

static void unknown_pmu(void)
{
    named("slots")->u.attr.type = 99;
}

static void unknown_software(void)
{
    append_alone("slots", PERF_TYPE_SOFTWARE, 99, 1000);
}

static void ibs_in_group(void)
{
    append("cycles", 11, 0);
}

static void ibs_alone(void)
{
    append_alone("cycles", 11, 0, 100000)->u.attr.inherit = 0;
}

static void ibs_per_task(void)
{
    ibs_alone();
    named("added")->pid = DOUBLE_TASK;
}

static void ibs_odd_period(void)
{
    ibs_alone();
    named("added")->u.attr.sample_period = 100003;
}

static void ibs_user_only(void)
{
    ibs_alone();
    named("added")->u.attr.exclude_kernel = 1;
}

static void amd_precise_branches(void)
{
    append_alone("cycles", 4, 0xc3, 100003)->u.attr.precise_ip = 2;
}

static void amd_precise_3(void)
{
    append_alone("cycles", 4, 0x76, 100000)->u.attr.precise_ip = 3;
}

static void other_cores_event(void)
{
    append("slots", 10, 0xc4);
}

static void e_core_event_on_p_core(void)
{
    append_alone("slots", 10, 0xc4, 100003)->cpu = 0;
}

static void cgroup_without_cpu(void)
{
    named("slots")->flags = PERF_FLAG_PID_CGROUP;
    named("slots")->cpu = -1;
}

static void unknown_flag(void)
{
    named("slots")->flags = 1ul << 20;
}

static void no_cpu_no_task(void)
{
    named("slots")->pid = -1;
    named("slots")->cpu = -1;
}

static void cpu_offline(void)
{
    named("slots")->cpu = 77;
}

static void second_slots(void)
{
    append_alone("slots", 4, 0x400, 0);
}

static void pair_does_not_sample(void)
{
    second()->u.attr.sample_period = 0;
}

static void pair_without_period(void)
{
    the_openings.items[second()->first].u.attr.sample_period = 0;
}

static void pair_by_frequency(void)
{
    struct opening *one = second(), *first = &the_openings.items[one->first];

    one->u.attr.freq = first->u.attr.freq = 1;
    one->u.attr.sample_freq = first->u.attr.sample_freq = 2000;
}

static void pair_of_two_periods(void)
{
    second()->u.attr.sample_period++;
}

static void pair_of_two_events(void)
{
    second()->u.attr.config = 0xc2;
}

static void pair_of_two_modes(void)
{
    second()->u.attr.exclude_kernel = 1;
}

static void pair_in_two_groups(void)
{
    second()->leader = -1;
}

static void pair_of_a_task(void)
{
    for (size_t i = 0; i < the_openings.count; i++)
        the_openings.items[i].pid = DOUBLE_TASK;
}

static void pair_inherited(void)
{
    pair_of_a_task();
    all_inherit();
}

/* Machine, what is wrong, the kernel's answer. */
#define WHOLE "tdrec --source pmu -a"
static const struct planted {
    const char *machine, *line;
    void (*spoil)(void);
    int code;
    unsigned kernel;  /* another version than the tree's; 0: the tree's */
    const char *rule; /* that it breaks */
} planted[] = {
    {"spr", NULL, slots_samples, EINVAL, 0, "slots that leads metric events may not sample"},
    {"spr", NULL, metric_samples, EINVAL, 0, "a metric event may not sample"},
    {"spr", NULL, metric_leads, EINVAL, 0, "a metric event needs slots as its leader"},
    {"spr", NULL, metric_under_cycles, EINVAL, 0,
     "a metric event needs slots as its leader, not cycles"},
    {"spr", NULL, slots_with_edge, EINVAL, 0, "slots takes no modifier bits"},
    {"spr", NULL, metric_with_cmask, EINVAL, 0, "a metric event takes no modifier bits"},
    {"spr", NULL, slots_with_config1, EINVAL, 0,
     "slots' config1 has no bits but metrics_clear, which this kernel does not know"},
    {"icx", NULL, slots_with_config1, EINVAL, 0,
     "slots' config1 has no bits but metrics_clear, which this kernel does not know"},
    {"spr", NULL, metric_with_config2, EINVAL, 0, "config2 of a metric event is 0"},
    {"spr", NULL, member_precise, EINVAL, 0, "precise_ip is for samplers"},
    {"spr", NULL, member_does_not_inherit, EINVAL, 0, "a member's inherit is its leader's"},
    {"spr", NULL, sampler_without_tid, EINVAL, 0, "inherited group reads need PERF_SAMPLE_TID"},
    {"spr-user-6.1", NULL, all_inherit, EINVAL, 0, "inherited group reads need Linux 6.12"},
    {"spr", NULL, nothing_changed, EINVAL, 6 << 16 | 11, "inherited group reads need Linux 6.12"},
    {"spr", NULL, member_on_other_cpu, EINVAL, 0, "a group is on one CPU"},
    {"spr", NULL, member_of_other_clock, EINVAL, 0, "a group has one clock"},
    {"spr", NULL, clock_not_for_nmis, EINVAL, 0,
     "a clock that NMIs cannot read is not for hardware events"},
    {"spr", NULL, member_pinned, EINVAL, 0, "only leaders are pinned"},
    {"spr", NULL, member_exclusive, EINVAL, 0, "only leaders are exclusive"},
    {"spr", NULL, leader_is_member, EINVAL, 0, "a leader is no member of another group"},
    {"spr", NULL, nine_general_counters, EINVAL, 0, "a group fits the general counters"},
    {"spr", NULL, both_on_counter_0, EINVAL, 0, "two events of counter 0 are in no group"},
    {"spr", NULL, two_front_end_thresholds, EINVAL, 0,
     "one threshold of front-end events in a group: one register"},
    {"spr", NULL, front_end_bad_bits, EINVAL, 0,
     "config1 of front-end events keeps to the core's mask"},
    {"clx", NULL, front_end_ms_flows, EINVAL, 0, "MS_FLOWS is refused before Sapphire Rapids"},
    {"spr", NULL, load_latency_precise_3, EINVAL, 0,
     "precise_ip 3 wants counter 0, load latency cannot use it"},
    {"spr", NULL, short_period_precise_3, EINVAL, 0, "periods of precise_ip 3 are 128 at least"},
    {"spr", NULL, load_latency_without_aux, ENODATA, 0,
     "load latency with data source needs the aux event first"},
    {"spr-vm-noslots", NULL, precise_1, EOPNOTSUPP, 0, "precise_ip is at most caps/max_precise"},
    {"spr-user", NULL, counts_kernel, EACCES, 0, "kernel code needs perf_event_paranoid 1"},
    {"spr-user", NULL, whole_cpus, EACCES, 0, "whole CPUs need perf_event_paranoid 0"},
    {"spr-user", NULL, others_task, EACCES, 0, "another user's task needs ptrace rights"},
    {"spr", NULL, ended_task, ESRCH, 0, "the task must run"},
    {"clx-smt-user", NULL, any_thread, EACCES, 0, "\"any\" needs perf_event_paranoid 0"},
    {"paranoid-4", NULL, cpu_clock, EACCES, 0,
     "paranoid 3 and 4 (Debian, Ubuntu) forbid users every event"},
    {"spr", NULL, both_weights, EINVAL, 0, "WEIGHT and WEIGHT_STRUCT exclude each other"},
    {"spr", NULL, unknown_read_format, EINVAL, 0, "bits of read_format that no kernel knows"},
    {"spr", NULL, unknown_sample_type, EINVAL, 0, "bits of sample_type that no kernel knows"},
    {"spr", NULL, nothing_changed, EINVAL, 5 << 16 | 18, "PERF_FORMAT_LOST is of Linux 6.0"},
    {"spr", NULL, reserved_bits, EINVAL, 0, "reserved bits are 0"},
    {"spr", NULL, later_fields, E2BIG, 0, "fields that this kernel does not know are 0"},
    {"spr", NULL, size_too_small, E2BIG, 0, "the attr has at least its first version"},
    {"spr", NULL, branches_of_no_type, EINVAL, 0, "branch records name a type"},
    {"spr", NULL, call_stack_and_filter, EINVAL, 0,
     "the call-stack mode goes with no other filter"},
    {"zen4", NULL, cycles_call_stack, EOPNOTSUPP, 0, "only some PMUs have the call-stack mode"},
    {"n2-r0p3", NULL, cycles_call_stack, EOPNOTSUPP, 0, "only some PMUs have the call-stack mode"},
    {"spr", NULL, rate_too_high, EINVAL, 0, "the rate is at most perf_event_max_sample_rate"},
    {"spr", NULL, stack_too_deep, EOVERFLOW, 0, "call chains are at most perf_event_max_stack"},
    {"spr", NULL, stack_copy_odd, EINVAL, 0, "stack copies are multiples of 8 bytes"},
    {"spr", NULL, no_registers, EINVAL, 0, "stack copies and registers: at least one register"},
    {"spr", NULL, segment_registers, EINVAL, 0, "segment registers are not sampled"},
    {"spr", NULL, unknown_pmu, ENOENT, 0, "the type is that of a PMU"},
    {"spr", NULL, unknown_software, ENOENT, 0, "software events have numbers"},
    {"zen4", NULL, ibs_in_group, EINVAL, 0, "IBS events are in no group"},
    {"zen4", NULL, ibs_per_task, EINVAL, 0, "IBS follows tasks from Linux 6.2 on"},
    {"zen4", NULL, ibs_odd_period, EINVAL, 0, "IBS periods are multiples of 16"},
    {"zen4", NULL, ibs_user_only, EINVAL, 0, "IBS has no privilege filter before Linux 6.14"},
    {"zen4", NULL, amd_precise_branches, ENOENT, 0,
     "of precise events AMD has cycles and ops only"},
    {"zen4", NULL, amd_precise_3, EOPNOTSUPP, 0, "AMD has no precise_ip 3"},
    {"adl", NULL, other_cores_event, ENOENT, 0, "a group's hardware events are of one PMU"},
    {"adl", NULL, e_core_event_on_p_core, ENOENT, 0, "a PMU counts on its own CPUs"},
    {"spr", "tdrec --source pmu -a", cgroup_without_cpu, EINVAL, 0, "cgroup events name a CPU"},
    {"spr", WHOLE, pair_does_not_sample, EINVAL, 0, "only a sampler has a period to begin anew"},
    {"spr", WHOLE, pair_without_period, EINVAL, 0, "only a sampler has a period to begin anew"},
    {"spr", WHOLE, pair_by_frequency, ERANGE, 0, "the control of a frequency moves periods"},
    {"spr", WHOLE, pair_of_two_periods, ERANGE, 0, "a pair has one period"},
    {"spr", WHOLE, pair_of_two_events, ERANGE, 0, "a pair counts one event"},
    {"icx", WHOLE, pair_of_two_modes, ERANGE, 0, "a pair counts in the same modes"},
    {"spr", WHOLE, pair_in_two_groups, ERANGE, 0, "a pair is of one group"},
    {"icx", WHOLE, pair_of_a_task, ERANGE, 0, "a task's counters begin when it runs"},
    {"spr", WHOLE, pair_inherited, ERANGE, 0, "a period that is begun anew reaches no copies"},
    {"spr", NULL, unknown_flag, EINVAL, 0, "flags that no kernel knows"},
    {"spr", NULL, no_cpu_no_task, EINVAL, 0, "an event is of a task or of a CPU"},
    {"spr", NULL, cpu_offline, ENODEV, 0, "the CPU is online"},
};

/* Makes the sound openings of the machine's plan and spoils them; the kernel's answer. */
static int open_spoiled(const char *machine, const char *line, unsigned kernel, void (*spoil)(void))
{
    struct td_request request;
    struct td_plan plan = {0};
    char *storage[2] = {NULL};
    size_t where = 0;
    struct td_err err = TD_ERR_INIT;

    td_caps_release(&the_caps);
    read_machine(&the_caps, machine);
    const int made = make_plan(&plan, &request, &the_caps,
                               line ? line : "tdrec --source pmu -- app", storage, &err);
    if (made < 0)
        fail_msg("%s: %s", machine, err.text);
    if (kernel)
        the_caps.kernel_version = kernel;
    list_openings(&the_openings, &plan, 1);
    spoil();
    double_init(&the_double, &the_caps);
    const int rc = open_all(&the_double, &the_openings, &where);
    td_plan_release(&plan);
    td_request_release(&request);
    free(storage[0]);
    free(storage[1]);
    return rc;
}

static void test_refuses_planted(void **state)
{
    (void)state;
    size_t rules = 0;

    for (size_t i = 0; i < TD_ARRAY_SIZE(planted); i++) {
        const struct planted *p = &planted[i];
        const int rc = open_spoiled(p->machine, p->line, p->kernel, p->spoil);

        if (rc != -p->code)
            fail_msg("planted %zu on %s (%s): %s instead of %s", i, p->machine, p->rule,
                     rc ? strerror(-rc) : "opened", strerror(p->code));
        rules += i == 0 || strcmp(p->rule, planted[i - 1].rule) != 0;
    }
    print_message("%zu planted plans refused, of %zu rules\n", TD_ARRAY_SIZE(planted), rules);
    assert_true(rules >= 70);
}

/* What opens, and yet would take turns. */
static void test_finds_multiplexing(void **state)
{
    (void)state;
    assert_int_equal(open_spoiled("spr", NULL, 0, nothing_changed), 0);
    assert_int_equal(double_starved(&the_double), 0);
    assert_int_equal(open_spoiled("spr", NULL, 0, second_slots), 0);
    assert_true(double_starved(&the_double) > 0);
}

static int make_scratch(void **state)
{
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state)
{
    char *command = td_xasprintf("rm -rf %s", scratch);

    (void)state;
    td_caps_release(&the_caps);
    const int rc = system(command); /* NOLINT: our own folder */
    free(command);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts_golden_plans),
        cmocka_unit_test(test_refuses_planted),
        cmocka_unit_test(test_finds_multiplexing),
    };

    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
