#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a modelled profile counts beside slots: the difference of two runs of a loop is the loop's, known beforehand.
  events.py TDREC TDREPORT PROGRAM"""
import json
import os
import subprocess
import sys
import tempfile

TDREC, TDREPORT, PROGRAM = sys.argv[1:4]
FEW, MANY = 40000, 80000


def run(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode == 125 and b"qemu" in done.stderr:
        print(done.stderr.decode(errors="replace"), file=sys.stderr)
        sys.exit(77)
    if done.returncode:
        sys.exit(f"{words}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode()


def counts(folder, kind, rounds):
    """The rates of a run as JSON has them, and its instructions."""
    path = os.path.join(folder, f"{kind}{rounds}.td")
    run(TDREC, "-q", "--source", "sim", "--sim-core", "golden-cove", "-o", path, "--", PROGRAM, kind, str(rounds))
    data = json.loads(run(TDREPORT, "--json", "-i", path))
    rates = {rate["name"]: rate["value"] for rate in data["rates"]}
    if not all(rate.get("modelled") for rate in data["rates"]):
        sys.exit(f"rates that are not said to be modelled: {data['rates']}")
    return data["profile"]["instructions"], rates, path


def main():
    failed = []
    with tempfile.TemporaryDirectory(prefix="td-events-") as folder:
        # Per round: what the loop does. A few lines in a hundred are where the one before them was prefetched.
        for kind, instructions, exact, near in (
                ("accesses", 7, {"load_share": 3, "store_share": 2, "branch_share": 1}, {"l1d_mpki": 0, "dtlb_walk_mpki": 0}),
                ("lines", 3, {"load_share": 1, "store_share": 0, "branch_share": 1}, {"l1d_mpki": 1, "l2_mpki": 0}),
                ("pages", 3, {"load_share": 1, "store_share": 0, "branch_share": 1}, {"l1d_mpki": 1, "dtlb_walk_mpki": 1})):
            few, few_rates, _ = counts(folder, kind, FEW)
            many, many_rates, path = counts(folder, kind, MANY)
            rounds = MANY - FEW
            if many - few != instructions * rounds:
                failed.append(f"{kind}: {many - few} instructions, expected {instructions * rounds}")
            for name, each in {**exact, **near}.items():
                factor = 1000 if name.endswith("mpki") else 1
                found = (many_rates[name] * many - few_rates[name] * few) / factor / rounds
                slack = 0.05 if name in near else 1e-4
                print(f"{kind} {name}: {found:.5f} per round, known {each}")
                if abs(found - each) > slack:
                    failed.append(f"{kind} {name}: {found} per round, known {each}")
        if "Rates of the whole recording, modelled" not in run(TDREPORT, "-w", "80", "-i", path):
            failed.append("the report has no modelled rates")
        # Of windows of a run nothing stands for the rest: no rates.
        path = os.path.join(folder, "sampled.td")
        run(TDREC, "-q", "--source", "sim", "--sim-sample", "--sim-core", "golden-cove", "-o", path, "--", PROGRAM,
            "lines", "8000000")
        data = json.loads(run(TDREPORT, "--json", "-i", path))
        if data["profile"]["detailed_instructions"] < data["profile"]["instructions"] and data.get("rates"):
            failed.append(f"rates of a sampled run: {data['rates']}")
    sys.exit("\n".join(failed) if failed else 0)


main()
