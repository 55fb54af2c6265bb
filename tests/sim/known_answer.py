#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""known_answer.py PLUGIN KERNELS: each kernel's dominant node, and the blame on its function."""
import os
import shutil
import subprocess
import sys
import tempfile

COLUMNS = ("cycles instructions light_operations heavy_operations branch_mispredicts machine_clears "
           "icache_misses itlb_misses branch_resteers fetch_bandwidth l1_bound l2_bound l3_bound "
           "dram_bound store_bound divider ports_utilization").split()
TREE = {
    "retiring": ["light_operations", "heavy_operations"],
    "bad_speculation": ["branch_mispredicts", "machine_clears"],
    "frontend_bound": ["icache_misses", "itlb_misses", "branch_resteers", "fetch_bandwidth"],
    "backend_bound": COLUMNS[10:],
}
# kernel: (function, level 1, leaves of which one must be the largest outside retiring)
EXPECTED = {
    "chase-l1": ("chase", "backend_bound", ["l1_bound"]),
    "chase-l2": ("chase", "backend_bound", ["l2_bound"]),
    "chase-l3": ("chase", "backend_bound", ["l3_bound"]),
    "chase-dram": ("chase", "backend_bound", ["dram_bound"]),
    "branches": ("branches", "bad_speculation", ["branch_mispredicts"]),
    "divides": ("divides", "backend_bound", ["divider"]),
    "float_chain": ("float_chain", "backend_bound", ["ports_utilization"]),
    "adds": ("adds", "retiring", None),
    "stream": ("stream", "backend_bound", ["dram_bound", "store_bound"]),
    "forward": ("forward", "backend_bound", ["l1_bound"]),
    "straight": ("straight", "frontend_bound", ["icache_misses"]),
}


def functions(program):
    out = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in out.splitlines())
    # The compiler may name a specialised copy NAME.constprop.0.
    return {r[3].split(".")[0]: (int(r[0], 16), int(r[0], 16) + int(r[1], 16)) for r in rows if len(r) == 4}


def run(plugin, program, kernel, core, out):
    arg = f"{plugin},core={core},out={out}"
    subprocess.run(["qemu-x86_64", "-cpu", "max,-erms,-fsrm", "-plugin", arg, program, kernel],
                   check=True)
    base, tallies = None, []
    with open(out) as lines:
        for line in lines:
            words = line.split()
            if words[0] == "M" and base is None and line.rstrip().endswith(os.path.realpath(program)):
                base = int(words[1].split("-")[0], 16)
            elif words[0] == "T":
                tallies.append((int(words[3], 16), [int(w) for w in words[4:]]))
    return base, tallies


def check(plugin, program, kernel, core, out):
    function, level1, leaves = EXPECTED[kernel]
    start, end = functions(program)[function]
    base, tallies = run(plugin, program, kernel, core, out)
    sums = dict.fromkeys(COLUMNS, 0)
    for pc, values in tallies:
        if start <= pc - base < end:
            for name, value in zip(COLUMNS, values):
                sums[name] += value
    tops = {node: sum(sums[leaf] for leaf in children) for node, children in TREE.items()}
    problems = []
    if max(tops, key=tops.get) != level1:
        problems.append(f"level 1 is {max(tops, key=tops.get)}, not {level1}")
    lost = {leaf: sums[leaf] for leaf in COLUMNS[4:]}
    if leaves and max(lost, key=lost.get) not in leaves:
        problems.append(f"the leaf is {max(lost, key=lost.get)}, not {' or '.join(leaves)}")
    total = sum(tops.values())
    shares = " ".join(f"{n} {100 * v / total:.0f}" for n, v in {**tops, **lost}.items()
                      if v * 25 > total)
    print(f"{'FAIL' if problems else 'ok  '} {core} {kernel}: {shares} {'; '.join(problems)}",
          flush=True)
    return not problems


def main():
    plugin, program = sys.argv[1:3]
    kernels = sys.argv[3:] or list(EXPECTED)
    if not shutil.which("qemu-x86_64") or not os.path.exists(plugin):
        print("skipped: needs qemu-x86_64 and the plugin (not built with sanitizers)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "tallies")
        results = [check(plugin, program, k, "golden-cove", out) for k in kernels]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
