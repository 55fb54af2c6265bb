/* SPDX-License-Identifier: MIT */
/* The code of this very program as bytes, what has no file, and instructions as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "report/disasm.h"
#include "symbolize/elf/buildid.h"
#include "symbolize/code.h"

extern const char __executable_start[];
int td_test_known(int x);

/* Code whose place in the file is known: its address in a program that is one piece on disk. */
__attribute__((noinline)) int td_test_known(int x)
{
    return x * 7 + 3;
}

static uint64_t address_of_known(void)
{
    return (uint64_t)((uintptr_t)td_test_known - (uintptr_t)__executable_start);
}

static void own_code(void **state)
{
    struct td_code_file *code = NULL;
    struct td_build_id id = {0};
    struct td_code_extent extents[2];
    const uint8_t *bytes = NULL;
    uint64_t offset = 0, address = 0;

    (void)state;
    assert_int_equal(td_build_id_from_file("/proc/self/exe", &id, NULL), TD_OK);
    assert_int_equal(td_code_open(&code, TD_MODULE_FILE, "/proc/self/exe", &id, NULL, NULL), TD_OK);
    assert_true(td_code_offset(code, address_of_known(), &offset));
    assert_true(td_code_address(code, offset, &address));
    assert_int_equal(address, address_of_known());
    assert_int_equal(td_code_bytes(code, offset, 8, &bytes), 8);
    assert_memory_equal(bytes, (const void *)(uintptr_t)td_test_known, 8);
    extents[0].offset = offset;
    extents[1].offset = offset + 1;
    td_code_extents(code, extents, 2);
    assert_int_equal(extents[0].start, offset);
    assert_int_equal(extents[1].start, offset);
    assert_true(extents[0].end > offset + 4 && extents[0].end < offset + 4096);
    assert_int_equal(td_code_bytes(code, 0, 8, &bytes), 0); /* the header is no code */
    assert_int_equal(td_code_bytes(code, UINT64_MAX - 2, 8, &bytes), 0);
    td_code_free(code);
}

static void not_there(void **state)
{
    static const struct {
        const char *path, *says;
        enum td_module_kind kind;
        enum td_code code;
    } cases[] = {{"[kernel]", "kernel", TD_MODULE_KERNEL, TD_EUNSUPPORTED},
                 {"[vdso]", "vdso", TD_MODULE_VDSO, TD_EUNSUPPORTED},
                 {"//anon", "generated", TD_MODULE_ANON, TD_EUNSUPPORTED},
                 {"/nonexistent/file", "/nonexistent/file", TD_MODULE_FILE, TD_ENOENT},
                 {"/etc/passwd", "ELF", TD_MODULE_FILE, TD_EFORMAT}};
    const struct td_build_id other = {.size = 20, .bytes = {1, 2, 3}};
    const struct td_build_id none = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct td_err err = TD_ERR_INIT;
        struct td_code_file *code = NULL;

        assert_int_equal(td_code_open(&code, cases[i].kind, cases[i].path, &none, NULL, &err),
                         cases[i].code);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_null(code);
    }
    struct td_err err = TD_ERR_INIT;
    struct td_code_file *code = NULL;
    assert_int_equal(td_code_open(&code, TD_MODULE_FILE, "/proc/self/exe", &other, NULL, &err),
                     TD_EMISMATCH);
    assert_non_null(strstr(err.text, "changed since recording"));
    assert_null(code);
}

static void x86_text(void **state)
{
    static const struct {
        const char *att, *intel;
        uint64_t target; /* 0: it jumps nowhere */
        size_t size;
        unsigned length;
        uint8_t bytes[12];
    } cases[] = {
        {"mov (%rdi), %rax", "mov rax, [rdi]", 0, 12, 3, {0x48, 0x8b, 0x07}},
        {"jz 0x1012", "jz 0x1012", 0x1012, 12, 2, {0x74, 0x10}},
        {"call 0x1000", "call 0x1000", 0x1000, 12, 5, {0xe8, 0xfb, 0xff, 0xff, 0xff}},
        {"call %rax", "call rax", 0, 12, 2, {0xff, 0xd0}},
        {"mov 0x1008, %rax", "mov rax, [0x1008]", 0, 12, 7, {0x48, 0x8b, 0x05, 1, 0, 0, 0}},
        {"vmulsd (%rax), %xmm0, %xmm0",
         "vmulsd xmm0, xmm0, qword ptr [rax]",
         0,
         12,
         4,
         {0xc5, 0xfb, 0x59, 0x00}},
        {"", "", 0, 12, 1, {0x06}},                  /* no instruction in 64 bits */
        {"", "", 0, 4, 1, {0x48, 0x8b, 0x05, 0x01}}, /* cut short */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int s = 0; s < TD_SYNTAX_COUNT; s++) {
            struct td_disasm *disasm = NULL;

            assert_int_equal(td_disasm_new(&disasm, TD_CODE_X86_64, (enum td_syntax)s, NULL),
                             TD_OK);
            const struct td_disasm_insn insn =
                td_disasm_next(disasm, cases[i].bytes, cases[i].size, 0x1000);
            assert_string_equal(insn.text, s == TD_SYNTAX_ATT ? cases[i].att : cases[i].intel);
            assert_int_equal(insn.length, cases[i].length);
            assert_int_equal(insn.jumps, cases[i].target != 0);
            assert_int_equal(insn.target, cases[i].target);
            td_disasm_free(disasm);
        }
    }
}

static void other_machines(void **state)
{
    const uint8_t bytes[8] = {0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6};
    struct td_err err = TD_ERR_INIT;
    struct td_disasm *disasm = NULL;

    (void)state;
    assert_int_equal(td_disasm_new(&disasm, TD_CODE_AARCH64, TD_SYNTAX_ATT, &err), TD_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "no disassembler for aarch64 is built in"));
    assert_int_equal(td_disasm_next(disasm, bytes, sizeof(bytes), 0).length, 4);
    assert_int_equal(td_disasm_next(disasm, bytes, 2, 0).length, 2);
    assert_string_equal(td_disasm_next(disasm, bytes, sizeof(bytes), 0).text, "");
    td_disasm_free(disasm);
    assert_int_equal(td_syntax_by_name("intel"), TD_SYNTAX_INTEL);
    assert_int_equal(td_syntax_by_name("masm"), TD_SYNTAX_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_code),
        cmocka_unit_test(not_there),
        cmocka_unit_test(x86_text),
        cmocka_unit_test(other_machines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
