/* SPDX-License-Identifier: MIT */
#include "record/event_names.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"
#include "base/text.h"

/* include/uapi/linux/perf_event.h, enum perf_sw_ids and perf_hw_id; names as perf list has them. */
static const struct named_event {
    const char *name, *alias;
    uint32_t type;
    uint64_t config;
    enum td_unit unit;
} named_events[] = {
    {"cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, TD_UNIT_NS},
    {"task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, TD_UNIT_NS},
    {"page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, TD_UNIT_COUNT},
    {"minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, TD_UNIT_COUNT},
    {"major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, TD_UNIT_COUNT},
    {"context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, TD_UNIT_COUNT},
    {"cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS,
     TD_UNIT_COUNT},
    {"alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, TD_UNIT_COUNT},
    {"emulation-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, TD_UNIT_COUNT},
    {"cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, TD_UNIT_CYCLES},
    {"instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, TD_UNIT_INSTRUCTIONS},
    {"cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, TD_UNIT_COUNT},
    {"cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, TD_UNIT_COUNT},
    {"branch-instructions", "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
     TD_UNIT_COUNT},
    {"branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, TD_UNIT_COUNT},
    {"bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, TD_UNIT_COUNT},
    {"stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE,
     PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, TD_UNIT_COUNT},
    {"stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE,
     PERF_COUNT_HW_STALLED_CYCLES_BACKEND, TD_UNIT_COUNT},
    {"ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, TD_UNIT_COUNT},
};

/* perf_event.h: config = cache | operation << 8 | result << 16, written "L1-dcache-load-misses". */
static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB",
                                     "iTLB",      "branch",    "node"};
static const char *const operations[] = {"load", "store", "prefetch"};

static bool is(const char *name, size_t len, const char *word)
{
    return word && strlen(word) == len && strncmp(name, word, len) == 0;
}

static bool find_named(struct td_event_code *ret, const char *name, size_t len)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(named_events); i++) {
        const struct named_event *e = &named_events[i];

        if (!is(name, len, e->name) && !is(name, len, e->alias))
            continue;
        *ret = (struct td_event_code){.type = e->type,
                                      .config = e->config,
                                      .unit = e->unit,
                                      .hardware = e->type == PERF_TYPE_HARDWARE};
        snprintf(ret->name, sizeof(ret->name), "%s", e->name);
        return true;
    }
    return false;
}

/* "loads" and "load-misses" are the forms after a cache's name. */
static bool find_cache(struct td_event_code *ret, const char *name, size_t len)
{
    char word[sizeof(ret->name)];

    for (size_t i = 0; i < TD_ARRAY_SIZE(caches) * TD_ARRAY_SIZE(operations) * 2; i++) {
        const size_t cache = i / 6, operation = i / 2 % 3, miss = i % 2;
        const char *verb = operations[operation];

        snprintf(word, sizeof(word), "%s-%s%s", caches[cache], verb,
                 miss             ? "-misses"
                 : operation == 2 ? "es"
                                  : "s");
        if (!is(name, len, word))
            continue;
        *ret = (struct td_event_code){.type = PERF_TYPE_HW_CACHE,
                                      .config = cache | operation << 8 | miss << 16,
                                      .unit = TD_UNIT_COUNT,
                                      .hardware = true};
        snprintf(ret->name, sizeof(ret->name), "%s", word);
        return true;
    }
    return false;
}

static bool find_raw(struct td_event_code *ret, const char *name, size_t len)
{
    char digits[17];

    if (len < 2 || len > sizeof(digits) || name[0] != 'r')
        return false;
    snprintf(digits, sizeof(digits), "%.*s", (int)len - 1, name + 1);
    *ret = (struct td_event_code){.type = PERF_TYPE_RAW, .unit = TD_UNIT_COUNT, .hardware = true};
    snprintf(ret->name, sizeof(ret->name), "%.*s", (int)len, name);
    return td_parse_u64_base(digits, 16, &ret->config);
}

static int unknown_event(const char *name, size_t len, struct td_err *err)
{
    const char *names[TD_ARRAY_SIZE(named_events) + 1] = {NULL};
    char *word = td_xstrndup(name, len);

    for (size_t i = 0; i < TD_ARRAY_SIZE(named_events); i++)
        names[i] = named_events[i].name;
    const char *near = td_nearest(word, names);
    const int rc =
        td_fail(err, TD_EUSAGE, "there is no event '%s'%s%s%s", word,
                near ? ": did you mean " : "; 'perf list' names them, r1c0 is a raw code",
                near ? near : "", near ? "?" : "");
    free(word);
    return rc;
}

int td_event_find(struct td_event_code *ret, const struct td_caps *caps, const char *name,
                  size_t len, struct td_err *err)
{
    if (!find_named(ret, name, len) && !find_cache(ret, name, len) && !find_raw(ret, name, len))
        return unknown_event(name, len, err);
    if (!ret->hardware || td_caps_core_pmu(caps))
        return TD_OK;
    return td_fail(err, TD_EUNSUPPORTED,
                   "event '%s' cannot be opened: this machine has no core PMU%s%s%s; software "
                   "events such as cpu-clock and page-faults can",
                   ret->name, caps->hypervisor[0] ? " (hypervisor: " : "", caps->hypervisor,
                   caps->hypervisor[0] ? ")" : "");
}
