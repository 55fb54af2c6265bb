/* SPDX-License-Identifier: MIT */
#include "report/tui/keys.h"

#include <stddef.h>

const struct td_tui_key td_tui_keys[] = {
    {TD_TUI_OPEN,
     {TD_TUI_ENTER, '\r'},
     "Enter",
     "open: a function's source lines; from these, who calls it and what it calls; from a caller, "
     "its source lines",
     "open"},
    {TD_TUI_LEAVE,
     {TD_TUI_ESCAPE, 'q'},
     "Esc, q",
     "back to the screen before; on the first one, q leaves",
     "back"},
    {TD_TUI_QUIT, {'Q'}, "Q", "leave at once", NULL},
    {TD_TUI_HELP, {'?', 'h'}, "?, h", "show the keys", "help"},
    {TD_TUI_CATEGORY, {'c'}, "c", "next category: its costs beside the rows", "category"},
    {TD_TUI_CATEGORY_BACK, {'C'}, "C", "previous category", NULL},
    {TD_TUI_SORT, {'s'}, "s", "sort the functions by the next column", "sort"},
    {TD_TUI_ASM, {'a'}, "a", "source lines or instructions", "asm"},
    {TD_TUI_HOTTEST, {'H'}, "H", "go to the hottest line, of this function or of all", "hottest"},
    {TD_TUI_CALLERS, {'<'}, "<", "who calls the function", "callers"},
    {TD_TUI_CALLEES, {'>'}, ">", "what the function calls", "callees"},
    {TD_TUI_DIFF,
     {'d'},
     "d",
     "what changed since another profile: type its file, then Enter",
     "diff"},
    {TD_TUI_SEARCH, {'/'}, "/", "search: type a part of a row, then Enter", "search"},
    {TD_TUI_NEXT, {'n'}, "n", "next match of the search", NULL},
    {TD_TUI_PREVIOUS, {'N'}, "N", "previous match of the search", NULL},
    {TD_TUI_MOVE_UP, {TD_TUI_UP, 'k'}, "Up, k", "one row up", NULL},
    {TD_TUI_MOVE_DOWN, {TD_TUI_DOWN, 'j'}, "Down, j", "one row down", NULL},
    {TD_TUI_MOVE_PAGE_UP, {TD_TUI_PAGE_UP, 'b'}, "PgUp, b", "one screen up", NULL},
    {TD_TUI_MOVE_PAGE_DOWN, {TD_TUI_PAGE_DOWN, ' '}, "PgDn, Space", "one screen down", NULL},
    {TD_TUI_MOVE_FIRST, {TD_TUI_HOME, 'g'}, "Home, g", "first row", NULL},
    {TD_TUI_MOVE_LAST, {TD_TUI_END, 'G'}, "End, G", "last row", NULL},
    {TD_TUI_SHIFT_LEFT, {TD_TUI_LEFT}, "Left", "move long lines to the right again", NULL},
    {TD_TUI_SHIFT_RIGHT, {TD_TUI_RIGHT}, "Right", "show more of long lines", NULL},
    {TD_TUI_REDRAW, {'L' & 31}, "Ctrl-L", "draw the screen anew", NULL},
    {TD_TUI_NOTHING, {0}, NULL, NULL, NULL},
};

enum td_tui_action td_tui_action_of(uint32_t code)
{
    for (const struct td_tui_key *key = td_tui_keys; key->keys; key++) {
        for (size_t i = 0; i < TD_TUI_CODES && key->codes[i]; i++) {
            if (key->codes[i] == code)
                return key->action;
        }
    }
    return TD_TUI_NOTHING;
}
