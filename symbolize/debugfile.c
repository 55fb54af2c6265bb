/* SPDX-License-Identifier: MIT */
#include "symbolize/debugfile.h"

#include <elfutils/libdwelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"
#include "symbolize/elf/buildid.h"
#include "symbolize/debuginfod.h"
#include "symbolize/elf/inflate.h"

#define STANDARD_DIR "/usr/lib/debug"

void td_build_id_text(const struct td_build_id *id, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < id->size && 2 * i + 3 <= size; i++)
        snprintf(text + 2 * i, size - 2 * i, "%02x", id->bytes[i]);
}

static void say(struct td_object *object, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct td_object *object, const char *format, ...)
{
    va_list args;

    if (object->why[0] != '\0')
        return;
    va_start(args, format);
    vsnprintf(object->why, sizeof(object->why), format, args);
    va_end(args);
}

/* Each place where debug files are kept, in order: the user's folders, then the standard one. The
 * result is the caller's to free; NULL past the last. */
static char *debug_dir(const struct td_search *search, size_t i)
{
    for (const char *const *dir = search->debug_dirs; dir && *dir; dir++) {
        if (i-- == 0)
            return td_xstrdup(*dir);
    }
    return i == 0 ? td_xasprintf("%s%s", search->sysroot ? search->sysroot : "", STANDARD_DIR)
                  : NULL;
}

/* Opens the candidate when its build-id is this one; else gives NULL. Frees `path`. */
static struct td_elf *open_by_id(char *path, const struct td_build_id *id)
{
    struct td_elf *elf = NULL;

    if (access(path, R_OK) == 0 && td_elf_open(&elf, path, NULL) == TD_OK) {
        const struct td_build_id found = td_elf_build_id(elf);

        if (!td_build_id_equal(&found, id)) {
            td_elf_free(elf);
            elf = NULL;
        }
    }
    free(path);
    return elf;
}

static struct td_elf *find_by_id(const struct td_search *search, const struct td_build_id *id)
{
    char hex[2 * TD_BUILD_ID_MAX + 1];
    struct td_elf *elf = NULL;
    char *dir = NULL;

    if (id->size < 2)
        return NULL;
    td_build_id_text(id, hex, sizeof(hex));
    for (size_t i = 0; !elf && (dir = debug_dir(search, i)); i++) {
        elf = open_by_id(td_xasprintf("%s/.build-id/%.2s/%s.debug", dir, hex, hex + 2), id);
        free(dir);
    }
    return elf;
}

static uint32_t crc_of(const struct td_elf *elf)
{
    const struct td_bytes bytes = td_elf_bytes(elf);

    return (uint32_t)crc32_z(0, bytes.data, bytes.size);
}

/* Opens the candidate when its checksum is the debuglink's. Frees `path`. */
static struct td_elf *open_by_crc(struct td_object *object, char *path, uint32_t crc)
{
    struct td_elf *elf = NULL;

    if (access(path, R_OK) == 0 && strcmp(path, td_elf_path(object->elf)) != 0 &&
        td_elf_open(&elf, path, NULL) == TD_OK && crc_of(elf) != crc) {
        say(object, "the debug file '%s' is of another build (its checksum differs)", path);
        td_elf_free(elf);
        elf = NULL;
    }
    free(path);
    return elf;
}

/* The places of the GDB manual, "Separate Debug Files". */
static struct td_elf *find_by_link(struct td_object *object, const struct td_search *search)
{
    const char *path = td_elf_path(object->elf);
    const char *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash - path) : 1;
    const char *in = slash ? path : ".";
    const char *name = NULL;
    struct td_elf *elf = NULL;
    char *dir = NULL;
    uint32_t crc = 0;

    if (!td_elf_debuglink(object->elf, &name, &crc) || strchr(name, '/'))
        return NULL;
    elf = open_by_crc(object, td_xasprintf("%.*s/%s", folder, in, name), crc);
    if (!elf)
        elf = open_by_crc(object, td_xasprintf("%.*s/.debug/%s", folder, in, name), crc);
    for (size_t i = 0; !elf && (dir = debug_dir(search, i)); i++) {
        elf = open_by_crc(object, td_xasprintf("%s/%.*s/%s", dir, folder, in, name), crc);
        if (!elf)
            elf = open_by_crc(object, td_xasprintf("%s/%s", dir, name), crc);
        free(dir);
    }
    if (!elf)
        say(object, "its debug file '%s' is not installed", name);
    return elf;
}

/* Whether there is one at all; a damaged one is to be named, not passed over. */
static bool has_dwarf(const struct td_elf *elf)
{
    return elf && (td_elf_section(elf, ".debug_info") || td_elf_section(elf, ".zdebug_info"));
}

static struct td_elf *find_alt(const struct td_search *search, const char *from, const char *path,
                               const struct td_build_id *id)
{
    const char *slash = strrchr(from, '/');
    struct td_elf *elf = NULL;
    char *dir = NULL;

    if (path[0] == '/')
        elf = open_by_id(td_xasprintf("%s%s", search->sysroot ? search->sysroot : "", path), id);
    else
        elf = open_by_id(
            td_xasprintf("%.*s/%s", slash ? (int)(slash - from) : 1, slash ? from : ".", path), id);
    if (!elf)
        elf = find_by_id(search, id);
    slash = strrchr(path, '/');
    for (size_t i = 0; !elf && (dir = debug_dir(search, i)); i++) {
        elf = open_by_id(td_xasprintf("%s/.dwz/%s", dir, slash ? slash + 1 : path), id);
        free(dir);
    }
    return elf;
}

/* What dwz moved into a file that several programs share. Without it libdw would look for one by
 * itself, and not where the user said. */
static void load_alt(struct td_object *object, const struct td_search *search)
{
    struct td_build_id id = {0};
    struct td_err err = TD_ERR_INIT;
    const char *path = NULL;
    const void *bytes = NULL;
    const ssize_t size = dwelf_dwarf_gnu_debugaltlink(object->dwarf->dw, &path, &bytes);

    if (size <= 0 || size > TD_BUILD_ID_MAX || !path)
        return;
    id.size = (uint8_t)size;
    memcpy(id.bytes, bytes, (size_t)size);
    object->alt = find_alt(search, td_elf_path(object->with_dwarf), path, &id);
    if (!object->alt)
        say(object, "the supplementary debug file '%s' is not there", path);
    else if (td_dwarf_open(&object->alt_dwarf, object->alt, &err) != TD_OK)
        say(object, "the supplementary debug file '%s': %s", path, err.text);
    if (object->alt_dwarf)
        dwarf_setalt(object->dwarf->dw, object->alt_dwarf->dw);
}

static void load_dwarf(struct td_object *object, const struct td_search *search)
{
    struct td_err err = TD_ERR_INIT;

    if (!object->with_dwarf)
        return;
    if (td_dwarf_open(&object->dwarf, object->with_dwarf, &err) != TD_OK)
        say(object, "%s: %s", td_elf_path(object->with_dwarf), err.text);
    else if (!search->alone)
        load_alt(object, search);
}

/* MiniDebugInfo: an ELF with symbols (now and then more), xz-compressed. */
static void load_mini(struct td_object *object)
{
    const struct td_elf_section *s = td_elf_section(object->elf, ".gnu_debugdata");
    struct td_bytes raw = {0}, bytes = {0};
    struct td_err err = TD_ERR_INIT;
    size_t size = 0;

    if (!s || td_elf_section_bytes(object->elf, s, &raw, &err) != TD_OK)
        return;
    if (td_inflate_xz(raw, &object->mini_bytes, &size, &err) != TD_OK) {
        say(object, "its .gnu_debugdata is damaged");
        return;
    }
    bytes = (struct td_bytes){.data = object->mini_bytes, .size = size};
    if (td_elf_parse(&object->mini, td_elf_path(object->elf), bytes, &err) != TD_OK)
        say(object, "its .gnu_debugdata is damaged");
}

static struct td_elf *find_elsewhere(struct td_object *object, const struct td_search *search,
                                     const struct td_build_id *id)
{
    struct td_elf *elf = find_by_id(search, id);

    if (!elf)
        elf = find_by_link(object, search);
    if (!elf && search->debuginfod && id->size > 0) {
        char *path = td_debuginfod_find(id, object->why, sizeof(object->why));

        if (path)
            elf = open_by_id(path, id);
    }
    return elf;
}

static void find_debug(struct td_object *object, const struct td_search *search)
{
    const struct td_build_id id = td_elf_build_id(object->elf);

    if (has_dwarf(object->elf)) {
        object->with_dwarf = object->elf;
        return;
    }
    if (!search->alone)
        object->debug = find_elsewhere(object, search, &id);
    if (object->debug && search->allow)
        search->allow(td_elf_disk_bytes(object->debug));
    load_mini(object);
    if (has_dwarf(object->debug))
        object->with_dwarf = object->debug;
    else if (has_dwarf(object->mini))
        object->with_dwarf = object->mini;
}

int td_object_check(const struct td_elf *elf, const struct td_build_id *id,
                    const struct td_origin *origin, struct td_err *err)
{
    const struct td_build_id found = td_elf_build_id(elf);
    char recorded[2 * TD_BUILD_ID_MAX + 1], now[2 * TD_BUILD_ID_MAX + 1];

    if (td_file_id_kind(id) != TD_FILE_ID_BUILD)
        return td_identity_check(td_elf_path(elf), id, origin, err);
    if (td_build_id_equal(&found, id))
        return TD_OK;
    td_build_id_text(id, recorded, sizeof(recorded));
    td_build_id_text(&found, now, sizeof(now));
    return td_fail(err, TD_EMISMATCH,
                   "the file changed since recording (build-id %s recorded, %s found)", recorded,
                   found.size ? now : "none");
}

void td_object_attach(struct td_object *object, const struct td_search *search,
                      struct td_elf *take_elf)
{
    *object = (struct td_object){.elf = take_elf};
    find_debug(object, search);
    load_dwarf(object, search);
}

int td_object_open(struct td_object *object, const struct td_search *search, const char *path,
                   const struct td_build_id *id, struct td_err *err)
{
    char *full = td_xasprintf("%s%s", search->sysroot ? search->sysroot : "", path);
    struct td_elf *elf = NULL;
    int rc = td_elf_open(&elf, full, err);

    if (rc == TD_OK)
        rc = td_object_check(elf, id, search->origin, err);
    if (rc == TD_OK)
        td_object_attach(object, search, elf);
    else
        td_elf_free(elf);
    free(full);
    return rc;
}

void td_object_release(struct td_object *object)
{
    td_dwarf_free(object->dwarf);
    td_dwarf_free(object->alt_dwarf);
    td_elf_free(object->elf);
    td_elf_free(object->debug);
    td_elf_free(object->alt);
    td_elf_free(object->mini);
    free(object->mini_bytes);
    *object = (struct td_object){0};
}
