/* SPDX-License-Identifier: MIT */
/*
 * Reading /proc and /sys, of this machine or of a recorded tree: every function takes `root`, put
 * before the path ("" or NULL for this machine).
 */
#ifndef TD_BASE_PROCFS_H
#define TD_BASE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"

/* The file's text, terminated and newly allocated; NULL when it cannot be read. */
char *td_procfs_text(const char *root, const char *path);
/* As td_procfs_text, without the newline at the end. */
char *td_procfs_line(const char *root, const char *path);
/* The number at the start of the file; false when there is none. */
bool td_procfs_number(const char *root, const char *path, int64_t *ret);
/* The value of "key<blanks>: value" in `text`, newly allocated; NULL when there is none. */
char *td_procfs_field(const char *text, const char *key);
/* Which CPU this is, as profiles hold it: "GenuineIntel-6-143-8", or an Arm's MIDR in hex. NULL
 * when it cannot be found out. `cpuinfo` is the text of /proc/cpuinfo. */
char *td_procfs_cpu_id(const char *root, const char *cpuinfo);
/* The names in a folder, sorted, without "." and ".."; NULL when it cannot be read, else an array
 * that ends with NULL and is freed with td_procfs_names_free. */
char **td_procfs_names(const char *root, const char *path);
void td_procfs_names_free(char **names); /* NULL is allowed */

/* This process's id in /proc, or 0 where there is no /proc that shows it. */
int td_procfs_self(void);
/* Whether /proc shows processes under the ids by which this process knows them: after `unshare
 * --pid` without a new /proc the same number is another process there. */
bool td_procfs_is_ours(void);

/* One line of /proc/PID/maps. */
struct td_map_line {
    uint64_t start, end, offset;
    bool readable, writable, executable, shared;
    uint32_t major, minor;
    uint64_t inode;
    const char *path; /* in the text, not terminated; "" when the mapping has no name */
    size_t path_len;
};

/* Reads the line at *text and moves *text behind it. False at the end of the text; a line that
 * does not parse is skipped. */
bool td_map_line_next(const char **text, struct td_map_line *ret);

#endif
