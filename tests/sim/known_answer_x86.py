#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""known_answer_x86.py PLUGIN KERNELS [CORE...] [KERNEL...]: the dominant node of each kernel at the tree's levels 1 to 3 on
every core, whether the source line marked BLAME in kernels_x86.c has most of what is lost, and the cycles that a round of
some kernels takes."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

COLUMNS = ("instructions light_operations heavy_operations branch_mispredicts machine_clears "
           "icache_misses itlb_misses branch_resteers fetch_bandwidth l1_bound l2_bound l3_bound "
           "dram_bound store_bound divider ports_utilization").split()
TREE = {
    "retiring": {"light_operations": ["light_operations"], "heavy_operations": ["heavy_operations"]},
    "bad_speculation": {"branch_mispredicts": ["branch_mispredicts"], "machine_clears": ["machine_clears"]},
    "frontend_bound": {"fetch_latency": ["icache_misses", "itlb_misses", "branch_resteers"],
                       "fetch_bandwidth": ["fetch_bandwidth"]},
    "backend_bound": {"memory_bound": ["l1_bound", "l2_bound", "l3_bound", "dram_bound", "store_bound"],
                      "core_bound": ["divider", "ports_utilization"]},
}
CORES = ("golden-cove", "skylake", "zen4")
MEMORY, CORE = ("backend_bound", "memory_bound"), ("backend_bound", "core_bound")
LATENCY = ("frontend_bound", "fetch_latency")
# kernel: (function, (level 1, level 2), the leaves that may lead level 2)
EXPECTED = {
    "chase-l1": ("chase", MEMORY, ["l1_bound"]),
    "chase-l2": ("chase", MEMORY, ["l2_bound"]),
    "chase-l3": ("chase", MEMORY, ["l3_bound"]),
    "chase-dram": ("chase", MEMORY, ["dram_bound"]),
    "branches": ("branches", ("bad_speculation", "branch_mispredicts"), None),
    "divides": ("divides", CORE, ["divider"]),
    "float_chain": ("float_chain", CORE, ["ports_utilization"]),
    "adds": ("adds", ("retiring", "light_operations"), None),
    "stream": ("stream", MEMORY, ["dram_bound", "store_bound"]),
    "forward": ("forward", MEMORY, ["l1_bound"]),
    "forward_blocked": ("forward_blocked", MEMORY, ["l1_bound"]),
    "split_loads": ("split_loads", MEMORY, ["l1_bound"]),
    "alias": ("alias", MEMORY, ["l1_bound"]),
    "page_walks": ("page_walks", MEMORY, ["l1_bound"]),
    "locked_adds": ("locked_adds", MEMORY, ["l1_bound"]),
    "square_roots": ("square_roots", CORE, ["divider"]),
    "roots_and_divides": ("roots_and_divides", CORE, ["divider"]),
    "interpreter": ("interpreter", ("bad_speculation", "branch_mispredicts"), None),
    "code_pages": ("code_pages", LATENCY, ["itlb_misses"]),
    "multiply_chain": ("multiply_chain", CORE, ["ports_utilization"]),
    "one_port": ("one_port", CORE, ["ports_utilization"]),
    "gather": ("gather", MEMORY, ["dram_bound"]),
    # Each of these mispredicts throws a full reorder buffer away: its slots were issued.
    "filter": ("filter", ("bad_speculation", "branch_mispredicts"), None),
    "filter-l2": ("filter", ("bad_speculation", "branch_mispredicts"), None),
    "probe_ways": ("probe_ways", ("bad_speculation", "branch_mispredicts"), None),
    "binary_search": ("binary_search", MEMORY, ["dram_bound", "l3_bound"]),
    "hash_join": ("hash_join", MEMORY, ["dram_bound"]),
    "breadth_first": ("breadth_first", MEMORY, ["dram_bound"]),
    "hash_probes": ("hash_probes", MEMORY, ["l2_bound"]),
    "matrix_rows": ("matrix_rows", ("retiring", "light_operations"), None),
    "copy_string": ("copy_string", CORE, ["ports_utilization"]),
    "scattered_stores": ("scattered_stores", MEMORY, ["store_bound"]),
    "sum_floats": ("sum_floats", CORE, ["ports_utilization"]),
    "straight": ("straight", LATENCY, ["icache_misses"]),
    "code_l2": ("code_l2", LATENCY, ["icache_misses"]),
}
# Where a core's answer is another, and why.
DIFFERENT = {
    # The decoders' 16 or 32 bytes a cycle are less than L2 delivers.
    ("golden-cove", "code_l2"): ("code_l2", ("frontend_bound", "fetch_bandwidth"), None),
    # Its L2 has not room for the lines and the page table.
    ("skylake", "page_walks"): ("page_walks", MEMORY, ["l1_bound", "l3_bound"]),
    ("skylake", "code_l2"): ("code_l2", ("frontend_bound", "fetch_bandwidth"), None),
}
BLAME_SHARE = 0.5
# kernel: (rounds, {core: cycles of a round}). Of roots_and_divides: `busy` of fsqrt64 and fdiv64 together.
CYCLES = {"roots_and_divides": (200000, {"golden-cove": 10, "skylake": 10, "zen4": 14})}
CYCLES_SLACK = 0.02


def functions(program):
    out = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in out.splitlines())
    # The compiler may name a specialised copy NAME.constprop.0.
    return {r[3].split(".")[0]: (int(r[0], 16), int(r[0], 16) + int(r[1], 16)) for r in rows if len(r) == 4}


def marked_lines():
    """kernel function: the line that takes its time."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels_x86.c"), encoding="utf-8") as file:
        return {m.group(1): number for number, line in enumerate(file, 1)
                for m in [re.search(r"/\* BLAME (\w+) \*/", line)] if m}


def lines_of(program, offsets):
    done = subprocess.run(["addr2line", "-e", program], input="\n".join(map(hex, offsets)), capture_output=True,
                          text=True, check=True)
    return [line.split(" ")[0].rsplit(":", 1)[-1] for line in done.stdout.split("\n")]


def run(plugin, program, kernel, core, out):
    """({offset in the program: its columns}, slots that all tallies must add up to, slots of a cycle)"""
    arg = f"{plugin},core={core},out={out}"
    subprocess.run(["qemu-x86_64", "-cpu", "max,-erms,-fsrm", "-plugin", arg, program, kernel], check=True)
    base, tallies, slots, cycles = None, {}, 0, 0
    with open(out, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if words[0] == "M" and base is None and line.rstrip().endswith(os.path.realpath(program)):
                base = int(words[1].split("-")[0], 16)
            elif words[0] == "T":
                sums = tallies.setdefault(int(words[3], 16), [0] * len(COLUMNS))
                for k, word in enumerate(words[4:]):
                    sums[k] += int(word)
            elif words[0] == "S":
                slots += int(words[words.index("slots") + 1])
                cycles += int(words[words.index("cycles") + 1])
    return {pc - base: values for pc, values in tallies.items()}, slots, round(slots / cycles)


def blamed(program, function, inside):
    """Whether the marked line has the most lost slots of the function; True when no line is marked."""
    wanted = marked_lines().get(function)
    if wanted is None or len(inside) > 100000:
        return True
    lost = {}
    offsets = list(inside)
    for offset, line in zip(offsets, lines_of(program, offsets)):
        lost[line] = lost.get(line, 0) + sum(inside[offset][3:])
    return lost.get(str(wanted), 0) >= BLAME_SHARE * sum(lost.values())


def check(plugin, program, kernel, core, out):
    function, (level1, level2), leaves = DIFFERENT.get((core, kernel), EXPECTED[kernel])
    start, end = functions(program)[function]
    tallies, slots, width = run(plugin, program, kernel, core, out)
    inside = {o: v for o, v in tallies.items() if start <= o < end}
    sums = dict(zip(COLUMNS, map(sum, zip(*inside.values()))))
    tops = {node: sum(sums[leaf] for part in parts.values() for leaf in part) for node, parts in TREE.items()}
    problems = []
    added = sum(sum(values[1:]) for values in tallies.values())
    if added != slots:
        problems.append(f"the tallies add up to {added} slots of {slots}")
    if max(tops, key=tops.get) != level1:
        problems.append(f"level 1 is {max(tops, key=tops.get)}, not {level1}")
    seconds = {node: sum(sums[leaf] for leaf in leaves) for node, leaves in TREE[level1].items()}
    if max(seconds, key=seconds.get) != level2:
        problems.append(f"level 2 is {max(seconds, key=seconds.get)}, not {level2}")
    thirds = {leaf: sums[leaf] for leaf in TREE[level1][level2]}
    if leaves and max(thirds, key=thirds.get) not in leaves:
        problems.append(f"level 3 is {max(thirds, key=thirds.get)}, not {' or '.join(leaves)}")
    if level1 != "retiring" and not blamed(program, function, inside):
        problems.append("the marked line has not most of the loss")
    if kernel in CYCLES:
        rounds, wanted = CYCLES[kernel]
        cycles = sum(tops.values()) / width / rounds
        if abs(cycles / wanted[core] - 1) > CYCLES_SLACK:
            problems.append(f"{cycles:.2f} cycles a round, not {wanted[core]}")
    total = sum(tops.values())
    shares = " ".join(f"{n} {100 * v / total:.0f}" for n, v in {**tops, **{c: sums[c] for c in COLUMNS[3:]}}.items()
                      if v * 25 > total)
    print(f"{'FAIL' if problems else 'ok  '} {core} {kernel}: {shares} {'; '.join(problems)}", flush=True)
    return not problems


def main():
    plugin, program = sys.argv[1:3]
    cores = [word for word in sys.argv[3:] if word in CORES] or CORES
    kernels = [word for word in sys.argv[3:] if word not in CORES] or list(EXPECTED)
    if not shutil.which("qemu-x86_64") or not os.path.exists(plugin):
        print("skipped: needs qemu-x86_64 and the plugin (not built with sanitizers)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "tallies")
        results = [check(plugin, program, kernel, core, out) for core in cores for kernel in kernels]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
