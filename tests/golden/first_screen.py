#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The first screen of every profile that the tests have: in 24 lines of 80 columns the verdict, where to look and the
command to run next; and no figure in it is larger than the whole that it is a part of.
usage: first_screen.py BIN_DIR COMPOSE CASES_DIR DATA_DIR"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

BIN, COMPOSE, CASES, DATA = map(os.path.abspath, sys.argv[1:])
LINES, COLUMNS = 24, 80
UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9}
VERDICTS = ("high", "useful", "verdict", "hot", "not sure")
problems = []


def compose(folder):
    """The profiles that the golden cases are about, under their makers' names."""
    with open(os.path.join(CASES, "profiles.inc"), encoding="utf-8") as file:
        makers = re.findall(r"^(make_\w+)\(\)", file.read(), re.M)
    for maker in makers:
        path = os.path.join(folder, maker + ".td")
        with open(path, "wb") as out:
            subprocess.run(["bash", "-c", f". '{CASES}/profiles.inc'; {maker}"], stdout=out, check=True,
                           env={**os.environ, "COMPOSE": COMPOSE})
        yield path
    path = os.path.join(folder, "short_pmu.td")
    with open(path, "wb") as out:
        subprocess.run(["bash", "-c", f". '{CASES}/profiles.inc'; {{ pmu_head sapphire-rapids; echo counter 0 7; echo slots "
                        "- \"$METRICS\"; pmu_samples 0 7; } | \"$COMPOSE\""], stdout=out, check=True,
                       env={**os.environ, "COMPOSE": COMPOSE})
    yield path
    lines = {"busy": "light_operations 90 dram_bound 4 branch_mispredicts 6", "even": "light_operations 48 icache_misses "
             "4 branch_mispredicts 9 fetch_bandwidth 10 dram_bound 9 divider 10 ports_utilization 10",
             "all": "light_operations 10 icache_misses 7 itlb_misses 6 branch_resteers 6 branch_mispredicts 16 l1_bound 11 "
             "l2_bound 7 l3_bound 7 dram_bound 11 divider 3 ports_utilization 16"}
    for name, nodes in lines.items():
        words = nodes.split()
        values = ",".join(str(int(n) * 10**6) for n in words[1::2])
        text = "env argv ./app --with an argument that is so long that it does not fit into the line of a screen\n" \
               "env source sim\nenv source_reason no core PMU\nenv core golden-cove\nenv parameter clock_hz=3500000000\n" \
               "counter 18 16666667\ncounter 19 60000000\nmodule kernel [kernel]\n" \
               "symbol 0 0x1000 0x100 std::vector<std::pair<int, long>, std::allocator<int> >::emplace_back(int&)\n" \
               f"thread 1 1 app app\nsim {' '.join(words[0::2])}\ntally 0 0 60000000 {values},16666667 0:0x1010\n"
        path = os.path.join(folder, name + ".td")
        with open(path, "wb") as out:
            subprocess.run([COMPOSE], input=text.encode(), stdout=out, check=True)
        yield path


def recorded(folder):
    yield from sorted(glob.glob(os.path.join(DATA, "profiles", "*.td")))
    for path in sorted(glob.glob(os.path.join(DATA, "perfdata", "*.zst"))):
        plain = os.path.join(folder, os.path.basename(path)[:-4])
        if subprocess.run(["zstd", "-qdf", path, "-o", plain], check=False).returncode == 0:
            yield plain


def sections(lines):
    """(label, text) of each labelled line, with the lines that go on below it."""
    found = []
    for line in lines:
        if line[:10].strip() or not found:
            found.append([line[:10].strip(), line[10:].strip()])
        elif found[-1][0] == "look at":
            found.append(["look at", line[10:].strip()])
        else:
            found[-1][1] += " " + line[10:].strip()
    return found


def seconds(text):
    """Of "12.3 ms" or "12.3 ± 0.4 ms", the first in the text; None without one."""
    match = re.search(r"([\d.]+)(?: (?:±|\+-) [\d.]+)? (s|ms|µs|us|ns)\b", text)
    return float(match[1]) * UNITS[match[2]] if match else None


def shares(text):
    """{name: percent} of "l3_bound 62.7 % ..." or "62.7 % l3_bound"."""
    found = {name: float(value) for value, name in re.findall(r"([\d.]+) % ([a-z0-9_]+_\w+|retiring|divider)", text)}
    for name, value in re.findall(r"([a-z0-9_]+_\w+|divider) ([\d.]+)(?: (?:±|\+-) [\d.]+)? %", text):
        found.setdefault(name, float(value))
    return found


def check_figures(path, labelled, tree):
    whole = {node["id"]: 100 * node["share"] for node in tree}
    total = next((seconds(text) for label, text in labelled if label == "total"), None)
    highs = 0
    for label, text in labelled:
        for value in re.findall(r"([\d.]+) (?:(?:±|\+-) [\d.]+ )?%", text):
            if float(value) > 100.05:
                problems.append(f"{path}: {label}: {value} %")
        if label == "high":
            highs += 1
            spent = seconds(text)
            if spent is not None and (total is None or spent > 1.006 * total):
                problems.append(f"{path}: {text}: of {total} s in all")
        if label in ("high", "look at", "also high"):
            for node, value in shares(text).items():
                if node in whole and value > whole[node] + 0.051:
                    problems.append(f"{path}: {label}: {node} {value} %, in all {whole[node]:.1f} %")
        if label in ("useful", "hot"):
            parts = [float(value) for value in re.findall(r"\(([\d.]+) %\)", text)]
            if sum(parts) > 100.2:
                problems.append(f"{path}: {label}: parts of {sum(parts)} %")
    tries = sum(label == "try" for label, _ in labelled)
    if tries < highs:
        problems.append(f"{path}: {highs} high nodes, but {tries} lines say what to try")


def check(path, folder):
    env = {**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": str(COLUMNS), "XDG_CACHE_HOME": folder, "DEBUGINFOD_URLS": ""}
    link = os.path.join(folder, "profile.td")
    if os.path.lexists(link):
        os.unlink(link)
    os.symlink(path, link)
    done = subprocess.run([os.path.join(BIN, "tdreport")], cwd=folder, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 3) or not done.stdout:
        return False
    lines = done.stdout.decode().split("\n")[:LINES]
    labels = [line[:10].strip() for line in lines]
    for what, wanted in (("verdict", VERDICTS), ("place", ("look at",)), ("next command", ("next",))):
        if not any(label in wanted for label in labels) and not (what == "place" and "nothing" in " ".join(lines)):
            problems.append(f"{path}: no {what} in {LINES} lines:\n" + "\n".join(lines))
    end = labels.index("next") + 1 if "next" in labels else LINES
    for line in lines[:end - 1]:
        if len(line) > COLUMNS:
            problems.append(f"{path}: {len(line)} columns: {line}")
    report = json.loads(subprocess.run([os.path.join(BIN, "tdreport"), "--json"], cwd=folder, env=env,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout)
    check_figures(path, sections([line for line in lines[:end] if line]), report["tree"])
    return True


def main():
    with tempfile.TemporaryDirectory() as folder:
        seen = sum(check(path, folder) for path in [*compose(folder), *recorded(folder)])
    print(f"{seen} first screens")
    if seen < 10:
        problems.append("too few profiles were seen")
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


main()
