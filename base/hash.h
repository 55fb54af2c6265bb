/* SPDX-License-Identifier: MIT */
/* Hashes: a fast one for tables in memory, CRC32C for bytes on disk. */
#ifndef TD_BASE_HASH_H
#define TD_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Not stable between versions: never stored. */
uint64_t td_hash_bytes(const void *data, size_t size);

/* A finalizer with full avalanche (splitmix64's), for keys that are already integers. */
static inline uint64_t td_hash_u64(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint64_t td_hash_mix(uint64_t seed, uint64_t value)
{
    return td_hash_u64(seed * UINT64_C(0x9e3779b97f4a7c15) + value);
}

/* CRC-32C (Castagnoli, RFC 3720 appendix B.4); `crc` is 0 at first, else the previous result. */
uint32_t td_crc32c(uint32_t crc, const void *data, size_t size);

#endif
