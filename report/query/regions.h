/* SPDX-License-Identifier: MIT */
/* The regions that a program marked: calls, time or cycles, and categories, over all threads. */
#ifndef TD_REPORT_QUERY_REGIONS_H
#define TD_REPORT_QUERY_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/model.h"

struct td_region_cost {
    uint32_t region; /* of the model */
    size_t parent;   /* index of a row before it; SIZE_MAX: it is in no other */
    /* The sum over its threads. `length` of NS: all that is known of it is its time. */
    struct td_region_row length;
    uint32_t threads;
    double slots;                /* with those in regions in it; NaN: not counted */
    double own_slots;            /* less those in regions in it */
    double cycles, instructions; /* NaN: not counted */
    double share[TD_NODE_COUNT]; /* of its slots; NaN: not known */
    double cpu_ns;               /* CPU time of a native run; NaN: of a model */
};

struct td_region_table {
    struct td_region_cost *rows; /* each before those in it; the costliest first */
    size_t len;
    bool modelled;       /* lengths are slots of the modelled core; else ns */
    unsigned width;      /* slots per cycle of that core; 0: not known */
    double whole;        /* slots of all that was modelled; 0: not known */
    uint64_t strays;     /* ends of regions that their thread had not begun */
    uint64_t left_open;  /* ended by the end of an outer one */
    const char *how;     /* a native run: how it was counted, a sentence; NULL: of a model, or not
                            known. Static. */
    uint64_t unfinished; /* calls that had not ended when their thread did, or the recording */
};

/* Release in any case. No regions is no failure: `len` is 0. */
void td_region_table_init(struct td_region_table *table, const struct td_model *model);
void td_region_table_release(struct td_region_table *table);

/* Of all instructions or time in the region, the part that was counted; 1: all. */
double td_region_counted(const struct td_region_cost *row);
/* A length, in cycles where it is in slots, else in ns. */
double td_region_scaled(const struct td_region_table *table, double length);

#endif
