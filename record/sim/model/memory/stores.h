/* SPDX-License-Identifier: MIT */
/*
 * The store buffer: what stores wait for their place in L1, and what a load finds among them. Kept
 * by 8-byte words in a table of 4096 bytes, so that stores 4096 bytes apart meet in it as they do
 * in the hardware's first comparison.
 */
#ifndef TD_RECORD_SIM_MODEL_MEMORY_STORES_H
#define TD_RECORD_SIM_MODEL_MEMORY_STORES_H

#include <stdbool.h>
#include <stdint.h>

#define TD_STORE_WORDS      512
#define TD_STORE_BUFFER_MAX 256
#define TD_ORDER_ENTRIES    1024 /* loads whose wish to run early has failed before */
#define TD_ORDER_WAITS      15   /* times that such a load waits, unless it was right to wait */
#define TD_STORE_INDEXED    255  /* no register: the address is of two */
#define TD_STORE_SETS       64   /* of L1: as many as there are on the cores that have this rule */

struct td_store_word {
    uint64_t word;   /* address / 8 */
    int64_t data;    /* cycle in which the bytes are known */
    int64_t address; /* cycle in which the address is known */
    uint32_t serial; /* the store's number */
    uint8_t bytes;   /* which of the 8 */
    uint8_t offset;  /* the first of them */
    uint16_t origin; /* hash of its instruction */
    bool whole;      /* of a general register, 4 or 8 bytes: rename may pass it on */
    uint8_t base;    /* register of the address; TD_STORE_INDEXED: there are two */
    uint32_t older;  /* number of a store before it with other bytes of the word; 0: none */
};

/* A store whose word a later one wrote other bytes of. */
struct td_store_older {
    struct td_store_word word;
    int64_t committed; /* cycle in which L1 has it */
};

/* Where a load had its data from, in its last runs. */
struct td_store_source {
    uint8_t back;    /* so many stores back; 0: from none */
    uint16_t origin; /* hash of the store's instruction */
    uint16_t trust;  /* runs in a row that it was the same */
};

/* Lines that stores have asked for in one set of L1, of late. */
struct td_store_set {
    uint64_t line;   /* the last of them */
    uint32_t serial; /* of the last of these stores */
    uint32_t lines;  /* in TD_STORE_BUFFER_MAX-ths */
};

struct td_stores {
    /* By word: the cycle in which L1 has the store. Apart from the rest, because most loads look
     * no further. */
    int64_t committed[TD_STORE_WORDS];
    struct td_store_word words[TD_STORE_WORDS];
    struct td_store_older older[TD_STORE_BUFFER_MAX]; /* by number, as a ring */
    int64_t commit[TD_STORE_BUFFER_MAX];              /* by place in the buffer */
    int64_t retired[TD_STORE_BUFFER_MAX];
    uint32_t cell[TD_STORE_BUFFER_MAX]; /* whom to blame when it holds up the buffer */
    uint32_t next;                      /* place of the next store */
    uint32_t serial;                    /* its number */
    int64_t last_commit;
    bool second; /* the last one went to L1 with the one before it */
    /* Until when stores wait for a line that other threads use, or for a store that does; and the
     * enum td_cause of that. */
    int64_t shared_until;
    int shared_cause;
    uint64_t last_place; /* address of the last store; UINT64_MAX: it went over the end of a line */
    int64_t last_known;  /* cycle in which the addresses of all stores so far are known */
    /* How often yet the load at this hash waits for the addresses of older stores. */
    uint8_t waits[TD_ORDER_ENTRIES];
    uint32_t latest[TD_ORDER_ENTRIES]; /* by hash of an instruction: its latest store's number */
    uint32_t origin;                   /* of the store that is executed: its place there */
    struct td_store_source sources[TD_ORDER_ENTRIES]; /* by hash of a load */
    /* Loads that rename has begun to keep so far, and the number of this one among them; 0: not. */
    uint32_t keeps, kept[TD_ORDER_ENTRIES];
    struct td_store_set sets[TD_STORE_SETS];
    uint32_t passed;   /* number of the store that rename passed on last, */
    int64_t passed_at; /* and the cycle */
};

/* Which of a word's 8 bytes [address, address + size) covers. */
static inline uint8_t td_store_bytes(uint64_t address, uint32_t size)
{
    const uint32_t offset = address & 7;
    const uint32_t count = size + offset > 8 ? 8 - offset : size;
    return (uint8_t)(((1U << count) - 1) << offset);
}

static inline uint32_t td_stores_index(uint64_t address)
{
    return (uint32_t)(address >> 3) & (TD_STORE_WORDS - 1);
}

/* Whether L1 may lack a store to the bytes [address, address + size) at cycle `t`. */
static inline bool td_stores_buffered(const struct td_stores *stores, uint64_t address,
                                      uint32_t size, int64_t t)
{
    for (uint64_t at = address & ~UINT64_C(7); at < address + size; at += 8) {
        if (stores->committed[td_stores_index(at)] > t)
            return true;
    }
    return false;
}

/* The word's last store is kept for `store`, which writes only some of its bytes. */
void td_stores_keep_older(struct td_stores *stores, struct td_store_word *store, uint32_t index);

/* A store, the last so far, has asked for `line`, which L1 lacked, at cycle `t`. Whether more such
 * lines of its set than there are `ways` are waited for, of the last `buffer` stores: then they
 * push each other out before they are written. */
bool td_stores_crowd(struct td_stores *stores, uint64_t line, uint32_t ways, uint32_t buffer,
                     int64_t t);

/* `store` is the last of its word; L1 has it at `committed`. */
static inline void td_stores_put(struct td_stores *stores, struct td_store_word store,
                                 int64_t committed)
{
    const uint32_t index = td_stores_index(store.word << 3);
    const struct td_store_word *last = &stores->words[index];

    if (store.bytes != 0xff && last->word == store.word &&
        store.serial - last->serial < TD_STORE_BUFFER_MAX)
        td_stores_keep_older(stores, &store, index);
    stores->committed[index] = committed;
    stores->words[index] = store;
}

/* What a load finds among the stores that L1 does not have. */
struct td_stores_found {
    const struct td_store_word *youngest; /* that wrote some of its bytes; NULL: none did */
    bool covers;                          /* it wrote all of them */
    int64_t committed;                    /* cycle in which L1 has all that wrote some */
    const struct td_store_word *alias;    /* one 4096 bytes away; NULL: none */
};

/* For the bytes [address, address + size) at cycle `t`. The words are borrowed from `stores`. */
struct td_stores_found td_stores_find(const struct td_stores *stores, uint64_t address,
                                      uint32_t size, int64_t t);

#endif
