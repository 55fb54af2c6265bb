#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The modelled core's PMU: what its samples add up to is what the model charged, to the eight bits of the metrics, and
what it interrupts is what takes the time. sampled_pmu.py TDREC TDREPORT KERNELS"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TDREC, TDREPORT, KERNELS = sys.argv[1:4]
METRICS = {"topdown_retiring": "retiring", "topdown_bad_spec": "bad_speculation", "topdown_fe_bound": "frontend_bound",
           "topdown_be_bound": "backend_bound"}
failed = 0


def check(good, what):
    global failed
    if not good:
        failed += 1
        print("FAILED", what)


def dump(path):
    return subprocess.run([TDREPORT, "dump", "-i", path], capture_output=True, text=True, check=True).stdout


def group_sums(text):
    """The sums of the top-down group's deltas, by event name, and how many samples there are."""
    strings = {int(i): s for i, s in re.findall(r'string (\d+) "([^"]*)"', text)}
    events = {int(e): strings[int(n)] for e, n in re.findall(r"event (\d+) name=(\d+)", text)}
    columns = [int(e) for e in re.findall(r"event=(\d+)", re.search(r"group 0 .*", text).group(0))]
    sums, count, inside = {}, 0, False
    for line in text.split("\n"):
        if "run group=" in line:
            inside = "run group=0 " in line
        elif inside and line.strip().startswith("time="):
            count += 1
            for event, value in zip(columns, line.split()[3:]):
                sums[events[event]] = sums.get(events[event], 0) + int(value)
    return sums, count


def truth(path):
    out = subprocess.run([TDREPORT, "-i", path, "--json"], capture_output=True, text=True, check=True).stdout
    nodes = {}

    def walk(node):
        if isinstance(node, dict):
            if "id" in node and "slots" in node:
                nodes[node["id"]] = node["slots"]
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)
    walk(json.loads(out))
    return nodes


def check_level_1(folder):
    """No metrics of level 2 are read, and nothing of level 2 is said; level 1 is as it was."""
    profile = os.path.join(folder, "level1.td")
    subprocess.run([TDREC, "-q", "--source", "sim", "--sim-core", "golden-cove", "--topdown-level", "1", "--sim-pmu", "20000",
                    "-o", profile, "--", KERNELS, "adds"], check=True, stdout=subprocess.DEVNULL)
    sampled = profile[:-3] + ".20000.td"
    group = re.search(r"group 0 .*", dump(sampled)).group(0)
    check(group.count("delta event=") == 9 and "sampler=1 " in group, f"level 1: {group}")
    exact, nodes = truth(profile), truth(sampled)
    check(set(METRICS.values()) <= set(nodes) and "memory_bound" not in nodes, f"level 1: nodes {sorted(nodes)}")
    total, counted = (sum(of[node] for node in METRICS.values()) for of in (exact, nodes))
    for node in METRICS.values():
        check(abs(nodes[node] / counted - exact[node] / total) < 0.05, f"level 1: {node}")


def main():
    if not shutil.which("qemu-x86_64"):
        print("skipped: needs qemu-x86_64 (Debian package qemu-user)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for kernel in ("branches", "chase-dram", "adds", "straight"):
            profile = os.path.join(folder, kernel + ".td")
            subprocess.run([TDREC, "-q", "--source", "sim", "--sim-core", "golden-cove", "--sim-pmu", "20000x2",
                            "-o", profile, "--", KERNELS, kernel], check=True, stdout=subprocess.DEVNULL)
            exact = truth(profile)
            total = sum(exact.get(node, 0) for node in METRICS.values())
            texts = [dump(profile[:-3] + f".20000.{i}.td") for i in (1, 2)]
            for text in texts:
                sums, count = group_sums(text)
                check(count >= 5, f"{kernel}: {count} samples")
                # Less than two periods are missing at the end.
                check(total * (1 - 2 / count) <= sums["slots"] <= total, f"{kernel}: slots {sums['slots']} of {total}")
                for event, node in METRICS.items():
                    share, true = sums[event] / sums["slots"], exact.get(node, 0) / total
                    check(abs(share - true) < 0.03 + 1 / count, f"{kernel}: {event} {share:.3f}, exactly {true:.3f}")
            check(re.findall("time=.*", texts[0]) != re.findall("time=.*", texts[1]), f"{kernel}: samplings differ by chance")
        check_level_1(folder)
    print("failed" if failed else "ok")
    return 1 if failed else 0


sys.exit(main())
