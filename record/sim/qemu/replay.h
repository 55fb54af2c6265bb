/* SPDX-License-Identifier: MIT */
/*
 * Answers the system calls of a window with what the program itself got for them, right after the
 * image was taken (share/live_calls.h). The emulator does not make such a call: a signal is pending
 * when it is asked to, and the loader's handler of it gives the answer and returns into the window.
 */
#ifndef TD_RECORD_SIM_QEMU_REPLAY_H
#define TD_RECORD_SIM_QEMU_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "record/sim/share/live_calls.h"
#include "record/sim/share/live_image_layout.h"
#include "record/sim/window/loader/loader.h"

/* A zeroed one has nothing to answer with. */
struct td_replay {
    struct td_buf log;
    struct td_rd rd;                         /* behind what was answered */
    struct td_live_call call;                /* that is being answered */
    bool again;                              /* the emulator has not made it */
    uint32_t answered;                       /* so far */
    uint64_t now_ns, cpu_ns, process_cpu_ns; /* what the window's clocks show */
    int64_t clock; /* a call that reads one is under way: its number; -1: none */
    uint64_t clock_arguments[2];
};

/* A window of the image with this head begins; descriptor `fd` is open on it. */
void td_replay_begin(struct td_replay *replay, const struct td_live_image_head *head, int fd);
/* Whether the call is the next that was noted. Then it is the one to be answered. */
bool td_replay_take(struct td_replay *replay, int64_t number,
                    const uint64_t arguments[TD_LIVE_ARGUMENTS]);
/* Whether all that was noted has been answered. */
bool td_replay_is_over(const struct td_replay *replay);
/* The emulator makes the call, which is not to be answered. */
void td_replay_let(struct td_replay *replay, int64_t number, const uint64_t arguments[2]);
/* The emulator has come back from a call, with this result. */
void td_replay_returned(struct td_replay *replay, int64_t result);
/* Puts into the window's memory what the kernel wrote, and says how it goes on. False: the memory
 * is not as the program's. */
bool td_replay_answer(struct td_replay *replay, struct td_loader_answer *answer);

#endif
