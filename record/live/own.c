/* SPDX-License-Identifier: MIT */
#include "record/live/own.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/procfs.h"

#define PAGE ((uint64_t)TD_LIVE_IMAGE_PAGE)
/* Pages of /proc/PID/pagemap that are read at a time. */
#define MAP_PAGES 512
/* Documentation/admin-guide/mm/pagemap.rst: present, swapped. */
#define ENTRY_EXISTS (UINT64_C(1) << 63 | UINT64_C(1) << 62)

static int64_t mapped_pages(pid_t process)
{
    char path[64];
    int64_t pages = 0;

    snprintf(path, sizeof(path), "/proc/%d/statm", process);
    return td_procfs_number(NULL, path, &pages) ? pages : 0;
}

bool td_live_own_differs(pid_t process, pid_t clone)
{
    return mapped_pages(process) != mapped_pages(clone);
}

static bool is_plain(const struct td_map_line *line)
{
    static const char named[] = "[anon"; /* by prctl(PR_SET_VMA) */

    return line->inode == 0 && !line->shared &&
           (line->path_len == 0 || (line->path_len >= sizeof(named) - 1 &&
                                    memcmp(line->path, named, sizeof(named) - 1) == 0));
}

static void add_mapping(struct td_live_own *own, const struct td_map_line *line)
{
    own->mappings = td_grow(own->mappings, &own->cap, own->count + 1, sizeof(*own->mappings));
    own->mappings[own->count++] = (struct td_live_mapping){
        .start = line->start,
        .size = line->end - line->start,
        .protection =
            (line->readable ? 1u : 0) | (line->writable ? 2u : 0) | (line->executable ? 4u : 0),
        .content = line->readable ? TD_LIVE_DATA : TD_LIVE_NOTHING,
        .name = "",
    };
}

static char *read_maps(pid_t process)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/maps", process);
    return td_procfs_text(NULL, path);
}

void td_live_own_find(struct td_live_own *own, pid_t process, pid_t clone)
{
    char *all = read_maps(process), *passed = read_maps(clone);
    const char *at = all, *passed_at = passed;
    struct td_map_line line, other;
    bool more = passed && td_map_line_next(&passed_at, &other);

    while (passed && at && td_map_line_next(&at, &line)) {
        while (more && other.end <= line.start)
            more = td_map_line_next(&passed_at, &other);
        if ((!more || other.start >= line.end) && is_plain(&line))
            add_mapping(own, &line);
    }
    free(all);
    free(passed);
}

/* A run of pages; what cannot be read any more is zeros. */
static void read_run(struct td_live_own *own, pid_t process, size_t mapping, uint64_t start,
                     uint64_t size, uint8_t *room)
{
    struct iovec here = {.iov_base = room, .iov_len = size};
    struct iovec there = {.iov_base = (void *)(uintptr_t)start, .iov_len = size}; // NOLINT
    const ssize_t n = process_vm_readv(process, &here, 1, &there, 1, 0);

    own->runs = td_grow(own->runs, &own->run_cap, own->run_count + 1, sizeof(*own->runs));
    own->runs[own->run_count++] = (struct td_live_own_run){
        .mapping = mapping, .start = start, .size = n > 0 ? (uint64_t)n : 0, .bytes = room};
}

/* What exists of one mapping. Returns the bytes of the room that it took; more than `left`: it has
 * no room. */
static size_t read_mapping(struct td_live_own *own, pid_t process, int map, size_t mapping,
                           uint8_t *room, size_t left)
{
    const struct td_live_mapping *m = &own->mappings[mapping];
    const uint64_t pages = m->size / PAGE;
    uint64_t entries[MAP_PAGES];
    size_t used = 0;

    for (uint64_t at = 0; at < pages; at += MAP_PAGES) {
        const uint64_t part = pages - at < MAP_PAGES ? pages - at : MAP_PAGES;
        const ssize_t n = pread(map, entries, part * 8, (off_t)((m->start / PAGE + at) * 8));
        const uint64_t count = n > 0 ? (uint64_t)n / 8 : 0;

        for (uint64_t i = 0, k; i < count; i = k + 1) {
            for (k = i; k < count && (entries[k] & ENTRY_EXISTS);)
                k++;
            const uint64_t size = (k - i) * PAGE;
            if (size > left - used)
                return left + 1;
            if (size > 0)
                read_run(own, process, mapping, m->start + (at + i) * PAGE, size, room + used);
            used += size;
        }
    }
    return used;
}

bool td_live_own_read(struct td_live_own *own, pid_t process, uint8_t *room, size_t size)
{
    char path[64];
    size_t used = 0;

    snprintf(path, sizeof(path), "/proc/%d/pagemap", process);
    const int map = open(path, O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < own->count && map >= 0 && used <= size; i++) {
        if (own->mappings[i].content == TD_LIVE_DATA)
            used += read_mapping(own, process, map, i, room + used, size - used);
    }
    if (map >= 0)
        close(map);
    return map >= 0 && used <= size;
}

int td_live_own_write(const struct td_live_own *own, size_t i, struct td_live_writer *writer,
                      struct td_err *err)
{
    int code = TD_OK;

    td_live_writer_mapping(writer, &own->mappings[i]);
    for (size_t k = 0; k < own->run_count && code == TD_OK; k++) {
        const struct td_live_own_run *run = &own->runs[k];

        if (run->mapping == i)
            code = td_live_writer_data(writer, run->start - own->mappings[i].start, run->bytes,
                                       run->size, err);
    }
    return code;
}

void td_live_own_release(struct td_live_own *own)
{
    free(own->mappings);
    free(own->runs);
    *own = (struct td_live_own){0};
}
