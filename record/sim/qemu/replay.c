/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/replay.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/sim/qemu/guest_memory.h"

enum {
    /* linux-user/errno_defs.h of QEMU 7.2: the call was not made and is begun anew */
    EMULATOR_RESTARTS = 512,
    LOG_BYTES = 64 << 20, /* of no image */
    TICK_NS = 1000,       /* from one look at a clock to the next */
    OPTIONAL_MAX = 64,    /* calls that are passed over */
};

/* arch/x86/entry/syscalls/syscall_64.tbl */
enum {
    CALL_READ = 0,
    CALL_WRITE = 1,
    CALL_LSEEK = 8,
    CALL_READV = 19,
    CALL_WRITEV = 20,
    CALL_GETTIMEOFDAY = 96,
    CALL_CLOCK_GETTIME = 228,
};

void td_replay_begin(struct td_replay *replay, const struct td_live_image_head *head, int fd)
{
    const size_t size = head->calls_size < LOG_BYTES ? (size_t)head->calls_size : 0;
    struct td_buf *log = &replay->log;

    td_buf_clear(log);
    if (size > 0 && pread(fd, td_buf_reserve(log, size), size, (off_t)head->calls) == (ssize_t)size)
        log->len = size;
    *replay = (struct td_replay){.log = *log,
                                 .rd = td_rd_init(log->data, log->len, 0),
                                 .now_ns = head->time_ns,
                                 .cpu_ns = head->cpu_ns,
                                 .process_cpu_ns = head->process_cpu_ns,
                                 .clock = -1};
}

bool td_replay_is_over(const struct td_replay *replay)
{
    return td_rd_left(&replay->rd) == 0 || !td_rd_ok(&replay->rd);
}

static bool is_same(const struct td_live_call *call, int64_t number,
                    const uint64_t arguments[TD_LIVE_ARGUMENTS])
{
    if (call->number != (uint64_t)number)
        return false;
    for (unsigned i = 0; i < TD_LIVE_ARGUMENTS; i++) {
        if ((call->same >> i & 1) && call->arguments[i] != arguments[i])
            return false;
    }
    return call->room == TD_LIVE_NO_ARGUMENT || call->result < 0 ||
           (uint64_t)call->result <= arguments[call->room];
}

bool td_replay_take(struct td_replay *replay, int64_t number,
                    const uint64_t arguments[TD_LIVE_ARGUMENTS])
{
    struct td_rd rd = replay->rd;
    struct td_live_call call;

    for (int i = 0; i < OPTIONAL_MAX && td_live_call_next(&rd, &call); i++) {
        if (is_same(&call, number, arguments)) {
            for (unsigned k = 0; k < TD_LIVE_ARGUMENTS; k++)
                call.arguments[k] = arguments[k];
            replay->call = call;
            replay->rd = rd;
            replay->again = false;
            return true;
        }
        if (!call.optional)
            return false;
    }
    return false;
}

void td_replay_let(struct td_replay *replay, int64_t number, const uint64_t arguments[2])
{
    replay->clock = number == CALL_CLOCK_GETTIME || number == CALL_GETTIMEOFDAY ? number : -1;
    replay->clock_arguments[0] = arguments[0];
    replay->clock_arguments[1] = arguments[1];
}

/* What a clock that the emulator has just read shows in the window: there it is as long after the
 * image as it was in the program. */
static uint64_t shown(struct td_replay *replay, uint64_t clock, uint64_t read_ns)
{
    replay->now_ns += TICK_NS;
    switch (clock) {
    case CLOCK_PROCESS_CPUTIME_ID: return replay->process_cpu_ns += TICK_NS;
    case CLOCK_THREAD_CPUTIME_ID: return replay->cpu_ns += TICK_NS;
    default: return read_ns - (td_clock_ns() - replay->now_ns);
    }
}

static void set_clock(struct td_replay *replay)
{
    const bool of_day = replay->clock == CALL_GETTIMEOFDAY;
    const uint64_t clock = of_day ? CLOCK_REALTIME : replay->clock_arguments[0];
    const uint64_t address = replay->clock_arguments[of_day ? 0 : 1];
    const int64_t part_ns = of_day ? TD_NS_PER_S / 1000000 : 1;
    int64_t time[2];

    if (address == 0 || clock > CLOCK_TAI || !td_guest_read(time, address, sizeof(time)))
        return;
    const uint64_t ns =
        shown(replay, clock, (uint64_t)(time[0] * (int64_t)TD_NS_PER_S + time[1] * part_ns));
    time[0] = (int64_t)(ns / TD_NS_PER_S);
    time[1] = (int64_t)(ns % TD_NS_PER_S) / part_ns;
    td_guest_write(address, time, sizeof(time));
}

void td_replay_returned(struct td_replay *replay, int64_t result)
{
    replay->again = result == -EMULATOR_RESTARTS;
    if (replay->clock >= 0 && result == 0)
        set_clock(replay);
    replay->clock = -1;
}

static bool peek(void *ctx, uint64_t from, void *to, size_t size)
{
    (void)ctx;
    return td_guest_read(to, from, size);
}

static bool put_piece(void *ctx, uint64_t address, size_t at, size_t size)
{
    const struct td_live_part *part = ctx;

    return td_guest_write(address, (void *)(uintptr_t)(part->bytes + at), size);
}

static bool put_parts(const struct td_live_call *call)
{
    struct td_rd rd = td_rd_init(call->parts, call->parts_size, 0);
    struct td_live_part part;

    while (td_live_part_next(&rd, &part)) {
        if (!td_live_part_place(&part, call->arguments, peek, put_piece, &part) && !part.weak)
            return false;
    }
    return td_rd_ok(&rd);
}

/* Where the emulator has the file too, it stands where the program's does. */
static void move_file(const struct td_replay *replay)
{
    const struct td_live_call *call = &replay->call;
    const int fd = (int)call->arguments[0];
    struct stat st;

    if (call->result < 0)
        return;
    switch (call->number) {
    case CALL_READ:
    case CALL_WRITE:
    case CALL_READV:
    case CALL_WRITEV:
        if (replay->again && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
            lseek(fd, call->result, SEEK_CUR);
        break;
    case CALL_LSEEK: lseek(fd, call->result, SEEK_SET); break;
    default: break;
    }
}

bool td_replay_answer(struct td_replay *replay, struct td_loader_answer *answer)
{
    const struct td_live_call *call = &replay->call;

    if (!put_parts(call))
        return false;
    move_file(replay);
    if (call->time_ns > replay->now_ns)
        replay->now_ns = call->time_ns;
    replay->answered++;
    *answer = (struct td_loader_answer){.valid = 1, .again = replay->again, .result = call->result};
    return true;
}
