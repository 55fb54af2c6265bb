/* SPDX-License-Identifier: MIT */
/* What a filter that matches nothing may have meant. */
#ifndef TD_REPORT_NEAR_H
#define TD_REPORT_NEAR_H

#include "formats/model.h"
#include "report/places.h"
#include "report/session.h"

/* The profile's name that is nearest to the word of the only filter that was given, of its kind;
 * NULL where there is none, where several filters were given, or a pattern. Borrowed from the
 * model. */
const char *td_near_filter(const struct td_model *model, const struct td_common_opts *opts);

/* Of lines of a file that have no cost, what they may have meant, as "the nearest line that has a
 * cost is a.c:7". For the caller to free. */
char *td_near_lines(const struct td_session *session, const struct td_places *places);

#endif
