/* SPDX-License-Identifier: MIT */
/* The programs of CIEs and FDEs (DWARF 5, 6.4.2), run into rows. */
#include "symbolize/unwind/cfi.h"

#include "base/bytes.h"

enum {
    CFA_ADVANCE_LOC = 0x40, /* high two bits: operand in the low six */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* Compilers nest one deep; hand-written assembly has been seen with three. */
enum { SAVED_MAX = 8 };

struct machine {
    const struct td_cfi *cfi;
    const struct td_cfi_cie *cie;
    struct td_rd rd;
    uint64_t pc;
    struct td_cfi_row row;
    struct td_cfi_row initial; /* as the CIE leaves it: what restore goes back to */
    struct td_cfi_row saved[SAVED_MAX];
    unsigned saved_count;
};

/* Factored numbers wrap around as the machine's addresses do. */
static int64_t factored(const struct machine *m, int64_t n)
{
    return (int64_t)((uint64_t)n * (uint64_t)m->cie->data_align);
}

static void set_rule(struct machine *m, uint64_t reg, struct td_cfi_rule rule)
{
    if (reg < TD_CFI_REGISTERS)
        m->row.regs[reg] = rule;
}

static void set_value(struct machine *m, uint64_t reg, enum td_cfi_rule_kind kind, int64_t value)
{
    set_rule(m, reg, (struct td_cfi_rule){.kind = (uint8_t)kind, .value = value});
}

static void restore(struct machine *m, uint64_t reg)
{
    if (reg < TD_CFI_REGISTERS)
        m->row.regs[reg] = m->initial.regs[reg];
}

static struct td_cfi_rule read_expr(struct machine *m, enum td_cfi_rule_kind kind)
{
    const uint64_t size = td_rd_uleb(&m->rd);
    const size_t start = m->rd.pos;

    if (size > UINT32_MAX || !td_rd_bytes(&m->rd, (size_t)size))
        td_rd_fail(&m->rd);
    return (struct td_cfi_rule){.kind = (uint8_t)kind, .expr_size = (uint32_t)size, .expr = start};
}

static void def_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
    const bool known = reg < TD_CFI_REGISTERS;

    m->row.cfa = (struct td_cfi_rule){.kind = known ? TD_CFI_REGISTER : TD_CFI_UNDEFINED,
                                      .reg = known ? (uint8_t)reg : 0,
                                      .value = offset};
}

static void remember(struct machine *m)
{
    if (m->saved_count == SAVED_MAX) {
        td_rd_fail(&m->rd);
        return;
    }
    m->saved[m->saved_count++] = m->row;
}

static void restore_state(struct machine *m)
{
    if (m->saved_count == 0) {
        td_rd_fail(&m->rd);
        return;
    }
    m->row = m->saved[--m->saved_count];
}

/* Instructions that change the CFA. False when it is not one of them. */
static bool step_cfa(struct machine *m, uint8_t op)
{
    struct td_rd *rd = &m->rd;
    uint64_t reg;

    switch (op) {
    case CFA_DEF_CFA:
        reg = td_rd_uleb(rd);
        def_cfa(m, reg, (int64_t)td_rd_uleb(rd));
        return true;
    case CFA_DEF_CFA_SF:
        reg = td_rd_uleb(rd);
        def_cfa(m, reg, factored(m, td_cfi_sleb(rd)));
        return true;
    case CFA_DEF_CFA_EXPRESSION: m->row.cfa = read_expr(m, TD_CFI_VALUE_EXPR); return true;
    case CFA_DEF_CFA_REGISTER:
        /* After an expression there is no offset to keep (DWARF 5, 6.4.2.2). */
        if (m->row.cfa.kind != TD_CFI_REGISTER)
            td_rd_fail(rd);
        else
            def_cfa(m, td_rd_uleb(rd), m->row.cfa.value);
        return true;
    case CFA_DEF_CFA_OFFSET:
    case CFA_DEF_CFA_OFFSET_SF:
        if (m->row.cfa.kind != TD_CFI_REGISTER)
            td_rd_fail(rd);
        else
            m->row.cfa.value =
                op == CFA_DEF_CFA_OFFSET ? (int64_t)td_rd_uleb(rd) : factored(m, td_cfi_sleb(rd));
        return true;
    default: return false;
    }
}

/* Instructions that change a register's rule. False when it is not one of them. */
static bool step_register(struct machine *m, uint8_t op)
{
    struct td_rd *rd = &m->rd;
    const uint64_t reg = td_rd_uleb(rd);
    uint64_t from;

    switch (op) {
    case CFA_OFFSET_EXTENDED:
        set_value(m, reg, TD_CFI_SAVED, factored(m, (int64_t)td_rd_uleb(rd)));
        return true;
    case CFA_OFFSET_EXTENDED_SF:
        set_value(m, reg, TD_CFI_SAVED, factored(m, td_cfi_sleb(rd)));
        return true;
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        set_value(m, reg, TD_CFI_SAVED, factored(m, (int64_t)(-td_rd_uleb(rd))));
        return true;
    case CFA_VAL_OFFSET:
        set_value(m, reg, TD_CFI_VALUE, factored(m, (int64_t)td_rd_uleb(rd)));
        return true;
    case CFA_VAL_OFFSET_SF:
        set_value(m, reg, TD_CFI_VALUE, factored(m, td_cfi_sleb(rd)));
        return true;
    case CFA_EXPRESSION: set_rule(m, reg, read_expr(m, TD_CFI_SAVED_EXPR)); return true;
    case CFA_VAL_EXPRESSION: set_rule(m, reg, read_expr(m, TD_CFI_VALUE_EXPR)); return true;
    case CFA_RESTORE_EXTENDED: restore(m, reg); return true;
    case CFA_UNDEFINED: set_value(m, reg, TD_CFI_UNDEFINED, 0); return true;
    case CFA_SAME_VALUE: set_value(m, reg, TD_CFI_SAME, 0); return true;
    case CFA_REGISTER:
        from = td_rd_uleb(rd);
        set_rule(m, reg,
                 (struct td_cfi_rule){.kind = from < TD_CFI_REGISTERS ? TD_CFI_REGISTER
                                                                      : TD_CFI_UNDEFINED,
                                      .reg = from < TD_CFI_REGISTERS ? (uint8_t)from : 0,
                                      .value = 0});
        return true;
    default: return false;
    }
}

/* How far an instruction moves on, or 0; *known says whether it is one that may. */
static uint64_t step_advance(struct machine *m, uint8_t op, bool *known)
{
    *known = true;
    if ((op & 0xc0) == CFA_ADVANCE_LOC)
        return (op & 0x3f) * m->cie->code_align;
    switch (op) {
    case CFA_ADVANCE_LOC1: return td_rd_u8(&m->rd) * m->cie->code_align;
    case CFA_ADVANCE_LOC2: return td_rd_u16(&m->rd) * m->cie->code_align;
    case CFA_ADVANCE_LOC4: return td_rd_u32(&m->rd) * m->cie->code_align;
    default: *known = false; return 0;
    }
}

/* Everything that does not move on. False for an unknown instruction. */
static bool step(struct machine *m, uint8_t op)
{
    switch (op & 0xc0) {
    case CFA_OFFSET:
        set_value(m, op & 0x3f, TD_CFI_SAVED, factored(m, (int64_t)td_rd_uleb(&m->rd)));
        return true;
    case CFA_RESTORE: restore(m, op & 0x3f); return true;
    default: break;
    }
    switch (op) {
    case CFA_NOP:
    case CFA_AARCH64_NEGATE_RA_STATE: return true; /* signatures are stripped in any case */
    case CFA_GNU_ARGS_SIZE: td_rd_uleb(&m->rd); return true;
    case CFA_REMEMBER_STATE: remember(m); return true;
    case CFA_RESTORE_STATE: restore_state(m); return true;
    default: return step_cfa(m, op) || step_register(m, op);
    }
}

/* Where the next row starts: behind an advance, or what set_loc says. */
static uint64_t next_pc(struct machine *m, uint8_t op, bool *moves)
{
    uint64_t target = m->pc;

    if (op == CFA_SET_LOC) {
        uint8_t encoding = m->cie->pointer_encoding;
        *moves = true;
        if (!td_cfi_pointer(m->cfi->data, m->rd.size, &m->rd.pos, encoding, m->cfi->address,
                            m->cfi->data_base, &target) ||
            target < m->pc)
            td_rd_fail(&m->rd);
        return target;
    }
    const uint64_t delta = step_advance(m, op, moves);
    if (delta > UINT64_MAX - m->pc)
        td_rd_fail(&m->rd);
    return m->pc + delta;
}

/* Runs a span; rows are handed out when fn is not NULL. Returns 1 when fn said stop. */
static int run(struct machine *m, const struct td_cfi_span *span, uint64_t end, uint64_t *budget,
               td_cfi_row_fn *fn, void *ctx)
{
    m->rd = td_rd_init(m->cfi->data, span->offset + span->size, 0);
    m->rd.pos = span->offset;
    while (td_rd_left(&m->rd) > 0) {
        bool moves;

        if ((*budget)-- == 0) {
            *budget = 0;
            return TD_ELIMIT;
        }
        const uint8_t op = td_rd_u8(&m->rd);
        const uint64_t pc = next_pc(m, op, &moves);
        if (!moves && !step(m, op))
            td_rd_fail(&m->rd);
        if (!td_rd_ok(&m->rd))
            return TD_EFORMAT;
        if (pc == m->pc || !fn)
            continue;
        if (pc >= end)
            break;
        if (!fn(ctx, m->pc, pc, &m->row))
            return 1;
        m->pc = pc;
    }
    return TD_OK;
}

int td_cfi_rows(const struct td_cfi *cfi, const struct td_cfi_cie *cie,
                const struct td_cfi_fde *fde, uint64_t *budget, td_cfi_row_fn *fn, void *ctx,
                struct td_err *err)
{
    struct machine m;
    int rc;

    m.cfi = cfi;
    m.cie = cie;
    m.pc = fde->begin;
    m.saved_count = 0;
    m.row = (struct td_cfi_row){.cfa = {.kind = TD_CFI_UNSET}};
    m.initial = m.row;
    rc = run(&m, &cie->program, fde->end, budget, NULL, NULL);
    if (rc == TD_OK) {
        m.initial = m.row;
        m.pc = fde->begin;
        rc = run(&m, &fde->program, fde->end, budget, fn, ctx);
    }
    if (rc == TD_ELIMIT)
        return td_fail_at(err, TD_ELIMIT, fde->offset, "call frame programs take too long");
    if (rc == TD_EFORMAT)
        return td_fail_at(err, TD_EFORMAT, m.rd.bad ? m.rd.bad_pos : fde->program.offset,
                          "call frame program that cannot be followed");
    if (rc == TD_OK && m.pc < fde->end)
        fn(ctx, m.pc, fde->end, &m.row);
    return TD_OK;
}
