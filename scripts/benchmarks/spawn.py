# SPDX-License-Identifier: MIT
"""2,100 short processes at 99 Hz: shares by program, ours against system-wide perf in the same run, and perf's
inherited events for comparison."""
import math
import os
import re

from . import common

PROGRAMS = {"make", "sh", "gcc", "cc1", "as", "ar", "collect2"}


def perf_counts(path):
    text = common.run([common.perf(), "report", "-i", path, "--stdio", "--no-children", "-g", "none", "-s", "comm",
                       "-F", "sample,comm", "-t", "\t"]).out
    counts = {}
    for line in text.split("\n"):
        match = re.match(r"\s*(\d+)\s*\t\s*(\S+)", line)
        if match and match.group(2) in PROGRAMS:
            counts[match.group(2)] = counts.get(match.group(2), 0) + int(match.group(1))
    return counts


def td_counts(path):
    data = common.td_json(path, "threads", "--percent-limit", "0")
    counts = {}
    for row in data["threads"]:
        name = row["thread"]
        if name in PROGRAMS:
            counts[name] = counts.get(name, 0) + row["samples"]
    return counts


def shares(counts):
    total = sum(counts.values())
    return {name: count / total for name, count in counts.items()} if total else {}


def distance(one, other):
    return sum(abs(one.get(n, 0) - other.get(n, 0)) for n in {*one, *other}) / 2


def text_of(parts):
    return ", ".join(f"{n} {v * 100:.0f} %" for n, v in sorted(parts.items(), key=lambda item: -item[1]) if v >= 0.005)


def noise(one, other):
    """The total variation that two draws of these sizes have by chance: half the sum of the mean differences, and a
    half more for a bound that is passed in almost every run."""
    total_one, total_other = max(sum(one.values()), 1), max(sum(other.values()), 1)
    parts = shares({n: one.get(n, 0) + other.get(n, 0) for n in {*one, *other}})
    mean = sum(math.sqrt(2 / math.pi * p * (1 - p) * (1 / total_one + 1 / total_other)) for p in parts.values()) / 2
    return 2 * mean


def run(bench):
    common.programs("make")
    folder = os.path.join(common.BENCH, "make")
    build = ["make", "-s", "-C", folder, "-j2"] + (["f1.o", "f2.o", "f3.o"] if bench.quick else [])
    clean = ["make", "-s", "-C", folder, "clean"]
    wide, inherited, ours = bench.path("wide.data"), bench.path("inherited.data"), bench.path("spawn.td")
    common.run(clean)
    wide_words = ["record", "-B", "-a", "-e", "cpu-clock", "-F", "99", "-o", wide]
    common.sound(common.run([common.perf(), *wide_words, "--", common.TDREC, "--source", "clock", "-F", "99", "-o", ours,
                             "--", *build], check=False))
    common.run(clean)
    common.perf_record(inherited, 99, build)
    common.run(clean)
    truth, mine, theirs = perf_counts(wide), td_counts(ours), perf_counts(inherited)
    bound = max(noise(truth, mine), 0.02)
    far = distance(shares(truth), shares(mine))
    bench.add("system-wide perf says", text_of(shares(truth)))
    bench.add("tdrec says", text_of(shares(mine)))
    bench.add("perf's inherited events say", text_of(shares(theirs)))
    bench.add("total variation against system-wide sampling", f"{far:.3f}",
              f"{distance(shares(truth), shares(theirs)):.3f} (perf record)", None, f"<= {bound:.3f} (noise)", far <= bound)
