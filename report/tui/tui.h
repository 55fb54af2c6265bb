/* SPDX-License-Identifier: MIT */
/*
 * A profile on a screen, to walk through: a state that keys change, and rows of text that show it.
 * It knows no terminal (terminal.h does) and reads no profile: what takes long it asks its host.
 */
#ifndef TD_REPORT_TUI_TUI_H
#define TD_REPORT_TUI_TUI_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/measure.h"
#include "report/disasm.h"
#include "report/source.h"
#include "report/tui/canvas.h"

struct td_tui;

/* What the screens ask for when a key needs it. Each may take long, and may draw meanwhile: the
 * last line then says what is waited for, the others stay. */
struct td_tui_host {
    void *ctx;
    /* The same profile with whole call paths; borrowed until the next td_tui_show. NULL, with a
     * sentence in *why that lives as long as the host, when it is not to be had. */
    const struct td_measure *(*with_calls)(void *ctx, const char **why);
    /* The profile of another file, to compare with; borrowed as above, and until the next call. */
    const struct td_measure *(*other)(void *ctx, const char *path, const char **why);
    /* Gives names and lines to locations that were added to the model. */
    void (*name_code)(void *ctx);
};

struct td_tui_opts {
    const char *name; /* of the profile, for the first line */
    bool no_inline;
    bool utf8;
    enum td_syntax syntax;
    struct td_source_dirs dirs;
};

/* `opts` and `host` are copied; what they point to is borrowed until the free. */
struct td_tui *td_tui_new(const struct td_tui_opts *opts, const struct td_tui_host *host)
    __attribute__((returns_nonnull));
void td_tui_free(struct td_tui *tui); /* NULL is allowed */

/* The profile from now on, borrowed: the screens that are open are made anew from it, functions
 * found again by their names. Disassembly adds locations to the model, which is the measure's. */
void td_tui_show(struct td_tui *tui, struct td_model *model, const struct td_measure *measure);
/* What is being waited for, in a few words; NULL: nothing. Copied. With `only_moving` the keys that
 * would ask the host are refused meanwhile. */
void td_tui_wait(struct td_tui *tui, const char *text, bool only_moving);

/* At least 1 x 1. */
void td_tui_resize(struct td_tui *tui, unsigned rows, unsigned columns);
/* A key of enum td_tui_code or a character. False: the user leaves. */
bool td_tui_press(struct td_tui *tui, uint32_t key);
/* The screen as it is now, valid until the next call of any of these. */
const struct td_canvas *td_tui_draw(struct td_tui *tui) __attribute__((returns_nonnull));

#endif
