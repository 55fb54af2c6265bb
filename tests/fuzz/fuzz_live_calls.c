/* SPDX-License-Identifier: MIT */
/* Noted system calls: what is put into a window's memory comes from inside them. */
#include <string.h>

#include "record/sim/share/live_calls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Memory in which every word is an address or a size, small at times. */
static bool peek(void *ctx, uint64_t from, void *to, size_t size)
{
    (void)ctx;
    memset(to, (int)(from & 15), size);
    return (from & 255) != 255;
}

static bool put(void *ctx, uint64_t address, size_t at, size_t size)
{
    const struct td_live_part *part = ctx;

    (void)address;
    if (at > part->size || size > part->size - at)
        __builtin_trap();
    for (size_t i = 0; i < size; i++) {
        if (part->bytes[at + i] == 1 && address == 1)
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct td_rd rd = td_rd_init(data, size, 0);
    struct td_live_call call;

    while (td_live_call_next(&rd, &call)) {
        struct td_rd parts = td_rd_init(call.parts, call.parts_size, 0);
        struct td_live_part part;

        while (td_live_part_next(&parts, &part))
            td_live_part_place(&part, call.arguments, peek, put, &part);
    }
    return 0;
}
