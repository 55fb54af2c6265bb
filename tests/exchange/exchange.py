#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profiles in and out with the real programs.

usage: exchange.py import|round_trip|merge|mpi BUILD_FOLDER SOURCE_FOLDER

import      what perf records here in several ways, against perf script and perf report
round_trip  perf.data -> td -> every export: the same values as from the perf.data itself
merge       any order and grouping, many profiles, --by
mpi         four ranks under OpenMPI, recorded by tdrec and merged
"""
import collections
import csv
import glob
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile

BUILD, SOURCE = os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
TDREPORT = os.path.join(BUILD, "tdreport")
TDREC = os.path.join(BUILD, "tdrec")
PRINT = os.path.join(BUILD, "tests", "exchange", "model_print")
MAKE = os.path.join(BUILD, "tests", "exchange", "merge_make")
HERE = os.path.join(SOURCE, "tests", "exchange")
problems = []

# What the program spends its time in. Beside it perf 6.1 gives the head of the PLT and its first entry to _init, and has
# no name for .plt.got: a sample that meets those is no matter here.
FUNCTIONS = ("main", "middle", "leaf", "other")

PROGRAM = r"""
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
static volatile unsigned long sum;
__attribute__((noinline)) void leaf(long n) { for (long i = 0; i < n; i++) sum += i; }
__attribute__((noinline)) void middle(long n) { leaf(n); sum += 1; }
__attribute__((noinline)) void other(long n) { for (long i = 0; i < n; i++) sum ^= i; }
int main(int argc, char **argv) {
    long n = atol(argv[1]) * 1000000;
    pid_t child = fork();
    middle(n); other(n / 2);
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    return 0;
}
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def check(what, holds, detail=""):
    print(f"{'ok' if holds else 'FAILED'}: {what}{'' if holds else ': ' + str(detail)[:2000]}")
    if not holds:
        problems.append(what)


def run(command, ok=(0,), **more):
    done = subprocess.run(command, capture_output=True, **more)
    if done.returncode not in ok:
        sys.exit(f"{command} gave {done.returncode}:\n"
                 f"{done.stderr.decode(errors='replace')[:3000]}")
    return done.stdout.decode(errors="replace")


def compile_program(folder):
    compiler = shutil.which("cc") or skip("no compiler is installed")
    source = os.path.join(folder, "app.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    program = os.path.join(folder, "app")
    run([compiler, "-O1", "-g", "-fno-omit-frame-pointer", "-o", program, source])
    return program


class Crash(Exception):
    """perf itself ended by a signal: that says nothing about us."""


def perf(arguments):
    """What a run of perf prints, as bytes."""
    done = subprocess.run(["perf", *arguments], capture_output=True)
    error = done.stderr.decode(errors="replace").strip()
    if done.returncode < 0:
        raise Crash(f"perf {arguments[0]}: {error.splitlines()[-1] if error else 'no message'}")
    if done.returncode != 0:
        sys.exit(f"perf {arguments} gave {done.returncode}:\n{error[:3000]}")
    return done.stdout


def record(path, options, program, pipe):
    stream = perf(["record", *options, "-o", "-" if pipe else path, "--", program, "30"])
    if pipe:
        with open(path, "wb") as file:
            file.write(stream)


def by_symbol_perf(path):
    text = perf(["report", "--stdio", "--no-children", "-g", "none", "-F", "sample,period,sym",
                 "--dsos", "app", "-t", "|", "-i", path]).decode(errors="replace")
    found = collections.Counter()
    for line in text.splitlines():
        words = [word.strip() for word in line.split("|")]
        if len(words) == 3 and words[0].isdigit():
            found[words[2].split("] ", 1)[1]] += int(words[1])
    return {name: found[name] for name in FUNCTIONS}


def by_symbol_ours(path):
    report = json.loads(run([TDREPORT, "functions", "--no-inline", "--json", "-i", path]))
    found = collections.Counter({f["function"]: f["time_ns"] for f in report["functions"]
                                 if f["module"] == "app"})
    return {name: found[name] for name in FUNCTIONS}


def test_import(folder):
    if not shutil.which("perf"):
        skip("perf is not installed")
    program = compile_program(folder)
    cases = {
        "plain": (["-e", "cpu-clock", "-F", "4000"], False),
        "chains": (["-e", "cpu-clock", "-F", "4000", "-g"], False),
        "system": (["-e", "cpu-clock", "-F", "999", "-a", "-g"], False),
        "pipe": (["-e", "cpu-clock", "-F", "4000", "-g"], True),
        "compressed": (["-e", "cpu-clock", "-F", "4000", "-g", "-z"], False),
        "group": (["-e", "{cpu-clock,page-faults,context-switches}:S", "-c", "1000000",
                   "--no-inherit"], False),
        "several": (["-e", "cpu-clock,page-faults/period=1,name=page-faults/", "-c", "100000"], False),
        "period": (["-e", "task-clock", "-c", "500000", "-d", "-T", "-P"], False),
        "build-ids": (["-e", "cpu-clock", "-F", "4000", "--buildid-mmap"], False),
        "stacks": (["-e", "cpu-clock", "-F", "500", "--call-graph", "dwarf,4096"], False),
    }
    done = subprocess.run(["perf", "record", "-B", "-N", "-e", "cpu-clock", "-o", "/dev/null",
                           "--", "true"], capture_output=True, text=True)
    if done.returncode > 0:
        skip(f"perf_event_open is not permitted: {done.stderr.strip()[-200:]}")
    crashed = 0
    for name, (options, pipe) in cases.items():
        path = os.path.join(folder, f"{name}.perf.data")
        # perf 6.1 aborts on build-ids of its own on some machines; with those of the kernel it
        # has less to do. What it can never do says nothing about us.
        for more in ([], ["--buildid-mmap"], ["--buildid-mmap"]):
            try:
                record(path, options + more, program, pipe)
                test_import_case(folder, name, path)
                break
            except Crash as crash:
                print(f"perf crashed: {name}, {more}: {crash}")
        else:
            crashed += 1
            print(f"left out: {name}: perf crashes whatever it is told")
    if not problems and 2 * crashed > len(cases):
        skip(f"perf itself crashes here, in {crashed} of {len(cases)} cases")


def test_import_case(folder, name, path):
    script = os.path.join(folder, f"{name}.script")
    with open(script, "wb") as file:
        file.write(perf(["script", "--no-itrace", "--ns", "-G", "-F",
                         "comm,pid,tid,time,event,period,ip,dso", "-i", path]))
    done = subprocess.run([sys.executable, os.path.join(HERE, "compare_perf_script.py"), PRINT,
                           path, script], capture_output=True, text=True)
    check(f"{name}: the samples of perf script", done.returncode == 0, done.stdout + done.stderr)
    if name in ("plain", "chains", "pipe", "compressed"):
        theirs, ours = by_symbol_perf(path), by_symbol_ours(path)
        check(f"{name}: the symbols of perf report", ours["leaf"] > 0 and theirs == ours, (theirs, ours))
    if name == "stacks":
        folded = run([TDREPORT, "folded", "-i", path])
        check("stacks: unwound", ";main;middle;leaf " in folded and ";main;other " in folded,
              folded)


def sums(path):
    """The lines of model_print that a conversion must not change (events without any sample may
    become one when they are equal)."""
    return sorted(line for line in run([PRINT, "--unwound", path]).splitlines()
                  if line.split("\t")[0] in ("event", "module", "counter") and
                  not line.endswith("\t0\t0"))


def test_round_trip(folder):
    if not shutil.which("zstd"):
        skip("zstd is not installed")
    packed = sorted(glob.glob(os.path.join(SOURCE, "tests", "data", "perfdata", "*.zst")))
    check("there are files to convert", len(packed) >= 10)
    for source in packed:
        name = os.path.basename(source)[:-4]
        path = os.path.join(folder, name)
        run(["zstd", "-q", "-d", "-f", source, "-o", path])
        td = os.path.join(folder, name + ".td")
        run([TDREPORT, "export", "--format", "td", "-o", td, "-i", path])
        check(f"{name}: sums", sums(path) == sums(td))
        samples = [sorted(run([PRINT, "--unwound", "--stacks", p]).splitlines()) for p in (path, td)]
        check(f"{name}: samples and stacks", samples[0] and samples[0] == samples[1])
        again = os.path.join(folder, "again.td")
        run([TDREPORT, "export", "--format", "td", "-o", again, "-i", td])
        with open(td, "rb") as a, open(again, "rb") as b:
            check(f"{name}: td -> td is the same file", a.read() == b.read())
        exports = [sorted(run([TDREPORT, "export", "--format", "csv", "-i", p]).splitlines())
                   for p in (path, td)]
        check(f"{name}: csv", len(exports[0]) > 1 and exports[0] == exports[1])
        check_totals(name, td)


def check_document(name, document, lines):
    """Rows by index say what ndjson says in full: the same stacks with the same values, each once."""
    def stack_of(index):
        names = []
        while index is not None:
            index, frame = document["stacks"][index]
            names.append(document["frames"][frame]["function"])
        return tuple(names[::-1])

    metrics = sorted(document["totals"])
    ours, theirs = collections.Counter(), collections.Counter()
    for row in document["rows"]:
        for metric in metrics:
            ours[document["threads"][row["thread"]]["tid"], stack_of(row["stack"]), metric] += row.get(metric) or 0
    for row in lines:
        for metric in metrics:
            theirs[row["tid"], tuple(row["stack"]), metric] += row[metric] or 0
    check(f"{name}: json by index", +ours == +theirs)
    keys = [(row["thread"], row["stack"], tuple(m for m in metrics if m in row and row[m] is None))
            for row in document["rows"]]
    check(f"{name}: json, each stack once", len(keys) == len(set(keys)))
    check(f"{name}: json, stacks once", len(document["stacks"]) == len(set(map(tuple, document["stacks"]))))


def check_totals(name, td):
    """csv, ndjson, json, speedscope and callgrind of one profile add up to the same."""
    export = {f: run([TDREPORT, "export", "--format", f, "-i", td])
              for f in ("csv", "ndjson", "json", "speedscope", "callgrind", "folded")}
    rows = list(csv.DictReader(io.StringIO(export["csv"])))
    lines = [json.loads(line) for line in export["ndjson"].splitlines()]
    document = json.loads(export["json"])
    for metric, total in document["totals"].items():
        check(f"{name}: {metric}", total == sum(int(row[metric] or 0) for row in rows) ==
              sum(row[metric] or 0 for row in lines))
    check_document(name, document, lines)
    profile = json.loads(export["speedscope"])["profiles"][0]
    totals = set(document["totals"].values())
    check(f"{name}: speedscope", sum(profile["weights"]) == profile["endValue"] in totals)
    check(f"{name}: speedscope, each stack once", len(profile["samples"]) == len(set(map(tuple, profile["samples"]))))
    summary = next(l for l in export["callgrind"].splitlines() if l.startswith("summary:"))
    check(f"{name}: callgrind", set(map(int, summary.split()[1:])) <= totals)
    folded = sum(int(line.rsplit(" ", 1)[1]) for line in export["folded"].splitlines())
    check(f"{name}: folded", folded in totals, folded)


def test_merge(folder):
    run([MAKE, os.path.join(folder, "in"), "200"])
    files = sorted(glob.glob(os.path.join(folder, "in", "*.td")))

    def merged(name, inputs):
        path = os.path.join(folder, name)
        run([TDREPORT, "merge", "-o", path, *inputs])
        with open(path, "rb") as file:
            return path, file.read()

    path, whole = merged("whole.td", files)
    check("backwards", merged("backwards.td", files[::-1])[1] == whole)
    parts = [merged(f"part{i}.td", files[i::7])[0] for i in range(7)]
    check("by parts", merged("parts.td", parts)[1] == whole)
    check("by parts, in another order", merged("parts2.td", parts[3:] + parts[:3])[1] == whole)
    for by, count in (("rank", 200), ("host", 13), ("process", 200)):
        report = json.loads(run([TDREPORT, "--by", by, "--json", "-i", path]))
        check(f"--by {by}: parts", len(report["parts"]) == count, len(report["parts"]))
        values = [part["value"] for part in report["parts"]]
        spread = report["whole"]
        check(f"--by {by}: spread", (sum(values), min(values), max(values)) ==
              (spread["total"], spread["min"], spread["max"]), spread)
        check(f"--by {by}: imbalance", abs(spread["imbalance"] - (max(values) * len(values) /
                                                                  sum(values) - 1)) < 1e-5)
        check(f"--by {by}: text", f"{count} {by}" in run([TDREPORT, "--by", by, "-i", path]))


def test_mpi(folder):
    mpirun = shutil.which("mpirun") or skip("mpirun (openmpi-bin) is not installed")
    if not os.path.exists(TDREC):
        skip("tdrec is not built")
    program = compile_program(folder)
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    pattern = os.path.join(folder, "run.%h.%r.td")
    done = subprocess.run([mpirun, "--oversubscribe", "-np", "4", TDREC, "--source", "clock", "-o",
                           pattern, "--", program, "60"], capture_output=True, text=True, env=env)
    if "perf_event_open" in done.stderr and done.returncode != 0:
        skip("perf_event_open is not permitted")
    check("the ranks ran", done.returncode == 0, done.stderr)
    files = sorted(glob.glob(os.path.join(folder, "run.*.td")))
    check("a profile for each rank", len(files) == 4, files)
    out = os.path.join(folder, "all.td")
    permutations = [list(p) for p in itertools.islice(itertools.permutations(files), 0, 24, 7)]
    results = []
    for inputs in permutations:
        run([TDREPORT, "merge", "-o", out, *inputs])
        with open(out, "rb") as file:
            results.append(file.read())
    check("the order does not matter", len(set(results)) == 1)
    report = json.loads(run([TDREPORT, "--by", "rank", "--json", "-i", out]))
    check("four ranks", sorted(part["name"] for part in report["parts"]) == list("0123"),
          report["parts"])
    single = [json.loads(run([TDREPORT, "--json", "-i", f]))["coverage"]["samples"] for f in files]
    merged = json.loads(run([TDREPORT, "--json", "-i", out]))["coverage"]["samples"]
    check("samples add up", sum(single) == merged, (single, merged))


def main():
    tests = {"import": test_import, "round_trip": test_round_trip, "merge": test_merge,
             "mpi": test_mpi}
    with tempfile.TemporaryDirectory(prefix="exchange-") as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        tests[sys.argv[1]](folder)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
