/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/frames.h"
#include "report/cmd.h"
#include "report/code_text.h"
#include "report/listing.h"
#include "report/near.h"
#include "report/places.h"
#include "report/query/figures/names.h"
#include "report/view/annotate.h"
#include "report/view/asm.h"
#include "report/view/head.h"
#include "report/view/json.h"
#include "report/view/model/why_notes.h"
#include "report/view/table/margin.h"

#define HOTTEST_COUNT 3
#define PARTS_MAX     5 /* listings of one function, where it is inlined */

struct annotate_opts {
    uint64_t functions; /* how many of the hottest, when none is named */
    uint64_t context;
    uint64_t levels;
    double percent_limit;
    struct td_opt_list dirs;
    bool assembly;
    const char *syntax;
};

static int make_request(const struct td_session *session, const struct annotate_opts *o,
                        const struct td_rows *rows, char **words, struct td_places *r)
{
    for (size_t i = 0; i < rows->len && r->len < o->functions && !words[0]; i++) {
        const struct td_row *row = &rows->at[i];

        if (row->function != TD_NONE)
            td_places_add(r, row->function);
        else if (o->assembly && row->module != TD_NONE)
            td_places_add(r, td_code_unnamed(session->model, row->module));
    }
    for (; *words; words++) {
        if (!td_places_find(r, session, rows, *words)) {
            td_cmd_complain_unknown(session, rows, *words);
            return TD_EXIT_NOTHING;
        }
    }
    return TD_EXIT_OK;
}

static struct td_annotate_opts view_opts(const struct td_session *session,
                                         const struct annotate_opts *o, const struct td_places *r,
                                         const struct td_source_dirs *dirs)
{
    const char *realtime = td_model_env(session->model, TD_ENV_REALTIME_NS);
    struct td_annotate_opts opts = {.dirs = dirs,
                                    .context = (uint32_t)(o->context > 1000 ? 1000 : o->context),
                                    .from = r->file && !r->whole ? r->from : 0,
                                    .to = r->to,
                                    .percent_limit = o->percent_limit,
                                    .levels = (int)(o->levels > 3 ? 3 : o->levels)};

    if (realtime)
        td_parse_u64(realtime, &opts.recorded_ns);
    return opts;
}

static void print_text(const struct td_session *session, const struct annotate_opts *o,
                       const struct td_places *r, const struct td_sections *sections,
                       const struct td_line_notes *notes)
{
    const struct td_head head = td_session_head(session);
    const struct td_source_dirs dirs = {o->dirs.items, o->dirs.len};
    const struct td_annotate_opts opts = view_opts(session, o, r, &dirs);

    td_head_print_short(&head, &session->style);
    for (size_t i = 0; i < sections->len; i++) {
        fputc('\n', session->style.out);
        td_annotate_print(&sections->at[i], session->measure, notes ? &notes[i] : NULL, &opts,
                          &session->style);
    }
    if (td_model_habits(session->model)->len > 0) {
        td_style_begin(&session->style, TD_TONE_DIM);
        fputs("\ntdreport why FILE:LINE says why a line is slow\n", session->style.out);
        td_style_end(&session->style, TD_TONE_DIM);
    }
}

static int show_code(struct td_session *session, const struct annotate_opts *o,
                     const struct td_places *r, const char *why);

/* Not one line of source is known of what was asked for. */
static bool has_no_lines(const struct td_sections *sections)
{
    size_t lines = 0;

    for (size_t i = 0; i < sections->len; i++)
        lines += sections->at[i].len;
    return sections->len > 0 && lines == 0;
}

static int show_lines(struct td_session *session, const struct annotate_opts *o,
                      const struct td_places *r)
{
    const bool no_inline = session->opts->no_inline;
    struct td_sections sections = {.at = NULL};
    struct td_line_notes *notes = NULL;
    struct td_code_text text = td_code_text_init(session->model, TD_SYNTAX_ATT);
    int exit_code = TD_EXIT_NOTHING;

    if (r->file)
        td_sections_of_file(&sections, session->measure, r->file, r->from, r->to, no_inline);
    else
        td_sections_of_functions(&sections, session->measure, r->functions, r->len, no_inline);
    if (sections.len == 0 && r->file) {
        char *near = td_near_lines(session, r);

        td_complain("nothing was sampled there: %s", near);
        free(near);
        goto out;
    }
    if (sections.len == 0) {
        td_complain(r->len > 0
                        ? "nothing was sampled there"
                        : "no sampled code has a name or lines: tdreport modules says where it "
                          "is, tdreport annotate --asm MODULE shows its instructions");
        goto out;
    }
    if (!r->file && !session->opts->json && has_no_lines(&sections)) {
        td_sections_release(&sections);
        td_code_text_release(&text);
        return show_code(session, o, r,
                         "no line of source is known of it (compile with -g): these are its "
                         "instructions");
    }
    notes = td_why_notes_of(session->measure, session->measure,
                            &(struct td_loop_words){session->model, td_code_text_of, &text},
                            &sections, 0);
    td_session_begin_output(session);
    if (session->opts->json) {
        struct td_json json = td_json_init(stdout, 2);

        td_report_json_begin(&json, session->measure, &session->coverage);
        td_report_json_sections(&json, session->measure, &sections, notes);
        td_json_end(&json);
    } else {
        print_text(session, o, r, &sections, notes);
    }
    exit_code = td_session_end_output(session);
out:
    td_why_notes_free(notes, sections.len);
    td_code_text_release(&text);
    td_sections_release(&sections);
    return exit_code;
}

/* The parts that are worth a listing: of each function the hottest few containers. */
static size_t keep_parts(struct td_code_parts *parts, enum td_metric primary)
{
    size_t kept = 0, of_function = 0;
    uint64_t hottest = 0;

    for (size_t i = 0; i < parts->len; i++) {
        const struct td_code_part part = parts->at[i];

        if (i == 0 || part.function != parts->at[kept - 1].function ||
            part.module != parts->at[kept - 1].module) {
            of_function = 0;
            hottest = part.values[primary];
        }
        if (of_function++ >= PARTS_MAX || part.values[primary] < hottest / 20)
            continue;
        parts->at[i] = parts->at[kept];
        parts->at[kept++] = part;
    }
    return kept;
}

static void print_listings(const struct td_session *session, const struct annotate_opts *o,
                           const struct td_places *r, const struct td_listing *listings,
                           size_t count, size_t left_out, const char *why)
{
    const struct td_head head = td_session_head(session);
    const struct td_source_dirs dirs = {o->dirs.items, o->dirs.len};
    const struct td_annotate_opts opts = view_opts(session, o, r, &dirs);

    td_head_print_short(&head, &session->style);
    if (why)
        td_margin_note(&session->style, why);
    if (session->measure->attribution == TD_ATTRIBUTION_NONE)
        td_margin_note(&session->style, "an instruction that takes long often shows at the one "
                                        "after it: a sample is where the program goes on");
    for (size_t i = 0; i < count; i++) {
        fputc('\n', session->style.out);
        td_asm_print(&listings[i], session->measure, &opts, &session->style);
    }
    if (left_out > 0) {
        td_style_begin(&session->style, TD_TONE_DIM);
        fprintf(session->style.out, "\n%s inlined into %zu more functions (--json has all)\n",
                td_style_ellipsis(&session->style), left_out);
        td_style_end(&session->style, TD_TONE_DIM);
    }
}

/* `why` instructions are shown that were not asked for; NULL: they were. */
static int show_code(struct td_session *session, const struct annotate_opts *o,
                     const struct td_places *r, const char *why)
{
    const enum td_syntax syntax = td_syntax_by_name(o->syntax);
    struct td_code_parts parts = {.at = NULL};
    struct td_listing *listings = NULL;
    size_t count = 0;
    int exit_code = TD_EXIT_NOTHING;

    if (r->file)
        td_code_of_lines(&parts, session->measure, r->file, r->from, r->to);
    else
        td_code_of_functions(&parts, session->measure, r->functions, r->len);
    if (parts.len == 0) {
        td_complain("nothing was sampled there");
        goto out;
    }
    count =
        session->opts->json ? parts.len : keep_parts(&parts, td_measure_primary(session->measure));
    listings = td_xcalloc(count, sizeof(*listings));
    for (size_t i = 0; i < count; i++)
        td_listing_init(&listings[i], session->model, &parts.at[i], syntax);
    td_session_symbolize_more(session);
    td_session_begin_output(session);
    if (session->opts->json) {
        struct td_json json = td_json_init(stdout, 2);

        td_report_json_begin(&json, session->measure, &session->coverage);
        td_asm_json(&json, session->measure, listings, count);
        td_json_end(&json);
    } else {
        print_listings(session, o, r, listings, count, parts.len - count, why);
    }
    exit_code = td_session_end_output(session);
out:
    for (size_t i = 0; i < count; i++)
        td_listing_release(&listings[i]);
    free(listings);
    td_code_parts_release(&parts);
    return exit_code;
}

static int show(struct td_session *session, const struct annotate_opts *o, char **words)
{
    struct td_places r = {.functions = NULL};
    struct td_rows rows;

    td_rows_init(&rows, session->measure, TD_ROWS_FUNCTIONS, session->opts->no_inline);
    int exit_code = make_request(session, o, &rows, words, &r);
    if (exit_code == TD_EXIT_OK)
        exit_code = o->assembly ? show_code(session, o, &r, NULL)
                    : r.unnamed
                        ? show_code(session, o, &r,
                                    "the code has no names or lines: these are its instructions")
                        : show_lines(session, o, &r);
    td_rows_release(&rows);
    td_places_release(&r);
    return exit_code;
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    struct annotate_opts o = {.functions = HOTTEST_COUNT,
                              .context = 3,
                              .levels = 0,
                              .percent_limit = -1,
                              .syntax = "att"};
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_U64, 'n', "functions", "N", "without a name: the N hottest functions (3)",
         &o.functions},
        {TD_OPT_U64, 0, "context", "N",
         "lines, or instructions, around one that costs something (3)", &o.context},
        {TD_OPT_U64, 0, "level", "N",
         "a column for each high category down to level N (else one, in words)", &o.levels},
        {TD_OPT_DOUBLE, 0, "percent-limit", "P", "leave out lines below P percent of all",
         &o.percent_limit},
        {TD_OPT_FLAG, 0, "asm", NULL, "instructions, below the source lines they are of",
         &o.assembly},
        {TD_OPT_STRING, 'M', "disassembler-style", "STYLE", "of --asm: att (default) or intel",
         &o.syntax},
        {TD_OPT_LIST, 0, "source-dir", "DIR", "look for source files under DIR first", &o.dirs},
        TD_OPT_COMMON_JSON(common),
        TD_OPT_COMMON_REPORT(common),
        TD_OPT_END,
    };
    struct td_session session = {.opts = NULL};
    int exit_code = TD_EXIT_OK;
    const int used = td_cmd_parse(cmd, common, table, argc, argv, &exit_code);

    if (used < 0)
        goto out;
    td_cmd_take_profile(common, used, &argc, argv);
    if (!td_cmd_check_syntax(o.syntax) || !td_cmd_check_level("--level", o.levels)) {
        exit_code = TD_EXIT_USAGE;
        goto out;
    }
    exit_code = td_session_open(&session, common, (struct td_session_needs){.samples = false});
    if (exit_code == TD_EXIT_OK && o.levels > 0 && !session.measure->values[TD_METRIC_SLOTS]) {
        td_complain("--level: this profile has no categories (tdrec --source sim, or a PMU, has)");
        exit_code = TD_EXIT_USAGE;
    }
    if (exit_code == TD_EXIT_OK)
        exit_code = show(&session, &o, argv + used);
    td_session_release(&session);
out:
    td_opt_list_release(&o.dirs);
    return exit_code;
}

const struct td_cmd td_cmd_annotate = {
    .name = "annotate",
    .args = "[FUNCTION | FILE[:LINE[-LINE]]]… [options]",
    .about = "source lines, or instructions, with what they cost beside them",
    .run = run,
};
