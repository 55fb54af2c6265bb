/* SPDX-License-Identifier: MIT */
#include "symbolize/data.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/text.h"
#include "symbolize/debugfile.h"
#include "symbolize/elf/elf.h"

#define PAGE_BYTES 4096
#define NAMES_MAX  4 /* of one stretch */
#define FOUND_MAX  64

struct datum {
    uint64_t start, end; /* from where the file begins in memory */
    char *name;
};

struct td_data {
    struct datum *at; /* by start */
    size_t len, cap;
    uint64_t base, end; /* the addresses where the file begins in memory, and ends */
};

static void add_symbol(void *ctx, const struct td_elf_symbol *symbol)
{
    struct td_data *data = ctx;

    if (symbol->type != STT_OBJECT || symbol->size == 0 || symbol->value < data->base ||
        symbol->section == SHN_ABS)
        return;
    data->at = td_grow(data->at, &data->cap, data->len + 1, sizeof(*data->at));
    data->at[data->len++] = (struct datum){.start = symbol->value - data->base,
                                           .end = symbol->value - data->base + symbol->size,
                                           .name = td_xstrdup(symbol->name)};
}

static int by_start(const void *a, const void *b)
{
    const struct datum *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void find_extent(struct td_data *data, const struct td_elf *elf)
{
    data->base = UINT64_MAX;
    for (size_t i = 0; i < td_elf_segment_count(elf); i++) {
        const struct td_elf_segment *segment = td_elf_segment_at(elf, i);
        const uint64_t start = segment->vaddr / PAGE_BYTES * PAGE_BYTES;
        const uint64_t end = segment->vaddr + segment->mem_size;

        data->base = start < data->base ? start : data->base;
        data->end = end > data->end ? end : data->end;
    }
}

static struct td_data *read_data(struct td_elf *elf)
{
    static const char *const tables[] = {".symtab", ".dynsym"};
    struct td_data *data = td_xcalloc(1, sizeof(*data));

    find_extent(data, elf);
    for (size_t i = 0; i < TD_ARRAY_SIZE(tables) && data->len == 0; i++) {
        const struct td_elf_section *table = td_elf_section(elf, tables[i]);

        if (table)
            td_elf_symbols(elf, table, add_symbol, data);
    }
    if (data->len > 0)
        qsort(data->at, data->len, sizeof(*data->at), by_start);
    return data;
}

struct td_data *td_data_open(const char *path, const struct td_build_id *id)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct td_err err = TD_ERR_INIT;
    struct td_elf *elf = NULL;
    struct td_data *data = NULL;

    if (fd < 0)
        return NULL;
    if (td_elf_open_fd(&elf, path, fd, &err) == TD_OK &&
        td_object_check(elf, id, NULL, &err) == TD_OK)
        data = read_data(elf);
    td_elf_free(elf);
    close(fd);
    return data;
}

void td_data_free(struct td_data *data)
{
    if (!data)
        return;
    for (size_t i = 0; i < data->len; i++)
        free(data->at[i].name);
    free(data->at);
    free(data);
}

uint64_t td_data_extent(const struct td_data *data)
{
    return data->end > data->base ? data->end - data->base : 0;
}

static void add_name(struct td_buf *text, const struct datum *datum, uint64_t offset)
{
    char into[32];

    if (text->len > 0)
        td_buf_bytes(text, ", ", 2);
    td_buf_bytes(text, datum->name, strlen(datum->name));
    if (offset > datum->start) {
        snprintf(into, sizeof(into), "+%" PRIu64, offset - datum->start);
        td_buf_bytes(text, into, strlen(into));
    }
}

/* What lies in a stretch, and how much of it. */
struct found {
    const struct datum *datum;
    uint64_t bytes;
};

/* What fills more of the stretch is rather what is meant: a flag of the C library's start may lie
 * before the program's data. */
static int largest_first(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return by_start(x->datum, y->datum);
}

/* Of several names for the same the first stands. */
static size_t find_data(const struct td_data *data, uint64_t offset, uint64_t size,
                        struct found found[FOUND_MAX])
{
    const uint64_t end = offset + size;
    size_t count = 0;

    for (size_t i = 0; i < data->len && data->at[i].start < end && count < FOUND_MAX; i++) {
        const struct datum *datum = &data->at[i];
        const uint64_t from = datum->start > offset ? datum->start : offset;

        if (datum->end > offset && (count == 0 || found[count - 1].datum->start != datum->start))
            found[count++] = (struct found){.datum = datum,
                                            .bytes = (datum->end < end ? datum->end : end) - from};
    }
    return count;
}

char *td_data_text(const struct td_data *data, uint64_t offset, uint64_t size)
{
    struct td_buf text = {0};
    struct found found[FOUND_MAX];
    const size_t count = find_data(data, offset, size, found);

    if (count > 0)
        qsort(found, count, sizeof(*found), largest_first);
    for (size_t i = 0; i < count && i < NAMES_MAX; i++)
        add_name(&text, found[i].datum, offset);
    if (count > NAMES_MAX)
        td_buf_bytes(&text, ", ...", 5);
    if (text.len == 0)
        return NULL;
    td_buf_u8(&text, 0);
    return (char *)text.data;
}
