/* SPDX-License-Identifier: MIT */
/* A profile file into a model: the loader of our own format, one line of the table in load.c. */
#ifndef TD_FORMATS_PROFILE_LOAD_H
#define TD_FORMATS_PROFILE_LOAD_H

#include "formats/loading.h"

/* True when the bytes begin as a profile does, or are the beginning of such a beginning. */
bool td_profile_detect(const void *data, size_t size);

/* Fills `model`, which is new. As td_load_bytes otherwise; `opts` and `status` are not NULL. */
int td_profile_load(struct td_model *model, const void *data, size_t size,
                    const struct td_load_opts *opts, struct td_load_status *status,
                    struct td_err *err);

#endif
