#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tdrec --count --report stalls on machines that are not there: each figure beside one that is computed here from the
vendors' codes; the latencies are those of a calibrated core that the test writes."""
import os
import re

import count as fake
from count import td

# Cycles of a calibrated core, chosen: L2, L3, memory, a page walk with what the second-level TLB takes before it.
LATENCIES = {"l2_latency": 16, "l3_latency": 70, "dram_latency": 300, "walk": 40, "stlb_latency": 7}
L2, L3, MEMORY, WALK = 16, 70, 300, 47
CPU_MS = 2.5


def calibrate():
    """A calibrated core where tdrec keeps its own: golden-cove with these latencies."""
    folder = td.scratch("config/tdprof")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(td.ROOT, "formats/cores/uarch/golden-cove.uarch"), encoding="ascii") as file:
        text = file.read()
    for key, value in LATENCIES.items():
        text, found = re.subn(rf"^{key} .*$", f"{key} {value}", text, flags=re.M)
        td.check(found == 1, f"golden-cove has {found} lines of {key}")
    with open(os.path.join(folder, "host.uarch"), "w", encoding="ascii") as file:
        file.write(re.sub(r"^name .*$", "name host", text, flags=re.M))
    os.environ["XDG_CONFIG_HOME"] = td.scratch("config")


def intel(c, waits):
    """Classes, accesses and rates of Intel's cores; `waits` counts stalls while loads are outstanding."""
    deep = ("0x3000347", "0x5000547", "0x9000947") if "0x3000347" in c else ("0xc000ca3", "0x50005a3", "0x60006a3")
    flops = (c["0x1c7"] + c["0x2c7"] + 2 * c["0x4c7"] + 4 * (c["0x8c7"] + c["0x10c7"]) + 8 * (c["0x20c7"] + c["0x40c7"])
             + 16 * c["0x80c7"])
    return {"cycles": c["0x3c"], "instructions": c["0xc0"], "stalled": c["0x40004a3"], "data_access": c[waits],
            "data_l1": c[waits] - c[deep[0]], "data_l2": c[deep[0]] - c[deep[1]], "data_l3": c[deep[1]] - c[deep[2]],
            "data_memory": c[deep[2]], "stores": c.get("0x20040a6", c.get("0x40a6")),
            "branches": c.get("0x80ad", c.get("0x800d")), "code": c["0x480"] + c["0x483"],
            "divider": c.get("0x10009b0", c.get("0x1000114")), "from_l2": c["0x2d1"], "from_l3": c["0x4d1"],
            "from_memory": c["0x20d1"], "walks": c["0x11d0"] + c["0x12d0"], "l2_misses": c["0x10d1"],
            "l2_references": c["0x8d1"], "l3_misses": c["0x20d1"], "l3_references": c["0x10d1"], "fp_operations": flops}


SPR = {**fake.SPR, "0x2c0": 750000, "0x2d1": 280000, "0x4d1": 90000}
SKX = {**fake.SKX, "0x2d1": 280000, "0x4d1": 90000}
N2 = {**fake.N2, "0x24": 2900000000, "0x23": 170000000, "0x4005": 2100000000, "0x3": 9100000, "0x17": 7140000,
      "0x16": 14962069, "0x37": 5000000, "0x36": 6000000, "0x34": 27500, "0x74": 2570000, "0x75": 1200000,
      "0x80c0": 3000000, "0x80c1": 1500000}
MACHINES = {
    "spr": (SPR, 6, {**intel(SPR, "0x50021a6"), "nops": SPR["0x2c0"]}),
    "clx": (SKX, 4, {**intel(SKX, "0x140014a3"), "nops": None}),
    "n2-r0p0": (N2, 5, {
        "cycles": N2["0x11"], "instructions": N2["0x8"], "nops": None, "stalled": N2["0x23"] + N2["0x24"],
        "data_access": N2["0x4005"], "stores": None, "branches": None, "code": N2["0x23"], "divider": None,
        "from_l2": N2["0x3"] - N2["0x17"], "from_l3": N2["0x17"] - N2["0x37"], "from_memory": N2["0x37"],
        "walks": N2["0x34"], "l2_misses": N2["0x17"], "l2_references": N2["0x16"], "l3_misses": N2["0x37"],
        "l3_references": N2["0x36"], "fp_operations": N2["0x80c0"] + N2["0x80c1"], "fp_instructions": N2["0x74"] + N2["0x75"]}),
    "zen4": (fake.ZEN4, 6, {
        "cycles": 10000000, "instructions": 15000000, "nops": None, "stalled": 5000000, "data_access": 3500000,
        "stores": None, "branches": None, "code": 800000, "divider": None, "from_l2": 250000, "from_l3": 60000,
        "from_memory": 11000, "walks": 4400, "l2_misses": 120000, "l2_references": 420000, "l3_misses": 11000,
        "l3_references": 71000, "fp_operations": 6000000}),
}


def rates_of(v, width, elapsed_s):
    """The indicators, from values by hand."""
    unstalled = v["cycles"] - v["stalled"]
    clock = v["cycles"] / (CPU_MS / 1000)
    useful = None if v["nops"] is None else v["instructions"] - v["nops"]
    flops = v["fp_operations"]
    return {"cpi": v["cycles"] / v["instructions"], "ucpi": unstalled / v["instructions"],
            "cpui": useful and v["cycles"] / useful, "ucpui": useful and unstalled / useful,
            "stalled_share": v["stalled"] / v["cycles"], "data_access_share": v["data_access"] / v["stalled"],
            "l2_miss_ratio": v["l2_misses"] / v["l2_references"], "l3_miss_ratio": v["l3_misses"] / v["l3_references"],
            "clock_hz": clock, "peak_per_s": width * clock,
            "utilization": v["instructions"] / elapsed_s / (width * clock),
            "fp_operations_per_s": flops and flops / elapsed_s,
            "fp_utilization": flops and flops / elapsed_s / (width * clock)}


def same(what, found, expected, slack):
    """Equal, or both not known."""
    if expected is None:
        td.check(found is None, f"{what}: {found}, and no event of this core says it")
    else:
        fake.close(what, found, expected, slack)


def check_part(machine, words, data, slack):
    _, width, by_hand = MACHINES[machine]
    part = data["cpu_types"][0]
    for name, value in by_hand.items():
        same(f"{machine} {words} {name}", part["stalls"][name], value, slack)
    td.check(part["rates"]["clock_counted"], "the clock was counted")
    for name, value in rates_of(by_hand, width, part["rates"]["elapsed_s"]).items():
        same(f"{machine} {words} {name}", part["rates"][name], value, slack)
    cycles = [by_hand["from_l2"] * L2, by_hand["from_l3"] * L3, by_hand["from_memory"] * MEMORY, by_hand["walks"] * WALK]
    model = part["latency_model"]
    td.check(model["latencies"] == "measured here by tdrec --calibrate", model["latencies"])
    for level, by in zip(model["levels"], cycles):
        fake.close(f"{machine} {words} {level['level']}", level["cycles"], by, slack)
    fake.close("sum", model["cycles"], sum(cycles), slack)
    fake.close("measured", model["measured_cycles"], by_hand["data_access"], slack)
    fake.close("difference", model["difference"], sum(cycles) / by_hand["data_access"] - 1, 10 * slack)
    fake.close("cache share", model["cache_share"], (cycles[0] + cycles[1]) / sum(cycles), slack)
    fake.close("memory share", model["memory_share"], cycles[2] / sum(cycles), slack)
    fake.close("TLB share", model["tlb_share"], cycles[3] / sum(cycles), slack)


def figures():
    """In turns, scaled from a part of the time, and each set in a run of its own."""
    calibrate()
    for machine, (counts, _, _) in MACHINES.items():
        clock = f"sw:1 count={CPU_MS * 1e6}\n"
        for words, more in (((), ""), ((), "* share=0.3\n"), (("--passes", "16"), "")):
            data = fake.counted(machine, fake.text_of(counts, clock + more), "--report", "stalls", *words)
            check_part(machine, (words, more.strip()), data, 2e-5 if more else 2e-6)
            td.check(data["machine"]["cpus"] == 4, f"{data['machine']}")


def text():
    """On 80 columns; the sum and the measured cycles stand beside each other; what the core lacks is named."""
    calibrate()
    done = fake.tdrec("spr", fake.text_of(SPR, f"sw:1 count={CPU_MS * 1e6}\n"), "--count", "--report", "stalls").stdout.decode()
    td.check(max(map(len, done.splitlines())) <= 80, done)
    modelled = 280000 * L2 + 90000 * L3 + 30000 * MEMORY + 10500 * WALK
    for line in (rf"^  sum +{modelled:,}$", r"^  measured +5,200,000$",
                 rf"^  difference +{modelled - 5200000:,} +\+{100 * (modelled / 5200000 - 1):.1f}$",
                 r"^  stalled cycles +6,100,000 +61\.0$", r"^    from memory +1,900,000 +31\.1$",
                 r"^  CPI, cycles per instruction +0\.667$", r"^  UCPI, unstalled per instruction +0\.260$",
                 r"^  \(latencies measured here by tdrec --calibrate\)$"):
        td.check(re.search(line, done, re.M), f"{line}:\n{done}")
    done = fake.tdrec("clx", fake.text_of(SKX), "--count", "--report", "stalls").stdout.decode()
    td.check(re.search(r"^  instructions that do nothing +no event of this core$", done, re.M), done)
    td.check(re.search(r"^  clock, at most +not known$", done, re.M), done)
    done = fake.tdrec("adl", fake.text_of(fake.SPR), "--count", "--report", "stalls").stdout.decode()
    td.check("Stalls on alder-lake-p, cpu_core" in done and "Stalls on alder-lake-e, cpu_atom" in done, done)


def refused():
    """What it does not go with, and where nothing can be counted."""
    for words, sentence in ((("--count", "--report", "stall"), "there is stalls"), (("--report", "stalls"), "goes with --count"),
                            (("--count", "--report", "stalls", "-M", "tlb"), "chooses what is counted"),
                            (("--count", "--report", "stalls", "-I", "100"), "without -I"),
                            (("--count", "--report", "stalls", "--per-thread"), "without --per-thread"),
                            (("--count", "--report", "stalls", "--source", "clock"), "needs hardware counters")):
        done = fake.tdrec("spr", fake.text_of(SPR), *words, status=125)
        td.check(sentence in done.stderr.decode(), f"{words}: {done.stderr!r}")
    done = fake.tdrec("no-pmu", fake.text_of(SPR), "--count", "--report", "stalls", status=125)
    td.check(b"needs hardware counters" in done.stderr, f"{done.stderr!r}")


if __name__ == "__main__":
    td.cases({"figures": figures, "text": text, "refused": refused})
