#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""replay.py PLUGIN REPLAY KERNELS: what a run gave to its model, given to another model from a file, has the run's figures;
a model without habits and paths has the same of each place, and replicates of all slots together, and one of another core has others."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PLUGIN, REPLAY, KERNELS = sys.argv[1:4]
CORE = "zen4"


def record(folder, kernel, mode):
    """The file of words, and the figures that the plugin has at the end of the run."""
    words, text = os.path.join(folder, f"{kernel}-{mode}.words"), os.path.join(folder, f"{kernel}-{mode}.txt")
    subprocess.run(["qemu-x86_64", "-cpu", "max,-erms,-fsrm", "-plugin", f"{PLUGIN},core={CORE},mode={mode},out={text}",
                    KERNELS, kernel], stdout=subprocess.DEVNULL, check=True, env={**os.environ, "TDPROF_WORDS": words})
    with open(text, encoding="utf-8") as file:
        line = next(line for line in file if line.startswith("S 0 "))
    return words, {key: int(value) for key, value in re.findall(r"(instructions|cycles) (\d+)", line)}


def replay(words, core, *options):
    """{name: value} of all figures and hashes."""
    out = subprocess.run([REPLAY, words, core, *options], check=True, capture_output=True, text=True).stdout.split()
    return dict(zip(out[::2], out[1::2]))


def main():
    if not shutil.which("qemu-x86_64"):
        print("qemu-x86_64 is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for kernel, mode in (("branches", "exact"), ("forward", "exact"), ("branches", "sample")):
            words, run = record(folder, kernel, mode)
            same = replay(words, CORE)
            bare = replay(words, CORE, "--bare")
            other = replay(words, "skylake")
            assert {key: int(same[key]) for key in run} == run, (kernel, mode, same, run)
            for key in ("instructions", "modelled", "events", "regions"):
                assert bare[key] == same[key], (kernel, mode, key)
            none = {"0" * 16}
            if mode == "sample":
                # What is scaled is rounded for each path.
                assert abs(int(bare["cycles"]) / int(same["cycles"]) - 1) < 1e-6, (kernel, bare, same)
                assert len({bare["replicates"], same["replicates"]} | none) == 3, (kernel, bare, same)
            else:
                assert [bare["cycles"], bare["places"]] == [same["cycles"], same["places"]], (kernel, bare, same)
                assert {bare["replicates"], same["replicates"]} == none, (kernel, bare, same)
            assert replay(words, CORE) == same, (kernel, mode)
            assert other["tallies"] != same["tallies"] and other["totals"] != same["totals"], (kernel, mode)
    return 0


sys.exit(main())
