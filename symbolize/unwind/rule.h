/* SPDX-License-Identifier: MIT */
/* A row of the interpreter as a compact rule. */
#ifndef TD_SYMBOLIZE_UNWIND_RULE_H
#define TD_SYMBOLIZE_UNWIND_RULE_H

#include "symbolize/unwind/cfi.h"
#include "symbolize/unwind/table.h"

/* Offsets of the interrupted registers from the stack pointer in a signal frame of Linux on
 * aarch64: siginfo (128) and the ucontext's head (176) come before struct sigcontext
 * (arch/arm64/include/uapi/asm/sigcontext.h). The call frame information of its trampoline names
 * only the frame record, which lacks the interrupted address. */
enum {
    TD_UNWIND_A64_SIGNAL_REGS = 128 + 176 + 8,
    TD_UNWIND_A64_SIGNAL_FP = TD_UNWIND_A64_SIGNAL_REGS + 29 * 8,
    TD_UNWIND_A64_SIGNAL_LR = TD_UNWIND_A64_SIGNAL_REGS + 30 * 8,
    TD_UNWIND_A64_SIGNAL_SP = TD_UNWIND_A64_SIGNAL_REGS + 31 * 8,
    TD_UNWIND_A64_SIGNAL_PC = TD_UNWIND_A64_SIGNAL_REGS + 32 * 8,
};

/* Fills *rule; what does not fit becomes TD_UNWIND_ODD. `section` and `cie` are the row's. */
void td_unwind_rule_from_row(struct td_unwind_rule *rule, const struct td_cfi *section,
                             const struct td_cfi_cie *cie, const struct td_cfi_row *row);

/* DWARF numbers of an architecture's stack pointer and frame pointer. */
unsigned td_unwind_sp(enum td_cfi_arch arch);
unsigned td_unwind_fp(enum td_cfi_arch arch);

#endif
