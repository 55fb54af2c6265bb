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

#define TD_PORT_SETS_MAX  14
#define TD_PORT_SET_BITS  4
#define TD_PORT_ISSUED    (UINT64_C(1) << 56) /* the top byte counts the uops issued */
#define TD_PORT_ISSUED_AT 56

struct td_port_mask {
    uint64_t add;  /* added to the cycle's word */
    uint64_t full; /* bits that must be clear before */
};

struct td_ports {
    uint16_t sets[TD_PORT_SETS_MAX];
    int set_count;
    uint64_t empty; /* the word of a cycle in which nothing has issued */
};

/* The sets that the core's operations, loads and stores need; none when it has ports for all. */
void td_ports_init(struct td_ports *ports, const struct td_core_desc *desc);
/* What a uop confined to `set` (not 0) takes; with `extra` (may be 0) a second uop's too. */
struct td_port_mask td_ports_mask(const struct td_ports *ports, uint16_t set, uint16_t extra);

/* The sets that a uop of `add` is confined to, one a port that it takes; returns how many, at most
 * `max`. Sets that have no counter are none. */
int td_ports_sets(const struct td_ports *ports, uint64_t add, uint16_t *sets, int max);

#endif
