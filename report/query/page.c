/* SPDX-License-Identifier: MIT */
#include "report/query/page.h"

#include <stdlib.h>

#include "base/mem.h"
#include "report/query/figures/known.h"

#define SHARE_MIN 0.005 /* a function that takes less is not worth its source */

/* Functions of which lines and instructions are wanted. */
struct chosen {
    uint32_t *at;
    size_t len, max;
};

static void choose(struct chosen *chosen, uint32_t function)
{
    for (size_t i = 0; i < chosen->len; i++) {
        if (chosen->at[i] == function)
            return;
    }
    if (chosen->len < chosen->max)
        chosen->at[chosen->len++] = function;
}

/* Where the verdict points at, and the dearest functions. With `unnamed`, code of a module that has
 * no name is a function, too: only its instructions can be shown. */
static struct chosen choose_functions(const struct td_page *page, size_t max, bool unnamed)
{
    const struct td_model *model = page->measure->model;
    const struct td_rows *rows = &page->functions;
    struct chosen chosen = {.at = td_xcalloc(max + 1, sizeof(*chosen.at)), .max = max};

    for (size_t i = 0; i < page->verdict.place_count; i++) {
        if (page->verdict.places[i].function != TD_NONE)
            choose(&chosen, page->verdict.places[i].function);
    }
    for (size_t i = 0; i < rows->len; i++) {
        const struct td_row *row = &rows->at[i];

        if (td_row_share(rows, row) < SHARE_MIN)
            continue;
        if (row->function != TD_NONE)
            choose(&chosen, row->function);
        else if (unnamed && row->module != TD_NONE &&
                 td_model_module(model, row->module)->kind == TD_MODULE_FILE)
            choose(&chosen, td_code_unnamed(model, row->module));
    }
    return chosen;
}

/* Of each function's copies, inlined here and there, the hottest. */
static void keep_hottest(struct td_code_parts *parts)
{
    size_t kept = 0;

    for (size_t i = 0; i < parts->len; i++) {
        const struct td_code_part part = parts->at[i];

        if (kept > 0 && part.function == parts->at[kept - 1].function &&
            part.module == parts->at[kept - 1].module)
            continue;
        parts->at[i] = parts->at[kept]; /* each part stays once: all are released */
        parts->at[kept++] = part;
    }
    for (size_t i = kept; i < parts->len; i++)
        free(parts->at[i].at);
    parts->len = kept;
}

static void add_code(struct td_page *page, bool no_inline, size_t sources)
{
    const struct chosen named = choose_functions(page, sources, false);
    const struct chosen all = choose_functions(page, sources, true);

    if (named.len > 0)
        td_sections_of_functions(&page->sections, page->measure, named.at, named.len, no_inline);
    if (all.len > 0)
        td_code_of_functions(&page->code, page->measure, all.at, all.len);
    keep_hottest(&page->code);
    free(named.at);
    free(all.at);
}
void td_page_of(struct td_page *page, const struct td_page_measures *measures, bool no_inline,
                size_t sources)
{
    const struct td_measure *measure = measures->shown;

    *page = (struct td_page){.measure = measure, .tree = td_tree_of(measure)};
    td_verdict_of(&page->verdict, measure, &page->tree, no_inline);
    td_rows_init(&page->functions, measure, TD_ROWS_FUNCTIONS, no_inline);
    add_code(page, no_inline, sources);
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
