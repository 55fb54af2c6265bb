/* SPDX-License-Identifier: MIT */
/*
 * The instructions of a module as bytes, from the file that was recorded, for views that
 * disassemble. Offsets are those of locations: in the file.
 */
#ifndef TD_SYMBOLIZE_CODE_H
#define TD_SYMBOLIZE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/model.h"
#include "symbolize/identity.h"

enum td_code_machine { TD_CODE_OTHER, TD_CODE_X86_64, TD_CODE_X86_32, TD_CODE_AARCH64 };

struct td_code_file;

/* Opens the file of a module of this kind and id; `origin` (may be NULL) is the profile's.
 * TD_EUNSUPPORTED when its code is in no file (kernel,
 * vdso, generated), TD_EMISMATCH when the file is another build, TD_ENOENT, TD_EIO, TD_EFORMAT. */
int td_code_open(struct td_code_file **ret, enum td_module_kind kind, const char *path,
                 const struct td_build_id *id, const struct td_origin *origin, struct td_err *err);
/* Over bytes in memory that outlive it; nothing is checked but their form. */
int td_code_parse(struct td_code_file **ret, const char *name, const void *data, size_t size,
                  struct td_err *err);
void td_code_free(struct td_code_file *code); /* NULL is allowed */

enum td_code_machine td_code_machine(const struct td_code_file *code);
const char *td_code_machine_name(enum td_code_machine machine);

/* The executable bytes from `offset` on, at most `size`; borrowed. Returns how many there are; 0
 * when the offset is not in executable code. */
size_t td_code_bytes(const struct td_code_file *code, uint64_t offset, size_t size,
                     const uint8_t **ret);
/* Between offsets and the addresses that linkers and disassemblers speak of. */
bool td_code_address(const struct td_code_file *code, uint64_t offset, uint64_t *address);
bool td_code_offset(const struct td_code_file *code, uint64_t address, uint64_t *offset);

/* An offset in, and the function around it out: [start, end); start == end when no symbol says. */
struct td_code_extent {
    uint64_t offset;
    uint64_t start, end;
};

/* `extents` are sorted by offset. One pass over the symbol tables for all of them. */
void td_code_extents(struct td_code_file *code, struct td_code_extent *extents, size_t count);

#endif
