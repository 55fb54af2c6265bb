/* SPDX-License-Identifier: MIT */
/* What Intel's Golden Cove and its kin do that other cores do not: what rename does by itself,
 * where a call ends, small loops of jumps, and stores whose address comes late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "record/sim/model/decode/decode.h"
#include "record/sim/model/ports.h"
#include "sim_rounds.h"

/* The uop of an instruction on a core. */
static struct td_uop decoded(const char *core, const uint8_t *bytes, size_t size)
{
    struct td_core_desc desc;
    struct td_ports ports;
    struct td_insn insn;

    assert_int_equal(td_core_desc_builtin(&desc, core, NULL), TD_OK);
    td_ports_init(&ports, &desc);
    struct td_decoder *decoder = td_decoder_new(&desc, &ports);
    assert_non_null(decoder);
    td_decode(decoder, bytes, size, PC, &insn);
    td_decoder_free(decoder);
    return insn.uop;
}

#define DECODED(core, ...) \
    decoded(core, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static bool folds(struct td_uop uop)
{
    return (uop.flags & TD_UOP_FOLD) != 0;
}

static void rename_adds_constants_of_64_bits(void **state)
{
    (void)state;
    assert_true(folds(DECODED("golden-cove", 0x48, 0x83, 0xc0, 0x01))); /* add rax, 1 */
    assert_false(folds(DECODED("golden-cove", 0x83, 0xc0, 0x01)));      /* add eax, 1 */
    assert_true(folds(DECODED("golden-cove", 0x48, 0xff, 0xc8)));       /* dec rax */
    assert_false(folds(DECODED("golden-cove", 0xff, 0xc8)));            /* dec eax */
    assert_true(folds(DECODED("golden-cove", 0x48, 0x8d, 0x43, 0x08))); /* lea rax, [rbx+8] */
    assert_false(folds(DECODED("golden-cove", 0x8d, 0x43, 0x08)));      /* lea eax, [rbx+8] */
    assert_false(folds(DECODED("golden-cove", 0x48, 0x8d, 0x44, 0x0b, 0x08))); /* with rcx */
    /* lea rax, [rbx-1024], [rbx+1024], [rip+8] */
    assert_true(folds(DECODED("golden-cove", 0x48, 0x8d, 0x83, 0x00, 0xfc, 0xff, 0xff)));
    assert_false(folds(DECODED("golden-cove", 0x48, 0x8d, 0x83, 0x00, 0x04, 0x00, 0x00)));
    assert_false(folds(DECODED("golden-cove", 0x48, 0x8d, 0x05, 0x08, 0x00, 0x00, 0x00)));
    assert_false(folds(DECODED("zen4", 0x48, 0x83, 0xc0, 0x01)));
}

static void rename_moves_bytes(void **state)
{
    (void)state;
    assert_true(DECODED("golden-cove", 0x0f, 0xb6, 0xc3).issue.add == 0); /* movzx eax, bl */
    assert_true(DECODED("golden-cove", 0x0f, 0xb6, 0xc0).issue.add != 0); /* movzx eax, al */
    assert_true(DECODED("golden-cove", 0x0f, 0xb6, 0xc7).issue.add != 0); /* movzx eax, bh */
    assert_true(DECODED("golden-cove", 0x0f, 0xb7, 0xc3).issue.add != 0); /* movzx eax, bx */
    assert_true(DECODED("golden-cove", 0x89, 0xd8).issue.add == 0);       /* mov eax, ebx */
    assert_true(DECODED("golden-cove", 0x89, 0xc0).issue.add != 0);       /* mov eax, eax */
    assert_true(DECODED("zen4", 0x89, 0xc0).issue.add == 0);
    assert_true(DECODED("zen4", 0x0f, 0xb6, 0xc3).issue.add != 0);
}

static void scaled_addresses_take_two_cycles(void **state)
{
    (void)state;
    assert_int_equal(DECODED("golden-cove", 0x48, 0x8d, 0x04, 0x0b).latency, 1); /* rbx+rcx */
    assert_int_equal(DECODED("golden-cove", 0x48, 0x8d, 0x04, 0x8b).latency, 2); /* rbx+rcx*4 */
    assert_int_equal(DECODED("skylake", 0x48, 0x8d, 0x04, 0x8b).latency, 1);
}

static void shifts_wait_for_what_rename_added(void **state)
{
    (void)state;
    /* add rax,8; shl rax,3; jmp back */
    static const uint8_t added[] = {4,    0x48, 0x83, 0xc0, 8,    4,    0x48,
                                    0xc1, 0xe0, 3,    2,    0xeb, 0xf6, 0};
    /* add rax,rbx; shl rax,3; jmp back */
    static const uint8_t summed[] = {3, 0x48, 0x01, 0xd8, 4, 0x48, 0xc1, 0xe0, 3, 2, 0xeb, 0xf7, 0};
    assert_in_range(ten_cycles_a_round("golden-cove", added, NULL, 0), 30, 31);
    assert_in_range(ten_cycles_a_round("golden-cove+fold_shift=0", added, NULL, 0), 10, 11);
    assert_in_range(ten_cycles_a_round("golden-cove", summed, NULL, 0), 20, 21);
}

/* imul rax,rbx; and eax,0; mov [rdi+rax],rcx; mov rax,[rdi+rax]; jmp back. */
static const uint8_t meeting[] = {4,    0x48, 0x0f, 0xaf, 0xc3, 3,    0x83, 0xe0,
                                  0,    4,    0x48, 0x89, 0x0c, 0x07, 4,    0x48,
                                  0x8b, 0x04, 0x07, 2,    0xeb, 0xef, 0};
/* The same, but the load is of [rdi]. */
static const uint8_t waiting[] = {4,    0x48, 0x0f, 0xaf, 0xc3, 3,    0x83, 0xe0, 0,    4,    0x48,
                                  0x89, 0x0c, 0x07, 3,    0x48, 0x8b, 0x07, 2,    0xeb, 0xf0, 0};

static void late_addresses_of_stores_cost(void **state)
{
    (void)state;
    const struct access same[] = {{2, true, 3, 0x20000, 0}, {3, false, 3, 0x20000, 0}};
    /* 3 and 1 cycles of arithmetic, 5 to pass on; 7 and 2 more (golden-cove.uarch). */
    assert_in_range(ten_cycles_a_round("golden-cove", meeting, same, 2), 158, 162);
    assert_in_range(ten_cycles_a_round("golden-cove+forward_meets=0", meeting, same, 2), 88, 92);
    assert_in_range(ten_cycles_a_round("golden-cove", waiting, same, 2), 108, 112);
    assert_in_range(ten_cycles_a_round("golden-cove+forward_waits=0", waiting, same, 2), 88, 92);
}

/* On Redwood Cove a load by a register and a constant has the register that was stored, one by two
 * registers has not. */
static void only_plain_addresses_are_renamed(void **state)
{
    (void)state;
    /* mov [rdi],rdx; mov rdx,[rdi]; jmp back, and by rdi and rcx */
    static const uint8_t plain[] = {3, 0x48, 0x89, 0x17, 3, 0x48, 0x8b, 0x17, 2, 0xeb, 0xf8, 0};
    static const uint8_t indexed[] = {4,    0x48, 0x89, 0x14, 0x0f, 4,    0x48,
                                      0x8b, 0x14, 0x0f, 2,    0xeb, 0xf6, 0};
    const struct access same[] = {{0, true, 3, 0x20000, 0}, {1, false, 3, 0x20000, 0}};
    assert_in_range(ten_cycles_a_round("redwood-cove", plain, same, 2), 0, 12);
    assert_in_range(ten_cycles_a_round("redwood-cove", indexed, same, 2), 50, 52);
    assert_in_range(ten_cycles_a_round("redwood-cove+rename_any=1", indexed, same, 2), 0, 12);
}

#define FIVE_NOPS 1, 0x90, 1, 0x90, 1, 0x90, 1, 0x90, 1, 0x90

/* 10 nops and a call; there a jump back. */
static uint64_t ten_calls(const char *core)
{
    static const uint8_t call[] = {FIVE_NOPS, FIVE_NOPS, 5, 0xe8, 0x31, 0, 0, 0, 0};
    static const uint8_t back[] = {2, 0xeb, 0xbe, 0};
    enum { CALL = 10 };
    struct rig rig;

    rig_open(&rig, core);
    const uint32_t from = rig_block(&rig, PC, call), to = rig_block(&rig, PC + 64, back);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        rig_word(&rig, td_trace_block(from));
        rig_word(&rig, td_trace_access(CALL, true, 3, 0x7000));
        rig_word(&rig, td_trace_block(to));
    }
    const uint64_t cycles = rig_sums(&rig).cycles;
    rig_close(&rig);
    return cycles * 10 / ROUNDS;
}

/* Ten slots, the call's two and the jump's: 13, of six a cycle. */
static void nothing_follows_a_call_in_its_cycle(void **state)
{
    (void)state;
    assert_in_range(ten_calls("golden-cove"), 30, 31);
    assert_in_range(ten_calls("golden-cove+call_ends_group=0"), 21, 23);
}

/* Jumps of a small loop come several a cycle, those of a larger one do not. */
static void small_loops_of_jumps_are_quick(void **state)
{
    (void)state;
    static const uint8_t on[] = {1, 0x90, 2, 0xeb, 0x3d, 0};
    static const uint8_t far_back[] = {1, 0x90, 5, 0xe9, 0x3a, 0xf8, 0xff, 0xff, 0};
    static const uint8_t back[] = {1, 0x90, 5, 0xe9, 0x3a, 0xfe, 0xff, 0xff, 0};
    const uint8_t *few[8], *many[32];

    for (int i = 0; i < 8; i++)
        few[i] = i < 7 ? on : back;
    for (int i = 0; i < 32; i++)
        many[i] = i < 31 ? on : far_back;
    assert_in_range(ten_rounds("golden-cove", few, 8), 26, 30); /* 16 slots */
    assert_in_range(ten_rounds("golden-cove", many, 32), 310, 330);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rename_adds_constants_of_64_bits),
        cmocka_unit_test(rename_moves_bytes),
        cmocka_unit_test(scaled_addresses_take_two_cycles),
        cmocka_unit_test(shifts_wait_for_what_rename_added),
        cmocka_unit_test(late_addresses_of_stores_cost),
        cmocka_unit_test(only_plain_addresses_are_renamed),
        cmocka_unit_test(nothing_follows_a_call_in_its_cycle),
        cmocka_unit_test(small_loops_of_jumps_are_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
