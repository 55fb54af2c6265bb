/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the perf.data importer share. The layout is Linux's
 * tools/perf/Documentation/perf.data-file-format.txt and include/uapi/linux/perf_event.h.
 */
#ifndef TD_FORMATS_PERFDATA_SESSION_PRIV_H
#define TD_FORMATS_PERFDATA_SESSION_PRIV_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/map.h"
#include "formats/kernel/chain.h"
#include "base/cursor.h"
#include "formats/kernel/deltas.h"
#include "formats/kernel/record.h"
#include "formats/kernel/tasks.h"
#include "formats/loading.h"
#include "formats/model.h"
#include "formats/sums.h"

/* Records of the tool, not of the kernel (tools/lib/perf/include/perf/event.h), and the kernel's
 * newer ones, which an older system header does not name. */
enum {
    TD_PERF_CALLCHAIN_DEFERRED = 22,
    TD_PERF_USER_TYPES = 64,
    TD_PERF_HEADER_ATTR = 64,
    TD_PERF_TRACING_DATA = 66,
    TD_PERF_HEADER_BUILD_ID = 67,
    TD_PERF_FINISHED_ROUND = 68,
    TD_PERF_AUXTRACE_INFO = 70,
    TD_PERF_AUXTRACE = 71,
    TD_PERF_STAT = 76,
    TD_PERF_EVENT_UPDATE = 78,
    TD_PERF_TIME_CONV = 79,
    TD_PERF_HEADER_FEATURE = 80,
    TD_PERF_COMPRESSED = 81,
    TD_PERF_COMPRESSED2 = 83,
};

/* PERF_AUXTRACE_* of tools/perf/util/auxtrace.h. */
enum { TD_PERF_TRACE_ARM_SPE = 4 };

/* How perf names the kernel; its MMAP adds "_text" or another symbol. */
#define TD_PERF_KERNEL "[kernel.kallsyms]"

/* The parts of struct perf_event_attr that matter here, in this machine's order. */
struct td_perf_attr {
    uint32_t type;
    uint32_t size; /* as recorded; 64 when the file says 0 */
    uint64_t config[3];
    uint64_t period; /* period, or the frequency when `freq` is set */
    uint64_t sample_type;
    uint64_t read_format;
    uint64_t branch_sample_type;
    uint64_t regs_user, regs_intr; /* masks */
    int32_t clockid;
    uint8_t precise;
    bool inherit, freq, sample_id_all, use_clockid;
    bool exclude_user, exclude_kernel;
};

struct td_perf_event {
    struct td_perf_attr attr;
    uint32_t name;         /* string of the model; 0: not known yet */
    uint32_t event;        /* of the model */
    uint32_t group;        /* of the model; TD_NONE before the first sample */
    uint32_t columns;      /* of that group */
    uint32_t member_count; /* events that each sample reads; 0 without PERF_SAMPLE_READ */
    uint32_t members[TD_COLUMNS_MAX];
};

/* Frames of a copied stack, at most. */
#define TD_PERF_UNWIND_MAX 512

/* A stretch of bytes that records stand in: the file, or one decompressed piece. */
struct td_perf_segment {
    const uint8_t *data;
    uint8_t *owned;  /* NULL for the file */
    uint64_t offset; /* in the file: of `data`, or of the compressed record */
    size_t size;     /* of `owned` */
    size_t waiting;  /* records in the queue that point here */
    bool operations; /* they are those of spe_import.c, not of the file's form */
};

struct td_perf_queued {
    uint64_t time;
    const uint8_t *record;
    uint32_t segment;
    uint32_t order; /* keeps records of one time in the order of the file */
};

/* Records waiting to be put in order of time. */
struct td_perf_queue {
    struct td_perf_queued *items, *spare;
    size_t len, cap, spare_cap;
    size_t sorted; /* items[0..sorted) are sorted already */
    uint64_t max_time;
    uint64_t next_flush;
    uint32_t order;
};

struct td_perf_processes;
struct td_perf_operations;

struct td_perf_session {
    struct td_model *model;
    const struct td_load_opts *opts;
    struct td_load_status *status;
    const uint8_t *data;
    size_t size;
    bool big, pipe;
    size_t walked;         /* offset of the next record */
    size_t walked_segment; /* whose records are being walked */
    size_t given_back;     /* pages below this offset were given back */

    struct td_perf_event *events;
    size_t event_count, event_cap;
    struct td_map event_ids;   /* (id, 0) -> index of events */
    struct td_layout *layouts; /* one for each id; where there is no choice, one */
    size_t layout_count;
    struct td_map pmu_names; /* (type, 0) -> string */
    struct td_map build_ids; /* (string of the path, 0) -> index of build_id_list */
    struct td_build_id *build_id_list;
    size_t build_id_count, build_id_cap;
    uint64_t sample_first_ns; /* as the file says; 0: it does not */

    struct td_perf_processes *processes;
    struct td_perf_queue queue;
    struct td_perf_segment *segments;
    size_t segment_count, segment_cap;
    void *zstd; /* ZSTD_DStream; NULL before the first piece */
    bool compression_damaged;
    struct td_buf partial; /* of a record that continues in the next piece */

    struct td_deltas *deltas;
    uint64_t counters[TD_COUNTER_COUNT];
    uint64_t first_ns, last_ns, guest_samples, raw_stacks;
    uint64_t delivered, damaged_records, dropped;
    const uint8_t *tracing; /* the tracing data of a pipe; NULL: none */
    uint64_t tracing_bytes;
    uint64_t trace_bytes;                  /* of AUXTRACE records that are not read */
    struct td_perf_operations *operations; /* of traces that are (spe_import.c); NULL: none */
    uint32_t trace_type;                   /* as AUXTRACE_INFO says; 0: it does not */
    bool is_stat;                          /* counts of perf stat record */
    bool is_directory;                     /* the samples are in files beside this one */
    bool incomplete;                       /* records are missing */
    struct td_sums sums;
    uint64_t unpacked; /* bytes of compressed pieces that are held */
    bool full;         /* what was read takes more memory than such a file can ask for */
    uint64_t told;     /* opts->progress: up to here */
};

/* Notes what is wrong with the records, some of which are missing, without stopping: the first
 * such goes to the caller. */
void td_perf_damage(struct td_perf_session *session, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same of what only describes the recording: all records are there. */
void td_perf_flaw(struct td_perf_session *session, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Notes that perf did not come to the file's end: what is there is sound. */
void td_perf_cut(struct td_perf_session *session, uint64_t offset, const char *text);
/* Whether the rest is not to be read, for what was read is too large; notes it once. */
bool td_perf_is_full(struct td_perf_session *session, uint64_t offset);

/* tracing.c */
/* "system:name" of a tracepoint by its number; false when the file does not tell it. */
bool td_perf_tracepoint_name(const struct td_perf_session *session, uint64_t id, char *text,
                             size_t size);

/* perfdata_attr.c */
/* Reads one perf_event_attr; leaves the cursor behind its attr.size bytes. False when it is not
 * one (the cursor is bad or the size makes no sense). */
bool td_perf_attr_read(struct td_perf_attr *attr, struct td_cur *rd);
/* Adds an event; false when an equal number of events is too many. */
struct td_perf_event *td_perf_event_add(struct td_perf_session *session,
                                        const struct td_perf_attr *attr);
void td_perf_event_ids(struct td_perf_session *session, size_t event, struct td_cur *rd,
                       uint64_t count);
/* Adds the events to the model, with the names that were found; then records can be decoded. */
void td_perf_events_finish(struct td_perf_session *session);
/* How the file's records are laid out; valid after td_perf_events_finish. */
struct td_layouts td_perf_layouts(const struct td_perf_session *session);
/* The event of an id, or NULL. */
struct td_perf_event *td_perf_event_by_id(struct td_perf_session *session, uint64_t id);

/* perfdata_features.c */
void td_perf_features_read(struct td_perf_session *session, uint64_t data_end,
                           const uint64_t bits[4]);
void td_perf_feature_read(struct td_perf_session *session, uint32_t feature, struct td_cur *rd);
/* One record of the build-id table; false when damaged. */
bool td_perf_build_id_record(struct td_perf_session *session, struct td_cur *rd, uint16_t misc);
/* The environment that follows from the events. */
void td_perf_environment(struct td_perf_session *session);

/* perfdata_process.c */
struct td_perf_processes *td_perf_processes_new(struct td_perf_session *session);
void td_perf_processes_free(struct td_perf_processes *processes);
/* MMAP, COMM, FORK, EXIT and KSYMBOL records; others are ignored. */
void td_perf_processes_apply(struct td_perf_session *session, const struct td_rec *rec);
/* The model's thread and node of a sample. */
void td_perf_place(struct td_perf_session *session, const struct td_rec *rec, uint32_t *thread,
                   uint32_t *node);
/* perfdata_stack.c: the frames of the sample's copied user stack; 0 when it cannot be unwound. */
size_t td_perf_unwind(struct td_perf_session *session, const struct td_rec *rec, uint64_t *frames,
                      size_t max);
/* The thread of this number; NULL when no record has told it. */
const struct td_task *td_perf_thread(const struct td_perf_session *session, uint32_t tid);
/* The executable mapping of a process. */
bool td_perf_find(const struct td_perf_session *session, uint32_t pid, uint64_t address,
                  struct td_load_place *place);
/* Names a sampled process's mappings as they are now. */
uint64_t td_perf_space(const struct td_perf_session *session, uint32_t pid);
void td_perf_processes_count(const struct td_perf_processes *processes, uint64_t *process_count,
                             uint64_t *thread_count);

/* perfdata_order.c */
void td_perf_queue_put(struct td_perf_session *session, uint64_t time, const uint8_t *record,
                       uint32_t segment);
/* A round ended: what is certainly complete is delivered. */
void td_perf_queue_round(struct td_perf_session *session);
void td_perf_queue_finish(struct td_perf_session *session);
void td_perf_queue_release(struct td_perf_queue *queue);

/* perfdata_import.c */
void td_perf_deliver(struct td_perf_session *session, const uint8_t *record, uint32_t segment);
void td_perf_totals(struct td_perf_session *session);
/* TD_ENODATA, and what the file holds in place of samples; TD_OK when it is just empty. */
int td_perf_explain_empty(const struct td_perf_session *session, struct td_err *err);

/* Takes a sample with the values of its event's group. */
void td_perf_keep(struct td_perf_session *session, const struct td_perf_event *event,
                  const struct td_rec *rec, const uint64_t *values, uint64_t offset);

/* spe_import.c */
/* AUXTRACE_INFO's numbers, behind what wrote the trace. */
void td_perf_operations_begin(struct td_perf_session *session, struct td_cur *rd);
/* How the trace's clock is the file's. */
void td_perf_operations_clock(struct td_perf_session *session, struct td_cur *rd);
/* A piece of the trace, with AUXTRACE's fields behind its size. False when it cannot be read. */
bool td_perf_operations_read(struct td_perf_session *session, struct td_cur *rd,
                             const uint8_t *data, size_t size);
/* The turn of an operation has come; and of a record that says what runs on a CPU. */
void td_perf_operations_deliver(struct td_perf_session *session, const uint8_t *record);
void td_perf_operations_note(struct td_perf_session *session, const uint8_t *record,
                             const struct td_rec *rec);
/* Bytes of the trace that were no packets. */
uint64_t td_perf_operations_bad(const struct td_perf_session *session);
void td_perf_operations_free(struct td_perf_operations *operations); /* NULL is allowed */

/* perfdata_stream.c */
/* Operations in bytes that the session frees; its number. */
uint32_t td_perf_segment_add(struct td_perf_session *session, uint8_t *owned, uint64_t offset,
                             size_t size);
/* Walks the records of the file from `offset` to `end`. */
void td_perf_stream(struct td_perf_session *session, uint64_t offset, uint64_t end);
/* What comes first in pipe mode: attrs, features, names, build-ids. False when there is none. */
bool td_perf_stream_head(struct td_perf_session *session, uint64_t offset, uint64_t end);
void td_perf_stream_release(struct td_perf_session *session);
/* Gives back what no waiting record needs: pages of the file, decompressed pieces. */
void td_perf_stream_give_back(struct td_perf_session *session);
uint64_t td_perf_offset(const struct td_perf_session *session, const uint8_t *record,
                        uint32_t segment);

#endif
