/* SPDX-License-Identifier: MIT */
#include "report/view/table/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/query/figures/replicated.h"
#include "report/query/figures/tree.h"
#include "report/view/table/mostly.h"

#define WEIGHT_MIN  0.01 /* of all: a smaller row brings no column */
#define GAP         2    /* blanks between columns */
#define MOSTLY_STEP 4    /* TD_MOSTLY_WIDTH is a multiple of it */
#define STRETCH_MIN 10   /* a stretching column is not made narrower */
#define CELL_BYTES  4096

struct cell {
    const char *text; /* escaped, not yet fitted */
    unsigned width;
    enum td_tone tone;
};

struct layout {
    const struct td_table *table;
    const struct td_style *style;
    struct td_arena arena;
    struct cell *cells; /* shown x column_count */
    unsigned widths[TD_TABLE_FIELDS_MAX];
};

struct td_table td_table_of(const struct td_rows *rows, size_t shown, unsigned indent)
{
    return (struct td_table){.rows = rows,
                             .shown = shown < rows->len ? shown : rows->len,
                             .indent = indent,
                             .mostly_width = TD_MOSTLY_WIDTH};
}

void td_table_add(struct td_table *table, const struct td_field *field, enum td_metric metric)
{
    assert(table->column_count < TD_TABLE_FIELDS_MAX);
    table->columns[table->column_count++] =
        (struct td_table_column){.field = field, .metric = metric};
}

void td_table_add_cost(struct td_table *table)
{
    const struct td_measure *measure = table->rows->measure;
    const enum td_metric primary = table->rows->primary;

    td_table_add(table, &td_field_share, primary);
    if (measure->attribution != TD_ATTRIBUTION_EXACT || measure->weighted ||
        td_replicated_is(measure))
        td_table_add(table, &td_field_error, primary);
    if (measure->values[TD_METRIC_TIME_NS])
        td_table_add(table, &td_field_value, TD_METRIC_TIME_NS);
    else if (primary != TD_METRIC_SLOTS)
        td_table_add(table, &td_field_value, primary);
}

/* Some row of weight that is shown has so much of it that it is high there. */
static bool is_reached(const struct td_table *table, enum td_tma_node node)
{
    for (size_t i = 0; i < table->shown; i++) {
        const struct td_row *row = &table->rows->at[i];
        const struct td_cell cell = td_row_cell(table->rows, row, node);

        if (!cell.thin && td_row_share(table->rows, row) >= WEIGHT_MIN &&
            cell.share >= td_tree_threshold(node))
            return true;
    }
    return false;
}

void td_table_add_nodes(struct td_table *table, int level)
{
    if (level == 0 && table->rows->measure->values[TD_METRIC_SLOTS])
        td_table_add(table, &td_field_mostly, table->rows->primary);
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const struct td_tma_info *info = td_tma_info((enum td_tma_node)n);
        const enum td_metric metric = (enum td_metric)(TD_METRIC_FIRST_NODE + n);

        if (info->level <= level && table->rows->measure->values[metric] &&
            is_reached(table, (enum td_tma_node)n))
            td_table_add(table, &td_field_node, metric);
    }
}

static const char *heading_of(const struct layout *l, const struct td_table_column *column)
{
    if (column->field->heading)
        return column->field->heading(l->style, l->table, column);
    return td_metric_heading(l->table->rows->measure, column->metric);
}

static void fit(const struct layout *l, size_t c, const char *text, char *dst, size_t size)
{
    const struct td_field *field = l->table->columns[c].field;

    (field->fit ? field->fit : td_fit_text)(l->style, dst, size, text, l->widths[c]);
}

static void fill_cells(struct layout *l)
{
    const struct td_table *t = l->table;
    char text[CELL_BYTES];

    td_arena_release(&l->arena); /* of a layout that had too many columns */
    for (size_t c = 0; c < t->column_count; c++)
        l->widths[c] = (unsigned)td_text_width(heading_of(l, &t->columns[c]));
    for (size_t r = 0; r < t->shown; r++) {
        for (size_t c = 0; c < t->column_count; c++) {
            struct cell *cell = &l->cells[r * t->column_count + c];

            text[0] = '\0';
            cell->tone =
                t->columns[c].field->cell(t, &t->columns[c], &t->rows->at[r], text, sizeof(text));
            cell->text = td_arena_copy(&l->arena, text, strlen(text));
            char safe[CELL_BYTES];
            td_text_safe(safe, sizeof(safe), text, strlen(text));
            cell->width = (unsigned)td_text_width(safe);
            if (cell->width > l->widths[c])
                l->widths[c] = cell->width;
        }
    }
}

/* What is settled of the columns that stretch is taken from *left, the parts of the others are
 * added up. */
static unsigned parts_of(const struct layout *l, const bool *settled, unsigned *left)
{
    const struct td_table *t = l->table;
    unsigned parts = 0;

    for (size_t c = 0; c < t->column_count; c++) {
        if (t->columns[c].field->stretch > 0 && settled[c])
            *left = *left > l->widths[c] ? *left - l->widths[c] : 0;
        else
            parts += t->columns[c].field->stretch;
    }
    return parts;
}

/* Settles a column that needs less than its part, or else one that has to have more; false when
 * there is none. */
static bool settle_one(struct layout *l, bool *settled, unsigned left, unsigned parts)
{
    const struct td_table *t = l->table;
    size_t narrow = t->column_count;

    for (size_t c = 0; c < t->column_count && parts > 0; c++) {
        const unsigned part = left * t->columns[c].field->stretch / parts;

        if (t->columns[c].field->stretch == 0 || settled[c])
            continue;
        if (l->widths[c] <= part) {
            settled[c] = true;
            return true;
        }
        if (part < STRETCH_MIN && narrow == t->column_count)
            narrow = c;
    }
    if (narrow == t->column_count)
        return false;
    l->widths[narrow] = l->widths[narrow] < STRETCH_MIN ? l->widths[narrow] : STRETCH_MIN;
    settled[narrow] = true;
    return true;
}

/* Shares the room among the columns that stretch, by their parts: what one does not need is the
 * others', and what one has to have beyond its part is theirs no more. */
static void share_room(struct layout *l, unsigned room)
{
    const struct td_table *t = l->table;
    bool settled[TD_TABLE_FIELDS_MAX] = {false};
    unsigned parts = 0, left = 0;

    do {
        left = room;
        parts = parts_of(l, settled, &left);
    } while (settle_one(l, settled, left, parts));
    for (size_t c = 0; c < t->column_count && parts > 0; c++) {
        if (t->columns[c].field->stretch > 0 && !settled[c])
            l->widths[c] = left * t->columns[c].field->stretch / parts;
    }
}

/* What the cells of a column that stretches really take once they are made to fit. */
static unsigned fitted_width(const struct layout *l, size_t c)
{
    unsigned widest = (unsigned)td_text_width(heading_of(l, &l->table->columns[c]));
    char text[CELL_BYTES];

    for (size_t r = 0; r < l->table->shown; r++) {
        fit(l, c, l->cells[r * l->table->column_count + c].text, text, sizeof(text));
        const unsigned width = (unsigned)td_text_width(text);
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* Fixed columns get what they need. What is left is shared twice: names that were shortened often
 * end up shorter than their part, and then the other columns get the rest. */
static void lay_out(struct layout *l)
{
    const struct td_table *t = l->table;
    unsigned used = t->indent;
    unsigned natural[TD_TABLE_FIELDS_MAX];

    if (l->style->full)
        return;
    for (size_t c = 0; c < t->column_count; c++) {
        used += c > 0 ? GAP : 0;
        if (t->columns[c].field->stretch == 0)
            used += l->widths[c];
    }
    const unsigned room = l->style->width > used ? l->style->width - used : 0;
    memcpy(natural, l->widths, sizeof(natural));
    share_room(l, room);
    for (size_t c = 0; c < t->column_count; c++) {
        const unsigned taken = t->columns[c].field->stretch ? fitted_width(l, c) : l->widths[c];
        l->widths[c] = taken < l->widths[c] ? taken : natural[c];
    }
    share_room(l, room);
}

/* Blanks wait in *pending until something follows them, so that no line ends in blanks. */
static void print_cell(const struct layout *l, size_t c, const char *text, enum td_tone tone,
                       unsigned *pending)
{
    const struct td_style *style = l->style;
    char fitted[CELL_BYTES];

    fit(l, c, text, fitted, sizeof(fitted));
    const unsigned width = (unsigned)td_text_width(fitted);
    const unsigned pad = l->widths[c] > width ? l->widths[c] - width : 0;
    const bool right = l->table->columns[c].field->right;

    *pending += right ? pad : 0;
    if (width > 0) {
        fprintf(style->out, "%*s", (int)*pending, "");
        td_style_begin(style, tone);
        fputs(fitted, style->out);
        td_style_end(style, tone);
        *pending = 0;
    }
    *pending += GAP + (right ? 0 : pad);
}

static void print_headings(const struct layout *l)
{
    unsigned pending = l->table->indent;

    for (size_t c = 0; c < l->table->column_count; c++)
        print_cell(l, c, heading_of(l, &l->table->columns[c]), TD_TONE_HEADING, &pending);
    fputc('\n', l->style->out);
}

static void print_row(const struct layout *l, size_t r)
{
    const struct cell *cells = &l->cells[r * l->table->column_count];
    unsigned pending = l->table->indent;

    for (size_t c = 0; c < l->table->column_count; c++)
        print_cell(l, c, cells[c].text, cells[c].tone, &pending);
    fputc('\n', l->style->out);
}

/* Whether texts would get less than TD_TEXT_MIN columns, or what they need when that is less. */
static bool is_too_wide(const struct layout *l)
{
    unsigned used = l->table->indent, texts = 0;

    for (size_t c = 0; c < l->table->column_count; c++) {
        used += c > 0 ? GAP : 0;
        *(l->table->columns[c].field->stretch ? &texts : &used) += l->widths[c];
    }
    return !l->style->full && used + (texts < TD_TEXT_MIN ? texts : TD_TEXT_MIN) > l->style->width;
}

/* The category of the columns that has the least slots; column_count: there is none. */
static size_t least_category(const struct td_table *t)
{
    size_t least = t->column_count;

    for (size_t c = 0; c < t->column_count; c++) {
        const uint64_t *totals = t->rows->measure->totals;

        if (t->columns[c].field == &td_field_node &&
            (least == t->column_count ||
             totals[t->columns[c].metric] < totals[t->columns[least].metric]))
            least = c;
    }
    return least;
}

/* Whether rows would be longer than the line, though texts are cut as short as they may be. */
static bool is_beyond(const struct layout *l)
{
    unsigned used = l->table->indent;

    for (size_t c = 0; c < l->table->column_count; c++) {
        const bool cut = l->table->columns[c].field->stretch && l->widths[c] > STRETCH_MIN;

        used += (c > 0 ? GAP : 0) + (cut ? STRETCH_MIN : l->widths[c]);
    }
    return !l->style->full && used > l->style->width;
}

/* Smallest categories give way until the rest has room; then words of what rows are mostly. Returns
 * how many categories did. */
static size_t make_room(struct layout *l, struct td_table *t)
{
    size_t dropped = 0;

    for (fill_cells(l); is_too_wide(l); fill_cells(l)) {
        const size_t least = least_category(t);

        if (least == t->column_count)
            break;
        t->column_count--;
        for (size_t c = least; c < t->column_count; c++)
            t->columns[c] = t->columns[c + 1];
        dropped++;
    }
    for (; is_beyond(l) && t->mostly_width > 0; fill_cells(l))
        t->mostly_width -= MOSTLY_STEP;
    return dropped;
}

void td_table_print(const struct td_table *given, const struct td_style *style)
{
    struct td_table t = *given;
    const struct td_table *table = &t;
    struct layout l = {.table = table, .style = style};

    l.cells = td_xcalloc(table->shown * table->column_count + 1, sizeof(*l.cells));
    const size_t dropped = make_room(&l, &t);
    lay_out(&l);
    print_headings(&l);
    for (size_t r = 0; r < table->shown; r++)
        print_row(&l, r);
    if (dropped > 0) {
        td_style_begin(style, TD_TONE_DIM);
        fprintf(style->out, "%s %zu smaller categor%s without room here (--full shows %s)\n",
                td_style_ellipsis(style), dropped, dropped == 1 ? "y" : "ies",
                dropped == 1 ? "it" : "them");
        td_style_end(style, TD_TONE_DIM);
    }
    td_arena_release(&l.arena);
    free(l.cells);
}
