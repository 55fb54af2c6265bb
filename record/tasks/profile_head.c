/* SPDX-License-Identifier: MIT */
#include "record/tasks/profile_head.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/version.h"
#include "formats/cores/uarch.h"
#include "record/machine/system.h"
#include "record/output.h"

static void put(struct td_profile_writer *writer, enum td_env_key key, const char *value)
{
    if (value && value[0])
        td_profile_env(writer, td_env_key_name(key), value);
}

static void put_number(struct td_profile_writer *writer, enum td_env_key key, uint64_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    put(writer, key, text);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts = {0};

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void put_parameter(struct td_profile_writer *writer, const char *name, uint64_t value)
{
    char text[128];

    snprintf(text, sizeof(text), "machine_%s=%" PRIu64, name, value);
    if (value > 0)
        put(writer, TD_ENV_PARAMETER, text);
}

/* "machine_l2_kb=1024", and what else the machine is built of. */
static void put_system(struct td_profile_writer *writer, const struct td_caps *caps, bool modelled)
{
    struct td_system system;
    char text[64];

    td_system_read(&system, caps);
    for (size_t i = 0; i < system.cache_count; i++) {
        const struct td_system_cache *cache = &system.caches[i];
        const char kind[2] = {cache->kind == 'u' ? '\0' : cache->kind};

        snprintf(text, sizeof(text), "l%s%s_kb", cache->level, kind);
        put_parameter(writer, text, cache->kb);
    }
    put_parameter(writer, "line_bytes", system.line_bytes);
    put_parameter(writer, "memory_kb", system.memory_kb);
    /* The clock of the moment says nothing of modelled cycles, which are the same in each run. */
    put_parameter(writer, "mhz", modelled ? 0 : (uint64_t)(system.mhz + 0.5));
    put_parameter(writer, "mhz_max", (uint64_t)(system.mhz_max + 0.5));
    put_parameter(writer, "threads_per_core", system.smt ? 2 : 1);
    snprintf(text, sizeof(text), "machine_governor=%s", system.governor);
    if (system.governor[0])
        put(writer, TD_ENV_PARAMETER, text);
}

static void put_machine(struct td_profile_writer *writer, const struct td_caps *caps, bool modelled)
{
    char *online = td_cpulist_text(&caps->online);

    put(writer, TD_ENV_HOST, caps->host);
    put(writer, TD_ENV_KERNEL, caps->kernel);
    put(writer, TD_ENV_MACHINE, caps->machine);
    put(writer, TD_ENV_CPU, caps->cpu);
    put(writer, TD_ENV_CPU_ID, caps->cpu_id);
    put(writer, TD_ENV_CPUS_ONLINE, online);
    put(writer, TD_ENV_HYPERVISOR, caps->hypervisor);
    put_number(writer, TD_ENV_PAGE_BYTES, caps->page_bytes);
    put(writer, TD_ENV_CLOCK, "monotonic");
    put_number(writer, TD_ENV_REALTIME_NS, clock_ns(CLOCK_REALTIME));
    put_number(writer, TD_ENV_BOOTTIME_NS, clock_ns(CLOCK_BOOTTIME));
    free(online);
    put_system(writer, caps, modelled);
}

/* The pids, tids, CPUs or cgroup of the scope. */
static void put_target(struct td_profile_writer *writer, const struct td_request *request)
{
    struct td_buf buf = {0};
    char *cpus = NULL;
    char word[16];

    for (size_t i = 0; i < request->id_count; i++) {
        const int len = snprintf(word, sizeof(word), "%s%u", i ? "," : "", request->ids[i]);

        td_buf_bytes(&buf, word, (size_t)len);
    }
    td_buf_u8(&buf, 0);
    put(writer, TD_ENV_TARGET, (const char *)buf.data);
    td_buf_release(&buf);
    put(writer, TD_ENV_TARGET, request->cgroup);
    if (request->scope == TD_SCOPE_CPUS) {
        cpus = td_cpulist_text(&request->cpus);
        put(writer, TD_ENV_TARGET, cpus);
        free(cpus);
    }
}

/* What a later reader needs to understand the counts: the descriptions themselves, so that a core
 * that it does not know is no riddle, and what of them the kernel said here. */
static void put_cores(struct td_profile_writer *writer, const struct td_caps *caps,
                      const struct td_plan *plan)
{
    char name[TD_CORE_NAME_MAX], width[32];

    for (const char *at = plan->core; *at;) {
        const size_t len = strcspn(at, ",");

        snprintf(name, sizeof(name), "%.*s", (int)len, at);
        at += len + (at[len] == ',');
        const struct td_uarch_builtin *core = td_uarch_builtin(name);
        char *text = core ? td_xstrndup(core->text, core->size) : NULL;
        put(writer, TD_ENV_CORE_TEXT, text);
        free(text);
    }
    for (size_t i = 0; i < caps->pmu_count; i++) {
        if (!caps->pmus[i].core || caps->pmus[i].slot_width == 0)
            continue;
        snprintf(width, sizeof(width), "slot_width=%u", caps->pmus[i].slot_width);
        put(writer, TD_ENV_PARAMETER, width);
        return;
    }
}

void td_env_write(struct td_profile_writer *writer, const struct td_caps *caps,
                  const struct td_request *request, const struct td_plan *plan)
{
    char left_out[768];

    put(writer, TD_ENV_RECORDER, "tdrec " TD_VERSION);
    for (char **word = request->command; word && *word; word++)
        td_profile_env(writer, td_env_key_name(TD_ENV_ARGV), *word);
    put(writer, TD_ENV_SOURCE, td_source_name(plan->source));
    put(writer, TD_ENV_SOURCE_REASON, plan->source_reason);
    put(writer, TD_ENV_CORE, plan->core);
    if (plan->source == TD_SOURCE_PMU)
        put_cores(writer, caps, plan);
    /* A model sees every call and return. */
    const bool modelled = plan->group_count == 0;
    put_machine(writer, caps, modelled);
    put(writer, TD_ENV_CALL_GRAPH, modelled ? "exact" : td_call_graph_name(request->call_graph));
    if (plan->frequency_hz)
        put_number(writer, TD_ENV_FREQUENCY, plan->frequency_hz);
    if (request->period)
        put_number(writer, TD_ENV_PERIOD, request->period);
    put(writer, TD_ENV_SCOPE, td_scope_name(plan->scope));
    put_target(writer, request);
    if (!modelled)
        put(writer, TD_ENV_METHOD, td_method_name(plan->method));
    put(writer, TD_ENV_PRIVILEGE, plan->privilege);
    put(writer, TD_ENV_RANK, td_output_rank());
    if (plan->passes > 1) {
        char text[32];

        snprintf(text, sizeof(text), "passes=%u", plan->passes);
        put(writer, TD_ENV_PARAMETER, text);
    }
    for (size_t i = 0; i < plan->left_out_count; i++) {
        if (td_plan_left_out_text(plan, i, left_out, sizeof(left_out)))
            put(writer, TD_ENV_LEFT_OUT, left_out);
    }
}

void td_env_exit_text(char *text, size_t size, int status)
{
    if (WIFSIGNALED(status))
        snprintf(text, size, "signal %d", WTERMSIG(status));
    else
        snprintf(text, size, "exit %d", WEXITSTATUS(status));
}

void td_env_write_exit(struct td_profile_writer *writer, int status)
{
    char text[32];

    td_env_exit_text(text, sizeof(text), status);
    put(writer, TD_ENV_EXIT, text);
}
