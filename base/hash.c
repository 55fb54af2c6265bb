/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <string.h>

uint64_t td_hash_bytes(const void *data, size_t size)
{
    const uint8_t *p = data;
    uint64_t hash = td_hash_u64(size + 1);
    uint64_t word = 0;

    for (; size >= 8; p += 8, size -= 8) {
        memcpy(&word, p, 8);
        hash = td_hash_mix(hash, word);
    }
    if (size > 0) {
        word = 0;
        memcpy(&word, p, size);
        hash = td_hash_mix(hash, word);
    }
    return hash;
}

/* The reflected polynomial, a nibble at a time: 64 bytes of table, made by shifting. */
static uint32_t crc_step(uint32_t crc)
{
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    crc = (crc >> 4) ^ table[crc & 15];
    return (crc >> 4) ^ table[crc & 15];
}

static uint32_t crc_portable(uint32_t crc, const uint8_t *p, size_t size)
{
    for (; size > 0; p++, size--)
        crc = crc_step(crc ^ *p);
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const uint8_t *p,
                                                            size_t size)
{
    uint64_t wide = crc, word = 0;

    for (; size >= 8; p += 8, size -= 8) {
        memcpy(&word, p, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; size > 0; p++, size--)
        crc = __builtin_ia32_crc32qi(crc, *p);
    return crc;
}
#endif

uint32_t td_crc32c(uint32_t crc, const void *data, size_t size)
{
    crc = ~crc;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return ~crc_sse42(crc, data, size);
#endif
    return ~crc_portable(crc, data, size);
}
