/* SPDX-License-Identifier: MIT */
/* What a command is asked about: functions by their names, or lines of a file. */
#ifndef TD_REPORT_PLACES_H
#define TD_REPORT_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/query/figures/rows.h"
#include "report/session.h"

/* Functions, or lines from..to of a file. A zeroed struct is of nothing. */
struct td_places {
    uint32_t *functions;
    size_t len, cap;
    char *file; /* NULL: functions */
    uint32_t from, to;
    bool whole;   /* the file was named without lines */
    bool unnamed; /* code without names was named, which only instructions can show */
};

void td_places_release(struct td_places *places);
void td_places_add(struct td_places *places, uint32_t function);
/* Adds what the word names: FILE:14, FILE:10-20, a function, a module's code without names, FILE.
 * `rows` are functions. False when there is nothing of the name. */
bool td_places_find(struct td_places *places, const struct td_session *session,
                    const struct td_rows *rows, const char *word);

#endif
