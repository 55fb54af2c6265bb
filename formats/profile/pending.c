/* SPDX-License-Identifier: MIT */
#include "formats/profile/pending.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/model.h"

/* At most this waits: 1.8 MB, twice that while it is taken out. */
#define ROWS_MAX   32768
#define VALUES_MAX 131072

struct td_pending_row {
    struct td_value_row row;
    uint32_t run;
    uint32_t values;
};

struct td_pending_run {
    struct td_value_run run;
    uint32_t id; /* what rows call it */
};

void td_pending_release(struct td_pending *pending)
{
    free(pending->rows);
    free(pending->values);
    free(pending->runs);
    td_value_runs_release(&pending->out);
    td_map_release(&pending->run_ids);
    *pending = (struct td_pending){0};
}

static uint32_t find_run(struct td_pending *pending, const struct td_value_run *place)
{
    bool added = false;

    if (pending->run_count > 0) {
        const struct td_value_run *last = &pending->runs[pending->last_run].run;

        if (last->group == place->group && last->cpu == place->cpu)
            return pending->last_run;
    }
    pending->last_run = *td_map_put(&pending->run_ids, place->group, place->cpu,
                                    (uint32_t)pending->run_count, &added);
    if (added) {
        pending->runs = td_grow(pending->runs, &pending->run_cap, pending->run_count + 1,
                                sizeof(*pending->runs));
        pending->runs[pending->run_count] =
            (struct td_pending_run){.run = *place, .id = (uint32_t)pending->run_count};
        pending->runs[pending->run_count++].run.count = 0;
    }
    return pending->last_run;
}

void td_pending_add(struct td_pending *pending, const struct td_value_run *place,
                    const struct td_value_row *row, const uint64_t *values)
{
    const uint32_t run = find_run(pending, place);

    pending->rows =
        td_grow(pending->rows, &pending->row_cap, pending->row_count + 1, sizeof(*pending->rows));
    pending->values = td_grow(pending->values, &pending->value_cap,
                              pending->value_count + place->columns, sizeof(*pending->values));
    pending->rows[pending->row_count++] = (struct td_pending_row){
        .row = *row,
        .run = run,
        .values = (uint32_t)pending->value_count,
    };
    for (uint32_t c = 0; c < place->columns; c++)
        pending->values[pending->value_count++] = values[c];
    pending->runs[run].run.count++;
}

bool td_pending_full(const struct td_pending *pending)
{
    return pending->row_count >= ROWS_MAX || pending->value_count >= VALUES_MAX;
}

static int by_group_and_cpu(const void *a, const void *b)
{
    const struct td_value_run *x = &((const struct td_pending_run *)a)->run;
    const struct td_value_run *y = &((const struct td_pending_run *)b)->run;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* Where the next row and its values of a run go. */
struct fill {
    struct td_value_row *row;
    uint64_t *values;
    uint32_t columns;
};

/* Lays the runs out one after another; returns by run id where to fill. */
static struct fill *lay_out(struct td_pending *pending)
{
    struct fill *fills = td_xcalloc(pending->run_count, sizeof(*fills));
    struct td_value_runs *out = &pending->out;
    struct fill next = {0};

    out->run_count = (uint32_t)pending->run_count;
    out->row_count = pending->row_count;
    out->value_count = pending->value_count;
    td_value_runs_reserve(out);
    next.row = out->rows;
    next.values = out->values;
    for (size_t r = 0; r < pending->run_count; r++) {
        const struct td_value_run *run = &pending->runs[r].run;

        out->runs[r] = *run;
        next.columns = run->columns;
        fills[pending->runs[r].id] = next;
        next.row += run->count;
        next.values += (size_t)run->count * run->columns;
    }
    return fills;
}

const struct td_value_runs *td_pending_take(struct td_pending *pending)
{
    if (pending->run_count == 0)
        return NULL;
    qsort(pending->runs, pending->run_count, sizeof(*pending->runs), by_group_and_cpu);
    struct fill *fills = lay_out(pending);
    for (size_t i = 0; i < pending->row_count; i++) {
        const struct td_pending_row *row = &pending->rows[i];
        struct fill *fill = &fills[row->run];

        *fill->row++ = row->row;
        for (uint32_t c = 0; c < fill->columns; c++)
            *fill->values++ = pending->values[row->values + c];
    }
    free(fills);
    td_map_clear(&pending->run_ids);
    pending->run_count = pending->row_count = pending->value_count = 0;
    return &pending->out;
}
