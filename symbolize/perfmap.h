/* SPDX-License-Identifier: MIT */
/* Names of JIT code from /tmp/perf-PID.map: lines of "START SIZE name", both hexadecimal. */
#ifndef TD_SYMBOLIZE_PERFMAP_H
#define TD_SYMBOLIZE_PERFMAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct td_perfmap_entry {
    uint64_t start, size;
    const char *name; /* not terminated, in the map's bytes */
    size_t name_len;
};

/* A zeroed struct is empty. */
struct td_perfmap {
    struct td_perfmap_entry *entries; /* sorted by start, the newest first of equal starts */
    size_t len, cap;
    void *bytes;
};

/* Lines that do not parse are left out. The text is borrowed until the release. */
void td_perfmap_parse(struct td_perfmap *map, const char *text, size_t size);
/* Reads a file that must be a regular one, no symbolic link, not over 256 MB, and belong to `owner`
 * or root, since anybody can write in /tmp. TD_ENOENT, TD_EMISMATCH (owner), TD_EIO. */
int td_perfmap_read(struct td_perfmap *map, const char *path, uid_t owner, struct td_err *err);
/* The newest entry that holds the address, or NULL. */
const struct td_perfmap_entry *td_perfmap_find(const struct td_perfmap *map, uint64_t address);
void td_perfmap_release(struct td_perfmap *map);

#endif
