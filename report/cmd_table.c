/* SPDX-License-Identifier: MIT */
/* The commands that print one table, one row of an array each. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/cmd.h"
#include "report/view/head.h"
#include "report/view/json.h"

struct table_opts {
    const char *sort;
    const char *category;
    uint64_t rows;
    uint64_t level;
    double percent_limit; /* negative: not given */
    bool children;
};

/* How a table is printed. */
struct layout {
    enum td_metric metric; /* that limits are of */
    enum td_metric sorted; /* COUNT: by a text */
    struct td_cut cut;
    bool by_limit; /* it was cut by the limit of this command */
    int level;     /* of category columns; 0: in words */
};

static void print_table(const struct td_session *session, const struct td_table_cmd *table_cmd,
                        const struct td_rows *rows, const struct layout *l)
{
    const struct td_cut cut = l->cut;
    const enum td_metric metric = l->metric, sorted = l->sorted;
    const struct td_head head = td_session_head(session);
    struct td_table table = td_table_of(rows, rows->len, 0);
    const struct td_style *style = &session->style;
    char count[32];

    td_head_print_short(&head, style);
    fputc('\n', style->out);
    if (metric != rows->primary)
        td_table_add(&table, &td_field_share, metric);
    /* What the rows are sorted by is to be seen; the primary metric's share always is. */
    if (sorted < TD_METRIC_COUNT && sorted != metric && sorted != rows->primary)
        td_table_add(&table, sorted < TD_METRIC_FIRST_NODE ? &td_field_value : &td_field_share,
                     sorted);
    td_table_add_cost(&table);
    if (metric == rows->primary || l->level > 0)
        td_table_add_nodes(&table, l->level);
    for (size_t f = 0; table_cmd->fields[f]; f++)
        td_table_add(&table, table_cmd->fields[f], rows->primary);
    td_table_print(&table, style);
    if (cut.dropped > 0) {
        td_style_begin(style, TD_TONE_DIM);
        fprintf(style->out, "%s %s more %.*s, %.1f %% together", td_style_ellipsis(style),
                td_format_count(count, sizeof(count), cut.dropped),
                (int)strlen(table_cmd->cmd.name) - (cut.dropped == 1), table_cmd->cmd.name,
                100 * cut.dropped_share);
        if (l->by_limit)
            fprintf(style->out, " (--percent-limit 0 shows all)");
        td_style_end(style, TD_TONE_DIM);
        fputc('\n', style->out);
    }
    td_notes_print(session->measure, style);
}

/* The order, and the metric that limits are of. */
static int choose_order(const struct td_session *session, enum td_row_kind kind,
                        const struct table_opts *o, struct td_sort *sort, enum td_metric *metric)
{
    struct td_err err = TD_ERR_INIT;

    *metric = td_measure_primary(session->measure);
    if (o->category && td_category_parse(metric, session->measure, o->category) != TD_EXIT_OK)
        return TD_EXIT_USAGE;
    *sort = (struct td_sort){.by = TD_SORT_VALUE, .metric = *metric};
    if (o->sort && td_sort_parse(sort, session->measure, kind, o->sort, &err) < 0) {
        td_complain("-s %s: %s", o->sort, err.text);
        return TD_EXIT_USAGE;
    }
    return TD_EXIT_OK;
}

static int show(struct td_session *session, const struct td_table_cmd *table_cmd,
                const struct table_opts *o)
{
    struct td_rows rows;
    struct td_sort sort;
    enum td_metric metric = TD_METRIC_SAMPLES;
    const bool json = session->opts->json;
    const double limit = o->percent_limit >= 0 ? o->percent_limit
                         : json                ? 0
                                               : table_cmd->percent_limit;
    const int rc = choose_order(session, table_cmd->kind, o, &sort, &metric);

    if (rc != TD_EXIT_OK)
        return rc;
    td_rows_init(&rows, session->measure, table_cmd->kind, session->opts->no_inline);
    td_rows_sort(&rows, sort);
    const struct td_cut cut = td_rows_cut(&rows, metric, limit, o->rows ? o->rows : UINT64_MAX);
    td_session_begin_output(session);
    if (json) {
        struct td_json out = td_json_init(stdout, 2);

        td_report_json_begin(&out, session->measure, &session->coverage);
        td_report_json_rows(&out, &rows, rows.len);
        td_json_end(&out);
    } else {
        const struct layout layout = {.metric = metric,
                                      .sorted =
                                          sort.by == TD_SORT_VALUE ? sort.metric : TD_METRIC_COUNT,
                                      .cut = cut,
                                      .by_limit = !o->rows && limit > 0,
                                      .level = (int)o->level};
        print_table(session, table_cmd, &rows, &layout);
    }
    td_rows_release(&rows);
    return td_session_end_output(session);
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    const struct td_table_cmd *table_cmd = (const struct td_table_cmd *)cmd; /* its first member */
    struct table_opts o = {.percent_limit = -1};
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_STRING, 's', "sort", "KEY",
         "time, samples, event, slots, a category, name, module, file", &o.sort},
        {TD_OPT_STRING, 0, "category", "NODE", "the rows that lose most slots to it", &o.category},
        {TD_OPT_U64, 'n', "rows", "N", "at most N rows", &o.rows},
        {TD_OPT_U64, 0, "level", "N",
         "a column for each high category down to level N (else one, in words)", &o.level},
        {TD_OPT_FLAG, 0, "children", NULL, "functions: with all that they call, recursion once",
         &o.children},
        {TD_OPT_DOUBLE, 0, "percent-limit", "P", "leave out rows below P percent",
         &o.percent_limit},
        TD_OPT_COMMON_JSON(common),
        TD_OPT_COMMON_REPORT(common),
        TD_OPT_END,
    };
    struct td_session session;
    int exit_code = TD_EXIT_OK;

    if (!td_cmd_parse_all(cmd, common, table, argc, argv, &exit_code))
        return exit_code;
    if (!td_cmd_check_level("--level", o.level))
        return TD_EXIT_USAGE;
    if (o.children && table_cmd->kind != TD_ROWS_FUNCTIONS) {
        td_complain("--children goes with tdreport functions");
        return TD_EXIT_USAGE;
    }
    if (o.children && o.sort) {
        td_complain("-s does not go with --children: its rows are sorted by what the calls cost");
        return TD_EXIT_USAGE;
    }
    if (o.children)
        return td_children_run(common, o.category, o.percent_limit, o.rows);
    exit_code = td_session_open(
        &session, common, (struct td_session_needs){.threads = table_cmd->kind == TD_ROWS_THREADS});
    if (exit_code == TD_EXIT_OK)
        exit_code = show(&session, table_cmd, &o);
    td_session_release(&session);
    return exit_code;
}

/* clang-format off */
#define TABLE_CMD(kind_, name_, about_, limit, ...)                                             \
    [kind_] = {.cmd = {.name = (name_), .args = "[options]", .about = (about_), .run = run},    \
               .kind = (kind_),                                                                 \
               .percent_limit = (limit),                                                        \
               .fields = {__VA_ARGS__}}
/* clang-format on */

const struct td_table_cmd td_table_cmds[] = {
    TABLE_CMD(TD_ROWS_FUNCTIONS, "functions", "what each function costs by itself", 0.1,
              &td_field_name, &td_field_module),
    TABLE_CMD(TD_ROWS_LINES, "lines", "what each source line costs by itself", 0.1, &td_field_place,
              &td_field_name, &td_field_others),
    TABLE_CMD(TD_ROWS_MODULES, "modules", "what each binary and library costs", 0, &td_field_name,
              &td_field_path),
    TABLE_CMD(TD_ROWS_THREADS, "threads", "what each thread costs", 0.1, &td_field_tid,
              &td_field_name, &td_field_process),
    TABLE_CMD(TD_ROWS_PROGRAMS, "programs", "what each program costs, its processes together", 0.1,
              &td_field_processes, &td_field_name),
};
