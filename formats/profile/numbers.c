/* SPDX-License-Identifier: MIT */
#include "formats/profile/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Codes are compared on this many numbers of a column: enough to tell, and cheap. */
#define PROBE_MAX 256
/* What a stream of its own costs beside its bytes: a block head and a table of statistics. Shared
 * by so many numbers, or all there are. */
#define STREAM_BITS    400.0
#define STREAM_NUMBERS 1024
/* Few symbols look more regular than they are, by half a nat for each different one but the first
 * (Miller 1955). */
#define SYMBOL_BITS 0.7213
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
    /* The common case without the library's division of 128 bits. */
    if (whole <= UINT32_MAX && part <= UINT32_MAX)
        return whole * part / SHARE_WHOLE;
    return (uint64_t)((unsigned __int128)whole * part / SHARE_WHOLE);
}

/* The smallest part whose share is not below `value`. */
static uint64_t part_of(uint64_t value, uint64_t whole)
{
    if (whole == 0)
        return 0;
    if (whole <= UINT32_MAX && value <= UINT32_MAX)
        return (value * SHARE_WHOLE + whole - 1) / whole;
    return (uint64_t)(((unsigned __int128)value * SHARE_WHOLE + whole - 1) / whole);
}

/* n log2 n of the counts that are most frequent. */
static const double small_logs[] = {
    0.0000,   0.0000,   2.0000,   4.7549,   8.0000,   11.6096,  15.5098,  19.6515,
    24.0000,  28.5293,  33.2193,  38.0537,  43.0196,  48.1057,  53.3030,  58.6034,
    64.0000,  69.4869,  75.0587,  80.7106,  86.4386,  92.2387,  98.1075,  104.0419,
    110.0391, 116.0964, 122.2114, 128.3820, 134.6059, 140.8814, 147.2067, 153.5801,
};

static double n_log_n(uint32_t n)
{
    return n < TD_ARRAY_SIZE(small_logs) ? small_logs[n] : n * log2(n);
}

/* Bits that `total` symbols take when each costs what its frequency says. */
static double entropy_bits(const uint32_t histogram[256], uint32_t total)
{
    double bits = n_log_n(total) - SYMBOL_BITS;

    for (int i = 0; i < 256; i++)
        bits += histogram[i] > 0 ? SYMBOL_BITS - n_log_n(histogram[i]) : 0;
    return bits;
}

static uint64_t coded_number(const uint64_t *numbers, size_t i, bool delta)
{
    if (!delta)
        return numbers[i];
    return zigzag(numbers[i] - (i > 0 ? numbers[i - 1] : 0));
}

/* How well the codes with 0 to PLANES_MAX planes would do, from the statistics of single bytes:
 * what the compressor finds beyond them is much the same for all codes. */
static void estimate(const uint64_t *numbers, size_t count, bool delta, double stream_bits,
                     double bits[PLANES_MAX + 1])
{
    uint32_t low[PLANES_MAX][256] = {{0}}, rest[PLANES_MAX + 1][256] = {{0}};
    uint32_t totals[PLANES_MAX + 1] = {0};
    double planes_bits = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t number = coded_number(numbers, i, delta);

        for (unsigned p = 0; p <= PLANES_MAX; p++, number >>= 8) {
            uint64_t high = number;

            for (totals[p]++; high >= 0x80; high >>= 7, totals[p]++)
                rest[p][(high & 0x7f) | 0x80]++;
            rest[p][high]++;
            if (p < PLANES_MAX)
                low[p][number & 0xff]++;
        }
    }
    for (unsigned p = 0; p <= PLANES_MAX; p++) {
        bits[p] = planes_bits + entropy_bits(rest[p], totals[p]);
        if (p < PLANES_MAX)
            planes_bits += entropy_bits(low[p], (uint32_t)count) + stream_bits;
    }
}

static uint8_t choose_code(const uint64_t *numbers, size_t count)
{
    const size_t probe = count < PROBE_MAX ? count : PROBE_MAX;
    const size_t shared = count < STREAM_NUMBERS ? count : STREAM_NUMBERS;
    const double stream_bits = STREAM_BITS * (double)probe / (double)shared;
    double best = INFINITY;
    uint8_t code = 0;

    for (unsigned delta = 0; delta <= TD_NUMBERS_DELTA; delta += TD_NUMBERS_DELTA) {
        double bits[PLANES_MAX + 1];

        estimate(numbers, probe, delta != 0, stream_bits, bits);
        for (unsigned planes = 0; planes <= PLANES_MAX; planes++) {
            if (bits[planes] < best) {
                best = bits[planes];
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

/* What is left of the numbers above their planes, as LEB128. */
static void put_rests(struct td_buf *raw, const uint64_t *numbers, size_t count, bool delta,
                      unsigned planes)
{
    uint8_t *out = td_buf_reserve(raw, count * TD_LEB_MAX);
    size_t len = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t rest = coded_number(numbers, i, delta) >> (8 * planes);

        for (; rest >= 0x80; rest >>= 7)
            out[len++] = (uint8_t)(rest | 0x80);
        out[len++] = (uint8_t)rest;
    }
    raw->len += len;
}

static void put_plane(struct td_buf *raw, const uint64_t *numbers, size_t count, bool delta,
                      unsigned plane)
{
    uint8_t *out = td_buf_reserve(raw, count);

    for (size_t i = 0; i < count; i++)
        out[i] = (uint8_t)(coded_number(numbers, i, delta) >> (8 * plane));
    raw->len += count;
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
    put_rests(&body->raw, numbers, count, delta, planes);
    for (unsigned p = planes; p-- > 0;) {
        td_chunk_body_cut(body);
        put_plane(&body->raw, numbers, count, delta, p);
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
