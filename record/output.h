/* SPDX-License-Identifier: MIT */
/*
 * The profile's file. It is made without a name (where the file system can, else under one of its
 * own) and put in place once it is worth keeping, so that no symbolic link is followed and nothing
 * that was there is written to; what was there becomes FILE.old, unless it held nothing. From then
 * on it is readable at its place while it is being written.
 */
#ifndef TD_RECORD_OUTPUT_H
#define TD_RECORD_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct td_output {
    int fd; /* -1: not open */
    char *path;
    char *temporary; /* its name until it is in place; NULL: it has none */
    bool placed;
};

/* `pattern` with %h (host), %p (pid), %r (MPI or Slurm rank, "0" without) and %% replaced, newly
 * allocated. TD_EUSAGE for another letter. */
int td_output_expand(char **ret, const char *pattern, const char *host, uint32_t pid,
                     const char *rank, struct td_err *err);
/* The rank among the environment's variables of MPI libraries and Slurm, or NULL. */
const char *td_output_rank(void);

/* Refuses what must not be moved away: folders, devices, pipes, links that lead to one, and names
 * of what a process has open (/dev/stdout). TD_EIO with what is in the way. Mode 0600. */
int td_output_open(struct td_output *output, const char *path, struct td_err *err);
/* Puts the file at its path, once. TD_EIO. */
int td_output_place(struct td_output *output, struct td_err *err);
/* A td_profile_write_fn; `ctx` is a struct td_output. */
int td_output_write(void *ctx, const void *data, size_t size, struct td_err *err);
/* Safe to call always. What was not put in place is gone. */
int td_output_close(struct td_output *output, struct td_err *err);

#endif
