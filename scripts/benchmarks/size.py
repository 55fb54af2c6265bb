# SPDX-License-Identifier: MIT
"""Bytes a sample in the file, at 4 kHz on the C++ program."""
import os

from . import common


def td_bytes(bench, extra):
    path = bench.path("size.td")
    common.tdrec(path, 4000, common.cppcheck_command(bench.quick), extra)
    samples = common.td_json(path)["coverage"]["samples"]
    return os.path.getsize(path) / max(samples, 1), samples


def perf_bytes(bench, extra):
    path = bench.path("size.data")
    done = common.perf_record(path, 4000, common.cppcheck_command(bench.quick), extra)
    size = os.path.getsize(path) / max(common.perf_samples(done), 1)
    os.unlink(path)
    return size


def run(bench):
    common.programs("cppcheck")
    for what, ours, theirs, bar in (("without stacks", [], [], 5), ("frame-pointer stacks", ["--call-graph", "fp"],
                                                                     ["--call-graph", "fp"], 12)):
        mine, samples = td_bytes(bench, ours)
        rival = perf_bytes(bench, theirs)
        bench.add(f"bytes a sample, {what} ({samples} samples)", f"{mine:.1f}", f"{rival:.0f}", rival / mine,
                  f"<= {bar}", mine <= bar)
