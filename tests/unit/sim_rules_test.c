/* SPDX-License-Identifier: MIT */
/*
 * Every rule that moves a slot, by a stream that breaks it and one that does not. rig_sums checks
 * in each that retired + lost = slots.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "record/sim/model/sim.h"
#include "sim_rounds.h"

/* mov [rdi],rdx; mov rdx,[rsi+rdx]; jmp back: a chain through the load. */
static const uint8_t store_load[] = {3,    0x48, 0x89, 0x17, 4,    0x48, 0x8b,
                                     0x14, 0x16, 2,    0xeb, 0xf7, 0};

static void alias_puts_a_load_off(void **state)
{
    (void)state;
    const struct access apart[] = {{0, true, 3, 0x20000, 0}, {1, false, 3, 0x21040, 0}};
    const struct access alias[] = {{0, true, 3, 0x20000, 0}, {1, false, 3, 0x21000, 0}};
    struct rig rig;
    const uint64_t without = cycles_a_round(&rig, "skylake", store_load, apart, 2);
    const uint64_t with = cycles_a_round(&rig, "skylake", store_load, alias, 2);
    assert_int_equal(with - without, 5); /* skylake.uarch: alias_4k */
    const struct sums sums = run(&rig, "skylake", store_load, alias, 2);
    assert_true(share(&sums, TD_NODE_ALIASING_4K) > 0.7);
    assert_int_equal(sums.worst_pc, PC + 3);
    rig_close(&rig);
}

static void forwarding_takes_its_latency(void **state)
{
    (void)state;
    const struct access same[] = {{0, true, 3, 0x20000, 0}, {1, false, 3, 0x20000, 0}};
    struct rig rig;
    const uint64_t cycles = cycles_a_round(&rig, "skylake", store_load, same, 2);
    assert_in_range(cycles, 5, 6); /* forward */
}

/* A store of a byte, then the eight bytes around it: the load waits for L1. */
static void partial_store_blocks_forwarding(void **state)
{
    (void)state;
    /* mov [rdi],dl; mov rdx,[rsi+rdx]; jmp back */
    static const uint8_t code[] = {2, 0x88, 0x17, 4, 0x48, 0x8b, 0x14, 0x16, 2, 0xeb, 0xf8, 0};
    const struct access some[] = {{0, true, 0, 0x20003, 0}, {1, false, 3, 0x20000, 0}};
    struct rig rig;
    const struct sums sums = run(&rig, "skylake", code, some, 2);
    assert_in_range(sums.cycles / ROUNDS, 12, 16);
    assert_true(share(&sums, TD_NODE_STORE_FWD_BLK) > 0.8);
    assert_int_equal(sums.worst_pc, PC + 2);
    rig_close(&rig);
}

/* Zen 4 renames through memory, at any address but only what is as far back as last time. */
static void memory_is_renamed(void **state)
{
    (void)state;
    /* mov [rdi],rdx; mov rdx,[rsi]; jmp back */
    static const uint8_t code[] = {3, 0x48, 0x89, 0x17, 3, 0x48, 0x8b, 0x16, 2, 0xeb, 0xf8, 0};
    const struct access same[] = {{0, true, 3, 0x20000, 0}, {1, false, 3, 0x20000, 0}};
    const struct access bytes[] = {{0, true, 3, 0x20000, 0}, {1, false, 2, 0x20004, 0}};
    struct rig rig;
    assert_in_range(cycles_a_round(&rig, "zen4", code, same, 2), 0, 1);
    assert_in_range(cycles_a_round(&rig, "zen4", code, bytes, 2), 6, 8);
}

/* mov [rdi],rdx; mov rdx,[rsi]; jmp back, where a load gets what was stored so many rounds before.
 */
static uint64_t pass_from_round(const char *core, uint64_t rounds)
{
    static const uint8_t code[] = {3, 0x48, 0x89, 0x17, 3, 0x48, 0x8b, 0x16, 2, 0xeb, 0xf8, 0};
    const struct access moving[] = {{0, true, 3, 0x20000, 8},
                                    {1, false, 3, 0x20000 - 8 * rounds, 8}};
    struct rig rig;

    return cycles_a_round(&rig, core, code, moving, 2);
}

/* By another register than the store's, Zen 4 passes on only what that store's instruction stored
 * last, and not what it had stored before. */
static void renaming_takes_trust(void **state)
{
    (void)state;
    assert_in_range(pass_from_round("zen4", 0), 0, 2);
    assert_in_range(pass_from_round("zen4", 1), 3, 9);
    assert_in_range(pass_from_round("zen4+rename_trust=0", 1), 0, 2);
}

/* mov [rdi+DISTANCE*i],edx for 16 values of i; jmp back. Cycles of a round. */
static uint64_t sixteen_stores(const char *core, uint64_t distance)
{
    uint8_t code[16 * 3 + 4];
    struct access stores[16];
    struct rig rig;

    for (uint32_t i = 0; i < 16; i++) {
        memcpy(code + 3 * i, (const uint8_t[]){2, 0x89, 0x17}, 3);
        stores[i] = (struct access){i, true, 2, 0x100000 + distance * i, 0};
    }
    memcpy(code + sizeof(code) - 4, (const uint8_t[]){2, 0xeb, 0xde, 0}, 4);
    return cycles_a_round(&rig, core, code, stores, 16);
}

/* Sixteen lines of one set of L1 do not stay there: each is fetched again before it is written. */
static void crowded_stores_wait(void **state)
{
    (void)state;
    assert_in_range(sixteen_stores("zen4", 4096), 16 * 8 - 4, 16 * 9 + 4);
    assert_in_range(sixteen_stores("zen4", 4096 + 64), 16, 20);
    assert_in_range(sixteen_stores("zen4+store_crowded=0", 4096), 16, 40);
}

/* Cycles of a round of `pairs` times mov [BASE],rdx; mov rdx,[BASE]; and a jump back. The base is
 * rdi, or the stack pointer. */
static uint64_t pairs_in_turn(const char *core, uint32_t pairs, bool stack)
{
    static const uint8_t of_rdi[] = {3, 0x48, 0x89, 0x17, 3, 0x48, 0x8b, 0x17};
    static const uint8_t of_stack[] = {4, 0x48, 0x89, 0x14, 0x24, 4, 0x48, 0x8b, 0x14, 0x24};
    static const uint8_t back[] = {5, 0xe9, 0, 0, 0, 0, 0};
    const size_t size = stack ? sizeof(of_stack) : sizeof(of_rdi);
    uint8_t code[40 * sizeof(of_stack) + sizeof(back)];
    struct access words[80];
    struct rig rig;

    assert_true(pairs <= 40);
    for (uint32_t i = 0; i < pairs; i++) {
        memcpy(code + i * size, stack ? of_stack : of_rdi, size);
        words[2 * i] = (struct access){(uint8_t)(2 * i), true, 3, 0x20000, 0};
        words[2 * i + 1] = (struct access){(uint8_t)(2 * i + 1), false, 3, 0x20000, 0};
    }
    memcpy(code + pairs * size, back, sizeof(back));
    return cycles_a_round(&rig, core, code, words, (int)(2 * pairs));
}

/* Zen 3 knows 24 loads of other addresses than the stack's; a pair takes a cycle, or is forwarded.
 */
static void rename_keeps_few_loads(void **state)
{
    (void)state;
    assert_in_range(pairs_in_turn("zen3", 20, false), 20, 22);
    assert_in_range(pairs_in_turn("zen3", 32, false), 32 * 6, 32 * 6 + 4);
    assert_in_range(pairs_in_turn("zen3+rename_loads=0", 32, false), 32, 34);
    assert_in_range(pairs_in_turn("zen3", 32, true), 32, 34);
}

/* A store a cycle is passed on; without that only its dispatch is in the way. */
static void rename_passes_on_a_store_a_cycle(void **state)
{
    (void)state;
    assert_in_range(pairs_in_turn("zen4", 18, true), 18, 19);
    assert_in_range(pairs_in_turn("zen4+rename_pause=0", 18, true), 9, 13);
}

static void split_loads_take_longer(void **state)
{
    (void)state;
    /* mov rdx,[rsi+rdx]; jmp back */
    static const uint8_t code[] = {4, 0x48, 0x8b, 0x14, 0x16, 2, 0xeb, 0xfa, 0};
    const struct access whole[] = {{0, false, 3, 0x20000, 0}};
    const struct access split[] = {{0, false, 3, 0x2003d, 0}};
    struct rig rig;
    const uint64_t one = cycles_a_round(&rig, "skylake", code, whole, 1);
    const uint64_t two = cycles_a_round(&rig, "skylake", code, split, 1);
    assert_int_equal(two - one, 4); /* split */
}

/* What a store has all of is forwarded, from the middle too; what lies over two words is not. */
static void a_store_covers_a_load_or_not(void **state)
{
    (void)state;
    const struct access middle[] = {{0, true, 3, 0x20000, 0}, {1, false, 1, 0x20003, 0}};
    const struct access beyond[] = {{0, true, 3, 0x20000, 0}, {1, false, 3, 0x20004, 0}};
    struct rig rig;
    struct sums sums = run(&rig, "skylake", store_load, middle, 2);
    assert_true(share(&sums, TD_NODE_STORE_FWD_BLK) < 0.01);
    rig_close(&rig);
    sums = run(&rig, "skylake", store_load, beyond, 2);
    assert_true(share(&sums, TD_NODE_STORE_FWD_BLK) > 0.8);
    assert_int_equal(sums.worst_pc, PC + 3);
    rig_close(&rig);
}

/* A vector from two stores of eight bytes, from the second alone, and from one store of both. */
static void vectors_are_forwarded_whole(void **state)
{
    (void)state;
    /* movq [rdi],xmm0; movq [rdi+8],xmm0; movups xmm0,[rdi]; jmp back */
    static const uint8_t two[] = {4,    0x66, 0x0f, 0xd6, 0x07, 5, 0x66, 0x0f, 0xd6, 0x47,
                                  0x08, 3,    0x0f, 0x10, 0x07, 2, 0xeb, 0xf2, 0};
    /* movups [rdi],xmm0; movups xmm0,[rdi]; jmp back */
    static const uint8_t one[] = {3, 0x0f, 0x11, 0x07, 3, 0x0f, 0x10, 0x07, 2, 0xeb, 0xf8, 0};
    const struct access halves[] = {{0, true, 3, 0x20000, 0},
                                    {1, true, 3, 0x20008, 0},
                                    {2, false, 3, 0x20000, 0},
                                    {2, false, 3, 0x20008, 0}};
    const struct access whole[] = {{0, true, 3, 0x20000, 0},
                                   {0, true, 3, 0x20008, 0},
                                   {1, false, 3, 0x20000, 0},
                                   {1, false, 3, 0x20008, 0}};
    const struct access upper[] = {
        {1, true, 3, 0x20008, 0}, {2, false, 3, 0x20000, 0}, {2, false, 3, 0x20008, 0}};
    struct rig rig;
    struct sums sums = run(&rig, "skylake", two, halves, 4);
    assert_true(share(&sums, TD_NODE_STORE_FWD_BLK) > 0.8);
    rig_close(&rig);
    sums = run(&rig, "skylake", two, upper, 3);
    assert_true(share(&sums, TD_NODE_STORE_FWD_BLK) > 0.8);
    rig_close(&rig);
    sums = run(&rig, "skylake", one, whole, 4);
    assert_true(share(&sums, TD_NODE_STORE_FWD_BLK) < 0.01);
    rig_close(&rig);
}

/* Pieces of a vector that follow on one another over the end of a line are a split. */
static void split_vectors_take_longer(void **state)
{
    (void)state;
    /* movups xmm0,[rsi+rdx]; movq rdx,xmm0; jmp back */
    static const uint8_t code[] = {4,    0x0f, 0x10, 0x04, 0x16, 5,    0x66, 0x48,
                                   0x0f, 0x7e, 0xc2, 2,    0xeb, 0xf5, 0};
    const struct access inside[] = {{0, false, 3, 0x20000, 0}, {0, false, 3, 0x20008, 0}};
    const struct access between[] = {{0, false, 3, 0x20038, 0}, {0, false, 3, 0x20040, 0}};
    const struct access within[] = {{0, false, 3, 0x20034, 0}, {0, false, 3, 0x2003c, 0}};
    struct rig rig;
    const uint64_t one = cycles_a_round(&rig, "skylake", code, inside, 2);
    assert_int_equal(cycles_a_round(&rig, "skylake", code, between, 2) - one, 4); /* split */
    assert_int_equal(cycles_a_round(&rig, "skylake", code, within, 2) - one, 4);
}

/* What may write nothing waits for what it may keep. */
static void conditional_moves_are_a_chain(void **state)
{
    (void)state;
    /* cmovc rax,rcx, four times; jmp back */
    static const uint8_t code[] = {4,    0x48, 0x0f, 0x42, 0xc1, 4,    0x48, 0x0f,
                                   0x42, 0xc1, 4,    0x48, 0x0f, 0x42, 0xc1, 4,
                                   0x48, 0x0f, 0x42, 0xc1, 2,    0xeb, 0xee, 0};
    struct rig rig;
    assert_int_equal(cycles_a_round(&rig, "skylake", code, NULL, 0), 4);
}

static void split_stores_take_two_turns(void **state)
{
    (void)state;
    static const uint8_t code[] = {3, 0x48, 0x89, 0x17, 2, 0xeb, 0xfb, 0};
    const struct access split[] = {{0, true, 3, 0x2003d, 0}};
    struct rig rig;
    const struct sums sums = run(&rig, "skylake", code, split, 1);
    assert_in_range(sums.cycles * 10 / ROUNDS, 18, 22);
    assert_true(share(&sums, TD_NODE_STORE_BOUND) > 0.5);
    rig_close(&rig);
}

/* Blocks of a few instructions, one at `step` bytes after the other, over and over. */
static struct sums walk_code(struct rig *rig, const char *core, const uint8_t *code, uint64_t step,
                             int blocks, int rounds)
{
    rig_open(rig, core);
    /* Ids are given in the order of definition. */
    const uint32_t first = rig_block(rig, 0x400000, code);
    for (int i = 1; i < blocks; i++)
        rig_block(rig, 0x400000 + (uint64_t)i * step, code);
    for (int r = 0; r < rounds; r++) {
        for (uint32_t i = 0; i < (uint32_t)blocks; i++)
            rig_word(rig, td_trace_block(first + i));
    }
    return rig_sums(rig);
}

/* add rax,1; jmp to the block after it, 4160 bytes on. */
static const uint8_t far_jump[] = {4, 0x48, 0x83, 0xc0, 1, 5, 0xe9, 0x37, 0x10, 0, 0, 0};

static void pages_of_code_miss_the_itlb(void **state)
{
    (void)state;
    struct rig rig;
    struct td_sim_totals totals;
    struct sums sums = walk_code(&rig, "skylake", far_jump, 4160, 2000, 12);
    td_sim_totals(rig.sim, &totals);
    assert_true(share(&sums, TD_NODE_ITLB_MISSES) > 0.5);
    assert_true(totals.itlb_misses > 20000);
    rig_close(&rig);
    /* As many as the TLB holds: misses are the first round's. */
    sums = walk_code(&rig, "skylake", far_jump, 4160, 64, 2000);
    td_sim_totals(rig.sim, &totals);
    assert_in_range(totals.itlb_misses, 64, 70);
    assert_true(share(&sums, TD_NODE_ITLB_MISSES) < 0.5);
    rig_close(&rig);
}

/* mov rax,[rax]; jmp back */
static const uint8_t chase[] = {3, 0x48, 0x8b, 0x00, 2, 0xeb, 0xfb, 0};

/* A line in each of many pages, in turn, when the caches have them all. */
static void walks_are_bound_by_l1(void **state)
{
    (void)state;
    enum { PAGES = 4000, LINES = 8000 };
    struct rig rig;
    rig_open(&rig, "golden-cove");
    uint32_t block = rig_block(&rig, PC, chase);
    for (uint64_t i = 0; i < 5 * PAGES; i++) {
        const struct access load = {0, false, 3, 0x100000 + i % PAGES * (4096 + 64), 0};
        push_round(&rig, block, &load, 1, 0);
    }
    struct sums sums = rig_sums(&rig);
    assert_true(of_node(&sums, TD_NODE_L1_BOUND) > 10 * of_node(&sums, TD_NODE_L2_BOUND));
    rig_close(&rig);
    /* Lines of few pages: L2's own latency is the longer wait. */
    rig_open(&rig, "golden-cove");
    block = rig_block(&rig, PC, chase);
    for (uint64_t i = 0; i < 5 * LINES; i++) {
        const struct access load = {0, false, 3, 0x100000 + i * i * 31 % LINES * 64, 0};
        push_round(&rig, block, &load, 1, 0);
    }
    sums = rig_sums(&rig);
    assert_true(of_node(&sums, TD_NODE_L2_BOUND) > of_node(&sums, TD_NODE_L1_BOUND));
    rig_close(&rig);
}

static void locks_are_bound_by_l1(void **state)
{
    (void)state;
    /* lock add qword [rdi],1; jmp back */
    static const uint8_t code[] = {5, 0xf0, 0x48, 0x83, 0x07, 0x01, 2, 0xeb, 0xf9, 0};
    const struct access both[] = {{0, false, 3, 0x20000, 0}, {0, true, 3, 0x20000, 0}};
    struct rig rig;
    const struct sums sums = run(&rig, "zen4", code, both, 2);
    assert_true(share(&sums, TD_NODE_L1_BOUND) > 0.7);
    rig_close(&rig);
}

static void popcnt_waits_where_it_does(void **state)
{
    (void)state;
    /* popcnt rax,rcx, three times; jmp back */
    static const uint8_t code[] = {5,    0xf3, 0x48, 0x0f, 0xb8, 0xc1, 5,    0xf3, 0x48, 0x0f, 0xb8,
                                   0xc1, 5,    0xf3, 0x48, 0x0f, 0xb8, 0xc1, 2,    0xeb, 0xef, 0};
    struct rig rig;
    assert_int_equal(cycles_a_round(&rig, "golden-cove", code, NULL, 0), 3);
    assert_int_equal(cycles_a_round(&rig, "skylake", code, NULL, 0), 9);
}

/* Eight times lea ebx,[rax+rcx] and two that read `base`; jmp back. Ten times the cycles. */
static uint64_t ten_rounds_of_leas(const char *core, uint8_t base)
{
    const uint8_t three[] = {3,
                             0x8d,
                             0x1c,
                             0x08,
                             4,
                             0x44,
                             0x8d,
                             0x04,
                             (uint8_t)(0x08 | base),
                             4,
                             0x44,
                             0x8d,
                             0x0c,
                             (uint8_t)(0x08 | base)};
    static const uint8_t back[] = {2, 0xeb, 0xa6, 0};
    uint8_t code[8 * sizeof(three) + sizeof(back)];

    for (size_t i = 0; i < 8; i++)
        memcpy(code + i * sizeof(three), three, sizeof(three));
    memcpy(code + 8 * sizeof(three), back, sizeof(back));
    return ten_cycles_a_round(core, code, NULL, 0);
}

/* Zen 5: 4.3 cycles natively when nothing reads ebx, 7.3 when the two others do (zen5.uarch). */
static void who_is_woken_too_early_takes_a_port(void **state)
{
    (void)state;
    enum { EAX = 0, EBX = 3 };

    assert_in_range(ten_rounds_of_leas("zen5", EAX), 41, 44);
    assert_in_range(ten_rounds_of_leas("zen5", EBX), 66, 73);
    assert_in_range(ten_rounds_of_leas("zen5+wakes_early=0", EBX), 41, 44);
    assert_int_equal(ten_rounds_of_leas("zen4+wakes_early=3", EBX),
                     ten_rounds_of_leas("zen4", EBX));
}

static void sbb_of_one_register_waits_for_the_carry(void **state)
{
    (void)state;
    /* cmp ecx,edx; sbb eax,eax or sbb al,al; imul eax,eax; jmp back */
    static const uint8_t whole[] = {2,    0x39, 0xd1, 2, 0x19, 0xc0, 3,
                                    0x0f, 0xaf, 0xc0, 2, 0xeb, 0xf7, 0};
    static const uint8_t part[] = {2,    0x39, 0xd1, 2, 0x18, 0xc0, 3,
                                   0x0f, 0xaf, 0xc0, 2, 0xeb, 0xf7, 0};
    struct rig rig;
    assert_int_equal(cycles_a_round(&rig, "zen4", whole, NULL, 0), 1);
    assert_int_equal(cycles_a_round(&rig, "zen4+sbb_by_carry=0", whole, NULL, 0), 4);
    assert_int_equal(cycles_a_round(&rig, "zen4", part, NULL, 0), 4);
    assert_int_equal(cycles_a_round(&rig, "golden-cove", whole, NULL, 0), 4);
}

static void the_carry_goes_through_dec(void **state)
{
    (void)state;
    /* sbb eax,eax; sbb ecx,ecx; sbb esi,esi; dec edx or sub edx,1; jnz back */
    static const uint8_t dec[] = {2,    0x19, 0xc0, 2,    0x19, 0xc9, 2,    0x19,
                                  0xf6, 2,    0xff, 0xca, 2,    0x75, 0xf6, 0};
    static const uint8_t sub[] = {2, 0x19, 0xc0, 2,    0x19, 0xc9, 2,    0x19, 0xf6,
                                  3, 0x83, 0xea, 0x01, 2,    0x75, 0xf5, 0};
    struct rig rig;
    assert_int_equal(cycles_a_round(&rig, "zen4", dec, NULL, 0), 3);
    assert_int_equal(cycles_a_round(&rig, "zen4", sub, NULL, 0), 1);
}

static const char *const x86_cores[] = {"golden-cove", "redwood-cove", "skylake", "skylake-x",
                                        "zen3",        "zen4",         "zen5"};

static uint64_t busy_of(const char *core, enum td_op_class op)
{
    struct td_core_desc desc;

    assert_int_equal(td_core_desc_builtin(&desc, core, NULL), TD_OK);
    return (uint64_t)desc.ops[op].busy;
}

static void a_ready_divide_goes_first(void **state)
{
    (void)state;
    /* vsqrtsd xmm0,xmm14,xmm14; vdivsd xmm1,xmm14,xmm0; jmp back: no round waits for another. */
    static const uint8_t code[] = {5,    0xc4, 0xc1, 0x0b, 0x51, 0xc6, 4, 0xc5,
                                   0x8b, 0x5e, 0xc8, 2,    0xeb, 0xf5, 0};
    struct rig rig;
    for (size_t i = 0; i < TD_ARRAY_SIZE(x86_cores); i++)
        assert_int_equal(cycles_a_round(&rig, x86_cores[i], code, NULL, 0),
                         busy_of(x86_cores[i], TD_OP_FSQRT64) +
                             busy_of(x86_cores[i], TD_OP_FDIV64));
}

/* A multiplication between the two, of which the divider knows nothing: each round is a chain, and
 * no round waits for another. Vectors of four take the unit twice where it is as wide as two. */
static void chains_with_divides_overlap(void **state)
{
    (void)state;
    /* vsqrtpd xmm0,xmm14; vmulpd xmm2,xmm0,xmm14; vdivpd xmm1,xmm14,xmm2; jmp back */
    static const uint8_t narrow[] = {5,    0xc4, 0xc1, 0x79, 0x51, 0xc6, 5, 0xc4, 0xc1, 0x79, 0x59,
                                     0xd6, 4,    0xc5, 0x89, 0x5e, 0xca, 2, 0xeb, 0xf0, 0};
    /* the same of ymm */
    static const uint8_t wide[] = {5,    0xc4, 0xc1, 0x7d, 0x51, 0xc6, 5, 0xc4, 0xc1, 0x7d, 0x59,
                                   0xd6, 4,    0xc5, 0x8d, 0x5e, 0xca, 2, 0xeb, 0xf0, 0};
    struct rig rig;
    for (size_t i = 0; i < TD_ARRAY_SIZE(x86_cores); i++) {
        const char *core = x86_cores[i];
        const uint64_t once = busy_of(core, TD_OP_FSQRT64) + busy_of(core, TD_OP_FDIV64);

        assert_int_equal(cycles_a_round(&rig, core, narrow, NULL, 0), once);
        assert_int_equal(cycles_a_round(&rig, core, wide, NULL, 0),
                         strncmp(core, "zen", 3) == 0 ? once : 2 * once);
    }
    /* fsqrt d0,d14; fmul d2,d0,d14; fdiv d1,d14,d2; b back */
    static const uint8_t a64[] = {4,    0xc0, 0xc1, 0x61, 0x1e, 4,    0x02, 0x08, 0x6e, 0x1e, 4,
                                  0xc1, 0x19, 0x62, 0x1e, 4,    0xfd, 0xff, 0xff, 0x17, 0};
    assert_int_equal(cycles_a_round(&rig, "neoverse-n2", a64, NULL, 0),
                     busy_of("neoverse-n2", TD_OP_FSQRT64) + busy_of("neoverse-n2", TD_OP_FDIV64));
}

static void a_long_chain_waits_for_each_divide(void **state)
{
    (void)state;
    /* vdivsd xmm0,xmm0,xmm14; jmp back: a chain takes the latency, whoever has the unit */
    static const uint8_t code[] = {5, 0xc4, 0xc1, 0x7b, 0x5e, 0xc6, 2, 0xeb, 0xf9, 0};
    struct rig rig;
    for (size_t i = 0; i < TD_ARRAY_SIZE(x86_cores); i++) {
        struct td_core_desc desc;
        assert_int_equal(td_core_desc_builtin(&desc, x86_cores[i], NULL), TD_OK);
        assert_int_equal(cycles_a_round(&rig, x86_cores[i], code, NULL, 0),
                         desc.ops[TD_OP_FDIV64].latency);
    }
}

/* Six times `opcode` xmm14 into xmm0 to xmm5, and back. */
static uint64_t cycles_of_six(const char *core, uint8_t opcode)
{
    uint8_t code[6 * 6 + 4] = {0};
    struct rig rig;

    for (int i = 0; i < 6; i++)
        memcpy(code + i * 6, ((uint8_t[]){5, 0x66, 0x41, 0x0f, opcode, (uint8_t)(0xc6 + i * 8)}),
               6);
    memcpy(code + 36, ((uint8_t[]){2, 0xeb, 0xe0, 0}), 4);
    return cycles_a_round(&rig, core, code, NULL, 0);
}

static void vector_adds_have_a_port_more(void **state)
{
    (void)state;
    const uint8_t paddd = 0xfe, pcmpeqd = 0x76;
    assert_int_equal(cycles_of_six("golden-cove", paddd), 2);
    assert_int_equal(cycles_of_six("golden-cove", pcmpeqd), 3);
    assert_int_equal(cycles_of_six("skylake", paddd), 2);
    assert_int_equal(cycles_of_six("skylake", pcmpeqd), 3);
}

/* Four instructions of 8 bytes in 32: nopl with a prefix and a long displacement. */
static const uint8_t long_code[] = {
    8,    0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0, 8,    0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0, 8,
    0x0f, 0x1f, 0x84, 0,    0, 2, 0, 0, 8, 0x0f, 0x1f, 0x84, 0,    0, 2, 0, 0, 0};

static void large_code_misses_the_icache(void **state)
{
    (void)state;
    struct rig rig;
    struct sums sums = walk_code(&rig, "zen4", long_code, 32, 8192, 4);
    assert_true(share(&sums, TD_NODE_ICACHE_MISSES) > 0.4);
    rig_close(&rig);
    sums = walk_code(&rig, "zen4", long_code, 32, 64, 500);
    assert_true(share(&sums, TD_NODE_ICACHE_MISSES) < 0.2);
    assert_true(share(&sums, TD_NODE_LIGHT_OPERATIONS) > 0.7);
    rig_close(&rig);
}

/* Code that L1I holds and the uop cache does not is as fast as the decoders. */
static void decoders_are_slower_than_the_uop_cache(void **state)
{
    (void)state;
    /* Eight register moves of 2 bytes. */
    static const uint8_t moves[] = {2, 0x89, 0xc1, 2, 0x89, 0xc2, 2, 0x89, 0xc3,
                                    2, 0x89, 0xc6, 2, 0x89, 0xc7, 2, 0x89, 0xc1,
                                    2, 0x89, 0xc2, 2, 0x89, 0xc3, 0};
    struct rig rig;
    struct sums sums = walk_code(&rig, "skylake", moves, 16, 1900, 30);
    assert_true(share(&sums, TD_NODE_FETCH_BANDWIDTH) + share(&sums, TD_NODE_LIGHT_OPERATIONS) >
                0.6);
    const uint64_t decoded = sums.cycles / 30;
    assert_true(of_node(&sums, TD_NODE_LIGHT_OPERATIONS) == 8U * 1900 * 30);
    rig_close(&rig);
    sums = walk_code(&rig, "skylake", moves, 16, 100, 600);
    const uint64_t cached = sums.cycles * 19 / 600;
    assert_true(cached < decoded);
    rig_close(&rig);
}

/* test al,al; jnz over one add: what the outcomes say decides. */
static struct sums branch(struct rig *rig, bool random)
{
    static const uint8_t test[] = {2, 0x84, 0xc0, 2, 0x75, 0x04, 0};
    static const uint8_t body[] = {4, 0x48, 0x83, 0xc3, 1, 0};
    static const uint8_t back[] = {2, 0xeb, 0xf6, 0};
    rig_open(rig, "zen4");
    const uint32_t a = rig_block(rig, PC, test), b = rig_block(rig, PC + 4, body),
                   c = rig_block(rig, PC + 8, back);
    uint64_t x = RIG_RANDOM;

    for (int i = 0; i < ROUNDS; i++) {
        rig_random(&x);
        rig_word(rig, td_trace_block(a));
        if (random ? x & 1 : i & 1)
            rig_word(rig, td_trace_block(b));
        rig_word(rig, td_trace_block(c));
    }
    return rig_sums(rig);
}

static void mispredicts_lose_the_refill(void **state)
{
    (void)state;
    struct td_sim_totals totals;
    struct rig rig;
    struct sums sums = branch(&rig, true);
    td_sim_totals(rig.sim, &totals);
    assert_in_range(totals.mispredicts, ROUNDS * 2 / 5, ROUNDS * 3 / 5);
    /* Each loses at least what the description says, in mispredicts and resteers together. */
    const uint64_t lost =
        of_node(&sums, TD_NODE_BRANCH_MISPREDICTS) + of_node(&sums, TD_NODE_BRANCH_RESTEERS);
    assert_true(lost > totals.mispredicts * (uint64_t)(rig.desc.refill * rig.desc.width) / 2);
    assert_true(share(&sums, TD_NODE_BRANCH_MISPREDICTS) > 0.5);
    assert_int_equal(sums.worst_pc, PC + 2);
    rig_close(&rig);
    sums = branch(&rig, false);
    td_sim_totals(rig.sim, &totals);
    assert_in_range(totals.mispredicts, 1, 40);
    rig_close(&rig);
}

/* add rax,1; mov ecx,[rdi+rax*4]; test cl,cl; jz over an add to `reg`; jmp back: each load misses
 * all caches, and nobody knows what the branch does. Cycles a round. */
static uint64_t probe_and_branch(const char *core, uint8_t add)
{
    static const uint8_t test[] = {4,    0x48, 0x83, 0xc0, 1, 3,    0x8b, 0x0c,
                                   0x87, 2,    0x84, 0xc9, 2, 0x74, 0x04, 0};
    const uint8_t body[] = {4, 0x48, 0x83, add, 1, 2, 0xeb, 0xef, 0};
    static const uint8_t back[] = {2, 0xeb, 0xef, 0};
    struct rig rig;
    rig_open(&rig, core);
    const uint32_t a = rig_block(&rig, PC, test), b = rig_block(&rig, PC + 11, body),
                   c = rig_block(&rig, PC + 15, back);
    uint64_t x = RIG_RANDOM;

    for (int i = 0; i < ROUNDS; i++) {
        rig_random(&x);
        rig_word(&rig, td_trace_block(a));
        rig_word(&rig, td_trace_access(1, false, 2, 0x10000000 + (x >> 20) % (1 << 20) * 64));
        rig_word(&rig, td_trace_block(x & 1 ? b : c));
    }
    const struct sums sums = rig_sums(&rig);
    rig_close(&rig);
    return sums.cycles / ROUNDS;
}

/* What is fetched on the wrong path and does not depend on it is under way when the branch
 * resolves; what depends on it is not. */
static void wrong_path_begins_loads(void **state)
{
    (void)state;
    const uint8_t rbx = 0xc3, rax = 0xc0; /* of add: rax is in the load's address */
    for (size_t i = 0; i < TD_ARRAY_SIZE(x86_cores); i++) {
        const uint64_t free = probe_and_branch(x86_cores[i], rbx);
        const uint64_t bound = probe_and_branch(x86_cores[i], rax);
        print_message("%s %llu %llu\n", x86_cores[i], (unsigned long long)free,
                      (unsigned long long)bound);
        assert_true(3 * free < bound);
    }
}

/* A load from memory at an address that the branch's way decides, 36 times `lea ecx,[rax or rdx +
 * 1]`, and a branch on what was loaded. Slots that a mispredict takes. */
static uint64_t slots_behind_a_miss(bool waiting)
{
    enum { LEAS = 36, LEA_BYTES = 3, END = 3 + LEAS * LEA_BYTES + 4 };
    uint8_t code[4 + LEAS * (LEA_BYTES + 1) + 7] = {3, 0x48, 0x8b, 0x03};
    static const uint8_t body[] = {4, 0x48, 0x83, 0xc3, 1, 0}, back[] = {2, 0xeb, 0, 0};
    struct td_sim_totals totals;
    struct rig rig;
    uint64_t x = RIG_RANDOM;

    for (int i = 0; i < LEAS; i++)
        memcpy(code + 4 + i * 4, ((uint8_t[]){LEA_BYTES, 0x8d, waiting ? 0x48 : 0x4a, 1}), 4);
    memcpy(code + 4 + LEAS * 4, ((uint8_t[]){2, 0x84, 0xc0, 2, 0x74, 0x04, 0}), 7);
    rig_open(&rig, "zen4");
    const uint32_t a = rig_block(&rig, PC, code), b = rig_block(&rig, PC + END, body),
                   c = rig_block(&rig, PC + END + 4, back);
    for (int i = 0; i < ROUNDS; i++) {
        rig_random(&x);
        rig_word(&rig, td_trace_block(a));
        rig_word(&rig, td_trace_access(0, false, 3, 0x10000000 + (x >> 20) % (1 << 17) * 64));
        if (x & 1)
            rig_word(&rig, td_trace_block(b));
        rig_word(&rig, td_trace_block(c));
    }
    const struct sums sums = rig_sums(&rig);
    td_sim_totals(rig.sim, &totals);
    rig_close(&rig);
    return of_node(&sums, TD_NODE_BRANCH_MISPREDICTS) / totals.mispredicts;
}

/* Uops of the wrong path take slots until the reorder buffer is full; or the scheduler, when they
 * wait as what is before them does. */
static void wrong_path_fills_the_scheduler(void **state)
{
    (void)state;
    enum { WIDTH = 6, ROB = 320, SCHEDULER = 96, RECOVERY = 10 }; /* zen4.uarch */
    assert_in_range(slots_behind_a_miss(false), ROB, ROB + (RECOVERY + 1) * WIDTH);
    assert_in_range(slots_behind_a_miss(true), SCHEDULER + RECOVERY * WIDTH,
                    SCHEDULER + (RECOVERY + 4) * WIDTH);
}

/* A jump to targets in turn: history tells them apart, a single place does not. */
static void indirect_targets_are_learnt(void **state)
{
    (void)state;
    static const uint8_t jump[] = {2, 0xff, 0xe0, 0};
    static const uint8_t back[] = {5, 0xe9, 0, 0, 0, 0, 0};
    struct td_sim_totals totals;
    struct rig rig;
    rig_open(&rig, "golden-cove");
    const uint32_t site = rig_block(&rig, PC, jump);
    for (int i = 0; i < ROUNDS; i++) {
        rig_word(&rig, td_trace_block(site));
        rig_word(&rig, td_trace_block(rig_block(&rig, 0x2000 + 64 * (uint64_t)(i % 4), back)));
    }
    rig_sums(&rig);
    td_sim_totals(rig.sim, &totals);
    assert_in_range(totals.indirect_mispredicts, 4, 100);
    rig_close(&rig);
}

/* imul rdi,rdi twice; mov [rdi],rax; mov rcx,[rsi]; jmp back: the store's address comes late. */
static const uint8_t late_store[] = {4,    0x48, 0x0f, 0xaf, 0xff, 4,    0x48, 0x0f, 0xaf, 0xff, 3,
                                     0x48, 0x89, 0x07, 3,    0x48, 0x8b, 0x0e, 2,    0xeb, 0xf0, 0};

static void order_violation_clears_then_waits(void **state)
{
    (void)state;
    const struct access same[] = {{2, true, 3, 0x30000, 0}, {3, false, 3, 0x30000, 0}};
    const struct access apart[] = {{2, true, 3, 0x30000, 0}, {3, false, 3, 0x30048, 0}};
    struct td_sim_totals totals;
    struct rig rig;
    const struct sums sums = run(&rig, "skylake", late_store, same, 2);
    td_sim_totals(rig.sim, &totals);
    assert_int_equal(totals.machine_clears, 1);
    assert_true(of_node(&sums, TD_NODE_MACHINE_CLEARS) >= (uint64_t)rig.desc.clear);
    rig_close(&rig);
    run(&rig, "skylake", late_store, apart, 2);
    td_sim_totals(rig.sim, &totals);
    assert_int_equal(totals.machine_clears, 0);
    rig_close(&rig);
}

static void independent_divides_share_one_divider(void **state)
{
    (void)state;
    /* divsd xmm0..3,xmm8; jmp back */
    static const uint8_t code[] = {5,    0xf2, 0x41, 0x0f, 0x5e, 0xc0, 5,    0xf2, 0x41, 0x0f,
                                   0x5e, 0xc8, 5,    0xf2, 0x41, 0x0f, 0x5e, 0xd0, 5,    0xf2,
                                   0x41, 0x0f, 0x5e, 0xd8, 2,    0xeb, 0xea, 0};
    struct rig rig;
    const struct sums sums = run(&rig, "skylake", code, NULL, 0);
    const uint64_t expected = 4 * (uint64_t)rig.desc.ops[TD_OP_FDIV64].busy;
    assert_true(share(&sums, TD_NODE_DIVIDER) > 0.6);
    assert_true(expected > rig.desc.ops[TD_OP_FDIV64].latency);
    assert_in_range(sums.cycles / ROUNDS, expected, expected + 1);
    rig_close(&rig);
}

/* Four multiplications on one port, none waiting for another. */
static void one_port_is_core_bound(void **state)
{
    (void)state;
    /* imul rax,rax,3; imul rcx,rcx,3; imul rsi,rsi,3; imul rdi,rdi,3; jmp back */
    static const uint8_t code[] = {4,    0x48, 0x6b, 0xc0, 3,    4,    0x48, 0x6b,
                                   0xc9, 3,    4,    0x48, 0x6b, 0xf6, 3,    4,
                                   0x48, 0x6b, 0xff, 3,    2,    0xeb, 0xee, 0};
    struct rig rig;
    const struct sums sums = run(&rig, "zen4", code, NULL, 0);
    assert_true(share(&sums, TD_NODE_PORTS_UTILIZATION) > 0.6);
    assert_in_range(sums.cycles * 10 / ROUNDS, 40, 42);
    rig_close(&rig);
}

/* A load from memory, then more adds than the reorder buffer holds: they cannot hide it. */
static void full_reorder_buffer_waits_for_memory(void **state)
{
    (void)state;
    uint8_t code[4 * 5 * 60 + 16] = {0};
    size_t at = 0;
    const uint8_t load[] = {3, 0x48, 0x8b, 0x17}, add[] = {4, 0x48, 0x83, 0xc0, 1};
    struct rig rig;
    memcpy(code, load, sizeof(load));
    for (at = sizeof(load); at < sizeof(code) - 16; at += sizeof(add))
        memcpy(code + at, add, sizeof(add));
    code[at] = 0;
    /* No prefetcher foresees a step of 5 MB. */
    const struct access far[] = {{0, false, 3, 0x10000000, 0x503040}};
    const struct sums sums = run(&rig, "skylake", code, far, 1);
    assert_true(share(&sums, TD_NODE_DRAM_BOUND) > 0.3);
    assert_int_equal(sums.worst_pc, PC);
    rig_close(&rig);
}

/* The same loads alone: as many at a time as the load buffer and L1's misses allow. */
static void misses_overlap_up_to_their_number(void **state)
{
    (void)state;
    static const uint8_t code[] = {3, 0x48, 0x8b, 0x17, 2, 0xeb, 0xfb, 0};
    const struct access far[] = {{0, false, 3, 0x10000000, 0x503040}};
    struct rig rig;
    const struct sums sums = run(&rig, "skylake", code, far, 1);
    const uint64_t each = sums.cycles / ROUNDS;
    const uint64_t alone = (uint64_t)(rig.desc.dram_latency / rig.desc.l1d_misses);
    assert_true(each >= alone / 2 && each < (uint64_t)rig.desc.dram_latency);
    assert_true(share(&sums, TD_NODE_DRAM_BOUND) > 0.8);
    rig_close(&rig);
}

static void full_store_buffer_is_store_bound(void **state)
{
    (void)state;
    static const uint8_t code[] = {3, 0x48, 0x89, 0x07, 2, 0xeb, 0xfb, 0};
    const struct access far[] = {{0, true, 3, 0x10000000, 0x503040}};
    const struct access near[] = {{0, true, 3, 0x20000, 0}};
    struct rig rig;
    struct sums sums = run(&rig, "zen4", code, far, 1);
    assert_true(share(&sums, TD_NODE_STORE_BOUND) > 0.8);
    rig_close(&rig);
    sums = run(&rig, "zen4", code, near, 1);
    assert_true(share(&sums, TD_NODE_STORE_BOUND) < 0.3);
    rig_close(&rig);
}

/* rep movsq: a block a round, as an emulator delivers it. */
static uint64_t string_cycles(const char *core, int quads, struct sums *sums)
{
    static const uint8_t code[] = {3, 0xf3, 0x48, 0xa5, 0};
    struct rig rig;
    rig_open(&rig, core);
    const uint32_t block = rig_block(&rig, PC, code);
    for (int i = 0; i < quads; i++) {
        const struct access pair[] = {{0, false, 3, 0x20000 + 8 * (uint64_t)(i & 255), 0},
                                      {0, true, 3, 0x30000 + 8 * (uint64_t)(i & 255), 0}};
        push_round(&rig, block, pair, 2, 0);
    }
    *sums = rig_sums(&rig);
    rig_close(&rig);
    return sums->cycles;
}

static void string_moves_by_bytes(void **state)
{
    (void)state;
    struct sums sums;
    const uint64_t few = string_cycles("zen4", 65536, &sums);
    const uint64_t many = string_cycles("zen4", 2 * 65536, &sums);
    /* 65536 quads of 8 bytes at 32 a cycle. */
    assert_in_range(many - few, 65536 * 8 / 32, 65536 * 8 / 32 + 600);
    assert_true(share(&sums, TD_NODE_SERIALIZING_OPERATION) > 0.7);
    assert_int_equal(sums.worst_pc, PC);
}

static void string_scans_by_elements(void **state)
{
    (void)state;
    /* repne scasb */
    static const uint8_t code[] = {2, 0xf2, 0xae, 0};
    struct rig rig;
    rig_open(&rig, "zen4");
    const uint32_t block = rig_block(&rig, PC, code);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const struct access one[] = {{0, false, 0, 0x20000 + (i & 63), 0}};
        push_round(&rig, block, one, 1, 0);
    }
    const struct sums sums = rig_sums(&rig);
    const uint64_t expected = (uint64_t)rig.desc.string_scan * ROUNDS / TD_TICKS_PER_CYCLE;
    assert_in_range(sums.cycles, expected, expected + 3000);
    rig_close(&rig);
}

/* call to a block that returns: prediction of the pair takes its delays. */
static void calls_and_returns_take_prediction(void **state)
{
    (void)state;
    /* call PC+0x40; jmp back / ret */
    static const uint8_t call[] = {5, 0xe8, 0x3b, 0, 0, 0, 0};
    static const uint8_t back[] = {2, 0xeb, 0xf9, 0};
    static const uint8_t ret[] = {1, 0xc3, 0};
    struct rig rig;
    rig_open(&rig, "zen4");
    const uint32_t a = rig_block(&rig, PC, call), b = rig_block(&rig, PC + 0x40, ret),
                   c = rig_block(&rig, PC + 5, back);
    for (int i = 0; i < ROUNDS; i++) {
        rig_word(&rig, td_trace_block(a));
        rig_word(&rig, td_trace_access(0, true, 3, 0x7000));
        rig_word(&rig, td_trace_block(b));
        rig_word(&rig, td_trace_access(0, false, 3, 0x7000));
        rig_word(&rig, td_trace_block(c));
    }
    const struct sums sums = rig_sums(&rig);
    const uint64_t expected = 3 + (uint64_t)(rig.desc.call_delay + rig.desc.return_delay);
    assert_in_range(sums.cycles / ROUNDS, expected, expected + 1);
    assert_true(share(&sums, TD_NODE_FETCH_BANDWIDTH) > 0.5);
    rig_close(&rig);
}

/* Two jumps a cycle, but not the same one twice; indirect ones take twice as long. */
static void jumps_take_prediction(void **state)
{
    (void)state;
    static const uint8_t self[] = {1, 0x90, 2, 0xeb, 0xfd, 0};
    static const uint8_t on[] = {1, 0x90, 2, 0xeb, 0x3d, 0}, back[] = {1, 0x90, 2, 0xeb, 0xbd, 0};
    static const uint8_t indirect[] = {1, 0x90, 2, 0xff, 0xe0, 0};
    assert_in_range(ten_rounds("zen5", (const uint8_t *const[]){self}, 1), 10, 11);
    assert_in_range(ten_rounds("zen5", (const uint8_t *const[]){on, back}, 2), 10, 11);
    assert_in_range(ten_rounds("zen5", (const uint8_t *const[]){indirect, indirect}, 2), 20, 21);
    assert_in_range(ten_rounds("zen5+loop=0.5", (const uint8_t *const[]){self}, 1), 5, 6);
}

/* An indirect jump from the program to a library, and one back. */
static void far_jumps_wait_for_their_target(void **state)
{
    (void)state;
    enum { FAR_DELAY = 3 }; /* zen4.uarch */
    static const uint8_t jump[] = {2, 0xff, 0xe0, 0};
    const uint8_t *const codes[] = {jump, jump};
    const uint64_t near = ten_rounds("zen4", codes, 2);
    assert_int_equal(ten_rounds_of("zen4", PC + 0x80, codes, 2), near);
    assert_in_range(ten_rounds_of("zen4", PC + 0x40, codes, 2), near + 20 * FAR_DELAY - 1,
                    near + 20 * FAR_DELAY + 1);
    assert_in_range(ten_rounds_of("zen4+far_delay=0", PC + 0x40, codes, 2), near, near + 1);
}

#define MOVE        3, 0x4d, 0x89, 0xe0 /* mov r8,r12 */
#define THREE_MOVES MOVE, MOVE, MOVE

/* 16 moves and call [rdi]; there jmp back. The moves fill two lines of the uop cache, and 19 slots
 * a bit more than three cycles. */
static uint64_t ten_calls_through_memory(const char *core)
{
    static const uint8_t code[] = {THREE_MOVES, THREE_MOVES, THREE_MOVES, THREE_MOVES, THREE_MOVES,
                                   MOVE,        2,           0xff,        0x17,        0};
    static const uint8_t back[] = {2, 0xeb, 0xbe, 0};
    enum { CALL = 16 };
    struct rig rig;

    rig_open(&rig, core);
    const uint32_t from = rig_block(&rig, PC, code), to = rig_block(&rig, PC + 64, back);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        rig_word(&rig, td_trace_block(from));
        rig_word(&rig, td_trace_access(CALL, false, 3, 0x20000));
        rig_word(&rig, td_trace_access(CALL, true, 3, 0x7000));
        rig_word(&rig, td_trace_block(to));
    }
    const uint64_t cycles = rig_sums(&rig).cycles;
    rig_close(&rig);
    return cycles * 10 / ROUNDS;
}

static void what_is_called_through_memory_waits_for_the_call(void **state)
{
    (void)state;
    assert_in_range(ten_calls_through_memory("zen4"), 40, 41);
    assert_in_range(ten_calls_through_memory("zen4+call_waits=0"), 31, 34);
}

/* mov [rdi+rcx],rax; three times mov rdx,rax; all of it three times; jmp back. */
static void an_indexed_store_has_two_slots_of_one_cycle(void **state)
{
    (void)state;
#define FIVE_SLOTS \
    4, 0x48, 0x89, 0x04, 0x0f, 3, 0x48, 0x89, 0xc2, 3, 0x48, 0x89, 0xc2, 3, 0x48, 0x89, 0xc2
    static const uint8_t code[] = {FIVE_SLOTS, FIVE_SLOTS, FIVE_SLOTS, 2, 0xeb, 0xd7, 0};
    const struct access stores[] = {
        {0, true, 3, 0x20000, 0}, {4, true, 3, 0x20008, 0}, {8, true, 3, 0x20010, 0}};
    assert_in_range(ten_cycles_a_round("zen4", code, stores, 3), 30, 31);
    assert_in_range(ten_cycles_a_round("zen4+whole_slots=0", code, stores, 3), 26, 28);
    assert_in_range(ten_cycles_a_round("zen4+joined_slots=1", code, stores, 3), 21, 23);
}

/* mov r8,r12, 18 times; jmp [rdi], to the first of them: 20 slots, six a cycle. */
static void a_jump_through_memory_has_two_slots(void **state)
{
    (void)state;
    static const uint8_t code[] = {THREE_MOVES, THREE_MOVES, THREE_MOVES, THREE_MOVES, THREE_MOVES,
                                   THREE_MOVES, 2,           0xff,        0x27,        0};
    const struct access load = {18, false, 3, 0x20000, 0};
    assert_in_range(ten_cycles_a_round("zen4", code, &load, 1), 33, 35);
    assert_in_range(ten_cycles_a_round("zen4+joined_slots=1", code, &load, 1), 31, 32);
}

/* add [rdi],rax; the same 8 and 16 bytes on; jmp back: over 6 KB, again and again. Ten times the
 * cycles of a round. */
static uint64_t ten_sums_in_memory(const char *core)
{
    static const uint8_t code[] = {3, 0x48, 0x01, 0x07, 4,    0x48, 0x01, 0x47, 0x08,
                                   4, 0x48, 0x01, 0x47, 0x10, 2,    0xeb, 0xf3, 0};
    enum { ROUND_BYTES = 24, BYTES = 256 * ROUND_BYTES, MANY = 10 * ROUNDS };
    struct rig rig;

    rig_open(&rig, core);
    const uint32_t block = rig_block(&rig, PC, code);
    for (uint64_t i = 0; i < MANY; i++) {
        rig_word(&rig, td_trace_block(block));
        for (uint32_t k = 0; k < 3; k++) {
            const uint64_t address = 0x20000 + i * ROUND_BYTES % BYTES + 8 * k;
            rig_word(&rig, td_trace_access(k, false, 3, address));
            rig_word(&rig, td_trace_access(k, true, 3, address));
        }
    }
    const uint64_t cycles = rig_sums(&rig).cycles;
    rig_close(&rig);
    return cycles * 10 / MANY;
}

static void a_store_has_the_address_of_its_load(void **state)
{
    (void)state;
    assert_in_range(ten_sums_in_memory("zen4"), 15, 18);
    assert_in_range(ten_sums_in_memory("zen4+rmw_address=0"), 20, 23);
}

/* mov dword [rdi],5; movsxd rdx,[rsi]; three times lea rcx,[rax+1]; jmp back. */
static void constants_and_signs_take_a_port(void **state)
{
    (void)state;
    static const uint8_t code[] = {6,    0xc7, 0x07, 5,    0,    0,    0, 3,    0x48, 0x63,
                                   0x16, 4,    0x48, 0x8d, 0x48, 0x01, 4, 0x48, 0x8d, 0x48,
                                   0x01, 4,    0x48, 0x8d, 0x48, 0x01, 2, 0xeb, 0xe9, 0};
    const struct access accesses[] = {{0, true, 2, 0x20000, 0}, {1, false, 2, 0x21040, 0}};
    assert_in_range(ten_cycles_a_round("zen4", code, accesses, 2), 12, 14);
    assert_in_range(ten_cycles_a_round("zen4+access_moves=0", code, accesses, 2), 10, 11);
}

/* push rax; add rsp,8 or lea rsp,[rsp+8]; jmp back: a chain through the stack pointer. */
static void arithmetic_waits_for_the_stack_engine(void **state)
{
    (void)state;
    static const uint8_t add[] = {1, 0x50, 4, 0x48, 0x83, 0xc4, 0x08, 2, 0xeb, 0xf9, 0};
    static const uint8_t lea[] = {1, 0x50, 5, 0x48, 0x8d, 0x64, 0x24, 0x08, 2, 0xeb, 0xf8, 0};
    const struct access push[] = {{0, true, 3, 0x7000, 0}};
    assert_in_range(ten_cycles_a_round("zen4", add, push, 1), 20, 21);
    assert_in_range(ten_cycles_a_round("zen4", lea, push, 1), 10, 11);
    assert_in_range(ten_cycles_a_round("zen4+stack_sync=0", add, push, 1), 10, 11);
}

/* Twenty instructions and a jump in one line of code: the uop cache pauses once. */
static void dense_code_pauses_the_uop_cache(void **state)
{
    (void)state;
    uint8_t code[20 * 2 + 4];
    for (int i = 0; i < 20; i++)
        memcpy(code + 2 * (size_t)i, ((uint8_t[]){1, 0x90}), 2);
    memcpy(code + 40, ((uint8_t[]){2, 0xeb, 0xea, 0}), 4);
    assert_in_range(ten_rounds("zen5", (const uint8_t *const[]){code}, 1), 29, 31);
    assert_in_range(ten_rounds("zen5+uop_cache_group=0", (const uint8_t *const[]){code}, 1), 26,
                    27);
}

/* Decoders begin anew after a jump: six instructions take two cycles where they make four. */
static void decoders_stop_at_a_jump(void **state)
{
    (void)state;
    /* 5 times nop; jmp to the block 16 bytes on. There are more than lines in the uop cache. */
    static const uint8_t code[] = {1,    0x90, 1,    0x90, 1, 0x90, 1, 0x90, 1,
                                   0x90, 5,    0xe9, 6,    0, 0,    0, 0};
    enum { BLOCKS = 1500, TIMES = 400 };
    struct rig rig;
    const uint64_t stops = walk_code(&rig, "zen5", code, 16, BLOCKS, TIMES).cycles;
    rig_close(&rig);
    const uint64_t goes_on = walk_code(&rig, "zen5+decode_taken=0", code, 16, BLOCKS, TIMES).cycles;
    rig_close(&rig);
    assert_in_range(stops * 10 / (BLOCKS * TIMES), 20, 23);
    assert_in_range(goes_on * 10 / (BLOCKS * TIMES), 15, 18);
}

/* A branch at random, then sixteen jumps, two a cycle: cycles of a round. */
static uint64_t jumps_after_a_mispredict(const char *core)
{
    enum { JUMPS = 16 };
    /* test al,al; je to the next block / to the one after: both end in the same place */
    static const uint8_t branch[] = {2, 0x84, 0xc0, 2, 0x74, 0x3c, 0}, jump[] = {2, 0xeb, 0x3e, 0};
    struct rig rig;
    uint64_t random = RIG_RANDOM;

    rig_open(&rig, core);
    const uint32_t first = rig_block(&rig, PC, branch), skipped = rig_block(&rig, PC + 4, jump);
    const uint32_t next = rig_block(&rig, PC + 64, jump);
    for (int i = 1; i < JUMPS; i++)
        rig_block(&rig, PC + 64 * (uint64_t)(i + 1), jump);
    for (int i = 0; i < ROUNDS; i++) {
        rig_word(&rig, td_trace_block(first));
        if (rig_random(&random) & 1)
            rig_word(&rig, td_trace_block(skipped));
        for (uint32_t k = 0; k < JUMPS; k++)
            rig_word(&rig, td_trace_block(next + k));
    }
    const uint64_t cycles = rig_sums(&rig).cycles / ROUNDS;
    rig_close(&rig);
    return cycles;
}

/* Where prediction begins again with delivery, what it takes for jumps is not hidden by the refill.
 */
static void prediction_begins_after_a_mispredict(void **state)
{
    (void)state;
    /* Without lines, of which each jump needs one: they take as long as its prediction. */
    const uint64_t with = jumps_after_a_mispredict("zen5+uop_cache_line=0");
    const uint64_t ahead = jumps_after_a_mispredict("zen5+uop_cache_line=0+lead=255");
    assert_in_range(with, ahead + 3, ahead + 5); /* of 8 cycles, every other round */
}

/* Zen 5's conditional moves by sign and overflow take a cycle more: cmp eax,ebx; cmovcc eax,ecx. */
static void conditional_moves_go_by_their_flags(void **state)
{
    (void)state;
    uint8_t code[] = {2, 0x39, 0xd8, 3, 0x0f, 0x4e, 0xc1, 2, 0xeb, 0xf9, 0};
    struct rig rig;
    assert_int_equal(cycles_a_round(&rig, "zen5", code, NULL, 0), 3); /* le */
    assert_int_equal(cycles_a_round(&rig, "golden-cove", code, NULL, 0), 2);
    code[5] = 0x46; /* be */
    assert_int_equal(cycles_a_round(&rig, "zen5", code, NULL, 0), 3);
    assert_int_equal(cycles_a_round(&rig, "golden-cove", code, NULL, 0), 3);
    code[5] = 0x42; /* b */
    assert_int_equal(cycles_a_round(&rig, "zen5", code, NULL, 0), 2);
}

/* Zen 5's additions: sooner when the sum they add to is of the last one. */
static void sums_are_forwarded_sooner(void **state)
{
    (void)state;
    /* vaddsd xmm0,xmm0,xmm14; jmp back */
    static const uint8_t sum[] = {5, 0xc4, 0xc1, 0x7b, 0x58, 0xc6, 2, 0xeb, 0xf9, 0};
    /* vmulsd xmm1,xmm0,xmm14; vaddsd xmm0,xmm14,xmm1; jmp back */
    static const uint8_t product[] = {5,    0xc4, 0xc1, 0x7b, 0x59, 0xce, 4, 0xc5,
                                      0x8b, 0x58, 0xc1, 2,    0xeb, 0xf5, 0};
    /* vmulsd xmm0,xmm0,xmm14; vaddsd xmm0,xmm0,xmm14; jmp back */
    static const uint8_t mixed[] = {5,    0xc4, 0xc1, 0x7b, 0x59, 0xc6, 5,    0xc4,
                                    0xc1, 0x7b, 0x58, 0xc6, 2,    0xeb, 0xf4, 0};
    struct rig rig;
    assert_int_equal(cycles_a_round(&rig, "zen5", mixed, NULL, 0), 6);
    assert_int_equal(cycles_a_round(&rig, "zen5", sum, NULL, 0), 2);
    assert_int_equal(cycles_a_round(&rig, "zen5", product, NULL, 0), 6);
    assert_int_equal(cycles_a_round(&rig, "zen4", sum, NULL, 0), 3);
    assert_int_equal(cycles_a_round(&rig, "zen4", product, NULL, 0), 6);
}

/* add qword [rdi],1; jmp back: to one of `places` words in turn. */
static uint64_t ten_sums_in_turn(const char *core, uint64_t places)
{
    static const uint8_t code[] = {4, 0x48, 0x83, 0x07, 0x01, 2, 0xeb, 0xfa, 0};
    struct rig rig;

    rig_open(&rig, core);
    const uint32_t block = rig_block(&rig, PC, code);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const uint64_t at = 0x20000 + i % places * 8;
        const struct access both[] = {{0, false, 3, at, 0}, {0, true, 3, at, 0}};
        push_round(&rig, block, both, 2, 0);
    }
    const uint64_t cycles = rig_sums(&rig).cycles * 10 / ROUNDS;
    rig_close(&rig);
    return cycles;
}

/* Where rename goes by instructions it passes only what one stored last. */
static void only_the_latest_store_is_renamed(void **state)
{
    (void)state;
    assert_in_range(ten_sums_in_turn("zen5", 1), 10, 11);
    assert_in_range(ten_sums_in_turn("zen5", 4), 20, 21); /* forwarded: 8 cycles for four */
    assert_in_range(ten_sums_in_turn("zen5+rename_any=1", 4), 10, 11);
}

/* mov [rdi],rdx or mov rdx,[rdi]; jmp back: a page each round. Cycles of a round. */
static uint64_t touch_pages(const char *core, bool store, int first_touch)
{
    static const uint8_t stores[] = {3, 0x48, 0x89, 0x17, 2, 0xeb, 0xfb, 0};
    static const uint8_t loads[] = {3, 0x48, 0x8b, 0x17, 2, 0xeb, 0xfb, 0};
    enum { PAGES = 2000 };
    const struct access touch = {0, store, 3, 0x1000000, 4096};
    struct rig rig;

    rig_open_mapping(&rig, core, first_touch);
    const uint32_t block = rig_block(&rig, PC, store ? stores : loads);
    for (uint64_t i = 0; i < PAGES; i++)
        push_round(&rig, block, &touch, 1, i);
    const uint64_t cycles = rig_sums(&rig).cycles / PAGES;
    rig_close(&rig);
    return cycles;
}

static void first_accesses_to_pages_fault(void **state)
{
    (void)state;
    assert_in_range(touch_pages("zen5", true, 1), 440, 600);
    assert_in_range(touch_pages("zen5", false, 1), 450, 650);
    assert_in_range(touch_pages("zen5+page_fault_load=0", false, 1), 0, 200);
    assert_in_range(touch_pages("zen4", false, 1), 0, 200);
    assert_in_range(touch_pages("zen5+page_fault=0", true, 1), 0, 200);
    /* What ran before has had its page faults. */
    assert_in_range(touch_pages("zen5", true, TD_FIRST_TOUCH_LEFT), 0, 300);
}

/* 1000 rounds, a page each, with a mark between the branch and where it goes. */
static struct sums rounds_with_marks(uint64_t mark)
{
    static const uint8_t loads[] = {3, 0x48, 0x8b, 0x17, 2, 0xeb, 0xfb, 0};
    const struct access touch = {0, false, 3, 0x1000000, 4096};
    struct rig rig;

    rig_open_mapping(&rig, "zen4", 1);
    const uint32_t block = rig_block(&rig, PC, loads);
    for (uint64_t i = 0; i < 1000; i++) {
        push_round(&rig, block, &touch, 1, i);
        if (mark)
            rig_word(&rig, mark);
    }
    const struct sums sums = rig_sums(&rig);
    rig_close(&rig);
    return sums;
}

static void marks_of_pages_are_aside(void **state)
{
    (void)state;
    const struct sums without = rounds_with_marks(0);
    const uint64_t elsewhere = td_trace_pages(true, 0x7f0000000, TD_TRACE_PAGES_MAX);

    assert_int_equal(rounds_with_marks(elsewhere).cycles, without.cycles);
    assert_int_equal(rounds_with_marks(td_trace_pages(false, 0x1000, 1000)).cycles, without.cycles);
    assert_true(share(&without, TD_NODE_DRAM_BOUND) < 0.01);
    const struct sums file = rounds_with_marks(td_trace_pages(true, 0x1000, 1000));
    assert_true(share(&file, TD_NODE_DRAM_BOUND) > 0.5);
}

/* Loads with a stride, whose prefetches reach the next page before the program: the fault is left
 * to it. */
static void prefetches_do_not_map_pages(void **state)
{
    (void)state;
    /* mov rdx,[rdi]; jmp back: a line each round */
    static const uint8_t code[] = {3, 0x48, 0x8b, 0x17, 2, 0xeb, 0xfb, 0};
    enum { PAGES = 100, LINES = 64 * PAGES };
    const struct access touch = {0, false, 3, 0x1000000, 64};
    uint64_t cycles[2];

    for (int i = 0; i < 2; i++) {
        struct rig rig;
        rig_open_mapping(&rig, i ? "zen5+page_fault_load=0" : "zen5", 1);
        const uint32_t block = rig_block(&rig, PC, code);
        for (uint64_t k = 0; k < LINES; k++)
            push_round(&rig, block, &touch, 1, k);
        cycles[i] = rig_sums(&rig).cycles;
        rig_close(&rig);
    }
    assert_in_range((cycles[0] - cycles[1]) / PAGES, 440, 480);
}

/* `first`, then `count` times what `insn` has, and a jump back: ten times the cycles of a round. */
static uint64_t ten_of_many(const char *core, const uint8_t *first, const uint8_t *insn, int count,
                            const struct access *some, size_t n)
{
    uint8_t code[2048];
    size_t at = 0, bytes = 0;
    struct rig rig;

    for (int i = -1; i < count; i++) {
        const uint8_t *next = i < 0 ? first : insn;
        for (; *next; next += *next + 1) {
            memcpy(code + at, next, *next + 1U);
            at += *next + 1U;
            bytes += *next;
        }
    }
    const int32_t back = -(int32_t)(bytes + 5);
    code[at++] = 5;
    code[at++] = 0xe9;
    memcpy(code + at, &back, 4);
    code[at + 4] = 0;
    const uint64_t cycles = run(&rig, core, code, some, n).cycles * 10 / ROUNDS;
    rig_close(&rig);
    return cycles;
}

/* What is younger than a locked instruction retires after it, by the width. */
static void locked_instructions_hold_up_retirement(void **state)
{
    (void)state;
    static const uint8_t xchg[] = {2, 0x87, 0x17, 0}, nop[] = {1, 0x90, 0};
    const struct access both[] = {{0, false, 2, 0x20000, 0}, {0, true, 2, 0x20000, 0}};
    assert_in_range(ten_of_many("zen5", xchg, nop, 8, both, 2), 200, 200);
    assert_in_range(ten_of_many("zen5", xchg, nop, 160, both, 2), 370, 390);
    assert_in_range(ten_of_many("zen5+lock_hold=0", xchg, nop, 160, both, 2), 260, 300);
}

/* mov [rdi],rdx to a word each of 12 lines, by turns. */
static void two_stores_enter_l1_in_a_cycle(void **state)
{
    (void)state;
    static const uint8_t nop[] = {1, 0x90, 0}, store[] = {3, 0x48, 0x89, 0x17, 0};
    struct access some[12];
    for (uint32_t i = 0; i < 12; i++)
        some[i] = (struct access){i + 1, true, 3, 0x20000 + 64 * (uint64_t)i, 0};
    assert_in_range(ten_of_many("zen5", nop, store, 12, some, 12), 60, 62);
    assert_in_range(ten_of_many("zen5+store_block=64", nop, store, 12, some, 12), 120, 122);
}

enum { CHAIN = 20 };

/* xor eax,eax and twenty multiplications, then vmovq xmm1,rax: what waits for them fills a
 * scheduler, unless it has room for that of several rounds. Cycles of a round. */
static uint64_t round_of_waiting(const char *core, const uint8_t *insn, int count,
                                 const struct access *some, size_t n)
{
    static const uint8_t zero[] = {2, 0x31, 0xc0}, times[] = {4, 0x48, 0x0f, 0xaf, 0xc0};
    static const uint8_t move[] = {5, 0xc4, 0xe1, 0xf9, 0x6e, 0xc8, 0};
    uint8_t first[sizeof(zero) + CHAIN * sizeof(times) + sizeof(move)];

    memcpy(first, zero, sizeof(zero));
    for (size_t i = 0; i < CHAIN; i++)
        memcpy(first + sizeof(zero) + i * sizeof(times), times, sizeof(times));
    memcpy(first + sizeof(first) - sizeof(move), move, sizeof(move));
    return ten_of_many(core, first, insn, count, some, n) / 10;
}

/* mov [rdi],rax; movzx ecx,byte [rdi]. */
static void loads_wait_in_their_scheduler_for_stores(void **state)
{
    (void)state;
    static const uint8_t store[] = {3, 0x48, 0x89, 0x07, 3, 0x0f, 0xb6, 0x0f, 0};
    struct access some[40];
    for (uint32_t i = 0; i < 20; i++) {
        some[2 * i] = (struct access){CHAIN + 2 + 2 * i, true, 3, 0x20000, 0};
        some[2 * i + 1] = (struct access){CHAIN + 3 + 2 * i, false, 0, 0x20000, 0};
    }
    const uint64_t few = round_of_waiting("zen5+scheduler_memory=16", store, 20, some, 40);
    const uint64_t more = round_of_waiting("zen5+scheduler_memory=400", store, 20, some, 40);
    assert_in_range(few, 60, 90);
    assert_true(more * 2 < few);
}

/* vmovsd [rdi],xmm1. */
static void data_of_vector_stores_waits_with_vectors(void **state)
{
    (void)state;
    static const uint8_t store[] = {4, 0xc5, 0xfb, 0x11, 0x0f, 0};
    static const char few[] = "zen5+scheduler_vector=16+vector_queue=0";
    struct access some[20];
    for (uint32_t i = 0; i < 20; i++)
        some[i] = (struct access){CHAIN + 2 + i, true, 3, 0x20000, 0};
    assert_in_range(round_of_waiting(few, store, 20, some, 20), 60, 90);
    assert_in_range(round_of_waiting("zen5", store, 20, some, 20), 8, 40);
    assert_in_range(
        round_of_waiting("zen4+scheduler_vector=16+vector_queue=0", store, 20, some, 20), 60, 90);
    assert_in_range(round_of_waiting("zen4+vector_store_waits=0", store, 20, some, 20), 20, 40);
}

/* vpaddd xmm2,xmm1,xmm1; vmovsd xmm3,[rdi]. */
static void vector_loads_go_through_the_queue(void **state)
{
    (void)state;
    static const uint8_t with[] = {4, 0xc5, 0xf1, 0xfe, 0xd1, 4, 0xc5, 0xfb, 0x10, 0x1f, 0};
    static const uint8_t without[] = {4, 0xc5, 0xf1, 0xfe, 0xd1, 1, 0x90, 0};
    static const char few[] = "zen5+scheduler_vector=20+vector_queue=24";
    struct access some[20];
    for (uint32_t i = 0; i < 20; i++)
        some[i] = (struct access){CHAIN + 3 + 2 * i, false, 3, 0x20000, 0};
    const uint64_t loads = round_of_waiting(few, with, 20, some, 20);
    const uint64_t nops = round_of_waiting(few, without, 20, NULL, 0);
    assert_true(loads > nops * 5 / 4);
}

/* A round through a vector register and back: movq and vmovq, vmovq and vpmovmskb of 128, of 256.
 */
static void forms_of_moves_between_registers_differ(void **state)
{
    (void)state;
    static const uint8_t sse[] = {5,    0x66, 0x48, 0x0f, 0x6e, 0xc0, 5,    0x66,
                                  0x48, 0x0f, 0x7e, 0xc0, 2,    0xeb, 0xf4, 0};
    static const uint8_t vex[] = {5,    0xc4, 0xe1, 0xf9, 0x6e, 0xc0, 5,    0xc4,
                                  0xe1, 0xf9, 0x7e, 0xc0, 2,    0xeb, 0xf4, 0};
    static const uint8_t mask[] = {5,    0xc4, 0xe1, 0xf9, 0x6e, 0xc0, 4, 0xc5,
                                   0xf9, 0xd7, 0xc0, 2,    0xeb, 0xf5, 0};
    static const uint8_t wide[] = {5,    0xc4, 0xe1, 0xf9, 0x6e, 0xc0, 4, 0xc5,
                                   0xfd, 0xd7, 0xc0, 2,    0xeb, 0xf5, 0};
    struct rig rig;
    assert_int_equal(cycles_a_round(&rig, "zen5", sse, NULL, 0), 9);
    assert_int_equal(cycles_a_round(&rig, "zen5", vex, NULL, 0), 7);
    assert_int_equal(cycles_a_round(&rig, "zen5", mask, NULL, 0), 7);
    assert_int_equal(cycles_a_round(&rig, "zen5", wide, NULL, 0), 9);
    assert_int_equal(cycles_a_round(&rig, "zen4", sse, NULL, 0),
                     cycles_a_round(&rig, "zen4", vex, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alias_puts_a_load_off),
        cmocka_unit_test(forwarding_takes_its_latency),
        cmocka_unit_test(partial_store_blocks_forwarding),
        cmocka_unit_test(memory_is_renamed),
        cmocka_unit_test(renaming_takes_trust),
        cmocka_unit_test(crowded_stores_wait),
        cmocka_unit_test(rename_keeps_few_loads),
        cmocka_unit_test(rename_passes_on_a_store_a_cycle),
        cmocka_unit_test(split_loads_take_longer),
        cmocka_unit_test(a_store_covers_a_load_or_not),
        cmocka_unit_test(vectors_are_forwarded_whole),
        cmocka_unit_test(split_vectors_take_longer),
        cmocka_unit_test(conditional_moves_are_a_chain),
        cmocka_unit_test(split_stores_take_two_turns),
        cmocka_unit_test(pages_of_code_miss_the_itlb),
        cmocka_unit_test(walks_are_bound_by_l1),
        cmocka_unit_test(locks_are_bound_by_l1),
        cmocka_unit_test(popcnt_waits_where_it_does),
        cmocka_unit_test(who_is_woken_too_early_takes_a_port),
        cmocka_unit_test(sbb_of_one_register_waits_for_the_carry),
        cmocka_unit_test(the_carry_goes_through_dec),
        cmocka_unit_test(a_ready_divide_goes_first),
        cmocka_unit_test(chains_with_divides_overlap),
        cmocka_unit_test(a_long_chain_waits_for_each_divide),
        cmocka_unit_test(vector_adds_have_a_port_more),
        cmocka_unit_test(large_code_misses_the_icache),
        cmocka_unit_test(decoders_are_slower_than_the_uop_cache),
        cmocka_unit_test(mispredicts_lose_the_refill),
        cmocka_unit_test(wrong_path_begins_loads),
        cmocka_unit_test(wrong_path_fills_the_scheduler),
        cmocka_unit_test(indirect_targets_are_learnt),
        cmocka_unit_test(order_violation_clears_then_waits),
        cmocka_unit_test(independent_divides_share_one_divider),
        cmocka_unit_test(one_port_is_core_bound),
        cmocka_unit_test(full_reorder_buffer_waits_for_memory),
        cmocka_unit_test(misses_overlap_up_to_their_number),
        cmocka_unit_test(full_store_buffer_is_store_bound),
        cmocka_unit_test(string_moves_by_bytes),
        cmocka_unit_test(string_scans_by_elements),
        cmocka_unit_test(calls_and_returns_take_prediction),
        cmocka_unit_test(jumps_take_prediction),
        cmocka_unit_test(far_jumps_wait_for_their_target),
        cmocka_unit_test(what_is_called_through_memory_waits_for_the_call),
        cmocka_unit_test(an_indexed_store_has_two_slots_of_one_cycle),
        cmocka_unit_test(a_jump_through_memory_has_two_slots),
        cmocka_unit_test(a_store_has_the_address_of_its_load),
        cmocka_unit_test(constants_and_signs_take_a_port),
        cmocka_unit_test(arithmetic_waits_for_the_stack_engine),
        cmocka_unit_test(dense_code_pauses_the_uop_cache),
        cmocka_unit_test(decoders_stop_at_a_jump),
        cmocka_unit_test(prediction_begins_after_a_mispredict),
        cmocka_unit_test(conditional_moves_go_by_their_flags),
        cmocka_unit_test(sums_are_forwarded_sooner),
        cmocka_unit_test(only_the_latest_store_is_renamed),
        cmocka_unit_test(prefetches_do_not_map_pages),
        cmocka_unit_test(marks_of_pages_are_aside),
        cmocka_unit_test(locked_instructions_hold_up_retirement),
        cmocka_unit_test(two_stores_enter_l1_in_a_cycle),
        cmocka_unit_test(loads_wait_in_their_scheduler_for_stores),
        cmocka_unit_test(data_of_vector_stores_waits_with_vectors),
        cmocka_unit_test(vector_loads_go_through_the_queue),
        cmocka_unit_test(forms_of_moves_between_registers_differ),
        cmocka_unit_test(first_accesses_to_pages_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
