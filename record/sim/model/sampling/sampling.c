/* SPDX-License-Identifier: MIT */
#include "record/sim/model/sampling/sampling.h"

#include "base/hash.h"

/*
 * Instructions of each phase. Many small windows see a program better than a few large ones (SMARTS
 * found 1,000 instructions best): of zstd, windows of 2,000 and of 24,000 instructions at the same
 * distances give the same error. They are larger here because each begins with a change of phase,
 * which costs about as much as a thousand instructions modelled. Detailed warming is a few times as
 * long as what is in flight: the first 1,000 instructions after functional warming are within about
 * a percent of what they are in an exact run, of cc1, zstd and as, and longer detailed warming is
 * no nearer. Functional warming is as long as predictors need after a fast-forward: cc1 still has a
 * sixth more mispredicts than it should, and with half of it a third more. What L1 holds
 * is settled by the last accesses alone, and the strides of loads.
 *
 * Programs begin unlike what they go on with: python3 takes 18 M instructions until it runs the
 * script, and has up to ten times the cycles an instruction there. So the first part is short, with
 * close windows, and stands for nothing else. Predictors learn most while code is new: as long as
 * that, and as long again, they see all of it.
 */
enum {
    FIRST = 10 * 1000 * 1000,
    PARTS_FROM = 20 * 1000 * 1000, /* the second part begins */
    WARMED_TO = 40 * 1000 * 1000,  /* nothing is left out before */
    FUNCTIONAL_WARMING = 140 * 1000,
    DETAILED_WARMING = 2000,
    WINDOW = 4000,
    FIRST_DISTANCE = 200 * 1000, /* of the first part's windows */
    DISTANCE = 600 * 1000,       /* the least of all others */
    WINDOWS_LEAST = 200,         /* of a part: it may be less even than those before */
};

/* Of the cycles: mispredicts that fall by more within a warming go on to fall after it. Compilers
 * and interpreters that load much have 0.02 to 0.03, compressors up to 0.015. */
static const double LEARNING_MOST = 0.02;

/* Two standard errors of the total that a part's number of windows aims at. */
static const double ERROR = 0.025;

static struct td_sampling_phase phase_of(enum td_sim_mode mode, uint64_t instructions)
{
    return (struct td_sampling_phase){.mode = mode, .instructions = instructions};
}

/* What comes before a window: between 0.4 and 1.6 times what the distance leaves, so that windows
 * keep no step with loops of the program, and what is always warmed. */
static struct td_sampling_phase gap(struct td_sampling *sampling)
{
    const enum td_sim_mode mode =
        sampling->warms_all ? TD_SIM_FUNCTIONAL_WARMING : TD_SIM_FAST_FORWARD;
    const uint64_t fixed = TD_NEAR_WARMING + DETAILED_WARMING + WINDOW +
                           (sampling->warms_all ? 0 : FUNCTIONAL_WARMING);
    const uint64_t mean = sampling->distance - fixed;

    return phase_of(mode, mean * 2 / 5 + td_hash_u64(++sampling->random) % (mean * 6 / 5));
}

static struct td_sampling_phase next(struct td_sampling *sampling)
{
    if (!sampling->begun) {
        *sampling = (struct td_sampling){.begun = true,
                                         .mode = TD_SIM_EXACT,
                                         .part_end = PARTS_FROM,
                                         .distance = FIRST_DISTANCE,
                                         .warms_all = true};
        return phase_of(TD_SIM_EXACT, FIRST);
    }
    switch (sampling->mode) {
    case TD_SIM_EXACT: return gap(sampling);
    case TD_SIM_FAST_FORWARD: return phase_of(TD_SIM_FUNCTIONAL_WARMING, FUNCTIONAL_WARMING);
    case TD_SIM_FUNCTIONAL_WARMING: return phase_of(TD_SIM_NEAR_WARMING, TD_NEAR_WARMING);
    case TD_SIM_NEAR_WARMING: return phase_of(TD_SIM_DETAILED_WARMING, DETAILED_WARMING);
    case TD_SIM_DETAILED_WARMING: break;
    }
    return phase_of(TD_SIM_EXACT, WINDOW);
}

struct td_sampling_phase td_sampling_next(struct td_sampling *sampling)
{
    const struct td_sampling_phase phase = next(sampling);

    sampling->mode = phase.mode;
    sampling->ran += phase.instructions;
    return phase;
}

bool td_sampling_part_ends(const struct td_sampling *sampling)
{
    return sampling->begun && sampling->mode == TD_SIM_EXACT && sampling->ran >= sampling->part_end;
}

void td_sampling_plan(struct td_sampling *sampling, double spread, double learning)
{
    const double part = (double)sampling->part_end;

    /* How unlike itself a program begins says nothing of the rest. */
    if (sampling->part_end > PARTS_FROM && spread > sampling->spread)
        sampling->spread = spread;
    /* Each part has half the weight of the next: together they have a third of one's variance. */
    const double root = 2 * sampling->spread / ERROR, wanted = root * root / 3;
    const double windows = wanted > WINDOWS_LEAST ? wanted : WINDOWS_LEAST;
    const double distance = part / windows;

    sampling->distance = distance > DISTANCE ? (uint64_t)distance : DISTANCE;
    sampling->part_end *= 2;
    sampling->learns = sampling->learns || learning > LEARNING_MOST;
    sampling->warms_all = sampling->learns || sampling->part_end <= WARMED_TO;
}
