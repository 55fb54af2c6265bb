/* SPDX-License-Identifier: MIT */
/* formats/kernel/waits: what of the kernel's records is a wait, and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/kernel/waits.h"

struct seen {
    unsigned count;
    uint32_t tid;
    uint64_t since_ns, ns, address; /* of the last; address 0: no stack */
};

static void take(void *ctx, const struct td_wait *wait)
{
    struct seen *seen = ctx;

    seen->count++;
    seen->tid = wait->tid;
    seen->since_ns = wait->since_ns;
    seen->ns = wait->ns;
    seen->address = wait->stack->len ? wait->stack->frames[0].address : 0;
}

static void leave(struct td_waits *waits, uint32_t tid, uint64_t address)
{
    struct td_stack stack = {0};

    td_stack_set(&stack, address);
    td_waits_leave(waits, tid, &stack);
    td_stack_release(&stack);
}

static void out(struct td_waits *waits, uint32_t tid, uint64_t time_ns, bool preempted)
{
    td_waits_switch(waits, &(struct td_rec){.kind = TD_REC_SWITCH,
                                            .pid = 1,
                                            .tid = tid,
                                            .time_ns = time_ns,
                                            .u.leaves = {.out = true, .preempted = preempted}});
}

static void in(struct td_waits *waits, uint32_t tid, uint64_t time_ns)
{
    td_waits_switch(
        waits, &(struct td_rec){.kind = TD_REC_SWITCH, .pid = 1, .tid = tid, .time_ns = time_ns});
}

static void test_waits(void **state)
{
    struct seen seen = {.count = 0};
    struct td_waits *waits = td_waits_new(take, &seen);

    (void)state;
    /* A thread that begins has not waited. */
    in(waits, 5, 100);
    assert_int_equal(seen.count, 0);
    leave(waits, 5, 0x1000);
    out(waits, 5, 200, false);
    leave(waits, 6, 0x2000);
    out(waits, 6, 210, false);
    in(waits, 5, 260);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.tid, 5);
    assert_int_equal(seen.since_ns, 200);
    assert_int_equal(seen.ns, 60);
    assert_int_equal(seen.address, 0x1000);
    /* Without a stack: not that of the wait before. */
    out(waits, 5, 300, false);
    in(waits, 5, 310);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.address, 0);
    in(waits, 6, 400);
    assert_int_equal(seen.ns, 190);
    assert_int_equal(seen.address, 0x2000);
    assert_int_equal(td_waits_preempted_ns(waits), 0);
    td_waits_free(waits);
}

static void test_others(void **state)
{
    struct seen seen = {.count = 0};
    struct td_waits *waits = td_waits_new(take, &seen);

    (void)state;
    /* Taken off the CPU, it could have gone on. */
    leave(waits, 5, 0x1000);
    out(waits, 5, 100, true);
    in(waits, 5, 130);
    assert_int_equal(seen.count, 0);
    assert_int_equal(td_waits_preempted_ns(waits), 30);
    /* A record was lost: only the second time counts, of which the end is known. */
    out(waits, 5, 200, false);
    out(waits, 5, 300, false);
    in(waits, 5, 310);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.ns, 10);
    /* It ends, and is not waited for; one that waits at the end has waited until then. */
    out(waits, 5, 400, false);
    td_waits_exit(waits, 5);
    out(waits, 6, 410, false);
    td_waits_end(waits, 500);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.tid, 6);
    assert_int_equal(seen.ns, 90);
    td_waits_end(waits, 600);
    /* The idle task, and records without a time or a thread. */
    out(waits, 0, 700, false);
    in(waits, 0, 800);
    out(waits, 7, 0, false);
    in(waits, 7, 800);
    assert_int_equal(seen.count, 2);
    td_waits_exit(waits, 99);
    /* A loss: who comes back was away; of who does not, nothing is known. */
    out(waits, 8, 1000, false);
    td_waits_lost(waits, 1010);
    in(waits, 8, 1100);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.ns, 100);
    out(waits, 8, 1200, false);
    td_waits_lost(waits, 0); /* up to the last switch */
    out(waits, 9, 1210, false);
    td_waits_end(waits, 1300);
    assert_int_equal(seen.count, 4);
    assert_int_equal(seen.tid, 9);
    assert_int_equal(seen.ns, 90);
    td_waits_free(waits);
    td_waits_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
