/* SPDX-License-Identifier: MIT */
/*
 * Formulas of core descriptions: arithmetic over named values, compiled once to postfix and
 * evaluated over an array. Operators + - * / with the usual precedence, parentheses, min(a, b),
 * max(a, b), decimal and 0x numbers. A name is letters, digits, '_' and '.', not beginning with a
 * digit. Division by zero gives "not known" (NaN), which every operator carries on.
 */
#ifndef TD_FORMATS_CORES_EXPR_H
#define TD_FORMATS_CORES_EXPR_H

#include <stddef.h>

#include "base/err.h"

struct td_expr;

/* What a name stands for: an index into the values, or a negative number when it is not known. */
typedef int td_expr_resolve_fn(const void *ctx, const char *name);

/* Compiles `text`. TD_EFORMAT says what was found where; nesting and length are limited. */
int td_expr_compile(struct td_expr **ret, const char *text, td_expr_resolve_fn *resolve,
                    const void *ctx, struct td_err *err);
void td_expr_free(struct td_expr *expr); /* NULL is allowed */

/* The value, or NaN when a value that it needs is NaN or a divisor is zero. `values` must be as
 * long as the largest index that `resolve` gave out. */
double td_expr_eval(const struct td_expr *expr, const double *values);

/* The i-th distinct index that the formula reads, or -1 past the last. */
int td_expr_input(const struct td_expr *expr, size_t i);

#endif
