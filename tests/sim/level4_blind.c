/* SPDX-License-Identifier: MIT */
/*
 * Kernels for the leaves of the tree, several a leaf, written from what the vendors say of each
 * node (Intel's TMA metrics and optimization manual, AMD's optimization guide for family 19h) and
 * not from how the model finds it: `level4_blind NAME` runs one. The line marked LINE is where the
 * loss is.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL __attribute__((noinline)) static
#define KB     << 10
#define MB     << 20

static volatile uint64_t sink;
static uint64_t state = 0x2545f4914f6cdd1dULL;

static uint32_t chance(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * 0x2545f4914f6cdd1dULL) >> 32);
}

/* The same instructions again and again, all on the line of the macro. */
#define ASM(name, code, ...)                                                \
    KERNEL void name(char *at, uint64_t count)                              \
    {                                                                       \
        do                                                                  \
            __asm__ volatile(code : : [m] "r"(at) : "memory", __VA_ARGS__); \
        while (--count);                                                    \
    }
#define A "rax"
#define G "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11"
#define V "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9"
/* `op` on each of eight registers, with what stands before and behind it. */
#define G8(op, more)                                                                       \
    op "%%rax" more "\n" op "%%rcx" more "\n" op "%%rdx" more "\n" op "%%rsi" more "\n" op \
       "%%r8" more "\n" op "%%r9" more "\n" op "%%r10" more "\n" op "%%r11" more "\n"
#define V8(op, r)                                                                             \
    op "%%" r "0\n" op "%%" r "1\n" op "%%" r "2\n" op "%%" r "3\n" op "%%" r "4\n" op "%%" r \
       "5\n" op "%%" r "6\n" op "%%" r "7\n"
#define N(times, code) ".rept " #times "\n" code "\n.endr\n"
#define ZERO           "and $0,%%eax\n"
/* Its load's data decide the next store: nothing is hidden. */
#define BACK(load) load "\nlea (%%rax,%%rax),%%rax\n"

/* Forwarded: all bytes of the load are of one store. */
ASM(fwd_low, N(4, BACK("mov %%rax,(%[m])\nmov (%[m]),%%eax")), A)
ASM(fwd_middle, N(4, BACK("mov %%rax,(%[m])\nmovzwl 3(%[m]),%%eax")), A)
ASM(fwd_high, N(4, BACK("mov %%rax,(%[m])\nmov 4(%[m]),%%eax")), A)
ASM(fwd_vector_low, N(4, "movq %%rax,%%xmm0\nmovups %%xmm0,(%[m])\nmov (%[m]),%%rax\n"), A, "xmm0")
ASM(fwd_vector_high, N(4, "movq %%rax,%%xmm0\nmovups %%xmm0,(%[m])\nmov 8(%[m]),%%rax\n"), A,
    "xmm0")
ASM(fwd_wide_float, N(4, "vmovups %%ymm0,(%[m])\nvmovss 20(%[m]),%%xmm0\n"), "xmm0")
/* Blocked: no one store has them all. */
ASM(blk_beyond, N(4, "mov %%rax,(%[m])\nmov 4(%[m]),%%rax\n"), A)
ASM(blk_two_words,
    N(4, "mov %%rax,(%[m])\nmov %%rax,8(%[m])\nmovups (%[m]),%%xmm0\nmovq %%xmm0,%%rax\n"), A,
    "xmm0")
ASM(blk_four_floats,
    N(4, "movss %%xmm0,(%[m])\nmovss %%xmm0,4(%[m])\nmovss %%xmm0,8(%[m])\nmovss %%xmm0,12(%[m])\n"
         "movaps (%[m]),%%xmm0\n"),
    "xmm0")
ASM(blk_byte, N(4, "movb %%al,5(%[m])\nmov (%[m]),%%rax\n"), A)
ASM(blk_two_vectors,
    N(4, "vmovups %%xmm0,(%[m])\nvmovups %%xmm0,16(%[m])\nvmovups (%[m]),%%ymm0\n"), "xmm0")

/* 4K aliasing: the load waits for nothing but a store to another page. */
ASM(alias_scalar, ZERO N(8, "mov %%rax,(%[m])\nmov 8192(%[m],%%rax),%%rax\n"), A)
ASM(alias_vector, ZERO N(8, "movaps %%xmm0,128(%[m],%%rax)\nmov 20480+128(%[m],%%rax),%%rax\n"), A,
    "xmm0")

/* Loads over two lines, and over two pages. */
ASM(split_line, ZERO N(8, "mov 60(%[m],%%rax),%%rax\n"), A)
ASM(split_vector, ZERO N(8, "vmovdqu 40(%[m],%%rax),%%ymm0\nvmovq %%xmm0,%%rax\n"), A, "xmm0")
ASM(split_page, ZERO N(8, "mov 4092(%[m],%%rax),%%rax\n"), A)

ASM(lock_cmpxchg, N(4, "lock cmpxchg %%rcx,(%[m])\n"), A)
ASM(lock_exchange, N(4, "xchg %%rax,(%[m])\n"), A)
ASM(lock_spread, "lock incl (%[m])\nlock incl 64(%[m])\nlock incl 128(%[m])\nlock incl 192(%[m])\n",
    A)

/* An index that is looked up by the one before, in 4 bytes. */
KERNEL void follow_index(const uint32_t *next, int steps)
{
    uint32_t at = 0;

    for (int i = 0; i < steps; i++)
        at = next[at]; /* LINE follow_index */
    sink = at;
}

/* Lines of which the next is known by the line before. */
struct link {
    struct link *next;
    uint64_t value;
};

KERNEL void follow_links(const struct link *at, int steps)
{
    uint64_t sum = 0;

    for (int i = 0; i < steps; i++) {
        sum += at->value, at = at->next; /* LINE follow_links */
    }
    sink = sum;
}

typedef uint64_t wide __attribute__((vector_size(32)));

/* All of it, in order, by vectors. */
__attribute__((target("avx2"))) KERNEL void read_all(const wide *from, size_t bytes, int rounds)
{
    wide a = {0};

    for (int r = 0; r < rounds; r++)
        for (size_t i = 0; i < bytes / sizeof(*from); i += 4)
            a ^= from[i] ^ from[i + 1] ^ from[i + 2] ^ from[i + 3]; /* LINE read_all */
    sink = a[0];
}

/* Places that come from arithmetic: none waits for another. */
KERNEL void probe_any(const uint64_t *from, uint64_t mask, int count)
{
    uint64_t x = 1, sum = 0;

    for (int i = 0; i < count; i++) {
        x = x * 0x5851f42d4c957f2dULL + 1;
        sum += from[x >> 30 & mask]; /* LINE probe_any */
    }
    sink = sum;
}

/* The place is a hash of what was found. */
KERNEL void probe_by_found(const uint64_t *from, uint64_t mask, int count)
{
    uint64_t x = 1;

    for (int i = 0; i < count; i++)
        x = (x + from[x >> 20 & mask]) * 0x5851f42d4c957f2dULL + 1; /* LINE probe_by_found */
    sink = x;
}

/* A store a page, at another line of each: the page must be found. */
KERNEL void store_pages(char *to, size_t pages, int rounds)
{
    for (int r = 0; r < rounds; r++)
        for (size_t i = 0; i < pages; i++) {
            const size_t page = i * 2654435761U % pages;
            *(volatile char *)(to + page * 4096 + (i & 63) * 64) = 1; /* LINE store_pages */
        }
}

KERNEL void store_all(uint64_t *to, size_t count)
{
    for (volatile uint64_t *at = to; at < to + count; at += 8)
        at[0] = at[2] = at[4] = at[6] = 1; /* LINE store_all */
}

ASM(store_split, N(8, "mov %%rax,60(%[m])\nmov %%rax,124(%[m])\n"), A)

/* Calls of functions of 128 bytes that lie one after the other. */
ASM(call_many,
    "jmp 8f\n.p2align 7\n7:\n" N(
        4000,
        "add $1,%%rax\nadd $1,%%rcx\nret\n.p2align 7\n") "8:\n.set at,0\n" N(4000,
                                                                             "call 7b+at\n.set "
                                                                             "at,at+128\n"),
    "rax", "rcx")
/* Of functions of a page and a line: one line in each. */
ASM(call_pages,
    "jmp 8f\n.p2align 12\n7:\n" N(450, "add $1,%%rax\nret\n.skip 4155\n") "8:\n.set at,0\n" N(
        450, "call 7b+at\n.set at,at+4160\n"),
    A)
/* Jumps of which no table holds so many. */
ASM(jump_many, N(16000, "jmp 9f\nnopl 0(%%rax)\n nop\nnop\n9:\n"), A)
/* A jump in each half of a line: more lines than a uop cache has. */
ASM(jump_lines, N(900, "mov $1,%%eax\nmov $1,%%ecx\njmp 9f\n.skip 20\n9:\n"), A, "rcx")
/* The same, which it holds. */
ASM(jump_few, N(64, "mov $1,%%eax\njmp 9f\n.skip 57\n9:\n"), A)
/* More instructions than the uop cache holds: of 3 bytes, */
ASM(decode_short, N(1200, G8("mov %%rbx,", "")), G)
/* and so long that a fetch of 32 bytes is less than a cycle's instructions. */
#define LONG                                                                     \
    "mov $0x12345678,%%r8d\nmov $0x12345678,%%r9d\nmov $0x12345678,%%r10d\nmov " \
    "$0x12345678,%%r11d\nnopw 0(%%rax,%%rax,1)\n"
ASM(decode_long, N(960, LONG), G)

/* Microcode. */
ASM(ms_popf, N(4, "pushfq\npopfq\nlea 1(%%rax),%%rax\n"), A)
ASM(ms_bits,
    "xor %%ecx,%%ecx\nbts %%rcx,(%[m])\nbts %%rcx,64(%[m])\nbts %%rcx,128(%[m])\n"
    "bts %%rcx,192(%[m])\nbts %%rcx,256(%[m])\nbts %%rcx,320(%[m])\nbts %%rcx,384(%[m])\nbts "
    "%%rcx,448(%[m])\n",
    "rcx")
/* No rotation waits for another: the carry is cleared before. */
ASM(ms_rotate, G8("xor %%edi,%%edi\nrcl %%cl,", ""), G, "rdi")

ASM(serial_cpuid, "push %%rbx\nxor %%eax,%%eax\ncpuid\npop %%rbx\n", A, "rcx", "rdx")
ASM(serial_lfence, N(4, G8("add $1,", "") "lfence\n"), G)
ASM(serial_mfence, N(4, "mov %%rax,(%[m])\nmfence\n"), A)
ASM(serial_pause, N(4, "pause\nadd $1,%%rax\n"), A)

ASM(div_ints, "mov $7,%%ecx\n" N(8, "xor %%edx,%%edx\nmov $99999999,%%eax\ndiv %%ecx\n"), A, "rcx",
    "rdx")
ASM(div_floats, V8("vdivss %%xmm8,%%xmm9,", "xmm"), V)
ASM(root_vectors, V8("vsqrtpd %%ymm8,", "ymm"), V)
ASM(div_x87, "fldpi\n" N(8, "fld1\nfdiv %%st(1),%%st\nfstp %%st(0)\n") "fstp %%st(0)\n", "st")

ASM(port_rotates, G8("rol $3,", ""), G)
ASM(port_bit_tests, G8("bt $3,", ""), G)
ASM(port_popcnt, G8("popcnt %%rdi,", ""), G)
ASM(port_products, G8("mulx %%rdi,%%rbx,", ""), G, "rbx")
ASM(port_product_mix, G8("imul $3,%%rdi,", ""), G)
/* Four chains of three cycles, on one port: what waits for a product waits for the port. */
ASM(port_product_chains, "imul %%rax,%%rax\nimul %%rcx,%%rcx\nimul %%rdx,%%rdx\nimul %%rsi,%%rsi\n",
    G)
ASM(port_compares, "xor %%eax,%%eax\n" N(16, "cmp $1,%%eax\nje 9f\n") "9:\n", A)
/* Twelve chains of 4 cycles on two ports: the ports need 6. */
ASM(port_fmas,
    V8("vfmadd231ps %%ymm14,%%ymm15,",
       "ymm") "vfmadd231ps %%ymm14,%%ymm15,%%ymm8\n"
              "vfmadd231ps %%ymm14,%%ymm15,%%ymm9\nvfmadd231ps "
              "%%ymm14,%%ymm15,%%ymm10\nvfmadd231ps %%ymm14,%%ymm15,%%ymm11\n",
    V, "xmm10", "xmm11")
ASM(port_floats, V8("vmulpd %%ymm8,%%ymm9,", "ymm"), V)
ASM(port_permutes, V8("vpermd %%ymm8,%%ymm9,", "ymm"), V)
ASM(port_unpacks, V8("vpunpcklbw %%ymm8,%%ymm9,", "ymm"), V)
ASM(port_vector_products, V8("vpmaddwd %%ymm8,%%ymm9,", "ymm"), V)
ASM(port_loads, N(2, V8("vmovups (%[m]),", "ymm")), V)
ASM(port_stores,
    N(4, "mov %%eax,(%[m])\nmov %%eax,4(%[m])\nmov %%eax,8(%[m])\nmov %%eax,12(%[m])\n"), A)

ASM(chain_adds, N(16, "add %%rcx,%%rax\n"), A)
ASM(chain_moves, "cmp $1,%%rcx\n" N(16, "cmovc %%rcx,%%rax\n"), A)
ASM(chain_fma, N(8, "vfmadd213sd %%xmm1,%%xmm2,%%xmm0\n"), "xmm0")
ASM(chain_crc, N(8, "crc32q %%rcx,%%rax\n"), A)
ASM(chain_permute, N(8, "vpermq $27,%%ymm0,%%ymm0\n"), "xmm0")
ASM(chain_carry, N(8, "adc %%rcx,%%rax\nadc %%rcx,%%rdx\n"), A, "rdx")
ASM(chain_across, N(8, "movq %%rax,%%xmm0\nmovq %%xmm0,%%rax\n"), A, "xmm0")

ASM(many_nops, N(32, "nopl 0x0(%%rax,%%rax,1)\n"), A)
ASM(scalars, V8("vmulss %%xmm8,%%xmm9,", "xmm"), V)
ASM(halves, V8("vmulps %%xmm8,%%xmm9,", "xmm"), V)
ASM(wholes, V8("vaddpd %%ymm8,%%ymm9,", "ymm"), V)
ASM(x87_products, "fld1\nfld1\n" N(8, "fmul %%st,%%st(1)\nfxch\n") "fstp %%st(0)\nfstp %%st(0)\n",
    "st")
ASM(exchanges, N(8, "xchg %%rax,%%rcx\nxchg %%rdx,%%rsi\nxchg %%r8,%%r9\n"), G)
ASM(conversions, N(1, V8("vcvtsi2sd %%rax,%%xmm8,", "xmm")), V)
ASM(copies, N(8, "vmovups (%[m]),%%ymm0\nvmovups %%ymm0,64(%[m])\nmov 128(%[m]),%%rax\n"), A,
    "xmm0")
ASM(calls, "jmp 8f\n7: ret\n8:\n" N(8, "call 7b\n"), A)
ASM(vector_sums, N(2, V8("vpaddd %%ymm8,%%ymm9,", "ymm")), V)
ASM(lea_sums, N(3, G8("lea 8(%%rdi),", "")), G)
/* Each division waits for nothing but the divider; the sums wait for them. */
ASM(div_sums, N(4, "vdivpd %%ymm8,%%ymm9,%%ymm1\nvaddpd %%ymm1,%%ymm0,%%ymm0\n"), V)
ASM(port_shift_mix, N(2, G8("rol $5,", "")), G)
ASM(clock_reads, "rdtsc\n", "rax", "rdx")
ASM(load_sums, N(3, G8("add (%[m]),", "")), G)

KERNEL void larger_of(const uint32_t *a, size_t count)
{
    uint64_t x = 0, y = 0;

    for (size_t i = 0; i + 1 < count; i++) {
        if (a[i] > a[i + 1]) { /* LINE larger_of */
            x += a[i];
            __asm__ volatile("" : "+r"(x));
        } else {
            y ^= a[i];
            __asm__ volatile("" : "+r"(y));
        }
    }
    sink = x + y;
}

typedef uint64_t step_fn(uint64_t x);
static uint64_t step_add(uint64_t x)
{
    return x + 3;
}
static uint64_t step_xor(uint64_t x)
{
    return x ^ 0x55;
}
static uint64_t step_double(uint64_t x)
{
    return 2 * x + 1;
}
static uint64_t step_half(uint64_t x)
{
    return x >> 1;
}
static step_fn *const volatile steps[] = {step_add, step_xor, step_double, step_half};

KERNEL void call_any(const uint32_t *which, size_t count)
{
    uint64_t x = 1;

    for (size_t i = 0; i < count; i++)
        x = steps[which[i] & 3](x); /* LINE call_any */
    sink = x;
}

KERNEL void loop_trips(const uint32_t *trips, size_t count)
{
    uint64_t x = 1;

    for (size_t i = 0; i < count; i++) {
        uint32_t n = trips[i] & 7;
        do {
            x += n;
            __asm__ volatile("" : "+r"(x));
        } while (n-- > 0); /* LINE loop_trips */
    }
    sink = x;
}

/* ---- what they work on ---- */

static void *bytes_of(size_t bytes)
{
    char *memory = aligned_alloc(4096, bytes);

    memset(memory, 0, bytes);
    return memory;
}

static uint32_t *numbers_of(size_t count)
{
    uint32_t *numbers = bytes_of(count * 4);

    for (size_t i = 0; i < count; i++)
        numbers[i] = chance();
    return numbers;
}

static uint32_t *order_of(uint32_t count)
{
    uint32_t *order = malloc((size_t)count * 4);

    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count - 1; i > 0; i--) { /* Sattolo: one cycle */
        const uint32_t k = chance() % i, swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    return order;
}

/* A cycle through all words that are `step` apart. */
static uint32_t *indices_of(size_t bytes, size_t step)
{
    const uint32_t count = (uint32_t)(bytes / step);
    uint32_t *order = order_of(count), *next = bytes_of(bytes);

    for (uint32_t i = 0; i < count; i++)
        next[i * step / 4] = (uint32_t)(order[i] * step / 4);
    free(order);
    return next;
}

static struct link *links_of(size_t bytes, size_t step)
{
    const uint32_t count = (uint32_t)(bytes / step);
    uint32_t *order = order_of(count);
    char *memory = bytes_of(bytes);

    for (uint32_t i = 0; i < count; i++)
        *(void **)(void *)(memory + i * step) = memory + order[i] * step;
    free(order);
    return (struct link *)(void *)memory;
}

/* clang-format off */
#define SMALL(name, count) X(#name, name(bytes_of(32 KB), count))
#define KERNELS \
    SMALL(fwd_low, 30000) SMALL(fwd_middle, 30000) SMALL(fwd_high, 30000) SMALL(fwd_vector_low, 30000) \
    SMALL(fwd_vector_high, 30000) SMALL(fwd_wide_float, 30000) SMALL(blk_beyond, 20000) \
    SMALL(blk_two_words, 20000) SMALL(blk_four_floats, 20000) SMALL(blk_byte, 20000) \
    SMALL(blk_two_vectors, 20000) SMALL(alias_scalar, 20000) SMALL(alias_vector, 20000) \
    SMALL(split_line, 20000) SMALL(split_vector, 20000) SMALL(split_page, 20000) \
    SMALL(lock_cmpxchg, 20000) SMALL(lock_exchange, 20000) SMALL(lock_spread, 20000) \
    X("index_l1", follow_index(indices_of(8 KB, 64), 200000)) \
    X("links_l1", follow_links(links_of(8 KB, 16), 200000)) \
    X("stlb_hits", follow_index(indices_of(300 * 4160, 4160), 150000)) \
    X("stlb_links", follow_links(links_of(400 * 4160, 4160), 150000)) \
    X("walks", follow_index(indices_of(6000 * 4160, 4160), 100000)) \
    X("walk_links", follow_links(links_of(10000 * 4160, 4160), 100000)) \
    X("links_l2", follow_links(links_of(192 KB, 64), 200000)) \
    X("read_l2", read_all(bytes_of(160 KB), 160 KB, 60)) \
    X("found_l2", probe_by_found(bytes_of(128 KB), 16383, 200000)) \
    X("index_l3", follow_index(indices_of(6 MB, 64), 300000)) \
    X("found_l3", probe_by_found(bytes_of(4 MB), (4 MB) / 8 - 1, 250000)) \
    X("probe_l3", probe_any(bytes_of(4 MB), (4 MB) / 8 - 1, 400000)) \
    X("read_memory", read_all(bytes_of(96 MB), 96 MB, 1)) \
    X("links_memory", follow_links(links_of(96 MB, 64), 100000)) \
    X("found_memory", probe_by_found(bytes_of(128 MB), (128 MB) / 8 - 1, 60000)) \
    X("probe_memory", probe_any(bytes_of(128 MB), (128 MB) / 8 - 1, 200000)) \
    X("store_pages", store_pages(bytes_of(48 MB), 12289, 8)) \
    X("store_memory", store_all(bytes_of(96 MB), 8 MB)) \
    SMALL(store_split, 20000) \
    SMALL(call_many, 40) SMALL(call_pages, 400) SMALL(jump_many, 40) SMALL(jump_lines, 1500) SMALL(jump_few, 3000) \
    SMALL(decode_long, 500) SMALL(decode_short, 300) \
    SMALL(ms_popf, 15000) SMALL(ms_bits, 15000) SMALL(ms_rotate, 20000) \
    SMALL(serial_cpuid, 5000) SMALL(serial_lfence, 10000) SMALL(serial_mfence, 10000) SMALL(serial_pause, 5000) \
    SMALL(div_ints, 10000) SMALL(div_floats, 20000) SMALL(root_vectors, 10000) SMALL(div_x87, 10000) \
    SMALL(port_rotates, 50000) SMALL(port_bit_tests, 50000) SMALL(port_popcnt, 50000) SMALL(port_products, 50000) \
    SMALL(port_product_mix, 50000) SMALL(port_product_chains, 50000) SMALL(port_compares, 30000) \
    SMALL(port_fmas, 50000) SMALL(port_floats, 50000) SMALL(port_permutes, 50000) \
    SMALL(port_unpacks, 50000) SMALL(port_vector_products, 50000) SMALL(port_loads, 30000) SMALL(port_stores, 30000) \
    SMALL(chain_adds, 20000) SMALL(chain_moves, 20000) SMALL(chain_fma, 20000) SMALL(chain_crc, 20000) \
    SMALL(chain_permute, 20000) SMALL(chain_carry, 20000) SMALL(chain_across, 20000) \
    SMALL(many_nops, 30000) SMALL(scalars, 30000) SMALL(halves, 50000) SMALL(wholes, 50000) \
    SMALL(x87_products, 20000) SMALL(exchanges, 20000) SMALL(conversions, 30000) SMALL(copies, 20000) \
    SMALL(calls, 20000) SMALL(vector_sums, 30000) SMALL(lea_sums, 20000) SMALL(load_sums, 20000) SMALL(div_sums, 20000) \
    SMALL(port_shift_mix, 20000) SMALL(clock_reads, 20000) \
    X("larger_of", larger_of(numbers_of(200000), 200000)) \
    X("call_any", call_any(numbers_of(100000), 100000)) \
    X("loop_trips", loop_trips(numbers_of(40000), 40000))
/* clang-format on */

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

#define X(kernel, call)              \
    if (strcmp(name, kernel) == 0) { \
        call;                        \
        return 0;                    \
    }
    KERNELS
#undef X
    return 2;
}
