/* SPDX-License-Identifier: MIT */
/* What a reader of files is asked for, and what it tells beside the model: for readers and callers.
 */
#ifndef TD_FORMATS_LOADING_H
#define TD_FORMATS_LOADING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/model.h"

/* A mapping of an imported process: [begin, end) holds the module's bytes from `offset` on. */
struct td_load_place {
    uint64_t begin, end, offset;
    uint32_t module;
    const struct td_module *about; /* of that module; with its path, borrowed */
    const char *path;
};

/* A user stack that an imported sample brought along. */
struct td_load_stack {
    const char *machine;          /* "x86_64", "aarch64"; NULL: not known */
    const struct td_model *model; /* with the environment as far as it was read */
    uint64_t started_ns;          /* time of the first sample */
    const uint8_t *regs;          /* a word of this machine's for each bit of regs_mask, the */
    uint64_t regs_mask;           /* lowest first; bits are perf's numbers (asm/perf_regs.h) */
    const uint8_t *bytes;         /* from the stack pointer upwards */
    size_t size;
    uint64_t space; /* names (process, its mappings as they are now) */
    bool (*find)(const struct td_load_stack *stack, uint64_t address, struct td_load_place *place);
    const void *find_ctx;
};

/* Turns such stacks into frames: symbolize/unwind/stack_copies.h has one. */
struct td_load_unwinder {
    void *ctx;
    /* Innermost first, callers as the last byte of their call. Returns how many, 0 when it cannot;
     * *cut says that outer frames are missing. */
    size_t (*unwind)(void *ctx, const struct td_load_stack *stack, uint64_t *frames, size_t max,
                     bool *cut);
};

struct td_load_opts {
    bool keep_samples; /* samples in the order of their times, beside the tallies */
    bool keep_slots;   /* the same, of top-down groups alone */
    uint64_t from_ns; /* samples outside [from_ns, to_ns) since the recording began are left out; */
    uint64_t to_ns;   /* 0 is no end. Modelled tallies have no time and are kept whole. */
    const struct td_load_unwinder *unwinder; /* NULL: copied stacks of imports are left out */
    bool leaves_only; /* stacks may be cut down to their innermost frame, which is faster and
                         smaller by far where a profile has many; only our own format does it */
    bool by_program;  /* modelled tallies of all threads of one program (process name) may be added
                         up; only our own format does it */
    /* Called now and then with how many of the file's bytes are read. True: no more shall be; then
     * the model holds what was read so far and is not complete, without a word in the status. NULL:
     * none. */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
    bool mapped; /* the bytes are pages of their own, which may be given back when they were
                    read; td_load_file sets it */
};

/* What was found wrong but did not stop the reading; filled beside a TD_OK. */
struct td_load_status {
    bool damaged;         /* a part is wrong and was skipped; */
    bool cut;             /* the recorder did not come to its end: what is there is sound; */
    struct td_err damage; /* the first damage, else where the file was cut: one sentence, with its
                             offset. code is TD_OK when there is neither. */
    uint64_t dropped;     /* samples and tallies left out because what they refer to was lost */
    uint32_t timeless; /* 1 << enum td_group_role: a part of the time was asked for, but of groups
                          of these roles the file has sums, which have no time and are kept whole */
};

#endif
