/* SPDX-License-Identifier: MIT */
/* A profile of our own as the output of a command: a whole new file, or none. */
#ifndef TD_REPORT_PROFILE_FILE_H
#define TD_REPORT_PROFILE_FILE_H

#include "base/err.h"
#include "formats/profile/write.h"

/* Gives the file's bytes to `write`. */
typedef int td_profile_fill_fn(void *arg, td_profile_write_fn *write, void *ctx,
                               struct td_err *err);

/* Writes what `fill` gives to a new file beside `path`, mode 0600, and renames it; "-" is stdout.
 * On failure what was at `path` stays. TD_EIO, or what `fill` returned. */
int td_profile_file_write(const char *path, td_profile_fill_fn *fill, void *arg,
                          struct td_err *err);

#endif
