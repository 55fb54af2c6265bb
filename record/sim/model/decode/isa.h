/* SPDX-License-Identifier: MIT */
/* A decoder, as the instruction sets' own files see it. */
#ifndef TD_RECORD_SIM_MODEL_DECODE_ISA_H
#define TD_RECORD_SIM_MODEL_DECODE_ISA_H

#include "record/sim/model/decode/decode.h"

struct td_isa {
    const char *name;    /* as in a description's `isa` */
    void *(*open)(void); /* td_decoder.state, freed with free(); NULL: it has none */
    void (*decode)(const struct td_decoder *decoder, const uint8_t *bytes, size_t size, uint64_t pc,
                   struct td_insn *insn);
};

extern const struct td_isa td_isa_x86, td_isa_a64;

struct td_decoder {
    const struct td_isa *isa;
    const struct td_core_desc *desc;
    struct td_port_mask masks[TD_OP_COUNT];
    struct td_port_mask load; /* a load of its own */
    void *state;
};

/* Whether the class computes floating-point numbers. */
bool td_decode_is_float(enum td_op_class class);
/* Says what the decoded instruction counts as; `width`: when it is floating point. */
void td_decode_retired(enum td_op_class class, enum td_retired width, struct td_insn *insn);
/* Gives the uop the cost of its class. */
void td_decode_cost(const struct td_decoder *decoder, enum td_op_class class, struct td_uop *uop);

/* x86-64: the longest instruction, and the first byte of those of AVX-512 (Intel SDM 2, "AVX
 * Instruction Length" and "Instruction Format and EVEX"). */
enum {
    TD_X86_INSTRUCTION_BYTES = 15,
    TD_X86_EVEX_PREFIX = 0x62,
};

/* The x86-64 instruction as text. False when it is none, or is meant to be illegal. */
bool td_decode_x86_text(const uint8_t *bytes, size_t size, uint64_t pc, char *text,
                        size_t text_size);
/* Whether these bytes are the beginning of an x86-64 instruction that has more. */
bool td_decode_x86_is_cut(const uint8_t *bytes, size_t size);

#endif
