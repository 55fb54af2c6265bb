/* SPDX-License-Identifier: MIT */
/* A profile file as text, record by record with offsets: the tool that debugs the format. */
#ifndef TD_FORMATS_PROFILE_DUMP_H
#define TD_FORMATS_PROFILE_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

/* Prints all that can be read, damage included. Returns as td_load_bytes: TD_OK also for a file
 * that is damaged or cut off, which the text then says; *sound (may be NULL) is false then. */
int td_profile_dump(const void *data, size_t size, FILE *out, bool *sound, struct td_err *err);

#endif
