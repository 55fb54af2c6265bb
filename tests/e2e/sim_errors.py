#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each ± in the JSON of a sampled model, and of measured time with modelled categories, holds the exact figure of the same
command on the same core: as one would check it who knows nothing of how it was found. scripts/bench errors has more programs."""
import os
import sys

import td

sys.path.insert(0, os.path.join(td.ROOT, "scripts"))
from benchmarks import errors  # noqa: E402  # pylint: disable=wrong-import-position

if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
    td.skip("the plugin is not built (sanitizers)")
td.need("qemu-x86_64")


class Scratch:
    """What errors.kernels() wants of a bench."""
    path = staticmethod(td.scratch)


def total_is_said(name, path):
    head = " ".join(td.run([td.TDREPORT, "-i", path], timeout=60).stdout.decode().split())
    td.check(" total " in head and " slots" in head, f"{name}: no total with its error: {head[:1500]}")


def held(kernel, rounds):
    td.need_perf_events()
    command = errors.kernels(Scratch)[kernel][:2] + [str(rounds)]
    profiles = {}
    for name, how in {"exact": ("--source", "sim"), **errors.HOW}.items():
        path = td.scratch(name + ".td")
        td.run([td.TDREC, "-q", *how, "--sim-core", "golden-cove", "-o", path, "--", *command], timeout=200)
        profiles[name] = errors.profile_of(path)
        if name != "exact":
            total_is_said(name, path)
    td.check(all(profiles["exact"]["total"][f"{what}_error"] == 0 for what in ("slots", "cycles", "time_ns")), "exact, with an error")
    detailed = profiles["sampled"]["profile"]["detailed_instructions"]
    td.check(detailed < profiles["sampled"]["profile"]["instructions"], "nothing was sampled")
    for name in errors.HOW:
        cells = [cell for cell in errors.cells_of(profiles["exact"], profiles[name]) if cell[3] is not None]
        off = [cell for cell in cells if not errors.covers(cell)]
        td.check(len(cells) > 25, f"{name}: {cells}")
        # A bound of nine in ten is for many programs: one alone may be a little worse.
        td.check(len(off) <= len(cells) * (0.2 if name == "sampled" else 0.05), f"{name}: {len(off)} of {len(cells)}: {off}")
        td.check(not [cell for cell in cells if not 0 <= cell[4] <= (1 if cell[0] != "total" else 1e9)], f"{name}: {cells}")


td.cases({"join": lambda: held("join", 2), "parse": lambda: held("parse", 3), "trees": lambda: held("trees", 2)})
