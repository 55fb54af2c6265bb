/* SPDX-License-Identifier: MIT */
/* Opens a plan: one descriptor an event and CPU (or task), one ring a CPU. */
#ifndef TD_RECORD_EVENTS_EVENTS_H
#define TD_RECORD_EVENTS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/machine/caps.h"
#include "formats/kernel/record.h"
#include "record/plan/plan.h"
#include "record/events/ring.h"

/* Which of the plan's groups, and how. */
enum td_events_part {
    TD_EVENTS_ALL,      /* with rings */
    TD_EVENTS_COUNTERS, /* all but the tracker, without rings */
    TD_EVENTS_TRACKER,  /* it alone, with rings that wake their reader at once */
};

struct td_opened {
    int fd;
    unsigned cpu; /* TD_NONE: any */
    uint32_t tid; /* 0: whole CPUs */
    uint64_t id;  /* 0 unless the plan's samples carry identifiers */
    uint16_t group, event;
    size_t ring;
};

struct td_events {
    const struct td_plan *plan; /* borrowed */
    const struct td_caps *caps; /* borrowed */
    struct td_opened *opened;
    size_t opened_count, opened_cap;
    struct td_ring *rings;
    size_t ring_count, ring_cap;
    struct td_layout *layouts;
    size_t layout_count;
    size_t ring_pages;  /* what was got */
    size_t ring_wanted; /* what would have been better */
    bool too_large;     /* the kernel allows no rings of that size */
    bool no_build_id;   /* the kernel refused these; done without */
    bool no_lost;
    enum td_events_part part;
    size_t skipped_cpus; /* went offline in between */
};

/* Whose events. */
struct td_events_target {
    const uint32_t *tids; /* METHOD_TASK: these */
    size_t tid_count;
    int cgroup_fd;     /* -1: none */
    unsigned pass;     /* the plan's groups of this run; 0: all of them */
    size_t ring_pages; /* 0: the default, less where the machine is large */
    enum td_events_part part;
};

/* Opens everything, still disabled but for what counts at once. The error is one sentence with the
 * cause and the fix. Close after a failure too. */
int td_events_open(struct td_events *events, const struct td_plan *plan, const struct td_caps *caps,
                   const struct td_events_target *target, struct td_err *err);
void td_events_close(struct td_events *events);

/* Starts, or stops, what neither starts by itself at exec nor runs already. */
void td_events_enable(const struct td_events *events);
/* Starts all, of a task that runs already. */
void td_events_enable_now(const struct td_events *events);
void td_events_disable(const struct td_events *events);
/* Stops what counts, and starts it again; what runs from its opening on does not stop. */
void td_events_pause(const struct td_events *events);
void td_events_resume(const struct td_events *events);
struct td_layouts td_events_layouts(const struct td_events *events);

/* What the kernel counted: samples it could not deliver (0 when it does not say), and the value of
 * the first sampling event over all its instances. */
struct td_events_counts {
    uint64_t lost, count;
};
struct td_events_counts td_events_read(const struct td_events *events);

/* What one counter holds now. `id` is 0 for an event that is not read with its group. */
struct td_counter_value {
    uint16_t group, event; /* of the plan */
    uint64_t id, value, lost;
    uint64_t enabled_ns, running_ns; /* 0 unless the read format has them */
};
typedef void td_counter_value_fn(void *ctx, const struct td_counter_value *value);
/* The value that the event of this descriptor has now; 0 when it cannot be read. */
uint64_t td_events_value(const struct td_events *events, const struct td_opened *opened);
/* Reads every counter. */
void td_events_each_value(const struct td_events *events, td_counter_value_fn *fn, void *ctx);

/* One sentence for a failed perf_event_open: what forbids it and what would help. For doctor too.
 */
int td_events_explain(const struct td_caps *caps, const char *event, int sys_errno,
                      struct td_err *err);

#endif
