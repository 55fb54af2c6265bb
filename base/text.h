/* SPDX-License-Identifier: MIT */
/*
 * Text from outside made harmless, and numbers made readable. Every string that came from a
 * profiled program, a file or a path goes through here before it reaches a terminal.
 */
#ifndef TD_BASE_TEXT_H
#define TD_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies `len` bytes of `src` to `dst` (always terminated, `dst_size` > 0). C0, DEL, C1, the
 * bidirectional controls (U+200E/F, U+202A-E, U+2066-9), line and paragraph separators and invalid
 * UTF-8 become \xNN, byte by byte. Returns the length that the whole result would have, as
 * snprintf does. A multi-byte character is never cut. */
size_t td_text_safe(char *dst, size_t dst_size, const char *src, size_t len);

/* The length in bytes of the well-formed UTF-8 character at `s`, or 0 when it is not one. */
unsigned td_text_utf8_len(const char *s, size_t len);

/* The columns a terminal uses for UTF-8 `s`; a combining mark counts 0, a wide character 2. */
size_t td_text_width(const char *s);

/* What follows the last slash of a path; all of it where there is none. */
const char *td_text_last_part(const char *path);

/* Strict whole-string parses; false leaves *ret alone. No sign, no blanks, no overflow. */
bool td_parse_u64(const char *s, uint64_t *ret);
bool td_parse_u64_base(const char *s, unsigned base, uint64_t *ret);
/* A finite decimal number such as "0.25". */
bool td_parse_double(const char *s, double *ret);

/* "1,234,567" and "3.4 MB" (powers of 1000); the buffer is returned. 32 bytes are enough. */
const char *td_format_count(char *buf, size_t size, uint64_t value);
const char *td_format_bytes(char *buf, size_t size, uint64_t bytes);

#endif
