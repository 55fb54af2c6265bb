/* SPDX-License-Identifier: MIT */
/* What bounds a loop's iterations, each bound by itself. */
#ifndef TD_REPORT_QUERY_LOOPS_BOUNDS_H
#define TD_REPORT_QUERY_LOOPS_BOUNDS_H

#include "formats/habits.h"
#include "report/query/loops/loops.h"
#include "report/query/loops/nest.h"

struct td_loop_code {
    const struct td_graph *graph;
    const struct td_nest *nest;
    const struct td_nest_loop *from;
    const struct td_habits *habits; /* of its instructions */
    bool link;                      /* calls leave the return address in a register */
};

/* Sets `loop`'s bounds of ports, units and, where it holds no other loop that matters, of the
 * chain. */
void td_loop_find_bounds(struct td_loop *loop, const struct td_loop_code *code, bool innermost);

#endif
