/* SPDX-License-Identifier: MIT */
#include "report/cmd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "formats/load.h"
#include "report/disasm.h"
#include "report/query/figures/names.h"
#include "report/view/head.h"

extern const struct td_cmd td_cmd_report, td_cmd_annotate, td_cmd_callers, td_cmd_callees,
    td_cmd_diff, td_cmd_tui, td_cmd_folded, td_cmd_export, td_cmd_html, td_cmd_explain,
    td_cmd_latency, td_cmd_merge, td_cmd_dump, td_cmd_regions, td_cmd_cpi, td_cmd_loops,
    td_cmd_whatif, td_cmd_sharing, td_cmd_why;

/* Names that a mistyped one is compared with: of the hottest functions. */
#define NEAREST_COUNT 200
#define NAME_BYTES    512

const struct td_cmd *const td_cmds[] = {&td_cmd_report,
                                        &td_table_cmds[TD_ROWS_FUNCTIONS].cmd,
                                        &td_table_cmds[TD_ROWS_LINES].cmd,
                                        &td_cmd_annotate,
                                        &td_cmd_why,
                                        &td_cmd_callers,
                                        &td_cmd_callees,
                                        &td_cmd_cpi,
                                        &td_cmd_loops,
                                        &td_cmd_whatif,
                                        &td_cmd_latency,
                                        &td_cmd_sharing,
                                        &td_table_cmds[TD_ROWS_MODULES].cmd,
                                        &td_table_cmds[TD_ROWS_THREADS].cmd,
                                        &td_table_cmds[TD_ROWS_PROGRAMS].cmd,
                                        &td_cmd_regions,
                                        &td_cmd_diff,
                                        &td_cmd_tui,
                                        &td_cmd_folded,
                                        &td_cmd_export,
                                        &td_cmd_html,
                                        &td_cmd_explain,
                                        &td_cmd_merge,
                                        &td_cmd_dump,
                                        NULL};

static void print_help(const struct td_cmd *cmd, const struct td_opt *table)
{
    printf("usage: tdreport %s%s%s\n%s\n\n", cmd->name[0] ? cmd->name : "[command]",
           cmd->args[0] ? " " : "", cmd->args, cmd->about);
    if (!cmd->name[0]) {
        puts("Commands");
        for (const struct td_cmd *const *c = td_cmds; *c; c++)
            printf("  %-12s%s\n", (*c)->name[0] ? (*c)->name : "(none)", (*c)->about);
    }
    td_opt_print(table, stdout);
    if (!cmd->name[0])
        puts("\n'tdreport COMMAND --help' has the options of a command.\n"
             "Exit: 0 good, 1 a condition of diff --fail-if holds, 2 usage, 3 damaged or\n"
             "partial input (what could be read is shown) or the output could not be written,\n"
             "4 nothing to show.");
}

/* An option that this command does not have may be one of others. */
static void complain_option(const char *refusal)
{
    static const struct {
        const char *option, *commands;
    } elsewhere[] = {
        {"--level", "functions, lines, modules, threads, programs and annotate; without a command "
                    "there is --topdown-level"},
        {"--topdown-level", "without a command, and with tdreport cpi"},
        {"--children", "functions"},
        {"--asm", "annotate"},
        {"--fail-if", "diff"},
        {"--markdown", "diff"},
    };
    static const char unknown[] = "unknown option '";
    const bool is_unknown = strncmp(refusal, unknown, sizeof(unknown) - 1) == 0;

    for (size_t i = 0; i < TD_ARRAY_SIZE(elsewhere) && is_unknown; i++) {
        const char *option = refusal + sizeof(unknown) - 1;
        const size_t len = strlen(elsewhere[i].option);

        if (strncmp(option, elsewhere[i].option, len) == 0 && option[len] == '\'') {
            td_complain("%s goes with tdreport %s", elsewhere[i].option, elsewhere[i].commands);
            return;
        }
    }
    td_complain("%s", refusal);
}

int td_cmd_parse(const struct td_cmd *cmd, const struct td_common_opts *common,
                 const struct td_opt *table, int argc, char **argv, int *exit_code)
{
    struct td_err err = TD_ERR_INIT;
    const int used = td_opt_parse(table, argc, argv, true, &err);

    if (used < 0) {
        complain_option(err.text);
        *exit_code = TD_EXIT_USAGE;
        return -1;
    }
    if (common->help) {
        print_help(cmd, table);
        *exit_code = td_finish_stdout();
        return -1;
    }
    return used;
}

bool td_cmd_check_level(const char *option, uint64_t level)
{
    if (level <= TD_TMA_LEVELS)
        return true;
    td_complain("%s: levels are 1 to %d", option, TD_TMA_LEVELS);
    return false;
}

bool td_cmd_check_syntax(const char *name)
{
    if (td_syntax_by_name(name) != TD_SYNTAX_COUNT)
        return true;
    td_complain("--disassembler-style %s: it is one of att, intel", name);
    return false;
}

void td_cmd_take_profile(struct td_common_opts *common, int first, int *argc, char **argv)
{
    int i = first;

    while (i < *argc && !td_load_knows(argv[i]))
        i++;
    if (common->input || i == *argc)
        return;
    common->input = argv[i];
    for (; i + 1 <= *argc; i++) /* the NULL behind them, too */
        argv[i] = argv[i + 1];
    --*argc;
}

static bool has_input(const struct td_opt *table)
{
    for (; table->kind != TD_OPT_HEADING || table->help; table++) {
        if (table->letter == 'i')
            return true;
    }
    return false;
}

/* A word that is a file stands for -i FILE. */
static bool take_input(struct td_common_opts *common, const char *word)
{
    if (common->input || access(word, F_OK) != 0)
        return false;
    common->input = word;
    return true;
}

size_t td_cmd_shown_rows(const struct td_session *session, const struct td_rows *rows,
                         uint64_t given, uint64_t usual, double least)
{
    const bool is_given = given != UINT64_MAX;
    const uint64_t max = is_given ? given : session->opts->json ? 0 : usual;
    size_t shown = 0;

    while (shown < rows->len && (max == 0 || shown < max) &&
           (is_given || max == 0 || td_row_share(rows, &rows->at[shown]) >= least))
        shown++;
    return shown;
}

bool td_cmd_parse_all(const struct td_cmd *cmd, struct td_common_opts *common,
                      const struct td_opt *table, int argc, char **argv, int *exit_code)
{
    int used = td_cmd_parse(cmd, common, table, argc, argv, exit_code);

    if (used < 0)
        return false;
    if (used < argc && has_input(table) && take_input(common, argv[used]))
        used++;
    if (used < argc) {
        td_complain(common->input ? "%s takes one file, but here is '%s', too"
                                  : "%s takes no argument but a profile's file, and '%s' is none",
                    cmd->name[0] ? cmd->name : "the report", argv[used]);
        *exit_code = TD_EXIT_USAGE;
        return false;
    }
    return true;
}

int td_category_parse(enum td_metric *ret, const struct td_measure *measure, const char *word)
{
    struct td_err err = TD_ERR_INIT;
    const bool has = measure->values[TD_METRIC_SLOTS];

    if (has && td_metric_parse(ret, measure, word, TD_METRIC_FIRST_NODE, &err) == TD_OK)
        return TD_EXIT_OK;
    td_complain("--category %s: %s", word,
                has ? err.text
                    : "this profile has no categories (tdrec --source sim, or a PMU, has)");
    return TD_EXIT_USAGE;
}

void td_cmd_complain_unknown(const struct td_session *session, const struct td_rows *rows,
                             const char *pattern)
{
    if (td_calls_any(session->opts, pattern)) {
        td_complain("function '%s' was never on top of a stack: what it calls took all its time "
                    "(see: tdreport callees '%s')",
                    pattern, pattern);
        return;
    }

    char *bare = td_xcalloc(NEAREST_COUNT, NAME_BYTES);
    const char *names[2 * NEAREST_COUNT + 1];
    size_t len = 0;

    for (size_t i = 0; i < rows->len && i < NEAREST_COUNT; i++) {
        char *name = bare + i * NAME_BYTES;

        td_name_bare(name, NAME_BYTES, td_row_name(rows, &rows->at[i]));
        names[len++] = name;
        const char *last = strrchr(name, ':');
        if (last && last[1])
            names[len++] = last + 1;
    }
    names[len] = NULL;
    const char *near = td_nearest(pattern, names);
    td_complain_no_function(pattern, near);
    free(bare);
}

struct td_cut td_rows_cut(struct td_rows *rows, enum td_metric metric, double percent, uint64_t max)
{
    struct td_cut cut = {0};
    size_t kept = 0;

    for (size_t i = 0; i < rows->len; i++) {
        if (kept < max && 100 * td_row_share_of(rows, &rows->at[i], metric) >= percent) {
            rows->at[kept++] = rows->at[i];
            continue;
        }
        cut.dropped++;
        cut.dropped_share += td_row_share(rows, &rows->at[i]);
    }
    rows->len = kept;
    return cut;
}

struct td_head td_session_head(const struct td_session *session)
{
    return (struct td_head){.measure = session->measure,
                            .coverage = &session->coverage,
                            .damage = session->status.damaged ? session->status.damage.text : NULL,
                            .filter = session->filter_text,
                            .kept_share = session->kept_share};
}
