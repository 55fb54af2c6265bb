/* SPDX-License-Identifier: MIT */
/* Profiles that are cut, damaged, hostile or newer than the reader, each in one certain way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "formats/load.h"
#include "formats/profile_frame.h"
#include "formats/profile_write.h"

#define FLUSHES 4
#define SAMPLES 100 /* a flush */

static const uint8_t no_id[TD_PROFILE_ID_SIZE];

static int to_buf(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

/* Each flush brings a thread, nodes and samples of its own: value 1000 * flush + its number. */
static void write_profile(struct td_buf *buf)
{
    const struct td_profile_writer_opts opts = {.id = no_id};
    const struct td_profile_module module = {.kind = TD_MODULE_FILE, .path = "/bin/app"};
    const struct td_group group = {
        .locates = TD_NODE_NONE,
        .sampler = TD_NONE,
        .column_count = 1,
        .columns = {{TD_COLUMN_PERIOD, TD_NONE, TD_NODE_NONE}},
    };
    struct td_profile_writer *w = NULL;

    assert_int_equal(td_profile_writer_new(&w, to_buf, buf, &opts, NULL), TD_OK);
    td_profile_group(w, &group, "time", "");
    td_profile_module(w, &module);
    for (uint32_t f = 0; f < FLUSHES; f++) {
        struct td_sample sample = {.thread = td_profile_thread(w, 1, f, "t", "app", 0)};

        for (uint32_t i = 0; i < SAMPLES; i++) {
            const uint64_t value = 1000 * f + i;

            sample.time_ns = value << 10;
            sample.node = td_profile_node(w, td_profile_node(w, 0, 0, 1), 0, 100 + value);
            td_profile_sample(w, &sample, &value);
        }
        assert_int_equal(td_profile_flush(w, NULL), TD_OK);
    }
    assert_int_equal(td_profile_finish(w, NULL), TD_OK);
    td_profile_writer_free(w);
}

static uint32_t seed_of(const struct td_buf *buf)
{
    struct td_profile_header header;

    assert_int_equal(td_profile_header_get(&header, buf->data, buf->len, NULL), TD_OK);
    return header.crc;
}

/* Where the n-th chunk of the kind begins (n from 0); its whole size is set. */
static size_t find_chunk(const struct td_buf *buf, enum td_chunk_kind kind, int n, size_t *size)
{
    size_t pos = TD_PROFILE_HEADER_SIZE;

    while (pos < buf->len) {
        struct td_chunk_head head;

        assert_int_equal(td_chunk_head_get(&head, buf->data, buf->len, pos, seed_of(buf)), TD_OK);
        *size = TD_CHUNK_HEAD_SIZE + head.stored_size;
        if (head.kind == kind && n-- == 0)
            return pos;
        pos += *size;
    }
    fail_msg("no such chunk");
    return 0;
}

static void remove_bytes(struct td_buf *buf, size_t pos, size_t size)
{
    memmove(buf->data + pos, buf->data + pos + size, buf->len - pos - size);
    buf->len -= size;
}

/* Loads what has to be loadable. */
static struct td_model *load(const struct td_buf *buf, struct td_load_status *status)
{
    const struct td_load_opts opts = {.keep_samples = true};
    struct td_model *model = NULL;
    struct td_err err = TD_ERR_INIT;

    if (td_load_bytes(&model, buf->data, buf->len, "x", &opts, status, &err) < 0)
        fail_msg("%s", err.text);
    return model;
}

/* Every sample that was read is one that was written, with its own stack, thread and time. */
static void assert_samples_right(const struct td_model *model, size_t count)
{
    assert_int_equal(td_model_sample_count(model), count);
    for (size_t i = 0; i < count; i++) {
        const struct td_sample *s = td_model_sample(model, i);
        const uint64_t value = td_model_sample_values(model, s)[0];
        const struct td_node *node = td_model_node(model, s->node);

        assert_int_equal(s->time_ns, value << 10);
        assert_int_equal(td_model_thread(model, s->thread)->tid, value / 1000);
        assert_int_equal(td_model_location(model, node->location)->offset, 100 + value);
    }
}

static void lose_chunk(enum td_chunk_kind kind, int n, size_t samples_left, uint64_t dropped)
{
    struct td_buf buf = {0};
    struct td_load_status status;
    size_t size = 0;

    write_profile(&buf);
    const size_t pos = find_chunk(&buf, kind, n, &size);
    remove_bytes(&buf, pos, size);
    struct td_model *model = load(&buf, &status);
    assert_true(status.damaged);
    assert_int_equal(status.damage.offset, pos);
    assert_false(td_model_complete(model));
    assert_int_equal(status.dropped, dropped);
    assert_samples_right(model, samples_left);
    td_model_free(model);

    /* A flipped bit in its payload loses the same. */
    td_buf_clear(&buf);
    write_profile(&buf);
    buf.data[pos + size - 1] ^= 1;
    model = load(&buf, &status);
    assert_true(status.damaged);
    assert_int_equal(status.damage.offset, pos);
    assert_samples_right(model, samples_left);
    td_model_free(model);
    td_buf_release(&buf);
}

static void lost_chunks_lose_only_what_needs_them(void **state)
{
    (void)state;
    lose_chunk(TD_CHUNK_SAMPLES, 1, 3 * SAMPLES, 0);
    lose_chunk(TD_CHUNK_THREADS, 1, 3 * SAMPLES, SAMPLES);
    lose_chunk(TD_CHUNK_NODES, 1, 3 * SAMPLES, SAMPLES);
    lose_chunk(TD_CHUNK_NODES, 3, 3 * SAMPLES, SAMPLES);
    /* The first nodes hold the frame that all stacks share. */
    lose_chunk(TD_CHUNK_NODES, 0, 0, 4 * SAMPLES);
}

static void end_chunk_missing_is_a_cut(void **state)
{
    (void)state;
    struct td_buf buf = {0};
    struct td_load_status status;
    size_t size = 0;

    write_profile(&buf);
    buf.len = find_chunk(&buf, TD_CHUNK_END, 0, &size);
    for (int zeros = 0; zeros < 2; zeros++) {
        struct td_model *model = load(&buf, &status);

        assert_true(status.cut && !status.damaged);
        assert_non_null(strstr(status.damage.text, "cut off"));
        assert_false(td_model_complete(model));
        assert_samples_right(model, FLUSHES * SAMPLES);
        td_model_free(model);
        memset(td_buf_reserve(&buf, 4096), 0, 4096);
        buf.len += 4096;
    }
    td_buf_release(&buf);
}

static void bytes_after_the_end_are_damage(void **state)
{
    (void)state;
    struct td_buf buf = {0};
    struct td_load_status status;

    write_profile(&buf);
    const size_t end = buf.len;
    td_buf_bytes(&buf, buf.data, 100);
    struct td_model *model = load(&buf, &status);
    assert_true(status.damaged);
    assert_int_equal(status.damage.offset, end);
    assert_samples_right(model, FLUSHES * SAMPLES);
    td_model_free(model);
    td_buf_release(&buf);
}

/* Chunks of another profile are none of this one: their checksums begin elsewhere. */
static void chunks_of_another_file_are_refused(void **state)
{
    (void)state;
    struct td_buf buf = {0}, other = {0};
    struct td_load_status status;
    struct td_profile_header header = {.major = TD_PROFILE_MAJOR, .id = {1}};

    write_profile(&buf);
    td_profile_header_put(&other, &header);
    td_buf_bytes(&other, buf.data + TD_PROFILE_HEADER_SIZE, buf.len - TD_PROFILE_HEADER_SIZE);
    struct td_model *model = NULL;
    struct td_err err = TD_ERR_INIT;
    assert_int_equal(td_load_bytes(&model, other.data, other.len, "x", NULL, &status, &err),
                     TD_EFORMAT);
    assert_int_equal(err.offset, TD_PROFILE_HEADER_SIZE);
    td_buf_release(&buf);
    td_buf_release(&other);
}

/* Puts a chunk before END, and END's number right. */
static void insert_chunk(struct td_buf *buf, const struct td_chunk_head *like, const void *payload,
                         size_t payload_size)
{
    size_t size = 0;
    const size_t pos = find_chunk(buf, TD_CHUNK_END, 0, &size);
    struct td_chunk_head end;
    struct td_chunk_head head = *like;
    struct td_chunk_body body = {0};
    struct td_chunk_packer *packer = td_chunk_packer_new(3);
    const uint32_t seed = seed_of(buf);

    assert_int_equal(td_chunk_head_get(&end, buf->data, buf->len, pos, seed), TD_OK);
    td_buf_bytes(&body.raw, buf->data + pos + TD_CHUNK_HEAD_SIZE, end.stored_size);
    struct td_chunk_body inserted = {0};
    td_buf_bytes(&inserted.raw, payload, payload_size);
    buf->len = pos;
    head.sequence = end.sequence++;
    td_chunk_pack(packer, buf, &head, seed, &inserted);
    td_chunk_pack(packer, buf, &end, seed, &body);
    td_chunk_packer_free(packer);
    td_chunk_body_release(&inserted);
    td_chunk_body_release(&body);
}

static void load_with_chunk(uint8_t kind, uint8_t flags, int expected)
{
    const struct td_chunk_head head = {.kind = kind, .flags = flags};
    struct td_buf buf = {0};
    struct td_model *model = NULL;
    struct td_load_status status;
    struct td_err err = TD_ERR_INIT;

    write_profile(&buf);
    insert_chunk(&buf, &head, "future", 6);
    assert_int_equal(td_load_bytes(&model, buf.data, buf.len, "x", NULL, &status, &err), expected);
    if (expected == TD_OK)
        assert_true(td_model_complete(model) && !status.damaged);
    else
        assert_true(err.offset > TD_PROFILE_HEADER_SIZE && strstr(err.text, "newer"));
    td_model_free(model);
    td_buf_release(&buf);
}

static void unknown_chunks_are_skipped_or_refused(void **state)
{
    (void)state;
    load_with_chunk(77, 0, TD_OK);
    load_with_chunk(77, TD_CHUNK_REQUIRED, TD_EVERSION);
    load_with_chunk(77, 1 << 2, TD_EVERSION);
}

static void load_with_header(const struct td_profile_header *like, int expected)
{
    struct td_profile_header header = *like;
    struct td_buf buf = {0};
    struct td_model *model = NULL;
    struct td_err err = TD_ERR_INIT;
    const struct td_chunk_head end = {.kind = TD_CHUNK_END, .flags = TD_CHUNK_REQUIRED};
    const struct td_chunk_body body = {0};
    struct td_chunk_packer *packer = td_chunk_packer_new(3);
    struct td_chunk_head head = end;

    td_profile_header_put(&buf, &header);
    td_chunk_pack(packer, &buf, &head, header.crc, &body);
    td_chunk_packer_free(packer);
    assert_int_equal(td_load_bytes(&model, buf.data, buf.len, "x", NULL, NULL, &err), expected);
    td_model_free(model);
    td_buf_release(&buf);
}

static void versions_and_flags(void **state)
{
    (void)state;
    load_with_header(&(struct td_profile_header){.major = 1}, TD_OK);
    load_with_header(&(struct td_profile_header){.major = 1, .minor = 9}, TD_OK);
    load_with_header(&(struct td_profile_header){.major = 1, .compatible = 1}, TD_OK);
    load_with_header(&(struct td_profile_header){.major = 1, .incompatible = 4}, TD_EVERSION);
    load_with_header(&(struct td_profile_header){.major = 2}, TD_EVERSION);
    load_with_header(&(struct td_profile_header){.major = 0}, TD_EVERSION);
}

/* Totals in END that are not those of the file. */
static void wrong_totals_are_damage(void **state)
{
    (void)state;
    const uint8_t more[] = {TD_CHUNK_SAMPLES, 7};
    const struct td_chunk_head head = {.kind = TD_CHUNK_END, .flags = TD_CHUNK_REQUIRED};
    struct td_buf buf = {0};
    struct td_load_status status;

    write_profile(&buf);
    insert_chunk(&buf, &head, more, sizeof(more));
    struct td_model *model = load(&buf, &status);
    assert_true(status.damaged);
    assert_false(td_model_complete(model));
    td_model_free(model);
    td_buf_release(&buf);
}

/* A chunk whose head promises what its bytes cannot hold, or more than anybody should allocate. */
static void refuse_sizes(uint32_t stored, uint32_t raw, uint8_t flags)
{
    uint8_t payload[64] = {0};
    struct td_chunk_head head = {
        .kind = TD_CHUNK_STRINGS,
        .flags = flags,
        .stored_size = stored,
        .raw_size = raw,
        .payload_crc = td_crc32c(0, payload, stored),
    };
    struct td_chunk_unpacker *unpacker = td_chunk_unpacker_new();
    const uint8_t *got = NULL;
    struct td_err err = TD_ERR_INIT;

    assert_int_equal(td_chunk_unpack(unpacker, &head, payload, 1234, &got, &err), TD_EFORMAT);
    assert_int_equal(err.offset, 1234);
    assert_null(got);
    td_chunk_unpacker_free(unpacker);
}

static void bombs_do_not_go_off(void **state)
{
    (void)state;
    refuse_sizes(60, TD_CHUNK_RAW_MAX, TD_CHUNK_ZSTD);
    refuse_sizes(60, TD_CHUNK_RAW_MAX + 1, 0);
    refuse_sizes(60, 61, 0);
    refuse_sizes(60, 4096, TD_CHUNK_ZSTD);
    refuse_sizes(60, UINT32_MAX, TD_CHUNK_ZSTD);
}

/* What compresses too well for a reader's limit is stored as it is. */
static void very_regular_content_stays_readable(void **state)
{
    (void)state;
    struct td_buf buf = {0};
    struct td_chunk_body body = {0};
    struct td_chunk_packer *packer = td_chunk_packer_new(19);
    struct td_chunk_unpacker *unpacker = td_chunk_unpacker_new();
    struct td_chunk_head head = {.kind = TD_CHUNK_STRINGS};
    const uint8_t *raw = NULL;

    memset(td_buf_reserve(&body.raw, 1 << 22), 0, 1 << 22);
    body.raw.len = 1 << 22;
    td_chunk_pack(packer, &buf, &head, 0, &body);
    assert_int_equal(td_chunk_unpack(unpacker, &head, buf.data + TD_CHUNK_HEAD_SIZE, 0, &raw, NULL),
                     TD_OK);
    assert_memory_equal(raw, body.raw.data, body.raw.len);
    td_chunk_packer_free(packer);
    td_chunk_unpacker_free(unpacker);
    td_chunk_body_release(&body);
    td_buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_chunks_lose_only_what_needs_them),
        cmocka_unit_test(end_chunk_missing_is_a_cut),
        cmocka_unit_test(bytes_after_the_end_are_damage),
        cmocka_unit_test(chunks_of_another_file_are_refused),
        cmocka_unit_test(unknown_chunks_are_skipped_or_refused),
        cmocka_unit_test(versions_and_flags),
        cmocka_unit_test(wrong_totals_are_damage),
        cmocka_unit_test(bombs_do_not_go_off),
        cmocka_unit_test(very_regular_content_stays_readable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
