/* SPDX-License-Identifier: MIT */
#include "record/machine/timings.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "base/mem.h"

enum {
    LINE_BYTES = 64,
    PAGE_BYTES = 4096,
    L1_BYTES = 16384,
    WALK_PAGES = 8192, /* more than any TLB holds, with lines that L2 holds */
    RUNS_WANTED = 5,
    CHAIN_STEPS = 4000000,
    BRANCHES = 400000,
};

#define BIG_BYTES   ((size_t)256 << 20)
#define GATE_SLACK  1.06 /* slower than the best by more: not alone */
#define NS_PER_S    1e9
#define CHASE_STEPS 400000
#define GATE_ROUNDS 20000

/* CPU time: what other processes took of the wall's is not ours. */
static double cpu_ns(void)
{
    struct timespec ts = {0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * NS_PER_S + (double)ts.tv_nsec;
}

struct run {
    double best_gate_ns, cycle_ns;
    double deadline_ns; /* of the probe that runs, in CPU time */
    double seconds;     /* a probe */
    uint8_t *memory;    /* in large pages, if the kernel gives them */
    uint8_t *pages;     /* in small ones */
    size_t size, l2_bytes;
};

/* Independent additions: as fast as the core goes when it is alone. */
static double run_gate(void)
{
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
    const double before = cpu_ns();

    for (int i = 0; i < GATE_ROUNDS; i++) {
        a += 3, b += 3, c += 3, d += 3, e += 3, f += 3;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    }
    return cpu_ns() - before;
}

static bool gate_is_open(struct run *p)
{
    const double ns = run_gate();

    if (ns < p->best_gate_ns)
        p->best_gate_ns = ns;
    return ns <= p->best_gate_ns * GATE_SLACK;
}

/* A chain of instructions of known latency: three cycles a multiplication (all of x86-64 since
 * 2006), one an addition of registers. */
static double run_chain(struct run *p)
{
    uint64_t x = 3;
    const uint64_t y = 5;

    (void)p;
    const double before = cpu_ns();
    for (int i = 0; i < CHAIN_STEPS / 8; i++) {
#if defined(__x86_64__)
        __asm__ volatile("imul %1, %0\n imul %1, %0\n imul %1, %0\n imul %1, %0\n"
                         "imul %1, %0\n imul %1, %0\n imul %1, %0\n imul %1, %0"
                         : "+r"(x)
                         : "r"(y)
                         : "cc");
#elif defined(__aarch64__)
        __asm__ volatile("add %0, %0, %1\n add %0, %0, %1\n add %0, %0, %1\n add %0, %0, %1\n"
                         "add %0, %0, %1\n add %0, %0, %1\n add %0, %0, %1\n add %0, %0, %1"
                         : "+r"(x)
                         : "r"(y));
#endif
    }
#if defined(__x86_64__)
    return (cpu_ns() - before) / CHAIN_STEPS / 3;
#else
    return (cpu_ns() - before) / CHAIN_STEPS;
#endif
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* One cycle through `count` places, in an order that no prefetcher guesses (Sattolo). Place i is at
 * i * step, moved about within its page so that pages do not share sets. */
static void *make_chain(uint8_t *memory, size_t count, size_t step)
{
    uint32_t *order = td_xalloc(count * sizeof(*order));
    uint64_t state = 88172645463325252;

    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count - 1; i > 0; i--) {
        const size_t k = next_random(&state) % i;
        const uint32_t swap = order[i];

        order[i] = order[k];
        order[k] = swap;
    }
#define PLACE(i) (memory + (i)*step + (step > LINE_BYTES ? (i)*LINE_BYTES % step : 0))
    for (size_t i = 0; i < count; i++)
        *(void **)(void *)PLACE((size_t)order[i]) = PLACE((size_t)order[(i + 1) % count]);
    void *first = PLACE((size_t)order[0]);
#undef PLACE
    free(order);
    return first;
}

/* ns a step. */
static double chase(void *at, size_t steps)
{
    const double before = cpu_ns();

    for (size_t i = 0; i < steps; i += 8) {
        at = *(void **)at, at = *(void **)at, at = *(void **)at, at = *(void **)at;
        at = *(void **)at, at = *(void **)at, at = *(void **)at, at = *(void **)at;
        __asm__ volatile("" : "+r"(at));
    }
    return (cpu_ns() - before) / (double)steps;
}

static double run_read(struct run *p)
{
    const uint64_t *words = (const uint64_t *)(const void *)p->memory;
    const size_t count = p->size / sizeof(*words);
    uint64_t sum = 0;
    const double before = cpu_ns();

    for (size_t i = 0; i < count; i += 8) {
        sum += words[i] + words[i + 1] + words[i + 2] + words[i + 3];
        sum += words[i + 4] + words[i + 5] + words[i + 6] + words[i + 7];
    }
    __asm__ volatile("" : : "r"(sum));
    return (cpu_ns() - before) / ((double)p->size / LINE_BYTES);
}

static double run_write(struct run *p)
{
    uint64_t *words = (uint64_t *)(void *)p->memory;
    const size_t count = p->size / sizeof(*words);
    const double before = cpu_ns();

    for (size_t i = 0; i < count; i++) {
        words[i] = i;
        /* Kept a loop of stores: the library's fill would go around the caches. */
        __asm__ volatile("" : : : "memory");
    }
    return (cpu_ns() - before) / ((double)p->size / LINE_BYTES);
}

/* Random bits decide a branch, or with mask 0 do not. */
static double run_branches(uint64_t mask)
{
    uint64_t state = 88172645463325252, taken = 0;
    const double before = cpu_ns();

    for (int i = 0; i < BRANCHES; i++) {
        if (next_random(&state) & mask) {
            taken++;
            __asm__ volatile("" : "+r"(taken));
        }
    }
    __asm__ volatile("" : : "r"(taken));
    return (cpu_ns() - before) / BRANCHES;
}

static double run_mispredicts(struct run *p)
{
    (void)p;
    return 2 * (run_branches(1) - run_branches(0));
}

static double run_chase(void *chain, size_t count)
{
    /* Once through to warm what can be warm. */
    chase(chain, count < CHASE_STEPS ? (count + 7) / 8 * 8 : CHASE_STEPS);
    return chase(chain, CHASE_STEPS);
}

/* The smallest of the runs at full speed; of all, when there are too few of these. */
struct best {
    double quiet, quiet_most, any;
    unsigned quiet_runs;
};

static bool take_run(struct best *best, double ns, bool quiet)
{
    if (best->any == 0 || ns < best->any)
        best->any = ns;
    if (quiet) {
        if (best->quiet == 0 || ns < best->quiet)
            best->quiet = ns;
        if (ns > best->quiet_most)
            best->quiet_most = ns;
        best->quiet_runs++;
    }
    return best->quiet_runs >= RUNS_WANTED;
}

static struct td_timing result_of(const struct best *best, double scale)
{
    const bool quiet = best->quiet_runs > 0;

    return (struct td_timing){
        .value = (quiet ? best->quiet : best->any) * scale,
        .quiet = quiet,
        .spread = quiet && best->quiet > 0 ? best->quiet_most / best->quiet - 1 : 0,
    };
}

static struct td_timing repeat(struct run *p, double (*run)(struct run *p), double scale)
{
    struct best best = {0};
    const double end = cpu_ns() + p->seconds * NS_PER_S;
    bool enough = false;

    while (!enough && (best.any == 0 || cpu_ns() < end)) {
        const bool before = gate_is_open(p);
        const double ns = run(p);

        enough = take_run(&best, ns, gate_is_open(p) && before);
    }
    return result_of(&best, scale);
}

static struct td_timing repeat_chase(struct run *p, uint8_t *memory, size_t count, size_t step)
{
    struct best best = {0};
    void *chain = make_chain(memory, count, step);
    const double end = cpu_ns() + p->seconds * NS_PER_S;
    bool enough = false;

    while (!enough && (best.any == 0 || cpu_ns() < end)) {
        const bool before = gate_is_open(p);
        const double ns = run_chase(chain, count);

        enough = take_run(&best, ns, gate_is_open(p) && before);
    }
    return result_of(&best, 1 / p->cycle_ns);
}

static bool map_memory(struct run *p)
{
    struct sysinfo info;
    const size_t pages = (size_t)WALK_PAGES * PAGE_BYTES;

    p->size = BIG_BYTES;
    while (sysinfo(&info) == 0 && p->size > (BIG_BYTES >> 3) &&
           p->size > (uint64_t)info.freeram * info.mem_unit / 4)
        p->size /= 2;
    void *big = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *small = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p->memory = big == MAP_FAILED ? NULL : big;
    p->pages = small == MAP_FAILED ? NULL : small;
    if (!p->memory || !p->pages)
        return false;
    madvise(p->memory, p->size, MADV_HUGEPAGE);
    madvise(p->pages, pages, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < p->size; i += PAGE_BYTES)
        p->memory[i] = 1;
    return true;
}

static void unmap_memory(struct run *p)
{
    if (p->memory)
        munmap(p->memory, p->size);
    if (p->pages)
        munmap(p->pages, (size_t)WALK_PAGES * PAGE_BYTES);
}

/* What the second result has more than the first. */
static void subtract(struct td_timing *from, const struct td_timing *what)
{
    from->value -= what->value;
    from->quiet = from->quiet && what->quiet;
}

bool td_timings_run(struct td_timing results[TD_TIMING_COUNT], double seconds, size_t l2_kb)
{
    struct run p = {
        .best_gate_ns = 1e18, .seconds = seconds / (TD_TIMING_COUNT + 2), .l2_bytes = l2_kb << 10};
    const bool mapped = map_memory(&p);

    for (int i = 0; i < 200; i++)
        gate_is_open(&p);
    if (mapped) {
        results[TD_TIMING_CLOCK] = repeat(&p, run_chain, 1);
        p.cycle_ns = results[TD_TIMING_CLOCK].value;
        results[TD_TIMING_CLOCK].value = 1000 / p.cycle_ns;
        results[TD_TIMING_L1] = repeat_chase(&p, p.memory, L1_BYTES / LINE_BYTES, LINE_BYTES);
        results[TD_TIMING_L2] = repeat_chase(&p, p.memory, p.l2_bytes / 4 / LINE_BYTES, LINE_BYTES);
        results[TD_TIMING_L3] = repeat_chase(&p, p.memory, p.l2_bytes * 4 / LINE_BYTES, LINE_BYTES);
        results[TD_TIMING_WALK] = repeat_chase(&p, p.pages, WALK_PAGES, PAGE_BYTES);
        const struct td_timing large = repeat_chase(&p, p.memory, WALK_PAGES, PAGE_BYTES);
        subtract(&results[TD_TIMING_WALK], &large);
        results[TD_TIMING_DRAM] = repeat_chase(&p, p.memory, p.size / LINE_BYTES, LINE_BYTES);
        results[TD_TIMING_READ] = repeat(&p, run_read, 1 / p.cycle_ns);
        results[TD_TIMING_WRITE] = repeat(&p, run_write, 1 / p.cycle_ns);
        subtract(&results[TD_TIMING_WRITE], &results[TD_TIMING_READ]);
        results[TD_TIMING_MISPREDICT] = repeat(&p, run_mispredicts, 1 / p.cycle_ns);
    }
    unmap_memory(&p);
    return mapped;
}
