/* SPDX-License-Identifier: MIT */
/* The descriptors that a process has open. What they are is learned while it runs; where regular
 * files stand, which a clone shares with the program, is read while it is stopped. */
#ifndef TD_RECORD_LIVE_FILES_H
#define TD_RECORD_LIVE_FILES_H

#include <stddef.h>
#include <sys/types.h>

#include "record/sim/share/live_image.h"

struct td_live_files {
    struct td_live_file *items; /* names are its own */
    size_t count, cap;
};

/* Of `process`, while it runs; at most TD_LIVE_FILES_MAX of them. Where it may not be read, none.
 */
#define TD_LIVE_FILES_MAX 1024
void td_live_files_list(struct td_live_files *files, pid_t process);
/* Where the regular files stand now; those that were closed meanwhile are left out. At most
 * TD_LIVE_OFFSETS_MAX are read; windows end where the program uses one of the others. */
#define TD_LIVE_OFFSETS_MAX 128
void td_live_files_place(struct td_live_files *files, pid_t process);
void td_live_files_release(struct td_live_files *files);

#endif
