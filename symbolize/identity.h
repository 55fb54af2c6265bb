/* SPDX-License-Identifier: MIT */
/*
 * Whether a file is the one that was mapped. A build-id says so anywhere; for a file without one,
 * recorders keep a hash of its content or, where they could not read it, its inode, which is
 * believed on the machine of the recording alone and only while the file did not change.
 */
#ifndef TD_SYMBOLIZE_IDENTITY_H
#define TD_SYMBOLIZE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/file_id.h"
#include "formats/model.h"

/* Where and when a profile was recorded, as far as inodes can be believed. */
struct td_origin {
    bool here;           /* on this machine: host name, kernel and architecture are these */
    uint64_t started_ns; /* CLOCK_REALTIME; 0: not known */
};

/* `started_ns`: the clock of the samples when the recording began; 0: not known. */
struct td_origin td_origin_of(const struct td_model *model, uint64_t started_ns);

/* What recorders keep of the file at `path`: its build-id, else the hash of its content. With
 * `mapped` (may be NULL) it must be the file of that inode. TD_ENOENT, TD_EIO, TD_EMISMATCH. */
int td_identity_read(const char *path, const struct td_file_inode *mapped, struct td_build_id *ret,
                     struct td_err *err);
/* Whether the file is the one that was recorded: TD_OK, or TD_EMISMATCH with the reason. TD_ENOENT,
 * TD_EIO. */
int td_identity_check(const char *path, const struct td_build_id *recorded,
                      const struct td_origin *origin, struct td_err *err);

#endif
