/* SPDX-License-Identifier: MIT */
/* Stacks that compact rules cannot walk, by libunwind; on the machine that it was built for. */
#ifndef TD_SYMBOLIZE_UNWIND_ODD_H
#define TD_SYMBOLIZE_UNWIND_ODD_H

#include "symbolize/unwind/unwind.h"

struct td_unwind_odd;

/* NULL when libunwind cannot be had for stacks of this machine. */
struct td_unwind_odd *td_unwind_odd_new(enum td_cfi_arch arch);
void td_unwind_odd_free(struct td_unwind_odd *odd); /* NULL is allowed */

/* Fills *ret but for `odd`, from the sample's first frame on. */
void td_unwind_odd(struct td_unwind_odd *odd, const struct td_unwind_sample *sample,
                   struct td_unwind_stack *ret);

#endif
