/* SPDX-License-Identifier: MIT */
/* The command why: what holds up a line or a function, on the modelled core. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/cmd.h"
#include "report/code_text.h"
#include "report/near.h"
#include "report/places.h"
#include "report/query/figures/names.h"
#include "report/query/why/why.h"
#include "report/view/head.h"
#include "report/view/json.h"
#include "report/view/verdict.h"
#include "report/view/model/why.h"

#define LINES_DEFAULT 3

/* What is asked about, each on its own. */
struct asked {
    struct td_why_basis basis;
    char **names;
    struct td_why *whys;
    size_t len, cap, why_cap;
};

static void asked_release(struct asked *asked)
{
    for (size_t i = 0; i < asked->len; i++)
        free(asked->names[i]);
    free(asked->names);
    free(asked->whys);
    td_why_basis_release(&asked->basis);
}

/* Takes the name. False when nothing ran there. */
static bool ask(struct asked *asked, const struct td_places *places, char *take_name)
{
    const struct td_measure *measure = asked->basis.measure;
    struct td_code_parts parts = {.at = NULL};

    if (places->file)
        td_code_of_lines(&parts, measure, places->file, places->from, places->to);
    else
        td_code_of_any(&parts, measure, places->functions, places->len);
    const bool found = parts.len > 0;
    if (found) {
        asked->names = td_grow(asked->names, &asked->cap, asked->len + 1, sizeof(*asked->names));
        asked->whys = td_grow(asked->whys, &asked->why_cap, asked->len + 1, sizeof(*asked->whys));
        td_why_of(&asked->whys[asked->len], &asked->basis, &parts);
        asked->names[asked->len++] = take_name;
    } else {
        free(take_name);
    }
    td_code_parts_release(&parts);
    return found;
}

static void complain_nothing(const struct td_session *session, const struct td_places *places,
                             const char *word)
{
    char *near = places->file ? td_near_lines(session, places) : NULL;

    td_complain("%s: nothing ran there%s%s (tdreport lines shows the lines that cost something)",
                word, near ? ": " : "", near ? near : "");
    free(near);
}

static int ask_words(struct asked *asked, const struct td_session *session, char **words)
{
    struct td_rows rows;
    int exit_code = TD_EXIT_OK;

    td_rows_init(&rows, session->measure, TD_ROWS_FUNCTIONS, session->opts->no_inline);
    for (; *words && exit_code == TD_EXIT_OK; words++) {
        struct td_places places = {.functions = NULL};

        if (!td_places_find(&places, session, &rows, *words)) {
            td_cmd_complain_unknown(session, &rows, *words);
            exit_code = TD_EXIT_NOTHING;
        } else if (!ask(asked, &places, td_xstrdup(*words))) {
            complain_nothing(session, &places, *words);
            exit_code = TD_EXIT_NOTHING;
        }
        td_places_release(&places);
    }
    td_rows_release(&rows);
    return exit_code;
}

/* What a row of lines is of: a line, or where none is known its function, or its module's code
 * without names. The name is newly allocated; NULL: of none of these. */
static char *places_of_row(struct td_places *places, const struct td_model *model,
                           const struct td_row *row)
{
    char name[256];

    if (row->file != 0 && row->line != 0) {
        places->file = td_xstrdup(td_model_string(model, row->file));
        places->from = places->to = row->line;
        return td_xasprintf("%s:%" PRIu32, places->file, row->line);
    }
    if (row->function != TD_NONE) {
        td_places_add(places, row->function);
        td_name_bare(name, sizeof(name),
                     td_model_string(model, td_model_function(model, row->function)->name));
        return td_xstrdup(name);
    }
    if (row->module == TD_NONE)
        return NULL;
    td_places_add(places, td_code_unnamed(model, row->module));
    return td_xstrdup(td_module_name(model, row->module));
}

/* Without a place: the lines that cost most, and code without lines. */
static int ask_hottest(struct asked *asked, const struct td_session *session, uint64_t count)
{
    struct td_rows rows;

    td_rows_init(&rows, session->measure, TD_ROWS_LINES, session->opts->no_inline);
    for (size_t i = 0; i < rows.len && asked->len < count; i++) {
        struct td_places places = {.functions = NULL};
        char *name = places_of_row(&places, session->model, &rows.at[i]);

        if (name)
            ask(asked, &places, name);
        td_places_release(&places);
    }
    td_rows_release(&rows);
    if (asked->len > 0)
        return TD_EXIT_OK;
    td_complain("no code is known that cost something");
    return TD_EXIT_NOTHING;
}

/* The command that says more of the cause, for the caller to free; NULL: none does. */
static char *next_of(const struct td_session *session, const struct td_why *why)
{
    const struct td_model *model = session->model;
    char name[256];

    if (why->cause == TD_WHY_SHARED && td_model_shared_count(model) > 0)
        return td_next_command("sharing", session->opts->input, "");
    if (!why->loop || why->loop->function == TD_NONE)
        return NULL;
    td_name_bare(name, sizeof(name),
                 td_model_string(model, td_model_function(model, why->loop->function)->name));
    return td_next_command("loops", session->opts->input, name);
}

static void print_whys(const struct td_session *session, const struct asked *asked,
                       struct td_json *json)
{
    struct td_code_text text = td_code_text_init(session->model, TD_SYNTAX_ATT);

    for (size_t i = 0; i < asked->len; i++) {
        const struct td_why *why = &asked->whys[i];
        char *next = next_of(session, why);
        const struct td_why_asked one = {.measure = session->measure,
                                         .loops = &asked->basis.loops,
                                         .words = {session->model, td_code_text_of, &text},
                                         .place = asked->names[i],
                                         .next = next};

        if (json)
            td_why_json(why, &one, json);
        else
            td_why_print(why, &one, &session->style);
        free(next);
    }
    td_code_text_release(&text);
}

static void print(const struct td_session *session, const struct asked *asked)
{
    if (session->opts->json) {
        struct td_json json = td_json_init(stdout, 2);

        td_report_json_begin(&json, session->measure, &session->coverage);
        td_json_array(&json, "why");
        print_whys(session, asked, &json);
        td_json_end(&json);
        td_json_end(&json);
        return;
    }
    const struct td_head head = td_session_head(session);

    td_head_print_short(&head, &session->style);
    print_whys(session, asked, NULL);
}

static int show(struct td_session *session, uint64_t lines, char **words)
{
    struct td_measure *stacks = NULL;
    struct td_err err = TD_ERR_INIT;
    int exit_code = TD_EXIT_NOTHING;

    if (!td_measure_is_modelled(session->measure) || !session->measure->values[TD_METRIC_SLOTS]) {
        td_complain("this profile does not say how instructions use memory: only the modelled core "
                    "sees that (tdrec --source sim, or hybrid; then tdreport why)");
        return exit_code;
    }
    if (td_model_habits(session->model)->len == 0)
        td_complain("this profile has no habits of instructions (it was made by an older tdrec, or "
                    "its end was lost): causes are by category alone. Record it again: tdrec "
                    "--source sim");
    const int rc = td_session_measure_again(
        session, (struct td_session_needs){.metrics = TD_WHY_STACK_METRICS}, &stacks, &err);
    if (rc < 0) {
        td_complain("%s", err.text);
        return td_exit_of((enum td_code)rc);
    }
    struct asked asked = {.basis = td_why_basis_init(session->measure, stacks)};
    exit_code = words[0] ? ask_words(&asked, session, words)
                         : ask_hottest(&asked, session, lines ? lines : UINT64_MAX);
    if (exit_code == TD_EXIT_OK) {
        td_session_begin_output(session);
        print(session, &asked);
        exit_code = td_session_end_output(session);
    }
    asked_release(&asked);
    td_measure_free(stacks);
    return exit_code;
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    uint64_t lines = LINES_DEFAULT;
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_U64, 'n', "rows", "N",
         "without a place: the N hottest lines, or functions without lines (3; 0: all)", &lines},
        TD_OPT_COMMON_JSON(common),
        TD_OPT_COMMON_REPORT(common),
        TD_OPT_END,
    };
    struct td_session session = {.opts = NULL};
    int exit_code = TD_EXIT_OK;
    const int used = td_cmd_parse(cmd, common, table, argc, argv, &exit_code);

    if (used < 0)
        return exit_code;
    td_cmd_take_profile(common, used, &argc, argv);
    exit_code = td_session_open(
        &session, common,
        (struct td_session_needs){.stacks = true, .by_leaf = true, .metrics = TD_METRICS_ALL});
    if (exit_code == TD_EXIT_OK)
        exit_code = show(&session, lines, argv + used);
    td_session_release(&session);
    return exit_code;
}

const struct td_cmd td_cmd_why = {
    .name = "why",
    .args = "[options] [FILE:LINE | FUNCTION ...]",
    .about = "why a line is slow on the modelled core, in a sentence",
    .run = run,
};
