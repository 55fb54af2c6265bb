#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Regions that a program marks (tdprof/region.h) on the modelled core: exact to the instruction, by thread, across
forks, and nothing lost where the marks are wrong. The truth is tests/workloads/regions.c: a round is two instructions."""
import json
import os
import shutil

import marked
import td

if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
    td.skip("the plugin is not built (sanitizers)")
td.need("qemu-x86_64")


def regions(case, rounds, *options, program=None, status=0):
    """{path: row} of `tdreport regions`, a path as "outer/inner"; and the report."""
    profile = td.record([program or td.workload("regions"), case, str(rounds)], *options, source="sim", status=status)
    return td.regions_of(profile)


def check_sums(rows, data):
    """Slots are in whole: a region holds those in it, the categories are all of it, and calls are what they sum to."""
    width = data["profile"]["slots"] / data["profile"]["cycles"] if "slots" in data["profile"] else None
    for path, row in rows.items():
        inner = sum(other["slots"] for name, other in rows.items() if name.startswith(path + "/")
                    and "/" not in name[len(path) + 1:])
        td.check(row["own_slots"] == row["slots"] - inner, f"{path}: {row}, those in it: {inner}")
        level1 = sum(row["categories"][name]
                     for name in ("retiring", "bad_speculation", "frontend_bound", "backend_bound"))
        td.check(row["slots"] == 0 or abs(level1 - 1) < 1e-4, f"{path}: level 1 is {level1} of all slots")
        length = row["call_length"]
        if row["calls"] == row["ended"] == length["calls"]:
            td.check(abs(length["mean"] * row["calls"] - row["cycles"]) < 1e-3 * row["cycles"] + 1,
                     f"{path}: its calls are not its cycles: {row}")
            td.check(length["min"] <= length["mean"] * 1.000001 and length["mean"] <= length["max"] * 1.000001,
                     f"{path}: {length}")
        td.check(width is None or abs(row["slots"] / row["cycles"] - width) < 0.01 * width, f"{path}: {row}")


def exact():
    """Regions differ by as many instructions as their rounds have."""
    once, data = regions("nested", 1000)
    twice, _ = regions("nested", 2000)
    check_sums(once, data)
    rounds = {"outer": 16, "outer/inner": 15, "outer/once": 1, "inner": 1}
    td.check(set(once) == set(rounds), f"regions: {sorted(once)}")
    for path, count in rounds.items():
        more = twice[path]["instructions"] - once[path]["instructions"]
        td.check(more == 2 * 1000 * count, f"{path}: {more} more instructions, not {2 * 1000 * count}")
        td.check(once[path]["counted"] == 1, f"{path} was not counted in whole: {once[path]}")
    calls = {path: row["calls"] for path, row in once.items()}
    td.check(calls == {"outer": 1, "outer/inner": 5, "outer/once": 1, "inner": 1}, f"calls: {calls}")
    td.check(not any(data["region_marks"].values()), f"{data['region_marks']}")
    # A mark costs the region in which it ends: the call, the return, the name's address, a load and a jump.
    overhead = once["outer/once"]["instructions"] - 2 * 1000
    td.check(0 < overhead <= 10, f"a region is {overhead} instructions more than what is in it")
    td.check(once["outer/inner"]["instructions"] == 15 * 2000 + 5 * overhead, f"{once['outer/inner']}")
    # The same again gives the same.
    again, _ = regions("nested", 1000)
    td.check({p: r["slots"] for p, r in again.items()} == {p: r["slots"] for p, r in once.items()},
             "another run gives other slots")
    text = td.report(td.scratch("profile.td"), "regions")
    td.check("outer" in text and "  inner" in text and "cycles per call" in text, text)
    td.check(max(map(len, text.split("\n"))) <= 100, text)


def threads():
    once, data = regions("threads", 1000)
    twice, _ = regions("threads", 2000)
    check_sums(once, data)
    row = once["shared name"]
    td.check(len(once) == 1 and row["threads"] == 4 and row["calls"] == row["ended"] == 12, f"{once}")
    more = twice["shared name"]["instructions"] - row["instructions"]
    td.check(more == 2 * 1000 * 3 * (1 + 2 + 3 + 4), f"{more} more instructions")


def misuse():
    rows, data = regions("misuse", 1000)
    check_sums(rows, data)
    # The end of what was never begun, of what was ended already, and in another thread.
    td.check(data["region_marks"] == {"stray_ends": 3, "ended_by_outer": 1, "unfinished_calls": 1},
             f"{data['region_marks']}")
    td.check(set(rows) == {"around", "around/forgotten", "foreign", "(no name)", "never ended"}, f"{sorted(rows)}")
    td.check(rows["around/forgotten"]["ended"] == 1 and rows["never ended"]["ended"] == 0, f"{rows}")
    for path in ("around/forgotten", "foreign", "never ended"):
        td.check(rows[path]["instructions"] >= 2000, f"{path} lost its rounds: {rows[path]}")
    text = td.report(td.scratch("profile.td"), "regions")
    for sentence in ("3 ends of regions", "1 region was ended by", "1 call had not ended"):
        td.check(text.count(sentence) == 1, f"'{sentence}' in:\n{text}")


def many():
    """A million names: those beyond the first thousand in one row, and all calls are there."""
    names = 1000000
    rows, data = regions("many", names)
    check_sums(rows, data)
    others = rows["(other regions)"]
    calls = sum(row["calls"] for path, row in rows.items())
    td.check(calls == names + 100 + 1, f"{calls} calls")
    td.check(len(rows) <= 1100 and others["calls"] > names * 0.99, f"{len(rows)} rows, others: {others}")
    td.check(data["region_marks"]["stray_ends"] == 0 and data["region_marks"]["unfinished_calls"] == 0, f"{data}")
    text = td.report(td.scratch("profile.td"), "regions", "-n", "5")
    td.check("too many to be told apart" in text and "more regions (-n shows them)" in text, text)


def forks():
    """What is open at a fork is open in both; the child's is a call of its own."""
    once, data = regions("forks", 1000)
    twice, _ = regions("forks", 2000)
    check_sums(once, data)
    td.check(set(once) == {"across", "child"}, f"{sorted(once)}")
    across = once["across"]
    td.check(across["calls"] == across["ended"] == 2 and across["threads"] == 2, f"{across}")
    more = {path: twice[path]["instructions"] - once[path]["instructions"] for path in once}
    td.check(more["child"] == 2000, f"{more}")
    # The parent's rounds and the child's; what the kernel's answers make of fork and wait is not ours.
    td.check(abs(more["across"] - 8000) < 100, f"{more}")


def killed():
    rows, data = regions("killed", 50000, status=None)
    check_sums(rows, data)
    td.check(rows["whole"]["calls"] == rows["whole"]["ended"] == 7, f"{rows}")
    td.check(rows["cut"]["ended"] == 0 and rows["cut"]["instructions"] >= 100000, f"{rows}")


def sampled():
    """Calls are all counted; what they cost is near what it is."""
    whole, _ = regions("nested", 500000)
    part, data = regions("nested", 500000, "--sim-sample")
    td.check({p: r["calls"] for p, r in part.items()} == {p: r["calls"] for p, r in whole.items()}, f"{part}")
    td.check(part["outer"]["counted"] < 0.9, f"it was not sampled: {part['outer']}")
    for path, row in part.items():
        exact_row = whole[path]
        td.check(abs(row["instructions"] / exact_row["instructions"] - 1) < 1e-6, f"{path}: {row}, {exact_row}")
        td.check(row["counted"] == 0 or abs(row["cycles"] / exact_row["cycles"] - 1) < 0.05,
                 f"{path}: {row['cycles']} cycles, exactly {exact_row['cycles']}")
    td.check("only a part was counted" in td.report(td.scratch("profile.td"), "regions"), f"{data}")


def a64():
    """The same marks in a program for aarch64."""
    td.need("aarch64-linux-gnu-gcc")
    td.need("qemu-aarch64")
    program = td.scratch("regions_a64")
    os.environ["TDPROF_SIM_CORE"] = "neoverse-n2"
    td.run(["aarch64-linux-gnu-gcc", "-O2", "-static", "-pthread", "-I" + os.path.join(td.ROOT, "region"), "-o", program,
            os.path.join(td.ROOT, "tests/workloads/regions.c")])
    once, data = regions("nested", 1000, program=program)
    twice, _ = regions("nested", 2000, program=program)
    check_sums(once, data)
    for path, count in {"outer": 16, "outer/inner": 15, "outer/once": 1, "inner": 1}.items():
        more = twice[path]["instructions"] - once[path]["instructions"]
        td.check(more == 2 * 1000 * count, f"{path}: {more} more instructions")


def inside(profile, name):
    """The sums of `tdreport functions --region NAME`: slots, instructions, slots by category."""
    data = td.report_json(profile, "functions", "--percent-limit", "0", "--region", name)
    rows = data["functions"]
    td.check(sum(row["slots"] for row in rows) == data["total"]["slots"], f"{name}: {data['total']}")
    return {"slots": data["total"]["slots"], "instructions": sum(row["instructions"] for row in rows),
            "categories": {category: sum(row["categories"][category] * row["slots"] for row in rows)
                           for category in (rows[0]["categories"] if rows else [])}}


def check_inside(rows, profile):
    """What --region shows of a name is what its outermost regions are, each slot once."""
    names = {path.split("/")[-1] for path in rows}
    for name in names:
        outermost = [row for path, row in rows.items()
                     if path.split("/")[-1] == name and name not in path.split("/")[:-1]]
        found = inside(profile, name)
        for figure in ("slots", "instructions"):
            td.check(found[figure] == sum(row[figure] for row in outermost), f"{name}: {found}, regions: {outermost}")
        for category, slots in found["categories"].items():
            known = sum((row["categories"][category] or 0) * row["slots"] for row in outermost)
            td.check(abs(slots - known) < 1e-5 * found["slots"] + 1, f"{name}: {category}: {slots}, regions: {known}")


def filtered():
    """--region on every report and exporter; sums of the modelled core are the regions' to the slot. Of "waits", loads
    of one region hold up what is dispatched in the next."""
    for case, rounds in (("nested", 3000), ("threads", 1000), ("misuse", 1000), ("forks", 1000), ("waits", 300)):
        rows, _ = regions(case, rounds)
        check_inside(rows, td.scratch("profile.td"))
    profile = td.record([td.workload("regions"), "nested", "3000"], "--what-if", "l1", source="sim")
    slots = inside(profile, "inner")["slots"]
    folded = td.report(profile, "folded", "--region", "inner")
    td.check(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == slots, folded)
    tables = {command: td.report(profile, *command.split(), "--region", "inner")
              for command in ("functions", "lines", "modules", "annotate spin", "cpi", "callers spin", "why", "whatif",
                              "functions --children", "export -f callgrind", "export -f pprof -o /dev/null", "")}
    for command, text in tables.items():
        td.check("region inner" in text or command.startswith("export"), f"{command}:\n{text}")
    td.check("_dl_relocate" not in tables["functions"] and "spin" in tables["functions"], tables["functions"])
    merged = td.scratch("merged.td")
    td.run([td.TDREPORT, "merge", "-o", merged, profile, profile])
    td.check(inside(merged, "inner")["slots"] == 2 * slots, "a merge of two does not have twice the slots")
    both = td.report_json(profile, "functions", "--region", "once", "--region", "inner")["total"]["slots"]
    td.check(both == slots + inside(profile, "once")["slots"] == inside(profile, "[io]n*")["slots"], f"{both}")


def filtered_in_vain():
    """One sentence says what there is."""
    regions("nested", 1000)
    profile = td.scratch("profile.td")
    for words, profile_of, expected in (
            (["functions", "--region", "outr"], None, ["no region is called so", "'outer', 'inner', 'once'"]),
            (["loops", "--region", "outer"], None, ["whole run"]),
            (["cpi", "--loops", "--region", "outer"], None, ["whole run"]),
            (["functions", "--region", "a"], ["/bin/true"], ["no regions", "tdprof/region.h"])):
        other = td.record(profile_of, source="sim") if profile_of else profile
        result = td.run([td.TDREPORT, words[0], "-i", other, *words[1:]], status=None)
        td.check(result.returncode in (2, 4) and all(text in result.stderr.decode() for text in expected) and
                 result.stderr.count(b"\n") == 1, f"{words}: {result}")


def cxx():
    """The class ends its region however its scope is left; the header is clean C++ and C of the strict kinds."""
    folder = td.scratch("cxx")
    os.makedirs(folder)
    source = os.path.join(folder, "app.cc")
    with open(source, "w", encoding="utf-8") as file:
        file.write(marked.CXX)
    include = "-I" + os.path.join(td.ROOT, "region")
    program = os.path.join(folder, "app")
    td.run(["g++", "-std=c++11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", include, "-o", program, source])
    plain = os.path.join(folder, "plain.c")
    with open(plain, "w", encoding="utf-8") as file:
        file.write(marked.SMALL)
    for compiler in filter(shutil.which, ("gcc", "clang-14", "aarch64-linux-gnu-gcc")):
        for words in (["-std=c99", "-O0"], ["-std=c11", "-O2", "-fPIC"], ["-std=c17", "-DTDPROF_REGION_OFF"]):
            td.run([compiler, *words, "-Wall", "-Wextra", "-Wpedantic", "-Werror", include, "-c", "-o",
                    os.path.join(folder, "plain.o"), plain])
    td.run([program])
    profile = td.record([program], source="sim")
    data = td.report_json(profile, "regions")
    found = [(row["name"], row["calls"], row["ended"]) for row in data["regions"]]
    td.check(found == [("outer", 3, 3), ("inner", 3, 3)], json.dumps(data["regions"]))
    td.check(not any(data["region_marks"].values()), f"{data['region_marks']}")


td.cases({"exact": exact, "threads": threads, "misuse": misuse, "many": many, "forks": forks, "killed": killed,
          "sampled": sampled, "filtered": filtered, "filtered_in_vain": filtered_in_vain, "a64": a64, "cxx": cxx})
