/* SPDX-License-Identifier: MIT */
/* Why the lines of a section are slow, to stand below its source. */
#ifndef TD_REPORT_VIEW_MODEL_WHY_NOTES_H
#define TD_REPORT_VIEW_MODEL_WHY_NOTES_H

#include "report/query/lines_of.h"
#include "report/query/why/why.h"
#include "report/view/line_notes.h"
#include "report/view/model/loop_words.h"

/* The measures are those of td_why_basis_init. For each section, of its dearest few lines that lose
 * something and have `least` of all slots or more; rising. NULL: the measure cannot tell. The
 * caller frees it with td_why_notes_free. */
struct td_line_notes *td_why_notes_of(const struct td_measure *measure,
                                      const struct td_measure *stacks,
                                      const struct td_loop_words *words,
                                      const struct td_sections *sections, double least);
void td_why_notes_free(struct td_line_notes *notes, size_t sections); /* NULL is allowed */

#endif
