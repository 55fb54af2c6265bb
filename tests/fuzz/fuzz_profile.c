/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a profile: refused or read, in bounded time; what was read can be written and read
 * again, measured as the commands do it, and exported. Three times: as they are, with all checksums
 * made right, and with bytes changed inside of what chunks unpack to, since no mutation gets past
 * checksums and compression.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "formats/export/export.h"
#include "formats/load.h"
#include "formats/profile/dump.h"
#include "formats/profile/frame.h"
#include "formats/profile/from_model.h"
#include "report/query/figures/coverage.h"
#include "report/query/figures/measure.h"
#include "report/query/figures/rows.h"
#include "report/query/figures/tree.h"

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

/* What a report shows of a part is no more than the whole. */
static void check_rows(const struct td_measure *measure, enum td_row_kind kind)
{
    const enum td_metric primary = td_measure_primary(measure);
    struct td_rows rows;

    td_rows_init(&rows, measure, kind, false);
    for (size_t i = 0; i < rows.len; i++) {
        if (rows.at[i].values[primary] > measure->totals[primary]) {
            fprintf(stderr, "a row has more than there is\n");
            abort();
        }
    }
    td_rows_release(&rows);
}

static void measure_all(const struct td_model *model, const struct td_filter *filter, FILE *out)
{
    static const enum td_row_kind kinds[] = {TD_ROWS_FUNCTIONS, TD_ROWS_LINES, TD_ROWS_MODULES,
                                             TD_ROWS_THREADS, TD_ROWS_PROGRAMS};
    const struct td_export_opts opts = {.metric = TD_METRIC_COUNT, .tool = "fuzz"};
    struct td_measure *measure = NULL;

    if (td_measure_new(&measure, model, filter, NULL) < 0)
        return;
    td_coverage_of(measure);
    for (size_t k = 0; k < TD_ARRAY_SIZE(kinds); k++)
        check_rows(measure, kinds[k]);
    td_tree_of(measure);
    for (const struct td_exporter *const *e = td_exporters; *e; e++)
        (*e)->write(measure, &opts, out, NULL);
    td_measure_free(measure);
}

/* As calls and exports, functions and lines, JSON, and times load. */
static void read_all(const uint8_t *data, size_t size)
{
    static const struct td_load_opts modes[] = {
        {.keep_samples = true, .keep_slots = true},
        {.keep_slots = true, .leaves_only = true, .by_program = true},
        {.keep_slots = true, .leaves_only = true},
        {.keep_slots = true, .leaves_only = true, .from_ns = 1000000},
    };
    FILE *out = fopen("/dev/null", "w");

    for (size_t m = 0; m < TD_ARRAY_SIZE(modes); m++) {
        const struct td_filter filter = {.by_sample = modes[m].keep_samples};
        struct td_load_status status;
        struct td_model *model = NULL;
        struct td_err err = TD_ERR_INIT;

        if (td_load_bytes(&model, data, size, "fuzz", &modes[m], &status, &err) == TD_OK) {
            if (!td_model_complete(model) && status.damage.code == TD_OK)
                abort();
            if (modes[m].keep_samples)
                write_and_read(model);
            measure_all(model, &filter, out);
            td_model_free(model);
        } else if (err.text[0] == '\0') {
            abort();
        }
    }
    td_profile_dump(data, size, out, NULL, NULL);
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

/* A number that depends on the bytes alone. */
static uint32_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

/* Changes up to 4 bytes of what a chunk unpacks to, some of them to what is odd in LEB128. */
static void change(struct td_buf *raw, uint64_t *state)
{
    static const uint8_t odd[] = {0x00, 0x01, 0x7f, 0x80, 0xff};

    for (uint32_t i = draw(state) % 4 + 1; i > 0 && raw->len > 0; i--) {
        uint8_t *at = &raw->data[draw(state) % raw->len];
        *at = draw(state) % 2 ? odd[draw(state) % sizeof(odd)] : (uint8_t)draw(state);
    }
}

/* The same chunks, packed anew: one in four changed inside, one in sixteen left out. */
static void repack(const uint8_t *data, size_t size, struct td_buf *out)
{
    struct td_profile_header header;
    struct td_chunk_head head;
    uint64_t state = td_hash_bytes(data, size);

    if (td_profile_header_get(&header, data, size, NULL) < 0)
        return;
    struct td_chunk_unpacker *unpacker = td_chunk_unpacker_new();
    struct td_chunk_packer *packer = td_chunk_packer_new(1);
    size_t pos = header.size;
    td_buf_bytes(out, data, header.size);
    while (pos < size && td_chunk_head_get(&head, data, size, pos, header.crc) == TD_OK &&
           head.stored_size <= size - pos - TD_CHUNK_HEAD_SIZE) {
        const uint8_t *payload = data + pos + TD_CHUNK_HEAD_SIZE;
        const uint8_t *raw = NULL;
        struct td_chunk_body body = {0};

        pos += TD_CHUNK_HEAD_SIZE + head.stored_size;
        if (td_chunk_unpack(unpacker, &head, payload, 0, &raw, NULL) < 0 || draw(&state) % 16 == 0)
            continue;
        td_buf_bytes(&body.raw, raw, head.raw_size);
        if (draw(&state) % 4 == 0)
            change(&body.raw, &state);
        head.flags &= (uint8_t)~TD_CHUNK_ZSTD;
        td_chunk_pack(packer, out, &head, header.crc, &body);
        td_chunk_body_release(&body);
    }
    td_chunk_unpacker_free(unpacker);
    td_chunk_packer_free(packer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct td_buf repacked = {0};

    read_all(data, size);
    if (size < TD_PROFILE_HEADER_SIZE)
        return 0;
    uint8_t *copy = td_xalloc(size);
    memcpy(copy, data, size);
    repair(copy, size);
    read_all(copy, size);
    repack(copy, size, &repacked);
    if (repacked.len > 0)
        read_all(repacked.data, repacked.len);
    td_buf_release(&repacked);
    free(copy);
    return 0;
}
