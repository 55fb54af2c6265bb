/* SPDX-License-Identifier: MIT */
/* record/events/open_errors: each refusal of the kernel gives its own sentence, with the cause and
 * the fix. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/events/events.h"

static char no_name[] = "";

static struct td_caps user(int64_t paranoid)
{
    return (struct td_caps){.paranoid = paranoid, .hypervisor = no_name, .nofile_hard = 4711};
}

static void expect(const struct td_caps *caps, const char *event, int sys_errno, int code,
                   const char *part)
{
    struct td_err err = TD_ERR_INIT;

    assert_int_equal(td_events_explain(caps, event, sys_errno, &err), code);
    if (!strstr(err.text, part))
        fail_msg("errno %d: '%s' does not say '%s'", sys_errno, err.text, part);
    assert_int_equal(err.sys_errno, sys_errno);
    assert_null(strchr(err.text, '{'));
}

static void test_sentences(void **state)
{
    struct td_caps caps = user(2);

    (void)state;
    expect(&caps, "cpu-clock", EACCES, TD_EPERM, "another user's");
    expect(&caps, "cpu-clock", ENOSYS, TD_EUNSUPPORTED, "CONFIG_PERF_EVENTS");
    expect(&caps, "cycles", ENOENT, TD_EUNSUPPORTED, "no counter for cycles");
    expect(&caps, "cpu-clock", EMFILE, TD_EUNSUPPORTED, "4711");
    expect(&caps, "cpu-clock", EBUSY, TD_EUNSUPPORTED, "nmi_watchdog");
    expect(&caps, "cpu-clock", E2BIG, TD_EUNSUPPORTED, "refused cpu-clock");
    caps = user(3);
    expect(&caps, "cpu-clock", EACCES, TD_EPERM, "perf_event_paranoid=2");
    caps.user_ns = true;
    expect(&caps, "cpu-clock", EACCES, TD_EPERM, "users: on the host: sudo sysctl");
    caps.seccomp = true;
    expect(&caps, "cpu-clock", EACCES, TD_EPERM, "perf_event_paranoid is 3");
    caps.refused_errno = EPERM;
    expect(&caps, "cpu-clock", EPERM, TD_EPERM, "seccomp");
    expect(&caps, "cpu-clock", ENOSYS, TD_EUNSUPPORTED, "seccomp");
    caps = user(2);
    caps.cap_perfmon = true;
    expect(&caps, "cpu-clock", EPERM, TD_EPERM, "lockdown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sentences)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
