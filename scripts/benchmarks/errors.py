# SPDX-License-Identifier: MIT
"""What the ± in `tdreport --json` are worth to one who knows nothing else of it: programs are modelled as a whole (exact),
sampled (--sim-sample) and joined with measured time (hybrid), all on the same core. Each figure of the latter two is compared
with the exact one and with the error that stands beside it: the totals with theirs, the tree's share with error, a function's
slots_share and time_share with error, its categories with category_errors."""
import os
import statistics
import subprocess
import sys

from . import attribution, common

CORE = os.environ.get("TD_SIM_CORE", "golden-cove")
BAR = 0.90
FUNCTION_LEAST = 0.01  # of the slots, exact or not: the functions that are looked at
ROUNDING = 1e-5
KINDS = ("total", "tree", "functions", "categories")
HOW = {"sampled": ("--source", "sim", "--sim-sample"), "hybrid": ("--source", "hybrid", "-F", "4000")}

KERNELS = {"bodies": 40, "join": 6, "matrix": 3, "parse": 10, "recursion": 9, "qsort": 8, "trees": 8, "sieve": 12}
SOURCE = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned long seed = 88172645463325252ul;
static unsigned next(void) { seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17; return seed >> 20; }

struct body { double p[3], v[3], m; };
static struct body bodies_at[200];
static double energy(int n) {
    double e = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double d = 0;
            for (int k = 0; k < 3; k++) d += (bodies_at[i].p[k] - bodies_at[j].p[k]) * (bodies_at[i].p[k] - bodies_at[j].p[k]);
            e -= bodies_at[i].m * bodies_at[j].m / sqrt(d + 1e-6);
        }
    return e;
}
static void pull(int n, double dt) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double d[3], r2 = 1e-6;
            for (int k = 0; k < 3; k++) { d[k] = bodies_at[i].p[k] - bodies_at[j].p[k]; r2 += d[k] * d[k]; }
            const double f = dt / (r2 * sqrt(r2));
            for (int k = 0; k < 3; k++) { bodies_at[i].v[k] -= d[k] * f * bodies_at[j].m; bodies_at[j].v[k] += d[k] * f * bodies_at[i].m; }
        }
}
static long bodies(int rounds) {
    for (int i = 0; i < 200; i++) { bodies_at[i].m = 1e-3; for (int k = 0; k < 3; k++) bodies_at[i].p[k] = next() % 1000 / 100.0; }
    double e = 0;
    for (int i = 0; i < rounds; i++) { pull(200, 1e-3); e += energy(200); }
    return (long)e;
}

#define SLOTS (1 << 20)
static struct { unsigned key, value; } slots[SLOTS];
static void put(unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        unsigned key = next() % 900000 + 1, at = key * 2654435761u >> 12;
        while (slots[at].key && slots[at].key != key) at = (at + 1) % SLOTS;
        slots[at].key = key; slots[at].value += i;
    }
}
static long look(unsigned n) {
    long sum = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned key = next() % 900000 + 1, at = key * 2654435761u >> 12;
        while (slots[at].key && slots[at].key != key) at = (at + 1) % SLOTS;
        sum += slots[at].value;
    }
    return sum;
}
static long join(int rounds) { long s = 0; put(500000); for (int i = 0; i < rounds; i++) s += look(500000); return s; }

static float a[256][256], b[256][256], c[256][256];
static void transpose(void) { for (int i = 0; i < 256; i++) for (int j = 0; j < 256; j++) c[j][i] = b[i][j]; memcpy(b, c, sizeof b); }
static void multiply(void) {
    for (int i = 0; i < 256; i++) for (int j = 0; j < 256; j++) {
        float s = 0; for (int k = 0; k < 256; k++) s += a[i][k] * b[j][k]; c[i][j] = s;
    }
}
static long matrix(int rounds) {
    for (int i = 0; i < 256; i++) for (int j = 0; j < 256; j++) { a[i][j] = next() % 100; b[i][j] = next() % 100; }
    for (int i = 0; i < rounds; i++) { transpose(); multiply(); memcpy(a, c, sizeof a); a[i][i] = 1; }
    return (long)c[3][4];
}

static char text[1 << 20];
static int write_text(void) {
    int n = 0;
    while (n < (1 << 20) - 64) n += sprintf(text + n, "%u,%u.%02u,\"name %u\"\n", next() % 100000, next() % 1000, next() % 100, next() % 9999);
    return n;
}
static long parse_text(int n) {
    long sum = 0, value = 0;
    int quoted = 0;
    for (int i = 0; i < n; i++) {
        const char ch = text[i];
        if (ch == '"') quoted = !quoted;
        else if (!quoted && ch >= '0' && ch <= '9') value = value * 10 + (ch - '0');
        else if (!quoted && (ch == ',' || ch == '\n')) { sum += value; value = 0; }
        else if (quoted && ch == ' ') sum++;
    }
    return sum;
}
static double read_numbers(void) { double s = 0; for (char *p = text; (p = strchr(p, ',')); ) s += strtod(p + 1, &p); return s; }
static long parse(int rounds) { int n = write_text(); long s = 0; for (int i = 0; i < rounds; i++) { s += parse_text(n); if (i % 3 == 0) s += (long)read_numbers(); } return s; }

static int queens(int n, unsigned cols, unsigned left, unsigned right) {
    int found = 0;
    if (cols == (1u << n) - 1) return 1;
    for (unsigned open = ~(cols | left | right) & ((1u << n) - 1); open; open &= open - 1) {
        unsigned bit = open & -open;
        found += queens(n, cols | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return found;
}
static unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static long recursion(int n) { long s = 0; for (int i = 0; i < 3; i++) s += queens(n + 1, 0, 0, 0) + fib(n + 19); return s; }

struct item { char name[24]; int key; double weight; };
static struct item items[40000];
static int by_key(const void *x, const void *y) { return ((const struct item *)x)->key - ((const struct item *)y)->key; }
static int by_name(const void *x, const void *y) { return strcmp(((const struct item *)x)->name, ((const struct item *)y)->name); }
static long sorted(int rounds) {
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < 40000; k++) { items[k].key = next(); if (i == 0) sprintf(items[k].name, "n%u", next()); }
        qsort(items, 40000, sizeof(*items), i % 2 ? by_name : by_key);
    }
    return items[7].key;
}

struct node { struct node *child[2]; unsigned key; };
static struct node *insert(struct node *at, unsigned key) {
    if (!at) { at = calloc(1, sizeof(*at)); at->key = key; return at; }
    struct node **slot = &at->child[key > at->key];
    *slot = insert(*slot, key);
    return at;
}
static long depth(const struct node *at) { if (!at) return 0; long l = depth(at->child[0]), r = depth(at->child[1]); return 1 + (l > r ? l : r); }
static void drop(struct node *at) { if (at) { drop(at->child[0]); drop(at->child[1]); free(at); } }
static long trees(int rounds) {
    long s = 0;
    for (int i = 0; i < rounds; i++) { struct node *root = NULL; for (int k = 0; k < 30000; k++) root = insert(root, next()); s += depth(root); drop(root); }
    return s;
}

static unsigned char composite[1 << 20];
static long sieve(int rounds) {
    long count = 0;
    for (int r = 0; r < rounds; r++) {
        memset(composite, 0, sizeof(composite));
        for (unsigned i = 2; i < sizeof(composite); i++)
            if (!composite[i]) { count++; for (unsigned k = 2 * i; k < sizeof(composite); k += i) composite[k] = 1; }
    }
    return count;
}

int main(int argc, char **argv) {
    static const struct { const char *name; long (*run)(int); } all[] = {{"bodies", bodies}, {"join", join}, {"matrix", matrix},
        {"parse", parse}, {"recursion", recursion}, {"qsort", sorted}, {"trees", trees}, {"sieve", sieve}};
    for (unsigned i = 0; argc > 2 && i < sizeof(all) / sizeof(*all); i++)
        if (!strcmp(all[i].name, argv[1])) { printf("%ld\n", all[i].run(atoi(argv[2]))); return 0; }
    return 1;
}
"""

PYTHON = """
words = {}
def count(text):
    for word in text.split():
        words[word] = words.get(word, 0) + 1
class Point:
    def __init__(self, x, y): self.x, self.y = x, y
    def far(self): return self.x * self.x + self.y * self.y
for i in range(4000): count("the %d quick %d brown fox %d" % (i % 97, i % 7, i % 1009))
print(len(words), sum(Point(i, i + 1).far() % 7 for i in range(30000)), sorted(words)[:3])
"""
C_FILE = "#include <stddef.h>\n" + "".join(
    f"int f{i}(int *p, size_t n) {{ int s = {i}; for (size_t k = 0; k < n; k++) s = s * 31 + (p[k] ^ (s >> {i % 7 + 1})); return s; }}\n"
    for i in range(60))


def kernels(bench):
    path = bench.path("errors-kernels")
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(SOURCE)
    subprocess.run(["gcc", "-O2", "-g", "-fno-inline-functions-called-once", "-o", path, path + ".c", "-lm"], check=True)
    return {name: [path, name, str(rounds)] for name, rounds in KERNELS.items()}


def programs(bench):
    """Name, command: of tens to some hundreds of millions of instructions."""
    text = attribution.write_text(bench.path("errors-text"), 20000)
    small = attribution.write_text(bench.path("errors-small"), 6000)
    source = bench.path("errors-file.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(C_FILE)
    compiler = subprocess.run(["gcc", "-print-prog-name=cc1"], check=True, capture_output=True, text=True).stdout.strip()
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"
    perl = "for (1..60000) { my @f = split /[ ,]/, \"k$_ v,\" . $_ % 77; $h{$f[0] % 999} .= $f[1]; $n++ if \"$_\" =~ /(\\d)\\1/ } print $n"
    query = "create table t(k,v); with recursive c(x) as (select 1 union all select x+1 from c where x<40000) insert into t " \
            "select x*7919%4001, 'v'||x from c; create index i on t(k); select count(*), max(a.v) from t a join t b on a.k=b.k+1;"
    found = kernels(bench)
    found.update({
        "python3": ["env", "PYTHONHASHSEED=0", python, "-S", "-c", PYTHON],
        "perl": ["perl", "-e", perl],
        "awk": ["mawk", "{ gsub(/o/, \"0\"); n[$5 % 50] += length($0) } END { for (k in n) s += n[k]; print s }", text],
        "sqlite3": ["sqlite3", ":memory:", query],
        "xz": ["xz", "-1", "-c", small],
        "gzip": ["gzip", "-9", "-c", text],
        "sort": ["sort", "-k", "3,3n", "-k", "1,1r", text],
        "grep": ["grep", "-E", "-c", "([0-9])7 .*(fox|dog) [0-9]*3 ", text],
        "cc1": [compiler, "-quiet", "-O2", "-o", "/dev/null", source],
    })
    return dict(list(found.items())[::4]) if bench.quick else found


def profile_of(path, *words):
    """Tree and all functions."""
    whole = common.td_json(path, *words)
    return {**whole, "functions": common.td_json(path, "functions", "-n", "1000000", *words)["functions"]}


def record(bench, name, how, command):
    path = bench.path(f"errors.{name}.td")
    common.run([common.TDREC, "-q", *how, "--sim-core", CORE, "-o", path, "--", *command], timeout=900)
    return profile_of(path)


def function_key(row):
    return row["function"], row["module"], row["file"], row["line"]


def total_cells(exact, other):
    for name, error in (("slots", "slots_error"), ("time_ns", "time_ns_error"), ("cycles", "cycles_error")):
        whole = exact["total"][name]
        yield "total", name, 1.0, other["total"][name] / whole, other["total"][error] / whole


def cells_of(exact, other):
    """(kind, name, exact figure, figure, its error): the figure is None where it is left blank."""
    yield from total_cells(exact, other)
    whole = {node["id"]: node["share"] for node in exact["tree"]}
    for node in other["tree"]:
        yield "tree", node["id"], whole.get(node["id"], 0), node["share"], node["error"]
    rows = {function_key(row): row for row in exact["functions"]}
    for row in other["functions"]:
        true = rows.get(function_key(row))
        if not true or max(true["slots_share"], row["slots_share"] or 0) < FUNCTION_LEAST:
            continue
        for share in ("slots_share", "time_share"):
            yield "functions", f"{row['function']}: {share}", true[share], row[share], row["error"]
        for node, share in row["categories"].items():
            yield "categories", f"{row['function']}: {node}", true["categories"].get(node) or 0, share, \
                row.get("category_errors", {}).get(node, 0)


def covers(cell):
    _, _, true, value, error = cell
    return abs(value - true) <= error + ROUNDING


class Coverage:
    def __init__(self):
        self.cells = {kind: [] for kind in KINDS}
        self.blank = {kind: 0 for kind in KINDS}

    def add(self, cells):
        for cell in cells:
            if cell[3] is None:
                self.blank[cell[0]] += 1
            else:
                self.cells[cell[0]].append(cell)

    def share(self, kind):
        return sum(map(covers, self.cells[kind])) / max(1, len(self.cells[kind]))

    def width(self, kind):
        """Median of the error, and of how often wider than the actual difference it is; of figures of 1 % and more."""
        cells = [cell for cell in self.cells[kind] if max(cell[2], cell[3]) >= 0.01]
        ratios = [error / max(abs(value - true), 1e-6) for _, _, true, value, error in cells]
        return statistics.median(cell[4] for cell in cells), statistics.median(ratios)


def run(bench):
    common.need("qemu-x86_64", "gcc")
    every = {how: Coverage() for how in HOW}
    for name, command in programs(bench).items():
        common.need(command[0])
        exact = record(bench, name, ("--source", "sim"), command)
        for how, words in HOW.items():
            cells = list(cells_of(exact, record(bench, name, words, command)))
            every[how].add(cells)
            missed = [f"{cell[1]} {cell[2]:.4f} {cell[3]:.4f}±{cell[4]:.4f}" for cell in cells if cell[3] is not None and not covers(cell)]
            print(f"bench:   {name} {how}: {len(cells)} cells, not covered: {'; '.join(missed) or 'none'}", file=sys.stderr, flush=True)
    for how, coverage in every.items():
        for kind in KINDS:
            share, cells = coverage.share(kind), len(coverage.cells[kind])
            if not cells:
                continue
            width, ratio = coverage.width(kind)
            bench.add(f"{how}, {kind}: cells that the stated error covers; blank; median error, over the difference",
                      f"{100 * share:.1f} % of {cells}; {coverage.blank[kind]}; {100 * width:.1f} %, {ratio:.1f}",
                      None, None, f">= {100 * BAR:.0f} %", share >= BAR)
