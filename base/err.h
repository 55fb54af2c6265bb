/* SPDX-License-Identifier: MIT */
/*
 * Errors are values: a code for the caller to branch on, and one sentence for the user that names
 * the thing, the value and what to do. Filled once, where the failure was seen.
 */
#ifndef TD_BASE_ERR_H
#define TD_BASE_ERR_H

#include <stdbool.h>
#include <stdint.h>

/* Pinned values: they may be stored or printed. */
enum td_code {
    TD_OK = 0,
    TD_EIO = -1,          /* the system refused; sys_errno says why */
    TD_EFORMAT = -2,      /* damaged or malformed input; offset says where */
    TD_EVERSION = -3,     /* well-formed, but newer than this reader, or a required unknown part */
    TD_ENOMEM = -4,       /* a size that came from input could not be had */
    TD_EPERM = -5,        /* the privilege is missing */
    TD_ENOENT = -6,       /* the named thing does not exist */
    TD_EUNSUPPORTED = -7, /* this machine or build cannot do it */
    TD_EUSAGE = -8,       /* the caller's request makes no sense */
    TD_ELIMIT = -9,       /* a limit of ours (time, size, depth) was reached */
    TD_EMISMATCH = -10,   /* the thing is there but is another one (build-id, checksum) */
    TD_ENODATA = -11,     /* the thing is sound but holds nothing of what was asked */
    TD_EBUG = -12,        /* our own mistake, said instead of hidden */
};

#define TD_NO_OFFSET UINT64_MAX

struct td_err {
    enum td_code code;
    int sys_errno;   /* 0 when the system had no part in it */
    uint64_t offset; /* byte offset in the input, or TD_NO_OFFSET */
    char text[512];  /* one sentence, no newline, safe to print */
};

#define TD_ERR_INIT                                                       \
    {                                                                     \
        .code = TD_OK, .sys_errno = 0, .offset = TD_NO_OFFSET, .text = "" \
    }

/* Each fills *err (NULL is allowed) and returns `code`, so that `return td_fail(...)` reads well.
 * Control characters in the text come out as \xNN. */
int td_fail(struct td_err *err, enum td_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends ": " and the text of sys_errno. */
int td_fail_errno(struct td_err *err, enum td_code code, int sys_errno, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Appends " (at byte N)". */
int td_fail_at(struct td_err *err, enum td_code code, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts "CONTEXT: " before the text of an error that is on its way up. */
void td_err_prefix(struct td_err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
