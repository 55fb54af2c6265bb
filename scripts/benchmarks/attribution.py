# SPDX-License-Identifier: MIT
"""What attribution by samples is worth: programs run on the modelled core, whose simulated PMU is sampled at several
rates while the model knows exactly what each function lost to what. No machine is measured, so load does not matter."""
import os
import statistics

from . import common

LEVEL_1 = ("retiring", "bad_speculation", "frontend_bound", "backend_bound")
# Samples a second; and pairs of them a microsecond apart, as many in all.
RATES = ("1000", "4000", "20000", "500+1000", "2000+1000", "10000+1000")
# Functions with this share of the slots are judged.
LEAST_SHARE = 0.02
REPEATS = 30
# At the 3 GHz and more of modelled cores.
PHASES = {"phases of 5 µs": 15000, "phases of 100 µs": 300000, "phases of 10 ms": 30000000}


def real_programs(bench):
    """Name, command: ten programs of everyday, with inputs of some hundred million instructions at most."""
    text = bench.path("text")
    size = 400 if bench.quick else 2500
    with open(text, "w", encoding="utf-8") as file:
        for i in range(size * 40):
            file.write(f"{i * 2654435761 % 1000003} the quick brown fox {i % 977} jumps over {i * 40503 % 65521}\n")
    script = "s=0\nfor i in range(%d):\n    s += hash(str(i)) %% 7\nd = {str(i): i for i in range(%d)}\nprint(s, len(sorted(d)))\n"
    table = "create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<%d) " \
            "insert into t select x, x*7919%%1000 from c; select b,count(*),sum(a) from t group by b order by 2 limit 3;"
    return {
        "gzip": ["gzip", "-c", text],
        "zstd": ["zstd", "-q", "-6", "-c", text],
        "xz": ["xz", "-0", "-c", text],
        "bzip2": ["bzip2", "-c", text],
        "sort": ["sort", text],
        "sha256sum": ["sha256sum", text],
        "python3": ["python3", "-S", "-c", script % (size * 160, size * 80)],
        "perl": ["perl", "-e", f"for(1..{size * 200}){{$h{{$_%977}}.=$_;$s+=length $h{{$_%31}}}}print $s"],
        "sqlite3": ["sqlite3", ":memory:", table % (size * 80)],
        "awk": ["awk", "{n[$5]+=$1; n[$10]+=length($0)} END{for(k in n)s+=n[k]; print s}", text, text, text],
    }


def measure(path):
    """By function: its share of the slots, its categories, and the errors stated of them."""
    found = {}
    for row in common.td_json(path, "functions")["functions"]:
        found[row["function"], row["module"]] = row
    return found


def sample(bench, name, command, spec):
    path = bench.path(name.replace(" ", "-") + ".td")
    common.run([common.TDREC, "-q", "--source", "sim", "--sim-core", "golden-cove", "--sim-pmu", spec, "-o", path, "--",
                *command], timeout=1500)
    return path


def of_rate(path, rate):
    return f"{path[:-3]}.{rate}.td"


class Tally:
    """Errors of all judged functions of some programs at one rate."""

    def __init__(self):
        self.by_kind, self.variations, self.blank, self.cells, self.covered = {}, [], 0, 0, 0

    def cell(self, estimate, error, true):
        if estimate is None or error is None:
            return
        self.cells += 1
        self.covered += abs(estimate - true) <= error + 5e-4  # the printed digits

    def add(self, exact, sampled):
        for key, true in exact.items():
            if true["slots_share"] < LEAST_SHARE:
                continue
            row = sampled.get(key)
            if row is None:
                self.blank += 1
                continue
            self.cell(row["slots_share"], row["error"], true["slots_share"])
            known = [c for c in LEVEL_1 if row["categories"].get(c) is not None]
            for category in known:
                self.cell(row["categories"][category], row["category_errors"].get(category),
                          true["categories"].get(category) or 0)
            if not known:
                self.blank += 1
                continue
            # Of what is shown; what is left blank claims nothing, and what is wrong somewhere is wrong elsewhere too.
            variation = sum(abs(row["categories"][c] - (true["categories"].get(c) or 0)) for c in known)
            variation /= 2 if len(known) == len(LEVEL_1) else 1
            self.variations.append(variation)
            self.by_kind.setdefault(row["found_by"] or row["attribution"], []).append(variation)


def percent(values):
    return f"{100 * statistics.mean(values):.1f} % (worst {100 * max(values):.1f} %)" if values else "all blank"


def errors(bench, programs):
    tallies = {rate: Tally() for rate in RATES}
    for name, command in programs.items():
        path = sample(bench, name, command, ",".join(RATES))
        exact = measure(path)
        for rate in RATES:
            one = Tally()
            sampled = measure(of_rate(path, rate))
            one.add(exact, sampled)
            tallies[rate].add(exact, sampled)
            bench.add(f"{name}, {rate} Hz: error of {len(one.variations)} functions' categories, {one.blank} blank",
                      percent(one.variations), None, None, "<= 5 %", not one.variations or max(one.variations) <= 0.05)
    for rate, tally in tallies.items():
        kinds = "; ".join(f"{kind} {percent(values)}, n {len(values)}" for kind, values in sorted(tally.by_kind.items()))
        bench.add(f"all, {rate} Hz, by kind; {tally.blank} left blank", kinds)
        share = tally.covered / max(1, tally.cells)
        bench.add(f"all, {rate} Hz: the stated ± covers the truth", f"{100 * share:.0f} % of {tally.cells} cells", None, None,
                  ">= 90 %", share >= 0.9)


def spread(bench, command):
    """Samplings of one execution that differ by chance: is the ± printed the spread observed?"""
    path = sample(bench, "repeats", command, f"4000x{REPEATS}")
    exact = measure(path)
    runs = [measure(of_rate(path, f"4000.{i}")) for i in range(1, REPEATS + 1)]
    ratios = []
    for key, true in exact.items():
        if true["slots_share"] < LEAST_SHARE:
            continue
        rows = [run[key] for run in runs if key in run]
        cells = [[(row["slots_share"], row["error"]) for row in rows]]
        cells += [[(row["categories"].get(c), row["category_errors"].get(c)) for row in rows] for c in LEVEL_1]
        for cell in cells:
            values = [v for v, e in cell if v is not None and e is not None]
            stated = [e for v, e in cell if v is not None and e is not None]
            if len(values) >= REPEATS * 0.9 and statistics.stdev(values) > 0.002:
                ratios.append(statistics.mean(stated) / (1.96 * statistics.stdev(values)))
    if not ratios:
        raise common.Unmeasured("no cell varies")
    middle = statistics.median(ratios)
    bench.add(f"± printed / spread of {REPEATS} samplings, {len(ratios)} cells", f"{middle:.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
              None, None, "1/1.3 to 1.3", 1 / 1.3 <= middle <= 1.3)


def run(bench):
    common.need("qemu-x86_64")
    phases = os.path.join(common.RELEASE, "workloads/phases")
    if not os.path.exists(phases):
        raise common.Unmeasured("build/release/workloads/phases is not built")
    total = 100000000 if bench.quick else 600000000
    programs = {name: [phases, str(cycles), str(total)] for name, cycles in PHASES.items()}
    real = real_programs(bench)
    common.need(*(command[0] for command in real.values()))
    programs.update(list(real.items())[:3] if bench.quick else real)
    errors(bench, programs)
    spread(bench, [phases, "300000", str(total)])
