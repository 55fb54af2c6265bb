/* SPDX-License-Identifier: MIT */
/*
 * The outer layer of a profile file (profile.md 2 and 3): the file header, and chunks with their
 * checksums, sequence numbers and compression. Knows nothing of what chunks hold.
 */
#ifndef TD_FORMATS_PROFILE_FRAME_H
#define TD_FORMATS_PROFILE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "formats/model.h"

#define TD_PROFILE_MAJOR       1
#define TD_PROFILE_MINOR       1
#define TD_PROFILE_MAGIC_SIZE  8
#define TD_PROFILE_HEADER_SIZE 44
#define TD_CHUNK_HEAD_SIZE     28

/* Limits that a reader holds every file to (profile.md 3.3). */
#define TD_CHUNK_RAW_MAX   (UINT32_C(16) << 20)
#define TD_CHUNK_RATIO_MAX 256
#define TD_CHUNK_RATIO_PAD 65536

/* Kinds of chunks: X(symbol, number, name, must a reader know it) */
#define TD_CHUNK_KINDS(X)                    \
    X(ENVIRONMENT, 1, "environment", false)  \
    X(STRINGS, 2, "strings", true)           \
    X(MODULES, 3, "modules", true)           \
    X(THREADS, 4, "threads", true)           \
    X(EVENTS, 5, "events", true)             \
    X(GROUPS, 6, "groups", true)             \
    X(SYMBOLS, 7, "symbols", false)          \
    X(NODES, 8, "nodes", true)               \
    X(SAMPLES, 9, "samples", true)           \
    X(TALLIES, 10, "tallies", true)          \
    X(COUNTERS, 11, "counters", false)       \
    X(END, 12, "end", true)                  \
    X(ORIGINS, 13, "origins", false)         \
    X(PLACED, 14, "placed symbols", false)   \
    X(COUNTS, 15, "counts", false)           \
    X(PASSES, 16, "passes", true)            \
    X(REGIONS, 17, "regions", false)         \
    X(REGION_ROWS, 18, "region rows", false) \
    X(CODE, 19, "code", false)               \
    X(HABITS, 20, "habits", false)           \
    X(SHARING, 21, "sharing", false)         \
    X(GROUP_REGIONS, 22, "group regions", false)

enum td_chunk_kind {
#define X(symbol, number, name, required) TD_CHUNK_##symbol = (number),
    TD_CHUNK_KINDS(X)
#undef X
};

/* One more than the greatest kind. */
#define TD_CHUNK_KIND_LIMIT 23

enum td_chunk_flag {
    TD_CHUNK_REQUIRED = 1 << 0, /* a reader that does not know the kind refuses the file */
    TD_CHUNK_ZSTD = 1 << 1,     /* the payload is one zstd frame */
    TD_CHUNK_FLAGS_KNOWN = TD_CHUNK_REQUIRED | TD_CHUNK_ZSTD,
};

extern const uint8_t td_profile_magic[TD_PROFILE_MAGIC_SIZE];

/* NULL for a number that is in no list. */
const char *td_chunk_kind_name(unsigned kind);
bool td_chunk_kind_required(enum td_chunk_kind kind);

struct td_profile_header {
    uint16_t size;
    uint8_t major, minor;
    uint32_t compatible, incompatible;
    uint8_t id[TD_PROFILE_ID_SIZE];
    uint32_t crc; /* of the header; the seed of every chunk head's checksum */
};

/* Appends the header and sets header->size and ->crc. */
void td_profile_header_put(struct td_buf *buf, struct td_profile_header *header);
/* TD_EFORMAT (not a profile, cut, damaged), TD_EVERSION (newer, or a flag that is not known). */
int td_profile_header_get(struct td_profile_header *ret, const void *data, size_t size,
                          struct td_err *err);

struct td_chunk_head {
    uint8_t kind;
    uint8_t flags;
    uint32_t sequence;
    uint32_t stored_size;
    uint32_t raw_size;
    uint32_t payload_crc;
};

/* What stands at `pos`: TD_OK for a whole head with a right checksum, TD_ENODATA for the rest of
 * one (the data ends inside it, or only zeros are left), TD_EFORMAT for anything else. */
int td_chunk_head_get(struct td_chunk_head *ret, const void *data, size_t size, size_t pos,
                      uint32_t seed);
/* The first position at or after `pos` with a whole and right head; `size` when there is none. */
size_t td_chunk_find(const void *data, size_t size, size_t pos, uint32_t seed);

/* A payload in the making. cuts[] are positions where its bytes change their character (columns):
 * the compressor starts new statistics there. */
#define TD_CHUNK_CUTS_MAX 32
struct td_chunk_body {
    struct td_buf raw;
    size_t cuts[TD_CHUNK_CUTS_MAX];
    size_t cut_count;
};

void td_chunk_body_clear(struct td_chunk_body *body);
void td_chunk_body_release(struct td_chunk_body *body);
/* Marks the present end. Past TD_CHUNK_CUTS_MAX, or with little since the last cut, does nothing.
 */
void td_chunk_body_cut(struct td_chunk_body *body);

/* Compression contexts, reused from chunk to chunk. */
struct td_chunk_packer;
struct td_chunk_unpacker;

struct td_chunk_packer *td_chunk_packer_new(int zstd_level);
void td_chunk_packer_free(struct td_chunk_packer *packer);
/* Appends a whole chunk: head, then the payload, compressed when that is smaller. Fills the sizes,
 * the zstd flag and the checksum of *head. */
void td_chunk_pack(struct td_chunk_packer *packer, struct td_buf *buf, struct td_chunk_head *head,
                   uint32_t seed, const struct td_chunk_body *body);

struct td_chunk_unpacker *td_chunk_unpacker_new(void);
void td_chunk_unpacker_free(struct td_chunk_unpacker *unpacker);
/* Checks the payload's checksum and limits and sets *raw to head->raw_size bytes, borrowed until
 * the next call. `payload` has head->stored_size bytes and stands at `offset` in the file. */
int td_chunk_unpack(struct td_chunk_unpacker *unpacker, const struct td_chunk_head *head,
                    const uint8_t *payload, uint64_t offset, const uint8_t **raw,
                    struct td_err *err);

#endif
