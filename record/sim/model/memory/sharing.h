/* SPDX-License-Identifier: MIT */
/*
 * Coherence: what a thread pays because others of the process use the same lines. A line that
 * another has written since this thread last had it is transferred; a store to a line that others
 * hold invalidates their copies. Either takes `transfer` cycles, longer where others wait too.
 *
 * Threads are modelled one batch after the other, each with a clock of its own, so the order in
 * which their accesses come here says little. Of each line and thread the directory knows how often
 * it wants the line. While two threads use a line at the same time, each is taken to lose it as
 * often as the other wants it, whatever the order in which their batches were modelled. Beside
 * that, every change of hands that is seen counts.
 *
 * Lines of one thread, and lines that nobody writes, cost nothing, and are not told here again. Of
 * what the first thread did before there was another, the directory knows which lines it wrote, but
 * not by which instruction.
 */
#ifndef TD_RECORD_SIM_MODEL_MEMORY_SHARING_H
#define TD_RECORD_SIM_MODEL_MEMORY_SHARING_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/cores/core.h"

enum {
    TD_SHARING_LINES = 1024, /* of several threads, told apart; the rest is summed up */
    TD_SHARING_ROWS = 256,   /* of a line, told apart; a half of them by threads, too */
};

struct td_sharing; /* of a process */
struct td_sharer;  /* of a thread in it */

struct td_share_access {
    uint64_t address;
    uint32_t bytes; /* what lies beyond the line is not looked at */
    uint64_t place; /* of the instruction (trace.h) */
    bool store;
    bool locked; /* a load that holds the line until its store is done; `store` is set too */
    bool counts; /* into the rows */
};

struct td_share_answer {
    int64_t ready; /* the cycle in which the thread has the line; the access's: at once */
    bool late;     /* it costs something */
    bool is_false; /* late, and the others use other bytes of the line */
    bool watched;  /* several threads use the line: the next access is to be told, too */
    bool written;  /* not watched, and known to be written by this thread alone */
};

struct td_sharing *td_sharing_new(const struct td_core_desc *desc);
void td_sharing_free(struct td_sharing *sharing); /* NULL is allowed; no sharer may be left */

/* Threads are numbered from 0 in the order in which they join. The sharer is freed with
 * td_sharer_free, by any thread. */
struct td_sharer *td_sharer_new(struct td_sharing *sharing);
void td_sharer_free(struct td_sharer *sharer); /* NULL is allowed */
/* The thread waits in the kernel: it wants no line until it goes on. From any thread. */
void td_sharer_rest(struct td_sharer *sharer, bool rests);
/* The cycle that the thread has come to. */
void td_sharer_tell_clock(struct td_sharer *sharer, int64_t cycle);
/* Whether there have been several threads: before, nothing needs to be told but stores. */
bool td_sharer_has_others(const struct td_sharer *sharer);
/* The first thread, alone as yet, stores to a line: others who use it later have it from there. */
void td_sharer_note_store(struct td_sharer *sharer, uint64_t line);
/* A line that this thread had for itself, and that another uses now. False: there is none left.
 * *line UINT64_MAX: all of them may be. */
bool td_sharer_next_news(struct td_sharer *sharer, uint64_t *line);

/* The thread's access in its cycle `t`. */
struct td_share_answer td_sharer_access(struct td_sharer *sharer,
                                        const struct td_share_access *access, int64_t t);

/* One side of what was shared. */
struct td_sharing_side {
    uint32_t thread; /* UINT32_MAX: of several */
    bool store;
    uint64_t place; /* 0: of several */
};

/* What `mine` paid because of `theirs`. */
struct td_sharing_row {
    uint64_t line; /* number of the line; 0: of lines that are not told apart any more */
    struct td_sharing_side mine, theirs;
    bool is_false; /* they touched different bytes */
    uint64_t transfers, invalidations, cycles;
};

typedef void td_sharing_fn(void *ctx, const struct td_sharing_row *row);
/* The rows of a line come one after the other. */
void td_sharing_each(struct td_sharing *sharing, td_sharing_fn *fn, void *ctx);

#endif
