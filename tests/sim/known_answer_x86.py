#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""known_answer_x86.py PLUGIN KERNELS [CORE...] [KERNEL...]: the dominant node of each kernel at the tree's levels 1 to 3 on
every core, the leaf that leads what is lost or retires, whether the source line marked BLAME in kernels_x86.c has most of what is lost, and the cycles that a round of
some kernels takes."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Level 1: level 2: level 3: the columns that it is the sum of, all of level 4 or below where there are several.
TREE = {
    "retiring": {
        "light_operations": {
            "fp_arith": ["x87_use", "fp_scalar", "fp_vector_128b", "fp_vector_256b", "fp_vector_512b"],
            **{leaf: [leaf] for leaf in ("other_light_ops", "memory_operations", "fused_instructions",
                                         "non_fused_branches", "nop_instructions", "int_operations")}},
        "heavy_operations": {leaf: [leaf] for leaf in ("few_uops_instructions", "microcode_sequencer")}},
    "bad_speculation": {leaf: {leaf: [leaf]} for leaf in ("branch_mispredicts", "machine_clears")},
    "frontend_bound": {
        "fetch_latency": {leaf: [leaf] for leaf in ("icache_misses", "itlb_misses", "branch_resteers", "ms_switches")},
        "fetch_bandwidth": {leaf: [leaf] for leaf in ("mite", "dsb")}},
    "backend_bound": {
        "memory_bound": {
            "l1_bound": ["l1_latency_dependency", "dtlb_load", "store_fwd_blk", "4k_aliasing", "split_loads",
                         "lock_latency"],
            "dram_bound": ["mem_latency", "mem_bandwidth"],
            **{leaf: [leaf] for leaf in ("l2_bound", "l3_bound", "store_bound")}},
        "core_bound": {
            "ports_utilization": ["dependency_chains", "integer_ports", "multiply_port", "branch_ports", "float_ports",
                                  "shuffle_ports", "vector_ports", "load_ports", "store_ports"],
            **{leaf: [leaf] for leaf in ("divider", "serializing_operation")}}},
}
CORES = ("golden-cove", "skylake", "skylake-x", "zen3", "zen4", "zen5")
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
    "copy_string": ("copy_string", CORE, ["serializing_operation"]),
    "scattered_stores": ("scattered_stores", MEMORY, ["store_bound"]),
    "sum_floats": ("sum_floats", CORE, ["ports_utilization"]),
    "straight": ("straight", LATENCY, ["icache_misses"]),
    "code_l2": ("code_l2", LATENCY, ["icache_misses"]),
}
# kernel of its function's name: the column with the most of what is lost, or of what retires, and whether the marked
# line has the most of it.
LEADERS = {
    "chase-l1": "l1_latency_dependency",
    "forward_blocked": "store_fwd_blk",
    "alias": "4k_aliasing",
    "split_loads": "split_loads",
    "page_walks": "dtlb_load",
    "locked_adds": "lock_latency",
    "chase-dram": "mem_latency",
    "read_streams": "mem_bandwidth",
    "multiply_chain": "dependency_chains",
    "float_chain": "dependency_chains",
    "sum_floats": "dependency_chains",
    "one_port": "multiply_port",
    "shifts": "integer_ports",
    "jumps_not_taken": "branch_ports",
    "float_adds": "float_ports",
    "shuffles": "shuffle_ports",
    "vector_shifts": "vector_ports",
    "loads": "load_ports",
    "stores": "store_ports",
    "fences": "serializing_operation",
    "jumps_taken": "dsb",
    "microcode": "ms_switches",
    "decode_bytes": "mite",
    "decode_uops": "mite",
}
RETIRING = {
    "adds": "other_light_ops",
    "over_page_end": "other_light_ops",
    "x87": "x87_use",
    "float_adds": "fp_scalar",
    "float_vectors": "fp_vector_128b",
    "wide_vectors": "fp_vector_256b",
    "integer_vectors": "int_operations",
    "loads": "memory_operations",
    "stores": "memory_operations",
    "nops": "nop_instructions",
    "jumps_not_taken": "non_fused_branches",
    "wide_products": "few_uops_instructions",
    "microcode": "microcode_sequencer",
}
# The other cores deliver as much from their decoders as they dispatch.
# Zen 5 has three multipliers: six chains do not fill them.
ONLY = {"decode_bytes": ["golden-cove"], "decode_uops": ["zen3", "zen4", "zen5"],
        "one_port": ["golden-cove", "skylake", "skylake-x", "zen3", "zen4"]}
# Where a core's answer is another, and why.
DIFFERENT = {
    # The decoders' 16 or 32 bytes a cycle are less than L2 delivers.
    ("golden-cove", "code_l2"): ("code_l2", ("frontend_bound", "fetch_bandwidth"), None),
    # Its L2 has not room for the lines and the page table.
    ("skylake", "page_walks"): ("page_walks", MEMORY, ["l1_bound", "l3_bound"]),
    ("skylake", "code_l2"): ("code_l2", ("frontend_bound", "fetch_bandwidth"), None),
    ("skylake-x", "code_l2"): ("code_l2", ("frontend_bound", "fetch_bandwidth"), None),
    # Multiplications wait for one another, and fill the scheduler of 96 places before the reorder buffer is full.
    ("zen3", "probe_ways"): ("probe_ways", MEMORY, ["dram_bound"]),
    ("zen4", "probe_ways"): ("probe_ways", MEMORY, ["dram_bound"]),
    ("zen5", "code_l2"): ("code_l2", ("frontend_bound", "fetch_bandwidth"), None),
}
BLAME_SHARE = 0.5
# kernel: (rounds, {core: cycles of a round}). Of roots_and_divides: `busy` of fsqrt64 and fdiv64 together.
CYCLES = {"roots_and_divides": (200000, {"golden-cove": 10, "skylake": 10, "skylake-x": 10, "zen3": 14, "zen4": 14, "zen5": 12})}
CYCLES_SLACK = 0.02
# kernel: (rounds, instructions of a round)
INSTRUCTIONS = {"over_page_end": (200000, 7)}


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
    """({offset in the program: {column: value}}, slots that all tallies must add up to, slots of a cycle)"""
    arg = f"{plugin},core={core},out={out}"
    subprocess.run(["qemu-x86_64", "-cpu", "max,-erms,-fsrm", "-plugin", arg, program, kernel], check=True)
    base, tallies, slots, cycles, columns = None, {}, 0, 0, []
    with open(out, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if words[0] == "M" and base is None and line.rstrip().endswith(os.path.realpath(program)):
                base = int(words[1].split("-")[0], 16)
            elif words[0] == "C":
                columns = words[1:]
            elif words[0] == "T":
                sums = tallies.setdefault(int(words[3], 16), [0] * len(columns))
                for k, word in enumerate(words[4:]):
                    sums[k] += int(word)
            elif words[0] == "S":
                slots += int(words[words.index("slots") + 1])
                cycles += int(words[words.index("cycles") + 1])
    named = {pc - base: dict(zip(columns, values)) for pc, values in tallies.items()}
    return named, slots, round(slots / cycles)


def leaves_of(tree):
    """The columns below a node."""
    return tree if isinstance(tree, list) else [leaf for part in tree.values() for leaf in leaves_of(part)]


def total(sums, tree):
    return sum(sums.get(leaf, 0) for leaf in leaves_of(tree))


def added(rows):
    """The columns of several places, added up."""
    sums = {}
    for row in rows:
        for name, value in row.items():
            sums[name] = sums.get(name, 0) + value
    return sums


def most(shares):
    return max(shares, key=shares.get)


def blamed(program, function, inside, leaves):
    """Whether the marked line has the most of these columns of the function; True when no line is marked."""
    wanted = marked_lines().get(function)
    if wanted is None or len(inside) > 100000:
        return True
    lost = {}
    offsets = list(inside)
    for offset, line in zip(offsets, lines_of(program, offsets)):
        lost[line] = lost.get(line, 0) + total(inside[offset], leaves)
    return lost.get(str(wanted), 0) >= BLAME_SHARE * sum(lost.values())


def check_levels(sums, kernel, core):
    """The problems of levels 1 to 3; and whether most retires."""
    _, (level1, level2), leaves = DIFFERENT.get((core, kernel), EXPECTED[kernel])
    tops = {node: total(sums, parts) for node, parts in TREE.items()}
    seconds = {node: total(sums, parts) for node, parts in TREE[level1].items()}
    thirds = {node: total(sums, parts) for node, parts in TREE[level1][level2].items()}
    problems = []
    if most(tops) != level1:
        problems.append(f"level 1 is {most(tops)}, not {level1}")
    if most(seconds) != level2:
        problems.append(f"level 2 is {most(seconds)}, not {level2}")
    if leaves and most(thirds) not in leaves:
        problems.append(f"level 3 is {most(thirds)}, not {' or '.join(leaves)}")
    return problems, level1 == "retiring"


def check_leaders(sums, kernel, core):
    problems = []
    retiring = {leaf: sums[leaf] for leaf in leaves_of(TREE["retiring"])}
    lost = {leaf: sums[leaf] for top in TREE if top != "retiring" for leaf in leaves_of(TREE[top])}
    if (core, kernel) not in DIFFERENT and most(lost) != LEADERS.get(kernel, most(lost)):
        problems.append(f"most is lost to {most(lost)}, not {LEADERS[kernel]}")
    if most(retiring) != RETIRING.get(kernel, most(retiring)):
        problems.append(f"most that retires is {most(retiring)}, not {RETIRING[kernel]}")
    return problems


def check(plugin, program, kernel, core, out):
    function = EXPECTED[kernel][0] if kernel in EXPECTED else kernel
    start, end = functions(program)[function]
    tallies, slots, width = run(plugin, program, kernel, core, out)
    inside = {o: v for o, v in tallies.items() if start <= o < end}
    sums = added(inside.values())
    problems, retires = check_levels(sums, kernel, core) if kernel in EXPECTED else ([], False)
    problems += check_leaders(sums, kernel, core)
    everything = total(added(tallies.values()), TREE)
    if everything != slots:
        problems.append(f"the tallies add up to {everything} slots of {slots}")
    losses = {top: TREE[top] for top in TREE if top != "retiring"}
    if not retires and not blamed(program, function, inside, leaves_of(losses)):
        problems.append("the marked line has not most of the loss")
    slots_inside = total(sums, TREE)
    if kernel in CYCLES:
        rounds, wanted = CYCLES[kernel]
        cycles = slots_inside / width / rounds
        if abs(cycles / wanted[core] - 1) > CYCLES_SLACK:
            problems.append(f"{cycles:.2f} cycles a round, not {wanted[core]}")
    if kernel in INSTRUCTIONS:
        rounds, wanted = INSTRUCTIONS[kernel]
        if abs(sums["instructions"] / rounds - wanted) > 0.001:
            problems.append(f"{sums['instructions'] / rounds:.3f} instructions a round, not {wanted}")
    shares = {**{top: total(sums, TREE[top]) for top in TREE}, **{leaf: sums[leaf] for leaf in leaves_of(TREE)}}
    shown = " ".join(f"{name} {100 * v / slots_inside:.0f}" for name, v in shares.items() if v * 25 > slots_inside)
    print(f"{'FAIL' if problems else 'ok  '} {core} {kernel}: {shown} {'; '.join(problems)}", flush=True)
    return not problems


def main(check, known, only):
    """The exit status of this test and of level4_blind.py: `check` each kernel, or those that are named, of the `known`
    ones on the cores; `only` has those that are for some of the cores."""
    plugin, program = sys.argv[1:3]
    cores = [word for word in sys.argv[3:] if word in CORES] or CORES
    kernels = [word for word in sys.argv[3:] if word not in CORES] or list(known)
    if not shutil.which("qemu-x86_64") or not os.path.exists(plugin):
        print("skipped: needs qemu-x86_64 and the plugin (not built with sanitizers)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "tallies")
        results = [check(plugin, program, kernel, core, out) for core in cores for kernel in kernels
                   if core in only.get(kernel, CORES)]
    print(f"{sum(results)} of {len(results)} kernels")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(check, {**EXPECTED, **LEADERS, **RETIRING}, ONLY))
