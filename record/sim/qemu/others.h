/* SPDX-License-Identifier: MIT */
/*
 * The other processes of the recording, for the models of this one: what it does goes to the board
 * (share/board.h) from time to time, and what the others do to its cores (model/memory/company.h).
 * Only where all is modelled in the order in which it runs: neither sampled nor in windows.
 */
#ifndef TD_RECORD_SIM_QEMU_OTHERS_H
#define TD_RECORD_SIM_QEMU_OTHERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/sim/share/board.h"

struct td_image;
struct td_image_thread;

struct td_others {
    struct td_board_seat seat; /* none: the process is alone */
    pthread_mutex_t lock;      /* of what follows */
    struct td_company_done told;
    uint64_t told_fills;
};

/* The image's cores are there; its mailbox and modes are set. */
void td_others_begin(struct td_image *process);
/* In the child, whose threads are made. */
void td_others_forked(struct td_image *process);
void td_others_end(struct td_image *process);
/* The thread runs, or not any more. */
void td_others_run(struct td_image *process, struct td_image_thread *thread, bool runs);
/* After each batch: tells and hears when it is time for it. */
void td_others_look(struct td_image *process);

#endif
