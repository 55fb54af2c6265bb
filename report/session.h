/* SPDX-License-Identifier: MIT */
/*
 * What every command of tdreport begins with: the options they share, the profile loaded,
 * symbolized and measured, and how its result goes out.
 */
#ifndef TD_REPORT_SESSION_H
#define TD_REPORT_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/opt.h"
#include "formats/load.h"
#include "report/query/figures/coverage.h"
#include "report/query/figures/measure.h"
#include "report/query/verdict.h"
#include "report/view/table/style.h"

/* Exit codes (DESIGN.md). */
enum td_exit {
    TD_EXIT_OK = 0,
    TD_EXIT_GATE = 1, /* a condition of diff --fail-if holds */
    TD_EXIT_USAGE = 2,
    TD_EXIT_DAMAGED = 3,
    TD_EXIT_NOTHING = 4
};

/* Options of every command that reads a profile. */
struct td_common_opts {
    const char *input;
    const char *weights; /* a clock profile of the same command as the modelled input; NULL */
    struct td_opt_list threads, processes, modules, functions, regions;
    const char *time; /* "A..B" */
    const char *event;
    bool off_cpu; /* the event of waits */
    bool no_inline;
    bool json;
    bool no_color;
    bool no_pager;
    bool stdio; /* as no_pager */
    bool full;
    bool help;
    uint64_t width;
    const char *debug_dir;
    const char *kallsyms;
    bool debuginfod;
    bool no_cache;
};

void td_common_opts_release(struct td_common_opts *opts);

/* Rows of a command's option table. */
/* clang-format off */
#define TD_OPT_COMMON_INPUT(o)                                                                   \
    {TD_OPT_HEADING, 0, NULL, NULL, "Input", NULL},                                              \
    {TD_OPT_STRING, 'i', "input", "FILE", "the profile (profile.td); may be a perf.data",        \
     &(o)->input},                                                                               \
    {TD_OPT_STRING, 0, "weights", "FILE",                                                        \
     "take the time from this clock profile of the same command", &(o)->weights},       \
    {TD_OPT_STRING, 0, "event", "NAME", "of several sampled events, the one to report",          \
     &(o)->event},                                                                               \
    {TD_OPT_FLAG, 0, "off-cpu", NULL, "waits in place of CPU time (of tdrec --off-cpu)",           \
     &(o)->off_cpu},                                                                             \
    {TD_OPT_STRING, 0, "kallsyms", "FILE", "names of the kernel for an import",                  \
     &(o)->kallsyms},                                                                            \
    {TD_OPT_STRING, 0, "debug-dir", "DIR", "search DIR for debug files, as /usr/lib/debug",      \
     &(o)->debug_dir},                                                                           \
    {TD_OPT_FLAG, 0, "debuginfod", NULL, "ask the servers in $DEBUGINFOD_URLS for debug files",  \
     &(o)->debuginfod},                                                                          \
    {TD_OPT_FLAG, 0, "no-cache", NULL, "do not use or fill ~/.cache/tdprof", &(o)->no_cache}

#define TD_OPT_COMMON_FILTER(o)                                                                  \
    {TD_OPT_HEADING, 0, NULL, NULL,                                                              \
     "Filters (each may be given again; a name, number or pattern)", NULL},                      \
    {TD_OPT_LIST, 0, "thread", "NAME", "only threads of this name or tid", &(o)->threads},       \
    {TD_OPT_LIST, 0, "process", "NAME", "only processes of this name or pid", &(o)->processes},  \
    {TD_OPT_LIST, 0, "module", "NAME", "only time spent in this binary or library",              \
     &(o)->modules},                                                                             \
    {TD_OPT_LIST, 0, "function", "NAME", "only time spent in this function itself",              \
     &(o)->functions},                                                                           \
    {TD_OPT_LIST, 0, "region", "NAME", "only what ran in this region (tdprof_region(3))",        \
     &(o)->regions},                                                                             \
    {TD_OPT_STRING, 0, "time", "A..B", "only from A to B since the start: 1.5..3, 200ms..",      \
     &(o)->time}

#define TD_OPT_COMMON_OUTPUT(o)                                                                  \
    {TD_OPT_FLAG, 0, "no-inline", NULL, "inlined code counts to the function that contains it",  \
     &(o)->no_inline},                                                                           \
    {TD_OPT_FLAG, 0, "full", NULL, "names in full, however wide", &(o)->full},                   \
    {TD_OPT_U64, 'w', "width", "COLUMNS", "columns to use (the terminal's; 100 in a pipe)",      \
     &(o)->width},                                                                               \
    {TD_OPT_FLAG, 0, "no-color", NULL, "no colours (also: NO_COLOR)", &(o)->no_color},           \
    {TD_OPT_FLAG, 0, "no-pager", NULL, "do not page on a terminal", &(o)->no_pager},             \
    {TD_OPT_FLAG, 0, "stdio", NULL, "same as --no-pager (as in perf)", &(o)->stdio},     \
    {TD_OPT_FLAG, 'h', "help", NULL, "show this", &(o)->help}

#define TD_OPT_COMMON_JSON(o)                                                                    \
    {TD_OPT_FLAG, 0, "json", NULL, "the same as JSON (schema tdreport/1)", &(o)->json}

/* How it is shown, of what part, from which file: what every report takes. */
#define TD_OPT_COMMON_REPORT(o)                                                                  \
    TD_OPT_COMMON_OUTPUT(o), TD_OPT_COMMON_FILTER(o), TD_OPT_COMMON_INPUT(o)
/* clang-format on */

/* Who is told, while a session is opened, how far it is; instead of stderr. Each may be NULL. */
struct td_session_watch {
    void *ctx;
    /* Bytes of the file that are read. True: read no more of it, make do with what is there. */
    bool (*reading)(void *ctx, uint64_t done, uint64_t total);
    /* Addresses that have got their names. */
    void (*naming)(void *ctx, size_t done, size_t total);
};

struct td_session_needs {
    bool samples;                         /* single samples, with times */
    bool times;                           /* samples are kept, for td_session_measure_again */
    bool stacks;                          /* more of a stack than its innermost frame */
    bool by_leaf;                         /* td_filter.by_leaf */
    bool threads;                         /* apart from others of their program */
    bool quiet;                           /* what is wrong was said before */
    bool empty;                           /* that nothing was sampled is no failure */
    bool no_names;                        /* td_session_name gives them later */
    td_metric_set metrics;                /* td_filter.metrics */
    const struct td_session_watch *watch; /* NULL: nobody; borrowed until the release */
};

struct td_session {
    struct td_session_needs needs;
    bool stopped; /* the watch had it read no further */
    const struct td_common_opts *opts;
    struct td_model *model;
    struct td_measure *measure;
    struct td_coverage coverage;
    struct td_load_status status;
    struct td_style style;
    char *filter_text; /* NULL: no filter */
    char *package; /* of Debian: it would name most of the time, which is in `package_module` and
                      has no name; NULL: none is known */
    uint32_t package_module;
    double kept_share;
    bool pager_running;
    pid_t pager;
};

/* A session without a profile, for what needs none: how its result goes out. */
void td_session_begin(struct td_session *session, const struct td_common_opts *opts);
/* Loads, symbolizes and measures. Returns TD_EXIT_OK, or the exit code after having said on stderr
 * what is wrong. Release in either case. */
int td_session_open(struct td_session *session, const struct td_common_opts *opts,
                    struct td_session_needs needs);
/* Another measure of what the session shows, owned by the caller: of `needs`, what a filter takes
 * (samples, by_leaf, metrics); by sample where the profile was opened with `times` and has any.
 * Fails as td_measure_new does. */
int td_session_measure_again(const struct td_session *session, struct td_session_needs needs,
                             struct td_measure **ret, struct td_err *err);
/* The command to run next, of what the verdict points at: first the one that installs names, where
 * it is without. The caller frees it. */
char *td_session_next(const struct td_session *session, const struct td_verdict *verdict)
    __attribute__((returns_nonnull));
/* What its options filter: for a measure of a part of its model. Borrows the options. */
struct td_filter td_session_filter(const struct td_session *session);
/* Says what the file lacks, as td_session_open does unless it is to be quiet. */
void td_session_complain_damage(const struct td_session *session);
/* Of a session without names: gives them, and measures again; the former measure, which the caller
 * frees, goes to *ret_former. Returns as td_session_open. */
int td_session_name(struct td_session *session, struct td_measure **ret_former);
/* Names and lines for locations that were added to the model since; complains when that fails. */
void td_session_symbolize_more(struct td_session *session);
/* Before an export: leaves of each place what the tables say (td_known_only), and says on stderr
 * how much of the metric then has no place; TD_METRIC_COUNT: of all categories together. */
void td_session_keep_known(struct td_session *session, enum td_metric metric);
/* Starts the pager when stdout is a terminal. Call before the first output. */
void td_session_begin_output(struct td_session *session);
/* Ends the output; returns the exit code, which tells of damage and of a failed write. */
int td_session_end_output(struct td_session *session);
void td_session_release(struct td_session *session);

/* The one way to complain: "tdreport: …" on stderr, one line, escaped. */
void td_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* That no function is called so. `near`: one whose name is like it; NULL: there is none. */
void td_complain_no_function(const char *pattern, const char *near);
/* What an exit code an error of reading amounts to. */
int td_exit_of(enum td_code code);
/* Flushes stdout; TD_EXIT_DAMAGED, said on stderr, when what was written is not all there. A
 * reader that went away is no failure of ours: the process ends as by SIGPIPE, quietly. */
int td_finish_stdout(void);

#endif
