#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recording on machines that are not there: what the kernel would write into the rings goes through tdrec and tdreport,
and comes out as figures that are computed here, by the vendors' codes and formulas. run.h says how a run is written."""
import os
import re
import statistics
import subprocess

import count as fake
from count import td

BASE = 0x555555554000  # where Linux puts position-independent programs
KERNEL = 0xffffffff81000000
NS_PER_S = 10**9


class Program:
    """A workload as its process has it mapped."""

    def __init__(self, name):
        self.path = td.workload(name)
        self.name = name
        loads = subprocess.run(["readelf", "-lW", self.path], capture_output=True, text=True, check=True).stdout
        segment = re.search(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ R E", loads)
        self.offset, self.start, self.size = (int(word, 16) for word in segment.groups())
        symbols = subprocess.run(["nm", self.path], capture_output=True, text=True, check=True).stdout
        self.symbols = {line.split()[2]: int(line.split()[0], 16) for line in symbols.splitlines() if len(line.split()) == 3}

    def at(self, function, offset=4):
        return BASE + self.symbols[function] + offset

    def head(self):
        size = (self.size + 0xfff) & ~0xfff
        return [f"name {self.name}", f"map {BASE + self.start:#x} {size:#x} {self.offset:#x} {self.path}"]


def run_line(cpu, ip, counts, ns=1000000, **details):
    """What a CPU does at one place: counts by their codes, and what samples of them tell."""
    words = [f"{code}={value}" for code, value in counts.items() if value]
    words += [f"{key}={value}" for key, value in details.items()]
    return " ".join(["run", str(cpu), hex(ip), f"ns={ns}", *words])


def times(counts, factor):
    return {code: value * factor for code, value in counts.items()}


def record(machine, program, lines, *words, command=("0",), status=0):
    """tdrec on the machine while it runs the lines; the profile's path and what tdrec said."""
    text, out = td.scratch(machine + ".run"), td.scratch(machine + ".td")
    with open(text, "w", encoding="ascii") as file:
        file.write("\n".join([*program.head(), *lines]) + "\n")
    env = dict(os.environ, FAKE_ROOT=fake.unpacked(machine), FAKE_RUN=text, LD_PRELOAD=fake.FAKE,
               ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
    env.pop("FAKE_COUNTS", None)
    done = td.run([td.TDREC, "--source", "pmu", "-o", out, *words, "--", program.path, *command], status, env=env)
    return out, done.stderr.decode()


def functions(profile):
    """{function: row} of the report."""
    return {row["function"]: row for row in td.report_json(profile, "functions")["functions"]}


def tree_of(report):
    """{node: share of slots} of a report's tree."""
    found = {}

    def walk(node):
        for child in node if isinstance(node, list) else node.values() if isinstance(node, dict) else ():
            walk(child)
        if isinstance(node, dict) and "id" in node and "share" in node:
            found[node["id"]] = node["share"]
    walk(report)
    return found


def total(*many):
    return {code: sum(counts.get(code, 0) for counts in many) for code in set().union(*many)}


def check_function(what, row, tree, slots, slack=5e-3):
    """A row of the report is what was counted there. Only what is little more than its error is blank."""
    fake.close(f"{what} slots", row["slots"], slots, slack)
    td.check(set(tree) <= set(row["categories"]), f"{what}: {sorted(row['categories'])}, by hand {sorted(tree)}")
    for name, share in tree.items():
        found, error = row["categories"][name], row["category_errors"][name]
        if found is None:
            td.check(error > 0.75 * share, f"{what} {name} is blank, by hand {share} and stated +- {error}")
        else:
            td.check(abs(found - share) <= slack, f"{what} {name}: {found}, by hand {share}")


# Sapphire Rapids: counts for each 6,000,000 slots, by Intel's codes. heavy() waits for memory, light() mispredicts.
SLOTS = 6000000
SPR_HEAVY = {"0x400": SLOTS, "0x1a4": SLOTS, "0x8000": 1200000, "0x8100": 0, "0x8200": 300000, "0x8300": 4500000,
             "0x8400": 120000, "0x8500": 0, "0x8600": 180000, "0x8700": 3900000, "0x3c": 1000000, "0xc0": 1100000,
             "0x10ad": 24000}
SPR_LIGHT = {"0x400": SLOTS, "0x1a4": SLOTS, "0x8000": 3000000, "0x8100": 1500000, "0x8200": 900000, "0x8300": 600000,
             "0x8400": 60000, "0x8500": 1380000, "0x8600": 420000, "0x8700": 0, "0x3c": 1000000, "0xc0": 2900000,
             "0x10ad": 12000}


def spr_tree(c):
    tree = fake.spr_tree({**dict.fromkeys(fake.SPR, 0), **c})
    return {name: share for name, share in tree.items()
            if name not in ("l1_bound", "l2_bound", "l3_bound", "dram_bound", "divider")}


def in_turn(program, heavy, light, rounds, each, **details):
    """heavy() for `each` samples, then light() for as many, and so on."""
    lines = []
    for _ in range(rounds):
        lines.append(run_line(0, program.at("heavy"), times(heavy, each), each * 250000, **details))
        lines.append(run_line(0, program.at("light"), times(light, each), each * 250000))
    return lines


def spr():
    """Both levels of each function from the perf metrics that are read with each sample, on two CPUs whose records come
    one CPU after the other, and where locators and their latencies fell."""
    program = Program("split")
    lines = [f"period 0x1a4 {SLOTS}", *in_turn(program, SPR_HEAVY, SPR_LIGHT, 3, 80)]
    profile, said = record("spr", program, lines)
    td.check("480 samples" in said and ", 0 lost" in said, said)
    rows = functions(profile)
    check_function("heavy", rows["heavy"], spr_tree(SPR_HEAVY), 240 * SLOTS)
    check_function("light", rows["light"], spr_tree(SPR_LIGHT), 240 * SLOTS)
    head = td.report_json(profile)
    for name, share in spr_tree(total(times(SPR_HEAVY, 240), times(SPR_LIGHT, 240))).items():
        fake.close(f"whole {name}", tree_of(head).get(name), share, 1e-6)


# Granite Rapids times retirement: loads of heavy() that miss L3, in cycles: of the access, of the instruction, and from
# the retirement before.
WAITS = ((300, 320, 90), (410, 430, 120), (350, 380, 100), (900, 950, 610), (310, 330, 80))
FROM_DRAM, FROM_L3 = 2 | 2 << 5 | 0x80 << 5, 2 | 2 << 5 | 0x40 << 5  # perf_mem_data_src: a load, a hit there
L3_MISS, L3_HIT, MISSED = 50021, 100021, 400009  # periods of Intel's event lists


def check_figures(what, found, values):
    values = sorted(values)
    td.check(found["samples"] == len(values) and found["max"] == values[-1], f"{what}: {found}, by hand {values}")
    fake.close(f"{what} mean", found["mean"], statistics.mean(values), 1e-4)
    fake.close(f"{what} median", found["median"], statistics.median(values), 1e-4)
    td.check(found["p95"] == values[-(-len(values) * 95 // 100) - 1], f"{what} p95: {found}, by hand {values}")


def latencies(profile, event):
    events = {one["event"]: one for one in td.report_json(profile, "latency")["latency"]}
    td.check(event in events, f"no {event} in {sorted(events)}")
    return events[event], {row["function"]: row for row in events[event]["rows"]}


def gnr():
    """Retire latencies: mean, median, p95 of each function, what they held up, and memory's slots placed by them."""
    program = Program("split")
    weights = ",".join(":".join(map(str, wait)) for wait in WAITS)
    heavy, light = ({code: value for code, value in counts.items() if code != "0x10ad"} for counts in (SPR_HEAVY, SPR_LIGHT))
    lines = [f"period 0x1a4 {SLOTS}"]
    for _ in range(3):
        lines += [run_line(0, program.at("heavy"), times(heavy, 80), 20000000),
                  run_line(0, program.at("heavy"), {"0x20d1": 40 * L3_MISS}, 1000, weight=weights, sources=FROM_DRAM),
                  run_line(0, program.at("light"), times(light, 80), 20000000),
                  run_line(0, program.at("light"), {"0x4d1": 10 * L3_HIT}, 1000, weight="60:70:9", sources=FROM_L3),
                  run_line(0, program.at("light"), {"0xc5": 30 * MISSED}, 1000, weight="0:40:21")]
    profile, _ = record("gnr", program, lines)
    rows = functions(profile)
    check_function("heavy", rows["heavy"], spr_tree({**heavy, "0x10ad": 0}), 240 * SLOTS, 2e-2)
    check_function("light", rows["light"], spr_tree({**light, "0x10ad": 0}), 240 * SLOTS, 2e-2)
    event, missing = latencies(profile, "mem_load_l3_miss")
    td.check(event["held_by"] == "measured" and set(missing) == {"heavy"}, f"{event}")
    row = missing["heavy"]
    for kind, column in (("latency", 0), ("instruction", 1), ("retire", 2)):
        check_figures(kind, row["cycles"][kind], [WAITS[i % len(WAITS)][column] for _ in range(3) for i in range(40)])
    td.check(row["events"] == 120 * L3_MISS and row["sources"]["dram"] == row["accesses"] == 120, f"{row}")
    fake.close("held", row["held_cycles"], 120 * L3_MISS * statistics.mean(wait[2] for wait in WAITS), 1e-6)
    _, hitting = latencies(profile, "mem_load_l3_hit")
    td.check(hitting["light"]["sources"]["l3"] == 30 and hitting["light"]["cycles"]["retire"]["p95"] == 9, f"{hitting}")
    _, missed = latencies(profile, "br_misp_retired")
    td.check(missed["light"]["samples"] == 90 and missed["light"]["cycles"]["instruction"]["median"] == 40, f"{missed}")


# Zen 4, for each 1,000,000 cycles.
ZEN4_HEAVY = {"0x76": 1000000, "0x1000001a0": 300000, "0x7aa": 1500000, "0xc1": 1440000, "0x100001ea0": 3600000,
              "0x1000060a0": 600000}
ZEN4_LIGHT = {"0x76": 1000000, "0x1000001a0": 1200000, "0x7aa": 4800000, "0xc1": 3600000, "0x100001ea0": 0,
              "0x1000060a0": 0}
OPERATIONS, FETCHES = {"ibs_op/0x80000": 50000}, {"ibs_fetch/0": 50000}
IDLE = {"0x76": 1000000, "0x100001ea0": 6000000}
# What IBS tells of an operation (AMD's Processor Programming Reference, 2.1.13): capabilities with five bits of source;
# IbsOpCtl's valid bit; RIP; IbsOpData with cycles from tag (bits 16 to 31) and completion (0 to 15) to retirement;
# IbsOpData2 with the source; IbsOpData3 with load, L1 and L2 miss, and the cycles of the miss (bits 32 to 47).
IBS_CAPS, OP_VALID = 1 << 11 | 1 << 9, 1 << 18
LOAD, DC_MISS, L2_MISS, DRAM = 1 << 0, 1 << 7, 1 << 20, 3
FETCH_VALID, IC_MISS = 1 << 49, 1 << 51


def ibs_op(latency, instruction, wait, data3, source=0):
    return ",".join(hex(word) for word in (IBS_CAPS, OP_VALID, 0, instruction << 16 | wait, source, data3 | latency << 32, 0, 0))


def ibs_fetch(latency):
    return ",".join(hex(word) for word in (IBS_CAPS, FETCH_VALID | IC_MISS | latency << 32, 0, 0, 5))


def zen4_tree(c):
    slots = 6 * c["0x76"]
    return {"frontend_bound": c["0x1000001a0"] / slots, "backend_bound": c["0x100001ea0"] / slots, "retiring": c["0xc1"] / slots,
            "bad_speculation": (c["0x7aa"] - c["0xc1"]) / slots, "smt_contention": c["0x1000060a0"] / slots}


def zen4():
    """Whole CPUs: what others do in between is not the command's. IBS tells of single operations and fetches."""
    program = Program("split")
    lines = ["period 0x76 1000000", "period ibs_op/0x80000 50000", "period ibs_fetch/0 50000"]
    for _ in range(3):
        lines += [run_line(0, program.at("heavy"), times(ZEN4_HEAVY, 80), 20000000),
                  run_line(0, program.at("heavy"), times(OPERATIONS, 20), 1000,
                           raw=ibs_op(412, 500, 33, LOAD | DC_MISS | L2_MISS, DRAM)),
                  run_line(0, program.at("heavy"), times(FETCHES, 10), 1000, raw=ibs_fetch(77)),
                  run_line(0, BASE, times(IDLE, 20), 5000000, task="other"),
                  run_line(0, program.at("light"), times(ZEN4_LIGHT, 80), 20000000),
                  run_line(0, program.at("light"), times(OPERATIONS, 20), 1000, raw=ibs_op(0, 30, 2, LOAD)),
                  run_line(0, program.at("light"), times(FETCHES, 40), 1000, raw=ibs_fetch(78))]
    profile, said = record("zen4", program, lines)
    td.check(", 0 lost" in said, said)
    rows = functions(profile)
    check_function("heavy", rows["heavy"], zen4_tree(ZEN4_HEAVY), 240 * 6000000)
    check_function("light", rows["light"], zen4_tree(ZEN4_LIGHT), 240 * 6000000)
    _, operations = latencies(profile, "ibs_op")
    heavy = operations["heavy"]
    for kind, cycles in (("latency", 412), ("instruction", 500), ("retire_wait", 33)):
        check_figures(f"ibs_op {kind}", heavy["cycles"][kind], 60 * [cycles])
    td.check(heavy["sources"]["dram"] == heavy["accesses"] == 60, f"{heavy}")
    td.check(operations["light"]["sources"]["l1"] == 60, f"{operations['light']}")
    _, fetches = latencies(profile, "ibs_fetch")
    check_figures("ibs_fetch", fetches["light"]["cycles"]["latency"], 120 * [78])
    check_figures("ibs_fetch TLB", fetches["heavy"]["cycles"]["tlb"], 30 * [5])


# Neoverse N2, for each 1,000,000 cycles; Arm's formulas.
N2_HEAVY = {"0x11": 1000000, "0x3e": 500000, "0x3d": 3000000, "0x3f": 3500000, "0x3a": 1400000, "0x3b": 1500000, "0x10": 10000}
N2_LIGHT = {"0x11": 1000000, "0x3e": 1500000, "0x3d": 1000000, "0x3f": 2500000, "0x3a": 2000000, "0x3b": 3000000, "0x10": 50000}


def n2_tree(c):
    slots, used, missed = 5 * c["0x11"], c["0x3a"] / c["0x3b"], c["0x10"] / c["0x11"]
    rest = 1 - c["0x3f"] / slots
    return {"frontend_bound": c["0x3e"] / slots - missed, "backend_bound": c["0x3d"] / slots - 3 * missed,
            "retiring": used * rest, "bad_speculation": (1 - used) * rest + 4 * missed}


def n2():
    """Each thread's own counters, on three CPUs. Arm's formulas multiply two ratios, so that what they give for the whole is
    not the sum of what they give for its parts: 0.3022 of the slots retire, not 0.3067."""
    program = Program("split")
    lines = ["period 0x11 1000000", "thread 1 second", "thread 2 third"]
    for cpu, task in ((0, 0), (1, 1), (3, 2)):
        lines += [run_line(cpu, program.at(function), times(counts, 240), 60000000, task=task)
                  for _ in range(2) for function, counts in (("heavy", N2_HEAVY), ("light", N2_LIGHT))]
    profile, said = record("n2-r0p3", program, lines)
    td.check("1 process, 3 threads" in said, said)
    rows = functions(profile)
    check_function("heavy", rows["heavy"], n2_tree(N2_HEAVY), 1440 * 5000000, 1e-2)
    check_function("light", rows["light"], n2_tree(N2_LIGHT), 1440 * 5000000, 1e-2)
    threads = td.report_json(profile, "threads")["threads"]
    td.check({row["thread"] for row in threads} == {"split", "second", "third"}, f"{threads}")
    for row in threads:
        fake.close(f"slots of {row['thread']}", row["slots"], 960 * 5000000, 1e-6)


# Skylake, for each 1,000,000 cycles.
SKL_HEAVY = {"0x3c": 1000000, "0x10e": 900000, "0x2c2": 800000, "0x19c": 300000, "0x100010d": 15000}
SKL_LIGHT = {"0x3c": 1000000, "0x10e": 2600000, "0x2c2": 2200000, "0x19c": 1100000, "0x100010d": 75000}
BETWEEN = 15000  # cycles that pass between the begins of the two samplers' periods


def skl_tree(c):
    tree = fake.skx_tree({**dict.fromkeys(fake.SKX, 1), **c})
    return {name: tree[name] for name in ("retiring", "frontend_bound", "bad_speculation", "backend_bound")}


def skl():
    """Pairs of samples: two counters of one event, whose periods begin one after the other."""
    program = Program("split")
    lines = [f"spin 0x3c={BETWEEN}"]
    for _ in range(3):
        lines += [run_line(2, program.at("heavy"), times(SKL_HEAVY, 240), 60000000),
                  run_line(2, program.at("heavy"), {"0x20d1": 30 * L3_MISS, "0x4c5": 8 * MISSED, "0x1c6:0x401006": 100007 * 30}, 1000),
                  run_line(2, program.at("light"), times(SKL_LIGHT, 240), 60000000),
                  run_line(2, program.at("light"), {"0x4c5": 35 * MISSED, "0x1c6:0x401006": 100007 * 110}, 1000)]
    profile, said = record("skl", program, lines, "-F", "2000")
    rows = functions(profile)
    for name, counts in (("heavy", SKL_HEAVY), ("light", SKL_LIGHT)):
        check_function(name, rows[name], skl_tree(counts), 720 * 4 * 1000000)
        td.check(rows[name]["found_by"] in ("paired", "located"), f"{name}: {rows[name]['found_by']}")
    # A pair for each 3,000,000 cycles, as sudo tdrec -F 2000 on 3 GHz asks for, and what the precise events took.
    td.check(f"{2 * 480 + 3 * (30 + 8 + 30 + 35 + 110):,} samples" in said, said)


def passes():
    """Two runs: the second counts what memory's slots wait for."""
    program = Program("split")
    memory = {"0x50021a6": 640000, "0x20040a6": 20000, "0x3000347": 500000, "0x5000547": 390000, "0x9000947": 270000}
    heavy = {**SPR_HEAVY, **memory}
    light = {**SPR_LIGHT, **times(memory, 0)}
    lines = [f"period 0x1a4 {SLOTS}", "period 0x3c 1000000", *in_turn(program, heavy, light, 3, 80)]
    profile, said = record("spr", program, lines, "--passes", "2")
    td.check("run 2 of 2" in said, said)
    row = functions(profile)["heavy"]
    check_function("heavy", row, spr_tree(SPR_HEAVY), 240 * SLOTS)
    by_hand = fake.spr_tree({**dict.fromkeys(fake.SPR, 0), **heavy})
    for name in ("l1_bound", "l2_bound", "l3_bound", "dram_bound"):
        found = row["categories"][name]
        td.check(found is not None and abs(found - by_hand[name]) < 2e-2, f"{name}: {found}, by hand {by_hand[name]}")


def turns():
    """The group has its counters for one of three milliseconds: a third is counted, and the shares are the same."""
    program = Program("split")
    lines = [f"period 0x1a4 {SLOTS}", "turn 0x400 1 3", *in_turn(program, SPR_HEAVY, SPR_LIGHT, 3, 240)]
    profile, said = record("spr", program, lines)
    td.check("480 samples" in said, said)
    rows = functions(profile)
    check_function("heavy", rows["heavy"], spr_tree(SPR_HEAVY), 240 * SLOTS)
    check_function("light", rows["light"], spr_tree(SPR_LIGHT), 240 * SLOTS)


def rings():
    """A ring of two pages: what is read in time wraps around its end; what is not is lost, and both are said. What was
    counted meanwhile has no place, and the whole is what the counters say."""
    program = Program("split")
    lines = [f"period 0x1a4 {SLOTS}"]
    for _ in range(40):
        lines += [run_line(0, program.at("heavy"), times(SPR_HEAVY, 12)), "wait"]
    profile, said = record("spr", program, lines, "-m", "2")
    td.check("480 samples" in said and ", 0 lost" in said, said)
    fake.close("slots", functions(profile)["heavy"]["slots"], 480 * SLOTS, 1e-9)
    lines += [run_line(0, program.at("light"), times(SPR_LIGHT, 500)), "wait", "throttle 0 0x1a4",
              run_line(0, program.at("heavy"), times(SPR_HEAVY, 12))]
    profile, said = record("spr", program, lines, "-m", "2")
    kept, lost = (int(re.search(rf"(\d+) {word}", said).group(1)) for word in ("samples", "lost"))
    td.check(kept + lost == 480 + 500 + 12 and lost > 400, said)
    coverage = td.report_json(profile)["coverage"]
    td.check(coverage["lost"] == lost and coverage["throttled"] == 1, f"{coverage}")
    rows = functions(profile)
    fake.close("all slots", sum(row["slots"] for row in rows.values()), 992 * SLOTS, 1e-9)
    fake.close("no place", rows["[unknown]"]["slots"], (lost + 1) * SLOTS, 1e-3)
    fake.close("heavy", rows["heavy"]["slots"], 491 * SLOTS, 1e-3)


# Cascade Lake with SMT, for each 1,000,000 cycles of the core, whose slots a thread has half of.
CLX_HEAVY = {"0x20003c": 1000000, "0x10e": 400000, "0x2c2": 400000, "0x19c": 150000, "0x120010d": 0}
CLX_LIGHT = {"0x20003c": 1000000, "0x10e": 1300000, "0x2c2": 1100000, "0x19c": 550000, "0x120010d": 50000}


def clx_smt_tree(c):
    slots = 2 * c["0x20003c"]
    bad = c["0x10e"] - c["0x2c2"] + 2 * c["0x120010d"]
    tree = {"retiring": c["0x2c2"] / slots, "frontend_bound": c["0x19c"] / slots, "bad_speculation": bad / slots}
    tree["backend_bound"] = 1 - sum(tree.values())
    return tree


def branches():
    """Branch records where nothing is precise: each mispredicted branch is a sample at its own address."""
    program = Program("split")
    loop, branch = program.at("light"), program.at("main")
    lines = ["period 0x20003c 1000000"]
    for _ in range(3):
        lines += [run_line(1, program.at("heavy"), times(CLX_HEAVY, 80), 20000000, branches=f"{branch:#x}>{loop:#x}"),
                  run_line(1, program.at("light"), times(CLX_LIGHT, 80), 20000000,
                           branches=f"{branch:#x}>{loop:#x}!,{loop:#x}>{branch:#x}")]
    profile, said = record("clx-smt-branches", program, lines)
    td.check(f"{480 + 240} samples" in said, said)
    rows = functions(profile)
    bad = clx_smt_tree(CLX_LIGHT)["bad_speculation"]
    check_function("heavy", rows["heavy"], clx_smt_tree(CLX_HEAVY), 240 * 2000000, 1e-2)
    # The branch is in main(), where no interval ends: what it costs is there.
    fake.close("slots of main", rows["main"]["slots"], 240 * 2000000 * bad, 5e-3)
    fake.close("slots of light", rows["light"]["slots"], 240 * 2000000 * (1 - bad), 5e-3)


if __name__ == "__main__":
    td.need_programs()
    td.cases({"spr": spr, "gnr": gnr, "zen4": zen4, "n2": n2, "skl": skl, "passes": passes, "turns": turns, "rings": rings,
              "branches": branches})
