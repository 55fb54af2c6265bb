/* SPDX-License-Identifier: MIT */
#include "report/view/model/why.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/frames.h"
#include "report/view/json.h"
#include "report/view/model/loops.h"
#include "report/view/model/sentence.h"
#include "report/view/model/why_words.h"
#include "report/view/verdict.h"

enum { STRIDES = 4, LINE_BYTES = 64, LINKS_MAX = 12, LOOP_TEXT = 2048 };

static void print_line(const struct td_style *style, const char *label, char *take_text)
{
    td_style_paragraph(style, label, TD_TONE_DIM, take_text);
    free(take_text);
}

static void print_strides(const struct td_habit *habit, const struct td_style *style)
{
    const uint64_t all = habit->figures[TD_HABIT_ACCESSES];
    char *text = td_xstrdup("");
    int shown = 0;

    for (uint32_t i = 0; i < habit->mark_count && shown < STRIDES; i++) {
        const struct td_habit_mark *mark = &habit->marks[i];
        char step[TD_WHY_NUMBER];

        if (mark->kind != TD_HABIT_STRIDE || mark->count * 50 < all)
            continue;
        char *more =
            td_xasprintf("%s%s%s (%.0f %%)", text, shown++ ? ", " : "",
                         td_why_stride(step, mark->key), 100 * (double)mark->count / (double)all);
        free(text);
        text = more;
    }
    if (shown == 0) {
        free(text);
        text = td_xstrdup("no two steps are alike");
    }
    print_line(style, "strides", text);
}

/* An instruction that computes in memory loads and stores. */
static void print_accesses(const struct td_why *why, double bytes, const struct td_style *style)
{
    const uint64_t *figures = why->habit->figures;
    const uint64_t stores = figures[TD_HABIT_STORES], loads = figures[TD_HABIT_ACCESSES] - stores;
    char a[TD_WHY_NUMBER], b[TD_WHY_NUMBER], by[TD_WHY_TEXT] = "";

    if (why->copies.habit)
        snprintf(by, sizeof(by), ", by %zu instructions of an unrolled loop together",
                 why->copies.count);
    print_line(style, "accesses",
               td_xasprintf("%s%s%s%s%s seen, of %.0f bytes%s", loads ? td_why_count(a, loads) : "",
                            loads ? " loads" : "", loads && stores ? ", " : "",
                            stores ? td_why_count(b, stores) : "", stores ? " stores" : "", bytes,
                            by));
}

static void print_memory(const struct td_why *why, const struct td_style *style)
{
    const struct td_why_memory m = td_why_memory_of(why->habit);
    char a[TD_WHY_NUMBER], b[TD_WHY_NUMBER], c[TD_WHY_NUMBER];

    print_accesses(why, m.bytes, style);
    print_strides(why->habit, style);
    print_line(style, "footprint",
               td_xasprintf("%s, in %s page%s; a new line in %.0f %%, a new page in "
                            "%.0f %% of the accesses",
                            td_why_footprint(a, &m), td_why_about(b, m.pages),
                            m.pages == 1 ? "" : "s", 100 * m.new_line, 100 * m.new_page));
    print_line(
        style, "served by",
        td_xasprintf("L1 %.1f %%, L2 %.1f %%, L3 %.1f %%, memory %.1f %%; page walks %.1f %%",
                     100 * m.from[0], 100 * m.from[1], 100 * m.from[2], 100 * m.from[3],
                     100 * m.walks));
    if (m.used > 0)
        print_line(style, "lines",
                   td_xasprintf("%.0f of %d bytes used before they leave L1; %.0f %% left early by "
                                "conflicts",
                                m.used, LINE_BYTES, 100 * m.conflicts));
    if (!isnan(m.again_bytes))
        print_line(style, "reuse",
                   td_xasprintf("%.0f %% of the lines come again, typically after %s of others "
                                "(L1 %s, L2 %s)",
                                100 * (1 - m.first), td_why_again(a, &m),
                                td_why_bytes(b, (double)why->core.l1),
                                td_why_bytes(c, (double)why->core.l2)));
    if (m.unaligned + m.split + m.forwarded + m.blocked + m.aliased >= 0.001)
        print_line(
            style, "details",
            td_xasprintf("unaligned %.1f %%, over two lines %.1f %%; from a store %.1f %%, blocked "
                         "by one %.1f %%, 4K alias %.1f %%",
                         100 * m.unaligned, 100 * m.split, 100 * m.forwarded, 100 * m.blocked,
                         100 * m.aliased));
}

static void print_branch(const struct td_why *why, const struct td_style *style)
{
    const struct td_why_branch b = td_why_branch_of(why->habit);
    char number[TD_WHY_NUMBER];

    print_line(style, "branch",
               td_xasprintf("%s executions seen: %.1f %% taken, %.1f %% mispredicted, %.1f %% "
                            "other than the time before",
                            td_why_count(number, why->habit->figures[TD_HABIT_BRANCHES]),
                            100 * b.taken, 100 * b.wrong, 100 * b.turns));
    if (b.searched)
        print_line(style, "period",
                   b.period ? td_xasprintf("%" PRIu32 " executions", b.period)
                            : td_xstrdup("none up to 511 executions"));
}

/* How much is lost, to what most of it, and where. */
static void print_lost(const struct td_why *why, const struct td_model *model,
                       const struct td_style *style)
{
    const char *module = td_module_name(model, why->module);
    char at[TD_WHY_TEXT], part[TD_WHY_NUMBER] = "";

    td_why_place(at, sizeof(at), model, why->location);
    if (why->node == TD_NODE_NONE) {
        print_line(style, "at", td_xasprintf("%s+0x%" PRIx64 " (%s)", module, why->offset, at));
        return;
    }
    const double lost = why->lost * (double)why->values[TD_METRIC_SLOTS];
    const bool others = (double)why->values[td_metric_of_node(why->node)] < 0.99 * lost;

    if (why->part < 0.995)
        snprintf(part, sizeof(part), "%.0f %% of that ", 100 * why->part);
    print_line(style, "lost",
               td_xasprintf("%.0f %% of its slots, %s%s; %sat %s+0x%" PRIx64 " (%s)",
                            100 * why->lost, others ? "most to " : "to ",
                            td_tma_info(why->node)->id, part, module, why->offset, at));
}

/* From where a mispredicted branch is run. */
static void print_callers(const struct td_why *why, const struct td_model *model,
                          const struct td_style *style)
{
    const double wrong = td_why_branches(why) ? td_why_branch_of(why->habit).wrong : NAN;
    char *text = td_xstrdup("");

    for (size_t i = 0; i < why->caller_count; i++) {
        const struct td_why_caller *caller = &why->callers[i];
        char place[TD_WHY_TEXT] = "no caller", rate[TD_WHY_NUMBER] = "";

        if (caller->location != TD_NONE)
            td_why_place(place, sizeof(place), model, caller->location);
        if (!isnan(wrong) && caller->executions > 0)
            snprintf(rate, sizeof(rate), ", about %.1f %% mispredicted",
                     100 * fmin(1, wrong * caller->lost / caller->executions));
        char *more =
            td_xasprintf("%s%s%s: %.0f %% of the loss, %.0f %% of the executions%s", text,
                         i ? "; " : "", place, 100 * caller->lost, 100 * caller->executions, rate);
        free(text);
        text = more;
    }
    print_line(style, "callers", text);
}

/* The loop, the chain through it, and what each bound would allow, in cycles per iteration. */
static void print_loop(const struct td_loop *loop, const struct td_loop_words *words,
                       const struct td_style *style)
{
    char place[LOOP_TEXT], text[LOOP_TEXT], a[40], b[40], c[TD_WHY_NUMBER];

    td_loop_place(words->model, loop, place, sizeof(place));
    print_line(style, "loop",
               td_xasprintf("%s: %s cycles and %s uops per iteration, %s iterations", place,
                            td_loop_figure(loop->cycles, a, sizeof(a)),
                            td_loop_figure(loop->uops / loop->iterations, b, sizeof(b)),
                            td_why_count(c, (uint64_t)(loop->iterations + 0.5))));
    if (loop->link_count > 0) {
        td_loop_chain(words, loop, LINKS_MAX, text, sizeof(text));
        print_line(style, "chain",
                   td_xasprintf("%s cycles: %s",
                                td_loop_figure(loop->bounds[TD_LOOP_CHAIN], a, sizeof(a)), text));
    }
    td_loop_each_port(loop, text, sizeof(text));
    if (*text)
        print_line(style, "ports", td_xasprintf("cycles each is busy: %s", text));
    snprintf(text, sizeof(text), "%s", "");
    for (int bound = 0; bound < TD_LOOP_BOUND_COUNT; bound++) {
        const size_t used = strlen(text);

        if (loop->bounds[bound] >= 0.005)
            snprintf(text + used, sizeof(text) - used, "%s%s %s", used ? ", " : "",
                     td_loop_bound_id((enum td_loop_bound)bound),
                     td_loop_figure(loop->bounds[bound], a, sizeof(a)));
    }
    print_line(style, "bounds",
               td_xasprintf("%s; of %s cycles", text, td_loop_figure(loop->cycles, b, sizeof(b))));
}

static void print_place(const struct td_why *why, const struct td_measure *measure,
                        const char *place, const struct td_style *style)
{
    const uint64_t all = measure->totals[TD_METRIC_SLOTS], slots = why->values[TD_METRIC_SLOTS];

    fputc('\n', style->out);
    td_style_begin(style, TD_TONE_HEADING);
    td_style_safe(style, place, 0);
    td_style_end(style, TD_TONE_HEADING);
    fprintf(style->out, "  %.1f %% of all slots\n", all ? 100 * (double)slots / (double)all : 0);
}

void td_why_print(const struct td_why *why, const struct td_why_asked *asked,
                  const struct td_style *style)
{
    const struct td_measure *measure = asked->measure;
    char *sentence = td_why_sentence(why, &asked->words);

    print_place(why, measure, asked->place, style);
    td_style_paragraph(style, "cause", TD_TONE_HOT, td_why_text(why->cause));
    td_style_paragraph(style, "why", TD_TONE_NOTE, sentence);
    free(sentence);
    if (why->cause != TD_WHY_NOTHING)
        print_lost(why, measure->model, style);
    if (why->loop)
        print_loop(why->loop, &asked->words, style);
    if (td_why_uses_memory(why) && !td_why_is_of_branch(why->cause))
        print_memory(why, style);
    if (td_why_branches(why) && td_why_is_of_branch(why->cause))
        print_branch(why, style);
    if (why->caller_count > 0)
        print_callers(why, measure->model, style);
    if (asked->next)
        td_next_print(asked->next, style);
}

static void json_habit(struct td_json *json, const char *key, const struct td_habit *habit)
{
    if (!habit) {
        td_json_null(json, key);
        return;
    }
    td_json_object(json, key);
    for (int i = 0; i < TD_HABIT_FIGURE_COUNT; i++)
        td_json_u64(json, td_habit_info((enum td_habit_figure)i).name, habit->figures[i]);
    td_json_array(json, "marks");
    for (uint32_t i = 0; i < habit->mark_count; i++) {
        const struct td_habit_mark *mark = &habit->marks[i];

        td_json_object(json, NULL);
        td_json_string(json, "kind", td_habit_mark_name(mark->kind));
        td_json_i64(json, "key", mark->key);
        td_json_u64(json, "count", mark->count);
        td_json_end(json);
    }
    td_json_end(json);
    td_json_end(json);
}

static void json_place(struct td_json *json, const struct td_model *model, uint32_t location)
{
    const struct td_frame frame = td_frame_leaf(model, location, false);

    td_report_json_place(json, model, frame.file, frame.line);
}

static void json_callers(const struct td_why *why, const struct td_model *model,
                         struct td_json *json)
{
    td_json_array(json, "callers");
    for (size_t i = 0; i < why->caller_count; i++) {
        const struct td_frame frame = td_frame_leaf(model, why->callers[i].location, false);
        char name[TD_WHY_TEXT];

        td_json_object(json, NULL);
        td_json_string(json, "function",
                       why->callers[i].location == TD_NONE
                           ? NULL
                           : td_frame_name(model, &frame, name, sizeof(name)));
        json_place(json, model, why->callers[i].location);
        td_json_double(json, "executions", why->callers[i].executions, 6);
        td_json_double(json, "lost", why->callers[i].lost, 6);
        td_json_end(json);
    }
    td_json_end(json);
}

static void json_instruction(const struct td_why *why, const struct td_model *model,
                             struct td_json *json)
{
    if (why->cause == TD_WHY_NOTHING) {
        td_json_null(json, "instruction");
        return;
    }
    td_json_object(json, "instruction");
    td_json_string(json, "module", td_module_name(model, why->module));
    td_json_u64(json, "offset", why->offset);
    json_place(json, model, why->location);
    td_json_double(json, "part", why->part, 6);
    td_json_end(json);
}

static void json_partner(const struct td_why *why, const struct td_model *model,
                         struct td_json *json)
{
    if (!why->partner) {
        td_json_null(json, "partner");
        return;
    }
    td_json_object(json, "partner");
    td_json_string(json, "module", td_module_name(model, why->partner->module));
    td_json_u64(json, "offset", (uint64_t)why->partner->key);
    json_place(json, model, why->partner_location);
    td_json_end(json);
}

void td_why_json(const struct td_why *why, const struct td_why_asked *asked, struct td_json *json)
{
    const struct td_model *model = asked->measure->model;
    char *sentence = td_why_sentence(why, &asked->words);

    td_json_object(json, NULL);
    td_json_string(json, "place", asked->place);
    td_json_string(json, "cause", td_why_id(why->cause));
    td_json_string(json, "cause_text", td_why_text(why->cause));
    td_json_string(json, "sentence", sentence);
    td_json_u64(json, "slots", why->values[TD_METRIC_SLOTS]);
    td_json_double(json, "retiring", why->retiring, 6);
    td_json_double(json, "lost", why->lost, 6);
    td_json_string(json, "category", why->node == TD_NODE_NONE ? NULL : td_tma_info(why->node)->id);
    json_instruction(why, model, json);
    json_habit(json, "habit", why->habit);
    json_partner(why, model, json);
    td_loop_json(asked->loops, why->loop, &asked->words, "loop", TD_NONE, json);
    json_callers(why, model, json);
    td_json_string(json, "next", asked->next);
    td_json_end(json);
    free(sentence);
}
