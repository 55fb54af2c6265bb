/* SPDX-License-Identifier: MIT */
#include "report/view/diff/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/mem.h"
#include "report/query/figures/measure.h"
#include "report/query/figures/names.h"

const char *td_diff_label(char buf[TD_DIFF_LABEL], size_t column)
{
    if (column < 2)
        return column == 0 ? "OLD" : "NEW";
    snprintf(buf, TD_DIFF_LABEL, "NEW%zu", column);
    return buf;
}

static double greatest_total(const struct td_diff *diff, enum td_diff_unit unit)
{
    double most = 0;

    for (size_t c = 0; c < diff->column_count; c++)
        most = fmax(most, td_diff_cell_of(diff, &diff->total, c, TD_DIFF_WHOLE, unit)->value);
    return most;
}

struct td_diff_scale td_diff_scale_of(const struct td_diff *diff, enum td_diff_unit unit)
{
    static const struct td_diff_scale times[] = {
        {1e-9, "s", 0}, {1e-6, "ms", 0}, {1e-3, "us", 0}, {1, "ns", 0}};
    static const struct td_diff_scale counts[] = {
        {1e-9, "G", 0}, {1e-6, "M", 0}, {1e-3, "k", 0}, {1, "", 0}};
    const bool time = unit == TD_DIFF_COST && diff->cost == TD_METRIC_TIME_NS;
    const struct td_diff_scale *from = time ? times : counts;
    const double most = greatest_total(diff, unit);
    size_t i = 0;

    while (i < 3 && most * from[i].factor < 1)
        i++;
    struct td_diff_scale scale = from[i];
    scale.decimals = most * scale.factor >= 100 ? 1 : most * scale.factor >= 10 ? 2 : 3;
    return scale;
}

const char *td_diff_figure(char *buf, size_t size, const struct td_diff_scale *scale, double value,
                           bool sign)
{
    double shown = value * scale->factor;
    const double least = 0.5 * pow(10, -scale->decimals);

    if (!isfinite(shown)) {
        snprintf(buf, size, "-");
        return buf;
    }
    /* No "-0.00". */
    shown = fabs(shown) < least ? 0 : shown;
    snprintf(buf, size, sign && shown != 0 ? "%+.*f" : "%.*f", scale->decimals, shown);
    return buf;
}

const char *td_diff_name(char *buf, size_t size, const struct td_diff *diff,
                         const struct td_diff_row *row)
{
    const struct td_diff_place *place = td_diff_place_of(diff, row, diff->column_count - 1);

    if (row->kind == TD_DIFF_TOTAL) {
        snprintf(buf, size, "total");
    } else if (row->kind == TD_DIFF_REST) {
        snprintf(buf, size, "smaller lines");
    } else if (row->kind == TD_DIFF_LINE && place->line && place->file) {
        snprintf(buf, size, "%s:%u", td_text_last_part(place->file), (unsigned)place->line);
    } else if (place->function) {
        snprintf(buf, size, "%s%s", place->function, row->kind == TD_DIFF_LINE ? " (no line)" : "");
    } else {
        snprintf(buf, size, TD_UNNAMED_OF "%s", place->module ? place->module : "[unknown]");
    }
    return buf;
}

enum td_diff_status td_diff_status_of(const struct td_diff_row *row, size_t column)
{
    if (row->kind == TD_DIFF_TOTAL || row->kind == TD_DIFF_REST)
        return TD_DIFF_IN_BOTH;
    if (!row->places[column].there)
        return row->places[0].there ? TD_DIFF_GONE : TD_DIFF_IN_NONE;
    return row->places[0].there ? TD_DIFF_IN_BOTH : TD_DIFF_NEW;
}

/* Of the first column's total, in percent. */
static double percent_of(const struct td_diff *diff, double delta, enum td_diff_unit unit)
{
    const double old = td_diff_cell_of(diff, &diff->total, 0, TD_DIFF_WHOLE, unit)->value;

    return old > 0 ? 100 * delta / old : NAN;
}

const char *td_diff_remark(char *buf, size_t size, const struct td_diff *diff,
                           const struct td_diff_row *row, size_t column, unsigned what,
                           enum td_diff_unit unit)
{
    const struct td_change *change = &td_diff_cell_of(diff, row, column, what, unit)->change;
    const enum td_diff_status status =
        what == TD_DIFF_WHOLE ? td_diff_status_of(row, column) : TD_DIFF_IN_BOTH;
    const char *word = status == TD_DIFF_GONE ? ", gone" : status == TD_DIFF_NEW ? ", new" : "";

    if (change->significant)
        snprintf(buf, size, "%+.1f %%%s", percent_of(diff, change->delta, unit), word);
    else if (status == TD_DIFF_IN_NONE || change->delta == 0)
        snprintf(buf, size, "%s", "");
    else
        snprintf(buf, size, "not significant");
    return buf;
}

const char *td_diff_causes_text(char *buf, size_t size, const struct td_diff *diff,
                                const struct td_diff_row *row, size_t column,
                                enum td_diff_unit unit)
{
    const struct td_change *whole =
        &td_diff_cell_of(diff, row, column, TD_DIFF_WHOLE, TD_DIFF_COST)->change;
    const struct td_diff_scale scale = td_diff_scale_of(diff, unit);
    enum td_tma_node nodes[3];
    const size_t len = td_diff_causes(diff, row, column, nodes, 3);
    size_t used = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < len && used < size; i++) {
        const struct td_diff_cell *cell =
            td_diff_cell_of(diff, row, column, TD_DIFF_NODE(nodes[i]), unit);
        const struct td_change *cost =
            &td_diff_cell_of(diff, row, column, TD_DIFF_NODE(nodes[i]), TD_DIFF_COST)->change;
        char figure[64];

        /* The first always, others where they are a part worth a word. */
        if (!cell || (i > 0 && fabs(cost->delta) < 0.1 * fabs(whole->delta)))
            continue;
        const int n =
            snprintf(buf + used, size - used, "%s%s %s", i ? ", " : "", td_tma_info(nodes[i])->id,
                     td_diff_figure(figure, sizeof(figure), &scale, cell->change.delta, true));
        used += n > 0 ? (size_t)n : 0;
    }
    return buf;
}

static void amount(FILE *out, const struct td_diff *diff, double value)
{
    const struct td_diff_scale scale = td_diff_scale_of(diff, TD_DIFF_COST);
    char figure[64];

    fprintf(out, "%s %s%s%s", td_diff_figure(figure, sizeof(figure), &scale, value, false),
            scale.unit, diff->cost != TD_METRIC_TIME_NS && scale.unit[0] ? " " : "",
            diff->cost == TD_METRIC_TIME_NS ? "" : td_metric_id(diff->cost));
}

static void reasons_words(FILE *out, const struct td_diff *diff,
                          const struct td_diff_verdict *verdict, size_t column)
{
    char name[TD_DIFF_TEXT];

    for (size_t i = 0; i < verdict->reason_count; i++) {
        const struct td_diff_reason *reason = &verdict->reasons[i];
        const enum td_diff_status status = td_diff_status_of(reason->row, column);

        fprintf(out, "%s%s%s%s %+.1f %%",
                i ? ", " : " Of that: ", td_diff_name(name, sizeof(name), diff, reason->row),
                reason->node == TD_NODE_NONE ? "" : " ",
                reason->node == TD_NODE_NONE ? "" : td_tma_info(reason->node)->id,
                100 * td_diff_part(diff, reason->delta));
        if (status != TD_DIFF_IN_BOTH)
            fputs(status == TD_DIFF_GONE ? " (gone)" : " (new)", out);
        else if (reason->line)
            fprintf(out, " (%s)", td_diff_name(name, sizeof(name), diff, reason->line));
    }
    if (verdict->reason_count > 0)
        fputc('.', out);
}

static bool has_significant(const struct td_diff_rows *rows, const struct td_diff *diff,
                            size_t column)
{
    for (size_t i = 0; i < rows->len; i++) {
        if (td_diff_cell_of(diff, &rows->at[i], column, TD_DIFF_WHOLE, TD_DIFF_COST)
                ->change.significant)
            return true;
    }
    return false;
}

void td_diff_verdict_words(FILE *out, const struct td_diff *diff, size_t column,
                           const char *plus_minus, const char *bold)
{
    const struct td_diff_verdict v = td_diff_verdict_of(diff, column);
    const bool timed = diff->cost == TD_METRIC_TIME_NS;
    const double old = td_diff_cell_of(diff, &diff->total, 0, TD_DIFF_WHOLE, TD_DIFF_COST)->value;
    char buf[TD_DIFF_LABEL];
    const char *label = td_diff_label(buf, column);

    if (!v.significant)
        fprintf(out, "%sNo significant difference%s: %s takes ", bold, bold, label);
    else if (v.delta < 0 && timed)
        fprintf(out, "%s%s is %.2f times as fast as OLD%s: ", bold, label, v.speed, bold);
    else if (old > 0)
        fprintf(out, "%s%s takes %.2f times as %s as OLD%s: ", bold, label, 1 / v.speed,
                timed ? "long" : "much", bold);
    else
        fprintf(out, "%s%s is more than OLD%s: ", bold, label, bold);
    amount(out, diff, old + v.delta);
    fputs(v.significant ? " in place of " : ", OLD ", out);
    amount(out, diff, old);
    fprintf(out, " (%+.1f %% %s %.1f).", 100 * v.change, plus_minus, 100 * v.change_error);
    if (v.significant)
        reasons_words(out, diff, &v, column);
    else if (has_significant(&diff->functions, diff, column))
        fputs(" Some functions did change, see below.", out);
}

static void count_words(FILE *out, double value, const char *what)
{
    const char *unit = value >= 1e9 ? "G " : value >= 1e6 ? "M " : value >= 1e3 ? "k " : "";
    const double factor = value >= 1e9 ? 1e-9 : value >= 1e6 ? 1e-6 : value >= 1e3 ? 1e-3 : 1;

    fprintf(out, ", %.4g %s%s", value * factor, unit, what);
}

void td_diff_column_words(FILE *out, const struct td_diff *diff, size_t column,
                          const char *plus_minus)
{
    const struct td_diff_column *c = &diff->columns[column];
    const struct td_diff_cell *cell =
        td_diff_cell_of(diff, &diff->total, column, TD_DIFF_WHOLE, TD_DIFF_COST);
    const char *core = td_model_env(c->first->model, TD_ENV_CORE);
    const char *source = td_model_env(c->first->model, TD_ENV_SOURCE);
    const uint64_t samples = c->first->totals[TD_METRIC_SAMPLES];
    const char *word = NULL;

    fprintf(out, "%s: ", c->name);
    amount(out, diff, cell->value);
    if (c->runs > 1)
        fprintf(out, ", mean of %zu runs (%s %.1f %%)", c->runs, plus_minus,
                cell->value > 0 ? 100 * cell->error / cell->value : 0.0);
    if (c->work != 1)
        fprintf(out, " for each of %.6g units of work", c->work);
    if (c->instructions > 0)
        count_words(out, c->instructions, "instructions");
    if (c->instructions > 0 && c->cycles > 0)
        fprintf(out, ", IPC %.2f", c->instructions / c->cycles);
    if (c->first->weighted)
        fprintf(out, ", measured time, categories modelled%s%s", core ? " on " : "",
                core ? core : "");
    else if (td_measure_is_modelled(c->first))
        fprintf(out, ", modelled%s%s", core ? " on " : "", core ? core : "");
    else
        fprintf(out, ", %s%s%s", source ? source : "imported", core ? " on " : "",
                core ? core : "");
    if (samples > 0 && (c->first->weighted || !td_measure_is_modelled(c->first)))
        count_words(out, (double)samples, c->runs > 1 ? "samples each" : "samples");
    fputs(", command", out);
    for (size_t i = 0; (word = td_model_env_at(c->first->model, TD_ENV_ARGV, i)); i++)
        fprintf(out, " %s", word);
}

/* 2.5 %, 12 %: what ± of a change of the whole is when all is assumed. */
static double assumed_percent(const struct td_diff *diff)
{
    return 100 * td_t_95(diff->of_total.freedom) * sqrt(2) * diff->of_total.part;
}

static char *spread_words(const struct td_diff *diff, const char *plus_minus)
{
    const bool modelled =
        td_measure_is_modelled(diff->columns[0].first) && !diff->columns[0].first->weighted;

    if (!diff->assumed)
        return td_xasprintf("%s is at 95 %%, from how far the runs of a side are apart. "
                            "Significance is of all rows together: at most one in a hundred of "
                            "the changes named is by chance.",
                            plus_minus);
    return td_xasprintf("%s is at 95 %%. There is one run a side, so how much runs differ is "
                        "assumed (%s %.2g %% of "
                        "the total%s); several runs show it: tdreport diff OLD1,OLD2 NEW1,NEW2.",
                        plus_minus, plus_minus, assumed_percent(diff),
                        diff->takes_turns ? ", as threads share lines of the cache, and take turns "
                                            "in another way each run"
                        : modelled        ? ", as where a program's memory or hashes are random"
                                          : "");
}

static char *lines_words(const struct td_diff *diff)
{
    static const char *const words[] = {
        [TD_DIFF_LINES_SAME] = "the source is the same",
        [TD_DIFF_LINES_TEXT] = "by content",
        [TD_DIFF_LINES_DISTANCE] = "by distance from where their function begins, as the old "
                                   "source is not at hand (--old-source DIR)",
        [TD_DIFF_LINES_NUMBER] = "by number, as neither the old source nor where functions begin "
                                 "is known"};
    char *text = NULL;
    size_t size = 0;
    bool first = true;
    FILE *out = td_xmemstream(&text, &size);

    fputs("Lines were matched ", out);
    for (unsigned by = TD_DIFF_LINES_TEXT; by <= TD_DIFF_LINES_NUMBER; by++) {
        if (!(diff->lines_by >> by & 1))
            continue;
        fprintf(out, "%s%s", first ? "" : "; others ", words[by]);
        first = false;
    }
    fputc('.', out);
    fclose(out);
    return text;
}

char *td_diff_method_words(const struct td_diff *diff, size_t i, const char *plus_minus)
{
    const bool lines = diff->lines_by >> TD_DIFF_LINES_TEXT != 0;

    if (i == 0)
        return spread_words(diff, plus_minus);
    if (i == 1 && lines)
        return lines_words(diff);
    i += diff->first_count; /* they stand before all */
    i -= lines ? 2 : 1;
    return i < diff->note_count ? td_xstrdup(diff->notes[i]) : NULL;
}

bool td_diff_is_node_shown(const struct td_diff *diff, enum td_tma_node node,
                           enum td_diff_unit unit)
{
    for (size_t c = 0; c < diff->column_count; c++) {
        const struct td_diff_cell *cell =
            td_diff_cell_of(diff, &diff->total, c, TD_DIFF_NODE(node), unit);
        const struct td_diff_cell *all =
            td_diff_cell_of(diff, &diff->total, c, TD_DIFF_WHOLE, unit);

        if (cell && (cell->change.significant || cell->value >= 0.01 * all->value))
            return true;
    }
    return false;
}

size_t td_diff_shown(const struct td_diff *diff, const struct td_diff_rows *rows, size_t max)
{
    size_t shown = 0;

    if (max == 0)
        return rows->len;
    while (shown < rows->len && shown < max &&
           td_diff_rank_of(diff, &rows->at[shown]) != TD_DIFF_SMALL)
        shown++;
    return shown;
}

double td_diff_rest(const struct td_diff *diff, const struct td_diff_rows *rows, size_t from,
                    size_t column, enum td_diff_unit unit)
{
    double sum = 0;

    for (size_t i = from; i < rows->len; i++)
        sum += td_diff_cell_of(diff, &rows->at[i], column, TD_DIFF_WHOLE, unit)->change.delta;
    return sum;
}
