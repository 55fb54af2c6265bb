#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No impossible figure, in any output of any profile: no part exceeds its whole, no more slots retire than uops ran, no output
shows a category that the tables leave blank, and what the exports say of a function's categories is what the tables say.

usage: impossible.py PART TDREPORT COMPOSE SOURCE_FOLDER; PART is composed, recorded, imported or damaged
"""
import collections
import csv
import glob
import io
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import pprof

PART = sys.argv[1]
TDREPORT, COMPOSE, SOURCE = (os.path.abspath(word) for word in sys.argv[2:5])
BUILD = os.path.dirname(TDREPORT)
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
    """(function, node) -> slots, of functions of one name together; what is blank has none."""
    table = collections.Counter()
    for row in rows:
        for node, share in row["categories"].items():
            table[row["function"] if row["function"] != "[unknown]" else row["module"], node] += (share or 0) * row["slots"]
    return table


def place(text):
    return text.rsplit("+0x", 1)[0] if "+0x" in text else text


def compare(what, table, got, total, least=2):
    """`got`: (function, node) -> slots. Where the table is blank there is nothing."""
    wanted = collections.Counter()
    for (function, node), slots in table.items():
        wanted[place(function), node] += slots
    for key in set(wanted) | set(got):
        if key[0].startswith("[unknown]"):
            continue
        check(f"{what}: {key}", abs(wanted[key] - got.get(key, 0)) <= SLACK * total + least, (wanted[key], got.get(key)))


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


def of_firefox(path, words):
    """Levels 1 and 2: a category and a subcategory of each sample's stack. None where it is of time."""
    document = json.loads(run("export", "-f", "firefox", "--no-inline", "-o", "-", "-i", path, *words))
    shared, found = document["shared"], collections.Counter()
    categories = document["meta"]["categories"]
    if not any(category["name"] == "Retiring" for category in categories):
        return None, False  # single samples, in the order of time: they have no slots
    for thread in document["threads"]:
        samples = thread["samples"]
        for stack, weight in zip(samples["stack"], samples["weight"]):
            if stack is None:
                continue
            frame = shared["stackTable"]["frame"][stack]
            name = shared["stringArray"][shared["funcTable"]["name"][shared["frameTable"]["func"][frame]]]
            category = categories[shared["frameTable"]["category"][frame]]
            part = category["subcategories"][shared["frameTable"]["subcategory"][frame]]
            for node in (category["name"].lower().replace(" ", "_"), part):
                if node in PARENTS:
                    found[place(name), node] += weight
    return found, document["threads"][0]["samples"]["weightType"] == "tracing-ms"


def check_firefox(name, path, report, words):
    """Of a join it is of measured time, in ms, divided as the slots are."""
    found, is_time = of_firefox(path, words)
    if found is None:
        return
    unit = "time_ns" if is_time else "slots"
    rows = [{**row, "slots": (row[unit] or 0) / (1e6 if is_time else 1)} for row in report["functions"]]
    levels = {key: value for key, value in table_of(rows).items() if PARENTS[key[1]] is None or PARENTS[PARENTS[key[1]]] is None}
    total = sum(row["slots"] for row in rows)
    # Samples of a PMU are attributed one by one there, in tables function by function: as sure, and not to the digit the same.
    coarse = 1000 if any("found_by" in row for row in rows) else 1
    compare(f"{name}: firefox", levels, found, total * coarse, 1e-3 * len(rows) if is_time else 2)


def check_counts(name, path, report, words):
    """Samples, time and events of a function are the same in rows and exports."""
    rows = json.loads(run("export", "-f", "json", "--no-inline", "-i", path, *words))["rows"]
    for key in ("samples", "time_ns", "event"):
        ours, theirs = collections.Counter(), collections.Counter()
        for row in report["functions"]:
            ours[row["function"]] += row.get(key) or 0
        for row in rows:
            theirs[row["function"]] += int(row.get(key) or 0)
        if sum(theirs.values()):
            check(f"{name}: {key}", abs(sum(ours.values()) - sum(theirs.values())) <= len(rows) + 1,
                  (sum(ours.values()), sum(theirs.values())))


def check_cpi(name, path, words, slots):
    """Components of CPI stacks add up to cycles per instruction, and to all slots."""
    done = subprocess.run([TDREPORT, "cpi", "--json", "-i", path, *words], capture_output=True, check=False)
    if done.returncode == 4:
        check(f"{name}: cpi says why it is refused", done.stderr.count(b"\n") >= 1 and not done.stdout, done.stderr)
        return
    report = json.loads(done.stdout)
    check(f"{name}: cpi has all slots", report["cpi_stack"]["slots"] == slots, (report["cpi_stack"]["slots"], slots))
    for stack in [report["cpi_stack"], *report["functions"]]:
        parts = stack["components"]
        check(f"{name}: slots of a CPI stack", sum(part["slots"] for part in parts) == stack["slots"], stack)
        if stack["cpi"] is None:
            continue
        cpi = stack["cycles"] / stack["instructions"]
        check(f"{name}: a CPI stack adds up", abs(sum(part["cpi"] for part in parts) - cpi) <= 1e-9 * cpi, stack)
        check(f"{name}: its CPI", abs(stack["cpi"] - cpi) <= 1e-9 * cpi, stack)


def check_profile(name, path, folder, words):
    report = json.loads(run("--json", "--no-inline", "-n", "1000000", "-i", path, *words))
    if not report["tree"]:
        check_rows(f"{name}: functions", report["functions"])
        for kind in ("modules", "threads", "programs"):
            check_rows(f"{name}: {kind}", json.loads(run(kind, "--json", "-i", path, *words))[kind])
        check_counts(name, path, report, words)
        return
    total = sum(row["slots"] for row in report["functions"])
    check_cpi(name, path, words, total)
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
    check_firefox(name, path, report, words)
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


def composed(folder):
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


def recorded(folder):
    """Of programs that run now. What cannot be recorded here is left out, and said."""
    workload = lambda name, *words: [os.path.join(BUILD, "workloads", name), *words]
    kernels = workload("kernels_mixed", "interpreter", "150000")
    model = ("--source", "sim", "--sim-core", "golden-cove")
    runs = {"clock": (("--source", "clock", "-F", "5000", "-g"), workload("chain", "0.2")),
            "threads": (("--source", "clock", "-F", "5000"), workload("pool", "0.2")),
            "sim": (model, kernels), "sampled": ((*model, "--sim-sample"), workload("kernels_mixed", "hash-join", "40000")),
            "sim-pmu": ((*model, "--sim-pmu", "20000"), kernels),
            "hybrid": (("--source", "hybrid", "-F", "10000", "--sim-core", "golden-cove"), kernels)}
    if not shutil.which("qemu-x86_64") or not os.path.exists(os.path.join(BUILD, "tdprof-sim-plugin.so")):
        print("nothing is modelled: no plugin or no qemu-x86_64")
        runs = {name: runs[name] for name in ("clock", "threads")}
    made = 0
    for name, (how, command) in runs.items():
        path = os.path.join(folder, name + ".td")
        done = subprocess.run([os.path.join(BUILD, "tdrec"), "-q", *how, "-o", path, "--", *command], capture_output=True,
                              check=False, timeout=200)
        if not os.path.exists(path):
            print(f"{name}: not recorded: {done.stderr.decode()}")
            continue
        made += 1
        check_profile(name, path, folder, ())
    if made == 0:
        print("skipped: perf_event_open: nothing can be recorded here")
        sys.exit(77)


def imported(folder):
    if not shutil.which("zstd"):
        print("skipped: zstd is not installed")
        sys.exit(77)
    packed = sorted(glob.glob(os.path.join(SOURCE, "tests", "data", "perfdata", "*.zst")))
    check("imports", len(packed) > 10, packed)
    for source in packed:
        path = os.path.join(folder, "perf.data")
        subprocess.run(["zstd", "-q", "-d", "-f", source, "-o", path], check=True)
        check_profile(os.path.basename(source), path, folder, ())


def crc32c(data, crc=0):
    crc ^= 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def flipped(data, dice, flips):
    """The profile with bytes changed in chunks that are stored as they are, and with right checksums again (formats/profile.md,
    section 3), so that what is wrong is what they say."""
    data, pos, chunks = bytearray(data), struct.unpack_from("<H", data, 8)[0], []
    seed = crc32c(data[:pos - 4])
    while pos + 28 <= len(data):
        stored = struct.unpack_from("<I", data, pos + 12)[0]
        if not data[pos + 5] & 2 and stored:
            chunks.append((pos, stored))
        pos += 28 + stored
    for at, stored in dice.choices(chunks, k=flips) if chunks else ():
        data[at + 28 + dice.randrange(stored)] ^= 1 << dice.randrange(8)
        struct.pack_into("<I", data, at + 20, crc32c(data[at + 28:at + 28 + stored]))
        struct.pack_into("<I", data, at + 24, crc32c(data[at:at + 24], seed))
    return bytes(data)


def damaged(folder):
    sources = {kind: compose(folder, kind, kind) for kind in ("clock", "sim", "pmu", "hybrid", "passes")}
    sources["corpus"] = os.path.join(SOURCE, "tests", "fuzz", "corpus", "profile", "uncompressed.td")
    copies, seed = int(os.environ.get("TD_DAMAGE_COPIES", "18")), int(os.environ.get("TD_DAMAGE_SEED", "1"))
    looked_at = 0
    for copy in range(copies):
        kind = list(sources)[copy % len(sources)]
        with open(sources[kind], "rb") as file:
            data = flipped(file.read(), random.Random(seed * 1000 + copy), 1 + copy % 3)
        path = os.path.join(folder, "damaged.td")
        with open(path, "wb") as file:
            file.write(data)
        done = subprocess.run([TDREPORT, "--json", "-i", path], capture_output=True, check=False)
        check(f"{kind} {copy}: ends", done.returncode in (0, 2, 3, 4), done)
        if done.returncode in (0, 3) and done.stdout:
            looked_at += 1
            check_profile(f"{kind}, copy {copy}", path, folder, ())
    print(f"{looked_at} of {copies} copies could be read")
    check("copies that can be read", looked_at > copies / 4)


def main():
    with tempfile.TemporaryDirectory(prefix="impossible-") as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        {"composed": composed, "recorded": recorded, "imported": imported, "damaged": damaged}[PART](folder)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
