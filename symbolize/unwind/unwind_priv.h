/* SPDX-License-Identifier: MIT */
/* What the table walker and the full walker share: the stack copy, addresses, stop rules. */
#ifndef TD_SYMBOLIZE_UNWIND_UNWIND_PRIV_H
#define TD_SYMBOLIZE_UNWIND_UNWIND_PRIV_H

#include <string.h>

#include "symbolize/unwind/unwind.h"
#include "symbolize/unwind/rule.h"
#include "symbolize/unwind/scan.h"

/* Pointer authentication of Linux on aarch64 uses the bits above the 48 of a user address; a
 * signed return address loses them, one that is not signed has none. */
#define TD_UNWIND_A64_ADDRESS ((UINT64_C(1) << 48) - 1)

struct td_unwind_memory {
    const uint8_t *bytes;
    size_t size;
    uint64_t base;     /* address of bytes[0] */
    size_t used;       /* the furthest byte read, from base */
    bool after_signal; /* the stack may have been switched */
};

/* Eight bytes of the stack copy; false when they are not all in it. */
static inline bool td_unwind_load(struct td_unwind_memory *memory, uint64_t address,
                                  uint64_t *value)
{
    const uint64_t offset = address - memory->base;

    if (offset >= memory->size || memory->size - offset < sizeof(*value))
        return false;
    memcpy(value, memory->bytes + offset, sizeof(*value));
    if (offset + sizeof(*value) > memory->used)
        memory->used = (size_t)offset + sizeof(*value);
    return true;
}

/* Why a load failed: behind the copy's end, or where no caller's frame can be. */
static inline enum td_unwind_stop td_unwind_load_stop(const struct td_unwind_memory *memory,
                                                      uint64_t address)
{
    return address - memory->base < UINT64_C(1) << 40 || memory->after_signal ? TD_UNWIND_SHORT_COPY
                                                                              : TD_UNWIND_BAD_RULE;
}

static inline unsigned td_unwind_ip(enum td_cfi_arch arch)
{
    return arch == TD_CFI_X86_64 ? (unsigned)TD_CFI_X86_RA : (unsigned)TD_CFI_A64_PC;
}

static inline uint64_t td_unwind_strip(enum td_cfi_arch arch, uint64_t address)
{
    return arch == TD_CFI_AARCH64 ? address & TD_UNWIND_A64_ADDRESS : address;
}

/* A frame's stack pointer is above that of the frame it called. Only one that has nothing on the
 * stack (its return address is in a register) may be where it was, and a signal may have come on
 * another stack. */
static inline bool td_unwind_advances(uint64_t sp, uint64_t cfa, bool signal_frame, bool bare)
{
    return cfa > sp || signal_frame || (bare && cfa == sp);
}

/* Whether a saved register's slot has been popped already. Memory there may be overwritten (and is
 * not in the copy); the register holds the caller's value. */
static inline bool td_unwind_popped(uint64_t sp, uint64_t slot, bool leaf)
{
    return leaf && sp - slot - 1 < 4096;
}

/* A guessed frame pointer must at least point into the part of the stack that callers own. */
static inline bool td_unwind_guess_makes_sense(const struct td_unwind_memory *memory,
                                               const struct td_unwind_rule *rule, unsigned fp_reg,
                                               uint64_t sp, uint64_t fp)
{
    return rule->cfa_reg != fp_reg || (fp >= sp && fp % 8 == 0 && memory->size >= 16 &&
                                       fp - memory->base <= memory->size - 16);
}

/* The rule of an address in a mapping. */
const struct td_unwind_rule *td_unwind_rule_at(enum td_cfi_arch arch,
                                               const struct td_unwind_place *place,
                                               uint64_t address) __attribute__((returns_nonnull));

#endif
