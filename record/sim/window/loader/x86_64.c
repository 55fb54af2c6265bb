/* SPDX-License-Identifier: MIT */
#include "record/sim/window/loader/machine.h"

#if defined(__x86_64__)

enum {
    CALL_ARCH_PRCTL = 158,
    ARCH_SET_GS = 0x1001,
    ARCH_SET_FS = 0x1002,
    LEGACY_BYTES = 512,        /* of an xsave area: what fxsave stores */
    HEADER_BYTES = 64,         /* behind it */
    CALL_BYTES = 2,            /* of the instruction */
    RESTORED = 7,              /* x87, SSE, AVX: what the emulator has */
    FLAGS_RESTORED = 0x240cd5, /* those of eflags that a user program can change; not TF */
};

/* struct user_regs_struct */
struct registers {
    uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip,
        cs, eflags, rsp, ss, fs_base, gs_base, ds, es, fs, gs;
};

/* As td_x86_go pops them. */
static struct {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax, eflags, rsp,
        rip;
} going __asm__("td_x86_going") __attribute__((used));

void td_x86_go(void *xsave) __attribute__((noreturn));
/* Hidden: found by the distance to it, since the loader is moved. */
void td_x86_restorer(void) __attribute__((visibility("hidden")));

__asm__(".globl _start\n"
        "_start: and $-16, %rsp\n"
        "call td_loader_main\n"
        ".globl td_x86_restorer\n"
        "td_x86_restorer: mov $15, %eax\n"
        "syscall\n"
        ".globl td_x86_go\n"
        "td_x86_go: mov $7, %eax\n"
        "xor %edx, %edx\n"
        "xrstor (%rdi)\n"
        "lea td_x86_going(%rip), %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %r11\npop %r10\npop %r9\npop %r8\n"
        "pop %rdi\npop %rsi\npop %rbp\npop %rbx\npop %rdx\npop %rcx\npop %rax\npopfq\n"
        "mov td_x86_going+128(%rip), %rsp\n"
        "jmp *td_x86_going+136(%rip)\n");

long td_loader_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;

    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return number;
}

bool td_machine_can_resume(const struct td_live_image_head *head)
{
    return head->registers_size >= sizeof(struct registers) &&
           head->vector_size >= LEGACY_BYTES + HEADER_BYTES + 256 && head->vector % 64 == 0 &&
           head->registers % 8 == 0;
}

void td_machine_prepare(const struct td_live_image_head *head, uint8_t *tables)
{
    const struct registers *r = (const void *)(tables + head->registers);
    uint64_t *header = (void *)(tables + head->vector + LEGACY_BYTES);

    header[0] &= RESTORED;
    for (int i = 1; i < HEADER_BYTES / 8; i++)
        header[i] = 0;
    CALL(CALL_ARCH_PRCTL, ARCH_SET_FS, head->thread_pointer, 0, 0, 0, 0);
    CALL(CALL_ARCH_PRCTL, ARCH_SET_GS, r->gs_base, 0, 0, 0, 0);
    going.r15 = r->r15, going.r14 = r->r14, going.r13 = r->r13, going.r12 = r->r12;
    going.r11 = r->r11, going.r10 = r->r10, going.r9 = r->r9, going.r8 = r->r8;
    going.rdi = r->rdi, going.rsi = r->rsi, going.rbp = r->rbp, going.rbx = r->rbx;
    going.rdx = r->rdx, going.rcx = r->rcx, going.rax = r->rax;
    going.eflags = r->eflags & FLAGS_RESTORED;
    going.rsp = r->rsp, going.rip = r->rip;
}

void td_machine_resume(const struct td_live_image_head *head, uint8_t *tables)
{
    td_x86_go(tables + head->vector);
}

/* The kernel's struct ucontext, up to what is changed. */
struct interrupted {
    uint64_t flags, link, stack[3];
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
};

void td_machine_answer(void *interrupted, int64_t result, bool again)
{
    struct interrupted *it = interrupted;

    it->rax = (uint64_t)result;
    it->rip += again ? CALL_BYTES : 0;
}

void td_machine_on_signal(int number, td_machine_handler *handler)
{
    /* The kernel's struct sigaction. Not blocked while it is handled: it may not return. */
    const struct {
        td_machine_handler *handler;
        uint64_t flags;
        void (*restorer)(void);
        uint64_t mask;
    } action = {handler, 0x4c000004 /* NODEFER, ONSTACK, RESTORER, SIGINFO */, td_x86_restorer, 0};

    CALL(CALL_SIGACTION, number, &action, 0, 8, 0, 0);
}

#endif
