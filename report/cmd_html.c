/* SPDX-License-Identifier: MIT */
/* One page with all of a profile, to be sent to others. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/version.h"
#include "formats/notes.h"
#include "report/cmd.h"
#include "report/code_text.h"
#include "report/query/figures/known.h"
#include "report/query/figures/weights.h"
#include "report/view/diff/diff.h"
#include "report/view/head.h"
#include "report/view/model/why_notes.h"
#include "report/view/page/page.h"
#include "report/view/tree.h"
#include "report/view/verdict.h"

#define DEFAULT_OUTPUT "report.html"
#define PAGE_BYTES     1000000 /* what a page should take; the last step takes less in any case */
#define TEXT_WIDTH     100
#define TEXT_ROWS      10
#define SOURCES        24
#define NOTE_LEAST     0.01 /* of all slots: lines that a sentence is made of */

struct html_opts {
    const char *output;
    const char *old; /* the profile to compare with; NULL: none */
    struct td_opt_list dirs;
    bool no_source;
};

/* How much is put on the page: less and less, until it is small enough to be sent. */
static const struct step {
    size_t stacks;
    struct td_page_limits limits;
} steps[] = {
    {20000, {1000, SOURCES, 400}}, {10000, {500, SOURCES, 200}}, {5000, {300, 16, 100}},
    {2000, {150, 8, 100}},         {500, {50, 4, 50}},           {50, {10, 1, 10}},
};

/* What flame graphs are of. */
static const struct td_session_needs whole = {.metrics = TD_METRICS_ALL};

/* The profile that the page's is compared with. */
struct compared {
    struct td_common_opts opts;
    struct td_session session;
    struct td_measure *exported;
    struct td_stacks stacks;
    struct td_diff diff;
    bool is_made;
    struct td_page_diff page;
};

/* Everything that a page is made of. */
struct making {
    struct td_session *session;
    struct compared old;
    struct td_page page;
    struct td_page_extras extras;
    struct td_measure *exported, *by_sample;
    struct td_source_dirs dirs;
    struct td_listing *listings;
    struct td_line_notes *notes;
    char *next, *title, *text;
};

/* What a browser without scripts shows: head, comparison, verdict and tree, as in a terminal. */
static char *plain_text(const struct making *m)
{
    const struct td_head head = td_session_head(m->session);
    const struct td_measure *measure = m->session->measure;
    char *text = NULL;
    size_t size = 0;
    const struct td_style style = {
        .out = td_xmemstream(&text, &size), .width = TEXT_WIDTH, .utf8 = true};

    td_head_print(&head, &style);
    fputc('\n', style.out);
    if (m->old.is_made) {
        td_diff_print(&m->old.diff, &(struct td_diff_view){.unit = TD_DIFF_COST, .rows = TEXT_ROWS},
                      &style);
        fputc('\n', style.out);
    }
    td_verdict_print(&m->page.verdict, measure, m->next, 0, &style);
    if (m->page.tree.len > 0) {
        fputc('\n', style.out);
        td_tree_print(&m->page.tree, td_measure_is_modelled(measure) ? "modelled slots" : "slots",
                      td_measure_categorized_ns(measure), &style);
    }
    fputc('\n', style.out);
    td_head_print_details(&head, &style);
    td_notes_print(m->exported, &style);
    fclose(style.out);
    return text;
}

static void make_listings(struct making *m)
{
    const struct td_code_parts *parts = &m->page.code;

    m->listings = td_xcalloc(parts->len + 1, sizeof(*m->listings));
    for (size_t i = 0; i < parts->len; i++)
        td_listing_init(&m->listings[i], m->session->model, &parts->at[i], TD_SYNTAX_ATT);
    if (parts->len > 0)
        td_session_symbolize_more(m->session);
    m->extras.listings = m->listings;
}

/* Why the lines are slow that a page's reader looks at first. */
static void make_notes(struct making *m)
{
    const struct td_model *model = m->session->model;
    struct td_code_text text = td_code_text_init(model, TD_SYNTAX_ATT);

    m->notes = td_why_notes_of(m->session->measure, m->exported,
                               &(struct td_loop_words){model, td_code_text_of, &text},
                               &m->page.sections, NOTE_LEAST);
    m->extras.notes = m->notes;
    td_code_text_release(&text);
}

static int prepare(struct making *m, const struct html_opts *o, struct td_err *err)
{
    const struct td_session *session = m->session;
    const struct td_model *model = session->model;
    const char *realtime = td_model_env(model, TD_ENV_REALTIME_NS);
    int rc = td_session_measure_again(session, whole, &m->exported, err);

    if (rc == TD_OK && td_model_sample_count(model) > 0)
        rc = td_session_measure_again(session, (struct td_session_needs){.samples = true},
                                      &m->by_sample, err);
    if (rc < 0)
        return rc;
    td_page_of(&m->page, &(struct td_page_measures){session->measure, m->exported, m->by_sample},
               session->opts->no_inline, SOURCES);
    m->next = td_session_next(session, &m->page.verdict);
    m->title = td_notes_command(model);
    m->dirs = (struct td_source_dirs){o->dirs.items, o->dirs.len};
    m->extras = (struct td_page_extras){.coverage = &session->coverage,
                                        .dirs = o->no_source ? NULL : &m->dirs,
                                        .next = m->next,
                                        .tool = "tdreport " TD_VERSION,
                                        .filter = session->filter_text,
                                        .kept_share = session->kept_share};
    if (realtime)
        td_parse_u64(realtime, &m->extras.recorded_ns);
    make_notes(m);
    make_listings(m);
    return TD_OK;
}

/* Opens the other profile, under the same filters, and compares; an exit code. */
static int compare(struct making *m, const struct html_opts *o)
{
    struct compared *old = &m->old;
    const struct td_session *session = m->session;
    const struct td_measure *now = session->measure, *before = NULL;
    struct td_err err = TD_ERR_INIT;

    old->opts = *session->opts;
    old->opts.input = o->old;
    int rc = td_session_open(&old->session, &old->opts,
                             (struct td_session_needs){.stacks = true, .by_leaf = true});
    if (rc != TD_EXIT_OK)
        return rc;
    before = old->session.measure;
    const struct td_diff_side sides[] = {
        {.name = o->old, .runs = &before, .run_count = 1},
        {.name = session->opts->input ? session->opts->input : "profile.td",
         .runs = &now,
         .run_count = 1}};
    const struct td_diff_opts opts = {.no_inline = session->opts->no_inline};
    rc = td_diff_init(&old->diff, sides, TD_ARRAY_SIZE(sides), &opts, &err);
    old->is_made = rc == TD_OK;
    if (rc == TD_OK)
        rc = td_session_measure_again(&old->session, whole, &old->exported, &err);
    if (rc < 0) {
        td_complain("%s", err.text);
        return rc == TD_EMISMATCH ? TD_EXIT_USAGE : td_exit_of((enum td_code)rc);
    }
    td_known_only(old->exported, session->opts->no_inline);
    td_stacks_init(&old->stacks, old->exported, session->opts->no_inline);
    old->page = (struct td_page_diff){.diff = &old->diff, .old_stacks = &old->stacks};
    m->extras.diff = &old->page;
    return TD_EXIT_OK;
}

static void release_compared(struct compared *old)
{
    if (old->is_made)
        td_diff_release(&old->diff);
    td_stacks_release(&old->stacks);
    td_measure_free(old->exported);
    td_session_release(&old->session);
}

static void put_page(struct making *m, const struct td_page_limits *limits, struct td_buf *out)
{
    char *data = NULL;
    size_t size = 0;
    struct td_json json = td_json_init(td_xmemstream(&data, &size), 0);

    td_page_json(&json, &m->page, &m->extras, limits);
    fclose(json.out);
    td_buf_clear(out);
    td_page_html(out, m->title[0] ? m->title : "profile", m->text, data, size);
    free(data);
}

static void release(struct making *m)
{
    for (size_t i = 0; m->listings && i < m->page.code.len; i++)
        td_listing_release(&m->listings[i]);
    free(m->listings);
    td_why_notes_free(m->notes, m->page.sections.len);
    release_compared(&m->old);
    td_page_release(&m->page);
    td_measure_free(m->exported);
    td_measure_free(m->by_sample);
    free(m->next);
    free(m->title);
    free(m->text);
}

/* A new file, or into what is no file: a device, a pipe. */
static int write_page(const char *path, const struct td_buf *page, bool *to_stdout,
                      struct td_err *err)
{
    struct stat st;

    *to_stdout = strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
    if (!*to_stdout)
        return td_file_replace(path, page->data, page->len, err);
    if (strcmp(path, "-") != 0 && !freopen(path, "w", stdout))
        return td_fail_errno(err, TD_EIO, errno, "cannot write %s", path);
    fwrite(page->data, 1, page->len, stdout);
    return TD_OK;
}

static int make(struct td_session *session, const struct html_opts *o)
{
    struct making m = {.session = session};
    struct td_err err = TD_ERR_INIT;
    struct td_buf page = {0};
    const char *path = o->output ? o->output : DEFAULT_OUTPUT;
    bool to_stdout = false;
    char bytes[32];
    int exit_code = TD_EXIT_OK;
    int rc = prepare(&m, o, &err);

    if (rc == TD_OK && o->old && (exit_code = compare(&m, o)) != TD_EXIT_OK)
        goto out;
    if (rc == TD_OK)
        m.text = plain_text(&m);
    for (size_t i = 0; rc == TD_OK && i < TD_ARRAY_SIZE(steps); i++) {
        td_stacks_cut(&m.page.stacks, steps[i].stacks);
        if (o->old)
            td_stacks_cut(&m.old.stacks, steps[i].stacks);
        put_page(&m, &steps[i].limits, &page);
        if (page.len <= PAGE_BYTES)
            break;
    }
    if (rc == TD_OK)
        rc = write_page(path, &page, &to_stdout, &err);
    if (rc < 0)
        td_complain("%s", err.text);
    else if (!to_stdout)
        fprintf(stderr, "tdreport: wrote %s, %s: open it in a browser\n", path,
                td_format_bytes(bytes, sizeof(bytes), page.len));
    exit_code = rc < 0 ? td_exit_of((enum td_code)rc) : td_session_end_output(session);
    if (exit_code == TD_EXIT_OK && m.old.session.status.damaged)
        exit_code = TD_EXIT_DAMAGED;
out:
    td_buf_release(&page);
    release(&m);
    return exit_code;
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    struct html_opts o = {.output = NULL};
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_STRING, 'o', "output", "FILE", "where to (report.html; - is stdout)", &o.output},
        {TD_OPT_STRING, 0, "diff", "FILE", "compare with this profile of the same work", &o.old},
        {TD_OPT_LIST, 0, "source-dir", "DIR", "look for source files under DIR first", &o.dirs},
        {TD_OPT_FLAG, 0, "no-source", NULL, "leave the text of source files out", &o.no_source},
        TD_OPT_COMMON_REPORT(common),
        TD_OPT_END,
    };
    struct td_session session = {.opts = NULL};
    int exit_code = TD_EXIT_OK;

    if (td_cmd_parse_all(cmd, common, table, argc, argv, &exit_code)) {
        exit_code = td_session_open(
            &session, common,
            (struct td_session_needs){.stacks = true, .by_leaf = true, .times = true});
        if (exit_code == TD_EXIT_OK)
            exit_code = make(&session, &o);
        td_session_release(&session);
    }
    td_opt_list_release(&o.dirs);
    return exit_code;
}

const struct td_cmd td_cmd_html = {
    .name = "html",
    .args = "[-o report.html] [options]",
    .about = "one page with the whole profile, to send to others",
    .run = run,
};
