/* SPDX-License-Identifier: MIT */
/* The command whatif: how fast the same run is on cores with something changed. */
#include <stdio.h>

#include "report/cmd.h"
#include "report/query/figures/measure.h"
#include "report/query/whatif.h"
#include "report/view/head.h"
#include "report/view/json.h"
#include "report/view/whatif.h"

#define ROWS_DEFAULT 10
#define HOT          0.005 /* of the cost: a function that has a row without being asked for */

/* What would have told it. */
static int complain_missing(const struct td_session *session)
{
    if (session->measure->weighted || !td_measure_is_modelled(session->measure))
        td_complain("this profile is not of a modelled run alone: tdrec --what-if "
                    "branches,l3,divider ./app records one");
    else
        td_complain("this profile has one core only: tdrec --what-if branches,l3,divider ./app "
                    "models others beside it");
    return TD_EXIT_NOTHING;
}

static void print_text(const struct td_session *session, const struct td_rows *rows,
                       const struct td_whatif_rows *what_if, size_t max)
{
    const struct td_head head = td_session_head(session);
    const struct td_style *style = &session->style;

    td_head_print_short(&head, style);
    td_whatif_print_whole(session->measure, style);
    td_whatif_print_rows(rows, what_if, max, style);
    td_style_more(style, rows->len - max, "function");
    td_notes_print(session->measure, style);
}

static int show(struct td_session *session, uint64_t given)
{
    const struct td_measure *measure = session->measure;
    struct td_whatif_rows what_if;
    struct td_rows rows;

    if (measure->variant_count == 0)
        return complain_missing(session);
    td_rows_init(&rows, measure, TD_ROWS_FUNCTIONS, session->opts->no_inline);
    td_whatif_rows_init(&what_if, &rows, session->opts->no_inline);
    const size_t max = td_cmd_shown_rows(session, &rows, given, ROWS_DEFAULT, HOT);
    td_session_begin_output(session);
    if (session->opts->json) {
        struct td_json out = td_json_init(stdout, 3);

        td_report_json_begin(&out, measure, &session->coverage);
        td_whatif_json(measure, &out);
        td_whatif_json_rows(&rows, &what_if, max, &out);
        td_json_end(&out);
    } else {
        print_text(session, &rows, &what_if, max);
    }
    td_whatif_rows_release(&what_if);
    td_rows_release(&rows);
    return td_session_end_output(session);
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    uint64_t rows = UINT64_MAX; /* not given */
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_U64, 'n', "rows", "N", "the N hottest functions (10; 0: all)", &rows},
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
    if (used < argc) {
        td_complain("whatif takes no argument but a profile's file, and '%s' is none", argv[used]);
        return TD_EXIT_USAGE;
    }
    exit_code = td_session_open(&session, common, (struct td_session_needs){.samples = false});
    if (exit_code == TD_EXIT_OK)
        exit_code = show(&session, rows);
    td_session_release(&session);
    return exit_code;
}

const struct td_cmd td_cmd_whatif = {
    .name = "whatif",
    .args = "[options]",
    .about = "how fast the same run is on cores with something perfect or changed",
    .run = run,
};
