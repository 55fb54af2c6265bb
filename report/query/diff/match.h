/* SPDX-License-Identifier: MIT */
/*
 * What is the same function, and the same line, in profiles of binaries that were built anew.
 * Works on names and hashes of lines alone, so that it can be tested without profiles.
 */
#ifndef TD_REPORT_QUERY_DIFF_MATCH_H
#define TD_REPORT_QUERY_DIFF_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function of one side. Strings are borrowed. */
struct td_match_name {
    const char *name;   /* with its signature; NULL: code of the module that has no name */
    const char *module; /* as td_match_module gives it */
    const char *file;   /* where it is defined; "" when not known */
};

/* What two builds of a module have in common: "libz.so" of "libz.so.1.3", TD_MATCH_PROGRAM of the
 * program itself whatever its file is called. Returns a part of `module`, or that word; *len is how
 * much of it counts. */
#define TD_MATCH_PROGRAM "[program]"
const char *td_match_module(const char *module, const char *program, size_t *len);

/* An id for each function: the same for the same function. `ids` has room for `count`; side[i] says
 * whose names[i] is, sides in rising order. Within a side only equal names are the same. Between
 * sides the first of these holds that tells one from all others: name, module and file; name and
 * module; the same without what a compiler adds (".constprop.0", a hash); the name without its
 * parameters; the name in another module. Returns how many ids there are: 0 up to that. */
uint32_t td_match_functions(uint32_t *ids, const struct td_match_name *names, const uint32_t *side,
                            size_t count);

/* A text as hashes of its lines. */
struct td_match_text {
    uint64_t *lines; /* [0] is line 1 */
    uint32_t count;
};

/* Of `text` of `len` bytes; blanks at both ends of a line do not count. Release with free. */
struct td_match_text td_match_text_of(const char *text, size_t len);

/* old_of[i]: the line (from 1) of the old text that line i + 1 of the new one was, 0: it is new.
 * `old_of` has room for now->count. By the lines that stand once in either text and in the same
 * order, and what is equal around them (patience diff). */
void td_match_lines(uint32_t *old_of, const struct td_match_text *old,
                    const struct td_match_text *now);

/* Where a function begins in either text. */
struct td_match_anchor {
    uint32_t old, now;
};
/* Sorts the anchors by `now`, as td_match_line wants them. */
void td_match_sort_anchors(struct td_match_anchor *anchors, size_t count);
/* The old number of a new line, by its distance from the function before it; the line itself when
 * there is none. */
uint32_t td_match_line(const struct td_match_anchor *anchors, size_t count, uint32_t line);

#endif
