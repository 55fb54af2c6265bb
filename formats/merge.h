/* SPDX-License-Identifier: MIT */
/*
 * Profiles added up. Everything is named by its content (strings, modules by path and build-id,
 * stacks), so that the result does not depend on order or grouping: merging merges gives the same
 * bytes as merging all at once. Sums are kept, and of top-down groups the samples (up to two
 * million): their order within a thread says in which functions slots were lost. Times of
 * different inputs do not compare: hosts have no common clock.
 *
 * Every input leaves a line in the environment, key "input", which is also the origin of its
 * threads: "host=H;process=P;pid=N;rank=R;started=NS;ended=NS;samples=N;lost=N", fields that are
 * not known left out. What differs between inputs otherwise stands once for each value; of commands
 * the least is kept, and a warning that there were others.
 */
#ifndef TD_FORMATS_MERGE_H
#define TD_FORMATS_MERGE_H

#include "base/err.h"
#include "formats/model.h"
#include "formats/profile/write.h"

struct td_merge;

struct td_merge *td_merge_new(void);
void td_merge_free(struct td_merge *merge); /* NULL is allowed */

/* Adds a profile, which may be a merge itself. TD_EMISMATCH when it does not add up with those
 * before: its slots are of another core, or it is of another kind (modelled, hybrid, or samples of
 * slots, of time, of cycles, of other events). A profile without anything counted goes with all.
 * `name` is for the message. */
int td_merge_add(struct td_merge *merge, const struct td_model *model, const char *name,
                 struct td_err *err);

/* Writes the canonical file of the sum, once. As td_profile_write_model. */
int td_merge_write(struct td_merge *merge, td_profile_write_fn *write, void *ctx,
                   struct td_err *err);

/* How many recordings a merge is of, and how long the longest took; 0 and 0 when it is no merge:
 * from the begin of one to the end of another there is no time, as each host has its own clock. */
size_t td_merge_inputs(const struct td_model *model, uint64_t *longest_ns);

/* The value of a field of an input or origin, copied to `buf`; false when it has none. */
bool td_merge_field(const char *origin, const char *field, char *buf, size_t size);

#endif
