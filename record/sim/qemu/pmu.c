/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/pmu.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "record/sim/model/pmu.h"
#include "symbolize/elf/buildid.h"

enum {
    SESSIONS_MAX = 64,
    GROUPS_MAX = 16,
    EVENTS_MAX = 16,
    PATH_BYTES = 32,
};

/* From overflow to the interrupted instruction, as measured on Intel servers (Xu et al., "Can We
 * Trust Profiling Results?", ICS 2019: tens of cycles). */
#define SKID_CYCLES 40
/* The kernel's frequency control moves a period by some per cent around its mean. */
#define PERIOD_JITTER 0.05

struct group {
    uint64_t sample_type, read_format, period, first_id;
    uint32_t sampler, count;
    enum td_signal events[EVENTS_MAX];
};

struct session {
    char path[PATH_BYTES]; /* of its records */
    uint64_t hz, seed, pair_ns;
};

struct td_qemu_pmu {
    struct group groups[GROUPS_MAX];
    struct session sessions[SESSIONS_MAX];
    size_t group_count, session_count;
    uint64_t mhz, width;
};

/* What a group's reads have given out: metrics begin anew at each read. */
struct reads {
    uint64_t slots, real[TD_SIGNAL_COUNT], given[TD_SIGNAL_COUNT];
};

struct sample {
    struct td_pmu_sample about; /* without values */
    size_t read;                /* offset of its group values */
};

struct td_qemu_pmu_thread {
    const struct td_qemu_pmu *pmu;
    struct td_sim_pmu *counters;
    struct sample *samples;
    size_t sample_count, sample_cap;
    struct td_buf reads;   /* of the samples not written yet */
    struct reads *last;    /* by sampler */
    bool named;            /* its name is written */
    uint32_t maps_written; /* td_snapshot_maps.updates then */
};

static bool next_number(char **line, uint64_t *ret)
{
    const char *word = strsep(line, " ");

    return word && td_parse_u64(word, ret);
}

static bool parse_session(struct td_qemu_pmu *pmu, char *line)
{
    struct session *session = &pmu->sessions[pmu->session_count];
    const char *path = strsep(&line, " ");

    if (pmu->session_count == SESSIONS_MAX || !path || strlen(path) >= PATH_BYTES)
        return false;
    memcpy(session->path, path, strlen(path) + 1);
    pmu->session_count++;
    return next_number(&line, &session->hz) && next_number(&line, &session->seed) &&
           next_number(&line, &session->pair_ns) && session->hz;
}

static bool parse_group(struct td_qemu_pmu *pmu, char *line)
{
    struct group *group = &pmu->groups[pmu->group_count];
    uint64_t sampler = 0;

    if (pmu->group_count == GROUPS_MAX || !next_number(&line, &group->sample_type) ||
        !next_number(&line, &group->read_format) || !next_number(&line, &group->period) ||
        !next_number(&line, &sampler) || !next_number(&line, &group->first_id))
        return false;
    for (char *name; (name = strsep(&line, " ")) != NULL;) {
        const enum td_signal signal = td_signal_by_name(name, strlen(name));

        if (signal == TD_SIGNAL_COUNT || group->count == EVENTS_MAX)
            return false;
        group->events[group->count++] = signal;
    }
    group->sampler = (uint32_t)sampler;
    pmu->group_count++;
    return sampler < group->count;
}

static bool parse_line(struct td_qemu_pmu *pmu, char *line)
{
    const char *word = strsep(&line, " ");

    if (strcmp(word, "session") == 0)
        return line && parse_session(pmu, line);
    return strcmp(word, "group") == 0 && line && parse_group(pmu, line);
}

struct td_qemu_pmu *td_qemu_pmu_read(const char *path, const struct td_core_desc *desc,
                                     struct td_err *err)
{
    struct td_qemu_pmu *pmu = td_xcalloc(1, sizeof(*pmu));
    struct td_buf text = {0};
    bool good = td_file_read(path, 1 << 16, &text, err) == TD_OK;

    pmu->mhz = (uint64_t)desc->mhz;
    pmu->width = (uint64_t)desc->width;
    td_buf_u8(&text, 0);
    char *rest = (char *)text.data;
    for (char *line; good && (line = strsep(&rest, "\n")) != NULL;) {
        good = line[0] == '\0' || parse_line(pmu, line);
        if (!good)
            td_fail(err, TD_EFORMAT, "the PMU's plan has a line that is not understood: '%s'",
                    line);
    }
    td_buf_release(&text);
    if (good)
        return pmu;
    free(pmu);
    return NULL;
}

static const struct group *group_of(const struct td_qemu_pmu *pmu, size_t sampler)
{
    return &pmu->groups[sampler % pmu->group_count];
}

/* Values grow with each read: a metric by as many slots as its eight bits say (Linux,
 * icl_get_metrics_event_value). */
static void put_read(struct td_qemu_pmu_thread *thread, size_t sampler, const uint64_t *values)
{
    const struct group *group = group_of(thread->pmu, sampler);
    struct reads *last = &thread->last[sampler];
    const uint64_t slots = values[TD_SIGNAL_SLOTS] - last->slots;

    td_buf_u64(&thread->reads, group->count);
    for (uint32_t i = 0; i < group->count; i++) {
        const enum td_signal signal = group->events[i];
        uint64_t value = values[signal];

        if (td_signal_is_metric(signal) && slots > 0) {
            const uint64_t part = values[signal] - last->real[signal];
            const uint64_t bits = (part * 255 + slots / 2) / slots;

            value = last->given[signal] += slots * bits / 255;
            last->real[signal] = values[signal];
        }
        td_buf_u64(&thread->reads, value);
        td_buf_u64(&thread->reads, group->first_id + i);
        if (group->read_format & PERF_FORMAT_LOST)
            td_buf_u64(&thread->reads, 0);
    }
    last->slots = values[TD_SIGNAL_SLOTS];
}

static void take_sample(void *ctx, const struct td_pmu_sample *about)
{
    struct td_qemu_pmu_thread *thread = ctx;

    thread->samples = td_grow(thread->samples, &thread->sample_cap, thread->sample_count + 1,
                              sizeof(*thread->samples));
    struct sample *sample = &thread->samples[thread->sample_count++];
    *sample = (struct sample){.about = *about, .read = thread->reads.len};
    if (group_of(thread->pmu, about->sampler)->sample_type & PERF_SAMPLE_READ)
        put_read(thread, about->sampler, about->values);
}

struct td_qemu_pmu_thread *td_qemu_pmu_attach(const struct td_qemu_pmu *pmu, struct td_sim *sim)
{
    struct td_qemu_pmu_thread *thread = td_xcalloc(1, sizeof(*thread));
    const size_t count = pmu->group_count * pmu->session_count;
    struct td_sampler *samplers = td_xcalloc(count + 1, sizeof(*samplers));

    for (size_t i = 0; i < count; i++) {
        const struct group *group = group_of(pmu, i);
        const struct session *session = &pmu->sessions[i / pmu->group_count];
        const enum td_signal signal = group->events[group->sampler];
        const uint64_t a_second =
            pmu->mhz * 1000000 * (signal <= TD_SIGNAL_SLOTS_P ? pmu->width : 1);

        samplers[i] = (struct td_sampler){
            .signal = signal,
            .period = group->period ? group->period : a_second / session->hz,
            .pair = group->period ? 0 : a_second / 1000000 * session->pair_ns / 1000,
            .jitter = PERIOD_JITTER,
            .skid_cycles = SKID_CYCLES,
            .seed = session->seed * GROUPS_MAX + i % pmu->group_count + 1,
        };
    }
    thread->pmu = pmu;
    thread->last = td_xcalloc(count + 1, sizeof(*thread->last));
    thread->counters = td_sim_pmu_new(samplers, count, take_sample, thread);
    td_sim_set_pmu(sim, thread->counters);
    free(samplers);
    return thread;
}

/* What a record of one thread's file needs. */
struct writing {
    struct td_buf *out;
    struct td_qemu_pmu_thread *thread;
    uint64_t start_ns;
    uint32_t pid, tid;
};

static void put_header(struct td_buf *out, uint32_t type, uint16_t misc, size_t body)
{
    td_buf_u32(out, type);
    td_buf_u16(out, misc);
    td_buf_u16(out, (uint16_t)(body + 8));
}

/* The trailer of sample_id_all, for groups with identifiers. */
static void put_trailer(const struct writing *w)
{
    td_buf_u32(w->out, w->pid);
    td_buf_u32(w->out, w->tid);
    td_buf_u64(w->out, w->start_ns);
    td_buf_u64(w->out, group_of(w->thread->pmu, 0)->first_id);
}

enum { TRAILER_BYTES = 24 };

static void put_padded(struct td_buf *out, const char *text)
{
    const size_t len = strlen(text) + 1;

    td_buf_bytes(out, text, len);
    for (size_t i = len; i % 8; i++)
        td_buf_u8(out, 0);
}

static size_t padded(const char *text)
{
    return (strlen(text) + 8) & ~(size_t)7;
}

static void put_comm(const struct writing *w, const char *name)
{
    put_header(w->out, PERF_RECORD_COMM, 0, 8 + padded(name) + TRAILER_BYTES);
    td_buf_u32(w->out, w->pid);
    td_buf_u32(w->out, w->tid);
    put_padded(w->out, name);
    put_trailer(w);
}

/* As the kernel: the build-id, or where there is none the inode. */
static void put_file(const struct writing *w, const struct td_build_id *id,
                     const struct td_file_inode *inode)
{
    if (id->size == 0) {
        td_buf_u32(w->out, inode->major);
        td_buf_u32(w->out, inode->minor);
        td_buf_u64(w->out, inode->inode);
        td_buf_u64(w->out, 0); /* generation */
        return;
    }
    td_buf_u8(w->out, id->size);
    for (int i = 0; i < 3; i++)
        td_buf_u8(w->out, 0);
    for (uint32_t i = 0; i < 20; i++)
        td_buf_u8(w->out, i < id->size ? id->bytes[i] : 0);
}

static void put_mapping(const struct writing *w, const struct td_range *range, const char *path,
                        const struct td_file_inode *inode)
{
    struct td_build_id id = {.size = 0};

    td_build_id_from_file(path, &id, NULL);
    if (id.size > 20)
        id.size = 0;
    put_header(w->out, PERF_RECORD_MMAP2,
               (uint16_t)(PERF_RECORD_MISC_USER | (id.size ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0)),
               64 + padded(path) + TRAILER_BYTES);
    td_buf_u32(w->out, w->pid);
    td_buf_u32(w->out, w->tid);
    td_buf_u64(w->out, range->start);
    td_buf_u64(w->out, range->end - range->start);
    td_buf_u64(w->out, range->offset);
    put_file(w, &id, inode);
    td_buf_u32(w->out, PROT_READ | PROT_EXEC);
    td_buf_u32(w->out, 0);
    put_padded(w->out, path);
    put_trailer(w);
}

static size_t read_bytes(const struct group *group)
{
    const size_t words = group->read_format & PERF_FORMAT_LOST ? 3 : 2;

    return group->sample_type & PERF_SAMPLE_READ ? 8 * (1 + words * group->count) : 0;
}

/* What the level that a load hit is for the kernel (arch/x86/events/intel/ds.c). */
static uint64_t data_source_of(enum td_signal signal)
{
    const uint64_t load = PERF_MEM_S(OP, LOAD), hit = PERF_MEM_S(LVL, HIT);

    if (signal == TD_SIGNAL_LOAD_L2)
        return load | hit | PERF_MEM_S(LVL, L2) | PERF_MEM_S(LVLNUM, L2);
    if (signal == TD_SIGNAL_LOAD_L3)
        return load | hit | PERF_MEM_S(LVL, L3) | PERF_MEM_S(LVLNUM, L3);
    if (signal == TD_SIGNAL_LOAD_DRAM)
        return load | hit | PERF_MEM_S(LVL, LOC_RAM) | PERF_MEM_S(LVLNUM, RAM);
    return 0;
}

/* The order of man perf_event_open. */
static void put_sample(const struct writing *w, const struct sample *sample)
{
    const struct td_qemu_pmu *pmu = w->thread->pmu;
    const struct group *group = group_of(pmu, sample->about.sampler);
    const uint64_t type = group->sample_type;
    const bool precise = !(type & PERF_SAMPLE_READ);
    const size_t body =
        8 * (size_t)__builtin_popcountll(type & ~(uint64_t)PERF_SAMPLE_READ) + read_bytes(group);

    put_header(w->out, PERF_RECORD_SAMPLE,
               PERF_RECORD_MISC_USER | (precise ? PERF_RECORD_MISC_EXACT_IP : 0), body);
    td_buf_u64(w->out, group->first_id + group->sampler);
    td_buf_u64(w->out, sample->about.ip);
    td_buf_u32(w->out, w->pid);
    td_buf_u32(w->out, w->tid);
    td_buf_u64(w->out, w->start_ns + sample->about.cycle * 1000 / pmu->mhz);
    if (type & PERF_SAMPLE_PERIOD)
        td_buf_u64(w->out, sample->about.period);
    if (type & PERF_SAMPLE_READ)
        td_buf_bytes(w->out, w->thread->reads.data + sample->read, read_bytes(group));
    if (type & PERF_SAMPLE_WEIGHT_STRUCT)
        td_buf_u64(w->out, sample->about.latency |
                               (uint64_t)(sample->about.retire_latency & UINT16_MAX) << 48);
    if (type & PERF_SAMPLE_DATA_SRC)
        td_buf_u64(w->out, data_source_of(group->events[group->sampler]));
}

static void put_session(const struct writing *w, size_t session)
{
    const struct td_qemu_pmu_thread *thread = w->thread;
    const size_t groups = thread->pmu->group_count;

    for (size_t i = 0; i < thread->sample_count; i++) {
        if (thread->samples[i].about.sampler / groups == session)
            put_sample(w, &thread->samples[i]);
    }
}

static int append_file(const char *path, const struct td_buf *bytes, struct td_err *err)
{
    const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    int rc = fd < 0 ? td_fail_errno(err, TD_EIO, errno, "cannot write '%s'", path) : TD_OK;

    if (rc == TD_OK)
        rc = td_fd_write_all(fd, bytes->data, bytes->len, err);
    if (fd >= 0)
        close(fd);
    return rc;
}

int td_qemu_pmu_write(struct td_qemu_pmu_thread *thread, uint64_t start_ns, uint32_t pid,
                      const struct td_snapshot_thread *who, const struct td_snapshot_maps *maps,
                      struct td_err *err)
{
    struct td_buf out = {0};
    const struct writing w = {
        .out = &out, .thread = thread, .start_ns = start_ns, .pid = pid, .tid = who->tid};
    int rc = TD_OK;

    if (!thread->named)
        put_comm(&w, who->name);
    for (size_t i = 0; i < maps->code.now.len && thread->maps_written != maps->updates; i++)
        put_mapping(&w, &maps->code.now.items[i], maps->paths[maps->code.now.items[i].value],
                    &maps->files[maps->code.now.items[i].value].inode);
    thread->named = true;
    thread->maps_written = maps->updates;
    const size_t head = out.len;
    for (size_t s = 0; s < thread->pmu->session_count && rc == TD_OK; s++) {
        put_session(&w, s);
        rc = append_file(thread->pmu->sessions[s].path, &out, err);
        out.len = head;
    }
    thread->sample_count = 0;
    td_buf_clear(&thread->reads);
    td_buf_release(&out);
    return rc;
}
