/* SPDX-License-Identifier: MIT */
#include "record/run/sim_pmu.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/cores/pmu.h"
#include "record/tasks/profile_head.h"
#include "record/output.h"
#include "record/plan/levels.h"
#include "record/run/sources.h"
#include "record/run/recorder.h"
#include "record/sim/model/pmu_signal.h"

enum { SESSIONS_MAX = 64, IDS_A_GROUP = 32 };

/* A file without a name, and the path under which others open it while this process has it. */
struct temporary {
    int fd;     /* -1: none */
    char *path; /* NULL: none */
};

struct session {
    char name[32];
    uint64_t hz, seed, pair_ns;
    struct temporary records;
};

struct td_sim_pmu_run {
    struct td_uarch *uarch; /* of the core as which the model is counted */
    struct td_pmu_core *core;
    struct td_caps caps;
    struct td_plan plan;
    struct session sessions[SESSIONS_MAX];
    size_t session_count;
    struct td_layout *layouts;
    size_t layout_count;
    struct temporary text; /* of the plan */
};

static int open_temporary(struct temporary *ret, struct td_err *err)
{
    const char *folder = getenv("TMPDIR");

    folder = folder && folder[0] == '/' ? folder : "/tmp";
    char *path = td_xasprintf("%s/tdrec.XXXXXX", folder);
    ret->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (ret->fd < 0 && (ret->fd = mkostemp(path, O_CLOEXEC)) >= 0)
        unlink(path); /* not every file system can make files without a name */
    free(path);
    if (ret->fd < 0)
        return td_fail_errno(err, TD_EIO, errno, "cannot create a file in '%s'", folder);
    ret->path = td_xasprintf("/proc/%d/fd/%d", (int)getpid(), ret->fd);
    return TD_OK;
}

static void close_temporary(struct temporary *temporary)
{
    if (temporary->path)
        close(temporary->fd);
    free(temporary->path);
}

/* A machine with Linux 6.12 and no PMU yet, everything allowed. */
static void make_caps(struct td_caps *caps)
{
    *caps = (struct td_caps){
        .root = td_xstrdup(""),
        .host = td_xstrdup("modelled"),
        .kernel = td_xstrdup("6.12.0"),
        .machine = td_xstrdup("x86_64"),
        .cpu = td_xstrdup("modelled core"),
        .hypervisor = td_xstrdup(""),
        .kernel_version = 6 << 16 | 12,
        .page_bytes = 4096,
        .paranoid = -1,
        .mlock_kb = 516,
        .max_sample_rate = 100000,
        .max_stack = 127,
        .cap_perfmon = true,
    };
    td_cpulist_parse(&caps->online, "0", NULL);
}

/* The PMU and the CPU that the description is for, as the kernel would show them. */
static void add_pmu(struct td_caps *caps, const struct td_pmu_core *core)
{
    const struct td_pmu_match *match = &core->matches[0];
    struct td_pmu *pmu = td_xcalloc(1, sizeof(*pmu));

    *pmu = (struct td_pmu){.type = 4, .core = true, .slots = core->needs_slots_event};
    snprintf(pmu->name, sizeof(pmu->name), "%s", core->pmu ? core->pmu : "cpu");
    for (size_t i = 0; i < core->event_count; i++)
        pmu->max_precise = core->events[i].precise ? 3 : pmu->max_precise;
    caps->pmus = pmu;
    caps->pmu_count = 1;
    caps->cpu_id = td_xasprintf("%s-%u-%u-%u",
                                match->vendor == TD_VENDOR_AMD ? "AuthenticAMD" : "GenuineIntel",
                                match->family, match->model, match->low);
}

/* The machine that has this modelled core: its description says as which core it is counted. */
static int find_machine(struct td_sim_pmu_run *run, const char *name, struct td_err *err)
{
    const struct td_uarch_builtin *builtin = td_uarch_builtin(name);
    struct td_uarch *model = NULL;
    int rc = TD_OK;

    make_caps(&run->caps);
    if (builtin)
        rc = td_uarch_parse(&model, builtin->text, builtin->size, err);
    const struct td_uarch_section *section = model ? td_uarch_section(model, "core") : NULL;
    const struct td_uarch_line *line = section ? td_uarch_find(section, "counted_as") : NULL;
    builtin = line && line->word_count == 2 ? td_uarch_builtin(line->words[1]) : NULL;
    if (rc == TD_OK && !builtin)
        rc = td_fail(err, TD_EUNSUPPORTED, "--sim-pmu: %s has no simulated PMU: golden-cove has",
                     name);
    if (rc == TD_OK && builtin)
        rc = td_uarch_parse(&run->uarch, builtin->text, builtin->size, err);
    if (rc == TD_OK)
        rc = td_pmu_core_read(&run->core, run->uarch, err);
    if (rc == TD_OK)
        add_pmu(&run->caps, run->core);
    td_uarch_free(model);
    return rc;
}

static void number(char *name, size_t size, unsigned i)
{
    const size_t len = strlen(name);

    snprintf(name + len, size - len, ".%u", i);
}

static int parse_spec(struct td_sim_pmu_run *run, const char *spec, struct td_err *err)
{
    char *const copy = td_xstrdup(spec);
    char *rest = copy;
    bool good = true;

    for (char *word; good && (word = strsep(&rest, ",")) != NULL;) {
        char *times = strchr(word, 'x');
        char *pair = strchr(word, '+');
        uint64_t hz = 0, count = 1, pair_ns = 0;

        if (times)
            *times++ = '\0';
        if (pair)
            *pair++ = '\0';
        good = td_parse_u64(word, &hz) && hz > 0 && (!times || td_parse_u64(times, &count)) &&
               (!pair || td_parse_u64(pair, &pair_ns)) && count > 0 &&
               run->session_count + count <= SESSIONS_MAX;
        for (uint64_t i = 1; good && i <= count; i++) {
            struct session *session = &run->sessions[run->session_count++];

            session->hz = hz;
            session->pair_ns = pair_ns;
            session->seed = run->session_count;
            snprintf(session->name, sizeof(session->name), "%s%s%s", word, pair ? "+" : "",
                     pair ? pair : "");
            if (times)
                number(session->name, sizeof(session->name), (unsigned)i);
        }
    }
    free(copy);
    return good ? TD_OK
                : td_fail(err, TD_EUSAGE,
                          "--sim-pmu %s: rates such as 1000,4000x30,4000+1000 are wanted, at most "
                          "%d samplings",
                          spec, SESSIONS_MAX);
}

static bool is_countable(const struct td_plan_group *group)
{
    for (size_t i = 0; i < group->event_count; i++) {
        const char *name = group->events[i].name;

        if (td_signal_by_name(name, strlen(name)) == TD_SIGNAL_COUNT)
            return false;
    }
    return true;
}

/* The model has no such events: what they would locate is not located. */
static void drop_uncountable(struct td_plan *plan)
{
    size_t kept = 0;

    for (size_t i = 0; i < plan->group_count; i++) {
        if (is_countable(&plan->groups[i])) {
            plan->groups[kept++] = plan->groups[i];
            continue;
        }
        char what[96];
        snprintf(what, sizeof(what), "locator of %.64s", plan->groups[i].name);
        td_plan_leave_out(plan, what, "the simulated PMU has no such event");
        td_cpulist_release(&plan->groups[i].cpus);
    }
    plan->group_count = kept;
}

/* What the plugin's records can hold (qemu_pmu.c). */
static void simplify(struct td_plan_event *event)
{
    event->sample_type &= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                          PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |
                          PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC;
    event->read_format &= PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST;
    event->branch_sample_type = 0;
}

static void make_layouts(struct td_sim_pmu_run *run)
{
    size_t cap = 0;

    for (size_t g = 0; g < run->plan.group_count; g++) {
        const struct td_plan_group *group = &run->plan.groups[g];

        for (size_t e = 0; e < group->event_count; e++) {
            run->layouts =
                td_grow(run->layouts, &cap, run->layout_count + 1, sizeof(*run->layouts));
            run->layouts[run->layout_count++] = (struct td_layout){
                .id = (g + 1) * IDS_A_GROUP + e,
                .sample_type = group->events[e].sample_type,
                .read_format = group->events[e].read_format,
                .sample_id_all = true,
                .group = (uint16_t)g,
                .event = (uint16_t)e,
            };
        }
    }
}

static int open_files(struct td_sim_pmu_run *run, struct td_err *err)
{
    int rc = open_temporary(&run->text, err);

    for (size_t i = 0; i < run->session_count && rc == TD_OK; i++)
        rc = open_temporary(&run->sessions[i].records, err);
    return rc;
}

static int write_plan(const struct td_sim_pmu_run *run, struct td_err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = td_xmemstream(&text, &size);

    for (size_t i = 0; i < run->session_count; i++)
        fprintf(out, "session %s %llu %llu %llu\n", run->sessions[i].records.path,
                (unsigned long long)run->sessions[i].hz, (unsigned long long)run->sessions[i].seed,
                (unsigned long long)run->sessions[i].pair_ns);
    for (size_t g = 0; g < run->plan.group_count; g++) {
        const struct td_plan_group *group = &run->plan.groups[g];
        const struct td_plan_event *sampler = &group->events[group->sampler];

        fprintf(out, "group %llu %llu %llu %zu %zu", (unsigned long long)sampler->sample_type,
                (unsigned long long)sampler->read_format,
                (unsigned long long)(sampler->frequency_hz ? 0 : sampler->period), group->sampler,
                (g + 1) * IDS_A_GROUP);
        for (size_t e = 0; e < group->event_count; e++)
            fprintf(out, " %s", group->events[e].name);
        fputc('\n', out);
    }
    fclose(out);
    const int rc = td_fd_write_all(run->text.fd, text, size, err);
    free(text);
    return rc;
}

static int make_plan(struct td_sim_pmu_run *run, unsigned level, struct td_err *err)
{
    const struct td_request request = {
        .scope = TD_SCOPE_COMMAND,
        .method = TD_METHOD_TASK,
        .pairs = TD_PAIRS_OFF, /* it has its own */
        .frequency_hz = TD_DEFAULT_FREQUENCY_HZ,
    };
    const int rc = td_plan_make(&run->plan, &td_source_pmu, &run->caps, &request, err);

    if (rc < 0)
        return rc;
    drop_uncountable(&run->plan);
    for (size_t g = 0; g < run->plan.group_count && level; g++) {
        if (run->plan.groups[g].role == TD_ROLE_SLOTS)
            td_plan_drop_deeper(&run->plan.groups[g], run->core, level);
    }
    for (size_t g = 0; g < run->plan.group_count; g++) {
        for (size_t e = 0; e < run->plan.groups[g].event_count; e++)
            simplify(&run->plan.groups[g].events[e]);
    }
    make_layouts(run);
    return TD_OK;
}

int td_sim_pmu_prepare(struct td_sim_pmu_run **ret, const struct td_request *request,
                       const char *core, struct td_err *err)
{
    struct td_sim_pmu_run *run = td_xcalloc(1, sizeof(*run));
    int rc = find_machine(run, core, err);

    if (rc == TD_OK)
        rc = parse_spec(run, request->sim_pmu, err);
    if (rc == TD_OK)
        rc = make_plan(run, request->topdown_level, err);
    if (rc == TD_OK)
        rc = open_files(run, err);
    if (rc == TD_OK)
        rc = write_plan(run, err);
    if (rc == TD_OK)
        *ret = run;
    else
        td_sim_pmu_run_free(run);
    return rc;
}

const char *td_sim_pmu_plan_path(const struct td_sim_pmu_run *run)
{
    return run->text.path;
}

void td_sim_pmu_run_free(struct td_sim_pmu_run *run)
{
    if (!run)
        return;
    for (size_t i = 0; i < run->session_count; i++)
        close_temporary(&run->sessions[i].records);
    close_temporary(&run->text);
    td_plan_release(&run->plan);
    td_caps_release(&run->caps);
    td_pmu_core_free(run->core);
    td_uarch_free(run->uarch);
    free(run->layouts);
    free(run);
}

struct placed {
    uint32_t pid, tid;
    size_t at;
};

/* Images write what their threads did one after the other, when they come to it. */
static int by_thread(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

struct records {
    struct placed *items;
    size_t len, cap;
};

static size_t record_size(const uint8_t *record)
{
    return record[6] | (size_t)record[7] << 8;
}

static int list_records(struct records *ret, const struct td_file_map *map,
                        const struct td_layouts *layouts, struct td_err *err)
{
    for (size_t at = 0; at + 8 <= map->size;) {
        const uint8_t *record = (const uint8_t *)map->data + at;
        const size_t size = record_size(record);
        struct td_rec rec;

        if (size < 8 || size > map->size - at)
            return td_fail_at(err, TD_EFORMAT, at, "a record of the simulated PMU is cut off");
        const int rc = td_rec_parse(&rec, record, size, layouts, err);
        if (rc < 0)
            return rc;
        ret->items = td_grow(ret->items, &ret->cap, ret->len + 1, sizeof(*ret->items));
        ret->items[ret->len++] = (struct placed){rec.pid, rec.tid, at};
        at += size;
    }
    return TD_OK;
}

/* The records of a session, thread by thread, in the order in which they were taken. */
static int take_records(const struct td_sim_pmu_run *run, const struct session *session,
                        struct td_recorder *recorder, struct td_err *err)
{
    const struct td_layouts layouts = {.items = run->layouts, .count = run->layout_count};
    struct records records = {.items = NULL};
    struct td_file_map map;
    int rc = td_file_map(&map, session->records.path, err);

    if (rc < 0)
        return rc;
    rc = list_records(&records, &map, &layouts, err);
    if (records.len > 1)
        qsort(records.items, records.len, sizeof(*records.items), by_thread);
    for (size_t i = 0; i < records.len && rc == TD_OK; i++) {
        const uint8_t *record = (const uint8_t *)map.data + records.items[i].at;
        struct td_rec rec;

        rc = td_rec_parse(&rec, record, record_size(record), &layouts, err);
        if (rc == TD_OK)
            td_recorder_take(recorder, 0, &rec);
    }
    free(records.items);
    td_file_unmap(&map);
    return rc;
}

static int make_profile(struct td_sim_pmu_run *run, const struct session *session,
                        const struct td_request *request, const char *path, struct td_err *err)
{
    struct td_output output = {.fd = -1};
    struct td_profile_writer *writer = NULL;
    const struct td_ring ring = {.cpu = 0};
    int rc = td_output_open(&output, path, err);

    if (rc == TD_OK)
        rc = td_profile_writer_new(&writer, td_output_write, &output, NULL, err);
    if (rc == TD_OK) {
        run->plan.frequency_hz = session->hz;
        run->plan.groups[0].attribution =
            session->pair_ns ? TD_ATTRIBUTION_PAIRED : TD_ATTRIBUTION_INTERVAL;
        td_env_write(writer, &run->caps, request, &run->plan);
        td_profile_env(writer, td_env_key_name(TD_ENV_WARNING),
                       "sampled from the modelled core as from hardware: no machine was measured");
        struct td_recorder *recorder = td_recorder_new(&run->plan, writer, &ring, 1);
        rc = take_records(run, session, recorder, err);
        td_recorder_end(recorder);
        if (rc == TD_OK)
            rc = td_profile_finish(writer, err);
        if (rc == TD_OK)
            rc = td_output_place(&output, err);
        td_recorder_free(recorder);
    }
    td_profile_writer_free(writer);
    const int closed = td_output_close(&output, rc == TD_OK ? err : NULL);
    return rc < 0 ? rc : closed;
}

int td_sim_pmu_collect(struct td_sim_pmu_run *run, const struct td_request *request,
                       const char *output, struct td_err *err)
{
    const size_t len = strlen(output);
    const size_t stem = len > 3 && strcmp(output + len - 3, ".td") == 0 ? len - 3 : len;
    int rc = TD_OK;

    for (size_t i = 0; i < run->session_count && rc == TD_OK; i++) {
        char *path = td_xasprintf("%.*s.%s.td", (int)stem, output, run->sessions[i].name);

        rc = make_profile(run, &run->sessions[i], request, path, err);
        free(path);
    }
    return rc;
}
