/* SPDX-License-Identifier: MIT */
/*
 * The blocks of code that a producer has announced, decoded for one core. Shared by the threads of
 * a process: blocks are added by one caller at a time and never change or move, so a thread may
 * read every block whose id it was given.
 */
#ifndef TD_RECORD_SIM_MODEL_BLOCKS_H
#define TD_RECORD_SIM_MODEL_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/likely.h"
#include "record/sim/model/decode/decode.h"

/* The part of a block in one line of code (64 bytes): what fetch handles at a time. */
struct td_fetch_part {
    uint64_t line;
    uint16_t uop_end;     /* index after its last uop */
    uint16_t uop_cost;    /* ticks of delivery by the uop cache */
    uint16_t decode_cost; /* ticks by the decoders */
    uint16_t slots;
    uint8_t offset;   /* of its first instruction in the line */
    bool straddles;   /* the first of its block, which begins in the line before */
    uint8_t cause;    /* enum td_cause: why it is late when the uop cache delivers it, */
    uint8_t decoding; /* and when the decoders do */
};

struct td_block {
    uint64_t pc, end; /* `end` is the address after it */
    uint64_t place;   /* of pc (trace.h) */
    uint64_t branch_pc, target;
    const struct td_uop *uops;
    const struct td_fetch_part *parts;
    const uint16_t *insn_offsets; /* from pc, insn_count of them */
    const uint8_t *insn_slots;    /* slots retired by one execution; 0 when fused away */
    const uint8_t *insn_retired;  /* enum td_retired: what they count as */
    uint32_t id;
    uint32_t pc_hash; /* of instruction i: this plus i, for tables that go by instruction */
    uint16_t insn_count, uop_count, part_count;
    uint16_t insn_counted; /* instructions that begin with the block: none in one more round of a
                              repeated string instruction */
    uint16_t slots;        /* the sum of insn_slots */
    uint16_t branch_insn;  /* index of the last instruction */
    uint8_t branch;        /* enum td_branch_kind */
    bool plain;            /* ends in a direct jump or none: no call, return or indirect branch */
    bool repeats;          /* the last instruction is a repeated string instruction */
    bool own;              /* code of the program's own file, not of a library */
    uint8_t sp_effect;     /* enum td_sp_effect of the whole block */
    bool sp_lost;          /* somewhere in it: sp_moved says nothing */
    uint16_t sp_key;       /* shown: td_trace_key of the access, which sp_offset is added to */
    int32_t sp_offset;
    int32_t sp_moved; /* from its beginning to its end */
};

static inline bool td_block_calls(const struct td_block *block)
{
    return block->branch == TD_BRANCH_CALL || block->branch == TD_BRANCH_INDIRECT_CALL;
}

/* Whether `block`, after `last` (may be NULL), is one more round of the same repeated string
 * instruction. */
static inline bool td_block_is_next_round(const struct td_block *last, const struct td_block *block)
{
    return TD_UNLIKELY(block->repeats) && last && last->repeats && block->insn_count == 1 &&
           block->pc == last->branch_pc;
}

/* The place of an address in the block, or of the one after it. */
static inline uint64_t td_block_place(const struct td_block *block, uint64_t address)
{
    return block->place + (address - block->pc);
}

struct td_blocks;

/* Calls leave the return address in a register, not on the stack. */
bool td_blocks_link(const struct td_blocks *blocks);

/* `desc` is copied. NULL when its instruction set is not known. */
struct td_blocks *td_blocks_new(const struct td_core_desc *desc);
void td_blocks_free(struct td_blocks *blocks); /* NULL is allowed */
const struct td_core_desc *td_blocks_desc(const struct td_blocks *blocks);
const struct td_ports *td_blocks_ports(const struct td_blocks *blocks);

/* Code below this address, of blocks from now on, is the program's own. 0, as at first: none is. */
void td_blocks_set_own_end(struct td_blocks *blocks, uint64_t end);

/* Announces the block at `place` (trace.h) of `count` instructions (1 to TD_TRACE_INSNS_MAX - 1)
 * with their lengths; the same code at the same place gives the same id again. One caller at a
 * time. */
uint32_t td_blocks_define(struct td_blocks *blocks, uint64_t place, const uint8_t *bytes,
                          const uint8_t *lengths, uint32_t count);
uint32_t td_blocks_count(const struct td_blocks *blocks);
/* `id` must have been returned by td_blocks_define. */
const struct td_block *td_blocks_get(const struct td_blocks *blocks, uint32_t id)
    __attribute__((returns_nonnull));

#endif
