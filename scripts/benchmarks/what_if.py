# SPDX-License-Identifier: MIT
"""One run that also models three changed cores (--what-if) beside one that does not, in turn: CPU time of the whole tree, and time by
the clock. Pairs have their own ratio, and the median of these counts, since the machine's speed changes from pair to pair. What the run
says of each changed core is what a run of its own on that core says, to the cycle, as a whole and by function: of programs of one
thread, since which thread comes first differs from run to run. Then the same of sampled runs, whose speed-ups are those of the whole
run within their error: of the whole, and of functions that take 2 % or more."""
import collections

from . import common, speed

CORE = "zen4"
CHANGES = ("branches", "l3", "divider")
BAR = 1.6
HOT = 0.02
COVERED = 0.9


def model(bench, command, core, *options):
    """CPU seconds and seconds by the clock, and the profile's path."""
    path = bench.path("what-if.td")
    done = common.run([common.TDREC, "-q", "--source", "sim", "--sim-core", core, *options, "-o", path, "--", *command])
    return (done.cpu, done.wall), path


def by_place(rows, cycles_of):
    """Functions of the same name and module count as one."""
    sums = collections.Counter()
    for row in rows:
        sums[row["function"], row["module"]] += cycles_of(row)
    return sums


def differing(found, index, alone):
    """In how many figures the run with all cores and the one of a changed core alone are not the same, and of how many."""
    whole = found["what_if"][index]["cycles"] != alone["profile"]["cycles"]
    ours = by_place(found["functions"], lambda row: row["what_if"][index]["cycles"])
    theirs = by_place(alone["functions"], lambda row: row["cycles"])
    count = 1 + len(ours | theirs)
    return whole + sum(ours[key] != theirs[key] for key in ours | theirs), count


def compare(bench, name, command, *options):
    """What the changed cores cost, and what the last run with them says."""
    plain, changed = [], []
    for _ in range(1 if bench.quick else 5):
        plain.append(model(bench, command, CORE, *options)[0])
        took, path = model(bench, command, CORE, "--what-if", ",".join(CHANGES), *options)
        changed.append(took)
    for i, what in enumerate(("CPU", "by the clock")):
        ours, theirs = [took[i] for took in changed], [took[i] for took in plain]
        ratio = common.median([b / a for a, b in zip(theirs, ours)])
        bench.add(f"{name}, {len(CHANGES)} changed cores: {what}", f"{common.median(ours):.1f} s", f"{common.median(theirs):.1f} s plain",
                  ratio, f"ratio <= {BAR}", ratio <= BAR)
    return common.td_json(path, "whatif")


def missed(sampled, whole):
    """How many speed-ups of a sampled run are not within their error, and of how many."""
    pairs = list(zip(sampled["what_if"], whole["what_if"]))
    rows = {(row["function"], row["module"]): row for row in sampled["functions"]}
    for row in whole["functions"]:
        other = rows.get((row["function"], row["module"]))
        if other and row["cycles"] >= HOT * whole["profile"]["cycles"]:
            pairs += zip(other["what_if"], row["what_if"])
    return sum(abs(a["speedup"] - b["speedup"]) > a["speedup_error"] for a, b in pairs), len(pairs)


def run(bench):
    common.need("qemu-x86_64", "zstd", "sqlite3", "gzip")
    common.programs("corpus")
    for name, command in speed.workloads(bench).items():
        found = compare(bench, name, command)
        compared = [differing(found, i, common.td_json(model(bench, command, f"{CORE}+{change}")[1]))
                    for i, change in enumerate(CHANGES)]
        wrong, count = (sum(column) for column in zip(*compared))
        bench.add(f"{name}, figures other than in runs of their own", f"{wrong} of {count}", None, None, "0", wrong == 0)
        wrong, count = missed(compare(bench, f"{name} sampled", command, "--sim-sample"), found)
        bench.add(f"{name} sampled, speed-ups beyond their error", f"{wrong} of {count}", None, None, f"{1 - COVERED:.0%} or less",
                  wrong <= (1 - COVERED) * count)
