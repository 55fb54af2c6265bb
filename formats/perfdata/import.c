/* SPDX-License-Identifier: MIT */
/* perf.data: from records in the order of time to threads, groups, tallies and samples. */
#include "formats/perfdata/session_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/* What a column of a group takes from a sample. */
static const struct {
    uint64_t needs; /* sample_type bits, any of them */
    enum td_column_kind kind;
} plain_columns[] = {
    {PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, TD_COLUMN_LATENCY},
    {PERF_SAMPLE_WEIGHT_STRUCT, TD_COLUMN_INSTR_LATENCY},
    {PERF_SAMPLE_WEIGHT_STRUCT, TD_COLUMN_RETIRE_LATENCY},
    {PERF_SAMPLE_DATA_SRC, TD_COLUMN_DATA_SOURCE},
    {PERF_SAMPLE_DATA_SRC, TD_COLUMN_DATA_ADDRESS},
};

static uint64_t plain_value(const struct td_rec_sample *sample, enum td_column_kind kind,
                            bool is_struct)
{
    if (kind == TD_COLUMN_DATA_SOURCE)
        return sample->data_source;
    if (kind == TD_COLUMN_DATA_ADDRESS)
        return sample->address;
    if (!is_struct)
        return sample->weight;
    if (kind == TD_COLUMN_LATENCY)
        return sample->weight & UINT32_MAX;
    return sample->weight >> (kind == TD_COLUMN_INSTR_LATENCY ? 32 : 48) & UINT16_MAX;
}

static bool is_slots(const struct td_perf_session *session, const struct td_perf_event *event)
{
    return td_model_event(session->model, event->event)->unit == TD_UNIT_SLOTS;
}

/* "cpu_core" and "cpu_atom" on hybrid machines, whose number stands above the configuration of a
 * generic event, or is the event's own type. */
static uint32_t cpu_type_of(struct td_perf_session *session, const struct td_perf_attr *attr)
{
    const bool generic = attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE;
    const uint64_t type = generic ? attr->config[0] >> 32 : attr->type;
    const uint32_t *const name = type ? td_map_find(&session->pmu_names, type, 0) : NULL;

    if (!name || strncmp(td_model_string(session->model, *name), "cpu_", 4) != 0)
        return 0;
    return *name;
}

static void add_column(struct td_group *group, enum td_column_kind kind, uint32_t event)
{
    if (group->column_count < TD_COLUMNS_MAX)
        group->columns[group->column_count++] =
            (struct td_column){.kind = kind, .event = event, .node = TD_NODE_NONE};
}

/* The events that this sample reads become the group's members; they are the same in every other
 * sample of the event. */
static void add_members(struct td_perf_session *session, struct td_perf_event *event,
                        const struct td_rec *rec, struct td_group *group)
{
    const uint64_t format = event->attr.read_format, count = rec->u.sample.value_count;

    for (uint64_t i = 0; i < count && i < TD_COLUMNS_MAX / 2; i++) {
        const struct td_perf_event *const named =
            td_perf_event_by_id(session, td_rec_value_id(rec, i, session->big));
        const struct td_perf_event *const member = named ? named : event;
        event->members[event->member_count++] = member->event;
        add_column(group, TD_COLUMN_DELTA, member->event);
        if (is_slots(session, member)) {
            group->role = TD_ROLE_SLOTS;
            group->attribution = TD_ATTRIBUTION_INTERVAL;
        }
    }
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        add_column(group, TD_COLUMN_TIME_ENABLED, TD_NONE);
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        add_column(group, TD_COLUMN_TIME_RUNNING, TD_NONE);
}

static void make_group(struct td_perf_session *session, struct td_perf_event *event,
                       const struct td_rec *rec)
{
    const struct td_perf_attr *const attr = &event->attr;
    const enum td_unit unit = td_model_event(session->model, event->event)->unit;
    struct td_group group = {
        .name = event->name,
        .role = unit == TD_UNIT_NS ? TD_ROLE_TIME : TD_ROLE_METRIC,
        .locates = TD_NODE_NONE,
        .sampler = event->event,
        .cpu_type = cpu_type_of(session, attr),
    };

    add_column(&group, TD_COLUMN_PERIOD, event->event);
    if (attr->sample_type & PERF_SAMPLE_READ)
        add_members(session, event, rec, &group);
    for (size_t i = 0; i < TD_ARRAY_SIZE(plain_columns); i++) {
        if (attr->sample_type & plain_columns[i].needs)
            add_column(&group, plain_columns[i].kind, TD_NONE);
    }
    event->columns = group.column_count;
    event->group = td_model_add_group(session->model, &group);
}

/* False when what the sample has read does not go on from what was read before. */
static bool fill_members(struct td_perf_session *session, const struct td_perf_event *event,
                         const struct td_rec *rec, uint64_t *period, uint64_t *values, size_t *n)
{
    const uint64_t format = event->attr.read_format;
    uint64_t enabled = 0, running = 0;

    if (!td_deltas_take(session->deltas, event->attr.inherit ? rec->tid : 0, rec, session->big,
                        values, event->member_count))
        return false;
    for (uint32_t i = 0; i < event->member_count; i++) {
        /* What was read is more exact than the period that was set. */
        if (event->members[i] == event->event)
            *period = values[i];
    }
    *n += event->member_count;
    td_deltas_times(session->deltas, &rec->u.sample, &enabled, &running);
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        values[event->member_count] = enabled;
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        values[event->member_count + !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED)] = running;
    *n += !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
    return true;
}

static bool fill_values(struct td_perf_session *session, const struct td_perf_event *event,
                        const struct td_rec *rec, uint64_t *values)
{
    const struct td_rec_sample *const sample = &rec->u.sample;
    const uint64_t type = event->attr.sample_type;
    size_t n = 0;

    values[n++] = sample->period;
    if (type & PERF_SAMPLE_READ && !fill_members(session, event, rec, &values[0], values + n, &n))
        return false;
    for (size_t i = 0; i < TD_ARRAY_SIZE(plain_columns) && n < event->columns; i++) {
        if (type & plain_columns[i].needs)
            values[n++] =
                plain_value(sample, plain_columns[i].kind, type & PERF_SAMPLE_WEIGHT_STRUCT);
    }
    return true;
}

static void note_time(struct td_perf_session *session, uint64_t time)
{
    if (session->first_ns == 0 || time < session->first_ns)
        session->first_ns = time;
    if (time > session->last_ns)
        session->last_ns = time;
}

/* Whether the sample lies in the part of the recording that was asked for. */
static bool wanted(const struct td_perf_session *session, uint64_t time)
{
    const struct td_load_opts *const opts = session->opts;
    const uint64_t begin = session->sample_first_ns ? session->sample_first_ns : session->first_ns;
    const uint64_t since = time > begin ? time - begin : 0;

    return since >= opts->from_ns && (opts->to_ns == 0 || since < opts->to_ns);
}

void td_perf_keep(struct td_perf_session *session, const struct td_perf_event *event,
                  const struct td_rec *rec, const uint64_t *values, uint64_t offset)
{
    note_time(session, rec->time_ns);
    if (!wanted(session, rec->time_ns) || td_perf_is_full(session, offset))
        return;
    if (!td_sums_add(&session->sums, session->model, td_model_group(session->model, event->group),
                     1, values)) {
        session->dropped++;
        td_perf_damage(session, offset, "a sample holds counts that cannot be");
        return;
    }
    uint32_t thread = 0, node = 0;
    td_perf_place(session, rec, &thread, &node);
    session->counters[TD_COUNTER_SAMPLES]++;
    if (td_model_event(session->model, event->event)->unit == TD_UNIT_NS)
        session->counters[TD_COUNTER_SAMPLED_NS] += rec->u.sample.period;
    td_model_add_values(session->model, thread, node, event->group, 1, values);
    if (session->opts->keep_samples ||
        (session->opts->keep_slots &&
         td_model_group(session->model, event->group)->role == TD_ROLE_SLOTS)) {
        const struct td_sample made = {
            .time_ns = rec->time_ns,
            .thread = thread,
            .node = node,
            .group = event->group,
            .cpu = rec->u.sample.cpu,
        };

        td_model_add_sample(session->model, &made, values);
    }
}

static void deliver_sample(struct td_perf_session *session, const struct td_rec *rec,
                           uint64_t offset)
{
    struct td_perf_event *const event = &session->events[rec->layout->event];

    uint64_t values[TD_COLUMNS_MAX] = {0};

    session->guest_samples +=
        rec->mode == PERF_RECORD_MISC_GUEST_KERNEL || rec->mode == PERF_RECORD_MISC_GUEST_USER;
    if (event->group == TD_NONE)
        make_group(session, event, rec);
    if (!fill_values(session, event, rec, values)) {
        note_time(session, rec->time_ns);
        session->counters[TD_COUNTER_INVALID_GROUPS]++;
        return;
    }
    td_perf_keep(session, event, rec, values, offset);
}

/* Decodes it once more, for the sentence. */
static void refuse(struct td_perf_session *session, const uint8_t *record, size_t size,
                   uint64_t offset)
{
    const struct td_layouts layouts = td_perf_layouts(session);
    struct td_err why = TD_ERR_INIT;
    struct td_rec rec;

    td_rec_parse(&rec, record, size, &layouts, &why);
    session->dropped += rec.kind == TD_REC_SAMPLE;
    td_perf_damage(session, offset, "%s", why.text);
}

void td_perf_deliver(struct td_perf_session *session, const uint8_t *record, uint32_t segment)
{
    const struct td_layouts layouts = td_perf_layouts(session);
    const uint64_t offset = td_perf_offset(session, record, segment);
    struct td_cur rd = {.at = record, .end = record + TD_RECORD_HEADER_BYTES, .big = session->big};
    struct td_rec rec;

    td_cur_bytes(&rd, 6); /* type, misc */
    const size_t size = td_cur_u16(&rd);
    if (session->segments[segment].operations) {
        td_perf_operations_deliver(session, record);
        return;
    }
    if (td_rec_parse(&rec, record, size, &layouts, NULL) != TD_OK) {
        refuse(session, record, size, offset);
        return;
    }
    switch (rec.kind) {
    case TD_REC_SAMPLE: deliver_sample(session, &rec, offset); break;
    case TD_REC_LOST: session->counters[TD_COUNTER_LOST_RECORDS] += rec.u.lost; break;
    case TD_REC_LOST_SAMPLES: session->counters[TD_COUNTER_LOST] += rec.u.lost; break;
    case TD_REC_THROTTLE: session->counters[TD_COUNTER_THROTTLED]++; break;
    case TD_REC_FORK:
        td_deltas_begin(session->deltas, rec.u.task.tid);
        __attribute__((fallthrough));
    case TD_REC_MMAP:
    case TD_REC_COMM:
    case TD_REC_EXIT:
    case TD_REC_KSYMBOL: td_perf_processes_apply(session, &rec); break;
    case TD_REC_SWITCH:
    case TD_REC_OTHER: td_perf_operations_note(session, record, &rec); break;
    }
}

static void warn(struct td_perf_session *session, uint64_t count, const char *what)
{
    if (count == 0)
        return;
    char *const text = td_xasprintf("%" PRIu64 " %s", count, what);

    td_model_add_env(session->model, td_env_key_name(TD_ENV_WARNING), text);
    free(text);
}

/* By PERF_AUXTRACE_*. */
static const char *trace_name(const struct td_perf_session *session)
{
    static const char *const names[] = {"hardware", "Intel PT",     "Intel BTS",    "CoreSight ETM",
                                        "Arm SPE",  "s390 CPU-MSF", "HiSilicon PTT"};

    return names[session->trace_type < TD_ARRAY_SIZE(names) ? session->trace_type : 0];
}

int td_perf_explain_empty(const struct td_perf_session *session, struct td_err *err)
{
    if (session->opts->from_ns > 0 || session->opts->to_ns > 0)
        return TD_OK;
    if (session->trace_bytes > 0)
        return td_fail(err, TD_ENODATA,
                       "it holds no samples, but %" PRIu64 " bytes of %s trace data, which are not "
                       "read: 'perf inject --itrace=i100us -i FILE -o NEW' makes samples of them",
                       session->trace_bytes, trace_name(session));
    if (session->is_directory)
        return td_fail(err, TD_ENODATA,
                       "its samples are in the files data.0, data.1, ... beside it, which are not "
                       "read: record without 'perf record --threads'");
    if (session->is_stat)
        return td_fail(err, TD_ENODATA,
                       "it holds counts, not samples: 'perf stat report -i FILE' shows them, 'perf "
                       "record' takes samples");
    return TD_OK;
}

void td_perf_totals(struct td_perf_session *session)
{
    uint64_t *const counters = session->counters;

    td_perf_processes_count(session->processes, &counters[TD_COUNTER_PROCESSES],
                            &counters[TD_COUNTER_THREADS]);
    counters[TD_COUNTER_STARTED_NS] = session->first_ns;
    counters[TD_COUNTER_ENDED_NS] = session->last_ns;
    for (int i = 0; i < TD_COUNTER_COUNT; i++)
        td_model_set_counter(session->model, (enum td_counter)i, counters[i]);
    warn(session, counters[TD_COUNTER_LOST_RECORDS],
         "records, samples for the most part, were lost: the kernel's buffer was full before they "
         "were read");
    if (session->trace_bytes > 0) {
        char text[256];

        snprintf(text, sizeof(text),
                 "bytes of %s trace data are not read: the figures are of the samples alone (perf "
                 "inject --itrace=i100us makes samples of the trace)",
                 trace_name(session));
        warn(session, session->trace_bytes, text);
    }
    warn(session, td_perf_operations_bad(session),
         "bytes of the Arm SPE trace are no packets: the operations that they are part of are left "
         "out");
    warn(session, session->guest_samples, "samples are of virtual machines, without their modules");
    warn(session, session->raw_stacks,
         "samples hold copies of user stacks (--call-graph dwarf) that could not be unwound: their "
         "user part is the sampled address alone");
}
