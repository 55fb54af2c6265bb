/* SPDX-License-Identifier: MIT */
#include "record/tasks/modules.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/mem.h"
#include "formats/kernel/tasks.h"
#include "symbolize/elf/buildid.h"
#include "symbolize/identity.h"

#define DELETED " (deleted)"

struct module {
    enum td_module_kind kind;
    uint32_t path; /* interned */
    uint32_t pid;
    uint64_t base;
    struct td_build_id build_id;
    uint32_t major, minor;
    uint64_t inode;
    uint64_t start, end; /* of its last mapping, in `pid` */
    uint32_t profile_id; /* TD_NONE until it is used */
};

struct td_modules {
    struct td_profile_writer *writer;
    struct td_intern *paths;
    struct td_map index; /* (path and kind, identity) to module */
    struct module *items;
    size_t len, cap;
    uint32_t next_id; /* without a writer */
};

struct td_modules *td_modules_new(struct td_profile_writer *writer)
{
    struct td_modules *modules = td_xcalloc(1, sizeof(*modules));

    modules->writer = writer;
    modules->paths = td_intern_new();
    return modules;
}

void td_modules_free(struct td_modules *modules)
{
    if (!modules)
        return;
    td_intern_free(modules->paths);
    td_map_release(&modules->index);
    free(modules->items);
    free(modules);
}

static uint64_t identity(const struct module *m)
{
    uint64_t hash = td_hash_bytes(m->build_id.bytes, m->build_id.size);

    hash = td_hash_mix(hash, m->inode);
    hash = td_hash_mix(hash, (uint64_t)m->major << 32 | m->minor);
    hash = td_hash_mix(hash, m->base);
    return td_hash_mix(hash, m->pid);
}

static uint32_t put(struct td_modules *modules, const struct module *m)
{
    bool added = false;
    const uint32_t index = *td_map_put(&modules->index, (uint64_t)m->kind << 32 | m->path,
                                       identity(m), (uint32_t)modules->len, &added);

    if (added) {
        modules->items =
            td_grow(modules->items, &modules->cap, modules->len + 1, sizeof(*modules->items));
        modules->items[modules->len] = *m;
        modules->items[modules->len++].profile_id = TD_NONE;
    }
    return index;
}

uint32_t td_modules_put(struct td_modules *modules, uint32_t pid, const struct td_rec_mmap *mmap)
{
    size_t len = mmap->path_len;

    if (len > strlen(DELETED) &&
        memcmp(mmap->path + len - strlen(DELETED), DELETED, strlen(DELETED)) == 0)
        len -= strlen(DELETED);
    struct module m = {.kind = td_mapping_kind(mmap->path, len)};
    if (m.kind == TD_MODULE_ANON) {
        /* All of a process's code without a file is one module. */
        m.pid = pid;
        m.path = td_intern_put(modules->paths, "//anon", 6);
        return put(modules, &m);
    }
    m.path = td_intern_put(modules->paths, mmap->path, len);
    m.build_id = mmap->build_id;
    if (m.kind == TD_MODULE_FILE) {
        m.major = mmap->major;
        m.minor = mmap->minor;
        m.inode = mmap->inode;
    }
    const uint32_t index = put(modules, &m);
    /* A process of those that map it, through which its file can be found; not part of what it
     * is. */
    if (m.kind == TD_MODULE_FILE) {
        modules->items[index].pid = pid;
        modules->items[index].start = mmap->start;
        modules->items[index].end = mmap->start + mmap->size;
    }
    return index;
}

uint32_t td_modules_put_kernel(struct td_modules *modules, enum td_module_kind kind,
                               const char *path, uint64_t base, const struct td_build_id *build_id)
{
    struct module m = {.kind = kind, .base = base};

    m.path = td_intern_put(modules->paths, path, strlen(path));
    if (build_id)
        m.build_id = *build_id;
    return put(modules, &m);
}

enum td_module_kind td_modules_kind(const struct td_modules *modules, uint32_t module)
{
    return modules->items[module].kind;
}

const char *td_modules_path(const struct td_modules *modules, uint32_t module)
{
    return td_intern_get(modules->paths, modules->items[module].path);
}

uint64_t td_modules_base(const struct td_modules *modules, uint32_t module)
{
    return modules->items[module].base;
}

static bool same_build_id(const struct td_build_id *a, const struct td_build_id *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* Whether a path leads to the file that was mapped: by inode or, where the kernel told the
 * build-id instead, by that. */
static bool is_mapped_file(const struct module *m, const char *path)
{
    struct td_build_id build_id = {.size = 0};
    struct stat st;

    if (m->inode)
        return stat(path, &st) == 0 && st.st_ino == m->inode && major(st.st_dev) == m->major &&
               minor(st.st_dev) == m->minor;
    return m->build_id.size && td_build_id_from_file(path, &build_id, NULL) == TD_OK &&
           same_build_id(&m->build_id, &build_id);
}

int td_modules_open(const struct td_modules *modules, uint32_t module)
{
    const struct module *m = &modules->items[module];
    const char *path = td_intern_get(modules->paths, m->path);
    char *seen = td_xasprintf("/proc/%u/root%s", m->pid, path);
    const char *const candidates[] = {seen, path};
    int fd = -1;

    for (size_t i = 0; i < TD_ARRAY_SIZE(candidates) && fd < 0; i++) {
        if (is_mapped_file(m, candidates[i]))
            fd = open(candidates[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    free(seen);
    return fd;
}

/* The file as its process has it mapped (also when it was deleted, or is behind an overlay; for the
 * privileged alone), as its process sees it, as we do: if it is still the one that was mapped. Else
 * its inode is all that is known. */
static void identify(const struct td_modules *modules, struct module *m)
{
    const char *path = td_intern_get(modules->paths, m->path);
    const struct td_file_inode inode = {.major = m->major, .minor = m->minor, .inode = m->inode};
    char *mapped = td_xasprintf("/proc/%u/map_files/%llx-%llx", m->pid,
                                (unsigned long long)m->start, (unsigned long long)m->end);
    char *seen = td_xasprintf("/proc/%u/root%s", m->pid, path);
    const char *const candidates[] = {mapped, seen, path};
    int rc = TD_ENOENT;

    for (size_t i = 0; i < TD_ARRAY_SIZE(candidates) && rc != TD_OK; i++)
        rc = td_identity_read(candidates[i], &inode, &m->build_id, NULL);
    if (rc != TD_OK)
        m->build_id = td_file_id_of_inode(&inode);
    free(mapped);
    free(seen);
}

uint32_t td_modules_use(struct td_modules *modules, uint32_t module, bool *added)
{
    struct module *m = &modules->items[module];

    if (added)
        *added = m->profile_id == TD_NONE;
    if (m->profile_id != TD_NONE)
        return m->profile_id;
    if (m->kind == TD_MODULE_FILE && m->build_id.size == 0 && m->inode)
        identify(modules, m);
    const struct td_profile_module described = {
        .kind = m->kind,
        .path = td_intern_get(modules->paths, m->path),
        .pid = m->kind == TD_MODULE_ANON ? m->pid : 0,
        .base = m->base,
        .build_id = m->build_id,
    };
    m->profile_id =
        modules->writer ? td_profile_module(modules->writer, &described) : modules->next_id++;
    return m->profile_id;
}
