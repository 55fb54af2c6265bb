/* SPDX-License-Identifier: MIT */
/*
 * What the drivers of the PMUs refuse, and which counter can count what: the constraint tables of
 * arch/x86/events/intel/core.c and ds.c, amd/core.c and ibs.c, drivers/perf/arm_pmuv3.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/plan/double.h"

#define FIXED(n)      (UINT64_C(1) << (32 + (n)))
#define LOW4          UINT64_C(0xf)
#define ANY_UMASK     (-1)
#define BIT_ANY       (UINT64_C(1) << 21)
#define MODIFIERS     UINT64_C(0x3ffac0000) /* edge, pc, any, inv, cmask, in_tx, in_tx_cp */
#define SLOTS_CONFIG  0x400
#define SWFILT        UINT64_C(1)
#define METRICS_TOTAL 8

/* A range of event codes, one unit mask or any: these counters. The first that matches counts. */
struct constraint {
    unsigned low, high;
    int umask;
    uint64_t counters;
};

struct cpu_range {
    unsigned family, low, high;
};

struct double_model {
    const char *name, *pmu; /* PMU's name, or NULL for any core PMU */
    const char *vendor;
    struct cpu_range cpus[12];
    unsigned counters, counters_smt, fixed;
    unsigned metrics;      /* perf metrics events that the kernel knows */
    unsigned kernel;       /* major << 16 | minor that knows the model; 0: all */
    unsigned front_end;    /* event and umask that use MSR 0x3F7; 0: none */
    uint64_t front_end_c1; /* the bits that may be set there */
    bool any;              /* AnyThread */
    bool pdist;            /* precise_ip 3 needs a certain counter */
    bool load_aux;         /* load latency with its data source needs an auxiliary event */
    bool call_stack;       /* LBR call stacks */
    bool branches;         /* any branch records */
    const struct constraint *constraints;
};

#define COMMON_FIXED               \
    {0xc0, 0xc0, 0x00, FIXED(0)},  \
    {                              \
        0x3c, 0x3c, 0x00, FIXED(1) \
    }
#define CODE_0_FIXED                                                                          \
    {0x00, 0x00, 0x01, FIXED(0)}, {0x00, 0x00, 0x02, FIXED(1)}, {0x00, 0x00, 0x03, FIXED(2)}, \
    {                                                                                         \
        0x00, 0x00, 0x04, FIXED(3)                                                            \
    }

static const struct constraint skl[] = {
    COMMON_FIXED,
    {0x00, 0x00, 0x03, FIXED(2)},
    {0xc0, 0xc0, 0x01, 0x2},
    {0xcd, 0xcd, ANY_UMASK, LOW4},
    {0xd0, 0xd2, ANY_UMASK, LOW4},
    {0xc6, 0xc6, ANY_UMASK, LOW4},
    {0},
};
static const struct constraint hsw[] = {
    COMMON_FIXED,
    {0x00, 0x00, 0x03, FIXED(2)},
    {0x48, 0x48, 0x01, 0x4},
    {0xc0, 0xc0, 0x01, 0x2},
    {0xcd, 0xcd, ANY_UMASK, 0x8},
    {0xa3, 0xa3, 0x08, 0x4},
    {0xa3, 0xa3, 0x0c, 0x4},
    {0xa3, 0xa3, 0x04, LOW4},
    {0xd0, 0xd3, ANY_UMASK, LOW4},
    {0},
};
static const struct constraint bdw[] = {
    COMMON_FIXED,
    {0x00, 0x00, 0x03, FIXED(2)},
    {0x48, 0x48, 0x01, 0x4},
    {0xc0, 0xc0, 0x01, 0x2},
    {0xa3, 0xa3, 0x08, 0x4},
    {0xa3, 0xa3, 0x0c, 0x4},
    {0xcd, 0xcd, ANY_UMASK, LOW4},
    {0xd0, 0xd3, ANY_UMASK, LOW4},
    {0},
};
static const struct constraint icl[] = {
    COMMON_FIXED,
    CODE_0_FIXED,
    {0x03, 0x0a, ANY_UMASK, LOW4},
    {0x1f, 0x28, ANY_UMASK, LOW4},
    {0x32, 0x32, ANY_UMASK, LOW4},
    {0x48, 0x56, ANY_UMASK, LOW4},
    {0x60, 0x8b, ANY_UMASK, LOW4},
    {0xa3, 0xa3, 0x04, 0xff},
    {0xa3, 0xa3, 0x10, 0xff},
    {0xa3, 0xa3, 0x14, 0xff},
    {0xa3, 0xa3, ANY_UMASK, LOW4},
    {0xa8, 0xb0, ANY_UMASK, LOW4},
    {0xb7, 0xbd, ANY_UMASK, LOW4},
    {0xd0, 0xe6, ANY_UMASK, LOW4},
    {0xef, 0xef, ANY_UMASK, LOW4},
    {0xf0, 0xf4, ANY_UMASK, LOW4},
    {0},
};
static const struct constraint glc[] = {
    COMMON_FIXED,
    CODE_0_FIXED,
    {0x2e, 0x2e, ANY_UMASK, 0xff},
    {0x3c, 0x3c, ANY_UMASK, 0xff},
    {0x01, 0x8f, ANY_UMASK, LOW4},
    {0xa4, 0xa4, 0x04, 0x1},
    {0xa4, 0xa4, 0x08, 0x1},
    {0xcd, 0xcd, 0x01, 0xfe},
    {0xcd, 0xcd, 0x02, 0x1},
    {0xce, 0xce, ANY_UMASK, 0x1},
    {0xd0, 0xdf, ANY_UMASK, LOW4},
    {0},
};
static const struct constraint lnc[] = {
    COMMON_FIXED,
    CODE_0_FIXED,
    {0xa4, 0xa4, 0x04, 0x1},
    {0xa4, 0xa4, 0x08, 0x1},
    {0xa4, 0xa4, 0x10, 0x8},
    {0xcd, 0xcd, 0x01, 0x3fc},
    {0xcd, 0xcd, 0x02, 0x3},
    {0xd0, 0xdf, ANY_UMASK, LOW4},
    {0},
};
static const struct constraint atom[] = {COMMON_FIXED, {0x00, 0x00, 0x03, FIXED(2)}, {0}};
static const struct constraint arm[] = {{0x11, 0x11, ANY_UMASK, FIXED(31)}, {0}};
static const struct constraint none[] = {{0}};

#define INTEL "GenuineIntel"
#define AMD   "AuthenticAMD"
#define V6_12 (6u << 16 | 12)

static const struct double_model models[] = {
    {.name = "haswell",
     .vendor = INTEL,
     .cpus = {{6, 60, 60}, {6, 63, 63}, {6, 69, 70}},
     .counters = 8,
     .counters_smt = 4,
     .fixed = 3,
     .any = true,
     .call_stack = true,
     .branches = true,
     .constraints = hsw},
    {.name = "broadwell",
     .vendor = INTEL,
     .cpus = {{6, 61, 61}, {6, 71, 71}, {6, 79, 79}, {6, 86, 86}},
     .counters = 8,
     .counters_smt = 4,
     .fixed = 3,
     .any = true,
     .call_stack = true,
     .branches = true,
     .constraints = bdw},
    {.name = "skylake",
     .vendor = INTEL,
     .cpus = {{6, 78, 78}, {6, 85, 85}, {6, 94, 94}, {6, 142, 142}, {6, 158, 158}, {6, 165, 166}},
     .counters = 8,
     .counters_smt = 4,
     .fixed = 3,
     .front_end = 0x1c6,
     .front_end_c1 = 0x7fff17,
     .any = true,
     .call_stack = true,
     .branches = true,
     .constraints = skl},
    {.name = "ice lake",
     .vendor = INTEL,
     .cpus = {{6, 106, 106}, {6, 108, 108}, {6, 125, 126}, {6, 140, 141}, {6, 167, 167}},
     .counters = 8,
     .counters_smt = 8,
     .fixed = 4,
     .metrics = 4,
     .front_end = 0x1c6,
     .front_end_c1 = 0x7fff17,
     .call_stack = true,
     .branches = true,
     .constraints = icl},
    {.name = "sapphire rapids",
     .vendor = INTEL,
     .cpus = {{6, 143, 143}, {6, 207, 207}},
     .counters = 8,
     .counters_smt = 8,
     .fixed = 4,
     .metrics = 8,
     .front_end = 0x1c6,
     .front_end_c1 = 0x7fff1f,
     .pdist = true,
     .load_aux = true,
     .call_stack = true,
     .branches = true,
     .constraints = glc},
    {.name = "golden cove",
     .vendor = INTEL,
     .pmu = "cpu_core",
     .cpus = {{6, 151, 151}, {6, 154, 154}, {6, 183, 183}, {6, 186, 186}, {6, 191, 191}},
     .counters = 8,
     .counters_smt = 8,
     .fixed = 4,
     .metrics = 8,
     .front_end = 0x1c6,
     .front_end_c1 = 0x7fff1f,
     .pdist = true,
     .load_aux = true,
     .call_stack = true,
     .branches = true,
     .constraints = glc},
    {.name = "granite rapids",
     .vendor = INTEL,
     .kernel = V6_12,
     .cpus = {{6, 173, 174}},
     .counters = 8,
     .counters_smt = 8,
     .fixed = 4,
     .metrics = 8,
     .front_end = 0x3c6,
     .front_end_c1 = 0x7fff1f,
     .pdist = true,
     .call_stack = true,
     .branches = true,
     .constraints = glc},
    {.name = "redwood cove",
     .vendor = INTEL,
     .pmu = "cpu_core",
     .kernel = V6_12,
     .cpus = {{6, 170, 172}, {6, 181, 181}},
     .counters = 8,
     .counters_smt = 8,
     .fixed = 4,
     .metrics = 8,
     .front_end = 0x3c6,
     .front_end_c1 = 0x7fff1f,
     .pdist = true,
     .call_stack = true,
     .branches = true,
     .constraints = glc},
    {.name = "lion cove",
     .vendor = INTEL,
     .pmu = "cpu_core",
     .kernel = V6_12,
     .cpus = {{6, 189, 189}, {6, 197, 198}},
     .counters = 10,
     .counters_smt = 10,
     .fixed = 4,
     .metrics = 8,
     .front_end = 0x3c6,
     .front_end_c1 = 0x7fff1f,
     .pdist = true,
     .call_stack = true,
     .branches = true,
     .constraints = lnc},
    {.name = "gracemont",
     .vendor = INTEL,
     .pmu = "cpu_atom",
     .cpus = {{6, 151, 151}, {6, 154, 154}, {6, 183, 183}, {6, 186, 186}, {6, 191, 191}},
     .counters = 6,
     .counters_smt = 6,
     .fixed = 3,
     .call_stack = true,
     .branches = true,
     .constraints = atom},
    {.name = "crestmont",
     .vendor = INTEL,
     .pmu = "cpu_atom",
     .kernel = V6_12,
     .cpus = {{6, 170, 172}, {6, 181, 181}},
     .counters = 8,
     .counters_smt = 8,
     .fixed = 3,
     .pdist = true,
     .call_stack = true,
     .branches = true,
     .constraints = atom},
    {.name = "sierra forest",
     .vendor = INTEL,
     .kernel = V6_12,
     .cpus = {{6, 175, 175}, {6, 182, 182}},
     .counters = 8,
     .counters_smt = 8,
     .fixed = 3,
     .pdist = true,
     .call_stack = true,
     .branches = true,
     .constraints = atom},
    {.name = "skymont",
     .vendor = INTEL,
     .pmu = "cpu_atom",
     .kernel = V6_12,
     .cpus = {{6, 189, 189}, {6, 197, 198}},
     .counters = 8,
     .counters_smt = 8,
     .fixed = 3,
     .pdist = true,
     .call_stack = true,
     .branches = true,
     .constraints = atom},
    {.name = "zen 1 and 2",
     .vendor = AMD,
     .cpus = {{23, 0, 255}},
     .counters = 6,
     .counters_smt = 6,
     .constraints = none},
    {.name = "zen 3 and 4",
     .vendor = AMD,
     .cpus = {{25, 0, 255}},
     .counters = 6,
     .counters_smt = 6,
     .branches = true,
     .constraints = none},
    {.name = "zen 5",
     .vendor = AMD,
     .cpus = {{26, 0, 255}},
     .counters = 6,
     .counters_smt = 6,
     .branches = true,
     .constraints = none},
    /* generic_arch_v5 and later: what CPUID leaf 10 tells. */
    {.name = "intel",
     .vendor = INTEL,
     .counters = 4,
     .counters_smt = 4,
     .fixed = 3,
     .constraints = atom},
};
static const struct double_model arm_model = {
    .name = "arm", .counters = 6, .counters_smt = 6, .fixed = 32, .constraints = arm};

/* "GenuineIntel-6-143-8" */
static bool is_model(const struct double_model *model, const struct td_caps *caps, const char *pmu)
{
    const size_t vendor = strlen(model->vendor);
    unsigned family = 0, number = 0;
    const char *p = caps->cpu_id + vendor;

    if (strncmp(caps->cpu_id, model->vendor, vendor) != 0 || *p != '-')
        return false;
    if (model->pmu && strcmp(model->pmu, pmu) != 0)
        return false;
    if (caps->kernel_version < model->kernel)
        return false;
    for (p++; *p >= '0' && *p <= '9'; p++)
        family = family * 10 + (unsigned)(*p - '0');
    for (p += *p == '-'; *p >= '0' && *p <= '9'; p++)
        number = number * 10 + (unsigned)(*p - '0');
    for (size_t i = 0; i < TD_ARRAY_SIZE(model->cpus) && model->cpus[i].family; i++) {
        const struct cpu_range *r = &model->cpus[i];

        if (r->family == family && number >= r->low && number <= r->high)
            return true;
    }
    return model->cpus[0].family == 0;
}

static const struct double_model *find_model(const struct td_caps *caps, const struct td_pmu *pmu)
{
    if (strncmp(caps->cpu_id, "0x", 2) == 0)
        return &arm_model;
    for (size_t i = 0; i < TD_ARRAY_SIZE(models); i++) {
        if (is_model(&models[i], caps, pmu->name))
            return &models[i];
    }
    return NULL;
}

void double_find_pmus(struct perf_double *d)
{
    const struct td_caps *caps = d->caps;

    d->pmus[d->pmu_count++] = (struct double_pmu){.kind = DOUBLE_SOFTWARE};
    for (size_t i = 0; i < caps->pmu_count; i++) {
        const struct td_pmu *pmu = &caps->pmus[i];
        struct double_pmu *ret = &d->pmus[d->pmu_count];

        if (pmu->type == PERF_TYPE_SOFTWARE)
            continue;
        *ret = (struct double_pmu){.pmu = pmu, .kind = DOUBLE_OTHER};
        if (pmu->core) {
            ret->model = find_model(caps, pmu);
            ret->kind = ret->model == &arm_model                     ? DOUBLE_ARM
                        : ret->model && ret->model->vendor[0] == 'A' ? DOUBLE_AMD
                                                                     : DOUBLE_INTEL;
            ret->metrics = pmu->slots && ret->model && ret->model->metrics;
        } else if (strcmp(pmu->name, "ibs_op") == 0) {
            ret->kind = DOUBLE_IBS_OP;
        } else if (strcmp(pmu->name, "ibs_fetch") == 0) {
            ret->kind = DOUBLE_IBS_FETCH;
        } else if (strncmp(pmu->name, "arm_spe", 7) == 0) {
            ret->kind = DOUBLE_SPE;
        }
        d->pmu_count++;
    }
}

/* The config in the terms of PERF_TYPE_RAW: the generalized events are the two that are used. */
static uint64_t raw_config(const struct double_event *event)
{
    if (event->attr.type != PERF_TYPE_HARDWARE)
        return event->attr.config;
    const bool cycles = (event->attr.config & 0xff) == PERF_COUNT_HW_CPU_CYCLES;
    if (event->pmu->kind == DOUBLE_ARM)
        return cycles ? 0x11 : 0x8;
    if (!cycles)
        return 0xc0;
    return event->pmu->kind == DOUBLE_AMD ? 0x76 : 0x3c;
}

static bool is_slots(const struct double_event *event)
{
    return event->pmu->metrics && (raw_config(event) & 0xffff) == SLOTS_CONFIG;
}

static bool is_metric(const struct double_event *event)
{
    const uint64_t low = raw_config(event) & 0xffff;

    return event->pmu->metrics && low >= 0x8000 && (low & 0xff) == 0 &&
           (low - 0x8000) >> 8 < event->pmu->model->metrics;
}

/* Golden Cove and later: UNKNOWN_BRANCH_CYCLES and UOPS_RETIRED.MS have their kind in MSR 0x3F7 too
 * (intel_glc_extra_regs). */
static bool uses_front_end(const struct double_event *event)
{
    const uint64_t code = event->attr.config & 0xffff;

    return event->pmu->kind == DOUBLE_INTEL && event->pmu->model && event->pmu->model->front_end &&
           (code == event->pmu->model->front_end ||
            (event->pmu->model->pdist && event->attr.config1 && (code == 0x40ad || code == 0x4c2)));
}

/* The counters that can count it: general ones from bit 0, fixed ones from bit 32. */
static uint64_t counters_of(const struct perf_double *d, const struct double_event *event)
{
    const struct double_model *model = event->pmu->model;
    const unsigned count = d->caps->smt ? model->counters_smt : model->counters;
    const uint64_t general = (UINT64_C(1) << count) - 1;
    const uint64_t fixed =
        model->fixed >= 32 ? FIXED(31) : ((UINT64_C(1) << model->fixed) - 1) << 32;
    const uint64_t config = raw_config(event);
    const unsigned code = (unsigned)(config & 0xff), umask = (unsigned)(config >> 8 & 0xff);
    uint64_t counters = general;

    if (event->pmu->kind == DOUBLE_AMD)
        return general;
    for (const struct constraint *c = model->constraints; c->counters; c++) {
        if (code < c->low || code > c->high || (c->umask >= 0 && (unsigned)c->umask != umask))
            continue;
        counters = c->counters;
        /* A fixed counter counts it without edge, inversion or a mask; any of the general too. */
        if (counters >> 32 && !is_slots(event)) {
            const bool plain = (config & (MODIFIERS & ~BIT_ANY)) == 0;

            counters = general | (plain ? counters : 0);
        }
        break;
    }
    counters &= general | fixed;
    if (model->pdist && event->attr.precise_ip == 3)
        counters &= counters & FIXED(0) ? FIXED(0) : 1;
    return counters;
}

/* Finds a counter for each event, moving others (augmenting paths). */
struct match {
    const struct perf_double *d;
    const struct double_event *const *events;
    int owner[64]; /* counter -> event, -1: free */
    uint64_t usable;
};

static bool augment(struct match *m, size_t event, uint64_t *tried)
{
    const uint64_t counters = counters_of(m->d, m->events[event]) & m->usable;

    for (unsigned c = 0; c < 64; c++) {
        const uint64_t bit = UINT64_C(1) << c;

        if (!(counters & bit) || *tried & bit)
            continue;
        *tried |= bit;
        if (m->owner[c] < 0 || augment(m, (size_t)m->owner[c], tried)) {
            m->owner[c] = (int)event;
            return true;
        }
    }
    return false;
}

/* The NMI watchdog counts cycles: fixed counter 1 on Intel, else a general one. */
static uint64_t watchdog_share(const struct perf_double *d, const struct double_pmu *pmu)
{
    if (!d->caps->nmi_watchdog)
        return 0;
    return pmu->kind == DOUBLE_INTEL ? FIXED(1) : UINT64_C(1) << (pmu->model->counters - 1);
}

bool double_fit(const struct perf_double *d, const struct double_event *const *events, size_t count,
                bool busy)
{
    struct match m = {.d = d, .events = events, .usable = UINT64_MAX};
    const struct double_event *front_end = NULL;
    const struct double_pmu *pmu = events[0]->pmu;
    size_t metrics = 0;

    if (pmu->kind == DOUBLE_SOFTWARE || pmu->kind == DOUBLE_OTHER)
        return true;
    if (!pmu->model)
        return count <= 1; /* IBS, SPE: one at a time */
    if (busy)
        m.usable &= ~watchdog_share(d, pmu);
    memset(m.owner, -1, sizeof(m.owner));
    for (size_t i = 0; i < count; i++) {
        uint64_t tried = 0;

        if (is_metric(events[i])) {
            if (++metrics > METRICS_TOTAL)
                return false;
            continue;
        }
        if (uses_front_end(events[i])) {
            if (front_end && front_end->attr.config1 != events[i]->attr.config1)
                return false;
            front_end = events[i];
        }
        if (!augment(&m, i, &tried))
            return false;
    }
    return true;
}

/* validate_group, validate_event: on an empty PMU. */
static int check_counters(const struct perf_double *d, const struct double_event *event)
{
    const struct double_event *members[64];
    size_t count = 0;

    for (size_t i = 0; i < d->event_count; i++) {
        const struct double_event *other = &d->events[i];

        if (other->leader == event->leader && other->pmu == event->pmu && count < 63)
            members[count++] = other;
    }
    members[count++] = event;
    return double_fit(d, members, count, false) ? 0 : -EINVAL;
}

static int check_topdown(const struct perf_double *d, const struct double_event *event)
{
    const struct perf_event_attr *attr = &event->attr;
    const uint64_t c1 = is_slots(event) && double_kernel(d, 6, 14) ? 1 : 0;

    if (attr->config & MODIFIERS || attr->config2 || attr->config1 & ~c1)
        return -EINVAL;
    if (!is_metric(event))
        return 0;
    const struct double_event *leader = &d->events[event->leader];
    if (double_sampling(attr) || leader == event || !is_slots(leader) ||
        double_sampling(&leader->attr))
        return -EINVAL;
    return 0;
}

static int check_branch_records(const struct double_event *event)
{
    const uint64_t type = event->attr.branch_sample_type;
    const uint64_t filters = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_ANY_CALL |
                             PERF_SAMPLE_BRANCH_ANY_RETURN | PERF_SAMPLE_BRANCH_IND_CALL |
                             PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_IND_JUMP |
                             PERF_SAMPLE_BRANCH_CALL | PERF_SAMPLE_BRANCH_ABORT_TX |
                             PERF_SAMPLE_BRANCH_IN_TX | PERF_SAMPLE_BRANCH_NO_TX;

    if (!(event->attr.sample_type & PERF_SAMPLE_BRANCH_STACK))
        return 0;
    if (!event->pmu->model || !event->pmu->model->branches)
        return -EOPNOTSUPP;
    if (!(type & PERF_SAMPLE_BRANCH_CALL_STACK))
        return 0;
    if (!event->pmu->model->call_stack)
        return -EOPNOTSUPP;
    return type & filters ? -EINVAL : 0;
}

/* Load latency with its data source: an auxiliary event must stand before it in the group. */
static bool lacks_aux(const struct perf_double *d, const struct double_event *event)
{
    if (!event->pmu->model->load_aux || (event->attr.config & 0xffff) != 0x1cd ||
        !(event->attr.sample_type & PERF_SAMPLE_DATA_SRC))
        return false;
    for (size_t i = 0; i < d->event_count; i++) {
        if (d->events[i].leader == event->leader && (d->events[i].attr.config & 0xffff) == 0x8203)
            return false;
    }
    return true;
}

static int init_intel(const struct perf_double *d, const struct double_event *event)
{
    const struct perf_event_attr *attr = &event->attr;
    const struct double_model *model = event->pmu->model;
    int rc = 0;

    if (attr->precise_ip > (event->pmu->pmu ? event->pmu->pmu->max_precise : 0))
        return -EOPNOTSUPP;
    if (attr->precise_ip && !double_sampling(attr))
        return -EINVAL;
    if (model->pdist && attr->precise_ip == 3 && !attr->freq && attr->sample_period < 128)
        return -EINVAL;
    rc = check_branch_records(event);
    if (rc == 0 && (is_slots(event) || is_metric(event)))
        rc = check_topdown(d, event);
    if (rc)
        return rc;
    if (lacks_aux(d, event))
        return -ENODATA;
    if (uses_front_end(event) && attr->config1 & ~model->front_end_c1)
        return -EINVAL;
    if (attr->type != PERF_TYPE_HARDWARE && attr->config & BIT_ANY && model->any &&
        !d->caps->cap_perfmon && d->caps->paranoid > 0)
        return -EACCES;
    return check_counters(d, event);
}

static int init_ibs(const struct perf_double *d, const struct double_event *event)
{
    const struct perf_event_attr *attr = &event->attr;
    const bool filters = double_kernel(d, 6, 14) && attr->config2 & SWFILT;

    if (event->pid != -1 && !(event->flags & PERF_FLAG_PID_CGROUP) && !double_kernel(d, 6, 2))
        return -EINVAL;
    if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
        return -EOPNOTSUPP;
    if (attr->exclude_host || attr->exclude_guest || attr->exclude_idle)
        return -EINVAL;
    if (!filters && (attr->exclude_kernel || attr->exclude_user || attr->exclude_hv))
        return -EINVAL;
    if (d->events[event->leader].pmu != event->pmu && event != &d->events[event->leader])
        return -EINVAL;
    for (size_t i = 0; i < d->event_count; i++) {
        if (d->events[i].leader == event->leader && &d->events[i] != event)
            return -EINVAL;
    }
    if (!double_sampling(attr) || (!attr->freq && attr->sample_period & 0xf))
        return -EINVAL;
    return 0;
}

/* A precise core event is an IBS op event: cycles or ops, on a kernel and place that has those. */
static int init_amd(const struct perf_double *d, const struct double_event *event)
{
    const struct perf_event_attr *attr = &event->attr;
    const bool cycles =
        attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_CPU_CYCLES;
    int rc = 0;

    if (attr->precise_ip > 2)
        return -EOPNOTSUPP;
    if (attr->precise_ip && !cycles && attr->config != 0x76 && attr->config != 0xc1)
        return -ENOENT;
    if (attr->precise_ip)
        return init_ibs(d, event);
    rc = check_branch_records(event);
    return rc ? rc : check_counters(d, event);
}

static int init_spe(const struct double_event *event)
{
    if (event->attr.freq || !double_sampling(&event->attr))
        return -EINVAL;
    return event->attr.exclude_idle ? -EOPNOTSUPP : 0;
}

static int init_software(const struct double_event *event)
{
    if (event->attr.config >= PERF_COUNT_SW_MAX)
        return -ENOENT;
    return event->attr.sample_type & PERF_SAMPLE_BRANCH_STACK ? -EOPNOTSUPP : 0;
}

int double_pmu_init(const struct perf_double *d, const struct double_event *event)
{
    const struct td_pmu *pmu = event->pmu->pmu;

    /* A core's PMU of a hybrid machine counts on its own CPUs only. */
    if (event->cpu >= 0 && pmu && pmu->core && pmu->cpus.len) {
        bool its = false;

        for (size_t i = 0; i < pmu->cpus.len; i++)
            its = its || (int)pmu->cpus.cpus[i] == event->cpu;
        if (!its)
            return -ENOENT;
    }
    switch (event->pmu->kind) {
    case DOUBLE_SOFTWARE: return init_software(event);
    case DOUBLE_INTEL: return init_intel(d, event);
    case DOUBLE_AMD: return init_amd(d, event);
    case DOUBLE_ARM: {
        const int rc = check_branch_records(event);

        return rc ? rc : check_counters(d, event);
    }
    case DOUBLE_IBS_OP:
    case DOUBLE_IBS_FETCH: return init_ibs(d, event);
    case DOUBLE_SPE: return init_spe(event);
    case DOUBLE_OTHER: break;
    }
    return -ENOENT;
}
