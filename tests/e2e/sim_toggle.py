#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tdrec --toggle FUNC: on the modelled core, exactly what runs while the function is on the stack is in the profile."""
import os

import td

if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
    td.skip("the plugin is not built (sanitizers)")
td.need("qemu-x86_64")
td.need("gcc")

# `shared` runs inside and outside; `chosen` calls itself, and is left by longjmp.
PROGRAM = r"""
#include <setjmp.h>
#include <stdint.h>
#define NOINLINE __attribute__((noinline, noclone))
static jmp_buf back;
static volatile uint64_t sink;
NOINLINE static void shared(unsigned n)
{
    uint64_t x = n;
    for (unsigned i = 0; i < n; i++)
        x = x * 6364136223846793005ULL + i;
    sink = x;
}
NOINLINE static void chosen(unsigned depth)
{
    shared(3000);
    if (depth)
        chosen(depth - 1);
    else
        longjmp(back, 1);
    sink++;
}
NOINLINE static void other(void)
{
    shared(7000);
    sink++;
}
int main(void)
{
    for (unsigned i = 0; i < 50; i++) {
        if (setjmp(back) == 0)
            chosen(i % 4);
        other();
    }
    return 0;
}
"""


def build():
    path = td.scratch("toggled")
    source = td.scratch("toggled.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(PROGRAM)
    td.run(["gcc", "-O1", "-g", "-fno-optimize-sibling-calls", "-o", path, source])
    return path


def inclusive(path):
    return {row["function"]: row["inclusive"] for row in td.report_json(path, "functions", "--children")["functions"]}


def exact():
    """To the slot what the whole profile says of the function with all that it calls."""
    program, whole, part = build(), td.scratch("whole.td"), td.scratch("part.td")
    td.run([td.TDREC, "--source", "sim", "-o", whole, "--", program])
    done = td.run([td.TDREC, "--toggle", "chosen", "-o", part, "--", program])
    expected, found = inclusive(whole), inclusive(part)
    td.check(found["chosen"] == expected["chosen"] and found["main"] == found["chosen"], f"{expected} {found}")
    td.check("other" not in found and 0 < found["shared"] < expected["shared"], f"{expected} {found}")
    total = td.report_json(part)["total"]
    td.check(total["slots"] == expected["chosen"], f"{total} {expected}")
    td.check(b"only what ran in chosen" in done.stderr and b"only what ran in chosen" in td.run(
        [td.TDREPORT, "-i", part]).stdout, f"{done.stderr!r}")


def names():
    """C++ functions by the names that people write."""
    out = td.scratch("names.td")
    for name in ("shapes::Circle::area", "area"):
        td.run([td.TDREC, "--toggle", name, "-o", out, "--", td.workload("shapes")])
        td.check(any("Circle::area" in function for function in inclusive(out)), f"{name}: {inclusive(out)}")


def refused():
    """A function that is not there leaves an empty profile that says so; natively it is refused with what works."""
    out = td.scratch("refused.td")
    done = td.run([td.TDREC, "--toggle", "no_such_function", "-o", out, "--", build()])
    td.check(b"no function of the program is called 'no_such_function'" in done.stderr, f"{done.stderr!r}")
    done = td.run([td.TDREPORT, "-i", out], 4)
    td.check(b"--toggle" in done.stderr, f"{done.stderr!r}")
    for words in (("--source", "clock"), ("--count",), ("--source", "sim", "--sim-sample")):
        done = td.run([td.TDREC, *words, "--toggle", "main", "-o", out, "--", "true"], 125)
        td.check(b"--source sim" in done.stderr and done.stderr.count(b"\n") == 1, f"{words}: {done.stderr!r}")


td.cases({"exact": exact, "names": names, "refused": refused})
