#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""whatif.py TDREC TDREPORT PROGRAM: what one run with --what-if says of each changed core is what a run of its own on that core
says, to the cycle, as a whole and by function; also of a run that is sampled, where it is what the whole run says within the error."""
import json
import os
import subprocess
import sys
import tempfile

TDREC, TDREPORT, PROGRAM = sys.argv[1:4]
CORE = "golden-cove"
# What is changed, the kernel that it is for, and how many times as fast that is at least.
CHANGES = (("branches", "guess", 2), ("l1", "walk", 2), ("dram", "fill", 1.05), ("divider", "divide", 4), ("ports", "multiply", 1.3),
           ("frontend", "straight", 1.2), ("width=8", "wide", 1), ("branches+l1+btb_lines=64", "guess", 2))
problems = []


def check(good, what):
    if not good:
        problems.append(what)
        print("FAILED", what)


def record(file, *words, program=("all",)):
    done = subprocess.run([TDREC, "-q", *words, "-o", file, "--", PROGRAM, *program], capture_output=True, text=True, check=False)
    if "qemu" in done.stderr and "not installed" in done.stderr:
        print(done.stderr.strip())
        sys.exit(77)
    check(done.returncode == 0, f"{words}: {done.stderr}")
    return file


def report(*words):
    done = subprocess.run([TDREPORT, *words, "--json", "--no-cache"], capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"tdreport {words}: {done.stderr}")
    return json.loads(done.stdout)


def places(found):
    return {(row["function"], row["module"]): row for row in found["functions"]}


def check_change(folder, found, index):
    change, kernel, least = CHANGES[index]
    alone = report("-i", record(f"{folder}/alone.td", "--source", "sim", "--sim-core", f"{CORE}+{change}"))
    whole, rows = found["what_if"][index], places(found)
    check(whole["change"] == change, f"{change} is called {whole['change']}")
    check(whole["cycles"] == alone["profile"]["cycles"], f"{change}: {whole['cycles']}, alone {alone['profile']['cycles']}")
    same = places(alone)
    check(set(rows) == set(same), f"{change}: other functions than alone: {set(rows) ^ set(same)}")
    for place, row in rows.items():
        got = row["what_if"][index]
        check(place in same and got["cycles"] == same[place]["cycles"], f"{change}: {place}: {got}, alone {same.get(place)}")
    speedup = next(row["what_if"][index]["speedup"] for row in found["functions"] if row["function"] == kernel)
    check(speedup >= least, f"{change}: {kernel} is {speedup} times as fast")


def check_all(folder):
    file = record(f"{folder}/all.td", "--sim-core", CORE, "--what-if", ",".join(change[0] for change in CHANGES))
    found, plain = report("whatif", "-i", file), report("-i", record(f"{folder}/plain.td", "--source", "sim", "--sim-core", CORE))
    check(found["profile"]["source"] == "sim", "--what-if is not of the modelled core")
    # Other cores beside it change nothing.
    check(found["profile"]["cycles"] == plain["profile"]["cycles"], "the core itself took other cycles than alone")
    check(len(found["what_if"]) == len(CHANGES), f"{len(found['what_if'])} cores")
    for index in range(len(CHANGES)):
        check_change(folder, found, index)
    verdict = report("-i", file)["verdict"]
    check(verdict["what_if"] == found["what_if"], "the verdict says something else")


def check_others(folder):
    """Threads and processes are in it: as many instructions as on the core itself."""
    for what in ("threads", "processes"):
        found = report("whatif", "-i", record(f"{folder}/{what}.td", "--sim-core", CORE, "--what-if", "divider,divider", program=(what,)))
        check(len(found["what_if"]) == 1, f"{what}: what stands twice is modelled twice")
        row = next(row for row in found["functions"] if row["function"] == "divide")
        check((row["what_if"][0]["speedup"] or 0) > 4, f"{what}: {row}")
        check((found["what_if"][0]["speedup"] or 0) > 1.2, f"{what}: {found['what_if']}")


def check_within(part, whole, what):
    check(whole["speedup_error"] == 0 and part["speedup_error"] > 0, f"{what}: {part}, {whole}")
    off = abs(part["speedup"] - whole["speedup"])
    check(off <= part["speedup_error"] < 0.7 * part["speedup"], f"{what}: {part}, of the whole run {whole}")


def check_sampled(folder):
    """The windows of all cores are the same: up to 40 million instructions those of each core alone, too, so that the figures are."""
    changes, long = ("branches", "divider", "width=8"), {"program": ("long",)}
    words = ("--source", "sim", "--sim-sample", "--sim-core")
    file = record(f"{folder}/sampled.td", *words, CORE, "--what-if", ",".join(changes), **long)
    found = report("whatif", "-i", file)
    whole = report("whatif", "-i", record(f"{folder}/long.td", "--sim-core", CORE, "--what-if", ",".join(changes), **long))
    instructions = whole["profile"]["instructions"]
    check(20e6 < instructions < 40e6, f"{instructions} instructions: too few to be sampled, or too many to be so alike")
    plain = report("-i", record(f"{folder}/plain.td", *words, CORE, **long))
    check(found["profile"]["cycles"] == plain["profile"]["cycles"], "sampled: the core itself took other cycles than alone")
    rows, exact = places(found), places(whole)
    for index, change in enumerate(changes):
        alone = report("-i", record(f"{folder}/alone.td", *words, f"{CORE}+{change}", **long))
        # What is scaled is rounded for each path, and changed cores have none.
        apart = found["what_if"][index]["cycles"] / alone["profile"]["cycles"] - 1
        check(abs(apart) < 1e-6, f"sampled {change}: {found['what_if'][index]}, alone {alone['profile']['cycles']}")
        check_within(found["what_if"][index], whole["what_if"][index], f"sampled {change}")
        for place, row in rows.items():
            if row["cycles"] > 0.05 * found["profile"]["cycles"]:
                check_within(row["what_if"][index], exact[place]["what_if"][index], f"sampled {change}: {place}")
    text = subprocess.run([TDREPORT, "whatif", "-i", file], capture_output=True, text=True, check=False).stdout
    check("on all cores in the same windows" in text, text)


def check_toggle(folder):
    """What is left out of the core itself is left out of the others."""
    found = report("whatif", "-i", record(f"{folder}/toggle.td", "--sim-core", CORE, "--what-if", "divider", "--toggle", "divide"))
    check([row["function"] for row in found["functions"]] == ["divide"], f"--toggle: {found['functions']}")
    check((found["what_if"][0]["speedup"] or 0) > 4, f"--toggle: {found['what_if']}")


def refused(*words):
    done = subprocess.run([TDREC, *words, "-o", "/dev/null", "--", PROGRAM], capture_output=True, text=True, check=False)
    check(done.returncode == 125, f"{words}: exit {done.returncode}")
    return done.stderr


def check_refused():
    check("did you mean branches?" in refused("--what-if", "l1,brnches"), "a typo gets no hint")
    check("outside 1 to 16" in refused("--what-if", "width=99"), "a wide core is not refused")
    check("one of the two" in refused("--what-if", "l1", "--sim-pmu", "4000"), "--sim-pmu is not refused")
    check("--source sim" in refused("--what-if", "l1", "--source", "clock"), "a clock is not refused")


with tempfile.TemporaryDirectory(prefix="td-whatif-") as scratch:
    os.environ["XDG_CACHE_HOME"] = scratch
    check_all(scratch)
    check_others(scratch)
    check_sampled(scratch)
    check_toggle(scratch)
    check_refused()
print("wrong: %d" % len(problems))
sys.exit(1 if problems else 0)
