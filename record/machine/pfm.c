/* SPDX-License-Identifier: MIT */
#include "record/machine/pfm.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include "base/mem.h"
#include "base/names.h"

#define INACTIVE "LIBPFM_ENCODE_INACTIVE"

/* Encodings that version 4.13 has wrong: they open without an error and count another thing. Found
 * by comparing its tables with Intel's event files. */
static const struct correction {
    const char *pmu, *name;
    uint64_t config, config1;
} corrections[] = {
    {"spr", "TOPDOWN:BACKEND_BOUND_SLOTS", 0x2a4, 0},
    {"spr", "TOPDOWN:BAD_SPEC_SLOTS", 0x4a4, 0},
    {"spr", "TOPDOWN:BR_MISPREDICT_SLOTS", 0x8a4, 0},
    {"spr", "TOPDOWN:MEMORY_BOUND_SLOTS", 0x10a4, 0},
    {"icl", "TOPDOWN:BACKEND_BOUND_SLOTS", 0x2a4, 0},
    {"icx", "TOPDOWN:BACKEND_BOUND_SLOTS", 0x2a4, 0},
    {"spr", "UOPS_RETIRED:MS", 0x4c2, 0x8},
    {"spr", "INT_MISC:UNKNOWN_BRANCH_CYCLES", 0x40ad, 0x7},
    {"spr", "MEM_TRANS_RETIRED:STORE_SAMPLE", 0x2cd, 0},
    {"spr", "INST_RETIRED:ANY", 0x100, 0},
    {"spr", "ARITH:IDIV_ACTIVE", 0x10008b0, 0},
    {"icl", "MEM_LOAD_MISC_RETIRED:UC", 0x4d4, 0},
    {"icx", "MEM_LOAD_MISC_RETIRED:UC", 0x4d4, 0},
    {"skx", "UOPS_RETIRED:STALL_CYCLES", 0x18002c2, 0},
    {"clx", "UOPS_RETIRED:STALL_CYCLES", 0x18002c2, 0},
    /* Git versions after 4.13 have these tables. */
    {"gnr", "TOPDOWN:BACKEND_BOUND_SLOTS", 0x2a4, 0},
    {"gnr", "TOPDOWN:BAD_SPEC_SLOTS", 0x4a4, 0},
    {"gnr", "TOPDOWN:BR_MISPREDICT_SLOTS", 0x8a4, 0},
    {"gnr", "TOPDOWN:MEMORY_BOUND_SLOTS", 0x10a4, 0},
    {"gnr", "FRONTEND_RETIRED:MISP_ANT", 0x2c6, 0x9},
};

/* Names of ours and the library's for the same thing. */
static const struct pair {
    const char *event, *name;
} pairs[] = {
    {"slots", "TOPDOWN:SLOTS"},
    {"slots_p", "TOPDOWN:SLOTS_P"},
    {"uop_dropping", "INT_MISC:UOP_DROPPING"},
    {"clears_count", "INT_MISC:CLEARS_COUNT"},
    {"clears", "MACHINE_CLEARS:COUNT"},
    {"br_inst_retired", "BR_INST_RETIRED:ALL_BRANCHES"},
    {"br_misp_retired", "BR_MISP_RETIRED:ALL_BRANCHES"},
    {"mem_load_l1_hit", "MEM_LOAD_RETIRED:L1_HIT"},
    {"mem_load_l2_hit", "MEM_LOAD_RETIRED:L2_HIT"},
    {"mem_load_l3_hit", "MEM_LOAD_RETIRED:L3_HIT"},
    {"mem_load_l1_miss", "MEM_LOAD_RETIRED:L1_MISS"},
    {"mem_load_l2_miss", "MEM_LOAD_RETIRED:L2_MISS"},
    {"mem_load_l3_miss", "MEM_LOAD_RETIRED:L3_MISS"},
    {"mem_all_loads", "MEM_INST_RETIRED:ALL_LOADS"},
    {"mem_all_stores", "MEM_INST_RETIRED:ALL_STORES"},
    {"mem_stlb_miss_loads", "MEM_INST_RETIRED:STLB_MISS_LOADS"},
    {"mem_stlb_miss_stores", "MEM_INST_RETIRED:STLB_MISS_STORES"},
    {"fe_latency_ge_4", "FRONTEND_RETIRED:LATENCY_GE_4"},
    {"fe_latency_ge_16", "FRONTEND_RETIRED:LATENCY_GE_16"},
    {"fe_l1i_miss", "FRONTEND_RETIRED:L1I_MISS"},
    {"fe_itlb_miss", "FRONTEND_RETIRED:ITLB_MISS"},
    {"uops_issued", "UOPS_ISSUED:ANY"},
    {"ports_1", "EXE_ACTIVITY:1_PORTS_UTIL"},
    {"ports_2", "EXE_ACTIVITY:2_PORTS_UTIL"},
    {"bound_on_stores", "EXE_ACTIVITY:BOUND_ON_STORES"},
    {"ops_retired", "RETIRED_OPS"},
    {"cycles", "CYCLES_NOT_IN_HALT"},
    {"backend_bound_slots", "TOPDOWN:BACKEND_BOUND_SLOTS"},
    {"op_spec", "OP_SPEC"},
    {"op_retired", "OP_RETIRED"},
    {"stall_slot", "STALL_SLOT"},
    {"stall_slot_frontend", "STALL_SLOT_FRONTEND"},
    {"stall_slot_backend", "STALL_SLOT_BACKEND"},
    {"br_mis_pred", "BR_MIS_PRED"},
};

/* Tables of machines other than this one are there when this variable is set before the first call;
 * the command must not see it. */
static bool ready(void)
{
    const char *old = getenv(INACTIVE);

    if (!old)
        setenv(INACTIVE, "1", 1);
    const bool good = pfm_initialize() == PFM_SUCCESS;
    if (!old)
        unsetenv(INACTIVE);
    return good;
}

/* "A.B.C" is A:B_C in the library. */
static char *library_name(const struct td_pmu_core *core, const char *name, size_t len)
{
    char *word = td_xstrndup(name, len);
    char *dot = strchr(word, '.');

    if (dot) {
        *dot = ':';
        for (char *p = dot; (p = strchr(p, '.'));)
            *p = '_';
    }
    char *full = strstr(word, "::") ? td_xstrdup(word) : td_xasprintf("%s::%s", core->libpfm, word);
    free(word);
    return full;
}

static const struct correction *find_correction(const char *full)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(corrections); i++) {
        const struct correction *c = &corrections[i];
        const size_t pmu = strlen(c->pmu);

        if (strncmp(full, c->pmu, pmu) == 0 && strncmp(full + pmu, "::", 2) == 0 &&
            strcasecmp(full + pmu + 2, c->name) == 0)
            return c;
    }
    return NULL;
}

/* As the library's tables have it, nothing corrected. */
static bool encode(struct td_pfm_code *ret, const char *full)
{
    struct perf_event_attr attr = {.size = sizeof(attr)};
    pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};

    if (!ready() || pfm_get_os_event_encoding(full, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT,
                                              &arg) != PFM_SUCCESS)
        return false;
    *ret = (struct td_pfm_code){.config = {attr.config, attr.config1, attr.config2},
                                .exclude_user = attr.exclude_user,
                                .exclude_kernel = attr.exclude_kernel};
    return true;
}

bool td_pfm_find(struct td_pfm_code *ret, const struct td_pmu_core *core, const char *name,
                 size_t len)
{
    bool found = false;

    if (!core->libpfm && !memmem(name, len, "::", 2))
        return false;
    char *full = library_name(core, name, len);
    const struct correction *right = find_correction(full);
    found = encode(ret, full);
    if (found && right) {
        ret->config[0] = right->config;
        ret->config[1] = right->config1;
        ret->corrected = true;
    }
    free(full);
    return found;
}

static pfm_pmu_t find_table(const char *name)
{
    for (int pmu = PFM_PMU_NONE; pmu < PFM_PMU_MAX; pmu++) {
        pfm_pmu_info_t info = {.size = sizeof(info)};

        if (pfm_get_pmu_info((pfm_pmu_t)pmu, &info) == PFM_SUCCESS && strcmp(info.name, name) == 0)
            return (pfm_pmu_t)pmu;
    }
    return PFM_PMU_NONE;
}

static void add_masks(struct td_names *names, int event, int count)
{
    for (int i = 0; i < count; i++) {
        pfm_event_attr_info_t mask = {.size = sizeof(mask)};

        if (pfm_get_event_attr_info(event, i, PFM_OS_NONE, &mask) == PFM_SUCCESS &&
            mask.type == PFM_ATTR_UMASK)
            td_names_add(names, mask.name);
    }
}

/* The names of a table's events, or of the masks of its event `of`; released by the caller. */
static struct td_names table_names(const char *table, const char *of)
{
    pfm_pmu_info_t info = {.size = sizeof(info)};
    const pfm_pmu_t pmu = find_table(table);
    struct td_names names = {0};

    if (pmu == PFM_PMU_NONE || pfm_get_pmu_info(pmu, &info) != PFM_SUCCESS)
        return names;
    for (int i = info.first_event; i != -1; i = pfm_get_event_next(i)) {
        pfm_event_info_t event = {.size = sizeof(event)};

        if (pfm_get_event_info(i, PFM_OS_NONE, &event) != PFM_SUCCESS)
            continue;
        if (!of)
            td_names_add(&names, event.name);
        else if (strcasecmp(event.name, of) == 0)
            add_masks(&names, i, event.nattrs);
    }
    return names;
}

char *td_pfm_near(const struct td_pmu_core *core, const char *word)
{
    char *ret = NULL;

    if (!core->libpfm || !ready())
        return NULL;
    char *event = td_xstrndup(word, strcspn(word, ":."));
    const char *mask = word[strlen(event)] ? word + strlen(event) + 1 : NULL;
    struct td_names masks = table_names(core->libpfm, event);
    if (masks.count && mask) {
        const char *near = td_names_nearest(&masks, mask);

        ret = td_xasprintf("%s:%s", event, near ? near : masks.items[0]);
    } else if (masks.count == 0) {
        struct td_names events = table_names(core->libpfm, NULL);
        const char *near = td_names_nearest(&events, event);

        ret = near ? td_xstrdup(near) : NULL;
        td_names_release(&events);
    }
    td_names_release(&masks);
    free(event);
    return ret;
}

/* Skylake's precise form of the retired branches is another mask of the same event (0x4c5, 0xc5).
 */
#define PRECISE_BRANCHES 0x400

static bool same_count(const struct td_pmu_event *ours, const struct td_pfm_code *theirs)
{
    const uint64_t code = ours->config & 0xff;
    const bool branches = code == 0xc4 || code == 0xc5;
    const uint64_t differ = ours->config ^ theirs->config[0];

    return (differ == 0 || (branches && differ == PRECISE_BRANCHES)) &&
           ours->config1 == theirs->config[1];
}

size_t td_pfm_compare(const struct td_pmu_core *core, struct td_pfm_difference *ret, size_t max,
                      size_t *compared)
{
    size_t count = 0;

    *compared = 0;
    for (size_t i = 0; i < TD_ARRAY_SIZE(pairs) && core->libpfm; i++) {
        const int index = td_pmu_core_event(core, pairs[i].event);
        struct td_pfm_code theirs;

        if (index < 0)
            continue;
        char *full = library_name(core, pairs[i].name, strlen(pairs[i].name));
        const bool found = encode(&theirs, full);
        free(full);
        if (!found)
            continue;
        const struct td_pmu_event *ours = &core->events[index];
        ++*compared;
        if (same_count(ours, &theirs))
            continue;
        if (count < max)
            ret[count] = (struct td_pfm_difference){
                .event = ours->name,
                .pfm_name = pairs[i].name,
                .ours = {ours->config, ours->config1},
                .theirs = {theirs.config[0], theirs.config[1]},
            };
        count++;
    }
    return count;
}
