/* SPDX-License-Identifier: MIT */
/*
 * The files behind one module: itself, its separate debug file (by build-id or .gnu_debuglink), the
 * supplementary file that dwz makes, and the symbols in .gnu_debugdata. A file counts only when its
 * build-id or checksum is the one that was asked for.
 */
#ifndef TD_SYMBOLIZE_DEBUGFILE_H
#define TD_SYMBOLIZE_DEBUGFILE_H

#include <stdbool.h>

#include "symbolize/dwarf/dwarf.h"
#include "symbolize/elf/elf.h"
#include "symbolize/identity.h"

/* Where to look; all borrowed. */
struct td_search {
    const char *const *debug_dirs;  /* NULL-terminated; NULL: none but the standard ones */
    const char *sysroot;            /* NULL: none */
    const struct td_origin *origin; /* of the profile, for files without a build-id; NULL: none */
    void (*allow)(
        uint64_t file_bytes); /* a separate debug file of that size will be read; or NULL */
    bool debuginfod;          /* servers may be asked */
    bool alone;               /* look at nothing but the file itself */
};

struct td_object {
    struct td_elf *elf;   /* the module's own file */
    struct td_elf *debug; /* its separate debug file, or NULL */
    struct td_elf *alt;   /* the supplementary file, or NULL */
    struct td_elf *mini;  /* the ELF inside of .gnu_debugdata, or NULL */
    uint8_t *mini_bytes;
    struct td_elf *with_dwarf; /* elf, debug or mini; NULL when none has debug information */
    struct td_dwarf *dwarf;    /* its debug information; NULL when it has none that libdw takes */
    struct td_dwarf *alt_dwarf;
    char why[256]; /* why there is no debug information, or why a part is missing; "" */
};

/* Opens `path` (below the sysroot) and what belongs to it, if it is the file of this id
 * (TD_EMISMATCH). Fails only when the module's own file cannot be used. */
int td_object_open(struct td_object *object, const struct td_search *search, const char *path,
                   const struct td_build_id *id, struct td_err *err);
/* Whether an open file is the one of this id: TD_OK or TD_EMISMATCH. */
int td_object_check(const struct td_elf *elf, const struct td_build_id *id,
                    const struct td_origin *origin, struct td_err *err);
/* As above for a file already parsed, which becomes the object's; nothing is checked. */
void td_object_attach(struct td_object *object, const struct td_search *search,
                      struct td_elf *take_elf);
void td_object_release(struct td_object *object);

/* "1a2b3c…", `size` of at least 2 * TD_BUILD_ID_MAX + 1 bytes. */
void td_build_id_text(const struct td_build_id *id, char *text, size_t size);

#endif
