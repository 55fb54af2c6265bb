/* SPDX-License-Identifier: MIT */
#include "record/live/detour.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"

#define PAGE UINT64_C(4096)
/* No vdso is larger, nor has it more segments. */
#define VDSO_LIMIT    (64u << 10)
#define SEGMENT_LIMIT 16

/* What the code takes: cache lines of its own. */
#define PLACE 192

static const uint8_t zeros[PLACE];

/* The process's AT_SYSINFO_EHDR; 0: it has no vdso. */
static uint64_t vdso_of(pid_t process)
{
    char path[64];
    struct td_buf buf = {0};
    uint64_t found = 0;

    snprintf(path, sizeof(path), "/proc/%d/auxv", process);
    if (td_file_read(path, 1 << 16, &buf, NULL) == TD_OK) {
        struct td_rd rd = td_rd_init(buf.data, buf.len, 0);

        while (td_rd_left(&rd) >= 16 && found == 0) {
            const uint64_t type = td_rd_u64(&rd), value = td_rd_u64(&rd);

            if (type == AT_SYSINFO_EHDR)
                found = value;
        }
    }
    td_buf_release(&buf);
    return found;
}

static bool read_at(const struct td_live_detour *detour, uint64_t at, void *data, size_t size)
{
    return pread(detour->memory, data, size, (off_t)at) == (ssize_t)size;
}

/* The last byte of the vdso's file that means something; 0: it is not known. */
static uint64_t vdso_size(const struct td_live_detour *detour, uint64_t start)
{
    Elf64_Ehdr head;
    Elf64_Phdr segments[SEGMENT_LIMIT];

    if (!read_at(detour, start, &head, sizeof(head)) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phoff > VDSO_LIMIT ||
        head.e_shoff > VDSO_LIMIT || head.e_phnum > SEGMENT_LIMIT ||
        head.e_phentsize != sizeof(*segments) ||
        !read_at(detour, start + head.e_phoff, segments, head.e_phnum * sizeof(*segments)))
        return 0;
    uint64_t size = head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize;
    for (int i = 0; i < head.e_phnum; i++) {
        const uint64_t end = segments[i].p_vaddr + segments[i].p_memsz;

        if (segments[i].p_type == PT_LOAD && end > size)
            size = end;
    }
    return size <= VDSO_LIMIT ? size : 0;
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* One recorder at a time: nothing else keeps two from writing to the same place. */
static bool is_busy(const struct td_live_detour *detour)
{
    return detour->folder >= 0 && flock(detour->folder, LOCK_EX | LOCK_NB) < 0;
}

enum td_live_outcome td_live_detour_open(struct td_live_detour *detour, pid_t process)
{
    const uint64_t start = vdso_of(process);
    enum td_live_outcome outcome = TD_LIVE_GONE;
    char path[64];

    *detour = (struct td_live_detour){.open = true, .memory = -1};
    snprintf(path, sizeof(path), "/proc/%d", process);
    detour->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (is_busy(detour)) {
        td_live_detour_close(detour);
        return TD_LIVE_TRACED;
    }
    snprintf(path, sizeof(path), "/proc/%d/mem", process);
    detour->memory = start != 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (start != 0 && detour->memory < 0 && (errno == EACCES || errno == EPERM))
        outcome = TD_LIVE_DENIED;
    const uint64_t size = detour->memory >= 0 ? vdso_size(detour, start) : 0;
    if (size == 0) {
        td_live_detour_close(detour);
        return outcome;
    }
    detour->start = start + round_up(size, 64);
    detour->end = start + round_up(size, PAGE);
    return TD_LIVE_TAKEN;
}

void td_live_detour_close(struct td_live_detour *detour)
{
    if (!detour->open)
        return;
    if (detour->memory >= 0)
        close(detour->memory);
    if (detour->folder >= 0)
        close(detour->folder); /* and unlocks it */
    detour->open = false;
}

static bool is_free(const struct td_live_detour *detour, uint64_t at)
{
    uint8_t there[PLACE];

    return read_at(detour, at, there, sizeof(there)) && memcmp(there, zeros, sizeof(there)) == 0;
}

/* What one left that died may still be run: it stays. */
static uint64_t find_place(const struct td_live_detour *detour)
{
    for (uint64_t at = detour->start; at + PLACE <= detour->end; at += PLACE) {
        if (is_free(detour, at))
            return at;
    }
    return 0;
}

static bool write_at(const struct td_live_detour *detour, uint64_t at, const void *data,
                     size_t size)
{
    return pwrite(detour->memory, data, size, (off_t)at) == (ssize_t)size;
}

uint64_t td_live_detour_write(struct td_live_detour *detour, const struct td_buf *code)
{
    const uint64_t at = detour->at != 0 ? detour->at : find_place(detour);

    if (at == 0 || code->len > PLACE || !write_at(detour, at, code->data, code->len))
        return 0;
    detour->at = at;
    return at;
}

void td_live_detour_erase(struct td_live_detour *detour)
{
    if (detour->at != 0 && write_at(detour, detour->at, zeros, sizeof(zeros)))
        detour->at = 0;
}
