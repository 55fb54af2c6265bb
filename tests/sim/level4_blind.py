#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""level4_blind.py PLUGIN KERNELS [CORE...] [KERNEL...]: of each kernel of level4_blind.c the column of the tree's leaves that
leads what is lost, or what retires, and whether the line of ASM, or the one marked LINE, has most of that loss. The answers were written down
from the vendors' documents before the model was asked."""
import os
import re
import sys

from known_answer_x86 import TREE, added, functions, leaves_of, lines_of, main, most, run, total

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "level4_blind.c")
LINE_SHARE = 0.5
# A kernel that forwards loses next to nothing to what blocks.
FORWARDED_SHARE = 0.02
FORWARDED = ("fwd_low", "fwd_middle", "fwd_high", "fwd_vector_low", "fwd_vector_high", "fwd_wide_float")
L1 = "l1_latency_dependency"
# kernel: (function where it is not the kernel's name, the columns that may lead what is lost)
LOST = {
    **{name: (None, [L1, "dependency_chains"]) for name in FORWARDED},
    **{name: (None, ["store_fwd_blk"])
       for name in ("blk_beyond", "blk_two_words", "blk_four_floats", "blk_byte", "blk_two_vectors")},
    "alias_scalar": (None, ["4k_aliasing"]), "alias_vector": (None, ["4k_aliasing"]),
    "split_line": (None, ["split_loads"]), "split_vector": (None, ["split_loads"]), "split_page": (None, ["split_loads"]),
    "lock_cmpxchg": (None, ["lock_latency"]), "lock_exchange": (None, ["lock_latency"]), "lock_spread": (None, ["lock_latency"]),
    "index_l1": ("follow_index", [L1]), "links_l1": ("follow_links", [L1]),
    "stlb_hits": ("follow_index", ["dtlb_load"]), "stlb_links": ("follow_links", ["dtlb_load"]),
    "walks": ("follow_index", ["dtlb_load"]), "walk_links": ("follow_links", ["dtlb_load"]),
    "links_l2": ("follow_links", ["l2_bound"]), "read_l2": ("read_all", ["l2_bound"]), "found_l2": ("probe_by_found", ["l2_bound"]),
    "index_l3": ("follow_index", ["l3_bound"]), "found_l3": ("probe_by_found", ["l3_bound"]), "probe_l3": ("probe_any", ["l3_bound"]),
    "read_memory": ("read_all", ["mem_bandwidth"]), "probe_memory": ("probe_any", ["mem_bandwidth", "mem_latency"]),
    "links_memory": ("follow_links", ["mem_latency"]), "found_memory": ("probe_by_found", ["mem_latency"]),
    "store_pages": (None, ["store_bound"]), "store_memory": ("store_all", ["store_bound"]), "store_split": (None, ["store_bound"]),
    "call_many": (None, ["icache_misses"]), "call_pages": (None, ["itlb_misses"]),
    "jump_many": (None, ["branch_resteers"]), "jump_lines": (None, ["mite", "dsb"]), "jump_few": (None, ["dsb"]),
    "decode_long": (None, ["mite"]), "decode_short": (None, ["mite"]),
    "ms_popf": (None, ["ms_switches"]), "clock_reads": (None, ["ms_switches"]), "port_shift_mix": (None, ["integer_ports"]),
    **{name: (None, ["serializing_operation"]) for name in ("serial_cpuid", "serial_lfence", "serial_mfence", "serial_pause")},
    **{name: (None, ["divider"]) for name in ("div_ints", "div_floats", "root_vectors", "div_x87", "div_sums")},
    "port_rotates": (None, ["integer_ports"]), "port_bit_tests": (None, ["integer_ports"]),
    "port_popcnt": (None, ["integer_ports", "multiply_port"]),
    "port_products": (None, ["multiply_port"]), "port_product_mix": (None, ["multiply_port"]),
    "port_product_chains": (None, ["multiply_port"]),
    "port_compares": (None, ["branch_ports"]), "port_fmas": (None, ["float_ports"]), "port_floats": (None, ["float_ports"]),
    "port_permutes": (None, ["shuffle_ports"]), "port_unpacks": (None, ["shuffle_ports"]),
    "port_vector_products": (None, ["vector_ports"]), "port_loads": (None, ["load_ports"]), "port_stores": (None, ["store_ports"]),
    **{name: (None, ["dependency_chains"]) for name in ("chain_adds", "chain_moves", "chain_fma", "chain_crc", "chain_permute",
                                                        "chain_carry", "chain_across")},
    "larger_of": (None, ["branch_mispredicts"]), "call_any": (None, ["branch_mispredicts"]),
    "loop_trips": (None, ["branch_mispredicts"]),
}
RETIRES = {
    "many_nops": "nop_instructions", "scalars": "fp_scalar", "halves": "fp_vector_128b", "wholes": "fp_vector_256b",
    "x87_products": "x87_use", "exchanges": "few_uops_instructions", "conversions": "few_uops_instructions",
    "copies": "memory_operations", "calls": "non_fused_branches", "vector_sums": "int_operations", "lea_sums": "other_light_ops",
    "load_sums": "memory_operations",
    "port_compares": "fused_instructions", "ms_popf": "microcode_sequencer",
    "ms_rotate": "microcode_sequencer", "ms_bits": "microcode_sequencer", "port_fmas": "fp_vector_256b",
    "div_x87": "x87_use",
}
NO_ZEN5 = ("golden-cove", "zen3", "zen4", "skylake", "skylake-x")
ONLY = {
    # The others decode as many instructions of 3 bytes a cycle as they dispatch.
    "decode_short": ("zen3", "zen4", "zen5"),
    # AMD's decoders make four a cycle, however long.
    "decode_long": ("golden-cove", "skylake", "skylake-x"),
    # Zen 5 dispatches no more of both than it has ports for.
    "port_popcnt": NO_ZEN5, "port_products": NO_ZEN5, "port_product_chains": NO_ZEN5,
    # Vector operations of Zen 5 take two cycles each, and L2 of skylake-x gives a line in 1.25: the sum is a chain.
    "read_l2": ("golden-cove", "zen3", "zen4", "skylake"),
    # Its uop cache has room for their lines, and it foresees two jumps a cycle: little is lost.
    "jump_lines": NO_ZEN5,
}
L2_AND_L3 = ["l2_bound", "l3_bound"]
# Where a core's answer is another, and why.
DIFFERENT = {
    # Its L2 of 256 KB has not room for lines and page table of so many pages;
    ("skylake", "walks"): ["l3_bound"], ("skylake", "walk_links"): ["l3_bound"],
    # nor, with 4 ways of it, for most of 160 KB: pages lie anywhere.
    ("skylake", "read_l2"): L2_AND_L3,
    # Nor has one of 1 MB room for 10,000 lines of as many pages and the other line of each pair, which comes with them.
    ("skylake-x", "walk_links"): ["l3_bound"],
    # A call is two uops of Intel's.
    **{(core, "calls", "retires"): "few_uops_instructions" for core in ("golden-cove", "skylake", "skylake-x")},
}


def marked_lines():
    with open(SOURCE, encoding="utf-8") as file:
        return {m[1] or m[2]: str(number) for number, line in enumerate(file, 1) for m in [re.search(r"^ASM\((\w+),|/\* LINE (\w+) \*/", line)] if m}


def on_line(program, inside, wanted, column):
    """The part of what is lost to a column that stands on the line."""
    lost = {}
    offsets = [offset for offset in inside if inside[offset][column]]
    for offset, line in zip(offsets, lines_of(program, offsets)):
        lost[line] = lost.get(line, 0) + inside[offset][column]
    return lost.get(wanted, 0) / max(1, sum(lost.values()))


def check(plugin, program, kernel, core, out):
    function, wanted = LOST.get(kernel, (None, None))
    function = function or kernel
    wanted = DIFFERENT.get((core, kernel), wanted)
    start, end = functions(program)[function]
    tallies, _, _ = run(plugin, program, kernel, core, out)
    inside = {offset: row for offset, row in tallies.items() if start <= offset < end}
    sums = added(inside.values())
    lost = {leaf: sums[leaf] for top in TREE if top != "retiring" for leaf in leaves_of(TREE[top])}
    retiring = {leaf: sums[leaf] for leaf in leaves_of(TREE["retiring"])}
    slots, problems = total(sums, TREE), []
    if wanted and most(lost) not in wanted:
        problems.append(f"most is lost to {most(lost)}, not {' or '.join(wanted)}")
    elif wanted:
        share = on_line(program, inside, marked_lines()[function], most(lost))
        if share < LINE_SHARE:
            problems.append(f"{100 * share:.0f} % of that are on the marked line")
    if kernel in FORWARDED and lost["store_fwd_blk"] > FORWARDED_SHARE * slots:
        problems.append("blocked, though one store has it all")
    expected = DIFFERENT.get((core, kernel, "retires"), RETIRES.get(kernel))
    if expected and most(retiring) != expected:
        problems.append(f"most that retires is {most(retiring)}, not {expected}")
    shares = {**retiring, **lost}
    shown = " ".join(f"{name} {100 * v / slots:.0f}" for name, v in sorted(shares.items(), key=lambda i: -i[1]) if v * 25 > slots)
    print(f"{'FAIL' if problems else 'ok  '} {core} {kernel}: {shown} {'; '.join(problems)}", flush=True)
    return not problems


if __name__ == "__main__":
    sys.exit(main(check, {**LOST, **RETIRES}, ONLY))
