/* SPDX-License-Identifier: MIT */
/* record/run/loop: what it calls, when and how often, for a job that does nothing but take notes.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "record/run/loop.h"

#define MS UINT64_C(1000000)

/* A job, and the letters of its hooks in the order in which they were called. */
struct fixture {
    struct td_request request;
    struct td_plan plan;
    struct td_caps caps;
    struct td_run run;
    char notes[32];
    bool refuse;         /* `open` fails */
    unsigned interrupts; /* to send while the command runs */
    uint64_t stop_after_ns;
};

static void note(struct fixture *f, const char *letter)
{
    strncat(f->notes, letter, sizeof(f->notes) - strlen(f->notes) - 1);
}

static int open_run(void *ctx, struct td_err *err)
{
    struct fixture *f = ctx;
    const struct td_target_program program = {.argv = f->request.command,
                                              .inherited = f->request.inherited};

    note(f, "o");
    if (f->refuse)
        return td_fail(err, TD_EIO, "cannot be opened");
    if (f->stop_after_ns)
        f->run.stop_ns = td_clock_ns() + f->stop_after_ns;
    return td_run_prepare(&f->run, &program, err);
}

static void executed(void *ctx)
{
    struct fixture *f = ctx;

    note(f, "x");
    assert_true(f->run.running);
}

static uint64_t due_ns(void *ctx, uint64_t now)
{
    (void)ctx;
    return now + 10 * MS;
}

static void on_time(void *ctx, uint64_t now)
{
    struct fixture *f = ctx;

    (void)now;
    if (f->interrupts) {
        f->interrupts--;
        kill(getpid(), SIGINT);
    }
}

static void finish(void *ctx)
{
    struct fixture *f = ctx;

    note(f, f->run.target.ended ? "f" : "F"); /* F: the command goes on */
}

static void close_run(void *ctx)
{
    struct fixture *f = ctx;

    note(f, f->run.began ? "c" : "C"); /* C: it did not begin */
}

/* Runs sh -c `line` as it was when the test began (*state); the exit status. */
static int run(struct fixture *f, void **state, const char *line, bool second_ends)
{
    const struct td_run_job job = {.open = open_run,
                                   .executed = executed,
                                   .due_ns = due_ns,
                                   .on_time = on_time,
                                   .finish = finish,
                                   .close = close_run,
                                   .second_ends = second_ends};
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, td_xstrdup(line), NULL};

    f->request.command = argv;
    f->request.inherited = *state;
    f->request.quiet = true;
    f->plan.scope = TD_SCOPE_COMMAND;
    f->plan.passes = f->plan.passes ? f->plan.passes : 1;
    td_run_init(&f->run, &f->request, &f->caps, &f->plan, NULL);
    const int status = td_loop_run(&f->run, &job, f);
    free(argv[2]);
    return status;
}

static void test_command(void **state)
{
    struct fixture f = {.refuse = false};

    assert_int_equal(run(&f, state, "exit 3", true), 3);
    assert_string_equal(f.notes, "oxfc");
    f = (struct fixture){.refuse = false};
    assert_int_equal(run(&f, state, "kill -TERM $$", true), 128 + SIGTERM);
    assert_string_equal(f.notes, "oxfc");
}

static void test_refused(void **state)
{
    struct fixture f = {.refuse = true, .plan = {.passes = 2}};

    assert_int_equal(run(&f, state, "exit 3", true), TD_EXIT_FAILED);
    assert_string_equal(f.notes, "oC");
}

/* A further run follows a command that failed, but not one that was ended. */
static void test_passes(void **state)
{
    struct fixture f = {.plan = {.passes = 3}};

    assert_int_equal(run(&f, state, "exit 1", true), 1);
    assert_string_equal(f.notes, "oxfcoxfcoxfc");
    f = (struct fixture){.plan = {.passes = 3}};
    assert_int_equal(run(&f, state, "kill -KILL $$", true), 128 + SIGKILL);
    assert_string_equal(f.notes, "oxfc");
}

/* The duration ends the job once, and the command is waited for. */
static void test_duration(void **state)
{
    struct fixture f = {.stop_after_ns = 50 * MS};

    assert_int_equal(run(&f, state, "sleep 1; exit 4", true), 4);
    assert_string_equal(f.notes, "oxFc");
}

static void test_interrupts(void **state)
{
    struct fixture f = {.interrupts = 1};

    assert_int_equal(run(&f, state, "sleep 0.3; exit 5", true), 5);
    assert_string_equal(f.notes, "oxfc");
    f = (struct fixture){.interrupts = 2, .plan = {.passes = 2}};
    assert_int_equal(run(&f, state, "sleep 1; exit 5", true), 5);
    assert_string_equal(f.notes, "oxFc");
    f = (struct fixture){.interrupts = 2};
    assert_int_equal(run(&f, state, "sleep 0.3; exit 5", false), 5);
    assert_string_equal(f.notes, "oxfc");
}

int main(void)
{
    struct td_inherited inherited;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_command, &inherited),
        cmocka_unit_test_prestate(test_refused, &inherited),
        cmocka_unit_test_prestate(test_passes, &inherited),
        cmocka_unit_test_prestate(test_duration, &inherited),
        cmocka_unit_test_prestate(test_interrupts, &inherited),
    };

    td_inherited_save(&inherited);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
