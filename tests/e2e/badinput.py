#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Damaged profiles through the whole of tdreport: never a crash or a hang, and damage is never passed over quietly.
(The unit and fuzz tests try many more; here it is the programs, their messages and exit statuses.)"""
import os
import random

import td

CASES = int(os.environ.get("TD_BADINPUT_CASES", "150"))


def sample():
    td.need_perf_events()
    out = td.record([td.workload("chain"), "0.3"], "--call-graph", "fp")
    with open(out, "rb") as file:
        return file.read()


def examine(data, what):
    """Statuses: 0 good, 3 damaged or partial, 4 nothing to show."""
    path = td.scratch("bad.td")
    with open(path, "wb") as file:
        file.write(data)
    done = td.run([td.TDREPORT, "-i", path], (0, 3, 4), timeout=20)
    if done.returncode in (3, 4):
        said = done.stderr or b"cut off" in done.stdout or b"damaged" in done.stdout
        td.check(said, f"{what}: exit {done.returncode} without a word")
    return done


def prefixes():
    whole = sample()
    for size in sorted({*range(0, len(whole), max(1, len(whole) // CASES)), 1, 7, 8, len(whole) - 1}):
        done = examine(whole[:size], f"prefix of {size} bytes")
        td.check(done.returncode != 0 or size >= len(whole) - 16,
                 f"a prefix of {size} of {len(whole)} bytes was taken for a whole profile")


def mutations():
    whole = sample()
    reference = examine(whole, "whole").stdout
    generator = random.Random(1)
    for number in range(CASES):
        data = bytearray(whole)
        at = generator.randrange(len(data))
        data[at] ^= 1 << generator.randrange(8)
        done = examine(bytes(data), f"bit flipped at byte {at}")
        td.check(done.returncode != 0 or done.stdout == reference,
                 f"a bit flipped at byte {at} changed the report, and exit 0 (case {number})")


def others():
    """Files that are no profiles."""
    for name in ("/bin/true", "/etc/passwd", "/dev/null"):
        done = td.run([td.TDREPORT, "-i", name], (2, 3, 4))
        td.check(done.stderr, f"{name}: not a word")
    td.run([td.TDREPORT, "-i", td.SCRATCH], (2, 3, 4))


td.cases({"prefixes": prefixes, "mutations": mutations, "others": others})
