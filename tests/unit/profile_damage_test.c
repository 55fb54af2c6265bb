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
#include "formats/profile/frame.h"
#include "formats/profile/write.h"

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
static void write_profile_of(struct td_buf *buf, uint32_t max_nodes)
{
    const struct td_profile_writer_opts opts = {.id = no_id, .max_nodes = max_nodes};
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

static void write_profile(struct td_buf *buf)
{
    write_profile_of(buf, 0);
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
    lose_chunk(TD_CHUNK_SAMPLES, 1, 3 * SAMPLES, SAMPLES);
    lose_chunk(TD_CHUNK_THREADS, 1, 3 * SAMPLES, SAMPLES);
    lose_chunk(TD_CHUNK_NODES, 1, 3 * SAMPLES, SAMPLES);
    lose_chunk(TD_CHUNK_NODES, 3, 3 * SAMPLES, SAMPLES);
    /* The first nodes hold the frame that all stacks share. */
    lose_chunk(TD_CHUNK_NODES, 0, 0, 4 * SAMPLES);
}

/* What functions and lines load: innermost frames only. A sample on lost nodes has no place, also
 * where an earlier epoch had a node of its number. */
static void lost_nodes_are_no_places(void **state)
{
    const struct td_load_opts opts = {.leaves_only = true, .keep_slots = true, .by_program = true};

    (void)state;
    for (uint32_t nodes = 0; nodes < 2; nodes++) {
        for (int n = 0; n < FLUSHES; n++) {
            struct td_buf buf = {0};
            struct td_load_status status;
            struct td_model *model = NULL;
            size_t size = 0;
            uint64_t left = 0;

            write_profile_of(&buf, nodes ? 300 : 0);
            buf.data[find_chunk(&buf, TD_CHUNK_NODES, n, &size) + size - 1] ^= 1;
            assert_int_equal(td_load_bytes(&model, buf.data, buf.len, "x", &opts, &status, NULL),
                             TD_OK);
            for (size_t i = 0; i < td_model_tally_count(model); i++) {
                const struct td_tally *t = td_model_tally(model, i);
                const struct td_node *node = td_model_node(model, t->node);
                const uint64_t value =
                    td_model_tally_values(model, t, (uint64_t[TD_COLUMNS_MAX]){0})[0];

                assert_int_equal(td_model_location(model, node->location)->offset, 100 + value);
                assert_int_equal(td_model_thread(model, t->thread)->tid, value / 1000);
                left += t->samples;
            }
            assert_true(left >= (FLUSHES - 2) * SAMPLES && left < FLUSHES * SAMPLES);
            const struct td_losses *losses = td_model_losses(model);
            assert_true(losses->damaged && losses->exact && !losses->cut);
            assert_int_equal(losses->read_samples, left);
            assert_int_equal(losses->dropped_samples, FLUSHES * SAMPLES - left);
            td_model_free(model);
            td_buf_release(&buf);
        }
    }
}

/* The first strings are lost: what they named says so, and different names stay different. */
static void lost_names_say_so(void **state)
{
    (void)state;
    struct td_buf buf = {0};
    struct td_load_status status;
    size_t size = 0;

    write_profile(&buf);
    buf.data[find_chunk(&buf, TD_CHUNK_STRINGS, 0, &size) + size - 1] ^= 1;
    struct td_model *model = load(&buf, &status);
    const char *path = td_model_string(model, td_model_module(model, 0)->path);
    const char *name = td_model_string(model, td_model_thread(model, 0)->name);
    assert_non_null(strstr(path, "lost: damaged profile"));
    assert_non_null(strstr(name, "lost: damaged profile"));
    assert_string_not_equal(path, name);
    assert_int_equal(td_model_losses(model)->dropped_samples, 0);
    assert_samples_right(model, FLUSHES * SAMPLES);
    td_model_free(model);
    td_buf_release(&buf);
}

/* Groups whose events are lost stay apart: what they counted does not add up. */
static void lost_events_stay_apart(void **state)
{
    (void)state;
    struct td_buf buf = {0};
    struct td_load_status status;
    struct td_profile_writer *w = NULL;
    const struct td_profile_module module = {.kind = TD_MODULE_FILE, .path = "/bin/app"};
    size_t size = 0;

    assert_int_equal(td_profile_writer_new(&w, to_buf, &buf, NULL, NULL), TD_OK);
    const uint32_t thread = td_profile_thread(w, 1, 1, "t", "app", 0);
    td_profile_module(w, &module);
    for (uint64_t i = 0; i < 2; i++) {
        const struct td_profile_event event = {.name = i ? "misses" : "cycles"};
        struct td_group group = {.role = TD_ROLE_METRIC,
                                 .locates = TD_NODE_NONE,
                                 .sampler = td_profile_event(w, &event),
                                 .column_count = 1};

        group.columns[0] = (struct td_column){TD_COLUMN_PERIOD, group.sampler, TD_NODE_NONE};
        td_profile_tally(w, thread, td_profile_node(w, 0, 0, i),
                         td_profile_group(w, &group, event.name, ""), 1, &i);
    }
    assert_int_equal(td_profile_finish(w, NULL), TD_OK);
    td_profile_writer_free(w);
    buf.data[find_chunk(&buf, TD_CHUNK_EVENTS, 0, &size) + size - 1] ^= 1;
    struct td_model *model = load(&buf, &status);
    assert_int_not_equal(td_model_group(model, 0)->sampler, TD_NONE);
    assert_int_not_equal(td_model_group(model, 0)->sampler, td_model_group(model, 1)->sampler);
    td_model_free(model);
    td_buf_release(&buf);
}

/* The numbers of groups that were refused are no groups. */
static void refused_groups_are_none(void **state)
{
    (void)state;
    struct td_buf buf = {0}, whole = {0};
    struct td_chunk_body body = {0};
    struct td_load_status status;
    struct td_chunk_head head;
    size_t size = 0;

    write_profile(&buf);
    buf.data[find_chunk(&buf, TD_CHUNK_STRINGS, 0, &size) + size - 1] ^= 1;
    const size_t pos = find_chunk(&buf, TD_CHUNK_GROUPS, 0, &size);
    assert_int_equal(td_chunk_head_get(&head, buf.data, buf.len, pos, seed_of(&buf)), TD_OK);
    td_buf_uleb(&body.raw, 1000000); /* the first of none */
    td_buf_uleb(&body.raw, 0);
    head.flags = 0;
    struct td_chunk_packer *packer = td_chunk_packer_new(3);
    td_buf_bytes(&whole, buf.data, pos);
    td_chunk_pack(packer, &whole, &head, seed_of(&buf), &body);
    td_buf_bytes(&whole, buf.data + pos + size, buf.len - pos - size);
    struct td_model *model = load(&whole, &status);
    assert_true(status.damaged);
    assert_int_equal(td_model_sample_count(model), 0);
    td_model_free(model);
    td_chunk_packer_free(packer);
    td_chunk_body_release(&body);
    td_buf_release(&whole);
    td_buf_release(&buf);
}

/* A chunk that stands twice counts once. */
static void repeated_chunks_count_once(void **state)
{
    (void)state;
    struct td_buf buf = {0}, twice = {0};
    struct td_load_status status;
    size_t size = 0;

    write_profile(&buf);
    const size_t pos = find_chunk(&buf, TD_CHUNK_SAMPLES, 1, &size);
    td_buf_bytes(&twice, buf.data, pos + size);
    td_buf_bytes(&twice, buf.data + pos, buf.len - pos);
    struct td_model *model = load(&twice, &status);
    assert_true(status.damaged);
    assert_samples_right(model, FLUSHES * SAMPLES);
    td_model_free(model);
    td_buf_release(&buf);
    td_buf_release(&twice);
}

/* Damage is no cut, wherever it is; a cut is none, and one may come with the other. */
static void damage_and_cut_are_told_apart(void **state)
{
    (void)state;
    struct td_buf whole = {0};
    size_t end_size = 0, size = 0;

    write_profile(&whole);
    const size_t end = find_chunk(&whole, TD_CHUNK_END, 0, &end_size);
    const size_t middle = find_chunk(&whole, TD_CHUNK_SAMPLES, 1, &size) + size - 1;
    const size_t flips[] = {0, middle, end, end + 5, end + 12, end + end_size - 1};
    for (size_t f = 0; f < TD_ARRAY_SIZE(flips); f++) {
        for (int cut = 0; cut < 2; cut++) {
            struct td_buf buf = {0};
            struct td_load_status status;

            if (cut && flips[f] >= end)
                continue;
            td_buf_bytes(&buf, whole.data, cut ? end + 3 : whole.len);
            buf.data[flips[f]] ^= flips[f] > 0 ? 1 : 0;
            struct td_model *model = load(&buf, &status);
            const struct td_losses *losses = td_model_losses(model);
            assert_int_equal(losses->damaged, flips[f] > 0);
            assert_int_equal(losses->cut, cut);
            assert_int_equal(status.cut, cut);
            assert_int_equal(td_model_complete(model), !cut && flips[f] == 0);
            if (flips[f] == middle && !cut)
                assert_true(losses->exact && losses->dropped_samples == SAMPLES);
            td_model_free(model);
            td_buf_release(&buf);
        }
    }
    td_buf_release(&whole);
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

/* 65,536 nodes in 60 bytes, many times: read until it is more than such a file can ask for. */
static void small_files_take_little_memory(void **state)
{
    (void)state;
    struct td_buf buf = {0};
    struct td_load_status status;
    struct td_model *model = NULL;
    const struct td_load_opts opts = {.leaves_only = true};
    const struct td_chunk_head head = {.kind = TD_CHUNK_NODES, .flags = TD_CHUNK_REQUIRED};

    write_profile(&buf);
    for (uint64_t i = 0; i < 100; i++) {
        struct td_buf nodes = {0};

        td_buf_uleb(&nodes, 0);
        td_buf_uleb(&nodes, 1 + FLUSHES * SAMPLES + 1 + i * 65536);
        td_buf_uleb(&nodes, 65536);
        td_buf_u8(&nodes, 0); /* parents: each the node before */
        memset(td_buf_reserve(&nodes, 65536), 1, 65536);
        nodes.len += 65536;
        td_buf_bytes(&nodes, "\x08\x00\x08\x05", 4); /* modules, offsets: all the same */
        insert_chunk(&buf, &head, nodes.data, nodes.len);
        td_buf_release(&nodes);
    }
    assert_int_equal(td_load_bytes(&model, buf.data, buf.len, "x", &opts, &status, NULL), TD_OK);
    assert_true(status.damaged && status.damage.offset < buf.len);
    if (!strstr(status.damage.text, "the rest is not read"))
        fail_msg("%s", status.damage.text);
    assert_false(td_model_complete(model));
    td_model_free(model);
    td_buf_release(&buf);
}

/* A modelled place whose slots exceed its cycles, one whose sum is negative for the larger part of
 * it was lost, and sums that are too large are left out, and counted. */
static void counts_that_cannot_be(void **state)
{
    static const uint64_t rows[][2] = {{UINT64_C(100000000), UINT64_C(1) << 50},
                                       {1000, UINT64_MAX - 5},
                                       {UINT64_C(1) << 62, UINT64_C(1) << 62},
                                       {0, UINT64_C(1) << 63}};

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(rows); i++) {
        const struct td_profile_module module = {.kind = TD_MODULE_FILE, .path = "/bin/app"};
        const struct td_profile_event cycles = {.name = "cycles", .unit = TD_UNIT_CYCLES};
        const uint64_t good[2] = {1000, 6000};
        struct td_group group = {.role = TD_ROLE_MODEL,
                                 .locates = TD_NODE_NONE,
                                 .sampler = TD_NONE,
                                 .column_count = 2,
                                 .columns = {{TD_COLUMN_TOTAL, 0, TD_NODE_NONE},
                                             {TD_COLUMN_TOTAL, TD_NONE, TD_NODE_L1_BOUND}}};
        struct td_profile_writer *w = NULL;
        struct td_buf buf = {0};
        struct td_load_status status;

        assert_int_equal(td_profile_writer_new(&w, to_buf, &buf, NULL, NULL), TD_OK);
        const uint32_t thread = td_profile_thread(w, 1, 1, "t", "app", 0);
        group.columns[0].event = td_profile_event(w, &cycles);
        const uint32_t id = td_profile_group(w, &group, "modelled", "");
        td_profile_module(w, &module);
        td_profile_tally(w, thread, td_profile_node(w, 0, 0, 1), id, 0, good);
        td_profile_tally(w, thread, td_profile_node(w, 0, 0, 2), id, 0, rows[i]);
        assert_int_equal(td_profile_finish(w, NULL), TD_OK);
        td_profile_writer_free(w);
        struct td_model *model = load(&buf, &status);
        assert_true(status.damaged);
        assert_int_equal(td_model_tally_count(model), 1);
        assert_memory_equal(
            td_model_tally_values(model, td_model_tally(model, 0), (uint64_t[TD_COLUMNS_MAX]){0}),
            good, sizeof(good));
        assert_int_equal(td_model_losses(model)->dropped_tallies, 1);
        td_model_free(model);
        td_buf_release(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_chunks_lose_only_what_needs_them),
        cmocka_unit_test(small_files_take_little_memory),
        cmocka_unit_test(counts_that_cannot_be),
        cmocka_unit_test(lost_nodes_are_no_places),
        cmocka_unit_test(lost_names_say_so),
        cmocka_unit_test(lost_events_stay_apart),
        cmocka_unit_test(refused_groups_are_none),
        cmocka_unit_test(repeated_chunks_count_once),
        cmocka_unit_test(damage_and_cut_are_told_apart),
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
