/* SPDX-License-Identifier: MIT */
/* The addresses of one module, looked up in its files. This is what runs in the child process. */
#ifndef TD_SYMBOLIZE_MODULE_H
#define TD_SYMBOLIZE_MODULE_H

#include <stdatomic.h>

#include "symbolize/answers.h"
#include "symbolize/debugfile.h"

/* Units that ended the process which read them, by their offset in .debug_info. */
enum { TD_BAD_UNITS_MAX = 8 };

/* What a process that reads a module's files tells while it works, in shared memory. */
struct td_module_progress {
    _Atomic uint64_t done;        /* offsets finished */
    _Atomic uint64_t unit_offset; /* the unit that libdw is reading; 0: none */
};

/* Which shard took which unit, in memory that the shards of a module share. 0: none yet; else its
 * number + 1. So a process that is done sooner takes more. */
enum { TD_CLAIMS_MAX = 4096 };

struct td_module_claims {
    _Atomic uint16_t unit[TD_CLAIMS_MAX];
};

struct td_module_request {
    const char *path;      /* as recorded */
    struct td_bytes bytes; /* when not empty: the file itself, and no other is looked at */
    struct td_build_id build_id;
    const uint64_t *offsets; /* in the file, ascending */
    size_t count;
    struct td_search search;
    bool functions_only;                  /* names of containing functions and nothing more */
    bool symbols_only;                    /* leave the DWARF alone: it failed before */
    unsigned shard, shards;               /* which part of the offsets; of how many */
    struct td_module_claims *claims;      /* of the shards; NULL when there is one */
    struct td_module_progress *progress;  /* may be NULL */
    uint64_t bad_units[TD_BAD_UNITS_MAX]; /* to be left alone */
    size_t bad_unit_count;
};

/* Fills `answers` (initialised) with the places that are known and a note about the rest. Never
 * fails: a file that cannot be used is a note. With shards, each offset is some shard's; the notes
 * of all are to be joined by the caller. */
void td_module_resolve(const struct td_module_request *request, struct td_answers *answers);

#endif
