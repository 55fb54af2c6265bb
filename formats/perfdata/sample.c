/* SPDX-License-Identifier: MIT */
/*
 * perf.data: PERF_RECORD_SAMPLE, all fields in the order of the kernel's perf_output_sample, and
 * the ids at the end of the other records.
 */
#include "formats/perfdata/session_priv.h"

#include "base/mem.h"

#define BIT(name) PERF_SAMPLE_##name

/* Words before the id when PERF_SAMPLE_ID is set; PERF_SAMPLE_IDENTIFIER comes first. */
static unsigned words_before_id(uint64_t sample_type)
{
    return (unsigned)__builtin_popcountll(sample_type &
                                          (BIT(IP) | BIT(TID) | BIT(TIME) | BIT(ADDR)));
}

struct td_perf_event *td_perf_sample_event(struct td_perf_session *session,
                                           const struct td_perf_rd *rd)
{
    struct td_perf_event *const first = session->events;
    const uint64_t type = first->attr.sample_type;
    struct td_perf_rd peek = *rd;

    if (session->event_count == 1 || !(type & (BIT(IDENTIFIER) | BIT(ID))))
        return first;
    if (!(type & BIT(IDENTIFIER)))
        td_perf_bytes(&peek, (uint64_t)words_before_id(type) * 8);
    const uint64_t id = td_perf_u64(&peek);
    /* perf writes 0 for samples that it made itself. */
    return id == 0 ? first : td_perf_event_by_id(session, id);
}

uint64_t td_perf_sample_time(const struct td_perf_event *event, struct td_perf_rd rd)
{
    const uint64_t type = event->attr.sample_type;

    if (!(type & BIT(TIME)))
        return 0;
    td_perf_bytes(
        &rd, (uint64_t)__builtin_popcountll(type & (BIT(IDENTIFIER) | BIT(IP) | BIT(TID))) * 8);
    return td_perf_u64(&rd);
}

static void read_ids(struct td_perf_sample *sample, const struct td_perf_event *event,
                     struct td_perf_rd *rd)
{
    const uint64_t type = event->attr.sample_type;

    if (type & BIT(IDENTIFIER))
        sample->id = td_perf_u64(rd);
    if (type & BIT(IP))
        sample->ip = td_perf_u64(rd);
    if (type & BIT(TID)) {
        sample->pid = td_perf_u32(rd);
        sample->tid = td_perf_u32(rd);
    }
    if (type & BIT(TIME))
        sample->time = td_perf_u64(rd);
    if (type & BIT(ADDR))
        sample->addr = td_perf_u64(rd);
    if (type & BIT(ID))
        sample->id = td_perf_u64(rd);
    if (type & BIT(STREAM_ID))
        td_perf_u64(rd);
    if (type & BIT(CPU)) {
        sample->cpu = td_perf_u32(rd);
        td_perf_u32(rd);
    }
    sample->period = type & BIT(PERIOD) ? td_perf_u64(rd) : event->attr.period;
}

static unsigned value_words(uint64_t read_format)
{
    return 1U + ((read_format & PERF_FORMAT_ID) != 0) + ((read_format & TD_PERF_FORMAT_LOST) != 0);
}

static void read_counts(struct td_perf_sample *sample, uint64_t format, struct td_perf_rd *rd)
{
    const unsigned words = value_words(format);

    if (format & PERF_FORMAT_GROUP) {
        sample->read_count = td_perf_u64(rd);
    } else {
        sample->read_count = 1;
        sample->read = td_perf_bytes(rd, 8);
    }
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        sample->time_enabled = td_perf_u64(rd);
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        sample->time_running = td_perf_u64(rd);
    if (!(format & PERF_FORMAT_GROUP)) {
        if (format & PERF_FORMAT_ID)
            sample->id = td_perf_u64(rd);
        td_perf_bytes(rd, format & TD_PERF_FORMAT_LOST ? 8 : 0);
        return;
    }
    if (sample->read_count > td_perf_left(rd) / (8 * (uint64_t)words))
        rd->bad = true;
    else
        sample->read = td_perf_bytes(rd, sample->read_count * words * 8);
}

void td_perf_sample_value(const struct td_perf_sample *sample, const struct td_perf_event *event,
                          uint64_t i, bool big, uint64_t *value, uint64_t *id)
{
    const uint64_t format = event->attr.read_format;
    const uint8_t *const p = sample->read + i * 8 * value_words(format);

    *value = td_perf_word(p, big);
    /* Alone, its id is the sample's (the times stand between the value and its id). */
    *id = format & PERF_FORMAT_GROUP && format & PERF_FORMAT_ID ? td_perf_word(p + 8, big)
                                                                : sample->id;
}

static void skip_registers(struct td_perf_rd *rd, uint64_t mask)
{
    if (td_perf_u64(rd) != 0) /* the ABI; 0: none */
        td_perf_bytes(rd, (uint64_t)__builtin_popcountll(mask) * 8);
}

/* All that stands behind the branch stack. */
static void read_tail(struct td_perf_sample *sample, const struct td_perf_attr *attr,
                      struct td_perf_rd *rd)
{
    const uint64_t type = attr->sample_type;

    if (type & BIT(REGS_USER)) {
        sample->regs_abi = td_perf_u64(rd);
        if (sample->regs_abi != PERF_SAMPLE_REGS_ABI_NONE)
            sample->regs = td_perf_bytes(rd, (uint64_t)__builtin_popcountll(attr->regs_user) * 8);
    }
    if (type & BIT(STACK_USER)) {
        const uint64_t size = td_perf_u64(rd);

        sample->stack = td_perf_bytes(rd, size);
        sample->stack_bytes = size > 0 ? td_perf_u64(rd) : 0;
        if (sample->stack_bytes > size) /* how much of the bytes the kernel could copy */
            rd->bad = true;
    }
    if (type & (BIT(WEIGHT) | BIT(WEIGHT_STRUCT)))
        sample->weight = td_perf_u64(rd);
    if (type & BIT(DATA_SRC))
        sample->data_src = td_perf_u64(rd);
    if (type & BIT(TRANSACTION))
        td_perf_u64(rd);
    if (type & BIT(REGS_INTR))
        skip_registers(rd, attr->regs_intr);
    td_perf_bytes(
        rd, 8 * (uint64_t)__builtin_popcountll(type & (BIT(PHYS_ADDR) | BIT(CGROUP) |
                                                       BIT(DATA_PAGE_SIZE) | BIT(CODE_PAGE_SIZE))));
    if (type & BIT(AUX))
        td_perf_bytes(rd, td_perf_u64(rd));
}

/* The kernel leaves out the index of the hardware's ring when no stack was captured, and the
 * counters when there are none, whatever was asked for. Nothing says so: the reading that ends
 * where the record does is right. */
static void read_branches(struct td_perf_sample *sample, const struct td_perf_attr *attr,
                          struct td_perf_rd *rd)
{
    const bool indexed = attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX;
    const bool counted = attr->branch_sample_type & TD_PERF_BRANCH_COUNTERS;
    const uint64_t count = td_perf_u64(rd);
    const struct td_perf_rd start = *rd;

    if (count > td_perf_left(rd) / 24) {
        rd->bad = true;
        return;
    }
    sample->branch_count = count;
    for (int without = 0; without < 4; without++) {
        *rd = start;
        if (indexed && !(without & 1))
            td_perf_bytes(rd, 8);
        sample->branches = td_perf_bytes(rd, count * 24);
        if (counted && !(without & 2))
            td_perf_bytes(rd, count * 8);
        read_tail(sample, attr, rd);
        if (!rd->bad && rd->at == rd->end)
            return;
    }
    /* None is exact (padding, or fields of a newer kernel): as perf reads it. */
    *rd = start;
    td_perf_bytes(rd, indexed ? 8 : 0);
    sample->branches = td_perf_bytes(rd, count * 24);
    td_perf_bytes(rd, counted ? count * 8 : 0);
    read_tail(sample, attr, rd);
}

bool td_perf_sample_read(struct td_perf_sample *sample, const struct td_perf_event *event,
                         struct td_perf_rd *rd)
{
    const uint64_t type = event->attr.sample_type;

    *sample = (struct td_perf_sample){.cpu = TD_NONE};
    read_ids(sample, event, rd);
    if (type & BIT(READ))
        read_counts(sample, event->attr.read_format, rd);
    if (type & BIT(CALLCHAIN)) {
        sample->chain_count = td_perf_u64(rd);
        if (sample->chain_count > td_perf_left(rd) / 8)
            return false;
        sample->chain = td_perf_bytes(rd, sample->chain_count * 8);
    }
    if (type & BIT(RAW))
        td_perf_bytes(rd, td_perf_u32(rd));
    if (type & BIT(BRANCH_STACK))
        read_branches(sample, &event->attr, rd);
    else
        read_tail(sample, &event->attr, rd);
    return !rd->bad;
}

bool td_perf_ids_read(struct td_perf_ids *ids, struct td_perf_session *session,
                      struct td_perf_rd *rd)
{
    const struct td_perf_attr *attr = &session->events[0].attr;

    *ids = (struct td_perf_ids){.cpu = TD_NONE, .pid = TD_NONE, .tid = TD_NONE};
    if (!attr->sample_id_all)
        return true;
    if (attr->sample_type & BIT(IDENTIFIER) && td_perf_left(rd) >= 8) {
        const struct td_perf_event *const event =
            td_perf_event_by_id(session, td_perf_word(rd->end - 8, rd->big));

        if (event)
            attr = &event->attr;
    }
    const uint64_t type = attr->sample_type & (BIT(TID) | BIT(TIME) | BIT(ID) | BIT(STREAM_ID) |
                                               BIT(CPU) | BIT(IDENTIFIER));
    const uint64_t size = (uint64_t)__builtin_popcountll(type) * 8;

    if (td_perf_left(rd) < size)
        return false;
    struct td_perf_rd tail = {.at = rd->end - size, .end = rd->end, .big = rd->big};
    rd->end = tail.at;
    if (type & BIT(TID)) {
        ids->pid = td_perf_u32(&tail);
        ids->tid = td_perf_u32(&tail);
    }
    if (type & BIT(TIME))
        ids->time = td_perf_u64(&tail);
    if (type & BIT(ID))
        ids->id = td_perf_u64(&tail);
    if (type & BIT(STREAM_ID))
        td_perf_u64(&tail);
    if (type & BIT(CPU)) {
        ids->cpu = td_perf_u32(&tail);
        td_perf_u32(&tail);
    }
    if (type & BIT(IDENTIFIER))
        ids->id = td_perf_u64(&tail);
    return true;
}
