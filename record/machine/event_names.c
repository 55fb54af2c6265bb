/* SPDX-License-Identifier: MIT */
#include "record/machine/event_names.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "base/opt.h"
#include "base/text.h"
#include "formats/cores/names.h"
#include "record/machine/event_terms.h"
#include "record/machine/pfm.h"
#include "record/machine/pmu_core.h"

/* include/uapi/linux/perf_event.h, enum perf_sw_ids and perf_hw_id; names as perf list has them. */
static const struct named_event {
    const char *name, *alias;
    uint64_t config;
    uint32_t type;
    enum td_unit unit;
} named_events[] = {
    {"cpu-clock", NULL, PERF_COUNT_SW_CPU_CLOCK, PERF_TYPE_SOFTWARE, TD_UNIT_NS},
    {"task-clock", NULL, PERF_COUNT_SW_TASK_CLOCK, PERF_TYPE_SOFTWARE, TD_UNIT_NS},
    {"page-faults", "faults", PERF_COUNT_SW_PAGE_FAULTS, PERF_TYPE_SOFTWARE, TD_UNIT_COUNT},
    {"minor-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_TYPE_SOFTWARE, TD_UNIT_COUNT},
    {"major-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_TYPE_SOFTWARE, TD_UNIT_COUNT},
    {"context-switches", "cs", PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_TYPE_SOFTWARE, TD_UNIT_COUNT},
    {"cpu-migrations", "migrations", PERF_COUNT_SW_CPU_MIGRATIONS, PERF_TYPE_SOFTWARE,
     TD_UNIT_COUNT},
    {"alignment-faults", NULL, PERF_COUNT_SW_ALIGNMENT_FAULTS, PERF_TYPE_SOFTWARE, TD_UNIT_COUNT},
    {"emulation-faults", NULL, PERF_COUNT_SW_EMULATION_FAULTS, PERF_TYPE_SOFTWARE, TD_UNIT_COUNT},
    {"cycles", "cpu-cycles", PERF_COUNT_HW_CPU_CYCLES, PERF_TYPE_HARDWARE, TD_UNIT_CYCLES},
    {"instructions", NULL, PERF_COUNT_HW_INSTRUCTIONS, PERF_TYPE_HARDWARE, TD_UNIT_INSTRUCTIONS},
    {"cache-references", NULL, PERF_COUNT_HW_CACHE_REFERENCES, PERF_TYPE_HARDWARE, TD_UNIT_COUNT},
    {"cache-misses", NULL, PERF_COUNT_HW_CACHE_MISSES, PERF_TYPE_HARDWARE, TD_UNIT_COUNT},
    {"branch-instructions", "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_TYPE_HARDWARE,
     TD_UNIT_COUNT},
    {"branch-misses", NULL, PERF_COUNT_HW_BRANCH_MISSES, PERF_TYPE_HARDWARE, TD_UNIT_COUNT},
    {"bus-cycles", NULL, PERF_COUNT_HW_BUS_CYCLES, PERF_TYPE_HARDWARE, TD_UNIT_COUNT},
    {"stalled-cycles-frontend", "idle-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
     PERF_TYPE_HARDWARE, TD_UNIT_COUNT},
    {"stalled-cycles-backend", "idle-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
     PERF_TYPE_HARDWARE, TD_UNIT_COUNT},
    {"ref-cycles", NULL, PERF_COUNT_HW_REF_CPU_CYCLES, PERF_TYPE_HARDWARE, TD_UNIT_COUNT},
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
                                      .config = {e->config},
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
                                      .config = {cache | operation << 8 | miss << 16},
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
    return td_parse_u64_base(digits, 16, &ret->config[0]);
}

static void set_code(struct td_event_code *ret, const struct td_pmu *pmu, const char *name,
                     size_t len)
{
    ret->type = pmu->type;
    ret->pmu = pmu;
    ret->hardware = true;
    snprintf(ret->name, sizeof(ret->name), "%.*s", (int)len, name);
}

/* What a code counts, where it matters for how it is used. */
static void set_unit(struct td_event_code *ret)
{
    const uint64_t low = ret->config[0] & 0xffff;

    ret->unit = TD_UNIT_COUNT;
    if (!ret->pmu || !ret->pmu->slots)
        return;
    if (ret->config[0] == TD_CONFIG_SLOTS || (low >= TD_CONFIG_METRICS && low <= 0x8700))
        ret->unit = TD_UNIT_SLOTS;
}

/* "PMU/terms/" */
static int find_terms(struct td_event_code *ret, const struct td_caps *caps, const char *name,
                      size_t len, struct td_err *err)
{
    const size_t pmu_len = strcspn(name, "/");
    const char *names[128] = {NULL};

    for (size_t i = 0; i < caps->pmu_count; i++) {
        const struct td_pmu *pmu = &caps->pmus[i];

        if (i + 1 < TD_ARRAY_SIZE(names))
            names[i] = pmu->name;
        if (!is(name, pmu_len, pmu->name))
            continue;
        if (len < pmu_len + 2 || name[len - 1] != '/')
            return td_fail(err, TD_EUSAGE, "'%.*s': the closing slash is missing", (int)len, name);
        set_code(ret, pmu, name, len);
        const int rc =
            td_terms_encode(pmu, name + pmu_len + 1, len - pmu_len - 2, ret->config, err);
        set_unit(ret);
        return rc;
    }
    char *word = td_xstrndup(name, pmu_len);
    const char *near = td_nearest(word, names);
    const int rc = td_fail(err, TD_EUNSUPPORTED, "this machine has no PMU '%s'%s%s%s", word,
                           near ? ": did you mean " : "", near ? near : "", near ? "?" : "");
    free(word);
    return rc;
}

/* A core PMU's event of sysfs, the one of the slots before that of the small cores. */
static bool find_sysfs(struct td_event_code *ret, const struct td_caps *caps, const char *name,
                       size_t len)
{
    const struct td_pmu *found = NULL;

    for (size_t i = 0; i < caps->pmu_count; i++) {
        const struct td_pmu *pmu = &caps->pmus[i];

        if (pmu->core && td_terms_event(pmu, name, len) && (!found || pmu->slots))
            found = pmu;
    }
    if (!found)
        return false;
    const char *terms = td_terms_event(found, name, len);
    set_code(ret, found, name, len);
    const bool good = td_terms_encode(found, terms, strlen(terms), ret->config, NULL) == TD_OK;
    set_unit(ret);
    return good;
}

/* perf writes "-" where descriptions have "_". */
static bool same_name(const char *described, const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (described[i] != name[i] && !(described[i] == '_' && name[i] == '-'))
            return false;
    }
    return described[len] == '\0';
}

/* An event of the core's description, of its vendor's list, or of the table that libpfm4 has. */
static bool find_described(struct td_event_code *ret, const struct td_caps *caps,
                           const struct td_pmu *pmu, const char *name, size_t len)
{
    struct td_pmu_choice choice = {0};
    struct td_vendor_event vendors;
    struct td_pfm_code code;
    bool found = false;

    if (td_pmu_choose(&choice, caps, pmu, NULL) < 0)
        return false;
    for (size_t i = 0; i < choice.core->event_count && !found; i++) {
        const struct td_pmu_event *event = &choice.core->events[i];

        if (event->given || !same_name(event->name, name, len))
            continue;
        found = true;
        set_code(ret, pmu, event->name, strlen(event->name));
        ret->config[0] = event->config;
        ret->config[1] = event->config1;
        if (choice.core->type >= 0)
            ret->type = (uint32_t)choice.core->type;
    }
    if (!found && td_vendor_event_find(&vendors, choice.core->name, name, len)) {
        found = true;
        set_code(ret, pmu, name, len);
        ret->config[0] = vendors.config;
        ret->config[1] = vendors.config1;
    }
    if (!found && td_pfm_find(&code, choice.core, name, len)) {
        found = true;
        set_code(ret, pmu, name, len);
        memcpy(ret->config, code.config, sizeof(ret->config));
        ret->exclude_user = code.exclude_user;
        ret->exclude_kernel = code.exclude_kernel;
    }
    if (found)
        set_unit(ret);
    td_pmu_choice_release(&choice);
    return found;
}

static bool find_in_tables(struct td_event_code *ret, const struct td_caps *caps, const char *name,
                           size_t len)
{
    for (int slots = 1; slots >= 0; slots--) {
        for (size_t i = 0; i < caps->pmu_count; i++) {
            const struct td_pmu *pmu = &caps->pmus[i];

            if (pmu->core && pmu->slots == (slots != 0) &&
                find_described(ret, caps, pmu, name, len))
                return true;
        }
    }
    return false;
}

/* Suggests of every name there is for an event of this machine. */
static int unknown_event(const struct td_caps *caps, const char *name, size_t len,
                         struct td_err *err)
{
    const struct td_pmu *pmu = td_caps_core_pmu(caps);
    struct td_pmu_choice choice = {0};
    struct td_names names = {0};
    char *word = td_xstrndup(name, len), *from_table = NULL;

    for (size_t i = 0; i < TD_ARRAY_SIZE(named_events); i++)
        td_names_add(&names, named_events[i].name);
    for (size_t i = 0; pmu && i < pmu->event_count; i++)
        td_names_add(&names, pmu->events[i].name);
    const bool described = pmu && td_pmu_choose(&choice, caps, pmu, NULL) == TD_OK;
    for (size_t i = 0; described && i < choice.core->event_count; i++)
        if (!choice.core->events[i].given)
            td_names_add(&names, choice.core->events[i].name);
    const char *near = td_names_nearest(&names, word);
    if (!near && described)
        near = from_table = td_vendor_event_near(choice.core->name, word);
    if (!near && described)
        near = from_table = td_pfm_near(choice.core, word);
    const int rc =
        td_fail(err, TD_EUSAGE, "there is no event '%s'%s%s%s", word,
                near ? ": did you mean " : "; 'perf list' names them, r1c0 is a raw code",
                near ? near : "", near ? "?" : "");
    free(from_table);
    td_names_release(&names);
    free(word);
    td_pmu_choice_release(&choice);
    return rc;
}

int td_event_find(struct td_event_code *ret, const struct td_caps *caps, const char *name,
                  size_t len, struct td_err *err)
{
    if (memchr(name, '/', len))
        return find_terms(ret, caps, name, len, err);
    if (!find_named(ret, name, len) && !find_cache(ret, name, len) && !find_raw(ret, name, len)) {
        if (find_sysfs(ret, caps, name, len) || find_in_tables(ret, caps, name, len))
            return TD_OK;
        return unknown_event(caps, name, len, err);
    }
    if (!ret->hardware || td_caps_core_pmu(caps))
        return TD_OK;
    return td_fail(err, TD_EUNSUPPORTED,
                   "event '%s' cannot be opened: this machine has no core PMU%s%s%s; software "
                   "events such as cpu-clock and page-faults can",
                   ret->name, caps->hypervisor[0] ? " (hypervisor: " : "", caps->hypervisor,
                   caps->hypervisor[0] ? ")" : "");
}
