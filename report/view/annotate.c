/* SPDX-License-Identifier: MIT */
#include "report/view/annotate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/frames.h"
#include "report/view/table/margin.h"
#include "report/view/table/table.h"

#define TITLE_BYTES 4096

struct printing {
    const struct td_section *section;
    const struct td_measure *measure;
    enum td_metric primary;
    const struct td_annotate_opts *opts;
    const struct td_style *style;
    struct td_margin margin;
    int line_width; /* of line numbers */
};

static double share_of(const struct printing *p, uint64_t value)
{
    return td_margin_share(&p->margin, value);
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
    char name[TITLE_BYTES], path[TITLE_BYTES];

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
    td_margin_costs(&p->margin, s->values, s->module);
    if (s->has_inlined)
        fprintf(style->out, "; %.1f %% inlined into it", 100 * share_of(p, inlined_of(s)));
    fputc('\n', style->out);
}

static void print_headings(const struct printing *p)
{
    const struct td_style *style = p->style;

    td_style_begin(style, TD_TONE_HEADING);
    td_margin_headings(&p->margin);
    fprintf(style->out, "  %*s", p->line_width, "line");
    td_style_end(style, TD_TONE_HEADING);
    fputc('\n', style->out);
}

static void print_line(const struct printing *p, uint32_t number, const struct td_marked_line *line,
                       const struct td_source *source)
{
    const struct td_style *style = p->style;
    size_t len = 0;

    td_margin_print(&p->margin, line ? line->values : NULL, line ? line->inlined : 0,
                    line ? line->thin : 0);
    td_style_begin(style, line ? TD_TONE_PLAIN : TD_TONE_DIM);
    fprintf(style->out, "  %*" PRIu32 " %s", p->line_width, number, td_style_bar(style));
    const char *text = source ? td_source_line(source, number, &len) : NULL;
    if (text)
        td_margin_source(style, text, len,
                         td_margin_width(&p->margin) + 2 + (unsigned)p->line_width + 2);
    td_style_end(style, line ? TD_TONE_PLAIN : TD_TONE_DIM);
    fputc('\n', style->out);
}

/* Without a limit of the user's, a line is worth a look from a fiftieth of its section on. */
static bool is_marked(const struct printing *p, const struct td_marked_line *line)
{
    const uint64_t value = line->values[p->primary] + line->inlined;

    if (p->opts->percent_limit >= 0)
        return value > 0 && 100 * share_of(p, value) >= p->opts->percent_limit;
    const uint64_t lines = p->section->values[p->primary] - p->section->no_line;
    return value > 0 && value >= (lines + inlined_of(p->section)) / 50;
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
                td_margin_gap(p->style, td_margin_width(&p->margin) + 2 + (unsigned)p->line_width);
            from = low;
        }
        from = from == 0 ? low : from;
        to = high;
    }
    if (from != 0)
        print_range(p, from, to, source);
}

static void print_source_notes(const struct printing *p, const struct td_source *source,
                               const char *failure)
{
    const struct td_section *s = p->section;

    if (failure) {
        char *text =
            td_xasprintf("source not shown: %s; --source-dir DIR says where it is now", failure);
        td_margin_note(p->style, text);
        free(text);
    }
    if (source && p->opts->recorded_ns && source->changed_ns > p->opts->recorded_ns)
        td_margin_note(p->style, "this file changed after the recording: lines may have moved");
    if (source && s->len > 0 && s->lines[s->len - 1].line > source->line_count)
        td_margin_note(p->style,
                       "this file is shorter than the one compiled: it is another version");
    if (share_of(p, s->no_line) >= TD_MARGIN_SHARE_MIN) {
        char *text = td_xasprintf("%.1f %% has no line: annotate --asm shows its instructions",
                                  100 * share_of(p, s->no_line));
        td_margin_note(p->style, text);
        free(text);
    }
}

static const uint64_t *line_values(const void *of, size_t i, td_tma_set *thin)
{
    const struct td_section *section = of;

    *thin = section->lines[i].thin;
    return section->lines[i].values;
}

/* Those of the lines that were asked for. */
static void print_notes(const struct td_line_notes *notes, const struct td_annotate_opts *opts,
                        const struct td_style *style)
{
    char label[32];

    for (size_t i = 0; notes && i < notes->len; i++) {
        const struct td_line_note *note = &notes->at[i];

        if (opts->from != 0 && (note->line < opts->from || note->line > opts->to))
            continue;
        snprintf(label, sizeof(label), "why %" PRIu32 " ", note->line);
        const unsigned len = (unsigned)strlen(label);

        td_style_label(style, label, TD_TONE_NOTE);
        td_style_wrap(style, note->text, len > TD_LABEL_WIDTH ? len : TD_LABEL_WIDTH,
                      TD_LABEL_WIDTH);
    }
}

void td_annotate_print(const struct td_section *section, const struct td_measure *measure,
                       const struct td_line_notes *notes, const struct td_annotate_opts *opts,
                       const struct td_style *style)
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

    const struct td_margin_lines lines = {
        .of = section, .len = section->len, .values_of = line_values};
    p.margin = td_margin_of(measure, opts->levels, section->has_inlined, &lines,
                            2 + (unsigned)p.line_width + 3, style);
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
    print_notes(notes, opts, style);
    td_source_release(&source);
}
