/* SPDX-License-Identifier: MIT */
#include "report/view/table/margin.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "formats/frames.h"
#include "report/attribution/stats.h"
#include "report/query/figures/tree.h"
#include "report/view/table/mostly.h"
#include "report/view/table/table.h"
#include "report/view/table/units.h"

#define TAB_WIDTH    8
#define SOURCE_BYTES 4096 /* of a line that are looked at */
#define SHARE_WIDTH  6
#define INLINED      "inlined"
#define MOSTLY       "mostly"
#define MOSTLY_BYTES 64
#define WEIGHT_MIN   0.01 /* of all: a smaller line brings no column */

/* The greatest share of the whole that a line lost to the node, where it is high in some line of
 * weight; else 0. */
static double reached(const struct td_margin *margin, const struct td_margin_lines *lines,
                      enum td_tma_node node)
{
    const enum td_metric metric = td_metric_of_node(node);
    double most = 0;
    bool high = false;

    for (size_t i = 0; i < lines->len; i++) {
        td_tma_set thin = 0;
        const uint64_t *values = lines->values_of(lines->of, i, &thin);

        if (!values || thin & td_tma_bit(node))
            continue;
        high =
            high || (td_margin_share(margin, values[margin->primary]) >= WEIGHT_MIN &&
                     td_ratio(values[metric], values[TD_METRIC_SLOTS]) >= td_tree_threshold(node));
        most = fmax(most, (double)values[metric]);
    }
    return high ? most : 0;
}

static void drop_node(struct td_margin *margin, size_t at)
{
    margin->node_count--;
    for (size_t i = at; i < margin->node_count; i++)
        margin->nodes[i] = margin->nodes[i + 1];
}

static void choose_nodes(struct td_margin *margin, int levels, const struct td_margin_lines *lines,
                         unsigned used)
{
    double most[TD_NODE_COUNT] = {0};

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const enum td_tma_node node = (enum td_tma_node)n;

        if (td_tma_info(node)->level > levels || !margin->measure->values[TD_METRIC_FIRST_NODE + n])
            continue;
        most[n] = reached(margin, lines, node);
        if (most[n] > 0)
            margin->nodes[margin->node_count++] = node;
    }
    while (!margin->style->full && margin->node_count > 0 &&
           td_margin_width(margin) + used + TD_TEXT_MIN > margin->style->width) {
        size_t least = 0;

        for (size_t i = 1; i < margin->node_count; i++) {
            if (most[margin->nodes[i]] < most[margin->nodes[least]])
                least = i;
        }
        drop_node(margin, least);
    }
}

/* As wide as its longest text; 0: of no line anything is known. */
static unsigned mostly_width(const struct td_margin *margin, const struct td_margin_lines *lines,
                             unsigned used)
{
    const unsigned taken = td_margin_width(margin) + 2 + used + TD_TEXT_MIN;
    const unsigned room = margin->style->full            ? TD_MOSTLY_WIDTH
                          : margin->style->width > taken ? margin->style->width - taken
                                                         : 0;
    const unsigned most = room < TD_MOSTLY_WIDTH ? room : TD_MOSTLY_WIDTH;
    size_t width = 0;
    char text[MOSTLY_BYTES];

    for (size_t i = 0; i < lines->len; i++) {
        td_tma_set thin = 0;
        const uint64_t *values = lines->values_of(lines->of, i, &thin);
        const size_t len =
            strlen(td_mostly_text(text, sizeof(text), most, margin->measure, values, thin));

        width = len > width ? len : width;
    }
    if (width > 0 && width < sizeof(MOSTLY) - 1)
        width = sizeof(MOSTLY) - 1;
    return (unsigned)width;
}

struct td_margin td_margin_of(const struct td_measure *measure, int levels, bool inlined,
                              const struct td_margin_lines *lines, unsigned used,
                              const struct td_style *style)
{
    struct td_margin margin = {.measure = measure,
                               .primary = td_measure_primary(measure),
                               .style = style,
                               .inlined = inlined};

    if (!measure->values[TD_METRIC_SLOTS])
        return margin;
    if (levels == 0)
        margin.mostly = mostly_width(&margin, lines, used);
    else
        choose_nodes(&margin, levels, lines, used);
    return margin;
}

unsigned td_margin_width(const struct td_margin *margin)
{
    unsigned width = SHARE_WIDTH;

    if (margin->inlined)
        width += 2 + sizeof(INLINED) - 1;
    if (margin->mostly)
        width += 2 + margin->mostly;
    for (size_t i = 0; i < margin->node_count; i++)
        width += 2 + (unsigned)strlen(td_node_heading(margin->nodes[i]));
    return width;
}

void td_margin_headings(const struct td_margin *margin)
{
    FILE *out = margin->style->out;

    fprintf(out, "%*s", SHARE_WIDTH, "%");
    if (margin->inlined)
        fputs("  " INLINED, out);
    if (margin->mostly)
        fprintf(out, "  %-*s", (int)margin->mostly, MOSTLY);
    for (size_t i = 0; i < margin->node_count; i++)
        fprintf(out, "  %s", td_node_heading(margin->nodes[i]));
}

double td_margin_share(const struct td_margin *margin, uint64_t value)
{
    return td_ratio(value, margin->measure->totals[margin->primary]);
}

/* Nothing for nothing. */
static void print_share(const struct td_margin *margin, double share, int width)
{
    const enum td_tone tone = td_style_heat(share);

    if (share < TD_MARGIN_SHARE_MIN) {
        fprintf(margin->style->out, "%*s", width, share > 0 ? "0.0" : "");
        return;
    }
    td_style_begin(margin->style, tone);
    fprintf(margin->style->out, "%*.1f", width, 100 * share);
    td_style_end(margin->style, tone);
}

void td_margin_print(const struct td_margin *margin, const uint64_t *values, uint64_t inlined,
                     td_tma_set thin)
{
    FILE *out = margin->style->out;
    char mostly[MOSTLY_BYTES];

    print_share(margin, td_margin_share(margin, values ? values[margin->primary] : 0), SHARE_WIDTH);
    if (margin->inlined) {
        fputs("  ", out);
        print_share(margin, td_margin_share(margin, inlined), sizeof(INLINED) - 1);
    }
    if (margin->mostly)
        fprintf(
            out, "  %-*s", (int)margin->mostly,
            td_mostly_text(mostly, sizeof(mostly), margin->mostly, margin->measure, values, thin));
    for (size_t i = 0; i < margin->node_count; i++) {
        const uint64_t value = values ? values[TD_METRIC_FIRST_NODE + (int)margin->nodes[i]] : 0;
        char text[16] = "";

        if (value > 0 && !(thin & UINT32_C(1) << margin->nodes[i]))
            snprintf(text, sizeof(text), "%.0f", 100 * td_ratio(value, values[TD_METRIC_SLOTS]));
        fprintf(out, "  %*s", (int)strlen(td_node_heading(margin->nodes[i])), text);
    }
}

void td_margin_costs(const struct td_margin *margin, const uint64_t *values, uint32_t module)
{
    const struct td_measure *m = margin->measure;
    const struct td_style *style = margin->style;
    const bool slots = margin->primary == TD_METRIC_SLOTS;
    char text[SOURCE_BYTES];

    fprintf(style->out, "%.1f %% of %s%s", 100 * td_margin_share(margin, values[margin->primary]),
            slots ? "all slots" : "the whole ", slots ? "" : td_metric_heading(m, margin->primary));
    if (m->values[TD_METRIC_TIME_NS])
        fprintf(style->out, ", %s",
                td_format_time(style, text, sizeof(text), (double)values[TD_METRIC_TIME_NS]));
    if (m->values[TD_METRIC_SAMPLES])
        fprintf(style->out, ", %s samples",
                td_format_count(text, sizeof(text), values[TD_METRIC_SAMPLES]));
    if (module == TD_NONE)
        return;
    td_fit_text(style, text, sizeof(text), td_module_name(m->model, module), style->width / 2);
    fprintf(style->out, ", in %s", text);
}

void td_margin_source(const struct td_style *style, const char *text, size_t len, unsigned used)
{
    char plain[SOURCE_BYTES];
    size_t out = 0;

    for (size_t i = 0; i < len && out + TAB_WIDTH + 1 < sizeof(plain); i++) {
        if (text[i] != '\t') {
            plain[out++] = text[i];
            continue;
        }
        do
            plain[out++] = ' ';
        while (out % TAB_WIDTH != 0);
    }
    while (out > 0 && plain[out - 1] == ' ')
        out--;
    plain[out] = '\0';
    if (out == 0)
        return;
    fputc(' ', style->out);
    char *nul = plain;
    while ((nul = memchr(nul, '\0', out - (size_t)(nul - plain))))
        *nul = '\x01'; /* shown escaped, not as an end */
    const unsigned room = style->width > used + 1 ? style->width - used - 1 : 1;
    td_style_safe(style, plain, style->full ? 0 : room);
}

void td_margin_gap(const struct td_style *style, unsigned used)
{
    td_style_begin(style, TD_TONE_DIM);
    fprintf(style->out, "%*s", (int)used, style->utf8 ? "" : "...");
    fputs(style->utf8 ? "\xe2\x8b\xaf" : "", style->out);
    td_style_end(style, TD_TONE_DIM);
    fputc('\n', style->out);
}

void td_margin_note(const struct td_style *style, const char *text)
{
    td_style_begin(style, TD_TONE_NOTE);
    fputs("note", style->out);
    td_style_end(style, TD_TONE_NOTE);
    td_style_wrap(style, text, 4, 6);
}
