/* SPDX-License-Identifier: MIT */
/* One page of HTML that holds a profile: its data as JSON, its program and its style. */
#ifndef TD_REPORT_VIEW_PAGE_PAGE_H
#define TD_REPORT_VIEW_PAGE_PAGE_H

#include "base/bytes.h"
#include "formats/export/json.h"
#include "report/listing.h"
#include "report/query/figures/coverage.h"
#include "report/query/diff/diff.h"
#include "report/query/page.h"
#include "report/source.h"
#include "report/view/line_notes.h"

/* How much of a profile is put on the page. */
struct td_page_limits {
    size_t functions; /* rows of the table; the others become one sum */
    size_t sources;   /* sections of source, and as many of instructions */
    size_t lines;     /* of each */
};

/* Two profiles compared: the page is of the new one. */
struct td_page_diff {
    const struct td_diff *diff;         /* of two columns: old, new */
    const struct td_stacks *old_stacks; /* cut as the page's own */
};

/* What a page needs beside td_page. */
struct td_page_extras {
    const struct td_coverage *coverage;
    const struct td_source_dirs *dirs; /* NULL: no text of source files */
    const struct td_listing *listings; /* one for each part of page->code; NULL: none */
    const struct td_line_notes *notes; /* one for each of page->sections; NULL: none */
    const char *next;                  /* the command to type next */
    const char *tool;                  /* "tdreport 0.1.0" */
    const char *filter;                /* in words; NULL: none */
    double kept_share;                 /* of the profile, by the filter */
    const struct td_page_diff *diff;   /* NULL: there is none */
    uint64_t recorded_ns;              /* CLOCK_REALTIME of the recording; 0: not known */
};

/* The page's data: the members of tdreport/1 that the default report has but for functions and
 * lines, and "page". */
void td_page_json(struct td_json *json, const struct td_page *page,
                  const struct td_page_extras *extras, const struct td_page_limits *limits);
/* The member "sources": text, figures and notes of the first sections; and "instructions". */
void td_page_json_sources(struct td_json *json, const struct td_page *page,
                          const struct td_page_extras *extras, const struct td_page_limits *limits);
/* The member "diff". At most `rows` functions. */
void td_page_json_diff(struct td_json *json, const struct td_page_diff *diff, size_t rows);
/* Members "metrics", "modules" and "stacks". */
void td_page_json_stacks(struct td_json *json, const struct td_stacks *stacks);
/* An array of pairs, a metric's place in td_page_metrics and a value, of those that are not 0 and
 * not in `thin`. */
void td_page_json_values(struct td_json *json, const char *key, const struct td_measure *measure,
                         const uint64_t *values, td_tma_set thin);
/* The metrics that a page has, costs before nodes; returns how many. */
size_t td_page_metrics(enum td_metric ret[TD_METRIC_COUNT], const struct td_measure *measure);

/* Appends the whole file. `data` is JSON; `text` is shown where scripts do not run; both are
 * escaped here, as the title is. */
void td_page_html(struct td_buf *out, const char *title, const char *text, const char *data,
                  size_t data_len);

#endif
