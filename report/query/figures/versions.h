/* SPDX-License-Identifier: MIT */
/*
 * Versions of one function, of which the C library uses the one that suits the processor. Their
 * names differ in what stands behind the function's: __strlen_avx2, __strlen_evex.
 */
#ifndef TD_REPORT_QUERY_FIGURES_VERSIONS_H
#define TD_REPORT_QUERY_FIGURES_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether `a` and `b` are names of glibc's versions of the same function; also where they are the
 * same name. */
bool td_versions_of_one(const char *a, const char *b);
/* `name` is one of glibc's versions of a function. */
bool td_version_is(const char *name);
/* ... and needs AVX-512. */
bool td_version_needs_avx512(const char *name);

#endif
