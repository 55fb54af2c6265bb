/* SPDX-License-Identifier: MIT */
/*
 * Group reads to deltas. The kernel gives cumulative values (man perf_event_open, "Reading
 * results"); what a sample stands for is the difference to the sample before it, of the same
 * counter and, where values are inherited, of the same thread (Linux 6.12).
 */
#ifndef TD_FORMATS_KERNEL_DELTAS_H
#define TD_FORMATS_KERNEL_DELTAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kernel/record.h"

struct td_deltas;

struct td_deltas *td_deltas_new(void) __attribute__((returns_nonnull));
void td_deltas_free(struct td_deltas *deltas); /* NULL is allowed */

/* The read of a sample (PERF_SAMPLE_READ): puts the difference of the i-th member, in the order of
 * the group, into ret[i] for i < count. `tid` is 0 where values are not a thread's own; `big` is
 * the order of the bytes. False when fewer than `count` members were read, or a counter went
 * backwards; then nothing is known of this sample, and the next one starts from it. */
bool td_deltas_take(struct td_deltas *deltas, uint32_t tid, const struct td_rec *rec, bool big,
                    uint64_t *ret, size_t count);

/* The same of the times for which the group of the read that was taken last was enabled and ran. */
void td_deltas_times(struct td_deltas *deltas, const struct td_rec_sample *sample,
                     uint64_t *enabled, uint64_t *running);

/* A thread starts: its own counts begin at 0, whatever another of its number had. */
void td_deltas_begin(struct td_deltas *deltas, uint32_t tid);

/* The id of the i-th counter that a sample has read. */
uint64_t td_rec_value_id(const struct td_rec *rec, uint64_t i, bool big);

/* What the counter `id` has been seen to count, over all threads: the sum of its deltas. */
uint64_t td_deltas_seen(const struct td_deltas *deltas, uint64_t id);

#endif
