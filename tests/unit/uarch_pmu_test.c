/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "formats/cores/pmu.h"

struct loaded {
    struct td_uarch *uarch;
    struct td_pmu_core *core;
};

static int load_text(struct loaded *ret, const char *text, struct td_err *err)
{
    int rc = td_uarch_parse(&ret->uarch, text, strlen(text), err);

    return rc == TD_OK ? td_pmu_core_read(&ret->core, ret->uarch, err) : rc;
}

static struct loaded load_core(const char *name)
{
    struct loaded loaded = {0};
    struct td_buf text = {0};
    struct td_err err = TD_ERR_INIT;
    char path[512];

    snprintf(path, sizeof(path), TD_TESTS_DIR "/../formats/cores/uarch/%s.uarch", name);
    assert_int_equal(td_file_read(path, 1 << 20, &text, &err), TD_OK);
    td_buf_u8(&text, 0);
    if (load_text(&loaded, (const char *)text.data, &err) != TD_OK)
        fail_msg("%s: %s", name, err.text);
    td_buf_release(&text);
    return loaded;
}

static void unload(struct loaded *loaded)
{
    td_pmu_core_free(loaded->core);
    td_uarch_free(loaded->uarch);
}

/* Counts by event: all unknown but those that are named. */
static double *counts_of(const struct td_pmu_core *core)
{
    double *counts = td_xcalloc(core->event_count, sizeof(*counts));

    for (size_t i = 0; i < core->event_count; i++)
        counts[i] = NAN;
    return counts;
}

static void set(const struct td_pmu_core *core, double *counts, const char *event, double value)
{
    const int i = td_pmu_core_event(core, event);

    assert_true(i >= 0);
    counts[i] = value;
}

static void percent_is(double share, double wanted, double digit)
{
    assert_true(fabs(100 * share - wanted) <= digit / 2 + 1e-9);
}

/* Counts and results that Arm's Neoverse N2 top-down guide prints, to the printed digit. */
static void neoverse_n2_gives_the_published_results(void **state)
{
    (void)state;
    struct loaded n2 = load_core("neoverse-n2-r0p0");
    double *counts = counts_of(n2.core);

    set(n2.core, counts, "cycles", 3922334305);
    set(n2.core, counts, "stall_slot", 22679591134);
    set(n2.core, counts, "op_spec", 854404256);
    set(n2.core, counts, "op_retired", 853521883);
    set(n2.core, counts, "br_mis_pred", 0);
    percent_is(td_pmu_core_formula(n2.core, TD_NODE_BAD_SPECULATION, counts, 0), 0.0, 0.1);
    percent_is(td_pmu_core_formula(n2.core, TD_NODE_RETIRING, counts, 0), 4.4, 0.1);
    set(n2.core, counts, "cycles", 3922227771);
    set(n2.core, counts, "stall_slot_frontend", 8492337939);
    percent_is(td_pmu_core_formula(n2.core, TD_NODE_FRONTEND_BOUND, counts, 0), 23.3, 0.1);
    set(n2.core, counts, "cycles", 3922584678);
    set(n2.core, counts, "stall_slot_backend", 14317243430);
    percent_is(td_pmu_core_formula(n2.core, TD_NODE_BACKEND_BOUND, counts, 0), 73.0, 0.1);
    free(counts);
    unload(&n2);
}

/* 1,000 slots over four metrics of 300, 100, 200, 400, with level 2 of 40, 60, 150, 250. */
static void sapphire_rapids_splits_to_level_2(void **state)
{
    (void)state;
    struct loaded spr = load_core("sapphire-rapids");
    double *counts = counts_of(spr.core);
    struct td_pmu_tree tree = {.clamped = 0};

    set(spr.core, counts, "slots", 1000);
    set(spr.core, counts, "topdown_retiring", 300);
    set(spr.core, counts, "topdown_bad_spec", 100);
    set(spr.core, counts, "topdown_fe_bound", 200);
    set(spr.core, counts, "topdown_be_bound", 400);
    set(spr.core, counts, "topdown_heavy_ops", 40);
    set(spr.core, counts, "topdown_br_mispredict", 60);
    set(spr.core, counts, "topdown_fetch_lat", 150);
    set(spr.core, counts, "topdown_mem_bound", 250);
    set(spr.core, counts, "uop_dropping", 0);
    td_pmu_core_tree(spr.core, counts, 0, &tree);
    percent_is(tree.share[TD_NODE_RETIRING], 30, 1e-6);
    percent_is(tree.share[TD_NODE_BAD_SPECULATION], 10, 1e-6);
    percent_is(tree.share[TD_NODE_MACHINE_CLEARS], 4, 1e-6);
    percent_is(tree.share[TD_NODE_FETCH_BANDWIDTH], 5, 1e-6);
    percent_is(tree.share[TD_NODE_CORE_BOUND], 15, 1e-6);
    percent_is(tree.share[TD_NODE_LIGHT_OPERATIONS], 26, 1e-6);
    assert_true(tree.clamped == 0);
    assert_true(isnan(tree.share[TD_NODE_L1_BOUND]));
    free(counts);
    unload(&spr);
}

/* Frontend minus the mispredict term is negative here: it becomes 0 and the rest adds up to 1. */
static void negatives_are_cut_and_said(void **state)
{
    (void)state;
    struct loaded n2 = load_core("neoverse-n2");
    double *counts = counts_of(n2.core);
    struct td_pmu_tree tree = {.clamped = 0};
    double sum = 0;

    set(n2.core, counts, "cycles", 1000);
    set(n2.core, counts, "stall_slot", 2000);
    set(n2.core, counts, "stall_slot_frontend", 100);
    set(n2.core, counts, "stall_slot_backend", 1900);
    set(n2.core, counts, "op_spec", 3000);
    set(n2.core, counts, "op_retired", 2900);
    set(n2.core, counts, "br_mis_pred", 50);
    td_pmu_core_tree(n2.core, counts, 0, &tree);
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->level == 1 && !isnan(tree.share[n])) {
            assert_true(tree.share[n] >= 0 && tree.share[n] <= 1);
            sum += tree.share[n];
        }
    }
    assert_true(fabs(sum - 1) < 1e-9);
    assert_true(tree.share[TD_NODE_FRONTEND_BOUND] == 0);
    assert_true(tree.clamped > 0);
    free(counts);
    unload(&n2);
}

/* General counters: what is neither a metric nor on a fixed counter; precise events one by one. */
static void check_groups(const struct td_pmu_core *core)
{
    for (size_t g = 0; g < core->group_count; g++) {
        const struct td_pmu_group *group = &core->groups[g];
        uint32_t general = 0, metrics = 0, fixed = 0;

        for (uint32_t i = 0; i < group->count; i++) {
            const struct td_pmu_event *e = &core->events[group->events[i]];
            const bool on_fixed = e->fixed >= 0 && !(fixed & 1u << e->fixed);

            metrics += e->metric;
            if (on_fixed)
                fixed |= 1u << e->fixed;
            general += !e->metric && !on_fixed;
            assert_true(!e->metric || strcmp(core->events[group->events[0]].name, "slots") == 0);
        }
        if (general > core->counters || metrics > 8)
            fail_msg("%s: group %s needs %u counters of %u", core->name, group->name, general,
                     core->counters);
        assert_true((fixed & ~core->fixed) == 0);
    }
}

static void every_description_reads_and_its_groups_fit(void **state)
{
    (void)state;
    DIR *dir = opendir(TD_TESTS_DIR "/../formats/cores/uarch");
    unsigned cores = 0;

    assert_non_null(dir);
    for (const struct dirent *d = readdir(dir); d; d = readdir(dir)) {
        char name[256];
        const size_t len = strlen(d->d_name);
        struct td_buf text = {0};
        char path[600];
        struct td_err err = TD_ERR_INIT;
        struct loaded loaded = {0};

        if (len < 7 || strcmp(d->d_name + len - 6, ".uarch") != 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(len - 6), d->d_name);
        snprintf(path, sizeof(path), TD_TESTS_DIR "/../formats/cores/uarch/%s", d->d_name);
        assert_int_equal(td_file_read(path, 1 << 20, &text, &err), TD_OK);
        td_buf_u8(&text, 0);
        const int rc = load_text(&loaded, (const char *)text.data, &err);
        td_buf_release(&text);
        if (rc != TD_OK && rc != TD_ENODATA)
            fail_msg("%s: %s", name, err.text);
        if (rc == TD_OK) {
            assert_string_equal(loaded.core->name, name);
            check_groups(loaded.core);
            cores++;
        }
        unload(&loaded);
    }
    closedir(dir);
    assert_true(cores >= 20);
}

static void the_right_description_is_chosen(void **state)
{
    (void)state;
    struct loaded old = load_core("neoverse-n2-r0p0"), new = load_core("neoverse-n2"),
                  any = load_core("generic-arm"), cycles = load_core("generic-cycles"),
                  e = load_core("alder-lake-e"), smt = load_core("skylake-x-smt");
    const struct td_pmu_cpu r0p2 = {TD_VENDOR_ARM, 0x41, 0xd49, 0x02, false};
    const struct td_pmu_cpu r1p0 = {TD_VENDOR_ARM, 0x6d, 0xd49, 0x10, false};
    const struct td_pmu_cpu adl = {TD_VENDOR_INTEL, 6, 151, 2, true};
    const struct td_pmu_cpu skx = {TD_VENDOR_INTEL, 6, 85, 4, false};

    assert_true(td_pmu_core_fits(old.core, &r0p2, "armv8_pmuv3_0") == 3);
    assert_true(td_pmu_core_fits(new.core, &r0p2, "armv8_pmuv3_0") == 0);
    assert_true(td_pmu_core_fits(old.core, &r1p0, "armv8_pmuv3_0") == 0);
    assert_true(td_pmu_core_fits(new.core, &r1p0, "armv8_pmuv3_0") == 3);
    assert_true(td_pmu_core_fits(any.core, &r1p0, "armv8_pmuv3_0") == 2);
    assert_true(td_pmu_core_fits(cycles.core, &adl, "cpu_core") == 1);
    assert_true(td_pmu_core_fits(e.core, &adl, "cpu_core") == 0);
    assert_true(td_pmu_core_fits(e.core, &adl, "cpu_atom") == 3);
    assert_true(td_pmu_core_fits(smt.core, &skx, "cpu") == 0);
    unload(&old);
    unload(&new);
    unload(&any);
    unload(&cycles);
    unload(&e);
    unload(&smt);
}

static void mistakes_are_named_with_their_line(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "[pmu]\nwidth 4\n",
        "[pmu]\nwidth 4\ncounters 4\nspeed 3\n",
        "[match]\nintel 6\n[pmu]\nwidth 4\ncounters 4\n",
        "[pmu]\nwidth 4\ncounters 4\n[pmu.events]\na 0x1\na 0x2\n",
        "[pmu]\nwidth 4\ncounters 4\n[pmu.events]\na 0x1 fixed=40\n",
        "[pmu]\nwidth 4\ncounters 4\n[pmu.events]\na 0x1\n[pmu.groups]\ng level=1 a\n",
        "[pmu]\nwidth 4\ncounters 4\n[pmu.events]\na 0x1\n[pmu.groups]\ng level=1 a* b\n",
        "[pmu]\nwidth 4\ncounters 4\n[pmu.formulas]\nretiring = nope\n",
        "[pmu]\nwidth 4\ncounters 4\n[pmu.formulas]\nnothing = 1\n",
        "[pmu]\nwidth 4\ncounters 4\n[pmu.locators]\nretiring a\n",
        "[pmu]\nwidth 4\ncounters 4\n[pmu.metrics]\na b c d\n",
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(wrong); i++) {
        struct loaded loaded = {0};
        struct td_err err = TD_ERR_INIT;

        assert_int_equal(load_text(&loaded, wrong[i], &err), TD_EFORMAT);
        assert_true(i == 0 || strstr(err.text, "line "));
        unload(&loaded);
    }
}

static double metric_of(const struct td_pmu_core *core, const double *counts, const char *name)
{
    for (size_t i = 0; i < core->metric_count; i++) {
        if (strcmp(core->metrics[i].name, name) == 0)
            return td_pmu_core_metric(core, &core->metrics[i], counts, 0);
    }
    fail_msg("%s has no metric %s", core->name, name);
    return 0;
}

/* pmu-tools' core clocks of a thread, CLK/2 x (1 + ONE_THREAD_ACTIVE/REF_XCLK): alone on its core,
 * beside a busy thread, and half of the time each. */
static void a_thread_of_skylake_has_a_part_of_its_core(void **state)
{
    (void)state;
    struct loaded smt = load_core("skylake-x-smt");
    double *counts = counts_of(smt.core);

    assert_non_null(strstr(smt.core->note, "core_share"));
    set(smt.core, counts, "cycles", 1000);
    set(smt.core, counts, "ref_xclk", 30);
    set(smt.core, counts, "uops_retired", 1500);
    set(smt.core, counts, "one_thread_active", 30);
    percent_is(metric_of(smt.core, counts, "core_share"), 100, 1e-6);
    percent_is(metric_of(smt.core, counts, "own_retiring"), 37.5, 1e-6);
    set(smt.core, counts, "one_thread_active", 0);
    percent_is(metric_of(smt.core, counts, "core_share"), 50, 1e-6);
    percent_is(metric_of(smt.core, counts, "own_retiring"), 75, 1e-6);
    set(smt.core, counts, "one_thread_active", 15);
    percent_is(metric_of(smt.core, counts, "core_share"), 75, 1e-6);
    percent_is(metric_of(smt.core, counts, "own_retiring"), 50, 1e-6);
    free(counts);
    unload(&smt);
}

/* Of each event that a group counts another number, of the others none. */
static double *counts_of_groups(const struct td_pmu_core *core)
{
    double *counts = counts_of(core);

    for (size_t g = 0; g < core->group_count; g++) {
        for (uint32_t e = 0; e < core->groups[g].count; e++) {
            const uint32_t event = core->groups[g].events[e];

            counts[event] = 1000003.0 + 7919.0 * event;
        }
    }
    return counts;
}

/* A metric whose events no group has can never be shown. */
static void check_metrics_are_fed(const struct td_pmu_core *core)
{
    double *counts = counts_of_groups(core);

    for (size_t m = 0; m < core->metric_count; m++) {
        if (isnan(td_pmu_core_metric(core, &core->metrics[m], counts, 4)))
            fail_msg("%s: no group counts what %s needs", core->name, core->metrics[m].name);
    }
    free(counts);
}

static void every_metric_is_fed_by_groups(void **state)
{
    const struct td_uarch_builtin *builtin = NULL;

    (void)state;
    for (size_t b = 0; (builtin = td_uarch_builtin_at(b)); b++) {
        struct loaded core = {.uarch = NULL};

        assert_int_equal(td_uarch_parse(&core.uarch, builtin->text, builtin->size, NULL), TD_OK);
        if (td_pmu_core_read(&core.core, core.uarch, NULL) == TD_OK)
            check_metrics_are_fed(core.core);
        unload(&core);
    }
}

/* Static latencies rise from level to level; what is timed needs them less. */
static void latencies_rise_with_the_distance(void **state)
{
    static const char *const wrong[] = {"l3_bound 20", "l3_bound 20 us", "nothing 20 ns",
                                        "l3_bound -1 ns", "l2_bound 4 ns\nl3_bound 20 cycles"};
    const struct td_uarch_builtin *builtin = NULL;
    size_t described = 0;

    (void)state;
    for (size_t b = 0; (builtin = td_uarch_builtin_at(b)); b++) {
        struct loaded core = {.uarch = NULL};

        assert_int_equal(td_uarch_parse(&core.uarch, builtin->text, builtin->size, NULL), TD_OK);
        if (td_pmu_core_read(&core.core, core.uarch, NULL) == TD_OK) {
            const double *latencies = core.core->latencies;

            described += latencies[TD_NODE_L3_BOUND] > 0;
            assert_true(latencies[TD_NODE_L2_BOUND] <= latencies[TD_NODE_L3_BOUND]);
            assert_true(latencies[TD_NODE_L3_BOUND] <= latencies[TD_NODE_DRAM_BOUND]);
        }
        unload(&core);
    }
    assert_true(described >= 5);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char *text = td_xasprintf("[core]\nname x\n[pmu]\nwidth 4\ncounters 4\n"
                                  "[pmu.latencies]\n%s\n[pmu.events]\ncycles 0x3c\n",
                                  wrong[i]);
        struct loaded core = {.uarch = NULL};
        struct td_err err = TD_ERR_INIT;

        assert_int_equal(td_uarch_parse(&core.uarch, text, strlen(text), NULL), TD_OK);
        assert_int_equal(td_pmu_core_read(&core.core, core.uarch, &err), TD_EFORMAT);
        assert_non_null(strstr(err.text, "line"));
        unload(&core);
        free(text);
    }
}

/* Arm's guide again, each formula by its own run's cycles: what is counted is shown as it is. */
static void formulas_are_shown_unscaled(void **state)
{
    (void)state;
    struct loaded n2 = load_core("neoverse-n2-r0p0");
    double *counts = counts_of(n2.core);
    struct td_pmu_tree tree;

    set(n2.core, counts, "cycles", 3922334305);
    set(n2.core, counts, "stall_slot", 22679591134);
    set(n2.core, counts, "stall_slot_frontend", 8492337939);
    set(n2.core, counts, "stall_slot_backend", 14317243430);
    set(n2.core, counts, "op_spec", 854404256);
    set(n2.core, counts, "op_retired", 853521883);
    set(n2.core, counts, "br_mis_pred", 0);
    td_pmu_core_shares(n2.core, counts, 0, &tree);
    percent_is(tree.share[TD_NODE_FRONTEND_BOUND], 23.3, 0.1);
    percent_is(tree.share[TD_NODE_BACKEND_BOUND], 73.0, 0.1);
    percent_is(tree.share[TD_NODE_RETIRING], 4.4, 0.1);
    percent_is(tree.share[TD_NODE_BAD_SPECULATION], 0.0, 0.1);
    percent_is(tree.sum, 100.7, 0.1);
    td_pmu_core_tree(n2.core, counts, 0, &tree);
    percent_is(tree.share[TD_NODE_BACKEND_BOUND], 72.5, 0.1);
    free(counts);
    unload(&n2);
}

/* What sums or prints the tree in the order of numbers meets the whole before its parts. */
static void nodes_follow_what_they_are_part_of(void **state)
{
    (void)state;
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const struct td_tma_info *info = td_tma_info((enum td_tma_node)n);
        const int parent_level = info->parent < 0 ? 0 : td_tma_info(info->parent)->level;

        assert_true((int)info->parent < n);
        assert_int_equal(info->level, parent_level + 1);
        assert_true(info->level <= TD_TMA_LEVELS && strlen(info->name) <= 11);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_of_skylake_has_a_part_of_its_core),
        cmocka_unit_test(neoverse_n2_gives_the_published_results),
        cmocka_unit_test(sapphire_rapids_splits_to_level_2),
        cmocka_unit_test(negatives_are_cut_and_said),
        cmocka_unit_test(formulas_are_shown_unscaled),
        cmocka_unit_test(every_metric_is_fed_by_groups),
        cmocka_unit_test(latencies_rise_with_the_distance),
        cmocka_unit_test(every_description_reads_and_its_groups_fit),
        cmocka_unit_test(the_right_description_is_chosen),
        cmocka_unit_test(mistakes_are_named_with_their_line),
        cmocka_unit_test(nodes_follow_what_they_are_part_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
