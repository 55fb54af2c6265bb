/* SPDX-License-Identifier: MIT */
/*
 * symbolize_bench FILE BUILD_ID OFFSETS CACHE_DIR: resolves every file offset (hex, one a line) to
 * functions, inline chains and lines, and prints seconds and counts as JSON. CACHE_DIR "" means no
 * cache.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/text.h"
#include "symbolize/symbolize.h"

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool parse_build_id(struct td_build_id *id, const char *hex)
{
    for (size_t i = 0; i + 1 < strlen(hex) && id->size < TD_BUILD_ID_MAX; i += 2) {
        const char byte[3] = {hex[i], hex[i + 1], '\0'};
        uint64_t value = 0;

        if (!td_parse_u64_base(byte, 16, &value))
            return false;
        id->bytes[id->size++] = (uint8_t)value;
    }
    return id->size > 0;
}

static int load_offsets(struct td_model *model, uint32_t module, const char *path)
{
    struct td_buf buf = {0};
    struct td_err err = TD_ERR_INIT;

    if (td_file_read(path, 1u << 28, &buf, &err) < 0) {
        fprintf(stderr, "symbolize_bench: %s\n", err.text);
        return 1;
    }
    td_buf_u8(&buf, 0);
    for (char *at = (char *)buf.data; *at;) {
        char *end = at;
        const uint64_t offset = strtoull(at, &end, 16);

        if (end == at)
            break;
        td_model_put_location(model, module, offset);
        at = end + strspn(end, "\n ");
    }
    td_buf_release(&buf);
    return 0;
}

static void print_result(const struct td_model *model, uint32_t module, double seconds)
{
    const uint32_t count = td_model_location_count(model);
    uint32_t named = 0, with_line = 0;
    uint64_t frames = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct td_location *location = td_model_location(model, i);

        named += location->line_count > 0;
        frames += location->line_count;
        if (location->line_count > 0)
            with_line += td_model_line(model, location->line_first)->line > 0;
    }
    const char *note = td_model_string(model, td_model_module(model, module)->note);
    printf("{\"seconds\": %.6f, \"addresses\": %u, \"named\": %u, \"with_line\": %u, \"frames\": "
           "%llu, "
           "\"noted\": %s}\n",
           seconds, count, named, with_line, (unsigned long long)frames, *note ? "true" : "false");
    if (*note)
        fprintf(stderr, "symbolize_bench: %s\n", note);
}

int main(int argc, char **argv)
{
    struct td_err err = TD_ERR_INIT;
    int status = 1;

    if (argc != 5) {
        fprintf(stderr, "usage: symbolize_bench FILE BUILD_ID OFFSETS CACHE_DIR\n");
        return 2;
    }
    const struct td_symbolizer_opts opts = {.cache_dir = argv[4]};
    struct td_model *model = td_model_new();
    struct td_symbolizer *symbolizer = td_symbolizer_new(&opts);
    struct td_module module = {.kind = TD_MODULE_FILE, .path = td_model_intern_z(model, argv[1])};
    if (!parse_build_id(&module.build_id, argv[2])) {
        fprintf(stderr, "symbolize_bench: '%s' is no build-id\n", argv[2]);
        goto out;
    }
    const uint32_t id = td_model_put_module(model, &module);
    if (load_offsets(model, id, argv[3]))
        goto out;
    const double start = now_s();
    if (td_symbolizer_resolve(symbolizer, model, &err) < 0) {
        fprintf(stderr, "symbolize_bench: %s\n", err.text);
        goto out;
    }
    print_result(model, id, now_s() - start);
    status = 0;
out:
    td_symbolizer_free(symbolizer);
    td_model_free(model);
    return status;
}
