/* SPDX-License-Identifier: MIT */
/* The distance between the two samplers of groups that sample in pairs (plan_pairs.h). */
#ifndef TD_RECORD_EVENTS_PAIR_OFFSET_H
#define TD_RECORD_EVENTS_PAIR_OFFSET_H

#include "record/events/events.h"

/* Begins the periods of both samplers anew, one a while after the other, on this CPU, or on all
 * with TD_NONE. The events run. Where it fails, samples come as they would without: the second may
 * be anywhere between the first ones. */
void td_pair_offset_set(const struct td_events *events, unsigned cpu);

#endif
