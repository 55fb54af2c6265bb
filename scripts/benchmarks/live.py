# SPDX-License-Identifier: MIT
"""What `--source live` says, beside the exact model of the same core: programs of known behaviour run natively for some
seconds, sampled and with windows, and a shortened twin of each, which does the same for less long, is modelled as a whole.
Of every function with 5 % of the native time: how far the shares of level 1 are off, whether the largest node of level 2 and
of level 3 is the same, and whether the stated ± holds the exact share."""
import os
import subprocess

from . import attribution, common, errors

CORE = os.environ.get("TD_SIM_CORE", "golden-cove")
LEAST = 0.05  # of the native time
NEAR = 0.02   # of the slots: nodes that are this close to the largest are as good as it
OFF = float(os.environ.get("TD_LIVE_OFF", "0.10"))
BAR = 0.90
FIRST = ("retiring", "bad_speculation", "frontend_bound", "backend_bound")

# Kernels of benchmarks/errors: rounds of the native run and of its twin.
KERNELS = {"bodies": (30000, 30), "join": (300, 6), "matrix": (400, 4), "parse": (1200, 8), "recursion": (14, 9), "qsort": (400, 6),
           "trees": (300, 6), "sieve": (1000, 10)}
PERL = "my %h; my $t = 0; for my $i (1..COUNT) { my $k = 'k' . ($i * 7919 % 5003); $h{$k} .= 'x'; $h{$k} = '' if length $h{$k} > 9; " \
       "$t++ if $k =~ /[13]7$/ } print scalar keys %h, qq( $t\\n)"
PYTHON = """
class Point:
    def __init__(self, x, y): self.x, self.y = x, y
    def far(self): return self.x * self.x + self.y * self.y
words, total = {}, 0
for i in range(COUNT):
    total += Point(i, i + 1).far() % 7
    for word in ("the %d quick %d brown" % (i % 97, i % 7)).split():
        words[word] = words.get(word, 0) + 1
print(len(words), total)
"""
SQL = """WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<COUNT)
SELECT sum(length(replace(printf('%08x-%d', x*2654435761, x), 'a', 'bb'))), count(DISTINCT x%977), sum(x LIKE '%77%') FROM c;"""


def sized(text, count):
    return text.replace("COUNT", str(count))


def c_file(bench, name, count):
    path = bench.path(name)
    with open(path, "w", encoding="utf-8") as file:
        for i in range(count):
            file.write(errors.C_FILE.replace("int f", f"int g{i}_"))
    return path


def programs(bench):
    """name: the native command and its twin."""
    kernels = bench.path("live-kernels")
    with open(kernels + ".c", "w", encoding="utf-8") as file:
        file.write(errors.SOURCE)
    subprocess.run(["gcc", "-O2", "-g", "-fno-inline-functions-called-once", "-o", kernels, kernels + ".c", "-lm"], check=True)
    text = attribution.write_text(bench.path("live-text"), 400000)
    part = attribution.write_text(bench.path("live-part"), 8000)
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=True).stdout.strip()
    found = {name: [[kernels, name, str(count)] for count in counts] for name, counts in KERNELS.items()}
    found["perl"] = [["perl", "-e", sized(PERL, count)] for count in (6000000, 60000)]
    found["python"] = [["/usr/bin/python3", "-c", sized(PYTHON, count)] for count in (1500000, 100000)]
    found["sqlite"] = [["sqlite3", ":memory:", sized(SQL, count)] for count in (2000000, 40000)]
    found["xz"] = [["xz", "-4", "-T1", "-c", name] for name in (text, part)]
    found["gzip"] = [["gzip", "-9", "-c", name] for name in (text, part)]
    found["cc1"] = [[cc1, "-quiet", "-O2", c_file(bench, name, count), "-o", "/dev/null"]
                    for name, count in (("live-long.c", 12), ("live-short.c", 1))]
    only = os.environ.get("TD_LIVE_ONLY", "").split()
    names = only or (["join", "matrix", "perl", "sqlite"] if bench.quick else list(found))
    return {name: found[name] for name in names}


def largest(shares, nodes):
    """Of these nodes, those that have the largest share, or nearly."""
    known = {name: shares[name] for name in nodes if shares.get(name) is not None}
    return {name for name, share in known.items() if share >= max(known.values()) - NEAR}


def read(profile):
    """Functions by name, and the nodes of each level."""
    levels = {}
    for node in common.td_json(profile)["tree"]:
        levels.setdefault(node["level"], set()).add(node["id"])
    rows = common.td_json(profile, "functions", "-n", "100000")["functions"]
    return {(row["function"], row["module"]): row for row in rows}, levels


def compare(profile, exact):
    """Of each function: name, time, worst difference of level 1, agreement of levels 2 and 3, cells not held, cells."""
    live, levels = read(profile)
    truth, _ = read(exact)
    for name, row in live.items():
        if (row["time_share"] or 0) < LEAST or name not in truth:
            continue
        known = {node: share or 0 for node, share in truth[name]["categories"].items()}
        mine = {node: share for node, share in row["categories"].items() if share is not None}
        off = max((abs(mine[node] - known.get(node, 0)) for node in FIRST if node in mine), default=None)
        same = [bool(largest(mine, levels[level]) & largest(known, levels[level]))
                if largest(mine, levels[level]) else None for level in (2, 3)]
        missed = [f"{node} {share:.3f} ± {row['category_errors'][node]:.3f}, exact {known.get(node, 0):.3f}"
                  for node, share in mine.items() if abs(share - known.get(node, 0)) > row["category_errors"][node] + 5e-4]
        yield name[0], row["time_share"], off, same, missed, len(mine)


def run(bench):
    common.need("qemu-x86_64", "gcc", "perl", "sqlite3", "xz")
    held = cells = near = judged = agree = dominant = blank = 0
    for name, (native, twin) in programs(bench).items():
        out, whole = bench.path("live.td"), bench.path("exact.td")
        said = common.run([common.TDREC, "--source", "live", "--sim-core", CORE, "-o", out, "--", *native], timeout=120).err
        common.run([common.TDREC, "-q", "--source", "sim", "--sim-core", CORE, "-o", whole, "--", *twin], timeout=400)
        note = next((line for line in said.splitlines() if " windows (" in line), said.strip()[-150:])
        rows = list(compare(out, whole))
        for function, time, off, same, missed, count in rows:
            bench.add(f"{name}: {function[:40]}, {100 * time:.0f} % of the time", "blank" if off is None else
                      f"level 1 within {off:.3f}, levels 2 and 3 {same}, {count - len(missed)} of {count} cells held"
                      + "".join(f"; {text}" for text in missed))
            blank += off is None
            judged += off is not None
            near += off is not None and off <= OFF
            dominant += sum(one is not None for one in same)
            agree += sum(bool(one) for one in same)
            held, cells = held + count - len(missed), cells + count
        bench.add(f"{name}: {len(rows)} functions", note.strip())
    bench.add(f"functions whose level 1 is within {OFF:.2f} ({blank} blank)", f"{near} of {judged}", None, None, ">= 90 %",
              near >= BAR * judged)
    bench.add("largest nodes of levels 2 and 3 that are the same", f"{agree} of {dominant}", None, None, ">= 90 %",
              agree >= BAR * dominant)
    bench.add("the stated error holds the exact share", f"{held} of {cells} cells", None, None, ">= 90 %", held >= BAR * cells)
