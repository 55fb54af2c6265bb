/* SPDX-License-Identifier: MIT */
/* The profiles of the process images of an emulated command, put together into one. */
#ifndef TD_RECORD_PIECES_H
#define TD_RECORD_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/profile_write.h"

struct td_intern;

struct td_pieces {
    struct td_profile_writer *writer;
    uint32_t group; /* TD_NONE: not described yet */
    uint64_t counters[TD_COUNTER_COUNT];
    struct td_intern *warnings; /* while pieces are added: what they warned of */
    size_t unread;              /* pieces of which nothing could be read */
};

void td_pieces_init(struct td_pieces *pieces, struct td_profile_writer *writer);
/* Adds every piece in the folder to the writer, in the order of their names, and removes it.
 * TD_EIO when the folder cannot be read. */
int td_pieces_add_all(struct td_pieces *pieces, const char *folder, struct td_err *err);

#endif
