/* SPDX-License-Identifier: MIT */
/* The full walker: every register, every rule, expressions; for the few stacks that need it. */
#include "tests/unwind/full.h"

#include "symbolize/unwind/unwind_priv.h"

struct full {
    enum td_cfi_arch arch;
    const struct td_unwind_sample *sample;
    struct td_unwind_memory memory;
    uint64_t regs[TD_CFI_REGISTERS];
    uint64_t known;
    uint64_t ip;
    bool exact, leaf, guessed;
    enum td_unwind_stop eval_stop; /* why the expression evaluated last failed */
};

static bool access_register(void *ctx, unsigned reg, uint64_t *value)
{
    const struct full *f = ctx;

    /* DWARF calls the instruction pointer of x86-64 by the return address's column. */
    if (f->arch == TD_CFI_X86_64 && reg == TD_CFI_X86_RA)
        *value = f->ip;
    else
        *value = f->regs[reg];
    return f->known >> reg & 1;
}

static bool access_memory(void *ctx, uint64_t address, unsigned bytes, uint64_t *value)
{
    struct full *f = ctx;
    struct td_unwind_memory *m = &f->memory;
    const uint64_t offset = address - m->base;

    if (offset >= m->size || m->size - offset < bytes) {
        f->eval_stop = td_unwind_load_stop(m, address);
        return false;
    }
    if (bytes == sizeof(*value))
        return td_unwind_load(m, address, value);
    *value = 0;
    memcpy(value, m->bytes + offset, bytes); /* both machines are little-endian */
    return true;
}

static bool eval(struct full *f, const struct td_unwind_full_row *row,
                 const struct td_cfi_rule *rule, const uint64_t *initial, uint64_t *value)
{
    const struct td_cfi_access access = {access_register, access_memory, f};

    f->eval_stop = TD_UNWIND_BAD_RULE;
    /* A rule with an expression came out of a section. NOLINTNEXTLINE */
    return td_cfi_eval(row->section->data + rule->expr, rule->expr_size, initial, &access, value);
}

static bool find_cfa(struct full *f, const struct td_unwind_full_row *row, uint64_t *cfa)
{
    const struct td_cfi_rule *rule = &row->row.cfa;

    if (rule->kind == TD_CFI_VALUE_EXPR)
        return eval(f, row, rule, NULL, cfa);
    if (rule->kind != TD_CFI_REGISTER || !(f->known >> rule->reg & 1))
        return false;
    *cfa = f->regs[rule->reg] + (uint64_t)rule->value;
    return true;
}

/* The caller's value of a register by its rule. Sets *stop when it cannot be had. */
static bool recover(struct full *f, const struct td_unwind_full_row *row, unsigned reg,
                    uint64_t cfa, uint64_t *value, enum td_unwind_stop *stop)
{
    const struct td_cfi_rule *rule = &row->row.regs[reg];
    uint64_t address;

    *stop = TD_UNWIND_BAD_RULE;
    switch ((enum td_cfi_rule_kind)rule->kind) {
    case TD_CFI_UNDEFINED: return false;
    case TD_CFI_UNSET:
    case TD_CFI_SAME: *value = f->regs[reg]; return f->known >> reg & 1;
    case TD_CFI_REGISTER: *value = f->regs[rule->reg]; return f->known >> rule->reg & 1;
    case TD_CFI_VALUE: *value = cfa + (uint64_t)rule->value; return true;
    case TD_CFI_VALUE_EXPR:
        if (eval(f, row, rule, &cfa, value))
            return true;
        *stop = f->eval_stop;
        return false;
    case TD_CFI_SAVED:
        address = cfa + (uint64_t)rule->value;
        if (reg != row->cie.return_reg &&
            td_unwind_popped(f->regs[td_unwind_sp(f->arch)], address, f->leaf)) {
            *value = f->regs[reg];
            return f->known >> reg & 1;
        }
        break;
    case TD_CFI_SAVED_EXPR:
        if (!eval(f, row, rule, &cfa, &address)) {
            *stop = f->eval_stop;
            return false;
        }
        break;
    default: return false;
    }
    *stop = td_unwind_load_stop(&f->memory, address);
    return td_unwind_load(&f->memory, address, value);
}

static void set(struct full *f, unsigned reg, uint64_t value)
{
    f->regs[reg] = value;
    f->known |= UINT64_C(1) << reg;
}

/* The interrupted registers of a signal frame of aarch64; false when they are not in the copy. */
static bool leave_a64_signal(struct full *f)
{
    const uint64_t regs = f->regs[TD_CFI_A64_SP] + TD_UNWIND_A64_SIGNAL_REGS;
    uint64_t value;

    for (unsigned i = 0; i <= TD_CFI_A64_PC; i++) {
        if (!td_unwind_load(&f->memory, regs + 8 * (uint64_t)i, &value))
            return false;
        set(f, i, value);
    }
    f->ip = value;
    return true;
}

/* Fills the caller's registers. COMPLETE here means: go on. */
static enum td_unwind_stop leave(struct full *f, const struct td_unwind_full_row *row, uint64_t cfa,
                                 uint64_t ra)
{
    struct full caller = *f;
    enum td_unwind_stop ignored;
    uint64_t value;

    for (unsigned reg = 0; reg < TD_CFI_REGISTERS; reg++) {
        const bool ok = recover(f, row, reg, cfa, &value, &ignored);
        if (ok)
            set(&caller, reg, value);
        else
            caller.known &= ~(UINT64_C(1) << reg);
    }
    const unsigned sp = td_unwind_sp(f->arch);
    const uint8_t sp_kind = row->row.regs[sp].kind;
    if (sp_kind == TD_CFI_UNSET || sp_kind == TD_CFI_SAME || sp_kind == TD_CFI_UNDEFINED ||
        !(caller.known >> sp & 1))
        set(&caller, sp, cfa);
    ra = td_unwind_strip(f->arch, ra);
    const uint8_t ra_kind = row->row.regs[row->cie.return_reg].kind;
    const bool bare = ra_kind <= TD_CFI_SAME || ra_kind == TD_CFI_REGISTER;
    if (!td_unwind_advances(f->regs[sp], caller.regs[sp], row->cie.signal_frame, f->leaf && bare))
        return TD_UNWIND_BAD_RULE;
    caller.memory.used = f->memory.used;
    *f = caller;
    f->ip = ra;
    set(f, td_unwind_ip(f->arch), ra);
    return TD_UNWIND_COMPLETE;
}

enum { STEPPED = TD_UNWIND_STOPS };

static int step_by_row(struct full *f, const struct td_unwind_full_row *row)
{
    const unsigned ra_reg = row->cie.return_reg;
    enum td_unwind_stop stop;
    uint64_t cfa, ra;

    if (f->arch == TD_CFI_AARCH64 && row->cie.signal_frame) {
        f->memory.after_signal = true;
        f->exact = f->leaf = true;
        return leave_a64_signal(f) ? (int)STEPPED : (int)TD_UNWIND_SHORT_COPY;
    }
    if (ra_reg >= TD_CFI_REGISTERS)
        return TD_UNWIND_BAD_RULE;
    if (row->row.regs[ra_reg].kind == TD_CFI_UNDEFINED)
        return TD_UNWIND_COMPLETE;
    const bool ra_kept = row->row.regs[ra_reg].kind <= TD_CFI_SAME;
    if (ra_kept && (f->arch == TD_CFI_X86_64 || !f->leaf))
        return TD_UNWIND_BAD_RULE;
    f->eval_stop = TD_UNWIND_BAD_RULE;
    if (!find_cfa(f, row, &cfa))
        return (int)f->eval_stop;
    if (!recover(f, row, ra_reg, cfa, &ra, &stop))
        return (int)stop;
    if (td_unwind_strip(f->arch, ra) == 0)
        return TD_UNWIND_COMPLETE;
    stop = leave(f, row, cfa, ra);
    if (stop != TD_UNWIND_COMPLETE)
        return (int)stop;
    f->exact = f->leaf = row->cie.signal_frame;
    f->memory.after_signal |= row->cie.signal_frame;
    return STEPPED;
}

static struct td_cfi_rule guessed_register(uint8_t where, int16_t offset)
{
    if (where == TD_UNWIND_AT_CFA)
        return (struct td_cfi_rule){.kind = TD_CFI_SAVED, .value = offset};
    return (struct td_cfi_rule){.kind = TD_CFI_SAME};
}

/* Code without a row of its own: what the table walker would do, as a row. */
static int step_without_row(struct full *f, const struct td_unwind_place *place, uint64_t address)
{
    const struct td_unwind_rule *rule = td_unwind_rule_at(f->arch, place, address);
    const unsigned fp = td_unwind_fp(f->arch), sp = td_unwind_sp(f->arch);
    struct td_unwind_full_row row = {
        .cie = {.return_reg = (uint8_t)(f->arch == TD_CFI_X86_64 ? TD_CFI_X86_RA : TD_CFI_A64_LR)}};

    if (rule->ra_where == TD_UNWIND_UNDEFINED)
        return TD_UNWIND_COMPLETE;
    if (rule->cfa_kind == TD_UNWIND_NONE ||
        !td_unwind_guess_makes_sense(&f->memory, rule, fp, f->regs[sp], f->regs[fp]))
        return TD_UNWIND_NO_TABLE;
    row.row.cfa = (struct td_cfi_rule){
        .kind = TD_CFI_REGISTER, .reg = rule->cfa_reg, .value = rule->cfa_offset};
    row.row.regs[row.cie.return_reg] = guessed_register(rule->ra_where, rule->ra_offset);
    row.row.regs[fp] = guessed_register(rule->fp_where, rule->fp_offset);
    f->guessed = true;
    return step_by_row(f, &row);
}

static int step(struct full *f, const struct td_unwind_place *place, uint64_t address)
{
    struct td_unwind_full_row row;
    int rc = TD_ENODATA;

    f->guessed = false;
    if (place->table)
        rc = td_unwind_table_full_row(place->table, address - place->bias, &row);
    if (rc == TD_OK)
        return step_by_row(f, &row);
    if (rc == TD_ENODATA)
        return step_without_row(f, place, address);
    return TD_UNWIND_NO_TABLE;
}

void td_unwind_full(enum td_cfi_arch arch, const struct td_unwind_sample *sample,
                    struct td_unwind_stack *ret)
{
    struct full f = {.arch = arch,
                     .sample = sample,
                     .memory = {.bytes = sample->stack,
                                .size = sample->stack_bytes,
                                .base = sample->regs[td_unwind_sp(arch)]},
                     .known = sample->known,
                     .ip = sample->regs[td_unwind_ip(arch)],
                     .exact = true,
                     .leaf = true};
    struct td_unwind_place place;
    int outcome = STEPPED;

    memcpy(f.regs, sample->regs, sizeof(f.regs));
    ret->count = 0;
    ret->odd = true;
    while (outcome == STEPPED) {
        const uint64_t address = f.ip - !f.exact;

        if (!sample->find(sample->ctx, address, &place)) {
            outcome = f.guessed ? TD_UNWIND_NO_TABLE : TD_UNWIND_BAD_ADDRESS;
        } else if (ret->count == TD_UNWIND_FRAMES_MAX) {
            outcome = TD_UNWIND_DEEP;
        } else {
            ret->frames[ret->count++] = address;
            outcome = step(&f, &place, address);
        }
    }
    if (ret->count == 0)
        ret->frames[ret->count++] = f.ip;
    ret->stop = (enum td_unwind_stop)outcome;
    ret->used_bytes = f.memory.used;
}
