/* SPDX-License-Identifier: MIT */
/* What stopping a thread and calling the kernel in its name needs to know of the processor: all
 * that depends on it in this folder. */
#ifndef TD_RECORD_LIVE_ISA_H
#define TD_RECORD_LIVE_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include "base/bytes.h"

#if defined(__x86_64__) || defined(__aarch64__)
#    define TD_LIVE_ISA 1
#else
#    define TD_LIVE_ISA 0
#endif

/* As PTRACE_GETREGSET gives NT_PRSTATUS. */
struct td_live_registers {
    struct user_regs_struct set;
};

/* Which note of PTRACE_GETREGSET has the vector registers. */
unsigned td_isa_vector_note(void);
uint32_t td_isa_machine(void); /* EM_* */
/* Whether the thread runs code of that machine, and not of its 32-bit kind. */
bool td_isa_native(const struct td_live_registers *registers);
uint64_t td_isa_pc(const struct td_live_registers *registers);
uint64_t td_isa_sp(const struct td_live_registers *registers);
/* 0 where PTRACE_GETREGSET keeps it elsewhere: read NT_ARM_TLS then. */
uint64_t td_isa_thread_pointer(const struct td_live_registers *registers);

/* The instruction that calls the kernel. */
extern const uint8_t td_isa_call_instruction[];
extern const size_t td_isa_call_size;

/* What a thread that the kernel stopped is doing. */
enum td_isa_state {
    TD_ISA_IN_CODE,  /* its own code */
    TD_ISA_CALLED,   /* a system call has just ended, its result is in place */
    TD_ISA_RESTARTS, /* the stop interrupted a system call, which the kernel begins anew */
    TD_ISA_BROKEN,   /* the same, but the program would see EINTR */
};
/* Whether the result is one by which the kernel tells itself to begin the call anew
 * (include/linux/errno.h). */
bool td_isa_restarts(int64_t result);
/* `pending`: whether a signal waits for the thread, which would explain EINTR. */
enum td_isa_state td_isa_state(const struct td_live_registers *registers, bool pending);
/* Sets the registers of TD_ISA_RESTARTS and TD_ISA_BROKEN before the call's instruction. */
void td_isa_call_again(struct td_live_registers *registers);

/* Appends code that calls the kernel once, then sets the signal mask and goes on as `own` says; it
 * works at any address. `clones`: the call is clone(2), whose child ends itself when nobody stops
 * it. */
void td_isa_detour(struct td_buf *code, const struct td_live_registers *own, uint64_t signal_mask,
                   bool clones);
/* Sets registers so that the call of such code, at `at`, is the next instruction. */
void td_isa_set_call(struct td_live_registers *registers, uint64_t at, long number,
                     const uint64_t arguments[5]);
int64_t td_isa_result(const struct td_live_registers *registers);
/* Of a thread that stands at the begin of a system call. */
void td_isa_get_call(const struct td_live_registers *registers, uint64_t *number,
                     uint64_t arguments[6]);
/* Sets registers so that the function is called with an argument and, at its end, runs address 0.
 * `sp` is below what the thread uses; what must stand at the new stack pointer is *word. */
void td_isa_set_function(struct td_live_registers *registers, uint64_t function, uint64_t argument,
                         uint64_t sp, uint64_t *word);

#endif
