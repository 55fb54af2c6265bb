/* SPDX-License-Identifier: MIT */
/*
 * Execution ports as counters a cycle. A uop may go to any port of its set; by Hall's theorem a
 * cycle's uops fit on the ports when, for every set of ports, no more uops are confined to it than
 * it has ports. So a cycle is one word of small counters, one a set: issuing a uop counts in every
 * set that contains its own, and a set that is full turns up its top bit.
 */
#ifndef TD_RECORD_SIM_MODEL_PORTS_H
#define TD_RECORD_SIM_MODEL_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/cores/core.h"

#define TD_PORT_SETS_MAX 14
#define TD_PORT_SET_BITS 4
/* The top byte counts the uops issued; its upper half those of the vector scheduler, on a core that
 * has one. */
#define TD_PORT_ISSUED_AT        56
#define TD_PORT_ISSUED           (UINT64_C(1) << TD_PORT_ISSUED_AT)
#define TD_PORT_ISSUED_VECTOR_AT 4
/* Of numbers of uops that wait, those of the vector scheduler and of that of loads and stores. */
#define TD_WAITING_VECTOR_AT 16
#define TD_WAITING_MEMORY_AT 32
/* One uop of the vector scheduler, issued and waiting. */
#define TD_PORT_ISSUED_VECTOR (TD_PORT_ISSUED << TD_PORT_ISSUED_VECTOR_AT)
#define TD_WAITING_VECTOR     (UINT64_C(1) << TD_WAITING_VECTOR_AT)
#define TD_BANK_ALL           ((1U << TD_BANK_PORTS) - 1) /* every place of a bank */

/* Of the word of a dispatch group (below). */
struct td_group_mask {
    uint64_t add;  /* added to it */
    uint64_t full; /* bits that must be clear before */
    uint64_t more; /* added for that: what it counts beyond one */
};

struct td_port_mask {
    uint64_t add;   /* added to the cycle's word; of a uop with a choice its count alone */
    uint64_t full;  /* bits that must be clear before */
    uint64_t waits; /* what it counts while it waits: one, in its scheduler's place */
    uint8_t choice; /* between which ports dispatch chooses (TD_CHOICE); 0: it does not */
    uint8_t second; /* the same places for its second uop; 0: it has none, or it is not bound */
    uint8_t late;   /* cycles from its issue to that of a uop of one cycle whose result would come
                     * with its own (td_ports.result); 0: that is in nobody's way */
    struct td_group_mask group; /* what limits its dispatch */
};

/*
 * Where each port has a queue of its own, a uop is put into one of them when it is dispatched, and
 * must wait there though another port is idle. Such ports are told in banks (td_dispatch).
 *
 * The word of a dispatch group: from bit 0 on the places of both banks that are taken, then a
 * counter of four bits a limit, whose top bit says that the limit is reached.
 */
enum { TD_GROUP_COUNTS_AT = TD_DISPATCH_BANKS * TD_BANK_PORTS, TD_GROUP_COUNT_BITS = 4 };
_Static_assert(TD_GROUP_COUNTS_AT + TD_DISPATCH_LIMITS * TD_GROUP_COUNT_BITS <= 64,
               "a word has a counter for each limit");

/* Of a bank those of its places (a bit each) that a uop may go to. */
#define TD_CHOICE(bank, places) ((uint32_t)(bank) << TD_BANK_PORTS | (places))

/*
 * How many uops wait at the ports of a bank that chooses by it: a lane of 16 bits a place, of which
 * the lower two bits are the place itself, so that the least of all lanes says where.
 */
enum { TD_LANE_BITS = 16, TD_LANE_PLACE_BITS = 2 };
#define TD_LANES_EMPTY (UINT64_C(3) << 48 | UINT64_C(2) << 32 | UINT64_C(1) << 16)

/* One uop at the place. */
static inline uint64_t td_lanes_one(uint32_t place)
{
    return UINT64_C(1) << (place * TD_LANE_BITS + TD_LANE_PLACE_BITS);
}

/* A place's lane. Of a bank that spreads it is none, and never full. */
static inline uint32_t td_lane(uint64_t lanes, uint32_t place)
{
    return (uint16_t)(lanes >> place % TD_BIND_PORTS * TD_LANE_BITS);
}

/* Those that a cycle's word has for a bank whose counters begin at bit `at`: one a port at most. */
static inline uint64_t td_lanes_issued(uint64_t added, uint32_t at)
{
    uint64_t lanes = added >> at & 0x1111;

    lanes = (lanes | lanes << 24) & UINT64_C(0x0000001100000011);
    return ((lanes | lanes << 12) & UINT64_C(0x0001000100010001)) << TD_LANE_PLACE_BITS;
}

/* The place at which the fewest wait, of those that `never` leaves; of equals the first. */
static inline uint32_t td_lanes_least(uint64_t lanes, uint64_t never)
{
    lanes |= never;
    const uint32_t a = (uint16_t)lanes, b = (uint16_t)(lanes >> 16);
    const uint32_t c = (uint16_t)(lanes >> 32), d = (uint16_t)(lanes >> 48);
    const uint32_t first = b < a ? b : a, last = d < c ? d : c;

    return (last < first ? last : first) & (TD_BIND_PORTS - 1);
}

/* Of a bank of two schedulers, those that wait in either: 4 for each of them. */
static inline uint32_t td_lanes_pair(uint64_t lanes, uint32_t pair)
{
    const uint32_t both = (uint32_t)(lanes >> pair * 2 * TD_LANE_BITS) & 0xfffcfffc;

    return (both & 0xffff) + (both >> TD_LANE_BITS);
}

/* Dispatch as td_dispatch says, made ready. */
struct td_port_bank {
    struct td_port_mask bound[TD_BANK_PORTS]; /* of a uop that goes there */
    uint32_t full;                            /* a lane of it that says that its queue is */
    uint32_t counters_at; /* in a cycle's word, the bit at which its ports' counters begin */
    enum td_bank_rule rule;
};

struct td_ports {
    uint16_t sets[TD_PORT_SETS_MAX];
    int set_count;
    uint16_t vector;    /* ports of the vector scheduler; 0: the core has none */
    uint16_t memory;    /* ports of the scheduler of loads and stores; 0: the core has none */
    uint32_t memory_at; /* in a cycle's word, the bit at which the counter of these ports begins */
    /* Of the port that passes on one result a cycle: one of it in the word of the cycle in which a
     * uop of one cycle would issue that has its result with it. 0: no such port. */
    uint64_t result;
    uint16_t result_port; /* that port, as a set */
    uint8_t late;         /* cycles more than one that uops take which go to it alone */
    bool whole;           /* both uops of an instruction count for what dispatch limits */
    const struct td_dispatch *dispatch;
    struct td_port_bank banks[TD_DISPATCH_BANKS];
    uint64_t never[1 << TD_BIND_PORTS]; /* to lanes, so that none but these is the least */
    /* Of each set of places how many they are, and which is its first, its second and so on. */
    uint8_t place_count[1 << TD_BANK_PORTS];
    uint8_t places[1 << TD_BANK_PORTS][TD_BANK_PORTS];
    uint32_t bank_count;
    uint64_t group; /* the word of a group without a uop */
    uint64_t empty; /* the word of a cycle in which nothing has issued */
};

/* The sets that the core's operations, loads and stores need; none when it has ports for all.
 * Borrows the description. */
void td_ports_init(struct td_ports *ports, const struct td_core_desc *desc);
/* What a uop confined to `set` (not 0) takes; with `extra` (may be 0) a second uop's too. */
struct td_port_mask td_ports_mask(const struct td_ports *ports, uint16_t set, uint16_t extra);

/* The sets that a uop of `mask` is confined to, one a port that it takes; returns how many, at most
 * `max`. Sets that have no counter are none. */
int td_ports_sets(const struct td_ports *ports, struct td_port_mask mask, uint16_t *sets, int max);

#endif
