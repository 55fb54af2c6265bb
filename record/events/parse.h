/* SPDX-License-Identifier: MIT */
/* The bytes of one ring record as a struct. What it points to lies in those bytes. */
#ifndef TD_RECORD_EVENTS_PARSE_H
#define TD_RECORD_EVENTS_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/model.h"

/* How the samples of one event are laid out. */
struct td_layout {
    uint64_t id;          /* PERF_EVENT_IOC_ID's; compared only when there are several layouts */
    uint64_t sample_type; /* perf_event_attr's, as is the next */
    uint64_t read_format;
    uint64_t user_regs;
    uint16_t group, event; /* of the plan */
};

/* The layouts of a ring; with more than one, all have PERF_SAMPLE_IDENTIFIER. */
struct td_layouts {
    const struct td_layout *items; /* sorted by id */
    size_t count;
};

enum td_rec_kind {
    TD_REC_OTHER, /* a kind we do not use, with its time */
    TD_REC_SAMPLE,
    TD_REC_MMAP,
    TD_REC_COMM,
    TD_REC_FORK,
    TD_REC_EXIT,
    TD_REC_LOST,         /* records of any kind */
    TD_REC_LOST_SAMPLES, /* samples */
    TD_REC_THROTTLE,
};

#define TD_BRANCH_BYTES 24 /* a perf_branch_entry: from, to, flags */

struct td_rec_sample {
    uint64_t ip, period, address, weight, data_source;
    const uint8_t *chain; /* chain_count words, the innermost first, with context markers */
    uint64_t chain_count;
    const uint8_t *read; /* read_size bytes as read_format says */
    size_t read_size;
    const uint8_t *branches; /* perf_branch_entry, TD_BRANCH_BYTES each */
    uint64_t branch_count;
    const uint8_t *raw; /* raw_size bytes, as the PMU has them */
    size_t raw_size;
    uint64_t regs_abi;
    const uint8_t *regs;  /* one word for each bit of user_regs; NULL for a kernel thread */
    const uint8_t *stack; /* stack_size bytes that were really copied */
    uint64_t stack_size;
    bool exact_ip;
    bool kernel; /* ip is the kernel's */
};

struct td_rec_mmap {
    uint64_t start, size, offset;
    uint32_t major, minor;
    uint64_t inode;
    struct td_build_id build_id; /* size 0: major, minor and inode are known instead */
    bool executable;
    const char *path;
    size_t path_len;
};

struct td_rec {
    enum td_rec_kind kind;
    uint64_t time_ns;               /* 0 when the record has none */
    uint32_t pid, tid;              /* TD_NONE when not known, as of a task that has just ended */
    const struct td_layout *layout; /* NULL when the id is none of ours */
    union {
        struct td_rec_sample sample;
        struct td_rec_mmap mmap;
        struct {
            const char *name;
            size_t len;
            bool exec;
        } comm;
        struct {
            uint32_t pid, ppid, tid, ptid;
        } task;
        uint64_t lost;
    } u;
};

/* `size` is the record's with its header. TD_EFORMAT for a record that is cut off or cannot be
 * true; the caller skips it and goes on. */
int td_rec_parse(struct td_rec *ret, const uint8_t *data, size_t size,
                 const struct td_layouts *layouts, struct td_err *err);

#endif
