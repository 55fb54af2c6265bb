/* SPDX-License-Identifier: MIT */
/* What threads pay for lines that others use: two or more sharers with clocks of their own, one
 * batch after the other as the emulator gives them, or in turns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/hash.h"
#include "record/sim/model/memory/sharing.h"

enum { TRANSFER = 100, THREADS = 4, ROUNDS = 2000, LINE = 1000 };

struct world {
    struct td_core_desc desc;
    struct td_sharing *sharing;
    struct td_sharer *sharers[THREADS];
    int64_t clocks[THREADS];
    uint64_t late[THREADS];
};

static void open_world(struct world *w, int threads)
{
    *w = (struct world){.desc = {.transfer = TRANSFER}};
    w->sharing = td_sharing_new(&w->desc);
    for (int i = 0; i < threads; i++)
        w->sharers[i] = td_sharer_new(w->sharing);
}

static void close_world(struct world *w)
{
    for (int i = 0; i < THREADS; i++)
        td_sharer_free(w->sharers[i]);
    td_sharing_free(w->sharing);
}

/* An access of 8 bytes at `offset` of a line, 5 cycles after the last one was done. */
static struct td_share_answer use(struct world *w, int thread, uint64_t line, uint32_t offset,
                                  bool store)
{
    const struct td_share_access access = {.address = line * 64 + offset,
                                           .bytes = 8,
                                           .place = (uint64_t)(100 * (thread + 1) + store),
                                           .store = store,
                                           .counts = true};
    const struct td_share_answer answer =
        td_sharer_access(w->sharers[thread], &access, w->clocks[thread] + 5);

    assert_true(answer.ready >= w->clocks[thread] + 5);
    w->clocks[thread] = answer.ready;
    w->late[thread] += answer.late;
    return answer;
}

/* The first thread writes lines while it is alone. */
static void open_after_stores(struct world *w, uint64_t lines)
{
    open_world(w, 1);
    for (uint64_t i = 0; i < lines; i++)
        td_sharer_note_store(w->sharers[0], LINE + i);
    w->sharers[1] = td_sharer_new(w->sharing);
}

struct sums {
    uint64_t transfers, invalidations, cycles;
    uint64_t falses, trues;         /* of both */
    uint64_t rows, others, waiting; /* waiting: by code that is known */
    bool known;                     /* all sides are */
};

static void add_row(void *ctx, const struct td_sharing_row *row)
{
    struct sums *sums = ctx;

    sums->rows++;
    sums->waiting += row->mine.place ? row->transfers + row->invalidations : 0;
    sums->others += row->line == 0;
    sums->transfers += row->transfers;
    sums->invalidations += row->invalidations;
    sums->cycles += row->cycles;
    *(row->is_false ? &sums->falses : &sums->trues) += row->transfers + row->invalidations;
    sums->known = sums->known && row->mine.thread != UINT32_MAX &&
                  row->theirs.thread != UINT32_MAX && row->mine.thread != row->theirs.thread &&
                  row->mine.place == 100 * (row->mine.thread + 1) + row->mine.store &&
                  row->theirs.place == 100 * (row->theirs.thread + 1) + row->theirs.store;
}

static struct sums sums_of(const struct world *w)
{
    struct sums sums = {.known = true};

    td_sharing_each(w->sharing, add_row, &sums);
    return sums;
}

/* Each thread stores to its own bytes, `batch` times before the next one is modelled. */
static struct sums store_in_batches(int threads, uint32_t apart, int batch)
{
    struct world w;

    open_world(&w, threads);
    for (int round = 0; round < ROUNDS / batch; round++) {
        for (int thread = 0; thread < threads; thread++) {
            for (int i = 0; i < batch; i++)
                use(&w, thread, LINE, apart * (uint32_t)thread, true);
        }
    }
    const struct sums sums = sums_of(&w);
    close_world(&w);
    return sums;
}

static void what_it_costs_does_not_hang_on_the_batches(void **state)
{
    (void)state;
    const struct sums one = store_in_batches(2, 8, 1), many = store_in_batches(2, 8, 100);
    const struct sums most = store_in_batches(2, 8, 500);

    assert_true(one.transfers > ROUNDS / 4);
    assert_true(many.transfers > one.transfers / 4 && many.transfers < one.transfers * 4);
    /* But for the first batch, in which the other one was not there yet. */
    assert_true(most.transfers > many.transfers / 2 && most.transfers <= many.transfers);
    assert_true(many.cycles >= many.transfers * TRANSFER);
    assert_true(many.cycles <= many.transfers * 3 * TRANSFER);
}

static void bytes_tell_false_from_true(void **state)
{
    (void)state;
    const struct sums apart = store_in_batches(2, 8, 50), together = store_in_batches(2, 0, 50);

    assert_true(apart.falses > 100 && apart.trues <= apart.falses / 50);
    assert_true(together.trues > 100);
    assert_int_equal(together.falses, 0);
    assert_true(apart.known && together.known);
}

static void more_threads_wait_longer(void **state)
{
    (void)state;
    const struct sums two = store_in_batches(2, 8, 50), four = store_in_batches(4, 8, 50);

    assert_true((double)four.cycles / (double)four.transfers >
                1.5 * (double)two.cycles / (double)two.transfers);
}

static void lines_of_their_own_are_free(void **state)
{
    (void)state;
    struct world w;

    open_world(&w, 2);
    for (int i = 0; i < ROUNDS; i++) {
        for (int thread = 0; thread < 2; thread++) {
            const struct td_share_answer answer =
                use(&w, thread, LINE + (uint64_t)thread, 0, i % 2);
            assert_false(answer.late || answer.watched);
        }
    }
    assert_int_equal(sums_of(&w).rows, 0);
    close_world(&w);
}

static void lines_that_nobody_writes_are_free(void **state)
{
    (void)state;
    struct world w;

    open_world(&w, 3);
    for (int i = 0; i < ROUNDS; i++) {
        for (int thread = 0; thread < 3; thread++) {
            const struct td_share_answer answer =
                use(&w, thread, LINE + (uint64_t)i % 50, 8 * (uint32_t)thread, false);
            assert_false(answer.late || answer.watched);
        }
    }
    assert_int_equal(sums_of(&w).rows, 0);
    close_world(&w);
}

static void what_one_hands_over_costs_once(void **state)
{
    (void)state;
    enum { LINES = 300 };
    struct world w;

    open_world(&w, 2);
    for (uint64_t line = 0; line < LINES; line++)
        use(&w, 0, LINE + line, 0, true);
    td_sharer_rest(w.sharers[0], true);
    for (int again = 0; again < 5; again++) {
        for (uint64_t line = 0; line < LINES; line++)
            use(&w, 1, LINE + line, 0, false);
    }
    const struct sums sums = sums_of(&w);
    assert_int_equal(sums.transfers, LINES);
    assert_int_equal(sums.invalidations, 0);
    assert_int_equal(sums.falses, 0);
    assert_int_equal(sums.cycles, LINES * TRANSFER);
    assert_true(sums.known);
    close_world(&w);
}

static void what_was_written_alone_is_handed_over(void **state)
{
    (void)state;
    enum { LINES = 300 };
    struct world w;

    open_after_stores(&w, LINES);
    for (int again = 0; again < 2; again++) {
        for (uint64_t line = 0; line < 2 * (uint64_t)LINES; line++)
            use(&w, 1, LINE + line, 0, false);
    }
    const struct sums sums = sums_of(&w);
    assert_int_equal(sums.transfers, LINES);
    assert_int_equal(sums.trues, LINES);
    assert_int_equal(use(&w, 0, LINE, 0, false).late, false);
    close_world(&w);
}

static void who_waits_in_the_kernel_wants_no_line(void **state)
{
    (void)state;
    struct world w;

    open_world(&w, 2);
    for (int i = 0; i < 100; i++) {
        use(&w, 0, LINE, 0, true);
        use(&w, 1, LINE, 8, true);
    }
    td_sharer_rest(w.sharers[1], true);
    const uint64_t before = w.late[0];
    for (int i = 0; i < 1000; i++)
        use(&w, 0, LINE, 0, true);
    assert_true(w.late[0] - before <= 1);
    td_sharer_rest(w.sharers[1], false);
    for (int i = 0; i < 1000; i++)
        use(&w, 0, LINE, 0, true);
    assert_true(w.late[0] - before > 100);
    /* It does other things now. */
    td_sharer_tell_clock(w.sharers[1], w.clocks[1] + 1000000);
    const uint64_t between = w.late[0];
    for (int i = 0; i < 1000; i++)
        use(&w, 0, LINE, 0, true);
    assert_true(w.late[0] - between <= 1);
    close_world(&w);
}

static void stores_to_lines_that_others_read_invalidate(void **state)
{
    (void)state;
    struct world w;

    open_world(&w, 2);
    for (int i = 0; i < 10; i++) {
        use(&w, 0, LINE, 0, false);
        use(&w, 1, LINE, 0, false);
    }
    use(&w, 0, LINE, 0, true);
    const struct sums sums = sums_of(&w);
    assert_int_equal(sums.invalidations, 1);
    assert_int_equal(sums.transfers, 0);
    close_world(&w);
}

static void a_locked_load_keeps_the_line_for_its_store(void **state)
{
    (void)state;
    struct world w;
    struct td_share_access access = {
        .address = (uint64_t)LINE * 64, .bytes = 8, .store = true, .counts = true};

    open_world(&w, 2);
    for (int i = 0; i < 400; i++) {
        for (int thread = 0; thread < 2; thread++) {
            access.locked = true;
            struct td_share_answer answer =
                td_sharer_access(w.sharers[thread], &access, w.clocks[thread] + 5);
            assert_true(i < 20 || answer.late);
            access.locked = false;
            answer = td_sharer_access(w.sharers[thread], &access, answer.ready + 50);
            assert_false(answer.late);
            w.clocks[thread] = answer.ready;
        }
    }
    close_world(&w);
}

static void a_thread_learns_that_its_line_is_shared(void **state)
{
    (void)state;
    struct world w;
    uint64_t line = 0;

    open_world(&w, 3);
    for (uint64_t i = 0; i < 3; i++)
        use(&w, 0, LINE + i, 0, true);
    assert_false(td_sharer_next_news(w.sharers[0], &line));
    use(&w, 1, LINE, 0, false);
    assert_true(td_sharer_next_news(w.sharers[0], &line));
    assert_int_equal(line, LINE);
    assert_false(td_sharer_next_news(w.sharers[0], &line));
    assert_false(td_sharer_next_news(w.sharers[1], &line));
    assert_false(td_sharer_next_news(w.sharers[2], &line));
    /* Too many to be told: all may be. */
    for (uint64_t i = 0; i < 500; i++)
        use(&w, 0, 2 * LINE + i, 0, true);
    for (uint64_t i = 0; i < 500; i++)
        use(&w, 2, 2 * LINE + i, 0, true);
    assert_true(td_sharer_next_news(w.sharers[0], &line));
    assert_true(line == UINT64_MAX);
    assert_false(td_sharer_next_news(w.sharers[0], &line));
    close_world(&w);
}

/* Far more lines than are told apart: nothing is lost, and the memory is bounded. */
static void nothing_is_lost_of_many_lines(void **state)
{
    (void)state;
    struct world w;
    uint64_t late = 0;

    open_world(&w, 3);
    for (int round = 0; round < 3; round++) {
        for (uint64_t line = 0; line < 50000; line += 5) {
            for (int thread = 0; thread < 3; thread++)
                use(&w, thread, LINE + line * 7, 8 * (uint32_t)thread, true);
        }
    }
    for (int i = 0; i < 3; i++)
        late += w.late[i];
    const struct sums sums = sums_of(&w);
    assert_true(late > 20000);
    assert_int_equal(sums.transfers + sums.invalidations, late);
    assert_true(sums.others > 0);
    assert_true(sums.rows <= (uint64_t)TD_SHARING_LINES * TD_SHARING_ROWS + 256);
    close_world(&w);
}

static void rows_of_a_line_are_bounded(void **state)
{
    (void)state;
    struct world w;
    uint64_t late = 0;

    open_world(&w, 2);
    for (uint64_t i = 0; i < 1000; i++) {
        for (int thread = 0; thread < 2; thread++) {
            /* True and false ones, in turns. */
            const uint64_t offset = i / 10 % 2 ? 8 * (uint64_t)thread : 16;
            const struct td_share_access access = {.address = (uint64_t)LINE * 64 + offset,
                                                   .bytes = 4,
                                                   .place = 10000 * (uint64_t)(thread + 1) + i,
                                                   .store = true,
                                                   .counts = true};
            late += td_sharer_access(w.sharers[thread], &access, (int64_t)i * 1000).late;
        }
    }
    const struct sums sums = sums_of(&w);
    assert_int_equal(sums.transfers + sums.invalidations, late);
    assert_true(sums.trues > 100 && sums.falses > 100);
    assert_true(late > 1000 && sums.rows <= TD_SHARING_ROWS);
    close_world(&w);
}

/* Of a line with more pairs of places than are told apart it is known all the same what waited. */
static void code_that_waits_is_known(void **state)
{
    (void)state;
    struct world w;
    uint64_t late = 0;

    open_world(&w, 2);
    for (uint64_t i = 0; i < 4000; i++) {
        const uint64_t thread = i % 2, place = 1 + 100 * thread + td_hash_u64(i) % 24;
        const struct td_share_access access = {.address = (uint64_t)LINE * 64,
                                               .bytes = 4,
                                               .place = place,
                                               .store = true,
                                               .counts = true};
        late += td_sharer_access(w.sharers[thread], &access, (int64_t)i * 1000).late;
    }
    const struct sums sums = sums_of(&w);
    assert_true(late > 3000 && sums.rows > TD_SHARING_ROWS / 2 && sums.rows <= TD_SHARING_ROWS);
    assert_int_equal(sums.waiting, late);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_costs_does_not_hang_on_the_batches),
        cmocka_unit_test(bytes_tell_false_from_true),
        cmocka_unit_test(more_threads_wait_longer),
        cmocka_unit_test(lines_of_their_own_are_free),
        cmocka_unit_test(lines_that_nobody_writes_are_free),
        cmocka_unit_test(what_one_hands_over_costs_once),
        cmocka_unit_test(what_was_written_alone_is_handed_over),
        cmocka_unit_test(who_waits_in_the_kernel_wants_no_line),
        cmocka_unit_test(stores_to_lines_that_others_read_invalidate),
        cmocka_unit_test(a_locked_load_keeps_the_line_for_its_store),
        cmocka_unit_test(a_thread_learns_that_its_line_is_shared),
        cmocka_unit_test(nothing_is_lost_of_many_lines),
        cmocka_unit_test(rows_of_a_line_are_bounded),
        cmocka_unit_test(code_that_waits_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
