/* SPDX-License-Identifier: MIT */
#include "report/view/model/sentence.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/frames.h"
#include "report/view/model/why_words.h"

enum { LINE_BYTES = 64, COLUMN = 512, L1_SETS = 64 /* of which habits tell them apart */ };

/* An estimate so near to what a cache holds does not tell whether it fits. */
static const double NEARLY = 1.1;
/* Where so few come from beyond a cache, its size is not what they wait for. */
static const double HARDLY_ANY = 0.02;

/* Whether lines that L1 could hold are in so few of its sets that these cannot. */
static bool crowds_sets(const struct td_why *why, const struct td_why_memory *m, double *room)
{
    const double l1 = (double)why->core.l1, bytes = (double)m->footprint;

    *room = l1 * m->sets / L1_SETS;
    return m->sets > 0 && 4 * m->sets <= L1_SETS && m->from[0] < 0.5 && bytes > NEARLY * *room &&
           bytes <= NEARLY * l1;
}

/* The farthest cache that the footprint does not fit, as "more than L2 holds (1.0 MB)". */
static void fit_text(char *buf, size_t size, const struct td_why *why,
                     const struct td_why_memory *m)
{
    const struct {
        const char *name;
        uint64_t bytes;
        double beyond; /* share of the accesses that it did not serve */
    } caches[] = {{"L3", why->core.l3, m->from[3]},
                  {"L2", why->core.l2, m->from[2] + m->from[3]},
                  {"L1", why->core.l1, m->from[1] + m->from[2] + m->from[3]}};
    const double bytes = (double)m->footprint;
    char number[TD_WHY_NUMBER];
    double room = 0;

    if (crowds_sets(why, m, &room)) {
        snprintf(buf, size, "in %u of %d sets of L1, where %s have room", m->sets, L1_SETS,
                 td_why_bytes(number, room));
        return;
    }
    for (size_t i = 0; i < TD_ARRAY_SIZE(caches); i++) {
        if (caches[i].bytes == 0 || bytes * NEARLY < (double)caches[i].bytes)
            continue;
        snprintf(buf, size, "%s %s holds (%s)%s",
                 bytes > NEARLY * (double)caches[i].bytes ? "more than" : "about what",
                 caches[i].name, td_why_bytes(number, (double)caches[i].bytes),
                 caches[i].beyond < HARDLY_ANY ? ", but brought there in time" : "");
        return;
    }
    snprintf(buf, size, "which L1 could hold");
}

static const char *const levels[] = {"L1", "L2", "L3", "memory"};

/* What serves most of what misses. */
static size_t most_from(const struct td_why_memory *m)
{
    size_t most = 1;

    for (size_t i = 1; i < TD_ARRAY_SIZE(levels); i++)
        most = m->from[i] >= m->from[most] && m->from[i] > 0 ? i : most;
    return most;
}

/* "L3", or "L3, but the 12 % from memory cost most": fewer that come from afar may cost more. */
static const char *where_text(char buf[TD_WHY_TEXT], const struct td_why *why,
                              const struct td_why_memory *m)
{
    const size_t most = most_from(m);
    const enum td_tma_node parent =
        why->node == TD_NODE_NONE ? TD_NODE_NONE : td_tma_info(why->node)->parent;
    const size_t dearest = parent == TD_NODE_DRAM_BOUND    ? 3
                           : why->node == TD_NODE_L3_BOUND ? 2
                                                           : most;

    if (dearest > most && m->from[dearest] > 0)
        snprintf(buf, TD_WHY_TEXT, "%s, but the %.*f %% from %s cost most", levels[most],
                 m->from[dearest] < 0.1 ? 1 : 0, 100 * m->from[dearest], levels[dearest]);
    else
        snprintf(buf, TD_WHY_TEXT, "%s", levels[most]);
    return buf;
}

/* Takes both. */
static char *join(char *text, char *more)
{
    if (!more)
        return text;
    char *both = td_xasprintf("%s %s", text, more);

    free(text);
    free(more);
    return both;
}

static const char *step_word(const struct td_why_memory *m)
{
    if (m->new_line < 0.9)
        return "most of each line is skipped";
    return m->stride >= COLUMN || m->stride <= -COLUMN ? "column order" : "a part of each record";
}

/* "104 bytes on or 24 bytes on (64 on the mean)", or the one step of most accesses. */
static const char *steps_text(char buf[TD_WHY_TEXT], const struct td_why_memory *m)
{
    char step[TD_WHY_NUMBER];
    size_t used = 0;

    if (m->stride_share >= 0.5 || m->mean_step == 0)
        return snprintf(buf, TD_WHY_TEXT, "%s", td_why_stride(step, m->stride)), buf;
    for (unsigned i = 0; i < m->step_count; i++)
        used += (size_t)snprintf(buf + used, TD_WHY_TEXT - used, "%s%s", i ? " or " : "",
                                 td_why_stride(step, m->steps[i]));
    snprintf(buf + used, TD_WHY_TEXT - used, " (%" PRId64 " on the mean)",
             m->mean_step < 0 ? -m->mean_step : m->mean_step);
    return buf;
}

static char *stride_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char step[TD_WHY_TEXT], footprint[TD_WHY_NUMBER], fit[TD_WHY_TEXT], used[TD_WHY_TEXT] = "";
    const bool new_line = m->new_line >= 0.9;

    if (m->used > 0)
        snprintf(used, sizeof(used), "; %.0f of %d bytes of each line used", m->used, LINE_BYTES);
    fit_text(fit, sizeof(fit), why, m);
    return td_xasprintf("each access touches %s %s: %s%s. Its footprint is %s, %s.",
                        new_line ? "a new line" : "data", steps_text(step, m), step_word(m), used,
                        td_why_footprint(footprint, m), fit);
}

static char *random_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char footprint[TD_WHY_NUMBER], fit[TD_WHY_TEXT], where[TD_WHY_TEXT];

    fit_text(fit, sizeof(fit), why, m);
    return td_xasprintf("accesses go to lines in no order: random access. The footprint is %s, %s; "
                        "most of what misses comes from %s.",
                        td_why_footprint(footprint, m), fit, where_text(where, why, m));
}

static char *chase_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char footprint[TD_WHY_NUMBER], fit[TD_WHY_TEXT];

    fit_text(fit, sizeof(fit), why, m);
    return td_xasprintf("each address is what the load before gave, so that no two are under way "
                        "at a time: a pointer chase. The footprint is %s, %s.",
                        td_why_footprint(footprint, m), fit);
}

static char *footprint_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char footprint[TD_WHY_NUMBER], again[TD_WHY_NUMBER], fit[TD_WHY_TEXT], step[TD_WHY_NUMBER],
        order[TD_WHY_TEXT] = "it uses";

    fit_text(fit, sizeof(fit), why, m);
    if (m->stride_share >= 0.5)
        snprintf(order, sizeof(order), "it goes in %s (%s) through",
                 m->stride >= LINE_BYTES || m->stride <= -LINE_BYTES ? "strides" : "order",
                 td_why_stride(step, m->stride));
    return td_xasprintf("%s the same %s again and again: a footprint of %s. A line comes "
                        "back after %s of others, when it has left.",
                        order, td_why_footprint(footprint, m), fit, td_why_again(again, m));
}

static char *stream_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char footprint[TD_WHY_NUMBER], step[TD_WHY_TEXT];
    const bool bandwidth = why->node == TD_NODE_MEM_BANDWIDTH || why->node == TD_NODE_STORE_BOUND;

    return td_xasprintf("it goes in order (%s) through %s that are not in the caches: "
                        "streaming from %s. %s",
                        steps_text(step, m), td_why_footprint(footprint, m), levels[most_from(m)],
                        bandwidth ? "Memory gives no more lines per cycle."
                                  : "Lines arrive later than they are needed.");
}

static char *conflict_in_l2_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char again[TD_WHY_NUMBER], l2[TD_WHY_NUMBER];
    char *conflict = td_xasprintf(
        "its lines fall into few sets of L2 and push each other out: conflict. They come back "
        "after %s of others, which is less than L2 holds (%s), but %.0f %% of the accesses are "
        "served from beyond it.",
        td_why_again(again, m), td_why_bytes(l2, (double)why->core.l2),
        100 * (m->from[2] + m->from[3]));

    if (m->stride_share < 0.5)
        return conflict;
    conflict[0] = 'I';
    return join(stride_sentence(why, m), conflict);
}

static char *conflict_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char footprint[TD_WHY_NUMBER], step[TD_WHY_NUMBER], sets[TD_WHY_TEXT] = "", l1[TD_WHY_NUMBER];

    if (!m->conflicting)
        return conflict_in_l2_sentence(why, m);
    if (m->sets <= 16)
        snprintf(sets, sizeof(sets), " into %u of 64 sets", m->sets);
    return td_xasprintf(
        "its lines fall%s of L1 and push each other out: conflict. %.0f %% of its lines "
        "had left although less came meanwhile than L1 holds; the footprint is %s of the %s of "
        "L1%s%s.",
        *sets ? sets : " into the same sets", 100 * m->conflicts, td_why_footprint(footprint, m),
        td_why_bytes(l1, (double)why->core.l1), m->stride_share >= 0.5 ? "; accesses are " : "",
        m->stride_share >= 0.5 ? td_why_stride(step, m->stride) : "");
}

static char *tlb_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char pages[TD_WHY_NUMBER], tlb[TD_WHY_NUMBER], stlb[TD_WHY_NUMBER], step[TD_WHY_NUMBER],
        known[TD_WHY_TEXT] = "";
    char order[TD_WHY_TEXT] = "in no order: random access";

    if (why->core.tlb_pages && why->core.stlb_pages)
        snprintf(known, sizeof(known), " (%s and %s pages)", td_why_count(tlb, why->core.tlb_pages),
                 td_why_count(stlb, why->core.stlb_pages));
    if (m->stride_share >= 0.5)
        snprintf(order, sizeof(order), "%s each", td_why_stride(step, m->stride));
    return td_xasprintf("%.0f %% of the accesses touch another page than the one before, %s. Their "
                        "pages, %s, are beyond the TLBs' reach%s, and %.0f %% walk the page "
                        "tables.",
                        100 * m->new_page, order, td_why_about(pages, m->pages), known,
                        100 * m->walks);
}

static char *alignment_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char pages[TD_WHY_TEXT] = "";

    (void)why;
    if (m->split_pages >= 0.01)
        snprintf(pages, sizeof(pages), " (%.0f %% over the end of a page)", 100 * m->split_pages);
    return td_xasprintf(
        "%.0f %% of the accesses lie over the end of a cache line and take two%s: "
        "alignment. %.0f %% of the addresses are no multiple of the %.0f bytes of an access.",
        100 * m->split, pages, 100 * m->unaligned, m->bytes);
}

static char *partner_text(const struct td_why *why, const struct td_model *model)
{
    char place[TD_WHY_TEXT];

    if (!why->partner || why->partner_location == TD_NONE)
        return td_xstrdup("a store");
    td_why_place(place, sizeof(place), model, why->partner_location);
    if (td_frame_leaf(model, why->partner_location, false).line == 0)
        return td_xasprintf("a store in %s", place);
    return td_xasprintf("the store at %s", place);
}

static char *blocked_sentence(const struct td_why *why, const struct td_model *model)
{
    char *store = partner_text(why, model), *text = NULL;
    char size[TD_WHY_TEXT] = "";
    const double bytes = td_why_memory_of(why->habit).bytes;

    if (why->partner_habit)
        snprintf(size, sizeof(size), " (%.0f bytes loaded, %.0f stored)", bytes,
                 td_why_memory_of(why->partner_habit).bytes);
    text = td_xasprintf("it loads bytes of which %s wrote only a part%s: store forwarding is "
                        "blocked until the store is in L1.",
                        store, size);
    free(store);
    return text;
}

static char *alias_sentence(const struct td_why *why, const struct td_model *model)
{
    char *store = partner_text(why, model), *text = NULL;

    text = td_xasprintf(
        "%s writes to an address a multiple of 4,096 bytes away, which looks like the same "
        "one at first: 4K alias.",
        store);
    free(store);
    return text;
}

static char *correlated_sentence(const struct td_why *why, const struct td_model *model)
{
    const struct td_why_branch b = td_why_branch_of(why->habit);
    char place[TD_WHY_TEXT] = "another place";

    if (why->partner && why->partner_location != TD_NONE)
        td_why_place(place, sizeof(place), model, why->partner_location);
    return td_xasprintf("the branch is correlated: it goes as the one at %s went before it, or "
                        "always the other way, but the predictor does not see that far back: %.1f "
                        "%% are mispredicted, %.0f %% are taken.",
                        place, 100 * b.wrong, 100 * b.taken);
}

static char *branch_sentence(const struct td_why *why, const struct td_model *model)
{
    const struct td_why_branch b = td_why_branch_of(why->habit);
    char period[TD_WHY_NUMBER];

    if (why->cause == TD_WHY_BRANCH_PERIODIC)
        return td_xasprintf(
            "the branch does the same again after %s executions, which the predictor does not "
            "follow: the period is too long for it, or other branches between go without a rule. "
            "%.1f %% are mispredicted, %.0f %% are taken.",
            td_why_count(period, b.period), 100 * b.wrong, 100 * b.taken);
    if (why->cause == TD_WHY_BRANCH_CORRELATED)
        return correlated_sentence(why, model);
    if (why->cause == TD_WHY_BRANCH_INDIRECT)
        return td_xasprintf("the indirect branch goes to another target than before in %.0f %% of "
                            "its executions: %.1f %% are mispredicted.",
                            100 * b.turns, 100 * b.wrong);
    if (why->cause == TD_WHY_BRANCH && !(b.taken >= 0.9999) && b.taken > 0)
        return td_xasprintf("%.1f %% of its executions are mispredicted, though %.0f %% are taken: "
                            "the predictor follows most of it by what branches did before. Each "
                            "misprediction costs a restart of the pipeline.",
                            100 * b.wrong, 100 * b.taken);
    if (why->cause == TD_WHY_BRANCH)
        return td_xasprintf("%.1f %% of its executions are mispredicted; each costs a restart of "
                            "the pipeline.",
                            100 * b.wrong);
    return td_xasprintf(
        "the branch is %s: %.0f %% are taken, %s, and %.1f %% are mispredicted. Its "
        "data decide.",
        why->cause == TD_WHY_BRANCH_RANDOM ? "random" : "biased, with exceptions by no rule",
        100 * b.taken, b.searched ? "without a period up to 511" : "without a rule", 100 * b.wrong);
}

/* Of causes that need no figures, or where none are known. */
static const char *const plain[TD_WHY_CAUSE_COUNT] = {
    [TD_WHY_CHAIN] = "each operation waits for the result of the one before: a dependency chain. "
                     "Units are free meanwhile.",
    [TD_WHY_DIVIDER] = "operations wait for the divider, which takes one at a time.",
    [TD_WHY_ORDER] = "a load runs before an older store to the same address is known, and all "
                     "after it is thrown away: memory order.",
    [TD_WHY_FORWARDED] = "it loads what a store has just written, and the next store waits for "
                         "it: a dependency chain through memory. A register would do.",
    [TD_WHY_LOCK] = "an atomic (locked) operation waits for all before it, and what comes "
                    "later waits for it.",
    [TD_WHY_SHARED] =
        "the line comes from another core, whose thread has changed it: threads share "
        "it.",
    [TD_WHY_STORES] = "stores wait until their lines are in L1, and the store buffer is full.",
    [TD_WHY_FAULTS] = "the first access to each page enters the kernel, which gives it memory: "
                      "page faults. Memory that is used again has none; huge pages have fewer.",
    [TD_WHY_BLOCKED] = "it loads bytes of which a store wrote only a part: store forwarding is "
                       "blocked until the store is in L1.",
    [TD_WHY_ALIAS] = "a store writes a multiple of 4,096 bytes away: 4K alias.",
    [TD_WHY_TLB] = "pages are beyond the TLB's reach.",
    [TD_WHY_ALIGNMENT] = "accesses lie over the end of a cache line: alignment.",
    [TD_WHY_BRANCH] = "the branch is mispredicted; how it goes is not in the profile.",
};

/* Why the front end is late, by the category of what it lost. */
static char *frontend_sentence(enum td_tma_node node)
{
    static const struct {
        enum td_tma_node node;
        const char *text;
    } reasons[] = {
        {TD_NODE_ICACHE_MISSES, "its code is not in the instruction cache"},
        {TD_NODE_ITLB_MISSES, "the pages of its code are not in the instruction TLB"},
        {TD_NODE_MS_SWITCHES, "operations of microcode come another, slower way"},
        {TD_NODE_MITE, "its code is not in the uop cache, and decoders give fewer operations"},
        {TD_NODE_DSB, "the uop cache gives few operations per cycle, as it does where there are "
                      "few between two taken jumps"},
    };
    const char *reason = "";

    for (size_t i = 0; i < TD_ARRAY_SIZE(reasons); i++)
        reason = reasons[i].node == node ? reasons[i].text : reason;
    return td_xasprintf("instructions arrive too late (%s), the front end holds it up%s%s.",
                        td_tma_info(node)->name, *reason ? ": " : "", reason);
}

static char *plain_sentence(const struct td_why *why)
{
    const char *text = plain[why->cause];

    if (why->cause == TD_WHY_CHAIN && why->node == TD_NODE_L1_LATENCY_DEPENDENCY)
        text = "each operation waits for a load from L1, which waits for the one before: a "
               "dependency chain with a load in it.";
    if (text)
        return td_xstrdup(text);
    if (why->cause == TD_WHY_PORT)
        return td_xasprintf("operations are ready and wait for a port (%s): port bound.",
                            td_tma_info(why->node)->name);
    if (why->cause == TD_WHY_FRONTEND)
        return frontend_sentence(why->node);
    if (why->cause == TD_WHY_MISSES)
        return td_xasprintf("it waits for lines that are not in L1 (%s). How it uses memory is not "
                            "in the profile: a recording keeps that of the instructions that ran "
                            "most.",
                            td_tma_info(why->node)->name);
    return td_xasprintf(
        "%.0f %% of its slots do useful work, and no loss takes a tenth: only fewer "
        "instructions make it faster.",
        100 * why->retiring);
}

static char *first_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char footprint[TD_WHY_NUMBER], where[TD_WHY_TEXT];

    return td_xasprintf(
        "its data are used for the first time: %.0f %% of the lines that it brought "
        "into L1 had not been there. They are %s, and most come from %s.",
        100 * m->first, td_why_footprint(footprint, m), where_text(where, why, m));
}

static char *misses_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char where[TD_WHY_TEXT];

    return td_xasprintf("it waits for lines that are not in L1; most of them come from %s.",
                        where_text(where, why, m));
}

static char *stores_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    if (!m->stays)
        return plain_sentence(why);
    return td_xstrdup("its lines are in L1, but stores go there in their order, about one per "
                      "cycle, and the store buffer is full. Fewer or wider stores make it faster, "
                      "and so does what lets the stores before it hit.");
}

static char *faults_sentence(const struct td_why *why, const struct td_why_memory *m)
{
    char pages[TD_WHY_NUMBER];

    (void)why;
    return td_xasprintf("%.*f %% of the accesses are the first to their page (%s in all). "
                        "Each of those enters the kernel, which gives the page memory: page "
                        "faults. Memory that is used again has none; huge pages have fewer.",
                        m->faults < 0.1 ? 1 : 0, 100 * m->faults, td_why_about(pages, m->pages));
}

typedef char *memory_writer(const struct td_why *why, const struct td_why_memory *m);
static memory_writer *const writers[TD_WHY_CAUSE_COUNT] = {
    [TD_WHY_STRIDE] = stride_sentence, [TD_WHY_RANDOM] = random_sentence,
    [TD_WHY_CHASE] = chase_sentence,   [TD_WHY_FOOTPRINT] = footprint_sentence,
    [TD_WHY_STREAM] = stream_sentence, [TD_WHY_CONFLICT] = conflict_sentence,
    [TD_WHY_TLB] = tlb_sentence,       [TD_WHY_ALIGNMENT] = alignment_sentence,
    [TD_WHY_FIRST] = first_sentence,   [TD_WHY_MISSES] = misses_sentence,
    [TD_WHY_STORES] = stores_sentence, [TD_WHY_FAULTS] = faults_sentence,
};

static char *memory_sentence(const struct td_why *why, const struct td_model *model)
{
    const struct td_why_memory m = td_why_memory_of(why->habit);

    if (why->cause == TD_WHY_BLOCKED)
        return blocked_sentence(why, model);
    if (why->cause == TD_WHY_ALIAS)
        return alias_sentence(why, model);
    return writers[why->cause] ? writers[why->cause](why, &m) : plain_sentence(why);
}

/* Parts of a chain in a sentence, and cycles of it that are worth one. */
enum { PARTS = 4 };
static const double PART_LEAST = 0.05;

static bool bounds_most(const struct td_loop *loop, enum td_loop_bound bound)
{
    return td_loop_binding(loop, bound) >= 0.5 * loop->cycles;
}

/* " (imul 3, add 1)": the operations of the chain; "" where none is known by name. */
static void parts_text(char *buf, size_t size, const struct td_loop *loop,
                       const struct td_loop_words *words)
{
    size_t told = 0, used = 0;

    *buf = '\0';
    for (size_t i = 0; i < loop->link_count; i++) {
        const struct td_loop_link *link = &loop->links[i];
        char code[96];

        if (link->cycles < PART_LEAST * loop->bounds[TD_LOOP_CHAIN] ||
            !td_loop_text(words, loop->module, link->offset, code, sizeof(code)))
            continue;
        code[strcspn(code, " \t")] = '\0';
        if (told++ == PARTS)
            used += (size_t)snprintf(buf + used, size - used, " and more");
        if (told > PARTS)
            continue;
        used += (size_t)snprintf(buf + used, size - used, "%s%s %.*f", told == 1 ? " (" : ", ",
                                 code, fabs(link->cycles - round(link->cycles)) < 0.005 ? 0 : 2,
                                 link->cycles);
        used = used < size ? used : size - 1;
    }
    if (told > 0 && used + 1 < size)
        snprintf(buf + used, size - used, ")");
}

/* ", of 4.02 per iteration" */
static void of_cycles_text(char *buf, size_t size, const struct td_loop *loop,
                           enum td_loop_bound bound)
{
    /* What it calls is beside its own cycles. */
    const double called = bound == TD_LOOP_CALLS ? loop->bounds[bound] : 0;
    const double whole = loop->cycles + called;
    char cycles[40];

    td_loop_figure(whole, cycles, sizeof(cycles));
    if (bound == TD_LOOP_CHAIN && loop->path_share < 0.95 &&
        loop->bounds[bound] > TD_LOOP_LONGER * whole)
        snprintf(buf, size,
                 " on the path that %.0f %% of the iterations take; an iteration takes %s on the "
                 "mean",
                 100 * loop->path_share, cycles);
    else if (loop->bounds[bound] > TD_LOOP_LONGER * whole)
        snprintf(buf, size, " per iteration; %s are measured%s", cycles,
                 td_loop_overlaps(loop)   ? ", since entries of the loop overlap"
                 : bound == TD_LOOP_PORTS ? ", since not all of its operations took these ports"
                                          : "");
    else
        snprintf(buf, size, ", of %s per iteration", cycles);
}

/* What the others would allow, so that it is plain which one binds. */
static void others_text(char *buf, size_t size, const struct td_loop *loop,
                        enum td_loop_bound bound)
{
    char ports[40], width[40], chain[40];

    td_loop_figure(loop->bounds[TD_LOOP_PORTS], ports, sizeof(ports));
    td_loop_figure(loop->bounds[TD_LOOP_WIDTH], width, sizeof(width));
    td_loop_figure(loop->bounds[TD_LOOP_CHAIN], chain, sizeof(chain));
    *buf = '\0';
    if (bound == TD_LOOP_CHAIN && !isnan(loop->bounds[TD_LOOP_PORTS]))
        snprintf(buf, size, " The busiest port needs %s, the width of the core %s.", ports, width);
    else if (bound != TD_LOOP_CHAIN && !isnan(loop->bounds[TD_LOOP_CHAIN]))
        snprintf(buf, size, " The chain of dependencies takes %s, the width of the core %s.", chain,
                 width);
}

/* Of a chain within an iteration, what takes most of that; "". */
static void bound_text(char *buf, size_t size, const struct td_loop *loop)
{
    char words[96], cycles[40];

    *buf = '\0';
    if (loop->bound == TD_LOOP_CHAIN || loop->bound == TD_LOOP_LATENCY ||
        !bounds_most(loop, loop->bound))
        return;
    td_loop_bound_words(loop, loop->bound, words, sizeof(words));
    snprintf(buf, size, " The loop is bound by %s: %s cycles.", words,
             td_loop_figure(loop->bounds[loop->bound], cycles, sizeof(cycles)));
}

/* A chain through memory. A store of the same line needs no place. */
static char *through_memory_sentence(const struct td_why *why, const struct td_model *model,
                                     const char *chain, const char *parts, const char *of)
{
    char ours[TD_WHY_TEXT], place[TD_WHY_TEXT] = "";
    char *store = NULL, *text = NULL;

    td_why_place(ours, sizeof(ours), model, why->location);
    if (why->partner && why->partner_location != TD_NONE)
        td_why_place(place, sizeof(place), model, why->partner_location);
    store = strcmp(ours, place) == 0 ? td_xstrdup("a store") : partner_text(why, model);
    text = td_xasprintf("it loads what %s has just written, and the next store waits for it: a "
                        "dependency chain through memory of %s cycles%s%s. %s.",
                        store, chain, parts, of,
                        why->loop->calls ? "With what the loop calls inlined, a register would do"
                                         : "A register would do");
    free(store);
    return text;
}

/* Of a chain through memory that the core shortens. */
static char *passed_sentence(const struct td_loop *loop)
{
    char cycles[40], chain[40];

    return td_xasprintf("it loads what a store has just written, and the next store waits for it: "
                        "a dependency chain through memory. The core passes most of the data on "
                        "before they are there: an iteration takes %s cycles, not the %s of the "
                        "chain. A register would do.",
                        td_loop_figure(loop->cycles, cycles, sizeof(cycles)),
                        td_loop_figure(loop->passed, chain, sizeof(chain)));
}

static char *chain_sentence(const struct td_why *why, const struct td_loop_words *words)
{
    const struct td_loop *loop = why->loop;
    char parts[TD_WHY_TEXT], of[TD_WHY_TEXT], others[TD_WHY_TEXT], chain[40];

    if (why->cause == TD_WHY_FORWARDED && loop->passed > 0)
        return passed_sentence(loop);
    parts_text(parts, sizeof(parts), loop, words);
    td_loop_figure(loop->bounds[TD_LOOP_CHAIN], chain, sizeof(chain));
    of_cycles_text(of, sizeof(of), loop, TD_LOOP_CHAIN);
    others_text(others, sizeof(others), loop, TD_LOOP_CHAIN);
    if (!bounds_most(loop, TD_LOOP_CHAIN)) {
        bound_text(others, sizeof(others), loop);
        return td_xasprintf("each operation waits for the result of the one before: a dependency "
                            "chain within the iteration. From one iteration to the next it is only "
                            "%s cycles long%s.%s",
                            chain, of, others);
    }
    if (why->cause == TD_WHY_FORWARDED)
        return through_memory_sentence(why, words->model, chain, parts, of);
    return td_xasprintf("each iteration waits for the result of the one before: a dependency chain "
                        "of %s cycles%s%s.%s",
                        chain, parts, of, others);
}

static char *port_sentence(const struct td_why *why)
{
    const struct td_loop *loop = why->loop;
    char ports[96], of[TD_WHY_TEXT], others[TD_WHY_TEXT], cycles[40], uops[40];
    char waits[TD_WHY_TEXT] = "the busiest ports are always taken";

    /* What a chain seems to hold up waits for the ports as well, which are never free. */
    if (why->node != TD_NODE_NONE && td_tma_info(why->node)->parent == TD_NODE_PORTS_UTILIZATION &&
        why->node != TD_NODE_DEPENDENCY_CHAINS)
        snprintf(waits, sizeof(waits), "operations are ready and wait for a port (%s)",
                 td_tma_info(why->node)->name);
    td_loop_bound_words(loop, TD_LOOP_PORTS, ports, sizeof(ports));
    td_loop_figure(loop->bounds[TD_LOOP_PORTS], cycles, sizeof(cycles));
    td_loop_figure(loop->port_uops, uops, sizeof(uops));
    of_cycles_text(of, sizeof(of), loop, TD_LOOP_PORTS);
    others_text(others, sizeof(others), loop, TD_LOOP_PORTS);
    return td_xasprintf("%s: port bound. An iteration has %s operations for %s, which takes %s "
                        "cycles%s.%s",
                        waits, uops, ports, cycles, of, others);
}

static char *divider_sentence(const struct td_why *why)
{
    const struct td_loop *loop = why->loop;
    char of[TD_WHY_TEXT], others[TD_WHY_TEXT], cycles[40];

    td_loop_figure(loop->bounds[TD_LOOP_DIVIDER], cycles, sizeof(cycles));
    of_cycles_text(of, sizeof(of), loop, TD_LOOP_DIVIDER);
    others_text(others, sizeof(others), loop, TD_LOOP_DIVIDER);
    return td_xasprintf("operations wait for the divider, which takes one at a time: %s "
                        "cycles%s.%s",
                        cycles, of, others);
}

/* " at main.c:12": where most of the chain is; "". */
static void chain_place_text(char buf[TD_WHY_TEXT + 8], const struct td_loop *loop,
                             const struct td_model *model)
{
    const struct td_loop_link *most = NULL;
    char place[TD_WHY_TEXT];

    *buf = '\0';
    for (size_t i = 0; i < loop->link_count; i++) {
        if (loop->links[i].location != TD_NONE && (!most || loop->links[i].cycles > most->cycles))
            most = &loop->links[i];
    }
    if (!most || loop->bound != TD_LOOP_CHAIN)
        return;
    td_why_place(place, sizeof(place), model, most->location);
    snprintf(buf, TD_WHY_TEXT + 8, " at %s", place);
}

static char *nothing_sentence(const struct td_why *why, const struct td_model *model)
{
    const struct td_loop *loop = why->loop;
    char bound[96], cycles[40], of[TD_WHY_TEXT], place[TD_WHY_TEXT + 8];

    td_loop_bound_words(loop, loop->bound, bound, sizeof(bound));
    chain_place_text(place, loop, model);
    td_loop_figure(loop->bounds[loop->bound], cycles, sizeof(cycles));
    of_cycles_text(of, sizeof(of), loop, loop->bound);
    if (loop->bound == TD_LOOP_CALLS)
        return td_xasprintf("it holds nothing up itself. Its loop is bound by %s: %s cycles%s.",
                            bound, cycles, of);
    if (why->node != TD_NODE_NONE)
        return td_xasprintf(
            "it holds nothing up itself. Its loop is bound by %s%s: %s cycles%s. Its "
            "instructions come late (%.0f %% of its slots), but not too late for "
            "that.",
            bound, place, cycles, of, 100 * why->lost);
    if (loop->bounds[TD_LOOP_WIDTH] >= 0.9 * loop->cycles)
        return td_xasprintf(
            "%.0f %% of its slots do useful work, and no loss takes a tenth: only fewer "
            "instructions make it faster%s. Its loop is bound by %s%s: %s cycles%s.",
            100 * why->retiring, loop->bound == TD_LOOP_PORTS ? ", or such for other ports" : "",
            bound, place, cycles, of);
    return td_xasprintf("%.0f %% of its slots do useful work, and no loss takes a tenth: it holds "
                        "nothing up itself. Its loop is bound by %s%s: %s cycles%s.",
                        100 * why->retiring, bound, place, cycles, of);
}

/* Of a loop whose lines of code are what its iterations take; NULL: of another. */
static char *lines_sentence(const struct td_why *why)
{
    const struct td_loop *loop = why->loop;
    const uint64_t least = (loop->code_bytes + TD_CODE_LINE - 1) / TD_CODE_LINE;
    char of[TD_WHY_TEXT], fits[TD_WHY_TEXT] = "";

    if (why->node != TD_NODE_DSB || !td_loop_is_of_code_lines(loop))
        return NULL;
    snprintf(of, sizeof(of), "%u cycles, of %.2f per iteration", loop->code_lines, loop->cycles);
    if (least < loop->code_lines)
        snprintf(fits, sizeof(fits),
                 " Its %" PRIu64 " bytes fit in %" PRIu64 " line%s: align it (-falign-loops=%d).",
                 loop->code_bytes, least, least == 1 ? "" : "s", TD_CODE_LINE);
    return td_xasprintf(
        "instructions arrive too late: one line of code (%d bytes) comes per cycle, "
        "and the loop lies over %u of them, which takes %s.%s",
        TD_CODE_LINE, loop->code_lines, of, fits);
}

/* What the loop's bounds say; NULL: nothing more than is known without them. */
static char *loop_sentence(const struct td_why *why, const struct td_loop_words *words)
{
    const struct td_loop *loop = why->loop;

    if (!loop || why->beside)
        return NULL;
    if (why->cause == TD_WHY_CHAIN || why->cause == TD_WHY_FORWARDED)
        return loop->bounds[TD_LOOP_CHAIN] > 0 ? chain_sentence(why, words) : NULL;
    if (why->cause == TD_WHY_PORT && bounds_most(loop, TD_LOOP_PORTS))
        return port_sentence(why);
    if (why->cause == TD_WHY_DIVIDER && bounds_most(loop, TD_LOOP_DIVIDER))
        return divider_sentence(why);
    if (why->cause == TD_WHY_FRONTEND)
        return lines_sentence(why);
    if (why->cause == TD_WHY_NOTHING && loop->explained >= 0.5)
        return nothing_sentence(why, words->model);
    return NULL;
}

/* Which bytes other threads use, and by which code. */
static char *shared_sentence(const struct td_why *why, const struct td_model *model)
{
    const struct td_why_shared *shared = &why->shared;
    char place[TD_WHY_TEXT], by[TD_WHY_TEXT + 32] = "";

    if (isnan(shared->falsely))
        return plain_sentence(why);
    if (shared->location != TD_NONE) {
        td_why_place(place, sizeof(place), model, shared->location);
        snprintf(by, sizeof(by), " (most by the %s at %s)", shared->store ? "store" : "load",
                 place);
    }
    if (shared->falsely >= 0.5)
        return td_xasprintf("the line is on its way between cores, whose threads use different "
                            "bytes of it%s: false sharing. With data of different threads on "
                            "different lines nobody would wait.",
                            by);
    return td_xasprintf("the line is on its way between cores, whose threads use the same bytes of "
                        "it%s: true sharing. Fewer writes to what threads share make it faster: a "
                        "copy per thread, batches.",
                        by);
}

/* Which instruction lets nothing pass, where its text is known. */
static char *serial_sentence(const struct td_why *why, const struct td_loop_words *words)
{
    static const char *const known[] = {"lfence",    "mfence", "sfence",  "cpuid", "rdtsc",
                                        "rdtscp",    "pause",  "xgetbv",  "isb",   "dsb",
                                        "serialize", "yield",  "syscall", "dmb",   "svc"};
    char text[96];

    if (!td_loop_text(words, why->module, why->offset, text, sizeof(text)))
        return td_xstrdup("an instruction lets nothing pass it: a fence, one that reads the clock, "
                          "a repeated string instruction, or the first access to a page.");
    if (strncmp(text, "rep", 3) == 0) {
        char *operands = strchr(text, ' ');

        operands = operands ? strchr(operands + 1, ' ') : NULL;
        if (operands)
            *operands = '\0';
        return td_xasprintf("%s is a repeated string instruction: it starts slowly, and nothing "
                            "passes it until it ends. For few bytes vector instructions are "
                            "faster.",
                            text);
    }
    text[strcspn(text, " \t")] = '\0';
    for (size_t i = 0; i < TD_ARRAY_SIZE(known); i++) {
        if (strcmp(text, known[i]) == 0)
            return td_xasprintf("%s lets nothing pass it: what is before it must end, and what "
                                "comes later waits.",
                                text);
    }
    return td_xasprintf("%s waits for all that is before it, and what comes later waits for it: it "
                        "lets nothing pass, or is the first to access a page.",
                        text);
}

/* Whether most of the chain is loads: it is that of the addresses. */
static bool is_of_loads(const struct td_loop *loop)
{
    return 2 * td_loop_chain_loads(loop) > loop->bounds[TD_LOOP_CHAIN];
}

/* Of a chase: what it costs, and what it would cost. */
static char *chase_more(const struct td_why *why)
{
    char cycles[40], chain[40];

    if (why->cause != TD_WHY_CHASE || !why->loop || !(why->loop->bounds[TD_LOOP_CHAIN] > 0) ||
        why->loop->bounds[TD_LOOP_CHAIN] >= why->loop->cycles || !is_of_loads(why->loop))
        return NULL;
    return td_xasprintf("An iteration takes %s cycles; with all of it in L1 the chain would take "
                        "%s.",
                        td_loop_figure(why->loop->cycles, cycles, sizeof(cycles)),
                        td_loop_figure(why->loop->bounds[TD_LOOP_CHAIN], chain, sizeof(chain)));
}

/* Of a branch that one caller's data make hard to predict. */
static char *callers_more(const struct td_why *why, const struct td_model *model)
{
    const struct td_why_caller *first = &why->callers[0];
    char place[TD_WHY_TEXT];

    if (why->caller_count == 0 || first->lost < 0.5 || first->lost < 1.5 * first->executions)
        return NULL;
    if (first->location == TD_NONE)
        return NULL;
    td_why_place(place, sizeof(place), model, first->location);
    return td_xasprintf("%.0f %% of that is for calls from %s, which have %.0f %% of its "
                        "executions.",
                        100 * first->lost, place, 100 * first->executions);
}

/* What is plain to see beside the cause. */
static char *also_more(const struct td_why *why)
{
    if (why->also == TD_WHY_NOTHING || why->also == why->cause)
        return NULL;
    const struct td_why_memory m = td_why_memory_of(why->also_habit);

    if (why->also == TD_WHY_CONFLICT && m.conflicting)
        return td_xasprintf("Besides, its lines push each other out of the same sets of L1: "
                            "conflict (%.0f %% of those that come had left for that reason).",
                            100 * m.conflicts);
    if (why->also == TD_WHY_ALIGNMENT)
        return td_xasprintf("Besides, %.0f %% of the accesses lie over the end of a cache line%s: "
                            "alignment.",
                            100 * m.split,
                            m.split_pages >= 0.5 ? ", most of them of a page, too" : "");
    if (writers[why->also]) {
        char *sentence = writers[why->also](why, &m), *text = NULL;

        text = td_xasprintf("Besides, %s", sentence);
        free(sentence);
        return text;
    }
    if (plain[why->also])
        return td_xasprintf("Besides, %s", plain[why->also]);
    return td_xasprintf("Besides: %s.", td_why_text(why->also));
}

/* Of an instruction that is one of several that do alike, where it is not known what they do
 * together. */
static char *copies_more(const struct td_why *why)
{
    if (why->copies.count < 2 || why->copies.habit || !td_why_uses_memory(why) ||
        (why->cause != TD_WHY_RANDOM && why->cause != TD_WHY_TLB))
        return NULL;
    return td_xasprintf("These are figures of one of %zu instructions of the line that do so.",
                        why->copies.count);
}

/* Of accesses that wait for a walk as well, where that is not what is told. */
static char *walks_more(const struct td_why *why)
{
    if (why->cause == TD_WHY_TLB || !td_why_uses_memory(why) || !writers[why->cause])
        return NULL;
    const double walks = td_why_memory_of(why->habit).walks;

    if (walks < 0.25)
        return NULL;
    return td_xasprintf("Besides, %.0f %% of the accesses walk the page tables, which huge pages "
                        "would save.",
                        100 * walks);
}

char *td_why_sentence(const struct td_why *why, const struct td_loop_words *words)
{
    char *text = loop_sentence(why, words);

    if (!text && why->cause == TD_WHY_SERIAL)
        text = serial_sentence(why, words);
    if (!text && why->cause == TD_WHY_SHARED)
        text = shared_sentence(why, words->model);
    if (!text)
        text = td_why_is_of_branch(why->cause) && td_why_branches(why)
                   ? branch_sentence(why, words->model)
               : td_why_uses_memory(why) ? memory_sentence(why, words->model)
                                         : plain_sentence(why);
    text = join(text, chase_more(why));
    text = join(text, copies_more(why));
    text = join(text, walks_more(why));
    text = join(text, callers_more(why, words->model));
    text = join(text, also_more(why));
    if (why->beside)
        text = join(text, td_xstrdup("No loss stands out here, so that it may cost little."));
    if (*text >= 'a' && *text <= 'z')
        *text = (char)(*text - 'a' + 'A');
    return text;
}
