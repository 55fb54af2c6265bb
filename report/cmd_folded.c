/* SPDX-License-Identifier: MIT */
#include "base/version.h"
#include "formats/export/export.h"
#include "report/cmd.h"

static int show(struct td_session *session, const char *category, bool plain)
{
    const struct td_exporter *folded = td_exporter_by_name("folded");
    struct td_export_opts opts = {.metric = TD_METRIC_COUNT,
                                  .no_inline = session->opts->no_inline,
                                  .mark_inlined = !plain,
                                  .tool = "tdreport " TD_VERSION};
    struct td_err err = TD_ERR_INIT;

    if (category) {
        if (td_metric_parse(&opts.metric, session->measure, category, TD_METRIC_SAMPLES, &err) <
            0) {
            td_complain("--category %s: %s", category, err.text);
            return TD_EXIT_USAGE;
        }
    }
    if (opts.metric < TD_METRIC_COUNT && opts.metric >= TD_METRIC_FIRST_NODE)
        td_session_keep_known(session, opts.metric);
    td_session_begin_output(session);
    const int rc = folded->write(session->measure, &opts, stdout, &err);
    const int exit_code = td_session_end_output(session);
    if (rc < 0) {
        td_complain("%s", err.text);
        return td_exit_of((enum td_code)rc);
    }
    return exit_code;
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    const char *category = NULL;
    bool plain = false;
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_STRING, 0, "category", "NODE",
         "count what is lost to it; also: samples, time (ns), event, slots, cycles, instructions",
         &category},
        {TD_OPT_FLAG, 0, "plain-names", NULL, "no \"_[i]\" behind inlined functions", &plain},
        TD_OPT_COMMON_REPORT(common),
        TD_OPT_END,
    };
    struct td_session session;
    int exit_code = TD_EXIT_OK;

    if (!td_cmd_parse_all(cmd, common, table, argc, argv, &exit_code))
        return exit_code;
    struct td_session_needs needs = {.stacks = true, .metrics = TD_METRICS_OF_COST};
    if (category)
        needs.metrics = 0; /* any of them may be meant */
    exit_code = td_session_open(&session, common, needs);
    if (exit_code == TD_EXIT_OK)
        exit_code = show(&session, category, plain);
    td_session_release(&session);
    return exit_code;
}

const struct td_cmd td_cmd_folded = {
    .name = "folded",
    .args = "[options]",
    .about = "folded stacks for flame graphs",
    .run = run,
};
