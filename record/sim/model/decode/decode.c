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

void td_decode_cost(const struct td_decoder *decoder, enum td_op_class class, struct td_uop *uop)
{
    const struct td_op_cost *cost = &decoder->desc->ops[class];

    uop->slots = cost->slots;
    uop->latency = cost->latency;
    uop->busy = cost->busy;
    uop->issue = decoder->masks[class];
    uop->unit = (uint8_t)unit_of(class);
    if (cost->busy)
        uop->flags |= TD_UOP_BUSY;
    if (class == TD_OP_SERIAL || class == TD_OP_SYSCALL || class == TD_OP_FENCE ||
        class == TD_OP_PAUSE)
        uop->flags |= TD_UOP_SERIAL;
}
