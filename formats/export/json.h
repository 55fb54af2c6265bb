/* SPDX-License-Identifier: MIT */
/*
 * A small JSON writer. It keeps the commas, the nesting and the escapes; what it writes is valid
 * UTF-8 whatever the bytes it was given (an invalid byte becomes U+FFFD). Write errors stay in
 * ferror(out), which the caller checks once at the end.
 */
#ifndef TD_FORMATS_EXPORT_JSON_H
#define TD_FORMATS_EXPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TD_JSON_DEPTH_MAX 32

struct td_json {
    FILE *out;
    unsigned depth;
    unsigned lines_to;                  /* containers down to this depth put each member on a */
    bool has_member[TD_JSON_DEPTH_MAX]; /* line of its own; 0: everything on one line */
    bool is_object[TD_JSON_DEPTH_MAX];
};

/* `out` is borrowed. */
struct td_json td_json_init(FILE *out, unsigned lines_to);

/* Each takes the member's key inside an object, and NULL inside an array or at the top. */
void td_json_object(struct td_json *json, const char *key);
void td_json_array(struct td_json *json, const char *key);
/* Ends the innermost object or array; after the outermost a newline is written. */
void td_json_end(struct td_json *json);
void td_json_string(struct td_json *json, const char *key, const char *s); /* NULL gives null */
void td_json_bytes(struct td_json *json, const char *key, const char *s, size_t len);
void td_json_u64(struct td_json *json, const char *key, uint64_t value);
void td_json_i64(struct td_json *json, const char *key, int64_t value);
/* The shortest of up to `digits` significant digits; null when not finite. */
void td_json_double(struct td_json *json, const char *key, double value, int digits);
void td_json_bool(struct td_json *json, const char *key, bool value);
void td_json_null(struct td_json *json, const char *key);

#endif
