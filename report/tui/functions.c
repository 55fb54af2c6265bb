/* SPDX-License-Identifier: MIT */
/* The first screen: what each function costs by itself. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/frames.h"
#include "report/attribution/stats.h"
#include "report/query/figures/names.h"
#include "report/tui/tui_priv.h"
#include "report/view/table/mostly.h"
#include "report/view/table/table.h"
#include "report/view/table/units.h"

#define GAP        2
#define TIME_WIDTH 8  /* with the gap: "47.312" */
#define NAME_MIN   18 /* columns that the name keeps before another column is left out */
#define NAME_GOOD  40 /* before the module gets any */
#define MODULE_MAX 20
#define MOSTLY_MIN 16
#define MOSTLY_MAX 24

/* Which columns there is room for. */
struct columns {
    bool time, nodes, error;
    unsigned category; /* widths, with the gap before; 0: left out */
    unsigned slots, mostly, module, name;
};

static struct td_time_unit unit_of(const struct td_tui *tui)
{
    const struct td_style style = td_canvas_style(&tui->canvas);

    return td_time_unit_of(&style, tui->measure->totals[TD_METRIC_TIME_NS]);
}

static void put_time(struct td_tui *tui, unsigned row, uint64_t ns)
{
    const struct td_time_unit unit = unit_of(tui);
    char text[32];

    snprintf(text, sizeof(text), "%.*f", unit.decimals, (double)ns * unit.per_ns);
    td_canvas_put_right(&tui->canvas, row, TD_TONE_PLAIN, TIME_WIDTH, text);
}

static bool has_errors(const struct td_tui *tui)
{
    return tui->measure->attribution != TD_ATTRIBUTION_EXACT || tui->measure->weighted ||
           tui->measure->replicate_count > 0;
}

static unsigned nodes_width(const struct td_tui *tui)
{
    unsigned width = 0;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->level == 1 && td_tui_has(tui, (enum td_tma_node)n))
            width += td_tui_node_width((enum td_tma_node)n);
    }
    return width;
}

/* Takes `width` columns from what the name has, if it keeps `keep`. */
static unsigned take(unsigned *room, unsigned width, unsigned keep)
{
    if (width == 0 || *room < width + keep)
        return 0;
    *room -= width;
    return width;
}

/* In the order in which they are worth their room. */
static struct columns lay_out(const struct td_tui *tui)
{
    const struct td_measure *measure = tui->measure;
    const bool categories = measure->values[TD_METRIC_SLOTS] != NULL;
    struct columns c = {.time = false};
    unsigned room = tui->canvas.columns;

    take(&room, TD_TUI_SHARE_WIDTH + GAP, 0);
    if (tui->category != TD_NODE_NONE)
        c.category = take(&room, TD_TUI_SHARE_WIDTH, 4);
    if (categories)
        c.mostly = take(&room, GAP + MOSTLY_MIN, 16);
    c.time = measure->values[TD_METRIC_TIME_NS] && take(&room, TIME_WIDTH, NAME_MIN);
    if (categories)
        c.nodes = take(&room, nodes_width(tui), NAME_MIN) > 0;
    if (c.mostly && take(&room, MOSTLY_MAX - MOSTLY_MIN, NAME_MIN + 4))
        c.mostly += MOSTLY_MAX - MOSTLY_MIN;
    c.error = has_errors(tui) && take(&room, GAP + 4, NAME_GOOD) > 0;
    c.module = take(&room, GAP + MODULE_MAX, NAME_GOOD);
    if (categories)
        c.slots = take(&room, GAP + 18, NAME_GOOD);
    c.name = room;
    return c;
}

static void build(struct td_tui *tui, struct td_tui_page *page)
{
    td_rows_release(&tui->rows);
    page->len = 0;
    if (!tui->measure)
        return;
    td_rows_init(&tui->rows, tui->measure, TD_ROWS_FUNCTIONS, tui->opts.no_inline);
    td_rows_sort(&tui->rows, tui->sort);
    page->len = tui->rows.len;
}

static const struct td_row *row_at(const struct td_tui *tui, size_t index)
{
    return &tui->rows.at[index];
}

static const char *sort_name(const struct td_tui *tui)
{
    switch (tui->sort.by) {
    case TD_SORT_VALUE: return td_metric_id(tui->sort.metric);
    case TD_SORT_NAME: return "name";
    case TD_SORT_MODULE: return "module";
    case TD_SORT_FILE: return "file";
    }
    return "";
}

static void title(const struct td_tui *tui, const struct td_tui_page *page, char *dst, size_t size)
{
    char count[32];

    td_format_count(count, sizeof(count), page->len);
    snprintf(dst, size, "%s function%s by %s", count, page->len == 1 ? "" : "s", sort_name(tui));
}

static void headings(struct td_tui *tui, const struct td_tui_page *page, unsigned row)
{
    const struct columns c = lay_out(tui);
    struct td_canvas *canvas = &tui->canvas;

    (void)page;
    if (c.category)
        td_canvas_put_right(canvas, row, TD_TONE_HEADING, TD_TUI_SHARE_WIDTH,
                            td_node_heading(tui->category));
    td_canvas_put_right(canvas, row, TD_TONE_HEADING, TD_TUI_SHARE_WIDTH, "%");
    if (c.error)
        td_canvas_put_right(canvas, row, TD_TONE_HEADING, GAP + 4,
                            tui->opts.utf8 ? "\xc2\xb1" : "+-");
    if (c.time)
        td_canvas_put_right(canvas, row, TD_TONE_HEADING, TIME_WIDTH, unit_of(tui).name);
    if (c.slots)
        td_canvas_put_right(canvas, row, TD_TONE_HEADING, c.slots, "slots");
    for (int n = 0; n < TD_NODE_COUNT && c.nodes; n++) {
        const enum td_tma_node node = (enum td_tma_node)n;

        if (td_tma_info(node)->level == 1 && td_tui_has(tui, node))
            td_canvas_put_right(canvas, row, TD_TONE_HEADING, td_tui_node_width(node),
                                td_node_heading(node));
    }
    const unsigned at = td_canvas_used(canvas, row);
    if (c.mostly) {
        td_canvas_move(canvas, row, at + GAP);
        td_canvas_put(canvas, row, TD_TONE_HEADING, "mostly");
    }
    td_canvas_move(canvas, row, at + c.mostly + GAP);
    td_canvas_put(canvas, row, TD_TONE_HEADING, "function");
    if (c.module) {
        td_canvas_move(canvas, row, canvas->columns - c.module + GAP);
        td_canvas_put(canvas, row, TD_TONE_HEADING, "module");
    }
}

static void draw_costs(struct td_tui *tui, const struct td_row *r, const struct columns *c,
                       unsigned row)
{
    struct td_canvas *canvas = &tui->canvas;
    const td_tma_set thin = td_row_thin(&tui->rows, r);
    char text[64];

    if (c->category && !(thin >> tui->category & 1))
        td_tui_put_share(tui, row, r->values[td_tui_metric(tui)], td_tui_metric(tui));
    else if (c->category)
        td_canvas_move(canvas, row, TD_TUI_SHARE_WIDTH);
    td_tui_put_share(tui, row, r->values[tui->primary], tui->primary);
    if (c->error) {
        const double percent = td_row_error(&tui->rows, r) * 100;

        snprintf(text, sizeof(text), percent < 0.095 ? "%.2f" : "%.1f", percent);
        td_canvas_put_right(canvas, row, TD_TONE_DIM, GAP + 4, text);
    }
    if (c->time)
        put_time(tui, row, r->values[TD_METRIC_TIME_NS]);
    if (c->slots)
        td_canvas_put_right(canvas, row, TD_TONE_PLAIN, c->slots,
                            td_format_count(text, sizeof(text), r->values[TD_METRIC_SLOTS]));
    for (int n = 0; n < TD_NODE_COUNT && c->nodes; n++) {
        const enum td_tma_node node = (enum td_tma_node)n;

        if (td_tma_info(node)->level == 1 && td_tui_has(tui, node))
            td_tui_put_node(tui, row, node, td_row_node_share(r, node), thin >> n & 1);
    }
}

static void draw(struct td_tui *tui, const struct td_tui_page *page, size_t index, unsigned row)
{
    const struct columns c = lay_out(tui);
    const struct td_row *r = row_at(tui, index);
    struct td_canvas *canvas = &tui->canvas;
    const struct td_style style = td_canvas_style(canvas);
    char name[TD_TUI_TEXT], text[TD_TUI_TEXT];

    (void)page;
    draw_costs(tui, r, &c, row);
    const unsigned at = td_canvas_used(canvas, row);
    if (c.mostly) {
        td_mostly_text(text, sizeof(text), c.mostly - GAP, tui->measure, r->values,
                       td_row_thin(&tui->rows, r));
        td_canvas_move(canvas, row, at + GAP);
        td_canvas_put(canvas, row, TD_TONE_PLAIN, text);
    }
    td_canvas_move(canvas, row, at + c.mostly + GAP);
    td_tui_name(tui->model, r->function, r->module, name, sizeof(name));
    const unsigned used = td_canvas_used(canvas, row) + c.module;
    td_fit_name(&style, text, sizeof(text), name,
                canvas->columns > used ? canvas->columns - used : 1);
    td_canvas_put(canvas, row, r->function == TD_NONE ? TD_TONE_DIM : TD_TONE_PLAIN, text);
    if (c.module) {
        td_canvas_move(canvas, row, canvas->columns - c.module + GAP);
        td_canvas_put(canvas, row, TD_TONE_DIM, td_module_name(tui->model, r->module));
    }
}

static void text_of(const struct td_tui *tui, const struct td_tui_page *page, size_t index,
                    char *dst, size_t size)
{
    (void)page;
    td_tui_name(tui->model, row_at(tui, index)->function, row_at(tui, index)->module, dst, size);
}

/* The name in full, and where it is from. */
static void detail(struct td_tui *tui, const struct td_tui_page *page, unsigned row)
{
    const struct td_row *r = row_at(tui, page->selected);
    const struct td_style style = td_canvas_style(&tui->canvas);
    const unsigned columns = tui->canvas.columns;
    char name[TD_TUI_TEXT], place[TD_TUI_TEXT], text[TD_TUI_TEXT];

    td_tui_name(tui->model, r->function, r->module, name, sizeof(name));
    snprintf(place, sizeof(place), "%s", td_module_name(tui->model, r->module));
    if (r->function != TD_NONE && td_model_function(tui->model, r->function)->file) {
        const struct td_function *f = td_model_function(tui->model, r->function);

        snprintf(place, sizeof(place), "%s:%" PRIu32, td_model_string(tui->model, f->file),
                 f->line);
    }
    td_fit_name(&style, text, sizeof(text), name, columns * 3 / 5);
    td_canvas_put(&tui->canvas, row, TD_TONE_NOTE, text);
    td_canvas_put(&tui->canvas, row, TD_TONE_NOTE, "  ");
    const unsigned used = td_canvas_used(&tui->canvas, row);
    td_fit_path(&style, text, sizeof(text), place, columns > used ? columns - used : 1);
    td_canvas_put(&tui->canvas, row, TD_TONE_DIM, text);
}

static void open_row(struct td_tui *tui, struct td_tui_page *page)
{
    const struct td_row *r = row_at(tui, page->selected);

    td_tui_open_code(tui, r->function, r->module);
}

const struct td_tui_page_ops td_tui_functions = {.name = "functions",
                                                 .build = build,
                                                 .title = title,
                                                 .headings = headings,
                                                 .draw = draw,
                                                 .text = text_of,
                                                 .detail = detail,
                                                 .open = open_row};
