/* SPDX-License-Identifier: MIT */
#include "report/view/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/frames.h"
#include "report/query/figures/measure.h"
#include "report/query/advice.h"
#include "report/query/figures/names.h"
#include "report/query/figures/weights.h"
#include "report/view/table/table.h"
#include "report/view/table/units.h"
#include "report/view/whatif.h"

#define PLACE_WIDTH    24 /* of a place's names at least */
#define PLACE_MIN      16 /* of them, where the line's number takes the rest */
#define DIGITS         6
#define NAME_MAX       60    /* a longer name is not worth typing */
#define WORKER_WIDTH   30    /* of a function's name in a sentence */
#define LOSSES_MAX     3     /* categories of a place: smaller ones are in the tables */
#define LOSS_SHARE_MIN 0.005 /* of all slots: less is not worth a word */
#define UNKNOWN_MOST   0.5   /* of the time: with more the verdict is of the smaller part */
#define MORE_GAIN      1.05  /* a smaller bound is not worth a sentence */

/* A word for a shell, when it can be one without escapes of escapes. */
static bool quotable(const char *name)
{
    for (const char *c = name; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == '\'' || *c == 0x7f || (unsigned char)*c >= 0x80)
            return false;
    }
    return *name != '\0' && *name != '-';
}

static const char *quote_of(const char *word)
{
    return strpbrk(word, " ()&;|<>$`\"*?~{}[]#") ? "'" : "";
}

char *td_next_command(const char *command, const char *input, const char *name)
{
    const bool has_input = input && quotable(input);
    const bool has_name = quotable(name) && strlen(name) < NAME_MAX;
    const char *i = has_input ? quote_of(input) : "", *n = has_name ? quote_of(name) : "";

    return td_xasprintf("tdreport %s%s%s%s%s%s%s%s%s", command, has_input ? " -i " : "", i,
                        has_input ? input : "", i, has_name ? " " : "", n, has_name ? name : "", n);
}

static char *command_for(const char *command, const struct td_model *model, const char *input,
                         uint32_t function)
{
    char bare[256] = "";

    td_name_bare(bare, sizeof(bare),
                 td_model_string(model, td_model_function(model, function)->name));
    return td_next_command(bare[0] ? command : "functions", input, bare);
}

static bool is_spinning(const struct td_verdict *verdict, enum td_tma_node node)
{
    return verdict->spins && node == TD_NODE_SERIALIZING_OPERATION;
}

/* Whether what is high first is what threads lose to each other's lines: the first of the innermost
 * categories. */
static bool names_sharing(const struct td_verdict *verdict)
{
    for (size_t i = 0; i < verdict->node_count; i++) {
        const struct td_verdict_node *n = &verdict->nodes[i];

        if (n->finding == TD_FINDING_HIGH)
            return n->node == TD_NODE_CONTESTED_ACCESSES || n->node == TD_NODE_FALSE_SHARING ||
                   is_spinning(verdict, n->node);
    }
    return false;
}

char *td_next_of_verdict(const struct td_model *model, const char *input,
                         const struct td_verdict *verdict)
{
    const struct td_verdict_place *first = &verdict->places[0];

    if (names_sharing(verdict) && td_model_shared_count(model) > 0)
        return td_next_command("sharing", input, "");
    if (verdict->function != TD_NONE)
        return command_for("annotate", model, input, verdict->function);
    if (verdict->place_count == 0 || first->module == TD_NONE ||
        td_model_module(model, first->module)->kind != TD_MODULE_FILE)
        return td_next_command("functions", input, "");
    if (first->function != TD_NONE)
        return command_for("annotate --asm", model, input, first->function);
    return td_next_command("annotate --asm", input, td_module_name(model, first->module));
}

void td_next_print(const char *command, const struct td_style *style)
{
    td_style_label(style, "next", TD_TONE_NOTE);
    fputs(command, style->out);
    fputc('\n', style->out);
}

/* "31.0 ± 0.4 %" */
static char *share_words(double share, double error, const struct td_style *style)
{
    if (100 * error >= 0.05)
        return td_xasprintf("%.1f %s %.1f %%", 100 * share, td_style_plus_minus(style),
                            100 * error);
    return td_xasprintf("%.1f %%", 100 * share);
}

/* How much room there is: what is left out first comes last. */
enum detail {
    DETAIL_FULL,
    DETAIL_SHORT, /* no meanings of categories */
    DETAIL_FEW,   /* the greatest two categories, the others by name */
    DETAIL_LEAST, /* one of both, and one place */
    DETAIL_COUNT
};

static const char *meaning_of(const struct td_verdict *verdict, enum td_tma_node node)
{
    return is_spinning(verdict, node) ? "threads wait in a loop (spinning, pause) for a lock or a "
                                        "flag that another thread "
                                        "stores"
                                      : td_tma_info(node)->meaning;
}

static const char *try_of(const struct td_verdict *verdict, enum td_tma_node node)
{
    return is_spinning(verdict, node)
               ? "locks that are held for less time, or that sleep; fewer threads at one lock"
               : td_advice_of(node)->try_this;
}

static void print_try(const char *text, const struct td_style *style)
{
    td_style_paragraph(style, "  try", TD_TONE_NOTE, text);
}

/* What it costs: modelled without it, or what its slots say. */
static char *gain_words(const struct td_verdict_node *n, const struct td_measure *measure,
                        const struct td_style *style)
{
    const size_t variant = td_whatif_of_node(measure, n->node);
    const char *with = n->with == TD_NODE_NONE ? NULL : td_tma_info(n->with)->id;
    char *words = NULL, *text = NULL;

    if (variant < measure->variant_count) {
        const struct td_whatif what_if = td_whatif_of(measure, variant);

        words = td_whatif_words(&what_if, style);
    }
    if (words)
        text = td_xasprintf("; %s", words);
    else if (n->speedup >= MORE_GAIN)
        text = td_xasprintf("; removing it all%s%s%s gives up to about %.1f times the speed",
                            with ? ", and " : "", with ? with : "", with ? " with it," : "",
                            n->speedup);
    free(words);
    return text ? text : td_xstrdup("");
}

static void print_high(const struct td_verdict *verdict, const struct td_verdict_node *n,
                       const struct td_measure *measure, enum detail detail,
                       const struct td_style *style)
{
    const char *modelled = td_measure_is_modelled(measure) ? "modelled " : "";
    const struct td_tma_info *info = td_tma_info(n->node);
    char time[48] = "";
    char *share = share_words(n->share, n->error, style);
    char *gain = gain_words(n, measure, style);

    if (n->seconds > 0)
        td_format_time(style, time, sizeof(time), n->seconds * 1e9);
    char *text = td_xasprintf("%s %s of %sslots%s%s%s%s%s", info->id, share, modelled,
                              time[0] ? ", " : "", time, detail == DETAIL_FULL ? ": " : "",
                              detail == DETAIL_FULL ? meaning_of(verdict, n->node) : "", gain);

    td_style_paragraph(style, "high", TD_TONE_HOT, text);
    print_try(try_of(verdict, n->node), style);
    free(text);
    free(gain);
    free(share);
}

/* The nodes of one finding in a list: "frontend_bound 1.3 % (below 15 %), ...". */
static void print_list(const struct td_verdict *verdict, enum td_finding finding, size_t from,
                       const char *label, const char *relation, const struct td_style *style)
{
    char *text = NULL;

    for (size_t i = from; i < verdict->node_count; i++) {
        const struct td_verdict_node *n = &verdict->nodes[i];

        if (n->finding != finding)
            continue;
        char *share = share_words(n->share, n->error, style);
        char *more = td_xasprintf("%s%s%s %s (%s %.0f %%)", text ? text : "", text ? ", " : "",
                                  td_tma_info(n->node)->id, share, relation, 100 * n->threshold);
        free(share);
        free(text);
        text = more;
    }
    if (text)
        td_style_paragraph(style, label, finding == TD_FINDING_HIGH ? TD_TONE_HOT : TD_TONE_DIM,
                           text);
    free(text);
}

static const char *name_of(const struct td_model *model, uint32_t function, uint32_t module,
                           char *buf, size_t size)
{
    const struct td_frame frame = {.location = TD_NONE, .module = module, .function = function};

    if (function != TD_NONE)
        return td_frame_name(model, &frame, buf, size);
    if (module == TD_NONE)
        snprintf(buf, size, "[unknown]");
    else
        snprintf(buf, size, TD_UNNAMED_OF "%s", td_module_name(model, module));
    return buf;
}

static const char *place_name(const struct td_model *model, const struct td_verdict_place *place,
                              char *buf, size_t size)
{
    return name_of(model, place->function, place->module, buf, size);
}

/* "23.5 % l3_bound, 18.6 % branch_mispredicts": each with its own figure, the first `count`. */
static char *loss_words(const struct td_verdict_place *place, const struct td_measure *measure,
                        size_t count)
{
    char *text = NULL;

    if (place->loss_count == 0) /* an event's name may be long */
        return td_xasprintf("%.1f %% of %s", 100 * place->share,
                            td_measure_primary(measure) == TD_METRIC_EVENT
                                ? "all"
                                : td_metric_heading(measure, td_measure_primary(measure)));
    for (size_t i = 0; i < count; i++) {
        const struct td_verdict_loss *loss = &place->losses[i];
        char *more = td_xasprintf("%s%s%.1f %% %s", text ? text : "", text ? ", " : "",
                                  100 * loss->share, td_tma_info(loss->node)->id);

        free(text);
        text = more;
    }
    return text;
}

/* As many losses as are worth a word and leave room for the place: one at least. */
static char *fitting_losses(const struct td_verdict_place *place, const struct td_measure *measure,
                            const struct td_style *style)
{
    size_t count = 1;
    char *text = loss_words(place, measure, count);

    while (count < place->loss_count && count < LOSSES_MAX &&
           place->losses[count].share >= LOSS_SHARE_MIN) {
        char *more = loss_words(place, measure, ++count);

        if (!style->full && TD_LABEL_WIDTH + PLACE_WIDTH + 2 + strlen(more) > style->width) {
            free(more);
            break;
        }
        free(text);
        text = more;
    }
    return text;
}

/* "matmul.c:22 multiply  60.1 % l3_bound, 24.9 % ports_utilization": the name gets half of the room
 * at least, the path what the name leaves. */
static void print_place(const struct td_verdict_place *place, const struct td_measure *measure,
                        bool first, const struct td_style *style)
{
    const struct td_model *model = measure->model;
    char buf[512], name[1024], file[1024], line[16] = "";
    char *losses = fitting_losses(place, measure, style);

    if (place->line)
        snprintf(line, sizeof(line), ":%u ", (unsigned)place->line);
    const size_t used = TD_LABEL_WIDTH + strlen(line) + 2 + strlen(losses);
    const unsigned room =
        style->width > used + PLACE_MIN ? style->width - (unsigned)used : PLACE_MIN;
    td_fit_name(style, name, sizeof(name), place_name(model, place, buf, sizeof(buf)),
                style->full ? 0 : room / (place->line ? 2 : 1));
    const unsigned taken = (unsigned)td_text_width(name);
    td_fit_path(style, file, sizeof(file), place->line ? td_model_string(model, place->file) : "",
                style->full        ? 0
                : room > taken + 8 ? room - taken
                                   : 8);
    td_style_label(style, first ? "look at" : "", TD_TONE_HOT);
    fprintf(style->out, "%s%s%s  %s\n", file, line, name, losses);
    free(losses);
}

/* "multiply (61 %), fill (12 %)"; the caller frees it. */
static char *worker_words(const struct td_verdict *verdict, const struct td_model *model,
                          const struct td_style *style)
{
    char *text = td_xstrdup("");

    for (size_t i = 0; i < verdict->worker_count; i++) {
        const struct td_verdict_worker *w = &verdict->workers[i];
        char buf[512], name[512];
        const char *whole = name_of(model, w->function, w->module, buf, sizeof(buf));

        if (w->function == TD_NONE) /* words, and the end of a path */
            td_fit_path(style, name, sizeof(name), whole, 0);
        else
            td_fit_name(style, name, sizeof(name), whole, style->full ? 0 : WORKER_WIDTH);
        char *more = td_xasprintf("%s%s%s (%.1f %%)", text, i ? ", " : "", name, 100 * w->share);
        free(text);
        text = more;
    }
    return text;
}

/* " (other_light_ops 35.6 % of all slots)": kinds of work above their threshold; the caller frees
 * it. */
static char *kind_words(const struct td_verdict *verdict, const struct td_style *style)
{
    char *text = td_xstrdup("");

    for (size_t i = 0; i < verdict->node_count; i++) {
        const struct td_verdict_node *n = &verdict->nodes[i];

        /* All work together, or nearly: that is what the share of useful work says. */
        if (n->finding != TD_FINDING_WORK || td_tma_info(n->node)->level <= 2)
            continue;
        char *share = share_words(n->share, n->error, style);
        char *more = td_xasprintf("%s%s%s %s%s", text, text[0] ? ", " : " (",
                                  td_tma_info(n->node)->id, share, text[0] ? "" : " of all slots");
        free(share);
        free(text);
        text = more;
    }
    return text;
}

/* More than half of the slots do useful work: what else is high is less than that. */
static void print_useful(const struct td_verdict *verdict, const struct td_measure *measure,
                         enum detail detail, const char *modelled, const struct td_style *style)
{
    char *share = share_words(verdict->retiring, verdict->retiring_error, style);
    char *kinds = detail == DETAIL_FULL ? kind_words(verdict, style) : td_xstrdup("");
    char *workers = worker_words(verdict, measure->model, style);
    char *text = td_xasprintf(
        "%s of %sslots retire: mostly useful work%s%s. Fewer instructions are what helps%s%s%s",
        share, modelled, kinds, kinds[0] ? ")" : "", workers[0] ? "; most " : "",
        !workers[0]                               ? ""
        : verdict->work == TD_METRIC_INSTRUCTIONS ? "are in "
                                                  : "of this work is in ",
        workers);

    td_style_paragraph(style, "useful", TD_TONE_HEADING, text);
    print_try(td_advice_of(TD_NODE_RETIRING)->try_this, style);
    free(text);
    free(workers);
    free(kinds);
    free(share);
}

/* Neither losses nor useful work: what is lost is spread. */
static void print_spread(const struct td_verdict *verdict, const char *modelled,
                         const struct td_style *style)
{
    char *share = share_words(verdict->retiring, verdict->retiring_error, style);
    char *text = td_xasprintf("no category of lost slots stands out, and %s of %sslots do "
                              "useful work: what is lost is spread over many causes",
                              share, modelled);

    td_style_paragraph(style, "verdict", TD_TONE_HEADING, text);
    free(text);
    free(share);
}

/* Without categories. */
static void print_cost(const struct td_verdict *verdict, const struct td_measure *measure,
                       const struct td_style *style)
{
    char *workers = worker_words(verdict, measure->model, style);
    const char *what = td_metric_heading(measure, verdict->work);
    char *text = workers[0] ? td_xasprintf("by %s: %s", what, workers)
                            : td_xasprintf("no function takes 2 %% of the %s", what);

    td_style_paragraph(style, "hot", TD_TONE_HOT, text);
    free(text);
    free(workers);
    text = td_xasprintf("%s", measure->no_slots
                                  ? measure->no_slots
                                  : "not in this profile: tdrec --source sim models what pipeline "
                                    "slots are lost to, --source pmu counts it");
    td_style_paragraph(style, "causes", TD_TONE_DIM, text);
    free(text);
}

static void print_losses(const struct td_verdict *verdict, const struct td_measure *measure,
                         enum detail detail, const struct td_style *style)
{
    const char *modelled = td_measure_is_modelled(measure) ? "modelled " : "";
    const size_t most = detail >= DETAIL_LEAST ? 1 : detail >= DETAIL_FEW ? 2 : TD_NODE_COUNT;
    size_t shown = 0, i = 0;

    if (verdict->useful)
        print_useful(verdict, measure, detail, modelled, style);
    for (; i < verdict->node_count && verdict->nodes[i].finding == TD_FINDING_HIGH; i++) {
        if (shown == most)
            break;
        shown++;
        print_high(verdict, &verdict->nodes[i], measure, detail, style);
    }
    if (shown == 0 && !verdict->useful)
        print_spread(verdict, modelled, style);
    print_list(verdict, TD_FINDING_HIGH, i, "also high", "above", style);
    print_list(verdict, TD_FINDING_UNSURE, 0, "not sure", "high is", style);
    print_list(verdict, TD_FINDING_RULED_OUT, 0, "ruled out", "below", style);
    td_whatif_print_line(measure, style);
}

/* A verdict on the smaller part of the time is no verdict on the program. */
static void print_part(const struct td_measure *measure, const struct td_style *style)
{
    const double unknown = measure->weighted ? td_weights_coverage_of(measure).uncategorized : 0;
    char text[160];

    if (unknown <= UNKNOWN_MOST)
        return;
    snprintf(text, sizeof(text),
             "%.0f %% of the time has no categories: what is high and ruled out is of the other "
             "%.0f %% (the notes say why)",
             100 * unknown, 100 * (1 - unknown));
    td_style_paragraph(style, "careful", TD_TONE_HOT, text);
}

static void print_all(const struct td_verdict *verdict, const struct td_measure *measure,
                      const char *next, enum detail detail, const struct td_style *style)
{
    print_part(measure, style);
    if (verdict->node_count > 0)
        print_losses(verdict, measure, detail, style);
    else
        print_cost(verdict, measure, style);
    for (size_t i = 0; i < verdict->place_count && (i == 0 || detail < DETAIL_LEAST); i++)
        print_place(&verdict->places[i], measure, i == 0, style);
    td_next_print(next, style);
    if (detail == DETAIL_FULL && verdict->node_count > 0 &&
        verdict->nodes[0].finding == TD_FINDING_HIGH)
        fprintf(style->out, "%*stdreport explain %s\n", TD_LABEL_WIDTH, "",
                td_tma_info(verdict->nodes[0].node)->id);
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;

    for (; (text = strchr(text, '\n')); text++)
        lines++;
    return lines;
}

void td_verdict_print(const struct td_verdict *verdict, const struct td_measure *measure,
                      const char *next, size_t lines, const struct td_style *style)
{
    for (int detail = DETAIL_FULL; detail < DETAIL_COUNT; detail++) {
        struct td_style tried = *style;
        char *text = NULL;
        size_t size = 0;

        tried.out = td_xmemstream(&text, &size);
        print_all(verdict, measure, next, (enum detail)detail, &tried);
        fclose(tried.out);
        const bool fits = lines == 0 || count_lines(text) <= lines || detail + 1 == DETAIL_COUNT;
        if (fits)
            fputs(text, style->out);
        free(text);
        if (fits)
            return;
    }
}

static void add_nodes(struct td_json *json, const char *key, const struct td_verdict *verdict,
                      enum td_finding finding)
{
    td_json_array(json, key);
    for (size_t i = 0; i < verdict->node_count; i++) {
        const struct td_verdict_node *n = &verdict->nodes[i];

        if (n->finding != finding)
            continue;
        td_json_object(json, NULL);
        td_json_string(json, "id", td_tma_info(n->node)->id);
        td_json_u64(json, "slots", n->slots);
        td_json_double(json, "share", n->share, DIGITS);
        td_json_double(json, "error", n->error, DIGITS);
        td_json_double(json, "threshold", n->threshold, DIGITS);
        td_json_double(json, "seconds", n->seconds > 0 ? n->seconds : NAN, DIGITS);
        if (finding == TD_FINDING_HIGH) {
            td_json_double(json, "speedup_at_most", n->speedup, DIGITS);
            td_json_string(json, "try", try_of(verdict, n->node));
        }
        td_json_end(json);
    }
    td_json_end(json);
}

/* The greatest loss, then all of them, each with its own share. */
static void add_losses(struct td_json *json, const struct td_verdict_place *place)
{
    const bool known = place->loss_count > 0;

    td_json_string(json, "category", known ? td_tma_info(place->losses[0].node)->id : NULL);
    td_json_double(json, "slots_share", known ? place->losses[0].share : place->share, DIGITS);
    td_json_array(json, "categories");
    for (size_t i = 0; i < place->loss_count; i++) {
        td_json_object(json, NULL);
        td_json_string(json, "id", td_tma_info(place->losses[i].node)->id);
        td_json_double(json, "slots_share", place->losses[i].share, DIGITS);
        td_json_end(json);
    }
    td_json_end(json);
}

static void add_places(struct td_json *json, const struct td_verdict *verdict,
                       const struct td_model *model)
{
    td_json_array(json, "look_at");
    for (size_t i = 0; i < verdict->place_count; i++) {
        const struct td_verdict_place *place = &verdict->places[i];
        char buf[512];

        td_json_object(json, NULL);
        td_json_string(json, "function", place_name(model, place, buf, sizeof(buf)));
        td_json_string(json, "file", place->file ? td_model_string(model, place->file) : NULL);
        if (place->line)
            td_json_u64(json, "line", place->line);
        else
            td_json_null(json, "line");
        add_losses(json, place);
        td_json_end(json);
    }
    td_json_end(json);
}

/* Null unless more than half of the slots do useful work. */
static void add_useful(struct td_json *json, const struct td_verdict *verdict,
                       const struct td_model *model)
{
    char buf[512];

    if (!verdict->useful) {
        td_json_null(json, "useful");
        return;
    }
    td_json_object(json, "useful");
    td_json_double(json, "share", verdict->retiring, DIGITS);
    td_json_double(json, "error", verdict->retiring_error, DIGITS);
    add_nodes(json, "categories", verdict, TD_FINDING_WORK);
    td_json_string(json, "work", td_metric_id(verdict->work));
    td_json_array(json, "functions");
    for (size_t i = 0; i < verdict->worker_count; i++) {
        const struct td_verdict_worker *w = &verdict->workers[i];

        td_json_object(json, NULL);
        td_json_string(json, "function", name_of(model, w->function, w->module, buf, sizeof(buf)));
        td_json_double(json, "work_share", w->share, DIGITS);
        td_json_end(json);
    }
    td_json_end(json);
    td_json_end(json);
}

void td_verdict_json(struct td_json *json, const struct td_verdict *verdict,
                     const struct td_measure *measure, const char *next)
{
    if (verdict->node_count == 0) {
        td_json_null(json, "verdict");
        return;
    }
    td_json_object(json, "verdict");
    add_nodes(json, "high", verdict, TD_FINDING_HIGH);
    add_nodes(json, "unsure", verdict, TD_FINDING_UNSURE);
    add_nodes(json, "ruled_out", verdict, TD_FINDING_RULED_OUT);
    add_places(json, verdict, measure->model);
    add_useful(json, verdict, measure->model);
    if (measure->variant_count > 0)
        td_whatif_json(measure, json);
    td_json_string(json, "next", next);
    td_json_end(json);
}
