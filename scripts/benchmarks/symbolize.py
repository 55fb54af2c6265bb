# SPDX-License-Identifier: MIT
"""100,000 distinct addresses of the C++ program's text to functions, inline chains and lines. Every tool gets the same
list, sorted, with all its CPUs; start-up is counted."""
import json
import os
import random
import re
import shutil
import subprocess

from . import common


def text_section(path):
    """(address, file offset, size) of .text."""
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    match = re.search(r"\] \.text\s+PROGBITS\s+([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)", out)
    return tuple(int(number, 16) for number in match.groups())


def build_id(path):
    out = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True, check=True).stdout
    match = re.search(r"Build ID: ([0-9a-f]+)", out)
    if not match:
        raise common.Unmeasured(f"{path} has no build-id")
    return match.group(1)


def feed(command, addresses, limit=None):
    """Runs a tool with the addresses on its standard input (from a file: no pipe to fill)."""
    with open(addresses, encoding="utf-8") as file:
        text = file.read()
    path = addresses + ".in"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return common.run(["sh", "-c", f'exec "$@" <"{path}" >"{path}.out"', "sh", *command], timeout=limit, check=False)


def run(bench):
    common.programs("cppcheck")
    program = os.path.join(common.BENCH, "cppcheck")
    tool = os.path.join(common.RELEASE, "tests/bench/symbolize_bench")
    if not os.path.exists(tool):
        raise common.Unmeasured("symbolize_bench is not built")
    address, offset, size = text_section(program)
    count = 10000 if bench.quick else 100000
    picks = sorted(random.Random(1).sample(range(size), min(count, size)))
    with open(bench.path("offsets"), "w", encoding="utf-8") as file:
        file.writelines(f"{offset + at:x}\n" for at in picks)
    with open(bench.path("addresses"), "w", encoding="utf-8") as file:
        file.writelines(f"0x{address + at:x}\n" for at in picks)
    cold, warm, llvm, elfutils, results = [], [], [], [], {}
    llvm_tool = shutil.which("llvm-symbolizer-14") or shutil.which("llvm-symbolizer")
    for _ in range(1 if bench.quick else 3):
        cache = bench.path("cache")
        shutil.rmtree(cache, ignore_errors=True)
        ours = [tool, program, build_id(program), bench.path("offsets"), cache]
        done = common.run(ours)
        cold.append(done.wall)
        results = json.loads(done.out)
        warm.append(json.loads(common.run(ours).out)["seconds"])
        if llvm_tool:
            llvm.append(feed([llvm_tool, f"--obj={program}", "--inlining", "--functions", "--demangle"],
                             bench.path("addresses")).wall)
    common.need("eu-addr2line")
    slow = feed(["eu-addr2line", "-i", "-f", "-C", "-e", program], bench.path("addresses"), 20 if bench.quick else 200)
    elfutils.append(slow.wall)
    over = "over " if slow.status is None else ""  # it was stopped: the ratio is a floor
    ours = common.median(cold)
    bench.add(f"{len(picks)} addresses, named", f"{results['named'] / len(picks):.4f}", None, None, "",)
    if llvm:
        rival = common.median(llvm)
        bench.add(f"{len(picks)} addresses against llvm-symbolizer-14", f"{ours:.2f} s", f"{rival:.2f} s", rival / ours,
                  ">= 3", rival / ours >= 3)
    bench.add(f"{len(picks)} addresses against eu-addr2line -i", f"{ours:.2f} s", f"{over}{elfutils[0]:.2f} s",
              elfutils[0] / ours, ">= 10", elfutils[0] / ours >= 10)
    rate = len(picks) / common.median(warm)
    bench.add("cached second run, addresses a second", f"{rate / 1e6:.2f} M", None, None, ">= 1 M", rate >= 1e6)
