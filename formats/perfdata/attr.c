/* SPDX-License-Identifier: MIT */
/* perf.data: struct perf_event_attr of every size and byte order, and the events it stands for. */
#include "formats/perfdata/session_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

#define ATTR_SIZE_FIRST 64   /* PERF_ATTR_SIZE_VER0 */
#define ATTR_SIZE_LIMIT 4096 /* the kernel's own limit is a page */

/* Bits of the word of flags, as a little-endian compiler lays the bit-fields out. */
enum attr_bit {
    ATTR_INHERIT = 1,
    ATTR_EXCLUDE_USER = 4,
    ATTR_EXCLUDE_KERNEL = 5,
    ATTR_FREQ = 10,
    ATTR_PRECISE = 15, /* two bits */
    ATTR_SAMPLE_ID_ALL = 18,
    ATTR_USE_CLOCKID = 25,
};

/* Bit-fields begin at the other end of the word on a big-endian machine. */
static uint64_t reverse_bits(uint64_t x)
{
    uint64_t out = 0;

    for (int i = 0; i < 64; i++)
        out |= (x >> i & 1) << (63 - i);
    return out;
}

static bool flag(uint64_t flags, enum attr_bit bit)
{
    return flags >> bit & 1;
}

/* The fields that every size has; `rd` ends where the attr does. */
static void read_first(struct td_perf_attr *attr, struct td_cur *rd)
{
    uint64_t flags = 0;

    attr->config[0] = td_cur_u64(rd);
    attr->period = td_cur_u64(rd);
    attr->sample_type = td_cur_u64(rd);
    attr->read_format = td_cur_u64(rd);
    flags = td_cur_u64(rd);
    if (rd->big)
        flags = reverse_bits(flags);
    attr->inherit = flag(flags, ATTR_INHERIT);
    attr->exclude_user = flag(flags, ATTR_EXCLUDE_USER);
    attr->exclude_kernel = flag(flags, ATTR_EXCLUDE_KERNEL);
    attr->freq = flag(flags, ATTR_FREQ);
    attr->sample_id_all = flag(flags, ATTR_SAMPLE_ID_ALL);
    attr->use_clockid = flag(flags, ATTR_USE_CLOCKID);
    attr->precise = (uint8_t)(flags >> ATTR_PRECISE & 3);
    td_cur_u64(rd); /* wakeup, bp_type */
    attr->config[1] = td_cur_u64(rd);
}

/* What later kernels appended; a short attr simply has no more of them. */
static void read_rest(struct td_perf_attr *attr, struct td_cur *rd)
{
    uint64_t *const words[] = {&attr->config[2], &attr->branch_sample_type, &attr->regs_user};

    for (size_t i = 0; i < TD_ARRAY_SIZE(words) && td_cur_left(rd) >= 8; i++)
        *words[i] = td_cur_u64(rd);
    if (td_cur_left(rd) >= 8) {
        td_cur_u32(rd); /* sample_stack_user */
        attr->clockid = (int32_t)td_cur_u32(rd);
    }
    if (td_cur_left(rd) >= 8)
        attr->regs_intr = td_cur_u64(rd);
}

bool td_perf_attr_read(struct td_perf_attr *attr, struct td_cur *rd)
{
    const uint8_t *const start = rd->at;

    *attr = (struct td_perf_attr){0};
    attr->type = td_cur_u32(rd);
    attr->size = td_cur_u32(rd);
    if (attr->size == 0)
        attr->size = ATTR_SIZE_FIRST;
    if (rd->bad || attr->size < ATTR_SIZE_FIRST || attr->size > ATTR_SIZE_LIMIT ||
        attr->size > (uint64_t)(rd->end - start))
        return false;
    struct td_cur fields = {.at = rd->at, .end = start + attr->size, .big = rd->big};
    read_first(attr, &fields);
    read_rest(attr, &fields);
    rd->at = start + attr->size;
    return !fields.bad;
}

struct td_perf_event *td_perf_event_add(struct td_perf_session *session,
                                        const struct td_perf_attr *attr)
{
    session->events = td_grow(session->events, &session->event_cap, session->event_count + 1,
                              sizeof(*session->events));
    struct td_perf_event *event = &session->events[session->event_count++];

    *event = (struct td_perf_event){.attr = *attr, .event = TD_NONE, .group = TD_NONE};
    return event;
}

void td_perf_event_ids(struct td_perf_session *session, size_t event, struct td_cur *rd,
                       uint64_t count)
{
    for (uint64_t i = 0; i < count && td_cur_left(rd) >= 8; i++)
        *td_map_put(&session->event_ids, td_cur_u64(rd), 0, 0, NULL) = (uint32_t)event;
}

struct td_perf_event *td_perf_event_by_id(struct td_perf_session *session, uint64_t id)
{
    const uint32_t *const found = td_map_find(&session->event_ids, id, 0);

    return found ? &session->events[*found] : NULL;
}

static const char *const hardware_names[] = {"cycles",
                                             "instructions",
                                             "cache-references",
                                             "cache-misses",
                                             "branches",
                                             "branch-misses",
                                             "bus-cycles",
                                             "stalled-cycles-frontend",
                                             "stalled-cycles-backend",
                                             "ref-cycles"};

static const char *const software_names[] = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

/* ":uppp" and alike, as one would write it after the name. */
static const char *modifiers(const struct td_perf_attr *attr, char text[8])
{
    size_t n = 0;

    if (attr->exclude_user != attr->exclude_kernel)
        text[n++] = attr->exclude_kernel ? 'u' : 'k';
    for (unsigned i = 0; i < attr->precise; i++)
        text[n++] = 'p';
    text[n] = '\0';
    return text;
}

/* A name for an event whose name the file does not tell. */
static uint32_t made_up_name(struct td_perf_session *session, const struct td_perf_attr *attr)
{
    const uint64_t low = attr->config[0] & UINT32_MAX; /* above: the PMU, on hybrid machines */
    const uint32_t *const pmu = td_map_find(&session->pmu_names, attr->type, 0);
    const char *plain = NULL;
    char suffix[8];
    char text[128];

    if (attr->type == PERF_TYPE_HARDWARE && low < TD_ARRAY_SIZE(hardware_names))
        plain = hardware_names[low];
    else if (attr->type == PERF_TYPE_SOFTWARE && low < TD_ARRAY_SIZE(software_names))
        plain = software_names[low];
    modifiers(attr, suffix);
    if (plain)
        snprintf(text, sizeof(text), "%s%s%s", plain, suffix[0] ? ":" : "", suffix);
    else if (pmu)
        snprintf(text, sizeof(text), "%s/config=0x%" PRIx64 "/",
                 td_model_string(session->model, *pmu), attr->config[0]);
    else if (attr->type == PERF_TYPE_RAW)
        snprintf(text, sizeof(text), "raw 0x%" PRIx64, attr->config[0]);
    else if (attr->type != PERF_TYPE_TRACEPOINT ||
             !td_perf_tracepoint_name(session, attr->config[0], text, sizeof(text)))
        snprintf(text, sizeof(text), "type %" PRIu32 " config 0x%" PRIx64, attr->type,
                 attr->config[0]);
    return td_model_intern_z(session->model, text);
}

/* "cpu_core/slots:u/" names the same thing as "slots". */
static bool base_name_is(const char *name, const char *wanted)
{
    const char *const slash = strchr(name, '/');
    const char *const base = slash && slash[1] ? slash + 1 : name;
    const size_t len = strlen(wanted);

    return strncmp(base, wanted, len) == 0 && strchr(":/", base[len]);
}

static enum td_unit unit_of(const struct td_perf_attr *attr, const char *name)
{
    const uint64_t low = attr->config[0] & UINT32_MAX;

    if (attr->type == PERF_TYPE_SOFTWARE)
        return low == PERF_COUNT_SW_CPU_CLOCK || low == PERF_COUNT_SW_TASK_CLOCK ? TD_UNIT_NS
                                                                                 : TD_UNIT_COUNT;
    if (attr->type == PERF_TYPE_HARDWARE && low == PERF_COUNT_HW_CPU_CYCLES)
        return TD_UNIT_CYCLES;
    if (attr->type == PERF_TYPE_HARDWARE && low == PERF_COUNT_HW_INSTRUCTIONS)
        return TD_UNIT_INSTRUCTIONS;
    if (base_name_is(name, "cycles") || base_name_is(name, "cpu-cycles"))
        return TD_UNIT_CYCLES;
    if (base_name_is(name, "instructions"))
        return TD_UNIT_INSTRUCTIONS;
    /* Intel's; Arm's; AMD's. */
    if (base_name_is(name, "slots") || strstr(name, "topdown-") || strstr(name, "stall_slot") ||
        strstr(name, "no_dispatch_per_slot"))
        return TD_UNIT_SLOTS;
    return TD_UNIT_COUNT;
}

static struct td_layout layout_of(const struct td_perf_session *session, uint64_t id, size_t event)
{
    const struct td_perf_attr *const attr = &session->events[event].attr;

    return (struct td_layout){
        .id = id,
        .sample_type = attr->sample_type,
        .read_format = attr->read_format,
        .branch_sample_type = attr->branch_sample_type,
        .user_regs = attr->regs_user,
        .intr_regs = attr->regs_intr,
        .period = attr->period,
        .sample_id_all = attr->sample_id_all,
        .user_at_entry = true,
        .event = (uint32_t)event,
    };
}

static int compare_layouts(const void *a, const void *b)
{
    const struct td_layout *const x = a, *const y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/* perf writes the id 0 for samples that it made itself: they are the first event's. One layout
 * alone would be that of every id. */
static void make_layouts(struct td_perf_session *session)
{
    const struct td_map *const ids = &session->event_ids;
    size_t len = 0;

    session->layouts = td_xcalloc(ids->len + 2, sizeof(*session->layouts));
    session->layouts[len++] = layout_of(session, 0, 0);
    if (session->event_count > 1)
        session->layouts[len++] = layout_of(session, UINT64_MAX, 0);
    for (size_t i = 0; session->event_count > 1 && i < ids->cap; i++) {
        if (ids->slots[i].used && ids->slots[i].a != 0)
            session->layouts[len++] = layout_of(session, ids->slots[i].a, ids->slots[i].value);
    }
    qsort(session->layouts, len, sizeof(*session->layouts), compare_layouts);
    session->layout_count = len;
}

struct td_layouts td_perf_layouts(const struct td_perf_session *session)
{
    return (struct td_layouts){
        .items = session->layouts, .count = session->layout_count, .big = session->big};
}

void td_perf_events_finish(struct td_perf_session *session)
{
    make_layouts(session);
    for (size_t i = 0; i < session->event_count; i++) {
        struct td_perf_event *const event = &session->events[i];
        const struct td_perf_attr *const attr = &event->attr;

        if (event->name == 0)
            event->name = made_up_name(session, attr);
        const struct td_event made = {
            .name = event->name,
            .unit = unit_of(attr, td_model_string(session->model, event->name)),
            .pmu_type = attr->type,
            .config = {attr->config[0], attr->config[1], attr->config[2]},
            .period = attr->freq ? 0 : attr->period,
            .frequency_hz = attr->freq ? attr->period : 0,
            .flags = (attr->exclude_user ? 0U : TD_EVENT_USER) |
                     (attr->exclude_kernel ? 0U : TD_EVENT_KERNEL) |
                     (attr->precise ? TD_EVENT_PRECISE : 0U),
        };
        event->event = td_model_add_event(session->model, &made);
    }
}
