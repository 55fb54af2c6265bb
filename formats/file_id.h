/* SPDX-License-Identifier: MIT */
/*
 * What stands in the place of a build-id where a file has none (profile.md 4.1): a hash of its
 * content, which names it wherever it is, or its inode, which names it on one machine and only
 * until it changes.
 */
#ifndef TD_FORMATS_FILE_ID_H
#define TD_FORMATS_FILE_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/model.h"

enum td_file_id_kind {
    TD_FILE_ID_NONE,    /* nothing tells the file from another of its name */
    TD_FILE_ID_BUILD,   /* a build-id that a linker wrote */
    TD_FILE_ID_CONTENT, /* 16 bytes of hash */
    TD_FILE_ID_INODE,
};

/* As the kernel tells it of a mapping. */
struct td_file_inode {
    uint32_t major, minor; /* of the device */
    uint64_t inode;        /* 0: not known */
};

/* The hash of a content, fed in pieces: all but the last a multiple of 8 bytes long. Zeroed but for
 * what td_file_hash_init sets. */
struct td_file_hash {
    uint64_t state[2];
};

enum td_file_id_kind td_file_id_kind(const struct td_build_id *id);
struct td_build_id td_file_id_of_inode(const struct td_file_inode *inode);
/* The inode in an id of that kind. */
struct td_file_inode td_file_id_inode(const struct td_build_id *id);

struct td_file_hash td_file_hash_init(uint64_t file_size);
void td_file_hash_add(struct td_file_hash *hash, const uint8_t *data, size_t size);
struct td_build_id td_file_hash_id(const struct td_file_hash *hash);

/* The build-id in hex; "" when the id is none that a linker wrote. `text`: 2 * TD_BUILD_ID_MAX + 1
 * bytes. */
void td_file_id_build_text(const struct td_build_id *id, char *text, size_t size);

#endif
