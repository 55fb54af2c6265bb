/* SPDX-License-Identifier: MIT */
/*
 * Answers kept on disk by build-id, so that the next report need not read debug information again.
 * A file that is damaged, of another version, or another user's counts as absent; any may be
 * deleted at any time.
 */
#ifndef TD_SYMBOLIZE_CACHE_H
#define TD_SYMBOLIZE_CACHE_H

#include <stdbool.h>

#include "formats/model.h"
#include "symbolize/answers.h"

struct td_cache;

/* A descriptor of the folder to use: `wanted`, or below $XDG_CACHE_HOME or ~/.cache when that is
 * NULL. -1 when there is to be none: without a reason when none was wanted or there is no home,
 * with one when others could put files there, or it would be made in the home of another user. */
int td_cache_dir(const char *wanted, struct td_err *err);

/* The entry of this build-id or content; NULL for what names no content. */
struct td_cache *td_cache_open(int dir, const struct td_build_id *id);
/* What was kept; false when nothing was. The view lives until the close. */
bool td_cache_answers(const struct td_cache *cache, struct td_answers_view *view);
/* Takes a copy of new answers. */
void td_cache_add(struct td_cache *cache, const struct td_answers_view *view);
/* Writes old and new answers if there are new ones, and frees. A disk that cannot be written is no
 * error: the cache only saves time. */
void td_cache_close(struct td_cache *cache);

#endif
