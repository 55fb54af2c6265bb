/* SPDX-License-Identifier: MIT */
#include "record/sim/model/settled.h"

#include <stdlib.h>

#include "base/mem.h"

void td_settled_release(struct td_settled *settled)
{
    free(settled->ends);
    free(settled->causes);
    free(settled->slots);
    *settled = (struct td_settled){.ends = NULL};
}

static void add(struct td_settled *settled, uint8_t cause, uint64_t slots)
{
    const size_t need = settled->count + 1;

    settled->causes = td_grow(settled->causes, &settled->cause_cap, need, sizeof(*settled->causes));
    settled->slots = td_grow(settled->slots, &settled->cap, need, sizeof(*settled->slots));
    settled->causes[settled->count] = cause;
    settled->slots[settled->count++] = slots;
}

static void end_row(struct td_settled *settled)
{
    settled->ends =
        td_grow(settled->ends, &settled->row_cap, settled->row_count + 1, sizeof(*settled->ends));
    settled->ends[settled->row_count++] = (uint32_t)settled->count;
}

void td_settled_add_row(struct td_settled *settled, const uint64_t slots[TD_CAUSE_COUNT])
{
    for (int c = 0; c < TD_CAUSE_COUNT; c++) {
        if (slots[c] > 0)
            add(settled, (uint8_t)c, slots[c]);
    }
    end_row(settled);
}

/* The index of the row's first one. */
static uint32_t begin(const struct td_settled *settled, size_t row)
{
    if (row >= settled->row_count)
        return (uint32_t)settled->count;
    return row > 0 ? settled->ends[row - 1] : 0;
}

void td_settled_copy_row(struct td_settled *settled, const struct td_settled *from, size_t row)
{
    const uint32_t end = begin(from, row + 1);

    for (uint32_t i = begin(from, row); i < end; i++)
        add(settled, from->causes[i], from->slots[i]);
    end_row(settled);
}

void td_settled_add_to(const struct td_settled *settled, size_t row, uint64_t slots[TD_CAUSE_COUNT])
{
    const uint32_t end = begin(settled, row + 1);

    for (uint32_t i = begin(settled, row); i < end; i++)
        slots[settled->causes[i]] += settled->slots[i];
}

uint64_t td_settled_sum(const struct td_settled *settled, size_t row, size_t count)
{
    const uint32_t end = begin(settled, row + count);
    uint64_t sum = 0;

    for (uint32_t i = begin(settled, row); i < end; i++)
        sum += settled->slots[i];
    return sum;
}
