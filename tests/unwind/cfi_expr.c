/* SPDX-License-Identifier: MIT */
/* DWARF expressions (DWARF 5, 2.5.1) as far as call frame information may use them (6.4.2). */
#include "tests/unwind/full.h"

#include "base/bytes.h"

enum {
    OP_ADDR = 0x03,
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S = 0x09,
    OP_CONST2U = 0x0a,
    OP_CONST2S = 0x0b,
    OP_CONST4U = 0x0c,
    OP_CONST4S = 0x0d,
    OP_CONST8U = 0x0e,
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_DUP = 0x12,
    OP_DROP = 0x13,
    OP_OVER = 0x14,
    OP_PICK = 0x15,
    OP_SWAP = 0x16,
    OP_ROT = 0x17,
    OP_ABS = 0x19,
    OP_AND = 0x1a,
    OP_DIV = 0x1b,
    OP_MINUS = 0x1c,
    OP_MOD = 0x1d,
    OP_MUL = 0x1e,
    OP_NEG = 0x1f,
    OP_NOT = 0x20,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_SHR = 0x25,
    OP_SHRA = 0x26,
    OP_XOR = 0x27,
    OP_BRA = 0x28,
    OP_EQ = 0x29,
    OP_GE = 0x2a,
    OP_GT = 0x2b,
    OP_LE = 0x2c,
    OP_LT = 0x2d,
    OP_NE = 0x2e,
    OP_SKIP = 0x2f,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96,
};

enum { STACK_MAX = 64, STEPS_MAX = 1000 };

struct evaluator {
    struct td_rd rd;
    const struct td_cfi_access *access;
    uint64_t stack[STACK_MAX];
    unsigned depth;
};

static void push(struct evaluator *e, uint64_t value)
{
    if (e->depth == STACK_MAX)
        td_rd_fail(&e->rd);
    else
        e->stack[e->depth++] = value;
}

static uint64_t pop(struct evaluator *e)
{
    if (e->depth == 0) {
        td_rd_fail(&e->rd);
        return 0;
    }
    return e->stack[--e->depth];
}

static void pick(struct evaluator *e, unsigned from_top)
{
    if (from_top >= e->depth)
        td_rd_fail(&e->rd);
    else
        push(e, e->stack[e->depth - 1 - from_top]);
}

static void push_register(struct evaluator *e, uint64_t reg)
{
    const int64_t offset = td_cfi_sleb(&e->rd);
    uint64_t value = 0;

    if (reg >= TD_CFI_REGISTERS || !e->access->reg(e->access->ctx, (unsigned)reg, &value))
        td_rd_fail(&e->rd);
    push(e, value + (uint64_t)offset);
}

static void deref(struct evaluator *e, unsigned bytes)
{
    const uint64_t address = pop(e);
    uint64_t value = 0;

    if ((bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) || !td_rd_ok(&e->rd) ||
        !e->access->memory(e->access->ctx, address, bytes, &value))
        td_rd_fail(&e->rd);
    push(e, value);
}

static void jump(struct evaluator *e, bool taken)
{
    const int64_t delta = (int16_t)td_rd_u16(&e->rd);
    const int64_t target = (int64_t)e->rd.pos + delta;

    if (!taken || !td_rd_ok(&e->rd))
        return;
    if (target < 0 || (uint64_t)target > e->rd.size)
        td_rd_fail(&e->rd);
    else
        e->rd.pos = (size_t)target;
}

static bool step_constant(struct evaluator *e, uint8_t op)
{
    struct td_rd *rd = &e->rd;

    switch (op) {
    case OP_ADDR:
    case OP_CONST8U:
    case OP_CONST8S: push(e, td_rd_u64(rd)); return true;
    case OP_CONST1U: push(e, td_rd_u8(rd)); return true;
    case OP_CONST1S: push(e, (uint64_t)(int64_t)(int8_t)td_rd_u8(rd)); return true;
    case OP_CONST2U: push(e, td_rd_u16(rd)); return true;
    case OP_CONST2S: push(e, (uint64_t)(int64_t)(int16_t)td_rd_u16(rd)); return true;
    case OP_CONST4U: push(e, td_rd_u32(rd)); return true;
    case OP_CONST4S: push(e, (uint64_t)(int64_t)(int32_t)td_rd_u32(rd)); return true;
    case OP_CONSTU: push(e, td_rd_uleb(rd)); return true;
    case OP_CONSTS: push(e, (uint64_t)td_cfi_sleb(rd)); return true;
    default: return false;
    }
}

static bool step_stack(struct evaluator *e, uint8_t op)
{
    uint64_t a, b, c;

    switch (op) {
    case OP_DUP: pick(e, 0); return true;
    case OP_DROP: pop(e); return true;
    case OP_OVER: pick(e, 1); return true;
    case OP_PICK: pick(e, td_rd_u8(&e->rd)); return true;
    case OP_SWAP:
        a = pop(e);
        b = pop(e);
        push(e, a);
        push(e, b);
        return true;
    case OP_ROT:
        a = pop(e);
        b = pop(e);
        c = pop(e);
        push(e, a);
        push(e, c);
        push(e, b);
        return true;
    case OP_DEREF: deref(e, 8); return true;
    case OP_DEREF_SIZE: deref(e, td_rd_u8(&e->rd)); return true;
    case OP_SKIP: jump(e, true); return true;
    case OP_BRA: jump(e, pop(e) != 0); return true;
    case OP_NOP: return true;
    default: return false;
    }
}

static bool step_unary(struct evaluator *e, uint8_t op)
{
    uint64_t a;

    switch (op) {
    case OP_ABS:
        a = pop(e);
        push(e, (int64_t)a < 0 ? -a : a);
        return true;
    case OP_NEG: push(e, -pop(e)); return true;
    case OP_NOT: push(e, ~pop(e)); return true;
    case OP_PLUS_UCONST: push(e, pop(e) + td_rd_uleb(&e->rd)); return true;
    default: return false;
    }
}

/* Comparisons and shra are signed; division too (2.5.1.4). */
static bool binary(uint8_t op, uint64_t a, uint64_t b, uint64_t *r)
{
    const int64_t sa = (int64_t)a, sb = (int64_t)b;

    switch (op) {
    case OP_AND: *r = a & b; return true;
    case OP_OR: *r = a | b; return true;
    case OP_XOR: *r = a ^ b; return true;
    case OP_PLUS: *r = a + b; return true;
    case OP_MINUS: *r = a - b; return true;
    case OP_MUL: *r = a * b; return true;
    case OP_DIV:
        if (sb == 0)
            return false;
        *r = sb == -1 ? -a : (uint64_t)(sa / sb);
        return true;
    case OP_MOD:
        if (b == 0)
            return false;
        *r = a % b;
        return true;
    case OP_SHL: *r = b < 64 ? a << b : 0; return true;
    case OP_SHR: *r = b < 64 ? a >> b : 0; return true;
    case OP_SHRA: *r = (uint64_t)(sa >> (b < 64 ? b : 63)); return true;
    case OP_EQ: *r = sa == sb; return true;
    case OP_GE: *r = sa >= sb; return true;
    case OP_GT: *r = sa > sb; return true;
    case OP_LE: *r = sa <= sb; return true;
    case OP_LT: *r = sa < sb; return true;
    case OP_NE: *r = sa != sb; return true;
    default: return false;
    }
}

static void step(struct evaluator *e, uint8_t op)
{
    uint64_t result = 0;

    if (op >= OP_LIT0 && op <= OP_LIT31) {
        push(e, op - OP_LIT0);
    } else if (op >= OP_BREG0 && op <= OP_BREG31) {
        push_register(e, op - OP_BREG0);
    } else if (op == OP_BREGX) {
        push_register(e, td_rd_uleb(&e->rd));
    } else if (!step_constant(e, op) && !step_stack(e, op) && !step_unary(e, op)) {
        const uint64_t b = pop(e);
        const uint64_t a = pop(e);

        if (!binary(op, a, b, &result))
            td_rd_fail(&e->rd);
        push(e, result);
    }
}

bool td_cfi_eval(const uint8_t *expr, size_t size, const uint64_t *initial,
                 const struct td_cfi_access *access, uint64_t *result)
{
    struct evaluator e = {.rd = td_rd_init(expr, size, 0), .access = access, .depth = 0};

    if (initial)
        push(&e, *initial);
    for (unsigned steps = 0; td_rd_left(&e.rd) > 0; steps++) {
        if (steps == STEPS_MAX)
            return false;
        step(&e, td_rd_u8(&e.rd));
        if (!td_rd_ok(&e.rd))
            return false;
    }
    if (e.depth == 0)
        return false;
    *result = e.stack[e.depth - 1];
    return true;
}
