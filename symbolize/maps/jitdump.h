/* SPDX-License-Identifier: MIT */
/*
 * Names and lines of JIT code from a jitdump (jit-PID.dump): records of code that was loaded,
 * moved and described, with their times, as the JIT writes them while it runs
 * (tools/perf/Documentation/jitdump-specification.txt in the kernel's sources).
 */
#ifndef TD_SYMBOLIZE_MAPS_JITDUMP_H
#define TD_SYMBOLIZE_MAPS_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/err.h"

/* From its address on, code is of this line. */
struct td_jitdump_line {
    uint64_t address;
    const char *file; /* not terminated */
    size_t file_len;  /* 0: not known */
    uint32_t line;
};

/* A piece of code at a place, for a time. */
struct td_jitdump_code {
    uint64_t start, size;
    uint64_t from_ns,
        until_ns;     /* of CLOCK_MONOTONIC; 0 and UINT64_MAX when the times are a TSC's */
    const char *name; /* not terminated */
    size_t name_len;
    size_t order; /* in the file */
    size_t line_first, line_count;
};

/* A zeroed struct is empty. Texts point into the bytes that were parsed. */
struct td_jitdump {
    struct td_jitdump_code *codes; /* sorted by start */
    uint64_t *ends;                /* the highest end of codes[0] to codes[i] */
    struct td_jitdump_line *lines;
    size_t code_count, code_cap, line_count, line_cap;
    uint64_t
        stopped_at; /* the offset of the first record that is cut off or damaged; else the end */
    struct td_buf bytes; /* when read from a file: without machine code */
    bool cut;            /* it was not read to its end, or lines were left out */
};

/* What an address is at a time. */
struct td_jitdump_place {
    const struct td_jitdump_code *code;
    const char *file; /* not terminated */
    size_t file_len;  /* 0: file and line are not known */
    uint32_t line;
};

/* Whether a file of this name is a jitdump by its name: ".../jit-4711.dump". */
bool td_jitdump_is_name(const char *path);

/* Takes what there is up to the first record that is no record: the writer may be at work still.
 * TD_EFORMAT when it is no jitdump of this byte order and version. Borrows `data` until the
 * release. */
int td_jitdump_parse(struct td_jitdump *dump, const uint8_t *data, size_t size, struct td_err *err);
/* The same for a regular file that belongs to `owner` or root, of any size: machine code is passed
 * over. Where it is read for longer than a second or says more than can be kept, `cut` is set.
 * TD_EMISMATCH (owner), TD_EIO. */
int td_jitdump_read(struct td_jitdump *dump, int fd, uid_t owner, struct td_err *err);
/* The code that was at the address then; when all that ever was there came later, the first of it,
 * since code runs before its record is written. */
bool td_jitdump_find(const struct td_jitdump *dump, uint64_t address, uint64_t time_ns,
                     struct td_jitdump_place *ret);
void td_jitdump_release(struct td_jitdump *dump);

#endif
