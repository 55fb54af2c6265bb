/* SPDX-License-Identifier: MIT */
/* Names of tracepoints in the tracing data of a pipe (Documentation/trace-cmd.dat.v6): what older
 * perfs write of them there. */
#include <stdio.h>
#include <string.h>

#include "formats/perfdata/session_priv.h"

/* A tracepoint's format starts with "name: NAME\nID: NUMBER\n"; names are shorter than this. */
#define NAME_MAX_BYTES 100

static const char *take_text(struct td_cur *rd)
{
    size_t len = 0;
    struct td_cur look = *rd;
    const char *text = td_cur_text(&look, &len);

    /* The last byte would have to be the end. */
    return td_cur_bytes(rd, len + 1) ? text : "";
}

/* A piece of text, after its size. */
static struct td_cur take_piece(struct td_cur *rd)
{
    const uint64_t size = td_cur_u64(rd);
    const uint8_t *bytes = td_cur_bytes(rd, size);

    return (struct td_cur){.at = bytes, .end = bytes ? bytes + size : bytes};
}

/* Whether this is the format of the tracepoint `id`; then *name, which is not terminated. */
static bool is_wanted(struct td_cur piece, uint64_t id, const char **name, size_t *len)
{
    static const char before_name[] = "name: ", before_id[] = "ID: ";
    char line[32];
    const char *text = (const char *)piece.at;
    const size_t size = (size_t)(piece.end - piece.at);

    if (size < sizeof(before_name) || memcmp(text, before_name, sizeof(before_name) - 1) != 0)
        return false;
    *name = text + sizeof(before_name) - 1;
    const char *end = memchr(*name, '\n', size - sizeof(before_name) + 1);
    const int wanted = snprintf(line, sizeof(line), "%s%llu\n", before_id, (unsigned long long)id);

    if (!end || (size_t)(text + size - end - 1) < (size_t)wanted ||
        memcmp(end + 1, line, (size_t)wanted) != 0)
        return false;
    *len = (size_t)(end - *name);
    return *len < NAME_MAX_BYTES;
}

/* Up to the systems, of which there are *count. */
static struct td_cur skip_head(const struct td_perf_session *session, uint32_t *count)
{
    static const uint8_t magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
    struct td_cur rd = {.at = session->tracing, .end = session->tracing + session->tracing_bytes};
    const uint8_t *start = td_cur_bytes(&rd, sizeof(magic));

    rd.bad = rd.bad || memcmp(start, magic, sizeof(magic)) != 0;
    take_text(&rd); /* the version */
    const uint8_t *order = td_cur_bytes(&rd, 1);
    rd.big = order && *order;
    td_cur_bytes(&rd, 1); /* the size of a long */
    td_cur_u32(&rd);      /* the size of a page */
    for (int i = 0; i < 2; i++) {
        take_text(&rd); /* header_page, header_event */
        take_piece(&rd);
    }
    *count = td_cur_u32(&rd);
    for (uint32_t i = 0; i < *count && !rd.bad; i++)
        take_piece(&rd); /* ftrace's own */
    *count = td_cur_u32(&rd);
    return rd;
}

bool td_perf_tracepoint_name(const struct td_perf_session *session, uint64_t id, char *text,
                             size_t size)
{
    uint32_t systems = 0;

    if (!session->tracing)
        return false;
    struct td_cur rd = skip_head(session, &systems);
    for (uint32_t s = 0; s < systems && !rd.bad; s++) {
        const char *system = take_text(&rd);
        const uint32_t count = td_cur_u32(&rd);

        for (uint32_t i = 0; i < count && !rd.bad; i++) {
            const char *name = NULL;
            size_t len = 0;

            if (!is_wanted(take_piece(&rd), id, &name, &len))
                continue;
            snprintf(text, size, "%s:%.*s", system, (int)len, name);
            return true;
        }
    }
    return false;
}
