#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opens our exports in the real viewers and compares the totals that they show with ours.

usage: viewer.py pprof|callgrind|firefox|speedscope|folded|rows FOLDER

FOLDER is what export_fixture wrote. Viewers that are no packages are looked for where
scripts/viewers puts them. Exit 77 and a reason when the viewer is not installed.
"""
import collections
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
VIEWERS = os.environ.get("TD_VIEWERS", os.path.join(CACHE, "tdprof", "viewers"))
HERE = os.path.dirname(os.path.abspath(__file__))
FLAMEGRAPH = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"
problems = []


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def need(path, what):
    if not os.path.exists(path):
        skip(f"{what} is not installed (scripts/viewers)")
    return path


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", **more)
    if done.returncode != 0:
        sys.exit(f"{command} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(what, want, got):
    print(f"{'equal' if want == got else 'DIFFERENT'}: {what}: ours {want}, shown {got}")
    if want != got:
        problems.append(what)


def totals(folder, name):
    with open(os.path.join(folder, f"{name}.totals.tsv"), encoding="utf-8") as file:
        return {key: int(value) for key, value in (line.split("\t") for line in file)}


def check_pprof(folder):
    pprof = need(os.path.join(VIEWERS, "pprof"), "pprof")
    for name in ("slots", "time"):
        path = os.path.join(folder, f"{name}.pb.gz")
        ours = totals(folder, name)
        types = [t for t in ["samples", "time", "slots"] if t in ours] + [
            t for t in ours if t not in ("samples", "time", "slots", "cycles", "instructions")]
        raw = run([pprof, "-raw", path])
        line = next(l for l in raw.splitlines() if re.match(r"samples/count|slots/count", l))
        expect("sample types", types, [word.split("/")[0] for word in line.replace("[dflt]", "").split()])
        for kind in types:
            text = run([pprof, "-top", "-unit=ns" if kind == "time" else "-unit=minimum",
                        f"-sample_index={kind}", path])
            shown = re.search(r"(?:Total samples = |of )(\d+)(?:ns)?(?: total)?\s", text)
            expect(f"{name} {kind}", ours.get(kind, 0), int(shown.group(1)) if shown else 0)
        if name == "slots":
            text = run([pprof, "-top", "-sample_index=slots", path])
            expect("inlined function", True, "step (inline)" in text)
            expect("a warning is shown", True, "a warning to be seen" in text)
            expect("no escape sequences", False, "\x1b" in text)
    merged = run([pprof, "-top", "-sample_index=slots", os.path.join(folder, "slots.pb.gz"),
                  os.path.join(folder, "slots.pb.gz")])
    shown = re.search(r"Total samples = (\d+)", merged)
    expect("merged slots", 2 * totals(folder, "slots")["slots"], int(shown.group(1)))


def check_callgrind(folder):
    tool = shutil.which("callgrind_annotate") or skip("callgrind_annotate (valgrind) is not installed")
    ids = {"Slots": "slots", "FE": "frontend_bound", "BE": "backend_bound", "BS": "bad_speculation",
           "RET": "retiring", "Ns": "time", "Samples": "samples"}
    for name in ("slots", "time"):
        ours = totals(folder, name)
        text = run([tool, "--show-percs=no", os.path.join(folder, f"{name}.callgrind")])
        events = re.search(r"^Events recorded: +(.*)$", text, re.M).group(1).split()
        numbers = re.search(r"^([\d, ]+?) +PROGRAM TOTALS", text, re.M).group(1).split()
        for event, number in zip(events, numbers):
            expect(f"{name} {event}", ours[ids[event]], int(number.replace(",", "")))
        if name == "slots":
            expect("events", ["Slots", "FE", "BE", "BS", "RET"], events[:5])
            expect("inlined file", True, "/src/step.h:hot" in text)
    text = run([tool, "--inclusive=yes", "--show-percs=no", os.path.join(folder, "slots.callgrind")])
    row = next(l for l in text.splitlines() if "/src/app.c:main" in l)
    expect("main's inclusive slots", totals(folder, "slots")["slots"],
           int(row.split()[0].replace(",", "")))


def firefox_threads(node, cli, path, home):
    env = dict(os.environ, HOME=home)
    run([node, cli, "load", path], env=env)
    try:
        found = []
        while True:
            done = subprocess.run([node, cli, "thread", "samples", "--thread", f"t-{len(found)}",
                                   "--json"], capture_output=True, text=True, env=env)
            if done.returncode != 0 or not done.stdout.strip():
                return found
            found.append(json.loads(done.stdout))
    finally:
        subprocess.run([node, cli, "stop"], capture_output=True, env=env)


def check_firefox(folder):
    modules = os.path.join(VIEWERS, "node_modules")
    node = need(os.path.join(modules, ".bin", "node"), "npm's node 24")
    cli = need(os.path.join(modules, "@firefox-devtools", "profiler-cli", "dist",
                            "profiler-cli.js"), "npm's profiler-cli")
    ids = {"Retiring": "retiring", "Bad speculation": "bad_speculation",
           "Frontend bound": "frontend_bound", "Backend bound": "backend_bound"}
    with tempfile.TemporaryDirectory() as home:
        threads = firefox_threads(node, cli, os.path.join(folder, "slots.firefox.json"), home)
        times = firefox_threads(node, cli, os.path.join(folder, "time.firefox.json"), home)
    ours = totals(folder, "slots")
    expect("threads", 2, len(threads))
    expect("slots", ours["slots"], sum(t["categoryBreakdown"]["totalSamples"] for t in threads))
    shown = {}
    for thread in threads:
        for category in thread["categoryBreakdown"]["categories"]:
            name = ids.get(category["name"], category["name"])
            shown[name] = shown.get(name, 0) + category["samples"]
            for sub in category["subcategories"]:
                shown[sub["name"]] = shown.get(sub["name"], 0) + sub["samples"]
    for name in list(ids.values()) + ["light_operations", "heavy_operations", "memory_bound",
                                      "core_bound", "branch_mispredicts", "fetch_latency"]:
        expect(name, ours[name], shown.get(name, 0))
    milliseconds = sum(t["categoryBreakdown"]["totalSamples"] for t in times)
    expect("time", totals(folder, "time")["time"], round(milliseconds * 1e6))


def check_speedscope(folder):
    modules = os.path.join(VIEWERS, "node_modules")
    node = need(os.path.join(modules, ".bin", "node"), "npm's node 24")
    need(os.path.join(modules, "speedscope"), "npm's speedscope")
    need(os.path.join(modules, "puppeteer-core"), "npm's puppeteer-core")
    chromium = shutil.which("chromium") or skip("chromium is not installed")
    ours = totals(folder, "slots")
    path = os.path.join(folder, "slots.speedscope.json")
    text = run([node, os.path.join(HERE, "speedscope.cjs"), modules, chromium, path], timeout=120)
    shown = json.loads(text)
    expect("no errors in the page", [], shown["errors"])
    expect("no script of a name ran", False, shown["pwned"])
    with open(path, encoding="utf-8") as file:
        names = [profile["name"] for profile in json.load(file)["profiles"]]
    expect("profiles", len([n for n in ours if ours[n]]), len(names))
    for name, total in zip(names, shown["totals"]):
        if name != "time":  # speedscope rounds times for people
            expect(name, ours[name], total)


def check_folded(folder):
    need(FLAMEGRAPH, "flamegraph.pl (libdevel-nytprof-perl)")
    for name, metric in (("slots", "slots"), ("time", "samples")):
        done = subprocess.run(["perl", FLAMEGRAPH, os.path.join(folder, f"{name}.folded")],
                              capture_output=True, text=True, errors="replace")
        shown = re.search(r"all \(([\d,]+) samples", done.stdout)
        expect(f"{name} messages", "", done.stderr.strip())
        expect(f"{name} {metric}", totals(folder, name)[metric],
               int(shown.group(1).replace(",", "")) if shown else 0)


def short_rows(document):
    """{(tid, names outermost first, metric): value} of the rows that name their stacks by index."""
    found = collections.Counter()
    for row in document["rows"]:
        stack, names = row["stack"], []
        while stack is not None:
            stack, frame = document["stacks"][stack]
            names.append(document["frames"][frame]["function"])
        for metric in document["totals"]:
            key = document["threads"][row["thread"]]["tid"], tuple(names[::-1]), metric
            found[key] += row.get(metric) or 0
    return +found


def full_rows(lines, metrics):
    found = collections.Counter()
    for row in lines:
        for metric in metrics:
            found[row["tid"], tuple(row["stack"]), metric] += row[metric] or 0
    return +found


def check_rows(folder):
    """csv, ndjson and json with Python's own readers."""
    for name in ("slots", "time"):
        ours = totals(folder, name)
        with open(os.path.join(folder, f"{name}.csv"), encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        with open(os.path.join(folder, f"{name}.ndjson"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        with open(os.path.join(folder, f"{name}.json"), encoding="utf-8") as file:
            document = json.load(file)
        expect(f"{name}: rows", len(table), len(lines))
        expect(f"{name}: json has the rows of ndjson", full_rows(lines, document["totals"]), short_rows(document))
        expect(f"{name}: columns", set(table[0]), set(lines[0]))
        for metric, total in ours.items():
            column = "time_ns" if metric == "time" else metric
            expect(f"{name}: csv {metric}", total, sum(int(row[column]) for row in table))
            expect(f"{name}: ndjson {metric}", total, sum(row[column] for row in lines))
            expect(f"{name}: json {metric}", total, document["totals"][column])
        expect(f"{name}: csv has no control characters", False,
               any(ord(c) < 32 for row in table for value in row.values() for c in value))


def main():
    {"pprof": check_pprof, "callgrind": check_callgrind, "firefox": check_firefox,
     "speedscope": check_speedscope, "folded": check_folded,
     "rows": check_rows}[sys.argv[1]](sys.argv[2])
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
