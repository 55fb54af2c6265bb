/* SPDX-License-Identifier: MIT */
#include "report/view/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BAR_WIDTH   20
#define LABEL_WIDTH 10

static void print_bar(const struct td_style *style, double share, bool to_end)
{
    const unsigned full = (unsigned)(share * BAR_WIDTH + 0.5);

    for (unsigned i = 0; i < full && i < BAR_WIDTH; i++)
        fputs(style->utf8 ? "\xe2\x96\x88" : "#", style->out);
    for (unsigned i = full; i < BAR_WIDTH && to_end; i++)
        fputc(' ', style->out);
}

static void print_node(const struct td_tree_node *n, uint64_t time_ns, const struct td_style *style)
{
    const struct td_tma_info *info = td_tma_info(n->node);
    const enum td_tone tone = n->flagged ? TD_TONE_HOT : TD_TONE_PLAIN;
    const int indent = 2 * info->level;

    td_style_begin(style, tone);
    fprintf(style->out, "%*s%-*s %5.1f", indent, "", 26 - indent, info->id, 100 * n->share);
    td_style_end(style, tone);
    if (n->error > 0)
        fprintf(style->out, "  %5.1f", 100 * n->error);
    if (time_ns > 0)
        fprintf(style->out, "  %8.3f", (double)time_ns * n->share * 1e-9);
    if (n->flagged || n->share * BAR_WIDTH >= 0.5)
        fputs("  ", style->out);
    print_bar(style, n->share, n->flagged);
    if (n->flagged)
        fputs("  high", style->out);
    fputc('\n', style->out);
}

void td_tree_print(const struct td_tree *tree, const char *unit, uint64_t time_ns,
                   const struct td_style *style)
{
    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "  %-24s %5s", unit, "%");
    if (tree->len > 0 && tree->at[0].error > 0)
        fprintf(style->out, "  %*s", style->utf8 ? 6 : 5, td_style_plus_minus(style));
    fputs(time_ns > 0 ? "   seconds\n" : "\n", style->out);
    td_style_end(style, TD_TONE_HEADING);
    for (size_t i = 0; i < tree->len; i++)
        print_node(&tree->at[i], time_ns, style);
}

/* Nothing below it stands out: the most that can be said about where its slots went. */
static bool is_deepest(const struct td_tree *tree, const struct td_tree_node *node)
{
    for (size_t i = 0; i < tree->len; i++) {
        if (tree->at[i].flagged && td_tma_info(tree->at[i].node)->parent == node->node)
            return false;
    }
    return node->flagged;
}

static void print_label(const struct td_style *style, const char *label, enum td_tone tone)
{
    td_style_begin(style, tone);
    fprintf(style->out, "%-*s", LABEL_WIDTH, label);
    td_style_end(style, tone);
}

static void print_low(const struct td_tree *tree, const struct td_style *style)
{
    char *text = NULL;

    for (size_t i = 0; i < tree->len; i++) {
        const struct td_tree_node *n = &tree->at[i];

        if (td_tma_info(n->node)->level != 1 || n->flagged || n->node == TD_NODE_RETIRING)
            continue;
        char *more =
            td_xasprintf("%s%s%s %.1f %% (below %.0f %%)", text ? text : "", text ? ", " : "",
                         td_tma_info(n->node)->id, 100 * n->share, 100 * n->threshold);
        free(text);
        text = more;
    }
    if (!text)
        return;
    print_label(style, "ruled out", TD_TONE_DIM);
    td_style_wrap(style, text, LABEL_WIDTH, LABEL_WIDTH);
    free(text);
}

void td_verdict_print(const struct td_tree *tree, uint64_t time_ns, const struct td_style *style)
{
    for (size_t i = 0; i < tree->len; i++) {
        const struct td_tree_node *n = &tree->at[i];
        const struct td_tma_info *info = td_tma_info(n->node);

        if (!is_deepest(tree, n))
            continue;
        char *text = time_ns
                         ? td_xasprintf("%s, %.1f %%, %.3f s: %s", info->id, 100 * n->share,
                                        (double)time_ns * n->share * 1e-9, info->meaning)
                         : td_xasprintf("%s, %.1f %%: %s", info->id, 100 * n->share, info->meaning);
        print_label(style, "high", TD_TONE_HOT);
        td_style_wrap(style, text, LABEL_WIDTH, LABEL_WIDTH);
        free(text);
    }
    print_low(tree, style);
}
