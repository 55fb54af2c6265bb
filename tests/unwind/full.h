/* SPDX-License-Identifier: MIT */
/* An interpreter of call frame rules of our own: what the tables and libunwind are tested against.
 */
#ifndef TD_TESTS_UNWIND_FULL_H
#define TD_TESTS_UNWIND_FULL_H

#include "symbolize/unwind/unwind.h"

/* As td_unwind, for either machine; slower by far. */
void td_unwind_full(enum td_cfi_arch arch, const struct td_unwind_sample *sample,
                    struct td_unwind_stack *ret);

/* What a DWARF expression may look at. Each returns false when it is not known. */
struct td_cfi_access {
    bool (*reg)(void *ctx, unsigned reg, uint64_t *value);
    bool (*memory)(void *ctx, uint64_t address, unsigned bytes, uint64_t *value);
    void *ctx;
};

/* Evaluates an expression over a stack that holds `*initial` (NULL: nothing). False when it is
 * damaged, reads what is not known, uses an operation that has no meaning in CFI, or takes more
 * than 1,000 steps. */
bool td_cfi_eval(const uint8_t *expr, size_t size, const uint64_t *initial,
                 const struct td_cfi_access *access, uint64_t *result);

#endif
