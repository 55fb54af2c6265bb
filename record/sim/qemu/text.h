/* SPDX-License-Identifier: MIT */
/* What the models of a process found as lines of text, for tests: mappings, totals, tallies. */
#ifndef TD_RECORD_SIM_QEMU_TEXT_H
#define TD_RECORD_SIM_QEMU_TEXT_H

#include "record/sim/qemu/image.h"

/* Lines "M mapping", "C columns of T", "S thread name value ..." and "T thread path pc values ...";
 * a file that cannot be made is not missed. */
void td_qemu_text_write(const struct td_image *process, const char *path);

#endif
