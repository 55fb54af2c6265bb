/* SPDX-License-Identifier: MIT */
/* What every export says about where its numbers come from, a sentence each. */
#ifndef TD_FORMATS_NOTES_H
#define TD_FORMATS_NOTES_H

#include "formats/measure.h"

/* `line` is safe to print, one line, and lives until the call returns. */
typedef void td_note_fn(void *ctx, const char *line);

/* Command, machine, source and its reason ("modelled" when it is), coverage, warnings. */
void td_notes(const struct td_measure *measure, const char *tool, td_note_fn *note, void *ctx);

/* What damage took from the profile, one sentence, owned by the caller; NULL when there was none.
 */
char *td_notes_damage(const struct td_model *model);

/* The command as one string, blank-separated; owned by the caller. "" when it is not known. */
char *td_notes_command(const struct td_model *model);

#endif
