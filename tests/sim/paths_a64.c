/* SPDX-License-Identifier: MIT */
/* Call paths that are hard to follow, each ending in a function of its own that takes time. */
#include <setjmp.h>
#include <stdint.h>

#define KEEP __attribute__((noinline, noclone))

static volatile uint64_t sink;
static jmp_buf place;

/* Not a call in tail position: the frame must stay. */
#define AFTER() __asm__ volatile("" ::: "memory")

static inline void work(void)
{
    for (int i = 0; i < 20000; i++)
        sink += (uint64_t)i;
}

KEEP void leaf_recursive(void)
{
    work();
}

KEEP void recurse(int depth)
{
    if (depth == 0)
        leaf_recursive();
    else
        recurse(depth - 1);
    AFTER();
}

KEEP void leaf_tail(void)
{
    work();
}

__attribute__((noinline, noclone, optimize("optimize-sibling-calls"))) void tail(void)
{
    leaf_tail();
}

KEEP void leaf_before_jump(void)
{
    work();
    AFTER();
}

KEEP void jumps(int depth)
{
    if (depth == 0) {
        leaf_before_jump();
        longjmp(place, 1);
    }
    jumps(depth - 1);
    AFTER();
}

KEEP void leaf_after_jump(void)
{
    work();
}

KEEP void lands(void)
{
    if (setjmp(place) == 0)
        jumps(3);
    leaf_after_jump();
    AFTER();
}

KEEP void leaf_last(void)
{
    work();
}

int main(void)
{
    recurse(3);
    tail();
    for (int i = 0; i < 3; i++)
        lands();
    leaf_last();
    AFTER();
    return 0;
}
