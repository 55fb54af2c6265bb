/* SPDX-License-Identifier: MIT */
/* A program without a library, small enough to be kept beside its samples (tests/data/unwind). */
static volatile long sink;

__attribute__((noinline)) static long leaf(long n)
{
    long sum = 0;

    for (long i = 0; i < 2000; i++)
        sum += i * n;
    sink += sum;
    return sum;
}

__attribute__((noinline)) static long branch(long n)
{
    volatile long pad[16];

    pad[n % 16] = leaf(n);
    return n <= 1 ? pad[n % 16] : branch(n - 1) + branch(n - 2) + pad[n % 16];
}

__attribute__((force_align_arg_pointer, noreturn)) void _start(void)
{
    for (long i = 0; i < 200; i++)
        sink += branch(12);
    __asm__ volatile("syscall" ::"a"(231L), "D"(0L));
    __builtin_unreachable();
}
