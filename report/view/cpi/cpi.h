/* SPDX-License-Identifier: MIT */
/* CPI stacks as text and JSON. */
#ifndef TD_REPORT_VIEW_CPI_CPI_H
#define TD_REPORT_VIEW_CPI_CPI_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/export/json.h"
#include "report/query/cpi.h"
#include "report/query/figures/rows.h"
#include "report/view/table/style.h"

/* What stacks are of beside that of all: functions, or loops. */
struct td_cpi_list {
    const struct td_rows *rows;   /* functions; NULL: loops */
    const struct td_loops *loops; /* NULL: functions */
    const uint32_t *chosen;       /* of the loops, so many: */
    size_t len;
};

/* One of them. */
struct td_cpi_entry {
    const char *name;
    uint32_t module;
    const struct td_loop *loop; /* NULL: a function */
    struct td_cpi stack;        /* as the view wants it, with errors */
    char place[1024];           /* what `name` may point to */
};

/* What is shown of each stack. */
struct td_cpi_view {
    const struct td_cpi_basis *basis;
    int levels;
    double percent_limit; /* components below go together */
};

#define TD_CPI_NAME_BYTES 64
/* What a component is called; the buffer, of TD_CPI_NAME_BYTES, is returned. */
const char *td_cpi_part_name(const struct td_cpi_part *part, char *buf, size_t size);
/* Four digits of the whole stack, so that its parts stand in one column. */
int td_cpi_decimals(double cpi);
bool td_cpi_has_errors(const struct td_cpi *stack);
/* As the view wants it, with errors. */
struct td_cpi td_cpi_stack_of_all(const struct td_cpi_view *view);
/* `i` < list->len. */
void td_cpi_entry_of(struct td_cpi_entry *ret, const struct td_cpi_view *view,
                     const struct td_cpi_list *list, size_t i);

/* The stack of all that the measure holds. */
void td_cpi_print_whole(const struct td_cpi_view *view, const struct td_style *style);
/* One of each of the list. */
void td_cpi_print_list(const struct td_cpi_view *view, const struct td_cpi_list *list,
                       const struct td_style *style);
/* The same as members "cpi_stack" and "functions" or "loops". */
void td_cpi_json(const struct td_cpi_view *view, const struct td_cpi_list *list,
                 struct td_json *json);

#endif
