/* SPDX-License-Identifier: MIT */
/*
 * One recording, read in two ways: its perf.data through the import, and the same bytes through the
 * recorder as if the kernel wrote them into its rings. Both give the same samples: tasks, values
 * and stacks.
 *   replay FILE...    perf.data files, packed by zstd or not; exit 1 where the two differ
 *
 * The linker leads some calls of the importer through this file (--wrap), so that the records are
 * seen in the order of the file. A ring keeps the order of its records: each goes into the first
 * ring that is not ahead of it.
 */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/file.h"
#include "base/mem.h"
#include "formats/load.h"
#include "formats/perfdata/session_priv.h"
#include "record/events/drain.h"
#include "record/run/recorder.h"
#include "symbolize/stack_copies.h"

#define RINGS_MAX 4096
#define SHOWN     4
/* Our format keeps times in steps of so many (formats/profile.md). */
#define PROFILE_TIME_NS 1024

/* A ring as it is filled; [0] is for records that perf made up, without a time. */
struct filling {
    struct td_buf records;
    uint64_t last_ns;
};

/* Code of the kernel, which the import knows by its start and the recorder by the running one. */
struct loaded {
    char *path;
    uint64_t start;
};

/* What the importer was seen to read. */
static struct {
    struct filling rings[RINGS_MAX];
    size_t ring_count;
    struct loaded *loaded;
    size_t loaded_count, loaded_cap;
    struct td_perf_event *events;
    char (*names)[64]; /* of the model's events, which are the file's */
    size_t event_count;
    struct td_layout *layouts;
    size_t layout_count;
    bool big,
        narrow; /* the machine's; narrow: of 32 bits, where the upper half is not the kernel's */
} seen;

#define WRAPPED(name, ...)           \
    void __real_##name(__VA_ARGS__); \
    void __wrap_##name(__VA_ARGS__)

WRAPPED(td_perf_queue_put, struct td_perf_session *session, uint64_t time, const uint8_t *record,
        uint32_t segment);
WRAPPED(td_perf_deliver, struct td_perf_session *session, const uint8_t *record, uint32_t segment);
WRAPPED(td_perf_totals, struct td_perf_session *session);

static size_t record_bytes(const struct td_perf_session *session, const uint8_t *record)
{
    struct td_cur rd = {
        .at = record + 6, .end = record + TD_RECORD_HEADER_BYTES, .big = session->big};

    return td_cur_u16(&rd);
}

void __wrap_td_perf_queue_put(struct td_perf_session *session, uint64_t time, const uint8_t *record,
                              uint32_t segment)
{
    size_t ring = 1;

    while (ring < RINGS_MAX - 1 && seen.rings[ring].last_ns > time)
        ring++;
    if (ring >= seen.ring_count)
        seen.ring_count = ring + 1;
    seen.rings[ring].last_ns = time;
    td_buf_bytes(&seen.rings[ring].records, record, record_bytes(session, record));
    __real_td_perf_queue_put(session, time, record, segment);
}

static void note_loaded(const char *name, size_t len, uint64_t start)
{
    seen.loaded =
        td_grow(seen.loaded, &seen.loaded_cap, seen.loaded_count + 1, sizeof(*seen.loaded));
    seen.loaded[seen.loaded_count++] = (struct loaded){td_xstrndup(name, len), start};
}

void __wrap_td_perf_deliver(struct td_perf_session *session, const uint8_t *record,
                            uint32_t segment)
{
    const struct td_layouts layouts = td_perf_layouts(session);
    const size_t size = record_bytes(session, record);
    struct td_rec rec;

    if (td_rec_parse(&rec, record, size, &layouts, NULL) == TD_OK) {
        if (rec.kind == TD_REC_MMAP && rec.mode == PERF_RECORD_MISC_KERNEL)
            note_loaded(rec.u.mmap.path, rec.u.mmap.path_len, rec.u.mmap.start);
        if (rec.kind == TD_REC_KSYMBOL)
            note_loaded(rec.u.ksymbol.name, rec.u.ksymbol.len, rec.u.ksymbol.start);
    }
    const uint64_t time = td_rec_time(record, size, &layouts);
    if (time == 0 || time == UINT64_MAX)
        td_buf_bytes(&seen.rings[0].records, record, size);
    __real_td_perf_deliver(session, record, segment);
}

/* All was read: what the events are, and which of them each reads, is known now. */
void __wrap_td_perf_totals(struct td_perf_session *session)
{
    const char *machine = td_model_env(session->model, TD_ENV_MACHINE);

    seen.narrow = machine && !strstr(machine, "64");
    seen.big = session->big;
    seen.event_count = session->event_count;
    seen.events = td_xcalloc(session->event_count, sizeof(*seen.events));
    memcpy(seen.events, session->events, session->event_count * sizeof(*seen.events));
    seen.names = td_xcalloc(session->event_count, sizeof(*seen.names));
    for (size_t i = 0; i < session->event_count; i++)
        snprintf(seen.names[i], sizeof(seen.names[i]), "%s",
                 td_model_string(session->model, session->events[i].name));
    seen.layout_count = session->layout_count;
    seen.layouts = td_xcalloc(session->layout_count, sizeof(*seen.layouts));
    memcpy(seen.layouts, session->layouts, session->layout_count * sizeof(*seen.layouts));
    __real_td_perf_totals(session);
}

static void forget(void)
{
    for (size_t i = 0; i < seen.ring_count + 1; i++)
        td_buf_release(&seen.rings[i].records);
    for (size_t i = 0; i < seen.loaded_count; i++)
        free(seen.loaded[i].path);
    free(seen.loaded);
    free(seen.events);
    free(seen.names);
    free(seen.layouts);
    memset(&seen, 0, sizeof(seen));
}

/* The plan by which the recorder would have opened these events. */

static size_t index_of_event(uint32_t model_event)
{
    size_t i = 0;

    while (i + 1 < seen.event_count && seen.events[i].event != model_event)
        i++;
    return i;
}

static void plan_member(struct td_plan_group *group, size_t event, bool reads)
{
    const struct td_perf_attr *attr = &seen.events[event].attr;
    struct td_plan_event *planned = &group->events[group->event_count];

    snprintf(planned->name, sizeof(planned->name), "%s", seen.names[event]);
    planned->type = attr->type;
    planned->config[0] = attr->config[0];
    planned->inherit = attr->inherit;
    planned->sample_type = attr->sample_type;
    planned->read_format = attr->read_format;
    planned->period = attr->freq ? 0 : attr->period;
    planned->frequency_hz = attr->freq ? attr->period : 0;
    group->columns[group->column_count++] =
        (struct td_column){.kind = reads ? TD_COLUMN_DELTA : TD_COLUMN_PERIOD,
                           .event = (uint32_t)group->event_count++,
                           .node = TD_NODE_NONE};
}

static void plan_column(struct td_plan_group *group, uint64_t asked, enum td_column_kind kind)
{
    if (asked)
        group->columns[group->column_count++] =
            (struct td_column){.kind = kind, .event = TD_NONE, .node = TD_NODE_NONE};
}

static const struct td_plan_group *plan_group(struct td_plan *plan, size_t event)
{
    const struct td_perf_event *of = &seen.events[event];
    const uint64_t type = of->attr.sample_type;
    struct td_plan_group *group = td_plan_add_group(plan);

    snprintf(group->name, sizeof(group->name), "%s", seen.names[event]);
    group->role = TD_ROLE_METRIC;
    group->locates = TD_NODE_NONE;
    for (uint32_t i = 0; i < of->member_count; i++) {
        if (of->members[i] == of->event)
            group->sampler = group->event_count;
        plan_member(group, index_of_event(of->members[i]), true);
    }
    if (of->member_count == 0)
        plan_member(group, event, false);
    plan_column(group, type & PERF_SAMPLE_WEIGHT_STRUCT, TD_COLUMN_LATENCY);
    plan_column(group, type & PERF_SAMPLE_WEIGHT_STRUCT, TD_COLUMN_INSTR_LATENCY);
    plan_column(group, type & PERF_SAMPLE_WEIGHT_STRUCT, TD_COLUMN_RETIRE_LATENCY);
    plan_column(group, type & PERF_SAMPLE_DATA_SRC, TD_COLUMN_DATA_SOURCE);
    plan_column(group, type & PERF_SAMPLE_DATA_SRC, TD_COLUMN_DATA_ADDRESS);
    return group;
}

/* Each layout names its event's group now, and the sampler in it. */
static void make_plan(struct td_plan *plan)
{
    *plan = (struct td_plan){.passes = 1};
    for (size_t l = 0; l < seen.layout_count; l++)
        seen.layouts[l].group = (uint16_t)seen.layouts[l].event;
    for (size_t i = 0; i < seen.event_count; i++) {
        const uint32_t sampler = (uint32_t)plan_group(plan, i)->sampler;

        for (size_t l = 0; l < seen.layout_count; l++) {
            if (seen.layouts[l].group == i)
                seen.layouts[l].event = sampler;
        }
    }
}

/* The recorder's side. */

static int keep_bytes(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

static void fill_ring(struct td_ring *ring, struct perf_event_mmap_page *page, struct td_buf *from)
{
    uint64_t size = 4096;

    while (size < from->len)
        size *= 2;
    page->data_head = from->len;
    td_buf_reserve(from, size - from->len);
    td_ring_init(ring, page, from->data, size);
    ring->cpu = TD_NONE;
}

/* The profile that the recorder writes of these records, loaded. */
static struct td_model *record_again(void)
{
    const struct td_layouts layouts = {
        .items = seen.layouts, .count = seen.layout_count, .big = seen.big};
    const size_t count = seen.ring_count ? seen.ring_count : 1;
    struct perf_event_mmap_page *pages = td_xcalloc(count, sizeof(*pages));
    struct td_ring *rings = td_xcalloc(count, sizeof(*rings));
    const struct td_load_opts opts = {.keep_samples = true};
    struct td_load_status status = {0};
    struct td_profile_writer *writer = NULL;
    struct td_err err = TD_ERR_INIT;
    struct td_model *model = NULL;
    struct td_buf out = {0};
    struct td_drain drain;
    struct td_plan plan;

    make_plan(&plan);
    for (size_t i = 0; i < count; i++)
        fill_ring(&rings[i], &pages[i], &seen.rings[i].records);
    if (td_profile_writer_new(&writer, keep_bytes, &out, NULL, &err) == TD_OK) {
        struct td_recorder *recorder = td_recorder_new(&plan, writer, rings, count);

        td_drain_init(&drain, rings, count, &layouts);
        td_drain_run(&drain, UINT64_MAX, td_recorder_take, recorder);
        td_drain_release(&drain);
        td_recorder_end(recorder);
        td_profile_finish(writer, NULL);
        td_recorder_free(recorder);
        td_profile_writer_free(writer);
        td_load_bytes(&model, out.data, out.len, "replayed", &opts, &status, &err);
    }
    if (!model)
        fprintf(stderr, "%s\n", err.text);
    for (size_t i = 0; i < count; i++)
        td_ring_unmap(&rings[i]);
    td_buf_release(&out);
    td_plan_release(&plan);
    free(rings);
    free(pages);
    return model;
}

/* Comparing. */

/* A place as both can say it: what is the kernel's by its address, what has no file by its address,
 * the rest by file and offset. */
static void add_place(struct td_buf *out, const struct td_model *model, uint32_t node)
{
    static const char deleted[] = " (deleted)";
    const struct td_location *at = td_model_location(model, td_model_node(model, node)->location);
    const struct td_module *module = td_model_module(model, at->module);
    const char *path = td_model_string(model, module->path);
    size_t len = strlen(path);
    uint64_t offset = at->offset + module->base;
    char text[64];

    if (len > strlen(deleted) && strcmp(path + len - strlen(deleted), deleted) == 0)
        len -= strlen(deleted);
    for (size_t i = seen.loaded_count; module->kind == TD_MODULE_KERNEL_MODULE && i-- > 0;) {
        if (strcmp(seen.loaded[i].path, path) != 0)
            continue;
        offset += seen.loaded[i].start;
        break;
    }
    const bool file = module->kind == TD_MODULE_FILE || module->kind == TD_MODULE_VDSO;
    const bool kernel = module->kind == TD_MODULE_KERNEL || module->kind == TD_MODULE_KERNEL_MODULE;
    td_buf_bytes(out, " ", 1);
    if (file)
        td_buf_bytes(out, path, len);
    else if (!kernel && !seen.narrow)
        td_buf_bytes(out, module->kind == TD_MODULE_ANON ? "anon" : "?",
                     module->kind == TD_MODULE_ANON ? 4 : 1);
    snprintf(text, sizeof(text), "+%" PRIx64, offset);
    td_buf_bytes(out, text, strlen(text));
}

static bool is_unmapped(const struct td_model *model, uint32_t node)
{
    const struct td_location *at = td_model_location(model, td_model_node(model, node)->location);

    return td_model_module(model, at->module)->kind == TD_MODULE_UNKNOWN;
}

/* The stack, the innermost first. The recorder takes a caller outside of every mapping for none,
 * and what is outside of it too; the import shows all that perf has written. */
static void add_stack(struct td_buf *out, const struct td_model *model, uint32_t node)
{
    add_place(out, model, node);
    for (node = td_model_node(model, node)->parent; node != 0 && !is_unmapped(model, node);
         node = td_model_node(model, node)->parent)
        add_place(out, model, node);
}

/* The growth of each counter that was read, else the period; times are the import's alone. */
static void add_values(struct td_buf *out, const struct td_model *model,
                       const struct td_sample *sample)
{
    const struct td_group *group = td_model_group(model, sample->group);
    const uint64_t *values = td_model_sample_values(model, sample);
    bool reads = false;
    char text[64];

    for (uint32_t c = 0; c < group->column_count; c++)
        reads = reads || group->columns[c].kind == TD_COLUMN_DELTA;
    for (uint32_t c = 0; c < group->column_count; c++) {
        const enum td_column_kind kind = group->columns[c].kind;
        const bool weighs = kind >= TD_COLUMN_LATENCY && seen.events[0].attr.sample_type &
                                                             PERF_SAMPLE_WEIGHT &
                                                             ~PERF_SAMPLE_WEIGHT_STRUCT;

        if ((kind == TD_COLUMN_PERIOD && reads) || kind == TD_COLUMN_TIME_ENABLED ||
            kind == TD_COLUMN_TIME_RUNNING || weighs)
            continue;
        snprintf(text, sizeof(text), " %u=%" PRIu64, (unsigned)kind, values[c]);
        td_buf_bytes(out, text, strlen(text));
    }
}

static char *describe(const struct td_model *model, size_t i)
{
    const struct td_sample *sample = td_model_sample(model, i);
    const struct td_thread *thread = td_model_thread(model, sample->thread);
    const struct td_group *group = td_model_group(model, sample->group);
    char *head = td_xasprintf(
        "%" PRIu64 " us %" PRId32 "/%" PRId32 " %s of %s, %s:", sample->time_ns / PROFILE_TIME_NS,
        td_task_id(thread->pid), td_task_id(thread->tid), td_model_string(model, thread->name),
        td_model_string(model, thread->process),
        td_model_string(model, td_model_event(model, group->sampler)->name));
    struct td_buf out = {0};

    td_buf_bytes(&out, head, strlen(head));
    add_values(&out, model, sample);
    add_stack(&out, model, sample->node);
    td_buf_u8(&out, 0);
    free(head);
    return (char *)out.data;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **describe_all(const struct td_model *model, size_t *count)
{
    *count = td_model_sample_count(model);
    char **lines = td_xcalloc(*count + 1, sizeof(*lines));

    for (size_t i = 0; i < *count; i++)
        lines[i] = describe(model, i);
    qsort(lines, *count, sizeof(*lines), compare);
    return lines;
}

static void release_lines(char **lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(lines[i]);
    free(lines);
}

/* How many lines stand in only one of the two; the first are shown. */
static size_t differences(const struct td_model *imported, const struct td_model *recorded)
{
    size_t a_count = 0, b_count = 0, i = 0, j = 0, different = 0;
    char **a = describe_all(imported, &a_count), **b = describe_all(recorded, &b_count);

    while (i < a_count || j < b_count) {
        const int order = i == a_count ? 1 : j == b_count ? -1 : strcmp(a[i], b[j]);

        if (order != 0 && different++ < SHOWN)
            printf("  %s: %.1000s\n", order < 0 ? "imported" : "recorded", order < 0 ? a[i] : b[j]);
        i += order <= 0;
        j += order >= 0;
    }
    release_lines(a, a_count);
    release_lines(b, b_count);
    return different;
}

static size_t counters_differ(const struct td_model *imported, const struct td_model *recorded)
{
    static const enum td_counter counters[] = {TD_COUNTER_SAMPLES, TD_COUNTER_LOST,
                                               TD_COUNTER_LOST_RECORDS, TD_COUNTER_THROTTLED,
                                               TD_COUNTER_INVALID_GROUPS};
    size_t different = 0;

    for (size_t i = 0; i < TD_ARRAY_SIZE(counters); i++) {
        const uint64_t a = td_model_counter(imported, counters[i]),
                       b = td_model_counter(recorded, counters[i]);

        if (a == b)
            continue;
        printf("  %s: imported %" PRIu64 ", recorded %" PRIu64 "\n", td_counter_name(counters[i]),
               a, b);
        different++;
    }
    return different;
}

static bool read_file(const char *path, struct td_buf *ret, struct td_err *err)
{
    struct td_buf packed = {0};

    if (td_file_read(path, (size_t)64 << 20, &packed, err) != TD_OK)
        return false;
    const unsigned long long size = ZSTD_getFrameContentSize(packed.data, packed.len);
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
        *ret = packed;
        return true;
    }
    td_buf_reserve(ret, (size_t)size);
    ret->len = ZSTD_decompress(ret->data, ret->cap, packed.data, packed.len);
    td_buf_release(&packed);
    return ret->len == size;
}

/* False when the two disagree. What cannot be compared is said. */
static bool check_file(const char *path, size_t *compared)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    struct td_replay *replay = td_replay_new();
    const struct td_load_unwinder unwinder = td_replay_unwinder(replay);
    const struct td_load_opts opts = {.keep_samples = true, .unwinder = &unwinder};
    struct td_load_status status = {0};
    struct td_err err = TD_ERR_INIT;
    struct td_model *imported = NULL;
    struct td_buf data = {0};
    bool same = true;

    if (!read_file(path, &data, &err) ||
        td_load_bytes(&imported, data.data, data.len, name, &opts, &status, &err) != TD_OK) {
        printf("%s: left out: %s\n", name, err.text);
    } else if (seen.big) {
        printf("%s: left out: the recorder reads this machine's byte order\n", name);
    } else {
        struct td_model *recorded = record_again();

        const size_t different =
            recorded ? differences(imported, recorded) + counters_differ(imported, recorded) : 1;
        printf("%s: %zu samples, %zu rings, %zu differences\n", name,
               td_model_sample_count(imported), seen.ring_count, different);
        same = different == 0;
        *compared += td_model_sample_count(imported) > 0;
        td_model_free(recorded);
    }
    td_model_free(imported);
    td_replay_free(replay);
    td_buf_release(&data);
    forget();
    return same;
}

int main(int argc, char **argv)
{
    size_t compared = 0;
    bool same = true;

    for (int i = 1; i < argc; i++)
        same = check_file(argv[i], &compared) && same;
    printf("%zu files compared\n", compared);
    return same && compared > 0 ? 0 : 1;
}
