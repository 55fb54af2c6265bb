/* SPDX-License-Identifier: MIT */
/* Instructions to uops: registers, costs and the ways an instruction is cheaper than its class. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "record/sim/model/blocks.h"
#include "record/sim/model/decode/isa.h"

static struct td_core_desc desc;
static struct td_ports ports;
static struct td_decoder *decoder;

static int open_decoder(void **state)
{
    (void)state;
    if (td_core_desc_builtin(&desc, "golden-cove", NULL) != TD_OK)
        return -1;
    td_ports_init(&ports, &desc);
    decoder = td_decoder_new(&desc, &ports);
    return decoder ? 0 : -1;
}

static int close_decoder(void **state)
{
    (void)state;
    td_decoder_free(decoder);
    return 0;
}

#define DECODE(...) decode((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static struct td_insn decode(const uint8_t *bytes, size_t size)
{
    struct td_insn insn;

    td_decode(decoder, bytes, size, 0x1000, &insn);
    return insn;
}

enum { RAX = TD_REG_GPR, RCX, RDX, RBX };

static void plain_add(void **state)
{
    (void)state;
    const struct td_insn insn = DECODE(0x48, 0x01, 0xd8); /* add rax, rbx */

    assert_int_equal(insn.uop.slots, 1);
    assert_int_equal(insn.uop.latency, 1);
    assert_int_equal(insn.uop.dst[0], RAX);
    assert_int_equal(insn.uop.dst[1], TD_REG_FLAGS);
    assert_int_equal(insn.uop.src[0], RAX);
    assert_int_equal(insn.uop.src[1], RBX);
    assert_true(insn.uop.issue.add != 0);
    assert_int_equal(insn.branch, TD_BRANCH_NONE);
    assert_false(insn.unknown);
}

static void renamed_away(void **state)
{
    (void)state;
    struct td_insn insn = DECODE(0x31, 0xc0); /* xor eax, eax */
    assert_int_equal(insn.uop.src[0], TD_REG_NONE);
    assert_true(insn.uop.issue.add == 0);
    insn = DECODE(0x48, 0x89, 0xd8); /* mov rax, rbx */
    assert_true(insn.uop.issue.add == 0);
    assert_int_equal(insn.uop.src[0], RBX);
    insn = DECODE(0x48, 0x83, 0xc0, 0x01); /* add rax, 1 */
    assert_true(insn.uop.flags & TD_UOP_FOLD);
    assert_int_equal(insn.uop.dst[0], RAX);
    insn = DECODE(0xc5, 0xf9, 0xef, 0xc0); /* vpxor xmm0, xmm0, xmm0 */
    assert_int_equal(insn.uop.src[0], TD_REG_NONE);
}

static void memory_forms(void **state)
{
    (void)state;
    struct td_insn insn = DECODE(0x48, 0x8b, 0x04, 0x0b); /* mov rax, [rbx + rcx] */
    assert_int_equal(insn.uop.flags, TD_UOP_LOAD);
    assert_int_equal(insn.uop.address[0], RBX);
    assert_int_equal(insn.uop.address[1], RCX);
    insn = DECODE(0x48, 0x01, 0x03); /* add [rbx], rax */
    assert_int_equal(insn.uop.flags, TD_UOP_LOAD | TD_UOP_STORE);
    assert_int_equal(insn.uop.slots, desc.rmw_slots);
    insn = DECODE(0x48, 0x8d, 0x04, 0x0b); /* lea rax, [rbx + rcx] */
    assert_int_equal(insn.uop.flags, 0);
    assert_int_equal(insn.uop.src[0], RBX);
    insn = DECODE(0x50); /* push rax: no dependence on rsp */
    assert_int_equal(insn.uop.flags, TD_UOP_STORE);
    assert_int_equal(insn.uop.dst[0], TD_REG_SINK);
    insn = DECODE(0xc5, 0xfc, 0x10, 0x03); /* vmovups ymm0, [rbx] */
    assert_int_equal(insn.uop.load_latency, desc.vector_latency);
    assert_true(insn.uop.issue.add == 0);
}

/* What one uop of the core cannot hold has two slots. */
static void joined_forms(void **state)
{
    (void)state;
    const struct {
        uint8_t code[6];
        uint8_t size, slots;
        bool executes;
    } forms[] = {
        {{0x48, 0x3b, 0x03}, 3, 1, true},              /* cmp rax, [rbx] */
        {{0x48, 0x3b, 0x04, 0x0b}, 4, 2, true},        /* cmp rax, [rbx + rcx] */
        {{0x48, 0x8b, 0x04, 0x0b}, 4, 1, false},       /* mov rax, [rbx + rcx] */
        {{0x0f, 0xb6, 0x04, 0x0b}, 4, 1, false},       /* movzx eax, byte [rbx + rcx] */
        {{0x48, 0x63, 0x03}, 3, 1, true},              /* movsxd rax, [rbx] */
        {{0x48, 0x63, 0x04, 0x0b}, 4, 2, true},        /* movsxd rax, [rbx + rcx] */
        {{0x8a, 0x04, 0x0b}, 3, 2, true},              /* mov al, [rbx + rcx] */
        {{0x48, 0x89, 0x03}, 3, 1, false},             /* mov [rbx], rax */
        {{0x48, 0x89, 0x04, 0x0b}, 4, 2, true},        /* mov [rbx + rcx], rax */
        {{0xc6, 0x03, 0x05}, 3, 1, true},              /* mov byte [rbx], 5 */
        {{0x66, 0x0f, 0x7f, 0x04, 0x0b}, 5, 1, false}, /* movdqa [rbx + rcx], xmm0 */
        {{0x66, 0x0f, 0xfe, 0x04, 0x0b}, 5, 1, true},  /* paddd xmm0, [rbx + rcx] */
        {{0x48, 0x0f, 0x44, 0x03}, 4, 2, true},        /* cmovz rax, [rbx] */
        {{0x0f, 0x94, 0x03}, 3, 2, true},              /* setz [rbx] */
        {{0x48, 0x01, 0x03}, 3, 2, true},              /* add [rbx], rax */
        {{0x50}, 1, 1, false},                         /* push rax */
        {{0xe8, 0, 0, 0, 0}, 5, 1, true},              /* call */
    };
    struct td_core_desc zen4;
    struct td_ports zen4_ports;
    assert_int_equal(td_core_desc_builtin(&zen4, "zen4", NULL), TD_OK);
    td_ports_init(&zen4_ports, &zen4);
    struct td_decoder *const of_zen4 = td_decoder_new(&zen4, &zen4_ports);
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct td_insn insn;
        td_decode(of_zen4, forms[i].code, forms[i].size, 0x1000, &insn);
        const bool executes = insn.uop.issue.waits != 0;
        if (insn.uop.slots != forms[i].slots || executes != forms[i].executes)
            fail_msg("form %zu: %d slots, %s a port", i, insn.uop.slots, executes ? "on" : "on no");
    }
    td_decoder_free(of_zen4);
}

static void costs_come_from_the_description(void **state)
{
    (void)state;
    struct td_insn insn = DECODE(0x48, 0xf7, 0xf1); /* div rcx */
    assert_int_equal(insn.uop.latency, desc.ops[TD_OP_DIV64].latency);
    assert_int_equal(insn.uop.unit, TD_UNIT_DIVIDE);
    assert_true(insn.uop.flags & TD_UOP_HEAVY);
    insn = DECODE(0xf7, 0xf1); /* div ecx */
    assert_int_equal(insn.uop.latency, desc.ops[TD_OP_DIV32].latency);
    insn = DECODE(0xf2, 0x0f, 0x5e, 0xc1); /* divsd xmm0, xmm1 */
    assert_int_equal(insn.uop.unit, TD_UNIT_FLOAT_DIVIDE);
    insn = DECODE(0xf2, 0x0f, 0x59, 0xc1); /* mulsd xmm0, xmm1 */
    assert_int_equal(insn.uop.latency, desc.ops[TD_OP_FMUL].latency);
    insn = DECODE(0xf0, 0x48, 0x01, 0x03); /* lock add [rbx], rax */
    assert_int_equal(insn.uop.slots, desc.ops[TD_OP_LOCKED].slots);
    insn = DECODE(0xf3, 0xa4); /* rep movsb */
    assert_true(insn.repeats);
    insn = DECODE(0x66, 0x48, 0x0f, 0x6e, 0xc0); /* movq xmm0, rax */
    assert_int_equal(insn.uop.latency, desc.ops[TD_OP_MOV_MERGE].latency);
    insn = DECODE(0xd3, 0xe0); /* shl eax, cl */
    assert_int_equal(insn.uop.slots, desc.ops[TD_OP_SHIFT_CL].slots);
}

static void branches(void **state)
{
    (void)state;
    struct td_insn insn = DECODE(0x75, 0x10); /* jnz +16 */
    assert_int_equal(insn.branch, TD_BRANCH_CONDITIONAL);
    assert_true(insn.target == 0x1012);
    assert_true(insn.fuses_second);
    insn = DECODE(0xe8, 0, 1, 0, 0);
    assert_int_equal(insn.branch, TD_BRANCH_CALL);
    assert_true(insn.target == 0x1105);
    insn = DECODE(0xff, 0xe0);
    assert_int_equal(insn.branch, TD_BRANCH_INDIRECT_JUMP);
    insn = DECODE(0xff, 0x10);
    assert_int_equal(insn.branch, TD_BRANCH_INDIRECT_CALL);
    insn = DECODE(0xc3);
    assert_int_equal(insn.branch, TD_BRANCH_RETURN);
    insn = DECODE(0x48, 0x39, 0xd8);
    assert_true(insn.fuses_first);
}

static void a_compare_and_its_jump_are_one(void **state)
{
    (void)state;
    static const uint8_t code[] = {0x48, 0x39, 0xd8, 0x75, 0x10}; /* cmp rax, rbx; jnz */
    static const uint8_t lengths[] = {3, 2};
    struct td_blocks *blocks = td_blocks_new(&desc);
    const uint32_t id = td_blocks_define(blocks, 0x2000, code, lengths, 2);
    const struct td_block *block = td_blocks_get(blocks, id);

    assert_int_equal(block->uop_count, 1);
    assert_int_equal(block->slots, 1);
    assert_int_equal(block->insn_slots[0], 1);
    assert_int_equal(block->insn_slots[1], 0);
    assert_true(block->branch_pc == 0x2003);
    assert_true(block->end == 0x2005);
    assert_int_equal(td_blocks_define(blocks, 0x2000, code, lengths, 2), id);
    assert_int_equal(td_blocks_count(blocks), 1);
    td_blocks_free(blocks);
}

/* Less than an instruction is the beginning of one; the whole is not, whatever follows, nor is what
 * is none. */
static void a_beginning_is_cut(void **state)
{
    static const struct {
        uint8_t size, bytes[15];
    } insns[] = {
        {1, {0x90}},                                               /* nop */
        {3, {0x0f, 0x44, 0xd0}},                                   /* cmove %eax, %edx */
        {6, {0x89, 0x9e, 0x18, 0x04, 0x00, 0x00}},                 /* mov %ebx, 0x418(%rsi) */
        {10, {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}},                /* movabs */
        {10, {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}},       /* nopw */
        {6, {0xc4, 0xe2, 0xed, 0x90, 0x24, 0x00}},                 /* vpgatherdq */
        {10, {0x62, 0xf1, 0x7c, 0x48, 0x28, 0x84, 0x24, 0, 1, 0}}, /* vmovaps, but its last byte */
    };

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(insns); i++) {
        for (size_t size = 0; size < insns[i].size; size++)
            assert_true(td_decode_x86_is_cut(insns[i].bytes, size));
    }
    for (size_t i = 0; i < TD_ARRAY_SIZE(insns) - 1; i++)
        assert_false(td_decode_x86_is_cut(insns[i].bytes, sizeof(insns[i].bytes)));
    static const uint8_t none[] = {0x06};
    assert_false(td_decode_x86_is_cut(none, sizeof(none)));
}

/* No bytes may upset the decoder: what it does not know is microcode. */
static void any_bytes_decode(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252ULL;

    for (int i = 0; i < 200000; i++) {
        uint8_t bytes[15];
        struct td_insn insn;
        for (size_t k = 0; k < sizeof(bytes); k++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            bytes[k] = (uint8_t)random;
        }
        td_decode(decoder, bytes, 1 + random % sizeof(bytes), 0x1000, &insn);
        assert_true(insn.uop.slots >= 1);
        for (int k = 0; k < 3; k++)
            assert_true(insn.uop.src[k] < TD_REG_COUNT);
        for (int k = 0; k < 2; k++)
            assert_true(insn.uop.dst[k] != TD_REG_NONE && insn.uop.dst[k] < TD_REG_COUNT);
    }
}

/* Every set of ports that an operation uses takes as many uops a cycle as it has ports. */
static void ports_fit_what_they_can(void **state)
{
    (void)state;
    for (int op = 0; op < TD_OP_COUNT; op++) {
        const uint16_t set = desc.ops[op].ports;
        uint64_t word = ports.empty;
        int issued = 0;
        if (!set)
            continue;
        const struct td_port_mask mask = td_ports_mask(&ports, set, 0);
        for (; !(word & mask.full) && issued < 20; issued++)
            word += mask.add;
        assert_int_equal(issued, __builtin_popcount(set));
        assert_int_equal(word >> TD_PORT_ISSUED_AT, issued);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_add),        cmocka_unit_test(renamed_away),
        cmocka_unit_test(memory_forms),     cmocka_unit_test(costs_come_from_the_description),
        cmocka_unit_test(branches),         cmocka_unit_test(a_compare_and_its_jump_are_one),
        cmocka_unit_test(any_bytes_decode), cmocka_unit_test(ports_fit_what_they_can),
        cmocka_unit_test(joined_forms),     cmocka_unit_test(a_beginning_is_cut),
    };
    return cmocka_run_group_tests(tests, open_decoder, close_decoder);
}
