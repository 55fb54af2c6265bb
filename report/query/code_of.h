/* SPDX-License-Identifier: MIT */
/* The cost of single instructions, for disassembly with figures beside it (annotate --asm). */
#ifndef TD_REPORT_QUERY_CODE_OF_H
#define TD_REPORT_QUERY_CODE_OF_H

#include <stddef.h>
#include <stdint.h>

#include "formats/measure.h"

struct td_code_cost {
    uint64_t offset;
    uint32_t location;
    uint64_t values[TD_METRIC_COUNT];
};

/* The instructions of a function, its own and those inlined into it, inside of one function that
 * the compiler made; or of lines of a file. */
struct td_code_part {
    uint32_t function;  /* TD_NONE: lines were asked for, or code without a name */
    uint32_t container; /* the function that the compiler made, often the same one; TD_NONE: code
                           of the module that has no name */
    uint32_t module;
    struct td_code_cost *at; /* by rising offset */
    size_t len;
    uint64_t values[TD_METRIC_COUNT]; /* sums over `at` */
};

struct td_code_parts {
    struct td_code_part *at; /* in the order of the functions asked for, then the hottest first */
    size_t len;
};

/* Stands for all code of a module that has no name, where functions are asked for. */
uint32_t td_code_unnamed(const struct td_model *model, uint32_t module);

/* One part a function and container. A function without any cost has none. */
void td_code_of_functions(struct td_code_parts *parts, const struct td_measure *measure,
                          const uint32_t *functions, size_t count);
/* The same of the functions taken together: code that is inlined from one into another counts
 * once, for the innermost. */
void td_code_of_any(struct td_code_parts *parts, const struct td_measure *measure,
                    const uint32_t *functions, size_t count);
/* One part for each container of code of the lines from..to of files that `pattern` names. */
void td_code_of_lines(struct td_code_parts *parts, const struct td_measure *measure,
                      const char *pattern, uint32_t from, uint32_t to);
void td_code_parts_release(struct td_code_parts *parts);

#endif
