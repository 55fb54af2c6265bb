/* SPDX-License-Identifier: MIT */
#include "record/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "formats/profile/read.h"

enum {
    NAME_TRIES = 100,
    LINKS_MAX = 40, /* as the kernel's own limit */
    /* The largest profile that is looked into; one that holds a sample is soon larger. */
    SMALL_BYTES = 65536,
};

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

/* The folder that the path's last part is in; newly allocated. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return td_xstrdup(".");
    return slash == path ? td_xstrdup("/") : td_xstrndup(path, (size_t)(slash - path));
}

/* A path through /proc names what is open, not a file: to rename it would be to rename its folder's
 * entry, which is the machine's (/dev/stdout). */
static bool is_in_proc(const char *path)
{
    char *folder = folder_of(path);
    struct statfs fs;
    const bool in_proc = statfs(folder, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;

    free(folder);
    return in_proc;
}

/* Whether the path, or a link on the way from it, is in /proc. */
static bool leads_through_proc(const char *path)
{
    char *at = td_xstrdup(path);
    char target[PATH_MAX];
    bool found = is_in_proc(at);
    ssize_t len = 0;

    for (int i = 0; i < LINKS_MAX && !found; i++) {
        len = readlink(at, target, sizeof(target));
        if (len < 0)
            break;
        char *folder = folder_of(at);
        char *next = target[0] == '/' ? td_xstrndup(target, (size_t)len)
                                      : td_xasprintf("%s/%.*s", folder, (int)len, target);
        free(folder);
        free(at);
        at = next;
        found = is_in_proc(at);
    }
    free(at);
    return found;
}

/* Why what is at the path cannot be moved away, where that is known before it is tried. */
static int check_movable(const char *path, const struct stat *st, struct td_err *err)
{
    char *folder_path = folder_of(path);
    char *old = td_xasprintf("%s.old", path);
    struct stat folder, other;
    struct statx more;
    int rc = TD_OK;

    if (stat(folder_path, &folder) == 0 && folder.st_mode & S_ISVTX && geteuid() != 0 &&
        folder.st_uid != geteuid() && st->st_uid != geteuid())
        rc = td_fail(err, TD_EIO, "-o %s: it is another user's, and in a folder like /tmp", path);
    else if (lstat(old, &other) == 0 && S_ISDIR(other.st_mode))
        rc = td_fail(err, TD_EIO, "cannot move '%s' to '%s': that is a folder", path, old);
    else if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &more) == 0 &&
             more.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
        rc = td_fail(err, TD_EIO, "cannot move '%s': it must not be changed (lsattr shows why)",
                     path);
    free(folder_path);
    free(old);
    return rc;
}

/* Only a regular file, or a link to one or to nothing, may be moved out of the way. */
static int check_path(const char *path, struct td_err *err)
{
    struct stat st, target;

    if (strcmp(path, "-") == 0)
        return td_fail(err, TD_EUSAGE, "-o -: a profile is written to a file, not to stdout");
    if (path[0] == '\0' || path[strlen(path) - 1] == '/')
        return td_fail(err, TD_EUSAGE, "-o '%s' names no file", path);
    if (leads_through_proc(path))
        return td_fail(err, TD_EIO, "-o %s: stands for what a process has open; name a file", path);
    if (lstat(path, &st) < 0)
        return TD_OK;
    if (S_ISDIR(st.st_mode))
        return td_fail(err, TD_EIO, "-o %s: is a folder; name a file in it", path);
    if (S_ISLNK(st.st_mode) && stat(path, &target) == 0 && !S_ISREG(target.st_mode))
        return td_fail(err, TD_EIO, "-o %s: leads to a folder, device, pipe or socket; name a file",
                       path);
    if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return td_fail(err, TD_EIO, "-o %s: is a device, pipe or socket; name a file", path);
    return check_movable(path, &st, err);
}

static int no_file(const char *path, int sys_errno, struct td_err *err)
{
    if (sys_errno == EACCES || sys_errno == EROFS)
        return td_fail(err, TD_EIO, "cannot write the profile '%s': %s (-o FILE: elsewhere)", path,
                       strerror(sys_errno));
    return td_fail_errno(err, TD_EIO, sys_errno, "cannot write the profile '%s'", path);
}

/* A new file beside `path`; its name goes to *name, to be freed. */
static int open_named(const char *path, char **name, struct td_err *err)
{
    for (unsigned i = 0; i < NAME_TRIES; i++) {
        *name = td_xasprintf("%s.%u.%u.tmp", path, (unsigned)getpid(), i);
        const int fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (fd >= 0)
            return fd;
        const int sys_errno = errno;
        free(*name);
        *name = NULL;
        if (sys_errno != EEXIST)
            return no_file(path, sys_errno, err);
    }
    return no_file(path, EEXIST, err);
}

/* A file without a name, of which nothing is left when we are killed; -1 where the file system has
 * none, or it could not be given a name later. */
static int open_unnamed(const char *path)
{
    char *folder = folder_of(path);
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

    free(folder);
    if (fd >= 0 && access("/proc/self/fd", X_OK) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int td_output_open(struct td_output *output, const char *path, struct td_err *err)
{
    char *temporary = NULL;
    const int rc = check_path(path, err);

    *output = (struct td_output){.fd = -1};
    if (rc < 0)
        return rc;
    int fd = open_unnamed(path);
    if (fd < 0)
        fd = open_named(path, &temporary, err);
    if (fd < 0)
        return fd;
    *output = (struct td_output){.fd = fd, .path = td_xstrdup(path), .temporary = temporary};
    return TD_OK;
}

static void note_values(void *ctx, const struct td_profile_values *values)
{
    *(bool *)ctx = values != NULL;
}

/* A file that is empty, or a profile without any sample: nobody misses it. */
static bool holds_nothing(const char *path)
{
    struct td_profile_ending ending;
    struct td_buf bytes = {0};
    struct stat st;
    bool any = false;
    const struct td_profile_visitor visitor = {
        .ctx = &any, .samples = note_values, .tallies = note_values};

    if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > SMALL_BYTES)
        return false;
    const bool nothing =
        st.st_size == 0 ||
        (td_file_read(path, SMALL_BYTES, &bytes, NULL) == TD_OK &&
         td_profile_read(bytes.data, bytes.len, &visitor, &ending, NULL) == TD_OK &&
         ending.damages == 0 && !any);
    td_buf_release(&bytes);
    return nothing;
}

/* What is at `path` becomes path.old. */
static int move_away(const char *path, struct td_err *err)
{
    char *old = td_xasprintf("%s.old", path);
    int rc = TD_OK;

    if (holds_nothing(path))
        unlink(path);
    else if (rename(path, old) < 0 && errno != ENOENT)
        rc = td_fail_errno(err, TD_EIO, errno, "cannot move '%s' to '%s'", path, old);
    free(old);
    return rc;
}

static int give_name(const struct td_output *output)
{
    char *self = td_xasprintf("/proc/self/fd/%d", output->fd);
    const int rc = linkat(AT_FDCWD, self, AT_FDCWD, output->path, AT_SYMLINK_FOLLOW);
    const int sys_errno = errno;

    free(self);
    errno = sys_errno;
    return rc;
}

int td_output_place(struct td_output *output, struct td_err *err)
{
    int rc = TD_OK, done = -1;

    if (output->placed)
        return TD_OK;
    /* Somebody else may put a file there in between. */
    for (int i = 0; i < NAME_TRIES && rc == TD_OK && done < 0; i++) {
        rc = move_away(output->path, err);
        if (rc < 0)
            break;
        done = output->temporary ? rename(output->temporary, output->path) : give_name(output);
        if (done < 0 && errno != EEXIST)
            rc = no_file(output->path, errno, err);
    }
    if (rc == TD_OK && done < 0)
        rc = no_file(output->path, EEXIST, err);
    output->placed = rc == TD_OK;
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
    if (output->temporary && !output->placed)
        unlink(output->temporary);
    free(output->temporary);
    free(output->path);
    *output = (struct td_output){.fd = -1};
    return rc;
}
