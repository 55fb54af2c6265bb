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

/* The set as places of the bank, or 0 when not all of it is there. */
static uint32_t places_of(const struct td_dispatch_bank *bank, uint16_t set)
{
    uint32_t places = 0;

    for (uint32_t i = 0; i < bank->count; i++) {
        if (set >> bank->ports[i] & 1) {
            places |= 1U << i;
            set &= (uint16_t) ~(1U << bank->ports[i]);
        }
    }
    return set ? 0 : places;
}

static uint16_t set_of(const struct td_dispatch_bank *bank, uint32_t places)
{
    uint16_t set = 0;

    for (uint32_t i = 0; i < bank->count; i++)
        set |= (uint16_t)((places >> i & 1) << bank->ports[i]);
    return set;
}

static bool is_bound(const struct td_ports *ports, uint16_t set)
{
    for (uint32_t b = 0; b < ports->bank_count; b++) {
        if (places_of(&ports->dispatch->banks[b], set))
            return true;
    }
    return false;
}

static void add_op_set(struct td_ports *ports, uint16_t set)
{
    if (!is_bound(ports, set))
        add_set(ports, set);
}

static struct td_group_mask limits_of(const struct td_dispatch *dispatch, uint16_t set)
{
    struct td_group_mask mask = {0, 0, 0};

    for (uint32_t i = 0; i < dispatch->limit_count; i++) {
        const uint64_t one = UINT64_C(1) << (TD_GROUP_COUNTS_AT + i * TD_GROUP_COUNT_BITS);
        if (set && (set & ~dispatch->limits[i].ports) == 0) {
            mask.add += one;
            mask.full |= 8 * one;
        }
    }
    return mask;
}

static struct td_port_mask counted(const struct td_ports *ports, uint16_t set, uint16_t extra);

static void init_places(struct td_ports *ports)
{
    for (uint32_t i = 0; i < TD_BIND_PORTS << TD_BIND_PORTS; i++) {
        const uint32_t place = i % TD_BIND_PORTS, places = i / TD_BIND_PORTS;
        ports->never[places] |= (~places >> place & UINT64_C(1)) << (place * TD_LANE_BITS + 15);
    }
    for (uint32_t places = 0; places <= TD_BANK_ALL; places++) {
        for (uint8_t place = 0; place < TD_BANK_PORTS; place++) {
            if (places >> place & 1)
                ports->places[places][ports->place_count[places]++] = place;
        }
    }
}

/* A counter of its own, behind those of the sets, for the results of the port that multiplies. */
static void init_result(struct td_ports *ports, const struct td_core_desc *desc)
{
    const struct td_op_cost *mul = &desc->ops[TD_OP_MUL];

    if (!desc->port_result || !is_bound(ports, mul->ports) || __builtin_popcount(mul->ports) != 1 ||
        ports->set_count == TD_PORT_SETS_MAX)
        return;
    ports->result = UINT64_C(1) << (ports->set_count * TD_PORT_SET_BITS);
    ports->result_port = mul->ports;
    ports->late = (uint8_t)(mul->latency - 1);
    ports->empty |= 7 * ports->result;
}

static void init_dispatch(struct td_ports *ports)
{
    const struct td_dispatch *dispatch = ports->dispatch;

    for (uint32_t b = 0; b < ports->bank_count; b++) {
        const uint32_t queue = dispatch->banks[b].places;
        ports->banks[b].rule = dispatch->banks[b].rule;
        ports->banks[b].full = queue ? queue << TD_LANE_PLACE_BITS : UINT32_MAX;
        for (int i = 0; i < dispatch->banks[b].count; i++) {
            const uint16_t port = (uint16_t)(1U << dispatch->banks[b].ports[i]);
            const uint64_t result = port == ports->result_port ? ports->result : 0;
            struct td_port_mask *bound = &ports->banks[b].bound[i];
            *bound = counted(ports, port, 0);
            bound->add += result;
            bound->full |= 8 * result;
        }
    }
    for (uint32_t i = 0; i < dispatch->limit_count; i++)
        ports->group |= (UINT64_C(8) - dispatch->limits[i].most)
                        << (TD_GROUP_COUNTS_AT + i * TD_GROUP_COUNT_BITS);
}

/* Bit of a cycle's word at which the set's counter begins. */
static uint32_t counter_at(const struct td_ports *ports, uint16_t set)
{
    uint32_t i = 0;

    while (ports->sets[i] != set)
        i++;
    return i * TD_PORT_SET_BITS;
}

void td_ports_init(struct td_ports *ports, const struct td_core_desc *desc)
{
    *ports = (struct td_ports){.set_count = 0};
    if (desc->perfect & TD_PERFECT_PORTS)
        return;
    ports->vector = desc->scheduler_vector ? desc->vector_ports : 0;
    ports->dispatch = &desc->dispatch;
    ports->bank_count = desc->dispatch.bank_count;
    /* These come first: so td_lanes_issued finds them side by side. */
    for (uint32_t b = 0; b < ports->bank_count; b++) {
        const struct td_dispatch_bank *bank = &desc->dispatch.banks[b];
        ports->banks[b].counters_at = (uint32_t)ports->set_count * TD_PORT_SET_BITS;
        for (int i = 0; i < bank->count; i++)
            add_set(ports, (uint16_t)(1U << bank->ports[i]));
    }
    if (desc->scheduler_memory) {
        ports->memory = desc->load_ports | desc->store_address_ports;
        add_set(ports, ports->memory);
        ports->memory_at = counter_at(ports, ports->memory);
    }
    add_set(ports, desc->load_ports);
    add_set(ports, desc->store_address_ports);
    add_set(ports, desc->store_data_ports);
    add_set(ports, desc->load_vector_ports);
    for (int i = 0; i < TD_OP_COUNT; i++)
        add_op_set(ports, desc->ops[i].ports);
    for (int i = 0; i < TD_OP_COUNT; i++)
        add_op_set(ports, desc->ops[i].extra);
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
    init_places(ports);
    init_result(ports, desc);
    init_dispatch(ports);
    ports->whole = desc->whole_slots;
}

/* Of a uop for some of these ports what is not counted by port. */
static struct td_port_mask uncounted(const struct td_ports *ports, uint16_t set)
{
    struct td_port_mask mask = {.group = ports->dispatch ? limits_of(ports->dispatch, set)
                                                         : (struct td_group_mask){0, 0, 0},
                                .add = TD_PORT_ISSUED,
                                .waits = 1};

    if (set & ports->vector) {
        mask.add = TD_PORT_ISSUED_VECTOR;
        mask.waits = TD_WAITING_VECTOR;
    } else if ((set & ~ports->memory) == 0) {
        mask.add = 0; /* the counter of these ports counts it */
        mask.waits = UINT64_C(1) << TD_WAITING_MEMORY_AT;
    }
    return mask;
}

/* In the counters of sets. */
static struct td_port_mask counted(const struct td_ports *ports, uint16_t set, uint16_t extra)
{
    struct td_port_mask mask = uncounted(ports, set);

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

struct td_port_mask td_ports_mask(const struct td_ports *ports, uint16_t set, uint16_t extra)
{
    for (uint32_t b = 0; b < ports->bank_count; b++) {
        const struct td_dispatch_bank *bank = &ports->dispatch->banks[b];
        const uint32_t places = places_of(bank, set);
        if (!places)
            continue;
        struct td_port_mask mask = uncounted(ports, set);
        mask.choice = (uint8_t)TD_CHOICE(b, places);
        mask.second = (uint8_t)places_of(bank, extra);
        mask.late = set == ports->result_port ? ports->late : 0;
        if (ports->whole && mask.second) {
            mask.group.more = limits_of(ports->dispatch, extra).add;
            mask.group.add += mask.group.more;
        }
        return mask;
    }
    return counted(ports, set, extra);
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

int td_ports_sets(const struct td_ports *ports, struct td_port_mask mask, uint16_t *sets, int max)
{
    int left[TD_PORT_SETS_MAX] = {0}, count = 0;

    for (uint32_t places = mask.choice & TD_BANK_ALL; places && count < max;
         places = count < 2 ? mask.second : 0)
        sets[count++] = set_of(&ports->dispatch->banks[mask.choice >> TD_BANK_PORTS], places);
    for (int i = 0; i < ports->set_count; i++)
        left[i] = (int)(mask.add >> (i * TD_PORT_SET_BITS) & 7);
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
