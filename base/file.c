/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static int open_to_read(const char *path, struct td_err *err)
{
    /* O_NONBLOCK: a FIFO put where a file is expected must not hang us. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        td_fail_errno(err, errno == ENOENT ? TD_ENOENT : TD_EIO, errno, "cannot open '%s'", path);
    return fd;
}

int td_file_read(const char *path, size_t limit, struct td_buf *buf, struct td_err *err)
{
    const int fd = open_to_read(path, err);
    const size_t start = buf->len;
    int rc = TD_OK;

    if (fd < 0)
        return errno == ENOENT ? TD_ENOENT : TD_EIO;
    for (;;) {
        const ssize_t n = read(fd, td_buf_reserve(buf, 65536), 65536);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = td_fail_errno(err, TD_EIO, errno, "cannot read '%s'", path);
        if (n <= 0)
            break;
        buf->len += (size_t)n;
        if (buf->len - start > limit) {
            rc = td_fail(err, TD_ELIMIT, "'%s' is larger than %zu bytes", path, limit);
            break;
        }
    }
    close(fd);
    return rc;
}

/* Opens a regular file; *fd is the caller's to close. */
static int open_regular(int *fd, struct stat *st, const char *path, struct td_err *err)
{
    int rc = TD_OK;

    *fd = open_to_read(path, err);
    if (*fd < 0)
        return errno == ENOENT ? TD_ENOENT : TD_EIO;
    if (fstat(*fd, st) < 0)
        rc = td_fail_errno(err, TD_EIO, errno, "cannot stat '%s'", path);
    else if (!S_ISREG(st->st_mode))
        rc = td_fail(err, TD_EUNSUPPORTED, "'%s' is not a regular file", path);
    if (rc != TD_OK)
        close(*fd);
    return rc;
}

int td_file_map(struct td_file_map *ret, const char *path, struct td_err *err)
{
    struct stat st;
    int fd = -1;
    int rc = open_regular(&fd, &st, path, err);

    if (rc != TD_OK)
        return rc;
    *ret = (struct td_file_map){0};
    if (st.st_size > 0) {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

        if (data == MAP_FAILED)
            rc = td_fail_errno(err, TD_EIO, errno, "cannot map '%s'", path);
        else
            *ret = (struct td_file_map){
                .data = data, .size = (size_t)st.st_size, .room = (size_t)st.st_size};
    }
    close(fd);
    return rc;
}

/* Fills `data` from the file's bytes [pos, end); returns where they ended, or -1 with errno. */
static off_t read_part(int fd, uint8_t *data, off_t pos, off_t end)
{
    while (pos < end) {
        const ssize_t n = pread(fd, data + pos, (size_t)(end - pos), pos);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        pos += n;
    }
    return pos;
}

/* All of it but its holes, which are zeros already. Returns the size that was there. */
static off_t read_parts(int fd, uint8_t *data, off_t size)
{
    off_t pos = 0;

    while (pos < size) {
        const off_t begin = lseek(fd, pos, SEEK_DATA);

        if (begin < 0 && errno == ENXIO) { /* a hole to the end, or the file was cut */
            const off_t now = lseek(fd, 0, SEEK_END);
            return now < size ? (now > pos ? now : pos) : size;
        }
        const off_t from = begin < 0 ? pos : begin; /* a file system that does not tell */
        const off_t hole = begin < 0 ? size : lseek(fd, from, SEEK_HOLE);
        const off_t end = hole < from || hole > size ? size : hole;
        pos = read_part(fd, data, from, end);
        if (pos < end)
            return pos;
    }
    return pos;
}

int td_file_load(struct td_file_map *ret, const char *path, struct td_err *err)
{
    struct stat st;
    int fd = -1;
    int rc = open_regular(&fd, &st, path, err);

    if (rc != TD_OK)
        return rc;
    *ret = (struct td_file_map){0};
    if (st.st_size > 0) {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        const off_t got = data == MAP_FAILED ? -1 : read_parts(fd, data, st.st_size);

        if (got < 0)
            rc = td_fail_errno(err, TD_EIO, errno, "cannot read '%s'", path);
        if (got <= 0 && data != MAP_FAILED)
            munmap(data, (size_t)st.st_size);
        if (got > 0)
            *ret =
                (struct td_file_map){.data = data, .size = (size_t)got, .room = (size_t)st.st_size};
    }
    close(fd);
    return rc;
}

void td_file_unmap(struct td_file_map *map)
{
    if (map->data)
        munmap((void *)(uintptr_t)map->data, map->room);
    *map = (struct td_file_map){0};
}

int td_fd_write_all(int fd, const void *data, size_t size, struct td_err *err)
{
    const char *p = data;

    while (size > 0) {
        const ssize_t n = write(fd, p, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return td_fail_errno(err, TD_EIO, errno, "cannot write %zu bytes", size);
        p += n;
        size -= (size_t)n;
    }
    return TD_OK;
}

int td_file_replace(const char *path, const void *data, size_t size, struct td_err *err)
{
    char *temp = td_xasprintf("%s.XXXXXX", path);
    int fd = mkostemp(temp, O_CLOEXEC);
    int rc = TD_OK;

    if (fd < 0) {
        rc = td_fail_errno(err, TD_EIO, errno, "cannot create a file beside '%s'", path);
        goto out;
    }
    rc = td_fd_write_all(fd, data, size, err);
    if (close(fd) < 0 && rc == TD_OK)
        rc = td_fail_errno(err, TD_EIO, errno, "cannot write '%s'", temp);
    if (rc == TD_OK && rename(temp, path) < 0)
        rc = td_fail_errno(err, TD_EIO, errno, "cannot rename '%s' to '%s'", temp, path);
    if (rc != TD_OK)
        unlink(temp);
out:
    free(temp);
    return rc;
}

int td_make_dirs(const char *path, struct td_err *err)
{
    char *copy = td_xstrdup(path);
    int rc = TD_OK;

    for (char *p = copy + 1; rc == TD_OK; p++) {
        const char c = *p;

        if (c != '/' && c != '\0')
            continue;
        *p = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST)
            rc = td_fail_errno(err, TD_EIO, errno, "cannot create the folder '%s'", copy);
        *p = c;
        if (c == '\0')
            break;
    }
    free(copy);
    return rc;
}
