/* SPDX-License-Identifier: MIT */
#include "report/query/sharing.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/query/figures/machine.h"

static void add_thread(struct td_shared_threads *threads, uint32_t thread)
{
    size_t i = 0;

    if (thread == TD_NONE) {
        threads->more = true;
        return;
    }
    while (i < threads->len && threads->at[i] < thread)
        i++;
    if (i < threads->len && threads->at[i] == thread)
        return;
    threads->at = td_grow(threads->at, &threads->cap, threads->len + 1, sizeof(*threads->at));
    for (size_t k = threads->len++; k > i; k--)
        threads->at[k] = threads->at[k - 1];
    threads->at[i] = thread;
}

static void add_sums(struct td_shared_sums *sums, const struct td_shared_row *row)
{
    sums->transfers += row->transfers;
    sums->invalidations += row->invalidations;
    sums->cycles += row->cycles;
}

static struct td_shared_place place_of(const struct td_model *model,
                                       const struct td_shared_side *side, bool no_inline)
{
    return (struct td_shared_place){.frame = td_frame_own(model, side->location, no_inline),
                                    .store = side->store};
}

/* Without a line of source two instructions are told apart. */
static bool is_same_place(const struct td_shared_place *a, const struct td_shared_place *b)
{
    if (a->store != b->store || (a->frame.location == TD_NONE) != (b->frame.location == TD_NONE))
        return false;
    if (!a->frame.line || !b->frame.line)
        return a->frame.location == b->frame.location;
    return a->frame.file == b->frame.file && a->frame.line == b->frame.line &&
           td_function_key(&a->frame) == td_function_key(&b->frame);
}

/* Of what `added` is: its sums and threads are the pair's own. */
static struct td_shared_pair *pair_of(struct td_shared_line *line,
                                      const struct td_shared_pair *added)
{
    for (size_t i = 0; i < line->pair_count; i++) {
        struct td_shared_pair *pair = &line->pairs[i];

        if (pair->is_false == added->is_false && is_same_place(&pair->mine, &added->mine) &&
            is_same_place(&pair->theirs, &added->theirs))
            return pair;
    }
    line->pairs = td_grow(line->pairs, &line->pair_cap, line->pair_count + 1, sizeof(*line->pairs));
    line->pairs[line->pair_count] = *added;
    return &line->pairs[line->pair_count++];
}

static void add_row(struct td_shared_line *line, const struct td_shared_row *row,
                    const struct td_model *model, bool no_inline)
{
    struct td_shared_pair *pair =
        pair_of(line, &(struct td_shared_pair){.mine = place_of(model, &row->mine, no_inline),
                                               .theirs = place_of(model, &row->theirs, no_inline),
                                               .is_false = row->is_false});

    add_sums(&pair->sums, row);
    add_sums(&line->sums, row);
    if (row->is_false)
        add_sums(&line->falses, row);
    add_thread(&pair->mine.threads, row->mine.thread);
    add_thread(&pair->theirs.threads, row->theirs.thread);
    add_thread(&line->threads, row->mine.thread);
    add_thread(&line->threads, row->theirs.thread);
}

static int by_line(const void *a, const void *b)
{
    const struct td_shared_row *x = *(const struct td_shared_row *const *)a;
    const struct td_shared_row *y = *(const struct td_shared_row *const *)b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x > y) - (x < y); /* of one array */
}

static int by_cost(const struct td_shared_sums *x, const struct td_shared_sums *y)
{
    if (x->cycles != y->cycles)
        return x->cycles > y->cycles ? -1 : 1;
    return (x->transfers < y->transfers) - (x->transfers > y->transfers);
}

static int costliest_pair(const void *a, const void *b)
{
    const struct td_shared_pair *x = a, *y = b;
    const int order = by_cost(&x->sums, &y->sums);

    /* The rest of a line comes last. */
    const uint32_t mine = x->mine.frame.location, other = y->mine.frame.location;
    if ((mine == TD_NONE) != (other == TD_NONE))
        return mine == TD_NONE ? 1 : -1;
    if (order != 0)
        return order;
    if (mine != other)
        return mine < other ? -1 : 1;
    return (x->theirs.frame.location > y->theirs.frame.location) -
           (x->theirs.frame.location < y->theirs.frame.location);
}

static int costliest_line(const void *a, const void *b)
{
    const struct td_shared_line *x = a, *y = b;
    const int order = by_cost(&x->sums, &y->sums);

    if (order != 0)
        return order;
    return x->address != y->address ? (x->address < y->address ? -1 : 1)
                                    : (x->process > y->process) - (x->process < y->process);
}

static struct td_shared_line *line_of(struct td_shared_table *table,
                                      const struct td_shared_row *row)
{
    struct td_shared_line *last = table->len > 0 ? &table->lines[table->len - 1] : NULL;

    if (last && last->process == row->process && last->address == row->address)
        return last;
    table->lines = td_grow(table->lines, &table->cap, table->len + 1, sizeof(*table->lines));
    table->lines[table->len] = (struct td_shared_line){.process = row->process,
                                                       .address = row->address,
                                                       .area = row->area,
                                                       .module = row->module,
                                                       .offset = row->offset};
    return &table->lines[table->len++];
}

static enum td_shared_scope scope_of(const struct td_model *model)
{
    const uint64_t detailed = td_model_counter(model, TD_COUNTER_DETAILED);

    if (td_machine_parameter_text(model, "toggle"))
        return TD_SHARED_BEYOND;
    return detailed > 0 && detailed < td_model_counter(model, TD_COUNTER_INSTRUCTIONS)
               ? TD_SHARED_WINDOWS
               : TD_SHARED_ALL;
}

void td_shared_table_init(struct td_shared_table *table, const struct td_model *model,
                          bool no_inline)
{
    const uint32_t count = td_model_shared_count(model);
    const struct td_shared_row **rows = td_xcalloc((size_t)count + 1, sizeof(*rows));
    const uint64_t cycles = td_model_counter(model, TD_COUNTER_CYCLES);

    *table = (struct td_shared_table){.scope = scope_of(model)};
    table->cycles = cycles > 0 && table->scope == TD_SHARED_ALL ? (double)cycles : NAN;
    for (uint32_t i = 0; i < count; i++)
        rows[i] = td_model_shared(model, i);
    if (count > 0)
        qsort(rows, count, sizeof(const struct td_shared_row *), by_line);
    for (uint32_t i = 0; i < count; i++) {
        add_row(line_of(table, rows[i]), rows[i], model, no_inline);
        add_sums(&table->sums, rows[i]);
        if (rows[i]->is_false)
            add_sums(&table->falses, rows[i]);
    }
    for (size_t i = 0; i < table->len; i++)
        qsort(table->lines[i].pairs, table->lines[i].pair_count, sizeof(*table->lines[i].pairs),
              costliest_pair);
    if (table->len > 0)
        qsort(table->lines, table->len, sizeof(*table->lines), costliest_line);
    free((void *)rows);
}

void td_shared_table_release(struct td_shared_table *table)
{
    for (size_t i = 0; i < table->len; i++) {
        struct td_shared_line *line = &table->lines[i];

        for (size_t p = 0; p < line->pair_count; p++) {
            free(line->pairs[p].mine.threads.at);
            free(line->pairs[p].theirs.threads.at);
        }
        free(line->pairs);
        free(line->threads.at);
        free(line->data);
    }
    free(table->lines);
    *table = (struct td_shared_table){.lines = NULL};
}
