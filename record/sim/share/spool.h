/* SPDX-License-Identifier: MIT */
/*
 * Where emulated process images leave what was modelled of them: memory that tdrec and all of them
 * share. It outlives the images, needs no descriptor once it is open (programs close all they
 * find), no file system (programs change root and user, and fill disks), and is gone with its last
 * user, so that nothing is left when tdrec is killed.
 *
 * tdrec makes it and reads; an image claims a place and puts its piece there, again and again, each
 * time whole; of two rooms one always holds the last whole piece.
 */
#ifndef TD_RECORD_SIM_SHARE_SPOOL_H
#define TD_RECORD_SIM_SHARE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "formats/cores/core.h"

#define TD_SPOOL_NONE UINT32_MAX

struct td_spool;

/* Whether the limits of this process leave room for a spool. */
bool td_spool_fits(void);
/* By tdrec. The spool is freed with td_spool_close. TD_EIO. */
int td_spool_create(struct td_spool **ret, struct td_err *err);
/* The core that the images model; to be set before the first opens the spool. */
void td_spool_set_core(struct td_spool *spool, const struct td_core_desc *desc);
const struct td_core_desc *td_spool_core(const struct td_spool *spool);
/* The name under which others may open it while its maker lives; newly allocated. */
char *td_spool_name(const struct td_spool *spool);

/* By an image. NULL: it is not there, or not allowed. */
struct td_spool *td_spool_open(const char *name);
/* Whether a program that is executed now could open it. */
bool td_spool_reachable(const char *name);
/* Whether its maker still has it. True when that cannot be found out. */
bool td_spool_watched(const struct td_spool *spool, const char *name);
/* By its maker: nobody will read what comes from now on. */
void td_spool_leave(struct td_spool *spool);
void td_spool_close(struct td_spool *spool); /* NULL is allowed */

/* A place for an image; TD_SPOOL_NONE when all are taken. */
uint32_t td_spool_claim(struct td_spool *spool);
/* Replaces the image's piece. False when there is no room; the last piece stays then. */
bool td_spool_put(struct td_spool *spool, uint32_t image, const void *data, size_t size);
/* A program runs: the emulator came so far. */
void td_spool_begin(struct td_spool *spool);
/* No more pieces come from the image. */
void td_spool_end(struct td_spool *spool, uint32_t image);
/* One line for the user, about an image; lost when there are too many. */
void td_spool_note(struct td_spool *spool, const char *text);
/* Adds to what all images have done. From any thread. */
void td_spool_count(struct td_spool *spool, uint64_t instructions, uint64_t cycles);

/* Whether tdrec wants a piece now, since it asked and this image last put one. */
bool td_spool_asked(const struct td_spool *spool, uint32_t image);

/* By tdrec. Images are below td_spool_images. */
struct td_spool_piece {
    uint32_t sequence; /* of this piece; 0: none yet */
    uint32_t pid;      /* of the image */
    bool claimed, ended;
    bool answered; /* the piece came after tdrec asked */
};
/* Asks all images for what they have done up to now. */
void td_spool_ask(struct td_spool *spool);
uint32_t td_spool_images(const struct td_spool *spool);
/* Whether a program ever ran. */
bool td_spool_began(const struct td_spool *spool);
struct td_spool_piece td_spool_look(const struct td_spool *spool, uint32_t image);
/* Fills `data` with the last piece. False when there is none. */
bool td_spool_get(const struct td_spool *spool, uint32_t image, struct td_buf *data);
/* Gives the place of an image that ended to another. */
void td_spool_discard(struct td_spool *spool, uint32_t image);
uint64_t td_spool_instructions(const struct td_spool *spool);
uint64_t td_spool_cycles(const struct td_spool *spool);
/* Images that found no place. */
uint64_t td_spool_refused(const struct td_spool *spool);
/* The lines so far, each ended by a newline; newly allocated. */
char *td_spool_notes(const struct td_spool *spool);

#endif
