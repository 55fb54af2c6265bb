/* SPDX-License-Identifier: MIT */
/* A function's source lines, or its instructions, with what they cost beside them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/frames.h"
#include "report/attribution/slots.h"
#include "report/attribution/stats.h"
#include "report/listing.h"
#include "report/query/lines_of.h"
#include "report/tui/tui_priv.h"
#include "report/view/table/mostly.h"
#include "report/view/table/table.h"

#define AROUND     5   /* lines shown before the first and behind the last that cost something */
#define HOLE       200 /* so many lines without cost between two are left out */
#define PARTS_MAX  5   /* listings of one function, where it is inlined */
#define PART_SHARE 20  /* a listing with less than this part of the hottest one is left out */
#define TAB_WIDTH  8
#define NODES_FROM 72 /* columns of a screen that has room for categories */

struct code_row {
    enum { ROW_TEXT, ROW_NOTE, ROW_SOURCE, ROW_CODE } kind;
    uint32_t line;          /* SOURCE: its number */
    const uint64_t *values; /* what it costs; NULL: nothing */
    uint64_t inlined;       /* of the primary metric: of what is inlined at this line */
    td_tma_set thin;        /* bits of nodes of which too little is known */
    uint64_t address;       /* CODE */
    char *text;             /* owned; never NULL */
};

struct code {
    struct td_sections sections; /* source */
    struct td_code_parts parts;  /* assembly */
    struct td_listing *listings;
    size_t listing_count;
    struct td_source source; /* the last one that was read; not there: empty */
    uint32_t source_file;    /* string of the model; 0: none */
    struct code_row *rows;
    size_t len, cap;
};

static struct code *code_of(const struct td_tui_page *page)
{
    return page->data;
}

static void add(struct code *code, struct code_row row)
{
    code->rows = td_grow(code->rows, &code->cap, code->len + 1, sizeof(*code->rows));
    code->rows[code->len++] = row;
}

static void add_text(struct code *code, int kind, char *take_text)
{
    add(code, (struct code_row){.kind = kind, .text = take_text});
}

/* Tabs become blanks: a terminal would move by as many as it likes. */
static char *expanded(const char *text, size_t len)
{
    char *out = td_xalloc(TD_TUI_TEXT);
    size_t used = 0;

    for (size_t i = 0; i < len && used + TAB_WIDTH + 1 < TD_TUI_TEXT; i++) {
        if (text[i] != '\t') {
            out[used++] = text[i];
            continue;
        }
        do
            out[used++] = ' ';
        while (used % TAB_WIDTH != 0);
    }
    out[used] = '\0';
    return out;
}

static uint64_t cost_of(const struct td_tui *tui, const struct code_row *row)
{
    const enum td_metric metric = td_tui_metric(tui);

    if (!row->values)
        return metric == tui->primary ? row->inlined : 0;
    return row->values[metric] + (metric == tui->primary ? row->inlined : 0);
}

/* ---- source ---- */

static void add_line(struct code *code, uint32_t number, const struct td_marked_line *marked,
                     const struct td_source *source)
{
    size_t len = 0;
    const char *text = source ? td_source_line(source, number, &len) : NULL;

    add(code, (struct code_row){.kind = ROW_SOURCE,
                                .line = number,
                                .values = marked ? marked->values : NULL,
                                .inlined = marked ? marked->inlined : 0,
                                .thin = marked ? marked->thin : 0,
                                .text = text ? expanded(text, len) : td_xstrdup("")});
}

static bool costs(const struct td_marked_line *line, enum td_metric primary)
{
    return line->values[primary] > 0 || line->inlined > 0;
}

/* The lines around those that cost something; long stretches without cost are left out. */
static void add_lines(struct code *code, const struct td_section *section, enum td_metric primary,
                      const struct td_source *source)
{
    uint32_t next = 0; /* the line that was not added yet */

    for (size_t i = 0; i < section->len; i++) {
        const struct td_marked_line *line = &section->lines[i];
        uint32_t from = line->line;

        if (!costs(line, primary))
            continue;
        if (source && (next == 0 || line->line - next > HOLE)) {
            if (next > 0)
                add_text(code, ROW_TEXT, td_xstrdup("..."));
            from = line->line > AROUND ? line->line - AROUND : 1;
        } else if (source) {
            from = next;
        }
        for (uint32_t number = from; number < line->line; number++)
            add_line(code, number, NULL, source);
        add_line(code, line->line, line, source);
        next = line->line + 1;
    }
    for (uint32_t k = 0; source && next > 0 && k < AROUND && next + k <= source->line_count; k++)
        add_line(code, next + k, NULL, source);
}

static void add_source_notes(const struct td_tui *tui, struct code *code,
                             const struct td_section *section, const struct td_source *source,
                             const char *failure)
{
    const char *realtime = td_model_env(tui->model, TD_ENV_REALTIME_NS);
    uint64_t recorded_ns = 0;

    if (realtime)
        td_parse_u64(realtime, &recorded_ns);
    if (failure)
        add_text(
            code, ROW_NOTE,
            td_xasprintf("source not shown: %s; --source-dir DIR says where it is now", failure));
    if (source && recorded_ns && source->changed_ns > recorded_ns)
        add_text(code, ROW_NOTE,
                 td_xstrdup("this file changed after the recording: lines may have moved"));
    if (td_ratio(section->no_line, tui->measure->totals[tui->primary]) >= 0.0005)
        add_text(
            code, ROW_NOTE,
            td_xasprintf("%.1f %% has no line: a shows its instructions",
                         100 * td_ratio(section->no_line, tui->measure->totals[tui->primary])));
}

static void add_section(struct td_tui *tui, struct code *code, const struct td_section *section)
{
    const char *file = td_model_string(tui->model, section->file);
    struct td_source source = {.line_count = 0};
    struct td_err err = TD_ERR_INIT;
    bool found = false;

    if (section->file)
        found = td_source_read(&source, file, &tui->opts.dirs, &err) == TD_OK;
    if (code->len > 0)
        add_text(code, ROW_TEXT, td_xstrdup(""));
    add_text(code, ROW_TEXT, td_xstrdup(section->file ? file : "(no line information)"));
    add_source_notes(tui, code, section, found ? &source : NULL,
                     section->file && !found ? err.text : NULL);
    add_lines(code, section, tui->primary, found ? &source : NULL);
    td_source_release(&source);
}

static void build_source(struct td_tui *tui, struct td_tui_page *page, struct code *code)
{
    if (page->function != TD_NONE)
        td_sections_of_functions(&code->sections, tui->measure, &page->function, 1,
                                 tui->opts.no_inline);
    for (size_t i = 0; i < code->sections.len; i++)
        add_section(tui, code, &code->sections.at[i]);
}

/* ---- assembly ---- */

/* The line's text from the file that was read last; NULL when it is not there. */
static const char *source_text(const struct td_tui *tui, struct code *code,
                               const struct td_line *line, size_t *len)
{
    if (code->source_file != line->file) {
        td_source_release(&code->source);
        code->source_file = line->file;
        (void)td_source_read(&code->source, td_model_string(tui->model, line->file),
                             &tui->opts.dirs, NULL);
    }
    const char *text = td_source_line(&code->source, line->line, len);
    while (text && *len > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        (*len)--;
    }
    return text;
}

static void add_heading(const struct td_tui *tui, struct code *code, const struct td_line *line,
                        uint32_t expected)
{
    size_t len = 0;
    const char *file = td_text_last_part(td_model_string(tui->model, line->file));
    const char *name = "";

    if (line->line == 0)
        return;
    if (line->function != expected && line->function != TD_NONE)
        name = td_model_string(tui->model, td_model_function(tui->model, line->function)->name);
    const char *source = source_text(tui, code, line, &len);
    char *text = expanded(source ? source : "", source ? len : 0);
    add_text(code, ROW_TEXT,
             td_xasprintf("%s%s%s:%" PRIu32 "%s%s", name, name[0] ? "  " : "", file, line->line,
                          source ? "  " : "", text));
    free(text);
}

static char *instruction_text(const struct td_listed *listed)
{
    char bytes[3 * TD_LISTED_BYTES_MAX + 1] = "";

    if (listed->text)
        return td_xstrdup(listed->text);
    for (unsigned i = 0; i < listed->length; i++)
        snprintf(bytes + (size_t)3 * i, 4, i ? " %02x" : "%02x", listed->bytes[i]);
    return td_xstrdup(bytes);
}

static struct td_line line_of(const struct td_tui *tui, const struct td_listed *listed)
{
    const struct td_location *l = td_model_location(tui->model, listed->location);

    return l->line_count ? *td_model_line(tui->model, l->line_first)
                         : (struct td_line){.function = TD_NONE};
}

static void add_listing(const struct td_tui *tui, struct code *code,
                        const struct td_listing *listing)
{
    const struct td_code_part *part = listing->part;
    const uint32_t expected = part->function == TD_NONE ? part->container : part->function;
    struct td_line heading = {.function = TD_NONE};
    char name[TD_TUI_TEXT];

    if (part->function != TD_NONE && part->function != part->container) {
        td_tui_name(tui->model, part->container, part->module, name, sizeof(name));
        add_text(code, ROW_TEXT, td_xasprintf("inlined into %s", name));
    }
    if (listing->note)
        add_text(code, ROW_NOTE, td_xstrdup(listing->note));
    for (size_t i = 0; i < listing->len; i++) {
        const struct td_listed *listed = &listing->at[i];
        const struct td_line line = line_of(tui, listed);

        if (listed->starts && i > 0)
            add_text(code, ROW_TEXT, td_xstrdup("..."));
        if (line.function != heading.function || line.file != heading.file ||
            line.line != heading.line)
            add_heading(tui, code, &line, expected);
        heading = line;
        add(code, (struct code_row){.kind = ROW_CODE,
                                    .values = listed->cost ? listed->cost->values : NULL,
                                    .thin = td_slots_not_placed(tui->measure),
                                    .address = listed->address,
                                    .text = instruction_text(listed)});
    }
}

static void build_assembly(struct td_tui *tui, struct td_tui_page *page, struct code *code)
{
    const uint32_t function =
        page->function != TD_NONE ? page->function : td_code_unnamed(tui->model, page->module);
    uint64_t hottest = 0;

    td_code_of_functions(&code->parts, tui->measure, &function, 1);
    code->listings = td_xcalloc(code->parts.len + 1, sizeof(*code->listings));
    for (size_t i = 0; i < code->parts.len && code->listing_count < PARTS_MAX; i++) {
        const struct td_code_part *part = &code->parts.at[i];

        hottest = i == 0 ? part->values[tui->primary] : hottest;
        if (part->values[tui->primary] >= hottest / PART_SHARE)
            td_listing_init(&code->listings[code->listing_count++], tui->model, part,
                            tui->opts.syntax);
    }
    if (tui->host.name_code)
        tui->host.name_code(tui->host.ctx);
    for (size_t i = 0; i < code->listing_count; i++)
        add_listing(tui, code, &code->listings[i]);
}

/* ---- the page ---- */

static void build(struct td_tui *tui, struct td_tui_page *page)
{
    struct code *code = td_xcalloc(1, sizeof(*code));

    page->data = code;
    if (page->assembly)
        build_assembly(tui, page, code);
    else
        build_source(tui, page, code);
    page->len = code->len;
}

static void release(struct td_tui_page *page)
{
    struct code *code = code_of(page);

    if (!code)
        return;
    for (size_t i = 0; i < code->len; i++)
        free(code->rows[i].text);
    free(code->rows);
    td_source_release(&code->source);
    for (size_t i = 0; i < code->listing_count; i++)
        td_listing_release(&code->listings[i]);
    free(code->listings);
    td_code_parts_release(&code->parts);
    td_sections_release(&code->sections);
    free(code);
    page->data = NULL;
}

static void title(const struct td_tui *tui, const struct td_tui_page *page, char *dst, size_t size)
{
    char name[TD_TUI_TEXT];

    td_tui_name(tui->model, page->function, page->module, name, sizeof(name));
    snprintf(dst, size, "%s of %s", page->assembly ? "instructions" : "source", name);
}

static bool has_nodes(const struct td_tui *tui)
{
    return tui->canvas.columns >= NODES_FROM && tui->measure->values[TD_METRIC_SLOTS];
}

static void headings(struct td_tui *tui, const struct td_tui_page *page, unsigned row)
{
    if (tui->category != TD_NODE_NONE)
        td_canvas_put_right(&tui->canvas, row, TD_TONE_HEADING, TD_TUI_SHARE_WIDTH,
                            td_node_heading(tui->category));
    td_canvas_put_right(&tui->canvas, row, TD_TONE_HEADING, TD_TUI_SHARE_WIDTH, "%");
    for (int n = 0; n < TD_NODE_COUNT && has_nodes(tui); n++) {
        const enum td_tma_node node = (enum td_tma_node)n;

        if (td_tma_info(node)->level == 1 && td_tui_has(tui, node))
            td_canvas_put_right(&tui->canvas, row, TD_TONE_HEADING, td_tui_node_width(node),
                                td_node_heading(node));
    }
    td_canvas_put(&tui->canvas, row, TD_TONE_HEADING, page->assembly ? "  address" : "   line");
}

static void draw_costs(struct td_tui *tui, const struct code_row *r, unsigned row)
{
    const enum td_metric metric = td_tui_metric(tui);
    static const uint64_t nothing[TD_METRIC_COUNT] = {0};
    const uint64_t *values = r->values ? r->values : nothing;

    if (tui->category != TD_NODE_NONE)
        td_tui_put_share(tui, row, r->thin >> tui->category & 1 ? 0 : values[metric], metric);
    td_tui_put_share(tui, row, values[tui->primary] + r->inlined, tui->primary);
    for (int n = 0; n < TD_NODE_COUNT && has_nodes(tui); n++) {
        const enum td_tma_node node = (enum td_tma_node)n;

        if (td_tma_info(node)->level == 1 && td_tui_has(tui, node))
            td_tui_put_node(tui, row, node,
                            td_ratio(values[TD_METRIC_FIRST_NODE + n], values[TD_METRIC_SLOTS]),
                            r->thin >> n & 1);
    }
}

/* The text from the column on that the arrow keys have chosen. */
static const char *shifted(const struct code_row *r, unsigned shift)
{
    const size_t len = strlen(r->text);
    size_t at = 0;

    for (unsigned i = 0; i < shift && at < len; i++) {
        const unsigned n = td_text_utf8_len(r->text + at, len - at);

        at += n ? n : 1;
    }
    return r->text + at;
}

static void draw(struct td_tui *tui, const struct td_tui_page *page, size_t index, unsigned row)
{
    const struct code_row *r = &code_of(page)->rows[index];
    const enum td_tone tone = r->values || r->inlined ? TD_TONE_PLAIN : TD_TONE_DIM;
    struct td_canvas *canvas = &tui->canvas;

    if (r->kind == ROW_NOTE) {
        td_canvas_putf(canvas, row, TD_TONE_NOTE, "note: %s", shifted(r, page->shift));
        return;
    }
    draw_costs(tui, r, row);
    if (r->kind == ROW_SOURCE)
        td_canvas_putf(canvas, row, TD_TONE_DIM, "  %5" PRIu32 " %s ", r->line,
                       tui->opts.utf8 ? "\xe2\x94\x82" : "|");
    else if (r->kind == ROW_CODE)
        td_canvas_putf(canvas, row, TD_TONE_DIM, "  %8" PRIx64 "  ", r->address);
    else
        td_canvas_put(canvas, row, TD_TONE_PLAIN, "  ");
    td_canvas_put(canvas, row, r->kind == ROW_TEXT ? TD_TONE_HEADING : tone,
                  shifted(r, page->shift));
}

static void text_of(const struct td_tui *tui, const struct td_tui_page *page, size_t index,
                    char *dst, size_t size)
{
    (void)tui;
    snprintf(dst, size, "%s", code_of(page)->rows[index].text);
}

/* What the line's slots went to, in words. */
static void detail(struct td_tui *tui, const struct td_tui_page *page, unsigned row)
{
    const struct code_row *r = &code_of(page)->rows[page->selected];
    char text[128];

    if (r->kind == ROW_TEXT || r->kind == ROW_NOTE)
        td_canvas_put(&tui->canvas, row, TD_TONE_NOTE, r->text);
    if (!r->values && !r->inlined)
        return;
    td_canvas_putf(&tui->canvas, row, TD_TONE_NOTE, "%.2f %% of all",
                   100 * td_ratio((r->values ? r->values[tui->primary] : 0) + r->inlined,
                                  tui->measure->totals[tui->primary]));
    if (r->inlined)
        td_canvas_putf(&tui->canvas, row, TD_TONE_NOTE, ", %.2f of it inlined here",
                       100 * td_ratio(r->inlined, tui->measure->totals[tui->primary]));
    if (!r->values)
        return;
    td_mostly_text(text, sizeof(text), tui->canvas.columns, tui->measure, r->values, r->thin);
    if (text[0])
        td_canvas_putf(&tui->canvas, row, TD_TONE_NOTE, ", mostly %s", text);
}

static size_t hottest(const struct td_tui *tui, const struct td_tui_page *page)
{
    const struct code *code = code_of(page);
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < code->len; i++) {
        if (cost_of(tui, &code->rows[i]) > 0 &&
            (best == SIZE_MAX || cost_of(tui, &code->rows[i]) > cost_of(tui, &code->rows[best])))
            best = i;
    }
    return best;
}

static void open_row(struct td_tui *tui, struct td_tui_page *page)
{
    td_tui_open_calls(tui, page->function, page->module, false);
}

const struct td_tui_page_ops td_tui_code = {.name = "code",
                                            .build = build,
                                            .release = release,
                                            .title = title,
                                            .headings = headings,
                                            .draw = draw,
                                            .text = text_of,
                                            .detail = detail,
                                            .open = open_row,
                                            .hottest = hottest};

void td_tui_open_code(struct td_tui *tui, uint32_t function, uint32_t module)
{
    struct td_tui_page *page =
        td_tui_push(tui, &td_tui_code, function, module, function == TD_NONE);

    /* Without a line there is no source: instructions are what there is. */
    if (!page->assembly && hottest(tui, page) == SIZE_MAX) {
        release(page);
        page->assembly = true;
        td_tui_build(tui, page);
    }
    const size_t at = hottest(tui, page);
    td_tui_select(tui, page, at == SIZE_MAX ? 0 : at);
}

bool td_tui_open_named(struct td_tui *tui, const char *name)
{
    char other[TD_TUI_TEXT];

    for (size_t i = 0; i < tui->rows.len; i++) {
        const struct td_row *r = &tui->rows.at[i];

        td_tui_name(tui->model, r->function, r->module, other, sizeof(other));
        if (strcmp(name, other) != 0)
            continue;
        td_tui_open_code(tui, r->function, r->module);
        return true;
    }
    return false;
}
