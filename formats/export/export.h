/* SPDX-License-Identifier: MIT */
/* Exporters: one file each behind one const descriptor, and one line in the table of them. */
#ifndef TD_FORMATS_EXPORT_EXPORT_H
#define TD_FORMATS_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "formats/measure.h"

struct td_export_opts {
    enum td_metric metric; /* for formats with one value a stack; TD_METRIC_COUNT: the
                              format's own choice */
    bool no_inline;        /* the containing function in place of inlined ones */
    bool mark_inlined; /* folded: "_[i]" behind inlined functions, as flame graph tools read it */
    const char *tool;  /* "tdreport 0.1.0", for formats that name their maker */
};

struct td_exporter {
    const char *name;   /* after --format */
    const char *suffix; /* of a file it writes, without the dot */
    const char *about;  /* one line for --help: what opens it */
    bool wants_samples; /* rows should be samples with times, not sums */
    bool one_value;     /* a stack has one value: opts.metric says which */
    bool wants_threads; /* rows should be of one thread each, not of all of a program */
    /* Writes the whole measure. The model is symbolized. A short write shows in ferror(out), which
     * the caller checks; other failures are returned. */
    int (*write)(const struct td_measure *measure, const struct td_export_opts *opts, FILE *out,
                 struct td_err *err);
};

/* NULL-terminated. */
extern const struct td_exporter *const td_exporters[];
/* NULL when none has this name. */
const struct td_exporter *td_exporter_by_name(const char *name);

#endif
