/* SPDX-License-Identifier: MIT */
#include "symbolize/kept.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "formats/file_id.h"
#include "symbolize/cache.h"
#include "symbolize/debugfile.h"
#include "symbolize/elf/buildid.h"

#define SUFFIX ".program"
/* A copy is safe from who writes into the file itself; a link costs nothing. */
#define COPY_BYTES_MAX ((size_t)16 << 20)
#define LINK_BYTES_MAX ((off_t)1 << 30)
#define KEPT_MAX       16

/* Through the descriptor: what stands at the folder's path may change. */
static char *path_of(int dir, const struct td_build_id *id)
{
    char hex[2 * TD_BUILD_ID_MAX + 1];

    td_build_id_text(id, hex, sizeof(hex));
    return td_xasprintf("/proc/self/fd/%d/%s" SUFFIX, dir, hex);
}

/* Installed for all, and kept by who installed it. */
static bool is_installed(const char *path)
{
    static const char *const roots[] = {"/usr/", "/bin/", "/sbin/", "/lib",
                                        "/opt/", "/nix/", "/snap/"};

    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        if (strncmp(path, roots[i], strlen(roots[i])) == 0)
            return true;
    }
    return false;
}

static bool is_kept_name(const char *name)
{
    const size_t len = strlen(name);

    return len > strlen(SUFFIX) && strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0;
}

/* Takes the one out that was kept first, when there are more than there may be; false when there
 * are not. */
static bool drop_oldest(int dir)
{
    const int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again >= 0 ? fdopendir(again) : NULL;
    struct timespec oldest = {0};
    char name[256] = "";
    size_t count = 0;
    struct stat st;

    if (!list && again >= 0)
        close(again);
    for (const struct dirent *entry = NULL; list && (entry = readdir(list));) {
        if (!is_kept_name(entry->d_name) ||
            fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        count++;
        if (name[0] &&
            (st.st_ctim.tv_sec > oldest.tv_sec ||
             (st.st_ctim.tv_sec == oldest.tv_sec && st.st_ctim.tv_nsec >= oldest.tv_nsec)))
            continue;
        oldest = st.st_ctim;
        snprintf(name, sizeof(name), "%s", entry->d_name);
    }
    if (list)
        closedir(list);
    return count > KEPT_MAX && unlinkat(dir, name, 0) == 0;
}

static void copy(const char *from, const char *to)
{
    struct td_buf buf = {0};

    if (td_file_read(from, COPY_BYTES_MAX, &buf, NULL) == TD_OK)
        td_file_replace(to, buf.data, buf.len, NULL);
    td_buf_release(&buf);
}

void td_kept_add(const char *path)
{
    char *real = realpath(path, NULL);
    struct td_build_id id = {.size = 0};
    struct stat st;
    int dir = -1;

    if (real && !is_installed(real) && stat(real, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_uid == geteuid() && !(st.st_mode & S_ISUID) &&
        td_build_id_from_file(real, &id, NULL) == TD_OK && id.size >= 2)
        dir = td_cache_dir(NULL, NULL);
    if (dir >= 0) {
        char *to = path_of(dir, &id);

        if (access(to, F_OK) < 0 && st.st_size <= (off_t)COPY_BYTES_MAX)
            copy(real, to);
        else if (access(to, F_OK) < 0 && st.st_size <= LINK_BYTES_MAX)
            (void)link(real, to);
        free(to);
        while (drop_oldest(dir))
            ;
        close(dir);
    }
    free(real);
}

char *td_kept_path(int cache_dir, const struct td_build_id *id)
{
    char *path = NULL;
    struct stat st;

    if (cache_dir < 0 || td_file_id_kind(id) != TD_FILE_ID_BUILD)
        return NULL;
    path = path_of(cache_dir, id);
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
        return path;
    free(path);
    return NULL;
}
