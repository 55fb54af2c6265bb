/* SPDX-License-Identifier: MIT */
#include "report/query/diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "formats/frames.h"
#include "report/attribution/stats.h"
#include "report/query/diff/diff_priv.h"
#include "report/query/figures/measure.h"

/* Rows below this part of every column are too small to look for a difference in: each row more
 * that is looked at makes chance more likely everywhere. */
#define LEAST_TESTED 0.001

/* From this part of a column on a row is worth a look though it did not change. */
#define LARGE_SHARE 0.01

/* With several runs, what they show counts as this many degrees of freedom of a spread that is
 * found over all rows. */
#define FOUND_FREEDOM 4
#define FOUND_LEAST   0.0005

/* What is kept from making to releasing. */
struct memory {
    int at[TD_DIFF_WHATS]; /* by what: its place among those that are known; -1 */
    unsigned whats;
    struct td_diff_place *places[3]; /* of the total, functions, lines */
    struct td_diff_cell *cells[3];
    char **names; /* made up: "[unknown] of libc.so.6" */
    size_t name_count, name_cap;
};

/* Sums of one kind of rows, by id and side. */
struct table {
    const struct td_diff *diff;
    const struct memory *memory;
    size_t ids;
    struct td_run_sums *sums;     /* by id, side, unit, what */
    struct td_diff_place *places; /* by id, side */
    td_tma_set *thin;             /* by id, side: nodes whose value is not to be shown */
};

static size_t figures_of(const struct memory *memory)
{
    return (size_t)TD_DIFF_UNITS * memory->whats;
}

static struct td_run_sums *sums_at(const struct table *t, size_t id, size_t side,
                                   enum td_diff_unit unit, unsigned what)
{
    return &t->sums[(id * t->diff->column_count + side) * figures_of(t->memory) +
                    (size_t)unit * t->memory->whats + (size_t)t->memory->at[what]];
}

bool td_diff_has(const struct td_diff *diff, unsigned what)
{
    const struct memory *memory = diff->memory;

    return what < TD_DIFF_WHATS && memory->at[what] >= 0;
}

static struct td_diff_cell *cell_at(const struct td_diff *diff, const struct td_diff_row *row,
                                    size_t column, unsigned what, enum td_diff_unit unit)
{
    const struct memory *memory = diff->memory;

    return &row->cells[((size_t)unit * memory->whats + (size_t)memory->at[what]) *
                           diff->column_count +
                       column];
}

const struct td_diff_cell *td_diff_cell_of(const struct td_diff *diff,
                                           const struct td_diff_row *row, size_t column,
                                           unsigned what, enum td_diff_unit unit)
{
    if (!td_diff_has(diff, what) || (unit == TD_DIFF_SLOTS && !diff->has_slots))
        return NULL;
    return cell_at(diff, row, column, what, unit);
}

const struct td_diff_place *td_diff_place_of(const struct td_diff *diff,
                                             const struct td_diff_row *row, size_t column)
{
    if (row->places[column].there)
        return &row->places[column];
    for (size_t c = diff->column_count; c-- > 0;) {
        if (row->places[c].there)
            return &row->places[c];
    }
    return &row->places[column];
}

double td_diff_part(const struct td_diff *diff, double delta)
{
    const double old = cell_at(diff, &diff->total, 0, TD_DIFF_WHOLE, TD_DIFF_COST)->value;

    return old > 0 ? delta / old : NAN;
}

static void set_whats(struct td_diff *diff, struct memory *memory)
{
    for (unsigned what = 0; what < TD_DIFF_WHATS; what++) {
        const bool known = what == TD_DIFF_WHOLE || (diff->nodes >> (what - 1) & 1);

        memory->at[what] = known ? (int)memory->whats++ : -1;
    }
}

/* Functions. */

/* A name is at least this; td_match_name borrows the module's. */
static const char *module_of(struct memory *memory, const struct td_model *model, uint32_t module)
{
    const char *name = td_module_name(model, module);
    const char *program = td_model_env(model, TD_ENV_ARGV);
    size_t len = 0;
    const char *same = td_match_module(name, program, &len);

    if (same[len] == '\0')
        return same;
    memory->names =
        td_grow(memory->names, &memory->name_cap, memory->name_count + 1, sizeof(*memory->names));
    memory->names[memory->name_count++] = td_xstrndup(same, len);
    return memory->names[memory->name_count - 1];
}

/* Module names of one source, each made once. */
static const char **modules_of(struct memory *memory, const struct td_model *model)
{
    const uint32_t count = td_model_module_count(model);
    const char **modules = td_xcalloc((size_t)count + 1, sizeof(*modules));

    for (uint32_t m = 0; m < count; m++)
        modules[m] = module_of(memory, model, m);
    return modules;
}

/* Numbers the functions of all sources; returns how many there are. */
static uint32_t number_functions(struct memory *memory, struct td_diff_source *sources,
                                 size_t count)
{
    struct td_match_name *names = NULL;
    uint32_t *sides = NULL, *ids = NULL;
    size_t len = 0, all = 0;

    for (size_t i = 0; i < count; i++)
        all += sources[i].functions.len;
    names = td_xcalloc(all + 1, sizeof(*names));
    sides = td_xcalloc(all + 1, sizeof(*sides));
    ids = td_xcalloc(all + 1, sizeof(*ids));
    for (size_t i = 0; i < count; i++) {
        const struct td_rows *rows = &sources[i].functions;
        const struct td_model *model = rows->measure->model;
        const char **modules = modules_of(memory, model);

        for (size_t r = 0; r < rows->len; r++) {
            const struct td_row *row = &rows->at[r];

            sides[len] = (uint32_t)sources[i].side;
            names[len++] = (struct td_match_name){
                .name = row->function == TD_NONE ? NULL : td_row_name(rows, row),
                .module = row->module == TD_NONE ? "" : modules[row->module],
                .file = row->file ? td_model_string(model, row->file) : ""};
        }
        free(modules);
    }
    const uint32_t id_count = td_match_functions(ids, names, sides, all);
    for (size_t i = 0, at = 0; i < count; i++) {
        sources[i].function_ids =
            td_xcalloc(sources[i].functions.len + 1, sizeof(*sources[i].function_ids));
        for (size_t r = 0; r < sources[i].functions.len; r++)
            sources[i].function_ids[r] = ids[at++];
    }
    free(names);
    free(sides);
    free(ids);
    return id_count;
}

/* Summing. */

static struct table new_table(const struct td_diff *diff, size_t ids)
{
    const struct memory *memory = diff->memory;
    const size_t cells = ids * diff->column_count;

    return (struct table){
        .diff = diff,
        .memory = memory,
        .ids = ids,
        .sums = td_xcalloc(cells * figures_of(memory) + 1, sizeof(struct td_run_sums)),
        .places = td_xcalloc(cells + 1, sizeof(struct td_diff_place)),
        .thin = td_xcalloc(cells + 1, sizeof(td_tma_set))};
}

static void set_place(const struct table *t, size_t id, const struct td_diff_source *source,
                      const struct td_rows *rows, const struct td_row *row)
{
    const struct td_model *model = rows->measure->model;
    const size_t at = id * t->diff->column_count + source->side;
    struct td_diff_place *place = &t->places[at];

    if (place->there)
        return;
    *place = (struct td_diff_place){.there = true,
                                    .module = td_module_name(model, row->module),
                                    .file = row->file ? td_model_string(model, row->file) : NULL,
                                    .line = row->line};
    if (row->function != TD_NONE)
        place->function = td_row_name(rows, row);
    t->thin[at] = td_row_thin(rows, row);
}

/* Adds what several rows of one run have. */
static void add_figures(struct td_run_figure *to, const struct td_run_figure *figures,
                        const struct memory *memory)
{
    for (unsigned unit = 0; unit < TD_DIFF_UNITS; unit++) {
        for (unsigned what = 0; what < TD_DIFF_WHATS; what++) {
            const struct td_run_figure *from = &figures[td_diff_at((enum td_diff_unit)unit, what)];

            if (memory->at[what] < 0)
                continue;
            struct td_run_figure *sum =
                &to[(size_t)unit * memory->whats + (size_t)memory->at[what]];
            sum->value += from->value;
            sum->random = hypot(sum->random, from->random);
            sum->bias += from->bias;
        }
    }
}

/* One run's rows, each to its id. */
static void add_run(const struct table *t, const struct td_diff_source *source,
                    const struct td_rows *rows, const uint32_t *ids)
{
    const size_t width = figures_of(t->memory);
    struct td_run_figure *run = td_xcalloc(t->ids * width + 1, sizeof(*run));
    struct td_run_figure figures[TD_DIFF_FIGURES];
    bool *seen = td_xcalloc(t->ids + 1, sizeof(*seen));

    for (size_t r = 0; r < rows->len; r++) {
        td_diff_figures_of(figures, source, rows, &rows->at[r]);
        add_figures(&run[ids[r] * width], figures, t->memory);
        set_place(t, ids[r], source, rows, &rows->at[r]);
        seen[ids[r]] = true;
    }
    td_diff_figures_none(figures, source, rows);
    for (size_t id = 0; id < t->ids; id++) {
        if (!seen[id])
            add_figures(&run[id * width], figures, t->memory);
        for (size_t f = 0; f < width; f++)
            td_run_add(&t->sums[(id * t->diff->column_count + source->side) * width + f],
                       &run[id * width + f]);
    }
    free(seen);
    free(run);
}

static void release_table(struct table *t)
{
    free(t->sums);
    free(t->thin);
}

/* Spread: where several runs are at hand, they show it. */

static double mean_total(const struct td_diff *diff, const struct table *total,
                         enum td_diff_unit unit)
{
    double most = 0;

    for (size_t side = 0; side < diff->column_count; side++)
        most = fmax(most, sums_at(total, 0, side, unit, TD_DIFF_WHOLE)->mean);
    return most;
}

/* The part by which runs differ beyond their stated errors, over all functions: large ones count
 * most. */
static void find_spread(struct td_diff *diff, const struct table *functions)
{
    double beyond = 0, weight = 0;

    for (size_t id = 0; id < functions->ids; id++) {
        for (size_t side = 0; side < diff->column_count; side++) {
            const struct td_run_sums *s = sums_at(functions, id, side, TD_DIFF_COST, TD_DIFF_WHOLE);
            const double degrees = s->count > 1 ? (double)s->count - 1 : 0;

            if (degrees <= 0)
                continue;
            beyond += s->squares - degrees * s->random / (double)s->count;
            weight += degrees * s->mean * s->mean;
        }
    }
    if (weight <= 0)
        return;
    diff->assumed = false;
    const double part = fmax(sqrt(fmax(beyond / weight, 0)), FOUND_LEAST);
    diff->of_total = diff->of_rows = (struct td_run_spread){
        .part = part, .of_total = diff->of_rows.of_total * part, .freedom = FOUND_FREEDOM};
}

/* Cells from sums. */

static void make_cells(struct td_diff *diff, const struct table *t, size_t id,
                       const struct table *total, struct td_diff_row *row)
{
    const struct memory *memory = diff->memory;

    for (unsigned unit = 0; unit < TD_DIFF_UNITS; unit++) {
        const enum td_diff_unit u = (enum td_diff_unit)unit;
        const double all = mean_total(diff, total, u);

        for (unsigned what = 0; what < TD_DIFF_WHATS; what++) {
            if (memory->at[what] < 0)
                continue;
            const struct td_run_sums *old = sums_at(t, id, 0, u, what);
            const struct td_run_spread *spread = row->kind == TD_DIFF_TOTAL && what == TD_DIFF_WHOLE
                                                     ? &diff->of_total
                                                     : &diff->of_rows;

            for (size_t column = 0; column < diff->column_count; column++) {
                const struct td_run_sums *s = sums_at(t, id, column, u, what);
                struct td_diff_cell *cell = cell_at(diff, row, column, what, u);

                *cell =
                    (struct td_diff_cell){.value = s->mean, .error = td_run_error(s, spread, all)};
                cell->thin = what != TD_DIFF_WHOLE &&
                             (t->thin[id * diff->column_count + column] >> (what - 1) & 1);
                if (column > 0)
                    cell->change = td_change_of(old, s, spread, all);
            }
        }
    }
}

/* Rows from a table; takes its places. `rest`: id 0 is what has no row of its own. */
static void make_rows(struct td_diff *diff, struct table *t, int kept, enum td_diff_kind kind,
                      bool rest, const struct table *total, struct td_diff_row *rows)
{
    struct memory *memory = diff->memory;
    const size_t cells = figures_of(memory) * diff->column_count;

    memory->places[kept] = t->places;
    memory->cells[kept] = td_xcalloc(t->ids * cells + 1, sizeof(*memory->cells[kept]));
    for (size_t id = 0; id < t->ids; id++) {
        rows[id] = (struct td_diff_row){.kind = rest && id == 0 ? TD_DIFF_REST : kind,
                                        .places = &t->places[id * diff->column_count],
                                        .cells = &memory->cells[kept][id * cells]};
        make_cells(diff, t, id, total, &rows[id]);
    }
}

/* Judging: tables apart, rows and categories apart. */

static bool is_tested(const struct td_diff *diff, const struct td_diff_row *row, unsigned what,
                      enum td_diff_unit unit)
{
    for (size_t c = 0; c < diff->column_count; c++) {
        const double all = cell_at(diff, &diff->total, c, TD_DIFF_WHOLE, unit)->value;

        if (row->kind != TD_DIFF_REST &&
            cell_at(diff, row, c, what, unit)->value >= LEAST_TESTED * all && all > 0)
            return true;
    }
    return false;
}

static void judge(const struct td_diff *diff, const struct td_diff_row *rows, size_t len,
                  unsigned from, unsigned to, enum td_diff_unit unit)
{
    struct td_change **changes = NULL;
    size_t count = 0, cap = 0;

    for (size_t i = 0; i < len; i++) {
        for (unsigned what = from; what < to; what++) {
            if (!td_diff_has(diff, what) || !is_tested(diff, &rows[i], what, unit))
                continue;
            for (size_t c = 1; c < diff->column_count; c++) {
                changes = td_grow(changes, &cap, count + 1, sizeof(struct td_change *));
                changes[count++] = &cell_at(diff, &rows[i], c, what, unit)->change;
            }
        }
    }
    td_changes_judge(changes, count);
    free(changes);
}

static void judge_all(struct td_diff *diff)
{
    const struct {
        const struct td_diff_row *rows;
        size_t len;
    } tables[] = {{&diff->total, 1},
                  {diff->functions.at, diff->functions.len},
                  {diff->lines.at, diff->lines.len}};

    for (unsigned unit = 0; unit < TD_DIFF_UNITS; unit++) {
        for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
            judge(diff, tables[t].rows, tables[t].len, TD_DIFF_WHOLE, 1, (enum td_diff_unit)unit);
            judge(diff, tables[t].rows, tables[t].len, 1, TD_DIFF_WHATS, (enum td_diff_unit)unit);
        }
    }
}

enum td_diff_rank td_diff_rank_of(const struct td_diff *diff, const struct td_diff_row *row)
{
    enum td_diff_rank rank = TD_DIFF_SMALL;

    if (row->kind == TD_DIFF_REST)
        return TD_DIFF_SMALL;
    for (size_t c = 0; c < diff->column_count; c++) {
        const struct td_diff_cell *cell = cell_at(diff, row, c, TD_DIFF_WHOLE, TD_DIFF_COST);
        const double all = cell_at(diff, &diff->total, c, TD_DIFF_WHOLE, TD_DIFF_COST)->value;

        if (cell->change.significant)
            return TD_DIFF_CHANGED;
        if (cell->value >= LARGE_SHARE * all && all > 0)
            rank = TD_DIFF_LARGE;
    }
    return rank;
}

static double weight_of(const struct td_diff *diff, const struct td_diff_row *row)
{
    double most = 0;

    for (size_t c = 1; c < diff->column_count; c++)
        most = fmax(most, fabs(cell_at(diff, row, c, TD_DIFF_WHOLE, TD_DIFF_COST)->change.delta));
    return most;
}

static int by_name(const struct td_diff *diff, const struct td_diff_row *a,
                   const struct td_diff_row *b)
{
    const struct td_diff_place *x = td_diff_place_of(diff, a, diff->column_count - 1);
    const struct td_diff_place *y = td_diff_place_of(diff, b, diff->column_count - 1);
    int order = strcmp(x->function ? x->function : "", y->function ? y->function : "");

    order = order ? order : strcmp(x->module ? x->module : "", y->module ? y->module : "");
    order = order ? order : strcmp(x->file ? x->file : "", y->file ? y->file : "");
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int compare_rows(const void *x, const void *y, void *ctx)
{
    const struct td_diff_row *a = x, *b = y;
    const enum td_diff_rank m = td_diff_rank_of(ctx, a), n = td_diff_rank_of(ctx, b);
    const double p = weight_of(ctx, a), q = weight_of(ctx, b);
    double size[2] = {0, 0};

    if ((a->kind == TD_DIFF_REST) != (b->kind == TD_DIFF_REST))
        return a->kind == TD_DIFF_REST ? 1 : -1;
    if (m != n)
        return m < n ? -1 : 1;
    if (p != q)
        return p > q ? -1 : 1;
    for (int i = 0; i < 2; i++)
        size[i] = cell_at(ctx, i == 0 ? a : b, 0, TD_DIFF_WHOLE, TD_DIFF_COST)->value;
    if (size[0] != size[1])
        return size[0] > size[1] ? -1 : 1;
    return by_name(ctx, a, b);
}

static void sort_rows(struct td_diff *diff, struct td_diff_rows *rows)
{
    if (rows->len > 1)
        qsort_r(rows->at, rows->len, sizeof(*rows->at), compare_rows, diff);
}

static void set_columns(struct td_diff *diff, const struct td_diff_side *sides, size_t count)
{
    diff->columns = td_xcalloc(count, sizeof(*diff->columns));
    diff->column_count = count;
    for (size_t s = 0; s < count; s++) {
        struct td_diff_column *column = &diff->columns[s];

        *column = (struct td_diff_column){.name = sides[s].name,
                                          .first = sides[s].runs[0],
                                          .runs = sides[s].run_count,
                                          .work = sides[s].work > 0 ? sides[s].work : 1};
        for (size_t r = 0; r < sides[s].run_count; r++) {
            const double part = 1 / ((double)sides[s].run_count * column->work);

            column->instructions += part * (double)sides[s].runs[r]->totals[TD_METRIC_INSTRUCTIONS];
            column->cycles += part * (double)sides[s].runs[r]->totals[TD_METRIC_CYCLES];
        }
    }
}

/* The runs of all sides, side by side. */
static struct td_diff_source *open_sources(const struct td_diff *diff,
                                           const struct td_diff_side *sides, size_t count,
                                           const struct td_diff_opts *opts, size_t *len)
{
    struct td_diff_source *sources = NULL;
    size_t cap = 0;

    *len = 0;
    for (size_t s = 0; s < count; s++) {
        for (size_t r = 0; r < sides[s].run_count; r++) {
            sources = td_grow(sources, &cap, *len + 1, sizeof(*sources));
            struct td_diff_source *source = &sources[(*len)++];

            *source = td_diff_source_of(diff, sides[s].runs[r], sides[s].work);
            source->side = s;
            td_rows_init(&source->functions, sides[s].runs[r], TD_ROWS_FUNCTIONS, opts->no_inline);
            if (!opts->no_lines)
                td_rows_init(&source->lines, sides[s].runs[r], TD_ROWS_LINES, opts->no_inline);
        }
    }
    return sources;
}

static struct table sum_total(struct td_diff *diff, const struct td_diff_source *sources,
                              size_t count)
{
    struct table total = new_table(diff, 1);
    struct td_run_figure all[TD_DIFF_FIGURES];
    const size_t width = figures_of(diff->memory);

    for (size_t i = 0; i < count; i++) {
        struct td_run_figure *run = td_xcalloc(width, sizeof(*run));

        td_diff_figures_total(all, &sources[i]);
        add_figures(run, all, diff->memory);
        for (size_t f = 0; f < width; f++)
            td_run_add(&total.sums[sources[i].side * width + f], &run[f]);
        total.places[sources[i].side].there = true;
        free(run);
    }
    return total;
}

static bool is_empty(const struct td_diff *diff, const struct td_diff_row *row)
{
    bool empty = true;

    for (size_t c = 0; c < diff->column_count; c++)
        empty = empty && cell_at(diff, row, c, TD_DIFF_WHOLE, TD_DIFF_COST)->value == 0;
    return empty;
}

static void make_lines(struct td_diff *diff, struct td_diff_source *sources, size_t count,
                       const struct td_diff_opts *opts, const struct table *total)
{
    uint32_t **ids = td_xcalloc(count, sizeof(*ids));
    const uint32_t len = td_diff_line_ids(diff, sources, count, &diff->functions, opts, ids);
    struct table t = new_table(diff, len);

    for (size_t i = 0; i < count; i++) {
        add_run(&t, &sources[i], &sources[i].lines, ids[i]);
        free(ids[i]);
    }
    /* What is in the row of small ones has no place. */
    memset(t.places, 0, diff->column_count * sizeof(*t.places));
    diff->lines.at = td_xcalloc((size_t)len + 1, sizeof(*diff->lines.at));
    diff->lines.len = len;
    make_rows(diff, &t, 2, TD_DIFF_LINE, true, total, diff->lines.at);
    if (is_empty(diff, &diff->lines.at[0])) {
        diff->lines.len--;
        memmove(diff->lines.at, diff->lines.at + 1, diff->lines.len * sizeof(*diff->lines.at));
    }
    release_table(&t);
    free(ids);
}

int td_diff_init(struct td_diff *diff, const struct td_diff_side *sides, size_t count,
                 const struct td_diff_opts *opts, struct td_err *err)
{
    struct memory *memory = td_xcalloc(1, sizeof(*memory));
    size_t len = 0;

    *diff = (struct td_diff){.memory = memory, .assumed = true};
    const int rc = td_diff_check(diff, sides, count, err);
    if (rc < 0) {
        td_diff_release(diff);
        return rc;
    }
    set_columns(diff, sides, count);
    set_whats(diff, memory);
    struct td_diff_source *sources = open_sources(diff, sides, count, opts, &len);
    td_diff_assume(diff, sources, len);
    struct table total = sum_total(diff, sources, len);
    struct table functions = new_table(diff, number_functions(memory, sources, len));
    for (size_t i = 0; i < len; i++)
        add_run(&functions, &sources[i], &sources[i].functions, sources[i].function_ids);
    find_spread(diff, &functions);
    make_rows(diff, &total, 0, TD_DIFF_TOTAL, false, &total, &diff->total);
    diff->functions.at = td_xcalloc(functions.ids + 1, sizeof(*diff->functions.at));
    diff->functions.len = functions.ids;
    make_rows(diff, &functions, 1, TD_DIFF_FUNCTION, false, &total, diff->functions.at);
    if (!opts->no_lines)
        make_lines(diff, sources, len, opts, &total);
    judge_all(diff);
    sort_rows(diff, &diff->functions);
    sort_rows(diff, &diff->lines);
    release_table(&functions);
    release_table(&total);
    for (size_t i = 0; i < len; i++) {
        td_rows_release(&sources[i].functions);
        td_rows_release(&sources[i].lines);
        free(sources[i].function_ids);
    }
    free(sources);
    return TD_OK;
}

int td_diff_metric(enum td_metric *ret, const struct td_diff_side *sides, size_t count,
                   struct td_err *err)
{
    struct td_diff diff = {.columns = NULL};
    const int rc = td_diff_check(&diff, sides, count, err);

    *ret = diff.cost;
    td_diff_release(&diff);
    return rc;
}

void td_diff_release(struct td_diff *diff)
{
    struct memory *memory = diff->memory;

    for (size_t i = 0; memory && i < 3; i++) {
        free(memory->places[i]);
        free(memory->cells[i]);
    }
    for (size_t i = 0; memory && i < memory->name_count; i++)
        free(memory->names[i]);
    if (memory)
        free(memory->names);
    free(memory);
    for (size_t i = 0; i < diff->note_count; i++)
        free(diff->notes[i]);
    free(diff->notes);
    free(diff->columns);
    free(diff->functions.at);
    free(diff->lines.at);
    *diff = (struct td_diff){.columns = NULL};
}
