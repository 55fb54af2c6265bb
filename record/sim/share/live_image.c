/* SPDX-License-Identifier: MIT */
#include "record/sim/share/live_image.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"

/* Written field by field below; the loader reads them as they are here. */
static_assert(sizeof(struct td_live_mapping_layout) == 48, "a mapping's bytes");
static_assert(sizeof(struct td_live_file_layout) == 24, "a file's bytes");
static_assert(sizeof(struct td_live_image_head) == 184, "the head's bytes");

#define PAGE_MASK    ((uint64_t)TD_LIVE_IMAGE_PAGE - 1)
#define ADDRESS_ENDS (UINT64_C(1) << 56) /* of any user's address space */

static bool is_page(uint64_t value)
{
    return (value & PAGE_MASK) == 0;
}

/* ---- reading ---- */

static void read_head(struct td_rd *rd, struct td_live_image_head *head)
{
    uint32_t *const words[] = {&head->registers,   &head->registers_size, &head->vector,
                               &head->vector_size, &head->mappings,       &head->mapping_count,
                               &head->files,       &head->file_count,     &head->strings,
                               &head->strings_size};
    uint64_t *const longs[] = {&head->number, &head->cpu_ns, &head->process_cpu_ns, &head->time_ns,
                               &head->address};

    head->magic = td_rd_u64(rd);
    head->version = td_rd_u32(rd);
    head->machine = td_rd_u32(rd);
    head->size = td_rd_u64(rd);
    head->tables = td_rd_u64(rd);
    head->tables_size = td_rd_u64(rd);
    head->calls = td_rd_u64(rd);
    head->calls_size = td_rd_u64(rd);
    for (size_t i = 0; i < TD_ARRAY_SIZE(words); i++)
        *words[i] = td_rd_u32(rd);
    head->thread_pointer = td_rd_u64(rd);
    head->heap_start = td_rd_u64(rd);
    head->heap_end = td_rd_u64(rd);
    head->signal_mask = td_rd_u64(rd);
    head->process = td_rd_u32(rd);
    head->thread = td_rd_u32(rd);
    for (size_t i = 0; i < TD_ARRAY_SIZE(longs); i++)
        *longs[i] = td_rd_u64(rd);
    head->stands_ns = td_rd_u64(rd);
}

static int check_head(const struct td_live_image_head *head, size_t size, struct td_err *err)
{
    if (head->magic != TD_LIVE_IMAGE_MAGIC)
        return td_fail_at(err, TD_EFORMAT, 0, "this is no image of a process");
    if (head->version != TD_LIVE_IMAGE_VERSION)
        return td_fail(err, TD_EVERSION, "the image has version %" PRIu32 ", this reads %d",
                       head->version, TD_LIVE_IMAGE_VERSION);
    if (head->size != size || head->tables > size || head->tables_size != size - head->tables ||
        !is_page(head->tables) || head->tables < TD_LIVE_IMAGE_PAGE)
        return td_fail_at(err, TD_EFORMAT, 16, "the image's sizes do not fit its %zu bytes", size);
    if (head->calls_size > 0 && (head->calls < TD_LIVE_IMAGE_PAGE || head->calls > head->tables ||
                                 head->calls_size > head->tables - head->calls))
        return td_fail_at(err, TD_EFORMAT, 40, "the image's system calls are not inside it");
    if (head->machine != EM_X86_64 && head->machine != EM_AARCH64)
        return td_fail_at(err, TD_EVERSION, 12, "the image is of machine %" PRIu32, head->machine);
    if (head->heap_start > head->heap_end)
        return td_fail_at(err, TD_EFORMAT, 104, "the image's heap ends before it begins");
    return TD_OK;
}

/* The tables of an image that is read. */
struct tables {
    const uint8_t *data;
    uint64_t size, offset; /* in the image */
    const char *strings;
    uint32_t strings_size;
    const struct td_live_image_head *head;
};

/* `count` items of `size` bytes at `at`, which is a multiple of `align`; NULL: they are not there.
 */
static const uint8_t *part(const struct tables *tables, uint32_t at, uint64_t count, size_t size,
                           uint32_t align, struct td_err *err)
{
    if (at % align == 0 && at <= tables->size && count <= (tables->size - at) / size)
        return tables->data + at;
    td_fail_at(err, TD_EFORMAT, tables->offset + at, "a table of the image is not inside it");
    return NULL;
}

static const char *string(const struct tables *tables, uint32_t at)
{
    return at < tables->strings_size ? tables->strings + at : NULL;
}

static bool mapping_fits(const struct td_live_mapping *m, const struct td_live_mapping *base,
                         const struct td_live_image_head *head)
{
    const bool over = m->flags & TD_LIVE_OVER;

    if (!is_page(m->start | m->size | m->offset | m->file_offset) || m->size == 0 ||
        m->start > ADDRESS_ENDS || m->size > ADDRESS_ENDS - m->start || m->protection > 7 ||
        m->flags > TD_LIVE_MAPPING_FLAGS || !m->name || (m->content == TD_LIVE_FILE && !*m->name))
        return false;
    if (m->content == TD_LIVE_DATA && (m->offset < TD_LIVE_IMAGE_PAGE || m->offset > head->tables ||
                                       m->size > head->tables - m->offset))
        return false;
    if (over)
        return base && m->start >= base->start && m->start - base->start <= base->size &&
               m->size <= base->size - (m->start - base->start);
    return true;
}

static int read_mappings(struct td_live_image *image, const struct tables *tables,
                         struct td_err *err)
{
    const uint32_t count = tables->head->mapping_count;
    const size_t size = sizeof(struct td_live_mapping_layout);
    const struct td_live_mapping *base = NULL;
    const uint8_t *data = part(tables, tables->head->mappings, count, size, 8, err);

    if (!data)
        return TD_EFORMAT;
    struct td_rd rd = td_rd_init(data, count * size, tables->offset + tables->head->mappings);
    image->mappings = td_try_alloc(count ? count : 1, sizeof(*image->mappings));
    if (!image->mappings)
        return td_fail(err, TD_ENOMEM, "no memory for the image's %" PRIu32 " mappings", count);
    for (uint32_t i = 0; i < count; i++) {
        struct td_live_mapping *m = &image->mappings[i];

        m->start = td_rd_u64(&rd);
        m->size = td_rd_u64(&rd);
        m->offset = td_rd_u64(&rd);
        m->file_offset = td_rd_u64(&rd);
        const uint32_t content = td_rd_u32(&rd);
        m->protection = td_rd_u32(&rd);
        m->flags = td_rd_u32(&rd);
        m->name = string(tables, td_rd_u32(&rd));
        m->content = content < TD_LIVE_CONTENT_COUNT ? (enum td_live_content)content : 0;
        if (content >= TD_LIVE_CONTENT_COUNT || !mapping_fits(m, base, tables->head))
            return td_fail_at(err, TD_EFORMAT, td_rd_offset(&rd) - size,
                              "mapping %" PRIu32 " of the image makes no sense", i);
        if (!(m->flags & TD_LIVE_OVER))
            base = m;
    }
    image->mapping_count = count;
    return TD_OK;
}

static int read_files(struct td_live_image *image, const struct tables *tables, struct td_err *err)
{
    const uint32_t count = tables->head->file_count;
    const size_t size = sizeof(struct td_live_file_layout);
    const uint8_t *data = part(tables, tables->head->files, count, size, 8, err);

    if (!data)
        return TD_EFORMAT;
    struct td_rd rd = td_rd_init(data, count * size, tables->offset + tables->head->files);
    image->files = td_try_alloc(count ? count : 1, sizeof(*image->files));
    if (!image->files)
        return td_fail(err, TD_ENOMEM, "no memory for the image's %" PRIu32 " files", count);
    for (uint32_t i = 0; i < count; i++) {
        struct td_live_file *file = &image->files[i];

        file->descriptor = td_rd_u32(&rd);
        const uint32_t kind = td_rd_u32(&rd);
        file->kind = kind < TD_LIVE_DESCRIPTOR_COUNT ? (enum td_live_descriptor)kind : 0;
        file->flags = td_rd_u32(&rd);
        file->name = string(tables, td_rd_u32(&rd));
        file->offset = td_rd_u64(&rd);
        if (kind >= TD_LIVE_DESCRIPTOR_COUNT || !file->name || file->descriptor > INT32_MAX ||
            file->offset > INT64_MAX)
            return td_fail_at(err, TD_EFORMAT, td_rd_offset(&rd) - size,
                              "file %" PRIu32 " of the image makes no sense", i);
    }
    image->file_count = count;
    return TD_OK;
}

static void fill_thread(struct td_live_thread *thread, const struct td_live_image_head *head)
{
    *thread = (struct td_live_thread){
        .machine = head->machine,
        .process = head->process,
        .thread = head->thread,
        .number = head->number,
        .cpu_ns = head->cpu_ns,
        .process_cpu_ns = head->process_cpu_ns,
        .time_ns = head->time_ns,
        .address = head->address,
        .thread_pointer = head->thread_pointer,
        .heap_start = head->heap_start,
        .heap_end = head->heap_end,
        .signal_mask = head->signal_mask,
        .stands_ns = head->stands_ns,
        .registers_size = head->registers_size,
        .vector_size = head->vector_size,
    };
}

static int read_tables(struct td_live_image *image, struct tables *tables, struct td_err *err)
{
    const struct td_live_image_head *head = tables->head;
    struct td_live_thread *thread = &image->thread;
    int code;

    fill_thread(thread, head);
    thread->registers = part(tables, head->registers, head->registers_size, 1, 16, err);
    if (thread->registers)
        thread->vector = part(tables, head->vector, head->vector_size, 1, 64, err);
    if (thread->vector)
        tables->strings = (const char *)part(tables, head->strings, head->strings_size, 1, 1, err);
    if (!tables->strings)
        return TD_EFORMAT;
    tables->strings_size = head->strings_size;
    if (head->strings_size == 0 || tables->strings[0] ||
        tables->strings[head->strings_size - 1] != '\0')
        return td_fail_at(err, TD_EFORMAT, tables->offset + head->strings,
                          "the image's strings do not begin and end with a zero");
    code = read_mappings(image, tables, err);
    return code == TD_OK ? read_files(image, tables, err) : code;
}

int td_live_image_read(struct td_live_image *ret, const void *data, size_t size, struct td_err *err)
{
    struct td_rd rd = td_rd_init(data, size, 0);
    struct td_live_image_head head = {0};
    int code;

    *ret = (struct td_live_image){0};
    read_head(&rd, &head);
    if (!td_rd_ok(&rd))
        return td_fail_at(err, TD_EFORMAT, size, "the image ends inside its head");
    code = check_head(&head, size, err);
    if (code != TD_OK)
        return code;
    struct tables tables = {.data = (const uint8_t *)data + head.tables,
                            .size = head.tables_size,
                            .offset = head.tables,
                            .head = &head};
    code = read_tables(ret, &tables, err);
    if (code != TD_OK)
        td_live_image_release(ret);
    if (code == TD_OK && head.calls_size > 0) {
        ret->calls = (const uint8_t *)data + head.calls;
        ret->calls_size = head.calls_size;
    }
    return code;
}

void td_live_image_release(struct td_live_image *image)
{
    free(image->mappings);
    free(image->files);
    *image = (struct td_live_image){0};
}

/* ---- writing ---- */

struct td_live_writer {
    int fd;
    uint64_t end;             /* where the next mapping's contents go */
    uint64_t bytes, limit;    /* of contents */
    uint64_t last, last_size; /* contents of the last mapping, in the file; 0: it has none */
    struct td_buf mappings, files, strings;
    uint32_t mapping_count, file_count;
    uint32_t last_string; /* several mappings in turn have one name */
    uint64_t calls, calls_size;
};

struct td_live_writer *td_live_writer_new(int fd, uint64_t limit_bytes)
{
    struct td_live_writer *writer = td_xcalloc(1, sizeof(*writer));

    writer->fd = fd;
    writer->end = TD_LIVE_IMAGE_PAGE;
    writer->limit = limit_bytes;
    td_buf_u8(&writer->strings, 0);
    return writer;
}

static uint32_t add_string(struct td_live_writer *writer, const char *text)
{
    const char *last = (const char *)writer->strings.data + writer->last_string;

    if (!*text)
        return 0;
    if (strcmp(last, text) != 0) {
        writer->last_string = (uint32_t)writer->strings.len;
        td_buf_bytes(&writer->strings, text, strlen(text) + 1);
    }
    return writer->last_string;
}

void td_live_writer_mapping(struct td_live_writer *writer, const struct td_live_mapping *mapping)
{
    struct td_buf *buf = &writer->mappings;
    const bool data = mapping->content == TD_LIVE_DATA;

    writer->last = data ? writer->end : 0;
    writer->last_size = data ? mapping->size : 0;
    writer->end += writer->last_size;
    writer->mapping_count++;
    td_buf_u64(buf, mapping->start);
    td_buf_u64(buf, mapping->size);
    td_buf_u64(buf, writer->last);
    td_buf_u64(buf, mapping->file_offset);
    td_buf_u32(buf, mapping->content);
    td_buf_u32(buf, mapping->protection);
    td_buf_u32(buf, mapping->flags);
    td_buf_u32(buf, add_string(writer, mapping->name));
}

static int write_at(int fd, uint64_t at, const void *data, size_t size, struct td_err *err)
{
    const uint8_t *bytes = data;

    while (size > 0) {
        const ssize_t n = pwrite(fd, bytes, size, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return td_fail_errno(err, TD_EIO, n < 0 ? errno : ENOSPC,
                                 "cannot write an image of the process");
        bytes += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return TD_OK;
}

int td_live_writer_data(struct td_live_writer *writer, uint64_t at, const void *data, size_t size,
                        struct td_err *err)
{
    assert(at <= writer->last_size && size <= writer->last_size - at);
    if (size > writer->limit - writer->bytes)
        return td_fail(err, TD_ELIMIT,
                       "an image of the process would take more than %" PRIu64 " MB",
                       writer->limit >> 20);
    writer->bytes += size;
    return write_at(writer->fd, writer->last + at, data, size, err);
}

int td_live_writer_calls(struct td_live_writer *writer, const void *data, size_t size,
                         struct td_err *err)
{
    writer->calls = writer->end;
    writer->calls_size = size;
    writer->end += (size + PAGE_MASK) & ~PAGE_MASK;
    return write_at(writer->fd, writer->calls, data, size, err);
}

void td_live_writer_file(struct td_live_writer *writer, const struct td_live_file *file)
{
    struct td_buf *buf = &writer->files;

    writer->file_count++;
    td_buf_u32(buf, file->descriptor);
    td_buf_u32(buf, file->kind);
    td_buf_u32(buf, file->flags);
    td_buf_u32(buf, add_string(writer, file->name));
    td_buf_u64(buf, file->offset);
}

uint64_t td_live_writer_bytes(const struct td_live_writer *writer)
{
    return writer->bytes;
}

/* Appends to the tables, aligned; returns where it is. */
static uint32_t add_part(struct td_buf *tables, const void *data, size_t size, size_t align)
{
    while (tables->len % align != 0)
        td_buf_u8(tables, 0);
    const uint32_t at = (uint32_t)tables->len;
    td_buf_bytes(tables, data, size);
    return at;
}

static void put_head(struct td_buf *buf, const struct td_live_image_head *head)
{
    const uint32_t words[] = {head->registers,   head->registers_size, head->vector,
                              head->vector_size, head->mappings,       head->mapping_count,
                              head->files,       head->file_count,     head->strings,
                              head->strings_size};
    const uint64_t longs[] = {head->thread_pointer, head->heap_start, head->heap_end,
                              head->signal_mask};
    const uint64_t times[] = {head->number, head->cpu_ns, head->process_cpu_ns, head->time_ns,
                              head->address};

    td_buf_u64(buf, head->magic);
    td_buf_u32(buf, head->version);
    td_buf_u32(buf, head->machine);
    td_buf_u64(buf, head->size);
    td_buf_u64(buf, head->tables);
    td_buf_u64(buf, head->tables_size);
    td_buf_u64(buf, head->calls);
    td_buf_u64(buf, head->calls_size);
    for (size_t i = 0; i < TD_ARRAY_SIZE(words); i++)
        td_buf_u32(buf, words[i]);
    for (size_t i = 0; i < TD_ARRAY_SIZE(longs); i++)
        td_buf_u64(buf, longs[i]);
    td_buf_u32(buf, head->process);
    td_buf_u32(buf, head->thread);
    for (size_t i = 0; i < TD_ARRAY_SIZE(times); i++)
        td_buf_u64(buf, times[i]);
    td_buf_u64(buf, head->stands_ns);
}

int td_live_writer_finish(struct td_live_writer *writer, const struct td_live_thread *thread,
                          struct td_err *err)
{
    struct td_buf tables = {0}, bytes = {0};
    struct td_live_image_head head = {
        .magic = TD_LIVE_IMAGE_MAGIC,
        .version = TD_LIVE_IMAGE_VERSION,
        .machine = thread->machine,
        .tables = writer->end,
        .calls = writer->calls,
        .calls_size = writer->calls_size,
        .registers_size = (uint32_t)thread->registers_size,
        .vector_size = (uint32_t)thread->vector_size,
        .mapping_count = writer->mapping_count,
        .file_count = writer->file_count,
        .strings_size = (uint32_t)writer->strings.len,
        .thread_pointer = thread->thread_pointer,
        .heap_start = thread->heap_start,
        .heap_end = thread->heap_end,
        .signal_mask = thread->signal_mask,
        .process = thread->process,
        .thread = thread->thread,
        .number = thread->number,
        .cpu_ns = thread->cpu_ns,
        .process_cpu_ns = thread->process_cpu_ns,
        .time_ns = thread->time_ns,
        .address = thread->address,
        .stands_ns = thread->stands_ns,
    };

    head.vector = add_part(&tables, thread->vector, thread->vector_size, 64);
    head.registers = add_part(&tables, thread->registers, thread->registers_size, 16);
    head.mappings = add_part(&tables, writer->mappings.data, writer->mappings.len, 8);
    head.files = add_part(&tables, writer->files.data, writer->files.len, 8);
    head.strings = add_part(&tables, writer->strings.data, writer->strings.len, 1);
    head.tables_size = tables.len;
    head.size = head.tables + head.tables_size;
    put_head(&bytes, &head);
    assert(bytes.len == sizeof(head));
    int code = write_at(writer->fd, head.tables, tables.data, tables.len, err);
    if (code == TD_OK) /* last: a file without a head is no image */
        code = write_at(writer->fd, 0, bytes.data, bytes.len, err);
    td_buf_release(&tables);
    td_buf_release(&bytes);
    return code;
}

void td_live_writer_free(struct td_live_writer *writer)
{
    if (!writer)
        return;
    td_buf_release(&writer->mappings);
    td_buf_release(&writer->files);
    td_buf_release(&writer->strings);
    free(writer);
}
