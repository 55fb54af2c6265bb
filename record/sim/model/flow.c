/* SPDX-License-Identifier: MIT */
/* Where a thread's blocks went on, and what is told of them when it is over. */
#include "record/sim/model/flow.h"

#include <stdlib.h>

#include "base/likely.h"
#include "base/mem.h"
#include "record/sim/model/sim_priv.h"

enum {
    BLOCKS_MAX = 16384, /* of a thread, told in all */
    HOT_MAX = 4096,     /* of them, with their uops, */
    HOT_RUNS = 32,      /* which ran at least so often */
};
#define HOT_SHARE 0.998 /* of the slots: so much do blocks with uops have */

void td_flow_release(struct td_flow *flow)
{
    free(flow->jumps);
    td_map_release(&flow->ids);
    free(flow->forwards);
}

static uint32_t *find_jump(struct td_flow *flow, uint32_t from, uint32_t to)
{
    bool added = false;

    if (flow->count >= TD_FLOW_JUMPS_MAX)
        return td_map_find(&flow->ids, from, to);
    uint32_t *index = td_map_put(&flow->ids, from, to, (uint32_t)flow->count, &added);
    if (added) {
        flow->jumps = td_grow(flow->jumps, &flow->cap, flow->count + 1, sizeof(*flow->jumps));
        flow->jumps[flow->count++] = (struct td_flow_jump){.from = from, .to = to};
    }
    return index;
}

void td_flow_jump(struct td_flow *flow, uint32_t from, uint32_t to)
{
    uint32_t *memo = &flow->memos[(from * 31 + to) & (TD_FLOW_MEMOS - 1)];

    if (*memo == 0 || flow->jumps[*memo - 1].from != from || flow->jumps[*memo - 1].to != to) {
        const uint32_t *index = find_jump(flow, from, to);

        if (!index)
            return;
        *memo = *index + 1;
    }
    flow->jumps[*memo - 1].count++;
}

void td_flow_forward(struct td_flow *flow, uint32_t row, uint32_t back, bool renamed)
{
    if (TD_UNLIKELY(row >= flow->forward_cap))
        flow->forwards = td_grow_zeroed(flow->forwards, &flow->forward_cap, (size_t)row + 1,
                                        sizeof(*flow->forwards));
    struct td_flow_forward *known = &flow->forwards[row];
    known->all += known->all < UINT32_MAX;
    if (known->count > 0 && known->back != back) {
        known->count--;
        return;
    }
    known->back = (uint16_t)back;
    known->renamed = renamed;
    known->count += known->count < UINT32_MAX;
}

/* A block that ran. */
struct ranked {
    uint32_t id;
    bool hot;
    uint64_t place, slots;
};

static int by_slots(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->slots != y->slots)
        return x->slots > y->slots ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static int by_place(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Slots of each block, retired and lost, by id; newly allocated. */
static uint64_t *slots_of(const struct td_sim *sim)
{
    const struct td_ledger *ledger = &sim->ledger;
    uint64_t *slots = td_xcalloc(sim->state_cap + 1, sizeof(*slots));

    for (uint32_t i = 0; i < ledger->account_count; i++) {
        const struct td_account *account = &ledger->accounts[i];
        const struct td_block *block = td_blocks_get(sim->blocks, account->block);
        uint64_t sum = (account->runs + td_ledger_settled_runs(ledger, i)) * block->slots;

        for (uint32_t row = account->row; row < account->row + block->insn_count; row++) {
            for (int c = 0; c < TD_CAUSE_COUNT; c++)
                sum += td_ledger_lost(ledger, row, (enum td_cause)c);
        }
        sum += td_settled_sum(&ledger->settled_lost, account->row, block->insn_count);
        slots[account->block] += sum;
    }
    return slots;
}

static uint64_t runs_of(const struct td_sim *sim, uint32_t id)
{
    return sim->states[id].went[0] + sim->states[id].went[1];
}

/* The blocks that ran, by their places, without the coldest of very many; newly
 * allocated. */
static struct ranked *rank_blocks(const struct td_sim *sim, size_t *count)
{
    uint64_t *slots = slots_of(sim), total = 0, seen = 0;
    struct ranked *ranked = td_xcalloc(sim->state_cap + 1, sizeof(*ranked));

    *count = 0;
    for (uint32_t id = 0; id < sim->state_cap; id++) {
        const struct td_block_state *state = &sim->states[id];

        total += slots[id];
        if (state->block && runs_of(sim, id) > 0)
            ranked[(*count)++] =
                (struct ranked){.id = id, .place = state->block->place, .slots = slots[id]};
    }
    free(slots);
    qsort(ranked, *count, sizeof(*ranked), by_slots);
    *count = *count < BLOCKS_MAX ? *count : BLOCKS_MAX;
    for (size_t i = 0; i < *count && i < HOT_MAX; i++) {
        ranked[i].hot =
            runs_of(sim, ranked[i].id) >= HOT_RUNS && (double)seen < HOT_SHARE * (double)total;
        seen += ranked[i].slots;
    }
    qsort(ranked, *count, sizeof(*ranked), by_place);
    return ranked;
}

static void add_ports(struct td_ran_uop *to, int *count, uint16_t set)
{
    if (set && *count < TD_RAN_PORTS)
        to->ports[(*count)++] = set;
}

static void copy_uop(const struct td_sim *sim, const struct td_uop *from, struct td_ran_uop *to)
{
    const struct td_core_desc *desc = sim->desc;
    const bool loads = (from->flags & TD_UOP_LOAD) != 0, stores = (from->flags & TD_UOP_STORE) != 0;

    *to = (struct td_ran_uop){
        .insn = from->insn,
        .src = {from->src[0], from->src[1], from->src[2]},
        .address = {from->address[0], from->address[1]},
        .dst = {from->dst[0], from->dst[1]},
        .flags = (uint8_t)((loads ? TD_RAN_LOAD : 0) | (stores ? TD_RAN_STORE : 0) |
                           (from->flags & TD_UOP_FOLD ? TD_RAN_FOLD : 0) |
                           (from->flags & TD_UOP_SERIAL ? TD_RAN_SERIAL : 0)),
        .slots = from->slots,
        .latency = from->latency,
        .load_latency = (uint8_t)(from->load_latency + (loads ? desc->l1d_latency : 0)),
        .busy = from->flags & TD_UOP_BUSY ? from->busy : 0,
        .unit = from->unit,
    };
    int count = td_ports_sets(td_blocks_ports(sim->blocks), from->issue, to->ports, 2);
    if (loads)
        add_ports(to, &count,
                  from->memory & TD_MEMORY_VECTOR ? desc->load_vector_ports : desc->load_ports);
    if (stores) {
        if (!loads || !desc->rmw_address)
            add_ports(to, &count, desc->store_address_ports);
        add_ports(to, &count, desc->store_data_ports);
    }
}

static enum td_ran_branch branch_of(const struct td_block *block)
{
    switch ((enum td_branch_kind)block->branch) {
    case TD_BRANCH_NONE: break;
    case TD_BRANCH_CONDITIONAL: return TD_RAN_CONDITIONAL;
    case TD_BRANCH_JUMP: return TD_RAN_JUMP;
    case TD_BRANCH_CALL:
    case TD_BRANCH_INDIRECT_CALL: return TD_RAN_CALL;
    case TD_BRANCH_RETURN: return TD_RAN_RETURN;
    case TD_BRANCH_INDIRECT_JUMP: return TD_RAN_INDIRECT;
    }
    return TD_RAN_NONE;
}

static int by_block(const void *a, const void *b)
{
    const struct td_flow_jump *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* The jumps by the block that they are of; newly allocated. */
static struct td_flow_jump *sort_jumps(const struct td_flow *flow)
{
    struct td_flow_jump *jumps = td_xcalloc(flow->count + 1, sizeof(*jumps));

    for (size_t i = 0; i < flow->count; i++)
        jumps[i] = flow->jumps[i];
    qsort(jumps, flow->count, sizeof(*jumps), by_block);
    return jumps;
}

/* The accounts of each block, one after the other: NO_ACCOUNT ends. */
struct account_lists {
    uint32_t *first; /* by block */
    uint32_t *next;  /* by account */
};

enum { NO_ACCOUNT = UINT32_MAX };

static struct account_lists list_accounts(const struct td_sim *sim)
{
    const size_t count = sim->ledger.account_count;
    struct account_lists lists = {
        .first = td_xcalloc(sim->state_cap + 1, sizeof(*lists.first)),
        .next = td_xcalloc(count + 1, sizeof(*lists.next)),
    };

    for (size_t id = 0; id < sim->state_cap; id++)
        lists.first[id] = NO_ACCOUNT;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t block = sim->ledger.accounts[i].block;

        lists.next[i] = lists.first[block];
        lists.first[block] = i;
    }
    return lists;
}

/* What is told of one block after the other. */
struct telling {
    const struct td_sim *sim;
    const struct td_flow_jump *jumps; /* sorted */
    struct account_lists lists;
    struct td_ran_room room;
};

static uint32_t copy_edges(struct telling *t, const struct td_block *block)
{
    const size_t count = t->sim->flow.count;
    size_t first = 0, end = count;
    uint32_t used = 0;

    while (first < end) {
        const size_t middle = (first + end) / 2;

        if (t->jumps[middle].from < block->id)
            first = middle + 1;
        else
            end = middle;
    }
    for (; first < count && t->jumps[first].from == block->id && used < TD_RAN_EDGES_MAX; first++)
        t->room.edges[used++] = (struct td_ran_edge){
            .delta =
                (int64_t)(td_blocks_get(t->sim->blocks, t->jumps[first].to)->place - block->place),
            .count = t->jumps[first].count};
    return used;
}

/* Where the loads of an instruction had their data from, on the path on which they had them from a
 * store most often; `all` is 0 unless most had. */
static struct td_flow_forward forward_of(const struct telling *t, const struct td_block *block,
                                         uint32_t insn)
{
    const struct td_flow *flow = &t->sim->flow;
    struct td_flow_forward best = {.all = 0};
    uint64_t all = 0, same = 0;

    for (uint32_t i = t->lists.first[block->id]; i != NO_ACCOUNT; i = t->lists.next[i]) {
        const uint32_t row = t->sim->ledger.accounts[i].row + insn;

        if (row >= flow->forward_cap || flow->forwards[row].all == 0)
            continue;
        if (flow->forwards[row].all > best.all)
            best = flow->forwards[row];
        all += flow->forwards[row].all;
        same += flow->forwards[row].count;
    }
    const uint64_t runs = runs_of(t->sim, block->id);
    if (2 * same <= runs || best.back > TD_RAN_BACK_VARIES)
        best.back = TD_RAN_BACK_VARIES;
    return 2 * all > runs ? best : (struct td_flow_forward){.all = 0};
}

static void tell_forward(const struct telling *t, const struct td_block *block,
                         struct td_ran_uop *uop)
{
    const struct td_flow_forward forward = forward_of(t, block, uop->insn);

    if (!(uop->flags & TD_RAN_LOAD) || forward.all == 0)
        return;
    uop->back = (uint8_t)forward.back;
    uop->forward = (uint8_t)(forward.renamed ? 0 : t->sim->desc->forward);
}

static void tell(struct telling *t, const struct td_block *block, bool hot, td_sim_code_fn *fn,
                 void *ctx)
{
    const uint64_t *went = t->sim->states[block->id].went;
    const bool direct = block->branch == TD_BRANCH_CONDITIONAL || block->branch == TD_BRANCH_JUMP;
    const uint32_t size = (uint32_t)(block->end - block->pc);
    const bool uops = hot && block->uop_count <= TD_RAN_UOPS_MAX;

    for (uint32_t i = 0; uops && i < block->uop_count; i++) {
        copy_uop(t->sim, &block->uops[i], &t->room.uops[i]);
        tell_forward(t, block, &t->room.uops[i]);
    }
    for (uint32_t i = 0; uops && i < block->insn_count; i++)
        t->room.lengths[i] =
            (uint8_t)((i + 1U < block->insn_count ? block->insn_offsets[i + 1] : size) -
                      block->insn_offsets[i]);
    const struct td_ran_block code = {
        .offset = block->place,
        .size = size,
        .insn_count = block->insn_count,
        .branch = (uint8_t)branch_of(block),
        .target = direct ? (int64_t)(block->target - block->pc) : 0,
        .runs = went[0] + went[1],
        .taken = went[1],
        .edge_count = block->branch == TD_BRANCH_INDIRECT_JUMP ? copy_edges(t, block) : 0,
        .uop_count = uops ? block->uop_count : 0,
        .edges = t->room.edges,
        .uops = t->room.uops,
        .lengths = t->room.lengths,
    };
    fn(ctx, &code);
}

void td_sim_each_code(const struct td_sim *sim, td_sim_code_fn *fn, void *ctx)
{
    size_t count = 0;
    struct ranked *ranked = rank_blocks(sim, &count);
    struct td_flow_jump *jumps = sort_jumps(&sim->flow);
    struct telling *telling = td_xcalloc(1, sizeof(*telling));

    telling->sim = sim;
    telling->jumps = jumps;
    telling->lists = list_accounts(sim);
    for (size_t i = 0; i < count; i++)
        tell(telling, sim->states[ranked[i].id].block, ranked[i].hot, fn, ctx);
    free(telling->lists.first);
    free(telling->lists.next);
    free(telling);
    free(jumps);
    free(ranked);
}
