/* SPDX-License-Identifier: MIT */
#include "record/sim/model/warming.h"

#include <stdlib.h>

#include "base/likely.h"
#include "base/mem.h"

/* What is known of a block. */
struct state {
    const struct td_block *block; /* NULL: not met yet */
    uint32_t epoch;               /* fetch.epoch when all of it was found in the caches */
};

struct td_warming {
    const struct td_blocks *blocks;
    struct state *states; /* by block */
    size_t state_cap;
    enum td_sim_mode mode;
    struct td_held now;
    struct td_held **helds; /* that windows began with: as many as were in use at a time */
    size_t held_count, held_cap;
};

static void init_held(struct td_held *held, const struct td_core_desc *desc, bool faults)
{
    td_memory_init_warmed(&held->memory, desc, faults);
    td_fetch_init(&held->fetch, desc);
}

static void release_held(struct td_held *held)
{
    td_memory_release(&held->memory);
    td_fetch_release(&held->fetch);
}

struct td_warming *td_warming_new(const struct td_blocks *blocks, bool faults)
{
    struct td_warming *warming = td_xcalloc(1, sizeof(*warming));

    warming->blocks = blocks;
    init_held(&warming->now, td_blocks_desc(blocks), faults);
    return warming;
}

void td_warming_free(struct td_warming *warming)
{
    if (!warming)
        return;
    release_held(&warming->now);
    for (size_t i = 0; i < warming->held_count; i++) {
        release_held(warming->helds[i]);
        free(warming->helds[i]);
    }
    free(warming->helds);
    free(warming->states);
    free(warming);
}

struct td_warmed *td_warmed_new(unsigned takers)
{
    struct td_warmed *warmed = td_xcalloc(1, sizeof(*warmed));

    warmed->takers = takers;
    return warmed;
}

void td_warmed_free(struct td_warmed *warmed)
{
    if (!warmed)
        return;
    td_beyond_release(&warmed->beyond);
    free(warmed->marks);
    free(warmed);
}

static inline struct state *state_of(struct td_warming *warming, uint32_t id)
{
    if (TD_UNLIKELY(id >= warming->state_cap))
        warming->states = td_grow_zeroed(warming->states, &warming->state_cap, (size_t)id + 1,
                                         sizeof(*warming->states));
    struct state *state = &warming->states[id];
    if (TD_UNLIKELY(!state->block))
        state->block = td_blocks_get(warming->blocks, id);
    return state;
}

static inline const struct td_block *warm_code(struct td_warming *warming, uint32_t id)
{
    struct td_fetch *fetch = &warming->now.fetch;
    struct state *state = state_of(warming, id);

    if (state->epoch == fetch->epoch)
        return state->block;
    for (uint32_t i = 0; i < state->block->part_count; i++)
        td_fetch_warm(fetch, &warming->now.memory, &state->block->parts[i]);
    state->epoch = fetch->epoch;
    return state->block;
}

static void warm_mark(struct td_memory *memory, uint64_t word, struct td_warmed *warmed)
{
    warmed->marks =
        td_grow(warmed->marks, &warmed->mark_cap, warmed->mark_count + 1, sizeof(*warmed->marks));
    warmed->marks[warmed->mark_count++] =
        (struct td_warmed_mark){.word = word, .instructions = warmed->instructions};
    if (td_trace_is_pages(word))
        td_memory_map(memory, TD_TRACE_PAGE(word), TD_TRACE_PAGES(word),
                      (word & 0xff) == TD_TRACE_FILE);
}

/* The accesses of a block, whose loads the prefetchers know by their instructions: the first part
 * of each that comes in several. Returns what follows them. */
static inline const uint64_t *warm_accesses(struct td_memory *memory, uint32_t pc_hash,
                                            const uint64_t *words, const uint64_t *end)
{
    uint32_t before = UINT32_MAX;

    for (; words < end && !(*words & TD_TRACE_BLOCK_BIT); words++) {
        const uint32_t key = TD_TRACE_KEY(*words);

        if (*words & TD_TRACE_STORE_BIT || key == before || key == TD_TRACE_NO_INSN)
            td_memory_warm(memory, TD_TRACE_ADDRESS(*words));
        else
            td_memory_warm_load(memory, pc_hash + key, TD_TRACE_ADDRESS(*words));
        before = key;
    }
    return words;
}

static void warm_all(struct td_warming *warming, const uint64_t *words, const uint64_t *end,
                     struct td_warmed *warmed)
{
    struct td_memory *memory = &warming->now.memory;
    uint32_t pc_hash = 0;

    while (words < end) {
        const uint64_t word = *words;

        if (!(word & TD_TRACE_BLOCK_BIT)) {
            words = warm_accesses(memory, pc_hash, words, end);
            continue;
        }
        words++;
        if (word & TD_TRACE_MARK_BIT) {
            warm_mark(memory, word, warmed);
            continue;
        }
        const struct td_block *block = warm_code(warming, (uint32_t)word);
        pc_hash = block->pc_hash;
        warmed->instructions += block->insn_counted;
    }
}

/* Of a fast-forward, where accesses are of no instruction. */
static void warm_lines(struct td_warming *warming, const uint64_t *words, const uint64_t *end,
                       struct td_warmed *warmed)
{
    for (; words < end; words++) {
        if (!(*words & TD_TRACE_BLOCK_BIT))
            td_memory_warm(&warming->now.memory, TD_TRACE_ADDRESS(*words));
        else if (*words & TD_TRACE_MARK_BIT)
            warm_mark(&warming->now.memory, *words, warmed);
        else
            warm_code(warming, (uint32_t)*words);
    }
}

static struct td_held *add_held(struct td_warming *warming)
{
    struct td_held *held = td_xcalloc(1, sizeof(*held));

    init_held(held, td_blocks_desc(warming->blocks), warming->now.memory.faults);
    warming->helds = td_grow(warming->helds, &warming->held_cap, warming->held_count + 1,
                             sizeof(struct td_held *));
    return warming->helds[warming->held_count++] = held;
}

/* Acquire pairs with the release of who was the last to begin a window with it. */
static struct td_held *free_held(struct td_warming *warming)
{
    for (size_t i = 0; i < warming->held_count; i++) {
        if (atomic_load_explicit(&warming->helds[i]->takers, memory_order_acquire) == 0)
            return warming->helds[i];
    }
    return add_held(warming);
}

/* A window begins with what is held now. */
static struct td_held *keep(struct td_warming *warming, unsigned takers)
{
    struct td_held *held = free_held(warming);

    td_memory_go_on_from(&held->memory, &warming->now.memory);
    td_fetch_go_on_from(&held->fetch, &warming->now.fetch);
    atomic_store_explicit(&held->takers, takers, memory_order_relaxed);
    return held;
}

static bool takes_time(enum td_sim_mode mode)
{
    return mode == TD_SIM_EXACT || mode == TD_SIM_DETAILED_WARMING;
}

void td_warming_run(struct td_warming *warming, const uint64_t *words, size_t count,
                    enum td_sim_mode mode, struct td_warmed *warmed)
{
    const bool times = takes_time(mode);

    warmed->held = times && !takes_time(warming->mode) ? keep(warming, warmed->takers) : NULL;
    warming->mode = mode;
    /* In a window the models themselves ask, each at its time. */
    td_beyond_clear(&warmed->beyond);
    warmed->instructions = 0;
    warmed->mark_count = 0;
    warming->now.memory.beyond = times ? NULL : &warmed->beyond;
    if (mode == TD_SIM_FAST_FORWARD)
        warm_lines(warming, words, words + count, warmed);
    else
        warm_all(warming, words, words + count, warmed);
    warming->now.memory.beyond = NULL;
}
