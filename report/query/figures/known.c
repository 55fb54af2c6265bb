/* SPDX-License-Identifier: MIT */
#include "report/query/figures/known.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "formats/frames.h"
#include "report/query/figures/rows.h"
#include "report/attribution/stats.h"

/* Blank cells by place: functions (or modules, of code without a name), or lines. */
struct blanks {
    enum td_row_kind kind;
    struct td_map ids; /* place to row */
    struct td_rows rows;
};

#define KEY_MODULE (UINT64_C(1) << 63)

static uint64_t key_of(enum td_row_kind kind, uint32_t function, uint32_t module, uint32_t file,
                       uint32_t line)
{
    if (kind == TD_ROWS_LINES)
        return (uint64_t)file << 32 | line;
    return function != TD_NONE ? function : KEY_MODULE | module;
}

static void find_blanks(struct blanks *b, const struct td_measure *measure, enum td_row_kind kind,
                        bool no_inline)
{
    *b = (struct blanks){.kind = kind};
    td_rows_init(&b->rows, measure, kind, no_inline);
    for (size_t i = 0; i < b->rows.len; i++) {
        const struct td_row *row = &b->rows.at[i];

        td_map_put(&b->ids, key_of(kind, row->function, row->module, row->file, row->line),
                   kind == TD_ROWS_LINES && row->line == 0, (uint32_t)i, NULL);
    }
}

static td_tma_set blanks_at(const struct blanks *b, const struct td_frame *frame)
{
    const uint32_t *row = td_map_find(
        &b->ids, key_of(b->kind, frame->function, frame->module, frame->file, frame->line), 0);

    return row ? td_row_thin(&b->rows, &b->rows.at[*row]) : 0;
}

static void release(struct blanks *b)
{
    td_map_release(&b->ids);
    td_rows_release(&b->rows);
}

/* A row for what of each thread has no place. */
static void add_rows(struct td_measure *m, uint32_t threads)
{
    const size_t count = m->row_count + threads;

    m->rows = td_xrealloc(m->rows, count + 1, sizeof(*m->rows));
    m->blank = td_xrealloc(m->blank, count + 1, sizeof(*m->blank));
    m->no_line = td_xrealloc(m->no_line, count + 1, sizeof(*m->no_line));
    for (uint32_t t = 0; t < threads; t++) {
        m->rows[m->row_count + t] = (struct td_measure_row){.thread = t, .node = 0};
        m->blank[m->row_count + t] = 0;
        m->no_line[m->row_count + t] = 0;
    }
    for (unsigned k = 0; k < TD_METRIC_COUNT; k++) {
        if (!m->values[k])
            continue;
        m->values[k] = td_xrealloc(m->values[k], count + 1, sizeof(uint64_t));
        memset(m->values[k] + m->row_count, 0, (threads + 1) * sizeof(uint64_t));
    }
}

static void move(struct td_measure *m, size_t row, size_t to, td_tma_set nodes)
{
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        uint64_t *values = m->values[TD_METRIC_FIRST_NODE + n];

        if (!values || !(nodes & td_tma_bit(n)))
            continue;
        values[to] += values[row];
        values[row] = 0;
    }
}

void td_known_only(struct td_measure *measure, bool no_inline)
{
    const struct td_model *model = measure->model;
    const uint32_t threads = td_model_thread_count(model);
    const size_t count = measure->row_count;
    struct blanks functions, lines;

    if (!measure->slots && !measure->join)
        return;
    find_blanks(&functions, measure, TD_ROWS_FUNCTIONS, no_inline);
    find_blanks(&lines, measure, TD_ROWS_LINES, no_inline);
    add_rows(measure, threads);
    for (size_t i = 0; i < count; i++) {
        const struct td_frame frame =
            td_frame_leaf(model, td_model_node(model, measure->rows[i].node)->location, no_inline);

        measure->blank[i] = blanks_at(&functions, &frame);
        measure->no_line[i] = frame.line ? blanks_at(&lines, &frame) & ~measure->blank[i] : 0;
        move(measure, i, count + measure->rows[i].thread, measure->blank[i]);
    }
    measure->row_count = count + threads;
    measure->placeless = threads;
    release(&functions);
    release(&lines);
}

double td_known_nowhere(const struct td_measure *measure, enum td_metric metric)
{
    uint64_t sum = 0;

    for (size_t i = measure->row_count - measure->placeless; i < measure->row_count; i++)
        sum += measure->values[metric] ? measure->values[metric][i] : 0;
    return td_ratio(sum, measure->totals[metric]);
}
