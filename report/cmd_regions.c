/* SPDX-License-Identifier: MIT */
#include "report/cmd.h"
#include "report/query/regions.h"
#include "report/view/head.h"
#include "report/view/json.h"
#include "report/view/regions.h"

static int show(struct td_session *session, uint64_t rows)
{
    struct td_region_table table;

    if (td_model_region_row_count(session->model) == 0) {
        td_complain("this profile has no regions: a program marks them with tdprof/region.h, and "
                    "tdrec starts it (man 3 tdprof_region); where a script starts it: tdrec "
                    "--regions");
        return TD_EXIT_NOTHING;
    }
    td_region_table_init(&table, session->model);
    td_session_begin_output(session);
    if (session->opts->json) {
        struct td_json json = td_json_init(stdout, 2);

        td_report_json_begin(&json, session->measure, &session->coverage);
        td_regions_json(&table, session->model, &json);
        td_json_end(&json);
    } else {
        const struct td_head head = td_session_head(session);

        td_head_print_short(&head, &session->style);
        td_regions_print(&table, session->model, rows ? rows : SIZE_MAX, &session->style);
    }
    td_region_table_release(&table);
    return td_session_end_output(session);
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    uint64_t rows = 0;
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_U64, 'n', "rows", "N", "at most N rows", &rows},
        TD_OPT_COMMON_JSON(common),
        TD_OPT_COMMON_OUTPUT(common),
        TD_OPT_COMMON_INPUT(common),
        TD_OPT_END,
    };
    struct td_session session;
    int exit_code = TD_EXIT_OK;

    if (!td_cmd_parse_all(cmd, common, table, argc, argv, &exit_code))
        return exit_code;
    exit_code = td_session_open(&session, common, (struct td_session_needs){.empty = true});
    if (exit_code == TD_EXIT_OK)
        exit_code = show(&session, rows);
    td_session_release(&session);
    return exit_code;
}

const struct td_cmd td_cmd_regions = {
    .name = "regions",
    .args = "[options]",
    .about = "what each region costs that the program marked (tdprof/region.h)",
    .run = run,
};
