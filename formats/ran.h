/* SPDX-License-Identifier: MIT */
/*
 * The code that a modelled program ran: its basic blocks, how often each ran and where it went on,
 * and of the hot ones what each instruction reads, writes and needs. A report makes loops, their
 * ports' loads and chains of dependencies from it.
 */
#ifndef TD_FORMATS_RAN_H
#define TD_FORMATS_RAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum {
    TD_RAN_REGISTERS = 96, /* numbered as the model does; 0 is none and always ready */
    TD_RAN_PORTS = 5,      /* ports that one uop may take at a time */
    TD_RAN_INSNS_MAX = 2048,
    TD_RAN_UOPS_MAX = 4096,  /* of a block */
    TD_RAN_EDGES_MAX = 1024, /* of a block */
    TD_RAN_BLOCKS_MAX = 1 << 17,
    TD_RAN_BACK_VARIES = UINT8_MAX,
};

enum td_ran_branch {
    TD_RAN_NONE, /* goes on behind it */
    TD_RAN_CONDITIONAL,
    TD_RAN_JUMP,
    TD_RAN_CALL, /* direct or not */
    TD_RAN_RETURN,
    TD_RAN_INDIRECT,
    TD_RAN_BRANCH_COUNT
};

enum td_ran_flag {
    TD_RAN_LOAD = 1 << 0,
    TD_RAN_STORE = 1 << 1,
    TD_RAN_FOLD = 1 << 2,   /* rename computes dst[0], in no time */
    TD_RAN_SERIAL = 1 << 3, /* waits for all before it */
    TD_RAN_FLAGS_ALL = (1 << 4) - 1,
};

/* Units that take one operation at a time for `busy` cycles. */
enum td_ran_unit {
    TD_RAN_DIVIDER,
    TD_RAN_FLOAT_DIVIDER,
    TD_RAN_LOCK,
    TD_RAN_OTHER_UNIT,
    TD_RAN_UNIT_COUNT
};

struct td_ran_uop {
    uint16_t insn; /* index of its instruction */
    uint8_t src[3];
    uint8_t address[2]; /* registers of the address of its load or store */
    uint8_t dst[2];
    uint8_t flags;        /* enum td_ran_flag */
    uint8_t slots;        /* of dispatch */
    uint8_t latency;      /* cycles from its operands to its results */
    uint8_t load_latency; /* of a load: cycles from the address to the data in L1; else: so much
                             later than the others may src[2] come */
    uint8_t back;         /* its load mostly has its data from so many stores back; 0: from L1;
                             TD_RAN_BACK_VARIES: from a store, not always as far back */
    uint8_t forward;      /* cycles from the data of that store to its own; 0: by rename */
    uint8_t busy, unit;   /* cycles for which it has the unit; 0: it needs none alone */
    uint16_t ports[TD_RAN_PORTS]; /* sets of ports: it takes one of each; 0: none */
};

struct td_ran_edge {
    int64_t delta; /* the target's offset less the block's */
    uint64_t count;
};

/* Counts are of what was modelled exactly; nothing is scaled. */
struct td_ran_block {
    uint32_t module;
    uint64_t offset; /* as td_location.offset */
    uint32_t size;   /* bytes */
    uint32_t insn_count;
    uint8_t branch; /* enum td_ran_branch: what ends it */
    int64_t target; /* of a direct jump: its offset less the block's; else 0 */
    uint64_t runs;
    uint64_t taken; /* of them, those that did not go on behind it */
    uint32_t edge_count;
    uint32_t uop_count;              /* 0: not known of this block */
    const struct td_ran_edge *edges; /* of an indirect jump: where it went */
    const struct td_ran_uop *uops;
    const uint8_t *lengths; /* bytes of each instruction; NULL without uops */
};

/* Appends all of it but module and offset. */
void td_ran_put(struct td_buf *buf, const struct td_ran_block *block);

/* Room for what a block points to, while it is read. */
struct td_ran_room {
    struct td_ran_edge edges[TD_RAN_EDGES_MAX];
    struct td_ran_uop uops[TD_RAN_UOPS_MAX];
    uint8_t lengths[TD_RAN_INSNS_MAX];
};
/* Reads what td_ran_put wrote; *ret points into `room`. What cannot be makes the cursor bad. */
void td_ran_get(struct td_rd *rd, struct td_ran_block *ret, struct td_ran_room *room);

/* Blocks by their place; a zeroed one has none. */
struct td_ran;
struct td_ran *td_ran_new(void);
void td_ran_free(struct td_ran *code); /* NULL is allowed */
size_t td_ran_bytes(const struct td_ran *code);
/* Copies the block, or adds its counts to those of the block of the same place and size. False, and
 * nothing was done, when there are too many blocks, or its end or a count cannot be. */
bool td_ran_add(struct td_ran *code, const struct td_ran_block *block);
size_t td_ran_count(const struct td_ran *code);
/* In the order in which they were first added. */
const struct td_ran_block *td_ran_block(const struct td_ran *code, size_t i)
    __attribute__((returns_nonnull));

#endif
