/* SPDX-License-Identifier: MIT */
#include "record/sim/model/pmu.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/sim/model/sim_priv.h"

/* A sampler's state. */
struct state {
    struct td_sampler sampler;
    uint64_t next, period; /* the count that overflows, and from which on it was counted */
    uint64_t second;       /* the count at which the second of a pair is due; 0: none is */
    int64_t interrupt;     /* the cycle in which the program is interrupted; 0: not pending */
    uint64_t random;
};

struct td_sim_pmu {
    td_pmu_sample_fn *fn;
    void *ctx;
    uint64_t values[TD_SIGNAL_COUNT];
    uint64_t lost[TD_CAUSE_COUNT]; /* slots, by cause: the ledger adds to it */
    uint64_t cycle_slots;          /* core slots at the end of the block before */
    uint64_t clears;
    uint64_t pcs[TD_ROB_RING]; /* by uop, as core.retire */
    struct state *states;
    size_t count;
    /* Before these counts, and this cycle, no sampler has anything to do. */
    uint64_t wake[TD_SIGNAL_COUNT];
    int64_t wake_cycle;
};

/* xorshift64* (Vigna 2016): repeatable, and good enough to keep samples out of step. */
static double next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)(*state * UINT64_C(2685821657736338717) >> 11) / (double)(UINT64_C(1) << 53);
}

static void arm(struct state *state)
{
    if (state->sampler.pair && !state->second) {
        state->second = state->next + state->sampler.pair;
        return;
    }
    state->second = 0;

    const struct td_sampler *s = &state->sampler;
    const double factor = 1 + s->jitter * (2 * next_random(&state->random) - 1);
    const uint64_t period = (uint64_t)((double)s->period * factor);

    state->period = period > 0 ? period : 1;
    state->next += state->period;
}

static uint64_t due(const struct state *state)
{
    return state->second ? state->second : state->next;
}

/* Once its samplers have changed. */
static void set_wake(struct td_sim_pmu *pmu, enum td_signal signal)
{
    pmu->wake[signal] = UINT64_MAX;
    for (size_t i = 0; i < pmu->count; i++) {
        const struct state *state = &pmu->states[i];

        if (state->sampler.signal == signal && !state->interrupt && due(state) < pmu->wake[signal])
            pmu->wake[signal] = due(state);
    }
}

struct td_sim_pmu *td_sim_pmu_new(const struct td_sampler *samplers, size_t count,
                                  td_pmu_sample_fn *fn, void *ctx)
{
    struct td_sim_pmu *pmu = td_xcalloc(1, sizeof(*pmu));

    pmu->fn = fn;
    pmu->ctx = ctx;
    pmu->count = count;
    pmu->states = td_xcalloc(count, sizeof(*pmu->states));
    for (size_t i = 0; i < count; i++) {
        struct state *state = &pmu->states[i];

        state->sampler = samplers[i];
        state->random = samplers[i].seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
        /* A recording begins anywhere in a period. */
        next_random(&state->random);
        state->second = 1;
        arm(state);
        state->next = (uint64_t)((double)state->next * next_random(&state->random)) + 1;
    }
    for (int signal = 0; signal < TD_SIGNAL_COUNT; signal++)
        set_wake(pmu, (enum td_signal)signal);
    pmu->wake_cycle = INT64_MAX;
    return pmu;
}

void td_sim_pmu_free(struct td_sim_pmu *pmu)
{
    if (!pmu)
        return;
    free(pmu->states);
    free(pmu);
}

uint64_t *td_sim_pmu_lost(struct td_sim_pmu *pmu)
{
    return pmu->lost;
}

/* Of the causes from `first` to `last`. */
static uint64_t sum_of(const uint64_t *lost, enum td_cause first, enum td_cause last)
{
    uint64_t sum = 0;

    for (int i = (int)first; i <= (int)last; i++)
        sum += lost[i];
    return sum;
}

static void count_slots(struct td_sim_pmu *pmu, const struct td_sim *sim)
{
    const uint64_t *lost = pmu->lost;
    uint64_t *v = pmu->values;

    v[TD_SIGNAL_SLOTS] = v[TD_SIGNAL_SLOTS_P] = td_core_slots(&sim->core);
    v[TD_SIGNAL_CYCLES] = (uint64_t)sim->core.cycle;
    v[TD_SIGNAL_INSTRUCTIONS] = sim->instructions;
    v[TD_SIGNAL_BR_MISPREDICT] = lost[TD_CAUSE_MISPREDICT];
    v[TD_SIGNAL_BAD_SPEC] = sum_of(lost, TD_CAUSE_MISPREDICT, TD_CAUSE_CLEAR);
    v[TD_SIGNAL_FETCH_LAT] = sum_of(lost, TD_CAUSE_ICACHE, TD_CAUSE_MICROCODE);
    v[TD_SIGNAL_FE_BOUND] = sum_of(lost, TD_CAUSE_ICACHE, TD_CAUSE_UOP_CACHE);
    v[TD_SIGNAL_MEM_BOUND] = sum_of(lost, TD_CAUSE_L1, TD_CAUSE_STORE);
    v[TD_SIGNAL_BE_BOUND] = sum_of(lost, TD_CAUSE_L1, TD_CAUSE_PORT_STORE);
    v[TD_SIGNAL_RETIRING] =
        v[TD_SIGNAL_SLOTS] - v[TD_SIGNAL_BAD_SPEC] - v[TD_SIGNAL_FE_BOUND] - v[TD_SIGNAL_BE_BOUND];
}

static void count_heavy(struct td_sim_pmu *pmu, const struct td_block *block)
{
    for (uint32_t i = 0; i < block->insn_count; i++)
        pmu->values[TD_SIGNAL_HEAVY_OPS] +=
            block->insn_retired[i] >= TD_RETIRED_FEW_UOPS ? block->insn_slots[i] : 0;
}

/* The oldest instruction that had not retired in this cycle. */
static uint64_t interrupted_ip(const struct td_sim_pmu *pmu, const struct td_core *core,
                               int64_t cycle)
{
    uint64_t uop = core->uops > TD_ROB_RING ? core->uops - TD_ROB_RING : 0;

    while (uop + 1 < core->uops && core->retire[uop & (TD_ROB_RING - 1)] <= cycle)
        uop++;
    return pmu->pcs[uop & (TD_ROB_RING - 1)];
}

static void give(const struct td_sim_pmu *pmu, size_t sampler, const struct td_pmu_sample *about)
{
    struct td_pmu_sample sample = *about;

    sample.sampler = sampler;
    sample.period = pmu->states[sampler].period;
    sample.values = pmu->values;
    pmu->fn(pmu->ctx, &sample);
}

/* A thing that happened at an instruction: samplers of such are precise. */
static void occur(struct td_sim_pmu *pmu, enum td_signal signal, const struct td_pmu_sample *about)
{
    const uint64_t count = ++pmu->values[signal];

    if (count < pmu->wake[signal])
        return;
    for (size_t i = 0; i < pmu->count; i++) {
        struct state *state = &pmu->states[i];

        if (state->sampler.signal != signal || count < state->next)
            continue;
        give(pmu, i, about);
        arm(state);
    }
    set_wake(pmu, signal);
}

void td_sim_pmu_mispredict(struct td_sim_pmu *pmu, const struct td_sim *sim, uint64_t branch_pc)
{
    const struct td_core *core = &sim->core;
    const uint64_t k = core->uops - 1;
    const int64_t retired = core->retire[k & (TD_ROB_RING - 1)];
    const int64_t before = core->retire[(k - 1) & (TD_ROB_RING - 1)];
    const struct td_pmu_sample about = {.ip = branch_pc,
                                        .cycle = (uint64_t)retired,
                                        .retire_latency = (uint32_t)(retired - before)};

    occur(pmu, TD_SIGNAL_MISPREDICTS, &about);
}

/* What the block's uops did to memory: the cell that a uop is blamed on names the level. */
static void note_uops(struct td_sim_pmu *pmu, const struct td_sim *sim,
                      const struct td_block *block, uint64_t first_uop)
{
    static const enum td_signal levels[TD_CAUSE_COUNT] = {
        [TD_CAUSE_L2] = TD_SIGNAL_LOAD_L2,
        [TD_CAUSE_L3] = TD_SIGNAL_LOAD_L3,
        [TD_CAUSE_DRAM] = TD_SIGNAL_LOAD_DRAM,
        [TD_CAUSE_DRAM_QUEUE] = TD_SIGNAL_LOAD_DRAM,
    };
    const struct td_core *core = &sim->core;

    for (uint32_t j = 0; j < block->uop_count; j++) {
        const struct td_uop *uop = &block->uops[j];
        const uint64_t k = (first_uop + j) & (TD_ROB_RING - 1);
        const uint64_t before = (first_uop + j - 1) & (TD_ROB_RING - 1);
        const enum td_signal level = levels[td_ledger_cause(core->blame[k])];
        struct td_pmu_sample about = {.ip = block->pc + block->insn_offsets[uop->insn]};

        pmu->pcs[k] = about.ip;
        about.cycle = (uint64_t)core->retire[k];
        about.retire_latency = (uint32_t)(core->retire[k] - core->retire[before]);
        about.latency = (uint32_t)(core->retire[k] - core->cycle);
        if (uop->flags & TD_UOP_LOAD && level != TD_SIGNAL_SLOTS)
            occur(pmu, level, &about);
        if (uop->flags & TD_UOP_STORE)
            occur(pmu, TD_SIGNAL_STORES, &about);
    }
    if (sim->clears > pmu->clears) {
        const struct td_pmu_sample about = {.ip = block->pc, .cycle = (uint64_t)core->cycle};

        pmu->clears = sim->clears;
        occur(pmu, TD_SIGNAL_CLEARS, &about);
    }
}

static bool counts_time(enum td_signal signal)
{
    return signal <= TD_SIGNAL_INSTRUCTIONS;
}

/* The cycle in which the sampler's count overflowed, between the last block's end and now. */
static int64_t overflow_cycle(const struct state *state, const struct td_core *core,
                              uint64_t slots_before, const uint64_t *values)
{
    const uint64_t now = values[state->sampler.signal];
    const uint64_t slots = values[TD_SIGNAL_SLOTS] - slots_before;

    if (state->sampler.signal == TD_SIGNAL_INSTRUCTIONS || slots == 0)
        return core->cycle;
    const uint64_t late =
        (now - due(state)) * (state->sampler.signal == TD_SIGNAL_CYCLES ? core->width : 1);
    return core->cycle - (int64_t)((late < slots ? late : slots) / core->width);
}

static bool is_asleep(const struct td_sim_pmu *pmu, const struct td_core *core)
{
    bool asleep = core->cycle < pmu->wake_cycle;

    for (int signal = 0; counts_time((enum td_signal)signal); signal++)
        asleep = asleep && pmu->values[signal] < pmu->wake[signal];
    return asleep;
}

static void check_time(struct td_sim_pmu *pmu, const struct td_core *core, size_t i)
{
    struct state *state = &pmu->states[i];
    const uint64_t *count = &pmu->values[state->sampler.signal];

    if (!state->interrupt && *count >= due(state))
        state->interrupt = overflow_cycle(state, core, pmu->cycle_slots, pmu->values) +
                           (int64_t)state->sampler.skid_cycles + 1;
    if (!state->interrupt || core->cycle < state->interrupt)
        return;
    const struct td_pmu_sample about = {
        .ip = interrupted_ip(pmu, core, state->interrupt),
        .cycle = (uint64_t)state->interrupt,
    };
    state->interrupt = 0;
    give(pmu, i, &about);
    /* A counter that overflowed again meanwhile has lost that. */
    do {
        arm(state);
    } while (*count >= due(state));
}

void td_sim_pmu_block(struct td_sim_pmu *pmu, const struct td_sim *sim,
                      const struct td_block *block, uint64_t first_uop)
{
    const struct td_core *core = &sim->core;

    count_slots(pmu, sim);
    count_heavy(pmu, block);
    note_uops(pmu, sim, block, first_uop);
    if (!is_asleep(pmu, core)) {
        pmu->wake_cycle = INT64_MAX;
        for (size_t i = 0; i < pmu->count; i++) {
            const struct state *state = &pmu->states[i];

            if (!counts_time(state->sampler.signal))
                continue;
            check_time(pmu, core, i);
            if (state->interrupt && state->interrupt < pmu->wake_cycle)
                pmu->wake_cycle = state->interrupt;
        }
        for (int signal = 0; counts_time((enum td_signal)signal); signal++)
            set_wake(pmu, (enum td_signal)signal);
    }
    pmu->cycle_slots = pmu->values[TD_SIGNAL_SLOTS];
}
