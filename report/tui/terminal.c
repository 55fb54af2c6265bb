/* SPDX-License-Identifier: MIT */
#include "report/tui/terminal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <term.h>
#undef columns /* macros of term.h: ours are fields */
#undef lines
#undef tone

#include "base/file.h"
#include "base/mem.h"
#include "report/tui/keys.h"

#define ESCAPE_MS 50 /* for the rest of a key that begins with Esc */

struct td_terminal {
    SCREEN *screen;
    int stderr_fd; /* as it was; -1: not changed */
    int kept_fd;   /* what was written to stderr meanwhile */
    bool colour;
};

/* By which a process ends, for which nothing else is done here. */
static const int deadly[] = {SIGHUP,  SIGINT, SIGQUIT, SIGTERM, SIGABRT,
                             SIGSEGV, SIGBUS, SIGFPE,  SIGILL};

bool td_terminal_restore(void)
{
    return stdscr && !isendwin() && endwin() != ERR;
}

static void end_by(int number)
{
    td_terminal_restore();
    signal(number, SIG_DFL);
    raise(number);
}

/* A signal that is ignored, as by nohup, stays so. */
static void handle_signals(void (*handler)(int))
{
    struct sigaction old;

    for (size_t i = 0; i < TD_ARRAY_SIZE(deadly); i++) {
        struct sigaction action = {.sa_handler = handler};

        sigemptyset(&action.sa_mask);
        if (sigaction(deadly[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(deadly[i], &action, NULL);
    }
}

/* Child processes end in their own ways: the terminal is not theirs. */
static void forget_in_child(void)
{
    handle_signals(SIG_DFL);
}

int td_terminal_check(struct td_err *err)
{
    const char *name = getenv("TERM");
    int status = 0;

    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return td_fail(err, TD_EUSAGE,
                       "tui needs a terminal for its input and output; 'tdreport functions' and "
                       "'tdreport annotate' print to a file or a pipe");
    if (!name || !*name || setupterm(NULL, STDOUT_FILENO, &status) == ERR)
        return td_fail(err, TD_EUSAGE,
                       "tui does not know the terminal '%s': set TERM to what it is, or use "
                       "'tdreport functions' and 'tdreport annotate'",
                       name ? name : "");
    const char *move = tigetstr("cup");
    const bool moves = move && move != (const char *)-1;
    del_curterm(cur_term);
    if (!moves)
        return td_fail(err, TD_EUSAGE,
                       "tui needs a terminal that can move its cursor, which '%s' cannot: use "
                       "'tdreport functions' and 'tdreport annotate'",
                       name);
    return TD_OK;
}

static void keep_stderr(struct td_terminal *terminal)
{
    fflush(stderr);
    terminal->kept_fd = memfd_create("tdreport-stderr", MFD_CLOEXEC);
    terminal->stderr_fd = -1;
    if (terminal->kept_fd < 0)
        return;
    terminal->stderr_fd = dup(STDERR_FILENO);
    if (terminal->stderr_fd >= 0)
        dup2(terminal->kept_fd, STDERR_FILENO);
}

static void give_stderr_back(struct td_terminal *terminal)
{
    char bytes[4096];
    ssize_t n = 0;

    fflush(stderr);
    if (terminal->stderr_fd >= 0) {
        dup2(terminal->stderr_fd, STDERR_FILENO);
        close(terminal->stderr_fd);
        lseek(terminal->kept_fd, 0, SEEK_SET);
        while ((n = read(terminal->kept_fd, bytes, sizeof(bytes))) > 0)
            (void)td_fd_write_all(STDERR_FILENO, bytes, (size_t)n, NULL);
    }
    if (terminal->kept_fd >= 0)
        close(terminal->kept_fd);
}

static void set_colours(struct td_terminal *terminal, bool wanted)
{
    terminal->colour = wanted && has_colors() && start_color() == OK;
    if (!terminal->colour)
        return;
    use_default_colors();
    init_pair(TD_TONE_WARM, COLOR_YELLOW, -1);
    init_pair(TD_TONE_HOT, COLOR_RED, -1);
    init_pair(TD_TONE_NOTE, COLOR_CYAN, -1);
}

int td_terminal_open(struct td_terminal **ret, bool colour, struct td_err *err)
{
    const int rc = td_terminal_check(err);

    if (rc < 0)
        return rc;
    struct td_terminal *terminal = td_xcalloc(1, sizeof(*terminal));
    handle_signals(end_by);
    pthread_atfork(NULL, NULL, forget_in_child);
    use_env(TRUE);
    use_tioctl(TRUE);
    terminal->screen = newterm(NULL, stdout, stdin);
    if (!terminal->screen) {
        handle_signals(SIG_DFL);
        free(terminal);
        return td_fail(err, TD_EUSAGE, "the terminal '%s' cannot be used", getenv("TERM"));
    }
    keep_stderr(terminal);
    set_colours(terminal, colour);
    set_escdelay(ESCAPE_MS);
    cbreak();
    noecho();
    nonl();
    intrflush(stdscr, FALSE);
    keypad(stdscr, TRUE);
    curs_set(0);
    *ret = terminal;
    return TD_OK;
}

void td_terminal_close(struct td_terminal *terminal)
{
    if (!terminal)
        return;
    td_terminal_restore();
    delscreen(terminal->screen);
    handle_signals(SIG_DFL);
    give_stderr_back(terminal);
    free(terminal);
}

void td_terminal_size(const struct td_terminal *terminal, unsigned *rows, unsigned *columns)
{
    (void)terminal;
    *rows = (unsigned)getmaxy(stdscr);
    *columns = (unsigned)getmaxx(stdscr);
}

static attr_t attributes(const struct td_terminal *terminal, enum td_tone tone)
{
    switch (tone) {
    case TD_TONE_PLAIN: break;
    case TD_TONE_HEADING: return A_BOLD;
    case TD_TONE_DIM: return A_DIM;
    case TD_TONE_WARM: return terminal->colour ? (attr_t)COLOR_PAIR(TD_TONE_WARM) : A_NORMAL;
    case TD_TONE_HOT: return A_BOLD | (terminal->colour ? (attr_t)COLOR_PAIR(TD_TONE_HOT) : 0);
    case TD_TONE_NOTE: return terminal->colour ? (attr_t)COLOR_PAIR(TD_TONE_NOTE) : A_NORMAL;
    }
    return A_NORMAL;
}

static void draw_row(const struct td_terminal *terminal, const struct td_canvas *canvas, int y)
{
    const struct td_canvas_row *row = &canvas->at[y];

    if (row->selected) {
        attrset(A_REVERSE);
        mvhline(y, 0, ' ', (int)canvas->columns);
    }
    for (unsigned i = 0; i < row->span_count; i++) {
        const struct td_canvas_span *span = &row->spans[i];

        attrset(row->selected ? A_REVERSE : attributes(terminal, span->tone));
        mvaddstr(y, (int)span->column, row->text + span->text);
    }
}

void td_terminal_draw(struct td_terminal *terminal, const struct td_canvas *canvas)
{
    erase();
    for (unsigned y = 0; y < canvas->rows && (int)y < getmaxy(stdscr); y++)
        draw_row(terminal, canvas, (int)y);
    attrset(A_NORMAL);
    refresh();
}

void td_terminal_redraw(struct td_terminal *terminal)
{
    (void)terminal;
    clearok(stdscr, TRUE);
}

static uint32_t code_of(wint_t key)
{
    static const struct {
        wint_t key;
        uint32_t code;
    } codes[] = {
        {KEY_UP, TD_TUI_UP},
        {KEY_DOWN, TD_TUI_DOWN},
        {KEY_LEFT, TD_TUI_LEFT},
        {KEY_RIGHT, TD_TUI_RIGHT},
        {KEY_PPAGE, TD_TUI_PAGE_UP},
        {KEY_NPAGE, TD_TUI_PAGE_DOWN},
        {KEY_HOME, TD_TUI_HOME},
        {KEY_END, TD_TUI_END},
        {KEY_ENTER, TD_TUI_ENTER},
        {KEY_BACKSPACE, TD_TUI_BACKSPACE},
        {KEY_RESIZE, TD_TERMINAL_RESIZED},
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(codes); i++) {
        if (codes[i].key == key)
            return codes[i].code;
    }
    return TD_TERMINAL_NONE;
}

uint32_t td_terminal_key(struct td_terminal *terminal, int ms)
{
    wint_t key = 0;

    (void)terminal;
    timeout(ms);
    errno = 0;
    const int rc = get_wch(&key);
    if (rc == KEY_CODE_YES)
        return code_of(key);
    if (rc == OK)
        return key == '\r' ? TD_TUI_ENTER : (uint32_t)key;
    /* Nothing, although there was no limit: a signal, or the end. */
    if (ms < 0 && errno != EINTR)
        return TD_TERMINAL_GONE;
    return TD_TERMINAL_NONE;
}
