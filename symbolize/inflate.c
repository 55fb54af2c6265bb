/* SPDX-License-Identifier: MIT */
#include "symbolize/inflate.h"

#include <elf.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"

#ifndef ELFCOMPRESS_ZSTD
#    define ELFCOMPRESS_ZSTD 2
#endif

/* Deflate reaches about 1032:1 at best; zstd and xz can do more, but debug data never does. */
#define RATIO_MAX       ((size_t)1100)
#define XZ_MEMORY_BYTES (UINT64_C(256) << 20)
#define XZ_RESULT_MAX   ((size_t)512 << 20)

static int inflate_zlib(struct td_bytes in, uint8_t *out, size_t size, struct td_err *err)
{
    z_stream stream = {0};
    size_t done = 0;
    int rc = inflateInit(&stream);

    if (rc != Z_OK)
        return td_fail(err, TD_ENOMEM, "no memory to decompress");
    stream.next_in = (Bytef *)(uintptr_t)in.data;
    /* zlib counts in unsigned int: sections beyond 4 GB go in pieces. */
    size_t left = in.size;
    do {
        const size_t out_step = size - done < UINT32_MAX ? size - done : UINT32_MAX;

        if (stream.avail_in == 0) {
            stream.avail_in = (uInt)(left < UINT32_MAX ? left : UINT32_MAX);
            left -= stream.avail_in;
        }
        stream.next_out = out + done;
        stream.avail_out = (uInt)out_step;
        rc = inflate(&stream, Z_NO_FLUSH);
        done += out_step - stream.avail_out;
    } while (rc == Z_OK && done < size);
    inflateEnd(&stream);
    if (done != size)
        return td_fail(err, TD_EFORMAT, "damaged zlib data");
    return TD_OK;
}

static int inflate_zstd(struct td_bytes in, uint8_t *out, size_t size, struct td_err *err)
{
    const size_t done = ZSTD_decompress(out, size, in.data, in.size);

    if (ZSTD_isError(done) || done != size)
        return td_fail(err, TD_EFORMAT, "damaged zstd data");
    return TD_OK;
}

/* Reads the header; leaves `cur` at the compressed bytes. */
static void read_header(struct td_cur *cur, bool zdebug, bool is_64, uint32_t *method,
                        uint64_t *size)
{
    if (zdebug) {
        const bool magic = td_cur_left(cur) >= 12 && memcmp(cur->p, "ZLIB", 4) == 0;

        if (!magic)
            td_cur_fail(cur);
        td_cur_skip(cur, 4);
        for (unsigned i = 0; i < 8; i++) /* big-endian, alone in all of ELF */
            *size = *size << 8 | td_cur_u8(cur);
        *method = ELFCOMPRESS_ZLIB;
        return;
    }
    *method = td_cur_u32(cur);
    if (is_64)
        (void)td_cur_u32(cur); /* reserved */
    *size = is_64 ? td_cur_u64(cur) : td_cur_u32(cur);
    (void)(is_64 ? td_cur_u64(cur) : td_cur_u32(cur)); /* alignment */
}

int td_inflate_section(struct td_bytes raw, bool zdebug, bool is_64, uint8_t **ret, size_t *size,
                       struct td_err *err)
{
    struct td_cur cur = td_cur_init(raw);
    uint32_t method = 0;
    uint64_t need = 0;
    int rc = TD_OK;

    read_header(&cur, zdebug, is_64, &method, &need);
    const struct td_bytes in = {.data = cur.p, .size = td_cur_left(&cur)};
    if (cur.bad)
        return td_fail(err, TD_EFORMAT, "the compression header is damaged");
    if (method != ELFCOMPRESS_ZLIB && method != ELFCOMPRESS_ZSTD)
        return td_fail(err, TD_EUNSUPPORTED, "unknown compression %u", method);
    if (need / RATIO_MAX > in.size)
        return td_fail(err, TD_ELIMIT, "%zu bytes claim to hold %llu", in.size,
                       (unsigned long long)need);
    uint8_t *out = malloc(need ? (size_t)need : 1);
    if (!out)
        return td_fail(err, TD_ENOMEM, "no memory for %llu bytes", (unsigned long long)need);
    rc = method == ELFCOMPRESS_ZLIB ? inflate_zlib(in, out, (size_t)need, err)
                                    : inflate_zstd(in, out, (size_t)need, err);
    if (rc != TD_OK) {
        free(out);
        return rc;
    }
    *ret = out;
    *size = (size_t)need;
    return TD_OK;
}

int td_inflate_xz(struct td_bytes raw, uint8_t **ret, size_t *size, struct td_err *err)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    size_t cap = 0, done = 0;
    uint8_t *out = NULL;
    lzma_ret rc = lzma_stream_decoder(&stream, XZ_MEMORY_BYTES, 0);

    stream.next_in = raw.data;
    stream.avail_in = raw.size;
    while (rc == LZMA_OK && done < XZ_RESULT_MAX) {
        out = td_grow(out, &cap, done + ((size_t)1 << 16), 1);
        stream.next_out = out + done;
        stream.avail_out = cap - done;
        rc = lzma_code(&stream, LZMA_FINISH);
        done = cap - stream.avail_out;
    }
    lzma_end(&stream);
    if (rc != LZMA_STREAM_END) {
        free(out);
        return td_fail(err, TD_EFORMAT, "damaged xz data");
    }
    *ret = out;
    *size = done;
    return TD_OK;
}
