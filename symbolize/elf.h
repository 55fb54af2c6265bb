/* SPDX-License-Identifier: MIT */
/*
 * ELF files of either class, little-endian: sections (decompressed on demand), segments, build-id,
 * links to debug files. A reader of our own, because files that we did not build are read here:
 * every access is checked against the size, and zstd sections open too.
 */
#ifndef TD_SYMBOLIZE_ELF_H
#define TD_SYMBOLIZE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/model.h"
#include "symbolize/cursor.h"

struct td_elf_section {
    const char *name; /* "" when it has none */
    uint32_t type, link, info;
    uint64_t flags, addr, offset, size, entry_size;
};

struct td_elf_segment {
    uint64_t offset, vaddr, file_size, mem_size;
    bool executable;
};

struct td_elf_symbol {
    const char *name;
    uint64_t value, size;
    uint16_t section; /* SHN_* */
    uint8_t type;     /* STT_* */
    uint8_t binding;  /* STB_* */
};

struct td_elf;

/* Maps the file. TD_ENOENT, TD_EIO, TD_EUNSUPPORTED (no regular file, another byte order) or
 * TD_EFORMAT with the offset. */
int td_elf_open(struct td_elf **ret, const char *path, struct td_err *err);
/* Over bytes in memory that outlive it. `name` is for messages. */
int td_elf_parse(struct td_elf **ret, const char *name, struct td_bytes bytes, struct td_err *err);
void td_elf_free(struct td_elf *elf); /* NULL is allowed */

const char *td_elf_path(const struct td_elf *elf);
struct td_bytes td_elf_bytes(const struct td_elf *elf);
uint16_t td_elf_machine(const struct td_elf *elf); /* EM_* */
bool td_elf_is_64(const struct td_elf *elf);

size_t td_elf_section_count(const struct td_elf *elf);
const struct td_elf_section *td_elf_section_at(const struct td_elf *elf, size_t i);
/* The first section of that name with contents in this file, or NULL. */
const struct td_elf_section *td_elf_section(const struct td_elf *elf, const char *name);
/* The section's bytes, decompressed when need be and kept. TD_ENODATA when it is absent or has no
 * contents here, TD_EFORMAT when it is damaged, TD_ELIMIT when it would be absurdly large. */
int td_elf_section_bytes(struct td_elf *elf, const struct td_elf_section *section,
                         struct td_bytes *ret, struct td_err *err);
/* A debug section by its name without the dot: "debug_info" finds .debug_info and .zdebug_info.
 * As above. */
int td_elf_debug_bytes(struct td_elf *elf, const char *name, struct td_bytes *ret,
                       struct td_err *err);

/* The loaded segments, as they stand in the file. */
size_t td_elf_segment_count(const struct td_elf *elf);
const struct td_elf_segment *td_elf_segment_at(const struct td_elf *elf, size_t i);
/* The virtual address of a file offset, through the program headers; executable segments first.
 * False when no segment has it. */
bool td_elf_vaddr(const struct td_elf *elf, uint64_t offset, uint64_t *vaddr);
/* The file offset of a virtual address; false when it has no bytes in the file. */
bool td_elf_offset(const struct td_elf *elf, uint64_t vaddr, uint64_t *offset);
/* Whether an executable segment holds the address (true when there are no segments at all, as in
 * an object file). */
bool td_elf_executable(const struct td_elf *elf, uint64_t vaddr);

/* size 0 when the file has none. */
struct td_build_id td_elf_build_id(const struct td_elf *elf);
/* .gnu_debuglink: a bare file name and the CRC-32 of the file meant. False when there is none. */
bool td_elf_debuglink(const struct td_elf *elf, const char **name, uint32_t *crc);
/* .gnu_debugaltlink: a path and the build-id of the file meant. False when there is none. */
bool td_elf_altlink(const struct td_elf *elf, const char **path, struct td_build_id *id);

/* Calls `fn` for every symbol of the table (.symtab or .dynsym) that has a name and stands in a
 * section. Damaged entries are left out. */
typedef void td_elf_symbol_fn(void *ctx, const struct td_elf_symbol *symbol);
void td_elf_symbols(struct td_elf *elf, const struct td_elf_section *table, td_elf_symbol_fn *fn,
                    void *ctx);

#endif
