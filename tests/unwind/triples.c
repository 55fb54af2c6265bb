/* SPDX-License-Identifier: MIT */
/* Reads stored samples and keeps the address spaces that they were taken in. */
#include "tests/unwind/triples.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/file.h"
#include "base/mem.h"

int triples_open(struct triples *t, const char *path, struct td_err *err)
{
    const int rc = td_file_read(path, SIZE_MAX / 2, &t->file, err);

    if (rc < 0)
        return rc;
    triples_rewind(t);
    if (td_rd_u64(&t->rd) != TRIPLES_MAGIC)
        return td_fail(err, TD_EFORMAT, "%s holds no stored samples", path);
    return TD_OK;
}

static void drop_spaces(struct triples *t)
{
    for (size_t i = 0; i < t->space_count; i++)
        free(t->spaces[i].maps);
    t->space_count = 0;
}

void triples_rewind(struct triples *t)
{
    drop_spaces(t);
    t->rd = td_rd_init(t->file.data, t->file.len, 0);
    if (t->file.len >= 8)
        t->rd.pos = t->next_id ? 8 : 0;
    t->next_id++;
}

void triples_release(struct triples *t)
{
    drop_spaces(t);
    for (size_t i = 0; i < t->table_count; i++) {
        td_unwind_table_free(t->tables[i].table);
        free(t->tables[i].path);
    }
    free(t->tables);
    free(t->spaces);
    td_buf_release(&t->file);
    memset(t, 0, sizeof(*t));
}

struct td_bytes triples_vdso(void)
{
    const uint8_t *data = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    Elf64_Ehdr header;

    if (!data)
        return (struct td_bytes){.size = 0};
    memcpy(&header, data, sizeof(header)); /* section headers come last */
    return (struct td_bytes){
        .data = data, .size = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize};
}

static struct td_unwind_table *open_table(const struct triples *t, const char *path)
{
    struct td_unwind_table *table = NULL;
    char *moved = NULL;

    if (strcmp(path, "[vdso]") == 0) {
        const struct td_bytes image = triples_vdso();
        if (image.data)
            td_unwind_table_new(&table, image, NULL);
        return table;
    }
    if (t->table_dir) {
        const char *slash = strrchr(path, '/');
        moved = td_xasprintf("%s/%s", t->table_dir, slash ? slash + 1 : path);
        path = moved;
    }
    if (path[0] == '/')
        td_unwind_table_open(&table, path, NULL);
    free(moved);
    return table;
}

static struct triple_table *find_table(struct triples *t, const char *path, size_t len)
{
    for (size_t i = 0; i < t->table_count; i++) {
        if (strlen(t->tables[i].path) == len && memcmp(t->tables[i].path, path, len) == 0)
            return &t->tables[i];
    }
    t->tables = td_grow(t->tables, &t->table_cap, t->table_count + 1, sizeof(*t->tables));
    struct triple_table *entry = &t->tables[t->table_count++];
    entry->path = td_xstrndup(path, len);
    entry->table = open_table(t, entry->path);
    return entry;
}

static struct triple_space *find_space(struct triples *t, uint32_t pid)
{
    for (size_t i = 0; i < t->space_count; i++) {
        if (t->spaces[i].pid == pid)
            return &t->spaces[i];
    }
    t->spaces = td_grow(t->spaces, &t->space_cap, t->space_count + 1, sizeof(*t->spaces));
    t->spaces[t->space_count] = (struct triple_space){.pid = pid, .id = t->next_id++};
    return &t->spaces[t->space_count++];
}

/* Removes [begin, end) from the mappings, cutting those that stick out. */
static void unmap(struct triple_space *s, uint64_t begin, uint64_t end)
{
    const size_t count = s->count;
    size_t kept = 0;
    struct triple_map *old = td_xcalloc(count + 1, sizeof(*old));

    memcpy(old, s->maps ? s->maps : old, count * sizeof(*old));
    s->maps = td_grow(s->maps, &s->cap, 2 * count + 2, sizeof(*s->maps));
    for (size_t i = 0; i < count; i++) {
        struct triple_map map = old[i];
        if (map.end <= begin || map.begin >= end) {
            s->maps[kept++] = map;
            continue;
        }
        if (map.begin < begin) {
            s->maps[kept] = map;
            s->maps[kept++].end = begin;
        }
        if (map.end > end) {
            s->maps[kept] = map;
            s->maps[kept++].begin = end;
        }
    }
    s->count = kept;
    free(old);
}

static void take_map(struct triples *t)
{
    struct triple_space *space = find_space(t, (uint32_t)td_rd_uleb(&t->rd));
    const uint64_t begin = td_rd_uleb(&t->rd);
    const uint64_t end = begin + td_rd_uleb(&t->rd);
    const uint64_t offset = td_rd_uleb(&t->rd);
    uint64_t address = offset;
    size_t len;
    const char *path = td_rd_string(&t->rd, &len);

    if (!path || end < begin)
        return;
    const struct triple_table *entry = find_table(t, path, len);
    if (entry->table && !td_unwind_table_address(entry->table, offset, &address))
        address = offset;
    unmap(space, begin, end);
    space->maps[space->count++] =
        (struct triple_map){begin, end, begin - address, entry->table, entry->path};
    space->id = t->next_id++;
}

static void take_fork(struct triples *t)
{
    const uint32_t pid = (uint32_t)td_rd_uleb(&t->rd);
    const uint32_t parent = (uint32_t)td_rd_uleb(&t->rd);

    if (pid == parent)
        return;
    find_space(t, parent); /* both exist before either is pointed to */
    struct triple_space *child = find_space(t, pid);
    const struct triple_space *from = find_space(t, parent);
    child->maps = td_grow(child->maps, &child->cap, from->count + 1, sizeof(*child->maps));
    if (from->count)
        memcpy(child->maps, from->maps, from->count * sizeof(*from->maps));
    child->count = from->count;
    child->id = t->next_id++;
}

static void take_sample(struct triples *t, struct td_unwind_sample *sample,
                        struct triple_space **space)
{
    *space = find_space(t, (uint32_t)td_rd_uleb(&t->rd));
    memset(sample, 0, sizeof(*sample));
    for (unsigned i = 0; i <= TD_CFI_X86_RA; i++)
        sample->regs[i] = td_rd_u64(&t->rd);
    sample->known = (UINT64_C(1) << (TD_CFI_X86_RA + 1)) - 1;
    sample->stack = (const uint8_t *)td_rd_string(&t->rd, &sample->stack_bytes);
    sample->space = (*space)->id;
    sample->find = triples_find;
    sample->ctx = *space;
}

int triples_next(struct triples *t, struct td_unwind_sample *sample, struct triple_space **space,
                 struct td_err *err)
{
    while (td_rd_left(&t->rd) > 0) {
        const uint8_t kind = td_rd_u8(&t->rd);

        switch (kind) {
        case TRIPLE_MAP: take_map(t); break;
        case TRIPLE_FORK: take_fork(t); break;
        case TRIPLE_EXEC: find_space(t, (uint32_t)td_rd_uleb(&t->rd))->count = 0; break;
        case TRIPLE_SAMPLE: take_sample(t, sample, space); break;
        default: td_rd_fail(&t->rd); break;
        }
        if (!td_rd_ok(&t->rd))
            return td_fail_at(err, TD_EFORMAT, td_rd_offset(&t->rd), "damaged stored samples");
        if (kind == TRIPLE_SAMPLE)
            return 1;
    }
    return 0;
}

const struct triple_map *triples_map(const struct triple_space *space, uint64_t address)
{
    for (size_t i = 0; i < space->count; i++) {
        if (address >= space->maps[i].begin && address < space->maps[i].end)
            return &space->maps[i];
    }
    return NULL;
}

bool triples_find(void *ctx, uint64_t address, struct td_unwind_place *place)
{
    const struct triple_map *map = triples_map(ctx, address);

    if (!map)
        return false;
    *place = (struct td_unwind_place){map->begin, map->end, map->bias, map->table};
    return true;
}
