/* SPDX-License-Identifier: MIT */
#include "report/view/table/units.h"

#include <stdio.h>

#define DIGITS 3

static struct td_time_unit unit_of(const struct td_style *style, double ns)
{
    if (ns >= 1e9)
        return (struct td_time_unit){.name = "s", .per_ns = 1e-9};
    if (ns >= 1e6)
        return (struct td_time_unit){.name = "ms", .per_ns = 1e-6};
    if (ns >= 1e3)
        return (struct td_time_unit){.name = style && style->utf8 ? "\xc2\xb5s" : "us",
                                     .per_ns = 1e-3};
    return (struct td_time_unit){.name = "ns", .per_ns = 1};
}

/* So many that `digits` are seen of a value, none of them below a nanosecond. */
static int decimals_of(double value, int digits, double per_ns)
{
    int decimals = digits;

    for (double left = value; left >= 1 && decimals > 0; left /= 10)
        decimals--;
    return per_ns >= 1 ? 0 : decimals;
}

struct td_time_unit td_time_unit_of(const struct td_style *style, uint64_t total_ns)
{
    struct td_time_unit unit = unit_of(style, (double)total_ns);

    unit.decimals = decimals_of((double)total_ns * unit.per_ns, DIGITS + 1, unit.per_ns);
    return unit;
}

const char *td_format_time_error(const struct td_style *style, char *buf, size_t size, double ns,
                                 double error_ns)
{
    const struct td_time_unit unit = unit_of(style, ns);
    const int decimals = decimals_of(ns * unit.per_ns, DIGITS, unit.per_ns);

    if (error_ns > 0)
        snprintf(buf, size, "%.*f %s %.*f %s", decimals, ns * unit.per_ns,
                 td_style_plus_minus(style), decimals, error_ns * unit.per_ns, unit.name);
    else
        snprintf(buf, size, "%.*f %s", decimals, ns * unit.per_ns, unit.name);
    return buf;
}

const char *td_format_time(const struct td_style *style, char *buf, size_t size, double ns)
{
    return td_format_time_error(style, buf, size, ns, 0);
}
