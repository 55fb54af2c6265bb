/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/others.h"

#include <unistd.h>

#include "base/clock.h"
#include "record/sim/qemu/image.h"

/* Cycles of all threads from one look to the next: some batches. */
#define LOOK_CYCLES (UINT64_C(1) << 16)

void td_others_begin(struct td_image *process)
{
    struct td_others *others = &process->others;
    struct td_board *board = process->mailbox ? td_mailbox_board(process->mailbox) : NULL;

    others->seat = (struct td_board_seat){.board = NULL};
    pthread_mutex_init(&others->lock, NULL);
    if (board && !process->abandoned && !process->sample && !process->window.wanted)
        others->seat = td_board_sit(board, (uint32_t)getpid(), td_clock_ns());
    others->told = td_company_done(&process->llc->company);
    others->told_fills = td_llc_fills(process->llc);
}

/* Variants have the company of the program itself. */
static void set_company(struct td_image *process, uint32_t threads,
                        const struct td_company_other *beside, size_t count)
{
    td_company_set(&process->llc->company, &process->desc, threads, beside, count);
    for (unsigned i = 0; i < process->variant_count; i++)
        td_company_set(&process->variants[i].llc->company, &process->variants[i].desc, threads,
                       beside, count);
}

void td_others_forked(struct td_image *process)
{
    td_others_begin(process);
    /* What the parent does is beside the child from now on, and not known yet. */
    set_company(process, 1, NULL, 0);
    for (unsigned i = 0; i < process->thread_limit; i++) {
        if (process->threads[i])
            td_others_run(process, process->threads[i], true);
    }
}

void td_others_end(struct td_image *process)
{
    td_board_leave(&process->others.seat);
}

void td_others_run(struct td_image *process, struct td_image_thread *thread, bool runs)
{
    if (thread->runs == runs || !process->others.seat.board)
        return;
    thread->runs = runs;
    td_board_run(&process->others.seat, runs ? 1 : -1, td_clock_ns());
}

/* With the lock held. */
static void hear(struct td_image *process, uint64_t now_ns)
{
    const struct td_board_seat *seat = &process->others.seat;
    struct td_company_other beside[TD_BOARD_PLACES];
    const size_t count = td_board_others(seat, now_ns, beside);

    set_company(process, td_board_running(seat), beside, count);
}

static void tell(struct td_image *process, const struct td_company_done *done, uint64_t now_ns)
{
    struct td_others *others = &process->others;
    const uint64_t fills = td_llc_fills(process->llc);
    const struct td_company_done did = {.cycles = done->cycles - others->told.cycles,
                                        .ticks = done->ticks - others->told.ticks};
    const struct td_company_other rates =
        td_company_rates(&process->desc, &did, fills - others->told_fills);

    td_board_tell(&others->seat, &rates, now_ns);
    others->told = *done;
    others->told_fills = fills;
}

void td_others_look(struct td_image *process)
{
    struct td_others *others = &process->others;

    if (!others->seat.board || process->abandoned || pthread_mutex_trylock(&others->lock) != 0)
        return;
    const struct td_company_done done = td_company_done(&process->llc->company);
    if (done.cycles - others->told.cycles >= LOOK_CYCLES) {
        const uint64_t now_ns = td_clock_ns();

        tell(process, &done, now_ns);
        hear(process, now_ns);
    }
    pthread_mutex_unlock(&others->lock);
}
