/* SPDX-License-Identifier: MIT */
/*
 * Lines of the cache that several threads used, of the modelled core: what one instruction of one
 * thread waited for because of what another thread did to the same line.
 */
#ifndef TD_FORMATS_SHARING_H
#define TD_FORMATS_SHARING_H

#include <stdbool.h>
#include <stdint.h>

/* Where the line is. X(symbol, number on disk, text of it) */
#define TD_SHARED_AREAS(X)                                                \
    X(OTHER, 0, "memory")  /* mapped without a file: large blocks, stacks \
                              of threads, heaps of threads */             \
    X(MODULE, 1, "module") /* global data of a file */                    \
    X(HEAP, 2, "heap")     /* of the main thread: below the break */      \
    X(STACK, 3, "stack")   /* of the main thread */                       \
    X(LINES, 4, "lines")   /* of many lines, that are not told apart */

enum td_shared_area {
#define X(symbol, number, text) TD_SHARED_##symbol = (number),
    TD_SHARED_AREAS(X)
#undef X
        TD_SHARED_AREA_COUNT
};

/* NULL: there is no such area. */
const char *td_shared_area_name(uint64_t area);

/* Who did it, and by which instruction; UINT32_MAX: not known. */
struct td_shared_side {
    uint32_t thread, module;
    uint64_t offset;   /* as locations' */
    uint32_t location; /* of a model; else not looked at */
    bool store;
};

struct td_shared_row {
    uint32_t process; /* a thread of it */
    uint64_t address; /* of the line; 0: of many */
    uint32_t area;    /* enum td_shared_area */
    uint32_t module;  /* of TD_SHARED_MODULE; else UINT32_MAX */
    uint64_t offset;  /* of the line, from where the module begins in memory */
    struct td_shared_side mine, theirs;
    bool is_false; /* they used different bytes */
    uint64_t transfers, invalidations, cycles;
};

/* Whether its numbers can be: `row` is of a file. */
bool td_shared_row_is_right(const struct td_shared_row *row);

#endif
