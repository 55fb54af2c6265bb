/* SPDX-License-Identifier: MIT */
#include "formats/profile_numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Codes are compared on this many numbers of a column: enough to tell, and cheap. */
#define PROBE_MAX 1024
/* What a stream of its own costs beside its bytes: a block head and a table of statistics. */
#define STREAM_BITS 400.0
#define PLANES_MAX  3

/* A metrics register counts 255ths: a group's value is the first value times a byte over 255. */
#define SHARE_WHOLE 255

static uint64_t zigzag(uint64_t distance)
{
    return (distance << 1) ^ (distance >> 63 ? UINT64_MAX : 0);
}

static uint64_t unzigzag(uint64_t coded)
{
    return (coded >> 1) ^ (coded & 1 ? UINT64_MAX : 0);
}

static uint64_t share(uint64_t whole, uint64_t part)
{
    return (uint64_t)((unsigned __int128)whole * part / SHARE_WHOLE);
}

/* The smallest part whose share is not below `value`. */
static uint64_t part_of(uint64_t value, uint64_t whole)
{
    if (whole == 0)
        return 0;
    return (uint64_t)(((unsigned __int128)value * SHARE_WHOLE + whole - 1) / whole);
}

/* Bits that `total` symbols take when each costs what its frequency says. */
static double entropy_bits(const uint32_t histogram[256], double total)
{
    double bits = 0;

    for (int i = 0; i < 256; i++) {
        if (histogram[i] > 0)
            bits += histogram[i] * log2(total / histogram[i]);
    }
    return bits;
}

static uint64_t coded_number(const uint64_t *numbers, size_t i, bool delta)
{
    if (!delta)
        return numbers[i];
    return zigzag(numbers[i] - (i > 0 ? numbers[i - 1] : 0));
}

/* How well a code would do, from the statistics of single bytes: what the compressor finds beyond
 * them is much the same for all codes. */
static double estimate(const uint64_t *numbers, size_t count, bool delta, unsigned planes)
{
    uint32_t histograms[PLANES_MAX + 1][256] = {{0}};
    double bits = 0, total = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t number = coded_number(numbers, i, delta);

        for (unsigned p = 1; p <= planes; p++, number >>= 8)
            histograms[p][number & 0xff]++;
        for (total++; number >= 0x80; number >>= 7, total++)
            histograms[0][(number & 0x7f) | 0x80]++;
        histograms[0][number]++;
    }
    bits = entropy_bits(histograms[0], total);
    for (unsigned p = 1; p <= planes; p++)
        bits += entropy_bits(histograms[p], (double)count) + STREAM_BITS;
    return bits;
}

static uint8_t choose_code(const uint64_t *numbers, size_t count)
{
    const size_t probe = count < PROBE_MAX ? count : PROBE_MAX;
    double best = INFINITY;
    uint8_t code = 0;

    for (unsigned delta = 0; delta <= TD_NUMBERS_DELTA; delta += TD_NUMBERS_DELTA) {
        for (unsigned planes = 0; planes <= PLANES_MAX; planes++) {
            const double bits = estimate(numbers, probe, delta != 0, planes);

            if (bits < best) {
                best = bits;
                code = (uint8_t)(delta | planes);
            }
        }
    }
    return code;
}

static bool all_equal(const uint64_t *numbers, size_t count)
{
    return count == 0 || memcmp(numbers, numbers + 1, (count - 1) * sizeof(*numbers)) == 0;
}

static void put_coded(struct td_chunk_body *body, const uint64_t *numbers, size_t count)
{
    const uint8_t code =
        all_equal(numbers, count) ? TD_NUMBERS_CONSTANT : choose_code(numbers, count);
    const unsigned planes = code & TD_NUMBERS_PLANES;
    const bool delta = code & TD_NUMBERS_DELTA;

    td_buf_u8(&body->raw, code);
    if (code & TD_NUMBERS_CONSTANT) {
        td_buf_uleb(&body->raw, count > 0 ? numbers[0] : 0);
        return;
    }
    td_chunk_body_cut(body);
    for (size_t i = 0; i < count; i++)
        td_buf_uleb(&body->raw, coded_number(numbers, i, delta) >> (8 * planes));
    for (unsigned p = planes; p-- > 0;) {
        td_chunk_body_cut(body);
        for (size_t i = 0; i < count; i++)
            td_buf_u8(&body->raw, (uint8_t)(coded_number(numbers, i, delta) >> (8 * p)));
    }
    td_chunk_body_cut(body);
}

/* Nearly all of the probed numbers are whole 255ths. */
static bool are_shares(const uint64_t *numbers, const uint64_t *share_of, size_t count)
{
    const size_t probe = count < PROBE_MAX ? count : PROBE_MAX;
    size_t exact = 0;

    for (size_t i = 0; i < probe; i++)
        exact += share(share_of[i], part_of(numbers[i], share_of[i])) == numbers[i];
    return exact * 10 >= probe * 9;
}

void td_numbers_put(struct td_chunk_body *body, const uint64_t *numbers, size_t count,
                    const uint64_t *share_of)
{
    if (!share_of || all_equal(numbers, count) || !are_shares(numbers, share_of, count)) {
        put_coded(body, numbers, count);
        return;
    }
    uint64_t *parts = td_xcalloc(count, sizeof(*parts));
    uint64_t *rest = td_xcalloc(count, sizeof(*rest));
    for (size_t i = 0; i < count; i++) {
        parts[i] = part_of(numbers[i], share_of[i]);
        rest[i] = zigzag(numbers[i] - share(share_of[i], parts[i]));
    }
    td_buf_u8(&body->raw, TD_NUMBERS_SHARE);
    put_coded(body, parts, count);
    put_coded(body, rest, count);
    free(parts);
    free(rest);
}

/* The planes of low bytes, from the highest. */
static void get_planes(struct td_rd *rd, uint64_t *numbers, size_t count, unsigned planes)
{
    for (unsigned p = planes; p-- > 0;) {
        const uint8_t *bytes = td_rd_bytes(rd, count);

        for (size_t i = 0; bytes && i < count; i++)
            numbers[i] |= (uint64_t)bytes[i] << (8 * p);
    }
}

/* LEB128 numbers, most of which are a byte in most columns. `count` bytes are left at least. */
static void get_ulebs(struct td_rd *rd, uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count && td_rd_ok(rd); i++) {
        const size_t left = td_rd_left(rd);
        const uint8_t *bytes = rd->data + rd->pos;
        const size_t most = left < count - i ? left : count - i;
        size_t small = 0;

        for (; small < most && bytes[small] < 0x80; small++)
            numbers[i + small] = bytes[small];
        rd->pos += small;
        i += small;
        if (i < count)
            numbers[i] = td_rd_uleb(rd);
    }
}

static void get_coded(struct td_rd *rd, uint64_t *numbers, size_t count, uint8_t code)
{
    const unsigned planes = code & TD_NUMBERS_PLANES;

    if (code == TD_NUMBERS_CONSTANT) {
        const uint64_t number = td_rd_uleb(rd);

        for (size_t i = 0; i < count; i++)
            numbers[i] = number;
        return;
    }
    if (code & ~(TD_NUMBERS_PLANES | TD_NUMBERS_DELTA) || count > td_rd_left(rd))
        td_rd_fail(rd);
    if (td_rd_ok(rd))
        get_ulebs(rd, numbers, count);
    for (size_t i = 0; planes > 0 && i < count && td_rd_ok(rd); i++) {
        if (numbers[i] > UINT64_MAX >> (8 * planes))
            td_rd_fail(rd);
        numbers[i] <<= 8 * planes;
    }
    get_planes(rd, numbers, count, planes);
    for (size_t i = 0; (code & TD_NUMBERS_DELTA) && i < count; i++)
        numbers[i] = unzigzag(numbers[i]) + (i > 0 ? numbers[i - 1] : 0);
}

static void get_shares(struct td_rd *rd, uint64_t *numbers, size_t count, const uint64_t *share_of)
{
    uint64_t *rest = td_xcalloc(count, sizeof(*rest));

    get_coded(rd, numbers, count, td_rd_u8(rd));
    get_coded(rd, rest, count, td_rd_u8(rd));
    for (size_t i = 0; td_rd_ok(rd) && i < count; i++)
        numbers[i] = share(share_of[i], numbers[i]) + unzigzag(rest[i]);
    free(rest);
}

void td_numbers_get(struct td_rd *rd, uint64_t *numbers, size_t count, const uint64_t *share_of)
{
    const uint8_t code = td_rd_u8(rd);

    if (code == TD_NUMBERS_SHARE && share_of)
        get_shares(rd, numbers, count, share_of);
    else
        get_coded(rd, numbers, count, code);
}
