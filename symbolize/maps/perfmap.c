/* SPDX-License-Identifier: MIT */
#include "symbolize/maps/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/search.h"

/* What is read at once: the clock is looked at as often, and a longer line is none. */
#define PIECE_BYTES ((size_t)1 << 20)
/* Of a name, no more is taken. */
#define NAME_BYTES_MAX 4096
/* Lines that hold thousands of the addresses each cost their number. */
#define UPDATES_A_PIECE ((size_t)1 << 20)

static bool take_hex(const char **p, const char *end, uint64_t *ret)
{
    const char *s = *p;
    uint64_t value = 0;

    if (end - s > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
        s += 2;
    const char *first = s;
    for (; s < end && s - first < 16; s++) {
        const char c = (char)(*s | 0x20);

        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        else
            break;
    }
    if (s == first || s >= end || *s != ' ')
        return false;
    *p = s + 1;
    *ret = value;
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct td_perfmap_name *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

/* The first of the addresses that is not below this one. */
static size_t first_from(const struct td_perfmap *map, uint64_t address)
{
    size_t low = 0;

    TD_SEARCH(low, map->count, i, map->names[i].address < address)
    return low;
}

/* A line at this offset of the file names all the addresses that it holds; later ones are newer.
 * Returns how many those are. */
static size_t take_line(struct td_perfmap *map, const char *line, const char *end, uint64_t offset)
{
    const char *p = line;
    uint64_t start = 0, size = 0;

    if (!take_hex(&p, end, &start) || !take_hex(&p, end, &size) || size == 0 ||
        size >= UINT64_MAX - start || p >= end)
        return 0;
    const size_t length = (size_t)(end - p), first = first_from(map, start);
    size_t i = first;
    for (; i < map->count && map->names[i].address - start < size; i++) {
        map->names[i].offset = offset + (uint64_t)(p - line);
        map->names[i].length = (uint32_t)(length < NAME_BYTES_MAX ? length : NAME_BYTES_MAX);
    }
    return i - first;
}

/* Takes the whole lines of a piece, at the end of the file also the last. Returns how many bytes
 * those are. */
static size_t take_lines(struct td_perfmap *map, const char *text, size_t size, uint64_t offset,
                         bool last, size_t *updates)
{
    size_t done = 0;

    while (done < size) {
        const char *newline = memchr(text + done, '\n', size - done);

        if (!newline && !last)
            break;
        const char *end = newline ? newline : text + size;
        *updates += take_line(map, text + done, end, offset + done);
        done = (size_t)(end - text) + (newline != NULL);
    }
    return done;
}

void td_perfmap_want(struct td_perfmap *map, uint64_t address)
{
    map->names = td_grow(map->names, &map->cap, map->count + 1, sizeof(*map->names));
    map->names[map->count++] = (struct td_perfmap_name){.address = address};
}

void td_perfmap_scan(struct td_perfmap *map, int fd, uint64_t max_ns)
{
    const uint64_t deadline = td_clock_ns() + max_ns;
    char *text = td_xalloc(PIECE_BYTES);
    size_t len = 0, updates = 0, pieces = 0;
    uint64_t offset = 0;
    ssize_t n = 1;

    map->fd = fd;
    if (map->count)
        qsort(map->names, map->count, sizeof(*map->names), compare);
    while (map->count && n > 0 && !map->cut) {
        n = pread(fd, text + len, PIECE_BYTES - len, (off_t)(offset + len));
        len += n > 0 ? (size_t)n : 0;
        size_t done = take_lines(map, text, len, offset, n <= 0, &updates);
        if (done == 0 && len == PIECE_BYTES)
            done = len;
        memmove(text, text + done, len - done);
        offset += done;
        len -= done;
        map->cut = td_clock_ns() > deadline || updates > ++pieces * UPDATES_A_PIECE;
    }
    free(text);
}

int td_perfmap_open(int *fd, uint64_t *size, const char *path, uid_t owner, struct td_err *err)
{
    struct stat st;
    int rc = TD_OK;

    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (*fd < 0)
        return td_fail_errno(err, errno == ENOENT ? TD_ENOENT : TD_EIO, errno, "cannot open '%s'",
                             path);
    if (fstat(*fd, &st) < 0)
        rc = td_fail_errno(err, TD_EIO, errno, "cannot stat '%s'", path);
    else if (!S_ISREG(st.st_mode))
        rc = td_fail(err, TD_EMISMATCH, "'%s' is not a regular file", path);
    else if (st.st_uid != owner && st.st_uid != 0)
        rc = td_fail(err, TD_EMISMATCH, "'%s' belongs to another user (%u) and is not used", path,
                     (unsigned)st.st_uid);
    if (rc == TD_OK) {
        *size = (uint64_t)st.st_size;
        return rc;
    }
    close(*fd);
    *fd = -1;
    return rc;
}

char *td_perfmap_name(const struct td_perfmap *map, uint64_t address)
{
    const size_t i = first_from(map, address);

    if (i == map->count || map->names[i].address != address || map->names[i].length == 0)
        return NULL;
    const struct td_perfmap_name *found = &map->names[i];
    char *name = td_xcalloc(found->length + 1, 1);
    if (pread(map->fd, name, found->length, (off_t)found->offset) > 0 && name[0])
        return name;
    free(name); /* the file was cut */
    return NULL;
}

void td_perfmap_release(struct td_perfmap *map)
{
    free(map->names);
    *map = (struct td_perfmap){.fd = -1};
}
