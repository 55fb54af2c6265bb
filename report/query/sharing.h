/* SPDX-License-Identifier: MIT */
/* Lines of the cache that several threads use: what each cost, and who used it. */
#ifndef TD_REPORT_QUERY_SHARING_H
#define TD_REPORT_QUERY_SHARING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/frames.h"

/* Threads of the model, each once, in rising order. */
struct td_shared_threads {
    uint32_t *at;
    size_t len, cap;
    bool more; /* and others, which are not known */
};

struct td_shared_place {
    struct td_frame frame; /* td_frame_own; location TD_NONE: not known */
    bool store;
    struct td_shared_threads threads;
};

struct td_shared_sums {
    uint64_t transfers, invalidations, cycles;
};

/* One piece of code that waited for a line because of another: of one line of source, where that is
 * known. */
struct td_shared_pair {
    struct td_shared_place mine, theirs;
    bool is_false;
    struct td_shared_sums sums;
};

struct td_shared_line {
    uint32_t process;                   /* a thread of it */
    uint64_t address;                   /* 0: many lines, that are not told apart */
    uint32_t area;                      /* enum td_shared_area */
    uint32_t module;                    /* TD_NONE: none */
    uint64_t offset;                    /* in what is mapped of it */
    char *data;                         /* what lies there; NULL: no name is known */
    struct td_shared_sums sums, falses; /* falses: of sums */
    struct td_shared_threads threads;   /* of both sides */
    struct td_shared_pair *pairs;       /* the costliest first, what is not told apart last */
    size_t pair_count, pair_cap;
};

/* What the cycles of the lines are of. */
enum td_shared_scope {
    TD_SHARED_ALL,     /* of all that the profile is of */
    TD_SHARED_WINDOWS, /* of the part that was modelled exactly; the rest was sampled */
    TD_SHARED_BEYOND,  /* of the whole run, though the profile is of one function (--toggle) */
};

struct td_shared_table {
    struct td_shared_line *lines; /* the costliest first */
    size_t len, cap;
    struct td_shared_sums sums, falses;
    enum td_shared_scope scope;
    double cycles; /* of the same; NaN: not known */
};

/* Release in any case. No lines is no failure. `data` of the lines is left out. */
void td_shared_table_init(struct td_shared_table *table, const struct td_model *model,
                          bool no_inline);
void td_shared_table_release(struct td_shared_table *table);

#endif
