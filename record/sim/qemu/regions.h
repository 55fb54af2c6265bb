/* SPDX-License-Identifier: MIT */
/*
 * The marks that a program sets around its regions: instructions of region/tdprof/region.h that do
 * nothing and that no compiler makes, and the names that they point to.
 */
#ifndef TD_RECORD_SIM_QEMU_REGIONS_H
#define TD_RECORD_SIM_QEMU_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum td_region_mark { TD_REGION_MARK_NONE, TD_REGION_MARK_BEGIN, TD_REGION_MARK_END };

/* What the instruction is, in a program of the instruction set `isa`. */
enum td_region_mark td_region_mark(const char *isa, const uint8_t *insn, size_t size);

/* The names of a process by number. One caller at a time. */
struct td_region_names;

struct td_region_names *td_region_names_new(void);
/* The number of the name that stands at the guest's address now; TD_SIM_REGION_OTHERS when it is
 * one too many. */
uint32_t td_region_names_put(struct td_region_names *names, uint64_t address);
/* Whether any was put. */
bool td_region_names_any(const struct td_region_names *names);
/* `names` may be NULL. */
const char *td_region_names_text(const struct td_region_names *names, uint32_t number)
    __attribute__((returns_nonnull));

#endif
