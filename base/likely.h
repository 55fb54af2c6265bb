/* SPDX-License-Identifier: MIT */
/* Branches that go one way nearly always: what lies on the other way may cost registers there, and
 * not here. */
#ifndef TD_BASE_LIKELY_H
#define TD_BASE_LIKELY_H

/* Compilers take a plain hint for nine times in ten, and save registers for the tenth. */
#define TD_LIKELY(condition)   __builtin_expect_with_probability(!!(condition), 1, 0.9995)
#define TD_UNLIKELY(condition) __builtin_expect_with_probability(!!(condition), 0, 0.9995)

#endif
