/* SPDX-License-Identifier: MIT */
/*
 * Execution ports as counters a cycle. A uop may go to any port of its set; by Hall's theorem a
 * cycle's uops fit on the ports when, for every set of ports, no more uops are confined to it than
 * it has ports. So a cycle is one word of small counters, one a set: issuing a uop counts in every
 * set that contains its own, and a set that is full turns up its top bit.
 */
#ifndef TD_RECORD_SIM_MODEL_PORTS_H
#define TD_RECORD_SIM_MODEL_PORTS_H

#include <stdint.h>

#include "formats/cores/core.h"

#define TD_PORT_SETS_MAX 14
#define TD_PORT_SET_BITS 4
/* The top byte counts the uops issued; its upper half those of the vector scheduler, on a core that
 * has one. */
#define TD_PORT_ISSUED_AT        56
#define TD_PORT_ISSUED           (UINT64_C(1) << TD_PORT_ISSUED_AT)
#define TD_PORT_ISSUED_VECTOR_AT 4
/* Of a uop whose port dispatch chooses, `full` says between which: in its top byte a bit a place of
 * the quad for the uop, above them those for its second one, and in bit 0 which quad. `add` is then
 * no more than its count. */
#define TD_PORT_BOUND_AT 56
#define TD_QUAD_ALL      ((1U << TD_QUAD_PORTS) - 1) /* every place of a quad */

struct td_port_mask {
    uint64_t add;  /* added to the cycle's word */
    uint64_t full; /* bits that must be clear before */
};

/*
 * Where each port has a queue of its own, a uop is put into one of them when it is dispatched, and
 * must wait there though another port is idle. Such ports are told in fours (td_dispatch).
 *
 * The word of a dispatch group: from bit 0 on the places of both quads that are taken, then a
 * counter of four bits a limit, whose top bit says that the limit is reached.
 */
enum { TD_GROUP_COUNTS_AT = TD_DISPATCH_QUADS * TD_QUAD_PORTS, TD_GROUP_COUNT_BITS = 4 };

struct td_group_mask {
    uint32_t add, full;
};

struct td_quad {
    struct td_port_mask one[TD_QUAD_PORTS];          /* of a uop that goes to this place */
    struct td_group_mask limits[1 << TD_QUAD_PORTS]; /* of one that may go to these */
};

/* Of what was added to a cycle's word: how many went to each port of the quads, a byte a port. */
static inline uint64_t td_quad_issued(uint64_t added)
{
    uint64_t bytes = added & UINT64_C(0x11111111);

    bytes = (bytes | bytes << 16) & UINT64_C(0x0000ffff0000ffff);
    bytes = (bytes | bytes << 8) & UINT64_C(0x00ff00ff00ff00ff);
    return (bytes | bytes << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
}

struct td_ports {
    uint16_t sets[TD_PORT_SETS_MAX];
    int set_count;
    uint16_t vector; /* ports of the vector scheduler; 0: the core has none */
    const struct td_dispatch *dispatch;
    struct td_quad quads[TD_DISPATCH_QUADS];
    int quad_count;
    uint32_t group; /* the word of a group without a uop */
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
