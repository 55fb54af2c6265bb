/* SPDX-License-Identifier: MIT */
/* How the recorded command ended: one that was killed did not do all of its work. */
#ifndef TD_REPORT_QUERY_FIGURES_ENDING_H
#define TD_REPORT_QUERY_FIGURES_ENDING_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/model.h"

struct td_ending {
    bool known;
    bool killed; /* by a signal */
    int number;  /* the signal, or the exit status */
};

/* Of several recordings the one that ended worst: by a signal, else not with exit status 0. */
struct td_ending td_ending_of(const struct td_model *model);
struct td_ending td_ending_worse(struct td_ending a, struct td_ending b);
/* What is not known is taken for an exit of any status. */
bool td_endings_differ(struct td_ending a, struct td_ending b);
/* "was ended by signal 6 (SIGABRT)", "ended with exit status 0"; `text` is returned. */
const char *td_ending_words(char *text, size_t size, struct td_ending ending);

#endif
