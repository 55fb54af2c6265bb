/* SPDX-License-Identifier: MIT */
#include "formats/export/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

struct td_json td_json_init(FILE *out, unsigned lines_to)
{
    return (struct td_json){.out = out, .depth = 0, .lines_to = lines_to};
}

/* RFC 8259 section 7; also what a terminal obeys: DEL, C1, bidirectional controls, separators.
 * Those are of at most three bytes. */
static bool needs_escape(const unsigned char *u, unsigned len)
{
    char safe[16];

    if (len == 1)
        return u[0] < 0x20 || u[0] == '"' || u[0] == '\\' || u[0] == 0x7f;
    return td_text_safe(safe, sizeof(safe), (const char *)u, len) != len;
}

static unsigned code_point(const unsigned char *u, unsigned len)
{
    if (len == 1)
        return u[0];
    if (len == 2)
        return (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu);
    return (u[0] & 0x0fu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);
}

static void write_escape(FILE *out, const unsigned char *u, unsigned len)
{
    if (len == 1 && (u[0] == '"' || u[0] == '\\'))
        fprintf(out, "\\%c", u[0]);
    else if (len == 1 && u[0] == '\n')
        fputs("\\n", out);
    else if (len == 1 && u[0] == '\t')
        fputs("\\t", out);
    else
        fprintf(out, "\\u%04x", code_point(u, len));
}

static void write_text(FILE *out, const char *s, size_t len)
{
    size_t plain = 0; /* s[plain..i) is waiting to be written as it is */

    fputc('"', out);
    for (size_t i = 0; i < len;) {
        const unsigned n = td_text_utf8_len(s + i, len - i);
        const unsigned char *u = (const unsigned char *)s + i;

        if (n > 0 && !needs_escape(u, n)) {
            i += n;
            continue;
        }
        fwrite(s + plain, 1, i - plain, out);
        if (n == 0)
            fputs("\\ufffd", out);
        else
            write_escape(out, u, n);
        i += n ? n : 1;
        plain = i;
    }
    fwrite(s + plain, 1, len - plain, out);
    fputc('"', out);
}

static void new_line(const struct td_json *json)
{
    fprintf(json->out, "\n%*s", (int)(json->depth * 2), "");
}

/* What stands before a member: the comma, the line, the key. */
static void begin_member(struct td_json *json, const char *key)
{
    if (json->depth > 0) {
        bool *has = &json->has_member[json->depth - 1];
        const bool lines = json->depth <= json->lines_to;

        assert(json->is_object[json->depth - 1] == (key != NULL));
        if (*has)
            fputs(lines ? "," : ", ", json->out);
        if (lines)
            new_line(json);
        *has = true;
    }
    if (key) {
        write_text(json->out, key, strlen(key));
        fputs(": ", json->out);
    }
}

static void begin_container(struct td_json *json, const char *key, bool object)
{
    begin_member(json, key);
    assert(json->depth < TD_JSON_DEPTH_MAX);
    fputc(object ? '{' : '[', json->out);
    json->has_member[json->depth] = false;
    json->is_object[json->depth] = object;
    json->depth++;
}

void td_json_object(struct td_json *json, const char *key)
{
    begin_container(json, key, true);
}

void td_json_array(struct td_json *json, const char *key)
{
    begin_container(json, key, false);
}

void td_json_end(struct td_json *json)
{
    assert(json->depth > 0);
    json->depth--;
    if (json->has_member[json->depth] && json->depth < json->lines_to)
        new_line(json);
    fputc(json->is_object[json->depth] ? '}' : ']', json->out);
    if (json->depth == 0)
        fputc('\n', json->out);
}

void td_json_string(struct td_json *json, const char *key, const char *s)
{
    if (s)
        td_json_bytes(json, key, s, strlen(s));
    else
        td_json_null(json, key);
}

void td_json_bytes(struct td_json *json, const char *key, const char *s, size_t len)
{
    begin_member(json, key);
    write_text(json->out, s, len);
}

void td_json_u64(struct td_json *json, const char *key, uint64_t value)
{
    begin_member(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void td_json_i64(struct td_json *json, const char *key, int64_t value)
{
    begin_member(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void td_json_double(struct td_json *json, const char *key, double value, int digits)
{
    if (!isfinite(value)) {
        td_json_null(json, key);
        return;
    }
    begin_member(json, key);
    fprintf(json->out, "%.*g", digits, value);
}

void td_json_bool(struct td_json *json, const char *key, bool value)
{
    begin_member(json, key);
    fputs(value ? "true" : "false", json->out);
}

void td_json_null(struct td_json *json, const char *key)
{
    begin_member(json, key);
    fputs("null", json->out);
}
