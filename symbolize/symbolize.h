/* SPDX-License-Identifier: MIT */
/*
 * Addresses of a model to functions, inline chains and source lines. A file is used only when its
 * build-id is the recorded one; files are parsed in child processes with limits, so that a bad one
 * costs its own names and nothing else.
 */
#ifndef TD_SYMBOLIZE_SYMBOLIZE_H
#define TD_SYMBOLIZE_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "formats/model.h"

/* Called from time to time while a resolve takes long: locations done, of how many, and the module
 * in work (may be NULL). */
typedef void td_symbolize_progress_fn(void *ctx, size_t done, size_t total, const char *module);

struct td_symbolizer_opts {
    const char *cache_dir; /* NULL: $XDG_CACHE_HOME/tdprof or ~/.cache/tdprof; "": no cache */
    const char *const
        *debug_dirs;      /* NULL-terminated, searched first; NULL: only the standard ones */
    const char *kallsyms; /* a copy of /proc/kallsyms, for imports; NULL: none */
    const char *sysroot;  /* put before recorded paths; NULL: none */
    unsigned jobs;        /* child processes at a time; 0: one a CPU */
    unsigned timeout_s;   /* for one module; 0: the default, 60 */
    bool functions_only;  /* names of containing functions; no inlines, no lines */
    bool debuginfod;      /* ask servers (off: never the network) */
    td_symbolize_progress_fn *progress; /* NULL: none */
    void *progress_ctx;
};

struct td_symbolizer;

/* `opts` may be NULL; what it points to is borrowed until the free. */
struct td_symbolizer *td_symbolizer_new(const struct td_symbolizer_opts *opts);
void td_symbolizer_free(struct td_symbolizer *symbolizer); /* NULL is allowed */
/* Why the names that are found cannot be kept for the next time; NULL when they can, or shall not.
 * Valid until the free. */
const char *td_symbolizer_no_cache(const struct td_symbolizer *symbolizer);

/* Gives lines to every location of the model, and a note to every module where names or lines are
 * missing, saying why and what would help. A location of which nothing is known keeps line_count
 * 0. Fails only when nothing could be done at all (no child process); modules that could not be
 * read are not failures. */
int td_symbolizer_resolve(struct td_symbolizer *symbolizer, struct td_model *model,
                          struct td_err *err);

#endif
