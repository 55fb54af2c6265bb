# SPDX-License-Identifier: MIT
"""CPU that recording adds to the machine: user and system time of the whole tree, less the bare program's. The three
(bare, perf, tdrec) alternate; the recorder's own part is what is left beside the program's, which a shell counts."""
import os
import re

from . import common


def own_cpu(done, times):
    """The recorder's share: the whole tree's CPU less that of the shell that ran the program."""
    with open(times, encoding="utf-8") as file:
        minutes = re.findall(r"(\d+)m([\d.]+)s", file.read())
    return done.cpu - sum(int(m) * 60 + float(s) for m, s in minutes)


def counted(command, times):
    """The program under a shell that writes down its CPU time ("times")."""
    return ["bash", "-c", '"$@"; status=$?; times >"$0"; exit $status', times, *command]


def measure(bench, hertz, stacks, runs, command):
    times = bench.path("times")
    figures = {"bare": [], "perf": [], "td": [], "perf_own": [], "td_own": [], "perf_rss": [], "td_rss": []}
    lost = {"perf": 0, "td": 0}
    inner = counted(command, times)
    for _ in range(runs):
        figures["bare"].append(common.run(inner).cpu)
        path = bench.path("cost.data")
        done = common.perf_record(path, hertz, inner, stacks)
        figures["perf"].append(done.cpu)
        figures["perf_own"].append(own_cpu(done, times))
        lost["perf"] += common.perf_lost(done)
        os.unlink(path)
        path = bench.path("cost.td")
        done = common.tdrec(path, hertz, inner, stacks)
        figures["td"].append(done.cpu)
        figures["td_own"].append(own_cpu(done, times))
        lost["td"] += common.td_json(path)["coverage"]["lost"]
    return {name: common.median(values) for name, values in figures.items() if values}, lost


def recorder_rss(hertz, stacks, command, out):
    """Peak memory of tdrec alone: of the processes, wait4 gives the biggest, so it is read from /proc."""
    import subprocess
    import time
    child = subprocess.Popen([common.TDREC, "--source", "clock", "-F", str(hertz), "-o", out, *stacks, "--", *command],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    peak = 0
    while child.poll() is None:
        try:
            with open(f"/proc/{child.pid}/status", encoding="utf-8") as file:
                match = re.search(r"VmHWM:\s*(\d+)", file.read())
                peak = max(peak, int(match.group(1)) / 1024 if match else 0)
        except OSError:
            pass
        time.sleep(0.02)
    return peak


def run(bench):
    common.programs("cppcheck", "pool")
    runs = 1 if bench.quick else 5
    for stacks in ([], ["--call-graph", "fp"]):
        for hertz in (999, 4000, 25000):
            command = common.pool_command(True) if bench.quick else common.cppcheck_command(False)
            figures, lost = measure(bench, hertz, stacks, runs, command)
            ours, rival = figures["td"] - figures["bare"], figures["perf"] - figures["bare"]
            what = f"{hertz} Hz, {'frame-pointer stacks' if stacks else 'no stacks'}"
            bench.add(f"CPU added, {what}", f"{ours:.3f} s", f"{rival:.3f} s", ours / rival if rival > 0 else None,
                      "<= perf's", ours <= max(rival, 0.0))
            bench.add(f"recorder's own CPU, {what}", f"{figures['td_own']:.3f} s", f"{figures['perf_own']:.3f} s",
                      figures["td_own"] / figures["perf_own"] if figures["perf_own"] > 0 else None)
            if hertz == 25000:
                bench.add(f"lost, {what}", str(lost["td"]), str(lost["perf"]), None, "0", lost["td"] == 0)
    seconds = ["3"] if bench.quick else ["40"]
    peak = recorder_rss(25000, ["--call-graph", "fp"], [os.path.join(common.BENCH, "pool"), *seconds],
                        bench.path("rss.td"))
    bench.add(f"peak memory of tdrec, 25 kHz with stacks, pool {seconds[0]} CPU s", f"{peak:.0f} MB", None, None,
              "<= 32 MB", peak <= 32)
