/* SPDX-License-Identifier: MIT */
#include "report/query/diff/gate.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/opt.h"
#include "base/text.h"
#include "report/query/figures/names.h"

#define NAMES_MAX 4096 /* functions among which one that was meant is looked for */

/* From the end: a name may hold blanks, dots and '>'. */

static size_t trim(const char *text, size_t len)
{
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    return len;
}

static bool ends_with(const char *text, size_t len, const char *word)
{
    const size_t n = strlen(word);

    return len >= n && strncasecmp(text + len - n, word, n) == 0;
}

/* Takes the unit off the end; its factor, and 0 when there is none. */
static double take_unit(const char *text, size_t *len, bool *is_part)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"%", 0.01}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

    for (size_t i = 0; i < TD_ARRAY_SIZE(units); i++) {
        if (!ends_with(text, *len, units[i].name))
            continue;
        *is_part = i == 0;
        *len = trim(text, *len - strlen(units[i].name));
        return units[i].factor;
    }
    return 0;
}

static bool take_number(const char *text, size_t *len, double *ret)
{
    char number[64];
    size_t from = *len;

    while (from > 0 && (isdigit((unsigned char)text[from - 1]) || text[from - 1] == '.'))
        from--;
    if (from == *len || *len - from >= sizeof(number))
        return false;
    memcpy(number, text + from, *len - from);
    number[*len - from] = '\0';
    if (!td_parse_double(number, ret))
        return false;
    from = trim(text, from);
    if (from > 0 && (text[from - 1] == '+' || text[from - 1] == '-')) {
        *ret *= text[from - 1] == '-' ? -1 : 1;
        from--;
    }
    *len = trim(text, from);
    return true;
}

int td_gate_parse(struct td_gate *ret, const char *text, struct td_err *err)
{
    const char *begin = text + strspn(text, " \t\n");
    size_t len = trim(begin, strlen(begin));
    struct td_gate gate = {.target = NULL};
    double number = 0;
    const double factor = take_unit(begin, &len, &gate.is_part);

    if (factor == 0)
        return td_fail(err, TD_EUSAGE,
                       "'%s' has no unit: write %%, ns, us, ms or s behind the limit, as in "
                       "'total > +2 %%'",
                       text);
    if (!take_number(begin, &len, &number))
        return td_fail(err, TD_EUSAGE, "'%s' has no number: write 'total > +2 %%'", text);
    if (len == 0 || (begin[len - 1] != '>' && begin[len - 1] != '<'))
        return td_fail(err, TD_EUSAGE,
                       "'%s' does not compare: write > or < before the limit, as in "
                       "'total > +2 %%'",
                       text);
    gate.below = begin[len - 1] == '<';
    gate.limit = number * factor;
    len = trim(begin, len - 1);
    if (len == 0)
        return td_fail(err, TD_EUSAGE,
                       "'%s' names nothing: write total, a function, a category, or "
                       "function.category before the %c",
                       text, gate.below ? '<' : '>');
    gate.target = td_xstrndup(begin, len);
    *ret = gate;
    return TD_OK;
}

void td_gate_release(struct td_gate *gate)
{
    free(gate->target);
    gate->target = NULL;
}

static enum td_tma_node node_named(const char *name)
{
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (strcasecmp(td_tma_info((enum td_tma_node)n)->id, name) == 0)
            return (enum td_tma_node)n;
    }
    return TD_NODE_NONE;
}

static bool is_named(const struct td_diff *diff, const struct td_diff_row *row, const char *name)
{
    for (size_t c = 0; c < diff->column_count; c++) {
        if (row->places[c].there &&
            td_pattern_names(name, row->places[c].function ? row->places[c].function : "[unknown]"))
            return true;
    }
    return false;
}

static bool is_function(const struct td_diff *diff, const char *name)
{
    for (size_t i = 0; i < diff->functions.len; i++) {
        if (is_named(diff, &diff->functions.at[i], name))
            return true;
    }
    return false;
}

/* What a target names: rows and one of their figures. */
struct target {
    bool total;
    char *function; /* owned; NULL with total */
    unsigned what;
};

static int refuse_function(const struct td_diff *diff, const char *name, struct td_err *err)
{
    const size_t most = 1 + TD_NODE_COUNT + NAMES_MAX;
    const char **names = td_xcalloc(most + 1, sizeof(*names));
    size_t len = 0;

    names[len++] = "total";
    for (int n = 0; n < TD_NODE_COUNT; n++)
        names[len++] = td_tma_info((enum td_tma_node)n)->id;
    for (size_t i = 0; i < diff->functions.len && len < most; i++) {
        const char *function =
            td_diff_place_of(diff, &diff->functions.at[i], diff->column_count - 1)->function;

        if (function)
            names[len++] = function;
    }
    const char *near = td_nearest(name, names);
    const int rc = near ? td_fail(err, TD_EUSAGE,
                                  "no function or category '%s': did you mean '%s'?", name, near)
                        : td_fail(err, TD_EUSAGE,
                                  "no function or category '%s' in these profiles: write total, a "
                                  "function, a category, or function.category",
                                  name);
    free(names);
    return rc;
}

/* "FUNCTION.category", where there is such a function: the category is what is wrong. */
static int refuse_category(const char *text, const char *dot, struct td_err *err)
{
    const char *near = td_nearest(dot + 1, td_tma_ids());

    return near ? td_fail(err, TD_EUSAGE, "no category '%s': did you mean '%.*s.%s'?", dot + 1,
                          (int)(dot - text), text, near)
                : td_fail(err, TD_EUSAGE, "no category '%s': tdreport explain lists them", dot + 1);
}

static int resolve(struct target *ret, const char *text, const struct td_diff *diff,
                   struct td_err *err)
{
    const char *dot = strrchr(text, '.');
    const enum td_tma_node alone = node_named(text);
    const enum td_tma_node behind = dot ? node_named(dot + 1) : TD_NODE_NONE;
    struct target target = {.what = TD_DIFF_WHOLE};

    if (is_function(diff, text)) {
        target.function = td_xstrdup(text);
    } else if (strcasecmp(text, "total") == 0 || alone != TD_NODE_NONE) {
        target.total = true;
        target.what = alone == TD_NODE_NONE ? TD_DIFF_WHOLE : TD_DIFF_NODE(alone);
    } else if (behind != TD_NODE_NONE) {
        target.function = td_xstrndup(text, (size_t)(dot - text));
        target.total = strcasecmp(target.function, "total") == 0;
        target.what = TD_DIFF_NODE(behind);
    } else {
        char *before = td_xstrndup(text, dot ? (size_t)(dot - text) : 0);
        const bool known = strcasecmp(before, "total") == 0 || is_function(diff, before);

        free(before);
        return dot && known ? refuse_category(text, dot, err) : refuse_function(diff, text, err);
    }
    if (!target.total && !is_function(diff, target.function)) {
        const int rc = refuse_function(diff, target.function, err);

        free(target.function);
        return rc;
    }
    if (!td_diff_has(diff, target.what)) {
        free(target.function);
        return td_fail(err, TD_EUSAGE,
                       "'%s': %s is not known in all of these profiles, so it cannot be checked",
                       text, td_tma_info(alone != TD_NODE_NONE ? alone : behind)->id);
    }
    *ret = target;
    return TD_OK;
}

static struct td_gate_result check_cell(const struct td_gate *gate, const struct td_diff *diff,
                                        const struct td_diff_row *row, unsigned what, size_t column,
                                        double chance)
{
    const struct td_diff_cell *old = td_diff_cell_of(diff, row, 0, what, TD_DIFF_COST);
    const struct td_change *change =
        &td_diff_cell_of(diff, row, column, what, TD_DIFF_COST)->change;
    /* What was nothing before has grown beyond any part of it. */
    const double unit = gate->is_part ? old->value : 1;
    const double part = unit > 0 ? change->delta / unit : change->delta > 0 ? INFINITY : 0;
    const bool beyond = gate->below ? part < gate->limit : part > gate->limit;

    return (struct td_gate_result){.row = row,
                                   .what = what,
                                   .column = column,
                                   .change = part,
                                   .error = unit > 0 ? change->error / unit : NAN,
                                   .beyond = beyond,
                                   .failed = beyond && change->chance <= chance};
}

static bool is_worse(const struct td_gate *gate, const struct td_gate_result *a,
                     const struct td_gate_result *b)
{
    if (a->failed != b->failed)
        return a->failed;
    if (a->beyond != b->beyond)
        return a->beyond;
    return gate->below ? a->change < b->change : a->change > b->change;
}

int td_gate_check(struct td_gate_result *ret, const struct td_gate *gate,
                  const struct td_diff *diff, struct td_err *err)
{
    struct target target = {.total = false};
    bool any = false;

    if (!gate->is_part && diff->cost != TD_METRIC_TIME_NS)
        return td_fail(err, TD_EUSAGE,
                       "'%s': these profiles have no time, only %s: write the limit in %%",
                       gate->target, td_metric_id(diff->cost));
    const int rc = resolve(&target, gate->target, diff, err);
    if (rc < 0)
        return rc;
    const struct td_diff_row *rows = target.total ? &diff->total : diff->functions.at;
    const size_t len = target.total ? 1 : diff->functions.len;
    size_t named = target.total ? 1 : 0;
    for (size_t i = 0; i < len && !target.total; i++)
        named += is_named(diff, &rows[i], target.function);
    const double chance = TD_CHANGE_FALSE / (double)(named * (diff->column_count - 1));
    for (size_t i = 0; i < len; i++) {
        if (!target.total && !is_named(diff, &rows[i], target.function))
            continue;
        for (size_t c = 1; c < diff->column_count; c++) {
            const struct td_gate_result result =
                check_cell(gate, diff, &rows[i], target.what, c, chance);

            if (!any || is_worse(gate, &result, ret))
                *ret = result;
            any = true;
        }
    }
    free(target.function);
    return TD_OK;
}
