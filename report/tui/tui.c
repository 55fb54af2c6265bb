/* SPDX-License-Identifier: MIT */
#include "report/tui/tui.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/frames.h"
#include "report/query/figures/measure.h"
#include "report/query/figures/names.h"
#include "report/tui/tui_priv.h"

#define HEAD_ROWS  2 /* title, headings */
#define FOOT_ROWS  2 /* detail, keys */
#define SHIFT_STEP 8

struct td_tui *td_tui_new(const struct td_tui_opts *opts, const struct td_tui_host *host)
{
    struct td_tui *tui = td_xcalloc(1, sizeof(*tui));

    tui->opts = *opts;
    tui->host = *host;
    tui->category = TD_NODE_NONE;
    td_canvas_init(&tui->canvas, 24, 80, opts->utf8);
    td_tui_push(tui, &td_tui_functions, TD_NONE, TD_NONE, false);
    return tui;
}

static void release_page(struct td_tui_page *page)
{
    if (page->ops->release)
        page->ops->release(page);
    free(page->function_name);
    free(page->module_path);
    *page = (struct td_tui_page){.ops = NULL};
}

void td_tui_free(struct td_tui *tui)
{
    if (!tui)
        return;
    while (tui->page_count > 0)
        release_page(&tui->pages[--tui->page_count]);
    td_rows_release(&tui->rows);
    td_canvas_release(&tui->canvas);
    free(tui);
}

void td_tui_name(const struct td_model *model, uint32_t function, uint32_t module, char *dst,
                 size_t size)
{
    if (function != TD_NONE)
        snprintf(dst, size, "%s", td_model_string(model, td_model_function(model, function)->name));
    else if (module != TD_NONE)
        snprintf(dst, size, TD_UNNAMED_OF "%s", td_module_name(model, module));
    else
        snprintf(dst, size, "[unknown]");
}

enum td_metric td_tui_metric(const struct td_tui *tui)
{
    return tui->category == TD_NODE_NONE ? tui->primary : td_metric_of_node(tui->category);
}

unsigned td_tui_body(const struct td_tui *tui)
{
    return tui->canvas.rows > HEAD_ROWS + FOOT_ROWS ? tui->canvas.rows - HEAD_ROWS - FOOT_ROWS : 1;
}

void td_tui_say(struct td_tui *tui, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(tui->message, sizeof(tui->message), format, args);
    va_end(args);
}

/* Keeps the selected row on the screen. */
static void scroll(const struct td_tui *tui, struct td_tui_page *page)
{
    const size_t body = td_tui_body(tui);

    if (page->selected >= page->len)
        page->selected = page->len > 0 ? page->len - 1 : 0;
    if (page->selected < page->top)
        page->top = page->selected;
    if (page->selected >= page->top + body)
        page->top = page->selected - body + 1;
    if (page->top + body > page->len)
        page->top = page->len > body ? page->len - body : 0;
}

/* A row that is not on the screen comes into its middle. */
void td_tui_select(struct td_tui *tui, struct td_tui_page *page, size_t index)
{
    const size_t body = td_tui_body(tui);

    page->selected = index;
    if (index < page->top || index >= page->top + body)
        page->top = index > body / 2 ? index - body / 2 : 0;
    scroll(tui, page);
}

void td_tui_pop(struct td_tui *tui)
{
    if (tui->page_count > 1)
        release_page(&tui->pages[--tui->page_count]);
}

void td_tui_build(struct td_tui *tui, struct td_tui_page *page)
{
    tui->building++;
    page->len = 0;
    page->ops->build(tui, page);
    tui->building--;
}

/* The lowest page but one gives way when there are too many. */
struct td_tui_page *td_tui_push(struct td_tui *tui, const struct td_tui_page_ops *ops,
                                uint32_t function, uint32_t module, bool assembly)
{
    if (tui->page_count == TD_TUI_PAGES) {
        release_page(&tui->pages[1]);
        memmove(&tui->pages[1], &tui->pages[2], (TD_TUI_PAGES - 2) * sizeof(tui->pages[0]));
        tui->page_count--;
    }
    struct td_tui_page *page = &tui->pages[tui->page_count++];
    *page = (struct td_tui_page){
        .ops = ops, .function = function, .module = module, .assembly = assembly};
    if (function != TD_NONE)
        page->function_name =
            td_xstrdup(td_model_string(tui->model, td_model_function(tui->model, function)->name));
    if (module != TD_NONE)
        page->module_path =
            td_xstrdup(td_model_string(tui->model, td_model_module(tui->model, module)->path));
    td_tui_build(tui, page);
    return page;
}

static bool has_path(const struct td_model *model, uint32_t module, const char *path)
{
    return module != TD_NONE &&
           strcmp(td_model_string(model, td_model_module(model, module)->path), path) == 0;
}

/* What the page is of, in the model that is shown now. */
static bool find_again(const struct td_tui *tui, struct td_tui_page *page)
{
    if (!page->function_name && !page->module_path)
        return true;
    for (size_t i = 0; i < tui->rows.len; i++) {
        const struct td_row *r = &tui->rows.at[i];
        const bool same_name =
            page->function_name ? r->function != TD_NONE &&
                                      strcmp(td_row_name(&tui->rows, r), page->function_name) == 0
                                : r->function == TD_NONE;

        if (!same_name ||
            (page->module_path && !has_path(tui->model, r->module, page->module_path)))
            continue;
        page->function = r->function;
        page->module = r->module;
        return true;
    }
    return false;
}

static void rebuild(struct td_tui *tui)
{
    size_t kept = 1;

    for (size_t i = 1; i < tui->page_count; i++) {
        struct td_tui_page page = tui->pages[i];

        if (!find_again(tui, &page)) {
            release_page(&page);
            continue;
        }
        td_tui_build(tui, &page);
        tui->pages[kept++] = page;
    }
    tui->page_count = kept;
}

/* The function that is selected on the first page, by its name; the caller frees it. */
static char *selected_name(const struct td_tui *tui)
{
    const struct td_tui_page *page = &tui->pages[0];
    char name[TD_TUI_TEXT];

    if (!tui->measure || page->selected == 0 || page->selected >= page->len)
        return NULL;
    page->ops->text(tui, page, page->selected, name, sizeof(name));
    return td_xstrdup(name);
}

void td_tui_show(struct td_tui *tui, struct td_model *model, const struct td_measure *measure)
{
    struct td_tui_page *first = &tui->pages[0];
    char *selected = selected_name(tui);
    char name[TD_TUI_TEXT];

    tui->building++; /* until the last page: one that is whole may lie under one that is not */
    for (size_t i = 0; i < tui->page_count; i++) {
        if (tui->pages[i].ops->release)
            tui->pages[i].ops->release(&tui->pages[i]);
    }
    tui->model = model;
    tui->measure = measure;
    tui->primary = td_measure_primary(measure);
    if (tui->category != TD_NODE_NONE && !td_tui_has(tui, tui->category))
        tui->category = TD_NODE_NONE;
    if (tui->sort.by == TD_SORT_VALUE)
        tui->sort.metric = td_tui_metric(tui);
    td_tui_build(tui, first);
    for (size_t i = 0; selected && i < first->len; i++) {
        first->ops->text(tui, first, i, name, sizeof(name));
        if (strcmp(name, selected) == 0) {
            td_tui_select(tui, first, i);
            break;
        }
    }
    free(selected);
    rebuild(tui);
    tui->building--;
}

void td_tui_wait(struct td_tui *tui, const char *text, bool only_moving)
{
    tui->only_moving = only_moving;
    snprintf(tui->wait, sizeof(tui->wait), "%s", text ? text : "");
}

void td_tui_resize(struct td_tui *tui, unsigned rows, unsigned columns)
{
    td_canvas_release(&tui->canvas);
    td_canvas_init(&tui->canvas, rows, columns, tui->opts.utf8);
}

/* ---- what keys do ---- */

/* The next category of which the profile has any slots; after the last, none. */
static void next_category(struct td_tui *tui, int step)
{
    const int count = TD_NODE_COUNT + 1; /* one more for all of them together */
    int at = tui->category == TD_NODE_NONE ? TD_NODE_COUNT : (int)tui->category;

    if (!tui->measure->values[TD_METRIC_SLOTS]) {
        td_tui_say(tui, "this profile has no categories (tdrec --source sim, or a PMU, has)");
        return;
    }
    do
        at = (at + step + count) % count;
    while (at != TD_NODE_COUNT && (!td_tui_has(tui, (enum td_tma_node)at) ||
                                   tui->measure->totals[TD_METRIC_FIRST_NODE + at] == 0));
    tui->category = at == TD_NODE_COUNT ? TD_NODE_NONE : (enum td_tma_node)at;
    tui->sort = (struct td_sort){.by = TD_SORT_VALUE, .metric = td_tui_metric(tui)};
    td_rows_sort(&tui->rows, tui->sort);
    td_tui_select(tui, &tui->pages[0], 0);
    if (tui->category == TD_NODE_NONE)
        td_tui_say(tui, "all categories together");
    else
        td_tui_say(tui, "%s: %s", td_tma_info(tui->category)->id,
                   td_tma_info(tui->category)->meaning);
}

/* What functions can be sorted by, in the order of the key: costs, then names. */
static size_t sorts_of(const struct td_tui *tui, struct td_sort *sorts)
{
    const enum td_metric costs[] = {td_tui_metric(tui), tui->primary, TD_METRIC_TIME_NS,
                                    TD_METRIC_SAMPLES};
    size_t count = 0;

    for (size_t i = 0; i < TD_ARRAY_SIZE(costs); i++) {
        bool known = tui->measure->values[costs[i]] != NULL;

        for (size_t k = 0; k < count && known; k++)
            known = sorts[k].metric != costs[i];
        if (known)
            sorts[count++] = (struct td_sort){.by = TD_SORT_VALUE, .metric = costs[i]};
    }
    sorts[count++] = (struct td_sort){.by = TD_SORT_NAME};
    sorts[count++] = (struct td_sort){.by = TD_SORT_MODULE};
    return count;
}

static void next_sort(struct td_tui *tui)
{
    struct td_sort sorts[6] = {{.by = TD_SORT_VALUE}};
    const size_t count = sorts_of(tui, sorts);
    size_t at = 0;

    while (at < count && !(sorts[at].by == tui->sort.by &&
                           (sorts[at].by != TD_SORT_VALUE || sorts[at].metric == tui->sort.metric)))
        at++;
    tui->sort = sorts[at + 1 < count ? at + 1 : 0];
    td_rows_sort(&tui->rows, tui->sort);
    td_tui_select(tui, &tui->pages[0], 0);
    td_tui_say(tui, "sorted by %s",
               tui->sort.by == TD_SORT_VALUE  ? td_metric_id(tui->sort.metric)
               : tui->sort.by == TD_SORT_NAME ? "name"
                                              : "module");
}

/* The line of all that costs most: its function is opened there. */
static void open_hottest(struct td_tui *tui)
{
    struct td_rows lines;
    const struct td_row *best = NULL;

    td_rows_init(&lines, tui->measure, TD_ROWS_LINES, tui->opts.no_inline);
    td_rows_sort(&lines, (struct td_sort){.by = TD_SORT_VALUE, .metric = td_tui_metric(tui)});
    for (size_t i = 0; i < lines.len && !best; i++) {
        if (lines.at[i].line > 0 && lines.at[i].function != TD_NONE &&
            lines.at[i].values[td_tui_metric(tui)] > 0)
            best = &lines.at[i];
    }
    if (best)
        td_tui_open_code(tui, best->function, best->module);
    else if (lines.len > 0)
        td_tui_say(tui, "no line is known: Enter shows a function's instructions");
    td_rows_release(&lines);
}

static void go_to_hottest(struct td_tui *tui)
{
    struct td_tui_page *page = td_tui_top(tui);
    const size_t at = page->ops->hottest ? page->ops->hottest(tui, page) : SIZE_MAX;

    if (page->ops == &td_tui_functions)
        open_hottest(tui);
    else if (at != SIZE_MAX)
        td_tui_select(tui, page, at);
    else
        td_tui_say(tui, "no line here costs anything");
}

static void toggle_assembly(struct td_tui *tui)
{
    struct td_tui_page *page = td_tui_top(tui);

    if (page->ops == &td_tui_functions && page->len > 0) {
        page->ops->open(tui, page);
        page = td_tui_top(tui);
        if (page->assembly)
            return;
    }
    if (page->ops != &td_tui_code)
        return;
    if (page->function == TD_NONE) {
        td_tui_say(tui, "code without names has no source lines");
        return;
    }
    page->ops->release(page);
    page->assembly = !page->assembly;
    page->shift = 0;
    td_tui_build(tui, page);
    page->top = 0;
    const size_t at = page->ops->hottest(tui, page);
    td_tui_select(tui, page, at == SIZE_MAX ? 0 : at);
    if (!page->assembly && at == SIZE_MAX)
        td_tui_say(tui, "no source line of it is known");
}

static void open_calls(struct td_tui *tui, bool callees)
{
    const struct td_tui_page *page = td_tui_top(tui);

    if (page->ops == &td_tui_functions && page->selected < tui->rows.len) {
        const struct td_row *r = &tui->rows.at[page->selected];

        td_tui_open_calls(tui, r->function, r->module, callees);
    } else if (page->ops == &td_tui_code || page->ops == &td_tui_calls) {
        td_tui_open_calls(tui, page->function, page->module, callees);
    }
}

/* `what` is in `text`; in any case of letters when it has no capital of its own. */
static bool contains(const char *text, const char *what)
{
    for (const char *p = what; *p; p++) {
        if (isupper((unsigned char)*p))
            return strstr(text, what) != NULL;
    }
    return strcasestr(text, what) != NULL;
}

static void search(struct td_tui *tui, int step)
{
    struct td_tui_page *page = td_tui_top(tui);
    char text[TD_TUI_TEXT];

    if (!tui->search[0]) {
        td_tui_say(tui, "nothing to search for: / begins a search");
        return;
    }
    for (size_t i = 1; i <= page->len; i++) {
        const size_t at =
            (page->selected + (step > 0 ? i : page->len * 2 - i)) % (page->len ? page->len : 1);

        page->ops->text(tui, page, at, text, sizeof(text));
        if (!contains(text, tui->search))
            continue;
        if (step > 0 ? at <= page->selected : at >= page->selected)
            td_tui_say(tui, "the search went on at the %s", step > 0 ? "top" : "end");
        td_tui_select(tui, page, at);
        return;
    }
    td_tui_say(tui, "no row has '%s'", tui->search);
}

/* Appends a character as UTF-8. */
static void append(char *text, size_t size, uint32_t c)
{
    char *end = text + strlen(text);

    if (end + 5 > text + size)
        return;
    if (c < 0x80) {
        *end++ = (char)c;
    } else if (c < 0x800) {
        *end++ = (char)(0xc0 | c >> 6);
        *end++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *end++ = (char)(0xe0 | c >> 12);
        *end++ = (char)(0x80 | (c >> 6 & 0x3f));
        *end++ = (char)(0x80 | (c & 0x3f));
    } else {
        *end++ = (char)(0xf0 | c >> 18);
        *end++ = (char)(0x80 | (c >> 12 & 0x3f));
        *end++ = (char)(0x80 | (c >> 6 & 0x3f));
        *end++ = (char)(0x80 | (c & 0x3f));
    }
    *end = '\0';
}

/* Takes the last character away; false when there is none. */
static bool take_back(char *text)
{
    size_t len = strlen(text);

    if (len == 0)
        return false;
    do
        len--;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80);
    text[len] = '\0';
    return true;
}

static void end_typing(struct td_tui *tui)
{
    const bool file = tui->typing == TYPE_FILE;

    tui->typing = TYPE_NOTHING;
    if (!file)
        search(tui, 1);
    else if (tui->other[0])
        td_tui_open_diff(tui);
}

/* A key while a text is typed. */
static void type(struct td_tui *tui, uint32_t key)
{
    char *text = tui->typing == TYPE_SEARCH ? tui->search : tui->other;

    if (key == TD_TUI_ENTER || key == '\r') {
        end_typing(tui);
    } else if (key == TD_TUI_ESCAPE) {
        tui->typing = TYPE_NOTHING;
        text[0] = '\0';
    } else if (key == TD_TUI_BACKSPACE || key == '\b') {
        if (!take_back(text))
            tui->typing = TYPE_NOTHING;
    } else if (key >= ' ' && key < TD_TUI_UP) {
        append(text, TD_TUI_TYPED, key);
    }
}

static bool move(struct td_tui *tui, enum td_tui_action action)
{
    struct td_tui_page *page = td_tui_top(tui);
    const size_t body = td_tui_body(tui), last = page->len > 0 ? page->len - 1 : 0;
    size_t at = page->selected;

    switch ((int)action) {
    case TD_TUI_MOVE_UP: at -= at > 0; break;
    case TD_TUI_MOVE_DOWN: at += at < last; break;
    case TD_TUI_MOVE_PAGE_UP: at = at > body ? at - body : 0; break;
    case TD_TUI_MOVE_PAGE_DOWN: at = at + body < last ? at + body : last; break;
    case TD_TUI_MOVE_FIRST: at = 0; break;
    case TD_TUI_MOVE_LAST: at = last; break;
    case TD_TUI_SHIFT_LEFT: page->shift -= page->shift > 0 ? SHIFT_STEP : 0; return true;
    case TD_TUI_SHIFT_RIGHT: page->shift += page->shift < TD_TUI_TEXT ? SHIFT_STEP : 0; return true;
    default: return false;
    }
    page->selected = at;
    scroll(tui, page);
    return true;
}

/* Keys that need a profile. */
static void act(struct td_tui *tui, enum td_tui_action action)
{
    struct td_tui_page *page = td_tui_top(tui);

    switch ((int)action) {
    case TD_TUI_OPEN:
        if (page->ops->open && page->selected < page->len)
            page->ops->open(tui, page);
        break;
    case TD_TUI_ASM: toggle_assembly(tui); break;
    case TD_TUI_CALLERS: open_calls(tui, false); break;
    case TD_TUI_CALLEES: open_calls(tui, true); break;
    case TD_TUI_CATEGORY: next_category(tui, 1); break;
    case TD_TUI_CATEGORY_BACK: next_category(tui, -1); break;
    case TD_TUI_SORT: next_sort(tui); break;
    case TD_TUI_SEARCH:
        tui->typing = TYPE_SEARCH;
        tui->search[0] = '\0';
        break;
    case TD_TUI_DIFF:
        tui->typing = TYPE_FILE;
        tui->other[0] = '\0';
        break;
    case TD_TUI_NEXT: search(tui, 1); break;
    case TD_TUI_PREVIOUS: search(tui, -1); break;
    case TD_TUI_HOTTEST: go_to_hottest(tui); break;
    default: break;
    }
}

bool td_tui_press(struct td_tui *tui, uint32_t key)
{
    const enum td_tui_action action = td_tui_action_of(key);

    tui->message[0] = '\0';
    if (tui->typing != TYPE_NOTHING) {
        type(tui, key);
        return true;
    }
    /* Esc is the first byte of many keys: on a slow line a part of one shall not end the program.
     */
    if (action == TD_TUI_QUIT || (key == 'q' && tui->page_count == 1))
        return false;
    if (action == TD_TUI_LEAVE && tui->page_count == 1)
        td_tui_say(tui, "q leaves");
    else if (action == TD_TUI_LEAVE)
        td_tui_pop(tui);
    else if (action == TD_TUI_HELP && td_tui_top(tui)->ops != &td_tui_help)
        td_tui_push(tui, &td_tui_help, TD_NONE, TD_NONE, false);
    else if (move(tui, action) || !tui->measure)
        return true;
    else if (tui->only_moving && action != TD_TUI_NOTHING)
        td_tui_say(tui, "a moment: %s", tui->wait);
    else
        act(tui, action);
    return true;
}

/* ---- what is shown ---- */

static void draw_title(struct td_tui *tui, const struct td_tui_page *page)
{
    struct td_canvas *canvas = &tui->canvas;
    char text[TD_TUI_TEXT] = "";
    const struct td_style style = td_canvas_style(canvas);
    char name[TD_TUI_TEXT];

    if (tui->measure || page->ops == &td_tui_help)
        page->ops->title(tui, page, text, sizeof(text));
    const char *slash = strrchr(tui->opts.name, '/');
    td_fit_text(&style, name, sizeof(name), slash ? slash + 1 : tui->opts.name,
                canvas->columns / 3);
    td_canvas_put(canvas, 0, TD_TONE_HEADING, name);
    td_canvas_put(canvas, 0, TD_TONE_PLAIN, "  ");
    if (tui->category != TD_NODE_NONE && page->ops != &td_tui_functions) {
        td_canvas_put(canvas, 0, TD_TONE_WARM, td_tma_info(tui->category)->id);
        td_canvas_put(canvas, 0, TD_TONE_PLAIN, "  ");
    }
    if (tui->measure && td_measure_is_modelled(tui->measure))
        td_canvas_put(canvas, 0, TD_TONE_PLAIN, "modelled  ");
    td_canvas_put(canvas, 0, TD_TONE_PLAIN, text);
}

static void draw_rows(struct td_tui *tui, struct td_tui_page *page)
{
    const unsigned body = td_tui_body(tui);

    if (page->ops->headings)
        page->ops->headings(tui, page, 1);
    for (unsigned i = 0; i < body && page->top + i < page->len; i++) {
        page->ops->draw(tui, page, page->top + i, HEAD_ROWS + i);
        if (page->top + i == page->selected)
            td_canvas_select(&tui->canvas, HEAD_ROWS + i);
    }
}

/* The last line: the search while it is typed, a message, else what keys do here. */
static void draw_foot(struct td_tui *tui, const struct td_tui_page *page, unsigned row)
{
    struct td_canvas *canvas = &tui->canvas;

    if (tui->typing != TYPE_NOTHING) {
        td_canvas_put(canvas, row, TD_TONE_HEADING,
                      tui->typing == TYPE_SEARCH ? "/" : "what changed since the file: ");
        td_canvas_putf(canvas, row, TD_TONE_PLAIN, "%s_",
                       tui->typing == TYPE_SEARCH ? tui->search : tui->other);
        return;
    }
    if (tui->message[0]) {
        td_canvas_put(canvas, row, TD_TONE_NOTE, tui->message);
        return;
    }
    if (tui->wait[0])
        td_canvas_putf(canvas, row, TD_TONE_WARM, "%s  ", tui->wait);
    for (const struct td_tui_key *key = td_tui_keys; key->keys; key++) {
        if (!key->hint || (key->action == TD_TUI_OPEN && !page->ops->open))
            continue;
        const size_t first = strcspn(key->keys, ",");
        const bool last = key->action == TD_TUI_LEAVE && tui->page_count == 1;
        const char *hint = last ? "leave" : key->hint;
        if (td_canvas_used(canvas, row) + first + strlen(hint) + 1 > canvas->columns)
            return;
        td_canvas_putf(canvas, row, TD_TONE_HEADING, "%.*s", last ? 1 : (int)first,
                       last ? "q" : key->keys);
        td_canvas_putf(canvas, row, TD_TONE_PLAIN, " %s  ", hint);
    }
}

/* What the host does while a page is made may ask for the screen: then all but the last line stays
 * as it was. */
static const struct td_canvas *draw_waiting(struct td_tui *tui)
{
    const unsigned last = tui->canvas.rows - 1;

    td_canvas_clear_row(&tui->canvas, last);
    if (last > 0)
        draw_foot(tui, td_tui_top(tui), last);
    return &tui->canvas;
}

const struct td_canvas *td_tui_draw(struct td_tui *tui)
{
    struct td_tui_page *page = td_tui_top(tui);
    struct td_canvas *canvas = &tui->canvas;

    if (tui->building > 0)
        return draw_waiting(tui);
    td_canvas_clear(canvas);
    scroll(tui, page);
    draw_title(tui, page);
    if (tui->measure || page->ops == &td_tui_help)
        draw_rows(tui, page);
    if (canvas->rows > HEAD_ROWS + FOOT_ROWS && page->selected < page->len && page->ops->detail)
        page->ops->detail(tui, page, canvas->rows - 2);
    if (canvas->rows > 1)
        draw_foot(tui, page, canvas->rows - 1);
    return canvas;
}
