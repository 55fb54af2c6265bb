/* SPDX-License-Identifier: MIT */
/* record/sim/share/live_image: what is written is read again; what is damaged is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/sim/share/live_image.h"

#define PAGE TD_LIVE_IMAGE_PAGE

static const uint8_t registers[216] = {1, 2, 3}, vector[2696] = {4, 5, 6}, calls[77] = {7, 8};

static struct td_live_thread a_thread(void)
{
    return (struct td_live_thread){.machine = EM_X86_64,
                                   .process = 12,
                                   .thread = 13,
                                   .number = 7,
                                   .cpu_ns = 100,
                                   .process_cpu_ns = 300,
                                   .stands_ns = 20000000,
                                   .time_ns = 200,
                                   .address = 0x401234,
                                   .thread_pointer = 0x7f1234,
                                   .heap_start = 0x500000,
                                   .heap_end = 0x521000,
                                   .signal_mask = 0x800,
                                   .registers = registers,
                                   .vector = vector,
                                   .registers_size = sizeof(registers),
                                   .vector_size = sizeof(vector)};
}

static void write_mappings(struct td_live_writer *writer)
{
    static const struct td_live_mapping text = {.start = 0x400000,
                                                .size = 4 * PAGE,
                                                .file_offset = PAGE,
                                                .content = TD_LIVE_FILE,
                                                .protection = 5,
                                                .name = "/bin/a b"};
    static const struct td_live_mapping changed = {.start = 0x401000,
                                                   .size = PAGE,
                                                   .file_offset = 2 * PAGE,
                                                   .content = TD_LIVE_DATA,
                                                   .protection = 5,
                                                   .flags = TD_LIVE_OVER,
                                                   .name = "/bin/a b"};
    static const struct td_live_mapping heap = {.start = 0x500000,
                                                .size = 33 * PAGE,
                                                .content = TD_LIVE_DATA,
                                                .protection = 3,
                                                .flags = TD_LIVE_HEAP,
                                                .name = "[heap]"};
    static const struct td_live_mapping guard = {.start = 0x7f000000, .size = PAGE, .name = ""};
    uint8_t page[PAGE];

    td_live_writer_mapping(writer, &text);
    td_live_writer_mapping(writer, &changed);
    memset(page, 0xaa, sizeof(page));
    assert_int_equal(td_live_writer_data(writer, 0, page, PAGE, NULL), TD_OK);
    td_live_writer_mapping(writer, &heap);
    memset(page, 0xbb, sizeof(page));
    assert_int_equal(td_live_writer_data(writer, 32 * PAGE, page, PAGE, NULL), TD_OK);
    td_live_writer_mapping(writer, &guard);
}

/* An image of every kind of thing, newly allocated. */
static uint8_t *compose(size_t *size)
{
    static const struct td_live_file input = {
        .descriptor = 3, .kind = TD_LIVE_READ, .offset = 77, .name = "/tmp/input"};
    static const struct td_live_file socket = {
        .descriptor = 9, .kind = TD_LIVE_OTHER, .flags = 2, .name = "socket:[5]"};
    const struct td_live_thread thread = a_thread();
    const int fd = memfd_create("image", MFD_CLOEXEC);
    struct td_live_writer *writer = td_live_writer_new(fd, 1 << 20);
    struct stat st;

    write_mappings(writer);
    td_live_writer_file(writer, &input);
    td_live_writer_file(writer, &socket);
    assert_int_equal(td_live_writer_bytes(writer), 2 * PAGE);
    assert_int_equal(td_live_writer_calls(writer, calls, sizeof(calls), NULL), TD_OK);
    assert_int_equal(td_live_writer_finish(writer, &thread, NULL), TD_OK);
    td_live_writer_free(writer);
    assert_int_equal(fstat(fd, &st), 0);
    *size = (size_t)st.st_size;
    uint8_t *data = td_xalloc(*size);
    assert_int_equal(pread(fd, data, *size, 0), *size);
    close(fd);
    return data;
}

static void test_round_trip(void **state)
{
    const struct td_live_thread wanted = a_thread();
    struct td_live_image image;
    size_t size;
    uint8_t *data = compose(&size);

    (void)state;
    assert_int_equal(td_live_image_read(&image, data, size, NULL), TD_OK);
    assert_int_equal(image.thread.process, wanted.process);
    assert_int_equal(image.thread.thread, wanted.thread);
    assert_int_equal(image.thread.number, wanted.number);
    assert_int_equal(image.thread.cpu_ns, wanted.cpu_ns);
    assert_int_equal(image.thread.process_cpu_ns, wanted.process_cpu_ns);
    assert_int_equal(image.thread.stands_ns, wanted.stands_ns);
    assert_int_equal(image.thread.time_ns, wanted.time_ns);
    assert_int_equal(image.thread.address, wanted.address);
    assert_int_equal(image.thread.thread_pointer, wanted.thread_pointer);
    assert_int_equal(image.thread.heap_end, wanted.heap_end);
    assert_int_equal(image.thread.signal_mask, wanted.signal_mask);
    assert_int_equal(image.thread.registers_size, sizeof(registers));
    assert_memory_equal(image.thread.registers, registers, sizeof(registers));
    assert_memory_equal(image.thread.vector, vector, sizeof(vector));
    assert_int_equal(image.mapping_count, 4);
    assert_string_equal(image.mappings[0].name, "/bin/a b");
    assert_int_equal(image.mappings[0].file_offset, PAGE);
    assert_int_equal(data[image.mappings[1].offset], 0xaa);
    assert_string_equal(image.mappings[1].name, "/bin/a b");
    assert_int_equal(data[image.mappings[2].offset], 0); /* a hole */
    assert_int_equal(data[image.mappings[2].offset + 33 * PAGE - 1], 0xbb);
    assert_int_equal(image.mappings[3].content, TD_LIVE_NOTHING);
    assert_int_equal(image.file_count, 2);
    assert_int_equal(image.files[0].offset, 77);
    assert_string_equal(image.files[1].name, "socket:[5]");
    assert_int_equal(image.files[1].kind, TD_LIVE_OTHER);
    assert_int_equal(image.calls_size, sizeof(calls));
    assert_memory_equal(image.calls, calls, sizeof(calls));
    td_live_image_release(&image);
    free(data);
}

/* The loader uses the tables as they lie in the file. */
static void test_layout(void **state)
{
    struct td_live_image_head head;
    struct td_live_mapping_layout mapping;
    struct td_live_file_layout file;
    size_t size;
    uint8_t *data = compose(&size);

    (void)state;
    memcpy(&head, data, sizeof(head));
    assert_int_equal(head.magic, TD_LIVE_IMAGE_MAGIC);
    assert_int_equal(head.tables % PAGE, 0);
    assert_int_equal(head.vector % 64, 0);
    assert_int_equal(head.registers % 16, 0);
    assert_int_equal(head.thread, 13);
    assert_int_equal(head.address, 0x401234);
    assert_int_equal(head.stands_ns, 20000000);
    assert_memory_equal(data + head.calls, calls, head.calls_size);
    memcpy(&mapping, data + head.tables + head.mappings + 2 * sizeof(mapping), sizeof(mapping));
    assert_int_equal(mapping.start, 0x500000);
    assert_int_equal(mapping.flags, TD_LIVE_HEAP);
    assert_string_equal((char *)data + head.tables + head.strings + mapping.name, "[heap]");
    memcpy(&file, data + head.tables + head.files, sizeof(file));
    assert_int_equal(file.descriptor, 3);
    assert_int_equal(file.offset, 77);
    free(data);
}

/* Every prefix is refused; a changed byte is refused or read without a step outside. */
static void test_damage(void **state)
{
    struct td_live_image image;
    size_t size, read = 0;
    uint8_t *data = compose(&size);
    struct td_live_image_head head;

    (void)state;
    memcpy(&head, data, sizeof(head));
    for (size_t n = 0; n < size; n += n < 200 || n > head.tables ? 1 : 997)
        assert_int_not_equal(td_live_image_read(&image, data, n, NULL), TD_OK);
    for (size_t at = 0; at < size; at++) {
        if (at == sizeof(head))
            at = head.tables;
        for (unsigned bit = 0; bit < 8; bit++) {
            data[at] ^= (uint8_t)(1u << bit);
            read += td_live_image_read(&image, data, size, NULL) == TD_OK;
            td_live_image_release(&image);
            data[at] ^= (uint8_t)(1u << bit);
        }
    }
    assert_true(read > 0); /* registers may hold anything */
    free(data);
}

static void test_refused(void **state)
{
    struct td_live_image image;
    struct td_err err = TD_ERR_INIT;
    size_t size;
    uint8_t *data = compose(&size);

    (void)state;
    data[8] = 1;
    assert_int_equal(td_live_image_read(&image, data, size, &err), TD_EVERSION);
    assert_non_null(strstr(err.text, "version 1"));
    data[8] = 2;
    data[0] ^= 1;
    assert_int_equal(td_live_image_read(&image, data, size, &err), TD_EFORMAT);
    assert_null(image.mappings);
    free(data);
}

static void test_limit(void **state)
{
    const int fd = memfd_create("image", MFD_CLOEXEC);
    struct td_live_writer *writer = td_live_writer_new(fd, PAGE);
    static const struct td_live_mapping heap = {
        .start = 0x500000, .size = 2 * PAGE, .content = TD_LIVE_DATA, .protection = 3, .name = ""};
    static const uint8_t page[PAGE];
    struct td_err err = TD_ERR_INIT;

    (void)state;
    td_live_writer_mapping(writer, &heap);
    assert_int_equal(td_live_writer_data(writer, 0, page, PAGE, &err), TD_OK);
    assert_int_equal(td_live_writer_data(writer, PAGE, page, PAGE, &err), TD_ELIMIT);
    td_live_writer_free(writer);
    close(fd);
}

static void test_full(void **state)
{
    const int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct td_live_writer *writer = td_live_writer_new(fd, 1 << 20);
    const struct td_live_thread thread = a_thread();
    struct td_err err = TD_ERR_INIT;

    (void)state;
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0); /* as a file system that is full */
    assert_int_equal(td_live_writer_finish(writer, &thread, &err), TD_EIO);
    assert_non_null(strstr(err.text, "image"));
    td_live_writer_free(writer);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_layout),
        cmocka_unit_test(test_damage),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_limit),      cmocka_unit_test(test_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
