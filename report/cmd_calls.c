/* SPDX-License-Identifier: MIT */
/* The commands callers, callees and children: costs along the stacks. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/frames.h"
#include "report/cmd.h"
#include "report/query/figures/names.h"
#include "report/view/calls.h"
#include "report/view/head.h"
#include "report/view/json.h"

/* Deeper trees are cut: a stack of this many frames is recursion. */
#define DEPTH_MAX 256

/* Costs, not what they are made of. */
static const struct td_session_needs costs = {.stacks = true, .metrics = TD_METRICS_OF_COST};

struct calls_opts {
    double percent_limit; /* negative: not given */
    uint64_t depth;
    uint64_t rows;
    const char *category; /* NULL: the primary metric */
};

/* Of a category everything that it is part of is needed, too. */
static struct td_session_needs needs_of(const char *category)
{
    struct td_session_needs needs = costs;

    needs.metrics = category ? 0 : needs.metrics;
    return needs;
}

/* What is summed: a category, or what the tables are sorted by. */
static int choose_metric(const struct td_session *session, const char *category,
                         enum td_metric *metric)
{
    *metric = td_measure_primary(session->measure);
    return category ? td_category_parse(metric, session->measure, category) : TD_EXIT_OK;
}

struct choice {
    bool *functions, *modules;
    bool unnamed; /* modules are chosen */
};

static void release_choice(struct choice *choice)
{
    free(choice->functions);
    free(choice->modules);
}

/* A module's name, alone or as tables print it, stands for its code without names when no function
 * is called so. False when the pattern names nothing. */
static bool choose(struct choice *choice, const struct td_model *model, const char *pattern)
{
    const uint32_t functions = td_model_function_count(model);
    const uint32_t modules = td_model_module_count(model);
    const size_t prefix = strlen(TD_UNNAMED_OF);
    const char *module = strncmp(pattern, TD_UNNAMED_OF, prefix) == 0 ? pattern + prefix : pattern;
    bool any = false;

    choice->functions = td_xcalloc((size_t)functions + 1, sizeof(bool));
    choice->modules = td_xcalloc((size_t)modules + 1, sizeof(bool));
    for (uint32_t f = 0; f < functions; f++) {
        const char *name = td_model_string(model, td_model_function(model, f)->name);

        choice->functions[f] = td_pattern_names(pattern, name);
        any = any || choice->functions[f];
    }
    for (uint32_t m = 0; m < modules && !any; m++) {
        choice->modules[m] = td_pattern_is_path(module, td_module_name(model, m));
        choice->unnamed = choice->unnamed || choice->modules[m];
    }
    return any || choice->unnamed;
}

static int show_calls(struct td_session *session, enum td_calls_kind kind, const char *pattern,
                      const struct calls_opts *o)
{
    const bool json = session->opts->json;
    const struct td_calls_limits limits = {.percent = o->percent_limit >= 0 ? o->percent_limit
                                                      : json                ? 0
                                                                            : 0.5,
                                           .depth = o->depth < DEPTH_MAX ? (unsigned)o->depth
                                                                         : DEPTH_MAX};
    struct choice choice = {.functions = NULL};
    struct td_calls calls = {.at = NULL};
    enum td_metric metric = TD_METRIC_SAMPLES;
    int exit_code = choose_metric(session, o->category, &metric);

    if (exit_code != TD_EXIT_OK)
        return exit_code;
    exit_code = TD_EXIT_NOTHING;
    bool found = choose(&choice, session->model, pattern);
    if (found) {
        const struct td_wanted wanted = {choice.functions, choice.modules};

        td_calls_init_of(&calls, session->measure, metric, kind, &wanted, session->opts->no_inline);
        found = !choice.unnamed || calls.at[0].value > 0;
    }
    if (!found) {
        td_complain_no_function(pattern, NULL);
        goto out;
    }
    td_session_begin_output(session);
    if (json) {
        struct td_json out = td_json_init(stdout, 2);

        td_report_json_begin(&out, session->measure, &session->coverage);
        td_calls_json(&out, kind == TD_CALLS_CALLERS ? "callers" : "callees", &calls, limits);
        td_json_end(&out);
    } else {
        const struct td_head head = td_session_head(session);

        td_head_print_short(&head, &session->style);
        fputc('\n', session->style.out);
        td_calls_print(&calls, limits, &session->style);
        td_notes_print(session->measure, &session->style);
    }
    exit_code = td_session_end_output(session);
out:
    td_calls_release(&calls);
    release_choice(&choice);
    return exit_code;
}

static int show_children(struct td_session *session, const struct calls_opts *o)
{
    const bool json = session->opts->json;
    const double percent = o->percent_limit >= 0 ? o->percent_limit : json ? 0 : 0.5;
    const size_t max = o->rows ? (size_t)o->rows : SIZE_MAX;
    struct td_inclusives rows;
    enum td_metric metric = TD_METRIC_SAMPLES;
    const int rc = choose_metric(session, o->category, &metric);

    if (rc != TD_EXIT_OK)
        return rc;
    td_inclusives_init_of(&rows, session->measure, metric, session->opts->no_inline);
    td_session_begin_output(session);
    if (json) {
        struct td_json out = td_json_init(stdout, 2);

        td_report_json_begin(&out, session->measure, &session->coverage);
        td_inclusives_json(&out, &rows, percent, max);
        td_json_end(&out);
    } else {
        const struct td_head head = td_session_head(session);

        td_head_print_short(&head, &session->style);
        fputc('\n', session->style.out);
        td_inclusives_print(&rows, percent, max, &session->style);
        td_notes_print(session->measure, &session->style);
    }
    td_inclusives_release(&rows);
    return td_session_end_output(session);
}

int td_children_run(const struct td_common_opts *common, const char *category, double percent_limit,
                    uint64_t max)
{
    const struct calls_opts o = {.percent_limit = percent_limit, .rows = max, .category = category};
    struct td_session session;
    int exit_code = td_session_open(&session, common, needs_of(category));

    if (exit_code == TD_EXIT_OK)
        exit_code = show_children(&session, &o);
    td_session_release(&session);
    return exit_code;
}

bool td_calls_any(const struct td_common_opts *common, const char *pattern)
{
    struct td_session_needs needs = costs;
    struct choice choice = {.functions = NULL};
    struct td_calls calls = {.at = NULL};
    struct td_session session;
    bool any = false;

    needs.quiet = true;
    if (td_session_open(&session, common, needs) == TD_EXIT_OK &&
        choose(&choice, session.model, pattern) && !choice.unnamed) {
        const struct td_wanted wanted = {choice.functions, choice.modules};

        td_calls_init(&calls, session.measure, TD_CALLS_CALLEES, &wanted, common->no_inline);
        any = calls.at[0].value > 0;
    }
    td_calls_release(&calls);
    release_choice(&choice);
    td_session_release(&session);
    return any;
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    struct calls_opts o = {.percent_limit = -1, .depth = DEPTH_MAX};
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_DOUBLE, 0, "percent-limit", "P", "leave out calls below P percent (0.5)",
         &o.percent_limit},
        {TD_OPT_U64, 0, "depth", "N", "at most N calls deep", &o.depth},
        {TD_OPT_STRING, 0, "category", "NODE", "what is lost to a category", &o.category},
        TD_OPT_COMMON_JSON(common),
        TD_OPT_COMMON_REPORT(common),
        TD_OPT_END,
    };
    const bool callers = strcmp(cmd->name, "callers") == 0;
    struct td_session session;
    int exit_code = TD_EXIT_OK;
    const int used = td_cmd_parse(cmd, common, table, argc, argv, &exit_code);

    if (used < 0)
        return exit_code;
    td_cmd_take_profile(common, used, &argc, argv);
    if (argc - used != 1) {
        td_complain("%s takes one function: tdreport %s NAME", cmd->name, cmd->name);
        return TD_EXIT_USAGE;
    }
    exit_code = td_session_open(&session, common, needs_of(o.category));
    if (exit_code == TD_EXIT_OK)
        exit_code =
            show_calls(&session, callers ? TD_CALLS_CALLERS : TD_CALLS_CALLEES, argv[used], &o);
    td_session_release(&session);
    return exit_code;
}

const struct td_cmd td_cmd_callers = {
    .name = "callers",
    .args = "[options] FUNCTION",
    .about = "who calls a function, and what the calls cost",
    .run = run,
};

const struct td_cmd td_cmd_callees = {
    .name = "callees",
    .args = "[options] FUNCTION",
    .about = "what a function calls, and what that costs",
    .run = run,
};
