/* SPDX-License-Identifier: MIT */
#include "symbolize/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"

#define SIZE_LIMIT ((off_t)256 << 20)
/* How far back an entry that overlaps its successors is looked for. */
#define LOOK_BACK 64

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
    const struct td_perfmap_entry *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->name > y->name ? -1 : x->name < y->name; /* later in the text is newer */
}

void td_perfmap_parse(struct td_perfmap *map, const char *text, size_t size)
{
    const char *end = text + size;

    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *line_end = newline ? newline : end;
        const char *p = text;
        struct td_perfmap_entry entry = {0};

        if (take_hex(&p, line_end, &entry.start) && take_hex(&p, line_end, &entry.size) &&
            entry.size > 0 && entry.size < UINT64_MAX - entry.start && p < line_end) {
            entry.name = p;
            entry.name_len = (size_t)(line_end - p);
            map->entries = td_grow(map->entries, &map->cap, map->len + 1, sizeof(*map->entries));
            map->entries[map->len++] = entry;
        }
        text = line_end + (newline != NULL);
    }
    if (map->len)
        qsort(map->entries, map->len, sizeof(*map->entries), compare);
}

static int check_file(int fd, const char *path, uid_t owner, struct td_err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return td_fail_errno(err, TD_EIO, errno, "cannot stat '%s'", path);
    if (!S_ISREG(st.st_mode) || st.st_size > SIZE_LIMIT)
        return td_fail(err, TD_EMISMATCH, "'%s' is no regular file below 256 MB", path);
    if (st.st_uid != owner && st.st_uid != 0)
        return td_fail(err, TD_EMISMATCH, "'%s' belongs to another user (%u) and is not used", path,
                       (unsigned)st.st_uid);
    return TD_OK;
}

int td_perfmap_read(struct td_perfmap *map, const char *path, uid_t owner, struct td_err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct td_buf buf = {0};
    ssize_t n = 0;

    if (fd < 0)
        return td_fail_errno(err, errno == ENOENT ? TD_ENOENT : TD_EIO, errno, "cannot open '%s'",
                             path);
    const int rc = check_file(fd, path, owner, err);
    while (rc == TD_OK && buf.len < (size_t)SIZE_LIMIT &&
           (n = read(fd, td_buf_reserve(&buf, 65536), 65536)) > 0)
        buf.len += (size_t)n;
    close(fd);
    if (rc < 0)
        return rc;
    map->bytes = buf.data;
    td_perfmap_parse(map, (const char *)buf.data, buf.len);
    return TD_OK;
}

const struct td_perfmap_entry *td_perfmap_find(const struct td_perfmap *map, uint64_t address)
{
    size_t low = 0, high = map->len;
    const struct td_perfmap_entry *best = NULL;

    while (low < high) { /* the first entry behind the address */
        const size_t middle = low + (high - low) / 2;

        if (map->entries[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i > 0 && low - i < LOOK_BACK; i--) {
        const struct td_perfmap_entry *entry = &map->entries[i - 1];

        if (address - entry->start < entry->size && (!best || entry->name > best->name))
            best = entry;
    }
    return best;
}

void td_perfmap_release(struct td_perfmap *map)
{
    free(map->entries);
    free(map->bytes);
    *map = (struct td_perfmap){0};
}
