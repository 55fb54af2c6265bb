/* SPDX-License-Identifier: MIT */
/*
 * report/query/slots: programs of known truth, sampled as a counter's overflow samples them. Three
 * functions with opposite bottlenecks run in phases of a mean length; every slot is charged to one
 * node, so that what the attribution says can be compared with what was.
 */
#include "report_fixture.h"

#include <math.h>
#include <stdio.h>

#include "base/bytes.h"
#include "formats/load.h"
#include "formats/merge.h"
#include "report/query/figures/measure.h"
#include "report/query/figures/rows.h"
#include "report/attribution/slots.h"
#include "report/query/figures/tree.h"

/* The order of the group's columns. */
enum { SLOTS, SAMPLER, RET, BAD, FE, BE, HEAVY, MISP, LAT, MEM, CYCLES, INST, DROP, COLUMNS };
static const char *const events[COLUMNS] = {"slots",
                                            "slots_p",
                                            "topdown_retiring",
                                            "topdown_bad_spec",
                                            "topdown_fe_bound",
                                            "topdown_be_bound",
                                            "topdown_heavy_ops",
                                            "topdown_br_mispredict",
                                            "topdown_fetch_lat",
                                            "topdown_mem_bound",
                                            "cycles",
                                            "inst_retired",
                                            "uop_dropping"};

#define FUNCTIONS 3
/* Shares of a function's slots: retiring, bad speculation, frontend, backend. */
static const double truth[FUNCTIONS][4] = {
    {0.2, 0.05, 0.05, 0.7}, {0.5, 0.35, 0.1, 0.05}, {0.3, 0.05, 0.6, 0.05}};
static const enum td_tma_node level_1[4] = {TD_NODE_RETIRING, TD_NODE_BAD_SPECULATION,
                                            TD_NODE_FRONTEND_BOUND, TD_NODE_BACKEND_BOUND};

struct program {
    double phase[FUNCTIONS]; /* mean length, in slots */
    bool regular;            /* one function after the other; else one is left out at times */
    double fixed;            /* of a phase's length, that does not vary: 0 is exponential */
    double brief;            /* of phases, that are a hundredth as long */
    double period;           /* slots between samples */
    double jitter;           /* of the period, at random */
    double window;           /* paired: of the second sample behind the first; 0: none */
    double length;           /* slots of the whole run */
    uint64_t seed;
};

struct running {
    const struct program *p;
    uint64_t random;
    int at;
    double left;
    double x[COLUMNS]; /* counts so far */
    double spent[FUNCTIONS];
};

static double uniform(struct running *r)
{
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    return ((double)(r->random >> 11) + 0.5) / 9007199254740992.0;
}

static void next_phase(struct running *r)
{
    r->at = (r->at + 1 + (uniform(r) < 0.3 && !r->p->regular)) % FUNCTIONS;
    r->left = r->p->phase[r->at] * (r->p->fixed - (1 - r->p->fixed) * log(uniform(r)));
    if (r->p->brief > 0 && uniform(r) < r->p->brief)
        r->left /= 100;
}

static void run_slots(struct running *r, double slots)
{
    while (slots > 0) {
        const double step = fmin(slots, r->left);
        const double *t = truth[r->at];

        r->x[SLOTS] += step;
        r->x[SAMPLER] += step;
        r->x[RET] += step * t[0];
        r->x[BAD] += step * t[1];
        r->x[FE] += step * t[2];
        r->x[BE] += step * t[3];
        r->x[HEAVY] += step * t[0] * 0.1;
        r->x[MISP] += step * t[1] * 0.9;
        r->x[LAT] += step * t[2] * 0.8;
        r->x[MEM] += step * t[3] * 0.9;
        r->x[CYCLES] += step / 6;
        r->x[INST] += step * t[0];
        r->spent[r->at] += step;
        slots -= step;
        r->left -= step;
        if (r->left <= 0)
            next_phase(r);
    }
}

struct profile {
    struct td_model *model;
    uint32_t thread, group;
    uint32_t node[FUNCTIONS], function[FUNCTIONS];
    double spent[FUNCTIONS], total;
};

static uint32_t add_event(struct td_model *model, const char *name, enum td_unit unit)
{
    const struct td_event event = {.name = td_model_intern_z(model, name), .unit = unit};

    return td_model_add_event(model, &event);
}

static struct profile new_profile(bool paired)
{
    struct profile p = {.model = td_model_new()};
    const uint32_t module = fx_module(p.model, "/usr/bin/app");
    struct td_group group = {.name = td_model_intern_z(p.model, "topdown"),
                             .role = TD_ROLE_SLOTS,
                             .attribution =
                                 paired ? TD_ATTRIBUTION_PAIRED : TD_ATTRIBUTION_INTERVAL,
                             .locates = TD_NODE_NONE,
                             .column_count = COLUMNS};

    td_model_add_env(p.model, "core", "sapphire-rapids");
    p.thread = fx_thread(p.model, 1, 1, "app", "app");
    for (int f = 0; f < FUNCTIONS; f++) {
        char name[16];

        snprintf(name, sizeof(name), "f%d", f);
        p.function[f] = fx_function(p.model, module, name, "/src/app.c", 10U * (unsigned)f + 10);
        p.node[f] = td_model_put_node(
            p.model, 0,
            fx_location(p.model, p.function[f], 0x100U * (unsigned)f, 10U * (unsigned)f + 11));
    }
    for (int c = 0; c < COLUMNS; c++) {
        const enum td_unit unit = c == CYCLES ? TD_UNIT_CYCLES
                                  : c == INST ? TD_UNIT_INSTRUCTIONS
                                              : TD_UNIT_SLOTS;
        const uint32_t event = add_event(p.model, events[c], unit);

        group.columns[c] = (struct td_column){TD_COLUMN_DELTA, event, TD_NODE_NONE};
        if (c == SAMPLER)
            group.sampler = event;
    }
    p.group = td_model_add_group(p.model, &group);
    return p;
}

static void add_sample(struct profile *p, struct running *r, uint64_t before[COLUMNS])
{
    const struct td_sample sample = {.time_ns = (uint64_t)(r->x[CYCLES] / 3),
                                     .thread = p->thread,
                                     .node = p->node[r->at],
                                     .group = p->group,
                                     .cpu = 0};
    uint64_t values[COLUMNS];

    for (int c = 0; c < COLUMNS; c++) {
        values[c] = (uint64_t)r->x[c] - before[c];
        before[c] = (uint64_t)r->x[c];
    }
    td_model_add_sample(p->model, &sample, values);
    td_model_add_values(p->model, p->thread, p->node[r->at], p->group, 1, values);
}

static struct profile sampled(const struct program *program)
{
    struct profile p = new_profile(program->window > 0);
    struct running r = {.p = program, .random = program->seed * 77777 + 1};
    uint64_t before[COLUMNS] = {0};

    next_phase(&r);
    run_slots(&r, program->period * uniform(&r)); /* where the counter stood */
    while (r.x[SLOTS] < program->length) {
        const double moved = program->jitter * (2 * uniform(&r) - 1);

        run_slots(&r, program->period * (1 + moved) - program->window);
        add_sample(&p, &r, before);
        if (program->window > 0) {
            run_slots(&r, program->window);
            add_sample(&p, &r, before);
        }
    }
    for (int f = 0; f < FUNCTIONS; f++)
        p.spent[f] = r.spent[f];
    p.total = r.x[SLOTS];
    return p;
}

/* How often stated errors cover the truth, and what the others are worth. */
struct score {
    unsigned cells, shown, covered, kinds[TD_MIX_KINDS];
    double worst_variation; /* of functions with every category shown */
};

static int index_of(const struct profile *p, uint32_t function)
{
    for (int f = 0; f < FUNCTIONS; f++) {
        if (p->function[f] == function)
            return f;
    }
    return -1;
}

static void judge_row(struct score *score, const struct profile *p, const struct td_rows *rows,
                      const struct td_row *row)
{
    const int f = index_of(p, row->function);
    double variation = 0;
    bool all = true;

    for (int c = 0; c < 4 && f >= 0; c++) {
        const struct td_cell cell = td_row_cell(rows, row, level_1[c]);
        const double off = cell.share - truth[f][c];

        score->cells++;
        all = all && !cell.thin;
        variation += fabs(off) / 2;
        if (cell.thin)
            continue;
        assert_true(cell.error <= 0.8 * cell.share && cell.error <= 0.25);
        score->shown++;
        score->covered += fabs(off) <= cell.error;
        score->kinds[cell.kind]++;
    }
    if (all && variation > score->worst_variation)
        score->worst_variation = variation;
}

static void judge(struct score *score, const struct profile *p)
{
    struct td_measure *measure = fx_slots_measure(p->model, NULL);
    struct td_rows rows;

    td_rows_init(&rows, measure, TD_ROWS_FUNCTIONS, false);
    for (size_t i = 0; i < rows.len; i++)
        judge_row(score, p, &rows, &rows.at[i]);
    td_rows_release(&rows);
    td_measure_free(measure);
}

static const double us = 18000; /* slots of a microsecond: 3 GHz, six a cycle */

/* Phases of about `phase_us`, sampled at `hz`, one run a seed. */
static struct score score_of(double phase_us, double hz, double fixed, double window_us,
                             unsigned seeds, double seconds)
{
    struct score score = {0};

    for (unsigned seed = 1; seed <= seeds; seed++) {
        const double phase = phase_us * us;
        const struct program program = {.phase = {phase, phase, phase / 2},
                                        .fixed = fixed,
                                        .period = us * 1e6 / hz * 1.0371,
                                        .window = window_us * us,
                                        .length = us * 1e6 * seconds,
                                        .seed = seed};
        struct profile p = sampled(&program);

        judge(&score, &p);
        td_model_free(p.model);
    }
    return score;
}

/* Phases of 5 us between functions, and windows of 1 us: every function has its own mix. */
static void test_windows(void **state)
{
    static const double phases_us[] = {5, 100, 10000};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const struct score score = score_of(phases_us[i], 4000, i == 1 ? 0.9 : 0, 1, 2, 0.7);

        assert_true(score.shown >= score.cells * 9 / 10);
        assert_true(score.covered >= score.shown * 9 / 10);
        assert_true(score.worst_variation <= 0.05);
        assert_int_equal(score.kinds[TD_MIX_PAIRED], score.shown);
    }
}

/* Where a function is stayed in for longer than an interval, intervals that begin and end in it
 * are its own. */
static void test_long_phases(void **state)
{
    static const double hz[] = {1000, 4000};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct score score = score_of(10000, hz[i], 0.5, 0, 3, 1);

        assert_true(score.covered >= score.shown * 9 / 10);
        assert_true(score.worst_variation <= 0.05);
        assert_true(score.kinds[TD_MIX_SAME] >= score.cells * 8 / 10);
    }
}

/* Where it is left long before the next sample, intervals say nothing of it, and nothing is said:
 * the plain sums would be wrong by 40 %. */
static void test_short_phases(void **state)
{
    static const double phases_us[] = {5, 100};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct score score = score_of(phases_us[i], 1000, 0, 0, 4, 1);

        assert_true(score.shown <= score.cells / 4);
        assert_true(score.covered >= score.shown * 9 / 10);
    }
}

/* A program that repeats itself in about the sampling period, or a part of it: samples stay in a
 * place for long, and every interval holds all of it. */
static void test_in_step(void **state)
{
    static const double rounds[] = {1.003, 3.03, 33.1};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct score score = {0};

        for (unsigned seed = 1; seed <= 2; seed++) {
            const struct program program = {.phase = {7 * us, 4 * us, 1 * us},
                                            .fixed = 1,
                                            .regular = true,
                                            .period = 12 * us * rounds[i],
                                            .length = us * 4e5,
                                            .seed = seed};
            struct profile p = sampled(&program);

            judge(&score, &p);
            td_model_free(p.model);
        }
        assert_true(score.covered >= score.shown * 9 / 10);
        assert_true(score.shown <= score.cells / 2);
    }
}

static const struct program usual = {.phase = {36e6, 36e6, 18e6}, /* 2 ms, 1 ms */
                                     .period = 4.51e6,
                                     .length = 9e9,
                                     .seed = 7};

static uint64_t total(const struct td_measure *m, enum td_tma_node node)
{
    return m->totals[TD_METRIC_FIRST_NODE + (int)node];
}

/* Rows add up to what was counted, categories to slots, children to parents; to the unit. */
static void test_totals(void **state)
{
    struct profile p = sampled(&usual);
    struct td_measure *m = fx_slots_measure(p.model, NULL);
    const struct td_slots_part *part = &m->slots->parts[0];

    (void)state;
    assert_true(llabs((long long)m->totals[TD_METRIC_SLOTS] - (long long)part->slots) < 10);
    for (size_t r = 0; r < m->row_count; r++) {
        uint64_t sum = 0;

        for (int c = 0; c < 4; c++)
            sum += m->values[TD_METRIC_FIRST_NODE + (int)level_1[c]][r];
        assert_int_equal(sum, m->values[TD_METRIC_SLOTS][r]);
        assert_int_equal(m->values[TD_METRIC_FIRST_NODE + TD_NODE_MEMORY_BOUND][r] +
                             m->values[TD_METRIC_FIRST_NODE + TD_NODE_CORE_BOUND][r],
                         m->values[TD_METRIC_FIRST_NODE + TD_NODE_BACKEND_BOUND][r]);
    }
    for (int c = 0; c < 4; c++)
        assert_true(fabs((double)total(m, level_1[c]) -
                         part->intervals.tree.share[level_1[c]] * (double)part->slots) < 10);
    assert_true(m->slots->clamped < 1e-6);
    td_measure_free(m);
    td_model_free(p.model);
}

/* What an observed spread is itself unsure by chance is some 5 % then. */
#define RUNS 200

/* Over many runs: the error that is stated of each function's share of slots, by what it is off. */
static void stated_by_observed(const struct program *program, double ratios[FUNCTIONS])
{
    double stated[FUNCTIONS] = {0}, square[FUNCTIONS] = {0};

    for (unsigned seed = 1; seed <= RUNS; seed++) {
        struct program again = *program;
        struct td_rows rows;

        again.seed = seed;
        struct profile p = sampled(&again);
        struct td_measure *m = fx_slots_measure(p.model, NULL);
        td_rows_init(&rows, m, TD_ROWS_FUNCTIONS, false);
        for (size_t r = 0; r < rows.len; r++) {
            const int f = index_of(&p, rows.at[r].function);
            const double off = td_row_share(&rows, &rows.at[r]) - p.spent[f] / p.total;

            assert_true(td_row_evidence(&rows, &rows.at[r])->slots_bound >=
                        td_row_error(&rows, &rows.at[r]));
            stated[f] += td_row_error(&rows, &rows.at[r]);
            square[f] += off * off;
        }
        td_rows_release(&rows);
        td_measure_free(m);
        td_model_free(p.model);
    }
    for (int f = 0; f < FUNCTIONS; f++)
        ratios[f] = stated[f] / RUNS / (1.96 * sqrt(square[f] / RUNS));
}

static void expect_ratios(const struct program *program)
{
    double ratios[FUNCTIONS];

    stated_by_observed(program, ratios);
    for (int f = 0; f < FUNCTIONS; f++) {
        if (ratios[f] < 1 / 1.3 || ratios[f] > 1.3)
            fail_msg("phases of %g us: function %d: %.2f of the spread observed",
                     program->phase[f] / us, f, ratios[f]);
    }
}

/* 95 % of normal distances lie within 1.96 standard deviations. */
static void test_error_bars(void **state)
{
    static const double phases_us[] = {60, 2000, 20000};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct program program = usual;

        program.length = i < 2 ? 4.5e9 : 1.8e10;
        for (int f = 0; f < FUNCTIONS; f++)
            program.phase[f] = phases_us[i] * us;
        expect_ratios(&program);
    }
}

/* For half of the time, functions are stayed in for long, for the other half they are called for
 * short: what a sample remembers of the one before is no measure of either. */
static void test_error_bars_of_two_paces(void **state)
{
    struct program program = usual;

    (void)state;
    program.brief = 0.99;
    for (int f = 0; f < FUNCTIONS; f++)
        program.phase[f] = 20 * program.period;
    expect_ratios(&program);
}

/* Samples that come round in step with the program stay in a place for several of them, and are
 * worth less than they are many. */
static void test_error_bars_in_step(void **state)
{
    const struct program program = {.phase = {11 * us, 9 * us, 5 * us},
                                    .fixed = 1,
                                    .regular = true,
                                    .period = 50 * us,
                                    .jitter = 0.05,
                                    .length = us * 1.5e5};

    (void)state;
    expect_ratios(&program);
}

/* A precise event that samples where slots of a node are lost; `latency` 0: no weights. */
static uint32_t add_locator(struct profile *p, enum td_tma_node node, const char *event,
                            bool weights)
{
    struct td_group group = {.role = TD_ROLE_LOCATOR,
                             .attribution = TD_ATTRIBUTION_LOCATED,
                             .locates = node,
                             .sampler = add_event(p->model, event, TD_UNIT_COUNT),
                             .column_count = weights ? 2 : 1};

    group.columns[0] = (struct td_column){TD_COLUMN_PERIOD, group.sampler, TD_NODE_NONE};
    group.columns[1] = (struct td_column){TD_COLUMN_RETIRE_LATENCY, TD_NONE, TD_NODE_NONE};
    return td_model_add_group(p->model, &group);
}

static void add_located(struct profile *p, uint32_t group, int f, unsigned samples,
                        uint64_t latency)
{
    const uint64_t values[2] = {1000 * (uint64_t)samples, latency * samples};

    td_model_add_values(p->model, p->thread, p->node[f], group, samples, values);
}

static struct td_cell cell_of(const struct profile *p, const struct td_measure *m, int f,
                              enum td_tma_node node)
{
    struct td_rows rows;
    struct td_cell cell = {0};

    td_rows_init(&rows, m, TD_ROWS_FUNCTIONS, false);
    for (size_t i = 0; i < rows.len; i++) {
        if (rows.at[i].function == p->function[f])
            cell = td_row_cell(&rows, &rows.at[i], node);
    }
    td_rows_release(&rows);
    return cell;
}

/* Phases too short for intervals: mispredicts are placed by their event all the same. */
static void test_located(void **state)
{
    struct program program = usual;
    const enum td_tma_node node = TD_NODE_BRANCH_MISPREDICTS;

    (void)state;
    for (int f = 0; f < FUNCTIONS; f++)
        program.phase[f] = 5 * us;
    struct profile p = sampled(&program);
    const uint32_t locator = add_locator(&p, node, "br_misp_retired", false);
    for (int f = 0; f < FUNCTIONS; f++)
        add_located(&p, locator, f, (unsigned)(2000 * truth[f][1]), 0);
    struct td_measure *m = fx_slots_measure(p.model, NULL);
    assert_true(m->slots->parts[0].used[node]);
    assert_int_equal(m->slots->parts[0].kind[node], TD_MIX_LOCATED);
    assert_string_equal(m->slots->parts[0].locators[node].events, "br_misp_retired");
    const struct td_cell cell = cell_of(&p, m, 1, node);
    assert_false(cell.thin);
    assert_true(fabs(cell.share - truth[1][1] * 0.9) <= cell.error);
    assert_true(cell.error < 0.12);
    /* With what the others can have had of it, retiring is known a little too. */
    const struct td_cell retiring = cell_of(&p, m, 1, TD_NODE_RETIRING);
    assert_true(retiring.thin || fabs(retiring.share - truth[1][0]) <= retiring.error);
    td_measure_free(m);
    td_model_free(p.model);
}

/* Ten samples of one function, and before each another one ran for a quarter of the interval: that
 * no sample fell there does not show that all of the intervals is of the one. */
static void test_few_samples(void **state)
{
    const struct program program = {.phase = {1e12, 1, 1}, .fixed = 1, .regular = true};
    struct profile p = new_profile(false);
    struct running r = {.p = &program};
    uint64_t before[COLUMNS] = {0};

    (void)state;
    for (int i = 0; i < 10; i++) {
        r.at = 2;
        r.left = 250000;
        run_slots(&r, 1000000);
        add_sample(&p, &r, before);
    }
    struct td_measure *m = fx_slots_measure(p.model, NULL);
    for (int i = 0; i < 4; i++) {
        const struct td_cell cell = cell_of(&p, m, 0, level_1[i]);

        assert_true(cell.thin || fabs(cell.share - truth[0][i]) <= cell.error);
    }
    td_measure_free(m);
    td_model_free(p.model);
}

static double share_of(const struct td_measure *m, uint32_t function)
{
    struct td_rows rows;
    double share = 0;

    td_rows_init(&rows, m, TD_ROWS_FUNCTIONS, false);
    for (size_t i = 0; i < rows.len; i++)
        share += rows.at[i].function == function ? td_row_share(&rows, &rows.at[i]) : 0;
    td_rows_release(&rows);
    return share;
}

/* A function in which no interval ended has what its events show; the intervals of the function
 * that calls it held that, and those of others did not. */
static void test_located_elsewhere(void **state)
{
    const enum td_tma_node node = TD_NODE_BRANCH_MISPREDICTS;
    struct profile p = sampled(&usual);
    const uint32_t locator = add_locator(&p, node, "br_misp_retired", false);
    const uint32_t branch =
        fx_function(p.model, fx_module(p.model, "/usr/bin/app"), "branch", "/src/app.c", 90);
    double missed[FUNCTIONS];

    (void)state;
    for (int f = 0; f < FUNCTIONS; f++)
        missed[f] = round(4000 * p.spent[f] / p.total * truth[f][1]);
    const uint64_t value = 1000 * (uint64_t)missed[1];
    td_model_add_values(p.model, p.thread,
                        td_model_put_node(p.model, 0, fx_location(p.model, branch, 0x900, 91)),
                        locator, (uint64_t)missed[1], &value);
    add_located(&p, locator, 0, (unsigned)missed[0], 0);
    add_located(&p, locator, 2, (unsigned)missed[2], 0);
    struct td_measure *m = fx_slots_measure(p.model, NULL);
    assert_true(m->slots->parts[0].used[node]);
    const double moved = p.spent[1] / p.total * truth[1][1] * 0.9;
    assert_true(moved > 0.05 && fabs(share_of(m, branch) - moved) < 0.01);
    assert_true(fabs(share_of(m, p.function[1]) - (p.spent[1] / p.total - moved)) < 0.02);
    for (int f = 0; f < FUNCTIONS; f += 2) {
        const struct td_cell cell = cell_of(&p, m, f, node);

        assert_true(fabs(share_of(m, p.function[f]) - p.spent[f] / p.total) < 0.02);
        assert_true(cell.thin || fabs(cell.share - truth[f][1] * 0.9) <= cell.error);
    }
    td_measure_free(m);
    td_model_free(p.model);
}

/* Too few samples of a locator to spread its category by: what is shown is the intervals' blend,
 * and that the locator knows better does not make it right. */
static void test_few_located(void **state)
{
    struct program program = usual;
    struct score score = {0};

    (void)state;
    for (int f = 0; f < FUNCTIONS; f++)
        program.phase[f] = 5 * us;
    struct profile p = sampled(&program);
    const uint32_t locator = add_locator(&p, TD_NODE_BRANCH_MISPREDICTS, "br_misp_retired", false);
    add_located(&p, locator, 1, 8, 0);
    struct td_measure *m = fx_slots_measure(p.model, NULL);
    assert_false(m->slots->parts[0].used[TD_NODE_BRANCH_MISPREDICTS]);
    td_measure_free(m);
    judge(&score, &p);
    assert_int_equal(score.covered, score.shown);
    td_model_free(p.model);
}

/* Two events of the same count, of which one takes nine times as long: a node below what was
 * measured locates what it is part of. */
static void test_timed(void **state)
{
    struct program program = usual;

    (void)state;
    for (int f = 0; f < FUNCTIONS; f++)
        program.phase[f] = 5 * us;
    struct profile p = sampled(&program);
    const uint32_t locator = add_locator(&p, TD_NODE_DRAM_BOUND, "mem_load_l3_miss", true);
    add_located(&p, locator, 0, 500, 648);
    add_located(&p, locator, 1, 500, 72);
    struct td_measure *m = fx_slots_measure(p.model, NULL);
    const struct td_locator *l = &m->slots->parts[0].locators[TD_NODE_MEMORY_BOUND];
    assert_int_equal(l->kind, TD_MIX_TIMED);
    assert_int_equal(l->samples, 1000);
    assert_true(fabs(l->weight[0] / l->total - 0.9) < 1e-9 ||
                fabs(l->weight[1] / l->total - 0.9) < 1e-9);
    /* The cycles that they took are those that the leaf lost. */
    assert_true(l->strange < 0.05);
    assert_true(m->slots->parts[0].used[TD_NODE_MEMORY_BOUND]);
    td_measure_free(m);
    td_model_free(p.model);
}

/* A line where no interval ended has what its events place there, and their error. */
static void test_located_line(void **state)
{
    struct profile p = sampled(&usual);
    const uint32_t locator = add_locator(&p, TD_NODE_BRANCH_MISPREDICTS, "br_misp_retired", false);
    const uint64_t values[2] = {1000 * 200, 0};
    struct td_rows rows;
    unsigned found = 0;

    (void)state;
    td_model_add_values(
        p.model, p.thread,
        td_model_put_node(p.model, 0, fx_location(p.model, p.function[1], 0x140, 15)), locator, 200,
        values);
    add_located(&p, locator, 1, 100, 0);
    struct td_measure *m = fx_slots_measure(p.model, NULL);
    td_rows_init(&rows, m, TD_ROWS_LINES, false);
    for (size_t r = 0; r < rows.len; r++) {
        const double share = td_row_share(&rows, &rows.at[r]);
        const double error = td_row_error(&rows, &rows.at[r]);

        if (rows.at[r].line != 15)
            continue;
        found++;
        assert_true(share > 0.05 && error > 0.002 && error < share);
    }
    assert_int_equal(found, 1);
    td_rows_release(&rows);
    td_measure_free(m);
    td_model_free(p.model);
}

/* Latencies that are far less, or more, than what the leaf lost: its slots were lost to something
 * else, or the events waited for something else. Then they place nothing. */
static void test_timed_otherwise(void **state)
{
    static const uint64_t cycles[] = {40, 20000};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct program program = usual;

        for (int f = 0; f < FUNCTIONS; f++)
            program.phase[f] = 20000 * us; /* intervals tell well enough */
        struct profile p = sampled(&program);
        const uint32_t locator = add_locator(&p, TD_NODE_DRAM_BOUND, "mem_load_l3_miss", true);
        add_located(&p, locator, 0, 100, cycles[i]);
        add_located(&p, locator, 1, 900, cycles[i]);
        struct td_measure *m = fx_slots_measure(p.model, NULL);
        assert_true(m->slots->parts[0].locators[TD_NODE_MEMORY_BOUND].strange > 0.8);
        assert_false(m->slots->parts[0].used[TD_NODE_MEMORY_BOUND]);
        td_measure_free(m);
        td_model_free(p.model);
    }
}

/* One wait that was as long as all others together is no proof of where such waits are. */
static void test_one_long_wait(void **state)
{
    struct program program = usual;
    double squares[2];

    (void)state;
    for (int f = 0; f < FUNCTIONS; f++)
        program.phase[f] = 5 * us;
    for (int i = 0; i < 2; i++) {
        struct profile p = sampled(&program);
        const uint32_t locator = add_locator(&p, TD_NODE_DRAM_BOUND, "mem_load_l3_miss", true);

        add_located(&p, locator, 0, 499, 400);
        add_located(&p, locator, 1, 1, i == 0 ? 400 : 499 * 400);
        struct td_measure *m = fx_slots_measure(p.model, NULL);
        const struct td_locator *l = &m->slots->parts[0].locators[TD_NODE_MEMORY_BOUND];
        squares[i] = l->squares / l->total / l->total;
        td_measure_free(m);
        td_model_free(p.model);
    }
    assert_true(squares[0] < 1 / 499.0);
    assert_true(squares[1] > 1 / 4.1);
}

static void test_filter(void **state)
{
    struct profile p = sampled(&usual);
    const char *name[] = {"f1"};
    struct td_measure *all = fx_slots_measure(p.model, NULL);
    struct td_measure *one = fx_slots_measure(p.model, &(struct td_filter){.functions = {name, 1}});
    const struct td_cell in_all = cell_of(&p, all, 1, TD_NODE_BAD_SPECULATION);
    const struct td_cell alone = cell_of(&p, one, 1, TD_NODE_BAD_SPECULATION);

    (void)state;
    assert_true(fabs(in_all.share - alone.share) < 1e-6);
    assert_true(alone.error >= in_all.error - 1e-6); /* the others' totals are not there */
    assert_true(alone.error < 0.1);
    assert_true(one->totals[TD_METRIC_SLOTS] < all->totals[TD_METRIC_SLOTS] / 2);
    const struct td_tree tree = td_tree_of(one);
    const struct td_tree_node *node = td_tree_find(&tree, TD_NODE_BAD_SPECULATION);
    assert_non_null(node);
    assert_true(fabs(node->share - truth[1][1]) <= node->error + 0.01);
    td_measure_free(one);
    td_measure_free(all);
    td_model_free(p.model);
}

/* A thousand samples of one function, of a group of these events and counts. */
static struct td_model *constant(const char *core, const char *cpu_id, const char *const *names,
                                 const uint64_t *values, uint32_t columns)
{
    struct td_model *model = td_model_new();
    const uint32_t module = fx_module(model, "/usr/bin/app");
    const uint32_t f = fx_function(model, module, "f", "/src/app.c", 10);
    const uint32_t node = td_model_put_node(model, 0, fx_location(model, f, 0x10, 11));
    const uint32_t thread = fx_thread(model, 1, 1, "app", "app");
    struct td_group group = {.role = TD_ROLE_SLOTS,
                             .attribution = TD_ATTRIBUTION_INTERVAL,
                             .locates = TD_NODE_NONE,
                             .column_count = columns};

    if (core)
        td_model_add_env(model, "core", core);
    if (cpu_id)
        td_model_add_env(model, "cpu_id", cpu_id);
    for (uint32_t c = 0; c < columns; c++)
        group.columns[c] = (struct td_column){
            TD_COLUMN_DELTA, add_event(model, names[c], TD_UNIT_COUNT), TD_NODE_NONE};
    group.sampler = group.columns[0].event;
    const uint32_t g = td_model_add_group(model, &group);
    for (uint64_t i = 0; i < 1000; i++) {
        const struct td_sample sample = {
            .time_ns = i * 250000, .thread = thread, .node = node, .group = g};

        td_model_add_sample(model, &sample, values);
        td_model_add_values(model, thread, node, g, 1, values);
    }
    return model;
}

/* perf's names, no core named: the CPU tells; an event that only corrects may be missing. */
static void test_imported(void **state)
{
    static const char *const names[] = {"slots",
                                        "cycles",
                                        "topdown-retiring",
                                        "topdown-bad-spec",
                                        "topdown-fe-bound",
                                        "cpu/topdown-be-bound/"};
    const uint64_t values[] = {6000, 1000, 3000, 600, 1200, 1200};
    struct td_model *model = constant(NULL, "GenuineIntel,6,143,8", names, values, 6);
    struct td_measure *m = fx_slots_measure(model, NULL);

    (void)state;
    assert_string_equal(m->slots->parts[0].counted.core->name, "sapphire-rapids");
    assert_string_equal(m->slots->parts[0].counted.missing, "uop_dropping");
    assert_int_equal(m->totals[TD_METRIC_SLOTS], 6000000);
    assert_int_equal(total(m, TD_NODE_RETIRING), 3000000);
    assert_int_equal(total(m, TD_NODE_FRONTEND_BOUND), 1200000);
    td_measure_free(m);
    td_model_free(model);
}

/* Formulas that give less than nothing: shares stay shares, and what was cut is counted. */
static void test_clamped(void **state)
{
    static const char *const names[] = {"slots",
                                        "topdown_retiring",
                                        "topdown_bad_spec",
                                        "topdown_fe_bound",
                                        "topdown_be_bound",
                                        "uop_dropping"};
    const uint64_t values[] = {6000, 3000, 600, 100, 2300, 400};
    struct td_model *model = constant("sapphire-rapids", NULL, names, values, 6);
    struct td_measure *m = fx_slots_measure(model, NULL);

    (void)state;
    assert_true(m->slots->clamped > 0.04);
    assert_int_equal(total(m, TD_NODE_FRONTEND_BOUND), 0);
    assert_true(llabs((long long)m->totals[TD_METRIC_SLOTS] - 6000000) < 10);
    td_measure_free(m);
    td_model_free(model);
}

static void test_not_described(void **state)
{
    static const char *const names[] = {"some_event", "another"};
    const uint64_t values[] = {6000, 3000};
    struct td_model *model = constant("no-such-core", NULL, names, values, 2);
    struct td_measure *m = NULL;
    struct td_err err = TD_ERR_INIT;

    (void)state;
    assert_int_equal(td_measure_new(&m, model, NULL, &err), TD_OK);
    assert_null(m->slots);
    assert_non_null(strstr(m->no_slots, "no-such-core"));
    assert_null(m->values[TD_METRIC_SLOTS]);
    td_measure_free(m);
    td_model_free(model);
}

/* Of pairs, every other interval is short: the others are as long as they should be, also where the
 * short ones are the more, since the first sample of a recording stood alone. */
static void test_lost_of_pairs(void **state)
{
    const struct program program = {.phase = {5 * us, 5 * us, 5 * us},
                                    .period = 4.51e6,
                                    .window = us,
                                    .length = 1e9,
                                    .seed = 3};
    struct profile p = sampled(&program);
    struct running r = {.p = &program, .random = 1};
    uint64_t before[COLUMNS] = {0};

    (void)state;
    for (int i = 0; i < 20; i++) { /* of another CPU: windows whose first samples were not wanted */
        run_slots(&r, program.window);
        add_sample(&p, &r, before);
    }
    td_model_set_counter(p.model, TD_COUNTER_LOST, 1);
    struct td_measure *m = fx_slots_measure(p.model, NULL);
    assert_true(m->slots->parts[0].lost_share < 0.05);
    td_measure_free(m);
    td_model_free(p.model);
}

/* Samples were lost: an interval of many times the usual length has no place. */
static void test_lost(void **state)
{
    static const char *const names[] = {"slots",
                                        "topdown_retiring",
                                        "topdown_bad_spec",
                                        "topdown_fe_bound",
                                        "topdown_be_bound",
                                        "uop_dropping"};
    const uint64_t values[] = {6000, 3000, 600, 1200, 1200, 0};
    const uint64_t many[] = {600000, 300000, 60000, 120000, 120000, 0};
    struct td_model *model = constant("sapphire-rapids", NULL, names, values, 6);
    const struct td_sample last = {.time_ns = 300000000, .node = 1};
    struct td_rows rows;

    (void)state;
    td_model_add_sample(model, &last, many);
    td_model_add_values(model, 0, 1, 0, 1, many);
    td_model_set_counter(model, TD_COUNTER_LOST, 99);
    struct td_measure *m = fx_slots_measure(model, NULL);
    assert_true(fabs(m->slots->parts[0].lost_share - 0.6 / 6.6) < 1e-6);
    td_rows_init(&rows, m, TD_ROWS_FUNCTIONS, false);
    assert_int_equal(rows.len, 2);
    assert_string_equal(td_row_name(&rows, &rows.at[1]), "[unknown]");
    assert_int_equal(rows.at[1].values[TD_METRIC_SLOTS], 600000);
    td_rows_release(&rows);
    td_measure_free(m);
    td_model_free(model);
}

/* What the counters held at the end, after the last sample: totals are theirs, the rest has a row
 * of its own. */
static void test_rest(void **state)
{
    static const char *const names[] = {"slots",
                                        "topdown_retiring",
                                        "topdown_bad_spec",
                                        "topdown_fe_bound",
                                        "topdown_be_bound",
                                        "uop_dropping"};
    const uint64_t values[] = {6000, 3000, 600, 1200, 1200, 0};
    struct td_model *model = constant("sapphire-rapids", NULL, names, values, 6);
    struct td_rows rows;

    (void)state;
    for (uint32_t e = 0; e < 6; e++)
        td_model_add_counts(model, e,
                            &(struct td_event_counts){.counted = values[e] * 1001,
                                                      .sampled = values[e] * 1000,
                                                      .rest = values[e],
                                                      .enabled_ns = 1000,
                                                      .running_ns = 750});
    struct td_measure *m = fx_slots_measure(model, NULL);
    assert_int_equal(m->totals[TD_METRIC_SLOTS], 6006000);
    assert_true(fabs(m->slots->parts[0].running - 0.75) < 1e-9);
    assert_true(m->slots->parts[0].error[TD_NODE_RETIRING] < 1e-9);
    td_rows_init(&rows, m, TD_ROWS_FUNCTIONS, false);
    assert_int_equal(rows.len, 2);
    assert_string_equal(td_row_name(&rows, &rows.at[1]), "[unknown]");
    assert_int_equal(rows.at[1].values[TD_METRIC_SLOTS], 6000);
    td_rows_release(&rows);
    td_measure_free(m);
    td_model_free(model);
}

/* Of sums, totals hold, and categories of functions are said to be unknown. */
static void test_only_tallies(void **state)
{
    struct profile p = sampled(&usual);
    struct profile q = new_profile(false);

    (void)state;
    for (size_t i = 0; i < td_model_tally_count(p.model); i++) {
        const struct td_tally *t = td_model_tally(p.model, i);

        td_model_add_values(q.model, t->thread, t->node, t->group, t->samples,
                            td_model_tally_values(p.model, t, (uint64_t[TD_COLUMNS_MAX]){0}));
    }
    struct td_measure *m = fx_slots_measure(q.model, NULL);
    assert_true(m->totals[TD_METRIC_SLOTS] > 0);
    assert_true(cell_of(&q, m, 0, TD_NODE_RETIRING).thin);
    td_measure_free(m);
    td_model_free(q.model);
    td_model_free(p.model);
}

static int append(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

/* What a report makes of the merge of these models; `like` is a profile with its functions. */
static struct profile merged(struct td_model *const *models, size_t count,
                             const struct profile *like)
{
    struct td_merge *merge = td_merge_new();
    struct profile p = *like;
    struct td_buf file = {0};

    for (size_t i = 0; i < count; i++)
        assert_int_equal(td_merge_add(merge, models[i], "input", NULL), TD_OK);
    assert_int_equal(td_merge_write(merge, append, &file, NULL), TD_OK);
    td_merge_free(merge);
    assert_int_equal(td_load_bytes(&p.model, file.data, file.len, "merged",
                                   &(struct td_load_opts){.keep_slots = true}, NULL, NULL),
                     TD_OK);
    td_buf_release(&file);
    const uint32_t module = fx_module(p.model, "/usr/bin/app");
    for (int f = 0; f < FUNCTIONS; f++) {
        char name[16];

        snprintf(name, sizeof(name), "f%d", f);
        p.function[f] = fx_function(p.model, module, name, "/src/app.c", 10U * (unsigned)f + 10);
        fx_location(p.model, p.function[f], 0x100U * (unsigned)f, 10U * (unsigned)f + 11);
    }
    return p;
}

/* A merge of recordings says of each function what the recordings say: also where threads of two
 * hosts have the same number. With sums alone in one of them, it says that it does not know. */
static void test_merged(void **state)
{
    struct program other = usual;
    struct score score = {.cells = 0}, blank = {.cells = 0};

    (void)state;
    other.seed = 8;
    struct profile p = sampled(&usual), q = sampled(&other);
    td_model_add_env(p.model, "host", "one");
    td_model_add_env(q.model, "host", "two");
    struct profile both = merged((struct td_model *[]){p.model, q.model}, 2, &p);
    assert_int_equal(td_model_sample_count(both.model),
                     td_model_sample_count(p.model) + td_model_sample_count(q.model));
    assert_int_equal(td_model_thread_count(both.model), 2);
    judge(&score, &both);
    assert_int_equal(score.cells, 4 * FUNCTIONS);
    assert_int_equal(score.shown, score.cells);
    assert_true(score.worst_variation < 0.02);

    struct td_model *sums = new_profile(false).model;
    const struct td_tally *t = td_model_tally(p.model, 0);
    td_model_add_values(sums, 0, 1, 0, t->samples,
                        td_model_tally_values(p.model, t, (uint64_t[TD_COLUMNS_MAX]){0}));
    struct profile mixed = merged((struct td_model *[]){p.model, sums}, 2, &p);
    assert_int_equal(td_model_sample_count(mixed.model), 0);
    judge(&blank, &mixed);
    assert_int_equal(blank.shown, 0);
    assert_non_null(strstr(td_model_env(mixed.model, TD_ENV_LEFT_OUT), "only the sums are kept"));
    td_model_free(p.model);
    td_model_free(q.model);
    td_model_free(both.model);
    td_model_free(sums);
    td_model_free(mixed.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_long_phases),
        cmocka_unit_test(test_short_phases),
        cmocka_unit_test(test_in_step),
        cmocka_unit_test(test_totals),
        cmocka_unit_test(test_error_bars),
        cmocka_unit_test(test_error_bars_of_two_paces),
        cmocka_unit_test(test_error_bars_in_step),
        cmocka_unit_test(test_located),
        cmocka_unit_test(test_few_samples),
        cmocka_unit_test(test_located_elsewhere),
        cmocka_unit_test(test_few_located),
        cmocka_unit_test(test_located_line),
        cmocka_unit_test(test_timed),
        cmocka_unit_test(test_timed_otherwise),
        cmocka_unit_test(test_one_long_wait),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_imported),
        cmocka_unit_test(test_clamped),
        cmocka_unit_test(test_not_described),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_lost_of_pairs),
        cmocka_unit_test(test_only_tallies),
        cmocka_unit_test(test_rest),
        cmocka_unit_test(test_merged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
