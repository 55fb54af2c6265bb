/* SPDX-License-Identifier: MIT */
/* Regions that are marked natively: counters as the kernel's pages and PERF_METRICS say them, and
 * what programs write about them. */
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

/* What stands in the counters, and what the kernel does while they are read. */
static uint64_t counters[64], metrics_register;
static void (*interrupt)(void);

static uint64_t read_counter(uint32_t counter)
{
    const uint64_t value = counter == UINT32_C(1) << 29 ? metrics_register : counters[counter % 64];

    if (interrupt)
        interrupt();
    return value;
}

static uint64_t ticks_now;

static int reset_counters(void);

#define TDPROF_RDPMC(counter) read_counter(counter)
#define TDPROF_RESET(t)       ((void)(t), reset_counters())
#define TDPROF_TICKS()        ticks_now
#include "region/tdprof/region_native.h"

#include "base/mem.h"
#include "record/run/marks.h"
#include "record/run/region_cells.h"

__extension__ typedef unsigned __int128 wide;

/* Marsaglia, Xorshift RNGs, 2003; the same ones every time. */
static uint64_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

/* The kernel's words are written down in the header, which includes nothing. */
#define SAME(ours, theirs)                                                     \
    _Static_assert(offsetof(struct tdprof1_page, ours) ==                      \
                           offsetof(struct perf_event_mmap_page, theirs) &&    \
                       sizeof(((struct tdprof1_page *)0)->ours) ==             \
                           sizeof(((struct perf_event_mmap_page *)0)->theirs), \
                   #ours)
SAME(lock, lock);
SAME(index, index);
SAME(offset, offset);
SAME(time_enabled, time_enabled);
SAME(time_running, time_running);
SAME(capabilities, capabilities);
SAME(pmc_width, pmc_width);
SAME(time_shift, time_shift);
SAME(time_mult, time_mult);
SAME(time_offset, time_offset);
_Static_assert(TDPROF_IOC_ID == PERF_EVENT_IOC_ID, "ioctl");
_Static_assert(TDPROF_IOC_RESET == PERF_EVENT_IOC_RESET, "ioctl");

static void test_capabilities(void **state)
{
    struct perf_event_mmap_page page = {.cap_user_rdpmc = 1};

    (void)state;
    assert_int_equal(page.capabilities, TDPROF_CAP_RDPMC);
    page.capabilities = 0;
    page.cap_user_time = 1;
    assert_int_equal(page.capabilities, TDPROF_CAP_TIME);
}

/* Each field is its 255ths of the slots, to half a slot; fields that are all of 255 are all slots.
 */
static void test_metrics(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        const uint64_t metrics = next_random(&seed);
        const uint64_t slots = next_random(&seed) >> (8 + next_random(&seed) % 56);

        for (uint32_t field = 0; field < 8; field++) {
            const uint64_t share = (uint8_t)(metrics >> 8 * field);
            const wide exact = (wide)slots * share;
            const wide found = (wide)tdprof1_metric_slots(metrics, field, slots) * 255;
            const wide off = found > exact ? found - exact : exact - found;

            assert_true(off <= 127);
            assert_true(tdprof1_metric_slots(metrics, field, slots) <= slots);
        }
        /* Four fields of level 1, made to be all. */
        const uint32_t a = (uint32_t)(next_random(&seed) % 256),
                       b = (uint32_t)(next_random(&seed) % (256 - a));
        const uint32_t c = (uint32_t)(next_random(&seed) % (256 - a - b)), d = 255 - a - b - c;
        const uint64_t level1 = a | b << 8 | c << 16 | (uint64_t)d << 24;
        uint64_t sum = 0;
        for (uint32_t field = 0; field < 4; field++)
            sum += tdprof1_metric_slots(level1, field, slots);
        assert_true(sum + 2 >= slots && sum <= slots + 2);
    }
}

static void test_extend(void **state)
{
    uint64_t seed = 2;

    (void)state;
    for (uint32_t width = 1; width <= 64; width++) {
        for (int i = 0; i < 1000; i++) {
            const uint64_t value = next_random(&seed);
            const wide low = value & (UINT64_MAX >> (64 - width));
            const wide sign = (wide)1 << (width - 1);
            const int64_t expected = (int64_t)(uint64_t)((low ^ sign) - sign);

            assert_true(tdprof1_extend(value, 64 - width) == expected);
        }
    }
}

static void test_ns(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        const uint32_t shift = (uint32_t)(next_random(&seed) % 32);
        const uint32_t mult = (uint32_t)next_random(&seed);
        const uint64_t ticks = next_random(&seed) >> (32 - shift);

        assert_true(tdprof1_ns(ticks, mult, shift) == (uint64_t)((wide)ticks * mult >> shift));
    }
}

/* Pages. */

static struct tdprof1_page page;
static struct tdprof1_counter counter;

static void test_counted(void **state)
{
    (void)state;
    page = (struct tdprof1_page){.lock = 4, .index = 0, .offset = 1234};
    assert_int_equal(tdprof1_counted(&page, 16, &counter), 1234);
    page.index = 3;
    counters[2] = 1000 | UINT64_C(0xabcd) << 48; /* above its width there is anything */
    assert_int_equal(tdprof1_counted(&page, 16, &counter), 2234);
    page.offset = (int64_t)1 << 47;
    counters[2] = (UINT64_C(1) << 48) - 100;
    assert_true(tdprof1_counted(&page, 16, &counter) == (UINT64_C(1) << 47) - 100);
}

/* The event leaves its counter while it is read. */
static void move_away(void)
{
    interrupt = NULL;
    page.lock += 2;
    page.index = 0;
    page.offset = 5000;
}

static void test_counted_while_moved(void **state)
{
    (void)state;
    page = (struct tdprof1_page){.lock = 4, .index = 1, .offset = 10};
    counters[0] = 77;
    interrupt = move_away;
    assert_int_equal(tdprof1_counted(&page, 16, &counter), 5000);
}

/* Fields add up to what passed, whoever resets them in between. */
static void test_metrics_since_reset(void **state)
{
    static struct tdprof1_head head = {.event_count = 2, .events = {{.metric = 0}, {.metric = 1}}};
    struct tdprof1_thread *t = td_xcalloc(1, sizeof(*t));
    struct tdprof1_region_cell region = {0};

    (void)state;
    page = (struct tdprof1_page){.lock = 2, .index = 1};
    t->head = &head;
    t->event_count = 2;
    t->pages[0] = &page;
    t->width_shift = 16;
    t->fds[0] = -1;
    counters[0] = 2550;
    metrics_register = 51; /* a fifth */
    assert_int_equal(tdprof1_read_metrics(t, &region), 2550);
    assert_int_equal(region.values[0], 2550);
    assert_int_equal(region.values[1], 510);
    counters[0] = 5100;
    metrics_register = 102;
    tdprof1_read_metrics(t, &region);
    assert_int_equal(region.values[0], 5100);
    assert_int_equal(region.values[1], 2040);
    counters[0] = 255; /* reset */
    metrics_register = 255;
    tdprof1_read_metrics(t, &region);
    assert_int_equal(region.values[0], 5355);
    assert_int_equal(region.values[1], 2295);
    page.index = 0; /* does not count now: nothing passed */
    tdprof1_read_metrics(t, &region);
    assert_int_equal(region.values[0], 5355);
    free(t);
}

/* A group that shares its counters: what it was to count, and did. */
static void test_shared(void **state)
{
    static struct tdprof1_head head = {.event_count = 1};
    struct tdprof1_thread *t = td_xcalloc(1, sizeof(*t));
    struct tdprof1_region_cell region = {0};

    (void)state;
    page = (struct tdprof1_page){.lock = 2, .index = 1, .time_enabled = 1000, .time_running = 400};
    *t = (struct tdprof1_thread){.head = &head,
                                 .event_count = 1,
                                 .kind = TDPROF_KIND_USER,
                                 .pages = {&page},
                                 .timed = 1,
                                 .time_mult = 1,
                                 .width_shift = 16,
                                 .lock = 1,
                                 .fds = {-1}};
    counters[0] = 50;
    ticks_now = 0;
    tdprof1_pass(t, &t->outside);
    counters[0] = 80;
    ticks_now = 300; /* counted all the time */
    tdprof1_pass(t, &region);
    assert_int_equal(region.on, 300);
    assert_int_equal(region.whole, 0);
    assert_int_equal(region.values[0], 30);
    /* It counted 100 ns more, then not for 200, which the page does not know yet. */
    page.lock = 4;
    page.index = 0;
    page.offset = 90;
    page.time_enabled = 1400;
    page.time_running = 800;
    page.time_offset = (uint64_t)-400;
    ticks_now = 600;
    tdprof1_pass(t, &region);
    assert_int_equal(region.on, 300);
    assert_int_equal(region.whole, 300);
    assert_int_equal(region.seen, 100);
    assert_int_equal(region.values[0], 40);
    free(t);
}

/* Marks between which counters go on, are moved, stop, wrap, or are moved while they are read: what
 * is added up is what was counted, of any number of events, and nothing is added to what is over.
 */
static struct tdprof1_page many_pages[TDPROF_EVENTS_MAX];
static uint64_t move_seed;

/* The kernel takes the event off its counter, and perhaps puts it on another. */
static void move_event(uint32_t e)
{
    struct tdprof1_page *moved = &many_pages[e];

    if (moved->index)
        moved->offset += tdprof1_extend(counters[moved->index - 1], 16);
    moved->lock += 2;
    moved->index = next_random(&move_seed) % 4 ? 1 + e + 16 * (next_random(&move_seed) % 2) : 0;
    if (moved->index) {
        /* It begins below 0, and comes to it soon. */
        counters[moved->index - 1] = (UINT64_C(1) << 48) - 1 - (next_random(&move_seed) >> 30);
        moved->offset -= tdprof1_extend(counters[moved->index - 1], 16);
    }
}

static void move_some(void)
{
    interrupt = NULL;
    move_event((uint32_t)(next_random(&move_seed) % TDPROF_EVENTS_MAX));
}

static uint64_t counted_now(uint32_t e)
{
    const struct tdprof1_page *of = &many_pages[e];

    return (uint64_t)(of->offset + (of->index ? tdprof1_extend(counters[of->index - 1], 16) : 0));
}

static void run_marks(uint32_t events)
{
    static struct tdprof1_head head;
    struct tdprof1_thread *t = td_xcalloc(1, sizeof(*t));
    struct tdprof1_region_cell regions[3] = {{.owner = 0}};
    uint64_t seed = 7 + events, begun[TDPROF_EVENTS_MAX];
    uint32_t quick = 0;

    *t = (struct tdprof1_thread){.head = &head,
                                 .event_count = events,
                                 .kind = TDPROF_KIND_USER,
                                 .timed = 1,
                                 .time_mult = 1,
                                 .width_shift = 16,
                                 .lock = 1,
                                 .fds = {-1}};
    ticks_now = 0;
    for (uint32_t e = 0; e < TDPROF_EVENTS_MAX; e++) {
        many_pages[e] = (struct tdprof1_page){.lock = 2, .index = 1 + e};
        t->pages[e] = &many_pages[e];
        begun[e] = counted_now(e);
    }
    tdprof1_pass(t, &t->outside);
    for (int i = 0; i < 20000; i++) {
        for (uint32_t e = 0; e < events; e++) {
            if (many_pages[e].index)
                counters[many_pages[e].index - 1] +=
                    next_random(&seed) >> (31 + next_random(&seed) % 30);
        }
        ticks_now += 100;
        if (next_random(&seed) % 8 == 0)
            move_event((uint32_t)(next_random(&seed) % events));
        interrupt = next_random(&seed) % 16 ? NULL : move_some;
        quick += t->quick;
        tdprof1_pass(t, &regions[next_random(&seed) % 3]);
        interrupt = NULL;
        for (uint32_t e = 0; e < events; e++)
            assert_true(regions[0].values[e] + regions[1].values[e] + regions[2].values[e] ==
                        counted_now(e) - begun[e]);
    }
    assert_true(events > TDPROF_QUICK_MAX ? quick == 0 : quick > 100);
    free(t);
}

static void test_quick_marks(void **state)
{
    (void)state;
    move_seed = 5;
    for (uint32_t events = 1; events <= TDPROF_QUICK_MAX + 1; events++)
        run_marks(events);
}

/* A core with PERF_METRICS: slots since the reset, those of level 1's nodes, and what the register
 * says of them, which is all that a mark reads. */
enum { NODES = 4 };
static double node_slots[NODES];
static uint64_t resets;

static void show_metrics(void)
{
    metrics_register = 0;
    for (uint32_t n = 0; n < NODES; n++)
        metrics_register |= (uint64_t)(node_slots[n] * 255 / ((double)counters[0] + 1e-9) + 0.5)
                            << 8 * n;
}

static int reset_counters(void)
{
    counters[0] = 0;
    memset(node_slots, 0, sizeof(node_slots));
    metrics_register = 0;
    resets++;
    return 1;
}

static void run_slots(uint64_t slots, const double shares[NODES])
{
    counters[0] += slots;
    for (uint32_t n = 0; n < NODES; n++)
        node_slots[n] += (double)slots * shares[n];
    show_metrics();
}

/* Two regions of different kinds by turns, each of so many slots: how far a node's share of either
 * is off, at most. */
static double metrics_error(uint64_t slots, uint32_t rounds)
{
    static const double shares[2][NODES] = {{0.6, 0.05, 0.1, 0.25}, {0.1, 0.2, 0.3, 0.4}};
    static struct tdprof1_head head = {
        .event_count = 5,
        .events = {{0}, {.metric = 1}, {.metric = 2}, {.metric = 3}, {.metric = 4}}};
    struct tdprof1_thread *t = td_xcalloc(1, sizeof(*t));
    struct tdprof1_region_cell regions[2] = {{.owner = 0}};
    uint64_t seed = slots, sums[2] = {0};
    double worst = 0;

    page = (struct tdprof1_page){.lock = 2, .index = 1};
    *t = (struct tdprof1_thread){.head = &head,
                                 .event_count = 5,
                                 .kind = TDPROF_KIND_USER,
                                 .timed = 1,
                                 .time_mult = 1,
                                 .width_shift = 16,
                                 .metrics = 1,
                                 .lock = 1,
                                 .fds = {-1}};
    for (int e = 0; e < 5; e++)
        t->pages[e] = &page;
    reset_counters();
    resets = 0;
    tdprof1_pass(t, &t->outside);
    for (uint32_t i = 0; i < 2 * rounds; i++) {
        const uint64_t length = 1 + slots / 2 + next_random(&seed) % slots;

        run_slots(length, shares[i % 2]);
        sums[i % 2] += length;
        tdprof1_pass(t, &regions[i % 2]);
    }
    for (int r = 0; r < 2; r++) {
        assert_true(regions[r].values[0] == sums[r]);
        for (uint32_t n = 0; n < NODES; n++) {
            const double found = (double)(int64_t)regions[r].values[1 + n] / (double)sums[r];
            const double off = found > shares[r][n] ? found - shares[r][n] : shares[r][n] - found;

            worst = off > worst ? off : worst;
        }
    }
    free(t);
    return worst;
}

/* The 8 bits are of all slots since the reset: what is short beside these has a part of its
 * neighbours' shares. The bars stand in the manual page. */
static void test_metrics_precision(void **state)
{
    static const struct {
        uint64_t slots;
        double error;
    } bars[] = {{1000, 0.05},         {10000, 0.005},        {100000, 1.0 / 255},
                {1000000, 1.0 / 255}, {10000000, 1.0 / 255}, {1000000000000, 1.0 / 255}};

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(bars); i++) {
        const double error = metrics_error(bars[i].slots, 20000);

        print_message("%llu slots: %.4f, %llu resets\n", (unsigned long long)bars[i].slots, error,
                      (unsigned long long)resets);
        assert_true(error <= bars[i].error);
    }
}

/* Cells. */

static struct tdprof1_cell *new_cells(size_t count)
{
    return td_xcalloc(count, sizeof(struct tdprof1_cell));
}

static void set_thread(struct tdprof1_cell *cell, uint32_t kind)
{
    cell->kind = TDPROF_CELL_THREAD;
    cell->of.thread = (struct tdprof1_thread_cell){
        .kind = kind, .pid = 100, .tid = 101, .time_mult = 3, .time_shift = 1, .name = "worker"};
}

static void set_region(struct tdprof1_cell *cell, uint32_t owner, uint32_t parent, const char *name)
{
    struct tdprof1_region_cell *region = &cell->of.region;

    cell->kind = TDPROF_CELL_REGION;
    *region = (struct tdprof1_region_cell){.owner = owner,
                                           .parent = parent,
                                           .begun = 2,
                                           .ended = 2,
                                           .timed = 2,
                                           .sum = 400,
                                           .min = 100,
                                           .max = 300,
                                           .squares = {100000},
                                           .on = 20,
                                           .whole = 70,
                                           .seen = 10};
    for (uint64_t e = 0; e < TDPROF_EVENTS_MAX; e++)
        region->values[e] = e + 1;
    memcpy(region->name, name, strnlen(name, TDPROF_NAME_MAX));
}

static void test_cells(void **state)
{
    struct tdprof1_cell *cells = new_cells(4);
    struct td_marked marked;

    (void)state;
    set_thread(&cells[0], TDPROF_KIND_USER);
    set_region(&cells[1], 0, TDPROF_NONE, "outer");
    set_region(&cells[2], 0, 1, "inner");
    td_marked_read(&marked, cells, 4 * sizeof(*cells)); /* the last is not written yet */
    assert_int_equal(marked.bad, 0);
    assert_int_equal(marked.thread_count, 1);
    assert_int_equal(marked.threads[0].tid, 101);
    assert_string_equal(marked.threads[0].name, "worker");
    assert_int_equal(marked.region_count, 2);
    assert_string_equal(marked.regions[0].name, "outer");
    assert_int_equal(marked.regions[1].parent, 0);
    /* Lengths in ns; what is in a region is its own and that of those in it. */
    assert_int_equal(marked.regions[0].row.sum, 600);
    assert_int_equal(marked.regions[0].row.min, 150);
    assert_int_equal(marked.regions[0].row.max, 450);
    assert_int_equal(marked.regions[0].row.squares[0], 225000);
    assert_int_equal(marked.regions[1].row.whole, 100);
    assert_int_equal(marked.regions[0].row.whole, 200);
    assert_int_equal(marked.regions[0].row.seen, 80);
    assert_int_equal(marked.regions[0].values[3], 8);
    td_marked_release(&marked);
    free(cells);
}

/* What cannot be is left out and counted; the rest stays. */
static void test_bad_cells(void **state)
{
    struct tdprof1_cell *cells = new_cells(8);
    struct td_marked marked;

    (void)state;
    set_thread(&cells[0], TDPROF_KIND_TIME);
    set_thread(&cells[1], 9);
    set_region(&cells[2], 0, TDPROF_NONE, "right");
    set_region(&cells[3], 1, TDPROF_NONE, "of no thread");
    set_region(&cells[4], 0, 5, "in a later one");
    set_region(&cells[5], 0, 4, "in one that is wrong");
    set_region(&cells[6], UINT32_MAX, 2, "far away");
    cells[7].kind = 77;
    td_marked_read(&marked, cells, 8 * sizeof(*cells));
    assert_int_equal(marked.bad, 6);
    assert_int_equal(marked.region_count, 1);
    assert_string_equal(marked.regions[0].name, "right");
    td_marked_release(&marked);
    free(cells);
}

/* Sixty-five levels and no more, and a name without an end. */
static void test_deep_cells(void **state)
{
    struct tdprof1_cell *cells = new_cells(100);
    struct td_marked marked;

    (void)state;
    set_thread(&cells[0], TDPROF_KIND_READ);
    for (uint32_t i = 1; i < 100; i++)
        set_region(&cells[i], 0, i == 1 ? TDPROF_NONE : i - 1, "deep");
    memset(cells[1].of.region.name, 'x', TDPROF_NAME_MAX);
    td_marked_read(&marked, cells, 100 * sizeof(*cells));
    assert_int_equal(marked.region_count, TD_REGION_DEPTH_MAX + 1);
    assert_int_equal(strlen(marked.regions[0].name), TDPROF_NAME_MAX);
    assert_int_equal(marked.regions[0].row.whole, 100 * (TD_REGION_DEPTH_MAX + 1));
    td_marked_release(&marked);
    free(cells);
}

/* A program cannot cut the memory, which would end tdrec, and what it writes there of events is not
 * believed. */
static void test_memory(void **state)
{
    const struct td_plan plan = {0};
    const struct td_caps caps = {0};
    struct td_marks *marks = td_marks_new(&plan, &caps);

    (void)state;
    if (!marks)
        skip();
    char **last = td_marks_env(marks);
    while (last[1])
        last++;
    const char *name = strchr(*last, '=') + 1;
    const int fd = open(name + (*name == TDPROF_CONFINED[0]), O_RDWR | O_CLOEXEC);
    struct tdprof1_head head;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(pread(fd, &head, sizeof(head), 0), sizeof(head));
    assert_true(head.magic == TDPROF_MAGIC && head.event_count == 0);
    head.event_count = UINT32_MAX;
    assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
    assert_false(td_marks_write(marks, NULL, NULL, NULL).counted);
    close(fd);
    td_marks_free(marks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capabilities),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_extend),
        cmocka_unit_test(test_ns),
        cmocka_unit_test(test_counted),
        cmocka_unit_test(test_counted_while_moved),
        cmocka_unit_test(test_metrics_since_reset),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_quick_marks),
        cmocka_unit_test(test_metrics_precision),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_bad_cells),
        cmocka_unit_test(test_deep_cells),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
