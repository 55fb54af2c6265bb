/* SPDX-License-Identifier: MIT */
/* report/query/why and report/view/why: the cause of what a place lost. */
#include "report_fixture.h"

#include <stdio.h>

#include "report/query/why/why.h"
#include "report/view/model/why.h"

enum { LIGHT, L3, CONTESTED, STORE, FALSELY, WRONG, SPLIT, CHAIN, RUNS, COLUMNS };

struct profile {
    struct td_model *model;
    struct td_measure *measure;
    uint32_t module, thread, group;
    uint32_t f, g;
    struct td_why_basis basis;
};

static struct profile make(void)
{
    static const enum td_tma_node nodes[COLUMNS] = {
        TD_NODE_LIGHT_OPERATIONS, TD_NODE_L3_BOUND,          TD_NODE_CONTESTED_ACCESSES,
        TD_NODE_STORE_BOUND,      TD_NODE_FALSE_SHARING,     TD_NODE_BRANCH_MISPREDICTS,
        TD_NODE_SPLIT_LOADS,      TD_NODE_DEPENDENCY_CHAINS, TD_NODE_NONE};
    struct profile p = {.model = td_model_new()};
    const struct td_event slots = {.name = td_model_intern_z(p.model, "slots"),
                                   .unit = TD_UNIT_SLOTS};
    struct td_group group = {.role = TD_ROLE_MODEL,
                             .attribution = TD_ATTRIBUTION_EXACT,
                             .locates = TD_NODE_NONE,
                             .sampler = TD_NONE,
                             .column_count = COLUMNS};
    const struct td_event instructions = {.name = td_model_intern_z(p.model, "instructions"),
                                          .unit = TD_UNIT_INSTRUCTIONS};
    const uint32_t event = td_model_add_event(p.model, &slots);
    const uint32_t runs = td_model_add_event(p.model, &instructions);

    for (unsigned c = 0; c < COLUMNS; c++)
        group.columns[c] = (struct td_column){TD_COLUMN_TOTAL, c == RUNS ? runs : event, nodes[c]};
    p.group = td_model_add_group(p.model, &group);
    p.module = fx_module(p.model, "/usr/bin/app");
    p.thread = fx_thread(p.model, 1, 1, "app", "app");
    p.f = fx_function(p.model, p.module, "f", "/src/app.c", 1);
    p.g = fx_function(p.model, p.module, "g", "/src/app.c", 20);
    return p;
}

static void add(struct profile *p, uint32_t location, const uint64_t slots[COLUMNS])
{
    td_model_add_values(p->model, p->thread, td_model_put_node(p->model, 0, location), p->group, 0,
                        slots);
}

/* Half of its accesses and more lie over the end of a line. */
static void split(struct profile *p, uint64_t offset)
{
    struct td_habit habit = {.module = p->module, .offset = offset};

    habit.figures[TD_HABIT_ACCESSES] = 100;
    habit.figures[TD_HABIT_BYTES] = 800;
    habit.figures[TD_HABIT_SPLIT_LINES] = 60;
    td_model_put_habit(p->model, &habit);
}

/* Of all code of f and g. Releases nothing of the profile but the parts. */
static struct td_why why_of(struct profile *p)
{
    const uint32_t functions[] = {p->f, p->g};
    struct td_code_parts parts;
    struct td_why why;

    p->measure = fx_measure(p->model, NULL);
    td_code_of_any(&parts, p->measure, functions, 2);
    p->basis = td_why_basis_init(p->measure, p->measure);
    td_why_of(&why, &p->basis, &parts);
    td_code_parts_release(&parts);
    return why;
}

/* For free(). */
static char *print(const struct profile *p, const struct td_why *why)
{
    char *text = NULL;
    size_t size = 0;
    struct td_style style = {.out = open_memstream(&text, &size), .width = 80};

    td_why_print(why,
                 &(struct td_why_asked){.measure = p->measure,
                                        .loops = &p->basis.loops,
                                        .words = {.model = p->model},
                                        .place = "f"},
                 &style);
    fclose(style.out);
    return text;
}

static void release(struct profile *p)
{
    td_why_basis_release(&p->basis);
    td_measure_free(p->measure);
    td_model_free(p->model);
}

/* What is lost to lines that threads share is a part of what is lost to L3 and to stores, but no
 * other cause of these may be named for it. */
static void shared_lines_are_a_cause(void **state)
{
    static const uint64_t slots[][COLUMNS] = {{[LIGHT] = 30, [L3] = 10, [CONTESTED] = 60},
                                              {[LIGHT] = 30, [CONTESTED] = 60},
                                              {[LIGHT] = 30, [FALSELY] = 60},
                                              {[LIGHT] = 30, [STORE] = 10, [FALSELY] = 60}};

    (void)state;
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        struct profile p = make();

        add(&p, fx_location(p.model, p.f, 0x10, 2), slots[i]);
        const struct td_why why = why_of(&p);
        assert_int_equal(why.cause, TD_WHY_SHARED);
        assert_int_equal(why.node,
                         slots[i][CONTESTED] ? TD_NODE_CONTESTED_ACCESSES : TD_NODE_FALSE_SHARING);
        assert_true(why.lost > 0.59 && why.lost < 0.67 && why.part == 1);
        release(&p);
    }
}

/* The rest of both is theirs. */
static void others_are_not_shared(void **state)
{
    struct profile p = make();

    (void)state;
    add(&p, fx_location(p.model, p.f, 0x10, 2),
        (const uint64_t[COLUMNS]){[LIGHT] = 30, [STORE] = 50, [FALSELY] = 20});
    const struct td_why why = why_of(&p);
    assert_true(why.cause == TD_WHY_STORES && why.node == TD_NODE_STORE_BOUND && why.lost == 0.5);
    release(&p);
}

/* What is plain to see is told of code that loses next to nothing, too: without a category. */
static void nothing_lost(void **state)
{
    struct profile p = make();

    (void)state;
    add(&p, fx_location(p.model, p.f, 0x10, 2), (const uint64_t[COLUMNS]){[LIGHT] = 95, [L3] = 5});
    split(&p, 0x10);
    const struct td_why why = why_of(&p);
    assert_true(why.cause == TD_WHY_ALIGNMENT && why.beside && why.node == TD_NODE_NONE);
    char *text = print(&p, &why);
    assert_non_null(strstr(text, "at        app+0x10 (app.c:2)"));
    assert_null(strstr(text, "lost"));
    free(text);
    release(&p);
}

/* What is plain to see and has cost something is a cause as any other. */
static void little_lost(void **state)
{
    struct profile p = make();

    (void)state;
    add(&p, fx_location(p.model, p.f, 0x10, 2),
        (const uint64_t[COLUMNS]){[LIGHT] = 75, [SPLIT] = 25});
    split(&p, 0x10);
    const struct td_why why = why_of(&p);
    assert_true(why.cause == TD_WHY_ALIGNMENT && !why.beside);
    char *text = print(&p, &why);
    assert_non_null(strstr(text, "25 % of its slots, to split_loads"));
    assert_null(strstr(text, "may cost little"));
    free(text);
    release(&p);
}

/* A column whose accesses all miss L1, and a sum that takes as long. */
static void column(struct profile *p, uint64_t offset, uint64_t missing)
{
    struct td_habit habit = {.module = p->module, .offset = offset};

    habit.figures[TD_HABIT_ACCESSES] = 100;
    habit.figures[TD_HABIT_BYTES] = 400;
    habit.figures[TD_HABIT_NEW_LINES] = 100;
    habit.figures[TD_HABIT_FROM_L2] = missing;
    td_habit_mark(&habit,
                  &(struct td_habit_mark){
                      .kind = TD_HABIT_STRIDE, .module = UINT32_MAX, .key = 6000, .count = 90});
    td_model_put_habit(p->model, &habit);
}

/* Beside a chain it is said how the same code uses memory, when that misses L1. */
static void column_beside_a_chain(void **state)
{
    static const uint64_t missing[] = {100, 40};

    (void)state;
    for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
        struct profile p = make();

        add(&p, fx_location(p.model, p.f, 0x10, 2),
            (const uint64_t[COLUMNS]){[LIGHT] = 20, [CHAIN] = 80});
        column(&p, 0x10, missing[i]);
        const struct td_why why = why_of(&p);
        assert_int_equal(why.cause, TD_WHY_CHAIN);
        assert_int_equal(why.also, i == 0 ? TD_WHY_STRIDE : TD_WHY_NOTHING);
        char *text = print(&p, &why);
        assert_int_equal(strstr(text, "Besides,") != NULL, i == 0);
        assert_non_null(strstr(text, "100 loads seen, of 4 bytes"));
        free(text);
        release(&p);
    }
}

/* Few lines that had not been in L1 before are no matter of their order or of the caches' sizes; as
 * many that come again are. */
static void first_use(void **state)
{
    (void)state;
    for (int again = 0; again < 2; again++) {
        struct profile p = make();
        struct td_habit habit = {.module = p.module, .offset = 0x10};

        td_model_add_env(p.model, "core", "golden-cove");
        habit.figures[TD_HABIT_ACCESSES] = habit.figures[TD_HABIT_NEW_LINES] = 100;
        habit.figures[TD_HABIT_BYTES] = 400;
        habit.figures[TD_HABIT_FOOTPRINT_LINES] = 60;
        habit.figures[TD_HABIT_FROM_MEMORY] = 80;
        td_habit_mark(&habit, &(struct td_habit_mark){.kind = TD_HABIT_REUSE,
                                                      .module = UINT32_MAX,
                                                      .key = again ? 12 : -1,
                                                      .count = 80});
        td_model_put_habit(p.model, &habit);
        add(&p, fx_location(p.model, p.f, 0x10, 2),
            (const uint64_t[COLUMNS]){[LIGHT] = 20, [L3] = 80});
        const struct td_why why = why_of(&p);
        assert_int_equal(why.cause, again ? TD_WHY_RANDOM : TD_WHY_FIRST);
        char *text = print(&p, &why);
        assert_int_equal(strstr(text, "Its data are used for the first time: 100 %") != NULL,
                         !again);
        free(text);
        release(&p);
    }
}

/* What computes in memory loads and stores. */
static void loads_and_stores(void **state)
{
    struct profile p = make();
    struct td_habit habit = {.module = p.module, .offset = 0x10};

    (void)state;
    habit.figures[TD_HABIT_ACCESSES] = 1001;
    habit.figures[TD_HABIT_STORES] = 500;
    habit.figures[TD_HABIT_BYTES] = 4004;
    td_model_put_habit(p.model, &habit);
    add(&p, fx_location(p.model, p.f, 0x10, 2), (const uint64_t[COLUMNS]){[LIGHT] = 20, [L3] = 80});
    const struct td_why why = why_of(&p);
    char *text = print(&p, &why);
    assert_non_null(strstr(text, "accesses  501 loads, 500 stores seen, of 4 bytes"));
    free(text);
    release(&p);
}

/* The share of the losses is that of the instruction that is named. */
static void part_of_the_named(void **state)
{
    struct profile p = make();

    (void)state;
    add(&p, fx_location(p.model, p.f, 0x10, 2), (const uint64_t[COLUMNS]){[L3] = 18});
    add(&p, fx_location(p.model, p.f, 0x18, 3), (const uint64_t[COLUMNS]){[LIGHT] = 80, [L3] = 2});
    split(&p, 0x18);
    const struct td_why why = why_of(&p);
    assert_true(why.cause == TD_WHY_ALIGNMENT && why.beside && why.node == TD_NODE_L3_BOUND);
    assert_int_equal(why.offset, 0x18);
    assert_true(why.part > 0.099 && why.part < 0.101);
    release(&p);
}

/* g is inlined into f: its slots are there once. */
static void inlined_counts_once(void **state)
{
    struct profile p = make();

    (void)state;
    add(&p, fx_inlined(p.model, p.g, 21, p.f, 3, 0x20), (const uint64_t[COLUMNS]){[LIGHT] = 70});
    add(&p, fx_location(p.model, p.f, 0x10, 2), (const uint64_t[COLUMNS]){[LIGHT] = 30});
    const struct td_why why = why_of(&p);
    assert_int_equal(why.values[TD_METRIC_SLOTS], p.measure->totals[TD_METRIC_SLOTS]);
    release(&p);
}

/* A comparator that one sort calls, which two functions call: it is these that tell apart who pays,
 * and lines of one function are two callers. */
static void callers_that_pay(void **state)
{
    struct profile p = make();
    const uint32_t compare = fx_function(p.model, p.module, "compare", "/src/app.c", 60);
    const uint32_t branch = fx_location(p.model, compare, 0x600, 61);
    const uint32_t sort =
        fx_location(p.model, fx_function(p.model, p.module, "sort", "/src/s.c", 1), 0x700, 5);
    const uint32_t calls[] = {fx_location(p.model, p.f, 0x10, 2),
                              fx_location(p.model, p.g, 0x20, 21),
                              fx_location(p.model, p.g, 0x28, 22)};
    const uint64_t slots[][COLUMNS] = {{[LIGHT] = 40, [WRONG] = 2, [RUNS] = 60},
                                       {[LIGHT] = 10, [WRONG] = 97, [RUNS] = 30},
                                       {[LIGHT] = 10, [WRONG] = 1, [RUNS] = 10}};
    struct td_why_caller callers[TD_WHY_CALLERS];

    (void)state;
    for (int i = 0; i < 3; i++) {
        const uint32_t outer = td_model_put_node(p.model, 0, calls[i]);
        const uint32_t node =
            td_model_put_node(p.model, td_model_put_node(p.model, outer, sort), branch);

        td_model_add_values(p.model, p.thread, node, p.group, 0, slots[i]);
    }
    p.measure = fx_measure(p.model, NULL);
    assert_int_equal(td_why_callers_of(callers, p.measure, branch), 3);
    assert_int_equal(callers[0].location, calls[1]);
    assert_true(callers[0].lost == 0.97 && callers[0].executions == 0.3);
    assert_int_equal(callers[1].location, calls[0]);
    assert_int_equal(callers[2].location, calls[2]);
    assert_int_equal(td_why_callers_of(callers, p.measure, sort), 0);
    assert_int_equal(td_why_callers_of(callers, p.measure, TD_NONE), 0);
    release(&p);
}

/* A branch that is called from one place alone has no callers to tell apart. */
static void one_caller_is_none(void **state)
{
    struct profile p = make();
    const uint32_t branch = fx_location(p.model, p.f, 0x10, 2);
    const uint32_t call = td_model_put_node(p.model, 0, fx_location(p.model, p.g, 0x20, 21));
    struct td_why_caller callers[TD_WHY_CALLERS];

    (void)state;
    td_model_add_values(p.model, p.thread, td_model_put_node(p.model, call, branch), p.group, 0,
                        (const uint64_t[COLUMNS]){[LIGHT] = 10, [WRONG] = 50, [RUNS] = 20});
    p.measure = fx_measure(p.model, NULL);
    assert_int_equal(td_why_callers_of(callers, p.measure, branch), 0);
    release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_lines_are_a_cause),
        cmocka_unit_test(others_are_not_shared),
        cmocka_unit_test(nothing_lost),
        cmocka_unit_test(little_lost),
        cmocka_unit_test(column_beside_a_chain),
        cmocka_unit_test(first_use),
        cmocka_unit_test(loads_and_stores),
        cmocka_unit_test(part_of_the_named),
        cmocka_unit_test(inlined_counts_once),
        cmocka_unit_test(callers_that_pay),
        cmocka_unit_test(one_caller_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
