/* SPDX-License-Identifier: MIT */
#include "symbolize/cache.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "formats/file_id.h"
#include "symbolize/debugfile.h"

/* Twelve bytes of head: a magic number, the version, the CRC-32C of the rest. */
#define MAGIC          0xd57dca5eu
#define VERSION        1
#define HEAD_BYTES     12
#define SOURCES_MAX    64
#define FILE_BYTES_MAX ((size_t)256 << 20)

struct source {
    struct td_answers_view view;
    uint8_t *copy;       /* owned; NULL for the mapped file */
    uint32_t *strings;   /* while merging: id here -> id in the merged answers, or TD_NONE */
    uint32_t *functions; /* likewise */
};

struct td_cache {
    char *path;
    struct td_file_map map;
    struct source sources[SOURCES_MAX]; /* the oldest first */
    size_t source_count;
    bool has_file, dirty;
};

/* Below ~, when that is ours: sudo may leave root the home of a user. */
static char *dir_in_home(struct td_err *err)
{
    const char *home = getenv("HOME");
    struct stat st;

    if (!home || home[0] != '/' || stat(home, &st) < 0)
        return NULL;
    if (st.st_uid == geteuid())
        return td_xasprintf("%s/.cache/tdprof", home);
    if (geteuid() == 0)
        td_fail(err, TD_EPERM, "the home '%s' is of another user", home);
    return NULL;
}

/* Opens the folder if nobody else can put files there. */
static int open_own(const char *path, struct td_err *err)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int sys_errno = errno;
    struct stat st;

    if (fd < 0) {
        if (sys_errno == ELOOP || sys_errno == ENOTDIR)
            td_fail(err, TD_EPERM, "'%s' is a link or no folder", path);
        return -1;
    }
    if (fstat(fd, &st) < 0 || st.st_uid != geteuid())
        td_fail(err, TD_EPERM, "the folder '%s' is of another user", path);
    else if (st.st_mode & (S_IWGRP | S_IWOTH))
        td_fail(err, TD_EPERM, "others may write into the folder '%s': chmod go-w '%s'", path,
                path);
    else
        return fd;
    close(fd);
    return -1;
}

int td_cache_dir(const char *wanted, struct td_err *err)
{
    const char *xdg = getenv("XDG_CACHE_HOME");
    char *dir = NULL;
    int fd = -1;

    if (wanted)
        dir = wanted[0] != '\0' ? td_xstrdup(wanted) : NULL;
    else if (xdg && xdg[0] == '/')
        dir = td_xasprintf("%s/tdprof", xdg);
    else
        dir = dir_in_home(err);
    if (dir && td_make_dirs(dir, NULL) == TD_OK)
        fd = open_own(dir, err);
    free(dir);
    return fd;
}

static void load(struct td_cache *cache)
{
    struct stat st;

    if (lstat(cache->path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        td_file_map(&cache->map, cache->path, NULL) != TD_OK)
        return;
    struct td_rd rd = td_rd_init(cache->map.data, cache->map.size, 0);
    const uint32_t magic = td_rd_u32(&rd);
    const uint32_t version = td_rd_u32(&rd);
    const uint32_t crc = td_rd_u32(&rd);
    const struct td_bytes bytes = {.data = cache->map.data + HEAD_BYTES, .size = td_rd_left(&rd)};

    if (!td_rd_ok(&rd) || magic != MAGIC || version != VERSION ||
        td_crc32c(0, bytes.data, bytes.size) != crc)
        return;
    cache->has_file = td_answers_open(&cache->sources[0].view, bytes, NULL) == TD_OK;
    cache->source_count = cache->has_file;
}

struct td_cache *td_cache_open(int dir, const struct td_build_id *id)
{
    char hex[2 * TD_BUILD_ID_MAX + 1];

    if (td_file_id_kind(id) != TD_FILE_ID_BUILD && td_file_id_kind(id) != TD_FILE_ID_CONTENT)
        return NULL;
    struct td_cache *cache = td_xcalloc(1, sizeof(*cache));
    td_build_id_text(id, hex, sizeof(hex));
    /* Through the descriptor: what stands at the folder's path may change. */
    cache->path = td_xasprintf("/proc/self/fd/%d/%s.symbols", dir, hex);
    load(cache);
    return cache;
}

bool td_cache_answers(const struct td_cache *cache, struct td_answers_view *view)
{
    if (cache->has_file)
        *view = cache->sources[0].view;
    return cache->has_file;
}

void td_cache_add(struct td_cache *cache, const struct td_answers_view *view)
{
    if (cache->source_count == SOURCES_MAX || view->place_count == 0)
        return;
    struct source *s = &cache->sources[cache->source_count];
    s->copy = td_xalloc(view->whole.size);
    memcpy(s->copy, view->whole.data, view->whole.size);
    const struct td_bytes bytes = {.data = s->copy, .size = view->whole.size};
    if (td_answers_open(&s->view, bytes, NULL) != TD_OK) {
        free(s->copy);
        return;
    }
    cache->source_count++;
    cache->dirty = true;
}

/* One place of one source. */
struct item {
    uint64_t offset;
    uint32_t source, place;
};

static int by_offset(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->source < y->source ? 1 : x->source > y->source ? -1 : 0; /* the newest first */
}

static struct item *list_items(const struct td_cache *cache, size_t *count)
{
    struct item *items = NULL;
    size_t cap = 0;

    *count = 0;
    for (uint32_t s = 0; s < cache->source_count; s++) {
        const struct td_answers_view *view = &cache->sources[s].view;

        items = td_grow(items, &cap, *count + view->place_count, sizeof(*items));
        for (uint32_t p = 0; p < view->place_count; p++)
            items[(*count)++] =
                (struct item){.offset = td_answers_view_offset(view, p), .source = s, .place = p};
    }
    if (items && cache->source_count > 1)
        qsort(items, *count, sizeof(*items), by_offset);
    return items;
}

static uint32_t copy_string(struct td_answers *to, struct source *from, uint32_t id)
{
    size_t len = 0;

    if (id >= from->view.string_count)
        return 0;
    if (from->strings[id] == TD_NONE) {
        const char *text = td_answers_view_string(&from->view, id, &len);

        from->strings[id] = td_intern_put(to->strings, text, len);
    }
    return from->strings[id];
}

static uint32_t copy_function(struct td_answers *to, struct source *from, uint32_t id)
{
    struct td_answer_function f;

    if (id >= from->view.function_count)
        return TD_NONE;
    if (from->functions[id] == TD_NONE) {
        td_answers_view_function(&from->view, id, &f);
        f.name = copy_string(to, from, f.name);
        f.linkage = copy_string(to, from, f.linkage);
        f.file = copy_string(to, from, f.file);
        from->functions[id] = td_answers_put_function(to, &f);
    }
    return from->functions[id];
}

static void copy_place(struct td_answers *to, struct source *from, uint32_t place_index)
{
    struct td_answer_place place;
    struct td_answer_frame frame;

    td_answers_view_place(&from->view, place_index, &place);
    for (uint32_t i = 0; i < place.frame_count; i++) {
        td_answers_view_frame(&from->view, place.frame_first + i, &frame);
        frame.function = copy_function(to, from, frame.function);
        frame.file = copy_string(to, from, frame.file);
        td_answers_frame(to, &frame);
    }
    td_answers_place(to, place.offset);
}

static uint32_t *none_array(size_t count)
{
    uint32_t *ids = td_xalloc(count * sizeof(*ids));

    memset(ids, 0xff, count * sizeof(*ids));
    return ids;
}

static void merge(struct td_cache *cache, struct td_answers *merged)
{
    struct source *newest = &cache->sources[cache->source_count - 1];
    size_t count = 0;
    struct item *items = list_items(cache, &count);

    for (size_t i = 0; i < cache->source_count; i++) {
        cache->sources[i].strings = none_array(cache->sources[i].view.string_count);
        cache->sources[i].functions = none_array(cache->sources[i].view.function_count);
    }
    merged->debug_file = copy_string(merged, newest, newest->view.debug_file);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || items[i].offset != items[i - 1].offset)
            copy_place(merged, &cache->sources[items[i].source], items[i].place);
    }
    for (size_t i = 0; i < cache->source_count; i++) {
        free(cache->sources[i].strings);
        free(cache->sources[i].functions);
    }
    free(items);
}

static void write_all(struct td_cache *cache)
{
    struct td_answers merged;
    struct td_buf buf = {0};

    td_answers_init(&merged);
    merge(cache, &merged);
    td_buf_u32(&buf, MAGIC);
    td_buf_u32(&buf, VERSION);
    td_buf_u32(&buf, 0);
    td_answers_encode(&merged, &buf);
    const uint32_t crc = htole32(td_crc32c(0, buf.data + HEAD_BYTES, buf.len - HEAD_BYTES));
    memcpy(buf.data + HEAD_BYTES - 4, &crc, 4);
    if (buf.len <= FILE_BYTES_MAX)
        (void)td_file_replace(cache->path, buf.data, buf.len, NULL);
    td_buf_release(&buf);
    td_answers_release(&merged);
}

void td_cache_close(struct td_cache *cache)
{
    if (!cache)
        return;
    if (cache->dirty)
        write_all(cache);
    for (size_t i = 0; i < cache->source_count; i++)
        free(cache->sources[i].copy);
    td_file_unmap(&cache->map);
    free(cache->path);
    free(cache);
}
