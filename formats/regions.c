/* SPDX-License-Identifier: MIT */
#include "formats/regions.h"

#include <math.h>

#include "formats/sums.h"

__extension__ typedef unsigned __int128 wide;

static wide squares_of(const struct td_region_row *row)
{
    return (wide)row->squares[1] << 64 | row->squares[0];
}

static void set_squares(struct td_region_row *row, wide squares)
{
    row->squares[0] = (uint64_t)squares;
    row->squares[1] = (uint64_t)(squares >> 64);
}

bool td_region_row_is_right(const struct td_region_row *row)
{
    const bool small = row->begun < TD_SUM_MAX && row->sum < TD_SUM_MAX &&
                       row->whole < TD_SUM_MAX && row->squares[1] >> 62 == 0;
    const bool lengths = row->timed == 0 ? row->sum == 0 && squares_of(row) == 0
                                         : row->min <= row->max && row->max <= row->sum &&
                                               row->min <= row->sum / row->timed;

    return small && lengths && row->ended <= row->begun && row->timed <= row->ended &&
           row->seen <= row->whole;
}

static void add_lengths(struct td_region_row *sum, const struct td_region_row *row)
{
    if (row->timed == 0)
        return;
    if (sum->timed == 0 || row->min < sum->min)
        sum->min = row->min;
    if (sum->timed == 0 || row->max > sum->max)
        sum->max = row->max;
    sum->timed += row->timed;
    sum->sum += row->sum;
    set_squares(sum, squares_of(sum) + squares_of(row));
}

bool td_region_row_add(struct td_region_row *sum, const struct td_region_row *row)
{
    struct td_region_row both = *sum;

    both.begun += row->begun;
    both.ended += row->ended;
    both.whole += row->whole;
    both.seen += row->seen;
    add_lengths(&both, row);
    if (!td_region_row_is_right(&both))
        return false;
    *sum = both;
    return true;
}

void td_region_row_call(struct td_region_row *row, uint64_t length)
{
    if (row->timed == 0 || length < row->min)
        row->min = length;
    if (length > row->max)
        row->max = length;
    row->timed++;
    row->sum += length;
    set_squares(row, squares_of(row) + (wide)length * length);
}

double td_region_mean(const struct td_region_row *row)
{
    return row->timed ? (double)row->sum / (double)row->timed : NAN;
}

double td_region_deviation(const struct td_region_row *row)
{
    const double count = (double)row->timed;

    if (row->timed == 0)
        return NAN;
    /* count * squares - sum^2, whole numbers, before anything is rounded. */
    const wide all = squares_of(row), mean = row->sum / row->timed, rest = row->sum % row->timed;
    const wide about = (wide)row->timed * mean * mean + 2 * mean * rest;
    const double above = all > about ? (double)(all - about) : 0;
    const double small = (double)rest / count;
    const double variance = above / count - small * small;
    return variance > 0 ? sqrt(variance) : 0;
}
