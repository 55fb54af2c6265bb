/* SPDX-License-Identifier: MIT */
/* What the uops of one cycle of dispatch are to each other, and the queues that they wait in: loops
 * whose cycles were measured on Zen 3, 4 and 5 (formats/cores/uarch). */
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

enum { ROUNDS = 20000, PC = 0x1000, BEFORE = 0x8000, UOPS_MAX = 250, CODE_MAX = 5 * UOPS_MAX + 16 };

/* A loop of instructions, as rig_block takes them. */
struct loop {
    uint8_t code[CODE_MAX];
    size_t size, count;
};

static void put(struct loop *loop, const uint8_t *bytes, uint8_t count)
{
    assert_true(loop->size + count + 8 < CODE_MAX);
    loop->code[loop->size++] = count;
    memcpy(loop->code + loop->size, bytes, count);
    loop->size += count;
    loop->count++;
}

/* add r, 1 of one of ten registers; not the stack's. */
static void put_add(struct loop *loop, uint64_t i)
{
    static const uint8_t registers[] = {0, 3, 2, 6, 7, 8, 9, 10, 11, 12};
    const uint8_t r = registers[i % sizeof(registers)];

    put(loop, (const uint8_t[]){r < 8 ? 0x48 : 0x49, 0x83, (uint8_t)(0xc0 | (r & 7)), 1}, 4);
}

/* shl r, 7 */
static void put_shift(struct loop *loop, uint64_t i)
{
    const uint8_t r = 8 + i % 5;

    put(loop, (const uint8_t[]){0x49, 0xc1, (uint8_t)(0xe0 | (r & 7)), 7}, 4);
}

/* mov r13, r14: rename does it. */
static void put_move(struct loop *loop)
{
    put(loop, (const uint8_t[]){0x4d, 0x89, 0xf5}, 3);
}

/* lea rax,[rbx+1] and `products` times imul rax,rax: no round waits for another's. */
static void put_products(struct loop *loop, int products)
{
    put(loop, (const uint8_t[]){0x48, 0x8d, 0x43, 0x01}, 4);
    for (int i = 0; i < products; i++)
        put(loop, (const uint8_t[]){0x48, 0x0f, 0xaf, 0xc0}, 4);
}

/* A loop's code, as rig_block takes it, which ends with its jump back. */
struct place {
    uint64_t pc;
    const uint8_t *code;
};

/* The cycles of a round of the loop; with `lines`, its first instruction loads from so many of them
 * at random. `before` (its code may be NULL) runs once before it. */
static double cycles_of(const char *core, struct place before, struct place loop, uint64_t lines)
{
    uint64_t random = RIG_RANDOM;
    struct rig rig;

    rig_open(&rig, core);
    const uint32_t block = rig_block(&rig, loop.pc, loop.code);
    if (before.code)
        rig_word(&rig, td_trace_block(rig_block(&rig, before.pc, before.code)));
    for (int i = 0; i < ROUNDS; i++) {
        rig_word(&rig, td_trace_block(block));
        if (lines)
            rig_word(&rig,
                     td_trace_access(0, false, 3, 0x100000 + rig_random(&random) % lines * 64));
    }
    const struct sums sums = rig_sums(&rig);
    rig_close(&rig);
    return (double)sums.cycles / ROUNDS;
}

static const struct place nowhere = {0, NULL};

/* The same with a jump back behind it. */
static double round_of(const char *core, const struct loop *loop, uint64_t lines)
{
    struct loop whole = *loop;

    put(&whole, (const uint8_t[]){0xe9, 0, 0, 0, 0}, 5);
    return cycles_of(core, nowhere, (struct place){PC, whole.code}, lines);
}

/* The same with dec r15 and jnz, as loops were measured, after 40 products that wait for one
 * another: their port's queue is full when the loop begins, as it may be after any interrupt. */
static double counted_round_of(const char *core, const struct loop *loop)
{
    struct loop whole = *loop, products = {.size = 0};

    put_products(&products, 40);
    put(&products, (const uint8_t[]){0xe9, 0, 0, 0, 0}, 5);
    put(&whole, (const uint8_t[]){0x49, 0xff, 0xcf}, 3);
    put(&whole, (const uint8_t[]){0x0f, 0x85, 0, 0, 0, 0}, 6);
    return cycles_of(core, (struct place){BEFORE, products.code}, (struct place){PC, whole.code},
                     0);
}

static void assert_near(double value, double low, double high)
{
    if (value < low || value > high)
        fail_msg("%.2f cycles a round, not %.2f to %.2f", value, low, high);
}

/* Twenty additions, then forty moves: Zen 4 dispatches four additions a cycle, 11.5 cycles. */
static void only_so_many_of_a_kind_are_dispatched_a_cycle(void **state)
{
    (void)state;
    struct loop adds = {.size = 0}, shifts = {.size = 0};

    for (uint64_t i = 0; i < 60; i++) {
        if (i < 20)
            put_add(&adds, i);
        else
            put_move(&adds);
        if (i < 20)
            put_shift(&shifts, i);
        else
            put_move(&shifts);
    }
    assert_near(round_of("zen4", &adds, 0), 11.3, 11.7);
    assert_near(round_of("golden-cove", &adds, 0), 10.1, 10.4);
    assert_near(round_of("zen4", &shifts, 0), 15.8, 16.2);
    assert_near(round_of("zen4+ports", &shifts, 0), 10.1, 10.4);
}

/* mov [rdi], r13 and mov r13, [rdi], both without a trace of their accesses; movq xmm15, [rdi] */
static void put_store(struct loop *loop)
{
    put(loop, (const uint8_t[]){0x4c, 0x89, 0x2f}, 3);
}

static void put_load(struct loop *loop, bool vector)
{
    if (vector)
        put(loop, (const uint8_t[]){0xf3, 0x44, 0x0f, 0x7e, 0x3f}, 5);
    else
        put(loop, (const uint8_t[]){0x4c, 0x8b, 0x2f}, 3);
}

/* Two stores are dispatched a cycle, three loads, two of them of vectors: Zen 3 takes 4.0 cycles
 * for the first loop of 21 uops, and 3.9 for the second of 19. */
static void only_so_many_accesses_are_dispatched_a_cycle(void **state)
{
    (void)state;
    struct loop both = {.size = 0}, vectors = {.size = 0};

    for (int i = 0; i < 4; i++)
        put_store(&both);
    for (int i = 0; i < 12; i++)
        put_move(&both);
    for (int i = 0; i < 4; i++)
        put_load(&both, false);
    for (int i = 0; i < 18; i++) {
        if (i < 6)
            put_load(&vectors, true);
        else
            put_move(&vectors);
    }
    assert_near(round_of("zen3", &both, 0), 3.9, 4.1);
    assert_near(round_of("zen3+ports", &both, 0), 3.4, 3.6);
    assert_near(round_of("zen3", &vectors, 0), 3.9, 4.1);
    assert_near(round_of("zen3+ports", &vectors, 0), 3.1, 3.3);
}

/* Ten moves and a jump: Zen 3's uop cache delivers eight uops a cycle, and what the jump leaves of
 * the second cycle is lost; it takes 2.06. */
static void a_jump_ends_a_cycle_of_the_uop_cache(void **state)
{
    (void)state;
    struct loop loop = {.size = 0};

    for (int i = 0; i < 10; i++)
        put_move(&loop);
    assert_near(round_of("zen3", &loop, 0), 1.99, 2.07);
    assert_near(round_of("zen3+uop_cache_taken=0", &loop, 0), 1.82, 1.9);
}

/* What is decoded as one uop is of the line in which it ends, and who enters in the middle of an
 * instruction's two lines needs both. Zen 4 takes 1.0, 1.0, 2.0, 2.0, 2.0 and 2.0 cycles. */
static void code_is_read_by_lines(void **state)
{
    (void)state;
    /* add rax,rdi; dec r15; jnz back */
    static const uint8_t code[] = {3, 0x48, 0x01, 0xf8, 3, 0x49, 0xff, 0xcf, 2, 0x75, 0xf8, 0};
    static const struct {
        uint64_t offset;
        double cycles;
    } known[] = {{0, 1}, {56, 1}, {58, 2}, {60, 2}, {62, 2}, {63, 2}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_near(cycles_of("zen4", nowhere, (struct place){PC + known[i].offset, code}, 0),
                    known[i].cycles - 0.02, known[i].cycles + 0.08);
}

/* Sixty additions to `chains` registers in a random order. */
static void mix(struct loop *loop, uint64_t chains)
{
    uint64_t random = RIG_RANDOM, left[8] = {0};

    *loop = (struct loop){.size = 0};
    for (uint64_t c = 0; c < chains; c++)
        left[c] = 60 / chains;
    while (loop->count < 60) {
        const uint64_t c = rig_random(&random) % chains;
        if (left[c] > 0) {
            put_add(loop, c);
            left[c]--;
        }
    }
}

/* A uop stays in the queue of its port: where all uops could go to any port in time, 20 cycles are
 * enough for three chains, and 15 for four. Zen 4 takes 23 to 24, and 20 to 21. */
static void a_uop_stays_with_its_port(void **state)
{
    (void)state;
    struct loop loop;

    mix(&loop, 1);
    assert_near(round_of("zen4", &loop, 0), 59.5, 60.5);
    mix(&loop, 3);
    assert_near(round_of("zen4", &loop, 0), 22, 26.5);
    assert_near(round_of("zen4+ports", &loop, 0), 19.5, 20.5);
    mix(&loop, 4);
    assert_near(round_of("zen4", &loop, 0), 19, 22.5);
}

/* In turn, none is in another's way. */
static void uops_are_spread_over_the_ports(void **state)
{
    (void)state;
    struct loop loop = {.size = 0};

    for (uint64_t i = 0; i < 20; i++) {
        put_add(&loop, 2 * i);
        put_add(&loop, 2 * i + 1);
        put_move(&loop);
        put_move(&loop);
    }
    assert_near(round_of("zen4", &loop, 0), 13.4, 13.8); /* 81 uops, six a cycle */
}

/* Six stores and 24 moves are 31 slots with the jump: 5.25 cycles on Zen 4, which dispatches stores
 * as others. */
static void zen4_dispatches_stores_as_others(void **state)
{
    (void)state;
    struct loop loop = {.size = 0};

    for (int i = 0; i < 6; i++)
        put_store(&loop);
    for (int i = 0; i < 24; i++)
        put_move(&loop);
    assert_near(round_of("zen4", &loop, 0), 5.15, 5.35);
    assert_near(round_of("zen3", &loop, 0), 5.8, 6.3);
}

/* A load that misses L1, then `count` uops that wait for it. */
static void wait_for_load(struct loop *loop, int count, bool vector)
{
    *loop = (struct loop){.size = 0};
    if (vector)
        put(loop, (const uint8_t[]){0xf3, 0x44, 0x0f, 0x7e, 0x3f}, 5); /* movq xmm15, [rdi] */
    else
        put(loop, (const uint8_t[]){0x48, 0x8b, 0x07}, 3); /* mov rax, [rdi] */
    for (int i = 0; i < count; i++) {
        if (vector)
            put(loop, (const uint8_t[]){0x66, 0x41, 0x0f, 0xd4, (uint8_t)(0xc7 | (i % 7) << 3)}, 5);
        else
            put(loop, (const uint8_t[]){0x48, 0x8d, (uint8_t)(0x58 | (i % 2) << 3), 1}, 4);
    }
}

/* More waiting uops than places keep the next load from being found in time: from memory, each
 * place less costs. What waits in one scheduler is not in the way of what goes to the other. */
static void schedulers_are_apart(void **state)
{
    (void)state;
    struct loop loop;
    enum { LINES = 1 << 20 };

    wait_for_load(&loop, 60, false);
    const double whole = round_of("zen4", &loop, LINES);
    assert_true(round_of("zen4+scheduler=48", &loop, LINES) > 1.15 * whole);
    assert_near(round_of("zen4+scheduler_vector=16", &loop, LINES), 0.999 * whole, 1.001 * whole);
    wait_for_load(&loop, 60, true);
    const double vector = round_of("zen4", &loop, LINES);
    assert_true(round_of("zen4+vector_queue=8", &loop, LINES) > 1.15 * vector);
    assert_true(round_of("zen4+scheduler=16", &loop, LINES) < 1.05 * vector);
}

/* vaddsd xmm0, xmm15, xmm14, then so many multiplications of xmm0 by xmm14, then `late` sums of it
 * and xmm14: what waits fills the vector schedulers. */
static void chain_and_late(struct loop *loop, int chain, int late)
{
    *loop = (struct loop){.size = 0};
    put(loop, (const uint8_t[]){0xc4, 0xc1, 0x03, 0x58, 0xc6}, 5);
    for (int i = 1; i < chain; i++)
        put(loop, (const uint8_t[]){0xc4, 0xc1, 0x7b, 0x59, 0xc6}, 5);
    for (int i = 0; i < late; i++)
        put(loop, (const uint8_t[]){0xc4, 0xc1, 0x7b, 0x58, (uint8_t)(0xc6 | (1 + i % 7) << 3)}, 5);
}

/* Measured on Zen 4: 8.9, 20.0, 17.9 and 24.7 cycles a round. */
static void who_waited_in_the_vector_queue_issues_later(void **state)
{
    (void)state;
    static const struct {
        int chain, late;
        double cycles;
    } known[] = {{10, 10, 8.9}, {10, 20, 20.0}, {20, 10, 17.9}, {20, 20, 24.7}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct loop loop;
        chain_and_late(&loop, known[i].chain, known[i].late);
        assert_near(round_of("zen4", &loop, 0), 0.96 * known[i].cycles, 1.06 * known[i].cycles);
        /* With 20 and 20 another uop is the last without it: 26.0 cycles. */
        if (i == 1 || i == 2)
            assert_true(round_of("zen4+vector_queue_delay=0", &loop, 0) < 0.96 * known[i].cycles);
    }
}

/* A square root is two uops of the multipliers: with 24 products 13 cycles on Zen 4, with 24 sums
 * 12. */
static void roots_take_a_port_twice(void **state)
{
    (void)state;

    for (int sums = 0; sums < 2; sums++) {
        struct loop loop = {.size = 0};
        const uint8_t op = sums ? 0x58 : 0x59;
        put(&loop, (const uint8_t[]){0xc4, 0x41, 0x03, 0x51, 0xe7}, 5); /* vsqrtsd xmm12 */
        for (int i = 0; i < 24; i++)
            put(&loop, (const uint8_t[]){0xc4, 0xc1, 0x03, op, (uint8_t)(0xc6 | i % 8 << 3)}, 5);
        assert_near(round_of("zen4", &loop, 0), sums ? 11.9 : 12.9, sums ? 12.2 : 13.2);
    }
}

/* Four chains on six ports: each uop has its port before it is known which are idle then. Measured
 * on Zen 5: 16.05 cycles for 60; 15 if each took a port that is free. */
static void chains_meet_at_ports(void **state)
{
    (void)state;
    struct loop loop = {.size = 0};

    for (uint64_t i = 0; i < 60; i++)
        put_add(&loop, i % 4);
    assert_near(round_of("zen5", &loop, 0), 15.5, 17);
}

/* The same of loads that wait, and of results that have not retired. */
static void loads_and_results_have_places_of_their_own(void **state)
{
    (void)state;
    struct loop loop = {.size = 0};
    enum { LINES = 1 << 20 };

    put(&loop, (const uint8_t[]){0x48, 0x8b, 0x07}, 3); /* mov rax, [rdi] */
    for (int i = 0; i < 40; i++)
        put(&loop, (const uint8_t[]){0x48, 0x8b, 0x58, 1}, 4); /* mov rbx, [rax+1] */
    const double loads = round_of("zen5", &loop, LINES);
    assert_true(round_of("zen5+scheduler_memory=24", &loop, LINES) > 1.15 * loads);
    assert_near(round_of("zen5+scheduler=24", &loop, LINES), 0.999 * loads, 1.001 * loads);
    wait_for_load(&loop, 40, false);
    const double results = round_of("zen5", &loop, LINES);
    assert_true(round_of("zen5+registers=36", &loop, LINES) > 1.15 * results);
    assert_near(round_of("zen5+registers=0", &loop, LINES), 0.8 * results, 1.001 * results);
}

/* Of 40 products that wait for one another, 24 fit into the queue of their port. The moves take 27
 * cycles of dispatch, and 320 uops are one round and a half. */
static void the_queue_of_a_port_fills(void **state)
{
    (void)state;
    struct loop loop = {.size = 0};

    put_products(&loop, 40);
    for (int i = 0; i < 160; i++)
        put_move(&loop);
    assert_near(round_of("zen4", &loop, 0), 72.0, 75.0);
}

/* 152 of 160 sums find a register while 16 products run. */
static void registers_are_free_late(void **state)
{
    (void)state;
    struct loop loop = {.size = 0};

    put_products(&loop, 16);
    for (int i = 0; i < 160; i++)
        put(&loop, (const uint8_t[]){0xc5, 0xf9, 0xfe, 0xd1}, 4); /* vpaddd xmm2,xmm0,xmm1 */
    const double late = round_of("zen4", &loop, 0);
    assert_near(late, 56.0, 58.0);
    assert_near(late - round_of("zen4+reuse_delay=0", &loop, 0), 5.5, 6.5);
}

/* So many times the instructions, which are given as rig_block takes them. */
static void put_each(struct loop *loop, const uint8_t *code, size_t count, int times)
{
    for (int i = 0; i < times; i++) {
        const uint8_t *at = code;
        for (size_t k = 0; k < count; k++, at += 1 + at[0])
            put(loop, at + 1, at[0]);
    }
}

/* imul rax,rax and twelve lea rcx,[rsi+1]: port 1 has three or four of these for each product, and
 * not in the cycle before its result. Zen 4 takes 4.25 cycles each. */
static void a_port_has_one_result_a_cycle(void **state)
{
    (void)state;
    static const uint8_t product[] = {4, 0x48, 0x0f, 0xaf, 0xc0}, sum[] = {4, 0x48, 0x8d, 0x4e, 1};
    struct loop loop = {.size = 0};

    for (int i = 0; i < 7; i++) {
        put_each(&loop, product, 1, 1);
        put_each(&loop, sum, 1, 12);
    }
    assert_near(counted_round_of("zen4", &loop), 7 * 3.95, 7 * 4.5);
    assert_near(counted_round_of("zen4+port_result=0", &loop), 7 * 3.2, 7 * 3.7);
}

/* Two imul rcx,rsi,3 and three rorx r9,rsi,5: the products fill the queue of port 1, and no other
 * shift is dispatched in the place of one that waits to enter it. Zen 4 takes 3.67 cycles. */
static void a_group_that_waits_is_not_filled_up(void **state)
{
    (void)state;
    static const uint8_t product[] = {4, 0x48, 0x6b, 0xce, 3};
    static const uint8_t shift[] = {6, 0xc4, 0x63, 0xfb, 0xf0, 0xce, 5};
    struct loop loop = {.size = 0};

    for (int i = 0; i < 19; i++) {
        put_each(&loop, product, 1, 2);
        put_each(&loop, shift, 1, 3);
    }
    assert_near(counted_round_of("zen4", &loop), 19 * 3.0, 19 * 3.7);
    assert_near(counted_round_of("zen4+whole_groups=0", &loop), 19 * 2.4, 19 * 2.7);
}

/* lea r13,[rsi+rsi*4+8] and three lea rcx,[rsi+1]: its two uops are of one cycle, in which there
 * are two others. Zen 4 takes 1.33 cycles. */
static void two_uops_count_for_what_is_dispatched(void **state)
{
    (void)state;
    static const uint8_t four[] = {5, 0x4c, 0x8d, 0x6c, 0xb6, 8, 4,    0x48, 0x8d, 0x4e, 1,
                                   4, 0x48, 0x8d, 0x4e, 1,    4, 0x48, 0x8d, 0x4e, 1};
    struct loop loop = {.size = 0};

    put_each(&loop, four, 4, 12);
    assert_near(round_of("zen4", &loop, 0), 12 * 1.32, 12 * 1.38);
    assert_near(round_of("zen4+whole_slots=0", &loop, 0), 12 * 1.24, 12 * 1.29);
}

/* Three times vaddss xmm0,xmm6,xmm5, again into xmm1, vshufps xmm2,xmm6,xmm5,1, and one more sum:
 * which scheduler a shuffle waits in decides on its port, and one has a port that adds. Zen 4 takes
 * 4.0 cycles; the ports alone would do with 3.5. */
static void vector_uops_wait_in_two_schedulers(void **state)
{
    (void)state;
    static const uint8_t sum[] = {4, 0xc5, 0xca, 0x58, 0xdd};
    static const uint8_t three[] = {4,    0xc5, 0xca, 0x58, 0xc5, 4,    0xc5, 0xca,
                                    0x58, 0xcd, 5,    0xc5, 0xc8, 0xc6, 0xd5, 1};
    struct loop loop = {.size = 0};

    for (int i = 0; i < 8; i++) {
        put_each(&loop, three, 3, 3);
        put_each(&loop, sum, 1, 1);
    }
    assert_near(round_of("zen4", &loop, 0), 8 * 3.9, 8 * 4.3);
    assert_near(round_of("zen4+ports", &loop, 0), 8 * 1.6, 8 * 1.8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_so_many_of_a_kind_are_dispatched_a_cycle),
        cmocka_unit_test(only_so_many_accesses_are_dispatched_a_cycle),
        cmocka_unit_test(a_jump_ends_a_cycle_of_the_uop_cache),
        cmocka_unit_test(code_is_read_by_lines),
        cmocka_unit_test(a_port_has_one_result_a_cycle),
        cmocka_unit_test(a_group_that_waits_is_not_filled_up),
        cmocka_unit_test(two_uops_count_for_what_is_dispatched),
        cmocka_unit_test(vector_uops_wait_in_two_schedulers),
        cmocka_unit_test(a_uop_stays_with_its_port),
        cmocka_unit_test(uops_are_spread_over_the_ports),
        cmocka_unit_test(schedulers_are_apart),
        cmocka_unit_test(zen4_dispatches_stores_as_others),
        cmocka_unit_test(who_waited_in_the_vector_queue_issues_later),
        cmocka_unit_test(roots_take_a_port_twice),
        cmocka_unit_test(chains_meet_at_ports),
        cmocka_unit_test(loads_and_results_have_places_of_their_own),
        cmocka_unit_test(the_queue_of_a_port_fills),
        cmocka_unit_test(registers_are_free_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
