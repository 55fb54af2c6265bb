/* SPDX-License-Identifier: MIT */
/* record/counts, count_part, count_rate, count_print: counts by hand to the tree, the rates and
 * the text that is printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "record/count/cpu_type.h"
#include "record/count/print.h"
#include "record/count/rate.h"
#include "record/count/threads.h"
#include "record/count/counts.h"
#include "record/run/sources.h"

#define MAX_WORDS 16

static char scratch[] = "/tmp/td-count-XXXXXX";

/* A recorded machine, a plan for it, and its counts. */
struct fixture {
    struct td_caps caps;
    struct td_request request;
    struct td_plan plan;
    struct td_counts counts;
    struct td_count_cpu_type *parts;
    size_t part_count;
    char *words;
    char *argv[MAX_WORDS + 1];
};

static void open_machine(struct fixture *f, const char *machine, const char *line)
{
    char *root = td_xasprintf("%s/%s", scratch, machine);
    char *command = td_xasprintf("%s/plan/unpack %s/plan/machines/%s.tree %s", TD_TESTS_DIR,
                                 TD_TESTS_DIR, machine, root);
    char *rest = f->words = td_xstrdup(line);
    struct td_err err = TD_ERR_INIT;
    int argc = 0;

    assert_int_equal(system(command), 0); /* NOLINT: our own script */
    assert_int_equal(td_caps_read(&f->caps, root, NULL), TD_OK);
    td_caps_read_events(&f->caps);
    free(command);
    free(root);
    while (argc < MAX_WORDS && (f->argv[argc] = strsep(&rest, " ")))
        argc++;
    if (td_request_parse(&f->request, argc, f->argv, &err) != TD_OK ||
        td_source_plan(&f->plan, &f->caps, &f->request, &err) != TD_OK)
        fail_msg("%s: %s", line, err.text);
    td_counts_init(&f->counts, &f->plan);
    f->parts = td_count_cpu_types_new(&f->caps, &f->plan, &f->part_count);
}

static void close_machine(struct fixture *f)
{
    td_count_cpu_types_free(f->parts, f->part_count);
    td_counts_release(&f->counts);
    td_plan_release(&f->plan);
    td_request_release(&f->request);
    td_caps_release(&f->caps);
    free(f->words);
}

/* Counts the event of the group of this name, on this type of CPU (NULL: any). */
static void count(struct fixture *f, const char *cpu_type, const char *group, const char *event,
                  uint64_t value, uint64_t enabled_ns, uint64_t running_ns)
{
    for (size_t g = 0; g < f->plan.group_count; g++) {
        const struct td_plan_group *planned = &f->plan.groups[g];

        if (strcmp(planned->name, group) != 0 ||
            (cpu_type && strcmp(planned->cpu_type, cpu_type) != 0))
            continue;
        for (size_t e = 0; e < planned->event_count; e++) {
            const struct td_counter_value read = {.group = (uint16_t)g,
                                                  .event = (uint16_t)e,
                                                  .value = value,
                                                  .enabled_ns = enabled_ns,
                                                  .running_ns = running_ns};

            if (strcmp(planned->events[e].name, event) != 0)
                continue;
            td_counts_take(&f->counts, &read);
            return;
        }
    }
    fail_msg("the plan has no %s in group %s", event, group);
}

/* Sapphire Rapids: half of the slots are lost in the back end, mostly to memory; the branch group
 * had a quarter of the time. */
static void fill_spr(struct fixture *f)
{
    static const struct {
        const char *event;
        uint64_t value;
    } topdown[] = {
        {"slots", 6000000},
        {"topdown_retiring", 1800000},
        {"topdown_bad_spec", 600000},
        {"topdown_fe_bound", 600000},
        {"topdown_be_bound", 3000000},
        {"topdown_heavy_ops", 60000},
        {"topdown_br_mispredict", 540000},
        {"topdown_fetch_lat", 300000},
        {"topdown_mem_bound", 2400000},
        {"cycles", 1000000},
        {"inst_retired", 1500000},
        {"uop_dropping", 0},
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(topdown); i++)
        count(f, NULL, "topdown", topdown[i].event, topdown[i].value, 1000000, 1000000);
    count(f, NULL, "branch", "cycles", 200000, 1000000, 250000);
    count(f, NULL, "branch", "inst_retired", 400000, 1000000, 250000);
    count(f, NULL, "branch", "br_inst_retired", 100000, 1000000, 250000);
    count(f, NULL, "branch", "br_misp_retired", 2000, 1000000, 250000);
    static const char *const tlb[] = {"cycles", "inst_retired", "mem_stlb_miss_loads",
                                      "mem_stlb_miss_stores"};
    for (size_t i = 0; i < TD_ARRAY_SIZE(tlb); i++)
        count(f, NULL, "tlb", tlb[i], 0, 1000000, 0);
    count(f, NULL, "task-clock", "task-clock", 400000, 400000, 400000);
    count(f, NULL, "page-faults", "page-faults", 12, 400000, 400000);
}

static double share(const struct td_pmu_tree *tree, enum td_tma_node node)
{
    return tree->share[node];
}

static void the_tree_of_counts(void **state)
{
    struct fixture f = {.words = NULL};
    struct td_pmu_tree tree;

    (void)state;
    open_machine(&f, "spr", "tdrec --count --source pmu -- app");
    assert_int_equal(f.part_count, 1);
    assert_false(td_count_cpu_type_tree(&f.parts[0], &f.counts, &tree)); /* nothing counted */
    fill_spr(&f);
    assert_true(td_count_cpu_type_tree(&f.parts[0], &f.counts, &tree));
    assert_float_equal(share(&tree, TD_NODE_RETIRING), 0.3, 1e-9);
    assert_float_equal(share(&tree, TD_NODE_BACKEND_BOUND), 0.5, 1e-9);
    assert_float_equal(share(&tree, TD_NODE_MEMORY_BOUND), 0.4, 1e-9);
    assert_float_equal(share(&tree, TD_NODE_CORE_BOUND), 0.1, 1e-9);
    assert_float_equal(share(&tree, TD_NODE_FETCH_LATENCY), 0.05, 1e-9);
    assert_true(td_count_cpu_type_high(&f.parts[0], &tree, TD_NODE_MEMORY_BOUND));
    /* Just at its threshold of 10 %, and below one that is not high. */
    assert_false(td_count_cpu_type_high(&f.parts[0], &tree, TD_NODE_FETCH_LATENCY));
    assert_false(td_count_cpu_type_high(&f.parts[0], &tree, TD_NODE_BRANCH_MISPREDICTS));
    close_machine(&f);
}

static double metric(const struct fixture *f, const char *name)
{
    const struct td_pmu_core *core = f->parts[0].choice.core;

    for (size_t i = 0; i < core->metric_count; i++) {
        if (strcmp(core->metrics[i].name, name) == 0)
            return td_count_cpu_type_metric(&f->parts[0], &f->counts, &core->metrics[i]);
    }
    fail_msg("there is no metric %s", name);
    return 0; /* not reached */
}

static void rates_come_from_one_group(void **state)
{
    struct fixture f = {.words = NULL};

    (void)state;
    open_machine(&f, "spr", "tdrec --count --source pmu -- app");
    fill_spr(&f);
    /* The branch group's own instructions: those of the first group ran at another time. */
    assert_float_equal(metric(&f, "branch_mpki"), 5, 1e-9);
    assert_float_equal(metric(&f, "branch_miss_ratio"), 0.02, 1e-9);
    assert_float_equal(metric(&f, "ipc"), 1.5, 1e-9);
    assert_true(isnan(metric(&f, "stlb_load_mpki"))); /* never had its turn */
    close_machine(&f);
}

/* Zen's level 2 is of another group: brought to the first one's time by the cycles of both. */
static void groups_in_turns_fit_together(void **state)
{
    struct fixture f = {.words = NULL};
    struct td_pmu_tree tree;

    (void)state;
    open_machine(&f, "zen4", "tdrec --count --source pmu -- app");
    count(&f, NULL, "topdown", "cycles", 1000000, 1000, 1000);
    count(&f, NULL, "topdown", "no_ops_from_frontend", 1800000, 1000, 1000);
    count(&f, NULL, "topdown", "ops_dispatched", 2400000, 1000, 1000);
    count(&f, NULL, "topdown", "ops_retired", 2400000, 1000, 1000);
    count(&f, NULL, "topdown", "backend_stalls", 1800000, 1000, 1000);
    /* The split ran at a phase that was twice as fast: half the frontend's slots were latency. */
    count(&f, NULL, "split", "cycles", 1000000, 1000, 500);
    count(&f, NULL, "split", "no_ops_from_frontend", 1800000, 1000, 500);
    count(&f, NULL, "split", "frontend_empty", 150000, 1000, 500);
    assert_true(td_count_cpu_type_tree(&f.parts[0], &f.counts, &tree));
    assert_float_equal(share(&tree, TD_NODE_FRONTEND_BOUND), 0.3, 1e-9);
    assert_float_equal(share(&tree, TD_NODE_FETCH_LATENCY), 0.15, 1e-9);
    assert_float_equal(share(&tree, TD_NODE_FETCH_BANDWIDTH), 0.15, 1e-9);
    close_machine(&f);
}

static void estimates_are_scaled_by_the_time(void **state)
{
    (void)state;
    const struct td_count whole = {100, 50, 50}, quarter = {100, 400, 100}, never = {0, 400, 0},
                          idle = {0, 0, 0};

    assert_float_equal(td_count_estimate(&whole), 100, 0);
    assert_float_equal(td_count_estimate(&quarter), 400, 1e-9);
    assert_float_equal(td_count_share(&quarter), 0.25, 1e-9);
    assert_true(isnan(td_count_estimate(&never)));
    assert_float_equal(td_count_estimate(&idle), 0, 0);
}

static void differences_of_two_readings(void **state)
{
    struct fixture f = {.words = NULL};
    struct td_counts before, between;

    (void)state;
    open_machine(&f, "no-pmu", "tdrec --count -- app");
    td_counts_init(&before, &f.plan);
    td_counts_init(&between, &f.plan);
    count(&f, NULL, "page-faults", "page-faults", 10, 100, 100);
    td_counts_copy(&before, &f.counts);
    count(&f, NULL, "page-faults", "page-faults", 7, 50, 50); /* another CPU's are added */
    td_counts_difference(&between, &f.counts, &before);
    for (size_t g = 0; g < f.plan.group_count; g++) {
        if (strcmp(f.plan.groups[g].name, "page-faults") == 0) {
            assert_int_equal(td_counts_get(&f.counts, g, 0)->value, 17);
            assert_int_equal(td_counts_get(&between, g, 0)->value, 7);
            assert_int_equal(td_counts_get(&between, g, 0)->enabled_ns, 50);
        }
    }
    td_counts_release(&before);
    td_counts_release(&between);
    close_machine(&f);
}

/* What a printer writes for the fixture. */
static char *printed(const struct fixture *f, int what)
{
    char app[] = "./app", word[] = "a\033b", *const command[] = {app, word, NULL};
    const struct td_count_view view = {.counts = &f->counts,
                                       .parts = f->parts,
                                       .part_count = f->part_count,
                                       .command = command,
                                       .to_s = 0.001,
                                       .user_s = 0.0003,
                                       .system_s = 0.0001};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (what == 0)
        td_count_print_text(&view, out);
    else if (what == 1)
        td_count_print_interval(&view, true, out);
    else
        td_count_print_json(&view, true, out);
    fclose(out);
    return text;
}

/* As it was checked by eye and by hand: tests/unit/expected/NAME. */
static void expect_text(const char *text, const char *name)
{
    char *path = td_xasprintf("%s/unit/expected/%s", TD_TESTS_DIR, name);
    char wanted[8192];
    FILE *file = fopen(path, "re");

    assert_non_null(file);
    const size_t size = fread(wanted, 1, sizeof(wanted) - 1, file);
    wanted[size] = '\0';
    fclose(file);
    if (strcmp(text, wanted) != 0)
        fprintf(stderr, "%s:\n%s", name, text);
    assert_int_equal(strcmp(text, wanted), 0);
    free(path);
}

static void text_of_the_whole(void **state)
{
    struct fixture f = {.words = NULL};

    (void)state;
    open_machine(&f, "spr", "tdrec --count --source pmu -- app");
    fill_spr(&f);
    char *text = printed(&f, 0);
    expect_text(text, "count.txt");
    free(text);
    text = printed(&f, 1);
    expect_text(text, "count_interval.txt");
    free(text);
    close_machine(&f);
}

/* The fixture's counts are one thread's; another waited. */
static void threads_are_told_one_by_one(void **state)
{
    struct fixture f = {.words = NULL};
    struct td_count_thread worker = {.pid = 70, .tid = 71, .name = "worker\033[1m"},
                           idle = {.pid = 70, .tid = 70, .name = "app"};
    struct td_count_thread *const threads[] = {&idle, &worker};
    char app[] = "./app", *const command[] = {app, NULL};
    char *text = NULL;
    size_t size = 0;

    (void)state;
    open_machine(&f, "spr", "tdrec --count --per-thread --source pmu -- app");
    struct td_counts *const sums[] = {&worker.now, &worker.last, &idle.now, &idle.last};
    for (size_t i = 0; i < TD_ARRAY_SIZE(sums); i++)
        td_counts_init(sums[i], &f.plan);
    fill_spr(&f);
    td_counts_copy(&worker.now, &f.counts);
    const struct td_count_view view = {
        .counts = &f.counts,
        .parts = f.parts,
        .part_count = f.part_count,
        .command = command,
        .per_thread = true,
        .threads = threads,
        .thread_count = 2,
        .misses = {.late_ns = 40000, .worst_ns = 40000, .late = 1, .missed = 2},
        .to_s = 0.001,
        .user_s = 0.0003,
        .system_s = 0.0002,
    };
    FILE *out = open_memstream(&text, &size);
    td_count_print_text(&view, out);
    fputs("---\n", out);
    td_count_print_interval(&view, true, out);
    fputs("---\n", out);
    td_counts_copy(&worker.last, &worker.now);
    td_count_print_interval(&view, false, out); /* nothing more: no line */
    fclose(out);
    expect_text(text, "count_threads.txt");
    free(text);
    for (size_t i = 0; i < TD_ARRAY_SIZE(sums); i++)
        td_counts_release(sums[i]);
    close_machine(&f);
}

static void hybrid_machines_have_a_tree_each(void **state)
{
    struct fixture f = {.words = NULL};
    struct td_pmu_tree tree;

    (void)state;
    open_machine(&f, "adl", "tdrec --count --source pmu -- app");
    assert_int_equal(f.part_count, 2);
    count(&f, "cpu_atom", "topdown", "cycles", 1000000, 1000, 500);
    count(&f, "cpu_atom", "topdown", "inst_retired", 500000, 1000, 500);
    count(&f, "cpu_atom", "topdown", "topdown_retiring", 1000000, 1000, 500);
    count(&f, "cpu_atom", "topdown", "topdown_bad_spec", 500000, 1000, 500);
    count(&f, "cpu_atom", "topdown", "topdown_fe_bound", 1500000, 1000, 500);
    count(&f, "cpu_atom", "topdown", "topdown_be_bound", 2000000, 1000, 500);
    for (size_t i = 0; i < 2; i++) {
        const bool atom = strcmp(f.parts[i].cpu_type, "cpu_atom") == 0;

        assert_int_equal(td_count_cpu_type_tree(&f.parts[i], &f.counts, &tree), atom);
        if (atom)
            assert_float_equal(share(&tree, TD_NODE_FRONTEND_BOUND), 0.3, 1e-9);
    }
    char *text = printed(&f, 0);
    assert_non_null(strstr(text, "Top-down on alder-lake-e, cpu_atom: 10,000,000 slots\n"));
    assert_null(strstr(text, "Top-down on alder-lake-p"));
    free(text);
    text = printed(&f, 2);
    assert_non_null(strstr(text, "\"cpu_type\": \"cpu_atom\", \"core\": \"alder-lake-e\""));
    assert_non_null(strstr(text, "{\"id\": \"frontend_bound\", \"parent\": null, \"level\": 1, "
                                 "\"share\": 0.3, \"threshold\": 0.2, \"flagged\": true}"));
    free(text);
    close_machine(&f);
}

/* More was subtracted for mispredicted branches than the front end lost, and the back end's share
 * is over 100 %: neither is printed, and what was cut is. */
static void what_was_cut_is_shown(void **state)
{
    struct fixture f = {.words = NULL};
    struct td_pmu_tree tree;
    double sum = 0;

    (void)state;
    open_machine(&f, "n2-r0p3", "tdrec --count --source pmu -- app");
    count(&f, NULL, "topdown", "cycles", 1000, 9, 9);
    count(&f, NULL, "topdown", "stall_slot", 2000, 9, 9);
    count(&f, NULL, "topdown", "stall_slot_frontend", 100, 9, 9);
    count(&f, NULL, "topdown", "stall_slot_backend", 6000, 9, 9);
    count(&f, NULL, "topdown", "op_spec", 3000, 9, 9);
    count(&f, NULL, "topdown", "op_retired", 2900, 9, 9);
    count(&f, NULL, "topdown", "br_mis_pred", 50, 9, 9);
    assert_true(td_count_cpu_type_tree(&f.parts[0], &f.counts, &tree));
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (isnan(tree.share[n]))
            continue;
        assert_true(tree.share[n] >= 0 && tree.share[n] <= 1);
        sum += td_tma_info((enum td_tma_node)n)->level == 1 ? tree.share[n] : 0;
    }
    assert_float_equal(sum, tree.sum, 1e-9);
    /* frontend 100/5000 - 50/1000 = -3 %; backend 6000/5000 - 150/1000 = 105 %: 8 % cut. */
    assert_float_equal(tree.clamped, 0.08, 1e-9);
    char *text = printed(&f, 0);
    assert_non_null(strstr(
        text, "  (8.0 % of the slots were cut: a formula gave less than none, or too many)\n"));
    assert_non_null(
        strstr(text, "  (the formulas of this core add up to 180.0 % here, nothing is scaled)\n"));
    for (const char *minus = text; (minus = strstr(minus, " -")); minus++)
        assert_false(minus[2] >= '0' && minus[2] <= '9');
    free(text);
    close_machine(&f);
}

/* The counts of Arm's guide to the Neoverse N2: what is printed is what its formulas give, and by
 * how much they do not add up. */
static void formulas_are_printed_as_they_are(void **state)
{
    struct fixture f = {.words = NULL};

    (void)state;
    open_machine(&f, "n2-r0p0", "tdrec --count --source pmu -- app");
    count(&f, NULL, "topdown", "cycles", 3922334305, 9, 9);
    count(&f, NULL, "topdown", "stall_slot", 22679591134, 9, 9);
    count(&f, NULL, "topdown", "stall_slot_frontend", 8492337939, 9, 9);
    count(&f, NULL, "topdown", "stall_slot_backend", 14317243430, 9, 9);
    count(&f, NULL, "topdown", "op_spec", 854404256, 9, 9);
    count(&f, NULL, "topdown", "op_retired", 853521883, 9, 9);
    count(&f, NULL, "topdown", "br_mis_pred", 0, 9, 9);
    char *text = printed(&f, 0);
    assert_non_null(strstr(text, "frontend_bound               23.3"));
    assert_non_null(strstr(text, "backend_bound                73.0"));
    assert_non_null(strstr(text, "retiring                      4.4"));
    assert_non_null(strstr(text, "bad_speculation               0.0"));
    assert_non_null(strstr(text, "add up to 100.7 % here, nothing is scaled"));
    free(text);
    close_machine(&f);
}

/* What the plan of a count opens gives every metric of the core. */
static void every_metric_is_counted(void **state)
{
    static const char *const machines[] = {"n1", "n2-r0p0", "n2-r0p3", "n3",  "v1",   "v2",
                                           "v3", "spr",     "icx",     "clx", "zen4", "zen5"};

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(machines); i++) {
        struct fixture f = {.words = NULL};

        open_machine(&f, machines[i], "tdrec --count --source pmu -a");
        for (size_t g = 0; g < f.plan.group_count; g++) {
            for (size_t e = 0; e < f.plan.groups[g].event_count; e++) {
                const struct td_counter_value read = {.group = (uint16_t)g,
                                                      .event = (uint16_t)e,
                                                      .value = 1000003 + 7919 * (e + 16 * g),
                                                      .enabled_ns = 9,
                                                      .running_ns = 9};

                td_counts_take(&f.counts, &read);
            }
        }
        const struct td_pmu_core *core = f.parts[0].choice.core;
        for (size_t m = 0; m < core->metric_count; m++) {
            if (isnan(td_count_cpu_type_metric(&f.parts[0], &f.counts, &core->metrics[m])))
                fail_msg("%s: %s is not counted", machines[i], core->metrics[m].name);
        }
        close_machine(&f);
    }
}

static void names_and_codes_of_the_user(void **state)
{
    struct fixture f = {.words = NULL};
    struct td_pmu_tree tree;

    (void)state;
    open_machine(&f, "spr",
                 "tdrec --count -e "
                 "{slots,topdown-retiring,topdown-bad-spec,topdown-fe-bound,topdown-be-bound},"
                 "cycles,instructions,branches,branch-misses -- app");
    assert_int_equal(f.plan.group_count, 5);
    assert_int_equal(f.plan.groups[0].sampler, f.plan.groups[0].event_count);
    for (size_t e = 0; e < f.plan.groups[0].event_count; e++) {
        const struct td_counter_value read = {
            .event = (uint16_t)e, .value = e == 0 ? 400 : 100, .enabled_ns = 9, .running_ns = 9};

        td_counts_take(&f.counts, &read);
    }
    count(&f, NULL, "cycles", "cycles", 1000, 9, 9);
    count(&f, NULL, "instructions", "instructions", 2500, 9, 9);
    count(&f, NULL, "branches", "branch-instructions", 400, 9, 9);
    count(&f, NULL, "branch-misses", "branch-misses", 3, 9, 9);
    assert_true(td_count_cpu_type_tree(&f.parts[0], &f.counts, &tree));
    const struct td_count_rate ipc = td_count_rate_of(&f.counts, 2, 0, 1);
    assert_float_equal(ipc.value, 2.5, 1e-9);
    assert_string_equal(ipc.unit, "a cycle");
    assert_float_equal(td_count_rate_of(&f.counts, 4, 0, 1).value, 0.75, 1e-9);
    assert_true(isnan(td_count_rate_of(&f.counts, 3, 0, 1).value));
    close_machine(&f);
}

static int make_scratch(void **state)
{
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state)
{
    char *command = td_xasprintf("rm -rf %s", scratch);
    const int rc = system(command); /* NOLINT: a folder that we made */

    (void)state;
    free(command);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_of_counts),
        cmocka_unit_test(rates_come_from_one_group),
        cmocka_unit_test(groups_in_turns_fit_together),
        cmocka_unit_test(estimates_are_scaled_by_the_time),
        cmocka_unit_test(differences_of_two_readings),
        cmocka_unit_test(text_of_the_whole),
        cmocka_unit_test(threads_are_told_one_by_one),
        cmocka_unit_test(hybrid_machines_have_a_tree_each),
        cmocka_unit_test(what_was_cut_is_shown),
        cmocka_unit_test(formulas_are_printed_as_they_are),
        cmocka_unit_test(every_metric_is_counted),
        cmocka_unit_test(names_and_codes_of_the_user),
    };

    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
