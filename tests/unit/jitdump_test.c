/* SPDX-License-Identifier: MIT */
/* symbolize/jitdump: code that is loaded, moved, replaced, described by lines; what is cut off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "symbolize/maps/jitdump.h"

static void put_header(struct td_buf *buf, uint64_t flags)
{
    td_buf_u32(buf, 0x4a695444);
    td_buf_u32(buf, 1);
    td_buf_u32(buf, 40);
    td_buf_u32(buf, 62); /* EM_X86_64 */
    td_buf_u32(buf, 0);
    td_buf_u32(buf, 4711);
    td_buf_u64(buf, 1);
    td_buf_u64(buf, flags);
}

static size_t begin(struct td_buf *buf, uint32_t id, uint64_t time_ns)
{
    const size_t start = buf->len;

    td_buf_u32(buf, id);
    td_buf_u32(buf, 0);
    td_buf_u64(buf, time_ns);
    return start;
}

static void end(struct td_buf *buf, size_t start)
{
    const uint32_t size = (uint32_t)(buf->len - start);

    memcpy(buf->data + start + 4, &size, sizeof(size));
}

static void put_text(struct td_buf *buf, const char *text)
{
    td_buf_bytes(buf, text, strlen(text) + 1);
}

static void put_load(struct td_buf *buf, uint64_t time_ns, uint64_t start, uint64_t size,
                     const char *name)
{
    const size_t record = begin(buf, 0, time_ns);

    td_buf_u64(buf, 4711);
    td_buf_u64(buf, start);
    td_buf_u64(buf, start);
    td_buf_u64(buf, size);
    td_buf_u64(buf, 1);
    put_text(buf, name);
    for (uint64_t i = 0; i < size; i++)
        td_buf_u8(buf, 0x90);
    end(buf, record);
}

static void put_move(struct td_buf *buf, uint64_t time_ns, uint64_t from, uint64_t to,
                     uint64_t size)
{
    const size_t record = begin(buf, 1, time_ns);

    td_buf_u64(buf, 4711);
    td_buf_u64(buf, to);
    td_buf_u64(buf, from);
    td_buf_u64(buf, to);
    td_buf_u64(buf, size);
    td_buf_u64(buf, 1);
    end(buf, record);
}

/* Lines 10 and 11 at the code's start and 8 bytes behind, `shift` bytes too far. */
static void put_lines(struct td_buf *buf, uint64_t code, uint64_t shift)
{
    const size_t record = begin(buf, 2, 1);

    td_buf_u64(buf, code);
    td_buf_u64(buf, 2);
    for (uint32_t i = 0; i < 2; i++) {
        td_buf_u64(buf, code + 8 * (uint64_t)i + shift);
        td_buf_u32(buf, 10 + i);
        td_buf_u32(buf, 0);
        put_text(buf, i == 0 ? "app.js" : "\xff");
    }
    end(buf, record);
}

static void expect(const struct td_jitdump *dump, uint64_t address, uint64_t time_ns,
                   const char *name, uint32_t line)
{
    struct td_jitdump_place place = {.code = NULL};
    const bool found = td_jitdump_find(dump, address, time_ns, &place);

    assert_int_equal(found, name != NULL);
    if (!found || !name)
        return;
    assert_int_equal(place.code->name_len, strlen(name));
    assert_memory_equal(place.code->name, name, strlen(name));
    assert_int_equal(place.line, line);
    if (line) {
        assert_int_equal(place.file_len, strlen("app.js"));
        assert_memory_equal(place.file, "app.js", place.file_len);
    }
}

/* One place, three pieces of code one after the other. */
static void test_times(void **state)
{
    struct td_buf buf = {0};
    struct td_jitdump dump = {.stopped_at = 0};

    (void)state;
    put_header(&buf, 0);
    put_load(&buf, 100, 0x1000, 0x20, "f");
    put_load(&buf, 200, 0x1000, 0x40, "g");
    put_move(&buf, 300, 0x1000, 0x2000, 0x40);
    put_load(&buf, 400, 0x1010, 0x10, "h");
    assert_int_equal(td_jitdump_parse(&dump, buf.data, buf.len, NULL), TD_OK);
    assert_int_equal(dump.stopped_at, buf.len);
    expect(&dump, 0x1008, 50, "f", 0); /* it runs before its record is written */
    expect(&dump, 0x1008, 150, "f", 0);
    expect(&dump, 0x1008, 250, "g", 0);
    expect(&dump, 0x1030, 250, "g", 0);
    expect(&dump, 0x2030, 350, "g", 0); /* moved */
    expect(&dump, 0x1018, 450, "h", 0);
    expect(&dump, 0x1040, 250, NULL, 0);
    expect(&dump, 0xfff, 250, NULL, 0);
    td_jitdump_release(&dump);
    td_buf_release(&buf);
}

/* Times that are not ours: the newest wins. */
static void test_other_clock(void **state)
{
    struct td_buf buf = {0};
    struct td_jitdump dump = {.stopped_at = 0};

    (void)state;
    put_header(&buf, 1);
    put_load(&buf, 99999, 0x1000, 0x20, "f");
    put_load(&buf, 88888, 0x1000, 0x20, "g");
    assert_int_equal(td_jitdump_parse(&dump, buf.data, buf.len, NULL), TD_OK);
    expect(&dump, 0x1008, 1, "g", 0);
    td_jitdump_release(&dump);
    td_buf_release(&buf);
}

static void test_lines(void **state)
{
    (void)state;
    for (uint64_t shift = 0; shift <= 0x40; shift += 0x40) {
        struct td_buf buf = {0};
        struct td_jitdump dump = {.stopped_at = 0};

        put_header(&buf, 0);
        put_lines(&buf, 0x1000, shift);
        put_load(&buf, 2, 0x1000, 0x20, "f");
        put_lines(&buf, 0x5000, shift); /* of code that never comes */
        put_load(&buf, 3, 0x3000, 0x20, "g");
        assert_int_equal(td_jitdump_parse(&dump, buf.data, buf.len, NULL), TD_OK);
        expect(&dump, 0x1007, 5, "f", 10);
        expect(&dump, 0x1008, 5, "f", 11);
        expect(&dump, 0x3008, 5, "g", 0);
        td_jitdump_release(&dump);
        td_buf_release(&buf);
    }
}

/* node 20 writes file names from freed memory; the name of the function has it. */
static void test_freed_file(void **state)
{
    static const char junk[] = "\x9dg\x03\0\0\0\0\0[pH\xfa\xa4pp.js";
    struct td_buf buf = {0};
    struct td_jitdump dump = {.stopped_at = 0};

    (void)state;
    put_header(&buf, 0);
    const size_t record = begin(&buf, 2, 1);
    td_buf_u64(&buf, 0x1000);
    td_buf_u64(&buf, 3);
    for (uint32_t i = 0; i < 3; i++) {
        td_buf_u64(&buf, 0x1000 + 8 * (uint64_t)i);
        td_buf_u32(&buf, 10 + i);
        td_buf_u32(&buf, 0);
        td_buf_bytes(&buf, junk, sizeof(junk));
    }
    td_buf_u64(&buf, 0); /* padding */
    end(&buf, record);
    put_load(&buf, 2, 0x1000, 0x20, "JS:*work app.js:7:1");
    assert_int_equal(td_jitdump_parse(&dump, buf.data, buf.len, NULL), TD_OK);
    expect(&dump, 0x1000, 5, "JS:*work app.js:7:1", 10);
    expect(&dump, 0x1009, 5, "JS:*work app.js:7:1", 11);
    expect(&dump, 0x101f, 5, "JS:*work app.js:7:1", 12);
    td_jitdump_release(&dump);
    td_buf_release(&buf);
}

/* Cut at every byte: what is whole is there, and it is said where the rest begins. */
static void test_cut(void **state)
{
    struct td_buf buf = {0};
    size_t whole;

    (void)state;
    put_header(&buf, 0);
    put_load(&buf, 100, 0x1000, 0x20, "f");
    whole = buf.len;
    put_lines(&buf, 0x2000, 0);
    put_load(&buf, 200, 0x2000, 0x20, "g");
    for (size_t cut = 0; cut < buf.len; cut++) {
        struct td_buf exact = {0};
        struct td_jitdump dump = {.stopped_at = 0};

        td_buf_bytes(&exact, buf.data, cut);
        const int rc = td_jitdump_parse(&dump, exact.data, exact.len, NULL);
        assert_int_equal(rc, cut < 40 ? TD_EFORMAT : TD_OK);
        if (rc == TD_OK) {
            assert_true(dump.stopped_at <= cut);
            expect(&dump, 0x1008, 500, cut < whole ? NULL : "f", 0);
            expect(&dump, 0x2008, 500, NULL, 0);
        }
        td_jitdump_release(&dump);
        td_buf_release(&exact);
    }
    td_buf_release(&buf);
}

static void test_refused(void **state)
{
    struct td_buf buf = {0};
    struct td_jitdump dump = {.stopped_at = 0};
    struct td_err err = TD_ERR_INIT;

    (void)state;
    put_header(&buf, 0);
    buf.data[4] = 2; /* version */
    assert_int_equal(td_jitdump_parse(&dump, buf.data, buf.len, &err), TD_EFORMAT);
    buf.data[4] = 1;
    for (unsigned i = 0; i < 2; i++) { /* the other byte order */
        const uint8_t byte = buf.data[i];
        buf.data[i] = buf.data[3 - i];
        buf.data[3 - i] = byte;
    }
    assert_int_equal(td_jitdump_parse(&dump, buf.data, buf.len, &err), TD_EFORMAT);
    assert_non_null(strstr(err.text, "byte order"));
    td_jitdump_release(&dump);
    td_buf_release(&buf);
}

static void test_names(void **state)
{
    (void)state;
    assert_true(td_jitdump_is_name("/tmp/jit-4711.dump"));
    assert_true(td_jitdump_is_name("jit-1.dump"));
    assert_false(td_jitdump_is_name("/tmp/jit-.dump"));
    assert_false(td_jitdump_is_name("/tmp/jit-4711.dumps"));
    assert_false(td_jitdump_is_name("/tmp/jit-4711.dump/x"));
    assert_false(td_jitdump_is_name("/usr/lib/libjit-1.dump.so"));
}

/* Another user's file is not believed. */
static void test_owner(void **state)
{
    char path[] = "/tmp/td-jitdump-XXXXXX";
    struct td_jitdump dump = {.stopped_at = 0};
    struct td_buf buf = {0};
    const int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    put_header(&buf, 0);
    put_load(&buf, 100, 0x1000, 0x20, "f");
    assert_int_equal(write(fd, buf.data, buf.len), (ssize_t)buf.len);
    lseek(fd, 0, SEEK_SET);
    if (geteuid() != 0)
        assert_int_equal(td_jitdump_read(&dump, fd, getuid() + 1, NULL), TD_EMISMATCH);
    lseek(fd, 0, SEEK_SET);
    assert_int_equal(td_jitdump_read(&dump, fd, getuid(), NULL), TD_OK);
    expect(&dump, 0x1000, 100, "f", 0);
    td_jitdump_release(&dump);
    td_buf_release(&buf);
    close(fd);
    unlink(path);
}

/* Of gigabytes of machine code nothing is kept; what stands behind it is found. */
static void test_large(void **state)
{
    char path[] = "/tmp/td-jitdump-XXXXXX";
    struct td_jitdump dump = {.stopped_at = 0};
    const uint32_t code_bytes = UINT32_C(200) << 20;
    const int fd = mkstemp(path);
    struct td_buf buf = {0};
    off_t at = 0;

    (void)state;
    assert_true(fd >= 0);
    put_header(&buf, 0);
    for (uint64_t i = 0; i < 20; i++) { /* the code is a hole in the file */
        const size_t start = buf.len;

        put_load(&buf, 100, 0x100000 * (i + 1), 0x20, i == 19 ? "last" : "f");
        const uint32_t size = (uint32_t)(buf.len - start) + code_bytes;
        memcpy(buf.data + start + 4, &size, sizeof(size));
        assert_int_equal(pwrite(fd, buf.data, buf.len, at), (ssize_t)buf.len);
        at += (off_t)buf.len + code_bytes;
        td_buf_clear(&buf);
    }
    assert_int_equal(ftruncate(fd, at), 0);
    assert_int_equal(td_jitdump_read(&dump, fd, getuid(), NULL), TD_OK);
    assert_int_equal(dump.code_count, 20);
    assert_false(dump.cut);
    assert_true(dump.bytes.cap < (size_t)1 << 20);
    expect(&dump, 0x1400000, 100, "last", 0);
    td_jitdump_release(&dump);
    td_buf_release(&buf);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),   cmocka_unit_test(test_other_clock),
        cmocka_unit_test(test_lines),   cmocka_unit_test(test_cut),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_names),
        cmocka_unit_test(test_owner),   cmocka_unit_test(test_freed_file),
        cmocka_unit_test(test_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
