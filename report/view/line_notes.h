/* SPDX-License-Identifier: MIT */
/* What is said of single lines of a section, in words. */
#ifndef TD_REPORT_VIEW_LINE_NOTES_H
#define TD_REPORT_VIEW_LINE_NOTES_H

#include <stddef.h>
#include <stdint.h>

enum { TD_LINE_NOTES_MAX = 4 }; /* of a section */

struct td_line_note {
    uint32_t line;
    const char *id;    /* of the cause: "stride" */
    const char *title; /* of the cause in short: "long strides" */
    char *text;        /* owned */
};

struct td_line_notes {
    struct td_line_note at[TD_LINE_NOTES_MAX]; /* rising lines */
    size_t len;
};

/* NULL: there is none of the line. `notes` may be NULL. */
static inline const struct td_line_note *td_line_note_of(const struct td_line_notes *notes,
                                                         uint32_t line)
{
    for (size_t i = 0; notes && i < notes->len; i++) {
        if (notes->at[i].line == line)
            return &notes->at[i];
    }
    return NULL;
}

#endif
