#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cpi_methods.py TDREC TDREPORT KERNELS: what tdrec --cpi-methods counts arrives in the report: of a process, of two with a
child, of a merge, of a sampled run. Each way adds up to the CPI, and kernels with one known cost show it in each way."""
import json
import os
import subprocess
import sys
import tempfile

CORE = "golden-cove"
# Kernel: the component that it is bound by.
KNOWN = {"branches": "branches", "chase-l2": "l2_bound"}
failures = []


def check(truth, text):
    if not truth:
        failures.append(text)


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def methods_of(tdreport, profile):
    done = run(tdreport, "cpi", "--methods", "--json", "--no-cache", "-i", profile)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)["methods"]


def record(tdrec, profile, command, *more):
    done = run(tdrec, "--source", "sim", "--sim-core", CORE, "--cpi-methods", *more, "-q", "-o", profile, "--", *command)
    if done.returncode == 125 and "qemu" in done.stderr:
        print(f"skipped: {done.stderr.strip()}")
        sys.exit(77)
    check(done.returncode == 0, f"tdrec: {done.stderr}")
    return profile


def check_sums(name, methods):
    check(methods["cycles"] > 0 and methods["instructions"] > 0, f"{name}: nothing was counted")
    check(0 <= methods["overlap"] <= 1, f"{name}: overlap {methods['overlap']}")
    for way in methods["ways"]:
        total = sum(part["cpi"] for part in way["components"])
        check(abs(total - methods["cpi"]) < 1e-9 * methods["cpi"], f"{name}: {way['name']} adds up to {total}")
        for part in way["components"]:
            check(part["name"] == "base" or part["cpi"] >= 0, f"{name}: {way['name']} {part['name']} is below 0")


def share_of(methods, way, component):
    parts = next(found for found in methods["ways"] if found["name"] == way)["components"]
    return next(part["cpi"] for part in parts if part["name"] == component) / methods["cpi"]


def check_known(methods, kernel, component):
    for way in ("exact", "interval", "power5", "naive"):
        share = share_of(methods, way, component)
        check(share > 0.25, f"{kernel}: {way} counts {share:.2f} of the CPI as {component}")
    check(abs(share_of(methods, "exact", component) - share_of(methods, "interval", component)) < 0.1,
          f"{kernel}: interval analysis is far from the slots")
    check(abs(methods["scale"] - 1) < 1e-4, f"{kernel}: a cycle stands for {methods['scale']}")


def check_refusals(tdrec):
    done = run(tdrec, "--source", "clock", "--cpi-methods", "-o", "x.td", "--", "true")
    check(done.returncode == 125 and "--cpi-methods goes with --source sim" in done.stderr, f"clock: {done.stderr}")


def main():
    tdrec, tdreport, kernels = (os.path.abspath(path) for path in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for kernel, component in KNOWN.items():
            methods = methods_of(tdreport, record(tdrec, f"{kernel}.td", [kernels, kernel]))
            check_sums(kernel, methods)
            check_known(methods, kernel, component)
        one = methods_of(tdreport, "chase-l2.td")
        twice = methods_of(tdreport, record(tdrec, "twice.td", ["sh", "-c", f"'{kernels}' chase-l2; '{kernels}' chase-l2"]))
        check_sums("two processes", twice)
        check(twice["cycles"] > 1.9 * one["cycles"], "a child's cycles are missing")
        check(run(tdreport, "merge", "-o", "sum.td", "branches.td", "chase-l2.td").returncode == 0, "no merge")
        check_sums("a merge", methods_of(tdreport, "sum.td"))
        sampled = methods_of(tdreport, record(tdrec, "sampled.td", [kernels, "chase-l2"], "--sim-sample"))
        check_sums("a sampled run", sampled)
        check_refusals(tdrec)
    for text in failures:
        print(text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
