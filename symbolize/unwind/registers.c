/* SPDX-License-Identifier: MIT */
/* Registers of samples: perf numbers them by asm/perf_regs.h, part of the kernel's ABI. */
#include <string.h>

#include "base/mem.h"
#include "symbolize/unwind/unwind.h"

#define BIT(n) (UINT64_C(1) << (n))

uint64_t td_unwind_registers(enum td_cfi_arch arch)
{
    /* x19 to x30, sp, pc */
    if (arch == TD_CFI_AARCH64)
        return BIT(33) - BIT(19);
    /* ax bx cx bp sp ip r9 to r15 */
    return BIT(0) | BIT(1) | BIT(2) | BIT(6) | BIT(7) | BIT(8) | (BIT(24) - BIT(17));
}

/* DWARF's number of perf's register, or -1. On x86-64: ax bx cx dx si di bp sp ip, seven of flags
 * and segments, r8 to r15. On AArch64 both count alike. */
static int dwarf_number(enum td_cfi_arch arch, unsigned perf)
{
    static const int8_t low[] = {0, 3, 2, 1, 4, 5, 6, 7, 16};

    if (arch == TD_CFI_AARCH64)
        return perf <= TD_CFI_A64_PC ? (int)perf : -1;
    if (perf < TD_ARRAY_SIZE(low))
        return low[perf];
    return perf >= 16 && perf < 24 ? (int)perf - 8 : -1;
}

bool td_unwind_take_registers(struct td_unwind_sample *sample, enum td_cfi_arch arch,
                              const uint8_t *words, uint64_t mask)
{
    const uint64_t needed = arch == TD_CFI_AARCH64
                                ? BIT(TD_CFI_A64_PC) | BIT(TD_CFI_A64_SP) | BIT(TD_CFI_A64_FP)
                                : BIT(TD_CFI_X86_RA) | BIT(TD_CFI_X86_RSP) | BIT(TD_CFI_X86_RBP);

    for (; mask; mask &= mask - 1, words += 8) {
        const int number = dwarf_number(arch, (unsigned)__builtin_ctzll(mask));

        if (number < 0)
            continue;
        memcpy(&sample->regs[number], words, 8);
        sample->known |= BIT(number);
    }
    return (sample->known & needed) == needed;
}
