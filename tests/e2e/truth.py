#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs whose profile is known beforehand, recorded by tdrec and read by tdreport --json."""
import os
import tempfile

import td

SOURCES = os.path.join(td.ROOT, "tests/workloads")


def line_of(source, text):
    with open(os.path.join(SOURCES, source), encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def samples(data):
    return data["coverage"]["samples"]


def split():
    data = td.report_json(td.record([td.workload("split"), "2"]))
    found = td.shares(data)
    td.check(samples(data) > 1000, f"only {samples(data)} samples of 2 s at 999 Hz")
    td.check_share("heavy and its inlined chain", found.get("heavy", 0) + found.get("work_chain", 0)
                   + found.get("light", 0), 1.0, samples(data), 0.06)
    data = td.report_json(td.scratch("profile.td"), "functions", "--no-inline")
    found = td.shares(data)
    both = found["heavy"] + found["light"]
    td.check_share("heavy of heavy + light", found["heavy"] / both, 0.75, samples_of(data, 1000))
    td.check_share("heavy + light", both, 1.0, 1000, 0.06)


def samples_of(data, otherwise):
    return data.get("coverage", {}).get("samples", otherwise)


def inlined():
    data = td.report_json(td.record([td.workload("inlined"), "1"]))
    found = td.shares(data)
    td.check_share("hot_inner, although it is inlined twice", found.get("hot_inner", 0), 1.0, samples(data), 0.06)
    hot = line_of("inlined.c", "the hot line")
    lines = {}
    for row in td.report_json(td.scratch("profile.td"), "lines")["lines"]:
        lines[(os.path.basename(row["file"] or ""), row["line"])] = row["time_share"]
    # The loop's own line is the one before: its increment and test may get a part.
    near = lines.get(("inlined.c", hot), 0) + lines.get(("inlined.c", hot - 1), 0)
    td.check_share("the hot line and its for", near, 1.0, samples(data), 0.06)
    td.check(lines.get(("inlined.c", hot), 0) > 0.7, f"the hot line has {lines.get(('inlined.c', hot))}")
    whole = td.shares(td.report_json(td.scratch("profile.td"), "functions", "--no-inline"))
    td.check_share("outer with --no-inline", whole.get("outer", 0), 1.0, samples(data), 0.06)


def chain():
    profile = td.record([td.workload("chain"), "1"], "--call-graph", "fp")
    stacks = {}
    for line in td.report(profile, "folded").split("\n"):
        if line:
            path, _, count = line.rpartition(" ")
            stacks[path] = stacks.get(path, 0) + int(count)
    total = sum(stacks.values())
    inner = sum(count for path, count in stacks.items() if ordered(path, "main", "alpha", "beta", "gamma_leaf"))
    other = sum(count for path, count in stacks.items()
                if ordered(path, "main", "alpha", "other_leaf") and "gamma_leaf" not in path)
    number = samples(td.report_json(profile))
    td.check_share("main;alpha;beta;gamma_leaf", inner / total, 0.75, number, 0.03)
    td.check_share("main;alpha;other_leaf", other / total, 0.25, number, 0.03)


def ordered(path, *names):
    """Whether the frames stand in the stack in this order."""
    at = 0
    for frame in path.split(";"):
        if at < len(names) and frame.split("_[")[0] == names[at]:
            at += 1
    return at == len(names)


def plugins():
    profile = td.record([td.workload("plugins"), td.WORKLOADS, "1"])
    found = td.shares(td.report_json(profile, "functions", "--no-inline"))
    number = samples(td.report_json(profile))
    one, other = found.get("plugin_a_work", 0), found.get("plugin_b_work", 0)
    td.check_share("plugin_a_work of both", one / max(one + other, 1e-9), 0.5, number)
    td.check(one + other > 0.9, f"both plugins have {one + other:.3f}: libraries opened later are not seen")


def shapes():
    profile = td.record([td.workload("shapes"), "1"])
    found = td.shares(td.report_json(profile, "functions", "--no-inline"))
    relax = sum(share for name, share in found.items() if "shapes::Grid<double>::relax" in name)
    area = sum(share for name, share in found.items() if "shapes::Circle::area" in name)
    number = samples(td.report_json(profile))
    td.check_share("shapes::Grid<double>::relax", relax, 0.75, number, 0.03)
    td.check_share("shapes::Circle::area", area, 0.25, number, 0.03)


def pool():
    profile = td.record([td.workload("pool"), "2"])
    data = td.report_json(profile, "threads")
    number = samples(td.report_json(profile))
    found = {}
    for row in data["threads"]:
        found[row["thread"]] = found.get(row["thread"], 0) + row["time_share"]
    workers = sum(share for name, share in found.items() if name.startswith("worker-"))
    td.check(len([n for n in found if n.startswith("worker-")]) == 8, f"eight workers, found {sorted(found)}")
    td.check_share("worker-0 of the workers", found["worker-0"] / workers, 2 / 9, number)
    td.check_share("worker-5 of the workers", found["worker-5"] / workers, 1 / 9, number)


def vdso():
    """The vdso's own functions have names; where the clock is the hypervisor's it calls such as have none."""
    profile = td.record([td.workload("vdso"), "1"])
    data = td.report_json(profile, "functions", "--no-inline")
    found = td.shares(data)
    share = sum(row["time_share"] for row in data["functions"]
                if "clock_gettime" in row["function"] or row["module"] == "[vdso]")
    td.check(share > 0.8, f"clock_gettime in vdso and libc has {share:.3f} of the time: {found}")
    td.check(any("vdso" in name for name in found), f"no vdso symbol among {sorted(found)}")


def jit():
    profile = td.record([td.workload("jit"), "1"])
    found = td.shares(td.report_json(profile))
    td.check_share("jit_loop", found.get("jit_loop", 0), 1.0, samples(td.report_json(profile)), 0.06)


def jitdump():
    """Two pieces of code at one place, one after the other, told apart by time; with their lines."""
    with tempfile.TemporaryDirectory() as folder:
        profile = td.record([td.workload("jitdump"), "1", folder])
    found = td.shares(td.report_json(profile))
    number = samples(td.report_json(profile))
    td.check_share("early", found.get("early", 0), 0.5, number, 0.06)
    td.check_share("late", found.get("late", 0), 0.5, number, 0.06)
    lines = {(row["file"], row["line"]) for row in td.report_json(profile, "lines")["lines"] if row["time_share"] > 0.3}
    td.check(lines == {("/nowhere/app.js", 7), ("/nowhere/app.js", 9)}, f"lines: {lines}")


def deep():
    profile = td.record([td.workload("deep"), "1", "60"], "--call-graph", "fp")
    deepest = max(line.count("descend") for line in td.report(profile, "folded").split("\n"))
    td.check(deepest >= 60, f"the deepest stack has {deepest} frames of descend, expected 61")


def storm():
    """Children exec'ed anew; as many CPU seconds in them as in the parent, each in its own function."""
    profile = td.record([td.workload("storm"), "300", "4000"], hertz=4000)
    data = td.report_json(profile, "functions", "--no-inline")
    found = td.shares(data)
    number = samples(td.report_json(profile))
    leaf, parent = found.get("leaf_work", 0), found.get("parent_work", 0)
    td.check(parent > 0.2, f"parent_work has {parent:.3f}")
    td.check_share("leaf_work of both", leaf / (leaf + parent), 0.5, number, 0.05)


def modules():
    profile = td.record([td.workload("plugins"), td.WORKLOADS, "1"])
    found = {}
    for row in td.report_json(profile, "modules")["modules"]:
        found[os.path.basename(row["module"])] = row["time_share"]
    td.check(found.get("libplugin_a.so", 0) > 0.4 and found.get("libplugin_b.so", 0) > 0.4, f"modules: {found}")


td.need_perf_events()
td.cases({"split": split, "inlined": inlined, "chain": chain, "plugins": plugins, "shapes": shapes, "pool": pool,
          "vdso": vdso, "jit": jit, "jitdump": jitdump, "deep": deep, "storm": storm, "modules": modules})
