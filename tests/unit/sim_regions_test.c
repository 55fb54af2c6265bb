/* SPDX-License-Identifier: MIT */
/*
 * Which instructions ran in a region, on the modelled core: random programs with random marks. Of
 * each region and cause, what its tallies sum to is what was counted between its marks, to the last
 * slot, and marks change nothing else.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim_rig.h"

enum {
    BLOCKS = 4,
    NAMES = 3,
    REGIONS = 512,
    STEPS = 30000,
    WINDOWS = 12,
};

/* mov rax, [rax]; a chain of them waits for memory. Jumps go anywhere. */
static const uint8_t loads[] = {3, 0x48, 0x8b, 0x00, 3, 0x48, 0x01, 0xc0, 2, 0xff, 0xe0, 0};
static const uint8_t adds[] = {3, 0x48, 0x01, 0xc0, 1, 0x90, 2, 0xff, 0xe0, 0};

struct program {
    struct rig rig;
    uint32_t blocks[BLOCKS];
    uint64_t random;
    bool marks;
};

static void open_program(struct program *p, bool marks)
{
    *p = (struct program){.random = RIG_RANDOM, .marks = marks};
    rig_open(&p->rig, "golden-cove");
    for (uint32_t i = 0; i < BLOCKS; i++)
        p->blocks[i] = rig_block(&p->rig, 0x1000 + 0x1000 * i, i % 2 ? loads : adds);
}

/* A block, before some of them a mark: begins and ends that need not fit one another. */
static void add_step(struct program *p)
{
    const uint64_t random = rig_random(&p->random);
    const uint32_t block = random % BLOCKS;

    if (random >> 20 & 1 && p->marks)
        rig_word(&p->rig, td_trace_region((random >> 21) % 4 == 0, 1 + (random >> 24) % NAMES));
    rig_word(&p->rig, td_trace_block(p->blocks[block]));
    if (block % 2)
        rig_word(&p->rig, td_trace_access(0, false, 3, 0x10000000 + (random >> 41) % 65536 * 64));
}

static void run_steps(struct program *p, int steps, enum td_sim_mode mode)
{
    for (int i = 0; i < steps; i++)
        add_step(p);
    rig_feed(&p->rig, p->rig.words, p->rig.count, mode);
    p->rig.count = 0;
}

/* By region: what its marks say, and the sum of the tallies that name it; number 0: in none. */
struct found {
    size_t regions;
    uint32_t parents[REGIONS];
    uint64_t marked[REGIONS][TD_SIM_COLUMN_COUNT];
    uint64_t tallied[REGIONS][TD_SIM_COLUMN_COUNT];
    bool late; /* something was lost to an instruction in a region that it did not run in */
    uint32_t last_region;
    int64_t replicates[TD_REPLICATES];
};

static void add_marked(void *ctx, const struct td_sim_region *region)
{
    struct found *found = ctx;

    found->regions++;
    assert_true(found->regions < REGIONS);
    found->parents[found->regions] = region->parent + 1; /* none is all ones */
    memcpy(found->marked[found->regions], region->values, sizeof(region->values));
}

static void add_tallied(void *ctx, const struct td_sim_tally *tally)
{
    struct found *found = ctx;

    assert_true(tally->region <= found->regions && tally->region >= found->last_region);
    found->last_region = tally->region;
    found->late = found->late || (tally->region > 0 && tally->runs == 0);
    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++)
        found->tallied[tally->region][c] += tally->values[c];
}

static void add_replicates(void *ctx, uint32_t region, uint64_t pc, enum td_sim_column column,
                           const int64_t replicates[TD_REPLICATES])
{
    struct found *found = ctx;

    (void)pc;
    (void)column;
    assert_true(region <= found->regions);
    for (int r = 0; r < TD_REPLICATES; r++)
        found->replicates[r] += replicates[r];
}

static struct found *find(const struct program *p)
{
    struct found *found = td_xcalloc(1, sizeof(*found));

    td_sim_each_region(p->rig.sim, add_marked, found);
    td_sim_each_tally(p->rig.sim, add_tallied, found);
    td_sim_each_replicates(p->rig.sim, add_replicates, found);
    return found;
}

static uint64_t sum_of(const struct found *found, int column)
{
    uint64_t sum = 0;

    for (size_t r = 0; r <= found->regions; r++)
        sum += found->tallied[r][column];
    return sum;
}

/* A region's marks count what is in the regions in it, too. */
static void add_to_parents(struct found *found)
{
    for (size_t r = found->regions; r > 0; r--) {
        for (int c = 0; found->parents[r] > 0 && c < TD_SIM_COLUMN_COUNT; c++)
            found->tallied[found->parents[r]][c] += found->tallied[r][c];
    }
}

static void tallies_are_what_regions_say(void **state)
{
    (void)state;
    struct program with, without;

    open_program(&with, true);
    open_program(&without, false);
    run_steps(&with, STEPS, TD_SIM_EXACT);
    run_steps(&without, STEPS, TD_SIM_EXACT);
    struct found *marked = find(&with), *plain = find(&without);
    assert_true(marked->regions > 20 && plain->regions == 0);
    assert_true(marked->late);
    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++)
        assert_int_equal(sum_of(marked, c), plain->tallied[0][c]);
    add_to_parents(marked);
    for (size_t r = 1; r <= marked->regions; r++)
        assert_memory_equal(marked->tallied[r], marked->marked[r], sizeof(marked->marked[r]));
    free(marked);
    free(plain);
    rig_close(&with.rig);
    rig_close(&without.rig);
}

static void run_windows(struct program *p)
{
    run_steps(p, 1000, TD_SIM_EXACT);
    for (int w = 0; w < WINDOWS; w++) {
        run_steps(p, 1000, TD_SIM_FUNCTIONAL_WARMING);
        run_steps(p, 1000, TD_SIM_DETAILED_WARMING); /* more than the core has in flight */
        run_steps(p, 200, TD_SIM_EXACT);
    }
}

/* Of sampled programs the sum is that of the whole, and so is its error. */
static void windows_are_divided(void **state)
{
    (void)state;
    struct program with, without;
    struct td_sim_totals totals, plain_totals;
    double squares = 0, plain_squares = 0;
    uint64_t slots = 0;

    open_program(&with, true);
    open_program(&without, false);
    run_windows(&with);
    run_windows(&without);
    struct found *marked = find(&with), *plain = find(&without);
    td_sim_totals(with.rig.sim, &totals);
    td_sim_totals(without.rig.sim, &plain_totals);
    assert_int_equal(totals.slots, plain_totals.slots);
    assert_int_equal(sum_of(marked, TD_SIM_COLUMN_INSTRUCTIONS), totals.instructions);
    for (int c = TD_SIM_FIRST_RETIRED_COLUMN; c < TD_SIM_COLUMN_COUNT; c++)
        slots += sum_of(marked, c);
    assert_int_equal(slots, totals.slots);
    for (int r = 0; r < TD_REPLICATES; r++) {
        squares += pow((double)marked->replicates[r], 2);
        plain_squares += pow((double)plain->replicates[r], 2);
    }
    assert_true(plain_squares > 0);
    assert_true(fabs(squares / plain_squares - 1) < 1e-4);
    free(marked);
    free(plain);
    rig_close(&with.rig);
    rig_close(&without.rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tallies_are_what_regions_say),
        cmocka_unit_test(windows_are_divided),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
