/* SPDX-License-Identifier: MIT */
/*
 * One CPI stack counted in several ways: the modelled core's own slots, and what four ways of
 * counters make of the same cycles (formats/cpi_methods.h). All add up to the same CPI, since the
 * base is what is left: a way that counts too much has a base below 0.
 */
#ifndef TD_REPORT_QUERY_CPI_METHODS_H
#define TD_REPORT_QUERY_CPI_METHODS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/cpi_methods.h"
#include "report/query/cpi.h"

/* The first is exact; the others are in the order of a reader: the closest first. */
enum td_cpi_way {
    TD_CPI_WAY_EXACT,
    TD_CPI_WAY_INTERVAL,
    TD_CPI_WAY_POWER5,
    TD_CPI_WAY_RIGHT_PATH,
    TD_CPI_WAY_NAIVE,
    TD_CPI_WAY_COUNT
};

enum { TD_CPI_ROW_BASE, TD_CPI_ROW_FIRST, TD_CPI_ROWS = 1 + (int)TD_CPI_COMPONENT_COUNT };

struct td_cpi_ways {
    double cpi, cycles;
    uint64_t instructions;
    double scale;   /* cycles of the whole for one that was counted: above 1 of a sampled model */
    double overlap; /* share of the cycles in which both the front end and the window stalled */
    double cycles_of[TD_CPI_WAY_COUNT][TD_CPI_ROWS]; /* the base is row 0 */
    bool counts[TD_CPI_WAY_COUNT][TD_CPI_ROWS];      /* whether the way tells the component apart */
};

/* False when the recording was not counted so, or the measure is not of all of it. */
bool td_cpi_ways_of(struct td_cpi_ways *ret, const struct td_cpi_basis *basis);

/* Names in JSON. */
const char *td_cpi_way_name(enum td_cpi_way way);
const char *td_cpi_row_name(unsigned row);

#endif
