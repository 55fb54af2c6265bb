/* SPDX-License-Identifier: MIT */
/* `tdrec --doctor`: what this machine and this user can record, each line with the fix. */
#ifndef TD_RECORD_RUN_DOCTOR_H
#define TD_RECORD_RUN_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

#include "record/machine/caps.h"

/* Prints the list; true when recording a command works at all. */
bool td_doctor(const struct td_caps *caps, FILE *out);

#endif
