/* SPDX-License-Identifier: MIT */
/*
 * One buffer that the kernel fills with records. The reader takes records from the front; one that
 * wraps around the end is put together in a scratch copy. Owned by the thread that drains.
 */
#ifndef TD_RECORD_EVENTS_RING_H
#define TD_RECORD_EVENTS_RING_H

#include <stddef.h>
#include <stdint.h>

struct perf_event_mmap_page;

struct td_ring {
    struct perf_event_mmap_page *page;
    const uint8_t *data;
    uint64_t size; /* of data; a power of two */
    uint64_t head; /* as last loaded: where the kernel's records end */
    uint64_t tail; /* where ours begin; the kernel sees it after td_ring_release_read */
    uint8_t *scratch;
    size_t map_bytes; /* 0: not ours to unmap (tests) */
    uint64_t corrupt; /* times that the rest had to be thrown away */
    unsigned cpu;     /* TD_NONE: follows its task */
};

/* Maps `pages` (a power of two) pages of data of an event. 0, or errno's negative. */
int td_ring_map(struct td_ring *ring, int fd, size_t pages, size_t page_bytes);
/* A ring over memory of the caller's, for tests. */
void td_ring_init(struct td_ring *ring, struct perf_event_mmap_page *page, const uint8_t *data,
                  uint64_t size);
void td_ring_unmap(struct td_ring *ring);

/* Looks how far the kernel has written. */
void td_ring_load_head(struct td_ring *ring);
/* The first record, whole and aligned to 8, or NULL when there is none up to the head; *size is
 * its size with the header. A header that cannot be true throws away what is left. Valid until the
 * next peek of this ring. */
const uint8_t *td_ring_peek(struct td_ring *ring, size_t *size);
/* Goes behind the first record. */
void td_ring_skip(struct td_ring *ring, size_t size);
/* Gives the space of skipped records back to the kernel. */
void td_ring_release_read(struct td_ring *ring);

#endif
