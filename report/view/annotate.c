/* SPDX-License-Identifier: MIT */
#include "report/view/annotate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/frames.h"
#include "report/query/stats.h"
#include "report/view/table.h"

#define TAB_WIDTH    8
#define SOURCE_BYTES 4096 /* of a line that are looked at */
#define SHARE_WIDTH  6
#define SHARE_MIN    0.0005 /* rounds to 0.0 below this */

struct printing {
    const struct td_section *section;
    const struct td_measure *measure;
    enum td_metric primary;
    const struct td_annotate_opts *opts;
    const struct td_style *style;
    enum td_tma_node nodes[TD_NODE_COUNT]; /* the category columns */
    size_t node_count;
    int line_width; /* of line numbers */
};

static void choose_nodes(struct printing *p)
{
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const enum td_tma_node node = (enum td_tma_node)n;

        if (td_tma_info(node)->level <= p->opts->levels &&
            p->measure->values[TD_METRIC_FIRST_NODE + n])
            p->nodes[p->node_count++] = node;
    }
}

static double share_of(const struct printing *p, uint64_t value)
{
    return td_ratio(value, p->measure->totals[p->primary]);
}

static uint64_t inlined_of(const struct td_section *section)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < section->len; i++)
        sum += section->lines[i].inlined;
    return sum;
}

static void print_title(const struct printing *p)
{
    const struct td_model *model = p->measure->model;
    const struct td_section *s = p->section;
    const struct td_style *style = p->style;
    char name[SOURCE_BYTES], path[SOURCE_BYTES];

    td_fit_path(style, path, sizeof(path), td_model_string(model, s->file),
                style->full ? 0 : style->width);
    td_style_begin(style, TD_TONE_HEADING);
    if (s->function != TD_NONE) {
        td_fit_name(style, name, sizeof(name),
                    td_model_string(model, td_model_function(model, s->function)->name),
                    style->full ? 0 : style->width);
        fprintf(style->out, "%s\n", name);
    }
    fputs(s->file ? path : "(no line information)", style->out);
    td_style_end(style, TD_TONE_HEADING);
    fputc('\n', style->out);
    fprintf(style->out, "%.1f %% of %s%s", 100 * share_of(p, s->values[p->primary] + s->no_line),
            p->primary == TD_METRIC_SLOTS ? "all slots" : "the whole ",
            p->primary == TD_METRIC_SLOTS ? "" : td_metric_heading(p->measure, p->primary));
    if (p->measure->values[TD_METRIC_TIME_NS])
        fprintf(style->out, ", %.3f s", (double)s->values[TD_METRIC_TIME_NS] * 1e-9);
    if (p->measure->values[TD_METRIC_SAMPLES])
        fprintf(style->out, ", %s samples",
                td_format_count(name, sizeof(name), s->values[TD_METRIC_SAMPLES]));
    if (s->module != TD_NONE) {
        td_fit_text(style, name, sizeof(name), td_module_name(model, s->module), style->width / 2);
        fprintf(style->out, ", in %s", name);
    }
    if (s->has_inlined)
        fprintf(style->out, "; %.1f %% inlined into it", 100 * share_of(p, inlined_of(s)));
    fputc('\n', style->out);
}

static void print_headings(const struct printing *p)
{
    const struct td_style *style = p->style;

    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "%*s", SHARE_WIDTH, "%");
    if (p->section->has_inlined)
        fprintf(style->out, "  %*s", SHARE_WIDTH + 1, "inlined");
    for (size_t i = 0; i < p->node_count; i++)
        fprintf(style->out, "  %*s", (int)strlen(td_node_heading(p->nodes[i])),
                td_node_heading(p->nodes[i]));
    fprintf(style->out, "  %*s", p->line_width, "line");
    td_style_end(style, TD_TONE_HEADING);
    fputc('\n', style->out);
}

/* A share in `width` columns; nothing for nothing. Returns the columns used. */
static unsigned print_share(const struct printing *p, double share, int width)
{
    const enum td_tone tone = td_style_heat(share);

    if (share < SHARE_MIN) {
        fprintf(p->style->out, "%*s", width, share > 0 ? "0.0" : "");
        return (unsigned)width;
    }
    td_style_begin(p->style, tone);
    fprintf(p->style->out, "%*.1f", width, 100 * share);
    td_style_end(p->style, tone);
    return (unsigned)width;
}

static unsigned print_nodes(const struct printing *p, const struct td_marked_line *line)
{
    unsigned used = 0;

    for (size_t i = 0; i < p->node_count; i++) {
        const int width = (int)strlen(td_node_heading(p->nodes[i]));
        const uint64_t value = line ? line->values[TD_METRIC_FIRST_NODE + (int)p->nodes[i]] : 0;
        char text[16] = "";

        if (value > 0)
            snprintf(text, sizeof(text), "%.0f",
                     100 * td_ratio(value, line->values[TD_METRIC_SLOTS]));
        fprintf(p->style->out, "  %*s", width, text);
        used += 2 + (unsigned)width;
    }
    return used;
}

/* Tabs become blanks, so that columns stay columns; everything else harmful is escaped. */
static void print_source(const struct printing *p, const char *text, size_t len, unsigned used)
{
    char plain[SOURCE_BYTES];
    size_t out = 0;
    const struct td_style *style = p->style;

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

static void print_line(const struct printing *p, uint32_t number, const struct td_marked_line *line,
                       const struct td_source *source)
{
    const struct td_style *style = p->style;
    const double share = line ? share_of(p, line->values[p->primary]) : 0;
    unsigned used = print_share(p, share, SHARE_WIDTH);
    size_t len = 0;

    if (p->section->has_inlined) {
        fputs("  ", style->out);
        used += 2 + print_share(p, line ? share_of(p, line->inlined) : 0, SHARE_WIDTH + 1);
    }
    used += print_nodes(p, line);
    td_style_begin(style, line ? TD_TONE_PLAIN : TD_TONE_DIM);
    fprintf(style->out, "  %*" PRIu32 " %s", p->line_width, number, td_style_bar(style));
    used += 2 + (unsigned)p->line_width + 2;
    const char *text = source ? td_source_line(source, number, &len) : NULL;
    if (text)
        print_source(p, text, len, used);
    td_style_end(style, line ? TD_TONE_PLAIN : TD_TONE_DIM);
    fputc('\n', style->out);
}

static void print_gap(const struct printing *p)
{
    unsigned width = SHARE_WIDTH + 2 + (unsigned)p->line_width;

    if (p->section->has_inlined)
        width += 2 + SHARE_WIDTH + 1;
    for (size_t i = 0; i < p->node_count; i++)
        width += 2 + (unsigned)strlen(td_node_heading(p->nodes[i]));
    td_style_begin(p->style, TD_TONE_DIM);
    fprintf(p->style->out, "%*s", (int)width, p->style->utf8 ? "" : "...");
    fputs(p->style->utf8 ? "\xe2\x8b\xaf" : "", p->style->out);
    td_style_end(p->style, TD_TONE_DIM);
    fputc('\n', p->style->out);
}

/* Without a limit of the user's, a line is worth a look from a fiftieth of its section on. */
static bool is_marked(const struct printing *p, const struct td_marked_line *line)
{
    const uint64_t value = line->values[p->primary] + line->inlined;

    if (p->opts->percent_limit >= 0)
        return value > 0 && 100 * share_of(p, value) >= p->opts->percent_limit;
    return value > 0 && value >= (p->section->values[p->primary] + inlined_of(p->section)) / 50;
}

/* The lines from..to of the source, with those of the section that fall into them. */
static void print_range(const struct printing *p, uint32_t from, uint32_t to,
                        const struct td_source *source)
{
    size_t i = 0;

    while (i < p->section->len && p->section->lines[i].line < from)
        i++;
    for (uint32_t number = from; number <= to; number++) {
        const bool here = i < p->section->len && p->section->lines[i].line == number;

        if (source || here)
            print_line(p, number, here ? &p->section->lines[i] : NULL, source);
        i += here ? 1 : 0;
    }
}

static void print_marked(const struct printing *p, const struct td_source *source)
{
    const uint32_t context = source ? p->opts->context : 0;
    uint32_t from = 0, to = 0; /* the range collected so far */

    for (size_t i = 0; i < p->section->len; i++) {
        const struct td_marked_line *line = &p->section->lines[i];

        if (!is_marked(p, line))
            continue;
        const uint32_t low = line->line > context ? line->line - context : 1;
        uint32_t high = line->line + context;
        if (source && high > source->line_count && line->line <= source->line_count)
            high = source->line_count;
        if (from != 0 && low > to + 1) {
            print_range(p, from, to, source);
            if (source)
                print_gap(p);
            from = low;
        }
        from = from == 0 ? low : from;
        to = high;
    }
    if (from != 0)
        print_range(p, from, to, source);
}

static void print_note(const struct td_style *style, const char *text)
{
    td_style_begin(style, TD_TONE_NOTE);
    fputs("note", style->out);
    td_style_end(style, TD_TONE_NOTE);
    td_style_wrap(style, text, 4, 6);
}

static void print_source_notes(const struct printing *p, const struct td_source *source,
                               const char *failure)
{
    const struct td_section *s = p->section;

    if (failure) {
        char *text =
            td_xasprintf("source not shown: %s; --source-dir DIR says where it is now", failure);
        print_note(p->style, text);
        free(text);
    }
    if (source && p->opts->recorded_ns && source->changed_ns > p->opts->recorded_ns)
        print_note(p->style, "this file changed after the recording: lines may have moved");
    if (source && s->len > 0 && s->lines[s->len - 1].line > source->line_count)
        print_note(p->style, "this file is shorter than the one compiled: it is another version");
    if (share_of(p, s->no_line) >= SHARE_MIN) {
        char *text = td_xasprintf("%.1f %% has no line", 100 * share_of(p, s->no_line));
        print_note(p->style, text);
        free(text);
    }
}

void td_annotate_print(const struct td_section *section, const struct td_measure *measure,
                       const struct td_annotate_opts *opts, const struct td_style *style)
{
    struct printing p = {.section = section,
                         .measure = measure,
                         .primary = td_measure_primary(measure),
                         .opts = opts,
                         .style = style,
                         .line_width = 5};
    struct td_source source = {.line_count = 0};
    struct td_err err = TD_ERR_INIT;
    bool found = false;

    choose_nodes(&p);
    print_title(&p);
    if (section->file)
        found = td_source_read(&source, td_model_string(measure->model, section->file), opts->dirs,
                               &err) == TD_OK;
    print_source_notes(&p, found ? &source : NULL, section->file && !found ? err.text : NULL);
    if (section->len > 0)
        print_headings(&p);
    if (opts->from != 0)
        print_range(&p, opts->from,
                    found && opts->to > source.line_count ? source.line_count : opts->to,
                    found ? &source : NULL);
    else
        print_marked(&p, found ? &source : NULL);
    td_source_release(&source);
}
