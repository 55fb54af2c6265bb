/* SPDX-License-Identifier: MIT */
/* The terminal that a canvas is shown on and keys come from. The only part that knows ncurses. */
#ifndef TD_REPORT_TUI_TERMINAL_H
#define TD_REPORT_TUI_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "report/tui/canvas.h"

struct td_terminal;

/* Whether there is a terminal that can be drawn on; TD_EUSAGE says what is missing. */
int td_terminal_check(struct td_err *err);

/* What td_terminal_key gives that is no key of the user's. */
#define TD_TERMINAL_NONE    0u          /* none came in time */
#define TD_TERMINAL_RESIZED 0x1fffffffu /* the terminal has another size now */
#define TD_TERMINAL_GONE    0x1ffffffeu /* there is no terminal any more */

/* Takes stdin and stdout over, which have to be a terminal that can move its cursor; TD_EUSAGE
 * says what is missing. What is written to stderr from now on is kept until td_terminal_close.
 * A signal that ends the process gives the terminal back first. */
int td_terminal_open(struct td_terminal **ret, bool colour, struct td_err *err);
/* Gives the terminal back as it was, then writes to stderr what was kept. NULL is allowed. */
void td_terminal_close(struct td_terminal *terminal);
/* The same for a process that is about to end by itself; false: there was none taken. Safe in a
 * signal handler as far as ncurses is. */
bool td_terminal_restore(void);

void td_terminal_size(const struct td_terminal *terminal, unsigned *rows, unsigned *columns);
void td_terminal_draw(struct td_terminal *terminal, const struct td_canvas *canvas);
/* The next drawing assumes nothing of what the terminal shows. */
void td_terminal_redraw(struct td_terminal *terminal);
/* Waits at most `ms` milliseconds, without end below 0. A code of keys.h or a character, or one of
 * the above. */
uint32_t td_terminal_key(struct td_terminal *terminal, int ms);

#endif
