/* SPDX-License-Identifier: MIT */
/*
 * Group reads to deltas. The kernel gives cumulative values (man perf_event_open, "Reading
 * results"); what a sample stands for is the difference to the sample before it, of the same
 * counter and, where values are inherited, of the same thread (Linux 6.12).
 */
#ifndef TD_RECORD_EVENTS_DELTAS_H
#define TD_RECORD_EVENTS_DELTAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct td_deltas;

struct td_deltas *td_deltas_new(void) __attribute__((returns_nonnull));
void td_deltas_free(struct td_deltas *deltas); /* NULL is allowed */

/* One PERF_SAMPLE_READ of a group with PERF_FORMAT_GROUP | PERF_FORMAT_ID: puts the difference of
 * the i-th member, in the order of the group, into ret[i] for i < count. `tid` is 0 where values
 * are not a thread's own. False when the bytes are not such a read of at least `count` members, or
 * a counter went backwards; then nothing is known of this sample, and the next one starts from it.
 */
bool td_deltas_take(struct td_deltas *deltas, uint32_t tid, uint64_t read_format,
                    const uint8_t *read, size_t read_size, uint64_t *ret, size_t count);

/* What the counter `id` has been seen to count, over all threads: the sum of its deltas. */
uint64_t td_deltas_seen(const struct td_deltas *deltas, uint64_t id);

/* Samples that the kernel says it lost, summed over all counters (PERF_FORMAT_LOST). */
uint64_t td_deltas_lost(const struct td_deltas *deltas);

#endif
