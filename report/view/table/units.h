/* SPDX-License-Identifier: MIT */
/* Times in a unit that fits: s, ms, µs or ns. */
#ifndef TD_REPORT_VIEW_TABLE_UNITS_H
#define TD_REPORT_VIEW_TABLE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "report/view/table/style.h"

/* How a column of times that add up to a total is printed. */
struct td_time_unit {
    const char *name; /* "ms" */
    double per_ns;    /* units a nanosecond */
    int decimals;
};

/* The unit in which the total has one to three digits before the point, and as many behind it that
 * a ten-thousandth of the total is seen. `style` NULL: the name is not of use. */
struct td_time_unit td_time_unit_of(const struct td_style *style, uint64_t total_ns);
/* "47.3 ms", "1.23 s": three digits, four from 100 s on. The buffer is returned; 32 bytes are
 * enough. */
const char *td_format_time(const struct td_style *style, char *buf, size_t size, double ns);
/* "48.2 ± 1.2 ms"; without an error as td_format_time. */
const char *td_format_time_error(const struct td_style *style, char *buf, size_t size, double ns,
                                 double error_ns);

#endif
