/* SPDX-License-Identifier: MIT */
/* Why an illegal instruction ended a program: what the emulated processor does not have. */
#ifndef TD_RECORD_SIM_QEMU_FAULT_H
#define TD_RECORD_SIM_QEMU_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/sim/share/guest.h"
#include "record/sim/qemu/snapshot.h"

/* One sentence about the instruction at `pc`, newly allocated. NULL when it is illegal on every
 * processor: then the program ended as it would have without us. */
char *td_fault_text(const struct td_guest *guest, const char *process, uint64_t pc,
                    const struct td_snapshot_maps *maps);

/* Whether the emulator computes an x86 instruction wrongly: one that gathers by xmm4 or ymm4. QEMU
 * 7.2 takes index 4, which stands for none elsewhere, for none here too. */
bool td_fault_misread(const struct td_guest *guest, const uint8_t *bytes, size_t size);
/* One sentence about such an instruction at `pc`, newly allocated. */
char *td_fault_misread_text(const char *process, uint64_t pc, const struct td_snapshot_maps *maps);

#endif
