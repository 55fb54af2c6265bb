/* SPDX-License-Identifier: MIT */
#include "record/live/isa.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "base/mem.h"

#ifndef NT_X86_XSTATE
#    define NT_X86_XSTATE 0x202
#endif

bool td_isa_restarts(int64_t result)
{
    return result <= -512 && result >= -516;
}

#if defined(__x86_64__)

#    define USER_CS      0x33
#    define RED_ZONE     128
#    define RESUME_FLAGS 0x100 /* TF: never the program's own */

const uint8_t td_isa_call_instruction[] = {0x0f, 0x05}; /* syscall */
const size_t td_isa_call_size = 2;

unsigned td_isa_vector_note(void)
{
    return NT_X86_XSTATE;
}

uint32_t td_isa_machine(void)
{
    return EM_X86_64;
}

bool td_isa_native(const struct td_live_registers *registers)
{
    return registers->set.cs == USER_CS;
}

uint64_t td_isa_pc(const struct td_live_registers *registers)
{
    return registers->set.rip;
}

uint64_t td_isa_sp(const struct td_live_registers *registers)
{
    return registers->set.rsp;
}

uint64_t td_isa_thread_pointer(const struct td_live_registers *registers)
{
    return registers->set.fs_base;
}

/* signal(7), "Interruption of system calls and library functions by stop signals": these give EINTR
 * without any handler, so that a program may not expect it. */
static bool gives_eintr(uint64_t number)
{
    static const uint16_t calls[] = {
        SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2,    SYS_semop,        SYS_semtimedop,
        SYS_read,       SYS_write,       SYS_recvfrom,        SYS_recvmsg,      SYS_recvmmsg,
        SYS_sendto,     SYS_sendmsg,     SYS_sendmmsg,        SYS_accept,       SYS_accept4,
        SYS_connect,    SYS_msgrcv,      SYS_rt_sigtimedwait, SYS_io_getevents, SYS_io_pgetevents,
        SYS_readv,      SYS_writev,      SYS_io_uring_enter,
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(calls); i++) {
        if (calls[i] == number)
            return true;
    }
    return false;
}

enum td_isa_state td_isa_state(const struct td_live_registers *registers, bool pending)
{
    const int64_t number = (int64_t)registers->set.orig_rax, result = (int64_t)registers->set.rax;

    if (number < 0)
        return TD_ISA_IN_CODE;
    if (td_isa_restarts(result))
        return TD_ISA_RESTARTS;
    if (result == -EINTR && !pending && gives_eintr((uint64_t)number))
        return TD_ISA_BROKEN;
    return TD_ISA_CALLED;
}

void td_isa_call_again(struct td_live_registers *registers)
{
    registers->set.rip -= td_isa_call_size;
    registers->set.rax = registers->set.orig_rax;
    registers->set.orig_rax = UINT64_MAX;
}

/* mov $value, register; by the register's number in the encoding */
static void put_move(struct td_buf *code, uint8_t number, uint64_t value)
{
    td_buf_u8(code, (uint8_t)(0x48 | number >> 3));
    td_buf_u8(code, (uint8_t)(0xb8 | (number & 7)));
    td_buf_u64(code, value);
}

/* Nothing of it uses the stack or changes flags, which the call itself leaves as they are. */
void td_isa_detour(struct td_buf *code, const struct td_live_registers *own, uint64_t signal_mask,
                   bool clones)
{
    // clang-format off
    static const uint8_t end_child[] = {
        0x48, 0x91,              /* xchg rax, rcx */
        0xe3, 2,                 /* jrcxz: the child */
        0xeb, 5 + 5 + 2,         /* jmp: its parent */
        0xb8, SYS_exit, 0, 0, 0, /* mov eax */
        0xbf, 0, 0, 0, 0,        /* mov edi */
        0x0f, 0x05,              /* syscall */
    };
    static const uint8_t set_mask[] = {
        0xb8, SYS_rt_sigprocmask, 0, 0, 0,                          /* mov eax */
        0xbf, SIG_SETMASK, 0, 0, 0,                                 /* mov edi */
        0x48, 0x8d, 0x35, 5 + 6 + 2 + 8 * 10 + 6 + 8, 0, 0, 0,      /* lea rsi, the mask at the end */
        0xba, 0, 0, 0, 0,                                           /* mov edx: NULL */
        0x41, 0xba, sizeof(uint64_t), 0, 0, 0,                      /* mov r10d */
        0x0f, 0x05,                                                 /* syscall */
    };
    // clang-format on
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp [the address behind it] */
    const struct user_regs_struct *set = &own->set;

    td_buf_bytes(code, td_isa_call_instruction, td_isa_call_size);
    if (clones)
        td_buf_bytes(code, end_child, sizeof(end_child));
    td_buf_bytes(code, set_mask, sizeof(set_mask));
    put_move(code, 0, set->rax); /* what the calls and their arguments change */
    put_move(code, 1, set->rcx);
    put_move(code, 2, set->rdx);
    put_move(code, 6, set->rsi);
    put_move(code, 7, set->rdi);
    put_move(code, 8, set->r8);
    put_move(code, 10, set->r10);
    put_move(code, 11, set->r11);
    td_buf_bytes(code, jump, sizeof(jump));
    td_buf_u64(code, set->rip);
    td_buf_u64(code, signal_mask);
}

void td_isa_set_call(struct td_live_registers *registers, uint64_t at, long number,
                     const uint64_t arguments[5])
{
    struct user_regs_struct *set = &registers->set;

    set->rip = at;
    set->rax = (uint64_t)number;
    set->orig_rax = UINT64_MAX; /* no call is to be begun anew */
    set->rdi = arguments[0];
    set->rsi = arguments[1];
    set->rdx = arguments[2];
    set->r10 = arguments[3];
    set->r8 = arguments[4];
    set->eflags &= ~(uint64_t)RESUME_FLAGS;
}

int64_t td_isa_result(const struct td_live_registers *registers)
{
    return (int64_t)registers->set.rax;
}

void td_isa_get_call(const struct td_live_registers *registers, uint64_t *number,
                     uint64_t arguments[6])
{
    const struct user_regs_struct *set = &registers->set;

    *number = set->orig_rax;
    arguments[0] = set->rdi;
    arguments[1] = set->rsi;
    arguments[2] = set->rdx;
    arguments[3] = set->r10;
    arguments[4] = set->r8;
    arguments[5] = set->r9;
}

void td_isa_set_function(struct td_live_registers *registers, uint64_t function, uint64_t argument,
                         uint64_t sp, uint64_t *word)
{
    struct user_regs_struct *set = &registers->set;

    set->rsp = ((sp - RED_ZONE) & ~UINT64_C(15)) - sizeof(*word); /* as after a call */
    set->rip = function;
    set->rdi = argument;
    set->rax = 0;
    set->orig_rax = UINT64_MAX;
    set->eflags &= ~UINT64_C(0x400); /* the direction flag is clear at calls */
    *word = 0;                       /* the return address */
}

#elif defined(__aarch64__)

const uint8_t td_isa_call_instruction[] = {0x01, 0x00, 0x00, 0xd4}; /* svc #0 */
const size_t td_isa_call_size = 4;

#    define PSTATE_32_BIT 0x10

unsigned td_isa_vector_note(void)
{
    return NT_PRFPREG;
}

uint32_t td_isa_machine(void)
{
    return EM_AARCH64;
}

bool td_isa_native(const struct td_live_registers *registers)
{
    return !(registers->set.pstate & PSTATE_32_BIT);
}

uint64_t td_isa_pc(const struct td_live_registers *registers)
{
    return registers->set.pc;
}

uint64_t td_isa_sp(const struct td_live_registers *registers)
{
    return registers->set.sp;
}

uint64_t td_isa_thread_pointer(const struct td_live_registers *registers)
{
    (void)registers;
    return 0;
}

/* arch/arm64/kernel/signal.c, do_signal: the kernel has set the registers before the call already
 * when it lets a tracer look. */
enum td_isa_state td_isa_state(const struct td_live_registers *registers, bool pending)
{
    const int64_t result = (int64_t)registers->set.regs[0];

    (void)pending;
    return td_isa_restarts(result) ? TD_ISA_RESTARTS : TD_ISA_IN_CODE;
}

void td_isa_call_again(struct td_live_registers *registers)
{
    (void)registers;
}

/* Not yet such that it goes on by itself: no register may be lost for the jump. */
void td_isa_detour(struct td_buf *code, const struct td_live_registers *own, uint64_t signal_mask,
                   bool clones)
{
    (void)own, (void)signal_mask, (void)clones;
    td_buf_bytes(code, td_isa_call_instruction, td_isa_call_size);
}

void td_isa_set_call(struct td_live_registers *registers, uint64_t at, long number,
                     const uint64_t arguments[5])
{
    registers->set.pc = at;
    registers->set.regs[8] = (uint64_t)number;
    for (int i = 0; i < 5; i++)
        registers->set.regs[i] = arguments[i];
}

int64_t td_isa_result(const struct td_live_registers *registers)
{
    return (int64_t)registers->set.regs[0];
}

void td_isa_get_call(const struct td_live_registers *registers, uint64_t *number,
                     uint64_t arguments[6])
{
    *number = registers->set.regs[8];
    for (int i = 0; i < 6; i++)
        arguments[i] = registers->set.regs[i];
}

void td_isa_set_function(struct td_live_registers *registers, uint64_t function, uint64_t argument,
                         uint64_t sp, uint64_t *word)
{
    registers->set.sp = sp & ~UINT64_C(15);
    registers->set.pc = function;
    registers->set.regs[0] = argument;
    registers->set.regs[30] = 0; /* the return address */
    *word = 0;
}

#endif
