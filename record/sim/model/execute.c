/* SPDX-License-Identifier: MIT */
/* The inner loop: the uops of a block through fetch, dispatch, issue and retirement. */
#include "base/invariant.h"
#include "base/likely.h"
#include "record/sim/model/memory/accesses.h"
#include "record/sim/model/sim_priv.h"

static const enum td_cause level_causes[TD_LEVEL_COUNT] = {
    [TD_LEVEL_L1] = TD_CAUSE_PORT_LOAD, /* L1, but for what is noted of its port */
    [TD_LEVEL_DTLB] = TD_CAUSE_DTLB,    [TD_LEVEL_L2] = TD_CAUSE_L2,
    [TD_LEVEL_L3] = TD_CAUSE_L3,        [TD_LEVEL_SHARED] = TD_CAUSE_CONTESTED,
    [TD_LEVEL_DRAM] = TD_CAUSE_DRAM,    [TD_LEVEL_DRAM_QUEUE] = TD_CAUSE_DRAM_QUEUE,
};

/* Where a habit counts an access. */
static const enum td_habit_figure served_by[TD_LEVEL_COUNT] = {
    [TD_LEVEL_L1] = TD_HABIT_ACCESSES,      [TD_LEVEL_L2] = TD_HABIT_FROM_L2,
    [TD_LEVEL_L3] = TD_HABIT_FROM_L3,       [TD_LEVEL_SHARED] = TD_HABIT_FROM_L3,
    [TD_LEVEL_DRAM] = TD_HABIT_FROM_MEMORY, [TD_LEVEL_DRAM_QUEUE] = TD_HABIT_FROM_MEMORY,
};

static inline enum td_habit_figure served_from(const struct td_sim *sim, enum td_level level)
{
    return served_by[level == TD_LEVEL_DTLB ? sim->memory.behind_walk : level];
}

/* Of the uop's instruction. */
static inline uint64_t place_of(const struct td_sim *sim, const struct td_uop *uop)
{
    return sim->last->place + sim->last->insn_offsets[uop->insn];
}

static inline enum td_met met_by(enum td_cause late, int64_t forwarded)
{
    return forwarded >= 0             ? TD_MET_FORWARDED
           : late == TD_CAUSE_BLOCKED ? TD_MET_BLOCKED
           : late == TD_CAUSE_ALIAS   ? TD_MET_ALIASED
                                      : TD_MET_NOTHING;
}

/* Fetch goes on where it would have gone; everything younger than `row` was thrown away. */
static void machine_clear(struct td_sim *sim, uint32_t row, int64_t cycle)
{
    sim->clears++;
    sim->redirect = (struct td_redirect){.pending = true,
                                         .cause = TD_CAUSE_CLEAR,
                                         .row = row,
                                         .resolved = cycle,
                                         .recovery = sim->desc->clear,
                                         .refill = sim->desc->clear};
    td_fetch_redirect(&sim->fetch, cycle, sim->desc->clear);
}

/* Whether rename knows the load from its last run. It keeps few that are not of the stack: where
 * more take turns, each is forgotten before it comes again. */
static bool keeps_load(struct td_sim *sim, const struct td_uop *uop, uint32_t hash)
{
    struct td_stores *stores = &sim->stores;
    uint32_t *kept = &stores->kept[hash & (TD_ORDER_ENTRIES - 1)];

    if (!sim->desc->rename_loads || uop->memory & TD_MEMORY_STACK)
        return true;
    if (*kept && stores->keeps - *kept < (uint32_t)sim->desc->rename_loads)
        return true;
    *kept = ++stores->keeps;
    return false;
}

/* A register that an address is, with a constant; or TD_STORE_INDEXED. */
static inline uint8_t base_of(const struct td_uop *uop)
{
    return uop->address[1] == TD_REG_NONE ? uop->address[0] : TD_STORE_INDEXED;
}

/* Whether its address is a register and a constant, and not a place beside the code. */
static inline bool has_base_alone(const struct td_uop *uop)
{
    return uop->memory & TD_MEMORY_STACK ||
           (uop->address[0] != TD_REG_NONE && uop->address[1] == TD_REG_NONE);
}

/* Whether the store's instruction has not stored since. */
static inline bool is_latest(const struct td_stores *stores, const struct td_store_word *word)
{
    return stores->latest[word->origin] == word->serial;
}

/* Whether the load has its data from where it had them in so many runs before: from the latest
 * store of the same instruction. Rename itself sees that two addresses are one register and one
 * constant: then one run before is enough, and as many stores back is the same as well. */
static bool is_usual(const struct td_sim *sim, const struct td_uop *uop,
                     const struct td_store_word *word, uint32_t back,
                     struct td_store_source *source)
{
    const int wanted = (int)sim->desc->rename_trust;
    const uint8_t base = base_of(uop);
    const bool seen = !wanted || (base != TD_STORE_INDEXED && base == word->base);
    const bool latest = wanted && is_latest(&sim->stores, word);
    const bool same = (seen && source->back == back) ||
                      (latest && source->back && source->origin == word->origin);

    if (!same)
        source->trust = 0;
    else if (source->trust < wanted)
        source->trust++;
    source->origin = word->origin;
    source->back = (uint8_t)back;
    return same && (seen || source->trust >= wanted);
}

/* Whether rename gives the load the register that was stored: for plain loads at the store's own
 * address, when it has its data from there as always, and, where the core goes by instructions, its
 * instruction has not stored since. */
static bool renames(struct td_sim *sim, const struct td_uop *uop, const struct td_store_word *word,
                    uint64_t address, uint32_t hash)
{
    const uint8_t wanted = sim->desc->rename_any ? TD_MEMORY_WHOLE : TD_MEMORY_STACK;
    const uint32_t back = sim->stores.serial - word->serial + 1;

    if (!(uop->memory & wanted) || !word->whole || word->offset != (address & 7) ||
        back > (uint32_t)sim->desc->rename_memory)
        return false;
    if (sim->desc->rename_any == 2 && !is_latest(&sim->stores, word))
        return false;
    if (sim->desc->rename_any == 3 && !has_base_alone(uop))
        return false;
    return is_usual(sim, uop, word, back, &sim->stores.sources[hash & (TD_ORDER_ENTRIES - 1)]) &&
           keeps_load(sim, uop, hash);
}

/* The cycle in which rename has passed on the store's register to a load. */
static int64_t pass_on(struct td_sim *sim, const struct td_store_word *word)
{
    struct td_stores *stores = &sim->stores;
    const bool other = word->serial != stores->passed;

    stores->passed = word->serial;
    stores->passed_at = td_cycle_later(sim->core.cycle + 1,
                                       stores->passed_at + (other ? sim->desc->rename_pause : 0));
    return td_cycle_later(stores->passed_at, word->data);
}

/* The row of a store in the buffer. */
static uint32_t row_of_store(const struct td_sim *sim, const struct td_store_word *word)
{
    const uint32_t places = (uint32_t)sim->desc->store_buffer;
    const uint32_t back = (sim->stores.serial - word->serial) % places;

    return sim->stores.cell[(sim->stores.next + 2 * places - 1 - back) % places] >> TD_CELL_BITS;
}

/* A load that has issued. */
struct load {
    const struct td_uop *uop;
    uint32_t hash, row;
    /* Cycles: when it could have been asked for at the earliest, when its address was known, when
     * it issued. */
    int64_t first, known, issued;
};

/* A load at cycle `t` that gets its data from a store: when that has them. Until then it keeps its
 * place in the scheduler of loads and stores, where there is one, and issues again. */
static int64_t await_data(struct td_core *core, const struct load *load, int64_t t, int64_t data)
{
    if (data <= t || !core->issued_memory)
        return td_cycle_later(t, data);
    return td_core_issue(core, core->load_mask[load->uop->memory & TD_MEMORY_VECTOR], data);
}

/* Code that is asked for (td_sim_each_code) says from where its loads have their data. */
static inline void note_forward(struct td_sim *sim, const struct load *load,
                                const struct td_store_word *word, bool renamed)
{
    if (!sim->bare)
        td_flow_forward(&sim->flow, load->row, sim->stores.serial - word->serial + 1, renamed);
}

/* What it costs a load at cycle `t` that its store's address was not known before. */
static inline int late_address(const struct td_core_desc *desc, const struct load *load,
                               const struct td_store_word *word, int64_t t)
{
    if (t > word->address + 1)
        return 0;
    return load->known < word->address ? desc->forward_waits : desc->forward_meets;
}

/* What a load of `size` bytes at cycle `t` finds in the store buffer: the cycle of its data, or -1
 * for nothing. `*t` is put off when it must first wait; `*late` is then why. */
static int64_t search_stores(struct td_sim *sim, const struct load *load, uint64_t address,
                             uint32_t size, int64_t *t, enum td_cause *late)
{
    const struct td_core_desc *desc = sim->desc;
    const uint32_t order = load->hash & (TD_ORDER_ENTRIES - 1);
    const struct td_stores_found found = td_stores_find(&sim->stores, address, size, *t);
    const struct td_store_word *word = found.youngest;

    if (!word && found.alias) {
        sim->met_row = row_of_store(sim, found.alias);
        *t += desc->alias_4k;
        *late = TD_CAUSE_ALIAS;
    }
    if (!word)
        return -1;
    if (TD_UNLIKELY(sim->watching))
        sim->met_row = row_of_store(sim, word);
    if (found.covers && renames(sim, load->uop, word, address, load->hash)) {
        note_forward(sim, load, word, true);
        /* It has no address to compute. */
        return pass_on(sim, word) - load->uop->load_latency;
    }
    if (word->address > *t) {
        machine_clear(sim, load->row, word->address);
        sim->stores.waits[order] = TD_ORDER_WAITS;
        *t = word->address;
    }
    uint8_t *waits = &sim->stores.waits[order];
    *waits = *waits ? TD_ORDER_WAITS : 0;
    if (found.covers) {
        note_forward(sim, load, word, false);
        return td_cycle_later(await_data(&sim->core, load, *t, word->data),
                              *t + late_address(desc, load, word, *t)) +
               desc->forward;
    }
    /* Bytes of several stores, or from a store and from L1: it waits until all are in L1. */
    *t = found.committed + desc->forward_blocked - desc->l1d_latency;
    *late = TD_CAUSE_BLOCKED;
    return -1;
}

/* Bytes that the access uses of the line in the slot, when that is watched. */
static inline void use_line(struct td_sim *sim, uint32_t slot, uint64_t address, uint32_t bytes)
{
    const uint32_t offset = address & 63;

    if (TD_UNLIKELY(sim->watching) && slot != TD_CACHE_MISS)
        td_lines_use(sim->usage->lines, slot, offset, offset + bytes > 64 ? 64 - offset : bytes);
}

/* Bytes of a load whose first piece is known; the others of a vector follow on one another, those
 * of a gather do not. */
static inline uint32_t whole_load(const struct td_uop *uop, struct td_accesses rest, uint32_t key,
                                  uint64_t address, uint32_t size)
{
    if (!(uop->memory & TD_MEMORY_VECTOR))
        return size;
    for (; td_access_is(&rest, key) && TD_TRACE_ADDRESS(*rest.at) == address + size; rest.at++)
        size += TD_TRACE_BYTES(*rest.at);
    return size;
}

/* The cycle of the data of one more line of a load, of which it uses `bytes` from `begin` on; one
 * that is split over two lines takes a port for each, and longer. `*level` becomes the farthest. */
static int64_t load_next_line(struct td_sim *sim, const struct td_uop *uop, uint64_t begin,
                              uint32_t bytes, bool split, int64_t t, enum td_level *level)
{
    enum td_level other;

    if (split)
        td_core_issue(&sim->core, sim->core.load_mask[uop->memory & TD_MEMORY_VECTOR], t);
    const int64_t ready = td_memory_access(&sim->memory, begin, t, false, &other);
    sim->memory.watched = false; /* lines beyond the first are not shared by threads */
    use_line(sim, sim->memory.slot, begin, bytes);
    *level = other > *level ? other : *level;
    return split ? ready + sim->desc->split : ready;
}

/* The pieces of a wide load that follow the first, which ends before `behind`. A second line is one
 * more access, and a split where the pieces follow on one another. */
static inline int64_t rest_of_load(struct td_sim *sim, const struct load *load,
                                   struct td_accesses *a, uint64_t behind, int64_t t,
                                   enum td_level *level, enum td_cause *late)
{
    const struct td_uop *uop = load->uop;
    const uint32_t key = td_trace_key(uop->insn, false);
    int64_t ready = 0;

    for (; td_access_is(a, key); a->at++) {
        const uint64_t address = TD_TRACE_ADDRESS(*a->at), before = behind;
        behind = address + TD_TRACE_BYTES(*a->at);
        if ((behind - 1) >> TD_LINE_BITS == (before - 1) >> TD_LINE_BITS) {
            use_line(sim, sim->memory.slot, address, TD_TRACE_BYTES(*a->at));
            continue;
        }
        const bool split = address == before && (uop->memory & TD_MEMORY_VECTOR);
        const uint64_t begin = split ? (behind - 1) & ~UINT64_C(63) : address;
        if (split && *late == TD_CAUSE_PORT_LOAD)
            *late = TD_CAUSE_SPLIT;
        ready = td_cycle_later(
            ready, load_next_line(sim, uop, begin, (uint32_t)(behind - begin), split, t, level));
    }
    return ready;
}

/* Whether the uop is of an instruction that holds its line until it has stored. */
static bool is_locked(const struct td_uop *uop)
{
    return (uop->flags & TD_UOP_BUSY) && uop->unit == TD_UNIT_LOCK;
}

/* An access of the words from `first` on to a line that other threads may use: when this one has
 * the line. */
static __attribute__((noinline)) struct td_share_answer
share_line(struct td_sim *sim, const struct td_uop *uop, const uint64_t *first, const uint64_t *end,
           struct td_share_access access, int64_t t)
{
    const struct td_block *block = sim->last;
    const uint64_t *last = first;

    while (last + 1 < end && !(last[1] & TD_TRACE_BLOCK_BIT) &&
           TD_TRACE_KEY(last[1]) == TD_TRACE_KEY(*first))
        last++;
    const uint64_t behind = TD_TRACE_ADDRESS(*last) + TD_TRACE_BYTES(*last);
    access.address = TD_TRACE_ADDRESS(*first);
    access.bytes = behind > access.address && behind - access.address < 64
                       ? (uint32_t)(behind - access.address)
                       : TD_TRACE_BYTES(*first);
    access.place = td_block_place(block, block->pc + block->insn_offsets[uop->insn]);
    return td_memory_share(&sim->memory, &access, t);
}

/* The same for a load, whose data would be there in cycle `ready`. */
static int64_t share_load(struct td_sim *sim, const struct td_uop *uop, const uint64_t *first,
                          const uint64_t *end, int64_t t, int64_t ready, enum td_cause *cause)
{
    const struct td_share_answer answer =
        share_line(sim, uop, first, end, (struct td_share_access){.store = false}, t);
    if (answer.ready <= ready)
        return ready;
    *cause = TD_CAUSE_CONTESTED;
    return answer.ready;
}

/* The load of an instruction of which only the store is in the stream. One that is locked waits for
 * the stores before it, and for its line; alone in the process it finds both. */
static int64_t share_locked(struct td_sim *sim, const struct td_uop *uop,
                            const struct td_accesses *a, int64_t t, enum td_cause *cause)
{
    const int64_t ready = t + sim->desc->l1d_latency;
    enum td_level level;

    if (!is_locked(uop) || !td_access_is(a, td_trace_key(uop->insn, true)))
        return ready;
    const int64_t from = td_cycle_later(t, sim->stores.last_commit);
    td_memory_access(&sim->memory, TD_TRACE_ADDRESS(*a->at), from, true, &level);
    if (!sim->memory.watched)
        return ready;
    const struct td_share_answer answer = share_line(
        sim, uop, a->at, a->end, (struct td_share_access){.store = true, .locked = true}, from);
    if (!answer.late || answer.ready <= ready)
        return ready;
    *cause = answer.is_false ? TD_CAUSE_SHARED_STORE : TD_CAUSE_CONTESTED;
    return answer.ready;
}

/* The same for a store that could be in L1 in cycle `commit`. */
static int64_t share_store(struct td_sim *sim, const struct td_uop *uop,
                           const struct td_accesses *a, int64_t commit)
{
    struct td_stores *stores = &sim->stores;
    /* Each is a turn of its own: the line may be gone after any of them. */
    const struct td_share_answer answer =
        share_line(sim, uop, a->at, a->end, (struct td_share_access){.store = true},
                   td_cycle_later(commit, stores->last_commit + 1));

    if (answer.late) {
        stores->shared_until = answer.ready;
        stores->shared_cause = answer.is_false ? TD_CAUSE_SHARED_STORE : TD_CAUSE_CONTESTED;
    }
    return answer.ready;
}

/* The cycle of a load's data, and what it waits for, whatever it finds. */
static __attribute__((noinline)) int64_t load_any(struct td_sim *sim, const struct load *load,
                                                  struct td_accesses *a, enum td_cause *cause)
{
    const struct td_uop *uop = load->uop;
    const uint32_t key = td_trace_key(uop->insn, false), hash = load->hash;
    enum td_level level = TD_LEVEL_L1;
    enum td_cause late = TD_CAUSE_PORT_LOAD; /* why L1 serves it late, if it does */
    int64_t t = load->issued;

    if (TD_UNLIKELY(!td_access_find(a, uop->insn, key)))
        return TD_UNLIKELY(sim->memory.sharing) ? share_locked(sim, uop, a, t, cause)
                                                : t + sim->desc->l1d_latency;

    const uint64_t *first_word = a->at;
    const uint64_t word = *a->at++, address = TD_TRACE_ADDRESS(word);
    const uint32_t size = TD_TRACE_BYTES(word);
    sim->stack_place = address;
    uint8_t *waits = &sim->stores.waits[hash & (TD_ORDER_ENTRIES - 1)];
    if (TD_UNLIKELY(*waits) && sim->stores.last_known > t) {
        t = sim->stores.last_known;
        --*waits;
    }
    const uint32_t whole = whole_load(uop, *a, key, address, size);
    const bool buffered = td_stores_buffered(&sim->stores, address, whole, t);
    const uint64_t clears = sim->clears, walks = sim->memory.counts.data_walks;
    const int64_t forwarded =
        TD_UNLIKELY(buffered) ? search_stores(sim, load, address, whole, &t, &late) : -1;
    if (forwarded < 0)
        sim->stores.sources[hash & (TD_ORDER_ENTRIES - 1)].back = 0;
    int64_t ready = td_memory_access(&sim->memory, address, t, false, &level);
    const uint32_t slot = sim->memory.slot;
    const enum td_habit_figure from = served_from(sim, level);
    const enum td_cause met = late;
    const bool walked = sim->memory.counts.data_walks != walks;
    use_line(sim, slot, address, size);
    if (forwarded >= 0) {
        ready = forwarded;
        level = TD_LEVEL_L1;
        sim->memory.watched = false; /* what a store passes on needs no line */
    }
    enum td_cause shared = TD_CAUSE_PORT_LOAD;
    if (TD_UNLIKELY(sim->memory.watched))
        ready = share_load(sim, uop, first_word, a->end, t, ready, &shared);
    if (TD_UNLIKELY((address & 63) + size > 64)) {
        ready =
            td_cycle_later(ready + sim->desc->split,
                           load_next_line(sim, uop, (address | 63) + 1,
                                          (uint32_t)(address & 63) + size - 64, true, t, &level));
        late = late == TD_CAUSE_PORT_LOAD ? TD_CAUSE_SPLIT : late;
    }
    const uint64_t *second = a->at;
    if (TD_UNLIKELY(td_access_is(a, key)))
        ready = td_cycle_later(ready, rest_of_load(sim, load, a, address + size, t, &level, &late));
    if (TD_UNLIKELY(sim->watching))
        td_usage_note(sim->usage, &(struct td_use){.place = place_of(sim, uop),
                                                   .address = address,
                                                   .bytes = size * (uint32_t)(a->at - second + 1),
                                                   .slot = slot,
                                                   .from = from,
                                                   .met = met_by(met, forwarded),
                                                   .partner = sim->met_row,
                                                   .walked = walked,
                                                   .cleared = sim->clears != clears,
                                                   .faulted = sim->memory.fresh,
                                                   .first = load->first,
                                                   .known = load->known,
                                                   .ready = ready});
    td_memory_train(&sim->memory, hash, address, t);
    if (TD_LIKELY(late == TD_CAUSE_PORT_LOAD) || level > TD_LEVEL_DTLB)
        late = level_causes[level];
    *cause = TD_UNLIKELY(shared != TD_CAUSE_PORT_LOAD) ? shared : late;
    return ready + uop->load_latency;
}

/* The habit of a load that load_plain has found to be one. */
static __attribute__((noinline)) void note_plain(struct td_sim *sim, const struct td_uop *uop,
                                                 uint64_t word, int64_t known, int64_t issued)
{
    const uint64_t address = TD_TRACE_ADDRESS(word);
    const uint32_t bytes = TD_TRACE_BYTES(word);

    use_line(sim, sim->memory.slot, address, bytes);
    td_usage_note(sim->usage, &(struct td_use){.place = place_of(sim, uop),
                                               .address = address,
                                               .bytes = bytes,
                                               .slot = sim->memory.slot,
                                               .from = served_by[TD_LEVEL_L1],
                                               .met = TD_MET_NOTHING,
                                               .partner = sim->met_row,
                                               .first = sim->core.cycle + 1,
                                               .known = known,
                                               .ready = issued + sim->desc->l1d_latency});
}

/* What most loads are: a part of a word of a line that is plainly in L1, of a page that is in the
 * first TLB, with nothing in the store buffer that is in its way. False: it is not that; then
 * nothing has happened that load_any would not do again. */
static inline bool load_plain(struct td_sim *sim, const struct td_uop *uop, uint32_t hash,
                              int64_t known, int64_t issued, struct td_accesses *a)
{
    const uint32_t key = td_trace_key(uop->insn, false), order = hash & (TD_ORDER_ENTRIES - 1);
    struct td_memory *memory = &sim->memory;

    if (TD_UNLIKELY(!td_access_is(a, key)))
        return false;
    const uint64_t word = *a->at, address = TD_TRACE_ADDRESS(word);
    const uint64_t page = address >> TD_PAGE_BITS;
    const struct td_accesses rest = {.at = a->at + 1, .end = a->end};
    if (TD_UNLIKELY(sim->stores.waits[order] ||
                    sim->stores.committed[td_stores_index(address)] > issued ||
                    (address & 7) + TD_TRACE_BYTES(word) > 8 || td_access_is(&rest, key)))
        return false;
    if (page != memory->last_page &&
        TD_UNLIKELY(td_cache_find(&memory->dtlb, page) == TD_CACHE_MISS))
        return false;
    const uint32_t slot = td_cache_find(&memory->l1d, address >> TD_LINE_BITS);
    if (TD_UNLIKELY(slot == TD_CACHE_MISS || memory->l1d_pending[slot] != 0))
        return false;
    a->at++;
    memory->last_page = page;
    memory->slot = slot;
    sim->stack_place = address;
    sim->stores.sources[order].back = 0;
    if (TD_UNLIKELY(sim->watching))
        note_plain(sim, uop, word, known, issued);
    td_memory_train(memory, hash, address, issued);
    return true;
}

/* A load whose address is known at `known`. Returns the cycle of its data and sets what it waits
 * for. */
static inline int64_t execute_load(struct td_sim *sim, const struct td_uop *uop, uint32_t hash,
                                   struct td_accesses *a, int64_t known, uint32_t row,
                                   enum td_cause *cause)
{
    struct td_core *core = &sim->core;
    const int64_t issued =
        td_core_issue(core, core->load_mask[uop->memory & TD_MEMORY_VECTOR], known);

    *cause = TD_CAUSE_PORT_LOAD;
    if (TD_UNLIKELY(td_core_waiting_vector(core) >= core->vector_crowded) &&
        uop->memory & TD_MEMORY_VECTOR && !uop->issue.add)
        td_core_pass_queue(core);
    if (TD_LIKELY(load_plain(sim, uop, hash, known, issued, a)))
        return issued + sim->desc->l1d_latency + uop->load_latency;
    return load_any(sim,
                    &(struct load){.uop = uop,
                                   .hash = hash,
                                   .row = row,
                                   .first = core->cycle + 1,
                                   .known = known,
                                   .issued = issued},
                    a, cause);
}

/* `store`: what is the same of all its words. */
static inline void note_store(struct td_sim *sim, struct td_store_word store, uint64_t address,
                              uint32_t size, int64_t commit)
{
    store.word = address >> 3;
    store.bytes = td_store_bytes(address, size);
    store.offset = (uint8_t)(address & 7);
    td_stores_put(&sim->stores, store, commit);
    if (TD_UNLIKELY((address & 7) + size > 8)) {
        store.whole = false;
        note_store(sim, store, (address | 7) + 1, size - (8 - (uint32_t)(address & 7)), commit);
    }
}

/* The words of the store at place `k` of the buffer go to L1, the first of them into `slot`.
 * Returns how many bytes they are. */
static inline uint32_t store_words(struct td_sim *sim, struct td_accesses *a, uint32_t key,
                                   const struct td_store_word *store, uint32_t k, uint32_t slot)
{
    struct td_stores *stores = &sim->stores;
    const int64_t commit = stores->commit[k];
    uint64_t used = stores->last_place >> TD_LINE_BITS; /* the line that memory gave last */
    uint32_t bytes = 0;

    for (; td_access_is(a, key); a->at++) {
        const uint64_t address = TD_TRACE_ADDRESS(*a->at);
        const uint32_t size = TD_TRACE_BYTES(*a->at);
        const uint64_t last = address + size - 1;
        enum td_level level;

        note_store(sim, *store, address, size, commit);
        bytes += size;
        if (address >> TD_LINE_BITS == used)
            use_line(sim, slot, address, size);
        /* A second line is a second turn. */
        if (TD_UNLIKELY(last >> TD_LINE_BITS != stores->last_place >> TD_LINE_BITS)) {
            stores->last_place = UINT64_MAX;
            stores->last_commit = ++stores->commit[k];
            td_memory_access(&sim->memory, last, store->address + 1, true, &level);
            sim->memory.watched = false;
            used = last >> TD_LINE_BITS;
            slot = sim->memory.slot;
            const uint64_t begin = address >> TD_LINE_BITS == used ? address : last & ~UINT64_C(63);
            use_line(sim, slot, begin, (uint32_t)(last - begin) + 1);
        }
    }
    return bytes;
}

/* The cycle in which L1 can take a store whose line, from `level`, it lacked. Lines that push each
 * other out of their set are fetched again one by one; from beyond L2, on Zen 4 twice as long. */
static __attribute__((noinline)) int64_t wait_in_crowd(struct td_sim *sim, uint64_t address,
                                                       enum td_level level, int64_t known,
                                                       int64_t commit)
{
    const struct td_core_desc *desc = sim->desc;

    if (!desc->store_crowded ||
        !td_stores_crowd(&sim->stores, address >> TD_LINE_BITS, (uint32_t)desc->l1d_ways,
                         (uint32_t)desc->store_buffer, known))
        return commit;
    const int64_t again = (level > TD_LEVEL_L2 ? 2 : 1) * (int64_t)desc->store_crowded;
    return td_cycle_later(commit, sim->stores.last_commit + again);
}

/* A store whose address is known at `known` and whose data at `data`. Returns when it is complete
 * for retirement, and sets what it waits for when that is a port. */
static inline int64_t execute_store(struct td_sim *sim, const struct td_uop *uop,
                                    struct td_accesses *a, int64_t known, int64_t data,
                                    uint32_t row, enum td_cause *cause)
{
    const int64_t asked = known;
    struct td_stores *stores = &sim->stores;
    const uint32_t key = td_trace_key(uop->insn, true);
    const uint32_t k = stores->next, origin = stores->origin;

    stores->latest[origin] = ++stores->serial;
    stores->next = k + 1 == (uint32_t)sim->desc->store_buffer ? 0 : k + 1;
    if (uop->memory & TD_MEMORY_VECTOR)
        data = td_core_issue_vector_store(&sim->core, &known, data);
    else
        known =
            td_core_issue(&sim->core, sim->core.store_mask[(uop->flags & TD_UOP_LOAD) != 0], known);
    if (TD_UNLIKELY(known > asked + 1) && known >= data)
        *cause = TD_CAUSE_PORT_STORE;
    stores->last_known = td_cycle_later(stores->last_known, known);
    const int64_t done = td_cycle_later(data, known + 1);
    const int64_t retired = td_cycle_later(done, sim->core.last_retire) + 1;
    if (TD_UNLIKELY(!td_access_find(a, uop->insn, key))) {
        stores->commit[k] = stores->retired[k] = stores->last_commit;
        stores->cell[k] = td_ledger_cell(row, TD_CAUSE_STORE);
        return done;
    }
    const uint64_t first = TD_TRACE_ADDRESS(*a->at);
    enum td_level level = TD_LEVEL_L1;
    sim->stack_place = first;
    const bool past = (uop->memory & TD_MEMORY_PAST) != 0;
    const uint64_t walks = sim->memory.counts.data_walks;
    const int64_t owned = TD_UNLIKELY(past)
                              ? td_memory_write_past(&sim->memory, first, known + 1)
                              : td_memory_access(&sim->memory, first, known + 1, true, &level);
    const uint32_t slot = past ? TD_USE_PAST : sim->memory.slot;
    const enum td_level nearest = level;
    const enum td_habit_figure from = served_from(sim, level);
    const bool walked = sim->memory.counts.data_walks != walks;
    /* Stores go to L1 in order, one a cycle, two when to one block. */
    const uint64_t block = (uint64_t)sim->desc->store_block;
    const bool apart = (block && (first ^ stores->last_place) >= block) ||
                       ((uop->memory & TD_MEMORY_VECTOR) && !sim->desc->vector_pair);
    int64_t commit = td_cycle_later(stores->last_commit + apart, retired);
    commit = td_cycle_later(commit, owned - sim->desc->l1d_latency + 1);
    if (TD_UNLIKELY(nearest > TD_LEVEL_DTLB))
        commit = wait_in_crowd(sim, first, nearest, known, commit);
    if (TD_UNLIKELY(sim->memory.watched))
        commit = share_store(sim, uop, a, commit);
    commit += stores->second && commit == stores->last_commit;
    stores->second = commit == stores->last_commit;
    const enum td_cause why = TD_UNLIKELY(retired < stores->shared_until)
                                  ? (enum td_cause)stores->shared_cause
                                  : TD_CAUSE_STORE;
    stores->last_place = first;
    stores->last_commit = stores->commit[k] = commit;
    stores->retired[k] = retired < commit ? retired : commit;
    stores->cell[k] = td_ledger_cell(row, why);
    const struct td_store_word store = {.data = data,
                                        .address = known,
                                        .serial = stores->serial,
                                        .origin = (uint16_t)origin,
                                        .base = base_of(uop),
                                        .whole = (uop->memory & TD_MEMORY_WHOLE) != 0};
    const uint32_t bytes = store_words(sim, a, key, &store, k, slot);
    if (TD_UNLIKELY(sim->watching))
        td_usage_note(sim->usage, &(struct td_use){.place = place_of(sim, uop),
                                                   .address = first,
                                                   .bytes = bytes,
                                                   .slot = slot,
                                                   .from = from,
                                                   .walked = walked,
                                                   .faulted = sim->memory.fresh,
                                                   .store = true});
    return done;
}

/* The store buffer must have a place before a store is dispatched. */
static inline void wait_store_buffer(struct td_sim *sim)
{
    const struct td_stores *stores = &sim->stores;
    const uint32_t k = stores->next;

    if (TD_LIKELY(stores->commit[k] <= sim->core.cycle))
        return;
    /* Until the store that holds the place has retired, it waits with the rest. */
    td_core_stall(&sim->core, stores->retired[k]);
    if (sim->core.counting)
        td_counting_stall(sim->core.counting, sim->core.cycle + (sim->core.used > 0),
                          stores->commit[k], TD_CAUSE_STORE);
    td_core_lose(&sim->core, stores->commit[k], stores->cell[k]);
}

/* Issues the operation itself when its operands are there at `t`. */
static inline int64_t execute_unit(struct td_core *core, const struct td_uop *uop, uint8_t flags,
                                   int64_t t, enum td_cause *cause)
{
    if (TD_UNLIKELY(flags & TD_UOP_BUSY)) {
        const int64_t free = td_core_take_unit(core, uop->unit, t, uop->busy);
        const bool waits = free > t;
        /* TMA counts what a lock takes as bound by L1 (Lock_Latency). */
        if (uop->unit < TD_UNIT_LOCK)
            *cause = TD_CAUSE_DIVIDER;
        else if (uop->unit == TD_UNIT_LOCK && (waits || *cause == TD_CAUSE_PORT_LOAD))
            *cause = TD_CAUSE_LOCK;
        else if (waits && uop->slots > TD_DECODED_UOPS_MAX) /* of microcode, that goes on */
            *cause = TD_CAUSE_MICROCODE;
        else if (waits) {
            td_core_note_wait(core, free - t);
            *cause = (enum td_cause)uop->port;
        }
        t = free;
    }
    const int64_t start = td_core_issue_bound(core, uop->issue, t);
    if (start - t > uop->latency && *cause != TD_CAUSE_DIVIDER)
        *cause = (enum td_cause)uop->port;
    return start;
}

/* A prefetch instruction, or a load that only warms. */
static void execute_prefetch(struct td_sim *sim, const struct td_uop *uop, struct td_accesses *a,
                             int64_t t)
{
    const uint32_t key = td_trace_key(uop->insn, false);

    if (td_access_find(a, uop->insn, key))
        td_memory_prefetch(&sim->memory, TD_TRACE_ADDRESS(*a->at++), t);
}

/* When the last source is there, which its like's result may be earlier. Where it is not an
 * accumulator, any may be. */
static inline int64_t early_operands(const struct td_core *core, const struct td_uop *uop)
{
    const int early = uop->forward;

    if (uop->src[2] != TD_REG_NONE)
        return td_cycle_later(td_cycle_later(core->ready[uop->src[0]], core->ready[uop->src[1]]),
                              td_core_ready_early(core, uop->src[2], early));
    return td_cycle_later(td_core_ready_early(core, uop->src[0], early),
                          td_core_ready_early(core, uop->src[1], early));
}

/* When all sources are there. */
static inline int64_t operands_ready(const struct td_core *core, const struct td_uop *uop,
                                     bool plain)
{
    if (!plain && TD_UNLIKELY(uop->forward))
        return early_operands(core, uop);
    return td_cycle_later(td_cycle_later(core->ready[uop->src[0]], core->ready[uop->src[1]]),
                          core->ready[uop->src[2]]);
}

/* Issues a uop that is ready at `t`, on a core that wakes early: what waits for a result of one
 * cycle is woken when its uop asks for a port. */
static int64_t issue_woken(struct td_core *core, const struct td_uop *uop, int64_t t)
{
    int64_t woken = core->cycle + 1;

    for (int i = 0; i < 3; i++)
        woken = td_cycle_later(woken, td_core_woken(core, uop->src[i]));
    const int64_t issued = td_core_issue_woken(core, uop->issue, woken, t);
    if (uop->latency != 1 || issued == t)
        return issued;
    for (int i = 0; i < 2; i++) {
        core->woken[uop->dst[i]] = t + 1;
        core->woken_for[uop->dst[i]] = issued + 1;
    }
    return issued;
}

/* A uop that only computes: most are. There is room for it (td_core_make_room), as for that below.
 * `plain`: its way is TD_WAY_COMPUTES. */
static inline void execute_simple(struct td_sim *sim, const struct td_uop *uop, uint32_t first_cell,
                                  bool plain)
{
    struct td_core *core = &sim->core;

    td_core_take_register(core, (enum td_result)uop->result);
    if (!plain)
        td_core_keep_whole(core, uop->slots, first_cell + uop->cell);
    td_core_limit(core, uop->issue.group, first_cell + uop->cell);
    if (plain)
        core->used++;
    else
        td_core_dispatch(core, uop->slots);
    int64_t t = td_cycle_later(operands_ready(core, uop, plain), core->cycle + 1);
    /* Those that wait in the general scheduler. */
    if (TD_UNLIKELY(core->wakes_early) && uop->issue.waits == 1)
        t = issue_woken(core, uop, t);
    else if (plain || uop->issue.add)
        t = td_core_issue_bound(core, uop->issue, t);
    const int64_t done = t + uop->latency;
    core->ready[uop->dst[0]] = core->ready[uop->dst[1]] = done;
    if (!plain && uop->forward)
        core->forwarded[uop->dst[0]] = done;
    td_core_retire(core, done, first_cell + uop->cell, (enum td_result)uop->result);
    sim->branch_done = done;
}

/* Waits until this cycle's group has room for the uop, its operation and its access. */
static inline void limit_dispatch(struct td_core *core, const struct td_uop *uop, uint8_t flags,
                                  uint32_t row)
{
    static const struct td_group_mask none = {0, 0, 0};
    const struct td_group_mask own = uop->issue.group;
    const struct td_group_mask access = flags & TD_UOP_STORE ? core->store_group
                                        : flags & TD_UOP_LOAD
                                            ? core->load_mask[uop->memory & TD_MEMORY_VECTOR].group
                                            : none;
    const enum td_cause busy = core->group & own.full ? (enum td_cause)uop->port
                               : flags & TD_UOP_STORE ? TD_CAUSE_PORT_STORE
                                                      : TD_CAUSE_PORT_LOAD;

    td_core_limit(core,
                  (struct td_group_mask){own.add + access.add, own.full | access.full, own.more},
                  td_ledger_cell(row, busy));
}

/* What holds up dispatch before it begins. */
static void begin_slow(struct td_sim *sim, const struct td_uop *uop, uint32_t row)
{
    struct td_core *core = &sim->core;

    if (uop->flags & TD_UOP_SERIAL)
        td_core_stall(core, core->last_retire);
    if (uop->flags & TD_UOP_STRING)
        td_core_lose(core, core->cycle + sim->desc->string_start,
                     td_ledger_cell(row, TD_CAUSE_SERIAL));
}

/* The load buffer must have a place: loads leave it when they retire. */
static inline void wait_load_buffer(struct td_sim *sim)
{
    struct td_core *core = &sim->core;
    const uint64_t oldest =
        sim->load_uop[(sim->loads - (uint32_t)sim->desc->load_buffer) & (TD_LOAD_RING - 1)];

    const int64_t retired = core->retire[oldest & (TD_ROB_RING - 1)];
    /* Whether it is so far back is hard to foresee: no branch goes by that alone. */
    if (TD_UNLIKELY((core->uops - oldest < TD_ROB_RING) & (retired > core->cycle)))
        td_core_stall(core, retired);
    sim->load_uop[sim->loads++ & (TD_LOAD_RING - 1)] = core->uops;
}

/* The page fault of the first access to a page: the kernel's time is not modelled, but what it
 * takes in the program's. */
static __attribute__((noinline)) void page_fault(struct td_sim *sim, uint32_t row, bool store)
{
    const int cycles = store ? sim->desc->page_fault : sim->desc->page_fault_load;
    struct td_core *core = &sim->core;

    sim->memory.fresh = false;
    if (!cycles)
        return;
    td_core_stall(core, core->last_retire);
    td_core_lose(core, core->cycle + cycles, td_ledger_cell(row, TD_CAUSE_SERIAL));
}

/* When a locked instruction retires that is otherwise done: it stores before that, when it is the
 * oldest and the stores before it are in L1. What follows runs meanwhile, and then retires by the
 * width of the core. */
static __attribute__((noinline)) int64_t hold_lock(struct td_sim *sim, int64_t done)
{
    struct td_core *core = &sim->core;
    struct td_stores *stores = &sim->stores;
    const uint32_t own = (stores->next ? stores->next : (uint32_t)sim->desc->store_buffer) - 1;
    const int64_t before = (int64_t)((core->uops - core->locked_uop) / core->width);
    const bool only = stores->serial == core->locked_store + 1; /* no store since the last one */

    done = td_cycle_later(done, td_cycle_later(core->last_retire, core->locked_retire + before));
    done = td_cycle_later(done, stores->last_commit + (only ? 0 : sim->desc->lock_after_store)) +
           sim->desc->lock_hold;
    stores->last_commit = stores->commit[own] = stores->retired[own] = done;
    core->locked_uop = core->uops;
    core->locked_store = stores->serial;
    core->locked_retire = done;
    return done;
}

/* `way` is the uop's, and known when this is compiled: the short ones leave out what cannot be. */
static inline __attribute__((always_inline)) void
execute_uop(struct td_sim *sim, const struct td_uop *uop, enum td_uop_way way, uint32_t pc_hash,
            uint32_t first_row, struct td_accesses *a)
{
    const uint8_t flags = way == TD_WAY_LOADS    ? TD_UOP_LOAD
                          : way == TD_WAY_STORES ? TD_UOP_STORE
                                                 : uop->flags;
    struct td_core *core = &sim->core;
    const uint32_t row = first_row + uop->insn, hash = pc_hash + uop->insn;
    enum td_cause cause = (enum td_cause)uop->port;

    if (TD_UNLIKELY(flags & (TD_UOP_SERIAL | TD_UOP_STRING))) {
        begin_slow(sim, uop, row);
        cause = TD_CAUSE_SERIAL;
    }
    if (flags & TD_UOP_STORE) {
        wait_store_buffer(sim);
        sim->stores.origin = hash & (TD_ORDER_ENTRIES - 1);
    }
    if (flags & TD_UOP_LOAD)
        wait_load_buffer(sim);
    td_core_take_register(core, (enum td_result)uop->result);
    if (way == TD_WAY_ANY)
        td_core_keep_whole(core, uop->slots, td_ledger_cell(row, cause));
    limit_dispatch(core, uop, flags, row);
    if (way == TD_WAY_ANY)
        td_core_dispatch(core, uop->slots);
    else
        core->used++;

    const int64_t first = core->cycle + 1;
    int64_t t = first, load_done = 0;
    int64_t known = td_cycle_later(core->ready[uop->address[0]], core->ready[uop->address[1]]);
    known = td_cycle_later(known, first);
    if (flags & TD_UOP_LOAD) {
        t = load_done = execute_load(sim, uop, hash, a, known, row, &cause);
    } else if (TD_UNLIKELY(flags & TD_UOP_PREFETCH)) {
        execute_prefetch(sim, uop, a, known);
    }
    const int64_t operands = operands_ready(core, uop, way == TD_WAY_STORES);
    if (operands > t) {
        t = operands;
        if (operands > load_done + uop->latency && cause != TD_CAUSE_SERIAL)
            cause = (enum td_cause)uop->port;
    }
    const int64_t folded = t;
    if (uop->issue.add)
        t = execute_unit(core, uop, flags, t, &cause);
    int64_t done = t + uop->latency;
    core->ready[uop->dst[0]] = TD_UNLIKELY(flags & TD_UOP_FOLD) ? folded : done;
    core->ready[uop->dst[1]] = done;
    if (way != TD_WAY_STORES && TD_UNLIKELY(uop->forward))
        core->forwarded[uop->dst[0]] = done;
    if (flags & TD_UOP_STORE)
        done = execute_store(sim, uop, a, known, done, row, &cause);
    if (way == TD_WAY_ANY && TD_UNLIKELY(is_locked(uop)) && sim->desc->lock_hold)
        done = hold_lock(sim, done);
    td_core_retire(core, done, td_ledger_cell(row, cause), (enum td_result)uop->result);
    sim->branch_done = done;
    if (TD_UNLIKELY(sim->memory.fresh) && flags & (TD_UOP_LOAD | TD_UOP_STORE))
        page_fault(sim, row, (flags & TD_UOP_STORE) != 0);
}

/* Slots between a branch or clear and the first uop after it. Wrong-path uops take slots until
 * the back end is full of them; from then on it is what stalls. */
static void charge_redirect(struct td_sim *sim, int64_t cycle)
{
    struct td_core *core = &sim->core;
    const struct td_redirect redirect = sim->redirect;
    const uint32_t cell = td_ledger_cell(redirect.row, redirect.cause);

    sim->redirect.pending = false;
    if (redirect.resolved > core->cycle + core->scheduler / core->width) {
        const int64_t fill = core->cycle + td_core_depth(core) / core->width;
        if (redirect.resolved > fill) {
            td_core_lose(core, fill, cell);
            td_core_stall(core, redirect.resolved);
        }
    }
    const int64_t recovered = redirect.resolved + redirect.recovery;
    td_core_lose(core, recovered < cycle ? recovered : cycle, cell);
    /* What is later than the refill is the first line's own lateness. */
    const int64_t refilled = redirect.resolved + redirect.refill;
    td_core_lose(core, refilled < cycle ? refilled : cycle,
                 td_ledger_cell(redirect.row, TD_CAUSE_RESTEER));
}

/* Fetches a part and lets dispatch wait for it, until there is room for its first uop. `row` is its
 * first instruction's. */
static inline void fetch_part(struct td_sim *sim, const struct td_fetch_part *part, uint32_t row,
                              bool known)
{
    struct td_core *core = &sim->core;

    td_core_make_room(core);
    const int64_t cycle = td_fetch_part(&sim->fetch, &sim->memory, part, core->uops, known);
    if (cycle > core->cycle) {
        const struct td_redirect redirect = sim->redirect;
        const int64_t from = core->cycle;

        if (TD_UNLIKELY(redirect.pending))
            charge_redirect(sim, cycle);
        td_core_lose(core, cycle, td_ledger_cell(row, sim->fetch.cause));
        if (TD_UNLIKELY(sim->counting != NULL))
            td_counting_late(sim->counting, &redirect, sim->fetch.cause, core->uops, from, cycle);
    }
    sim->redirect.pending = false;
    td_fetch_dispatched(&sim->fetch, core->uops, core->cycle);
}

/* One uop of a block, whose first row is `row`. */
static inline __attribute__((always_inline)) void execute(struct td_sim *sim,
                                                          const struct td_uop *uop,
                                                          uint32_t pc_hash, uint32_t row,
                                                          struct td_accesses *a)
{
    const uint32_t first_cell = td_ledger_cell(row, (enum td_cause)0);

    if (uop->way == TD_WAY_COMPUTES)
        execute_simple(sim, uop, first_cell, true);
    else if (uop->way == TD_WAY_LOADS)
        execute_uop(sim, uop, TD_WAY_LOADS, pc_hash, row, a);
    else if (uop->way == TD_WAY_STORES)
        execute_uop(sim, uop, TD_WAY_STORES, pc_hash, row, a);
    else if (uop->flags & ~TD_UOP_HEAVY)
        execute_uop(sim, uop, TD_WAY_ANY, pc_hash, row, a);
    else
        execute_simple(sim, uop, first_cell, false);
}

const uint64_t *td_execute_block(struct td_sim *sim, const struct td_block *block,
                                 struct td_block_state *state, uint32_t row, const uint64_t *words,
                                 const uint64_t *end)
{
    struct td_accesses accesses = {.at = words, .end = end};
    const bool known = state->epoch == sim->fetch.epoch;
    TD_INVARIANT(state->epoch <= sim->fetch.epoch);
    const struct td_uop *uop = block->uops;

    for (uint32_t i = 0; i < block->part_count; i++) {
        const struct td_fetch_part *part = &block->parts[i];
        fetch_part(sim, part, row + uop->insn, known);
        const struct td_uop *last = block->uops + part->uop_end;
        for (;;) {
            execute(sim, uop, block->pc_hash, row, &accesses);
            if (++uop == last)
                break;
            td_core_make_room(&sim->core);
        }
    }
    state->epoch = sim->fetch.epoch;
    while (accesses.at < end && !(*accesses.at & TD_TRACE_BLOCK_BIT))
        accesses.at++;
    return accesses.at;
}

/* What the microcode takes for a round: by bytes when it moves or fills, by elements when it
 * compares or scans. */
static void charge_string(struct td_sim *sim, uint32_t row, bool moves)
{
    struct td_core *core = &sim->core;
    int cycles = 0;

    if (moves) {
        cycles = (int)sim->string_bytes / sim->desc->string_bytes;
        sim->string_bytes -= (uint32_t)(cycles * sim->desc->string_bytes);
    } else {
        sim->string_ticks += sim->desc->string_scan;
        cycles = sim->string_ticks / TD_TICKS_PER_CYCLE;
        sim->string_ticks %= TD_TICKS_PER_CYCLE;
    }
    td_core_lose(core, core->cycle + cycles, td_ledger_cell(row, TD_CAUSE_SERIAL));
}

static enum td_cause string_cause(bool store, enum td_level level)
{
    if (store)
        return level == TD_LEVEL_SHARED ? TD_CAUSE_SHARED_STORE : TD_CAUSE_STORE;
    return level == TD_LEVEL_L1 ? TD_CAUSE_L1 : level_causes[level];
}

/* A line of a repeated string instruction, of which all bytes are taken to be used. */
static int64_t share_string(struct td_sim *sim, uint32_t row, uint64_t address, bool store,
                            int64_t ready, enum td_level *level)
{
    const struct td_block *block = sim->last;
    const uint32_t insn = row - sim->last_row;
    const struct td_share_access access = {
        .address = address & ~UINT64_C(63),
        .bytes = 64,
        .place = td_block_place(block, block->pc + block->insn_offsets[insn]),
        .store = store,
    };
    const struct td_share_answer answer =
        td_memory_share(&sim->memory, &access, sim->core.cycle + 1);

    if (answer.ready <= ready)
        return ready;
    *level = TD_LEVEL_SHARED;
    return answer.ready;
}

const uint64_t *td_execute_string(struct td_sim *sim, uint32_t row, const uint64_t *words,
                                  const uint64_t *end)
{
    struct td_core *core = &sim->core;
    bool loads = false, stores = false;

    for (; words < end && !(*words & TD_TRACE_BLOCK_BIT); words++) {
        const bool store = (*words & TD_TRACE_STORE_BIT) != 0;
        const uint64_t address = TD_TRACE_ADDRESS(*words), line = address >> TD_LINE_BITS;
        enum td_level level;
        sim->string_bytes += store ? TD_TRACE_BYTES(*words) : 0;
        loads |= !store;
        stores |= store;
        if (line == sim->string_line[store])
            continue;
        sim->string_line[store] = line;
        int64_t ready = td_memory_access(&sim->memory, address, core->cycle + 1, store, &level);
        if (TD_UNLIKELY(sim->memory.watched))
            ready = share_string(sim, row, address, store, ready, &level);
        /* The microcode keeps a few lines in flight; it waits for one that is late. */
        const int64_t reach = 12 * (64 / sim->desc->string_bytes) + sim->desc->l2_latency;
        if (ready - reach > core->cycle)
            td_core_lose(core, ready - reach, td_ledger_cell(row, string_cause(store, level)));
    }
    charge_string(sim, row, stores || !loads);
    return words;
}
