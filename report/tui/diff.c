/* SPDX-License-Identifier: MIT */
/* What changed since another profile, function by function. */
#include "report/query/diff/diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/tui/tui_priv.h"
#include "report/view/diff/words.h"
#include "report/view/table/table.h"

#define FIGURE_WIDTH 10 /* with the blanks before it */
#define REMARK_WIDTH 17 /* "not significant" */
#define NAME_MIN     16

struct comparison {
    struct td_diff diff;
    bool made;
    struct td_err err; /* why not */
};

static struct comparison *comparison_of(const struct td_tui_page *page)
{
    return page->data;
}

/* The first row is the total. */
static const struct td_diff_row *row_at(const struct td_tui_page *page, size_t index)
{
    const struct td_diff *diff = &comparison_of(page)->diff;

    return index == 0 ? &diff->total : &diff->functions.at[index - 1];
}

/* The category that is looked at, where both profiles have it. */
static unsigned what_of(const struct td_tui *tui, const struct td_diff *diff)
{
    if (tui->category == TD_NODE_NONE || !td_diff_has(diff, TD_DIFF_NODE(tui->category)))
        return TD_DIFF_WHOLE;
    return TD_DIFF_NODE(tui->category);
}

/* The other profile is the old one, as in `tdreport diff OLD NEW`. */
static void build(struct td_tui *tui, struct td_tui_page *page)
{
    struct comparison *c = td_xcalloc(1, sizeof(*c));
    const char *why = "there is nothing to compare with";

    page->data = c;
    page->len = 0;
    c->err = (struct td_err)TD_ERR_INIT;
    const struct td_measure *other =
        tui->host.other ? tui->host.other(tui->host.ctx, tui->other, &why) : NULL;
    if (!other) {
        td_fail(&c->err, TD_ENODATA, "%s", why);
        return;
    }
    const struct td_diff_side sides[2] = {
        {.name = tui->other, .runs = &other, .run_count = 1},
        {.name = tui->opts.name, .runs = &tui->measure, .run_count = 1}};
    const struct td_diff_opts opts = {.no_inline = tui->opts.no_inline, .no_lines = true};
    c->made = td_diff_init(&c->diff, sides, 2, &opts, &c->err) == TD_OK;
    page->len = c->made ? c->diff.functions.len + 1 : 0;
}

static void release(struct td_tui_page *page)
{
    struct comparison *c = comparison_of(page);

    if (c && c->made)
        td_diff_release(&c->diff);
    free(c);
    page->data = NULL;
}

static void title(const struct td_tui *tui, const struct td_tui_page *page, char *dst, size_t size)
{
    const struct comparison *c = comparison_of(page);

    if (!c->made) {
        snprintf(dst, size, "diff");
        return;
    }
    const struct td_diff_verdict verdict = td_diff_verdict_of(&c->diff, 1);
    const char *slash = strrchr(tui->other, '/');

    snprintf(dst, size, "since %s: %s%+.1f %% %s %.1f", slash ? slash + 1 : tui->other,
             verdict.significant ? "" : "not significant, ", 100 * verdict.change,
             tui->opts.utf8 ? "\xc2\xb1" : "+-", 100 * verdict.change_error);
}

/* Old and new leave their room to the name where it is short. */
static bool has_both(const struct td_tui *tui)
{
    return tui->canvas.columns >= 4 * FIGURE_WIDTH + REMARK_WIDTH + NAME_MIN;
}

static void headings(struct td_tui *tui, const struct td_tui_page *page, unsigned row)
{
    const struct comparison *c = comparison_of(page);
    const struct td_diff_scale scale = td_diff_scale_of(&c->diff, TD_DIFF_COST);
    struct td_canvas *canvas = &tui->canvas;
    char text[32];

    if (!c->made)
        return;
    if (has_both(tui)) {
        snprintf(text, sizeof(text), "OLD %s", scale.unit);
        td_canvas_put_right(canvas, row, TD_TONE_HEADING, FIGURE_WIDTH, text);
        snprintf(text, sizeof(text), "NEW %s", scale.unit);
        td_canvas_put_right(canvas, row, TD_TONE_HEADING, FIGURE_WIDTH, text);
    }
    td_canvas_put_right(canvas, row, TD_TONE_HEADING, FIGURE_WIDTH, "change");
    td_canvas_put_right(canvas, row, TD_TONE_HEADING, FIGURE_WIDTH,
                        tui->opts.utf8 ? "\xc2\xb1" : "+-");
    td_canvas_put(canvas, row, TD_TONE_HEADING, "  of OLD");
    td_canvas_move(canvas, row, td_canvas_used(canvas, row) + REMARK_WIDTH - 8 + 2);
    td_canvas_put(canvas, row, TD_TONE_HEADING, "function");
}

static void text_of(const struct td_tui *tui, const struct td_tui_page *page, size_t index,
                    char *dst, size_t size)
{
    (void)tui;
    td_diff_name(dst, size, &comparison_of(page)->diff, row_at(page, index));
}

static void put_figure(struct td_tui *tui, unsigned row, const struct td_diff_scale *scale,
                       double value, bool sign, enum td_tone tone)
{
    char text[48] = "";

    if (!isnan(value))
        td_diff_figure(text, sizeof(text), scale, value, sign);
    td_canvas_put_right(&tui->canvas, row, tone, FIGURE_WIDTH, text[0] ? text : " ");
}

static void draw(struct td_tui *tui, const struct td_tui_page *page, size_t index, unsigned row)
{
    const struct td_diff *diff = &comparison_of(page)->diff;
    const struct td_diff_row *r = row_at(page, index);
    const unsigned what = what_of(tui, diff);
    const struct td_diff_scale scale = td_diff_scale_of(diff, TD_DIFF_COST);
    const struct td_diff_cell *old = td_diff_cell_of(diff, r, 0, what, TD_DIFF_COST);
    const struct td_diff_cell *now = td_diff_cell_of(diff, r, 1, what, TD_DIFF_COST);
    const struct td_style style = td_canvas_style(&tui->canvas);
    char name[TD_TUI_TEXT], text[TD_TUI_TEXT] = "";

    if (!old || !now)
        return;
    const struct td_change *change = &now->change;
    const enum td_tone tone = !change->significant ? TD_TONE_DIM
                              : change->delta > 0  ? TD_TONE_HOT
                                                   : TD_TONE_NOTE;
    if (has_both(tui)) {
        put_figure(tui, row, &scale, old->thin ? NAN : old->value, false, TD_TONE_PLAIN);
        put_figure(tui, row, &scale, now->thin ? NAN : now->value, false, TD_TONE_PLAIN);
    }
    put_figure(tui, row, &scale, change->delta, true, tone);
    put_figure(tui, row, &scale, change->error, false, TD_TONE_DIM);
    td_diff_remark(text, sizeof(text), diff, r, 1, what, TD_DIFF_COST);
    td_canvas_put(&tui->canvas, row, TD_TONE_PLAIN, "  ");
    const unsigned at = td_canvas_used(&tui->canvas, row);
    td_canvas_put(&tui->canvas, row, tone, text);
    td_canvas_move(&tui->canvas, row, at + REMARK_WIDTH);
    text_of(tui, page, index, name, sizeof(name));
    const unsigned used = td_canvas_used(&tui->canvas, row);
    td_fit_name(&style, text, sizeof(text), name,
                tui->canvas.columns > used ? tui->canvas.columns - used : 1);
    td_canvas_put(&tui->canvas, row, index == 0 ? TD_TONE_HEADING : TD_TONE_PLAIN, text);
}

/* What made the difference; or what to know before believing it. */
static void detail(struct td_tui *tui, const struct td_tui_page *page, unsigned row)
{
    const struct td_diff *diff = &comparison_of(page)->diff;
    char text[TD_TUI_TEXT], name[TD_TUI_TEXT];

    if (page->selected == 0 && diff->note_count > 0) {
        td_canvas_put(&tui->canvas, row, TD_TONE_NOTE, diff->notes[0]);
        return;
    }
    text_of(tui, page, page->selected, name, sizeof(name));
    td_diff_causes_text(text, sizeof(text), diff, row_at(page, page->selected), 1, TD_DIFF_COST);
    td_canvas_putf(&tui->canvas, row, TD_TONE_NOTE, "%s%s%s", text, text[0] ? "  " : "", name);
}

static void open_row(struct td_tui *tui, struct td_tui_page *page)
{
    char name[TD_TUI_TEXT];

    if (page->selected == 0)
        return;
    text_of(tui, page, page->selected, name, sizeof(name));
    if (!td_tui_open_named(tui, name))
        td_tui_say(tui, "%s is not in this profile any more", name);
}

const struct td_tui_page_ops td_tui_diff = {.name = "diff",
                                            .build = build,
                                            .release = release,
                                            .title = title,
                                            .headings = headings,
                                            .draw = draw,
                                            .text = text_of,
                                            .detail = detail,
                                            .open = open_row};

void td_tui_open_diff(struct td_tui *tui)
{
    const struct td_tui_page *page = td_tui_push(tui, &td_tui_diff, TD_NONE, TD_NONE, false);

    if (comparison_of(page)->made)
        return;
    td_tui_say(tui, "%s", comparison_of(page)->err.text);
    td_tui_pop(tui);
}
