/* SPDX-License-Identifier: MIT */
/*
 * ELF files of either class, little-endian: sections (decompressed on demand), segments, symbols,
 * link to a debug file. libelf and libdwelf read them; on top of them lies what Debian
 * 12's libelf 0.188 lacks (sections compressed by zstd) and the refusal of what we do not read.
 */
#ifndef TD_SYMBOLIZE_ELF_ELF_H
#define TD_SYMBOLIZE_ELF_ELF_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbolize/elf/cursor.h"

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

/* Maps the file: for processes that may die when somebody truncates it meanwhile. TD_ENOENT,
 * TD_EIO, TD_EUNSUPPORTED (no regular file, another byte order) or TD_EFORMAT with the offset. */
int td_elf_open(struct td_elf **ret, const char *path, struct td_err *err);
/* Reads parts as they are asked for, never through a mapping: for recorders, which must outlive
 * what others do to their files. `fd` is borrowed; `name` is for messages. Besides TD_ELIMIT, for
 * tables that no linker makes. */
int td_elf_open_fd(struct td_elf **ret, const char *name, int fd, struct td_err *err);
/* Over bytes in memory that outlive it. `name` is for messages. */
int td_elf_parse(struct td_elf **ret, const char *name, struct td_bytes bytes, struct td_err *err);
void td_elf_free(struct td_elf *elf); /* NULL is allowed */

const char *td_elf_path(const struct td_elf *elf);
/* The whole file. */
struct td_bytes td_elf_bytes(const struct td_elf *elf);
uint16_t td_elf_machine(const struct td_elf *elf); /* EM_* */
uint64_t td_elf_entry(const struct td_elf *elf);
bool td_elf_is_64(const struct td_elf *elf);
/* For libdw; borrowed. */
Elf *td_elf_handle(const struct td_elf *elf);

size_t td_elf_section_count(const struct td_elf *elf);
const struct td_elf_section *td_elf_section_at(const struct td_elf *elf, size_t i);
/* The first section of that name with contents in this file, or NULL. */
const struct td_elf_section *td_elf_section(const struct td_elf *elf, const char *name);
/* The section's bytes, decompressed when need be and kept. TD_ENODATA when it is absent or has no
 * contents here, TD_EFORMAT when it is damaged, TD_ELIMIT when it would be absurdly large. */
int td_elf_section_bytes(struct td_elf *elf, const struct td_elf_section *section,
                         struct td_bytes *ret, struct td_err *err);
/* Whether sections were left out because they are holes of a sparse file: they count as absent. */
bool td_elf_has_holes(const struct td_elf *elf);
/* What the file takes on the disk, without holes; 0: it is no file. */
uint64_t td_elf_disk_bytes(const struct td_elf *elf);
/* Whether section `i` is compressed by a method that libelf 0.188 does not know. */
bool td_elf_section_is_zstd(const struct td_elf *elf, size_t i);
/* A debug section by its name without the dot: "debug_info" finds .debug_info and .zdebug_info.
 * As above. */
int td_elf_debug_bytes(struct td_elf *elf, const char *name, struct td_bytes *ret,
                       struct td_err *err);

/* The loaded segments, as they stand in the file. */
size_t td_elf_segment_count(const struct td_elf *elf);
const struct td_elf_segment *td_elf_segment_at(const struct td_elf *elf, size_t i);
/* The first program header of a type (PT_*), as it stands in the file; false when there is none. */
bool td_elf_program_header(const struct td_elf *elf, uint32_t type, struct td_elf_segment *ret);
/* Any bytes of the file; TD_EFORMAT when they do not lie in it. Live as long as `elf`. */
int td_elf_chunk(const struct td_elf *elf, uint64_t offset, uint64_t size, struct td_bytes *ret,
                 struct td_err *err);
/* What the first program header of a type (PT_*) describes; TD_ENODATA when there is none, or it is
 * larger than `limit`, TD_EFORMAT when it does not lie in the file. Lives as long as `elf`. */
int td_elf_segment_bytes(const struct td_elf *elf, uint32_t type, size_t limit,
                         struct td_bytes *ret, struct td_err *err);
/* The virtual address of a file offset, through the program headers; executable segments first.
 * False when no segment has it. */
bool td_elf_vaddr(const struct td_elf *elf, uint64_t offset, uint64_t *vaddr);
/* The file offset of a virtual address; false when it has no bytes in the file. */
bool td_elf_offset(const struct td_elf *elf, uint64_t vaddr, uint64_t *offset);

/* .gnu_debuglink: a bare file name and the CRC-32 of the file meant. False when there is none. */
bool td_elf_debuglink(const struct td_elf *elf, const char **name, uint32_t *crc);

/* Calls `fn` for every symbol of the table (.symtab or .dynsym) that has a name and stands in a
 * section. Damaged entries are left out. */
typedef void td_elf_symbol_fn(void *ctx, const struct td_elf_symbol *symbol);
void td_elf_symbols(struct td_elf *elf, const struct td_elf_section *table, td_elf_symbol_fn *fn,
                    void *ctx);

#endif
