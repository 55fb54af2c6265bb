/* SPDX-License-Identifier: MIT */
#include "report/query/timeline.h"

#include <stdlib.h>

#include "base/mem.h"

#define STEPS_MAX        240
#define STEPS_MIN        10
#define SAMPLES_PER_STEP 10 /* with fewer, a step says little */

/* From the begin of the recording to its end, or as far as there are samples. */
static void find_range(const struct td_measure *measure, uint64_t *from, uint64_t *to)
{
    const uint64_t started = td_model_counter(measure->model, TD_COUNTER_STARTED_NS);
    const uint64_t ended = td_model_counter(measure->model, TD_COUNTER_ENDED_NS);

    *from = UINT64_MAX;
    *to = 0;
    for (size_t row = 0; row < measure->row_count; row++) {
        const uint64_t time = measure->rows[row].time_ns;

        *from = time < *from ? time : *from;
        *to = time > *to ? time : *to;
    }
    /* Of a part of the time (--time) only that part is shown. */
    if (started && started <= *from && ended >= *to && (*from - started) < (ended - started) / 8)
        *from = started;
    if (ended > *to && started && (ended - *to) < (ended - started) / 8)
        *to = ended;
}

static uint64_t step_of(const struct td_timeline *t, uint64_t time_ns)
{
    const uint64_t step = (time_ns - t->from_ns) / t->step_ns;

    return step < t->len ? step : t->len - 1;
}

bool td_timeline_of(struct td_timeline *timeline, const struct td_measure *measure)
{
    uint64_t from = 0, to = 0;
    size_t steps = measure->row_count / SAMPLES_PER_STEP;

    *timeline = (struct td_timeline){.len = 0};
    if (!measure->by_sample || measure->row_count == 0)
        return false;
    find_range(measure, &from, &to);
    if (from >= to)
        return false;
    steps = steps < STEPS_MIN ? STEPS_MIN : steps > STEPS_MAX ? STEPS_MAX : steps;
    timeline->from_ns = from;
    timeline->step_ns = (to - from) / steps + 1;
    timeline->len = steps;
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        if (!measure->values[m])
            continue;
        timeline->values[m] = td_xcalloc(steps, sizeof(uint64_t));
        for (size_t row = 0; row < measure->row_count; row++)
            timeline->values[m][step_of(timeline, measure->rows[row].time_ns)] +=
                measure->values[m][row];
    }
    return true;
}

void td_timeline_release(struct td_timeline *timeline)
{
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++)
        free(timeline->values[m]);
    *timeline = (struct td_timeline){.len = 0};
}
