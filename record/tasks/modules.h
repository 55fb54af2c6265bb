/* SPDX-License-Identifier: MIT */
/*
 * What is mapped into processes: files, the vdso, anonymous code. Each is kept once, and described
 * in the profile when the first sample falls into it.
 */
#ifndef TD_RECORD_TASKS_MODULES_H
#define TD_RECORD_TASKS_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kernel/record.h"
#include "formats/profile/write.h"

struct td_modules;

/* `writer` is borrowed; it may be NULL in tests, profile ids then count from 0. */
struct td_modules *td_modules_new(struct td_profile_writer *writer);
void td_modules_free(struct td_modules *modules); /* NULL is allowed */

/* The index of the module of a process's mapping. What identifies a file without a known build-id
 * (symbolize/identity.h) is read when the module is first used, if the file is still the one that
 * was mapped. */
uint32_t td_modules_put(struct td_modules *modules, uint32_t pid, const struct td_rec_mmap *mmap);
/* For modules that are not mappings: unknown addresses, the kernel and its modules. */
uint32_t td_modules_put_kernel(struct td_modules *modules, enum td_module_kind kind,
                               const char *path, uint64_t base, const struct td_build_id *build_id);
enum td_module_kind td_modules_kind(const struct td_modules *modules, uint32_t module);
/* As the kernel reported it; valid while modules are. */
const char *td_modules_path(const struct td_modules *modules, uint32_t module);
uint64_t td_modules_base(const struct td_modules *modules, uint32_t module);
/* Its id in the profile, which describes it now if it had not before; *added (may be NULL) says
 * so. */
uint32_t td_modules_use(struct td_modules *modules, uint32_t module, bool *added);
/* A descriptor of the file that was mapped, read through a process that mapped it; -1 when it is
 * gone or has been replaced. */
int td_modules_open(const struct td_modules *modules, uint32_t module);

#endif
