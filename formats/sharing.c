/* SPDX-License-Identifier: MIT */
#include "formats/sharing.h"

#include <stddef.h>

#include "formats/sums.h"

const char *td_shared_area_name(uint64_t area)
{
    static const char *const names[] = {
#define X(symbol, number, text) [number] = (text),
        TD_SHARED_AREAS(X)
#undef X
    };

    return area < TD_SHARED_AREA_COUNT ? names[area] : NULL;
}

bool td_shared_row_is_right(const struct td_shared_row *row)
{
    return row->transfers < TD_SUM_MAX && row->invalidations < TD_SUM_MAX &&
           row->cycles < TD_SUM_MAX && row->address % 64 == 0 &&
           (row->area == TD_SHARED_MODULE) == (row->module != UINT32_MAX);
}
