/* SPDX-License-Identifier: MIT */
/* record/ibs: registers of single samples, set by hand after AMD's manual, to flags and nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "formats/kinds.h"
#include "record/events/ibs.h"

#define BIT(n)   (UINT64_C(1) << (n))
#define ZEN4     (1u << 11)
#define EXTENDED (1u << 9)

static struct td_buf raw(uint32_t caps, const uint64_t *registers, size_t count)
{
    struct td_buf buf = {0};

    td_buf_u32(&buf, caps);
    for (size_t i = 0; i < count; i++)
        td_buf_u64(&buf, registers[i]);
    return buf;
}

static struct td_ibs op(uint32_t caps, uint64_t data, uint64_t data2, uint64_t data3)
{
    const uint64_t registers[] = {BIT(18), 0x401000, data, data2, data3, 0x7f0000001000, 0};
    struct td_buf buf = raw(caps, registers, TD_ARRAY_SIZE(registers));
    struct td_ibs ibs;

    assert_true(td_ibs_read_op(&ibs, buf.data, buf.len));
    for (size_t cut = 0; cut < buf.len; cut++) {
        struct td_ibs partial;

        assert_false(td_ibs_read_op(&partial, buf.data, cut));
    }
    td_buf_release(&buf);
    return ibs;
}

static void test_branches(void **state)
{
    const struct td_ibs missed = op(ZEN4, BIT(36) | BIT(37) | 25 << 16 | 4, 0, 0);
    const struct td_ibs right = op(ZEN4, BIT(35) | BIT(37), 0, 0);

    (void)state;
    assert_int_equal(missed.flags, TD_FLAG_MISPREDICTED | TD_FLAG_BRANCH);
    assert_int_equal(missed.instr_latency, 25);
    assert_int_equal(missed.retire_wait, 4);
    assert_int_equal(td_ibs_node(&missed), TD_NODE_BRANCH_MISPREDICTS);
    assert_int_equal(td_ibs_node(&right), TD_NODE_NONE);
}

static void test_loads(void **state)
{
    const uint64_t miss = BIT(0) | BIT(7);
    const struct td_ibs l2 = op(ZEN4, 0, 0, miss | UINT64_C(14) << 32);
    const struct td_ibs l3 = op(ZEN4, 0, 1, miss | BIT(20) | UINT64_C(50) << 32);
    const struct td_ibs dram = op(ZEN4, 0, 3, miss | BIT(20) | UINT64_C(430) << 32);
    const struct td_ibs remote = op(ZEN4, 0, 3 | BIT(4), miss | BIT(20));
    /* The upper bits of the source are another register's before Zen 4: 3, not 11. */
    const struct td_ibs zen3 = op(0, 0, 3 | BIT(6), miss | BIT(20));
    const struct td_ibs not_dram = op(ZEN4, 0, 3 | BIT(6), miss | BIT(20));
    const struct td_ibs walk = op(ZEN4, 0, 0, BIT(0) | BIT(2) | BIT(3) | UINT64_C(60) << 48);
    const struct td_ibs hit = op(ZEN4, 0, 3, BIT(0) | UINT64_C(9) << 32);

    (void)state;
    assert_int_equal(td_ibs_node(&l2), TD_NODE_L2_BOUND);
    assert_int_equal(l2.latency, 14);
    assert_int_equal(td_ibs_node(&l3), TD_NODE_L3_BOUND);
    assert_int_equal(td_ibs_node(&dram), TD_NODE_DRAM_BOUND);
    assert_int_equal(dram.latency, 430);
    assert_true(remote.flags & TD_FLAG_REMOTE);
    assert_int_equal(td_ibs_node(&zen3), TD_NODE_DRAM_BOUND);
    assert_int_equal(td_ibs_node(&not_dram), TD_NODE_L3_BOUND);
    assert_int_equal(td_ibs_node(&walk), TD_NODE_L1_BOUND);
    assert_int_equal(walk.tlb_latency, 60);
    /* What the registers say beside a hit is of an older sample. */
    assert_int_equal(hit.flags, TD_FLAG_LOAD);
    assert_int_equal(hit.latency, 0);
    assert_int_equal(td_ibs_node(&hit), TD_NODE_NONE);
}

static void test_stores(void **state)
{
    const struct td_ibs store = op(ZEN4, 0, 3, BIT(1) | BIT(7));

    (void)state;
    assert_int_equal(td_ibs_node(&store), TD_NODE_STORE_BOUND);
    assert_int_equal(store.flags, TD_FLAG_STORE | TD_FLAG_L1D_MISS);
}

static void test_invalid(void **state)
{
    const uint64_t registers[] = {0, 0x401000, BIT(36) | BIT(37), 0, 0, 0, 0};
    struct td_buf buf = raw(ZEN4, registers, TD_ARRAY_SIZE(registers));
    struct td_ibs ibs;

    (void)state;
    assert_false(td_ibs_read_op(&ibs, buf.data, buf.len));
    assert_false(td_ibs_read_fetch(&ibs, buf.data, buf.len));
    td_buf_release(&buf);
}

static struct td_ibs fetch(uint32_t caps, uint64_t control, uint64_t extended)
{
    const uint64_t registers[] = {BIT(49) | control, 0x401000, 0, extended};
    struct td_buf buf = raw(caps, registers, caps & EXTENDED ? 4 : 3);
    struct td_ibs ibs;

    assert_true(td_ibs_read_fetch(&ibs, buf.data, buf.len));
    assert_false(td_ibs_read_fetch(&ibs, buf.data, buf.len - 1));
    assert_true(td_ibs_read_fetch(&ibs, buf.data, buf.len));
    td_buf_release(&buf);
    return ibs;
}

static void test_fetches(void **state)
{
    const struct td_ibs plain = fetch(EXTENDED, BIT(50) | UINT64_C(4) << 32, 0);
    const struct td_ibs icache = fetch(EXTENDED, BIT(51) | BIT(58) | UINT64_C(60) << 32, 0);
    const struct td_ibs itlb = fetch(EXTENDED, BIT(51) | BIT(55) | BIT(56), 70);
    const struct td_ibs old = fetch(0, BIT(55), 70);

    (void)state;
    assert_int_equal(td_ibs_node(&plain), TD_NODE_NONE);
    assert_int_equal(plain.latency, 4);
    assert_int_equal(td_ibs_node(&icache), TD_NODE_ICACHE_MISSES);
    assert_int_equal(icache.flags, TD_FLAG_FETCH | TD_FLAG_L1I_MISS | TD_FLAG_L2_MISS);
    assert_int_equal(td_ibs_node(&itlb), TD_NODE_ITLB_MISSES);
    assert_int_equal(itlb.tlb_latency, 70);
    assert_int_equal(td_ibs_node(&old), TD_NODE_ITLB_MISSES);
    assert_int_equal(old.tlb_latency, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_branches), cmocka_unit_test(test_loads),
        cmocka_unit_test(test_stores),   cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_fetches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
