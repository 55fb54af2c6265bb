#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""why.py TDREC TDREPORT PROGRAM SOURCE CORE: tdreport why names the cause that is planted in each marked line.

A line with "WHY cause" in a comment must have that cause (one of several). What runs is modelled, so that every figure is the same
on every machine."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

failures = []


def check(truth, text):
    if not truth:
        failures.append(text)


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def planted(source):
    """(line, causes)"""
    with open(source, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            mark = re.search(r"/\* WHY ([a-z0-9_ ]+) \*/", line)
            if mark:
                yield number, mark[1].split()


def check_place(why, causes):
    place = why["place"]
    print(f"{place} {why['cause']}: {why['sentence']}")
    check(why["cause"] in causes, f"{place}: the cause is {why['cause']} ({why['category']}), not {' or '.join(causes)}")
    if why["instruction"]:
        found = f"{os.path.basename(why['instruction']['file'] or '?')}:{why['instruction']['line']}"
        check(found == place, f"{place}: {found} is blamed")


def check_text(tdreport, profile, place):
    asked = run(tdreport, "why", "-i", profile, "--no-cache", "--width", "80", place)
    check(asked.returncode == 0 and "cause" in asked.stdout, f"{place}: no text: {asked.stderr}")
    wide = [line for line in asked.stdout.splitlines() if len(line) > 80 and place not in line]
    check(not wide, f"{place}: wider than 80 columns: {wide}")


def check_core(tdrec, tdreport, program, source, core, folder):
    profile = os.path.join(folder, f"{core}.td")
    done = run(tdrec, "--source", "sim", "--sim-core", core, "-o", profile, program)
    if done.returncode != 0:
        check(False, f"tdrec: {done.stderr}")
        return
    places = {f"{os.path.basename(source)}:{line}": causes for line, causes in planted(source)}
    check(len(places) > 0, f"{source} has no marks")
    print(f"-- {core}: {len(places)} planted causes")
    asked = run(tdreport, "why", "-i", profile, "--no-cache", "--json", *places)
    check(asked.returncode == 0, f"exit {asked.returncode}: {asked.stderr.strip()}")
    answers = json.loads(asked.stdout)["why"] if asked.returncode == 0 else []
    check([why["place"] for why in answers] == list(places), "other places are answered than those asked for")
    for why in answers:
        check_place(why, places[why["place"]])
    check_text(tdreport, profile, next(iter(places)))
    typo = run(tdreport, "why", "-i", profile, "--no-cache", "no_such_function")
    check(typo.returncode == 4 and "no_such_function" in typo.stderr, f"a name that is not there: {typo.stderr}")


def main():
    tdrec, tdreport, program, source, core = sys.argv[1:]
    if not shutil.which("qemu-x86_64"):
        print("skipped: needs qemu-x86_64")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        check_core(tdrec, tdreport, program, source, core, folder)
    for failure in failures:
        print(f"FAIL {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
