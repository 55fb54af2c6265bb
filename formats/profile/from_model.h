/* SPDX-License-Identifier: MIT */
/* A whole model back into a profile file: what merge and the conversion of other formats write. */
#ifndef TD_FORMATS_PROFILE_FROM_MODEL_H
#define TD_FORMATS_PROFILE_FROM_MODEL_H

#include <stdbool.h>

#include "formats/profile/write.h"

/* Writes the canonical file of this content (profile.md 6): events, groups, threads, modules,
 * nodes and values are sorted by what they are, equal ones become one and their values are added.
 * So models with equal content, in whatever order it was put in, give the same bytes. Environment
 * entries keep the model's order. The id is zeros unless opts->id is given. Samples are written
 * when the model keeps them; tallies then hold only what is not in the samples. A model that is not
 * complete gives a file without an end, which reads as not complete. TD_ELIMIT when
 * there are more nodes than one epoch can hold (16.7 million). `opts` may be NULL. */
int td_profile_write_model(const struct td_model *model, const struct td_profile_writer_opts *opts,
                           td_profile_write_fn *write, void *ctx, struct td_err *err);

/* A row of tallies, by the model's ids; `values` has as many as the group has columns. */
typedef void td_profile_row_fn(void *ctx, uint32_t node, uint32_t group, uint64_t samples,
                               const uint64_t *values);

/* Tallies that are kept elsewhere, packed, because there are too many for a model. */
struct td_profile_rows {
    const void *ctx;
    /* Calls `row` for each row of the thread; it may be called several times for a thread. */
    void (*each)(const void *ctx, uint32_t thread, td_profile_row_fn *row, void *row_ctx);
    bool samples_too; /* the model's samples are written; no row sums them */
};

/* The same with `rows` in place of the model's tallies and, unless samples_too, samples. */
int td_profile_write_rows(const struct td_model *model, const struct td_profile_rows *rows,
                          const struct td_profile_writer_opts *opts, td_profile_write_fn *write,
                          void *ctx, struct td_err *err);

#endif
