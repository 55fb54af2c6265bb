/* SPDX-License-Identifier: MIT */
/*
 * Names of JIT code from /tmp/perf-PID.map: lines of "START SIZE name", both hexadecimal. Of maps
 * of any size, only what names the addresses that are asked for takes memory.
 */
#ifndef TD_SYMBOLIZE_MAPS_PERFMAP_H
#define TD_SYMBOLIZE_MAPS_PERFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Where in the file an address's name stands. */
struct td_perfmap_name {
    uint64_t address, offset;
    uint32_t length; /* 0: none is known */
};

/* A zeroed struct is empty. */
struct td_perfmap {
    struct td_perfmap_name *names; /* sorted by address */
    size_t count, cap;
    int fd;   /* borrowed from the scan on */
    bool cut; /* the time was over before the end of the file */
};

/* Opens a map, which must be a regular file, no symbolic link, and belong to `owner` or root, since
 * anybody can write in /tmp. The descriptor and its size, or TD_ENOENT, TD_EMISMATCH (owner),
 * TD_EIO. */
int td_perfmap_open(int *fd, uint64_t *size, const char *path, uid_t owner, struct td_err *err);

/* Adds an address that is asked for; before the scan. */
void td_perfmap_want(struct td_perfmap *map, uint64_t address);
/* Finds the newest line that holds each address, in at most so much time. Lines that do not parse
 * are left out. */
void td_perfmap_scan(struct td_perfmap *map, int fd, uint64_t max_ns);
/* The name of an address, newly allocated, or NULL. The descriptor must still be open. */
char *td_perfmap_name(const struct td_perfmap *map, uint64_t address);
void td_perfmap_release(struct td_perfmap *map);

#endif
