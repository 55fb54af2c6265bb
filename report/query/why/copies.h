/* SPDX-License-Identifier: MIT */
/*
 * Copies of one access: an unrolled loop has several instructions where its source has one, and
 * each steps several times as far. What they do together is what the source does.
 */
#ifndef TD_REPORT_QUERY_WHY_COPIES_H
#define TD_REPORT_QUERY_WHY_COPIES_H

#include <stddef.h>
#include <stdint.h>

#include "formats/habits.h"
#include "formats/model.h"
#include "report/query/code_of.h"

struct td_why_copies {
    size_t count; /* instructions of the line that do alike, with the one; 1: it is alone */
    /* Of all of them, for the caller to free; NULL: it is not known how their addresses lie to one
     * another, or they are of different data. */
    struct td_habit *habit;
};

/* Those of the instruction with the habit at the location, among the code of the parts. */
struct td_why_copies td_why_copies_of(const struct td_model *model,
                                      const struct td_code_parts *parts,
                                      const struct td_habit *habit, uint32_t location);

#endif
