/* SPDX-License-Identifier: MIT */
/* Hand-written x86-64 with call frame information: a stack switched to another register, one found
 * through memory, one realigned by hand, a frame without any of it but a frame pointer. */
        .text
        .globl  by_rax
        .type   by_rax, @function
by_rax:                                 /* as OpenSSL does: the stack pointer kept in rax */
        .cfi_startproc
        movq    %rsp, %rax
        .cfi_def_cfa_register %rax
        subq    $256, %rsp
        andq    $-64, %rsp
        movl    $1000, %ecx
1:      decl    %ecx
        jnz     1b
        movq    %rax, %rsp
        .cfi_def_cfa_register %rsp
        ret
        .cfi_endproc
        .size   by_rax, . - by_rax

        .globl  by_memory
        .type   by_memory, @function
by_memory:                              /* the caller's stack pointer saved in the frame */
        .cfi_startproc
        movq    %rsp, %rax
        .cfi_def_cfa_register %rax
        subq    $128, %rsp
        andq    $-32, %rsp
        movq    %rax, 64(%rsp)
        .cfi_escape 0x0f, 0x06, 0x77, 0xc0, 0x00, 0x06, 0x23, 0x08
        movl    $1000, %ecx
1:      decl    %ecx
        jnz     1b
        call    by_rax
        movq    64(%rsp), %rsp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   by_memory, . - by_memory

        .globl  by_rbx
        .type   by_rbx, @function
by_rbx:                                 /* as ld.so's lazy resolver does */
        .cfi_startproc
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        movq    %rsp, %rbx
        .cfi_def_cfa_register %rbx
        andq    $-64, %rsp
        subq    $192, %rsp
        call    by_memory
        movl    $1000, %ecx
1:      decl    %ecx
        jnz     1b
        movq    %rbx, %rsp
        .cfi_def_cfa_register %rsp
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   by_rbx, . - by_rbx

        .globl  bare
        .type   bare, @function
bare:                                   /* no call frame information, a frame pointer */
        pushq   %rbp
        movq    %rsp, %rbp
        call    by_rbx
        movl    $1000, %ecx
1:      decl    %ecx
        jnz     1b
        leave
        ret
        .size   bare, . - bare

        .globl  main
        .type   main, @function
main:
        .cfi_startproc
        pushq   %r12
        .cfi_def_cfa_offset 16
        .cfi_offset %r12, -16
        movl    $100000, %r12d
1:      call    bare
        decl    %r12d
        jnz     1b
        xorl    %eax, %eax
        popq    %r12
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   main, . - main
        .section .note.GNU-stack, "", @progbits
