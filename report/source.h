/* SPDX-License-Identifier: MIT */
/* Source files by line, found by their recorded path or under other directories. */
#ifndef TD_REPORT_SOURCE_H
#define TD_REPORT_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

struct td_source {
    struct td_buf text;
    size_t *starts; /* of line i + 1; one more than there are lines */
    uint32_t line_count;
    uint64_t changed_ns; /* CLOCK_REALTIME of the last change */
};

/* Where else to look: DIR/path, then DIR/ with the first parts of the path left out. */
struct td_source_dirs {
    const char *const *at;
    size_t len;
};

/* TD_ENOENT when there is no such file anywhere; TD_ELIMIT when it is over 64 MB; TD_EUNSUPPORTED
 * for root when others may not read it and no --source-dir leads there: a profile may name any
 * file. */
int td_source_read(struct td_source *ret, const char *path, const struct td_source_dirs *dirs,
                   struct td_err *err);
void td_source_release(struct td_source *source);

/* Line `line` (from 1), without its end; sets *len. NULL past the last. */
const char *td_source_line(const struct td_source *source, uint32_t line, size_t *len);

#endif
