/* SPDX-License-Identifier: MIT */
/* The command loops: trips, cost and bounds of the loops of a modelled program. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/frames.h"
#include "report/cmd.h"
#include "report/code_text.h"
#include "report/query/figures/names.h"
#include "report/query/loops/loops.h"
#include "report/view/head.h"
#include "report/view/json.h"
#include "report/view/model/loops.h"

#define NESTS_DEFAULT   10
#define PERCENT_DEFAULT 1.0

struct loops_opts {
    uint64_t rows;        /* UINT64_MAX: not given */
    double percent_limit; /* negative: not given */
    const char *syntax;
    const char *function; /* NULL: of all */
};

int td_cmd_find_loops(const struct td_session *session, struct td_loops *ret)
{
    struct td_measure *stacks = NULL;
    struct td_err err = TD_ERR_INIT;
    int rc = TD_OK;

    *ret = (struct td_loops){.at = NULL};
    if (!session->measure->values[TD_METRIC_SLOTS] || !td_measure_is_modelled(session->measure))
        return TD_EXIT_OK;
    rc = td_session_measure_again(session, (struct td_session_needs){.metrics = TD_METRICS_OF_COST},
                                  &stacks, &err);
    if (rc < 0) {
        td_complain("%s", err.text);
        return td_exit_of((enum td_code)rc);
    }
    td_loops_init(ret, session->measure, stacks);
    td_measure_free(stacks);
    return TD_EXIT_OK;
}

int td_cmd_complain_loops(const struct td_session *session, const struct td_loops *loops)
{
    const char *why = "the profile says nothing of blocks of code: an older tdrec recorded it, or "
                      "it was cut off; record it anew with tdrec --source sim";

    if (!session->measure->values[TD_METRIC_SLOTS] || !td_measure_is_modelled(session->measure))
        why = "loops are known of the modelled core alone: record with tdrec --source sim";
    else if (loops->recorded)
        why = "no loop took a noticeable part of the time";
    td_complain("%s", why);
    return TD_EXIT_NOTHING;
}

bool td_cmd_loop_is_of(const struct td_model *model, const struct td_loop *loop,
                       const char *pattern)
{
    const uint32_t functions[] = {loop->function, loop->container};

    for (size_t i = 0; i < TD_ARRAY_SIZE(functions); i++) {
        if (functions[i] != TD_NONE &&
            td_pattern_names(pattern,
                             td_model_string(model, td_model_function(model, functions[i])->name)))
            return true;
    }
    return false;
}

/* Which loops are shown: nests of the function, at most so many, and loops in them that take
 * enough; in JSON all, where nothing else was asked for. Returns how many nests were left out. */
static size_t choose(const struct td_loops *loops, const struct td_session *session,
                     const struct loops_opts *o, bool *shown, size_t *nests)
{
    const struct td_model *model = session->model;
    const bool json = session->opts->json;
    const double limit = o->percent_limit >= 0 ? o->percent_limit
                         : o->function || json ? 0
                                               : PERCENT_DEFAULT;
    const uint64_t given = o->rows != UINT64_MAX ? o->rows : json ? 0 : NESTS_DEFAULT;
    const uint64_t max = given ? given : UINT64_MAX;
    size_t left = 0;

    *nests = 0;
    for (size_t i = 0; i < loops->len; i++) {
        const struct td_loop *loop = &loops->at[i];
        const bool enough = 100 * loop->slots >= limit * loops->slots;
        const bool named = !o->function || td_cmd_loop_is_of(model, loop, o->function);

        if (!enough || !named)
            continue;
        if (loop->parent != TD_NONE && shown[loop->parent]) {
            shown[i] = true;
            continue;
        }
        if (loop->parent != TD_NONE && !o->function)
            continue;
        shown[i] = *nests < max;
        *nests += shown[i];
        left += !shown[i];
    }
    return left;
}

int td_cmd_complain_loopless(const struct td_session *session, const char *pattern)
{
    struct td_rows rows;
    bool known = false;

    td_rows_init(&rows, session->measure, TD_ROWS_FUNCTIONS, session->opts->no_inline);
    for (size_t i = 0; i < rows.len; i++)
        known = known || (rows.at[i].function != TD_NONE &&
                          td_pattern_names(pattern, td_row_name(&rows, &rows.at[i])));
    if (known)
        td_complain("no hot loop is in %s (tdreport loops shows all)", pattern);
    else
        td_cmd_complain_unknown(session, &rows, pattern);
    td_rows_release(&rows);
    return TD_EXIT_NOTHING;
}

static void print_text(struct td_session *session, const struct td_loops_view *view, size_t left)
{
    const struct td_head head = td_session_head(session);
    const struct td_style *style = &session->style;

    td_head_print_short(&head, style);
    td_loops_print(view, style);
    fputc('\n', style->out);
    if (left > 0) {
        td_style_begin(style, TD_TONE_DIM);
        fprintf(style->out, "%s %zu more (-n 0 shows all)\n", td_style_ellipsis(style), left);
        td_style_end(style, TD_TONE_DIM);
    }
    td_style_begin(style, TD_TONE_DIM);
    td_style_wrap(style,
                  "cycles, uops: per iteration, with the loops in it and without what it calls. "
                  "per entry: iterations each time the loop is entered.",
                  0, 0);
    td_style_end(style, TD_TONE_DIM);
    td_notes_print(session->measure, style);
}

static int print_json(struct td_session *session, const struct td_loops_view *view)
{
    struct td_json json = td_json_init(stdout, 2);

    td_report_json_begin(&json, session->measure, &session->coverage);
    td_loops_json(view, &json);
    td_json_end(&json);
    return td_session_end_output(session);
}

static int show_loops(struct td_session *session, const struct loops_opts *o,
                      const struct td_loops *loops)
{
    struct td_code_text text = td_code_text_init(session->model, td_syntax_by_name(o->syntax));
    bool *shown = td_xcalloc(loops->len + 1, sizeof(*shown));
    const struct td_loops_view view = {
        .loops = loops, .shown = shown, .words = {session->model, td_code_text_of, &text}};
    size_t nests = 0;
    const size_t left = choose(loops, session, o, shown, &nests);
    int exit_code = TD_EXIT_NOTHING;

    if (nests == 0 && o->function) {
        exit_code = td_cmd_complain_loopless(session, o->function);
    } else if (nests == 0 && !session->opts->json) {
        td_complain("no loop took as much as the limit (--percent-limit 0 shows all)");
    } else {
        td_session_begin_output(session);
        if (session->opts->json) {
            exit_code = print_json(session, &view);
        } else {
            print_text(session, &view, left);
            exit_code = td_session_end_output(session);
        }
    }
    td_code_text_release(&text);
    free(shown);
    return exit_code;
}

static int show(struct td_session *session, const struct loops_opts *o)
{
    struct td_loops loops;
    int exit_code = td_cmd_find_loops(session, &loops);

    if (exit_code != TD_EXIT_OK)
        return exit_code;
    exit_code =
        loops.len > 0 ? show_loops(session, o, &loops) : td_cmd_complain_loops(session, &loops);
    td_loops_release(&loops);
    return exit_code;
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    struct loops_opts o = {.rows = UINT64_MAX, .percent_limit = -1, .syntax = "att"};
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_U64, 'n', "rows", "N", "at most N nests of loops (10; 0: all)", &o.rows},
        {TD_OPT_DOUBLE, 0, "percent-limit", "P", "leave out loops below P percent of the time (1)",
         &o.percent_limit},
        {TD_OPT_STRING, 0, "disassembler-style", "STYLE", "of instructions: att or intel (att)",
         &o.syntax},
        TD_OPT_COMMON_JSON(common),
        TD_OPT_COMMON_REPORT(common),
        TD_OPT_END,
    };
    struct td_session session;
    int exit_code = TD_EXIT_OK;
    const int used = td_cmd_parse(cmd, common, table, argc, argv, &exit_code);

    if (used < 0)
        return exit_code;
    td_cmd_take_profile(common, used, &argc, argv);
    if (argc - used > 1) {
        td_complain("loops takes one FUNCTION, but here is '%s', too", argv[used + 1]);
        return TD_EXIT_USAGE;
    }
    if (!td_cmd_check_syntax(o.syntax))
        return TD_EXIT_USAGE;
    if (common->regions.len > 0) {
        td_complain("loops does not go with --region: iterations are counted of the whole run");
        return TD_EXIT_USAGE;
    }
    o.function = argv[used];
    exit_code = td_session_open(
        &session, common,
        (struct td_session_needs){.stacks = true, .by_leaf = true, .metrics = TD_METRICS_ALL});
    if (exit_code == TD_EXIT_OK)
        exit_code = show(&session, &o);
    td_session_release(&session);
    return exit_code;
}

const struct td_cmd td_cmd_loops = {
    .name = "loops",
    .args = "[FUNCTION] [options]",
    .about = "the hot loops: iterations, cycles for each, and what bounds them",
    .run = run,
};
