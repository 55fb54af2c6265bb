/* SPDX-License-Identifier: MIT */
/* The cells that more than one screen has. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/attribution/stats.h"
#include "report/tui/tui_priv.h"
#include "report/view/table/margin.h"
#include "report/view/table/table.h"

bool td_tui_has(const struct td_tui *tui, enum td_tma_node node)
{
    return tui->measure && tui->measure->values[TD_METRIC_FIRST_NODE + (int)node] != NULL;
}

void td_tui_put_share(struct td_tui *tui, unsigned row, uint64_t value, enum td_metric metric)
{
    const double share = td_ratio(value, tui->measure->totals[metric]);
    char text[16] = "";

    if (value > 0)
        snprintf(text, sizeof(text), "%.1f", 100 * share);
    td_canvas_put_right(&tui->canvas, row,
                        share < TD_MARGIN_SHARE_MIN ? TD_TONE_PLAIN : td_style_heat(share),
                        TD_TUI_SHARE_WIDTH, text[0] ? text : " ");
}

unsigned td_tui_node_width(enum td_tma_node node)
{
    const unsigned width = (unsigned)strlen(td_node_heading(node));

    return 2 + (width < 3 ? 3 : width);
}

void td_tui_put_node(struct td_tui *tui, unsigned row, enum td_tma_node node, double share,
                     bool blank)
{
    char text[16] = " ";
    enum td_tone tone = share >= 0.5 ? TD_TONE_HOT : share >= 0.2 ? TD_TONE_WARM : TD_TONE_PLAIN;

    if (!blank && share > 0)
        snprintf(text, sizeof(text), share < 0.00995 ? "<1" : "%.0f", share * 100);
    if (td_tma_retires(node))
        tone = TD_TONE_PLAIN;
    td_canvas_put_right(&tui->canvas, row, tone, td_tui_node_width(node), text);
}
