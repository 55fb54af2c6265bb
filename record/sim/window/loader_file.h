/* SPDX-License-Identifier: MIT */
/* The loader (loader/loader.h) as an ELF file, which is built into tdrec. */
#ifndef TD_RECORD_SIM_WINDOW_LOADER_FILE_H
#define TD_RECORD_SIM_WINDOW_LOADER_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Its bytes; *size 0 where there is none for this processor. */
const uint8_t *td_loader_file(size_t *size);

#endif
