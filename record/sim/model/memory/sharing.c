/* SPDX-License-Identifier: MIT */
#include "record/sim/model/memory/sharing.h"

#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
    LINE_BITS = 6,
    SETS = 8192, /* with WAYS as many lines as fit into a large L2 */
    WAYS = 4,
    SIDES = 16, /* threads of a line that are told apart */
    NEWS = 64,
    SPINS = 64,
    NOBODY = -1,
    REST_ROWS = 256,
    /* A core that got a line keeps it for so long, however many wait: the stores that are due in it
     * go in one after the other. An estimate. */
    HOLD = 8,
    /* A thread that did not come back to a line for so many of its usual gaps, and cycles, has left
     * it. */
    GAPS = 4,
    GAP_CYCLES = 1000,
    GAP_WEIGHT = 8, /* of the gaps so far, in their mean */
    EVICTION_LOOKS = 8,
};
#define NO_GAP  INT64_MAX
#define NO_TIME INT64_MIN

enum kind { LOAD, STORE, KINDS };

/* What is known of a line while no two threads have fought for it. */
struct entry {
    uint64_t line;    /* plus 1; 0: free */
    uint64_t holders; /* a bit for each thread, modulo 64 */
    struct {
        uint32_t thread;
        uint64_t place;
    } users[2];      /* the last two, the later one first */
    uint32_t detail; /* index plus 1; 0: none */
    uint32_t used;   /* turn of its last use */
    bool written;
    bool several; /* more than one thread had it */
};

/* A thread at a line of several. */
struct side {
    uint32_t thread;
    bool used, held;
    bool keeps; /* a locked load had the line; its store is still to come */
    uint32_t turn;
    int64_t acquired;    /* when it last got the line */
    int64_t last[KINDS]; /* when it last loaded from it, stored to it */
    int64_t gap[KINDS];  /* mean time between that and the next */
    uint64_t place[KINDS];
    uint64_t bytes[KINDS], before[KINDS]; /* since it got the line, and the time before */
};

struct detail {
    uint64_t line;
    struct entry *entry; /* NULL: of none */
    int writer;          /* index of sides: who wrote last; NOBODY */
    struct side sides[SIDES];
    struct td_sharing_row *rows;
    size_t row_count, row_cap;
    uint64_t cycles;
};

struct td_sharing {
    int64_t transfer;
    atomic_flag busy; /* taken for all that follows */
    struct entry *entries;
    uint32_t turn;
    struct detail *details[TD_SHARING_LINES];
    uint32_t detail_count, hand;
    struct td_sharing_row rest[REST_ROWS];
    size_t rest_count;
    struct td_sharer **sharers; /* by thread; NULL: it has ended */
    size_t sharer_count, sharer_cap;
    atomic_bool several;
};

struct td_sharer {
    struct td_sharing *sharing;
    uint32_t thread;
    atomic_bool rests;
    int64_t clock;
    uint64_t news[NEWS];
    unsigned news_count;
    bool too_many;
    atomic_bool any; /* news */
    /* Lines, plus 1, that the first thread wrote while it was alone, in sets; NULL: of another. */
    uint64_t *written;
};

static void take(struct td_sharing *sharing)
{
    /* Acquire pairs with the release in give(). A holder may have lost its CPU. */
    for (int i = 1; atomic_flag_test_and_set_explicit(&sharing->busy, memory_order_acquire); i++) {
        if (i % SPINS == 0)
            sched_yield();
    }
}

static void give(struct td_sharing *sharing)
{
    atomic_flag_clear_explicit(&sharing->busy, memory_order_release);
}

struct td_sharing *td_sharing_new(const struct td_core_desc *desc)
{
    struct td_sharing *sharing = td_xcalloc(1, sizeof(*sharing));

    atomic_flag_clear(&sharing->busy);
    sharing->transfer = desc->transfer;
    return sharing;
}

void td_sharing_free(struct td_sharing *sharing)
{
    if (!sharing)
        return;
    for (uint32_t i = 0; i < sharing->detail_count; i++) {
        free(sharing->details[i]->rows);
        free(sharing->details[i]);
    }
    free(sharing->entries);
    free(sharing->sharers);
    free(sharing);
}

/* A line's entry; one that is free, or was not used for long, becomes its. */
static struct entry *entry_of(struct td_sharing *sharing, uint64_t line);

/* What the first thread wrote while it was alone is its own when the second comes. */
static void take_written(struct td_sharing *sharing)
{
    const struct td_sharer *first = sharing->sharers[0];

    for (size_t i = 0; first && i < SETS * WAYS; i++) {
        const uint64_t line = __atomic_load_n(&first->written[i], __ATOMIC_RELAXED);

        if (!line)
            continue;
        struct entry *entry = entry_of(sharing, line - 1);
        entry->users[0].thread = first->thread;
        entry->holders = UINT64_C(1) << first->thread;
        entry->written = true;
    }
}

struct td_sharer *td_sharer_new(struct td_sharing *sharing)
{
    struct td_sharer *sharer = td_xcalloc(1, sizeof(*sharer));

    take(sharing);
    sharing->sharers = td_grow(sharing->sharers, &sharing->sharer_cap, sharing->sharer_count + 1,
                               sizeof(*sharing->sharers));
    sharer->sharing = sharing;
    sharer->thread = (uint32_t)sharing->sharer_count;
    sharing->sharers[sharing->sharer_count++] = sharer;
    if (sharer->thread == 0)
        sharer->written = td_xcalloc((size_t)SETS * WAYS, sizeof(*sharer->written));
    if (sharing->sharer_count == 2) {
        sharing->entries = td_xcalloc((size_t)SETS * WAYS, sizeof(*sharing->entries));
        take_written(sharing);
        atomic_store_explicit(&sharing->several, true, memory_order_release);
    }
    give(sharing);
    return sharer;
}

void td_sharer_free(struct td_sharer *sharer)
{
    if (!sharer)
        return;
    take(sharer->sharing);
    sharer->sharing->sharers[sharer->thread] = NULL;
    give(sharer->sharing);
    free(sharer->written);
    free(sharer);
}

void td_sharer_rest(struct td_sharer *sharer, bool rests)
{
    atomic_store_explicit(&sharer->rests, rests, memory_order_relaxed);
}

bool td_sharer_has_others(const struct td_sharer *sharer)
{
    return atomic_load_explicit(&sharer->sharing->several, memory_order_acquire);
}

void td_sharer_note_store(struct td_sharer *sharer, uint64_t line)
{
    uint64_t *set = sharer->written ? &sharer->written[line % SETS * WAYS] : NULL;
    uint64_t way = 0;

    if (!set)
        return;
    while (way < WAYS && set[way] && set[way] != line + 1)
        way++;
    way = way < WAYS ? way : line / SETS % WAYS;
    __atomic_store_n(&set[way], line + 1, __ATOMIC_RELAXED);
}

void td_sharer_tell_clock(struct td_sharer *sharer, int64_t cycle)
{
    take(sharer->sharing);
    sharer->clock = cycle;
    give(sharer->sharing);
}

bool td_sharer_next_news(struct td_sharer *sharer, uint64_t *line)
{
    bool found = false;

    if (!atomic_load_explicit(&sharer->any, memory_order_relaxed))
        return false;
    take(sharer->sharing);
    if (sharer->too_many) {
        sharer->too_many = false;
        sharer->news_count = 0;
        *line = UINT64_MAX;
        found = true;
    } else if (sharer->news_count > 0) {
        *line = sharer->news[--sharer->news_count];
        found = true;
    }
    if (!found)
        atomic_store_explicit(&sharer->any, false, memory_order_relaxed);
    give(sharer->sharing);
    return found;
}

/* Everybody who may have the line for granted learns that it is shared. */
static void spread_news(struct td_sharing *sharing, const struct entry *entry, uint32_t own)
{
    for (uint32_t i = 0; i < sharing->sharer_count; i++) {
        struct td_sharer *sharer = sharing->sharers[i];

        if (!sharer || i == own || !(entry->holders >> (i % 64) & 1))
            continue;
        if (sharer->news_count < NEWS)
            sharer->news[sharer->news_count++] = entry->line - 1;
        else
            sharer->too_many = true;
        atomic_store_explicit(&sharer->any, true, memory_order_relaxed);
    }
}

static bool is_same_row(const struct td_sharing_row *a, const struct td_sharing_row *b)
{
    return a->is_false == b->is_false && a->mine.thread == b->mine.thread &&
           a->mine.place == b->mine.place && a->mine.store == b->mine.store &&
           a->theirs.thread == b->theirs.thread && a->theirs.place == b->theirs.place &&
           a->theirs.store == b->theirs.store;
}

static size_t find_row(const struct td_sharing_row *rows, size_t count,
                       const struct td_sharing_row *row)
{
    size_t i = 0;

    while (i < count && !is_same_row(&rows[i], row))
        i++;
    return i;
}

/* Adds to the row of the same sides. A half of the rows tells threads apart, a quarter code alone,
 * the last the code that waited: a lock of some threads has hundreds of pairs of an instruction and
 * a thread each. Beyond `limit` rows nothing is told. */
static void add_to(struct td_sharing_row *rows, size_t *count, size_t limit,
                   const struct td_sharing_row *more)
{
    struct td_sharing_row row = *more;
    size_t i = find_row(rows, *count, &row);

    if (i == *count && *count >= limit / 2) {
        row.mine.thread = row.theirs.thread = UINT32_MAX;
        i = find_row(rows, *count, &row);
    }
    if (i == *count && *count >= limit / 4 * 3) {
        row.theirs = (struct td_sharing_side){.thread = UINT32_MAX};
        i = find_row(rows, *count, &row);
    }
    /* Of those there are two at most. */
    if (i == *count && *count + 2 >= limit) {
        row.mine = (struct td_sharing_side){.thread = UINT32_MAX};
        i = find_row(rows, *count, &row);
    }
    if (i == *count) {
        assert(*count < limit);
        rows[(*count)++] = row;
        return;
    }
    rows[i].transfers += row.transfers;
    rows[i].invalidations += row.invalidations;
    rows[i].cycles += row.cycles;
}

/* What the line's rows say goes to the rest. */
static void drop_detail(struct td_sharing *sharing, uint32_t index)
{
    struct detail *detail = sharing->details[index];

    for (size_t i = 0; i < detail->row_count; i++) {
        struct td_sharing_row row = detail->rows[i];

        row.line = 0;
        add_to(sharing->rest, &sharing->rest_count, REST_ROWS, &row);
    }
    if (detail->entry)
        detail->entry->detail = 0;
    detail->entry = NULL;
    detail->row_count = 0;
    detail->cycles = 0;
}

/* One of a few, in turn: the one that cost least. */
static uint32_t find_cheapest(struct td_sharing *sharing)
{
    uint32_t best = sharing->hand;

    for (int i = 0; i < EVICTION_LOOKS; i++) {
        const uint32_t at = (sharing->hand + (uint32_t)i) % TD_SHARING_LINES;

        if (sharing->details[at]->cycles < sharing->details[best]->cycles)
            best = at;
    }
    sharing->hand = (sharing->hand + EVICTION_LOOKS) % TD_SHARING_LINES;
    return best;
}

/* The thread's side; a new one takes the place of the one that was away longest. */
static struct side *side_of(struct td_sharing *sharing, struct detail *detail, uint32_t thread)
{
    struct side *place = &detail->sides[0];

    for (int i = 0; i < SIDES; i++) {
        struct side *side = &detail->sides[i];

        if (side->used && side->thread == thread) {
            side->turn = sharing->turn;
            return side;
        }
        if (place->used && (!side->used || side->turn < place->turn))
            place = side;
    }
    if (detail->writer == (int)(place - detail->sides))
        detail->writer = NOBODY;
    *place = (struct side){.thread = thread,
                           .used = true,
                           .turn = sharing->turn,
                           .acquired = NO_TIME,
                           .last = {NO_TIME, NO_TIME},
                           .gap = {NO_GAP, NO_GAP}};
    return place;
}

/* The line is of several threads from now on, of which at least one writes. What they touched
 * before is not known: all of it. */
static struct detail *new_detail(struct td_sharing *sharing, struct entry *entry, uint32_t own)
{
    uint32_t index = sharing->detail_count;
    struct detail *detail = NULL;

    if (index < TD_SHARING_LINES) {
        detail = sharing->details[sharing->detail_count++] = td_xcalloc(1, sizeof(*detail));
    } else {
        index = find_cheapest(sharing);
        drop_detail(sharing, index);
        detail = sharing->details[index];
    }
    struct td_sharing_row *rows = detail->rows;
    *detail = (struct detail){.line = entry->line - 1,
                              .entry = entry,
                              .writer = NOBODY,
                              .rows = rows,
                              .row_cap = detail->row_cap};
    entry->detail = index + 1;
    for (int i = 1; i >= 0; i--) {
        const enum kind kind = entry->written ? STORE : LOAD;

        if (entry->users[i].thread == UINT32_MAX)
            continue;
        struct side *side = side_of(sharing, detail, entry->users[i].thread);
        side->held = true;
        side->place[kind] = entry->users[i].place;
        side->before[kind] = UINT64_MAX;
        if (entry->written)
            detail->writer = (int)(side - detail->sides);
    }
    spread_news(sharing, entry, own);
    return detail;
}

static struct entry *entry_of(struct td_sharing *sharing, uint64_t line)
{
    struct entry *set = &sharing->entries[(line ^ line >> 13) % SETS * WAYS], *victim = set;

    for (int i = 0; i < WAYS; i++) {
        struct entry *entry = &set[i];

        if (entry->line == line + 1) {
            entry->used = sharing->turn;
            return entry;
        }
        /* Lines without a detail first. */
        if (victim->line && (!entry->line || (!entry->detail && victim->detail) ||
                             (!entry->detail == !victim->detail && entry->used < victim->used)))
            victim = entry;
    }
    /* The detail keeps its place in the table, of no line, and is the first to go. */
    if (victim->detail)
        drop_detail(sharing, victim->detail - 1);
    *victim = (struct entry){.line = line + 1, .used = sharing->turn};
    victim->users[0].thread = victim->users[1].thread = UINT32_MAX;
    return victim;
}

/* Whether the thread of this side still does `kind` to the line, as far as it has come. */
static bool is_active(const struct td_sharing *sharing, const struct side *side, enum kind kind)
{
    const struct td_sharer *sharer = sharing->sharers[side->thread];

    if (!sharer || side->gap[kind] == NO_GAP ||
        atomic_load_explicit(&sharer->rests, memory_order_relaxed))
        return false;
    return sharer->clock - side->last[kind] <= GAPS * side->gap[kind] + GAP_CYCLES;
}

/* Who takes the line away from a side, and when. */
struct rivals {
    const struct side *first; /* NULL: nobody does */
    enum kind kind;           /* what it does then */
    int64_t lost;             /* cycle */
    int count;                /* of those that wait for it */
};

static void look_at(struct rivals *rivals, const struct side *side, enum kind kind,
                    const struct side *own)
{
    const int64_t gap = side->gap[kind] > HOLD ? side->gap[kind] : HOLD;
    const int64_t lost = own->acquired + gap;

    if (rivals->first && lost >= rivals->lost)
        return;
    rivals->first = side;
    rivals->kind = kind;
    rivals->lost = lost;
}

/* Loads lose their line to stores, stores to anything. */
static struct rivals find_rivals(const struct td_sharing *sharing, const struct detail *detail,
                                 const struct side *own, bool store)
{
    struct rivals rivals = {.lost = INT64_MAX};

    for (int i = 0; i < SIDES; i++) {
        const struct side *side = &detail->sides[i];
        if (!side->used || side == own)
            continue;
        const bool stores = is_active(sharing, side, STORE);
        const bool loads = store && is_active(sharing, side, LOAD);
        const int64_t gap = stores && (!loads || side->gap[STORE] <= side->gap[LOAD])
                                ? side->gap[STORE]
                                : side->gap[LOAD];
        if (!stores && !loads)
            continue;
        rivals.count += gap < sharing->transfer;
        look_at(&rivals, side, stores ? STORE : LOAD, own);
        if (stores && loads && side->gap[LOAD] < side->gap[STORE])
            look_at(&rivals, side, LOAD, own);
    }
    return rivals;
}

/* Whose copy or data is in the way, as far as was seen. NULL: nobody's. */
static const struct side *find_holder(const struct detail *detail, const struct side *own,
                                      bool store)
{
    const struct side *writer = detail->writer == NOBODY ? NULL : &detail->sides[detail->writer];

    if (!own->held && writer && writer != own)
        return writer;
    for (int i = 0; store && i < SIDES; i++) {
        if (detail->sides[i].used && detail->sides[i].held && &detail->sides[i] != own)
            return &detail->sides[i];
    }
    return NULL;
}

static uint64_t bytes_of(const struct td_share_access *access)
{
    const uint32_t first = access->address & 63;
    const uint32_t count = access->bytes > 64 - first ? 64 - first : access->bytes;

    return (count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1) << first;
}

static uint64_t touched(const struct side *side, enum kind kind)
{
    return side->bytes[kind] | side->before[kind];
}

/* Whether they would not meet if their bytes lay in two lines. */
static bool is_false(const struct side *own, const struct side *other,
                     const struct td_share_access *access)
{
    const uint64_t now = bytes_of(access);
    const uint64_t stored = touched(own, STORE) | (access->store ? now : 0);
    const uint64_t loaded = touched(own, LOAD) | (access->store ? 0 : now);
    const uint64_t others = touched(other, STORE);

    return ((loaded & others) | (stored & (others | touched(other, LOAD)))) == 0;
}

/* What `own` pays because of `other`. */
struct event {
    const struct side *other;
    enum kind kind; /* what the other one did, or does */
    int64_t ready;
    bool is_false;
};

static void count_event(struct detail *detail, const struct side *own, const struct event *event,
                        const struct td_share_access *access, int64_t t)
{
    const bool upgrade = access->store && own->held && event->kind == LOAD;
    const struct td_sharing_row row = {
        .line = detail->line,
        .mine = {.thread = own->thread, .store = access->store, .place = access->place},
        .theirs = {.thread = event->other->thread,
                   .store = event->kind == STORE,
                   .place = event->other->place[event->kind]},
        .is_false = event->is_false,
        .transfers = !upgrade,
        .invalidations = upgrade,
        .cycles = (uint64_t)(event->ready - t),
    };

    detail->rows =
        td_grow(detail->rows, &detail->row_cap, detail->row_count + 2, sizeof(*detail->rows));
    add_to(detail->rows, &detail->row_count, TD_SHARING_ROWS, &row);
    detail->cycles += row.cycles;
}

/* What the access at `t` waits for. Nothing: `other` is NULL and it is ready at once. */
static struct event find_event(const struct td_sharing *sharing, const struct detail *detail,
                               const struct side *own, const struct td_share_access *access,
                               int64_t t)
{
    struct event event = {.ready = t};

    if (own->keeps && access->store && !access->locked)
        return event;
    const struct rivals rivals = find_rivals(sharing, detail, own, access->store);
    if (own->held && rivals.first && own->acquired != NO_TIME && t > rivals.lost) {
        /* Each that waits for it has its turn before it comes back. */
        const int64_t turn =
            rivals.lost + rivals.count * (sharing->transfer + HOLD) + sharing->transfer;
        event.other = rivals.first;
        event.kind = rivals.kind;
        event.ready = t + sharing->transfer;
        if (turn > event.ready)
            event.ready = turn;
        return event;
    }
    event.other = find_holder(detail, own, access->store);
    if (event.other) {
        event.kind =
            event.other->last[STORE] != NO_TIME || event.other->before[STORE] ? STORE : LOAD;
        event.ready = t + sharing->transfer;
    }
    return event;
}

/* It has the line; a store alone. */
static void hand_over(struct detail *detail, struct side *own, const struct td_share_access *access)
{
    for (int i = 0; access->store && i < SIDES; i++)
        detail->sides[i].held = false;
    own->held = true;
    if (access->store)
        detail->writer = (int)(own - detail->sides);
}

static void note_access(struct side *own, const struct td_share_access *access, int64_t t,
                        int64_t ready)
{
    const enum kind kind = access->store ? STORE : LOAD;

    /* A store that ends what a locked load began is no wish of its own. */
    if (own->last[kind] != NO_TIME && !own->keeps) {
        const int64_t gap = t > own->last[kind] ? t - own->last[kind] : 0;

        own->gap[kind] =
            own->gap[kind] == NO_GAP ? gap : (own->gap[kind] * (GAP_WEIGHT - 1) + gap) / GAP_WEIGHT;
    }
    if (ready > own->last[kind])
        own->last[kind] = ready;
    own->place[kind] = access->place;
    own->bytes[kind] |= bytes_of(access);
    own->keeps = access->locked;
}

static struct td_share_answer access_shared(struct td_sharer *sharer, struct detail *detail,
                                            const struct td_share_access *access, int64_t t)
{
    struct side *own = side_of(sharer->sharing, detail, sharer->thread);
    struct event event = find_event(sharer->sharing, detail, own, access, t);

    if (event.other) {
        event.is_false = is_false(own, event.other, access);
        if (access->counts)
            count_event(detail, own, &event, access, t);
        for (int k = 0; k < KINDS; k++) {
            own->before[k] = own->bytes[k];
            own->bytes[k] = 0;
        }
        own->acquired = event.ready;
    } else if (own->acquired == NO_TIME) {
        own->acquired = t;
    }
    hand_over(detail, own, access);
    note_access(own, access, t, event.ready);
    if (event.ready > sharer->clock)
        sharer->clock = event.ready;
    return (struct td_share_answer){.ready = event.ready,
                                    .late = event.other != NULL,
                                    .is_false = event.is_false,
                                    .watched = true};
}

static void note_user(struct entry *entry, uint32_t thread, const struct td_share_access *access)
{
    if (entry->users[0].thread != thread)
        entry->users[1] = entry->users[0];
    entry->several |= entry->holders != 0 && entry->users[0].thread != thread;
    entry->users[0].thread = thread;
    entry->users[0].place = access->place;
    entry->holders |= UINT64_C(1) << (thread % 64);
}

struct td_share_answer td_sharer_access(struct td_sharer *sharer,
                                        const struct td_share_access *access, int64_t t)
{
    struct td_sharing *sharing = sharer->sharing;
    struct td_share_answer answer = {.ready = t};

    take(sharing);
    sharing->turn++;
    struct entry *entry = entry_of(sharing, access->address >> LINE_BITS);
    const bool alone = !entry->several && (entry->users[0].thread == sharer->thread ||
                                           entry->users[0].thread == UINT32_MAX);
    if (!entry->detail && (alone || !(entry->written || access->store))) {
        note_user(entry, sharer->thread, access);
        entry->written |= access->store;
        answer.written = entry->written;
    } else {
        struct detail *detail = entry->detail ? sharing->details[entry->detail - 1]
                                              : new_detail(sharing, entry, sharer->thread);
        entry->holders |= UINT64_C(1) << (sharer->thread % 64);
        answer = access_shared(sharer, detail, access, t);
    }
    give(sharing);
    return answer;
}

void td_sharing_each(struct td_sharing *sharing, td_sharing_fn *fn, void *ctx)
{
    take(sharing);
    for (uint32_t i = 0; i < sharing->detail_count; i++) {
        for (size_t r = 0; r < sharing->details[i]->row_count; r++)
            fn(ctx, &sharing->details[i]->rows[r]);
    }
    for (size_t r = 0; r < sharing->rest_count; r++)
        fn(ctx, &sharing->rest[r]);
    give(sharing);
}
