/* SPDX-License-Identifier: MIT */
/*
 * Slots lost, by row (an instruction of an account) and cause, of what is settled. Of most causes
 * an instruction has lost none: only what is not 0 is kept, in the order of rows and causes.
 */
#ifndef TD_RECORD_SIM_MODEL_SETTLED_H
#define TD_RECORD_SIM_MODEL_SETTLED_H

#include <stddef.h>
#include <stdint.h>

#include "record/sim/model/causes.h"

/* A zeroed struct: nothing is settled. */
struct td_settled {
    uint32_t *ends; /* by row: the index behind its last one */
    size_t row_count, row_cap;
    uint8_t *causes; /* enum td_cause */
    size_t cause_cap;
    uint64_t *slots;
    size_t count, cap;
};

void td_settled_release(struct td_settled *settled);
/* Adds a row behind all others; `slots` are by cause. */
void td_settled_add_row(struct td_settled *settled, const uint64_t slots[TD_CAUSE_COUNT]);
/* The same of what is settled of a row of `from`; beyond its last nothing is. */
void td_settled_copy_row(struct td_settled *settled, const struct td_settled *from, size_t row);
/* Adds what is settled of the row to `slots`, by cause. Of a row beyond the last nothing is. */
void td_settled_add_to(const struct td_settled *settled, size_t row,
                       uint64_t slots[TD_CAUSE_COUNT]);
/* Of `count` rows from `row` on, all causes together. */
uint64_t td_settled_sum(const struct td_settled *settled, size_t row, size_t count);

#endif
