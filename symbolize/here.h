/* SPDX-License-Identifier: MIT */
/* Names that an import lacks and this machine still knows: of the kernel, the vdso, and generated
 * code. */
#ifndef TD_SYMBOLIZE_HERE_H
#define TD_SYMBOLIZE_HERE_H

#include <stddef.h>
#include <stdint.h>

#include "formats/model.h"
#include "symbolize/identity.h"

/* Adds symbols to the module for `count` of its offsets, as far as this machine is where and what
 * was recorded: of the kernel and the vdso by build-id, of generated code by the jitdump that the
 * process mapped or a perf-PID.map, when that is ours or root's and was written after the recording
 * began. `kallsyms`: a copy of /proc/kallsyms of the boot that was recorded, here or elsewhere;
 * NULL: none. */
void td_here_add_symbols(struct td_model *model, uint32_t module, const struct td_origin *origin,
                         const char *kallsyms, const uint64_t *offsets, size_t count);

#endif
