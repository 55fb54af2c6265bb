/* SPDX-License-Identifier: MIT */
#include "report/view/asm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/mem.h"
#include "formats/frames.h"
#include "report/attribution/slots.h"
#include "report/view/json.h"
#include "report/view/table/margin.h"
#include "report/view/table/table.h"

#define NAME_BYTES     1024
#define FILES_MAX      16 /* source files kept open at a time */
#define PATH_WIDTH     28
#define MNEMONIC_WIDTH 7
/* Without a limit of the user's, an instruction is worth a look from this part of its function. */
#define MARKED_PART 100

struct open_file {
    uint32_t name; /* string of the model; 0: free */
    bool found;
    struct td_source source;
};

struct printing {
    const struct td_listing *listing;
    const struct td_model *model;
    const struct td_annotate_opts *opts;
    const struct td_style *style;
    struct td_margin margin;
    int address_width;
    struct open_file *files; /* FILES_MAX, the last used first */
    struct td_line heading;  /* what stands above the instruction */
};

static bool is_marked(const struct printing *p, const struct td_listed *listed)
{
    const struct td_code_part *part = p->listing->part;
    const uint64_t value = listed->cost ? listed->cost->values[p->margin.primary] : 0;

    if (value == 0)
        return false;
    if (p->opts->percent_limit >= 0)
        return 100 * td_margin_share(&p->margin, value) >= p->opts->percent_limit;
    return value >= part->values[p->margin.primary] / MARKED_PART;
}

static const char *function_name(const struct td_model *model, uint32_t function)
{
    if (function == TD_NONE)
        return "[unknown]";
    return td_model_string(model, td_model_function(model, function)->name);
}

static void print_title(const struct printing *p)
{
    const struct td_code_part *part = p->listing->part;
    const struct td_style *style = p->style;
    const uint32_t first = part->function == TD_NONE ? part->container : part->function;
    const unsigned width = style->full ? 0 : style->width;
    char name[NAME_BYTES];

    td_style_begin(style, TD_TONE_HEADING);
    td_fit_name(style, name, sizeof(name), function_name(p->model, first), width);
    fprintf(style->out, "%s\n", name);
    if (first != part->container) {
        td_fit_name(style, name, sizeof(name), function_name(p->model, part->container),
                    width ? width - 13 : 0);
        fprintf(style->out, "inlined into %s\n", name);
    }
    td_style_end(style, TD_TONE_HEADING);
    td_margin_costs(&p->margin, part->values, part->module);
    fputc('\n', style->out);
    if (p->listing->note)
        td_margin_note(style, p->listing->note);
    td_style_begin(style, TD_TONE_HEADING);
    td_margin_headings(&p->margin);
    fprintf(style->out, "  %*s\n", p->address_width,
            p->listing->len > 0 && p->listing->at[0].length > 0 ? "address" : "offset");
    td_style_end(style, TD_TONE_HEADING);
}

/* The source file of a line, read once while it is in use; NULL when it is not there. */
static const struct td_source *source_of(struct printing *p, uint32_t file)
{
    struct open_file *files = p->files;
    size_t i = 0;

    while (i + 1 < FILES_MAX && files[i].name != 0 && files[i].name != file)
        i++;
    struct open_file found = files[i];
    memmove(files + 1, files, i * sizeof(*files));
    if (found.name != file) {
        td_source_release(&found.source);
        found = (struct open_file){.name = file};
        found.found = td_source_read(&found.source, td_model_string(p->model, file), p->opts->dirs,
                                     NULL) == TD_OK;
    }
    files[0] = found;
    return found.found ? &files[0].source : NULL;
}

/* "step  hot.c:4 │ return x * y;" where the line, or the function inlined here, changes. */
static void print_heading(struct printing *p, const struct td_line *line)
{
    const struct td_style *style = p->style;
    const struct td_code_part *part = p->listing->part;
    const unsigned indent = td_margin_width(&p->margin) + 2;
    const uint32_t expected = part->function == TD_NONE ? part->container : part->function;
    char text[NAME_BYTES] = "", path[NAME_BYTES];
    size_t len = 0;

    if (line->line == 0)
        return;
    td_style_begin(style, TD_TONE_DIM);
    fprintf(style->out, "%*s", (int)indent, "");
    unsigned used = indent;
    if (line->function != expected) {
        td_fit_name(style, text, sizeof(text), function_name(p->model, line->function), PATH_WIDTH);
        used += (unsigned)fprintf(style->out, "%s  ", text);
    }
    td_fit_path(style, path, sizeof(path), td_text_last_part(td_model_string(p->model, line->file)),
                PATH_WIDTH);
    used += (unsigned)fprintf(style->out, "%s:%" PRIu32, path, line->line);
    const struct td_source *source = source_of(p, line->file);
    const char *code = source ? td_source_line(source, line->line, &len) : NULL;
    if (code) {
        while (len > 0 && (*code == ' ' || *code == '\t')) {
            code++;
            len--;
        }
        fprintf(style->out, " %s", td_style_bar(style));
        td_margin_source(style, code, len, used + 2);
    }
    td_style_end(style, TD_TONE_DIM);
    fputc('\n', style->out);
}

/* A heading when the instruction is of another line than the one before it. */
static void print_heading_for(struct printing *p, const struct td_listed *listed)
{
    const struct td_location *l = td_model_location(p->model, listed->location);
    const struct td_line line =
        l->line_count ? *td_model_line(p->model, l->line_first) : (struct td_line){.line = 0};

    if (line.function != p->heading.function || line.file != p->heading.file ||
        line.line != p->heading.line)
        print_heading(p, &line);
    p->heading = line;
}

/* " <memcpy>" after a call or jump that leaves the function. */
static void append_target(const struct td_listing *listing, const struct td_model *model,
                          const struct td_listed *listed, char *text, size_t size)
{
    const size_t len = strlen(text);

    if (listed->target == TD_NONE)
        return;
    const struct td_location *l = td_model_location(model, listed->target);
    if (l->line_count == 0)
        return;
    const uint32_t function = td_model_line(model, l->line_first + l->line_count - 1)->function;
    if (function != listing->part->container && function != TD_NONE && len < size)
        snprintf(text + len, size - len, " <%s>", function_name(model, function));
}

void td_asm_text(const struct td_listing *listing, const struct td_model *model,
                 const struct td_listed *listed, char *text, size_t size)
{
    size_t len = 0;

    text[0] = '\0';
    if (listed->text) {
        const int mnemonic = (int)strcspn(listed->text, " ");

        snprintf(text, size, "%-*.*s%s", listed->text[mnemonic] ? MNEMONIC_WIDTH : 0, mnemonic,
                 listed->text, listed->text + mnemonic);
        append_target(listing, model, listed, text, size);
        return;
    }
    for (unsigned i = 0; i < listed->length; i++)
        len += (size_t)snprintf(text + len, size - len, i ? " %02x" : "%02x", listed->bytes[i]);
}

static void print_instruction(struct printing *p, const struct td_listed *listed)
{
    const struct td_style *style = p->style;
    const unsigned used = td_margin_width(&p->margin) + 2 + (unsigned)p->address_width + 2;
    const enum td_tone tone = listed->cost ? TD_TONE_PLAIN : TD_TONE_DIM;
    char text[NAME_BYTES];

    print_heading_for(p, listed);
    td_asm_text(p->listing, p->model, listed, text, sizeof(text));
    td_margin_print(&p->margin, listed->cost ? listed->cost->values : NULL, 0,
                    td_slots_not_placed(p->margin.measure));
    td_style_begin(style, tone);
    fprintf(style->out, "  %*" PRIx64 "%s", p->address_width, listed->address, text[0] ? "  " : "");
    td_style_safe(style, text, style->full || style->width <= used + 1 ? 0 : style->width - used);
    td_style_end(style, tone);
    fputc('\n', style->out);
}

/* Which instructions are shown: the marked ones with those around them. */
static bool *choose_shown(const struct printing *p)
{
    const struct td_listing *l = p->listing;
    bool *shown = td_xcalloc(l->len + 1, sizeof(*shown));
    size_t done = 0; /* up to here everything is decided */

    for (size_t i = 0; i < l->len; i++) {
        if (!is_marked(p, &l->at[i]))
            continue;
        const size_t from = i > p->opts->context ? i - p->opts->context : 0;
        const size_t to = l->len - i > p->opts->context ? i + p->opts->context + 1 : l->len;

        for (size_t k = from > done ? from : done; k < to; k++)
            shown[k] = true;
        done = to;
    }
    return shown;
}

static int address_width(const struct td_listing *listing)
{
    uint64_t highest = 0;
    int width = 7; /* "address" */

    for (size_t i = 0; i < listing->len; i++)
        highest = listing->at[i].address > highest ? listing->at[i].address : highest;
    while (width < 16 && highest >> (4 * width))
        width++;
    return width;
}

static const uint64_t *instruction_values(const void *of, size_t i, td_tma_set *thin)
{
    const struct printing *p = of;
    const struct td_listed *listed = &p->listing->at[i];

    *thin = td_slots_not_placed(p->margin.measure);
    return listed->cost ? listed->cost->values : NULL;
}

void td_asm_print(const struct td_listing *listing, const struct td_measure *measure,
                  const struct td_annotate_opts *opts, const struct td_style *style)
{
    struct printing p = {.listing = listing,
                         .model = measure->model,
                         .opts = opts,
                         .style = style,
                         .margin = {.measure = measure},
                         .address_width = address_width(listing),
                         .heading = {.function = TD_NONE}};
    const struct td_margin_lines lines = {
        .of = &p, .len = listing->len, .values_of = instruction_values};
    p.margin = td_margin_of(measure, opts->levels, false, &lines, 2 + (unsigned)p.address_width + 3,
                            style);
    bool *shown = choose_shown(&p);
    bool skipped = false, any = false;

    p.files = td_xcalloc(FILES_MAX, sizeof(*p.files));
    print_title(&p);
    for (size_t i = 0; i < listing->len; i++) {
        if (!shown[i] || (listing->at[i].starts && i > 0))
            skipped = true;
        if (!shown[i])
            continue;
        if (skipped && any) {
            td_margin_gap(style, td_margin_width(&p.margin) + 2 + (unsigned)p.address_width);
            p.heading = (struct td_line){.function = TD_NONE};
        }
        skipped = false;
        any = true;
        print_instruction(&p, &listing->at[i]);
    }
    for (size_t i = 0; i < FILES_MAX; i++)
        td_source_release(&p.files[i].source);
    free(p.files);
    free(shown);
}

static void add_hex(struct td_json *json, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "0x%" PRIx64, value);
    td_json_string(json, key, text);
}

static void add_instruction(struct td_json *json, const struct td_measure *measure,
                            const struct td_listed *listed)
{
    static const uint64_t nothing[TD_METRIC_COUNT] = {0};
    const struct td_model *model = measure->model;
    const struct td_location *l = td_model_location(model, listed->location);
    const struct td_line *line = l->line_count ? td_model_line(model, l->line_first) : NULL;
    char bytes[2 * TD_LISTED_BYTES_MAX + 1] = "";

    for (unsigned i = 0; i < listed->length; i++)
        snprintf(bytes + (size_t)2 * i, 3, "%02x", listed->bytes[i]);
    td_json_object(json, NULL);
    if (listed->length > 0)
        add_hex(json, "address", listed->address);
    add_hex(json, "offset", listed->offset);
    td_json_string(json, "bytes", listed->length ? bytes : NULL);
    td_json_string(json, "text", listed->text);
    td_report_json_place(json, model, line ? line->file : 0, line ? line->line : 0);
    td_json_string(json, "function", line ? function_name(model, line->function) : NULL);
    td_report_json_costs(json, measure, listed->cost ? listed->cost->values : nothing);
    td_json_end(json);
}

void td_asm_json(struct td_json *json, const struct td_measure *measure,
                 const struct td_listing *listings, size_t count)
{
    td_json_array(json, "annotate");
    for (size_t i = 0; i < count; i++) {
        const struct td_code_part *part = listings[i].part;

        td_json_object(json, NULL);
        td_json_string(json, "function",
                       part->function == TD_NONE ? NULL
                                                 : function_name(measure->model, part->function));
        td_json_string(json, "container",
                       part->container == TD_NONE ? NULL
                                                  : function_name(measure->model, part->container));
        td_json_string(json, "module", td_module_name(measure->model, part->module));
        td_report_json_costs(json, measure, part->values);
        td_json_string(json, "note", listings[i].note);
        td_json_array(json, "instructions");
        for (size_t k = 0; k < listings[i].len; k++)
            add_instruction(json, measure, &listings[i].at[k]);
        td_json_end(json);
        td_json_end(json);
    }
    td_json_end(json);
}
