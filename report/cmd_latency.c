/* SPDX-License-Identifier: MIT */
/* The command latency: how long precise samples waited, and where accesses found their data. */
#include <string.h>

#include "report/cmd.h"
#include "report/query/latency.h"
#include "report/view/head.h"
#include "report/view/json.h"
#include "report/view/latency.h"

#define ROWS_DEFAULT 10

/* What would have told it; an event that was named and has none is the most likely reason. */
static int complain_none(const struct td_session *session)
{
    const struct td_model *model = session->model;
    const char *event = session->opts->event;

    if (event)
        td_complain("--event %s: its samples hold neither latencies nor sources of data (tdreport "
                    "latency without --event shows those that do)",
                    event);
    else if (session->filter_text)
        td_complain("no sample with a latency or a source of data matches %s",
                    session->filter_text);
    else if (td_measure_is_modelled(session->measure))
        td_complain("a modelled profile holds sums, no latencies of single samples: tdreport "
                    "functions says what its slots are lost to");
    else if (td_model_sample_count(model) == 0)
        td_complain("the profile holds sums of samples (merge makes such), no latencies of single "
                    "ones: ask each of the merged profiles");
    else
        td_complain("the samples of this profile hold neither latencies nor sources of data: "
                    "precise events do (tdrec -W -e EVENT:pp; perf mem record, perf record -W)");
    return TD_EXIT_NOTHING;
}

static int show(struct td_session *session, bool lines, uint64_t rows)
{
    const struct td_filter filter = td_session_filter(session);
    const size_t shown = rows == 0 ? SIZE_MAX : (size_t)rows;
    struct td_latency latency;
    int exit_code = TD_EXIT_OK;

    td_latency_of(&latency, session->model, &filter, lines);
    td_latency_weigh(&latency, session->measure);
    if (latency.len == 0) {
        exit_code = complain_none(session);
        td_latency_release(&latency);
        return exit_code;
    }
    td_session_begin_output(session);
    if (session->opts->json) {
        struct td_json out = td_json_init(stdout, 3);

        td_report_json_begin(&out, session->measure, &session->coverage);
        td_latency_json(&latency, session->model, shown, &out);
        td_json_end(&out);
    } else {
        const struct td_head head = td_session_head(session);

        td_head_print_short(&head, &session->style);
        td_latency_print(&latency, session->model, lines, shown, &session->style);
        td_notes_print(session->measure, &session->style);
    }
    td_latency_release(&latency);
    return td_session_end_output(session);
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    uint64_t rows = UINT64_MAX;
    bool lines = false;
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_FLAG, 0, "lines", NULL, "by source line (else by function)", &lines},
        {TD_OPT_U64, 'n', "rows", "N", "at most N rows in each table (10; 0: all)", &rows},
        TD_OPT_COMMON_JSON(common),
        TD_OPT_COMMON_REPORT(common),
        TD_OPT_END,
    };
    struct td_session session;
    int exit_code = TD_EXIT_OK;

    if (!td_cmd_parse_all(cmd, common, table, argc, argv, &exit_code))
        return exit_code;
    if (rows == UINT64_MAX)
        rows = common->json ? 0 : ROWS_DEFAULT;
    exit_code = td_session_open(&session, common, (struct td_session_needs){.times = true});
    if (exit_code == TD_EXIT_OK)
        exit_code = show(&session, lines, rows);
    td_session_release(&session);
    return exit_code;
}

const struct td_cmd td_cmd_latency = {
    .name = "latency",
    .args = "[options]",
    .about = "how long precise samples waited, where data came from",
    .run = run,
};
