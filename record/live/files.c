/* SPDX-License-Identifier: MIT */
#include "record/live/files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/procfs.h"
#include "base/text.h"

/* The link's text, newly allocated, and whether it leads to a regular file; NULL: it is closed. */
static char *read_link(const char *path, bool *regular)
{
    char text[PATH_MAX];
    struct stat st;
    const ssize_t n = readlink(path, text, sizeof(text) - 1);

    if (n < 0)
        return NULL;
    text[n] = '\0';
    *regular = text[0] == '/' && stat(path, &st) == 0 && S_ISREG(st.st_mode);
    return td_xstrdup(text);
}

/* Position and flags from /proc/PID/fdinfo/N. */
static bool read_info(pid_t process, uint32_t descriptor, uint64_t *offset, uint32_t *flags)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fdinfo/%u", process, descriptor);
    char *text = td_procfs_text(NULL, path);
    char *at = text ? td_procfs_field(text, "pos") : NULL;
    char *how = text ? td_procfs_field(text, "flags") : NULL;
    const bool found = at && how;
    if (found) {
        *offset = strtoull(at, NULL, 10);
        *flags = (uint32_t)strtoull(how, NULL, 8);
    }
    free(at);
    free(how);
    free(text);
    return found;
}

static enum td_live_descriptor kind_of(bool regular, uint32_t flags)
{
    if (regular && (flags & O_ACCMODE) != O_WRONLY)
        return TD_LIVE_READ;
    return (flags & O_ACCMODE) == O_WRONLY ? TD_LIVE_SINK : TD_LIVE_OTHER;
}

static void list_one(struct td_live_files *files, pid_t process, uint32_t descriptor)
{
    char path[64];
    bool regular = false;
    struct td_live_file file = {.descriptor = descriptor};

    snprintf(path, sizeof(path), "/proc/%d/fd/%u", process, descriptor);
    char *name = read_link(path, &regular);
    if (!name || !read_info(process, descriptor, &file.offset, &file.flags)) {
        free(name);
        return;
    }
    file.name = name;
    file.kind = kind_of(regular, file.flags);
    files->items = td_grow(files->items, &files->cap, files->count + 1, sizeof(*files->items));
    files->items[files->count++] = file;
}

void td_live_files_list(struct td_live_files *files, pid_t process)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd", process);
    char **names = td_procfs_names(NULL, path);
    for (char **name = names; name && *name && files->count < TD_LIVE_FILES_MAX; name++) {
        uint64_t descriptor = 0;

        if (td_parse_u64(*name, &descriptor) && descriptor <= INT32_MAX)
            list_one(files, process, (uint32_t)descriptor);
    }
    td_procfs_names_free(names);
}

static char *steal_name(struct td_live_file *file)
{
    char *name = (char *)(uintptr_t)file->name; /* NOLINT: allocated by list_one */

    file->name = NULL;
    return name;
}

void td_live_files_place(struct td_live_files *files, pid_t process)
{
    size_t kept = 0, read = 0;

    for (size_t i = 0; i < files->count; i++) {
        struct td_live_file *file = &files->items[i];
        bool open = true;

        if (file->kind == TD_LIVE_READ) {
            if (read++ < TD_LIVE_OFFSETS_MAX)
                open = read_info(process, file->descriptor, &file->offset, &file->flags);
            else
                file->kind = TD_LIVE_OTHER;
        }
        if (open)
            files->items[kept++] = *file;
        else
            free(steal_name(file));
    }
    files->count = kept;
}

void td_live_files_release(struct td_live_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(steal_name(&files->items[i]));
    free(files->items);
    *files = (struct td_live_files){0};
}
