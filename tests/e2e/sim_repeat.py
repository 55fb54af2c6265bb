#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs of a single-threaded program on the modelled core are equal to the last slot: under load, from another folder,
with a longer environment."""
import os
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


def again():
    """Under load: as many spinning processes beside it as there are CPUs."""
    one = tallies("one")
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        compare("under load", one, tallies("loaded"))
    finally:
        for process in load:
            process.kill()
            process.wait()


def elsewhere():
    one = tallies("one")
    compare("from another folder", one, tallies("elsewhere", folder=td.SCRATCH))


def environment():
    one = tallies("one")
    for size in (2, 31, 3000):
        compare(f"with {size} more bytes of environment", one, tallies("padded", {"TD_PADDING": "x" * size}))


td.cases({"again": again, "elsewhere": elsewhere, "environment": environment})
