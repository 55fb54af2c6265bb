/* SPDX-License-Identifier: MIT */
/* Calls of many depths without any library, so that frame pointers show whole stacks too. */
static volatile long sink;

__attribute__((noinline)) static long walk(long n, long depth)
{
    volatile long pad[5] = {n, depth};

    for (int i = 0; i < 50; i++)
        sink += i * pad[0];
    if (depth == 0)
        return pad[1];
    pad[2] = walk(n * 3 % 7, depth - 1);
    if (n % 3 == 0)
        pad[2] += walk(n * 5 % 11, depth - 1 - depth % 2 * (depth > 1));
    return pad[2] + 1;
}

int main(void)
{
    for (long i = 0; i < 2500; i++)
        sink += walk(i, 12 + i % 7);
    return 0;
}
