/* SPDX-License-Identifier: MIT */
#include "report/view/why.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/frames.h"
#include "report/query/figures/rows.h"
#include "report/view/json.h"
#include "report/view/verdict.h"

enum { TEXT = 256, NUMBER = 48, STRIDES = 4, LINE_BYTES = 64, COLUMN = 512 };

/* "8.0 MB"; "64 bytes" */
static const char *bytes_text(char buf[NUMBER], double bytes)
{
    static const char *const units[] = {"KB", "MB", "GB", "TB"};
    size_t unit = 0;

    if (bytes < 10240) {
        td_format_count(buf, NUMBER, (uint64_t)(bytes + 0.5));
        snprintf(buf + strlen(buf), NUMBER - strlen(buf), " bytes");
        return buf;
    }
    for (bytes /= 1024; bytes >= 1024 && unit + 1 < TD_ARRAY_SIZE(units); bytes /= 1024)
        unit++;
    snprintf(buf, NUMBER, "%.*f %s", bytes < 10 ? 1 : 0, bytes, units[unit]);
    return buf;
}

static const char *count_text(char buf[NUMBER], uint64_t count)
{
    td_format_count(buf, NUMBER, count);
    return buf;
}

/* "8,192 bytes on", "16 bytes back" */
static const char *stride_text(char buf[NUMBER], int64_t stride)
{
    td_format_count(buf, NUMBER, (uint64_t)(stride < 0 ? -stride : stride));
    snprintf(buf + strlen(buf), NUMBER - strlen(buf), " bytes %s", stride < 0 ? "back" : "on");
    return buf;
}

/* "main.c:12", or the code's place where no line is known. */
static void place_text(char *buf, size_t size, const struct td_model *model, uint32_t location)
{
    const struct td_frame frame = td_frame_leaf(model, location, false);

    if (frame.file && frame.line) {
        snprintf(buf, size, "%s:%" PRIu32, td_text_last_part(td_model_string(model, frame.file)),
                 frame.line);
    } else {
        char name[TEXT];

        snprintf(buf, size, "%s", td_frame_name(model, &frame, name, sizeof(name)));
    }
}

/* The farthest cache that the bytes do not fit, as "does not fit L2 (1.0 MB)". */
static void fit_text(char *buf, size_t size, const struct td_why *why, double bytes)
{
    const struct {
        const char *name;
        uint64_t bytes;
    } caches[] = {{"L3", why->core.l3}, {"L2", why->core.l2}, {"L1", why->core.l1}};
    char number[NUMBER];

    for (size_t i = 0; i < TD_ARRAY_SIZE(caches); i++) {
        if (caches[i].bytes > 0 && bytes > (double)caches[i].bytes) {
            snprintf(buf, size, "more than %s holds (%s)", caches[i].name,
                     bytes_text(number, (double)caches[i].bytes));
            return;
        }
    }
    snprintf(buf, size, "which L1 could hold");
}

static const char *where_from(const struct td_why_memory *m)
{
    static const char *const names[] = {"L1", "L2", "L3", "memory"};
    size_t most = 1;

    for (size_t i = 1; i < TD_ARRAY_SIZE(names); i++)
        most = m->from[i] >= m->from[most] && m->from[i] > 0 ? i : most;
    return names[most];
}

static const char *step_word(const struct td_why_memory *m)
{
    if (m->new_line < 0.9)
        return "most of each line is skipped";
    return m->stride >= COLUMN || m->stride <= -COLUMN ? "column order" : "a part of each record";
}

static char *stride_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char step[NUMBER], footprint[NUMBER], fit[TEXT], used[TEXT] = "";
    const bool new_line = m->new_line >= 0.9;

    if (m->used > 0)
        snprintf(used, sizeof(used), "; %.0f of %d bytes of each line used", m->used, LINE_BYTES);
    fit_text(fit, sizeof(fit), why, (double)m->footprint);
    return td_xasprintf("each access touches %s %s: %s%s. Its footprint is %s, %s.",
                        new_line ? "a new line" : "data", stride_text(step, m->stride),
                        step_word(m), used, bytes_text(footprint, (double)m->footprint), fit);
}

static char *random_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char footprint[NUMBER], fit[TEXT];

    fit_text(fit, sizeof(fit), why, (double)m->footprint);
    return td_xasprintf("accesses go to lines in no order: random access. The footprint is %s, %s; "
                        "most of what misses comes from %s.",
                        bytes_text(footprint, (double)m->footprint), fit, where_from(m));
}

static char *chase_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char footprint[NUMBER], fit[TEXT];

    fit_text(fit, sizeof(fit), why, (double)m->footprint);
    return td_xasprintf("each address is what the load before gave, so that no two are under way "
                        "at a time: a pointer chase. The footprint is %s, %s.",
                        bytes_text(footprint, (double)m->footprint), fit);
}

static char *footprint_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char footprint[NUMBER], again[NUMBER], fit[TEXT], step[NUMBER], order[TEXT] = "it uses";

    fit_text(fit, sizeof(fit), why, (double)m->footprint);
    if (m->stride_share >= 0.5)
        snprintf(order, sizeof(order), "it goes in order (%s) through",
                 stride_text(step, m->stride));
    return td_xasprintf("%s the same %s again and again: a footprint of %s. A line comes "
                        "back after about %s of others, when it has left.",
                        order, bytes_text(footprint, (double)m->footprint), fit,
                        bytes_text(again, m->again_bytes));
}

static char *stream_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char footprint[NUMBER], step[NUMBER];
    const bool bandwidth = why->node == TD_NODE_MEM_BANDWIDTH || why->node == TD_NODE_STORE_BOUND;

    return td_xasprintf("it goes in order (%s) through %s that are not in the caches: "
                        "streaming from %s. %s",
                        stride_text(step, m->stride), bytes_text(footprint, (double)m->footprint),
                        where_from(m),
                        bandwidth ? "Memory gives no more lines per cycle."
                                  : "Lines arrive later than they are needed.");
}

static char *conflict_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char footprint[NUMBER], step[NUMBER], sets[TEXT] = "", l1[NUMBER];

    if (m->sets <= 16)
        snprintf(sets, sizeof(sets), " into %u of 64 sets", m->sets);
    return td_xasprintf(
        "its lines fall%s of L1 and push each other out: conflict. %.0f %% of its lines "
        "had left although little else came; the footprint is %s of the %s of L1%s%s.",
        *sets ? sets : " into the same sets", 100 * m->conflicts,
        bytes_text(footprint, (double)m->footprint), bytes_text(l1, (double)why->core.l1),
        m->stride_share >= 0.5 ? "; accesses are " : "",
        m->stride_share >= 0.5 ? stride_text(step, m->stride) : "");
}

static char *tlb_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char pages[NUMBER], tlb[NUMBER], stlb[NUMBER], step[NUMBER], known[TEXT] = "";
    char order[TEXT] = "in no order: random access";

    if (why->core.tlb_pages && why->core.stlb_pages)
        snprintf(known, sizeof(known), " (%s and %s pages)", count_text(tlb, why->core.tlb_pages),
                 count_text(stlb, why->core.stlb_pages));
    if (m->stride_share >= 0.5)
        snprintf(order, sizeof(order), "%s each", stride_text(step, m->stride));
    return td_xasprintf("%.0f %% of the accesses touch another page than the one before, %s. Their "
                        "%s pages are beyond the TLBs' reach%s, and %.0f %% walk the page tables.",
                        100 * m->new_page, order, count_text(pages, m->pages), known,
                        100 * m->walks);
}

static char *alignment_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    (void)why;
    return td_xasprintf(
        "%.0f %% of the accesses lie over the end of a cache line and take two: "
        "alignment. %.0f %% of the addresses are no multiple of the %.0f bytes of an access.",
        100 * m->split, 100 * m->unaligned, m->bytes);
}

static char *partner_text(const struct td_why *why, const struct td_model *model)
{
    char place[TEXT];

    if (!why->partner || why->partner_location == TD_NONE)
        return td_xstrdup("a store");
    place_text(place, sizeof(place), model, why->partner_location);
    return td_xasprintf("the store at %s", place);
}

static char *blocked_sentence(const struct td_why *why, const struct td_model *model)
{
    char *store = partner_text(why, model), *text = NULL;
    char size[TEXT] = "";
    const double bytes = td_why_memory_of(why->habit).bytes;

    if (why->partner_habit)
        snprintf(size, sizeof(size), " (%.0f bytes loaded, %.0f stored)", bytes,
                 td_why_memory_of(why->partner_habit).bytes);
    text = td_xasprintf("it loads bytes of which %s wrote only a part%s: store forwarding is "
                        "blocked until the store is in L1.",
                        store, size);
    free(store);
    return text;
}

static char *alias_sentence(const struct td_why *why, const struct td_model *model)
{
    char *store = partner_text(why, model), *text = NULL;

    text = td_xasprintf(
        "%s writes to an address a multiple of 4,096 bytes away, which looks like the same "
        "one at first: 4K alias.",
        store);
    free(store);
    return text;
}

static char *branch_sentence(const struct td_why *why)
{
    const struct td_why_branch b = td_why_branch_of(why->habit);
    char period[NUMBER];

    if (why->cause == TD_WHY_BRANCH_PERIODIC)
        return td_xasprintf(
            "the branch does the same again after %s executions, a longer period than the "
            "predictor follows: %.1f %% are mispredicted, %.0f %% are taken.",
            count_text(period, b.period), 100 * b.wrong, 100 * b.taken);
    if (why->cause == TD_WHY_BRANCH_INDIRECT)
        return td_xasprintf("the indirect branch goes to another target than before in %.0f %% of "
                            "its executions: %.1f %% are mispredicted.",
                            100 * b.turns, 100 * b.wrong);
    if (why->cause == TD_WHY_BRANCH)
        return td_xasprintf("%.1f %% of its executions are mispredicted; each costs a restart of "
                            "the pipeline.",
                            100 * b.wrong);
    return td_xasprintf(
        "the branch is %s: %.0f %% are taken, %s, and %.1f %% are mispredicted. Its "
        "data decide.",
        why->cause == TD_WHY_BRANCH_RANDOM ? "random" : "biased, with exceptions by no rule",
        100 * b.taken, b.searched ? "without a period up to 511" : "without a rule", 100 * b.wrong);
}

/* Of causes that need no figures, or where none are known. */
static const char *const plain[TD_WHY_CAUSE_COUNT] = {
    [TD_WHY_CHAIN] = "each operation waits for the result of the one before: a dependency chain. "
                     "Units are free meanwhile.",
    [TD_WHY_DIVIDER] = "operations wait for the divider, which takes one at a time.",
    [TD_WHY_SERIAL] = "a serializing operation (a fence, a repeated string instruction) lets "
                      "nothing pass it.",
    [TD_WHY_ORDER] = "a load runs before an older store to the same address is known, and all "
                     "after it is thrown away: memory order.",
    [TD_WHY_FORWARDED] = "it loads what a store has just written, and the next store waits for "
                         "it: a dependency chain through memory. A register would do.",
    [TD_WHY_LOCK] = "an atomic (locked) operation waits for all before it, and what comes "
                    "later waits for it.",
    [TD_WHY_SHARED] =
        "the line comes from another core, whose thread has changed it: threads share "
        "it.",
    [TD_WHY_STORES] = "stores wait until their lines are in L1, and the store buffer is full.",
    [TD_WHY_BLOCKED] = "it loads bytes of which a store wrote only a part: store forwarding is "
                       "blocked until the store is in L1.",
    [TD_WHY_ALIAS] = "a store writes a multiple of 4,096 bytes away: 4K alias.",
    [TD_WHY_TLB] = "pages are beyond the TLB's reach.",
    [TD_WHY_ALIGNMENT] = "accesses lie over the end of a cache line: alignment.",
    [TD_WHY_BRANCH] = "the branch is mispredicted; how it goes is not in the profile.",
};

static char *plain_sentence(const struct td_why *why)
{
    const char *text = plain[why->cause];

    if (why->cause == TD_WHY_CHAIN && why->node == TD_NODE_L1_LATENCY_DEPENDENCY)
        text = "each operation waits for a load from L1, which waits for the one before: a "
               "dependency chain with a load in it.";
    if (text)
        return td_xstrdup(text);
    if (why->cause == TD_WHY_PORT)
        return td_xasprintf("operations are ready and wait for a port (%s): port bound.",
                            td_tma_info(why->node)->name);
    if (why->cause == TD_WHY_FRONTEND)
        return td_xasprintf("instructions arrive too late (%s): the front end holds it up.",
                            td_tma_info(why->node)->name);
    if (why->cause == TD_WHY_MISSES)
        return td_xasprintf("it waits for lines that are not in L1 (%s). How it uses memory is not "
                            "in the profile: a recording keeps that of the instructions that ran "
                            "most.",
                            td_tma_info(why->node)->name);
    return td_xasprintf(
        "%.0f %% of its slots do useful work, and no loss takes a tenth: only fewer "
        "instructions make it faster.",
        100 * why->retiring);
}

static char *misses_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    (void)why;
    return td_xasprintf("it waits for lines that are not in L1; most of them come from %s.",
                        where_from(m));
}

typedef char *memory_writer(const struct td_why *why, const struct td_why_memory *m);
static memory_writer *const writers[TD_WHY_CAUSE_COUNT] = {
    [TD_WHY_STRIDE] = stride_sentence, [TD_WHY_RANDOM] = random_sentence,
    [TD_WHY_CHASE] = chase_sentence,   [TD_WHY_FOOTPRINT] = footprint_sentence,
    [TD_WHY_STREAM] = stream_sentence, [TD_WHY_CONFLICT] = conflict_sentence,
    [TD_WHY_TLB] = tlb_sentence,       [TD_WHY_ALIGNMENT] = alignment_sentence,
    [TD_WHY_MISSES] = misses_sentence,
};

static char *memory_sentence(const struct td_why *why, const struct td_model *model)
{
    const struct td_why_memory m = td_why_memory_of(why->habit);

    if (why->cause == TD_WHY_BLOCKED)
        return blocked_sentence(why, model);
    if (why->cause == TD_WHY_ALIAS)
        return alias_sentence(why, model);
    return writers[why->cause] ? writers[why->cause](why, &m) : plain_sentence(why);
}

static bool uses_memory(const struct td_why *why)
{
    return why->habit && why->habit->figures[TD_HABIT_ACCESSES] > 0;
}

static bool branches(const struct td_why *why)
{
    return why->habit && why->habit->figures[TD_HABIT_BRANCHES] > 0;
}

static bool is_of_branch(enum td_why_cause cause)
{
    return cause >= TD_WHY_BRANCH_RANDOM && cause <= TD_WHY_BRANCH;
}

char *td_why_sentence(const struct td_why *why, const struct td_model *model)
{
    char *text = is_of_branch(why->cause) && branches(why) ? branch_sentence(why)
                 : uses_memory(why)                        ? memory_sentence(why, model)
                                                           : plain_sentence(why);

    if (why->beside) {
        char *more = td_xasprintf("%s No loss stands out here, so that it may cost little.", text);

        free(text);
        text = more;
    }
    if (*text >= 'a' && *text <= 'z')
        *text = (char)(*text - 'a' + 'A');
    return text;
}

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
        char step[NUMBER];

        if (mark->kind != TD_HABIT_STRIDE || mark->count * 50 < all)
            continue;
        char *more =
            td_xasprintf("%s%s%s (%.0f %%)", text, shown++ ? ", " : "",
                         stride_text(step, mark->key), 100 * (double)mark->count / (double)all);
        free(text);
        text = more;
    }
    if (shown == 0) {
        free(text);
        text = td_xstrdup("none comes again");
    }
    print_line(style, "strides", text);
}

static void print_memory(const struct td_why *why, const struct td_style *style)
{
    const struct td_why_memory m = td_why_memory_of(why->habit);
    const uint64_t *f = why->habit->figures;
    char a[NUMBER], b[NUMBER], c[NUMBER];

    print_line(style, "accesses",
               td_xasprintf("%s %s seen, of %.0f bytes", count_text(a, f[TD_HABIT_ACCESSES]),
                            f[TD_HABIT_STORES] ? "stores" : "loads", m.bytes));
    print_strides(why->habit, style);
    print_line(style, "footprint",
               td_xasprintf("about %s, in about %s page%s; a new line in %.0f %%, a new page in "
                            "%.0f %% of the accesses",
                            bytes_text(a, (double)m.footprint), count_text(b, m.pages),
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
                                100 * (1 - m.first), bytes_text(a, m.again_bytes),
                                bytes_text(b, (double)why->core.l1),
                                bytes_text(c, (double)why->core.l2)));
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
    char number[NUMBER];

    print_line(style, "branch",
               td_xasprintf("%s executions seen: %.1f %% taken, %.1f %% mispredicted, %.1f %% "
                            "another way than the one before",
                            count_text(number, why->habit->figures[TD_HABIT_BRANCHES]),
                            100 * b.taken, 100 * b.wrong, 100 * b.turns));
    if (b.searched)
        print_line(style, "period",
                   b.period ? td_xasprintf("%" PRIu32 " executions", b.period)
                            : td_xstrdup("none up to 511 executions"));
}

/* How much is lost, and where most of it. */
static void print_lost(const struct td_why *why, const struct td_model *model,
                       const struct td_style *style)
{
    const char *module = td_module_name(model, why->module);
    char at[TEXT];

    place_text(at, sizeof(at), model, why->location);
    if (why->node == TD_NODE_NONE)
        print_line(style, "at", td_xasprintf("%s+0x%" PRIx64 " (%s)", module, why->offset, at));
    else
        print_line(style, "lost",
                   td_xasprintf("%.0f %% of its slots to %s and the like; %.0f %% of that at one "
                                "instruction, %s+0x%" PRIx64 " (%s)",
                                100 * why->lost, td_tma_info(why->node)->id, 100 * why->part,
                                module, why->offset, at));
}

void td_why_print(const struct td_why *why, const struct td_measure *measure, const char *place,
                  const char *next, const struct td_style *style)
{
    const uint64_t all = measure->totals[TD_METRIC_SLOTS], slots = why->values[TD_METRIC_SLOTS];

    fputc('\n', style->out);
    td_style_begin(style, TD_TONE_HEADING);
    td_style_safe(style, place, 0);
    td_style_end(style, TD_TONE_HEADING);
    fprintf(style->out, "  %.1f %% of all slots\n", all ? 100 * (double)slots / (double)all : 0);
    td_style_paragraph(style, "cause", TD_TONE_HOT, td_why_text(why->cause));
    char *sentence = td_why_sentence(why, measure->model);
    td_style_paragraph(style, "why", TD_TONE_NOTE, sentence);
    free(sentence);
    if (why->cause == TD_WHY_NOTHING)
        return;
    print_lost(why, measure->model, style);
    if (uses_memory(why) && !is_of_branch(why->cause))
        print_memory(why, style);
    if (branches(why) && is_of_branch(why->cause))
        print_branch(why, style);
    if (next)
        td_next_print(next, style);
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

void td_why_json(const struct td_why *why, const struct td_measure *measure, const char *place,
                 const char *next, struct td_json *json)
{
    const struct td_model *model = measure->model;
    char *sentence = td_why_sentence(why, model);

    td_json_object(json, NULL);
    td_json_string(json, "place", place);
    td_json_string(json, "cause", td_why_id(why->cause));
    td_json_string(json, "cause_text", td_why_text(why->cause));
    td_json_string(json, "sentence", sentence);
    td_json_u64(json, "slots", why->values[TD_METRIC_SLOTS]);
    td_json_double(json, "retiring", why->retiring, 6);
    td_json_double(json, "lost", why->lost, 6);
    td_json_string(json, "category", why->node == TD_NODE_NONE ? NULL : td_tma_info(why->node)->id);
    if (why->cause == TD_WHY_NOTHING) {
        td_json_null(json, "instruction");
    } else {
        td_json_object(json, "instruction");
        td_json_string(json, "module", td_module_name(model, why->module));
        td_json_u64(json, "offset", why->offset);
        json_place(json, model, why->location);
        td_json_double(json, "part", why->part, 6);
        td_json_end(json);
    }
    json_habit(json, "habit", why->habit);
    if (why->partner) {
        td_json_object(json, "partner");
        td_json_string(json, "module", td_module_name(model, why->partner->module));
        td_json_u64(json, "offset", (uint64_t)why->partner->key);
        json_place(json, model, why->partner_location);
        td_json_end(json);
    } else {
        td_json_null(json, "partner");
    }
    td_json_string(json, "next", next);
    td_json_end(json);
    free(sentence);
}
