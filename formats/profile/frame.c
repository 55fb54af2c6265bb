/* SPDX-License-Identifier: MIT */
#include "formats/profile/frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/hash.h"
#include "base/mem.h"

/* As PNG's: no text, no pattern, and what a text-mode copy or a 7-bit line would change. */
const uint8_t td_profile_magic[TD_PROFILE_MAGIC_SIZE] = {0xd7, 0xe3, 0x0d, 0x0a,
                                                         0x1a, 0x0a, 0xb5, 0x91};

static const uint8_t chunk_sync[4] = {0xf1, 0x9c, 0x7e, 0xd8};

/* Offsets of the head's fields that are filled or tested apart. */
enum { HEAD_CRC_AT = TD_CHUNK_HEAD_SIZE - 4 };

const char *td_chunk_kind_name(unsigned asked)
{
    switch (asked) {
#define X(symbol, number, name, required) \
    case number: return name;
        TD_CHUNK_KINDS(X)
#undef X
    default: return NULL;
    }
}

bool td_chunk_kind_required(enum td_chunk_kind kind)
{
    switch (kind) {
#define X(symbol, number, name, required) \
    case TD_CHUNK_##symbol: return required;
        TD_CHUNK_KINDS(X)
#undef X
    default: return false;
    }
}

void td_profile_header_put(struct td_buf *buf, struct td_profile_header *header)
{
    const size_t start = buf->len;

    header->size = TD_PROFILE_HEADER_SIZE;
    td_buf_bytes(buf, td_profile_magic, TD_PROFILE_MAGIC_SIZE);
    td_buf_u16(buf, header->size);
    td_buf_u8(buf, header->major);
    td_buf_u8(buf, header->minor);
    td_buf_u32(buf, header->compatible);
    td_buf_u32(buf, header->incompatible);
    td_buf_bytes(buf, header->id, TD_PROFILE_ID_SIZE);
    td_buf_u32(buf, 0);
    header->crc = td_crc32c(0, buf->data + start, buf->len - start);
    td_buf_u32(buf, header->crc);
    assert(buf->len - start == TD_PROFILE_HEADER_SIZE);
}

static int header_check(const struct td_profile_header *header, struct td_err *err)
{
    if (header->major != TD_PROFILE_MAJOR)
        return td_fail_at(err, TD_EVERSION, TD_PROFILE_MAGIC_SIZE + 2,
                          "profile of format version %u.%u; this program reads version %u.x",
                          header->major, header->minor, TD_PROFILE_MAJOR);
    if (header->incompatible != 0)
        return td_fail_at(err, TD_EVERSION, TD_PROFILE_MAGIC_SIZE + 8,
                          "profile uses features 0x%x that this program does not know",
                          header->incompatible);
    return TD_OK;
}

int td_profile_header_get(struct td_profile_header *ret, const void *data, size_t size,
                          struct td_err *err)
{
    struct td_rd rd = td_rd_init(data, size, 0);
    struct td_profile_header header = {0};
    const size_t common = size < TD_PROFILE_MAGIC_SIZE ? size : TD_PROFILE_MAGIC_SIZE;

    if (memcmp(data, td_profile_magic, common) != 0)
        return td_fail_at(err, TD_EFORMAT, 0, "not a profile: the first bytes are others");
    td_rd_bytes(&rd, TD_PROFILE_MAGIC_SIZE);
    header.size = td_rd_u16(&rd);
    if (!td_rd_ok(&rd) || size < TD_PROFILE_HEADER_SIZE || header.size > size)
        return td_fail_at(err, TD_EFORMAT, size, "profile cut off in its header");
    if (header.size < TD_PROFILE_HEADER_SIZE)
        return td_fail_at(err, TD_EFORMAT, TD_PROFILE_MAGIC_SIZE,
                          "profile header damaged: its size is given as %u", header.size);
    header.major = td_rd_u8(&rd);
    header.minor = td_rd_u8(&rd);
    header.compatible = td_rd_u32(&rd);
    header.incompatible = td_rd_u32(&rd);
    memcpy(header.id, td_rd_bytes(&rd, TD_PROFILE_ID_SIZE), TD_PROFILE_ID_SIZE);
    td_rd_bytes(&rd, header.size - 4 - rd.pos);
    const size_t crc_at = rd.pos;
    header.crc = td_rd_u32(&rd);
    if (td_crc32c(0, data, crc_at) != header.crc)
        return td_fail_at(err, TD_EFORMAT, crc_at, "profile header damaged: wrong checksum");
    *ret = header;
    return header_check(&header, err);
}

static bool all_zero(const uint8_t *p, size_t size)
{
    return size > 0 && p[0] == 0 && memcmp(p, p + 1, size - 1) == 0;
}

int td_chunk_head_get(struct td_chunk_head *ret, const void *data, size_t size, size_t pos,
                      uint32_t seed)
{
    const uint8_t *at = (const uint8_t *)data + pos;
    const size_t left = size - pos;
    struct td_rd rd = td_rd_init(at, left, pos);

    if (memcmp(at, chunk_sync, left < 4 ? left : 4) != 0)
        return all_zero(at, left) ? TD_ENODATA : TD_EFORMAT;
    if (left < TD_CHUNK_HEAD_SIZE)
        return TD_ENODATA;
    td_rd_bytes(&rd, sizeof(chunk_sync));
    struct td_chunk_head head = {0};
    head.kind = td_rd_u8(&rd);
    head.flags = td_rd_u8(&rd);
    const uint16_t reserved = td_rd_u16(&rd);
    head.sequence = td_rd_u32(&rd);
    head.stored_size = td_rd_u32(&rd);
    head.raw_size = td_rd_u32(&rd);
    head.payload_crc = td_rd_u32(&rd);
    if (td_rd_u32(&rd) != td_crc32c(seed, at, HEAD_CRC_AT) || reserved != 0)
        return TD_EFORMAT;
    *ret = head;
    return TD_OK;
}

size_t td_chunk_find(const void *data, size_t size, size_t pos, uint32_t seed)
{
    const uint8_t *bytes = data;
    struct td_chunk_head head;

    while (pos < size) {
        const uint8_t *sync = memmem(bytes + pos, size - pos, chunk_sync, sizeof(chunk_sync));

        if (!sync)
            return size;
        pos = (size_t)(sync - bytes);
        if (td_chunk_head_get(&head, data, size, pos, seed) == TD_OK)
            return pos;
        pos++;
    }
    return size;
}

/* A cut costs a block header and a table of statistics: not worth it for less than this. */
#define CUT_MIN_BYTES 512

void td_chunk_body_clear(struct td_chunk_body *body)
{
    td_buf_clear(&body->raw);
    body->cut_count = 0;
}

void td_chunk_body_release(struct td_chunk_body *body)
{
    td_buf_release(&body->raw);
    body->cut_count = 0;
}

void td_chunk_body_cut(struct td_chunk_body *body)
{
    const size_t last = body->cut_count > 0 ? body->cuts[body->cut_count - 1] : 0;

    if (body->cut_count < TD_CHUNK_CUTS_MAX && body->raw.len - last >= CUT_MIN_BYTES)
        body->cuts[body->cut_count++] = body->raw.len;
}

struct td_chunk_packer {
    ZSTD_CCtx *zstd;
    struct td_buf packed;
};

struct td_chunk_packer *td_chunk_packer_new(int zstd_level)
{
    struct td_chunk_packer *packer = td_xcalloc(1, sizeof(*packer));

    packer->zstd = ZSTD_createCCtx();
    if (!packer->zstd)
        td_out_of_memory();
    ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, zstd_level);
    return packer;
}

void td_chunk_packer_free(struct td_chunk_packer *packer)
{
    if (!packer)
        return;
    ZSTD_freeCCtx(packer->zstd);
    td_buf_release(&packer->packed);
    free(packer);
}

/* One zstd frame whose blocks end at the cuts too. False when it would not be smaller. */
static bool compress(struct td_chunk_packer *packer, const struct td_chunk_body *body)
{
    const struct td_buf *raw = &body->raw;
    ZSTD_inBuffer in = {.src = raw->data};
    ZSTD_outBuffer out = {.size = raw->len};

    td_buf_clear(&packer->packed);
    out.dst = td_buf_reserve(&packer->packed, raw->len);
    ZSTD_CCtx_reset(packer->zstd, ZSTD_reset_session_only);
    ZSTD_CCtx_setPledgedSrcSize(packer->zstd, raw->len);
    for (size_t i = 0; i <= body->cut_count; i++) {
        const bool last = i == body->cut_count;

        in.size = last ? raw->len : body->cuts[i];
        if (ZSTD_compressStream2(packer->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_flush) != 0)
            return false;
    }
    packer->packed.len = out.pos;
    return out.pos < raw->len &&
           raw->len <= (uint64_t)out.pos * TD_CHUNK_RATIO_MAX + TD_CHUNK_RATIO_PAD;
}

void td_chunk_pack(struct td_chunk_packer *packer, struct td_buf *buf, struct td_chunk_head *head,
                   uint32_t seed, const struct td_chunk_body *body)
{
    const size_t start = buf->len;
    const bool smaller = body->raw.len > 0 && compress(packer, body);
    const struct td_buf *payload = smaller ? &packer->packed : &body->raw;

    assert(body->raw.len <= TD_CHUNK_RAW_MAX);
    head->flags = (uint8_t)(head->flags | (smaller ? TD_CHUNK_ZSTD : 0));
    head->stored_size = (uint32_t)payload->len;
    head->raw_size = (uint32_t)body->raw.len;
    head->payload_crc = td_crc32c(0, payload->data, payload->len);
    td_buf_bytes(buf, chunk_sync, sizeof(chunk_sync));
    td_buf_u8(buf, head->kind);
    td_buf_u8(buf, head->flags);
    td_buf_u16(buf, 0);
    td_buf_u32(buf, head->sequence);
    td_buf_u32(buf, head->stored_size);
    td_buf_u32(buf, head->raw_size);
    td_buf_u32(buf, head->payload_crc);
    td_buf_u32(buf, td_crc32c(seed, buf->data + start, HEAD_CRC_AT));
    td_buf_bytes(buf, payload->data, payload->len);
}

struct td_chunk_unpacker {
    ZSTD_DCtx *zstd;
    struct td_buf raw;
};

struct td_chunk_unpacker *td_chunk_unpacker_new(void)
{
    struct td_chunk_unpacker *unpacker = td_xcalloc(1, sizeof(*unpacker));

    unpacker->zstd = ZSTD_createDCtx();
    if (!unpacker->zstd)
        td_out_of_memory();
    return unpacker;
}

void td_chunk_unpacker_free(struct td_chunk_unpacker *unpacker)
{
    if (!unpacker)
        return;
    ZSTD_freeDCtx(unpacker->zstd);
    td_buf_release(&unpacker->raw);
    free(unpacker);
}

/* Sizes that no writer makes: refused before anything is allocated or decompressed. */
static int check_sizes(const struct td_chunk_head *head, uint64_t offset, struct td_err *err)
{
    const bool packed = head->flags & TD_CHUNK_ZSTD;
    const uint64_t most =
        packed ? (uint64_t)head->stored_size * TD_CHUNK_RATIO_MAX + TD_CHUNK_RATIO_PAD
               : head->stored_size;

    if (head->raw_size > TD_CHUNK_RAW_MAX || head->raw_size > most ||
        (!packed && head->raw_size != head->stored_size))
        return td_fail_at(err, TD_EFORMAT, offset, "chunk of %u bytes claims to hold %u",
                          head->stored_size, head->raw_size);
    return TD_OK;
}

int td_chunk_unpack(struct td_chunk_unpacker *unpacker, const struct td_chunk_head *head,
                    const uint8_t *payload, uint64_t offset, const uint8_t **raw,
                    struct td_err *err)
{
    if (td_crc32c(0, payload, head->stored_size) != head->payload_crc)
        return td_fail_at(err, TD_EFORMAT, offset, "chunk damaged: wrong checksum");
    const int rc = check_sizes(head, offset, err);
    if (rc < 0)
        return rc;
    if (!(head->flags & TD_CHUNK_ZSTD)) {
        *raw = payload;
        return TD_OK;
    }
    td_buf_clear(&unpacker->raw);
    uint8_t *dst = td_buf_reserve(&unpacker->raw, head->raw_size + 1);
    const size_t got =
        ZSTD_decompressDCtx(unpacker->zstd, dst, head->raw_size, payload, head->stored_size);
    if (ZSTD_isError(got) || got != head->raw_size)
        return td_fail_at(err, TD_EFORMAT, offset, "chunk damaged: its zstd frame does not decode");
    *raw = dst;
    return TD_OK;
}
