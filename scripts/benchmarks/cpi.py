# SPDX-License-Identifier: MIT
"""CPI stacks by five ways of counting (tdreport cpi --methods) against idealised runs, as Eyerman, Eeckhout, Karkhanis
and Smith compare them (ASPLOS 2006): what a structure costs is what the program gains when it is made perfect. Misses of
data are long (beyond L2) and short ones, as there: every miss of L1 finds its line in L2, then all data are in L1; code
is perfect in these runs, so that they are data's alone. Pages of code and data are one component. Errors are in percent
of the program's CPI, of components of 5 % of it or more. Real programs and kernels with one known cost; modelled runs are the same every time."""
import glob
import os
import random
import statistics

from . import common

CORE = os.environ.get("TD_SIM_CORE", "golden-cove")
BAR = 0.10
WAYS = ("exact", "interval", "power5", "naive_right_path", "naive")
# Component: what of a way's rows it is, the run with the structure and the one without.
IDEALS = {
    "icache": (("icache_misses",), "", "icache"),
    "branches": (("branches",), "", "branches"),
    "tlb": (("itlb_misses", "dtlb"), "", "tlb"),
    "long": (("l3_bound", "dram_bound"), "icache", "icache+l2"),
    "short": (("l2_bound",), "icache+l2", "icache+l1"),
}
BIG = 0.05  # of the CPI: a component that counts for something

KERNELS = {
    # Each line of code once a round: 256 KiB of it, no branch is odd and no data.
    "icache": """
#define ONE a += b; b ^= a; a = (a << 7) | (a >> 57); b += 11;
#define TEN ONE ONE ONE ONE ONE ONE ONE ONE ONE ONE
#define MANY TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
int main(void) {
    unsigned long a = 1, b = 2;
    for (int i = 0; i < 400; i++) { MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY }
    return a + b == 7;
}
""",
    # A coin decides.
    "coins": """
int main(void) {
    unsigned long x = 88172645463325252ul, heads = 0;
    for (int i = 0; i < 400000; i++) {
        x ^= x << 13; x ^= x >> 7; x ^= x << 17;
        if (x & 4) __asm__ volatile("add $3,%0" : "+r"(heads)); else __asm__ volatile("xor $5,%0" : "+r"(heads));
    }
    return heads == 7;
}
""",
    # Loads that wait for one another, out of L3 (4 MiB, after the first round) and memory.
    "chase-l3": (4, 400000), "chase-dram": (256, 100000),
    # Eight loads at once from memory: their misses overlap.
    "overlap": """
#include <stdlib.h>
int main(void) {
    unsigned long n = (256ul << 20) / 8, sum = 0, x = 1;
    unsigned long *a = malloc(n * 8);
    for (int i = 0; i < 40000; i++)
        for (int k = 0; k < 8; k++) { x = x * 6364136223846793005ul + 1442695040888963407ul; sum += a[(x >> 20) % n]; }
    return sum == 7;
}
""",
}
CHASE = """
#include <stdlib.h>
int main(void) {
    unsigned long lines = (SIZE << 20) / 64, at = 0, x = 1;
    char *a = malloc(lines * 64);
    for (int i = 0; i < TIMES; i++) {
        at = (at * 5 + 12345 + *(volatile char *)(a + at * 64)) % lines;
    }
    return at == 7 + x;
}
"""


def text_of(size):
    parts, length = [], 0
    for name in sorted(glob.glob(os.path.join(common.ROOT, "record/**/*.c"), recursive=True)):
        with open(name, encoding="utf-8") as file:
            parts.append(file.read())
        length += len(parts[-1])
        if length >= size:
            break
    return "".join(parts)[:size]


def make_inputs(bench):
    with open(bench.path("text"), "w", encoding="utf-8") as file:
        file.write(text_of(150000 if bench.quick else 600000))
    dice = random.Random(7)
    with open(bench.path("numbers"), "w", encoding="utf-8") as file:
        file.write("".join(f"{dice.randrange(10 ** 9)}\n" for _ in range(8000 if bench.quick else 40000)))
    with open(bench.path("join.sql"), "w", encoding="utf-8") as file:
        file.write("""CREATE TABLE a(id INTEGER PRIMARY KEY, k INT, s TEXT);
WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<%d)
INSERT INTO a SELECT x, (x*7919)%%10007, 'name'||(x*31%%5003) FROM c; CREATE INDEX ak ON a(k);
SELECT s, count(*) n FROM a GROUP BY s ORDER BY n DESC, s LIMIT 5;""" % (1000 if bench.quick else 6000))


def kernels(bench):
    for name, source in KERNELS.items():
        if isinstance(source, tuple):
            source = CHASE.replace("SIZE", str(source[0])).replace("TIMES", str(source[1]))
        path = bench.path(name)
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write(source)
        common.run(["cc", "-O1", "-o", path, path + ".c"])
        yield name, [path]


def programs(bench):
    common.need("cc", "gzip", "xz", "bzip2", "sort", "perl", "sqlite3", "mawk", "python3")
    make_inputs(bench)
    text, numbers = bench.path("text"), bench.path("numbers")
    words = "while (<>) { $n{$_}++ for split /\\W+/ } print scalar(keys %n)"
    rows = [
        ("gzip", ["gzip", "-6", "-c", text]), ("xz", ["xz", "-1", "-T1", "-c", text]),
        ("bzip2", ["bzip2", "-c", text]), ("sort", ["sort", "--parallel=1", numbers]),
        ("perl", ["perl", "-e", words, text]), ("mawk", ["mawk", "{ for (i = 1; i <= NF; i++) n[$i]++ }", text]),
        ("sqlite3", ["sqlite3", ":memory:", "-init", bench.path("join.sql"), ".quit"]),
        ("python3", ["python3", "-c", "import json; print(len(json.dumps([{str(i): [i] * 3} for i in range(9999)])))"]),
        ("cc", ["cc", "-O1", "-c", "-o", bench.path("coins.o"), bench.path("coins.c")]),
    ]
    return list(kernels(bench)) + (rows[:4] if bench.quick else rows)


def record(bench, words, ideal, *more):
    profile = bench.path("run.td")
    core = "+".join(part for part in (CORE, ideal) if part)
    common.run([common.TDREC, "--source", "sim", "--sim-core", core, *more, "-q", "-o", profile, "--", *words],
               env={"PYTHONHASHSEED": "0"})
    return profile


def cpi_of(profile):
    return common.td_json(profile, "cpi", "-n", "1", "--topdown-level", "1")["cpi_stack"]["cpi"]


def compare(bench, words):
    """{component: (idealised, {way: counted})}, in parts of the CPI, and the overlap."""
    profile = record(bench, words, "", "--cpi-methods")
    methods = common.td_json(profile, "cpi", "--methods")["methods"]
    counted = {way["name"]: {part["name"]: part["cpi"] for part in way["components"]} for way in methods["ways"]}
    runs = {"": methods["cpi"]}
    for _, before, after in IDEALS.values():
        for ideal in (before, after):
            if ideal not in runs:
                runs[ideal] = cpi_of(record(bench, words, ideal))
    table = {}
    for component, (rows, before, after) in IDEALS.items():
        ideal = (runs[before] - runs[after]) / methods["cpi"]
        table[component] = (ideal, {way: sum(counted[way].get(row, 0) for row in rows) / methods["cpi"] for way in WAYS})
    return table, methods["overlap"], methods["cpi"]


def percent(value):
    return f"{100 * value:.1f} %"


def add_programs(bench):
    tables = {}
    for name, words in programs(bench):
        table, both, cpi = compare(bench, words)
        tables[name] = table
        text = ", ".join(f"{component} {100 * ideal:.0f} ("
                         + " ".join(f"{100 * counted[way]:.0f}" for way in WAYS) + ")"
                         for component, (ideal, counted) in table.items() if max(ideal, *counted.values()) >= 0.02)
        bench.add(f"{name}: CPI {cpi:.2f}, overlap {percent(both)}; idealised (exact interval POWER5 naive-rp naive)", text)
    return tables


def errors_of(tables, way, component=None, signed=False):
    found = [counted[way] - ideal for table in tables.values() for key, (ideal, counted) in table.items()
             if component in (None, key) and max(ideal, *counted.values()) >= BIG]
    return statistics.mean(value if signed else abs(value) for value in found) if found else 0


def run(bench):
    tables = add_programs(bench)
    mean = {way: errors_of(tables, way) for way in WAYS}
    for way in WAYS:
        bar, met = ("at most 10 %", mean[way] <= BAR) if way == "interval" else ("", None)
        bench.add(f"{way}: mean error of a component, of the CPI", percent(mean[way]), bar=bar, met=met)
    for component in IDEALS:
        bench.add(f"{component}: mean of counted less idealised",
                  ", ".join(f"{way} {100 * errors_of(tables, way, component, True):+.1f}" for way in WAYS))
    order = mean["interval"] <= mean["power5"] <= mean["naive_right_path"] <= mean["naive"]
    bench.add("order of the errors", "interval, POWER5, naive right path, naive" if order else "another",
              bar="the paper's", met=order)
    for component, way, sign in (("branches", "power5", -1), ("icache", "power5", -1), ("branches", "naive", -1),
                                 ("long", "naive", 1)):
        error = errors_of(tables, way, component, True)
        bench.add(f"{way} counts {component}", percent(error), bar="too little" if sign < 0 else "too much",
                  met=error * sign > 0)
