/* SPDX-License-Identifier: MIT */
/* The screen of the keys, made from their table. */
#include <stdio.h>
#include <string.h>

#include "report/tui/tui_priv.h"

#define KEYS_WIDTH 13

static const char *const notes[] = {
    "",
    "%        share of the whole profile",
    "mostly   what most of a row's slots went to, in percent of the row",
    "Ret Bad Front Back   useful work, and slots lost to bad speculation,",
    "         the front end and the back end, in percent of the row",
    "A blank cell: too little is known to give a figure.",
};

static size_t key_count(void)
{
    size_t count = 0;

    while (td_tui_keys[count].keys)
        count++;
    return count;
}

static void text_of(const struct td_tui *tui, const struct td_tui_page *page, size_t index,
                    char *dst, size_t size)
{
    (void)tui;
    (void)page;
    if (index < key_count())
        snprintf(dst, size, "%-*s%s", KEYS_WIDTH, td_tui_keys[index].keys, td_tui_keys[index].does);
    else
        snprintf(dst, size, "%s", notes[index - key_count()]);
}

static void build(struct td_tui *tui, struct td_tui_page *page)
{
    (void)tui;
    page->len = key_count() + sizeof(notes) / sizeof(notes[0]);
}

static void title(const struct td_tui *tui, const struct td_tui_page *page, char *dst, size_t size)
{
    (void)tui;
    (void)page;
    snprintf(dst, size, "keys");
}

static void headings(struct td_tui *tui, const struct td_tui_page *page, unsigned row)
{
    (void)page;
    td_canvas_putf(&tui->canvas, row, TD_TONE_HEADING, "%-*swhat it does", KEYS_WIDTH, "key");
}

static void draw(struct td_tui *tui, const struct td_tui_page *page, size_t index, unsigned row)
{
    char text[TD_TUI_TEXT];

    text_of(tui, page, index, text, sizeof(text));
    td_canvas_put(&tui->canvas, row, TD_TONE_PLAIN,
                  strlen(text) > page->shift ? text + page->shift : "");
}

/* The whole sentence where the row has no room for it. */
static void detail(struct td_tui *tui, const struct td_tui_page *page, unsigned row)
{
    if (page->selected < key_count())
        td_canvas_put(&tui->canvas, row, TD_TONE_NOTE, td_tui_keys[page->selected].does);
}

const struct td_tui_page_ops td_tui_help = {.name = "help",
                                            .build = build,
                                            .title = title,
                                            .headings = headings,
                                            .draw = draw,
                                            .text = text_of,
                                            .detail = detail};
