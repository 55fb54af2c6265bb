/* SPDX-License-Identifier: MIT */
#include "record/sim/sampling.h"

#include "base/hash.h"

/*
 * Instructions of each phase. Many small windows see a program better than a few large ones
 * (Wunderlich et al., SMARTS, ISCA 2003, found 1,000 instructions best): of zstd, windows of 2,000
 * and of 24,000 instructions at the same distances give the same error. They are larger here
 * because each begins with a change of phase, which costs about as much as a thousand instructions
 * modelled. Priming fills the pipeline and lets loads learn which stores they take their data from,
 * which warming does not; warming, a few times the lines of L1 and the branches of a loop nest.
 */
enum {
    FIRST = 10 * 1000 * 1000,
    SKIP_LEAST = 160 * 1000,
    SKIP_RANGE = 400 * 1000,
    WARM = 100 * 1000,
    PRIME = 8 * 1000,
    WINDOW = 4000,
};

static uint64_t skip_length(struct td_sampling *sampling)
{
    return SKIP_LEAST + td_hash_u64(++sampling->random) % SKIP_RANGE;
}

struct td_sampling_phase td_sampling_next(struct td_sampling *sampling)
{
    if (!sampling->begun) {
        sampling->begun = true;
        sampling->mode = TD_SIM_EXACT;
        return (struct td_sampling_phase){TD_SIM_EXACT, FIRST};
    }
    switch (sampling->mode) {
    case TD_SIM_EXACT:
        sampling->mode = TD_SIM_SKIP;
        return (struct td_sampling_phase){TD_SIM_SKIP, skip_length(sampling)};
    case TD_SIM_SKIP:
        sampling->mode = TD_SIM_WARM;
        return (struct td_sampling_phase){TD_SIM_WARM, WARM};
    case TD_SIM_WARM:
        sampling->mode = TD_SIM_PRIME;
        return (struct td_sampling_phase){TD_SIM_PRIME, PRIME};
    case TD_SIM_PRIME: break;
    }
    sampling->mode = TD_SIM_EXACT;
    return (struct td_sampling_phase){TD_SIM_EXACT, WINDOW};
}
