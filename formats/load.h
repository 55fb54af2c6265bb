/* SPDX-License-Identifier: MIT */
/* A file, of whatever kind we read, into the model. The only place that knows all importers. */
#ifndef TD_FORMATS_LOAD_H
#define TD_FORMATS_LOAD_H

#include "formats/loading.h"

/* Fills a new model, owned by the caller. Returns TD_OK also when only a part could be read
 * (status->damaged or ->cut, and td_model_complete is false); *ret is set only then. TD_EFORMAT
 * when it is no profile at all or nothing could be read, TD_EVERSION when it is newer than this
 * reader, TD_ENOENT, TD_EIO. `opts` and `status` may be NULL. */
int td_load_file(struct td_model **ret, const char *path, const struct td_load_opts *opts,
                 struct td_load_status *status, struct td_err *err);
/* The same from memory; `name` is for messages. */
int td_load_bytes(struct td_model **ret, const void *data, size_t size, const char *name,
                  const struct td_load_opts *opts, struct td_load_status *status,
                  struct td_err *err);

/* Whether the file begins as one that td_load_file reads. */
bool td_load_knows(const char *path);

#endif
