# SPDX-License-Identifier: MIT
"""What the ± of --sim-sample are worth: each program of row sim-accuracy (interpreters, compressors, compilers, text) and
kernels of numbers, joins and phases, modelled as a whole and sampled on the same core. Of each kind of figure (the cycles,
the nodes of the tree, the shares of functions, the categories of functions) the part of the cells whose error covers the
figure of the whole, and how often wider than the actual difference it is. Figures that a report leaves blank are not
counted, but how many there are is said."""
import os
import statistics
import subprocess
import sys

from . import common, sim_accuracy, sim_programs

CORE = os.environ.get("TD_SIM_CORE", "golden-cove")
BAR = 0.90
FUNCTION_LEAST = 0.002  # of the slots: the functions that are looked at
NODES_LEAST = 0.0005
KINDS = ("cycles", "tree", "functions", "categories")

# Built here: (name, source, arguments). Numbers, a join by hash, phases of different lengths.
KERNELS = {
    "nbody": (r"""
#include <math.h>
#include <stdio.h>
#define N 600
static struct { double x, y, z, m, vx, vy, vz, pad; } b[N];
static void step(double dt) {
    for (int i = 0; i < N; i++) {
        double ax = 0, ay = 0, az = 0;
        for (int j = 0; j < N; j++) {
            double dx = b[j].x - b[i].x, dy = b[j].y - b[i].y, dz = b[j].z - b[i].z, d2 = dx * dx + dy * dy + dz * dz + 1e-9;
            double f = b[j].m / (d2 * sqrt(d2));
            ax += dx * f; ay += dy * f; az += dz * f;
        }
        b[i].vx += ax * dt; b[i].vy += ay * dt; b[i].vz += az * dt;
    }
    for (int i = 0; i < N; i++) { b[i].x += dt * b[i].vx; b[i].y += dt * b[i].vy; b[i].z += dt * b[i].vz; }
}
int main(void) {
    for (int i = 0; i < N; i++) { b[i].x = sin(i); b[i].y = cos(3 * i); b[i].z = sin(7 * i); b[i].m = 1.0 / N; }
    for (int k = 0; k < 24; k++) step(0.001);
    return !(b[0].x < 9);
}
""", ["-O3", "-march=haswell", "-lm"]),
    "join": (r"""
#include <stdlib.h>
#define BITS 17
static unsigned keys[1 << 18], table[1 << BITS], next[1 << 18];
static unsigned hash(unsigned k) { return k * 2654435761u >> (32 - BITS); }
__attribute__((noinline)) static void build(int n) {
    for (int i = 0; i < n; i++) { unsigned h = hash(keys[i]); next[i] = table[h]; table[h] = i + 1; }
}
__attribute__((noinline)) static long probe(int n) {
    long found = 0;
    for (int i = 0; i < n; i++)
        for (unsigned at = table[hash(keys[i] ^ 1)]; at; at = next[at - 1]) found += keys[at - 1] == (keys[i] ^ 1);
    return found;
}
int main(void) {
    unsigned x = 1;
    long found = 0;
    for (int i = 0; i < 1 << 18; i++) { x = x * 1103515245 + 12345; keys[i] = x >> 9; }
    build(1 << 18);
    for (int round = 0; round < 12; round++) found += probe(1 << 18);
    return found < 0;
}
""", ["-O2"]),
    "phases": (r"""
#include <stdlib.h>
static int numbers[30000], chain[1 << 20];
static unsigned seed = 1;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) static int sorted(void) {
    for (int i = 0; i < 30000; i++) numbers[i] = (seed = seed * 1103515245 + 12345) >> 8;
    qsort(numbers, 30000, sizeof(*numbers), compare);
    return numbers[7];
}
__attribute__((noinline)) static int chased(int at) { for (int i = 0; i < 300000; i++) at = chain[at]; return at; }
__attribute__((noinline)) static unsigned hashed(const unsigned char *p) {
    unsigned h = 2166136261u;
    for (int i = 0; i < 2000000; i++) h = (h ^ p[i]) * 16777619u;
    return h;
}
int main(void) {
    unsigned sum = 0;
    for (int i = 0; i < 1 << 20; i++) chain[i] = (int)((i * 40503u + 12345) & ((1 << 20) - 1));
    for (int i = 0; i < 8; i++) sum += sorted() + chased(i) + hashed((unsigned char *)chain);
    return sum == 7;
}
""", ["-O1"]),
    "matmul": (r"""
#define N 220
static double a[N][N], b[N][N], c[N][N];
int main(void) {
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) { a[i][j] = i + j; b[i][j] = i - j; }
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) { double s = 0; for (int k = 0; k < N; k++) s += a[i][k] * b[k][j]; c[i][j] = s; }
    return c[3][4] == 1;
}
""", ["-O2"]),
}


def kernel(bench, name):
    source, options = KERNELS[name]
    path = bench.path("kernel-" + name)
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(source)
    subprocess.run(["gcc", "-g", "-o", path, path + ".c", *options], check=True)
    return sim_programs.Program(name, [path], False)


def programs(bench):
    sim_programs.make_inputs()
    return sim_programs.programs() + [kernel(bench, name) for name in KERNELS]


def record(bench, program, *options):
    out = bench.path(program.name + ".sampled.td")
    done = sim_accuracy.launch([common.TDREC, "-q", "--source", "sim", "--sim-core", CORE, *options, "-o", out, "--",
                                *program.words])
    if not os.path.exists(out):
        raise common.Unmeasured(f"{program.name}: {done.stderr.strip()}")
    profile = common.td_json(out, "functions", "-n", "100000")
    profile["tree"] = common.td_json(out)["tree"]
    os.remove(out)
    return profile


def function_key(row):
    return row["function"], row.get("module"), row.get("file"), row.get("line")


def cells_of(exact, sampled):
    """(kind, name, figure of the whole, of the sample, its error): None where the report leaves it blank."""
    of, to = exact["profile"], sampled["profile"]
    yield "cycles", "cycles", 1.0, to["cycles"] / of["cycles"], to["cycles_error"] / of["cycles"]
    whole = {node["id"]: node["share"] for node in exact["tree"]}
    for node in sampled["tree"]:
        if max(node["share"], whole.get(node["id"], 0)) >= NODES_LEAST:
            yield "tree", node["id"], whole.get(node["id"], 0), node["share"], node["error"]
    rows = {function_key(row): row for row in sampled["functions"]}
    for row in exact["functions"]:
        if row["slots_share"] < FUNCTION_LEAST:
            continue
        found = rows.get(function_key(row))
        name = row["function"]
        if not found:
            yield "functions", name, row["slots_share"], 0.0, 0.0
            continue
        yield "functions", name, row["slots_share"], found["slots_share"], found["error"]
        for node, share in row["categories"].items():
            value = found["categories"].get(node)
            error = found.get("category_errors", {}).get(node, 0)
            if (share or 0) >= NODES_LEAST or value:
                yield "categories", f"{name}: {node}", share or 0.0, value, error


class Coverage:
    def __init__(self):
        self.cells = {kind: [] for kind in KINDS}
        self.blank = {kind: 0 for kind in KINDS}

    def add(self, program, exact, sampled):
        for kind, name, truth, value, error in cells_of(exact, sampled):
            if value is None:
                self.blank[kind] += 1
            else:
                self.cells[kind].append((program, name, truth, value, error))

    def share(self, kind):
        """Of the cells whose error covers the truth."""
        cells = self.cells[kind]
        return sum(abs(value - truth) <= error + 1e-5 for _, _, truth, value, error in cells) / len(cells)

    def width(self, kind):
        """The median of how often wider than the difference the error is."""
        ratios = [error / max(abs(value - truth), 1e-6) for _, _, truth, value, error in self.cells[kind]]
        return statistics.median(ratios)

    def error(self, kind):
        return statistics.median(error for *_, error in self.cells[kind])


def run(bench, names=()):
    common.need("qemu-x86_64", "gcc")
    coverage = Coverage()
    count = 0
    for program in programs(bench):
        if (names and program.name not in names) or (bench.quick and count == 6):
            continue
        common.need(program.words[0])
        exact, sampled = record(bench, program), record(bench, program, "--sim-sample")
        if sampled["profile"]["detailed_instructions"] >= sampled["profile"]["instructions"]:
            print(f"bench:   {program.name}: too short to be sampled", file=sys.stderr)
            continue
        one = Coverage()
        one.add(program.name, exact, sampled)
        coverage.add(program.name, exact, sampled)
        count += 1
        print(f"bench:   {program.name:13} {exact['profile']['instructions'] / 1e6:6.0f} M  " + "  ".join(
            f"{kind} {100 * one.share(kind):.0f} % of {len(one.cells[kind])}" for kind in KINDS if one.cells[kind]),
            file=sys.stderr, flush=True)
    for kind in KINDS:
        share, cells = coverage.share(kind), len(coverage.cells[kind])
        bench.add(f"{kind}: cells of {count} programs whose error covers the whole", f"{100 * share:.1f} % of {cells}",
                  None, None, f">= {100 * BAR:.0f} %", share >= BAR)
        bench.add(f"{kind}: error over the difference, median; blank", f"{coverage.width(kind):.1f}; {coverage.blank[kind]}",
                  None, None, "", True)
    return coverage
