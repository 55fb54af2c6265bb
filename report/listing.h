/* SPDX-License-Identifier: MIT */
/* The disassembly of a part of a profile's code: its instructions in the order of their addresses,
 * those that cost nothing between them included. */
#ifndef TD_REPORT_LISTING_H
#define TD_REPORT_LISTING_H

#include <stddef.h>
#include <stdint.h>

#include "report/disasm.h"
#include "report/query/code_of.h"

#define TD_LISTED_BYTES_MAX 15

struct td_listed {
    uint64_t offset, address; /* the same where the file is not to be had */
    uint32_t location;        /* in the model: its lines */
    uint32_t target;          /* location that it jumps to or calls; TD_NONE */
    uint64_t target_address;
    const struct td_code_cost *cost; /* of the part; NULL: none */
    uint8_t length;                  /* 0: bytes are not known */
    uint8_t bytes[TD_LISTED_BYTES_MAX];
    char *text;  /* NULL: only bytes */
    bool starts; /* does not follow the instruction before it */
};

struct td_listing {
    const struct td_code_part *part; /* borrowed */
    struct td_listed *at;
    size_t len;
    char *note; /* why there is no text, or why it may be of another build; NULL: all is well */
};

/* Adds a location to the model for each instruction and target: give them lines afterwards
 * (td_symbolizer_resolve). Where the code cannot be had, the listing has what the part has. */
void td_listing_init(struct td_listing *listing, struct td_model *model,
                     const struct td_code_part *part, enum td_syntax syntax);
void td_listing_release(struct td_listing *listing);

#endif
