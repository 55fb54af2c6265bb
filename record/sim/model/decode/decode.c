/* SPDX-License-Identifier: MIT */
#include "record/sim/model/decode/decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/sim/model/decode/isa.h"

static const struct td_isa *const isas[] = {&td_isa_x86, &td_isa_a64};

struct td_decoder *td_decoder_new(const struct td_core_desc *desc, const struct td_ports *ports)
{
    const struct td_isa *isa = NULL;

    for (size_t i = 0; i < TD_ARRAY_SIZE(isas); i++) {
        if (strcmp(desc->isa, isas[i]->name) == 0)
            isa = isas[i];
    }
    if (!isa)
        return NULL;
    struct td_decoder *decoder = td_xcalloc(1, sizeof(*decoder));
    decoder->isa = isa;
    decoder->desc = desc;
    for (int i = 0; i < TD_OP_COUNT; i++) {
        const struct td_op_cost *cost = &desc->ops[i];
        if (cost->ports)
            decoder->masks[i] = td_ports_mask(ports, cost->ports, cost->extra);
    }
    decoder->load = td_ports_mask(ports, desc->load_ports, 0);
    decoder->state = isa->open ? isa->open() : NULL;
    return decoder;
}

void td_decoder_free(struct td_decoder *decoder)
{
    if (decoder)
        free(decoder->state);
    free(decoder);
}

void td_decode(const struct td_decoder *decoder, const uint8_t *bytes, size_t size, uint64_t pc,
               struct td_insn *insn)
{
    decoder->isa->decode(decoder, bytes, size, pc, insn);
}

static enum td_unit_kind unit_of(enum td_op_class class)
{
    switch ((int)class) {
    case TD_OP_DIV32:
    case TD_OP_DIV64: return TD_UNIT_DIVIDE;
    case TD_OP_FDIV32:
    case TD_OP_FDIV64:
    case TD_OP_FSQRT32:
    case TD_OP_FSQRT64:
    case TD_OP_X87_DIV: return TD_UNIT_FLOAT_DIVIDE;
    case TD_OP_LOCKED: return TD_UNIT_LOCK;
    default: return TD_UNIT_OTHER;
    }
}

/* The kind of its ports. */
static enum td_cause port_of(const struct td_core_desc *desc, enum td_op_class class)
{
    switch ((int)class) {
    case TD_OP_MUL:
    case TD_OP_MUL_WIDE:
    case TD_OP_MADD:
    case TD_OP_SHIFT_DOUBLE:
    case TD_OP_BITS:
    case TD_OP_PDEP:
    case TD_OP_CRC:
        return desc->ops[class].ports == desc->ops[TD_OP_ALU].ports ? TD_CAUSE_PORT_INTEGER
                                                                    : TD_CAUSE_PORT_MULTIPLY;
    case TD_OP_BRANCH:
    case TD_OP_LOOP:
    case TD_OP_JUMP:
    case TD_OP_CALL:
    case TD_OP_RET: return TD_CAUSE_PORT_BRANCH;
    case TD_OP_MOVMSK:
    case TD_OP_MOVMSK_WIDE:
    case TD_OP_PTEST:
    case TD_OP_PINSR:
    case TD_OP_PEXTR:
    case TD_OP_MOV_FROM_GPR:
    case TD_OP_MOV_MERGE:
    case TD_OP_MOV_TO_GPR:
    case TD_OP_VTABLE: return TD_CAUSE_PORT_SHUFFLE;
    case TD_OP_GATHER:
    case TD_OP_MASKMOV:
    case TD_OP_VSHIFT_LONG:
    case TD_OP_VMULL:
    case TD_OP_VDOT:
    case TD_OP_VREDUCE:
    case TD_OP_PREDICATE: return TD_CAUSE_PORT_VECTOR;
    default: break;
    }
    if (class >= TD_OP_VSHUF && class <= TD_OP_VBROADCAST)
        return TD_CAUSE_PORT_SHUFFLE;
    if (class >= TD_OP_VMOVE && class <= TD_OP_VBLENDV)
        return TD_CAUSE_PORT_VECTOR;
    if (td_decode_is_float(class))
        return TD_CAUSE_PORT_FLOAT;
    return class >= TD_OP_AES && class <= TD_OP_PCMPSTR ? TD_CAUSE_PORT_VECTOR
                                                        : TD_CAUSE_PORT_INTEGER;
}

bool td_decode_is_float(enum td_op_class class)
{
    return (class >= TD_OP_FADD && class <= TD_OP_CVT_TO_GPR) ||
           (class >= TD_OP_X87 && class <= TD_OP_X87_LONG);
}

/* Whether it computes integers in vector registers. */
static bool is_integer_vector(enum td_op_class class)
{
    switch ((int)class) {
    case TD_OP_VSHIFT_LONG:
    case TD_OP_VMULL:
    case TD_OP_VDOT:
    case TD_OP_VREDUCE: return true;
    default: return class >= TD_OP_VLOGIC && class <= TD_OP_VSAD;
    }
}

void td_decode_retired(enum td_op_class class, enum td_retired width, struct td_insn *insn)
{
    const struct td_uop *uop = &insn->uop;
    const bool accesses = uop->flags & (TD_UOP_LOAD | TD_UOP_STORE | TD_UOP_PREFETCH);
    const bool moves = accesses && !uop->issue.add && !(uop->flags & TD_UOP_FOLD);
    enum td_retired retired = TD_RETIRED_OTHER;

    if (uop->flags & TD_UOP_HEAVY)
        retired = uop->slots > TD_DECODED_UOPS_MAX ? TD_RETIRED_MICROCODE : TD_RETIRED_FEW_UOPS;
    else if (class == TD_OP_NOP)
        retired = TD_RETIRED_NOP;
    else if (insn->branch != TD_BRANCH_NONE)
        retired = TD_RETIRED_BRANCH;
    else if (moves)
        retired = TD_RETIRED_MEMORY;
    else if (class >= TD_OP_X87 && class <= TD_OP_X87_LONG)
        retired = TD_RETIRED_X87;
    else if (td_decode_is_float(class))
        retired = width;
    else if (is_integer_vector(class))
        retired = TD_RETIRED_INTEGER_VECTOR;
    else if (accesses) /* arithmetic joined to it has no count of its own in TMA */
        retired = TD_RETIRED_MEMORY;
    insn->retired = (uint8_t)retired;
}

void td_decode_cost(const struct td_decoder *decoder, enum td_op_class class, struct td_uop *uop)
{
    const struct td_op_cost *cost = &decoder->desc->ops[class];

    uop->slots = cost->slots;
    uop->latency = cost->latency;
    uop->busy = cost->busy;
    uop->issue = decoder->masks[class];
    uop->unit = (uint8_t)unit_of(class);
    uop->port = (uint8_t)port_of(decoder->desc, class);
    if (cost->busy)
        uop->flags |= TD_UOP_BUSY;
    if (class == TD_OP_SERIAL || class == TD_OP_SYSCALL || class == TD_OP_FENCE ||
        class == TD_OP_PAUSE)
        uop->flags |= TD_UOP_SERIAL;
}
