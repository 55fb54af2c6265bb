/* SPDX-License-Identifier: MIT */
/* The page's source lines and instructions, with their figures. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/frames.h"
#include "report/attribution/slots.h"
#include "report/view/asm.h"
#include "report/view/page/page.h"

#define CONTEXT        4   /* lines around one that costs something */
#define LINE_BYTES_MAX 300 /* of one line of source */
#define TEXT_BYTES     512
#define TITLE_BYTES    4096

void td_page_json_values(struct td_json *json, const char *key, const struct td_measure *measure,
                         const uint64_t *values, td_tma_set thin)
{
    enum td_metric metrics[TD_METRIC_COUNT];
    const size_t count = td_page_metrics(metrics, measure);

    td_json_array(json, key);
    for (size_t m = 0; m < count; m++) {
        const bool node = metrics[m] >= TD_METRIC_FIRST_NODE;

        if (values[metrics[m]] == 0 || (node && thin >> (metrics[m] - TD_METRIC_FIRST_NODE) & 1))
            continue;
        td_json_u64(json, NULL, m);
        td_json_u64(json, NULL, values[metrics[m]]);
    }
    td_json_end(json);
}

/* What stands at `at` of `count` is shown, with what is around it. */
static void show_around(bool *shown, size_t at, size_t count)
{
    const size_t first = at > CONTEXT ? at - CONTEXT : 0;
    const size_t last = at + CONTEXT < count ? at + CONTEXT : count - 1;

    for (size_t i = first; i <= last; i++)
        shown[i] = true;
}

static int compare_costs(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x > y ? -1 : x < y;
}

/* The smallest cost that is worth a place, so that `max` places are enough. Sorts `costs`. */
static uint64_t least_cost(uint64_t *costs, size_t count, size_t max)
{
    qsort(costs, count, sizeof(*costs), compare_costs);
    return count > max && costs[max] > 0 ? costs[max] + 1 : 1;
}

static uint64_t cost_of(const struct td_marked_line *line, enum td_metric primary)
{
    return line->values[primary] + line->inlined;
}

static uint64_t least_line_cost(const struct td_section *section, enum td_metric primary,
                                size_t max)
{
    uint64_t *costs = td_xcalloc(section->len + 1, sizeof(*costs));

    for (size_t i = 0; i < section->len; i++)
        costs[i] = cost_of(&section->lines[i], primary);
    const uint64_t least = least_cost(costs, section->len, max);
    free(costs);
    return least;
}

static void add_line(struct td_json *json, const struct td_measure *measure, uint32_t number,
                     const struct td_marked_line *line, const struct td_source *source)
{
    size_t len = 0;
    const char *text = source ? td_source_line(source, number, &len) : NULL;

    td_json_array(json, NULL);
    td_json_u64(json, NULL, number);
    if (text)
        td_json_bytes(json, NULL, text, len > LINE_BYTES_MAX ? LINE_BYTES_MAX : len);
    else
        td_json_null(json, NULL);
    if (line) {
        td_page_json_values(json, NULL, measure, line->values, line->thin);
        td_json_u64(json, NULL, line->inlined);
    }
    td_json_end(json);
}

/* The lines that cost something; where there is text, those around them too. */
static void add_lines(struct td_json *json, const struct td_measure *measure,
                      const struct td_section *section, const struct td_source *source, size_t max)
{
    const enum td_metric primary = td_measure_primary(measure);
    const uint64_t least = least_line_cost(section, primary, max);
    const uint32_t context = source ? CONTEXT : 0;
    uint32_t done = 0; /* lines up to here were written */

    td_json_array(json, "lines");
    for (size_t i = 0; i < section->len; i++) {
        const struct td_marked_line *line = &section->lines[i];
        size_t k = 0;

        if (cost_of(line, primary) < least || line->line <= done)
            continue;
        uint32_t high = line->line + context;
        if (source && high > source->line_count && line->line <= source->line_count)
            high = source->line_count;
        uint32_t number = line->line > context ? line->line - context : 1;
        for (number = number > done ? number : done + 1; number <= high; number++) {
            while (k < section->len && section->lines[k].line < number)
                k++;
            add_line(json, measure, number,
                     k < section->len && section->lines[k].line == number ? &section->lines[k]
                                                                          : NULL,
                     source);
        }
        done = high;
    }
    td_json_end(json);
}

static const char *source_note(const struct td_section *s, const struct td_source *source,
                               const struct td_page_extras *extras, const struct td_err *err)
{
    if (!s->file)
        return "no line of this function is known: the program has no debug information for it";
    if (!extras->dirs)
        return "the text of the source was left out (--no-source)";
    if (!source)
        return err->text;
    if (extras->recorded_ns && source->changed_ns > extras->recorded_ns)
        return "this file changed after the recording: lines may have moved";
    if (s->len > 0 && s->lines[s->len - 1].line > source->line_count)
        return "this file is shorter than the one compiled: it is another version";
    return NULL;
}

/* [line, cause in short, sentence] */
static void add_notes(struct td_json *json, const struct td_line_notes *notes)
{
    if (!notes || notes->len == 0)
        return;
    td_json_array(json, "whys");
    for (size_t i = 0; i < notes->len; i++) {
        td_json_array(json, NULL);
        td_json_u64(json, NULL, notes->at[i].line);
        td_json_string(json, NULL, notes->at[i].title);
        td_json_string(json, NULL, notes->at[i].text);
        td_json_end(json);
    }
    td_json_end(json);
}

static void add_section(struct td_json *json, const struct td_page *page, size_t index,
                        const struct td_page_extras *extras, size_t max)
{
    const struct td_section *section = &page->sections.at[index];
    const struct td_measure *measure = page->measure;
    const struct td_model *model = measure->model;
    const char *path = td_model_string(model, section->file);
    struct td_source source = {.line_count = 0};
    struct td_err err = TD_ERR_INIT;
    const bool found =
        section->file && extras->dirs && td_source_read(&source, path, extras->dirs, &err) == TD_OK;

    td_json_object(json, NULL);
    td_json_string(json, "function",
                   td_model_string(model, td_model_function(model, section->function)->name));
    td_json_u64(json, "module", section->module);
    td_json_string(json, "file", section->file ? path : NULL);
    td_json_string(json, "note", source_note(section, found ? &source : NULL, extras, &err));
    td_json_u64(json, "no_line", section->no_line);
    td_page_json_values(json, "values", measure, section->values, UINT32_MAX); /* costs only */
    add_lines(json, measure, section, found ? &source : NULL, max);
    add_notes(json, extras->notes ? &extras->notes[index] : NULL);
    td_json_end(json);
    td_source_release(&source);
}

static bool *choose_instructions(const struct td_listing *listing, enum td_metric primary,
                                 size_t max)
{
    bool *shown = td_xcalloc(listing->len + 1, sizeof(*shown));
    uint64_t *costs = td_xcalloc(listing->len + 1, sizeof(*costs));

    for (size_t i = 0; i < listing->len; i++)
        costs[i] = listing->at[i].cost ? listing->at[i].cost->values[primary] : 0;
    const uint64_t least = least_cost(costs, listing->len, max);
    for (size_t i = 0; i < listing->len; i++) {
        if (listing->at[i].cost && listing->at[i].cost->values[primary] >= least)
            show_around(shown, i, listing->len);
    }
    free(costs);
    return shown;
}

/* [address, text, file's line or 0, whether it follows the one before, values] */
static void add_instruction(struct td_json *json, const struct td_measure *measure,
                            const struct td_listing *listing, size_t i, bool follows)
{
    const struct td_listed *listed = &listing->at[i];
    const struct td_model *model = measure->model;
    const struct td_location *l = td_model_location(model, listed->location);
    char text[TEXT_BYTES], address[24];

    snprintf(address, sizeof(address), "%" PRIx64, listed->address);
    td_asm_text(listing, model, listed, text, sizeof(text));
    td_json_array(json, NULL);
    td_json_string(json, NULL, address);
    td_json_string(json, NULL, text);
    td_json_u64(json, NULL, l->line_count ? td_model_line(model, l->line_first)->line : 0);
    td_json_u64(json, NULL, follows);
    if (listed->cost)
        td_page_json_values(json, NULL, measure, listed->cost->values,
                            td_slots_not_placed(measure));
    td_json_end(json);
}

static const char *function_name(const struct td_model *model, uint32_t function)
{
    return function == TD_NONE ? NULL
                               : td_model_string(model, td_model_function(model, function)->name);
}

static void add_listing(struct td_json *json, const struct td_measure *measure,
                        const struct td_listing *listing, size_t max)
{
    const struct td_code_part *part = listing->part;
    bool *shown = choose_instructions(listing, td_measure_primary(measure), max);
    bool follows = true;
    const uint32_t function = part->function != TD_NONE ? part->function : part->container;

    td_json_object(json, NULL);
    td_json_string(json, "function",
                   function == TD_NONE ? "[unknown]" : function_name(measure->model, function));
    td_json_string(json, "container", function_name(measure->model, part->container));
    td_json_u64(json, "module", part->module);
    td_json_string(json, "note", listing->note);
    td_page_json_values(json, "values", measure, part->values, td_slots_not_placed(measure));
    td_json_array(json, "lines");
    for (size_t i = 0; i < listing->len; i++) {
        follows = follows && !listing->at[i].starts;
        if (shown[i])
            add_instruction(json, measure, listing, i, follows);
        follows = shown[i];
    }
    td_json_end(json);
    td_json_end(json);
    free(shown);
}

void td_page_json_sources(struct td_json *json, const struct td_page *page,
                          const struct td_page_extras *extras, const struct td_page_limits *limits)
{
    td_json_array(json, "sources");
    for (size_t i = 0; i < page->sections.len && i < limits->sources; i++)
        add_section(json, page, i, extras, limits->lines);
    td_json_end(json);
    td_json_array(json, "instructions");
    for (size_t i = 0; extras->listings && i < page->code.len && i < limits->sources; i++)
        add_listing(json, page->measure, &extras->listings[i], limits->lines);
    td_json_end(json);
}
