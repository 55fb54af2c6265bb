/* SPDX-License-Identifier: MIT */
#include "report/view/diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/view/diff/words.h"

#define FIGURE_WIDTH 9
#define REMARK_WIDTH 16
#define NAME_LEAST   24 /* the widest node, in its place in the tree */

struct printing {
    const struct td_diff *diff;
    const struct td_diff_view *view;
    const struct td_style *style;
    struct td_diff_scale scale;
    unsigned name_width;
};

static void print_verdict(const struct printing *p, size_t column)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = td_xmemstream(&text, &size);

    td_diff_verdict_words(out, p->diff, column, td_style_plus_minus(p->style), "");
    fclose(out);
    td_style_begin(p->style, TD_TONE_HEADING);
    td_style_wrap(p->style, text, 0, 0);
    td_style_end(p->style, TD_TONE_HEADING);
    free(text);
}

static void print_columns(const struct printing *p)
{
    for (size_t c = 0; c < p->diff->column_count; c++) {
        char *text = NULL;
        size_t size = 0;
        char label[TD_DIFF_LABEL];
        FILE *out = td_xmemstream(&text, &size);

        td_diff_column_words(out, p->diff, c, td_style_plus_minus(p->style));
        fclose(out);
        td_style_paragraph(p->style, td_diff_label(label, c), TD_TONE_DIM, text);
        free(text);
    }
}

/* Left in its columns; the text is cut to them, as a function's name or at its end. */
static void cell_left(const struct printing *p, const char *text, bool is_name, unsigned width)
{
    char fitted[TD_DIFF_TEXT];

    if (is_name)
        td_fit_name(p->style, fitted, sizeof(fitted), text, width);
    else
        td_fit_text(p->style, fitted, sizeof(fitted), text, width);
    const size_t used = td_text_width(fitted);
    fputs(fitted, p->style->out);
    fprintf(p->style->out, "%*s", (int)(used < width ? width - used : 0), "");
}

static void headings(const struct printing *p, const char *title)
{
    const struct td_style *s = p->style;
    char text[64], label[TD_DIFF_LABEL];

    snprintf(text, sizeof(text), "%s%s%s", title, p->scale.unit[0] ? ", " : "", p->scale.unit);
    td_style_begin(s, TD_TONE_HEADING);
    cell_left(p, text, false, p->name_width);
    if (p->diff->column_count == 2) {
        fprintf(s->out, "%*s%*s%*s%*s  of OLD", FIGURE_WIDTH, "OLD", FIGURE_WIDTH, "NEW",
                FIGURE_WIDTH + 1, "change", s->utf8 ? FIGURE_WIDTH : FIGURE_WIDTH - 1,
                td_style_plus_minus(s));
    } else {
        fprintf(s->out, "%*s", FIGURE_WIDTH, "OLD");
        for (size_t c = 1; c < p->diff->column_count; c++)
            fprintf(s->out, "%*s%*s", FIGURE_WIDTH, td_diff_label(label, c), FIGURE_WIDTH,
                    "change");
    }
    td_style_end(s, TD_TONE_HEADING);
    fputc('\n', s->out);
}

static void figure(const struct printing *p, double value, bool sign, unsigned width)
{
    char text[64];

    fprintf(p->style->out, "%*s", (int)width,
            td_diff_figure(text, sizeof(text), &p->scale, value, sign));
}

/* What a column holds; where the row is not, nothing was spent. */
static void value_of(const struct printing *p, const struct td_diff_row *row, size_t column,
                     unsigned what)
{
    const struct td_diff_cell *cell = td_diff_cell_of(p->diff, row, column, what, p->view->unit);
    const enum td_diff_status status = td_diff_status_of(row, column > 0 ? column : 1);
    const bool nowhere = column > 0 ? status == TD_DIFF_GONE || status == TD_DIFF_IN_NONE
                                    : !row->places[0].there && row->kind != TD_DIFF_TOTAL &&
                                          row->kind != TD_DIFF_REST;

    figure(p, nowhere ? NAN : cell->value, false, FIGURE_WIDTH);
}

static enum td_tone tone_of(const struct td_change *change)
{
    return !change->significant ? TD_TONE_DIM : change->delta > 0 ? TD_TONE_HOT : TD_TONE_NOTE;
}

/* A remark in the columns of a figure. */
static void shorten(char remark[64], enum td_diff_status status, unsigned what)
{
    const char *word = strcmp(remark, "not significant") == 0            ? "n. s."
                       : what == TD_DIFF_WHOLE && status == TD_DIFF_GONE ? "gone"
                       : what == TD_DIFF_WHOLE && status == TD_DIFF_NEW  ? "new"
                                                                         : NULL;

    if (word)
        snprintf(remark, 64, "%s", word);
}

static void print_figures(const struct printing *p, const struct td_diff_row *row, unsigned what)
{
    const struct td_style *s = p->style;
    char remark[64];

    value_of(p, row, 0, what);
    for (size_t c = 1; c < p->diff->column_count; c++) {
        const struct td_change *change =
            &td_diff_cell_of(p->diff, row, c, what, p->view->unit)->change;

        value_of(p, row, c, what);
        td_diff_remark(remark, sizeof(remark), p->diff, row, c, what, p->view->unit);
        if (p->diff->column_count > 2)
            shorten(remark, change->significant ? td_diff_status_of(row, c) : TD_DIFF_IN_BOTH,
                    what);
        if (p->diff->column_count == 2) {
            td_style_begin(s, tone_of(change));
            figure(p, change->delta, true, FIGURE_WIDTH + 1);
            td_style_end(s, tone_of(change));
            figure(p, change->error, false, FIGURE_WIDTH - 1);
            fprintf(s->out, "%s%s", remark[0] ? "  " : "", remark);
        } else {
            td_style_begin(s, tone_of(change));
            fprintf(s->out, "%*s", FIGURE_WIDTH, remark);
            td_style_end(s, tone_of(change));
        }
    }
    fputc('\n', s->out);
}

static void print_row(const struct printing *p, const struct td_diff_row *row)
{
    char name[TD_DIFF_TEXT], causes[TD_DIFF_TEXT];

    td_diff_name(name, sizeof(name), p->diff, row);
    cell_left(p, name, true, p->name_width - 1);
    fputc(' ', p->style->out);
    print_figures(p, row, TD_DIFF_WHOLE);
    if (p->diff->column_count > 2 || row->kind == TD_DIFF_TOTAL ||
        !td_diff_cell_of(p->diff, row, 1, TD_DIFF_WHOLE, TD_DIFF_COST)->change.significant ||
        !td_diff_causes_text(causes, sizeof(causes), p->diff, row, 1, p->view->unit)[0])
        return;
    td_style_begin(p->style, TD_TONE_DIM);
    fputs("    ", p->style->out);
    td_style_safe(p->style, causes, p->style->width - 4);
    td_style_end(p->style, TD_TONE_DIM);
    fputc('\n', p->style->out);
}

static void print_node(const struct printing *p, enum td_tma_node node)
{
    const struct td_tma_info *info = td_tma_info(node);
    char name[64];

    if (!td_diff_has(p->diff, TD_DIFF_NODE(node)) ||
        (p->view->rows > 0 && !td_diff_is_node_shown(p->diff, node, p->view->unit)))
        return;
    snprintf(name, sizeof(name), "%*s%s", 2 * info->level, "", info->id);
    cell_left(p, name, false, p->name_width - 1);
    fputc(' ', p->style->out);
    print_figures(p, &p->diff->total, TD_DIFF_NODE(node));
    for (int child = 0; child < TD_NODE_COUNT; child++) {
        if (td_tma_info((enum td_tma_node)child)->parent == node)
            print_node(p, (enum td_tma_node)child);
    }
}

static void print_tree(const struct printing *p)
{
    headings(p, p->diff->nodes ? "Top-down" : "Total");
    print_row(p, &p->diff->total);
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->level == 1)
            print_node(p, (enum td_tma_node)n);
    }
}

static void print_rest(const struct printing *p, const struct td_diff_rows *rows, size_t shown,
                       const char *what)
{
    char text[64];
    size_t rest = rows->len - shown;

    for (size_t i = shown; i < rows->len; i++)
        rest -= rows->at[i].kind == TD_DIFF_REST;
    if (shown >= rows->len)
        return;
    snprintf(text, sizeof(text), "%zu more %s", rest, what);
    if (rest == 0)
        snprintf(text, sizeof(text), "smaller %s", what);
    td_style_begin(p->style, TD_TONE_DIM);
    cell_left(p, text, false, p->name_width);
    fprintf(p->style->out, "%*s", FIGURE_WIDTH, "");
    for (size_t c = 1; c < p->diff->column_count; c++) {
        fprintf(p->style->out, "%*s", FIGURE_WIDTH, "");
        figure(p, td_diff_rest(p->diff, rows, shown, c, p->view->unit), true,
               p->diff->column_count == 2 ? FIGURE_WIDTH + 1 : FIGURE_WIDTH);
    }
    td_style_end(p->style, TD_TONE_DIM);
    fputc('\n', p->style->out);
}

static void print_rows(const struct printing *p, const struct td_diff_rows *rows, const char *title,
                       const char *what)
{
    const size_t shown = td_diff_shown(p->diff, rows, p->view->rows);

    if (rows->len == 0)
        return;
    fputc('\n', p->style->out);
    headings(p, title);
    for (size_t i = 0; i < shown; i++)
        print_row(p, &rows->at[i]);
    print_rest(p, rows, shown, what);
}

static void print_notes(const struct printing *p)
{
    char *text = NULL;

    fputc('\n', p->style->out);
    if (p->diff->column_count > 2)
        td_style_paragraph(p->style, "note", TD_TONE_DIM,
                           "Changes are since OLD, in % of its total; n. s.: not significant.");
    for (size_t i = 0; (text = td_diff_method_words(p->diff, i, td_style_plus_minus(p->style)));
         i++) {
        td_style_paragraph(p->style, "note", TD_TONE_DIM, text);
        free(text);
    }
}

void td_diff_print(const struct td_diff *diff, const struct td_diff_view *view,
                   const struct td_style *style)
{
    struct printing p = {
        .diff = diff, .view = view, .style = style, .scale = td_diff_scale_of(diff, view->unit)};
    const unsigned taken = diff->column_count == 2
                               ? 4 * FIGURE_WIDTH + REMARK_WIDTH + 2
                               : FIGURE_WIDTH * (2 * (unsigned)diff->column_count - 1);

    p.name_width = style->width > taken + NAME_LEAST ? style->width - taken : NAME_LEAST;
    p.name_width = p.name_width > 50 && !style->full ? 50 : p.name_width;
    for (size_t i = 0; i < diff->first_count; i++)
        td_style_paragraph(style, "note", TD_TONE_HOT, diff->notes[i]);
    for (size_t c = 1; c < diff->column_count; c++)
        print_verdict(&p, c);
    fputc('\n', style->out);
    print_columns(&p);
    fputc('\n', style->out);
    print_tree(&p);
    print_rows(&p, &diff->functions, "Functions", "functions");
    print_rows(&p, &diff->lines, "Lines", "lines");
    print_notes(&p);
}

char *td_diff_gate_words(const struct td_diff *diff, const char *text, const struct td_gate *gate,
                         const struct td_gate_result *result, const char *plus_minus)
{
    const struct td_diff_scale scale = td_diff_scale_of(diff, TD_DIFF_COST);
    char name[TD_DIFF_TEXT], safe[TD_DIFF_TEXT], label[TD_DIFF_LABEL], change[64], error[64];
    const enum td_tma_node node = (enum td_tma_node)((int)result->what - 1);

    if (!result->beyond)
        return NULL;
    td_diff_name(name, sizeof(name), diff, result->row);
    td_text_safe(safe, sizeof(safe), name, strlen(name));
    if (gate->is_part && !isfinite(result->change)) {
        snprintf(change, sizeof(change), "is new");
        error[0] = '\0';
    } else if (gate->is_part) {
        snprintf(change, sizeof(change), "changed by %+.1f %%", 100 * result->change);
        snprintf(error, sizeof(error), " %s %.1f", plus_minus, 100 * result->error);
    } else {
        char figure_text[32];

        snprintf(change, sizeof(change), "changed by %s %s",
                 td_diff_figure(figure_text, sizeof(figure_text), &scale, result->change, true),
                 scale.unit);
        snprintf(error, sizeof(error), " %s %s", plus_minus,
                 td_diff_figure(figure_text, sizeof(figure_text), &scale, result->error, false));
    }
    return td_xasprintf(
        "gate '%s' %s: %s%s%s %s%s in %s%s", text, result->failed ? "failed" : "passed", safe,
        result->what == TD_DIFF_WHOLE ? "" : ".",
        result->what == TD_DIFF_WHOLE ? "" : td_tma_info(node)->id, change, error,
        td_diff_label(label, result->column), result->failed ? "" : ", which may be chance");
}
