#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report.py TDREC TDREPORT KERNELS: what tdreport says of a modelled run adds up, down to the instruction, and with the time
of a native run beside it."""
import json
import os
import subprocess
import sys
import tempfile

KERNEL = "divides"
# The model tells apart what of these is for lines that threads share; the rest is theirs alone.
OF_THEIR_OWN = ("l3_bound", "store_bound")
failures = []


def check(truth, text):
    if not truth:
        failures.append(text)


def total(rows, key):
    return sum(row[key] or 0 for row in rows)


def report(tdreport, *words):
    done = subprocess.run([tdreport, *words, "--json", "--no-cache"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def check_sums(found):
    profile, tree = found["profile"], found["tree"]
    slots = sum(node["slots"] for node in tree if node["level"] == 1)
    for rows in (found["functions"], found["lines"]):
        check(total(rows, "cycles") == profile["cycles"], "cycles of the rows are not those of the profile")
        check(total(rows, "instructions") == profile["instructions"], "instructions of the rows are not the profile's")
        check(total(rows, "slots") == slots, "slots of the rows are not those of the tree")
    check(abs(profile["cpi"] - profile["cycles"] / profile["instructions"]) < 1e-4, "cpi is not cycles an instruction")
    for node in tree:
        children = [child["slots"] for child in tree if child["parent"] == node["id"]]
        if node["id"] in OF_THEIR_OWN:
            check(sum(children) <= node["slots"], f"{node['id']} is less than its children")
        else:
            check(not children or sum(children) == node["slots"], f"{node['id']} is not the sum of its children")


def function_of(found, name):
    return next(row for row in found["functions"] if row["function"] == name)


def check_instructions(tdreport, file, function):
    parts = report(tdreport, "annotate", "--asm", "-i", file, KERNEL)["annotate"]
    instructions = [row for part in parts for row in part["instructions"]]
    check(total(instructions, "slots") == function["slots"], "slots of the instructions are not the function's")
    check(total(instructions, "instructions") == function["instructions"], "instructions were lost in the listing")
    hottest = max(instructions, key=lambda row: row["slots"])
    check("div" in hottest["text"], f"'{hottest['text']}' is no division, but costs most")
    check(all(row["text"] for row in instructions), "an instruction has no text")


def check_weights(tdreport, modelled, clock):
    found = report(tdreport, "-i", modelled, "--weights", clock)
    native = report(tdreport, "-i", clock)
    check(found["profile"]["source"] == "hybrid", "a join is not called hybrid")
    check(total(found["functions"], "time_ns") == total(native["functions"], "time_ns"), "time was lost in the join")
    function, same = function_of(found, KERNEL), function_of(native, KERNEL)
    check(function["samples"] == same["samples"], "samples of a function changed in the join")
    # Of this function alone: nothing else of the program is inlined into it or it into others.
    # The join rounds running sums, so that the whole is exact: a function may gain or lose a nanosecond a row.
    check(abs(function["time_ns"] - same["time_ns"]) <= len(found["functions"]),
          "the time of a function is not the measured one")
    # A machine that shares its core takes far longer than the model: then it is said of core_bound only.
    shares, errors = function["categories"], function["category_errors"]
    known = "core_bound" if shares["divider"] is None else "divider"
    check(known == "divider" or errors["divider"] > 0.25, "the divider's share is not told, though it is known")
    check((shares[known] or 0) > 0.4, f"{known} is not what the function waits for")
    check_sums(found)


def main():
    tdrec, tdreport, kernels = sys.argv[1:]
    left_out = ""
    with tempfile.TemporaryDirectory() as folder:
        modelled, clock = os.path.join(folder, "sim.td"), os.path.join(folder, "clock.td")
        done = subprocess.run([tdrec, "--source", "sim", "-o", modelled, "--", kernels, KERNEL],
                              capture_output=True, text=True)
        if done.returncode == 125 and "qemu" in done.stderr:
            print(done.stderr, file=sys.stderr)
            sys.exit(77)
        check(done.returncode == 0, f"tdrec: {done.stderr}")
        found = report(tdreport, "-i", modelled)
        check_sums(found)
        function = function_of(found, KERNEL)
        check(function["attribution"] == "exact", "a modelled row is not exact")
        check_instructions(tdreport, modelled, function)
        native = subprocess.run([tdrec, "--source", "clock", "-F", "10000", "-o", clock, "--", kernels, KERNEL],
                                capture_output=True, text=True)
        if native.returncode == 0 and os.path.exists(clock):
            check_weights(tdreport, modelled, clock)
        elif native.returncode != 125:
            check(False, f"tdrec --source clock: {native.stderr}")
        else:
            left_out = native.stderr.strip()
    for text in failures:
        print(text)
    if left_out and not failures:
        print(f"--weights is not checked: {left_out}")
        sys.exit(77)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
