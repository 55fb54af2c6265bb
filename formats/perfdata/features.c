/* SPDX-License-Identifier: MIT */
/* perf.data: the feature sections (host, versions, names of events, build-ids) and what follows
 * from them for the environment of the profile. */
#include "formats/perfdata/session_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/* Bits of the header's bitmap (tools/perf/util/header.h). */
enum feature {
    FEATURE_BUILD_ID = 2,
    FEATURE_HOSTNAME = 3,
    FEATURE_OSRELEASE = 4,
    FEATURE_VERSION = 5,
    FEATURE_ARCH = 6,
    FEATURE_NRCPUS = 7,
    FEATURE_CPUDESC = 8,
    FEATURE_CPUID = 9,
    FEATURE_CMDLINE = 11,
    FEATURE_EVENT_DESC = 12,
    FEATURE_PMU_MAPPINGS = 16,
    FEATURE_STAT = 19,
    FEATURE_SAMPLE_TIME = 21,
    FEATURE_DIR_FORMAT = 24,
    FEATURE_CLOCK_DATA = 29,
    FEATURE_LIMIT = 256,
};

#define BUILD_ID_SIZE_GIVEN (1U << 15) /* in misc: the byte behind the id is its length */
#define BUILD_ID_DEFAULT    20

/* A string: u32 length with padding, then the bytes, NUL-terminated inside. */
static uint32_t read_string(struct td_perf_session *session, struct td_cur *rd)
{
    const uint32_t size = td_cur_u32(rd);
    const char *const s = (const char *)td_cur_bytes(rd, size);

    return s ? td_model_intern(session->model, s, strnlen(s, size)) : 0;
}

static void add_env(struct td_perf_session *session, enum td_env_key key, const char *value)
{
    if (value[0])
        td_model_add_env(session->model, td_env_key_name(key), value);
}

static void string_to_env(struct td_perf_session *session, struct td_cur *rd, enum td_env_key key)
{
    const uint32_t text = read_string(session, rd);

    add_env(session, key, td_model_string(session->model, text));
}

static void read_version(struct td_perf_session *session, struct td_cur *rd)
{
    const uint32_t version = read_string(session, rd);
    char *const text = td_xasprintf("perf %s", td_model_string(session->model, version));

    add_env(session, TD_ENV_RECORDER, text);
    free(text);
}

static void read_cmdline(struct td_perf_session *session, struct td_cur *rd)
{
    const uint32_t count = td_cur_u32(rd);

    for (uint32_t i = 0; i < count && td_cur_left(rd) >= 4; i++)
        string_to_env(session, rd, TD_ENV_ARGV);
}

static void read_nrcpus(struct td_perf_session *session, struct td_cur *rd)
{
    const uint32_t available = td_cur_u32(rd);
    const uint32_t online = td_cur_u32(rd);
    char text[32];

    /* Which ones are online is known only when all are. */
    if (rd->bad || online == 0 || online != available)
        return;
    snprintf(text, sizeof(text), online > 1 ? "0-%" PRIu32 : "%" PRIu32, online - 1);
    add_env(session, TD_ENV_CPUS_ONLINE, text);
}

static void read_event_names(struct td_perf_session *session, struct td_cur *rd)
{
    const uint32_t count = td_cur_u32(rd);
    const uint32_t attr_size = td_cur_u32(rd);

    for (uint32_t i = 0; i < count && !rd->bad; i++) {
        struct td_perf_event *event = i < session->event_count ? &session->events[i] : NULL;

        td_cur_bytes(rd, attr_size);
        const uint32_t id_count = td_cur_u32(rd);
        const uint32_t name = read_string(session, rd);
        const uint8_t *const ids = td_cur_bytes(rd, (uint64_t)id_count * 8);

        if (ids && id_count > 0) {
            struct td_perf_event *const owner =
                td_perf_event_by_id(session, td_cur_word(ids, rd->big));

            event = owner ? owner : event;
        }
        if (event && event->name == 0)
            event->name = name;
    }
}

static void read_pmu_names(struct td_perf_session *session, struct td_cur *rd)
{
    const uint32_t count = td_cur_u32(rd);

    for (uint32_t i = 0; i < count && td_cur_left(rd) >= 8; i++) {
        const uint32_t type = td_cur_u32(rd);

        *td_map_put(&session->pmu_names, type, 0, 0, NULL) = read_string(session, rd);
    }
}

static void read_clock(struct td_perf_session *session, struct td_cur *rd)
{
    char text[32];

    td_cur_u32(rd); /* version */
    td_cur_u32(rd); /* clock id */
    const uint64_t wall_ns = td_cur_u64(rd);
    if (rd->bad)
        return;
    snprintf(text, sizeof(text), "%" PRIu64, wall_ns);
    add_env(session, TD_ENV_REALTIME_NS, text);
}

bool td_perf_build_id_record(struct td_perf_session *session, struct td_cur *rd, uint16_t misc)
{
    size_t len = 0;

    td_cur_u32(rd); /* pid */
    const uint8_t *const id = td_cur_bytes(rd, 24);
    const char *const path = td_cur_text(rd, &len);

    if (rd->bad)
        return false;
    const uint8_t size = misc & BUILD_ID_SIZE_GIVEN ? id[20] : BUILD_ID_DEFAULT;
    if (size == 0 || size > BUILD_ID_DEFAULT)
        return size == 0;
    session->build_id_list = td_grow(session->build_id_list, &session->build_id_cap,
                                     session->build_id_count + 1, sizeof(struct td_build_id));
    struct td_build_id *const build_id = &session->build_id_list[session->build_id_count];

    *build_id = (struct td_build_id){.size = size};
    memcpy(build_id->bytes, id, size);
    /* The kernel's may be listed under the name of its image. */
    const bool kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL &&
                        memmem(path, len, "vmlinux", 7);
    const uint32_t key = kernel ? td_model_intern_z(session->model, TD_PERF_KERNEL)
                                : td_model_intern(session->model, path, len);
    *td_map_put(&session->build_ids, key, 0, 0, NULL) = (uint32_t)session->build_id_count++;
    return true;
}

static void read_build_ids(struct td_perf_session *session, struct td_cur *rd)
{
    while (td_cur_left(rd) >= TD_RECORD_HEADER_BYTES) {
        td_cur_u32(rd); /* type: 0 in old files */
        const uint16_t misc = td_cur_u16(rd);
        const uint16_t size = td_cur_u16(rd);
        const uint8_t *const body =
            size < TD_RECORD_HEADER_BYTES ? NULL : td_cur_bytes(rd, size - TD_RECORD_HEADER_BYTES);

        if (!body) {
            rd->bad = true;
            return;
        }
        struct td_cur record = {.at = body, .end = rd->at, .big = rd->big};

        if (!td_perf_build_id_record(session, &record, misc))
            rd->bad = true;
    }
}

static void read_sample_time(struct td_perf_session *session, struct td_cur *rd)
{
    session->sample_first_ns = td_cur_u64(rd);
}

static void read_stat(struct td_perf_session *session, struct td_cur *rd)
{
    (void)rd;
    session->is_stat = true;
}

static void read_dir_format(struct td_perf_session *session, struct td_cur *rd)
{
    session->is_directory = td_cur_u64(rd) > 0; /* its version */
}

void td_perf_feature_read(struct td_perf_session *session, uint32_t feature, struct td_cur *rd)
{
    static const struct {
        enum feature feature;
        enum td_env_key key;
    } texts[] = {
        {FEATURE_HOSTNAME, TD_ENV_HOST}, {FEATURE_OSRELEASE, TD_ENV_KERNEL},
        {FEATURE_ARCH, TD_ENV_MACHINE},  {FEATURE_CPUDESC, TD_ENV_CPU},
        {FEATURE_CPUID, TD_ENV_CPU_ID},
    };
    static const struct {
        enum feature feature;
        void (*read)(struct td_perf_session *session, struct td_cur *rd);
    } readers[] = {
        {FEATURE_BUILD_ID, read_build_ids},
        {FEATURE_VERSION, read_version},
        {FEATURE_NRCPUS, read_nrcpus},
        {FEATURE_CMDLINE, read_cmdline},
        {FEATURE_EVENT_DESC, read_event_names},
        {FEATURE_PMU_MAPPINGS, read_pmu_names},
        {FEATURE_SAMPLE_TIME, read_sample_time},
        {FEATURE_CLOCK_DATA, read_clock},
        {FEATURE_STAT, read_stat},
        {FEATURE_DIR_FORMAT, read_dir_format},
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(texts); i++) {
        if ((uint32_t)texts[i].feature == feature)
            string_to_env(session, rd, texts[i].key);
    }
    for (size_t i = 0; i < TD_ARRAY_SIZE(readers); i++) {
        if ((uint32_t)readers[i].feature == feature)
            readers[i].read(session, rd);
    }
}

void td_perf_features_read(struct td_perf_session *session, uint64_t data_end,
                           const uint64_t bits[4])
{
    struct td_cur table = {
        .at = session->data + data_end, .end = session->data + session->size, .big = session->big};

    for (uint32_t feature = 0; feature < FEATURE_LIMIT; feature++) {
        if (!(bits[feature / 64] >> (feature % 64) & 1))
            continue;
        const uint64_t entry = (uint64_t)(table.at - session->data);
        const uint64_t offset = td_cur_u64(&table);
        const uint64_t size = td_cur_u64(&table);

        if (table.bad) {
            td_perf_damage(session, entry, "the table of features is cut off");
            return;
        }
        if (size == 0) /* perf had nothing to say: as if it were not listed */
            continue;
        if (offset > session->size || size > session->size - offset) {
            td_perf_damage(session, entry, "feature %" PRIu32 " reaches beyond the end of the file",
                           feature);
            continue;
        }
        struct td_cur rd = {.at = session->data + offset,
                            .end = session->data + offset + size,
                            .big = session->big};
        td_perf_feature_read(session, feature, &rd);
        if (rd.bad)
            td_perf_flaw(session, offset, "feature %" PRIu32 " is damaged", feature);
    }
}

/* The one rate of all events that took samples; NULL where each has its own. */
static const struct td_perf_attr *common_rate(const struct td_perf_session *session)
{
    const struct td_perf_attr *common = NULL;

    for (size_t i = 0; i < session->event_count; i++) {
        const struct td_perf_attr *const attr = &session->events[i].attr;

        if (session->events[i].group == TD_NONE)
            continue;
        if (common && (common->freq != attr->freq || common->period != attr->period))
            return NULL;
        common = attr;
    }
    return common;
}

void td_perf_environment(struct td_perf_session *session)
{
    const struct td_perf_attr *const rate = common_rate(session);
    const struct td_perf_attr *const first = &session->events[0].attr;
    const char *call_graph = "none";
    char text[32];

    add_env(session, TD_ENV_SOURCE, td_source_name(TD_SOURCE_IMPORT));
    for (size_t i = 0; i < session->event_count; i++) {
        const struct td_perf_attr *const attr = &session->events[i].attr;

        if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK)
            call_graph = "lbr";
        else if (attr->sample_type & PERF_SAMPLE_STACK_USER)
            call_graph = "dwarf";
        else if (attr->sample_type & PERF_SAMPLE_CALLCHAIN && strcmp(call_graph, "none") == 0)
            call_graph = "fp";
    }
    add_env(session, TD_ENV_CALL_GRAPH, call_graph);
    snprintf(text, sizeof(text), "%" PRIu64, rate ? rate->period : 0);
    if (rate && rate->period > 0)
        add_env(session, rate->freq ? TD_ENV_FREQUENCY : TD_ENV_PERIOD, text);
    /* CLOCK_MONOTONIC is 1; without a clock id it is the kernel's sched_clock. */
    add_env(session, TD_ENV_CLOCK,
            first->use_clockid && first->clockid == 1 ? "monotonic" : "perf");
}
