/* SPDX-License-Identifier: MIT */
/* record/run/control: commands and answers, however the bytes come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "record/run/control.h"

struct rig {
    struct td_control *control;
    int in, answers; /* our ends */
    int theirs[2];
};

static void rig_open(struct rig *rig)
{
    struct td_err err = TD_ERR_INIT;
    int in[2], out[2];
    char words[64];

    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    *rig = (struct rig){.in = in[1], .answers = out[0], .theirs = {in[0], out[1]}};
    snprintf(words, sizeof(words), "fd:%d,%d", in[0], out[1]);
    assert_int_equal(td_control_open(&rig->control, words, &err), TD_OK);
}

static void rig_close(struct rig *rig)
{
    td_control_close(rig->control);
    close(rig->answers);
    close(rig->theirs[0]);
    close(rig->theirs[1]);
}

/* The commands of `bytes`, each as its number's letter from 'a' on, written in pieces that end
 * where a bit of `cuts` is set. */
static void commands_of(char *ret, const char *bytes, size_t len, uint64_t cuts)
{
    struct rig rig;
    const char *text = NULL;
    size_t from = 0, count = 0;

    rig_open(&rig);
    for (size_t i = 0; i < len; i++) {
        if (i + 1 < len && !(cuts >> i % 64 & 1))
            continue;
        assert_int_equal(write(rig.in, bytes + from, i + 1 - from), i + 1 - from);
        from = i + 1;
        assert_true(td_control_read(rig.control));
        enum td_control_command command;
        while ((command = td_control_next(rig.control, &text)) != TD_CONTROL_NONE)
            ret[count++] = (char)('a' + (char)command);
    }
    close(rig.in);
    assert_false(td_control_read(rig.control));
    assert_int_equal(td_control_fd(rig.control), -1);
    if (td_control_next(rig.control, &text) != TD_CONTROL_NONE)
        ret[count++] = '?';
    assert_int_equal(td_control_next(rig.control, &text), TD_CONTROL_NONE);
    ret[count] = '\0';
    rig_close(&rig);
}

static void test_pieces(void **state)
{
    static const char bytes[] = "enable\n disable \r\n\n\nping\0snapshot\nstop\nevlist\nenabl\n";
    static const char more[] = "evlist -v\nenable x\ndisabled\nstop\n";
    char whole[32], parts[32];
    uint64_t cuts = 1;

    (void)state;
    commands_of(whole, bytes, sizeof(bytes) - 1, 0);
    assert_string_equal(whole, "bcfdegh");
    for (int i = 0; i < 200; i++) {
        cuts = cuts * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        commands_of(parts, bytes, sizeof(bytes) - 1, cuts);
        assert_string_equal(parts, whole);
    }
    commands_of(whole, more, sizeof(more) - 1, 0);
    assert_string_equal(whole, "ghhe");
}

static void test_odd(void **state)
{
    char got[32], long_line[4096];

    (void)state;
    commands_of(got, "enable", 6, 0);
    assert_string_equal(got, "b");
    commands_of(got, "ena", 3, 0);
    assert_string_equal(got, "?");
    memset(long_line, 'x', sizeof(long_line));
    commands_of(got, long_line, sizeof(long_line), 0);
    assert_string_equal(got, "h");
}

static void test_words(void **state)
{
    static const char *const good[] = {"fifo:/x", "fifo:x,y", "fd:0", "fd:3,4", "fifo:a:b"};
    static const char *const bad[] = {"",     "fifo",  "fifo:", "fifo:,y", "fifo:x,", "fd:",
                                      "fd:x", "fd:-1", "fd:1,", "fd:1,y",  "pipe:x",  "fd:1,2,3"};

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(good); i++)
        assert_int_equal(td_control_check(good[i], NULL), TD_OK);
    for (size_t i = 0; i < TD_ARRAY_SIZE(bad); i++) {
        struct td_err err = TD_ERR_INIT;

        assert_int_equal(td_control_check(bad[i], &err), TD_EUSAGE);
        assert_non_null(strstr(err.text, "--control"));
    }
}

/* Five bytes each, as perf's. */
static void test_answers(void **state)
{
    struct rig rig;
    char got[16] = "";

    (void)state;
    rig_open(&rig);
    assert_true(td_control_answer(rig.control, true));
    assert_true(td_control_answer(rig.control, false));
    assert_int_equal(read(rig.answers, got, sizeof(got)), 10);
    assert_memory_equal(got, "ack\n\0nack\n", 10);
    close(rig.in);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_odd),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
