/* SPDX-License-Identifier: MIT */
#include "record/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"

#define NAME_TRIES 100

const char *td_output_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                        "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};

    for (size_t i = 0; i < TD_ARRAY_SIZE(names); i++) {
        const char *value = getenv(names[i]);

        /* It becomes part of a file's name. */
        if (value && value[0] && strspn(value, "0123456789") == strlen(value))
            return value;
    }
    return NULL;
}

int td_output_expand(char **ret, const char *pattern, const char *host, uint32_t pid,
                     const char *rank, struct td_err *err)
{
    struct td_buf buf = {0};
    char number[16];

    snprintf(number, sizeof(number), "%u", pid);
    for (const char *p = pattern; *p; p++) {
        const char *value = NULL;

        if (*p != '%') {
            td_buf_u8(&buf, (uint8_t)*p);
            continue;
        }
        p++;
        if (*p == 'h')
            value = host;
        else if (*p == 'p')
            value = number;
        else if (*p == 'r')
            value = rank ? rank : "0";
        else if (*p == '%')
            value = "%";
        if (!value) {
            td_buf_release(&buf);
            return td_fail(err, TD_EUSAGE, "-o %s: there is %%h, %%p, %%r and %%%%", pattern);
        }
        td_buf_bytes(&buf, value, strlen(value));
    }
    td_buf_u8(&buf, 0);
    *ret = (char *)buf.data;
    return TD_OK;
}

/* Only a regular file, or a link, may be moved out of the way. */
static int check_path(const char *path, struct td_err *err)
{
    struct stat st;

    if (strcmp(path, "-") == 0)
        return td_fail(err, TD_EUSAGE, "-o -: a profile is written to a file, not to stdout");
    if (path[0] == '\0' || path[strlen(path) - 1] == '/')
        return td_fail(err, TD_EUSAGE, "-o '%s' names no file", path);
    if (lstat(path, &st) < 0)
        return TD_OK;
    if (S_ISDIR(st.st_mode))
        return td_fail(err, TD_EIO, "-o %s: is a folder; name a file in it", path);
    if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return td_fail(err, TD_EIO, "-o %s: is a device, pipe or socket; name a file", path);
    return TD_OK;
}

/* A new file beside `path`; its name goes to *name, to be freed. */
static int open_temporary(const char *path, char **name, struct td_err *err)
{
    for (unsigned i = 0; i < NAME_TRIES; i++) {
        *name = td_xasprintf("%s.%u.%u.tmp", path, (unsigned)getpid(), i);
        const int fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (fd >= 0)
            return fd;
        const int sys_errno = errno;
        free(*name);
        *name = NULL;
        if (sys_errno == EACCES || sys_errno == EROFS)
            return td_fail(err, TD_EIO, "cannot write the profile '%s': %s (-o FILE: elsewhere)",
                           path, strerror(sys_errno));
        if (sys_errno != EEXIST)
            return td_fail_errno(err, TD_EIO, sys_errno, "cannot write the profile '%s'", path);
    }
    return td_fail_errno(err, TD_EIO, EEXIST, "cannot write the profile '%s'", path);
}

/* What is at `path` becomes path.old, the temporary file takes its place. */
static int put_in_place(const char *temporary, const char *path, struct td_err *err)
{
    char *old = td_xasprintf("%s.old", path);
    int rc = TD_OK;

    if (rename(path, old) < 0 && errno != ENOENT)
        rc = td_fail_errno(err, TD_EIO, errno, "cannot move '%s' to '%s'", path, old);
    else if (rename(temporary, path) < 0)
        rc = td_fail_errno(err, TD_EIO, errno, "cannot write the profile '%s'", path);
    free(old);
    return rc;
}

int td_output_open(struct td_output *output, const char *path, struct td_err *err)
{
    char *temporary = NULL;
    int rc = check_path(path, err);

    *output = (struct td_output){.fd = -1};
    if (rc < 0)
        return rc;
    const int fd = open_temporary(path, &temporary, err);
    if (fd < 0 || !temporary)
        return fd;
    rc = put_in_place(temporary, path, err);
    if (rc < 0) {
        unlink(temporary);
        close(fd);
    } else {
        output->fd = fd;
        output->path = td_xstrdup(path);
    }
    free(temporary);
    return rc;
}

int td_output_write(void *ctx, const void *data, size_t size, struct td_err *err)
{
    const struct td_output *output = ctx;
    const int rc = td_fd_write_all(output->fd, data, size, err);

    if (rc < 0)
        td_err_prefix(err, "%s", output->path);
    return rc;
}

int td_output_close(struct td_output *output, struct td_err *err)
{
    int rc = TD_OK;

    if (output->fd >= 0 && close(output->fd) < 0)
        rc = td_fail_errno(err, TD_EIO, errno, "cannot write the profile '%s'", output->path);
    free(output->path);
    *output = (struct td_output){.fd = -1};
    return rc;
}
