/* SPDX-License-Identifier: MIT */
/* The default report: what an engineer with a slow program and twenty minutes wants to see. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/cmd.h"
#include "report/query/by.h"
#include "report/attribution/slots.h"
#include "report/query/figures/weights.h"
#include "report/view/by.h"
#include "report/view/head.h"
#include "report/view/json.h"
#include "report/view/rates.h"
#include "report/view/slots.h"
#include "report/view/tree.h"
#include "report/view/verdict.h"
#include "report/view/waits.h"
#include "report/view/table/weights.h"

#define SCREEN_LINES      23 /* a terminal's 24, and one for the pager or the prompt */
#define VERDICT_LINES_MIN 6
#define LEVELS            3
#define ROWS_DEFAULT      12
#define CATEGORY_ROWS     3
#define PROGRAM_ROWS      6
#define PROGRAM_PERCENT   1
#define LIMIT_DEFAULT     0.5
#define HINT_WIDTH        75 /* columns of a line that has room for the longer hint */

struct report_opts {
    uint64_t rows;
    double percent_limit; /* negative: not given */
    uint64_t levels;      /* of the tree, all nodes; 0: as many as stand out */
    const char *by;       /* NULL: not spread over hosts, ranks or processes */
    bool tui;
};

static void heading(const struct td_style *style, const char *text)
{
    fputc('\n', style->out);
    td_style_begin(style, TD_TONE_HEADING);
    fputs(text, style->out);
    td_style_end(style, TD_TONE_HEADING);
    fputc('\n', style->out);
}

/* "Hot lines, by modelled slots": never a modelled number without the word. */
static void print_title(const struct td_session *session, const char *what)
{
    const struct td_measure *measure = session->measure;
    char *title =
        td_xasprintf("%s, by %s%s", what,
                     td_measure_is_modelled(measure) && !measure->weighted ? "modelled " : "",
                     td_metric_heading(measure, td_measure_primary(measure)));

    heading(&session->style, title);
    free(title);
}

/* How much of the whole the rows above cover. */
static void print_rest(const struct td_style *style, const struct td_cut *cut, const char *noun,
                       const char *command)
{
    char count[32];

    if (cut->dropped == 0)
        return;
    td_style_begin(style, TD_TONE_DIM);
    fprintf(style->out, "  %s %s more %.*s, %.1f %% together (tdreport %s)\n",
            td_style_ellipsis(style), td_format_count(count, sizeof(count), cut->dropped),
            (int)strlen(noun) - (cut->dropped == 1), noun, 100 * cut->dropped_share, command);
    td_style_end(style, TD_TONE_DIM);
}

/* Rows without a line are in the head's coverage and in the notes, not in the table of lines. */
static void drop_lineless(struct td_rows *rows)
{
    size_t kept = 0;

    for (size_t i = 0; i < rows->len; i++) {
        if (rows->at[i].line != 0)
            rows->at[kept++] = rows->at[i];
    }
    rows->len = kept;
}

/* Of a category, rows of which too little is known say nothing. */
static void drop_thin(struct td_rows *rows, enum td_tma_node node)
{
    size_t kept = 0;

    for (size_t i = 0; i < rows->len; i++) {
        if (!td_row_cell(rows, &rows->at[i], node).thin)
            rows->at[kept++] = rows->at[i];
    }
    rows->len = kept;
}

static void print_functions(const struct td_session *session, struct td_rows *rows,
                            const struct report_opts *o, double limit)
{
    const struct td_cut cut = td_rows_cut(rows, rows->primary, limit, o->rows);
    struct td_table table = td_table_of(rows, rows->len, 2);

    print_title(session, "Hot functions");
    td_table_add_cost(&table);
    td_weights_add_model(&table);
    td_table_add_nodes(&table, 0);
    td_table_add(&table, &td_field_name, rows->primary);
    td_table_add(&table, &td_field_module, rows->primary);
    td_table_print(&table, &session->style);
    print_rest(&session->style, &cut, "functions", "functions");
    td_weights_print_legend(rows, rows->len, &session->style);
}

static void print_lines(const struct td_session *session, const struct report_opts *o, double limit)
{
    struct td_rows rows;

    td_rows_init(&rows, session->measure, TD_ROWS_LINES, session->opts->no_inline);
    drop_lineless(&rows);
    const struct td_cut cut = td_rows_cut(&rows, rows.primary, limit, o->rows);
    if (rows.len > 0) {
        struct td_table table = td_table_of(&rows, rows.len, 2);

        print_title(session, "Hot lines");
        td_table_add_cost(&table);
        td_table_add_nodes(&table, 0);
        td_table_add(&table, &td_field_place, rows.primary);
        td_table_add(&table, &td_field_name, rows.primary);
        td_table_add(&table, &td_field_others, rows.primary);
        td_table_print(&table, &session->style);
        print_rest(&session->style, &cut, "lines", "lines");
    }
    td_rows_release(&rows);
}

/* The functions that lose most to one category. */
static void print_category(const struct td_session *session, const struct td_tree_node *node)
{
    const enum td_metric metric = (enum td_metric)(TD_METRIC_FIRST_NODE + (int)node->node);
    struct td_rows rows;

    td_rows_init(&rows, session->measure, TD_ROWS_FUNCTIONS, session->opts->no_inline);
    td_rows_sort(&rows, (struct td_sort){.by = TD_SORT_VALUE, .metric = metric});
    drop_thin(&rows, node->node);
    td_rows_cut(&rows, metric, 1, CATEGORY_ROWS);
    if (rows.len == 0) { /* of no function is enough known */
        td_rows_release(&rows);
        return;
    }
    char *title =
        td_xasprintf("Most %s (%.1f %% of %sslots)", td_tma_info(node->node)->id, 100 * node->share,
                     td_measure_is_modelled(session->measure) ? "modelled " : "");
    heading(&session->style, title);
    free(title);
    struct td_table table = td_table_of(&rows, rows.len, 2);
    td_table_add(&table, &td_field_share, metric);
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const struct td_tma_info *info = td_tma_info((enum td_tma_node)n);
        const enum td_metric child = (enum td_metric)(TD_METRIC_FIRST_NODE + n);

        if (info->parent == node->node && session->measure->values[child])
            td_table_add(&table, &td_field_node, child);
    }
    td_table_add(&table, &td_field_name, metric);
    td_table_add(&table, &td_field_module, metric);
    td_table_print(&table, &session->style);
    td_slots_print_runs(session->measure, node->node, &session->style);
    td_rows_release(&rows);
}

/* The head, then the verdict: together they fit a screen of 24 lines. */
static void print_first_screen(const struct td_session *session, const struct td_head *head,
                               const struct td_tree *tree)
{
    struct td_style style = session->style;
    struct td_verdict verdict;
    size_t size = 0, lines = 1; /* the empty one between them */
    char *text = NULL;

    style.out = td_xmemstream(&text, &size);
    td_head_print(head, &style);
    fclose(style.out);
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    fputs(text, session->style.out);
    fputc('\n', session->style.out);
    free(text);
    td_verdict_of(&verdict, session->measure, tree, session->opts->no_inline);
    char *next = td_session_next(session, &verdict);
    td_verdict_print(&verdict, session->measure, next,
                     lines + VERDICT_LINES_MIN < SCREEN_LINES ? SCREEN_LINES - lines
                                                              : VERDICT_LINES_MIN,
                     &session->style);
    free(next);
}

static void print_one_tree(const struct td_session *session, const struct report_opts *o,
                           struct td_tree tree, const char *title, uint64_t time_ns)
{
    const size_t all = tree.len;

    td_tree_cut(&tree, o->levels ? (int)o->levels : LEVELS, o->levels > 0);
    heading(&session->style, title);
    td_tree_print(&tree, td_measure_is_modelled(session->measure) ? "modelled slots" : "slots",
                  time_ns, &session->style);
    if (tree.len < all && o->levels == 0) {
        td_style_begin(&session->style, TD_TONE_DIM);
        fputs(session->style.width < HINT_WIDTH
                  ? "  (not shown: parts of low nodes; --topdown-level 3)\n"
                  : "  (children of nodes below their threshold are hidden: --topdown-level 3)\n",
              session->style.out);
        td_style_end(&session->style, TD_TONE_DIM);
    }
}

/* Of each kind of core where there are several: their slots are not the same. */
static void print_trees(const struct td_session *session, const struct report_opts *o,
                        const struct td_tree *tree)
{
    const struct td_measure *measure = session->measure;
    const uint64_t time_ns = td_measure_categorized_ns(measure);
    const size_t parts = measure->slots ? measure->slots->len : 1;

    if (parts == 1)
        print_one_tree(session, o, *tree, "Top-down", time_ns);
    for (size_t p = 0; parts > 1 && p < parts; p++) {
        const struct td_slots_part *part = &measure->slots->parts[p];
        char *title = td_xasprintf("Top-down, %s (%s)", part->cpu_type, part->counted.core->name);

        print_one_tree(session, o, td_tree_of_part(measure, p), title, 0);
        free(title);
    }
}

static void print_tree(const struct td_session *session, const struct report_opts *o,
                       const struct td_tree *tree)
{
    if (tree->len == 0)
        return;
    print_trees(session, o, tree);
    td_weights_print(session->measure, &session->style);
}

/* Of what the verdict did not rule out. */
static void print_categories(const struct td_session *session, const struct td_tree *tree)
{
    for (size_t i = 0; i < tree->len; i++) {
        const struct td_tree_node *node = &tree->at[i];

        if (td_tma_info(node->node)->level == 1 && node->node != TD_NODE_RETIRING &&
            node->share + node->error >= node->threshold)
            print_category(session, node);
    }
}

/* Which programs, where there is more than one to speak of. */
static void print_programs(const struct td_session *session)
{
    struct td_rows rows;

    td_rows_init(&rows, session->measure, TD_ROWS_PROGRAMS, false);
    const struct td_cut cut = td_rows_cut(&rows, rows.primary, PROGRAM_PERCENT, PROGRAM_ROWS);
    if (rows.len > 1) {
        struct td_table table = td_table_of(&rows, rows.len, 2);

        print_title(session, "Programs");
        td_table_add_cost(&table);
        td_table_add(&table, &td_field_processes, rows.primary);
        td_table_add(&table, &td_field_name, rows.primary);
        td_table_print(&table, &session->style);
        print_rest(&session->style, &cut, "programs", "programs");
    }
    td_rows_release(&rows);
}

static void print_rates(const struct td_session *session)
{
    struct td_rates rates;

    td_rates_of(&rates, session->model);
    td_rates_print(&rates, &session->style);
    td_rates_release(&rates);
}

static void add_rates(const struct td_session *session, struct td_json *json)
{
    struct td_rates rates;

    td_rates_of(&rates, session->model);
    td_rates_json(&rates, json);
    td_rates_release(&rates);
}

/* Nothing where the profile does not tell of any. */
static bool has_waits(const struct td_session *session, struct td_wait_places *ret)
{
    const struct td_filter filter = td_session_filter(session);

    *ret = (struct td_wait_places){.at = NULL};
    return td_waits_known(session->model) &&
           td_waits_of(ret, session->model, &filter, NULL) == TD_OK && ret->len > 0;
}

static void add_waits(const struct td_session *session, const struct report_opts *o,
                      struct td_json *json)
{
    struct td_wait_places places;

    if (has_waits(session, &places))
        td_waits_json(&places, session->model, o->rows, json);
    td_waits_release(&places);
}

static void print_text(const struct td_session *session, const struct report_opts *o)
{
    const double limit = o->percent_limit >= 0 ? o->percent_limit : LIMIT_DEFAULT;
    struct td_head head = td_session_head(session);
    const struct td_tree tree = td_tree_of(session->measure);
    struct td_wait_places waits;
    struct td_rows functions;

    td_rows_init(&functions, session->measure, TD_ROWS_FUNCTIONS, session->opts->no_inline);
    head.waits = has_waits(session, &waits) ? &waits : NULL;
    print_first_screen(session, &head, &tree);
    print_tree(session, o, &tree);
    print_functions(session, &functions, o, limit);
    print_lines(session, o, limit);
    if (head.waits) {
        fputc('\n', session->style.out);
        td_waits_print(&waits, session->model, limit, o->rows, &session->style);
    }
    print_categories(session, &tree);
    print_programs(session);
    print_rates(session);
    heading(&session->style, "About the recording");
    td_head_print_details(&head, &session->style);
    td_notes_print(session->measure, &session->style);
    td_rows_release(&functions);
    td_waits_release(&waits);
}

static void add_verdict(const struct td_session *session, const struct td_tree *tree,
                        struct td_json *json)
{
    struct td_verdict verdict;

    td_verdict_of(&verdict, session->measure, tree, session->opts->no_inline);
    char *next = td_session_next(session, &verdict);
    td_verdict_json(json, &verdict, session->measure, next);
    free(next);
}

static void print_json(const struct td_session *session, const struct report_opts *o)
{
    const double limit = o->percent_limit >= 0 ? o->percent_limit : 0;
    const struct td_tree tree = td_tree_of(session->measure);
    static const enum td_row_kind kinds[] = {TD_ROWS_FUNCTIONS, TD_ROWS_LINES};
    struct td_json json = td_json_init(stdout, 2);

    td_report_json_begin(&json, session->measure, &session->coverage);
    td_report_json_tree(&json, &tree);
    td_slots_json(&json, session->measure);
    add_rates(session, &json);
    add_verdict(session, &tree, &json);
    add_waits(session, o, &json);
    for (size_t k = 0; k < TD_ARRAY_SIZE(kinds); k++) {
        struct td_rows rows;

        td_rows_init(&rows, session->measure, kinds[k], session->opts->no_inline);
        td_rows_cut(&rows, rows.primary, limit, o->rows);
        td_report_json_rows(&json, &rows, rows.len);
        td_rows_release(&rows);
    }
    td_json_end(&json);
}

/* How the profile is spread over hosts, ranks or processes, in place of the usual report. */
static void print_by(const struct td_session *session, const struct report_opts *o)
{
    const enum td_by by = td_by_of_name(o->by);
    struct td_by_table table;

    td_by_init(&table, session->measure, by, session->opts->no_inline);
    if (session->opts->json) {
        struct td_json json = td_json_init(stdout, 2);

        td_report_json_begin(&json, session->measure, &session->coverage);
        td_by_json(&table, session->measure, by, o->rows, &json);
        td_json_end(&json);
    } else {
        const struct td_head head = td_session_head(session);

        td_head_print_short(&head, &session->style);
        td_by_print(&table, session->measure, by, o->rows, &session->style);
    }
    td_by_release(&table);
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    struct report_opts o = {.percent_limit = -1};
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_U64, 'n', "rows", "N", "at most N rows in each table (12; all in JSON)", &o.rows},
        {TD_OPT_DOUBLE, 0, "percent-limit", "P", "leave out rows below P percent (0.5)",
         &o.percent_limit},
        {TD_OPT_U64, 0, "topdown-level", "N",
         "the whole tree down to level N (else what stands out)", &o.levels},
        {TD_OPT_STRING, 0, "by", "KEY",
         "load imbalance by host, rank or process (of merged profiles)", &o.by},
        {TD_OPT_FLAG, 0, "tui", NULL, "walk through it on the terminal (tdreport tui)", &o.tui},
        TD_OPT_COMMON_JSON(common),
        TD_OPT_COMMON_REPORT(common),
        TD_OPT_END,
    };
    struct td_session session;
    int exit_code = TD_EXIT_OK;

    if (!td_cmd_parse_all(cmd, common, table, argc, argv, &exit_code))
        return exit_code;
    if (o.by && td_by_of_name(o.by) == TD_BY_COUNT) {
        td_complain("--by %s: it is one of host, rank, process", o.by);
        return TD_EXIT_USAGE;
    }
    if (!td_cmd_check_level("--topdown-level", o.levels))
        return TD_EXIT_USAGE;
    if (o.tui)
        return td_tui_run(common, &(struct td_source_dirs){.at = NULL}, "att");
    exit_code =
        td_session_open(&session, common, (struct td_session_needs){.threads = o.by != NULL});
    if (exit_code == TD_EXIT_OK && o.levels > 0 && !session.measure->values[TD_METRIC_SLOTS]) {
        td_complain("--topdown-level: this profile has no categories (tdrec --source sim, or a "
                    "PMU, has)");
        exit_code = TD_EXIT_USAGE;
    }
    if (exit_code == TD_EXIT_OK) {
        o.rows = o.rows ? o.rows : common->json ? UINT64_MAX : ROWS_DEFAULT;
        td_session_begin_output(&session);
        if (o.by)
            print_by(&session, &o);
        else if (common->json)
            print_json(&session, &o);
        else
            print_text(&session, &o);
        exit_code = td_session_end_output(&session);
    }
    td_session_release(&session);
    return exit_code;
}

const struct td_cmd td_cmd_report = {
    .name = "",
    .args = "[options]",
    .about = "the report: head, verdict, categories, hot functions and lines",
    .run = run,
};
