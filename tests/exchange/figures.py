#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The figures of tdreport's tables against perf's own, and those of every export against the tables.

usage: figures.py TDREPORT COMPOSE SOURCE_FOLDER

Every perf.data of tests/data/perfdata, and the profiles that tests/golden composes.
"""
import collections
import csv
import glob
import io
import json
import os
import subprocess
import sys
import tempfile

import pprof

TDREPORT, COMPOSE, SOURCE = (os.path.abspath(word) for word in sys.argv[1:4])
DATA = os.path.join(SOURCE, "tests", "data", "perfdata")
problems = []


def check(what, holds, detail=""):
    if not holds:
        print(f"FAILED: {what}: {str(detail)[:1500]}")
        problems.append(what)


def run(*words, ok=(0, 3)):
    done = subprocess.run([TDREPORT, *words], capture_output=True)
    if done.returncode not in ok:
        sys.exit(f"tdreport {' '.join(words)} gave {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def expected():
    """file -> event -> module path or "*" -> (samples, period), by perf."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    with open(os.path.join(DATA, "expected.tsv"), encoding="utf-8") as file:
        for line in file:
            name, event, module, samples, period = line.rstrip("\n").split("\t")
            found[name][event][module] = (int(samples), int(period))
    return found


def value_of(row):
    """Of what the table is sorted by, as td_measure_primary."""
    if row.get("slots") is not None:
        return row["slots"]
    return row["time_ns"] if row["time_ns"] is not None else row["event"]


def check_against_perf(name, path, events):
    """What is reported is the event, or one event of all core types, with most samples of those
    that tell most; and --event gives each."""
    report = json.loads(run("modules", "--json", "-i", path))
    shown = [e["name"] for e in report["profile"]["events"] if e["shown"]]
    check(f"{name}: an event is shown", shown and set(shown) <= set(events), (shown, list(events)))
    check(f"{name}: samples of what is shown", report["coverage"]["samples"] ==
          sum(events[e]["*"][0] for e in shown), report["coverage"])
    cycles = [e for e in events if "cycles" in e]
    if cycles and not any("clock" in e for e in events):
        check(f"{name}: all cycles", set(shown) == set(cycles), shown)
    sampled = {e["name"] for e in report["profile"]["events"]}
    for event in [None] + [e for e in events if e in sampled]:
        words = ["--event", event] if event else []
        rows = json.loads(run("modules", "--json", "-i", path, *words))["modules"]
        of = [event] if event else shown
        want = (sum(events[e]["*"][0] for e in of), sum(events[e]["*"][1] for e in of))
        got = (sum(row["samples"] for row in rows), sum(value_of(row) for row in rows))
        check(f"{name}: {event}: perf's totals", want == got, (want, got))
        for module in {m for e in of for m in events[e] if m != "*"}:
            want = [sum(events[e].get(module, (0, 0))[i] for e in of) for i in (0, 1)]
            mine = [row for row in rows if row["module_path"] == module]
            got = [sum(row["samples"] for row in mine), sum(value_of(row) for row in mine)]
            check(f"{name}: {event}: {module}", want == got, (want, got))


def place(name):
    """A made-up name, "module+0x…", is of its module."""
    return name.rsplit("+0x", 1)[0] if "+0x" in name else name


def of_table(path, words):
    """Function, or module where there is no name -> what the table says; by the same keys as the
    exports, of which some have no modules."""
    found = collections.Counter()
    for row in json.loads(run("functions", "--json", "--no-inline", "-i", path, *words))["functions"]:
        found[place(row["function"]) if row["function"] != "[unknown]" else row["module"]] += value_of(row)
    return found


def of_folded(path, words):
    found = collections.Counter()
    for line in run("folded", "--no-inline", "--plain-names", "-i", path, *words).decode().splitlines():
        stack, value = line.rsplit(" ", 1)
        names = stack.split(";")
        found[place(names[-1]) if len(names) > 1 else "[unknown]"] += int(value)
    return found


def of_pprof(path, words, folder):
    file = os.path.join(folder, "x.pb.gz")
    run("export", "-f", "pprof", "--no-inline", "-o", file, "-i", path, *words)
    profile = pprof.read(file)
    index = [name for name, _ in profile["types"]].index(profile["default"])
    check(f"{path}: every sample type has values", all(
        any(s["values"][i] for s in profile["samples"]) or name not in ("samples", "time", "slots")
        for i, (name, _) in enumerate(profile["types"])), profile["types"])
    found = collections.Counter()
    for sample in profile["samples"]:
        if not sample["locations"]:
            found["[unknown]"] += sample["values"][index]
            continue
        leaf = profile["locations"][sample["locations"][0]]
        mapping = profile["mappings"][leaf["mapping"]]
        name = os.path.basename(mapping["file"])
        if leaf["functions"]:
            name = profile["functions"][leaf["functions"][0]]
        found[place(name)] += sample["values"][index]
    check_mappings(path, profile)
    return found


def check_mappings(path, profile):
    """Addresses lie in their mapping; the flags say what there is; no name is made up."""
    named = collections.defaultdict(lambda: [0, 0])
    for location in profile["locations"].values():
        mapping = profile["mappings"][location["mapping"]]
        check(f"{path}: an address in its mapping",
              mapping["start"] <= location["address"] < mapping["limit"], (location, mapping))
        named[location["mapping"]][0] |= bool(location["functions"])
        named[location["mapping"]][1] |= any(location["lines"])
    for key, mapping in profile["mappings"].items():
        check(f"{path}: flags", (mapping["flags"][0], mapping["flags"][2]) == tuple(named[key]),
              (mapping, named[key]))
        check(f"{path}: a mapping of whole pages", mapping["offset"] % 4096 == 0 and
              mapping["start"] % 4096 == 0, mapping)
    check(f"{path}: no made-up name", not any("+0x" in f for f in profile["functions"].values()))


def of_rows(path, words, kind):
    text = run("export", "-f", kind, "--no-inline", "-i", path, *words).decode()
    if kind == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
    else:
        rows = [json.loads(line) for line in text.splitlines()]
    found = collections.Counter()
    for row in rows:
        name = row.get("function") or row.get("module") or "[unknown]"
        value = next(row[k] for k in ("slots", "time_ns", "event") if row.get(k) not in (None, ""))
        found[place(name)] += int(value)
    return found


def of_speedscope(path, words):
    document = json.loads(run("export", "-f", "speedscope", "--no-inline", "-i", path, *words))
    frames = document["shared"]["frames"]
    profile = document["profiles"][document.get("activeProfileIndex", 0)]
    found = collections.Counter()
    for stack, weight in zip(profile["samples"], profile["weights"]):
        found[place(frames[stack[-1]]["name"]) if stack else "[unknown]"] += weight
    return found


def of_firefox(path, words):
    document = json.loads(run("export", "-f", "firefox", "--no-inline", "-i", path, *words))
    found = collections.Counter()
    shared = document["shared"]
    strings, stacks = shared["stringArray"], shared["stackTable"]
    for thread in document["threads"]:
        samples = thread["samples"]
        check(f"{path}: firefox: columns of one length", all(
            len(samples[c]) == samples["length"] for c in ("stack", "time", "weight")))
        check(f"{path}: firefox: times rise", samples["time"] == sorted(samples["time"]))
        check(f"{path}: firefox: a prefix comes before", all(
            p is None or p < i for i, p in enumerate(stacks["prefix"])))
        for stack, weight in zip(samples["stack"], samples["weight"]):
            name = "[unknown]"
            if stack is not None:
                func = shared["frameTable"]["func"][stacks["frame"][stack]]
                name = place(strings[shared["funcTable"]["name"][func]])
            found[name] += round(weight * 1e6) if samples["weightType"] == "tracing-ms" else weight
    return found


def of_callgrind(path, words):
    """Costs of a line that is no call; the first column."""
    found = collections.Counter()
    names, function, call = {}, None, False
    for line in run("export", "-f", "callgrind", "--no-inline", "-i", path, *words).decode().splitlines():
        key, _, rest = line.partition("=")
        if key in ("fn", "cfn"):
            number, _, name = rest.partition(" ")
            name = names.setdefault(number, name) if name else names[number]
            function = name if key == "fn" else function
        elif key == "calls":
            call = True
        elif line and line[0] in "0123456789+-*":
            if not call:
                found[place(function)] += int(line.split()[2 if line.startswith("0x") else 1])
            call = False
    return found


def check_exports(name, path, folder, *words):
    """Self values of the table in every export."""
    table = +of_table(path, words)
    total = sum(table.values())
    folded = +of_folded(path, words)
    share = lambda counts: {k: round(v / sum(counts.values()), 6) for k, v in counts.items()}
    check(f"{name}: folded", share(folded) == share(table), (folded, table))
    for kind, got in (("pprof", of_pprof(path, words, folder)), ("csv", of_rows(path, words, "csv")),
                      ("ndjson", of_rows(path, words, "ndjson")),
                      ("speedscope", of_speedscope(path, words)),
                      ("callgrind", of_callgrind(path, words))):
        check(f"{name}: {kind}", +got == table, (total, (+got - table), (table - got)))
    # It has single samples, each of which measured slots attribute with a rounding of its own.
    firefox = +of_firefox(path, words)
    check(f"{name}: firefox", firefox == table or (name == "pmu" and all(
        abs(firefox[k] - table[k]) < 1e-3 * total for k in firefox | table)), (firefox, table))


# What perf 6.12 script prints of the recording's 14 loads: weight, and how many of each level, locked, with a TLB miss.
WEIGHTS = (225, 96, 71, 70, 92, 77, 240, 70, 117, 81, 80, 89, 249, 168)
LEVELS = {"l1": 4, "lfb": 5, "l2": 1, "l3": 4, "dram": 0, "remote": 0, "other": 0, "unknown": 0}


def check_latency(path):
    (event,) = json.loads(run("latency", "--json", "-i", path))["latency"]
    got = event["cycles"]["latency"]
    check("latency of weight_struct", (got["samples"], got["median"], got["p95"], got["max"]) == (14, 90.5, 249, 249) and
          abs(got["mean"] - sum(WEIGHTS) / 14) < 1e-6, got)
    check("sources of weight_struct", (event["sources"], event["locked"], event["tlb_walk"], event["hitm"], event["store"]) ==
          (LEVELS, 2, 1, 0, 0), event)
    check("rows of weight_struct", sum(row["samples"] for row in event["rows"]) == 14 and
          all(sum(row["sources"][level] for row in event["rows"]) == LEVELS[level] for level in LEVELS), event["rows"])


def compose(folder):
    """The profiles of tests/golden."""
    script = os.path.join(SOURCE, "tests", "golden", "profiles.inc")
    for kind in ("clock", "sim", "pmu"):
        with open(os.path.join(folder, f"{kind}.td"), "wb") as out:
            subprocess.run(["bash", "-c", f". {script}; make_{kind}"], stdout=out, check=True,
                           env=dict(os.environ, COMPOSE=COMPOSE))
        yield kind, os.path.join(folder, f"{kind}.td")


def main():
    if subprocess.run(["zstd", "--version"], capture_output=True).returncode != 0:
        print("skipped: zstd is not installed")
        return 77
    perf = expected()
    with tempfile.TemporaryDirectory(prefix="figures-") as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        for packed in sorted(glob.glob(os.path.join(DATA, "*.zst"))):
            name = os.path.basename(packed)[:-4]
            path = os.path.join(folder, name)
            subprocess.run(["zstd", "-q", "-d", "-f", packed, "-o", path], check=True)
            check(f"{name}: perf's figures are known", name in perf)
            check_against_perf(name, path, perf[name])
            check_exports(name, path, folder)
            if name.endswith("weight_struct"):
                check_latency(path)
        for name, path in compose(folder):
            check_exports(name, path, folder)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
