/* SPDX-License-Identifier: MIT */
/* Names of a file's global data, from its own symbol table. */
#ifndef TD_SYMBOLIZE_DATA_H
#define TD_SYMBOLIZE_DATA_H

#include <stdint.h>

#include "formats/file_id.h"

struct td_data; /* of one file */

/* NULL: the file is not there, or is not the one of this id. */
struct td_data *td_data_open(const char *path, const struct td_build_id *id);
void td_data_free(struct td_data *data); /* NULL is allowed */

/* What the file takes in memory. */
uint64_t td_data_extent(const struct td_data *data);
/* What lies in `size` bytes from `offset` on, counted from where the file begins in memory:
 * "hits, misses", "table+64", what fills more of them first. Newly allocated; NULL when nothing
 * there has a name. */
char *td_data_text(const struct td_data *data, uint64_t offset, uint64_t size);

#endif
