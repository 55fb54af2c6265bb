/* SPDX-License-Identifier: MIT */
/* The cost of single lines, for source with figures beside it (annotate). */
#ifndef TD_REPORT_QUERY_LINES_OF_H
#define TD_REPORT_QUERY_LINES_OF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/measure.h"

struct td_marked_line {
    uint32_t line;
    uint64_t inlined; /* primary metric of what was inlined at this line, at any depth */
    uint64_t values[TD_METRIC_COUNT]; /* its own */
    td_tma_set thin;                  /* bits of nodes of which too little is known to print them */
};

/* The lines of one function in one file, or of a part of a file. */
struct td_section {
    uint32_t function;            /* TD_NONE: whatever is on the lines */
    uint32_t module;              /* TD_NONE with the function */
    uint32_t file;                /* 0: no line of it is known */
    struct td_marked_line *lines; /* rising */
    size_t len;
    uint64_t values[TD_METRIC_COUNT]; /* all of it: `lines`, and what has no line */
    uint64_t no_line;                 /* of the primary metric, what has no line */
    bool has_inlined;
};

struct td_sections {
    struct td_section *at; /* by the primary metric, highest first */
    size_t len;
};

/* One section for each file that lines of a function in `functions` are in, the hottest function
 * first. A function and its copies in other modules are functions of their own. */
void td_sections_of_functions(struct td_sections *sections, const struct td_measure *measure,
                              const uint32_t *functions, size_t count, bool no_inline);
/* One section for each file that `pattern` names, of its lines from..to. */
void td_sections_of_file(struct td_sections *sections, const struct td_measure *measure,
                         const char *pattern, uint32_t from, uint32_t to, bool no_inline);
void td_sections_release(struct td_sections *sections);

#endif
