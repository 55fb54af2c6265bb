/* SPDX-License-Identifier: MIT */
#include "symbolize/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "symbolize/elf/buildid.h"
#include "symbolize/debugfile.h"

/* A file is hashed whole up to twice this; of a longer one its begin and its end, which hold the
 * headers and the symbol table (profile.md 4.1). */
#define PART_BYTES   (UINT64_C(8) << 20)
#define BUFFER_BYTES (UINT32_C(64) << 10)

#ifndef OVERLAYFS_SUPER_MAGIC
#    define OVERLAYFS_SUPER_MAGIC 0x794c7630
#endif
#ifndef BTRFS_SUPER_MAGIC
#    define BTRFS_SUPER_MAGIC 0x9123683e
#endif

static bool has_only(const struct td_model *model, enum td_env_key key, const char *value)
{
    const char *recorded = td_model_env(model, key);

    return recorded && strcmp(recorded, value) == 0 && !td_model_env_at(model, key, 1);
}

static uint64_t wall_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * TD_NS_PER_S + (uint64_t)t.tv_nsec;
}

struct td_origin td_origin_of(const struct td_model *model, uint64_t started_ns)
{
    const char *realtime = td_model_env(model, TD_ENV_REALTIME_NS);
    const uint64_t now_ns = td_clock_ns();
    struct td_origin origin = {.here = false};
    struct utsname names;

    if (uname(&names) < 0)
        return origin;
    origin.here = has_only(model, TD_ENV_HOST, names.nodename) &&
                  has_only(model, TD_ENV_KERNEL, names.release) &&
                  has_only(model, TD_ENV_MACHINE, names.machine);
    if (realtime && !td_model_env_at(model, TD_ENV_REALTIME_NS, 1) &&
        td_parse_u64(realtime, &origin.started_ns))
        return origin;
    /* Both clocks of samples, CLOCK_MONOTONIC and the kernel's own, count from the boot. */
    if (started_ns > 0 && started_ns <= now_ns)
        origin.started_ns = wall_ns() - (now_ns - started_ns);
    return origin;
}

/* Mappings tell the device beneath an overlay (a container's root) or a subvolume, stat does not.
 */
static bool is_stacked(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 && ((unsigned long)fs.f_type == OVERLAYFS_SUPER_MAGIC ||
                                     (unsigned long)fs.f_type == BTRFS_SUPER_MAGIC);
}

static bool is_inode(int fd, const struct stat *st, const struct td_file_inode *inode)
{
    return st->st_ino == inode->inode &&
           ((major(st->st_dev) == inode->major && minor(st->st_dev) == inode->minor) ||
            is_stacked(fd));
}

/* A descriptor of a regular file; -1 with the reason. */
static int open_file(const char *path, struct stat *st, struct td_err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0) {
        const int sys_errno = errno;

        td_fail_errno(err, sys_errno == ENOENT || sys_errno == ENOTDIR ? TD_ENOENT : TD_EIO,
                      sys_errno, "cannot open '%s'", path);
        return -1;
    }
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
        return fd;
    close(fd);
    td_fail(err, TD_EIO, "'%s' is not a regular file", path);
    return -1;
}

/* Adds [from, to) of the file; false when it is not all there. */
static bool hash_part(struct td_file_hash *hash, int fd, uint8_t *buffer, uint64_t from,
                      uint64_t to)
{
    while (from < to) {
        const size_t want = to - from < BUFFER_BYTES ? (size_t)(to - from) : BUFFER_BYTES;
        size_t got = 0;

        while (got < want) {
            const ssize_t n = pread(fd, buffer + got, want - got, (off_t)(from + got));

            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                return false;
            got += (size_t)n;
        }
        td_file_hash_add(hash, buffer, want);
        from += want;
    }
    return true;
}

static int read_content(int fd, uint64_t size, struct td_build_id *ret, struct td_err *err)
{
    const bool whole = size <= 2 * PART_BYTES;
    struct td_file_hash hash = td_file_hash_init(size);
    uint8_t *buffer = td_xalloc(BUFFER_BYTES);
    const bool good = hash_part(&hash, fd, buffer, 0, whole ? size : PART_BYTES) &&
                      (whole || hash_part(&hash, fd, buffer, size - PART_BYTES, size));

    free(buffer);
    if (!good)
        return td_fail(err, TD_EIO, "a file changed while it was read");
    *ret = td_file_hash_id(&hash);
    return TD_OK;
}

int td_identity_read(const char *path, const struct td_file_inode *mapped, struct td_build_id *ret,
                     struct td_err *err)
{
    struct stat st;
    const int fd = open_file(path, &st, err);
    int rc = TD_OK;

    if (fd < 0)
        return err ? err->code : TD_EIO;
    if (mapped && !is_inode(fd, &st, mapped))
        rc = td_fail(err, TD_EMISMATCH, "'%s' is not the file that was mapped", path);
    if (rc == TD_OK && td_build_id_from_file(path, ret, NULL) != TD_OK)
        rc = read_content(fd, (uint64_t)st.st_size, ret, err);
    close(fd);
    return rc;
}

static int check_inode(int fd, const struct stat *st, const struct td_build_id *recorded,
                       const struct td_origin *origin, struct td_err *err)
{
    const struct td_file_inode inode = td_file_id_inode(recorded);
    const uint64_t changed_ns =
        (uint64_t)st->st_ctim.tv_sec * TD_NS_PER_S + (uint64_t)st->st_ctim.tv_nsec;

    if (!origin || !origin->here)
        return td_fail(err, TD_EMISMATCH,
                       "recorded without its build-id, and not on this machine: the file here may "
                       "be another and is not used");
    if (!is_inode(fd, st, &inode))
        return td_fail(err, TD_EMISMATCH,
                       "recorded without its build-id, and another file stands here now (its inode "
                       "differs)");
    if (origin->started_ns == 0 || changed_ns >= origin->started_ns)
        return td_fail(err, TD_EMISMATCH,
                       "recorded without its build-id, and the file may have changed since the "
                       "recording began");
    return TD_OK;
}

static int check_content(int fd, const struct stat *st, const struct td_build_id *recorded,
                         struct td_err *err)
{
    struct td_build_id found = {.size = 0};
    const int rc = read_content(fd, (uint64_t)st->st_size, &found, err);

    if (rc < 0 || td_build_id_equal(&found, recorded))
        return rc;
    return td_fail(
        err, TD_EMISMATCH,
        "the file changed since recording (it has no build-id, and its content differs)");
}

static int check_build_id(const char *path, const struct td_build_id *recorded, struct td_err *err)
{
    char then[2 * TD_BUILD_ID_MAX + 1], now[2 * TD_BUILD_ID_MAX + 1];
    struct td_build_id found = {.size = 0};

    (void)td_build_id_from_file(path, &found, NULL);
    if (td_build_id_equal(&found, recorded))
        return TD_OK;
    td_build_id_text(recorded, then, sizeof(then));
    td_build_id_text(&found, now, sizeof(now));
    return td_fail(err, TD_EMISMATCH,
                   "the file changed since recording (build-id %s recorded, %s found)", then,
                   found.size ? now : "none");
}

int td_identity_check(const char *path, const struct td_build_id *recorded,
                      const struct td_origin *origin, struct td_err *err)
{
    struct stat st;
    const int fd = open_file(path, &st, err);
    int rc = TD_OK;

    if (fd < 0)
        return err ? err->code : TD_EIO;
    switch (td_file_id_kind(recorded)) {
    case TD_FILE_ID_BUILD: rc = check_build_id(path, recorded, err); break;
    case TD_FILE_ID_CONTENT: rc = check_content(fd, &st, recorded, err); break;
    case TD_FILE_ID_INODE: rc = check_inode(fd, &st, recorded, origin, err); break;
    case TD_FILE_ID_NONE:
    default:
        rc = td_fail(err, TD_EMISMATCH,
                     "recorded without its build-id: the file here may be another and is not used");
        break;
    }
    close(fd);
    return rc;
}
