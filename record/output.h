/* SPDX-License-Identifier: MIT */
/*
 * The profile's file. It is made under a name of its own and put in place by rename, so that no
 * symbolic link is followed and nothing that was there is written to; what was there becomes
 * FILE.old. It is in place, and readable, as long as it is being written.
 */
#ifndef TD_RECORD_OUTPUT_H
#define TD_RECORD_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct td_output {
    int fd; /* -1: not open */
    char *path;
};

/* `pattern` with %h (host), %p (pid), %r (MPI or Slurm rank, "0" without) and %% replaced, newly
 * allocated. TD_EUSAGE for another letter. */
int td_output_expand(char **ret, const char *pattern, const char *host, uint32_t pid,
                     const char *rank, struct td_err *err);
/* The rank among the environment's variables of MPI libraries and Slurm, or NULL. */
const char *td_output_rank(void);

/* TD_EIO with what is in the way. Mode 0600. */
int td_output_open(struct td_output *output, const char *path, struct td_err *err);
/* A td_profile_write_fn; `ctx` is a struct td_output. */
int td_output_write(void *ctx, const void *data, size_t size, struct td_err *err);
int td_output_close(struct td_output *output, struct td_err *err);

#endif
