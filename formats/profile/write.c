/* SPDX-License-Identifier: MIT */
#include "formats/profile/write.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/mem.h"
#include "formats/profile/columns.h"
#include "formats/profile/frame.h"
#include "formats/profile/nodes.h"
#include "formats/profile/pending.h"

#define DEFAULT_NODES      262144
#define DEFAULT_ZSTD_LEVEL 3

/* A chunk of descriptions is closed when it holds this many bytes. */
#define BUFFERED_BYTES 65536
/* The table of strings starts anew beyond this; strings met again get a second id. */
#define INTERNED_BYTES (1 << 20)

/* Descriptions of one kind not yet written. */
struct pending_text {
    struct td_buf buf;
    uint32_t first, count;
    uint64_t last_offset; /* of the record before in this chunk */
};

struct td_profile_writer {
    td_profile_write_fn *write;
    void *ctx;
    struct td_err err; /* the first failure; nothing is written after it */
    uint64_t bytes;
    uint32_t seed;
    uint32_t sequence;
    unsigned time_shift;
    struct td_chunk_packer *packer;
    struct td_chunk_body body;
    struct td_column_scratch scratch;
    struct td_buf out;
    struct td_intern *strings;
    uint32_t string_base; /* added to the ids of `strings`, since it started anew */
    size_t interned_bytes;
    struct pending_text texts[TD_CHUNK_KIND_LIMIT];
    struct td_node_table nodes;
    uint32_t nodes_written;
    struct td_pending samples, tallies;
    struct td_map regions; /* parent and name to id */
    uint8_t *columns;      /* of each group */
    size_t columns_cap;
    uint64_t counters[TD_COUNTER_COUNT];
    bool counter_new[TD_COUNTER_COUNT];
    uint64_t totals[TD_CHUNK_KIND_LIMIT];
};

/* The body becomes a chunk and leaves. */
static void write_chunk(struct td_profile_writer *w, enum td_chunk_kind kind)
{
    struct td_chunk_head head = {
        .kind = (uint8_t)kind,
        .flags = td_chunk_kind_required(kind) ? TD_CHUNK_REQUIRED : 0,
        .sequence = w->sequence,
    };

    if (w->err.code == TD_OK) {
        td_buf_clear(&w->out);
        td_chunk_pack(w->packer, &w->out, &head, w->seed, &w->body);
        if (w->write(w->ctx, w->out.data, w->out.len, &w->err) == TD_OK) {
            w->sequence++;
            w->bytes += w->out.len;
        }
    }
    td_chunk_body_clear(&w->body);
}

/* Kinds whose chunks begin with the range of ids they describe. */
static bool has_ids(enum td_chunk_kind kind)
{
    return kind == TD_CHUNK_STRINGS || kind == TD_CHUNK_MODULES || kind == TD_CHUNK_THREADS ||
           kind == TD_CHUNK_EVENTS || kind == TD_CHUNK_GROUPS || kind == TD_CHUNK_REGIONS;
}

static void flush_text(struct td_profile_writer *w, enum td_chunk_kind kind)
{
    struct pending_text *text = &w->texts[kind];

    if (text->buf.len == 0)
        return;
    if (has_ids(kind)) {
        td_buf_uleb(&w->body.raw, text->first);
        td_buf_uleb(&w->body.raw, text->count);
    }
    td_buf_bytes(&w->body.raw, text->buf.data, text->buf.len);
    write_chunk(w, kind);
    w->totals[kind] += text->count;
    text->first += text->count;
    text->count = 0;
    text->last_offset = 0;
    td_buf_clear(&text->buf);
}

/* What descriptions refer to comes before them. */
static void flush_texts(struct td_profile_writer *w)
{
    static const enum td_chunk_kind order[] = {
        TD_CHUNK_ENVIRONMENT,   TD_CHUNK_STRINGS, TD_CHUNK_MODULES, TD_CHUNK_THREADS,
        TD_CHUNK_EVENTS,        TD_CHUNK_GROUPS,  TD_CHUNK_SYMBOLS, TD_CHUNK_ORIGINS,
        TD_CHUNK_PLACED,        TD_CHUNK_COUNTS,  TD_CHUNK_PASSES,  TD_CHUNK_REGIONS,
        TD_CHUNK_REGION_ROWS,   TD_CHUNK_CODE,    TD_CHUNK_SHARING, TD_CHUNK_HABITS,
        TD_CHUNK_GROUP_REGIONS,
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(order); i++)
        flush_text(w, order[i]);
}

/* Closes a description; returns its id. */
static uint32_t end_text(struct td_profile_writer *w, enum td_chunk_kind kind)
{
    struct pending_text *text = &w->texts[kind];
    const uint32_t id = text->first + text->count++;

    if (text->buf.len >= BUFFERED_BYTES)
        flush_texts(w);
    return id;
}

/* The id of a string; 0 is "". Ids go on counting when the table starts anew. */
static uint32_t intern(struct td_profile_writer *w, const char *s)
{
    const size_t len = s ? strlen(s) : 0;

    if (len == 0)
        return 0;
    if (w->interned_bytes > INTERNED_BYTES) {
        w->string_base += td_intern_count(w->strings) - 1;
        td_intern_free(w->strings);
        w->strings = td_intern_new();
        w->interned_bytes = 0;
    }
    const uint32_t known = td_intern_count(w->strings);
    const uint32_t id = td_intern_put(w->strings, s, len);
    if (id == known) {
        w->interned_bytes += len + 64;
        td_buf_string(&w->texts[TD_CHUNK_STRINGS].buf, s, len);
        end_text(w, TD_CHUNK_STRINGS);
    }
    return w->string_base + id;
}

static void flush_nodes(struct td_profile_writer *w)
{
    const uint32_t limit = TD_CHUNK_ROWS_MAX;

    while (w->nodes_written < w->nodes.count) {
        const uint32_t left = w->nodes.count - w->nodes_written;
        const uint32_t count = left < limit ? left : limit;

        td_buf_uleb(&w->body.raw, w->nodes.epoch);
        td_buf_uleb(&w->body.raw, w->nodes_written);
        td_buf_uleb(&w->body.raw, count);
        td_columns_put_nodes(&w->body, &w->scratch, w->nodes_written,
                             w->nodes.rows + w->nodes_written, count);
        write_chunk(w, TD_CHUNK_NODES);
        w->totals[TD_CHUNK_NODES] += count;
        w->nodes_written += count;
    }
}

static void flush_samples(struct td_profile_writer *w)
{
    const struct td_value_runs *runs = td_pending_take(&w->samples);

    if (!runs)
        return;
    td_buf_uleb(&w->body.raw, w->nodes.epoch);
    td_columns_put_samples(&w->body, &w->scratch, runs, w->time_shift);
    write_chunk(w, TD_CHUNK_SAMPLES);
    w->totals[TD_CHUNK_SAMPLES] += runs->row_count;
}

static void flush_tallies(struct td_profile_writer *w)
{
    const struct td_value_runs *runs = td_pending_take(&w->tallies);

    if (!runs)
        return;
    td_buf_uleb(&w->body.raw, w->nodes.epoch);
    td_columns_put_tallies(&w->body, &w->scratch, runs);
    write_chunk(w, TD_CHUNK_TALLIES);
    w->totals[TD_CHUNK_TALLIES] += runs->row_count;
}

/* Values, and everything that they refer to, in an order that a reader can follow. */
static void flush_values(struct td_profile_writer *w)
{
    flush_texts(w);
    flush_nodes(w);
    flush_tallies(w);
    flush_samples(w);
}

static void flush_counters(struct td_profile_writer *w)
{
    for (unsigned c = 0; c < TD_COUNTER_COUNT; c++) {
        if (!w->counter_new[c])
            continue;
        td_buf_uleb(&w->body.raw, c);
        td_buf_uleb(&w->body.raw, w->counters[c]);
        w->counter_new[c] = false;
        w->totals[TD_CHUNK_COUNTERS]++;
    }
    if (w->body.raw.len > 0)
        write_chunk(w, TD_CHUNK_COUNTERS);
}

static int get_id(uint8_t id[TD_PROFILE_ID_SIZE], const uint8_t *given, struct td_err *err)
{
    if (given)
        memcpy(id, given, TD_PROFILE_ID_SIZE);
    else if (getrandom(id, TD_PROFILE_ID_SIZE, 0) != TD_PROFILE_ID_SIZE)
        return td_fail_errno(err, TD_EIO, errno, "cannot get random bytes for the profile's id");
    return TD_OK;
}

int td_profile_writer_new(struct td_profile_writer **ret, td_profile_write_fn *write, void *ctx,
                          const struct td_profile_writer_opts *opts, struct td_err *err)
{
    static const struct td_profile_writer_opts defaults = {0};
    struct td_profile_header header = {.major = TD_PROFILE_MAJOR, .minor = TD_PROFILE_MINOR};
    struct td_profile_writer *w = NULL;

    if (!opts)
        opts = &defaults;
    int rc = get_id(header.id, opts->id, err);
    if (rc < 0)
        return rc;
    w = td_xcalloc(1, sizeof(*w));
    w->write = write;
    w->ctx = ctx;
    w->err = (struct td_err)TD_ERR_INIT;
    w->time_shift = opts->exact_times ? 0 : TD_TIME_SHIFT;
    w->packer = td_chunk_packer_new(opts->zstd_level ? opts->zstd_level : DEFAULT_ZSTD_LEVEL);
    w->strings = td_intern_new();
    w->texts[TD_CHUNK_STRINGS].first = 1;
    td_node_table_init(&w->nodes, opts->max_nodes ? opts->max_nodes : DEFAULT_NODES);
    w->nodes_written = 1;
    td_profile_header_put(&w->out, &header);
    w->seed = header.crc;
    rc = write(ctx, w->out.data, w->out.len, err);
    if (rc < 0) {
        td_profile_writer_free(w);
        return rc;
    }
    w->bytes = w->out.len;
    *ret = w;
    return TD_OK;
}

void td_profile_writer_free(struct td_profile_writer *writer)
{
    if (!writer)
        return;
    td_chunk_packer_free(writer->packer);
    td_chunk_body_release(&writer->body);
    td_column_scratch_release(&writer->scratch);
    td_buf_release(&writer->out);
    td_intern_free(writer->strings);
    for (size_t i = 0; i < TD_ARRAY_SIZE(writer->texts); i++)
        td_buf_release(&writer->texts[i].buf);
    td_node_table_release(&writer->nodes);
    td_pending_release(&writer->samples);
    td_pending_release(&writer->tallies);
    free(writer->columns);
    td_map_release(&writer->regions);
    free(writer);
}

void td_profile_env(struct td_profile_writer *writer, const char *key, const char *value)
{
    struct td_buf *buf = &writer->texts[TD_CHUNK_ENVIRONMENT].buf;

    td_buf_string(buf, key, strlen(key));
    td_buf_string(buf, value, strlen(value));
    end_text(writer, TD_CHUNK_ENVIRONMENT);
}

uint32_t td_profile_module(struct td_profile_writer *writer, const struct td_profile_module *m)
{
    const uint32_t path = intern(writer, m->path);
    struct td_buf *buf = &writer->texts[TD_CHUNK_MODULES].buf;

    assert(m->build_id.size <= TD_BUILD_ID_MAX);
    td_buf_uleb(buf, m->kind);
    td_buf_uleb(buf, path);
    td_buf_uleb(buf, m->pid);
    td_buf_uleb(buf, m->base);
    td_buf_string(buf, (const char *)m->build_id.bytes, m->build_id.size);
    return end_text(writer, TD_CHUNK_MODULES);
}

uint32_t td_profile_thread(struct td_profile_writer *writer, uint32_t pid, uint32_t tid,
                           const char *name, const char *process, uint64_t start_ns)
{
    const uint32_t name_id = intern(writer, name);
    const uint32_t process_id = intern(writer, process);
    struct td_buf *buf = &writer->texts[TD_CHUNK_THREADS].buf;

    td_buf_uleb(buf, pid);
    td_buf_uleb(buf, tid);
    td_buf_uleb(buf, name_id);
    td_buf_uleb(buf, process_id);
    td_buf_uleb(buf, start_ns);
    return end_text(writer, TD_CHUNK_THREADS);
}

void td_profile_origin(struct td_profile_writer *writer, uint32_t thread, const char *origin)
{
    const uint32_t origin_id = intern(writer, origin);
    struct td_buf *buf = &writer->texts[TD_CHUNK_ORIGINS].buf;

    assert(thread < writer->texts[TD_CHUNK_THREADS].first + writer->texts[TD_CHUNK_THREADS].count);
    td_buf_uleb(buf, thread);
    td_buf_uleb(buf, origin_id);
    end_text(writer, TD_CHUNK_ORIGINS);
}

void td_profile_counts(struct td_profile_writer *writer, uint32_t event,
                       const struct td_event_counts *counts)
{
    struct td_buf *buf = &writer->texts[TD_CHUNK_COUNTS].buf;

    assert(event < writer->texts[TD_CHUNK_EVENTS].first + writer->texts[TD_CHUNK_EVENTS].count);
    td_buf_uleb(buf, event);
    td_buf_uleb(buf, counts->counted);
    td_buf_uleb(buf, counts->sampled);
    td_buf_uleb(buf, counts->elsewhere);
    td_buf_uleb(buf, counts->rest);
    td_buf_uleb(buf, counts->enabled_ns);
    td_buf_uleb(buf, counts->running_ns);
    end_text(writer, TD_CHUNK_COUNTS);
}

uint32_t td_profile_event(struct td_profile_writer *writer, const struct td_profile_event *e)
{
    const uint32_t name = intern(writer, e->name);
    struct td_buf *buf = &writer->texts[TD_CHUNK_EVENTS].buf;

    td_buf_uleb(buf, name);
    td_buf_uleb(buf, e->unit);
    td_buf_uleb(buf, e->pmu_type);
    for (int c = 0; c < 3; c++)
        td_buf_uleb(buf, e->config[c]);
    td_buf_uleb(buf, e->period);
    td_buf_uleb(buf, e->frequency_hz);
    td_buf_uleb(buf, e->flags);
    return end_text(writer, TD_CHUNK_EVENTS);
}

/* TD_NONE and TD_NODE_NONE are all ones: plus 1, they are 0. */
static void put_or_none(struct td_buf *buf, uint32_t number)
{
    td_buf_uleb(buf, number + 1);
}

uint32_t td_profile_group(struct td_profile_writer *writer, const struct td_group *group,
                          const char *name, const char *cpu_type)
{
    const uint32_t name_id = intern(writer, name);
    const uint32_t cpu_type_id = intern(writer, cpu_type);
    struct td_buf *buf = &writer->texts[TD_CHUNK_GROUPS].buf;
    const struct pending_text *text = &writer->texts[TD_CHUNK_GROUPS];
    const size_t id = text->first + text->count;

    assert(group->column_count <= TD_COLUMNS_MAX);
    td_buf_uleb(buf, name_id);
    td_buf_uleb(buf, group->role);
    td_buf_uleb(buf, group->attribution);
    put_or_none(buf, (uint32_t)group->locates);
    put_or_none(buf, group->sampler);
    td_buf_uleb(buf, cpu_type_id);
    td_buf_uleb(buf, group->column_count);
    for (uint32_t c = 0; c < group->column_count; c++) {
        td_buf_uleb(buf, group->columns[c].kind);
        put_or_none(buf, group->columns[c].event);
        put_or_none(buf, (uint32_t)group->columns[c].node);
    }
    writer->columns = td_grow(writer->columns, &writer->columns_cap, id + 1, 1);
    writer->columns[id] = (uint8_t)group->column_count;
    if (group->pass > 1) {
        td_buf_uleb(&writer->texts[TD_CHUNK_PASSES].buf, id);
        td_buf_uleb(&writer->texts[TD_CHUNK_PASSES].buf, group->pass);
        end_text(writer, TD_CHUNK_PASSES);
    }
    if (group->in_region > 0) {
        td_buf_uleb(&writer->texts[TD_CHUNK_GROUP_REGIONS].buf, id);
        td_buf_uleb(&writer->texts[TD_CHUNK_GROUP_REGIONS].buf, group->in_region - 1);
        end_text(writer, TD_CHUNK_GROUP_REGIONS);
    }
    return end_text(writer, TD_CHUNK_GROUPS);
}

uint32_t td_profile_region(struct td_profile_writer *writer, uint32_t parent, const char *name)
{
    const uint32_t name_id = intern(writer, name);
    struct td_buf *buf = &writer->texts[TD_CHUNK_REGIONS].buf;
    const uint32_t *known = td_map_find(&writer->regions, parent, name_id);

    if (known)
        return *known;
    put_or_none(buf, parent);
    td_buf_uleb(buf, name_id);
    const uint32_t id = end_text(writer, TD_CHUNK_REGIONS);
    td_map_put(&writer->regions, parent, name_id, id, NULL);
    return id;
}

void td_profile_region_row(struct td_profile_writer *writer, const struct td_region_row *row,
                           const uint64_t *values)
{
    struct td_buf *buf = &writer->texts[TD_CHUNK_REGION_ROWS].buf;
    const uint64_t numbers[] = {row->unit,       row->begun, row->ended, row->timed,
                                row->sum,        row->min,   row->max,   row->squares[0],
                                row->squares[1], row->whole, row->seen};
    const uint32_t columns = row->group == TD_NONE ? 0 : writer->columns[row->group];

    td_buf_uleb(buf, row->thread);
    td_buf_uleb(buf, row->region);
    put_or_none(buf, row->group);
    for (size_t i = 0; i < TD_ARRAY_SIZE(numbers); i++)
        td_buf_uleb(buf, numbers[i]);
    for (uint32_t c = 0; c < columns; c++)
        td_buf_uleb(buf, values[c]);
    end_text(writer, TD_CHUNK_REGION_ROWS);
}

/* As the difference from the one before in the chunk. */
static void put_offset(struct pending_text *text, uint64_t offset)
{
    td_buf_zigzag(&text->buf, (int64_t)(offset - text->last_offset));
    text->last_offset = offset;
}

void td_profile_ran(struct td_profile_writer *writer, const struct td_ran_block *block)
{
    struct pending_text *text = &writer->texts[TD_CHUNK_CODE];

    td_buf_uleb(&text->buf, block->module);
    put_offset(text, block->offset);
    td_ran_put(&text->buf, block);
    end_text(writer, TD_CHUNK_CODE);
}

static void put_side(struct td_buf *buf, const struct td_shared_side *side)
{
    put_or_none(buf, side->thread);
    put_or_none(buf, side->module);
    td_buf_uleb(buf, side->module == TD_NONE ? 0 : side->offset);
    td_buf_uleb(buf, side->store);
}

void td_profile_shared(struct td_profile_writer *writer, const struct td_shared_row *row)
{
    struct td_buf *buf = &writer->texts[TD_CHUNK_SHARING].buf;

    td_buf_uleb(buf, row->process);
    td_buf_uleb(buf, row->address);
    td_buf_uleb(buf, row->area);
    put_or_none(buf, row->module);
    td_buf_uleb(buf, row->module == TD_NONE ? 0 : row->offset);
    put_side(buf, &row->mine);
    put_side(buf, &row->theirs);
    td_buf_uleb(buf, row->is_false);
    td_buf_uleb(buf, row->transfers);
    td_buf_uleb(buf, row->invalidations);
    td_buf_uleb(buf, row->cycles);
    end_text(writer, TD_CHUNK_SHARING);
}

/* Figures that are 0 at the end are left out. */
void td_profile_habit(struct td_profile_writer *writer, const struct td_habit *habit)
{
    struct pending_text *text = &writer->texts[TD_CHUNK_HABITS];
    struct td_buf *buf = &text->buf;
    uint32_t figures = TD_HABIT_FIGURE_COUNT;

    while (figures > 0 && habit->figures[figures - 1] == 0)
        figures--;
    td_buf_uleb(buf, habit->module);
    put_offset(text, habit->offset);
    td_buf_uleb(buf, figures);
    for (uint32_t i = 0; i < figures; i++)
        td_buf_uleb(buf, habit->figures[i]);
    td_buf_uleb(buf, habit->mark_count);
    for (uint32_t i = 0; i < habit->mark_count; i++) {
        const struct td_habit_mark *mark = &habit->marks[i];

        td_buf_uleb(buf, mark->kind);
        put_or_none(buf, mark->module);
        td_buf_zigzag(buf, mark->key);
        td_buf_uleb(buf, mark->count);
    }
    end_text(writer, TD_CHUNK_HABITS);
}

void td_profile_symbol(struct td_profile_writer *writer, uint32_t module, uint64_t offset,
                       uint64_t size, const char *name, const char *file, uint32_t line)
{
    const enum td_chunk_kind kind = file ? TD_CHUNK_PLACED : TD_CHUNK_SYMBOLS;
    const uint32_t name_id = intern(writer, name), file_id = file ? intern(writer, file) : 0;
    struct pending_text *text = &writer->texts[kind];
    struct td_buf *buf = &text->buf;

    assert(module < writer->texts[TD_CHUNK_MODULES].first + writer->texts[TD_CHUNK_MODULES].count);
    td_buf_uleb(buf, module);
    put_offset(text, offset);
    td_buf_uleb(buf, size);
    td_buf_uleb(buf, name_id);
    if (file) {
        td_buf_uleb(buf, file_id);
        td_buf_uleb(buf, line);
    }
    end_text(writer, kind);
}

/* The table is full: what is pending still speaks of its nodes, so it leaves first. */
static uint32_t begin_epoch(struct td_profile_writer *w, struct td_node_row row)
{
    flush_values(w);
    row.parent = td_node_table_restart(&w->nodes, row.parent);
    w->nodes_written = 1;
    return td_node_table_put(&w->nodes, row);
}

uint32_t td_profile_node(struct td_profile_writer *writer, uint32_t parent, uint32_t module,
                         uint64_t offset)
{
    const struct td_node_row row = {.offset = offset, .parent = parent, .module = module};
    const uint32_t id = td_node_table_put(&writer->nodes, row);

    return id ? id : begin_epoch(writer, row);
}

uint32_t td_profile_new_node(struct td_profile_writer *writer, uint32_t parent, uint32_t module,
                             uint64_t offset)
{
    const struct td_node_row row = {.offset = offset, .parent = parent, .module = module};
    const uint32_t id = td_node_table_add(&writer->nodes, row);

    return id ? id : begin_epoch(writer, row);
}

uint32_t td_profile_node_epoch(const struct td_profile_writer *writer)
{
    return writer->nodes.epoch;
}

void td_profile_sample(struct td_profile_writer *writer, const struct td_sample *sample,
                       const uint64_t *values)
{
    const struct td_value_run place = {
        .group = sample->group,
        .cpu = sample->cpu,
        .columns = writer->columns[sample->group],
    };
    const struct td_value_row row = {
        .amount = sample->time_ns,
        .thread = sample->thread,
        .node = sample->node,
    };

    assert(sample->node < writer->nodes.count);
    td_pending_add(&writer->samples, &place, &row, values);
    if (td_pending_full(&writer->samples))
        flush_values(writer);
}

void td_profile_tally(struct td_profile_writer *writer, uint32_t thread, uint32_t node,
                      uint32_t group, uint64_t samples, const uint64_t *values)
{
    const struct td_value_run place = {
        .group = group,
        .cpu = TD_NONE,
        .columns = writer->columns[group],
    };
    const struct td_value_row row = {.amount = samples, .thread = thread, .node = node};

    assert(node < writer->nodes.count);
    td_pending_add(&writer->tallies, &place, &row, values);
    if (td_pending_full(&writer->tallies))
        flush_values(writer);
}

void td_profile_counter(struct td_profile_writer *writer, enum td_counter counter, uint64_t value)
{
    assert((unsigned)counter < TD_COUNTER_COUNT);
    if (writer->counters[counter] == value)
        return;
    writer->counters[counter] = value;
    writer->counter_new[counter] = true;
}

int td_profile_flush(struct td_profile_writer *writer, struct td_err *err)
{
    flush_values(writer);
    flush_counters(writer);
    if (writer->err.code != TD_OK && err)
        *err = writer->err;
    return writer->err.code;
}

int td_profile_finish(struct td_profile_writer *writer, struct td_err *err)
{
    static const enum td_chunk_kind counted[] = {
        TD_CHUNK_STRINGS, TD_CHUNK_MODULES, TD_CHUNK_THREADS, TD_CHUNK_EVENTS,  TD_CHUNK_GROUPS,
        TD_CHUNK_SYMBOLS, TD_CHUNK_NODES,   TD_CHUNK_SAMPLES, TD_CHUNK_TALLIES, TD_CHUNK_PLACED,
    };

    td_profile_flush(writer, err);
    for (size_t i = 0; i < TD_ARRAY_SIZE(counted); i++) {
        if (counted[i] == TD_CHUNK_PLACED && writer->totals[TD_CHUNK_PLACED] == 0)
            continue;
        td_buf_uleb(&writer->body.raw, counted[i]);
        td_buf_uleb(&writer->body.raw, writer->totals[counted[i]]);
    }
    write_chunk(writer, TD_CHUNK_END);
    if (writer->err.code != TD_OK && err)
        *err = writer->err;
    return writer->err.code;
}

uint64_t td_profile_bytes(const struct td_profile_writer *writer)
{
    return writer->bytes;
}
