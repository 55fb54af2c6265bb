#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--source hybrid: a native run for the time and a modelled one for the categories, in one profile."""
import os
import signal
import subprocess

import td

if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
    td.skip("the plugin is not built (sanitizers)")
td.need("qemu-x86_64")
td.need_perf_events()

LEVEL_1 = ("retiring", "bad_speculation", "frontend_bound", "backend_bound")

# Half of the native time is a chain of divisions, half a loop that retires: the model must see both as they are.
PROGRAM = r"""
#include <stdlib.h>
static volatile unsigned long sink;
__attribute__((noinline)) static void divide(long n) {
    unsigned long x = ~0ul;
    for (long i = 0; i < n; i++) x = (x / (sink + 3)) + ~0ul / 2;
    sink = x & 1;
}
__attribute__((noinline)) static void add(long n) {
    unsigned long a = 1, b = 2, c = 3;
    for (long i = 0; i < n; i++) { a += i; b ^= i; c += b; }
    sink = (a + b + c) & 1;
}
int main(int argc, char **argv) { long n = atol(argv[1]); divide(n); add(12 * n); return argc > 2 ? 5 : 0; }
"""


def program():
    path = td.scratch("program")
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    td.run(["gcc", "-O1", "-g", "-o", path, path + ".c"])
    return path


def both():
    out = td.scratch("both.td")
    done = td.run([td.TDREC, "--source", "hybrid", "-F", "20000", "-o", out, "--", program(), "3000000", "more"], 5, timeout=230)
    td.check(b"natively" in done.stderr and b"modelled" in done.stderr, f"{done.stderr!r}")
    data = td.report_json(out)
    td.check(data["profile"]["source"] == "hybrid" and data["profile"]["exit"] == "exit 5", f"{data['profile']}")
    td.check(data["profile"]["instructions"] > 3000000 * 12 * 4, f"{data['profile']}")
    td.check(data["coverage"]["samples"] > 20 and data["coverage"]["complete"], f"{data['coverage']}")
    td.check(data["profile"]["duration_s"] < 20, "the duration is not the native run's")
    rows = {row["function"]: row for row in data["functions"]}
    for function, category in (("divide", "backend_bound"), ("add", "retiring")):
        shown = rows[function]["categories"][category]
        td.check(shown is None or shown > 0.5, f"{rows[function]}")
        td.check(shown is not None or rows[function]["category_errors"][category] > 0.25, f"{rows[function]}")


def refused():
    done = td.run([td.TDREC, "--source", "hybrid", "-o", td.scratch("x.td"), "--", "./no-such-program"], 127)
    td.check(done.stderr.count(b"\n") == 1, f"{done.stderr!r}")
    done = td.run([td.TDREC, "--source", "hybrid", "-o", td.scratch("x.td"), "-p", "1"], 125)
    td.check(b"runs a command" in done.stderr, f"{done.stderr!r}")
    td.check(not os.path.exists(td.scratch("x.td")), "a profile of nothing")


def against_model(kernel, rounds, function):
    """The join against the model that it is made from: no more retires than the model retired, and each stated error
    holds what the model says exactly. A native sample lies behind the instruction that took the time: joined by block,
    the interpreter came out 88 % retiring, more slots than its uops fill at any clock."""
    command = [td.workload("kernels_mixed"), kernel, str(rounds)]
    clock, sim = td.scratch("clock.td"), td.scratch("sim.td")
    td.record(command, hertz=20000, out=clock)
    td.run([td.TDREC, "-q", "--source", "sim", "--sim-core", "golden-cove", "-o", sim, "--", *command], timeout=200)
    joined, exact = td.report_json(sim, "--weights", clock), td.report_json(sim)
    truth = {row["function"]: row for row in exact["functions"]}
    cells = []
    for row in joined["functions"]:
        if row["slots"]:
            uops = truth[row["function"]]["categories"]["retiring"] * truth[row["function"]]["slots"]
            retired = (row["categories"]["retiring"] or 0) * row["slots"]
            td.check(retired <= uops * 1.0001 + 1000, f"{row['function']}: {retired:.0f} slots retire {uops:.0f} uops")
        if row["slots"] and row["time_share"] > 0.05:
            cells += [(row["function"], name, share, row["category_errors"][name],
                       truth[row["function"]]["categories"].get(name) or 0)
                      for name, share in row["categories"].items() if share is not None]
    by_id = {node["id"]: node for node in exact["tree"]}
    for node in joined["tree"]:
        true = by_id[node["id"]]
        cells.append(("all", node["id"], node["share"], node["error"], true["share"]))
        if node["id"] == "retiring":
            td.check(node["slots"] <= true["slots"] * 1.0001, f"all: {node['slots']} slots retire {true['slots']} uops")
    td.check(len(cells) > 10, f"{cells}")
    off = [cell for cell in cells if abs(cell[2] - cell[4]) > cell[3] + 1e-4]
    td.check(len(off) <= len(cells) / 10, f"not held by their errors: {off}")
    hot = next(row for row in joined["functions"] if row["function"] == function)
    widest = max(hot["category_errors"][name] for name in LEVEL_1)  # of a machine far from the model, little can be said
    td.check(any(cell[0] == function for cell in cells) or widest > 0.25, f"nothing is said of {function}: {hot}")


def start(name, *words):
    """A program that runs for a third of a second natively, and much longer on the model."""
    temp = td.scratch("temp")
    os.makedirs(temp, exist_ok=True)
    child = subprocess.Popen([td.TDREC, "--source", "hybrid", "-o", td.scratch(name), "--", program(), *words],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             start_new_session=True, env={**os.environ, "TMPDIR": temp})
    return child


def ended(child, name, number, allowed):
    """What is left of it: readable, called cut with the reason, and nothing beside it."""
    child.send_signal(number)
    child.wait(timeout=60)
    try:
        os.killpg(child.pid, signal.SIGKILL)  # the program, where it goes on
    except ProcessLookupError:
        pass
    err = child.communicate(timeout=60)[1].decode()
    td.check(child.returncode in allowed, f"exit {child.returncode}: {err}")
    data = td.report_json(td.scratch(name), status=3)
    td.check(data["coverage"]["complete"] is False, f"{data['coverage']}")
    td.check(not os.listdir(td.scratch("temp")), f"left behind: {os.listdir(td.scratch('temp'))}")
    near = [other for other in os.listdir(td.SCRATCH) if other.startswith(name) and other != name]
    td.check(not near, f"left behind: {near}")
    return data, err, td.report(td.scratch(name), status=3)


def native(number, allowed, words):
    name = f"native{number}.td"
    child = start(name, "100000000000")
    td.wait_for_cpu(child, 1.2)
    data, err, report = ended(child, name, number, allowed)
    td.check(data["coverage"]["samples"] > 500, f"{data['coverage']}")
    for text in (err, report) if words else ():
        td.check(words in " ".join(text.split()), f"{words!r} is not said: {text}")


def modelled(number, allowed, words):
    name = f"modelled{number}.td"
    child = start(name, "30000000")
    while b"natively:" not in child.stderr.readline():
        td.check(child.poll() is None, "no modelled run")
    td.wait_for_cpu(child, 2)
    data, err, report = ended(child, name, number, allowed)
    td.check(data["coverage"]["samples"] > 20 and data["profile"]["instructions"] > 100000,
             f"{data['coverage']} {data['profile']}")
    for text in (err, report) if words else ():
        td.check(words in " ".join(text.split()), f"{words!r} is not said: {text}")


def native_signals():
    native(signal.SIGTERM, (143,), "the native run was ended by signal 15")
    native(signal.SIGHUP, (129,), "was hung up (SIGHUP)")
    native(signal.SIGKILL, (-9,), "")


def modelled_signals():
    modelled(signal.SIGTERM, (143,), "the modelled run was ended by signal 15")
    modelled(signal.SIGHUP, (129,), "was hung up (SIGHUP)")
    modelled(signal.SIGKILL, (-9,), "")


td.cases({"both": both, "refused": refused, "native_signals": native_signals, "modelled_signals": modelled_signals,
          "interpreter": lambda: against_model("interpreter", 2000000, "interpret"),
          "hash_join": lambda: against_model("hash-join", 800000, "probe"),
          "sparse": lambda: against_model("sparse", 40, "multiply")})
