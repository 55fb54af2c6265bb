#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loops of known trips and bounds on the modelled core: iterations exact, cycles per iteration, what bounds them and the
chain. The truth is tests/workloads/loops.c."""
import os

import td

if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
    td.skip("the plugin is not built (sanitizers)")
ROUNDS = 10000
# A loop of a function: what it is bound by, and the cycles of an iteration by the bound alone.
BOUNDS = {
    "golden-cove": {"add_chain": ("chain", 4), "multiply_chain": ("chain", 3), "divides": ("divider", None),
                    "loads": ("ports", 2), "stores": ("ports", 2), "wide": ("width", 42 / 6),
                    "chase": ("memory", None), "chase_near": ("chain", 5), "guesses": ("mispredicts", None), "in_memory": ("chain", None)},
    "zen4": {"add_chain": ("chain", 4), "multiply_chain": ("chain", 3), "divides": ("divider", None),
             "loads": ("ports", 2), "stores": ("ports", 2), "wide": ("width", 42 / 6),
             "chase": ("memory", None), "chase_near": ("chain", 4), "guesses": ("mispredicts", None), "in_memory": ("chain", None)},
    "neoverse-n2": {"add_chain": ("chain", 4), "multiply_chain": ("chain", 2), "divides": ("divider", None),
                    "loads": ("ports", 2), "stores": ("ports", 2), "wide": ("width", None),
                    "chase": ("memory", None), "chase_near": ("chain", 4), "guesses": ("mispredicts", None),
                    "in_memory": ("chain", None)},
}


def loops(core, threads=0, rounds=ROUNDS, program=None):
    """{function: its loops, outer ones first}"""
    os.environ["TDPROF_SIM_CORE"] = core
    profile = td.record([program or td.workload("loops"), str(rounds), str(threads)], source="sim")
    found = {}
    for loop in td.report_json(profile, "loops")["loops"]:
        found.setdefault(loop["function"], []).append(loop)
    return found


def trips(found):
    """Iterations and entries to the unit."""
    for name in BOUNDS["zen4"]:
        loop = found[name][0]
        td.check(len(found[name]) == 1 and round(loop["iterations"]) == ROUNDS and round(loop["entries"]) == 1,
                 f"{name}: {found[name]}")
        td.check(not loop["irregular"] and loop["parent"] is None, f"{name}: {loop}")
    nest = [(round(loop["iterations"]), round(loop["entries"]), loop["depth"]) for loop in found["nested"]]
    td.check(nest == [(20, 1, 0), (600, 20, 1), (24000, 600, 2)], f"nested: {nest}")
    td.check(found["nested"][0]["bound_by"] == "inner loop" and found["nested"][2]["bound_by"] == "chain",
             f"nested: {found['nested']}")
    recursive = found["recursive"][0]
    calls = sum(3 ** k for k in range(7))
    td.check(len(found["recursive"]) == 1 and round(recursive["iterations"]) == 3 * calls and
             round(recursive["entries"]) == calls, f"recursive: {found['recursive']}")
    caller = found["caller"][0]
    td.check(round(caller["iterations"]) == ROUNDS and caller["bound_by"] == "calls" and
             caller["bounds"]["calls"] > 3 * caller["bounds"]["width"], f"caller: {caller}")


def bounds(core, found):
    """The verdict, and that it explains what was measured."""
    for name, (bound, cycles) in BOUNDS[core].items():
        loop = found[name][0]
        td.check(loop["bound_by"] == bound, f"{name}: {loop['bound_by']}, not {bound}: {loop['bounds']}")
        td.check(loop["explained"] > (0.9 if bound not in ("memory", "mispredicts") else 0.5), f"{name}: {loop}")
        if cycles:
            td.check(abs(loop["bounds"][bound] - cycles) < 0.02 * cycles, f"{name}: {loop['bounds']}, not {cycles}")
            td.check(abs(loop["cycles_per_iteration"] - cycles) < 0.05 * cycles + 0.02, f"{name}: {loop}, not {cycles}")
        if bound == "chain":
            parts = sum(part["cycles"] for part in loop["chain"])
            td.check(abs(parts - loop["bounds"]["chain"]) < 1e-3 and all(part["line"] for part in loop["chain"]),
                     f"{name}: {loop['chain']}")
        td.check(loop["line_first"] <= loop["line_last"] and loop["file"].endswith("loops.c"), f"{name}: {loop}")
    loaded = found["chase_near"][0]["chain"]
    td.check(len(loaded) == 1 and loaded[0]["load"], f"chase_near: {loaded}")
    td.check(len(found["add_chain"][0]["chain"]) == 4, f"add_chain: {found['add_chain'][0]['chain']}")


def x86(core):
    td.need("qemu-x86_64")
    if os.uname().machine != "x86_64":
        td.skip("needs an x86-64 machine: aarch64-linux-gnu-gcc programs are in a64")
    found = loops(core)
    trips(found)
    bounds(core, found)


def a64():
    td.need("aarch64-linux-gnu-gcc")
    td.need("qemu-aarch64")
    program = td.scratch("loops_a64")
    td.run(["aarch64-linux-gnu-gcc", "-O2", "-g", "-static", "-pthread", "-D_GNU_SOURCE", "-o", program,
            os.path.join(td.ROOT, "tests/workloads/loops.c")])
    found = loops("neoverse-n2", program=program)
    trips(found)
    bounds("neoverse-n2", found)


def threads():
    """What threads do of one loop adds up."""
    td.need("qemu-x86_64")
    found = loops("zen4", threads=4)
    loop = found["add_chain"][0]
    td.check(round(loop["iterations"]) == 5 * ROUNDS and round(loop["entries"]) == 5, f"{loop}")
    td.check(abs(loop["cycles_per_iteration"] - 4) < 0.2, f"{loop}")


def text():
    """The text names verdict and instructions; a function picks its loops; what cannot be is explained."""
    td.need("qemu-x86_64")
    profile = td.record([td.workload("loops"), str(ROUNDS)], source="sim")
    lines = td.report(profile, "loops", "multiply_chain", "-w", "80")
    td.check("bound by a chain of dependencies" in lines and "Chain: imul" in lines and "add_chain" not in lines, lines)
    td.check(all(len(line) <= 80 for line in lines.splitlines()), lines)
    td.check("no hot loop is in callee" in td.run([td.TDREPORT, "loops", "callee", "-i", profile], status=4).stderr.decode(),
             "callee has loops")
    wrong = td.run([td.TDREPORT, "loops", "multiply_chian", "-i", profile], status=4)
    td.check(b"multiply_chain" in wrong.stderr, wrong.stderr)


def stacks():
    """CPI stacks of loops add up to the slot, and are the loops' cycles; the whole is the program's."""
    td.need("qemu-x86_64")
    profile = td.record([td.workload("loops"), str(ROUNDS)], source="sim")
    found = {loop["offset"]: loop for loop in td.report_json(profile, "loops")["loops"]}
    data = td.report_json(profile, "cpi", "--loops")
    td.check(len(data["loops"]) == len(found), f"{len(data['loops'])} stacks, {len(found)} loops")
    td.check(data["cpi_stack"] == td.report_json(profile, "cpi")["cpi_stack"], "the program has another stack")
    for stack in data["loops"]:
        loop = found[stack["offset"]]
        td.check(sum(part["slots"] for part in stack["components"]) == stack["slots"], f"{stack}")
        td.check(abs(sum(part["cpi"] for part in stack["components"]) - stack["cpi"]) < 1e-9 * stack["cpi"], f"{stack}")
        cycles = stack["cpi"] * loop["instructions_per_iteration"]
        td.check(abs(cycles - loop["cycles_per_iteration"]) < 0.01 * cycles, f"{cycles} cycles: {stack}, {loop}")
    chain = next(stack for stack in data["loops"] if stack["function"] == "multiply_chain")
    most = max(chain["components"], key=lambda part: part["slots"])
    td.check(most["category"] == "ports_utilization", f"{chain}")
    lines = td.report(profile, "cpi", "--loops", "multiply_chain", "-w", "80")
    td.check("multiply_chain" in lines and "cycles per iteration" in lines and "add_chain" not in lines, lines)
    td.check(all(len(line) <= 80 for line in lines.splitlines()), lines)
    picture = td.report(profile, "cpi", "--loops", "-n", "2", "--svg", "-")
    td.check("of all, and of 2 loops" in picture and picture.count('role="group"') == 3, picture)
    wrong = td.run([td.TDREPORT, "cpi", "--loops", "multiply_chian", "-i", profile], status=4)
    td.check(b"multiply_chain" in wrong.stderr, wrong.stderr)
    clock = td.record(["true"], out=td.scratch("clock.td"), status=None)
    td.check(td.run([td.TDREPORT, "cpi", "--loops", "-i", clock], status=4).stderr != b"", "a clock profile has loops")


td.cases({"golden_cove": lambda: x86("golden-cove"), "zen4": lambda: x86("zen4"), "a64": a64, "threads": threads,
          "text": text, "stacks": stacks})
