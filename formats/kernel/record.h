/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one perf_event record, of a ring or of a perf.data file and in either byte order, as
 * a struct. What it points to lies in those bytes, in their order.
 */
#ifndef TD_FORMATS_KERNEL_RECORD_H
#define TD_FORMATS_KERNEL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/model.h"

/* How the records of one event are laid out: what its perf_event_attr asked for. */
struct td_layout {
    uint64_t id; /* PERF_EVENT_IOC_ID's; compared only when there are several layouts */
    uint64_t sample_type, read_format, branch_sample_type;
    uint64_t user_regs, intr_regs; /* masks */
    uint64_t period;               /* of samples that do not tell it */
    uint32_t branch_most;          /* branch records that the CPU keeps; 0: not known */
    uint32_t event;                /* the caller's, as the next */
    uint16_t group;
    bool sample_id_all;
    bool user_at_entry; /* where the kernel was entered from, a call stack of branch records shows
                           the entry of the user's function, as perf does, not the place */
};

/* The layouts of a ring or a file. Where there are several and records tell their id, it decides;
 * the first is that of records which do not. */
struct td_layouts {
    const struct td_layout *items; /* sorted by id */
    size_t count;
    bool big; /* byte order */
    /* Of samples whose id is none of these; NULL: there are none. Where several recordings sample a
     * software event on a CPU, newer kernels (6.18 does) write the id of the first that they serve
     * into the samples of all: do_perf_sw_event has one perf_sample_data for all. */
    const struct td_layout *shared;
};

enum td_rec_kind {
    TD_REC_OTHER, /* a kind we do not use, with its time */
    TD_REC_SAMPLE,
    TD_REC_MMAP,
    TD_REC_COMM,
    TD_REC_FORK,
    TD_REC_EXIT,
    TD_REC_KSYMBOL,
    TD_REC_LOST,         /* records of any kind */
    TD_REC_LOST_SAMPLES, /* samples */
    TD_REC_THROTTLE,
    TD_REC_SWITCH, /* a thread leaves its CPU, or is back on one */
};

#define TD_RECORD_HEADER_BYTES 8
#define TD_BRANCH_BYTES        24 /* a perf_branch_entry: from, to, flags */

struct td_rec_sample {
    uint64_t ip, id, period, address, weight, data_source;
    const uint8_t *chain; /* chain_count words, the innermost first, with context markers */
    uint64_t chain_count;
    const uint8_t *values; /* of the read: value_count times {value, [id], [lost]} */
    uint64_t value_count;
    uint64_t time_enabled, time_running;
    const uint8_t *branches; /* perf_branch_entry, TD_BRANCH_BYTES each */
    uint64_t branch_count;
    const uint8_t *raw; /* raw_size bytes, as the PMU has them */
    size_t raw_size;
    uint64_t regs_abi;
    const uint8_t *regs;  /* one word for each bit of user_regs; NULL for a kernel thread */
    const uint8_t *stack; /* stack_size bytes that were really copied */
    uint64_t stack_size;
    uint32_t cpu; /* TD_NONE: not told */
    bool exact_ip;
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
    uint16_t mode;                  /* PERF_RECORD_MISC_KERNEL and so on */
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
            bool made_up; /* by perf, of a process that was there before it */
        } task;
        struct {
            uint64_t start;
            uint32_t size;
            bool unregistered;
            const char *name;
            size_t len;
        } ksymbol;
        struct {
            bool out;
            bool preempted; /* it could have gone on */
        } leaves;
        uint64_t lost;
    } u;
};

/* `size` is the record's with its header. TD_EFORMAT for a record that is cut off or cannot be
 * true; the caller skips it and goes on. */
int td_rec_parse(struct td_rec *ret, const uint8_t *data, size_t size,
                 const struct td_layouts *layouts, struct td_err *err);

/* The time that puts a record in order, without decoding the rest; 0 when it has none. */
uint64_t td_rec_time(const uint8_t *data, size_t size, const struct td_layouts *layouts);

#define TD_TASK_NAME_BYTES 16

/* The name of a thread that no record has told, as perf writes it: ":123", "swapper" for the idle
 * task, ":-1" for one that had ended. It may stand in buf. */
const char *td_rec_task_name(char buf[TD_TASK_NAME_BYTES], uint32_t tid);

/* Words of one value of a read: {value, [id], [lost]}. */
unsigned td_rec_value_words(uint64_t read_format);

#endif
