/* SPDX-License-Identifier: MIT */
/* record/plan/groups: the names of --groups, and that each metric of each description is counted by
 * groups that its name opens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "record/plan/groups.h"

struct described {
    struct td_uarch *uarch;
    struct td_pmu_core *core;
};

static bool read_core(struct described *ret, const struct td_uarch_builtin *builtin)
{
    struct td_err err = TD_ERR_INIT;

    *ret = (struct described){0};
    if (td_uarch_parse(&ret->uarch, builtin->text, builtin->size, &err) != TD_OK)
        fail_msg("%s: %s", builtin->name, err.text);
    const int rc = td_pmu_core_read(&ret->core, ret->uarch, &err);
    if (rc != TD_OK && rc != TD_ENODATA)
        fail_msg("%s: %s", builtin->name, err.text);
    return rc == TD_OK;
}

static void release(struct described *described)
{
    td_pmu_core_free(described->core);
    td_uarch_free(described->uarch);
}

static int groups_of(uint64_t *ret, const struct td_pmu_core *core, const char *words,
                     struct td_err *err)
{
    const struct td_opt_list names = {.items = &words, .len = 1};

    return td_plan_groups_of(ret, core, &names, err);
}

/* The names of the groups that these words open, in their order, between blanks. */
static void expect(const char *core, const char *words, const char *wanted)
{
    struct described d;
    struct td_err err = TD_ERR_INIT;
    char text[512] = "";
    uint64_t groups = 0;
    size_t used = 0;

    assert_true(read_core(&d, td_uarch_builtin(core)));
    if (groups_of(&groups, d.core, words, &err) != TD_OK)
        fail_msg("%s: %s", words, err.text);
    for (size_t g = 0; g < d.core->group_count; g++) {
        if (groups & UINT64_C(1) << g)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "",
                                     d.core->groups[g].name);
    }
    assert_string_equal(text, wanted);
    release(&d);
}

static void names_of_the_field(void **state)
{
    (void)state;
    expect("neoverse-n2", "tlb", "dtlb itlb l2tlb");
    expect("neoverse-n2", "DTLB_Effectiveness", "dtlb");
    expect("neoverse-n2", "L1D_Cache_Effectiveness", "l1");
    expect("neoverse-n2", "topdownl1", "topdown");
    expect("neoverse-n2", "TopdownL1,branch", "topdown branch");
    expect("neoverse-n2", "Operation_Mix", "mix mix_more barriers");
    expect("neoverse-n2", "Cycle_Accounting", "accounting");
    expect("neoverse-n2", "cache", "l1 l2_ll l3");
    expect("sapphire-rapids", "TopdownL3",
           "topdown memory units code dsb_switches mite fp_arith fp_arith_more int_operations "
           "fused_instructions");
    expect("sapphire-rapids", "cache,tlb", "cache tlb");
    expect("sapphire-rapids", "l3_load_mpki", "cache");
    expect("sapphire-rapids", "FLOPs", "fp");
    expect("zen5", "tlb", "itlb dtlb flushes");
    expect("zen5", "split_five", "split_five");
}

static void unknown_names_are_told_with_what_there_is(void **state)
{
    static const char *const wrong[] = {"nonsense", "branch,nonsense", "TopdownL6", "TopdownL0",
                                        ","};
    struct described d;

    (void)state;
    assert_true(read_core(&d, td_uarch_builtin("neoverse-n2")));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct td_err err = TD_ERR_INIT;
        uint64_t groups = 0;

        assert_int_equal(groups_of(&groups, d.core, wrong[i], &err), TD_EUSAGE);
        assert_non_null(strstr(err.text, "--list"));
    }
    release(&d);
}

/* By bit. */
static td_pmu_event_set events_of(const struct td_pmu_core *core, uint64_t groups)
{
    td_pmu_event_set events = 0;

    for (size_t g = 0; g < core->group_count; g++) {
        for (uint32_t i = 0; i < core->groups[g].count && groups & UINT64_C(1) << g; i++)
            events |= td_pmu_event_bit(core->groups[g].events[i]);
    }
    return events;
}

static void every_metric_is_counted(void **state)
{
    size_t metrics = 0;

    (void)state;
    for (size_t i = 0; td_uarch_builtin_at(i); i++) {
        struct described d;

        if (!read_core(&d, td_uarch_builtin_at(i))) {
            release(&d);
            continue;
        }
        assert_true(d.core->group_count <= 64);
        for (size_t k = 0; k < d.core->metric_count; k++) {
            const struct td_pmu_metric *metric = &d.core->metrics[k];
            const td_pmu_event_set needed = td_pmu_core_metric_events(d.core, metric);
            struct td_err err = TD_ERR_INIT;
            uint64_t groups = 0;

            if (groups_of(&groups, d.core, metric->name, &err) != TD_OK ||
                (needed & ~events_of(d.core, groups)) || needed == 0)
                fail_msg("%s: no groups count %s %s", d.core->name, metric->name, err.text);
            metrics++;
        }
        release(&d);
    }
    assert_true(metrics > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_the_field),
        cmocka_unit_test(unknown_names_are_told_with_what_there_is),
        cmocka_unit_test(every_metric_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
