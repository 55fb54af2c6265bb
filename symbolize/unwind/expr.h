/* SPDX-License-Identifier: MIT */
/* What is asked of an expression before a library evaluates it. */
#ifndef TD_SYMBOLIZE_UNWIND_EXPR_H
#define TD_SYMBOLIZE_UNWIND_EXPR_H

#include "symbolize/unwind/cfi.h"

/* Whether an expression ends by itself and cannot trap: it is short, branches forward only and to
 * operations, divides nothing, and names registers below `registers`. It may still ask for more
 * of its stack than is on it, and read any address. */
bool td_cfi_expr_is_plain(const uint8_t *expr, size_t size, unsigned registers);

#endif
