/* SPDX-License-Identifier: MIT */
/*
 * Rules for code without call frame information, from its prologues: a function that starts by
 * setting up a frame pointer can be left by it. Decided function by function, so that programs of
 * which only parts keep frame pointers give whole stacks.
 */
#ifndef TD_SYMBOLIZE_UNWIND_SCAN_H
#define TD_SYMBOLIZE_UNWIND_SCAN_H

#include "symbolize/unwind/table.h"

/* From `address` on, until the next call, this rule. Addresses rise. */
typedef void td_unwind_scan_fn(void *ctx, uint64_t address, const struct td_unwind_rule *rule);

/* Goes through `size` bytes of code at `address`. Code before the first prologue gets no rule. */
void td_unwind_scan(enum td_cfi_arch arch, const uint8_t *code, size_t size, uint64_t address,
                    td_unwind_scan_fn *fn, void *ctx);

/* The rule of a frame that a frame pointer leads to: where it points lie the caller's frame
 * pointer and the return address. */
const struct td_unwind_rule *td_unwind_frame_pointer_rule(enum td_cfi_arch arch)
    __attribute__((returns_nonnull));

#endif
