/* SPDX-License-Identifier: MIT */
/* What the screens of the terminal interface share. */
#ifndef TD_REPORT_TUI_TUI_PRIV_H
#define TD_REPORT_TUI_TUI_PRIV_H

#include <stddef.h>

#include "report/query/figures/rows.h"
#include "report/tui/keys.h"
#include "report/tui/tui.h"

#define TD_TUI_TEXT  1024 /* bytes of one cell or line that are looked at */
#define TD_TUI_TYPED 512  /* of a search or a file's name */
#define TD_TUI_PAGES 64   /* that can be open at a time */

struct td_tui_page;

/* One kind of screen: rows to move through. What is NULL it does not do. */
struct td_tui_page_ops {
    const char *name; /* "functions" */
    /* Fills page->data and page->len; with td_tui_show again, after release. */
    void (*build)(struct td_tui *tui, struct td_tui_page *page);
    void (*release)(struct td_tui_page *page);
    /* What it shows, for the first line. */
    void (*title)(const struct td_tui *tui, const struct td_tui_page *page, char *dst, size_t size);
    void (*headings)(struct td_tui *tui, const struct td_tui_page *page, unsigned row);
    void (*draw)(struct td_tui *tui, const struct td_tui_page *page, size_t index, unsigned row);
    /* What the search looks at. */
    void (*text)(const struct td_tui *tui, const struct td_tui_page *page, size_t index, char *dst,
                 size_t size);
    /* More about the row that is selected. */
    void (*detail)(struct td_tui *tui, const struct td_tui_page *page, unsigned row);
    void (*open)(struct td_tui *tui, struct td_tui_page *page);
    /* The row that costs most; SIZE_MAX: none. */
    size_t (*hottest)(const struct td_tui *tui, const struct td_tui_page *page);
};

struct td_tui_page {
    const struct td_tui_page_ops *ops;
    size_t len, selected, top;
    unsigned shift;            /* columns that long lines are moved to the left */
    uint32_t function, module; /* what it is of; function TD_NONE: the module's code without names
                                */
    char *function_name, *module_path; /* by which they are found in another model; NULL: none */
    bool assembly;
    void *data; /* of the page's kind */
};

struct td_tui {
    struct td_tui_opts opts;
    struct td_tui_host host;
    struct td_model *model;           /* borrowed, as the measure; NULL: not yet there */
    const struct td_measure *measure; /* NULL: not yet there */
    enum td_metric primary;
    struct td_rows rows; /* functions */
    struct td_sort sort;
    enum td_tma_node category; /* shown beside the rows; TD_NODE_NONE: all */
    struct td_tui_page pages[TD_TUI_PAGES];
    size_t page_count;
    struct td_canvas canvas;
    char message[256]; /* until the next key */
    char wait[128];
    bool only_moving;
    unsigned building; /* pages are being made: what they have is not whole yet */
    enum { TYPE_NOTHING, TYPE_SEARCH, TYPE_FILE } typing;
    char search[TD_TUI_TYPED];
    char other[TD_TUI_TYPED]; /* the file that a diff is with */
};

static inline struct td_tui_page *td_tui_top(struct td_tui *tui)
{
    return &tui->pages[tui->page_count - 1];
}

extern const struct td_tui_page_ops td_tui_functions, td_tui_code, td_tui_calls, td_tui_diff,
    td_tui_help;

/* Puts a page of `function` of `module` on top and builds it. */
struct td_tui_page *td_tui_push(struct td_tui *tui, const struct td_tui_page_ops *ops,
                                uint32_t function, uint32_t module, bool assembly);
/* Makes what the page shows; page->len is 0 until it is whole. */
void td_tui_build(struct td_tui *tui, struct td_tui_page *page);
/* Takes the top page away; the last one stays. */
void td_tui_pop(struct td_tui *tui);
/* Source lines of a function, or instructions where there are none. */
void td_tui_open_code(struct td_tui *tui, uint32_t function, uint32_t module);
/* The same for the function of this name; false when none in the tables has it. */
bool td_tui_open_named(struct td_tui *tui, const char *name);
/* Who calls it and what it calls; the callees are selected if so said. */
void td_tui_open_calls(struct td_tui *tui, uint32_t function, uint32_t module, bool callees);
/* What changed since tui->other. */
void td_tui_open_diff(struct td_tui *tui);
void td_tui_say(struct td_tui *tui, const char *format, ...) __attribute__((format(printf, 2, 3)));
void td_tui_select(struct td_tui *tui, struct td_tui_page *page, size_t index);
/* Rows for the page's own lines. */
unsigned td_tui_body(const struct td_tui *tui);
/* The metric that rows are looked at by: the category's, else the primary. */
enum td_metric td_tui_metric(const struct td_tui *tui);
/* The function's name, or "[unknown] of MODULE". */
void td_tui_name(const struct td_model *model, uint32_t function, uint32_t module, char *dst,
                 size_t size);

/* Cells (figures.c). Each begins at the row's end and takes a fixed width, in blanks where there is
 * nothing to say. */
#define TD_TUI_SHARE_WIDTH 6
void td_tui_put_share(struct td_tui *tui, unsigned row, uint64_t value, enum td_metric metric);
void td_tui_put_node(struct td_tui *tui, unsigned row, enum td_tma_node node, double share,
                     bool blank);
unsigned td_tui_node_width(enum td_tma_node node);
/* Whether the measure has slots of this node. */
bool td_tui_has(const struct td_tui *tui, enum td_tma_node node);

#endif
