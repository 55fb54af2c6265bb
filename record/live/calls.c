/* SPDX-License-Identifier: MIT */
#include "record/live/calls.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/procfs.h"
#include "record/live/call_table.h"

/* CPU time in which any window's instructions are done: two million, at 5 cycles for each. Calls
 * and their stops take theirs. */
#define CPU_NS      UINT64_C(4000000)
#define CALL_CPU_NS 100000
/* A thread that waits for others gets no further than this. */
#define WALL_NS   UINT64_C(1000000000)
#define LOG_BYTES (UINT64_C(8) << 20)
/* Away from the program's CPU and back to it, at each stop; measured on a busy machine. */
#define SWITCH_NS 3000
#define LOOK_NS   1000000

struct watch {
    struct td_live_calls *calls;
    struct td_live_stop *stop;
    const struct td_live_waiting *waiting;
    uint32_t limit;
    uint64_t start_ns, next_look_ns, start_cpu_ns;
    bool inside;              /* a call */
    struct td_live_call call; /* that has begun */
};

static bool is_enough(struct watch *watch, uint64_t now)
{
    if (watch->calls->count >= watch->limit || watch->calls->log.len >= LOG_BYTES)
        return true;
    if (now < watch->next_look_ns)
        return false;
    watch->next_look_ns = now + LOOK_NS;
    return now - watch->start_ns > WALL_NS ||
           td_live_thread_cpu_ns(watch->stop->process, watch->stop->thread) - watch->start_cpu_ns >
               CPU_NS + (uint64_t)watch->calls->count * CALL_CPU_NS ||
           (watch->waiting && watch->waiting->quit(watch->waiting->ctx));
}

/* At the begin of a call. False: it is none to be noted, nor is any after it. */
static bool enter(struct watch *watch)
{
    struct td_live_registers registers;
    uint64_t number = 0;

    if (!td_live_stop_look(watch->stop, &registers))
        return false;
    td_isa_get_call(&registers, &number, watch->call.arguments);
    watch->call.number = (uint32_t)number;
    return td_live_call_kind(number) != TD_LIVE_CALL_LAST;
}

/* At its end. */
static bool note(struct watch *watch, uint64_t now)
{
    struct td_live_registers registers;

    if (td_live_call_kind(watch->call.number) == TD_LIVE_CALL_OWN)
        return true;
    if (!td_live_stop_look(watch->stop, &registers))
        return false;
    watch->call.result = td_isa_result(&registers);
    watch->call.time_ns = now;
    if (td_isa_restarts(watch->call.result))
        return true;
    watch->calls->count++;
    return td_live_call_note(&watch->calls->log, watch->stop->process, &watch->call);
}

/* The thread stands at a call. False: it is not to be watched any longer. */
static bool at_call(struct watch *watch)
{
    const uint64_t now = td_clock_ns();
    const bool more = watch->inside ? note(watch, now) : enter(watch);

    watch->inside = !watch->inside;
    watch->calls->held_ns += td_clock_ns() - now + SWITCH_NS;
    return more;
}

static void run(struct watch *watch)
{
    for (;;) {
        const enum td_live_event event = td_live_stop_await(watch->stop);
        const bool stands = event == TD_LIVE_AT_CALL;

        if (event == TD_LIVE_OUT)
            return;
        if ((stands && !at_call(watch)) || is_enough(watch, td_clock_ns())) {
            td_live_stop_leave(watch->stop, stands);
            return;
        }
        if (stands)
            td_live_stop_proceed(watch->stop);
    }
}

void td_live_calls_watch(struct td_live_calls *calls, struct td_live_stop *stop, uint32_t limit,
                         const struct td_live_waiting *waiting)
{
    struct watch watch = {.calls = calls,
                          .stop = stop,
                          .waiting = waiting,
                          .limit = limit < TD_LIVE_CALLS_MAX ? limit : TD_LIVE_CALLS_MAX,
                          .start_ns = td_clock_ns(),
                          .start_cpu_ns = td_live_thread_cpu_ns(stop->process, stop->thread)};
    const bool hastens = waiting && waiting->hasten;

    if (hastens)
        waiting->hasten(waiting->ctx, true);
    run(&watch);
    if (hastens)
        waiting->hasten(waiting->ctx, false);
}
