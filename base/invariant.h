/* SPDX-License-Identifier: MIT */
/* What must always hold, and costs too much to be checked in each run: builds with sanitizers do.
 */
#ifndef TD_BASE_INVARIANT_H
#define TD_BASE_INVARIANT_H

#include <assert.h>

#ifdef TD_CHECKED
#    define TD_INVARIANT(condition) assert(condition)
#else
#    define TD_INVARIANT(condition) ((void)sizeof(condition))
#endif

#endif
