/* SPDX-License-Identifier: MIT */
#include "record/live/call_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/mem.h"

/* One result is at most so large, and all of a call. */
#define BYTES_MAX   (UINT64_C(1) << 20)
#define VECTORS_MAX 64
/* Of calls that are not in the table: what stands where an argument leads. No structure that the
 * kernel fills is larger; what is taken of memory behind it is the same in the window. */
#define GUESSED_BYTES 256
#define PARTS_MAX     (2 + 5 * VECTORS_MAX)

#if defined(__x86_64__)

enum size_rule {
    NO_MORE,
    RESULT,  /* so many bytes for each of the result */
    FIXED,   /* so many bytes, when it did not fail */
    ITEMS,   /* so many bytes for each of the argument `of` */
    LENGTH,  /* as the 32-bit word that argument `of` leads to says, and that word */
    BITS,    /* as many bits as the argument `of` says, in words of 64 */
    VECTOR,  /* the result's bytes over an array of iovec of as many items as argument `of` says */
    MESSAGE, /* a struct msghdr, and what it leads to */
    MESSAGES /* the result's number of struct mmsghdr */
};

struct output {
    uint8_t argument;
    enum size_rule rule;
    uint16_t bytes;
    uint8_t of;
};

enum { FIRST = 1, SECOND = 2, THIRD = 4, MAY_LACK = 0x80, NO_ROOM = TD_LIVE_NO_ARGUMENT };

/* arch/x86/entry/syscalls/syscall_64.tbl. `same`: which arguments must be the same, mostly the
 * descriptor. Others are guessed (GUESSED_BYTES), and only their number must be the same. */
static const struct row {
    uint16_t number;
    uint8_t same, room;
    struct output outputs[3];
} rows[] = {
    {0, FIRST, 2, {{1, RESULT, 1, 0}}},                                         /* read */
    {1, FIRST, 2, {{0}}},                                                       /* write */
    {3, FIRST, NO_ROOM, {{0}}},                                                 /* close */
    {5, FIRST, NO_ROOM, {{1, FIXED, 144, 0}}},                                  /* fstat */
    {7, SECOND, NO_ROOM, {{0, ITEMS, 8, 1}}},                                   /* poll */
    {8, FIRST, NO_ROOM, {{0}}},                                                 /* lseek */
    {14, 0, NO_ROOM, {{2, FIXED, 8, 0}}},                                       /* rt_sigprocmask */
    {17, FIRST, 2, {{1, RESULT, 1, 0}}},                                        /* pread64 */
    {18, FIRST, 2, {{0}}},                                                      /* pwrite64 */
    {19, FIRST, NO_ROOM, {{1, VECTOR, 0, 2}}},                                  /* readv */
    {20, FIRST, NO_ROOM, {{0}}},                                                /* writev */
    {23, FIRST, NO_ROOM, {{1, BITS, 0, 0}, {2, BITS, 0, 0}, {3, BITS, 0, 0}}},  /* select */
    {24, MAY_LACK, NO_ROOM, {{0}}},                                             /* sched_yield */
    {40, FIRST | SECOND, 3, {{2, FIXED, 8, 0}}},                                /* sendfile */
    {43, FIRST, NO_ROOM, {{1, LENGTH, 0, 2}}},                                  /* accept */
    {44, FIRST, 2, {{0}}},                                                      /* sendto */
    {45, FIRST, 2, {{1, RESULT, 1, 0}, {4, LENGTH, 0, 5}}},                     /* recvfrom */
    {46, FIRST, NO_ROOM, {{0}}},                                                /* sendmsg */
    {47, FIRST, NO_ROOM, {{1, MESSAGE, 0, 0}}},                                 /* recvmsg */
    {51, FIRST, NO_ROOM, {{1, LENGTH, 0, 2}}},                                  /* getsockname */
    {52, FIRST, NO_ROOM, {{1, LENGTH, 0, 2}}},                                  /* getpeername */
    {54, FIRST | SECOND | THIRD, NO_ROOM, {{0}}},                               /* setsockopt */
    {55, FIRST | SECOND | THIRD, NO_ROOM, {{3, LENGTH, 0, 4}}},                 /* getsockopt */
    {79, 0, 1, {{0, RESULT, 1, 0}}},                                            /* getcwd */
    {89, 0, 2, {{1, RESULT, 1, 0}}},                                            /* readlink */
    {202, MAY_LACK | SECOND, NO_ROOM, {{0, FIXED, 4, 0}}},                      /* futex */
    {208, FIRST, 2, {{3, RESULT, 32, 0}}},                                      /* io_getevents */
    {217, FIRST, 2, {{1, RESULT, 1, 0}}},                                       /* getdents64 */
    {232, FIRST, 2, {{1, RESULT, 12, 0}}},                                      /* epoll_wait */
    {233, FIRST | SECOND | THIRD, NO_ROOM, {{0}}},                              /* epoll_ctl */
    {257, 0, NO_ROOM, {{0}}},                                                   /* openat */
    {267, 0, 3, {{2, RESULT, 1, 0}}},                                           /* readlinkat */
    {270, FIRST, NO_ROOM, {{1, BITS, 0, 0}, {2, BITS, 0, 0}, {3, BITS, 0, 0}}}, /* pselect6 */
    {271, SECOND, NO_ROOM, {{0, ITEMS, 8, 1}}},                                 /* ppoll */
    {281, FIRST, 2, {{1, RESULT, 12, 0}}},                                      /* epoll_pwait */
    {288, FIRST, NO_ROOM, {{1, LENGTH, 0, 2}}},                                 /* accept4 */
    {295, FIRST, NO_ROOM, {{1, VECTOR, 0, 2}}},                                 /* preadv */
    {296, FIRST, NO_ROOM, {{0}}},                                               /* pwritev */
    {299, FIRST, 2, {{1, MESSAGES, 0, 0}}},                                     /* recvmmsg */
    {307, FIRST, 2, {{1, MESSAGES, 0, 0}}}, /* sendmmsg: lengths */
    {318, 0, 1, {{0, RESULT, 1, 0}}},       /* getrandom */
    {441, FIRST, 2, {{1, RESULT, 12, 0}}},  /* epoll_pwait2 */
};

enum td_live_call_kind td_live_call_kind(uint64_t number)
{
    static const uint16_t own[] = {
        9,   /* mmap */
        10,  /* mprotect */
        11,  /* munmap */
        12,  /* brk */
        25,  /* mremap */
        26,  /* msync */
        28,  /* madvise */
        96,  /* gettimeofday */
        201, /* time */
        228, /* clock_gettime */
        229, /* clock_getres */
        309, /* getcpu */
    };
    static const uint16_t last[] = {
        15,  /* rt_sigreturn */
        30,  /* shmat */
        56,  /* clone */
        57,  /* fork */
        58,  /* vfork */
        59,  /* execve */
        60,  /* exit */
        67,  /* shmdt */
        131, /* sigaltstack */
        158, /* arch_prctl */
        219, /* restart_syscall */
        231, /* exit_group */
        322, /* execveat */
        323, /* userfaultfd */
        426, /* io_uring_enter: it writes into memory that it shares */
        435, /* clone3 */
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(own); i++) {
        if (own[i] == number)
            return TD_LIVE_CALL_OWN;
    }
    for (size_t i = 0; i < TD_ARRAY_SIZE(last); i++) {
        if (last[i] == number)
            return TD_LIVE_CALL_LAST;
    }
    return TD_LIVE_CALL_NOTED;
}

/* One call that is being noted. */
struct note {
    pid_t process;
    const struct td_live_call *call;
    struct td_live_part parts[PARTS_MAX];
    size_t count;
    uint64_t bytes;
    uint8_t *to; /* of the part that is being copied */
};

static bool peek(void *ctx, uint64_t from, void *to, size_t size)
{
    const struct note *note = ctx;
    const struct iovec here = {.iov_base = to, .iov_len = size};
    const struct iovec there = {.iov_base = (void *)(uintptr_t)from, .iov_len = size}; // NOLINT

    return process_vm_readv(note->process, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool take_piece(void *ctx, uint64_t address, size_t at, size_t size)
{
    const struct note *note = ctx;

    return peek(ctx, address, note->to + at, size);
}

static uint64_t argument(const struct note *note, uint8_t index)
{
    return note->call->arguments[index];
}

/* Copies what the kernel wrote there. False: it is too much, or cannot be read. */
static bool add_part(struct note *note, struct td_live_part part, uint64_t size)
{
    if (size == 0 || (part.through == TD_LIVE_NOT_THROUGH && argument(note, part.argument) == 0))
        return true;
    if (size > BYTES_MAX - note->bytes || note->count == PARTS_MAX || part.count > 1024)
        return false;
    note->to = td_xalloc(size);
    part.bytes = note->to;
    part.size = size;
    if (!td_live_part_place(&part, note->call->arguments, peek, take_piece, note)) {
        free(note->to);
        return part.weak;
    }
    note->bytes += size;
    note->parts[note->count++] = part;
    return true;
}

static bool add_plain(struct note *note, uint8_t index, uint32_t offset, uint64_t size)
{
    return add_part(
        note,
        (struct td_live_part){.argument = index, .through = TD_LIVE_NOT_THROUGH, .offset = offset},
        size);
}

/* A length that the kernel wrote, and what it is the length of. */
static bool add_length(struct note *note, const struct output *output)
{
    uint32_t size = 0;

    if (argument(note, output->argument) == 0 || argument(note, output->of) == 0)
        return true;
    if (!peek(note, argument(note, output->of), &size, sizeof(size)))
        return false;
    return add_plain(note, output->of, 0, sizeof(size)) &&
           add_plain(note, output->argument, 0, size < GUESSED_BYTES ? size : GUESSED_BYTES);
}

/* struct msghdr, `offset` behind the argument: name, its length, iov, its count, control, its
 * length, flags. */
static bool add_message(struct note *note, uint8_t index, uint32_t offset, uint64_t bytes)
{
    uint64_t head[7] = {0};

    if (!peek(note, argument(note, index) + offset, head, sizeof(head)))
        return false;
    const struct td_live_part name = {.argument = index, .through = (uint16_t)offset};
    const struct td_live_part data = {.argument = index,
                                      .through = (uint16_t)(offset + 16),
                                      .vector = true,
                                      .count = head[3] < 1024 ? (uint32_t)head[3] : 1024};
    const struct td_live_part control = {.argument = index, .through = (uint16_t)(offset + 32)};
    const uint64_t name_size = (uint32_t)head[1] < GUESSED_BYTES ? (uint32_t)head[1] : 0;

    return add_plain(note, index, offset + 8, 4) && add_plain(note, index, offset + 40, 16) &&
           (head[0] == 0 || add_part(note, name, name_size)) && add_part(note, data, bytes) &&
           (head[4] == 0 || add_part(note, control, head[5]));
}

/* struct mmsghdr: a struct msghdr of 56 bytes and the bytes that were received or sent. */
static bool add_messages(struct note *note, uint8_t index, uint64_t count)
{
    const bool received = note->call->number == 299;
    bool fine = count <= VECTORS_MAX;

    for (uint32_t i = 0; fine && i < count; i++) {
        const uint32_t offset = i * 64;
        uint32_t bytes = 0;

        fine = peek(note, argument(note, index) + offset + 56, &bytes, sizeof(bytes)) &&
               add_plain(note, index, offset + 56, sizeof(bytes)) &&
               (!received || add_message(note, index, offset, bytes));
    }
    return fine;
}

static bool add_output(struct note *note, const struct output *output)
{
    const uint64_t result = (uint64_t)note->call->result, of = argument(note, output->of);
    const struct td_live_part vector = {.argument = output->argument,
                                        .through = TD_LIVE_NOT_THROUGH,
                                        .vector = true,
                                        .count = of < 1024 ? (uint32_t)of : 1024};

    switch (output->rule) {
    case NO_MORE: return true;
    case RESULT: return add_plain(note, output->argument, 0, result * output->bytes);
    case FIXED: return add_plain(note, output->argument, 0, output->bytes);
    case ITEMS: return add_plain(note, output->argument, 0, (of & UINT32_MAX) * output->bytes);
    case BITS: return add_plain(note, output->argument, 0, ((of & UINT32_MAX) + 63) / 64 * 8);
    case LENGTH: return add_length(note, output);
    case VECTOR: return add_part(note, vector, result);
    case MESSAGE: return add_message(note, output->argument, 0, result);
    case MESSAGES: return add_messages(note, output->argument, result);
    }
    return false;
}

static const struct row *find_row(uint64_t number)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(rows); i++) {
        if (rows[i].number == number)
            return &rows[i];
    }
    return NULL;
}

/* What stands where the arguments lead: among it is what the kernel wrote. */
static bool add_guessed(struct note *note)
{
    bool fine = true;

    for (uint8_t i = 0; i < TD_LIVE_ARGUMENTS && fine; i++) {
        const uint64_t address = argument(note, i);

        if (address >= 4096 && address < UINT64_C(1) << 47)
            fine = add_part(
                note,
                (struct td_live_part){.argument = i, .through = TD_LIVE_NOT_THROUGH, .weak = true},
                GUESSED_BYTES);
    }
    return fine;
}

bool td_live_call_note(struct td_buf *log, pid_t process, const struct td_live_call *call)
{
    const struct row *row = find_row(call->number);
    struct note *note = td_xcalloc(1, sizeof(*note));
    struct td_live_call known = *call;
    bool fine = true;

    note->process = process;
    note->call = call;
    known.same = row ? row->same & ~MAY_LACK : 0;
    known.room = row ? row->room : TD_LIVE_NO_ARGUMENT;
    known.optional = row && row->same & MAY_LACK;
    if (!row)
        fine = add_guessed(note);
    for (size_t i = 0; row && call->result >= 0 && i < TD_ARRAY_SIZE(row->outputs) && fine; i++)
        fine = add_output(note, &row->outputs[i]);
    if (fine)
        td_live_call_put(log, &known, note->parts, note->count);
    for (size_t i = 0; i < note->count; i++)
        free((void *)(uintptr_t)note->parts[i].bytes);
    free(note);
    return fine;
}

#else

enum td_live_call_kind td_live_call_kind(uint64_t number)
{
    (void)number;
    return TD_LIVE_CALL_LAST;
}

bool td_live_call_note(struct td_buf *log, pid_t process, const struct td_live_call *call)
{
    (void)log, (void)process, (void)call;
    return false;
}

#endif
