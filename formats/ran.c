/* SPDX-License-Identifier: MIT */
#include "formats/ran.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "formats/sums.h"

/* A block's bytes are an instruction's at most times its instructions. */
enum { INSN_BYTES_MAX = 16, REGISTER_COUNT = 7 };

static void put_uop(struct td_buf *buf, const struct td_ran_uop *uop, uint32_t insn)
{
    const uint8_t bytes[] = {uop->src[0],     uop->src[1],  uop->src[2],       uop->address[0],
                             uop->address[1], uop->dst[0],  uop->dst[1],       uop->flags,
                             uop->slots,      uop->latency, uop->load_latency, uop->back,
                             uop->forward,    uop->busy,    uop->unit};

    td_buf_uleb(buf, uop->insn - insn);
    td_buf_bytes(buf, bytes, sizeof(bytes));
    for (int p = 0; p < TD_RAN_PORTS; p++)
        td_buf_uleb(buf, uop->ports[p]);
}

void td_ran_put(struct td_buf *buf, const struct td_ran_block *block)
{
    uint32_t insn = 0;

    td_buf_uleb(buf, block->size);
    td_buf_uleb(buf, block->insn_count);
    td_buf_uleb(buf, block->branch);
    td_buf_zigzag(buf, block->target);
    td_buf_uleb(buf, block->runs);
    td_buf_uleb(buf, block->taken);
    td_buf_uleb(buf, block->edge_count);
    for (uint32_t i = 0; i < block->edge_count; i++) {
        td_buf_zigzag(buf, block->edges[i].delta);
        td_buf_uleb(buf, block->edges[i].count);
    }
    td_buf_uleb(buf, block->uop_count);
    if (block->uop_count > 0)
        td_buf_bytes(buf, block->lengths, block->insn_count);
    for (uint32_t i = 0; i < block->uop_count; i++) {
        put_uop(buf, &block->uops[i], insn);
        insn = block->uops[i].insn;
    }
}

static void get_uop(struct td_rd *rd, struct td_ran_uop *uop, uint32_t insn, uint32_t insn_count)
{
    uint8_t *const registers[REGISTER_COUNT] = {&uop->src[0],     &uop->src[1],     &uop->src[2],
                                                &uop->address[0], &uop->address[1], &uop->dst[0],
                                                &uop->dst[1]};

    uop->insn = (uint16_t)(insn + td_rd_uleb_below(rd, insn_count - insn));
    for (int r = 0; r < REGISTER_COUNT; r++) {
        *registers[r] = td_rd_u8(rd);
        if (*registers[r] >= TD_RAN_REGISTERS)
            td_rd_fail(rd);
    }
    uop->flags = td_rd_u8(rd);
    uop->slots = td_rd_u8(rd);
    uop->latency = td_rd_u8(rd);
    uop->load_latency = td_rd_u8(rd);
    uop->back = td_rd_u8(rd);
    uop->forward = td_rd_u8(rd);
    uop->busy = td_rd_u8(rd);
    uop->unit = td_rd_u8(rd);
    if (uop->flags > TD_RAN_FLAGS_ALL || uop->unit >= TD_RAN_UNIT_COUNT)
        td_rd_fail(rd);
    for (int p = 0; p < TD_RAN_PORTS; p++)
        uop->ports[p] = (uint16_t)td_rd_uleb_below(rd, UINT16_MAX + 1);
}

static void get_edges(struct td_rd *rd, struct td_ran_block *ret, struct td_ran_room *room)
{
    ret->edges = room->edges;
    ret->edge_count = (uint32_t)td_rd_uleb_below(rd, TD_RAN_EDGES_MAX + 1);
    for (uint32_t i = 0; i < ret->edge_count && td_rd_ok(rd); i++) {
        room->edges[i].delta = td_rd_zigzag(rd);
        room->edges[i].count = td_rd_uleb_below(rd, TD_SUM_MAX);
    }
}

static void get_uops(struct td_rd *rd, struct td_ran_block *ret, struct td_ran_room *room)
{
    uint32_t insn = 0, bytes = 0;

    ret->uops = room->uops;
    ret->uop_count = (uint32_t)td_rd_uleb_below(rd, TD_RAN_UOPS_MAX + 1);
    if (ret->uop_count == 0 || !td_rd_ok(rd))
        return;
    ret->lengths = room->lengths;
    for (uint32_t i = 0; i < ret->insn_count; i++)
        bytes += room->lengths[i] = td_rd_u8(rd);
    if (bytes != ret->size)
        td_rd_fail(rd);
    for (uint32_t i = 0; i < ret->uop_count && td_rd_ok(rd); i++) {
        get_uop(rd, &room->uops[i], insn, ret->insn_count);
        insn = room->uops[i].insn;
    }
}

void td_ran_get(struct td_rd *rd, struct td_ran_block *ret, struct td_ran_room *room)
{
    *ret = (struct td_ran_block){.size = 0};
    ret->size = (uint32_t)td_rd_uleb_below(rd, TD_RAN_INSNS_MAX * INSN_BYTES_MAX + 1);
    ret->insn_count = (uint32_t)td_rd_uleb_below(rd, TD_RAN_INSNS_MAX + 1);
    ret->branch = (uint8_t)td_rd_uleb_below(rd, TD_RAN_BRANCH_COUNT);
    ret->target = td_rd_zigzag(rd);
    ret->runs = td_rd_uleb_below(rd, TD_SUM_MAX);
    ret->taken = td_rd_uleb_below(rd, ret->runs + 1);
    if (ret->insn_count == 0 || ret->size < ret->insn_count)
        td_rd_fail(rd);
    get_edges(rd, ret, room);
    if (td_rd_ok(rd))
        get_uops(rd, ret, room);
    if (!td_rd_ok(rd))
        *ret = (struct td_ran_block){.size = 0};
}

struct kept {
    struct td_ran_block block;
    struct td_ran_edge *edges; /* the block's */
};

struct td_ran {
    struct kept *at;
    size_t len, cap;
    struct td_map places; /* module and size, offset to index */
    struct td_arena arena;
};

struct td_ran *td_ran_new(void)
{
    return td_xcalloc(1, sizeof(struct td_ran));
}

void td_ran_free(struct td_ran *code)
{
    if (!code)
        return;
    free(code->at);
    td_map_release(&code->places);
    td_arena_release(&code->arena);
    free(code);
}

size_t td_ran_bytes(const struct td_ran *code)
{
    return code->cap * sizeof(*code->at) + code->places.cap * sizeof(struct td_map_slot) +
           code->arena.used_bytes;
}

static const void *keep(struct td_ran *code, const void *data, size_t size)
{
    return size == 0 ? NULL : memcpy(td_arena_alloc(&code->arena, size), data, size);
}

static void keep_uops(struct td_ran *code, struct td_ran_block *ours,
                      const struct td_ran_block *block)
{
    ours->insn_count = block->insn_count;
    ours->uop_count = block->uop_count;
    ours->uops = keep(code, block->uops, block->uop_count * sizeof(*block->uops));
    ours->lengths = block->uop_count ? keep(code, block->lengths, block->insn_count) : NULL;
}

static void add_edge(struct td_ran *code, struct kept *ours, const struct td_ran_edge *edge)
{
    const uint32_t count = ours->block.edge_count;
    uint32_t k = 0;

    while (k < count && ours->edges[k].delta != edge->delta)
        k++;
    if (k < count) {
        const uint64_t sum = ours->edges[k].count + edge->count;

        ours->edges[k].count = sum < TD_SUM_MAX ? sum : TD_SUM_MAX - 1;
        return;
    }
    /* Those beyond the limit are left out. */
    if (count >= TD_RAN_EDGES_MAX)
        return;
    /* Where the room is full it is doubled: what stays behind in the arena is no more than it. */
    if ((count & (count - 1)) == 0) {
        struct td_ran_edge *more =
            td_arena_alloc(&code->arena, (count > 0 ? 2 * (size_t)count : 1) * sizeof(*more));

        if (count > 0)
            memcpy(more, ours->edges, count * sizeof(*more));
        ours->block.edges = ours->edges = more;
    }
    ours->edges[count] = *edge;
    ours->block.edge_count = count + 1;
}

/* Its counts add up, and it ends before the last address. */
static bool fits(const struct td_ran_block *ours, const struct td_ran_block *block)
{
    return block->offset <= UINT64_MAX - block->size && block->runs < TD_SUM_MAX &&
           block->taken <= block->runs && ours->runs + block->runs < TD_SUM_MAX;
}

static struct kept *new_block(struct td_ran *code, const struct td_ran_block *block)
{
    code->at = td_grow(code->at, &code->cap, code->len + 1, sizeof(*code->at));
    struct kept *ours = &code->at[code->len++];
    *ours = (struct kept){.block = *block};
    ours->block.edges = NULL;
    ours->block.edge_count = ours->block.uop_count = 0;
    ours->block.runs = ours->block.taken = 0;
    return ours;
}

bool td_ran_add(struct td_ran *code, const struct td_ran_block *block)
{
    const struct td_ran_block none = {.runs = 0};
    const uint64_t key = (uint64_t)block->module << 32 | block->size;
    const uint32_t *known = td_map_find(&code->places, key, block->offset);

    if (!fits(known ? &code->at[*known].block : &none, block) ||
        (!known && code->len >= TD_RAN_BLOCKS_MAX))
        return false;
    if (!known)
        td_map_put(&code->places, key, block->offset, (uint32_t)code->len, NULL);
    struct kept *ours = known ? &code->at[*known] : new_block(code, block);
    ours->block.runs += block->runs;
    ours->block.taken += block->taken;
    if (ours->block.uop_count == 0)
        keep_uops(code, &ours->block, block);
    for (uint32_t i = 0; i < block->edge_count; i++)
        add_edge(code, ours, &block->edges[i]);
    return true;
}

size_t td_ran_count(const struct td_ran *code)
{
    return code->len;
}

const struct td_ran_block *td_ran_block(const struct td_ran *code, size_t i)
{
    assert(i < code->len);
    return &code->at[i].block;
}
