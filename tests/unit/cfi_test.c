/* SPDX-License-Identifier: MIT */
/* Call frame information: entries, rows and expressions made by hand, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "symbolize/unwind/cfi.h"
#include "tests/unwind/synthetic.h"
#include "tests/unwind/full.h"

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

/* def_cfa rsp+8; offset ra -8: how every CIE of x86-64 starts. */
#define X86_START 0x0c, 7, 8, 0x90, 1

struct rows {
    struct {
        uint64_t begin, end;
        struct td_cfi_row row;
    } at[16];
    size_t count;
};

static bool keep_row(void *ctx, uint64_t begin, uint64_t end, const struct td_cfi_row *row)
{
    struct rows *rows = ctx;

    assert_true(rows->count < TD_ARRAY_SIZE(rows->at));
    rows->at[rows->count].begin = begin;
    rows->at[rows->count].end = end;
    rows->at[rows->count++].row = *row;
    return true;
}

static struct td_cfi section_of(const struct td_buf *buf)
{
    return (struct td_cfi){
        .data = buf->data, .size = buf->len, .address = SYNTHETIC_FRAME, .arch = TD_CFI_X86_64};
}

/* Reads the only FDE of a section and runs it. */
static int run_one(const struct td_buf *buf, struct rows *rows, uint64_t budget)
{
    const struct td_cfi cfi = section_of(buf);
    struct td_cfi_reader reader = {.cfi = &cfi};
    struct td_cfi_fde fde;

    rows->count = 0;
    assert_int_equal(td_cfi_next(&reader, &fde, NULL), 1);
    return td_cfi_rows(&cfi, &reader.cie, &fde, &budget, keep_row, rows, NULL);
}

static void test_function(void **state)
{
    struct td_buf buf = {0};
    struct rows rows;
    const size_t cie = synthetic_cie(&buf, "zR", 16, BYTES(X86_START));

    (void)state;
    /* push rbp; mov rsp, rbp; ... remember; leave; ret; restore; ... */
    synthetic_fde(
        &buf, cie, 0x1000, 0x40,
        BYTES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x10, 0x0a, 0x0c, 7, 8, 0x41, 0x0b));
    assert_int_equal(run_one(&buf, &rows, 100), TD_OK);
    assert_int_equal(rows.count, 5);
    assert_int_equal(rows.at[0].begin, 0x1000);
    assert_int_equal(rows.at[0].row.cfa.reg, 7);
    assert_int_equal(rows.at[0].row.cfa.value, 8);
    assert_int_equal(rows.at[0].row.regs[16].kind, TD_CFI_SAVED);
    assert_int_equal(rows.at[0].row.regs[16].value, -8);
    assert_int_equal(rows.at[0].row.regs[6].kind, TD_CFI_UNSET);
    assert_int_equal(rows.at[1].begin, 0x1001);
    assert_int_equal(rows.at[1].row.cfa.value, 16);
    assert_int_equal(rows.at[1].row.regs[6].value, -16);
    assert_int_equal(rows.at[2].row.cfa.reg, 6);
    assert_int_equal(rows.at[3].begin, 0x1014);
    assert_int_equal(rows.at[3].row.cfa.reg, 7);
    assert_int_equal(rows.at[4].row.cfa.reg, 6);
    assert_int_equal(rows.at[4].end, 0x1040);
    td_buf_release(&buf);
}

/* Every instruction that gives a register a rule. */
static void test_rules(void **state)
{
    struct td_buf buf = {0};
    struct rows rows;
    const size_t cie = synthetic_cie(&buf, "zR", 16, BYTES(X86_START, 0x83, 2));

    (void)state;
    synthetic_fde(&buf, cie, 0x1000, 0x10,
                  BYTES(0x05, 0, 3,          /* offset_extended rax, -24 */
                        0x11, 1, 0x7e,       /* offset_extended_sf rdx, +16 */
                        0x07, 2,             /* undefined rcx */
                        0x08, 4,             /* same_value rsi */
                        0x09, 5, 8,          /* rdi in r8 */
                        0x14, 6, 1,          /* val_offset rbp, -8 */
                        0x16, 8, 2, 0x77, 0, /* val_expression r8: breg7 0 */
                        0x10, 9, 2, 0x77, 8, /* expression r9: breg7 8 */
                        0x2f, 10, 1,         /* negative_offset r10, +8 */
                        0x2e, 16,            /* args_size */
                        0x05, 40, 1,         /* a register nobody asks for */
                        0x07, 3, 0xc3        /* undefined rbx, then restored to the CIE's */
                        ));
    assert_int_equal(run_one(&buf, &rows, 100), TD_OK);
    assert_int_equal(rows.count, 1);
    const struct td_cfi_rule *regs = rows.at[0].row.regs;
    assert_int_equal(regs[0].value, -24);
    assert_int_equal(regs[1].value, 16);
    assert_int_equal(regs[2].kind, TD_CFI_UNDEFINED);
    assert_int_equal(regs[4].kind, TD_CFI_SAME);
    assert_int_equal(regs[5].kind, TD_CFI_REGISTER);
    assert_int_equal(regs[5].reg, 8);
    assert_int_equal(regs[6].kind, TD_CFI_VALUE);
    assert_int_equal(regs[6].value, -8);
    assert_int_equal(regs[8].kind, TD_CFI_VALUE_EXPR);
    assert_int_equal(regs[8].expr_size, 2);
    assert_int_equal(buf.data[regs[9].expr + 1], 8);
    assert_int_equal(regs[10].value, 8);
    assert_int_equal(regs[3].kind, TD_CFI_SAVED);
    assert_int_equal(regs[3].value, -16);
    td_buf_release(&buf);
}

static void test_signal_frame(void **state)
{
    struct td_buf buf = {0};
    const size_t cie = synthetic_cie(&buf, "zRS", 16, BYTES(X86_START));
    struct td_cfi_fde fde;

    (void)state;
    synthetic_fde(&buf, cie, 0x1000, 0x10, NULL, 0);
    const struct td_cfi cfi = section_of(&buf);
    struct td_cfi_reader reader = {.cfi = &cfi};
    assert_int_equal(td_cfi_next(&reader, &fde, NULL), 1);
    assert_true(reader.cie.signal_frame);
    assert_int_equal(fde.begin, 0x1000);
    assert_int_equal(fde.end, 0x1010);
    assert_int_equal(td_cfi_next(&reader, &fde, NULL), 0);
    td_buf_release(&buf);
}

/* .debug_frame: version 4, 32- and 64-bit lengths, absolute addresses, CIE named by offset. */
static void test_debug_frame(void **state)
{
    struct td_buf buf = {0};
    struct td_cfi_fde fde;
    size_t fde_at;

    (void)state;
    td_buf_u32(&buf, 0);
    td_buf_u32(&buf, UINT32_MAX);
    td_buf_u8(&buf, 4);
    td_buf_u8(&buf, 0); /* no augmentation */
    td_buf_u8(&buf, 8);
    td_buf_u8(&buf, 0);
    td_buf_bytes(&buf, BYTES(1, 0x78, 16, X86_START));
    synthetic_end(&buf, 0);
    fde_at = buf.len;
    td_buf_u32(&buf, UINT32_MAX);
    td_buf_u64(&buf, 8 + 16 + 2);
    td_buf_u64(&buf, 0);
    td_buf_u64(&buf, 0x4000);
    td_buf_u64(&buf, 0x20);
    td_buf_bytes(&buf, BYTES(0x0e, 16));
    struct td_cfi cfi = section_of(&buf);
    cfi.debug_frame = true;
    struct td_cfi_reader reader = {.cfi = &cfi};
    assert_int_equal(td_cfi_next(&reader, &fde, NULL), 1);
    assert_int_equal(fde.offset, fde_at);
    assert_int_equal(fde.begin, 0x4000);
    assert_int_equal(fde.end, 0x4020);
    assert_int_equal(fde.program.size, 2);
    assert_int_equal(td_cfi_next(&reader, &fde, NULL), 0);
    td_buf_release(&buf);
}

static void test_pointers(void **state)
{
    static const struct {
        uint8_t encoding, bytes[8];
        bool ok;
        uint64_t value;
    } cases[] = {
        {0x00, {1, 0, 0, 0, 0, 0, 0, 0x80}, true, UINT64_C(0x8000000000000001)},
        {0x01, {0x81, 1}, true, 129},
        {0x02, {0xff, 0xff}, true, 0xffff},
        {0x03, {0, 0, 0, 0x80}, true, 0x80000000},
        {0x09, {0x7f}, true, UINT64_MAX},
        {0x0a, {0xff, 0xff}, true, UINT64_MAX},
        {0x1b, {0xfc, 0xff, 0xff, 0xff}, true, 0x4ffc},
        {0x3b, {4, 0, 0, 0}, true, 0x9004},
        {0x9b, {4, 0, 0, 0}, false, 0},
        {0xff, {0}, false, 0},
        {0x2b, {0}, false, 0},
        {0x0d, {0}, false, 0},
    };

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(cases); i++) {
        uint64_t value = 0;
        size_t pos = 0;

        const bool ok =
            td_cfi_pointer(cases[i].bytes, 8, &pos, cases[i].encoding, 0x5000, 0x9000, &value);
        assert_int_equal(ok, cases[i].ok);
        assert_true(value == cases[i].value);
    }
}

static bool test_reg(void *ctx, unsigned reg, uint64_t *value)
{
    (void)ctx;
    *value = 0x100 * (uint64_t)reg;
    return reg != 3;
}

static bool test_memory(void *ctx, uint64_t address, unsigned bytes, uint64_t *value)
{
    (void)ctx;
    *value = address * 2 + bytes;
    return address != 0;
}

static void test_expressions(void **state)
{
    static const struct {
        uint8_t size, bytes[16];
        bool ok;
        uint64_t value;
    } cases[] = {
        {2, {0x77, 0x10}, true, 0x710},                     /* breg7 16 */
        {3, {0x92, 8, 0x7f}, true, 0x7ff},                  /* bregx 8 -1 */
        {3, {0x77, 0, 0x06}, true, 0xe08},                  /* breg7 0; deref */
        {4, {0x77, 0, 0x94, 4}, true, 0xe04},               /* deref_size 4 */
        {3, {0x35, 0x33, 0x1c}, true, 2},                   /* 5 - 3 */
        {3, {0x35, 0x1f, 0x19}, true, 5},                   /* abs(-5) */
        {4, {0x33, 0x1f, 0x32, 0x1b}, true, UINT64_MAX},    /* -3 / 2, signed */
        {4, {0x31, 0x1f, 0x32, 0x26}, true, UINT64_MAX},    /* -1 >> 2, signed */
        {5, {0x31, 0x32, 0x33, 0x17, 0x12}, true, 2},       /* rot; dup */
        {3, {0x32, 0x23, 0x05}, true, 7},                   /* plus_uconst */
        {7, {0x31, 0x28, 1, 0, 0x35, 0x36, 0x96}, true, 6}, /* bra over lit5 */
        {3, {0x31, 0x31, 0x2d}, true, 0},                   /* lt */
        {4, {0x31, 0x2f, 0xfc, 0xff}, false, 0},            /* an endless loop */
        {3, {0x31, 0x30, 0x1b}, false, 0},                  /* division by 0 */
        {1, {0x22}, false, 0},                              /* nothing on the stack */
        {2, {0x73, 0}, false, 0},                           /* a register not known */
        {2, {0x30, 0x06}, false, 0},                        /* memory not known */
        {2, {0x77, 0x80}, false, 0},                        /* cut */
        {1, {0x9c}, false, 0},                              /* call_frame_cfa: not in CFI */
        {4, {0x31, 0x2f, 0xff, 0x7f}, false, 0},            /* a jump out */
    };
    const struct td_cfi_access access = {test_reg, test_memory, NULL};

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(cases); i++) {
        uint64_t value = 0;
        const bool ok = td_cfi_eval(cases[i].bytes, cases[i].size, NULL, &access, &value);
        if (ok != cases[i].ok || value != cases[i].value)
            fail_msg("expression %zu gives %d, %llx", i, ok, (unsigned long long)value);
    }
}

static void test_budget(void **state)
{
    struct td_buf buf = {0};
    struct rows rows;
    const size_t cie = synthetic_cie(&buf, "zR", 16, BYTES(X86_START));

    (void)state;
    synthetic_fde(&buf, cie, 0x1000, 0x10, BYTES(0x41, 0x41, 0x41, 0x41, 0x41));
    assert_int_equal(run_one(&buf, &rows, 5), TD_ELIMIT);
    assert_int_equal(run_one(&buf, &rows, 100), TD_OK);
    td_buf_release(&buf);
}

static void test_refused_programs(void **state)
{
    static const uint8_t programs[][3] = {
        {0x0b, 0, 0},    /* restore_state without remember */
        {0x3f, 0, 0},    /* unknown */
        {0x0f, 0x7f},    /* an expression longer than the entry */
        {0x0f, 0, 0x0d}, /* a register for a CFA that is an expression */
    };

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(programs); i++) {
        struct td_buf buf = {0};
        struct rows rows;
        const size_t cie = synthetic_cie(&buf, "zR", 16, BYTES(X86_START));

        synthetic_fde(&buf, cie, 0x1000, 0x10, programs[i], 3);
        assert_int_equal(run_one(&buf, &rows, 100), TD_EFORMAT);
        td_buf_release(&buf);
    }
}

/* Every byte of a sound section changed to many values: no read outside, no endless loop. */
static void test_damaged_sections(void **state)
{
    struct td_buf buf = {0};
    const size_t cie = synthetic_cie(&buf, "zRS", 16, BYTES(X86_START));
    struct rows rows;

    (void)state;
    synthetic_fde(&buf, cie, 0x1000, 0x40, BYTES(0x41, 0x0e, 16, 0x0f, 3, 0x77, 0x10, 0x06, 0x42));
    synthetic_fde(&buf, cie, 0x2000, 0x40, BYTES(0x41, 0x0a, 0x41, 0x0b, 0x16, 6, 2, 0x77, 8));
    for (size_t i = 0; i < buf.len * 256; i++) {
        uint8_t *copy = td_xalloc(buf.len); /* exactly as long, for the sanitizer */
        memcpy(copy, buf.data, buf.len);
        copy[i / 256] = (uint8_t)i;
        const struct td_cfi cfi = {.data = copy, .size = buf.len, .address = SYNTHETIC_FRAME};
        struct td_cfi_reader reader = {.cfi = &cfi};
        struct td_cfi_fde fde;
        uint64_t budget = 1000;
        int n;

        for (unsigned entries = 0; (n = td_cfi_next(&reader, &fde, NULL)) != 0; entries++) {
            assert_true(entries < 100);
            rows.count = 0;
            if (n == 1)
                td_cfi_rows(&cfi, &reader.cie, &fde, &budget, keep_row, &rows, NULL);
        }
        free(copy);
    }
    td_buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_function),         cmocka_unit_test(test_rules),
        cmocka_unit_test(test_signal_frame),     cmocka_unit_test(test_debug_frame),
        cmocka_unit_test(test_pointers),         cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_budget),           cmocka_unit_test(test_refused_programs),
        cmocka_unit_test(test_damaged_sections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
