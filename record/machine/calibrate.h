/* SPDX-License-Identifier: MIT */
/* tdrec --calibrate: measures this machine's core and keeps it as the modelled core `host`. */
#ifndef TD_RECORD_MACHINE_CALIBRATE_H
#define TD_RECORD_MACHINE_CALIBRATE_H

#include <stdio.h>

#include "base/err.h"
#include "record/machine/caps.h"

/* Prints a table of what was measured beside what the nearest named core has. TD_EIO when there is
 * no memory to measure with, or the description cannot be written. */
int td_calibrate(const struct td_caps *caps, FILE *out, struct td_err *err);

#endif
