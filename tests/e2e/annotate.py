#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What annotate says of a function above its lines is what the table of functions says of it, for each kind of profile."""
import os
import re

import td

UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}


def heading(path, function, *options):
    """Share in percent, time in ns with its unit, samples; None for what is not said."""
    done = td.run([td.TDREPORT, "annotate", "-i", path, "--no-inline", "--percent-limit", "0", *options, function], (0, 4))
    match = re.search(rb"^([0-9.]+) % of .*", done.stdout, re.MULTILINE)
    td.check(match, f"{path}, {function}: no heading in {done.stdout!r}, {done.stderr!r}")
    line = match.group(0).decode()
    time = re.search(r", ([0-9.]+) (s|ms|us|ns)\b", line)
    samples = re.search(r", ([0-9,]+) samples?", line)
    return (float(match.group(1)), (float(time.group(1)) * UNITS[time.group(2)], UNITS[time.group(2)]) if time else None,
            int(samples.group(1).replace(",", "")) if samples else None)


def check(what, path):
    rows = td.report_json(path, "functions", "--no-inline")["functions"]
    names = [row["function"] for row in rows]
    checked = 0
    for row in rows[:12]:
        name = row["function"]
        if name.startswith("[") or names.count(name) > 1:
            continue
        share, time, samples = heading(path, name)
        expected = 100 * (row["slots_share"] if row["slots_share"] is not None else row["time_share"])
        td.check(abs(share - expected) < 0.051, f"{what}, {name}: {share} %, the table has {expected}")
        if time and row["time_ns"] is not None:
            td.check(abs(time[0] - row["time_ns"]) <= max(0.51e-3 * time[1], 0.06 * row["time_ns"]),
                     f"{what}, {name}: {time[0]} ns, the table has {row['time_ns']}")
        if samples is not None and row["samples"] is not None:
            td.check(samples == row["samples"], f"{what}, {name}: {samples} samples, the table has {row['samples']}")
        checked += 1
    return checked


def totals():
    checked = 0
    for kind in ("clock", "sim", "pmu", "passes"):
        path = td.scratch(f"{kind}.td")
        with open(path, "wb") as file:
            file.write(td.composed(kind))
        checked += check(kind, path)
    checked += check("1.0", os.path.join(td.ROOT, "tests/data/profiles/1.0.td"))
    td.check(checked >= 8, f"{checked} functions only")


td.cases({"totals": totals})
