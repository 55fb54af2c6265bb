# SPDX-License-Identifier: MIT
"""The modelled core beside the machine: cycles and time by function of real programs, user code only.

Native cycles are CPU time times the clock that a chain of multiplications shows right before and after
(tests/bench/native_cycles.c), times the share of sampled time that is not the kernel's, nor CPUID's (what getrusage calls
user time is an estimate by ticks of 4 ms). A neighbour on the same core makes a run longer by up to a half, and is seldom away for
as long as a program runs. Probes in the run show how much of the core it had. A straight line is drawn through all runs,
and its value at a free core counts. glibc is kept from AVX-512, `rep movsb` and its versions
for transactions, which the emulated CPU has not; where a CPU has transactions
glibc takes SSE2 for AVX2, if it is not told otherwise.
Natives are kept in build/bench/sim/native.json; modelled runs are the same every time.
With TD_SIM_SMALL=1 the inputs are a fifth. The core is the one that tdrec takes: the nearest, or TDPROF_SIM_CORE's."""
import bisect
import functools
import itertools
import json
import math
import mmap
import os
import re
import statistics
import struct
import subprocess
import sys
import time

from . import common, sim_programs

RUNNER = os.path.join(common.RELEASE, "tests/bench/native_cycles")
KNOWN = os.path.join(common.RELEASE, "tests/bench/known_work")
KNOWN_PIECES, KNOWN_CYCLES, KNOWN_TRIES = 40_000, 12_000, 7
MASKS = "RTM,HLE,Prefer_No_VZEROUPPER,AVX512F,AVX512VL,AVX512BW,AVX512DQ,AVX512CD,AVX512ER,AVX512PF,ERMS,FSRM"
TUNABLES = "glibc.cpu.hwcaps=" + ",".join("-" + name for name in MASKS.split(","))
NATIVE = os.path.join(sim_programs.FOLDER, "native.json")
FREE, ENOUGH, LEAST, TRIES = 1.06, 7, 3, 40
LEAST_SECONDS, ERROR_MAX = 4, 0.05
SLOPE_WIDTH, DEVIATION = 0.1, 1.48  # a standard deviation is so many times the median one
LEAVES = ("branch_mispredicts machine_clears icache_misses itlb_misses branch_resteers fetch_bandwidth l1_bound l2_bound "
          "l3_bound dram_bound store_bound divider ports_utilization").split()
LOAD = r"LOAD\s+0x(\S+) 0x(\S+) 0x\S+ 0x(\S+)"
CPUID = b"\x0f\xa2"
HERTZ, PROFILES, SAMPLES = 9973, 4, 4000
# A kernel takes a part of one. Some virtual machines had 14 to 47, and programs took up to 3.8 times as long by them.
FAULT_MAX_US, FAULT_PAGES, FAULT_TRIES = 5, 1024, 5
OVERLAP_BAR, MEAN_BAR, WORST_BAR, RANK_BAR = 0.85, 0.08, 0.25, 0.97


def environment():
    return {**os.environ, "LC_ALL": "C", "PYTHONHASHSEED": "0", "GLIBC_TUNABLES": TUNABLES}


def launch(words, **more):
    """grep stops at its first match when it writes to /dev/null."""
    with open(sim_programs.path("out"), "wb") as out:
        return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True,
                              check=False, env=environment(), **more)


def alone(words):
    """On one CPU, before all others when that is allowed."""
    return ["taskset", "-c", str(os.cpu_count() - 1), *words]


def native_run(words):
    done = launch(alone([RUNNER, "-r", *words]))
    return json.loads(done.stderr.strip().split("\n")[-1])


def free_core(points):
    """(cycles, their standard error) of [(cycles of a round of the probes, cycles of the run)] where a round takes one:
    the line of the median slope (Theil, Sen), since an interrupt makes some runs much longer."""
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.combinations(points, 2) if abs(b[0] - a[0]) > SLOPE_WIDTH]
    slope = max(0, statistics.median(slopes)) if slopes else 0
    free = [y - slope * (x - 1) for x, y in points]
    cycles, center = statistics.median(free), statistics.mean(x for x, _ in points)
    off = DEVIATION * statistics.median(abs(y - cycles) for y in free)
    spread = sum((x - center) ** 2 for x, _ in points)
    return cycles, off * math.sqrt(1 / len(points) + ((center - 1) ** 2 / spread if slopes else 0))


def native_cycles(program):
    """{"cycles", kernel included, "runs" of a free core, "tried", "spread": the standard error's share} or None."""
    points, free, tried, began = [], [], 0, time.monotonic()
    while len(free) < ENOUGH and (tried < TRIES or time.monotonic() < began + LEAST_SECONDS):
        run = native_run(program.words)
        tried += 1
        if run["beside"]:
            points.append((run["beside"], (run["user"] + run["system"]) * run["hertz"]))
        free = [point for point in points if point[0] < FREE]
    if len(points) < LEAST:
        return None
    cycles, error = free_core(free if len(free) >= ENOUGH else points)
    if error > ERROR_MAX * cycles:
        return None
    return {"cycles": cycles, "runs": len(free), "tried": tried, "spread": error / cycles}


def signed(value):
    return value - (1 << 64) if value >> 63 else value


@functools.lru_cache(maxsize=None)
def segments(path):
    """[(address, offset in the file, bytes)] of what is loaded."""
    text = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=False).stdout
    found = [tuple(int(word, 16) for word in load) for load in re.findall(LOAD, text)]
    return [(address, offset, size) for offset, address, size in found]


def lowest(path):
    return min((address for address, _, _ in segments(path)), default=0)


@functools.lru_cache(maxsize=None)
def follows_cpuid(path, at):
    """A virtual machine's host does the work of CPUID, some 16,000 cycles that look like the program's. The dynamic linker
    asks forty times."""
    at += lowest(path)
    for address, offset, size in segments(path):
        if address < at < address + size:
            with open(path, "rb") as file:
                file.seek(offset + at - address - len(CPUID))
                return file.read(len(CPUID)) == CPUID
    return False


def read_dump(profile):
    """Where time went: {(module path, offset): weight}, from the samples or the modelled slots, of user code; and the
    weight of what is not. A modelled profile's first event counts instructions: its time is the sum of its slots."""
    kernel, slots = 0, []
    modules, nodes, places = {}, {}, {}
    strings = {}
    text = subprocess.run([common.TDREPORT, "dump", "-i", profile], capture_output=True, text=True, check=True).stdout
    for line in text.split("\n"):
        words = line.split()
        if len(words) < 3:
            continue
        if words[1] == "string":
            strings[words[2]] = line.split('"', 1)[1].rsplit('"', 1)[0]
        elif words[1] == "event" and words[4] == "unit=slots":
            slots.append(int(words[2]))
        elif words[1] == "module":
            modules[words[2]] = strings.get(words[4][5:], "?") if words[3] == "file" else "[kernel]"
        elif words[0] == "node":
            nodes[words[1]] = (words[3][7:], words[4][7:])
        elif words[0].startswith(("time=", "samples=")):
            node = nodes.get(words[2][5:])
            # Tallies are differences; rounding may make one of -1, which is printed without a sign.
            value = sum(signed(int(words[3 + k])) for k in slots or [0])
            path = modules.get(node[0], "[kernel]") if node else "[kernel]"
            if path != "[kernel]" and (slots or not follows_cpuid(path, int(node[1], 16))):
                key = (path, int(node[1], 16))
                places[key] = places.get(key, 0) + value
            else:
                kernel += value
    return places, kernel


def function_starts(path):
    """Offsets at which functions begin, from the table of .eh_frame_hdr: stripped files have it too."""
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\.eh_frame_hdr\s+PROGBITS\s+([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)", text)
    if not found:
        return []
    address, offset, size = (int(word, 16) for word in found.groups())
    with open(path, "rb") as file:
        file.seek(offset)
        data = file.read(size)
    count = struct.unpack_from("<i", data, 8)[0]
    # Offsets in a profile count from the lowest address of the file, which is 0 but for fixed programs.
    address -= lowest(path)
    return sorted(address + struct.unpack_from("<i", data, 12 + 8 * k)[0] for k in range(count))


def by_function(places):
    starts, sums = {}, {}
    for (module, offset), weight in places.items():
        if module not in starts:
            starts[module] = function_starts(module)
        at = bisect.bisect_right(starts[module], offset)
        key = f"{module}+{starts[module][at - 1]:x}" if at else module
        sums[key] = sums.get(key, 0) + weight
    total = sum(sums.values())
    return {key: value / total for key, value in sums.items()} if total else {}


def native_places(bench, program):
    """Shares by function of several sampled runs together, and the share of user code: the median of the runs', because
    interrupts for others make some runs' kernel time long."""
    sums, shares, total = {}, [], 0
    out = bench.path("native.td")
    while len(shares) < PROFILES or (total * HERTZ < SAMPLES * 1e9 and len(shares) < TRIES):
        launch(alone(["chrt", "-f", "50", common.TDREC, "-q", "--source", "clock", "-F", str(HERTZ), "-o", out, "--",
                      *program.words]))
        places, kernel = read_dump(out)
        for key, value in places.items():
            sums[key] = sums.get(key, 0) + value
        user = sum(places.values())
        shares.append(user / (user + kernel))
        total += user + kernel
    return by_function(sums), statistics.median(shares)


def kept_natives():
    if not os.path.exists(NATIVE):
        return {}
    with open(NATIVE, encoding="utf-8") as file:
        return json.load(file)


def keep(natives):
    with open(NATIVE, "w", encoding="utf-8") as file:
        json.dump(natives, file, indent=1)


def lost(kind):
    """By how much the pieces of a run together took longer than undisturbed ones: the median of some runs."""
    runs = [subprocess.run(alone(["chrt", "-f", "50", KNOWN, kind, str(KNOWN_PIECES)]), stdout=subprocess.PIPE, text=True,
                           check=True, env=environment()) for _ in range(KNOWN_TRIES)]
    return statistics.median(float(run.stdout) for run in runs)


def excess():
    """Cycles that a program of known ones takes here, in its own, because a virtual machine's CPU time has the host's
    interrupts in it. They cost other work more than they cost a chain of multiplications: by so much more that counts.
    None: no quiet run."""
    kept = kept_natives()
    if "excess" not in kept:
        known = native_cycles(sim_programs.Program("known", [KNOWN, "bare", str(KNOWN_PIECES)], True))
        if not known:
            return None
        chain, mixed = lost("chain"), lost("mixed")
        kept["chain"], kept["mixed"] = chain, mixed
        kept["excess"] = known["cycles"] / (KNOWN_PIECES * KNOWN_CYCLES) * mixed / chain
        keep(kept)
    return kept["excess"]


def native(bench, program):
    """Measured once for a program and kept."""
    kept, more = kept_natives(), excess()
    if program.name not in kept:
        cycles = native_cycles(program)
        if not cycles or not more:
            return None
        kept = kept_natives()
        functions, user = native_places(bench, program)
        kept[program.name] = {**cycles, "cycles": cycles["cycles"] * user / more, "share": user, "functions": functions}
        keep(kept)
    return kept[program.name]


def modelled(bench, program):
    out = bench.path(program.name + ".td")
    done = launch([common.TDREC, "-q", "--source", "sim", "-o", out, "--", *program.words])
    if not os.path.exists(out):
        raise common.Unmeasured(f"{program.name}: {done.stderr.strip()}")
    profile = common.td_json(out)
    tree = {node["id"]: round(node["share"], 4) for node in profile["tree"]}
    result = {"cycles": profile["profile"]["cycles"], "instructions": profile["profile"]["instructions"],
              "functions": by_function(read_dump(out)[0]), "tree": tree}
    os.remove(out)
    return result


def overlap(a, b):
    return sum(min(share, b.get(key, 0)) for key, share in a.items())


def ranks(values):
    order = sorted(values)
    return [order.index(value) for value in values]


def spearman(a, b):
    return statistics.correlation(ranks(a), ranks(b))


def compare(bench, program):
    truth = native(bench, program)
    if not truth:
        print(f"bench:   {program.name}: no quiet native run", file=sys.stderr)
        return None
    model = modelled(bench, program)
    return {"name": program.name, "tuned": program.tuned, "error": model["cycles"] / truth["cycles"] - 1,
            "native_cpi": truth["cycles"] / model["instructions"], "cpi": model["cycles"] / model["instructions"],
            "overlap": overlap(truth["functions"], model["functions"]), "user": truth["share"],
            "spread": truth["spread"], "tree": model["tree"], "instructions": model["instructions"]}


def line(row):
    top = " ".join(f"{name[:4]} {100 * row['tree'][name]:.0f}" for name in
                   ("retiring", "bad_speculation", "frontend_bound", "backend_bound"))
    leaves = " ".join(f"{name} {100 * share:.0f}" for name, share in row["tree"].items() if share > 0.04 and name in LEAVES)
    return (f"{row['name']:13} {'tuned' if row['tuned'] else 'held '} native CPI {row['native_cpi']:.3f} model "
            f"{row['cpi']:.3f} {100 * row['error']:+6.1f} % place {100 * row['overlap']:.0f} %  "
            f"{row['instructions'] / 1e6:.0f}M user {100 * row['user']:.0f} spread {100 * row['spread']:.1f} | {top} | {leaves}")


def report(bench, rows, what):
    errors = [abs(row["error"]) for row in rows]
    mean, worst = statistics.mean(errors), max(rows, key=lambda row: abs(row["error"]))
    bench.add(f"{what} ({len(rows)}): mean absolute error of cycles", f"{100 * mean:.1f} %", None, None,
              f"<= {100 * MEAN_BAR:.0f} %", mean <= MEAN_BAR)
    bench.add(f"{what}: worst error", f"{100 * worst['error']:+.1f} % ({worst['name']})", None, None,
              f"<= {100 * WORST_BAR:.0f} %", abs(worst["error"]) <= WORST_BAR)
    rank = spearman([r["native_cpi"] for r in rows], [r["cpi"] for r in rows])
    bench.add(f"{what}: rank correlation of CPI", f"{rank:.3f}", None, None, f">= {RANK_BAR}", rank >= RANK_BAR)
    places = [row["overlap"] for row in rows]
    bench.add(f"{what}: overlap of time by function", f"mean {100 * statistics.mean(places):.1f} %, least "
              f"{100 * min(places):.1f} %", None, None, f">= {100 * OVERLAP_BAR:.0f} %",
              statistics.mean(places) >= OVERLAP_BAR)


def fault_us():
    """What the first store to a page costs more than another."""
    costs = []
    for _ in range(FAULT_TRIES):
        took = []
        with mmap.mmap(-1, FAULT_PAGES * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as room:
            room.madvise(mmap.MADV_NOHUGEPAGE)
            for _ in range(2):
                began = time.perf_counter()
                for at in range(0, len(room), mmap.PAGESIZE):
                    room[at] = 1
                took.append(time.perf_counter() - began)
        costs.append((took[0] - took[1]) / FAULT_PAGES * 1e6)
    return min(costs)


def need_quick_faults():
    """The hypervisor's part of a page fault looks like user code's."""
    cost = fault_us()
    if cost > FAULT_MAX_US:
        raise common.Unmeasured(f"a page fault takes {cost:.0f} us here, the hypervisor's work for the most: native cycles would "
                                "be those of the faults; take another machine")


def run(bench, names=()):
    common.need("qemu-x86_64", "taskset", "chrt", "readelf")
    if not os.path.exists(RUNNER):
        raise common.Unmeasured("native truth is only had on x86_64")
    need_quick_faults()
    sim_programs.make_inputs()
    chosen = [p for p in sim_programs.programs() if (p.name in names if names else not bench.quick or p.tuned)]
    rows = []
    for program in chosen:
        common.need(program.words[0])
        row = compare(bench, program)
        if row:
            rows.append(row)
            print("bench:   " + line(row), file=sys.stderr, flush=True)
    for what, some in (("tuned on", [r for r in rows if r["tuned"]]), ("held out", [r for r in rows if not r["tuned"]]),
                       ("all", rows)):
        if len(some) > 2:
            report(bench, some, what)
