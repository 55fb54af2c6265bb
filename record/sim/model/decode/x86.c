/* SPDX-License-Identifier: MIT */
/* x86-64 instructions to uops, through Zydis. Forms are classed by forms_x86.def. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "base/mem.h"
#include "record/sim/model/decode/isa.h"

enum { STACK_POINTER = TD_REG_GPR + 4, OPERANDS_MAX = 8 };

/* Zero (TD_OP_NOP) stands for "not named in the list". */
static const uint8_t classes[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
#define F(mnemonic, class) [ZYDIS_MNEMONIC_##mnemonic] = TD_OP_##class,
#define A(mnemonic, class) [ZYDIS_MNEMONIC_V##mnemonic] = TD_OP_##class,
#define V(mnemonic, class) F(mnemonic, class) A(mnemonic, class)
#include "record/sim/model/decode/forms_x86.def"
#undef F
#undef A
#undef V
};

/* An instruction on its way from Zydis' form to ours. */
struct work {
    const struct td_decoder *decoder;
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    uint8_t src[OPERANDS_MAX], dst[OPERANDS_MAX];
    int src_count, dst_count;
    bool scaled; /* the address has an index times 2, 4 or 8 */
    bool load, store, vector, x87, immediate, vector_result;
    int width; /* bits of the widest operand */
    struct td_insn *insn;
};

static uint8_t model_register(ZydisRegister reg)
{
    switch ((int)ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
        return (uint8_t)(TD_REG_GPR +
                         (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg) -
                          ZYDIS_REGISTER_RAX));
    case ZYDIS_REGCLASS_FLAGS: return TD_REG_FLAGS;
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM: return (uint8_t)(TD_REG_VECTOR + ZydisRegisterGetId(reg));
    case ZYDIS_REGCLASS_MASK: return (uint8_t)(TD_REG_MASK + ZydisRegisterGetId(reg));
    case ZYDIS_REGCLASS_X87:
    case ZYDIS_REGCLASS_MMX: return (uint8_t)(TD_REG_X87 + (ZydisRegisterGetId(reg) & 7));
    default: return TD_REG_NONE;
    }
}

static void add_register(uint8_t *regs, int *count, uint8_t reg)
{
    for (int i = 0; i < *count; i++) {
        if (regs[i] == reg)
            return;
    }
    if (reg != TD_REG_NONE && *count < OPERANDS_MAX)
        regs[(*count)++] = reg;
}

static void read_register(struct work *w, const ZydisDecodedOperand *operand)
{
    const ZydisRegister reg = operand->reg.value;
    const uint8_t id = model_register(reg);
    const ZydisRegisterClass class = ZydisRegisterGetClass(reg);

    if (id == TD_REG_FLAGS) {
        const ZydisAccessedFlags *flags = w->in.cpu_flags;
        if (flags && flags->tested)
            add_register(w->src, &w->src_count, id);
        if (flags && (flags->modified | flags->set_0 | flags->set_1 | flags->undefined))
            add_register(w->dst, &w->dst_count, id);
        return;
    }
    w->vector |= id >= TD_REG_VECTOR && id < TD_REG_MASK;
    w->x87 |= id >= TD_REG_X87 && id < TD_REG_SINK;
    /* Writing 8 or 16 bits keeps the rest of the register; what may write nothing (cmov, bsf) keeps
     * all of it. */
    const bool merges = class == ZYDIS_REGCLASS_GPR8 || class == ZYDIS_REGCLASS_GPR16 ||
                        (operand->actions & ZYDIS_OPERAND_ACTION_CONDWRITE);
    if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ ||
        (merges && operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
        add_register(w->src, &w->src_count, id);
    if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
        add_register(w->dst, &w->dst_count, id);
        w->vector_result |= id >= TD_REG_VECTOR && id < TD_REG_MASK;
    }
    if (operand->size > w->width)
        w->width = operand->size;
}

static void read_memory(struct work *w, const ZydisDecodedOperand *operand)
{
    struct td_uop *uop = &w->insn->uop;
    const uint8_t base = model_register(operand->mem.base);
    const uint8_t index = model_register(operand->mem.index);

    if (operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
        add_register(w->src, &w->src_count, base);
        add_register(w->src, &w->src_count, index);
        return;
    }
    w->load |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    w->store |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    uop->address[0] = base;
    uop->address[1] = index;
    w->scaled = index != TD_REG_NONE && operand->mem.scale > 1;
    if (index == TD_REG_NONE && base == STACK_POINTER)
        uop->memory |= TD_MEMORY_STACK;
    if (operand->size == 32 || operand->size == 64)
        uop->memory |= TD_MEMORY_WHOLE;
    if (operand->size > w->width)
        w->width = operand->size;
}

static void read_operands(struct work *w)
{
    for (int i = 0; i < w->in.operand_count; i++) {
        const ZydisDecodedOperand *operand = &w->operands[i];
        if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER)
            read_register(w, operand);
        else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
            read_memory(w, operand);
        else if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
            w->immediate = true;
    }
}

static bool is_string_move(const struct work *w)
{
    return w->in.meta.category == ZYDIS_CATEGORY_STRINGOP;
}

static bool is_repeated(const struct work *w)
{
    const ZydisInstructionAttributes any =
        ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
    return is_string_move(w) && (w->in.attributes & any);
}

static bool is_prefetch(const struct work *w)
{
    return w->in.meta.category == ZYDIS_CATEGORY_PREFETCH;
}

static bool is_counted(ZydisMnemonic m)
{
    return m == ZYDIS_MNEMONIC_LOOP || m == ZYDIS_MNEMONIC_LOOPE || m == ZYDIS_MNEMONIC_LOOPNE;
}

static enum td_op_class class_of_branch(const struct work *w)
{
    switch ((int)w->in.meta.category) {
    case ZYDIS_CATEGORY_COND_BR: return is_counted(w->in.mnemonic) ? TD_OP_LOOP : TD_OP_BRANCH;
    case ZYDIS_CATEGORY_UNCOND_BR: return TD_OP_JUMP;
    case ZYDIS_CATEGORY_CALL: return TD_OP_CALL;
    case ZYDIS_CATEGORY_RET: return TD_OP_RET;
    default: return TD_OP_NOP;
    }
}

static enum td_op_class class_of_lea(const struct work *w)
{
    const ZydisDecodedOperand *operand = &w->operands[1];
    const bool three = operand->mem.base != ZYDIS_REGISTER_NONE &&
                       operand->mem.index != ZYDIS_REGISTER_NONE &&
                       operand->mem.disp.has_displacement;
    if (three)
        return TD_OP_LEA3;
    return operand->mem.scale > 1 ? TD_OP_LEA_SCALED : TD_OP_LEA;
}

static bool touches_gpr(const struct work *w)
{
    for (int i = 0; i < w->src_count; i++) {
        if (w->src[i] < TD_REG_FLAGS)
            return true;
    }
    return w->dst_count && w->dst[0] < TD_REG_FLAGS;
}

static bool rotates_by_one(const struct work *w)
{
    const ZydisDecodedOperand *by = &w->operands[1];

    return by->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && by->imm.value.u == 1;
}

/* A move between a general and a vector register. */
static enum td_op_class class_of_transfer(const struct work *w)
{
    if (!w->vector_result)
        return TD_OP_MOV_TO_GPR;
    return w->in.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY ? TD_OP_MOV_MERGE
                                                               : TD_OP_MOV_FROM_GPR;
}

/* A named class, made more exact where the mnemonic alone does not say. */
static enum td_op_class class_of_named(const struct work *w, enum td_op_class class)
{
    const ZydisMnemonic m = w->in.mnemonic;
    const bool move = m == ZYDIS_MNEMONIC_MOVD || m == ZYDIS_MNEMONIC_MOVQ ||
                      m == ZYDIS_MNEMONIC_VMOVD || m == ZYDIS_MNEMONIC_VMOVQ;

    if (move && !w->load && !w->store && touches_gpr(w))
        return class_of_transfer(w);
    if (class == TD_OP_MOVMSK && w->width > 128)
        return TD_OP_MOVMSK_WIDE;
    if (class == TD_OP_DIV64 && w->width < 64)
        return TD_OP_DIV32;
    if (class == TD_OP_MUL && w->in.operand_count_visible == 1)
        return TD_OP_MUL_WIDE;
    if (class == TD_OP_SHIFT && w->in.operand_count_visible == 2 && !w->immediate &&
        w->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
        return TD_OP_SHIFT_CL;
    /* By one: the same registers, and no loop in the microcode. */
    if (class == TD_OP_ROTATE_CARRY && rotates_by_one(w))
        return TD_OP_SHIFT_CL;
    if ((class == TD_OP_BIT_TEST || class == TD_OP_BIT_SET) && !w->immediate &&
        (w->load || w->store))
        return TD_OP_MICROCODE;
    if (class == TD_OP_XCHG && (w->load || w->store) && m == ZYDIS_MNEMONIC_XCHG)
        return TD_OP_LOCKED;
    return class;
}

/* By the flags that the condition reads. */
static enum td_op_class class_of_cmov(ZydisMnemonic m)
{
    switch ((int)m) {
    case ZYDIS_MNEMONIC_CMOVL:
    case ZYDIS_MNEMONIC_CMOVNL:
    case ZYDIS_MNEMONIC_CMOVLE:
    case ZYDIS_MNEMONIC_CMOVNLE: return TD_OP_CMOV_SIGN;
    case ZYDIS_MNEMONIC_CMOVBE:
    case ZYDIS_MNEMONIC_CMOVNBE: return TD_OP_CMOV_CARRY;
    default: return TD_OP_CMOV;
    }
}

static enum td_op_class class_of_setcc(ZydisMnemonic m)
{
    return m == ZYDIS_MNEMONIC_SETBE || m == ZYDIS_MNEMONIC_SETNBE ? TD_OP_SETCC_CARRY
                                                                   : TD_OP_SETCC;
}

static enum td_op_class class_of(const struct work *w)
{
    const ZydisMnemonic m = w->in.mnemonic;
    const enum td_op_class branch = class_of_branch(w);

    if (branch != TD_OP_NOP)
        return branch;
    switch ((int)w->in.meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP: return TD_OP_NOP;
    case ZYDIS_CATEGORY_CMOV: return class_of_cmov(m);
    case ZYDIS_CATEGORY_SETCC: return class_of_setcc(m);
    default: break;
    }
    if (w->in.attributes & ZYDIS_ATTRIB_HAS_LOCK)
        return TD_OP_LOCKED;
    if (is_repeated(w))
        return TD_OP_STRING;
    if (m == ZYDIS_MNEMONIC_LEA)
        return class_of_lea(w);
    /* MOVSD and CMPSD name both a string instruction and a vector one. */
    if (m == ZYDIS_MNEMONIC_MOVSD)
        return w->vector ? TD_OP_VSHUF : TD_OP_STRING_ONE;
    if (m == ZYDIS_MNEMONIC_CMPSD)
        return w->vector ? TD_OP_FCMP : TD_OP_STRING_ONE;
    if (classes[m] != TD_OP_NOP || m == ZYDIS_MNEMONIC_VZEROUPPER)
        return class_of_named(w, classes[m]);
    if (w->vector)
        return TD_OP_VINT;
    return w->x87 || w->in.meta.category == ZYDIS_CATEGORY_X87_ALU ? TD_OP_X87 : TD_OP_ALU;
}

static bool is_plain_move(ZydisMnemonic m)
{
    switch ((int)m) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_LEAVE: return true;
    default: return false;
    }
}

/* A load into a vector register that only moves, duplicates or zero-extends. */
static bool is_vector_load(const struct work *w, enum td_op_class class)
{
    const ZydisMnemonic m = w->in.mnemonic;

    if (!w->load || w->store || !w->vector)
        return false;
    if (class == TD_OP_VMOVE || class == TD_OP_MOV_FROM_GPR)
        return true;
    if (class == TD_OP_VSHUF_LANE || class == TD_OP_VBROADCAST)
        return w->in.operand_count_visible == 2;
    switch ((int)m) {
    case ZYDIS_MNEMONIC_MOVSS:
    case ZYDIS_MNEMONIC_VMOVSS:
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_VMOVSD:
    case ZYDIS_MNEMONIC_MOVDDUP:
    case ZYDIS_MNEMONIC_VMOVDDUP:
    case ZYDIS_MNEMONIC_MOVSHDUP:
    case ZYDIS_MNEMONIC_MOVSLDUP: return true;
    default: return false;
    }
}

static bool all_registers_equal(const struct work *w, int first)
{
    for (int i = first; i < w->in.operand_count_visible; i++) {
        if (w->operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER ||
            w->operands[i].reg.value != w->operands[w->in.operand_count_visible - 1].reg.value)
            return false;
    }
    return w->in.operand_count_visible >= 2;
}

/* xor reg,reg and its like: the result does not depend on the register; rename makes it. */
static bool is_zero_idiom(const struct work *w)
{
    if (w->load || w->store || w->immediate)
        return false;
    switch ((int)w->in.mnemonic) {
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_XORPS:
    case ZYDIS_MNEMONIC_XORPD:
    case ZYDIS_MNEMONIC_PSUBB:
    case ZYDIS_MNEMONIC_PSUBD:
    case ZYDIS_MNEMONIC_PSUBQ: return all_registers_equal(w, 0);
    case ZYDIS_MNEMONIC_VPXOR:
    case ZYDIS_MNEMONIC_VXORPS:
    case ZYDIS_MNEMONIC_VXORPD:
    case ZYDIS_MNEMONIC_VPSUBB:
    case ZYDIS_MNEMONIC_VPSUBD:
    case ZYDIS_MNEMONIC_VPSUBQ: return all_registers_equal(w, 1);
    default: return false;
    }
}

/* sbb reg,reg of a whole register: the result is what the carry says. */
static bool is_carry_idiom(const struct work *w)
{
    return w->decoder->desc->sbb_by_carry && w->in.mnemonic == ZYDIS_MNEMONIC_SBB &&
           w->in.operand_width >= 32 && all_registers_equal(w, 0);
}

/* Whether it zero-extends the lowest byte of a register. */
static bool extends_low_byte(const struct work *w)
{
    const ZydisRegister from = w->operands[1].reg.value;

    return w->in.mnemonic == ZYDIS_MNEMONIC_MOVZX && w->operands[1].size == 8 &&
           w->operands[0].size >= 32 && (from < ZYDIS_REGISTER_AH || from > ZYDIS_REGISTER_BH);
}

/* Register to register, done by rename. */
static bool is_eliminated_move(const struct work *w, enum td_op_class class)
{
    if (w->load || w->store || w->immediate)
        return false;
    const bool byte = w->decoder->desc->byte_moves && extends_low_byte(w);
    if (!byte && w->in.mnemonic != ZYDIS_MNEMONIC_MOV)
        return class == TD_OP_VMOVE;
    if (w->decoder->desc->byte_moves && w->src_count == 1 && w->src[0] == w->dst[0])
        return false;
    return byte || w->operands[0].size >= 32;
}

/* What rename adds by itself: the range of Alder Lake P and Redwood Cove, both measured. */
static bool is_small(int64_t value)
{
    return value >= -1024 && value < 1024;
}

/* An addition of 64 bits that rename does. */
static bool is_small_add(const struct work *w)
{
    const ZydisMnemonic m = w->in.mnemonic;
    const ZydisDecodedOperand *second = &w->operands[1];

    if (w->load || w->store || w->operands[0].size < 64)
        return false;
    if (m == ZYDIS_MNEMONIC_INC || m == ZYDIS_MNEMONIC_DEC)
        return true;
    if (m == ZYDIS_MNEMONIC_LEA)
        return second->mem.index == ZYDIS_REGISTER_NONE && w->src_count == 1 &&
               is_small(second->mem.disp.value);
    return (m == ZYDIS_MNEMONIC_ADD || m == ZYDIS_MNEMONIC_SUB) && w->immediate &&
           is_small(second->imm.value.s);
}

static void set_execution(struct work *w, enum td_op_class class)
{
    struct td_uop *uop = &w->insn->uop;

    td_decode_cost(w->decoder, class, uop);
    if (w->width > 128 && uop->unit == TD_UNIT_FLOAT_DIVIDE && !w->decoder->desc->wide_divider)
        uop->busy = (uint8_t)(uop->busy * 2);
    if (class == TD_OP_STRING)
        uop->flags |= TD_UOP_STRING;
    w->insn->shifts = class == TD_OP_SHIFT || class == TD_OP_SHIFT_CL || class == TD_OP_BSWAP;
}

static void execute_nowhere(struct td_uop *uop)
{
    uop->issue = (struct td_port_mask){0};
    uop->latency = 0;
}

static bool extends_sign(ZydisMnemonic m)
{
    return m == ZYDIS_MNEMONIC_MOVSX || m == ZYDIS_MNEMONIC_MOVSXD;
}

/* The stores that gather a line and write it to memory, whatever the caches hold. */
static bool is_non_temporal(ZydisMnemonic m)
{
    return m == ZYDIS_MNEMONIC_MOVNTI || m == ZYDIS_MNEMONIC_MOVNTDQ ||
           m == ZYDIS_MNEMONIC_MOVNTPS || m == ZYDIS_MNEMONIC_MOVNTPD ||
           m == ZYDIS_MNEMONIC_VMOVNTDQ || m == ZYDIS_MNEMONIC_VMOVNTPS ||
           m == ZYDIS_MNEMONIC_VMOVNTPD;
}

/* What a load of this form takes beyond the cache's latency, and what rename can do with it. */
static void set_load(struct work *w)
{
    const struct td_core_desc *desc = w->decoder->desc;
    struct td_uop *uop = &w->insn->uop;
    int more = 0;

    if (w->vector)
        uop->memory = (uint8_t)((uop->memory & ~TD_MEMORY_WHOLE) | TD_MEMORY_VECTOR);
    if (w->store && is_non_temporal(w->in.mnemonic))
        uop->memory |= TD_MEMORY_PAST;
    if (!w->load)
        return;
    const bool sign = extends_sign(w->in.mnemonic), zeros = w->in.mnemonic == ZYDIS_MNEMONIC_MOVZX;
    const bool changed = sign || zeros || !is_plain_move(w->in.mnemonic);
    if (changed && !w->store)
        uop->memory &= (uint8_t)~TD_MEMORY_WHOLE;
    if (w->vector_result)
        more += desc->vector_latency;
    if (w->scaled)
        more += desc->index_latency;
    if (sign)
        more += desc->extend_latency;
    if (zeros)
        more += desc->zero_latency;
    uop->load_latency = (uint8_t)more;
}

/* Whether it has in its register what it loads, with zeros before it or as it is. */
static bool loads_plainly(const struct work *w)
{
    return w->load && is_plain_move(w->in.mnemonic) && !extends_sign(w->in.mnemonic) &&
           !w->src_count; /* a source: it keeps the rest of the register */
}

static bool is_indexed(const struct work *w)
{
    return w->insn->uop.address[1] != TD_REG_NONE;
}

/* Whether a general register's instruction has an access and more than goes with it in one uop: an
 * operation on a condition, a jump, or an index and an operation or what is stored. */
static bool joins_three(const struct work *w)
{
    const ZydisInstructionCategory category = w->in.meta.category;
    const bool condition = category == ZYDIS_CATEGORY_CMOV || category == ZYDIS_CATEGORY_SETCC;

    return (w->load || w->store) && !w->vector && !w->x87 &&
           (condition || category == ZYDIS_CATEGORY_UNCOND_BR ||
            (is_indexed(w) && !loads_plainly(w)));
}

/* What the store of a general register or of a constant, or what is loaded, goes through where its
 * access alone does not do it. */
static void set_access_move(struct work *w)
{
    const struct td_decoder *decoder = w->decoder;
    struct td_uop *uop = &w->insn->uop;
    const bool changed = w->load ? !loads_plainly(w) : w->immediate || is_indexed(w);

    if (!decoder->desc->access_moves || w->vector || !is_plain_move(w->in.mnemonic) || !changed)
        return;
    uop->issue = decoder->masks[TD_OP_MOVE];
    uop->latency = w->load && w->src_count; /* it joins the two parts */
}

/* Slots of what is more than one of the core's uops. */
static void set_joined(struct work *w)
{
    const struct td_core_desc *desc = w->decoder->desc;
    struct td_uop *uop = &w->insn->uop;
    const int slots = w->load && w->store ? desc->rmw_slots
                      : joins_three(w)    ? desc->joined_slots
                                          : 1;
    if (uop->slots < slots)
        uop->slots = (uint8_t)slots;
}

/* Whether it is a load or a store and nothing else. */
static bool only_moves(const struct work *w, enum td_op_class class)
{
    if (w->load == w->store)
        return false;
    if (!w->vector)
        return is_plain_move(w->in.mnemonic);
    return w->store || is_vector_load(w, class);
}

/* The ways an instruction is cheaper than its class. */
static void set_shortcuts(struct work *w, enum td_op_class class)
{
    struct td_uop *uop = &w->insn->uop;
    const bool stack =
        w->in.meta.category == ZYDIS_CATEGORY_PUSH || w->in.meta.category == ZYDIS_CATEGORY_POP;

    if (is_zero_idiom(w)) {
        w->src_count = 0;
        execute_nowhere(uop);
    } else if (is_carry_idiom(w)) {
        w->src_count = 0;
        add_register(w->src, &w->src_count, TD_REG_FLAGS);
    } else if (is_eliminated_move(w, class)) {
        execute_nowhere(uop);
    } else if (only_moves(w, class)) {
        execute_nowhere(uop);
        uop->slots = 1;
        if (!stack)
            set_access_move(w);
    } else if (stack) {
        execute_nowhere(uop);
    } else if (w->decoder->desc->fold_add_immediate && is_small_add(w)) {
        uop->flags |= TD_UOP_FOLD;
        uop->issue = (struct td_port_mask){0};
    }
    set_load(w);
    if (!stack && class != TD_OP_STRING)
        set_joined(w);
}

static void set_branch(struct work *w, uint64_t pc, size_t size)
{
    struct td_insn *insn = w->insn;
    const bool direct =
        w->in.operand_count_visible > 0 && w->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

    switch ((int)w->in.meta.category) {
    case ZYDIS_CATEGORY_COND_BR: insn->branch = TD_BRANCH_CONDITIONAL; break;
    case ZYDIS_CATEGORY_UNCOND_BR:
        insn->branch = direct ? TD_BRANCH_JUMP : TD_BRANCH_INDIRECT_JUMP;
        break;
    case ZYDIS_CATEGORY_CALL:
        insn->branch = direct ? TD_BRANCH_CALL : TD_BRANCH_INDIRECT_CALL;
        break;
    case ZYDIS_CATEGORY_RET: insn->branch = TD_BRANCH_RETURN; break;
    default: insn->branch = TD_BRANCH_NONE; break;
    }
    if (insn->branch != TD_BRANCH_NONE && direct)
        insn->target = pc + size + (uint64_t)w->in.raw.imm[0].value.s;
}

static void set_fusion(struct work *w)
{
    bool first = false;

    w->insn->keeps_carry =
        w->in.mnemonic == ZYDIS_MNEMONIC_INC || w->in.mnemonic == ZYDIS_MNEMONIC_DEC;
    switch ((int)w->in.mnemonic) {
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_TEST: first = !(w->load && w->immediate); break;
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC: first = !w->load; break;
    case ZYDIS_MNEMONIC_OR:
    case ZYDIS_MNEMONIC_XOR: first = !w->load && w->decoder->desc->fuse_logic; break;
    default: break;
    }
    if (first && !w->store)
        w->insn->fuses_first = TD_FUSION_JUMP;
    if (w->insn->branch == TD_BRANCH_CONDITIONAL && w->in.mnemonic != ZYDIS_MNEMONIC_JRCXZ &&
        w->in.mnemonic != ZYDIS_MNEMONIC_JECXZ && !is_counted(w->in.mnemonic))
        w->insn->fuses_second = TD_FUSION_JUMP;
}

/* push, pop, call and ret: the stack engine keeps rsp out of their dependences. */
static void drop_stack_pointer(uint8_t *regs, int *count)
{
    int kept = 0;

    for (int i = 0; i < *count; i++) {
        if (regs[i] != STACK_POINTER)
            regs[kept++] = regs[i];
    }
    *count = kept;
}

static enum td_stack_use stack_use(const struct work *w)
{
    const ZydisMnemonic m = w->in.mnemonic;
    const bool arithmetic =
        m == ZYDIS_MNEMONIC_ADD || m == ZYDIS_MNEMONIC_SUB || m == ZYDIS_MNEMONIC_AND;

    for (int i = 0; arithmetic && i < w->dst_count; i++) {
        if (w->dst[i] == STACK_POINTER)
            return TD_STACK_ARITHMETIC;
    }
    return TD_STACK_NONE;
}

static void set_registers(struct work *w)
{
    struct td_uop *uop = &w->insn->uop;
    const ZydisInstructionCategory category = w->in.meta.category;

    w->insn->stack = (uint8_t)stack_use(w);
    if (category == ZYDIS_CATEGORY_PUSH || category == ZYDIS_CATEGORY_POP ||
        category == ZYDIS_CATEGORY_CALL || category == ZYDIS_CATEGORY_RET) {
        w->insn->stack = TD_STACK_ENGINE;
        drop_stack_pointer(w->src, &w->src_count);
        drop_stack_pointer(w->dst, &w->dst_count);
        for (int i = 0; i < 2; i++) {
            if (uop->address[i] == STACK_POINTER)
                uop->address[i] = TD_REG_NONE;
        }
    }
    for (int i = 0; i < 3; i++)
        uop->src[i] = i < w->src_count ? w->src[i] : TD_REG_NONE;
    for (int i = 0; i < 2; i++)
        uop->dst[i] = i < w->dst_count ? w->dst[i] : TD_REG_SINK;
    if ((uop->flags & TD_UOP_FOLD) && uop->dst[0] == TD_REG_FLAGS) {
        uop->dst[0] = uop->dst[1];
        uop->dst[1] = TD_REG_FLAGS;
    }
}

static void fill_unknown(const struct td_decoder *decoder, struct td_insn *insn)
{
    struct td_uop *uop = &insn->uop;
    const struct td_op_cost *cost = &decoder->desc->ops[TD_OP_MICROCODE];

    insn->unknown = true;
    uop->slots = cost->slots;
    uop->latency = cost->latency;
    uop->issue = decoder->masks[TD_OP_MICROCODE];
    uop->dst[0] = uop->dst[1] = TD_REG_SINK;
    uop->flags = TD_UOP_HEAVY;
    td_decode_retired(TD_OP_MICROCODE, TD_RETIRED_OTHER, insn);
}

/* How many floating-point numbers it computes, when it does. */
static enum td_retired float_width(const struct work *w, enum td_op_class class)
{
    const char *name = ZydisMnemonicGetString(w->in.mnemonic);
    const size_t len = name ? strlen(name) : 0;
    const bool one =
        len > 2 && name[len - 2] == 's' && (name[len - 1] == 's' || name[len - 1] == 'd');

    if (one || class == TD_OP_FCOMI || class == TD_OP_CVT_FROM_GPR || class == TD_OP_CVT_TO_GPR)
        return TD_RETIRED_FP_SCALAR;
    if (w->width > 256)
        return TD_RETIRED_FP_512;
    return w->width > 128 ? TD_RETIRED_FP_256 : TD_RETIRED_FP_128;
}

/* An addition has the result of another earlier than others have it. When it is its own sum so far,
 * without a load, that is src[2], and `load_latency` says so, too, which has no other use then. */
static void set_forwarding(struct work *w, enum td_op_class class)
{
    struct td_uop *uop = &w->insn->uop;
    const uint8_t sum = uop->dst[0], cycles = w->decoder->desc->ops[class].forward;

    if (class != TD_OP_FADD)
        return;
    uop->forward = cycles & TD_FORWARD_MAX;
    if (uop->src[0] != sum && uop->src[1] != sum)
        return;
    uop->src[uop->src[0] != sum] = uop->src[2];
    uop->src[2] = sum;
    if (!w->load)
        uop->load_latency = cycles;
}

static void decode(const struct td_decoder *decoder, const uint8_t *bytes, size_t size, uint64_t pc,
                   struct td_insn *insn)
{
    struct work w = {.decoder = decoder, .insn = insn};

    *insn = (struct td_insn){.branch = TD_BRANCH_NONE};
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(decoder->state, bytes, size, &w.in, w.operands))) {
        fill_unknown(decoder, insn);
        return;
    }
    read_operands(&w);
    if (w.in.mnemonic == ZYDIS_MNEMONIC_POPCNT && decoder->desc->popcnt_waits)
        add_register(w.src, &w.src_count, model_register(w.operands[0].reg.value));
    const enum td_op_class class = class_of(&w);
    set_execution(&w, class);
    if (is_prefetch(&w)) {
        execute_nowhere(&insn->uop);
        insn->uop.slots = 1;
        insn->uop.flags |= TD_UOP_PREFETCH;
    } else if (class != TD_OP_NOP) {
        set_shortcuts(&w, class);
    }
    set_branch(&w, pc, size);
    set_fusion(&w);
    set_registers(&w);
    set_forwarding(&w, class);
    insn->repeats = is_repeated(&w);
    if (w.load && class != TD_OP_NOP)
        insn->uop.flags |= TD_UOP_LOAD;
    if (w.store)
        insn->uop.flags |= TD_UOP_STORE;
    /* TMA counts as heavy what is decoded to two uops or more; a load or a store joined to an
     * operation is not. */
    if (decoder->desc->ops[class].slots > 1 && insn->uop.slots > 1)
        insn->uop.flags |= TD_UOP_HEAVY;
    td_decode_retired(class, float_width(&w, class), insn);
}

static void *open_zydis(void)
{
    ZydisDecoder *zydis = td_xcalloc(1, sizeof(*zydis));

    ZydisDecoderInit(zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return zydis;
}

bool td_decode_x86_text(const uint8_t *bytes, size_t size, uint64_t pc, char *text,
                        size_t text_size)
{
    ZydisDisassembledInstruction insn;

    if (!ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, pc, bytes, size, &insn)))
        return false;
    snprintf(text, text_size, "%s", insn.text);
    return insn.info.mnemonic != ZYDIS_MNEMONIC_UD0 && insn.info.mnemonic != ZYDIS_MNEMONIC_UD1 &&
           insn.info.mnemonic != ZYDIS_MNEMONIC_UD2;
}

bool td_decode_x86_is_cut(const uint8_t *bytes, size_t size)
{
    ZydisDecoder zydis;
    ZydisDecodedInstruction insn;

    ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return ZydisDecoderDecodeInstruction(&zydis, NULL, bytes, size, &insn) ==
           ZYDIS_STATUS_NO_MORE_DATA;
}

const struct td_isa td_isa_x86 = {.name = "x86_64", .open = open_zydis, .decode = decode};
