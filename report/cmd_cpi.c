/* SPDX-License-Identifier: MIT */
/* The command cpi: cycles per instruction, divided among what the slots went to. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "formats/frames.h"
#include "report/cmd.h"
#include "report/query/cpi.h"
#include "report/query/figures/names.h"
#include "report/query/loops/loops.h"
#include "report/query/cpi_methods.h"
#include "report/view/cpi/cpi.h"
#include "report/view/cpi/methods.h"
#include "report/view/cpi/svg.h"
#include "report/view/head.h"
#include "report/view/json.h"

#define ROWS_DEFAULT    3
#define LEVELS_DEFAULT  3
#define PERCENT_DEFAULT 1.0  /* of the text */
#define HOT             0.01 /* of the cost: a function that has a stack without being asked for */

struct cpi_opts {
    uint64_t rows; /* UINT64_MAX: not given */
    uint64_t levels;
    double percent_limit; /* negative: not given */
    const char *function; /* NULL: the program and its hottest functions */
    const char *svg;      /* a picture goes to this file; NULL: none is wanted */
    bool methods;         /* counted in several ways, of the program */
    bool loops;           /* of loops in place of functions */
};

/* What would have told it. */
static int complain_basis(const struct td_session *session, const struct td_cpi_basis *basis)
{
    const char *why = "this profile has no slots per category: tdrec --source sim gives them with "
                      "instructions, or a PMU with top-down events";

    if (session->opts->off_cpu)
        why = "a CPI stack is of slots, and waits have none: leave out --off-cpu";
    else if (session->opts->event)
        why = "a CPI stack is of slots: leave out --event";
    else if (basis->joined)
        why = "this profile joins measured time with modelled slots, and a CPI stack is of one "
              "run: tdrec --source sim records such (without tdreport --weights)";
    else if (basis->slots)
        why = "this profile has slots, but no instructions and cycles beside them: tdrec --source "
              "sim gives both";
    td_complain("%s", why);
    return TD_EXIT_NOTHING;
}

static bool is_wanted(const struct td_rows *rows, const struct td_row *row, const char *pattern,
                      bool modules)
{
    const size_t prefix = strlen(TD_UNNAMED_OF);

    if (!modules)
        return row->function == TD_NONE ? strcmp(pattern, "[unknown]") == 0
                                        : td_pattern_names(pattern, td_row_name(rows, row));
    if (strncmp(pattern, TD_UNNAMED_OF, prefix) == 0)
        pattern += prefix;
    return row->function == TD_NONE && row->module != TD_NONE &&
           td_pattern_is_path(pattern, td_module_name(rows->measure->model, row->module));
}

/* Keeps the rows of the function; where none is called so, code without a name of the module. */
static bool keep_function(struct td_rows *rows, const char *pattern)
{
    for (int modules = 0; modules < 2; modules++) {
        size_t kept = 0;

        for (size_t i = 0; i < rows->len; i++) {
            const struct td_row row = rows->at[i];

            if (!is_wanted(rows, &row, pattern, modules != 0))
                continue;
            rows->at[i] = rows->at[kept];
            rows->at[kept++] = row;
        }
        if (kept > 0) {
            rows->len = kept;
            return true;
        }
    }
    return false;
}

static void print_text(const struct td_session *session, const struct cpi_opts *o,
                       const struct td_cpi_view *view, const struct td_cpi_list *list,
                       size_t dropped)
{
    const struct td_head head = td_session_head(session);
    const struct td_style *style = &session->style;

    td_head_print_short(&head, style);
    if (!o->function)
        td_cpi_print_whole(view, style);
    td_cpi_print_list(view, list, style);
    td_style_more(style, dropped, list->rows ? "function" : "loop");
    td_notes_print(session->measure, style);
}

/* A new file; "-" is stdout. */
static int write_svg(struct td_session *session, const struct cpi_opts *o,
                     const struct td_cpi_view *view, const struct td_cpi_list *list)
{
    struct td_err err = TD_ERR_INIT;
    char *text = NULL;
    size_t size = 0;
    FILE *out = td_xmemstream(&text, &size);
    int rc = TD_OK;

    td_cpi_svg(view, list, out);
    fclose(out);
    if (strcmp(o->svg, "-") == 0)
        fwrite(text, 1, size, stdout);
    else
        rc = td_file_replace(o->svg, text, size, &err);
    free(text);
    if (rc < 0)
        td_complain("%s", err.text);
    else if (strcmp(o->svg, "-") != 0)
        fprintf(stderr, "tdreport: wrote %s: open it in a browser\n", o->svg);
    return rc < 0 ? td_exit_of((enum td_code)rc) : td_session_end_output(session);
}

static int show_list(struct td_session *session, const struct cpi_opts *o,
                     const struct td_cpi_basis *basis, const struct td_cpi_list *list,
                     size_t dropped)
{
    const bool json = session->opts->json;
    const struct td_cpi_view view = {.basis = basis,
                                     .levels = (int)o->levels,
                                     .percent_limit = o->percent_limit >= 0 ? o->percent_limit
                                                      : json                ? 0
                                                                            : PERCENT_DEFAULT};

    if (o->svg)
        return write_svg(session, o, &view, list);
    td_session_begin_output(session);
    if (json) {
        struct td_json out = td_json_init(stdout, 3);

        td_report_json_begin(&out, session->measure, &session->coverage);
        td_cpi_json(&view, list, &out);
        td_json_end(&out);
    } else {
        print_text(session, o, &view, list, dropped);
    }
    return td_session_end_output(session);
}

static int show_functions(struct td_session *session, const struct cpi_opts *o,
                          const struct td_cpi_basis *basis, struct td_rows *rows)
{
    if (o->function && !keep_function(rows, o->function)) {
        td_cmd_complain_unknown(session, rows, o->function);
        return TD_EXIT_NOTHING;
    }
    const size_t max =
        td_cmd_shown_rows(session, rows, o->rows, ROWS_DEFAULT, o->function ? 0 : HOT);
    const size_t dropped = rows->len - max;

    rows->len = max;
    return show_list(session, o, basis, &(struct td_cpi_list){.rows = rows, .len = max}, dropped);
}

static int by_slots(const void *a, const void *b, void *ctx)
{
    const struct td_loops *loops = ctx;
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const double x = loops->at[i].slots, y = loops->at[k].slots;

    return x != y ? (x > y ? -1 : 1) : (i > k) - (i < k);
}

/* The loops that have a stack, the dearest first. One of which most is in a loop in it has none of
 * its own, unless all were asked for. Returns how many there are beyond `max`. */
static size_t choose_loops(const struct td_loops *loops, const struct td_session *session,
                           const struct cpi_opts *o, uint32_t *chosen, size_t *len)
{
    const bool all = session->opts->json && o->rows == UINT64_MAX;
    const uint64_t given = o->rows != UINT64_MAX ? o->rows : all || o->function ? 0 : ROWS_DEFAULT;
    const double least = o->rows != UINT64_MAX || all || o->function ? 0 : HOT;
    size_t count = 0;

    for (uint32_t i = 0; i < loops->len; i++) {
        const struct td_loop *loop = &loops->at[i];

        if (loop->slots < least * loops->slots || (!all && loop->bound == TD_LOOP_INNER) ||
            (o->function && !td_cmd_loop_is_of(session->model, loop, o->function)))
            continue;
        chosen[count++] = i;
    }
    qsort_r(chosen, count, sizeof(*chosen), by_slots, (void *)(uintptr_t)loops);
    *len = given && given < count ? (size_t)given : count;
    return count - *len;
}

static int show_loops(struct td_session *session, const struct cpi_opts *o,
                      const struct td_cpi_basis *basis)
{
    struct td_loops loops;
    size_t len = 0;
    int exit_code = td_cmd_find_loops(session, &loops);

    if (exit_code != TD_EXIT_OK)
        return exit_code;
    uint32_t *chosen = td_xcalloc(loops.len + 1, sizeof(*chosen));
    const size_t dropped = choose_loops(&loops, session, o, chosen, &len);

    if (loops.len == 0)
        exit_code = td_cmd_complain_loops(session, &loops);
    else if (len == 0 && o->function)
        exit_code = td_cmd_complain_loopless(session, o->function);
    else
        exit_code = show_list(session, o, basis,
                              &(struct td_cpi_list){.loops = &loops, .chosen = chosen, .len = len},
                              dropped);
    free(chosen);
    td_loops_release(&loops);
    return exit_code;
}

/* One stack, counted in several ways. */
static int show_methods(struct td_session *session, const struct td_cpi_basis *basis)
{
    const struct td_head head = td_session_head(session);
    struct td_cpi_ways ways;

    if (session->filter_text) {
        td_complain("--methods is of the whole recording: leave out the filters");
        return TD_EXIT_USAGE;
    }
    if (!td_cpi_ways_of(&ways, basis)) {
        td_complain("this profile was not counted in several ways: tdrec --source sim "
                    "--cpi-methods records such");
        return TD_EXIT_NOTHING;
    }
    td_session_begin_output(session);
    if (session->opts->json) {
        struct td_json out = td_json_init(stdout, 3);

        td_report_json_begin(&out, session->measure, &session->coverage);
        td_cpi_methods_json(&ways, &out);
        td_json_end(&out);
    } else {
        td_head_print_short(&head, &session->style);
        td_cpi_methods_print(&ways, &session->style);
        td_notes_print(session->measure, &session->style);
    }
    return td_session_end_output(session);
}

static int show(struct td_session *session, const struct cpi_opts *o)
{
    const struct td_cpi_basis basis = td_cpi_basis_of(session->measure);
    struct td_rows rows;

    if (!basis.complete)
        return complain_basis(session, &basis);
    if (o->methods)
        return show_methods(session, &basis);
    if (o->loops)
        return show_loops(session, o, &basis);
    td_rows_init(&rows, session->measure, TD_ROWS_FUNCTIONS, session->opts->no_inline);
    const int exit_code = show_functions(session, o, &basis, &rows);

    td_rows_release(&rows);
    return exit_code;
}

/* An option that was given, and that the stack in several ways has no use for; NULL. */
static const char *useless_of_methods(const struct cpi_opts *o)
{
    return o->rows != UINT64_MAX         ? "-n"
           : o->levels != LEVELS_DEFAULT ? "--topdown-level"
           : o->percent_limit >= 0       ? "--percent-limit"
           : o->loops                    ? "--loops"
                                         : o->function;
}

/* The one word that may stand behind the options. */
static bool take_function(struct cpi_opts *o, int argc, char **argv)
{
    o->function = argv[0];
    if (argc > 1)
        td_complain("cpi takes one FUNCTION, but here is '%s', too", argv[1]);
    return argc <= 1;
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    struct cpi_opts o = {.rows = UINT64_MAX, .levels = LEVELS_DEFAULT, .percent_limit = -1};
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_U64, 'n', "rows", "N", "stacks of the N hottest functions (3; 0: of all)", &o.rows},
        {TD_OPT_U64, 0, "topdown-level", "N", "divide lost slots down to level N, 1 to 5 (3)",
         &o.levels},
        {TD_OPT_DOUBLE, 0, "percent-limit", "P",
         "components below P percent of a stack go together (1)", &o.percent_limit},
        {TD_OPT_STRING, 0, "svg", "FILE", "draw the stacks (- is stdout), in place of the text",
         &o.svg},
        {TD_OPT_FLAG, 0, "loops", NULL, "stacks of the hottest loops, in place of functions",
         &o.loops},
        {TD_OPT_FLAG, 0, "methods", NULL, "the program's stack as four ways of counters give it",
         &o.methods},
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
    if (!take_function(&o, argc - used, argv + used))
        return TD_EXIT_USAGE;
    if (o.svg && (o.methods || common->json)) {
        td_complain("--svg draws the stacks alone: leave out %s",
                    o.methods ? "--methods" : "--json");
        return TD_EXIT_USAGE;
    }
    if (o.methods && useless_of_methods(&o)) {
        td_complain("--methods is of the whole program: leave out '%s'", useless_of_methods(&o));
        return TD_EXIT_USAGE;
    }
    if (o.loops && common->regions.len > 0) {
        td_complain("--loops does not go with --region: iterations are counted of the whole run");
        return TD_EXIT_USAGE;
    }
    if (o.levels < 1 || o.levels > TD_TMA_LEVELS) {
        td_complain("--topdown-level: levels are 1 to %d", TD_TMA_LEVELS);
        return TD_EXIT_USAGE;
    }
    exit_code = td_session_open(&session, common,
                                (struct td_session_needs){.stacks = o.loops, .by_leaf = true});
    if (exit_code == TD_EXIT_OK)
        exit_code = show(&session, &o);
    td_session_release(&session);
    return exit_code;
}

const struct td_cmd td_cmd_cpi = {
    .name = "cpi",
    .args = "[FUNCTION] [options]",
    .about = "cycles per instruction, divided among what the slots went to",
    .run = run,
};
