/* SPDX-License-Identifier: MIT */
/* Which DWARF expressions (DWARF 5, 2.5.1) may be evaluated by somebody who trusts them. */
#include "symbolize/unwind/expr.h"

#include "base/bytes.h"

/* Compilers and linkers write up to 20 bytes. */
#define EXPR_BYTES_MAX 128

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
    OP_PICK = 0x15,
    OP_ROT = 0x17,
    OP_ABS = 0x19,
    OP_DIV = 0x1b,
    OP_MOD = 0x1d,
    OP_PLUS_UCONST = 0x23,
    OP_BRA = 0x28,
    OP_NE = 0x2e,
    OP_SKIP = 0x2f,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96,
};

/* Bytes of operands of a fixed size; -1 for an operation that has none such. */
static int operand_bytes(uint8_t op)
{
    switch (op) {
    case OP_ADDR:
    case OP_CONST8U:
    case OP_CONST8S: return 8;
    case OP_CONST4U:
    case OP_CONST4S: return 4;
    case OP_CONST2U:
    case OP_CONST2S: return 2;
    case OP_CONST1U:
    case OP_CONST1S:
    case OP_PICK: return 1;
    case OP_DEREF:
    case OP_NOP: return 0;
    case OP_DIV: /* they trap for some operands */
    case OP_MOD: return -1;
    default: break;
    }
    const bool plain = (op >= OP_DUP && op <= OP_ROT) || (op >= OP_ABS && op < OP_PLUS_UCONST) ||
                       (op > OP_PLUS_UCONST && op < OP_BRA) || (op > OP_BRA && op <= OP_NE) ||
                       (op > OP_SKIP && op <= OP_LIT31);
    return plain ? 0 : -1;
}

/* Reads past an operation's operands; *target is where a branch leads. */
static bool read_operands(struct td_rd *rd, uint8_t op, unsigned registers, size_t *target)
{
    const int bytes = operand_bytes(op);

    if (bytes >= 0)
        return bytes == 0 || td_rd_bytes(rd, (size_t)bytes);
    if (op >= OP_BREG0 && op <= OP_BREG31) {
        td_cfi_sleb(rd);
        return td_rd_ok(rd) && (unsigned)(op - OP_BREG0) < registers;
    }
    if (op == OP_SKIP || op == OP_BRA) {
        const uint16_t delta = td_rd_u16(rd);
        *target = rd->pos + delta;
        return td_rd_ok(rd) && delta <= td_rd_left(rd); /* backward: a large number */
    }
    if (op == OP_CONSTU || op == OP_PLUS_UCONST) {
        td_rd_uleb(rd);
        return td_rd_ok(rd);
    }
    if (op == OP_CONSTS) {
        td_cfi_sleb(rd);
        return td_rd_ok(rd);
    }
    if (op == OP_DEREF_SIZE) {
        const uint8_t size = td_rd_u8(rd);
        return td_rd_ok(rd) && (size == 1 || size == 2 || size == 4 || size == 8);
    }
    if (op == OP_BREGX) {
        const uint64_t reg = td_rd_uleb(rd);
        td_cfi_sleb(rd);
        return td_rd_ok(rd) && reg < registers;
    }
    return false;
}

bool td_cfi_expr_is_plain(const uint8_t *expr, size_t size, unsigned registers)
{
    bool starts[EXPR_BYTES_MAX + 1] = {false}, targets[EXPR_BYTES_MAX + 1] = {false};
    struct td_rd rd = td_rd_init(expr, size, 0);

    if (size > EXPR_BYTES_MAX)
        return false;
    while (td_rd_left(&rd) > 0) {
        size_t target = size;

        starts[rd.pos] = true;
        const uint8_t op = td_rd_u8(&rd);
        if (!read_operands(&rd, op, registers, &target))
            return false;
        targets[target] = true;
    }
    for (size_t i = 0; i < size; i++) {
        if (targets[i] && !starts[i])
            return false; /* into an operand, which was not looked at */
    }
    return true;
}
