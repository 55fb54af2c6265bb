/* SPDX-License-Identifier: MIT */
/*
 * AMD's instruction-based sampling: what the registers say of the one operation, or the one fetch,
 * that a sample is about. They come raw (PERF_SAMPLE_RAW of the PMUs ibs_op and ibs_fetch): a word
 * of capabilities, then the registers (arch/x86/events/amd/ibs.c). Pure.
 */
#ifndef TD_RECORD_EVENTS_IBS_H
#define TD_RECORD_EVENTS_IBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/cores/tma.h"

struct td_ibs {
    uint32_t flags;         /* TD_FLAG_* of formats/kinds.h */
    uint32_t latency;       /* cycles: of the data cache miss, or of the fetch */
    uint32_t instr_latency; /* an operation's, from dispatch to retirement */
    uint32_t retire_wait;   /* from completion to retirement */
    uint32_t tlb_latency;   /* of the TLB refill */
};

/* False when the bytes are too short for what their capabilities promise, or the sample is not
 * valid. */
bool td_ibs_read_op(struct td_ibs *ret, const uint8_t *data, size_t size);
bool td_ibs_read_fetch(struct td_ibs *ret, const uint8_t *data, size_t size);

/* The node whose slots are lost where such a sample falls; TD_NODE_NONE when it says nothing about
 * a loss. */
enum td_tma_node td_ibs_node(const struct td_ibs *ibs);
/* Every node that td_ibs_node can answer, ended by TD_NODE_NONE. */
const enum td_tma_node *td_ibs_op_nodes(void) __attribute__((returns_nonnull));
const enum td_tma_node *td_ibs_fetch_nodes(void) __attribute__((returns_nonnull));

#endif
