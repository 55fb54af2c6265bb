#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No impossible figure, in any output of any profile: no part exceeds its whole, no more slots retire than uops ran, no output
shows a category that the tables leave blank, and what the exports say of a function's categories is what the tables say.

usage: impossible.py TDREPORT COMPOSE SOURCE_FOLDER
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
SLACK = 2e-5  # of six printed digits
PARENTS = {}
problems = []


def check(what, holds, detail=""):
    if not holds:
        print(f"FAILED: {what}: {str(detail)[:800]}")
        problems.append(what)


def run(*words, ok=(0, 3)):
    done = subprocess.run([TDREPORT, *words], capture_output=True, check=False)
    if done.returncode not in ok:
        sys.exit(f"tdreport {' '.join(words)} gave {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def check_tree(name, report):
    shares = {node["id"]: node["share"] for node in report["tree"]}
    PARENTS.update({node["id"]: node["parent"] for node in report["tree"]})
    for whole in {node["parent"] for node in report["tree"]}:
        parts = sum(node["share"] for node in report["tree"] if node["parent"] == whole)
        check(f"{name}: parts of {whole}", parts <= (shares[whole] if whole else 1) + SLACK, shares)
    for node in report["tree"]:
        check(f"{name}: {node['id']} is a share", 0 <= node["share"] <= 1 and 0 <= node["error"] <= 1, node)
    for place in (report["verdict"] or {}).get("look_at", []):
        named = [(place["category"], place["slots_share"])] if place["category"] else []
        for node, share in named + [(loss["id"], loss["slots_share"]) for loss in place.get("categories", [])]:
            check(f"{name}: a place's {node}", share <= shares[node] + SLACK, place)


def check_rows(name, rows):
    for row in rows:
        known = {k: v for k, v in row["categories"].items() if v is not None}
        for whole in set(PARENTS.values()):
            parts = sum(v for k, v in known.items() if PARENTS[k] == whole)
            limit = 1 if whole is None else known.get(whole, 1)
            check(f"{name}: parts of {whole}", parts <= limit + SLACK * 5, row)
        for key in ("slots_share", "time_share"):
            check(f"{name}: {key}", row[key] is None or 0 <= row[key] <= 1 + SLACK, row)


def table_of(rows):
    """(function, node) -> slots, None where blank."""
    return {(row["function"] if row["function"] != "[unknown]" else row["module"], node):
            None if share is None else share * row["slots"] for row in rows for node, share in row["categories"].items()}


def place(text):
    return text.rsplit("+0x", 1)[0] if "+0x" in text else text


def compare(what, table, got, total):
    """`got`: (function, node) -> slots. Where the table is blank there is nothing."""
    wanted = collections.Counter()
    for (function, node), slots in table.items():
        wanted[place(function), node] += slots or 0
    for key in set(wanted) | set(got):
        if key[0].startswith("[unknown]"):
            continue
        check(f"{what}: {key}", abs(wanted[key] - got.get(key, 0)) <= SLACK * total + 2, (wanted[key], got.get(key)))


def of_folded(path, node, words):
    found = collections.Counter()
    for line in run("folded", "--no-inline", "--plain-names", "--category", node, "-i", path, *words).decode().splitlines():
        stack, value = line.rsplit(" ", 1)
        found[place(stack.split(";")[-1]), node] += int(value)
    return found


def of_pprof(path, folder, words):
    file = os.path.join(folder, "x.pb.gz")
    run("export", "-f", "pprof", "--no-inline", "-o", file, "-i", path, *words)
    profile = pprof.read(file)
    found = collections.Counter()
    for sample in profile["samples"]:
        name = "[unknown]"
        if sample["locations"]:
            leaf = profile["locations"][sample["locations"][0]]
            name = os.path.basename(profile["mappings"][leaf["mapping"]]["file"])
            if leaf["functions"]:
                name = profile["functions"][leaf["functions"][0]]
        for (node, _), value in zip(profile["types"], sample["values"]):
            if node in PARENTS:
                found[place(name), node] += value
    return found


def of_rows(path, kind, words):
    text = run("export", "-f", kind, "--no-inline", "-i", path, *words).decode()
    rows = {"csv": lambda: list(csv.DictReader(io.StringIO(text))), "json": lambda: json.loads(text)["rows"],
            "ndjson": lambda: [json.loads(line) for line in text.splitlines()]}[kind]()
    found = collections.Counter()
    for row in rows:
        for node in PARENTS:
            if row.get(node) not in (None, ""):
                found[place(row["function"]), node] += int(row[node])
                check(f"{kind}: {node} of its whole", int(row[node]) <= int(row["slots"]), row)
    return found


def of_speedscope(path, words):
    document = json.loads(run("export", "-f", "speedscope", "--no-inline", "-i", path, *words))
    frames, found = document["shared"]["frames"], collections.Counter()
    for profile in document["profiles"]:
        for stack, weight in zip(profile["samples"], profile["weights"]):
            if profile["name"] in PARENTS:
                found[place(frames[stack[-1]]["name"]) if stack else "[unknown]", profile["name"]] += weight
    return found


def of_callgrind(path, words):
    nodes = {"FE": "frontend_bound", "BE": "backend_bound", "BS": "bad_speculation", "RET": "retiring"}
    names, found, function, call, events = {}, collections.Counter(), "", False, []
    for line in run("export", "-f", "callgrind", "--no-inline", "-i", path, *words).decode().splitlines():
        key, _, rest = line.partition("=")
        if line.startswith("events:"):
            events = line.split()[1:]
        elif key in ("fn", "cfn"):
            number, _, name = rest.partition(" ")
            name = names.setdefault(number, name) if name else names[number]
            function = name if key == "fn" else function
        elif key == "calls":
            call = True
        elif line and line[0] in "0123456789":
            for event, value in zip(events, line.split()[1:]):
                if event in nodes and not call:
                    found[place(function), nodes[event]] += int(value)
            call = False
    return found


def check_profile(name, path, folder, words):
    report = json.loads(run("--json", "--no-inline", "-i", path, *words))
    if not report["tree"]:
        return
    total = sum(row["slots"] for row in report["functions"])
    check_tree(name, report)
    for kind in ("functions", "lines"):
        check_rows(f"{name}: {kind}", report[kind])
    for kind in ("functions", "modules", "threads", "programs"):
        check_rows(f"{name}: {kind}", json.loads(run(kind, "--json", "-i", path, *words))[kind])
    table = table_of(report["functions"])
    folded = collections.Counter()
    for node in report["tree"]:
        one = of_folded(path, node["id"], words)
        folded.update(one)
        check(f"{name}: folded {node['id']}: all of it", abs(sum(one.values()) - node["slots"]) <= SLACK * total + 2,
              (sum(one.values()), node))
    compare(f"{name}: folded", table, folded, total)
    compare(f"{name}: pprof", table, of_pprof(path, folder, words), total)
    compare(f"{name}: speedscope", table, of_speedscope(path, words), total)
    for kind in ("csv", "json", "ndjson"):
        compare(f"{name}: {kind}", table, of_rows(path, kind, words), total)
    level_1 = {key: slots for key, slots in table.items() if PARENTS[key[1]] is None}
    compare(f"{name}: callgrind", level_1, of_callgrind(path, words), total)


def check_uops(name, path, words):
    """A join retires no more than its model."""
    tree = lambda *more: {n["id"]: n["slots"] for n in json.loads(run("--json", "-i", path, *more))["tree"]}
    check(f"{name}: uops", tree(*words)["retiring"] <= tree()["retiring"], (tree(*words), tree()))


def compose(folder, kind, name, *lines):
    script = os.path.join(SOURCE, "tests", "golden", "profiles.inc")
    path = os.path.join(folder, name + ".td")
    with open(path, "wb") as out:
        subprocess.run(["bash", "-c", f". {script}; make_{kind} \"$@\"", "sh", *lines], stdout=out, check=True,
                       env=dict(os.environ, COMPOSE=COMPOSE))
    return path


CLOCK = """env argv ./app
env source clock
module kernel [kernel]
symbol 0 0x1000 0x100 chase
symbol 0 0x2000 0x100 branchy
thread 200 200 app app
clock 1000
tally 0 0 {0} {0}00000 0:0x1012
tally 0 0 {1} {1}00000 0:0x2010
tally 0 0 5 500000 0:0x9000
"""


def main():
    with tempfile.TemporaryDirectory(prefix="impossible-") as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        for kind in ("clock", "sim", "pmu", "hybrid", "passes"):
            check_profile(kind, compose(folder, kind, kind), folder, ())
        sim = compose(folder, "sim", "model")
        # As long as modelled, far longer, shorter than its uops take, and of few samples.
        for chase, branchy in ((600, 250), (9000, 40), (30, 9000), (100, 30), (3, 1)):
            clock = os.path.join(folder, f"clock-{chase}.td")
            with open(clock, "wb") as out:
                subprocess.run([COMPOSE], input=CLOCK.format(chase, branchy).encode(), stdout=out, check=True)
            words = ("--weights", clock)
            check_profile(f"join {chase} {branchy}", sim, folder, words)
            check_uops(f"join {chase} {branchy}", sim, words)
        for path in sorted(glob.glob(os.path.join(SOURCE, "tests", "data", "profiles", "*.td"))):
            check_profile(os.path.basename(path), path, folder, ())
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
