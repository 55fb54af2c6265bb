#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`--sim-sample`: close to the whole model, the same each time, and unnoticed by a program that forks, makes threads,
takes signals, writes its own code and executes another program where it is not modelled."""
import json
import os

import td

if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
    td.skip("the plugin is not built (sanitizers)")
td.need("qemu-x86_64")

# Phases of a few million instructions: sorting, a chain through 4 MB, hashing of bytes.
PHASES = r"""
#include <stdio.h>
#include <stdlib.h>
static unsigned seed = 1;
static unsigned next(void) { return seed = seed * 1103515245 + 12345; }
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int numbers[20000], chain[1 << 20];
__attribute__((noinline)) static int sorted(void) {
    for (int i = 0; i < 20000; i++) numbers[i] = next() >> 8;
    qsort(numbers, 20000, sizeof(*numbers), compare);
    return numbers[7];
}
__attribute__((noinline)) static int chased(int at) {
    for (int i = 0; i < 200000; i++) at = chain[at];
    return at;
}
__attribute__((noinline)) static unsigned hashed(const unsigned char *bytes) {
    unsigned hash = 2166136261u;
    for (int i = 0; i < 700000; i++) hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
}
int main(void) {
    unsigned sum = 0;
    for (int i = 0; i < 1 << 20; i++) chain[i] = (i * 40503 + 12345) & ((1 << 20) - 1);
    for (int round = 0; round < 8; round++) sum += sorted() + chased(round) + hashed((unsigned char *)chain);
    printf("%u\n", sum);
    return 0;
}
"""

# Square roots and divides that chains of sums wait for.
NBODY = r"""
#include <math.h>
#include <stdio.h>
enum { N = 400 };
static double x[N], y[N], z[N], vx[N], vy[N], vz[N];
__attribute__((noinline)) static void step(double dt) {
    for (int i = 0; i < N; i++) {
        double ax = 0, ay = 0, az = 0;
        for (int j = 0; j < N; j++) {
            double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i], d2 = dx * dx + dy * dy + dz * dz + 1e-9;
            double f = 1 / (d2 * __builtin_sqrt(d2));
            ax += dx * f; ay += dy * f; az += dz * f;
        }
        vx[i] += dt * ax; vy[i] += dt * ay; vz[i] += dt * az;
    }
}
__attribute__((noinline)) static void move(double dt) {
    for (int i = 0; i < N; i++) { x[i] += dt * vx[i]; y[i] += dt * vy[i]; z[i] += dt * vz[i]; }
}
int main(void) {
    for (int i = 0; i < N; i++) { x[i] = i * 37 % N; y[i] = i * 101 % N; z[i] = i * 211 % N; }
    for (int k = 0; k < 20; k++) { step(1e-3); move(1e-3); }
    printf("%g\n", x[0]);
    return 0;
}
"""

# Every window is like every other.
ALIKE = r"""
int main(void) {
    volatile unsigned long sum = 0;
    unsigned long x = 1;
    for (long i = 0; i < 5000000; i++) x = x * 31 + 7;
    sum = x;
    return sum == 1;
}
"""

EVENTS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long work_done;
static volatile sig_atomic_t signals;
static jmp_buf back;
__attribute__((noinline)) static unsigned long work(unsigned long millions) {
    unsigned long x = 1;
    for (unsigned long i = 0; i < millions * 250000; i++) x = x * 31 + (x >> 7);
    work_done += millions;
    return x;
}
static void on_signal(int number) { signals += number == SIGUSR1; }
static void on_fault(int number) { (void)number; longjmp(back, 1); }
static void *thread(void *arg) { return (void *)(work((unsigned long)arg) & 0xff); }
static int patched(unsigned char *code, int value) {
    memcpy(code, "\xb8\0\0\0\0\xc3", 6);
    memcpy(code + 1, &value, sizeof(value));
    return ((int (*)(void))code)();
}
int main(int argc, char **argv) {
    unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long sum = work(15);
    int status = 0, numbers = 0;
    signal(SIGUSR1, on_signal);
    signal(SIGSEGV, on_fault);
    for (int i = 0; i < 40; i++) { numbers += patched(code, i); raise(SIGUSR1); sum += work(1); }
    if (setjmp(back) == 0) *(volatile int *)16 = 1;
    printf("%d signals, %d, %lx\n", (int)signals, numbers, sum);
    fflush(stdout);
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            sum = work(13 + i);
            if (i == 2) abort();
            printf("child %d %lx\n", i, sum);
            fflush(stdout);
            _exit(10 + i);
        }
        wait(&status);
        printf("status %d\n", status & 0xff7f);
    }
    pthread_t threads[3];
    void *result = NULL;
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, thread, (void *)(unsigned long)(12 + i));
    for (int i = 0; i < 3; i++) { pthread_join(threads[i], &result); printf("thread %lx\n", (unsigned long)result); }
    sum = work(5);
    printf("%lx\n", sum);
    fflush(stdout);
    if (argc > 1) execlp("sh", "sh", "-c", argv[1], (char *)NULL);
    return 1;
}
"""


def build(name, source, *options):
    path = td.scratch(name)
    if not os.path.exists(path):
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write(source)
        td.run(["gcc", "-O1", "-g", "-pthread", *options, "-o", path, path + ".c", "-lm"])
    return path


def record(name, command, *options, **more):
    out = td.scratch(name + ".td")
    done = td.run([td.TDREC, "-q", "--source", "sim", *options, "-o", out, "--", *command], timeout=230, **more)
    return out, done


def profile(path):
    return json.loads(td.run([td.TDREPORT, "-i", path, "--json"]).stdout)


def close():
    """The bounds are wider than those of long programs: there are less than 100 windows here."""
    program = build("phases", PHASES)
    exact = profile(record("exact", [program])[0])
    sampled = profile(record("sampled", [program], "--sim-sample")[0])
    whole, part = exact["profile"], sampled["profile"]
    td.check(abs(part["instructions"] / whole["instructions"] - 1) < 0.001, "instructions are counted")
    td.check(10e6 < part["detailed_instructions"] < 0.25 * whole["instructions"],
             f"{part['detailed_instructions']} of {part['instructions']} instructions modelled exactly")
    error = abs(part["cycles"] - whole["cycles"])
    td.check(error < 0.15 * whole["cycles"], f"cycles: {error / whole['cycles']:.3f} off")
    td.check(error < part["cycles_error"], f"stated error {part['cycles_error']}, error {error}")
    shares = {node["id"]: node["share"] for node in sampled["tree"]}
    for node in exact["tree"]:
        td.check(abs(shares.get(node["id"], 0) - node["share"]) < 0.08,
                 f"{node['id']}: {shares.get(node['id'])} of {node['share']}")


def covered(exact, sampled):
    """(name, difference, error) of the nodes of the tree, of functions, of what is shown of functions' categories."""
    whole = {node["id"]: node["share"] for node in exact["tree"]}
    for node in sampled["tree"]:
        yield node["id"], abs(node["share"] - whole.get(node["id"], 0)), node["error"]
    rows = {(row["function"], row["module"]): row for row in exact["functions"]}
    for row in sampled["functions"]:
        truth = rows.get((row["function"], row["module"]))
        if not truth or row["slots_share"] < 0.005:
            continue
        yield row["function"], abs(row["slots_share"] - truth["slots_share"]), row["error"]
        for node, share in row["categories"].items():
            if share is not None:
                yield (f"{row['function']} {node}", abs(share - (truth["categories"].get(node) or 0)),
                       row["category_errors"][node])


def errors():
    """What the report says of its errors holds, of every category and every function."""
    cells, missed = 0, []
    for name, source, options in (("phases", PHASES, ()), ("nbody", NBODY, ()),
                                  ("nbody3", NBODY, ("-O3", "-ffast-math", "-mavx"))):
        program = build(name, source, *options)
        exact, sampled = (profile(record(f"{name}.{k}", [program], *more)[0])
                          for k, more in enumerate(((), ("--sim-sample",))))
        td.check(all(node["error"] > 0 for node in sampled["tree"] if node["share"] > 0.001), f"{name}: a node without error")
        td.check(all(node["error"] == 0 for node in exact["tree"]), f"{name}: exact, and with an error")
        td.check(all(row["error"] > 0 for row in sampled["functions"] if row["slots_share"] > 0.005),
                 f"{name}: a function without error")
        td.check("category_errors" not in exact["functions"][0], f"{name}: exact, and categories with errors")
        for cell, off, error in covered(exact, sampled):
            cells += 1
            if off > error + 1e-5:
                missed.append(f"{name} {cell}: {off:.4f} off, stated {error:.4f}")
            td.check(error <= 1, f"{name} {cell}: error {error}")
        text = td.run([td.TDREPORT, "-i", td.scratch(f"{name}.1.td"), "functions"]).stdout.decode()
        td.check("±" in text or "+/-" in text, text)
    td.check(len(missed) <= 0.1 * cells, f"{len(missed)} of {cells} cells: " + "; ".join(missed))
    td.check(cells > 80, f"{cells} cells")


def alike():
    """Windows that agree are not the whole: what all of them have in common is an error, too."""
    sampled = profile(record("alike", [build("alike", ALIKE)], "--sim-sample")[0])
    td.check(sampled["profile"]["detailed_instructions"] < 0.8 * sampled["profile"]["instructions"], "it was not sampled")
    total = sampled["total"]
    td.check(all(total[name] > 0 for name in total if name.endswith("_error")), f"without error: {total}")
    td.check(all(node["error"] > 0 for node in sampled["tree"] if node["share"] > 0.001), "a node without error")
    td.check(all(row["error"] > 0 for row in sampled["functions"] if 0.005 < row["slots_share"] < 0.995), "a function without error")


def again():
    """The same tallies twice."""
    program = build("phases", PHASES)
    rows = []
    for name in ("first", "second"):
        merged = td.scratch(name + ".merged.td")
        td.run([td.TDREPORT, "merge", "-o", merged, record(name, [program], "--sim-sample")[0]])
        dump = td.run([td.TDREPORT, "dump", "-i", merged]).stdout.decode().split("\n")
        rows.append([line.strip() for line in dump if line.strip().startswith(("thread=", "node "))])
    td.check(len(rows[0]) > 100, f"{len(rows[0])} rows in the dump")
    td.check(rows[0] == rows[1], "two sampled runs differ")


def unnoticed():
    program = [build("events", EVENTS), "echo $0 $((6 * 7)); exit 9"]
    native = td.run(program, status=9)
    path, done = record("events", program, "--sim-sample", status=9)
    td.check(done.stdout == native.stdout, f"{native.stdout.decode()}\nsampled:\n{done.stdout.decode()}")
    total = profile(path)["profile"]["instructions"]
    # work(): four instructions a round, 15 + 40 + 13 + 14 + 15 + 12 + 13 + 14 + 5 millions of instructions at least.
    td.check(total > 141e6, f"{total} instructions")


td.cases({"close": close, "errors": errors, "alike": alike, "again": again, "unnoticed": unnoticed})
