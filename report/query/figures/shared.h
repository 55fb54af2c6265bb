/* SPDX-License-Identifier: MIT */
/* How much threads of a modelled run wait for each other's lines: where it is much, runs differ. */
#ifndef TD_REPORT_QUERY_FIGURES_SHARED_H
#define TD_REPORT_QUERY_FIGURES_SHARED_H

#include <stdbool.h>

#include "formats/measure.h"
#include "formats/model.h"

/* Whether waits for shared lines take 1 % of the cycles of all threads or more. From there on two
 * runs of a program differ by how their threads take turns: the cycles of thirty such programs, two
 * runs each, had a standard deviation of 0.6 to 77 % (of half of them more than 20 %); those of six
 * whose threads share less, of less than 0.05 %. */
bool td_shared_is_much(const struct td_model *model);

/* Whether serializing operations are pauses of threads that spin: most of them are in functions
 * that wait, by loads, for lines that other threads store to. Fences there count with them. */
bool td_shared_spins(const struct td_measure *measure);

#endif
