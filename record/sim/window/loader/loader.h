/* SPDX-License-Identifier: MIT */
/*
 * The loader, which runs in the emulator in place of a program: it maps an image where its process
 * had it, restores the registers and goes on there. When the plugin says that the window is over,
 * or the window's code fails, it does the same with the next image in the same process: mappings
 * that are equal stay, and with them the emulator's translations.
 *
 * This is what it, tdrec and the plugin agree on.
 */
#ifndef TD_RECORD_SIM_WINDOW_LOADER_LOADER_H
#define TD_RECORD_SIM_WINDOW_LOADER_LOADER_H

#include <stdint.h>

enum {
    /* Descriptors that the loader finds open. Those of an image are below. */
    TD_LOADER_FIRST = 1000,
    TD_LOADER_NAMES = 1000,     /* of images: records of TD_LOADER_NAME_BYTES, until the end */
    TD_LOADER_NULL = 1001,      /* /dev/null, for writing */
    TD_LOADER_LAST = 1003,      /* the image that was loaded last */
    TD_LOADER_NAME_BYTES = 256, /* a path, terminated */

    /* A system call that does not exist, by which it tells the plugin something. */
    TD_LOADER_CALL = 0x7d57,
    TD_LOADER_BEGIN = 1, /* the image goes on now; its head is at this address */
    TD_LOADER_FAULT = 2, /* the window's code got this signal */
    TD_LOADER_LOST = 3,  /* the image cannot be loaded, for this reason (enum td_loader_lost) */
    TD_LOADER_ASK = 4,   /* whether its signal is because of a call of the window that is answered
                            otherwise than by the emulator: into this struct td_loader_answer */

    TD_LOADER_SIGNAL = 12, /* SIGUSR2, by the plugin: the window is over, or has its answer */
    TD_LOADER_TABLES_BYTES = 512 * 1024,
    TD_LOADER_ADDRESS = 0x10000, /* where it lies unless tdrec moves it below a heap */
};

struct td_loader_answer {
    uint64_t valid; /* 0: the window is over */
    uint64_t again; /* the emulator would begin the call anew: the window stands before it */
    int64_t result;
};

/* X(symbol, what tdrec says of such windows) */
#define TD_LOADER_LOSSES(X)                                                    \
    X(OPEN, "their image could not be opened")                                 \
    X(FORMAT, "their image was not whole")                                     \
    X(LARGE, "they have more mappings than the loader has room for")           \
    X(FILE, "a file that the program had mapped could not be opened any more") \
    X(PLACE, "the emulator itself lay where the program has its memory")

enum td_loader_lost {
    TD_LOADER_LOADED,
#define X(symbol, text) TD_LOADER_LOST_##symbol,
    TD_LOADER_LOSSES(X)
#undef X
        TD_LOADER_LOST_COUNT
};

#endif
