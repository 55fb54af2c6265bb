/* SPDX-License-Identifier: MIT */
#include "report/view/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/query/advice.h"
#include "report/query/figures/tree.h"

#define NAME_WIDTH 30
#define DIGITS     6

static void take_paragraph(const struct td_style *style, const char *label, char *take_text)
{
    td_style_paragraph(style, label, TD_TONE_DIM, take_text);
    free(take_text);
}

/* "l3_bound, part of memory_bound, part of backend_bound" */
static void print_title(enum td_tma_node node, const struct td_style *style)
{
    td_style_begin(style, TD_TONE_HEADING);
    fputs(td_tma_info(node)->id, style->out);
    td_style_end(style, TD_TONE_HEADING);
    for (node = td_tma_info(node)->parent; node != TD_NODE_NONE; node = td_tma_info(node)->parent)
        fprintf(style->out, ", part of %s", td_tma_info(node)->id);
    fputc('\n', style->out);
}

static void print_threshold(enum td_tma_node node, const struct td_style *style)
{
    const double threshold = td_tree_threshold(node);
    const enum td_tma_node parent = td_tma_info(node)->parent;

    if (!isnan(threshold))
        take_paragraph(style, "high",
                       td_xasprintf("above %.0f %% of all slots%s%s%s", 100 * threshold,
                                    parent == TD_NODE_NONE ? "" : ", when ",
                                    parent == TD_NODE_NONE ? "" : td_tma_info(parent)->id,
                                    parent == TD_NODE_NONE ? "" : " is high"));
}

static void print_parts(enum td_tma_node node, const struct td_style *style)
{
    char *text = NULL;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->parent != node)
            continue;
        char *more = td_xasprintf("%s%s%s", text ? text : "", text ? ", " : "",
                                  td_tma_info((enum td_tma_node)n)->id);
        free(text);
        text = more;
    }
    if (text)
        td_style_paragraph(style, "parts", TD_TONE_DIM, text);
    free(text);
}

/* "on zen5 (this machine) by cycles, ops_retired; run 2 of tdrec --passes 2; ..." */
static char *counted_words(enum td_tma_node node, const struct td_explained_core *core, bool here)
{
    struct td_node_counted counted;
    char *where = td_xasprintf("on %s%s%s%s", core->core->name,
                               here             ? " (this machine)"
                               : core->modelled ? ", whose counters stand for "
                                                : "",
                               core->modelled ? core->modelled : "", "");
    char *text = NULL;

    td_node_counted_of(&counted, core, node);
    if (!counted.formula) {
        text = td_xasprintf("%s: not counted", where);
    } else {
        char *events = td_xstrdup("");

        for (size_t i = 0; i < counted.event_count; i++) {
            char *more = td_xasprintf("%s%s%s", events, i ? ", " : "", counted.events[i]);

            free(events);
            events = more;
        }
        char *run = counted.run > 1 ? td_xasprintf("; with tdrec --passes %u", counted.run)
                                    : td_xstrdup("");
        char high[48] = "";

        if (!isnan(counted.threshold) && counted.threshold != td_tree_threshold(node))
            snprintf(high, sizeof(high), "; high above %.0f %% there", 100 * counted.threshold);
        text = td_xasprintf("%s: events %s%s%s%s%s; %s", where, events, run,
                            counted.locator ? "; found by " : "",
                            counted.locator ? counted.locator : "", high, counted.formula);
        free(run);
        free(events);
    }
    td_node_counted_release(&counted);
    free(where);
    return text;
}

void td_explain_print(enum td_tma_node node, const struct td_explained_cores *cores, bool here,
                      const struct td_style *style)
{
    const struct td_advice *advice = td_advice_of(node);

    print_title(node, style);
    td_style_paragraph(style, "meaning", TD_TONE_DIM, td_tma_info(node)->meaning);
    print_threshold(node, style);
    td_style_paragraph(style, "causes", TD_TONE_DIM, advice->causes);
    td_style_paragraph(style, "try", TD_TONE_DIM, advice->try_this);
    td_style_paragraph(style, "", TD_TONE_DIM, advice->details);
    print_parts(node, style);
    for (size_t i = 0; i < cores->len; i++)
        take_paragraph(style, i ? "" : "counted", counted_words(node, &cores->at[i], here));
    if (cores->len == 0)
        td_style_paragraph(style, "counted", TD_TONE_DIM,
                           here ? "this machine's core is not known; --core NAME explains another"
                                : "not: the core is modelled only");
    if (td_tma_is_modelled(node))
        td_style_paragraph(style, "modelled", TD_TONE_DIM,
                           "tdrec --source sim charges it to each instruction, on any machine");
}

void td_explain_json(struct td_json *json, enum td_tma_node node,
                     const struct td_explained_cores *cores)
{
    const struct td_tma_info *info = td_tma_info(node);
    const struct td_advice *advice = td_advice_of(node);

    td_json_object(json, NULL);
    td_json_string(json, "id", info->id);
    td_json_string(json, "parent",
                   info->parent == TD_NODE_NONE ? NULL : td_tma_info(info->parent)->id);
    td_json_u64(json, "level", (uint64_t)info->level);
    td_json_string(json, "meaning", info->meaning);
    td_json_double(json, "threshold", td_tree_threshold(node), DIGITS);
    td_json_string(json, "causes", advice->causes);
    td_json_string(json, "try", advice->try_this);
    td_json_string(json, "details", advice->details);
    td_json_array(json, "counted");
    for (size_t i = 0; i < cores->len; i++) {
        struct td_node_counted counted;

        td_node_counted_of(&counted, &cores->at[i], node);
        td_json_object(json, NULL);
        td_json_string(json, "core", cores->at[i].core->name);
        td_json_string(json, "formula", counted.formula);
        td_json_double(json, "threshold", counted.threshold, DIGITS);
        td_json_array(json, "events");
        for (size_t e = 0; e < counted.event_count; e++)
            td_json_string(json, NULL, counted.events[e]);
        td_json_end(json);
        td_json_u64(json, "run", counted.run);
        td_json_string(json, "locator", counted.locator);
        td_json_end(json);
        td_node_counted_release(&counted);
    }
    td_json_end(json);
    td_json_end(json);
}

void td_explain_list(const struct td_style *style)
{
    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "%-*s %4s  %s\n", NAME_WIDTH, "category", "high", "meaning");
    td_style_end(style, TD_TONE_HEADING);
    for (enum td_tma_node n = td_tree_next(TD_NODE_NONE); n != TD_NODE_NONE; n = td_tree_next(n)) {
        const struct td_tma_info *info = td_tma_info(n);
        const int indent = 2 * (info->level - 1);
        char threshold[16] = "";

        if (!isnan(td_tree_threshold(n)))
            snprintf(threshold, sizeof(threshold), "%.0f %%", 100 * td_tree_threshold(n));
        fprintf(style->out, "%*s%-*s %4s  ", indent, "", NAME_WIDTH - indent, info->id, threshold);
        td_style_wrap(style, info->meaning, NAME_WIDTH + 7, NAME_WIDTH + 7);
    }
}
