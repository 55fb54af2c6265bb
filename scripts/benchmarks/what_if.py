# SPDX-License-Identifier: MIT
"""One run that also models three changed cores (--what-if) beside one that does not, in turn: CPU time of the whole tree. Pairs have
their own ratio, and the median of these counts, since the machine's speed changes from pair to pair. What the run says of each
changed core is what a run of its own on that core says, to the cycle, as a whole and by function: of programs of one thread, since
which thread comes first differs from run to run."""
import collections

from . import common, speed

CORE = "zen4"
CHANGES = ("branches", "l3", "divider")
BAR = 1.6


def model(bench, command, core, *options):
    """CPU seconds, and the profile's path."""
    path = bench.path("what-if.td")
    done = common.run([common.TDREC, "-q", "--source", "sim", "--sim-core", core, *options, "-o", path, "--", *command])
    return done.cpu, path


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


def measure(bench, command):
    """CPU seconds of plain runs, of runs with the changed cores, and what the last one of these says."""
    plain, changed = [], []
    for _ in range(1 if bench.quick else 5):
        plain.append(model(bench, command, CORE)[0])
        cpu, path = model(bench, command, CORE, "--what-if", ",".join(CHANGES))
        changed.append(cpu)
    return plain, changed, common.td_json(path, "whatif")


def run(bench):
    common.need("qemu-x86_64", "zstd", "sqlite3", "gzip")
    common.programs("corpus")
    for name, command in speed.workloads(bench).items():
        plain, changed, found = measure(bench, command)
        ratio = common.median([b / a for a, b in zip(plain, changed)])
        bench.add(f"{name}, {len(CHANGES)} changed cores: CPU", f"{common.median(changed):.1f} s", f"{common.median(plain):.1f} s plain",
                  ratio, f"ratio <= {BAR}", ratio <= BAR)
        compared = [differing(found, i, common.td_json(model(bench, command, f"{CORE}+{change}")[1]))
                    for i, change in enumerate(CHANGES)]
        wrong, count = (sum(column) for column in zip(*compared))
        bench.add(f"{name}, figures other than in runs of their own", f"{wrong} of {count}", None, None, "0", wrong == 0)
