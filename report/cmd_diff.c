/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/cmd.h"
#include "report/diff_stacks.h"
#include "report/query/diff/diff.h"
#include "report/query/diff/gate.h"
#include "report/source.h"
#include "report/view/diff/diff.h"

#define SIDES_MAX 16

struct diff_opts {
    uint64_t rows;
    const char *unit, *work, *old_source, *source_dir;
    struct td_opt_list gates;
    bool markdown;
    const char *format, *output, *category; /* of `diff export` */
};

/* A file, open. A merge is several runs. */
struct file {
    struct td_common_opts opts;
    struct td_session session;
    char *path;
    size_t side;
};

/* A text of one side; NULL lines: not at hand. */
struct text {
    char *path;
    size_t side;
    bool known;
    struct td_match_text text;
};

struct diffing {
    const struct td_common_opts *common;
    const struct diff_opts *opts;
    struct file *files;
    size_t file_count;
    struct td_diff_side sides[SIDES_MAX];
    const char *names[SIDES_MAX];
    size_t side_count;
    struct td_measure **parts; /* of merges: a recording each */
    size_t part_count, part_cap;
    const struct td_measure **runs[SIDES_MAX];
    size_t run_caps[SIDES_MAX];
    struct text *texts;
    size_t text_count, text_cap;
};

/* Words are sides; of several files, runs of a side, with commas between. */

static void add_file(struct diffing *d, size_t side, const char *path, size_t len)
{
    struct file *file = &d->files[d->file_count++];

    file->path = td_xstrndup(path, len);
    file->opts = *d->common;
    file->opts.input = file->path;
    file->side = side;
}

static void add_side(struct diffing *d, const char *word)
{
    const size_t side = d->side_count++;

    d->names[side] = word;
    if (access(word, F_OK) == 0 || !strchr(word, ',')) {
        add_file(d, side, word, strlen(word));
        return;
    }
    for (const char *at = word; *at;) {
        const size_t len = strcspn(at, ",");

        if (len > 0)
            add_file(d, side, at, len);
        at += len + (at[len] == ',');
    }
}

static size_t count_files(int argc, char **argv)
{
    size_t count = 2; /* those taken when none is named */

    for (int i = 0; i < argc; i++) {
        count++;
        for (const char *p = argv[i]; *p; p++)
            count += *p == ',';
    }
    return count;
}

static int name_sides(struct diffing *d, int argc, char **argv)
{
    const char *newest = d->common->input ? d->common->input : "profile.td";

    if (argc > SIDES_MAX) {
        td_complain("diff compares at most %d profiles; runs of one side go with commas: "
                    "OLD1,OLD2 NEW1,NEW2",
                    SIDES_MAX);
        return TD_EXIT_USAGE;
    }
    d->files = td_xcalloc(count_files(argc, argv), sizeof(*d->files));
    if (argc == 0)
        add_side(d, "profile.td.old");
    for (int i = 0; i < argc; i++)
        add_side(d, argv[i]);
    if (argc < 2)
        add_side(d, newest);
    return TD_EXIT_OK;
}

/* "--work 1000,1200": of each side; one number is of all. */
static int parse_work(struct diffing *d)
{
    const char *at = d->opts->work;
    size_t side = 0;

    if (!at)
        return TD_EXIT_OK;
    while (side < d->side_count) {
        const size_t len = strcspn(at, ",");
        char *number = td_xstrndup(at, len);
        double value = 0;
        const bool good = td_parse_double(number, &value) && value > 0;

        free(number);
        if (!good)
            break;
        d->sides[side++].work = value;
        at += len;
        if (*at != ',')
            break;
        at++;
    }
    for (size_t rest = side; side == 1 && *at == '\0' && rest < d->side_count; rest++)
        d->sides[rest].work = d->sides[0].work;
    if (*at == '\0' && (side == 1 || side == d->side_count))
        return TD_EXIT_OK;
    td_complain("--work '%s': give one number above 0, or one for each profile: 1000,1200",
                d->opts->work);
    return TD_EXIT_USAGE;
}

static void add_run(struct diffing *d, size_t side, const struct td_measure *measure)
{
    const size_t count = d->sides[side].run_count;

    d->runs[side] =
        td_grow(d->runs[side], &d->run_caps[side], count + 1, sizeof(const struct td_measure *));
    d->runs[side][count] = measure;
    d->sides[side].runs = d->runs[side];
    d->sides[side].run_count++;
}

/* A merge's recordings, each a measure. False when it is none, or of one recording. */
static bool add_parts(struct diffing *d, const struct file *file)
{
    const struct td_model *model = file->session.model;
    struct td_filter filter = td_session_filter(&file->session);
    struct td_map seen = {.slots = NULL};
    const size_t before = d->sides[file->side].run_count;

    for (uint32_t t = 0; t < td_model_thread_count(model); t++) {
        const uint32_t origin = td_model_thread(model, t)->origin;
        struct td_measure *part = NULL;
        bool added = false;

        td_map_put(&seen, origin, 0, 0, &added);
        filter.origin = origin;
        if (origin == 0 || !added || td_measure_new(&part, model, &filter, NULL) < 0)
            continue;
        d->parts = td_grow(d->parts, &d->part_cap, d->part_count + 1, sizeof(*d->parts));
        d->parts[d->part_count++] = part;
        if (part->totals[td_measure_primary(part)] > 0)
            add_run(d, file->side, part);
    }
    td_map_release(&seen);
    return d->sides[file->side].run_count > before;
}

static int open_files(struct diffing *d)
{
    const struct td_session_needs needs = {.threads = true, .stacks = d->opts->format != NULL};

    for (size_t i = 0; i < d->file_count; i++) {
        struct file *file = &d->files[i];
        const int rc = td_session_open(&file->session, &file->opts, needs);

        if (rc != TD_EXIT_OK)
            return rc;
        if (d->opts->format || !add_parts(d, file))
            add_run(d, file->side, file->session.measure);
    }
    for (size_t s = 0; s < d->side_count; s++) {
        d->sides[s].name = d->names[s];
        if (d->sides[s].run_count == 0) {
            td_complain("'%s' names no profile", d->names[s]);
            return TD_EXIT_USAGE;
        }
    }
    return TD_EXIT_OK;
}

/* Source texts. */

static uint64_t recorded_ns(const struct diffing *d, size_t side)
{
    const char *text = td_model_env(d->sides[side].runs[0]->model, TD_ENV_REALTIME_NS);
    uint64_t ns = 0;

    return text && td_parse_u64(text, &ns) ? ns : 0;
}

/* What was compiled: where the user says it is, else a file that did not change since. */
static bool read_text(const struct diffing *d, size_t side, const char *path,
                      struct td_match_text *ret)
{
    const char *dir = side == 0 && d->opts->old_source ? d->opts->old_source : d->opts->source_dir;
    const struct td_source_dirs dirs = {.at = &dir, .len = dir != NULL};
    const bool told = dir && (side > 0 || d->opts->old_source);
    struct td_source source;

    if (td_source_read(&source, path, &dirs, NULL) < 0)
        return false;
    const bool good = told || (recorded_ns(d, side) && source.changed_ns <= recorded_ns(d, side));
    if (good)
        *ret = td_match_text_of((const char *)source.text.data, source.text.len);
    td_source_release(&source);
    return good;
}

static const struct td_match_text *text_of(void *ctx, size_t side, const char *path)
{
    struct diffing *d = ctx;

    for (size_t i = 0; i < d->text_count; i++) {
        if (d->texts[i].side == side && strcmp(d->texts[i].path, path) == 0)
            return d->texts[i].known ? &d->texts[i].text : NULL;
    }
    /* The caller holds two of them at a time: none may move. */
    if (d->text_count == d->text_cap)
        return NULL;
    struct text *text = &d->texts[d->text_count++];
    *text = (struct text){.path = td_xstrdup(path), .side = side};
    text->known = read_text(d, side, path, &text->text);
    return text->known ? &text->text : NULL;
}

#define TEXTS_MAX 4096 /* files of all sides; more are matched by distance */

/* Gates. */

/* No limit holds for a command that was cut short. */
static int check_endings(const struct diffing *d, const struct td_diff *diff)
{
    if (d->opts->gates.len == 0)
        return TD_EXIT_OK;
    for (size_t i = 0; i < diff->unlike_count; i++)
        td_complain("--fail-if failed: %s", diff->notes[i]);
    return diff->unlike_count > 0 ? TD_EXIT_GATE : TD_EXIT_OK;
}

static int check_gates(const struct diffing *d, const struct td_diff *diff,
                       const struct td_style *style)
{
    int exit_code = check_endings(d, diff);

    for (size_t i = 0; i < d->opts->gates.len; i++) {
        const char *text = d->opts->gates.items[i];
        struct td_gate_result result;
        struct td_gate gate;
        struct td_err err = TD_ERR_INIT;

        if (td_gate_parse(&gate, text, &err) < 0) {
            td_complain("--fail-if: %s", err.text);
            return TD_EXIT_USAGE;
        }
        const int rc = td_gate_check(&result, &gate, diff, &err);
        char *words =
            rc < 0 ? NULL
                   : td_diff_gate_words(diff, text, &gate, &result, td_style_plus_minus(style));
        if (rc < 0)
            td_complain("--fail-if: %s", err.text);
        else if (words)
            td_complain("%s", words);
        free(words);
        td_gate_release(&gate);
        if (rc < 0)
            return TD_EXIT_USAGE;
        if (result.failed)
            exit_code = TD_EXIT_GATE;
    }
    return exit_code;
}

/* A mistake in an expression is told before profiles are read. */
static int parse_gates(const struct diff_opts *o)
{
    for (size_t i = 0; i < o->gates.len; i++) {
        struct td_gate gate;
        struct td_err err = TD_ERR_INIT;

        if (td_gate_parse(&gate, o->gates.items[i], &err) < 0) {
            td_complain("--fail-if: %s", err.text);
            return TD_EXIT_USAGE;
        }
        td_gate_release(&gate);
    }
    return TD_EXIT_OK;
}

static int parse_unit(const struct diff_opts *o, enum td_diff_unit *ret)
{
    *ret = o->unit && strcmp(o->unit, "slots") == 0 ? TD_DIFF_SLOTS : TD_DIFF_COST;
    if (!o->unit || *ret == TD_DIFF_SLOTS || strcmp(o->unit, "time") == 0)
        return TD_EXIT_OK;
    td_complain("--unit '%s': there are time and slots", o->unit);
    return TD_EXIT_USAGE;
}

static int end_output(struct diffing *d, int exit_code)
{
    for (size_t i = 0; i < d->file_count; i++) {
        const int rc = td_session_end_output(&d->files[i].session);

        exit_code = rc == TD_EXIT_OK || exit_code == TD_EXIT_USAGE ? exit_code : rc;
    }
    return exit_code;
}

static int show(struct diffing *d, enum td_diff_unit unit)
{
    const struct td_diff_texts texts = {.text = text_of, .ctx = d};
    const struct td_diff_opts opts = {.no_inline = d->common->no_inline, .texts = &texts};
    struct td_diff_view view = {.unit = unit, .rows = d->opts->rows};
    struct td_session *first = &d->files[0].session;
    struct td_err err = TD_ERR_INIT;
    struct td_diff diff;

    d->text_cap = TEXTS_MAX;
    d->texts = td_xcalloc(d->text_cap, sizeof(*d->texts));
    if (td_diff_init(&diff, d->sides, d->side_count, &opts, &err) < 0) {
        td_complain("%s", err.text);
        return TD_EXIT_USAGE;
    }
    if (unit == TD_DIFF_SLOTS && !diff.has_slots) {
        td_complain("--unit slots: not all of these profiles have slots");
        td_diff_release(&diff);
        return TD_EXIT_USAGE;
    }
    td_session_begin_output(first);
    if (d->common->json)
        td_diff_json(&diff, stdout);
    else if (d->opts->markdown)
        td_diff_markdown(&diff, &view, stdout);
    else
        td_diff_print(&diff, &view, &first->style);
    const int exit_code = end_output(d, check_gates(d, &diff, &first->style));
    td_diff_release(&diff);
    return exit_code;
}

static int export_stacks(struct diffing *d)
{
    const struct td_diff_stacks_opts opts = {.format = d->opts->format,
                                             .category = d->opts->category,
                                             .output = d->opts->output,
                                             .no_inline = d->common->no_inline};
    struct td_err err = TD_ERR_INIT;

    if (td_diff_stacks_write(d->sides, d->side_count, &opts, &err) < 0) {
        td_complain("%s", err.text);
        return err.code == TD_EMISMATCH || err.code == TD_EUSAGE
                   ? TD_EXIT_USAGE
                   : td_exit_of((enum td_code)err.code);
    }
    return end_output(d, TD_EXIT_OK);
}

static void release(struct diffing *d)
{
    for (size_t i = 0; i < d->part_count; i++)
        td_measure_free(d->parts[i]);
    free(d->parts);
    for (size_t s = 0; s < d->side_count; s++)
        free(d->runs[s]);
    for (size_t i = 0; i < d->file_count; i++) {
        td_session_release(&d->files[i].session);
        free(d->files[i].path);
    }
    free(d->files);
    for (size_t i = 0; i < d->text_count; i++) {
        free(d->texts[i].text.lines);
        free(d->texts[i].path);
    }
    free(d->texts);
}

static int compare(const struct td_common_opts *common, const struct diff_opts *o, int argc,
                   char **argv)
{
    struct diffing d = {.common = common, .opts = o};
    enum td_diff_unit unit = TD_DIFF_COST;
    int rc = parse_gates(o);

    rc = rc ? rc : parse_unit(o, &unit);
    rc = rc ? rc : name_sides(&d, argc, argv);
    rc = rc ? rc : parse_work(&d);
    rc = rc ? rc : open_files(&d);
    if (rc == TD_EXIT_OK)
        rc = o->format ? export_stacks(&d) : show(&d, unit);
    release(&d);
    return rc;
}

/* `diff export`: other options, so another table. */
static int run_export(const struct td_cmd *cmd, struct td_common_opts *common, int argc,
                      char **argv)
{
    struct diff_opts o = {.format = NULL};
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options of diff export", NULL},
        {TD_OPT_STRING, 'f', "format", "NAME", "folded (two columns, for difffolded) or speedscope",
         &o.format},
        {TD_OPT_STRING, 'o', "output", "FILE", "where to (- or none: stdout)", &o.output},
        {TD_OPT_STRING, 0, "category", "NODE",
         "of the slots lost to it; also: time, slots, samples", &o.category},
        TD_OPT_COMMON_REPORT(common),
        TD_OPT_END,
    };
    int exit_code = TD_EXIT_OK;
    const int first = td_cmd_parse(cmd, common, table, argc, argv, &exit_code);

    if (first < 0)
        return exit_code;
    o.format = o.format ? o.format : "folded";
    return compare(common, &o, argc - first, argv + first);
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    struct diff_opts o = {.rows = 20};
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_LIST, 0, "fail-if", "EXPR",
         "exit 1 where it holds beyond its error: 'total > +2 %'", &o.gates},
        {TD_OPT_LIST, 0, "fail-on", "EXPR", "the same", &o.gates},
        {TD_OPT_U64, 'n', "rows", "N", "at most N functions and N lines (20); 0: all", &o.rows},
        {TD_OPT_STRING, 0, "unit", "UNIT", "of the tables: time (default) or slots", &o.unit},
        {TD_OPT_STRING, 0, "work", "N[,N...]",
         "units of work that each run did: figures are of one", &o.work},
        {TD_OPT_STRING, 0, "old-source", "DIR", "the source that OLD was built from",
         &o.old_source},
        {TD_OPT_STRING, 0, "source-dir", "DIR", "the source of the others, where it is now",
         &o.source_dir},
        {TD_OPT_FLAG, 0, "markdown", NULL, "a table for a pull request", &o.markdown},
        {TD_OPT_FLAG, 0, "json", NULL, "the same as JSON (schema tdreport-diff/1)", &common->json},
        TD_OPT_COMMON_REPORT(common),
        TD_OPT_END,
    };
    int exit_code = TD_EXIT_OK;

    if (argc > 1 && strcmp(argv[1], "export") == 0)
        return run_export(cmd, common, argc - 1, argv + 1);
    const int first = td_cmd_parse(cmd, common, table, argc, argv, &exit_code);
    if (first >= 0)
        exit_code = compare(common, &o, argc - first, argv + first);
    td_opt_list_release(&o.gates);
    return exit_code;
}

const struct td_cmd td_cmd_diff = {
    .name = "diff",
    .args = "[export] [OLD [NEW [NEW2...]]] [options]",
    .about = "what changed from one profile to another, and if it is more than chance",
    .run = run,
};
