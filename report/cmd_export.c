/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/version.h"
#include "formats/export/export.h"
#include "formats/load.h"
#include "formats/profile/from_model.h"
#include "report/cmd.h"
#include "report/profile_file.h"
#include "symbolize/stack_copies.h"

struct export_opts {
    const char *format;
    const char *output;
    const char *category;
};

static void print_formats(FILE *out)
{
    for (const struct td_exporter *const *e = td_exporters; *e; e++)
        fprintf(out, "  %-12s%s\n", (*e)->name, (*e)->about);
    fprintf(out, "  %-12s%s\n", "td", "a profile of our own: what a perf.data holds, converted");
}

static const struct td_exporter *choose_format(const char *name)
{
    const char *names[32];
    size_t len = 0;

    if (!name) {
        td_complain("name a format with --format:");
        print_formats(stderr);
        return NULL;
    }
    const struct td_exporter *exporter = td_exporter_by_name(name);
    if (exporter)
        return exporter;
    for (const struct td_exporter *const *e = td_exporters; *e && len + 1 < 32; e++)
        names[len++] = (*e)->name;
    names[len] = NULL;
    const char *near = td_nearest(name, names);
    if (near)
        td_complain("no format '%s': did you mean '%s'?", name, near);
    else
        td_complain("no format '%s'; there are:", name);
    if (!near)
        print_formats(stderr);
    return NULL;
}

/* Through a new file beside it, so that a failure leaves what was there before. */
static int write_file(const struct td_exporter *exporter, const struct td_measure *measure,
                      const struct td_export_opts *opts, const char *path, struct td_err *err)
{
    char *temporary = td_xasprintf("%s.%ld.tmp", path, (long)getpid());
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    int rc = TD_OK;

    if (!out) {
        rc = td_fail_errno(err, TD_EIO, errno, "cannot write %s", path);
        goto out;
    }
    rc = exporter->write(measure, opts, out, err);
    const bool failed = ferror(out) != 0;
    if (rc == TD_OK && (fflush(out) != 0 || failed))
        rc = td_fail_errno(err, TD_EIO, errno, "cannot write %s", path);
    fclose(out);
    if (rc == TD_OK && rename(temporary, path) != 0)
        rc = td_fail_errno(err, TD_EIO, errno, "cannot write %s", path);
    if (rc < 0)
        unlink(temporary);
out:
    free(temporary);
    return rc;
}

static bool is_special_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int export_measure(struct td_session *session, const struct td_exporter *exporter,
                          const struct export_opts *o)
{
    struct td_export_opts opts = {.metric = TD_METRIC_COUNT,
                                  .no_inline = session->opts->no_inline,
                                  .tool = "tdreport " TD_VERSION};
    const bool to_stdout = !o->output || strcmp(o->output, "-") == 0;
    struct td_err err = TD_ERR_INIT;
    int rc = TD_OK;

    if (o->category) {
        if (td_metric_parse(&opts.metric, session->measure, o->category, TD_METRIC_SAMPLES, &err) <
            0) {
            td_complain("--category %s: %s", o->category, err.text);
            return TD_EXIT_USAGE;
        }
    }
    td_session_keep_known(session, opts.metric);
    if (to_stdout) {
        rc = exporter->write(session->measure, &opts, stdout, &err);
    } else if (is_special_file(o->output)) {
        if (!freopen(o->output, "w", stdout))
            rc = td_fail_errno(&err, TD_EIO, errno, "cannot write %s", o->output);
        else
            rc = exporter->write(session->measure, &opts, stdout, &err);
    } else {
        rc = write_file(exporter, session->measure, &opts, o->output, &err);
    }
    if (rc < 0) {
        td_complain("%s", err.text);
        return td_exit_of((enum td_code)rc);
    }
    return td_session_end_output(session);
}

static int fill_profile(void *arg, td_profile_write_fn *write, void *ctx, struct td_err *err)
{
    const struct td_profile_writer_opts opts = {.exact_times = true};

    return td_profile_write_model(arg, &opts, write, ctx, err);
}

/* A perf.data, or a profile of ours, as a profile of ours: everything that is in it, so without
 * names and filters. */
static int export_profile(const struct td_common_opts *common, const char *output)
{
    struct td_replay *replay = td_replay_new();
    const struct td_load_unwinder unwinder = td_replay_unwinder(replay);
    const struct td_load_opts opts = {.keep_samples = true, .unwinder = &unwinder};
    struct td_load_status status = {0};
    struct td_err err = TD_ERR_INIT;
    struct td_model *model = NULL;
    int rc =
        td_load_file(&model, common->input ? common->input : "profile.td", &opts, &status, &err);

    td_replay_free(replay);
    if (rc == TD_OK) {
        rc = td_profile_file_write(output ? output : "-", fill_profile, model, &err);
        td_model_free(model);
    }
    if (rc < 0) {
        td_complain("%s", err.text);
        return td_exit_of((enum td_code)rc);
    }
    if (status.damaged)
        td_complain("%s", status.damage.text);
    return status.damaged ? TD_EXIT_DAMAGED : TD_EXIT_OK;
}

static bool has_filters(const struct td_common_opts *c, const struct export_opts *o)
{
    return c->threads.len > 0 || c->processes.len > 0 || c->modules.len > 0 ||
           c->functions.len > 0 || c->regions.len > 0 || c->time || c->event || c->off_cpu ||
           c->weights || c->no_inline || o->category;
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    struct export_opts o = {.format = NULL};
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_STRING, 'f', "format", "NAME", "what to write; --format list shows the formats",
         &o.format},
        {TD_OPT_STRING, 'o', "output", "FILE", "where to (- or none: stdout)", &o.output},
        {TD_OPT_STRING, 0, "category", "NODE", "folded: the value, as in tdreport folded",
         &o.category},
        TD_OPT_COMMON_REPORT(common),
        TD_OPT_END,
    };
    struct td_session session;
    int exit_code = TD_EXIT_OK;

    if (!td_cmd_parse_all(cmd, common, table, argc, argv, &exit_code))
        return exit_code;
    if (o.format && strcmp(o.format, "list") == 0) {
        print_formats(stdout);
        return td_finish_stdout();
    }
    if (o.format && strcmp(o.format, "td") == 0 && has_filters(common, &o)) {
        td_complain(
            "--format td converts the whole profile: filters, --category, --event, --weights "
            "and --no-inline do not go with it");
        return TD_EXIT_USAGE;
    }
    if (o.format && strcmp(o.format, "td") == 0)
        return export_profile(common, o.output);
    const struct td_exporter *exporter = choose_format(o.format);
    if (!exporter)
        return TD_EXIT_USAGE;
    if (o.category && !exporter->one_value) {
        td_complain("--category goes with --format folded: %s has all values", exporter->name);
        return TD_EXIT_USAGE;
    }
    exit_code = td_session_open(&session, common,
                                (struct td_session_needs){.samples = exporter->wants_samples,
                                                          .threads = exporter->wants_threads,
                                                          .stacks = true});
    if (exit_code == TD_EXIT_OK)
        exit_code = export_measure(&session, exporter, &o);
    td_session_release(&session);
    return exit_code;
}

const struct td_cmd td_cmd_export = {
    .name = "export",
    .args = "--format NAME -o FILE [options]",
    .about = "the profile in another tool's format",
    .run = run,
};
