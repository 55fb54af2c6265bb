#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""known_answer.py PLUGIN KERNELS: each kernel's dominant node, and the blame on its function.

KERNELS may be for any processor that can be modelled."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile

# Level 1: the columns that it is the sum of.
TREE = {
    "retiring": "other_light_ops memory_operations fused_instructions non_fused_branches nop_instructions "
                "int_operations x87_use fp_scalar fp_vector_128b fp_vector_256b fp_vector_512b "
                "few_uops_instructions microcode_sequencer".split(),
    "bad_speculation": ["branch_mispredicts", "machine_clears"],
    "frontend_bound": "icache_misses itlb_misses branch_resteers ms_switches mite dsb".split(),
    "backend_bound": "l1_latency_dependency dtlb_load store_fwd_blk 4k_aliasing split_loads lock_latency l2_bound "
                     "l3_bound contested_accesses mem_latency mem_bandwidth store_bound false_sharing divider "
                     "serializing_operation "
                     "dependency_chains integer_ports multiply_port branch_ports float_ports shuffle_ports "
                     "vector_ports load_ports store_ports".split(),
}
# kernel: (function, level 1, leaves of which one must be the largest outside retiring)
EXPECTED = {
    "chase-l1": ("chase", "backend_bound", ["l1_latency_dependency"]),
    "chase-l2": ("chase", "backend_bound", ["l2_bound"]),
    "chase-l3": ("chase", "backend_bound", ["l3_bound"]),
    "chase-dram": ("chase", "backend_bound", ["mem_latency"]),
    "branches": ("branches", "bad_speculation", ["branch_mispredicts"]),
    "divides": ("divides", "backend_bound", ["divider"]),
    "float_chain": ("float_chain", "backend_bound", ["dependency_chains"]),
    "adds": ("adds", "retiring", None),
    "stream": ("stream", "backend_bound", ["mem_latency", "mem_bandwidth", "store_bound"]),
    "forward": ("forward", "backend_bound", ["l1_latency_dependency"]),
    "straight": ("straight", "frontend_bound", ["icache_misses"]),
}


# e_machine: (emulator, its CPU, core)
GUESTS = {
    62: ("qemu-x86_64", "max,-erms,-fsrm", "golden-cove"),
    183: ("qemu-aarch64", "max,sve=off", "neoverse-n2"),
}
ET_EXEC = 2


def elf_header(program):
    """(type, machine)"""
    with open(program, "rb") as file:
        return struct.unpack_from("<HH", file.read(20), 16)


def functions(program):
    out = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in out.splitlines())
    # The compiler may name a specialised copy NAME.constprop.0.
    return {r[3].split(".")[0]: (int(r[0], 16), int(r[0], 16) + int(r[1], 16)) for r in rows if len(r) == 4}


def run(plugin, program, kernel, out):
    """Where the program was, its tallies {column: value}, and the slots that all of them must add up to."""
    kind, machine = elf_header(program)
    emulator, cpu, core = GUESTS[machine]
    arg = f"{plugin},core={core},out={out}"
    subprocess.run([emulator, "-cpu", cpu, "-plugin", arg, program, kernel], check=True)
    base, tallies, slots, columns = 0 if kind == ET_EXEC else None, [], 0, []
    with open(out) as lines:
        for line in lines:
            words = line.split()
            if words[0] == "M" and base is None and line.rstrip().endswith(os.path.realpath(program)):
                base = int(words[1].split("-")[0], 16)
            elif words[0] == "C":
                columns = words[1:]
            elif words[0] == "T":
                tallies.append((int(words[3], 16), dict(zip(columns, map(int, words[4:])))))
            elif words[0] == "S":
                slots += int(words[words.index("slots") + 1])
    return base, tallies, slots


def check(plugin, program, kernel, out):
    function, level1, leaves = EXPECTED[kernel]
    start, end = functions(program)[function]
    base, tallies, slots = run(plugin, program, kernel, out)
    everything = [leaf for children in TREE.values() for leaf in children]
    sums = dict.fromkeys(["instructions", *everything], 0)
    for pc, values in tallies:
        if start <= pc - base < end:
            for name, value in values.items():
                sums[name] += value
    tops = {node: sum(sums[leaf] for leaf in children) for node, children in TREE.items()}
    problems = []
    added = sum(values[leaf] for _, values in tallies for leaf in everything)
    if added != slots:
        problems.append(f"the tallies add up to {added} slots of {slots}")
    if max(tops, key=tops.get) != level1:
        problems.append(f"level 1 is {max(tops, key=tops.get)}, not {level1}")
    lost = {leaf: sums[leaf] for leaf in everything if leaf not in TREE["retiring"]}
    if leaves and max(lost, key=lost.get) not in leaves:
        problems.append(f"the leaf is {max(lost, key=lost.get)}, not {' or '.join(leaves)}")
    total = sum(tops.values())
    shares = " ".join(f"{n} {100 * v / total:.0f}" for n, v in {**tops, **lost}.items()
                      if v * 25 > total)
    print(f"{'FAIL' if problems else 'ok  '} {kernel}: {shares} {'; '.join(problems)}", flush=True)
    return not problems


def main():
    plugin, program = sys.argv[1:3]
    kernels = sys.argv[3:] or list(EXPECTED)
    emulator = GUESTS[elf_header(program)[1]][0]
    if not shutil.which(emulator) or not os.path.exists(plugin):
        print(f"skipped: needs {emulator} and the plugin (not built with sanitizers)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "tallies")
        results = [check(plugin, program, k, out) for k in kernels]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
