/* SPDX-License-Identifier: MIT */
/* perf.data: the header of the file, its sections, and the order in which they are read. */
#include "formats/perfdata/perfdata.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "formats/perfdata/session_priv.h"

#define HEADER_BYTES      104
#define PIPE_HEADER_BYTES 16
#define SECTION_BYTES     16
#define MAGIC_BYTES       8

static const char magic_little[] = "PERFILE2";
static const char magic_big[] = "2ELIFREP";
static const char magic_first[] = "PERFFILE"; /* of 2009; its layout is the same but for pipes */

static bool starts_with(const void *data, size_t size, const char *magic)
{
    return size >= MAGIC_BYTES && memcmp(data, magic, MAGIC_BYTES) == 0;
}

bool td_perfdata_detect(const void *data, size_t size)
{
    return starts_with(data, size, magic_little) || starts_with(data, size, magic_big) ||
           starts_with(data, size, magic_first);
}

static void note_damage(struct td_perf_session *session, uint64_t offset, const char *format,
                        va_list args) __attribute__((format(printf, 3, 0)));

static void note_damage(struct td_perf_session *session, uint64_t offset, const char *format,
                        va_list args)
{
    char text[256];

    if (session->status->damaged)
        return;
    vsnprintf(text, sizeof(text), format, args);
    session->status->damaged = true;
    td_fail_at(&session->status->damage, TD_EFORMAT, offset, "%s", text);
}

void td_perf_damage(struct td_perf_session *session, uint64_t offset, const char *format, ...)
{
    va_list args;

    session->damaged_records++;
    session->incomplete = true;
    va_start(args, format);
    note_damage(session, offset, format, args);
    va_end(args);
}

void td_perf_flaw(struct td_perf_session *session, uint64_t offset, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    note_damage(session, offset, format, args);
    va_end(args);
}

void td_perf_cut(struct td_perf_session *session, uint64_t offset, const char *text)
{
    session->status->cut = true;
    if (session->status->damage.code == TD_OK)
        td_fail_at(&session->status->damage, TD_EFORMAT, offset, "%s", text);
}

/* What an import may hold in memory: so much, and so much for each byte of the file. Records that
 * perf compressed unpack to ten or twenty times their size. */
#define PROGRESS_BYTES (UINT64_C(1) << 18) /* between two words about it */
#define MEMORY_BASE    (UINT64_C(128) << 20)
#define MEMORY_FACTOR  256

/* Whether who asked has seen enough. */
static bool is_enough(struct td_perf_session *session, uint64_t offset)
{
    const struct td_load_opts *const opts = session->opts;

    if (!opts->progress || offset < session->told + PROGRESS_BYTES)
        return false;
    session->told = offset;
    return opts->progress(opts->progress_ctx, offset, session->size);
}

bool td_perf_is_full(struct td_perf_session *session, uint64_t offset)
{
    const uint64_t queued =
        (session->queue.cap + session->queue.spare_cap) * (uint64_t)sizeof(*session->queue.items);
    const uint64_t held = session->unpacked + queued + td_model_bytes(session->model);

    if (!session->full && is_enough(session, offset)) {
        session->full = true;
        session->incomplete = true;
    }
    if (!session->full && held > MEMORY_BASE + MEMORY_FACTOR * (uint64_t)session->size) {
        session->full = true;
        td_perf_damage(session, offset,
                       "the rest is not read: a file of %zu bytes cannot ask for %" PRIu64
                       " bytes of memory",
                       session->size, held);
    }
    return session->full;
}

struct section {
    uint64_t offset, size;
};

struct file_header {
    uint64_t attr_size;
    struct section attrs, data;
    uint64_t features[4];
};

static struct section read_section(struct td_cur *rd)
{
    struct section section = {.offset = td_cur_u64(rd)};

    section.size = td_cur_u64(rd);
    return section;
}

static bool inside(const struct td_perf_session *session, const struct section *section)
{
    return section->offset <= session->size && section->size <= session->size - section->offset;
}

/* An event and where its ids are. The ids' section stands at the end of the stride. */
static int read_attr(struct td_perf_session *session, uint64_t offset, uint64_t stride,
                     struct td_err *err)
{
    struct td_cur rd = {
        .at = session->data + offset, .end = session->data + offset + stride, .big = session->big};
    struct td_perf_attr attr;

    if (!td_perf_attr_read(&attr, &rd) || td_cur_left(&rd) < SECTION_BYTES)
        return td_fail_at(err, TD_EFORMAT, offset, "an event's description is damaged");
    rd.at = rd.end - SECTION_BYTES;
    const struct section ids = read_section(&rd);
    if (!inside(session, &ids))
        return td_fail_at(err, TD_EFORMAT, offset,
                          "the ids of an event reach beyond the end of the file");
    td_perf_event_add(session, &attr);
    struct td_cur list = {.at = session->data + ids.offset,
                          .end = session->data + ids.offset + ids.size,
                          .big = session->big};
    td_perf_event_ids(session, session->event_count - 1, &list, ids.size / 8);
    return TD_OK;
}

static int read_attrs(struct td_perf_session *session, const struct file_header *header,
                      struct td_err *err)
{
    const struct section *const attrs = &header->attrs;

    if (!inside(session, attrs))
        return td_fail_at(err, TD_EFORMAT, 24, "the events reach beyond the end of the file");
    if (header->attr_size < 64 + SECTION_BYTES || attrs->size < header->attr_size)
        return td_fail_at(err, TD_EFORMAT, 16, "the file describes no event");
    for (uint64_t at = 0; attrs->size - at >= header->attr_size; at += header->attr_size) {
        const int rc = read_attr(session, attrs->offset + at, header->attr_size, err);

        if (rc != TD_OK)
            return rc;
    }
    return TD_OK;
}

static int load_file(struct td_perf_session *session, struct td_err *err)
{
    struct td_cur rd = {.at = session->data + 2 * MAGIC_BYTES,
                        .end = session->data + session->size,
                        .big = session->big};
    struct file_header header = {.attr_size = td_cur_u64(&rd)};

    header.attrs = read_section(&rd);
    header.data = read_section(&rd);
    read_section(&rd); /* event types, not written for a decade */
    for (int i = 0; i < 4; i++)
        header.features[i] = td_cur_u64(&rd);
    if (rd.bad)
        return td_fail_at(err, TD_EFORMAT, session->size, "the header is cut off");
    const int rc = read_attrs(session, &header, err);
    if (rc != TD_OK)
        return rc;
    if (header.data.offset > session->size)
        return td_fail_at(err, TD_EFORMAT, 40, "the data begin beyond the end of the file");

    const uint64_t left = session->size - header.data.offset;
    uint64_t size = header.data.size;
    if (size == 0 || size > left) {
        td_perf_cut(session, 48,
                    size == 0 ? "perf was ended before it could finish the file"
                              : "the file is cut off: its header promises more data");
        size = left;
    } else {
        td_perf_features_read(session, header.data.offset + size, header.features);
    }
    td_perf_events_finish(session);
    td_perf_stream(session, header.data.offset, header.data.offset + size);
    return TD_OK;
}

static int load_pipe(struct td_perf_session *session, struct td_err *err)
{
    session->pipe = true;
    if (!td_perf_stream_head(session, PIPE_HEADER_BYTES, session->size))
        return td_fail_at(err, TD_EFORMAT, PIPE_HEADER_BYTES, "the stream describes no event");
    td_perf_events_finish(session);
    td_perf_stream(session, PIPE_HEADER_BYTES, session->size);
    return TD_OK;
}

static void set_losses(struct td_perf_session *session)
{
    const struct td_load_status *const status = session->status;
    const struct td_losses losses = {
        .damaged = status->damaged,
        .cut = status->cut,
        .exact = session->damaged_records == session->dropped,
        .read_samples = session->counters[TD_COUNTER_SAMPLES],
        .dropped_samples = session->dropped,
        .dropped_share = NAN,
        .share_of = "samples",
    };

    session->status->dropped = session->dropped;
    td_model_set_losses(session->model, &losses);
    td_model_set_complete(session->model, !session->incomplete && !status->cut);
}

static int load(struct td_perf_session *session, struct td_err *err)
{
    struct td_cur rd = {.at = session->data + MAGIC_BYTES,
                        .end = session->data + session->size,
                        .big = session->big};
    const uint64_t header_size = td_cur_u64(&rd);
    int rc = TD_OK;

    if (rd.bad)
        return td_fail_at(err, TD_EFORMAT, session->size, "the header is cut off");
    if (header_size == PIPE_HEADER_BYTES)
        rc = load_pipe(session, err);
    else if (header_size >= HEADER_BYTES - 4 * 8 && header_size <= session->size)
        rc = load_file(session, err);
    else
        rc = td_fail_at(err, TD_EFORMAT, MAGIC_BYTES,
                        "the header says it is %" PRIu64 " bytes long", header_size);
    if (rc != TD_OK)
        return rc;
    td_perf_environment(session);
    td_perf_totals(session);
    /* Nothing but damage: that is a refusal, not a profile of no samples. */
    if (session->counters[TD_COUNTER_SAMPLES] == 0 && session->status->damage.code != TD_OK) {
        if (err)
            *err = session->status->damage;
        return session->status->damage.code;
    }
    set_losses(session);
    return session->counters[TD_COUNTER_SAMPLES] == 0 ? td_perf_explain_empty(session, err) : TD_OK;
}

static void release(struct td_perf_session *session)
{
    td_perf_stream_release(session);
    td_perf_queue_release(&session->queue);
    td_perf_processes_free(session->processes);
    td_perf_operations_free(session->operations);
    td_map_release(&session->event_ids);
    td_map_release(&session->pmu_names);
    td_map_release(&session->build_ids);
    td_deltas_free(session->deltas);
    free(session->events);
    free(session->layouts);
    free(session->build_id_list);
}

int td_perfdata_load(struct td_model *model, const void *data, size_t size,
                     const struct td_load_opts *opts, struct td_load_status *status,
                     struct td_err *err)
{
    struct td_perf_session session = {
        .model = model,
        .opts = opts,
        .status = status,
        .data = data,
        .size = size,
        .deltas = td_deltas_new(),
        .big = starts_with(data, size, magic_big),
    };
    session.processes = td_perf_processes_new(&session);
    const int rc = load(&session, err);

    release(&session);
    return rc;
}
