/* SPDX-License-Identifier: MIT */
/* Is a change more than chance: published values of t, the procedure of Benjamini and Hochberg by
 * hand, and how often the same program seems to have changed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/query/diff/change.h"

static void near(double value, double expected, double within)
{
    if (!(fabs(value - expected) <= within))
        fail_msg("%.9g is not %.9g", value, expected);
}

/* Tables of Student's t: NIST handbook, 1.3.6.7.2. */
static void t_as_published(void **state)
{
    static const struct {
        double freedom, t, chance;
    } rows[] = {{1, 12.706, 0.05},  {2, 4.303, 0.05},   {5, 2.571, 0.05}, {10, 3.169, 0.01},
                {30, 3.646, 0.001}, {100, 1.984, 0.05}, {0, 1.960, 0.05}, {0, 3.291, 0.001}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        near(td_t_chance(rows[i].t, rows[i].freedom), rows[i].chance, rows[i].chance * 0.002);
        if (rows[i].chance == 0.05)
            near(td_t_95(rows[i].freedom), rows[i].t, 0.001);
    }
    near(td_t_chance(0, 3), 1, 1e-12);
    near(td_t_chance(-2.571, 5), 0.05, 1e-4);
}

static struct td_run_sums runs(size_t count, const double *values, double random, double bias)
{
    struct td_run_sums sums = {0};

    for (size_t i = 0; i < count; i++)
        td_run_add(&sums, &(struct td_run_figure){values[i], random, bias});
    return sums;
}

static void one_run_a_side(void **state)
{
    static const double before[] = {100}, after[] = {90};
    const struct td_run_spread none = {.part = 0};
    const struct td_run_spread assumed = {.part = 0.02, .of_total = 0.01};
    const struct td_run_sums exact = runs(1, before, 0, 0), less = runs(1, after, 0, 0);
    const struct td_run_sums sampled = runs(1, after, 3, 4);
    struct td_change c = td_change_of(&exact, &less, &none, 100);

    (void)state;
    near(c.delta, -10, 0);
    near(c.error, 0, 0);
    near(c.chance, 0, 0);
    c = td_change_of(&exact, &exact, &none, 100);
    near(c.chance, 1, 0);
    c = td_change_of(&exact, &sampled, &none, 100);
    near(c.error, 1.96 * 5, 0.01);
    near(c.chance, 0.0455, 0.0001); /* two deviations */
    c = td_change_of(&exact, &less, &assumed, 100);
    near(c.error, 1.96 * sqrt(4 + 1.8 * 1.8 + 2), 0.01);
    c = td_change_of(&exact, &(struct td_run_sums){0}, &none, 100);
    assert_true(isnan(c.delta));
}

/* Runs that agree are surer than what is assumed, and a bias stays. */
static void several_runs(void **state)
{
    static const double before[] = {100, 101, 99, 100}, after[] = {95, 96, 94, 95};
    const struct td_run_spread assumed = {.part = 0.1, .freedom = 2};
    const struct td_run_spread found = {.part = 0.01, .freedom = 4};
    const struct td_run_sums old = runs(4, before, 0, 0), now = runs(4, after, 0, 0);
    const struct td_run_sums biased = runs(4, after, 0, 3);

    (void)state;
    near(old.squares, 2, 1e-12);
    const struct td_change wide = td_change_of(&old, &now, &assumed, 100);
    const struct td_change c = td_change_of(&old, &now, &found, 100);
    /* (4 x 1 + 4) / 10 a run, eight of them; t of 10 degrees of freedom. */
    near(c.error, 2.228 * sqrt(0.8 / 2), 0.001);
    assert_true(wide.error > 2 * c.error);
    near(td_change_of(&old, &biased, &found, 100).error, 2.228 * sqrt(0.4 + 9), 0.01);
    near(td_run_error(&old, &found, 100), td_t_95(7) * sqrt((4 + 2) / 7.0 / 4), 1e-9);
}

static void judged_together(void **state)
{
    /* Of ten, 1 % by rank: 0.001, 0.002, ... The third saves the second. */
    double chances[] = {0.5, 0.0029, 0.0009, 0.6, 0.0025, 0.7, 0.011, 0.8, 0.9, 0.2};
    struct td_change changes[10], *all[10], alone = {.delta = 1, .chance = 0.009};
    struct td_change *one = &alone;

    (void)state;
    for (int i = 0; i < 10; i++) {
        changes[i] = (struct td_change){.delta = 1, .chance = chances[i]};
        all[i] = &changes[i];
    }
    td_changes_judge(all, 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(changes[i].significant, i == 1 || i == 2 || i == 4);
    td_changes_judge(&one, 1);
    assert_true(alone.significant);
    changes[2].delta = NAN; /* takes no part */
    td_changes_judge(all, 10);
    assert_false(changes[2].significant);
    assert_false(changes[1].significant); /* 0.0029 of nine is too much, as is 0.0025 */
}

static uint64_t state_of_random = 12345;

static double uniform(void)
{
    state_of_random = state_of_random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return ((double)(state_of_random >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* 2,000 tables of 40 rows of a program that did not change, one run a side and three: of the
 * tables at most some 1 % may have a row that seems to differ. */
static void false_alarms(void **state)
{
    (void)state;
    for (size_t count = 1; count <= 3; count += 2) {
        const struct td_run_spread spread = {.part = 0.02, .freedom = count == 1 ? 0 : 4};
        unsigned tables = 0;

        for (int table = 0; table < 2000; table++) {
            struct td_change changes[40], *all[40];
            bool any = false;

            for (int r = 0; r < 40; r++) {
                const double value = 100.0 * (r + 1);
                double figures[2][3];

                for (int i = 0; i < 6; i++)
                    figures[i / 3][i % 3] = value * (1 + 0.02 * normal());
                const struct td_run_sums old = runs(count, figures[0], 0, 0);
                const struct td_run_sums now = runs(count, figures[1], 0, 0);

                changes[r] = td_change_of(&old, &now, &spread, 1000);
                all[r] = &changes[r];
            }
            td_changes_judge(all, 40);
            for (int r = 0; r < 40; r++)
                any = any || changes[r].significant;
            tables += any;
        }
        /* With three, t allows for a spread that is not known; here it is: fewer yet. */
        assert_in_range(tables, count == 1 ? 1 : 0, 40);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t_as_published), cmocka_unit_test(one_run_a_side),
        cmocka_unit_test(several_runs),   cmocka_unit_test(judged_together),
        cmocka_unit_test(false_alarms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
