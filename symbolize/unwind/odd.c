/* SPDX-License-Identifier: MIT */
/*
 * Stacks with a frame that compact rules cannot say, walked by libunwind. It never reads a file's
 * own call frame information, which a stranger may have written: the row of our decoder, checked,
 * is written down anew as one CIE and one FDE, and that is all that it is shown.
 */
#include "symbolize/unwind/odd.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "symbolize/unwind/expr.h"
#include "symbolize/unwind/unwind_priv.h"

#ifdef __x86_64__

#    include <libunwind.h>

/* libunwind exports it for profilers, and declares it in no installed header. */
#    define dwarf_search UNW_OBJ(dwarf_search_unwind_table)
int dwarf_search(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di, unw_proc_info_t *pi,
                 int need_unwind_info, void *arg);

/* libunwind's numbers of these are DWARF's. */
enum { REGISTERS = TD_CFI_X86_RA + 1 };

/* How far the page that libunwind is shown lies from the code: its offsets have 32 bits. */
#    define PAGE_DISTANCE (UINT64_C(1) << 30)
#    define PAGE_MASK     (~UINT64_C(0xfff))

/* Where the parts of the page are. */
enum { AT_TABLE = 0, AT_CIE = 16, TABLE_ENTRY_BYTES = 8 };

enum {
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_REGISTER = 0x09,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_VAL_EXPRESSION = 0x16,
    OP_CONSTS = 0x11,
    OP_PLUS = 0x22,
};

struct td_unwind_odd {
    unw_addr_space_t space;
    struct td_unwind_memory memory;
    uint64_t regs[REGISTERS];
    uint64_t known;
    uint64_t ip;
    bool exact, leaf, guessed;
    struct td_buf page; /* what libunwind is shown at page_base: a table, a CIE, an FDE */
    uint64_t page_base;
    uint64_t lost;            /* registers that the row does not give to the caller */
    enum td_unwind_stop fail; /* why the read that failed last did */
};

static int access_mem(unw_addr_space_t as, unw_word_t address, unw_word_t *value, int write,
                      void *arg)
{
    struct td_unwind_odd *o = arg;
    const uint64_t offset = address - o->page_base;

    (void)as;
    if (write)
        return -UNW_EINVAL;
    if (offset < o->page.len) {
        const size_t left = o->page.len - (size_t)offset;
        *value = 0;
        memcpy(value, o->page.data + offset, left < sizeof(*value) ? left : sizeof(*value));
        return 0;
    }
    uint64_t word;
    if (!td_unwind_load(&o->memory, address, &word)) {
        o->fail = td_unwind_load_stop(&o->memory, address);
        return -UNW_EINVAL;
    }
    *value = word;
    return 0;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
                      void *arg)
{
    const struct td_unwind_odd *o = arg;

    (void)as;
    if (write || reg < 0 || reg >= REGISTERS || !(o->known >> reg & 1))
        return -UNW_EBADREG;
    *value = o->regs[reg];
    return 0;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need,
                          void *arg)
{
    const struct td_unwind_odd *o = arg;
    unw_dyn_info_t di = {
        .format = UNW_INFO_FORMAT_REMOTE_TABLE, .start_ip = o->ip - 1, .end_ip = o->ip + 2};

    di.u.rti.segbase = o->page_base;
    di.u.rti.table_data = o->page_base + AT_TABLE;
    di.u.rti.table_len = TABLE_ENTRY_BYTES / sizeof(unw_word_t);
    return dwarf_search(as, ip, &di, pi, need, arg);
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
    (void)as;
    (void)pi;
    (void)arg;
}

static int no_dyn_info(unw_addr_space_t as, unw_word_t *address, void *arg)
{
    (void)as;
    (void)address;
    (void)arg;
    return -UNW_ENOINFO;
}

static int no_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int write, void *arg)
{
    (void)as;
    (void)reg;
    (void)value;
    (void)write;
    (void)arg;
    return -UNW_EINVAL;
}

static int no_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
    (void)as;
    (void)cursor;
    (void)arg;
    return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t as, unw_word_t address, char *buf, size_t size,
                   unw_word_t *offset, void *arg)
{
    (void)as;
    (void)address;
    (void)buf;
    (void)size;
    (void)offset;
    (void)arg;
    return -UNW_EINVAL;
}

struct td_unwind_odd *td_unwind_odd_new(enum td_cfi_arch arch)
{
    unw_accessors_t accessors = {.find_proc_info = find_proc_info,
                                 .put_unwind_info = put_unwind_info,
                                 .get_dyn_info_list_addr = no_dyn_info,
                                 .access_mem = access_mem,
                                 .access_reg = access_reg,
                                 .access_fpreg = no_fpreg,
                                 .resume = no_resume,
                                 .get_proc_name = no_name};
    if (arch != TD_CFI_X86_64)
        return NULL;
    struct td_unwind_odd *o = td_xcalloc(1, sizeof(*o));

    o->space = unw_create_addr_space(&accessors, 0);
    if (!o->space) {
        free(o);
        return NULL;
    }
    unw_set_caching_policy(o->space, UNW_CACHE_NONE);
    return o;
}

void td_unwind_odd_free(struct td_unwind_odd *odd)
{
    if (!odd)
        return;
    unw_destroy_addr_space(odd->space);
    td_buf_release(&odd->page);
    free(odd);
}

static void put_sleb(struct td_buf *buf, int64_t value)
{
    bool more = true;

    while (more) {
        const uint8_t low = value & 0x7f;
        value >>= 7;
        more = !((value == 0 && !(low & 0x40)) || (value == -1 && (low & 0x40)));
        td_buf_u8(buf, (uint8_t)(low | (more ? 0x80 : 0)));
    }
}

static void patch_u32(struct td_buf *buf, size_t pos, uint32_t value)
{
    memcpy(buf->data + pos, &value, sizeof(value));
}

/* An expression out of a file, with its length before it; false when libunwind must not see it. */
static bool put_expr(struct td_unwind_odd *o, const struct td_unwind_full_row *row,
                     const struct td_cfi_rule *rule)
{
    const uint8_t *expr = row->section->data + rule->expr; /* NOLINT: it came out of a section */

    if (!td_cfi_expr_is_plain(expr, rule->expr_size, REGISTERS))
        return false;
    td_buf_uleb(&o->page, rule->expr_size);
    td_buf_bytes(&o->page, expr, rule->expr_size);
    return true;
}

static bool put_cfa(struct td_unwind_odd *o, const struct td_unwind_full_row *row)
{
    const struct td_cfi_rule *rule = &row->row.cfa;

    if (rule->kind == TD_CFI_VALUE_EXPR) {
        td_buf_u8(&o->page, CFA_DEF_CFA_EXPRESSION);
        return rule->expr_size > 0 && put_expr(o, row, rule);
    }
    if (rule->kind != TD_CFI_REGISTER || rule->reg >= REGISTERS || !(o->known >> rule->reg & 1))
        return false;
    td_buf_u8(&o->page, CFA_DEF_CFA_SF);
    td_buf_u8(&o->page, rule->reg);
    put_sleb(&o->page, rule->value);
    return true;
}

/* The rule of a register, as that of `column`. Registers that the row does not recover are noted
 * as lost. False when an expression is not one for libunwind. */
static bool put_rule(struct td_unwind_odd *o, const struct td_unwind_full_row *row, unsigned reg,
                     unsigned column)
{
    const struct td_cfi_rule *rule = &row->row.regs[reg];
    struct td_buf *page = &o->page;

    switch ((enum td_cfi_rule_kind)rule->kind) {
    case TD_CFI_UNSET:
    case TD_CFI_SAME: return true;
    case TD_CFI_UNDEFINED: o->lost |= UINT64_C(1) << reg; return true;
    case TD_CFI_REGISTER:
        if (rule->reg >= REGISTERS || !(o->known >> rule->reg & 1)) {
            o->lost |= UINT64_C(1) << reg;
            return true;
        }
        td_buf_u8(page, CFA_REGISTER);
        td_buf_u8(page, (uint8_t)column);
        td_buf_u8(page, rule->reg);
        return true;
    case TD_CFI_SAVED:
        td_buf_u8(page, CFA_OFFSET_EXTENDED_SF);
        td_buf_u8(page, (uint8_t)column);
        put_sleb(page, rule->value);
        return true;
    case TD_CFI_VALUE: {
        struct td_buf expr = {0};
        td_buf_u8(&expr, OP_CONSTS);
        put_sleb(&expr, rule->value);
        td_buf_u8(&expr, OP_PLUS);
        td_buf_u8(page, CFA_VAL_EXPRESSION);
        td_buf_u8(page, (uint8_t)column);
        td_buf_uleb(page, expr.len);
        td_buf_bytes(page, expr.data, expr.len);
        td_buf_release(&expr);
        return true;
    }
    case TD_CFI_SAVED_EXPR:
    case TD_CFI_VALUE_EXPR:
        td_buf_u8(page, rule->kind == TD_CFI_SAVED_EXPR ? CFA_EXPRESSION : CFA_VAL_EXPRESSION);
        td_buf_u8(page, (uint8_t)column);
        return put_expr(o, row, rule);
    }
    return false;
}

/* The CIE, and the FDE up to its program: for the frame's address and those beside it. */
static size_t begin_page(struct td_unwind_odd *o)
{
    /* length, id, version, augmentation, alignments, return address, pointers as they are */
    static const uint8_t cie[] = {16, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 1, TD_CFI_X86_RA,
                                  1,  0, 0, 0, 0};
    struct td_buf *page = &o->page;

    page->len = 0;
    o->page_base = (o->ip ^ PAGE_DISTANCE) & PAGE_MASK;
    td_buf_u32(page, (uint32_t)(o->ip - 1 - o->page_base));
    td_buf_u32(page, AT_CIE + sizeof(cie));
    td_buf_u64(page, 0);
    td_buf_bytes(page, cie, sizeof(cie));
    const size_t fde = page->len;
    td_buf_u32(page, 0);
    td_buf_u32(page, (uint32_t)(page->len - AT_CIE));
    td_buf_u64(page, o->ip - 1);
    td_buf_u64(page, 3);
    td_buf_u8(page, 0);
    return fde;
}

static void end_page(struct td_unwind_odd *o, size_t fde)
{
    static const uint8_t nops[8];

    td_buf_bytes(&o->page, nops, sizeof(nops));
    patch_u32(&o->page, fde, (uint32_t)(o->page.len - fde - 4));
}

/* Lets libunwind leave the frame by what is in the page. */
static bool step_page(struct td_unwind_odd *o, unw_cursor_t *cursor, uint64_t *ra)
{
    unw_word_t value = 0;

    o->fail = TD_UNWIND_BAD_RULE;
    if (unw_init_remote(cursor, o->space, o) < 0 || unw_step(cursor) < 0 ||
        unw_get_reg(cursor, UNW_REG_IP, &value) < 0)
        return false;
    *ra = value;
    return true;
}

static bool is_popped(const struct td_unwind_odd *o, const struct td_cfi_rule *rule, uint64_t cfa)
{
    return rule->kind == TD_CFI_SAVED &&
           td_unwind_popped(o->regs[TD_CFI_X86_RSP], cfa + (uint64_t)rule->value, o->leaf);
}

/* Writes the row down: `registers` and `ra_from`'s rule as that of the return address. */
static bool write_page(struct td_unwind_odd *o, const struct td_unwind_full_row *row,
                       uint64_t registers, unsigned ra_from)
{
    const size_t fde = begin_page(o);

    o->lost = 0;
    o->fail = TD_UNWIND_BAD_RULE;
    if (!put_cfa(o, row) || !put_rule(o, row, ra_from, TD_CFI_X86_RA))
        return false;
    for (unsigned reg = 0; reg < TD_CFI_X86_RA; reg++) {
        if (registers >> reg & 1 && reg != TD_CFI_X86_RSP && !put_rule(o, row, reg, reg))
            return false;
    }
    end_page(o, fde);
    return true;
}

/* The caller's stack pointer is the CFA to libunwind, whatever the row says of it: where it says
 * something else, that is asked for as a return address. */
static void find_sp(struct td_unwind_odd *o, const struct td_unwind_full_row *row, uint64_t *sp)
{
    const uint8_t kind = row->row.regs[TD_CFI_X86_RSP].kind;
    unw_cursor_t cursor;
    uint64_t value;

    if (kind > TD_CFI_SAME && write_page(o, row, 0, TD_CFI_X86_RSP) && !o->lost &&
        step_page(o, &cursor, &value))
        *sp = value;
}

/* One register's expression that fails would cost the frame: then all of them are lost instead. */
static bool step_registers(struct td_unwind_odd *o, const struct td_unwind_full_row *row,
                           uint64_t registers, unw_cursor_t *cursor, uint64_t *ra)
{
    uint64_t expressions = 0;

    if (write_page(o, row, registers, TD_CFI_X86_RA) && step_page(o, cursor, ra))
        return true;
    for (unsigned reg = 0; reg < TD_CFI_X86_RA; reg++) {
        const uint8_t kind = row->row.regs[reg].kind;

        if (kind == TD_CFI_SAVED_EXPR || kind == TD_CFI_VALUE_EXPR)
            expressions |= UINT64_C(1) << reg;
    }
    if (!write_page(o, row, registers & ~expressions, TD_CFI_X86_RA) || !step_page(o, cursor, ra))
        return false;
    o->lost |= expressions;
    return true;
}

/* COMPLETE here means: go on with the caller's registers. */
static enum td_unwind_stop leave(struct td_unwind_odd *o, const struct td_unwind_full_row *row,
                                 uint64_t *ra)
{
    uint64_t kept = 0, regs[REGISTERS] = {0}, known = 0;
    unw_cursor_t cursor;
    unw_word_t value;

    /* First the CFA and the return address alone: the CFA says which slots were popped. */
    if (!write_page(o, row, 0, TD_CFI_X86_RA) || o->lost)
        return TD_UNWIND_BAD_RULE;
    if (!step_page(o, &cursor, ra) || unw_get_reg(&cursor, UNW_REG_SP, &value) < 0)
        return o->fail;
    if (*ra == 0)
        return TD_UNWIND_COMPLETE;
    uint64_t sp = value;
    for (unsigned reg = 0; reg < TD_CFI_X86_RA; reg++) {
        if (is_popped(o, &row->row.regs[reg], sp))
            kept |= UINT64_C(1) << reg;
    }
    if (!step_registers(o, row, ~kept, &cursor, ra))
        return o->fail;
    const uint64_t lost = o->lost;
    for (unsigned reg = 0; reg < TD_CFI_X86_RA; reg++) {
        if (lost >> reg & 1 || unw_get_reg(&cursor, (unw_regnum_t)reg, &value) < 0)
            continue;
        regs[reg] = value;
        known |= UINT64_C(1) << reg;
    }
    find_sp(o, row, &sp);
    if (!td_unwind_advances(o->regs[TD_CFI_X86_RSP], sp, row->cie.signal_frame, false))
        return TD_UNWIND_BAD_RULE;
    regs[TD_CFI_X86_RSP] = sp;
    regs[TD_CFI_X86_RA] = *ra;
    memcpy(o->regs, regs, sizeof(o->regs));
    o->known = known | UINT64_C(1) << TD_CFI_X86_RSP | UINT64_C(1) << TD_CFI_X86_RA;
    o->ip = *ra;
    return TD_UNWIND_COMPLETE;
}

enum { STEPPED = TD_UNWIND_STOPS };

static int step_by_row(struct td_unwind_odd *o, const struct td_unwind_full_row *row)
{
    const uint8_t kind = row->cie.return_reg == TD_CFI_X86_RA ? row->row.regs[TD_CFI_X86_RA].kind
                                                              : (uint8_t)TD_CFI_SAME;
    uint64_t ra = 0;

    if (kind == TD_CFI_UNDEFINED)
        return TD_UNWIND_COMPLETE;
    if (kind <= TD_CFI_SAME)
        return TD_UNWIND_BAD_RULE;
    const enum td_unwind_stop stop = leave(o, row, &ra);
    if (stop != TD_UNWIND_COMPLETE || ra == 0)
        return (int)stop;
    o->exact = o->leaf = row->cie.signal_frame;
    o->memory.after_signal |= row->cie.signal_frame;
    return STEPPED;
}

static struct td_cfi_rule guessed_register(uint8_t where, int16_t offset)
{
    if (where == TD_UNWIND_AT_CFA)
        return (struct td_cfi_rule){.kind = TD_CFI_SAVED, .value = offset};
    return (struct td_cfi_rule){.kind = TD_CFI_SAME};
}

/* Code without a row of its own: what the table walker would do, as a row. */
static int step_without_row(struct td_unwind_odd *o, const struct td_unwind_place *place,
                            uint64_t address)
{
    const struct td_unwind_rule *rule = td_unwind_rule_at(TD_CFI_X86_64, place, address);
    struct td_unwind_full_row row = {.cie = {.return_reg = TD_CFI_X86_RA}};

    if (rule->ra_where == TD_UNWIND_UNDEFINED)
        return TD_UNWIND_COMPLETE;
    if (rule->cfa_kind == TD_UNWIND_NONE ||
        !td_unwind_guess_makes_sense(&o->memory, rule, TD_CFI_X86_RBP, o->regs[TD_CFI_X86_RSP],
                                     o->regs[TD_CFI_X86_RBP]))
        return TD_UNWIND_NO_TABLE;
    row.row.cfa = (struct td_cfi_rule){
        .kind = TD_CFI_REGISTER, .reg = rule->cfa_reg, .value = rule->cfa_offset};
    row.row.regs[TD_CFI_X86_RA] = guessed_register(rule->ra_where, rule->ra_offset);
    row.row.regs[TD_CFI_X86_RBP] = guessed_register(rule->fp_where, rule->fp_offset);
    o->guessed = true;
    return step_by_row(o, &row);
}

static int step(struct td_unwind_odd *o, const struct td_unwind_place *place, uint64_t address)
{
    struct td_unwind_full_row row;
    int rc = TD_ENODATA;

    o->guessed = false;
    if (place->table)
        rc = td_unwind_table_full_row(place->table, address - place->bias, &row);
    if (rc == TD_OK)
        return step_by_row(o, &row);
    if (rc == TD_ENODATA)
        return step_without_row(o, place, address);
    return TD_UNWIND_NO_TABLE;
}

void td_unwind_odd(struct td_unwind_odd *odd, const struct td_unwind_sample *sample,
                   struct td_unwind_stack *ret)
{
    struct td_unwind_odd *const o = odd;
    struct td_unwind_place place;
    int outcome = STEPPED;

    o->memory = (struct td_unwind_memory){
        .bytes = sample->stack, .size = sample->stack_bytes, .base = sample->regs[TD_CFI_X86_RSP]};
    memcpy(o->regs, sample->regs, sizeof(o->regs));
    o->known = sample->known & ((UINT64_C(1) << REGISTERS) - 1);
    o->ip = sample->regs[TD_CFI_X86_RA];
    o->exact = o->leaf = true;
    o->guessed = false;
    ret->count = 0;
    while (outcome == STEPPED) {
        const uint64_t address = o->ip - !o->exact;

        if (!sample->find(sample->ctx, address, &place)) {
            outcome = o->guessed ? TD_UNWIND_NO_TABLE : TD_UNWIND_BAD_ADDRESS;
        } else if (ret->count == TD_UNWIND_FRAMES_MAX) {
            outcome = TD_UNWIND_DEEP;
        } else {
            ret->frames[ret->count++] = address;
            outcome = step(o, &place, address);
        }
    }
    if (ret->count == 0)
        ret->frames[ret->count++] = o->ip;
    ret->stop = (enum td_unwind_stop)outcome;
    ret->used_bytes = o->memory.used;
}

#else /* another machine: its libunwind is of another shape */

struct td_unwind_odd *td_unwind_odd_new(enum td_cfi_arch arch)
{
    (void)arch;
    return NULL;
}

void td_unwind_odd_free(struct td_unwind_odd *odd)
{
    (void)odd;
}

void td_unwind_odd(struct td_unwind_odd *odd, const struct td_unwind_sample *sample,
                   struct td_unwind_stack *ret)
{
    (void)odd;
    (void)sample;
    (void)ret;
}

#endif
