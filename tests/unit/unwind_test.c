/* SPDX-License-Identifier: MIT */
/* Tables and walks over files and stacks made by hand: every rule, every reason to stop, noise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "symbolize/unwind/unwind.h"
#include "symbolize/unwind/scan.h"
#include "tests/unwind/synthetic.h"
#include "tests/unwind/full.h"

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define X86_START  0x0c, 7, 8, 0x90, 1

/* Where the file lies in memory, and a page of code without a file. */
#define BIAS  UINT64_C(0x550000000000)
#define ANON  UINT64_C(0x7f0000000000)
#define STACK UINT64_C(0x7ffd00000000)

/* Functions of the file; each has 0x100 bytes. */
enum {
    PLAIN = 0x1000,   /* rsp+24 behind its second byte, rbp at -16 */
    FRAMED = 0x1100,  /* rbp+16 behind its fourth byte */
    START = 0x1200,   /* the return address is undefined */
    SIGNAL = 0x1300,  /* what the kernel pushed */
    PLT = 0x1400,     /* the linker's expression */
    BY_RBX = 0x1500,  /* CFA = rbx + 16, rbx saved at -24 */
    REALIGN = 0x1600, /* CFA = *(rbp - 8) */
    LOOP = 0x1700,    /* CFA = rsp: does not advance */
    PUSHED = 0x1800,  /* rbx saved at -16, CFA = rsp+16 */
    NOWHERE = 0x1a00, /* no rule */
};

struct world {
    struct td_unwind_table *table;
    struct td_unwinder *unwinder;
    struct td_unwind_sample sample;
    struct td_unwind_stack stack;
    uint64_t words[512];
};

static bool find(void *ctx, uint64_t address, struct td_unwind_place *place)
{
    const struct world *w = ctx;

    if (address - ANON < 0x1000) {
        *place = (struct td_unwind_place){.begin = ANON, .end = ANON + 0x1000};
        return true;
    }
    *place = (struct td_unwind_place){BIAS + SYNTHETIC_TEXT,
                                      BIAS + SYNTHETIC_TEXT + SYNTHETIC_TEXT_BYTES, BIAS, w->table};
    return address >= place->begin && address < place->end;
}

static void frames_x86(struct td_buf *f)
{
    const size_t cie = synthetic_cie(f, "zR", 16, BYTES(X86_START));

    synthetic_fde(f, cie, PLAIN, 0x100, BYTES(0x42, 0x0e, 24, 0x86, 2));
    synthetic_fde(f, cie, FRAMED, 0x100, BYTES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6));
    synthetic_fde(f, cie, START, 0x100, BYTES(0x07, 16));
    /* __restore_rt: CFA *(rsp+160), rbp *(rsp+120), rip *(rsp+168), rsp *(rsp+160) */
    const size_t signal = synthetic_cie(f, "zRS", 16, BYTES(X86_START));
    synthetic_fde(f, signal, SIGNAL, 0x100,
                  BYTES(0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 6, 3, 0x77, 0xf8, 0, 0x10, 16, 3, 0x77,
                        0xa8, 1, 0x10, 7, 3, 0x77, 0xa0, 1));
    synthetic_fde(f, cie, PLT, 0x100,
                  BYTES(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));
    synthetic_fde(f, cie, BY_RBX, 0x100, BYTES(0x0c, 3, 16, 0x83, 3));
    synthetic_fde(f, cie, REALIGN, 0x100, BYTES(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0));
    synthetic_fde(f, cie, LOOP, 0x100, BYTES(0x0e, 0));
    synthetic_fde(f, cie, PUSHED, 0x100, BYTES(0x0e, 16, 0x83, 2));
}

static struct td_unwind_table *table_of(enum td_cfi_arch arch, const struct td_buf *frames,
                                        const char *section, bool stripped)
{
    struct td_buf elf = {0};
    struct td_unwind_table *table = NULL;

    const struct synthetic from = {
        .arch = arch, .frames = frames, .section = section, .stripped = stripped};
    synthetic_elf(&elf, &from);
    const struct td_bytes image = {.data = elf.data, .size = elf.len};
    assert_int_equal(td_unwind_table_new(&table, image, NULL), TD_OK);
    td_buf_release(&elf);
    return table;
}

static int setup(void **state)
{
    struct world *w = td_xcalloc(1, sizeof(*w));
    struct td_buf frames = {0};

    frames_x86(&frames);
    w->table = table_of(TD_CFI_X86_64, &frames, ".eh_frame", false);
    w->unwinder = td_unwinder_new(TD_CFI_X86_64);
    td_buf_release(&frames);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    td_unwind_table_free(w->table);
    td_unwinder_free(w->unwinder);
    free(w);
    return 0;
}

/* A sample at `ip`, its stack pointer at STACK, `words` words copied. */
static void begin(struct world *w, uint64_t ip, uint64_t rbp, size_t words)
{
    memset(&w->sample, 0, sizeof(w->sample));
    w->sample.regs[TD_CFI_X86_RA] = ip;
    w->sample.regs[TD_CFI_X86_RSP] = STACK;
    w->sample.regs[TD_CFI_X86_RBP] = rbp;
    w->sample.known = UINT64_C(1) << 16 | 1 << 7 | 1 << 6 | 1 << 3;
    w->sample.stack = (const uint8_t *)w->words;
    w->sample.stack_bytes = words * 8;
    w->sample.find = find;
    w->sample.ctx = w;
    memset(w->words, 0, sizeof(w->words));
}

/* Both walkers must give these frames (relative to BIAS when below 2^32) and this stop. */
static void expect(struct world *w, enum td_unwind_stop stop, size_t count, const uint64_t *frames)
{
    for (unsigned pass = 0; pass < 3; pass++) {
        if (pass < 2) /* the second time from the cache */
            td_unwind(w->unwinder, &w->sample, &w->stack);
        else
            td_unwind_full(w->unwinder ? TD_CFI_X86_64 : TD_CFI_AARCH64, &w->sample, &w->stack);
        assert_string_equal(td_unwind_stop_name(w->stack.stop), td_unwind_stop_name(stop));
        assert_int_equal(w->stack.count, count);
        for (size_t i = 0; i < count; i++) {
            const uint64_t frame = frames[i] < UINT64_C(1) << 32 ? BIAS + frames[i] : frames[i];
            assert_int_equal(w->stack.frames[i], frame);
        }
    }
}

#define FRAMES(...)                                                 \
    sizeof((const uint64_t[]){__VA_ARGS__}) / 8, (const uint64_t[]) \
    {                                                               \
        __VA_ARGS__                                                 \
    }

static void test_rules(void **state)
{
    struct world *w = *state;

    /* PLAIN <- FRAMED <- START */
    begin(w, BIAS + PLAIN + 0x10, 7, 64);
    w->words[1] = STACK + 6 * 8; /* rbp of FRAMED */
    w->words[2] = BIAS + FRAMED + 0x20;
    w->words[6] = 0;
    w->words[7] = BIAS + START + 0x10;
    expect(w, TD_UNWIND_COMPLETE, FRAMES(PLAIN + 0x10, FRAMED + 0x1f, START + 0x0f));
    assert_int_equal(w->stack.used_bytes, 64);
    /* At its first instruction the return address is on top. */
    begin(w, BIAS + PLAIN, 0, 64);
    w->words[0] = BIAS + START + 1;
    expect(w, TD_UNWIND_COMPLETE, FRAMES(PLAIN, START));
    /* A return address behind the last instruction of a function belongs to that function. */
    begin(w, BIAS + PLAIN, 0, 64);
    w->words[0] = BIAS + START + 0x100;
    expect(w, TD_UNWIND_COMPLETE, FRAMES(PLAIN, START + 0xff));
}

static void test_signal(void **state)
{
    struct world *w = *state;

    begin(w, BIAS + PLAIN, 0, 64);
    w->words[0] = BIAS + SIGNAL + 1;
    /* The kernel's frame is at the trampoline's stack pointer, STACK + 8. */
    w->words[1 + 15] = 0;
    w->words[1 + 20] = STACK + 40 * 8;
    w->words[1 + 21] = BIAS + PLAIN; /* interrupted at the first byte of a function */
    w->words[40] = BIAS + START + 1;
    expect(w, TD_UNWIND_COMPLETE, FRAMES(PLAIN, SIGNAL, PLAIN, START));
    /* On another stack: what was interrupted is known, its callers are not. */
    w->words[1 + 20] = STACK - 0x100000;
    expect(w, TD_UNWIND_SHORT_COPY, FRAMES(PLAIN, SIGNAL, PLAIN));
}

static void test_plt(void **state)
{
    struct world *w = *state;

    begin(w, BIAS + PLT + 0x1a, 0, 64);
    w->words[0] = BIAS + START + 1;
    expect(w, TD_UNWIND_COMPLETE, FRAMES(PLT + 0x1a, START));
    begin(w, BIAS + PLT + 0x1b, 0, 64);
    w->words[1] = BIAS + START + 1;
    expect(w, TD_UNWIND_COMPLETE, FRAMES(PLT + 0x1b, START));
    assert_int_equal(td_unwind_table_find(w->table, PLT)->cfa_kind, TD_UNWIND_PLT);
    assert_int_equal(w->table->odd_count, 0);
}

static void test_realigned(void **state)
{
    struct world *w = *state;

    begin(w, BIAS + REALIGN, STACK + 80, 64);
    w->words[9] = STACK + 160; /* *(rbp - 8) */
    w->words[10] = 0;          /* *(rbp): the caller's */
    w->words[19] = BIAS + START + 1;
    expect(w, TD_UNWIND_COMPLETE, FRAMES(REALIGN, START));
}

/* rbx of an outer frame: only the interpreter follows it, through PUSHED's slot. */
static void test_odd_register(void **state)
{
    struct world *w = *state;

    begin(w, BIAS + BY_RBX, 0, 64); /* in the first frame rbx was sampled */
    w->sample.regs[3] = STACK + 24;
    w->words[4] = BIAS + START + 1;
    expect(w, TD_UNWIND_COMPLETE, FRAMES(BY_RBX, START));
    assert_true(w->stack.odd);
    td_unwind(w->unwinder, &w->sample, &w->stack);
    assert_false(w->stack.odd);

    begin(w, BIAS + PUSHED, 0, 64);
    w->words[0] = STACK + 24;
    w->words[1] = BIAS + BY_RBX + 1;
    w->words[4] = BIAS + START + 1;
    expect(w, TD_UNWIND_COMPLETE, FRAMES(PUSHED, BY_RBX, START));
    td_unwind(w->unwinder, &w->sample, &w->stack);
    assert_true(w->stack.odd);
}

/* Expressions that libunwind may evaluate, and such as could hold it up or end it: those cut the
 * stack. The return address is at CFA - 8. */
static void test_expressions(void **state)
{
    struct world *w = *state;
    struct td_unwind_table *kept = w->table;
    static const struct {
        uint8_t size, expr[24];
        uint8_t cfa; /* from the stack pointer; 0: cut */
    } cases[] = {
        {2, {0x73, 16}, 40},                             /* breg3 16; rbx is rsp + 24 */
        {3, {0x73, 0x78, 0x06}, 64},                     /* breg3 -8; deref */
        {7, {0x77, 32, 0x31, 0x28, 1, 0, 0x06}, 32},     /* a branch over the deref */
        {7, {0x77, 16, 0x30, 0x28, 1, 0, 0x06}, 64},     /* a branch not taken */
        {6, {0x77, 48, 0x12, 0x1c, 0x73, 0}, 24},        /* dup, minus; breg3 0 */
        {5, {0x96, 0x96, 0x2f, 0xfb, 0xff}, 0},          /* skip -5: for ever */
        {7, {0x77, 8, 0x31, 0x28, 0xfc, 0xff, 0x96}, 0}, /* bra -4: for ever */
        {16, {0x77, 8, 0x2f, 1, 0, 0x0e, 0x2f, 0xfd, 0xff, 0x96, 0x96, 0x96, 0x96, 0x96, 0x96}, 0},
        {13, {0x77, 8, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x4f, 0x1b}, 0},    /* div */
        {13, {0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b, 0x96}, 0}, /* what traps */
        {3, {0x92, 0x80, 0x01}, 0},                                         /* bregx 128 */
        {1, {0xe0}, 0},                                                     /* no operation */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct td_buf frames = {0};
        uint8_t program[32] = {0x0f, cases[i].size};

        memcpy(program + 2, cases[i].expr, cases[i].size);
        const size_t cie = synthetic_cie(&frames, "zR", 16, BYTES(X86_START));
        synthetic_fde(&frames, cie, PLAIN, 0x100, program, cases[i].size + 2u);
        synthetic_fde(&frames, cie, START, 0x100, BYTES(0x07, 16));
        w->table = table_of(TD_CFI_X86_64, &frames, ".eh_frame", false);
        td_unwinder_forget(w->unwinder);
        begin(w, BIAS + PLAIN, 0, 64);
        w->sample.regs[3] = STACK + 24;
        w->words[2] = STACK + 64;
        if (cases[i].cfa)
            w->words[cases[i].cfa / 8 - 1] = BIAS + START + 1;
        td_unwind(w->unwinder, &w->sample, &w->stack);
        assert_true(w->stack.odd || w->stack.stop == TD_UNWIND_COMPLETE);
        assert_int_equal(w->stack.stop, cases[i].cfa ? TD_UNWIND_COMPLETE : TD_UNWIND_BAD_RULE);
        assert_int_equal(w->stack.count, cases[i].cfa ? 2 : 1);
        td_unwind_table_free(w->table);
        td_buf_release(&frames);
    }
    w->table = kept;
    td_unwinder_forget(w->unwinder);
}

static void test_stops(void **state)
{
    struct world *w = *state;

    begin(w, BIAS + PLAIN, 0, 64);
    w->words[0] = 0x1234; /* in no mapping */
    expect(w, TD_UNWIND_BAD_ADDRESS, FRAMES(PLAIN));
    begin(w, 0x1234567890, 0, 64);
    expect(w, TD_UNWIND_BAD_ADDRESS, FRAMES(0x1234567890));
    begin(w, BIAS + PLAIN + 0x10, 0, 2); /* the return address is the third word */
    w->words[1] = 0;
    expect(w, TD_UNWIND_SHORT_COPY, FRAMES(PLAIN + 0x10));
    begin(w, BIAS + PLAIN, 0, 0);
    expect(w, TD_UNWIND_SHORT_COPY, FRAMES(PLAIN));
    begin(w, BIAS + NOWHERE, STACK + 8, 64);
    expect(w, TD_UNWIND_NO_TABLE, FRAMES(NOWHERE));
    begin(w, BIAS + LOOP, 0, 64);
    expect(w, TD_UNWIND_BAD_RULE, FRAMES(LOOP));
    begin(w, BIAS + FRAMED + 0x10, STACK - 64, 64); /* a frame pointer below the stack */
    expect(w, TD_UNWIND_BAD_RULE, FRAMES(FRAMED + 0x10));
    begin(w, BIAS + PLAIN, 0, 64);
    w->words[0] = 0; /* a thread that was started with no return address */
    expect(w, TD_UNWIND_COMPLETE, FRAMES(PLAIN));
}

/* Where a process begins there is no rule, and nothing is missing. */
static void test_entry(void **state)
{
    struct world *w = *state;

    begin(w, BIAS + PLAIN, 0, 64);
    w->words[0] = BIAS + SYNTHETIC_TEXT + SYNTHETIC_TEXT_BYTES - 8;
    expect(w, TD_UNWIND_COMPLETE, FRAMES(PLAIN, SYNTHETIC_TEXT + SYNTHETIC_TEXT_BYTES - 9));
}

static void test_anonymous_code(void **state)
{
    struct world *w = *state;

    begin(w, ANON + 0x100, STACK + 32, 64);
    w->words[4] = STACK + 64;
    w->words[5] = ANON + 0x200;
    w->words[8] = 0;
    w->words[9] = BIAS + START + 1;
    expect(w, TD_UNWIND_COMPLETE, FRAMES(ANON + 0x100, ANON + 0x1ff, START));
    begin(w, ANON + 0x100, 12345, 64); /* code that uses rbp for something else */
    expect(w, TD_UNWIND_NO_TABLE, FRAMES(ANON + 0x100));
    begin(w, ANON + 0x100, STACK + 32, 64); /* a frame pointer to something else */
    w->words[5] = 99;
    expect(w, TD_UNWIND_NO_TABLE, FRAMES(ANON + 0x100));
}

static void test_deep(void **state)
{
    struct world *w = *state;
    uint64_t *words = td_xcalloc(600, sizeof(*words));

    begin(w, BIAS + PLAIN, 0, 0);
    for (size_t i = 0; i < 600; i++)
        words[i] = BIAS + PLAIN + 1;
    w->sample.stack = (const uint8_t *)words;
    w->sample.stack_bytes = 600 * sizeof(*words);
    td_unwind(w->unwinder, &w->sample, &w->stack);
    assert_int_equal(w->stack.stop, TD_UNWIND_DEEP);
    assert_int_equal(w->stack.count, TD_UNWIND_FRAMES_MAX);
    free(words);
}

/* Without section headers, and from .debug_frame: the same rules. */
static void test_sections(void **state)
{
    struct world *w = *state;
    struct td_buf frames = {0};

    frames_x86(&frames);
    struct td_unwind_table *table = table_of(TD_CFI_X86_64, &frames, ".eh_frame", true);
    assert_int_equal(table->row_count, w->table->row_count);
    assert_memory_equal(table->pcs, w->table->pcs, table->row_count * sizeof(*table->pcs));
    td_unwind_table_free(table);
    /* A section by another name is none; .eh_frame_hdr still says where it is. */
    table = table_of(TD_CFI_X86_64, &frames, ".other", false);
    assert_int_equal(table->row_count, w->table->row_count);
    td_unwind_table_free(table);
    td_buf_release(&frames);
}

/* A compressed section, and an image that ends amid its section headers: the same rules. */
static void test_compressed_and_cut(void **state)
{
    const struct world *w = *state;
    struct td_buf frames = {0}, packed = {0}, elf = {0};
    uint8_t out[4096];
    uLongf out_size = sizeof(out);

    frames_x86(&frames);
    assert_int_equal(compress(out, &out_size, frames.data, frames.len), Z_OK);
    td_buf_u64(&packed, ELFCOMPRESS_ZLIB);
    td_buf_u64(&packed, frames.len);
    td_buf_u64(&packed, 1);
    td_buf_bytes(&packed, out, out_size);
    for (unsigned cut = 0; cut < 2; cut++) {
        const struct synthetic from = {.frames = cut ? &frames : &packed, .section = ".eh_frame"};
        struct td_unwind_table *table = NULL;
        struct td_bytes image;

        synthetic_elf(&elf, &from);
        const size_t headers = elf.len - SYNTHETIC_TEXT_BYTES - 4 * sizeof(Elf64_Shdr);
        const size_t flags = headers + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_flags);
        elf.data[flags + 1] = cut ? 0 : SHF_COMPRESSED >> 8;
        image = (struct td_bytes){.data = elf.data, .size = cut ? headers + 100 : elf.len};
        assert_int_equal(td_unwind_table_new(&table, image, NULL), TD_OK);
        assert_int_equal(table->row_count, w->table->row_count);
        assert_memory_equal(table->pcs, w->table->pcs, table->row_count * sizeof(*table->pcs));
        td_unwind_table_free(table);
        td_buf_release(&elf);
    }
    td_buf_release(&frames);
    td_buf_release(&packed);
}

/* Duplicates and overlaps: the FDE that begins last before an address has it. */
static void test_overlaps(void **state)
{
    struct td_buf frames = {0};

    (void)state;
    const size_t cie = synthetic_cie(&frames, "zR", 16, BYTES(X86_START));
    synthetic_fde(&frames, cie, 0x1080, 0x10, BYTES(0x0e, 32));
    synthetic_fde(&frames, cie, 0x1000, 0x100, BYTES(0x0e, 16));
    synthetic_fde(&frames, cie, 0x1000, 0x100, BYTES(0x0e, 24));
    synthetic_fde(&frames, cie, 0x0, 0x100, BYTES(0x0e, 40)); /* dropped by the linker */
    struct td_unwind_table *table = table_of(TD_CFI_X86_64, &frames, ".eh_frame", false);
    assert_int_equal(td_unwind_table_find(table, 0x1000)->cfa_offset, 16);
    assert_int_equal(td_unwind_table_find(table, 0x107f)->cfa_offset, 16);
    assert_int_equal(td_unwind_table_find(table, 0x1080)->cfa_offset, 32);
    assert_int_equal(td_unwind_table_find(table, 0x1090)->cfa_kind, TD_UNWIND_NONE);
    assert_int_equal(td_unwind_table_find(table, 0xfff)->cfa_kind, TD_UNWIND_NONE);
    assert_int_equal(td_unwind_table_find(table, UINT64_MAX)->cfa_kind, TD_UNWIND_NONE);
    td_unwind_table_free(table);
    td_buf_release(&frames);
}

/* Code without call frame information: by its prologues, or not at all. */
static void test_prologues(void **state)
{
    struct world *w = *state;
    struct td_unwind_table *other = w->table;
    struct td_buf frames = {0}, elf = {0};
    uint8_t code[0x100];

    memset(code, 0x90, sizeof(code));
    memcpy(code + 0x40, (const uint8_t[]){0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5}, 8);
    memcpy(code + 0x60, (const uint8_t[]){0xc9, 0xc3}, 2);
    const size_t cie = synthetic_cie(&frames, "zR", 16, BYTES(X86_START));
    synthetic_fde(&frames, cie, START, 0x100, BYTES(0x07, 16));
    const struct synthetic from = {
        .frames = &frames, .section = ".eh_frame", .code = code, .code_size = sizeof(code)};
    synthetic_elf(&elf, &from);
    const struct td_bytes image = {.data = elf.data, .size = elf.len};
    assert_int_equal(td_unwind_table_new(&w->table, image, NULL), TD_OK);
    w->sample.space = 1;
    static const struct {
        uint16_t at;
        uint8_t word; /* where the return address is */
        enum td_unwind_stop stop;
    } cases[] = {
        {0x1010, 0, TD_UNWIND_NO_TABLE}, /* before any prologue */
        {0x1040, 0, TD_UNWIND_COMPLETE}, /* endbr64 */
        {0x1044, 0, TD_UNWIND_COMPLETE}, /* push */
        {0x1045, 1, TD_UNWIND_COMPLETE}, /* mov */
        {0x1048, 9, TD_UNWIND_COMPLETE}, /* rbp is STACK + 64 */
        {0x1060, 9, TD_UNWIND_COMPLETE}, /* leave */
        {0x1061, 0, TD_UNWIND_COMPLETE}, /* ret */
        {0x1062, 9, TD_UNWIND_COMPLETE}, /* what another path jumps to */
    };
    for (size_t i = 0; i < TD_ARRAY_SIZE(cases); i++) {
        begin(w, BIAS + cases[i].at, STACK + 64, 64);
        w->sample.space = 1;
        w->words[cases[i].word] = BIAS + START + 1;
        if (cases[i].stop == TD_UNWIND_COMPLETE)
            expect(w, TD_UNWIND_COMPLETE, FRAMES(cases[i].at, START));
        else
            expect(w, cases[i].stop, FRAMES(cases[i].at));
    }
    td_unwind_table_free(w->table);
    w->table = other;
    td_buf_release(&frames);
    td_buf_release(&elf);
}

struct found_rules {
    uint64_t addresses[8];
    int32_t cfa_offsets[8];
    uint8_t ra_where[8];
    size_t count;
};

static void take_rule(void *ctx, uint64_t address, const struct td_unwind_rule *rule)
{
    struct found_rules *found = ctx;

    assert_in_range(found->count, 0, 7);
    found->addresses[found->count] = address;
    found->cfa_offsets[found->count] = rule->cfa_offset;
    found->ra_where[found->count++] = rule->ra_where;
}

/* A PLT of aarch64: linkers write no call frame information for it. */
static void test_aarch64_plt(void **state)
{
    static const uint32_t code[] = {
        0xa9bf7bf0,                                     /* the header: stp x16, x30, [sp, #-16]! */
        0x90000090, 0xf947fe11, 0x913fe210, 0xd61f0220, /* adrp, ldr, add, br x17 */
        0xd503201f, 0xd503201f, 0xd503201f, 0x90000090, 0xf9400211, /* an entry */
        0x91000210, 0xd61f0220, 0xd503245f, 0x90000090, 0xf9400611, /* with bti c */
        0x91002210, 0xd61f0220,
    };
    static const uint64_t addresses[] = {0x1000, 0x1004, 0x1020, 0x1030};
    struct found_rules found = {.count = 0};

    (void)state;
    td_unwind_scan(TD_CFI_AARCH64, (const uint8_t *)code, sizeof(code), 0x1000, take_rule, &found);
    assert_int_equal(found.count, TD_ARRAY_SIZE(addresses));
    for (size_t i = 0; i < found.count; i++) {
        assert_int_equal(found.addresses[i], addresses[i]);
        assert_int_equal(found.cfa_offsets[i], i == 1 ? 16 : 0);
        assert_int_equal(found.ra_where[i], i == 1 ? TD_UNWIND_AT_CFA : TD_UNWIND_SAME);
    }
}

/* aarch64: link register in a leaf, frame record, signed return address, signal frame. */
static void test_aarch64(void **state)
{
    struct world *w = *state;
    struct td_unwind_table *other = w->table;
    struct td_unwinder *unwinder = w->unwinder;
    struct td_buf frames = {0};
    const uint64_t pac = UINT64_C(0x2a) << 48;

    const size_t cie = synthetic_cie(&frames, "zR", 30, BYTES(0x0c, 31, 0));
    synthetic_fde(&frames, cie, PLAIN, 0x100, NULL, 0);
    /* stp x29, x30, [sp, -32]!, signed before */
    synthetic_fde(&frames, cie, FRAMED, 0x100, BYTES(0x2d, 0x44, 0x0e, 32, 0x9d, 4, 0x9e, 3));
    synthetic_fde(&frames, cie, START, 0x100, BYTES(0x07, 30));
    const size_t signal = synthetic_cie(&frames, "zRS", 30, BYTES(0x0c, 31, 0));
    synthetic_fde(&frames, signal, SIGNAL, 0x100, BYTES(0x0c, 29, 0, 0x9d, 0, 0x9e, 0x7f));
    w->table = table_of(TD_CFI_AARCH64, &frames, ".eh_frame", false);
    w->unwinder = td_unwinder_new(TD_CFI_AARCH64);

    begin(w, 0, 0, 256);
    w->sample.known = (UINT64_C(1) << TD_CFI_REGISTERS) - 1;
    memset(w->sample.regs, 0, sizeof(w->sample.regs));
    w->sample.regs[TD_CFI_A64_PC] = BIAS + PLAIN + 8;
    w->sample.regs[TD_CFI_A64_SP] = STACK;
    w->sample.regs[TD_CFI_A64_LR] = (BIAS + FRAMED + 0x20) | pac;
    w->words[0] = STACK + 8 * 8;
    w->words[1] = (BIAS + SIGNAL) | pac;
    /* An interrupted leaf: its link register is in the frame that the kernel pushed at STACK+32. */
    uint64_t *regs = &w->words[4 + (128 + 176 + 8) / 8];
    regs[30] = BIAS + START + 4;
    regs[31] = STACK + 200 * 8;
    regs[32] = BIAS + PLAIN;
    static const uint64_t expected[] = {PLAIN + 8, FRAMED + 0x1f, SIGNAL - 1};
    for (unsigned pass = 0; pass < 2; pass++) {
        if (pass)
            td_unwind_full(TD_CFI_AARCH64, &w->sample, &w->stack);
        else
            td_unwind(w->unwinder, &w->sample, &w->stack);
        /* SIGNAL - 1 is in START's range: the trampoline's rule must begin before it, as the
         * vdso's does with a nop; here the walk ends there. */
        assert_int_equal(w->stack.count, 3);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(w->stack.frames[i], BIAS + expected[i]);
    }
    w->words[1] = (BIAS + SIGNAL + 4) | pac;
    for (unsigned pass = 0; pass < 2; pass++) {
        if (pass)
            td_unwind_full(TD_CFI_AARCH64, &w->sample, &w->stack);
        else
            td_unwind(w->unwinder, &w->sample, &w->stack);
        assert_int_equal(w->stack.stop, TD_UNWIND_COMPLETE);
        assert_int_equal(w->stack.count, 5);
        assert_int_equal(w->stack.frames[3], BIAS + PLAIN);
        assert_int_equal(w->stack.frames[4], BIAS + START + 3);
    }
    td_unwind_table_free(w->table);
    td_unwinder_free(w->unwinder);
    w->table = other;
    w->unwinder = unwinder;
    td_buf_release(&frames);
}

/* Random registers and stacks that point at themselves and at code: it ends, and both agree. */
static void test_noise(void **state)
{
    struct world *w = *state;
    static struct td_unwind_stack full;
    uint64_t seed = 1;

    for (unsigned round = 0; round < 20000; round++) {
        seed = td_hash_u64(seed + round);
        begin(w, BIAS + SYNTHETIC_TEXT + seed % 0x1000, 0, (seed >> 40) % 64);
        for (unsigned i = 0; i < 16; i++) {
            seed = td_hash_u64(seed + i);
            if (i != 7)
                w->sample.regs[i] = seed & 1 ? seed : STACK + (seed >> 8) % 512;
        }
        for (unsigned i = 0; i < 64; i++) {
            seed = td_hash_u64(seed + i);
            w->words[i] = seed & 4   ? BIAS + SYNTHETIC_TEXT + (seed >> 8) % 0x1000
                          : seed & 2 ? STACK + (seed >> 8) % 512
                                     : seed;
        }
        td_unwind(w->unwinder, &w->sample, &w->stack);
        td_unwind_full(TD_CFI_X86_64, &w->sample, &full);
        assert_true(w->stack.count >= 1 && w->stack.count <= 66);
        assert_int_equal(w->stack.count, full.count);
        assert_int_equal(w->stack.stop, full.stop);
        assert_memory_equal(w->stack.frames, full.frames, full.count * 8);
    }
}

/* Damaged files: refused or survived. Every byte of the image, some values each. */
static void test_damaged_files(void **state)
{
    struct world *w = *state;
    struct td_unwind_table *other = w->table;
    struct td_buf frames = {0}, elf = {0};

    frames_x86(&frames);
    const struct synthetic from = {.frames = &frames, .section = ".eh_frame"};
    synthetic_elf(&elf, &from);
    const size_t headers_size = elf.len - SYNTHETIC_TEXT_BYTES;
    for (size_t i = 0; i < headers_size * 8; i++) {
        const uint8_t keep = elf.data[i / 8];
        const struct td_bytes image = {.data = elf.data, .size = elf.len};

        elf.data[i / 8] = (uint8_t)td_hash_u64(i);
        w->table = NULL;
        if (td_unwind_table_new(&w->table, image, NULL) == TD_OK) {
            begin(w, BIAS + SYNTHETIC_TEXT + i % 0x900, STACK + 64, 64);
            for (unsigned k = 0; k < 64; k++)
                w->words[k] = BIAS + SYNTHETIC_TEXT + (k * 1237 + i) % 0x900;
            w->sample.space = i + 2;
            td_unwind(w->unwinder, &w->sample, &w->stack);
            td_unwind_full(TD_CFI_X86_64, &w->sample, &w->stack);
        }
        td_unwind_table_free(w->table);
        elf.data[i / 8] = keep;
    }
    for (size_t size = 0; size < headers_size + 16; size++) {
        uint8_t *copy = td_xalloc(size + 1);
        memcpy(copy, elf.data, size);
        const struct td_bytes image = {.data = copy, .size = size};
        w->table = NULL;
        td_unwind_table_new(&w->table, image, NULL);
        td_unwind_table_free(w->table);
        free(copy);
    }
    w->table = other;
    td_buf_release(&frames);
    td_buf_release(&elf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_signal),
        cmocka_unit_test(test_plt),
        cmocka_unit_test(test_realigned),
        cmocka_unit_test(test_odd_register),
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_entry),
        cmocka_unit_test(test_anonymous_code),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_compressed_and_cut),
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_aarch64),
        cmocka_unit_test(test_aarch64_plt),
        cmocka_unit_test(test_prologues),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_damaged_files),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
