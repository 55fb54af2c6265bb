/* SPDX-License-Identifier: MIT */
/* record/probe: what counters of sound and of broken PMUs returned, and what is made of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "record/plan/plan.h"
#include "record/run/sources.h"
#include "record/machine/probe.h"

static char spr[] = "GenuineIntel-6-143-8", zen[] = "AuthenticAMD-26-2-1";

static char adl[] = "GenuineIntel-6-151-2";

/* Values by name; NULL ends. An event that is not named has 1,000. */
struct fake {
    const char *names[8];
    uint64_t values[8];
    uint64_t others;
    int code;
};

static int read_fake(void *ctx, const struct td_pmu *pmu, const struct td_pmu_core *core,
                     const struct td_pmu_group *group, uint64_t *values)
{
    const struct fake *fake = ctx;

    (void)pmu;
    for (uint32_t i = 0; i < group->count; i++) {
        values[i] = fake->others;
        for (size_t k = 0; k < 8 && fake->names[k]; k++) {
            if (strcmp(core->events[group->events[i]].name, fake->names[k]) == 0)
                values[i] = fake->values[k];
        }
    }
    return fake->code;
}

static void make_machine(struct td_caps *caps, struct td_pmu *pmu, char *cpu_id, bool slots)
{
    static char root[] = "", kernel[] = "6.12", machine[] = "x86_64", hypervisor[] = "KVM";

    *pmu = (struct td_pmu){.name = "cpu", .type = 4, .core = true, .slots = slots};
    *caps = (struct td_caps){
        .root = root,
        .kernel = kernel,
        .machine = machine,
        .cpu_id = cpu_id,
        .hypervisor = hypervisor,
        .kernel_version = 6 << 16 | 12,
        .pmus = pmu,
        .pmu_count = 1,
        .max_sample_rate = 100000,
        .cap_perfmon = true,
    };
    assert_int_equal(td_cpulist_parse(&caps->online, "0-3", NULL), TD_OK);
}

static struct td_pmu probe(char *cpu_id, bool slots, struct fake fake)
{
    struct td_caps caps;
    struct td_pmu pmu;

    make_machine(&caps, &pmu, cpu_id, slots);
    td_probe(&caps, read_fake, &fake);
    td_cpulist_release(&caps.online);
    return pmu;
}

static void test_sound(void **state)
{
    const struct td_pmu pmu = probe(
        spr, true,
        (struct fake){.names = {"slots", "cycles"}, .values = {90000, 20000}, .others = 1000});

    (void)state;
    assert_false(pmu.dead || pmu.no_slots);
    assert_string_equal(pmu.fault, "");
}

static void test_zeros(void **state)
{
    const struct td_pmu pmu = probe(spr, true, (struct fake){.others = 0});

    (void)state;
    assert_true(pmu.dead);
    assert_string_equal(pmu.fault, "its counters stay at 0 (hypervisor: KVM)");
}

static void test_equal(void **state)
{
    assert_true(probe(spr, true, (struct fake){.others = 77}).dead);
    assert_true(probe(zen, false, (struct fake){.others = 77}).dead);
    (void)state;
}

static void test_no_cycles(void **state)
{
    assert_true(
        probe(spr, true, (struct fake){.names = {"cycles"}, .values = {0}, .others = 5}).dead);
    (void)state;
}

static void test_metrics(void **state)
{
    const struct fake no_slots = {.names = {"slots", "cycles"}, .values = {0, 5}, .others = 9};
    const struct fake no_metric = {
        .names = {"slots", "topdown_bad_spec"}, .values = {5000, 0}, .others = 9};
    const struct fake same = {
        .names = {"slots", "topdown_bad_spec"}, .values = {5000, 5000}, .others = 9};
    const struct td_pmu pmu = probe(spr, true, no_metric);

    (void)state;
    assert_true(probe(spr, true, no_slots).no_slots);
    assert_true(pmu.no_slots);
    assert_false(pmu.dead);
    assert_non_null(strstr(pmu.fault, "perf metrics"));
    assert_true(probe(spr, true, same).no_slots);
}

static void test_other_cores(void **state)
{
    const struct fake zeros = {.names = {"cycles"}, .values = {20000}, .others = 0};
    const struct fake sound = {
        .names = {"cycles", "smt_stalls"}, .values = {20000, 0}, .others = 9};

    (void)state;
    assert_true(probe(zen, false, zeros).no_slots);
    assert_false(probe(zen, false, sound).no_slots);
}

static void test_not_counted(void **state)
{
    const struct td_pmu pmu = probe(spr, true, (struct fake){.code = -1});

    (void)state;
    assert_false(pmu.dead || pmu.no_slots || pmu.refused);
}

/* The default then is another source; asked for by name, opening it says why. */
static void test_refused(void **state)
{
    const struct td_pmu pmu = probe(spr, true, (struct fake){.code = EPERM});

    (void)state;
    assert_true(pmu.refused);
    assert_false(pmu.dead);
    assert_non_null(strstr(pmu.fault, "the kernel refuses its events"));
}

/* Without slots that count, the plan takes what is left and says so. */
static void test_plan(void **state)
{
    char *argv[] = {(char[]){"tdrec"}, (char[]){"--source"}, (char[]){"pmu"}, (char[]){"./app"},
                    NULL};
    struct fake fake = {.names = {"slots", "cycles"}, .values = {0, 5}, .others = 9};
    struct td_request request;
    struct td_caps caps;
    struct td_pmu pmu;
    struct td_plan plan;
    struct td_err err = TD_ERR_INIT;

    (void)state;
    make_machine(&caps, &pmu, spr, true);
    td_probe(&caps, read_fake, &fake);
    assert_int_equal(td_request_parse(&request, 4, argv, NULL), TD_OK);
    assert_int_equal(td_source_plan(&plan, &caps, &request, &err), TD_OK);
    assert_string_equal(plan.core, "generic-cycles");
    assert_true(plan.left_out_count > 0);
    assert_non_null(strstr(plan.left_out[0].why, "its slots stay at 0"));
    td_plan_release(&plan);
    fake.values[1] = 0;
    fake.others = 0;
    td_probe(&caps, read_fake, &fake);
    assert_int_equal(td_source_plan(&plan, &caps, &request, &err), TD_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "its counters stay at 0"));
    td_plan_release(&plan);
    td_request_release(&request);
    td_cpulist_release(&caps.online);
}

/* Both kinds of cores are tried, and one that counts nothing leaves the other. */
static int read_hybrid(void *ctx, const struct td_pmu *pmu, const struct td_pmu_core *core,
                       const struct td_pmu_group *group, uint64_t *values)
{
    const char *dead = ctx;

    for (uint32_t i = 0; i < group->count; i++)
        values[i] = strstr(dead, pmu->name)                                     ? 0
                    : strcmp(core->events[group->events[i]].name, "slots") == 0 ? 90000
                                                                                : 1000 + i;
    return 0;
}

/* tdrec --plan with this source; the result of making it. */
static int plan_of(struct td_plan *plan, const struct td_caps *caps, const char *source,
                   struct td_err *err)
{
    struct td_request request;
    char *argv[] = {(char[]){"tdrec"}, (char[]){"--source"}, td_xstrdup(source), (char[]){"./app"},
                    NULL};

    assert_int_equal(td_request_parse(&request, 4, argv, NULL), TD_OK);
    const int rc = td_source_plan(plan, caps, &request, err);
    td_request_release(&request);
    free(argv[2]);
    return rc;
}

/* No more than `*ctx` counters count at the same time, as where the host keeps one. */
static int read_first(void *ctx, const struct td_pmu *pmu, const struct td_pmu_core *core,
                      const struct td_pmu_group *group, uint64_t *values)
{
    const uint32_t *most = ctx;

    (void)pmu;
    (void)core;
    for (uint32_t i = 0; i < group->count; i++)
        values[i] = i < *most ? 1000 + i : 0;
    return 0;
}

static int plan_events(struct td_plan *plan, const struct td_caps *caps, const char *events,
                       struct td_err *err)
{
    struct td_request request;
    char *argv[] = {(char[]){"tdrec"}, (char[]){"-e"}, td_xstrdup(events), (char[]){"./app"}, NULL};

    assert_int_equal(td_request_parse(&request, 4, argv, NULL), TD_OK);
    const int rc = td_source_plan(plan, caps, &request, err);
    td_request_release(&request);
    free(argv[2]);
    return rc;
}

/* Groups are fitted to the counters that count, and events that would read 0 are refused. */
static void test_idle_counter(void **state)
{
    uint32_t most = 5;
    struct td_caps caps;
    struct td_pmu pmu;
    struct td_plan plan;
    struct td_err err = TD_ERR_INIT;

    (void)state;
    make_machine(&caps, &pmu, zen, false);
    td_probe(&caps, read_first, &most);
    assert_int_equal(pmu.idle_counters, 1);
    assert_int_equal(pmu.counters_at_once, 5);
    assert_false(pmu.dead || pmu.no_slots);
    assert_int_equal(plan_of(&plan, &caps, "pmu", &err), TD_OK);
    assert_string_equal(plan.groups[0].name, "no_smt");
    td_plan_release(&plan);
    assert_int_equal(plan_events(&plan, &caps, "{r76,rc0,rc1,rc2,rc3}:S", &err), TD_OK);
    td_plan_release(&plan);
    assert_int_equal(plan_events(&plan, &caps, "{r76,rc0,rc1,rc2,rc3,r7aa}:S", &err),
                     TD_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "only 5 counters of PMU cpu count at the same time"));
    td_plan_release(&plan);
    assert_int_equal(plan_events(&plan, &caps, "r76,rc0,rc1,rc2,rc3,r7aa,page-faults", &err),
                     TD_EUNSUPPORTED);
    td_plan_release(&plan);
    most = 6;
    pmu.idle_counters = pmu.counters_at_once = 0;
    td_probe(&caps, read_first, &most);
    assert_int_equal(pmu.idle_counters, 0);
    assert_int_equal(plan_of(&plan, &caps, "pmu", &err), TD_OK);
    assert_string_equal(plan.groups[0].name, "topdown");
    td_plan_release(&plan);
    td_cpulist_release(&caps.online);
}

static void test_hybrid(void **state)
{
    struct td_caps caps;
    struct td_pmu unused, pmus[] = {
                              {.name = "cpu_atom", .type = 10, .core = true},
                              {.name = "cpu_core", .type = 4, .core = true, .slots = true},
                          };
    struct td_plan plan;
    struct td_err err = TD_ERR_INIT;

    (void)state;
    make_machine(&caps, &unused, adl, true);
    caps.pmus = pmus;
    caps.pmu_count = 2;
    td_cpulist_parse(&pmus[0].cpus, "2-3", NULL);
    td_cpulist_parse(&pmus[1].cpus, "0-1", NULL);
    td_probe(&caps, read_hybrid, (char[]){"none"});
    assert_false(pmus[0].dead || pmus[1].dead || pmus[0].no_slots || pmus[1].no_slots);

    td_probe(&caps, read_hybrid, (char[]){"cpu_atom"});
    assert_true(pmus[0].dead);
    assert_false(pmus[1].dead);
    assert_int_equal(plan_of(&plan, &caps, "pmu", &err), TD_OK);
    assert_string_equal(plan.core, "alder-lake-p");
    assert_string_equal(plan.groups[0].name, "tracker"); /* of mappings, on all CPUs */
    assert_int_equal(plan.groups[0].cpus.len, 4);
    for (size_t g = 1; g < plan.group_count; g++)
        assert_string_equal(plan.groups[g].cpu_type, "cpu_core");
    assert_string_equal(plan.left_out[0].what, "PMU cpu_atom");
    assert_non_null(strstr(plan.left_out[0].why, "what runs on CPUs 2-3 is not counted"));
    td_plan_release(&plan);

    td_probe(&caps, read_hybrid, (char[]){"cpu_atom cpu_core"});
    assert_int_equal(plan_of(&plan, &caps, "pmu", &err), TD_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "its counters stay at 0"));
    td_plan_release(&plan);
    assert_int_equal(plan_of(&plan, &caps, "auto", &err), TD_OK);
    assert_int_equal(plan.source, TD_SOURCE_CLOCK);
    td_plan_release(&plan);
    td_cpulist_release(&pmus[0].cpus);
    td_cpulist_release(&pmus[1].cpus);
    td_cpulist_release(&caps.online);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound),        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_equal),        cmocka_unit_test(test_no_cycles),
        cmocka_unit_test(test_metrics),      cmocka_unit_test(test_other_cores),
        cmocka_unit_test(test_not_counted),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_plan),         cmocka_unit_test(test_hybrid),
        cmocka_unit_test(test_idle_counter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
