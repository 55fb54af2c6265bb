/* SPDX-License-Identifier: MIT */
/*
 * Levels of the tree that a later run counted (tdrec --passes): how a node's slots divide there is
 * applied to the slots that the first run found. attribution.md has the method.
 */
#ifndef TD_REPORT_ATTRIBUTION_LATER_H
#define TD_REPORT_ATTRIBUTION_LATER_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/measure.h"

/* A node of a part that its own group does not give. */
struct td_later {
    unsigned run;  /* from 2 on; 0: the node is not known by a later run */
    double share;  /* of all slots */
    double error;  /* ±, 95 % */
    float *unsure; /* by row of the measure: ±, 95 %, of the node's share of its parent there */
};

struct td_slots_part;

/* Adds the nodes to the part's `later`, and their slots to the measure's values. */
void td_later_add(struct td_slots_part *part, size_t part_index, struct td_measure *measure,
                  bool no_inline);
/* The run that a node's slots come from, if it is a later one; else 0. */
unsigned td_later_run(const struct td_measure *measure, enum td_tma_node node);
void td_later_release(struct td_later *later);

#endif
