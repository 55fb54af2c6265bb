# SPDX-License-Identifier: MIT
"""Twelve values a sample against one: the recorder's own CPU on a real run (a group of software events, which any
machine has), the path from the ring to the file alone (hand-made records), and bytes a sample of a top-down group on
the simulated PMU."""
import json
import os
import re

from . import common
from .cost import counted, own_cpu

BAR = 1.3
BAR_BYTES = 12
HERTZ = 4000
# Values of software events are as the kernel reads them: all twelve with every sample.
TWELVE = "{cpu-clock,task-clock,page-faults,context-switches,cpu-migrations,minor-faults,major-faults," \
         "alignment-faults,emulation-faults,page-faults:u,page-faults:k,cpu-clock:u}:S"


def own(bench, events, command):
    """CPU of the recorder alone a sample, in microseconds."""
    times, path = bench.path("times"), bench.path("groups.td")
    done = common.run([common.TDREC, "--method", "cpu", "-F", str(HERTZ), "-e", events, "-o", path, "--",
                       *counted(command, times)])
    return own_cpu(done, times) / max(common.td_json(path)["coverage"]["samples"], 1) * 1e6


def live(bench):
    common.programs("pool")
    command = [os.path.join(common.BENCH, "pool"), "2" if bench.quick else "10"]
    one, twelve = [], []
    for _ in range(1 if bench.quick else 5):
        one.append(own(bench, "cpu-clock", command))
        twelve.append(own(bench, TWELVE, command))
    ours, base = common.median(twelve), common.median(one)
    bench.add(f"recorder's own CPU a sample, 12 values against 1 ({HERTZ} Hz, software events)", f"{ours:.2f} us",
              f"{base:.2f} us", ours / base, f"<= {BAR}", ours / base <= BAR)


def path_alone(bench):
    tool = os.path.join(common.RELEASE, "tests/bench/groups_bench")
    if not os.path.exists(tool):
        raise common.Unmeasured("groups_bench is not built")
    found = json.loads(common.run([tool, "3" if bench.quick else "15"]).out)
    bench.add("ring to file, a sample of 12 values against a group of 1", f"{found['twelve_ns']:.0f} ns",
              f"{found['one_ns']:.0f} ns", found["twelve_ns"] / found["one_ns"])


def stored(bench):
    """The group that the plan has on Sapphire Rapids, 13 events, and its 9 without the metrics of level 2; the locators'
    samples are beside them. What a file has once (names, mappings, how it was recorded) weighs less in longer runs."""
    command = ["gzip", "-c", common.TDREC]
    for level, events, bar in ((1, 9, BAR_BYTES), (2, 13, None)):
        sim = bench.path(f"sim{level}.td")
        done = common.run([common.TDREC, "-q", "--source", "sim", "--sim-core", "golden-cove", "--topdown-level", str(level),
                           "--sim-pmu", "20000", "-o", sim, "--", *command], check=False)
        path = bench.path(f"sim{level}.20000.td")
        if done.status != 0 or not os.path.exists(path):
            raise common.Unmeasured("the simulated PMU cannot run here (qemu-user)")
        samples = common.td_json(path)["coverage"]["samples"]
        dump = common.run([common.TDREPORT, "dump", "-i", path]).out
        alone = sum(int(size) for size in re.findall(r"chunk \d+ samples .*stored=(\d+)", dump)) / max(samples, 1)
        size = os.path.getsize(path) / max(samples, 1)
        bench.add(f"bytes a sample, a group of {events} events ({samples} samples, all of the file; samples alone {alone:.1f})",
                  f"{size:.1f}", None, None, f"<= {bar}" if bar else "", size <= bar if bar else None)


def run(bench):
    live(bench)
    path_alone(bench)
    stored(bench)
