/* SPDX-License-Identifier: MIT */
/* The modelled memory by itself: what is where, how long it takes, what prefetchers ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "record/sim/model/decode/decode.h"
#include "record/sim/model/fetch.h"
#include "record/sim/model/memory/memory.h"
#include "sim_rig.h"

struct world {
    struct td_core_desc desc;
    struct td_llc *llc;
    struct td_memory memory;
};

static void open_world(struct world *w, const struct td_core_desc *changed)
{
    struct td_err err = TD_ERR_INIT;

    if (changed)
        w->desc = *changed;
    else
        assert_int_equal(td_core_desc_builtin(&w->desc, "zen4", &err), TD_OK);
    w->llc = td_llc_new(&w->desc);
    td_memory_init(&w->memory, &w->desc, w->llc);
}

static void close_world(struct world *w)
{
    td_memory_release(&w->memory);
    td_llc_free(w->llc);
}

static struct td_core_desc zen4(void)
{
    struct td_core_desc desc;
    struct td_err err = TD_ERR_INIT;

    assert_int_equal(td_core_desc_builtin(&desc, "zen4", &err), TD_OK);
    return desc;
}

static void replaced_keys_come_back_whole(void **state)
{
    (void)state;
    struct td_cache cache;
    uint64_t gone;
    td_cache_init(&cache, 8, 2);
    const uint64_t keys[] = {0x7fffff0001, 0x123454321, 0x1};
    td_cache_replace(&cache, keys[0] & 0x1ffffffff, &gone);
    assert_int_equal(gone, TD_CACHE_NO_KEY);
    td_cache_replace(&cache, keys[1], &gone);
    assert_int_equal(gone, TD_CACHE_NO_KEY);
    td_cache_replace(&cache, keys[2], &gone);
    assert_true(gone == (keys[0] & 0x1ffffffff) || gone == keys[1]);
    td_cache_release(&cache);
}

/* A key more than there are ways, in turn, never meets itself; as many always do. */
static void one_key_too_many_meets_none(void **state)
{
    (void)state;
    enum { TURNS = 20 };
    for (uint32_t ways = 2; ways <= TD_LRU_WAYS_MAX; ways++) {
        struct td_cache cache;
        td_cache_init(&cache, ways, ways);
        td_cache_set_lru(&cache);
        for (uint64_t i = 0; i < TURNS * (ways + 1); i++)
            assert_false(td_cache_touch(&cache, 200 + i % (ways + 1)));
        for (uint64_t i = 0; i < TURNS * ways; i++)
            assert_int_equal(td_cache_touch(&cache, 300 + i % ways), i >= ways);
        td_cache_release(&cache);
    }
}

/* Any way that was used since another stays. */
static void the_least_recently_used_gives_way(void **state)
{
    (void)state;
    enum { WAYS = 8 };
    struct td_cache cache;

    td_cache_init(&cache, WAYS, WAYS);
    td_cache_set_lru(&cache);
    for (uint64_t i = 0; i < WAYS; i++)
        td_cache_fill(&cache, i);
    for (uint64_t i = 0; i < WAYS; i += 3)
        assert_int_not_equal(td_cache_find(&cache, i), TD_CACHE_MISS);
    static const uint64_t order[WAYS] = {1, 2, 4, 5, 7, 0, 3, 6};
    for (uint64_t i = 0; i < WAYS; i++) {
        assert_true(td_cache_holds(&cache, order[i]));
        td_cache_fill(&cache, 100 + i);
        assert_false(td_cache_holds(&cache, order[i]));
    }
    td_cache_release(&cache);
}

/* A line that nobody uses is gone when neighbours have brought in as much as the cache holds. */
static void neighbours_push_lines_out(void **state)
{
    (void)state;
    struct td_core_desc desc = zen4();
    desc.l3_neighbour = 10;
    struct td_llc *llc = td_llc_new(&desc);
    const int64_t lines = (int64_t)desc.l3_kb * 16;
    assert_false(td_llc_touch(llc, 12345, 0));
    assert_true(td_llc_touch(llc, 12345, lines * 10 / 4));
    assert_false(td_llc_touch(llc, 12345, lines * 10 * 2));
    td_llc_free(llc);
    desc.l3_neighbour = 0;
    llc = td_llc_new(&desc);
    td_llc_touch(llc, 12345, 0);
    assert_true(td_llc_touch(llc, 12345, lines * 10 * 2));
    td_llc_free(llc);
}

/* What L2 gives up is in the last level, however long L2 kept it. */
static void victims_of_l2_are_in_the_last_level(void **state)
{
    (void)state;
    for (int victim = 0; victim <= 1; victim++) {
        struct world w;
        struct td_core_desc desc = zen4();
        desc.l3_neighbour = 10;
        desc.l3_victim = victim;
        desc.first_touch = desc.l2_next = desc.l2_stream = desc.nested = 0;
        open_world(&w, &desc);
        enum td_level level;
        const int64_t late = (int64_t)desc.l3_kb * 16 * 10 * 4;
        const uint64_t line = 1 << 20, count = (uint64_t)desc.l2_kb * 16 * 4;
        td_memory_from_l2(&w.memory, line, 0, &level);
        assert_int_equal(level, TD_LEVEL_DRAM);
        for (uint64_t i = 1; i < count; i++)
            td_memory_from_l2(&w.memory, line + i, late + (int64_t)i, &level);
        td_memory_from_l2(&w.memory, line, late + (int64_t)count, &level);
        /* A line per cycle is more than memory gives. */
        assert_int_equal(level, victim ? TD_LEVEL_L3 : TD_LEVEL_DRAM_QUEUE);
        close_world(&w);
    }
}

/* What is warmed leaves behind what a walk and the kernel's first touch of a page would; of code,
 * what a walk would. */
static void warming_walks(void **state)
{
    (void)state;
    enum { NOTHING, DATA, CODE, WAYS };
    const uint64_t page = 0x123450;
    struct td_core_desc desc = zen4();
    desc.first_touch = 1;
    int64_t took[WAYS];

    for (int way = NOTHING; way < WAYS; way++) {
        struct world w;
        struct td_memory warmed;
        struct td_fetch fetch;
        enum td_level level;
        open_world(&w, &desc);
        td_memory_init_warmed(&warmed, &desc, false);
        td_fetch_init(&fetch, &desc);
        if (way == DATA)
            td_memory_warm(&warmed, page << TD_PAGE_BITS);
        if (way == CODE)
            td_fetch_warm(&fetch, &warmed, &(struct td_fetch_part){.line = page * TD_PAGE_LINES});
        td_memory_go_on_from(&w.memory, &warmed);
        /* Its neighbour's entry is in the same line. */
        took[way] = td_memory_translate(&w.memory, &w.memory.dtlb, &w.memory.stlb, page + 1, 1000);
        td_memory_from_l2(&w.memory, page * TD_PAGE_LINES + 10, 2000, &level);
        assert_true((level == TD_LEVEL_L2) == (way == DATA));
        td_fetch_release(&fetch);
        td_memory_release(&warmed);
        close_world(&w);
    }
    assert_true(took[CODE] < took[NOTHING] - desc.l2_latency);
    assert_true(took[DATA] < took[NOTHING] - desc.l2_latency);
}

/* A world and caches to warm, from which its memory is to go on. */
static void open_warmed_world(struct world *w, struct td_memory *warmed,
                              const struct td_core_desc *desc)
{
    open_world(w, desc);
    td_memory_init_warmed(warmed, desc, false);
}

static void close_warmed_world(struct world *w, struct td_memory *warmed)
{
    td_memory_release(warmed);
    close_world(w);
}

static const struct td_stream_reach reach = {
    .step = 2, .distance = 16, .degree = 2, .far = 100, .far_after = 150};

/* The highest line that was asked for when lines `from` on were read one by one. */
static uint64_t asked_ahead(uint64_t from, int count)
{
    struct td_prefetch *p = td_xcalloc(1, sizeof(*p));
    uint64_t highest = 0;

    for (int i = 0; i < count; i++) {
        const struct td_prefetch_want want = td_prefetch_stream(p, from + (uint64_t)i, &reach);
        if (want.count > 0)
            highest = want.line + (uint64_t)want.count - 1;
    }
    free(p);
    return highest;
}

static void streams_reach_further_when_long(void **state)
{
    (void)state;
    const uint64_t page = 64 * 1000;
    assert_int_equal(asked_ahead(page, 2), 0);
    assert_int_equal(asked_ahead(page, 40), page + 39 + 16);
    /* A short one ends with its page. */
    assert_int_equal(asked_ahead(page, 60), page + 63);
    assert_int_equal(asked_ahead(page, 400), page + 399 + 100);
}

/* Between windows of a sampled run, too: the next line of a stream is in L1, lines farther on in
 * L2, not in memory. */
static void warming_follows_streams(void **state)
{
    (void)state;
    const uint64_t page = UINT64_C(0x50000000);
    struct td_core_desc desc;
    struct td_err err = TD_ERR_INIT;
    enum td_level level = TD_LEVEL_L1;
    struct td_memory warmed;
    struct world w;

    assert_int_equal(td_core_desc_builtin(&desc, "golden-cove", &err), TD_OK);
    open_warmed_world(&w, &warmed, &desc);
    for (uint64_t i = 0; i < 12; i++)
        td_memory_warm(&warmed, page + (i << TD_LINE_BITS));
    td_memory_go_on_from(&w.memory, &warmed);
    td_memory_access(&w.memory, page + (12 << TD_LINE_BITS), 1000, false, &level);
    assert_int_equal(level, TD_LEVEL_L1);
    td_memory_access(&w.memory, page + (16 << TD_LINE_BITS), 2000, false, &level);
    assert_int_equal(level, TD_LEVEL_L2);
    td_memory_access(&w.memory, page + (60 << TD_LINE_BITS), 3000, false, &level);
    assert_int_equal(level, TD_LEVEL_DRAM);
    close_warmed_world(&w, &warmed);
}

/* So is what a load with a stride comes to next, and the table that knows the stride. */
static void warming_follows_strides(void **state)
{
    (void)state;
    const uint64_t from = UINT64_C(0x50000000), stride = 96, count = 22; /* within a page */
    struct td_core_desc desc = zen4();
    enum td_level level = TD_LEVEL_L1;
    struct td_memory warmed;
    struct world w;

    assert_true(desc.stride > 0);
    open_warmed_world(&w, &warmed, &desc);
    for (uint64_t i = 0; i < count; i++)
        td_memory_warm_load(&warmed, 7, from + i * stride);
    td_memory_go_on_from(&w.memory, &warmed);
    const uint64_t next = from + count * stride;
    td_memory_access(&w.memory, next, 1000, false, &level);
    assert_int_equal(level, TD_LEVEL_L1);
    td_memory_train(&w.memory, 7, next, 1000);
    td_memory_access(&w.memory, next + stride * (uint64_t)desc.stride, 9000, false, &level);
    assert_int_equal(level, TD_LEVEL_L1);
    close_warmed_world(&w, &warmed);
}

static void steps_of_three_lines_are_no_stream(void **state)
{
    (void)state;
    struct td_prefetch *p = td_xcalloc(1, sizeof(*p));
    for (uint64_t i = 0; i < 20; i++)
        assert_int_equal(td_prefetch_stream(p, 6400 + 3 * i, &reach).count, 0);
    free(p);
}

static void load_lines(struct world *w, const int *lines, size_t count)
{
    enum td_level level;

    for (size_t i = 0; i < count; i++)
        td_memory_access(&w->memory, 0x200000 + (uint64_t)lines[i] * 64, (int64_t)i * 5000, false,
                         &level);
}

/* Lines that L1 has when some of a page were loaded: a bit each. */
static uint64_t lines_in_l1(int falling, const int *lines, size_t count)
{
    struct world w;
    struct td_core_desc desc = zen4();
    uint64_t held = 0;

    desc.l1_stream = 2;
    desc.l1_falling = falling;
    open_world(&w, &desc);
    load_lines(&w, lines, count);
    for (uint64_t i = 0; i < TD_PAGE_LINES; i++)
        held |= (uint64_t)td_cache_holds(&w.memory.l1d, (0x200000 >> 6) + i) << i;
    close_world(&w);
    return held;
}

/* Only a line right after the last one that was missed in its page goes on with a stream. */
static void neighbours_missed_in_turn_are_a_stream(void **state)
{
    (void)state;
    assert_int_equal(lines_in_l1(1, (const int[]){10}, 1), 1 << 10);
    assert_int_equal(lines_in_l1(1, (const int[]){10, 11}, 2), 0xf << 10);
    assert_int_equal(lines_in_l1(1, (const int[]){10, 11, 12}, 3), 0x1f << 10);
    assert_int_equal(lines_in_l1(1, (const int[]){10, 20, 11}, 3), 3 << 10 | 1 << 20);
    assert_int_equal(lines_in_l1(1, (const int[]){10, 10, 11}, 3), 0xf << 10);
    assert_int_equal(lines_in_l1(1, (const int[]){11, 10}, 2), 0xf << 8);
    assert_int_equal(lines_in_l1(0, (const int[]){11, 10}, 2), 3 << 10);
    assert_int_equal(lines_in_l1(1, (const int[]){1, 0}, 2), 3); /* not into another page */
}

static void first_line_brings_the_next(void **state)
{
    (void)state;
    for (int next = 0; next <= 1; next++) {
        struct world w;
        struct td_core_desc desc = zen4();
        enum td_level level;
        desc.l2_next = next;
        desc.first_touch = 0;
        open_world(&w, &desc);
        td_memory_access(&w.memory, 0x100000, 0, false, &level);
        td_memory_access(&w.memory, 0x100040, 5000, false, &level);
        assert_int_equal(level, next ? TD_LEVEL_L2 : TD_LEVEL_DRAM);
        close_world(&w);
    }
}

/* Data of a page that is new are in L2, code is not. */
static void new_pages_of_data_are_near(void **state)
{
    (void)state;
    for (int first = 0; first <= 1; first++) {
        struct world w;
        struct td_core_desc desc = zen4();
        enum td_level level;
        desc.first_touch = first;
        open_world(&w, &desc);
        td_memory_access(&w.memory, 0x200980, 0, true, &level);
        td_memory_access(&w.memory, 0x200140, 5000, false, &level);
        assert_int_equal(level, first ? TD_LEVEL_L2 : TD_LEVEL_DRAM);
        struct td_cache itlb;
        td_cache_init(&itlb, (uint32_t)desc.itlb, (uint32_t)desc.itlb_ways);
        td_memory_translate(&w.memory, &itlb, &w.memory.stlb, 0x900, 5000);
        td_memory_from_l2(&w.memory, 0x900 << 6, 9000, &level);
        assert_int_equal(level, TD_LEVEL_DRAM);
        td_cache_release(&itlb);
        close_world(&w);
    }
}

/* A first load of the page, and whether it is a page fault. */
static enum td_level load_of_page(struct world *w, uint64_t page, bool *faults)
{
    enum td_level level;

    td_memory_access(&w->memory, page << TD_PAGE_BITS, 0, false, &level);
    *faults = w->memory.fresh;
    w->memory.fresh = false;
    return level;
}

/* What a file's page holds is in memory, and the kernel maps 16 of them at a time; where the file
 * is no more, pages are new ones. */
static void pages_of_files_are_far(void **state)
{
    (void)state;
    struct world w;
    struct td_core_desc desc = zen4();
    bool faults;
    desc.first_touch = 1;
    desc.l2_next = 0;
    open_world(&w, &desc);
    td_memory_map(&w.memory, 0x1000, 64, true);
    td_memory_map(&w.memory, 0x1020, 4, false);
    assert_int_equal(load_of_page(&w, 0x1003, &faults), TD_LEVEL_DRAM);
    assert_true(faults);
    assert_int_equal(load_of_page(&w, 0x100f, &faults), TD_LEVEL_DRAM);
    assert_false(faults);
    assert_int_equal(load_of_page(&w, 0x1010, &faults), TD_LEVEL_DRAM);
    assert_true(faults);
    assert_int_equal(load_of_page(&w, 0x1021, &faults), TD_LEVEL_DTLB); /* L2 is nearer */
    assert_int_equal(w.memory.behind_walk, TD_LEVEL_L2);
    assert_true(faults);
    assert_int_equal(load_of_page(&w, 0x1022, &faults), TD_LEVEL_DTLB);
    assert_true(faults);
    assert_int_equal(load_of_page(&w, 0x1024, &faults), TD_LEVEL_DRAM);
    assert_true(faults);
    close_world(&w);
}

/* How many of so many lines L1 still has after a page fault, and of 32 pages the TLB's first level.
 */
static void after_a_fault(int fault_lines, uint64_t used, uint64_t *lines, uint64_t *pages)
{
    struct world w;
    struct td_core_desc desc = zen4();
    enum td_level level;
    bool faults;

    desc.fault_lines = fault_lines;
    desc.fault_pages = fault_lines ? 60 : 0;
    open_world(&w, &desc);
    for (uint64_t i = 0; i < used; i++)
        td_memory_access(&w.memory, 0x200000 + i * 64, (int64_t)i, false, &level);
    w.memory.fresh = false;
    for (uint64_t i = 0; i < 32; i++)
        td_cache_touch(&w.memory.dtlb, 0x800 + i);
    load_of_page(&w, 0x1000, &faults);
    assert_true(faults);
    *lines = *pages = 0;
    for (uint64_t i = 0; i < used; i++)
        *lines += td_cache_holds(&w.memory.l1d, (0x200000 >> 6) + i);
    for (uint64_t i = 0; i < 32; i++)
        *pages += td_cache_holds(&w.memory.dtlb, 0x800 + i);
    close_world(&w);
}

static void page_faults_leave_the_kernels_data(void **state)
{
    (void)state;
    uint64_t lines, pages;
    after_a_fault(0, 384, &lines, &pages);
    assert_int_equal(lines, 384);
    assert_int_equal(pages, 32);
    after_a_fault(160, 256, &lines, &pages);
    assert_in_range(lines, 250, 256);
    assert_in_range(pages, 0, 16);
    after_a_fault(160, 448, &lines, &pages);
    assert_in_range(lines, 448 - 160, 448 - 80);
}

static void host_tables_lengthen_walks(void **state)
{
    (void)state;
    int64_t walk[2];
    for (int nested = 0; nested <= 1; nested++) {
        struct world w;
        struct td_core_desc desc = zen4();
        desc.nested = nested;
        open_world(&w, &desc);
        td_memory_translate(&w.memory, &w.memory.dtlb, &w.memory.stlb, 8000, 0);
        /* The neighbouring page's entries are in L2 by now. */
        walk[nested] = td_memory_translate(&w.memory, &w.memory.dtlb, &w.memory.stlb, 8001, 9000);
        close_world(&w);
    }
    assert_int_equal(walk[0], zen4().walk);
    assert_int_equal(walk[1], zen4().walk + zen4().l2_latency);
}

/* movntdq [rdi],xmm0 in a loop over fresh lines: at memory's pace, with no line read for it. */
static void stores_past_the_caches_read_nothing(void **state)
{
    (void)state;
    static const uint8_t past[] = {4, 0x66, 0x0f, 0xe7, 0x07, 2, 0xeb, 0xfa, 0};
    static const uint8_t plain[] = {4, 0x66, 0x0f, 0x7f, 0x07, 2, 0xeb, 0xfa, 0};
    enum { LINES = 4000 };
    uint64_t cycles[2];
    for (int k = 0; k <= 1; k++) {
        struct rig rig;
        rig_open(&rig, "zen4");
        const uint32_t block = rig_block(&rig, 0x401000, k ? plain : past);
        for (uint64_t i = 0; i < LINES; i++) {
            rig_word(&rig, td_trace_block(block));
            /* No stream: lines 5 MB apart. */
            rig_word(&rig, td_trace_access(0, true, 4, 0x10000000 + i * 0x503040));
        }
        cycles[k] = rig_sums(&rig).cycles;
        const int line = rig.desc.dram_line + rig.desc.dram_write;
        if (k == 0)
            assert_true(cycles[0] >= (uint64_t)(LINES * line / TD_TICKS_PER_CYCLE) * 9 / 10);
        rig_close(&rig);
    }
    assert_true(cycles[0] * 2 < cycles[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_recently_used_gives_way),
        cmocka_unit_test(one_key_too_many_meets_none),
        cmocka_unit_test(replaced_keys_come_back_whole),
        cmocka_unit_test(neighbours_push_lines_out),
        cmocka_unit_test(victims_of_l2_are_in_the_last_level),
        cmocka_unit_test(warming_walks),
        cmocka_unit_test(streams_reach_further_when_long),
        cmocka_unit_test(warming_follows_streams),
        cmocka_unit_test(warming_follows_strides),
        cmocka_unit_test(steps_of_three_lines_are_no_stream),
        cmocka_unit_test(neighbours_missed_in_turn_are_a_stream),
        cmocka_unit_test(first_line_brings_the_next),
        cmocka_unit_test(new_pages_of_data_are_near),
        cmocka_unit_test(pages_of_files_are_far),
        cmocka_unit_test(page_faults_leave_the_kernels_data),
        cmocka_unit_test(host_tables_lengthen_walks),
        cmocka_unit_test(stores_past_the_caches_read_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
