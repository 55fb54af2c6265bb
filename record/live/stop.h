/* SPDX-License-Identifier: MIT */
/*
 * Stops one thread of a program for less than a millisecond and lets it go on as if nothing had
 * been: its signals, the results of its system calls and its job control are as without us.
 *
 * Who stops is the thread's tracer meanwhile, so there must be none. All functions are called by
 * one thread of a process that has no children of its own: they take what any traced thread
 * reports.
 */
#ifndef TD_RECORD_LIVE_STOP_H
#define TD_RECORD_LIVE_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/live/detour.h"
#include "record/live/isa.h"
#include "record/live/outcome.h"

/* The most that the kernel's note of vector registers takes: AMX's tiles are 8 KB of it. */
#define TD_LIVE_VECTOR_MAX 16384

/* A clone's stack pointer until it is stopped: were it ever let loose, it would fault at once. */
#define TD_LIVE_NO_STACK 16

struct td_live_stop {
    pid_t process, thread;
    struct td_live_registers registers;
    enum td_isa_state state;
    uint8_t vector[TD_LIVE_VECTOR_MAX];
    size_t vector_size;
    uint64_t thread_pointer, signal_mask;
    uint64_t asked_ns, stopped_ns; /* CLOCK_MONOTONIC */
    bool held;
    bool calling;                  /* its registers and its mask are those of a call in its name */
    struct td_live_detour *detour; /* with the code of that; NULL: nothing was called yet */
    bool cloning; /* a clone is expected: `clone` is it once it has reported, else 0 */
    pid_t clone;
};

/* Called now and then while a thread does not stop: true gives up, which only makes sense when this
 * process ends at once, since a thread that runs cannot be let go. */
typedef bool td_live_quit_fn(void *ctx);
struct td_live_waiting {
    td_live_quit_fn *quit;
    void (*cloned)(void *ctx, pid_t clone); /* a clone is there; it runs nothing before. NULL: no */
    void (*hasten)(void *ctx, bool much);   /* `quit` is to be called more often. NULL: no */
    void *ctx;
};

/* Stops the thread. TD_LIVE_TAKEN: it is stopped, and td_live_stop_release must follow. Else it
 * runs as before, and *err says why. */
enum td_live_outcome td_live_stop_take(struct td_live_stop *stop, pid_t process, pid_t thread,
                                       const struct td_live_waiting *waiting, struct td_err *err);
/* Reads vector registers and thread pointer. */
enum td_live_outcome td_live_stop_read(struct td_live_stop *stop, struct td_err *err);
/* Takes all registers anew from a clone of it that has run on. False: the clone is gone. */
bool td_live_stop_follow(struct td_live_stop *stop, pid_t clone);
/* Lets the thread go on with its own registers. Returns for how long it was held, in ns. */
uint64_t td_live_stop_release(struct td_live_stop *stop);

/* One system call by the stopped thread. Should this process be killed meanwhile, the thread makes
 * it and goes on. TD_LIVE_TAKEN: *result is what the kernel answered. Else nothing happened and the
 * thread has been let go. `detour` is borrowed until then. */
enum td_live_outcome td_live_stop_call(struct td_live_stop *stop, struct td_live_detour *detour,
                                       long number, const uint64_t arguments[5], int64_t *result,
                                       struct td_err *err);

/* Instead of td_live_stop_release: the thread goes on, and is watched. Each system call stops it
 * twice, at its begin and its end; after such a stop td_live_stop_proceed lets it go on. */
uint64_t td_live_stop_watch(struct td_live_stop *stop);
enum td_live_event {
    TD_LIVE_AT_CALL, /* it stands at the begin or the end of a call */
    TD_LIVE_ON,      /* it runs on: the caller's timer interrupted the wait */
    TD_LIVE_OUT      /* it has ended, or a signal came: it has been let go with that */
};
/* Waits for what comes next. */
enum td_live_event td_live_stop_await(struct td_live_stop *stop);
/* The registers of a thread that stands at a call; false: it is gone. */
bool td_live_stop_look(const struct td_live_stop *stop, struct td_live_registers *registers);
void td_live_stop_proceed(const struct td_live_stop *stop);
/* Watches no longer, whether it stands at a call or runs: a call that it waits in is begun anew. */
void td_live_stop_leave(struct td_live_stop *stop, bool stands);

/* What another thread than the awaited one reported: a clone that begins stays where it is; who is
 * traced by accident (a thread whose number changed in execve) goes on. */
void td_live_stop_meet(struct td_live_stop *stop, pid_t id, int status);

/* Why the kernel does not let this user stop programs, and what to do: by what is in /proc below
 * `root` (NULL: ours). Static. */
const char *td_live_denied_text(const char *root);
/* The state letter of a thread in /proc ('R', 'S', 'T'...); 0: it is gone.
 */
char td_live_thread_state(pid_t process, pid_t thread);
/* The CPU time of a thread; 0: not known. */
uint64_t td_live_thread_cpu_ns(pid_t process, pid_t thread);
/* Whether a thread runs now, in its own code as far as one can tell without stopping it. */
bool td_live_thread_runs(pid_t process, pid_t thread);

#endif
