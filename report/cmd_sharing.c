/* SPDX-License-Identifier: MIT */
/* The command sharing: what threads pay for lines of the cache that others use, too. */
#include <stdlib.h>

#include "base/mem.h"
#include "report/cmd.h"
#include "report/query/sharing.h"
#include "report/view/head.h"
#include "report/view/json.h"
#include "report/view/sharing.h"
#include "symbolize/data.h"

#define ROWS_DEFAULT 10
#define NOT_GIVEN    UINT64_MAX
#define LINE_BYTES   64

/* What follows a file's data in memory without a gap counts as its data in a recording. */
static void name_line(struct td_shared_line *line, const struct td_data *data)
{
    if (line->offset >= td_data_extent(data)) {
        line->area = TD_SHARED_OTHER;
        line->module = TD_NONE;
    } else {
        line->data = td_data_text(data, line->offset, LINE_BYTES);
    }
}

/* Names the data of the lines, each file read once. */
static void name_data(struct td_shared_table *table, const struct td_model *model)
{
    const uint32_t count = td_model_module_count(model);
    struct td_data **files = td_xcalloc((size_t)count + 1, sizeof(*files));
    bool *looked = td_xcalloc((size_t)count + 1, sizeof(*looked));

    for (size_t i = 0; i < table->len; i++) {
        struct td_shared_line *line = &table->lines[i];

        if (line->module == TD_NONE)
            continue;
        const struct td_module *module = td_model_module(model, line->module);
        if (!looked[line->module] && module->kind == TD_MODULE_FILE)
            files[line->module] =
                td_data_open(td_model_string(model, module->path), &module->build_id);
        looked[line->module] = true;
        if (files[line->module])
            name_line(line, files[line->module]);
    }
    for (uint32_t m = 0; m < count; m++)
        td_data_free(files[m]);
    free(files);
    free(looked);
}

static bool has_processes(const struct td_model *model)
{
    for (uint32_t t = 1; t < td_model_thread_count(model); t++) {
        if (td_model_thread(model, t)->pid != td_model_thread(model, 0)->pid)
            return true;
    }
    return false;
}

static int show(struct td_session *session, uint64_t rows)
{
    struct td_shared_table table;
    struct td_lock_callers callers;

    if (td_model_shared_count(session->model) == 0) {
        td_complain(!td_measure_is_modelled(session->measure)
                        ? "this profile does not tell what threads share: the modelled core does "
                          "(tdrec --source sim)"
                    : !td_model_complete(session->model)
                        ? "the recording was cut off before it said what threads share: record it "
                          "anew with tdrec --source sim"
                    : has_processes(session->model)
                        ? "no threads of this recording waited for lines that others changed; what "
                          "processes share with each other is not modelled"
                        : "no threads of this recording waited for lines that others changed");
        return TD_EXIT_NOTHING;
    }
    td_shared_table_init(&table, session->model, session->opts->no_inline);
    name_data(&table, session->model);
    td_lock_callers_init(&callers, session->measure, session->opts->no_inline);
    td_session_begin_output(session);
    if (session->opts->json) {
        struct td_json json = td_json_init(stdout, 2);

        td_report_json_begin(&json, session->measure, &session->coverage);
        td_sharing_json(&table, session->model, rows == NOT_GIVEN || !rows ? SIZE_MAX : rows,
                        &json);
        td_lock_callers_json(&callers, session->model, &json);
        td_json_end(&json);
    } else {
        const struct td_head head = td_session_head(session);

        td_head_print_short(&head, &session->style);
        td_sharing_print(&table, session->model,
                         rows == NOT_GIVEN ? ROWS_DEFAULT
                         : rows            ? rows
                                           : SIZE_MAX,
                         &session->style);
        td_lock_callers_print(&callers, session->measure, &session->style);
    }
    td_lock_callers_release(&callers);
    td_shared_table_release(&table);
    return td_session_end_output(session);
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    uint64_t rows = NOT_GIVEN;
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_U64, 'n', "rows", "N", "at most N lines (10; 0: all)", &rows},
        TD_OPT_COMMON_JSON(common),
        TD_OPT_COMMON_OUTPUT(common),
        TD_OPT_COMMON_INPUT(common),
        TD_OPT_END,
    };
    struct td_session session;
    int exit_code = TD_EXIT_OK;

    if (!td_cmd_parse_all(cmd, common, table, argc, argv, &exit_code))
        return exit_code;
    exit_code =
        td_session_open(&session, common, (struct td_session_needs){.empty = true, .stacks = true});
    if (exit_code == TD_EXIT_OK)
        exit_code = show(&session, rows);
    td_session_release(&session);
    return exit_code;
}

const struct td_cmd td_cmd_sharing = {
    .name = "sharing",
    .args = "[options]",
    .about = "the lines of the cache that threads share, and what they wait for them",
    .run = run,
};
