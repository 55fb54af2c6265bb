#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processes of a modelled recording share the memory's rate and the last level (tests/workloads/beside.c). A neighbour
runs from before the watched process begins until after its end, so that who is beside whom does not depend on the
machine; what they take from each other does a little, and bounds leave room for it."""
import os
import shutil

import td

if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
    td.skip("the plugin is not built (sanitizers)")
td.need("qemu-x86_64")

BESIDE = td.workload("beside")
# A small last level keeps the runs short.
SMALL = "zen4+l3_kb=2048"
STREAM = '"$0" read 6 4'


def record(core, script, *options):
    """The whole report of `script`, in which $0 is the workload."""
    profile = td.record(["sh", "-c", script, BESIDE], "--sim-core", core, *options, source="sim")
    return td.report_json(profile)


def of(data, function):
    rows = [row for row in data["functions"] if row["function"] == function and row["module"] == "beside"]
    td.check(len(rows) == 1, f"{function}: {len(rows)} rows")
    return rows[0]


def neighboured(script, neighbour='"$0" update 6 0'):
    """`script` while the neighbour goes through more than the last level holds."""
    return f"{neighbour} | {{ read round; {script}; }}"


def share(data, node):
    return {row["id"]: row["share"] for row in data["tree"]}[node] or 0


def bandwidth():
    """A memory that one core can drive alone gives each of two a half; one that is larger than both does not."""
    for shared, least, most in ((5.6, 1.7, 2.2), (0.51, 0.97, 1.1)):
        core = f"{SMALL}+dram_shared={shared}"
        alone, beside = record(core, STREAM), record(core, neighboured(STREAM))
        ratio = of(beside, "beside_read")["cycles"] / of(alone, "beside_read")["cycles"]
        td.check(least < ratio < most, f"dram_shared {shared}: {ratio:.2f} times as long beside another")
        if shared > 1:
            bound = [share(data, "mem_bandwidth") for data in (alone, beside)]
            td.check(bound[1] > bound[0] + 0.1, f"bound by the memory's rate: {bound}")
    # Of a client's memory one core that only stores takes most, as each line goes both ways.
    stores, neighbour = '"$0" write 12 3', td.scratch("neighbour")
    shutil.copy(BESIDE, neighbour)
    alone = of(record("skylake", stores), "beside_write")["cycles"]
    beside = of(record("skylake", neighboured(stores, f"{neighbour} write 12 0")), "beside_write")["cycles"]
    td.check(1.4 < beside / alone < 1.9, f"beside another that stores: {beside} cycles, alone {alone}")


def capacity():
    """What fits the last level alone does not beside a stream through it; beside one that fits as well it does."""
    core, chase = "zen4+l3_kb=4096+l3_neighbour=0", '"$0" chase 2 4'
    alone = of(record(core, chase), "beside_chase")["cycles"]
    small = of(record(core, neighboured(chase, '"$0" update 1 0')), "beside_chase")["cycles"]
    stream = of(record(core, neighboured(chase, '"$0" update 6 0')), "beside_chase")["cycles"]
    td.check(small < 1.2 * alone, f"beside one that fits as well: {small} cycles, alone {alone}")
    td.check(stream > 2 * alone, f"beside a stream: {stream} cycles, alone {alone}")


def alone():
    """Where nobody is beside it, a program gets all: not a slot differs. A shell that waits takes nothing."""
    reports = [record(core, script)
               for core in (f"{SMALL}+dram_shared=0", f"{SMALL}+dram_shared=5.6")
               for script in (STREAM, f"{STREAM}; {STREAM}")]
    rows = [of(data, "beside_read") for data in reports]
    td.check(rows[0] == rows[2] and rows[1] == rows[3], f"{rows}")
    slots = [row["slots"] for row in rows]
    td.check(slots[1] == 2 * slots[0], f"one after the other: {slots}")


def make():
    """Many short processes at a time: all are there, and what they run is what they run alone."""
    td.need("make")
    makefile = td.scratch("Makefile")
    with open(makefile, "w", encoding="ascii") as file:
        jobs = " ".join(f"job{i}" for i in range(12))
        file.write(f"all: {jobs}\n{jobs}:\n\t@{BESIDE} read 1 2\n")
    data = record(SMALL, f"make -s -j4 -f {makefile}")
    one = record(SMALL, '"$0" read 1 2')
    td.check(data["coverage"]["complete"] is True, f"{data['coverage']}")
    instructions = [of(report, "beside_read")["instructions"] for report in (one, data)]
    td.check(instructions[1] == 12 * instructions[0], f"{instructions}")
    cycles = [of(report, "beside_read")["cycles"] for report in (one, data)]
    td.check(cycles[1] < 3 * 12 * cycles[0], f"{cycles}")


def unhurt():
    """One that is killed takes nothing any more."""
    core = f"{SMALL}+dram_shared=5.6"
    fifo = td.scratch("fifo")
    os.mkfifo(fifo)
    script = f'"$0" update 6 0 >{fifo} & read round <{fifo}; kill -9 $!; wait $!; {STREAM}'
    killed = of(record(core, script), "beside_read")["cycles"]
    never = of(record(core, STREAM), "beside_read")["cycles"]
    td.check(killed < 1.1 * never, f"{killed} cycles beside one that was killed, alone {never}")


td.cases({"bandwidth": bandwidth, "capacity": capacity, "alone": alone, "make": make, "unhurt": unhurt})
