/* SPDX-License-Identifier: MIT */
/* A diff as GitHub-flavoured Markdown, for a comment on a change. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/view/diff/diff.h"
#include "report/view/diff/words.h"

#define PLUS_MINUS "\xc2\xb1"

/* Text from outside in running text: nothing of it is markup. */
static void plain(FILE *out, const char *text)
{
    char safe[TD_DIFF_TEXT];

    td_text_safe(safe, sizeof(safe), text, strlen(text));
    for (const char *p = safe; *p; p++) {
        if (strchr("\\`*_{}[]<>()#+-!|~&@", *p) && *p != '-' && *p != '+' && *p != '(' && *p != ')')
            fputc('\\', out);
        fputc(*p, out);
    }
}

/* A name in a cell, as code. A grave accent would end the code, a bar the cell. */
static void code(FILE *out, const char *text)
{
    char safe[TD_DIFF_TEXT];

    td_text_safe(safe, sizeof(safe), text, strlen(text));
    fputc('`', out);
    for (const char *p = safe; *p; p++) {
        if (*p == '|')
            fputc('\\', out);
        fputc(*p == '`' ? '\'' : *p, out);
    }
    fputc('`', out);
}

struct writing {
    const struct td_diff *diff;
    const struct td_diff_view *view;
    struct td_diff_scale scale;
    FILE *out;
};

static void headings(const struct writing *w, const char *title)
{
    char label[TD_DIFF_LABEL];

    fprintf(w->out, "\n| %s%s%s | OLD |", title, w->scale.unit[0] ? ", " : "", w->scale.unit);
    for (size_t c = 1; c < w->diff->column_count; c++)
        fprintf(w->out, " %s | change | " PLUS_MINUS " | of OLD |", td_diff_label(label, c));
    fputs("\n|:---|---:|", w->out);
    for (size_t c = 1; c < w->diff->column_count; c++)
        fputs("---:|---:|---:|:---|", w->out);
    fputc('\n', w->out);
}

static void figures(const struct writing *w, const struct td_diff_row *row, unsigned what)
{
    char text[TD_DIFF_TEXT];

    fprintf(w->out, " %s |",
            td_diff_figure(text, sizeof(text), &w->scale,
                           td_diff_cell_of(w->diff, row, 0, what, w->view->unit)->value, false));
    for (size_t c = 1; c < w->diff->column_count; c++) {
        const struct td_diff_cell *cell = td_diff_cell_of(w->diff, row, c, what, w->view->unit);

        fprintf(w->out, " %s |", td_diff_figure(text, sizeof(text), &w->scale, cell->value, false));
        fprintf(w->out, " %s |",
                td_diff_figure(text, sizeof(text), &w->scale, cell->change.delta, true));
        fprintf(w->out, " %s |",
                td_diff_figure(text, sizeof(text), &w->scale, cell->change.error, false));
        fprintf(w->out, " %s",
                td_diff_remark(text, sizeof(text), w->diff, row, c, what, w->view->unit));
        if (what == TD_DIFF_WHOLE && row->kind != TD_DIFF_TOTAL && cell->change.significant &&
            td_diff_causes_text(text, sizeof(text), w->diff, row, c, w->view->unit)[0])
            fprintf(w->out, ": %s", text);
        fputs(" |", w->out);
    }
    fputc('\n', w->out);
}

static void write_tree(const struct writing *w)
{
    headings(w, w->diff->nodes ? "Top-down" : "Total");
    fputs("| **total** |", w->out);
    figures(w, &w->diff->total, TD_DIFF_WHOLE);
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        /* Leaves alone: Markdown has no tree. */
        if (!(w->diff->leaves >> n & 1) ||
            !td_diff_is_node_shown(w->diff, (enum td_tma_node)n, w->view->unit))
            continue;
        fprintf(w->out, "| %s |", td_tma_info((enum td_tma_node)n)->id);
        figures(w, &w->diff->total, TD_DIFF_NODE(n));
    }
}

static void write_rows(const struct writing *w, const struct td_diff_rows *rows, const char *title)
{
    const size_t shown = td_diff_shown(w->diff, rows, w->view->rows);
    char name[TD_DIFF_TEXT];

    if (shown == 0)
        return;
    headings(w, title);
    for (size_t i = 0; i < shown; i++) {
        fputs("| ", w->out);
        code(w->out, td_diff_name(name, sizeof(name), w->diff, &rows->at[i]));
        fputs(" |", w->out);
        figures(w, &rows->at[i], TD_DIFF_WHOLE);
    }
}

/* Words made by `write`, with the marks that make them bold left in. */
static void write_verdict(const struct writing *w, size_t column)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = td_xmemstream(&text, &size);

    td_diff_verdict_words(out, w->diff, column, PLUS_MINUS, "\001");
    fclose(out);
    char *next = NULL;
    for (char *part = text; part; part = next) {
        next = strchr(part, '\001');
        if (next)
            *next++ = '\0';
        plain(w->out, part);
        fputs(next ? "**" : "\n\n", w->out);
    }
    free(text);
}

static void write_column(const struct writing *w, size_t column)
{
    char *text = NULL;
    size_t size = 0;
    char label[TD_DIFF_LABEL];
    FILE *out = td_xmemstream(&text, &size);

    td_diff_column_words(out, w->diff, column, PLUS_MINUS);
    fclose(out);
    fprintf(w->out, "- %s: ", td_diff_label(label, column));
    plain(w->out, text);
    fputc('\n', w->out);
    free(text);
}

void td_diff_markdown(const struct td_diff *diff, const struct td_diff_view *view, FILE *out)
{
    const struct writing w = {
        .diff = diff, .view = view, .scale = td_diff_scale_of(diff, view->unit), .out = out};
    char *text = NULL;

    for (size_t i = 0; i < diff->first_count; i++) {
        fputs("**Note:** ", out);
        plain(out, diff->notes[i]);
        fputs("\n\n", out);
    }
    for (size_t c = 1; c < diff->column_count; c++)
        write_verdict(&w, c);
    for (size_t c = 0; c < diff->column_count; c++)
        write_column(&w, c);
    write_tree(&w);
    write_rows(&w, &diff->functions, "Functions");
    write_rows(&w, &diff->lines, "Lines");
    fputc('\n', out);
    for (size_t i = 0; (text = td_diff_method_words(diff, i, PLUS_MINUS)); i++) {
        fputs("- ", out);
        plain(out, text);
        fputc('\n', out);
        free(text);
    }
}
