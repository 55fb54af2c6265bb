#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""On the modelled core, code counts to the file that was mapped when it ran, whatever is mapped there before or after."""
import os

import td

if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
    td.skip("the plugin is not built (sanitizers)")
td.need("qemu-x86_64")
td.need("gcc")

LIBRARY = r"""
#include <stdint.h>
uint64_t NAME(uint64_t x);
uint64_t NAME(uint64_t x)
{
    for (int i = 0; i < 10000 * ROUNDS; i++)
        x = x * 6364136223846793005ULL + ROUNDS;
    return x;
}
"""
# Opens, runs and closes each library in turn: as a rule the second lies where the first was.
LOADER = r"""
#include <dlfcn.h>
#include <stdint.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < 40; i++) {
        for (int k = 1; k + 1 < argc; k += 2) {
            void *library = dlopen(argv[k], RTLD_NOW);
            uint64_t (*call)(uint64_t) = library ? (uint64_t (*)(uint64_t))dlsym(library, argv[k + 1]) : 0;
            if (!call)
                return 2;
            call(1);
            dlclose(library);
        }
    }
    return 0;
}
"""
# Maps the page of a function of each file at one address in turn; `u`: unmaps it after that.
MAPPER = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char *const at = (char *)0x200000000;
    for (int i = 0; i < 40; i++) {
        for (int k = 2; k + 1 < argc; k += 2) {
            const unsigned long offset = strtoul(argv[k + 1], 0, 16);
            const int fd = open(argv[k], O_RDONLY);
            if (mmap(at, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, offset & ~4095UL) != at)
                return 3;
            close(fd);
            ((uint64_t (*)(uint64_t))(at + (offset & 4095)))(1);
            if (argv[1][0] == 'u')
                munmap(at, 4096);
        }
    }
    return 0;
}
"""
# Puts a copy of its code where the code was, in memory of its own, as programs do to have it on large pages.
MOVER = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#define PAGE __attribute__((aligned(4096), noinline, section(".hot")))
PAGE uint64_t early(uint64_t x)
{
    for (int i = 0; i < 600000; i++)
        x = x * 6364136223846793005ULL + 3;
    return x;
}
PAGE uint64_t late(uint64_t x)
{
    for (int i = 0; i < 200000; i++)
        x = x * 6364136223846793005ULL + 3;
    return x;
}
int main(int argc, char **argv)
{
    enum { SIZE = 8192, ALL = PROT_READ | PROT_WRITE | PROT_EXEC };
    void *const text = (void *)((uintptr_t)early & ~4095UL);
    void *const copy = mmap(NULL, SIZE, ALL, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t x = argc;
    memcpy(copy, text, SIZE);
    if (argv[1][0] == 'm' && mremap(copy, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, text) == MAP_FAILED)
        return 3;
    if (argv[1][0] == 'c') {
        if (mmap(text, SIZE, ALL, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
            return 3;
        memcpy(text, copy, SIZE);
    }
    return (early(x) ^ late(x)) == 1;
}
"""
# Reads a line of each page, in a chain: of a file, of a copy of it that the program has written before, or of memory of its
# own that lies where the file was and was never touched.
READER = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
enum { PAGES = 4096 };
__attribute__((noinline)) uint64_t walk(const uint8_t *at)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < PAGES; i++)
        sum += at[(i * 1237 + (sum & 1)) % PAGES * 4096];
    return sum;
}
int main(int argc, char **argv)
{
    const int fd = open(argv[1], O_RDONLY);
    uint8_t *at = mmap(NULL, PAGES * 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    if (argc > 2 && mmap(at, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
        return 3;
    return walk(at) == 1;
}
"""
RESERVER = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
int main(void)
{
    return mmap(0, 32UL << 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED &&
           errno == ENOMEM ? 7 : 0;
}
"""


def build(name, source, *options):
    path = td.scratch(name)
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(source)
    td.run(["gcc", "-O1", "-g", *options, "-o", path, path + ".c"])
    return path


def libraries():
    """Of three and one parts of the work, each with its function's name."""
    shared = ["-shared", "-fPIC"]
    return [(build(name + ".so", LIBRARY, *shared, f"-DNAME={name}", f"-DROUNDS={rounds}"), name)
            for name, rounds in (("three", 3), ("one", 1))]


def functions(command):
    """{(function, module): slots}, and of all"""
    rows = td.report_json(td.record(command, source="sim"), "functions")["functions"]
    return {(row["function"], row["module"]): row["slots"] for row in rows}, sum(row["slots"] for row in rows)


def check_shares(command, wanted):
    """wanted: {(function, module): its part of what they take together}; nothing else takes a tenth of it."""
    slots, whole = functions(command)
    both = sum(slots.get(place, 0) for place in wanted)
    for place, part in wanted.items():
        share = slots.get(place, 0) / max(both, 1)
        td.check(abs(share - part) < 0.02, f"{command}: {place} has {share:.3f}, not {part}: {slots}")
    unknown = sum(value for (name, _), value in slots.items() if not name or name == "[unknown]")
    td.check(unknown < whole / 100, f"{command}: {unknown} of {whole} slots have no name")


def closed():
    pairs = libraries()
    words = [word for pair in pairs for word in pair]
    check_shares([build("loader", LOADER, "-ldl"), *words], {("three", "three.so"): 0.75, ("one", "one.so"): 0.25})


def in_turn():
    pairs = libraries()
    words = []
    for path, name in pairs:
        symbols = td.run(["nm", path]).stdout.decode().split("\n")
        words += [path, next(line.split()[0] for line in symbols if line.endswith(f" T {name}"))]
    mapper = build("mapper", MAPPER)
    for how in "uf":
        check_shares([mapper, how, *words], {("three", "three.so"): 0.75, ("one", "one.so"): 0.25})


def moved():
    mover = build("mover", MOVER)
    for how in "mc":
        check_shares([mover, how], {("early", "mover"): 0.75, ("late", "mover"): 0.25})


def share_of_memory(command):
    """What walk() waits for memory, of its slots, on a core that knows what the kernel does to pages."""
    rows = td.report_json(td.record(command, "--sim-core", "zen4", source="sim"), "functions")["functions"]
    return next(row["categories"].get("dram_bound", 0) for row in rows if row["function"] == "walk")


def files():
    """What a file's pages hold is in memory; what the kernel has just cleared is not."""
    reader, path = build("reader", READER), td.scratch("file")
    with open(path, "wb") as file:
        file.write(bytes(4096 * 4096))
    read, own = share_of_memory([reader, path]), share_of_memory([reader, path, "own"])
    td.check(read > 0.3 and own < 0.1, f"slots that wait for memory: {read} of a file, {own} of memory of its own")


def reserved():
    done = td.run([td.TDREC, "--source", "sim", "-o", td.scratch("reserved.td"), "--", build("reserver", RESERVER)], 7,
                  timeout=60)
    td.check(b"asked for more than 512 GB of addresses at once" in done.stderr, done.stderr.decode())


td.cases({"closed": closed, "in_turn": in_turn, "moved": moved, "files": files, "reserved": reserved})
