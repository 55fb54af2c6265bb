/* SPDX-License-Identifier: MIT */
/*
 * Programs kept beside the cache of names: a program is recorded, changed and built anew in its
 * place, and then its first profile is to be compared with the second. Only what its user built is
 * kept, not what is installed for all; the newest of them.
 */
#ifndef TD_SYMBOLIZE_KEPT_H
#define TD_SYMBOLIZE_KEPT_H

#include "formats/model.h"

/* Keeps the ELF file at `path`, if it has a build-id and is the user's own. It saves who compares
 * profiles, and is no part of them: when it cannot be, nothing is said. */
void td_kept_add(const char *path);

/* Where the program of this build-id is kept in `cache_dir` (td_cache_dir); NULL when it is not.
 * Owned by the caller. What is there may have changed since: check its build-id. */
char *td_kept_path(int cache_dir, const struct td_build_id *id);

#endif
