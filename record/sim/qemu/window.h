/* SPDX-License-Identifier: MIT */
/*
 * Windows of images. The program is the loader (window/loader/loader.h): each image that it lets go
 * on is warmed, then the pipeline is filled, then it is modelled exactly for so many modelled
 * cycles, and the loader is told to load the next. Each stands for the CPU time from the image
 * before to its own: images are not equally far apart.
 */
#ifndef TD_RECORD_SIM_QEMU_WINDOW_H
#define TD_RECORD_SIM_QEMU_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/sim/model/sampling/sampling.h"
#include "record/sim/qemu/replay.h"
#include "record/sim/share/mailbox.h"

struct td_image;
struct td_image_thread;

/* A zeroed one is for programs that are run as a whole. */
struct td_window {
    bool wanted;
    uint64_t warm, fill; /* instructions before what counts */
    uint64_t cycles;     /* what counts */
    enum {
        TD_WINDOW_LOADING, /* the loader runs: nothing is kept */
        TD_WINDOW_WARMING,
        TD_WINDOW_NEAR,
        TD_WINDOW_FILLING,
        TD_WINDOW_EXACT
    } stage;
    bool jailed;
    uint32_t number;        /* of the image */
    uint64_t from_cycles;   /* of the model, when EXACT began */
    uint64_t ran;           /* instructions of EXACT so far */
    double cpi;             /* cycles an instruction, lately */
    uint64_t filled_cycles; /* of the model, when FILLING began */
    uint64_t stands_ns;     /* CPU time that the window stands for */
    struct td_replay replay;
    bool serving; /* the loader answers a call of the window's */
    /* Of the thread, before that. */
    uint64_t *served_next;
    int64_t served_left;
};

/* Of the option "WARM:FILL:CYCLES". False when it is none. */
bool td_window_parse(struct td_window *window, const char *text);
/* The phase that follows: the one before has run as many instructions as it was given. */
struct td_sampling_phase td_window_next(struct td_image *process, struct td_image_thread *thread);
/* Before each system call: the loader's own, those that are answered, and those that end a window.
 */
void td_window_call(struct td_image *process, struct td_image_thread *thread, int64_t number,
                    const uint64_t arguments[TD_LIVE_ARGUMENTS]);
/* After it. */
void td_window_called(struct td_image *process, int64_t number, int64_t result);

#endif
