#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tdrec --count on machines that are not there: each figure beside one that is computed here, from the codes and
formulas that the vendors publish, not from the project's descriptions."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import td  # noqa: E402

FAKE = os.environ.get("TD_FAKE", os.path.join(td.BUILD, "tests/fake/libfakemachine.so"))
PLAN = os.path.join(td.ROOT, "tests/plan")


def unpacked(machine):
    root = td.scratch(machine)
    if not os.path.exists(root):
        td.run([os.path.join(PLAN, "unpack"), os.path.join(PLAN, "machines", machine + ".tree"), root])
    return root


def tdrec(machine, counts, *words, status=0, command=("true",)):
    """tdrec on the machine, which counts what the text says (tests/fake/rules.h)."""
    path = td.scratch("counts")
    with open(path, "w", encoding="ascii") as file:
        file.write(counts)
    # A library that stands before the sanitizer's is no mistake here.
    env = dict(os.environ, FAKE_ROOT=unpacked(machine), FAKE_COUNTS=path, LD_PRELOAD=FAKE,
               ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
    return td.run([td.TDREC, *words, "--", *command], status, env=env)


def counted(machine, counts, *words, **more):
    return json.loads(tdrec(machine, counts, "--count", "--json", *words, **more).stdout)


def text_of(counts, more=""):
    """A text of counts by their codes."""
    return "".join(f"{code} count={value}\n" for code, value in counts.items()) + more


def close(what, found, expected, slack=2e-6):
    td.check(found is not None and abs(found - expected) <= slack * max(abs(expected), 1e-3),
             f"{what}: {found}, by hand {expected}")


def tree_of(data):
    return {node["id"]: node["share"] for node in data["cpu_types"][0]["tree"]}


def metrics_of(data):
    return {metric["name"]: metric["value"] for metric in data["cpu_types"][0]["metrics"]}


def groups_of(machine):
    """The names for -M that tdrec --list has of the machine."""
    listed = td.run([td.TDREC, "--list", "--root", unpacked(machine)]).stdout.decode()
    part = listed.split("\nMetrics", 1)[1].split("\n\n", 1)[0]
    return sorted({line.split()[0] for line in part.splitlines()[1:]})


# Neoverse N2 before r0p3: Arm's event numbers; the counts of one run that was published for this core, of a program
# that shares a cache line among threads.
N2 = {"0x11": 3922334305, "0x3f": 22679591134, "0x3b": 854404256, "0x3a": 853521883, "0x3e": 8492337939,
      "0x3d": 14317243430, "0x10": 0, "0x8": 833587916}


def n2_level_1():
    """What was published for it: 0.0 % bad speculation, 4.4 retiring, 23.3 frontend, 73.0 backend; nothing scaled."""
    done = tdrec("n2-r0p0", text_of(N2, "* share=0.6665\n"), "--count").stdout.decode()
    for name, share in (("retiring", "4.4"), ("bad_speculation", "0.0"), ("frontend_bound", "23.3"),
                        ("backend_bound", "73.0")):
        td.check(re.search(rf"^  {name} +{share}( |$)", done, re.M), f"{name} is not {share}:\n{done}")
    td.check("add up to 100.7 % here, nothing is scaled" in done, done)
    td.check(re.search(r"^  cycles +3,922,334,30[3-7] +67 %", done, re.M), done)
    data = counted("n2-r0p0", text_of(N2))
    slots = 5 * N2["0x11"]
    used = N2["0x3a"] / N2["0x3b"]
    rest = 1 - (N2["0x3f"] - N2["0x11"]) / slots
    by_hand = {"frontend_bound": (N2["0x3e"] - N2["0x11"]) / slots, "backend_bound": N2["0x3d"] / slots,
               "retiring": used * rest, "bad_speculation": (1 - used) * rest}
    for name, share in by_hand.items():
        close(name, tree_of(data)[name], share)
    close("slots", data["cpu_types"][0]["slots"], slots)


# The figures that perf printed for each group of metrics in the same publication: our name, the events with the
# counts of their own group (the clock and the instructions differ from group to group), the digits as printed.
N2_PUBLISHED = (
    ("tlb", "l2_tlb_miss_ratio", {"0x2f": 24682, "0x2d": 3506}, 100, "14.2"),
    ("tlb", "l1i_tlb_miss_ratio", {"0x2": 844, "0x26": 1647782}, 100, "0.1"),
    ("tlb", "l1d_tlb_miss_ratio", {"0x25": 324789500, "0x5": 21142}, 100, "0.0"),
    ("tlb", "itlb_walk_ratio", {"0x26": 601629, "0x35": 89}, 100, "0.0"),
    ("tlb", "itlb_walk_mpki", {"0x8": 833587916, "0x35": 6}, 1, "0.0"),
    ("tlb", "dtlb_walk_ratio", {"0x34": 275, "0x25": 267382086}, 100, "0.0"),
    ("tlb", "dtlb_walk_mpki", {"0x8": 769673871, "0x34": 176}, 1, "0.0"),
    ("cache", "ll_read_mpki", {"0x8": 1107780139, "0x37": 7392505}, 1, "6.7"),
    ("cache", "l3_mpki", {"0x8": 1102339626, "0x2a": 7298601}, 1, "6.6"),
    ("cache", "l2_mpki", {"0x8": 841891447, "0x17": 7143534}, 1, "8.5"),
    ("cache", "l2_miss_ratio", {"0x17": 7145383, "0x16": 14962069}, 100, "47.8"),
    ("cache", "l1i_mpki", {"0x8": 823053776, "0x1": 17031}, 1, "0.0"),
    ("cache", "l1i_miss_ratio", {"0x14": 141880099, "0x1": 24629}, 100, "0.0"),
    ("cache", "l1d_mpki", {"0x8": 784595695, "0x3": 7035459}, 1, "9.0"),
    ("cache", "l1d_miss_ratio", {"0x3": 7220296, "0x4": 268178900}, 100, "2.7"),
    ("branch", "branch_pki", {"0x8": 903690694, "0x21": 164002095}, 1, "181.5"),
    ("branch", "branch_mpki", {"0x8": 903690694, "0x22": 14179}, 1, "0.0"),
    ("branch", "branch_miss_ratio", {"0x22": 14179, "0x21": 164002095}, 100, "0.0"),
    ("instructionmix", "store_share", {"0x1b": 1133344181, "0x71": 80337890}, 100, "7.1"),
    ("instructionmix", "load_share", {"0x1b": 1104052031, "0x70": 257618259}, 100, "23.3"),
    ("instructionmix", "fp_share", {"0x1b": 1067206099, "0x75": 0}, 100, "0.0"),
    ("instructionmix", "integer_share", {"0x73": 400697153, "0x1b": 803044283}, 100, "49.9"),
    ("instructionmix", "crypto_share", {"0x1b": 799727535, "0x77": 0}, 100, "0.0"),
    ("instructionmix", "branch_return_share", {"0x1b": 791995726, "0x79": 9668335}, 100, "1.2"),
    ("instructionmix", "branch_indirect_share", {"0x1b": 785639253, "0x7a": 9790638}, 100, "1.2"),
    ("instructionmix", "branch_immediate_share", {"0x1b": 812129447, "0x78": 134980184}, 100, "16.6"),
    ("instructionmix", "simd_share", {"0x74": 257, "0x1b": 850628196}, 100, "0.0"),
    ("peutilization", "retired_ratio", {"0x3b": 897944245, "0x3a": 897093238}, 100, "99.9"),
    ("peutilization", "wasted_ratio", {"0x3b": 897944245, "0x3a": 897093238}, 100, "0.1"),
    ("peutilization", "cpu_utilization", {"0x3b": 897944245, "0x3f": 25172908122, "0x11": 4345143906,
                                          "0x3a": 897093238}, 100, "4.1"),
    ("peutilization", "spec_ipc", {"0x1b": 979724144, "0x11": 4345127383}, 1, "0.23"),
    ("peutilization", "ipc", {"0x8": 818118263, "0x11": 4345401504}, 1, "0.19"),
    ("peutilization", "ipc_ratio", {"0x8": 825436139, "0x11": 4345430048}, 100, "3.8"),
)


def n2_groups():
    """-M of each group, to the printed digit."""
    for group, name, counts, factor, printed in N2_PUBLISHED:
        data = counted("n2-r0p0", text_of({**N2, **counts}), "-M", group)
        value = metrics_of(data).get(name)
        td.check(value is not None, f"-M {group} has no {name}: {sorted(metrics_of(data))}")
        digits = len(printed.partition(".")[2])
        td.check(f"{factor * value:.{digits}f}" == printed, f"-M {group} {name}: {factor * value}, published {printed}")


# Three x86 cores: round counts by Intel's and AMD's codes, and their formulas.
SPR = {"0x400": 60000000, "0x8000": 18000000, "0x8100": 6000000, "0x8200": 6000000, "0x8300": 30000000,
       "0x8400": 600000, "0x8500": 5400000, "0x8600": 3000000, "0x8700": 24000000, "0x1a4": 60000000,
       "0x3c": 10000000, "0xc0": 15000000, "0x10ad": 300000, "0xc4": 2000000, "0xc5": 30000,
       "0x50021a6": 5200000, "0x20040a6": 400000, "0x3000347": 4700000, "0x5000547": 3100000, "0x9000947": 1900000,
       "0x10009b0": 250000, "0x40004a3": 6100000, "0x80a6": 90000, "0x2a6": 700000, "0xca6": 1100000,
       "0x480": 130000, "0x483": 70000, "0x80ad": 210000, "0x40ad:0x7": 50000,
       "0x8d1": 400000, "0x10d1": 120000, "0x20d1": 30000, "0x11d0": 9000, "0x12d0": 1500,
       "0x81d0": 4000000, "0x82d0": 1600000, "0x1c7": 100000, "0x2c7": 20000, "0x4c7": 30000, "0x8c7": 4000,
       "0x10c7": 500000, "0x20c7": 6000, "0x40c7": 70000, "0x80c7": 800}


def intel_metrics(c):
    """What Intel's cores count under the same codes."""
    scalar, p128, p256, p512 = (c["0x1c7"] + c["0x2c7"], c["0x4c7"] + c["0x8c7"], c["0x10c7"] + c["0x20c7"],
                                c["0x40c7"] + c["0x80c7"])
    flops = scalar + 2 * c["0x4c7"] + 4 * (c["0x8c7"] + c["0x10c7"]) + 8 * (c["0x20c7"] + c["0x40c7"]) + 16 * c["0x80c7"]
    branches, missed = c.get("0x4c4", c.get("0xc4")), c.get("0x4c5", c.get("0xc5"))
    inst, cycles = c["0xc0"], c["0x3c"]
    return {"branch_mpki": 1000 * missed / inst, "branch_miss_ratio": missed / branches,
            "l1_load_mpki": 1000 * c["0x8d1"] / inst, "l2_load_mpki": 1000 * c["0x10d1"] / inst,
            "l3_load_mpki": 1000 * c["0x20d1"] / inst, "stlb_load_mpki": 1000 * c["0x11d0"] / inst,
            "stlb_store_mpki": 1000 * c["0x12d0"] / inst, "load_share": c["0x81d0"] / inst,
            "store_share": c["0x82d0"] / inst, "branch_share": branches / inst, "ipc": inst / cycles,
            "cpi": cycles / inst, "stalled": c["0x40004a3"] / cycles, "flops_per_cycle": flops / cycles,
            "fp_scalar_share": scalar / inst, "fp_128_share": p128 / inst, "fp_256_share": p256 / inst,
            "fp_512_share": p512 / inst}


def spr_tree(c):
    four = c["0x8000"] + c["0x8100"] + c["0x8200"] + c["0x8300"]
    dropped = c["0x10ad"] / c["0x400"]
    cycles = c["0x3c"]
    tree = {"retiring": c["0x8000"] / four, "frontend_bound": c["0x8200"] / four - dropped,
            "backend_bound": c["0x8300"] / four, "heavy_operations": c["0x8400"] / four,
            "branch_mispredicts": c["0x8500"] / four, "fetch_latency": c["0x8600"] / four - dropped,
            "memory_bound": c["0x8700"] / four}
    tree["bad_speculation"] = 1 - tree["retiring"] - tree["frontend_bound"] - tree["backend_bound"]
    tree["machine_clears"] = tree["bad_speculation"] - tree["branch_mispredicts"]
    tree["light_operations"] = tree["retiring"] - tree["heavy_operations"]
    tree["fetch_bandwidth"] = tree["frontend_bound"] - tree["fetch_latency"]
    tree["core_bound"] = tree["backend_bound"] - tree["memory_bound"]
    tree.update({"l2_bound": (c["0x3000347"] - c["0x5000547"]) / cycles,
                 "l3_bound": (c["0x5000547"] - c["0x9000947"]) / cycles, "dram_bound": c["0x9000947"] / cycles,
                 "l1_bound": (c["0x50021a6"] - c["0x3000347"]) / cycles,
                 "divider": c["0x10009b0"] / cycles})
    return tree


SKX = {"0x3c": 10000000, "0xc0": 14000000, "0x10e": 22000000, "0x2c2": 20000000, "0x19c": 6000000,
       "0x100010d": 250000, "0x400019c": 900000, "0x4c4": 2100000, "0x4c5": 60000, "0x10401c3": 20000,
       "0x140014a3": 2000000, "0x40004a3": 3000000, "0xc000ca3": 1700000, "0x50005a3": 1100000,
       "0x60006a3": 600000, "0x40a6": 150000, "0x2a6": 800000, "0x4a6": 600000, "0x1a6": 50000,
       "0x1000114": 120000, "0x4c2": 700000, "0x480": 110000, "0x1040480": 20000, "0x483": 30000, "0x800d": 160000,
       "0x1e6": 4000, "0x1000248": 300000, "0x40d1": 90000, "0x2d1": 200000, "0x8d1": 400000, "0x10d1": 120000,
       "0x20d1": 30000, "0x11d0": 9000, "0x12d0": 1500, "0x81d0": 4000000, "0x82d0": 1600000, "0x1c7": 100000,
       "0x2c7": 20000, "0x4c7": 30000, "0x8c7": 4000, "0x10c7": 500000, "0x20c7": 6000, "0x40c7": 70000, "0x80c7": 800}


def skx_tree(c):
    slots = 4 * c["0x3c"]
    recovery = 4 * c["0x100010d"]
    tree = {"retiring": c["0x2c2"] / slots, "frontend_bound": c["0x19c"] / slots,
            "bad_speculation": (c["0x10e"] - c["0x2c2"] + recovery) / slots,
            "fetch_latency": 4 * c["0x400019c"] / slots}
    tree["backend_bound"] = 1 - tree["frontend_bound"] - (c["0x10e"] + recovery) / slots
    tree["branch_mispredicts"] = tree["bad_speculation"] * c["0x4c5"] / (c["0x4c5"] + c["0x10401c3"])
    tree["machine_clears"] = tree["bad_speculation"] - tree["branch_mispredicts"]
    tree["fetch_bandwidth"] = tree["frontend_bound"] - tree["fetch_latency"]
    tree["memory_bound"] = (tree["backend_bound"] * (c["0x140014a3"] + c["0x40a6"]) /
                            (c["0x40004a3"] + c["0x2a6"] + tree["retiring"] * c["0x4a6"] + c["0x40a6"]))
    tree["core_bound"] = tree["backend_bound"] - tree["memory_bound"]
    tree["l3_bound"] = (c["0x50005a3"] - c["0x60006a3"]) / c["0x3c"]
    tree["divider"] = c["0x1000114"] / c["0x3c"]
    return tree


ZEN4 = {"0x76": 10000000, "0xc0": 15000000, "0xc1": 20000000, "0x1000001a0": 9000000, "0x1060001a0": 800000,
        "0x100001ea0": 24000000, "0x1000060a0": 3000000, "0x7aa": 24000000, "0x1000000c2": 500000, "0xc3": 40000,
        "0xc2": 2500000, "0x96": 10000, "0x2d6": 5000000, "0xa2d6": 3500000, "0x129": 4100000, "0x229": 1700000,
        "0x964": 120000, "0x164": 20000, "0xf664": 300000, "0x84": 7000, "0xf85": 900, "0xff45": 33000,
        "0xf045": 4400, "0xf03": 6000000, "0x143": 250000, "0x243": 60000, "0x4843": 11000}


def zen4_tree(c):
    slots = 6 * c["0x76"]
    tree = {"frontend_bound": c["0x1000001a0"] / slots, "bad_speculation": (c["0x7aa"] - c["0xc1"]) / slots,
            "backend_bound": c["0x100001ea0"] / slots, "retiring": c["0xc1"] / slots,
            "smt_contention": c["0x1000060a0"] / slots, "fetch_latency": 6 * c["0x1060001a0"] / slots}
    tree["fetch_bandwidth"] = tree["frontend_bound"] - tree["fetch_latency"]
    tree["branch_mispredicts"] = tree["bad_speculation"] * c["0xc3"] / (c["0xc3"] + c["0x96"])
    tree["memory_bound"] = tree["backend_bound"] * c["0xa2d6"] / c["0x2d6"]
    tree["core_bound"] = tree["backend_bound"] - tree["memory_bound"]
    tree["heavy_operations"] = tree["retiring"] * c["0x1000000c2"] / c["0xc1"]
    return tree


def zen4_metrics(c):
    inst = c["0xc0"]
    return {"branch_mpki": 1000 * c["0xc3"] / inst, "branch_miss_ratio": c["0xc3"] / c["0xc2"], "ipc": inst / c["0x76"],
            "cpi": c["0x76"] / inst, "l1d_fill_l2_mpki": 1000 * c["0x143"] / inst,
            "l1d_fill_l3_mpki": 1000 * c["0x243"] / inst, "l1d_fill_memory_mpki": 1000 * c["0x4843"] / inst,
            "l2_mpki": 1000 * c["0x964"] / inst, "l2_miss_ratio": c["0x964"] / (c["0x964"] + c["0xf664"]),
            "l2_data_mpki": 1000 * (c["0x964"] - c["0x164"]) / inst, "l2_code_mpki": 1000 * c["0x164"] / inst,
            "itlb_mpki": 1000 * (c["0x84"] + c["0xf85"]) / inst, "itlb_walk_mpki": 1000 * c["0xf85"] / inst,
            "dtlb_mpki": 1000 * c["0xff45"] / inst, "dtlb_walk_mpki": 1000 * c["0xf045"] / inst,
            "load_share": c["0x129"] / inst, "store_share": c["0x229"] / inst, "branch_share": c["0xc2"] / inst,
            "flops_per_cycle": c["0xf03"] / c["0x76"], "flops_per_instruction": c["0xf03"] / inst}


X86 = {"spr": (SPR, spr_tree, intel_metrics), "clx": (SKX, skx_tree, intel_metrics), "zen4": (ZEN4, zen4_tree, zen4_metrics)}


def check_x86(machine):
    """All of it at once, in turns that scale, each group by -M, and each in a run of its own."""
    counts, tree, metrics = X86[machine]
    by_hand = metrics(counts)
    for words, more in (((), ""), ((), "* share=0.4\n"), (("--passes", "16"), "")):
        data = counted(machine, text_of(counts, more), *words)
        for name, share in tree(counts).items():
            close(f"{machine} {words} {more.strip()} {name}", tree_of(data).get(name), share, 1e-5)
        for name, value in by_hand.items():
            close(f"{machine} {words} {more.strip()} {name}", metrics_of(data).get(name), value, 1e-4)
    reached = set()
    for group in groups_of(machine):
        found = metrics_of(counted(machine, text_of(counts), "-M", group))
        for name in found:
            if name in by_hand:
                close(f"{machine} -M {group} {name}", found[name], by_hand[name])
        reached |= set(found)
    td.check(not set(by_hand) - reached, f"{machine}: no -M counts {set(by_hand) - reached}")


def spr():
    check_x86("spr")


def skx():
    check_x86("clx")


def zen4():
    check_x86("zen4")


# Levels 3 to 5, which nobody asked for above: half of the slots wait for memory.
DEEP = {"0x3c": 10000000, "0xc0": 9000000, "0x10e": 11000000, "0x2c2": 10000000, "0x19c": 4000000, "0x400019c": 500000,
        "0x4c5": 60000, "0xc5": 60000, "0x10401c3": 20000, "0x4c2": 0, "0x40004a3": 6000000,
        "0xc000ca3": 3500000, "0x50005a3": 3000000, "0x40a6": 500000, "0x2a6": 900000, "0x4a6": 600000, "0x1a6": 300000,
        "0x107": 110000, "0x203": 12000, "0x803": 9000, "0x148": 4000000, "0x8d1": 300000, "0x40d1": 100000,
        "0x1000248": 40000, "0x4000860": 800000, "0x1000860": 1500000, "0x42d0": 40000, "0x1b2": 90000, "0x2ab": 70000,
        "0x187": 30000, "0x1043079": 20000, "0x1002479": 900000, "0x4002479": 300000, "0x1001879": 800000,
        "0x4001879": 400000, "0x1c7": 300000, "0x2c7": 100000, "0x4c7": 50000, "0x8c7": 30000, "0x10c7": 600000,
        "0x20c7": 40000, "0x40c7": 0, "0x80c7": 0, "0x10b1": 0, "0x2c0": 0, "0x1b1": 11000000}


def deep_tree(c):
    """By Intel's formulas: cycles over cycles, or a count times its cost; of retired operations, parts of the slots."""
    cycles, slots = c["0x3c"], 4 * c["0x3c"]
    latency = c["0x148"] / (c["0x8d1"] + c["0x40d1"])
    scalar, p128, p256 = c["0x1c7"] + c["0x2c7"], c["0x4c7"] + c["0x8c7"], c["0x10c7"] + c["0x20c7"]
    return {"4k_aliasing": c["0x107"] / cycles, "store_fwd_blk": 13 * c["0x203"] / cycles,
            "split_loads": latency * c["0x803"] / cycles, "fb_full": latency * c["0x1000248"] / cycles,
            "mem_bandwidth": c["0x4000860"] / cycles, "mem_latency": (c["0x1000860"] - c["0x4000860"]) / cycles,
            "sq_full": c["0x1b2"] / cycles, "dsb_switches": c["0x2ab"] / cycles, "lcp": c["0x187"] / cycles,
            "ms_switches": 2 * c["0x1043079"] / cycles, "mite": (c["0x1002479"] - c["0x4002479"]) / cycles / 2,
            "dsb": (c["0x1001879"] - c["0x4001879"]) / cycles / 2, "fp_scalar": scalar / slots,
            "fp_vector": (p128 + p256) / slots, "fp_vector_128b": p128 / slots, "fp_vector_256b": p256 / slots,
            "fp_arith": (scalar + p128 + p256) / slots}


def check_deep(machine, counts, by_hand):
    for words in (("--topdown-level", "5"), ("-M", "TopdownL5"), ("--passes", "32")):
        found = tree_of(counted(machine, text_of(counts, "* count=0\n"), *words))
        for name, share in by_hand.items():
            close(f"{machine} {words} {name}", found.get(name), share, 1e-5)
    shallow = counted(machine, text_of(counts, "* count=0\n"))
    td.check("4k_aliasing" not in tree_of(shallow), "level 4 without having been asked for")


def level_4_skx():
    more = {"0x100010d": 100000, "0x140014a3": 4800000, "0x60006a3": 2600000}
    counts = {**DEEP, **more}
    check_deep("clx", counts, {**deep_tree(counts), "ports_utilized_1": counts["0x2a6"] / counts["0x3c"],
                               "split_stores": counts["0x42d0"] / counts["0x3c"]})


def level_4_bdx():
    """Broadwell server: memory waits are divided by what hit L3 and what missed it, seven times as slow."""
    more = {"0x100030d": 100000, "0x60006a3": 4800000, "0x8a2": 500000, "0x10001b1": 4000000, "0x20001b1": 3000000,
            "0x30001b1": 2000000, "0x15e": 100000, "0x4d1": 70000, "0x20d1": 30000, "0x4d2": 1000, "0x2d2": 2000,
            "0x1d2": 500, "0x2d1": 40000, "0x1d3": 5000, "0x4d3": 0, "0x10d3": 0, "0x20d3": 0}
    c = {**DEEP, **more}
    cycles = c["0x3c"]
    backend = 1 - (c["0x19c"] + c["0x10e"] + 4 * c["0x100030d"]) / (4 * cycles)
    busy = c["0x40004a3"] + c["0x10001b1"] - c["0x20001b1"] + c["0x8a2"]
    hits = c["0x4d1"] / (c["0x4d1"] + 7 * c["0x20d1"])
    pending = c["0x40d1"] / sum(c[code] for code in ("0x2d1", "0x4d1", "0x2d2", "0x4d2", "0x1d2", "0x1d3"))
    check_deep("bdx-passes", c, {
        **deep_tree(c), "memory_bound": backend * (c["0x60006a3"] + c["0x8a2"]) / busy,
        "l3_bound": hits * c["0x50005a3"] / cycles, "dram_bound": (1 - hits) * c["0x50005a3"] / cycles,
        "contested_accesses": (60 * c["0x4d2"] + 43 * c["0x1d2"]) * (1 + pending) / cycles,
        "data_sharing": 43 * c["0x2d2"] * (1 + pending) / cycles, "split_stores": 2 * c["0x42d0"] / cycles,
        "ports_utilized_1": (c["0x10001b1"] - c["0x20001b1"]) / cycles})


# What Intel weighs with nanoseconds: loads that hit L3, what the other cores answered, stores to lines they had changed.
OTHERS = {"0x4d1": 250, "0x40d1": 100, "0x8d1": 400, "0x1d2": 30, "0x2d2": 50, "0x4d2": 40}
OCR = {"0x10003c0001": 30, "0x8003c0001": 10, "0x10003c0002": 20, "0x10003c0020": 6, "0x103fc00002": 3,
       "0x103fc00020": 2, "0x10001c0002": 12, "0x103b800002": 4}
WAITS = {"0x3c": 10000000, "0x40004a3": 9000000, "0x140014a3": 8500000, "0xc000ca3": 8000000, "0x50005a3": 7800000,
         "0x60006a3": 300000, "0x40a6": 4000000, "0x19c": 400000, "0x10e": 3000000, "0x2c2": 2900000, "0x100010d": 1000,
         "0x400": 60000000, "0x8000": 6000000, "0x8100": 1000000, "0x8200": 1000000, "0x8300": 52000000,
         "0x8400": 1000000, "0x8500": 500000, "0x8600": 500000, "0x8700": 50000000, "0x20040a6": 4000000,
         "0x50021a6": 8500000, "0x3000347": 8000000, "0x5000547": 7800000, "0x9000947": 300000, "0xc0": 9000000}


def check_nanoseconds(machine, code, by_hand):
    """`by_hand`: the shares from counts of OTHERS, of OCR by its value, and the clock, which the output tells."""
    counts = text_of({**WAITS, **OTHERS}, "".join(f"{code}:{value} count={n}\n" for value, n in OCR.items()))
    data = counted(machine, counts, "--topdown-level", "4")
    part = data["cpu_types"][0]
    td.check(part["clock_from"] == "counted" and part["clock_ghz"] > 0, f"{machine}: {part['clock_from']}")
    modified = OCR["0x10003c0001"] / (OCR["0x10003c0001"] + OCR["0x8003c0001"])
    late = 1 + OTHERS["0x40d1"] / OTHERS["0x8d1"] / 2
    for name, cycles in by_hand(part["clock_ghz"], modified, late).items():
        close(f"{machine} {name} at {part['clock_ghz']}", tree_of(data).get(name), cycles / WAITS["0x3c"], 2e-5)
    shown = tdrec(machine, counts, "--count", "--topdown-level", "4").stdout.decode()
    td.check("(nanoseconds in formulas: at " in shown, shown)


def nanoseconds():
    """Skylake's servers and clients, Ice Lake, Sapphire Rapids: perfmon's costs for each."""
    hits, miss, clean, dirty = (OTHERS[code] for code in ("0x4d1", "0x1d2", "0x2d2", "0x4d2"))

    def at(far, near, l3):
        return lambda ghz, modified, late: {
            "contested_accesses": ghz * (far * dirty * modified + near * miss) * late,
            "data_sharing": ghz * near * (clean + dirty * (1 - modified)) * late, "l3_hit_latency": l3 * ghz * hits * late}

    def all_of(first, stores):
        return lambda ghz, modified, late: {**first(ghz, modified, late), "false_sharing": ghz * stores}

    check_nanoseconds("clx", "0x1b7", all_of(at(44, 44, 17), 110 * (3 + 2) + 47.5 * (20 + 6)))
    check_nanoseconds("skl", "0x1b7", all_of(lambda ghz, _, late: at(18.5, 16.5, 6.5)(ghz, 1, late), 22 * 12))
    check_nanoseconds("icx", "0x1b7", all_of(at(44, 43.5, 19), 48 * 20))
    check_nanoseconds("spr", "0x12a", all_of(at(76.6, 74.6, 32.6), 81 * 20))


def retire_latencies():
    """Granite Rapids: counts times Intel's mean retire latencies, where those are less than the time of the access."""
    def by_hand(ghz, modified, late):
        def cost(code, cycles, ns):
            return OTHERS[code] * min(cycles, ns * ghz)
        return {"contested_accesses": (cost("0x1d2", 125.27, 74.6) + cost("0x4d2", 353.04, 76.6) * modified) * late,
                "data_sharing": (cost("0x2d2", 289.9, 74.6) + cost("0x4d2", 353.04, 74.6) * (1 - modified)) * late,
                "l3_hit_latency": cost("0x4d1", 57.64, 32.6) * late, "false_sharing": (170 * 4 + 81 * 20) * ghz}

    check_nanoseconds("gnr", "0x12a", by_hand)
    shown = tdrec("gnr", text_of({**WAITS, **OTHERS}), "--count", "--topdown-level", "4").stdout.decode()
    td.check("(retire latencies in formulas: the vendor's means, none is measured here)" in shown, shown)


def metrics_are_read_again():
    """Perf metrics get coarse with time: they are read each second, also where nothing is printed."""
    data = counted("spr", text_of(SPR, "0x8000 step=1\n"), command=("sleep", "1.2"))
    reads = sum(event["count"] for event in data["events"] if event["event"] == "topdown_retiring")
    td.check(reads >= 2, f"{reads} reads of the metrics in more than a second")


def intervals():
    """-I: each interval's own counts and shares, at the level asked for; they add up to the whole."""
    steps = text_of(SPR).replace("count=", "step=")
    done = tdrec("spr", steps, "--count", "--json", "-I", "50", "--topdown-level", "2", command=("sleep", "0.3"))
    objects = [json.loads(line) for line in done.stdout.decode().splitlines() if line.startswith('{"')]
    parts = [one for one in objects if one.get("interval")]
    td.check(len(parts) >= 2, f"{len(parts)} intervals: {done.stdout[:2000]!r}")
    for part in parts:
        cycles = [event["count"] for event in part["events"] if event["event"] == "cycles"]
        td.check(cycles[0] == SPR["0x3c"], f"an interval counts {cycles[0]} cycles, each has {SPR['0x3c']}")
        for name, share in spr_tree(SPR).items():
            if name in tree_of(part):
                close(f"interval {name}", tree_of(part)[name], share, 1e-5)
    text = tdrec("spr", steps, "--count", "-I", "50", "--topdown-level", "2", command=("sleep", "0.2")).stdout.decode()
    td.check(re.search(r"^ +backend_bound +memory_bound 40\.0, core_bound 10\.0$", text, re.M), text)
    td.check(max(map(len, text.splitlines())) <= 80, text)
    shallow = tdrec("spr", steps, "--count", "-I", "50", command=("sleep", "0.2")).stdout.decode()
    td.check("memory_bound 40.0" not in shallow.split("Counted")[0], "level 2 without having been asked for")


def turns():
    """What had its counters for a part of the time is scaled up, and says so; what never had is not a figure."""
    counts = text_of(SPR) + "0x3c@0x81d0 count=10000000 share=0.25\n"
    done = tdrec("spr", counts, "--count").stdout.decode()
    td.check(re.search(r"^  mem_all_loads +[34],[09]{3},[09]{2}[0-9] +25 %", done, re.M), done)
    td.check("groups took turns" in done, done)
    data = counted("spr", counts)
    close("loads scaled up", [e["estimate"] for e in data["events"] if e["event"] == "mem_all_loads"][0], SPR["0x81d0"])
    close("share of loads", metrics_of(data)["load_share"], SPR["0x81d0"] / SPR["0xc0"], 1e-5)
    counts = text_of(SPR) + "0x3c@0x81d0 count=10000000 share=0\n"
    data = counted("spr", counts)
    td.check("load_share" not in metrics_of(data), "a share of loads that were never counted")
    td.check([e["estimate"] for e in data["events"] if e["event"] == "mem_all_loads"] == [None], "no count, but an estimate")


def refused():
    """What does not fit is refused by name, with what would count it."""
    nine = "{" + ",".join(f"r{code}" for code in (8, 11, 14, 16, 17, 21, 22, 23, 24)) + "}"
    for words, sentence in (
            (("-e", nine), "its 9 events do not fit the 6 counters of Arm Neoverse N2, before r0p3: without the braces, "
                           "--passes 2 counts them"),
            (("-M", "tlb", "--passes", "2"), "l2tlb does not fit the counters beside the others in so few runs: --passes 3"),
            (("-M", "tlbs"), "has no such group or metric; there is TopdownL1,")):
        done = tdrec("n2-r0p0", text_of(N2), "--count", *words, status=125)
        td.check(sentence in done.stderr.decode(), f"{words}: {done.stderr!r}")
    data = counted("n2-r0p0", text_of(N2), "-e", nine.strip("{}"), "--passes", "2")
    td.check(len(data["events"]) >= 9, f"{len(data['events'])} of 9 events")
    # One event that the kernel refuses: its name and the reason, not a count of nothing.
    done = tdrec("spr", text_of(SPR, "0x11d0 errno=22\n"), "--count", "-M", "tlb", status=125)
    td.check(b"mem_stlb_miss_loads" in done.stderr, f"{done.stderr!r}")


if __name__ == "__main__":
    td.need_programs()
    td.cases({"n2_level_1": n2_level_1, "n2_groups": n2_groups, "spr": spr, "skx": skx, "zen4": zen4,
              "level_4_skx": level_4_skx, "level_4_bdx": level_4_bdx, "nanoseconds": nanoseconds,
              "retire_latencies": retire_latencies, "metrics_are_read_again": metrics_are_read_again,
              "intervals": intervals, "turns": turns, "refused": refused})
