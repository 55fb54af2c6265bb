/* SPDX-License-Identifier: MIT */
/* A64 words (from an assembler) to uops, and call paths where calls leave a link in a register. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim_rig.h"

static struct td_core_desc desc;
static struct td_ports ports;
static struct td_decoder *decoder;

static int open_decoder(void **state)
{
    (void)state;
    if (td_core_desc_builtin(&desc, "neoverse-n2", NULL) != TD_OK)
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

static struct td_insn decode(uint32_t word)
{
    const uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
                              (uint8_t)(word >> 24)};
    struct td_insn insn;

    td_decode(decoder, bytes, sizeof(bytes), 0x1000, &insn);
    return insn;
}

#define X(n) (TD_REG_GPR + (n))
#define V(n) (TD_REG_VECTOR + (n))
#define P(n) (TD_REG_PREDICATE + (n))
enum { SP = X(31), NZCV = TD_REG_FLAGS, NO = TD_REG_NONE, SINK = TD_REG_SINK };
enum { LD = TD_UOP_LOAD, ST = TD_UOP_STORE };

/* What is compared of an instruction: its class by latency and slots, registers, kind. */
struct expected {
    const char *text;
    uint32_t word;
    enum td_op_class class; /* of the operation; NOP: executes nowhere */
    int flags;              /* LD, ST, TD_UOP_PREFETCH */
    int src[3], address[2], dst[2];
};

static const struct expected expected[] = {
    {"add x0, x1, x2", 0x8b020020, TD_OP_ALU, 0, {X(1), X(2)}, {NO}, {X(0), SINK}},
    {"adds x0, x1, x2, lsl #5", 0xab021420, TD_OP_ALU_SHIFT, 0, {X(1), X(2)}, {NO}, {X(0), NZCV}},
    {"cmp w3, #7", 0x71001c7f, TD_OP_ALU_FLAGS, 0, {X(3)}, {NO}, {NZCV, SINK}},
    {"mov x5, x6", 0xaa0603e5, TD_OP_NOP, 0, {X(6)}, {NO}, {X(5), SINK}},
    {"mov w0, #0", 0x52800000, TD_OP_NOP, 0, {NO}, {NO}, {X(0), SINK}},
    {"movk x3, #1, lsl #16", 0xf2a00023, TD_OP_ALU, 0, {X(3)}, {NO}, {X(3), SINK}},
    {"ror x1, x2, #3", 0x93c20c41, TD_OP_SHIFT, 0, {X(2), X(2)}, {NO}, {X(1), SINK}},
    {"extr x1, x2, x3, #3", 0x93c30c41, TD_OP_SHIFT_DOUBLE, 0, {X(2), X(3)}, {NO}, {X(1), SINK}},
    {"sdiv w0, w1, w2", 0x1ac20c20, TD_OP_DIV32, 0, {X(1), X(2)}, {NO}, {X(0), SINK}},
    {"udiv x0, x1, x2", 0x9ac20820, TD_OP_DIV64, 0, {X(1), X(2)}, {NO}, {X(0), SINK}},
    {"madd x0, x1, x2, x3", 0x9b020c20, TD_OP_MADD, 0, {X(1), X(2), X(3)}, {NO}, {X(0), SINK}},
    {"mul x0, x1, x2", 0x9b027c20, TD_OP_MUL, 0, {X(1), X(2)}, {NO}, {X(0), SINK}},
    {"umulh x0, x1, x2", 0x9bc27c20, TD_OP_MUL_WIDE, 0, {X(1), X(2)}, {NO}, {X(0), SINK}},
    {"csel x0, x1, x2, eq", 0x9a820020, TD_OP_CMOV, 0, {X(1), X(2), NZCV}, {NO}, {X(0), SINK}},
    {"ccmp x1, x2, #0, ne", 0xfa421020, TD_OP_ALU_FLAGS, 0, {X(1), X(2), NZCV}, {NO}, {NZCV, SINK}},
    {"sub sp, sp, #0x120", 0xd10483ff, TD_OP_ALU, 0, {SP}, {NO}, {SP, SINK}},
    {"ldr x0, [x1, #8]", 0xf9400420, TD_OP_NOP, LD, {NO}, {X(1)}, {X(0), SINK}},
    {"ldr x0, [x1], #16", 0xf8410420, TD_OP_NOP, LD, {NO}, {X(1)}, {X(0), SINK}},
    {"ldr x0, [x1, x2, lsl #3]", 0xf8627820, TD_OP_NOP, LD, {NO}, {X(1), X(2)}, {X(0), SINK}},
    {"ldp x29, x30, [sp], #48", 0xa8c37bfd, TD_OP_NOP, LD, {NO}, {SP}, {X(29), X(30)}},
    {"stp x29, x30, [sp, #-48]!", 0xa9bd7bfd, TD_OP_NOP, ST, {X(29), X(30)}, {SP}, {SINK, SINK}},
    {"ldr q1, [x2]", 0x3dc00041, TD_OP_NOP, LD, {NO}, {X(2)}, {V(1), SINK}},
    {"ldp q0, q1, [x2, #32]", 0xad410440, TD_OP_NOP, LD, {NO}, {X(2)}, {V(0), V(1)}},
    {"ldxr x0, [x1]", 0xc85f7c20, TD_OP_NOP, LD, {NO}, {X(1)}, {X(0), SINK}},
    {"stxr w2, x0, [x1]", 0xc8027c20, TD_OP_NOP, LD | ST, {X(0)}, {X(1)}, {X(2), SINK}},
    {"ldadd x1, x2, [x3]", 0xf8210062, TD_OP_LOCKED, LD | ST, {X(1)}, {X(3)}, {X(2), SINK}},
    {"casal x1, x2, [x3]", 0xc8e1fc62, TD_OP_LOCKED, LD | ST, {X(1), X(2)}, {X(3)}, {X(1), SINK}},
    {"ld1 {v4.16b}, [x1]", 0x4c407024, TD_OP_NOP, LD, {NO}, {X(1)}, {V(4), SINK}},
    {"prfm pldl1keep, [x3]", 0xf9800060, TD_OP_NOP, TD_UOP_PREFETCH, {NO}, {X(3)}, {SINK, SINK}},
    {"dc zva, x3", 0xd50b7423, TD_OP_NOP, ST, {NO}, {X(3)}, {SINK, SINK}},
    {"paciasp", 0xd503233f, TD_OP_PAC, 0, {X(30)}, {NO}, {X(30), SINK}},
    {"bti c", 0xd503245f, TD_OP_NOP, 0, {NO}, {NO}, {SINK, SINK}},
    {"fadd d0, d1, d2", 0x1e622820, TD_OP_FADD, 0, {V(1), V(2)}, {NO}, {V(0), SINK}},
    {"fmadd d0, d1, d2, d3", 0x1f420c20, TD_OP_FMA, 0, {V(1), V(2), V(3)}, {NO}, {V(0), SINK}},
    {"fdiv s0, s1, s2", 0x1e221820, TD_OP_FDIV32, 0, {V(1), V(2)}, {NO}, {V(0), SINK}},
    {"fsqrt d0, d1", 0x1e61c020, TD_OP_FSQRT64, 0, {V(1)}, {NO}, {V(0), SINK}},
    {"fcmp d0, #0.0", 0x1e602008, TD_OP_FCOMI, 0, {V(0)}, {NO}, {NZCV, SINK}},
    {"fcvtzs x0, d1", 0x9e780020, TD_OP_CVT_TO_GPR, 0, {V(1)}, {NO}, {X(0), SINK}},
    {"scvtf d0, x1", 0x9e620020, TD_OP_CVT_FROM_GPR, 0, {X(1)}, {NO}, {V(0), SINK}},
    {"fmov x0, d1", 0x9e660020, TD_OP_MOV_TO_GPR, 0, {V(1)}, {NO}, {X(0), SINK}},
    {"fmov d0, x1", 0x9e670020, TD_OP_MOV_FROM_GPR, 0, {X(1)}, {NO}, {V(0), SINK}},
    {"add v0.4s, v1.4s, v2.4s", 0x4ea28420, TD_OP_VINT, 0, {V(1), V(2)}, {NO}, {V(0), SINK}},
    {"mla v0.4s, v1.4s, v2.4s", 0x4ea29420, TD_OP_VMUL, 0, {V(1), V(2), V(0)}, {NO}, {V(0), SINK}},
    {"fmla v0.4s, v1.4s, v2.s[1]",
     0x4fa21020,
     TD_OP_FMA,
     0,
     {V(1), V(2), V(0)},
     {NO},
     {V(0), SINK}},
    {"mul v0.8h, v1.8h, v10.h[4]", 0x4f4a8820, TD_OP_VMUL, 0, {V(1), V(10)}, {NO}, {V(0), SINK}},
    {"tbl v0.16b, {v1.16b}, v2.16b", 0x4e020020, TD_OP_VSHUF, 0, {V(1), V(2)}, {NO}, {V(0), SINK}},
    {"addv s0, v1.4s", 0x4eb1b820, TD_OP_VREDUCE, 0, {V(1)}, {NO}, {V(0), SINK}},
    {"ushr v0.4s, v1.4s, #3", 0x6f3d0420, TD_OP_VSHIFT, 0, {V(1)}, {NO}, {V(0), SINK}},
    {"mov w0, v1.s[2]", 0x0e143c20, TD_OP_MOV_TO_GPR, 0, {V(1)}, {NO}, {X(0), SINK}},
    {"aese v0.16b, v1.16b", 0x4e284820, TD_OP_AES, 0, {V(1), V(0)}, {NO}, {V(0), SINK}},
    {"sha256h q0, q1, v2.4s", 0x5e024020, TD_OP_SHA, 0, {V(1), V(2), V(0)}, {NO}, {V(0), SINK}},
    {"xtn v0.8b, v1.8h", 0x0e212820, TD_OP_VINT, 0, {V(1)}, {NO}, {V(0), SINK}},
    {"xtn2 v0.16b, v1.8h", 0x4e212820, TD_OP_VINT, 0, {V(1), V(0)}, {NO}, {V(0), SINK}},
    {"movi v0.2d, #0", 0x6f00e400, TD_OP_NOP, 0, {NO}, {NO}, {V(0), SINK}},
    {"whilelo p0.s, x1, x2", 0x25a21c20, TD_OP_PREDICATE, 0, {X(1), X(2)}, {NO}, {P(0), NZCV}},
    {"ld1w {z0.s}, p0/z, [x1, x2, lsl #2]",
     0xa5424020,
     TD_OP_NOP,
     LD,
     {P(0)},
     {X(1), X(2)},
     {V(0), SINK}},
    {"fmla z0.s, p0/m, z1.s, z2.s",
     0x65a20020,
     TD_OP_FMA,
     0,
     {V(1), V(2), V(0)},
     {NO},
     {V(0), SINK}},
    {"mrs x0, tpidr_el0", 0xd53bd040, TD_OP_ALU, 0, {NO}, {NO}, {X(0), SINK}},
    {"dmb ish", 0xd5033bbf, TD_OP_FENCE, TD_UOP_SERIAL, {NO}, {NO}, {SINK, SINK}},
};

static void forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(expected); i++) {
        const struct expected *want = &expected[i];
        const struct td_insn insn = decode(want->word);
        const struct td_op_cost *cost = &desc.ops[want->class];

        print_message("%s\n", want->text);
        assert_false(insn.unknown);
        assert_int_equal(insn.uop.flags & ~(TD_UOP_BUSY | TD_UOP_HEAVY), want->flags);
        assert_int_equal(insn.uop.slots, cost->slots);
        assert_int_equal(insn.uop.latency, cost->latency);
        assert_int_equal(insn.uop.issue.add != 0, cost->ports != 0);
        for (int k = 0; k < 3; k++)
            assert_int_equal(insn.uop.src[k], want->src[k]);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(insn.uop.address[k], want->address[k]);
            assert_int_equal(insn.uop.dst[k], want->dst[k]);
        }
    }
}

/* The second half of a pair waits for the address, not for what the first half loads. */
static void a_half_has_the_old_base(void **state)
{
    (void)state;
    const struct td_insn kept = decode(0xa9401001), overwritten = decode(0xa9401000);

    assert_int_equal(kept.more_count, 1); /* ldp x1, x4, [x0] */
    assert_int_equal(kept.more[0].src[0], X(0));
    assert_int_equal(overwritten.more_count, 1); /* ldp x0, x4, [x0] */
    assert_int_equal(overwritten.more[0].src[0], NO);
}

static void branches(void **state)
{
    static const struct {
        uint32_t word;
        enum td_branch_kind kind;
        uint64_t target;
    } cases[] = {
        {0x54000080, TD_BRANCH_CONDITIONAL, 0x1010}, /* b.eq .+16 */
        {0xb5ffffc3, TD_BRANCH_CONDITIONAL, 0xff8},  /* cbnz x3, .-8 */
        {0x36180104, TD_BRANCH_CONDITIONAL, 0x1020}, /* tbz w4, #3, .+32 */
        {0x14000040, TD_BRANCH_JUMP, 0x1100},        /* b .+0x100 */
        {0x97ffffc0, TD_BRANCH_CALL, 0xf00},         /* bl .-0x100 */
        {0xd63f0100, TD_BRANCH_INDIRECT_CALL, 0},    /* blr x8 */
        {0xd61f0200, TD_BRANCH_INDIRECT_JUMP, 0},    /* br x16 */
        {0xd65f03c0, TD_BRANCH_RETURN, 0},           /* ret */
        {0xd65f0bff, TD_BRANCH_RETURN, 0},           /* retaa */
        {0xd4000001, TD_BRANCH_NONE, 0},             /* svc #0 */
    };

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(cases); i++) {
        const struct td_insn insn = decode(cases[i].word);
        assert_int_equal(insn.branch, cases[i].kind);
        assert_true(insn.target == cases[i].target);
    }
    assert_int_equal(decode(0x97ffffc0).uop.dst[0], X(30));
    assert_true(decode(0xd65f0bff).uop.latency > decode(0xd65f03c0).uop.latency);
}

/* The base register is ready a cycle later, whenever the data comes. */
static void writeback_does_not_wait_for_data(void **state)
{
    (void)state;
    struct td_insn insn = decode(0xf8410420); /* ldr x0, [x1], #16 */
    assert_int_equal(insn.more_count, 1);
    assert_int_equal(insn.more[0].src[0], X(1));
    assert_int_equal(insn.more[0].dst[0], X(1));
    assert_int_equal(insn.more[0].slots, 0);
    assert_int_equal(insn.more[0].latency, 1);
    insn = decode(0x4cdf0824); /* ld4 {v4.4s-v7.4s}, [x1], #64 */
    assert_int_equal(insn.more_count, 2);
    assert_int_equal(insn.uop.dst[1], V(5));
    assert_int_equal(insn.more[1].dst[0], V(6));
    assert_int_equal(insn.more[1].dst[1], V(7));
    assert_int_equal(insn.more[0].dst[0], X(1));
}

/* Only what accumulates takes its third operand late. */
static void accumulators_come_late(void **state)
{
    (void)state;
    assert_int_equal(decode(0x1f420c20).uop.load_latency, desc.ops[TD_OP_FMA].forward);  /* fmadd */
    assert_int_equal(decode(0x4ea29420).uop.load_latency, desc.ops[TD_OP_VMUL].forward); /* mla */
    assert_true(desc.ops[TD_OP_FMA].forward > 0);
    assert_int_equal(decode(0x4ea29c20).uop.load_latency, 0); /* mul v0.4s, v1.4s, v2.4s */
    assert_int_equal(decode(0x9a820020).uop.load_latency, 0); /* csel */
}

static void pairs_that_are_one(void **state)
{
    (void)state;
    assert_int_equal(decode(0x71001c7f).fuses_first, TD_FUSION_JUMP);  /* cmp w3, #7 */
    assert_int_equal(decode(0x54000080).fuses_second, TD_FUSION_JUMP); /* b.eq */
    assert_int_equal(decode(0xb5ffffc3).fuses_second, TD_FUSION_NONE); /* cbnz */
    assert_int_equal(decode(0xab021420).fuses_first, TD_FUSION_NONE);  /* adds with a result */
    assert_int_equal(decode(0xfa421020).fuses_first, TD_FUSION_NONE);  /* ccmp */
    assert_int_equal(decode(0x4e284820).fuses_first, TD_FUSION_AES);   /* aese v0, v1 */
    assert_int_equal(decode(0x4e286800).fuses_second, TD_FUSION_AES);  /* aesmc v0, v0 */
    assert_int_equal(decode(0x4e286820).fuses_second, TD_FUSION_NONE); /* aesmc v0, v1 */
}

/* What the stack pointer is after an instruction. */
static void stack_pointer(void **state)
{
    static const struct {
        uint32_t word;
        enum td_sp_effect effect;
        int offset;
    } cases[] = {
        {0xd10483ff, TD_SP_MOVED, -0x120}, /* sub sp, sp, #0x120 */
        {0x914007ff, TD_SP_MOVED, 0x1000}, /* add sp, sp, #1, lsl #12 */
        {0x910003bf, TD_SP_LOST, 0},       /* mov sp, x29 */
        {0x8b2063ff, TD_SP_LOST, 0},       /* add sp, sp, x0 */
        {0x910003fd, TD_SP_KEPT, 0},       /* mov x29, sp */
        {0xa9bd7bfd, TD_SP_SHOWN, 0},      /* stp x29, x30, [sp, #-48]! */
        {0xa8c37bfd, TD_SP_SHOWN, 48},     /* ldp x29, x30, [sp], #48 */
        {0xf9000fe0, TD_SP_SHOWN, -24},    /* str x0, [sp, #24] */
        {0xf81f83e0, TD_SP_SHOWN, 8},      /* stur x0, [sp, #-8] */
        {0xf9400420, TD_SP_KEPT, 0},       /* ldr x0, [x1, #8] */
    };

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(cases); i++) {
        const struct td_insn insn = decode(cases[i].word);
        assert_int_equal(insn.sp_effect, cases[i].effect);
        if (cases[i].effect == TD_SP_SHOWN)
            assert_int_equal(insn.sp_offset, cases[i].offset);
        else if (cases[i].effect == TD_SP_MOVED)
            assert_int_equal(insn.sp_moved, cases[i].offset);
    }
}

static void unknown_words_cost_one_slot(void **state)
{
    (void)state;
    const struct td_insn insn = decode(0x00000000); /* udf #0 */
    assert_true(insn.unknown);
    assert_int_equal(insn.uop.slots, 1);
    assert_int_equal(insn.branch, TD_BRANCH_NONE);
}

#define NOWHERE UINT64_C(0)

/* Runs the instruction at `pc`; `address` is where it loads or stores, if it does. */
static void step(struct rig *rig, uint64_t pc, uint32_t word, uint64_t address)
{
    const uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
                              (uint8_t)(word >> 24)};
    const uint8_t length = 4;
    const uint32_t id = td_blocks_define(rig->blocks, pc, bytes, &length, 1);
    const bool store = (decode(word).uop.flags & TD_UOP_STORE) != 0;
    uint64_t words[] = {td_trace_block(id), td_trace_access(0, store, 3, address)};

    rig_feed(rig, words, address == NOWHERE ? 1 : 2, TD_SIM_EXACT);
}

struct deepest {
    const struct td_sim *sim;
    uint64_t pc;
    char path[200]; /* calls, outermost first */
};

static void find_path(void *ctx, const struct td_sim_tally *tally)
{
    struct deepest *found = ctx;
    uint64_t calls[16];
    size_t depth = 0, len = 0;

    if (tally->pc != found->pc)
        return;
    for (uint32_t node = tally->path; node && depth < TD_ARRAY_SIZE(calls); depth++) {
        const struct td_sim_path path = td_sim_path(found->sim, node);
        calls[depth] = path.call + 1;
        node = path.parent;
    }
    found->path[0] = '\0';
    while (depth-- > 0)
        len += (size_t)snprintf(found->path + len, sizeof(found->path) - len, "%llx ",
                                (unsigned long long)calls[depth]);
}

/* The path on which the instruction at `pc` ran, as the return addresses of its calls. */
static void assert_path(const struct rig *rig, uint64_t pc, const char *want)
{
    struct deepest found = {.sim = rig->sim, .pc = pc};

    td_sim_each_tally(rig->sim, find_path, &found);
    assert_string_equal(found.path, want);
}

enum {
    BL = 0x94000040,     /* bl .+0x100 */
    RET = 0xd65f03c0,    /* ret */
    NOP = 0xd503201f,    /* nop */
    ENTER = 0xa9bf7bfd,  /* stp x29, x30, [sp, #-16]! */
    LEAVE = 0xa8c17bfd,  /* ldp x29, x30, [sp], #16 */
    JUMP = 0x140003c0,   /* b .+0xf00 */
    SET_SP = 0x910000bf, /* mov sp, x5 */
    BR = 0xd61f03c0,     /* br x30 */
    SPILL = 0xf90007e0,  /* str x0, [sp, #8] */
};

static void recursion_returns_one_by_one(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig, "neoverse-n2");
    step(&rig, 0x1000, ENTER, 0x8ff0);
    step(&rig, 0x1004, BL, NOWHERE);
    step(&rig, 0x1104, ENTER, 0x8fe0);
    step(&rig, 0x1108, 0x97ffffff, NOWHERE); /* bl .-4: itself */
    step(&rig, 0x1104, ENTER, 0x8fd0);
    step(&rig, 0x110c, LEAVE, 0x8fd0);
    step(&rig, 0x1110, RET, NOWHERE);
    step(&rig, 0x110c, LEAVE, 0x8fe0);
    step(&rig, 0x1110, RET, NOWHERE);
    step(&rig, 0x1008, NOP, NOWHERE);
    assert_path(&rig, 0x1108, "1008 ");
    assert_path(&rig, 0x1008, "");
    rig_close(&rig);
}

static void another_thread_has_a_path_of_its_own(void **state)
{
    uint64_t mark = td_trace_mark(TD_TRACE_THREAD);
    struct rig rig;

    (void)state;
    rig_open(&rig, "neoverse-n2");
    step(&rig, 0x1000, BL, NOWHERE);
    step(&rig, 0x1100, NOP, NOWHERE);
    rig_feed(&rig, &mark, 1, TD_SIM_EXACT);
    step(&rig, 0x3000, BL, NOWHERE);
    step(&rig, 0x3100, NOP, NOWHERE);
    assert_path(&rig, 0x1100, "1004 ");
    assert_path(&rig, 0x3000, "");
    assert_path(&rig, 0x3100, "3004 ");
    rig_close(&rig);
}

static void a_tail_call_returns_to_the_first_caller(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig, "neoverse-n2");
    step(&rig, 0x1000, BL, NOWHERE);
    step(&rig, 0x1100, JUMP, NOWHERE); /* b 0x2000 */
    step(&rig, 0x2000, NOP, NOWHERE);
    step(&rig, 0x2004, RET, NOWHERE);
    step(&rig, 0x1004, NOP, NOWHERE);
    assert_path(&rig, 0x2000, "1004 ");
    assert_path(&rig, 0x1004, "");
    rig_close(&rig);
}

/* setjmp returns, then a callee's callee jumps back to where it returned to. */
static void longjmp_leaves_the_frames_between(void **state)
{
    static const uint8_t code[] = {0xbf, 0x00, 0x00, 0x91, 0xc0, 0x03, 0x1f, 0xd6}; /* SET_SP, BR */
    static const uint8_t lengths[] = {4, 4};
    struct rig rig;

    (void)state;
    rig_open(&rig, "neoverse-n2");
    step(&rig, 0x1000, ENTER, 0x8ff0);
    step(&rig, 0x1004, BL, NOWHERE); /* setjmp */
    step(&rig, 0x1104, RET, NOWHERE);
    step(&rig, 0x1008, BL, NOWHERE);
    step(&rig, 0x1108, ENTER, 0x8fe0);
    step(&rig, 0x110c, BL, NOWHERE);
    step(&rig, 0x120c, NOP, NOWHERE);
    uint64_t jump = td_trace_block(td_blocks_define(rig.blocks, 0x1210, code, lengths, 2));
    rig_feed(&rig, &jump, 1, TD_SIM_EXACT);
    step(&rig, 0x1008, BL, NOWHERE);
    step(&rig, 0x1108, NOP, NOWHERE);
    assert_path(&rig, 0x120c, "100c 1110 ");
    assert_path(&rig, 0x1108, "100c ");
    rig_close(&rig);
}

/* An exception lands where no call returned to: what it left goes when the stack pointer shows. */
static void unwound_frames_go_when_the_stack_pointer_shows(void **state)
{
    static const uint8_t code[] = {0xbf, 0x00, 0x00, 0x91, 0xc0, 0x03, 0x1f, 0xd6}; /* SET_SP, BR */
    static const uint8_t lengths[] = {4, 4};
    struct rig rig;

    (void)state;
    rig_open(&rig, "neoverse-n2");
    step(&rig, 0x1000, ENTER, 0x8ff0);
    step(&rig, 0x1004, BL, NOWHERE);
    step(&rig, 0x1104, ENTER, 0x8fe0);
    step(&rig, 0x1108, BL, NOWHERE);
    step(&rig, 0x1208, ENTER, 0x8fd0);
    uint64_t jump = td_trace_block(td_blocks_define(rig.blocks, 0x120c, code, lengths, 2));
    rig_feed(&rig, &jump, 1, TD_SIM_EXACT);
    step(&rig, 0x1040, SPILL, 0x8ff8);
    step(&rig, 0x1044, BL, NOWHERE);
    step(&rig, 0x1144, NOP, NOWHERE);
    assert_path(&rig, 0x1144, "1048 ");
    rig_close(&rig);
}

/* What comes first after the jump may be the function's end, which gives up its own place. */
static void a_landing_at_the_end_keeps_the_caller(void **state)
{
    static const uint8_t code[] = {0xbf, 0x00, 0x00, 0x91, 0xc0, 0x03, 0x1f, 0xd6}; /* SET_SP, BR */
    static const uint8_t lengths[] = {4, 4};
    struct rig rig;

    (void)state;
    rig_open(&rig, "neoverse-n2");
    step(&rig, 0x1000, ENTER, 0x8ff0);
    step(&rig, 0x1004, BL, NOWHERE);
    step(&rig, 0x1104, ENTER, 0x8fe0);
    step(&rig, 0x1108, BL, NOWHERE);
    step(&rig, 0x1208, ENTER, 0x8fd0);
    uint64_t jump = td_trace_block(td_blocks_define(rig.blocks, 0x120c, code, lengths, 2));
    rig_feed(&rig, &jump, 1, TD_SIM_EXACT);
    step(&rig, 0x1140, LEAVE, 0x8fe0);
    step(&rig, 0x1144, NOP, NOWHERE);
    step(&rig, 0x1148, RET, NOWHERE);
    step(&rig, 0x1008, NOP, NOWHERE);
    assert_path(&rig, 0x1144, "1008 ");
    assert_path(&rig, 0x1008, "");
    rig_close(&rig);
}

/* The same, but a call comes first: its place is found from what its callee does on entry. */
static void a_call_from_a_handler_is_placed_by_its_callee(void **state)
{
    static const uint8_t code[] = {0xbf, 0x00, 0x00, 0x91, 0xc0, 0x03, 0x1f, 0xd6}; /* SET_SP, BR */
    static const uint8_t lengths[] = {4, 4};
    struct rig rig;

    (void)state;
    rig_open(&rig, "neoverse-n2");
    step(&rig, 0x1000, ENTER, 0x8ff0);
    step(&rig, 0x1004, BL, NOWHERE);
    step(&rig, 0x1104, ENTER, 0x8fe0);
    step(&rig, 0x1108, BL, NOWHERE);
    step(&rig, 0x1208, ENTER, 0x8fd0);
    uint64_t jump = td_trace_block(td_blocks_define(rig.blocks, 0x120c, code, lengths, 2));
    rig_feed(&rig, &jump, 1, TD_SIM_EXACT);
    step(&rig, 0x1044, BL, NOWHERE);
    step(&rig, 0x1144, ENTER, 0x8fe0);
    step(&rig, 0x1148, NOP, NOWHERE);
    step(&rig, 0x114c, LEAVE, 0x8fe0);
    step(&rig, 0x1150, RET, NOWHERE);
    step(&rig, 0x1048, NOP, NOWHERE);
    assert_path(&rig, 0x1148, "1048 ");
    assert_path(&rig, 0x1048, "");
    rig_close(&rig);
}

/* No word may upset the decoder. */
static void any_word_decodes(void **state)
{
    uint64_t random = RIG_RANDOM;

    (void)state;
    for (int i = 0; i < 500000; i++) {
        rig_random(&random);
        const struct td_insn insn = decode((uint32_t)random);
        assert_true(insn.uop.slots >= 1);
        assert_true(insn.more_count <= TD_INSN_MORE_MAX);
        for (int k = 0; k < 3; k++)
            assert_true(insn.uop.src[k] < TD_REG_COUNT);
        for (int k = 0; k < 2; k++)
            assert_true(insn.uop.dst[k] != TD_REG_NONE && insn.uop.dst[k] < TD_REG_COUNT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),
        cmocka_unit_test(a_half_has_the_old_base),
        cmocka_unit_test(branches),
        cmocka_unit_test(writeback_does_not_wait_for_data),
        cmocka_unit_test(accumulators_come_late),
        cmocka_unit_test(pairs_that_are_one),
        cmocka_unit_test(stack_pointer),
        cmocka_unit_test(unknown_words_cost_one_slot),
        cmocka_unit_test(recursion_returns_one_by_one),
        cmocka_unit_test(another_thread_has_a_path_of_its_own),
        cmocka_unit_test(a_tail_call_returns_to_the_first_caller),
        cmocka_unit_test(longjmp_leaves_the_frames_between),
        cmocka_unit_test(unwound_frames_go_when_the_stack_pointer_shows),
        cmocka_unit_test(a_landing_at_the_end_keeps_the_caller),
        cmocka_unit_test(a_call_from_a_handler_is_placed_by_its_callee),
        cmocka_unit_test(any_word_decodes),
    };
    return cmocka_run_group_tests(tests, open_decoder, close_decoder);
}
