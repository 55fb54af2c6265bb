/* SPDX-License-Identifier: MIT */
/* Instruction bytes of either set (first byte: bit 0 aarch64), one by one and as a block. */
#include <stdlib.h>
#include <string.h>

#include "record/sim/model/blocks.h"
#include "record/sim/model/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct td_core_desc descs[2];

static void check_uop(const struct td_uop *uop)
{
    for (int i = 0; i < 3; i++) {
        if (uop->src[i] >= TD_REG_COUNT)
            __builtin_trap();
    }
    for (int i = 0; i < 2; i++) {
        if (uop->dst[i] == TD_REG_NONE || uop->dst[i] >= TD_REG_COUNT ||
            uop->address[i] >= TD_REG_COUNT)
            __builtin_trap();
    }
}

static void check_block(const struct td_block *block)
{
    uint32_t slots = 0;

    for (uint32_t i = 0; i < block->uop_count; i++) {
        check_uop(&block->uops[i]);
        slots += block->uops[i].slots;
        if (block->uops[i].insn >= block->insn_count)
            __builtin_trap();
    }
    if (slots != block->slots || block->part_count == 0)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"golden-cove", "neoverse-n2"};
    uint8_t lengths[64];
    uint32_t count = 0;
    size_t at = 1;

    if (size < 2)
        return 0;
    const int set = data[0] & 1;
    if (!descs[set].width && td_core_desc_builtin(&descs[set], names[set], NULL) != TD_OK)
        __builtin_trap();
    /* The producer has cut the bytes into instructions: here of 4, or as long as the rest says. */
    while (at < size && count < sizeof(lengths)) {
        const size_t length = set ? 4 : 1 + data[at] % 15U;
        if (length > size - at)
            break;
        lengths[count++] = (uint8_t)length;
        at += length;
    }
    struct td_blocks *blocks = td_blocks_new(&descs[set]);
    if (count)
        check_block(
            td_blocks_get(blocks, td_blocks_define(blocks, 0x1000, data + 1, lengths, count)));
    td_blocks_free(blocks);
    return 0;
}
