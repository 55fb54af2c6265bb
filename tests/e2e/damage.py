#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Copies of real profiles with 1 to 20 flipped bytes, through the commands and exports of tdreport: no crash, no figure
larger than in the undamaged profile, and what was left out is counted. TD_DAMAGE_COPIES (60), TD_DAMAGE_COMMANDS (1)
more of each copy, TD_DAMAGE_SEED."""
import json
import os
import random
import shutil
import subprocess

import td

COPIES = int(os.environ.get("TD_DAMAGE_COPIES", "60"))
COMMANDS = int(os.environ.get("TD_DAMAGE_COMMANDS", "1"))
SEED = int(os.environ.get("TD_DAMAGE_SEED", "1"))
STATUSES = (0, 2, 3, 4)

WHOLE = os.path.join(td.ROOT, "tests/data/profiles/1.0.td")
EXPORTS = [["export", "--format", f] for f in ("callgrind", "csv", "firefox", "folded", "json", "ndjson", "pprof",
                                               "speedscope", "td")]
VIEWS = [[], ["functions"], ["lines"], ["modules"], ["threads"], ["programs"], ["callers"], ["annotate"], ["annotate", "--asm"],
         ["folded"], ["dump"], ["--time", "0.01.."], ["functions", "--time", "0.01..0.2"], ["functions", "--no-inline"],
         ["threads", "--json"], ["lines", "--json"], ["modules", "--json"], ["callers", "main", "--json"], ["--json"],
         ["html", "-o", "-"], ["callers", "main"], ["callees", "main"], ["functions", "--children"], ["diff", WHOLE],
         ["programs", "--json"], ["--full"], ["--topdown-level", "4"], ["explain"]]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(name, data):
    path = td.scratch(name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def model(source, *command_and_options):
    workload, seconds, *options = command_and_options
    path = td.scratch("modelled.td")
    td.run([td.TDREC, "--source", source, *options, "-o", path, "--", td.workload(workload), seconds])
    return read(path)


def recorded():
    """{name: bytes} of what can be recorded here, and of what cannot."""
    found = {kind: td.composed(kind) for kind in ("clock", "sim", "pmu", "passes")}
    found["1.0"] = read(os.path.join(td.ROOT, "tests/data/profiles/1.0.td"))
    simulated = shutil.which("qemu-x86_64") and os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so"))
    if simulated:
        found["modelled"] = model("sim", "chain", "0.01")
        found["sampled"] = model("sim", "chain", "0.2", "--sim-sample", "-g")
        model("sim", "chain", "0.02", "--sim-pmu", "100000")
        found["model's pmu"] = read(td.scratch("modelled.100000.td"))
    td.need_perf_events()
    if simulated:
        found["hybrid"] = model("hybrid", "chain", "0.1")
    found["stacks"] = read(td.record([td.workload("chain"), "0.3"], "--call-graph", "fp"))
    paths = [write(f"{name}.td", found[name]) for name in ("clock", "stacks")]
    td.run([td.TDREPORT, "merge", "-o", td.scratch("merged.td"), *paths])
    found["merged"] = read(td.scratch("merged.td"))
    return found


def figures(text):
    """What each function took, and the coverage; None without a report."""
    try:
        report = json.loads(text)
    except ValueError:
        return None
    rows = {}
    for row in report["functions"]:
        sums = rows.setdefault((row["function"], row["module"]), {"samples": 0, "time_ns": 0, "slots": 0})
        for key in sums:
            sums[key] += row[key] or 0
        share = row["slots_share"] if row["slots_share"] is not None else row["time_share"]
        td.check(share is None or -1e-6 <= share <= 1 + 1e-6, f"a share of {share}")
    return rows, report["coverage"]


def no_more_than(what, got, truth, slack=10):
    """A name that was lost stands under a marker; what has no name for that is no function's. Sums of counted slots are
    estimates, spread anew."""
    for place, sums in got.items():
        if place[0] == "[unknown]" or any("lost: damaged profile" in str(word) for word in place):
            continue
        td.check(place in truth, f"{what}: {place} is not in the undamaged profile")
        for key, value in sums.items():
            most = truth[place][key] * 1.0001 + slack
            td.check(value <= most, f"{what}: {place} has {value} {key}, the undamaged profile {truth[place][key]}")


def all_told(what, kind, coverage, whole):
    dropped = coverage["dropped_samples"] + coverage["dropped_tallies"]
    td.check(dropped or not coverage["dropped_exact"] or not coverage["dropped_share"] or not whole["samples"],
             f"{what}: nothing was dropped, and a share of {coverage['dropped_share']}")
    if coverage["complete"]:
        return
    td.check(coverage["damaged"] or coverage["cut"], f"{what}: not complete, and no word why")
    # Clocks whose names are lost are no longer one: the report is of the first, and lists the others.
    if coverage["dropped_exact"] and kind != "merged":
        td.check(coverage["samples"] + coverage["dropped_samples"] == whole["samples"],
                 f"{what}: {coverage['samples']} samples and {coverage['dropped_samples']} dropped are not "
                 f"{whole['samples']}")


def examine(what, path, kind, whole):
    done = td.run([td.TDREPORT, "functions", "--json", "-i", path], STATUSES, timeout=60)
    got = figures(done.stdout)
    if done.returncode == 0:
        td.check(got == whole, f"{what}: other figures, and exit 0")
    elif got and kind not in ("pmu", "passes"):
        if kind != "hybrid" or got[1]["samples"]:  # what is left else is the model, which says so
            # Measured time alone is divided among inlined functions by samples, some of 0.25 ms, and not by the model.
            no_more_than(what, got[0], whole[0], 10**7 if kind == "hybrid" else 10)
        if kind != "1.0":  # whose counters are made up
            all_told(what, kind, got[1], whole[1])
        return got[1]["dropped_samples"] + got[1]["dropped_tallies"] > 0
    return False


def flips():
    profiles = recorded()
    generator = random.Random(SEED)
    wholes = {}
    counted = number = 0
    for kind, data in profiles.items():
        done = td.run([td.TDREPORT, "functions", "--json", "-i", write("whole.td", data)])
        wholes[kind] = figures(done.stdout)
        td.check(not wholes[kind][1]["damaged"] and wholes[kind][1]["dropped_samples"] == 0, f"{kind}: whole, and damaged")
    # How many copies lose a part depends on what was recorded: some more until enough did.
    while number < COPIES or (counted <= COPIES // 20 and number < 3 * COPIES):
        kind = list(profiles)[number % len(profiles)]
        data = bytearray(profiles[kind])
        number += 1
        for _ in range(generator.randint(1, 20)):
            data[generator.randrange(len(data))] ^= generator.randint(1, 255)
        path = write("flipped.td", data)
        what = f"copy {number} of {kind}, seed {SEED}"
        counted += examine(what, path, kind, wholes[kind])
        for words in generator.sample(VIEWS + EXPORTS, COMMANDS):
            td.run([td.TDREPORT, *words, "-i", path], STATUSES, timeout=60)
    print(f"{number} copies, {counted} with a part left out and counted")
    td.check(counted > COPIES // 20, "hardly a copy lost anything: the test tests nothing")


def with_memory(path, size):
    return td.run(["bash", "-c", f'ulimit -v {size}; exec "{td.TDREPORT}" -i "{path}"'], None)


def memory():
    """tdreport without memory, at whatever point: one sentence and a documented status."""
    if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
        td.skip("the plugin is not built (sanitizers), which reserve more memory than there is")
    path = os.path.join(td.ROOT, "tests/data/profiles/1.0.td")
    said = 0
    enough = next(size for size in range(2000, 1000000, 1000) if with_memory(path, size).returncode == 0)
    for size in range(enough - 1500, enough + 500, 40):
        done = with_memory(path, size)
        td.check(done.returncode in (*STATUSES, 127), f"ulimit -v {size}: {done}")
        if b"out of memory" in done.stderr:
            said += 1
            td.check(done.returncode == 3 and b"ulimit -v" in done.stderr, f"ulimit -v {size}: {done}")
    td.check(said > 0, "memory was enough, or the program did not start")


td.cases({"flips": flips, "memory": memory})
