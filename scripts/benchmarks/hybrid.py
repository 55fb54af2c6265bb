# SPDX-License-Identifier: MIT
"""What the errors of measured time with modelled categories (hybrid) are worth: programs are sampled natively and modelled,
both are joined, and each figure of the join is compared with what the model alone says exactly. The machine's core is another
than the modelled one: what they differ by is what a category's error has to hold."""
import os
import statistics

from . import attribution, common

LEAST_SHARE = 0.02  # of the time: functions with less are not judged
RATE = 10000
KERNELS = {"interpreter": 2000000, "hash-join": 800000, "sparse": 12}


def others(bench):
    """Programs that attribution does not have, so that nothing was chosen on them."""
    text = attribution.write_text(bench.path("words"), 30000)
    return {
        "md5sum": ["md5sum", text, text, text, text],
        "sha1sum": ["sha1sum", text, text, text],
        "cksum": ["cksum", text, text, text, text],
        "sed": ["sed", "s/fox/wolf/g;s/[0-9]*7/x/", text],
        "grep": ["grep", "-c", "9.*fox.*77", text],
        "cut": ["cut", "-d ", "-f3,7", text],
        "wc": ["wc", text],
        "od": ["od", "-x", text],
        "uniq": ["uniq", "-c", text],
        "tr": ["sh", "-c", f"tr a-z A-Z < {text}"],
        "factor": ["factor", *(str(2 ** 61 + 3 * i) for i in range(12))],
        "cmp": ["cmp", text, text],
        "base64": ["base64", text],
        "tac": ["tac", text],
        "comm": ["comm", text, text],
        "nl": ["nl", text],
        "expand": ["expand", text],
    }


def programs(bench):
    kernels = os.path.join(common.RELEASE, "workloads/kernels_mixed")
    found = {name: [kernels, name, str(rounds)] for name, rounds in KERNELS.items()}
    found.update(attribution.real_programs(bench))
    found.update(others(bench))
    return dict(list(found.items())[:12]) if bench.quick else found


def tree_of(data):
    return {node["id"]: node for node in data["tree"]}


def cells_of(joined, exact):
    """(where, category, share, error, exact share) of what is shown, by total and by function."""
    truth = {(row["function"], row["module"]): row for row in exact["functions"]}
    by_id = tree_of(exact)
    total = [("all", node["id"], node["share"], node["error"], by_id[node["id"]]["share"])
             for node in joined["tree"] if node["id"] in by_id]
    rows = []
    blank = 0
    for row in joined["functions"]:
        key = (row["function"], row["module"])
        if not row["slots"] or row["time_share"] < LEAST_SHARE or key not in truth:
            continue
        for name, share in row["categories"].items():
            true = truth[key]["categories"].get(name) or 0
            if share is None:
                blank += true >= 0.05
            else:
                rows.append((row["function"], name, share, row["category_errors"][name], true))
    return total, rows, blank


def retires_too_much(joined, exact):
    """More retiring slots than the model counted uops."""
    mine, uops = tree_of(joined)["retiring"]["slots"], tree_of(exact)["retiring"]["slots"]
    return mine > uops * 1.0001


def held(cells):
    return sum(abs(cell[2] - cell[4]) <= cell[3] + 5e-4 for cell in cells)


def run(bench):
    common.need("qemu-x86_64")
    every = {"total": [], "functions": []}
    for name, command in programs(bench).items():
        clock, sim = bench.path("clock.td"), bench.path("sim.td")
        common.tdrec(clock, RATE, command)
        common.run([common.TDREC, "-q", "--source", "sim", "-o", sim, "--", *command], timeout=600)
        joined, exact = common.td_json(sim, "--weights", clock), common.td_json(sim)
        total, rows, blank = cells_of(joined, exact)
        every["total"] += total
        every["functions"] += rows
        width = statistics.median(cell[3] for cell in total if cell[4] >= 0.05)
        bench.add(f"{name}: {joined['coverage']['samples']} samples; cells held, of all and of functions; {blank} blank",
                  f"{held(total)} of {len(total)}, {held(rows)} of {len(rows)}; median error of all {100 * width:.0f} %",
                  None, None, "uops >= retired", not retires_too_much(joined, exact))
    for what, cells in every.items():
        share = held(cells) / max(1, len(cells))
        bench.add(f"{what}: the stated error holds the exact figure", f"{100 * share:.1f} % of {len(cells)} cells", None, None,
                  ">= 90 %", share >= 0.9)
