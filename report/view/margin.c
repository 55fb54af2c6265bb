/* SPDX-License-Identifier: MIT */
#include "report/view/margin.h"

#include <string.h>

#include "base/text.h"
#include "formats/frames.h"
#include "report/attribution/stats.h"
#include "report/view/table.h"

#define TAB_WIDTH    8
#define SOURCE_BYTES 4096 /* of a line that are looked at */
#define SHARE_WIDTH  6
#define INLINED      "inlined"

struct td_margin td_margin_of(const struct td_measure *measure, int levels, bool inlined,
                              const struct td_style *style)
{
    struct td_margin margin = {.measure = measure,
                               .primary = td_measure_primary(measure),
                               .style = style,
                               .inlined = inlined};

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const enum td_tma_node node = (enum td_tma_node)n;

        if (td_tma_info(node)->level <= levels && measure->values[TD_METRIC_FIRST_NODE + n])
            margin.nodes[margin.node_count++] = node;
    }
    return margin;
}

unsigned td_margin_width(const struct td_margin *margin)
{
    unsigned width = SHARE_WIDTH;

    if (margin->inlined)
        width += 2 + sizeof(INLINED) - 1;
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
                     uint32_t thin)
{
    FILE *out = margin->style->out;

    print_share(margin, td_margin_share(margin, values ? values[margin->primary] : 0), SHARE_WIDTH);
    if (margin->inlined) {
        fputs("  ", out);
        print_share(margin, td_margin_share(margin, inlined), sizeof(INLINED) - 1);
    }
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
        fprintf(style->out, ", %.3f s", (double)values[TD_METRIC_TIME_NS] * 1e-9);
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
