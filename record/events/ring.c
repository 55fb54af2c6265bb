/* SPDX-License-Identifier: MIT */
#include "record/events/ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"

/* perf_event_header.size has 16 bits. */
#define RECORD_MAX_BYTES 65536

int td_ring_map(struct td_ring *ring, int fd, size_t pages, size_t page_bytes)
{
    const size_t bytes = (pages + 1) * page_bytes;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (base == MAP_FAILED)
        return -errno;
    td_ring_init(ring, base, (const uint8_t *)base + page_bytes, pages * page_bytes);
    ring->map_bytes = bytes;
    return 0;
}

void td_ring_init(struct td_ring *ring, struct perf_event_mmap_page *page, const uint8_t *data,
                  uint64_t size)
{
    *ring = (struct td_ring){.page = page, .data = data, .size = size, .tail = page->data_tail};
    ring->head = ring->tail;
}

void td_ring_unmap(struct td_ring *ring)
{
    if (ring->map_bytes)
        munmap(ring->page, ring->map_bytes);
    free(ring->scratch);
    *ring = (struct td_ring){0};
}

void td_ring_load_head(struct td_ring *ring)
{
    /* Pairs with the barrier before the kernel's store of data_head (perf_output_put_handle):
     * records below the head are whole. */
    ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

/* `size` bytes at `at`, in one piece. */
static const uint8_t *piece(struct td_ring *ring, uint64_t at, size_t size)
{
    const size_t offset = (size_t)(at & (ring->size - 1));
    const size_t first = (size_t)ring->size - offset;

    if (size <= first)
        return ring->data + offset;
    if (!ring->scratch)
        ring->scratch = td_xalloc(RECORD_MAX_BYTES);
    memcpy(ring->scratch, ring->data + offset, first);
    memcpy(ring->scratch + first, ring->data, size - first);
    return ring->scratch;
}

const uint8_t *td_ring_peek(struct td_ring *ring, size_t *size)
{
    const uint64_t left = ring->head - ring->tail;
    struct perf_event_header header;

    if (left == 0)
        return NULL;
    if (left >= sizeof(header) && left <= ring->size) {
        memcpy(&header, piece(ring, ring->tail, sizeof(header)), sizeof(header));
        if (header.size >= sizeof(header) && header.size <= left && header.size % 8 == 0) {
            *size = header.size;
            return piece(ring, ring->tail, header.size);
        }
    }
    ring->corrupt++;
    ring->tail = ring->head;
    return NULL;
}

void td_ring_skip(struct td_ring *ring, size_t size)
{
    ring->tail += size;
}

void td_ring_release_read(struct td_ring *ring)
{
    /* Pairs with the control dependency on data_tail in the kernel (__perf_output_begin): our
     * reads are done before it writes over them. */
    __atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}
