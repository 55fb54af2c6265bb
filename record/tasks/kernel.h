/* SPDX-License-Identifier: MIT */
/*
 * Addresses of the running kernel: which module they belong to, and the names of those that were
 * seen, put into the profile so that it can be read on another machine.
 */
#ifndef TD_RECORD_TASKS_KERNEL_H
#define TD_RECORD_TASKS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/profile/write.h"
#include "record/tasks/modules.h"

struct td_kernel;

/* Finds out where the kernel and its modules lie, as far as this user may know. `writer` and
 * `modules` are borrowed. */
struct td_kernel *td_kernel_new(struct td_modules *modules, struct td_profile_writer *writer);
void td_kernel_free(struct td_kernel *kernel); /* NULL is allowed */

/* The module of an address; *offset as in struct td_location. The address is noted. */
uint32_t td_kernel_locate(struct td_kernel *kernel, uint64_t address, uint64_t *offset);
/* Writes the names of the addresses noted since the last call. Reads kallsyms the first time. */
void td_kernel_write_names(struct td_kernel *kernel);
/* False when the kernel hides its addresses from this user. */
bool td_kernel_readable(const struct td_kernel *kernel);

#endif
