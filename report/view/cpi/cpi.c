/* SPDX-License-Identifier: MIT */
#include "report/view/cpi/cpi.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/frames.h"
#include "report/attribution/stats.h"
#include "report/query/figures/replicated.h"
#include "report/query/figures/tree.h"
#include "report/view/json.h"
#include "report/view/model/loop_words.h"

enum {
    NAME_WIDTH = 24, /* columns of a name, at least */
    BAR_WIDTH = 40,  /* columns of the whole stack, at most */
    BAR_LEAST = 10,  /* and in fewer none */
    FIGURES = 21,    /* columns before the name */
    ERRORS = 10,     /* and more where figures have errors */
};

const char *td_cpi_part_name(const struct td_cpi_part *part, char *buf, size_t size)
{
    const char *id = part->node == TD_NODE_NONE ? "" : td_tma_info(part->node)->id;

    switch (part->kind) {
    case TD_CPI_BASE: snprintf(buf, size, "base (%s)", id); break;
    case TD_CPI_NODE: snprintf(buf, size, "%s", id); break;
    case TD_CPI_REST: snprintf(buf, size, "%s, the rest", id); break;
    case TD_CPI_UNKNOWN: snprintf(buf, size, "not known"); break;
    case TD_CPI_OTHER: snprintf(buf, size, "other (%zu components)", part->count); break;
    }
    return buf;
}

int td_cpi_decimals(double cpi)
{
    return cpi < 10 ? 3 : cpi < 100 ? 2 : cpi < 1000 ? 1 : 0;
}

static unsigned names_width(const struct td_cpi *stack)
{
    unsigned width = NAME_WIDTH;
    char name[TD_CPI_NAME_BYTES];

    for (size_t i = 0; i < stack->len; i++) {
        const size_t len = strlen(td_cpi_part_name(&stack->at[i], name, sizeof(name)));

        width = len > width ? (unsigned)len : width;
    }
    return width;
}

bool td_cpi_has_errors(const struct td_cpi *stack)
{
    bool any = false;

    for (size_t i = 0; i < stack->len; i++)
        any = any || stack->at[i].error > 0;
    return any;
}

static void print_error(double error, int decimals, const struct td_style *style)
{
    if (error > 0)
        fprintf(style->out, "%8.*f  ", decimals + 1, error);
    else
        fprintf(style->out, "%10s", "");
}

static void print_figures(double cpi, int decimals, double share, const struct td_style *style)
{
    if (isnan(cpi))
        fprintf(style->out, "  %9s", "-");
    else
        fprintf(style->out, "  %9.*f", decimals, cpi);
    fprintf(style->out, "  %6.1f  ", 100 * share);
}

/* From where the components before it end, so that the bars are one, cut up. */
static void print_bar(double before, double share, unsigned width, const struct td_style *style)
{
    const unsigned from = (unsigned)(before * width + 0.5);
    const unsigned to = (unsigned)((before + share) * width + 0.5);

    if (to <= from)
        return;
    fprintf(style->out, "%*s", (int)from, "");
    for (unsigned i = from; i < to; i++)
        fputs(style->utf8 ? "\xe2\x96\x88" : "#", style->out);
}

/* What is small and comes to nothing in all figures that are printed. */
static bool is_nothing(const struct td_cpi_part *part, int decimals)
{
    return part->kind == TD_CPI_OTHER && 100 * part->share < 0.05 &&
           part->cpi * pow(10, decimals) < 0.5;
}

static void print_stack(const struct td_cpi *stack, const struct td_style *style)
{
    const bool errors = td_cpi_has_errors(stack);
    const unsigned names = names_width(stack), used = FIGURES + (errors ? ERRORS : 0) + names + 2;
    const unsigned left = style->width > used ? style->width - used : 0;
    const unsigned bar = left < BAR_LEAST ? 0 : left < BAR_WIDTH ? left : BAR_WIDTH;
    const int decimals = td_cpi_decimals(stack->cpi);
    double before = 0;
    char name[TD_CPI_NAME_BYTES];

    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "  %9s  %6s  ", "CPI", "%");
    if (errors)
        fprintf(style->out, "%*s%s CPI  ", style->utf8 ? 3 : 2, "", td_style_plus_minus(style));
    fputs("component", style->out);
    td_style_end(style, TD_TONE_HEADING);
    fputc('\n', style->out);
    for (size_t i = 0; i < stack->len; i++) {
        const struct td_cpi_part *part = &stack->at[i];
        const bool has_bar =
            (unsigned)((before + part->share) * bar + 0.5) > (unsigned)(before * bar + 0.5);

        if (is_nothing(part, decimals))
            continue;
        print_figures(part->cpi, decimals, part->share, style);
        if (errors)
            print_error(part->error, decimals, style);
        fprintf(style->out, has_bar ? "%-*s  " : "%.*s", has_bar ? (int)names : TD_CPI_NAME_BYTES,
                td_cpi_part_name(part, name, sizeof(name)));
        print_bar(before, part->share, bar, style);
        fputc('\n', style->out);
        before += part->share;
    }
    print_figures(stack->cpi, decimals, 1, style);
    if (errors)
        print_error(0, decimals, style);
    fputs("total\n", style->out);
}

struct td_cpi td_cpi_stack_of_all(const struct td_cpi_view *view)
{
    const struct td_measure *measure = view->basis->measure;
    struct td_cpi stack = td_cpi_of(view->basis, measure->totals, 0, view->levels);
    const struct td_tree tree = td_tree_of(measure);
    double errors[TD_NODE_COUNT] = {0};

    for (size_t i = 0; i < tree.len; i++)
        errors[tree.at[i].node] = tree.at[i].error;
    td_cpi_set_errors(&stack, errors,
                      td_replicated_is(measure) ? td_replicated_total_error(measure) : 0);
    td_cpi_cut(&stack, view->percent_limit);
    return stack;
}

static struct td_cpi stack_of_row(const struct td_cpi_view *view, const struct td_rows *rows,
                                  const struct td_row *row)
{
    struct td_cpi stack = td_cpi_of(view->basis, row->values, td_row_thin(rows, row), view->levels);
    double errors[TD_NODE_COUNT] = {0};

    for (int n = 0; n < TD_NODE_COUNT; n++)
        errors[n] = td_row_cell(rows, row, (enum td_tma_node)n).error;
    td_cpi_set_errors(&stack, errors, 0);
    td_cpi_cut(&stack, view->percent_limit);
    return stack;
}

void td_cpi_entry_of(struct td_cpi_entry *ret, const struct td_cpi_view *view,
                     const struct td_cpi_list *list, size_t i)
{
    *ret = (struct td_cpi_entry){.module = TD_NONE};
    if (list->rows) {
        const struct td_row *row = &list->rows->at[i];

        ret->name = td_row_name(list->rows, row);
        ret->module = row->module;
        ret->stack = stack_of_row(view, list->rows, row);
        return;
    }
    ret->loop = &list->loops->at[list->chosen[i]];
    td_loop_place(view->basis->measure->model, ret->loop, ret->place, sizeof(ret->place));
    ret->name = ret->place;
    ret->module = ret->loop->module;
    ret->stack = td_cpi_of_loop(view->basis, ret->loop, view->levels);
    td_cpi_cut(&ret->stack, view->percent_limit);
}

static void print_cpi(const struct td_cpi *stack, const struct td_style *style)
{
    if (isnan(stack->cpi) || stack->cpi <= 0)
        fputs("CPI not known, no instruction ended here", style->out);
    else
        fprintf(style->out, "CPI %.*f (IPC %.*f)", td_cpi_decimals(stack->cpi), stack->cpi,
                td_cpi_decimals(1 / stack->cpi), 1 / stack->cpi);
}

void td_cpi_print_whole(const struct td_cpi_view *view, const struct td_style *style)
{
    const struct td_cpi stack = td_cpi_stack_of_all(view);
    char cycles[32], instructions[32];

    fputc('\n', style->out);
    td_style_begin(style, TD_TONE_HEADING);
    fputs("All", style->out);
    td_style_end(style, TD_TONE_HEADING);
    fputs(": ", style->out);
    print_cpi(&stack, style);
    if (stack.instructions > 0)
        fprintf(style->out, ", %s cycles, %s instructions",
                td_format_count(cycles, sizeof(cycles), td_rounded(stack.cycles)),
                td_format_count(instructions, sizeof(instructions), stack.instructions));
    fputc('\n', style->out);
    print_stack(&stack, style);
}

static double cycles_of(const struct td_cpi_basis *basis, const uint64_t *values)
{
    return td_cpi_of(basis, values, 0, 1).cycles;
}

static void print_entry(const struct td_cpi_view *view, const struct td_cpi_entry *entry,
                        const struct td_style *style)
{
    const struct td_measure *measure = view->basis->measure;
    const struct td_cpi *stack = &entry->stack;
    const double all = cycles_of(view->basis, measure->totals);
    char name[1024], module[256], cycles[40], iterations[40];

    td_fit_name(style, name, sizeof(name), entry->name, style->full ? 0 : style->width * 2 / 3);
    td_fit_text(style, module, sizeof(module), td_module_name(measure->model, entry->module),
                style->full ? 0 : style->width / 3 - 4);
    td_style_begin(style, TD_TONE_HEADING);
    fputs(name, style->out);
    td_style_end(style, TD_TONE_HEADING);
    fprintf(style->out, "  %s\n  ", module);
    print_cpi(stack, style);
    fprintf(style->out, ", %.1f %% of cycles, %.1f %% of instructions\n",
            all > 0 ? 100 * stack->cycles / all : 0,
            100 * td_ratio(stack->instructions, measure->totals[TD_METRIC_INSTRUCTIONS]));
    if (entry->loop && entry->loop->iterations > 0)
        fprintf(
            style->out, "  %s cycles per iteration, %s iterations\n",
            td_loop_figure(entry->loop->cycles, cycles, sizeof(cycles)),
            td_format_count(iterations, sizeof(iterations), td_rounded(entry->loop->iterations)));
    print_stack(stack, style);
}

void td_cpi_print_list(const struct td_cpi_view *view, const struct td_cpi_list *list,
                       const struct td_style *style)
{
    struct td_cpi_entry entry;

    for (size_t i = 0; i < list->len; i++) {
        td_cpi_entry_of(&entry, view, list, i);
        fputc('\n', style->out);
        print_entry(view, &entry, style);
    }
}

static void json_part(const struct td_cpi_part *part, struct td_json *json)
{
    static const char *const kinds[] = {[TD_CPI_BASE] = "base",
                                        [TD_CPI_NODE] = "category",
                                        [TD_CPI_REST] = "rest",
                                        [TD_CPI_UNKNOWN] = "unknown",
                                        [TD_CPI_OTHER] = "other"};

    td_json_object(json, NULL);
    td_json_string(json, "kind", kinds[part->kind]);
    td_json_string(json, "category",
                   part->node == TD_NODE_NONE ? NULL : td_tma_info(part->node)->id);
    if (part->kind == TD_CPI_OTHER)
        td_json_u64(json, "components", part->count);
    td_json_double(json, "cpi", part->cpi, 15);
    td_json_double(json, "share", part->share, 15);
    if (part->error > 0)
        td_json_double(json, "cpi_error", part->error, 4);
    td_json_u64(json, "slots", part->slots);
    td_json_end(json);
}

/* The members of an object. */
static void json_stack(const struct td_cpi *stack, struct td_json *json)
{
    td_json_double(json, "cpi", stack->cpi, 15);
    td_json_double(json, "cycles", stack->cycles, 15);
    if (stack->instructions > 0)
        td_json_u64(json, "instructions", stack->instructions);
    else
        td_json_null(json, "instructions");
    td_json_u64(json, "slots", stack->slots);
    td_json_array(json, "components");
    for (size_t i = 0; i < stack->len; i++)
        json_part(&stack->at[i], json);
    td_json_end(json);
}

static void json_entry(const struct td_cpi_view *view, const struct td_cpi_entry *entry,
                       struct td_json *json)
{
    const struct td_model *model = view->basis->measure->model;
    const struct td_loop *loop = entry->loop;
    char name[512];

    td_json_object(json, NULL);
    if (loop) {
        td_json_string(json, "place", entry->name);
        td_json_string(json, "file", loop->file ? td_model_string(model, loop->file) : NULL);
        td_json_u64(json, "line_first", loop->line_first);
        td_json_u64(json, "line_last", loop->line_last);
        td_json_u64(json, "offset", loop->header);
        td_json_double(json, "iterations", loop->iterations, 15);
        td_json_double(json, "cycles_per_iteration", loop->iterations > 0 ? loop->cycles : NAN, 6);
    }
    td_json_string(json, "function",
                   loop ? td_loop_name(model, loop, name, sizeof(name)) : entry->name);
    td_json_string(json, "module", td_module_name(model, entry->module));
    json_stack(&entry->stack, json);
    td_json_end(json);
}

void td_cpi_json(const struct td_cpi_view *view, const struct td_cpi_list *list,
                 struct td_json *json)
{
    const struct td_cpi whole = td_cpi_stack_of_all(view);
    struct td_cpi_entry entry;

    td_json_object(json, "cpi_stack");
    json_stack(&whole, json);
    td_json_end(json);
    td_json_array(json, list->rows ? "functions" : "loops");
    for (size_t i = 0; i < list->len; i++) {
        td_cpi_entry_of(&entry, view, list, i);
        json_entry(view, &entry, json);
    }
    td_json_end(json);
}
