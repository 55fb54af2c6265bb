#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What threads of the modelled core pay for lines that they share, and `tdreport sharing`: known kernels
(tests/workloads/sharing.c) whose sharing does not depend on who runs when. Bounds are wide, names are exact."""
import os
import re

import td

if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
    td.skip("the plugin is not built (sanitizers)")
td.need("qemu-x86_64")

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads", "sharing.c")
MARKS = {}
with open(SOURCE, encoding="ascii") as source:
    for number, text in enumerate(source, 1):
        if mark := re.search(r"/\* MARK (\w+) \*/", text):
            MARKS[mark.group(1)] = number


def record(kernel, rounds):
    """The lines that were shared, and the shares of the tree."""
    profile = td.record([td.workload("sharing"), kernel, str(rounds)], "--sim-core", "golden-cove", source="sim")
    sharing = td.report_json(profile, "sharing")["sharing"]
    tree = {node["id"]: node["share"] for node in td.report_json(profile)["tree"]}
    check_sums(sharing)
    return sharing, tree


def check_sums(sharing):
    """Lines are what their pairs sum to, and all is what the lines sum to."""
    for key in ("cycles", "transfers", "invalidations"):
        td.check(sharing[key] == sum(line[key] for line in sharing["lines"]), f"{key}: not the lines' sum")
        for line in sharing["lines"]:
            td.check(line[key] == sum(pair[key] for pair in line["pairs"]), f"{key}: not the pairs' sum: {line}")
    for line in sharing["lines"]:
        false = sum(pair["cycles"] for pair in line["pairs"] if pair["kind"] == "false")
        td.check(line["false_cycles"] == false, f"false cycles: {line}")
        for pair in line["pairs"]:
            for side in ("waited", "after"):
                known = pair[side]["access"] is not None
                threads = len(pair[side]["threads"]) > 0 or pair[side]["other_threads"]
                td.check(threads or not known, f"threads: {pair}")


def check_line(sharing, data, kind, mark, function, least=0.9):
    """The costliest line, and the code of both sides of its costliest pair."""
    line = sharing["lines"][0]
    td.check(line["data"] and line["data"].startswith(data), f"the costliest line is {line['data']}, not {data}")
    td.check(line["kind"] == kind, f"{data}: {line['kind']} sharing, not {kind}")
    td.check(line["area"] == "module" and line["module"] == "sharing", f"{data} is in {line['area']} {line['module']}")
    pair = line["pairs"][0]
    for side in ("waited", "after"):
        place = pair[side]
        td.check(place["function"] == function and place["line"] == MARKS[mark] and
                 place["file"].endswith("sharing.c") and place["access"] == "store", f"{side}: {place}")
    td.check(len(set(pair["waited"]["threads"] + pair["after"]["threads"])) == 2, f"threads: {pair}")
    td.check(line["cycles"] > least * sharing["cycles"], f"{data}: {line['cycles']} of {sharing['cycles']} cycles")
    return line


def false():
    """Two threads add to two words of one line."""
    sharing, tree = record("false", 200000)
    line = check_line(sharing, "counters", "false", "false", "add_false")
    td.check(line["transfers"] > 2000, f"{line['transfers']} transfers")
    td.check(tree["false_sharing"] > 0.3 and tree["contested_accesses"] < 0.1, f"tree: {tree}")
    td.check(tree["memory_bound"] >= tree["store_bound"] >= tree["false_sharing"], f"tree: {tree}")


def atomic():
    """The same word of both, by a locked instruction."""
    sharing, tree = record("atomic", 50000)
    line = check_line(sharing, "total", "true", "atomic", "add_atomic")
    td.check(line["transfers"] > 5000, f"{line['transfers']} transfers")
    td.check(tree["contested_accesses"] > 0.3 and tree["false_sharing"] < 0.05, f"tree: {tree}")


def lock():
    """A spinlock: who waits for it takes the line from who holds it."""
    sharing, tree = record("lock", 30000)
    line = sharing["lines"][0]
    td.check(line["data"] == "spinlock" and line["cycles"] > 0.9 * sharing["cycles"], f"costliest: {line['data']}")
    place = line["pairs"][0]["waited"]
    td.check(place["function"] == "add_locked", f"waited: {place}")
    spins = sum(pair["cycles"] for pair in line["pairs"] if pair["waited"]["line"] == MARKS["lock"])
    td.check(spins > 0.3 * line["cycles"], f"taking the lock: {spins} of {line['cycles']} cycles")
    td.check(tree["contested_accesses"] > 0.2, f"tree: {tree}")


def mutex():
    """A lock that sleeps: its line is one of those that changed hands."""
    sharing, _ = record("mutex", 30000)
    names = [line["data"] for line in sharing["lines"] if line["transfers"] > 0]
    td.check("mutex" in names and "under_mutex" in names, f"lines that changed hands: {names}")
    line = next(line for line in sharing["lines"] if line["data"] == "mutex")
    unknown = sum(pair["cycles"] for pair in line["pairs"] if pair["waited"]["function"] is None)
    # How many waits have no code of their own depends on how the threads meet: 0 to an eighth.
    td.check(unknown < 0.4 * line["cycles"], f"the code of {unknown} of {line['cycles']} cycles is not known")
    profile = td.scratch("profile.td")
    callers = td.report_json(profile, "sharing")["lock_callers"]
    # add_mutex ends with a jump to pthread_mutex_unlock, so that its caller is the frame above.
    ours = [caller for caller in callers if caller["file"] and caller["file"].endswith("sharing.c")]
    td.check({caller["function"] for caller in ours} == {"add_mutex", "work"}, f"{callers}")
    td.check(sum(caller["share"] for caller in ours) > 0.9, f"{callers}")
    td.check(abs(sum(caller["share"] for caller in callers) - 1) < 1e-4, f"{callers}")
    text = td.report(profile, "sharing", "-w", "80")
    td.check("Who takes locks" in text and all(len(row) <= 80 for row in text.splitlines()), text)


def free():
    """Words in lines of their own, and lines that all read: nothing but the threads' begin and end."""
    for kernel, rounds in (("padded", 200000), ("readers", 300)):
        sharing, tree = record(kernel, rounds)
        td.check(sharing["cycles"] < 0.05 * sharing["modelled_cycles"], f"{kernel}: {sharing['cycles']} cycles")
        td.check(tree["false_sharing"] < 0.02 and tree["contested_accesses"] < 0.05, f"{kernel}: {tree}")
        for line in sharing["lines"]:
            td.check((line["data"] or "").split("+")[0] not in ("padded", "table"), f"{kernel}: {line}")


def handover():
    """256 lines written by one and read by the other, 40 times: about that many transfers, each way (a
    barrier that all have reached already is no system call, and what was modelled before it is not known)."""
    sharing, _ = record("handover", 0)
    count = {"consume": 0, "produce": 0}
    for line in sharing["lines"]:
        for pair in line["pairs"]:
            mine, theirs = pair["waited"], pair["after"]
            if {mine["function"], theirs["function"]} != {"consume", "produce"}:
                continue
            name = mine["function"]
            count[name] += pair["transfers"] + pair["invalidations"]
            td.check(mine["line"] == MARKS[name] and theirs["line"] == MARKS[theirs["function"]], f"lines: {pair}")
            td.check(mine["access"] == ("load" if name == "consume" else "store"), f"access: {pair}")
            td.check(line["data"].startswith("buffer"), f"data: {line['data']}")
    for name, times in count.items():
        td.check(256 * 40 / 4 < times < 256 * 40 * 1.5, f"{name} waited {times} times for 256 lines of 40 rounds")


def transfers_of(sharing, data, function=None):
    """How often the lines of `data` were transferred; to `function` alone."""
    pairs = [pair for line in sharing["lines"] if (line["data"] or "").split("+")[0].split(",")[0] == data
             for pair in line["pairs"] if not function or pair["waited"]["function"] == function]
    return sum(pair["transfers"] + pair["invalidations"] for pair in pairs)


def ball():
    """A word that goes to and fro by way of pipes: it is transferred each time, whatever runs beside. Where
    threads look for it again and again, yielding, it is seen most times."""
    sharing, _ = record("pipe", 2000)
    times = transfers_of(sharing, "ball")
    td.check(3999 <= times <= 4100, f"the ball went over 3999 times, and was transferred {times} times")
    check_line(sharing, "ball, tag", "true", "ball", "hit", 0.8)
    outer = td.report_json(td.scratch("profile.td"), "sharing", "--no-inline")["sharing"]["lines"][0]["pairs"][0]
    td.check(outer["waited"]["function"] == "pass_by_pipe", f"--no-inline: {outer}")
    sharing, _ = record("yield", 2000)
    times = transfers_of(sharing, "ball")
    td.check(2000 < times < 8000, f"the ball went over 3999 times, and was transferred {times} times")


def once():
    """256 lines that main wrote before there was a thread, which reads them and writes others for main."""
    sharing, _ = record("once", 0)
    for data, function in (("before", "copy_once"), ("after", "hand_over_once")):
        times = transfers_of(sharing, data, function)
        td.check(256 <= times <= 270, f"256 lines of {data} were transferred {times} times to {function}")


td.cases({"false": false, "atomic": atomic, "lock": lock, "mutex": mutex, "free": free, "handover": handover,
          "ball": ball, "once": once})
