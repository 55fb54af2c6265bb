/* SPDX-License-Identifier: MIT */
/* Import of perf.data, as perf record writes it: file and pipe mode, either byte order. */
#ifndef TD_FORMATS_PERFDATA_PERFDATA_H
#define TD_FORMATS_PERFDATA_PERFDATA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "formats/loading.h"
#include "formats/model.h"

/* Whether the bytes begin as a perf.data file does. */
bool td_perfdata_detect(const void *data, size_t size);

/* Fills an empty model, as td_load_bytes promises. */
int td_perfdata_load(struct td_model *model, const void *data, size_t size,
                     const struct td_load_opts *opts, struct td_load_status *status,
                     struct td_err *err);

#endif
