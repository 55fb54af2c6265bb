/* SPDX-License-Identifier: MIT */
/* Whole files: read, mapped, replaced atomically. */
#ifndef TD_BASE_FILE_H
#define TD_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

/* Appends the file's bytes to `buf`, at most `limit` (TD_ELIMIT beyond). Works for /proc and
 * /sys, whose sizes are not known. */
int td_file_read(const char *path, size_t limit, struct td_buf *buf, struct td_err *err);

/* A read-only view of a regular file. data is NULL when the file is empty. */
struct td_file_map {
    const uint8_t *data;
    size_t size;
    size_t room; /* what is mapped */
};

/* TD_ENOENT when there is none, TD_EUNSUPPORTED when it is not a regular file, TD_EIO else. */
int td_file_map(struct td_file_map *ret, const char *path, struct td_err *err);
/* The same with a copy of its own: somebody who cuts the file meanwhile cannot hurt. What was there
 * is read, at most as much as when it was opened. Holes of the file take no memory. */
int td_file_load(struct td_file_map *ret, const char *path, struct td_err *err);
void td_file_unmap(struct td_file_map *map); /* of either */

/* Writes all of it, retrying short writes and EINTR. TD_EIO with errno. */
int td_fd_write_all(int fd, const void *data, size_t size, struct td_err *err);

/* Makes `path` hold exactly these bytes: an exclusive temporary file beside it, then a rename, so
 * that no reader sees a part and no symlink is followed. Mode 0600. */
int td_file_replace(const char *path, const void *data, size_t size, struct td_err *err);

/* mkdir -p, mode 0700 for what it creates. */
int td_make_dirs(const char *path, struct td_err *err);

#endif
