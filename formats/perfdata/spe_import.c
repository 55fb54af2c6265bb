/* SPDX-License-Identifier: MIT */
/*
 * perf.data: the operations that Arm's SPE sampled, as samples. Their packets come in pieces of an
 * AUX buffer, a CPU's or a thread's; which thread ran is in them, or in the records of switches.
 */
#include "formats/perfdata/session_priv.h"

#include <stdlib.h>

#include "base/mem.h"
#include "formats/perfdata/spe.h"

/* What waits for its turn in the queue. */
struct operation {
    uint64_t time, pc, data_address, data_source, offset;
    uint32_t tid, cpu; /* TD_NONE: not told */
    uint32_t flags;
    uint16_t access_latency, latency, walk_latency;
    uint8_t level;
};

/* From the generic counter to the file's clock (struct perf_event_mmap_page). */
struct clock {
    uint64_t shift, mult, zero, cycles, mask;
    bool known, wraps;
};

struct td_perf_operations {
    struct clock clock;
    struct td_layout layout; /* of the event that the operations are samples of */
    struct td_pmu_cpu cpu;
    struct td_map running; /* (CPU, 0) to the tid, (CPU, 1) to the pid */
    uint64_t bad;
};

static const enum td_column_kind columns[] = {
    TD_COLUMN_PERIOD,      TD_COLUMN_FLAGS,       TD_COLUMN_LATENCY,     TD_COLUMN_INSTR_LATENCY,
    TD_COLUMN_TLB_LATENCY, TD_COLUMN_DATA_SOURCE, TD_COLUMN_DATA_ADDRESS};

/* The event by its PMU's name, or by its PMU's number; events in all when there is none. */
static size_t find_event(const struct td_perf_session *session, uint64_t type)
{
    size_t i = 0;

    for (; i < session->event_count; i++) {
        if (strncmp(td_model_string(session->model, session->events[i].name), "arm_spe", 7) == 0)
            return i;
    }
    /* Below are the kernel's own types. */
    for (i = 0; i < session->event_count &&
                (type < PERF_TYPE_MAX || session->events[i].attr.type != type);)
        i++;
    return i;
}

void td_perf_operations_begin(struct td_perf_session *session, struct td_cur *rd)
{
    /* The PMU's number; since Linux 6.13 a version, and names tell the event. */
    const size_t event = find_event(session, td_cur_u64(rd));
    const char *cpu_id = td_model_env(session->model, TD_ENV_CPU_ID);

    if (event == session->event_count || session->operations)
        return;
    session->operations = td_xcalloc(1, sizeof(*session->operations));
    session->operations->layout = (struct td_layout){.event = (uint32_t)event};
    session->operations->cpu = td_pmu_cpu_of(cpu_id ? cpu_id : "");
}

void td_perf_operations_free(struct td_perf_operations *operations)
{
    if (!operations)
        return;
    td_map_release(&operations->running);
    free(operations);
}

void td_perf_operations_clock(struct td_perf_session *session, struct td_cur *rd)
{
    struct clock clock = {.known = true};

    clock.shift = td_cur_u64(rd);
    clock.mult = td_cur_u64(rd);
    clock.zero = td_cur_u64(rd);
    if (rd->bad || clock.shift > 63 || !session->operations)
        return;
    clock.cycles = td_cur_u64(rd);
    clock.mask = td_cur_u64(rd);
    const uint8_t *const caps = td_cur_bytes(rd, 2);
    clock.wraps = caps && caps[1];
    session->operations->clock = clock;
}

/* As time_cyc and time_zero are explained in include/uapi/linux/perf_event.h. */
static uint64_t convert(const struct clock *clock, uint64_t count)
{
    if (clock->wraps)
        count = clock->cycles + ((count - clock->cycles) & clock->mask);
    const uint64_t rest = count & ((UINT64_C(1) << clock->shift) - 1);
    return clock->zero + (count >> clock->shift) * clock->mult +
           (rest * clock->mult >> clock->shift);
}

/* Without a time, what is known so far is where the operation belongs. */
static uint64_t time_of(const struct td_perf_session *session, const struct td_spe_record *record)
{
    const struct clock *const clock = &session->operations->clock;
    const uint64_t time = record->has_time && clock->known ? convert(clock, record->time) : 0;

    if (time > 0 && time < UINT64_MAX)
        return time;
    return session->queue.max_time ? session->queue.max_time : 1;
}

static struct operation operation_of(const struct td_perf_session *session,
                                     const struct td_spe_record *record)
{
    const bool memory = record->class == TD_SPE_MEMORY;

    return (struct operation){
        .time = time_of(session, record),
        .pc = record->pc,
        .data_address = memory ? record->data_address : 0,
        .data_source = td_spe_data_source(record, &session->operations->cpu),
        .flags = td_spe_flags(record),
        .tid = record->has_context && record->context ? record->context : TD_NONE,
        .access_latency = memory ? record->total_latency : 0,
        .latency = record->total_latency,
        .walk_latency = record->events & TD_SPE_TLB_WALK ? record->translation_latency : 0,
        .level = record->level,
    };
}

bool td_perf_operations_read(struct td_perf_session *session, struct td_cur *rd,
                             const uint8_t *data, size_t size)
{
    struct operation *made = NULL;
    struct td_spe_record record;
    size_t count = 0, cap = 0;
    const uint64_t origin = td_cur_u64(rd), offset = (uint64_t)(data - session->data);

    td_cur_u64(rd); /* reference */
    td_cur_u32(rd); /* idx */
    const uint32_t tid = td_cur_u32(rd), cpu = td_cur_u32(rd);
    if (rd->bad)
        return false;
    struct td_spe spe = td_spe_init(data, size, origin);
    while (td_spe_next(&spe, &record)) {
        made = td_grow(made, &cap, count + 1, sizeof(*made));
        made[count] = operation_of(session, &record);
        made[count].cpu = cpu;
        made[count].offset = offset;
        if (made[count].tid == TD_NONE)
            made[count].tid = tid;
        count++;
    }
    session->operations->bad += spe.bad;
    if (count == 0)
        return true;
    const uint32_t segment =
        td_perf_segment_add(session, (uint8_t *)made, offset, cap * sizeof(*made));
    for (size_t i = 0; i < count; i++)
        td_perf_queue_put(session, made[i].time, (const uint8_t *)&made[i], segment);
    return true;
}

static void set_running(struct td_perf_operations *operations, uint32_t cpu, uint32_t pid,
                        uint32_t tid)
{
    *td_map_put(&operations->running, cpu, 0, tid, NULL) = tid;
    *td_map_put(&operations->running, cpu, 1, pid, NULL) = pid;
}

/* The CPU in a record's trailer: only the id may stand behind it. */
static uint32_t cpu_of(const uint8_t *record, size_t size, const struct td_layout *layout, bool big)
{
    const size_t behind = layout && layout->sample_type & PERF_SAMPLE_IDENTIFIER ? 16 : 8;

    if (!layout || !layout->sample_id_all || !(layout->sample_type & PERF_SAMPLE_CPU) ||
        size < TD_RECORD_HEADER_BYTES + behind)
        return TD_NONE;
    struct td_cur rd = {.at = record + size - behind, .end = record + size, .big = big};
    return td_cur_u32(&rd);
}

void td_perf_operations_note(struct td_perf_session *session, const uint8_t *record,
                             const struct td_rec *rec)
{
    struct td_cur rd = {.at = record, .end = record + TD_RECORD_HEADER_BYTES, .big = session->big};
    const uint32_t type = session->operations ? td_cur_u32(&rd) : 0;
    const bool out = session->operations && td_cur_u16(&rd) & PERF_RECORD_MISC_SWITCH_OUT;
    const size_t size = session->operations ? td_cur_u16(&rd) : 0;

    if (type != PERF_RECORD_SWITCH && type != PERF_RECORD_SWITCH_CPU_WIDE &&
        type != PERF_RECORD_ITRACE_START)
        return;
    const struct td_layout *const layout = rec->layout ? rec->layout : session->layouts;
    const uint32_t cpu = cpu_of(record, size, layout, session->big);
    if (cpu == TD_NONE)
        return;
    if (type == PERF_RECORD_ITRACE_START || (type == PERF_RECORD_SWITCH_CPU_WIDE && out)) {
        /* pid, tid: who is traced; who is next. */
        struct td_cur body = {
            .at = record + TD_RECORD_HEADER_BYTES, .end = record + size, .big = session->big};
        const uint32_t pid = td_cur_u32(&body);
        const uint32_t tid = td_cur_u32(&body);

        set_running(session->operations, cpu, pid, tid);
    } else if (!out) {
        set_running(session->operations, cpu, rec->pid, rec->tid);
    }
}

/* Who ran it: as its packets or its buffer say, else who ran on its CPU. */
static void find_thread(const struct td_perf_session *session, const struct operation *operation,
                        struct td_rec *rec)
{
    const struct td_map *const running = &session->operations->running;
    const uint32_t *const tid = td_map_find(running, operation->cpu, 0);
    const uint32_t *const pid = td_map_find(running, operation->cpu, 1);

    rec->pid = rec->tid = TD_NONE;
    if (operation->tid != TD_NONE) {
        const struct td_task *const task = td_perf_thread(session, operation->tid);

        rec->tid = operation->tid;
        rec->pid = task ? task->process->pid : operation->tid;
    } else if (tid && pid) {
        rec->tid = *tid;
        rec->pid = *pid;
    }
}

static void make_group(struct td_perf_session *session, struct td_perf_event *event)
{
    struct td_group group = {
        .name = event->name,
        .role = TD_ROLE_METRIC,
        .locates = TD_NODE_NONE,
        .sampler = event->event,
        .column_count = TD_ARRAY_SIZE(columns),
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(columns); i++)
        group.columns[i] = (struct td_column){
            .kind = columns[i], .event = i ? TD_NONE : event->event, .node = TD_NODE_NONE};
    event->group = td_model_add_group(session->model, &group);
}

void td_perf_operations_deliver(struct td_perf_session *session, const uint8_t *record)
{
    struct td_perf_event *const event = &session->events[session->operations->layout.event];
    struct operation operation;
    struct td_rec rec = {.kind = TD_REC_SAMPLE, .layout = &session->operations->layout};

    memcpy(&operation, record, sizeof(operation));
    if (event->group == TD_NONE)
        make_group(session, event);
    if (event->columns > 0)
        return; /* the file has samples of the event, too, of other columns: no perf writes such */
    rec.mode = operation.level ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
    rec.time_ns = operation.time;
    find_thread(session, &operation, &rec);
    rec.u.sample.ip = operation.pc;
    rec.u.sample.period = event->attr.period && !event->attr.freq ? event->attr.period : 1;
    rec.u.sample.cpu = operation.cpu;
    rec.u.sample.exact_ip = true;
    const uint64_t values[] = {
        rec.u.sample.period,    operation.flags,       operation.access_latency, operation.latency,
        operation.walk_latency, operation.data_source, operation.data_address,
    };
    td_perf_keep(session, event, &rec, values, operation.offset);
}

uint64_t td_perf_operations_bad(const struct td_perf_session *session)
{
    return session->operations ? session->operations->bad : 0;
}
