/* SPDX-License-Identifier: MIT */
/* What the machine is built of, as far as its kernel says: for every profile, and reports. */
#ifndef TD_RECORD_MACHINE_SYSTEM_H
#define TD_RECORD_MACHINE_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#include "record/machine/caps.h"

#define TD_SYSTEM_CACHES_MAX 8

struct td_system_cache {
    char level[4]; /* "1" */
    char kind;     /* 'd', 'i', or 'u': unified */
    uint64_t kb;
};

struct td_system {
    double mhz, mhz_max; /* the first CPU's clock when it was asked for, and its highest; 0: not
                            said */
    char governor[32];   /* of the first CPU's clock; "" where the kernel does not choose it */
    uint64_t memory_kb, line_bytes; /* 0: not said */
    bool smt;
    struct td_system_cache caches[TD_SYSTEM_CACHES_MAX]; /* of the first CPU */
    size_t cache_count;
};

/* Reads root/proc and root/sys of caps; what is not there stays 0. */
void td_system_read(struct td_system *system, const struct td_caps *caps);
/* Of the first CPU's cache for code alone, in kB, as root/sys says; 0: it does not. */
uint32_t td_system_code_kb(const char *root);
/* The size of a cache in kB, kind 'u' or that of the level; 0: none such. */
uint64_t td_system_cache_kb(const struct td_system *system, const char *level, char kind);

#endif
