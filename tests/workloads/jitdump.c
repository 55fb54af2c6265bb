/* SPDX-License-Identifier: MIT */
/* Runs code it wrote at run time, and describes it in a jitdump as V8 and others do: the file is
 * mapped as executable once, so that profilers see its name; lines come before the code. The same
 * page holds `early` for the first half of the time and `late` then. jitdump [SECONDS] [FOLDER] */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

enum { CODE_LOAD = 0, CODE_DEBUG_INFO = 2 };

/* mov $1000000,%eax; 1: imul %rdi,%rdi; dec %eax; jnz 1b; mov %rdi,%rax; ret */
static const unsigned char early[] = {0xb8, 0x40, 0x42, 0x0f, 0x00, 0x48, 0x0f, 0xaf, 0xff,
                                      0xff, 0xc8, 0x75, 0xf8, 0x48, 0x89, 0xf8, 0xc3};
/* The same behind sixteen nops, so that its loop is elsewhere. */
static const unsigned char late[] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
                                     0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xb8, 0x40,
                                     0x42, 0x0f, 0x00, 0x48, 0x0f, 0xaf, 0xff, 0xff, 0xc8,
                                     0x75, 0xf8, 0x48, 0x89, 0xf8, 0xc3};

struct header {
    uint32_t magic, version, size, machine, padding, pid;
    uint64_t time_ns, flags;
};

struct prefix {
    uint32_t id, size;
    uint64_t time_ns;
};

struct load {
    struct prefix prefix;
    uint32_t pid, tid;
    uint64_t emitted_at, address, size, index;
};

struct lines {
    struct prefix prefix;
    uint64_t address, count;
    struct {
        uint64_t address;
        uint32_t line, discriminator;
    } entry;
};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void describe(FILE *dump, const void *place, const unsigned char *code, size_t size,
                     const char *name, uint32_t line)
{
    static const char file[] = "/nowhere/app.js";
    const uint64_t address = (uint64_t)(uintptr_t)place;
    const struct lines lines = {.prefix = {CODE_DEBUG_INFO, sizeof(lines) + sizeof(file), now_ns()},
                                .address = address,
                                .count = 1,
                                .entry = {address, line, 0}};
    const struct load load = {
        .prefix = {CODE_LOAD, (uint32_t)(sizeof(load) + strlen(name) + 1 + size), now_ns()},
        .pid = (uint32_t)getpid(),
        .tid = (uint32_t)getpid(),
        .emitted_at = address,
        .address = address,
        .size = size,
        .index = line};

    fwrite(&lines, sizeof(lines), 1, dump);
    fwrite(file, sizeof(file), 1, dump);
    fwrite(&load, sizeof(load), 1, dump);
    fwrite(name, strlen(name) + 1, 1, dump);
    fwrite(code, size, 1, dump);
}

static uint64_t run(void *place, const unsigned char *code, size_t size, double seconds, uint64_t x)
{
    mprotect(place, 4096, PROT_READ | PROT_WRITE);
    memcpy(place, code, size);
    mprotect(place, 4096, PROT_READ | PROT_EXEC);
    const double end = work_cpu_s() + seconds;
    while (work_cpu_s() < end)
        x = ((uint64_t(*)(uint64_t))place)(x | 1);
    return x;
}

int main(int argc, char **argv)
{
    const struct header header = {0x4a695444, 1, sizeof(header), 62, 0, (uint32_t)getpid(),
                                  now_ns(),   0};
    char path[512];
    void *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    snprintf(path, sizeof(path), "%s/jit-%d.dump", argc > 2 ? argv[2] : "/tmp", (int)getpid());
    FILE *dump = fopen(path, "w+");
    if (place == MAP_FAILED || !dump)
        return 1;
    fwrite(&header, sizeof(header), 1, dump);
    fflush(dump);
    if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
        return 1;
    describe(dump, place, early, sizeof(early), "early", 7);
    uint64_t x = run(place, early, sizeof(early), work_seconds(argc, argv) / 2, 3);
    describe(dump, place, late, sizeof(late), "late", 9);
    x = run(place, late, sizeof(late), work_seconds(argc, argv) / 2, x);
    fclose(dump);
    printf("%llu\n", (unsigned long long)x);
    return 0;
}
