/* SPDX-License-Identifier: MIT */
/* Recognises the rules that real programs have, expressions of linkers and kernels among them. */
#include "symbolize/unwind/rule.h"

#include <string.h>

#include "base/bytes.h"

enum {
    OP_DEREF = 0x06,
    OP_PLUS_UCONST = 0x23,
    OP_LIT0 = 0x30,
    OP_BREG0 = 0x70,
};

unsigned td_unwind_sp(enum td_cfi_arch arch)
{
    return arch == TD_CFI_X86_64 ? (unsigned)TD_CFI_X86_RSP : (unsigned)TD_CFI_A64_SP;
}

unsigned td_unwind_fp(enum td_cfi_arch arch)
{
    return arch == TD_CFI_X86_64 ? (unsigned)TD_CFI_X86_RBP : (unsigned)TD_CFI_A64_FP;
}

static bool fits16(int64_t n)
{
    return n >= INT16_MIN && n <= INT16_MAX;
}

/* breg REG OFFSET at the cursor. */
static bool read_breg(struct td_rd *rd, unsigned *reg, int64_t *offset)
{
    const uint8_t op = td_rd_u8(rd);

    if (op < OP_BREG0 || op >= OP_BREG0 + 32)
        return false;
    *reg = op - OP_BREG0;
    *offset = td_cfi_sleb(rd);
    return td_rd_ok(rd);
}

static struct td_rd expr_cursor(const struct td_cfi *section, const struct td_cfi_rule *rule)
{
    return td_rd_init(section->data + rule->expr, rule->expr_size, 0);
}

/* The expression of every linker for the lazy PLT: rsp + 8 + ((rip & 15) >= N) * 8. */
static bool match_plt(struct td_unwind_rule *rule, const struct td_cfi *section,
                      const struct td_cfi_rule *cfa)
{
    /* breg7 8; breg16 0; lit15; and; litN; ge; lit3; shl; plus */
    static const uint8_t before[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a};
    static const uint8_t after[] = {0x2a, 0x33, 0x24, 0x22};
    const uint8_t *expr = section->data + cfa->expr;

    if (section->arch != TD_CFI_X86_64 || cfa->expr_size != sizeof(before) + 1 + sizeof(after) ||
        memcmp(expr, before, sizeof(before)) != 0 ||
        memcmp(expr + sizeof(before) + 1, after, sizeof(after)) != 0 ||
        expr[sizeof(before)] < OP_LIT0 || expr[sizeof(before)] > OP_LIT0 + 15)
        return false;
    rule->cfa_kind = TD_UNWIND_PLT;
    rule->extra = (int16_t)(expr[sizeof(before)] - OP_LIT0);
    return true;
}

/* *(reg + offset) + extra: signal frames, realigned stacks, hand-written crypto. */
static bool match_deref(struct td_unwind_rule *rule, const struct td_cfi *section,
                        const struct td_cfi_rule *cfa)
{
    struct td_rd rd = expr_cursor(section, cfa);
    unsigned reg;
    int64_t offset, extra = 0;

    if (!read_breg(&rd, &reg, &offset) || td_rd_u8(&rd) != OP_DEREF)
        return false;
    if (td_rd_left(&rd) > 0) {
        if (td_rd_u8(&rd) != OP_PLUS_UCONST)
            return false;
        extra = (int64_t)td_rd_uleb(&rd);
    }
    if (!td_rd_ok(&rd) || td_rd_left(&rd) > 0 || !fits16(extra) || offset != (int32_t)offset)
        return false;
    rule->cfa_kind = TD_UNWIND_DEREF;
    rule->cfa_reg = (uint8_t)reg;
    rule->cfa_offset = (int32_t)offset;
    rule->extra = (int16_t)extra;
    return true;
}

static bool match_cfa(struct td_unwind_rule *rule, const struct td_cfi *section,
                      const struct td_cfi_rule *cfa)
{
    if (cfa->kind == TD_CFI_VALUE_EXPR)
        return match_plt(rule, section, cfa) || match_deref(rule, section, cfa);
    if (cfa->kind != TD_CFI_REGISTER || cfa->value != (int32_t)cfa->value)
        return false;
    rule->cfa_kind = TD_UNWIND_REG;
    rule->cfa_reg = cfa->reg;
    rule->cfa_offset = (int32_t)cfa->value;
    return true;
}

/* Where a register is found again. False when it takes more than a rule can say. */
static bool match_where(const struct td_cfi *section, const struct td_cfi_rule *rule,
                        uint8_t *where, int16_t *offset)
{
    unsigned reg;
    int64_t n;

    *offset = 0;
    switch ((enum td_cfi_rule_kind)rule->kind) {
    case TD_CFI_UNSET:
    case TD_CFI_SAME: *where = TD_UNWIND_SAME; return true;
    case TD_CFI_UNDEFINED: *where = TD_UNWIND_UNDEFINED; return true;
    case TD_CFI_SAVED:
        *where = TD_UNWIND_AT_CFA;
        *offset = (int16_t)rule->value;
        return fits16(rule->value);
    case TD_CFI_REGISTER:
        *where = TD_UNWIND_IN_REG;
        *offset = rule->reg;
        return true;
    case TD_CFI_SAVED_EXPR: {
        struct td_rd rd = expr_cursor(section, rule);
        if (!read_breg(&rd, &reg, &n) || td_rd_left(&rd) > 0 || !fits16(n))
            return false;
        *offset = (int16_t)n;
        *where = reg == td_unwind_sp(section->arch) ? TD_UNWIND_AT_SP : TD_UNWIND_AT_FP;
        return reg == td_unwind_sp(section->arch) || reg == td_unwind_fp(section->arch);
    }
    case TD_CFI_VALUE:
    case TD_CFI_VALUE_EXPR: return false;
    }
    return false;
}

/* The caller's stack pointer must be the CFA, said or unsaid. */
static bool match_sp(const struct td_unwind_rule *rule, const struct td_cfi *section,
                     const struct td_cfi_rule *sp)
{
    unsigned reg;
    int64_t offset;

    switch ((enum td_cfi_rule_kind)sp->kind) {
    case TD_CFI_UNSET:
    case TD_CFI_SAME:
    case TD_CFI_UNDEFINED: return true;
    case TD_CFI_VALUE: return sp->value == 0;
    case TD_CFI_SAVED_EXPR: {
        struct td_rd rd = expr_cursor(section, sp);
        return rule->cfa_kind == TD_UNWIND_DEREF && rule->extra == 0 &&
               read_breg(&rd, &reg, &offset) && td_rd_left(&rd) == 0 && reg == rule->cfa_reg &&
               offset == rule->cfa_offset;
    }
    case TD_CFI_SAVED:
    case TD_CFI_REGISTER:
    case TD_CFI_VALUE_EXPR: return false;
    }
    return false;
}

static void set_a64_signal(struct td_unwind_rule *rule)
{
    rule->cfa_kind = TD_UNWIND_DEREF;
    rule->cfa_reg = TD_CFI_A64_SP;
    rule->cfa_offset = TD_UNWIND_A64_SIGNAL_SP;
    rule->ra_where = TD_UNWIND_AT_SP;
    rule->ra_offset = TD_UNWIND_A64_SIGNAL_PC;
    rule->fp_where = TD_UNWIND_AT_SP;
    rule->fp_offset = TD_UNWIND_A64_SIGNAL_FP;
    rule->signal_frame = true;
}

void td_unwind_rule_from_row(struct td_unwind_rule *rule, const struct td_cfi *section,
                             const struct td_cfi_cie *cie, const struct td_cfi_row *row)
{
    memset(rule, 0, sizeof(*rule));
    if (section->arch == TD_CFI_AARCH64 && cie->signal_frame) {
        set_a64_signal(rule);
        return;
    }
    if (cie->return_reg < TD_CFI_REGISTERS && row->regs[cie->return_reg].kind == TD_CFI_UNDEFINED) {
        /* The outermost frame: nothing else matters. */
        rule->cfa_kind = TD_UNWIND_REG;
        rule->ra_where = TD_UNWIND_UNDEFINED;
        return;
    }
    rule->signal_frame = cie->signal_frame;
    if (cie->return_reg >= TD_CFI_REGISTERS || !match_cfa(rule, section, &row->cfa) ||
        !match_where(section, &row->regs[cie->return_reg], &rule->ra_where, &rule->ra_offset) ||
        !match_where(section, &row->regs[td_unwind_fp(section->arch)], &rule->fp_where,
                     &rule->fp_offset) ||
        !match_sp(rule, section, &row->regs[td_unwind_sp(section->arch)])) {
        memset(rule, 0, sizeof(*rule));
        rule->cfa_kind = TD_UNWIND_ODD;
    }
}
