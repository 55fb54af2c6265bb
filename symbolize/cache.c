/* SPDX-License-Identifier: MIT */
#include "symbolize/cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "symbolize/debugfile.h"

/* Twelve bytes of head: a magic number, the version, the CRC-32C of the rest. */
#define MAGIC          0xd57dca5eu
#define VERSION        1
#define HEAD_BYTES     12
#define SOURCES_MAX    64
#define FILE_BYTES_MAX ((size_t)256 << 20)

struct source {
    struct td_answers_view view;
    uint8_t *copy; /* owned; NULL for the mapped file */
};

struct td_cache {
    char *path;
    struct td_file_map map;
    struct source sources[SOURCES_MAX]; /* the oldest first */
    size_t source_count;
    bool has_file, dirty;
};

char *td_cache_dir(const char *wanted)
{
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    struct stat st;
    char *dir = NULL;

    if (wanted)
        dir = wanted[0] != '\0' ? td_xstrdup(wanted) : NULL;
    else if (xdg && xdg[0] == '/')
        dir = td_xasprintf("%s/tdprof", xdg);
    else if (home && home[0] == '/')
        dir = td_xasprintf("%s/.cache/tdprof", home);
    if (dir && td_make_dirs(dir, NULL) == TD_OK && stat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
        st.st_uid == geteuid())
        return dir;
    free(dir);
    return NULL;
}

static void load(struct td_cache *cache)
{
    if (td_file_map(&cache->map, cache->path, NULL) != TD_OK)
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

struct td_cache *td_cache_open(const char *dir, const struct td_build_id *id)
{
    char hex[2 * TD_BUILD_ID_MAX + 1];

    if (id->size == 0)
        return NULL;
    struct td_cache *cache = td_xcalloc(1, sizeof(*cache));
    td_build_id_text(id, hex, sizeof(hex));
    cache->path = td_xasprintf("%s/%s.symbols", dir, hex);
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
    if (items)
        qsort(items, *count, sizeof(*items), by_offset);
    return items;
}

static uint32_t copy_string(struct td_answers *to, const struct td_answers_view *from, uint32_t id)
{
    size_t len = 0;
    const char *text = td_answers_view_string(from, id, &len);

    return td_intern_put(to->strings, text, len);
}

static void copy_place(struct td_answers *to, const struct td_answers_view *from,
                       uint32_t place_index)
{
    struct td_answer_place place;
    struct td_answer_frame frame;
    struct td_answer_function f;

    td_answers_view_place(from, place_index, &place);
    for (uint32_t i = 0; i < place.frame_count; i++) {
        td_answers_view_frame(from, place.frame_first + i, &frame);
        td_answers_view_function(from, frame.function, &f);
        f.name = copy_string(to, from, f.name);
        f.linkage = copy_string(to, from, f.linkage);
        f.file = copy_string(to, from, f.file);
        frame.function = td_answers_put_function(to, &f);
        frame.file = copy_string(to, from, frame.file);
        td_answers_frame(to, &frame);
    }
    td_answers_place(to, place.offset);
}

static void write_all(const struct td_cache *cache)
{
    struct td_answers merged;
    struct td_buf buf = {0}, body = {0};
    size_t count = 0;
    struct item *items = list_items(cache, &count);
    const struct td_answers_view *newest = &cache->sources[cache->source_count - 1].view;

    td_answers_init(&merged);
    merged.debug_file = copy_string(&merged, newest, newest->debug_file);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || items[i].offset != items[i - 1].offset)
            copy_place(&merged, &cache->sources[items[i].source].view, items[i].place);
    }
    td_answers_encode(&merged, &body);
    td_buf_u32(&buf, MAGIC);
    td_buf_u32(&buf, VERSION);
    td_buf_u32(&buf, td_crc32c(0, body.data, body.len));
    td_buf_bytes(&buf, body.data, body.len);
    if (buf.len <= FILE_BYTES_MAX)
        (void)td_file_replace(cache->path, buf.data, buf.len, NULL);
    td_buf_release(&buf);
    td_buf_release(&body);
    td_answers_release(&merged);
    free(items);
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
