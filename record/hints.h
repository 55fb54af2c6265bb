/* SPDX-License-Identifier: MIT */
/* What a command line probably means that was not meant so. */
#ifndef TD_RECORD_HINTS_H
#define TD_RECORD_HINTS_H

#include "record/request.h"

/* A sentence for stderr, owned by the caller: an option of tdrec's stands behind the command and
 * goes to it, or the command is a word that other profilers have. NULL when nothing is odd. */
char *td_hint_of(const struct td_request *request);

#endif
