/* SPDX-License-Identifier: MIT */
/* What is told on stderr: a live line on a terminal, notes, and the summary at the end. */
#ifndef TD_RECORD_STATUS_H
#define TD_RECORD_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct td_status {
    FILE *out;
    bool quiet;
    bool live; /* the live line is wanted: a terminal, and not quiet */
    bool shown;
    unsigned column; /* where the live line begins */
};

/* What the line and the summary tell. */
struct td_status_figures {
    uint64_t elapsed_ns, samples, lost, throttled, filtered, bytes;
    uint64_t processes, threads;
    uint64_t counted_ns, sampled_ns; /* counted 0: not known */
    uint64_t waits, waited_ns;       /* of threads off the CPU */
    uint64_t frequency_hz, period;
    const char *method;
    const char *path;
};

struct td_status td_status_init(FILE *out, bool quiet);
/* A line that the next one, or anything else, replaces; nothing when it is not wanted. */
void td_status_live(struct td_status *status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void td_status_line(struct td_status *status, const struct td_status_figures *figures);
/* One sentence; nothing when quiet. */
void td_status_note(struct td_status *status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* One sentence that is told even when quiet. */
void td_status_error(struct td_status *status, const char *text);
void td_status_summary(struct td_status *status, const struct td_status_figures *figures);

#endif
