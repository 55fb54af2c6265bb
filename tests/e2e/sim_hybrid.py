#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--source hybrid: a native run for the time and a modelled one for the categories, in one profile."""
import os

import td

if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
    td.skip("the plugin is not built (sanitizers)")
td.need("qemu-x86_64")
td.need_perf_events()

# Half of the native time is a chain of divisions, half a loop that retires: the model must see both as they are.
PROGRAM = r"""
#include <stdlib.h>
static volatile unsigned long sink;
__attribute__((noinline)) static void divide(long n) {
    unsigned long x = ~0ul;
    for (long i = 0; i < n; i++) x = (x / (sink + 3)) + ~0ul / 2;
    sink = x & 1;
}
__attribute__((noinline)) static void add(long n) {
    unsigned long a = 1, b = 2, c = 3;
    for (long i = 0; i < n; i++) { a += i; b ^= i; c += b; }
    sink = (a + b + c) & 1;
}
int main(int argc, char **argv) { long n = atol(argv[1]); divide(n); add(12 * n); return argc > 2 ? 5 : 0; }
"""


def program():
    path = td.scratch("program")
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    td.run(["gcc", "-O1", "-g", "-o", path, path + ".c"])
    return path


def both():
    out = td.scratch("both.td")
    done = td.run([td.TDREC, "--source", "hybrid", "-o", out, "--", program(), "3000000", "more"], 5, timeout=230)
    td.check(b"natively" in done.stderr and b"modelled" in done.stderr, f"{done.stderr!r}")
    data = td.report_json(out)
    td.check(data["profile"]["source"] == "hybrid" and data["profile"]["exit"] == "exit 5", f"{data['profile']}")
    td.check(data["profile"]["instructions"] > 3000000 * 12 * 4, f"{data['profile']}")
    td.check(data["coverage"]["samples"] > 20 and data["coverage"]["complete"], f"{data['coverage']}")
    td.check(data["profile"]["duration_s"] < 20, "the duration is not the native run's")
    rows = {row["function"]: row for row in data["functions"]}
    td.check(rows["divide"]["categories"]["backend_bound"] > 0.5, f"{rows['divide']}")
    td.check(rows["add"]["categories"]["retiring"] > 0.5, f"{rows['add']}")


def refused():
    done = td.run([td.TDREC, "--source", "hybrid", "-o", td.scratch("x.td"), "--", "./no-such-program"], 127)
    td.check(done.stderr.count(b"\n") == 1, f"{done.stderr!r}")
    done = td.run([td.TDREC, "--source", "hybrid", "-o", td.scratch("x.td"), "-p", "1"], 125)
    td.check(b"runs a command" in done.stderr, f"{done.stderr!r}")
    td.check(not os.path.exists(td.scratch("x.td")), "a profile of nothing")


td.cases({"both": both, "refused": refused})
