/* SPDX-License-Identifier: MIT */
/* What people call a function, and patterns of names, paths and numbers as filters take them. */
#ifndef TD_REPORT_QUERY_FIGURES_NAMES_H
#define TD_REPORT_QUERY_FIGURES_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* What views put before a module's name for all of its code without names. */
#define TD_UNNAMED_OF "[unknown] of "

/* The qualified name alone: no return type, no parameters, no template arguments, no qualifiers or
 * clone suffixes. "bool ns::Map<K, V>::find(K const&) const" gives "ns::Map::find". Returns the
 * length; cut to fit `size` (> 0). */
size_t td_name_bare(char *dst, size_t size, const char *name);

/* `pattern` is `text`, or a shell pattern that matches it. */
bool td_pattern_matches(const char *pattern, const char *text);

/* `pattern` names the function: its whole name, its bare name, the last parts of the bare name
 * ("Map::find"), or a shell pattern that matches the whole or the bare name. */
bool td_pattern_names(const char *pattern, const char *name);

/* `pattern` names the file: its path, the last parts of the path ("lib/token.cpp"), or a shell
 * pattern that matches the path or its last part. */
bool td_pattern_is_path(const char *pattern, const char *path);

#endif
