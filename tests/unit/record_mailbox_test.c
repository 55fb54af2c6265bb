/* SPDX-License-Identifier: MIT */
/* The memory that tdrec and process images share: snapshots, places, notes, and who may still open
 * it.
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
#include "record/sim/share/mailbox.h"

static struct td_mailbox *make(char **name)
{
    struct td_mailbox *mailbox = NULL;
    struct td_err err = TD_ERR_INIT;

    if (td_mailbox_create(&mailbox, &err) != TD_OK)
        fail_msg("%s", err.text);
    *name = td_mailbox_name(mailbox);
    return mailbox;
}

static void expect_snapshot(const struct td_mailbox *mailbox, uint32_t image, const char *text)
{
    struct td_buf buf = {0};

    assert_true(td_mailbox_get(mailbox, image, &buf));
    assert_int_equal(buf.len, strlen(text));
    assert_memory_equal(buf.data, text, buf.len);
    td_buf_release(&buf);
}

static void test_snapshots(void **state)
{
    char *name = NULL;
    struct td_mailbox *maker = make(&name);
    struct td_mailbox *image = td_mailbox_open(name);
    struct td_buf buf = {0};

    (void)state;
    assert_non_null(image);
    assert_true(td_mailbox_reachable(name) && td_mailbox_watched(image, name));
    const uint32_t first = td_mailbox_claim(image), second = td_mailbox_claim(image);
    assert_int_not_equal(first, second);
    assert_int_equal(td_mailbox_images(maker), 2);
    assert_false(td_mailbox_get(maker, first, &buf));
    assert_true(td_mailbox_put(image, first, "one", 3));
    expect_snapshot(maker, first, "one");
    assert_true(td_mailbox_put(image, first, "another", 7));
    expect_snapshot(maker, first, "another");
    assert_int_equal(td_mailbox_look(maker, first).sequence, 2);
    assert_false(td_mailbox_look(maker, first).ended);
    td_mailbox_end(image, first);
    assert_true(td_mailbox_look(maker, first).ended);
    td_mailbox_discard(maker, first);
    assert_false(td_mailbox_look(maker, first).claimed);
    assert_int_equal(td_mailbox_claim(image), first);
    assert_false(td_mailbox_get(maker, first, &buf));
    td_mailbox_leave(maker);
    assert_false(td_mailbox_watched(image, name));
    td_mailbox_close(image);
    td_mailbox_close(maker);
    assert_false(td_mailbox_reachable(name));
    free(name);
    td_buf_release(&buf);
}

/* Rooms grow; what was put before stays until the next is whole. */
static void test_growth(void **state)
{
    char *name = NULL;
    struct td_mailbox *mailbox = make(&name);
    const uint32_t image = td_mailbox_claim(mailbox);
    struct td_buf buf = {0};

    (void)state;
    for (size_t size = 1; size < (size_t)8 << 20; size = size * 3 + 1) {
        uint8_t *data = td_xalloc(size);

        memset(data, (int)(size % 251), size);
        assert_true(td_mailbox_put(mailbox, image, data, size));
        assert_true(td_mailbox_get(mailbox, image, &buf));
        assert_int_equal(buf.len, size);
        assert_memory_equal(buf.data, data, size);
        free(data);
    }
    assert_false(td_mailbox_put(mailbox, image, "", (size_t)64 << 30));
    assert_true(td_mailbox_get(mailbox, image, &buf));
    td_buf_release(&buf);
    td_mailbox_close(mailbox);
    free(name);
}

static void test_notes(void **state)
{
    char *name = NULL;
    struct td_mailbox *mailbox = make(&name);

    (void)state;
    td_mailbox_note(mailbox, "first");
    td_mailbox_note(mailbox, "second");
    char *notes = td_mailbox_notes(mailbox);
    assert_string_equal(notes, "first\nsecond\n");
    free(notes);
    for (int i = 0; i < 10000; i++)
        td_mailbox_note(mailbox, "one of too many to be kept");
    notes = td_mailbox_notes(mailbox);
    assert_true(strlen(notes) <= 65536 && strncmp(notes, "first\n", 6) == 0);
    free(notes);
    td_mailbox_count(mailbox, 5, 7);
    td_mailbox_count(mailbox, 1, 1);
    assert_true(td_mailbox_instructions(mailbox) == 6 && td_mailbox_cycles(mailbox) == 8);
    td_mailbox_close(mailbox);
    free(name);
}

/* A child that dies in the middle of its work leaves its last whole snapshot; places run out. */
static void test_images(void **state)
{
    char *name = NULL;
    struct td_mailbox *mailbox = make(&name);
    const uint32_t image = td_mailbox_claim(mailbox);
    int status = 0;
    uint32_t last = 0;

    (void)state;
    const pid_t pid = fork();
    if (pid == 0) {
        td_mailbox_put(mailbox, image, "of a child", 10);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    expect_snapshot(mailbox, image, "of a child");
    for (uint32_t i = 0; i < 20000; i++)
        last = td_mailbox_claim(mailbox);
    assert_int_equal(last, TD_MAILBOX_NONE);
    assert_false(td_mailbox_put(mailbox, last, "x", 1));
    td_mailbox_end(mailbox, last);
    assert_true(td_mailbox_refused(mailbox) > 0);
    td_mailbox_close(mailbox);
    free(name);
}

/* The program runs in the process that holds the memory: it cannot take it from under tdrec. */
static void test_size_is_kept(void **state)
{
    char *name = NULL;
    struct td_mailbox *mailbox = make(&name);
    const int fd = open(name, O_RDWR | O_CLOEXEC);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(truncate(name, 0), -1);
    close(fd);
    assert_int_equal(td_mailbox_images(mailbox), 0);
    td_mailbox_close(mailbox);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snapshots),    cmocka_unit_test(test_growth),
        cmocka_unit_test(test_notes),        cmocka_unit_test(test_images),
        cmocka_unit_test(test_size_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
