/* SPDX-License-Identifier: MIT */
/* A copy of the vdso whose functions call the kernel: the pages of time that the real ones read
 * cannot be copied. */
#ifndef TD_RECORD_LIVE_VDSO_H
#define TD_RECORD_LIVE_VDSO_H

#include <stddef.h>
#include <stdint.h>

/* Changes the image in place. What is no vdso that we know is left as it is. */
void td_live_vdso_patch(uint8_t *image, size_t size);

#endif
