/* SPDX-License-Identifier: MIT */
#include "report/view/tree.h"

#include <string.h>

#include "base/text.h"
#include "report/view/table/units.h"

#define BAR_WIDTH   20
#define BAR_LEAST   4 /* a shorter one shows nothing */
#define SHARE_WIDTH 6 /* of a column, with the blanks before it */
#define ERROR_WIDTH 7
#define TIME_WIDTH  10

static const char *const words[] = {
    [TD_STANDING_WORK] = "useful", [TD_STANDING_UNSURE] = "not sure", [TD_STANDING_HIGH] = "high"};

static void print_bar(const struct td_style *style, double share, unsigned width, bool to_end)
{
    const unsigned full = share < 1 ? (unsigned)(share * width + 0.5) : width;

    for (unsigned i = 0; i < full && i < width; i++)
        fputs(style->utf8 ? "\xe2\x96\x88" : "#", style->out);
    for (unsigned i = full; i < width && to_end; i++)
        fputc(' ', style->out);
}

/* What figures and words leave of the line. */
static unsigned bar_width(const struct td_tree *tree, unsigned taken, const struct td_style *style)
{
    unsigned longest = 0;

    for (size_t i = 0; i < tree->len; i++) {
        const char *word = words[td_tree_standing(&tree->at[i])];
        const unsigned width = word ? 2 + (unsigned)strlen(word) : 0;

        longest = width > longest ? width : longest;
    }
    taken += 2 + longest;
    if (style->full || taken + BAR_WIDTH <= style->width)
        return BAR_WIDTH;
    return taken + BAR_LEAST <= style->width ? style->width - taken : 0;
}

/* Of the names with their indents, of the nodes that are shown. */
static int names_width(const struct td_tree *tree)
{
    int width = 26;

    for (size_t i = 0; i < tree->len; i++) {
        const struct td_tma_info *info = td_tma_info(tree->at[i].node);
        const int wanted = 2 * info->level + (int)strlen(info->id);

        width = wanted > width ? wanted : width;
    }
    return width;
}

static void print_node(const struct td_tree_node *n, int width, unsigned bar, bool errors,
                       uint64_t time_ns, const struct td_style *style)
{
    const struct td_tma_info *info = td_tma_info(n->node);
    const enum td_standing standing = td_tree_standing(n);
    const enum td_tone tone = standing == TD_STANDING_HIGH ? TD_TONE_HOT : TD_TONE_PLAIN;
    const int indent = 2 * info->level;

    td_style_begin(style, tone);
    fprintf(style->out, "%*s%-*s %5.1f", indent, "", width - indent, info->id, 100 * n->share);
    td_style_end(style, tone);
    if (errors)
        fprintf(style->out, 100 * n->error < 0.095 ? "  %5.2f" : "  %5.1f", 100 * n->error);
    if (time_ns > 0) {
        const struct td_time_unit unit = td_time_unit_of(style, time_ns);

        fprintf(style->out, "  %8.*f", unit.decimals, (double)time_ns * n->share * unit.per_ns);
    }
    if (bar > 0 && (words[standing] || n->share * bar >= 0.5))
        fputs("  ", style->out);
    print_bar(style, n->share, bar, words[standing] != NULL);
    if (words[standing])
        fprintf(style->out, "  %s", words[standing]);
    if (n->run)
        fprintf(style->out, "  run %u", n->run);
    fputc('\n', style->out);
}

void td_tree_print(const struct td_tree *tree, const char *unit, uint64_t time_ns,
                   const struct td_style *style)
{
    const int width = names_width(tree);
    bool errors = false;

    for (size_t i = 0; i < tree->len; i++)
        errors = errors || tree->at[i].error > 0;
    const unsigned taken =
        (unsigned)width + SHARE_WIDTH + (errors ? ERROR_WIDTH : 0) + (time_ns > 0 ? TIME_WIDTH : 0);
    const unsigned bar = bar_width(tree, taken, style);
    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "  %-*s %5s", width - 2, unit, "%");
    if (errors)
        fprintf(style->out, "  %*s", style->utf8 ? 6 : 5, td_style_plus_minus(style));
    if (time_ns > 0) {
        const char *unit_name = td_time_unit_of(style, time_ns).name;

        fprintf(style->out, "  %*s", 8 + (int)(strlen(unit_name) - td_text_width(unit_name)),
                unit_name);
    }
    fputc('\n', style->out);
    td_style_end(style, TD_TONE_HEADING);
    for (size_t i = 0; i < tree->len; i++)
        print_node(&tree->at[i], width, bar, errors, time_ns, style);
}
