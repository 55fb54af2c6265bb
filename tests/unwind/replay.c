/* SPDX-License-Identifier: MIT */
/*
 * unwind_replay [--bench] [--show N] FILE...: unwinds stored samples by the tables, by the
 * interpreter and by libunwind, and compares frame by frame. Exit 1 when they differ.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "tests/unwind/reference.h"
#include "tests/unwind/full.h"

struct tally {
    uint64_t samples, frames, odd;
    uint64_t stops[TD_UNWIND_STOPS];
    uint64_t full_differs, reference_differs, reference_shorter, reference_blind;
    uint64_t fp_equal, fp_in_prologue, fp_differs;
    uint64_t show;
};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void show_frames(const char *who, const struct triple_space *space, const uint64_t *frames,
                        size_t count)
{
    printf("  %s:\n", who);
    for (size_t i = 0; i < count; i++) {
        const struct triple_map *map = triples_map(space, frames[i]);
        printf("    %2zu %#" PRIx64 " %s+%#" PRIx64 "\n", i, frames[i], map ? map->path : "?",
               map ? frames[i] - map->bias : 0);
    }
}

static size_t common(const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
    size_t i = 0;

    while (i < na && i < nb && a[i] == b[i])
        i++;
    return i;
}

/* libunwind goes on past a function without call frame information by guessing, and stops where
 * our walker knows the process's first function: equal as far as both are sure. */
static bool agrees(const struct td_unwind_stack *ours, const uint64_t *theirs, size_t count)
{
    const size_t same = common(ours->frames, ours->count, theirs, count);

    if (ours->stop == TD_UNWIND_COMPLETE && same == ours->count)
        return count <= ours->count + 1;
    if (ours->stop == TD_UNWIND_NO_TABLE && same == ours->count)
        return true;
    return same == count;
}

static void compare(struct tally *t, struct reference *reference,
                    const struct td_unwind_sample *sample, const struct triple_space *space,
                    const struct td_unwind_stack *ours)
{
    static struct td_unwind_stack full;
    static uint64_t theirs[TD_UNWIND_FRAMES_MAX];

    td_unwind_full(TD_CFI_X86_64, sample, &full);
    const bool full_equal =
        full.count == ours->count && full.stop == ours->stop &&
        common(full.frames, full.count, ours->frames, ours->count) == full.count;
    bool no_table;
    const size_t count =
        reference_unwind(reference, sample, space, theirs, TD_UNWIND_FRAMES_MAX, &no_table);
    const bool reference_equal = agrees(ours, theirs, count);
    t->full_differs += !full_equal;
    t->reference_differs += !reference_equal;
    t->reference_shorter += reference_equal && count < ours->count && !no_table;
    t->reference_blind += reference_equal && count < ours->count && no_table;
    if (t->show && (!full_equal || !reference_equal ||
                    (ours->stop != TD_UNWIND_COMPLETE && ours->stop != TD_UNWIND_SHORT_COPY))) {
        t->show--;
        printf("sample %" PRIu64 ": %s, %zu bytes of stack\n", t->samples,
               td_unwind_stop_name(ours->stop), sample->stack_bytes);
        show_frames("tables", space, ours->frames, ours->count);
        show_frames("interpreter", space, full.frames, full.count);
        show_frames("libunwind", space, theirs, count);
    }
}

/* The stack by frame pointers alone, as far as they lead upwards in the copy. */
static size_t frame_pointer_chain(const struct td_unwind_sample *sample, uint64_t *frames)
{
    const uint64_t base = sample->regs[TD_CFI_X86_RSP];
    uint64_t fp = sample->regs[TD_CFI_X86_RBP], last = base;
    size_t count = 0;

    frames[count++] = sample->regs[TD_CFI_X86_RA];
    while (count < TD_UNWIND_FRAMES_MAX && fp >= last && fp - base + 16 <= sample->stack_bytes) {
        uint64_t words[2];
        memcpy(words, sample->stack + (fp - base), sizeof(words));
        frames[count++] = words[1] - 1;
        last = fp + 16;
        fp = words[0];
    }
    return count;
}

/* Equal frame by frame or, between a call and the end of the prologue, without the caller, which
 * frame pointers do not show there. */
static void compare_frame_pointers(struct tally *t, const struct td_unwind_sample *sample,
                                   const struct triple_space *space,
                                   const struct td_unwind_stack *ours)
{
    static uint64_t theirs[TD_UNWIND_FRAMES_MAX];
    const struct triple_map *inner = triples_map(space, ours->frames[0]);
    const struct triple_map *outer = triples_map(space, ours->frames[ours->count - 1]);

    if (!inner || !outer || inner->path != outer->path || strstr(inner->path, ".so"))
        return; /* in a library, or the program is being loaded */
    const size_t count = frame_pointer_chain(sample, theirs);

    if (common(ours->frames, ours->count, theirs, count) == count) {
        t->fp_equal++;
    } else if (ours->count > 2 &&
               common(ours->frames + 2, ours->count - 2, theirs + 1, count - 1) == count - 1) {
        t->fp_in_prologue++;
    } else {
        t->fp_differs++;
        if (t->show) {
            t->show--;
            show_frames("tables", space, ours->frames, ours->count);
            show_frames("frame pointers", space, theirs, count);
        }
    }
}

static int agree(struct triples *triples, struct tally *t)
{
    struct td_unwinder *unwinder = td_unwinder_new(TD_CFI_X86_64);
    struct reference *reference = reference_new();
    struct td_err err = TD_ERR_INIT;
    struct td_unwind_sample sample;
    struct triple_space *space;
    static struct td_unwind_stack stack;
    int n;

    while ((n = triples_next(triples, &sample, &space, &err)) == 1) {
        td_unwind(unwinder, &sample, &stack);
        compare(t, reference, &sample, space, &stack);
        compare_frame_pointers(t, &sample, space, &stack);
        t->samples++;
        t->frames += stack.count;
        t->odd += stack.odd;
        t->stops[stack.stop]++;
    }
    if (n < 0)
        fprintf(stderr, "unwind_replay: %s\n", err.text);
    reference_free(reference);
    td_unwinder_free(unwinder);
    return n;
}

static void report(const char *path, const struct tally *t)
{
    printf("%s: %" PRIu64 " samples, %.1f frames each, %" PRIu64 " by the interpreter;", path,
           t->samples, t->samples ? (double)t->frames / (double)t->samples : 0, t->odd);
    for (unsigned i = 0; i < TD_UNWIND_STOPS; i++) {
        if (t->stops[i])
            printf(" %s %" PRIu64, td_unwind_stop_name(i), t->stops[i]);
    }
    printf("; differ from interpreter %" PRIu64 ", from libunwind %" PRIu64
           " (libunwind stopped earlier %" PRIu64 ", without a table %" PRIu64
           "); by frame pointer %" PRIu64 " equal, %" PRIu64 " in prologues, %" PRIu64 " differ\n",
           t->full_differs, t->reference_differs, t->reference_shorter, t->reference_blind,
           t->fp_equal, t->fp_in_prologue, t->fp_differs);
}

/* Samples with what they point to, so that only the walk is timed. */
struct loaded {
    struct td_unwind_sample *samples;
    struct triple_space **spaces;
    size_t count, cap, space_cap;
};

static void load(struct triples *triples, struct loaded *l)
{
    struct td_unwind_sample sample;
    struct triple_space *space;

    while (triples_next(triples, &sample, &space, NULL) == 1) {
        l->samples = td_grow(l->samples, &l->cap, l->count + 1, sizeof(*l->samples));
        l->spaces = td_grow(l->spaces, &l->space_cap, l->count + 1, sizeof(struct triple_space *));
        l->samples[l->count] = sample;
        l->spaces[l->count++] = space;
    }
    /* The mappings as they were at the end hold for all samples of a program that dlopens
     * nothing; growing the list of spaces may have moved them. */
    for (size_t i = 0; i < l->count && triples->space_count == 1; i++) {
        l->spaces[i] = &triples->spaces[0];
        l->samples[i].ctx = &triples->spaces[0];
        l->samples[i].space = triples->spaces[0].id;
    }
}

enum { BENCH_TABLES, BENCH_FULL, BENCH_REFERENCE };

static double frames_per_second(const struct loaded *l, int how)
{
    struct td_unwinder *unwinder = td_unwinder_new(TD_CFI_X86_64);
    struct reference *reference = reference_new();
    static struct td_unwind_stack stack;
    uint64_t frames = 0;
    const uint64_t start = now_ns();

    while (now_ns() - start < 1000000000u) {
        for (size_t i = 0; i < l->count; i++) {
            if (how == BENCH_TABLES) {
                td_unwind(unwinder, &l->samples[i], &stack);
            } else if (how == BENCH_FULL) {
                td_unwind_full(TD_CFI_X86_64, &l->samples[i], &stack);
            } else {
                stack.count = reference_unwind(reference, &l->samples[i], l->spaces[i],
                                               stack.frames, TD_UNWIND_FRAMES_MAX, NULL);
            }
            frames += stack.count;
        }
    }
    const double seconds = (double)(now_ns() - start) / 1e9;
    reference_free(reference);
    td_unwinder_free(unwinder);
    return (double)frames / seconds;
}

static void bench(struct triples *triples, const char *path)
{
    struct loaded l = {0};
    static const char *const names[] = {"tables", "interpreter", "libunwind"};

    load(triples, &l);
    printf("%s:", path);
    for (int how = BENCH_TABLES; how <= BENCH_REFERENCE && l.count; how++)
        printf(" %s %.2f", names[how], frames_per_second(&l, how) / 1e6);
    printf(" million frames a second\n");
    free(l.samples);
    free(l.spaces);
}

int main(int argc, char **argv)
{
    struct tally tally = {0};
    bool want_bench = false;
    uint64_t differ = 0;

    for (int i = 1; i < argc; i++) {
        struct triples triples = {0};
        struct td_err err = TD_ERR_INIT;

        if (strcmp(argv[i], "--bench") == 0) {
            want_bench = true;
            continue;
        }
        if (strcmp(argv[i], "--show") == 0 && i + 1 < argc &&
            td_parse_u64(argv[i + 1], &tally.show)) {
            i++;
            continue;
        }
        if (triples_open(&triples, argv[i], &err) < 0) {
            fprintf(stderr, "unwind_replay: %s\n", err.text);
            return 2;
        }
        const uint64_t show = tally.show;
        tally = (struct tally){.show = show};
        if (agree(&triples, &tally) < 0)
            return 2;
        report(argv[i], &tally);
        differ += tally.full_differs + tally.reference_differs;
        if (want_bench) {
            triples_rewind(&triples);
            bench(&triples, argv[i]);
        }
        triples_release(&triples);
    }
    return differ ? 1 : 0;
}
