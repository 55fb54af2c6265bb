/* SPDX-License-Identifier: MIT */
/* A ring that plays the kernel's part: records are written into it as perf_event_open's would. */
#ifndef TD_TESTS_RECORD_RING_H
#define TD_TESTS_RECORD_RING_H

#include <linux/perf_event.h>
#include <string.h>

#include "base/bytes.h"
#include "record/events/ring.h"

#define FAKE_RING_BYTES 4096

struct fake_ring {
    struct perf_event_mmap_page page;
    uint8_t data[FAKE_RING_BYTES] __attribute__((aligned(8)));
};

/* Starts at `position`, so that records may wrap. */
static inline void fake_ring_init(struct fake_ring *fake, struct td_ring *ring, uint64_t position)
{
    memset(fake, 0, sizeof(*fake));
    fake->page.data_head = fake->page.data_tail = position;
    td_ring_init(ring, &fake->page, fake->data, FAKE_RING_BYTES);
}

static inline void fake_ring_write(struct fake_ring *fake, const void *data, size_t size)
{
    const uint8_t *bytes = data;

    for (size_t i = 0; i < size; i++)
        fake->data[(fake->page.data_head + i) % FAKE_RING_BYTES] = bytes[i];
    fake->page.data_head += size;
}

/* A record: header, body, padding to 8. Returns its size. */
static inline size_t fake_record(uint8_t *out, uint32_t type, uint16_t misc,
                                 const struct td_buf *body)
{
    const size_t size = (8 + body->len + 7) & ~(size_t)7;
    struct td_buf buf = {0};

    td_buf_u32(&buf, type);
    td_buf_u16(&buf, misc);
    td_buf_u16(&buf, (uint16_t)size);
    td_buf_bytes(&buf, body->data, body->len);
    while (buf.len < size)
        td_buf_u8(&buf, 0);
    memcpy(out, buf.data, size);
    td_buf_release(&buf);
    return size;
}

#define FAKE_SAMPLE_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

/* What sample_id_all puts behind records for FAKE_SAMPLE_TYPE. */
static inline void fake_trailer(struct td_buf *body, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
    td_buf_u32(body, pid);
    td_buf_u32(body, tid);
    td_buf_u64(body, time_ns);
}

static inline void fake_write_sample(struct fake_ring *fake, uint32_t pid, uint32_t tid,
                                     uint64_t time_ns, uint64_t ip)
{
    struct td_buf body = {0};
    uint8_t record[64];

    td_buf_u64(&body, ip);
    td_buf_u32(&body, pid);
    td_buf_u32(&body, tid);
    td_buf_u64(&body, time_ns);
    fake_ring_write(fake, record,
                    fake_record(record, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &body));
    td_buf_release(&body);
}

#endif
