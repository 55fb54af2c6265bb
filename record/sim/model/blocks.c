/* SPDX-License-Identifier: MIT */
#include "record/sim/model/blocks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "record/sim/model/trace.h"

enum { LINE_BITS = 6, CHUNK_BITS = 12, CHUNK = 1 << CHUNK_BITS, CHUNKS_MAX = 1 << 14 };

enum { UOPS_MAX = 2 * TD_TRACE_INSNS_MAX };

/* A block while it is decoded, in buffers that the next one takes over. */
struct draft {
    struct td_uop *uops;
    uint64_t *uop_lines; /* line of code of each uop */
    uint16_t *uop_bytes;
    uint16_t *offsets; /* of each instruction, as those that follow */
    uint8_t *slots;
    uint8_t *retired;
    size_t uop_cap, insn_cap;
    uint16_t uop_count;
};

struct td_blocks {
    struct td_core_desc desc;
    struct td_ports ports;
    struct td_decoder *decoder;
    struct td_arena arena;
    struct td_map ids; /* (pc, hash of the bytes) to id */
    struct draft draft;
    uint32_t count;
    uint64_t own_end;
    struct td_block *chunks[CHUNKS_MAX];
};

struct td_blocks *td_blocks_new(const struct td_core_desc *desc)
{
    struct td_blocks *blocks = td_xcalloc(1, sizeof(*blocks));

    blocks->desc = *desc;
    td_ports_init(&blocks->ports, desc);
    blocks->decoder = td_decoder_new(&blocks->desc, &blocks->ports);
    if (!blocks->decoder) {
        free(blocks);
        return NULL;
    }
    return blocks;
}

static void release_draft(struct draft *draft)
{
    free(draft->uops);
    free(draft->uop_lines);
    free(draft->uop_bytes);
    free(draft->offsets);
    free(draft->slots);
    free(draft->retired);
}

/* Empties it, with room for a block of so many instructions. */
static void begin_draft(struct draft *draft, uint32_t insns)
{
    size_t uops = (size_t)insns * (1 + TD_INSN_MORE_MAX);

    uops = uops < UOPS_MAX ? uops : UOPS_MAX;
    draft->uop_count = 0;
    if (uops > draft->uop_cap) {
        draft->uops = td_xrealloc(draft->uops, uops, sizeof(*draft->uops));
        draft->uop_lines = td_xrealloc(draft->uop_lines, uops, sizeof(*draft->uop_lines));
        draft->uop_bytes = td_xrealloc(draft->uop_bytes, uops, sizeof(*draft->uop_bytes));
        draft->uop_cap = uops;
    }
    if (insns > draft->insn_cap) {
        draft->offsets = td_xrealloc(draft->offsets, insns, sizeof(*draft->offsets));
        draft->slots = td_xrealloc(draft->slots, insns, sizeof(*draft->slots));
        draft->retired = td_xrealloc(draft->retired, insns, sizeof(*draft->retired));
        draft->insn_cap = insns;
    }
}

void td_blocks_free(struct td_blocks *blocks)
{
    if (!blocks)
        return;
    for (size_t i = 0; i < CHUNKS_MAX && blocks->chunks[i]; i++)
        free(blocks->chunks[i]);
    td_map_release(&blocks->ids);
    release_draft(&blocks->draft);
    td_arena_release(&blocks->arena);
    td_decoder_free(blocks->decoder);
    free(blocks);
}

const struct td_core_desc *td_blocks_desc(const struct td_blocks *blocks)
{
    return &blocks->desc;
}

const struct td_ports *td_blocks_ports(const struct td_blocks *blocks)
{
    return &blocks->ports;
}

bool td_blocks_link(const struct td_blocks *blocks)
{
    return strcmp(blocks->desc.isa, "x86_64") != 0;
}

uint32_t td_blocks_count(const struct td_blocks *blocks)
{
    return blocks->count;
}

const struct td_block *td_blocks_get(const struct td_blocks *blocks, uint32_t id)
{
    assert(id >> CHUNK_BITS < CHUNKS_MAX && blocks->chunks[id >> CHUNK_BITS]);
    return &blocks->chunks[id >> CHUNK_BITS][id & (CHUNK - 1)];
}

static void follow_stack_pointer(struct td_block *block, const struct td_insn *insn, uint32_t i)
{
    block->sp_moved += insn->sp_moved;
    switch ((enum td_sp_effect)insn->sp_effect) {
    case TD_SP_KEPT: return;
    case TD_SP_MOVED:
        block->sp_offset += insn->sp_moved;
        if (block->sp_effect == TD_SP_KEPT)
            block->sp_effect = TD_SP_MOVED;
        return;
    case TD_SP_SHOWN:
        block->sp_key = (uint16_t)td_trace_key(i, (insn->uop.flags & TD_UOP_STORE) != 0);
        block->sp_offset = insn->sp_offset;
        break;
    case TD_SP_LOST: block->sp_lost = true; break;
    }
    block->sp_effect = insn->sp_effect;
}

/* The line of code that an instruction belongs to: decoders need all of it, a uop cache that is
 * read by lines has it where it begins. */
static uint64_t line_of(const struct td_core_desc *desc, uint64_t pc, uint8_t length)
{
    return (desc->uop_cache_line ? pc : pc + length - 1) >> LINE_BITS;
}

/* The second of a pair joins the first: one uop, and one slot, the first's, where that has not to
 * load, too. */
static void fuse(struct draft *draft, const struct td_blocks *blocks, enum td_fusion fusion,
                 uint32_t insn, uint64_t pc, uint8_t length)
{
    struct td_uop *first = &draft->uops[draft->uop_count - 1];
    const struct td_op_cost *branch = &blocks->desc.ops[TD_OP_BRANCH];

    first->flags &= (uint8_t)~TD_UOP_FOLD;
    if (fusion == TD_FUSION_JUMP) {
        first->issue = td_ports_mask(&blocks->ports, branch->ports, 0);
        first->port = TD_CAUSE_PORT_BRANCH;
    }
    draft->retired[first->insn] = TD_RETIRED_FUSED;
    draft->uop_bytes[draft->uop_count - 1] =
        (uint16_t)(draft->uop_bytes[draft->uop_count - 1] + length);
    if (!blocks->desc.uop_cache_line)
        draft->uop_lines[draft->uop_count - 1] = line_of(&blocks->desc, pc, length);
    if (first->flags & TD_UOP_LOAD && first->slots < blocks->desc.joined_slots) {
        first->slots = (uint8_t)blocks->desc.joined_slots;
        draft->slots[first->insn] = first->slots;
    }
    draft->slots[insn] = 0;
}

/* The flags are one register here. Of an instruction that keeps the carry, fused with the jump that
 * reads the others, only the carry is of use to what follows: it is as old as it was. */
static void keep_flags(struct draft *draft)
{
    struct td_uop *fused = &draft->uops[draft->uop_count - 1];

    for (int i = 0; i < 2; i++) {
        if (fused->dst[i] == TD_REG_FLAGS)
            fused->dst[i] = TD_REG_SINK;
    }
}

/* Arithmetic on the stack pointer waits for what the stack engine has moved. Before a block it has,
 * mostly: it begins after a call or a return. */
static void sync_stack(struct td_insn *insn, int cycles, bool *moved)
{
    if (insn->stack == TD_STACK_ARITHMETIC && *moved)
        insn->uop.latency = (uint8_t)(insn->uop.latency + cycles);
    if (insn->stack != TD_STACK_NONE)
        *moved = insn->stack == TD_STACK_ENGINE;
}

/* A shift waits until what rename has added to a register is in it. `*folded`, a bit a register:
 * where that is so, of what the block itself has added. */
static void wait_folded(struct td_insn *insn, int cycles, uint64_t *folded)
{
    struct td_uop *uop = &insn->uop;
    bool waits = false;

    for (int i = 0; i < 3; i++)
        waits |= uop->src[i] < TD_REG_FLAGS && *folded >> uop->src[i] & 1;
    if (waits && insn->shifts)
        uop->latency = (uint8_t)(uop->latency + cycles);
    for (int i = 0; i < 2; i++) {
        if (uop->dst[i] < TD_REG_FLAGS)
            *folded &= ~(UINT64_C(1) << uop->dst[i]);
    }
    if (uop->flags & TD_UOP_FOLD)
        *folded |= UINT64_C(1) << uop->dst[0];
}

static void add_uop(struct draft *draft, const struct td_uop *uop, uint32_t insn, uint64_t line,
                    uint16_t bytes)
{
    draft->uops[draft->uop_count] = *uop;
    draft->uops[draft->uop_count].insn = (uint16_t)insn;
    draft->uop_lines[draft->uop_count] = line;
    draft->uop_bytes[draft->uop_count++] = bytes;
}

static void add_insn(struct draft *draft, const struct td_insn *insn, uint32_t i, uint64_t line,
                     uint16_t bytes)
{
    draft->slots[i] = insn->uop.slots;
    add_uop(draft, &insn->uop, i, line, bytes);
    /* There is room for a uop of every instruction, in practice for all. */
    for (int k = 0; k < insn->more_count && draft->uop_count + 1 < UOPS_MAX - TD_TRACE_INSNS_MAX;
         k++)
        add_uop(draft, &insn->more[k], i, line, 0);
}

static void decode_block(struct td_blocks *blocks, struct td_block *block, const uint8_t *bytes,
                         const uint8_t *lengths, struct draft *draft)
{
    struct td_insn insn = {0};
    enum td_fusion fuses = TD_FUSION_NONE;
    bool stack_moved = true, keeps_carry = false;
    uint64_t folded = 0;
    size_t at = 0;

    for (uint32_t i = 0; i < block->insn_count; i++) {
        const uint64_t pc = block->pc + at;
        td_decode(blocks->decoder, bytes + at, lengths[i], pc, &insn);
        sync_stack(&insn, blocks->desc.stack_sync, &stack_moved);
        wait_folded(&insn, blocks->desc.fold_shift, &folded);
        draft->offsets[i] = (uint16_t)at;
        draft->retired[i] = insn.retired;
        if (fuses && fuses == insn.fuses_second) {
            fuse(draft, blocks, fuses, i, pc, lengths[i]);
            if (keeps_carry)
                keep_flags(draft);
        } else {
            add_insn(draft, &insn, i, line_of(&blocks->desc, pc, lengths[i]), lengths[i]);
        }
        keeps_carry = insn.keeps_carry;
        follow_stack_pointer(block, &insn, i);
        fuses = (enum td_fusion)insn.fuses_first;
        at += lengths[i];
        block->branch_pc = pc;
    }
    block->end = block->pc + at;
    block->branch_insn = (uint16_t)(block->insn_count - 1);
    block->branch = (uint8_t)insn.branch;
    block->plain = insn.branch == TD_BRANCH_NONE || insn.branch == TD_BRANCH_CONDITIONAL ||
                   insn.branch == TD_BRANCH_JUMP;
    block->target = insn.target;
    block->repeats = insn.repeats;
    block->insn_counted = insn.repeats && block->insn_count == 1 ? 0 : block->insn_count;
}

/* What the microcode ROM delivers of: four uops per cycle (Intel's optimization manual), after so
 * many cycles (TMA's figure for a switch to it). */
enum { MICROCODE_UOP = TD_TICKS_PER_CYCLE / 4, MICROCODE_SWITCH = 2 * TD_TICKS_PER_CYCLE };

static void cost_part(const struct td_core_desc *desc, const struct draft *draft, uint32_t first,
                      struct td_fetch_part *part)
{
    uint32_t slots = 0, bytes = 0, microcode = 0;

    for (uint32_t i = first; i < part->uop_end; i++) {
        const uint32_t uops = draft->uops[i].slots;

        if (uops > TD_DECODED_UOPS_MAX)
            microcode += uops * MICROCODE_UOP + MICROCODE_SWITCH;
        else
            slots += uops;
        part->slots = (uint16_t)(part->slots + uops);
        bytes += draft->uop_bytes[i];
    }
    const uint32_t by_bytes = bytes * (uint32_t)desc->decode_byte;
    const uint32_t by_uops = slots * (uint32_t)desc->decode_uop;
    const uint32_t decode = by_bytes > by_uops ? by_bytes : by_uops;
    const uint32_t cached = desc->uop_cache_line ? 0 : slots * (uint32_t)desc->uop_cache_uop;
    part->decode_cost = (uint16_t)(decode + microcode);
    part->uop_cost = (uint16_t)(cached + microcode);
    part->cause = microcode > cached ? TD_CAUSE_MICROCODE : TD_CAUSE_UOP_CACHE;
    part->decoding = microcode > decode ? TD_CAUSE_MICROCODE : TD_CAUSE_DECODE;
}

static void split_parts(const struct td_blocks *blocks, struct td_block *block,
                        const struct draft *draft, struct td_fetch_part *parts)
{
    uint32_t first = 0;

    for (uint32_t i = 1; i <= draft->uop_count; i++) {
        if (i < draft->uop_count && draft->uop_lines[i] == draft->uop_lines[first])
            continue;
        struct td_fetch_part *part = &parts[block->part_count++];
        *part = (struct td_fetch_part){
            .line = draft->uop_lines[first],
            .uop_end = (uint16_t)i,
            .offset = (uint8_t)((block->pc + draft->offsets[draft->uops[first].insn]) & 63),
            .straddles = first == 0 && draft->uop_lines[0] != block->pc >> LINE_BITS};
        cost_part(&blocks->desc, draft, first, part);
        first = i;
    }
}

static const void *keep(struct td_blocks *blocks, const void *data, size_t size)
{
    void *copy = td_arena_alloc(&blocks->arena, size ? size : 1);

    memcpy(copy, data, size);
    return copy;
}

static enum td_uop_way way_of(const struct td_uop *uop)
{
    const uint8_t flags = uop->flags & (uint8_t)~TD_UOP_HEAVY;

    if (uop->slots != 1)
        return TD_WAY_ANY;
    if (flags == TD_UOP_LOAD)
        return TD_WAY_LOADS;
    if (flags == TD_UOP_STORE)
        return TD_WAY_STORES;
    return flags == 0 && uop->issue.add && !uop->forward ? TD_WAY_COMPUTES : TD_WAY_ANY;
}

/* Rename itself does moves and zeros; what a store writes besides is the stack pointer. */
static enum td_result result_of(const struct td_uop *uop)
{
    enum td_result ret = TD_RESULT_NONE;

    if (!(uop->flags & TD_UOP_LOAD) && (uop->flags & TD_UOP_STORE || !uop->issue.add))
        return TD_RESULT_NONE;
    for (int i = 0; i < 2; i++) {
        if (uop->dst[i] >= TD_REG_GPR && uop->dst[i] < TD_REG_FLAGS)
            ret = TD_RESULT_GENERAL;
        else if (uop->dst[i] >= TD_REG_VECTOR && uop->dst[i] < TD_REG_MASK)
            ret = TD_RESULT_VECTOR;
    }
    return ret;
}

static void finish_block(struct td_blocks *blocks, struct td_block *block,
                         const struct draft *draft)
{
    struct td_fetch_part *parts = td_xcalloc(draft->uop_count, sizeof(*parts));
    uint32_t slots = 0;

    split_parts(blocks, block, draft, parts);
    for (uint32_t i = 0; i < block->insn_count; i++)
        slots += draft->slots[i];
    for (uint32_t i = 0; i < draft->uop_count; i++) {
        struct td_uop *uop = &draft->uops[i];
        uop->way = (uint8_t)(way_of(uop) & 15);
        uop->result = (uint8_t)(result_of(uop) & 15);
    }
    block->slots = (uint16_t)slots;
    block->uop_count = draft->uop_count;
    block->uops = keep(blocks, draft->uops, draft->uop_count * sizeof(draft->uops[0]));
    block->parts = keep(blocks, parts, block->part_count * sizeof(*parts));
    block->insn_offsets = keep(blocks, draft->offsets, block->insn_count * sizeof(uint16_t));
    block->insn_slots = keep(blocks, draft->slots, block->insn_count);
    block->insn_retired = keep(blocks, draft->retired, block->insn_count);
    free(parts);
}

void td_blocks_set_own_end(struct td_blocks *blocks, uint64_t end)
{
    blocks->own_end = end;
}

uint32_t td_blocks_define(struct td_blocks *blocks, uint64_t place, const uint8_t *bytes,
                          const uint8_t *lengths, uint32_t count)
{
    size_t size = 0;
    bool added;

    assert(count > 0 && count < TD_TRACE_INSNS_MAX);
    for (uint32_t i = 0; i < count; i++)
        size += lengths[i];
    uint32_t *known =
        td_map_put(&blocks->ids, place, td_hash_bytes(bytes, size) ^ count, blocks->count, &added);
    if (!added)
        return *known;

    const uint32_t id = blocks->count;
    assert(id >> CHUNK_BITS < CHUNKS_MAX);
    struct td_block **chunk = &blocks->chunks[id >> CHUNK_BITS];
    if (!*chunk)
        *chunk = td_xcalloc(CHUNK, sizeof(**chunk));
    struct td_block *block = &(*chunk)[id & (CHUNK - 1)];
    *block = (struct td_block){
        .pc = TD_PLACE_ADDRESS(place), .place = place, .id = id, .insn_count = (uint16_t)count};
    block->own = block->pc < blocks->own_end;
    block->pc_hash = (uint32_t)(block->pc ^ block->pc >> 10);
    begin_draft(&blocks->draft, count);
    decode_block(blocks, block, bytes, lengths, &blocks->draft);
    finish_block(blocks, block, &blocks->draft);
    blocks->count++;
    return id;
}
