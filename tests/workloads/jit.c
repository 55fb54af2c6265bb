/* SPDX-License-Identifier: MIT */
/* Runs code it wrote at run time, and names it in /tmp/perf-PID.map: all time is in jit_loop. jit
 * [SECONDS [MEGABYTES]]: so many of lines about other code stand before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work.h"

/* mov $1000000,%eax; 1: imul %rdi,%rdi; dec %eax; jnz 1b; mov %rdi,%rax; ret */
static const unsigned char code[] = {0xb8, 0x40, 0x42, 0x0f, 0x00, 0x48, 0x0f, 0xaf, 0xff,
                                     0xff, 0xc8, 0x75, 0xf8, 0x48, 0x89, 0xf8, 0xc3};

int main(int argc, char **argv)
{
    static char others[1024]; /* lines about other code */
    char path[64];
    uint64_t x = 3;
    void *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (place == MAP_FAILED)
        return 1;
    memcpy(place, code, sizeof(code));
    mprotect(place, 4096, PROT_READ | PROT_EXEC);
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    if (!map)
        return 1;
    for (size_t i = 0; i < sizeof(others); i += 8)
        memcpy(others + i, "1 1 abc\n", 8);
    for (long i = 0; argc > 2 && i < atol(argv[2]) << 10; i++)
        fwrite(others, sizeof(others), 1, map);
    fprintf(map, "%lx %zx jit_loop\n", (unsigned long)place, sizeof(code));
    fclose(map);
    const double end = work_end_s(argc, argv);
    while (work_cpu_s() < end)
        x = ((uint64_t(*)(uint64_t))place)(x | 1);
    printf("%llu\n", (unsigned long long)x);
    return 0;
}
