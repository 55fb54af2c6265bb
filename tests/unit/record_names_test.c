/* SPDX-License-Identifier: MIT */
/* record/event_names, event_terms, pfm: names of events to codes, and what is said of wrong ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "record/machine/event_names.h"
#include "record/machine/event_terms.h"
#include "record/machine/pfm.h"
#include "record/machine/pmu_core.h"

static char root[] = "", kernel[] = "6.12", machine[] = "x86_64", none[] = "";

static struct td_pmu_word events[] = {
    {(char[]){"slots"}, (char[]){"event=0x00,umask=0x4"}},
    {(char[]){"topdown-retiring"}, (char[]){"event=0x00,umask=0x80"}},
    {(char[]){"mem-loads"}, (char[]){"event=0xcd,umask=0x1,ldlat=3"}},
    {(char[]){"strange"}, (char[]){"nonsense=1"}},
};
static struct td_pmu_word formats[] = {
    {(char[]){"event"}, (char[]){"config:0-7"}},
    {(char[]){"umask"}, (char[]){"config:8-15"}},
    {(char[]){"edge"}, (char[]){"config:18"}},
    {(char[]){"cmask"}, (char[]){"config:24-31"}},
    {(char[]){"ldlat"}, (char[]){"config1:0-15"}},
    {(char[]){"split"}, (char[]){"config:0-7,32-35"}},
    {(char[]){"wide"}, (char[]){"config2:0-63"}},
};

static struct td_pmu make_pmu(void)
{
    return (struct td_pmu){
        .name = "cpu",
        .type = 4,
        .core = true,
        .slots = true,
        .max_precise = 3,
        .events = events,
        .event_count = TD_ARRAY_SIZE(events),
        .formats = formats,
        .format_count = TD_ARRAY_SIZE(formats),
    };
}

static struct td_caps make_caps(struct td_pmu *pmu, char *cpu_id)
{
    return (struct td_caps){
        .root = root,
        .kernel = kernel,
        .machine = machine,
        .cpu_id = cpu_id,
        .hypervisor = none,
        .kernel_version = 6 << 16 | 12,
        .pmus = pmu,
        .pmu_count = 1,
    };
}

static void expect_terms(const char *terms, uint64_t config, uint64_t config1, uint64_t config2)
{
    const struct td_pmu pmu = make_pmu();
    uint64_t got[3] = {0};
    struct td_err err = TD_ERR_INIT;

    if (td_terms_encode(&pmu, terms, strlen(terms), got, &err) != TD_OK)
        fail_msg("%s: %s", terms, err.text);
    assert_int_equal(got[0], config);
    assert_int_equal(got[1], config1);
    assert_int_equal(got[2], config2);
}

static void refuse_terms(const char *terms, const char *why)
{
    const struct td_pmu pmu = make_pmu();
    uint64_t got[3] = {0};
    struct td_err err = TD_ERR_INIT;

    assert_int_equal(td_terms_encode(&pmu, terms, strlen(terms), got, &err), TD_EUSAGE);
    if (!strstr(err.text, why))
        fail_msg("'%s' in '%s'", why, err.text);
}

static void test_terms(void **state)
{
    (void)state;
    expect_terms("event=0x3c,umask=0", 0x3c, 0, 0);
    expect_terms("event=0xc6,umask=1,edge,cmask=2", 0x20401c6, 0, 0);
    expect_terms("mem-loads", 0x1cd, 3, 0);
    expect_terms("mem-loads,edge", 0x401cd, 3, 0);
    expect_terms("split=0x1a0", 0x1000000a0, 0, 0);
    expect_terms("wide=18446744073709551615", 0, 0, UINT64_MAX);
    expect_terms("config=0x1c2,config1=7", 0x1c2, 7, 0);
    expect_terms("", 0, 0, 0);
    refuse_terms("event=0x100", "too large");
    refuse_terms("umsk=1", "did you mean umask");
    refuse_terms("event=x", "not a number");
    refuse_terms("strange", "nonsense");
}

static struct td_event_code find(char *cpu_id, const char *name)
{
    struct td_pmu pmu = make_pmu();
    const struct td_caps caps = make_caps(&pmu, cpu_id);
    struct td_event_code code = {.type = 0};
    struct td_err err = TD_ERR_INIT;

    if (td_event_find(&code, &caps, name, strlen(name), &err) != TD_OK)
        fail_msg("%s: %s", name, err.text);
    code.pmu = NULL; /* it is this function's */
    return code;
}

static char spr[] = "GenuineIntel-6-143-8", icx[] = "GenuineIntel-6-106-6",
            skx[] = "GenuineIntel-6-85-4", zen4[] = "AuthenticAMD-25-17-1",
            gnr[] = "GenuineIntel-6-173-1", zen5[] = "AuthenticAMD-26-2-1";

static void test_order(void **state)
{
    const struct td_event_code generic = find(spr, "cycles");
    const struct td_event_code sysfs = find(spr, "topdown-retiring");
    const struct td_event_code described = find(spr, "mem-load-l3-miss");
    const struct td_event_code table = find(spr, "MEM_LOAD_RETIRED:L3_MISS");
    const struct td_event_code dotted = find(spr, "FRONTEND_RETIRED.LATENCY_GE_16");
    const struct td_event_code terms = find(spr, "cpu/event=0xd1,umask=0x20/");

    (void)state;
    assert_int_equal(generic.type, 0);
    assert_int_equal(generic.unit, TD_UNIT_CYCLES);
    assert_int_equal(sysfs.config[0], 0x8000);
    assert_int_equal(sysfs.unit, TD_UNIT_SLOTS);
    assert_int_equal(described.config[0], 0x20d1);
    assert_string_equal(described.name, "mem_load_l3_miss");
    assert_int_equal(table.type, 4);
    assert_int_equal(table.config[0], 0x20d1);
    assert_int_equal(dotted.config[0], 0x1c6);
    assert_int_equal(dotted.config[1], 0x601006);
    assert_int_equal(terms.config[0], 0x20d1);
    assert_int_equal(find(zen4, "RETIRED_OPS").config[0], 0xc1);
    assert_int_equal(find(spr, "spr::MEM_LOAD_RETIRED:L2_HIT").config[0], 0x2d1);
    /* Cores that the library may not know. */
    assert_int_equal(find(gnr, "FRONTEND_RETIRED:LATENCY_GE_16").config[0], 0x3c6);
    assert_int_equal(find(gnr, "FRONTEND_RETIRED.LATENCY_GE_16").config[1], 0x601006);
    assert_int_equal(find(zen5, "ex_ret_ops").config[0], 0xc1);
}

/* The library's table has these wrong (facts of Intel's event lists): never what it says. */
static void test_wrong_encodings(void **state)
{
    static const struct {
        char *cpu;
        const char *name;
        uint64_t config, config1;
    } wrong[] = {
        {spr, "TOPDOWN:BACKEND_BOUND_SLOTS", 0x2a4, 0},
        {spr, "TOPDOWN.BACKEND_BOUND_SLOTS", 0x2a4, 0},
        {spr, "topdown:backend_bound_slots", 0x2a4, 0},
        {spr, "TOPDOWN:BAD_SPEC_SLOTS", 0x4a4, 0},
        {spr, "TOPDOWN:BR_MISPREDICT_SLOTS", 0x8a4, 0},
        {spr, "TOPDOWN:MEMORY_BOUND_SLOTS", 0x10a4, 0},
        {icx, "TOPDOWN:BACKEND_BOUND_SLOTS", 0x2a4, 0},
        {spr, "icl::TOPDOWN:BACKEND_BOUND_SLOTS", 0x2a4, 0},
        {spr, "UOPS_RETIRED:MS", 0x4c2, 8},
        {spr, "INT_MISC:UNKNOWN_BRANCH_CYCLES", 0x40ad, 7},
        {spr, "MEM_TRANS_RETIRED:STORE_SAMPLE", 0x2cd, 0},
        {spr, "INST_RETIRED:ANY", 0x100, 0},
        {spr, "ARITH:IDIV_ACTIVE", 0x10008b0, 0},
        {icx, "MEM_LOAD_MISC_RETIRED:UC", 0x4d4, 0},
        {skx, "UOPS_RETIRED:STALL_CYCLES", 0x18002c2, 0},
    };

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(wrong); i++) {
        const struct td_event_code code = find(wrong[i].cpu, wrong[i].name);

        if (code.config[0] != wrong[i].config || code.config[1] != wrong[i].config1)
            fail_msg("%s: 0x%llx/0x%llx", wrong[i].name, (unsigned long long)code.config[0],
                     (unsigned long long)code.config[1]);
    }
}

static void refuse(const char *name, const char *why)
{
    struct td_pmu pmu = make_pmu();
    const struct td_caps caps = make_caps(&pmu, spr);
    struct td_event_code code;
    struct td_err err = TD_ERR_INIT;

    assert_true(td_event_find(&code, &caps, name, strlen(name), &err) < 0);
    if (!strstr(err.text, why))
        fail_msg("%s: '%s' in '%s'", name, why, err.text);
}

static void test_suggestions(void **state)
{
    (void)state;
    refuse("cycels", "did you mean cycles");
    refuse("mem_load_l3_mis", "did you mean mem_load_l3_miss");
    refuse("topdown-retirin", "did you mean topdown-retiring");
    refuse("MEM_LOAD_RETIRE", "did you mean MEM_LOAD_RETIRED");
    refuse("MEM_LOAD_RETIRED:L3_MIS", "did you mean MEM_LOAD_RETIRED:L3_MISS");
    refuse("cpuu/event=1/", "did you mean cpu");
    refuse("cpu/event=1", "slash");
    refuse("zzzzzz", "perf list");
}

/* No description disagrees with the library without being known for it. */
static void test_cross_check(void **state)
{
    size_t all = 0;

    (void)state;
    for (size_t i = 0; td_uarch_builtin_at(i); i++) {
        const struct td_uarch_builtin *builtin = td_uarch_builtin_at(i);
        struct td_pfm_difference differences[8];
        struct td_uarch *uarch = NULL;
        struct td_pmu_core *core = NULL;
        size_t compared = 0;

        assert_int_equal(td_uarch_parse(&uarch, builtin->text, builtin->size, NULL), TD_OK);
        if (td_pmu_core_read(&core, uarch, NULL) == TD_OK) {
            const size_t count = td_pfm_compare(core, differences, 8, &compared);

            for (size_t k = 0; k < count && k < 8; k++)
                print_message("%s: %s 0x%llx/0x%llx, libpfm4's %s 0x%llx/0x%llx\n", core->name,
                              differences[k].event, (unsigned long long)differences[k].ours[0],
                              (unsigned long long)differences[k].ours[1], differences[k].pfm_name,
                              (unsigned long long)differences[k].theirs[0],
                              (unsigned long long)differences[k].theirs[1]);
            assert_int_equal(count, 0);
            all += compared;
        }
        td_pmu_core_free(core);
        td_uarch_free(uarch);
    }
    print_message("%zu events compared\n", all);
    assert_true(all >= 60);
}

/* A description that takes the library's wrong code would be found. */
static void test_difference_is_found(void **state)
{
    static const char text[] =
        "[core]\nname x\ntitle x\n[match]\nany any\n[pmu]\nlibpfm spr\nwidth 6\n"
        "counters 8\n[pmu.events]\nmem_load_l2_hit 0x4d1\ncycles 0x3c\n"
        "[pmu.groups]\na level=0 cycles*\n";
    struct td_pfm_difference difference;
    struct td_uarch *uarch = NULL;
    struct td_pmu_core *core = NULL;
    struct td_err err = TD_ERR_INIT;
    size_t compared = 0;

    (void)state;
    assert_int_equal(td_uarch_parse(&uarch, text, sizeof(text) - 1, &err), TD_OK);
    if (td_pmu_core_read(&core, uarch, &err) != TD_OK)
        fail_msg("%s", err.text);
    assert_int_equal(td_pfm_compare(core, &difference, 1, &compared), 1);
    assert_string_equal(difference.event, "mem_load_l2_hit");
    assert_int_equal(difference.theirs[0], 0x2d1);
    td_pmu_core_free(core);
    td_uarch_free(uarch);
}

/* The command must see the environment that it would have without us. */
static void test_environment(void **state)
{
    (void)state;
    unsetenv("LIBPFM_ENCODE_INACTIVE");
    find(spr, "MEM_LOAD_RETIRED:L3_MISS");
    assert_null(getenv("LIBPFM_ENCODE_INACTIVE"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terms),           cmocka_unit_test(test_order),
        cmocka_unit_test(test_wrong_encodings), cmocka_unit_test(test_suggestions),
        cmocka_unit_test(test_cross_check),     cmocka_unit_test(test_difference_is_found),
        cmocka_unit_test(test_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
