/* SPDX-License-Identifier: MIT */
#include "report/query/diff/match.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/search.h"
#include "report/query/figures/names.h"

#define NONE UINT32_MAX

static uint64_t hash_bytes(uint64_t hash, const char *s, size_t len)
{
    /* FNV-1a, and a last stir: the map takes the low bits. */
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

static uint64_t hash_text(const char *s, size_t len)
{
    return hash_bytes(UINT64_C(0xcbf29ce484222325), s, len);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

const char *td_match_module(const char *module, const char *program, size_t *len)
{
    const char *name = last_part(module);
    const char *so = strstr(name, ".so.");

    if (program && *program && strcmp(name, last_part(program)) == 0) {
        *len = strlen(TD_MATCH_PROGRAM);
        return TD_MATCH_PROGRAM;
    }
    *len = so ? (size_t)(so - name) + 3 : strlen(name);
    return name;
}

/* The length of a name without "::h0123456789abcdef", which Rust adds, and ".constprop.0" and the
 * like, which compilers add to copies. */
static size_t without_build(const char *name)
{
    static const char *const added[] = {".constprop.", ".isra.", ".part.", ".cold",
                                        ".lto_priv.",  ".llvm.", ".clone."};
    size_t len = strlen(name);

    if (len > 19 && strncmp(name + len - 19, "::h", 3) == 0 &&
        strspn(name + len - 16, "0123456789abcdef") == 16)
        len -= 19;
    for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++) {
        const char *at = strstr(name, added[i]);

        if (at && at > name && (size_t)(at - name) < len)
            len = (size_t)(at - name);
    }
    return len;
}

/* How narrowly two functions are taken to be the same. */
enum tier { EXACT, NAMED, UNBUILT, BARE, ANYWHERE, TIERS };

struct key {
    uint64_t a, b;
};

static struct key key_of(const struct td_match_name *of, enum tier tier)
{
    const char *name = of->name ? of->name : "\1";
    char bare[1024];
    size_t len = strlen(name);
    struct key key = {.b = hash_text(of->module, strlen(of->module))};

    if (tier >= UNBUILT)
        len = without_build(name);
    if (tier == BARE && of->name) {
        len = td_name_bare(bare, sizeof(bare), name);
        name = len ? bare : name;
        len = len ? len : strlen(name);
    }
    if (tier == EXACT)
        key.b = hash_bytes(key.b, last_part(of->file), strlen(last_part(of->file)));
    if (tier == ANYWHERE)
        key.b = 0;
    key.a = hash_text(name, len);
    return key;
}

struct matching {
    const struct td_match_name *names;
    const uint32_t *side;
    size_t count;
    uint32_t *ids;
    uint32_t id_count;
    size_t *first; /* by id: the first function that has it */
    bool *taken;   /* by id: a function of this side has it */
};

/* Equal ones of the side, all but the first, get the id of the first. */
static void number_side(struct matching *m, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (m->ids[i] != NONE)
            continue;
        m->first[m->id_count] = i;
        m->ids[i] = m->id_count++;
    }
}

/* Pairs functions of the side that have no id yet with ids that have none of the side, where a key
 * of this tier is of one of either. */
static void match_tier(struct matching *m, size_t from, size_t to, uint32_t known, enum tier tier)
{
    struct td_map old = {.slots = NULL}, now = {.slots = NULL};

    for (uint32_t id = 0; id < known; id++) {
        const struct key key = key_of(&m->names[m->first[id]], tier);
        bool added = false;

        if (m->taken[id] || (tier == ANYWHERE && !m->names[m->first[id]].name))
            continue;
        uint32_t *value = td_map_put(&old, key.a, key.b, id, &added);
        *value = added ? id : NONE;
    }
    for (size_t i = from; i < to; i++) {
        const struct key key = key_of(&m->names[i], tier);
        bool added = false;

        if (m->ids[i] != NONE || !td_map_find(&old, key.a, key.b))
            continue;
        uint32_t *value = td_map_put(&now, key.a, key.b, (uint32_t)(i - from), &added);
        *value = added ? *value : NONE;
    }
    for (size_t i = from; i < to; i++) {
        const struct key key = key_of(&m->names[i], tier);
        const uint32_t *mine = td_map_find(&now, key.a, key.b);
        const uint32_t *id = td_map_find(&old, key.a, key.b);

        if (m->ids[i] != NONE || !mine || *mine != i - from || !id || *id == NONE)
            continue;
        m->ids[i] = *id;
        m->taken[*id] = true;
    }
    td_map_release(&old);
    td_map_release(&now);
}

/* alias[i]: the first function of the side that equals i. */
static void find_equals(struct matching *m, size_t from, size_t to, size_t *alias)
{
    struct td_map seen = {.slots = NULL};

    for (size_t i = from; i < to; i++) {
        const struct key key = key_of(&m->names[i], EXACT);

        alias[i] = from + *td_map_put(&seen, key.a, key.b, (uint32_t)(i - from), NULL);
    }
    td_map_release(&seen);
}

static void match_side(struct matching *m, size_t from, size_t to)
{
    const uint32_t known = m->id_count;
    size_t *alias = td_xcalloc(to + 1, sizeof(*alias));

    find_equals(m, from, to, alias);
    memset(m->taken, 0, m->count * sizeof(*m->taken));
    /* The others of several equal ones wait, and are no reason to doubt. */
    for (size_t i = from; i < to; i++)
        m->ids[i] = alias[i] == i ? NONE : 0;
    for (int tier = EXACT; tier < TIERS; tier++)
        match_tier(m, from, to, known, (enum tier)tier);
    number_side(m, from, to);
    for (size_t i = from; i < to; i++)
        m->ids[i] = m->ids[alias[i]];
    free(alias);
}

uint32_t td_match_functions(uint32_t *ids, const struct td_match_name *names, const uint32_t *side,
                            size_t count)
{
    struct matching m = {.names = names, .side = side, .count = count, .ids = ids};

    m.first = td_xcalloc(count + 1, sizeof(*m.first));
    m.taken = td_xcalloc(count + 1, sizeof(*m.taken));
    for (size_t from = 0, to = 0; from < count; from = to) {
        while (to < count && side[to] == side[from])
            to++;
        match_side(&m, from, to);
    }
    free(m.first);
    free(m.taken);
    return m.id_count;
}

struct td_match_text td_match_text_of(const char *text, size_t len)
{
    struct td_match_text ret = {.count = 0};
    size_t cap = 0;

    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        const size_t next = end ? (size_t)(end - text) + 1 : len;
        size_t from = at, to = next;

        while (from < to && isspace((unsigned char)text[from]))
            from++;
        while (to > from && isspace((unsigned char)text[to - 1]))
            to--;
        ret.lines = td_grow(ret.lines, &cap, (size_t)ret.count + 1, sizeof(*ret.lines));
        ret.lines[ret.count++] = hash_text(text + from, to - from);
        at = next;
    }
    return ret;
}

/* A part of both texts that is still to be matched, without its ends. */
struct gap {
    uint32_t old, old_end, now, now_end; /* from 0 */
};

/* Pairs of lines that stand once in either part, in the order of `now`; returns how many. */
static size_t find_unique(const struct td_match_text *old, const struct td_match_text *now,
                          const struct gap *gap, struct td_match_anchor *pairs)
{
    struct td_map at = {.slots = NULL}, seen = {.slots = NULL};
    size_t count = 0;

    for (uint32_t i = gap->old; i < gap->old_end; i++) {
        bool added = false;
        uint32_t *value = td_map_put(&at, old->lines[i], 0, i, &added);

        *value = added ? i : NONE;
    }
    for (uint32_t i = gap->now; i < gap->now_end; i++)
        (*td_map_put(&seen, now->lines[i], 0, 0, NULL))++;
    for (uint32_t i = gap->now; i < gap->now_end; i++) {
        const uint32_t *in_old = td_map_find(&at, now->lines[i], 0);

        if (in_old && *in_old != NONE && *td_map_find(&seen, now->lines[i], 0) == 1)
            pairs[count++] = (struct td_match_anchor){.old = *in_old, .now = i};
    }
    td_map_release(&at);
    td_map_release(&seen);
    return count;
}

/* Keeps the longest run of pairs whose old lines rise, in its order; returns how many. */
static size_t longest_rising(struct td_match_anchor *pairs, size_t count)
{
    size_t *last = td_xcalloc(count + 1, sizeof(*last)); /* by length: the pair that ends it */
    size_t *before = td_xcalloc(count + 1, sizeof(*before));
    size_t longest = 0;

    for (size_t i = 0; i < count; i++) {
        size_t low = 0;

        TD_SEARCH(low, longest, length, pairs[last[length]].old < pairs[i].old)
        before[i] = low > 0 ? last[low - 1] : SIZE_MAX;
        last[low] = i;
        longest = low == longest ? longest + 1 : longest;
    }
    struct td_match_anchor *kept = td_xcalloc(longest + 1, sizeof(*kept));
    size_t at = longest > 0 ? last[longest - 1] : SIZE_MAX;
    for (size_t i = longest; i-- > 0; at = before[at])
        kept[i] = pairs[at];
    memcpy(pairs, kept, longest * sizeof(*kept));
    free(kept);
    free(before);
    free(last);
    return longest;
}

/* Takes what is equal at both ends of the gap off it. */
static void match_ends(uint32_t *old_of, const struct td_match_text *old,
                       const struct td_match_text *now, struct gap *gap)
{
    for (; gap->old < gap->old_end && gap->now < gap->now_end &&
           old->lines[gap->old] == now->lines[gap->now];
         gap->old++, gap->now++)
        old_of[gap->now] = gap->old + 1;
    for (; gap->old < gap->old_end && gap->now < gap->now_end &&
           old->lines[gap->old_end - 1] == now->lines[gap->now_end - 1];
         gap->old_end--, gap->now_end--)
        old_of[gap->now_end - 1] = gap->old_end;
}

void td_match_lines(uint32_t *old_of, const struct td_match_text *old,
                    const struct td_match_text *now)
{
    struct td_match_anchor *pairs = td_xcalloc((size_t)now->count + 1, sizeof(*pairs));
    struct gap *todo = NULL;
    size_t len = 0, cap = 0;

    memset(old_of, 0, now->count * sizeof(*old_of));
    todo = td_grow(todo, &cap, 1, sizeof(*todo));
    todo[len++] = (struct gap){0, old->count, 0, now->count};
    while (len > 0) {
        struct gap gap = todo[--len];

        match_ends(old_of, old, now, &gap);
        if (gap.old >= gap.old_end || gap.now >= gap.now_end)
            continue;
        const size_t count = longest_rising(pairs, find_unique(old, now, &gap, pairs));
        /* Between unique lines others may be unique that were not in the whole. */
        for (size_t i = 0; count > 0 && i <= count; i++) {
            todo = td_grow(todo, &cap, len + 1, sizeof(*todo));
            todo[len++] = (struct gap){.old = i > 0 ? pairs[i - 1].old : gap.old,
                                       .now = i > 0 ? pairs[i - 1].now : gap.now,
                                       .old_end = i < count ? pairs[i].old : gap.old_end,
                                       .now_end = i < count ? pairs[i].now : gap.now_end};
        }
    }
    free(todo);
    free(pairs);
}

static int by_now(const void *a, const void *b)
{
    const struct td_match_anchor *x = a, *y = b;

    return x->now != y->now ? (x->now > y->now) - (x->now < y->now)
                            : (x->old > y->old) - (x->old < y->old);
}

void td_match_sort_anchors(struct td_match_anchor *anchors, size_t count)
{
    if (count > 1)
        qsort(anchors, count, sizeof(*anchors), by_now);
}

uint32_t td_match_line(const struct td_match_anchor *anchors, size_t count, uint32_t line)
{
    size_t low = 0;

    TD_SEARCH(low, count, i, anchors[i].now <= line)
    return low > 0 ? anchors[low - 1].old + (line - anchors[low - 1].now) : line;
}
