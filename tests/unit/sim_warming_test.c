/* SPDX-License-Identifier: MIT */
/* Functional warming: windows begin with what it holds, leave no trace in it, and share it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/cores/variant.h"
#include "record/sim/model/warming.h"
#include "sim_rig.h"

enum {
    PHASE = 4000, /* accesses */
    PHASES = 12,
    TABLE_BITS = 23, /* bytes: more than L2, less than the last level */
};

/* mov (%rax),%rbx; add %rbx,%rcx; jne: a load and something to wait for it. */
static const uint8_t load_add[] = {3, 0x48, 0x8b, 0x18, 3, 0x48, 0x01, 0xd9, 2, 0x75, 0xf8, 0};
static const enum td_sim_mode modes[] = {TD_SIM_EXACT, TD_SIM_FAST_FORWARD,
                                         TD_SIM_FUNCTIONAL_WARMING, TD_SIM_DETAILED_WARMING};

/* The words of a phase: random places of a table, and a walk through it line by line. */
static void fill_phase(struct rig *rig, uint32_t block, uint64_t *random, uint64_t *walk,
                       enum td_sim_mode mode)
{
    for (int i = 0; i < PHASE; i++) {
        const uint64_t at = rig_random(random) & ((1U << TABLE_BITS) - 1);

        if (mode != TD_SIM_FAST_FORWARD)
            rig_word(rig, td_trace_block(block));
        rig_word(rig, td_trace_access(0, false, 3, 0x10000000 + (i % 2 ? at & ~7U : *walk)));
        *walk = (*walk + 64) & ((1U << TABLE_BITS) - 1);
    }
}

static void open_variant(struct rig *rig, const char *words)
{
    struct td_err err = TD_ERR_INIT;

    *rig = (struct rig){.words = NULL};
    assert_int_equal(td_core_desc_builtin(&rig->desc, "zen4", &err), TD_OK);
    if (words)
        assert_int_equal(td_variant_apply(&rig->desc, words, &err), TD_OK);
    rig_make(rig);
}

/* Runs the same phases on the rig, of which `with` prepares (itself, or another). */
static void run_phases(struct rig *rig, struct rig *with)
{
    const uint32_t block = rig_block(rig, 0x1000, load_add);
    uint64_t random = RIG_RANDOM, walk = 0;

    if (with != rig)
        assert_int_equal(rig_block(with, 0x1000, load_add), block);
    for (int p = 0; p < PHASES; p++) {
        const enum td_sim_mode mode = modes[p % 4];

        fill_phase(rig, block, &random, &walk, mode);
        td_sim_predict(with->sim, rig->words, rig->count, mode);
        td_sim_warm(with->sim, rig->words, rig->count, mode, with->warmed);
        td_sim_run(rig->sim, rig->words, rig->count, mode, with->warmed);
        if (mode == TD_SIM_FAST_FORWARD)
            td_sim_skipped(rig->sim, 3 * PHASE);
        rig->count = 0;
    }
}

static void variants_take_what_another_prepared(void **state)
{
    (void)state;
    static const char *const words[] = {"branches", "l1",      "l2",    "l3",       "dram",   "tlb",
                                        "icache",   "divider", "ports", "frontend", "width=8"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct rig alone, shared, base;
        struct td_sim_totals a, b;
        open_variant(&alone, words[i]);
        open_variant(&shared, words[i]);
        open_variant(&base, NULL);
        assert_true(td_core_desc_warms_alike(&base.desc, &shared.desc));
        run_phases(&alone, &alone);
        run_phases(&shared, &base);
        td_sim_totals(alone.sim, &a);
        td_sim_totals(shared.sim, &b);
        print_message("%s: %lu cycles\n", words[i], a.cycles);
        assert_int_equal(a.cycles, b.cycles);
        assert_int_equal(a.l3_misses, b.l3_misses);
        assert_int_equal(a.instructions, b.instructions);
        assert_true(a.windows > 0 && a.cycles > 0);
        rig_close(&alone);
        rig_close(&shared);
        rig_close(&base);
    }
}

static void other_sizes_are_not_alike(void **state)
{
    (void)state;
    static const char *const words[] = {"l1d_kb=64", "l2_kb=2048", "stlb=1536", "l2_stream=0",
                                        "l1i_kb=64"};
    struct rig base;
    open_variant(&base, NULL);

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct rig other;
        open_variant(&other, words[i]);
        assert_false(td_core_desc_warms_alike(&base.desc, &other.desc));
        rig_close(&other);
    }
    rig_close(&base);
}

/* Loads of one line each, of so many lines, in the mode. */
static void run_lines(struct rig *rig, uint32_t block, uint64_t from, int lines,
                      enum td_sim_mode mode)
{
    for (int i = 0; i < lines; i++) {
        if (mode != TD_SIM_FAST_FORWARD)
            rig_word(rig, td_trace_block(block));
        rig_word(rig, td_trace_access(0, false, 3, from + (uint64_t)i * 64));
    }
    rig_feed(rig, rig->words, rig->count, mode);
    rig->count = 0;
}

static uint64_t misses_of(const struct rig *rig)
{
    struct td_sim_totals totals;

    td_sim_totals(rig->sim, &totals);
    return totals.l1d_misses;
}

/* What ran before a window is in L1 when it begins, whatever mode it ran in; what was pushed out
 * meanwhile is not. */
static void windows_begin_with_what_ran(void **state)
{
    (void)state;
    enum { LINES = 64, MORE = 8192 };

    for (size_t m = 0; m < 4; m++) {
        struct rig rig;
        open_variant(&rig, NULL);
        const uint32_t block = rig_block(&rig, 0x1000, load_add);
        run_lines(&rig, block, 0x100000, LINES, modes[m]);
        run_lines(&rig, block, 0x100000, 1, TD_SIM_FUNCTIONAL_WARMING);
        uint64_t before = misses_of(&rig);
        run_lines(&rig, block, 0x100000, LINES, TD_SIM_EXACT);
        assert_int_equal(misses_of(&rig), before);
        run_lines(&rig, block, 0x4000000, MORE, TD_SIM_FAST_FORWARD);
        before = misses_of(&rig);
        run_lines(&rig, block, 0x100000, LINES, TD_SIM_EXACT);
        assert_true(misses_of(&rig) > before);
        rig_close(&rig);
    }
}

/* There are as many copies of what is held as windows that some model has still to begin. */
static void copies_go_round(void **state)
{
    (void)state;
    struct rig rig;
    open_variant(&rig, NULL);
    uint64_t word = td_trace_block(rig_block(&rig, 0x1000, load_add));
    struct td_warming *warming = td_warming_new(rig.blocks, true);
    struct td_warmed *warmed[3];

    for (size_t i = 0; i < 3; i++)
        warmed[i] = td_warmed_new(2);
    for (size_t i = 0; i < 3; i++) {
        td_warming_run(warming, &word, 1, TD_SIM_FUNCTIONAL_WARMING, warmed[i]);
        assert_null(warmed[i]->held);
        td_warming_run(warming, &word, 1, TD_SIM_EXACT, warmed[i]);
        assert_non_null(warmed[i]->held);
        if (i == 1)
            warmed[0]->held->takers = 0; /* both have begun it */
    }
    assert_ptr_not_equal(warmed[0]->held, warmed[1]->held);
    assert_ptr_equal(warmed[0]->held, warmed[2]->held);
    for (size_t i = 0; i < 3; i++)
        td_warmed_free(warmed[i]);
    td_warming_free(warming);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variants_take_what_another_prepared),
        cmocka_unit_test(other_sizes_are_not_alike),
        cmocka_unit_test(windows_begin_with_what_ran),
        cmocka_unit_test(copies_go_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
