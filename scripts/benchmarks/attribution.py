# SPDX-License-Identifier: MIT
"""What attribution by samples is worth: programs run on the modelled core, whose simulated PMU is sampled at several
rates while the model knows exactly what each function lost to what. No machine is measured, so load does not matter."""
import os
import statistics

from . import common

LEVEL_1 = ("retiring", "bad_speculation", "frontend_bound", "backend_bound")
# Samples a second; and pairs of them 5 us apart, as on hardware, as many in all; and 1 us apart.
RATES = ("1000", "4000", "20000", "500+5000", "2000+5000", "10000+5000", "2000+1000")
# Samplings of the same execution that differ by chance; the spread of so many is itself unsure by a tenth.
REPEATED, REPEATS = "4000", 56
# Functions with this share of the slots are judged.
LEAST_SHARE = 0.02
# A category with less of a function's slots is one that it does not have.
LACKED = 0.02
# At the 3 GHz and more of modelled cores.
PHASES = {"phases of 5 µs": 15000, "phases of 100 µs": 300000, "phases of 10 ms": 30000000}


def write_text(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        for i in range(lines):
            file.write(f"{i * 2654435761 % 1000003} the quick brown fox {i % 977} jumps over {i * 40503 % 65521}\n")
    return path


def real_programs(bench):
    """Name, command: ten programs of everyday, with inputs of some hundred million instructions each."""
    size = 10 if bench.quick else 60
    text, small = write_text(bench.path("text"), size * 1000), write_text(bench.path("small"), size * 300)
    # pyenv's python3 is a shell script.
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"
    script = "s=0\nfor i in range(%d):\n    s += hash(str(i)) %% 7\nd = {str(i): i for i in range(%d)}\nprint(s, len(sorted(d)))\n"
    table = "create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<%d) " \
            "insert into t select x, x*7919%%1000 from c; select b,count(*),sum(a) from t group by b order by 2 limit 3;"
    return {
        "gzip": ["gzip", "-c", text],
        "zstd": ["zstd", "-q", "-6", "-c", text],
        "xz": ["xz", "-0", "-c", small],
        "bzip2": ["bzip2", "-c", small],
        "sort": ["sort", text],
        "sha256sum": ["sha256sum", text, text, text],
        "python3": [python, "-S", "-c", script % (size * 2000, size * 1000)],
        "perl": ["perl", "-e", f"for(1..{size * 3000}){{$h{{$_%977}}.=$_;$s+=length $h{{$_%31}}}}print $s"],
        "sqlite3": ["sqlite3", ":memory:", table % (size * 1500)],
        "awk": ["awk", "{n[$5]+=$1; n[$10]+=length($0)} END{for(k in n)s+=n[k]; print s}", text, text],
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
        self.by_kind, self.variations, self.blank = {}, [], 0
        self.shown, self.lacking = 0, []  # categories of any level
        self.cells = {"share": [0, 0], "categories": [0, 0]}  # covered, all

    def cell(self, what, estimate, error, true):
        if estimate is None or error is None:
            return
        self.cells[what][0] += abs(estimate - true) <= error + 5e-4  # the printed digits
        self.cells[what][1] += 1

    def judge_shown(self, key, row, true):
        for category, share in row["categories"].items():
            if share is not None and share >= LACKED:
                self.shown += 1
                if (true["categories"].get(category) or 0) < LACKED:
                    self.lacking.append(f"{category} of {key[0]}")

    def add(self, exact, sampled):
        for key, true in exact.items():
            if true["slots_share"] < LEAST_SHARE:
                continue
            row = sampled.get(key)
            if row is None:
                self.blank += 1
                continue
            self.cell("share", row["slots_share"], row["slots_share_bound"], true["slots_share"])
            self.judge_shown(key, row, true)
            known = [c for c in LEVEL_1 if row["categories"].get(c) is not None]
            for category in known:
                self.cell("categories", row["categories"][category], row["category_errors"].get(category),
                          true["categories"].get(category) or 0)
            if not known:
                self.blank += 1
                continue
            # What is left blank claims nothing: it is one category, the rest.
            off = [row["categories"][c] - (true["categories"].get(c) or 0) for c in known]
            variation = (sum(map(abs, off)) + abs(sum(off))) / 2
            self.variations.append(variation)
            self.by_kind.setdefault(row["found_by"] or row["attribution"], []).append(variation)


def percent(values):
    return f"{100 * statistics.mean(values):.1f} % (worst {100 * max(values):.1f} %)" if values else "all blank"


def covered(cells):
    return f"{100 * cells[0] / max(1, cells[1]):.0f} % of {cells[1]}"


def errors(bench, name, exact, path, tallies):
    for rate in RATES:
        one = Tally()
        sampled = measure(of_rate(path, rate))
        one.add(exact, sampled)
        tallies[rate].add(exact, sampled)
        bench.add(f"{name}, {rate} Hz: error of {len(one.variations)} functions' categories, {one.blank} blank",
                  percent(one.variations), None, None, "<= 5 %", not one.variations or max(one.variations) <= 0.05)


def spread(exact, path):
    """By function: the ± printed of its share, by 95 % of what is observed. Every one has to agree."""
    runs = [measure(of_rate(path, f"{REPEATED}.{i}")) for i in range(1, REPEATS + 1)]
    ratios = {}
    for key, true in exact.items():
        rows = [run[key] for run in runs if key in run]
        if true["slots_share"] < LEAST_SHARE or len(rows) < REPEATS * 0.9:
            continue
        observed = 1.96 * statistics.stdev(row["slots_share"] for row in rows)
        if observed > 0.004:
            ratios[f"{key[0]} in {key[1]}"] = statistics.mean(row["error"] for row in rows) / observed
    return ratios


def sum_up(bench, tallies, ratios):
    for rate, tally in tallies.items():
        kinds = "; ".join(f"{kind} {percent(values)}, n {len(values)}" for kind, values in sorted(tally.by_kind.items()))
        bench.add(f"all, {rate} Hz, by kind; {tally.blank} left blank", kinds)
        bench.add(f"all, {rate} Hz: categories shown that the function lacks, of {tally.shown}",
                  ", ".join(tally.lacking) or "none", None, None, "none", not tally.lacking)
        cells = [sum(x) for x in zip(*tally.cells.values())]
        bench.add(f"all, {rate} Hz: the stated error covers the truth", f"{covered(cells)} cells (shares "
                  f"{covered(tally.cells['share'])}, categories {covered(tally.cells['categories'])})", None, None, ">= 90 %",
                  cells[0] >= 0.9 * cells[1])
    every = [ratio for found in ratios.values() for ratio in found.values()]
    if not every:
        raise common.Unmeasured("no share varies")
    inside = sum(1 / 1.3 <= ratio <= 1.3 for ratio in every)
    bench.add(f"± printed / spread of {REPEATS} samplings at {REPEATED} Hz, {len(every)} shares",
              f"{statistics.median(every):.2f} ({min(every):.2f} to {max(every):.2f}; {inside} within 1.3)")
    for name, found in ratios.items():
        for function, ratio in found.items():
            bench.add(f"± printed / spread, {name}, {function}", f"{ratio:.2f}", None, None, "1/1.3 to 1.3",
                      1 / 1.3 <= ratio <= 1.3)


def run(bench):
    common.need("qemu-x86_64")
    phases = os.path.join(common.RELEASE, "workloads/phases")
    if not os.path.exists(phases):
        raise common.Unmeasured("build/release/workloads/phases is not built")
    total = 100000000 if bench.quick else 300000000
    # Five rounds at least of the four phases.
    programs = {name: [phases, str(cycles), str(max(total, 20 * cycles))] for name, cycles in PHASES.items()}
    real = real_programs(bench)
    common.need(*(command[0] for command in real.values()))
    programs.update(list(real.items())[:3] if bench.quick else real)
    tallies, ratios = {rate: Tally() for rate in RATES}, {}
    for name, command in programs.items():
        path = sample(bench, name, command, ",".join((*RATES, f"{REPEATED}x{REPEATS}")))
        exact = measure(path)
        errors(bench, name, exact, path, tallies)
        ratios[name] = spread(exact, path)
    sum_up(bench, tallies, ratios)
