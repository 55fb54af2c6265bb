/* SPDX-License-Identifier: MIT */
/*
 * Kernels whose bottleneck is known: `kernels NAME` runs one. Each is one function, so that a
 * profile must blame that function, and its line marked BLAME; what it runs before is kept short.
 * `kernels -t NAME` prints the cycles of the function alone, by CPU time and a chain of
 * multiplications around it; how much the clock changed; and the most cycles that a round of
 * independent additions took, before or after: a neighbour on the core doubles them. `kernels -l`
 * prints each kernel's name and call.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KERNEL __attribute__((noinline)) static

static volatile uint64_t sink;
static uint64_t state = 88172645463325252ULL;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* A random cycle through places `step` bytes apart. */
static void **make_steps(size_t bytes, size_t step)
{
    const size_t lines = bytes / step;
    char *memory = aligned_alloc(4096, bytes);
    uint32_t *order = malloc(lines * sizeof(*order));

    for (size_t i = 0; i < lines; i++)
        order[i] = (uint32_t)i;
    for (size_t i = lines - 1; i > 0; i--) {
        const size_t k = next_random() % i;
        const uint32_t swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (size_t i = 0; i < lines; i++)
        *(void **)(void *)(memory + step * i) = memory + step * (size_t)order[i];
    free(order);
    return (void **)(void *)memory;
}

/* The same through every line. */
static void **make_chain(size_t bytes)
{
    return make_steps(bytes, 64);
}

KERNEL void chase(void **at, int steps)
{
    for (int i = 0; i < steps; i++)
        at = *at; /* BLAME chase */
    sink = (uint64_t)(uintptr_t)at;
}

KERNEL void branches(const uint8_t *bytes, size_t count)
{
    uint64_t a = 0, b = 1;

    for (size_t i = 0; i < count; i++) {
        if (bytes[i] & 1) { /* BLAME branches */
            a += b;
            __asm__ volatile("");
        } else {
            b ^= a;
            __asm__ volatile("");
        }
    }
    sink = a + b;
}

/* The same ways again and again, in a random order of `period`. */
KERNEL void pattern(const uint8_t *bytes, size_t period, size_t count)
{
    uint64_t a = 0, b = 1;
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        if (bytes[at] & 1) { /* BLAME pattern */
            a += b;
            __asm__ volatile("");
        } else {
            b ^= a;
            __asm__ volatile("");
        }
        at = at + 1 == period ? 0 : at + 1;
    }
    sink = a + b;
}

KERNEL void divides(uint64_t count)
{
    uint64_t x = 0xffffffffffffULL;

    for (uint64_t i = 1; i < count; i++)
        x = x / (i | 1) + 0xffffffffffffULL; /* BLAME divides */
    sink = x;
}

KERNEL void float_chain(int count)
{
    double x = 1.0, y = 1.0000001, z = 1e-9;

    __asm__ volatile("" : "+x"(y), "+x"(z));
    for (int i = 0; i < count; i++)
        x = x * y + z; /* BLAME float_chain */
    sink = (uint64_t)x;
}

KERNEL void adds(uint64_t count)
{
    __asm__ volatile("1:\n add $1,%%rax\n add $1,%%rcx\n add $1,%%rsi\n add $1,%%rdi\n"
                     " add $1,%%r8\n add $1,%%r9\n add $1,%%r10\n add $1,%%r11\n"
                     " add $1,%%rax\n add $1,%%rcx\n add $1,%%rsi\n dec %0\n jnz 1b"
                     : "+r"(count)
                     :
                     : "rax", "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11");
}

/* The last of its five additions begins 2 bytes before the end of a page and ends behind it. */
KERNEL void over_page_end(uint64_t count)
{
    __asm__ volatile("jmp 1f\n .p2align 12\n .skip 4096-18\n1:\n add $1,%%rax\n add $1,%%rcx\n"
                     " add $1,%%rsi\n add $1,%%rdi\n add $1,%%r8\n dec %0\n jnz 1b"
                     : "+r"(count)
                     :
                     : "rax", "rcx", "rsi", "rdi", "r8");
}

KERNEL void stream(double *to, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i] * 3.0; /* BLAME stream */
}

/* Three streams: two of the second array's halves, one written. */
KERNEL void triad(double *to, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i] + 3.0 * from[count + i]; /* BLAME triad */
}

/* A double through memory and back: stores of vector registers are forwarded, not renamed. */
KERNEL void forward(int count)
{
    static volatile double place;

    for (int i = 0; i < count; i++)
        place = -place; /* BLAME forward */
    sink = (uint64_t)place;
}

/* Two halves are stored, the whole is loaded: no one store has it all. */
KERNEL void forward_blocked(int count)
{
    static volatile union {
        uint32_t half[2];
        uint64_t whole;
    } place;
    uint64_t x = 1;

    for (int i = 0; i < count; i++) {
        place.half[0] = (uint32_t)x;
        place.half[1] = (uint32_t)i;
        x = place.whole; /* BLAME forward_blocked */
    }
    sink = x;
}

/* Each load lies over two lines. */
KERNEL void split_loads(const char *bytes, int count)
{
    uint64_t at = 0;

    for (int i = 0; i < count; i++)
        __asm__ volatile("mov 61(%1,%0),%0" : "+r"(at) : "r"(bytes)); /* BLAME split_loads */
    sink = at;
}

/* Loads whose address is that of the store before, but for its page. */
KERNEL void alias(char *bytes, int count)
{
    uint64_t at = 0;

    for (int i = 0; i < count; i++)
        __asm__ volatile("mov %0,8192(%1)\n" /* BLAME alias */
                         "mov 4096(%1,%0),%0"
                         : "+r"(at)
                         : "r"(bytes)
                         : "memory");
    sink = at;
}

/* A line a page, each found by the one before: the caches have the lines, no TLB has the pages. */
KERNEL void page_walks(void **at, int steps)
{
    for (int i = 0; i < steps; i++)
        __asm__ volatile("mov (%0),%0" : "+r"(at)); /* BLAME page_walks */
    sink = (uint64_t)(uintptr_t)at;
}

KERNEL void locked_adds(uint64_t *place, int count)
{
    for (int i = 0; i < count; i++)
        __asm__ volatile("lock addq $1,(%0)" ::"r"(place) : "memory"); /* BLAME locked_adds */
}

KERNEL void square_roots(int count)
{
    double x = 1e300;

    for (int i = 0; i < count; i++)
        __asm__ volatile("sqrtsd %0,%0\naddsd %0,%0" : "+x"(x)); /* BLAME square_roots */
    sink = (uint64_t)x;
}

/* Each round is a chain through the divider twice, and no round waits for another. */
KERNEL void roots_and_divides(int count)
{
    double root, product, quotient = 0;

    for (int i = 0; i < count; i++)
        __asm__ volatile("xorps %0,%0\nsqrtsd %3,%0\nmovapd %0,%1\nmulsd %3,%1\n"
                         "movapd %3,%2\ndivsd %1,%2"
                         : "=&x"(root), "=&x"(product), "=&x"(quotient)
                         : "x"(3.0));
    sink = (uint64_t)quotient;
}

/* A small interpreter whose next operation cannot be foreseen. */
KERNEL void interpreter(const uint8_t *ops, size_t count)
{
    static const void *const labels[] = {&&add, &&sub, &&mul, &&xor, &&neg, &&shift, && or, &&not };
    uint64_t a = 1, b = 3;
    size_t i = 0;

next:
    if (i == count)
        goto done;
    goto *labels[ops[i++] & 7]; /* BLAME interpreter */
add:
    a += b;
    goto next;
sub:
    a -= b + 7;
    goto next;
mul:
    b = a * 5;
    goto next;
    xor : b ^= a;
    goto next;
neg:
    a = 0 - a;
    goto next;
shift:
    b = b << 1 | 1;
    goto next;
    or : a |= b;
    goto next;
    not : b = ~b;
    goto next;
done:
    sink = a + b;
}

/* One instruction a page, and a jump to the next: more pages than any ITLB has. */
KERNEL void code_pages(int rounds)
{
    for (int i = 0; i < rounds; i++)
        __asm__ volatile(".rept 3072\n" /* BLAME code_pages */
                         " add $1,%%rax\n jmp 1f\n .skip 4096-9+64\n1:\n .endr"
                         :
                         :
                         : "rax");
}

KERNEL void multiply_chain(uint64_t count)
{
    uint64_t x = 3;

    for (uint64_t i = 0; i < count; i++)
        __asm__ volatile("imul %0,%0\nimul %0,%0\nimul %0,%0" : "+r"(x)); /* BLAME multiply_chain */
    sink = x;
}

/* Multiplications keep their one port busy; none waits for another's result. */
KERNEL void one_port(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        __asm__ volatile("imul $3,%%rax,%%rax\n" /* BLAME one_port */
                         "imul $3,%%rcx,%%rcx\nimul $3,%%rsi,%%rsi\nimul $3,%%rdi,%%rdi\n"
                         "imul $3,%%r8,%%r8\nimul $3,%%r9,%%r9"
                         :
                         :
                         : "rax", "rcx", "rsi", "rdi", "r8", "r9");
}

KERNEL void gather(const uint32_t *index, const uint32_t *from, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += from[index[i]]; /* BLAME gather */
    sink = sum;
}

/* Probes of a table that fits L2: each waits for the one before. */
KERNEL void hash_probes(const uint64_t *table, uint64_t mask, int count)
{
    uint64_t x = 1;

    for (int i = 0; i < count; i++)
        x = x * 0x9e3779b97f4a7c15ULL + table[(x >> 20) & mask]; /* BLAME hash_probes */
    sink = x;
}

/* Probes of a table far larger than the caches; a branch on what each finds, which nobody can
 * foresee. No probe waits for another. */
KERNEL void filter(const uint32_t *index, const uint32_t *from, size_t count)
{
    uint64_t found = 0, sum = 0;

    for (size_t i = 0; i < count; i++) {
        const uint32_t value = from[index[i]];
        if (value & 1) { /* BLAME filter */
            found++;
            __asm__ volatile("" : "+r"(sum));
            sum += value;
        }
    }
    sink = found + sum;
}

/* The same with two ways, and places that come from arithmetic. */
KERNEL void probe_ways(const uint32_t *from, uint32_t mask, int count)
{
    uint64_t a = 0, b = 0, x = 1;

    for (int i = 0; i < count; i++) {
        x = x * 0x9e3779b97f4a7c15ULL + 1;
        if (from[x >> 32 & mask] & 1) { /* BLAME probe_ways */
            a += x;
            __asm__ volatile("" : "+r"(a));
        } else {
            b ^= x;
            __asm__ volatile("" : "+r"(b));
        }
    }
    sink = a + b;
}

/* Half of the searches go each way at each step: the next place waits for the branch. */
KERNEL void binary_search(const uint32_t *sorted, uint32_t count, const uint32_t *wanted,
                          int searches)
{
    uint64_t sum = 0;

    for (int i = 0; i < searches; i++) {
        uint32_t low = 0, high = count;
        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;
            if (sorted[middle] < wanted[i]) { /* BLAME binary_search */
                low = middle + 1;
                __asm__ volatile("" : "+r"(low));
            } else {
                high = middle;
                __asm__ volatile("" : "+r"(high));
            }
        }
        sum += low;
    }
    sink = sum;
}

struct entry {
    uint32_t key, next; /* 0: the last */
    uint64_t value;
};

/* Chains of no, one and more entries; the key is in half of them. */
KERNEL void hash_join(const uint32_t *heads, uint32_t mask, const struct entry *entries,
                      const uint32_t *keys, int count)
{
    uint64_t sum = 0;

    for (int i = 0; i < count; i++) {
        const uint32_t key = keys[i];
        uint32_t e = heads[key * 0x9e3779b1U >> 7 & mask];
        while (e && entries[e].key != key) /* BLAME hash_join */
            e = entries[e].next;
        if (e)
            sum += entries[e].value;
    }
    sink = sum;
}

/* Breadth first through a random graph of `degree` neighbours each. */
KERNEL void breadth_first(const uint32_t *neighbours, uint32_t degree, uint32_t *depth,
                          uint32_t *queue, uint32_t limit)
{
    uint32_t head = 0, tail = 1;

    while (head < tail && tail < limit) {
        const uint32_t node = queue[head++];
        for (uint32_t k = 0; k < degree; k++) {
            const uint32_t other = neighbours[node * degree + k];
            if (depth[other] == 0) { /* BLAME breadth_first */
                depth[other] = depth[node] + 1;
                queue[tail++] = other;
            }
        }
    }
    sink = tail;
}

KERNEL void matrix_naive(double *c, const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j]; /* BLAME matrix_naive */
            c[i * n + j] = sum;
        }
    }
}

KERNEL void matrix_rows(double *c, const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) {
            const double x = a[i * n + k];
            for (int j = 0; j < n; j++)
                c[i * n + j] += x * b[k * n + j];
        }
    }
}

KERNEL void copy(char *to, const char *from, size_t bytes, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        memcpy(to, from, bytes);
        __asm__ volatile("" ::: "memory");
    }
}

KERNEL void fill(char *to, size_t bytes, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        memset(to, i, bytes);
        __asm__ volatile("" ::: "memory");
    }
}

KERNEL void copy_string(char *to, const char *from, size_t bytes, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        char *t = to;
        const char *f = from;
        size_t n = bytes / 8;
        __asm__ volatile("rep movsq" : "+D"(t), "+S"(f), "+c"(n)::"memory"); /* BLAME copy_string */
    }
}

/* Stores to lines that nobody holds: nothing is loaded. */
KERNEL void scattered_stores(const uint32_t *index, uint32_t *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[index[i]] = (uint32_t)i; /* BLAME scattered_stores */
}

KERNEL uint64_t recursion(uint64_t n)
{
    return n < 2 ? n : recursion(n - 1) + recursion(n - 2);
}

KERNEL void sum_integers(const uint32_t *from, size_t count)
{
    uint64_t a = 0, b = 0, c = 0, d = 0;

    for (size_t i = 0; i < count; i += 4) {
        a += from[i];
        b ^= from[i + 1];
        c += from[i + 2];
        d |= from[i + 3];
    }
    sink = a + b + c + d;
}

/* A chain of additions of single numbers: sums cannot be reordered. */
KERNEL void sum_floats(const float *from, size_t count)
{
    float sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += from[i]; /* BLAME sum_floats */
    sink = (uint64_t)sum;
}

/* A store whose address comes late, to where the next load reads early. */
KERNEL void late_addresses(uint64_t *cells, int count)
{
    uint64_t at = 0;

    for (int i = 0; i < count; i++) {
        cells[(at * at * at) & 7] = (uint64_t)i;
        at += cells[i & 7] & 7; /* BLAME late_addresses */
    }
    sink = at;
}

/* 4 MB of code in a line: instructions of 8 bytes and more. */
KERNEL void straight(int rounds)
{
    for (int i = 0; i < rounds; i++)
        __asm__ volatile(".rept 65536\n" /* BLAME straight */
                         " movabs $0x123456789ab,%%rax\n movabs $0x123456789ab,%%rcx\n"
                         " movabs $0x123456789ab,%%rsi\n movabs $0x123456789ab,%%rdi\n"
                         " lea 0x12345(%%rax,%%rcx,4),%%r8\n lea 0x12345(%%rsi,%%rcx,4),%%r9\n"
                         " lea 0x12345(%%rdi,%%rcx,4),%%r10\n .endr"
                         :
                         :
                         : "rax", "rcx", "rsi", "rdi", "r8", "r9", "r10");
}

/* 64 KB of code in a line, again and again: more than L1I and the uop cache hold. */
KERNEL void code_l2(int rounds)
{
    for (int i = 0; i < rounds; i++)
        __asm__ volatile(".rept 1400\n"
                         " movabs $0x123456789ab,%%rax\n movabs $0x123456789ab,%%rcx\n"
                         " movabs $0x123456789ab,%%rsi\n movabs $0x123456789ab,%%rdi\n"
                         " movabs $0x123456789ab,%%r8\n movabs $0x123456789ab,%%r9\n .endr"
                         :
                         :
                         : "rax", "rcx", "rsi", "rdi", "r8", "r9");
}

/* The same instructions again and again, on one line; most do not wait for one another. */
#define REPEATED(name, code, ...)                     \
    KERNEL void name(uint64_t count)                  \
    {                                                 \
        do                                            \
            __asm__ volatile(code : : : __VA_ARGS__); \
        while (--count);                              \
    }
#define INTEGERS "rax", "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11"
#define VECTORS  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"
/* `op` with `more` on each of those. */
#define ON_INTEGERS(op, more)                                                              \
    op "%%rax" more "\n" op "%%rcx" more "\n" op "%%rsi" more "\n" op "%%rdi" more "\n" op \
       "%%r8" more "\n" op "%%r9" more "\n" op "%%r10" more "\n" op "%%r11" more "\n"
#define ON_VECTORS(op)                                                                     \
    op "%%xmm0\n" op "%%xmm1\n" op "%%xmm2\n" op "%%xmm3\n" op "%%xmm4\n" op "%%xmm5\n" op \
       "%%xmm6\n" op "%%xmm7\n"
#define ON_WIDE_VECTORS(op)                                                                \
    op "%%ymm0\n" op "%%ymm1\n" op "%%ymm2\n" op "%%ymm3\n" op "%%ymm4\n" op "%%ymm5\n" op \
       "%%ymm6\n" op "%%ymm7\n"

REPEATED(shifts, /* BLAME shifts */ ON_INTEGERS("shl $1,", ""), INTEGERS);
REPEATED(jumps_not_taken, /* BLAME jumps_not_taken */ ".rept 16\njc 9f\n.endr\n9:\n", "rax");
REPEATED(jumps_taken, /* BLAME jumps_taken */ ".rept 99\njmp 9f\n.skip 62\n9:\n.endr\n", "rax");
REPEATED(shuffles, /* BLAME shuffles */ ON_VECTORS("pshufd $27,%%xmm8,"), VECTORS);
REPEATED(vector_shifts, /* BLAME vector_shifts */ ON_VECTORS("psrlq $1,"), VECTORS);
REPEATED(float_adds, /* BLAME float_adds */ ON_VECTORS("vaddsd %%xmm8,%%xmm9,"), VECTORS);
REPEATED(float_vectors, /* BLAME float_vectors */ ON_VECTORS("vaddps %%xmm8,%%xmm9,"), VECTORS);
REPEATED(wide_vectors, /* BLAME wide_vectors */ ON_WIDE_VECTORS("vmulpd %%ymm8,%%ymm9,"), VECTORS);
REPEATED(x87, /* BLAME x87 */ "fldz\n.rept 8\nfadd %%st(0),%%st\n.endr\nfstp %%st(0)\n", "st");
REPEATED(integer_vectors, /* BLAME integer_vectors */ ON_VECTORS("paddd %%xmm8,"), VECTORS);
REPEATED(loads, /* BLAME loads */ ON_INTEGERS("mov -64(%%rsp),", ""), INTEGERS);
REPEATED(stores, /* BLAME stores */ ON_INTEGERS("mov ", ",-64(%%rsp)"), "memory");
REPEATED(nops, /* BLAME nops */ ".rept 32\nnop\n.endr\n", "rax");
REPEATED(fences, /* BLAME fences */ "lfence\nlfence\nlfence\nlfence\n", "rax");
#define TWO_PRODUCTS "mul %%rcx\nmov $3,%%eax\nmul %%rcx\nmov $3,%%eax\n"
REPEATED(wide_products, /* BLAME wide_products */ TWO_PRODUCTS, "rax", "rdx");
/* Both come from the microcode ROM; neither keeps its unit as long, or waits for another. */
#define GATHER_AND_ROTATE                                                                  \
    "vpxor %%ymm0,%%ymm0,%%ymm0\nvpxor %%ymm1,%%ymm1,%%ymm1\nvpxor %%ymm2,%%ymm2,%%ymm2\n" \
    "vpgatherdd %%ymm1,-64(%%rsp,%%ymm2),%%ymm0\nxor %%eax,%%eax\nrcl $3,%%rax\n"
REPEATED(microcode, /* BLAME microcode */ GATHER_AND_ROTATE, "rax", "xmm0", "xmm1", "xmm2");
/* More code than the uop cache holds, which L1I does: the decoders take as many bytes, */
#define LONG_ADDS ".rept 550\n" ON_INTEGERS("add $0x12345,", "") ".endr\n"
REPEATED(decode_bytes, /* BLAME decode_bytes */ LONG_ADDS, INTEGERS);
/* or as many instructions, per cycle. */
#define SHORT_MOVES                                                                        \
    ".rept 1800\n mov %%eax,%%ecx\n mov %%eax,%%esi\n mov %%eax,%%edi\n mov %%eax,%%edx\n" \
    " mov %%eax,%%ecx\n mov %%eax,%%esi\n.endr\n"
REPEATED(decode_uops, /* BLAME decode_uops */ SHORT_MOVES, "rcx", "rsi", "rdi", "rdx");

/* Many streams at a time, each in order: memory gives what it can. */
KERNEL void read_streams(const uint64_t *from, size_t words)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < words / 4; i += 8)
        sum += from[i] + from[words / 4 + i] + from[words / 2 + i]; /* BLAME read_streams */
    sink = sum;
}

/* What the kernels work on, made before they are timed. */
struct input {
    char *a, *b;
    uint32_t *index;
    size_t count;
};

static char *make_bytes(size_t bytes)
{
    char *memory = aligned_alloc(4096, bytes);

    memset(memory, 0, bytes);
    return memory;
}

static void make_random(struct input *in, size_t bytes)
{
    in->a = make_bytes(bytes);
    in->count = bytes;
    for (size_t i = 0; i < bytes; i++)
        in->a[i] = (char)(next_random() >> 33);
}

/* `count` places among the 32-bit words of `bytes`. */
static void make_index(struct input *in, size_t bytes, size_t count)
{
    in->b = make_bytes(bytes);
    in->index = (uint32_t *)(void *)make_bytes(count * sizeof(*in->index));
    in->count = count;
    for (size_t i = 0; i < count; i++)
        in->index[i] = (uint32_t)(next_random() % (bytes / 4));
}

/* Words of random numbers. */
static char *make_words(size_t bytes)
{
    char *memory = make_bytes(bytes);

    for (size_t i = 0; i < bytes; i += 8) {
        const uint64_t x = next_random();
        memcpy(memory + i, &x, 8);
    }
    return memory;
}

/* Rising numbers, one in every 64 of the range at random; and what is looked for. */
static void make_sorted(struct input *in, size_t bytes, size_t searches)
{
    uint32_t *sorted = (uint32_t *)(void *)(in->a = make_bytes(bytes));

    for (size_t i = 0; i < bytes / 4; i++)
        sorted[i] = (uint32_t)(i * 256 + (next_random() & 255));
    in->b = make_words(searches * 4);
    in->index = (uint32_t *)(void *)in->b;
    in->count = searches;
}

/* As many entries as `heads` has lists; keys of which half are there. */
static void make_join(struct input *in, uint32_t lists, size_t keys)
{
    uint32_t *heads = (uint32_t *)(void *)(in->a = make_bytes((size_t)lists * 4));
    struct entry *entries = (struct entry *)(void *)(in->b = make_bytes((size_t)lists * 16));

    in->index = (uint32_t *)(void *)make_bytes(keys * 4);
    in->count = keys;
    for (uint32_t i = 1; i < lists; i++) {
        const uint32_t key = (uint32_t)next_random();
        uint32_t *head = &heads[key * 0x9e3779b1U >> 7 & (lists - 1)];
        entries[i] = (struct entry){.key = key, .next = *head, .value = key};
        *head = i;
    }
    for (size_t i = 0; i < keys; i++)
        in->index[i] = next_random() & 64 ? entries[(next_random() >> 20) % (lists - 1) + 1].key
                                          : (uint32_t)next_random();
}

static void make_graph(struct input *in, uint32_t nodes, uint32_t degree)
{
    uint32_t *depth = (uint32_t *)(void *)(in->a = make_bytes((size_t)nodes * 4));
    uint32_t *neighbours = (uint32_t *)(void *)(in->b = make_bytes((size_t)nodes * degree * 4));

    in->index = (uint32_t *)(void *)make_bytes((size_t)nodes * 4 + 64);
    for (size_t i = 0; i < (size_t)nodes * degree; i++)
        neighbours[i] = (uint32_t)((next_random() >> 16) % nodes);
    depth[0] = 1;
}

#define KB << 10
#define MB << 20
/* X(name, what makes `in` ready, the call of the kernel) */
#define KERNELS(X)                                                                                 \
    X("chase-l1", in.a = (char *)make_chain(16 KB), chase((void **)(void *)in.a, 1000000))         \
    X("chase-l2", in.a = (char *)make_chain(128 KB), chase((void **)(void *)in.a, 600000))         \
    X("chase-l3", in.a = (char *)make_chain(4 MB), chase((void **)(void *)in.a, 600000))           \
    X("chase-dram", in.a = (char *)make_chain(128 MB), chase((void **)(void *)in.a, 200000))       \
    X("branches", make_random(&in, 1 MB), branches((uint8_t *)in.a, in.count))                     \
    X("pattern-1k", make_random(&in, 64 KB), pattern((uint8_t *)in.a, 1024, 1 MB))                 \
    X("pattern-16k", make_random(&in, 64 KB), pattern((uint8_t *)in.a, 16384, 1 MB))               \
    X("pattern-64k", make_random(&in, 64 KB), pattern((uint8_t *)in.a, 65536, 1 MB))               \
    X("divides", , divides(300000))                                                                \
    X("float_chain", , float_chain(1000000))                                                       \
    X("adds", , adds(600000))                                                                      \
    X("over_page_end", , over_page_end(200000))                                                    \
    X("stream", (in.a = make_bytes(48 MB), in.b = make_bytes(48 MB)),                              \
      stream((double *)(void *)in.a, (double *)(void *)in.b, 6 MB))                                \
    X("forward", , forward(600000))                                                                \
    X("forward_blocked", , forward_blocked(400000))                                                \
    X("split_loads", in.a = make_bytes(4 KB), split_loads(in.a, 1000000))                          \
    X("alias", in.a = make_bytes(16 KB), alias(in.a, 600000))                                      \
    X("page_walks", in.a = (char *)make_steps(20 MB, 4096 + 64),                                   \
      page_walks((void **)(void *)in.a, 200000))                                                   \
    X("locked_adds", in.a = make_bytes(4 KB), locked_adds((uint64_t *)(void *)in.a, 200000))       \
    X("square_roots", , square_roots(200000))                                                      \
    X("roots_and_divides", , roots_and_divides(200000))                                            \
    X("interpreter", make_random(&in, 512 KB), interpreter((uint8_t *)in.a, in.count))             \
    X("interpreter-16", make_random(&in, 4 KB), interpreter_rounds((uint8_t *)in.a, 16, 32 KB))    \
    X("interpreter-1k", make_random(&in, 4 KB), interpreter_rounds((uint8_t *)in.a, 1024, 512))    \
    X("interpreter-4k", make_random(&in, 4 KB), interpreter_rounds((uint8_t *)in.a, 4096, 128))    \
    X("code_pages", , code_pages(20))                                                              \
    X("multiply_chain", , multiply_chain(400000))                                                  \
    X("one_port", , one_port(300000))                                                              \
    X("gather", make_index(&in, 64 MB, 400000),                                                    \
      gather(in.index, (uint32_t *)(void *)in.b, in.count))                                        \
    X("gather-l3", make_index(&in, 6 MB, 300000),                                                  \
      gather(in.index, (uint32_t *)(void *)in.b, in.count))                                        \
    X("hash_probes", in.a = make_bytes(128 KB),                                                    \
      hash_probes((uint64_t *)(void *)in.a, 16383, 400000))                                        \
    X("filter", (make_index(&in, 64 MB, 200000), in.b = make_words(64 MB)),                        \
      filter(in.index, (uint32_t *)(void *)in.b, in.count))                                        \
    X("filter-l2", (make_index(&in, 512 KB, 400000), in.b = make_words(512 KB)),                   \
      filter(in.index, (uint32_t *)(void *)in.b, in.count))                                        \
    X("filter-l3", (make_index(&in, 6 MB, 300000), in.b = make_words(6 MB)),                       \
      filter(in.index, (uint32_t *)(void *)in.b, in.count))                                        \
    X("probe_ways", in.a = make_words(64 MB),                                                      \
      probe_ways((uint32_t *)(void *)in.a, (16 MB) - 1, 200000))                                   \
    X("binary_search", make_sorted(&in, 64 MB, 20000),                                             \
      binary_search((uint32_t *)(void *)in.a, 16 MB, in.index, (int)in.count))                     \
    X("hash_join", make_join(&in, 4 MB, 100000),                                                   \
      hash_join((uint32_t *)(void *)in.a, (4 MB) - 1, (struct entry *)(void *)in.b, in.index,      \
                (int)in.count))                                                                    \
    X("hash_join-l3", make_join(&in, 256 KB, 100000),                                              \
      hash_join((uint32_t *)(void *)in.a, (256 KB) - 1, (struct entry *)(void *)in.b, in.index,    \
                (int)in.count))                                                                    \
    X("breadth_first", make_graph(&in, 2 MB, 8),                                                   \
      breadth_first((uint32_t *)(void *)in.b, 8, (uint32_t *)(void *)in.a, in.index, 200000))      \
    X("matrix_naive", (in.a = make_bytes(1 MB), in.b = make_bytes(1 MB)),                          \
      matrix_naive((double *)(void *)in.a, (double *)(void *)in.b, (double *)(void *)in.b, 192))   \
    X("matrix_rows", (in.a = make_bytes(1 MB), in.b = make_bytes(1 MB)),                           \
      matrix_rows((double *)(void *)in.a, (double *)(void *)in.b, (double *)(void *)in.b, 128))    \
    X("copy-l1", (in.a = make_bytes(8 KB), in.b = make_bytes(8 KB)), copy(in.a, in.b, 8 KB, 3000)) \
    X("copy-dram", (in.a = make_bytes(32 MB), in.b = make_bytes(32 MB)),                           \
      copy(in.a, in.b, 32 MB, 2))                                                                  \
    X("copy-l2", (in.a = make_bytes(192 KB), in.b = make_bytes(192 KB)),                           \
      copy(in.a, in.b, 192 KB, 80))                                                                \
    X("copy-l3", (in.a = make_bytes(3 MB), in.b = make_bytes(3 MB)), copy(in.a, in.b, 3 MB, 8))    \
    X("fill-l1", in.a = make_bytes(8 KB), fill(in.a, 8 KB, 3000))                                  \
    X("fill-l2", in.a = make_bytes(256 KB), fill(in.a, 256 KB, 60))                                \
    X("fill-dram", in.a = make_bytes(64 MB), fill(in.a, 64 MB, 1))                                 \
    X("triad", (in.a = make_bytes(48 MB), in.b = make_bytes(48 MB)),                               \
      triad((double *)(void *)in.a, (double *)(void *)in.b, 3 MB))                                 \
    X("sum-dram", in.a = make_bytes(64 MB), sum_integers((uint32_t *)(void *)in.a, 16 MB))         \
    X("copy_string", (in.a = make_bytes(8 KB), in.b = make_bytes(8 KB)),                           \
      copy_string(in.a, in.b, 4 KB, 2000))                                                         \
    X("scattered_stores", make_index(&in, 64 MB, 400000),                                          \
      scattered_stores(in.index, (uint32_t *)(void *)in.b, in.count))                              \
    X("recursion", , sink = recursion(23))                                                         \
    X("sum_integers", in.a = make_bytes(16 KB), sum_integers_rounds(in.a))                         \
    X("sum_floats", in.a = make_bytes(16 KB), sum_floats_rounds(in.a))                             \
    X("late_addresses", in.a = make_bytes(64), late_addresses((uint64_t *)(void *)in.a, 300000))   \
    X("straight", , straight(4))                                                                   \
    X("code_l2", , code_l2(120))                                                                   \
    X("shifts", , shifts(100000))                                                                  \
    X("jumps_not_taken", , jumps_not_taken(60000))                                                 \
    X("jumps_taken", , jumps_taken(10000))                                                         \
    X("shuffles", , shuffles(100000))                                                              \
    X("vector_shifts", , vector_shifts(100000))                                                    \
    X("float_adds", , float_adds(100000))                                                          \
    X("float_vectors", , float_vectors(100000))                                                    \
    X("wide_vectors", , wide_vectors(100000))                                                      \
    X("x87", , x87(60000))                                                                         \
    X("integer_vectors", , integer_vectors(100000))                                                \
    X("loads", , loads(100000))                                                                    \
    X("stores", , stores(100000))                                                                  \
    X("nops", , nops(60000))                                                                       \
    X("fences", , fences(10000))                                                                   \
    X("wide_products", , wide_products(100000))                                                    \
    X("microcode", , microcode(40000))                                                             \
    X("decode_bytes", , decode_bytes(150))                                                         \
    X("decode_uops", , decode_uops(100))                                                           \
    X("read_streams", in.a = make_bytes(64 MB), read_streams((uint64_t *)(void *)in.a, 8 MB))

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Cycles a second, by imul's latency of 3 cycles. */
static double measure_clock(void)
{
    enum { ROUNDS = 1000000 };
    uint64_t rounds = ROUNDS, x = 3;
    const double start = cpu_seconds();

    __asm__ volatile("1: imul %1,%1\n imul %1,%1\n imul %1,%1\n imul %1,%1\n dec %0\n jnz 1b"
                     : "+r"(rounds), "+r"(x));
    return ROUNDS * 12.0 / (cpu_seconds() - start);
}

/* Cycles of a round of adds() at `hertz`. */
static double measure_width(double hertz)
{
    enum { ROUNDS = 300000 };
    const double start = cpu_seconds();

    adds(ROUNDS);
    return (cpu_seconds() - start) * hertz / ROUNDS;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void sum_integers_rounds(const char *bytes)
{
    for (int i = 0; i < 200; i++)
        sum_integers((const uint32_t *)(const void *)bytes, 4096);
}

static void sum_floats_rounds(const char *bytes)
{
    for (int i = 0; i < 100; i++)
        sum_floats((const float *)(const void *)bytes, 4096);
}

static void interpreter_rounds(const uint8_t *ops, size_t period, size_t rounds)
{
    for (size_t i = 0; i < rounds; i++)
        interpreter(ops, period);
}

int main(int argc, char **argv)
{
    const int timed = argc > 2 && strcmp(argv[1], "-t") == 0;
    const char *name = argc > 1 + timed ? argv[1 + timed] : "";
    struct input in = {0};

#define X(kernel, prepare, call)                                                                 \
    if (strcmp(name, "-l") == 0)                                                                 \
        printf("%s %s\n", kernel, #call);                                                        \
    if (strcmp(name, kernel) == 0) {                                                             \
        prepare;                                                                                 \
        const double before = timed ? measure_clock() : 0,                                       \
                     width = timed ? measure_width(before) : 0, start = cpu_seconds();           \
        call;                                                                                    \
        const double end = cpu_seconds(), after = timed ? measure_clock() : 0;                   \
        if (timed)                                                                               \
            printf("%.0f %.4f %.3f\n", (end - start) * (before + after) / 2, after / before - 1, \
                   larger(width, measure_width(after)));                                         \
        return 0;                                                                                \
    }
    KERNELS(X)
#undef X
    if (strcmp(name, "-l") == 0)
        return 0;
    return 2;
}
