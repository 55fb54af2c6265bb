/* SPDX-License-Identifier: MIT */
/* Events by the names that perf's users write: what to put into an event to count them. Pure. */
#ifndef TD_RECORD_MACHINE_EVENT_NAMES_H
#define TD_RECORD_MACHINE_EVENT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/model.h"
#include "record/machine/caps.h"

struct td_event_code {
    char name[64]; /* the canonical name, as the profile shows it */
    uint32_t type; /* as in perf_event_attr */
    uint64_t config[3];
    enum td_unit unit;
    bool hardware; /* needs a core PMU; on hybrid machines there is one of each, unless: */
    const struct td_pmu *pmu; /* whose event it is; NULL: the kernel's own */
    bool exclude_user, exclude_kernel;
};

/* Intel's perf metrics: the leader, and the first of its metrics. */
#define TD_CONFIG_SLOTS   0x400
#define TD_CONFIG_METRICS 0x8000

/* Finds the event of the `len` bytes at `name`: software events, the kernel's generic hardware and
 * cache events, raw codes (r1c0), a PMU's terms (cpu/event=0x3c/) and its events of sysfs, those of
 * the core's description, those of libpfm4's tables, in this order. TD_EUSAGE for a name nobody
 * knows, with the nearest one; TD_EUNSUPPORTED for a hardware event where there is no core PMU. */
int td_event_find(struct td_event_code *ret, const struct td_caps *caps, const char *name,
                  size_t len, struct td_err *err);

#endif
