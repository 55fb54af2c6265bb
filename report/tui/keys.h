/* SPDX-License-Identifier: MIT */
/* What every key does: one table, from which the screens' hints, the help and (man/keys.c) the
 * manual page are made. */
#ifndef TD_REPORT_TUI_KEYS_H
#define TD_REPORT_TUI_KEYS_H

#include <stdint.h>

/* Keys that are no character; characters are themselves. */
enum td_tui_code {
    TD_TUI_ENTER = '\n',
    TD_TUI_ESCAPE = 27,
    TD_TUI_BACKSPACE = 127,
    TD_TUI_UP = 0x110000, /* above all of Unicode */
    TD_TUI_DOWN,
    TD_TUI_LEFT,
    TD_TUI_RIGHT,
    TD_TUI_PAGE_UP,
    TD_TUI_PAGE_DOWN,
    TD_TUI_HOME,
    TD_TUI_END
};

enum td_tui_action {
    TD_TUI_NOTHING,
    TD_TUI_OPEN,
    TD_TUI_LEAVE,
    TD_TUI_QUIT,
    TD_TUI_ASM,
    TD_TUI_CALLERS,
    TD_TUI_CALLEES,
    TD_TUI_CATEGORY,
    TD_TUI_CATEGORY_BACK,
    TD_TUI_SORT,
    TD_TUI_DIFF,
    TD_TUI_SEARCH,
    TD_TUI_NEXT,
    TD_TUI_PREVIOUS,
    TD_TUI_HOTTEST,
    TD_TUI_HELP,
    TD_TUI_MOVE_UP,
    TD_TUI_MOVE_DOWN,
    TD_TUI_MOVE_PAGE_UP,
    TD_TUI_MOVE_PAGE_DOWN,
    TD_TUI_MOVE_FIRST,
    TD_TUI_MOVE_LAST,
    TD_TUI_REDRAW,
    TD_TUI_SHIFT_LEFT,
    TD_TUI_SHIFT_RIGHT
};

#define TD_TUI_CODES 3

struct td_tui_key {
    enum td_tui_action action;
    uint32_t codes[TD_TUI_CODES]; /* 0: no more */
    const char *keys;             /* as people call them */
    const char *does;             /* one line */
    const char *hint;             /* in a word or two, for the screen's last line; NULL: none */
};

/* Ends with TD_TUI_NOTHING, of which `keys` is NULL. */
extern const struct td_tui_key td_tui_keys[];

/* TD_TUI_NOTHING for a key that does nothing. */
enum td_tui_action td_tui_action_of(uint32_t code);

#endif
