/* SPDX-License-Identifier: MIT */
/*
 * The bytes of an image file: a thread that was stopped in the middle of its work, with the memory
 * it saw. Little-endian, aligned, so that the loader, which has no C library, uses it where it is
 * mapped. Everybody else reads it by record/sim/share/live_image.h, which checks it.
 *
 * The first page is the head. Contents of memory follow, page by page, with holes for pages of
 * zeros, and the thread's next system calls; then, at `tables`, on a page's boundary, what the head
 * points to: registers, mappings, files, strings.
 */
#ifndef TD_RECORD_SIM_SHARE_LIVE_IMAGE_LAYOUT_H
#define TD_RECORD_SIM_SHARE_LIVE_IMAGE_LAYOUT_H

#include <stdint.h>

#define TD_LIVE_IMAGE_MAGIC   UINT64_C(0x8a656d6976656c74) /* "tlevime", then no ASCII */
#define TD_LIVE_IMAGE_VERSION 2
#define TD_LIVE_IMAGE_PAGE    4096

/* Where a mapping's content is. In the order of the table a later mapping lies over an earlier. */
enum td_live_content {
    TD_LIVE_NOTHING, /* zeros, or no access at all */
    TD_LIVE_FILE,    /* the file `name` from `file_offset` on; always private */
    TD_LIVE_DATA,    /* this image file from `offset` on; a page in a hole of it is zeros */
    TD_LIVE_CONTENT_COUNT,
};

enum {                       /* flags of a mapping */
       TD_LIVE_HEAP = 1,     /* brk moves its end */
       TD_LIVE_STACK = 2,    /* the thread's first stack: grows down */
       TD_LIVE_OVER = 4,     /* all of it lies over the mapping before that has not this flag */
       TD_LIVE_VDSO = 8,     /* the kernel's code in the process; its data (vvar) is not here */
       TD_LIVE_SHARED = 16,  /* it was shared memory: others wrote it too */
       TD_LIVE_DELETED = 32, /* DATA of a file that has no name any more, or is not that file */
       TD_LIVE_MAPPING_FLAGS = 63,
};

/* Protections are those of mmap: 1 read, 2 write, 4 execute. */
struct td_live_mapping_layout {
    uint64_t start, size; /* multiples of the page */
    uint64_t offset;      /* in the image; of DATA */
    uint64_t file_offset; /* of FILE, and of DATA that is a changed part of a file */
    uint32_t content;     /* enum td_live_content */
    uint32_t protection;
    uint32_t flags;
    uint32_t name; /* in strings: path, "[heap]"..., or 0: none */
};

enum td_live_descriptor {
    TD_LIVE_READ,  /* a regular file that the program may read: opened read-only at `offset` */
    TD_LIVE_SINK,  /* may only be written: what is written is lost */
    TD_LIVE_OTHER, /* pipe, socket, terminal, device: a call that uses it ends a window */
    TD_LIVE_DESCRIPTOR_COUNT,
};

struct td_live_file_layout {
    uint32_t descriptor;
    uint32_t kind;  /* enum td_live_descriptor */
    uint32_t flags; /* as open(2)'s: access mode, O_APPEND, O_CLOEXEC... of the program's machine */
    uint32_t name;  /* in strings: the path, or the kernel's "socket:[123]" */
    uint64_t offset; /* where it stands */
};

struct td_live_image_head {
    uint64_t magic;
    uint32_t version;
    uint32_t machine;             /* e_machine of the program */
    uint64_t size;                /* of the image file */
    uint64_t tables, tables_size; /* in the file; `tables` is a multiple of the page */
    uint64_t calls, calls_size; /* in the file: what was asked of the kernel then (live_calls.h) */

    /* Below: offsets from `tables`. */
    uint32_t registers, registers_size; /* NT_PRSTATUS as PTRACE_GETREGSET gives it; 16-aligned */
    uint32_t vector, vector_size;       /* NT_X86_XSTATE or NT_PRFPREG, the same way; 64-aligned */
    uint32_t mappings, mapping_count;   /* struct td_live_mapping_layout; 8-aligned */
    uint32_t files, file_count;         /* struct td_live_file_layout; 8-aligned */
    uint32_t strings, strings_size;     /* terminated each; the first is "" */

    uint64_t thread_pointer;       /* fs base; TPIDR_EL0 */
    uint64_t heap_start, heap_end; /* the kernel's start of brk and its end now; 0, 0: unknown */
    uint64_t signal_mask;          /* of the thread */
    uint32_t process, thread;      /* ids, as the recorder sees them */
    uint64_t number;               /* of the image in the recording, from 0 on */
    uint64_t cpu_ns;               /* CPU time of the thread when it was stopped */
    uint64_t process_cpu_ns;       /* CPU time of its process then */
    uint64_t time_ns;              /* CLOCK_MONOTONIC when it was stopped */
    uint64_t address;              /* of the next instruction, natively */
    uint64_t stands_ns; /* CPU time of the recording that the image stands for; 0: said later */
};

#endif
