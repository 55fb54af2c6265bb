/* SPDX-License-Identifier: MIT */
#include "report/query/cpi_methods.h"

#include <string.h>

#include "formats/model.h"

static const enum td_cpi_method methods[TD_CPI_WAY_COUNT] = {
    [TD_CPI_WAY_INTERVAL] = TD_CPI_METHOD_INTERVAL,
    [TD_CPI_WAY_POWER5] = TD_CPI_METHOD_POWER5,
    [TD_CPI_WAY_RIGHT_PATH] = TD_CPI_METHOD_RIGHT_PATH,
    [TD_CPI_WAY_NAIVE] = TD_CPI_METHOD_NAIVE,
};

const char *td_cpi_way_name(enum td_cpi_way way)
{
    static const char *const names[] = {
#define X(symbol, name, meaning) [TD_CPI_METHOD_##symbol] = (name),
        TD_CPI_METHODS(X)
#undef X
    };

    return way == TD_CPI_WAY_EXACT ? "exact" : names[methods[way]];
}

const char *td_cpi_row_name(unsigned row)
{
    static const char *const names[] = {
#define X(symbol, name, meaning) [TD_CPI_OF_##symbol] = (name),
        TD_CPI_COMPONENTS(X)
#undef X
    };

    return row == TD_CPI_ROW_BASE ? "base" : names[row - TD_CPI_ROW_FIRST];
}

static double counter_of(const struct td_model *model, unsigned count)
{
    return (double)td_model_counter(model, (enum td_counter)((int)TD_COUNTER_CPI_CYCLES + count));
}

static double node_cycles(const struct td_cpi_basis *basis, enum td_tma_node node, double per_slot)
{
    return (double)basis->measure->totals[td_metric_of_node(node)] * per_slot;
}

/* What the slots say, by the same components. */
static void add_exact(struct td_cpi_ways *ways, const struct td_cpi_basis *basis)
{
    static const enum td_tma_node nodes[][2] = {
        [TD_CPI_OF_ICACHE] = {TD_NODE_ICACHE_MISSES, TD_NODE_NONE},
        [TD_CPI_OF_ITLB] = {TD_NODE_ITLB_MISSES, TD_NODE_NONE},
        [TD_CPI_OF_BRANCHES] = {TD_NODE_BRANCH_MISPREDICTS, TD_NODE_BRANCH_RESTEERS},
        [TD_CPI_OF_DTLB] = {TD_NODE_DTLB_LOAD, TD_NODE_NONE},
        [TD_CPI_OF_L2] = {TD_NODE_L2_BOUND, TD_NODE_NONE},
        [TD_CPI_OF_L3] = {TD_NODE_L3_BOUND, TD_NODE_NONE},
        [TD_CPI_OF_DRAM] = {TD_NODE_DRAM_BOUND, TD_NODE_NONE},
    };
    const uint64_t slots = basis->measure->totals[TD_METRIC_SLOTS];
    const double per_slot = slots ? ways->cycles / (double)slots : 0;
    double *cycles = ways->cycles_of[TD_CPI_WAY_EXACT];
    double known = node_cycles(basis, TD_NODE_RETIRING, per_slot);

    cycles[TD_CPI_ROW_BASE] = known;
    for (unsigned c = 0; c < TD_CPI_OF_OTHER; c++) {
        for (int i = 0; i < 2 && nodes[c][i] != TD_NODE_NONE; i++)
            cycles[TD_CPI_ROW_FIRST + c] += node_cycles(basis, nodes[c][i], per_slot);
        known += cycles[TD_CPI_ROW_FIRST + c];
    }
    cycles[TD_CPI_ROW_FIRST + TD_CPI_OF_OTHER] = known < ways->cycles ? ways->cycles - known : 0;
    memset(ways->counts[TD_CPI_WAY_EXACT], true, sizeof(ways->counts[0]));
}

static void add_way(struct td_cpi_ways *ways, const struct td_model *model, enum td_cpi_way way)
{
    const bool naive = way >= TD_CPI_WAY_RIGHT_PATH;
    double rest = ways->cycles;

    ways->counts[way][TD_CPI_ROW_BASE] = true;
    for (unsigned c = 0; c < TD_CPI_COMPONENT_COUNT; c++) {
        const double counted =
            counter_of(model, td_cpi_count_of(methods[way], (enum td_cpi_component)c));

        ways->counts[way][TD_CPI_ROW_FIRST + c] = !naive || c != TD_CPI_OF_OTHER;
        ways->cycles_of[way][TD_CPI_ROW_FIRST + c] = counted * ways->scale;
        rest -= counted * ways->scale;
    }
    ways->cycles_of[way][TD_CPI_ROW_BASE] = rest;
}

bool td_cpi_ways_of(struct td_cpi_ways *ret, const struct td_cpi_basis *basis)
{
    const struct td_model *model = basis->measure->model;
    const struct td_cpi stack = td_cpi_of(basis, basis->measure->totals, 0, 1);
    const double counted = counter_of(model, TD_CPI_COUNT_CYCLES);

    *ret = (struct td_cpi_ways){
        .cpi = stack.cpi, .cycles = stack.cycles, .instructions = stack.instructions};
    if (counted <= 0 || !(stack.cycles > 0))
        return false;
    ret->scale = stack.cycles / counted;
    ret->overlap = counter_of(model, TD_CPI_COUNT_OVERLAP) / counted;
    add_exact(ret, basis);
    for (int way = TD_CPI_WAY_EXACT + 1; way < TD_CPI_WAY_COUNT; way++)
        add_way(ret, model, (enum td_cpi_way)way);
    return true;
}
