/* SPDX-License-Identifier: MIT */
#include "report/session.h"

#include <errno.h>
#include <langinfo.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/pager.h"
#include "base/text.h"
#include "formats/overlay.h"
#include "report/query/figures/known.h"
#include "report/attribution/stats.h"
#include "symbolize/debian.h"
#include "symbolize/stack_copies.h"
#include "symbolize/symbolize.h"
#include "report/near.h"
#include "report/query/figures/machine.h"
#include "report/view/verdict.h"

#define DEFAULT_INPUT "profile.td"
#define WIDTH_PIPE    100
#define PACKAGES_MAX  6     /* modules whose package is named */
#define PACKAGE_FIRST 0.5   /* so much without a name: names come before all else */
#define PACKAGE_SHARE 0.005 /* of what is reported: as the notes */
#define WIDTH_MIN     40
#define WIDTH_MAX     1000

void td_common_opts_release(struct td_common_opts *opts)
{
    td_opt_list_release(&opts->threads);
    td_opt_list_release(&opts->processes);
    td_opt_list_release(&opts->modules);
    td_opt_list_release(&opts->functions);
    td_opt_list_release(&opts->regions);
}

void td_complain(const char *format, ...)
{
    char text[2048], safe[4096];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    td_text_safe(safe, sizeof(safe), text, strlen(text));
    fflush(stdout);
    fprintf(stderr, "tdreport: %s\n", safe);
}

void td_complain_no_function(const char *pattern, const char *near)
{
    if (strcmp(pattern, "[unknown]") == 0)
        td_complain("%s is all code without a name: tdreport modules says where it is, tdreport "
                    "annotate --asm MODULE shows its instructions",
                    pattern);
    else if (near)
        td_complain("no function '%s' in this profile: did you mean '%s'?", pattern, near);
    else
        td_complain("no function '%s' in this profile (tdreport functions lists them)", pattern);
}

int td_exit_of(enum td_code code)
{
    switch (code) {
    case TD_OK: return TD_EXIT_OK;
    case TD_ENODATA: return TD_EXIT_NOTHING;
    case TD_EUSAGE:
    case TD_ENOENT:
    case TD_EPERM:
    case TD_EUNSUPPORTED: return TD_EXIT_USAGE;
    case TD_EIO:
    case TD_EFORMAT:
    case TD_EVERSION:
    case TD_ENOMEM:
    case TD_ELIMIT:
    case TD_EMISMATCH:
    case TD_EBUG: break;
    }
    return TD_EXIT_DAMAGED;
}

int td_finish_stdout(void)
{
    const bool failed = ferror(stdout) != 0;

    if (fflush(stdout) == 0 && !failed)
        return TD_EXIT_OK;
    if (errno == EPIPE) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
        _exit(128 + SIGPIPE);
    }
    td_complain("cannot write the result: %s", strerror(errno ? errno : EIO));
    return TD_EXIT_DAMAGED;
}

/* Progress while symbolizing: from the first second on, at most five times a second. */
struct progress {
    const struct td_session_watch *watch; /* told instead, each time; NULL: stderr */
    struct timespec begun, last;
    bool terminal;
    bool shown;
};

static double seconds_between(const struct timespec *from, const struct timespec *to)
{
    return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) * 1e-9;
}

static void show_progress(void *ctx, size_t done, size_t total, const char *module)
{
    struct progress *p = ctx;
    struct timespec now;
    char name[64];

    if (p->watch) {
        if (p->watch->naming)
            p->watch->naming(p->watch->ctx, done, total);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (seconds_between(&p->begun, &now) < 1 || seconds_between(&p->last, &now) < 0.2 ||
        (!p->terminal && p->shown))
        return;
    p->last = now;
    p->shown = true;
    const char *slash = module ? strrchr(module, '/') : NULL;
    module = slash ? slash + 1 : module;
    td_text_safe(name, sizeof(name), module ? module : "", module ? strlen(module) : 0);
    if (p->terminal)
        fprintf(stderr, "\r\033[Ktdreport: names and lines: %zu of %zu addresses  %s", done, total,
                name);
    else
        fprintf(stderr, "tdreport: finding names and lines of %zu addresses\n", total);
    fflush(stderr);
}

static int symbolize(struct td_session *session, struct td_err *err)
{
    const struct td_common_opts *o = session->opts;
    const char *const dirs[] = {o->debug_dir, NULL};
    struct progress progress = {.watch = session->needs.watch, .terminal = isatty(STDERR_FILENO)};
    const struct td_symbolizer_opts opts = {.cache_dir = o->no_cache ? "" : NULL,
                                            .debug_dirs = o->debug_dir ? dirs : NULL,
                                            .kallsyms = o->kallsyms,
                                            .debuginfod = o->debuginfod,
                                            .progress = show_progress,
                                            .progress_ctx = &progress};

    clock_gettime(CLOCK_MONOTONIC, &progress.begun);
    struct td_symbolizer *symbolizer = td_symbolizer_new(&opts);
    const int rc = td_symbolizer_resolve(symbolizer, session->model, err);
    if (!session->needs.quiet && td_symbolizer_no_cache(symbolizer))
        td_complain("names are not kept for the next report: %s",
                    td_symbolizer_no_cache(symbolizer));
    td_symbolizer_free(symbolizer);
    if (progress.terminal && progress.shown)
        fputs("\r\033[K", stderr);
    return rc;
}

/* "1.5", "1.5s", "200ms", "30us", "7ns"; seconds without a unit. */
static bool parse_time(const char *text, size_t len, uint64_t *ret_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"s", 1e9}, {"", 1e9}};
    char number[32];
    double value = 0;

    for (size_t i = 0; i < TD_ARRAY_SIZE(units); i++) {
        const size_t unit = strlen(units[i].name);

        if (len <= unit || len - unit >= sizeof(number) ||
            strncmp(text + len - unit, units[i].name, unit) != 0)
            continue;
        memcpy(number, text, len - unit);
        number[len - unit] = '\0';
        if (!td_parse_double(number, &value) || value < 0 || value * units[i].ns > 9e18)
            continue;
        *ret_ns = (uint64_t)(value * units[i].ns + 0.5);
        return true;
    }
    return false;
}

static int parse_time_range(const char *text, struct td_load_opts *opts, struct td_err *err)
{
    const char *dots = strstr(text, "..");

    if (!dots || (dots == text && dots[2] == '\0') ||
        (dots > text && !parse_time(text, (size_t)(dots - text), &opts->from_ns)) ||
        (dots[2] && !parse_time(dots + 2, strlen(dots + 2), &opts->to_ns)))
        return td_fail(err, TD_EUSAGE, "--time '%s' is not A..B, as in 1.5..3 or 200ms..", text);
    if (dots[2] && opts->to_ns <= opts->from_ns)
        return td_fail(err, TD_EUSAGE, "--time %s ends before it begins", text);
    return TD_OK;
}

static bool tell_reading(void *ctx, uint64_t done, uint64_t total)
{
    struct td_session *session = ctx;
    const struct td_session_watch *watch = session->needs.watch;

    session->stopped = session->stopped || watch->reading(watch->ctx, done, total);
    return session->stopped;
}

static int load(struct td_session *session, struct td_session_needs needs, struct td_err *err)
{
    const char *input = session->opts->input ? session->opts->input : DEFAULT_INPUT;
    struct td_replay *replay = td_replay_new();
    const struct td_load_unwinder unwinder = td_replay_unwinder(replay);
    struct td_load_opts opts = {.keep_samples = needs.samples || needs.times,
                                .keep_slots = true,
                                .leaves_only = !needs.stacks,
                                .by_program = !needs.threads && session->opts->threads.len == 0 &&
                                              session->opts->processes.len == 0,
                                .unwinder = &unwinder,
                                .progress =
                                    needs.watch && needs.watch->reading ? tell_reading : NULL,
                                .progress_ctx = session};
    int rc = TD_EUSAGE;

    if (!session->opts->time || parse_time_range(session->opts->time, &opts, err) == TD_OK)
        rc = td_load_file(&session->model, input, &opts, &session->status, err);
    td_replay_free(replay);
    if (rc == TD_ENOENT && !session->opts->input)
        return td_fail(err, TD_ENOENT,
                       "no " DEFAULT_INPUT " here: run 'tdrec ./app' first, or name a profile "
                       "with -i FILE");
    return rc;
}

/* A clock profile beside a modelled one: their join is measured (report/query/figures/weights.h).
 */
static int load_weights(struct td_session *session, struct td_session_needs needs,
                        struct td_err *err)
{
    const char *path = session->opts->weights;
    struct td_load_opts opts = {.keep_samples = needs.samples, .leaves_only = !needs.stacks};
    struct td_load_status status = {.damaged = false};
    struct td_model *model = NULL;
    int rc = TD_OK;

    if (!path)
        return TD_OK;
    if (td_model_group_count(session->model) == 0 ||
        td_model_group(session->model, 0)->role != TD_ROLE_MODEL)
        return td_fail(err, TD_EUSAGE,
                       "--weights goes with a modelled profile (tdrec --source sim) as -i FILE");
    if (session->opts->time)
        rc = parse_time_range(session->opts->time, &opts, err);
    if (rc == TD_OK)
        rc = td_load_file(&model, path, &opts, &status, err);
    if (rc == TD_OK) {
        td_overlay_compare(session->model, model);
        rc = td_overlay_add(session->model, model, TD_ROLE_TIME, err);
        if (rc < 0)
            td_err_prefix(err, "--weights %s", path);
    }
    if (rc == TD_OK && status.damaged) {
        if (!needs.quiet)
            td_complain("%s: %s", path, status.damage.text);
        session->status.damaged = true;
    }
    td_model_free(model);
    return rc;
}

static struct td_filter make_filter(const struct td_common_opts *o, struct td_session_needs needs)
{
    return (struct td_filter){.threads = {o->threads.items, o->threads.len},
                              .processes = {o->processes.items, o->processes.len},
                              .modules = {o->modules.items, o->modules.len},
                              .functions = {o->functions.items, o->functions.len},
                              .regions = {o->regions.items, o->regions.len},
                              .event = o->off_cpu ? TD_OFF_CPU_EVENT : o->event,
                              .no_inline = o->no_inline,
                              .by_sample = needs.samples,
                              .by_leaf = needs.by_leaf,
                              .metrics = needs.metrics};
}

static void print_list(FILE *out, const char *what, const struct td_opt_list *list)
{
    for (size_t i = 0; i < list->len; i++)
        fprintf(out, "%s%s %s", ftell(out) > 0 ? (i ? " or " : ", ") : "", what, list->items[i]);
}

/* The filters in words, for the head of the report; NULL when there is none. */
static char *describe_filter(const struct td_common_opts *o)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = td_xmemstream(&text, &size);

    print_list(out, "thread", &o->threads);
    print_list(out, "process", &o->processes);
    print_list(out, "module", &o->modules);
    print_list(out, "function", &o->functions);
    print_list(out, "region", &o->regions);
    if (o->time)
        fprintf(out, "%stime %s", ftell(out) > 0 ? ", " : "", o->time);
    fclose(out);
    if (size > 0)
        return text;
    free(text);
    return NULL;
}

static unsigned choose_width(const struct td_common_opts *o)
{
    const char *columns = getenv("COLUMNS");
    uint64_t width = o->width;
    struct winsize size;

    if (width == 0 && !(columns && td_parse_u64(columns, &width))) {
        width = WIDTH_PIPE;
        if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
            size.ws_col > 0)
            width = size.ws_col;
    }
    return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : (unsigned)width;
}

static bool wants_colour(const struct td_common_opts *o)
{
    const char *no_color = getenv("NO_COLOR");

    return !o->no_color && isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
           !td_terminal_is_plain();
}

/* What has no times cannot be cut by time: to say that it was would be wrong. */
static int check_time(const struct td_session *session, struct td_err *err)
{
    const uint32_t modelled = UINT32_C(1) << TD_ROLE_MODEL | UINT32_C(1) << TD_ROLE_REPLICATES |
                              UINT32_C(1) << TD_ROLE_VARIANT;
    const bool is_modelled = td_measure_is_modelled(session->measure);

    if (session->status.timeless & (is_modelled ? modelled : ~modelled))
        return td_fail(err, TD_EUSAGE,
                       "--time %s: %s, which have no times: no part of the time can be chosen",
                       session->opts->time,
                       is_modelled ? "the categories of this profile are modelled sums"
                                   : "this profile holds sums of samples (merge makes such)");
    return TD_OK;
}

/* Why there is no sample decides what to do about it. */
static int fail_empty(const struct td_session *session, struct td_err *err)
{
    const struct td_coverage coverage = td_coverage_of(session->measure);
    const char *toggle = td_machine_parameter_text(session->model, "toggle");
    char lost[32];

    if (coverage.lost)
        return td_fail(err, TD_ENODATA,
                       "the profile holds no samples: the recorder could not keep up, and %s were "
                       "lost; sample slower with 'tdrec -F 999', or with larger ring buffers "
                       "(-m), or without -g",
                       td_format_count(lost, sizeof(lost), coverage.lost));
    if (!coverage.complete)
        return td_fail(err, TD_ENODATA,
                       "the profile holds no samples: it was cut off, by a full disk or a recorder "
                       "that was killed, before any was written; record it again");
    if (toggle)
        return td_fail(err, TD_ENODATA,
                       "the profile holds no samples: nothing ran in the function of --toggle, "
                       "'%s'",
                       toggle);
    if (coverage.recorded_s > 0 && coverage.pieces == 0)
        return td_fail(err, TD_ENODATA,
                       "the profile holds no samples: recording was never switched on (-D, "
                       "--control)");
    return td_fail(err, TD_ENODATA,
                   "the profile holds no samples: the command used too little CPU time; run it "
                   "longer, or sample faster with 'tdrec -F 20000'");
}

/* Of what lacks its debug file, where a package of this machine has installed it: the package that
 * brings it. Only of modules that the notes speak of: all lists of packages are read for each. */
static void name_packages(struct td_session *session)
{
    struct td_gap gaps[PACKAGES_MAX];
    const size_t len = td_coverage_gaps(session->measure, gaps, PACKAGES_MAX);

    for (size_t i = 0; i < len && gaps[i].share >= PACKAGE_SHARE; i++) {
        const struct td_module *module = td_model_module(session->model, gaps[i].module);
        const char *note = td_model_string(session->model, module->note);
        char *package =
            strstr(note, "is not installed") && !strstr(note, "apt install")
                ? td_debian_debug_package("", td_model_string(session->model, module->path))
                : NULL;

        if (!package)
            continue;
        char *text = td_xasprintf("%s: apt install %s (from Debian's archive of debug symbols), or "
                                  "--debuginfod",
                                  note, package);
        td_model_set_module_note(session->model, gaps[i].module,
                                 td_model_intern_z(session->model, text), module->debug_file);
        free(text);
        if (session->package || gaps[i].callers || gaps[i].share < PACKAGE_FIRST) {
            free(package);
            continue;
        }
        session->package = package;
        session->package_module = gaps[i].module;
    }
}

char *td_session_next(const struct td_session *session, const struct td_verdict *verdict)
{
    const struct td_verdict_place *first = &verdict->places[0];

    if (session->package && verdict->place_count > 0 && first->function == TD_NONE &&
        first->module == session->package_module)
        return td_xasprintf("apt install %s", session->package);
    return td_next_of_verdict(session->model, session->opts->input, verdict);
}

static int fail_filter(const struct td_session *session, struct td_err *err)
{
    const char *near = td_near_filter(session->model, session->opts);

    if (near)
        return td_fail(err, TD_ENODATA, "nothing in this profile matches %s: did you mean '%s'?",
                       session->filter_text, near);
    return td_fail(err, TD_ENODATA, "nothing in this profile matches %s", session->filter_text);
}

static int measure(struct td_session *session, struct td_err *err)
{
    const struct td_filter filter = make_filter(session->opts, session->needs);
    const int rc = td_measure_new(&session->measure, session->model, &filter, err);

    if (rc < 0)
        return rc;
    const uint64_t total = session->measure->totals[td_measure_primary(session->measure)];
    session->filter_text = describe_filter(session->opts);
    session->kept_share = 1;
    if (session->filter_text) {
        const uint64_t all = td_measure_unfiltered_total(session->model, &filter);
        session->kept_share = td_ratio(total, all);
    }
    if (total == 0 && session->filter_text)
        return fail_filter(session, err);
    if (total == 0 && !session->needs.empty)
        return fail_empty(session, err);
    session->coverage = td_coverage_of(session->measure);
    if (!session->needs.quiet)
        name_packages(session);
    return check_time(session, err);
}

/* An option that could not act is refused. */
static int check_kallsyms(const struct td_session *session, struct td_err *err)
{
    const char *path = session->opts->kallsyms;

    if (!path)
        return TD_OK;
    if (td_model_source(session->model) != TD_SOURCE_IMPORT)
        return td_fail(err, TD_EUSAGE,
                       "--kallsyms is for imports: tdrec keeps the kernel's names in its profiles");
    if (access(path, R_OK) < 0)
        return td_fail_errno(err, TD_EIO, errno, "cannot read '%s'", path);
    return TD_OK;
}

void td_session_complain_damage(const struct td_session *session)
{
    const char *input = session->opts->input ? session->opts->input : DEFAULT_INPUT;

    if (session->status.damage.code != TD_OK)
        td_complain("%s: %s", input, session->status.damage.text);
    else if (!td_model_complete(session->model) && !session->stopped)
        td_complain("%s: the recording was cut off; what was written is shown", input);
}

void td_session_begin(struct td_session *session, const struct td_common_opts *opts)
{
    *session = (struct td_session){.opts = opts, .coverage = {.complete = true}};
    session->style = (struct td_style){.out = stdout,
                                       .width = choose_width(opts),
                                       .colour = wants_colour(opts) && !opts->json,
                                       .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
                                       .full = opts->full};
}

int td_session_open(struct td_session *session, const struct td_common_opts *opts,
                    struct td_session_needs needs)
{
    struct td_err err = TD_ERR_INIT;

    td_session_begin(session, opts);
    session->needs = needs;
    int rc = load(session, needs, &err);
    if (rc == TD_OK)
        rc = load_weights(session, needs, &err);
    if (rc == TD_OK)
        rc = check_kallsyms(session, &err);
    if (rc < 0)
        goto out;
    if (!needs.quiet)
        td_session_complain_damage(session);
    if (!needs.no_names && symbolize(session, &err) < 0 && !needs.quiet)
        td_complain("names are missing: %s", err.text);
    rc = measure(session, &err);
out:
    if (rc < 0 && !needs.quiet)
        td_complain("%s", err.text);
    if (rc == TD_ENODATA && session->model &&
        (session->status.damaged || !td_model_complete(session->model)))
        return TD_EXIT_DAMAGED;
    return td_exit_of((enum td_code)rc);
}

int td_session_measure_again(const struct td_session *session, struct td_session_needs needs,
                             struct td_measure **ret, struct td_err *err)
{
    const struct td_filter filter = make_filter(session->opts, needs);

    return td_measure_new(ret, session->model, &filter, err);
}

struct td_filter td_session_filter(const struct td_session *session)
{
    return make_filter(session->opts, (struct td_session_needs){.samples = false});
}

int td_session_name(struct td_session *session, struct td_measure **ret_former)
{
    struct td_err err = TD_ERR_INIT;

    if (symbolize(session, &err) < 0 && !session->needs.quiet)
        td_complain("names are missing: %s", err.text);
    *ret_former = session->measure;
    session->measure = NULL;
    free(session->filter_text);
    session->filter_text = NULL;
    const int rc = measure(session, &err);
    if (rc < 0 && !session->needs.quiet)
        td_complain("%s", err.text);
    return td_exit_of((enum td_code)rc);
}

void td_session_symbolize_more(struct td_session *session)
{
    struct td_err err = TD_ERR_INIT;

    if (symbolize(session, &err) < 0 && !session->needs.quiet)
        td_complain("names are missing: %s", err.text);
}

void td_session_keep_known(struct td_session *session, enum td_metric metric)
{
    struct td_measure *measure = session->measure;
    double most = 0;

    td_known_only(measure, session->opts->no_inline);
    for (unsigned m = TD_METRIC_FIRST_NODE; metric == TD_METRIC_COUNT && m < TD_METRIC_COUNT; m++)
        most = fmax(most, td_known_nowhere(measure, (enum td_metric)m));
    if (metric != TD_METRIC_COUNT && td_known_nowhere(measure, metric) > 0)
        td_complain("%.1f %% of %s has no known place, and is [unknown]: the tables leave it blank",
                    100 * td_known_nowhere(measure, metric), td_metric_id(metric));
    else if (most > 0)
        td_complain("categories of which too little is known are blank or [unknown], as in the "
                    "tables: up to %.1f %% of one",
                    100 * most);
}

void td_session_begin_output(struct td_session *session)
{
    if (!session->opts->no_pager && !session->opts->stdio && isatty(STDOUT_FILENO) &&
        !td_terminal_is_plain())
        session->pager_running = td_pager_start(&session->pager);
}

int td_session_end_output(struct td_session *session)
{
    const bool left = session->pager_running && (fflush(stdout) != 0 || ferror(stdout));
    const int rc = left ? TD_EXIT_OK : td_finish_stdout();

    if (session->pager_running)
        td_pager_finish(session->pager);
    session->pager_running = false;
    if (rc != TD_EXIT_OK)
        return rc;
    return session->status.damaged || !session->coverage.complete ? TD_EXIT_DAMAGED : TD_EXIT_OK;
}

void td_session_release(struct td_session *session)
{
    free(session->filter_text);
    free(session->package);
    td_measure_free(session->measure);
    td_model_free(session->model);
    *session = (struct td_session){.opts = NULL};
}
