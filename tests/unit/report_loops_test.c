/* SPDX-License-Identifier: MIT */
/* Blocks of code and their file form; the graph of what ran, loops in it, and chains through them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/mem.h"
#include "formats/ran.h"
#include "formats/sums.h"
#include "record/sim/model/ports.h"
#include "report/query/loops/chain.h"
#include "report/query/loops/nest.h"

static uint32_t below(uint64_t *seed, uint32_t limit)
{
    return (uint32_t)(td_hash_u64(++*seed) % limit);
}

static void make_block(struct td_ran_block *block, struct td_ran_room *room, uint64_t *seed)
{
    *block = (struct td_ran_block){.insn_count = 1 + below(seed, 40),
                                   .branch = (uint8_t)below(seed, TD_RAN_BRANCH_COUNT),
                                   .target = (int64_t)below(seed, 4000) - 2000,
                                   .runs = 1000 + below(seed, 1000),
                                   .taken = below(seed, 1000),
                                   .edge_count = below(seed, 5),
                                   .uop_count = below(seed, 60),
                                   .edges = room->edges,
                                   .uops = room->uops,
                                   .lengths = room->lengths};
    for (uint32_t i = 0; i < block->insn_count; i++)
        block->size += room->lengths[i] = (uint8_t)(1 + below(seed, 15));
    for (uint32_t i = 0; i < block->edge_count; i++)
        room->edges[i] = (struct td_ran_edge){(int64_t)i * 64 - 100, 1 + below(seed, 1000)};
    for (uint32_t i = 0; i < block->uop_count; i++) {
        struct td_ran_uop *uop = &room->uops[i];

        *uop = (struct td_ran_uop){.insn = (uint16_t)(i * block->insn_count / block->uop_count)};
        for (int r = 0; r < 3; r++)
            uop->src[r] = (uint8_t)below(seed, TD_RAN_REGISTERS);
        for (int r = 0; r < 2; r++)
            uop->dst[r] = (uint8_t)below(seed, TD_RAN_REGISTERS);
        uop->flags = (uint8_t)below(seed, TD_RAN_FLAGS_ALL + 1);
        uop->latency = (uint8_t)below(seed, 200);
        uop->unit = (uint8_t)below(seed, TD_RAN_UNIT_COUNT);
        uop->ports[below(seed, TD_RAN_PORTS)] = (uint16_t)below(seed, 65536);
    }
}

/* What was written is what is read; cut short or with any byte changed it is refused or can be. */
static void blocks_come_back(void **state)
{
    (void)state;
    struct td_ran_room *room = td_xcalloc(2, sizeof(*room)), *other = room + 1;
    struct td_ran_block block, again;
    uint64_t seed = 7;

    for (int round = 0; round < 300; round++) {
        struct td_buf buf = {0};

        make_block(&block, room, &seed);
        td_ran_put(&buf, &block);
        struct td_rd rd = td_rd_init(buf.data, buf.len, 0);
        td_ran_get(&rd, &again, other);
        assert_true(td_rd_ok(&rd) && td_rd_left(&rd) == 0);
        assert_true(again.size == block.size && again.runs == block.runs &&
                    again.taken == block.taken && again.target == block.target &&
                    again.edge_count == block.edge_count && again.uop_count == block.uop_count);
        assert_memory_equal(again.edges, block.edges, block.edge_count * sizeof(*block.edges));
        for (uint32_t u = 0; u < block.uop_count; u++)
            assert_memory_equal(&again.uops[u], &block.uops[u], sizeof(*block.uops));
        rd = td_rd_init(buf.data, below(&seed, (uint32_t)buf.len), 0);
        td_ran_get(&rd, &again, other);
        assert_false(td_rd_ok(&rd));
        buf.data[below(&seed, (uint32_t)buf.len)] ^= (uint8_t)(1 << below(&seed, 8));
        rd = td_rd_init(buf.data, buf.len, 0);
        td_ran_get(&rd, &again, other);
        assert_true(!td_rd_ok(&rd) || (again.taken <= again.runs && again.insn_count > 0 &&
                                       again.uop_count <= TD_RAN_UOPS_MAX));
        td_buf_release(&buf);
    }
    free(room);
}

static void counts_add_up(void **state)
{
    (void)state;
    struct td_ran *ran = td_ran_new();
    struct td_ran_edge edges[] = {{8, 5}, {-8, 6}};
    struct td_ran_block block = {.offset = 64,
                                 .size = 4,
                                 .insn_count = 1,
                                 .branch = TD_RAN_INDIRECT,
                                 .runs = 11,
                                 .taken = 11,
                                 .edge_count = 2,
                                 .edges = edges};

    assert_true(td_ran_add(ran, &block));
    edges[0].delta = 16;
    assert_true(td_ran_add(ran, &block));
    assert_int_equal(td_ran_count(ran), 1);
    const struct td_ran_block *sum = td_ran_block(ran, 0);
    assert_true(sum->runs == 22 && sum->taken == 22 && sum->edge_count == 3);
    assert_true(sum->edges[0].count == 5 && sum->edges[1].count == 12 && sum->edges[2].count == 5);
    block.runs = block.taken = TD_SUM_MAX - 20;
    assert_false(td_ran_add(ran, &block));
    assert_true(sum->runs == 22);
    td_ran_free(ran);
}

/* A file of some kilobytes has as many edges as a block may have: they take as much memory, and
 * not that for every number of them up to then. */
static void edges_take_little(void **state)
{
    (void)state;
    struct td_ran *ran = td_ran_new();
    struct td_ran_edge edges[TD_RAN_EDGES_MAX];
    const struct td_ran_block block = {.offset = 64,
                                       .size = 4,
                                       .insn_count = 1,
                                       .branch = TD_RAN_INDIRECT,
                                       .runs = TD_RAN_EDGES_MAX,
                                       .taken = TD_RAN_EDGES_MAX,
                                       .edge_count = TD_RAN_EDGES_MAX,
                                       .edges = edges};

    for (int i = 0; i < TD_RAN_EDGES_MAX; i++)
        edges[i] = (struct td_ran_edge){.delta = i, .count = 1};
    assert_true(td_ran_add(ran, &block));
    const struct td_ran_block *kept = td_ran_block(ran, 0);
    assert_int_equal(kept->edge_count, TD_RAN_EDGES_MAX);
    for (int i = 0; i < TD_RAN_EDGES_MAX; i++)
        assert_true(kept->edges[i].delta == i && kept->edges[i].count == 1);
    assert_true(td_ran_bytes(ran) < 4 * sizeof(edges));
    td_ran_free(ran);
}

/* A report looks for what lies between a block's begin and its end. */
static void ends_are_behind_begins(void **state)
{
    (void)state;
    struct td_ran *ran = td_ran_new();
    struct td_ran_block block = {
        .offset = UINT64_MAX - 3, .size = 4, .insn_count = 1, .branch = TD_RAN_JUMP, .runs = 2};

    assert_false(td_ran_add(ran, &block));
    assert_int_equal(td_ran_count(ran), 0);
    block.offset--;
    assert_true(td_ran_add(ran, &block));
    td_ran_free(ran);
}

static struct td_chain_uop uops[16];
static struct td_ran_uop kinds[16];
static size_t uop_count;

static struct td_ran_uop *add_uop(uint8_t dst, uint8_t a, uint8_t b, uint8_t latency)
{
    struct td_ran_uop *kind = &kinds[uop_count];

    *kind = (struct td_ran_uop){.src = {a, b}, .dst = {dst}, .latency = latency};
    uops[uop_count] = (struct td_chain_uop){.uop = kind, .offset = 16 * uop_count};
    uop_count++;
    return kind;
}

static double chain_of(size_t parts)
{
    struct td_chain chain;
    double sum = 0;

    td_chain_find(&chain, uops, uop_count);
    for (size_t i = 0; i < chain.part_count; i++)
        sum += chain.parts[i].cycles;
    assert_true(fabs(sum - chain.cycles) < 1e-9);
    assert_int_equal(chain.part_count, parts);
    const double cycles = chain.cycles;
    td_chain_release(&chain);
    uop_count = 0;
    return cycles;
}

static void chains_are_followed(void **state)
{
    (void)state;
    struct td_ran_uop *uop = NULL;

    /* Nothing goes on from one iteration to the next, however long one takes. */
    add_uop(1, 0, 0, 20);
    add_uop(2, 1, 0, 100);
    assert_true(chain_of(0) == 0);
    /* The longest of two, beside a long one that does not go on. */
    add_uop(1, 1, 0, 1);
    add_uop(2, 2, 0, 3);
    add_uop(3, 9, 0, 150);
    assert_true(chain_of(1) == 3);
    /* Two registers that change places: eight cycles in two iterations. */
    add_uop(3, 1, 0, 5);
    add_uop(1, 2, 0, 3);
    add_uop(2, 3, 0, 0);
    assert_true(chain_of(2) == 4);
    /* A load at an address that it loaded, and an add to it. */
    uop = add_uop(1, 0, 0, 0);
    uop->flags = TD_RAN_LOAD;
    uop->address[0] = 1;
    uop->load_latency = 5;
    add_uop(1, 1, 0, 1);
    assert_true(chain_of(2) == 6);
    /* An accumulator that may come two cycles later than the rest: 4 - 2. */
    uop = add_uop(1, 4, 5, 4);
    uop->src[2] = 1;
    uop->load_latency = 2;
    assert_true(chain_of(1) == 2);
    /* Rename adds: nothing is waited for. */
    uop = add_uop(1, 1, 0, 1);
    uop->flags = TD_RAN_FOLD;
    assert_true(chain_of(0) == 0);
    /* Added to memory again and again: the load has what the store before it stored. */
    uop = add_uop(0, 3, 0, 1);
    uop->flags = TD_RAN_LOAD | TD_RAN_STORE;
    uop->address[0] = 5;
    uop->load_latency = uop->forward = 5;
    uop->back = 1;
    assert_true(chain_of(1) == 6);
    /* The same by way of a register and of rename, two stores back. */
    uop = add_uop(1, 0, 0, 0);
    uop->flags = TD_RAN_LOAD;
    uop->back = 2;
    uop->load_latency = 5;
    add_uop(1, 1, 0, 3);
    add_uop(0, 1, 0, 0)->flags = TD_RAN_STORE;
    add_uop(0, 9, 0, 0)->flags = TD_RAN_STORE;
    assert_true(chain_of(1) == 3);
    /* A call takes what callees may change; rbx stays. */
    add_uop(1, 1, 0, 7);
    add_uop(4, 4, 0, 2);
    uops[1].after_call = true;
    assert_true(chain_of(1) == 2);
}

/* A sum on the stack, added to behind a call that stores nobody knows how often. */
static double chain_across_a_call(uint8_t back, uint64_t source, bool calls)
{
    struct td_ran_uop *uop = add_uop(1, 3, 0, 3);

    uop->flags = TD_RAN_LOAD;
    uop->load_latency = uop->forward = 6;
    uop->back = back;
    uops[0].after_call = calls;
    uops[0].source = source;
    add_uop(0, 1, 0, 0)->flags = TD_RAN_STORE;
    add_uop(0, 9, 0, 0)->flags = TD_RAN_STORE;
    return chain_of(source == 16 && calls ? 1 : 0);
}

static void chains_go_on_across_calls(void **state)
{
    (void)state;
    assert_true(chain_across_a_call(5, 16, true) == 9);
    assert_true(chain_across_a_call(TD_RAN_BACK_VARIES, 16, true) == 9);
    /* The store is not known, or one whose data nothing waits for. */
    assert_true(chain_across_a_call(5, UINT64_MAX, true) == 0);
    assert_true(chain_across_a_call(5, 32, true) == 0);
    /* Without a call, a store of some iteration before: which is not known. */
    assert_true(chain_across_a_call(TD_RAN_BACK_VARIES, 16, false) == 0);
}

static void put(struct td_model *model, uint64_t offset, uint32_t size, uint8_t branch,
                int64_t target, uint64_t runs, uint64_t taken)
{
    const struct td_ran_block block = {.offset = offset,
                                       .size = size,
                                       .insn_count = 1,
                                       .branch = branch,
                                       .target = target,
                                       .runs = runs,
                                       .taken = taken};

    assert_true(td_ran_add(td_model_ran(model), &block));
}

/* while (test) body: the test runs once more than the body; a call in it goes on behind itself. */
static void tests_at_the_beginning(void **state)
{
    (void)state;
    struct td_model *model = td_model_new();
    struct td_graph graph;
    struct td_nest nest;

    put(model, 0, 8, TD_RAN_CONDITIONAL, 64, 11, 1);
    put(model, 8, 8, TD_RAN_CALL, 0, 10, 10);
    put(model, 16, 8, TD_RAN_JUMP, -16, 10, 10);
    put(model, 64, 8, TD_RAN_RETURN, 0, 1, 1);
    td_graph_init(&graph, model);
    td_nest_init(&nest, &graph);
    assert_int_equal(nest.len, 1);
    assert_true(nest.at[0].iterations == 10 && nest.at[0].entries == 1 && nest.at[0].count == 3);
    td_nest_release(&nest);
    td_graph_release(&graph);
    td_model_free(model);
}

/* The first round of each entry runs in a block that began before the loop. */
static void blocks_are_cut(void **state)
{
    (void)state;
    struct td_model *model = td_model_new();
    struct td_graph graph;
    struct td_nest nest;

    put(model, 0, 32, TD_RAN_CONDITIONAL, 16, 5, 5);
    put(model, 16, 16, TD_RAN_CONDITIONAL, 0, 45, 40);
    put(model, 32, 8, TD_RAN_CONDITIONAL, -32, 5, 4);
    td_graph_init(&graph, model);
    assert_int_equal(graph.len, 3);
    assert_true(graph.at[0].runs == 5 && graph.at[1].runs == 50 && graph.at[2].runs == 5);
    td_nest_init(&nest, &graph);
    assert_int_equal(nest.len, 2);
    assert_true(nest.at[0].iterations == 5 && nest.at[0].entries == 1);
    assert_true(nest.at[1].iterations == 50 && nest.at[1].entries == 5 && nest.at[1].parent == 0);
    assert_true(nest.inner[1] == 1 && nest.inner[0] == 0 && nest.inner[2] == 0);
    td_nest_release(&nest);
    td_graph_release(&graph);
    td_model_free(model);
}

/* Loops in loops as code has them, made by chance: trips, entries and depth are those that were
 * made. */
struct made {
    uint64_t header, trips, entries;
    uint32_t depth;
};

static uint64_t make_nest(struct td_model *model, uint64_t *seed, uint64_t at, uint64_t entries,
                          uint32_t depth, struct made *made, size_t *count)
{
    const uint64_t trips = 2 + below(seed, 6), begin = at, runs = entries * trips;
    const size_t own = (*count)++;

    made[own] = (struct made){.header = begin, .trips = runs, .entries = entries, .depth = depth};
    put(model, at, 8, TD_RAN_NONE, 0, runs, 0);
    at += 8;
    for (uint32_t inner = depth < 4 ? below(seed, 3) : 0; inner > 0; inner--) {
        at = make_nest(model, seed, at, runs, depth + 1, made, count);
        put(model, at, 8, TD_RAN_NONE, 0, runs, 0);
        at += 8;
    }
    put(model, at, 8, TD_RAN_CONDITIONAL, (int64_t)(begin - at), runs, runs - entries);
    return at + 8;
}

static void nests_are_found(void **state)
{
    (void)state;
    uint64_t seed = 3;

    for (int round = 0; round < 200; round++) {
        struct td_model *model = td_model_new();
        struct made made[200];
        struct td_graph graph;
        struct td_nest nest;
        size_t count = 0;

        put(model, 0, 8, TD_RAN_NONE, 0, 1, 0);
        const uint64_t end = make_nest(model, &seed, 8, 1, 0, made, &count);
        put(model, end, 8, TD_RAN_RETURN, 0, 1, 1);
        td_graph_init(&graph, model);
        td_nest_init(&nest, &graph);
        assert_int_equal(nest.len, count);
        for (size_t i = 0; i < nest.len; i++) {
            const struct td_nest_loop *loop = &nest.at[i];
            uint32_t depth = 0;
            size_t k = 0;

            for (uint32_t up = loop->parent; up != TD_NONE; up = nest.at[up].parent)
                depth++;
            while (k < count && made[k].header != graph.at[loop->header].offset)
                k++;
            assert_true(k < count && !loop->irregular);
            assert_true(loop->iterations == made[k].trips && loop->entries == made[k].entries);
            assert_int_equal(depth, made[k].depth);
        }
        td_nest_release(&nest);
        td_graph_release(&graph);
        td_model_free(model);
    }
}

/* An interpreter: handlers that jump to one another, entered at any of them. One loop, and the
 * handler's own in it. */
static void interpreters_are_one_loop(void **state)
{
    (void)state;
    struct td_model *model = td_model_new();
    struct td_graph graph;
    struct td_nest nest;

    for (int h = 0; h < 4; h++) {
        struct td_ran_edge edges[4];
        struct td_ran_block block = {.offset = (uint64_t)h * 64,
                                     .size = 16,
                                     .insn_count = 1,
                                     .branch = TD_RAN_INDIRECT,
                                     .runs = 1000,
                                     .taken = 1000,
                                     .edge_count = 4,
                                     .edges = edges};

        for (int to = 0; to < 4; to++)
            edges[to] = (struct td_ran_edge){(to - h) * 64, 200};
        assert_true(td_ran_add(td_model_ran(model), &block));
    }
    put(model, 1000, 8, TD_RAN_CONDITIONAL, 0, 50, 45);
    td_graph_init(&graph, model);
    td_nest_init(&nest, &graph);
    assert_int_equal(nest.len, 2);
    assert_true(nest.at[0].irregular != nest.at[1].irregular);
    const struct td_nest_loop *all = &nest.at[nest.at[0].irregular ? 0 : 1];
    assert_true(all->count == 4 && all->parent == TD_NONE && all->entries == 800);
    td_nest_release(&nest);
    td_graph_release(&graph);
    td_model_free(model);
}

/* The sets that were put into a uop's word come out again. */
static void ports_come_back(void **state)
{
    (void)state;
    static struct td_core_desc desc;
    struct td_ports ports;
    uint16_t sets[3];

    desc.load_ports = desc.load_vector_ports = 0x80c;
    desc.store_address_ports = 0x180;
    desc.store_data_ports = 0x210;
    desc.ops[TD_OP_ALU].ports = 0x463;
    desc.ops[TD_OP_MUL].ports = 0x2;
    desc.ops[TD_OP_SHIFT].ports = 0x41;
    td_ports_init(&ports, &desc);
    const uint16_t one[] = {0x463, 0x2, 0x41, 0x80c, 0x180};
    for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++) {
        assert_int_equal(td_ports_sets(&ports, td_ports_mask(&ports, one[i], 0), sets, 3), 1);
        assert_int_equal(sets[0], one[i]);
    }
    assert_int_equal(td_ports_sets(&ports, td_ports_mask(&ports, 0x2, 0x463), sets, 3), 2);
    assert_true(sets[0] == 0x2 && sets[1] == 0x463);
    assert_int_equal(td_ports_sets(&ports, td_ports_mask(&ports, 0x41, 0x41), sets, 3), 2);
    assert_true(sets[0] == 0x41 && sets[1] == 0x41);
    assert_int_equal(td_ports_sets(&ports, (struct td_port_mask){.add = TD_PORT_ISSUED}, sets, 3),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_come_back),       cmocka_unit_test(counts_add_up),
        cmocka_unit_test(edges_take_little),      cmocka_unit_test(ends_are_behind_begins),
        cmocka_unit_test(chains_are_followed),    cmocka_unit_test(chains_go_on_across_calls),
        cmocka_unit_test(tests_at_the_beginning), cmocka_unit_test(blocks_are_cut),
        cmocka_unit_test(nests_are_found),        cmocka_unit_test(interpreters_are_one_loop),
        cmocka_unit_test(ports_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
