/* SPDX-License-Identifier: MIT */
/*
 * The packets of Arm's Statistical Profiling Extension (Arm Architecture Reference Manual, chapter
 * "Statistical Profiling Extension Sample Record Specification"): what happened to one operation.
 */
#ifndef TD_FORMATS_PERFDATA_SPE_H
#define TD_FORMATS_PERFDATA_SPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/cores/pmu.h"

enum td_spe_class { TD_SPE_OTHER, TD_SPE_MEMORY, TD_SPE_BRANCH };

/* Bits of the events packet. */
enum {
    TD_SPE_L1D_ACCESS = 1 << 2,
    TD_SPE_L1D_REFILL = 1 << 3,
    TD_SPE_TLB_ACCESS = 1 << 4,
    TD_SPE_TLB_WALK = 1 << 5,
    TD_SPE_MISPREDICTED = 1 << 7,
    TD_SPE_LLC_ACCESS = 1 << 8,
    TD_SPE_LLC_MISS = 1 << 9,
    TD_SPE_REMOTE = 1 << 10,
    TD_SPE_L2D_MISS = 1 << 20
};

struct td_spe_record {
    uint64_t pc;
    uint64_t data_address; /* virtual; 0: not told */
    uint64_t time;         /* the generic counter's */
    uint64_t events;
    uint32_t context; /* CONTEXTIDR: the thread, where the kernel writes it there */
    enum td_spe_class class;
    uint16_t source;                                            /* the core's own numbers */
    uint16_t total_latency, issue_latency, translation_latency; /* cycles; 0: not told */
    uint8_t level; /* exception level: 0 user, 1 and 2 kernel or hypervisor */
    bool store;
    bool has_pc, has_context, has_time, has_source;
};

struct td_spe {
    const uint8_t *data;
    size_t size, at;
    uint64_t origin; /* of data[0] in the AUX buffer: alignment packets count from its begin */
    uint64_t bad;    /* bytes that are no packet; what they were part of is left out */
};

struct td_spe td_spe_init(const uint8_t *data, size_t size, uint64_t origin);
/* The next whole record; false at the end. A record that the end cuts off is left out. */
bool td_spe_next(struct td_spe *spe, struct td_spe_record *record);

/* Where a load or store found its data, as perf_mem_data_src; 0 when it is neither. Of cores whose
 * numbers are not known, by the events. */
uint64_t td_spe_data_source(const struct td_spe_record *record, const struct td_pmu_cpu *cpu);
/* As td_sample_flag bits. */
uint32_t td_spe_flags(const struct td_spe_record *record);

#endif
