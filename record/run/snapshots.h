/* SPDX-License-Identifier: MIT */
/*
 * The snapshots (sim/snapshot.h) of the process images of an emulated command, put together into
 * one profile while they come. A snapshot holds all that its image did so far; what it tells more
 * than the image's last one is added, so that the profile is true at any moment and only grows.
 */
#ifndef TD_RECORD_RUN_SNAPSHOTS_H
#define TD_RECORD_RUN_SNAPSHOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/map.h"
#include "formats/cores/variant.h"
#include "formats/ran.h"
#include "formats/model.h"
#include "formats/profile/write.h"
#include "record/sim/model/sim.h"

struct td_intern;
struct td_jit;
struct td_toggle;
struct td_snapshot_image;

struct td_snapshots {
    struct td_profile_writer *writer;
    uint64_t slots, instructions; /* of all tallies that were added */
    uint32_t group;               /* of the model, in no region; TD_NONE: not described yet */
    struct td_group model;        /* what it is */
    struct td_map groups;         /* kind and region of a group to it, plus 1 */
    struct td_map apart;          /* regions that have groups of their own */
    uint64_t counters[TD_COUNTER_COUNT];
    double squares; /* of the images' errors */
    bool native;    /* set by the caller: the profile has a native run's counters */
    bool windows;   /* likewise: of a native run, which has counts of its own */
    /* Set by the caller: what runs while this function is on the stack, and nothing else, is
     * added; NULL: all. `width` of the core is then set, too. */
    struct td_toggle *toggle;
    /* Set by the caller: what was changed in each of them ("branches"), in the order of
     * td_snapshot_task.variant; borrowed. */
    const char *const *variants;
    size_t variant_count;
    uint32_t variant_events[TD_VARIANT_COLUMNS]; /* plus 1; 0: not described yet */
    uint32_t width;
    uint64_t inside_slots, inside_instructions; /* of what was added then */
    struct td_ran *code; /* what ran, of all images that have ended; NULL: nothing yet */
    struct td_ran_room *code_room;
    struct td_habits habits; /* of images that ended; modules the profile's */
    struct td_jit *jit;      /* addresses of generated code */
    struct td_intern *texts; /* what modules are, and what snapshots warned of */
    struct td_map modules;   /* text to the profile's module */
    struct td_map warnings;
    struct td_snapshot_image **images; /* by place; NULL: nothing of it was added */
    size_t image_count, image_cap;
};

void td_snapshots_write_core(struct td_profile_writer *writer, const struct td_core_desc *desc);
void td_snapshots_init(struct td_snapshots *snapshots, struct td_profile_writer *writer);
void td_snapshots_release(struct td_snapshots *snapshots);

/* Adds what the snapshot tells more than the last one of the same image, and keeps its bytes:
 * `bytes` is empty then. False, and nothing was done, when they are no snapshot, or hold counts
 * that cannot be. Cycles of tallies are exact to a few, and their sum exactly, until the last
 * snapshot. Images are told apart by a small number, which is free for another after
 * td_snapshots_forget. */
bool td_snapshots_add(struct td_snapshots *snapshots, uint32_t image, struct td_buf *bytes,
                      bool last);
void td_snapshots_forget(struct td_snapshots *snapshots, uint32_t image);
/* Writes the names of the code that the image made itself, as it tells them in a perf-PID.map or a
 * jitdump: when it has ended, or the recording does. */
void td_snapshots_name_code(struct td_snapshots *snapshots, uint32_t image);
/* After the last of them: says in the profile what could not be named, and writes the code that
 * ran. */
void td_snapshots_names_end(struct td_snapshots *snapshots);

#endif
