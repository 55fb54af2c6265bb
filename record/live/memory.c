/* SPDX-License-Identifier: MIT */
#include "record/live/memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/procfs.h"
#include "record/live/vdso.h"

#define PAGE ((uint64_t)TD_LIVE_IMAGE_PAGE)
/* Pages of /proc/PID/pagemap that are read at a time. */
#define MAP_PAGES 65536
/* Bytes that are copied at a time. */
#define COPY_BYTES (1u << 20)
/* A mapping larger than this is mostly empty (heaps of Go and Java, shadows of sanitizers): its
 * pages become mappings of their own, so that the image's file does not span it. */
#define LARGE_BYTES (UINT64_C(256) << 20)
/* Where the kernel does not tell which parts of those exist, only so many pages are looked at. */
#define SCAN_PAGES (UINT64_C(16) << 20)

/* Documentation/admin-guide/mm/pagemap.rst */
#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_SWAPPED (UINT64_C(1) << 62)
#define ENTRY_OF_FILE (UINT64_C(1) << 61)

/* ioctl PAGEMAP_SCAN of kernels from 6.7 on, same document; newer than the headers we build with.
 */
struct scan {
    uint64_t size, flags, start, end, walk_end, regions, region_count, max_pages;
    uint64_t inverted, mask, any_of, returned;
};
struct region {
    uint64_t start, end, categories;
};
#define SCAN_REQUEST _IOWR('f', 16, struct scan)
#define SCAN_EXISTS  (UINT64_C(1) << 3 | UINT64_C(1) << 4) /* present, swapped */

struct memory {
    struct td_live_writer *writer;
    const struct td_live_own *own;
    pid_t still, process;
    int still_map, process_map; /* their page maps */
    uint64_t *entries;
    uint8_t *bytes;
    uint64_t heap_start, heap_end, scanned;
};

uint64_t td_live_memory_resident(pid_t process)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/status", process);
    char *text = td_procfs_text(NULL, path);
    char *anon = text ? td_procfs_field(text, "RssAnon") : NULL;
    const uint64_t bytes = anon ? strtoull(anon, NULL, 10) << 10 : 0;
    free(anon);
    free(text);
    return bytes;
}

/* ---- one range ---- */

/* Copies into the last mapping, from `at` behind its start on. Pages that cannot be read (of a
 * device, or beyond the end of a file) stay zeros. */
static int copy(struct memory *memory, uint64_t start, uint64_t size, uint64_t at,
                struct td_err *err)
{
    while (size > 0) {
        const uint64_t part = size < COPY_BYTES ? size : COPY_BYTES;
        struct iovec here = {.iov_base = memory->bytes, .iov_len = part};
        struct iovec there = {.iov_base = (void *)(uintptr_t)start, .iov_len = part}; // NOLINT
        const ssize_t n = process_vm_readv(memory->still, &here, 1, &there, 1, 0);
        uint64_t done = n > 0 ? (uint64_t)n : PAGE;

        if (n > 0) {
            const int code = td_live_writer_data(memory->writer, at, memory->bytes, done, err);
            if (code != TD_OK)
                return code;
            done = done % PAGE ? done + PAGE - done % PAGE : done;
        }
        start += done;
        at += done;
        size -= done;
    }
    return TD_OK;
}

/* Which pages of a mapping are copied. */
enum wanted {
    WANT_CHANGED, /* that are no longer the file's */
    WANT_PRESENT, /* that exist */
};

static bool is_wanted(uint64_t entry, enum wanted wanted)
{
    return (entry & (ENTRY_PRESENT | ENTRY_SWAPPED)) &&
           (wanted == WANT_PRESENT || !(entry & ENTRY_OF_FILE));
}

/* A run of pages of the mapping: into it, or as a mapping over it. */
static int take_run(struct memory *memory, const struct td_live_mapping *mapping, bool over,
                    uint64_t start, uint64_t size, struct td_err *err)
{
    if (!over)
        return copy(memory, start, size, start - mapping->start, err);
    const struct td_live_mapping part = {
        .start = start,
        .size = size,
        .file_offset =
            mapping->file_offset + (mapping->name[0] == '/' ? start - mapping->start : 0),
        .content = TD_LIVE_DATA,
        .protection = mapping->protection,
        .flags = mapping->flags | TD_LIVE_OVER,
        .name = mapping->name,
    };
    td_live_writer_mapping(memory->writer, &part);
    return copy(memory, start, size, 0, err);
}

struct part {
    uint64_t start, end;
};

/* The wanted pages of a part of the mapping, by the page map of `map`. */
static int take_part(struct memory *memory, const struct td_live_mapping *mapping, struct part part,
                     int map, enum wanted wanted, bool over, struct td_err *err)
{
    for (uint64_t at = part.start; at < part.end; at += MAP_PAGES * PAGE) {
        const uint64_t left = (part.end - at) / PAGE, room = left < MAP_PAGES ? left : MAP_PAGES;
        const ssize_t n = pread(map, memory->entries, room * 8, (off_t)(at / PAGE * 8));
        const uint64_t count = n > 0 ? (uint64_t)n / 8 : 0;

        for (uint64_t i = 0, k; i < count; i = k + 1) {
            for (k = i; k < count && is_wanted(memory->entries[k], wanted);)
                k++;
            if (k == i)
                continue;
            const int code = take_run(memory, mapping, over, at + i * PAGE, (k - i) * PAGE, err);
            if (code != TD_OK)
                return code;
        }
        if (count < room)
            break;
    }
    return TD_OK;
}

/* The next part of [start, end) that exists. Where the kernel does not tell, what may still be
 * looked at. False: there is none. */
static bool next_part(struct memory *memory, int map, uint64_t start, uint64_t end,
                      struct part *part)
{
    struct region region = {0};
    struct scan scan = {.size = sizeof(scan),
                        .start = start,
                        .end = end,
                        .regions = (uintptr_t)&region,
                        .region_count = 1,
                        .any_of = SCAN_EXISTS,
                        .returned = SCAN_EXISTS};
    const int found = ioctl(map, SCAN_REQUEST, &scan);

    if (found >= 0) {
        *part = (struct part){region.start, region.end};
        return found > 0;
    }
    const uint64_t left = (SCAN_PAGES - memory->scanned) * PAGE;
    *part = (struct part){start, end - start < left ? end : start + left};
    memory->scanned += (part->end - part->start) / PAGE;
    return part->end > part->start;
}

/* All wanted pages of a mapping. */
static int take_pages(struct memory *memory, const struct td_live_mapping *mapping, int map,
                      enum wanted wanted, bool over, struct td_err *err)
{
    const uint64_t end = mapping->start + mapping->size;
    struct part part = {mapping->start, end};
    int code = TD_OK;

    if (mapping->size <= LARGE_BYTES)
        return take_part(memory, mapping, part, map, wanted, over, err);
    for (uint64_t at = mapping->start; code == TD_OK && at < end; at = part.end) {
        if (!next_part(memory, map, at, end, &part))
            break;
        code = take_part(memory, mapping, part, map, wanted, over, err);
    }
    return code;
}

/* ---- one mapping ---- */

/* Whether the mapping's file can be opened by its name, here, and is the same. */
static bool is_file(const struct td_map_line *line, const char *name)
{
    struct stat st;

    return line->inode != 0 && name[0] == '/' && stat(name, &st) == 0 && S_ISREG(st.st_mode) &&
           st.st_ino == line->inode && major(st.st_dev) == line->major &&
           minor(st.st_dev) == line->minor;
}

static int write_vdso(struct memory *memory, struct td_live_mapping *mapping, struct td_err *err)
{
    struct iovec here = {.iov_base = memory->bytes, .iov_len = mapping->size};
    struct iovec there = {.iov_base = (void *)(uintptr_t)mapping->start, // NOLINT
                          .iov_len = mapping->size};

    mapping->content = TD_LIVE_DATA;
    mapping->flags = TD_LIVE_VDSO;
    td_live_writer_mapping(memory->writer, mapping);
    if (mapping->size > COPY_BYTES ||
        process_vm_readv(memory->still, &here, 1, &there, 1, 0) != (ssize_t)mapping->size)
        return TD_OK;
    td_live_vdso_patch(memory->bytes, mapping->size);
    return td_live_writer_data(memory->writer, 0, memory->bytes, mapping->size, err);
}

static int write_file(struct memory *memory, struct td_live_mapping *mapping, bool shared,
                      struct td_err *err)
{
    mapping->content = TD_LIVE_FILE;
    td_live_writer_mapping(memory->writer, mapping);
    if (shared) /* what was written is in the file */
        return TD_OK;
    return take_pages(memory, mapping, memory->still_map, WANT_CHANGED, true, err);
}

/* Memory of no file, shared memory, and files that have no name here. Of the latter two a clone has
 * no pages yet: what the program has mapped says which there are, and reading others could make
 * them. */
static int write_memory(struct memory *memory, struct td_live_mapping *mapping, bool of_program,
                        struct td_err *err)
{
    const bool large = mapping->size > LARGE_BYTES;
    const int map = of_program ? memory->process_map : memory->still_map;

    mapping->content = large ? TD_LIVE_NOTHING : TD_LIVE_DATA;
    td_live_writer_mapping(memory->writer, mapping);
    return take_pages(memory, mapping, map, WANT_PRESENT, large, err);
}

static int write_mapping(struct memory *memory, const struct td_map_line *line, const char *name,
                         struct td_err *err)
{
    struct td_live_mapping mapping = {
        .start = line->start,
        .size = line->end - line->start,
        .protection =
            (line->readable ? 1u : 0) | (line->writable ? 2u : 0) | (line->executable ? 4u : 0),
        .name = name,
    };
    const bool named = name[0] == '/';

    if (strncmp(name, "[vvar", 5) == 0 || strcmp(name, "[vsyscall]") == 0)
        return TD_OK;
    if (named)
        mapping.file_offset = line->offset;
    mapping.flags = line->shared ? TD_LIVE_SHARED : 0;
    if (strcmp(name, "[vdso]") == 0)
        return write_vdso(memory, &mapping, err);
    if (strcmp(name, "[heap]") == 0) {
        mapping.flags |= TD_LIVE_HEAP;
        memory->heap_start = memory->heap_start ? memory->heap_start : mapping.start;
        memory->heap_end = mapping.start + mapping.size;
    } else if (strcmp(name, "[stack]") == 0) {
        mapping.flags |= TD_LIVE_STACK;
    }
    if (!is_file(line, name)) {
        if (mapping.protection == 0) {
            td_live_writer_mapping(memory->writer, &mapping); /* TD_LIVE_NOTHING */
            return TD_OK;
        }
        mapping.flags |= named ? TD_LIVE_DELETED : 0;
        return write_memory(memory, &mapping, named || line->shared, err);
    }
    return write_file(memory, &mapping, line->shared, err);
}

/* The next mappings of the program alone, as far as they begin before `end`. */
static int write_own(struct memory *memory, size_t *next, uint64_t end, struct td_err *err)
{
    const struct td_live_own *own = memory->own;
    int code = TD_OK;

    for (; code == TD_OK && *next < own->count && own->mappings[*next].start < end; ++*next)
        code = td_live_own_write(own, *next, memory->writer, err);
    return code;
}

static int write_all(struct memory *memory, const char *maps, struct td_err *err)
{
    struct td_map_line line;
    size_t next = 0;
    int code = TD_OK;

    while (code == TD_OK && td_map_line_next(&maps, &line)) {
        char *name = td_xstrndup(line.path, line.path_len);

        code = write_own(memory, &next, line.start, err);
        if (code == TD_OK)
            code = write_mapping(memory, &line, name, err);
        free(name);
    }
    return code == TD_OK ? write_own(memory, &next, UINT64_MAX, err) : code;
}

static int open_pagemap(pid_t process)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/pagemap", process);
    return open(path, O_RDONLY | O_CLOEXEC);
}

int td_live_memory_write(struct td_live_writer *writer, pid_t still, pid_t process,
                         const struct td_live_own *own, uint64_t *heap_start, uint64_t *heap_end,
                         struct td_err *err)
{
    struct memory memory = {.writer = writer, .own = own, .still = still, .process = process};
    char path[64];
    int code = TD_OK;

    snprintf(path, sizeof(path), "/proc/%d/maps", still);
    char *maps = td_procfs_text(NULL, path);
    memory.still_map = open_pagemap(still);
    memory.process_map = open_pagemap(process);
    memory.entries = td_xalloc(MAP_PAGES * sizeof(*memory.entries));
    memory.bytes = td_xalloc(COPY_BYTES);
    if (!maps || !*maps || memory.still_map < 0)
        code = td_fail(err, TD_ENOENT, "the memory of process %d cannot be read", still);
    else
        code = write_all(&memory, maps, err);
    *heap_start = memory.heap_start;
    *heap_end = memory.heap_end;
    free(maps);
    free(memory.entries);
    free(memory.bytes);
    if (memory.still_map >= 0)
        close(memory.still_map);
    if (memory.process_map >= 0)
        close(memory.process_map);
    return code;
}
