#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tdreport latency on the modelled core's PMU, against what the model knows exactly: a chain of loads waits for each of
them, so that what a load holds up retirement is the cycles of one step. latency.py TDREC TDREPORT KERNELS"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

TDREC, TDREPORT, KERNELS = sys.argv[1:4]
# Kernel, its event, its steps (kernels.c), where its loads find their data, and what that takes on golden-cove by its
# description. Translations that the second TLB has are 7 cycles on top, walks some 20: a quarter of chase-l2's loads, so
# that its steps are 8 million, 40 samples, of which one at least is such a load.
KNOWN = (("chase-l2", "mem_load_l2_hit", 8000000, "l2", 15, 22), ("chase-l3", "mem_load_l3_hit", 2000000, "l3", 75, 105),
         ("chase-dram", "mem_load_l3_miss", 400000, "dram", 400, 440))
problems = []


def check(good, what):
    if not good:
        problems.append(what)
        print("FAILED", what)


def report(*words):
    return json.loads(subprocess.run([TDREPORT, *words, "--json"], capture_output=True, text=True, check=True).stdout)


def row_of(rows, function):
    return next((row for row in rows if row["function"] == function), None)


def check_held(kernel, sampled, exact):
    """Counts times measured latencies are the cycles of the chain, but for one sample of each event."""
    got = report("latency", "-i", sampled)
    held, unsure = 0, 0
    for event in got["latency"]:
        row = row_of(event["rows"], "chase")
        if row and event["event"].startswith("mem_load_"):
            check(event["held_by"] == "measured", f"{kernel}: {event['event']} held by {event['held_by']}")
            held += row["held_cycles"]
            unsure += 1.1 * row["held_cycles"] / row["samples"]
    print(f"{kernel}: {held / 1e6:.1f} M cycles held up +- {unsure / 1e6:.1f}, exactly {exact / 1e6:.1f}")
    check(abs(held - exact) <= unsure + 0.1 * exact, f"{kernel}: held {held}, exactly {exact}")
    check(got["cycles"] > exact * 0.8, f"{kernel}: cycles {got['cycles']}, the chain alone has {exact}")


def check_kernel(folder, kernel, event, steps, source, least, most):
    exact = os.path.join(folder, kernel + ".td")
    sampled = os.path.join(folder, kernel + ".20000.td")
    subprocess.run([TDREC, "-q", "--source", "sim", "--sim-core", "golden-cove", "--sim-pmu", "20000", "-o", exact, "--",
                    KERNELS, kernel], check=True, stdout=subprocess.DEVNULL)
    cycles = row_of(report("functions", "-i", exact)["functions"], "chase")["cycles"] / steps
    check_held(kernel, sampled, cycles * steps)
    for words in ((), ("--lines",)):
        events = {e["event"]: e for e in report("latency", "-i", sampled, *words)["latency"]}
        rows = {name: row_of(e["rows"], "chase") for name, e in events.items()}
        row = rows.get(event)
        check(row, f"{kernel}: chase has samples of {event}, of {sorted(events)}")
        if not row:
            continue
        retire = row["cycles"]["retire"]
        print(f"{kernel}: {retire}, exactly {cycles:.1f} cycles a step")
        check(retire["samples"] >= 3, f"{kernel}: {retire['samples']} samples")
        for figure in ("mean", "median", "p95", "max"):
            check(least <= retire[figure] <= most, f"{kernel}: {figure} {retire[figure]}, not {least} to {most}")
        check(retire["median"] <= retire["p95"] <= retire["max"], f"{kernel}: order of {retire}")
        check(row["sources"][source] == row["accesses"] == row["samples"], f"{kernel}: sources {row}")
        # Each step is a load of some level, and takes what that level takes: the mean is within them.
        check(cycles <= retire["max"] + 1, f"{kernel}: {cycles:.1f} cycles a step, but loads retire after {retire['max']}")
        if kernel == "chase-l2":
            check(abs(retire["mean"] - cycles) <= 0.2 * cycles, f"{kernel}: mean {retire['mean']}, exactly {cycles:.1f}")


def main():
    if not shutil.which("qemu-x86_64"):
        print("skipped: needs qemu-x86_64 (Debian package qemu-user)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        for known in KNOWN:
            check_kernel(folder, *known)
        done = subprocess.run([TDREPORT, "latency", "-i", os.path.join(folder, "chase-l2.td")], capture_output=True, text=True)
        check(done.returncode == 4 and "modelled" in done.stderr, f"exact model: {done.returncode} {done.stderr}")
    print("failed" if problems else "ok")
    return 1 if problems else 0


sys.exit(main())
