/* SPDX-License-Identifier: MIT */
/* Debug files from servers, through libdebuginfod: loaded only when the user asked for it. */
#ifndef TD_SYMBOLIZE_DEBUGINFOD_H
#define TD_SYMBOLIZE_DEBUGINFOD_H

#include <stddef.h>

#include "formats/model.h"

/* The path of the debug file of this build-id, to be freed; NULL, and the reason in `why`, when no
 * server has it or none can be asked. */
char *td_debuginfod_find(const struct td_build_id *id, char *why, size_t why_size);

#endif
