/* SPDX-License-Identifier: MIT */
#include "report/query/lines_of.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "formats/frames.h"
#include "report/query/figures/names.h"
#include "report/query/figures/rows.h"

/* Whether, and as which function, a frame belongs to what is annotated. */
struct wanted {
    uint32_t *rank_of; /* by function: 1 + its place in the request; 0: not wanted; NULL: a file */
    bool *file_wanted; /* by string, for a file */
    uint32_t from, to;
};

struct collecting {
    const struct td_measure *measure;
    enum td_metric primary;
    struct wanted wanted;
    struct td_sections *sections;
    size_t cap;
    size_t *line_caps; /* of each section */
    size_t line_caps_cap;
    struct td_map section_ids; /* (function, file) */
    struct td_map line_ids;    /* (section, line) */
};

static struct td_section *section_for(struct collecting *c, uint32_t function, uint32_t file,
                                      uint32_t *index)
{
    struct td_sections *sections = c->sections;
    bool added = false;

    *index = *td_map_put(&c->section_ids, function, file, (uint32_t)sections->len, &added);
    if (added) {
        sections->at = td_grow(sections->at, &c->cap, sections->len + 1, sizeof(*sections->at));
        c->line_caps =
            td_grow(c->line_caps, &c->line_caps_cap, sections->len + 1, sizeof(*c->line_caps));
        c->line_caps[sections->len] = 0;
        sections->at[sections->len++] = (struct td_section){
            .function = function,
            .module = function == TD_NONE ? TD_NONE
                                          : td_model_function(c->measure->model, function)->module,
            .file = file};
    }
    return &sections->at[*index];
}

static struct td_marked_line *line_for(struct collecting *c, uint32_t index, uint32_t line)
{
    struct td_section *section = &c->sections->at[index];
    bool added = false;
    const uint32_t at = *td_map_put(&c->line_ids, index, line, (uint32_t)section->len, &added);

    if (added) {
        section->lines = td_grow(section->lines, &c->line_caps[index], section->len + 1,
                                 sizeof(*section->lines));
        section->lines[section->len++] = (struct td_marked_line){.line = line};
    }
    return &section->lines[at];
}

static bool is_wanted(const struct collecting *c, const struct td_frame *frame)
{
    if (c->wanted.rank_of)
        return frame->function != TD_NONE && c->wanted.rank_of[frame->function] != 0;
    return frame->line != 0 && c->wanted.file_wanted[frame->file] &&
           frame->line >= c->wanted.from && frame->line <= c->wanted.to;
}

/* `own`: the cost was spent in this frame, not in one inlined into it. */
static void charge(struct collecting *c, const struct td_frame *frame, size_t row, bool own)
{
    const struct td_measure *measure = c->measure;
    const uint64_t value = measure->values[c->primary][row];
    const uint32_t function = c->wanted.rank_of ? frame->function : TD_NONE;
    uint32_t index = 0;
    struct td_section *section = section_for(c, function, frame->line ? frame->file : 0, &index);

    struct td_marked_line *line = frame->line ? line_for(c, index, frame->line) : NULL;
    if (!own) {
        if (line)
            line->inlined += value;
        section->has_inlined = section->has_inlined || (line && value > 0);
        return;
    }
    section->no_line += line ? 0 : value;
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        if (!measure->values[m])
            continue;
        section->values[m] += measure->values[m][row];
        if (line)
            line->values[m] += measure->values[m][row];
    }
}

/* The frame of one line of a location. */
static struct td_frame frame_at(const struct td_model *model, uint32_t location, uint32_t index)
{
    const struct td_location *l = td_model_location(model, location);
    const struct td_line *at = td_model_line(model, l->line_first + index);

    return (struct td_frame){.location = location,
                             .module = l->module,
                             .function = at->function,
                             .file = at->file,
                             .line = at->line};
}

/* Whether a frame inside this one is of the same function: recursion, unrolled by inlining. */
static bool is_repeated(const struct td_model *model, uint32_t location, uint32_t index)
{
    const uint32_t function = frame_at(model, location, index).function;

    for (uint32_t i = 0; i < index; i++) {
        if (frame_at(model, location, i).function == function)
            return true;
    }
    return false;
}

/* Charges one row to the innermost frame as its own, and to each further function that is wanted
 * as inlined; of a file, where sections are not of functions, to one line only. */
static void charge_row(struct collecting *c, size_t row, bool no_inline)
{
    const struct td_model *model = c->measure->model;
    const uint32_t location = td_model_node(model, c->measure->rows[row].node)->location;
    const struct td_frame leaf = td_frame_leaf(model, location, no_inline);
    bool taken = is_wanted(c, &leaf);

    if (taken)
        charge(c, &leaf, row, true);
    if (no_inline || location == TD_NONE)
        return;
    for (uint32_t i = 1; i < td_model_location(model, location)->line_count; i++) {
        const struct td_frame frame = frame_at(model, location, i);

        if (!is_wanted(c, &frame) || (taken && !c->wanted.rank_of) ||
            (c->wanted.rank_of && is_repeated(model, location, i)))
            continue;
        taken = true;
        charge(c, &frame, row, false);
    }
}

static int compare_lines(const void *a, const void *b)
{
    const struct td_marked_line *x = a, *y = b;

    return (x->line > y->line) - (x->line < y->line);
}

struct section_order {
    const struct wanted *wanted;
    enum td_metric primary;
};

static uint64_t section_total(const struct td_section *section, enum td_metric primary)
{
    uint64_t total = section->values[primary];

    for (size_t i = 0; i < section->len; i++)
        total += section->lines[i].inlined;
    return total;
}

static int compare_sections(const void *a, const void *b, void *ctx)
{
    const struct section_order *order = ctx;
    const struct td_section *x = a, *y = b;
    const uint64_t s = section_total(x, order->primary), t = section_total(y, order->primary);

    if (order->wanted->rank_of && x->function != y->function)
        return order->wanted->rank_of[x->function] < order->wanted->rank_of[y->function] ? -1 : 1;
    if (s != t)
        return s > t ? -1 : 1;
    return (x->file > y->file) - (x->file < y->file);
}

static void collect(struct collecting *c, bool no_inline)
{
    struct section_order order = {.wanted = &c->wanted, .primary = c->primary};

    for (size_t i = 0; i < c->measure->row_count; i++)
        charge_row(c, i, no_inline);
    for (size_t i = 0; i < c->sections->len; i++) {
        struct td_section *section = &c->sections->at[i];

        if (section->len > 1)
            qsort(section->lines, section->len, sizeof(*section->lines), compare_lines);
        td_measure_sum_time(c->measure, section->values);
        for (size_t l = 0; l < section->len; l++)
            td_measure_sum_time(c->measure, section->lines[l].values);
    }
    if (c->sections->len > 1)
        qsort_r(c->sections->at, c->sections->len, sizeof(*c->sections->at), compare_sections,
                &order);
    td_map_release(&c->section_ids);
    td_map_release(&c->line_ids);
    free(c->line_caps);
}

/* Of measured slots: which categories of each line are known well enough. */
static void mark_thin(struct td_sections *sections, const struct td_measure *measure,
                      bool no_inline)
{
    struct td_map ids = {.slots = NULL};
    struct td_rows rows;

    if (!measure->slots && !measure->join)
        return;
    td_rows_init(&rows, measure, TD_ROWS_LINES, no_inline);
    for (size_t i = 0; i < rows.len; i++)
        td_map_put(&ids, rows.at[i].file, rows.at[i].line, (uint32_t)i, NULL);
    for (size_t s = 0; s < sections->len; s++) {
        for (size_t l = 0; l < sections->at[s].len; l++) {
            struct td_marked_line *line = &sections->at[s].lines[l];
            const uint32_t *row = td_map_find(&ids, sections->at[s].file, line->line);

            line->thin = row ? td_row_thin(&rows, &rows.at[*row]) : ~(td_tma_set)0;
        }
    }
    td_map_release(&ids);
    td_rows_release(&rows);
}

void td_sections_of_functions(struct td_sections *sections, const struct td_measure *measure,
                              const uint32_t *functions, size_t count, bool no_inline)
{
    struct collecting c = {
        .measure = measure, .primary = td_measure_primary(measure), .sections = sections};

    *sections = (struct td_sections){0};
    c.wanted.rank_of =
        td_xcalloc((size_t)td_model_function_count(measure->model) + 1, sizeof(*c.wanted.rank_of));
    for (size_t i = 0; i < count; i++)
        c.wanted.rank_of[functions[i]] = (uint32_t)i + 1;
    collect(&c, no_inline);
    mark_thin(sections, measure, no_inline);
    free(c.wanted.rank_of);
}

void td_sections_of_file(struct td_sections *sections, const struct td_measure *measure,
                         const char *pattern, uint32_t from, uint32_t to, bool no_inline)
{
    const struct td_model *model = measure->model;
    struct collecting c = {
        .measure = measure, .primary = td_measure_primary(measure), .sections = sections};
    uint32_t highest = 0;

    *sections = (struct td_sections){0};
    for (uint32_t i = 0; i < td_model_line_count(model); i++) {
        const uint32_t file = td_model_line(model, i)->file;
        highest = file > highest ? file : highest;
    }
    c.wanted.from = from;
    c.wanted.to = to;
    c.wanted.file_wanted = td_xcalloc((size_t)highest + 1, sizeof(bool));
    for (uint32_t i = 0; i < td_model_line_count(model); i++) {
        const uint32_t file = td_model_line(model, i)->file;

        if (file != 0 && !c.wanted.file_wanted[file])
            c.wanted.file_wanted[file] = td_pattern_is_path(pattern, td_model_string(model, file));
    }
    collect(&c, no_inline);
    mark_thin(sections, measure, no_inline);
    free(c.wanted.file_wanted);
}

void td_sections_release(struct td_sections *sections)
{
    for (size_t i = 0; i < sections->len; i++)
        free(sections->at[i].lines);
    free(sections->at);
    *sections = (struct td_sections){0};
}
