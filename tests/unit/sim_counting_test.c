/* SPDX-License-Identifier: MIT */
/* Ways of counting cycles (model/counting.h), each on streams that are bound by one thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "record/sim/model/sim.h"
#include "sim_rig.h"

enum { ROUNDS = 20000, PC = 0x1000 };

struct stream {
    const uint8_t *code;
    uint64_t lines;  /* loads from one of so many, at random; 0: none */
    bool random_way; /* the block is followed by itself or by `other`, at random */
    uint32_t blocks; /* so many in turn, a line of code each; 0: one */
};

struct counted {
    uint64_t cycles, slots;
    uint64_t of[TD_CPI_COUNTS];
    uint64_t events[TD_SIM_EVENT_COUNT];
    struct td_sim_totals totals;
    struct td_core_desc desc;
};

/* mov rax,[rdi+rax]; jmp back: a chain through the load. */
static const uint8_t chase[] = {4, 0x48, 0x8b, 0x04, 0x07, 2, 0xeb, 0xfa, 0};
/* mov rbx,[rdi]; jmp back: loads that wait for nothing. */
static const uint8_t loads[] = {3, 0x48, 0x8b, 0x1f, 2, 0xeb, 0xfb, 0};
/* test eax,eax; jz over a byte and a jump; then back by it */
static const uint8_t fork_way[] = {2, 0x85, 0xc0, 2, 0x74, 0xfc, 0};
/* A line of code: nops and a jump to the next. */
static const uint8_t line_of_code[] = {9, 0x66, 0x0f, 0x1f, 0x84, 0,    0,  0,
                                       0, 0,    1,    0x90, 2,    0xeb, 52, 0};

static void feed(struct rig *rig, const struct stream *stream)
{
    static const uint8_t back[] = {1, 0x90, 2, 0xeb, 0xf0, 0};
    const uint32_t count = stream->blocks ? stream->blocks : 1;
    uint32_t *blocks = td_xcalloc(count, sizeof(*blocks));
    uint64_t random = RIG_RANDOM;

    for (uint32_t b = 0; b < count; b++)
        blocks[b] = rig_block(rig, PC + b * 64, stream->code);
    const uint32_t other = rig_block(rig, td_blocks_get(rig->blocks, blocks[0])->end, back);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        rig_word(rig, td_trace_block(blocks[i % count]));
        if (stream->lines)
            rig_word(rig, td_trace_access(0, false, 3,
                                          0x10000000 + rig_random(&random) % stream->lines * 64));
        if (stream->random_way && rig_random(&random) >> 20 & 1)
            rig_word(rig, td_trace_block(other));
    }
    free(blocks);
}

static struct counted count(const char *core, const struct stream *stream, bool counting)
{
    struct counted ret = {.cycles = 0};
    struct rig rig;

    rig_open(&rig, core);
    if (counting)
        td_sim_set_counting(rig.sim);
    feed(&rig, stream);
    const struct sums sums = rig_sums(&rig);
    td_sim_counting(rig.sim, ret.of);
    td_sim_totals(rig.sim, &ret.totals);
    td_sim_events(rig.sim, ret.events);
    ret.cycles = sums.cycles;
    ret.slots = sums.slots;
    ret.desc = rig.desc;
    rig_close(&rig);
    return ret;
}

static uint64_t of(const struct counted *counted, enum td_cpi_method method,
                   enum td_cpi_component component)
{
    return counted->of[td_cpi_count_of(method, component)];
}

static uint64_t sum_of(const struct counted *counted, enum td_cpi_method method)
{
    uint64_t sum = 0;

    for (int c = 0; c < TD_CPI_COMPONENT_COUNT; c++)
        sum += of(counted, method, (enum td_cpi_component)c);
    return sum;
}

/* What holds whatever runs: the model is not changed, no cycle is counted twice where the ways say
 * so, and wrong paths only add. */
static struct counted check(const char *core, const struct stream *stream)
{
    const struct counted plain = count(core, stream, false);
    const struct counted counted = count(core, stream, true);

    for (int i = 0; i < TD_CPI_COUNTS; i++)
        assert_int_equal(plain.of[i], 0);
    assert_int_equal(plain.slots, counted.slots);
    assert_int_equal(counted.of[TD_CPI_COUNT_CYCLES], counted.cycles);
    assert_true(sum_of(&counted, TD_CPI_METHOD_INTERVAL) <= counted.cycles);
    /* What was dispatched last completes after the last cycle of dispatch. */
    assert_true(sum_of(&counted, TD_CPI_METHOD_POWER5) <=
                counted.cycles + (uint64_t)counted.desc.rob * (uint64_t)counted.desc.dram_latency);
    for (int c = 0; c < TD_CPI_COMPONENT_COUNT; c++)
        assert_true(of(&counted, TD_CPI_METHOD_NAIVE, (enum td_cpi_component)c) >=
                    of(&counted, TD_CPI_METHOD_RIGHT_PATH, (enum td_cpi_component)c));
    return counted;
}

static void mispredicts_cost_more_than_the_refill(void **state)
{
    (void)state;
    const struct stream stream = {.code = fork_way, .random_way = true};
    const struct counted c = check("golden-cove", &stream);
    const uint64_t naive = of(&c, TD_CPI_METHOD_RIGHT_PATH, TD_CPI_OF_BRANCHES);
    const uint64_t interval = of(&c, TD_CPI_METHOD_INTERVAL, TD_CPI_OF_BRANCHES);
    const uint64_t power5 = of(&c, TD_CPI_METHOD_POWER5, TD_CPI_OF_BRANCHES);

    assert_true(c.totals.mispredicts > ROUNDS / 4);
    assert_int_equal(naive, c.totals.mispredicts * (uint64_t)c.desc.refill +
                                c.totals.unknown_targets * (uint64_t)c.desc.unknown);
    assert_in_range(interval * 100 / c.cycles, 75, 100);
    /* The resolution comes on top of the refill; the buffer is empty for less than both. */
    assert_true(interval > naive);
    assert_true(power5 < interval);
    assert_true(of(&c, TD_CPI_METHOD_INTERVAL, TD_CPI_OF_DRAM) < c.cycles / 50);
}

static void misses_in_a_chain_are_all_alike(void **state)
{
    (void)state;
    static const enum td_cpi_method methods[] = {TD_CPI_METHOD_INTERVAL, TD_CPI_METHOD_POWER5,
                                                 TD_CPI_METHOD_NAIVE};
    const struct stream stream = {.code = chase, .lines = 1 << 22};
    const struct counted l3 = check("golden-cove+tlb+dram", &stream);
    const struct counted dram = check("golden-cove+tlb", &stream);

    for (size_t i = 0; i < TD_ARRAY_SIZE(methods); i++) {
        assert_in_range(of(&l3, methods[i], TD_CPI_OF_L3) * 100 / l3.cycles, 90, 103);
        assert_in_range(of(&dram, methods[i], TD_CPI_OF_DRAM) * 100 / dram.cycles, 90, 103);
        assert_int_equal(of(&l3, methods[i], TD_CPI_OF_DRAM), 0);
    }
    assert_int_equal(of(&l3, TD_CPI_METHOD_RIGHT_PATH, TD_CPI_OF_L3),
                     l3.events[TD_SIM_EVENT_L2_MISSES] * (uint64_t)l3.desc.l3_latency);
}

static void misses_that_overlap_are_counted_once(void **state)
{
    (void)state;
    const struct stream stream = {.code = loads, .lines = 1 << 22};
    const struct counted c = check("golden-cove+tlb", &stream);

    assert_true(of(&c, TD_CPI_METHOD_NAIVE, TD_CPI_OF_DRAM) > 4 * c.cycles);
    assert_in_range(of(&c, TD_CPI_METHOD_INTERVAL, TD_CPI_OF_DRAM) * 100 / c.cycles, 60, 100);
    assert_in_range(of(&c, TD_CPI_METHOD_POWER5, TD_CPI_OF_DRAM) * 100 / c.cycles, 60, 100);
}

static void misses_of_code_are_the_front_ends(void **state)
{
    (void)state;
    /* More lines than L1I has, all in L2 after the first round. */
    const struct stream stream = {.code = line_of_code, .blocks = 4096};
    const struct counted c = check("golden-cove", &stream);
    const uint64_t interval = of(&c, TD_CPI_METHOD_INTERVAL, TD_CPI_OF_ICACHE);

    assert_true(c.totals.l1i_misses > ROUNDS * 9 / 10);
    assert_true(interval > c.cycles / 2);
    assert_true(of(&c, TD_CPI_METHOD_POWER5, TD_CPI_OF_ICACHE) < interval);
    /* Prediction asks for lines ahead: their misses overlap. */
    assert_true(of(&c, TD_CPI_METHOD_RIGHT_PATH, TD_CPI_OF_ICACHE) > interval);
    assert_int_equal(of(&c, TD_CPI_METHOD_INTERVAL, TD_CPI_OF_DRAM), 0);
}

static void only_exact_parts_are_counted(void **state)
{
    (void)state;
    const struct stream stream = {.code = chase, .lines = 1 << 22};
    uint64_t counted[TD_CPI_COUNTS], after[TD_CPI_COUNTS];
    struct rig rig;

    rig_open(&rig, "golden-cove+tlb");
    td_sim_set_counting(rig.sim);
    feed(&rig, &stream);
    rig_run(&rig);
    td_sim_counting(rig.sim, counted);
    feed(&rig, &stream);
    rig_feed(&rig, rig.words, rig.count, TD_SIM_DETAILED_WARMING);
    td_sim_counting(rig.sim, after);
    assert_memory_equal(counted, after, sizeof(counted));
    rig_feed(&rig, rig.words, rig.count, TD_SIM_EXACT);
    td_sim_counting(rig.sim, after);
    /* The same loads again: many find their lines now. */
    assert_in_range(after[TD_CPI_COUNT_CYCLES] * 100 / counted[TD_CPI_COUNT_CYCLES], 105, 200);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mispredicts_cost_more_than_the_refill),
        cmocka_unit_test(misses_in_a_chain_are_all_alike),
        cmocka_unit_test(misses_that_overlap_are_counted_once),
        cmocka_unit_test(misses_of_code_are_the_front_ends),
        cmocka_unit_test(only_exact_parts_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
