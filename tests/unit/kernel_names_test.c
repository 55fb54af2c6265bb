/* SPDX-License-Identifier: MIT */
/* symbolize/kallsyms, perfmap, buildid, vdso: the names that are needed while recording. */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "symbolize/elf/buildid.h"
#include "symbolize/maps/kallsyms.h"
#include "symbolize/maps/perfmap.h"
#include "symbolize/maps/vdso.h"

/* The size of a file that is cut to a page and grown again. */
#define CUT_BYTES (1 << 20)

static const char kallsyms_text[] = "0000000000000000 A fixed_percpu_data\n"
                                    "ffffffff81000000 T startup_64\n"
                                    "ffffffff81000000 T _stext\n"
                                    "ffffffff81000000 T _text\n"
                                    "ffffffff81000100 t helper\n"
                                    "ffffffff81000200 T second\n"
                                    "ffffffff81000200 W second_alias\n"
                                    "ffffffff81000300 D a_variable\n"
                                    "ffffffff81000400 T last\n"
                                    "not a line\n"
                                    "ffffffff81000480 T _etext\n"
                                    "ffffffffc0000000 t in_module\t[ext4]\n";

/* The same symbols, whatever the pieces. */
static void test_kallsyms(void **state)
{
    (void)state;
    for (size_t piece = 1; piece < 40; piece += 3) {
        struct td_kallsyms *symbols = td_kallsyms_new();
        struct td_kernel_symbol symbol;

        for (size_t at = 0; at < sizeof(kallsyms_text) - 1; at += piece) {
            const size_t left = sizeof(kallsyms_text) - 1 - at;

            td_kallsyms_feed(symbols, kallsyms_text + at, left < piece ? left : piece);
        }
        assert_int_equal(td_kallsyms_end(symbols, NULL), TD_OK);
        assert_int_equal(td_kallsyms_text_start(symbols), 0xffffffff81000000);
        assert_int_equal(td_kallsyms_find(symbols, 0xffffffff80ffffff, &symbol), TD_ENODATA);
        assert_int_equal(td_kallsyms_find(symbols, 0xffffffff81000010, &symbol), TD_OK);
        assert_string_equal(symbol.name, "startup_64");
        assert_int_equal(td_kallsyms_find(symbols, 0xffffffff81000200, &symbol), TD_OK);
        assert_string_equal(symbol.name, "second");
        assert_int_equal(symbol.end, 0xffffffff81000400);
        assert_int_equal(td_kallsyms_find(symbols, 0xffffffff81000450, &symbol), TD_OK);
        assert_string_equal(symbol.name, "last");
        assert_int_equal(symbol.end, 0xffffffff81000480);
        assert_int_equal(td_kallsyms_find(symbols, 0xffffffffc0000001, &symbol), TD_OK);
        assert_string_equal(symbol.name, "in_module");
        assert_string_equal(symbol.module, "ext4");
        td_kallsyms_free(symbols);
    }
}

static void test_hidden_kallsyms(void **state)
{
    static const char text[] = "0000000000000000 T _text\n0000000000000000 t f\n";
    struct td_kallsyms *symbols = td_kallsyms_new();
    struct td_err err = TD_ERR_INIT;

    (void)state;
    td_kallsyms_feed(symbols, text, sizeof(text) - 1);
    assert_int_equal(td_kallsyms_end(symbols, &err), TD_EPERM);
    assert_non_null(strstr(err.text, "kptr_restrict"));
    assert_int_equal(td_kallsyms_text_start(symbols), 0);
    td_kallsyms_free(symbols);
}

static void expect_name(const struct td_perfmap *map, uint64_t address, const char *name)
{
    char *found = td_perfmap_name(map, address);

    if (name) {
        assert_non_null(found);
        assert_string_equal(found, name);
    } else {
        assert_null(found);
    }
    free(found);
}

/* A file with this text, without a name. */
static int file_of(const char *text, size_t size)
{
    const int fd = memfd_create("map", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), size);
    return fd;
}

static void test_perfmap(void **state)
{
    static const char text[] = "1000 20 old\n"
                               "0x1100 0x10 with blanks; and more\n"
                               "zz 10 bad\n"
                               "1200\n"
                               "1000 20 new\n"
                               "1010 4 inside\n"
                               "ffffffffffffffff ff wraps\n"
                               "1300 8 last";
    static const uint64_t addresses[] = {0x1307, 0x1105, 0x1020, 0x101f, 0x1011, 0x1000, 0xfff};
    struct td_perfmap map = {0};
    const int fd = file_of(text, sizeof(text) - 1);

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(addresses); i++)
        td_perfmap_want(&map, addresses[i]);
    td_perfmap_scan(&map, fd, UINT64_C(10000000000));
    assert_false(map.cut);
    expect_name(&map, 0xfff, NULL);
    expect_name(&map, 0x1000, "new");
    expect_name(&map, 0x1011, "inside");
    expect_name(&map, 0x101f, "new");
    expect_name(&map, 0x1020, NULL);
    expect_name(&map, 0x1105, "with blanks; and more");
    expect_name(&map, 0x1307, "last");
    expect_name(&map, 0x1200, NULL);
    td_perfmap_release(&map);
    close(fd);
}

/* 40 MB of short lines, one of more than a piece among them, for one address: as much memory as for
 * one line. A time that is over cuts it. */
static void test_large_perfmap(void **state)
{
    static char lines[1 << 20];
    struct td_perfmap map = {0};
    const int fd = file_of("7000 10 first\n", 14);

    (void)state;
    for (size_t i = 0; i < sizeof(lines); i += 8)
        memcpy(lines + i, "1 1 abc\n", 8);
    for (int i = 0; i < 39; i++)
        assert_int_equal(write(fd, lines, sizeof(lines)), sizeof(lines));
    memset(lines, 'x', sizeof(lines));
    assert_int_equal(write(fd, lines, sizeof(lines)), sizeof(lines));
    assert_int_equal(write(fd, "\n7008 10 newer\n", 15), 15);
    td_perfmap_want(&map, 0x7009);
    td_perfmap_want(&map, 0x7001);
    td_perfmap_scan(&map, fd, UINT64_C(60000000000));
    assert_false(map.cut);
    assert_int_equal(map.count, 2);
    expect_name(&map, 0x7001, "first");
    expect_name(&map, 0x7009, "newer");
    td_perfmap_scan(&map, fd, 0);
    assert_true(map.cut);
    assert_int_equal(ftruncate(fd, 0), 0);
    expect_name(&map, 0x7001, NULL);
    td_perfmap_release(&map);
    close(fd);
}

/* Anybody can put a file into /tmp. */
static void test_perfmap_owner(void **state)
{
    char path[] = "/tmp/td-perfmap-XXXXXX", link[64];
    uint64_t size = 0;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "1000 20 f\n", 10), 10);
    close(fd);
    assert_int_equal(td_perfmap_open(&fd, &size, path, getuid(), NULL), TD_OK);
    assert_int_equal(size, 10);
    close(fd);
    if (getuid() != 0)
        assert_int_equal(td_perfmap_open(&fd, &size, path, getuid() + 1, NULL), TD_EMISMATCH);
    else if (chown(path, 12345, 12345) == 0)
        assert_int_equal(td_perfmap_open(&fd, &size, path, 0, NULL), TD_EMISMATCH);
    snprintf(link, sizeof(link), "%s.link", path);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(td_perfmap_open(&fd, &size, link, getuid(), NULL), TD_EIO);
    assert_int_equal(td_perfmap_open(&fd, &size, "/nonexistent", getuid(), NULL), TD_ENOENT);
    unlink(link);
    unlink(path);
}

static void test_notes(void **state)
{
    struct td_buf buf = {0};
    struct td_build_id id = {0};

    (void)state;
    td_buf_u32(&buf, 4); /* another note first */
    td_buf_u32(&buf, 5);
    td_buf_u32(&buf, 1);
    td_buf_bytes(&buf, "GNU\0abcde\0\0", 12);
    td_buf_u32(&buf, 4);
    td_buf_u32(&buf, 20);
    td_buf_u32(&buf, NT_GNU_BUILD_ID);
    td_buf_bytes(&buf, "GNU\0ABCDEFGHIJKLMNOPQRST", 24);
    for (size_t cut = 0; cut < buf.len; cut++)
        assert_true(td_build_id_from_notes(buf.data, cut, &id, NULL) < 0);
    assert_int_equal(td_build_id_from_notes(buf.data, buf.len, &id, NULL), TD_OK);
    assert_int_equal(id.size, 20);
    assert_memory_equal(id.bytes, "ABCDEFGHIJKLMNOPQRST", 20);
    td_buf_release(&buf);
}

/* Of our own program: the linker was told to make one, and every cut of it is refused or right. */
static void test_own_file(void **state)
{
    struct td_build_id id = {0}, other = {0};
    struct td_file_map map = {0};

    (void)state;
    if (td_build_id_from_file("/proc/self/exe", &id, NULL) < 0)
        skip();
    assert_true(id.size >= 8);
    assert_int_equal(td_file_map(&map, "/proc/self/exe", NULL), TD_OK);
    for (size_t size = 0; size < 2048; size += 7) {
        struct td_buf exact = {0};

        td_buf_bytes(&exact, map.data, size);
        if (td_build_id_from_elf(exact.data, size, &other, NULL) == TD_OK)
            assert_memory_equal(&id, &other, sizeof(id));
        td_buf_release(&exact);
    }
    td_file_unmap(&map);
    assert_int_equal(td_build_id_from_file("/proc/self/cmdline", &id, NULL), TD_EFORMAT);
    assert_int_equal(td_build_id_from_file("/nonexistent", &id, NULL), TD_ENOENT);
}

static void find_clock(void *ctx, uint64_t offset, uint64_t size, const char *name)
{
    if (strstr(name, "clock_gettime") && offset && size)
        *(bool *)ctx = true;
}

static void test_vdso(void **state)
{
    bool found = false;

    (void)state;
    if (td_vdso_symbols(find_clock, &found, NULL) < 0)
        skip();
    assert_true(found);
}

/* Who profiles others reads files that others write: one that is cut while it is read is told as
 * damaged, and does not end us with SIGBUS. */
static void test_build_id_of_a_file_that_is_cut(void **state)
{
    char path[] = "/tmp/td-cut-XXXXXX";
    const int fd = mkstemp(path);
    const Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_version = EV_CURRENT,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phoff = CUT_BYTES - 4 * sizeof(Elf64_Phdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 4,
    };
    struct timespec start, now;
    unsigned cut = 0, whole = 0;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
    assert_int_equal(ftruncate(fd, CUT_BYTES), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        while (ftruncate(fd, 4096) == 0 && ftruncate(fd, CUT_BYTES) == 0 && getppid() != 1)
            continue;
        _exit(1);
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        struct td_build_id id = {.size = 0};
        const int rc = td_build_id_from_file(path, &id, NULL);

        assert_true(rc == TD_EFORMAT || rc == TD_ENODATA);
        cut += rc == TD_EFORMAT;
        whole += rc == TD_ENODATA;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec < 10 && (cut < 500 || whole < 500));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(fd);
    unlink(path);
    assert_true(cut > 0);
    assert_true(whole > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kallsyms),
        cmocka_unit_test(test_hidden_kallsyms),
        cmocka_unit_test(test_perfmap),
        cmocka_unit_test(test_perfmap_owner),
        cmocka_unit_test(test_large_perfmap),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_own_file),
        cmocka_unit_test(test_vdso),
        cmocka_unit_test(test_build_id_of_a_file_that_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
