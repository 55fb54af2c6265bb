# SPDX-License-Identifier: MIT
"""Row sim-kernels: the modelled core beside the machine on kernels of one function each (tests/sim/kernels_x86.c), libc's
copies and fills among them. A native run counts when independent additions right before and after went at full speed."""
import json
import os
import re
import statistics
import subprocess
import sys

from . import common, sim_accuracy

KERNELS = os.path.join(common.RELEASE, "tests/sim/sim_kernels_x86")
NATIVE = os.path.join(common.BENCH, "sim-kernels.json")
# Memory's pace is what these are about.
STREAMING = re.compile("^(stream|triad|sum-dram|copy-|fill-)")
ACCEPTED, TRIES = 5, 60
WIDTH_SLACK = 1.08  # of the least cycles that a round of additions took
MEDIAN_BAR, STREAMING_BAR = 0.10, 0.40


def kernels():
    """{kernel: its function}"""
    out = subprocess.run([KERNELS, "-l"], capture_output=True, text=True, check=True).stdout
    rows = (line.split(" ", 1) for line in out.strip().split("\n"))
    return {name: re.search(r"(\w+?)(?:_rounds)?\(", call).group(1) for name, call in rows}


def native_run(name):
    """Cycles, change of the clock, cycles of a round of additions."""
    done = subprocess.run(sim_accuracy.alone(["chrt", "-f", "50", KERNELS, "-t", name]), capture_output=True, text=True,
                          check=True, env=sim_accuracy.environment())
    return [float(word) for word in done.stdout.split()]


def native(name, width):
    """The least cycles of the runs that count, or None. `width[0]` is the least width seen so far."""
    runs = []
    for _ in range(TRIES):
        runs.append(native_run(name))
        width[0] = min(width[0], runs[-1][2])
        good = [r[0] for r in runs if r[2] <= WIDTH_SLACK * width[0] and abs(r[1]) <= sim_accuracy.CLOCK_CHANGE]
        if len(good) >= ACCEPTED:
            return min(good)
    return None


def natives(names):
    """Measured once and kept."""
    kept, width = {}, [100.0]
    if os.path.exists(NATIVE):
        with open(NATIVE, encoding="utf-8") as file:
            kept = json.load(file)
    native_run("adds")
    for name in names:
        if name not in kept:
            cycles = native(name, width)
            if cycles:
                kept[name] = cycles
    with open(NATIVE, "w", encoding="utf-8") as file:
        json.dump(kept, file, indent=1)
    return kept


def modelled(bench, name, function):
    """Cycles below the kernel's function, libc's included."""
    out = bench.path("kernel.td")
    subprocess.run([common.TDREC, "-q", "--source", "sim", "-o", out, "--", KERNELS, name], check=True,
                   env=sim_accuracy.environment(), stdout=subprocess.DEVNULL)
    cycles = common.td_json(out)["profile"]["cycles"]
    text = subprocess.run([common.TDREPORT, "folded", "--category", "slots", "-i", out], capture_output=True, text=True,
                          check=True).stdout
    os.remove(out)
    inside = whole = 0
    for line in text.strip().split("\n"):
        stack, count = line.rsplit(" ", 1)
        frames = {frame.split(".")[0].split("_[")[0] for frame in stack.split(";")}
        whole += int(count)
        inside += int(count) if function in frames else 0
    return cycles * inside / whole


def run(bench, names=()):
    common.need("qemu-x86_64", "taskset", "chrt")
    if not os.path.exists(KERNELS):
        raise common.Unmeasured("native truth is only had on x86_64")
    table = {name: function for name, function in kernels().items() if not names or name in names}
    truth = natives(table)
    errors = {}
    for name, function in table.items():
        if name not in truth:
            print(f"bench:   {name}: no quiet native run", file=sys.stderr)
            continue
        errors[name] = modelled(bench, name, function) / truth[name] - 1
        print(f"bench:   {name:16} native {truth[name]:11.0f} cycles, model {100 * errors[name]:+6.1f} %", file=sys.stderr,
              flush=True)
    if len(errors) < 3:
        raise common.Unmeasured("no quiet native runs")
    sizes = [abs(error) for error in errors.values()]
    median = statistics.median(sizes)
    bench.add(f"kernels ({len(sizes)}): median absolute error of cycles", f"{100 * median:.1f} %", None, None,
              f"<= {100 * MEDIAN_BAR:.0f} %", median <= MEDIAN_BAR)
    streams = {name: error for name, error in errors.items() if STREAMING.match(name)}
    if streams:
        worst = max(streams, key=lambda name: abs(streams[name]))
        bench.add(f"streaming, libc's copies and fills ({len(streams)}): worst", f"{100 * streams[worst]:+.1f} % ({worst})",
                  None, None, f"<= {100 * STREAMING_BAR:.0f} %", abs(streams[worst]) <= STREAMING_BAR)
