/* SPDX-License-Identifier: MIT */
/*
 * Regions that a command marks while it runs natively: the memory that tdrec shares with it
 * (region/tdprof/region_shared.h), and how what stands there gets into the profile.
 */
#ifndef TD_RECORD_RUN_MARKS_H
#define TD_RECORD_RUN_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/profile/write.h"
#include "record/plan/plan.h"
#include "record/run/region_cells.h"

struct td_marks;

/* Whether the program that a command of this name starts has marks, or is linked with their
 * library: it names the variable, or the library. False for a script, and where the file cannot be
 * read. */
bool td_marks_are_in(const char *command);

/* What marks are to count is written there: the first run's top-down events, or nothing but time.
 * NULL: this machine gives no such memory. */
struct td_marks *td_marks_new(const struct td_plan *plan, const struct td_caps *caps);
void td_marks_free(struct td_marks *marks); /* NULL is allowed */
/* Our environment with its name; borrowed, until the marks are freed. */
char **td_marks_env(struct td_marks *marks);

/* The profile's thread for one that set marks. */
typedef uint32_t td_marks_thread_fn(void *ctx, const struct td_marked_thread *thread);

/* What was written of marks so far. */
struct td_marks_told {
    /* That set marks; of those: only time is known, or counters were read by system calls. */
    uint64_t threads, uncounted, by_read;
    uint64_t lost, bad;         /* marks without a place; what no program of ours writes */
    uint64_t strays, left_open; /* as struct td_sim_region_misuse */
    uint32_t error;             /* the first errno of an event that could not be opened; 0 */
    bool counted, user_only;    /* events were to be counted; the kernel's part was not */
};
/* Writes all that is known so far, in place of what was written before. */
struct td_marks_told td_marks_write(struct td_marks *marks, struct td_profile_writer *writer,
                                    td_marks_thread_fn *thread, void *ctx);

#endif
