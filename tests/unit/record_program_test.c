/* SPDX-License-Identifier: MIT */
/* What executing a file would run under the emulator: ELF headers, notes, "#!" lines, modes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "record/sim/share/program.h"

/* Made by main, for all tests. */
static char folder[] = "/tmp/td-program.XXXXXX";

static char *put(const char *name, const void *data, size_t size, mode_t mode)
{
    char *path = td_xasprintf("%s/%s", folder, name);

    assert_int_equal(td_file_replace(path, data, size, NULL), TD_OK);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

/* An ELF header, and a property note with the ISA level that is needed when it is not 0. */
static struct td_buf make_elf(uint16_t machine, uint32_t isa)
{
    struct td_buf buf = {0};

    td_buf_bytes(&buf,
                 "\x7f"
                 "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0",
                 16);
    td_buf_u16(&buf, 3);
    td_buf_u16(&buf, machine);
    td_buf_u32(&buf, 1);
    td_buf_u64(&buf, 0);
    td_buf_u64(&buf, 64); /* program headers */
    td_buf_u64(&buf, 0);
    td_buf_u32(&buf, 0);
    td_buf_u16(&buf, 64);
    td_buf_u16(&buf, 56);
    td_buf_u16(&buf, 1);
    td_buf_u16(&buf, 0);
    td_buf_u32(&buf, 0);
    td_buf_u32(&buf, 0x6474e553); /* PT_GNU_PROPERTY */
    td_buf_u32(&buf, 4);
    td_buf_u64(&buf, 120);
    td_buf_u64(&buf, 0);
    td_buf_u64(&buf, 0);
    td_buf_u64(&buf, isa ? 48 : 0);
    td_buf_u64(&buf, isa ? 48 : 0);
    td_buf_u64(&buf, 8);
    td_buf_u32(&buf, 4);
    td_buf_u32(&buf, 32);
    td_buf_u32(&buf, 5);
    td_buf_bytes(&buf, "GNU", 4);
    td_buf_u32(&buf, 0xc0000002); /* another property first: IBT and SHSTK */
    td_buf_u32(&buf, 4);
    td_buf_u64(&buf, 3);
    td_buf_u32(&buf, 0xc0008002);
    td_buf_u32(&buf, 4);
    td_buf_u64(&buf, isa);
    return buf;
}

static enum td_program_kind kind_of(const char *path)
{
    struct td_program program;

    td_program_look(&program, path);
    const enum td_program_kind kind = program.kind;
    td_program_release(&program);
    return kind;
}

static void check_elf(const char *name, uint16_t machine, uint32_t isa, mode_t mode,
                      enum td_program_kind kind)
{
    struct td_buf buf = make_elf(machine, isa);
    char *path = put(name, buf.data, buf.len, mode);

    assert_int_equal(kind_of(path), kind);
    free(path);
    td_buf_release(&buf);
}

static void test_elf(void **state)
{
    (void)state;
    check_elf("plain", 62, 0, 0755, TD_PROGRAM_EMULATED);
    check_elf("v3", 62, 7, 0755, TD_PROGRAM_EMULATED);
    check_elf("v4", 62, 15, 0755, TD_PROGRAM_AVX512);
    check_elf("arm", 183, 0, 0755, TD_PROGRAM_EMULATED);
    check_elf("riscv", 243, 0, 0755, TD_PROGRAM_FOREIGN);
    check_elf("setuid", 62, 0, 04755, TD_PROGRAM_PRIVILEGED);
    check_elf("setgid", 62, 0, 02755, TD_PROGRAM_PRIVILEGED);
    assert_int_equal(kind_of("/nonexistent/file"), TD_PROGRAM_MISSING);
    assert_int_equal(kind_of("/"), TD_PROGRAM_MISSING);
}

/* The same with a dynamic loader instead of the property note. */
static char *put_dynamic(const char *name, uint16_t machine, const char *loader)
{
    struct td_buf buf = make_elf(machine, 0);
    const uint8_t interp = 3; /* PT_INTERP */

    buf.data[64] = interp;
    memset(buf.data + 65, 0, 3);
    buf.data[64 + 32] = (uint8_t)(strlen(loader) + 1);
    buf.len = 120;
    td_buf_bytes(&buf, loader, strlen(loader) + 1);
    char *path = put(name, buf.data, buf.len, 0755);
    td_buf_release(&buf);
    return path;
}

static void check_dynamic(uint16_t machine, const char *loader, enum td_program_kind kind,
                          const char *sysroot)
{
    struct td_program program;
    char *path = put_dynamic("dynamic", machine, loader);

    td_program_look(&program, path);
    assert_int_equal(program.kind, kind);
    assert_int_equal(program.guest->machine, machine);
    if (sysroot)
        assert_string_equal(program.sysroot, sysroot);
    else
        assert_null(program.sysroot);
    td_program_release(&program);
    free(path);
}

/* A program for another processor runs when its libraries are found; one for this is asked
 * nothing. */
static void test_libraries(void **state)
{
    const struct td_guest *native = td_guest_native();
    const uint16_t other = native && native->machine == 183 ? 62 : 183;
    char *root = td_xasprintf("%s/root", folder), *loader = put("loader.so", "", 0, 0755);
    char *under = td_xasprintf("%s/root/lib", folder);

    (void)state;
    unsetenv("QEMU_LD_PREFIX");
    if (native)
        check_dynamic(native->machine, "/nonexistent/ld.so", TD_PROGRAM_EMULATED, NULL);
    check_dynamic(other, "/nonexistent/ld.so", TD_PROGRAM_LOADER, NULL);
    check_dynamic(other, loader, TD_PROGRAM_EMULATED, NULL);
    assert_int_equal(setenv("QEMU_LD_PREFIX", root, 1), 0);
    check_dynamic(other, "/lib/ld.so", TD_PROGRAM_LOADER, NULL);
    assert_int_equal(mkdir(root, 0755), 0);
    assert_int_equal(mkdir(under, 0755), 0);
    free(put("root/lib/ld.so", "", 0, 0755));
    check_dynamic(other, "/lib/ld.so", TD_PROGRAM_EMULATED, NULL);
    unsetenv("QEMU_LD_PREFIX");
    free(root);
    free(under);
    free(loader);
}

/* Every cut of a file is some kind, and nothing is read past its end (address sanitizer). */
static void test_cut(void **state)
{
    struct td_buf buf = make_elf(62, 15);

    (void)state;
    for (size_t size = 0; size <= buf.len; size++) {
        char *path = put("cut", buf.data, size, 0755);

        kind_of(path);
        free(path);
    }
    td_buf_release(&buf);
}

static void test_script(void **state)
{
    struct td_buf buf = make_elf(62, 0);
    char *elf = put("interpreter", buf.data, buf.len, 0755);
    char *line = td_xasprintf("#! %s  -x y \nrest\n", elf);
    char *script = put("script", line, strlen(line), 04755);
    char *second_line = td_xasprintf("#!%s\n", script);
    char *second = put("second", second_line, strlen(second_line), 0755);
    char *lost = put("lost", "#!/nonexistent/x\n", 17, 0755);
    char *text = put("text", "echo\n", 5, 0755);
    char *loop_line = td_xasprintf("#!%s/loop\n", folder);
    char *loop = put("loop", loop_line, strlen(loop_line), 0755);
    struct td_program program;

    (void)state;
    td_program_look(&program, second);
    assert_int_equal(program.kind, TD_PROGRAM_EMULATED);
    assert_string_equal(program.file, elf);
    assert_int_equal(program.word_count, 3);
    assert_string_equal(program.words[2], "-x y");
    assert_string_equal(program.words[1], script);
    assert_string_equal(program.words[0], second);
    td_program_release(&program);
    assert_int_equal(kind_of(lost), TD_PROGRAM_MISSING);
    assert_int_equal(kind_of(text), TD_PROGRAM_OTHER);
    assert_int_equal(kind_of(loop), TD_PROGRAM_OTHER);
    char *const all[] = {elf, line, script, second_line, second, lost, text, loop_line, loop};
    for (size_t i = 0; i < TD_ARRAY_SIZE(all); i++)
        free(all[i]);
    td_buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elf),
        cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_script),
    };

    if (!mkdtemp(folder))
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char *command = td_xasprintf("rm -r %s", folder);
    FILE *rm = popen(command, "r");
    if (rm)
        pclose(rm);
    free(command);
    return failed;
}
