/* SPDX-License-Identifier: MIT */
/* The memory that tdrec and process images share: pieces, places, notes, and who may still open it.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "record/sim/share/spool.h"

static struct td_spool *make(char **name)
{
    struct td_spool *spool = NULL;
    struct td_err err = TD_ERR_INIT;

    if (td_spool_create(&spool, &err) != TD_OK)
        fail_msg("%s", err.text);
    *name = td_spool_name(spool);
    return spool;
}

static void expect_piece(const struct td_spool *spool, uint32_t image, const char *text)
{
    struct td_buf buf = {0};

    assert_true(td_spool_get(spool, image, &buf));
    assert_int_equal(buf.len, strlen(text));
    assert_memory_equal(buf.data, text, buf.len);
    td_buf_release(&buf);
}

static void test_pieces(void **state)
{
    char *name = NULL;
    struct td_spool *maker = make(&name);
    struct td_spool *image = td_spool_open(name);
    struct td_buf buf = {0};

    (void)state;
    assert_non_null(image);
    assert_true(td_spool_reachable(name) && td_spool_watched(image, name));
    const uint32_t first = td_spool_claim(image), second = td_spool_claim(image);
    assert_int_not_equal(first, second);
    assert_int_equal(td_spool_images(maker), 2);
    assert_false(td_spool_get(maker, first, &buf));
    assert_true(td_spool_put(image, first, "one", 3));
    expect_piece(maker, first, "one");
    assert_true(td_spool_put(image, first, "another", 7));
    expect_piece(maker, first, "another");
    assert_int_equal(td_spool_look(maker, first).sequence, 2);
    assert_false(td_spool_look(maker, first).ended);
    td_spool_end(image, first);
    assert_true(td_spool_look(maker, first).ended);
    td_spool_discard(maker, first);
    assert_false(td_spool_look(maker, first).claimed);
    assert_int_equal(td_spool_claim(image), first);
    assert_false(td_spool_get(maker, first, &buf));
    td_spool_leave(maker);
    assert_false(td_spool_watched(image, name));
    td_spool_close(image);
    td_spool_close(maker);
    assert_false(td_spool_reachable(name));
    free(name);
    td_buf_release(&buf);
}

/* Rooms grow; what was put before stays until the next is whole. */
static void test_growth(void **state)
{
    char *name = NULL;
    struct td_spool *spool = make(&name);
    const uint32_t image = td_spool_claim(spool);
    struct td_buf buf = {0};

    (void)state;
    for (size_t size = 1; size < (size_t)8 << 20; size = size * 3 + 1) {
        uint8_t *data = td_xalloc(size);

        memset(data, (int)(size % 251), size);
        assert_true(td_spool_put(spool, image, data, size));
        assert_true(td_spool_get(spool, image, &buf));
        assert_int_equal(buf.len, size);
        assert_memory_equal(buf.data, data, size);
        free(data);
    }
    assert_false(td_spool_put(spool, image, "", (size_t)64 << 30));
    assert_true(td_spool_get(spool, image, &buf));
    td_buf_release(&buf);
    td_spool_close(spool);
    free(name);
}

static void test_notes(void **state)
{
    char *name = NULL;
    struct td_spool *spool = make(&name);

    (void)state;
    td_spool_note(spool, "first");
    td_spool_note(spool, "second");
    char *notes = td_spool_notes(spool);
    assert_string_equal(notes, "first\nsecond\n");
    free(notes);
    for (int i = 0; i < 10000; i++)
        td_spool_note(spool, "one of too many to be kept");
    notes = td_spool_notes(spool);
    assert_true(strlen(notes) <= 65536 && strncmp(notes, "first\n", 6) == 0);
    free(notes);
    td_spool_count(spool, 5, 7);
    td_spool_count(spool, 1, 1);
    assert_true(td_spool_instructions(spool) == 6 && td_spool_cycles(spool) == 8);
    td_spool_close(spool);
    free(name);
}

/* A child that dies in the middle of its work leaves its last whole piece; places run out. */
static void test_images(void **state)
{
    char *name = NULL;
    struct td_spool *spool = make(&name);
    const uint32_t image = td_spool_claim(spool);
    int status = 0;
    uint32_t last = 0;

    (void)state;
    const pid_t pid = fork();
    if (pid == 0) {
        td_spool_put(spool, image, "of a child", 10);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    expect_piece(spool, image, "of a child");
    for (uint32_t i = 0; i < 20000; i++)
        last = td_spool_claim(spool);
    assert_int_equal(last, TD_SPOOL_NONE);
    assert_false(td_spool_put(spool, last, "x", 1));
    td_spool_end(spool, last);
    assert_true(td_spool_refused(spool) > 0);
    td_spool_close(spool);
    free(name);
}

/* The program runs in the process that holds the memory: it cannot take it from under tdrec. */
static void test_size_is_kept(void **state)
{
    char *name = NULL;
    struct td_spool *spool = make(&name);
    const int fd = open(name, O_RDWR | O_CLOEXEC);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(truncate(name, 0), -1);
    close(fd);
    assert_int_equal(td_spool_images(spool), 0);
    td_spool_close(spool);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),       cmocka_unit_test(test_growth),
        cmocka_unit_test(test_notes),        cmocka_unit_test(test_images),
        cmocka_unit_test(test_size_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
