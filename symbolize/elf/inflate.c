/* SPDX-License-Identifier: MIT */
#include "symbolize/elf/inflate.h"

#include <lzma.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/mem.h"

/* zstd can do more, but debug data never does. */
#define RATIO_MAX       ((size_t)1100)
#define XZ_MEMORY_BYTES (UINT64_C(256) << 20)
#define XZ_RESULT_MAX   ((size_t)512 << 20)

int td_inflate_zstd(struct td_bytes raw, bool is_64, uint8_t **ret, size_t *size,
                    struct td_err *err)
{
    struct td_cur cur = td_cur_init(raw);

    (void)td_cur_u32(&cur); /* the method, which the caller knows */
    if (is_64)
        (void)td_cur_u32(&cur); /* reserved */
    const uint64_t need = is_64 ? td_cur_u64(&cur) : td_cur_u32(&cur);
    (void)(is_64 ? td_cur_u64(&cur) : td_cur_u32(&cur)); /* alignment */
    const size_t left = td_cur_left(&cur);
    if (cur.bad)
        return td_fail(err, TD_EFORMAT, "the compression header is damaged");
    if (need / RATIO_MAX > left)
        return td_fail(err, TD_ELIMIT, "%zu bytes claim to hold %llu", left,
                       (unsigned long long)need);
    uint8_t *out = malloc(need ? (size_t)need : 1);
    if (!out)
        return td_fail(err, TD_ENOMEM, "no memory for %llu bytes", (unsigned long long)need);
    const size_t done = ZSTD_decompress(out, (size_t)need, cur.at, left);
    if (ZSTD_isError(done) || done != need) {
        free(out);
        return td_fail(err, TD_EFORMAT, "damaged zstd data");
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
