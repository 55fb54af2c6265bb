/* SPDX-License-Identifier: MIT */
/*
 * Where emulated process images leave what was modelled of them: memory that tdrec and all of them
 * share. It outlives the images, needs no descriptor once it is open (programs close all they
 * find), no file system (programs change root and user, and fill disks), and is gone with its last
 * user, so that nothing is left when tdrec is killed.
 *
 * tdrec makes it and reads; an image claims a place and puts its snapshot there, again and again,
 * each time whole; of two rooms one always holds the last whole snapshot.
 */
#ifndef TD_RECORD_SIM_SHARE_MAILBOX_H
#define TD_RECORD_SIM_SHARE_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/version.h"
#include "formats/cores/core.h"
#include "record/sim/share/board.h"

#define TD_MAILBOX_NONE UINT32_MAX

/* Stands in the plugin's file: tdrec takes no other. Its number is raised with each change of what
 * the two tell each other: mailbox, snapshots, images, options. */
#define TD_PLUGIN_MARK "tdprof plugin " TD_VERSION ", 2;"

struct td_mailbox;

/* Whether the limits of this process leave room for a mailbox. */
bool td_mailbox_fits(void);
/* By tdrec. The mailbox is freed with td_mailbox_close. TD_EIO. */
int td_mailbox_create(struct td_mailbox **ret, struct td_err *err);
/* The core that the images model; to be set before the first opens the mailbox. */
void td_mailbox_set_core(struct td_mailbox *mailbox, const struct td_core_desc *desc);
/* The variants of it that they model as well, at most TD_VARIANTS_MAX; as the core. */
void td_mailbox_set_variants(struct td_mailbox *mailbox, const struct td_core_desc *descs,
                             size_t count);
/* How many there are, and them. */
size_t td_mailbox_variants(const struct td_mailbox *mailbox, const struct td_core_desc **descs);
const struct td_core_desc *td_mailbox_core(const struct td_mailbox *mailbox);
/* The name under which others may open it while its maker lives; newly allocated. */
char *td_mailbox_name(const struct td_mailbox *mailbox);

/* By an image. NULL: it is not there, or not allowed. */
struct td_mailbox *td_mailbox_open(const char *name);
/* Whether a program that is executed now could open it. */
bool td_mailbox_reachable(const char *name);
/* Whether its maker still has it. True when that cannot be found out. */
bool td_mailbox_watched(const struct td_mailbox *mailbox, const char *name);
/* By its maker: nobody will read what comes from now on. */
void td_mailbox_leave(struct td_mailbox *mailbox);
void td_mailbox_close(struct td_mailbox *mailbox); /* NULL is allowed */

/* Who runs beside whom; the mailbox' own. */
struct td_board *td_mailbox_board(struct td_mailbox *mailbox);

/* A place for an image; TD_MAILBOX_NONE when all are taken. */
uint32_t td_mailbox_claim(struct td_mailbox *mailbox);
/* Replaces the image's snapshot. False when there is no room; the last snapshot stays then. */
bool td_mailbox_put(struct td_mailbox *mailbox, uint32_t image, const void *data, size_t size);
/* A program runs: the emulator came so far. */
void td_mailbox_begin(struct td_mailbox *mailbox);
/* No more snapshots come from the image. */
void td_mailbox_end(struct td_mailbox *mailbox, uint32_t image);
/* One line for the user, about an image; lost when there are too many. */
void td_mailbox_note(struct td_mailbox *mailbox, const char *text);
/* Adds to what all images have done. From any thread. */
void td_mailbox_count(struct td_mailbox *mailbox, uint64_t instructions, uint64_t cycles);

/* How a window (qemu/window.h) ended. */
enum td_mailbox_window_end {
    TD_MAILBOX_WINDOW_WHOLE,
    TD_MAILBOX_WINDOW_CUT,   /* by the system call `detail`; what came before it counts */
    TD_MAILBOX_WINDOW_EARLY, /* the same before anything counted */
    TD_MAILBOX_WINDOW_FAULT, /* its code got the signal `detail` */
    TD_MAILBOX_WINDOW_LOST,  /* its image could not be loaded: `detail` is enum td_loader_lost */
};
struct td_mailbox_window {
    uint32_t number; /* of the image */
    enum td_mailbox_window_end end;
    int32_t detail;
    uint64_t instructions, cycles; /* modelled exactly */
    uint32_t answered;             /* system calls, with what the program got for them */
    bool asked_more;               /* it was cut, and more answers might have helped */
};
/* Tells of a window; lost when there are too many. */
void td_mailbox_window(struct td_mailbox *mailbox, const struct td_mailbox_window *window);

/* Whether tdrec wants a snapshot now, since it asked and this image last put one. */
bool td_mailbox_asked(const struct td_mailbox *mailbox, uint32_t image);

/* By tdrec. Images are below td_mailbox_images. */
struct td_mailbox_snapshot {
    uint32_t sequence; /* of this snapshot; 0: none yet */
    uint32_t pid;      /* of the image */
    bool claimed, ended;
    bool answered; /* the snapshot came after tdrec asked */
};
/* Asks all images for what they have done up to now. */
void td_mailbox_ask(struct td_mailbox *mailbox);
uint32_t td_mailbox_images(const struct td_mailbox *mailbox);
/* Whether a program ever ran. */
bool td_mailbox_began(const struct td_mailbox *mailbox);
struct td_mailbox_snapshot td_mailbox_look(const struct td_mailbox *mailbox, uint32_t image);
/* Fills `data` with the last snapshot. False when there is none. */
bool td_mailbox_get(const struct td_mailbox *mailbox, uint32_t image, struct td_buf *data);
/* Gives the place of an image that ended to another. */
void td_mailbox_discard(struct td_mailbox *mailbox, uint32_t image);
uint64_t td_mailbox_instructions(const struct td_mailbox *mailbox);
uint64_t td_mailbox_cycles(const struct td_mailbox *mailbox);
/* Images that found no place. */
uint64_t td_mailbox_refused(const struct td_mailbox *mailbox);
/* The window of this index, from 0; false when there is none yet. */
bool td_mailbox_window_at(const struct td_mailbox *mailbox, uint32_t index,
                          struct td_mailbox_window *ret);
/* The lines so far, each ended by a newline; newly allocated. */
char *td_mailbox_notes(const struct td_mailbox *mailbox);

#endif
