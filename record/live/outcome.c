/* SPDX-License-Identifier: MIT */
#include "record/live/outcome.h"

#include <assert.h>

static const char *const texts[] = {
#define TD_LIVE_OUTCOME(name, text) [TD_LIVE_##name] = (text),
    TD_LIVE_OUTCOMES(TD_LIVE_OUTCOME)
#undef TD_LIVE_OUTCOME
};

const char *td_live_outcome_text(enum td_live_outcome outcome)
{
    assert(outcome < TD_LIVE_OUTCOME_COUNT);
    return texts[outcome];
}
