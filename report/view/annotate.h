/* SPDX-License-Identifier: MIT */
/* Source lines with what they cost beside them. */
#ifndef TD_REPORT_VIEW_ANNOTATE_H
#define TD_REPORT_VIEW_ANNOTATE_H

#include "report/query/lines_of.h"
#include "report/source.h"
#include "report/view/line_notes.h"
#include "report/view/table/style.h"

struct td_annotate_opts {
    const struct td_source_dirs *dirs;
    uint32_t context; /* lines around one that cost something */
    uint32_t from;    /* a range that was asked for is shown whole; 0: none was */
    uint32_t to;
    double percent_limit; /* lines below it are context, not marked; negative: not given */
    uint64_t recorded_ns; /* CLOCK_REALTIME of the recording; 0: not known */
    int levels;           /* of category columns; 0: in words, in one column */
};

/* `notes` stand below the lines; NULL: there are none. */
void td_annotate_print(const struct td_section *section, const struct td_measure *measure,
                       const struct td_line_notes *notes, const struct td_annotate_opts *opts,
                       const struct td_style *style);

#endif
