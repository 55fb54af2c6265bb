/* SPDX-License-Identifier: MIT */
/* Who calls a function, and what it calls: two trees below each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/attribution/stats.h"
#include "report/query/calls.h"
#include "report/tui/tui_priv.h"

#define SHOWN_SHARE 0.002 /* of the whole profile: calls below it are left out */
#define DEPTH_MAX   256

struct call_row {
    const char *heading; /* of a tree; NULL: a call */
    uint32_t function, module;
    uint64_t value;
    unsigned depth;
    bool inlined;
};

struct call_rows {
    const struct td_measure *measure; /* with call paths; NULL: not to be had */
    enum td_metric primary;
    struct call_row *at;
    size_t len, cap;
    size_t callees;  /* the row that heads them */
    const char *why; /* there are none */
};

static struct call_rows *rows_of(const struct td_tui_page *page)
{
    return page->data;
}

static void add(struct call_rows *rows, const struct call_row *row)
{
    rows->at = td_grow(rows->at, &rows->cap, rows->len + 1, sizeof(*rows->at));
    rows->at[rows->len++] = *row;
}

/* Recursion as deep as DEPTH_MAX. */
static void add_children(struct call_rows *rows, const struct td_calls *calls, uint32_t node,
                         unsigned depth)
{
    for (uint32_t i = calls->at[node].child; i && depth < DEPTH_MAX; i = calls->at[i].next) {
        const struct td_call *call = &calls->at[i];

        if (td_ratio(call->value, rows->measure->totals[rows->primary]) < SHOWN_SHARE)
            break; /* they are sorted */
        add(rows, &(struct call_row){.function = call->function,
                                     .module = call->module,
                                     .value = call->value,
                                     .depth = depth,
                                     .inlined = call->inlined});
        add_children(rows, calls, i, depth + 1);
    }
}

/* The function and its namesakes of the same module: the measure's model may be another one. */
static bool choose(const struct td_model *model, const struct td_tui_page *page, bool *functions,
                   bool *modules)
{
    bool any = false;

    for (uint32_t m = 0; m < td_model_module_count(model); m++) {
        const bool same =
            page->module_path &&
            strcmp(td_model_string(model, td_model_module(model, m)->path), page->module_path) == 0;

        modules[m] = same && !page->function_name;
        any = any || modules[m];
    }
    for (uint32_t f = 0; f < td_model_function_count(model) && page->function_name; f++) {
        const struct td_function *function = td_model_function(model, f);

        functions[f] =
            strcmp(td_model_string(model, function->name), page->function_name) == 0 &&
            (!page->module_path ||
             strcmp(td_model_string(model, td_model_module(model, function->module)->path),
                    page->module_path) == 0);
        any = any || functions[f];
    }
    return any;
}

static void add_tree(struct call_rows *rows, enum td_calls_kind kind,
                     const struct td_wanted *wanted, bool no_inline)
{
    struct td_calls calls = {.at = NULL};

    td_calls_init(&calls, rows->measure, kind, wanted, no_inline);
    rows->primary = calls.primary;
    add(rows, &(struct call_row){.heading = kind == TD_CALLS_CALLERS ? "called by" : "calls",
                                 .value = calls.at[0].value});
    add_children(rows, &calls, 0, 1);
    td_calls_release(&calls);
}

static void build(struct td_tui *tui, struct td_tui_page *page)
{
    struct call_rows *rows = td_xcalloc(1, sizeof(*rows));

    page->data = rows;
    page->len = 0;
    rows->measure = tui->host.with_calls ? tui->host.with_calls(tui->host.ctx, &rows->why) : NULL;
    if (!rows->measure)
        return;
    const struct td_model *model = rows->measure->model;
    bool *functions = td_xcalloc((size_t)td_model_function_count(model) + 1, sizeof(bool));
    bool *modules = td_xcalloc((size_t)td_model_module_count(model) + 1, sizeof(bool));
    if (choose(model, page, functions, modules)) {
        const struct td_wanted wanted = {functions, modules};

        add_tree(rows, TD_CALLS_CALLERS, &wanted, tui->opts.no_inline);
        rows->callees = rows->len;
        add_tree(rows, TD_CALLS_CALLEES, &wanted, tui->opts.no_inline);
    }
    free(functions);
    free(modules);
    page->len = rows->len;
}

static void release(struct td_tui_page *page)
{
    struct call_rows *rows = page->data;

    if (rows)
        free(rows->at);
    free(rows);
    page->data = NULL;
}

static void title(const struct td_tui *tui, const struct td_tui_page *page, char *dst, size_t size)
{
    char name[TD_TUI_TEXT];

    td_tui_name(tui->model, page->function, page->module, name, sizeof(name));
    snprintf(dst, size, "callers and callees of %s", name);
}

static void headings(struct td_tui *tui, const struct td_tui_page *page, unsigned row)
{
    (void)page;
    td_canvas_put_right(&tui->canvas, row, TD_TONE_HEADING, TD_TUI_SHARE_WIDTH, "%");
    td_canvas_put(&tui->canvas, row, TD_TONE_HEADING, "  with all that is called");
}

static void name_of_call(const struct call_rows *rows, const struct call_row *call, char *dst,
                         size_t size)
{
    td_tui_name(rows->measure->model, call->function, call->module, dst, size);
}

static void text_of(const struct td_tui *tui, const struct td_tui_page *page, size_t index,
                    char *dst, size_t size)
{
    const struct call_row *call = &rows_of(page)->at[index];

    (void)tui;
    if (call->heading)
        snprintf(dst, size, "%s", call->heading);
    else
        name_of_call(rows_of(page), call, dst, size);
}

static void put_share(struct td_tui *tui, const struct call_rows *rows, uint64_t value,
                      unsigned row)
{
    const double share = td_ratio(value, rows->measure->totals[rows->primary]);
    char text[16];

    snprintf(text, sizeof(text), "%.1f", 100 * share);
    td_canvas_put_right(&tui->canvas, row, td_style_heat(share), TD_TUI_SHARE_WIDTH, text);
}

static void draw(struct td_tui *tui, const struct td_tui_page *page, size_t index, unsigned row)
{
    const struct call_rows *rows = rows_of(page);
    const struct call_row *call = &rows->at[index];
    const struct td_style style = td_canvas_style(&tui->canvas);
    const unsigned columns = tui->canvas.columns;
    char name[TD_TUI_TEXT], text[TD_TUI_TEXT];

    put_share(tui, rows, call->value, row);
    td_canvas_put(&tui->canvas, row, TD_TONE_PLAIN, "  ");
    text_of(tui, page, index, name, sizeof(name));
    if (call->heading) {
        td_canvas_put(&tui->canvas, row, TD_TONE_HEADING, call->heading);
        if (index + 1 == page->len || rows->at[index + 1].heading)
            td_canvas_put(&tui->canvas, row, TD_TONE_DIM, ": nothing that is known");
        return;
    }
    /* Deep rows are moved to the left by the arrow keys. */
    const unsigned indent = 2 * call->depth > page->shift ? 2 * call->depth - page->shift : 0;
    td_canvas_putf(&tui->canvas, row, TD_TONE_PLAIN, "%*s", (int)indent, "");
    const unsigned used = td_canvas_used(&tui->canvas, row);
    td_fit_name(&style, text, sizeof(text), name, columns > used + 10 ? columns - used : 10);
    td_canvas_putf(&tui->canvas, row, TD_TONE_PLAIN, "%s%s", text,
                   call->inlined ? " (inlined)" : "");
}

static void detail(struct td_tui *tui, const struct td_tui_page *page, unsigned row)
{
    char name[TD_TUI_TEXT];

    text_of(tui, page, page->selected, name, sizeof(name));
    td_canvas_put(&tui->canvas, row, TD_TONE_NOTE, name);
}

/* The function of the screens' model that is called as the row's. */
static void open_row(struct td_tui *tui, struct td_tui_page *page)
{
    const struct call_rows *rows = rows_of(page);
    const struct call_row *call = &rows->at[page->selected];
    char name[TD_TUI_TEXT];

    if (call->heading)
        return;
    name_of_call(rows, call, name, sizeof(name));
    if (!td_tui_open_named(tui, name))
        td_tui_say(tui, "%s costs nothing by itself: it has no lines to show", name);
}

const struct td_tui_page_ops td_tui_calls = {.name = "calls",
                                             .build = build,
                                             .release = release,
                                             .title = title,
                                             .headings = headings,
                                             .draw = draw,
                                             .text = text_of,
                                             .detail = detail,
                                             .open = open_row};

void td_tui_open_calls(struct td_tui *tui, uint32_t function, uint32_t module, bool callees)
{
    struct td_tui_page *page = td_tui_top(tui);

    if (page->ops != &td_tui_calls || page->function != function || page->module != module)
        page = td_tui_push(tui, &td_tui_calls, function, module, false);
    const struct call_rows *rows = rows_of(page);
    if (page->len == 0) {
        td_tui_say(tui, "%s", rows->why ? rows->why : "no call paths of it were recorded");
        td_tui_pop(tui);
        return;
    }
    td_tui_select(tui, page, callees ? rows->callees : 0);
}
