/* SPDX-License-Identifier: MIT */
#include "report/view/tree.h"

#define BAR_WIDTH 20

static void print_bar(const struct td_style *style, double share)
{
    const unsigned full = (unsigned)(share * BAR_WIDTH + 0.5);

    for (unsigned i = 0; i < BAR_WIDTH; i++)
        fputs(i >= full ? " " : style->utf8 ? "\xe2\x96\x88" : "#", style->out);
}

static void print_node(const struct td_tree_node *n, uint64_t time_ns, const struct td_style *style)
{
    const struct td_tma_info *info = td_tma_info(n->node);
    const enum td_tone tone = n->flagged ? TD_TONE_HOT : TD_TONE_PLAIN;
    const int indent = 2 * (info->level - 1);

    td_style_begin(style, tone);
    fprintf(style->out, "%*s%-*s %5.1f", indent, "", 24 - indent, info->id, 100 * n->share);
    td_style_end(style, tone);
    if (n->error > 0)
        fprintf(style->out, " %s%.1f", td_style_plus_minus(style), 100 * n->error);
    if (time_ns > 0)
        fprintf(style->out, "  %8.3f", (double)time_ns * n->share * 1e-9);
    fputs("  ", style->out);
    print_bar(style, n->share);
    if (n->flagged) {
        fputs(" ", style->out);
        td_style_safe(style, info->meaning, style->width > 66 ? style->width - 66 : 1);
    }
    fputc('\n', style->out);
}

void td_tree_print(const struct td_tree *tree, const char *unit, uint64_t time_ns,
                   const struct td_style *style)
{
    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "%-24s %5s%s\n", unit, "%", time_ns > 0 ? "   seconds" : "");
    td_style_end(style, TD_TONE_HEADING);
    for (size_t i = 0; i < tree->len; i++)
        print_node(&tree->at[i], time_ns, style);
}
