/* SPDX-License-Identifier: MIT */
/* The raw samples of AMD's IBS: the first byte says of which of its two PMUs. */
#include "record/events/ibs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct td_ibs ibs;

    if (size < 1)
        return 0;
    const bool op = data[0] & 1;
    const bool good =
        op ? td_ibs_read_op(&ibs, data + 1, size - 1) : td_ibs_read_fetch(&ibs, data + 1, size - 1);
    if (!good)
        return 0;
    const enum td_tma_node node = td_ibs_node(&ibs);
    const enum td_tma_node *nodes = op ? td_ibs_op_nodes() : td_ibs_fetch_nodes();
    while (*nodes != node && *nodes != TD_NODE_NONE)
        nodes++;
    if (*nodes != node)
        __builtin_trap();
    return 0;
}
