/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a profile: refused or read, in bounded time; what was read can be written and read
 * again. Twice: as they are, and with all checksums made right, since no mutation gets past them.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "formats/load.h"
#include "formats/profile_dump.h"
#include "formats/profile_frame.h"
#include "formats/profile_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int to_buf(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

/* A model, of whatever content, must come back from its file. */
static void write_and_read(const struct td_model *model)
{
    struct td_buf buf = {0};
    struct td_model *again = NULL;
    struct td_load_status status = {.damage = TD_ERR_INIT};
    struct td_err err = TD_ERR_INIT;

    if (td_profile_write_model(model, NULL, to_buf, &buf, &err) < 0 ||
        td_load_bytes(&again, buf.data, buf.len, "again", NULL, &status, &err) < 0 ||
        status.damaged || td_model_node_count(again) != td_model_node_count(model)) {
        fprintf(stderr, "a model did not come back from its file: %s; %s\n", err.text,
                status.damage.text);
        abort();
    }
    td_model_free(again);
    td_buf_release(&buf);
}

static void read_all(const uint8_t *data, size_t size)
{
    const struct td_load_opts opts = {.keep_samples = true};
    struct td_load_status status;
    struct td_model *model = NULL;
    FILE *out = fopen("/dev/null", "w");
    struct td_err err = TD_ERR_INIT;

    if (td_load_bytes(&model, data, size, "fuzz", &opts, &status, &err) == TD_OK) {
        if (!td_model_complete(model) && status.damage.code == TD_OK)
            abort();
        write_and_read(model);
        td_model_free(model);
    } else if (err.text[0] == '\0') {
        abort();
    }
    td_profile_dump(data, size, out, NULL, &err);
    fclose(out);
}

static uint32_t get_u32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put_u32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

/* Makes the checksums of the header and of every chunk right, as far as chunks follow on. */
static void repair(uint8_t *data, size_t size)
{
    const size_t header = data[8] | (size_t)data[9] << 8;

    if (header < TD_PROFILE_HEADER_SIZE || header > size)
        return;
    const uint32_t seed = td_crc32c(0, data, header - 4);
    put_u32(data + header - 4, seed);
    for (size_t pos = header; size - pos >= TD_CHUNK_HEAD_SIZE;) {
        uint8_t *head = data + pos;
        const uint32_t stored = get_u32(head + 12);

        pos += TD_CHUNK_HEAD_SIZE;
        if (stored > size - pos)
            return;
        put_u32(head + 20, td_crc32c(0, data + pos, stored));
        put_u32(head + 24, td_crc32c(seed, head, 24));
        pos += stored;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_all(data, size);
    if (size < TD_PROFILE_HEADER_SIZE)
        return 0;
    uint8_t *copy = td_xalloc(size);
    memcpy(copy, data, size);
    repair(copy, size);
    read_all(copy, size);
    free(copy);
    return 0;
}
