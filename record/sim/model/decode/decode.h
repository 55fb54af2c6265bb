/* SPDX-License-Identifier: MIT */
/*
 * From instruction bytes to uops: what each reads, writes and executes, with the costs of one core
 * put in. A fused uop (load and operation, operation and store) is one, as the core renames it.
 */
#ifndef TD_RECORD_SIM_MODEL_DECODE_DECODE_H
#define TD_RECORD_SIM_MODEL_DECODE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/cores/core.h"
#include "record/sim/model/causes.h"
#include "record/sim/model/ports.h"

/* Registers of the model: what an instruction set has, renumbered. NONE is always ready; writes
 * without a reader go to SINK. */
enum td_reg {
    TD_REG_NONE = 0,
    TD_REG_GPR = 1, /* 16 on x86, 31 and the stack pointer on aarch64 */
    TD_REG_FLAGS = 33,
    TD_REG_VECTOR = 34,
    TD_REG_MASK = 66, /* 8 on x86 */
    TD_REG_X87 = 74,
    TD_REG_PREDICATE = 66, /* 16 on aarch64 */
    TD_REG_SINK = 95,
    TD_REG_COUNT = 96,
};

enum td_uop_flag {
    TD_UOP_LOAD = 1 << 0,
    TD_UOP_STORE = 1 << 1,
    TD_UOP_FOLD = 1 << 2,   /* rename computes dst[0]; it executes only for the flags, dst[1] */
    TD_UOP_SERIAL = 1 << 3, /* dispatches when all before it has retired */
    TD_UOP_BUSY = 1 << 4,   /* its unit takes no other for `busy` cycles */
    TD_UOP_STRING = 1 << 5, /* a repeated string instruction: accesses stream */
    TD_UOP_PREFETCH = 1 << 6,
    TD_UOP_HEAVY = 1 << 7, /* its slots are heavy_operations */
};

/* Which way it goes through the model: a uop of one slot that is nothing but what the way says goes
 * a short one. Blocks know it, decoders leave it open. */
enum td_uop_way {
    TD_WAY_ANY,
    TD_WAY_COMPUTES, /* on a port */
    TD_WAY_LOADS,    /* and may compute with what it has loaded */
    TD_WAY_STORES,   /* and may compute what it stores */
};

/* Where its result goes: rename has so many registers of each kind (`registers` of a core). */
enum td_result { TD_RESULT_NONE, TD_RESULT_GENERAL, TD_RESULT_VECTOR, TD_RESULT_COUNT };

/* What its load or store is. */
enum td_uop_memory {
    TD_MEMORY_VECTOR = 1 << 0, /* to or from a vector register */
    TD_MEMORY_STACK = 1 << 1,  /* its address is the stack pointer and a constant */
    TD_MEMORY_WHOLE = 1 << 2,  /* 4 or 8 bytes of a general register, as they are */
    TD_MEMORY_PAST = 1 << 3,   /* a store past the caches, by whole lines */
};

/* Units that are not pipelined. */
enum td_unit_kind {
    TD_UNIT_DIVIDE,
    TD_UNIT_FLOAT_DIVIDE,
    TD_UNIT_LOCK, /* the line is held: other atomics wait */
    TD_UNIT_OTHER,
    TD_UNIT_KIND_COUNT
};

struct td_uop {
    struct td_port_mask issue; /* where it executes; zero when nowhere */
    uint8_t src[3];
    uint8_t address[2]; /* registers of the address */
    uint8_t dst[2];
    uint8_t flags;
    uint8_t latency;
    uint8_t busy;
    uint8_t slots;
    uint8_t load_latency; /* of a load: added to the cache's; else src[2] comes so much earlier
                             from its like */
    uint8_t memory : 4;   /* enum td_uop_memory */
    uint8_t unit : 2;     /* enum td_unit_kind */
    uint8_t forward : 2;  /* so many cycles earlier its like has its result, and it its like's */
    uint8_t way : 4;      /* enum td_uop_way */
    uint8_t result : 4;   /* enum td_result; blocks know it as the way */
    union {
        struct {
            uint16_t port
                : TD_CELL_BITS; /* enum td_cause: what it waits for when its ports are busy */
            uint16_t insn : 16 - TD_CELL_BITS; /* index in the block */
        };
        uint16_t cell; /* both at once: from the first cell of the block's first row (charge.h) */
    };
};

enum td_branch_kind {
    TD_BRANCH_NONE,
    TD_BRANCH_CONDITIONAL,
    TD_BRANCH_JUMP,
    TD_BRANCH_CALL,
    TD_BRANCH_RETURN,
    TD_BRANCH_INDIRECT_JUMP,
    TD_BRANCH_INDIRECT_CALL,
};

/* What an instruction does to the stack pointer, where calls leave nothing on the stack. */
enum td_sp_effect {
    TD_SP_KEPT,
    TD_SP_MOVED, /* by td_insn.sp_moved */
    TD_SP_SHOWN, /* after it, it is td_insn.sp_offset from the address of its access */
    TD_SP_LOST,  /* set to what is not known here */
};

/* How the stack pointer is moved: by the stack engine, which later arithmetic waits for (x86). */
enum td_stack_use { TD_STACK_NONE, TD_STACK_ENGINE, TD_STACK_ARITHMETIC };

/* Pairs of instructions that are renamed as one; the first of a pair and the second carry it. */
enum td_fusion { TD_FUSION_NONE, TD_FUSION_JUMP, TD_FUSION_AES };

#define TD_INSN_MORE_MAX 2

/* One instruction, decoded. */
struct td_insn {
    struct td_uop uop;
    /* What it does besides, after `uop`: uops without slots of their own. */
    struct td_uop more[TD_INSN_MORE_MAX];
    uint8_t more_count;
    uint8_t fuses_first;  /* enum td_fusion */
    uint8_t fuses_second; /* enum td_fusion */
    uint8_t sp_effect;    /* enum td_sp_effect */
    uint8_t retired;      /* enum td_retired */
    uint8_t stack;        /* enum td_stack_use */
    bool shifts;          /* or rotates, or swaps bytes */
    bool keeps_carry;     /* it writes all flags but the carry (x86's inc and dec) */
    int32_t sp_offset;
    int32_t sp_moved; /* by so much it moved the stack pointer, when it did not lose it */
    enum td_branch_kind branch;
    uint64_t target; /* of a direct branch */
    bool repeats;    /* one execution of many of a repeated string instruction */
    bool unknown;    /* the bytes are no instruction known here */
};

struct td_decoder;
/* Chosen by desc->isa. `desc` and `ports` are borrowed for the decoder's life. NULL when the
 * instruction set is not known. */
struct td_decoder *td_decoder_new(const struct td_core_desc *desc, const struct td_ports *ports);
void td_decoder_free(struct td_decoder *decoder); /* NULL is allowed */
/* Decodes the instruction of `size` bytes at `pc`. Never fails: what is not known becomes a uop of
 * class microcode with insn->unknown set. */
void td_decode(const struct td_decoder *decoder, const uint8_t *bytes, size_t size, uint64_t pc,
               struct td_insn *insn);

#endif
