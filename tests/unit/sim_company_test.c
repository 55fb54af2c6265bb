/* SPDX-License-Identifier: MIT */
/* Processes beside each other: what each gets of memory's rate and of the last level, and who is
 * there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mem.h"
#include "record/sim/model/memory/memory.h"
#include "record/sim/share/board.h"

enum { ONE = TD_COMPANY_ONE };

static struct td_core_desc core_with(const char *shared)
{
    struct td_core_desc desc;
    struct td_err err = TD_ERR_INIT;

    assert_int_equal(td_core_desc_builtin(&desc, "zen4", &err), TD_OK);
    assert_int_equal(td_core_desc_set(&desc, "dram_shared", shared, &err), TD_OK);
    return desc;
}

/* The rate of a core that asks for all it can. */
static uint32_t full_rate(const struct td_core_desc *desc)
{
    return (uint32_t)((uint64_t)ONE * TD_TICKS_PER_CYCLE / (uint64_t)desc->dram_line);
}

static void shares_are_max_min_fair(void **state)
{
    (void)state;
    assert_int_equal(td_company_share(1000, NULL, 0), 1000);
    const struct td_company_other greedy[] = {{.threads = 1, .lines = 900}};
    assert_int_equal(td_company_share(1000, greedy, 1), 500);
    const struct td_company_other modest[] = {{.threads = 1, .lines = 100}};
    assert_int_equal(td_company_share(1000, modest, 1), 900);
    /* The modest one has all that it asks for; the others divide the rest. */
    const struct td_company_other mixed[] = {{.threads = 1, .lines = 100},
                                             {.threads = 2, .lines = 800}};
    assert_int_equal(td_company_share(1000, mixed, 2), 300);
    /* In any order. */
    const struct td_company_other turned[] = {mixed[1], mixed[0]};
    assert_int_equal(td_company_share(1000, turned, 2), 300);
    /* Each round may satisfy more of them. */
    const struct td_company_other steps[] = {
        {.threads = 1, .lines = 390}, {.threads = 1, .lines = 250}, {.threads = 1, .lines = 10}};
    assert_int_equal(td_company_share(1000, steps, 3), 370);
    /* Who waits takes nothing. */
    const struct td_company_other idle[] = {{.threads = 0, .lines = 900}};
    assert_int_equal(td_company_share(1000, idle, 1), 1000);
}

/* What shares come to when all of them ask for more than there is, and each sees what the others
 * got. */
static void shares_settle(void **state)
{
    (void)state;
    struct td_company_other got[3] = {
        {.threads = 1, .lines = 900}, {.threads = 1, .lines = 0}, {.threads = 1, .lines = 500}};
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 3; i++) {
            const struct td_company_other others[] = {got[(i + 1) % 3], got[(i + 2) % 3]};
            got[i].lines = (uint32_t)td_company_share(900, others, 2);
        }
    }
    for (int i = 0; i < 3; i++)
        assert_in_range(got[i].lines, 298, 302);
}

static int line_beside(const struct td_core_desc *desc, uint32_t threads, uint32_t lines,
                       int *write)
{
    const struct td_company_other other = {.threads = threads, .lines = lines};
    struct td_company company;

    td_company_init(&company, desc);
    td_company_set(&company, desc, 1, &other, 1);
    if (write)
        *write = company.write;
    return company.line;
}

static void lines_cost_more_only_when_memory_is_full(void **state)
{
    (void)state;
    const struct td_core_desc one = core_with("5.6"), many = core_with("0.5"),
                              unknown = core_with("0"), slow = core_with("11.2");
    const uint32_t full = full_rate(&one);
    int write = 0;

    assert_in_range(line_beside(&one, 1, full, &write), 2 * one.dram_line - 4,
                    2 * one.dram_line + 4);
    assert_in_range(write, 2 * one.dram_write - 2, 2 * one.dram_write + 2);
    assert_in_range(line_beside(&one, 1, full / 4, NULL), one.dram_line * 4 / 3 - 4,
                    one.dram_line * 4 / 3 + 4);
    assert_in_range(line_beside(&one, 3, full, NULL), 4 * one.dram_line - 8, 4 * one.dram_line + 8);
    assert_int_equal(line_beside(&many, 1, full, &write), many.dram_line);
    assert_int_equal(write, many.dram_write);
    assert_true(line_beside(&many, 20, full, NULL) > many.dram_line);
    assert_int_equal(line_beside(&unknown, 20, full, NULL), unknown.dram_line);
    /* What all get together is the limit of one, too. */
    assert_int_equal(line_beside(&slow, 0, full, NULL), slow.dram_shared);
}

/* Nobody may bring the model to a stop, whatever stands in shared memory. */
static void odd_figures_do_no_harm(void **state)
{
    (void)state;
    const struct td_core_desc desc = core_with("5.6");
    struct td_company_other others[TD_BOARD_PLACES];
    struct td_company company;

    memset(others, 0xff, sizeof(others));
    td_company_init(&company, &desc);
    td_company_set(&company, &desc, 0, others, TD_BOARD_PLACES);
    assert_int_equal(company.line, desc.dram_line * TD_COMPANY_SLOWEST);
    td_company_work(&company, 1000, 0);
    assert_true(company.brought > 0);
}

static void rates_are_per_cycle(void **state)
{
    (void)state;
    const struct td_core_desc desc = core_with("5.6");
    const struct td_company_done did = {.cycles = 5600, .ticks = 1000 * (uint64_t)desc.dram_line};
    const struct td_company_other rates = td_company_rates(&desc, &did, 700);

    assert_int_equal(rates.lines, (uint64_t)ONE * 1000 / 5600);
    assert_int_equal(rates.fills, ONE / 8);
    const struct td_company_other none =
        td_company_rates(&desc, &(struct td_company_done){.cycles = 0}, 700);
    assert_int_equal(none.lines + none.fills, 0);
}

struct world {
    struct td_core_desc desc;
    struct td_llc *llc;
    struct td_memory memory;
};

static struct world *open_world(const char *shared)
{
    struct world *w = td_xcalloc(1, sizeof(*w));

    w->desc = core_with(shared);
    w->desc.l3_neighbour = 0;
    w->llc = td_llc_new(&w->desc);
    td_memory_init(&w->memory, &w->desc, w->llc);
    return w;
}

static void close_world(struct world *w)
{
    td_memory_release(&w->memory);
    td_llc_free(w->llc);
    free(w);
}

/* The cycle in which the last of `lines` different ones is there, asked for as fast as can be. */
static int64_t stream(struct world *w, uint64_t first, int lines)
{
    int64_t ready = 0;

    for (int i = 0; i < lines; i++) {
        enum td_level level;
        const int64_t t = td_memory_from_l2(&w->memory, first + (uint64_t)i * 64, 0, &level);
        ready = t > ready ? t : ready;
    }
    return ready;
}

/* Alone nothing depends on what is shared; beside another each line takes twice as long, and what
 * the process is for others is told. */
static void a_stream_beside_another(void **state)
{
    (void)state;
    enum { LINES = 2000 };
    struct world *alone = open_world("5.6"), *free_memory = open_world("0"),
                 *beside = open_world("5.6");
    const struct td_company_other other = {.threads = 1, .lines = full_rate(&beside->desc)};

    td_company_set(&beside->llc->company, &beside->desc, 1, &other, 1);
    td_memory_keep_company(&beside->memory, 0);
    const int64_t took = stream(alone, 1 << 20, LINES), twice = stream(beside, 1 << 20, LINES);
    assert_int_equal(took, stream(free_memory, 1 << 20, LINES));
    assert_in_range(twice * 10 / took, 18, 21);
    td_memory_keep_company(&beside->memory, 1000);
    const struct td_company_done done = td_company_done(&beside->llc->company);
    assert_int_equal(done.cycles, 1000);
    assert_int_equal(done.ticks, (uint64_t)LINES * (uint64_t)beside->desc.dram_line);
    assert_int_equal(td_llc_fills(beside->llc), LINES);
    close_world(alone);
    close_world(free_memory);
    close_world(beside);
}

/* A line stays as long as others bring in less than the last level holds. */
static void others_push_lines_out(void **state)
{
    (void)state;
    struct world *w = open_world("0");
    const struct td_company_other other = {.threads = 2, .fills = ONE / 20};
    const int64_t lines = (int64_t)w->desc.l3_kb * 16;

    assert_false(td_llc_touch(w->llc, 12345, 0));
    td_memory_keep_company(&w->memory, lines * 100);
    assert_true(td_llc_touch(w->llc, 12345, lines * 100));
    /* One line every ten cycles. */
    td_company_set(&w->llc->company, &w->desc, 1, &other, 1);
    td_memory_keep_company(&w->memory, lines * 102);
    assert_true(td_llc_touch(w->llc, 12345, lines * 102));
    td_memory_keep_company(&w->memory, lines * 125);
    assert_false(td_llc_touch(w->llc, 12345, lines * 125));
    close_world(w);
}

#define S_NS UINT64_C(1000000000)

static size_t count_others(const struct td_board_seat *seat, uint64_t now_ns)
{
    struct td_company_other others[TD_BOARD_PLACES];

    return td_board_others(seat, now_ns, others);
}

static void who_runs_is_beside_others(void **state)
{
    (void)state;
    struct td_board *board = td_xcalloc(1, sizeof(*board));
    struct td_company_other others[TD_BOARD_PLACES];
    const uint32_t pid = (uint32_t)getpid();
    struct td_board_seat a = td_board_sit(board, pid, 0), b = td_board_sit(board, 1, 0);

    assert_int_equal(count_others(&a, 0), 0);
    td_board_run(&b, 1, 0);
    td_board_run(&b, 1, 0);
    td_board_tell(&b, &(struct td_company_other){.lines = 7, .fills = 8}, 0);
    assert_int_equal(td_board_others(&a, 0, others), 1);
    assert_int_equal(others[0].threads, 2);
    assert_int_equal(others[0].lines, 7);
    assert_int_equal(others[0].fills, 8);
    assert_int_equal(td_board_running(&b), 2);
    assert_int_equal(count_others(&b, 0), 0);
    /* It waits; it goes on; it is stopped. */
    td_board_run(&b, -2, 0);
    assert_int_equal(count_others(&a, 0), 0);
    td_board_run(&b, 1, S_NS);
    assert_int_equal(count_others(&a, S_NS), 1);
    assert_int_equal(count_others(&a, S_NS + TD_BOARD_SILENT_NS + 1), 0);
    td_board_leave(&b);
    assert_null(b.board);
    assert_int_equal(count_others(&a, S_NS), 0);
    td_board_leave(&a);
    free(board);
}

/* The image that a process executes has its place, and the one before cannot say anything more. */
static void executed_images_keep_the_place(void **state)
{
    (void)state;
    struct td_board *board = td_xcalloc(1, sizeof(*board));
    const uint32_t pid = (uint32_t)getpid();
    struct td_board_seat a = td_board_sit(board, 1, 0), before = td_board_sit(board, pid, 0);

    td_board_run(&before, 3, 0);
    struct td_board_seat after = td_board_sit(board, pid, 0);
    assert_int_equal(after.place, before.place);
    assert_int_equal(td_board_running(&after), 0);
    td_board_run(&before, 1, 0);
    assert_int_equal(count_others(&a, 0), 0);
    td_board_leave(&before);
    td_board_run(&after, 1, 0);
    assert_int_equal(count_others(&a, 0), 1);
    td_board_leave(&after);
    td_board_leave(&a);
    free(board);
}

static uint32_t dead_pid(void)
{
    const pid_t child = fork();

    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return (uint32_t)child;
}

static void the_dead_give_up_their_places(void **state)
{
    (void)state;
    struct td_board *board = td_xcalloc(1, sizeof(*board));
    struct td_board_seat seats[TD_BOARD_PLACES];
    const uint32_t pid = (uint32_t)getpid();

    seats[0] = td_board_sit(board, pid, 0);
    seats[1] = td_board_sit(board, dead_pid(), 0);
    td_board_run(&seats[1], 1, 0);
    assert_int_equal(count_others(&seats[0], S_NS), 0);
    assert_int_equal(board->places[seats[1].place].owner, 0);
    /* All are taken, by others that are there; then one of them is not. */
    for (uint32_t i = 1; i < TD_BOARD_PLACES; i++)
        seats[i] = td_board_sit(board, (uint32_t)INT32_MAX - i, 0);
    for (uint32_t i = 0; i < TD_BOARD_PLACES; i++)
        board->places[i].pid = pid;
    const struct td_board_seat none = td_board_sit(board, 1, 3 * S_NS);
    assert_null(none.board);
    td_board_run(&none, 1, 0);
    assert_int_equal(count_others(&none, 0), 0);
    board->places[7].pid = dead_pid();
    const struct td_board_seat late = td_board_sit(board, 1, 3 * S_NS);
    assert_non_null(late.board);
    assert_int_equal(late.place, 7);
    free(board);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_max_min_fair),
        cmocka_unit_test(shares_settle),
        cmocka_unit_test(lines_cost_more_only_when_memory_is_full),
        cmocka_unit_test(odd_figures_do_no_harm),
        cmocka_unit_test(rates_are_per_cycle),
        cmocka_unit_test(a_stream_beside_another),
        cmocka_unit_test(others_push_lines_out),
        cmocka_unit_test(who_runs_is_beside_others),
        cmocka_unit_test(executed_images_keep_the_place),
        cmocka_unit_test(the_dead_give_up_their_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
