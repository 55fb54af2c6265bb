/* SPDX-License-Identifier: MIT */
#include "record/sim/share/board.h"

#include <errno.h>
#include <signal.h>

/* Who runs tells more often; of others it is worth asking whether they are there. */
#define QUIET_NS UINT64_C(50000000)

/* Whether the process cannot come back to its place. One that waits to be reaped still counts as
 * there: it is silent soon. */
static bool is_gone(const struct td_board_place *place)
{
    const uint32_t pid = atomic_load_explicit(&place->pid, memory_order_relaxed);

    return pid == 0 || pid > INT32_MAX || (kill((pid_t)pid, 0) < 0 && errno == ESRCH);
}

static bool is_silent(const struct td_board_place *place, uint64_t now_ns, uint64_t time_ns)
{
    const uint64_t told = atomic_load_explicit(&place->told_ns, memory_order_relaxed);

    return now_ns > told && now_ns - told > time_ns;
}

static bool take(struct td_board *board, uint32_t at, uint64_t before, uint64_t owner)
{
    uint32_t used = atomic_load(&board->used);

    if (!atomic_compare_exchange_strong(&board->places[at].owner, &before, owner))
        return false;
    while (used <= at && !atomic_compare_exchange_weak(&board->used, &used, at + 1))
        continue;
    return true;
}

static uint32_t places_used(const struct td_board *board)
{
    const uint32_t used = atomic_load_explicit(&board->used, memory_order_relaxed);

    return used < TD_BOARD_PLACES ? used : TD_BOARD_PLACES;
}

static uint32_t find_own(struct td_board *board, uint32_t pid, uint64_t owner)
{
    for (uint32_t i = 0; i < places_used(board); i++) {
        const uint64_t before = atomic_load(&board->places[i].owner);

        if (before && atomic_load(&board->places[i].pid) == pid && take(board, i, before, owner))
            return i;
    }
    return TD_BOARD_PLACES;
}

static uint32_t find_free(struct td_board *board, uint64_t owner)
{
    for (uint32_t i = 0; i < TD_BOARD_PLACES; i++) {
        if (atomic_load(&board->places[i].owner) == 0 && take(board, i, 0, owner))
            return i;
    }
    return TD_BOARD_PLACES;
}

static uint32_t find_left(struct td_board *board, uint64_t owner, uint64_t now_ns)
{
    for (uint32_t i = 0; i < TD_BOARD_PLACES; i++) {
        const uint64_t before = atomic_load(&board->places[i].owner);

        if (before && is_silent(&board->places[i], now_ns, TD_BOARD_SILENT_NS) &&
            is_gone(&board->places[i]) && take(board, i, before, owner))
            return i;
    }
    return TD_BOARD_PLACES;
}

struct td_board_seat td_board_sit(struct td_board *board, uint32_t pid, uint64_t now_ns)
{
    const uint64_t owner = atomic_fetch_add(&board->owners, 1) + 1;
    uint32_t at = find_own(board, pid, owner);

    if (at == TD_BOARD_PLACES)
        at = find_free(board, owner);
    if (at == TD_BOARD_PLACES)
        at = find_left(board, owner, now_ns);
    if (at == TD_BOARD_PLACES)
        return (struct td_board_seat){.board = NULL};
    struct td_board_place *place = &board->places[at];
    atomic_store(&place->running, 0);
    atomic_store(&place->lines, 0);
    atomic_store(&place->fills, 0);
    atomic_store(&place->pid, pid);
    atomic_store(&place->told_ns, now_ns);
    return (struct td_board_seat){.board = board, .place = at, .owner = owner};
}

/* NULL: the seat is none, or was taken back. */
static struct td_board_place *own_place(const struct td_board_seat *seat)
{
    struct td_board_place *place = seat->board ? &seat->board->places[seat->place] : NULL;

    return place && atomic_load_explicit(&place->owner, memory_order_relaxed) == seat->owner ? place
                                                                                             : NULL;
}

void td_board_leave(struct td_board_seat *seat)
{
    uint64_t owner = seat->owner;

    if (seat->board)
        atomic_compare_exchange_strong(&seat->board->places[seat->place].owner, &owner, 0);
    *seat = (struct td_board_seat){.board = NULL};
}

void td_board_run(const struct td_board_seat *seat, int more, uint64_t now_ns)
{
    struct td_board_place *place = own_place(seat);

    if (!place)
        return;
    atomic_store_explicit(&place->told_ns, now_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&place->running, (uint32_t)more, memory_order_relaxed);
}

void td_board_tell(const struct td_board_seat *seat, const struct td_company_other *rates,
                   uint64_t now_ns)
{
    struct td_board_place *place = own_place(seat);

    if (!place)
        return;
    atomic_store_explicit(&place->lines, rates->lines, memory_order_relaxed);
    atomic_store_explicit(&place->fills, rates->fills, memory_order_relaxed);
    atomic_store_explicit(&place->told_ns, now_ns, memory_order_relaxed);
}

uint32_t td_board_running(const struct td_board_seat *seat)
{
    const struct td_board_place *place = own_place(seat);

    return place ? atomic_load_explicit(&place->running, memory_order_relaxed) : 0;
}

/* Whether the place's owner runs beside others. Who was killed gives up its place here. */
static bool runs(struct td_board_place *place, uint64_t owner, uint64_t now_ns)
{
    const int32_t running = (int32_t)atomic_load_explicit(&place->running, memory_order_relaxed);

    if (running <= 0 || is_silent(place, now_ns, TD_BOARD_SILENT_NS))
        return false;
    if (!is_silent(place, now_ns, QUIET_NS) || !is_gone(place))
        return true;
    atomic_compare_exchange_strong(&place->owner, &owner, 0);
    return false;
}

size_t td_board_others(const struct td_board_seat *seat, uint64_t now_ns,
                       struct td_company_other others[TD_BOARD_PLACES])
{
    size_t count = 0;

    if (!own_place(seat))
        return 0;
    for (uint32_t i = 0; i < places_used(seat->board); i++) {
        struct td_board_place *place = &seat->board->places[i];
        const uint64_t owner = atomic_load_explicit(&place->owner, memory_order_relaxed);

        if (owner == 0 || owner == seat->owner || !runs(place, owner, now_ns))
            continue;
        others[count++] = (struct td_company_other){
            .threads = atomic_load_explicit(&place->running, memory_order_relaxed),
            .lines = atomic_load_explicit(&place->lines, memory_order_relaxed),
            .fills = atomic_load_explicit(&place->fills, memory_order_relaxed)};
    }
    return count;
}
