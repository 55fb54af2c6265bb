#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs of a single-threaded program on the modelled core are equal to the last slot: under load, from another folder,
with a longer environment; and what is reported of them to the last byte."""
import contextlib
import os
import re
import subprocess
import sys

import td

if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
    td.skip("the plugin is not built (sanitizers)")
td.need("qemu-x86_64")

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int argc, char **argv) {
    int *numbers = malloc(40000 * sizeof(*numbers)), local[256] = {0};
    unsigned seed = 1;
    for (int i = 0; i < 40000; i++) { seed = seed * 1103515245 + 12345; numbers[i] = seed >> 8; local[seed >> 24]++; }
    qsort(numbers, 40000, sizeof(*numbers), compare);
    printf("%d %d %zu\n", numbers[7], local[3], strlen(argv[argc - 1]));
    return 0;
}
"""


def program():
    path = td.scratch("program")
    if not os.path.exists(path):
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        td.run(["gcc", "-O1", "-g", "-o", path, path + ".c"])
    return path


def tallies(name, environment=None, folder="/"):
    """What the profile holds for each stack, in the canonical order of a merge."""
    out, merged = td.scratch(name + ".td"), td.scratch(name + ".merged.td")
    # The variables are as many in all runs: a program that walks them executes more with more of them.
    variables = {**os.environ, "PWD": folder, "OLDPWD": "/", "TD_PADDING": "x", **(environment or {})}
    td.run([td.TDREC, "-q", "--source", "sim", "-o", out, "--", program(), "argument"], env=variables, cwd=folder,
           timeout=230)
    td.run([td.TDREPORT, "merge", "-o", merged, out])
    dump = td.run([td.TDREPORT, "dump", "-i", merged]).stdout.decode().split("\n")
    rows = [line.strip() for line in dump if line.strip().startswith(("thread=", "node "))]
    td.check(len(rows) > 1000, f"{len(rows)} rows in the dump")
    return rows


def compare(what, one, other):
    differences = sum(a != b for a, b in zip(one, other)) + abs(len(one) - len(other))
    td.check(differences == 0, f"{what}: {differences} of {len(one)} rows differ")


@contextlib.contextmanager
def load():
    """As many spinning processes beside it as there are CPUs."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def again():
    one = tallies("one")
    with load():
        compare("under load", one, tallies("loaded"))


# More call paths than keep what they do from the first, recursion beyond its budget, and children.
PATHS = r"""
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define EACH(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
static uint64_t x = 1;
#define DECLARE(n) static void f##n(int depth);
EACH(DECLARE)
static void (*const calls[])(int) = {f0, f1, f2, f3, f4, f5, f6, f7};
static void go(int depth)
{
    if (depth > 0) {
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        calls[x >> 61](depth - 1);
        calls[x >> 40 & 7](depth - 2);
    }
}
#define DEFINE(n) static void f##n(int depth) { for (int i = 0; i < 3 * n; i++) x ^= x << 7 ^ x >> 9; go(depth); }
EACH(DEFINE)
int main(int argc, char **argv)
{
    go(atoi(argv[1]));
    for (int i = 2; i < argc; i++) {
        if (fork() == 0) {
            go(atoi(argv[i]));
            _exit(0);
        }
        wait(0);
    }
    return 0;
}
"""


def outputs(command):
    """What tdreport says of a run, but for how long it took."""
    out = td.scratch("equal.td")
    td.run([td.TDREC, "-q", "--source", "sim", "-o", out, "--", *command], timeout=230)
    texts = [td.run([td.TDREPORT, *words, "-i", out]).stdout.decode()
             for words in (["--json"], ["lines", "--json"], ["callers", "--json", "go"], ["folded"])]
    return [re.sub('"duration_s": [0-9.e-]+', "", text) for text in texts]


def report():
    """When snapshots are written depends on how busy the machine is; nothing that is shown may."""
    path = td.scratch("paths")
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(PATHS)
    td.run(["gcc", "-O1", "-g", "-o", path, path + ".c"])
    one = outputs([path, "18", "12", "13"])
    with load():
        for number in range(11):
            other = outputs([path, "18", "12", "13"])
            for a, b in zip(one, other):
                different = [pair for pair in zip(a.split("\n"), b.split("\n")) if pair[0] != pair[1]]
                td.check(a == b, f"run {number}: {len(different)} lines differ: {different[:3]}")


def elsewhere():
    one = tallies("one")
    compare("from another folder", one, tallies("elsewhere", folder=td.SCRATCH))


def environment():
    one = tallies("one")
    for size in (2, 31, 3000):
        compare(f"with {size} more bytes of environment", one, tallies("padded", {"TD_PADDING": "x" * size}))


td.cases({"again": again, "report": report, "elsewhere": elsewhere, "environment": environment})
