/* SPDX-License-Identifier: MIT */
/* For slots*.c alone. */
#ifndef TD_REPORT_ATTRIBUTION_SLOTS_PRIV_H
#define TD_REPORT_ATTRIBUTION_SLOTS_PRIV_H

#include "report/attribution/slots.h"

/* The first so many rows' locators of a part; called once all rows are there. */
void td_slots_locate(struct td_slots_part *part, const struct td_measure *measure,
                     const uint8_t *part_of, size_t part_index);
void td_slots_locators_release(struct td_slots_part *part);
/* ±, 95 %, by which a key's part of the locator's total differs when repeated. */
double td_locator_spread(const struct td_locator *locator, double weight);
/* By how much the part of a leaf's slots that its locator gives a key can be wrong, as a share of
 * the key's slots; `weight` of the locator's total is the key's. */
double td_locator_error(const struct td_locator *locator, double weight, double leaf_slots,
                        double key_slots);

#endif
