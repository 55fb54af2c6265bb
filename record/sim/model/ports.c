/* SPDX-License-Identifier: MIT */
#include "record/sim/model/ports.h"

#include <stdbool.h>

/* A set of more than seven ports has no counter: no core here dispatches as many a cycle. */
#define PORTS_COUNTED_MAX 7

static void add_set(struct td_ports *ports, uint16_t set)
{
    const int size = __builtin_popcount(set);

    if (size == 0 || size > PORTS_COUNTED_MAX || ports->set_count == TD_PORT_SETS_MAX)
        return;
    for (int i = 0; i < ports->set_count; i++) {
        if (ports->sets[i] == set)
            return;
    }
    ports->sets[ports->set_count++] = set;
}

void td_ports_init(struct td_ports *ports, const struct td_core_desc *desc)
{
    *ports = (struct td_ports){.set_count = 0};
    if (desc->perfect & TD_PERFECT_PORTS)
        return;
    add_set(ports, desc->load_ports);
    add_set(ports, desc->store_address_ports);
    add_set(ports, desc->store_data_ports);
    add_set(ports, desc->load_vector_ports);
    for (int i = 0; i < TD_OP_COUNT; i++)
        add_set(ports, desc->ops[i].ports);
    for (int i = 0; i < TD_OP_COUNT; i++)
        add_set(ports, desc->ops[i].extra);
    /* Unions matter only of sets that share a port. */
    for (int i = 0; i < ports->set_count; i++) {
        for (int k = 0; k < i; k++) {
            if (ports->sets[i] & ports->sets[k])
                add_set(ports, ports->sets[i] | ports->sets[k]);
        }
    }
    for (int i = 0; i < ports->set_count; i++) {
        const uint64_t room = 8 - (uint64_t)__builtin_popcount(ports->sets[i]);
        ports->empty |= room << (i * TD_PORT_SET_BITS);
    }
}

struct td_port_mask td_ports_mask(const struct td_ports *ports, uint16_t set, uint16_t extra)
{
    struct td_port_mask mask = {.add = TD_PORT_ISSUED};

    for (int i = 0; i < ports->set_count; i++) {
        const uint16_t all = ports->sets[i];
        const bool first = (set & ~all) == 0, second = extra && (extra & ~all) == 0;
        const uint64_t one = UINT64_C(1) << (i * TD_PORT_SET_BITS);
        /* Two uops in a set of one port: the second is left out, or none would ever fit. */
        const bool both = first && second && __builtin_popcount(all) > 1;
        if (first || second) {
            mask.add += both ? 2 * one : one;
            mask.full |= 8 * one;
        }
    }
    return mask;
}

/* The smallest set of those that still count something; 0: none does. */
static uint16_t smallest(const struct td_ports *ports, const int left[TD_PORT_SETS_MAX])
{
    uint16_t found = 0;

    for (int i = 0; i < ports->set_count; i++) {
        if (left[i] > 0 &&
            (!found || __builtin_popcount(ports->sets[i]) < __builtin_popcount(found)))
            found = ports->sets[i];
    }
    return found;
}

int td_ports_sets(const struct td_ports *ports, uint64_t add, uint16_t *sets, int max)
{
    int left[TD_PORT_SETS_MAX] = {0}, count = 0;

    for (int i = 0; i < ports->set_count; i++)
        left[i] = (int)(add >> (i * TD_PORT_SET_BITS) & 7);
    while (count < max) {
        const uint16_t set = smallest(ports, left);

        if (!set)
            break;
        sets[count++] = set;
        for (int i = 0; i < ports->set_count; i++)
            left[i] -= (set & ~ports->sets[i]) == 0;
    }
    return count;
}
