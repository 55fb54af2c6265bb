/* SPDX-License-Identifier: MIT */
/* Cores with something made perfect or changed: each by a stream that is bound by just that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "formats/cores/variant.h"
#include "record/sim/model/sim.h"
#include "sim_rig.h"

enum { ROUNDS = 20000, PC = 0x1000 };

/* What a round of the stream does beside the block: loads at `address`, of so many lines in turn,
 * in an order that no prefetcher follows. */
struct stream {
    const uint8_t *code;
    uint64_t lines;  /* 0: no access */
    bool random_way; /* the block is followed by itself or by `other`, at random */
};

static struct sums run(const char *core, const struct stream *stream)
{
    uint64_t random = RIG_RANDOM;
    struct rig rig;

    rig_open(&rig, core);
    const uint32_t block = rig_block(&rig, PC, stream->code);
    /* What the branch of the block jumps over: a nop and a jump back. */
    static const uint8_t back[] = {1, 0x90, 2, 0xeb, 0xf0, 0};
    const uint32_t other = rig_block(&rig, td_blocks_get(rig.blocks, block)->end, back);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        rig_word(&rig, td_trace_block(block));
        if (stream->lines)
            rig_word(&rig, td_trace_access(0, false, 3,
                                           0x100000 + rig_random(&random) % stream->lines * 64));
        if (stream->random_way && rig_random(&random) >> 20 & 1)
            rig_word(&rig, td_trace_block(other));
    }
    const struct sums sums = rig_sums(&rig);
    rig_close(&rig);
    return sums;
}

static uint64_t cycles(const char *base, const char *words, const struct stream *stream)
{
    char name[TD_CORE_NAME_MAX];

    snprintf(name, sizeof(name), "%s%s%s", base, words ? "+" : "", words ? words : "");
    return run(name, stream).cycles;
}

static uint64_t round_of(uint64_t all)
{
    return (all + ROUNDS / 2) / ROUNDS;
}

/* mov rax,[rdi+rax]; jmp back: a chain through the load. */
static const uint8_t chase[] = {4, 0x48, 0x8b, 0x04, 0x07, 2, 0xeb, 0xfa, 0};
/* test eax,eax; jz over a byte and a jump; then back by it */
static const uint8_t fork_way[] = {2, 0x85, 0xc0, 2, 0x74, 0xfc, 0};
/* div rcx; jmp back */
static const uint8_t divide[] = {3, 0x48, 0xf7, 0xf1, 2, 0xeb, 0xfb, 0};
/* four times popcnt into another register; jmp back: one port on golden-cove */
static const uint8_t one_port[] = {5,    0xf3, 0x4c, 0x0f, 0xb8, 0xc1, 5,    0xf3, 0x4c, 0x0f,
                                   0xb8, 0xc9, 5,    0xf3, 0x4c, 0x0f, 0xb8, 0xd1, 5,    0xf3,
                                   0x4c, 0x0f, 0xb8, 0xd9, 2,    0xeb, 0xea, 0};
static const uint8_t nops[] = {1,    0x90, 1,    0x90, 1,    0x90, 1,    0x90, 1,    0x90, 1,
                               0x90, 1,    0x90, 1,    0x90, 1,    0x90, 1,    0x90, 1,    0x90,
                               1,    0x90, 1,    0x90, 1,    0x90, 2,    0xeb, 0xf0, 0};

static void perfect_caches_answer_with_their_latency(void **state)
{
    (void)state;
    /* In memory, in L3, in L2 of golden-cove: 400, 75, 15 cycles; L1 takes 5. */
    const struct stream memory = {.code = chase, .lines = 1 << 22};
    const char *base = "golden-cove+tlb";
    const uint64_t real = cycles(base, NULL, &memory);
    assert_in_range(round_of(real), 380, 420);
    assert_in_range(round_of(cycles(base, "dram", &memory)), 70, 80);
    assert_in_range(round_of(cycles(base, "dram+l3", &memory)), 14, 20);
    assert_in_range(round_of(cycles(base, "l2", &memory)), 14, 16);
    assert_int_equal(round_of(cycles(base, "l1", &memory)), 5);
    /* L3 alone is no help to who waits for memory. */
    assert_in_range(round_of(cycles(base, "l3", &memory)), 380, 420);
    assert_true(of_node(&(struct sums[]){run("golden-cove+tlb+dram", &memory)}[0],
                        TD_NODE_DRAM_BOUND) == 0);
}

static void a_perfect_tlb_walks_no_table(void **state)
{
    (void)state;
    const struct stream memory = {.code = chase, .lines = 1 << 22};
    const uint64_t with = cycles("golden-cove", "l1", &memory);
    assert_true(round_of(with) > 20);
    assert_int_equal(round_of(cycles("golden-cove", "l1+tlb", &memory)), 5);
}

static void perfect_branches_are_never_wrong(void **state)
{
    (void)state;
    const struct stream random = {.code = fork_way, .random_way = true};
    const struct sums real = run("golden-cove", &random);
    const struct sums perfect = run("golden-cove+branches", &random);
    assert_true(real.cycles > 5 * perfect.cycles);
    assert_true(of_node(&real, TD_NODE_BAD_SPECULATION) > real.slots / 4);
    assert_int_equal(of_node(&perfect, TD_NODE_BAD_SPECULATION), 0);
    /* It may be said twice, and changes nothing where no branch is wrong. */
    assert_int_equal(cycles("golden-cove", "branches+branches", &random), perfect.cycles);
    const struct stream none = {.code = divide};
    assert_int_equal(cycles("zen4", "branches", &none), cycles("zen4", NULL, &none));
}

static void divisions_cost_what_additions_do(void **state)
{
    (void)state;
    const struct stream stream = {.code = divide};
    assert_int_equal(round_of(cycles("golden-cove", NULL, &stream)), 15);
    assert_int_equal(round_of(cycles("golden-cove", "divider", &stream)), 1);
}

static void a_port_for_each_operation(void **state)
{
    (void)state;
    const struct stream stream = {.code = one_port};
    assert_int_equal(round_of(cycles("golden-cove", NULL, &stream)), 4);
    assert_int_equal(round_of(cycles("golden-cove", "ports", &stream)), 1);
}

static void width_is_a_number_like_others(void **state)
{
    (void)state;
    const struct stream stream = {.code = nops};
    const uint64_t six = cycles("golden-cove", "frontend", &stream);
    const uint64_t twelve = cycles("golden-cove", "frontend+width=12", &stream);
    assert_in_range(six * 100 / twelve, 190, 210);
    assert_int_equal(cycles("golden-cove", "width=6", &stream),
                     cycles("golden-cove", NULL, &stream));
}

/* As many lines of code as no instruction cache holds. */
static uint64_t cycles_of_code(const char *core)
{
    struct rig rig;

    rig_open(&rig, core);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const uint64_t pc = PC + i % 4096 * 64;
        rig_word(&rig, td_trace_block(rig_block(&rig, pc, nops)));
    }
    const struct sums sums = rig_sums(&rig);
    rig_close(&rig);
    return sums.cycles;
}

static void code_is_always_there(void **state)
{
    (void)state;
    const uint64_t real = cycles_of_code("golden-cove"),
                   cached = cycles_of_code("golden-cove+icache"),
                   front = cycles_of_code("golden-cove+frontend");
    assert_true(cached < real);
    assert_true(front < cached);
    /* 15 uops, 6 per cycle */
    assert_in_range(front * 10 / ROUNDS, 24, 27);
}

/* Each word on each core, of either instruction set: a core that can be modelled. */
static void every_core_can_be_varied(void **state)
{
    (void)state;
    static const char *const cores[] = {"golden-cove", "redwood-cove", "skylake",    "skylake-x",
                                        "zen3",        "zen4",         "neoverse-n2"};
    const struct stream stream = {.code = chase, .lines = 1 << 12};
    for (size_t c = 0; c < TD_ARRAY_SIZE(cores); c++) {
        for (int v = 0; v < TD_VARIANT_COUNT; v++) {
            const char *word = td_variant_info((enum td_variant)v).word;
            struct td_core_desc desc;

            assert_int_equal(td_core_desc_builtin(&desc, cores[c], NULL), TD_OK);
            if (strcmp(desc.isa, "x86_64") == 0) {
                assert_true(cycles(cores[c], word, &stream) <= cycles(cores[c], NULL, &stream));
                continue;
            }
            assert_int_equal(td_variant_apply(&desc, word, NULL), TD_OK);
            struct td_blocks *blocks = td_blocks_new(&desc);
            assert_non_null(blocks);
            td_blocks_free(blocks);
        }
    }
}

static void count_habit(void *ctx, const struct td_habit *habit)
{
    (void)habit;
    ++*(uint32_t *)ctx;
}

/* Cycles, causes and where they are: the same whether habits are watched or not. */
static void a_bare_model_takes_as_long(void **state)
{
    (void)state;
    struct sums sums[2];
    uint32_t habits[2] = {0};

    for (int bare = 0; bare < 2; bare++) {
        uint64_t random = RIG_RANDOM;
        struct rig rig;

        rig_open(&rig, "zen4");
        if (bare)
            td_sim_set_bare(rig.sim);
        const uint32_t block = rig_block(&rig, PC, chase);
        rig_word(&rig, td_trace_region(true, 1));
        for (uint64_t i = 0; i < ROUNDS; i++) {
            rig_word(&rig, td_trace_block(block));
            rig_word(&rig, td_trace_access(0, false, 3, rig_random(&random) % (1 << 20) * 8));
        }
        rig_word(&rig, td_trace_region(false, 1));
        sums[bare] = rig_sums(&rig);
        td_sim_each_habit(rig.sim, count_habit, &habits[bare]);
        rig_close(&rig);
    }
    assert_memory_equal(&sums[0], &sums[1], sizeof(sums[0]));
    assert_int_not_equal(habits[0], 0);
    assert_int_equal(habits[1], 0);
}

/* So many runs of the block, with a mark before the last third of them. */
static void feed_part(struct rig *rig, uint32_t block, uint64_t runs, enum td_sim_mode mode,
                      uint64_t mark)
{
    for (uint64_t i = 0; i < runs; i++) {
        if (i == runs * 2 / 3)
            rig_word(rig, mark);
        rig_word(rig, td_trace_block(block));
    }
    rig_feed(rig, rig->words, rig->count, mode);
    rig->count = 0;
}

static void keep_region(void *ctx, const struct td_sim_region *region)
{
    *(struct td_region_row *)ctx = region->row;
}

/* Marks are taken where they stand, also in what bare models pass over. */
static void a_bare_model_passes_over_what_takes_no_time(void **state)
{
    (void)state;
    const uint64_t begin = td_trace_region(true, 1), end = td_trace_region(false, 1);
    struct td_sim_totals totals[2];
    struct td_region_row rows[2];
    struct sums sums[2];

    memset(rows, 0, sizeof(rows));
    for (int bare = 0; bare < 2; bare++) {
        struct rig rig;

        rig_open(&rig, "zen4");
        if (bare)
            td_sim_set_bare(rig.sim);
        const uint32_t block = rig_block(&rig, PC, divide);
        feed_part(&rig, block, 300, TD_SIM_EXACT, td_trace_mark(TD_TRACE_GAP));
        feed_part(&rig, block, 3000, TD_SIM_FUNCTIONAL_WARMING, begin);
        feed_part(&rig, block, 60, TD_SIM_DETAILED_WARMING, td_trace_mark(TD_TRACE_GAP));
        feed_part(&rig, block, 150, TD_SIM_EXACT, td_trace_mark(TD_TRACE_GAP));
        feed_part(&rig, block, 6000, TD_SIM_FUNCTIONAL_WARMING, end);
        feed_part(&rig, block, 150, TD_SIM_EXACT, td_trace_mark(TD_TRACE_GAP));
        sums[bare] = rig_sums(&rig);
        td_sim_totals(rig.sim, &totals[bare]);
        td_sim_each_region(rig.sim, keep_region, &rows[bare]);
        rig_close(&rig);
    }
    assert_memory_equal(&sums[0], &sums[1], sizeof(sums[0]));
    assert_memory_equal(&rows[0], &rows[1], sizeof(rows[0]));
    assert_int_not_equal(rows[0].whole, 0);
    assert_int_equal(totals[0].warmed, totals[1].warmed);
    assert_int_equal(totals[0].branches, totals[1].branches);
}

static void what_is_unknown_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *words, *said;
    } cases[] = {
        {"brnches", "did you mean branches?"},
        {"", "there is branches, l1"},
        {"+l1", "there is branches"},
        {"widht=8", "did you mean width?"},
        {"width=99", "outside 1 to 16"},
        {"width=", "not a whole number"},
        {"l2_ways=3", "power of two"},
        {"mhz=4000", "no number 'mhz'"},
        {"ports+scheduler=1000", "at most 240"},
    };
    struct td_core_desc desc, before;
    char phrase[128];

    assert_int_equal(td_core_desc_builtin(&desc, "zen4", NULL), TD_OK);
    before = desc;
    for (size_t i = 0; i < TD_ARRAY_SIZE(cases); i++) {
        struct td_err err = TD_ERR_INIT;
        assert_int_equal(td_variant_apply(&desc, cases[i].words, &err), TD_EUSAGE);
        print_message("%s\n", err.text);
        assert_non_null(strstr(err.text, cases[i].said));
        assert_memory_equal(&desc, &before, sizeof(desc));
    }
    assert_int_equal(td_core_desc_builtin(&desc, "zen4+l1+width=8", NULL), TD_OK);
    assert_string_equal(desc.name, "zen4+l1+width=8");
    assert_int_equal(desc.width, 8);
    assert_string_equal(td_variant_phrase(phrase, sizeof(phrase), "branches+l3+width=8"),
                        "perfect branches, L3 as fast as L2 and width 8");
    assert_string_equal(td_variant_phrase(phrase, sizeof(phrase), "later"), "later");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perfect_caches_answer_with_their_latency),
        cmocka_unit_test(a_perfect_tlb_walks_no_table),
        cmocka_unit_test(perfect_branches_are_never_wrong),
        cmocka_unit_test(divisions_cost_what_additions_do),
        cmocka_unit_test(a_port_for_each_operation),
        cmocka_unit_test(width_is_a_number_like_others),
        cmocka_unit_test(code_is_always_there),
        cmocka_unit_test(every_core_can_be_varied),
        cmocka_unit_test(a_bare_model_takes_as_long),
        cmocka_unit_test(a_bare_model_passes_over_what_takes_no_time),
        cmocka_unit_test(what_is_unknown_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
