/* SPDX-License-Identifier: MIT */
/*
 * The profile on the terminal, to walk through. The first screen does not wait for a large file: it
 * shows what could be read in a moment, then its names, then the whole.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "report/cmd.h"
#include "report/tui/keys.h"
#include "report/tui/terminal.h"
#include "report/tui/tui.h"

#define FIRST_MS 400 /* of the first chunks, before the first screen shows what there is */
#define LOOK_MS  50  /* between two looks for keys while something takes long */

/* What keys do while something takes long. */
enum waiting {
    WAIT_FIRST, /* there is no screen yet */
    WAIT_KEYS,  /* what they always do, as far as it asks nothing of the host */
    WAIT_STOP   /* leave it off */
};

struct viewing {
    const struct td_common_opts *common;
    struct td_terminal *terminal;
    struct td_tui *tui;
    struct td_session_watch watch;
    struct td_session shown;
    struct td_session calls; /* the same with call paths; opts NULL: not read yet */
    struct td_session other; /* to compare with; opts NULL: none */
    struct td_common_opts other_opts;
    enum waiting waiting;
    const char *what;  /* takes long */
    uint64_t since_ms; /* when the first chunk was there; 0: not yet */
    uint64_t looked_ms;
    bool partial; /* what is shown is not the whole profile */
    bool left;    /* the user wants to leave */
    bool stopped; /* the user wants what takes long to stop */
};

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void resize(const struct viewing *v)
{
    unsigned rows = 0, columns = 0;

    td_terminal_size(v->terminal, &rows, &columns);
    td_tui_resize(v->tui, rows ? rows : 1, columns ? columns : 1);
}

static void take_key(struct viewing *v, uint32_t key)
{
    if (key == TD_TERMINAL_RESIZED)
        resize(v);
    else if (key == TD_TERMINAL_GONE)
        v->left = v->stopped = true;
    else if (td_tui_action_of(key) == TD_TUI_REDRAW)
        td_terminal_redraw(v->terminal);
    else if (v->waiting == WAIT_KEYS)
        v->left = v->left || !td_tui_press(v->tui, key);
    else if (td_tui_action_of(key) == TD_TUI_QUIT)
        v->left = v->stopped = true;
    else if (td_tui_action_of(key) == TD_TUI_LEAVE)
        v->stopped = true;
}

/* A look at the keys, and the screen as it is now; `part` of what takes long is done. */
static void look(struct viewing *v, double part, bool only_moving)
{
    char text[128];
    uint32_t key = TD_TERMINAL_NONE;

    if (v->waiting == WAIT_FIRST || now_ms() < v->looked_ms + LOOK_MS)
        return;
    snprintf(text, sizeof(text), "%s: %.0f %%", v->what, 100 * part);
    td_tui_wait(v->tui, text, only_moving);
    while (!v->left && (key = td_terminal_key(v->terminal, 0)) != TD_TERMINAL_NONE)
        take_key(v, key);
    td_terminal_draw(v->terminal, td_tui_draw(v->tui));
    v->looked_ms = now_ms();
}

static bool on_reading(void *ctx, uint64_t done, uint64_t total)
{
    struct viewing *v = ctx;

    if (v->waiting == WAIT_FIRST) {
        if (v->since_ms == 0)
            v->since_ms = now_ms();
        return now_ms() >= v->since_ms + FIRST_MS;
    }
    look(v, total > 0 ? (double)done / (double)total : 0, false);
    return v->left || v->stopped;
}

static void release(struct viewing *v)
{
    td_tui_free(v->tui);
    td_terminal_close(v->terminal);
    td_session_release(&v->shown);
    td_session_release(&v->calls);
    td_session_release(&v->other);
}

/* Reading names cannot be stopped but with the process. */
static void on_naming(void *ctx, size_t done, size_t total)
{
    struct viewing *v = ctx;

    look(v, total > 0 ? (double)done / (double)total : 0, true);
    if (v->left) {
        td_terminal_close(v->terminal);
        exit(TD_EXIT_OK);
    }
}

static struct td_session_needs needs_of(const struct viewing *v, bool no_names, bool quiet)
{
    return (struct td_session_needs){.quiet = quiet, .no_names = no_names, .watch = &v->watch};
}

/* What was being waited for before goes on. */
static void end_waiting(struct viewing *v, const struct viewing *before)
{
    v->waiting = before->waiting;
    v->what = before->what;
    td_tui_wait(v->tui, NULL, false);
}

static const struct td_measure *with_calls(void *ctx, const char **why)
{
    struct viewing *v = ctx;
    const struct viewing before = *v;

    if (v->partial) {
        *why = "the profile is still being read: call paths come after that";
        return NULL;
    }
    if (v->calls.opts)
        return v->calls.measure;
    v->waiting = WAIT_STOP;
    v->what = "reading call paths (q stops it)";
    v->stopped = false;
    const int exit_code = td_session_open(
        &v->calls, v->common,
        (struct td_session_needs){
            .stacks = true, .quiet = true, .metrics = TD_METRICS_OF_COST, .watch = &v->watch});
    end_waiting(v, &before);
    if (exit_code == TD_EXIT_OK && !v->stopped)
        return v->calls.measure;
    *why = v->stopped ? "stopped: call paths were not read" : "call paths could not be read";
    td_session_release(&v->calls);
    return NULL;
}

static const struct td_measure *open_other(void *ctx, const char *path, const char **why)
{
    struct viewing *v = ctx;
    const struct viewing before = *v;

    if (v->partial) {
        *why = "the profile is still being read: a diff comes after that";
        return NULL;
    }
    td_session_release(&v->other);
    v->other_opts = *v->common;
    v->other_opts.input = path;
    v->other_opts.weights = NULL;
    v->waiting = WAIT_STOP;
    v->what = "reading the other profile (q stops it)";
    v->stopped = false;
    const int exit_code = td_session_open(&v->other, &v->other_opts, needs_of(v, false, true));
    end_waiting(v, &before);
    if (exit_code == TD_EXIT_OK && !v->stopped)
        return v->other.measure;
    *why = v->stopped ? "stopped: the other profile was not read"
                      : "no profile can be read from that file (tdreport diff says why)";
    td_session_release(&v->other);
    return NULL;
}

static void name_code(void *ctx)
{
    struct viewing *v = ctx;
    const struct viewing before = *v;

    v->waiting = WAIT_STOP;
    v->what = "finding names of the instructions";
    td_session_symbolize_more(&v->shown);
    end_waiting(v, &before);
}

/* What can be read at once. An exit code when there is nothing that a screen could show. */
static int open_first(struct viewing *v)
{
    /* A filter of functions needs their names. */
    const bool no_names = v->common->functions.len == 0;

    int exit_code = td_session_open(&v->shown, v->common, needs_of(v, no_names, true));
    v->partial = v->shown.stopped;
    if (v->partial)
        return TD_EXIT_OK;
    if (exit_code == TD_EXIT_OK) {
        td_session_complain_damage(&v->shown);
        return TD_EXIT_OK;
    }
    /* Once more, to say what is wrong. */
    td_session_release(&v->shown);
    v->watch.reading = NULL;
    exit_code = td_session_open(&v->shown, v->common, needs_of(v, false, false));
    v->watch.reading = on_reading;
    return exit_code;
}

/* Names for what is on the screen without them. */
static int name_shown(struct viewing *v)
{
    struct td_measure *former = NULL;

    v->what = "finding names";
    const int exit_code = td_session_name(&v->shown, &former);
    if (exit_code == TD_EXIT_OK)
        td_tui_show(v->tui, v->shown.model, v->shown.measure);
    td_measure_free(former);
    td_tui_wait(v->tui, NULL, false);
    return exit_code;
}

/* The whole profile in place of its beginning. */
static int open_whole(struct viewing *v)
{
    struct td_session whole;

    v->what = v->shown.measure ? "figures are of its beginning; read" : "read";
    const int exit_code = td_session_open(&whole, v->common, needs_of(v, false, false));
    if (exit_code != TD_EXIT_OK || v->left) {
        td_session_release(&whole);
        return exit_code;
    }
    struct td_session former = v->shown;

    v->partial = false;
    v->shown = whole; /* pages that are open may ask for more of its names at once */
    td_tui_show(v->tui, whole.model, whole.measure);
    td_session_release(&former);
    td_tui_wait(v->tui, NULL, false);
    return TD_EXIT_OK;
}

static int walk(struct viewing *v)
{
    int exit_code = TD_EXIT_OK;

    v->waiting = WAIT_KEYS;
    resize(v);
    if (v->shown.measure)
        td_tui_show(v->tui, v->shown.model, v->shown.measure);
    td_terminal_draw(v->terminal, td_tui_draw(v->tui));
    if (v->shown.measure && v->common->functions.len == 0)
        exit_code = name_shown(v);
    if (exit_code == TD_EXIT_OK && v->partial && !v->left)
        exit_code = open_whole(v);
    while (exit_code == TD_EXIT_OK && !v->left) {
        td_terminal_draw(v->terminal, td_tui_draw(v->tui));
        const uint32_t key = td_terminal_key(v->terminal, -1);
        if (key != TD_TERMINAL_NONE)
            take_key(v, key);
    }
    if (exit_code != TD_EXIT_OK || v->partial)
        return exit_code;
    return v->shown.status.damaged || !v->shown.coverage.complete ? TD_EXIT_DAMAGED : TD_EXIT_OK;
}

int td_tui_run(const struct td_common_opts *common, const struct td_source_dirs *dirs,
               const char *syntax)
{
    struct viewing v = {.common = common};
    struct td_err err = TD_ERR_INIT;
    int exit_code = TD_EXIT_USAGE;

    v.watch = (struct td_session_watch){.ctx = &v, .reading = on_reading, .naming = on_naming};
    if (td_terminal_check(&err) < 0) {
        td_complain("%s", err.text);
        return exit_code;
    }
    exit_code = open_first(&v);
    if (exit_code != TD_EXIT_OK)
        goto out;
    const struct td_tui_opts opts = {.name = common->input ? common->input : "profile.td",
                                     .no_inline = common->no_inline,
                                     .utf8 = v.shown.style.utf8,
                                     .syntax = td_syntax_by_name(syntax),
                                     .dirs = *dirs};
    const struct td_tui_host host = {
        .ctx = &v, .with_calls = with_calls, .other = open_other, .name_code = name_code};
    v.tui = td_tui_new(&opts, &host);
    if (td_terminal_open(&v.terminal, v.shown.style.colour, &err) < 0) {
        td_complain("%s", err.text);
        exit_code = TD_EXIT_USAGE;
        goto out;
    }
    exit_code = walk(&v);
out:
    release(&v);
    return exit_code;
}

static void print_keys(void)
{
    puts("\nKeys");
    for (const struct td_tui_key *key = td_tui_keys; key->keys; key++)
        printf("  %-14s%s\n", key->keys, key->does);
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    struct td_opt_list dirs = {.items = NULL};
    const char *syntax = "att";
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_STRING, 'M', "disassembler-style", "STYLE",
         "of instructions: att (default) or intel", &syntax},
        {TD_OPT_LIST, 0, "source-dir", "DIR", "look for source files under DIR first", &dirs},
        TD_OPT_COMMON_REPORT(common),
        TD_OPT_END,
    };
    int exit_code = TD_EXIT_USAGE;
    const int used = td_cmd_parse(cmd, common, table, argc, argv, &exit_code);

    if (used < 0) {
        if (exit_code == TD_EXIT_OK)
            print_keys();
        goto out;
    }
    if (!td_cmd_check_syntax(syntax)) {
        exit_code = TD_EXIT_USAGE;
        goto out;
    }
    if (argc - used > 1 || (argc - used == 1 && common->input)) {
        td_complain("tui shows one profile, but here is '%s', too", argv[argc - 1]);
        exit_code = TD_EXIT_USAGE;
        goto out;
    }
    if (argc - used == 1)
        common->input = argv[used];
    const struct td_source_dirs source_dirs = {dirs.items, dirs.len};
    exit_code = td_tui_run(common, &source_dirs, syntax);
out:
    td_opt_list_release(&dirs);
    return exit_code;
}

const struct td_cmd td_cmd_tui = {
    .name = "tui",
    .args = "[FILE] [options]",
    .about = "walk through the profile on the terminal",
    .run = run,
};
