/* SPDX-License-Identifier: MIT */
/*
 * Who takes the locks that threads contend for on the modelled core: what shared lines and locked
 * operations cost in the C library's functions of locks, by the code that calls them: the innermost
 * that is of no header of the system's, such as std::mutex's, where there is one.
 */
#ifndef TD_REPORT_QUERY_LOCK_CALLERS_H
#define TD_REPORT_QUERY_LOCK_CALLERS_H

#include "formats/frames.h"
#include "formats/measure.h"

struct td_lock_caller {
    struct td_frame frame; /* location TD_NONE: no caller is known */
    uint64_t slots;
};

struct td_lock_callers {
    struct td_lock_caller *at; /* the dearest first */
    size_t len, cap;
    uint64_t slots; /* of all */
};

/* Of a measure with stacks. Release in any case. */
void td_lock_callers_init(struct td_lock_callers *ret, const struct td_measure *measure,
                          bool no_inline);
void td_lock_callers_release(struct td_lock_callers *callers);

#endif
