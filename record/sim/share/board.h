/* SPDX-License-Identifier: MIT */
/*
 * Who runs beside whom: a place for each process image of a recording that is modelled in full, in
 * memory that all share (mailbox.h). Each writes to its own place what it does to the last level
 * and to memory, and reads what the others do. A place is taken back when its owner is gone.
 */
#ifndef TD_RECORD_SIM_SHARE_BOARD_H
#define TD_RECORD_SIM_SHARE_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/sim/model/memory/company.h"

enum { TD_BOARD_PLACES = 512 }; /* processes at a time; more have nobody beside them */

/* Who has not told anything for so long is stopped, or gone: it is beside nobody. */
#define TD_BOARD_SILENT_NS UINT64_C(2000000000)

struct td_board_place {
    _Atomic uint64_t owner; /* 0: free; numbers never come again */
    _Atomic uint64_t told_ns;
    _Atomic uint32_t pid;
    _Atomic uint32_t running; /* threads that do not wait in the kernel */
    _Atomic uint32_t lines, fills;
};

struct td_board { /* all 0: empty */
    _Atomic uint64_t owners;
    _Atomic uint32_t used; /* places below may be taken */
    struct td_board_place places[TD_BOARD_PLACES];
};

/* A process image's hold of its place; all 0: it has none. */
struct td_board_seat {
    struct td_board *board; /* borrowed */
    uint32_t place;
    uint64_t owner;
};

/* Takes a place for the process `pid`: that of the image it executed before, else a free one, else
 * one whose process is gone. No seat when there is none. */
struct td_board_seat td_board_sit(struct td_board *board, uint32_t pid, uint64_t now_ns);
/* Gives it up; nothing happens where it was taken back. The seat is none after that. */
void td_board_leave(struct td_board_seat *seat);
/* So many more threads run; any thread may say so. */
void td_board_run(const struct td_board_seat *seat, int more, uint64_t now_ns);
/* What the process does now; of `rates` the threads are not looked at. */
void td_board_tell(const struct td_board_seat *seat, const struct td_company_other *rates,
                   uint64_t now_ns);
/* How many of its own threads run. */
uint32_t td_board_running(const struct td_board_seat *seat);
/* Fills `others` with those that run beside the seat's owner; returns how many. */
size_t td_board_others(const struct td_board_seat *seat, uint64_t now_ns,
                       struct td_company_other others[TD_BOARD_PLACES]);

#endif
