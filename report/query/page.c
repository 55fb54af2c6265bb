/* SPDX-License-Identifier: MIT */
#include "report/query/page.h"

#include <stdlib.h>

#include "base/mem.h"
#include "report/query/known.h"

static void add_function(uint32_t *functions, size_t *count, uint32_t function)
{
    for (size_t i = 0; i < *count; i++) {
        if (functions[i] == function)
            return;
    }
    functions[(*count)++] = function;
}

#define SHARE_MIN 0.005 /* a function that takes less is not worth its source */

/* Where the verdict points at, and the dearest functions. */
static uint32_t *choose_functions(const struct td_page *page, size_t max, size_t *count)
{
    uint32_t *functions = td_xcalloc(max + TD_VERDICT_PLACES, sizeof(*functions));

    *count = 0;
    for (size_t i = 0; i < page->verdict.place_count && max > 0; i++) {
        if (page->verdict.places[i].function != TD_NONE)
            add_function(functions, count, page->verdict.places[i].function);
    }
    for (size_t i = 0; i < page->functions.len && *count < max; i++) {
        const struct td_row *row = &page->functions.at[i];

        if (row->function != TD_NONE && td_row_share(&page->functions, row) >= SHARE_MIN)
            add_function(functions, count, row->function);
    }
    return functions;
}

/* Of each function's copies, inlined here and there, the hottest. */
static void keep_hottest(struct td_code_parts *parts)
{
    size_t kept = 0;

    for (size_t i = 0; i < parts->len; i++) {
        const struct td_code_part part = parts->at[i];

        if (kept > 0 && part.function == parts->at[kept - 1].function)
            continue;
        parts->at[i] = parts->at[kept]; /* each part stays once: all are released */
        parts->at[kept++] = part;
    }
    for (size_t i = kept; i < parts->len; i++)
        free(parts->at[i].at);
    parts->len = kept;
}

void td_page_of(struct td_page *page, const struct td_page_measures *measures, bool no_inline,
                size_t sources)
{
    const struct td_measure *measure = measures->shown;
    size_t count = 0;

    *page = (struct td_page){.measure = measure, .tree = td_tree_of(measure)};
    td_verdict_of(&page->verdict, measure, &page->tree, no_inline);
    td_rows_init(&page->functions, measure, TD_ROWS_FUNCTIONS, no_inline);
    uint32_t *functions = choose_functions(page, sources, &count);
    if (count > 0) {
        td_sections_of_functions(&page->sections, measure, functions, count, no_inline);
        td_code_of_functions(&page->code, measure, functions, count);
        keep_hottest(&page->code);
    }
    free(functions);
    td_known_only(measures->exported, no_inline);
    td_stacks_init(&page->stacks, measures->exported, no_inline);
    if (measures->by_sample) {
        page->has_times = td_timeline_of(&page->timeline, measures->by_sample);
        page->timeline_of_time =
            measure->values[TD_METRIC_SLOTS] && !measures->by_sample->values[TD_METRIC_SLOTS];
    }
}

void td_page_release(struct td_page *page)
{
    td_rows_release(&page->functions);
    td_stacks_release(&page->stacks);
    td_timeline_release(&page->timeline);
    td_sections_release(&page->sections);
    td_code_parts_release(&page->code);
    *page = (struct td_page){.measure = NULL};
}
