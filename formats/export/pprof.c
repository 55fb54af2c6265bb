/* SPDX-License-Identifier: MIT */
/*
 * pprof: a gzip'd protobuf, perftools.profiles.Profile (github.com/google/pprof,
 * proto/profile.proto). The sample types are what the profile has values of: profiles of the same
 * kind have the same, in the same order, as pprof's merge and -diff_base want it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/export/export.h"
#include "formats/file_id.h"
#include "formats/frames.h"
#include "formats/notes.h"
#include "formats/export/proto.h"

/* Metrics that become sample types, in this order; the nodes of the tree follow them. */
static const enum td_metric own_types[] = {TD_METRIC_SAMPLES, TD_METRIC_TIME_NS, TD_METRIC_EVENT,
                                           TD_METRIC_SLOTS};

/* Field numbers of the messages. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE = 1,
    VALUE_UNIT = 2,
    SAMPLE_LOCATIONS = 1,
    SAMPLE_VALUES = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_STRING = 2,
    LABEL_NUMBER = 3,
    LABEL_UNIT = 4,
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILENAME = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILENAMES = 8,
    MAPPING_HAS_LINE_NUMBERS = 9,
    MAPPING_HAS_INLINE_FRAMES = 10,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    LINE_COLUMN = 3,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4,
    FUNCTION_START_LINE = 5,
};

#define PAGE_BYTES  UINT64_C(4096)
#define FLUSH_BYTES ((size_t)64 * 1024)

/* The synthetic place of a module in one address space, so that no two overlap: the pages of it
 * that code was seen in. These lie in its executable segment, so that offset, start and limit agree
 * with the file's program headers, and viewers that look up names themselves find them. */
struct place {
    uint64_t start;
    uint64_t offset, end; /* in the module, of whole pages */
    bool used;
    bool has_functions, has_files, has_lines, has_inlines;
};

struct writer {
    const struct td_measure *measure;
    const struct td_model *model;
    const struct td_export_opts *opts;
    struct td_intern *strings; /* ids are the profile's: 0 is "" */
    struct td_buf out, message, part;
    struct place *places; /* by module */
    bool *location_used;  /* by location */
    bool *function_used;  /* by function */
    uint64_t *path;
    size_t path_cap;
    z_stream zlib;
    FILE *file;
    enum td_metric types[TD_METRIC_COUNT]; /* the sample types */
    size_t type_count;
};

/* protobuf strings are UTF-8, and pprof prints them as they are. */
static uint64_t text(struct writer *w, const char *s)
{
    const size_t len = strlen(s);
    char *const safe = td_xalloc(4 * len + 1);
    const uint64_t id = td_intern_put(w->strings, safe, td_text_safe(safe, 4 * len + 1, s, len));

    free(safe);
    return id;
}

static void deflate_out(struct writer *w, bool last)
{
    uint8_t packed[16384];

    w->zlib.next_in = w->out.data;
    w->zlib.avail_in = (unsigned)w->out.len;
    do {
        w->zlib.next_out = packed;
        w->zlib.avail_out = sizeof(packed);
        deflate(&w->zlib, last ? Z_FINISH : Z_NO_FLUSH);
        fwrite(packed, 1, sizeof(packed) - w->zlib.avail_out, w->file);
    } while (w->zlib.avail_out == 0);
    td_buf_clear(&w->out);
}

/* Puts the finished message into a field of the profile, and starts anew. */
static void put_message(struct writer *w, uint32_t field)
{
    td_proto_bytes(&w->out, field, w->message.data, w->message.len);
    td_buf_clear(&w->message);
    if (w->out.len >= FLUSH_BYTES)
        deflate_out(w, false);
}

/* Puts the finished part into a field of the message. */
static void put_part(struct writer *w, uint32_t field)
{
    td_proto_bytes(&w->message, field, w->part.data, w->part.len);
    td_buf_clear(&w->part);
}

static void put_value_type(struct writer *w, uint32_t field, const char *name, const char *unit)
{
    td_proto_u64(&w->message, VALUE_TYPE, text(w, name));
    td_proto_u64(&w->message, VALUE_UNIT, text(w, unit));
    put_message(w, field);
}

static void put_label(struct writer *w, const char *key, const char *value)
{
    td_proto_u64(&w->part, LABEL_KEY, text(w, key));
    td_proto_u64(&w->part, LABEL_STRING, text(w, value));
    put_part(w, SAMPLE_LABEL);
}

static void put_number(struct writer *w, const char *key, uint64_t value, const char *unit)
{
    td_proto_u64(&w->part, LABEL_KEY, text(w, key));
    td_proto_u64(&w->part, LABEL_NUMBER, value);
    td_proto_u64(&w->part, LABEL_UNIT, text(w, unit));
    put_part(w, SAMPLE_LABEL);
}

static size_t put_path(struct writer *w, uint32_t node)
{
    size_t depth = 0;

    for (; node != 0; node = td_model_node(w->model, node)->parent) {
        const uint32_t location = td_model_node(w->model, node)->location;

        w->path = td_grow(w->path, &w->path_cap, depth + 1, sizeof(*w->path));
        w->path[depth++] = (uint64_t)location + 1;
        w->location_used[location] = true;
    }
    return depth;
}

static void choose_types(struct writer *w)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(own_types); i++) {
        if (w->measure->values[own_types[i]])
            w->types[w->type_count++] = own_types[i];
    }
    for (unsigned m = TD_METRIC_FIRST_NODE; m < TD_METRIC_COUNT; m++) {
        if (w->measure->values[m])
            w->types[w->type_count++] = (enum td_metric)m;
    }
}

static const char *type_name(const struct writer *w, enum td_metric metric)
{
    return metric == TD_METRIC_EVENT ? td_measure_event_name(w->measure) : td_metric_id(metric);
}

static const char *type_unit(enum td_metric metric)
{
    return td_metric_unit(metric) == TD_UNIT_NS ? "nanoseconds" : "count";
}

/* A row of nothing but zeros is no sample. */
static bool fill_values(const struct writer *w, size_t row, uint64_t *values)
{
    bool any = false;

    for (size_t i = 0; i < w->type_count; i++) {
        values[i] = w->measure->values[w->types[i]][row];
        any = any || values[i] > 0;
    }
    return any;
}

static void put_row(struct writer *w, size_t row)
{
    const struct td_measure_row *const r = &w->measure->rows[row];
    const struct td_thread *const thread = td_model_thread(w->model, r->thread);
    uint64_t values[TD_METRIC_COUNT];

    if (!fill_values(w, row, values))
        return;
    const size_t depth = put_path(w, r->node);
    td_proto_packed(&w->message, SAMPLE_LOCATIONS, w->path, depth);
    td_proto_packed(&w->message, SAMPLE_VALUES, values, w->type_count);
    put_label(w, "thread", td_model_string(w->model, thread->name));
    put_label(w, "process", td_model_string(w->model, thread->process));
    put_number(w, "pid", (uint64_t)(int64_t)td_task_id(thread->pid), "id");
    put_number(w, "tid", (uint64_t)(int64_t)td_task_id(thread->tid), "id");
    put_message(w, PROFILE_SAMPLE);
}

/* What is known of the module's code: then viewers need not look for it. */
static void note_names(const struct writer *w, struct place *place, const struct td_location *l)
{
    for (uint32_t i = 0; i < l->line_count; i++) {
        const struct td_line *const line = td_model_line(w->model, l->line_first + i);

        place->has_functions = true;
        place->has_files = place->has_files || line->file != 0;
        place->has_lines = place->has_lines || line->line != 0;
    }
    place->has_inlines = place->has_inlines || place->has_lines;
}

static void place_modules(struct writer *w)
{
    uint64_t next = UINT64_C(0x10000);

    for (uint32_t i = 0; i < td_model_location_count(w->model); i++) {
        const struct td_location *const l = td_model_location(w->model, i);
        struct place *const place = &w->places[l->module];
        const uint64_t page = l->offset & ~(PAGE_BYTES - 1);

        if (!w->location_used[i])
            continue;
        if (!place->used || page < place->offset)
            place->offset = page;
        if (page + PAGE_BYTES > place->end)
            place->end = page + PAGE_BYTES;
        place->used = true;
        note_names(w, place, l);
    }
    for (uint32_t m = 0; m < td_model_module_count(w->model); m++) {
        const struct td_module *const module = td_model_module(w->model, m);
        struct place *const place = &w->places[m];
        const bool absolute = module->kind == TD_MODULE_ANON || module->kind == TD_MODULE_UNKNOWN;

        /* Their offsets are addresses of their own; the kernel's get their base back. */
        place->start = absolute                           ? place->offset
                       : module->kind == TD_MODULE_KERNEL ? module->base + place->offset
                                                          : next;
        if (place->used && !absolute && module->kind != TD_MODULE_KERNEL)
            next += place->end - place->offset;
    }
}

static void put_flag(struct writer *w, uint32_t field, bool set)
{
    if (set)
        td_proto_u64(&w->message, field, 1);
}

static void put_mapping(struct writer *w, uint32_t index)
{
    const struct td_module *const module = td_model_module(w->model, index);
    const struct place *const place = &w->places[index];
    const uint64_t limit = place->start + (place->end - place->offset);
    char build_id[2 * TD_BUILD_ID_MAX + 1] = "";

    td_file_id_build_text(&module->build_id, build_id, sizeof(build_id));
    td_proto_u64(&w->message, MAPPING_ID, (uint64_t)index + 1);
    td_proto_u64(&w->message, MAPPING_START, place->start);
    td_proto_u64(&w->message, MAPPING_LIMIT, limit > place->start ? limit : UINT64_MAX);
    if (module->kind == TD_MODULE_FILE)
        td_proto_u64(&w->message, MAPPING_OFFSET, place->offset);
    td_proto_u64(&w->message, MAPPING_FILENAME, text(w, td_model_string(w->model, module->path)));
    td_proto_u64(&w->message, MAPPING_BUILD_ID, text(w, build_id));
    put_flag(w, MAPPING_HAS_FUNCTIONS, place->has_functions);
    put_flag(w, MAPPING_HAS_FILENAMES, place->has_files);
    put_flag(w, MAPPING_HAS_LINE_NUMBERS, place->has_lines);
    put_flag(w, MAPPING_HAS_INLINE_FRAMES, place->has_inlines);
    put_message(w, PROFILE_MAPPING);
}

static bool is_main(const struct writer *w, uint32_t module, const char *command)
{
    const char *const slash = strrchr(command, '/');

    return command[0] && w->places[module].used &&
           strcmp(td_module_name(w->model, module), slash ? slash + 1 : command) == 0;
}

/* pprof takes the first mapping for the program. */
static void put_mappings(struct writer *w)
{
    const char *const argv0 = td_model_env(w->model, TD_ENV_ARGV);
    uint32_t first = TD_NONE;

    for (uint32_t m = 0; m < td_model_module_count(w->model) && first == TD_NONE && argv0; m++) {
        if (is_main(w, m, argv0))
            first = m;
    }
    if (first != TD_NONE)
        put_mapping(w, first);
    for (uint32_t m = 0; m < td_model_module_count(w->model); m++) {
        if (w->places[m].used && m != first)
            put_mapping(w, m);
    }
}

static void put_line(struct writer *w, const struct td_line *line)
{
    td_proto_u64(&w->part, LINE_FUNCTION, (uint64_t)line->function + 1);
    td_proto_u64(&w->part, LINE_LINE, line->line);
    td_proto_u64(&w->part, LINE_COLUMN, line->column);
    put_part(w, LOCATION_LINE);
    w->function_used[line->function] = true;
}

static void put_function(struct writer *w, uint64_t id, const char *name, const char *system_name,
                         const char *file, uint64_t line)
{
    td_proto_u64(&w->message, FUNCTION_ID, id);
    td_proto_u64(&w->message, FUNCTION_NAME, text(w, name));
    td_proto_u64(&w->message, FUNCTION_SYSTEM_NAME, text(w, system_name[0] ? system_name : name));
    td_proto_u64(&w->message, FUNCTION_FILE, text(w, file));
    td_proto_u64(&w->message, FUNCTION_START_LINE, line);
    put_message(w, PROFILE_FUNCTION);
}

static void put_location(struct writer *w, uint32_t index)
{
    const struct td_location *const l = td_model_location(w->model, index);
    const uint32_t first = w->opts->no_inline && l->line_count > 0 ? l->line_count - 1 : 0;

    td_proto_u64(&w->message, LOCATION_ID, (uint64_t)index + 1);
    td_proto_u64(&w->message, LOCATION_MAPPING, (uint64_t)l->module + 1);
    td_proto_u64(&w->message, LOCATION_ADDRESS,
                 w->places[l->module].start + (l->offset - w->places[l->module].offset));
    for (uint32_t i = first; i < l->line_count; i++)
        put_line(w, td_model_line(w->model, l->line_first + i));
    put_message(w, PROFILE_LOCATION);
}

static void put_functions(struct writer *w)
{
    for (uint32_t i = 0; i < td_model_function_count(w->model); i++) {
        const struct td_function *const f = td_model_function(w->model, i);

        if (w->function_used[i])
            put_function(w, (uint64_t)i + 1, td_model_string(w->model, f->name),
                         td_model_string(w->model, f->linkage_name),
                         td_model_string(w->model, f->file), f->line);
    }
}

static void put_comment(void *ctx, const char *line)
{
    struct writer *const w = ctx;

    td_proto_u64(&w->out, PROFILE_COMMENT, text(w, line));
}

/* What stands for one sample, where that is always the same. */
static void put_period(struct writer *w)
{
    const uint32_t event = w->measure->event;
    const enum td_metric metric =
        w->measure->values[TD_METRIC_EVENT] ? TD_METRIC_EVENT : TD_METRIC_TIME_NS;

    if (event == TD_NONE || !w->measure->values[metric])
        return;
    const struct td_event *const e = td_model_event(w->model, event);
    put_value_type(w, PROFILE_PERIOD_TYPE, type_name(w, metric), type_unit(metric));
    if (e->period > 0)
        td_proto_u64(&w->out, PROFILE_PERIOD, e->period);
    else if (e->frequency_hz > 0 && metric == TD_METRIC_TIME_NS)
        td_proto_u64(&w->out, PROFILE_PERIOD, UINT64_C(1000000000) / e->frequency_hz);
}

static void put_head(struct writer *w)
{
    const struct td_model *const model = w->model;
    const char *const realtime = td_model_env(model, TD_ENV_REALTIME_NS);
    const uint64_t begin = td_model_counter(model, TD_COUNTER_STARTED_NS);
    const uint64_t end = td_model_counter(model, TD_COUNTER_ENDED_NS);
    uint64_t wall_ns = 0;

    for (size_t i = 0; i < w->type_count; i++)
        put_value_type(w, PROFILE_SAMPLE_TYPE, type_name(w, w->types[i]), type_unit(w->types[i]));
    put_period(w);
    if (realtime && td_parse_u64(realtime, &wall_ns))
        td_proto_u64(&w->out, PROFILE_TIME_NANOS, wall_ns);
    td_proto_u64(&w->out, PROFILE_DURATION_NANOS, end > begin ? end - begin : 0);
    td_proto_u64(&w->out, PROFILE_DEFAULT_SAMPLE_TYPE,
                 text(w, type_name(w, td_measure_primary(w->measure))));
    td_notes(w->measure, w->opts->tool, put_comment, w);
}

static void put_strings(struct writer *w)
{
    for (uint32_t i = 0; i < td_intern_count(w->strings); i++)
        td_proto_bytes(&w->out, PROFILE_STRING, td_intern_get(w->strings, i),
                       td_intern_len(w->strings, i));
}

static void put_profile(struct writer *w)
{
    put_head(w);
    for (size_t row = 0; row < w->measure->row_count; row++)
        put_row(w, row);
    place_modules(w);
    put_mappings(w);
    for (uint32_t i = 0; i < td_model_location_count(w->model); i++) {
        if (w->location_used[i])
            put_location(w, i);
    }
    put_functions(w);
    put_strings(w);
    deflate_out(w, true);
}

static int write_pprof(const struct td_measure *measure, const struct td_export_opts *opts,
                       FILE *out, struct td_err *err)
{
    const struct td_model *const model = measure->model;
    struct writer w = {.measure = measure, .model = model, .opts = opts, .file = out};

    /* 16 more than the window's bits: a gzip header, without a time or a name. */
    if (deflateInit2(&w.zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return td_fail(err, TD_EBUG, "zlib cannot be started");
    w.strings = td_intern_new();
    w.places = td_xcalloc((size_t)td_model_module_count(model) + 1, sizeof(*w.places));
    w.location_used = td_xcalloc((size_t)td_model_location_count(model) + 1, sizeof(bool));
    w.function_used = td_xcalloc((size_t)td_model_function_count(model) + 1, sizeof(bool));
    choose_types(&w);
    put_profile(&w);
    deflateEnd(&w.zlib);
    td_intern_free(w.strings);
    td_buf_release(&w.out);
    td_buf_release(&w.message);
    td_buf_release(&w.part);
    free(w.places);
    free(w.location_used);
    free(w.function_used);
    free(w.path);
    return TD_OK;
}

const struct td_exporter td_export_pprof = {
    .name = "pprof",
    .suffix = "pb.gz",
    .about = "profile.proto: pprof, Parca, Pyroscope, Grafana, Perfetto",
    .wants_threads = true,
    .write = write_pprof,
};
