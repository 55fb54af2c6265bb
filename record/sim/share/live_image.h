/* SPDX-License-Identifier: MIT */
/*
 * An image: the frozen state of one thread of a process and the memory it saw, as a file. Written
 * from a stopped clone (record/live), read by tdrec, the loader and the emulator's plugin.
 * live_image_layout.h has the bytes; this reads them with checks, and writes them.
 */
#ifndef TD_RECORD_SIM_SHARE_LIVE_IMAGE_H
#define TD_RECORD_SIM_SHARE_LIVE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/sim/share/live_image_layout.h"

struct td_live_mapping {
    uint64_t start, size, offset, file_offset;
    enum td_live_content content;
    uint32_t protection, flags;
    const char *name; /* never NULL */
};

struct td_live_file {
    uint32_t descriptor, flags;
    enum td_live_descriptor kind;
    uint64_t offset;
    const char *name; /* never NULL */
};

/* What was stopped. Registers and vector state are as the kernel's PTRACE_GETREGSET gives them. */
struct td_live_thread {
    uint32_t machine; /* e_machine */
    uint32_t process, thread;
    uint64_t number, cpu_ns, process_cpu_ns, time_ns, address;
    uint64_t thread_pointer, heap_start, heap_end, signal_mask;
    uint64_t stands_ns; /* CPU time of the recording that it stands for; 0: said later */
    const void *registers, *vector;
    size_t registers_size, vector_size;
};

struct td_live_image {
    struct td_live_thread thread;
    struct td_live_mapping *mappings; /* in the order in which a loader maps them */
    size_t mapping_count;
    struct td_live_file *files;
    size_t file_count;
    const uint8_t *calls; /* that followed (live_calls.h); their bytes were not looked at */
    size_t calls_size;
};

/* Reads an image. What it holds points into `data`, which must stay; td_live_image_release frees
 * the rest. TD_EFORMAT with the place, TD_EVERSION; *ret is empty then. */
int td_live_image_read(struct td_live_image *ret, const void *data, size_t size,
                       struct td_err *err);
void td_live_image_release(struct td_live_image *image);

/* Writes an image into the empty file `fd`, which stays the caller's. `limit_bytes`: of contents;
 * beyond it td_live_writer_data fails with TD_ELIMIT. A full file system is TD_EIO. */
struct td_live_writer;
struct td_live_writer *td_live_writer_new(int fd, uint64_t limit_bytes);
/* Adds a mapping. Of DATA, `offset` is chosen here, and its content is zeros until it is written
 * by td_live_writer_data. */
void td_live_writer_mapping(struct td_live_writer *writer, const struct td_live_mapping *mapping);
/* Contents of the last mapping, which is DATA, from `at` bytes behind its start on. */
int td_live_writer_data(struct td_live_writer *writer, uint64_t at, const void *data, size_t size,
                        struct td_err *err);
void td_live_writer_file(struct td_live_writer *writer, const struct td_live_file *file);
/* The thread's next system calls (live_calls.h), after all mappings. TD_EIO. */
int td_live_writer_calls(struct td_live_writer *writer, const void *data, size_t size,
                         struct td_err *err);
/* Bytes of contents so far. */
uint64_t td_live_writer_bytes(const struct td_live_writer *writer);
/* Writes the tables and the head. Without it the file is no image. TD_EIO. */
int td_live_writer_finish(struct td_live_writer *writer, const struct td_live_thread *thread,
                          struct td_err *err);
void td_live_writer_free(struct td_live_writer *writer); /* NULL is allowed */

#endif
